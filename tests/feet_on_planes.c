/* Feet on plane ground, against geometry: the sole lies in the plane whatever way it slopes, a foot that may not turn that far still does
 * not sink in, the knee stays in the clip's own plane, a foot lets go of a body that was replaced, and a spring's pelvis follows its closed
 * form. */
#include "crowd_rig.h"

typedef struct place {
    phx_vec3 point, normal; /* the plane */
    phx_quat turn;          /* of the whole world */
} place;

static phx_vec3 rotated(phx_quat q, phx_vec3 v) {
    const phx_vec3 t = {2 * (q.y * v.z - q.z * v.y), 2 * (q.z * v.x - q.x * v.z), 2 * (q.x * v.y - q.y * v.x)};
    return (phx_vec3){v.x + q.w * t.x + q.y * t.z - q.z * t.y, v.y + q.w * t.y + q.z * t.x - q.x * t.z,
                      v.z + q.w * t.z + q.x * t.y - q.y * t.x};
}
static float distance_to(const place *plane, phx_vec3 p) {
    return (p.x - plane->point.x) * plane->normal.x + (p.y - plane->point.y) * plane->normal.y + (p.z - plane->point.z) * plane->normal.z;
}

/* bent knees, soles at y = 0 */
static void stand(phx_transform *pose) {
    rig_pose(pose, (const float[]){0.2f, 0.2f}, (const float[]){0.4f, 0.4f});
    pose[1].translation.y -= 0.9f - 0.82f * cosf(0.2f) - 0.08f;
}

static void cast_on(phx_ray_blocks rays, const place *plane) {
    const phx_vec3 up = rotated(plane->turn, (phx_vec3){0, 1, 0}), n = plane->normal;
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *r = rays.blocks + b;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            if (r->tfar[lane] < 0) continue;
            r->tfar[lane] = distance_to(plane, (phx_vec3){r->org_x[lane], r->org_y[lane], r->org_z[lane]}) / (n.x * up.x + n.y * up.y + n.z * up.z);
            r->Ng_x[lane] = n.x, r->Ng_y[lane] = n.y, r->Ng_z[lane] = n.z, r->geomID[lane] = 0;
        }
    }
}

/* one frame of a character that stands; its joints afterwards */
static void frame_on(phx_crowd *crowd, const place *plane, float dt, const phx_body *body, phx_vec3 *positions, phx_quat *rotations) {
    phx_transform pose[RIG_JOINTS];
    stand(pose);
    pose[0].rotation = plane->turn;
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = 1, frame.dt = dt, frame.poses = phx_poses_of(pose, RIG_JOINTS), frame.bodies = body, frame.body_count = body ? 1 : 0;
    cast_on(phx_crowd_prepare(crowd, &frame, 0), plane);
    assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
    static PHX_ALIGN_64 char workspace[1 << 16];
    const phx_skeleton skeleton = {RIG_JOINTS, rig_parents};
    const phx_fk_job fk = {.skeleton = &skeleton,
                           .count = 1,
                           .poses = phx_poses_of(pose, RIG_JOINTS),
                           .positions = phx_view_of(positions, RIG_JOINTS * 12),
                           .rotations = phx_view_of(rotations, RIG_JOINTS * 16)};
    assert_true(phx_fk_workspace_size(&fk) <= sizeof workspace);
    assert_int_equal(phx_fk_solve(phx_backend_find("reference"), &fk, 0, 1, workspace, NULL), PHX_OK);
}

static phx_vec3 sole_point(const phx_vec3 *positions, const phx_quat *rotations, int joint, float drop) {
    const phx_vec3 down = rotated(rotations[joint], (phx_vec3){0, -drop, 0});
    return (phx_vec3){positions[joint].x + down.x, positions[joint].y + down.y, positions[joint].z + down.z};
}

