/* Where a test puts what it makes. The test defines _XOPEN_SOURCE 700 or more before it includes anything. */
#ifndef PHALANX_TESTS_TEMPORARY_H
#define PHALANX_TESTS_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For mkstemp and mkdtemp: a name in $TMPDIR, or where the system keeps such files. */
static inline void temporary_template(char *path, size_t size, const char *name) {
    const char *where = getenv("TMPDIR");
    const int length = snprintf(path, size, "%s/phalanx-%s-XXXXXX", where && *where ? where : P_tmpdir, name);
    if (length < 0 || (size_t)length >= size) fail_msg("TMPDIR is too long a path: %s", where);
}

#endif
