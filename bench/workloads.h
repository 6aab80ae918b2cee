/* The inputs that every benchmark shares, so that figures can be compared: made once from a fixed seed. Called by the files of bench/. */
#ifndef PHALANX_BENCH_WORKLOADS_H
#define PHALANX_BENCH_WORKLOADS_H

#include "phalanx/phalanx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One leg as an engine keeps it, animated pose and wishes first, what the solver returns last. */
typedef struct bench_leg {
    phx_vec3 hip, knee, ankle; /* animated */
    phx_vec3 target;
    phx_vec3 knee_forward; /* the pole */
    phx_vec3 bend;         /* remembered between frames */
    phx_quat hip_correction, knee_correction;
    phx_result result;
} bench_leg;

/* Walking legs: thigh 0.45 m, shin 0.43 m, hip anywhere in 100 m x 100 m at 0.8 to 1.0 m, any yaw, thigh tilted up to 0.35 rad, knee
 * bent 0.05 to 0.4 rad; targets within 70 degrees of straight down, tilted forward or any other way, nine in ten at 0.30 to 0.98 of the leg's
 * length and one in ten out of reach at 1.005 to 1.3; pole forward with 0.15 of noise. */
void bench_fill_legs(bench_leg *legs, size_t count);

/* The same legs as blocks; legs beyond the count are lanes of zeros. */
void bench_fill_blocks(phx_two_bone_block *blocks, const bench_leg *legs, size_t count);

/* Long chains: bones of 0.1 to 0.3 m, root within 10 m, each bone turned by 0.05 to 0.3 rad about a random axis from the one before;
 * target in any direction from the root at 0.2 to 0.9 of the chain's length. positions: [chains][bones + 1], targets: [chains]. */
void bench_fill_chains(phx_vec3 *positions, phx_vec3 *targets, uint32_t bones, size_t chains);

/* Chains whose joints may swing their bone, +Z of their frame, by 45 degrees from their parent's +Z: each is swung by 0.05 to 0.3 rad, and
 * the target is the tip of another pose, each joint swung by up to 0.78 rad. rotations, of the world: as positions. */
void bench_fill_limited_chains(phx_vec3 *positions, phx_quat *rotations, phx_vec3 *targets, uint32_t bones, size_t chains);

#ifdef __cplusplus
}
#endif
#endif
