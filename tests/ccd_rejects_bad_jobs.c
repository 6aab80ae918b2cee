/* What CCD's entry points say to a programmer's mistakes: a status, a sentence that names the field, and not a byte written. */
#include "support.h"

enum { JOINTS = 4, CHAINS = 3 };

typedef struct chain {
    phx_vec3 position[JOINTS], out[JOINTS], start[JOINTS];
    phx_quat rotation[JOINTS], correction[JOINTS];
    float length[JOINTS];
    phx_vec3 target, pole, bend;
    phx_quat target_rotation;
    float weight, stretch;
    uint32_t budget;
    phx_result result;
} chain;

static chain chains[CHAINS];
static phx_limit limits[JOINTS];
static float weights[JOINTS];

static phx_chain_job good_job(void) {
    memset(chains, 0, sizeof chains);
    for (int i = 0; i < CHAINS; ++i)
        for (int j = 0; j < JOINTS; ++j) {
            chains[i].position[j] = (phx_vec3){0, (float)j, 0};
            chains[i].rotation[j] = (phx_quat){0, 0, 0, 1};
            chains[i].target = (phx_vec3){1, 1, 0};
            limits[j] = phx_limit_none(), weights[j] = 1;
        }
    phx_chain_job job = phx_chain_job_default();
#define VIEW(field) phx_joint_view_of(chains->field, sizeof *chains, sizeof chains->field[0])
    job.count = CHAINS, job.joints = JOINTS;
    job.position = VIEW(position), job.position_out = VIEW(out), job.rotation = VIEW(rotation), job.correction = VIEW(correction);
    job.target = PHX_VIEW(chains, target), job.result = PHX_VIEW(chains, result);
    return job;
}

static void expect_rejected(const phx_ccd_params *params, const phx_chain_job *job, phx_status status, const char *word) {
    chain before[CHAINS];
    memcpy(before, chains, sizeof chains);
    phx_report report;
    assert_int_equal(phx_ccd_validate(params, job, &report), status);
    assert_int_equal(report.status, status);
    if (!strstr(report.text, word)) {
        print_error("'%s' does not speak of '%s'\n", report.text, word);
        fail();
    }
    assert_int_equal(phx_ccd_validate(params, job, NULL), status);
    FOR_EACH_BACKEND(backend) assert_int_equal(phx_ccd_solve(backend, params, job, NULL), status);
    assert_int_equal(first_difference(before, chains, sizeof chains), -1);
}

static void a_good_job_is_accepted(void **state) {
    (void)state;
    phx_chain_job job = good_job();
    phx_ccd_params params = phx_ccd_params_default();
    phx_report report;
    assert_int_equal(phx_ccd_validate(&params, &job, &report), PHX_OK);
    assert_int_equal(report.status, PHX_OK);
    assert_int_equal(phx_ccd_solve(phx_backend_best(), &params, &job, NULL), PHX_OK);
    assert_true(chains[CHAINS - 1].result.flags & PHX_FLAG_REACHED);
    job.correction = phx_joint_view_of(chains[0].rotation, 16, 16 * CHAINS); /* all roots, all second joints, ... */
    assert_int_equal(phx_chain_job_validate(&job, NULL), PHX_OK);
    job.correction = phx_joint_view_of(chains[0].rotation, 32, 80); /* joints of a chain between those of others */
    assert_int_equal(phx_chain_job_validate(&job, NULL), PHX_OK);
    job.count = 0;
    assert_int_equal(phx_ccd_solve(phx_backend_best(), &params, &job, NULL), PHX_OK);
}

