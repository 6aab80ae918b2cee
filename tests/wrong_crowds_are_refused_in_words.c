/* Definitions, frames, poses and legs that are wrong in one field: refused with a status and a sentence that names the field; nothing is made,
 * nothing is written. Right before, so that nothing but that field can be the reason. */
#include "crowd_rig.h"

static void refused(phx_status wanted, const phx_report *report, phx_status got, const char *field) {
    if (got == wanted && report->status == wanted && strstr(report->text, field)) return;
    print_error("wanted status %d and '%s', got %d: %s\n", (int)wanted, field, (int)got, report->text);
    fail();
}
static void *allocate(void *context, size_t size, size_t alignment) { return (void)context, (void)size, (void)alignment, NULL; }

static void definitions(void **state) {
    (void)state;
    static const struct {
        const char *field;
        phx_status status;
    } cases[] = {{"'capacity' is 0", PHX_ERROR_COUNT},      {"'capacity' is 16777217", PHX_ERROR_COUNT}, {"'leg_count' is 0", PHX_ERROR_COUNT},
                 {"'leg_count' is 9", PHX_ERROR_COUNT},     {"share a joint", PHX_ERROR_HIERARCHY},      {"'exit_height'", PHX_ERROR_VALUE},
                 {"'allocator' has only one", PHX_ERROR_NULL},
                 {"'legs[1]' hangs below the hip of 'legs[0]', joint 4", PHX_ERROR_HIERARCHY},
                 {"'legs[0]' hangs below the hip of 'legs[1]', joint 4", PHX_ERROR_HIERARCHY},
                 {"'legs[1]' hangs below the hip of 'legs[0]', joint 1", PHX_ERROR_HIERARCHY}};
    uint16_t parents[RIG_JOINTS];
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); ++k) {
        phx_crowd_def def = rig_def(NULL, 20);
        phx_report report;
        phx_crowd *crowd = phx_crowd_create(&def, &report);
        assert_non_null(crowd);
        phx_crowd_destroy(crowd);
        if (k == 0) def.capacity = 0;
        if (k == 1) def.capacity = (1u << 24) + 1;
        if (k == 2) def.leg_count = 0;
        if (k == 3) def.leg_count = PHX_MAX_LEGS + 1;
        if (k == 4) def.legs[1] = def.legs[0];
        if (k == 5) def.params.enter_height = 0.1f, def.params.exit_height = 0.05f;
        if (k == 6) def.allocator.allocate = allocate;
        memcpy(parents, rig_parents, sizeof parents), def.skeleton.parents = parents;
        if (k == 7) parents[9] = 4;             /* below the other hip */
        if (k == 8) parents[9] = 4, def.legs[2] = def.legs[0], def.legs[0] = def.legs[1], def.legs[1] = def.legs[2];
        if (k == 9) def.legs[0].hip = RIG_HIPS; /* the pelvis itself, above the other hip */
        assert_null(phx_crowd_create(&def, &report));
        refused(cases[k].status, &report, report.status, cases[k].field);
    }
}

/* Gives memory `off` bytes past a multiple of 64, from its `from`th request on. */
typedef struct careless {
    size_t off;
    int from, requests, open;
} careless;
static void *allocate_carelessly(void *context, size_t size, size_t alignment) {
    careless *c = context;
    assert_int_equal(alignment, 64);
    char *memory = aligned_alloc(64, (size + 127) / 64 * 64);
    ++c->open;
    return memory + (c->requests++ >= c->from ? c->off : 0);
}
static void release_carelessly(void *context, void *memory) {
    --((careless *)context)->open;
    free((void *)((uintptr_t)memory / 64 * 64));
}

