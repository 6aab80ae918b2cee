/* One bad number anywhere in the input of any solver: the chain or character is left as animated to the bit and flagged, or its answer is
 * finite all through. On every backend, each float of each field in turn, with NaN, infinities, huge, tiny and zero. */
#include "chains.h"
#include "crowd_rig.h"

static const float bad_values[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e30f, 1e20f, 1e-20f, 1e-40f, 0.0f, -1.0f};
enum { BAD_VALUES = sizeof bad_values / sizeof *bad_values };

static int all_finite(const void *floats, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        float value;
        memcpy(&value, (const char *)floats + 4 * i, 4);
        if (!isfinite(value)) return 0;
    }
    return 1;
}

/* ---- long chains ---- */

typedef int (*solve_function)(const phx_backend *backend, uint32_t options, const phx_chain_job *job);

static int by_fabrik(const phx_backend *backend, uint32_t options, const phx_chain_job *job) {
    phx_fabrik_params params = phx_fabrik_params_default();
    if (options & CHAIN_SOFT) params.chain.soft_start = 0.9f;
    if (options & CHAIN_STRETCH) params.chain.max_stretch = 1.2f;
    if (options & CHAIN_PLANE) params.chain.twist = PHX_TWIST_PLANE;
    return phx_fabrik_solve(backend, &params, job, NULL) == PHX_OK;
}
static int by_ccd(const phx_backend *backend, uint32_t options, const phx_chain_job *job) {
    phx_ccd_params params = phx_ccd_params_default();
    if (options & CHAIN_SOFT) params.chain.soft_start = 0.9f;
    if (options & CHAIN_STRETCH) params.chain.max_stretch = 1.2f;
    if (options & CHAIN_PLANE) params.mode = PHX_CCD_PLAIN;
    return phx_ccd_solve(backend, &params, job, NULL) == PHX_OK;
}

static void poison_chains(const char *name, solve_function solve, const phx_backend *backend, uint32_t options, random_state *r) {
    enum { JOINTS = 5 };
    const chain_offsets o = offsets_of(JOINTS);
    /* the fields that go in: position to local, then length to bend */
    const size_t first[] = {o.position, o.length}, end[] = {o.correction, o.budget};
    phx_limit limits[JOINTS];
    random_limits(r, JOINTS, limits);
    size_t floats = (end[0] - first[0] + end[1] - first[1]) / 4 + 3;
    chain_data data = chain_data_make(floats * BAD_VALUES, JOINTS), before = chain_data_make(floats * BAD_VALUES, JOINTS);
    char *good = malloc(o.end);
    memset(good, 0, o.end);
    do random_chain(r, JOINTS, good);
    while (!all_finite(good + o.position, (o.correction - o.position) / 4) || !all_finite(good + o.length, (o.stretch - o.length) / 4));
    for (size_t i = 0; i < data.count; ++i) {
        char *record = chain_data_at(&data, i);
        memcpy(record, good, o.end);
        size_t at = i / BAD_VALUES * 4 + first[0];
        if (at >= end[0]) at = at - end[0] + first[1];
        if (at >= end[1]) at = at - end[1] + o.bend;
        memcpy(record + at, &bad_values[i % BAD_VALUES], 4);
    }
    chain_data_copy(&before, &data);
    const phx_chain_job job = chain_data_job(&data, options, limits);
    assert_true(solve(backend, options, &job));
    for (size_t i = 0; i < data.count; ++i) {
        const char *record = chain_data_at(&data, i);
        phx_result result;
        memcpy(&result, record + o.result, sizeof result);
        const char *position = options & CHAIN_IN_PLACE ? record + o.position : record + o.position_out;
        int fine = all_finite(&result.residual, 1);
        if (result.flags & PHX_FLAG_BAD_INPUT) {
            fine = fine && memcmp(position, chain_data_at(&before, i) + o.position, 12 * JOINTS) == 0;
        } else {
            fine = fine && all_finite(position, 3 * JOINTS);
            if (options & CHAIN_BEND) fine = fine && all_finite(record + o.bend, 3);
            if (options & CHAIN_CORRECTION && options & (CHAIN_ROTATION | CHAIN_LOCALS))
                fine = fine && all_finite(record + (options & CHAIN_IN_PLACE && options & CHAIN_ROTATION ? o.rotation : o.rotation_out), 4 * JOINTS) &&
                       all_finite(record + (options & CHAIN_IN_PLACE && options & CHAIN_LOCALS ? o.local : o.local_out), 4 * JOINTS);
        }
        if (options & CHAIN_CORRECTION) fine = fine && all_finite(record + o.correction, 4 * JOINTS);
        if (fine) continue;
        const size_t at = i / BAD_VALUES * 4;
        print_error("%s on %s, options 0x%x: float %zu made %g; flags 0x%x, residual %g\n", name, phx_backend_name(backend), options, at / 4,
                    (double)bad_values[i % BAD_VALUES], result.flags, (double)result.residual);
        fail();
    }
    free(good), chain_data_free(&data), chain_data_free(&before);
}

