/* FABRIK's behaviour: worked values, targets that stop other solvers, invariants that every result meets, in double precision and on
 * every backend. */
#include "chains.h"

enum { MAX = PHX_CHAIN_MAX_JOINTS };

/* one chain with everything that can be asked of it */
typedef struct chain {
    uint32_t joints;
    phx_vec3 position[MAX], out[MAX];
    phx_quat rotation[MAX], correction[MAX];
    float length[MAX];
    phx_vec3 target, pole, bend;
    float weight;
    uint32_t budget;
    phx_result result;
} chain;

static phx_chain_job job_over(chain *c, size_t count) {
    phx_chain_job job = phx_chain_job_default();
    job.count = count, job.joints = c->joints;
    job.position = phx_joint_view_of(c->position, sizeof *c, 12), job.position_out = phx_joint_view_of(c->out, sizeof *c, 12);
    job.correction = phx_joint_view_of(c->correction, sizeof *c, 16);
    job.target = PHX_VIEW(c, target), job.result = PHX_VIEW(c, result);
    return job;
}
static void solve(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_job *job) {
    phx_report report;
    if (phx_fabrik_solve(backend, params, job, &report)) print_error("%s\n", report.text), fail();
}

static double distance(phx_vec3 a, phx_vec3 b) {
    const double x = (double)a.x - b.x, y = (double)a.y - b.y, z = (double)a.z - b.z;
    return sqrt(x * x + y * y + z * z);
}
static double size_of(phx_vec3 a) { return distance(a, (phx_vec3){0, 0, 0}); }
static phx_vec3 difference(phx_vec3 a, phx_vec3 b) { return (phx_vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static phx_vec3 turned(phx_quat q, phx_vec3 v) {
    const double x = q.x, y = q.y, z = q.z, w = q.w;
    const double t[3] = {2 * (y * v.z - z * v.y), 2 * (z * v.x - x * v.z), 2 * (x * v.y - y * v.x)};
    return (phx_vec3){(float)(v.x + w * t[0] + y * t[2] - z * t[1]), (float)(v.y + w * t[1] + z * t[0] - x * t[2]),
                      (float)(v.z + w * t[2] + x * t[1] - y * t[0])};
}
static double chain_length(const chain *c) {
    double sum = 0;
    for (uint32_t j = 0; j + 1 < c->joints; ++j) sum += distance(c->position[j], c->position[j + 1]);
    return sum;
}

/* What every result meets: finite, bones of their lengths, unit corrections that give the positions, honest residual and flag. `ulp` is
 * the grain of the coordinates, relative to the chain's length. */
static void check_invariants(const chain *c, float tolerance, double grain) {
    const double whole = chain_length(c);
    phx_vec3 at = c->out[0];
    assert_int_equal(first_difference(&c->out[0], &c->position[0], 12), -1);
    for (uint32_t j = 0; j + 1 < c->joints; ++j) {
        const double before = distance(c->position[j], c->position[j + 1]), after = distance(c->out[j], c->out[j + 1]);
        assert_true(isfinite(after));
        assert_true(fabs(after - before) <= 1e-6 * before + 4 * grain * whole);
        const phx_quat q = c->correction[j];
        assert_true(fabs((double)q.x * q.x + (double)q.y * q.y + (double)q.z * q.z + (double)q.w * q.w - 1) < 2e-6);
        const phx_vec3 bone = turned(q, difference(c->position[j + 1], c->position[j]));
        at = (phx_vec3){at.x + bone.x, at.y + bone.y, at.z + bone.z};
        assert_true(distance(at, c->out[j + 1]) <= (1e-5 + 8 * grain) * whole);
    }
    const double residual = distance(c->out[c->joints - 1], c->target);
    assert_true(fabs(residual - c->result.residual) <= (1e-6 + 4 * grain) * whole);
    if (c->result.flags & PHX_FLAG_REACHED) assert_true(residual <= (tolerance + 1e-6 + 4 * grain) * whole);
    else assert_true(c->result.flags & (PHX_FLAG_OUT_OF_REACH | PHX_FLAG_TOO_CLOSE | PHX_FLAG_STALLED));
}

static void set_straight(chain *c, uint32_t joints, phx_vec3 direction, float length) {
    memset(c, 0, sizeof *c);
    c->joints = joints, c->weight = 1;
    for (uint32_t j = 0; j < joints; ++j)
        c->position[j] = (phx_vec3){direction.x * length * (float)j, direction.y * length * (float)j, direction.z * length * (float)j};
}

static void two_bones_reach_in_one_round(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        chain c;
        set_straight(&c, 3, (phx_vec3){1, 0, 0}, 1);
        c.target = (phx_vec3){1, 1, 0};
        const phx_fabrik_params params = phx_fabrik_params_default();
        const phx_chain_job job = job_over(&c, 1);
        solve(backend, &params, &job);
        assert_int_equal(c.result.iterations, 1);
        assert_true(distance(c.out[1], (phx_vec3){1, 0, 0}) < 1e-6);
        assert_true(distance(c.out[2], (phx_vec3){1, 1, 0}) < 1e-6);
        check_invariants(&c, 1e-3f, 1e-7);
    }
}

static void out_of_reach_goes_straight_in_one_round(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        chain c;
        set_straight(&c, 4, (phx_vec3){0, 1, 0}, 0.3f);
        c.position[2].x = 0.2f, c.position[2].y = 0.5236068f; /* bent: same lengths */
        c.position[3] = (phx_vec3){0.2f, 0.8236068f, 0};
        c.target = (phx_vec3){3, 0, 4};
        const phx_fabrik_params params = phx_fabrik_params_default();
        const phx_chain_job job = job_over(&c, 1);
        solve(backend, &params, &job);
        assert_int_equal(c.result.iterations, 1);
        assert_int_equal(c.result.flags, PHX_FLAG_OUT_OF_REACH);
        for (uint32_t j = 1; j < 4; ++j) assert_true(distance(c.out[j], (phx_vec3){0.18f * (float)j, 0, 0.24f * (float)j}) < 1e-5);
        assert_true(fabs(c.result.residual - (5 - 0.9)) < 1e-5);
        check_invariants(&c, 1e-3f, 1e-7);
    }
}

