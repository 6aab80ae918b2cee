/* FABRIK: a chain of 1 to 64 bones reaches for its target by passes from the tip and from the root (Aristidou and Lasenby, 2011),
 * with what plain FABRIK lacks. Data and results are those of chain.h.
 *
 * Method. Out of reach the chain goes straight, nearer than it can fold it folds along the line: both in one round. Two bones, and
 * chains near the dead zone of one long bone, start from the triangle that this bone and the others make. A chain on or near the line
 * to its target starts from an arc toward the first usable of pole, previous bend, its own bend, rest bend, a fixed axis. A target
 * beyond 0.9 of full length starts from the pose with its bends scaled to fit. The backward pass of every round leaves the first joint off its
 * place, and of this the forward pass would bring a share to the tip, which makes plain FABRIK creep. To the first order that share is known:
 * a joint follows the one before it along its bone and its own goal across it. So the goals are all moved by the shortest way for which nothing
 * arrives; where that hardly can be, for bones near one line, by at most some 30 times what the first joint is off. Errors then fall with their
 * square. Every fourth round of a chain starts three times as far back from the tip's error, for chains near one line; a
 * chain that is still off by more than 1e-3 of its length after eight starts again from an arc. Chains of 6 bones and more do not wait for
 * a second round: a tip within an eighth of the target's distance is brought onto it exactly, by a turn of the middle joint of at most
 * about an eighth (7 degrees), in the plane of the chain's halves, and one of the whole chain about its root; that is no round, and is not
 * done where the halves lie nearly in line or `tolerance` is below 1e-5. After the last round the chain is
 * turned about the root-tip line toward the pole; rotations, target rotation of the tip and weight follow.
 *
 * Joint limits. A chain with limits that starts more than a tenth of its length from a target within reach takes up to four
 * rounds, aimed beyond the target by a share of the last error that Aitken's delta-squared rule predicts: the backward pass is free, and the forward pass, where each joint's parent is known, turns each bone toward its place as far
 * as the joint's limit allows, its twist kept; a joint before a hinge also turns about its bone, so that the hinge can bend toward its
 * place. Limits make rounds slow or let them stall, so where one leaves more than half of the error, and after the last, the chain goes
 * on within its budget by the sweeps of ccd.h and their restarts; so does a chain that starts nearer, for sweeps disturb it least, and
 * one with joint weights below 1. As many targets are met as by sweeps alone, from cold in some 2 iterations more. Joints under cones
 * then turn 20 to 40 % less in all, under hinges up to a quarter less, and the root least; legs, spines and knees below a free root turn
 * up to half as much again. Limits are met within 1e-4 rad. `twist` does not apply with limits: it comes of the turns.
 *
 * A chain that has met the tolerance is frozen while others in its vector go on, so its answer never depends on them. */
#ifndef PHALANX_FABRIK_H
#define PHALANX_FABRIK_H

#include "chain.h"

PHX_EXTERN_C_BEGIN

/* How well the lanes were used: share of busy lanes = busy / total. Added to by every call. Not for concurrent calls. */
typedef struct phx_fabrik_stats {
    uint64_t busy;  /* rounds, and with limits sweeps, that chains needed */
    uint64_t total; /* those times the lanes that ran them; the reference counts as one lane */
} phx_fabrik_stats;

typedef struct phx_fabrik_params {
    phx_chain_params chain;
    phx_fabrik_stats *stats; /* NULL = not counted (default) */
} phx_fabrik_params;

PHX_API phx_fabrik_params phx_fabrik_params_default(void);

/* Solves the blocks [first, first + count) of `blocks`; threads may work on disjoint ranges. Uses up to 140 KB of stack
 * where joints alone are asked for, 260 KB otherwise, 290 KB with limits, a job 85 KB more for packing. Errors: NULL, alignment,
 * tables or params out of range; nothing is written then. */
PHX_API phx_status phx_fabrik_solve_blocks(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_blocks *blocks,
                                           size_t first, size_t count, phx_report *report);

/* What is wrong with a job, in words that name the field; report may be NULL. */
PHX_API phx_status phx_fabrik_validate(const phx_fabrik_params *params, const phx_chain_job *job, phx_report *report);

/* All chains of a job; validates first. On error nothing is written. */
PHX_API phx_status phx_fabrik_solve(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_job *job, phx_report *report);

/* The blocks [first, first + count) of the job only, see phx_chain_job_block_count. */
PHX_API phx_status phx_fabrik_solve_range(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_job *job, size_t first,
                                          size_t count, phx_report *report);

PHX_EXTERN_C_END
#endif
