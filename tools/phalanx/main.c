/* `phalanx`, the command line tool: finds the command named first and runs it. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

typedef struct command {
    const char *name;
    const char *help;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"backends", "what can solve here, best first", command_backends},
    {"demo", "a crowd on uneven ground: how fast, how well its feet stand", command_demo},
    {"bake", "put a clip on a ground and write the corrected character", command_bake},
    {"replay", "run a captured frame again and compare every bit", command_replay},
    {"feet", "drive the foot stages from a hand-written scenario", command_feet},
    {"inspect", "skeleton, legs and clips of a character file", command_inspect},
    {"solve", "chain problems in as JSON, answers out", command_solve},
    {"verify", "does this machine give the one answer? hashes of a fixed workload", command_verify},
};

static void print_help(FILE *out) {
    fprintf(out, "usage: phalanx COMMAND [options]\n\nInverse kinematics for whole crowds, in SIMD lanes.\n\ncommands:\n");
    for (size_t c = 0; c < sizeof commands / sizeof *commands; ++c) fprintf(out, "  %-10s %s\n", commands[c].name, commands[c].help);
    fprintf(out, "\n`phalanx COMMAND --help` explains one, `phalanx --version` says which this is. Exit status: 0 done, 1 the input is at fault, 2 usage.\n");
}

/* what was printed may have gone nowhere: a full disk, a closed pipe */
static int printed(int status, const char *command) {
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_DONE) status = cli_complain(CLI_INPUT, command, "standard output cannot be written");
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return printed(CLI_DONE, argv[1]);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("phalanx %s\n", PHALANX_VERSION);
        return printed(CLI_DONE, argv[1]);
    }
    for (size_t c = 0; c < sizeof commands / sizeof *commands; ++c) {
        if (strcmp(argv[1], commands[c].name) != 0) continue;
        return printed(commands[c].run(argc - 1, argv + 1), argv[1]);
    }
    fprintf(stderr, "phalanx: there is no command '%s'; `phalanx --help` lists them\n", argv[1]);
    return CLI_USAGE;
}
