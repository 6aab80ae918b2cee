/* Foot placement over lanes: a lane is a character, its legs follow one another. Included by kernel/table.inl; the stages are
 * described in phalanx/crowd.h, the scalar twin is reference/crowd.c. Positions are relative to the character's root, along
 * world axes, so that precision does not depend on where the character stands. */

static inline lv3 up_of(const phx_crowd_setup *setup) { return v3_splat(setup->up.x, setup->up.y, setup->up.z); }
static inline lf saturate(lf a) { return f_min(f_max(a, f_splat(0.0f)), f_splat(1.0f)); }
static inline lf mix(lf a, lf b, lf t) { return f_add(a, f_mul(f_sub(b, a), t)); }
static inline lv3 v3_mix(lv3 a, lv3 b, lf t) { return v3_add(a, v3_scale(v3_sub(b, a), t)); }
static inline lv3 v3_unit(lv3 a) { return v3_scale(a, f_div(f_splat(1.0f), f_sqrt(f_max(v3_dot(a, a), f_splat(1e-30f))))); }
static inline lv3 v3_level(lv3 a, lv3 up) { return v3_sub(a, v3_scale(up, v3_dot(a, up))); }
static inline void f_store_where(lm m, float *p, lf a) { f_store(p, f_select(m, a, f_load(p))); }
static inline void i_store_where(lm m, void *p, li a) { i_store(p, i_select(m, a, i_load(p))); }
static inline void v3_store_where(lm m, phx_rows3 *rows, uint32_t lane, lv3 a) { v3_store(rows, lane, v3_select(m, a, v3_load(rows, lane))); }

static void crowd_prepare(const phx_crowd_task *task) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count, slots = setup->plan.count;
    const lv3 up = up_of(setup);
    for (uint32_t start = 0, group = 0; start < task->count; start += PHX_BLOCK_LANES, ++group) {
        const uint32_t in_group = task->count - start < PHX_BLOCK_LANES ? task->count - start : PHX_BLOCK_LANES;
        phx_joint_rows *joints = task->joints + group * slots;
        phx_rows3 *scales = task->scales ? task->scales + group * slots : NULL;
        const phx_character_state *character = task->characters + group;
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; lane += LANES) {
            const span s = lanes_of(task->first + start, in_group, lane);
            const lv3 root = frame->root_position.data ? pack3(frame->root_position, s.first, s.count) : v3_splat(0, 0, 0);
            const lq4 rotation = frame->root_rotation.data ? pack4(frame->root_rotation, s.first, s.count) : q4_identity();
            li flags = i_splat(0);
            if (frame->flags.data) flags = i_bits_of(pack1(frame->flags, s.first, s.count));
            walk_joints(&setup->plan, &frame->poses, task->first + start, lane, s, rotation, joints, scales);

            /* input that arithmetic can bear, or the character is left alone this frame and starts afresh in the next */
            const lf norm = q4_dot(rotation, rotation);
            lm good = m_and(f_lt(v3_dot(root, root), f_splat(1e18f)), m_and(f_lt(f_splat(0.25f), norm), f_lt(norm, f_splat(4.0f))));
            const li off = i_and(flags, i_splat(PHX_CHARACTER_OFF));
            good = m_and(good, i_eq(off, i_splat(0)));
            for (uint32_t leg = 0; leg < legs; ++leg) {
                const phx_leg_setup *rig = setup->legs + leg;
                phx_foot_rows *foot = task->feet + group * legs + leg;
                const lv3 ankle = v3_load(&joints[rig->ankle].position, lane);
                const lv3 heel = v3_add(ankle, q4_rotate(q4_load(&joints[rig->ankle].rotation, lane), v3_splat(rig->heel_offset.x, rig->heel_offset.y, rig->heel_offset.z)));
                const lv3 ball = v3_add(v3_load(&joints[rig->ball].position, lane),
                                        q4_rotate(q4_load(&joints[rig->ball].rotation, lane), v3_splat(rig->ball_offset.x, rig->ball_offset.y, rig->ball_offset.z)));
                v3_store(&foot->heel, lane, heel), v3_store(&foot->ball, lane, ball);
                good = m_and(good, m_and(f_lt(v3_dot(heel, heel), f_splat(1e18f)), f_lt(v3_dot(ball, ball), f_splat(1e18f))));
            }
            const li teleport = i_and(flags, i_splat(PHX_CHARACTER_TELEPORT));
            const lm remembered = m_and(f_lt(f_splat(0.5f), f_load(character->valid.v + lane)), i_eq(teleport, i_splat(0)));
            v3_store(&task->root_position[group], lane, root), q4_store(&task->root_rotation[group], lane, rotation);
            f_store(task->good[group].v + lane, f_keep(good, f_select(remembered, f_splat(2.0f), f_splat(1.0f))));

            /* rays start where the soles will probably end: where they ended last frame, seen from the animation */
            const lv3 lift = v3_scale(up, f_splat(setup->step_up));
            for (uint32_t leg = 0; leg < legs; ++leg) {
                const phx_foot_rows *foot = task->feet + group * legs + leg;
                const phx_leg_state *state = task->legs + group * legs + leg;
                for (int end = 0; end < 2; ++end) {
                    phx_ray_block *ray = task->rays + (group * legs + leg) * 2 + (uint32_t)end;
                    lv3 sole = v3_load(end ? &foot->ball : &foot->heel, lane);
                    const lv3 shift = v3_load(end ? &state->ball_shift : &state->heel_shift, lane);
                    sole = v3_select(remembered, v3_add(sole, shift), sole);
                    lv3 origin = v3_add(root, v3_add(v3_level(sole, up), lift));
                    origin = v3_select(good, origin, v3_splat(0, 0, 0));
                    f_store(ray->org_x + lane, origin.x), f_store(ray->org_y + lane, origin.y), f_store(ray->org_z + lane, origin.z);
                    f_store(ray->tfar + lane, f_keep(good, f_splat(setup->ray_length)));
                    i_store(ray->geomID + lane, i_splat(-1));
                }
            }
        }
    }
}

