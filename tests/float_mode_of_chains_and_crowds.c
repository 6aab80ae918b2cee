/* The caller's floating-point mode around FABRIK, CCD, aim, limits, forward kinematics and crowds: left as it was; flushed denormals change
 * nothing for input of ordinary size, on any backend; other roundings give other bits, and finite ones; and valid input raises nothing that
 * a trap could catch, nor fires one that is enabled. Legs have their own test, float_mode.c. */
#define _GNU_SOURCE
#include "chains.h"
#include "crowd_rig.h"
#include <fenv.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned mode_now(void) { return _mm_getcsr() & ~0x3Fu; } /* without the sticky exception bits */
static void set_mode(unsigned mode) { _mm_setcsr(mode); }
enum { FLUSH = 0x1F80 | 0x8040 };
static int flushes(unsigned mode) { return mode == FLUSH; }
static const unsigned modes[] = {0x1F80, FLUSH, 0x1F80 | 0x2000, 0x1F80 | 0x4000, 0x1F80 | 0x6000, FLUSH | 0x4000};
#else
static unsigned mode_now(void) { return (unsigned)fegetround(); }
static void set_mode(unsigned mode) { fesetround((int)mode); }
static int flushes(unsigned mode) { return mode != mode; }
static const unsigned modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
#endif
enum { MODES = sizeof modes / sizeof *modes, TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

/* From here on an exception ends the program, where this C library and processor can do so; and no longer. That they are still enabled
 * after a solve is checked, too. */
static void enable_traps(void) {
#if defined(__GLIBC__)
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(TRAPS);
#endif
}
static void disable_traps(void) {
#if defined(__GLIBC__)
    const int enabled = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    static int said;
    if (enabled != TRAPS && !said++) printf("# skipped: this processor cannot trap\n");
#if defined(__x86_64__)
    assert_int_equal(enabled, TRAPS);
#endif
#endif
}

enum { SETS = 5, COUNT = 203 };
static const uint32_t sets[SETS] = {
    0, CHAIN_LENGTH | CHAIN_POLE | CHAIN_BEND, CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS,
    CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_TIP | CHAIN_WEIGHT | CHAIN_SOFT | CHAIN_STRETCH | CHAIN_POLE,
    CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_START | CHAIN_PARENT | CHAIN_REST_BEND | CHAIN_BEND};

/* chains of ordinary size, every fifth a giant's: bent, straight, folded, in reach and out of it, targets on joints and on the root */
static void ordinary_chains(random_state *r, chain_data *data) {
    const uint32_t joints = data->joints;
    const chain_offsets o = offsets_of(joints);
    for (size_t i = 0; i < data->count; ++i) {
        char *record = chain_data_at(data, i);
        random_chain(r, joints, record); /* for the budget; all else is set below */
        phx_vec3 position[PHX_CHAIN_MAX_JOINTS], start[PHX_CHAIN_MAX_JOINTS], direction = random_direction(r);
        phx_quat turn[PHX_CHAIN_MAX_JOINTS];
        float length[PHX_CHAIN_MAX_BONES], whole = 0;
        position[0] = start[0] = (phx_vec3){random_float(r, -20, 20), random_float(r, 0, 2), random_float(r, -20, 20)};
        for (uint32_t j = 0; j + 1 < joints; ++j) {
            length[j] = random_float(r, 0.1f, 0.3f) * (i % 5 ? 1.0f : 100.0f), whole += length[j];
            position[j + 1] = step_along(position[j], direction, length[j]), start[j + 1] = step_along(start[j], random_direction(r), length[j]);
            if (i % 3) direction = random_direction(r);
        }
        for (uint32_t j = 0; j < joints; ++j) turn[j] = random_rotation(r);
        phx_vec3 target = step_along(position[0], random_direction(r), whole * random_float(r, 0, 1.3f)), hint[3] = {random_direction(r), random_direction(r), random_direction(r)};
        if (i % 7 == 0) target = position[i % joints];
        if (i % 11 == 0) target = position[0];
        if (i % 13 == 0) target = step_along(position[0], direction, whole * 0.5f);
        if (i % 17 == 0) hint[0] = hint[1] = hint[2] = (phx_vec3){0, 0, 0};
        const float weight = random_float(r, 0, 1);
        memcpy(record + o.position, position, 12 * joints), memcpy(record + o.start, start, 12 * joints), memcpy(record + o.rotation, turn, 16 * joints);
        memcpy(record + o.length, length, 4 * (joints - 1)), memcpy(record + o.target, &target, 12), memcpy(record + o.weight, &weight, 4);
        memcpy(record + o.target_rotation, turn, 16), memcpy(record + o.parent, turn + 1, 16);
        memcpy(record + o.pole, &hint[0], 12), memcpy(record + o.rest_bend, &hint[1], 12), memcpy(record + o.bend, &hint[2], 12);
    }
}

enum { FABRIK, CCD, AIM, SOLVERS };
static const char *const names[SOLVERS] = {"fabrik", "ccd", "aim"};

/* aim knows neither start nor lengths, and turns a chain whose rotations it is given */
static uint32_t options_for(int solver, uint32_t options) {
    return solver == AIM ? (options & (CHAIN_POLE | CHAIN_WEIGHT | CHAIN_PARENT | CHAIN_LIMITS)) | CHAIN_ROTATION | CHAIN_CORRECTION : options;
}

static int solve_chains(int solver, const phx_backend *backend, uint32_t options, const phx_chain_job *job) {
    phx_fabrik_params fabrik = phx_fabrik_params_default();
    phx_ccd_params params = phx_ccd_params_default();
    const phx_aim_params aim = phx_aim_params_default();
    if (solver == AIM) return (int)phx_aim_solve(backend, &aim, job, NULL);
    if (options & CHAIN_SOFT) fabrik.chain.soft_start = params.chain.soft_start = 0.9f;
    if (options & CHAIN_STRETCH) fabrik.chain.max_stretch = params.chain.max_stretch = 1.2f;
    return (int)(solver == CCD ? phx_ccd_solve(backend, &params, job, NULL) : phx_fabrik_solve(backend, &fabrik, job, NULL));
}

static int finite_answer(const chain_data *data, size_t i) {
    const chain_offsets o = offsets_of(data->joints);
    float floats[3 * PHX_CHAIN_MAX_JOINTS + 1];
    memcpy(floats, chain_data_at(data, i) + o.position_out, 12 * data->joints), memcpy(floats + 3 * data->joints, chain_data_at(data, i) + o.result, 4);
    for (size_t k = 0; k < 3 * data->joints + 1; ++k)
        if (!isfinite(floats[k])) return 0;
    return 1;
}

static void chains_in_every_mode(void **state) {
    (void)state;
    random_state r = random_seeded("modes of chains", 1985);
    const unsigned kept = mode_now();
    for (uint32_t joints = 3; joints <= 9; joints += 3) {
        chain_data given = chain_data_make(COUNT, joints), plain = chain_data_make(COUNT, joints), expected = chain_data_make(COUNT, joints), actual = chain_data_make(COUNT, joints);
        phx_limit limits[PHX_CHAIN_MAX_JOINTS];
        random_limits(&r, joints, limits);
        for (int k = 0; k < SOLVERS * SETS; ++k) {
            const int solver = k % SOLVERS;
            const uint32_t options = options_for(solver, sets[k / SOLVERS]);
            ordinary_chains(&r, &given);
            for (int m = 0; m < MODES; ++m) {
                chain_data_copy(&expected, &given);
                phx_chain_job job = chain_data_job(&expected, options, limits);
                set_mode(modes[m]);
                int status = solve_chains(solver, phx_backend_find("reference"), options, &job);
                const unsigned after = mode_now();
                set_mode(kept);
                assert_int_equal(status, PHX_OK);
                assert_int_equal(after, modes[m]);
                if (m == 0) chain_data_copy(&plain, &expected);
                const int as_plain = modes[m] == modes[0] || flushes(modes[m]);
                if (as_plain && !chain_data_equal(&plain, &expected)) fail();
                FOR_EACH_BACKEND(backend) {
                    chain_data_copy(&actual, &given);
                    job = chain_data_job(&actual, options, limits);
                    set_mode(modes[m]);
                    status = solve_chains(solver, backend, options, &job);
                    const unsigned now = mode_now();
                    set_mode(kept);
                    assert_int_equal(status, PHX_OK);
                    assert_int_equal(now, modes[m]);
                    for (size_t i = 0; i < COUNT; ++i) assert_true(finite_answer(&actual, i));
                    if (as_plain && !chain_data_equal(&expected, &actual)) print_error("%s on %s in mode 0x%x\n", names[solver], phx_backend_name(backend), modes[m]), fail();
                }
            }
        }
        chain_data_free(&given), chain_data_free(&plain), chain_data_free(&expected), chain_data_free(&actual);
    }
}

/* a pose of any size, as far as it is valid */
static void resize_pose(random_state *r, phx_vec3 *pose, uint32_t joints) {
    const float size = powf(10, random_float(r, -8, 8));
    for (uint32_t j = 0; j < 3 * joints; ++j) (&pose->x)[j] = fmaxf(fminf((&pose->x)[j] * size, 1e7f), -1e7f);
}

/* Ordinary chains made degenerate, and of any size: bones without length at the root, at the tip, anywhere, everywhere, by the joints or by the
 * lengths given, or in one of the two poses; starts that lie on one point, where the chain is, or fit the bones in no way. */
static void degenerate_chains(random_state *r, chain_data *data, float scale) {
    const uint32_t joints = data->joints;
    const chain_offsets o = offsets_of(joints);
    ordinary_chains(r, data);
    for (size_t i = 0; i < data->count; ++i) {
        char *record = chain_data_at(data, i);
        phx_vec3 position[PHX_CHAIN_MAX_JOINTS], start[PHX_CHAIN_MAX_JOINTS], target;
        float length[PHX_CHAIN_MAX_BONES];
        memcpy(position, record + o.position, 12 * joints), memcpy(start, record + o.start, 12 * joints);
        memcpy(length, record + o.length, 4 * (joints - 1)), memcpy(&target, record + o.target, 12);
        const uint32_t kind = random_below(r, 12);
        for (uint32_t j = 0; j + 1 < joints; ++j) {
            if (!((kind == 0 && j == 0) || (kind == 1 && j + 2 == joints) || kind == 2 || (kind < 6 && random_below(r, 3) == 0))) continue;
            if (kind != 4) position[j + 1] = position[j], start[j + 1] = start[j];
            if (kind != 5) length[j] = 0;
        }
        if (kind == 6) memcpy(start, position, sizeof start);
        if (kind == 7)
            for (uint32_t j = 1; j < joints; ++j) start[j] = start[0];
        const uint32_t alone = random_below(r, 16), share = 1 + random_below(r, 2);
        for (uint32_t j = 0; j + 1 < joints && alone < 3; ++j) {
            if (random_below(r, share)) continue;
            if (alone == 0) position[j + 1] = position[j];
            if (alone == 1) start[j + 1] = start[j];
            if (alone == 2) length[j] = 0;
        }
        if (random_below(r, 5) == 0) target = position[random_below(r, joints)];
        for (uint32_t j = 0; j < 3 * joints; ++j) (&position[0].x)[j] *= scale, (&start[0].x)[j] *= scale;
        for (uint32_t j = 0; j + 1 < joints; ++j) length[j] *= scale;
        for (int k = 0; k < 3; ++k) (&target.x)[k] *= scale;
        if (alone == 3 || alone == 4) resize_pose(r, start, joints);
        if (alone == 4 || alone == 5) resize_pose(r, position, joints);
        memcpy(record + o.position, position, 12 * joints), memcpy(record + o.start, start, 12 * joints);
        memcpy(record + o.length, length, 4 * (joints - 1)), memcpy(record + o.target, &target, 12);
    }
}

typedef struct trial {
    phx_fabrik_params fabrik;
    phx_ccd_params ccd;
    phx_aim_params aim;
} trial;

static trial random_trial(random_state *r, uint32_t joints, uint32_t options) {
    static const float soft[] = {1e-3f, 0.5f, 0.9f, 0.99f, 0.999f, 0.9999f, 0.999999f, 0.99999994f};
    trial t = {random_fabrik_params(r, options), phx_ccd_params_default(), phx_aim_params_default()};
    if (options & CHAIN_SOFT) t.fabrik.chain.soft_start = soft[random_below(r, 8)];
    if (random_below(r, 3) == 0) t.fabrik.chain.direction_tolerance = random_below(r, 2) ? 1e-6f : 0.5f;
    t.ccd.chain = t.fabrik.chain, t.ccd.chain.twist = PHX_TWIST_INHERIT;
    if (random_below(r, 3) == 0) t.ccd.mode = PHX_CCD_PLAIN, t.ccd.damping = random_float(r, 0.1f, 1);
    if (random_below(r, 3) == 0) t.ccd.from = random_below(r, joints - 1);
    if (random_below(r, 3) == 0) t.ccd.max_turn = random_float(r, 0.01f, 3.14f);
    t.ccd.restarts = random_below(r, 4);
    t.aim.max_angle = random_below(r, 2) ? 3.14159274f : random_float(r, 0, 3);
    return t;
}

static int try_chains(int solver, const phx_backend *backend, const trial *t, const phx_chain_job *job) {
    if (solver == AIM) return (int)phx_aim_solve(backend, &t->aim, job, NULL);
    return (int)(solver == CCD ? phx_ccd_solve(backend, &t->ccd, job, NULL) : phx_fabrik_solve(backend, &t->fabrik, job, NULL));
}

/* clang before 19 still computes what is not wanted, here and there, although it is told of traps */
static int minds_traps(void) {
#if defined(__clang__) && __clang_major__ < 19
    static int said;
    if (!said++) printf("# skipped: exceptions, as the compiler is clang %d\n", __clang_major__);
    return 0;
#else
    return 1;
#endif
}

static void valid_chains_raise_nothing(void **state) {
    (void)state;
    if (!minds_traps()) return;
    enum { ROUNDS = 24 };
    random_state r = random_seeded("traps of chains", 1986);
    for (uint32_t joints = 2; joints <= 10; joints += 2) {
        chain_data given = chain_data_make(COUNT, joints), data = chain_data_make(COUNT, joints);
        for (uint32_t k = 0; k < SOLVERS * ROUNDS; ++k) {
            const int solver = (int)(k % SOLVERS);
            const uint32_t options = options_for(solver, k < SOLVERS * SETS ? sets[k / SOLVERS] : random_options(&r) | (k % 2 ? CHAIN_START | CHAIN_PLANE | CHAIN_CORRECTION : 0));
            const float scale = powf(10, random_float(&r, -4, 6));
            const trial t = random_trial(&r, joints, options);
            phx_limit limits[PHX_CHAIN_MAX_JOINTS];
            random_limits(&r, joints, limits);
            if (k % 2) degenerate_chains(&r, &given, scale);
            else ordinary_chains(&r, &given);
            for (uint32_t b = 0; b <= 8; ++b) {
                const phx_backend *backend = b == 0 ? phx_backend_find("reference") : phx_backend_at(b - 1);
                if (!backend) break;
                chain_data_copy(&data, &given);
                const phx_chain_job job = chain_data_job(&data, options, limits);
                feclearexcept(FE_ALL_EXCEPT);
                assert_int_equal(try_chains(solver, backend, &t, &job), PHX_OK);
                const int raised = fetestexcept(TRAPS);
                if (raised)
                    print_error("%s on %s, options 0x%x, %u joints, scale %g raised 0x%x\n", names[solver], phx_backend_name(backend), options, joints, (double)scale,
                                raised),
                        fail();
                chain_data_copy(&data, &given);
                enable_traps();
                const int status = try_chains(solver, backend, &t, &job);
                disable_traps();
                assert_int_equal(status, PHX_OK);
            }
        }
        chain_data_free(&given), chain_data_free(&data);
    }
}

/* a huge straight chain whose last bone has no length is done at once; the lane that it leaves idle must not raise while its mate takes rounds */
static void idle_lanes_raise_nothing(void **state) {
    (void)state;
    if (!minds_traps()) return;
    const phx_fabrik_params params = phx_fabrik_params_default();
    for (int bones = 2; bones <= 8; bones += bones == 2 ? 1 : 5)
        for (int axis = 0; axis < 2; ++axis)
            for (int k = 0; k < 3000; ++k) {
                phx_vec3 position[2][9] = {{{0, 0, 0}}}, out[2][9], target[2];
                const float unit = k < 1000 ? 1e3f : k < 2000 ? 1e4f : 1e5f, far = unit * (float)(bones - 1) * (1.01f + (float)(k % 1000) * 0.0017f);
                for (int c = 0; c < 2; ++c)
                    for (int j = 1; j <= bones; ++j) {
                        const float bone = c ? 1 : j == bones ? 0 : unit * 1.237f;
                        position[c][j] = position[c][j - 1];
                        if (c && j % 2) position[c][j].y += bone;
                        else position[c][j].x += bone;
                    }
                target[0] = axis ? (phx_vec3){2 * far, 0, 0} : (phx_vec3){far * 0.9f, far * 1.77f, far * 0.6f}, target[1] = (phx_vec3){0.5f, 0.6f, 0.4f};
                phx_result result[2];
                phx_chain_job job = phx_chain_job_default();
                job.count = 2, job.joints = (uint32_t)bones + 1, job.target = PHX_VIEW_ARRAY(target), job.result = PHX_VIEW_ARRAY(result);
                job.position = phx_joint_view_of(position, sizeof position[0], 12), job.position_out = phx_joint_view_of(out, sizeof out[0], 12);
                for (uint32_t b = 0; phx_backend_at(b); ++b) {
                    feclearexcept(FE_ALL_EXCEPT);
                    const phx_status status = phx_fabrik_solve(phx_backend_at(b), &params, &job, NULL);
                    const int raised = fetestexcept(TRAPS);
                    assert_int_equal(status, PHX_OK);
                    if (raised) print_error("%s, %d bones, unit %g: raised 0x%x\n", phx_backend_name(phx_backend_at(b)), bones, (double)unit, raised), fail();
                }
            }
}

static void crowds_in_every_mode(void **state) {
    (void)state;
    enum { CHARACTERS = 70, FRAMES = 40 };
    static phx_transform plain[CHARACTERS * RIG_JOINTS], poses[CHARACTERS * RIG_JOINTS];
    const unsigned kept = mode_now();
    for (int m = 0; m < MODES; ++m)
        for (uint32_t b = 0; b <= 8; ++b) {
            const phx_backend *backend = b == 0 ? phx_backend_find("reference") : phx_backend_at(b - 1);
            if (!backend) break;
            phx_crowd_def def = rig_def(backend, CHARACTERS);
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            for (int f = 0; f < FRAMES; ++f) {
                phx_vec3 roots[CHARACTERS];
                for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses + i * RIG_JOINTS, (float)i + 0.1f * (float)f), roots[i] = (phx_vec3){(float)i, 0, 0.03f * (float)f};
                phx_crowd_frame frame;
                memset(&frame, 0, sizeof frame);
                frame.count = CHARACTERS, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(poses, RIG_JOINTS), frame.root_position = PHX_VIEW_ARRAY(roots);
                for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
                    feclearexcept(FE_ALL_EXCEPT);
                    set_mode(modes[m]);
                    const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, tile);
                    const unsigned between = mode_now();
                    const int raised_first = fetestexcept(TRAPS);
                    set_mode(kept);
                    cast(rays, ground_hills, NULL);
                    feclearexcept(FE_ALL_EXCEPT);
                    set_mode(modes[m]);
                    const phx_status status = phx_crowd_solve(crowd, &frame, tile);
                    const unsigned after = mode_now();
                    const int raised = raised_first | fetestexcept(TRAPS);
                    set_mode(kept);
                    assert_int_equal(status, PHX_OK);
                    assert_int_equal(between, modes[m]);
                    assert_int_equal(after, modes[m]);
                    if (raised && minds_traps()) print_error("%s, frame %d: raised 0x%x\n", phx_backend_name(backend), f, raised), fail();
                }
            }
            if (m == 0 && b == 0) memcpy(plain, poses, sizeof poses);
            if (modes[m] == modes[0] || flushes(modes[m])) assert_int_equal(first_difference(plain, poses, sizeof poses), -1);
            for (size_t k = 0; k < sizeof poses / 4; ++k) assert_true(isfinite(((const float *)(const void *)poses)[k]));
            phx_crowd_destroy(crowd);
        }
}

