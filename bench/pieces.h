/* Parts of the two-bone kernel by themselves, and variants of it that were tried and lost, so that they can be measured again on another
 * machine. pieces.inl, compiled for each width; called by two_bone.cpp, which has checked that this machine may run it. */
#ifndef PHALANX_BENCH_PIECES_H
#define PHALANX_BENCH_PIECES_H

#include "backend/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_pieces {
    /* the inputs of a job's legs to the rows of blocks, and the outputs from there back */
    void (*pack)(const phx_two_bone_job *job, phx_two_bone_block *blocks);
    void (*unpack)(const phx_two_bone_job *job, const phx_two_bone_block *blocks);
    /* One vector at a time. Zen 4, 1,024 legs: 16 % slower than pairs at 4 lanes, 14 % at 8, 7 % at 16. */
    void (*single)(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count);
    /* Outputs by streaming stores, one vector at a time; NULL where a vector is no whole line. No output is read before it is written, a
     * quarter less traffic, but the stores are slow to leave. Zen 4, against `single`: 15 % slower from memory with small pages, 40 %
     * with large ones, 10 to 60 % in any cache. It wins nowhere. */
    void (*stream)(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count);
} bench_pieces;

extern const bench_pieces bench_pieces_w4;
#if defined(PHX_HAVE_AVX2)
extern const bench_pieces bench_pieces_w8;
#endif
#if defined(PHX_HAVE_AVX512)
extern const bench_pieces bench_pieces_w16;
#endif

#ifdef __cplusplus
}
#endif
#endif