/* A ray's hit as a point (root-relative) and unit normal; false for misses, ceilings, steep ground and nonsense. */
static inline lm read_hit(const phx_crowd_setup *setup, const phx_ray_block *ray, uint32_t lane, lv3 sole, lv3 up, lv3 *point, lv3 *normal) {
    const lf t = f_load(ray->tfar + lane);
    const lv3 n = v3(f_load(ray->Ng_x + lane), f_load(ray->Ng_y + lane), f_load(ray->Ng_z + lane));
    const lf squared = v3_dot(n, n);
    lm ok = m_and(f_lt(f_splat(1e-20f), squared), f_lt(squared, f_splat(1e20f)));
    ok = m_and(ok, m_and(f_le(f_splat(0.0f), t), f_le(t, f_splat(setup->ray_length))));
    ok = m_andnot(ok, i_eq(i_load(ray->geomID + lane), i_splat(-1)));
    *normal = v3_scale(n, f_div(f_splat(1.0f), f_sqrt(f_select(ok, squared, f_splat(1.0f)))));
    ok = m_and(ok, f_le(f_splat(setup->cos_max_slope), v3_dot(*normal, up)));
    *point = v3_add(v3_level(sole, up), v3_scale(up, f_sub(f_splat(setup->step_up), t)));
    return ok;
}

typedef struct ground_plane {
    lv3 point, normal;
    li body;
    lm seen; /* a ray hit this frame */
} ground_plane;

/* One plane from two hits: through both, rolled by the mean of their normals. Where that plane and the ground's own normals
 * disagree by more than 35 degrees there is an edge between heel and ball, and the foot stands on the higher side. */