/* a target nearer than the longest bone lets the chain fold: the chain folds along the line, and says how near it came */
static void a_dead_zone_is_folded_in_one_round(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        chain c;
        set_straight(&c, 4, (phx_vec3){0, 0, 1}, 0.1f);
        c.position[2] = (phx_vec3){0, 1, 0.1f}, c.position[3] = (phx_vec3){0.1f, 1, 0.1f}; /* 0.1, 1, 0.1 */
        c.target = (phx_vec3){0.3f, 0, 0};
        const phx_fabrik_params params = phx_fabrik_params_default();
        const phx_chain_job job = job_over(&c, 1);
        solve(backend, &params, &job);
        assert_int_equal(c.result.iterations, 1);
        assert_int_equal(c.result.flags, PHX_FLAG_TOO_CLOSE);
        assert_true(distance(c.out[3], (phx_vec3){0.8f, 0, 0}) < 1e-5);
        check_invariants(&c, 1e-3f, 1e-7);
    }
}

/* the target on an interior joint of a straight chain */
static void a_target_on_an_interior_joint_bends_the_chain(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k <= 3; ++k) {
            chain c;
            set_straight(&c, 4, (phx_vec3){1, 0, 0}, 10);
            c.target = (phx_vec3){10.0f * (float)k, 0, 0};
            const phx_fabrik_params params = phx_fabrik_params_default();
            const phx_chain_job job = job_over(&c, 1);
            solve(backend, &params, &job);
            assert_true(c.result.flags & PHX_FLAG_REACHED);
            assert_true(distance(c.out[3], c.target) <= 0.03);
            if (k < 3) assert_true(fabs(c.out[1].y) + fabs(c.out[1].z) > 1); /* it left the line */
            check_invariants(&c, 1e-3f, 1e-7);
        }
    }
}

static void a_collinear_chain_bends_toward_pole_then_previous_then_rest(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int hint = 0; hint < 4; ++hint) {
            chain c;
            set_straight(&c, 6, (phx_vec3){0, -1, 0}, 0.2f);
            c.target = (phx_vec3){0, -0.7f, 0};
            phx_vec3 rest = {1, 0, 0};
            c.pole = (phx_vec3){0, 0, 1}, c.bend = (phx_vec3){0, 0, -1};
            phx_chain_job job = job_over(&c, 1);
            if (hint == 0) job.pole = PHX_VIEW(&c, pole);
            if (hint <= 1) job.bend = PHX_VIEW(&c, bend);
            if (hint <= 2) job.rest_bend = PHX_VIEW_ARRAY(&rest);
            const phx_fabrik_params params = phx_fabrik_params_default();
            solve(backend, &params, &job);
            assert_int_equal(c.result.flags, PHX_FLAG_REACHED);
            const phx_vec3 wanted[] = {{0, 0, 1}, {0, 0, -1}, {1, 0, 0}, {1, 0, 0}};
            for (uint32_t j = 1; j < 5; ++j) {
                const double along = c.out[j].x * wanted[hint].x + c.out[j].z * wanted[hint].z;
                assert_true(along > 0.02);
                assert_true(fabs(c.out[j].x * wanted[hint].z) + fabs(c.out[j].z * wanted[hint].x) < 1e-5);
            }
            if (hint <= 1) assert_true(distance(c.bend, wanted[hint]) < 5e-3); /* the tip may be off the axis by the tolerance */
            check_invariants(&c, 1e-3f, 1e-7);
        }
    }
}

static void the_whole_chain_turns_to_its_pole(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik pole", 0xFA01);
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 300; ++k) {
            chain c;
            memset(&c, 0, sizeof c);
            c.joints = 3 + random_below(&r, 8);
            phx_vec3 d = random_direction(&r);
            for (uint32_t j = 0; j + 1 < c.joints; ++j) c.position[j + 1] = step_along(c.position[j], d, 0.2f), d = random_direction(&r);
            const float reach = 0.2f * (float)(c.joints - 1);
            c.target = step_along(c.position[0], random_direction(&r), reach * random_float(&r, 0.4f, 0.95f));
            c.pole = random_direction(&r);
            phx_chain_job job = job_over(&c, 1);
            job.pole = PHX_VIEW(&c, pole), job.bend = PHX_VIEW(&c, bend);
            const phx_fabrik_params params = phx_fabrik_params_default();
            solve(backend, &params, &job);
            check_invariants(&c, 1e-3f, 1e-6);
            /* the joints' mean lies in the half plane of the pole */
            const phx_vec3 tip = c.out[c.joints - 1];
            const double l = size_of(tip);
            double sum[3] = {0, 0, 0}, pole[3] = {c.pole.x, c.pole.y, c.pole.z}, axis[3] = {tip.x / l, tip.y / l, tip.z / l};
            for (uint32_t j = 1; j + 1 < c.joints; ++j) sum[0] += c.out[j].x, sum[1] += c.out[j].y, sum[2] += c.out[j].z;
            double a = 0, b = 0, ab = 0, aa = 0, bb = 0;
            for (int i = 0; i < 3; ++i) a += sum[i] * axis[i], b += pole[i] * axis[i];
            for (int i = 0; i < 3; ++i) {
                const double x = sum[i] - a * axis[i], y = pole[i] - b * axis[i];
                ab += x * y, aa += x * x, bb += y * y;
            }
            if (aa > 1e-4 * reach * reach && bb > 1e-4) assert_true(ab > 0.9999 * sqrt(aa * bb));
        }
    }
}

