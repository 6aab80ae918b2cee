/* Aim: the forward axis meets the target, from any direction, by one joint or shared by several, within cones and limits; and every
 * backend returns the reference's bits. */
#include "chains.h"

static const double PI = 3.14159265358979323846;

typedef struct head {
    phx_vec3 position[3], position_out[3];
    phx_quat rotation[3], correction[3], rotation_out[3];
    phx_vec3 target, pole;
    phx_quat parent;
    float weight;
    phx_result result;
} head;

static phx_chain_job job_over(head *heads, size_t count, uint32_t joints) {
    phx_chain_job job = phx_chain_job_default();
    job.count = count, job.joints = joints;
    job.position = phx_joint_view_of(heads->position, sizeof *heads, 12), job.rotation = phx_joint_view_of(heads->rotation, sizeof *heads, 16);
    job.target = PHX_VIEW(heads, target), job.result = PHX_VIEW(heads, result);
    job.position_out = phx_joint_view_of(heads->position_out, sizeof *heads, 12);
    job.correction = phx_joint_view_of(heads->correction, sizeof *heads, 16);
    job.rotation_out = phx_joint_view_of(heads->rotation_out, sizeof *heads, 16);
    return job;
}

static void turn(phx_quat q, const double v[3], double out[3]) {
    const double x = q.x, y = q.y, z = q.z, w = q.w;
    const double t[3] = {2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])};
    out[0] = v[0] + w * t[0] + y * t[2] - z * t[1], out[1] = v[1] + w * t[1] + z * t[0] - x * t[2], out[2] = v[2] + w * t[2] + x * t[1] - y * t[0];
}

/* by how much the ray of joint k passes the target, in double precision; infinite where the target lies behind */
static double miss(const head *h, uint32_t k, const phx_aim_params *params) {
    const double f[3] = {params->forward.x, params->forward.y, params->forward.z}, e[3] = {params->eye.x, params->eye.y, params->eye.z};
    double forward[3], eye[3];
    turn(h->rotation_out[k], f, forward), turn(h->rotation_out[k], e, eye);
    const double l = sqrt(forward[0] * forward[0] + forward[1] * forward[1] + forward[2] * forward[2]);
    const double way[3] = {h->target.x - h->position_out[k].x - eye[0], h->target.y - h->position_out[k].y - eye[1], h->target.z - h->position_out[k].z - eye[2]};
    const double ahead = (way[0] * forward[0] + way[1] * forward[1] + way[2] * forward[2]) / l;
    if (ahead <= 0) return INFINITY;
    return sqrt(fmax(0, way[0] * way[0] + way[1] * way[1] + way[2] * way[2] - ahead * ahead));
}

static void unit_quats(const head *h, uint32_t joints) {
    for (uint32_t j = 0; j < joints; ++j) {
        const phx_quat q = h->correction[j];
        assert_true(fabsf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-5f);
    }
}

static void opposite_directions_turn_about_the_up_axis(void **state) {
    (void)state;
    const phx_vec3 axes[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 6; ++k)
            for (int tilted = 0; tilted < 2; ++tilted) {
                head h = {.rotation = {{0, 0, 0, 1}}, .position = {{1, 2, 3}}};
                phx_aim_params params = phx_aim_params_default();
                const phx_vec3 a = axes[k];
                params.forward = a;
                params.up = axes[(k + 2) % 6];
                const float t = tilted ? 1e-4f : 0;
                h.target = (phx_vec3){1 - a.x + t * params.up.x, 2 - a.y + t * params.up.y, 3 - a.z + t * params.up.z};
                phx_chain_job job = job_over(&h, 1, 1);
                assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
                unit_quats(&h, 1);
                assert_true(miss(&h, 0, &params) < 1e-3);
                assert_true(h.result.flags & PHX_FLAG_REACHED);
                if (tilted) continue;
                const double up[3] = {params.up.x, params.up.y, params.up.z};
                double now[3];
                turn(h.rotation_out[0], up, now);
                assert_true(now[0] * up[0] + now[1] * up[1] + now[2] * up[2] > 1 - 1e-5);
            }
    }
}