static inline ground_plane plane_under(const phx_crowd_setup *setup, const phx_ray_block *rays, uint32_t lane, lv3 heel, lv3 ball, lv3 up) {
    const lf least_divisor = f_splat(1e-30f), cos_edge = f_splat(0.8191520f);
    lv3 heel_point, heel_normal, ball_point, ball_normal;
    const lm heel_hit = read_hit(setup, rays, lane, heel, up, &heel_point, &heel_normal);
    const lm ball_hit = read_hit(setup, rays + 1, lane, ball, up, &ball_point, &ball_normal);
    const lv3 along = v3_sub(ball_point, heel_point), sum = v3_add(heel_normal, ball_normal);
    const lf along_squared = v3_dot(along, along);
    const lv3 common = v3_unit(v3_sub(sum, v3_scale(along, f_div(v3_dot(sum, along), f_max(along_squared, least_divisor)))));
    lm fits = m_and(m_and(heel_hit, ball_hit), f_le(f_splat(setup->cos_max_slope), v3_dot(common, up)));
    fits = m_and(fits, m_and(f_le(cos_edge, v3_dot(common, heel_normal)), f_le(cos_edge, v3_dot(common, ball_normal))));
    const lm heel_higher = f_lt(v3_dot(ball_point, up), v3_dot(heel_point, up));
    const lm on_heel = m_and(heel_hit, m_or(m_not(ball_hit), heel_higher));
    ground_plane plane;
    plane.seen = m_or(heel_hit, ball_hit);
    plane.point = v3_select(on_heel, heel_point, ball_point);
    plane.normal = v3_select(fits, common, v3_select(on_heel, heel_normal, ball_normal));
    plane.body = i_select(on_heel, i_load(rays[0].geomID + lane), i_load(rays[1].geomID + lane));
    return plane;
}

/* What the stages of one leg hand to each other. */
typedef struct leg_work {
    lv3 target;      /* ankle, root-relative */
    lv3 tilt;        /* unit normal that the foot follows */
    lf support, weight;
} leg_work;

/* height of a plane over the point `at`, along up */
static inline lf height_over(lv3 point, lv3 normal, lf normal_up, lv3 at) { return f_div(v3_dot(v3_sub(point, at), normal), normal_up); }

