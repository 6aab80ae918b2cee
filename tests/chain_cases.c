/* Failures that users of two-bone solvers reported, tried on long chains, by FABRIK and by CCD's two modes, on every backend: full reach,
 * target on the root, unwanted stretch, mirrored chains, chains far from the origin. two_bone_cases.c has them for legs. */
#include "support.h"

enum { MOST = 17, SOLVERS = 3 };
static const char *const solver_names[SOLVERS] = {"fabrik", "ccd", "plain ccd"};

typedef struct chain {
    uint32_t joints;
    phx_vec3 position[MOST], out[MOST];
    phx_quat correction[MOST];
    phx_vec3 target, bend;
    float stretch;
    phx_result result;
} chain;

static double distance(phx_vec3 a, phx_vec3 b) {
    const double x = (double)a.x - b.x, y = (double)a.y - b.y, z = (double)a.z - b.z;
    return sqrt(x * x + y * y + z * z);
}
static phx_vec3 along(phx_vec3 a, phx_vec3 d, double s) {
    return (phx_vec3){(float)(a.x + d.x * s), (float)(a.y + d.y * s), (float)(a.z + d.z * s)};
}
static double whole_of(const chain *c) {
    double sum = 0;
    for (uint32_t j = 0; j + 1 < c->joints; ++j) sum += distance(c->position[j], c->position[j + 1]);
    return sum;
}
static double longest_of(const chain *c) {
    double longest = 0;
    for (uint32_t j = 0; j + 1 < c->joints; ++j) {
        const double length = distance(c->position[j], c->position[j + 1]);
        if (length > longest) longest = length;
    }
    return longest;
}
static float ulps_from(float x, int steps) {
    for (; steps > 0; --steps) x = nextafterf(x, INFINITY);
    for (; steps < 0; ++steps) x = nextafterf(x, -INFINITY);
    return x;
}

static void solve(const phx_backend *backend, int solver, chain *c) {
    phx_chain_job job = phx_chain_job_default();
    job.count = 1, job.joints = c->joints;
    job.position = phx_joint_view_of(c->position, sizeof *c, 12), job.position_out = phx_joint_view_of(c->out, sizeof *c, 12);
    job.correction = phx_joint_view_of(c->correction, sizeof *c, 16);
    job.target = PHX_VIEW(c, target), job.bend = PHX_VIEW(c, bend);
    job.stretch = PHX_VIEW(c, stretch), job.result = PHX_VIEW(c, result);
    phx_ccd_params ccd = phx_ccd_params_default();
    const phx_fabrik_params fabrik = phx_fabrik_params_default();
    if (solver == 2) ccd.mode = PHX_CCD_PLAIN, ccd.chain.max_iterations = 64;
    assert_int_equal(solver ? phx_ccd_solve(backend, &ccd, &job, NULL) : phx_fabrik_solve(backend, &fabrik, &job, NULL), PHX_OK);
}

/* finite, bones of their length, unit corrections that lead to the positions, an honest residual and flag */
static void check_sound(const phx_backend *backend, int solver, const chain *c) {
    const double whole = whole_of(c), grain = 1e-5 * whole;
    double at[3] = {c->out[0].x, c->out[0].y, c->out[0].z};
    int sound = memcmp(c->out, c->position, 12) == 0;
    for (uint32_t j = 0; j + 1 < c->joints; ++j) {
        const double before = distance(c->position[j], c->position[j + 1]);
        sound = sound && fabs(distance(c->out[j], c->out[j + 1]) - before) <= 1e-5 * before + 1e-6 * whole;
        const phx_quat q = c->correction[j];
        const double x = q.x, y = q.y, z = q.z, w = q.w, v[3] = {(double)c->position[j + 1].x - c->position[j].x,
                                                                (double)c->position[j + 1].y - c->position[j].y,
                                                                (double)c->position[j + 1].z - c->position[j].z};
        sound = sound && fabs(x * x + y * y + z * z + w * w - 1) < 1e-5;
        const double t[3] = {2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])};
        at[0] += v[0] + w * t[0] + y * t[2] - z * t[1], at[1] += v[1] + w * t[1] + z * t[0] - x * t[2], at[2] += v[2] + w * t[2] + x * t[1] - y * t[0];
        const phx_vec3 led = {(float)at[0], (float)at[1], (float)at[2]};
        sound = sound && distance(led, c->out[j + 1]) <= 2 * grain;
    }
    const double residual = distance(c->out[c->joints - 1], c->target);
    sound = sound && fabs(residual - c->result.residual) <= grain + 1e-6 * residual;
    if (c->result.flags & PHX_FLAG_REACHED) sound = sound && residual <= 1e-3 * whole + grain;
    if (sound) return;
    print_error("%s on %s, %u joints: residual %g (said %g), flags 0x%x\n", solver_names[solver], phx_backend_name(backend), c->joints, residual,
                (double)c->result.residual, c->result.flags);
    fail();
}