static void random_heads_look_at_their_targets(void **state) {
    (void)state;
    random_state r = random_seeded("aim", 0xA1A1);
    enum { N = 500 };
    static head heads[N];
    for (uint32_t joints = 1; joints <= 3; ++joints)
        for (int with_eye = 0; with_eye < 2; ++with_eye) FOR_EACH_BACKEND(backend) {
            phx_aim_params params = phx_aim_params_default();
            params.forward = random_direction(&r);
            do params.up = random_direction(&r);
            while (fabsf(params.up.x * params.forward.x + params.up.y * params.forward.y + params.up.z * params.forward.z) > 0.9f);
            if (with_eye) params.eye = (phx_vec3){random_float(&r, -0.1f, 0.1f), random_float(&r, 0, 0.1f), random_float(&r, 0, 0.1f)};
            for (int i = 0; i < N; ++i) {
                head *h = heads + i;
                h->position[0] = (phx_vec3){random_float(&r, -5, 5), random_float(&r, 0, 2), random_float(&r, -5, 5)};
                for (int j = 0; j < 3; ++j) h->rotation[j] = random_rotation(&r);
                for (int j = 1; j < 3; ++j) h->position[j] = step_along(h->position[j - 1], random_direction(&r), 0.2f);
                h->target = step_along(h->position[joints - 1], random_direction(&r), random_float(&r, 1, 9));
            }
            phx_chain_job job = job_over(heads, N, joints);
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            for (int i = 0; i < N; ++i) {
                assert_true(miss(&heads[i], joints - 1, &params) < 1e-4);
                assert_true(heads[i].result.flags == PHX_FLAG_REACHED);
                unit_quats(&heads[i], joints);
                for (uint32_t j = 1; j < joints; ++j) { /* bones keep their lengths */
                    const phx_vec3 a = heads[i].position_out[j - 1], b = heads[i].position_out[j];
                    assert_true(fabs(sqrt(pow(a.x - b.x, 2) + pow(a.y - b.y, 2) + pow(a.z - b.z, 2)) - 0.2) < 1e-5);
                }
            }
        }
}

/* a neck and a head that look 60 degrees aside: the neck takes half of it, then the head the rest */
static void a_turn_is_shared(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        head h = {.rotation = {{0, 0, 0, 1}, {0, 0, 0, 1}}, .position = {{0, 0, 0}, {0, 0, 0}}};
        h.target = (phx_vec3){(float)sin(PI / 3) * 4, 0, (float)cos(PI / 3) * 4};
        const phx_aim_params params = phx_aim_params_default();
        phx_chain_job job = job_over(&h, 1, 2);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(fabs(2 * atan2(h.correction[0].y, h.correction[0].w) - PI / 6) < 1e-5);
        assert_true(fabs(2 * atan2(h.correction[1].y, h.correction[1].w) - PI / 3) < 1e-5);
        const float weights[] = {0.25f, 0.75f};
        job.joint_weights = weights;
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(fabs(2 * atan2(h.correction[0].y, h.correction[0].w) - PI / 12) < 1e-5);
        assert_true(h.result.flags == PHX_FLAG_REACHED);
    }
}

