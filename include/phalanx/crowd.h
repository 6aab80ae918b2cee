/* Foot placement for crowds: characters that share a rig walk on ground their animations never saw.
 *
 *     phx_crowd *crowd = phx_crowd_create(&def, &report);          // all memory is taken here
 *     for (tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) { // tiles of 64 characters: what a job system hands out
 *         phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, tile);   // animated poses -> rays
 *         engine_cast(rays);                                              // fills tfar, Ng, geomID
 *         phx_crowd_solve(crowd, &frame, tile);                           // hits -> corrected local rotations, in place
 *     }
 *
 * Tiles are independent: any thread may take any tile, one thread a tile at a time. All tiles may also be prepared first, cast
 * in one batch, then solved; keeping a tile's three steps together is several times faster from memory.
 *
 * What happens to a character: forward kinematics of the leg joints; two rays a foot, under heel and ball; hits that are
 * ceilings, too steep or too high are refused; a plane under the foot; the foot's animated pose over flat ground is carried
 * over to that plane; contact is decided, the foot locked to the body it stands on; the pelvis drops just enough for the
 * supporting legs; jumps of the ground are eased out with an exact half-life; two-bone legs; new local rotations.
 * A swinging foot looks ahead: the crowd learns how long a foot swings and where, seen from the root, it comes down; the ball's ray
 * is cast there, and the foot rises or falls to that ground within the time left instead of at the edge.
 * "Flat ground" of an animation is the plane through the root transform's position, at right angles to `up`. */
#ifndef PHALANX_CROWD_H
#define PHALANX_CROWD_H

#include "pose.h"

PHX_EXTERN_C_BEGIN

#define PHX_MAX_LEGS 8
#define PHX_TILE_CHARACTERS 64
#define PHX_NO_HIT 0xFFFFFFFFu

/* One leg of the rig. Joints by index; lengths and offsets in the skeleton's units. */
typedef struct phx_leg {
    uint16_t hip, knee, ankle;
    uint16_t ball;         /* PHX_NO_JOINT where the foot is one bone */
    phx_vec3 heel_offset;  /* the heel's contact point, in the ankle joint's frame */
    phx_vec3 ball_offset;  /* the ball's contact point, in the ball joint's frame (the ankle's where there is no ball) */
    phx_vec3 knee_forward; /* where the knee points, a direction in the hip joint's frame at right angles to the thigh; rules when the leg is
                              straight */
    float min_bend, max_bend; /* knee angle, radians: 0 straight .. pi folded; both 0 = no limit */
} phx_leg;

/* Measures offsets and knee direction of a leg from one model-space pose of all joints in which the foot stands flat on the
 * ground (a stance frame of a clip, or the rest pose): heel straight below the ankle, ball straight below the ball joint, both
 * on the plane at `ground_height` along `up`. positions and rotations hold one entry a joint of the skeleton. Fills
 * heel_offset, ball_offset and knee_forward: as the knee is bent, or toward `forward` where that is not NULL. A knee that is straight within
 * a degree needs `forward`, or a knee_forward that is there already. Refuses joints that are PHX_NO_JOINT and what is not finite, and leaves
 * *leg as it was then. */
PHX_API phx_status phx_leg_measure(phx_leg *leg, const phx_vec3 *positions, const phx_quat *rotations, phx_vec3 up, float ground_height,
                                   const phx_vec3 *forward, phx_report *report);

/* How feet behave. Metres, seconds, radians, whatever the rig's unit; the defaults are for a leg of 0.9 m. Distances and heights lie
 * in [0, 1000] (steps from 1e-3, swing_height and release_distance from 1e-4), times and speeds in [0, 1e6]. phx_crowd_create rejects
 * others, and names the field. An int is a truth value: any but 0 is 1. */
