/* Long chains that every benchmark of FABRIK and CCD shares: made once from a fixed seed, as an engine keeps them and as blocks.
 * Called by the files of bench/. */
#ifndef PHALANX_BENCH_CHAIN_WORKLOAD_H
#define PHALANX_BENCH_CHAIN_WORKLOAD_H

#include "phalanx/phalanx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chains of `bones` bones of 0.1 to 0.3 m, roots within 10 m of the origin, each bone turned 0.05 to 0.3 rad about a random axis from
 * the one before; targets in any direction from the root, at 0.2 to 0.9 of the chain's length. positions[count][bones + 1],
 * lengths[count][bones], targets[count]. */
void bench_fill_chains(uint32_t bones, size_t count, phx_vec3 *positions, float *lengths, phx_vec3 *targets);

/* Blocks of the same chains, `count` rounded up to whole blocks with copies of the last chain; positions, lengths, targets, and room for
 * solved positions, residual, iterations and flags. One allocation, which bench_free_chain_blocks releases; NULL memory on failure. */
typedef struct bench_chain_blocks {
    phx_chain_blocks blocks;
    void *memory;
    size_t bytes;
} bench_chain_blocks;

bench_chain_blocks bench_make_chain_blocks(uint32_t bones, size_t count, const phx_vec3 *positions, const float *lengths,
                                           const phx_vec3 *targets);
void bench_free_chain_blocks(bench_chain_blocks *blocks);

/* What a user would write: arrays of joints, one chain after the other, early stop; `solved` gets the positions. Returns the rounds of all
 * chains together; *reached counts the chains within the tolerance. */
uint64_t bench_naive_fabrik(uint32_t bones, size_t count, const phx_vec3 *positions, const float *lengths, const phx_vec3 *targets,
                            float tolerance, uint32_t max_iterations, phx_vec3 *solved, size_t *reached);

#ifdef __cplusplus
}
#endif
#endif