static inline leg_work place_foot(const phx_crowd_task *task, uint32_t leg, uint32_t group, uint32_t lane, span s, lm good, lm remembered, lv3 travel) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const uint32_t index = group * setup->leg_count + leg;
    const phx_joint_rows *joints = task->joints + group * setup->plan.count;
    phx_leg_state *state = task->legs + index;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lv3 up = up_of(setup);
    const lv3 ankle = v3_load(&joints[rig->ankle].position, lane);
    const lv3 heel = v3_load(&task->feet[index].heel, lane), ball = v3_load(&task->feet[index].ball, lane);

    /* how much the foot stands: told, or by the height of its sole over flat ground */
    const lf heel_height = v3_dot(heel, up), ball_height = v3_dot(ball, up), ankle_height = v3_dot(ankle, up);
    const lf sole_height = f_min(heel_height, ball_height);
    const lf low = saturate(f_mul(f_sub(f_splat(setup->swing_height), sole_height), f_splat(setup->inverse_swing_range)));
    lf support = f_mul(f_mul(low, low), f_sub(f_splat(3.0f), f_add(low, low)));
    if (task->frame->support.data) {
        const phx_view view = phx_view_of((char *)task->frame->support.data + leg * sizeof(float), task->frame->support.stride);
        support = saturate(pack1(view, s.first, s.count));
    }

    /* the plane under the foot: this frame's hits, or the last one seen */
    const lv3 heel_ray = v3_select(remembered, v3_add(heel, v3_load(&state->heel_shift, lane)), heel);
    const lv3 ball_ray = v3_select(remembered, v3_add(ball, v3_load(&state->ball_shift, lane)), ball);
    ground_plane plane = plane_under(setup, task->rays + index * 2, lane, heel_ray, ball_ray, up);
    const lm known = m_and(remembered, f_lt(f_splat(0.5f), f_load(state->known.v + lane)));
    const lv3 old_point = v3_sub(v3_load(&state->point, lane), travel), old_normal = v3_load(&state->normal, lane);
    const lf missed = f_keep(m_not(plane.seen), f_add(f_keep(known, f_load(state->missed.v + lane)), f_splat(task->step.dt)));
    const lm held = m_and(known, f_le(missed, f_splat(setup->hold_seconds)));
    const lv3 last_point = v3_select(known, old_point, v3_splat(0, 0, 0)), last_normal = v3_select(known, old_normal, up);
    plane.point = v3_select(plane.seen, plane.point, last_point), plane.normal = v3_select(plane.seen, plane.normal, last_normal);
    plane.body = i_select(plane.seen, plane.body, i_splat(-1));
    const lf wanted = f_keep(m_or(plane.seen, held), one);
    lf weight = mix(wanted, f_load(state->weight.v + lane), f_splat(task->step.weight_keep));
    weight = f_select(remembered, weight, wanted);

    /* a jump of the ground is not followed at once: the foot keeps its height and the difference dies away; never into the ground */
    const lf normal_up = v3_dot(plane.normal, up);
    const lv3 floor_point = v3_sub(ankle, v3_scale(up, ankle_height));
    const lf height = height_over(plane.point, plane.normal, normal_up, floor_point);
    const lf old_height = height_over(last_point, last_normal, v3_dot(last_normal, up), floor_point);
    lf jump = f_mul(f_add(f_load(state->jump.v + lane), f_sub(old_height, height)), f_splat(task->step.ground_keep));
    jump = f_max(f_keep(known, jump), f_neg(f_max(sole_height, zero)));

    /* the attitude: towards the ground's normal as far as the foot stands, within limits, smoothed */
    lv3 tilt = v3_unit(v3_mix(up, plane.normal, support));
    const lf tilt_cos = v3_dot(tilt, up);
    const lm steep = f_lt(tilt_cos, f_splat(setup->cos_max_tilt));
    if (m_any(steep)) {
        const lv3 level = v3_unit(v3_sub(tilt, v3_scale(up, tilt_cos)));
        const lv3 limited = v3_add(v3_scale(up, f_splat(setup->cos_max_tilt)), v3_scale(level, f_splat(setup->sin_max_tilt)));
        tilt = v3_select(steep, limited, tilt);
    }
    const lv3 smoothed = v3_unit(v3_mix(tilt, v3_load(&state->tilt, lane), f_splat(task->step.tilt_keep)));
    tilt = v3_select(known, smoothed, tilt);
    const lq4 turn = q4_between(up, tilt, one, v3_unit(v3_reject(spare_direction(tilt), tilt)));

    /* the foot's pose over flat ground, carried to the plane; then lifted so that its deepest point keeps its animated height,
     * less what the clip itself hovers or sinks while the foot stands */
    const lv3 ground = v3_add(floor_point, v3_scale(up, height));
    const lv3 new_heel = v3_add(ground, q4_rotate(turn, v3_sub(heel, floor_point)));
    const lv3 new_ball = v3_add(ground, q4_rotate(turn, v3_sub(ball, floor_point)));
    const lf plant = f_splat(setup->plant_height);
    const lf error = f_mul(f_min(f_max(sole_height, f_neg(plant)), plant), support);
    const lf heel_lift = f_sub(f_sub(heel_height, error), v3_dot(v3_sub(new_heel, plane.point), plane.normal));
    const lf ball_lift = f_sub(f_sub(ball_height, error), v3_dot(v3_sub(new_ball, plane.point), plane.normal));
    const lf lift = f_add(f_div(f_max(heel_lift, ball_lift), normal_up), jump);
    const lv3 placed = v3_add(v3_add(ground, v3_scale(tilt, ankle_height)), v3_scale(up, lift));

    leg_work work;
    work.support = support, work.weight = weight;
    work.target = v3_mix(ankle, placed, weight);
    work.tilt = v3_unit(v3_mix(up, tilt, weight));

    v3_store_where(good, &state->point, lane, plane.point), v3_store_where(good, &state->normal, lane, plane.normal);
    f_store_where(good, state->known.v + lane, f_keep(m_or(plane.seen, held), one));
    f_store_where(good, state->missed.v + lane, missed), f_store_where(good, state->weight.v + lane, weight);
    f_store_where(good, state->jump.v + lane, jump), v3_store_where(good, &state->tilt, lane, tilt);
    v3_store_where(good, &state->heel_shift, lane, v3_scale(v3_level(v3_sub(new_heel, heel), up), weight));
    v3_store_where(good, &state->ball_shift, lane, v3_scale(v3_level(v3_sub(new_ball, ball), up), weight));
    v3_store_where(good, &state->target, lane, work.target), f_store_where(good, state->support.v + lane, support);
    i_store_where(good, state->body.v + lane, plane.body);
    return work;
}

