/* From a clip as its file has it to one that can be walked over any ground. */
#include "motion.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which the given share of `count` values lies; sorts them. 0 where there are none. */
static double share_of(double *values, size_t count, double share) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, by_value);
    return values[(size_t)(share * (double)(count - 1) + 0.5)];
}

void motion_place(const motion *motion, const phx_transform *locals, root_transform root, placed_joint *joints) {
    for (uint32_t j = 0; j < motion->joint_count; ++j) {
        const phx_transform *local = &locals[j];
        const placed_joint *above = motion->parents[j] != PHX_NO_JOINT ? &joints[motion->parents[j]] : NULL;
        vec offset = vec_of(local->translation.x, local->translation.y, local->translation.z),
            scale = vec_of(local->scale.x, local->scale.y, local->scale.z);
        turn rotation = {local->rotation.x, local->rotation.y, local->rotation.z, local->rotation.w};
        turn from = above != NULL ? above->rotation : root.rotation;
        if (above != NULL) offset = vec_times(above->scale, offset);
        joints[j].place = vec_add(above != NULL ? above->place : root.place, turn_vec(from, offset));
        joints[j].rotation = turn_times(from, rotation);
        joints[j].scale = above != NULL ? vec_times(above->scale, scale) : scale;
    }
}

static vec contact(const placed_joint *joint, phx_vec3 offset) {
    return vec_add(joint->place, turn_vec(joint->rotation, vec_of(offset.x, offset.y, offset.z)));
}

vec motion_heel(const motion *motion, uint32_t leg, const placed_joint *joints) {
    return contact(&joints[motion->legs[leg].ankle], motion->legs[leg].heel_offset);
}

static uint16_t ball_joint(const phx_leg *leg) { return leg->ball != PHX_NO_JOINT ? leg->ball : leg->ankle; }

vec motion_ball(const motion *motion, uint32_t leg, const placed_joint *joints) {
    return contact(&joints[ball_joint(&motion->legs[leg])], motion->legs[leg].ball_offset);
}

double motion_last_frame(const motion *motion) { return motion->loops ? (double)INFINITY : (double)(motion->frames - 1); }

/* The frame within the clip, and how many whole cycles came before. */
static double within(const motion *motion, double frame, double *cycles) {
    double last = motion->frames - 1;
    *cycles = 0;
    if (!motion->loops) return fmin(fmax(frame, 0), last);
    *cycles = floor(frame / last);
    return fmin(frame - *cycles * last, last);
}

void motion_sample(const motion *motion, double frame, phx_transform *locals) {
    double cycles, at = within(motion, frame, &cycles);
    uint32_t first = (uint32_t)at;
    const phx_transform *a = motion->locals + (size_t)first * motion->joint_count;
    const float t = (float)(at - (double)first);
    if (t == 0 || first + 1 == motion->frames) {
        memcpy(locals, a, motion->joint_count * sizeof *locals);
        return;
    }
    const phx_transform *b = a + motion->joint_count;
    for (uint32_t j = 0; j < motion->joint_count; ++j) {
        /* neighbouring rotations lie in one half of the sphere: motion_create saw to it */
        const float *from = &a[j].translation.x, *to = &b[j].translation.x;
        float *out = &locals[j].translation.x;
        for (int k = 0; k < 10; ++k) out[k] = from[k] + t * (to[k] - from[k]);
        const float over = 1 / sqrtf(out[3] * out[3] + out[4] * out[4] + out[5] * out[5] + out[6] * out[6]);
        for (int k = 3; k < 7; ++k) out[k] *= over;
    }
}

void motion_path(const motion *motion, double frame, double place[2]) {
    double cycles, at = within(motion, frame, &cycles);
    uint32_t first = (uint32_t)at, second = first + 1 < motion->frames ? first + 1 : first;
    for (int k = 0; k < 2; ++k) {
        const double a = motion->path[first][k], b = motion->path[second][k];
        place[k] = cycles * motion->path[motion->frames - 1][k] + a + (at - first) * (b - a);
    }
}

bool motion_stands(const motion *motion, double frame, uint32_t leg) {
    double cycles, at = within(motion, frame, &cycles);
    return motion->stance[(size_t)(at + 0.5) * motion->leg_count + leg] != 0;
}

