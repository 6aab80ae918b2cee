/* CCD where the answer is known: worked values, the cases of the field's own reports, both modes against a double-precision model of
 * one sweep, poles, weights, frozen joints, caps, and ten thousand frames that are fed back. */
#include "support.h"

static const float PI = 3.14159265f;
enum { MOST = PHX_CHAIN_MAX_JOINTS };

typedef struct chain {
    phx_vec3 position[MOST], solved[MOST];
    phx_quat rotation[MOST], correction[MOST];
    phx_vec3 target, pole, bend;
    phx_quat target_rotation;
    float weight;
    phx_result result;
} chain;

static phx_vec3 sub(phx_vec3 a, phx_vec3 b) { return (phx_vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static double dotd(phx_vec3 a, phx_vec3 b) { return (double)a.x * b.x + (double)a.y * b.y + (double)a.z * b.z; }
static double length(phx_vec3 a) { return sqrt(dotd(a, a)); }
static phx_quat about(phx_vec3 axis, float angle) {
    const float s = sinf(angle / 2);
    return (phx_quat){axis.x * s, axis.y * s, axis.z * s, cosf(angle / 2)};
}
static void expect_near(phx_vec3 a, double x, double y, double z, double tolerance) {
    if (fabs(a.x - x) <= tolerance && fabs(a.y - y) <= tolerance && fabs(a.z - z) <= tolerance) return;
    print_error("(%g, %g, %g) instead of (%g, %g, %g) +- %g\n", (double)a.x, (double)a.y, (double)a.z, x, y, z, tolerance);
    fail();
}

/* joints from the origin in steps */
static chain chain_of(uint32_t joints, phx_vec3 step) {
    chain a;
    memset(&a, 0, sizeof a);
    for (uint32_t j = 0; j < joints; ++j) {
        a.position[j] = (phx_vec3){step.x * (float)j, step.y * (float)j, step.z * (float)j};
        a.rotation[j] = (phx_quat){0, 0, 0, 1};
    }
    a.weight = 1;
    return a;
}

static phx_chain_job job_over(chain *a, uint32_t joints) {
    phx_chain_job job = phx_chain_job_default();
    job.count = 1, job.joints = joints;
    job.position = phx_joint_view_of(a->position, sizeof *a, 12), job.position_out = phx_joint_view_of(a->solved, sizeof *a, 12);
    job.rotation = phx_joint_view_of(a->rotation, sizeof *a, 16), job.correction = phx_joint_view_of(a->correction, sizeof *a, 16);
    job.target = PHX_VIEW(a, target), job.pole = PHX_VIEW(a, pole), job.bend = PHX_VIEW(a, bend), job.weight = PHX_VIEW(a, weight);
    job.result = PHX_VIEW(a, result);
    return job;
}

static void solve(const phx_backend *backend, chain *a, uint32_t joints, const phx_ccd_params *params, const phx_limit *limits) {
    phx_chain_job job = job_over(a, joints);
    job.limits = limits;
    assert_int_equal(phx_ccd_solve(backend, params, &job, NULL), PHX_OK);
}

static void a_quarter_turn_reaches(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int mode = 0; mode < 2; ++mode) {
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = (phx_ccd_mode)mode;
        chain a = chain_of(2, (phx_vec3){1, 0, 0});
        a.target = (phx_vec3){0, 1, 0};
        solve(backend, &a, 2, &params, NULL);
        expect_near(a.solved[1], 0, 1, 0, 1e-6);
        assert_int_equal(a.result.iterations, 1);
        assert_int_equal(a.result.flags, PHX_FLAG_REACHED);
        const float root_half = 0.70710678f;
        assert_true(fabsf(a.correction[0].z - root_half) < 1e-6f && fabsf(a.correction[0].w - root_half) < 1e-6f);
    }
}

static void damping_takes_a_share_of_each_turn(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = PHX_CCD_PLAIN, params.damping = 0.5f, params.chain.max_iterations = 1;
        chain a = chain_of(2, (phx_vec3){1, 0, 0});
        a.target = (phx_vec3){0, 1, 0};
        solve(backend, &a, 2, &params, NULL);
        expect_near(a.solved[1], 0.70710678, 0.70710678, 0, 1e-6); /* 45 of 90 degrees */
        params.chain.max_iterations = 2;
        solve(backend, &a, 2, &params, NULL);
        expect_near(a.solved[1], cos(67.5 / 180 * PI), sin(67.5 / 180 * PI), 0, 1e-6); /* and half of what was left */
    }
}

static void a_cap_bounds_each_sweep(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int mode = 0; mode < 2; ++mode) {
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = (phx_ccd_mode)mode, params.max_turn = 0.1f, params.chain.max_iterations = 3;
        chain a = chain_of(2, (phx_vec3){1, 0, 0});
        a.target = (phx_vec3){0, 1, 0};
        solve(backend, &a, 2, &params, NULL);
        assert_true(atan2f(a.solved[1].y, a.solved[1].x) <= 0.3f + 1e-5f);
        assert_true(atan2f(a.solved[1].y, a.solved[1].x) >= 0.1f - 1e-5f);
    }
}