/* Rows lie at multiples of 64 bytes: memory that does not is given back, whichever request it was for. */
static void allocators_that_ignore_alignment(void **state) {
    (void)state;
    static const size_t offsets[] = {0, 8, 16, 32};
    for (int k = 0; k < 4; ++k)
        for (int from = 0; from < 2; ++from) {
            careless c = {offsets[k], from, 0, 0};
            phx_crowd_def def = rig_def(NULL, 20);
            def.allocator = (phx_allocator){allocate_carelessly, release_carelessly, &c};
            phx_report report;
            phx_crowd *crowd = phx_crowd_create(&def, &report);
            if (offsets[k] == 0) assert_non_null(crowd);
            else assert_null(crowd), refused(PHX_ERROR_ALIGN, &report, report.status, "'allocator.allocate'");
            if (offsets[k]) assert_non_null(strstr(report.text, "multiple of 64"));
            phx_crowd_destroy(crowd);
            assert_int_equal(c.open, 0);
        }
}

static void frames_and_poses(void **state) {
    (void)state;
    enum { CHARACTERS = 20 };
    static PHX_ALIGN_64 float rows[2 * RIG_JOINTS * 160 + 16];
    static phx_transform poses[CHARACTERS * RIG_JOINTS], before[CHARACTERS * RIG_JOINTS];
    for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses + i * RIG_JOINTS, (float)i);
    memcpy(before, poses, sizeof poses);
    phx_crowd_def def = rig_def(NULL, CHARACTERS);
    def.workspaces = 2, def.scaled = 1;
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    assert_non_null(crowd);
    assert_int_equal(phx_crowd_tiles(crowd), 1);
    assert_int_equal(phx_crowd_tiles(NULL), 0);
    static const struct {
        const char *field;
        phx_status status;
    } cases[] = {{"'worker' is 2", PHX_ERROR_COUNT},           {"rows do not start at multiples of 64", PHX_ERROR_ALIGN}, {"'poses.joint_stride' is 576", PHX_ERROR_STRIDE},
                 {"'poses.rotation_offset'", PHX_ERROR_OVERLAP}, {"'poses.scale_offset'", PHX_ERROR_OVERLAP},               {"'poses.joint_stride' is 36", PHX_ERROR_STRIDE},
                 {"'poses.character_stride' is 8", PHX_ERROR_STRIDE}};
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); ++k) {
        phx_crowd_frame frame;
        phx_report report;
        memset(&frame, 0, sizeof frame);
        frame.count = CHARACTERS, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(poses, RIG_JOINTS);
        assert_int_equal(phx_crowd_validate(crowd, &frame, &report), PHX_OK);
        if (k == 1 || k == 2) frame.poses = (phx_poses){PHX_POSE_ROWS, rows, RIG_JOINTS * 640, 640, 0, 0, 0};
        assert_int_equal(phx_crowd_validate(crowd, &frame, &report), PHX_OK);
        if (k == 0) frame.worker = 2;
        if (k == 1) frame.poses.data = rows + 4;
        if (k == 2) frame.poses.joint_stride = 576;
        if (k == 3) frame.poses.rotation_offset = 8;
        if (k == 4) frame.poses.scale_offset = 24;
        if (k == 5) frame.poses.joint_stride = 36;
        if (k == 6) frame.poses.character_stride = 8;
        refused(cases[k].status, &report, phx_crowd_validate(crowd, &frame, &report), cases[k].field);
        if (k != 4) assert_null(phx_crowd_prepare(crowd, &frame, 0).blocks);
        assert_memory_equal(poses, before, sizeof poses);
    }
    phx_crowd_destroy(crowd);

    static PHX_ALIGN_64 char workspace[1 << 16];
    static phx_vec3 places[CHARACTERS * RIG_JOINTS];
    phx_fk_job fk;
    phx_report report;
    memset(&fk, 0, sizeof fk);
    fk.skeleton = &def.skeleton, fk.count = CHARACTERS, fk.poses = (phx_poses){PHX_POSE_ROWS, rows, RIG_JOINTS * 640, 640, 0, 0, 0};
    fk.positions = phx_view_of(places, RIG_JOINTS * sizeof *places);
    assert_in_range(phx_fk_workspace_size(&fk), 1, sizeof workspace);
    assert_int_equal(phx_fk_solve(phx_backend_best(), &fk, 16, 4, workspace, &report), PHX_OK);
    refused(PHX_ERROR_COUNT, &report, phx_fk_solve(phx_backend_best(), &fk, 3, 4, workspace, &report), "'first' is 3");
}