static void soles_lie_in_the_plane_whatever_way_it_slopes(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int way = 0; way < 16; ++way) {
            const float angle = 0.26f, turn = 6.2831853f * (float)way / 16;
            const place plane = {{0, 0, 0}, {sinf(angle) * sinf(turn), cosf(angle), sinf(angle) * cosf(turn)}, {0, 0, 0, 1}};
            const phx_crowd_def def = rig_def(backend, 1);
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            phx_vec3 positions[RIG_JOINTS];
            phx_quat rotations[RIG_JOINTS];
            for (int f = 0; f < 120; ++f) frame_on(crowd, &plane, 1.0f / 60, NULL, positions, rotations);
            for (int leg = 0; leg < 2; ++leg) {
                const int ankle = 6 + 5 * leg, ball = ankle + 1;
                const phx_vec3 up = rotated(rotations[ankle], (phx_vec3){0, 1, 0});
                assert_true(fabsf(up.x - plane.normal.x) < 1e-3f && fabsf(up.y - plane.normal.y) < 1e-3f &&
                            fabsf(up.z - plane.normal.z) < 1e-3f);
                assert_true(fabsf(distance_to(&plane, sole_point(positions, rotations, ankle, 0.08f))) < 5e-4f);
                assert_true(fabsf(distance_to(&plane, sole_point(positions, rotations, ball, 0.03f))) < 5e-4f);
            }
            phx_crowd_destroy(crowd);
        }
    }
}

static void a_foot_that_may_not_turn_that_far_does_not_sink_in(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int way = -1; way <= 1; way += 2) {
            const float angle = 0.45f * (float)way;
            const place plane = {{0, 0, 0}, {0, cosf(angle), -sinf(angle)}, {0, 0, 0, 1}};
            phx_crowd_def def = rig_def(backend, 1);
            def.params.max_foot_pitch = 0.1f, def.params.max_toe_bend = 0;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            phx_vec3 positions[RIG_JOINTS];
            phx_quat rotations[RIG_JOINTS];
            for (int f = 0; f < 120; ++f) frame_on(crowd, &plane, 1.0f / 60, NULL, positions, rotations);
            for (int leg = 0; leg < 2; ++leg) {
                const int ankle = 6 + 5 * leg;
                const float heel = distance_to(&plane, sole_point(positions, rotations, ankle, 0.08f));
                const float ball = distance_to(&plane, sole_point(positions, rotations, ankle + 1, 0.03f));
                assert_true(fabsf(fminf(heel, ball)) < 5e-4f); /* the deepest point is where it was animated: on the ground */
                assert_true(fmaxf(heel, ball) > 0.02f);        /* the other one cannot be */
            }
            phx_crowd_destroy(crowd);
        }
    }
}

/* Toes bend to ground that is too steep for the foot, whichever way up is, and in frames that asked for no ray of it as well. */
static void toes_lie_on_steep_ground_in_every_frame(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int c = 0; c < 6; ++c) {
            const int reuse = c & 1;
            /* Y up, up along another axis, up along none */
            const phx_quat turn = c < 2 ? (phx_quat){0, 0, 0, 1} : c < 4 ? (phx_quat){sqrtf(0.5f), 0, 0, sqrtf(0.5f)} : (phx_quat){0.36f, 0.48f, 0, 0.8f};
            const place plane = {{0, 0, 0}, rotated(turn, (phx_vec3){0, cosf(0.45f), -sinf(0.45f)}), turn};
            phx_crowd_def def = rig_def(backend, 1);
            def.up = rotated(turn, (phx_vec3){0, 1, 0});
            def.params.max_foot_pitch = 0.1f, def.params.ray_reuse = reuse ? 0.5f : 0;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            phx_vec3 positions[RIG_JOINTS];
            phx_quat rotations[RIG_JOINTS];
            for (int f = 0; f < 120; ++f) {
                frame_on(crowd, &plane, 1.0f / 60, NULL, positions, rotations);
                if (f < 90) continue; /* the attitude has come to rest */
                for (int leg = 0; leg < 2; ++leg) {
                    const phx_vec3 up = rotated(rotations[7 + 5 * leg], (phx_vec3){0, 1, 0});
                    assert_true(fabsf(up.x - plane.normal.x) < 1e-3f && fabsf(up.y - plane.normal.y) < 1e-3f && fabsf(up.z - plane.normal.z) < 1e-3f);
                }
            }
            phx_crowd_destroy(crowd);
        }
    }
}

static void a_bent_knee_stays_in_the_plane_of_the_clip(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const place plane = {{0, 0.12f, 0}, {0, 1, 0}, {0, 0, 0, 1}};
        phx_crowd_def def = rig_def(backend, 1);
        def.params.max_pelvis_rise = 0;
        for (int leg = 0; leg < 2; ++leg)
            def.legs[leg].knee_forward = (phx_vec3){sinf(0.4f), 0, cosf(0.4f)}; /* the clip bends straight ahead */
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        phx_vec3 positions[RIG_JOINTS];
        phx_quat rotations[RIG_JOINTS];
        for (int f = 0; f < 60; ++f) frame_on(crowd, &plane, 1.0f / 60, NULL, positions, rotations);
        for (int hip = 4; hip <= 9; hip += 5) {
            assert_true(fabsf(positions[hip + 1].x - positions[hip].x) < 1e-4f && positions[hip + 1].z > positions[hip].z + 0.2f);
            assert_true(fabsf(positions[hip + 2].y - 0.2f) < 1e-3f); /* and it did bend: the ankle went up with the ground */
        }
        phx_crowd_destroy(crowd);
    }
}