/* a target straight behind, for every axis, and next to it */
static void opposite_targets_are_reached(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int k = 0; k < 24; ++k) {
        const int mode = k % 2, tilt = k / 2 % 2, axis = k / 4;
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = (phx_ccd_mode)mode;
        phx_vec3 step = {0, 0, 0};
        (&step.x)[axis / 2] = axis % 2 ? -1.0f : 1.0f;
        chain a = chain_of(2, step);
        a.target = (phx_vec3){-step.x, -step.y, -step.z};
        (&a.target.x)[(axis / 2 + 1) % 3] = tilt ? 1e-4f : 0.0f;
        solve(backend, &a, 2, &params, NULL);
        assert_true(length(sub(a.solved[1], a.target)) < 1e-3);
        const phx_quat q = a.correction[0];
        assert_true(fabsf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-6f);
        assert_true(a.result.flags & PHX_FLAG_REACHED);
    }
}

static void a_target_on_an_inner_joint_of_a_straight_chain_is_reached(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_ccd_params params = phx_ccd_params_default();
        chain a = chain_of(4, (phx_vec3){10, 0, 0});
        a.target = (phx_vec3){20, 0, 0}, a.bend = (phx_vec3){0, 0, 1};
        solve(backend, &a, 4, &params, NULL);
        assert_true(length(sub(a.solved[3], a.target)) <= 0.03);
        assert_true(a.result.flags & PHX_FLAG_REACHED);
        assert_true(a.solved[1].z > 1 && fabsf(a.solved[1].y) < 1e-4f); /* off the line, toward the bend that was asked for */
        for (int j = 0; j < 3; ++j) assert_true(fabs(length(sub(a.solved[j + 1], a.solved[j])) - 10) < 1e-5);
    }
}

static void unreachable_targets_are_pointed_at_and_the_chain_rests(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int mode = 0; mode < 2; ++mode) {
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = (phx_ccd_mode)mode, params.chain.max_iterations = 10;
        chain a = chain_of(5, (phx_vec3){0, 0.25f, 0}), before;
        a.target = (phx_vec3){1.5f, 0, 0};
        float moved = 0;
        for (int frame = 0; frame < 12; ++frame) {
            before = a;
            solve(backend, &a, 5, &params, NULL);
            moved = 0;
            for (int j = 0; j < 5; ++j) moved = fmaxf(moved, (float)length(sub(a.solved[j], before.position[j])));
            memcpy(a.position, a.solved, sizeof a.position);
            if (mode == PHX_CCD_SHARE && frame == 0) {
                expect_near(a.solved[4], 1, 0, 0, 1e-5);
                assert_int_equal(a.result.iterations, 1);
            }
            if (mode == PHX_CCD_SHARE && frame > 9) assert_true(moved < 1e-4f);
        }
        assert_true(a.result.flags & PHX_FLAG_OUT_OF_REACH);
        assert_false(a.result.flags & PHX_FLAG_REACHED);
        if (mode == PHX_CCD_SHARE) expect_near(a.solved[4], 1, 0, 0, 1e-3);
        else assert_true(a.solved[4].x > 0.98f); /* plain CCD creeps, and does not whirl */
    }
}

static void a_hinge_keeps_the_sign_of_its_range(void **state) {
    (void)state;
    const phx_limit limits[2] = {phx_limit_hinge((phx_vec3){0, 1, 0}, -PI / 2, PI / 2), phx_limit_none()};
    FOR_EACH_BACKEND(backend) for (int mode = 0; mode < 2; ++mode) {
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = (phx_ccd_mode)mode;
        chain a = chain_of(2, (phx_vec3){1, 0, 0});
        a.target = (phx_vec3){0.5f, 0, 0.8660254f};
        solve(backend, &a, 2, &params, limits);
        const double angle = 2 * atan2(a.correction[0].y, a.correction[0].w) / PI * 180;
        assert_true(fabs(angle + 60) < 0.1);
        assert_false(a.result.flags & PHX_FLAG_LIMIT);
        a.target = (phx_vec3){-0.5f, 0, 0.8660254f};
        solve(backend, &a, 2, &params, limits);
        assert_true(fabs(2 * atan2(a.correction[0].y, a.correction[0].w) / PI * 180 + 90) < 0.1);
        expect_near(a.solved[1], 0, 0, 1, 1e-5);
        assert_true(a.result.flags & PHX_FLAG_LIMIT);
        assert_false(a.result.flags & PHX_FLAG_REACHED);
    }
}

