/* Skeletons, chains and forward kinematics, public face. The work is in kernel/pose.inl. */
#include "../backend/ops.h"
#include "report.h"
#include <string.h>

phx_status phx_skeleton_validate(const phx_skeleton *skeleton, phx_report *report) {
    if (!skeleton) return phx_reject(report, PHX_ERROR_NULL, "skeleton: the skeleton is NULL");
    if (skeleton->joint_count == 0 || skeleton->joint_count > 65535)
        return phx_reject(report, PHX_ERROR_COUNT, "skeleton: 'joint_count' is %u, outside [1, 65535]", skeleton->joint_count);
    if (!skeleton->parents) return phx_reject(report, PHX_ERROR_NULL, "skeleton: 'parents' is NULL");
    for (uint32_t joint = 0; joint < skeleton->joint_count; ++joint) {
        const uint16_t parent = skeleton->parents[joint];
        if (parent != PHX_NO_JOINT && parent >= joint)
            return phx_reject(report, PHX_ERROR_HIERARCHY, "skeleton: joint %u has parent %u, which does not come before it", joint, parent);
    }
    return phx_accept(report);
}

phx_status phx_chain_joints(const phx_skeleton *skeleton, uint16_t root, uint16_t tip, uint16_t *joints, uint32_t capacity, uint32_t *count,
                            phx_report *report) {
    const phx_status status = phx_skeleton_validate(skeleton, report);
    if (status) return status;
    if (!count) return phx_reject(report, PHX_ERROR_NULL, "chain: 'count' is NULL");
    if (root >= skeleton->joint_count) return phx_reject(report, PHX_ERROR_COUNT, "chain: 'root' is %u, the skeleton has %u joints", root, skeleton->joint_count);
    if (tip >= skeleton->joint_count) return phx_reject(report, PHX_ERROR_COUNT, "chain: 'tip' is %u, the skeleton has %u joints", tip, skeleton->joint_count);
    if (root == tip) return phx_reject(report, PHX_ERROR_HIERARCHY, "chain: 'root' and 'tip' are both joint %u", root);
    uint32_t length = 1;
    for (uint16_t joint = tip; joint != root; ++length) {
        joint = skeleton->parents[joint];
        if (joint != PHX_NO_JOINT) continue;
        for (uint16_t above = root; above != PHX_NO_JOINT; above = skeleton->parents[above])
            if (above == tip) return phx_reject(report, PHX_ERROR_HIERARCHY, "chain: 'tip' %u is above 'root' %u: swap them", tip, root);
        return phx_reject(report, PHX_ERROR_HIERARCHY, "chain: joint %u is not below joint %u", tip, root);
    }
    *count = length;
    if (!joints) return phx_accept(report);
    if (length > capacity) return phx_reject(report, PHX_ERROR_COUNT, "chain: 'capacity' is %u, the chain has %u joints", capacity, length);
    uint16_t joint = tip;
    for (uint32_t k = length; k-- > 0; joint = skeleton->parents[joint]) joints[k] = joint;
    return phx_accept(report);
}

phx_poses phx_poses_of(phx_transform *transforms, uint32_t joints_per_character) {
    phx_poses poses;
    poses.layout = PHX_POSE_AOS;
    poses.data = transforms;
    poses.character_stride = sizeof(phx_transform) * joints_per_character;
    poses.joint_stride = sizeof(phx_transform);
    poses.translation_offset = offsetof(phx_transform, translation);
    poses.rotation_offset = offsetof(phx_transform, rotation);
    poses.scale_offset = offsetof(phx_transform, scale);
    return poses;
}

/* bytes from a joint's first to the end of its last field */
static size_t element_of(const phx_poses *poses, int scaled) {
    size_t element = poses->translation_offset + 12;
    if (poses->rotation_offset + 16 > element) element = poses->rotation_offset + 16;
    if (scaled && poses->scale_offset + 12 > element) element = poses->scale_offset + 12;
    return element;
}

static phx_status check_pose_extent(const char *job, const phx_poses *poses, size_t element, size_t count, uint32_t joints, phx_report *report) {
    const phx_status status = phx_check_extent(job, "poses", "joint stride", poses->joint_stride, joints, element, report);
    if (status) return status;
    return phx_check_extent(job, "poses", "character stride", poses->character_stride, count, (joints - 1) * poses->joint_stride + element, report);
}

