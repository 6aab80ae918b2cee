/* Joints that may turn only so fast. A character hovers above ground that jumps up under it, with legs that swing: what its legs are asked for does not
 * change after the jump, so a joint that is held turns by exactly its speed times dt a frame, about one axis, until it has arrived. */
#include "crowd_rig.h"

enum { HIP = 4, KNEE = 5, ANKLE = 6, JUMP = 3, FRAMES = 60 };
static const float dt = 1.0f / 60;

static int ground_level(const void *level, float x, float z, float *height, phx_vec3 *normal) {
    (void)x, (void)z;
    *height = *(const float *)level, *normal = (phx_vec3){0, 1, 0};
    return 1;
}

/* by how much b is turned from a, radians, in double */
static double turned(phx_quat a, phx_quat b) {
    const double x = (double)a.w * b.x - (double)a.x * b.w - (double)a.y * b.z + (double)a.z * b.y;
    const double y = (double)a.w * b.y + (double)a.x * b.z - (double)a.y * b.w - (double)a.z * b.x;
    const double z = (double)a.w * b.z - (double)a.x * b.y + (double)a.y * b.x - (double)a.z * b.w;
    const double w = (double)a.w * b.w + (double)a.x * b.x + (double)a.y * b.y + (double)a.z * b.z;
    return 2 * atan2(sqrt(x * x + y * y + z * z), fabs(w));
}

/* bends of all joints are about x: the angles of a local rotation add up along a leg */
static double about(phx_quat q) { return 2 * atan2((double)q.x, (double)q.w); }

#define assert_near(a, b, most) assert_true(fabs((double)(a) - (double)(b)) <= (most))

typedef struct scene {
    phx_crowd *crowd;
    phx_transform pose[RIG_JOINTS];
    float weight, support[2], scale, dt;
    uint32_t flags;
} scene;

static scene scene_of(const phx_backend *backend, float hip, float knee, float ankle, float scale) {
    phx_crowd_def def = rig_def(backend, 1);
    def.pelvis = PHX_NO_JOINT, def.replay = 1, def.unit = 1 / scale; /* the pelvis stays where it is */
    for (int l = 0; l < 2; ++l) def.legs[l].heel_offset.y *= scale, def.legs[l].ball_offset.y *= scale;
    def.params.ground_half_life = 0, def.params.hip_speed = hip, def.params.knee_speed = knee, def.params.ankle_speed = ankle;
    phx_report report;
    scene s = {.crowd = phx_crowd_create(&def, &report), .weight = 1, .scale = scale, .dt = dt};
    if (!s.crowd) print_message("%s\n", report.text);
    assert_non_null(s.crowd);
    return s;
}

/* one frame of it, with the ground at this height, metres */
static void step(scene *s, float ground) {
    rig_pose(s->pose, (float[2]){0.3f, 0.3f}, (float[2]){0.5f, 0.5f});
    for (int j = 0; j < RIG_JOINTS; ++j) s->pose[j].translation.x *= s->scale, s->pose[j].translation.y *= s->scale, s->pose[j].translation.z *= s->scale;
    const float level = ground * s->scale;
    phx_crowd_frame frame = {.count = 1, .dt = s->dt, .poses = phx_poses_of(s->pose, RIG_JOINTS)};
    frame.weight = phx_view_of(&s->weight, 4), frame.flags = phx_view_of(&s->flags, 4), frame.support = phx_view_of(s->support, 8);
    run_frame(s->crowd, &frame, ground_level, &level);
}

static void a_joint_turns_by_its_speed_until_it_arrives(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int k = 0; k < 3; ++k) {
        const float speed = 1.7f, scales[2] = {1, 100};
        scene free = scene_of(backend, 0, 0, 0, 1), held[2];
        for (int i = 0; i < 2; ++i) held[i] = scene_of(backend, k == 0 ? speed : 0, k == 1 ? speed : 0, k == 2 ? speed : 0, scales[i]);
        phx_quat last = {0, 0, 0, 1};
        int frames = 0;
        for (int f = 0; f < FRAMES; ++f) {
            const float ground = f < JUMP ? 0.0f : 0.25f;
            step(&free, ground);
            for (int i = 0; i < 2; ++i) step(held + i, ground);
            const phx_quat *joint = &held[0].pose[HIP + k].rotation, other = held[0].pose[HIP + 5 + k].rotation, wanted = free.pose[HIP + k].rotation;
            assert_true(turned(*joint, other) < 2e-6); /* both legs are asked for the same */
            assert_true(turned(*joint, held[1].pose[HIP + k].rotation) < 2e-5); /* in any unit */
            phx_foot_info info, unheld;
            assert_int_equal(phx_crowd_foot(held[0].crowd, 0, 0, &info), PHX_OK);
            assert_int_equal(phx_crowd_foot(free.crowd, 0, 0, &unheld), PHX_OK);
            if (f == 0) assert_true(turned(*joint, wanted) < 2e-6);
            if (f > 0) {
                const double left = turned(last, wanted), most = (double)speed * dt;
                assert_near(turned(last, *joint), fmin(left, most), 1e-6);
                assert_near(turned(*joint, wanted), fmax(left - most, 0), 2e-6);
                assert_int_equal((info.flags & PHX_FLAG_LIMIT) != 0, left > most + 1e-6);
                frames += left > most + 1e-6;
            }
            last = *joint;
            /* where it is told to be it is, and the foot is as level as it was meant to be, where its ankle may turn */
            double y = 0.92 - 0.02, z = 0, sum = 0;
            for (int j = 0; j < 2; ++j) {
                sum += about(held[0].pose[HIP + j].rotation);
                y -= (j == 0 ? 0.42 : 0.40) * cos(sum), z -= (j == 0 ? 0.42 : 0.40) * sin(sum);
            }
            assert_near(info.residual, sqrt((y - info.target.y) * (y - info.target.y) + (z - info.target.z) * (z - info.target.z)), 2e-6);
            assert_int_equal((info.flags & PHX_FLAG_REACHED) != 0, info.residual <= 0.82e-3f);
            if (k < 2) assert_near(sum + about(held[0].pose[ANKLE].rotation), 0, 3e-6);
            assert_near(info.target.y, unheld.target.y, 1e-6);
        }
        assert_true(frames > 3 && frames < FRAMES - JUMP - 3);
        phx_crowd_destroy(free.crowd);
        for (int i = 0; i < 2; ++i) phx_crowd_destroy(held[i].crowd);
    }
}