typedef struct phx_crowd_params {
    float step_up;            /* ground up to this far above the root's level is stood on; default 0.6. Rays that look ahead count from the level that the root will have */
    float step_down;          /* and down to this far below; default 0.6 */
    float max_slope;          /* steeper ground is refused; [0.01, 1.55], default 60 degrees */
    float max_foot_pitch;     /* a foot turns at most this far from its animated attitude, toes up or down; [0, 1], default 45 degrees */
    float max_foot_roll;      /* and sideways; [0, 0.55], default 30 degrees */
    float max_pelvis_drop;    /* default 0.5 */
    float max_pelvis_rise;    /* default 0.2 */
    float pelvis_speed;       /* the pelvis correction moves at most this fast, metres a second; default 1.5 */
    float pelvis_half_life;   /* default 0.06 s */
    float ground_half_life;   /* jumps of the ground under a foot ease out with this half-life, or half of it where a standing foot is to
                                 come down; ground that rises above the sole lifts it at once, as no foot is in the ground; default 0.05 s */
    float tilt_half_life;     /* likewise the foot's attitude; default 0.05 s */
    float weight_half_life;   /* a foot that loses its ground lets go, and takes hold again, with this half-life; default 0.1 s */
    float hold_seconds;       /* a foot whose rays miss keeps its last plane for this long; default 0.1 s */
    float contact_height;     /* a sole lower than this over flat ground counts as support; default 0.02 */
    float plant_height;       /* a foot in contact is drawn onto the ground from at most this far: the clip's own error; default 0.04 */
    float swing_height;       /* a sole higher than this does not, less between the two; above contact_height, default 0.12 */
    float max_extension;      /* share of the leg's length that counts as reach, or as much as the animation itself stretches it; [0.5, 1],
                                 default 0.99 */
    float soft_start;         /* soft reach of the legs begins at this share; [0.5, 1], 1 = off, the default */
    int pelvis_spring;        /* 1 = the pelvis follows by a critically damped spring of the same half-life; default 0 */
    int pelvis_firm;          /* 1 = the pelvis sinks without delay where a standing leg would not reach, at pelvis_speed at most, and
                                 only rises by its filter; 0 = it is filtered both ways, towards legs that are themselves eased
                                 onto the ground, which depends on the frame rate; default 1 */
    /* contact: a foot stands when its sole is low and slow (both enter), until it is high or fast (either exit). Heights and
     * level speeds are of the animation, relative to the body under the foot; 0 = derived from the leg's length L (the default):
     * 0.05 L, 0.07 L, 0.5 L a second, 1.2 L a second; where only one of enter and exit is given, the other from that, in the same ratio. */
    float enter_height, exit_height, enter_speed, exit_speed;
    /* lock: the ball of a standing foot stays where it is on its body, until the foot lifts or the animation has moved away */
    int lock;                 /* 1 = on, the default */
    float release_distance;   /* metres, default 0.2 */
    float release_twist;      /* radians; [0.01, 1.5], default 0.6 */
    float release_half_life;  /* what is left of the lock dies away with this half-life; default 0.05 s */
    float ray_reuse;          /* no ray is asked for while a sole is this near, in level metres, to the last point hit; default 0 = always
                                 ask. Ignored in frames with bodies. Such rays have tfar -1. */
    float max_toe_bend;       /* the ball joint turns at most this far to lie on the ground, radians; [0, 1.5], default 0.6, 0 = off */
    /* The body goes with its feet; smoothed by pelvis_half_life. The slope under the feet is the mean of the planes that carry weight, and
     * along the lines between the feet what their heights add to it. Forward is the mean direction from heel to ball; where it has none all is
     * roll. A pelvis that leans turns about its own joint and takes the upper body along; legs keep their attitude under it. */
    float pelvis_shift;       /* share of the level way by which the soles that stand were moved that the pelvis goes too; [0, 1], default 0 = off */
    float max_pelvis_shift;   /* at most this far; default 0.1 */
    float pelvis_pitch;       /* share of the slope's angle ahead by which the pelvis leans: above 0 with the ground, as what has four legs does,
                                 below 0 into the slope, forward uphill, as climbers do; [-1, 1], default 0 = off */
    float pelvis_roll;        /* share of the slope's angle sideways by which the pelvis leans with the ground; [0, 1], default 0 = off */
    float max_pelvis_lean;    /* both together turn the pelvis at most this far, radians; [0, 1], default 0.35 */
    float still_tolerance;    /* a character that stands, whose filters have come to rest, and of which since its last solve neither hip, knee,
                                 heel, ball nor root moved farther than this, metres, nor the ground under a foot over as much, is not solved
                                 again: the last local corrections are repeated, and a foot that is locked is off by four times this at most; [0, 1], default 0
                                 = always solve. Rays are asked for all the same. */
    /* No joint of a leg that swings, or whose sole is asked to be in the air by more than 0.5 % of the leg, turns faster in its parent than this,
     * radians a second, from one solved pose to the next and but for 1e-3 rad of rounding: what is asked faster is made up for in the frames
     * after. Above what any clip itself does, or it is slowed too; 1.45 times the clip's fastest turn from frame to frame lets a walk look as it was
     * made. A leg that is asked to stand on the ground is not held, however far it lags: it lands at once. Nor is one in a character's first frame,
     * in the one after bad input, at weight 0, or not solved: frames at a lower level of detail show what they show without limits, and the next
     * full one goes on from the last full one, with all the time between. In a frame without time it stays as it is.
     * With any of the three the pelvis spares legs that stand more, and those that swing less. phx_foot_info tells where the leg ended, with
     * PHX_FLAG_LIMIT where it was held. [0, 1e6], 0 = no limit, the default. */
    float hip_speed, knee_speed, ankle_speed;
} phx_crowd_params;

