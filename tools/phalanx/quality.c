/* Percentiles of what feet do in stance. */
#include "quality.h"

#include <stdlib.h>
#include <string.h>

/* A growing list of numbers. */
typedef struct numbers {
    double *value;
    size_t count, room;
} numbers;

static void add_number(numbers *list, double value) {
    if (list->count == list->room) {
        list->room = list->room > 0 ? 2 * list->room : 256;
        list->value = io_reallocate(list->value, list->room, sizeof *list->value);
    }
    list->value[list->count++] = value;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest-rank percentiles; frees the list. */
static spread spread_of(numbers *list) {
    spread s = {0, 0, 0};
    if (list->count > 0) {
        qsort(list->value, list->count, sizeof *list->value, by_value);
        const double n = (double)list->count;
        s = (spread){list->value[(size_t)ceil(0.5 * n) - 1], list->value[(size_t)ceil(0.99 * n) - 1], list->value[list->count - 1]};
    }
    free(list->value);
    *list = (numbers){0};
    return s;
}

bool quality_height(const ground *ground, vec point, double *height, vec *normal) {
    double level = 0, up[3] = {0, 1, 0};
    if (ground != NULL && !ground_height(ground, point.x, point.z, &level, up)) return false;
    *normal = vec_of(up[0], up[1], up[2]);
    *height = (point.y - level) * up[1];
    return true;
}

typedef struct leg_bend {
    vec hinge;    /* unit, about which the knee bends: hip-ankle line x direction to the knee */
    double share; /* how far the knee is from the line, against the leg's length */
} leg_bend;

static leg_bend bend_of(const motion *motion, uint32_t leg, const placed_joint *joints) {
    const phx_leg *l = &motion->legs[leg];
    const vec hip = joints[l->hip].place, axis = vec_sub(joints[l->ankle].place, hip), knee = vec_sub(joints[l->knee].place, hip);
    const vec hinge = vec_cross(axis, knee);
    const double length = vec_length(hinge), reach = vec_length(axis);
    return (leg_bend){length > 0 ? vec_scale(hinge, 1 / length) : vec_of(0, 0, 0), reach > 0 ? length / reach / motion->leg_length[leg] : 0};
}

/* Below this share of the leg's length the knee's direction is noise (2 % is some 5 degrees of bend); below the other one a
 * clip's knee that bends against the rig's own direction counts as straight (5 % is some 11 degrees). */
static const double straight = 0.02, backward = 0.05;

/* A flip is a leg whose plane turned over: its hinge points away from the animated one (the rig's, where the clip's leg is
 * straight), or from its own of the frame before although the clip's did not turn. A foot that rises past the hip turns its
 * leg about the hinge and is none. */
static bool knee_flipped(const motion *motion, uint32_t leg, const placed_joint *animated, const placed_joint *corrected,
                         const leg_bend last[2], bool first) {
    const leg_bend was = bend_of(motion, leg, animated), is = bend_of(motion, leg, corrected);
    if (is.share < straight) return false;
    const phx_leg *l = &motion->legs[leg];
    const vec forward = turn_vec(animated[l->hip].rotation, vec_of(l->knee_forward.x, l->knee_forward.y, l->knee_forward.z));
    const vec rig = vec_cross(vec_sub(animated[l->knee].place, animated[l->hip].place), forward);
    const bool bent = was.share >= backward || (was.share >= straight && vec_dot(was.hinge, rig) >= 0);
    if (vec_dot(bent ? was.hinge : rig, is.hinge) < 0) return true;
    return !first && last[1].share >= straight && vec_dot(last[1].hinge, is.hinge) < 0 &&
           !(was.share >= straight && last[0].share >= straight && vec_dot(last[0].hinge, was.hinge) < 0);
}

static double bone_error(const motion *motion, uint32_t leg, const placed_joint *animated, const placed_joint *corrected) {
    const phx_leg *l = &motion->legs[leg];
    const uint16_t chain[] = {l->hip, l->knee, l->ankle, l->ball};
    double worst = 0;
    for (int k = 0; k < 3 && chain[k + 1] != PHX_NO_JOINT; ++k) {
        const double was = vec_length(vec_sub(animated[chain[k + 1]].place, animated[chain[k]].place));
        const double is = vec_length(vec_sub(corrected[chain[k + 1]].place, corrected[chain[k]].place));
        if (was > 0) worst = fmax(worst, fabs(is / was - 1));
    }
    return worst;
}

/* The leg's joints from one local pose to the next: radians a second of hip, knee and ankle. */
static void turn_speeds(const motion *motion, uint32_t leg, const phx_transform *from, const phx_transform *to, double dt, double speed[3]) {
    const phx_leg *l = &motion->legs[leg];
    const uint16_t chain[] = {l->hip, l->knee, l->ankle};
    for (int k = 0; k < 3; ++k) {
        speed[k] = turn_between(from[chain[k]].rotation, to[chain[k]].rotation) / dt;
    }
}

/* A height that goes up and down: the farthest that it came since it last turned round, by more than 5 mm. */
typedef struct swaying {
    double farthest;
    int way; /* 1 up, -1 down, 0 not known yet */
} swaying;
static bool turned_round(swaying *s, double height, bool first) {
    const double by = height - s->farthest;
    if (first) *s = (swaying){height, 0};
    else if (by * s->way > 0) s->farthest = height;
    else if (fabs(by) > 0.005) {
        const bool was_going = s->way != 0;
        *s = (swaying){height, by > 0 ? 1 : -1};
        return was_going;
    }
    return false;
}

static uint64_t count_non_finite(const phx_transform *pose, uint32_t joints) {
    uint64_t bad = 0;
    const float *values = &pose->translation.x;
    for (uint32_t i = 0; i < 10 * joints; ++i) bad += isfinite(values[i]) ? 0 : 1;
    return bad;
}

typedef struct gathered {
    numbers penetration, gap, slide;
    quality *result;
} gathered;

/* One character's feet under one kind; `peak_before` of `quality.peak_turn`, or NULL. */
static void judge(const motion *motion, const ground *ground, const crowd_run *run, const crowd_capture *capture, int kind, double dt,
                  const double peak_before[3], gathered *into, float *samples, size_t *sample_count) {
    const uint32_t joints = motion->joint_count, legs = motion->leg_count;
    placed_joint *animated = io_allocate(joints, sizeof *animated), *placed = io_allocate(joints, sizeof *placed);
    struct {
        leg_bend last[2];
        vec began;
        double drift;
        bool stands;
    } foot[LEGS_MOST];
    memset(foot, 0, sizeof foot);
    quality *q = into->result;
    swaying pelvis = {0, 0};
    for (uint32_t f = 0; f < run->frames; ++f) {
        const phx_transform *before = capture->before + (size_t)f * joints;
        const phx_transform *pose = kind == QUALITY_AFTER ? capture->after + (size_t)f * joints : before;
        root_transform root = capture->roots[f];
        if (kind == QUALITY_FLAT) root.place.y = 0;
        motion_place(motion, pose, root, placed);
        motion_place(motion, before, root, animated);
        const bool fresh = f == 0 || capture->spawned[f];
        q->non_finite += count_non_finite(pose, joints);
        if (motion->pelvis != PHX_NO_JOINT) q->pelvis_reversals += turned_round(&pelvis, placed[motion->pelvis].place.y, fresh);
        for (uint32_t l = 0; l < legs; ++l) {
            if (kind == QUALITY_AFTER) q->knee_flips += knee_flipped(motion, l, animated, placed, foot[l].last, fresh);
            foot[l].last[0] = bend_of(motion, l, animated);
            foot[l].last[1] = bend_of(motion, l, placed);
            q->max_bone_length_error = fmax(q->max_bone_length_error, bone_error(motion, l, animated, placed));
            if (!fresh) {
                double speed[3];
                bool fast = false;
                turn_speeds(motion, l, pose - joints, pose, dt, speed);
                for (int k = 0; k < 3; ++k) {
                    q->peak_turn[k] = fmax(q->peak_turn[k], speed[k]);
                    fast |= peak_before != NULL && speed[k] > 1.5 * peak_before[k];
                }
                q->fast_turns += fast;
                ++q->turns;
            }

            const bool stands = motion_stands(motion, capture->clip_frame[f], l);
            if (foot[l].stands && (!stands || fresh)) add_number(&into->slide, foot[l].drift * 1000);
            if (stands && (!foot[l].stands || fresh)) ++q->stances;
            double heel, ball;
            vec normal, heel_normal;
            const vec at = motion_ball(motion, l, placed);
            if (stands && quality_height(ground, at, &ball, &normal) &&
                quality_height(ground, motion_heel(motion, l, placed), &heel, &heel_normal)) {
                const double lowest = fmin(heel, ball) * 1000;
                add_number(&into->penetration, fmax(0, -lowest));
                add_number(&into->gap, fmax(0, lowest));
                if (samples != NULL) samples[(*sample_count)++] = (float)lowest;
                ++q->samples;
                if (kind == QUALITY_AFTER) q->unreached += (capture->feet[(size_t)f * legs + l].flags & PHX_FLAG_REACHED) == 0;
                if (!foot[l].stands || fresh) {
                    foot[l].began = at;
                    foot[l].drift = 0;
                }
                vec moved = vec_sub(at, foot[l].began);
                moved = vec_sub(moved, vec_scale(normal, vec_dot(moved, normal)));
                foot[l].drift = fmax(foot[l].drift, vec_length(moved));
            }
            foot[l].stands = stands;
        }
    }
    for (uint32_t l = 0; l < legs; ++l) {
        if (foot[l].stands) add_number(&into->slide, foot[l].drift * 1000);
    }
    free(placed);
    free(animated);
}

void quality_measure(const motion *motion, const ground *ground, const crowd_run *run, double dt, quality result[QUALITY_KINDS],
                     sole_samples *samples) {
    if (samples != NULL) *samples = (sole_samples){.count = SIZE_MAX};
    for (int kind = 0; kind < QUALITY_KINDS; ++kind) {
        result[kind] = (quality){0};
        gathered into = {.result = &result[kind]};
        float *list = NULL;
        size_t count = 0;
        if (samples != NULL)
            list = samples->mm[kind] = io_allocate((size_t)run->captured_count * run->frames * motion->leg_count, sizeof *list);
        for (uint32_t k = 0; k < run->captured_count; ++k) {
            const double *peak = kind == QUALITY_AFTER ? result[QUALITY_BEFORE].peak_turn : NULL;
            judge(motion, kind == QUALITY_FLAT ? NULL : ground, run, &run->captures[k], kind, dt, peak, &into, list, &count);
        }
        result[kind].penetration_mm = spread_of(&into.penetration);
        result[kind].gap_mm = spread_of(&into.gap);
        result[kind].slide_mm = spread_of(&into.slide);
        /* kinds differ in count only where feet hang over the ground's edge */
        if (samples != NULL && count < samples->count) samples->count = count;
    }
}

void sole_samples_free(sole_samples *samples) {
    for (int kind = 0; kind < QUALITY_KINDS; ++kind) free(samples->mm[kind]);
    *samples = (sole_samples){0};
}
