/* Debug drawing of crowds and chains: implements phalanx/draw.h. Plain scalar C over the caller's corrected pose and the crowd's
 * state; called only by users of the library. */
#include "crowd.h"
#include "../api/report.h"
#include "../reference/memory.h"
#include "../reference/pose.h"
#include "phalanx/draw.h"

enum {
    RED = 0xE04040,
    GREEN = 0x40C060,
    BLUE = 0x4090E0,
    YELLOW = 0xE0D040,
    MAGENTA = 0xD050D0,
    ORANGE = 0xE09030,
    WHITE = 0xF0F0F0,
    GREY = 0x808080,
    BODY = 0xB0B0B8
};

typedef struct pen {
    phx_draw_line line;
    void *context;
    uint32_t what;
} pen;

static int drawable(phx_vec3 p) { return dot3(p, p) < 1e30f; }

static void draw(const pen *pen, phx_draw what, uint32_t colour, phx_vec3 from, phx_vec3 to) {
    if (pen->what & what && drawable(from) && drawable(to)) pen->line(pen->context, from, to, colour, what);
}

static void draw_cross(const pen *pen, phx_draw what, uint32_t colour, phx_vec3 at, float size) {
    draw(pen, what, colour, sub3(at, vec3(size, 0.0f, 0.0f)), add3(at, vec3(size, 0.0f, 0.0f)));
    draw(pen, what, colour, sub3(at, vec3(0.0f, size, 0.0f)), add3(at, vec3(0.0f, size, 0.0f)));
    draw(pen, what, colour, sub3(at, vec3(0.0f, 0.0f, size)), add3(at, vec3(0.0f, 0.0f, size)));
}

/* One character of a frame. Positions are relative to its root until they are drawn, so that far from the origin a foot keeps its shape. */
typedef struct subject {
    const phx_crowd_setup *setup;
    const phx_crowd_frame *frame;
    size_t character;
    phx_vec3 root;
    phx_quat rotation;
} subject;

static phx_vec3 scale_of(const subject *s, uint32_t slot) {
    const phx_poses *poses = &s->frame->poses;
    const size_t index = poses->layout == PHX_POSE_COMPACT ? slot : s->setup->plan.joints[slot];
    return s->setup->scaled ? phx_reference_scale(poses, index, s->character) : vec3(1.0f, 1.0f, 1.0f);
}

/* A joint by climbing to the root: slow, and needs no memory. */
static void joint_of(const subject *s, uint32_t slot, phx_vec3 *position, phx_quat *rotation) {
    const phx_poses *poses = &s->frame->poses;
    const uint16_t *parents = s->setup->plan.parents;
    phx_vec3 at = vec3(0.0f, 0.0f, 0.0f);
    phx_quat turned = quat_identity();
    for (uint32_t climb = slot; climb != PHX_NO_JOINT; climb = parents[climb]) {
        const size_t index = poses->layout == PHX_POSE_COMPACT ? climb : s->setup->plan.joints[climb];
        const phx_quat local = phx_reference_rotation(poses, index, s->character);
        phx_vec3 offset = phx_reference_translation(poses, index, s->character);
        /* the scales of all ancestors act on the offset, component by component */
        for (uint32_t above = parents[climb]; s->setup->scaled && above != PHX_NO_JOINT; above = parents[above]) {
            const phx_vec3 scale = scale_of(s, above);
            offset = vec3(offset.x * scale.x, offset.y * scale.y, offset.z * scale.z);
        }
        at = add3(offset, rotate3(local, at));
        turned = mul4(local, turned);
    }
    *position = rotate3(s->rotation, at), *rotation = mul4(s->rotation, turned);
}

static uint32_t leg_colour(const phx_crowd *crowd, uint32_t leg, uint32_t group, uint32_t lane) {
    const phx_leg_state *state = crowd->legs + group * crowd->setup.leg_count + leg;
    if (!phx_is_marked(state, lane, PHX_MARK_VALID)) return BLUE;
    if (!(state->flags.v[lane] & PHX_FLAG_REACHED)) return RED;
    return 0.5f < phx_support_of(state, lane) ? GREEN : BLUE;
}

