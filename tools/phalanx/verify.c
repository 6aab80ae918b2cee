/* `phalanx verify`: does this machine give the one answer? The work is in verify_run.c. */
#include "cli.h"
#include "verify_run.h"

int command_verify(int argc, char **argv) {
    const char *backend = NULL, *threads_text = NULL, *update = NULL;
    const cli_option options[] = {
        {"--backend", "NAME", "only this one; otherwise all that are usable here", &backend, NULL},
        {"--threads", "N", "split over so many threads only, 1 to 64; default 1, 2, 3 and so on to 8", &threads_text, NULL},
        {"--update", "FILE", "record: write the hashes to FILE, tools/phalanx/golden.h", &update, NULL},
    };
    cli_command_line line = {
        .synopsis = "verify [--backend NAME] [--threads N] [--update FILE]",
        .about = "Solves a fixed workload of more than 100,000 chains and thousands of crowd frames as jobs in order, as blocks, and shuffled and\n"
                 "split over 1 to 8 threads. Compares one hash a solver with the recorded one, and every answer with the reference's; where one\n"
                 "differs, says which chain is the first.\n"
                 "Exit status: 0 all equal, 1 something differs.",
        .options = options, .option_count = sizeof options / sizeof *options};
    const int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    uint64_t threads = 0;
    if (!cli_count(argv[0], "--threads", threads_text, 1, 64, &threads)) return CLI_USAGE;
    const cli_file named[] = {{"--update", update, true}};
    if (!cli_files_distinct(argv[0], named, 1)) return CLI_USAGE;
    if (!cli_files_writable(argv[0], named, 1)) return CLI_INPUT;
    const int result = verify_run(backend, (unsigned)threads, update);
    if (result == 2) return cli_complain(CLI_INPUT, argv[0], "--backend: '%s' is not usable here; `phalanx backends` lists those that are", backend);
    if (result == 3) return cli_complain(CLI_INPUT, argv[0], "--update: %s: cannot be written", update);
    if (result == 1) return cli_complain(CLI_INPUT, argv[0], "this machine's answers are not those recorded");
    return CLI_DONE;
}