phx_status phx_check_poses(const char *job, const phx_poses *poses, int scaled, size_t count, uint32_t joints, phx_report *report) {
    if (!poses->data) return phx_reject(report, PHX_ERROR_NULL, "%s: 'poses.data' is NULL", job);
    if (poses->layout != PHX_POSE_AOS && poses->layout != PHX_POSE_COMPACT && poses->layout != PHX_POSE_ROWS)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'poses.layout' is %d, not a phx_pose_layout", job, (int)poses->layout);
    if (poses->layout == PHX_POSE_ROWS) {
        if ((uintptr_t)poses->data % 64 || poses->character_stride % 64 || poses->joint_stride % 64)
            return phx_reject(report, PHX_ERROR_ALIGN, "%s: 'poses' rows do not start at multiples of 64 bytes", job);
        if (poses->joint_stride < 640) return phx_reject(report, PHX_ERROR_STRIDE, "%s: 'poses.joint_stride' is %zu, less than 640", job, poses->joint_stride);
        return check_pose_extent(job, poses, 640, count / PHX_BLOCK_LANES + 1, joints, report);
    }
    const struct {
        const char *name;
        size_t at, size;
    } fields[] = {{"translation_offset", poses->translation_offset, 12}, {"rotation_offset", poses->rotation_offset, 16}, {"scale_offset", poses->scale_offset, 12}};
    for (int a = 0; a < (scaled ? 3 : 2); ++a) {
        if (fields[a].at > PHX_MOST_BYTES - fields[a].size)
            return phx_reject(report, PHX_ERROR_VALUE, "%s: 'poses.%s' is %zu, outside [0, %zu], as 'poses.joint_stride' is %zu", job, fields[a].name, fields[a].at,
                              poses->joint_stride > fields[a].size ? poses->joint_stride - fields[a].size : 0, poses->joint_stride);
        for (int b = 0; b < a; ++b)
            if (fields[a].at < fields[b].at + fields[b].size && fields[b].at < fields[a].at + fields[a].size)
                return phx_reject(report, PHX_ERROR_OVERLAP, "%s: 'poses.%s' is %zu and 'poses.%s' %zu, by which the two overlap", job, fields[b].name, fields[b].at,
                                  fields[a].name, fields[a].at);
    }
    const size_t element = element_of(poses, scaled);
    if (poses->joint_stride < element)
        return phx_reject(report, PHX_ERROR_STRIDE, "%s: 'poses.joint_stride' is %zu, less than %zu", job, poses->joint_stride, element);
    if (poses->character_stride < element)
        return phx_reject(report, PHX_ERROR_STRIDE, "%s: 'poses.character_stride' is %zu, less than %zu", job, poses->character_stride, element);
    return check_pose_extent(job, poses, element, count, joints, report);
}