static void half_the_time_is_half_the_way(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        scene whole = scene_of(backend, 1.1f, 1.7f, 0.6f, 1), halves = scene_of(backend, 1.1f, 1.7f, 0.6f, 1);
        halves.dt = dt / 2;
        step(&whole, 0), step(&halves, 0);
        for (int f = 0; f < 5; ++f) {
            step(&whole, 0.25f), step(&halves, 0.25f), step(&halves, 0.25f);
            for (int k = 0; k < 2; ++k) assert_true(turned(whole.pose[HIP + k].rotation, halves.pose[HIP + k].rotation) < 3e-6);
        }
        phx_crowd_destroy(whole.crowd), phx_crowd_destroy(halves.crowd);
    }
}

static void frames_that_are_skipped_count(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        scene s = scene_of(backend, 0, 1.7f, 0, 1);
        step(&s, 0);
        const phx_quat before = s.pose[KNEE].rotation;
        s.flags = PHX_CHARACTER_LOD(PHX_LOD_REPLAY);
        for (int f = 0; f < 3; ++f) {
            step(&s, 0.25f);
            assert_true(turned(before, s.pose[KNEE].rotation) < 2e-6); /* repeated: the ground is not even asked */
        }
        s.flags = 0;
        step(&s, 0.25f);
        assert_near(turned(before, s.pose[KNEE].rotation), 4 * 1.7 * dt, 1e-6);
        phx_crowd_destroy(s.crowd);
    }
}

static void time_that_stands_still_moves_nothing(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        scene s = scene_of(backend, 1, 1, 1, 1);
        step(&s, 0), step(&s, 0.25f);
        phx_transform before[RIG_JOINTS];
        memcpy(before, s.pose, sizeof before);
        const float times[3] = {0, -1, NAN};
        for (int i = 0; i < 3; ++i) {
            s.dt = times[i];
            step(&s, 0.25f);
            for (int k = 0; k < 3; ++k) assert_true(turned(before[HIP + k].rotation, s.pose[HIP + k].rotation) < 5e-7);
        }
        s.dt = dt;
        step(&s, 0.25f);
        assert_near(turned(before[KNEE].rotation, s.pose[KNEE].rotation), (double)dt, 1e-6);
        phx_crowd_destroy(s.crowd);
    }
}

/* what is not held: a leg that stands on the ground, a first frame, one after a teleport, one of no weight */
static void others_are_free(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        scene free = scene_of(backend, 0, 0, 0, 1), held = scene_of(backend, 0.1f, 0.1f, 0.1f, 1);
        for (int f = 0; f < 12; ++f) {
            scene *both[2] = {&free, &held};
            for (int i = 0; i < 2; ++i) {
                both[i]->support[0] = both[i]->support[1] = f < 4 ? 1.0f : 0.0f; /* stands while the ground jumps at 2 */
                both[i]->flags = f == 6 ? PHX_CHARACTER_TELEPORT : 0;
                both[i]->weight = f >= 8 && f < 10 ? 0.0f : 1.0f;
                step(both[i], f < 2 ? 0.0f : f < 6 ? 0.2f : 0.1f);
            }
            if (f == 4 || f == 5) continue; /* swings: as before */
            phx_foot_info info;
            assert_int_equal(phx_crowd_foot(held.crowd, 0, 1, &info), PHX_OK);
            if (f < 8) assert_int_equal(info.flags & PHX_FLAG_LIMIT, 0);
            if (f < 10) assert_memory_equal(free.pose, held.pose, sizeof free.pose); /* the same bits */
        }
        /* from no weight it is held on its way from the animation */
        phx_transform animated[RIG_JOINTS];
        rig_pose(animated, (float[2]){0.3f, 0.3f}, (float[2]){0.5f, 0.5f});
        for (int k = 0; k < 2; ++k) assert_near(turned(animated[HIP + k].rotation, held.pose[HIP + k].rotation), 2 * 0.1 * dt, 2e-6);
        phx_crowd_destroy(free.crowd), phx_crowd_destroy(held.crowd);
    }
}

