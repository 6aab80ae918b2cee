/* Drives a fuzz target without libFuzzer, the same way on every machine: each file named, or in a folder named, then small seeded changes
 * of them and of noise, a fixed number of times.  fuzz_TARGET [-runs=N] [FILE|FOLDER...] */
#define _DEFAULT_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_INPUTS = 512, MOST_SIZE = 1 << 20 };
static struct {
    uint8_t *bytes;
    size_t size;
} inputs[MOST_INPUTS];
static size_t input_count;

static void add_file(const char *path) {
    struct stat status;
    if (input_count == MOST_INPUTS || stat(path, &status) != 0 || status.st_size > MOST_SIZE) return;
    if (S_ISDIR(status.st_mode)) {
        struct dirent **names;
        const int count = scandir(path, &names, NULL, alphasort); /* in one order everywhere */
        for (int k = 0; k < count; ++k) {
            char inside[4096];
            snprintf(inside, sizeof inside, "%s/%s", path, names[k]->d_name);
            if (names[k]->d_name[0] != '.') add_file(inside);
            free(names[k]);
        }
        if (count >= 0) free(names);
        return;
    }
    FILE *file = fopen(path, "rb");
    if (!file) return;
    inputs[input_count].bytes = malloc((size_t)status.st_size + 1);
    inputs[input_count].size = fread(inputs[input_count].bytes, 1, (size_t)status.st_size, file);
    fclose(file);
    ++input_count;
}

static uint64_t state = 0x5EED;
static uint32_t below(uint32_t n) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u, z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z >> 32) * n >> 32);
}

int main(int argc, char **argv) {
    long runs = 2000;
    for (int k = 1; k < argc; ++k) {
        if (strncmp(argv[k], "-runs=", 6) == 0)
            runs = strtol(argv[k] + 6, NULL, 10);
        else
            add_file(argv[k]);
    }
    /* what the commands print is not looked at */
    fflush(stdout);
    const int out = dup(1), quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, 1);
    const int err = dup(2);
    if (!getenv("PHALANX_FUZZ_LOUD")) dup2(quiet, 2);
    for (size_t k = 0; k < input_count; ++k) LLVMFuzzerTestOneInput(inputs[k].bytes, inputs[k].size);
    uint8_t *bytes = malloc(MOST_SIZE);
    for (long run = 0; run < runs; ++run) {
        size_t size = below(1200);
        for (size_t k = 0; k < size; ++k) bytes[k] = (uint8_t)below(256);
        if (input_count && below(4)) { /* a file, with some bytes changed, cut or doubled */
            const uint32_t pick = below((uint32_t)input_count);
            size = inputs[pick].size;
            memcpy(bytes, inputs[pick].bytes, size);
            for (uint32_t change = 1 + below(6); size && change-- > 0;) {
                const uint32_t at = below((uint32_t)size), kind = below(5);
                if (kind < 2)
                    bytes[at] = (uint8_t)below(256);
                else if (kind == 2)
                    bytes[at] ^= (uint8_t)(1u << below(8));
                else if (kind == 3)
                    size = at;
                else
                    bytes[at] = (uint8_t) "0123456789-+.eE[]{}\", \n"[below(23)];
            }
        }
        LLVMFuzzerTestOneInput(bytes, size);
    }
    free(bytes);
    for (size_t k = 0; k < input_count; ++k) free(inputs[k].bytes);
    fflush(stdout);
    dup2(out, 1), dup2(err, 2);
    printf("# %zu files and %ld changed ones\n", input_count, runs);
    return 0;
}