static void a_bad_number_in_a_chain_stays_there(void **state) {
    (void)state;
    random_state r = random_seeded("bad numbers in chains", 90210);
    static const uint32_t sets[] = {
        0, CHAIN_LENGTH, CHAIN_LENGTH | CHAIN_START | CHAIN_POLE | CHAIN_BEND | CHAIN_REST_BEND | CHAIN_WEIGHT,
        CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_LENGTH | CHAIN_POLE, CHAIN_LOCALS | CHAIN_PARENT | CHAIN_CORRECTION | CHAIN_TIP | CHAIN_WEIGHT,
        CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_START | CHAIN_TIP | CHAIN_BEND | CHAIN_WEIGHT | CHAIN_LENGTH | CHAIN_IN_PLACE,
        CHAIN_SOFT | CHAIN_STRETCH | CHAIN_LENGTH | CHAIN_PLANE | CHAIN_POLE | CHAIN_BEND,
        CHAIN_ROTATION | CHAIN_PARENT | CHAIN_CORRECTION, CHAIN_LOCALS | CHAIN_PARENT | CHAIN_CORRECTION};
    FOR_EACH_BACKEND(backend)
        for (size_t k = 0; k < sizeof sets / sizeof *sets; ++k) {
            poison_chains("fabrik", by_fabrik, backend, sets[k], &r);
            poison_chains("ccd", by_ccd, backend, sets[k], &r);
        }
}

/* A chain given other lengths than its joints show, and no weight: left as animated, and its residual is that of the animated tip. */
static void a_chain_without_weight_says_how_far_it_is(void **state) {
    (void)state;
    static const phx_vec3 joints[4] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {0, 3, 0}}, target = {2, 2, 0};
    static const float lengths[3] = {0.5f, 0.5f, 0.5f}, weight = 0.0f;
    FOR_EACH_BACKEND(backend) {
        phx_vec3 out[4];
        phx_result result;
        phx_chain_job job = phx_chain_job_default();
        job.count = 1, job.joints = 4, job.position = phx_joint_view_of(joints, 0, 12), job.length = phx_joint_view_of(lengths, 0, 4);
        job.target = PHX_VIEW_ONE(&target), job.weight = PHX_VIEW_ONE(&weight);
        job.position_out = phx_joint_view_of(out, sizeof out, 12), job.result = phx_view_of(&result, sizeof result);
        assert_true(by_ccd(backend, 0, &job));
        assert_memory_equal(out, joints, sizeof out);
        assert_float_equal(result.residual, 2.236068f, 1e-5f);
        assert_true(by_fabrik(backend, 0, &job));
        assert_memory_equal(out, joints, sizeof out);
        assert_float_equal(result.residual, 2.236068f, 1e-5f);
    }
}

