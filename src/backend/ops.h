/* The table of kernels that every backend fills: phx_backend. Called by src/api (after validation) and by tests and bench
 * through the public functions. To add a kernel: write it in src/kernel/NAME.inl and src/reference/NAME.c, add one pointer
 * here and one line in kernel/table.inl and reference/table.c. */
#ifndef PHX_BACKEND_OPS_H
#define PHX_BACKEND_OPS_H

#include "phalanx/two_bone.h"
#include "phalanx/chain.h"
#include "phalanx/ccd.h"
#include "../crowd/crowd.h"
#include "phalanx/fabrik.h"
#include "phalanx/aim.h"

/* phx_two_bone_params, prepared once a call: squares and cosines, so that lanes see no trigonometry of constants. */
typedef struct phx_two_bone_setup {
    phx_twist twist;
    float tolerance;
    float direction_tolerance_squared;
    float soft_start;
    float max_stretch;
    float short_at_min_bend, open_at_max_bend; /* 2 (1 - cos min_bend), 2 (1 + cos max_bend): squared distances in units of l1 l2 */
    float cos_turn, sin_turn;
    uint32_t soft, stretch, limits, turn_limit; /* is the feature on? */
} phx_two_bone_setup;

/* phx_limit, prepared: unit axes, half-angle cosines and sines, tangents of quarter angles. */
typedef struct phx_limit_setup {
    uint32_t type;                   /* phx_limit_type */
    uint32_t twist_free;             /* the range is a full turn */
    phx_quat rest;
    phx_vec3 axis, side, across;     /* orthonormal */
    float middle_cos, middle_sin;    /* of half the middle of the range */
    float range_cos, range_sin;      /* of a quarter of the range's width: half the angle between middle and end */
    float tan_side, tan_across;      /* of a quarter of the largest swings; equal for a cone */
    float inverse_side, inverse_across;
    float narrow, evolute;           /* ellipse only: shorter over longer of these tangents; 1 - its square */
    float slack; /* of the swing's tangents, ellipse only: rounding across a direction that is nearly closed is no reason to move again */
} phx_limit_setup;

/* phx_chain_params and the tables that all chains of a call share, prepared once a call. */
typedef struct phx_chain_setup {
    float tolerance;
    float direction_tolerance_squared;
    float soft_start;
    float max_stretch;
    uint32_t max_iterations;
    phx_twist twist;
    uint32_t soft, stretch;          /* is the feature on? */
    uint32_t limited;                /* does any joint have a limit? */
    const float *joint_weights;      /* [joints - 1] or NULL */
    phx_limit_setup limits[PHX_CHAIN_MAX_JOINTS]; /* filled where limited */
} phx_chain_setup;

/* phx_ccd_params and the tables of its chains, prepared once a call. */
typedef struct phx_ccd_setup {
    phx_chain_setup chain;
    phx_ccd_mode mode;
    uint32_t from;
    float direction_tolerance;
    float damping;
    float cap_cos, cap_sin;          /* of half the largest turn */
    uint32_t capped;
    uint32_t restarts;
    uint32_t rounds;                 /* FABRIK's, before the sweeps; limited chains alone */
    uint32_t root_free;              /* joint `from` has no limit and its whole weight */
    float near, near_reach;          /* shares of the length: a chain whose tip is that near its goal, and its goal that near the
                                        root, begins with a share step */
    phx_fabrik_stats *stats;         /* may be NULL */
    float weight[PHX_CHAIN_MAX_BONES];
    phx_vec3 hinge_axis[PHX_CHAIN_MAX_JOINTS]; /* in the parent's frame; filled where limited */
    float hinge_side[PHX_CHAIN_MAX_JOINTS];    /* sign of a hinge's range, 0 where it goes both ways alike */
} phx_ccd_setup;
typedef struct phx_fabrik_setup {
    phx_chain_setup chain;
    phx_fabrik_stats *stats; /* may be NULL */
} phx_fabrik_setup;

typedef struct phx_aim_setup {
    phx_chain_setup chain;             /* tolerances and limits */
    phx_vec3 forward, up, eye;         /* in the last joint's frame; forward and up unit, at right angles */
    float cap_cos, cap_sin;            /* of max_angle */
    float cap_chord_squared;           /* of the chord over it, with some rounding */
    uint32_t capped;                   /* does max_angle matter? */
    float share[PHX_CHAIN_MAX_JOINTS]; /* of what is missing when a joint's turn comes */
} phx_aim_setup;

struct phx_backend {
    const char *name;
    uint32_t lanes;
    void (*two_bone_blocks)(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count);
    void (*two_bone_job)(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count);
    void (*limit_apply)(const phx_limit_setup *setup, size_t count, phx_view local, phx_view limited, phx_view changed);
    void (*ccd_blocks)(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count);
    void (*ccd_job)(const phx_ccd_setup *setup, const phx_chain_job *job, size_t first, size_t count);
    /* wanted[k] is the slot of output k; joints and scales hold plan->count entries */
    void (*forward_kinematics)(const phx_fk_job *job, const phx_walk_plan *plan, const uint16_t *wanted, uint32_t wanted_count, size_t first,
                               size_t count, phx_joint_rows *joints, phx_rows3 *scales);
    void (*crowd_prepare)(const phx_crowd_task *task);
    void (*crowd_solve)(const phx_crowd_task *task);
    void (*fabrik_blocks)(const phx_fabrik_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count);
    void (*fabrik_job)(const phx_fabrik_setup *setup, const phx_chain_job *job, size_t first, size_t count);
    void (*aim_job)(const phx_aim_setup *setup, const phx_chain_job *job, size_t first, size_t count);
};

extern const struct phx_backend phx_table_reference;
#if defined(PHX_HAVE_SSE2)
extern const struct phx_backend phx_table_sse2;
#endif
#if defined(PHX_HAVE_NEON)
extern const struct phx_backend phx_table_neon;
#endif
#if defined(PHX_HAVE_WASM)
extern const struct phx_backend phx_table_wasm;
#endif
#if defined(PHX_HAVE_AVX2)
extern const struct phx_backend phx_table_avx2;
#endif
#if defined(PHX_HAVE_AVX512)
extern const struct phx_backend phx_table_avx512;
#endif

#endif
