/* See pieces.h. Included by pieces_w*.c, which set PHX_LANES and BENCH_PIECES. */
#include "pieces.h"
#include "lane/lane.h"
#include "lane/trig.h"
#include "lane/vec.h"
#include "lane/quat.h"
#include "kernel/pack.inl"
#include "kernel/two_bone.inl"

static void pack(const phx_two_bone_job *job, phx_two_bone_block *blocks) {
    for (size_t i = 0; i < job->count; i += LANES) {
        phx_two_bone_block *block = blocks + i / PHX_BLOCK_LANES;
        const uint32_t lane = (uint32_t)(i % PHX_BLOCK_LANES);
        const size_t left = job->count - i;
        v3_store(&block->root, lane, pack3(job->root, i, left)), v3_store(&block->mid, lane, pack3(job->mid, i, left));
        v3_store(&block->tip, lane, pack3(job->tip, i, left)), v3_store(&block->target, lane, pack3(job->target, i, left));
        v3_store(&block->pole, lane, pack3(job->pole, i, left)), v3_store(&block->bend, lane, pack3(job->bend, i, left));
    }
}

static void unpack(const phx_two_bone_job *job, const phx_two_bone_block *blocks) {
    for (size_t i = 0; i < job->count; i += LANES) {
        const phx_two_bone_block *block = blocks + i / PHX_BLOCK_LANES;
        const uint32_t lane = (uint32_t)(i % PHX_BLOCK_LANES);
        const size_t left = job->count - i;
        unpack3(job->bend, i, left, v3_load(&block->bend, lane));
        unpack4(job->root_rotation, i, left, q4_load(&block->root_rotation, lane));
        unpack4(job->mid_rotation, i, left, q4_load(&block->mid_rotation, lane));
        unpack_result(job->result, i, left, f_load(block->residual.v + lane), i_splat(1), i_load(block->flags.v + lane));
    }
}

static void single(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count) {
    two_bone_inherit(setup, blocks, NULL, count);
    (void)two_bone_blocks, (void)two_bone_job, (void)pack1, (void)unpack1;
}

#if PHX_LANES == 16
static lane_apart void stream(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        phx_two_bone_block *block = blocks + k;
        const char *later = k + 4 < count && count > 512 ? (const char *)(block + 4) : NULL;
        fetch_part(later, 0);
        const lv3 root = v3_load(&block->root, 0), mid = v3_load(&block->mid, 0), tip = v3_load(&block->tip, 0), none = v3_splat(0, 0, 0);
        two_bone_in in = {.thigh = v3_sub(mid, root), .shin = v3_sub(tip, mid), .delta = v3_sub(v3_load(&block->target, 0), root)};
        in.pole = v3_load(&block->pole, 0), in.previous = v3_load(&block->bend, 0), in.rest_bend = none;
        in.pose_norm = in.weight = in.pole_weight = f_splat(1.0f), in.tip_from = q4_identity(), in.tip_to = q4_identity();
        const two_bone_out out = two_bone_core_fetching(setup, &in, PHX_TWIST_INHERIT, 0, later);
        v3_store(&block->bend, 0, out.bend);
        const lf rows[] = {out.root_rotation.x, out.root_rotation.y, out.root_rotation.z, out.root_rotation.w, out.mid_rotation.x,
                           out.mid_rotation.y,  out.mid_rotation.z,  out.mid_rotation.w,  out.residual,        i_as_f(out.flags)};
        for (int row = 0; row < 10; ++row) _mm512_stream_ps(block->root_rotation.x + row * LANES, rows[row]);
    }
    _mm_sfence();
}
#else
#define stream NULL
#endif

const bench_pieces BENCH_PIECES = {pack, unpack, single, stream};