/* A root that is no use, or so far away that what is relative to it has no digits left: tip and target are as far apart as they are. */
static void residuals_of_bad_input_are_of_tip_and_target(void **state) {
    (void)state;
    static const float spoilt[] = {1e30f, NAN, -INFINITY};
    FOR_EACH_BACKEND(backend) for (int k = 0; k < 3; ++k) {
        phx_vec3 joints[3] = {{0, 0, spoilt[k]}, {0, 1, 0}, {0, 2, 0}}, out[3];
        const phx_vec3 target = {3, 2, 4};
        phx_result result;
        phx_chain_job job = phx_chain_job_default();
        job.count = 1, job.joints = 3, job.position = phx_joint_view_of(joints, 0, 12), job.target = PHX_VIEW_ONE(&target);
        job.position_out = phx_joint_view_of(out, sizeof out, 12), job.result = phx_view_of(&result, sizeof result);
        phx_two_bone_job legs = phx_two_bone_job_default();
        legs.count = 1, legs.root = phx_view_of(joints, 12), legs.mid = phx_view_of(joints + 1, 12), legs.tip = phx_view_of(joints + 2, 12);
        legs.target = PHX_VIEW_ONE(&target), legs.result = phx_view_of(&result, sizeof result);
        static phx_two_bone_block block;
        memset(&block, 0, sizeof block);
        for (int lane = 0; lane < 16; ++lane)
            block.root.z[lane] = spoilt[k], block.mid.y[lane] = 1, block.tip.y[lane] = 2, block.target.x[lane] = 3, block.target.y[lane] = 2, block.target.z[lane] = 4;
        for (int solver = 0; solver < 4; ++solver) {
            memset(&result, 0, sizeof result);
            if (solver == 0) assert_true(by_fabrik(backend, 0, &job));
            if (solver == 1) assert_true(by_ccd(backend, 0, &job));
            if (solver == 2) assert_int_equal(phx_two_bone_solve(backend, &legs), PHX_OK);
            if (solver == 3) {
                const phx_two_bone_params params = phx_two_bone_params_default();
                assert_int_equal(phx_two_bone_solve_blocks(backend, &params, &block, NULL, 1, NULL), PHX_OK);
                result.residual = block.residual.v[15], result.flags = block.flags.v[15];
            }
            assert_int_equal(result.flags, PHX_FLAG_BAD_INPUT);
            assert_float_equal(result.residual, 5, 1e-6f);
        }
    }
}

/* ---- two bones ---- */

typedef struct leg {
    phx_vec3 root, mid, tip, target, pole, rest_bend, bend;
    float weight, pole_weight;
    phx_quat parent, root_local, mid_local, tip_local, target_rotation;
    phx_quat root_out, mid_out, tip_out, root_correction, mid_correction;
    phx_vec3 mid_position, tip_position;
    float stretch;
    phx_result result;
} leg;

static void a_bad_number_in_a_leg_stays_there(void **state) {
    (void)state;
    enum { FLOATS = offsetof(leg, root_out) / 4, COUNT = FLOATS * BAD_VALUES };
    random_state r = random_seeded("bad numbers in legs", 90211);
    leg *legs = malloc(COUNT * sizeof *legs), *before = malloc(COUNT * sizeof *before);
    FOR_EACH_BACKEND(backend)
        for (uint32_t options = 0; options < 32; ++options) {
            leg good;
            memset(&good, 0, sizeof good);
            good.root = (phx_vec3){1, 2, 3}, good.mid = step_along(good.root, random_direction(&r), 0.45f), good.tip = step_along(good.mid, random_direction(&r), 0.4f);
            good.target = step_along(good.root, random_direction(&r), random_float(&r, 0.1f, 1.0f));
            good.pole = random_direction(&r), good.rest_bend = random_direction(&r), good.bend = random_direction(&r);
            good.weight = options & 1 ? 0.7f : 1, good.pole_weight = 0.8f;
            good.parent = random_rotation(&r), good.root_local = random_rotation(&r), good.mid_local = random_rotation(&r), good.tip_local = random_rotation(&r);
            good.target_rotation = random_rotation(&r);
            for (size_t i = 0; i < COUNT; ++i) {
                legs[i] = good;
                memcpy((char *)&legs[i] + i / BAD_VALUES * 4, &bad_values[i % BAD_VALUES], 4);
            }
            memcpy(before, legs, COUNT * sizeof *legs);
            phx_two_bone_job job = phx_two_bone_job_default();
            if (options & 2) job.params.twist = PHX_TWIST_INHERIT;
            if (options & 4) job.params.soft_start = 0.9f, job.params.max_stretch = 1.2f, job.params.max_bend_turn = 0.3f;
            job.count = COUNT;
            job.root = PHX_VIEW(legs, root), job.mid = PHX_VIEW(legs, mid), job.tip = PHX_VIEW(legs, tip), job.target = PHX_VIEW(legs, target);
            job.pole = PHX_VIEW(legs, pole), job.rest_bend = PHX_VIEW(legs, rest_bend), job.bend = PHX_VIEW(legs, bend);
            job.weight = PHX_VIEW(legs, weight), job.pole_weight = PHX_VIEW(legs, pole_weight);
            if (options & 8) {
                job.parent_rotation = PHX_VIEW(legs, parent), job.root_local = PHX_VIEW(legs, root_local), job.mid_local = PHX_VIEW(legs, mid_local);
                job.tip_local = PHX_VIEW(legs, tip_local);
                job.root_local_out = PHX_VIEW(legs, root_out), job.mid_local_out = PHX_VIEW(legs, mid_out), job.tip_local_out = PHX_VIEW(legs, tip_out);
                if (options & 16) job.target_rotation = PHX_VIEW(legs, target_rotation);
            }
            job.root_rotation = PHX_VIEW(legs, root_correction), job.mid_rotation = PHX_VIEW(legs, mid_correction);
            job.mid_position = PHX_VIEW(legs, mid_position), job.tip_position = PHX_VIEW(legs, tip_position), job.stretch = PHX_VIEW(legs, stretch);
            job.result = PHX_VIEW(legs, result);
            assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
            for (size_t i = 0; i < COUNT; ++i) {
                const leg *a = legs + i, *b = before + i;
                int fine = all_finite(&a->result.residual, 1) && all_finite(&a->root_correction, 8) && all_finite(&a->stretch, 1);
                if (a->result.flags & PHX_FLAG_BAD_INPUT) {
                    fine = fine && memcmp(&a->mid_position, &b->mid, 12) == 0 && memcmp(&a->tip_position, &b->tip, 12) == 0;
                    fine = fine && memcmp(&a->bend, &b->bend, 12) == 0;
                    if (options & 8) fine = fine && memcmp(&a->root_out, &b->root_local, 16) == 0 && memcmp(&a->mid_out, &b->mid_local, 16) == 0;
                } else {
                    fine = fine && all_finite(&a->mid_position, 6) && all_finite(&a->bend, 3) && all_finite(&a->root_out, 12);
                }
                if (fine) continue;
                print_error("two_bone on %s, options %u: float %zu made %g; flags 0x%x, residual %g\n", phx_backend_name(backend), options, i / BAD_VALUES,
                            (double)bad_values[i % BAD_VALUES], a->result.flags, (double)a->result.residual);
                fail();
            }
        }
    free(legs), free(before);
}