/* How far the pelvis must sink for this leg to reach (<= 0), and how far the ground pushes it up (any sign). */
static inline void pelvis_demand(const phx_crowd_setup *setup, const phx_leg_setup *rig, const phx_joint_rows *joints, uint32_t lane, const leg_work *work,
                                 lf *drop, lf *rise) {
    const lv3 up = up_of(setup);
    const lv3 hip = v3_load(&joints[rig->hip].position, lane), knee = v3_load(&joints[rig->knee].position, lane);
    const lv3 ankle = v3_load(&joints[rig->ankle].position, lane);
    const lf length = f_add(v3_length(v3_sub(knee, hip)), v3_length(v3_sub(ankle, knee)));
    const lf reach = f_max(f_mul(length, f_splat(setup->max_extension)), v3_length(v3_sub(ankle, hip)));
    const lv3 to_target = v3_sub(work->target, hip);
    const lf below = v3_dot(to_target, up);
    const lv3 level = v3_sub(to_target, v3_scale(up, below));
    const lf room = f_sub(f_mul(reach, reach), v3_dot(level, level));
    const lf most = f_add(below, f_sqrt(f_max(room, f_splat(0.0f))));
    const lm reachable = f_lt(f_splat(0.0f), room);
    *drop = f_mul(f_keep(reachable, f_min(most, f_splat(0.0f))), f_mul(work->support, work->weight));
    *rise = f_add(v3_dot(v3_sub(work->target, ankle), up), f_mul(f_sub(f_splat(1.0f), work->support), f_splat(setup->max_pelvis_rise)));
}

/* Stores 3 or 4 floats of each lane in `where` only; the others' memory is not touched. */
static inline void unpack3_where(lm where, phx_view view, span s, lv3 a) {
    const uint32_t all = s.count >= LANES ? (uint32_t)((UINT64_C(1) << LANES) - 1) : (1u << s.count) - 1;
    const uint32_t bits = m_bits(where) & all;
    if (bits == all) {
        unpack3(view, s.first, s.count, a);
        return;
    }
    pack_scratch scratch;
    f_store3(scratch.bytes, 12, a.x, a.y, a.z);
    for (uint32_t k = 0; k < LANES; ++k)
        if (bits >> k & 1) memcpy(element_out(view, s.first + k), scratch.bytes + k * 12, 12);
}
static inline void unpack4_where(lm where, phx_view view, span s, lq4 a) {
    const uint32_t all = s.count >= LANES ? (uint32_t)((UINT64_C(1) << LANES) - 1) : (1u << s.count) - 1;
    const uint32_t bits = m_bits(where) & all;
    if (bits == all) {
        unpack4(view, s.first, s.count, a);
        return;
    }
    pack_scratch scratch;
    f_store4(scratch.bytes, 16, a.x, a.y, a.z, a.w);
    for (uint32_t k = 0; k < LANES; ++k)
        if (bits >> k & 1) memcpy(element_out(view, s.first + k), scratch.bytes + k * 16, 16);
}

static inline void store_translation(lm where, const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s, lv3 a) {
    if (poses->layout != PHX_POSE_ROWS) {
        unpack3_where(where, joint_view(poses, index, poses->translation_offset), s, a);
        return;
    }
    f_store_where(where, joint_row(poses, index, group, lane, 0), a.x);
    f_store_where(where, joint_row(poses, index, group, lane, 1), a.y);
    f_store_where(where, joint_row(poses, index, group, lane, 2), a.z);
}
static inline void store_rotation(lm where, const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s, lq4 a) {
    if (poses->layout != PHX_POSE_ROWS) {
        unpack4_where(where, joint_view(poses, index, poses->rotation_offset), s, a);
        return;
    }
    f_store_where(where, joint_row(poses, index, group, lane, 3), a.x);
    f_store_where(where, joint_row(poses, index, group, lane, 4), a.y);
    f_store_where(where, joint_row(poses, index, group, lane, 5), a.z);
    f_store_where(where, joint_row(poses, index, group, lane, 6), a.w);
}