static void a_cone_holds_and_says_so(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int joints = 1; joints <= 3; ++joints)
            for (int degrees = -180; degrees <= 180; degrees += 15) {
                head h = {.rotation = {{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}}, .position = {{0, 0, 0}, {0, 0.1f, 0}, {0, 0.2f, 0}}};
                h.target = (phx_vec3){(float)sin(degrees * PI / 180) * 5, 0.1f * (float)(joints - 1), (float)cos(degrees * PI / 180) * 5};
                phx_aim_params params = phx_aim_params_default();
                params.max_angle = (float)(70 * PI / 180);
                phx_chain_job job = job_over(&h, 1, (uint32_t)joints);
                assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
                double forward[3];
                turn(h.rotation_out[joints - 1], (double[]){0, 0, 1}, forward);
                const double angle = atan2(forward[0], forward[2]) * 180 / PI;
                const double within = joints == 1 ? 1e-3 : 0.1; /* degrees; turning necks carry the head a little aside */
                if (abs(degrees) < 180) assert_true(fabs(angle - fmax(-70, fmin(70, degrees))) < within);
                else assert_true(fabs(fabs(angle) - 70) < within);
                if (abs(degrees) > 75) assert_int_equal(h.result.flags, PHX_FLAG_LIMIT | PHX_FLAG_STALLED);
                if (abs(degrees) < 65) assert_int_equal(h.result.flags, PHX_FLAG_REACHED);
            }
    }
}

