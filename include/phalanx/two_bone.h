/* Two-bone solver: a limb of root, mid and tip joints (hip, knee, ankle) reaches for a target in closed form.
 *
 * Two faces. BLOCKS are for those who keep their data as rows of 16: no copy, no branch on options that are not given.
 * JOBS read and write the caller's own arrays through strided views, block by block through a scratch block on the stack.
 * Both give the same bits for the same leg, on every backend, in every position, alone or among others.
 *
 * Method. delta = target - root, axis = delta / |delta| (the animated root-to-tip direction where |delta| is nothing);
 * distance d = |delta| clamped to [|l1 - l2| + e, l1 + l2 - e] with e = 2^-22 (l1 + l2), and to the knee's limits; law of
 * cosines for the elbow, elbow = root + a axis + h bend. The bend direction is the first usable of: pole, previous bend,
 * the pose's own bend plane, rest bend, a fixed axis (X if |axis.x| <= |axis.y|, else Y), each less its part along the
 * axis. A hint whose remainder is shorter than direction_tolerance times itself is unusable. The pose's plane keeps its side while
 * the limb swings less than a right angle from the pose; beyond that give a pole, or keep `bend` between frames.
 *
 * Accuracy, in reach, relative to the limb's length: residual 4e-7, positions 1e-6, rotations lead to the positions within 3e-6.
 * Corrections are unit within 2e-6, local rotations within 3e-7. */
#ifndef PHALANX_TWO_BONE_H
#define PHALANX_TWO_BONE_H

#include "backend.h"

PHX_EXTERN_C_BEGIN

typedef struct phx_two_bone_params {
    phx_twist twist;           /* PHX_TWIST_PLANE by default */
    float tolerance;           /* REACHED within this share of the chain's length; [1e-30, 1], default 1e-4 */
    float direction_tolerance; /* hints closer to the limb than this are unusable, as a sine; [1e-6, 0.5], default 1e-4 */
    float soft_start;          /* share of full length where the reach begins to ease in; [1e-3, 1], 1 = off (default) */
    float max_stretch;         /* both bones may grow up to this factor; [1, 16], 1 = off (default) */
    float min_bend, max_bend;  /* knee angle between thigh and shin, radians: 0 straight, pi folded; default 0 and pi */
    float max_bend_turn;       /* the bend plane turns at most this far from the previous bend, radians; [0, pi], pi = off (default) */
} phx_two_bone_params;

PHX_API phx_two_bone_params phx_two_bone_params_default(void);

/* ---- blocks ---- */

/* Sixteen legs. An all-zero lane is a chain without length: it is left alone and flagged, so zeroed lanes are safe fill. */
typedef struct phx_two_bone_block {
    phx_rows3 root, mid, tip; /* in: animated joint positions */
    phx_rows3 target;         /* in: where the tip should go */
    phx_rows3 pole;           /* in: direction the mid joint should bend toward; zero = none */
    phx_rows3 bend;           /* in: previous bend direction, zero = none; out: unit bend used (bad input: as it was; zero if unusable) */
    phx_rows4 root_rotation;  /* out: correction, new world rotation = correction * animated world rotation */
    phx_rows4 mid_rotation;   /* out: likewise */
    phx_rows1 residual;       /* out: metres */
    phx_rows1u flags;         /* out: phx_flag bits */
} phx_two_bone_block;

/* Rows that only some callers need; one beside each block, or none at all. phx_two_bone_extra_default() fills the inputs
 * so that they change nothing. */