static void random_skeletons_of_every_size_and_scale(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik skeletons", 0xFA02);
    FOR_EACH_BACKEND(backend) {
        for (uint32_t bones = 1; bones <= 64; ++bones)
            for (int decade = -3; decade <= 3; ++decade) {
                chain c;
                memset(&c, 0, sizeof c);
                c.joints = bones + 1;
                const float scale = powf(10, (float)decade);
                c.position[0] = step_along((phx_vec3){0, 0, 0}, random_direction(&r), scale);
                float longest = 0;
                phx_vec3 d = random_direction(&r);
                for (uint32_t j = 0; j < bones; ++j) {
                    const float length = random_float(&r, 0.05f, 0.3f) * scale;
                    longest = fmaxf(longest, length);
                    c.position[j + 1] = step_along(c.position[j], d, length);
                    const phx_vec3 next = step_along(d, random_direction(&r), 0.8f);
                    d = step_along((phx_vec3){0, 0, 0}, next, 1 / (float)size_of(next));
                }
                const float whole = (float)chain_length(&c);
                const float reach = random_float(&r, 0, 1.2f) * whole;
                c.target = step_along(c.position[0], random_direction(&r), reach);
                phx_chain_job job = job_over(&c, 1);
                const phx_fabrik_params params = phx_fabrik_params_default();
                solve(backend, &params, &job);
                check_invariants(&c, 1e-3f, 6e-8 * (1.5 * scale + whole) / whole);
                const int reachable = reach < whole * 0.999f && reach > (2 * longest - whole) + whole * 0.001f;
                if (reachable && !(c.result.flags & PHX_FLAG_REACHED)) {
                    print_error("%u bones, reach %g: residual %g of the length\n", bones, (double)(reach / whole), (double)(c.result.residual / whole));
                    fail();
                }
            }
    }
}

/* the numbers that the issue of convergence turns on; cold starts, tolerance 1e-3, 16 rounds */
static void nearly_all_targets_within_reach_are_reached(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik convergence", 0xFA03);
    enum { N = 4000 };
    static chain chains[N];
    const struct {
        const char *name;
        float low, high, bend_low, bend_high;
        int along; /* 0 any direction, 1 along the chain, -1 against it */
        double least;
    } sets[] = {
        {"any direction, 0.2 to 0.9 of reach", 0.2f, 0.9f, 0.05f, 0.3f, 0, 0.999}, {"0.9 to 0.98", 0.9f, 0.98f, 0.05f, 0.3f, 0, 0.999},
        {"0.98 to 0.9999", 0.98f, 0.9999f, 0.05f, 0.3f, 0, 0.999}, {"collinear, ahead", 0.2f, 0.95f, 0, 0, 1, 0.999},
        {"collinear, behind", 0.2f, 0.95f, 0, 0, -1, 0.999}, {"nearly collinear", 0.2f, 0.95f, 0, 0.01f, 1, 0.999},
        {"folded 120 to 180 degrees", 0.2f, 0.9f, 2.1f, 3.1f, 0, 0.999}, {"near the root", 0.02f, 0.2f, 0.05f, 0.3f, 0, 0.995},
    };
    const uint32_t sizes[] = {4, 8, 16};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; ++s)
        for (int k = 0; k < 3; ++k) {
            for (int i = 0; i < N; ++i) {
                chain *c = chains + i;
                c->joints = sizes[k] + 1;
                phx_vec3 d = random_direction(&r);
                const phx_vec3 first = d;
                float whole = 0;
                c->position[0] = step_along((phx_vec3){0, 0, 0}, random_direction(&r), 10);
                for (uint32_t j = 0; j < sizes[k]; ++j) {
                    const float length = random_float(&r, 0.1f, 0.3f);
                    whole += length;
                    c->position[j + 1] = step_along(c->position[j], d, length);
                    const float angle = sets[s].bend_high > 0 ? random_float(&r, sets[s].bend_low, sets[s].bend_high) : 0;
                    phx_vec3 axis = random_direction(&r);
                    const float half = angle / 2, sine = sinf(half);
                    if (angle > 0) d = turned((phx_quat){axis.x * sine, axis.y * sine, axis.z * sine, cosf(half)}, d);
                }
                phx_vec3 way = sets[s].along ? first : random_direction(&r);
                if (sets[s].along < 0) way = (phx_vec3){-way.x, -way.y, -way.z};
                c->target = step_along(c->position[0], way, whole * random_float(&r, sets[s].low, sets[s].high));
            }
            const phx_fabrik_params params = phx_fabrik_params_default();
            const phx_chain_job job = job_over(chains, N);
            solve(phx_backend_best(), &params, &job);
            double reached = 0, rounds = 0;
            for (int i = 0; i < N; ++i) {
                reached += chains[i].result.flags & PHX_FLAG_REACHED ? 1 : 0, rounds += chains[i].result.iterations;
                if (i % 16 == 0) check_invariants(&chains[i], 1e-3f, 1e-6 * 10 / chain_length(&chains[i]));
            }
            printf("# %-36s %2u bones: %.2f %% in %.2f rounds\n", sets[s].name, sizes[k], 100 * reached / N, rounds / N);
            assert_true(reached / N >= sets[s].least);
        }
}

