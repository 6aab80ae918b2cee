/* A file of the fuzzer's bytes, for targets that read files; under a name of its own in memory where the system has that. */
#ifndef PHALANX_FUZZ_FILES_H
#define PHALANX_FUZZ_FILES_H

#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

static char fuzz_path[128];

static inline void fuzz_remove(void) { unlink(fuzz_path); }

/* `name` in a folder of this process's own, removed at its end */
static inline const char *fuzz_write(const char *extension, const void *bytes, size_t size) {
    if (!fuzz_path[0]) {
        struct stat status;
        const char *folder = stat("/dev/shm", &status) == 0 ? "/dev/shm" : "/tmp";
        snprintf(fuzz_path, sizeof fuzz_path, "%s/phalanx-fuzz-%ld%s", folder, (long)getpid(), extension);
        atexit(fuzz_remove);
    }
    FILE *file = fopen(fuzz_path, "wb");
    FUZZ_CHECK(file != NULL);
    if (size) FUZZ_CHECK(fwrite(bytes, 1, size, file) == size);
    FUZZ_CHECK(fclose(file) == 0);
    return fuzz_path;
}

#endif