/* A crowd that walks, with traps enabled while it works: it gets through, and the traps are still enabled then. */
static void valid_crowds_fire_no_trap(void **state) {
    (void)state;
    if (!minds_traps()) return;
    enum { CHARACTERS = 70, FRAMES = 40 };
    static phx_transform poses[CHARACTERS * RIG_JOINTS];
    FOR_EACH_BACKEND(backend) for (int kind = 0; kind < 2; ++kind) {
        phx_crowd_def def = rig_def(backend, CHARACTERS);
        if (kind) def.params.pelvis_spring = 1, def.params.ray_reuse = 0.03f, def.params.soft_start = 0.95f, def.replay = 1;
        if (kind) def.params.pelvis_shift = def.params.pelvis_pitch = def.params.pelvis_roll = 0.5f, def.params.still_tolerance = 0.02f;
        if (kind) def.params.hip_speed = def.params.knee_speed = def.params.ankle_speed = 2;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        for (int f = 0; f < FRAMES; ++f) {
            phx_vec3 roots[CHARACTERS];
            for (int i = 0; i < CHARACTERS; ++i)
                rig_walk(poses + i * RIG_JOINTS, (float)i + 0.1f * (float)f), roots[i] = (phx_vec3){(float)i, 0, 0.03f * (float)f};
            phx_crowd_frame frame;
            memset(&frame, 0, sizeof frame);
            static const float odd[] = {0, -1, 1e-9f, 10};
            frame.count = CHARACTERS, frame.dt = f % 9 == 8 ? odd[f / 9] : 1.0f / 60;
            frame.poses = phx_poses_of(poses, RIG_JOINTS), frame.root_position = PHX_VIEW_ARRAY(roots);
            for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
                enable_traps();
                const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, tile);
                disable_traps();
                cast(rays, ground_hills, NULL);
                enable_traps();
                const phx_status status = phx_crowd_solve(crowd, &frame, tile);
                disable_traps();
                assert_int_equal(status, PHX_OK);
            }
        }
        phx_crowd_destroy(crowd);
    }
}

