/* A pelvis that may shift and lean: angles and ways against geometry, nothing on flat ground, alike for mirrored characters, any order of
 * legs, any unit and any frame rate, kept by levels of detail and nothing where the weight is 0. How fast it rises, and where rays ahead of
 * it start. */
#include "crowd_rig.h"

/* heights under the left and the right foot at the root, and a common slope */
typedef struct two_grounds {
    float left, right, gx, gz;
} two_grounds;
static int ground_of(const void *data, float x, float z, float *height, phx_vec3 *normal) {
    const two_grounds *g = data;
    const float l = sqrtf(g->gx * g->gx + g->gz * g->gz + 1);
    *height = (x > 0 ? g->left : g->right) + g->gx * x + g->gz * z;
    *normal = (phx_vec3){-g->gx / l, 1 / l, -g->gz / l};
    return 1;
}

static phx_vec3 rotated(phx_quat q, phx_vec3 v) {
    const phx_vec3 t = {2 * (q.y * v.z - q.z * v.y), 2 * (q.z * v.x - q.x * v.z), 2 * (q.x * v.y - q.y * v.x)};
    return (phx_vec3){v.x + q.w * t.x + q.y * t.z - q.z * t.y, v.y + q.w * t.y + q.z * t.x - q.x * t.z,
                      v.z + q.w * t.z + q.x * t.y - q.y * t.x};
}

/* bent knees, soles at y = 0, times `scale` */
static void stand(phx_transform *pose, float scale) {
    rig_pose(pose, (const float[]){0.2f, 0.2f}, (const float[]){0.4f, 0.4f});
    pose[1].translation.y -= 0.9f - 0.82f * cosf(0.2f) - 0.08f;
    for (int j = 0; j < RIG_JOINTS; ++j)
        pose[j].translation.x *= scale, pose[j].translation.y *= scale, pose[j].translation.z *= scale;
}

/* no filter: what is wanted is there at once */
static phx_crowd_def def_at_once(const phx_backend *backend) {
    phx_crowd_def def = rig_def(backend, 1);
    def.params.ground_half_life = def.params.tilt_half_life = def.params.weight_half_life = def.params.pelvis_half_life = 0;
    def.params.pelvis_speed = 1e6f;
    return def;
}

typedef struct standing {
    phx_transform pose[RIG_JOINTS];
    phx_vec3 positions[RIG_JOINTS];
    phx_quat rotations[RIG_JOINTS];
    phx_pelvis_info pelvis;
} standing;

static float told[2] = {1, 1}; /* support of the feet */
static void frame_of(phx_crowd *crowd, const two_grounds *ground, float dt, phx_vec3 root, float weight, uint32_t flags, standing *s) {
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    stand(s->pose, 1);
    frame.count = 1, frame.dt = dt, frame.poses = phx_poses_of(s->pose, RIG_JOINTS);
    frame.root_position = PHX_VIEW_ONE(&root), frame.weight = PHX_VIEW_ONE(&weight), frame.flags = PHX_VIEW_ONE(&flags);
    frame.support = phx_view_of(told, sizeof told);
    run_frame(crowd, &frame, ground_of, ground);
    static PHX_ALIGN_64 char workspace[1 << 16];
    const phx_skeleton skeleton = {RIG_JOINTS, rig_parents};
    const phx_fk_job fk = {.skeleton = &skeleton,
                           .count = 1,
                           .poses = frame.poses,
                           .positions = phx_view_of(s->positions, RIG_JOINTS * 12),
                           .rotations = phx_view_of(s->rotations, RIG_JOINTS * 16)};
    assert_true(phx_fk_workspace_size(&fk) <= sizeof workspace);
    assert_int_equal(phx_fk_solve(phx_backend_find("reference"), &fk, 0, 1, workspace, NULL), PHX_OK);
    assert_int_equal(phx_crowd_pelvis_info(crowd, 0, &s->pelvis), PHX_OK);
}
/* after the filters landed, or after one frame where there are none */
static void stand_on(const phx_crowd_def *def, const two_grounds *ground, standing *s) {
    phx_crowd *crowd = phx_crowd_create(def, NULL);
    assert_non_null(crowd);
    frame_of(crowd, ground, 1.0f / 60, (phx_vec3){0, 0, 0}, 1, 0, s);
    phx_crowd_destroy(crowd);
}