/* bent by a fifth of a radian or so a joint */
static chain random_chain(random_state *r, uint32_t joints, double spread) {
    chain c;
    memset(&c, 0, sizeof c);
    c.joints = joints;
    phx_vec3 d = random_direction(r);
    for (uint32_t j = 0; j + 1 < joints; ++j) {
        c.position[j + 1] = along(c.position[j], d, random_float(r, 0.1f, 0.4f));
        const phx_vec3 next = along(d, random_direction(r), spread), none = {0, 0, 0};
        d = along(none, next, 1 / distance(next, none));
    }
    return c;
}

/* D01. The target a few roundings short of, at and beyond the chain's length, straight chains and bent ones. */
static void full_reach_never_leaves_the_domain(void **state) {
    (void)state;
    random_state r = random_seeded("full reach of chains", 0xD01C);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < SOLVERS; ++solver) for (int i = 0; i < 900; ++i) {
        chain c = random_chain(&r, 3 + random_below(&r, MOST - 2), i % 3 ? 0.3 : 0);
        const phx_vec3 way = random_direction(&r), straight = along((phx_vec3){0, 0, 0}, c.position[1], 1 / distance(c.position[0], c.position[1]));
        c.target = along(c.position[0], i % 2 ? way : straight, ulps_from((float)whole_of(&c), i % 9 - 4));
        solve(backend, solver, &c);
        check_sound(backend, solver, &c);
        const double whole = whole_of(&c), got = distance(c.out[0], c.out[c.joints - 1]);
        assert_true(got <= whole * (1 + 1e-5));
        if (solver < 2) assert_true(got >= whole * (1 - 1e-3) && c.result.flags & PHX_FLAG_REACHED);
    }
}

/* D03. On the root by all ways to get there. Chains that can fold onto it do; one that has a longer bone than all others together stops at
 * the difference. The same answer each time. */
static void target_on_the_root(void **state) {
    (void)state;
    static const float tiny[] = {0.0f, -0.0f, 1e-40f, -1e-45f, 1e-30f, 1e-12f, -1e-9f};
    random_state r = random_seeded("target on the root of chains", 0xD03C);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < SOLVERS; ++solver) for (int i = 0; i < 7 * 3 * 12; ++i) {
        const int folds = i / 21 % 2;
        chain c = random_chain(&r, 4 + random_below(&r, 5), i / 42 % 2 ? 0.3 : 0);
        if (!folds) { /* the last bone becomes longer than all others */
            const uint32_t last = c.joints - 1;
            const phx_vec3 d = {c.position[last].x - c.position[last - 1].x, c.position[last].y - c.position[last - 1].y,
                                c.position[last].z - c.position[last - 1].z};
            c.position[last] = along(c.position[last - 1], d, 40);
        }
        c.target = c.position[0];
        (&c.target.x)[i / 7 % 3] += tiny[i % 7];
        chain again = c;
        solve(backend, solver, &c), solve(backend, solver, &again);
        check_sound(backend, solver, &c);
        assert_int_equal(first_difference(&c, &again, sizeof c), -1);
        const double whole = whole_of(&c), got = distance(c.out[0], c.out[c.joints - 1]);
        if (!folds) {
            const double longest = distance(c.position[c.joints - 2], c.position[c.joints - 1]);
            /* FABRIK folds the chain along the line; CCD comes as near as its sweeps gain */
            assert_true(got >= 2 * longest - whole - 1e-5 * whole);
            assert_true(solver ? got <= distance(c.position[0], c.position[c.joints - 1]) : got <= 2 * longest - whole + 1e-3 * whole);
            assert_true(c.result.flags & PHX_FLAG_TOO_CLOSE);
        } else if (solver == 0) {
            if (2 * longest_of(&c) < 0.98 * whole) assert_true(got < 0.1 * whole);
        }
    }
}

