/* Feet in words and numbers; see foot_text.h. */
#include "foot_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void text_add(text_buffer *out, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (needed > 0) {
        if (out->length + (size_t)needed + 1 > out->capacity) {
            out->capacity = 2 * (out->length + (size_t)needed + 1);
            out->text = io_reallocate(out->text, out->capacity, 1);
        }
        vsnprintf(out->text + out->length, (size_t)needed + 1, format, again);
        out->length += (size_t)needed;
    }
    va_end(again);
}

void pose_to_world(const uint16_t *parents, uint32_t joints, const phx_transform *pose, phx_vec3 root_position, phx_quat root_rotation,
                   vec *positions, turn *rotations) {
    for (uint32_t j = 0; j < joints; ++j) {
        const bool top = parents[j] == PHX_NO_JOINT;
        const turn above = top ? turn_from(root_rotation) : rotations[parents[j]];
        const vec at = top ? vec_from(root_position) : positions[parents[j]];
        positions[j] = vec_add(at, turn_vec(above, vec_from(pose[j].translation)));
        rotations[j] = turn_times(above, turn_from(pose[j].rotation));
    }
}

foot_place foot_place_of(const phx_leg *leg, const vec *positions, const turn *rotations) {
    const uint16_t ball = leg->ball == PHX_NO_JOINT ? leg->ankle : leg->ball;
    foot_place place;
    place.hip = positions[leg->hip], place.knee = positions[leg->knee], place.ankle = positions[leg->ankle];
    place.heel_contact = vec_add(place.ankle, turn_vec(rotations[leg->ankle], vec_from(leg->heel_offset)));
    place.ball_contact = vec_add(positions[ball], turn_vec(rotations[ball], vec_from(leg->ball_offset)));
    place.ball = leg->ball == PHX_NO_JOINT ? place.ball_contact : positions[ball];
    return place;
}

void number_json(text_buffer *out, double number) {
    if (isfinite(number))
        text_add(out, "%.9g", number);
    else
        text_add(out, "\"%s\"", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

void vec_json(text_buffer *out, vec v) {
    const double numbers[3] = {v.x, v.y, v.z};
    for (int i = 0; i < 3; ++i) {
        text_add(out, i ? ", " : "[");
        number_json(out, numbers[i]);
    }
    text_add(out, "]");
}

/* without a sign where nothing else is left of a number */
static double shown(double v) { return fabs(v) < 0.00005 ? 0 : v; }
static void vec_text(text_buffer *out, const char *name, vec v) {
    text_add(out, "  %s (%.4f %.4f %.4f)", name, shown(v.x), shown(v.y), shown(v.z));
}

void foot_text(text_buffer *out, const char *name, const phx_foot_info *info, const foot_place *place, uint32_t world_body) {
    text_add(out, "  %-10s support %.3f  weight %.3f  body ", name, (double)info->support, (double)info->weight);
    if (info->body == PHX_NO_HIT)
        text_add(out, "none");
    else if (info->body == world_body)
        text_add(out, "ground");
    else
        text_add(out, "%u", info->body);
    text_add(out, "  %s  residual %.6f ", info->locked ? "locked" : "free", (double)info->residual);
    for (uint32_t bit = 0; bit < 32; ++bit) {
        const char *flag = info->flags & 1u << bit ? phx_flag_name((phx_flag)(1u << bit)) : NULL;
        if (flag) text_add(out, " %s", flag);
    }
    text_add(out, "\n             ");
    if (info->body == PHX_NO_HIT)
        text_add(out, "  no plane");
    else
        vec_text(out, "plane", vec_from(info->ground_point)), vec_text(out, "normal", vec_from(info->ground_normal));
    vec_text(out, "target", vec_from(info->target)), vec_text(out, "bend", vec_from(info->bend));
    if (info->locked) vec_text(out, "lock", vec_from(info->lock_point));
    text_add(out, "\n             ");
    vec_text(out, "knee", place->knee), vec_text(out, "ankle", place->ankle), vec_text(out, "heel", place->heel_contact),
        vec_text(out, "ball", place->ball_contact);
    text_add(out, "\n");
}

static void place_json(text_buffer *out, const foot_place *place) {
    const struct {
        const char *name;
        vec v;
    } members[] = {{"hip", place->hip},         {"knee", place->knee},         {"ankle", place->ankle},
                   {"ball_joint", place->ball}, {"heel", place->heel_contact}, {"ball", place->ball_contact}};
    for (int i = 0; i < 6; ++i) {
        text_add(out, "%s\"%s\": ", i ? ", " : "", members[i].name);
        vec_json(out, members[i].v);
    }
}

void pelvis_json(text_buffer *out, const phx_pelvis_info *info) {
    text_add(out, ", \"pelvis_moved\": ");
    vec_json(out, vec_from(info->translation));
    text_add(out, ", \"pelvis_turned\": [");
    const float turn[4] = {info->rotation.x, info->rotation.y, info->rotation.z, info->rotation.w};
    for (int i = 0; i < 4; ++i) {
        if (i) text_add(out, ", ");
        number_json(out, (double)turn[i]);
    }
    text_add(out, "]");
}

void foot_json(text_buffer *out, const char *name, const phx_foot_info *info, const foot_place *animated, const foot_place *place,
               uint32_t world_body) {
    text_add(out, "{\"name\": \"%s\", \"plane\": {\"point\": ", name);
    vec_json(out, vec_from(info->ground_point));
    text_add(out, ", \"normal\": ");
    vec_json(out, vec_from(info->ground_normal));
    if (info->body == PHX_NO_HIT)
        text_add(out, "}, \"body\": null");
    else if (info->body == world_body)
        text_add(out, "}, \"body\": \"ground\"");
    else
        text_add(out, "}, \"body\": %u", info->body);
    text_add(out, ", \"target\": ");
    vec_json(out, vec_from(info->target));
    text_add(out, ", \"bend\": ");
    vec_json(out, vec_from(info->bend));
    text_add(out, ", \"locked\": %s, \"lock_point\": ", info->locked ? "true" : "false");
    vec_json(out, vec_from(info->lock_point));
    text_add(out, ", \"lock_offset\": ");
    vec_json(out, vec_from(info->lock_offset));
    const struct {
        const char *name;
        float number;
    } numbers[] = {{"weight", info->weight}, {"support", info->support}, {"residual", info->residual}};
    for (int i = 0; i < 3; ++i) {
        text_add(out, ", \"%s\": ", numbers[i].name);
        number_json(out, (double)numbers[i].number);
    }
    text_add(out, ", \"flags\": [");
    bool first = true;
    for (uint32_t bit = 0; bit < 32; ++bit) {
        const char *flag = info->flags & 1u << bit ? phx_flag_name((phx_flag)(1u << bit)) : NULL;
        if (flag) text_add(out, "%s\"%s\"", first ? "" : ", ", flag), first = false;
    }
    text_add(out, "], ");
    place_json(out, place);
    text_add(out, ", \"animated\": {");
    place_json(out, animated);
    text_add(out, "}}");
}
