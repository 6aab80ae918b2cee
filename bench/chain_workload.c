/* Makes the chains of chain_workload.h. */
#include "chain_workload.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64 */
static uint64_t state;
static float uniform(float low, float high) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return low + (high - low) * ((float)((z ^ (z >> 31)) >> 40) * 0x1p-24f);
}
static phx_vec3 direction(void) {
    for (;;) {
        const phx_vec3 v = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
        const float l = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
        if (0.1f < l && l <= 1.0f) return (phx_vec3){v.x / l, v.y / l, v.z / l};
    }
}
static phx_vec3 step(phx_vec3 from, phx_vec3 d, float s) { return (phx_vec3){from.x + d.x * s, from.y + d.y * s, from.z + d.z * s}; }

/* v turned about the unit axis k (Rodrigues) */
static phx_vec3 turned(phx_vec3 v, phx_vec3 k, float angle) {
    const float c = cosf(angle), s = sinf(angle), along = (v.x * k.x + v.y * k.y + v.z * k.z) * (1 - c);
    return (phx_vec3){v.x * c + (k.y * v.z - k.z * v.y) * s + k.x * along, v.y * c + (k.z * v.x - k.x * v.z) * s + k.y * along,
                      v.z * c + (k.x * v.y - k.y * v.x) * s + k.z * along};
}

void bench_fill_chains(uint32_t bones, size_t count, phx_vec3 *positions, float *lengths, phx_vec3 *targets) {
    state = 0xC4A1 + bones;
    for (size_t i = 0; i < count; ++i) {
        phx_vec3 *joint = positions + i * (bones + 1), d = direction();
        float whole = 0;
        joint[0] = step((phx_vec3){0, 0, 0}, direction(), uniform(0, 10));
        for (uint32_t j = 0; j < bones; ++j) {
            const float length = lengths[i * bones + j] = uniform(0.1f, 0.3f);
            whole += length;
            joint[j + 1] = step(joint[j], d, length);
            d = turned(d, direction(), uniform(0.05f, 0.3f));
        }
        targets[i] = step(joint[0], direction(), whole * uniform(0.2f, 0.9f));
    }
}

bench_chain_blocks bench_make_chain_blocks(uint32_t bones, size_t count, const phx_vec3 *positions, const float *lengths,
                                           const phx_vec3 *targets) {
    const size_t n = (count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES, joints = bones + 1;
    const size_t rows[] = {3 * n * joints, 3 * n * joints, n * bones, 3 * n, n, n, n};
    bench_chain_blocks result;
    memset(&result, 0, sizeof result);
    size_t at[8] = {0};
    for (int k = 0; k < 7; ++k) at[k + 1] = at[k] + rows[k] * 64 + 64 * 17; /* not at equal distances in the cache's sets */
    result.bytes = at[7];
    char *memory = result.memory = aligned_alloc(64, result.bytes);
    if (!memory) return result;
    memset(memory, 0, result.bytes);
    phx_rows3 *position = (void *)(memory + at[0]), *target = (void *)(memory + at[3]);
    phx_rows1 *length = (void *)(memory + at[2]);
    for (size_t k = 0; k < n * PHX_BLOCK_LANES; ++k) {
        const size_t i = k < count ? k : count - 1, block = k / PHX_BLOCK_LANES, lane = k % PHX_BLOCK_LANES;
        for (size_t j = 0; j < joints; ++j) {
            const phx_vec3 p = positions[i * joints + j];
            phx_rows3 *row = position + block * joints + j;
            row->x[lane] = p.x, row->y[lane] = p.y, row->z[lane] = p.z;
        }
        for (size_t j = 0; j < bones; ++j) length[block * bones + j].v[lane] = lengths[i * bones + j];
        target[block].x[lane] = targets[i].x, target[block].y[lane] = targets[i].y, target[block].z[lane] = targets[i].z;
    }
    result.blocks.count = n, result.blocks.joints = (uint32_t)joints;
    result.blocks.position = position, result.blocks.solved = (void *)(memory + at[1]);
    result.blocks.length = length, result.blocks.target = target;
    result.blocks.residual = (void *)(memory + at[4]), result.blocks.iterations = (void *)(memory + at[5]);
    result.blocks.flags = (void *)(memory + at[6]);
    return result;
}

void bench_free_chain_blocks(bench_chain_blocks *blocks) {
    free(blocks->memory);
    memset(blocks, 0, sizeof *blocks);
}