static void tolerance_zero_and_budgets_end(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_ccd_params params = phx_ccd_params_default();
        params.chain.tolerance = 0, params.chain.max_iterations = 64;
        chain a = chain_of(5, (phx_vec3){0, 0, 0});
        const phx_vec3 l[] = {{0, 0, 0}, {0, 0.25f, 0}, {0, 0.5f, 0}, {0.25f, 0.5f, 0}, {0.5f, 0.5f, 0}};
        memcpy(a.position, l, sizeof l);
        a.target = (phx_vec3){0.6f, 0.2f, 0};
        solve(backend, &a, 5, &params, NULL);
        assert_true(a.result.iterations <= 64);
        assert_true(a.result.residual <= 1e-5f);

        phx_chain_job job = job_over(&a, 5);
        const uint32_t none = 0, one = 1;
        job.budget = PHX_VIEW_ONE(&none);
        params = phx_ccd_params_default();
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(a.result.iterations, 0);
        assert_int_equal(first_difference(a.solved, a.position, 5 * sizeof(phx_vec3)), -1); /* as animated, to the bit */
        /* also where lengths are other ones, or the pose breaks a limit */
        const float lengths[4] = {0.3f, 0.3f, 0.3f, 0.3f};
        phx_limit limits[5] = {phx_limit_hinge((phx_vec3){0, 0, 1}, 0.5f, 1.0f)};
        for (int j = 1; j < 5; ++j) limits[j] = phx_limit_none();
        for (int k = 0; k < 4; ++k) {
            job.length = phx_joint_view_of(k & 1 ? lengths : NULL, 0, 4), job.limits = k & 2 ? limits : NULL;
            assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
            assert_int_equal(first_difference(a.solved, a.position, 5 * sizeof(phx_vec3)), -1);
            for (int j = 0; j < 5; ++j) {
                const phx_quat q = a.correction[j];
                assert_true(q.w == 1 && q.x == 0 && q.y == 0 && q.z == 0);
            }
            assert_int_equal(a.result.flags & ~(uint32_t)PHX_FLAG_LIMIT, PHX_FLAG_STALLED);
            assert_true(fabs(a.result.residual - length(sub(a.position[4], a.target))) < 1e-6);
        }
        job.length.data = NULL, job.limits = NULL;
        job.budget = PHX_VIEW_ONE(&one);
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(a.result.iterations, 1);
    }
}

static void scale_changes_nothing_but_the_scale(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_vec3 at_one[5];
        for (int k = 0; k < 5; ++k) {
            const float scale = (float[]){1, 0.01f, 100, 1e-3f, 1e3f}[k];
            const phx_ccd_params params = phx_ccd_params_default();
            chain a = chain_of(5, (phx_vec3){0, 0, 0});
            const phx_vec3 l[] = {{0, 0, 0}, {0, 0.25f, 0}, {0, 0.5f, 0}, {0.25f, 0.5f, 0}, {0.5f, 0.5f, 0}};
            for (int j = 0; j < 5; ++j) a.position[j] = (phx_vec3){l[j].x * scale, l[j].y * scale, l[j].z * scale};
            a.target = (phx_vec3){0.6f * scale, 0.2f * scale, 0};
            solve(backend, &a, 5, &params, NULL);
            for (int j = 0; j < 5; ++j) {
                if (k == 0) at_one[j] = a.solved[j];
                const phx_vec3 one = at_one[j];
                expect_near(a.solved[j], (double)one.x * scale, (double)one.y * scale, (double)one.z * scale, 1e-5 * scale);
            }
        }
    }
}

/* the bend turns to the pole, the tip stays on the target */
static void the_pole_turns_the_whole_chain(void **state) {
    (void)state;
    random_state r = random_seeded("ccd poles", 0xCCD6);
    for (int round = 0; round < 500; ++round) {
        const uint32_t joints = 3 + random_below(&r, 6);
        chain a = chain_of(joints, (phx_vec3){0, 0, 0.25f});
        const phx_vec3 bend = random_direction(&r);
        for (uint32_t j = 1; j + 1 < joints; ++j) a.position[j].x += 0.1f * bend.x, a.position[j].y += 0.1f * bend.y;
        const phx_vec3 d = random_direction(&r);
        const float reach = random_float(&r, 0.3f, 0.8f) * 0.25f * (float)(joints - 1);
        a.target = (phx_vec3){d.x * reach, d.y * reach, d.z * reach};
        const phx_vec3 pole = random_direction(&r);
        const float pole_length = (const float[]){1, 2e-12f, 9e17f}[round % 3];
        a.pole = (phx_vec3){pole.x * pole_length, pole.y * pole_length, pole.z * pole_length};
        const phx_ccd_params params = phx_ccd_params_default();
        FOR_EACH_BACKEND(backend) {
            solve(backend, &a, joints, &params, NULL);
            assert_true(a.result.flags & PHX_FLAG_REACHED);
            phx_vec3 sum = {0, 0, 0};
            for (uint32_t j = 1; j + 1 < joints; ++j) sum.x += a.solved[j].x, sum.y += a.solved[j].y, sum.z += a.solved[j].z;
            const phx_vec3 tip = a.solved[joints - 1];
            const double t = dotd(tip, tip);
            const double s = dotd(sum, tip) / t, p = dotd(pole, tip) / t;
            const double u[3] = {sum.x - s * tip.x, sum.y - s * tip.y, sum.z - s * tip.z};
            const double v[3] = {pole.x - p * tip.x, pole.y - p * tip.y, pole.z - p * tip.z};
            const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            const double uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
            if (vv < 1e-3 || uu < 1e-3 * t) continue;
            assert_true(uv / sqrt(uu * vv) > 0.99999);
        }
    }
}