/* Limits of every type over unit rotations, and forward kinematics of a walking rig: in every mode, and with traps. */
static void limits_and_poses_in_every_mode(void **state) {
    (void)state;
    enum { ROTATIONS = 101, CHARACTERS = 37 };
    random_state r = random_seeded("modes of limits and poses", 1987);
    const unsigned kept = mode_now();
    static phx_transform poses[CHARACTERS * RIG_JOINTS];
    for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses + i * RIG_JOINTS, 0.37f * (float)i);
    const phx_crowd_def def = rig_def(NULL, 1);
    static phx_vec3 places[2][CHARACTERS * RIG_JOINTS];
    static phx_quat turns[2][CHARACTERS * RIG_JOINTS];
    phx_fk_job fk;
    memset(&fk, 0, sizeof fk);
    fk.skeleton = &def.skeleton, fk.count = CHARACTERS, fk.poses = phx_poses_of(poses, RIG_JOINTS);
    const size_t size = (phx_fk_workspace_size(&fk) + 63) / 64 * 64;
    void *workspace = aligned_alloc(64, size ? size : 64);
    for (int round = 0; round < 60; ++round) {
        phx_limit limits[1];
        random_limits(&r, 1, limits);
        phx_quat in[ROTATIONS], plain[ROTATIONS], out[ROTATIONS];
        for (int i = 0; i < ROTATIONS; ++i) in[i] = random_rotation(&r);
        in[0] = (phx_quat){0, 0, 0, 1}, in[1] = (phx_quat){1, 0, 0, 0}, in[2] = limits[0].rest;
        for (int m = 0; m < MODES; ++m) for (uint32_t b = 0; b <= 8; ++b) {
            const phx_backend *backend = b == 0 ? phx_backend_find("reference") : phx_backend_at(b - 1);
            if (!backend) break;
            const int first = m == 0 && b == 0, as_plain = modes[m] == modes[0] || flushes(modes[m]);
            phx_quat *limited = first ? plain : out;
            const int slot = !first;
            fk.positions = phx_view_of(places[slot], RIG_JOINTS * sizeof **places);
            fk.rotations = phx_view_of(turns[slot], RIG_JOINTS * sizeof **turns);
            feclearexcept(FE_ALL_EXCEPT);
            set_mode(modes[m]);
            const phx_view result = PHX_VIEW_ARRAY(limited);
            const phx_status a = phx_limit_apply(backend, limits, ROTATIONS, PHX_VIEW_ARRAY(in), result, (phx_view){0}, NULL);
            const phx_status k = phx_fk_solve(backend, &fk, 0, CHARACTERS, workspace, NULL);
            const unsigned after = mode_now();
            const int raised = fetestexcept(TRAPS);
            set_mode(kept);
            assert_true(a == PHX_OK && k == PHX_OK);
            assert_int_equal(after, modes[m]);
            if (raised && minds_traps()) print_error("%s, limit of type %d: raised 0x%x\n", phx_backend_name(backend), (int)limits[0].type, raised), fail();
            for (int i = 0; i < ROTATIONS; ++i) {
                const double x = limited[i].x, y = limited[i].y, z = limited[i].z, w = limited[i].w;
                assert_true(fabs(x * x + y * y + z * z + w * w - 1) < 2e-5);
            }
            if (!as_plain || first) continue;
            assert_int_equal(first_difference(plain, out, sizeof out), -1);
            assert_int_equal(first_difference(places[0], places[1], sizeof *places), -1);
            assert_int_equal(first_difference(turns[0], turns[1], sizeof *turns), -1);
        }
        if (minds_traps()) FOR_EACH_BACKEND(backend) {
            enable_traps();
            const phx_status a = phx_limit_apply(backend, limits, ROTATIONS, PHX_VIEW_ARRAY(in), PHX_VIEW_ARRAY(out), (phx_view){0}, NULL);
            const phx_status k = phx_fk_solve(backend, &fk, 0, CHARACTERS, workspace, NULL);
            disable_traps();
            assert_true(a == PHX_OK && k == PHX_OK);
        }
    }
    free(workspace);
}

