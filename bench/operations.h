/* How many lane operations a kernel spends: the kernel's own source, compiled over lanes that count. Called by roofline.cpp. */
#ifndef PHALANX_BENCH_OPERATIONS_H
#define PHALANX_BENCH_OPERATIONS_H

#include "backend/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* vector instructions, summed over a call */
typedef struct bench_operations {
    uint64_t mul, add, div, sqrt;
    uint64_t other; /* comparisons, selections, minima, bit operations */
} bench_operations;

/* Puts counting kernels for crowds in the place of a backend's own; what they spend is added up where the pointer leads. */
bench_operations *bench_count_crowd_w4(phx_backend *backend);
#if defined(PHX_HAVE_AVX2)
bench_operations *bench_count_crowd_w8(phx_backend *backend);
#endif
#if defined(PHX_HAVE_AVX512)
bench_operations *bench_count_crowd_w16(phx_backend *backend);
#endif

/* Solves the blocks and tells what it took. operations.inl, compiled for each width. */
void bench_count_two_bone_w4(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count, bench_operations *operations);
#if defined(PHX_HAVE_AVX2)
void bench_count_two_bone_w8(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count, bench_operations *operations);
#endif
#if defined(PHX_HAVE_AVX512)
void bench_count_two_bone_w16(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count, bench_operations *operations);
#endif

#ifdef __cplusplus
}
#endif
#endif