static void a_pole_along_the_chain_is_reported(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_ccd_params params = phx_ccd_params_default();
        chain a = chain_of(3, (phx_vec3){0, 0, 0.5f});
        a.target = (phx_vec3){0, 0, 0.6f}, a.pole = (phx_vec3){0, 0, 1}, a.bend = (phx_vec3){0, 1, 0};
        solve(backend, &a, 3, &params, NULL);
        assert_true(a.result.flags & PHX_FLAG_HINT_UNUSABLE);
        assert_true(a.result.flags & PHX_FLAG_REACHED);
        expect_near(a.solved[1], 0, 0.4, 0.3, 1e-3); /* the previous bend was the next hint */
        expect_near(a.bend, 0, 1, 0, 1e-5);
    }
}

static void joints_before_from_and_without_weight_stay(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int mode = 0; mode < 2; ++mode) {
        phx_ccd_params params = phx_ccd_params_default();
        params.mode = (phx_ccd_mode)mode, params.from = 3;
        chain a = chain_of(8, (phx_vec3){0, 0, 0.25f});
        a.target = (phx_vec3){0.3f, 0.2f, 1.3f};
        solve(backend, &a, 8, &params, NULL);
        if (mode == PHX_CCD_SHARE) assert_true(a.result.flags & PHX_FLAG_REACHED);
        assert_int_equal(first_difference(a.solved, a.position, 4 * sizeof(phx_vec3)), -1);
        for (int j = 0; j < 3; ++j) assert_true(a.correction[j].w == 1.0f && a.correction[j].x == 0.0f);
        /* they are looked at all the same */
        const chain good = a;
        for (int k = 0; k < 2; ++k) {
            if (k == 0) a.position[1].y = NAN;
            else a.rotation[0].w = INFINITY;
            solve(backend, &a, 8, &params, NULL);
            assert_true(a.result.flags & PHX_FLAG_BAD_INPUT);
            assert_int_equal(first_difference(a.solved, a.position, 8 * sizeof(phx_vec3)), -1);
            a = good;
        }

        params.from = 0;
        const float weights[7] = {0, 1, 0.5f, 0, 1, 1, 1};
        phx_chain_job job = job_over(&a, 8);
        job.joint_weights = weights;
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        if (mode == PHX_CCD_SHARE) assert_true(a.result.flags & PHX_FLAG_REACHED);
        assert_true(fabsf(a.correction[0].w) > 1 - 1e-6f);
        /* joint 3 is stiff: it turns with joint 2 */
        for (int k = 0; k < 4; ++k) assert_true(fabsf((&a.correction[3].x)[k] - (&a.correction[2].x)[k]) < 1e-5f);
    }
}

static void weight_blends_in_rotation_space(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_ccd_params params = phx_ccd_params_default();
        chain a = chain_of(2, (phx_vec3){1, 0, 0});
        a.target = (phx_vec3){0, 1, 0};
        a.weight = 0.5f;
        solve(backend, &a, 2, &params, NULL);
        expect_near(a.solved[1], 0.70710678, 0.70710678, 0, 1e-6);
        assert_false(a.result.flags & PHX_FLAG_REACHED);
        assert_true(fabs(a.result.residual - 2 * sin(PI / 8)) < 1e-6); /* the chord of 45 degrees */
        a.weight = 0;
        solve(backend, &a, 2, &params, NULL);
        assert_int_equal(first_difference(a.solved, a.position, 2 * sizeof(phx_vec3)), -1);
    }
}

static void the_tip_takes_its_own_rotation_within_its_limit(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_ccd_params params = phx_ccd_params_default();
        chain a = chain_of(3, (phx_vec3){0.5f, 0, 0});
        a.target = (phx_vec3){0.3f, 0.4f, 0.2f}, a.bend = (phx_vec3){0, 1, 0};
        a.target_rotation = about((phx_vec3){0, 0, 1}, 2.0f);
        phx_chain_job job = job_over(&a, 3);
        job.target_rotation = PHX_VIEW(&a, target_rotation);
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(a.result.flags & PHX_FLAG_REACHED);
        for (int k = 0; k < 4; ++k) assert_true(fabsf((&a.correction[2].x)[k] - (&a.target_rotation.x)[k]) < 1e-6f);

        phx_limit limits[3] = {phx_limit_none(), phx_limit_none(), phx_limit_cone((phx_vec3){1, 0, 0}, 0.3f)};
        limits[2].twist_min = -0.1f, limits[2].twist_max = 0.1f;
        job.limits = limits;
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(a.result.flags & PHX_FLAG_LIMIT);
        assert_true(a.result.flags & PHX_FLAG_REACHED);
        /* angle between the last bone and the tip: at most swing and twist together */
        const phx_quat p = a.correction[1], q = a.correction[2];
        const float w = fabsf(p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w);
        assert_true(2 * acosf(fminf(w, 1)) < 0.3f + 0.1f + 1e-3f && 2 * acosf(fminf(w, 1)) > 0.29f);
    }
}