static double between(const double a[3], const double b[3]) {
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return atan2(sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

/* v turned about the unit axis g */
static void turn_about(const double g[3], double angle, const double v[3], double out[3]) {
    const double c = cos(angle), s = sin(angle), along = (g[0] * v[0] + g[1] * v[1] + g[2] * v[2]) * (1 - c);
    out[0] = c * v[0] + s * (g[1] * v[2] - g[2] * v[1]) + along * g[0];
    out[1] = c * v[1] + s * (g[2] * v[0] - g[0] * v[2]) + along * g[1];
    out[2] = c * v[2] + s * (g[0] * v[1] - g[1] * v[0]) + along * g[2];
}

/* with poles, eyes, shares, weights: nothing but a joint limit takes the forward axis out of the cone, and that is flagged */
static void a_cone_holds_with_poles_and_shares(void **state) {
    (void)state;
    random_state r = random_seeded("aim cone", 0xA1A4);
    enum { N = 200 };
    static head heads[N];
    static const double ahead[3] = {0, 0, 1};
    FOR_EACH_BACKEND(backend) for (int round = 0; round < 48; ++round) {
        const uint32_t joints = 1 + (uint32_t)round % 3;
        const int limited = round % 4 == 3, narrow = round >= 24; /* of angles whose cosines are all 1; targets nearer and farther */
        phx_aim_params params = phx_aim_params_default();
        params.max_angle = narrow ? round % 6 == 0 ? 0.0f : (float)pow(10, random_float(&r, -4, -1)) : random_float(&r, 0.2f, 2.9f);
        if (round & 1) params.eye = (phx_vec3){random_float(&r, -0.3f, 0.3f), random_float(&r, -0.3f, 0.3f), random_float(&r, -0.3f, 0.3f)};
        float weights[3] = {1, 1, 1};
        if (round & 4)
            for (int j = 0; j < 3; ++j) weights[j] = random_below(&r, 3) ? random_float(&r, 0, 1) : 0.0f;
        phx_limit limits[3];
        random_limits(&r, 3, limits);
        for (int i = 0; i < N; ++i) {
            head *h = heads + i;
            h->position[0] = (phx_vec3){0, 0, 0};
            for (int j = 0; j < 3; ++j) h->rotation[j] = random_rotation(&r);
            for (int j = 1; j < 3; ++j) h->position[j] = step_along(h->position[j - 1], random_direction(&r), 0.2f);
            h->target = step_along(h->position[joints - 1], random_direction(&r), narrow ? random_float(&r, 0.01f, 2) : random_float(&r, 0.2f, 2));
            h->pole = random_direction(&r);
            h->weight = round % 5 ? 1.0f : random_float(&r, 0, 1);
        }
        phx_chain_job job = job_over(heads, N, joints);
        job.pole = PHX_VIEW(heads, pole), job.weight = PHX_VIEW(heads, weight), job.joint_weights = weights;
        if (limited) job.limits = limits;
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        for (int i = 0; i < N; ++i) {
            double before[3], after[3];
            turn(heads[i].rotation[joints - 1], ahead, before), turn(heads[i].rotation_out[joints - 1], ahead, after);
            const double beyond = between(before, after) - params.max_angle;
            if (limited && heads[i].result.flags & PHX_FLAG_LIMIT) continue;
            if (beyond > 2e-5) {
                print_error("%s, round %d, %u joints, %g rad of %g\n", phx_backend_name(backend), round, joints, beyond + params.max_angle,
                            (double)params.max_angle);
                fail();
            }
        }
    }
}

/* A pole never takes the ray off a target that the cone lets it meet, and the up axis comes as near to the pole as the cone lets it: all
 * turns about the way to the target are tried. `up` slants: it counts by its part at right angles to `forward`. */
static void turn_within_the_cone(const phx_backend *backend, random_state *r) {
    static const double ahead[3] = {0, 0, 1}, up[3] = {0, 1, 0};
    int held = 0, exact = 0;
    for (int k = 0; k < 800; ++k) {
        head h = {.rotation = {random_rotation(r)}};
        phx_aim_params params = phx_aim_params_default();
        params.up = (phx_vec3){0, 1, random_float(r, -3, 3)};
        params.eye = (phx_vec3){random_float(r, -0.3f, 0.3f), random_float(r, -0.3f, 0.3f), random_float(r, -0.3f, 0.3f)};
        if (k % 4) params.max_angle = random_float(r, 0.3f, 2.8f);
        h.target = step_along(h.position[0], random_direction(r), random_float(r, 0.7f, 2)), h.pole = random_direction(r);
        phx_chain_job job = job_over(&h, 1, 1);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        const unsigned without = h.result.flags;
        job.pole = PHX_VIEW(&h, pole);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        if (without != PHX_FLAG_REACHED) continue;
        assert_true(h.result.flags & PHX_FLAG_REACHED && miss(&h, 0, &params) < 1e-5);
        const double length = sqrt((double)h.target.x * h.target.x + (double)h.target.y * h.target.y + (double)h.target.z * h.target.z);
        const double g[3] = {h.target.x / length, h.target.y / length, h.target.z / length}, pole[3] = {h.pole.x, h.pole.y, h.pole.z};
        double start[3], forward[3], crown[3], best = 4;
        turn(h.rotation[0], ahead, start), turn(h.rotation_out[0], ahead, forward), turn(h.rotation_out[0], up, crown);
        const double got = between(crown, pole);
        for (int step = 0; step < 3600; ++step) {
            double f[3], u[3];
            turn_about(g, step * PI / 1800, forward, f), turn_about(g, step * PI / 1800, crown, u);
            if (between(f, start) <= (double)params.max_angle + 1e-9 && between(u, pole) < best) best = between(u, pole);
        }
        if (got > best + 2e-4) {
            print_error("%s, case %d: up ends %g rad from the pole, %g would do, max_angle %g\n", phx_backend_name(backend), k, got, best,
                        (double)params.max_angle);
            fail();
        }
        held += (h.result.flags & PHX_FLAG_LIMIT) != 0, exact += !(h.result.flags & PHX_FLAG_LIMIT);
    }
    printf("# %d held by the cone, %d exact\n", held, exact);
    assert_true(held > 5 && exact > 100);
}

static void a_pole_turns_within_the_cone(void **state) {
    (void)state;
    random_state r = random_seeded("aim pole in cone", 0xA1A5);
    FOR_EACH_BACKEND(backend) turn_within_the_cone(backend, &r);
}

/* A target so near that it has no direction is not reached: 1e-9 m, from the eye or, where it is there, the joint. Above, it is. */
static void a_target_on_the_eye_is_too_close(void **state) {
    (void)state;
    static const float near[] = {0, 1e-30f, 1e-24f, 1e-20f, 1e-12f, 9e-10f}, far[] = {2e-9f, 1e-8f, 1e-6f, 1, 1e8f};
    FOR_EACH_BACKEND(backend) for (int side = 0; side < 2; ++side) {
        phx_aim_params params = phx_aim_params_default();
        for (size_t k = 0; k < sizeof near / sizeof *near; ++k) {
            head h = {.rotation = {{0, 0, 0, 1}}, .target = {side ? 0 : near[k], 0, side ? near[k] : 0}};
            phx_chain_job job = job_over(&h, 1, 1);
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            assert_int_equal(h.result.flags, PHX_FLAG_TOO_CLOSE);
        }
        for (size_t k = 0; k < sizeof far / sizeof *far; ++k) {
            head h = {.rotation = {{0, 0, 0, 1}}, .target = {side ? 0 : far[k], 0, side ? far[k] : 0}};
            phx_chain_job job = job_over(&h, 1, 1);
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            assert_int_equal(h.result.flags, PHX_FLAG_REACHED);
            assert_true(miss(&h, 0, &params) < 1e-5 * far[k]);
        }
    }
    FOR_EACH_BACKEND(backend) { /* half a metre ahead, and there the target */
        phx_aim_params params = phx_aim_params_default();
        params.eye = (phx_vec3){0, 0, 0.5f};
        head h = {.rotation = {{0, 0, 0, 1}}, .target = {0, 0, 0.5f}};
        phx_chain_job job = job_over(&h, 1, 1);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(h.result.flags, PHX_FLAG_TOO_CLOSE);
    }
}

static void the_up_axis_follows_the_pole(void **state) {
    (void)state;
    random_state r = random_seeded("aim up", 0xA1A2);
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 200; ++k) {
            head h = {.position = {{0, 0, 0}}};
            h.rotation[0] = random_rotation(&r), h.pole = (phx_vec3){0, 3, 0};
            h.target = (phx_vec3){random_float(&r, 1, 3), random_float(&r, -1, 1), random_float(&r, -3, 3)};
            phx_aim_params params = phx_aim_params_default();
            if (k & 1) params.eye = (phx_vec3){0.03f, 0.08f, 0.1f}; /* the turn to the pole must not take the eye off the target */
            phx_chain_job job = job_over(&h, 1, 1);
            job.pole = PHX_VIEW(&h, pole);
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            double up[3];
            turn(h.rotation_out[0], (double[]){0, 1, 0}, up);
            /* in the plane of the pole and the line to the target, on the pole's side */
            assert_true(fabs(up[0] * h.target.z - up[2] * h.target.x) < 1e-4 && up[1] > 0);
            assert_true(h.result.flags == PHX_FLAG_REACHED);
        }
        head h = {.rotation = {{0, 0, 0, 1}}, .target = {0, 5, 0}, .pole = {0, 1, 0}};
        const phx_aim_params params = phx_aim_params_default();
        phx_chain_job job = job_over(&h, 1, 1);
        job.pole = PHX_VIEW(&h, pole);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(h.result.flags, PHX_FLAG_REACHED | PHX_FLAG_HINT_UNUSABLE);
    }
}