/* Offsets and strides that wrap, or by which even two elements lie beyond all memory, in both layouts. */
static void frames_beyond_all_memory(void **state) {
    (void)state;
    static PHX_ALIGN_64 float rows[RIG_JOINTS * 160];
    static phx_transform poses[RIG_JOINTS];
    phx_crowd_def def = rig_def(NULL, 20);
    def.scaled = 1;
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    static const char *const words[] = {"'poses.translation_offset' is", "'poses.rotation_offset' is", "'poses.scale_offset' is", "'poses' has joint stride",
                                        "'poses' has character stride", "'root_position' has stride", "'support' has stride"};
    static const size_t values[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 15, SIZE_MAX - 63, SIZE_MAX / 2, SIZE_MAX / 2 - 63};
    for (int field = 0; field < 7; ++field)
        for (int v = 0; v < 6; ++v)
            for (uint32_t count = 1; count <= 20; count += 19)
                for (int in_rows = 0; in_rows < 2; ++in_rows) {
                    if (in_rows && (field < 3 || (field < 5 && (values[v] + 64) % 64))) continue; /* rows have no offsets, and strides of 64 */
                    phx_crowd_frame frame;
                    phx_report report;
                    memset(&frame, 0, sizeof frame);
                    frame.count = count, frame.poses = phx_poses_of(poses, RIG_JOINTS);
                    if (in_rows) frame.poses = (phx_poses){PHX_POSE_ROWS, rows, RIG_JOINTS * 640, 640, 0, 0, 0};
                    frame.root_position = phx_view_of(poses, 12), frame.support = phx_view_of(poses, 8);
                    assert_int_equal(phx_crowd_validate(crowd, &frame, &report), PHX_OK);
                    size_t *const fields[] = {&frame.poses.translation_offset, &frame.poses.rotation_offset, &frame.poses.scale_offset, &frame.poses.joint_stride,
                                              &frame.poses.character_stride, &frame.root_position.stride, &frame.support.stride};
                    *fields[field] = values[v];
                    char wanted[80];
                    snprintf(wanted, sizeof wanted, "%s %llu", words[field], (unsigned long long)values[v]);
                    refused(field < 3 ? PHX_ERROR_VALUE : PHX_ERROR_STRIDE, &report, phx_crowd_validate(crowd, &frame, &report), wanted);
                    assert_null(phx_crowd_prepare(crowd, &frame, 0).blocks);
                    assert_int_equal(phx_crowd_solve(crowd, &frame, 0), field < 3 ? PHX_ERROR_VALUE : PHX_ERROR_STRIDE);
                }
    phx_crowd_destroy(crowd);
}

/* A knee that is bent says where it points; one straight within a degree must be told, or keeps what it knows. */
static void legs(void **state) {
    (void)state;
    const phx_quat none[4] = {{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}};
    const phx_vec3 up = {0, 1, 0}, ahead = {0, 0, 2};
    for (int bent = 0; bent < 2; ++bent) {
        const phx_vec3 joints[4] = {{0, 0.9f, 0}, {0, 0.5f, bent ? 0.1f : 0.001f}, {0, 0.1f, 0}, {0, 0.05f, 0.1f}};
        phx_leg leg = {.hip = 0, .knee = 1, .ankle = 2, .ball = 3};
        phx_report report;
        const phx_status status = phx_leg_measure(&leg, joints, none, up, 0, NULL, &report);
        if (!bent) {
            refused(PHX_ERROR_VALUE, &report, status, "say which way it points");
            leg.knee_forward = (phx_vec3){1, 0, 0};
            assert_int_equal(phx_leg_measure(&leg, joints, none, up, 0, NULL, &report), PHX_OK);
            assert_true(leg.knee_forward.x == 1 && leg.knee_forward.z == 0);
        } else { /* forward, at right angles to a thigh that leans by atan(1/4) */
            assert_int_equal(status, PHX_OK);
            assert_true(fabsf(leg.knee_forward.z - 0.970143f) < 1e-5f && fabsf(leg.knee_forward.y - 0.242536f) < 1e-5f);
        }
        assert_int_equal(phx_leg_measure(&leg, joints, none, up, 0, &ahead, &report), PHX_OK);
        assert_true(leg.knee_forward.z > 0.97f && fabsf(leg.knee_forward.x) < 1e-6f);
        assert_true(fabsf(leg.heel_offset.y + 0.1f) < 1e-6f && fabsf(leg.ball_offset.y + 0.05f) < 1e-6f);
    }
}

