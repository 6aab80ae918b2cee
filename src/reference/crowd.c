/* Foot placement in plain scalar C, one character at a time. The lanes' twin is kernel/crowd.inl; the stages are described in
 * phalanx/crowd.h. */
#include "reference.h"
#include "pose.h"
#include "memory.h"

static float saturate(float a) { return min1(max1(a, 0.0f), 1.0f); }
static float mix(float a, float b, float t) { return a + (b - a) * t; }
static phx_vec3 mix3(phx_vec3 a, phx_vec3 b, float t) { return add3(a, scale3(sub3(b, a), t)); }
static phx_vec3 unit3(phx_vec3 a) { return scale3(a, 1.0f / sqrtf(max1(dot3(a, a), 1e-30f))); }
static phx_vec3 level3(phx_vec3 a, phx_vec3 up) { return sub3(a, scale3(up, dot3(a, up))); }

void phx_reference_crowd_prepare(const phx_crowd_task *task) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count, slots = setup->plan.count;
    const phx_vec3 up = setup->up, none = vec3(0.0f, 0.0f, 0.0f);
    const uint32_t padded = (task->count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES * PHX_BLOCK_LANES;
    for (uint32_t i = 0; i < padded; ++i) {
        const uint32_t group = i / PHX_BLOCK_LANES, lane = i % PHX_BLOCK_LANES;
        const size_t character = task->first + (i < task->count ? i : task->count - 1); /* the tail repeats the last one */
        phx_joint_rows *joints = task->joints + group * slots;
        const phx_character_state *state = task->characters + group;
        const phx_vec3 root = read3(frame->root_position, character, none);
        const phx_quat rotation = read4(frame->root_rotation, character, quat_identity());
        uint32_t flags = 0;
        if (frame->flags.data) memcpy(&flags, (const char *)frame->flags.data + character * frame->flags.stride, sizeof flags);
        phx_reference_walk(&setup->plan, &frame->poses, character, lane, rotation, joints, task->scales ? task->scales + group * slots : NULL);

        /* input that arithmetic can bear, or the character is left alone this frame and starts afresh in the next */
        const float norm = dot4(rotation, rotation);
        int good = dot3(root, root) < 1e18f && 0.25f < norm && norm < 4.0f && !(flags & PHX_CHARACTER_OFF);
        for (uint32_t leg = 0; leg < legs; ++leg) {
            const phx_leg_setup *rig = setup->legs + leg;
            phx_foot_rows *foot = task->feet + group * legs + leg;
            const phx_vec3 heel = add3(row3(&joints[rig->ankle].position, lane), rotate3(row4(&joints[rig->ankle].rotation, lane), rig->heel_offset));
            const phx_vec3 ball = add3(row3(&joints[rig->ball].position, lane), rotate3(row4(&joints[rig->ball].rotation, lane), rig->ball_offset));
            set_row3(&foot->heel, lane, heel), set_row3(&foot->ball, lane, ball);
            good = good && dot3(heel, heel) < 1e18f && dot3(ball, ball) < 1e18f;
        }
        const int remembered = 0.5f < state->valid.v[lane] && !(flags & PHX_CHARACTER_TELEPORT);
        set_row3(&task->root_position[group], lane, root), set_row4(&task->root_rotation[group], lane, rotation);
        task->good[group].v[lane] = good ? (remembered ? 2.0f : 1.0f) : 0.0f;

        /* rays start where the soles will probably end: where they ended last frame, seen from the animation */
        for (uint32_t leg = 0; leg < legs; ++leg) {
            const phx_foot_rows *foot = task->feet + group * legs + leg;
            const phx_leg_state *leg_state = task->legs + group * legs + leg;
            for (int end = 0; end < 2; ++end) {
                phx_ray_block *ray = task->rays + (group * legs + leg) * 2 + (uint32_t)end;
                phx_vec3 sole = row3(end ? &foot->ball : &foot->heel, lane);
                if (remembered) sole = add3(sole, row3(end ? &leg_state->ball_shift : &leg_state->heel_shift, lane));
                const phx_vec3 origin = good ? add3(root, add3(level3(sole, up), scale3(up, setup->step_up))) : none;
                ray->org_x[lane] = origin.x, ray->org_y[lane] = origin.y, ray->org_z[lane] = origin.z;
                ray->tfar[lane] = good ? setup->ray_length : 0.0f;
                ray->geomID[lane] = PHX_NO_HIT;
            }
        }
    }
}