/* D06. However far the target, the bones keep their lengths unless stretching is asked for, and the chain points at it. CCD sees no gain
 * where the distance is so large that a chain's length hardly shows in it. */
static void bones_do_not_stretch(void **state) {
    (void)state;
    random_state r = random_seeded("no stretch of chains", 0xD06C);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < 2; ++solver) for (int i = 0; i < 500; ++i) {
        chain c = random_chain(&r, 3 + random_below(&r, MOST - 2), 0.5);
        const double whole = whole_of(&c), far = whole * pow(10, random_float(&r, 0.01f, solver ? 4 : 7));
        c.target = along(c.position[0], random_direction(&r), far);
        solve(backend, solver, &c);
        check_sound(backend, solver, &c);
        assert_true(fabs(distance(c.out[0], c.out[c.joints - 1]) - whole) < 1e-5 * whole);
        assert_true(c.stretch == 1.0f && c.result.flags & PHX_FLAG_OUT_OF_REACH && !(c.result.flags & PHX_FLAG_REACHED));
    }
}

/* D10. A chain and its mirror image, in each of the three planes: mirror images of answers. Hints and pose give the bend plane; a collinear
 * chain without a hint would take a fixed axis, which has no mirror. */
static void mirrored_chains_mirror(void **state) {
    (void)state;
    random_state r = random_seeded("mirrored chains", 0xD10C);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < SOLVERS; ++solver) for (int i = 0; i < 300; ++i) {
        chain a = random_chain(&r, 4 + random_below(&r, 6), 0.5);
        a.target = along(a.position[0], random_direction(&r), whole_of(&a) * random_float(&r, 0.4f, 0.95f));
        a.bend = random_direction(&r);
        chain b = a;
        const int axis = i % 3;
        for (uint32_t j = 0; j < b.joints; ++j) (&b.position[j].x)[axis] *= -1;
        (&b.target.x)[axis] *= -1, (&b.bend.x)[axis] *= -1;
        solve(backend, solver, &a), solve(backend, solver, &b);
        assert_int_equal(a.result.flags, b.result.flags);
        for (uint32_t j = 0; j < b.joints; ++j) {
            (&b.out[j].x)[axis] *= -1;
            if (distance(a.out[j], b.out[j]) > 1e-6 * whole_of(&a)) {
                print_error("%s on %s: joint %u is %g from its mirror image\n", solver_names[solver], phx_backend_name(backend), j, distance(a.out[j], b.out[j]));
                fail();
            }
        }
    }
}

/* D12. Coordinates that floats hold exactly here and 4 km away: the work is relative to the root, so that not one bit of the turns differs. */
static void far_from_the_origin_nothing_is_lost(void **state) {
    (void)state;
    random_state r = random_seeded("chains far away", 0xD12C);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < SOLVERS; ++solver) for (int i = 0; i < 300; ++i) {
        chain here = random_chain(&r, 3 + random_below(&r, 8), 0.5);
        here.target = along(here.position[0], random_direction(&r), whole_of(&here) * random_float(&r, 0.1f, 1.1f));
        for (uint32_t j = 0; j <= here.joints; ++j)
            for (int k = 0; k < 3; ++k) {
                float *v = (j < here.joints ? &here.position[j].x : &here.target.x) + k;
                *v = rintf(*v * 0x1p10f) * 0x1p-10f; /* a multiple of a millimetre or so */
            }
        chain there = here;
        const phx_vec3 far = {-490, 150, 2935};
        for (uint32_t j = 0; j < there.joints; ++j) there.position[j] = along(here.position[j], far, 1);
        there.target = along(here.target, far, 1);
        solve(backend, solver, &here), solve(backend, solver, &there);
        assert_int_equal(first_difference(here.correction, there.correction, sizeof here.correction), -1);
        assert_int_equal(first_difference(&here.result, &there.result, sizeof here.result), -1);
    }
}

/* D16. A target out of reach that stands still, or creeps: after ten frames the chain, fed back, points at it and moves no more than the target
 * asks for. A straight chain that points at a target beyond its reach turns less than the target moves. */
