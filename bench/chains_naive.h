/* FABRIK and CCD as users write them: arrays of structures, one chain after the other, no guards. Called by chains.cpp. */
#ifndef PHALANX_BENCH_CHAINS_NAIVE_H
#define PHALANX_BENCH_CHAINS_NAIVE_H

#include "workloads.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Solves in place: positions [chains][bones + 1], lengths [chains][bones]. Stops a chain within tolerance (a share of its length) or after
 * max_rounds. Returns the rounds spent in all; *reached counts the chains that arrived. */
uint64_t bench_naive_fabrik(phx_vec3 *positions, const float *lengths, const phx_vec3 *targets, uint32_t bones, size_t chains,
                            float tolerance, uint32_t max_rounds, size_t *reached);
uint64_t bench_naive_ccd(phx_vec3 *positions, const float *lengths, const phx_vec3 *targets, uint32_t bones, size_t chains,
                         float tolerance, uint32_t max_rounds, size_t *reached);

#ifdef __cplusplus
}
#endif
#endif
