/* See workloads.h. */
#include "workloads.h"
#include <math.h>
#include <string.h>

/* splitmix64 */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static float uniform(uint64_t *state, float low, float high) { return low + (high - low) * ((float)(random_bits(state) >> 40) * 0x1p-24f); }

/* from a point, `length` metres along the direction `tilt` radians off straight down toward the heading (sine, cosine of yaw) */
static phx_vec3 hang(phx_vec3 from, float length, float tilt, float yaw_sine, float yaw_cosine) {
    const float out = length * sinf(tilt);
    return (phx_vec3){from.x + out * yaw_sine, from.y - length * cosf(tilt), from.z + out * yaw_cosine};
}

void bench_fill_legs(bench_leg *legs, size_t count) {
    const float thigh = 0.45f, shin = 0.43f, turn = 6.28318531f;
    uint64_t state = 0x1E65;
    for (size_t i = 0; i < count; ++i) {
        bench_leg leg;
        memset(&leg, 0, sizeof leg);
        const float yaw = uniform(&state, 0.0f, turn), yaw_sine = sinf(yaw), yaw_cosine = cosf(yaw);
        const float tilt = uniform(&state, -0.35f, 0.35f), bent = uniform(&state, 0.05f, 0.4f);
        leg.hip.x = uniform(&state, 0.0f, 100.0f), leg.hip.y = uniform(&state, 0.8f, 1.0f), leg.hip.z = uniform(&state, 0.0f, 100.0f);
        leg.knee = hang(leg.hip, thigh, tilt, yaw_sine, yaw_cosine);
        leg.ankle = hang(leg.knee, shin, tilt - bent, yaw_sine, yaw_cosine);
        const float away = uniform(&state, 0.0f, turn), off = uniform(&state, -1.22173f, 1.22173f);
        const float reach = uniform(&state, 0.0f, 1.0f) < 0.9f ? uniform(&state, 0.30f, 0.98f) : uniform(&state, 1.005f, 1.3f);
        leg.target = hang(leg.hip, (thigh + shin) * reach, off, sinf(away), cosf(away));
        leg.knee_forward.x = yaw_sine + uniform(&state, -0.15f, 0.15f);
        leg.knee_forward.y = uniform(&state, -0.15f, 0.15f);
        leg.knee_forward.z = yaw_cosine + uniform(&state, -0.15f, 0.15f);
        legs[i] = leg;
    }
}

static void put(phx_rows3 *rows, size_t lane, phx_vec3 a) { rows->x[lane] = a.x, rows->y[lane] = a.y, rows->z[lane] = a.z; }

void bench_fill_blocks(phx_two_bone_block *blocks, const bench_leg *legs, size_t count) {
    memset(blocks, 0, (count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES * sizeof *blocks);
    for (size_t i = 0; i < count; ++i) {
        phx_two_bone_block *block = blocks + i / PHX_BLOCK_LANES;
        const size_t lane = i % PHX_BLOCK_LANES;
        put(&block->root, lane, legs[i].hip), put(&block->mid, lane, legs[i].knee), put(&block->tip, lane, legs[i].ankle);
        put(&block->target, lane, legs[i].target), put(&block->pole, lane, legs[i].knee_forward), put(&block->bend, lane, legs[i].bend);
    }
}

static phx_vec3 direction(uint64_t *state) {
    for (;;) {
        const phx_vec3 v = {uniform(state, -1.0f, 1.0f), uniform(state, -1.0f, 1.0f), uniform(state, -1.0f, 1.0f)};
        const float length = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
        if (length > 0.1f && length <= 1.0f) return (phx_vec3){v.x / length, v.y / length, v.z / length};
    }
}

/* turned about a unit axis (Rodrigues) */
static phx_vec3 turn(phx_vec3 v, phx_vec3 axis, float angle) {
    const float c = cosf(angle), s = sinf(angle), along = (axis.x * v.x + axis.y * v.y + axis.z * v.z) * (1.0f - c);
    return (phx_vec3){v.x * c + (axis.y * v.z - axis.z * v.y) * s + axis.x * along, v.y * c + (axis.z * v.x - axis.x * v.z) * s + axis.y * along,
                      v.z * c + (axis.x * v.y - axis.y * v.x) * s + axis.z * along};
}

void bench_fill_chains(phx_vec3 *positions, phx_vec3 *targets, uint32_t bones, size_t chains) {
    uint64_t state = 0xC4A1;
    for (size_t i = 0; i < chains; ++i) {
        phx_vec3 at = direction(&state), along = direction(&state);
        const float away = uniform(&state, 0.0f, 10.0f);
        at.x *= away, at.y *= away, at.z *= away;
        const phx_vec3 root = at;
        float reach = 0.0f;
        *positions++ = at;
        for (uint32_t j = 0; j < bones; ++j) {
            if (j) along = turn(along, direction(&state), uniform(&state, 0.05f, 0.3f));
            const float length = uniform(&state, 0.1f, 0.3f);
            reach += length;
            at.x += along.x * length, at.y += along.y * length, at.z += along.z * length;
            *positions++ = at;
        }
        const phx_vec3 toward = direction(&state);
        const float distance = reach * uniform(&state, 0.2f, 0.9f);
        targets[i].x = root.x + toward.x * distance, targets[i].y = root.y + toward.y * distance, targets[i].z = root.z + toward.z * distance;
    }
}

static phx_quat times(phx_quat a, phx_quat b) {
    return (phx_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
                      a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

/* a swing of +Z by an angle toward any side */
static phx_quat swing(uint64_t *state, float angle) {
    const float side = uniform(state, 0.0f, 6.28318531f), sine = sinf(0.5f * angle);
    return (phx_quat){sine * cosf(side), sine * sinf(side), 0.0f, cosf(0.5f * angle)};
}

/* the joint after one at `at` whose bone is turned by q */
static phx_vec3 after(phx_vec3 at, phx_quat q, float length) {
    const phx_vec3 z = {2.0f * (q.x * q.z + q.w * q.y), 2.0f * (q.y * q.z - q.w * q.x), 1.0f - 2.0f * (q.x * q.x + q.y * q.y)};
    return (phx_vec3){at.x + z.x * length, at.y + z.y * length, at.z + z.z * length};
}

void bench_fill_limited_chains(phx_vec3 *positions, phx_quat *rotations, phx_vec3 *targets, uint32_t bones, size_t chains) {
    uint64_t state = 0xC0E5;
    for (size_t i = 0; i < chains; ++i) {
        phx_vec3 at = direction(&state);
        const float away = uniform(&state, 0.0f, 10.0f);
        at.x *= away, at.y *= away, at.z *= away;
        targets[i] = at;
        phx_quat pose = {0.0f, 0.0f, 0.0f, 1.0f}, reached = pose;
        for (uint32_t j = 0; j < bones; ++j) {
            const float length = uniform(&state, 0.1f, 0.3f);
            pose = times(pose, swing(&state, uniform(&state, 0.05f, 0.3f)));
            reached = times(reached, swing(&state, uniform(&state, 0.0f, 0.78f)));
            *positions++ = at, *rotations++ = pose;
            at = after(at, pose, length), targets[i] = after(targets[i], reached, length);
        }
        *positions++ = at, *rotations++ = pose;
    }
}