/* Where the knee may put the shin: the thigh's direction, turned about the knee's hinge by the least and by the most bend. */
static void draw_bend_limits(const pen *pen, const phx_leg_setup *rig, phx_vec3 hip, phx_vec3 knee, phx_vec3 ankle, phx_vec3 forward) {
    const phx_vec3 thigh = sub3(knee, hip), along = scale3(thigh, 1.0f / max1(length3(thigh), 1e-30f));
    const float shin = length3(sub3(ankle, knee)), cosines[2] = {1.0f - 0.5f * rig->short_at_min_bend, 0.5f * rig->open_at_max_bend - 1.0f};
    const phx_vec3 back = reject3(sub3(ankle, knee), along), side = reject3(forward, along);
    const float bent = length3(back);
    const phx_vec3 fold = bent > 1e-3f * shin ? scale3(back, 1.0f / bent) : scale3(side, -1.0f / max1(length3(side), 1e-30f));
    for (int i = 0; i < 2; ++i) {
        const float sine = sqrtf(max1(1.0f - cosines[i] * cosines[i], 0.0f));
        draw(pen, PHX_DRAW_LIMITS, ORANGE, knee, add3(knee, scale3(add3(scale3(along, cosines[i]), scale3(fold, sine)), shin)));
    }
}

static void draw_leg(const pen *pen, const phx_crowd *crowd, const subject *s, uint32_t leg, uint32_t group, uint32_t lane) {
    const phx_crowd_setup *setup = s->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const phx_leg_state *state = crowd->legs + group * setup->leg_count + leg;
    phx_vec3 hip, knee, ankle, ball_joint;
    phx_quat hip_rotation, knee_rotation, ankle_rotation, ball_rotation;
    joint_of(s, rig->hip, &hip, &hip_rotation), joint_of(s, rig->knee, &knee, &knee_rotation);
    joint_of(s, rig->ankle, &ankle, &ankle_rotation), joint_of(s, rig->ball, &ball_joint, &ball_rotation);
    hip = add3(hip, s->root), knee = add3(knee, s->root), ankle = add3(ankle, s->root), ball_joint = add3(ball_joint, s->root);
    const phx_vec3 heel = add3(ankle, rotate3(ankle_rotation, rig->heel_offset));
    const phx_vec3 ball = add3(ball_joint, rotate3(ball_rotation, rig->ball_offset));
    const float size = (length3(sub3(knee, hip)) + length3(sub3(ankle, knee))) * 0.03f;
    const int solved = phx_is_marked(state, lane, PHX_MARK_VALID);
    const uint32_t colour = leg_colour(crowd, leg, group, lane);

    draw(pen, PHX_DRAW_BONES, colour, ankle, heel);
    draw(pen, PHX_DRAW_BONES, colour, ball_joint, ball);
    draw(pen, PHX_DRAW_BONES, colour, heel, ball);
    const phx_vec3 forward = solved ? row3(&state->bend, lane) : rotate3(hip_rotation, rig->knee_forward);
    if (rig->limits) draw_bend_limits(pen, rig, hip, knee, ankle, forward);
    if (crowd->per_tile) {
        for (uint32_t end = 0; end < 2; ++end) {
            const phx_ray_block *ray = (phx_ray_block *)phx_in_workspace(crowd, crowd->rays, group / PHX_TILE_GROUPS) +
                                       (group % PHX_TILE_GROUPS * setup->leg_count + leg) * 2 + end;
            const phx_vec3 origin = vec3(ray->org_x[lane], ray->org_y[lane], ray->org_z[lane]);
            const int hit = ray->geomID[lane] != PHX_NO_HIT;
            const float length = hit ? ray->tfar[lane] : setup->ray_length;
            draw(pen, PHX_DRAW_RAYS, hit ? WHITE : GREY, origin, sub3(origin, scale3(setup->up, length)));
        }
    }
    if (!solved) return;
    const phx_vec3 at = row3(&crowd->characters[group].root, lane), target = add3(at, row3(&state->target, lane));
    draw_cross(pen, PHX_DRAW_TARGETS, YELLOW, target, size);
    draw(pen, PHX_DRAW_TARGETS, YELLOW, ankle, target);
    if (phx_is_marked(state, lane, PHX_MARK_KNOWN)) {
        const phx_vec3 point = add3(at, row3(&state->point, lane)), normal = row3(&state->normal, lane);
        const phx_vec3 spare = reject3(spare_direction(normal), normal);
        const phx_vec3 x = scale3(spare, 5.0f * size / max1(length3(spare), 1e-30f)), z = cross3(x, normal);
        const phx_vec3 corners[4] = {add3(add3(point, x), z), add3(sub3(point, x), z), sub3(sub3(point, x), z), sub3(add3(point, x), z)};
        const uint32_t shade = 0x50u + (uint32_t)(0x90 * min1(max1(state->weight.v[lane], 0.0f), 1.0f));
        for (int i = 0; i < 4; ++i) draw(pen, PHX_DRAW_PLANES, shade << 8 | shade, corners[i], corners[(i + 1) % 4]);
        draw(pen, PHX_DRAW_PLANES, shade << 8 | shade, point, add3(point, scale3(normal, 3.0f * size)));
    }
    if (phx_is_marked(state, lane, PHX_MARK_LOCKED)) {
        const uint32_t body = state->body.v[lane];
        phx_vec3 lock = row3(&state->lock_point, lane);
        if (!setup->bodies)
            lock = add3(at, lock);
        else if (s->frame->bodies && body < s->frame->body_count)
            lock = add3(s->frame->bodies[body].position, rotate3(s->frame->bodies[body].rotation, lock));
        draw_cross(pen, PHX_DRAW_LOCKS, MAGENTA, lock, size);
        draw(pen, PHX_DRAW_LOCKS, MAGENTA, ball, lock);
    }
}

