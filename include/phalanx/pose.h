/* Skeletons and poses: how a crowd's local transforms lie in the caller's memory, forward kinematics in lanes over the
 * characters that share a skeleton, and chains found by walking parents. */
#ifndef PHALANX_POSE_H
#define PHALANX_POSE_H

#include "backend.h"

PHX_EXTERN_C_BEGIN

/* "No joint": the parent of a root, a foot without a ball joint. Joints are numbered 0 .. 65534. */
#define PHX_NO_JOINT 0xFFFFu

/* Joints in an order where every parent comes before its children. The array stays the caller's. */
typedef struct phx_skeleton {
    uint32_t joint_count;    /* 1 .. 65535 */
    const uint16_t *parents; /* joint_count entries; parents[i] < i, or PHX_NO_JOINT */
} phx_skeleton;

/* Checks order and range; the sentence names the joint at fault. */
PHX_API phx_status phx_skeleton_validate(const phx_skeleton *skeleton, phx_report *report);

/* The joints from `root` down to `tip`, both included, by walking parents up from the tip. joints may be NULL to ask only for
 * the count. Errors: a joint out of range, root equal to tip, tip not below root (said so when it is the other way round),
 * more than `capacity` joints. */
PHX_API phx_status phx_chain_joints(const phx_skeleton *skeleton, uint16_t root, uint16_t tip, uint16_t *joints, uint32_t capacity,
                                    uint32_t *count, phx_report *report);

/* How the library reads the usual AoS pose of animation systems: 40 bytes, in this order. */
typedef struct phx_transform {
    phx_vec3 translation;
    phx_quat rotation;
    phx_vec3 scale;
} phx_transform;

typedef enum phx_pose_layout {
    PHX_POSE_AOS = 0,     /* local transform of joint j of character c at data + c * character_stride + j * joint_stride */
    PHX_POSE_COMPACT = 1, /* the same, but only the joints that the call needs, in the order that it states */
    PHX_POSE_ROWS = 2     /* crowd SoA: for 16 characters and a joint, 10 rows of 16 floats (translation x y z, rotation x y z w, scale
                             x y z) at data + (c / 16) * character_stride + j * joint_stride, 64-byte aligned; joint_stride >= 640 */
} phx_pose_layout;

/* Local transforms of many characters. Any alignment for the AoS layouts. */
typedef struct phx_poses {
    phx_pose_layout layout;
    void *data;
    size_t character_stride;   /* bytes from one character to the next (PHX_POSE_ROWS: from one 16 to the next) */
    size_t joint_stride;       /* bytes from one joint to the next */
    size_t translation_offset; /* bytes from a joint's start; AoS layouts only */
    size_t rotation_offset;
    size_t scale_offset;
} phx_poses;

/* Contiguous phx_transform arrays, one character after the other. */
PHX_API phx_poses phx_poses_of(phx_transform *transforms, uint32_t joints_per_character);

/* Forward kinematics of chosen joints for many characters: local poses in, positions and rotations in the space of the root
 * transforms out. A parent's scale scales its children's offsets, component by component (exact unless a non-uniform scale
 * stands above a rotated joint, which has no exact answer as a rotation). What is not finite stays so, and NaN has one bit pattern. */
typedef struct phx_fk_job {
    const phx_skeleton *skeleton;
    const uint16_t *joints; /* joints wanted; NULL = all */
    uint32_t joint_count;   /* how many; ignored when joints is NULL. Their ancestors are walked as needed. */
    size_t count;           /* characters */
    phx_poses poses;        /* PHX_POSE_AOS or PHX_POSE_ROWS */
    phx_view root_position; /* vec3 per character, optional */
    phx_view root_rotation; /* quat per character, optional */
    int scaled;             /* 0: scales are taken as 1 and not read */
    /* outputs: of wanted joint k of character c at data + c * stride + k * element size (12 or 16 bytes); optional */
    phx_view positions;
    phx_view rotations;
} phx_fk_job;

/* Memory that one phx_fk_solve needs, in bytes, for this job; 0 when the job is invalid. */
PHX_API size_t phx_fk_workspace_size(const phx_fk_job *job);

/* workspace: at least phx_fk_workspace_size bytes, 64-byte aligned; one per thread. Works on characters
 * [first, first + count). Errors name the field; nothing is written then. */
PHX_API phx_status phx_fk_solve(const phx_backend *backend, const phx_fk_job *job, size_t first, size_t count, void *workspace,
                                phx_report *report);

PHX_EXTERN_C_END
#endif
