/* Inside of a crowd: prepared setup, state rows and workspace rows, and the task that a backend works on. Shared by
 * crowd/crowd.c (memory, validation), kernel/crowd.inl and reference/crowd.c (the work), crowd/draw.c and crowd/capture.c. */
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
    uint16_t hip_parent, knee_parent, ankle_parent, ball_parent; /* slots; hip_parent PHX_NO_JOINT at a root */
    uint16_t hip_joint, knee_joint, ankle_joint, ball_joint;     /* ball_joint PHX_NO_JOINT where there is none */
    phx_vec3 heel_offset, ball_offset, knee_forward;
    uint32_t limits;
    float short_at_min_bend, open_at_max_bend; /* see phx_two_bone_setup */
} phx_leg_setup;

/* Where up points: kernels know the axes that are common. */
typedef enum phx_up { PHX_UP_ANY, PHX_UP_Y, PHX_UP_Z } phx_up;

/* phx_crowd_def, prepared: lengths in the rig's units, angles as cosines. */
typedef struct phx_crowd_setup {
    phx_walk_plan plan;
    uint32_t leg_count;
    phx_leg_setup legs[PHX_MAX_LEGS];
    uint16_t pelvis_joint, pelvis_slot, pelvis_parent;
    phx_vec3 up; /* unit */
    phx_up up_axis;
    phx_vec3 level_a, level_b; /* unit, at right angles to each other and to up: what level rows are measured along where up is no axis */
    int scaled;
    float step_up, ray_length;
    float cos_max_slope, sin_max_pitch, sin_max_roll, sin_half_toe;
    float max_pelvis_drop, max_pelvis_rise, pelvis_speed;
    float pelvis_half_life, ground_half_life, tilt_half_life, weight_half_life;
    float hold_seconds, contact_height, inverse_swing_range, swing_height, plant_height;
    float max_extension, soft_start;
    float enter_height, exit_height, enter_speed, exit_speed; /* 0 = from the leg's length */
    int lock, pelvis_spring, pelvis_firm, bodies, replay;
    float release_distance_squared, relock_distance_squared, sin_half_release_twist, release_half_life;
    float ray_reuse_squared;
    float grip_half_life, pelvis_rate; /* pelvis_rate: of the critically damped spring, 1 / s */
    float pelvis_shift, max_pelvis_shift, pelvis_pitch, pelvis_roll, max_pelvis_lean;
    float still; /* tolerance; 0 = always solve */
    float joint_speed[3]; /* of hip, knee and ankle, radians a second; 0 = no limit */
    int fetch_near; /* into which cache level memory is called ahead; no answer depends on it */
} phx_crowd_setup;

/* What a frame's dt means for each filter: the share of the old value that stays. */
typedef struct phx_crowd_step {
    float dt;
    float pelvis_keep, ground_keep, tilt_keep, weight_keep, grip_keep, release_keep;
    float turn_sine[3], turn_cosine[3]; /* of half the angle by which hip, knee and ankle may turn; cosine -1 = no limit */
} phx_crowd_step;

phx_crowd_step phx_crowd_step_of(const phx_crowd_setup *setup, float dt);

/* State of 16 characters that lives from frame to frame. Rows only, and captures hold them: a change of these structs, of the marks or of
 * the velocity's row needs a new CAPTURE_VERSION in capture.c. What is 1 or 0 is a mark of a leg's flags. */
typedef struct phx_character_state {
    phx_rows1 skipped; /* seconds that passed at a lower level of detail since the last full solve */
    phx_rows3 root;    /* last root position */
    phx_rows1 pelvis;  /* correction along up */
    phx_rows3 sunk;    /* the pelvis joint's last local translation by which it was moved: for replay */
} phx_character_state;

/* In the upper half of a leg's flags, and for nobody outside; the first two are the character's, and its first leg's tell. Flags that say
 * why a character was left alone come without marks. */
typedef enum phx_mark {
    PHX_MARK_VALID = 1u << 16,  /* the rows hold last frame's values */
    PHX_MARK_CLIMBS = 1u << 17, /* the root rose or fell faster than the pelvis may move */
    PHX_MARK_KNOWN = 1u << 18,  /* the plane was seen */
    PHX_MARK_STANDS = 1u << 19, /* in contact, by hysteresis */
    PHX_MARK_STOOD = 1u << 20,  /* in contact once since the plane was first seen: its next swing is a whole one */
    PHX_MARK_LOCKED = 1u << 21  /* the ball is locked, and the foot stands */
} phx_mark;
enum { PHX_FLAGS_OUTSIDE = 0xFFFF };