/* The leg in two bones, and its new local rotations written back. */
static inline void solve_leg(const phx_crowd_task *task, uint32_t leg, uint32_t group, uint32_t lane, span s, lm good, lf weight, lf pelvis, const leg_work *work) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const phx_joint_rows *joints = task->joints + group * setup->plan.count;
    phx_leg_state *state = task->legs + group * setup->leg_count + leg;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lv3 up = up_of(setup);
    const lv3 hip = v3_load(&joints[rig->hip].position, lane), knee = v3_load(&joints[rig->knee].position, lane);
    const lv3 ankle = v3_load(&joints[rig->ankle].position, lane);
    const lq4 hip_world = q4_load(&joints[rig->hip].rotation, lane), knee_world = q4_load(&joints[rig->knee].rotation, lane);

    two_bone_in in;
    in.thigh = v3_sub(knee, hip), in.shin = v3_sub(ankle, knee);
    in.delta = v3_sub(work->target, v3_add(hip, v3_scale(up, pelvis)));
    /* the knee points where the clip bends it; the straighter the leg, the more where the thigh's own frame says */
    const lv3 normal = v3_cross(in.shin, in.thigh), chord = v3_add(in.thigh, in.shin);
    const lv3 clip_bend = v3_unit(v3_cross(normal, chord));
    const lf squares = f_mul(v3_dot(in.thigh, in.thigh), v3_dot(in.shin, in.shin));
    const lf bent = f_min(f_div(f_mul(v3_dot(normal, normal), f_splat(100.0f)), f_max(squares, f_splat(1e-30f))), one);
    const lv3 forward = q4_rotate(hip_world, v3_splat(rig->knee_forward.x, rig->knee_forward.y, rig->knee_forward.z));
    in.pole = v3_mix(forward, clip_bend, bent);
    in.previous = v3_load(&state->bend, lane);
    in.rest_bend = v3(zero, zero, zero);
    in.weight = weight, in.pole_weight = one;
    in.tip_from = q4_identity(), in.tip_to = (lq4){zero, zero, zero, zero}, in.pose_norm = one;
    phx_two_bone_setup limits;
    limits.twist = PHX_TWIST_PLANE, limits.tolerance = 1e-3f, limits.direction_tolerance_squared = 1e-8f;
    limits.soft_start = setup->soft_start, limits.soft = setup->soft_start < 1.0f;
    limits.max_stretch = 1.0f, limits.stretch = 0;
    limits.limits = rig->limits, limits.short_at_min_bend = rig->short_at_min_bend, limits.open_at_max_bend = rig->open_at_max_bend;
    limits.cos_turn = -1.0f, limits.sin_turn = 0.0f, limits.turn_limit = 0;
    const two_bone_out out = two_bone_core(&limits, &in, PHX_TWIST_PLANE, 1);
    const lm moved = m_and(good, out.moved);

    const lq4 ankle_turn = q4_between(up, work->tilt, one, v3_unit(v3_reject(spare_direction(work->tilt), work->tilt)));
    const lm partial = f_lt(weight, one);
    const lq4 ankle_rotation = m_any(partial) ? q4_select(partial, q4_fraction(ankle_turn, f_max(weight, zero)), ankle_turn) : ankle_turn;

    const lq4 above_hip = rig->hip_parent == PHX_NO_JOINT ? q4_load(&task->root_rotation[group], lane) : q4_load(&joints[rig->hip_parent].rotation, lane);
    const lq4 above_knee = q4_mul(out.root_rotation, q4_load(&joints[rig->knee_parent].rotation, lane));
    const lq4 above_ankle = q4_mul(out.mid_rotation, q4_load(&joints[rig->ankle_parent].rotation, lane));
    const lq4 hip_new = q4_mul(out.root_rotation, hip_world), knee_new = q4_mul(out.mid_rotation, knee_world);
    const lq4 ankle_new = q4_mul(ankle_rotation, q4_load(&joints[rig->ankle].rotation, lane));
    const phx_poses *poses = &task->frame->poses;
    const size_t first = task->first + (size_t)group * PHX_BLOCK_LANES;
    const int compact = poses->layout == PHX_POSE_COMPACT;
    store_rotation(moved, poses, compact ? rig->hip : rig->hip_joint, first, lane, s, q4_normalize(q4_mul(q4_conjugate(above_hip), hip_new)));
    store_rotation(moved, poses, compact ? rig->knee : rig->knee_joint, first, lane, s, q4_normalize(q4_mul(q4_conjugate(above_knee), knee_new)));
    store_rotation(moved, poses, compact ? rig->ankle : rig->ankle_joint, first, lane, s, q4_normalize(q4_mul(q4_conjugate(above_ankle), ankle_new)));

    v3_store_where(good, &state->bend, lane, out.bend);
    f_store_where(good, state->residual.v + lane, out.residual);
    i_store_where(good, state->flags.v + lane, out.flags);
}