static void chains_that_cannot_reach_rest(void **state) {
    (void)state;
    random_state r = random_seeded("out of reach, frame after frame", 0xD16C);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < 2; ++solver) for (int i = 0; i < 60; ++i) {
        chain c = random_chain(&r, 3 + random_below(&r, 6), i % 3 ? 0.5 : 0);
        const double whole = whole_of(&c);
        const phx_vec3 way = random_direction(&r), drift = random_direction(&r);
        const double step = i % 2 ? 1e-3 * whole : 0;
        c.target = along(c.position[0], way, whole * random_float(&r, 1.05f, 3));
        for (int frame = 0; frame < 40; ++frame) {
            solve(backend, solver, &c);
            check_sound(backend, solver, &c);
            double moved = 0;
            for (uint32_t j = 0; j < c.joints; ++j) moved = fmax(moved, distance(c.out[j], c.position[j]));
            if (frame > 9) assert_true(moved < step + 1e-4 * whole);
            if (frame > 9) {
                const phx_vec3 root = c.position[0];
                const double there = distance(c.target, root);
                assert_true(distance(c.out[c.joints - 1], along(root, (phx_vec3){c.target.x - root.x, c.target.y - root.y, c.target.z - root.z},
                                                                whole / there)) < 1e-3 * whole);
                assert_true(c.result.flags & PHX_FLAG_OUT_OF_REACH);
            }
            memcpy(c.position, c.out, sizeof c.position);
            c.target = along(c.target, drift, step);
        }
    }
}

/* What a weight or a budget of 0 leaves as animated was not lengthened, softened or limited, took no rounds, and has its true residual; with
 * both the same call does what its setting is for. Sixteen lanes, every other one left alone, so that both lie side by side. */
static void what_is_left_as_animated_has_nothing_done_to_it(void **state) {
    (void)state;
    enum { LANES = 16, STRETCH, SOFT, LIMITED, PLAIN_FLAGS = PHX_FLAG_STRETCHED | PHX_FLAG_SOFTENED | PHX_FLAG_LIMIT };
    random_state r = random_seeded("left as animated", 0xF1A6);
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < SOLVERS; ++solver) for (int i = 0; i < 36; ++i) {
        const int setting = STRETCH + i % 3, by_budget = i / 3 % 2;
        const uint32_t joints = 3 + random_below(&r, MOST - 2);
        chain c[LANES];
        float weight[LANES];
        uint32_t budget[LANES];
        phx_quat rotation[MOST];
        phx_limit limits[MOST];
        for (uint32_t j = 0; j < MOST; ++j) rotation[j] = (phx_quat){0, 0, 0, 1}, limits[j] = phx_limit_cone((phx_vec3){0, 1, 0}, 0.05f);
        limits[0] = phx_limit_hinge((phx_vec3){0, 0, 1}, 0.1f, 0.2f); /* the pose is outside: any answer is changed */
        for (int k = 0; k < LANES; ++k) {
            c[k] = random_chain(&r, joints, 0.3);
            c[k].target = along(c[k].position[0], random_direction(&r), whole_of(&c[k]) * (setting == STRETCH ? 1.2 : 0.95));
            weight[k] = k % 2 && !by_budget ? (k % 4 == 1 ? 0.0f : -1.0f) : 1.0f, budget[k] = k % 2 && by_budget ? 0 : 16;
        }
        phx_chain_job job = phx_chain_job_default();
        job.count = LANES, job.joints = joints;
        job.position = phx_joint_view_of(c[0].position, sizeof *c, 12), job.position_out = phx_joint_view_of(c[0].out, sizeof *c, 12);
        job.target = PHX_VIEW(c, target), job.stretch = PHX_VIEW(c, stretch), job.result = PHX_VIEW(c, result);
        job.correction = phx_joint_view_of(c[0].correction, sizeof *c, 16);
        job.weight = PHX_VIEW_ARRAY(weight), job.budget = PHX_VIEW_ARRAY(budget);
        if (i / 6 % 2) job.bend = PHX_VIEW(c, bend);
        if (setting == LIMITED) job.limits = limits, job.rotation = phx_joint_view_of(rotation, 0, 16);
        phx_fabrik_params fabrik = phx_fabrik_params_default();
        phx_ccd_params ccd = phx_ccd_params_default();
        fabrik.chain.max_stretch = setting == STRETCH ? 1.5f : 1.0f, fabrik.chain.soft_start = setting == SOFT ? 0.8f : 1.0f;
        ccd.chain = fabrik.chain, ccd.mode = solver == 2 ? PHX_CCD_PLAIN : ccd.mode;
        assert_int_equal(solver ? phx_ccd_solve(backend, &ccd, &job, NULL) : phx_fabrik_solve(backend, &fabrik, &job, NULL), PHX_OK);
        const uint32_t wanted = setting == STRETCH ? PHX_FLAG_STRETCHED : setting == SOFT ? PHX_FLAG_SOFTENED : PHX_FLAG_LIMIT;
        for (int k = 0; k < LANES; ++k) {
            if (k % 2 == 0) {
                assert_true(c[k].result.flags & wanted && c[k].result.iterations > 0);
                continue;
            }
            assert_int_equal(first_difference(c[k].out, c[k].position, joints * sizeof(phx_vec3)), -1);
            assert_int_equal(c[k].result.flags & PLAIN_FLAGS, 0);
            assert_int_equal(c[k].result.iterations, 0);
            assert_true(c[k].stretch == 1.0f);
            const double residual = distance(c[k].position[joints - 1], c[k].target), whole = whole_of(&c[k]);
            assert_true(fabs(residual - (double)c[k].result.residual) <= 1e-5 * whole);
            assert_int_equal((c[k].result.flags & PHX_FLAG_REACHED) != 0, residual <= 1e-3 * whole);
            assert_int_equal((c[k].result.flags & PHX_FLAG_OUT_OF_REACH) != 0, setting == STRETCH);
        }
    }
}

