/* Aim: a joint, or several that share the turn (spine, neck and head), turn until the last one's forward axis meets the target.
 *
 * Data are those of a chain job (chain.h), whose `joints`, 1 to 65 of them from the first to the last, all turn. It takes position,
 * rotation or local (one of them required), target, pole (where the last joint's up axis should point), parent_rotation, weight,
 * limits, and joint_weights, one for each joint: how they share the turn, equally where absent. It writes position_out, correction,
 * rotation_out, local_out, result; no other field may be given.
 *
 * Method. From the first joint to the last, each turns all that follow it about itself by its share of what is still missing; the
 * last one takes the rest, so that the ray from the eye along the forward axis passes through the target exactly: with g = target -
 * joint and o = eye - joint, the point p = o + t f of the ray at the distance |g| is swung onto g, t = -o.f + sqrt((o.f)^2 - |o|^2 +
 * |g|^2); where no such point lies ahead, the forward axis is turned parallel to the way from eye to target. A half turn goes about
 * the up axis. With a pole a further turn about g, which leaves the ray on the target, brings the up axis nearest to the pole, or as
 * near as `max_angle` lets it; a pole shorter than 1e-12 or longer than 1e18 is unusable. Where target and the joint whose turn it is, or
 * target and eye, are within about 1e-9 m of each other that joint has no way to turn: TOO_CLOSE, unless others turn the ray there. Distances above 1e9 are bad input, as in chain.h. */
#ifndef PHALANX_AIM_H
#define PHALANX_AIM_H

#include "chain.h"

PHX_EXTERN_C_BEGIN

typedef struct phx_aim_params {
    phx_vec3 forward, up;      /* in the last joint's own frame, any length, not parallel; default +Z and +Y. `up` counts by its part at right
                                  angles to `forward` */
    phx_vec3 eye;              /* where the forward ray starts, in the last joint's own frame, metres; default 0: at the joint */
    float max_angle;           /* the forward axis ends at most this far from the animated one, radians; [0, pi], pi = off (default). Joint
                                  limits come first: where one holds a joint, and LIMIT is flagged, the axis may end farther away */
    float tolerance;           /* REACHED where the ray misses the target by at most this share of its distance; [0, 1], default 1e-3 */
    float direction_tolerance; /* a pole nearer to the way to the target than this is unusable, as a sine; [1e-6, 0.5], default 1e-4 */
} phx_aim_params;

PHX_API phx_aim_params phx_aim_params_default(void);

/* What is wrong with params or job, in words that name the field; report may be NULL. */
PHX_API phx_status phx_aim_validate(const phx_aim_params *params, const phx_chain_job *job, phx_report *report);

/* Validates, then aims all chains of the job. On error nothing is written. Results: `residual` is the distance in metres by which the
 * ray passes the target; `iterations` is 1, or 0 for bad input and where a weight leaves the chain alone; LIMIT where a joint limit or
 * max_angle stood in the way, TOO_CLOSE where the target lies nearer than the eye can turn to or on it, STALLED where the shares, the weight
 * or max_angle left something over. */
PHX_API phx_status phx_aim_solve(const phx_backend *backend, const phx_aim_params *params, const phx_chain_job *job, phx_report *report);

/* The blocks [first, first + count) of phx_chain_job_block_count(job); threads may work on disjoint ranges of one job. */
PHX_API phx_status phx_aim_solve_range(const phx_backend *backend, const phx_aim_params *params, const phx_chain_job *job, size_t first,
                                       size_t count, phx_report *report);

PHX_EXTERN_C_END
#endif
