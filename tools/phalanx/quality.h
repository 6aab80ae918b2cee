/* How well feet stand, judged in double precision from poses alone: nothing that the library says about itself is believed.
 *
 * Everything is taken over stance frames, which come from the clip (motion.h). A sole has two points, heel and ball, whose
 * places in the foot were measured from the clip's own stances. The height of a point is taken along the normal of the ground
 * right below it. One sample is one foot in one frame:
 *   penetration  depth of the deeper point below the ground, 0 where none is
 *   gap          height of the lower point above the ground, 0 where one touches or sinks
 *   slide        one sample a stance: how far the ball gets from where the stance began, along the ground (not counting its
 *                motion along the ground's normal, which the other two judge)
 * A joint that turns much faster than the animation ever does is seen as a pop: its local rotation from one frame to the next is set
 * against the fastest such turn of the same kind of joint before.
 * A knee flips in a frame when it points against its animated direction (or, where the animated leg is nearly straight, against
 * the way knees of this rig bend), or when the plane of the leg turns by more than 90 degrees from one frame to the next while
 * the animated one does not. */
#ifndef PHALANX_TOOLS_QUALITY_H
#define PHALANX_TOOLS_QUALITY_H

#include "crowd_run.h"

typedef struct spread {
    double p50, p99, max;
} spread;

typedef struct quality {
    spread penetration_mm, gap_mm, slide_mm;
    uint64_t knee_flips;          /* feet and frames, all frames */
    double max_bone_length_error; /* of thigh, shin and foot against the animated pose, relative */
    uint64_t unreached;           /* stance feet and frames whose leg did not come to its target */
    uint64_t non_finite;          /* numbers in poses */
    uint64_t samples, stances;
    double peak_turn[3]; /* fastest local rotations of hips, knees and ankles, radians a second */
    uint64_t fast_turns; /* legs and frames in which one of these turned more than 1.5 times as fast as its peak before */
    uint64_t turns;      /* legs and frames that were looked at */
    uint64_t pelvis_reversals; /* of the pelvis joint's height, by more than 5 mm */
} quality;

enum { QUALITY_FLAT, QUALITY_BEFORE, QUALITY_AFTER, QUALITY_KINDS };

/* Signed height of a sole in a frame, millimetres: positive a gap, negative a penetration. */
typedef struct sole_samples {
    float *mm[QUALITY_KINDS];
    size_t count;
} sole_samples;

/* flat: the clip on flat ground. before: the clip on `ground`, as captured. after: as corrected. `samples` may be NULL; free with
 * sole_samples_free. */
void quality_measure(const motion *motion, const ground *ground, const crowd_run *run, double dt, quality result[QUALITY_KINDS],
                     sole_samples *samples);
void sole_samples_free(sole_samples *samples);

/* Height of a point over the ground along the ground's normal below it; false where there is none. `ground` NULL: the plane y = 0. */
bool quality_height(const ground *ground, vec point, double *height, vec *normal);

#endif
