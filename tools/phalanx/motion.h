/* A clip made ready to walk anywhere: metres, ground at zero, forward motion taken out of the pose, legs measured, stances found.
 * `phalanx demo` and `bake` feed a crowd from it; quality.h judges by it.
 *
 *   motion walk;
 *   if (!motion_create(&character, clip, &legs, &notes, &walk, &error)) ...;
 *   motion_sample(&walk, 12.5, locals);             // local poses, frames may be fractional and run past the end of a loop
 *   motion_path(&walk, 12.5, place);                // where the root has come to by then, along +Z more or less
 *   motion_place(&walk, locals, root, joints);      // the tools' own forward kinematics, double precision
 *   motion_free(&walk);
 *
 * The root transform of a walker that has turned by `heading` about +Y and stands at P is: position P, rotation
 * turn_y(heading) * motion.turn. */
#ifndef PHALANX_TOOLS_MOTION_H
#define PHALANX_TOOLS_MOTION_H

#include "legs.h"
#include "phalanx/crowd.h"
#include "space.h"

typedef struct motion {
    const io_character *character; /* stays the caller's */
    size_t clip;
    uint32_t joint_count;
    uint16_t *parents;
    uint32_t frames; /* 1 or more; the last of a loop repeats the first */
    double frame_rate;
    bool loops;
    bool in_place;         /* the clip stayed where it was: `path` comes from its stance feet */
    phx_transform *locals; /* frames * joint_count, the skeleton's own axes, metres */
    double (*path)[2];     /* X, Z of the root at each frame; (0, 0) at the first, +Z at the last */
    double speed;          /* metres a second along the path */
    turn turn;             /* the skeleton's axes -> Y up, walking along +Z */
    double ground;         /* the clip's flat ground lies this high over the file's zero, metres */
    bool scaled;           /* some joint has a scale other than 1 */
    uint16_t pelvis;
    uint32_t leg_count;
    phx_leg legs[LEGS_MOST];
    double leg_length[LEGS_MOST];
    char leg_side[LEGS_MOST];
    uint8_t *stance;     /* frames * leg_count: 1 where the foot stands */
    double stance_share; /* of all frames and feet */
} motion;

/* False where the clip cannot walk: no legs, too many joints, no finite pose. Notes say what was guessed. */
bool motion_create(const io_character *character, size_t clip, const legs *legs, io_notes *notes, motion *made, io_error *error);
void motion_free(motion *motion);

/* The last frame up to which a walker that starts at frame 0 can go: infinite for a loop. */
double motion_last_frame(const motion *motion);

/* The local pose at a frame: neighbours blended, rotations by normalised lerp. */
void motion_sample(const motion *motion, double frame, phx_transform *locals);
/* X, Z of the root; goes on over the end of a loop. */
void motion_path(const motion *motion, double frame, double place[2]);
bool motion_stands(const motion *motion, double frame, uint32_t leg);

/* By how much one local rotation is turned from another, radians. */
static inline double turn_between(phx_quat a, phx_quat b) {
    const turn step = turn_times(turn_back((turn){a.x, a.y, a.z, a.w}), (turn){b.x, b.y, b.z, b.w});
    return 2 * atan2(sqrt(step.x * step.x + step.y * step.y + step.z * step.z), fabs(step.w));
}

/* A placed joint. `scale` is the product of its own and its ancestors' scales, as the library takes it: component by component. */
typedef struct placed_joint {
    vec place;
    turn rotation;
    vec scale;
} placed_joint;

typedef struct root_transform {
    vec place;
    turn rotation;
} root_transform;

/* All joints in the space of `root`. Rotations are used as they are, unit or not. */
void motion_place(const motion *motion, const phx_transform *locals, root_transform root, placed_joint *joints);

/* The points of a placed foot's sole that touch the ground. */
vec motion_heel(const motion *motion, uint32_t leg, const placed_joint *joints);
vec motion_ball(const motion *motion, uint32_t leg, const placed_joint *joints);

#endif