/* output fed back as input for 10,000 frames: bones keep their lengths */
static void fed_back_output_does_not_drift(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend)
        for (int with_lengths = 0; with_lengths < 2; ++with_lengths) {
            chain c;
            set_straight(&c, 4, (phx_vec3){0, 1, 0}, 0.3f);
            for (int j = 0; j < 3; ++j) c.length[j] = 0.3f;
            phx_chain_job job = job_over(&c, 1);
            job.position_out = job.position;
            job.correction.data = NULL;
            if (with_lengths) job.length = phx_joint_view_of(c.length, 0, 4);
            const phx_fabrik_params params = phx_fabrik_params_default();
            for (int i = 0; i < 10000; ++i) {
                c.target = (phx_vec3){(float)(0.5 * cos(0.01 * i)), 0.4f, (float)(0.5 * sin(0.01 * i))};
                solve(backend, &params, &job);
                assert_true(c.result.flags & PHX_FLAG_REACHED);
            }
            for (int j = 0; j < 3; ++j) assert_true(fabs(distance(c.position[j], c.position[j + 1]) - 0.3) <= 1e-5);
        }
}

/* joints and rotations fed back for 10,000 frames, free and with limits: bones keep their lengths and their place in their joints' frames,
 * rotations stay unit and within their limits, and no frame jumps */
static void fed_back_rotations_do_not_drift(void **state) {
    (void)state;
    const phx_limit limits[5] = {phx_limit_cone((phx_vec3){0, 1, 0}, 1.5f), phx_limit_hinge((phx_vec3){1, 0, 0}, -0.2f, 1.8f),
                                 phx_limit_cone((phx_vec3){0, 1, 0}, 1.2f), phx_limit_none(), phx_limit_none()};
    FOR_EACH_BACKEND(backend) for (int limited = 0; limited < 2; ++limited) {
        static chain c;
        set_straight(&c, 5, (phx_vec3){0, 1, 0}, 0.3f);
        for (int j = 0; j < 5; ++j) c.rotation[j] = (phx_quat){0, 0, 0, 1};
        phx_chain_job job = job_over(&c, 1);
        job.position_out = job.position;
        job.rotation = job.rotation_out = phx_joint_view_of(c.rotation, sizeof c, 16);
        if (limited) job.limits = limits;
        const phx_fabrik_params params = phx_fabrik_params_default();
        double length = 0, frame = 0, norm = 0, largest = 0, over = 0;
        for (int i = 0; i < 10000; ++i) {
            c.target = (phx_vec3){(float)(0.5 * cos(0.01 * i)), 0.6f, (float)(0.5 * sin(0.01 * i))};
            solve(backend, &params, &job);
            assert_true(c.result.flags & PHX_FLAG_REACHED);
            for (int j = 0; j < 5; ++j) {
                const phx_quat q = c.rotation[j], k = c.correction[j];
                norm = fmax(norm, fabs(sqrt((double)q.x * q.x + (double)q.y * q.y + (double)q.z * q.z + (double)q.w * q.w) - 1));
                if (i > 0) largest = fmax(largest, 2 * acos(fmin(1, fabs((double)k.w))));
                if (j == 4) break;
                length = fmax(length, fabs(distance(c.position[j], c.position[j + 1]) - 0.3));
                const phx_vec3 own = turned(q, (phx_vec3){0, 0.3f, 0}), bone = difference(c.position[j + 1], c.position[j]);
                frame = fmax(frame, distance(own, bone));
            }
            const phx_quat up = {-c.rotation[0].x, -c.rotation[0].y, -c.rotation[0].z, c.rotation[0].w};
            const phx_quat knee = quat_product(up, c.rotation[1]);
            const double angle = 2 * atan2((double)knee.x, (double)knee.w);
            if (limited) over = fmax(over, fmax(fabs((double)knee.y) + fabs((double)knee.z), fmax(-0.2 - angle, angle - 1.8)));
        }
        print_message("%s, %s: lengths within %.1e m, bones within %.1e m of their rotations', unit within %.1e, limits broken by %.1e, "
                      "no turn above %.1f degrees a frame\n",
                      phx_backend_name(backend), limited ? "limited" : "free", length, frame, norm, over, largest * 57.29578);
        assert_true(length <= 1e-5 && frame <= 1e-5 && norm <= 1e-5 && over <= 1e-4 && largest < 0.1);
    }
}

static void the_budget_bounds_the_rounds(void **state) {
    (void)state;
    const phx_vec3 start[] = {{0, 0, 0}, {0, 0.25f, 0}, {0, 0.5f, 0}, {0.25f, 0.5f, 0}, {0.5f, 0.5f, 0}};
    FOR_EACH_BACKEND(backend) {
        chain c;
        memset(&c, 0, sizeof c);
        c.joints = 5;
        memcpy(c.position, start, sizeof start);
        c.target = (phx_vec3){0.6f, 0.2f, 0};
        phx_fabrik_params params = phx_fabrik_params_default();
        params.chain.tolerance = 0, params.chain.max_iterations = 64;
        phx_chain_job job = job_over(&c, 1);
        solve(backend, &params, &job);
        assert_true(c.result.iterations <= 64 && c.result.residual <= 1e-5f);
        check_invariants(&c, 0, 1e-7);
        /* a chain's own budget: 2 rounds; none */
        params.chain.max_iterations = 16;
        job.budget = PHX_VIEW(&c, budget);
        c.budget = 2;
        solve(backend, &params, &job);
        assert_int_equal(c.result.iterations, 2);
        c.budget = 0;
        solve(backend, &params, &job);
        assert_int_equal(c.result.iterations, 0);
        assert_int_equal(c.result.flags, PHX_FLAG_STALLED);
        assert_int_equal(first_difference(c.out, c.position, 5 * 12), -1);
    }
}

