/* Skeletons, chains and forward kinematics: every refusal in words, every backend and layout the same bits, and the bits right
 * against double precision, for skeletons of any shape. */
#include "support.h"

static const uint16_t tree[8] = {PHX_NO_JOINT, 0, 1, 2, 1, 4, PHX_NO_JOINT, 6};

static void wrong_hierarchies_are_named(void **state) {
    (void)state;
    phx_report report;
    phx_skeleton skeleton = {8, tree};
    assert_int_equal(phx_skeleton_validate(&skeleton, &report), PHX_OK);
    assert_int_equal(phx_skeleton_validate(NULL, &report), PHX_ERROR_NULL);
    skeleton.parents = NULL;
    assert_int_equal(phx_skeleton_validate(&skeleton, &report), PHX_ERROR_NULL);
    skeleton = (phx_skeleton){0, tree};
    assert_int_equal(phx_skeleton_validate(&skeleton, &report), PHX_ERROR_COUNT);
    skeleton.joint_count = 65536;
    assert_int_equal(phx_skeleton_validate(&skeleton, &report), PHX_ERROR_COUNT);
    const uint16_t unordered[3] = {PHX_NO_JOINT, 2, 0}, cyclic[3] = {PHX_NO_JOINT, 1, 0};
    skeleton = (phx_skeleton){3, unordered};
    assert_int_equal(phx_skeleton_validate(&skeleton, &report), PHX_ERROR_HIERARCHY);
    assert_non_null(strstr(report.text, "joint 1"));
    skeleton.parents = cyclic;
    assert_int_equal(phx_skeleton_validate(&skeleton, &report), PHX_ERROR_HIERARCHY);
}

static void chains_are_found_by_walking_parents(void **state) {
    (void)state;
    const phx_skeleton skeleton = {8, tree};
    uint16_t joints[8];
    uint32_t count = 0;
    phx_report report;
    assert_int_equal(phx_chain_joints(&skeleton, 0, 3, joints, 8, &count, &report), PHX_OK);
    assert_int_equal(count, 4);
    for (uint16_t k = 0; k < 4; ++k) assert_int_equal(joints[k], k);
    assert_int_equal(phx_chain_joints(&skeleton, 1, 5, NULL, 0, &count, &report), PHX_OK);
    assert_int_equal(count, 3);
    assert_int_equal(phx_chain_joints(&skeleton, 3, 0, joints, 8, &count, &report), PHX_ERROR_HIERARCHY);
    assert_non_null(strstr(report.text, "swap"));
    assert_int_equal(phx_chain_joints(&skeleton, 4, 3, joints, 8, &count, &report), PHX_ERROR_HIERARCHY);
    assert_int_equal(phx_chain_joints(&skeleton, 0, 7, joints, 8, &count, &report), PHX_ERROR_HIERARCHY);
    assert_int_equal(phx_chain_joints(&skeleton, 2, 2, joints, 8, &count, &report), PHX_ERROR_HIERARCHY);
    assert_int_equal(phx_chain_joints(&skeleton, 8, 3, joints, 8, &count, &report), PHX_ERROR_COUNT);
    assert_int_equal(phx_chain_joints(&skeleton, 0, 9, joints, 8, &count, &report), PHX_ERROR_COUNT);
    assert_int_equal(phx_chain_joints(&skeleton, 0, 3, joints, 3, &count, &report), PHX_ERROR_COUNT);
    assert_non_null(strstr(report.text, "capacity"));
    assert_int_equal(phx_chain_joints(&skeleton, 0, 3, joints, 8, NULL, &report), PHX_ERROR_NULL);
}

typedef struct pose_set {
    uint32_t joints, characters;
    uint16_t *parents;
    phx_transform *locals;
    phx_vec3 *roots;
    phx_quat *turns;
} pose_set;

static pose_set random_poses(random_state *r, uint32_t joints, uint32_t characters, int scaled) {
    pose_set p = {joints, characters, calloc(joints, sizeof *p.parents), calloc((size_t)joints * characters + 1, sizeof *p.locals),
                  calloc(characters + 1, sizeof *p.roots), calloc(characters + 1, sizeof *p.turns)};
    for (uint32_t j = 0; j < joints; ++j) p.parents[j] = j == 0 || random_below(r, 12) == 0 ? PHX_NO_JOINT : (uint16_t)random_below(r, j);
    for (uint32_t c = 0; c < characters; ++c) {
        p.roots[c] = (phx_vec3){random_float(r, -50, 50), random_float(r, -1, 1), random_float(r, -50, 50)};
        p.turns[c] = random_rotation(r);
        for (uint32_t j = 0; j < joints; ++j) {
            phx_transform *t = p.locals + (size_t)c * joints + j;
            const float s = scaled ? random_float(r, 0.8f, 1.25f) : 1.0f;
            *t = (phx_transform){{random_float(r, -0.3f, 0.3f), random_float(r, -0.3f, 0.3f), random_float(r, -0.3f, 0.3f)}, random_rotation(r), {s, s, s}};
        }
    }
    return p;
}
static void free_poses(pose_set p) { free(p.parents), free(p.locals), free(p.roots), free(p.turns); }