/* a direction has no size: within the stated range the answer is that of the unit pole, outside it that without a pole */
static void the_length_of_a_pole_does_not_matter(void **state) {
    (void)state;
    static const float usable[] = {2e-12f, 1e-11f, 1e-6f, 1e6f, 9e17f};
    static const float unusable[] = {1e-20f, 1e-16f, 1e-15f, 9e-13f, 2e18f, 1.8e19f, 1e25f};
    FOR_EACH_BACKEND(backend) {
        const phx_aim_params params = phx_aim_params_default();
        head none = {.rotation = {{0, 0, 0, 1}}, .target = {1, 0.5f, 2}}, unit = none;
        phx_chain_job job = job_over(&none, 1, 1);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        unit.pole.y = 1;
        job = job_over(&unit, 1, 1), job.pole = PHX_VIEW(&unit, pole);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_memory_not_equal(unit.correction, none.correction, sizeof(phx_quat));
        for (size_t k = 0; k < sizeof usable / sizeof *usable; ++k) {
            head h = {.rotation = {{0, 0, 0, 1}}, .target = unit.target, .pole = {0, usable[k], 0}};
            job = job_over(&h, 1, 1), job.pole = PHX_VIEW(&h, pole);
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            assert_int_equal(h.result.flags, PHX_FLAG_REACHED);
            const phx_quat a = h.correction[0], b = unit.correction[0];
            assert_true(fabsf(a.x - b.x) < 1e-6f && fabsf(a.y - b.y) < 1e-6f && fabsf(a.z - b.z) < 1e-6f && fabsf(a.w - b.w) < 1e-6f);
        }
        for (size_t k = 0; k < sizeof unusable / sizeof *unusable; ++k) {
            head h = {.rotation = {{0, 0, 0, 1}}, .target = unit.target, .pole = {0, unusable[k], 0}};
            job = job_over(&h, 1, 1), job.pole = PHX_VIEW(&h, pole);
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            assert_int_equal(h.result.flags, PHX_FLAG_REACHED | PHX_FLAG_HINT_UNUSABLE);
            assert_memory_equal(h.correction, none.correction, sizeof(phx_quat));
        }
    }
}