static void a_chain_that_is_there_keeps_its_bits(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik at rest", 0xFA04);
    FOR_EACH_BACKEND(backend)
        for (int k = 0; k < 50; ++k) {
            chain c;
            memset(&c, 0, sizeof c);
            c.joints = 6;
            c.position[0] = (phx_vec3){-3.1f, 0.7f, 5.3f};
            for (uint32_t j = 0; j < 5; ++j) c.position[j + 1] = step_along(c.position[j], random_direction(&r), 0.3f), c.length[j] = 0.3f;
            c.target = step_along(c.position[5], random_direction(&r), 1e-4f);
            phx_chain_job job = job_over(&c, 1);
            const phx_fabrik_params params = phx_fabrik_params_default();
            solve(backend, &params, &job);
            assert_int_equal(c.result.iterations, 0);
            assert_int_equal(c.result.flags, PHX_FLAG_REACHED);
            assert_int_equal(first_difference(c.out, c.position, 6 * 12), -1);
            /* with lengths that the pose does not have, it is not there */
            c.length[2] = 0.2f;
            job.length = phx_joint_view_of(c.length, 0, 4);
            solve(backend, &params, &job);
            assert_true(c.result.iterations >= 1);
            assert_true(fabs(distance(c.out[2], c.out[3]) - 0.2) < 3e-6);
        }
}

static void weight_blends_rotations_and_zero_gives_the_input_back(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        chain c;
        set_straight(&c, 2, (phx_vec3){1, 0, 0}, 1);
        c.target = (phx_vec3){0, 0, -2};
        phx_chain_job job = job_over(&c, 1);
        job.weight = PHX_VIEW(&c, weight);
        const phx_fabrik_params params = phx_fabrik_params_default();
        c.weight = 1.0f / 3;
        solve(backend, &params, &job);
        assert_true(distance(c.out[1], (phx_vec3){cosf(0.52359878f), 0, -sinf(0.52359878f)}) < 1e-6);
        assert_true(fabs(c.result.residual - distance(c.out[1], c.target)) < 1e-6);
        check_invariants(&c, 1e-3f, 1e-7);
        c.weight = 0, c.position[1].y = -0.0f;
        solve(backend, &params, &job);
        assert_int_equal(first_difference(c.out, c.position, 24), -1);
    }
}

static void soft_reach_and_stretch(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        double before = 0;
        for (int k = 0; k < 60; ++k) { /* the tip advances with the target, never passes full length, and never snaps */
            chain c;
            set_straight(&c, 5, (phx_vec3){0, -1, 0}, 0.25f);
            c.position[2].z = 0.1f;
            const float reach = 0.85f + 0.01f * (float)k;
            c.target = (phx_vec3){0, -reach, 0};
            phx_fabrik_params params = phx_fabrik_params_default();
            params.chain.soft_start = 0.9f, params.chain.tolerance = 1e-4f, params.chain.max_iterations = 64;
            phx_chain_job job = job_over(&c, 1);
            solve(backend, &params, &job);
            const double now = size_of(c.out[4]), whole = chain_length(&c);
            const double start = 0.9 * whole;
            const double right = reach <= start ? reach : whole - (whole - start) * exp((start - reach) / (whole - start));
            assert_true(fabs(now - right) < 2e-4 * whole);
            assert_true(now > before - 2e-4);
            assert_int_equal((c.result.flags & PHX_FLAG_SOFTENED) != 0, reach > start);
            before = now;
            /* stretch up to a fifth: what is missing is filled by length */
            params.chain.soft_start = 1, params.chain.max_stretch = 1.2f;
            float stretch = 0;
            job.stretch = PHX_VIEW_ARRAY(&stretch);
            solve(backend, &params, &job);
            const double factor = fmax(1, fmin(1.2, reach / whole));
            assert_true(fabs(stretch - factor) < 1e-5);
            if (reach < 1.2 * whole * 0.9999) assert_true(c.result.flags & PHX_FLAG_REACHED);
            if (reach > whole * 1.0001) assert_true(c.result.flags & PHX_FLAG_STRETCHED);
            for (uint32_t j = 0; j < 4; ++j)
                assert_true(fabs(distance(c.out[j], c.out[j + 1]) - factor * distance(c.position[j], c.position[j + 1])) < 2e-6);
        }
    }
}

static void the_tip_takes_its_target_rotation(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik tip", 0xFA05);
    FOR_EACH_BACKEND(backend)
        for (int k = 0; k < 50; ++k) {
            chain c;
            memset(&c, 0, sizeof c);
            c.joints = 5;
            for (uint32_t j = 0; j < 5; ++j) c.rotation[j] = random_rotation(&r);
            for (uint32_t j = 0; j < 4; ++j) c.position[j + 1] = step_along(c.position[j], random_direction(&r), 0.3f);
            c.target = random_direction(&r);
            phx_quat wanted = random_rotation(&r), out[5];
            phx_chain_job job = job_over(&c, 1);
            job.rotation = phx_joint_view_of(c.rotation, 0, 16), job.target_rotation = PHX_VIEW_ARRAY(&wanted);
            job.rotation_out = phx_joint_view_of(out, sizeof out, 16);
            const phx_fabrik_params params = phx_fabrik_params_default();
            solve(backend, &params, &job);
            const double same = fabs((double)out[4].x * wanted.x + (double)out[4].y * wanted.y + (double)out[4].z * wanted.z + (double)out[4].w * wanted.w);
            assert_true(same > 1 - 1e-6);
        }
}

