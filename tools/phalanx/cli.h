/* What the commands of `phalanx` share: the table of commands, and options that explain themselves.
 *
 *   const char *json = NULL; bool verbose = false; const char *file = NULL;
 *   const cli_option options[] = {{"--json", "FILE", "write the figures there", &json, NULL}, {"--verbose", NULL, "say more", NULL, &verbose}};
 *   const char *files[1];
 *   cli_command_line line = {.synopsis = "bake CHARACTER [options]", .about = "Puts a clip on a ground.",
 *                            .options = options, .option_count = 2, .files = files, .file_least = 1, .file_most = 1};
 *   int status = cli_parse(&line, argc, argv);
 *   if (status >= 0) return status;                     // --help was printed (0), or the line is wrong (2, said on stderr)
 *   ... files[0], line.file_count ...
 */
#ifndef PHALANX_TOOLS_CLI_H
#define PHALANX_TOOLS_CLI_H

#include "../io/common.h"

/* Exit statuses. */
enum { CLI_DONE = 0, CLI_INPUT = 1, CLI_USAGE = 2 };

typedef struct cli_option {
    const char *name;       /* "--json" or "-o" */
    const char *value_name; /* what the value is called in the help; NULL: a flag without value */
    const char *help;
    const char **value; /* where a value goes; "--json FILE" and "--json=FILE" both do */
    bool *flag;         /* where a flag goes */
} cli_option;

typedef struct cli_command_line {
    const char *synopsis; /* after "phalanx " */
    const char *about;    /* a sentence or two, may hold line breaks */
    const cli_option *options;
    size_t option_count;
    const char **files; /* the arguments that are no options; "-" is one of them */
    size_t file_least, file_most;
    size_t file_count; /* filled */
} cli_command_line;

/* argv[0] is the command's name. -1: go on. Otherwise the exit status to return. */
int cli_parse(cli_command_line *line, int argc, char **argv);

/* A number in [least, most] from an option's text; false after a sentence on standard error (return CLI_USAGE then). NULL
 * text leaves *value alone. cli_count takes whole numbers. */
bool cli_number(const char *command, const char *option, const char *text, double least, double most, double *value);
bool cli_count(const char *command, const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value);
/* --up y or z, as io_character_options wants it. */
bool cli_up(const char *command, const char *text, char *up);

/* A file of the command line; a NULL path or "-" is none. */
typedef struct cli_file {
    const char *name; /* of its option, or what it is */
    const char *path;
    bool written;
} cli_file;

/* False after a sentence on standard error (return CLI_USAGE then) where a file that is written is "-", but --json, or is also another one of these, by
 * whatever name: one of the two would be lost. */
bool cli_files_distinct(const char *command, const cli_file *files, size_t count);
/* False after a sentence (return CLI_INPUT then) where one that is to be written cannot be: asked before work that takes long. */
bool cli_files_writable(const char *command, const cli_file *files, size_t count);

/* "phalanx COMMAND: " and the sentence on standard error. Returns `status`. */
int cli_complain(int status, const char *command, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The commands: argv[0] is the command's name; they return the exit status. */
int command_backends(int argc, char **argv);
int command_feet(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_bake(int argc, char **argv);
int command_solve(int argc, char **argv);
int command_verify(int argc, char **argv);

#endif
