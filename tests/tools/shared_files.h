/* Finding the optional test data (../shared beside the project, or PHALANX_SHARED) and saying what was skipped without it.
 * For tests of the tools; include after cmocka.h. */
#ifndef PHALANX_TESTS_SHARED_FILES_H
#define PHALANX_TESTS_SHARED_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef PHALANX_SOURCE_DIR
#define PHALANX_SOURCE_DIR "."
#endif

/* Path of data/`name` in the shared folder, in a static buffer of `slot` 0 to 3; skips the running test where it is missing. */
static inline const char *shared_file(int slot, const char *name) {
    static char path[4][1024];
    const char *shared = getenv("PHALANX_SHARED");
    if (shared != NULL) snprintf(path[slot], sizeof path[slot], "%s/data/%s", shared, name);
    else snprintf(path[slot], sizeof path[slot], "%s/../shared/data/%s", PHALANX_SOURCE_DIR, name);
    if (access(path[slot], R_OK) != 0) {
        printf("skipped: %s is not there (set PHALANX_SHARED to the folder that holds data/)\n", path[slot]);
        skip();
    }
    return path[slot];
}

#endif