/* Level vectors, by two components: along the two axes that are not up, or along the setup's level_a and level_b. */
typedef struct phx_level_rows {
    PHX_ALIGN_64 float a[PHX_BLOCK_LANES];
    float b[PHX_BLOCK_LANES];
} phx_level_rows;

/* What only feet that are not locked have. */
typedef struct phx_loose_rows {
    phx_rows1 swung;   /* seconds since it last stood */
    phx_rows1 support; /* for phx_foot_info; 1 while it is locked */
} phx_loose_rows;

/* State of one leg of 16 characters. Points are relative to the last root position, along world axes, but for those marked
 * "carried": where the frame has bodies, they are in the frame of the body under the foot. */
typedef struct phx_leg_state {
    phx_rows3 point, normal;     /* plane under the foot */
    phx_rows1 ball_ground;       /* height of what the ball's ray last hit, over the root's level */
    phx_rows1 missed;            /* seconds since a ray last hit */
    phx_rows1 weight;            /* 0 animated .. 1 on the ground */
    phx_rows1 jump;              /* height by which the foot still lags behind a jump of the ground */
    phx_rows3 tilt;              /* smoothed normal that the foot follows */
    phx_level_rows heel_shift, ball_shift; /* where the soles ended, sideways, from where they were animated: next frame's rays start there */
    phx_rows3 ball;              /* animated ball, carried: its speed tells a standing foot */
    phx_rows1 swing;             /* seconds that its last whole swing took; 0 = not known */
    phx_rows3 landing;           /* the animated ball where that swing ended, level, in the root's frame */
    phx_rows1 grip;              /* its contact, eased */
    phx_rows3 lock_point;        /* carried */
    union {
        phx_rows3 lock_heading;  /* of a locked foot: heel to ball, carried */
        phx_loose_rows loose;    /* of any other */
    };
    phx_rows1u generation;       /* of the body under the foot */
    phx_rows3 offset;            /* level shift that the lock, or what is left of it, gives the foot */
    phx_rows1 yaw;               /* sine of half the turn that it gives */
    phx_rows3 bend;              /* bend direction used */
    phx_rows3 target;            /* ankle target: for phx_foot_info */
    phx_rows1 residual;          /* for phx_foot_info */
    phx_rows1u flags;            /* phx_flag and phx_mark */
    phx_rows1u body;
} phx_leg_state;

static inline int phx_is_marked(const phx_leg_state *leg, uint32_t lane, phx_mark mark) { return (leg->flags.v[lane] & (uint32_t)mark) != 0; }
static inline float phx_support_of(const phx_leg_state *leg, uint32_t lane) {
    return phx_is_marked(leg, lane, PHX_MARK_LOCKED) ? 1.0f : leg->loose.support.v[lane];
}

/* The plane in the frame of its body; only where bodies may be given. */
typedef struct phx_carried_plane {
    phx_rows3 point, normal;
} phx_carried_plane;

/* Last frame's local corrections, new = correction * animated, as the vector part of a quaternion with w >= 0; only where
 * replay may be asked for. */
typedef struct phx_leg_replay {
    phx_rows3 hip, knee, ankle;
} phx_leg_replay;

/* Local rotations as the last frame was left; only where joints may turn only so fast. */
typedef struct phx_leg_turns {
    phx_rows4 hip, knee, ankle;
} phx_leg_turns;

/* Level shift and lean of the pelvis; only where the params ask for one of them. */
typedef struct phx_pelvis_state {
    phx_rows3 shift; /* level, along world axes */
    phx_rows3 lean;  /* level, in the direction in which up leans, as long as the angle */
    phx_rows3 turn;  /* last frame's local correction of the pelvis, as in phx_leg_replay */
} phx_pelvis_state;

/* What a character was solved with, only where still ones are not solved again. */
typedef struct phx_character_still {
    phx_rows1 settled; /* 1 = no filter was on its way any more; 2 = and the last frame was not solved */
    phx_rows1 weight;
} phx_character_still;
typedef struct phx_leg_still {
    phx_rows3 hip, knee, heel; /* animated; the heel carried */
} phx_leg_still;

