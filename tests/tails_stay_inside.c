/* No solver reads or writes a byte beyond the caller's arrays, whatever the count: every array lies against a page that may not be
 * touched, once with its end and once with its start. A crowd's own memory and a workspace lie so, too. Every case is also compared with
 * the reference, over arrays of their own. */
#define _DEFAULT_SOURCE /* pages without a file */
#include "chains.h"
#include "crowd_rig.h"
#include <sys/mman.h>
#include <unistd.h>

/* what this test holds: each piece between two pages without any right */
typedef struct guards {
    void *pages[256];
    size_t sizes[256];
    uint32_t count;
    int at_end;
} guards;

static void *take(guards *g, size_t size, size_t alignment) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (size + page - 1) / page * page;
    assert_true(g->count < 256);
    char *pages = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    if (inside) assert_int_equal(mprotect(pages + page, inside, PROT_READ | PROT_WRITE), 0);
    g->pages[g->count] = pages, g->sizes[g->count++] = inside + 2 * page;
    return pages + page + (g->at_end ? (inside - size) / alignment * alignment : 0);
}
static void release_all(guards *g) {
    for (uint32_t i = 0; i < g->count; ++i) munmap(g->pages[i], g->sizes[i]);
    g->count = 0;
}

/* `count` elements of `size` bytes `stride` apart, the last one without what would lie behind it */
static phx_view array(guards *g, random_state *r, size_t count, size_t size, size_t stride, float low, float high) {
    const size_t bytes = count ? (count - 1) * stride + size : 0;
    char *data = take(g, bytes, 1);
    for (size_t i = 0; i < count; ++i)
        for (size_t k = 0; k < size; k += 4) memcpy(data + i * stride + k, &(float){random_float(r, low, high)}, 4);
    return phx_view_of(data, stride);
}

/* the same elements in arrays of their own, for the reference */
static phx_view twin(guards *g, phx_view view, size_t count, size_t size) {
    const size_t bytes = count ? (count - 1) * view.stride + size : 0;
    void *copy = take(g, bytes, 1);
    if (bytes) memcpy(copy, view.data, bytes);
    return phx_view_of(copy, view.stride);
}
static void same(phx_view a, phx_view b, size_t count, size_t size) {
    if (count) assert_memory_equal(a.data, b.data, (count - 1) * a.stride + size);
}

static void legs_stay_inside(void **state) {
    (void)state;
    random_state r = random_seeded("legs against pages", 0x9A6E1);
    const phx_backend *reference = phx_backend_find("reference");
    for (int at_end = 0; at_end < 2; ++at_end) {
        for (size_t count = 0; count < 36; ++count) {
            guards g = {.at_end = at_end};
            const size_t extra = count % 3 * 5; /* strides of the element itself, and odd ones */
            phx_two_bone_job job = phx_two_bone_job_default();
            job.count = count;
            job.params.max_stretch = count % 2 ? 1.2f : 1.0f;
            const struct {
                phx_view *view;
                size_t size;
            } fields[] = {{&job.root, 12},
                          {&job.mid, 12},
                          {&job.tip, 12},
                          {&job.target, 12},
                          {&job.pole, 12},
                          {&job.rest_bend, 12},
                          {&job.weight, 4},
                          {&job.pole_weight, 4},
                          {&job.parent_rotation, 16},
                          {&job.root_local, 16},
                          {&job.mid_local, 16},
                          {&job.tip_local, 16},
                          {&job.target_rotation, 16},
                          {&job.bend, 12},
                          {&job.root_rotation, 16},
                          {&job.mid_rotation, 16},
                          {&job.tip_rotation, 16},
                          {&job.root_local_out, 16},
                          {&job.mid_local_out, 16},
                          {&job.tip_local_out, 16},
                          {&job.mid_position, 12},
                          {&job.tip_position, 12},
                          {&job.stretch, 4},
                          {&job.result, 12}};
            enum { FIELDS = sizeof fields / sizeof *fields };
            phx_view input[FIELDS], expected[FIELDS];
            for (size_t k = 0; k < FIELDS; ++k)
                *fields[k].view = input[k] = array(&g, &r, count, fields[k].size, fields[k].size + extra, 0.1f, 0.9f);
            for (size_t k = 0; k < FIELDS; ++k) *fields[k].view = expected[k] = twin(&g, input[k], count, fields[k].size);
            assert_int_equal(phx_two_bone_solve(reference, &job), PHX_OK);
            FOR_EACH_BACKEND(backend) {
                guards own = {.at_end = at_end};
                for (size_t k = 0; k < FIELDS; ++k) *fields[k].view = twin(&own, input[k], count, fields[k].size);
                assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
                for (size_t k = 0; k < FIELDS; ++k) same(expected[k], *fields[k].view, count, fields[k].size);
                release_all(&own);
            }
            release_all(&g);
        }
    }
}

