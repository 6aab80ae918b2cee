/* CCD: long chains of joints that turn toward a target, 1 to 64 bones, with limits, weights and rotations. For arms on ladders,
 * spines that lean, tails that reach; for a plain limb of two bones use two_bone.h.
 *
 * Method. A sweep of the default mode is one of two steps. DISTANCE goes from the tip to the root as CCD does, but each inner
 * joint only changes the distance between root and tip, by its share of what is missing, and the root then aims the chain: a
 * free chain arrives in one sweep, nearly always. The share of joint j, with s_j metres of chain before it out of L, is
 * w_j (s_j (L - s_j))^2 of the sum over the joints that are still to come, so that a joint that could not do its part leaves it
 * to the next. The triangle of root, joint and tip closes on either side: on the one it has, but a hinge of a chain that is more
 * than a tenth of its length from the target takes the other where its range allows that one alone.
 * SHARE turns all joints at once by damped least squares: with r_j = tip - p_j and e = target - tip, y solves
 * (sum w_j (|r_j|^2 I - r_j r_j^T) + (1e-5 L^2 + 0.2 min(|e|^2, L^2)) I) y = e, and joint j turns by t_j = w_j (r_j x y); hinges enter with
 * their axis alone, joints at a limit without the direction that is blocked. Turns do not add up: to the second order the tip comes to lie
 * sum_j (t_1 + ... + t_(j-1) + t_j / 2) x (t_j x r_j) beyond their sum, and where that is less than a quarter of e, it is taken from e and
 * shared again, so that the step misses by the third order of the turns. Free chains go distance, share, share, and again;
 * chains whose root is limited go distance, share, share, ...; a chain that starts near its target begins with share, which disturbs a
 * warm pose least, above all one whose tip is near its root, which would turn far to aim it. Near is within 2.5 % of the chain's length;
 * within 10 % where the root is free and the target nearer to it than 0.9 of the length (0.3 from 6 bones on, 0.2 where hinges follow), or where it is a hinge and the target in reach;
 * within 5 % where the root is limited otherwise. The best pose seen is returned. Sweeps end early where nothing is gained by them:
 * out of reach, or stalled.
 * A chain that meets limits may be in a pose from which no small turn helps though another pose would reach: it is flagged STALLED, for
 * that cannot be told from a target that no allowed pose reaches. `restarts` tries other poses first.
 * Bones are as long as the animated joints are apart, to 21 significant bits, so that answers fed back creep by no more than
 * a few 1e-6 of the chain's length in 10,000 frames at 16 bones (give `length`, and they do not). One whose joints
 * coincide but that is given a length starts along the bone before it, or toward the target. A target beyond 10 000 times the chain's
 * length is aimed at as if it were that far; its residual is the true distance.
 * Bones below about 1e-9 m may count as having no length, those above 1e9 are bad input. A pole shorter than 1e-12 or longer
 * than 1e18 is unusable.
 * PHX_CCD_PLAIN is the textbook's method (Wang and Chen 1991): every joint, from the tip's parent to the root, turns so
 * that the tip comes nearest to the target. It stalls on many targets; it is here for those who know its motion and want it. */
#ifndef PHALANX_CCD_H
#define PHALANX_CCD_H

#include "chain.h"

PHX_EXTERN_C_BEGIN

typedef enum phx_ccd_mode {
    PHX_CCD_SHARE = 0, /* distance first, then share */
    PHX_CCD_PLAIN = 1
} phx_ccd_mode;

typedef struct phx_ccd_params {
    phx_chain_params chain; /* `twist` must be PHX_TWIST_INHERIT: a joint's twist comes of its turns */
    phx_ccd_mode mode;
    uint32_t from;          /* first joint that turns; those before it stay as animated; default 0. Where no bone from there on has a length
                               the chain is bad input */
    float damping;          /* plain mode: the share of each turn that is taken; [0.001, 1], default 1 */
    float max_turn;         /* the most that a joint turns in one sweep, radians; [0.0001, pi], pi = off (default) */
    uint32_t restarts;      /* how often a limited chain that stalls starts again from another pose; [0, 8], default 3. A chain
                               with `start` never does: it would jump. So set 0 where the position itself is last frame's */
} phx_ccd_params;

PHX_API phx_ccd_params phx_ccd_params_default(void);

/* All blocks, in place. Blocks and their fields as in chain.h; errors: NULL, alignment, values and counts out of range; nothing is
 * written then. A call uses up to 110 KB of stack, 65 KB up to 16 bones, with limits 290 KB, and a job 85 KB more for packing. */
PHX_API phx_status phx_ccd_solve_blocks(const phx_backend *backend, const phx_ccd_params *params, const phx_chain_blocks *blocks,
                                        phx_report *report);

/* What is wrong with a job, in words that name the field; report may be NULL. */
PHX_API phx_status phx_ccd_validate(const phx_ccd_params *params, const phx_chain_job *job, phx_report *report);

/* Validates, then solves all chains. On error nothing is written. */
PHX_API phx_status phx_ccd_solve(const phx_backend *backend, const phx_ccd_params *params, const phx_chain_job *job, phx_report *report);

/* The blocks [first, first + count) of phx_chain_job_block_count(job); threads may work on disjoint ranges of one job. */
PHX_API phx_status phx_ccd_solve_range(const phx_backend *backend, const phx_ccd_params *params, const phx_chain_job *job, size_t first,
                                       size_t count, phx_report *report);

PHX_EXTERN_C_END
#endif