/* a planar chain with hinges across the plane: after the plane has turned, the hinges lie across the new one */
static void hinges_follow_the_plane_where_asked(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend)
        for (int degrees = -175; degrees <= 175; degrees += 10) {
            chain c;
            memset(&c, 0, sizeof c);
            c.joints = 5;
            const phx_vec3 pose[] = {{0, 0, 0}, {0, -0.3f, 0.1f}, {0, -0.6f, 0.12f}, {0, -0.9f, 0.05f}, {0, -1.2f, 0}};
            memcpy(c.position, pose, sizeof pose);
            c.target = (phx_vec3){0, -1.0f, 0};
            const double a = degrees * 3.14159265358979 / 180;
            c.pole = (phx_vec3){(float)sin(a), 0, (float)cos(a)};
            phx_chain_job job = job_over(&c, 1);
            job.pole = PHX_VIEW(&c, pole);
            phx_fabrik_params params = phx_fabrik_params_default();
            params.chain.twist = PHX_TWIST_PLANE;
            solve(backend, &params, &job);
            check_invariants(&c, 1e-3f, 1e-7);
            const phx_vec3 hinge = {1, 0, 0}, wanted = {(float)cos(a), 0, (float)-sin(a)};
            for (uint32_t j = 0; j < 4; ++j) assert_true(distance(turned(c.correction[j], hinge), wanted) < 1e-3);
        }
}

static void warm_frames_take_a_round_and_move_little(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik warm", 0xFA06);
    enum { N = 2000 };
    static chain chains[N], start[N];
    for (int i = 0; i < N; ++i) {
        chain *c = chains + i;
        c->joints = 9;
        for (uint32_t j = 0; j < 8; ++j) c->position[j + 1] = step_along(c->position[j], random_direction(&r), 0.2f);
        c->target = step_along((phx_vec3){0, 0, 0}, random_direction(&r), 1.6f * random_float(&r, 0.3f, 0.85f));
    }
    const phx_fabrik_params params = phx_fabrik_params_default();
    phx_chain_job job = job_over(chains, N);
    solve(phx_backend_best(), &params, &job);
    memcpy(start, chains, sizeof start);
    for (int i = 0; i < N; ++i) chains[i].target = step_along(chains[i].target, random_direction(&r), random_float(&r, 0.01f, 0.05f));
    job.start = phx_joint_view_of(start->out, sizeof *start, 12);
    solve(phx_backend_best(), &params, &job);
    double rounds = 0;
    int calm = 0, joints = 0, reached = 0;
    for (int i = 0; i < N; ++i) {
        rounds += chains[i].result.iterations, reached += (chains[i].result.flags & PHX_FLAG_REACHED) != 0;
        for (uint32_t j = 0; j < 8; ++j) {
            const phx_vec3 a = difference(start[i].out[j + 1], start[i].out[j]), b = difference(chains[i].out[j + 1], chains[i].out[j]);
            const double c = ((double)a.x * b.x + (double)a.y * b.y + (double)a.z * b.z) / (size_of(a) * size_of(b));
            calm += acos(fmin(1, c)) < 15 * 3.14159265358979 / 180, ++joints;
        }
    }
    printf("# warm: %.2f rounds, %.2f %% reached, %.2f %% of the bones turn less than 15 degrees\n", rounds / N, 100.0 * reached / N, 100.0 * calm / joints);
    assert_true(reached >= N * 0.999 && calm >= joints * 0.99);
}

static void bad_input_stays_alone(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        static chain chains[20], clean[20];
        for (int bad = 0; bad < 6; ++bad) {
            for (int i = 0; i < 20; ++i) {
                set_straight(&chains[i], 4, (phx_vec3){0.6f, 0.8f, 0}, 0.5f);
                chains[i].position[2].x += 0.1f;
                chains[i].target = (phx_vec3){0.3f, 0.2f * (float)(i % 5), 0.4f};
            }
            memcpy(clean, chains, sizeof clean);
            chain *c = chains + 7;
            if (bad == 0) c->target.x = NAN;
            if (bad == 1) c->position[2].z = INFINITY;
            if (bad == 2) c->position[1] = c->position[2] = c->position[3] = c->position[0];
            if (bad == 3) c->target.y = -3e38f;
            if (bad == 4) c->position[0] = (phx_vec3){3e30f, 3e30f, 3e30f};
            if (bad == 5) c->position[3].x = 1e20f;
            const phx_fabrik_params params = phx_fabrik_params_default();
            phx_chain_job job = job_over(chains, 20);
            solve(backend, &params, &job);
            job = job_over(clean, 20);
            solve(backend, &params, &job);
            assert_true(c->result.flags & PHX_FLAG_BAD_INPUT);
            assert_int_equal(c->result.iterations, 0);
            assert_true(c->result.residual <= 3.402823466e+38f);
            assert_int_equal(first_difference(c->out, c->position, 4 * 12), -1);
            for (int i = 0; i < 20; ++i)
                if (i != 7) assert_int_equal(first_difference(&chains[i], &clean[i], sizeof *chains), -1);
        }
    }
}

static void bones_without_length_are_carried_along(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        chain c;
        memset(&c, 0, sizeof c);
        c.joints = 6;
        const phx_vec3 pose[] = {{0, 0, 0}, {0.3f, 0, 0}, {0.3f, 0, 0}, {0.5f, 0.2f, 0}, {0.8f, 0.2f, 0}, {0.8f, 0.2f, 0}};
        memcpy(c.position, pose, sizeof pose);
        c.target = (phx_vec3){0.1f, 0.5f, 0.2f};
        phx_chain_job job = job_over(&c, 1);
        const phx_fabrik_params params = phx_fabrik_params_default();
        solve(backend, &params, &job);
        assert_int_equal(c.result.flags, PHX_FLAG_REACHED | PHX_FLAG_ZERO_LENGTH);
        check_invariants(&c, 1e-3f, 1e-7);
    }
}

