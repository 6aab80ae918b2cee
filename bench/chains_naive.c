/* See chains_naive.h. Built with -O3 -march=native and contraction. */
#include "chains_naive.h"
#include <math.h>

static phx_vec3 sub(phx_vec3 a, phx_vec3 b) { return (phx_vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static phx_vec3 along(phx_vec3 a, phx_vec3 d, float s) { return (phx_vec3){a.x + d.x * s, a.y + d.y * s, a.z + d.z * s}; }
static float dot(phx_vec3 a, phx_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static phx_vec3 cross(phx_vec3 a, phx_vec3 b) {
    return (phx_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static float sum(const float *lengths, uint32_t bones) {
    float length = 0.0f;
    for (uint32_t j = 0; j < bones; ++j) length += lengths[j];
    return length;
}

uint64_t bench_naive_fabrik(phx_vec3 *positions, const float *lengths, const phx_vec3 *targets, uint32_t bones, size_t chains,
                            float tolerance, uint32_t max_rounds, size_t *reached) {
    uint64_t rounds = 0;
    *reached = 0;
    for (size_t i = 0; i < chains; ++i, positions += bones + 1, lengths += bones) {
        const phx_vec3 root = positions[0], target = targets[i];
        const float near = tolerance * sum(lengths, bones);
        for (uint32_t round = 0;; ++round) {
            const phx_vec3 miss = sub(positions[bones], target);
            if (dot(miss, miss) <= near * near) {
                ++*reached;
                break;
            }
            if (round == max_rounds) break;
            ++rounds;
            positions[bones] = target;
            for (uint32_t j = bones; j-- > 0;) {
                const phx_vec3 d = sub(positions[j], positions[j + 1]);
                positions[j] = along(positions[j + 1], d, lengths[j] / sqrtf(dot(d, d)));
            }
            positions[0] = root;
            for (uint32_t j = 0; j < bones; ++j) {
                const phx_vec3 d = sub(positions[j + 1], positions[j]);
                positions[j + 1] = along(positions[j], d, lengths[j] / sqrtf(dot(d, d)));
            }
        }
    }
    return rounds;
}

uint64_t bench_naive_ccd(phx_vec3 *positions, const float *lengths, const phx_vec3 *targets, uint32_t bones, size_t chains,
                         float tolerance, uint32_t max_rounds, size_t *reached) {
    uint64_t rounds = 0;
    *reached = 0;
    for (size_t i = 0; i < chains; ++i, positions += bones + 1, lengths += bones) {
        const phx_vec3 target = targets[i];
        const float near = tolerance * sum(lengths, bones);
        for (uint32_t round = 0;; ++round) {
            const phx_vec3 miss = sub(positions[bones], target);
            if (dot(miss, miss) <= near * near) {
                ++*reached;
                break;
            }
            if (round == max_rounds) break;
            ++rounds;
            for (uint32_t j = bones; j-- > 0;) {
                const phx_vec3 tip = sub(positions[bones], positions[j]), goal = sub(target, positions[j]);
                const float product = sqrtf(dot(tip, tip) * dot(goal, goal));
                const phx_vec3 axis = cross(tip, goal);
                const float w = product + dot(tip, goal), square = dot(axis, axis) + w * w;
                if (!(square > 1e-12f * product * product)) continue; /* opposite: no axis */
                const float scale = 1.0f / sqrtf(square);
                const phx_vec3 u = {axis.x * scale, axis.y * scale, axis.z * scale};
                for (uint32_t k = j + 1; k <= bones; ++k) { /* everything below the joint turns with it */
                    const phx_vec3 v = sub(positions[k], positions[j]), t = cross(u, v);
                    const phx_vec3 turned = along(along(v, t, 2.0f * w * scale), cross(u, t), 2.0f);
                    positions[k] = along(positions[j], turned, 1.0f);
                }
            }
        }
    }
    return rounds;
}
