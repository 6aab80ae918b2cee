/* Shared by all tests: cmocka, a seeded generator whose seed is printed, every backend in turn, bit comparison. */
#ifndef PHALANX_TEST_SUPPORT_H
#define PHALANX_TEST_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>
#include "phalanx/phalanx.h"

/* splitmix64; PHALANX_SEED in the environment replaces the default */
typedef struct random_state {
    uint64_t state;
} random_state;

static inline random_state random_seeded(const char *test, uint64_t seed) {
    const char *given = getenv("PHALANX_SEED");
    if (given) seed = strtoull(given, NULL, 0);
    printf("# %s: seed %llu\n", test, (unsigned long long)seed);
    return (random_state){seed};
}
static inline uint64_t random_bits(random_state *r) {
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static inline float random_float(random_state *r, float low, float high) {
    return low + (high - low) * ((float)(random_bits(r) >> 40) * 0x1p-24f);
}
static inline uint32_t random_below(random_state *r, uint32_t n) { return (uint32_t)((random_bits(r) >> 32) * n >> 32); }
static inline phx_vec3 random_direction(random_state *r) {
    for (;;) {
        const phx_vec3 v = {random_float(r, -1, 1), random_float(r, -1, 1), random_float(r, -1, 1)};
        const float l = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
        if (l > 0.1f && l <= 1.0f) return (phx_vec3){v.x / l, v.y / l, v.z / l};
    }
}
static inline phx_quat random_rotation(random_state *r) {
    for (;;) {
        const phx_quat q = {random_float(r, -1, 1), random_float(r, -1, 1), random_float(r, -1, 1), random_float(r, -1, 1)};
        const float l = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
        if (l > 0.1f && l <= 1.0f) return (phx_quat){q.x / l, q.y / l, q.z / l, q.w / l};
    }
}

/* for each usable backend, best first */
#define FOR_EACH_BACKEND(backend) \
    for (uint32_t backend##_index = 0; backend##_index < 16; ++backend##_index) \
        for (const phx_backend *backend = phx_backend_at(backend##_index); backend; backend = NULL)

/* where the two byte ranges first differ; -1 where they do not */
static inline long first_difference(const void *a, const void *b, size_t size) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; ++i)
        if (x[i] != y[i]) return (long)i;
    return -1;
}

/* The folder of real clips and terrain beside the project, or NULL (the test then says what it skipped). */
static inline const char *shared_folder(void) {
    static char path[1024];
    const char *given = getenv("PHALANX_SHARED");
    snprintf(path, sizeof path, "%s", given ? given : PHALANX_SOURCE_DIR "/../shared");
    char probe[1100];
    snprintf(probe, sizeof probe, "%s/data/cmu_bvh/README.txt", path);
    FILE *file = fopen(probe, "r");
    if (!file) {
        printf("# skipped: no shared data at %s (set PHALANX_SHARED)\n", path);
        return NULL;
    }
    fclose(file);
    return path;
}

#endif
