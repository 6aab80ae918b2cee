/* Long chains: what FABRIK (fabrik.h) and CCD (ccd.h) share. A chain is a row of joints from root to tip, joined by bones; all
 * chains of one call have the same number of joints, the same limits and the same joint weights, and lengths of their own.
 *
 * Two faces, as for two bones. BLOCKS are rows of 16 chains that the caller keeps. A JOB is a set of strided views over the
 * caller's own arrays. Both give the same bits for the same chain, on every backend, in every position, alone or among others.
 *
 * Bad input, flagged and left as animated: a position, start or length that is NaN or infinite, a NaN weight, a negative length, no length
 * at all (bones below about 1e-9 may count as having none), lengths or distances above 1e9, a rotation among those given, or its product
 * with its parents, that is far from unit length.
 *
 * Joint j turns bone j, which leads from joint j to joint j + 1; the tip turns nothing, but has a rotation. Work is done
 * relative to the root, so distance from the origin costs accuracy only where positions are read and written. */
#ifndef PHALANX_CHAIN_H
#define PHALANX_CHAIN_H

#include "limit.h"

PHX_EXTERN_C_BEGIN

#define PHX_CHAIN_MAX_BONES 64
#define PHX_CHAIN_MAX_JOINTS (PHX_CHAIN_MAX_BONES + 1)

typedef struct phx_chain_params {
    float tolerance;           /* REACHED within this share of the chain's length; [0, 1], default 1e-3; 0 runs the whole budget */
    float direction_tolerance; /* hints closer to the root-tip line than this are unusable, as a sine; [1e-6, 0.5], default 1e-4 */
    uint32_t max_iterations;   /* rounds or sweeps; [1, 1024], default 16 */
    float soft_start;          /* share of full length where the reach begins to ease in; [1e-3, 1], 1 = off (default) */
    float max_stretch;         /* all bones may grow up to this factor; [1, 16], 1 = off (default) */
    phx_twist twist;           /* PHX_TWIST_INHERIT (default): shortest swing of every bone; PHX_TWIST_PLANE: follow the bend plane */
} phx_chain_params;

PHX_API phx_chain_params phx_chain_params_default(void);

/* ---- blocks ---- */

/* Arrays of rows, one row for 16 chains, all at multiples of 64 bytes. NULL: the field is absent. An all-zero lane is a chain
 * without length: it is left alone and flagged, so zeroed lanes are safe fill. */
typedef struct phx_chain_blocks {
    size_t count;                /* blocks of 16 chains */
    uint32_t joints;             /* of each chain, root and tip included; [2, PHX_CHAIN_MAX_JOINTS] */
    const phx_limit *limits;     /* [joints], for all chains; NULL = none. Needs `rotation` */
    const float *joint_weights;  /* [joints - 1], for all chains: willingness of a joint to turn, [0, 1]; NULL = 1 (CCD) */
    /* one for each joint: block b, joint j at [b * joints + j] */
    phx_rows3 *position;         /* in: animated; out: solved, unless `solved` is given. Required */
    phx_rows3 *solved;           /* out: solved; NULL = into `position` */
    const phx_rows3 *start;      /* in: where to start from, such as last frame's answer; default: the animated pose */
    const phx_rows4 *rotation;   /* in: animated world rotations */
    phx_rows4 *correction;       /* out: new world rotation = correction * animated */
    /* one for each bone: block b, bone j at [b * (joints - 1) + j] */
    const phx_rows1 *length;     /* in: metres; default: the distances of the animated joints */
    /* one for each block */
    const phx_rows3 *target;     /* in: where the tip should go. Required */
    const phx_rows4 *target_rotation; /* in: wanted world rotation of the tip, all zero = turns with its bone. Needs `rotation` */
    const phx_rows3 *pole;       /* in: direction that the chain should bend toward; zero = none */
    const phx_rows3 *rest_bend;  /* in: bend direction of the rest pose, in the space of the joints; zero = none */
    const phx_rows4 *parent_rotation; /* in: world rotation of the root's parent, which the root's limit refers to; default identity */
    const phx_rows1 *weight;     /* in: 0 animated .. 1 solved, clamped; NaN is bad input; default 1 */
    const phx_rows1u *budget;    /* in: iterations that this chain may use, clamped to max_iterations; 0 leaves it as animated */
    phx_rows3 *bend;             /* in: previous bend direction, zero = none; out: unit bend used (unchanged for bad input) */
    phx_rows1 *stretch;          /* out: length factor of all bones (with ccd.h's `from` of those from there on), 1 without stretch */
    phx_rows1 *residual;         /* out: metres */
    phx_rows1u *iterations;      /* out */
    phx_rows1u *flags;           /* out: phx_flag bits */
} phx_chain_blocks;

/* ---- jobs ---- */

/* Element (chain i, joint j) is at (char *)data + i * chain_stride + j * joint_stride. Any alignment. A chain stride of 0 gives
 * all chains the same values (inputs only). data NULL: the field is absent. Elements of an output must not overlap each other. */
typedef struct phx_joint_view {
    void *data;
    size_t chain_stride, joint_stride;
} phx_joint_view;

static inline phx_joint_view phx_joint_view_of(const void *data, size_t chain_stride, size_t joint_stride) {
    phx_joint_view view;
    view.data = (void *)(uintptr_t)data;
    view.chain_stride = chain_stride;
    view.joint_stride = joint_stride;
    return view;
}

/* Required: position and target. An output may be the very view of an input (in place), as a chain's inputs are all read before its outputs
 * are written. Outputs that share bytes with another joint's or chain's elements, or with each other, are refused (PHX_ERROR_OVERLAP) where
 * both views have the same strides; views of different strides are not compared, and must not overlap. */
typedef struct phx_chain_job {
    size_t count;                   /* chains */
    uint32_t joints;                /* as in phx_chain_blocks, and so limits, joint_weights and all that follows */
    const phx_limit *limits;
    const float *joint_weights;
    /* inputs */
    phx_joint_view position;        /* vec3 */
    phx_joint_view start;           /* vec3 */
    phx_joint_view rotation;        /* quat: animated world rotations; give these, or locals, or neither */
    phx_joint_view local;           /* quat: animated local rotations; the root's parent is parent_rotation */
    phx_joint_view length;          /* float, joints - 1 of them */
    phx_view target;                /* vec3 */
    phx_view target_rotation;       /* quat */
    phx_view pole, rest_bend;       /* vec3 */
    phx_view parent_rotation;       /* quat */
    phx_view weight;                /* float */
    phx_view budget;                /* uint32 */
    /* input and output */
    phx_view bend;                  /* vec3 */
    /* outputs */
    phx_joint_view position_out;    /* vec3 */
    phx_joint_view correction;      /* quat: new world rotation = correction * animated */
    phx_joint_view rotation_out;    /* quat: new world rotations; needs `rotation` or `local` */
    phx_joint_view local_out;       /* quat: new local rotations; needs `rotation` or `local` */
    phx_view stretch;               /* float */
    phx_view result;                /* phx_result */
} phx_chain_job;

PHX_API phx_chain_job phx_chain_job_default(void);

/* Says what is wrong with a job, in words that name the field; report may be NULL. */
PHX_API phx_status phx_chain_job_validate(const phx_chain_job *job, phx_report *report);

/* Blocks of 16 chains that a job has: what a job system splits. */
PHX_API size_t phx_chain_job_block_count(const phx_chain_job *job);

PHX_EXTERN_C_END
#endif