/* For a leg of 0.9 m. */
PHX_API phx_crowd_params phx_crowd_params_default(void);
/* The defaults with every height, step, pelvis distance and release_distance in proportion to a leg of this length, metres; 0.9 where
 * leg_length is not in [0.002, 1000]. Speeds, times and angles stay. */
PHX_API phx_crowd_params phx_crowd_params_for_leg(float leg_length);

typedef struct phx_allocator {
    /* NULL pointer = the C library's. What it returns starts at a multiple of `alignment`, which is 64, or is NULL where there is no memory;
     * phx_crowd_create gives back what does not, and refuses with PHX_ERROR_ALIGN. */
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*release)(void *context, void *memory);
    void *context;
} phx_allocator;

typedef struct phx_crowd_def {
    const phx_backend *backend;    /* NULL = phx_backend_best() */
    uint32_t capacity;             /* most characters */
    phx_skeleton skeleton;
    uint16_t pelvis;               /* the joint that is lowered: an ancestor of every hip, or PHX_NO_JOINT to lower nothing */
    uint32_t leg_count;            /* 1 .. PHX_MAX_LEGS */
    phx_leg legs[PHX_MAX_LEGS];    /* side by side: no hip is, or hangs below, another leg's joint */
    phx_vec3 up;                   /* unit; default (0, 1, 0) */
    float unit;                    /* metres in one unit of skeleton, roots and hits; default 1 */
    int scaled;                    /* 1 = joints have scales other than 1 */
    int bodies;                    /* 1 = every frame gives bodies, and a hit's geomID says which; 0 = all ground stands still */
    int replay;                    /* 1 = characters may be at PHX_LOD_REPLAY or PHX_LOD_PELVIS */
    uint32_t workspaces;           /* 0 = one a tile (default). N = worker w of N uses workspace w (frame.worker) */
    phx_crowd_params params;
    phx_allocator allocator;
} phx_crowd_def;

/* All zero but: pelvis and every ball PHX_NO_JOINT (set the pelvis, or nothing is lowered), up (0, 1, 0), unit 1, params by default. To be set:
 * capacity, skeleton, leg_count and each leg's hip, knee, ankle, heel_offset, ball_offset and knee_forward. */