static void params_out_of_range(void **state) {
    (void)state;
    const phx_chain_job job = good_job();
    expect_rejected(NULL, &job, PHX_ERROR_NULL, "'params'");
    phx_ccd_params params;
#define BAD(change, status, word)           \
    params = phx_ccd_params_default();      \
    change;                                 \
    expect_rejected(&params, &job, status, word)
    BAD(params.mode = (phx_ccd_mode)7, PHX_ERROR_VALUE, "'mode'");
    BAD(params.from = JOINTS - 1, PHX_ERROR_COUNT, "'from'");
    BAD(params.from = UINT32_MAX, PHX_ERROR_COUNT, "'from'");
    BAD(params.damping = 0, PHX_ERROR_VALUE, "'damping'");
    BAD(params.damping = 9.9e-4f, PHX_ERROR_VALUE, "'damping'");
    BAD(params.max_turn = 9.9e-5f, PHX_ERROR_VALUE, "'max_turn'");
    BAD(params.damping = 1.01f, PHX_ERROR_VALUE, "'damping'");
    BAD(params.damping = NAN, PHX_ERROR_VALUE, "'damping'");
    BAD(params.max_turn = 0, PHX_ERROR_VALUE, "'max_turn'");
    BAD(params.max_turn = 4, PHX_ERROR_VALUE, "'max_turn'");
    BAD(params.max_turn = NAN, PHX_ERROR_VALUE, "'max_turn'");
    BAD(params.restarts = 9, PHX_ERROR_COUNT, "'restarts'");
    BAD(params.chain.twist = PHX_TWIST_PLANE, PHX_ERROR_VALUE, "'twist'");
    BAD(params.chain.twist = (phx_twist)9, PHX_ERROR_VALUE, "'twist'");
    BAD(params.chain.tolerance = -1e-9f, PHX_ERROR_VALUE, "'tolerance'");
    BAD(params.chain.tolerance = NAN, PHX_ERROR_VALUE, "'tolerance'");
    BAD(params.chain.direction_tolerance = 0, PHX_ERROR_VALUE, "'direction_tolerance'");
    BAD(params.chain.max_iterations = 0, PHX_ERROR_VALUE, "'max_iterations'");
    BAD(params.chain.max_iterations = 1025, PHX_ERROR_VALUE, "'max_iterations'");
    BAD(params.chain.soft_start = 0, PHX_ERROR_VALUE, "'soft_start'");
    BAD(params.chain.max_stretch = 0.5f, PHX_ERROR_VALUE, "'max_stretch'");
#undef BAD
}

static void jobs_that_lack_or_misstate_something(void **state) {
    (void)state;
    const phx_ccd_params params = phx_ccd_params_default();
    phx_chain_job job;
#define BAD(change, status, word) \
    job = good_job();             \
    change;                       \
    expect_rejected(&params, &job, status, word)
    BAD(job.joints = 0, PHX_ERROR_COUNT, "'joints'");
    BAD(job.joints = 1, PHX_ERROR_COUNT, "'joints'");
    BAD(job.joints = PHX_CHAIN_MAX_JOINTS + 1, PHX_ERROR_COUNT, "'joints'");
    BAD(job.count = SIZE_MAX, PHX_ERROR_COUNT, "'count'");
    BAD(job.position.data = NULL, PHX_ERROR_NULL, "'position'");
    BAD(job.target.data = NULL, PHX_ERROR_NULL, "'target'");
    BAD(job.position.joint_stride = 8, PHX_ERROR_STRIDE, "'position'");
    BAD(job.correction.joint_stride = 12, PHX_ERROR_STRIDE, "'correction'");
    BAD(job.position_out.chain_stride = 0, PHX_ERROR_STRIDE, "'position_out'");
    BAD((job.correction = phx_joint_view_of(chains, 63, 16)), PHX_ERROR_OVERLAP, "'correction'");
    BAD((job.correction = phx_joint_view_of(chains, 20, 50)), PHX_ERROR_OVERLAP, "'correction'");
    BAD(job.target.stride = 8, PHX_ERROR_STRIDE, "'target'");
    for (size_t k = 0; k < 3; ++k) { /* beyond all memory */
        const size_t beyond[3] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2};
        BAD(job.position_out.joint_stride = beyond[k], PHX_ERROR_STRIDE, "'position_out'");
        BAD(job.position_out.chain_stride = beyond[k], PHX_ERROR_STRIDE, "'position_out'");
        BAD(job.position.joint_stride = beyond[k], PHX_ERROR_STRIDE, "'position'");
        BAD(job.correction.chain_stride = beyond[k], PHX_ERROR_STRIDE, "'correction'");
        BAD(job.target.stride = beyond[k], PHX_ERROR_STRIDE, "'target'");
        BAD(job.result.stride = beyond[k], PHX_ERROR_STRIDE, "'result'");
    }
    BAD(job.result.stride = 0, PHX_ERROR_STRIDE, "'result'");
    BAD((job.limits = limits, job.rotation.data = NULL), PHX_ERROR_NULL, "'rotation'");
    BAD((job.local = job.rotation), PHX_ERROR_VALUE, "'local'");
    BAD((limits[1] = phx_limit_hinge((phx_vec3){0, 0, 0}, 0, 1), job.limits = limits), PHX_ERROR_VALUE, "limits[1]");
    BAD((limits[2] = phx_limit_hinge((phx_vec3){1, 0, 0}, 1, 0), job.limits = limits), PHX_ERROR_VALUE, "limits[2]");
    BAD((limits[2] = phx_limit_hinge((phx_vec3){1, 0, 0}, NAN, 0), job.limits = limits), PHX_ERROR_VALUE, "limits[2]");
    BAD((limits[3] = phx_limit_cone((phx_vec3){1, 0, 0}, 4), job.limits = limits), PHX_ERROR_VALUE, "limits[3]");
    BAD((weights[2] = -1, job.joint_weights = weights), PHX_ERROR_VALUE, "joint_weights[2]");
    BAD((weights[0] = NAN, job.joint_weights = weights), PHX_ERROR_VALUE, "joint_weights[0]");