/* A ray's hit as a point (root-relative) and unit normal; false for misses, ceilings, steep ground and nonsense. */
static int read_hit(const phx_crowd_setup *setup, const phx_ray_block *ray, uint32_t lane, phx_vec3 sole, phx_vec3 *point, phx_vec3 *normal) {
    const phx_vec3 up = setup->up, n = vec3(ray->Ng_x[lane], ray->Ng_y[lane], ray->Ng_z[lane]);
    const float t = ray->tfar[lane], squared = dot3(n, n);
    const int ok = 1e-20f < squared && squared < 1e20f && 0.0f <= t && t <= setup->ray_length && ray->geomID[lane] != PHX_NO_HIT;
    *normal = scale3(n, 1.0f / sqrtf(ok ? squared : 1.0f));
    *point = add3(level3(sole, up), scale3(up, setup->step_up - t));
    return ok && setup->cos_max_slope <= dot3(*normal, up);
}

typedef struct ground_plane {
    phx_vec3 point, normal;
    uint32_t body;
    int seen;
} ground_plane;

/* One plane from two hits: through both, rolled by the mean of their normals. Where that plane and the ground's own normals
 * disagree by more than 35 degrees there is an edge between heel and ball, and the foot stands on the higher side. */
static ground_plane plane_under(const phx_crowd_setup *setup, const phx_ray_block *rays, uint32_t lane, phx_vec3 heel, phx_vec3 ball) {
    const phx_vec3 up = setup->up;
    const float cos_edge = 0.8191520f;
    phx_vec3 heel_point, heel_normal, ball_point, ball_normal;
    const int heel_hit = read_hit(setup, rays, lane, heel, &heel_point, &heel_normal);
    const int ball_hit = read_hit(setup, rays + 1, lane, ball, &ball_point, &ball_normal);
    const int on_heel = heel_hit && (!ball_hit || dot3(ball_point, up) < dot3(heel_point, up));
    ground_plane plane;
    plane.seen = heel_hit || ball_hit;
    plane.point = on_heel ? heel_point : ball_point;
    plane.normal = on_heel ? heel_normal : ball_normal;
    plane.body = on_heel ? rays[0].geomID[lane] : rays[1].geomID[lane];
    if (heel_hit && ball_hit) {
        const phx_vec3 along = sub3(ball_point, heel_point), sum = add3(heel_normal, ball_normal);
        const phx_vec3 common = unit3(sub3(sum, scale3(along, dot3(sum, along) / max1(dot3(along, along), 1e-30f))));
        if (setup->cos_max_slope <= dot3(common, up) && cos_edge <= dot3(common, heel_normal) && cos_edge <= dot3(common, ball_normal))
            plane.normal = common;
    }
    return plane;
}

typedef struct leg_work {
    phx_vec3 target; /* ankle, root-relative */
    phx_vec3 tilt;   /* unit normal that the foot follows */
    float support, weight;
} leg_work;

/* height of a plane over the point `at`, along up */
static float height_over(phx_vec3 point, phx_vec3 normal, float normal_up, phx_vec3 at) { return dot3(sub3(point, at), normal) / normal_up; }