/* ---- making one ------------------------------------------------------------------------------------------------------- */

/* Places of joints over the clip, while it is being understood. */
typedef struct study {
    motion *motion;
    placed_joint *joints; /* frames * joint_count */
    double leg_length;    /* mean */
    double *sorting;      /* room for frames * legs values */
} study;

static const placed_joint *at_frame(const study *s, uint32_t frame) { return s->joints + (size_t)frame * s->motion->joint_count; }
static vec ball_at(const study *s, uint32_t frame, uint32_t leg) { return at_frame(s, frame)[ball_joint(&s->motion->legs[leg])].place; }
static vec pelvis_at(const study *s, uint32_t frame) { return at_frame(s, frame)[s->motion->pelvis].place; }

static void place_all(study *s) {
    for (uint32_t f = 0; f < s->motion->frames; ++f) {
        root_transform root = {vec_of(0, 0, 0), s->motion->turn};
        motion_place(s->motion, s->motion->locals + (size_t)f * s->motion->joint_count, root,
                     s->joints + (size_t)f * s->motion->joint_count);
    }
}

static void sample_all(const io_character *character, size_t clip, motion *m) {
    io_transform *locals = io_allocate(m->joint_count, sizeof *locals);
    for (uint32_t f = 0; f < m->frames; ++f) {
        io_character_sample(character, clip, f / m->frame_rate, locals);
        phx_transform *out = m->locals + (size_t)f * m->joint_count;
        for (uint32_t j = 0; j < m->joint_count; ++j) {
            const io_transform *in = &locals[j];
            double unit = character->unit;
            out[j].translation =
                (phx_vec3){(float)(in->translation[0] * unit), (float)(in->translation[1] * unit), (float)(in->translation[2] * unit)};
            out[j].rotation = (phx_quat){in->rotation[0], in->rotation[1], in->rotation[2], in->rotation[3]};
            out[j].scale = (phx_vec3){in->scale[0], in->scale[1], in->scale[2]};
            for (int k = 0; k < 3; ++k) m->scaled |= fabsf(in->scale[k] - 1) > 1e-5f;
            if (f == 0) continue;
            const phx_quat *before = &(out - m->joint_count)[j].rotation;
            phx_quat *now = &out[j].rotation;
            if (before->x * now->x + before->y * now->y + before->z * now->z + before->w * now->w < 0)
                *now = (phx_quat){-now->x, -now->y, -now->z, -now->w};
        }
    }
    free(locals);
}

/* The joint that carries all legs: their nearest common ancestor, or one above it that is still up at the hips, so that nothing of
 * the body is left behind when it is lowered (some rigs hang their thighs from the spine). */
static uint16_t find_pelvis(const motion *m, const placed_joint *joints) {
    uint32_t at = m->legs[0].hip;
    bool above_all = false;
    while (!above_all && m->parents[at] != PHX_NO_JOINT) {
        at = m->parents[at];
        above_all = true;
        for (uint32_t l = 0; l < m->leg_count; ++l) {
            uint32_t walk = m->legs[l].hip;
            while (walk != PHX_NO_JOINT && walk > at) walk = m->parents[walk];
            above_all &= walk == at;
        }
    }
    if (!above_all) return PHX_NO_JOINT;
    const double hip = joints[m->legs[0].hip].place.y, foot = joints[m->legs[0].ankle].place.y;
    while (m->parents[at] != PHX_NO_JOINT && joints[m->parents[at]].place.y > 0.5 * (hip + foot)) at = m->parents[at];
    return (uint16_t)at;
}