static void soft_reach_and_stretch(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_ccd_params params = phx_ccd_params_default();
        params.chain.max_stretch = 1.5f;
        chain a = chain_of(4, (phx_vec3){1, 0, 0});
        a.target = (phx_vec3){0, 4, 0};
        solve(backend, &a, 4, &params, NULL);
        expect_near(a.solved[3], 0, 4, 0, 4e-3);
        assert_true(a.result.flags & PHX_FLAG_STRETCHED && a.result.flags & PHX_FLAG_REACHED);
        for (int j = 0; j < 3; ++j) assert_true(fabs(length(sub(a.solved[j + 1], a.solved[j])) - 4.0 / 3) < 1e-5);
        params.chain.max_stretch = 1, params.chain.soft_start = 0.9f;
        solve(backend, &a, 4, &params, NULL);
        /* 3 - 0.3 exp(-(4 - 2.7) / 0.3) */
        assert_true(fabs(length(a.solved[3]) - (3 - 0.3 * exp(-1.3 / 0.3))) < 3e-3);
        assert_true(a.result.flags & PHX_FLAG_SOFTENED);
    }
}

static void a_bone_without_length_is_flagged_and_the_rest_solved(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_ccd_params params = phx_ccd_params_default();
        chain a = chain_of(4, (phx_vec3){0, 0.5f, 0});
        a.position[2] = a.position[1], a.position[3] = (phx_vec3){0.5f, 0.5f, 0};
        a.target = (phx_vec3){0.2f, -0.6f, 0.1f};
        solve(backend, &a, 4, &params, NULL);
        assert_int_equal(a.result.flags, PHX_FLAG_REACHED | PHX_FLAG_ZERO_LENGTH);
        assert_true(length(sub(a.solved[2], a.solved[1])) < 1e-6);
        for (int j = 0; j < 4; ++j) a.position[j] = (phx_vec3){1, 2, 3};
        solve(backend, &a, 4, &params, NULL);
        assert_int_equal(a.result.flags, PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
        assert_int_equal(first_difference(a.solved, a.position, 4 * sizeof(phx_vec3)), -1);
    }
}

/* Joints that coincide are no reason to take a given length for nothing: three bones of 1 reach what they reach. */
static void given_lengths_count_where_joints_coincide(void **state) {
    (void)state;
    static const float lengths[3] = {1, 1, 1};
    static const int coincide[][2] = {{1, 2}, {0, 1}, {2, 3}, {0, 3}};
    FOR_EACH_BACKEND(backend) for (int k = 0; k < 4; ++k) {
        chain a = chain_of(4, (phx_vec3){1, 0, 0});
        for (int j = coincide[k][0] + 1; j <= coincide[k][1]; ++j) a.position[j] = a.position[coincide[k][0]];
        a.target = (phx_vec3){2.5f, 0.5f, 0};
        const phx_ccd_params params = phx_ccd_params_default();
        phx_chain_job job = job_over(&a, 4);
        job.length = phx_joint_view_of(lengths, 0, 4);
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        if (a.result.flags != PHX_FLAG_REACHED) fail_msg("%s, case %d: flags 0x%x, residual %g", phx_backend_name(backend), k, a.result.flags, (double)a.result.residual);
        assert_true(length(sub(a.solved[3], a.target)) < 3.1e-3);
        for (int j = 0; j < 3; ++j) assert_true(fabs(length(sub(a.solved[j + 1], a.solved[j])) - 1) < 1e-5);
    }
}

/* Of ten bones the last two turn: a tolerance of 0.06 is that share of all ten. */
static void tolerance_is_a_share_of_the_whole_chain(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int given = 0; given < 2; ++given) for (int far = 0; far < 2; ++far) {
        static const float lengths[10] = {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f};
        chain a = chain_of(11, (phx_vec3){0, 0.1f, 0});
        phx_ccd_params params = phx_ccd_params_default();
        params.from = 8, params.chain.tolerance = 0.06f;
        a.target = (phx_vec3){far ? 0.062f : 0.058f, 1, 0};
        phx_chain_job job = job_over(&a, 11);
        if (given) job.length = phx_joint_view_of(lengths, 0, 4);
        assert_int_equal(phx_ccd_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(a.result.flags & PHX_FLAG_REACHED);
        assert_true((a.result.iterations > 0) == far);
    }
}

