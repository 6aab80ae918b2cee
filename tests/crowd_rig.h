/* A small biped, a walk of sines and an analytic ground, for the crowd tests. */
#ifndef PHALANX_TEST_CROWD_RIG_H
#define PHALANX_TEST_CROWD_RIG_H

#include "support.h"

enum { RIG_JOINTS = 14, RIG_HIPS = 1 };
/* 0 root, 1 hips, 2 spine, 3 head, 4-8 left hip knee ankle ball toe, 9-13 right */
static const uint16_t rig_parents[RIG_JOINTS] = {PHX_NO_JOINT, 0, 1, 2, 1, 4, 5, 6, 7, 1, 9, 10, 11, 12};

static inline phx_quat about_x(float angle) { return (phx_quat){sinf(angle / 2), 0, 0, cosf(angle / 2)}; }
static inline phx_quat about_y(float angle) { return (phx_quat){0, sinf(angle / 2), 0, cosf(angle / 2)}; }

/* standing pose with the thighs turned by `hip` and the knees bent by `knee`, one value a leg; feet level */
static inline void rig_pose(phx_transform *pose, const float hip[2], const float knee[2]) {
    for (int j = 0; j < RIG_JOINTS; ++j) pose[j] = (phx_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    pose[1].translation.y = 0.92f, pose[2].translation.y = 0.2f, pose[3].translation.y = 0.5f;
    for (int leg = 0; leg < 2; ++leg) {
        phx_transform *p = pose + 4 + 5 * leg;
        p[0].translation = (phx_vec3){leg ? -0.1f : 0.1f, -0.02f, 0}, p[0].rotation = about_x(-hip[leg]);
        p[1].translation.y = -0.42f, p[1].rotation = about_x(knee[leg]);
        p[2].translation.y = -0.40f, p[2].rotation = about_x(hip[leg] - knee[leg]);
        p[3].translation = (phx_vec3){0, -0.05f, 0.13f}, p[4].translation = (phx_vec3){0, 0, 0.07f};
    }
}

static inline void rig_walk(phx_transform *pose, float phase) {
    float hip[2], knee[2];
    for (int leg = 0; leg < 2; ++leg) {
        const float t = phase + 3.14159265f * (float)leg;
        hip[leg] = 0.45f * sinf(t);
        knee[leg] = 0.12f + 0.5f * (1 + cosf(t)) * 0.5f;
    }
    rig_pose(pose, hip, knee);
}

static inline phx_crowd_def rig_def(const phx_backend *backend, uint32_t capacity) {
    phx_crowd_def def = phx_crowd_def_default();
    def.backend = backend, def.capacity = capacity;
    def.skeleton = (phx_skeleton){RIG_JOINTS, rig_parents};
    def.pelvis = RIG_HIPS, def.leg_count = 2;
    for (uint16_t leg = 0; leg < 2; ++leg) {
        const uint16_t hip = (uint16_t)(4 + 5 * leg);
        def.legs[leg].hip = hip, def.legs[leg].knee = (uint16_t)(hip + 1), def.legs[leg].ankle = (uint16_t)(hip + 2), def.legs[leg].ball = (uint16_t)(hip + 3);
        def.legs[leg].heel_offset = (phx_vec3){0, -0.08f, 0}, def.legs[leg].ball_offset = (phx_vec3){0, -0.03f, 0};
        def.legs[leg].knee_forward = (phx_vec3){0, 0, 1};
    }
    return def;
}

/* ground: height and upward normal; returns 0 for a hole */
typedef int (*ground_function)(const void *ground, float x, float z, float *height, phx_vec3 *normal);

static inline int ground_hills(const void *unused, float x, float z, float *height, phx_vec3 *normal) {
    (void)unused;
    *height = 0.15f * sinf(1.3f * x) * cosf(1.1f * z) + 0.1f * sinf(0.4f * z);
    const float dx = 0.195f * cosf(1.3f * x) * cosf(1.1f * z), dz = -0.165f * sinf(1.3f * x) * sinf(1.1f * z) + 0.04f * cosf(0.4f * z);
    const float l = sqrtf(dx * dx + dz * dz + 1);
    *normal = (phx_vec3){-dx / l, 1 / l, -dz / l};
    return !(sinf(5 * x) > 0.97f); /* a crack now and then */
}

/* which of the bodies carries the ground there: patches of three, and now and then one that does not exist, or the first that does not */
static inline uint32_t ground_body(float x, float z) {
    const int64_t cell = (int64_t)floorf(x / 1.7f) * 7 + (int64_t)floorf(z / 1.3f) * 3;
    const int64_t kind = (cell % 23 + 23) % 23;
    return (uint32_t)(kind == 5 ? 77 : kind == 11 ? 3 : (cell % 3 + 3) % 3);
}

static inline void cast(phx_ray_blocks rays, ground_function ground, const void *data) {
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *r = rays.blocks + b;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            float height;
            phx_vec3 normal;
            if (r->tfar[lane] < 0 || !ground(data, r->org_x[lane], r->org_z[lane], &height, &normal)) continue;
            const float t = r->org_y[lane] - height;
            if (!(t >= 0 && t <= r->tfar[lane])) continue;
            r->tfar[lane] = t, r->geomID[lane] = ground_body(r->org_x[lane], r->org_z[lane]);
            r->Ng_x[lane] = normal.x, r->Ng_y[lane] = normal.y, r->Ng_z[lane] = normal.z;
        }
    }
}

static inline void run_frame(phx_crowd *crowd, const phx_crowd_frame *frame, ground_function ground, const void *data) {
    for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, frame); ++tile) {
        const phx_ray_blocks rays = phx_crowd_prepare(crowd, frame, tile);
        for (uint32_t k = 0; k < PHX_TILE_CHARACTERS / PHX_BLOCK_LANES; ++k) { /* no ray is wanted where there is no character */
            const uint32_t in_group = rays.characters > 16 * k ? rays.characters - 16 * k : 0;
            assert_int_equal(in_group >= 16 ? 0 : rays.active[k] >> in_group, 0);
        }
        cast(rays, ground, data);
        assert_int_equal(phx_crowd_solve(crowd, frame, tile), PHX_OK);
    }
}

#endif