static void a_foot_lets_go_of_a_body_that_was_replaced(void **state) {
    (void)state;
    const place plane = {{0, 0, 0}, {0, 1, 0}, {0, 0, 0, 1}};
    FOR_EACH_BACKEND(backend) {
        for (int replaced = 0; replaced < 2; ++replaced) {
            phx_crowd_def def = rig_def(backend, 1);
            def.bodies = 1;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            phx_body body = {{0, 0, 0}, {0, 0, 0, 1}, 7};
            phx_vec3 before[RIG_JOINTS], after[RIG_JOINTS];
            phx_quat rotations[RIG_JOINTS];
            for (int f = 0; f < 60; ++f) frame_on(crowd, &plane, 1.0f / 60, &body, before, rotations);
            body.position.x = 0.01f, body.generation += (uint32_t)replaced; /* slowly enough to be ridden */
            frame_on(crowd, &plane, 1.0f / 60, &body, after, rotations);
            for (int ball = 7; ball <= 12; ball += 5) assert_true(fabsf(after[ball].x - before[ball].x - (replaced ? 0 : 0.01f)) < 1e-3f);
            phx_crowd_destroy(crowd);
        }
    }
}

static void a_spring_follows_its_closed_form(void **state) {
    (void)state;
    static const float rates[] = {10, 30, 60, 240};
    const double half_life = 0.1, w = 1.6783469900166605 / half_life; /* (1 + x) e^-x = 1/2 */
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 4; ++k) {
            phx_crowd_def def = rig_def(backend, 1);
            def.params.pelvis_firm = def.params.lock = 0, def.params.pelvis_speed = 1e6f;
            def.params.ground_half_life = def.params.tilt_half_life = def.params.weight_half_life = def.params.pelvis_half_life = 0;
            phx_crowd *at_once = phx_crowd_create(&def, NULL); /* says what is wanted */
            def.params.pelvis_spring = 1, def.params.pelvis_half_life = (float)half_life;
            phx_crowd *eased = phx_crowd_create(&def, NULL);
            phx_vec3 positions[RIG_JOINTS];
            phx_quat rotations[RIG_JOINTS];
            const place high = {{0, 0, 0}, {0, 1, 0}, {0, 0, 0, 1}}, low = {{0, -0.1f, 0}, {0, 1, 0}, {0, 0, 0, 1}};
            const float dt = 1 / rates[k];
            frame_on(at_once, &high, dt, NULL, positions, rotations), frame_on(eased, &high, dt, NULL, positions, rotations);
            const double start = (double)phx_crowd_pelvis(eased, 0);
            assert_true(fabs(start - (double)phx_crowd_pelvis(at_once, 0)) < 1e-6);
            for (int f = 1; f <= (int)rates[k]; ++f) {
                frame_on(at_once, &low, dt, NULL, positions, rotations), frame_on(eased, &low, dt, NULL, positions, rotations);
                const double wanted = (double)phx_crowd_pelvis(at_once, 0), t = (double)f * (double)dt, away = start - wanted;
                assert_true(away > 0.05); /* the ground fell by 0.1, and straighter legs take a little of it */
                assert_true(fabs((double)phx_crowd_pelvis(eased, 0) - (wanted + away * (1 + w * t) * exp(-w * t))) < 2e-5);
            }
            phx_crowd_destroy(at_once), phx_crowd_destroy(eased);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soles_lie_in_the_plane_whatever_way_it_slopes),
        cmocka_unit_test(toes_lie_on_steep_ground_in_every_frame),
        cmocka_unit_test(a_foot_that_may_not_turn_that_far_does_not_sink_in),
        cmocka_unit_test(a_bent_knee_stays_in_the_plane_of_the_clip),
        cmocka_unit_test(a_foot_lets_go_of_a_body_that_was_replaced),
        cmocka_unit_test(a_spring_follows_its_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