static void limits_weight_and_bad_input(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_aim_params params = phx_aim_params_default();
        /* a head on a hinge about up, 40 degrees to either side */
        phx_limit limit = phx_limit_hinge((phx_vec3){0, 1, 0}, (float)(-40 * PI / 180), (float)(40 * PI / 180));
        head h = {.rotation = {{0, 0, 0, 1}}, .target = {5, 0, 0}, .weight = 1};
        phx_chain_job job = job_over(&h, 1, 1);
        job.limits = &limit, job.weight = PHX_VIEW(&h, weight);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(fabs(2 * atan2(h.rotation_out[0].y, h.rotation_out[0].w) * 180 / PI - 40) < 1e-3);
        assert_true(h.result.flags & PHX_FLAG_LIMIT && !(h.result.flags & PHX_FLAG_REACHED));
        assert_int_equal(h.result.iterations, 1);
        /* no weight: no limit changed anything, nothing was solved */
        h.weight = 0;
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(h.result.flags, PHX_FLAG_STALLED);
        assert_int_equal(h.result.iterations, 0);
        /* half the weight, half the angle; none, the input's bits */
        job.limits = NULL, h.weight = 0.5f;
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_true(fabs(2 * atan2(h.rotation_out[0].y, h.rotation_out[0].w) * 180 / PI - 45) < 1e-3);
        h.weight = 0.0f, h.rotation[0] = (phx_quat){0.1f, -0.0f, 0.2f, 0.97f};
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(first_difference(&h.rotation_out[0], &h.rotation[0], 16), -1);
        /* not finite: left alone */
        h.weight = 1, h.target.y = NAN;
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        assert_int_equal(h.result.flags, PHX_FLAG_BAD_INPUT);
        assert_int_equal(first_difference(&h.rotation_out[0], &h.rotation[0], 16), -1);
        /* the target nearer than the eye can turn to: the ray passes it in parallel */
        phx_aim_params far_eye = params;
        far_eye.eye = (phx_vec3){1, 0, 0};
        head close = {.rotation = {{0, 0, 0, 1}}, .target = {0.2f, 0, 0.2f}};
        job = job_over(&close, 1, 1);
        assert_int_equal(phx_aim_solve(backend, &far_eye, &job, NULL), PHX_OK);
        assert_true(close.result.flags & PHX_FLAG_TOO_CLOSE && isfinite(close.result.residual));
    }
}