static void assert_near(float a, double b, double tolerance) {
    if (fabs((double)a - b) <= tolerance) return;
    print_error("%.7g is not within %g of %.7g\n", (double)a, tolerance, b);
    fail();
}
static void assert_up(const standing *s, double x, double z, double tolerance) {
    const phx_vec3 told = rotated(s->pelvis.rotation, (phx_vec3){0, 1, 0}), found = rotated(s->rotations[RIG_HIPS], (phx_vec3){0, 1, 0});
    assert_near(told.x, x, tolerance), assert_near(told.z, z, tolerance);
    assert_near(found.x, x, tolerance), assert_near(found.z, z, tolerance); /* the stand's pelvis is upright */
}
static void assert_soles_on(const two_grounds *g, const standing *s) {
    for (int leg = 0; leg < 2; ++leg) {
        for (int end = 0; end < 2; ++end) {
            const int joint = 6 + 5 * leg + end;
            const phx_vec3 down = rotated(s->rotations[joint], (phx_vec3){0, end ? -0.03f : -0.08f, 0});
            const phx_vec3 p = {s->positions[joint].x + down.x, s->positions[joint].y + down.y, s->positions[joint].z + down.z};
            assert_near(p.y, (double)((leg ? g->right : g->left) + g->gx * p.x + g->gz * p.z), 1e-3);
        }
    }
}

static void nothing_moves_on_flat_ground(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = def_at_once(backend);
        const two_grounds flat = {0, 0, 0, 0};
        standing without, with;
        stand_on(&def, &flat, &without);
        def.params.pelvis_shift = def.params.pelvis_pitch = def.params.pelvis_roll = 1;
        stand_on(&def, &flat, &with);
        for (int j = 0; j < RIG_JOINTS; ++j) assert_near(with.positions[j].x, (double)without.positions[j].x, 1e-6);
        for (int j = 0; j < RIG_JOINTS; ++j) assert_near(with.positions[j].y, (double)without.positions[j].y, 1e-6);
        for (int j = 0; j < RIG_JOINTS; ++j) assert_near(with.positions[j].z, (double)without.positions[j].z, 1e-6);
        assert_up(&with, 0, 0, 1e-6);
    }
}

/* Feet 0.2 apart, one 0.08 higher: the line between them rises by atan(0.08 / 0.2); the share of it is the roll, towards the lower foot. The
 * guard against feet close together takes 0.0003 of it: h w / (w^2 + 2 (0.01 L)^2) with L = 0.82. */
static void the_pelvis_rolls_with_the_line_between_the_feet(void **state) {
    (void)state;
    const double slope = 0.08 * 0.2 / (0.2 * 0.2 + 2 * 0.0082 * 0.0082);
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 6; ++k) {
            const double share = 0.25 * (k % 3 + 1), angle = atan(slope) * share;
            const int left = k < 3;
            phx_crowd_def def = def_at_once(backend);
            def.params.pelvis_roll = (float)share;
            const two_grounds ground = {left ? 0.08f : 0, left ? 0 : 0.08f, 0, 0};
            standing s;
            stand_on(&def, &ground, &s);
            assert_up(&s, left ? -sin(angle) : sin(angle), 0, 1e-5);
            assert_near(s.positions[4].y - s.positions[9].y, (left ? 1 : -1) * 0.2 * sin(angle), 1e-5); /* the hips go along, */
            const phx_vec3 head = rotated(s.rotations[3], (phx_vec3){0, 1, 0});                          /* and the head, */
            assert_near(head.x, left ? -sin(angle) : sin(angle), 1e-5);
            assert_soles_on(&ground, &s); /* and the feet stay where they were put */
        }
        phx_crowd_def def = def_at_once(backend); /* at most as far as it may */
        def.params.pelvis_roll = 1, def.params.max_pelvis_lean = 0.1f;
        standing s;
        stand_on(&def, &(two_grounds){0.08f, 0, 0, 0}, &s);
        assert_up(&s, -sin(0.1), 0, 1e-6);
    }
}

/* On one plane the slope is the plane's, whatever way it faces; each share takes its part of its angle. */
static void the_pelvis_leans_with_a_slope_or_into_it(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int way = 0; way < 12; ++way) {
            const double steep = tan(0.26), turn = 6.283185307 * way / 12, pitch = way % 2 ? -0.4 : 0.6, roll = way % 3 * 0.3;
            const two_grounds ground = {0, 0, (float)(steep * sin(turn)), (float)(steep * cos(turn))};
            phx_crowd_def def = def_at_once(backend);
            def.params.pelvis_pitch = (float)pitch, def.params.pelvis_roll = (float)roll;
            standing s;
            stand_on(&def, &ground, &s);
            const double z = -atan(steep * cos(turn)) * pitch, x = -atan(steep * sin(turn)) * roll, angle = hypot(x, z);
            assert_true(angle > 0 && angle < (double)def.params.max_pelvis_lean);
            assert_up(&s, x * sin(angle) / angle, z * sin(angle) / angle, 1e-5);
            assert_soles_on(&ground, &s);
        }
    }
}