#undef BAD
    expect_rejected(&params, NULL, PHX_ERROR_NULL, "NULL");
    job = good_job();
    assert_int_equal(phx_ccd_solve(NULL, &params, &job, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_ccd_solve_range(phx_backend_best(), &params, &job, 1, 1, NULL), PHX_ERROR_COUNT);
    assert_int_equal(phx_ccd_solve_range(phx_backend_best(), &params, &job, 0, 2, NULL), PHX_ERROR_COUNT);
    assert_int_equal(phx_ccd_solve_range(phx_backend_best(), &params, &job, 0, 0, NULL), PHX_OK);
}

static void blocks_that_lack_or_misstate_something(void **state) {
    (void)state;
    static phx_rows3 position[JOINTS], target[1];
    static phx_rows4 rotation[JOINTS];
    const phx_ccd_params params = phx_ccd_params_default();
    phx_ccd_params wrong = params;
    wrong.from = 3;
    phx_chain_blocks good;
    memset(&good, 0, sizeof good);
    good.count = 1, good.joints = JOINTS, good.position = position, good.target = target;
    const phx_backend *backend = phx_backend_best();
    assert_int_equal(phx_ccd_solve_blocks(backend, &params, &good, NULL), PHX_OK); /* all zero: chains without length */
    phx_report report;
    phx_chain_blocks bad;
#define BAD(params, change, status, word)                                                \
    bad = good;                                                                          \
    change;                                                                              \
    assert_int_equal(phx_ccd_solve_blocks(backend, params, &bad, &report), status);      \
    assert_non_null(strstr(report.text, word))
    BAD(NULL, (void)0, PHX_ERROR_NULL, "'params'");
    BAD(&wrong, (void)0, PHX_ERROR_COUNT, "'from'");
    BAD(&params, bad.joints = 1, PHX_ERROR_COUNT, "'joints'");
    BAD(&params, bad.position = NULL, PHX_ERROR_NULL, "'position'");
    BAD(&params, bad.target = NULL, PHX_ERROR_NULL, "'target'");
    BAD(&params, bad.target = (const phx_rows3 *)(const void *)((const char *)target + 4), PHX_ERROR_ALIGN, "'target'");
    BAD(&params, bad.limits = limits, PHX_ERROR_NULL, "'rotation'");
    BAD(&params, bad.target_rotation = rotation, PHX_ERROR_NULL, "'rotation'");
#undef BAD
    assert_int_equal(phx_ccd_solve_blocks(NULL, &params, &good, &report), PHX_ERROR_NULL);
    assert_int_equal(phx_ccd_solve_blocks(backend, &params, NULL, &report), PHX_ERROR_NULL);
}

/* Random layouts of an input and an output over one array, joints and chains anywhere: refused exactly where some byte of the output is also
 * a byte of another element, found by marking every byte. */