static void crowd_solve(const phx_crowd_task *task) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lv3 up = up_of(setup);
    for (uint32_t start = 0, group = 0; start < task->count; start += PHX_BLOCK_LANES, ++group) {
        const uint32_t in_group = task->count - start < PHX_BLOCK_LANES ? task->count - start : PHX_BLOCK_LANES;
        const phx_joint_rows *joints = task->joints + group * setup->plan.count;
        phx_character_state *character = task->characters + group;
        for (uint32_t lane = 0; lane < in_group; lane += LANES) {
            const span s = lanes_of(task->first + start, in_group, lane);
            const uint32_t left = in_group - lane;
            const lm active = m_from_bits(left >= LANES ? 0xFFFFFFFFu : (1u << left) - 1);
            const lf mark = f_load(task->good[group].v + lane);
            const lm good = m_and(active, f_lt(f_splat(0.5f), mark)), remembered = m_and(active, f_lt(f_splat(1.5f), mark));
            const lv3 root = v3_load(&task->root_position[group], lane);
            const lv3 travel = v3_sub(root, v3_load(&character->root, lane));
            lf weight = one;
            if (frame->weight.data) {
                weight = pack1(frame->weight, s.first, s.count);
                weight = f_min(f_max(weight, zero), one);
            }

            leg_work work[PHX_MAX_LEGS];
            lf drop = zero, rise = f_splat(setup->max_pelvis_rise), standing = zero;
            for (uint32_t leg = 0; leg < legs; ++leg) {
                work[leg] = place_foot(task, leg, group, lane, s, good, remembered, travel);
                lf leg_drop, leg_rise;
                pelvis_demand(setup, setup->legs + leg, joints, lane, &work[leg], &leg_drop, &leg_rise);
                drop = f_min(leg_drop, drop), rise = f_min(leg_rise, rise), standing = f_max(work[leg].support, standing);
            }
            const lf old_pelvis = f_load(character->pelvis.v + lane);
            const lf most_drop = f_splat(-setup->max_pelvis_drop), travel_limit = f_splat(task->step.pelvis_travel);
            const lf wanted = f_select(f_lt(drop, zero), f_max(drop, most_drop), f_mul(f_max(rise, zero), standing));
            lf pelvis = mix(wanted, old_pelvis, f_splat(task->step.pelvis_keep));
            pelvis = f_min(f_max(pelvis, f_sub(old_pelvis, travel_limit)), f_add(old_pelvis, travel_limit));
            pelvis = f_select(remembered, pelvis, wanted);
            if (setup->pelvis_joint == PHX_NO_JOINT) pelvis = zero;
            const lf applied = f_mul(pelvis, weight);

            for (uint32_t leg = 0; leg < legs; ++leg) solve_leg(task, leg, group, lane, s, good, weight, applied, &work[leg]);

            if (setup->pelvis_joint != PHX_NO_JOINT) {
                const size_t index = frame->poses.layout == PHX_POSE_COMPACT ? setup->pelvis_slot : setup->pelvis_joint;
                const uint32_t parent = setup->pelvis_parent;
                const lq4 above = parent == PHX_NO_JOINT ? q4_load(&task->root_rotation[group], lane) : q4_load(&joints[parent].rotation, lane);
                lv3 local = q4_rotate(q4_conjugate(above), v3_scale(up, applied));
                if (task->scales && parent != PHX_NO_JOINT) {
                    const lv3 scale = v3_load(&task->scales[group * setup->plan.count + parent], lane);
                    local = v3(f_div(local.x, scale.x), f_div(local.y, scale.y), f_div(local.z, scale.z));
                }
                const lm sunk = m_and(good, f_lt(zero, f_abs(applied)));
                if (m_any(sunk)) {
                    const lv3 translation = load_translation(&frame->poses, index, task->first + start, lane, s);
                    store_translation(sunk, &frame->poses, index, task->first + start, lane, s, v3_add(translation, local));
                }
            }
            f_store_where(good, character->pelvis.v + lane, pelvis);
            v3_store_where(good, &character->root, lane, root);
            f_store_where(active, character->valid.v + lane, f_keep(good, one));
        }
    }
}