/* ---- a double-precision model of one sweep, written from the method's description and not from the code ---- */

typedef struct dvec {
    double x, y, z;
} dvec;
static dvec d3(phx_vec3 a) { return (dvec){a.x, a.y, a.z}; }
static dvec dsub(dvec a, dvec b) { return (dvec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static dvec dadd(dvec a, dvec b) { return (dvec){a.x + b.x, a.y + b.y, a.z + b.z}; }
static dvec dmul(dvec a, double s) { return (dvec){a.x * s, a.y * s, a.z * s}; }
static double ddot(dvec a, dvec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static dvec dcross(dvec a, dvec b) { return (dvec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static double dlen(dvec a) { return sqrt(ddot(a, a)); }
/* Rodrigues: v about the unit axis */
static dvec dturn(dvec v, dvec axis, double angle) {
    return dadd(dadd(dmul(v, cos(angle)), dmul(dcross(axis, v), sin(angle))), dmul(axis, ddot(axis, v) * (1 - cos(angle))));
}
/* all joints beyond j about joint j */
static void turn_beyond(dvec *p, uint32_t joints, uint32_t j, dvec axis, double angle) {
    for (uint32_t k = j + 1; k < joints; ++k) p[k] = dadd(p[j], dturn(dsub(p[k], p[j]), axis, angle));
}
static void aim_joint(dvec *p, uint32_t joints, uint32_t j, dvec target) {
    const dvec b = dsub(p[joints - 1], p[j]), a = dsub(target, p[j]), n = dcross(b, a);
    if (dlen(n) > 1e-14) turn_beyond(p, joints, j, dmul(n, 1 / dlen(n)), atan2(dlen(n), ddot(a, b)));
}
static void model_plain(dvec *p, uint32_t joints, dvec target) {
    for (uint32_t j = joints - 1; j-- > 0;) aim_joint(p, joints, j, target);
}
static void model_distance(dvec *p, uint32_t joints, dvec target) {
    double along[MOST], total = 0, wanted = dlen(dsub(target, p[0]));
    for (uint32_t j = 0; j + 1 < joints; ++j) along[j] = total, total += dlen(dsub(p[j + 1], p[j]));
    for (uint32_t j = joints - 2; j > 0; --j) {
        double sum = 0;
        for (uint32_t i = 1; i <= j; ++i) sum += pow(along[i] * (total - along[i]), 2);
        const dvec a = dsub(p[0], p[j]), b = dsub(p[joints - 1], p[j]), n = dcross(a, b);
        const double share = pow(along[j] * (total - along[j]), 2) / sum, now = dlen(dsub(p[joints - 1], p[0]));
        const double next_squared = now * now + share * (wanted * wanted - now * now);
        const double cosine = (ddot(a, a) + ddot(b, b) - next_squared) / (2 * dlen(a) * dlen(b)); /* law of cosines */
        const double wanted_angle = acos(fmax(-1, fmin(1, cosine))), angle = atan2(dlen(n), ddot(a, b));
        turn_beyond(p, joints, j, dmul(n, 1 / dlen(n)), wanted_angle - angle);
    }
    aim_joint(p, joints, 0, target);
}

static void one_sweep_is_the_models(void **state) {
    (void)state;
    random_state r = random_seeded("ccd oracle", 0xCCD7);
    double worst[2] = {0, 0};
    for (int round = 0; round < 2000; ++round) {
        const uint32_t joints = 3 + random_below(&r, 15);
        chain a;
        memset(&a, 0, sizeof a);
        phx_vec3 at = {0, 0, 0}, d = random_direction(&r);
        double total = 0;
        for (uint32_t j = 0; j < joints; ++j) {
            a.position[j] = at, a.rotation[j] = (phx_quat){0, 0, 0, 1};
            const phx_vec3 n = random_direction(&r);
            d = (phx_vec3){d.x + 0.4f * n.x, d.y + 0.4f * n.y, d.z + 0.4f * n.z};
            const float s = random_float(&r, 0.1f, 0.3f) / (float)length(d);
            if (j + 1 < joints) total += s * length(d);
            at = (phx_vec3){at.x + d.x * s, at.y + d.y * s, at.z + d.z * s};
        }
        const phx_vec3 to = random_direction(&r);
        const float reach = random_float(&r, 0.3f, 0.9f) * (float)total;
        a.target = (phx_vec3){to.x * reach, to.y * reach, to.z * reach}, a.weight = 1;
        for (int mode = 0; mode < 2; ++mode) {
            dvec p[MOST];
            for (uint32_t j = 0; j < joints; ++j) p[j] = d3(a.position[j]);
            if (mode == PHX_CCD_PLAIN) model_plain(p, joints, d3(a.target));
            else model_distance(p, joints, d3(a.target));
            /* a sweep that ends farther away than it began is not kept, and the model knows no such rule */
            if (dlen(dsub(p[joints - 1], d3(a.target))) >= length(sub(a.position[joints - 1], a.target))) continue;
            phx_ccd_params params = phx_ccd_params_default();
            params.mode = (phx_ccd_mode)mode, params.chain.max_iterations = 1, params.chain.tolerance = 0;
            solve(phx_backend_best(), &a, joints, &params, NULL);
            for (uint32_t j = 0; j < joints; ++j) {
                const double error = dlen(dsub(d3(a.solved[j]), p[j])) / total;
                worst[mode] = fmax(worst[mode], error);
                assert_true(error < 2e-4);
            }
        }
    }
    print_message("farthest from the model: %.1e of the length (share), %.1e (plain)\n", worst[0], worst[1]);
}

static void expect_unit(const chain *a, uint32_t joints) {
    for (uint32_t j = 0; j < joints; ++j) {
        const phx_quat q = a->correction[j];
        assert_true(fabs((double)q.x * q.x + (double)q.y * q.y + (double)q.z * q.z + (double)q.w * q.w - 1) < 1e-5);
    }
}

/* a bent chain of a hundredth of a millimetre and targets up to 9e8 metres away: straight at them, or as straight as the cones allow */
static void targets_at_any_distance_are_pointed_at(void **state) {
    (void)state;
    static const float distances[] = {1e-3f, 0.09f, 0.3f, 1e3f, 1e5f, 1e7f, 9e8f};
    FOR_EACH_BACKEND(backend) for (int mode = 0; mode < 2; ++mode) for (int limited = 0; limited < 3; ++limited)
        for (size_t k = 0; k < sizeof distances / sizeof *distances; ++k) {
            const phx_limit limits[4] = {phx_limit_none(), phx_limit_cone((phx_vec3){1, 0, 0}, 1.0f), phx_limit_none(), phx_limit_none()};
            chain a = chain_of(4, (phx_vec3){1e-5f, 0, 0});
            a.position[2].y = 5e-6f, a.position[1].z = 3e-6f;
            const double d = distances[k], unit[3] = {0.6, 0.64, 0.48};
            a.target = (phx_vec3){(float)(unit[0] * d), (float)(unit[1] * d), (float)(unit[2] * d)};
            if (limited == 2) { /* FABRIK takes the same sweeps */
                if (mode) continue;
                const phx_fabrik_params params = phx_fabrik_params_default();
                phx_chain_job job = job_over(&a, 4);
                job.limits = limits;
                assert_int_equal(phx_fabrik_solve(backend, &params, &job, NULL), PHX_OK);
            } else {
                phx_ccd_params params = phx_ccd_params_default();
                params.mode = (phx_ccd_mode)mode;
                params.chain.max_iterations = 64;
                solve(backend, &a, 4, &params, limited ? limits : NULL);
            }
            expect_unit(&a, 4);
            assert_int_equal(a.result.flags & ~(uint32_t)PHX_FLAG_LIMIT, PHX_FLAG_OUT_OF_REACH);
            double whole = 0;
            for (int j = 0; j < 3; ++j) whole += length(sub(a.position[j + 1], a.position[j]));
            assert_true(fabs(a.result.residual - (d - whole)) <= d * 1e-6 + whole * 1e-3);
            for (int j = 0; !mode && j < 3; ++j) { /* plain sweeps straighten by and by */
                const phx_vec3 bone = sub(a.solved[j + 1], a.solved[j]);
                const double along = bone.x * unit[0] + bone.y * unit[1] + bone.z * unit[2];
                assert_true(along > 0.999 * length(bone));
            }
        }
}

/* poles whose squares overflow or vanish */
static void poles_of_no_usable_length_are_reported(void **state) {
    (void)state;
    static const float lengths[] = {1e-20f, 1e-18f, 9e-13f, 2e18f, 1.8e19f, 1e25f, 3e38f, INFINITY, NAN};
    FOR_EACH_BACKEND(backend) for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
        const phx_ccd_params params = phx_ccd_params_default();
        chain a = chain_of(4, (phx_vec3){0, 0, 0.3f}), none;
        a.position[1].x = 0.1f, a.position[2].x = 0.15f, a.target = (phx_vec3){0.2f, 0.4f, 0.3f}, none = a;
        a.pole = (phx_vec3){0, lengths[k], 0};
        solve(backend, &a, 4, &params, NULL);
        solve(backend, &none, 4, &params, NULL);
        expect_unit(&a, 4);
        assert_int_equal(a.result.flags, PHX_FLAG_REACHED | PHX_FLAG_HINT_UNUSABLE);
        assert_memory_equal(a.correction, none.correction, sizeof none.correction);
    }
}

/* A restart keeps joints without a limit, so it may land on the goal itself: no sweep follows, on no backend. */
static void a_restart_that_lands_on_the_goal_ends(void **state) {
    (void)state;
    random_state r = random_seeded("ccd restarts", 0xCCD7);
    const phx_limit limits[3] = {phx_limit_none(), phx_limit_none(), phx_limit_cone((phx_vec3){0, 1, 0}, 1)};
    phx_ccd_params params = phx_ccd_params_default();
    params.chain.tolerance = 0;
    for (int round = 0; round < 3000; ++round) {
        const uint32_t joints = 2 + (uint32_t)round % 2;
        chain a = chain_of(joints, random_direction(&r)), expected;
        const phx_vec3 d = random_direction(&r);
        const float distance = joints == 2 ? 1 : random_float(&r, 0.1f, 1.9f);
        a.target = (phx_vec3){d.x * distance, d.y * distance, d.z * distance};
        for (uint32_t j = 0; j < joints; ++j) a.rotation[j] = random_rotation(&r);
        expected = a;
        solve(phx_backend_find("reference"), &expected, joints, &params, limits + 3 - joints);
        FOR_EACH_BACKEND(backend) {
            chain b = a;
            solve(backend, &b, joints, &params, limits + 3 - joints);
            assert_memory_equal(&b, &expected, sizeof b);
        }
    }
}

/* a target that runs in circles, ten thousand frames, each from the last one's answer */
static void frames_fed_back_do_not_drift(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int limited = 0; limited < 2; ++limited) {
        phx_ccd_params params = phx_ccd_params_default();
        const phx_limit limits[4] = {phx_limit_cone((phx_vec3){0, 1, 0}, 1.5f), phx_limit_cone((phx_vec3){0, 1, 0}, 1.2f),
                                     phx_limit_cone((phx_vec3){0, 1, 0}, 1.2f), phx_limit_none()};
        chain a = chain_of(4, (phx_vec3){0, 0.3f, 0});
        double drift = 0, largest = 0;
        for (int frame = 0; frame < 10000; ++frame) {
            const double angle = 0.01 * frame;
            a.target = (phx_vec3){(float)(0.5 * cos(angle)), 0.4f, (float)(0.5 * sin(angle))};
            solve(backend, &a, 4, &params, limited ? limits : NULL);
            params.restarts = 0; /* from the second frame on */
            assert_true(a.result.flags & PHX_FLAG_REACHED);
            for (int j = 0; j < 3; ++j) drift = fmax(drift, fabs(length(sub(a.solved[j + 1], a.solved[j])) / 0.3 - 1));
            for (int j = 0; frame > 0 && j < 3; ++j) largest = fmax(largest, 2 * acos(fmin(1, fabs((double)a.correction[j].w))));
            for (int j = 0; j < 4; ++j) {
                const phx_quat c = a.correction[j], q = a.rotation[j];
                a.position[j] = a.solved[j];
                a.rotation[j] = (phx_quat){c.w * q.x + c.x * q.w + c.y * q.z - c.z * q.y, c.w * q.y + c.y * q.w + c.z * q.x - c.x * q.z,
                                           c.w * q.z + c.z * q.w + c.x * q.y - c.y * q.x, c.w * q.w - c.x * q.x - c.y * q.y - c.z * q.z};
            }
        }
        print_message("%s, %s: bones within %.1e of their length, no turn above %.2f degrees a frame\n", phx_backend_name(backend),
                      limited ? "limited" : "free", drift, largest / PI * 180);
        assert_true(drift <= 1e-5);
        assert_true(largest < 5.0 / 180 * PI); /* the target moves half a degree a frame: no flip, no pop */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_turn_reaches),
        cmocka_unit_test(damping_takes_a_share_of_each_turn),
        cmocka_unit_test(a_cap_bounds_each_sweep),
        cmocka_unit_test(opposite_targets_are_reached),
        cmocka_unit_test(a_target_on_an_inner_joint_of_a_straight_chain_is_reached),
        cmocka_unit_test(unreachable_targets_are_pointed_at_and_the_chain_rests),
        cmocka_unit_test(a_hinge_keeps_the_sign_of_its_range),
        cmocka_unit_test(tolerance_zero_and_budgets_end),
        cmocka_unit_test(scale_changes_nothing_but_the_scale),
        cmocka_unit_test(the_pole_turns_the_whole_chain),
        cmocka_unit_test(a_pole_along_the_chain_is_reported),
        cmocka_unit_test(joints_before_from_and_without_weight_stay),
        cmocka_unit_test(weight_blends_in_rotation_space),
        cmocka_unit_test(the_tip_takes_its_own_rotation_within_its_limit),
        cmocka_unit_test(soft_reach_and_stretch),
        cmocka_unit_test(a_bone_without_length_is_flagged_and_the_rest_solved),
        cmocka_unit_test(given_lengths_count_where_joints_coincide),
        cmocka_unit_test(tolerance_is_a_share_of_the_whole_chain),
        cmocka_unit_test(one_sweep_is_the_models),
        cmocka_unit_test(targets_at_any_distance_are_pointed_at),
        cmocka_unit_test(poles_of_no_usable_length_are_reported),
        cmocka_unit_test(a_restart_that_lands_on_the_goal_ends),
        cmocka_unit_test(frames_fed_back_do_not_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
