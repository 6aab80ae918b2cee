/* What became of each foot, as text for people and as JSON: the output of `phalanx feet` and `phalanx replay`. */
#ifndef PHALANX_TOOLS_FOOT_TEXT_H
#define PHALANX_TOOLS_FOOT_TEXT_H

#include "../io/common.h"
#include "space.h"

#include <phalanx/crowd.h>

/* Text that grows, so that nothing is printed before all of it is known to be right. Zero-initialise, then free(text). */
typedef struct text_buffer {
    char *text;
    size_t length, capacity;
} text_buffer;
void text_add(text_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Positions and rotations of a character's joints in the world, in double precision from single-precision local transforms. */
void pose_to_world(const uint16_t *parents, uint32_t joints, const phx_transform *pose, phx_vec3 root_position, phx_quat root_rotation,
                   vec *positions, turn *rotations);

/* Where one leg is. */
typedef struct foot_place {
    vec hip, knee, ankle, ball; /* joints; the ball is the contact point where the foot is one bone */
    vec heel_contact, ball_contact;
} foot_place;
foot_place foot_place_of(const phx_leg *leg, const vec *positions, const turn *rotations);

/* One foot. world_body: the geomID of ground that never moves, PHX_NO_HIT where no such thing is known. */
void foot_text(text_buffer *out, const char *name, const phx_foot_info *info, const foot_place *place, uint32_t world_body);
void foot_json(text_buffer *out, const char *name, const phx_foot_info *info, const foot_place *animated, const foot_place *place,
               uint32_t world_body);

/* By how much the pelvis was moved and turned: ", "pelvis_moved": [..], "pelvis_turned": [..]". */
void pelvis_json(text_buffer *out, const phx_pelvis_info *info);

/* "[x, y, z]", with nine digits; what is not finite becomes "nan", "inf", "-inf" in quotes. */
void vec_json(text_buffer *out, vec v);
void number_json(text_buffer *out, double number);
static inline vec vec_from(phx_vec3 v) { return vec_of(v.x, v.y, v.z); }
static inline turn turn_from(phx_quat q) { return (turn){q.x, q.y, q.z, q.w}; }

#endif
