/* The scalar solvers that fill the table "reference" (table.c). Called through phx_backend only. */
#ifndef PHX_REFERENCE_H
#define PHX_REFERENCE_H
#include "../backend/ops.h"

/* One leg, relative to its root; what kernel/two_bone.inl calls two_bone_in and two_bone_out. */
typedef struct phx_leg_in {
    phx_vec3 thigh, shin, delta, pole, previous, rest_bend;
    float weight, pole_weight;
    phx_quat tip_from, tip_to;
    float pose_norm; /* squared norm of the product of the animated rotations, 1 where none are given */
} phx_leg_in;

typedef struct phx_leg_out {
    phx_quat root_rotation, mid_rotation, tip_rotation;
    phx_vec3 bend, upper, lower;
    float residual, stretch;
    uint32_t flags;
    int ok, moved;
} phx_leg_out;

phx_leg_out phx_reference_leg(const phx_two_bone_setup *setup, const phx_leg_in *in);

void phx_reference_two_bone_blocks(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count);
void phx_reference_two_bone_job(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count);
void phx_reference_limit_apply(const phx_limit_setup *setup, size_t count, phx_view local, phx_view limited, phx_view changed);
void phx_reference_ccd_blocks(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count);
void phx_reference_ccd_job(const phx_ccd_setup *setup, const phx_chain_job *job, size_t first, size_t count);
void phx_reference_forward_kinematics(const phx_fk_job *job, const phx_walk_plan *plan, const uint16_t *wanted, uint32_t wanted_count,
                                      size_t first, size_t count, phx_joint_rows *joints, phx_rows3 *scales);
void phx_reference_crowd_prepare(const phx_crowd_task *task);
void phx_reference_crowd_solve(const phx_crowd_task *task);
void phx_reference_fabrik_blocks(const phx_fabrik_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count);
void phx_reference_aim_job(const phx_aim_setup *setup, const phx_chain_job *job, size_t first, size_t count);
void phx_reference_fabrik_job(const phx_fabrik_setup *setup, const phx_chain_job *job, size_t first, size_t count);
#endif