static leg_work place_foot(const phx_crowd_task *task, uint32_t leg, uint32_t group, uint32_t lane, size_t character, int remembered, phx_vec3 travel) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const uint32_t index = group * setup->leg_count + leg;
    const phx_joint_rows *joints = task->joints + group * setup->plan.count;
    phx_leg_state *state = task->legs + index;
    const phx_vec3 up = setup->up;
    const phx_vec3 ankle = row3(&joints[rig->ankle].position, lane);
    const phx_vec3 heel = row3(&task->feet[index].heel, lane), ball = row3(&task->feet[index].ball, lane);

    /* how much the foot stands: told, or by the height of its sole over flat ground */
    const float heel_height = dot3(heel, up), ball_height = dot3(ball, up), ankle_height = dot3(ankle, up);
    const float sole_height = min1(heel_height, ball_height);
    float support;
    if (task->frame->support.data) {
        memcpy(&support, (const char *)task->frame->support.data + character * task->frame->support.stride + leg * sizeof support, sizeof support);
        support = saturate(support);
    } else {
        const float low = saturate((setup->swing_height - sole_height) * setup->inverse_swing_range);
        support = low * low * (3.0f - (low + low));
    }

    /* the plane under the foot: this frame's hits, or the last one seen */
    const phx_vec3 heel_ray = remembered ? add3(heel, row3(&state->heel_shift, lane)) : heel;
    const phx_vec3 ball_ray = remembered ? add3(ball, row3(&state->ball_shift, lane)) : ball;
    ground_plane plane = plane_under(setup, task->rays + index * 2, lane, heel_ray, ball_ray);
    const int known = remembered && 0.5f < state->known.v[lane];
    const phx_vec3 last_point = known ? sub3(row3(&state->point, lane), travel) : vec3(0.0f, 0.0f, 0.0f);
    const phx_vec3 last_normal = known ? row3(&state->normal, lane) : up;
    const float missed = plane.seen ? 0.0f : (known ? state->missed.v[lane] : 0.0f) + task->step.dt;
    const int held = known && missed <= setup->hold_seconds;
    if (!plane.seen) plane.point = last_point, plane.normal = last_normal, plane.body = PHX_NO_HIT;
    const float wanted = plane.seen || held ? 1.0f : 0.0f;
    const float weight = remembered ? mix(wanted, state->weight.v[lane], task->step.weight_keep) : wanted;

    /* a jump of the ground is not followed at once: the foot keeps its height and the difference dies away; never into the ground */
    const float normal_up = dot3(plane.normal, up);
    const phx_vec3 floor_point = sub3(ankle, scale3(up, ankle_height));
    const float height = height_over(plane.point, plane.normal, normal_up, floor_point);
    const float old_height = height_over(last_point, last_normal, dot3(last_normal, up), floor_point);
    float jump = known ? (state->jump.v[lane] + (old_height - height)) * task->step.ground_keep : 0.0f;
    jump = max1(jump, -max1(sole_height, 0.0f));

    /* the attitude: towards the ground's normal as far as the foot stands, within limits, smoothed */
    phx_vec3 tilt = unit3(mix3(up, plane.normal, support));
    const float tilt_cos = dot3(tilt, up);
    if (tilt_cos < setup->cos_max_tilt) {
        const phx_vec3 level = unit3(sub3(tilt, scale3(up, tilt_cos)));
        tilt = add3(scale3(up, setup->cos_max_tilt), scale3(level, setup->sin_max_tilt));
    }
    if (known) tilt = unit3(mix3(tilt, row3(&state->tilt, lane), task->step.tilt_keep));
    const phx_quat turn = between4(up, tilt, 1.0f, unit3(reject3(spare_direction(tilt), tilt)));

    /* the foot's pose over flat ground, carried to the plane; then lifted so that its deepest point keeps its animated height,
     * less what the clip itself hovers or sinks while the foot stands */
    const phx_vec3 ground = add3(floor_point, scale3(up, height));
    const phx_vec3 new_heel = add3(ground, rotate3(turn, sub3(heel, floor_point)));
    const phx_vec3 new_ball = add3(ground, rotate3(turn, sub3(ball, floor_point)));
    const float error = min1(max1(sole_height, -setup->plant_height), setup->plant_height) * support;
    const float heel_lift = (heel_height - error) - dot3(sub3(new_heel, plane.point), plane.normal);
    const float ball_lift = (ball_height - error) - dot3(sub3(new_ball, plane.point), plane.normal);
    const float lift = max1(heel_lift, ball_lift) / normal_up + jump;
    const phx_vec3 placed = add3(add3(ground, scale3(tilt, ankle_height)), scale3(up, lift));

    leg_work work;
    work.support = support, work.weight = weight;
    work.target = mix3(ankle, placed, weight);
    work.tilt = unit3(mix3(up, tilt, weight));

    set_row3(&state->point, lane, plane.point), set_row3(&state->normal, lane, plane.normal);
    state->known.v[lane] = plane.seen || held ? 1.0f : 0.0f;
    state->missed.v[lane] = missed, state->weight.v[lane] = weight, state->jump.v[lane] = jump;
    set_row3(&state->tilt, lane, tilt);
    set_row3(&state->heel_shift, lane, scale3(level3(sub3(new_heel, heel), up), weight));
    set_row3(&state->ball_shift, lane, scale3(level3(sub3(new_ball, ball), up), weight));
    set_row3(&state->target, lane, work.target);
    state->support.v[lane] = support, state->body.v[lane] = plane.body;
    return work;
}