/* what is not there, or no number, in the pose that a leg is measured from */
static void measured_legs(void **state) {
    (void)state;
    static const struct {
        const char *field;
        phx_status status;
    } cases[] = {{"'hip' is PHX_NO_JOINT", PHX_ERROR_COUNT},         {"'knee' is PHX_NO_JOINT", PHX_ERROR_COUNT},      {"'ankle' is PHX_NO_JOINT", PHX_ERROR_COUNT},
                 {"'ground_height' is nan", PHX_ERROR_VALUE},        {"'ground_height' is 1e+30", PHX_ERROR_VALUE},    {"'positions[2]' of the ankle", PHX_ERROR_VALUE},
                 {"'rotations[2]' of the ankle", PHX_ERROR_VALUE},   {"'rotations[3]' of the ball", PHX_ERROR_VALUE}, {"'forward' has no direction", PHX_ERROR_VALUE}};
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); ++k) {
        phx_quat rotations[4] = {{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}};
        phx_vec3 joints[4] = {{0, 0.9f, 0}, {0, 0.5f, 0.1f}, {0, 0.1f, 0}, {0, 0.05f, 0.1f}}, ahead = {0, 0, 1};
        const phx_vec3 up = {0, 1, 0};
        phx_leg leg = {.hip = 0, .knee = 1, .ankle = 2, .ball = 3};
        float ground = 0;
        phx_report report;
        assert_int_equal(phx_leg_measure(&leg, joints, rotations, up, ground, &ahead, &report), PHX_OK);
        if (k == 0) leg.hip = PHX_NO_JOINT;
        if (k == 1) leg.knee = PHX_NO_JOINT;
        if (k == 2) leg.ankle = PHX_NO_JOINT;
        if (k == 3) ground = NAN;
        if (k == 4) ground = 1e30f;
        if (k == 5) joints[2].y = NAN;
        if (k == 6) rotations[2].w = INFINITY;
        if (k == 7) rotations[3].x = NAN;
        if (k == 8) ahead.z = NAN;
        const phx_leg given = leg;
        refused(cases[k].status, &report, phx_leg_measure(&leg, joints, rotations, up, ground, &ahead, &report), cases[k].field);
        assert_memory_equal(&leg, &given, sizeof leg);
    }
}

static void chain_jobs(void **state) {
    (void)state;
    phx_vec3 joints[3] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}}, target = {1, 1, 0};
    phx_chain_job job = phx_chain_job_default();
    job.count = 1, job.joints = 3, job.position = phx_joint_view_of(joints, sizeof joints, 12), job.target = PHX_VIEW_ONE(&target);
    phx_fabrik_params fabrik = phx_fabrik_params_default();
    const phx_aim_params aim = phx_aim_params_default();
    phx_report report;
    assert_int_equal(phx_fabrik_validate(&fabrik, &job, &report), PHX_OK);
    refused(PHX_ERROR_NULL, &report, phx_aim_validate(&aim, &job, &report), "'rotation' or 'local'");
    fabrik.chain.tolerance = -1;
    refused(PHX_ERROR_VALUE, &report, phx_fabrik_validate(&fabrik, &job, &report), "'tolerance'");
    fabrik = phx_fabrik_params_default(), job.target.data = NULL;
    refused(PHX_ERROR_NULL, &report, phx_fabrik_validate(&fabrik, &job, &report), "'target'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions),
        cmocka_unit_test(allocators_that_ignore_alignment),
        cmocka_unit_test(frames_and_poses),
        cmocka_unit_test(frames_beyond_all_memory),
        cmocka_unit_test(legs),
        cmocka_unit_test(measured_legs),
        cmocka_unit_test(chain_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