/* The velocity of the feet that stand, X and Z: of the frames in which a foot is flat and low, the median. */
static void stance_velocity(const study *s, double velocity[2]) {
    const motion *m = s->motion;
    const uint32_t step = (uint32_t)fmax(1, round(m->frame_rate / 60));
    double(*low)[2] = io_allocate((size_t)m->frames * m->leg_count, sizeof *low);
    size_t count = 0;
    for (uint32_t l = 0; l < m->leg_count; ++l) {
        const uint16_t ankle = m->legs[l].ankle;
        for (uint32_t f = 0; f < m->frames; ++f) s->sorting[f] = ball_at(s, f, l).y;
        const double ball_most = share_of(s->sorting, m->frames, 0.1) + 0.04 * m->leg_length[l];
        for (uint32_t f = 0; f < m->frames; ++f) s->sorting[f] = at_frame(s, f)[ankle].place.y;
        const double ankle_most = share_of(s->sorting, m->frames, 0.1) + 0.04 * m->leg_length[l];
        for (uint32_t f = step; f + step < m->frames; ++f) {
            if (ball_at(s, f, l).y > ball_most || at_frame(s, f)[ankle].place.y > ankle_most) continue;
            const vec moved = vec_scale(vec_sub(ball_at(s, f + step, l), ball_at(s, f - step, l)), m->frame_rate / (2 * step));
            low[count][0] = moved.x;
            low[count++][1] = moved.z;
        }
    }
    for (int k = 0; k < 2; ++k) {
        for (size_t i = 0; i < count; ++i) s->sorting[i] = low[i][k];
        velocity[k] = share_of(s->sorting, count, 0.5);
    }
    free(low);
}

/* The pose at the end is the pose at the start, forward motion apart. */
static bool ends_as_it_starts(const study *s) {
    const motion *m = s->motion;
    if (m->frames < 8) return false;
    const placed_joint *a = at_frame(s, 0), *b = at_frame(s, m->frames - 1);
    vec moved = vec_sub(pelvis_at(s, m->frames - 1), pelvis_at(s, 0));
    moved.y = 0;
    double worst = 0;
    for (uint32_t l = 0; l < m->leg_count; ++l) {
        const uint16_t joints[] = {m->legs[l].knee, m->legs[l].ankle, ball_joint(&m->legs[l])};
        for (int k = 0; k < 3; ++k) worst = fmax(worst, vec_length(vec_sub(vec_sub(b[joints[k]].place, moved), a[joints[k]].place)));
    }
    return worst < 0.06 * s->leg_length;
}

/* Takes the forward motion out of the poses and into `path`, and turns the clip to walk along +Z. */
static void take_out_path(study *s, io_notes *notes) {
    motion *m = s->motion;
    const double seconds = (m->frames - 1) / m->frame_rate;
    const vec net = m->frames > 1 ? vec_sub(pelvis_at(s, m->frames - 1), pelvis_at(s, 0)) : vec_of(0, 0, 0);
    double velocity[2] = {0, 0}, own = m->frames > 1 ? hypot(net.x, net.z) / seconds : 0;
    if (m->frames > 4) stance_velocity(s, velocity);
    const double slide = hypot(velocity[0], velocity[1]);
    m->in_place = slide > 0.15 * s->leg_length && own < 0.5 * slide;
    m->loops = ends_as_it_starts(s);
    /* where the root is in the clip's own coordinates: under the pelvis, without its sway */
    double(*root)[2] = io_allocate(m->frames, sizeof *root);
    const int32_t half = (int32_t)(0.25 * m->frame_rate);
    for (int32_t f = 0; f < (int32_t)m->frames; ++f) {
        int32_t reach = half < f ? half : f;
        if (reach > (int32_t)m->frames - 1 - f) reach = (int32_t)m->frames - 1 - f;
        for (int32_t k = f - reach; k <= f + reach; ++k) {
            const vec p = pelvis_at(s, (uint32_t)k);
            root[f][0] += p.x / (2 * reach + 1);
            root[f][1] += p.z / (2 * reach + 1);
        }
    }
    if (m->loops || m->in_place) {
        double mean[2] = {0, 0};
        const double moved[2] = {m->in_place ? 0 : net.x, m->in_place ? 0 : net.z}, last = m->frames > 1 ? m->frames - 1 : 1;
        for (uint32_t f = 0; f < m->frames; ++f) {
            for (int k = 0; k < 2; ++k) mean[k] += (root[f][k] - moved[k] * f / last) / m->frames;
        }
        for (uint32_t f = 0; f < m->frames; ++f) {
            for (int k = 0; k < 2; ++k) root[f][k] = mean[k] + moved[k] * f / last;
        }
    }
    for (uint32_t f = 0; f < m->frames; ++f) {
        const vec out = turn_vec(turn_back(m->turn), vec_of(root[f][0], m->ground, root[f][1]));
        for (uint32_t j = 0; j < m->joint_count; ++j) {
            if (m->parents[j] != PHX_NO_JOINT) continue;
            phx_vec3 *t = &m->locals[(size_t)f * m->joint_count + j].translation;
            *t = (phx_vec3){(float)(t->x - out.x), (float)(t->y - out.y), (float)(t->z - out.z)};
        }
        for (int k = 0; k < 2; ++k) m->path[f][k] = m->in_place ? -velocity[k] * f / m->frame_rate : root[f][k] - root[0][k];
    }
    free(root);
    const double *end = m->path[m->frames - 1], length = hypot(end[0], end[1]);
    m->speed = seconds > 0 ? length / seconds : 0;
    if (length > 0.2 * s->leg_length) {
        const double yaw = -atan2(end[0], end[1]), c = cos(yaw), si = sin(yaw);
        for (uint32_t f = 0; f < m->frames; ++f) {
            const double x = m->path[f][0], z = m->path[f][1];
            m->path[f][0] = c * x + si * z;
            m->path[f][1] = c * z - si * x;
        }
        m->turn = turn_times(turn_y(yaw), m->turn);
    } else {
        memset(m->path, 0, m->frames * sizeof *m->path);
        m->speed = 0;
        io_note(notes, "the clip stays where it is: its feet imply no speed");
    }
    if (m->in_place && m->speed > 0) io_note(notes, "the clip walks in place; its stance feet imply %.3g m/s", m->speed);
}