/* ---- crowds ---- */

static void a_bad_number_in_a_character_stays_there(void **state) {
    (void)state;
    enum { FLOATS = RIG_JOINTS * 10 + 3 + 4 + 1 + 2, COUNT = FLOATS * BAD_VALUES };
    phx_transform *poses = malloc(COUNT * RIG_JOINTS * sizeof *poses), *before = malloc(COUNT * RIG_JOINTS * sizeof *before);
    float *others = malloc(COUNT * 10 * sizeof *others); /* root position and rotation, weight, support */
    FOR_EACH_BACKEND(backend)
        for (int variant = 0; variant < 3; ++variant) { /* plain, scaled, and with the bad frame at PHX_LOD_REPLAY */
            const uint32_t repeats = PHX_CHARACTER_LOD(PHX_LOD_REPLAY);
            phx_crowd_def def = rig_def(backend, COUNT);
            def.scaled = variant == 1, def.replay = variant == 2;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            for (uint32_t f = 0; f < 4; ++f) { /* good, bad, good, good */
                for (uint32_t i = 0; i < COUNT; ++i) {
                    const float given[10] = {(float)i * 0.01f, 0, 2, 0, 0, 0, 1, 1, 1, 0};
                    rig_walk(poses + i * RIG_JOINTS, 0.4f + 0.2f * (float)f);
                    memcpy(others + i * 10, given, sizeof given);
                    if (f != 1) continue;
                    const uint32_t at = i / BAD_VALUES;
                    if (at < RIG_JOINTS * 10) memcpy((char *)(poses + i * RIG_JOINTS) + at * 4, &bad_values[i % BAD_VALUES], 4);
                    else others[i * 10 + at - RIG_JOINTS * 10] = bad_values[i % BAD_VALUES];
                }
                memcpy(before, poses, COUNT * RIG_JOINTS * sizeof *poses);
                phx_crowd_frame frame;
                memset(&frame, 0, sizeof frame);
                frame.count = COUNT, frame.dt = 1.0f / 30, frame.poses = phx_poses_of(poses, RIG_JOINTS);
                frame.root_position = phx_view_of(others, 40), frame.root_rotation = phx_view_of(others + 3, 40);
                frame.weight = phx_view_of(others + 7, 40), frame.support = phx_view_of(others + 8, 40);
                if (variant == 2 && f == 1) frame.flags = PHX_VIEW_ONE(&repeats);
                run_frame(crowd, &frame, ground_hills, NULL);
                for (size_t k = 0; k < (size_t)COUNT * RIG_JOINTS * 10; ++k) {
                    const float *a = (const float *)(const void *)poses + k, *b = (const float *)(const void *)before + k;
                    if (isfinite(*a) || memcmp(a, b, 4) == 0) continue; /* what came in bad may leave so */
                    const size_t i = k / 10 / RIG_JOINTS;
                    print_error("crowd on %s, frame %u: float %zu made %g gives joint %zu a %g\n", phx_backend_name(backend), f, i / BAD_VALUES,
                                (double)bad_values[i % BAD_VALUES], k / 10 % RIG_JOINTS, (double)*a);
                    fail();
                }
                for (uint32_t i = 0; i < COUNT; ++i)
                    for (uint32_t l = 0; l < 2; ++l) {
                        phx_foot_info info;
                        phx_crowd_foot(crowd, i, l, &info);
                        if (all_finite(&info, 13) && isfinite(phx_crowd_pelvis(crowd, i))) continue;
                        print_error("crowd on %s, frame %u: float %u made %g is seen in the state\n", phx_backend_name(backend), f, i / BAD_VALUES,
                                    (double)bad_values[i % BAD_VALUES]);
                        fail();
                    }
            }
            phx_crowd_destroy(crowd);
        }
    free(poses), free(before), free(others);
}