PHX_API phx_crowd_def phx_crowd_def_default(void);

typedef struct phx_crowd phx_crowd;

/* NULL on error; the report says what is wrong. The definition's arrays are copied. */
PHX_API phx_crowd *phx_crowd_create(const phx_crowd_def *def, phx_report *report);
PHX_API void phx_crowd_destroy(phx_crowd *crowd);
PHX_API size_t phx_crowd_memory(const phx_crowd *crowd); /* bytes that it holds */
PHX_API const phx_backend *phx_crowd_backend(const phx_crowd *crowd);

/* The joints that are read, parents first: what a PHX_POSE_COMPACT pose holds, in this order. */
PHX_API const uint16_t *phx_crowd_joints(const phx_crowd *crowd, uint32_t *count);

/* Something that may carry feet: a platform, a lift, another character. geomID of a hit is an index into the frame's bodies. */
typedef struct phx_body {
    phx_vec3 position;
    phx_quat rotation;
    uint32_t generation; /* change it when the index is given to another body: feet locked to the old one let go */
} phx_body;

/* How much is done for a character in a frame. */
typedef enum phx_lod {
    PHX_LOD_FULL = 0,   /* everything */
    PHX_LOD_REPLAY = 1, /* last frame's local corrections once more, at the weight that they were made with (at weight 0 none), no rays wanted,
                           no state but time moves; as PHX_LOD_OFF where there are
                           none: never solved, or teleported in this frame */
    PHX_LOD_PELVIS = 2, /* only the pelvis correction is kept */
    PHX_LOD_OFF = 3     /* as animated; state starts afresh afterwards */
} phx_lod;

/* What may be said of a character in a frame. */
typedef enum phx_character_flag {
    PHX_CHARACTER_TELEPORT = 1u << 0, /* forget what was: filters snap, locks open. Also for a newly spawned character, and for one that was not
                                         in the last frame. With a level below full it is as animated until it is solved, afresh then. */
    PHX_CHARACTER_OFF = 1u << 1,      /* leave this character as animated: the same as PHX_LOD_OFF */
    PHX_CHARACTER_LOD_SHIFT = 8       /* bits 8 and 9 hold a phx_lod */
} phx_character_flag;
#define PHX_CHARACTER_LOD(lod) ((uint32_t)(lod) << PHX_CHARACTER_LOD_SHIFT)

/* What one frame consumes. Views by character index; all optional but poses. A frame is only read, except poses.data. */
typedef struct phx_crowd_frame {
    uint32_t count;         /* characters, <= capacity. The state of those beyond it stays as it was: one that comes back after frames without
                               it, or another one in its place, is to have PHX_CHARACTER_TELEPORT, or locks hold its feet where they were */
    float dt;               /* seconds since the last frame; <= 0 holds every filter, NaN counts as 0 */
    phx_poses poses;        /* in: animated local transforms; out: corrected, in place */
    phx_view root_position; /* vec3: on the character's ground level; default the origin */
    phx_view root_rotation; /* quat; default identity */
    phx_view weight;        /* float: 0 animated (but solved, so that it fades in from where the feet are by then) .. 1 corrected; NaN is bad
                               input; default 1 */
    phx_view flags;         /* uint32_t: phx_character_flag bits; default 0 */
    phx_view support;       /* leg_count floats a character: above 0.99 the foot stands and locks, less it comes or goes, 0 (or NaN) it
                               swings; default found from height and speed */
    const phx_body *bodies; /* body_count transforms of this frame, where the definition says bodies = 1; else NULL: every geomID is ground
                               that never moves */
    uint32_t body_count;    /* a hit on a geomID at or beyond it is refused */
    uint32_t worker;        /* which workspace, where def.workspaces is not 0 */
} phx_crowd_frame;

