/* All kernels over lanes, and the table that names them. Included by the kernel_w*.c files, which set PHX_LANES,
 * PHX_TABLE and PHX_TABLE_NAME. */
#include "../backend/ops.h"
#include "../lane/lane.h"
#include "../lane/trig.h"
#include "../lane/vec.h"
#include "../lane/quat.h"

#include <math.h>
#include "pack.inl"
#include "two_bone.inl"
#include "limit.inl"
#include "chain.inl"
#include "ccd.inl"
#include "pose.inl"
#include "crowd.inl"
#include "fabrik.inl"
#include "aim.inl"

const struct phx_backend PHX_TABLE = {
    .name = PHX_TABLE_NAME,
    .lanes = LANES,
    .two_bone_blocks = two_bone_blocks,
    .two_bone_job = two_bone_job,
    .limit_apply = limit_apply,
    .ccd_blocks = ccd_blocks,
    .ccd_job = ccd_job,
    .forward_kinematics = forward_kinematics,
    .crowd_prepare = crowd_prepare,
    .crowd_solve = crowd_solve,
    .fabrik_blocks = fabrik_blocks,
    .fabrik_job = fabrik_job,
    .aim_job = aim_job,
};