/* The root steps aside, the balls stay locked: the mean of what they were moved by is the whole step. */
static void the_pelvis_shifts_with_the_soles_that_stand(void **state) {
    (void)state;
    const two_grounds flat = {0, 0, 0, 0};
    FOR_EACH_BACKEND(backend) {
        static const struct {
            float share, step, most, expected;
        } cases[] = {{1, 0.06f, 0.1f, -0.06f}, {0.5f, 0.06f, 0.1f, -0.03f}, {1, 0.15f, 0.1f, -0.1f}, {0.5f, -0.06f, 0.1f, 0.03f}};
        for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
            phx_crowd_def def = def_at_once(backend);
            def.params.pelvis_shift = cases[k].share, def.params.max_pelvis_shift = cases[k].most;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            standing s;
            frame_of(crowd, &flat, 1.0f / 60, (phx_vec3){0, 0, 0}, 1, 0, &s);
            assert_near(s.pelvis.translation.z, 0, 1e-6);
            const float balls[2] = {s.positions[7].z, s.positions[12].z};
            frame_of(crowd, &flat, 1.0f / 60, (phx_vec3){0, 0, cases[k].step}, 1, 0, &s);
            assert_near(s.pelvis.translation.z, (double)cases[k].expected, 1e-5);
            assert_near(s.positions[RIG_HIPS].z, (double)cases[k].expected, 1e-5); /* joints are seen from the root */
            for (int leg = 0; leg < 2; ++leg) assert_near(s.positions[7 + 5 * leg].z, (double)(balls[leg] - cases[k].step), 1e-3);
            phx_crowd_destroy(crowd);
        }
    }
}

/* target (1 - 2^(-t / half-life)) at any frame rate, and nothing while time stands still */
static void filters_are_exact_at_any_rate(void **state) {
    (void)state;
    static const float rates[] = {10, 30, 60, 240};
    const double target = atan(0.08 * 0.2 / (0.2 * 0.2 + 2 * 0.0082 * 0.0082)), half_life = 0.1;
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 4; ++k) {
            phx_crowd_def def = def_at_once(backend);
            def.params.pelvis_half_life = (float)half_life, def.params.pelvis_roll = 1, def.params.max_pelvis_lean = 1;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            standing s;
            frame_of(crowd, &(two_grounds){0, 0, 0, 0}, 1 / rates[k], (phx_vec3){0, 0, 0}, 1, 0, &s);
            for (int f = 1; f <= (int)rates[k] / 2; ++f) {
                frame_of(crowd, &(two_grounds){0.08f, 0, 0, 0}, 1 / rates[k], (phx_vec3){0, 0, 0}, 1, 0, &s);
                assert_up(&s, -sin(target * (1 - exp2(-f / (double)rates[k] / half_life))), 0, 1e-5);
            }
            const phx_pelvis_info before = s.pelvis;
            frame_of(crowd, &(two_grounds){0, 0.08f, 0, 0}, 0, (phx_vec3){0, 0, 0}, 1, 0, &s);
            assert_int_equal(first_difference(&before, &s.pelvis, sizeof before), -1);
            phx_crowd_destroy(crowd);
        }
    }
}