/* Sixteen rays and their hits, with the fields, order and size of Embree's RTCRayHit16, so that a block can be passed to
 * rtcIntersect16 as it is: Embree 3, and 4 where built with one instance level and without instance arrays, which add a row at the
 * end. Assert sizeof(phx_ray_block) == sizeof(struct RTCRayHit16), and copy where it does not hold. The caller fills tfar (distance), Ng
 * (any length, pointing out of the ground) and geomID (the body, PHX_NO_HIT = nothing); u, v, primID and instID are its to write as
 * well, and nothing else is. */
typedef struct phx_ray_block {
    PHX_ALIGN_64 float org_x[PHX_BLOCK_LANES];
    float org_y[PHX_BLOCK_LANES], org_z[PHX_BLOCK_LANES], tnear[PHX_BLOCK_LANES];
    float dir_x[PHX_BLOCK_LANES], dir_y[PHX_BLOCK_LANES], dir_z[PHX_BLOCK_LANES], time[PHX_BLOCK_LANES];
    float tfar[PHX_BLOCK_LANES];
    uint32_t mask[PHX_BLOCK_LANES], id[PHX_BLOCK_LANES], flags[PHX_BLOCK_LANES];
    float Ng_x[PHX_BLOCK_LANES], Ng_y[PHX_BLOCK_LANES], Ng_z[PHX_BLOCK_LANES];
    float u[PHX_BLOCK_LANES], v[PHX_BLOCK_LANES];
    uint32_t primID[PHX_BLOCK_LANES], geomID[PHX_BLOCK_LANES], instID[PHX_BLOCK_LANES];
} phx_ray_block;

/* The rays of one tile. Block (group * legs + leg) * 2 + end holds the rays of 16 characters, first_character + group * 16 + lane;
 * end 0 is the heel, 1 the ball; of a foot that swings, the ball where it will stand, and upstairs the ball as it is in the heel's place.
 * Bit `lane` of active[group] says whether a ray is wanted there: other lanes hold finite rays with tfar <= 0 or copies, and may be cast
 * or not, as is cheaper. Hits one frame old are tolerated: copy last frame's blocks over. */
typedef struct phx_ray_blocks {
    phx_ray_block *blocks; /* NULL when the call was rejected */
    uint32_t count;        /* blocks */
    uint32_t first_character, characters;
    uint32_t legs;
    uint16_t active[PHX_TILE_CHARACTERS / PHX_BLOCK_LANES];
} phx_ray_blocks;

/* Checks a frame once, in words that name the field, poses that overlap included; prepare and solve check only what keeps them from touching wrong memory. */
PHX_API phx_status phx_crowd_validate(const phx_crowd *crowd, const phx_crowd_frame *frame, phx_report *report);

PHX_API uint32_t phx_crowd_tiles(const phx_crowd *crowd);                       /* of the capacity */
PHX_API uint32_t phx_crowd_frame_tiles(const phx_crowd *crowd, const phx_crowd_frame *frame); /* of the frame's characters */

/* Poses to rays. Blocks is NULL where the arguments are out of range. Valid until the tile (or its workspace) is prepared again. */
PHX_API phx_ray_blocks phx_crowd_prepare(phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile);
/* Hits to corrected poses; the same frame values as in prepare. PHX_ERROR_STATE where this tile does not lie prepared in its workspace:
 * never prepared, solved already, or its worker has prepared another one since. */
PHX_API phx_status phx_crowd_solve(phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile);

/* ---- whole frames ---- */

/* Casts the rays of one tile: fills tfar, Ng and geomID of rays.blocks. Called from whichever thread solves the tile. */
typedef void (*phx_cast_function)(void *context, phx_ray_blocks rays);
/* The work of a few tiles in a row. */
typedef void (*phx_task_function)(void *data, uint32_t index, uint32_t worker);
/* The caller's job system: calls task(data, index, worker) once for every index below count, from any threads, and returns when all
 * are done. Two calls that run at once have different workers; worker < def.workspaces where that is not 0. Fastest where each worker has a
 * run of indices, the same in every frame: cores that work on neighbouring tiles at once slow each other. */