static void scale_and_distance_change_nothing_else(void **state) {
    (void)state;
    const phx_vec3 start[] = {{0, 0, 0}, {0, 0.25f, 0}, {0, 0.5f, 0}, {0.25f, 0.5f, 0}, {0.5f, 0.5f, 0}};
    FOR_EACH_BACKEND(backend) {
        chain unit;
        for (int k = 0; k < 3; ++k) {
            const float scale = k == 0 ? 1.0f : k == 1 ? 0.01f : 100.0f;
            chain c;
            memset(&c, 0, sizeof c);
            c.joints = 5;
            for (int j = 0; j < 5; ++j) c.position[j] = (phx_vec3){start[j].x * scale, start[j].y * scale, start[j].z * scale};
            c.target = (phx_vec3){0.6f * scale, 0.2f * scale, 0};
            const phx_fabrik_params params = phx_fabrik_params_default();
            phx_chain_job job = job_over(&c, 1);
            solve(backend, &params, &job);
            if (k == 0) unit = c;
            for (int j = 0; j < 5; ++j)
                assert_true(distance(c.out[j], (phx_vec3){unit.out[j].x * scale, unit.out[j].y * scale, unit.out[j].z * scale}) <= 1e-5 * scale);
        }
    }
}

/* limits: a hinge keeps the sign of its angle and holds its ends */
static void limits_hold(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const float quarter = 1.57079633f;
        const phx_limit limits[2] = {phx_limit_hinge((phx_vec3){0, 1, 0}, -quarter, quarter), phx_limit_none()};
        chain c;
        set_straight(&c, 2, (phx_vec3){1, 0, 0}, 1);
        c.rotation[0] = c.rotation[1] = (phx_quat){0, 0, 0, 1};
        phx_chain_job job = job_over(&c, 1);
        job.rotation = phx_joint_view_of(c.rotation, sizeof c, 16), job.limits = limits;
        phx_fabrik_params params = phx_fabrik_params_default();
        c.target = (phx_vec3){0.5f, 0, 0.866f};
        solve(backend, &params, &job);
        assert_true(fabs(2 * atan2(c.correction[0].y, c.correction[0].w) * 180 / 3.14159265358979 + 60) < 0.1);
        assert_true(c.result.flags & PHX_FLAG_REACHED);
        c.target = (phx_vec3){-0.5f, 0, 0.866f};
        solve(backend, &params, &job);
        assert_true(fabs(2 * atan2(c.correction[0].y, c.correction[0].w) * 180 / 3.14159265358979 + 90) < 0.1);
        assert_true(distance(c.out[1], (phx_vec3){0, 0, 1}) < 1e-3);
        assert_true(c.result.flags & PHX_FLAG_LIMIT && !(c.result.flags & PHX_FLAG_REACHED));

        /* which twist is asked for makes no difference, and rounds are counted */
        random_state r = random_seeded("fabrik limits", 0xFA07);
        chain_data input = chain_data_make(50, 6), plane = chain_data_make(50, 6), inherit = chain_data_make(50, 6);
        phx_limit some[6];
        random_limits(&r, 6, some);
        some[0].type = PHX_LIMIT_CONE;
        chain_data_fill(&r, &input);
        chain_data_copy(&plane, &input), chain_data_copy(&inherit, &input);
        const uint32_t options = CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_WEIGHT | CHAIN_POLE;
        phx_fabrik_stats stats = {0, 0};
        const phx_chain_job first = chain_data_job(&plane, options, some), second = chain_data_job(&inherit, options, some);
        solve(backend, &params, &second);
        params.chain.twist = PHX_TWIST_PLANE, params.stats = &stats;
        solve(backend, &params, &first);
        assert_true(chain_data_equal(&plane, &inherit));
        /* a weight does not change the rounds; one of 0 only reports none, for nothing came of them */
        const phx_chain_job whole = chain_data_job(&input, options & ~(uint32_t)CHAIN_WEIGHT, some);
        params.stats = NULL;
        solve(backend, &params, &whole);
        uint64_t rounds = 0;
        for (size_t i = 0; i < 50; ++i) {
            phx_result result;
            memcpy(&result, chain_data_at(&input, i) + offsets_of(6).result, sizeof result);
            rounds += result.iterations;
        }
        assert_true(rounds > 50 && stats.busy == rounds && stats.total >= rounds);
        chain_data_free(&input), chain_data_free(&plane), chain_data_free(&inherit);
    }
}

