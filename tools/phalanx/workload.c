/* The workload's table, its random values, and the splitting of work over threads. See workload.h. */
#include "workload.h"

#include <math.h>
#include <pthread.h>

const workload workloads[] = {
    {"two_bone", "legs", WORKLOAD_LEGS, WORKLOAD_LEG_ANSWER, true, WORKLOAD_MOST_THREADS, workload_two_bone},
    {"fabrik", "chains", WORKLOAD_CHAINS, WORKLOAD_CHAIN_ANSWER, true, WORKLOAD_MOST_THREADS, workload_fabrik},
    {"ccd", "chains", WORKLOAD_CHAINS, WORKLOAD_CHAIN_ANSWER, true, WORKLOAD_MOST_THREADS, workload_ccd},
    {"aim", "chains", WORKLOAD_CHAINS, WORKLOAD_CHAIN_ANSWER, false, WORKLOAD_MOST_THREADS, workload_aim},
    {"limit", "rotations", WORKLOAD_LIMITS, WORKLOAD_LIMIT_ANSWER, false, WORKLOAD_MOST_THREADS, workload_limits},
    {"pose", "characters", WORKLOAD_POSES, WORKLOAD_POSE_ANSWER, true, WORKLOAD_MOST_THREADS, workload_poses},
    {"crowd", "frames of characters", WORKLOAD_CROWD_ANSWERS, WORKLOAD_CROWD_ANSWER, true, 2, workload_crowds}, /* of two tiles */
    {"tiles", "frames of characters", WORKLOAD_TILE_ANSWERS, WORKLOAD_CROWD_ANSWER, true, WORKLOAD_MOST_THREADS, workload_tiles},
};
const size_t workload_count = sizeof workloads / sizeof *workloads;

void workload_one_nan(void *floats, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, (char *)floats + i * 4, 4);
        if ((bits & 0x7fffffffu) <= 0x7f800000u) continue;
        bits = 0x7fc00000u;
        memcpy((char *)floats + i * 4, &bits, 4);
    }
}

uint64_t workload_hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; ++i) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* sqrtf is correctly rounded everywhere, and an instruction nearly everywhere */
phx_vec3 random_unit(workload_random *r) {
    for (;;) {
        const float x = random_between(r, -1, 1), y = random_between(r, -1, 1), z = random_between(r, -1, 1);
        const float square = x * x + y * y + z * z;
        if (square < 0.01f || square > 1.0f) continue;
        const float length = sqrtf(square);
        return (phx_vec3){x / length, y / length, z / length};
    }
}

phx_quat random_turn(workload_random *r) {
    for (;;) {
        const float x = random_between(r, -1, 1), y = random_between(r, -1, 1), z = random_between(r, -1, 1), w = random_between(r, -1, 1);
        const float square = x * x + y * y + z * z + w * w;
        if (square < 0.01f || square > 1.0f) continue;
        const float length = sqrtf(square);
        return (phx_quat){x / length, y / length, z / length, w / length};
    }
}

float random_scale(workload_random *r) {
    static const float powers[] = {1e-3f, 1e-2f, 1e-1f, 1, 1, 1, 1e1f, 1e2f, 1e3f};
    const float power = powers[random_under(r, 9)];
    return power * random_between(r, 0.3f, 1.0f);
}

float random_bad(workload_random *r) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e30f, 1e-40f, 0.0f, 1e-20f, 1e20f};
    return bad[random_under(r, 9)];
}

void random_order(workload_random *r, uint32_t *order, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) order[i] = i;
    for (uint32_t i = count; i > 1; --i) {
        const uint32_t k = random_under(r, i), kept = order[i - 1];
        order[i - 1] = order[k], order[k] = kept;
    }
}

typedef struct share {
    size_t first, count;
    workload_work work;
    void *context;
    bool good;
} share;

static void *do_share(void *argument) {
    share *s = argument;
    s->good = true;
    for (size_t at = 0, piece = 1; at < s->count; at += piece, piece = piece % 5 + 1) {
        if (piece > s->count - at) piece = s->count - at;
        s->good = s->work(s->context, s->first + at, piece) && s->good;
    }
    return NULL;
}

bool workload_split(size_t blocks, unsigned threads, workload_work work, void *context) {
    if (threads == 0) return work(context, 0, blocks);
    share shares[WORKLOAD_MOST_THREADS];
    pthread_t started[WORKLOAD_MOST_THREADS];
    bool runs[WORKLOAD_MOST_THREADS], good = true;
    if (threads > WORKLOAD_MOST_THREADS) threads = WORKLOAD_MOST_THREADS;
    for (unsigned t = 0; t < threads; ++t) {
        const size_t first = blocks * t / threads, end = blocks * (t + 1) / threads;
        shares[t] = (share){first, end - first, work, context, true};
        runs[t] = threads > 1 && pthread_create(&started[t], NULL, do_share, &shares[t]) == 0;
        if (!runs[t]) do_share(&shares[t]);
    }
    for (unsigned t = 0; t < threads; ++t) {
        if (runs[t]) pthread_join(started[t], NULL);
        good = good && shares[t].good;
    }
    return good;
}