typedef void (*phx_parallel_function)(void *context, uint32_t count, phx_task_function task, void *data);

typedef struct phx_crowd_callbacks {
    phx_cast_function cast;
    void *cast_context;
    phx_parallel_function parallel; /* NULL: all tiles in this thread, as worker 0 */
    void *parallel_context;
} phx_crowd_callbacks;

/* Validates once, then prepare, cast and solve tile by tile. The bits do not depend on how tiles are spread over threads. */
PHX_API phx_status phx_crowd_run(phx_crowd *crowd, const phx_crowd_frame *frame, const phx_crowd_callbacks *callbacks, phx_report *report);

/* Levels of detail within a budget. Writes into bits 8 and 9 of each character's flags: the characters with the highest priority x
 * (age + 1) are solved in full, as many as `budget_feet` allow; the others replay; those of priority 0 (or less, or NaN) or with PHX_CHARACTER_OFF are off.
 * Characters with PHX_CHARACTER_TELEPORT come before all others, in the same order. Equal scores go to the lower index first, so the choice depends on nothing but the arguments. age counts the frames since a
 * character was last solved and is kept by this call: start it at any value, 0 for example.
 * count is at most the capacity, and age and flags share no bytes with each other or with priority.
 *   priority  float per character     age  uint32_t per character, in and out     flags  uint32_t per character, in and out */
PHX_API phx_status phx_crowd_schedule(const phx_crowd *crowd, uint32_t count, uint32_t budget_feet, phx_view priority, phx_view age, phx_view flags,
                                      phx_report *report);

/* What became of a foot in the last solve. Where the character was left as animated all is zero but flags (PHX_FLAG_BAD_INPUT for input
 * that was not finite, PHX_FLAG_INACTIVE for one that is off or was never solved) and body. */
typedef struct phx_foot_info {
    phx_vec3 ground_point, ground_normal; /* plane under the foot, world */
    phx_vec3 target;                      /* where the ankle was to go, world: of a swinging foot, after it spared its leg */
    phx_vec3 bend;                        /* bend direction used, world axes, unit */
    float weight;                         /* 0 animated .. 1 on the ground */
    float support;                        /* 0 swing .. 1 stance, of the animated sole's height and contact: not that it touches; 1 while locked */
    float residual;                       /* ankle to target, in units, as the leg was left */
    uint32_t flags;                       /* phx_flag bits of the leg; REACHED where `residual` is within 1e-3 of the leg's length */
    uint32_t body;                        /* geomID of the ground, PHX_NO_HIT = none */
    uint32_t locked;                      /* 1 = the ball is locked to its body */
    phx_vec3 lock_point;                  /* where, in the body's frame (the world's where the definition has no bodies) */
    phx_vec3 lock_offset;                 /* by which the lock moves the foot from its animated place, world axes */
    uint32_t still;                       /* 1 = nothing had moved beyond still_tolerance: corrections of an earlier solve, of which all else tells */
} phx_foot_info;

PHX_API phx_status phx_crowd_foot(const phx_crowd *crowd, uint32_t character, uint32_t leg, phx_foot_info *info);
/* The pelvis correction along `up`, in units. */
PHX_API float phx_crowd_pelvis(const phx_crowd *crowd, uint32_t character);

/* By how much the pelvis was moved in the last solve, along world axes, before the character's weight; nothing where the character was left
 * as animated. */
typedef struct phx_pelvis_info {
    phx_vec3 translation; /* along up as phx_crowd_pelvis says, and level by pelvis_shift */
    phx_quat rotation;    /* new world rotation = rotation * animated world rotation */
} phx_pelvis_info;
PHX_API phx_status phx_crowd_pelvis_info(const phx_crowd *crowd, uint32_t character, phx_pelvis_info *info);

PHX_EXTERN_C_END
#endif
