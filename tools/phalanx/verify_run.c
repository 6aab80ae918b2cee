/* See verify_run.h. */
#include "verify_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "workload.h"

static const char *const arranged[WORKLOAD_ARRANGEMENTS] = {"in order", "shuffled, split, threaded", "as blocks of rows"};

static bool recorded(const char *name, uint64_t *hash) {
    for (size_t i = 0; i < sizeof golden / sizeof *golden; ++i) {
        if (strcmp(golden[i].workload, name) != 0) continue;
        *hash = golden[i].hash;
        return true;
    }
    return false;
}

/* Where two sets of answers first differ: said in words; true if they are equal. */
static bool same(const workload *w, const char *what, const unsigned char *expected, const unsigned char *actual) {
    size_t first = w->count, differing = 0;
    for (size_t i = 0; i < w->count; ++i) {
        if (memcmp(expected + i * w->answer_size, actual + i * w->answer_size, w->answer_size) == 0) continue;
        if (differing++ == 0) first = i;
    }
    if (differing == 0) return true;
    const unsigned char *e = expected + first * w->answer_size, *a = actual + first * w->answer_size;
    size_t byte = 0;
    while (e[byte] == a[byte]) ++byte;
    float values[2];
    memcpy(&values[0], e + byte / 4 * 4, 4), memcpy(&values[1], a + byte / 4 * 4, 4);
    printf("    %s: %zu of %zu %s differ; the first is number %zu, at byte %zu of its answer: %.9g there, %.9g here\n", what, differing, w->count,
           w->chains, first, byte, (double)values[0], (double)values[1]);
    return false;
}

static bool write_golden(const char *path, const uint64_t *hashes) {
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    fprintf(file,
            "/* The answer of every machine: 64-bit FNV-1a over the answers of each workload in workload.h. Written by `phalanx verify --update "
            "FILE`,\n * never by hand. A changed hash means that users' replays and lock-step games part ways: change it on purpose, and say why "
            "in\n * CHANGELOG.md. */\n#ifndef PHALANX_TOOLS_GOLDEN_H\n#define PHALANX_TOOLS_GOLDEN_H\n\n#include <stdint.h>\n\nstatic const struct "
            "{\n    const char *workload;\n    uint64_t hash;\n} golden[] = {\n");
    for (size_t i = 0; i < workload_count; ++i) fprintf(file, "    {\"%s\", 0x%016" PRIx64 "u},\n", workloads[i].name, hashes[i]);
    fprintf(file, "};\n\n#endif\n");
    return fclose(file) == 0;
}

/* One workload on one backend in every arrangement. `expected`: the reference's answers. */
static bool check(const workload *w, const phx_backend *backend, unsigned threads, const unsigned char *expected, unsigned char *answers, bool compare) {
    bool good = true;
    uint64_t wanted = 0;
    memset(answers, 0, w->count * w->answer_size);
    for (int a = 0; a < WORKLOAD_ARRANGEMENTS; ++a) {
        if (a == WORKLOAD_SHUFFLED) memset(answers, 0, w->count * w->answer_size);
        if (!w->run(backend, (workload_arrangement)a, threads, answers)) {
            printf("%-10s %-9s could not run %s\n", phx_backend_name(backend), w->name, arranged[a]);
            return false;
        }
        if (a == WORKLOAD_IN_ORDER) {
            const uint64_t hash = workload_hash(WORKLOAD_HASH_START, answers, w->count * w->answer_size);
            const bool known = !compare || recorded(w->name, &wanted);
            const bool equal = !compare || (known && hash == wanted);
            printf("%-10s %-9s %7zu %-21s %016" PRIx64 "  %s\n", phx_backend_name(backend), w->name, w->count, w->chains, hash,
                   !compare ? "" : !known ? "no hash is recorded" : equal ? "as recorded" : "NOT as recorded");
            if (!equal && known) printf("    recorded: %016" PRIx64 "\n", wanted);
            good = good && equal;
        }
        good = same(w, arranged[a], expected, answers) && good;
    }
    return good;
}

int verify_run(const char *name, unsigned threads, const char *update) {
    const phx_backend *only = NULL;
    if (name != NULL && (only = phx_backend_find(name)) == NULL) return 2;
    uint64_t hashes[16] = {0};
    bool good = workload_count <= 16;
    for (size_t i = 0; i < workload_count && i < 16; ++i) {
        const workload *w = workloads + i;
        unsigned char *expected = calloc(w->count, w->answer_size), *answers = calloc(w->count, w->answer_size);
        if (expected == NULL || answers == NULL || !w->run(phx_backend_find("reference"), WORKLOAD_IN_ORDER, 1, expected)) {
            printf("%s: the reference could not run\n", w->name);
            good = false;
        } else {
            hashes[i] = workload_hash(WORKLOAD_HASH_START, expected, w->count * w->answer_size);
            for (uint32_t b = 0; phx_backend_at(b) != NULL; ++b)
                if (only == NULL || only == phx_backend_at(b)) good = check(w, phx_backend_at(b), threads, expected, answers, update == NULL) && good;
        }
        free(expected), free(answers);
        fflush(stdout);
    }
    if (good && update != NULL && !write_golden(update, hashes)) {
        printf("%s: cannot be written\n", update);
        return 1;
    }
    return good ? 0 : 1;
}