static void draw_character(const pen *pen, const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t character) {
    const phx_crowd_setup *setup = &crowd->setup;
    const uint32_t group = character / PHX_BLOCK_LANES, lane = character % PHX_BLOCK_LANES;
    const subject s = {setup, frame, character, read3(frame->root_position, character, vec3(0.0f, 0.0f, 0.0f)),
                       read4(frame->root_rotation, character, quat_identity())};
    if (pen->what & PHX_DRAW_BONES) {
        for (uint32_t slot = 0; slot < setup->plan.count; ++slot) {
            const uint16_t parent = setup->plan.parents[slot];
            phx_vec3 from, to;
            phx_quat unused;
            uint32_t colour = BODY;
            if (parent == PHX_NO_JOINT) continue;
            for (uint32_t leg = 0; leg < setup->leg_count; ++leg) {
                const phx_leg_setup *rig = setup->legs + leg;
                if (slot == rig->knee || slot == rig->ankle || slot == rig->ball) colour = leg_colour(crowd, leg, group, lane);
            }
            joint_of(&s, parent, &from, &unused), joint_of(&s, slot, &to, &unused);
            draw(pen, PHX_DRAW_BONES, colour, add3(s.root, from), add3(s.root, to));
        }
    }
    for (uint32_t leg = 0; leg < setup->leg_count; ++leg) draw_leg(pen, crowd, &s, leg, group, lane);
    if (setup->pelvis_joint != PHX_NO_JOINT) {
        const int solved = phx_is_marked(crowd->legs + group * setup->leg_count, lane, PHX_MARK_VALID);
        const float weight = min1(max1(read1(frame->weight, character, 1.0f), 0.0f), 1.0f);
        const float moved = solved ? crowd->characters[group].pelvis.v[lane] * weight : 0.0f;
        const phx_vec3 shift = solved && crowd->pelvises ? scale3(row3(&crowd->pelvises[group].shift, lane), weight) : vec3(0.0f, 0.0f, 0.0f);
        phx_vec3 pelvis;
        phx_quat unused;
        joint_of(&s, setup->pelvis_slot, &pelvis, &unused);
        pelvis = add3(s.root, pelvis);
        draw(pen, PHX_DRAW_LIMITS, ORANGE, sub3(pelvis, scale3(setup->up, setup->max_pelvis_drop + moved)),
             add3(pelvis, scale3(setup->up, setup->max_pelvis_rise - moved)));
        if (0.0f < dot3(shift, shift)) draw(pen, PHX_DRAW_LIMITS, ORANGE, pelvis, sub3(pelvis, shift)); /* to where it would have been */
    }
}

phx_status phx_crowd_draw(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count, uint32_t what,
                          phx_draw_line line, void *context, phx_report *report) {
    const phx_status status = phx_crowd_validate(crowd, frame, report);
    if (status) return status;
    if (!line) return phx_reject(report, PHX_ERROR_NULL, "crowd draw: 'line' is NULL");
    if (first > frame->count || count > frame->count - first)
        return phx_reject(report, PHX_ERROR_COUNT, "crowd draw: 'first' %u and 'count' %u go beyond the frame's %u characters", first,
                          count, frame->count);
    const pen pen = {line, context, what};
    for (uint32_t i = 0; i < count; ++i) draw_character(&pen, crowd, frame, first + i);
    return phx_accept(report);
}

void phx_chain_draw(const phx_vec3 *joints, uint32_t count, const phx_vec3 *target, uint32_t flags, phx_draw_line line, void *context) {
    const pen pen = {line, context, PHX_DRAW_ALL};
    if (!joints || !line || count == 0) return;
    float length = 0.0f;
    for (uint32_t i = 1; i < count; ++i) {
        draw(&pen, PHX_DRAW_BONES, flags & PHX_FLAG_REACHED ? GREEN : RED, joints[i - 1], joints[i]);
        length += length3(sub3(joints[i], joints[i - 1]));
    }
    if (!target) return;
    draw_cross(&pen, PHX_DRAW_TARGETS, YELLOW, *target, length * 0.03f);
    draw(&pen, PHX_DRAW_TARGETS, YELLOW, joints[count - 1], *target);
}