static void wrong_calls_are_refused_in_words(void **state) {
    (void)state;
    static chain c;
    set_straight(&c, 4, (phx_vec3){1, 0, 0}, 1);
    const phx_fabrik_params good = phx_fabrik_params_default();
    const phx_chain_job job = job_over(&c, 1);
    const phx_limit bad_limit = phx_limit_hinge((phx_vec3){0, 0, 0}, -1, 1);
    const phx_limit limits[4] = {phx_limit_none(), phx_limit_none(), bad_limit, phx_limit_none()};
    const float weights[3] = {1, 2, 1};
    struct {
        phx_fabrik_params params;
        phx_chain_job job;
        phx_status status;
        const char *field;
    } cases[24];
    int n = 0;
#define CASE(change, code, name) (cases[n].params = good, cases[n].job = job, cases[n].change, cases[n].status = code, cases[n++].field = name)
    CASE(params.chain.max_iterations = 0, PHX_ERROR_VALUE, "'max_iterations'");
    CASE(params.chain.max_iterations = 1025, PHX_ERROR_VALUE, "'max_iterations'");
    CASE(params.chain.tolerance = NAN, PHX_ERROR_VALUE, "'tolerance'");
    CASE(params.chain.tolerance = -1, PHX_ERROR_VALUE, "'tolerance'");
    CASE(params.chain.direction_tolerance = 0, PHX_ERROR_VALUE, "'direction_tolerance'");
    CASE(params.chain.soft_start = 0, PHX_ERROR_VALUE, "'soft_start'");
    CASE(params.chain.max_stretch = 0.5f, PHX_ERROR_VALUE, "'max_stretch'");
    CASE(params.chain.twist = (phx_twist)7, PHX_ERROR_VALUE, "'twist'");
    CASE(job.joints = 0, PHX_ERROR_COUNT, "'joints'");
    CASE(job.joints = 1, PHX_ERROR_COUNT, "'joints'");
    CASE(job.joints = 66, PHX_ERROR_COUNT, "'joints'");
    CASE(job.count = SIZE_MAX, PHX_ERROR_COUNT, "'count'");
    CASE(job.position.data = NULL, PHX_ERROR_NULL, "'position'");
    CASE(job.target.data = NULL, PHX_ERROR_NULL, "'target'");
    CASE(job.limits = limits, PHX_ERROR_VALUE, "'limits[2]'");
    CASE(job.joint_weights = weights, PHX_ERROR_VALUE, "'joint_weights[1]'");
    CASE(job.rotation_out = phx_joint_view_of(c.rotation, sizeof c, 16), PHX_ERROR_NULL, "'rotation'");
    CASE(job.position.joint_stride = 8, PHX_ERROR_STRIDE, "'position'");
    CASE(job.target.stride = 4, PHX_ERROR_STRIDE, "'target'");
    CASE(job.result.stride = 0, PHX_ERROR_STRIDE, "'result'");
#undef CASE
    for (int k = 0; k < n; ++k) {
        phx_report report;
        c.result.iterations = 77, c.out[1].x = 77;
        assert_int_equal(phx_fabrik_solve(phx_backend_best(), &cases[k].params, &cases[k].job, &report), cases[k].status);
        if (!strstr(report.text, cases[k].field)) print_error("%s\n", report.text), fail();
        assert_true(c.result.iterations == 77 && c.out[1].x == 77);
    }
    assert_int_equal(phx_fabrik_solve(NULL, &good, &job, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_fabrik_solve(phx_backend_best(), NULL, &job, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_fabrik_solve(phx_backend_best(), &good, NULL, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_fabrik_solve_range(phx_backend_best(), &good, &job, 0, 2, NULL), PHX_ERROR_COUNT);
    assert_int_equal(phx_fabrik_solve_range(phx_backend_best(), &good, &job, 2, 0, NULL), PHX_ERROR_COUNT);

    static phx_rows3 rows[8];
    phx_chain_blocks blocks;
    memset(&blocks, 0, sizeof blocks);
    blocks.count = 1, blocks.joints = 4, blocks.position = rows;
    phx_report report;
    assert_int_equal(phx_fabrik_solve_blocks(phx_backend_best(), &good, &blocks, 0, 1, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "'target'"));
    blocks.target = (phx_rows3 *)(void *)((char *)rows + 4);
    assert_int_equal(phx_fabrik_solve_blocks(phx_backend_best(), &good, &blocks, 0, 1, &report), PHX_ERROR_ALIGN);
    blocks.target = rows + 6;
    assert_int_equal(phx_fabrik_solve_blocks(phx_backend_best(), &good, &blocks, 1, 1, &report), PHX_ERROR_COUNT);
    assert_int_equal(phx_fabrik_solve_blocks(phx_backend_best(), &good, NULL, 0, 0, &report), PHX_ERROR_NULL);
    /* zeroed lanes are chains without length: flagged, untouched */
    static phx_rows1u flags[1];
    blocks.flags = flags;
    assert_int_equal(phx_fabrik_solve_blocks(phx_backend_best(), &good, &blocks, 0, 1, &report), PHX_OK);
    for (int lane = 0; lane < 16; ++lane) assert_int_equal(flags[0].v[lane], PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_bones_reach_in_one_round),
        cmocka_unit_test(out_of_reach_goes_straight_in_one_round),
        cmocka_unit_test(a_dead_zone_is_folded_in_one_round),
        cmocka_unit_test(a_target_on_an_interior_joint_bends_the_chain),
        cmocka_unit_test(a_collinear_chain_bends_toward_pole_then_previous_then_rest),
        cmocka_unit_test(the_whole_chain_turns_to_its_pole),
        cmocka_unit_test(random_skeletons_of_every_size_and_scale),
        cmocka_unit_test(nearly_all_targets_within_reach_are_reached),
        cmocka_unit_test(fed_back_output_does_not_drift),
        cmocka_unit_test(fed_back_rotations_do_not_drift),
        cmocka_unit_test(the_budget_bounds_the_rounds),
        cmocka_unit_test(a_chain_that_is_there_keeps_its_bits),
        cmocka_unit_test(weight_blends_rotations_and_zero_gives_the_input_back),
        cmocka_unit_test(soft_reach_and_stretch),
        cmocka_unit_test(the_tip_takes_its_target_rotation),
        cmocka_unit_test(hinges_follow_the_plane_where_asked),
        cmocka_unit_test(warm_frames_take_a_round_and_move_little),
        cmocka_unit_test(bad_input_stays_alone),
        cmocka_unit_test(bones_without_length_are_carried_along),
        cmocka_unit_test(scale_and_distance_change_nothing_else),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(wrong_calls_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