/* Animated soles of 16 characters' feet, from prepare to solve. */
typedef struct phx_foot_rows {
    phx_rows3 heel, ball;
    phx_rows1 length; /* of thigh and shin */
    phx_rows1 look;   /* seconds until a swinging foot will be where its ball's ray was cast; 0 = the ray is under the ball */
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
    phx_rows1 *good;          /* [group] -1 = at a lower level of detail or off, 0 = bad input, 1 = to be solved, without memory, 2 = with memory */
    phx_joint_rows *joints;
    phx_rows3 *scales;
    phx_foot_rows *feet;
    phx_ray_block *rays;
    phx_character_state *characters;
    phx_leg_state *legs;
    phx_rows1 *velocities;      /* [group] of the pelvis; NULL unless it follows by the spring */
    phx_carried_plane *carried; /* like legs; NULL unless setup->bodies */
    phx_leg_replay *replays;    /* like legs; NULL unless setup->replay or setup->still */
    phx_leg_turns *turns;       /* like legs; NULL unless joints may turn only so fast */
    phx_pelvis_state *pelvises; /* [group]; NULL unless the pelvis shifts or leans */
    phx_character_still *stills; /* [group]; NULL unless still characters are not solved again */
    phx_leg_still *still_legs;  /* like legs, as the above */
    uint16_t *wanted;           /* [group] out of prepare: lanes that want rays */
} phx_crowd_task;

/* The crowd itself: one allocation. Whoever looks inside (drawing, capture) only reads, but for the state that a replay starts from. */
enum { PHX_TILE_GROUPS = PHX_TILE_CHARACTERS / PHX_BLOCK_LANES };
/* What lies in a workspace between prepare and solve; a cache line, as every worker writes its own. */
typedef struct phx_prepared {
    PHX_ALIGN_64 uint32_t tile; /* + 1; 0 = nothing */
    uint32_t count;             /* characters */
} phx_prepared;

struct phx_crowd {
    const phx_backend *backend;
    phx_allocator allocator;
    void *memory;
    size_t size;
    uint32_t capacity, tiles, workspaces;
    int per_tile;
    phx_crowd_setup setup;
    phx_crowd_def def; /* as it was given, without the skeleton's parents */
    phx_character_state *characters; /* [tile * PHX_TILE_GROUPS + group] */
    phx_leg_state *legs;             /* [(tile * PHX_TILE_GROUPS + group) * legs + leg] */
    phx_rows1 *velocities;           /* like characters */
    phx_carried_plane *carried;
    phx_leg_replay *replays;
    phx_leg_turns *turns;
    phx_pelvis_state *pelvises;      /* like characters */
    phx_character_still *stills;     /* like characters */
    phx_leg_still *still_legs;
    /* the first workspace: PHX_TILE_GROUPS entries (times slots, legs, rays); the others lie workspace_bytes on, each */
    size_t workspace_bytes;
    phx_rows4 *root_rotation;
    phx_rows3 *root_position;
    phx_rows1 *good;
    phx_joint_rows *joints;
    phx_rows3 *scales;
    phx_foot_rows *feet;
    phx_ray_block *rays;
    phx_prepared *prepared;
};

/* which workspace a tile has in this frame */
static inline size_t phx_workspace_of(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile) {
    return crowd->per_tile ? tile : frame->worker;
}

/* a workspace's own array, from the first one's; NULL stays */
static inline void *phx_in_workspace(const phx_crowd *crowd, void *first, size_t workspace) {
    return first ? (char *)first + workspace * crowd->workspace_bytes : NULL;
}

/* characters of one of the frame's tiles */
static inline uint32_t phx_tile_count(const phx_crowd_frame *frame, uint32_t tile) {
    const uint32_t left = frame->count - tile * PHX_TILE_CHARACTERS;
    return left < PHX_TILE_CHARACTERS ? left : PHX_TILE_CHARACTERS;
}

static inline phx_prepared *phx_prepared_of(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile) {
    return (phx_prepared *)phx_in_workspace(crowd, crowd->prepared, phx_workspace_of(crowd, frame, tile)); /* the bench reads this as C++ */
}
/* does all of this tile lie there, and was not solved yet? */
static inline int phx_is_prepared(const phx_prepared *prepared, uint32_t tile, uint32_t count) {
    return prepared->tile == tile + 1 && prepared->count >= count;
}

#endif
