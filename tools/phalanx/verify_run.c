/* See verify_run.h. */
#include "verify_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "workload.h"

static bool recorded(const char *name, uint64_t *hash) {
    for (size_t i = 0; i < sizeof golden / sizeof *golden; ++i) {
        if (strcmp(golden[i].workload, name) != 0) continue;
        *hash = golden[i].hash;
        return true;
    }
    return false;
}

/* What there is to say about answers that differ, collected while the line of the table is printed. */
typedef struct complaints {
    char text[16][256];
    size_t count;
} complaints;

/* True if two sets of answers are equal; else says where they first differ. */
static bool same(const workload *w, const char *arranged, const unsigned char *expected, const unsigned char *actual, complaints *said) {
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
    if (said->count < sizeof said->text / sizeof *said->text)
        snprintf(said->text[said->count++], sizeof *said->text,
                 "%s: %zu of %zu %s differ from the reference's; the first is number %zu, at byte %zu of its answer: %.9g there, %.9g here",
                 arranged, differing, w->count, w->chains, first, byte, (double)values[0], (double)values[1]);
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

static const char *verdict(bool equal) { return equal ? "equal" : "DIFFER"; }

/* One workload on one backend in every arrangement: a line of the table. `expected`: the reference's answers, in order. */
static bool check(const workload *w, const phx_backend *backend, unsigned threads, const unsigned char *expected, unsigned char *answers, bool compare) {
    complaints said = {.count = 0};
    bool ran = true, good = true;
    const size_t size = w->count * w->answer_size;
    printf("%-10s %-9s %7zu %-21s", phx_backend_name(backend), w->name, w->count, w->chains);
    memset(answers, 0, size);
    ran = w->run(backend, WORKLOAD_IN_ORDER, 0, answers);
    if (ran) {
        const uint64_t hash = workload_hash(WORKLOAD_HASH_START, answers, size);
        uint64_t wanted = 0;
        const bool known = recorded(w->name, &wanted);
        good = !compare || (known && hash == wanted);
        if (compare && known && hash != wanted) snprintf(said.text[said.count++], sizeof *said.text, "the hash that is recorded is %016" PRIx64, wanted);
        printf(" %016" PRIx64 "  %-8s", hash, !compare ? "-" : !known ? "MISSING" : verdict(hash == wanted));
        const bool equal = same(w, "in order", expected, answers, &said);
        printf("  %-8s", verdict(equal));
        good = good && equal;
    }
    if (ran && w->has_blocks) { /* over the answers in order: what blocks do not have stays */
        ran = w->run(backend, WORKLOAD_BLOCKS, 0, answers);
        const bool equal = ran && same(w, "as blocks of rows", expected, answers, &said);
        printf("  %-6s", verdict(equal));
        good = good && equal;
    } else {
        printf("  %-6s", "-");
    }
    printf(" ");
    const unsigned most = threads ? threads : 8, last = most < w->threads ? most : w->threads;
    for (unsigned t = threads ? last : 1; ran && t <= last; ++t) {
        char arranged[64];
        snprintf(arranged, sizeof arranged, "shuffled and split over %u threads", t);
        memset(answers, 0, size);
        ran = w->run(backend, WORKLOAD_SHUFFLED, t, answers);
        const bool equal = ran && same(w, arranged, expected, answers, &said);
        printf(" %s%u", equal ? "" : "DIFFER:", t);
        good = good && equal;
    }
    printf("%s\n", ran ? "" : " COULD NOT RUN: out of memory, or a valid call was refused");
    for (size_t i = 0; i < said.count; ++i) printf("    %s\n", said.text[i]);
    fflush(stdout);
    return ran && good;
}

int verify_run(const char *name, unsigned threads, const char *update) {
    const phx_backend *only = NULL;
    if (name != NULL && (only = phx_backend_find(name)) == NULL) return 2;
    uint64_t hashes[16] = {0};
    bool good = workload_count <= 16;
    printf("%-10s %-9s %7s %-21s %-16s  recorded  in order  blocks  shuffled and split, threads\n", "backend", "workload", "", "answers of", "hash");
    for (size_t i = 0; i < workload_count && i < 16; ++i) {
        const workload *w = workloads + i;
        unsigned char *expected = calloc(w->count, w->answer_size), *answers = calloc(w->count, w->answer_size);
        if (expected == NULL || answers == NULL || !w->run(phx_backend_find("reference"), WORKLOAD_IN_ORDER, 0, expected)) {
            printf("%s: the reference could not run\n", w->name);
            good = false;
        } else {
            hashes[i] = workload_hash(WORKLOAD_HASH_START, expected, w->count * w->answer_size);
            for (uint32_t b = 0; phx_backend_at(b) != NULL; ++b)
                if (only == NULL || only == phx_backend_at(b)) good = check(w, phx_backend_at(b), threads, expected, answers, update == NULL) && good;
        }
        free(expected), free(answers);
    }
    if (good && update != NULL && !write_golden(update, hashes)) return 3;
    return good ? 0 : 1;
}