static void every_backend_gives_the_same_bits(void **state) {
    (void)state;
    random_state r = random_seeded("aim on all backends", 0xA1A3);
    const uint32_t allowed = CHAIN_POLE | CHAIN_WEIGHT | CHAIN_ROTATION | CHAIN_LOCALS | CHAIN_PARENT | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_IN_PLACE | CHAIN_SHARED;
    for (uint32_t round = 0; round < 34 * 12; ++round) {
        const size_t count = round % 34;
        const uint32_t joints = 2 + random_below(&r, round % 16 ? 6 : 64);
        uint32_t options = random_options(&r) & allowed;
        if (!(options & CHAIN_LOCALS)) options |= CHAIN_ROTATION;
        chain_data input = chain_data_make(count, joints), expected = chain_data_make(count, joints), actual = chain_data_make(count, joints);
        chain_data_fill(&r, &input);
        phx_limit limits[PHX_CHAIN_MAX_JOINTS];
        random_limits(&r, joints, limits);
        float weights[PHX_CHAIN_MAX_JOINTS];
        for (uint32_t j = 0; j < joints; ++j) weights[j] = random_float(&r, 0, 1);
        phx_aim_params params = phx_aim_params_default();
        params.forward = random_direction(&r);
        params.up = (phx_vec3){params.forward.y, params.forward.z + 0.1f, params.forward.x - 0.2f};
        if (round & 1) params.eye = random_direction(&r);
        if (round & 2) params.max_angle = random_float(&r, 0, 3);
        chain_data_copy(&expected, &input);
        phx_chain_job job = chain_data_job(&expected, options, limits);
        job.joints = 1 + random_below(&r, joints);
        if (round & 4) job.joint_weights = weights;
        const uint32_t turning = job.joints;
        phx_report report;
        if (phx_aim_solve(phx_backend_find("reference"), &params, &job, &report)) print_error("%s\n", report.text), fail();
        FOR_EACH_BACKEND(backend) {
            chain_data_copy(&actual, &input);
            job = chain_data_job(&actual, options, limits);
            job.joints = turning;
            if (round & 4) job.joint_weights = weights;
            assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
            if (!chain_data_equal(&expected, &actual)) {
                print_error("backend %s, %zu chains of %u joints, options 0x%x\n", phx_backend_name(backend), count, turning, options);
                fail();
            }
        }
        chain_data_free(&input), chain_data_free(&expected), chain_data_free(&actual);
    }
}

/* a job of one joint has no second one for strides and overlaps to tell of: packed arrays, also several fields of one structure */
static void heads_of_one_joint_lie_side_by_side(void **state) {
    (void)state;
    enum { N = 5 };
    random_state r = random_seeded("heads side by side", 0x0E0E);
    head apart[N];
    phx_vec3 position[N];
    struct {
        phx_quat rotation, out;
    } frames[N];
    phx_quat packed[N + 1]; /* what is refused below would end within the last */
    for (int i = 0; i < N; ++i) {
        apart[i] = (head){.rotation = {random_rotation(&r)}, .target = random_direction(&r)};
        position[i] = apart[i].position[0], frames[i].rotation = apart[i].rotation[0];
    }
    const phx_aim_params params = phx_aim_params_default();
    FOR_EACH_BACKEND(backend) for (size_t joint_stride = 0; joint_stride <= 16; joint_stride += 8) {
        phx_chain_job job = job_over(apart, N, 1);
        assert_int_equal(phx_aim_solve(backend, &params, &job, NULL), PHX_OK);
        phx_report report;
        job.position = phx_joint_view_of(position, sizeof *position, joint_stride);
        job.position_out = phx_joint_view_of(NULL, 0, 0);
        job.rotation = phx_joint_view_of(&frames[0].rotation, sizeof *frames, joint_stride);
        job.rotation_out = phx_joint_view_of(&frames[0].out, sizeof *frames, joint_stride);
        job.correction = phx_joint_view_of(packed, sizeof *packed, joint_stride);
        if (phx_aim_solve(backend, &params, &job, &report)) fail_msg("joint stride %zu: %s", joint_stride, report.text);
        for (int i = 0; i < N; ++i) {
            assert_memory_equal(packed + i, apart[i].correction, sizeof *packed);
            assert_memory_equal(&frames[i].out, apart[i].rotation_out, sizeof(phx_quat));
        }
        job.rotation_out = phx_joint_view_of(&packed[0].y, sizeof *packed, joint_stride); /* one float on: the next head's correction */
        assert_int_equal(phx_aim_solve(backend, &params, &job, &report), PHX_ERROR_OVERLAP);
    }
}