phx_status phx_check_poses_apart(const char *job, const phx_poses *poses, int scaled, size_t count, uint32_t joints, phx_report *report) {
    size_t first = poses->translation_offset < poses->rotation_offset ? poses->translation_offset : poses->rotation_offset;
    if (scaled && poses->scale_offset < first) first = poses->scale_offset;
    size_t size = element_of(poses, scaled) - first, joint = poses->joint_stride, character = poses->character_stride;
    if (poses->layout == PHX_POSE_ROWS) size = 640, count = (count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES;
    if (!phx_overlaps_itself(character, joint, size, count, joints)) return PHX_OK;
    return phx_reject(report, PHX_ERROR_OVERLAP, "%s: 'poses' has character stride %zu and joint stride %zu, by which joints of %zu %s overlap", job,
                      character, joint, count, poses->layout == PHX_POSE_ROWS ? "rows of characters" : "characters");
}

void phx_plan_walk(const phx_skeleton *skeleton, const uint16_t *wanted, uint32_t wanted_count, uint16_t *joints, uint16_t *parents,
                   uint16_t *slots, phx_walk_plan *plan) {
    /* mark wanted joints and their ancestors, then number them in order */
    for (uint32_t joint = 0; joint < skeleton->joint_count; ++joint) slots[joint] = PHX_NO_JOINT;
    for (uint32_t k = 0; k < wanted_count; ++k)
        for (uint16_t joint = wanted[k]; joint != PHX_NO_JOINT && slots[joint] == PHX_NO_JOINT; joint = skeleton->parents[joint]) slots[joint] = 0;
    uint32_t count = 0;
    for (uint32_t joint = 0; joint < skeleton->joint_count; ++joint) {
        if (slots[joint] == PHX_NO_JOINT) continue;
        slots[joint] = (uint16_t)count;
        joints[count] = (uint16_t)joint;
        parents[count] = skeleton->parents[joint] == PHX_NO_JOINT ? PHX_NO_JOINT : slots[skeleton->parents[joint]];
        ++count;
    }
    plan->count = count, plan->joints = joints, plan->parents = parents;
}

static phx_status check_fk(const phx_fk_job *job, phx_report *report) {
    static const char name[] = "fk job";
    if (!job) return phx_reject(report, PHX_ERROR_NULL, "%s: the job is NULL", name);
    phx_status status = phx_skeleton_validate(job->skeleton, report);
    if (status) return status;
    const uint32_t joint_count = job->skeleton->joint_count, wanted = job->joints ? job->joint_count : joint_count;
    if (job->joints && (wanted == 0 || wanted > joint_count))
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'joint_count' is %u, outside [1, %u]", name, wanted, joint_count);
    for (uint32_t k = 0; job->joints && k < wanted; ++k)
        if (job->joints[k] >= joint_count)
            return phx_reject(report, PHX_ERROR_COUNT, "%s: 'joints[%u]' is %u, the skeleton has %u joints", name, k, job->joints[k], joint_count);
    if (job->count > SIZE_MAX / 2) return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %zu, more than memory can hold", name, job->count);
    status = phx_check_poses(name, &job->poses, job->scaled, job->count, joint_count, report);
    if (status) return status;
    if (job->poses.layout == PHX_POSE_COMPACT)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'poses.layout' is PHX_POSE_COMPACT, which only a crowd reads", name);
    const phx_field fields[] = {
        {"root_position", &job->root_position, 12, 0, 0},
        {"root_rotation", &job->root_rotation, 16, 0, 0},
        {"positions", &job->positions, (size_t)12 * wanted, 0, 1},
        {"rotations", &job->rotations, (size_t)16 * wanted, 0, 1},
    };
    return phx_check_fields(name, fields, sizeof fields / sizeof *fields, job->count, report);
}

static size_t round_up(size_t size) { return (size + 63) / 64 * 64; }

size_t phx_fk_workspace_size(const phx_fk_job *job) {
    if (check_fk(job, NULL)) return 0;
    const size_t joints = job->skeleton->joint_count;
    return round_up(4 * joints * sizeof(uint16_t)) + joints * (sizeof(phx_joint_rows) + (job->scaled ? sizeof(phx_rows3) : 0));
}

phx_status phx_fk_solve(const phx_backend *backend, const phx_fk_job *job, size_t first, size_t count, void *workspace, phx_report *report) {
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "fk job: 'backend' is NULL");
    const phx_status status = check_fk(job, report);
    if (status) return status;
    if (!workspace) return phx_reject(report, PHX_ERROR_NULL, "fk job: 'workspace' is NULL");
    if ((uintptr_t)workspace % 64) return phx_reject(report, PHX_ERROR_ALIGN, "fk job: 'workspace' is not at a multiple of 64 bytes");
    if (first > job->count || count > job->count - first)
        return phx_reject(report, PHX_ERROR_COUNT, "fk job: characters [%zu, %zu + %zu) are not all within 'count' %zu", first, first, count, job->count);
    if (job->poses.layout == PHX_POSE_ROWS && first % PHX_BLOCK_LANES)
        return phx_reject(report, PHX_ERROR_COUNT, "fk job: 'first' is %zu, rows start at multiples of 16", first);
    if (count == 0) return phx_accept(report);
    const uint32_t joint_count = job->skeleton->joint_count;
    uint16_t *joints = workspace, *parents = joints + joint_count, *slots = parents + joint_count, *outputs = slots + joint_count;
    phx_joint_rows *rows = (phx_joint_rows *)(void *)((char *)workspace + round_up(4 * joint_count * sizeof(uint16_t)));
    phx_rows3 *scales = job->scaled ? (phx_rows3 *)(void *)(rows + joint_count) : NULL;
    const uint32_t wanted = job->joints ? job->joint_count : joint_count;
    for (uint32_t k = 0; k < wanted; ++k) outputs[k] = job->joints ? job->joints[k] : (uint16_t)k;
    phx_walk_plan plan;
    phx_plan_walk(job->skeleton, outputs, wanted, joints, parents, slots, &plan);
    for (uint32_t k = 0; k < wanted; ++k) outputs[k] = slots[outputs[k]];
    backend->forward_kinematics(job, &plan, outputs, wanted, first, count, rows, scales);
    return phx_accept(report);
}