typedef struct phx_two_bone_extra {
    phx_rows1 weight;        /* in: 0 animated .. 1 solved, clamped; NaN is bad input */
    phx_rows1 pole_weight;   /* in: 0 ignore the pole .. 1 follow it, clamped */
    phx_rows3 rest_bend;     /* in: bend direction of the rest pose, in the space of the joints; zero = none */
    phx_rows4 tip_from;      /* in: animated world rotation of the tip */
    phx_rows4 tip_to;        /* in: wanted world rotation of the tip; all zero = the tip turns with its bone */
    phx_rows4 tip_rotation;  /* out: correction of the tip */
    phx_rows3 mid_position;  /* out */
    phx_rows3 tip_position;  /* out */
    phx_rows1 stretch;       /* out: length factor of both bones, 1 without stretch */
} phx_two_bone_extra;

PHX_API void phx_two_bone_extra_default(phx_two_bone_extra *extra);

/* Solves blocks [0, block_count); blocks and extras (may be NULL) at multiples of 64 bytes. Errors: NULL, alignment,
 * params out of range; nothing is written then. */
PHX_API phx_status phx_two_bone_solve_blocks(const phx_backend *backend, const phx_two_bone_params *params, phx_two_bone_block *blocks,
                                             phx_two_bone_extra *extras, size_t block_count, phx_report *report);

/* ---- jobs ---- */

/* Required: root, mid, tip, target (vec3). All other views may be left NULL. Outputs may alias inputs of the same leg (in place): a
 * leg's inputs are all read before its outputs are written. An output that overlaps another output, or another leg's inputs, is an
 * error.
 *
 * Bad input, flagged and left as animated: a position, weight or pole_weight that is NaN, a position that is infinite, no length at
 * all (bones below about 1e-9 may count as having none), lengths or distances above 1e9, a rotation among those given whose
 * product is far from unit length. A pole, bend or rest_bend that is not finite, or is shorter than 1e-15 or longer than 1e15,
 * counts as a hint that is unusable. */
typedef struct phx_two_bone_job {
    phx_two_bone_params params;
    size_t count; /* legs */
    /* inputs */
    phx_view root, mid, tip;             /* vec3: animated joint positions */
    phx_view target;                     /* vec3 */
    phx_view pole;                       /* vec3: direction */
    phx_view rest_bend;                  /* vec3: direction */
    phx_view weight;                     /* float */
    phx_view pole_weight;                /* float */
    phx_view parent_rotation;            /* quat: world rotation of the root's parent, default identity */
    phx_view root_local;                 /* quat: animated local rotations, needed for *_local_out and target_rotation */
    phx_view mid_local, tip_local;
    phx_view target_rotation;            /* quat: wanted world rotation of the tip; needs the three locals */
    /* input and output */
    phx_view bend;                       /* vec3: previous bend in, bend used out; keep it between frames */
    /* outputs */
    phx_view root_rotation;              /* quat: world correction of the root, new = correction * animated */
    phx_view mid_rotation, tip_rotation; /* quat */
    phx_view root_local_out;             /* quat: new local rotations; may be the very arrays of the inputs */
    phx_view mid_local_out, tip_local_out;
    phx_view mid_position, tip_position; /* vec3 */
    phx_view stretch;                    /* float */
    phx_view result;                     /* phx_result */
} phx_two_bone_job;

PHX_API phx_two_bone_job phx_two_bone_job_default(void);

/* Says what is wrong with a job, in words that name the field; report may be NULL. */
PHX_API phx_status phx_two_bone_validate(const phx_two_bone_job *job, phx_report *report);

/* Blocks of 16 legs that a job has: what a job system splits. */
PHX_API size_t phx_two_bone_block_count(const phx_two_bone_job *job);

/* Validates, then solves all legs. On error nothing is written. */
PHX_API phx_status phx_two_bone_solve(const phx_backend *backend, const phx_two_bone_job *job);

/* The blocks [first, first + count) only; threads may work on disjoint ranges of one job. Validates but for overlaps, which take as
 * long to find as a block or two of legs: call phx_two_bone_validate once for those. */
PHX_API phx_status phx_two_bone_solve_range(const phx_backend *backend, const phx_two_bone_job *job, size_t first, size_t count);

PHX_EXTERN_C_END
#endif