static void outputs_on_other_elements_are_refused(void **state) {
    (void)state;
    enum { ARRAY = 20000 };
    static char array[ARRAY];
    static int16_t owner[ARRAY];
    random_state r = random_seeded("overlapping chains", 0x0E1AB);
    phx_vec3 target = {1, 0, 0};
    uint32_t refused = 0, taken = 0;
    for (int round = 0; round < 20000; ++round) {
        phx_chain_job job = phx_chain_job_default();
        job.count = 1 + random_below(&r, 5), job.joints = 2 + random_below(&r, 6);
        const size_t kinds[] = {12, 16, 28, 40, 48}, joint = kinds[random_below(&r, 5)];
        const size_t block = joint * job.joints, chain = random_below(&r, 4) ? block + 4 * random_below(&r, (uint32_t)block) : 12 + 4 * random_below(&r, 60);
        size_t places[2];
        for (int k = 0; k < 2; ++k) places[k] = 4 * random_below(&r, random_below(&r, 2) ? 10 : 300);
        if (random_below(&r, 8) == 0) places[1] = places[0];
        job.position = phx_joint_view_of(array + places[0], chain, joint), job.position_out = phx_joint_view_of(array + places[1], chain, joint);
        job.target = PHX_VIEW_ONE(&target);
        memset(owner, -1, sizeof owner);
        int collides = 0, itself = 0;
        for (size_t c = 0; c < job.count; ++c)
            for (uint32_t j = 0; j < job.joints; ++j)
                for (size_t byte = 0; byte < 12; ++byte) {
                    int16_t *at = owner + places[1] + c * chain + j * joint + byte;
                    itself |= *at >= 0, *at = (int16_t)(c * job.joints + j);
                }
        if (itself) continue; /* refused for another reason */
        for (size_t c = 0; c < job.count; ++c)
            for (uint32_t j = 0; j < job.joints; ++j)
                for (size_t byte = 0; byte < 12; ++byte) {
                    const int16_t at = owner[places[0] + c * chain + j * joint + byte];
                    collides |= at >= 0 && (at != (int16_t)(c * job.joints + j) || places[0] != places[1]);
                }
        phx_report report;
        const phx_status wanted = collides ? PHX_ERROR_OVERLAP : PHX_OK, status = phx_chain_job_validate(&job, &report);
        if (status != wanted || (collides && !strstr(report.text, "'position_out' overlaps 'position' of another joint"))) {
            print_error("round %d, %zu chains of %u, strides %zu %zu, at %zu and %zu: wanted %d, got %d: %s\n", round, job.count, job.joints, chain, joint,
                        places[0], places[1], (int)wanted, (int)status, report.text);
            fail();
        }
        if (collides) ++refused; else ++taken;
    }
    assert_true(refused > 1000 && taken > 1000);

    /* two outputs, and outputs of one value a chain */
    phx_chain_job job = phx_chain_job_default();
    phx_report report;
    job.count = 4, job.joints = 3, job.position = phx_joint_view_of(array, 36, 12), job.target = PHX_VIEW_ONE(&target);
    job.local = phx_joint_view_of(array + 4000, 48, 16), job.local_out = phx_joint_view_of(array + 8000, 48, 16);
    assert_int_equal(phx_chain_job_validate(&job, &report), PHX_OK);
    job.rotation_out = job.local_out;
    assert_int_equal(phx_chain_job_validate(&job, &report), PHX_ERROR_OVERLAP);
    assert_non_null(strstr(report.text, "'rotation_out' overlaps 'local_out' of the same or another joint"));
    memset(&job.rotation_out, 0, sizeof job.rotation_out);
    job.bend = phx_view_of(array + 12000, 12), job.pole = phx_view_of(array + 12004, 12);
    assert_int_equal(phx_chain_job_validate(&job, &report), PHX_ERROR_OVERLAP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_job_is_accepted),
        cmocka_unit_test(params_out_of_range),
        cmocka_unit_test(outputs_on_other_elements_are_refused),
        cmocka_unit_test(jobs_that_lack_or_misstate_something),
        cmocka_unit_test(blocks_that_lack_or_misstate_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
