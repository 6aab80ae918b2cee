/* Hits that come one frame late: on a slope they say the same plane, as a hit's point is taken from the origin of its own ray. A lock may
 * begin elsewhere on that plane, within the 2 % of the leg by which it follows its ray. */
#include "crowd_rig.h"

enum { CHARACTERS = 20, FRAMES = 240, BLOCKS = 2 * 4 * 2 };

static int ground_slope(const void *unused, float x, float z, float *height, phx_vec3 *normal) {
    (void)unused, (void)x;
    *height = 0.36397f * z; /* 20 degrees */
    *normal = (phx_vec3){0, 0.9396926f, -0.3420201f};
    return 1;
}

static void late_hits_of_a_slope_are_as_good(const phx_backend *backend) {
    const phx_crowd_def def = rig_def(backend, CHARACTERS);
    phx_crowd *crowds[2] = {phx_crowd_create(&def, NULL), phx_crowd_create(&def, NULL)};
    static phx_transform poses[2][CHARACTERS][RIG_JOINTS];
    static phx_ray_block last[BLOCKS];
    phx_vec3 roots[CHARACTERS];
    uint32_t looked = 0;
    double worst = 0, aside = 0;
    for (int f = 0; f < FRAMES; ++f) {
        phx_crowd_frame frames[2];
        for (int late = 0; late < 2; ++late) {
            for (uint32_t c = 0; c < CHARACTERS; ++c) {
                const float z = 0.02f * (float)f + 0.01f * (float)c;
                rig_walk(poses[late][c], 0.11f * (float)f + 0.3f * (float)c);
                roots[c] = (phx_vec3){(float)c, 0.36397f * z, z};
            }
            frames[late] = (phx_crowd_frame){.count = CHARACTERS, .dt = 1.0f / 60, .poses = phx_poses_of(poses[late][0], RIG_JOINTS), .root_position = PHX_VIEW_ARRAY(roots)};
            const phx_ray_blocks rays = phx_crowd_prepare(crowds[late], frames + late, 0);
            assert_true(rays.count <= BLOCKS);
            cast(rays, ground_slope, NULL);
            if (late) {
                static phx_ray_block now[BLOCKS];
                memcpy(now, rays.blocks, rays.count * sizeof *now);
                if (f > 0) memcpy(rays.blocks, last, rays.count * sizeof *now);
                memcpy(last, now, sizeof last);
            }
            assert_int_equal(phx_crowd_solve(crowds[late], frames + late, 0), PHX_OK);
        }
        for (uint32_t c = 0; c < CHARACTERS; ++c)
            for (uint32_t leg = 0; leg < 2; ++leg) {
                phx_foot_info a, b;
                assert_int_equal(phx_crowd_foot(crowds[0], c, leg, &a), PHX_OK);
                assert_int_equal(phx_crowd_foot(crowds[1], c, leg, &b), PHX_OK);
                const double x = (double)a.target.x - b.target.x, y = (double)a.target.y - b.target.y, z = (double)a.target.z - b.target.z;
                const double up = (double)a.ground_point.y - b.ground_point.y, ahead = (double)a.ground_point.z - b.ground_point.z;
                worst = fmax(worst, fabs(0.9396926 * up - 0.3420201 * ahead)), aside = fmax(aside, sqrt(x * x + y * y + z * z));
                ++looked;
            }
    }
    printf("# %s: %u feet, planes %.3g mm apart at most, ankles %.3g mm\n", phx_backend_name(backend), looked, worst * 1e3, aside * 1e3);
    assert_true(worst < 1e-4 && aside < 0.02 * 0.82 + 1e-3);
    for (int late = 0; late < 2; ++late) phx_crowd_destroy(crowds[late]);
}

static void hits_may_be_one_frame_late(void **state) {
    (void)state;
    for (uint32_t b = 0; phx_backend_at(b); ++b) late_hits_of_a_slope_are_as_good(phx_backend_at(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hits_may_be_one_frame_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
