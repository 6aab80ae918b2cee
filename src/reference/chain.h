/* What the reference solvers of long chains share: one chain read from a job or from a lane of a block, solved, written back.
 * The lane twin is kernel/chain.inl. Called by fabrik.c and ccd.c. */
#ifndef PHX_REFERENCE_CHAIN_H
#define PHX_REFERENCE_CHAIN_H
#include "../backend/ops.h"
#include "scalar.h"

typedef struct phx_reference_chain {
    uint32_t joints;
    int has_start, has_rotation, has_length, has_pole, has_bend, has_weight, has_target_rotation;
    int wants_rotation;                              /* corrections are asked for */
    phx_vec3 position[PHX_CHAIN_MAX_JOINTS];         /* in: animated; out: solved */
    phx_vec3 start[PHX_CHAIN_MAX_JOINTS];
    phx_quat rotation[PHX_CHAIN_MAX_JOINTS];
    phx_quat correction[PHX_CHAIN_MAX_JOINTS];       /* out */
    float length[PHX_CHAIN_MAX_BONES];
    phx_vec3 target, pole, rest_bend, bend;          /* bend: in and out; absent vectors are zero */
    phx_quat target_rotation, parent_rotation;       /* absent: zero, identity */
    float weight;
    uint32_t budget;                                 /* absent: UINT32_MAX */
    float stretch, residual;                         /* out */
    uint32_t iterations, flags;                      /* out */
} phx_reference_chain;

typedef void phx_reference_chain_solver(const void *setup, phx_reference_chain *chain);

void phx_reference_chain_blocks(const void *setup, const phx_chain_blocks *blocks, size_t first, size_t count, phx_reference_chain_solver *solve);
void phx_reference_chain_job(const void *setup, const phx_chain_job *job, size_t first, size_t count, phx_reference_chain_solver *solve);
#endif
