/* Finding the legs of a character, for `phalanx inspect`, `bake` and `demo`.
 *
 *   legs legs;
 *   if (!legs_find(&character, option_legs, &legs, &character.notes, &error)) ...;   // a sentence: --legs is wrong
 *   if (legs.count == 0) ...;                                                        // none found: ask for --legs
 *   character.joints[legs.leg[0].hip].name ...
 *
 * By names where they tell (io/joint_names.h), else by shape: limbs that hang from the trunk down to the ground, in pairs of
 * equal length. What was found by shape or is uneven is noted. */
#ifndef PHALANX_TOOLS_LEGS_H
#define PHALANX_TOOLS_LEGS_H

#include "../io/character.h"

#define LEGS_MOST 8

typedef struct leg {
    char side;                         /* 'l' or 'r' */
    bool front;                        /* a front leg of an animal with four legs or more */
    int32_t hip, knee, ankle;          /* joint indices; each an ancestor of the next */
    int32_t ball;                      /* -1: none */
    int32_t tip;                       /* end of the toes (an end site or nub below ball or ankle), -1: none. Never equal to ball */
    double upper_length, lower_length; /* metres, in the rest pose */
} leg;

typedef struct legs {
    leg leg[LEGS_MOST]; /* left before right, hind pair before front pair */
    size_t count;
} legs;

/* `given`: NULL, or what --legs says: "hip,knee,ankle[,ball];...", names of joints. False only where `given` is wrong. */
bool legs_find(const io_character *character, const char *given, legs *found, io_notes *notes, io_error *error);

/* "left" or "right". */
const char *leg_side_name(const leg *leg);

#endif