/* A leg on its way to a target out of reach is left short of it; with half the weight and no time, the target comes to meet it: it is reached then, and
 * out of reach no longer. */
static void what_is_reached_is_not_out_of_reach(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        int met = 0;
        for (int k = 0; k < 400; ++k) {
            scene free = scene_of(backend, 0, 0, 0, 1), held = scene_of(backend, 0.05f, 0.05f, 0.05f, 1);
            scene *both[2] = {&free, &held};
            phx_foot_info info[2];
            for (int i = 0; i < 2; ++i) {
                both[i]->support[0] = both[i]->support[1] = 0.5f; /* swings, by what it is told */
                const float ground = -0.05f + 0.00025f * (float)k;
                step(both[i], ground);
                both[i]->dt = 0, both[i]->weight = 0.5f;
                step(both[i], ground);
                assert_int_equal(phx_crowd_foot(both[i]->crowd, 0, 0, info + i), PHX_OK);
                phx_crowd_destroy(both[i]->crowd);
            }
            met += (info[0].flags & PHX_FLAG_OUT_OF_REACH) && (info[1].flags & PHX_FLAG_REACHED) && (info[1].flags & PHX_FLAG_LIMIT);
            if (info[1].flags & PHX_FLAG_REACHED) assert_int_equal(info[1].flags & (PHX_FLAG_OUT_OF_REACH | PHX_FLAG_TOO_CLOSE), 0);
        }
        assert_true(met > 0);
    }
}

/* a limit that nothing reaches changes no bits, and a lane of bad input holds nobody else; over hills, with all that walks */
static void a_limit_out_of_reach_changes_nothing(void **state) {
    (void)state;
    enum { CHARACTERS = 37, WALK = 60 };
    FOR_EACH_BACKEND(backend) {
        static phx_transform poses[4][CHARACTERS][RIG_JOINTS];
        phx_crowd *crowds[4];
        for (int i = 0; i < 4; ++i) {
            phx_crowd_def def = rig_def(backend, CHARACTERS);
            def.pelvis = PHX_NO_JOINT; /* with a limit it moves otherwise */
            if (i > 0) def.params.hip_speed = def.params.knee_speed = def.params.ankle_speed = i == 1 ? 1e6f : 3;
            crowds[i] = phx_crowd_create(&def, NULL);
            assert_non_null(crowds[i]);
        }
        for (int f = 0; f < WALK; ++f) {
            phx_vec3 roots[CHARACTERS];
            for (int i = 0; i < 4; ++i) {
                for (int c = 0; c < CHARACTERS; ++c) {
                    rig_walk(poses[i][c], 0.11f * (float)f + 0.3f * (float)c);
                    roots[c] = (phx_vec3){1.5f * (float)c, 0, 0.02f * (float)f};
                }
                if (i == 3 && f % 7 == 3) poses[i][5][KNEE].rotation.x = NAN;
                const phx_crowd_frame frame = {.count = CHARACTERS, .dt = dt, .poses = phx_poses_of(poses[i][0], RIG_JOINTS), .root_position = PHX_VIEW_ARRAY(roots)};
                run_frame(crowds[i], &frame, ground_hills, NULL);
            }
            assert_memory_equal(poses[0], poses[1], sizeof poses[0]);
            for (int c = 0; c < CHARACTERS; ++c)
                if (c != 5) assert_memory_equal(poses[2][c], poses[3][c], sizeof poses[2][c]);
            if (f % 7 == 4) { /* after the bad frame it is as in its first one */
                phx_foot_info info;
                assert_int_equal(phx_crowd_foot(crowds[3], 5, 0, &info), PHX_OK);
                assert_int_equal(info.flags & (PHX_FLAG_LIMIT | PHX_FLAG_BAD_INPUT), 0);
                for (int j = 0; j < RIG_JOINTS; ++j) assert_true(fabsf(poses[3][5][j].rotation.x) <= 1.001f);
            }
        }
        for (int i = 0; i < 4; ++i) phx_crowd_destroy(crowds[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joint_turns_by_its_speed_until_it_arrives),
        cmocka_unit_test(half_the_time_is_half_the_way),
        cmocka_unit_test(frames_that_are_skipped_count),
        cmocka_unit_test(time_that_stands_still_moves_nothing),
        cmocka_unit_test(others_are_free),
        cmocka_unit_test(what_is_reached_is_not_out_of_reach),
        cmocka_unit_test(a_limit_out_of_reach_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