/* Over frames in which a ball is low and slow, with hysteresis: it takes less to go on standing than to begin. */
static void find_stances(study *s) {
    motion *m = s->motion;
    const int32_t step = (int32_t)fmax(1, round(m->frame_rate / 60)), frames = (int32_t)m->frames;
    double *height = io_allocate(m->frames, sizeof *height), *speed = io_allocate(m->frames, sizeof *speed);
    size_t standing = 0;
    for (uint32_t l = 0; l < m->leg_count; ++l) {
        const double length = m->leg_length[l], slow = 0.25 * m->speed + 0.05 * length, still_slow = 0.4 * m->speed + 0.1 * length;
        for (int32_t f = 0; f < frames; ++f) {
            int32_t before = f - step, after = f + step;
            if (!m->loops && before < 0) before = 0;
            if (!m->loops && after > frames - 1) after = frames - 1;
            vec moved = vec_of(0, 0, 0);
            double a[2], b[2];
            motion_path(m, before, a);
            motion_path(m, after, b);
            const int32_t last = frames - 1;
            if (last > 0) {
                moved = vec_sub(ball_at(s, (uint32_t)(after > last ? after - last : after), l),
                                ball_at(s, (uint32_t)(before < 0 ? before + last : before), l));
                moved = vec_scale(vec_add(moved, vec_of(b[0] - a[0], 0, b[1] - a[1])), m->frame_rate / (after - before));
            }
            height[f] = ball_at(s, (uint32_t)f, l).y;
            speed[f] = vec_length(moved);
        }
        size_t count = 0;
        for (int32_t f = 0; f < frames; ++f) {
            if (speed[f] < slow) s->sorting[count++] = height[f];
        }
        /* the height at which the ball rests: lower than most of its slow frames' heights, some of which are heels that lift */
        const double base = count > 0 ? share_of(s->sorting, count, 0.3) : 0;
        bool stands = false;
        const int32_t shortest = (int32_t)fmax(2, 0.05 * m->frame_rate);
        for (int32_t turn = m->loops ? -frames : 0; turn < frames; ++turn) {
            const int32_t f = turn < 0 ? turn + frames : turn;
            const double up = height[f] - base;
            stands = stands ? up < 0.03 * length && speed[f] < still_slow : count > 0 && up < 0.02 * length && speed[f] < slow;
            m->stance[(size_t)f * m->leg_count + l] = stands;
        }
        for (int32_t f = 0; f < frames;) {
            int32_t end = f;
            while (end < frames && m->stance[(size_t)end * m->leg_count + l]) ++end;
            const bool cut = f == 0 || end == frames; /* goes on outside the clip */
            for (int32_t k = f; k < end && end - f < shortest && !cut; ++k) m->stance[(size_t)k * m->leg_count + l] = 0;
            f = end + (end == f);
        }
        for (int32_t f = 0; f < frames; ++f) standing += m->stance[(size_t)f * m->leg_count + l];
    }
    m->stance_share = (double)standing / ((double)m->frames * m->leg_count);
    free(speed);
    free(height);
}