static void wrong_jobs_are_refused_in_words(void **state) {
    (void)state;
    static head h = {.rotation = {{0, 0, 0, 1}}, .target = {0, 0, 1}};
    const phx_aim_params good = phx_aim_params_default();
    const phx_chain_job job = job_over(&h, 1, 1);
    struct {
        phx_aim_params params;
        phx_chain_job job;
        phx_status status;
        const char *field;
    } cases[16];
    int n = 0;
#define CASE(change, code, name) (cases[n].params = good, cases[n].job = job, cases[n].change, cases[n].status = code, cases[n++].field = name)
    CASE(params.forward = ((phx_vec3){0, 0, 0}), PHX_ERROR_VALUE, "'forward'");
    CASE(params.forward.x = NAN, PHX_ERROR_VALUE, "'forward'");
    CASE(params.up = ((phx_vec3){0, 0, 2}), PHX_ERROR_VALUE, "'up'");
    CASE(params.eye.y = INFINITY, PHX_ERROR_VALUE, "'eye'");
    CASE(params.max_angle = -1, PHX_ERROR_VALUE, "'max_angle'");
    CASE(params.max_angle = NAN, PHX_ERROR_VALUE, "'max_angle'");
    CASE(params.tolerance = 2, PHX_ERROR_VALUE, "'tolerance'");
    CASE(params.direction_tolerance = 0, PHX_ERROR_VALUE, "'direction_tolerance'");
    CASE(job.joints = 0, PHX_ERROR_COUNT, "'joints'");
    CASE(job.joints = 66, PHX_ERROR_COUNT, "'joints'");
    CASE(job.rotation.data = NULL, PHX_ERROR_NULL, "'rotation'");
    CASE(job.position.data = NULL, PHX_ERROR_NULL, "'position'");
    CASE(job.target.data = NULL, PHX_ERROR_NULL, "'target'");
    CASE(job.rotation.joint_stride = 12, PHX_ERROR_STRIDE, "'rotation'"), cases[n - 1].job.joints = 2;
    CASE(job.bend = PHX_VIEW(&h, pole), PHX_ERROR_VALUE, "'bend'");
    CASE(job.length = phx_joint_view_of(&h.weight, 0, 4), PHX_ERROR_VALUE, "'length'");
#undef CASE
    for (int k = 0; k < n; ++k) {
        phx_report report;
        h.result.iterations = 77;
        assert_int_equal(phx_aim_solve(phx_backend_best(), &cases[k].params, &cases[k].job, &report), cases[k].status);
        if (!strstr(report.text, cases[k].field)) print_error("%s\n", report.text), fail();
        assert_int_equal(h.result.iterations, 77);
        assert_int_equal(phx_aim_validate(&cases[k].params, &cases[k].job, NULL), cases[k].status);
    }
    assert_int_equal(phx_aim_solve(NULL, &good, &job, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_aim_solve(phx_backend_best(), NULL, &job, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_aim_solve(phx_backend_best(), &good, NULL, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_aim_solve_range(phx_backend_best(), &good, &job, 1, 1, NULL), PHX_ERROR_COUNT);
    assert_int_equal(phx_aim_validate(&good, &job, NULL), PHX_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opposite_directions_turn_about_the_up_axis),
        cmocka_unit_test(random_heads_look_at_their_targets),
        cmocka_unit_test(a_turn_is_shared),
        cmocka_unit_test(a_cone_holds_and_says_so),
        cmocka_unit_test(a_cone_holds_with_poles_and_shares),
        cmocka_unit_test(a_pole_turns_within_the_cone),
        cmocka_unit_test(a_target_on_the_eye_is_too_close),
        cmocka_unit_test(the_up_axis_follows_the_pole),
        cmocka_unit_test(the_length_of_a_pole_does_not_matter),
        cmocka_unit_test(limits_weight_and_bad_input),
        cmocka_unit_test(every_backend_gives_the_same_bits),
        cmocka_unit_test(heads_of_one_joint_lie_side_by_side),
        cmocka_unit_test(wrong_jobs_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