/* A swinging foot of one character that was skipped wakes the look ahead; the others, and lanes without characters, have no time at all. */
static void a_frame_without_time_after_a_replay_raises_nothing(void **state) {
    (void)state;
    if (!minds_traps()) return;
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = rig_def(backend, 2);
        def.replay = 1;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        phx_transform poses[2 * RIG_JOINTS];
        phx_vec3 roots[2] = {{0, 0, 0}, {1, 0, 0}};
        uint32_t flags[2] = {0, 0};
        for (int f = 0; f < 3; ++f) {
            for (int c = 0; c < 2; ++c) {
                rig_walk(poses + c * RIG_JOINTS, 0.3f);
                poses[c * RIG_JOINTS + RIG_HIPS].translation.y += 0.2f; /* nobody stands */
                roots[c].z += f == 2 ? 3.0f : 0.05f;
            }
            flags[1] = f == 1 ? PHX_CHARACTER_LOD(PHX_LOD_REPLAY) : 0;
            phx_crowd_frame frame;
            memset(&frame, 0, sizeof frame);
            frame.count = 2, frame.dt = f == 2 ? 0 : 1.0f / 60, frame.poses = phx_poses_of(poses, RIG_JOINTS);
            frame.root_position = PHX_VIEW_ARRAY(roots), frame.flags = PHX_VIEW_ARRAY(flags);
            feclearexcept(FE_ALL_EXCEPT);
            run_frame(crowd, &frame, ground_hills, NULL);
            assert_int_equal(fetestexcept(TRAPS), 0);
        }
        phx_crowd_destroy(crowd);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_in_every_mode),
        cmocka_unit_test(valid_chains_raise_nothing),
        cmocka_unit_test(idle_lanes_raise_nothing),
        cmocka_unit_test(crowds_in_every_mode),
        cmocka_unit_test(valid_crowds_fire_no_trap),
        cmocka_unit_test(limits_and_poses_in_every_mode),
        cmocka_unit_test(a_frame_without_time_after_a_replay_raises_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