typedef struct joint_field {
    phx_joint_view *view;
    size_t size;
    uint32_t joints;
} joint_field;

static phx_joint_view joint_array(guards *g, random_state *r, size_t count, const joint_field *field, size_t extra) {
    const size_t stride = field->size + extra;
    const phx_view flat = array(g, r, count * field->joints, field->size, stride, 0.1f, 0.9f);
    return phx_joint_view_of(flat.data, stride * field->joints, stride);
}

typedef phx_status solve_function(const phx_backend *backend, const phx_chain_job *job);
static phx_status by_fabrik(const phx_backend *backend, const phx_chain_job *job) {
    const phx_fabrik_params params = phx_fabrik_params_default();
    return phx_fabrik_solve(backend, &params, job, NULL);
}
static phx_status by_ccd(const phx_backend *backend, const phx_chain_job *job) {
    const phx_ccd_params params = phx_ccd_params_default();
    return phx_ccd_solve(backend, &params, job, NULL);
}
static phx_status by_aim(const phx_backend *backend, const phx_chain_job *job) {
    const phx_aim_params params = phx_aim_params_default();
    return phx_aim_solve(backend, &params, job, NULL);
}

static void chains_stay_inside(void **state) {
    (void)state;
    random_state r = random_seeded("chains against pages", 0x9A6E2);
    solve_function *const solvers[] = {by_fabrik, by_ccd, by_aim};
    const phx_backend *reference = phx_backend_find("reference");
    for (uint32_t round = 0; round < 2 * 35 * 3; ++round) {
        const int at_end = round % 2;
        const size_t count = round / 2 % 35;
        solve_function *const solve = solvers[round / 70];
        const uint32_t joints = 2 + round % 5, aims = solve == by_aim;
        const size_t extra = count % 3 * 5;
        guards g = {.at_end = at_end};
        phx_chain_job job = phx_chain_job_default();
        job.count = count, job.joints = joints;
        joint_field joint_fields[9] = {{&job.position, 12, joints},   {&job.rotation, 16, joints},     {&job.position_out, 12, joints},
                                       {&job.correction, 16, joints}, {&job.rotation_out, 16, joints}, {&job.local_out, 16, joints},
                                       {&job.start, 12, joints},      {&job.length, 4, joints - 1}};
        const struct {
            phx_view *view;
            size_t size;
        } fields[] = {{&job.target, 12},          {&job.pole, 12},      {&job.parent_rotation, 16}, {&job.weight, 4}, {&job.result, 12},
                      {&job.target_rotation, 16}, {&job.rest_bend, 12}, {&job.budget, 4},           {&job.bend, 12},  {&job.stretch, 4}};
        const size_t joint_count = aims ? 6 : 8, field_count = aims ? 5 : 10; /* what aim has no use for is left out */
        phx_joint_view joint_input[9], joint_expected[9];
        phx_view input[10], expected[10];
        for (size_t k = 0; k < joint_count; ++k) joint_input[k] = joint_array(&g, &r, count, joint_fields + k, extra);
        for (size_t k = 0; k < field_count; ++k) input[k] = array(&g, &r, count, fields[k].size, fields[k].size + extra, 0.1f, 0.9f);
        for (size_t run = 0; run < 2; ++run) {
            FOR_EACH_BACKEND(backend) {
                guards own = {.at_end = at_end};
                guards *const into = run ? &own : &g;
                for (size_t k = 0; k < joint_count; ++k) {
                    const phx_view flat = twin(into, phx_view_of(joint_input[k].data, joint_input[k].joint_stride),
                                               count * joint_fields[k].joints, joint_fields[k].size);
                    *joint_fields[k].view = phx_joint_view_of(flat.data, joint_input[k].chain_stride, joint_input[k].joint_stride);
                }
                for (size_t k = 0; k < field_count; ++k) *fields[k].view = twin(into, input[k], count, fields[k].size);
                assert_int_equal(solve(run ? backend : reference, &job), PHX_OK);
                for (size_t k = 0; k < joint_count; ++k) {
                    if (!run)
                        joint_expected[k] = *joint_fields[k].view;
                    else if (count)
                        assert_memory_equal(joint_expected[k].data, joint_fields[k].view->data,
                                            (count * joint_fields[k].joints - 1) * joint_input[k].joint_stride + joint_fields[k].size);
                }
                for (size_t k = 0; k < field_count; ++k) {
                    if (!run)
                        expected[k] = *fields[k].view;
                    else
                        same(expected[k], *fields[k].view, count, fields[k].size);
                }
                release_all(&own);
                if (!run) break;
            }
        }
        release_all(&g);
    }
}

