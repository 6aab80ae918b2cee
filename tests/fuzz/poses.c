/* Fuzz target: forward kinematics of any skeleton, right or wrong, wanted joints, layout, strides and numbers; and chains found in it. */
#include "fuzz.h"

enum { MOST_JOINTS = 14, MOST_CHARACTERS = 36 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    const phx_backend *backend = take_backend(&b), *reference = phx_backend_find("reference");
    uint16_t parents[MOST_JOINTS], wanted[MOST_JOINTS];
    const uint32_t joints = take_below(&b, MOST_JOINTS + 1), count = take_below(&b, MOST_CHARACTERS), how = take_byte(&b);
    for (uint32_t j = 0; j < joints; ++j) {
        const uint32_t pick = take_byte(&b);
        parents[j] = j == 0 || pick > 250 ? (pick == 255 ? 65000 : PHX_NO_JOINT) : (uint16_t)(pick == 250 ? pick % MOST_JOINTS : pick % j);
    }
    const phx_skeleton skeleton = {joints, parents};
    phx_report report;
    const phx_status valid = phx_skeleton_validate(&skeleton, &report);
    uint16_t found[MOST_JOINTS];
    uint32_t length = 0;
    if (phx_chain_joints(&skeleton, (uint16_t)take_below(&b, 20), (uint16_t)take_below(&b, 20), found, take_below(&b, MOST_JOINTS + 1),
                         &length, &report) == PHX_OK)
        FUZZ_CHECK(valid == PHX_OK && length >= 2 && length <= joints);
    phx_fk_job job;
    memset(&job, 0, sizeof job);
    job.skeleton = &skeleton, job.count = count, job.scaled = how & 1;
    if (how & 2) {
        job.joints = wanted, job.joint_count = take_below(&b, MOST_JOINTS + 1);
        for (uint32_t k = 0; k < job.joint_count; ++k) wanted[k] = (uint16_t)(take_byte(&b) % (MOST_JOINTS + (how >> 7)));
    }
    const size_t outputs = job.joints ? job.joint_count : joints;
    fuzz_job f = {.chains = count};
    FUZZ_VIEW(&f, job.root_position, 12, 0), FUZZ_VIEW(&f, job.root_rotation, 16, 0);
    FUZZ_VIEW(&f, job.positions, 12 * outputs, 1), FUZZ_VIEW(&f, job.rotations, 16 * outputs, 1);
    for (uint32_t k = 0; k < f.count; ++k) {
        if (how >> (2 + k) & 1) continue;
        *f.fields[k].data = f.fields[k].output ? NULL : (void *)&f;
        fuzz_take(&f, f.fields + k, &b);
    }
    /* poses: transforms one after the other, or rows of 16 characters */
    const size_t groups = (count + 15) / 16, rows_bytes = groups * joints * 640,
                 plain_bytes = (size_t)count * joints * sizeof(phx_transform);
    float *memory = aligned_alloc(64, ((how & 64 ? rows_bytes : plain_bytes) + 63) / 64 * 64 + 64);
    const size_t floats = (how & 64 ? rows_bytes : plain_bytes) / 4;
    for (size_t k = 0; k < floats; ++k) memory[k] = b.at < b.end ? take_float(&b) : (float)(k % 7) * 0.25f;
    if (how & 64)
        job.poses = (phx_poses){PHX_POSE_ROWS, memory, (size_t)joints * 640, 640, 0, 0, 0};
    else
        job.poses = phx_poses_of((phx_transform *)(void *)memory, joints);
    if (take_byte(&b) == 7) job.poses.joint_stride = 12; /* to be refused */
    const size_t needed = phx_fk_workspace_size(&job);
    void *workspace = aligned_alloc(64, (needed + 63) / 64 * 64 + 64);
    const size_t first = how & 64 ? 0 : take_below(&b, 4), part = count > first ? count - first : 0;
    fuzz_point(&f, 0);
    const phx_status status = phx_fk_solve(reference, &job, first, part, workspace, &report);
    fuzz_point(&f, 1);
    FUZZ_CHECK(phx_fk_solve(backend, &job, first, part, workspace, &report) == status);
    FUZZ_CHECK(valid == PHX_OK || status != PHX_OK);
    FUZZ_CHECK(status != PHX_OK || needed > 0);
    if (status != PHX_OK)
        fuzz_untouched(&f, 0), fuzz_untouched(&f, 1);
    else
        fuzz_same(&f, 0, 1);
    free(workspace), free(memory);
    fuzz_free(&f);
    return 0;
}
