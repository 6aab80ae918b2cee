/* Runs the workload on backends, compares its hashes with the golden ones, and finds the first chain that differs. Called by
 * `phalanx verify` and by tests/matrix. */
#ifndef PHALANX_TOOLS_VERIFY_RUN_H
#define PHALANX_TOOLS_VERIFY_RUN_H

#include <stdbool.h>
#include <stddef.h>

/* backend: a name, or NULL for every one that is usable here. threads: how many the shuffled and split arrangement runs on; 0 = on 1, on 2,
 * and so on to 8. Prints a line a backend and workload on standard output, and what differs. update: a file to which golden.h is written
 * anew instead of being compared, or NULL. 0: all as recorded, 1: something differs, or memory ran out; 2: there is no such backend; 3: all is
 * equal, but the file could not be written. */
int verify_run(const char *backend, unsigned threads, const char *update);

#endif