/* How far the pelvis must sink for this leg to reach (<= 0), and how far the ground pushes it up (any sign). */
static void pelvis_demand(const phx_crowd_setup *setup, const phx_leg_setup *rig, const phx_joint_rows *joints, uint32_t lane, const leg_work *work,
                          float *drop, float *rise) {
    const phx_vec3 up = setup->up;
    const phx_vec3 hip = row3(&joints[rig->hip].position, lane), knee = row3(&joints[rig->knee].position, lane);
    const phx_vec3 ankle = row3(&joints[rig->ankle].position, lane);
    const float length = length3(sub3(knee, hip)) + length3(sub3(ankle, knee));
    const float reach = max1(length * setup->max_extension, length3(sub3(ankle, hip)));
    const phx_vec3 to_target = sub3(work->target, hip);
    const float below = dot3(to_target, up);
    const phx_vec3 level = sub3(to_target, scale3(up, below));
    const float room = reach * reach - dot3(level, level);
    *drop = (0.0f < room ? min1(below + sqrtf(max1(room, 0.0f)), 0.0f) : 0.0f) * (work->support * work->weight);
    *rise = dot3(sub3(work->target, ankle), up) + (1.0f - work->support) * setup->max_pelvis_rise;
}

static void solve_leg(const phx_crowd_task *task, uint32_t leg, uint32_t group, uint32_t lane, size_t character, float weight, float pelvis, const leg_work *work) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const phx_joint_rows *joints = task->joints + group * setup->plan.count;
    phx_leg_state *state = task->legs + group * setup->leg_count + leg;
    const phx_vec3 up = setup->up;
    const phx_vec3 hip = row3(&joints[rig->hip].position, lane), knee = row3(&joints[rig->knee].position, lane);
    const phx_vec3 ankle = row3(&joints[rig->ankle].position, lane);
    const phx_quat hip_world = row4(&joints[rig->hip].rotation, lane), knee_world = row4(&joints[rig->knee].rotation, lane);

    phx_leg_in in;
    in.thigh = sub3(knee, hip), in.shin = sub3(ankle, knee);
    in.delta = sub3(work->target, add3(hip, scale3(up, pelvis)));
    /* the knee points where the clip bends it; the straighter the leg, the more where the thigh's own frame says */
    const phx_vec3 normal = cross3(in.shin, in.thigh), chord = add3(in.thigh, in.shin);
    const phx_vec3 clip_bend = unit3(cross3(normal, chord));
    const float squares = dot3(in.thigh, in.thigh) * dot3(in.shin, in.shin);
    const float bent = min1(dot3(normal, normal) * 100.0f / max1(squares, 1e-30f), 1.0f);
    in.pole = mix3(rotate3(hip_world, rig->knee_forward), clip_bend, bent);
    in.previous = row3(&state->bend, lane);
    in.rest_bend = vec3(0.0f, 0.0f, 0.0f);
    in.weight = weight, in.pole_weight = 1.0f;
    in.tip_from = quat_identity(), in.tip_to = quat(0.0f, 0.0f, 0.0f, 0.0f), in.pose_norm = 1.0f;
    phx_two_bone_setup limits;
    limits.twist = PHX_TWIST_PLANE, limits.tolerance = 1e-3f, limits.direction_tolerance_squared = 1e-8f;
    limits.soft_start = setup->soft_start, limits.soft = setup->soft_start < 1.0f;
    limits.max_stretch = 1.0f, limits.stretch = 0;
    limits.limits = rig->limits, limits.short_at_min_bend = rig->short_at_min_bend, limits.open_at_max_bend = rig->open_at_max_bend;
    limits.cos_turn = -1.0f, limits.sin_turn = 0.0f, limits.turn_limit = 0;
    const phx_leg_out out = phx_reference_leg(&limits, &in);

    if (out.moved) {
        phx_quat ankle_rotation = between4(up, work->tilt, 1.0f, unit3(reject3(spare_direction(work->tilt), work->tilt)));
        if (weight < 1.0f) ankle_rotation = fraction4(ankle_rotation, max1(weight, 0.0f));
        const phx_quat above_hip =
            rig->hip_parent == PHX_NO_JOINT ? row4(&task->root_rotation[group], lane) : row4(&joints[rig->hip_parent].rotation, lane);
        const phx_quat above_knee = mul4(out.root_rotation, row4(&joints[rig->knee_parent].rotation, lane));
        const phx_quat above_ankle = mul4(out.mid_rotation, row4(&joints[rig->ankle_parent].rotation, lane));
        const phx_quat hip_new = mul4(out.root_rotation, hip_world), knee_new = mul4(out.mid_rotation, knee_world);
        const phx_quat ankle_new = mul4(ankle_rotation, row4(&joints[rig->ankle].rotation, lane));
        const phx_poses *poses = &task->frame->poses;
        const int compact = poses->layout == PHX_POSE_COMPACT;
        phx_reference_set_rotation(poses, compact ? rig->hip : rig->hip_joint, character, normalize4(mul4(conjugate4(above_hip), hip_new)));
        phx_reference_set_rotation(poses, compact ? rig->knee : rig->knee_joint, character, normalize4(mul4(conjugate4(above_knee), knee_new)));
        phx_reference_set_rotation(poses, compact ? rig->ankle : rig->ankle_joint, character, normalize4(mul4(conjugate4(above_ankle), ankle_new)));
    }
    set_row3(&state->bend, lane, out.bend);
    state->residual.v[lane] = out.residual, state->flags.v[lane] = out.flags;
}

