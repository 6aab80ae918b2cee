/* A foot that stands on a body far from its origin, which turns: where it is locked, in the body's frame, stays the same to the bit. Where
 * there is no body it is not locked at all. */
#include "crowd_rig.h"

enum { FRAMES = 1200, CHARACTERS = 3 };

static void run(const phx_backend *backend) {
    phx_crowd_def def = rig_def(backend, CHARACTERS);
    def.bodies = 1;
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    static phx_transform poses[CHARACTERS][RIG_JOINTS];
    phx_vec3 roots[CHARACTERS], locked_at[CHARACTERS][2];
    phx_quat turns[CHARACTERS];
    uint32_t locked_frames = 0;
    for (int f = 0; f < FRAMES; ++f) {
        const float angle = 0.01f * (float)f;
        const phx_body body = {{3, 0, -2}, about_y(angle), 1};
        for (uint32_t c = 0; c < CHARACTERS; ++c) {
            const float radius = 2.0f + 20.0f * (float)c, none[2] = {0, 0}, bent[2] = {0.1f, 0.1f};
            rig_pose(poses[c], none, bent);
            roots[c] = (phx_vec3){3 + radius * sinf(angle), 0, -2 + radius * cosf(angle)};
            turns[c] = about_y(angle);
        }
        const phx_crowd_frame frame = {.count = CHARACTERS, .dt = 1.0f / 60, .poses = phx_poses_of(poses[0], RIG_JOINTS), .root_position = PHX_VIEW_ARRAY(roots),
                                       .root_rotation = PHX_VIEW_ARRAY(turns), .bodies = &body, .body_count = 1};
        const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, 0);
        for (uint32_t b = 0; b < rays.count; ++b)
            for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
                phx_ray_block *r = rays.blocks + b;
                if (r->tfar[lane] < 0) continue;
                r->tfar[lane] = r->org_y[lane], r->geomID[lane] = 0, r->Ng_x[lane] = r->Ng_z[lane] = 0, r->Ng_y[lane] = 1;
            }
        assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
        for (uint32_t c = 0; c < CHARACTERS; ++c)
            for (uint32_t leg = 0; leg < 2; ++leg) {
                phx_foot_info foot;
                assert_int_equal(phx_crowd_foot(crowd, c, leg, &foot), PHX_OK);
                if (f == 1) locked_at[c][leg] = foot.lock_point;
                if (f < 2) continue;
                assert_int_equal(foot.locked, 1);
                assert_memory_equal(&foot.lock_point, &locked_at[c][leg], sizeof foot.lock_point);
                ++locked_frames;
            }
    }
    assert_int_equal(locked_frames, (FRAMES - 2) * CHARACTERS * 2);
    phx_crowd_destroy(crowd);
}

static void locks_on_a_turning_body_stay_where_they_are(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) run(backend);
}

/* feet that are told to stand, over a body, then over none, as the body is gone, then over it again */
static void a_body_that_is_gone_locks_nobody(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = rig_def(backend, 1);
        def.bodies = 1;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        phx_transform pose[RIG_JOINTS];
        static const float stands[2] = {1, 1}, none[2] = {0, 0}, bent[2] = {0.1f, 0.1f};
        const phx_body body = {{0, 0, 0}, {0, 0, 0, 1}, 1};
        for (int f = 0; f < 90; ++f) {
            const int gone = f < 30 || f >= 60;
            rig_pose(pose, none, bent);
            const phx_crowd_frame frame = {.count = 1, .dt = 1.0f / 60, .poses = phx_poses_of(pose, RIG_JOINTS), .support = {(void *)(uintptr_t)stands, sizeof stands},
                                           .bodies = &body, .body_count = gone ? 0 : 1};
            const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, 0);
            for (uint32_t b = 0; b < rays.count; ++b) {
                phx_ray_block *r = rays.blocks + b;
                if (r->tfar[0] < 0) continue;
                r->tfar[0] = r->org_y[0], r->geomID[0] = 0, r->Ng_x[0] = r->Ng_z[0] = 0, r->Ng_y[0] = 1;
            }
            assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
            for (uint32_t leg = 0; leg < 2; ++leg) {
                phx_foot_info foot;
                assert_int_equal(phx_crowd_foot(crowd, 0, leg, &foot), PHX_OK);
                if (gone || f == 59) assert_int_equal(foot.locked, !gone);
            }
        }
        phx_crowd_destroy(crowd);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(locks_on_a_turning_body_stay_where_they_are),
                                       cmocka_unit_test(a_body_that_is_gone_locks_nobody)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
