/* Inside of a crowd: prepared setup, state rows and workspace rows, and the task that a backend works on. Shared by
 * crowd/crowd.c (memory, validation), kernel/crowd.inl and reference/crowd.c (the work). */
#ifndef PHX_CROWD_INTERNAL_H
#define PHX_CROWD_INTERNAL_H

#include "phalanx/crowd.h"

/* Joints to walk, parents first. A slot is an index into the plan. */
typedef struct phx_walk_plan {
    uint32_t count;
    uint16_t *joints;  /* joint of a slot */
    uint16_t *parents; /* slot of its parent, PHX_NO_JOINT for a root */
} phx_walk_plan;

/* The joints `wanted` and all their ancestors; arrays of `joint_count` entries are the caller's, `slots` (one a joint, may be
 * NULL) receives each joint's slot. */
void phx_plan_walk(const phx_skeleton *skeleton, const uint16_t *wanted, uint32_t wanted_count, uint16_t *joints, uint16_t *parents,
                   uint16_t *slots, phx_walk_plan *plan);

/* One joint of 16 characters: root-relative position along world axes, world rotation. */
typedef struct phx_joint_rows {
    phx_rows3 position;
    phx_rows4 rotation;
} phx_joint_rows;

typedef struct phx_leg_setup {
    uint16_t hip, knee, ankle, ball;                /* slots; ball = ankle where there is none */
    uint16_t hip_parent, knee_parent, ankle_parent; /* slots; hip_parent PHX_NO_JOINT at a root */
    uint16_t hip_joint, knee_joint, ankle_joint;
    phx_vec3 heel_offset, ball_offset, knee_forward;
    uint32_t limits;
    float short_at_min_bend, open_at_max_bend; /* see phx_two_bone_setup */
} phx_leg_setup;

/* phx_crowd_def, prepared: lengths in the rig's units, angles as cosines. */
typedef struct phx_crowd_setup {
    phx_walk_plan plan;
    uint32_t leg_count;
    phx_leg_setup legs[PHX_MAX_LEGS];
    uint16_t pelvis_joint, pelvis_slot, pelvis_parent;
    phx_vec3 up;
    int scaled;
    float step_up, ray_length;
    float cos_max_slope, cos_max_tilt, sin_max_tilt;
    float max_pelvis_drop, max_pelvis_rise, pelvis_speed;
    float pelvis_half_life, ground_half_life, tilt_half_life, weight_half_life;
    float hold_seconds, contact_height, inverse_swing_range, swing_height, plant_height;
    float max_extension, soft_start;
} phx_crowd_setup;

/* What a frame's dt means for each filter: the share of the old value that stays. */
typedef struct phx_crowd_step {
    float dt;
    float pelvis_keep, ground_keep, tilt_keep, weight_keep;
    float pelvis_travel; /* farthest the pelvis moves this frame */
} phx_crowd_step;

/* State of 16 characters that lives from frame to frame. */
typedef struct phx_character_state {
    phx_rows1 valid;  /* 1 = the rows below hold last frame's values */
    phx_rows3 root;   /* last root position */
    phx_rows1 pelvis; /* correction along up */
} phx_character_state;

/* State of one leg of 16 characters. Points are relative to the last root position, along world axes. */
typedef struct phx_leg_state {
    phx_rows3 point, normal;     /* plane under the foot */
    phx_rows1 known;             /* 1 = the plane was seen */
    phx_rows1 missed;            /* seconds since a ray last hit */
    phx_rows1 weight;            /* 0 animated .. 1 on the ground */
    phx_rows1 jump;              /* height by which the foot still lags behind a jump of the ground */
    phx_rows3 tilt;              /* smoothed normal that the foot follows */
    phx_rows3 heel_shift, ball_shift; /* where the soles ended, sideways, from where they were animated: next frame's rays start there */
    phx_rows3 bend;              /* bend direction used */
    phx_rows3 target;            /* ankle target: for phx_foot_info */
    phx_rows1 support, residual; /* for phx_foot_info */
    phx_rows1u flags, body;
} phx_leg_state;

/* Animated soles of 16 characters' feet, from prepare to solve. */
typedef struct phx_foot_rows {
    phx_rows3 heel, ball;
} phx_foot_rows;

/* One tile's work for a backend. Arrays are indexed by group of 16 characters within the tile: joints[group * slots + slot],
 * scales likewise (NULL unless scaled), feet and legs[group * legs + leg], rays[(group * legs + leg) * 2 + end]. */
typedef struct phx_crowd_task {
    const phx_crowd_setup *setup;
    const phx_crowd_frame *frame;
    phx_crowd_step step;
    uint32_t first, count; /* characters */
    phx_rows4 *root_rotation; /* [group] */
    phx_rows3 *root_position; /* [group] */
    phx_rows1 *good;          /* [group] 1 = finite input and not switched off */
    phx_joint_rows *joints;
    phx_rows3 *scales;
    phx_foot_rows *feet;
    phx_ray_block *rays;
    phx_character_state *characters;
    phx_leg_state *legs;
} phx_crowd_task;

#endif