/* A chain whose tip is where soft reach wants it is stretched all the same: as one a little beside it is. */
static void a_softened_chain_at_rest_is_stretched(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int solver = 0; solver < SOLVERS; ++solver) for (int beside = 0; beside < 2; ++beside) {
        /* an elbow of two bones of 1; soft from 1.6: a target at 1.8 is softened to 2 - 0.4 exp(-0.5) */
        const double aimed = 2 - 0.4 * exp(-0.5) + beside * 0.01, high = sqrt(1 - aimed * aimed / 4);
        chain c;
        memset(&c, 0, sizeof c);
        c.joints = 3, c.target.x = 1.8f;
        c.position[1] = (phx_vec3){(float)(aimed / 2), (float)high, 0}, c.position[2].x = (float)aimed;
        phx_chain_job job = phx_chain_job_default();
        job.count = 1, job.joints = 3;
        job.position = phx_joint_view_of(c.position, sizeof c, 12), job.position_out = phx_joint_view_of(c.out, sizeof c, 12);
        job.target = PHX_VIEW(&c, target), job.stretch = PHX_VIEW(&c, stretch), job.result = PHX_VIEW(&c, result);
        phx_fabrik_params fabrik = phx_fabrik_params_default();
        phx_ccd_params ccd = phx_ccd_params_default();
        fabrik.chain.max_stretch = 1.5f, fabrik.chain.soft_start = 0.8f, ccd.chain = fabrik.chain;
        if (solver == 2) ccd.mode = PHX_CCD_PLAIN;
        assert_int_equal(solver ? phx_ccd_solve(backend, &ccd, &job, NULL) : phx_fabrik_solve(backend, &fabrik, &job, NULL), PHX_OK);
        assert_true(c.result.flags & PHX_FLAG_STRETCHED && c.result.flags & PHX_FLAG_REACHED);
        assert_true(fabs((double)c.stretch - 1.8 / (2 - 0.4 * exp(-0.5))) < 1e-5);
        assert_true(distance(c.out[2], c.target) <= 2e-3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_reach_never_leaves_the_domain), cmocka_unit_test(target_on_the_root),
        cmocka_unit_test(bones_do_not_stretch),               cmocka_unit_test(mirrored_chains_mirror),
        cmocka_unit_test(far_from_the_origin_nothing_is_lost), cmocka_unit_test(chains_that_cannot_reach_rest),
        cmocka_unit_test(what_is_left_as_animated_has_nothing_done_to_it),
        cmocka_unit_test(a_softened_chain_at_rest_is_stretched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
