/* The kernels that are compiled over pairs of vectors too (lane/lane_pair.h), one set a width: PHX_PAIRS(name) is this width's. Each solves
 * what fills whole pairs, from the first element on, and returns how much that is: 0 where the call needs options that are not compiled
 * here. Called by table.inl, which sees to the rest; defined by the pair_w*.c files through pair.inl. */
#ifndef PHX_KERNEL_PAIR_H
#define PHX_KERNEL_PAIR_H

#include "../backend/ops.h"

#define PHX_PAIRS_JOIN(name, width) phx_pairs_##name##_w##width
#define PHX_PAIRS_OF(name, width) PHX_PAIRS_JOIN(name, width)
#define PHX_PAIRS(name) PHX_PAIRS_OF(name, PHX_LANES)

size_t PHX_PAIRS(two_bone_blocks)(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count);
size_t PHX_PAIRS(two_bone_job)(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count);

#endif