static void mirrors_orders_and_units_change_nothing(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = def_at_once(backend);
        def.params.pelvis_shift = 0.7f, def.params.pelvis_pitch = -0.5f, def.params.pelvis_roll = 0.6f;
        standing s, other;
        stand_on(&def, &(two_grounds){0.05f, 0.01f, 0.1f, 0.2f}, &s);
        stand_on(&def, &(two_grounds){0.01f, 0.05f, -0.1f, 0.2f}, &other); /* mirrored in x */
        const phx_vec3 up = rotated(s.pelvis.rotation, (phx_vec3){0, 1, 0}), mirrored = rotated(other.pelvis.rotation, (phx_vec3){0, 1, 0});
        assert_near(mirrored.x, (double)-up.x, 1e-6), assert_near(mirrored.y, (double)up.y, 1e-6), assert_near(mirrored.z, (double)up.z, 1e-6);
        assert_true(fabsf(up.x) > 0.05f && up.z > 0.05f); /* it did lean, and into the slope */

        const phx_leg left = def.legs[0]; /* the same legs in the other order: the sums of two are the same bits */
        def.legs[0] = def.legs[1], def.legs[1] = left;
        stand_on(&def, &(two_grounds){0.05f, 0.01f, 0.1f, 0.2f}, &other);
        assert_int_equal(first_difference(s.pose, other.pose, sizeof s.pose), -1);

        def.unit = 1.0f / 128; /* a power of two: every length is the same bits but for the exponent */
        for (int leg = 0; leg < 2; ++leg) def.legs[leg].heel_offset.y *= 128, def.legs[leg].ball_offset.y *= 128;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        phx_transform pose[RIG_JOINTS];
        stand(pose, 128);
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = 1, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(pose, RIG_JOINTS), frame.support = phx_view_of(told, sizeof told);
        run_frame(crowd, &frame, ground_of, &(two_grounds){0.05f * 128, 0.01f * 128, 0.1f, 0.2f});
        for (int j = 0; j < RIG_JOINTS; ++j) {
            const float *a = (const float *)(s.pose + j), *b = (const float *)(pose + j);
            for (int k = 0; k < 7; ++k) assert_near(k < 3 ? b[k] / 128 : b[k], (double)a[k], 2e-5);
        }
        phx_crowd_destroy(crowd);
    }
}

static void levels_of_detail_and_weights_carry_it(void **state) {
    (void)state;
    const two_grounds ground = {0.08f, 0, 0, 0.1f};
    const phx_vec3 origin = {0, 0, 0};
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = def_at_once(backend);
        def.replay = 1, def.params.pelvis_roll = 0.5f, def.params.pelvis_pitch = -0.5f, def.params.pelvis_shift = 1;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        standing solved, again, half;
        phx_transform animated[RIG_JOINTS];
        stand(animated, 1);
        frame_of(crowd, &ground, 1.0f / 60, origin, 1, 0, &solved);
        frame_of(crowd, &ground, 1.0f / 60, origin, 1, PHX_CHARACTER_LOD(PHX_LOD_REPLAY), &again);
        for (int j = 0; j < RIG_JOINTS; ++j)
            for (int k = 0; k < 7; ++k) assert_near((&again.pose[j].translation.x)[k], (double)(&solved.pose[j].translation.x)[k], 2e-6);
        frame_of(crowd, &ground, 1.0f / 60, origin, 1, PHX_CHARACTER_LOD(PHX_LOD_PELVIS), &again);
        for (int j = 0; j < RIG_JOINTS; ++j) {
            const float *expected = (const float *)(j == RIG_HIPS ? solved.pose + j : animated + j), *got = (const float *)(again.pose + j);
            for (int k = 0; k < 7; ++k) assert_near(got[k], (double)expected[k], 2e-6);
        }
        frame_of(crowd, &ground, 1.0f / 60, origin, 0, 0, &again); /* weight 0: the input's bits */
        assert_int_equal(first_difference(again.pose, animated, sizeof animated), -1);
        frame_of(crowd, &ground, 1.0f / 60, origin, 1, 0, &solved);
        frame_of(crowd, &ground, 1.0f / 60, origin, 0.5f, 0, &half); /* half the angle */
        assert_near(acosf(rotated(half.rotations[RIG_HIPS], (phx_vec3){0, 1, 0}).y),
                    acos((double)rotated(solved.rotations[RIG_HIPS], (phx_vec3){0, 1, 0}).y) / 2, 1e-4);
        phx_crowd_destroy(crowd);
    }
}

static void a_pelvis_that_is_a_hip_is_refused(void **state) {
    (void)state;
    phx_crowd_def def = rig_def(NULL, 1);
    def.leg_count = 1, def.pelvis = def.legs[0].hip;
    phx_report report;
    phx_crowd *crowd = phx_crowd_create(&def, &report);
    assert_non_null(crowd);
    phx_crowd_destroy(crowd);
    def.params.pelvis_roll = 0.5f;
    assert_null(phx_crowd_create(&def, &report));
    assert_non_null(strstr(report.text, "legs[0].hip"));
}