/* The stance frame in which the foot stands flattest: the ball as high as it is in most of them, the ankle as low as in few. */
static uint32_t flattest_frame(const study *s, uint32_t leg) {
    const motion *m = s->motion;
    size_t count = 0;
    for (int part = 0; part < 2; ++part) { /* stance frames; where there are none, all */
        double *balls = s->sorting, *ankles = s->sorting + m->frames;
        for (uint32_t f = 0; f < m->frames; ++f) {
            if (part == 0 && !m->stance[(size_t)f * m->leg_count + leg]) continue;
            balls[count] = ball_at(s, f, leg).y;
            ankles[count++] = at_frame(s, f)[m->legs[leg].ankle].place.y;
        }
        if (count == 0) continue;
        const double ball = share_of(balls, count, part == 0 ? 0.5 : 0.05), ankle = share_of(ankles, count, part == 0 ? 0.3 : 0.05);
        uint32_t best = 0;
        double least = INFINITY;
        for (uint32_t f = 0; f < m->frames; ++f) {
            if (part == 0 && !m->stance[(size_t)f * m->leg_count + leg]) continue;
            const double away = fabs(ball_at(s, f, leg).y - ball) + fabs(at_frame(s, f)[m->legs[leg].ankle].place.y - ankle);
            if (away < least) least = away, best = f;
        }
        return best;
    }
    return 0;
}

/* Where the knee of a straight leg would point, in the hip joint's frame, from the frame in which it is bent most. */
static bool knee_direction(const study *s, uint32_t leg, phx_vec3 *direction) {
    const phx_leg *joints = &s->motion->legs[leg];
    double most = 0.02 * s->motion->leg_length[leg];
    bool found = false;
    for (uint32_t f = 0; f < s->motion->frames; ++f) {
        const placed_joint *at = at_frame(s, f);
        const vec hip = at[joints->hip].place, axis = vec_sub(at[joints->ankle].place, hip), knee = vec_sub(at[joints->knee].place, hip);
        const vec out = vec_sub(knee, vec_scale(axis, vec_dot(knee, axis) / fmax(vec_dot(axis, axis), 1e-12)));
        const double bent = vec_length(out);
        if (bent <= most) continue;
        most = bent;
        found = true;
        const vec thigh = vec_scale(knee, 1 / fmax(vec_length(knee), 1e-12));
        const vec straight = vec_sub(out, vec_scale(thigh, vec_dot(out, thigh)));
        const vec local = turn_vec(turn_back(at[joints->hip].rotation), vec_scale(straight, 1 / fmax(vec_length(straight), 1e-12)));
        *direction = (phx_vec3){(float)local.x, (float)local.y, (float)local.z};
    }
    return found;
}

static bool measure_legs(study *s, io_error *error) {
    motion *m = s->motion;
    phx_vec3 *places = io_allocate(m->joint_count, sizeof *places);
    phx_quat *rotations = io_allocate(m->joint_count, sizeof *rotations);
    bool good = true;
    for (uint32_t l = 0; l < m->leg_count && good; ++l) {
        const placed_joint *at = at_frame(s, flattest_frame(s, l));
        for (uint32_t j = 0; j < m->joint_count; ++j) {
            places[j] = (phx_vec3){(float)at[j].place.x, (float)at[j].place.y, (float)at[j].place.z};
            rotations[j] = (phx_quat){(float)at[j].rotation.x, (float)at[j].rotation.y, (float)at[j].rotation.z, (float)at[j].rotation.w};
        }
        const phx_vec3 up = {0, 1, 0}, forward = {0, 0, 1};
        phx_report report;
        if (phx_leg_measure(&m->legs[l], places, rotations, up, 0, &forward, &report) != PHX_OK)
            good = io_fail(error, "%s: the leg at '%s' cannot be measured: %s", m->character->path,
                           m->character->joints[m->legs[l].hip].name, report.text);
        phx_vec3 direction;
        if (knee_direction(s, l, &direction)) m->legs[l].knee_forward = direction;
    }
    free(rotations);
    free(places);
    return good;
}

