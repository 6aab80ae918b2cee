/* Forward kinematics in plain scalar C, one character at a time. The lanes' twin is kernel/pose.inl. */
#include "reference.h"
#include "pose.h"
#include "memory.h"

static char *component(const phx_poses *poses, size_t index, size_t character, size_t offset) {
    return (char *)poses->data + character * poses->character_stride + index * poses->joint_stride + offset;
}
static float *row(const phx_poses *poses, size_t index, size_t character, int number) {
    char *joint = (char *)poses->data + character / PHX_BLOCK_LANES * poses->character_stride + index * poses->joint_stride;
    return (float *)(void *)joint + number * PHX_BLOCK_LANES + character % PHX_BLOCK_LANES;
}

static phx_vec3 three(const phx_poses *poses, size_t index, size_t character, size_t offset, int number) {
    phx_vec3 value;
    if (poses->layout == PHX_POSE_ROWS)
        return vec3(*row(poses, index, character, number), *row(poses, index, character, number + 1), *row(poses, index, character, number + 2));
    memcpy(&value, component(poses, index, character, offset), sizeof value);
    return value;
}

phx_vec3 phx_reference_translation(const phx_poses *poses, size_t index, size_t character) {
    return three(poses, index, character, poses->translation_offset, 0);
}

phx_quat phx_reference_rotation(const phx_poses *poses, size_t index, size_t character) {
    phx_quat value;
    if (poses->layout == PHX_POSE_ROWS)
        return quat(*row(poses, index, character, 3), *row(poses, index, character, 4), *row(poses, index, character, 5), *row(poses, index, character, 6));
    memcpy(&value, component(poses, index, character, poses->rotation_offset), sizeof value);
    return value;
}

phx_vec3 phx_reference_scale(const phx_poses *poses, size_t index, size_t character) {
    return three(poses, index, character, poses->scale_offset, 7);
}

void phx_reference_set_translation(const phx_poses *poses, size_t index, size_t character, phx_vec3 value) {
    if (poses->layout == PHX_POSE_ROWS) {
        *row(poses, index, character, 0) = value.x, *row(poses, index, character, 1) = value.y, *row(poses, index, character, 2) = value.z;
    } else {
        memcpy(component(poses, index, character, poses->translation_offset), &value, sizeof value);
    }
}

void phx_reference_set_rotation(const phx_poses *poses, size_t index, size_t character, phx_quat value) {
    if (poses->layout == PHX_POSE_ROWS) {
        *row(poses, index, character, 3) = value.x, *row(poses, index, character, 4) = value.y;
        *row(poses, index, character, 5) = value.z, *row(poses, index, character, 6) = value.w;
    } else {
        memcpy(component(poses, index, character, poses->rotation_offset), &value, sizeof value);
    }
}

void phx_reference_walk(const phx_walk_plan *plan, const phx_poses *poses, size_t character, uint32_t lane, phx_quat root_rotation,
                        phx_joint_rows *joints, phx_rows3 *scales) {
    for (uint32_t slot = 0; slot < plan->count; ++slot) {
        const size_t index = poses->layout == PHX_POSE_COMPACT ? slot : plan->joints[slot];
        const uint32_t parent = plan->parents[slot];
        phx_vec3 offset = phx_reference_translation(poses, index, character), scale = vec3(1.0f, 1.0f, 1.0f);
        const phx_quat local = phx_reference_rotation(poses, index, character);
        if (scales) scale = phx_reference_scale(poses, index, character);
        phx_vec3 position;
        phx_quat rotation;
        if (parent == PHX_NO_JOINT) {
            position = rotate3(root_rotation, offset);
            rotation = mul4(root_rotation, local);
        } else {
            if (scales) {
                const phx_vec3 above = row3(&scales[parent], lane);
                offset = vec3(offset.x * above.x, offset.y * above.y, offset.z * above.z);
                scale = vec3(scale.x * above.x, scale.y * above.y, scale.z * above.z);
            }
            const phx_quat above = row4(&joints[parent].rotation, lane);
            position = add3(row3(&joints[parent].position, lane), rotate3(above, offset));
            rotation = mul4(above, local);
        }
        set_row3(&joints[slot].position, lane, position);
        set_row4(&joints[slot].rotation, lane, rotation);
        if (scales) set_row3(&scales[slot], lane, scale);
    }
}

static float one_nan(float a) { return a == a ? a : NAN; }

void phx_reference_forward_kinematics(const phx_fk_job *job, const phx_walk_plan *plan, const uint16_t *wanted, uint32_t wanted_count,
                                      size_t first, size_t count, phx_joint_rows *joints, phx_rows3 *scales) {
    for (size_t character = first; character < first + count; ++character) {
        phx_reference_walk(plan, &job->poses, character, 0, read4(job->root_rotation, character, quat_identity()), joints, scales);
        for (uint32_t w = 0; w < wanted_count; ++w) {
            const phx_joint_rows *joint = joints + wanted[w];
            if (job->positions.data) {
                phx_vec3 position = row3(&joint->position, 0);
                if (job->root_position.data) position = add3(read3(job->root_position, character, position), position);
                write3(phx_view_of((char *)job->positions.data + w * 12, job->positions.stride), character,
                       vec3(one_nan(position.x), one_nan(position.y), one_nan(position.z)));
            }
            if (job->rotations.data) {
                const phx_quat rotated = row4(&joint->rotation, 0);
                write4(phx_view_of((char *)job->rotations.data + w * 16, job->rotations.stride), character,
                       quat(one_nan(rotated.x), one_nan(rotated.y), one_nan(rotated.z), one_nan(rotated.w)));
            }
        }
    }
}