/* A weight that is no number: as animated, flagged, nothing known of it, at every level of detail but off; the frame after starts afresh. */
static void a_weight_that_is_no_number_is_flagged(void **state) {
    (void)state;
    enum { COUNT = 37, BAD = 21 };
    static phx_transform poses[COUNT * RIG_JOINTS], before[COUNT * RIG_JOINTS];
    float weights[COUNT];
    uint32_t flags[COUNT];
    FOR_EACH_BACKEND(backend)
        for (int lod = PHX_LOD_FULL; lod <= PHX_LOD_OFF; ++lod) {
            phx_crowd_def def = rig_def(backend, COUNT);
            def.replay = 1;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            for (uint32_t f = 0; f < 4; ++f) { /* good, bad, good, good */
                for (uint32_t i = 0; i < COUNT; ++i) rig_walk(poses + i * RIG_JOINTS, 0.1f * (float)i + 0.2f * (float)f), weights[i] = 1, flags[i] = 0;
                if (f == 1) weights[BAD] = NAN, flags[BAD] = PHX_CHARACTER_LOD(lod);
                memcpy(before, poses, sizeof poses);
                phx_crowd_frame frame;
                memset(&frame, 0, sizeof frame);
                frame.count = COUNT, frame.dt = 1.0f / 30, frame.poses = phx_poses_of(poses, RIG_JOINTS);
                frame.weight = PHX_VIEW_ARRAY(weights), frame.flags = PHX_VIEW_ARRAY(flags);
                run_frame(crowd, &frame, ground_hills, NULL);
                phx_foot_info info, none;
                phx_crowd_foot(crowd, BAD, 1, &info);
                memset(&none, 0, sizeof none);
                none.flags = lod == PHX_LOD_OFF ? PHX_FLAG_INACTIVE : PHX_FLAG_BAD_INPUT, none.body = PHX_NO_HIT;
                const int same = !memcmp(poses + BAD * RIG_JOINTS, before + BAD * RIG_JOINTS, RIG_JOINTS * sizeof *poses);
                if (f == 1) {
                    assert_true(same);
                    assert_memory_equal(&info, &none, sizeof none);
                    assert_true(phx_crowd_pelvis(crowd, BAD) == 0);
                } else {
                    assert_false(same);
                    assert_int_equal(info.flags & (PHX_FLAG_BAD_INPUT | PHX_FLAG_INACTIVE), 0);
                }
                phx_crowd_foot(crowd, BAD + 1, 1, &info);
                assert_int_equal(info.flags & (PHX_FLAG_BAD_INPUT | PHX_FLAG_INACTIVE), 0);
            }
            phx_crowd_destroy(crowd);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_number_in_a_leg_stays_there),
        cmocka_unit_test(a_bad_number_in_a_chain_stays_there),
        cmocka_unit_test(residuals_of_bad_input_are_of_tip_and_target),
        cmocka_unit_test(a_chain_without_weight_says_how_far_it_is),
        cmocka_unit_test(a_bad_number_in_a_character_stays_there),
        cmocka_unit_test(a_weight_that_is_no_number_is_flagged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
