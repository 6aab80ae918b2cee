/* The backend "reference": the table of scalar solvers. */
#include "reference.h"

const struct phx_backend phx_table_reference = {
    .name = "reference",
    .lanes = 1,
    .two_bone_blocks = phx_reference_two_bone_blocks,
    .two_bone_job = phx_reference_two_bone_job,
    .limit_apply = phx_reference_limit_apply,
    .ccd_blocks = phx_reference_ccd_blocks,
    .ccd_job = phx_reference_ccd_job,
    .forward_kinematics = phx_reference_forward_kinematics,
    .crowd_prepare = phx_reference_crowd_prepare,
    .crowd_solve = phx_reference_crowd_solve,
    .fabrik_blocks = phx_reference_fabrik_blocks,
    .fabrik_job = phx_reference_fabrik_job,
    .aim_job = phx_reference_aim_job,
};