static void limits_stay_inside(void **state) {
    (void)state;
    random_state r = random_seeded("limits against pages", 0x9A6E3);
    const phx_limit limit = phx_limit_cone((phx_vec3){0, 1, 0}, 0.3f);
    for (size_t round = 0; round < 2 * 36; ++round) {
        const size_t count = round / 2, extra = count % 3 * 5;
        FOR_EACH_BACKEND(backend) {
            guards g = {.at_end = (int)(round % 2)};
            const phx_view local = array(&g, &r, count, 16, 16 + extra, 0.1f, 0.9f), out = array(&g, &r, count, 16, 16 + extra, 0, 0);
            const phx_view changed = array(&g, &r, count, 4, 4 + extra, 0, 0), expected = twin(&g, out, count, 16),
                           flags = twin(&g, changed, count, 4);
            assert_int_equal(phx_limit_apply(backend, &limit, count, local, out, changed, NULL), PHX_OK);
            assert_int_equal(phx_limit_apply(phx_backend_find("reference"), &limit, count, local, expected, flags, NULL), PHX_OK);
            same(expected, out, count, 16), same(flags, changed, count, 4);
            release_all(&g);
        }
    }
}

static void *guarded_allocate(void *context, size_t size, size_t alignment) { return take(context, size, alignment); }
static void guarded_release(void *context, void *memory) { (void)context, (void)memory; }

/* poses of `count` rigs as an array that ends with the last joint's last byte, or as rows */
static phx_poses guarded_poses(guards *g, uint32_t count, int rows, float phase) {
    phx_transform pose[RIG_JOINTS];
    if (!rows) {
        phx_transform *poses = take(g, count * sizeof pose, 4);
        for (uint32_t c = 0; c < count; ++c) rig_walk(pose, phase + (float)c), memcpy(poses + c * RIG_JOINTS, pose, sizeof pose);
        return phx_poses_of(poses, RIG_JOINTS);
    }
    float *block = take(g, (count + 15) / 16 * RIG_JOINTS * 640, 64);
    for (uint32_t c = 0; c < count; ++c) {
        rig_walk(pose, phase + (float)c);
        for (uint32_t j = 0; j < RIG_JOINTS; ++j)
            for (uint32_t k = 0; k < 10; ++k) block[(c / 16 * RIG_JOINTS + j) * 160 + k * 16 + c % 16] = ((const float *)&pose[j])[k];
    }
    return (phx_poses){PHX_POSE_ROWS, block, RIG_JOINTS * 640, 640, 0, 0, 0};
}