static bool all_finite(const motion *m) {
    const float *values = &m->locals[0].translation.x;
    for (size_t i = 0; i < (size_t)m->frames * m->joint_count * 10; ++i) {
        if (!isfinite(values[i])) return false;
    }
    return true;
}

bool motion_create(const io_character *character, size_t clip, const legs *legs, io_notes *notes, motion *made, io_error *error) {
    *made = (motion){.character = character, .clip = clip, .turn = TURN_NONE};
    motion *m = made;
    if (legs->count == 0) return io_fail(error, "%s: no legs were found; name them with --legs hip,knee,ankle[,ball];...", character->path);
    if (character->joint_count >= PHX_NO_JOINT)
        return io_fail(error, "%s: has %zu joints; at most 65535 can be walked", character->path, character->joint_count);
    const bool still = clip >= character->clip_count;
    m->joint_count = (uint32_t)character->joint_count;
    m->frames = still ? 1 : character->clips[clip].frames;
    m->frame_rate = still ? 30 : character->clips[clip].frame_rate;
    m->parents = io_allocate(m->joint_count, sizeof *m->parents);
    m->locals = io_allocate((size_t)m->frames * m->joint_count, sizeof *m->locals);
    m->path = io_allocate(m->frames, sizeof *m->path);
    for (uint32_t j = 0; j < m->joint_count; ++j) {
        m->parents[j] = character->joints[j].parent >= 0 ? (uint16_t)character->joints[j].parent : PHX_NO_JOINT;
    }
    sample_all(character, clip, m);
    if (!all_finite(m)) {
        motion_free(m);
        return io_fail(error, "%s: clip '%s' holds poses that are not finite in single precision", character->path,
                       still ? "rest pose" : character->clips[clip].name);
    }
    if (character->z_up) m->turn = turn_x(-1.57079632679489661923);
    m->leg_count = (uint32_t)legs->count;
    m->stance = io_allocate((size_t)m->frames * m->leg_count, 1);
    study s = {.motion = m};
    for (uint32_t l = 0; l < m->leg_count; ++l) {
        const leg *from = &legs->leg[l];
        /* a foot without a ball joint is as long as the end below its ankle says */
        const int32_t ball = from->ball >= 0 ? from->ball : from->tip;
        m->legs[l] = (phx_leg){.hip = (uint16_t)from->hip,
                               .knee = (uint16_t)from->knee,
                               .ankle = (uint16_t)from->ankle,
                               .ball = ball >= 0 ? (uint16_t)ball : PHX_NO_JOINT};
        m->leg_length[l] = from->upper_length + from->lower_length;
        m->leg_side[l] = from->side;
        s.leg_length += m->leg_length[l] / m->leg_count;
    }
    s.joints = io_allocate((size_t)m->frames * m->joint_count, sizeof *s.joints);
    s.sorting = io_allocate((size_t)m->frames * (m->leg_count > 1 ? m->leg_count : 2), sizeof *s.sorting);
    place_all(&s);
    m->pelvis = find_pelvis(m, s.joints);
    double lowest = INFINITY;
    for (uint32_t l = 0; l < m->leg_count; ++l) {
        for (uint32_t f = 0; f < m->frames; ++f) s.sorting[f] = ball_at(&s, f, l).y;
        lowest = fmin(lowest, share_of(s.sorting, m->frames, 0.05));
    }
    if (lowest < -0.05 * s.leg_length || lowest > 0.35 * s.leg_length) {
        m->ground = lowest - 0.03 * s.leg_length;
        io_note(notes, "the clip's ground is a guess: %.3f m over the file's zero, just below its feet", m->ground);
    }
    take_out_path(&s, notes);
    place_all(&s);
    find_stances(&s);
    if (m->stance_share == 0) io_note(notes, "no foot of the clip ever stands: quality has nothing to go by");
    const bool good = measure_legs(&s, error);
    free(s.sorting);
    free(s.joints);
    if (!good) motion_free(m);
    return good;
}

void motion_free(motion *motion) {
    free(motion->parents);
    free(motion->locals);
    free(motion->path);
    free(motion->stance);
    *motion = (struct motion){0};
}
