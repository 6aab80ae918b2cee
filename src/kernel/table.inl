/* All kernels over lanes, and the table that names them. Included by the kernel_w*.c files, which set PHX_LANES,
 * PHX_TABLE and PHX_TABLE_NAME. */
#include "../backend/ops.h"
#include "pair.h"
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

/* Whole pairs first, what is left after them one vector at a time. */
static void two_bone_blocks_paired(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count) {
    const size_t done = PHX_PAIRS(two_bone_blocks)(setup, blocks, extras, count);
    if (done < count) two_bone_blocks(setup, blocks + done, extras ? extras + done : NULL, count - done);
}
static void two_bone_job_paired(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count) {
    const size_t done = PHX_PAIRS(two_bone_job)(setup, job, first, count);
    if (done < count) two_bone_job(setup, job, first + done, count - done);
}

const struct phx_backend PHX_TABLE = {
    .name = PHX_TABLE_NAME,
    .lanes = LANES,
    .two_bone_blocks = two_bone_blocks_paired,
    .two_bone_job = two_bone_job_paired,
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