static void poses_stay_inside(void **state) {
    (void)state;
    random_state r = random_seeded("poses against pages", 0x9A6E4);
    const phx_skeleton skeleton = {RIG_JOINTS, rig_parents};
    for (uint32_t round = 0; round < 2 * 2 * 36; ++round) {
        const uint32_t count = round / 4, rows = round / 2 % 2;
        FOR_EACH_BACKEND(backend) {
            guards g = {.at_end = (int)(round % 2)};
            phx_fk_job job = {
                .skeleton = &skeleton, .count = count, .scaled = (int)(count % 2), .poses = guarded_poses(&g, count, (int)rows, 0.3f)};
            job.root_position = array(&g, &r, count, 12, 12, -1, 1), job.root_rotation = array(&g, &r, count, 16, 16, 0.4f, 0.6f);
            const phx_view positions = array(&g, &r, count, RIG_JOINTS * 12, RIG_JOINTS * 12, 0, 0),
                           rotations = array(&g, &r, count, RIG_JOINTS * 16, RIG_JOINTS * 16, 0, 0);
            const size_t size = phx_fk_workspace_size(&job);
            void *workspace = take(&g, size, 64);
            job.positions = positions, job.rotations = rotations;
            assert_int_equal(phx_fk_solve(backend, &job, 0, count, workspace, NULL), PHX_OK);
            job.positions = twin(&g, positions, count, RIG_JOINTS * 12), job.rotations = twin(&g, rotations, count, RIG_JOINTS * 16);
            assert_int_equal(phx_fk_solve(phx_backend_find("reference"), &job, 0, count, workspace, NULL), PHX_OK);
            same(job.positions, positions, count, RIG_JOINTS * 12), same(job.rotations, rotations, count, RIG_JOINTS * 16);
            release_all(&g);
        }
    }
}

static void crowds_stay_inside(void **state) {
    (void)state;
    random_state r = random_seeded("crowds against pages", 0x9A6E5);
    for (uint32_t round = 0; round < 2 * 2 * 40; ++round) {
        const uint32_t count = round / 4 < 36 ? round / 4 : 63 + round / 4 - 36, rows = round / 2 % 2;
        FOR_EACH_BACKEND(backend) {
            guards g = {.at_end = (int)(round % 2)};
            phx_crowd_def def = rig_def(backend, count ? count : 1);
            def.scaled = (int)(count % 2), def.bodies = (int)(count / 2 % 2), def.replay = (int)(count / 4 % 2),
            def.workspaces = count % 5 == 0;
            def.allocator = (phx_allocator){guarded_allocate, guarded_release, &g};
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            phx_body *bodies = take(&g, 3 * sizeof *bodies, 4);
            for (int b = 0; b < 3; ++b) bodies[b] = (phx_body){{0, 0, 0}, {0, 0, 0, 1}, 0};
            for (int f = 0; f < 3; ++f) {
                guards own = {.at_end = g.at_end};
                phx_crowd_frame frame;
                memset(&frame, 0, sizeof frame);
                frame.count = count, frame.dt = 1.0f / 60, frame.poses = guarded_poses(&own, count, (int)rows, (float)f);
                frame.root_position = array(&own, &r, count, 12, 12, -1, 1),
                frame.root_rotation = array(&own, &r, count, 16, 16, 0.4f, 0.6f);
                frame.weight = array(&own, &r, count, 4, 4, 0, 1), frame.support = array(&own, &r, count, 8, 8, 0, 1);
                frame.flags = array(&own, &r, count, 4, 4, 0, 0);
                if (def.replay && f) /* some wait */
                    for (uint32_t c = 0; c < count; c += 3)
                        memcpy((char *)frame.flags.data + 4 * c, &(uint32_t){PHX_CHARACTER_LOD(1 + c % 2)}, 4);
                if (def.bodies) frame.bodies = bodies, frame.body_count = 3;
                run_frame(crowd, &frame, ground_hills, NULL);
                release_all(&own);
            }
            phx_crowd_destroy(crowd);
            release_all(&g);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legs_stay_inside),  cmocka_unit_test(chains_stay_inside), cmocka_unit_test(limits_stay_inside),
        cmocka_unit_test(poses_stay_inside), cmocka_unit_test(crowds_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