/* A step of 0.2 under the left foot goes away. The pelvis lay low for it, with the right leg folded, and would be up in one frame: it rises by
 * as much as lets the square of the standing leg's length grow by 0.7 of that of the whole leg a second, (h + P')^2 = (h + P)^2 + 0.7 L^2 dt
 * with h from ankle to hip of the clip. A left leg that swings instead, drawn up from 0.2 below, may fold by 2 L^2 a second, which asks for more,
 * or by 5 where joints have a bound, though none is held by it. */
static void the_pelvis_rises_as_its_legs_bear_it(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int c = 0; c < 4; ++c) {
            const int swings = c & 1, slow = c >> 1;
            phx_crowd_def def = def_at_once(backend);
            if (slow) def.params.ankle_speed = 1e6f;
            const two_grounds step = {-0.2f, 0, 0, 0}, flat = {0, 0, 0, 0};
            const double h = 0.82 * cos(0.2), share = 0.82 * 0.82, dt = 1.0 / 60;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            standing s;
            frame_of(crowd, &step, (float)dt, (phx_vec3){0, 0, 0}, 1, 0, &s);
            const double animated = (double)s.positions[RIG_HIPS].y, low = (double)s.positions[4].y - (h + 0.08);
            assert_true(low < -0.15);
            told[0] = swings ? 0 : 1;
            frame_of(crowd, &flat, (float)dt, (phx_vec3){0, 0, 0}, 1, 0, &s);
            told[0] = 1;
            const double stands = sqrt((h + low) * (h + low) + 0.7 * share * dt) - h;
            const double drawn = sqrt((h + low + 0.2) * (h + low + 0.2) - (slow ? 5 : 2) * share * dt) - h;
            const double risen = (double)s.positions[RIG_HIPS].y - animated;
            assert_true(drawn > stands + 0.05);
            assert_near((float)(low + risen), swings ? fmin(drawn, 0) : stands, 2e-4);
            phx_crowd_destroy(crowd);
        }
    }
}

/* A root that goes 0.06 ahead and 0.01 up a frame takes a foot in the air along at 4.4 legs a second: its ball's ray looks the whole 0.1 s
 * ahead, six frames, in which the root climbs 0.06, and starts that much higher; at 0.2 a frame 0.7 of step_up, and no more. The heel's does not. */
static void rays_ahead_start_where_the_root_will_be(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const float climbs[] = {0.01f, -0.01f, 0.2f, 0};
        const double higher[] = {0.06, -0.06, 0.42, 0};
        for (int k = 0; k < 4; ++k) {
            const phx_crowd_def def = rig_def(backend, 1);
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            const two_grounds flat = {-0.1f, -0.1f, 0, 0};
            standing s;
            told[0] = told[1] = 0;
            frame_of(crowd, &flat, 1.0f / 60, (phx_vec3){0, 0, 0}, 1, 0, &s);
            told[0] = told[1] = 1;
            const phx_vec3 root = {0, climbs[k], 0.06f};
            phx_crowd_frame frame = {.count = 1, .dt = 1.0f / 60, .root_position = PHX_VIEW_ONE(&root)};
            stand(s.pose, 1), frame.poses = phx_poses_of(s.pose, RIG_JOINTS);
            const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, 0);
            assert_int_equal(rays.count, 4);
            for (int leg = 0; leg < 2; ++leg) {
                const phx_ray_block *ends = rays.blocks + 2 * leg;
                assert_near(ends[0].org_y[0], (double)climbs[k] + 0.6, 1e-5);
                assert_near(ends[1].org_y[0], (double)climbs[k] + 0.6 + higher[k], 1e-5);
                assert_true(ends[1].org_z[0] > ends[0].org_z[0] + 0.3f); /* it does look ahead */
            }
            phx_crowd_destroy(crowd);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_on_flat_ground),
        cmocka_unit_test(the_pelvis_rolls_with_the_line_between_the_feet),
        cmocka_unit_test(the_pelvis_leans_with_a_slope_or_into_it),
        cmocka_unit_test(the_pelvis_shifts_with_the_soles_that_stand),
        cmocka_unit_test(filters_are_exact_at_any_rate),
        cmocka_unit_test(mirrors_orders_and_units_change_nothing),
        cmocka_unit_test(levels_of_detail_and_weights_carry_it),
        cmocka_unit_test(a_pelvis_that_is_a_hip_is_refused),
        cmocka_unit_test(the_pelvis_rises_as_its_legs_bear_it),
        cmocka_unit_test(rays_ahead_start_where_the_root_will_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