static void rotate(const double q[4], const double v[3], double out[3]) {
    const double t[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]), 2 * (q[0] * v[1] - q[1] * v[0])};
    out[0] = v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1];
    out[1] = v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2];
    out[2] = v[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0];
}
static void multiply(const double a[4], const double b[4], double out[4]) {
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2];
    out[2] = a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

/* double precision, one character: positions and rotations of all joints */
static void model(const pose_set *p, uint32_t c, double (*place)[3], double (*turn)[4], double *scale) {
    for (uint32_t j = 0; j < p->joints; ++j) {
        const phx_transform *t = p->locals + (size_t)c * p->joints + j;
        const uint16_t parent = p->parents[j];
        const double root[4] = {p->turns[c].x, p->turns[c].y, p->turns[c].z, p->turns[c].w};
        const double local[4] = {t->rotation.x, t->rotation.y, t->rotation.z, t->rotation.w};
        const double *above = parent == PHX_NO_JOINT ? root : turn[parent], up = parent == PHX_NO_JOINT ? 1 : scale[parent];
        const double offset[3] = {t->translation.x * up, t->translation.y * up, t->translation.z * up};
        double moved[3];
        rotate(above, offset, moved);
        const double origin[3] = {p->roots[c].x, p->roots[c].y, p->roots[c].z};
        for (int k = 0; k < 3; ++k) place[j][k] = (parent == PHX_NO_JOINT ? origin[k] : place[parent][k]) + moved[k];
        multiply(above, local, turn[j]);
        scale[j] = up * t->scale.x;
    }
}

static void every_backend_and_layout_agrees_and_is_right(void **state) {
    (void)state;
    random_state r = random_seeded("forward kinematics", 0xF0);
    for (uint32_t round = 0; round < 60; ++round) {
        const uint32_t joints = 1 + random_below(&r, 40), characters = round < 34 ? round : random_below(&r, 100);
        const int scaled = (int)(round % 2);
        pose_set p = random_poses(&r, joints, characters, scaled);
        uint16_t some[40];
        uint32_t wanted = 0;
        for (uint16_t j = 0; j < joints; ++j)
            if (random_below(&r, 2)) some[wanted++] = j;
        const int all = wanted == 0;
        if (all) wanted = joints;
        const phx_skeleton skeleton = {joints, p.parents};
        const size_t places_size = (size_t)characters * wanted * sizeof(phx_vec3), turns_size = (size_t)characters * wanted * sizeof(phx_quat);
        phx_vec3 *first_places = NULL;
        phx_quat *first_turns = NULL;
        float *rows = aligned_alloc(64, (size_t)(characters / 16 + 1) * joints * 640);
        memset(rows, 0, (size_t)(characters / 16 + 1) * joints * 640);
        for (uint32_t c = 0; c < characters; ++c)
            for (uint32_t j = 0; j < joints; ++j)
                for (uint32_t k = 0; k < 10; ++k)
                    rows[((size_t)(c / 16) * joints + j) * 160 + k * 16 + c % 16] = ((const float *)&p.locals[(size_t)c * joints + j])[k];
        FOR_EACH_BACKEND(backend) for (int layout = 0; layout < 2; ++layout) {
            phx_vec3 *places = malloc(places_size + 1);
            phx_quat *turns = malloc(turns_size + 1);
            memset(places, 0xA5, places_size), memset(turns, 0xA5, turns_size);
            phx_fk_job job;
            memset(&job, 0, sizeof job);
            job.skeleton = &skeleton, job.count = characters, job.scaled = scaled;
            if (!all) job.joints = some, job.joint_count = wanted;
            job.poses = phx_poses_of(p.locals, joints);
            if (layout) job.poses = (phx_poses){PHX_POSE_ROWS, rows, (size_t)joints * 640, 640, 0, 0, 0};
            job.root_position = PHX_VIEW_ARRAY(p.roots), job.root_rotation = PHX_VIEW_ARRAY(p.turns);
            job.positions = phx_view_of(places, wanted * sizeof *places), job.rotations = phx_view_of(turns, wanted * sizeof *turns);
            const size_t size = phx_fk_workspace_size(&job);
            assert_true(size > 0);
            void *workspace = aligned_alloc(64, (size + 63) / 64 * 64);
            phx_report report;
            const size_t split = characters / 32 * 16; /* in two ranges */
            assert_int_equal(phx_fk_solve(backend, &job, 0, split, workspace, &report), PHX_OK);
            assert_int_equal(phx_fk_solve(backend, &job, split, characters - split, workspace, &report), PHX_OK);
            free(workspace);
            if (!first_places) {
                first_places = places, first_turns = turns;
                continue;
            }
            assert_int_equal(first_difference(first_places, places, places_size), -1);
            assert_int_equal(first_difference(first_turns, turns, turns_size), -1);
            free(places), free(turns);
        }
        double place[40][3], turn[40][4], scale[40];
        for (uint32_t c = 0; c < characters; ++c) {
            model(&p, c, place, turn, scale);
            for (uint32_t w = 0; w < wanted; ++w) {
                const uint16_t j = all ? (uint16_t)w : some[w];
                const phx_vec3 at = first_places[(size_t)c * wanted + w];
                const phx_quat q = first_turns[(size_t)c * wanted + w];
                const double got[3] = {at.x, at.y, at.z};
                for (int k = 0; k < 3; ++k) assert_true(fabs(got[k] - place[j][k]) < 2e-5);
                assert_true(fabs(q.x * turn[j][0] + q.y * turn[j][1] + q.z * turn[j][2] + q.w * turn[j][3]) > 1 - 1e-5);
            }
        }
        free(rows), free(first_places), free(first_turns);
        free_poses(p);
    }
}

