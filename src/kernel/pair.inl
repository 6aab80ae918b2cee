/* Kernels over pairs of vectors. Included by the pair_w*.c files, which set PHX_LANES, the width of one vector. What is
 * gained over one vector at a time by two_bone, on Zen 4: 14 % at 4 lanes, 13 % at 8, 7 % at 16, of time in cache. */
#define PHX_PAIR sizeof(phx_two_bone_block)
#include "pair.h"
#include "../lane/lane.h"
#include "../lane/trig.h"
#include "../lane/vec.h"
#include "../lane/quat.h"

#include "pack.inl"
#include "two_bone.inl"

size_t PHX_PAIRS(two_bone_blocks)(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count) {
    const size_t whole = PHX_LANES == 16 ? count - count % 2 : count;
    if (two_bone_blocks_full(setup, extras)) return 0;
    two_bone_blocks(setup, blocks, NULL, whole);
    return whole;
}

size_t PHX_PAIRS(two_bone_job)(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count) {
    const size_t whole = count - count % LANES;
    if (!whole || two_bone_job_full(setup, job)) return 0;
    two_bone_job(setup, job, first, whole);
    return whole;
}
