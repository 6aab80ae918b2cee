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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_reach_never_leaves_the_domain), cmocka_unit_test(target_on_the_root),
        cmocka_unit_test(bones_do_not_stretch),               cmocka_unit_test(mirrored_chains_mirror),
        cmocka_unit_test(far_from_the_origin_nothing_is_lost), cmocka_unit_test(chains_that_cannot_reach_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