static void rejected_jobs_write_nothing(void **state) {
    (void)state;
    const phx_skeleton skeleton = {8, tree};
    phx_transform locals[8] = {{{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}}};
    phx_vec3 places[8];
    memset(places, 0xA5, sizeof places);
    PHX_ALIGN_64 static char workspace[8192];
    const uint16_t beyond[2] = {3, 8};
    phx_fk_job good;
    memset(&good, 0, sizeof good);
    good.skeleton = &skeleton, good.count = 1, good.poses = phx_poses_of(locals, 8), good.positions = phx_view_of(places, sizeof places);
    phx_report report;
#define REJECTED(expected, word, change)                                                              \
    do {                                                                                              \
        phx_fk_job job = good;                                                                        \
        change;                                                                                       \
        assert_int_equal(phx_fk_solve(phx_backend_best(), &job, 0, 1, workspace, &report), expected); \
        assert_non_null(strstr(report.text, word));                                                   \
    } while (0)
    REJECTED(PHX_ERROR_NULL, "skeleton", job.skeleton = NULL);
    REJECTED(PHX_ERROR_COUNT, "joints[1]", (job.joints = beyond, job.joint_count = 2));
    REJECTED(PHX_ERROR_COUNT, "joint_count", (job.joints = beyond, job.joint_count = 0));
    REJECTED(PHX_ERROR_NULL, "poses.data", job.poses.data = NULL);
    REJECTED(PHX_ERROR_STRIDE, "joint_stride", job.poses.joint_stride = 27);
    REJECTED(PHX_ERROR_VALUE, "COMPACT", job.poses.layout = PHX_POSE_COMPACT);
    REJECTED(PHX_ERROR_VALUE, "layout", job.poses.layout = (phx_pose_layout)7);
    REJECTED(PHX_ERROR_STRIDE, "positions", job.positions.stride = 95);
    REJECTED(PHX_ERROR_COUNT, "count", job.count = 0);
    REJECTED(PHX_ERROR_COUNT, "'count'", job.count = SIZE_MAX);
    for (size_t k = 0; k < 3; ++k) { /* what wraps, or lies beyond all memory */
        const size_t beyond_all[3] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2};
        REJECTED(PHX_ERROR_VALUE, "'poses.rotation_offset'", job.poses.rotation_offset = beyond_all[k]);
        REJECTED(PHX_ERROR_STRIDE, "joint stride", job.poses.joint_stride = beyond_all[k]);
        REJECTED(PHX_ERROR_STRIDE, "character stride", job.poses.character_stride = beyond_all[k]);
        REJECTED(PHX_ERROR_STRIDE, "'positions'", job.positions.stride = beyond_all[k]);
        REJECTED(PHX_ERROR_STRIDE, "'root_position'", job.root_position = phx_view_of(places, beyond_all[k]));
        phx_fk_job job = good;
        job.poses.joint_stride = beyond_all[k];
        assert_int_equal(phx_fk_workspace_size(&job), 0);
    }
    assert_int_equal(phx_fk_solve(phx_backend_best(), &good, SIZE_MAX, 2, workspace, &report), PHX_ERROR_COUNT);
    assert_non_null(strstr(report.text, " + 2)"));
    assert_int_equal(phx_fk_solve(NULL, &good, 0, 1, workspace, &report), PHX_ERROR_NULL);
    assert_int_equal(phx_fk_solve(phx_backend_best(), &good, 0, 1, NULL, &report), PHX_ERROR_NULL);
    assert_int_equal(phx_fk_solve(phx_backend_best(), &good, 0, 1, workspace + 4, &report), PHX_ERROR_ALIGN);
    const unsigned char *bytes = (const unsigned char *)places;
    for (size_t i = 0; i < sizeof places; ++i) assert_int_equal(bytes[i], 0xA5);
    assert_int_equal(phx_fk_solve(phx_backend_best(), &good, 0, 1, workspace, &report), PHX_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_hierarchies_are_named),
        cmocka_unit_test(chains_are_found_by_walking_parents),
        cmocka_unit_test(every_backend_and_layout_agrees_and_is_right),
        cmocka_unit_test(rejected_jobs_write_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