void phx_reference_crowd_solve(const phx_crowd_task *task) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count;
    const phx_vec3 up = setup->up;
    for (uint32_t i = 0; i < task->count; ++i) {
        const uint32_t group = i / PHX_BLOCK_LANES, lane = i % PHX_BLOCK_LANES;
        const size_t character = task->first + i;
        const phx_joint_rows *joints = task->joints + group * setup->plan.count;
        phx_character_state *state = task->characters + group;
        if (task->good[group].v[lane] < 0.5f) {
            state->valid.v[lane] = 0.0f;
            continue;
        }
        const int remembered = 1.5f < task->good[group].v[lane];
        const phx_vec3 root = row3(&task->root_position[group], lane), travel = sub3(root, row3(&state->root, lane));
        const float weight = frame->weight.data ? min1(max1(read1(frame->weight, character, 1.0f), 0.0f), 1.0f) : 1.0f;

        leg_work work[PHX_MAX_LEGS];
        float drop = 0.0f, rise = setup->max_pelvis_rise, standing = 0.0f;
        for (uint32_t leg = 0; leg < legs; ++leg) {
            work[leg] = place_foot(task, leg, group, lane, character, remembered, travel);
            float leg_drop, leg_rise;
            pelvis_demand(setup, setup->legs + leg, joints, lane, &work[leg], &leg_drop, &leg_rise);
            drop = min1(leg_drop, drop), rise = min1(leg_rise, rise), standing = max1(work[leg].support, standing);
        }
        const float old_pelvis = state->pelvis.v[lane], travel_limit = task->step.pelvis_travel;
        const float wanted = drop < 0.0f ? max1(drop, -setup->max_pelvis_drop) : max1(rise, 0.0f) * standing;
        float pelvis = wanted;
        if (remembered) {
            pelvis = mix(wanted, old_pelvis, task->step.pelvis_keep);
            pelvis = min1(max1(pelvis, old_pelvis - travel_limit), old_pelvis + travel_limit);
        }
        if (setup->pelvis_joint == PHX_NO_JOINT) pelvis = 0.0f;
        const float applied = pelvis * weight;

        for (uint32_t leg = 0; leg < legs; ++leg) solve_leg(task, leg, group, lane, character, weight, applied, &work[leg]);

        if (setup->pelvis_joint != PHX_NO_JOINT && 0.0f < fabsf(applied)) {
            const size_t index = frame->poses.layout == PHX_POSE_COMPACT ? setup->pelvis_slot : setup->pelvis_joint;
            const uint32_t parent = setup->pelvis_parent;
            const phx_quat above = parent == PHX_NO_JOINT ? row4(&task->root_rotation[group], lane) : row4(&joints[parent].rotation, lane);
            phx_vec3 local = rotate3(conjugate4(above), scale3(up, applied));
            if (task->scales && parent != PHX_NO_JOINT) {
                const phx_vec3 scale = row3(&task->scales[group * setup->plan.count + parent], lane);
                local = vec3(local.x / scale.x, local.y / scale.y, local.z / scale.z);
            }
            phx_reference_set_translation(&frame->poses, index, character, add3(phx_reference_translation(&frame->poses, index, character), local));
        }
        state->pelvis.v[lane] = pelvis;
        set_row3(&state->root, lane, root);
        state->valid.v[lane] = 1.0f;
    }
}
