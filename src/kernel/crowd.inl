/* Foot placement over lanes: a lane is a character, its legs follow one another. Included by kernel/table.inl; the stages are
 * described in phalanx/crowd.h, the scalar twin is reference/crowd.c. Positions are relative to the character's root, along
 * world axes, so that precision does not depend on where the character stands. */

lane_inline lv3 v3_of(phx_vec3 a) { return v3_splat(a.x, a.y, a.z); }
lane_inline lf saturate(lf a) { return f_min(f_max(a, f_splat(0.0f)), f_splat(1.0f)); }
lane_inline lf mix(lf a, lf b, lf t) { return f_add(a, f_mul(f_sub(b, a), t)); }
lane_inline lv3 v3_mix(lv3 a, lv3 b, lf t) { return v3_add(a, v3_scale(v3_sub(b, a), t)); }
lane_inline lv3 v3_unit(lv3 a) { return v3_scale(a, f_div(f_splat(1.0f), f_sqrt(f_max(v3_dot(a, a), f_splat(1e-30f))))); }

/* The direction against gravity. Where it is the Y or the Z axis, as nearly always, a height is a component and most products fall away;
 * which it is, is a constant of the kernel. */
typedef struct lup {
    lv3 v;
    phx_up axis;
} lup;
lane_inline lup up_of(const phx_crowd_setup *setup, phx_up axis) { return (lup){v3_of(setup->up), axis}; }
lane_inline lf height_of(lup up, lv3 a) { return up.axis == PHX_UP_Y ? a.y : up.axis == PHX_UP_Z ? a.z : v3_dot(a, up.v); }
/* a, raised */
lane_inline lv3 raised(lup up, lv3 a, lf by) {
    if (up.axis == PHX_UP_Y) return v3(a.x, f_add(a.y, by), a.z);
    if (up.axis == PHX_UP_Z) return v3(a.x, a.y, f_add(a.z, by));
    return v3_add(a, v3_scale(up.v, by));
}
/* a, brought to a height */
lane_inline lv3 at_height(lup up, lv3 a, lf height) {
    if (up.axis == PHX_UP_Y) return v3(a.x, height, a.z);
    if (up.axis == PHX_UP_Z) return v3(a.x, a.y, height);
    return v3_add(v3_sub(a, v3_scale(up.v, v3_dot(a, up.v))), v3_scale(up.v, height));
}
lane_inline lv3 level(lup up, lv3 a) {
    return up.axis == PHX_UP_ANY ? v3_sub(a, v3_scale(up.v, v3_dot(a, up.v))) : at_height(up, a, f_splat(0.0f));
}
/* products with the level vector b: the dot product, and for a level as well the sine, times both lengths, of the turn about up from a to b */
lane_inline lf level_dot(lup up, lv3 a, lv3 b) {
    if (up.axis == PHX_UP_Y) return f_add(f_mul(a.x, b.x), f_mul(a.z, b.z));
    if (up.axis == PHX_UP_Z) return f_add(f_mul(a.x, b.x), f_mul(a.y, b.y));
    return v3_dot(a, b);
}
lane_inline lf level_sine(lup up, lv3 a, lv3 b) {
    if (up.axis == PHX_UP_Y) return f_sub(f_mul(a.z, b.x), f_mul(a.x, b.z));
    if (up.axis == PHX_UP_Z) return f_sub(f_mul(a.x, b.y), f_mul(a.y, b.x));
    return v3_dot(v3_cross(a, b), up.v);
}
/* a level vector in memory */
lane_inline lv3 level_load(const phx_crowd_setup *setup, lup up, const phx_level_rows *rows, uint32_t lane) {
    const lf a = f_load(rows->a + lane), b = f_load(rows->b + lane);
    if (up.axis == PHX_UP_Y) return v3(a, f_splat(0.0f), b);
    if (up.axis == PHX_UP_Z) return v3(a, b, f_splat(0.0f));
    return v3_add(v3_scale(v3_of(setup->level_a), a), v3_scale(v3_of(setup->level_b), b));
}
lane_inline void level_store(const phx_crowd_setup *setup, lup up, phx_level_rows *rows, uint32_t lane, lv3 v) {
    f_store(rows->a + lane, up.axis == PHX_UP_ANY ? v3_dot(v, v3_of(setup->level_a)) : v.x);
    f_store(rows->b + lane, up.axis == PHX_UP_ANY ? v3_dot(v, v3_of(setup->level_b)) : up.axis == PHX_UP_Y ? v.z : v.y);
}
/* up x a */
lane_inline lv3 up_cross(lup up, lv3 a) {
    if (up.axis == PHX_UP_Y) return v3(a.z, f_splat(0.0f), f_neg(a.x));
    if (up.axis == PHX_UP_Z) return v3(f_neg(a.y), a.x, f_splat(0.0f));
    return v3_cross(up.v, a);
}
/* from up towards a */
lane_inline lv3 up_mix(lup up, lv3 a, lf t) {
    const lf one = f_splat(1.0f);
    if (up.axis == PHX_UP_Y) return v3(f_mul(a.x, t), mix(one, a.y, t), f_mul(a.z, t));
    if (up.axis == PHX_UP_Z) return v3(f_mul(a.x, t), f_mul(a.y, t), mix(one, a.z, t));
    return v3_mix(up.v, a, t);
}
/* a turn about up, given by sine and 1 - cosine */
lane_inline lv3 about_up(lup up, lf sine, lf versine, lv3 a) {
    const lv3 side = up_cross(up, a);
    if (up.axis == PHX_UP_Y) return v3(f_add(a.x, f_sub(f_mul(side.x, sine), f_mul(a.x, versine))), a.y, f_add(a.z, f_sub(f_mul(side.z, sine), f_mul(a.z, versine))));
    if (up.axis == PHX_UP_Z) return v3(f_add(a.x, f_sub(f_mul(side.x, sine), f_mul(a.x, versine))), f_add(a.y, f_sub(f_mul(side.y, sine), f_mul(a.y, versine))), a.z);
    return v3_add(a, v3_add(v3_scale(side, sine), v3_scale(v3_cross(up.v, side), versine)));
}

/* The shortest rotation that takes up to the unit vector `tilt`, less than a right angle away. */
typedef struct lean {
    lv3 tilt;
    lf share; /* 1 / (1 + cosine) */
    lq4 turn;
} lean;
lane_inline lean lean_to(lup up, lv3 tilt) {
    const lf w = f_add(f_splat(1.0f), height_of(up, tilt)); /* the quaternion (up x tilt, w) has the length sqrt(2 w) */
    const lf inverse = f_div(f_splat(1.0f), f_sqrt(f_some(f_add(w, w))));
    const lf squared = f_mul(inverse, inverse);
    const lv3 axis = v3_scale(up_cross(up, tilt), inverse);
    return (lean){tilt, f_add(squared, squared), {axis.x, axis.y, axis.z, f_mul(w, inverse)}};
}
/* a - ((up + tilt) . a) / (1 + up . tilt) (up + tilt) + 2 (up . a) tilt */
lane_inline lv3 leaned(lup up, const lean *l, lv3 a) {
    const lv3 t = l->tilt;
    if (up.axis == PHX_UP_ANY) {
        const lf height = v3_dot(a, up.v), part = f_mul(f_add(height, v3_dot(a, t)), l->share);
        return v3_sub(v3_add(a, v3_scale(t, f_sub(f_add(height, height), part))), v3_scale(up.v, part));
    }
    const lf height = height_of(up, a), part = level_dot(up, t, a), rest = f_sub(height, f_mul(part, l->share));
    const lf new_height = f_sub(f_mul(height_of(up, t), height), part);
    if (up.axis == PHX_UP_Y) return v3(f_add(a.x, f_mul(t.x, rest)), new_height, f_add(a.z, f_mul(t.z, rest)));
    return v3(f_add(a.x, f_mul(t.x, rest)), f_add(a.y, f_mul(t.y, rest)), new_height);
}
/* the lean after a turn about up by the angle whose half has this sine and cosine */
lane_inline lq4 lean_after(lup up, const lean *l, lf sine, lf cosine) {
    const lq4 q = l->turn;
    if (up.axis == PHX_UP_Y) return (lq4){f_sub(f_mul(q.x, cosine), f_mul(q.z, sine)), f_mul(q.w, sine), f_add(f_mul(q.z, cosine), f_mul(q.x, sine)), f_mul(q.w, cosine)};
    if (up.axis == PHX_UP_Z) return (lq4){f_add(f_mul(q.x, cosine), f_mul(q.y, sine)), f_sub(f_mul(q.y, cosine), f_mul(q.x, sine)), f_mul(q.w, sine), f_mul(q.w, cosine)};
    return q4_mul(q, (lq4){f_mul(up.v.x, sine), f_mul(up.v.y, sine), f_mul(up.v.z, sine), cosine});
}

/* the old value moves to the wanted one, of which `keep` is what stays of their difference; time that stands still holds it to the bit */
lane_inline lf ease(lf old, lf wanted, lf keep) { return f_select(f_lt(keep, f_splat(1.0f)), mix(wanted, old, keep), old); }
/* state that dies away lands on 0 long before it is denormal */
lane_inline lf settle(lf a) { return f_keep(f_lt(f_splat(1e-9f), f_abs(a)), a); }
lane_inline lv3 v3_settle(lv3 a) { return v3(settle(a.x), settle(a.y), settle(a.z)); }
lane_inline lm has_mark(li flags, phx_mark mark) {
    const li bit = i_splat((int32_t)mark);
    return i_eq(i_and(flags, bit), bit);
}
lane_inline lm is_marked(const phx_leg_state *leg, uint32_t lane, phx_mark mark) { return has_mark(i_load(leg->flags.v + lane), mark); }
lane_inline li mark_if(lm m, uint32_t mark) { return i_select(m, i_splat((int32_t)mark), i_splat(0)); }
/* rows of the lanes in m only; nearly always that is all of them */
lane_inline void f_store_where(lm m, float *p, lf a) { f_store(p, lane_rare(!m_all(m)) ? f_select(m, a, f_load(p)) : a); }
lane_inline void i_store_where(lm m, void *p, li a) { i_store(p, lane_rare(!m_all(m)) ? i_select(m, a, i_load(p)) : a); }
lane_inline void v3_store_where(lm m, phx_rows3 *rows, uint32_t lane, lv3 a) {
    v3_store(rows, lane, lane_rare(!m_all(m)) ? v3_select(m, a, v3_load(rows, lane)) : a);
}
lane_inline void q4_store_where(lm m, phx_rows4 *rows, uint32_t lane, lq4 a) {
    q4_store(rows, lane, lane_rare(!m_all(m)) ? q4_select(m, a, q4_load(rows, lane)) : a);
}

/* Bodies of this frame, gathered for each lane; positions relative to the character's root. */
typedef struct carrier {
    lv3 position;
    lq4 rotation;
    li generation;
    lm there;
} carrier;

lane_cold carrier load_carrier(const phx_crowd_frame *frame, li index, lv3 root) {
    PHX_ALIGN_64 uint32_t indices[LANES], generations[LANES], there[LANES];
    PHX_ALIGN_64 float rows[7][LANES];
    i_store(indices, index);
    for (uint32_t k = 0; k < LANES; ++k) {
        static const phx_body still = {{0, 0, 0}, {0, 0, 0, 1}, 0};
        there[k] = indices[k] < frame->body_count;
        const phx_body *body = there[k] ? frame->bodies + indices[k] : &still;
        rows[0][k] = body->position.x, rows[1][k] = body->position.y, rows[2][k] = body->position.z;
        rows[3][k] = body->rotation.x, rows[4][k] = body->rotation.y, rows[5][k] = body->rotation.z, rows[6][k] = body->rotation.w;
        generations[k] = body->generation;
    }
    carrier c;
    c.position = v3_sub(v3(f_load(rows[0]), f_load(rows[1]), f_load(rows[2])), root);
    c.rotation = (lq4){f_load(rows[3]), f_load(rows[4]), f_load(rows[5]), f_load(rows[6])};
    c.generation = i_load(generations);
    const lf norm = q4_dot(c.rotation, c.rotation);
    c.there = m_and(m_not(i_eq(i_load(there), i_splat(0))), m_and(f_lt(v3_dot(c.position, c.position), f_splat(1e18f)), m_and(f_lt(f_splat(0.25f), norm), f_lt(norm, f_splat(4.0f)))));
    c.position = v3_select(c.there, c.position, v3_splat(0.0f, 0.0f, 0.0f));
    c.rotation = q4_normalize(q4_select(c.there, c.rotation, q4_identity()));
    return c;
}
lane_inline lv3 onto(const carrier *c, lv3 point) { return v3_add(c->position, q4_rotate(c->rotation, point)); }
lane_inline lv3 into(const carrier *c, lv3 point) { return q4_rotate(q4_conjugate(c->rotation), v3_sub(point, c->position)); }

/* Where a swinging foot will stand: where it came to stand after its last swing, seen from the root, by the time that this swing has
 * taken as long; before a whole swing was seen, where its own speed takes it soon. The end of the ball's ray goes there, the more the
 * faster the foot is, and starts as much higher or lower as the root will be by then; on the way up the heel's ray takes its place, as it
 * is the ball that meets the risers. Seconds until then; 0 where the rays stay under heel and ball. */
lane_inline lf look_ahead(const phx_crowd_task *task, uint32_t group, uint32_t lane, uint32_t index, lup up, lm remembered, lv3 root, lq4 rotation,
                          lv3 *heel_end, lv3 *ball_end, lf *climb) {
    const phx_character_state *character = task->characters + group;
    const phx_leg_state *state = task->legs + index;
    const phx_foot_rows *foot = task->feet + index;
    const lv3 ball = v3_load(&foot->ball, lane);
    const lf zero = f_splat(0.0f), least = f_splat(1e-20f);
    const lf dt = f_add(f_splat(task->step.dt), f_load(character->skipped.v + lane)), length = f_load(foot->length.v + lane);
    const lm swings = m_andnot(m_and(m_and(remembered, is_marked(state, lane, PHX_MARK_KNOWN)), f_lt(zero, dt)), is_marked(state, lane, PHX_MARK_STANDS));
    *climb = zero;
    if (!m_any(swings)) return zero;
    const lv3 travel = v3_sub(root, v3_load(&character->root, lane));
    lv3 last_ball = v3_sub(v3_load(&state->ball, lane), travel);
    if (task->frame->bodies) {
        const carrier last = load_carrier(task->frame, i_load(state->body.v + lane), root);
        const lm there = m_and(last.there, i_eq(last.generation, i_load(state->generation.v + lane)));
        last_ball = v3_select(there, onto(&last, v3_load(&state->ball, lane)), ball);
    }
    const lv3 path = level(up, v3_sub(ball, last_ball));
    const lf pace = f_div(f_sqrt(level_dot(up, path, path)), f_max(f_mul(length, dt), least));
    const lf share = saturate(f_sub(pace, f_splat(1.5f))); /* from 1.5 to 2.5 legs a second: slower feet tread about */
    const lf swing = f_load(state->swing.v + lane), swung = f_keep(swings, f_load(state->loose.swung.v + lane));
    const lm learnt = f_lt(zero, swing);
    const lf left = f_select(learnt, f_max(f_sub(f_sub(swing, swung), dt), zero), f_splat(0.1f)), frames = f_div(left, f_max(dt, f_splat(1e-6f)));
    const lv3 standing = v3_add(q4_rotate(rotation, v3_load(&state->landing, lane)), v3_scale(travel, frames));
    const lv3 place = v3_select(learnt, standing, v3_add(*ball_end, v3_scale(path, frames)));
    const lv3 to = v3_scale(level(up, v3_sub(place, *ball_end)), share);
    const lf near = f_mul(length, f_splat(0.02f)), squared = level_dot(up, to, to);
    const lm looks = m_and(swings, m_and(f_lt(f_mul(near, near), squared), f_lt(squared, f_splat(1e12f))));
    const lm rises = m_and(looks, f_lt(height_of(up, v3_load(&state->point, lane)), f_load(state->ball_ground.v + lane)));
    *heel_end = v3_select(rises, *ball_end, *heel_end), *ball_end = v3_select(looks, v3_add(*ball_end, to), *ball_end);
    const float most = task->setup->step_up * 0.7f; /* beyond it a root that steps would look over what is above */
    *climb = f_keep(looks, f_min(f_max(f_mul(height_of(up, travel), f_mul(frames, share)), f_splat(-most)), f_splat(most)));
    return f_keep(looks, f_max(f_add(left, dt), f_splat(0.1f)));
}

lane_inline void prepare_about(const phx_crowd_task *task, phx_up axis) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count, slots = setup->plan.count;
    const lup up = up_of(setup, axis);
    const lv3 none = v3_splat(0.0f, 0.0f, 0.0f);
    const int reuse = setup->ray_reuse_squared > 0.0f && !frame->bodies;
    for (uint32_t start = 0, group = 0; start < task->count; start += PHX_BLOCK_LANES, ++group) {
        const uint32_t in_group = task->count - start < PHX_BLOCK_LANES ? task->count - start : PHX_BLOCK_LANES;
        phx_joint_rows *joints = task->joints + group * slots;
        phx_rows3 *scales = task->scales ? task->scales + group * slots : NULL;
        const phx_character_state *character = task->characters + group;
        uint32_t wanted = 0;
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; lane += LANES) {
            const span s = lanes_of(task->first + start, in_group, lane);
            const lv3 root = frame->root_position.data ? pack3(frame->root_position, s.first, s.count) : none;
            const lq4 rotation = frame->root_rotation.data ? pack4(frame->root_rotation, s.first, s.count) : q4_identity();
            li flags = i_splat(0);
            if (frame->flags.data) flags = i_bits_of(pack1(frame->flags, s.first, s.count));
            const li lod = i_and(i_shr(flags, PHX_CHARACTER_LOD_SHIFT), i_splat(3));
            const lm full = m_and(i_eq(i_and(flags, i_splat(PHX_CHARACTER_OFF)), i_splat(0)), i_eq(lod, i_splat(PHX_LOD_FULL)));
            lm good = full;
            if (m_any(full)) {
                walk_joints(&setup->plan, &frame->poses, task->first + start, lane, s, &rotation, joints, scales);

                /* input that arithmetic can bear, or the character is left alone this frame and starts afresh in the next */
                const lf norm = q4_dot(rotation, rotation);
                good = m_and(good, m_and(f_lt(v3_dot(root, root), f_splat(1e18f)), m_and(f_lt(f_splat(0.25f), norm), f_lt(norm, f_splat(4.0f)))));
                if (scales && setup->pelvis_parent != PHX_NO_JOINT) { /* the pelvis's correction will be divided by it */
                    const lv3 scale = v3_load(&scales[setup->pelvis_parent], lane);
                    const lf least = f_splat(1e-6f);
                    good = m_and(good, m_and(f_lt(least, f_abs(scale.x)), m_and(f_lt(least, f_abs(scale.y)), f_lt(least, f_abs(scale.z)))));
                }
                for (uint32_t leg = 0; leg < legs; ++leg) {
                    const phx_leg_setup *rig = setup->legs + leg;
                    phx_foot_rows *foot = task->feet + group * legs + leg;
                    const lv3 heel = v3_add(v3_load(&joints[rig->ankle].position, lane), q4_rotate(q4_load(&joints[rig->ankle].rotation, lane), v3_of(rig->heel_offset)));
                    const lq4 turned = q4_load(&joints[rig->ball].rotation, lane);
                    const lv3 ball = v3_add(v3_load(&joints[rig->ball].position, lane), q4_rotate(turned, v3_of(rig->ball_offset)));
                    v3_store(&foot->heel, lane, heel), v3_store(&foot->ball, lane, ball);
                    const lv3 hip = v3_load(&joints[rig->hip].position, lane), knee = v3_load(&joints[rig->knee].position, lane);
                    f_store(foot->length.v + lane, f_add(v3_length(v3_sub(knee, hip)), v3_length(v3_sub(v3_load(&joints[rig->ankle].position, lane), knee))));
                    good = m_and(good, m_and(f_lt(v3_dot(heel, heel), f_splat(1e18f)), f_lt(v3_dot(ball, ball), f_splat(1e18f))));
                    /* a rotation without length anywhere above leaves none here */
                    const lf turned_norm = q4_dot(turned, turned);
                    good = m_and(good, m_and(f_lt(f_splat(0.25f), turned_norm), f_lt(turned_norm, f_splat(4.0f))));
                }
                v3_store(&task->root_position[group], lane, root), q4_store(&task->root_rotation[group], lane, rotation);
            }
            const li teleport = i_and(flags, i_splat(PHX_CHARACTER_TELEPORT));
            const lm remembered = m_and(is_marked(task->legs + group * legs, lane, PHX_MARK_VALID), i_eq(teleport, i_splat(0)));
            f_store(task->good[group].v + lane, f_select(good, f_select(remembered, f_splat(2.0f), f_splat(1.0f)), f_select(full, f_splat(0.0f), f_splat(-1.0f))));
            wanted |= (m_bits(good) & ((1u << LANES) - 1)) << lane;

            /* rays start where the soles will probably end: where they ended last frame, seen from the animation */
            for (uint32_t leg = 0; leg < legs; ++leg) {
                phx_foot_rows *foot = task->feet + group * legs + leg;
                const phx_leg_state *state = task->legs + group * legs + leg;
                phx_ray_block *rays = task->rays + (group * legs + leg) * 2;
                if (!m_any(full)) { /* nothing to cast: rays that no caster takes */
                    for (int end = 0; end < 2; ++end) {
                        f_store(rays[end].org_x + lane, none.x), f_store(rays[end].org_y + lane, none.y), f_store(rays[end].org_z + lane, none.z);
                        f_store(rays[end].tfar + lane, f_splat(-1.0f)), i_store(rays[end].geomID + lane, i_splat(-1));
                    }
                    continue;
                }
                const lv3 heel = v3_load(&foot->heel, lane), ball = v3_load(&foot->ball, lane);
                lv3 heel_end = v3_select(remembered, v3_add(heel, level_load(setup, up, &state->heel_shift, lane)), heel);
                lv3 ball_end = v3_select(remembered, v3_add(ball, level_load(setup, up, &state->ball_shift, lane)), ball);
                if (!frame->bodies) { /* a locked ball's place is known */
                    const lm locked = m_and(remembered, is_marked(state, lane, PHX_MARK_LOCKED));
                    const lv3 lock_point = v3_sub(v3_load(&state->lock_point, lane), v3_sub(root, v3_load(&character->root, lane)));
                    heel_end = v3_select(locked, v3_add(heel, v3_sub(lock_point, ball)), heel_end), ball_end = v3_select(locked, lock_point, ball_end);
                }
                lf climb;
                f_store(foot->look.v + lane, look_ahead(task, group, lane, group * legs + leg, up, m_and(remembered, good), root, rotation, &heel_end, &ball_end, &climb));
                lm ask = good;
                if (reuse) {
                    const lv3 last = v3_sub(v3_load(&state->point, lane), v3_sub(root, v3_load(&character->root, lane)));
                    const lv3 from_heel = level(up, v3_sub(last, heel_end)), from_ball = level(up, v3_sub(last, ball_end));
                    const lf nearest = f_min(level_dot(up, from_heel, from_heel), level_dot(up, from_ball, from_ball));
                    const lm fresh = m_and(m_and(remembered, is_marked(state, lane, PHX_MARK_KNOWN)), f_lt(nearest, f_splat(setup->ray_reuse_squared)));
                    ask = m_andnot(good, fresh);
                }
                for (int end = 0; end < 2; ++end) {
                    const lf above = end ? f_add(f_splat(setup->step_up), climb) : f_splat(setup->step_up);
                    const lv3 origin = v3_select(good, v3_add(root, at_height(up, end ? ball_end : heel_end, above)), none);
                    f_store(rays[end].org_x + lane, origin.x), f_store(rays[end].org_y + lane, origin.y), f_store(rays[end].org_z + lane, origin.z);
                    f_store(rays[end].tfar + lane, f_select(ask, f_splat(setup->ray_length), f_splat(-1.0f)));
                    i_store(rays[end].geomID + lane, i_splat(-1));
                }
            }
        }
        task->wanted[group] = (uint16_t)(wanted & ((in_group == PHX_BLOCK_LANES ? 0x10000u : 1u << in_group) - 1));
    }
}

static lane_apart void prepare_about_y(const phx_crowd_task *task) { prepare_about(task, PHX_UP_Y); }
static lane_apart void prepare_about_z(const phx_crowd_task *task) { prepare_about(task, PHX_UP_Z); }
static lane_apart void prepare_about_any(const phx_crowd_task *task) { prepare_about(task, PHX_UP_ANY); }
static void crowd_prepare(const phx_crowd_task *task) {
    if (task->setup->up_axis == PHX_UP_Y) prepare_about_y(task);
    else if (task->setup->up_axis == PHX_UP_Z) prepare_about_z(task);
    else prepare_about_any(task);
}

/* What the stages of one lane group hand to each other. */
typedef struct crowd_lanes {
    uint32_t group, lane;
    span s;
    lup up;
    lm good, remembered;
    lv3 root, travel;  /* root position; how far it went since the last solve */
    lf dt, pelvis_keep, ground_keep, tilt_keep, weight_keep, grip_keep, release_keep;
} crowd_lanes;

lane_inline lf keep_after(lf dt, float half_life) {
    if (half_life <= 0.0f) return f_select(f_le(dt, f_splat(0.0f)), f_splat(1.0f), f_splat(0.0f));
    return f_select(f_le(dt, f_splat(0.0f)), f_splat(1.0f), f_exp2(f_div(f_neg(dt), f_splat(half_life))));
}

/* dt of these lanes, frames that were skipped at a lower level of detail included, and what it means for each filter */
lane_inline void lane_times(const phx_crowd_task *task, crowd_lanes *l) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_step *step = &task->step;
    const lf skipped = f_keep(l->remembered, f_load(task->characters[l->group].skipped.v + l->lane));
    l->dt = f_splat(step->dt);
    l->pelvis_keep = f_splat(step->pelvis_keep), l->ground_keep = f_splat(step->ground_keep), l->tilt_keep = f_splat(step->tilt_keep);
    l->weight_keep = f_splat(step->weight_keep), l->grip_keep = f_splat(step->grip_keep), l->release_keep = f_splat(step->release_keep);
    if (lane_rare(m_any(f_lt(f_splat(0.0f), skipped)))) {
        l->dt = f_add(l->dt, skipped);
        l->pelvis_keep = keep_after(l->dt, setup->pelvis_half_life), l->ground_keep = keep_after(l->dt, setup->ground_half_life);
        l->tilt_keep = keep_after(l->dt, setup->tilt_half_life), l->weight_keep = keep_after(l->dt, setup->weight_half_life);
        l->grip_keep = keep_after(l->dt, setup->grip_half_life), l->release_keep = keep_after(l->dt, setup->release_half_life);
    }
}

typedef struct ray_hit {
    lm there;
    lv3 point, normal;
} ray_hit;

/* A ray's hit as a point (root-relative) and unit normal; not there for misses, ceilings, steep ground and nonsense. The point is
 * taken from the ray's own origin, so that a hit that comes a frame late still lies on the ground. */
lane_inline ray_hit read_hit(const phx_crowd_task *task, const phx_ray_block *ray, uint32_t lane, lv3 root, lup up) {
    ray_hit hit;
    const lf t = f_load(ray->tfar + lane);
    const li body = i_load(ray->geomID + lane);
    const lv3 n = v3(f_load(ray->Ng_x + lane), f_load(ray->Ng_y + lane), f_load(ray->Ng_z + lane));
    const lv3 origin = v3(f_load(ray->org_x + lane), f_load(ray->org_y + lane), f_load(ray->org_z + lane));
    const lf squared = v3_dot(n, n);
    lm ok = m_and(f_lt(f_splat(1e-20f), squared), f_lt(squared, f_splat(1e20f)));
    ok = m_and(ok, m_and(f_le(f_splat(0.0f), t), f_le(t, f_splat(task->setup->ray_length))));
    ok = m_andnot(ok, i_eq(body, i_splat(-1)));
    if (task->frame->bodies) { /* unsigned: out of range is refused */
        const li flip = i_splat(INT32_MIN);
        ok = m_and(ok, i_gt(i_xor(i_splat((int32_t)task->frame->body_count), flip), i_xor(body, flip)));
    }
    hit.normal = v3_scale(n, f_div(f_splat(1.0f), f_sqrt(f_select(ok, squared, f_splat(1.0f)))));
    hit.point = raised(up, v3_sub(origin, root), f_neg(f_select(ok, t, f_splat(0.0f))));
    ok = m_and(ok, f_lt(v3_dot(hit.point, hit.point), f_splat(1e18f)));
    hit.there = m_and(ok, f_le(f_splat(task->setup->cos_max_slope), height_of(up, hit.normal)));
    return hit;
}

/* where the ball's ray started, root-relative */
lane_inline lv3 ball_ray_point(const phx_ray_block *rays, uint32_t lane, lv3 root) {
    return v3_sub(v3(f_load(rays[1].org_x + lane), f_load(rays[1].org_y + lane), f_load(rays[1].org_z + lane)), root);
}

typedef struct ground_plane {
    lv3 point, normal;
    li body;
    lm seen; /* a ray hit this frame */
    lf ball_ground; /* height of what the ball's ray hit */
    lm ball_hit, heel_hit;
    lv3 heel_point, heel_normal;
} ground_plane;

/* One plane from two hits: through both, rolled by the mean of their normals. Where that plane and the ground's own normals
 * disagree by more than 35 degrees there is an edge between heel and ball, and the foot stands on the higher side. A foot that looks
 * ahead takes what its ball's ray hit. Hits that lie nearer to each other than 1 % of the leg's `length` have no direction: theirs would be
 * that of rounding. */
lane_inline ground_plane plane_under(const phx_crowd_task *task, const phx_ray_block *rays, uint32_t lane, lup up, lm looks, lf length, const ray_hit *heel,
                                     const ray_hit *ball) {
    const phx_crowd_setup *setup = task->setup;
    const lf cos_edge = f_splat(0.8191520f), least_squared = f_max(f_mul(f_mul(length, length), f_splat(1e-4f)), f_splat(1e-30f));
    const lv3 heel_point = heel->point, heel_normal = heel->normal, ball_point = ball->point, ball_normal = ball->normal;
    const lm heel_hit = heel->there, ball_hit = ball->there;
    const lv3 along = v3_sub(ball_point, heel_point), sum = v3_add(heel_normal, ball_normal);
    const lf along_squared = v3_dot(along, along);
    const lv3 common = v3_unit(v3_sub(sum, v3_scale(along, f_div(f_keep(f_lt(least_squared, along_squared), v3_dot(sum, along)), f_max(along_squared, least_squared)))));
    lm fits = m_and(m_andnot(m_and(heel_hit, ball_hit), looks), f_le(f_splat(setup->cos_max_slope), height_of(up, common)));
    fits = m_and(fits, m_and(f_le(cos_edge, v3_dot(common, heel_normal)), f_le(cos_edge, v3_dot(common, ball_normal))));
    const lm heel_higher = f_lt(height_of(up, ball_point), height_of(up, heel_point));
    const lm on_heel = m_and(heel_hit, m_or(m_not(ball_hit), m_andnot(heel_higher, looks)));
    ground_plane plane;
    plane.seen = m_or(heel_hit, ball_hit);
    plane.ball_ground = height_of(up, ball_point), plane.ball_hit = ball_hit;
    plane.heel_point = heel_point, plane.heel_normal = heel_normal, plane.heel_hit = heel_hit;
    plane.point = v3_select(on_heel, heel_point, ball_point);
    plane.normal = v3_select(fits, common, v3_select(on_heel, heel_normal, ball_normal));
    plane.body = i_select(on_heel, i_load(rays[0].geomID + lane), i_load(rays[1].geomID + lane));
    return plane;
}

/* Of one leg, where there are bodies. */
typedef struct leg_carried {
    carrier body; /* under the foot */
    lv3 lock_heading;
} leg_carried;

/* What the stages of one leg hand to each other. A leg's time is that of one chain of roots, divisions and sums after one another, not that
 * of its instructions: four roots fewer beside the chain gained nothing, and what waits for nothing is cheapest beside it. A Zen 5 holds some
 * 140 operations that wait, a twentieth of a leg, and so never sees the next leg's chain. At 16 lanes roots and quotients without latency
 * would save a sixth of the solve, no masks 7 %, no stores to the stack a seventh.
 * Two legs stage by stage in turn put two chains under way, for 0 % at 16 lanes and 1 to 2 % at 8; a copy of a structure with masks on that
 * way costs 3 to 5 ns a foot, as 64 bytes are loaded where two were just stored and the load waits until all before it is done. Both legs
 * in one piece outgrow the instruction cache (1.5 to 7 ns lost, scheduled by the compiler or not). Pairs of vectors (lane/lane_pair.h) lose
 * 5 % at 8 lanes and win 0 to 5 % at 4; planes as gradients, with three roots and four quotients fewer in that chain, and a tile's feet all
 * before its legs, won at most 2 %. Neither did the stages of four vector-feet in turn, cut into eleven (+13 to +19 %: loads and stores), nor
 * both legs' two bones as a pair (-2 to 0 % at 16 and 8 lanes, +3 % at 4), nor a leg's second half between the stages of the next lanes'
 * first (-1 % at 4 and 8 lanes, +4 % at 16). Tiles of 128 characters would win 2 to 5 % at 16 lanes and lose 8 % at 4.
 * What binds was asked by adding to the solve, 350 instructions a leg: of nothing +1 to +3 %, loads or stores +3 to +6 %, sums or comparisons
 * of the last result +2 to +4 %, products of constants 0 to +3 %, but products of the last result +16 to +22 %: they go through the two pipes
 * of the chain's roots and quotients, and before these. Integers are free beside it: a fifth of them less gained 0 to 3 %. */
typedef struct leg_work {
    ground_plane plane;
    leg_carried *carried; /* only where there are bodies */
    lf length, weight, support, swung;
    li marks;
    lf per_up, last_per_up;
    lm known, stands, entering, locked_before;
    lv3 last_point, last_ball, lock_point;
    lf error, height, jump; /* what the clip itself hovers or sinks; of the plane over the floor; left of a jump of the ground */
    lf low, clearance;      /* of what is below the foot over the floor; how far a swinging foot may sink without touching the ground */
    lv3 heading, ahead; /* heel to ball, level; the same as a unit vector */
    lf heading_squared;
    lean lean;       /* of the foot, with the ground */
    lm limited;      /* the ground is too steep for the foot */
    lm held_back;    /* by an edge, or by filters: not where it would be with this input; only where still characters are not solved */
    lf planted_left; /* 1 - planted */
    lm hangs;        /* its ball is beyond an edge */
} leg_work;

/* Where the foot shall be. */
typedef struct leg_goal {
    lf length, weight, support;
    lf reach;        /* from the hip */
    lv3 target;      /* ankle, root-relative */
    lq4 turn;        /* of the foot, from its animated attitude */
    lq4 toe_turn;    /* of the toes, on top of it */
    lm toes;         /* lanes whose toes turn */
    lm aloft;        /* swings, or its sole is in the air; only where joints may turn only so fast */
    lf clearance;
    li flags;        /* its marks, and that it stands with its ball beyond an edge */
    lm rests;        /* stands, and no filter of it is on its way; only where still characters are not solved */
    lv3 hinge;       /* of the knee */
} leg_goal;

/* height of a plane over the point `at`, along up; per_up is 1 / (normal . up) */
lane_inline lf height_over(lv3 point, lv3 normal, lf per_up, lv3 at) { return f_mul(v3_dot(v3_sub(point, at), normal), per_up); }

/* shortest rotation between unit vectors less than a right angle apart */
lane_inline lq4 q4_between_near(lv3 from, lv3 to) {
    const lv3 axis = v3_cross(from, to);
    return q4_normalize((lq4){axis.x, axis.y, axis.z, f_add(f_splat(1.0f), v3_dot(from, to))});
}

/* Where a leg's rows are: found once, as each of the stages would count them out again. */
typedef struct leg_place {
    const phx_leg_setup *rig;
    const phx_joint_rows *joints, *hip, *knee, *ankle;
    const phx_foot_rows *foot;
    const phx_ray_block *rays;
    phx_leg_state *state;
    phx_carried_plane *carried;
    uint32_t lane, leg;
} leg_place;
lane_inline leg_place place_of(const phx_crowd_task *task, const crowd_lanes *l, uint32_t leg) {
    const size_t index = (size_t)l->group * task->setup->leg_count + leg;
    leg_place p;
    p.rig = task->setup->legs + leg, p.joints = task->joints + l->group * task->setup->plan.count;
    p.hip = p.joints + p.rig->hip, p.knee = p.joints + p.rig->knee, p.ankle = p.joints + p.rig->ankle;
    p.foot = task->feet + index, p.rays = task->rays + index * 2;
    p.state = task->legs + index, p.carried = task->carried ? task->carried + index : NULL;
    p.lane = l->lane, p.leg = leg;
    return p;
}

/* what this frame's rays say */
lane_inline void see_ground(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, leg_work *work, leg_goal *goal) {
    const lup up = l->up;
    const lf one = f_splat(1.0f);
    work->length = f_load(p->foot->length.v + p->lane);
    const ray_hit heel = read_hit(task, p->rays, p->lane, l->root, up), ball = read_hit(task, p->rays + 1, p->lane, l->root, up);

    /* what the animation alone says comes here, as it waits for nothing: the processor does it while the hits' roots are drawn */
    const lv3 hip = v3_load(&p->hip->position, p->lane), knee = v3_load(&p->knee->position, p->lane), ankle = v3_load(&p->ankle->position, p->lane);
    const lv3 thigh = v3_sub(knee, hip), shin = v3_sub(ankle, knee);
    /* the leg's plane turns about the clip's own hinge; the straighter the leg, or the more the clip bends the knee backward,
     * the more about the hinge that the thigh's own frame says. A hinge, unlike a bend direction, does not turn over when the
     * foot rises past the hip. */
    const lv3 normal = v3_cross(shin, thigh);
    const lv3 clip_hinge = v3_unit(normal);
    const lv3 rig_hinge = v3_unit(v3_cross(thigh, q4_rotate(q4_load(&p->hip->rotation, p->lane), v3_of(p->rig->knee_forward))));
    const lf squares = f_mul(v3_dot(thigh, thigh), v3_dot(shin, shin));
    const lf bent = f_min(f_div(f_mul(v3_dot(normal, normal), f_splat(100.0f)), f_max(squares, f_splat(1e-30f))), one);
    const lf agreed = v3_dot(clip_hinge, rig_hinge);
    goal->hinge = v3_mix(rig_hinge, clip_hinge, f_mul(bent, saturate(f_add(f_add(agreed, agreed), one))));
    goal->reach = f_max(f_mul(work->length, f_splat(task->setup->max_extension)), v3_length(v3_sub(ankle, hip)));
    const lv3 heading = level(up, v3_sub(v3_load(&p->foot->ball, p->lane), v3_load(&p->foot->heel, p->lane)));
    work->heading = heading, work->heading_squared = level_dot(up, heading, heading);
    const lv3 forward = v3_select(f_lt(f_splat(1e-12f), work->heading_squared), heading, level(up, spare_direction(up.v)));
    work->ahead = v3_scale(forward, f_div(one, f_sqrt(f_max(level_dot(up, forward, forward), f_splat(1e-30f)))));

    work->plane = plane_under(task, p->rays, p->lane, up, f_lt(f_splat(0.0f), f_load(p->foot->look.v + p->lane)), work->length, &heel, &ball);
}

/* the plane under the foot: this frame's hits, or the last one seen, carried by its body */
lane_inline void choose_ground(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, leg_work *work) {
    const phx_crowd_setup *setup = task->setup;
    phx_leg_state *state = p->state;
    const uint32_t lane = p->lane;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lup up = l->up;
    ground_plane plane = work->plane;
    const lm known = m_and(l->remembered, is_marked(state, lane, PHX_MARK_KNOWN));
    const li last_body = i_load(state->body.v + lane);
    lv3 last_point = v3_sub(v3_load(&state->point, lane), l->travel), last_normal = v3_load(&state->normal, lane);
    lv3 last_ball = v3_load(&state->ball, lane), lock_point = v3_load(&state->lock_point, lane);
    lm there = known; /* lanes whose last plane still stands on its body */
    if (task->frame->bodies) {
        const carrier last = load_carrier(task->frame, last_body, l->root);
        const lv3 carried_normal = q4_rotate(last.rotation, v3_load(&p->carried->normal, lane));
        there = m_and(known, m_and(last.there, i_eq(last.generation, i_load(state->generation.v + lane))));
        there = m_and(there, f_lt(f_splat(0.1f), height_of(up, carried_normal))); /* what has become a wall carries nobody */
        last_point = v3_select(there, onto(&last, v3_load(&p->carried->point, lane)), last_point);
        last_normal = v3_select(there, carried_normal, last_normal);
        last_ball = v3_select(there, onto(&last, last_ball), v3_load(&p->foot->ball, lane));
        lock_point = onto(&last, lock_point);
        work->carried->lock_heading = q4_rotate(last.rotation, v3_load(&state->lock_heading, lane));
    } else {
        last_ball = v3_sub(last_ball, l->travel), lock_point = v3_sub(lock_point, l->travel);
    }
    last_point = v3_select(known, last_point, v3_splat(0.0f, 0.0f, 0.0f)), last_normal = v3_select(known, last_normal, up.v);
    /* at an edge a locked foot stays on the tread that it was put on, although its rays now fall past it */
    lm locked_before = m_and(there, is_marked(state, lane, PHX_MARK_LOCKED));
    const lf last_per_up = f_div(one, height_of(up, last_normal));
    lf per_up = f_div(one, f_select(plane.seen, height_of(up, plane.normal), one));
    const lf tread = height_over(last_point, last_normal, last_per_up, lock_point), seen_there = height_over(plane.point, plane.normal, per_up, lock_point);
    const lf step = f_mul(work->length, f_splat(0.05f)), last_ground = f_sub(f_load(state->ball_ground.v + lane), height_of(up, l->travel));
    lm past_edge = m_and(m_and(locked_before, plane.seen), f_lt(step, f_abs(f_sub(seen_there, tread))));
    if (!task->frame->bodies) /* the ball's ray stands still: what changed under it is the ground itself, and is followed */
        past_edge = m_andnot(past_edge, m_and(plane.ball_hit, f_lt(step, f_abs(f_sub(plane.ball_ground, last_ground)))));
    f_store(state->ball_ground.v + lane, f_select(plane.ball_hit, plane.ball_ground, f_select(known, last_ground, zero)));
    const lm keeps = m_or(past_edge, m_not(plane.seen));
    plane.point = v3_select(past_edge, last_point, plane.point), plane.normal = v3_select(past_edge, last_normal, plane.normal);
    plane.body = i_select(keeps, i_select(there, last_body, i_splat(-1)), plane.body);
    locked_before = m_and(locked_before, i_eq(last_body, plane.body));
    if (task->frame->bodies) {
        work->carried->body = load_carrier(task->frame, plane.body, l->root);
        plane.seen = m_and(plane.seen, work->carried->body.there);
    }
    const lm unasked = m_and(known, f_lt(f_load(p->rays[0].tfar + lane), zero)); /* the last plane is near enough */
    const lf missed = f_keep(m_not(m_or(plane.seen, unasked)), f_add(f_keep(known, f_load(state->missed.v + lane)), l->dt));
    const lm held = m_and(known, f_le(missed, f_splat(setup->hold_seconds)));
    plane.point = v3_select(plane.seen, plane.point, last_point), plane.normal = v3_select(plane.seen, plane.normal, last_normal);
    per_up = f_select(m_andnot(plane.seen, past_edge), per_up, last_per_up);
    const lv3 below_ball = at_height(up, ball_ray_point(p->rays, lane, l->root), plane.ball_ground);
    work->hangs = m_and(plane.seen, m_or(m_not(plane.ball_hit), f_lt(step, height_over(plane.point, plane.normal, per_up, below_ball))));

    /* a foot that looks ahead goes from the plane that it left to the one where it will stand within the time left, fast at first as
     * edges are on the way; it stays over the ground below it */
    const lv3 floor_point = level(up, v3_load(&p->ankle->position, p->lane));
    const lf last_height = height_over(last_point, last_normal, last_per_up, floor_point), look = f_load(p->foot->look.v + lane);
    lf height = height_over(plane.point, plane.normal, per_up, floor_point), low = height, stepped = f_sub(last_height, height);
    const lm looks = m_and(f_lt(zero, look), plane.ball_hit);
    if (m_any(looks)) {
        const lf rest = f_max(f_sub(one, f_div(l->dt, f_select(looks, look, one))), zero), keep = f_mul(rest, f_add(f_mul(rest, f_splat(0.9f)), f_splat(0.1f)));
        height = f_select(looks, mix(height, last_height, keep), height), stepped = f_keep(m_not(looks), stepped);
        plane.normal = v3_select(looks, v3_unit(v3_mix(plane.normal, last_normal, keep)), plane.normal);
        per_up = f_select(looks, f_div(one, f_select(looks, height_of(up, plane.normal), one)), per_up);
        plane.point = v3_select(looks, raised(up, floor_point, height), plane.point);
        const lf heel_per_up = f_div(one, f_select(plane.heel_hit, height_of(up, plane.heel_normal), one));
        low = f_select(m_and(looks, plane.heel_hit), height_over(plane.heel_point, plane.heel_normal, heel_per_up, floor_point), height);
    }
    work->held_back = m_or(past_edge, m_not(m_or(plane.seen, unasked)));
    work->height = height, work->low = low, work->jump = f_add(f_load(state->jump.v + lane), stepped);

    const lm grounded = m_or(plane.seen, held);
    const lf wanted = f_keep(grounded, one);
    lf weight = settle(ease(f_load(state->weight.v + lane), wanted, l->weight_keep));
    weight = f_select(l->remembered, weight, wanted);

    v3_store(&state->point, lane, plane.point), v3_store(&state->normal, lane, plane.normal);
    work->marks = i_or(i_splat(PHX_MARK_VALID), mark_if(m_or(grounded, f_lt(zero, weight)), PHX_MARK_KNOWN)); /* a plane is known until it is let go */
    f_store(state->missed.v + lane, missed), f_store(state->weight.v + lane, weight);
    i_store(state->body.v + lane, plane.body);
    if (task->frame->bodies) {
        v3_store_where(l->good, &p->carried->point, lane, into(&work->carried->body, plane.point));
        v3_store_where(l->good, &p->carried->normal, lane, q4_rotate(q4_conjugate(work->carried->body.rotation), plane.normal));
        i_store(state->generation.v + lane, work->carried->body.generation);
    }
    work->plane = plane, work->per_up = per_up, work->last_per_up = last_per_up, work->weight = weight;
    work->known = known, work->stands = grounded, work->locked_before = locked_before;
    work->last_point = last_point, work->last_ball = last_ball, work->lock_point = lock_point;
}

/* contact: told, or found from height and speed with hysteresis; heights and speeds follow the leg's length */
lane_inline void judge_contact(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, leg_work *work) {
    const phx_crowd_setup *setup = task->setup;
    phx_leg_state *state = p->state;
    const uint32_t lane = p->lane;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), length = work->length;
    const lup up = l->up;
    const lv3 heel = v3_load(&p->foot->heel, lane), ball = v3_load(&p->foot->ball, lane);
    const lf sole_height = f_min(height_of(up, heel), height_of(up, ball));
    const lm known = work->known, grounded = work->stands, stood = m_and(known, is_marked(state, lane, PHX_MARK_STANDS));
    lm stands, entering;
    lf support;
    if (task->frame->support.data) {
        const phx_view view = phx_view_of((char *)task->frame->support.data + p->leg * sizeof(float), task->frame->support.stride);
        support = saturate(pack1(view, l->s.first, l->s.count));
        stands = entering = f_lt(f_splat(0.99f), support);
    } else {
        const lf low = saturate(f_mul(f_sub(f_splat(setup->swing_height), sole_height), f_splat(setup->inverse_swing_range)));
        support = f_mul(f_mul(low, low), f_sub(f_splat(3.0f), f_add(low, low)));
        const lf enter_height = setup->enter_height > 0.0f ? f_splat(setup->enter_height) : f_mul(length, f_splat(0.05f));
        const lf exit_height = setup->exit_height > 0.0f ? f_splat(setup->exit_height) : f_mul(length, f_splat(0.07f));
        const lf enter_speed = setup->enter_speed > 0.0f ? f_splat(setup->enter_speed) : f_mul(length, f_splat(0.5f));
        const lf exit_speed = setup->exit_speed > 0.0f ? f_splat(setup->exit_speed) : f_mul(length, f_splat(1.2f));
        const lv3 path = level(up, v3_sub(ball, work->last_ball));
        const lf moved = level_dot(up, path, path), slow = f_mul(enter_speed, l->dt), fast = f_mul(exit_speed, l->dt); /* squares are compared */
        const lm moving = m_and(known, f_lt(zero, l->dt));
        entering = m_and(f_lt(sole_height, enter_height), m_or(m_not(moving), f_lt(moved, f_mul(slow, slow))));
        const lm leaving = m_or(f_lt(exit_height, sole_height), m_and(moving, f_lt(f_mul(fast, fast), moved)));
        const lm still = m_and(known, f_le(l->dt, zero)); /* no time passed: nothing is decided */
        stands = m_or(m_and(stood, m_or(still, m_not(leaving))), m_andnot(m_andnot(entering, stood), still));
    }
    stands = m_and(stands, grounded);
    const lf firm = f_keep(stands, one);
    lf grip = settle(ease(f_load(state->grip.v + lane), firm, l->grip_keep));
    grip = f_select(l->remembered, grip, firm);
    const lf planted = task->frame->support.data ? support : grip;
    work->planted_left = f_sub(one, planted);
    support = f_max(firm, support);

    /* a jump of the ground is not followed at once: the foot keeps its height and the difference dies away, twice as fast where it
     * should stand lower; never into the ground */
    const lf plant = f_splat(setup->plant_height);
    const lf error = f_mul(f_min(f_max(sole_height, f_neg(plant)), plant), planted); /* what the clip itself hovers or sinks while standing */
    lf jump = f_keep(known, settle(f_mul(work->jump, l->ground_keep)));
    jump = f_select(m_and(stands, f_lt(zero, jump)), settle(f_mul(jump, l->ground_keep)), jump);
    const lf hover = f_max(f_sub(sole_height, error), zero);
    jump = f_max(jump, f_sub(f_sub(work->low, work->height), hover));
    work->clearance = f_keep(m_not(stands), f_add(hover, f_max(jump, zero)));

    /* how long a foot swings, and where it comes to stand */
    const lf swung = f_min(f_add(f_keep(m_andnot(known, stood), f_load(state->loose.swung.v + lane)), l->dt), f_splat(1e6f)); /* the frame in which it comes to stand is the last */
    const lm whole = m_and(known, is_marked(state, lane, PHX_MARK_STOOD)), lands = m_and(m_andnot(m_and(whole, stands), stood), f_lt(f_splat(0.12f), swung));
    f_store(state->swing.v + lane, f_keep(known, f_select(lands, swung, f_load(state->swing.v + lane))));
    if (m_any(lands)) {
        const lv3 landing = q4_rotate(q4_conjugate(q4_load(&task->root_rotation[l->group], lane)), level(up, ball));
        v3_store_where(lands, &state->landing, lane, landing);
    }

    lv3 stored_ball = ball;
    if (task->frame->bodies) stored_ball = into(&work->carried->body, ball);
    v3_store(&state->ball, lane, stored_ball);
    f_store(state->grip.v + lane, grip), f_store(state->jump.v + lane, jump);
    work->marks = i_or(work->marks, i_or(mark_if(stands, PHX_MARK_STANDS), mark_if(m_or(whole, m_and(known, stands)), PHX_MARK_STOOD)));
    work->swung = swung;
    work->stands = stands, work->entering = entering, work->support = support, work->error = error, work->jump = jump;
}

/* the attitude: as the ground leans, within pitch and roll limits, smoothed */
lane_inline void turn_foot(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, leg_work *work) {
    const phx_crowd_setup *setup = task->setup;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lup up = l->up;
    const lv3 ahead = work->ahead;
    const lv3 side = up_cross(up, ahead), leaning = work->plane.normal;
    const lf pitch_limit = f_splat(setup->sin_max_pitch), roll_limit = f_splat(setup->sin_max_roll);
    const lf pitch = f_min(f_max(level_dot(up, leaning, ahead), f_neg(pitch_limit)), pitch_limit);
    const lf roll = f_min(f_max(level_dot(up, leaning, side), f_neg(roll_limit)), roll_limit);
    const lf upright = f_sqrt(f_max(f_sub(f_sub(one, f_mul(pitch, pitch)), f_mul(roll, roll)), zero));
    lv3 tilt = at_height(up, v3_add(v3_scale(ahead, pitch), v3_scale(side, roll)), upright);
    const lv3 off = v3_sub(tilt, leaning);
    work->limited = f_lt(f_splat(1e-8f), v3_dot(off, off));
    const lv3 attitude = tilt;
    const lv3 last_tilt = v3_load(&p->state->tilt, p->lane);
    tilt = v3_select(f_lt(l->tilt_keep, one), v3_unit(v3_settle(v3_mix(attitude, last_tilt, l->tilt_keep))), last_tilt);
    tilt = v3_select(work->known, tilt, attitude);
    v3_store(&p->state->tilt, p->lane, tilt);
    if (task->stills) {
        const lv3 untilted = v3_scale(v3_sub(tilt, attitude), work->length);
        work->held_back = m_or(work->held_back, m_not(f_le(v3_dot(untilted, untilted), f_splat(setup->still * setup->still))));
    }
    work->lean = lean_to(up, tilt);
}

/* the lock, and where the foot ends */
lane_inline void place_foot(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, const leg_work *work, leg_goal *goal, int slows) {
    const phx_crowd_setup *setup = task->setup;
    phx_leg_state *state = p->state;
    const uint32_t lane = p->lane;
    const lf one = f_splat(1.0f);
    const lup up = l->up;
    const lv3 heading = work->heading, normal = work->plane.normal, point = work->plane.point;
    const lv3 ankle = v3_load(&p->ankle->position, p->lane), heel = v3_load(&p->foot->heel, lane), ball = v3_load(&p->foot->ball, lane);
    const lf heel_height = height_of(up, heel), ball_height = height_of(up, ball);
    const lm locked_before = work->locked_before, stands = work->stands;
    const lv3 lock_point = work->lock_point;

    /* the lock's turn about up: the foot keeps its heading on the body; what is left after release dies away */
    lm holds = locked_before;
    lf yaw = settle(f_mul(f_load(state->yaw.v + lane), l->release_keep));
    yaw = f_keep(l->remembered, yaw);
    if (m_any(locked_before)) {
        const lv3 locked_heading = level(up, task->frame->bodies ? work->carried->lock_heading : v3_load(&state->lock_heading, lane));
        const lf scale = f_sqrt(f_mul(work->heading_squared, level_dot(up, locked_heading, locked_heading)));
        const lf cosine = level_dot(up, heading, locked_heading), sine = level_sine(up, heading, locked_heading);
        const lq4 back = q4_turn(v3_splat(1.0f, 0.0f, 0.0f), cosine, sine, f_max(scale, f_splat(1e-20f)));
        const lf kept = f_keep(f_lt(f_splat(1e-12f), scale), back.x);
        holds = m_and(locked_before, f_le(f_abs(kept), f_splat(setup->sin_half_release_twist)));
        yaw = f_select(holds, kept, yaw);
    }
    const lf yaw_cos = f_sqrt(f_sub(one, f_mul(yaw, yaw)));
    const lf sine = f_mul(f_add(yaw, yaw), yaw_cos), versine = f_mul(f_add(yaw, yaw), yaw);
    const lv3 turned_heel = v3_add(ball, about_up(up, sine, versine, v3_sub(heel, ball)));
    const lv3 turned_ankle = v3_add(ball, about_up(up, sine, versine, v3_sub(ankle, ball)));

    /* the foot's pose over flat ground, carried to the plane and turned below the ankle at the sole's height; then lifted so that its
     * deepest point keeps its animated height, less what the clip itself hovers or sinks while the foot stands */
    const lv3 pivot = at_height(up, ankle, f_max(f_min(heel_height, ball_height), f_splat(0.0f))), ground = raised(up, pivot, work->height);
    lv3 new_heel = v3_add(ground, leaned(up, &work->lean, v3_sub(turned_heel, pivot)));
    lv3 new_ball = v3_add(ground, leaned(up, &work->lean, v3_sub(ball, pivot)));
    lv3 new_ankle = v3_add(ground, leaned(up, &work->lean, v3_sub(turned_ankle, pivot)));
    const lf heel_lift = f_sub(f_sub(heel_height, work->error), v3_dot(v3_sub(new_heel, point), normal));
    const lf ball_lift = f_sub(f_sub(ball_height, work->error), v3_dot(v3_sub(new_ball, point), normal));
    const lv3 lift = v3_scale(normal, f_max(heel_lift, ball_lift));
    new_heel = v3_add(new_heel, lift), new_ball = v3_add(new_ball, lift), new_ankle = v3_add(new_ankle, lift);

    /* the lock: the ball stays where it is on its body; on release the difference dies away */
    lv3 offset = v3_settle(v3_scale(v3_load(&state->offset, lane), l->release_keep));
    offset = v3_select(l->remembered, offset, v3_splat(0.0f, 0.0f, 0.0f));
    lm locked = m_and(holds, stands);
    const lv3 to_lock = v3_reject(v3_sub(lock_point, new_ball), normal);
    locked = m_and(locked, f_le(v3_dot(to_lock, to_lock), f_splat(setup->release_distance_squared)));
    offset = v3_select(locked, to_lock, offset);
    const lm near = f_le(v3_dot(offset, offset), f_splat(setup->relock_distance_squared));
    lm starts = setup->lock ? m_and(m_andnot(m_and(stands, work->entering), locked_before), m_and(near, f_lt(f_splat(0.5f), work->weight))) : m_from_bits(0);
    if (task->frame->bodies) starts = m_and(starts, work->carried->body.there); /* a body that is gone locks nobody */
    if (m_any(starts)) { /* where its ray fell, if that is near, as the ground there is known; sooner where it was in the last frame, if it was low then */
        const lm was_low = m_andnot(m_and(work->known, f_le(f_splat(1.0f), f_load(state->loose.support.v + lane))), is_marked(state, lane, PHX_MARK_LOCKED));
        const lv3 was = v3_add(work->last_ball, level_load(setup, up, &state->ball_shift, lane)), from = ball_ray_point(p->rays, lane, l->root);
        const lv3 stayed = raised(up, was, height_over(point, normal, work->per_up, was)), fell = raised(up, from, height_over(point, normal, work->per_up, from));
        const lv3 to_last = v3_reject(v3_sub(stayed, new_ball), normal), to_ray = v3_reject(v3_sub(fell, new_ball), normal);
        const lf near_by = f_mul(work->length, f_splat(0.025f));
        const lm at_last = m_and(was_low, f_lt(v3_length(v3_sub(to_last, offset)), near_by)), at_ray = f_lt(v3_length(v3_sub(to_ray, offset)), near_by);
        offset = v3_select(m_and(starts, m_or(at_last, at_ray)), v3_select(at_last, to_last, to_ray), offset);
    }
    new_heel = v3_add(new_heel, offset), new_ball = v3_add(new_ball, offset);
    const lv3 placed = raised(up, v3_add(new_ankle, offset), work->jump);
    const lv3 under_ball = v3_sub(new_ball, v3_scale(normal, v3_dot(v3_sub(new_ball, point), normal)));
    lv3 new_lock = v3_select(starts, under_ball, lock_point);
    if (task->frame->bodies) { /* a lock that goes on is kept to the bit: carried back and forth it would creep */
        const lm goes_on = m_andnot(locked_before, starts);
        new_lock = v3_select(goes_on, v3_load(&state->lock_point, lane), into(&work->carried->body, new_lock));
    }
    locked = m_or(locked, starts);
    f_store(state->loose.swung.v + lane, f_select(locked, f_load(state->loose.swung.v + lane), work->swung));
    f_store(state->loose.support.v + lane, f_select(locked, f_load(state->loose.support.v + lane), work->support));
    if (m_any(starts)) {
        const lv3 new_heading = about_up(up, sine, versine, heading);
        v3_store_where(starts, &state->lock_heading, lane, task->frame->bodies ? q4_rotate(q4_conjugate(work->carried->body.rotation), new_heading) : new_heading);
    }

    const lf weight = work->weight;
    goal->length = work->length, goal->weight = weight, goal->support = work->support, goal->clearance = work->clearance;
    goal->flags = i_or(i_or(work->marks, mark_if(locked, PHX_MARK_LOCKED)), mark_if(m_and(work->hangs, stands), PHX_FLAG_OVERHANGS));
    goal->target = v3_mix(ankle, placed, weight);
    goal->turn = lean_after(up, &work->lean, yaw, yaw_cos);
    const lm floating = f_lt(weight, one);
    if (m_any(floating)) goal->turn = q4_select(floating, q4_fraction(goal->turn, weight), goal->turn);
    goal->toes = m_and(l->good, work->limited);
    if (m_any(goal->toes)) { /* the toes lie on the ground that is too steep for the foot */
        const lv3 steep = v3_unit(up_mix(up, normal, f_mul(work->support, weight)));
        const lq4 toe = q4_between_near(work->lean.tilt, steep);
        const lf half_sine = f_sqrt(f_add(f_add(f_mul(toe.x, toe.x), f_mul(toe.y, toe.y)), f_mul(toe.z, toe.z)));
        const lf most = f_splat(setup->sin_half_toe);
        const lf share = f_div(f_min(half_sine, most), f_max(half_sine, f_splat(1e-12f)));
        const lf toe_sine = f_min(half_sine, most);
        goal->toe_turn = (lq4){f_mul(toe.x, share), f_mul(toe.y, share), f_mul(toe.z, share), f_sqrt(f_sub(one, f_mul(toe_sine, toe_sine)))};
    }

    if (slows) goal->aloft = m_or(m_not(stands), f_lt(f_mul(work->length, f_splat(0.005f)), f_sub(f_min(heel_height, ball_height), work->error)));
    if (task->stills) {
        const lf still = f_splat(setup->still), squared = f_splat(setup->still * setup->still);
        lm rests = m_andnot(m_andnot(m_andnot(stands, work->held_back), m_and(work->limited, work->plane.seen)), starts);
        rests = m_and(rests, m_and(f_le(f_mul(f_sub(one, weight), work->length), still), f_le(f_abs(work->jump), still)));
        rests = m_and(rests, f_le(f_mul(work->planted_left, f_splat(setup->plant_height)), still));
        const lm let_go = m_and(f_le(v3_dot(offset, offset), squared), f_le(f_mul(f_abs(yaw), work->length), still));
        goal->rests = m_and(rests, m_or(locked, let_go));
    }
    v3_store(&state->lock_point, lane, new_lock);
    v3_store(&state->offset, lane, offset), f_store(state->yaw.v + lane, yaw);
    level_store(setup, up, &state->heel_shift, lane, v3_scale(level(up, v3_sub(new_heel, heel)), weight));
    level_store(setup, up, &state->ball_shift, lane, v3_scale(level(up, v3_sub(new_ball, ball)), weight));
}

/* How the pelvis moves level and leans, weight included. */
typedef struct pelvis_move {
    lm leans;
    lv3 shift;
    lean lean;
} pelvis_move;

/* Where shift and lean shall be, and what is on its way there. The slope under the feet is the planes' mean gradient and the least-squares
 * plane through what the heights over it leave; feet nearer to a line than a hundredth of a leg say nothing across it. */
lane_cold void move_pelvis(const phx_crowd_task *task, const crowd_lanes *l, const leg_goal *goals, lf weight, pelvis_move *move, lm *rests) {
    const phx_crowd_setup *setup = task->setup;
    const uint32_t legs = setup->leg_count, lane = l->lane;
    const phx_joint_rows *joints = task->joints + l->group * setup->plan.count;
    const lup up = l->up;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    phx_pelvis_state *state = task->pelvises + l->group;
    lv3 places[PHX_MAX_LEGS], moved = v3(zero, zero, zero), gradient = moved, place = moved, heading = moved;
    lf heights[PHX_MAX_LEGS], weights[PHX_MAX_LEGS], total = zero, height = zero, length = zero;
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const uint32_t index = l->group * legs + leg;
        const phx_leg_state *foot = task->legs + index;
        const lv3 normal = v3_load(&foot->normal, lane);
        const lf per_up = f_div(one, f_select(l->good, height_of(up, normal), one)), w = f_mul(goals[leg].support, goals[leg].weight);
        places[leg] = level(up, v3_load(&joints[setup->legs[leg].ankle].position, lane));
        heights[leg] = height_over(v3_load(&foot->point, lane), normal, per_up, places[leg]), weights[leg] = w;
        total = f_add(total, w), height = f_add(height, f_mul(heights[leg], w)), length = f_max(goals[leg].length, length);
        place = v3_add(place, v3_scale(places[leg], w)), gradient = v3_add(gradient, v3_scale(level(up, normal), f_neg(f_mul(per_up, w))));
        moved = v3_add(moved, v3_scale(v3_add(level_load(setup, up, &foot->heel_shift, lane), level_load(setup, up, &foot->ball_shift, lane)), f_mul(w, f_splat(0.5f))));
        heading = v3_add(heading, level(up, v3_sub(v3_load(&task->feet[index].ball, lane), v3_load(&task->feet[index].heel, lane))));
    }
    const lf share = f_div(one, f_max(total, f_splat(1e-6f))), held = f_min(total, one);
    place = v3_scale(place, share), gradient = v3_scale(gradient, share), height = f_mul(height, share);
    const lf heading_squared = level_dot(up, heading, heading);
    const lm heads = f_lt(f_splat(1e-12f), heading_squared);
    const lv3 ahead = v3_scale(heading, f_div(one, f_sqrt(f_max(heading_squared, f_splat(1e-30f)))));
    const lv3 x = v3_select(heads, ahead, v3_unit(level(up, spare_direction(up.v)))), y = up_cross(up, x);
    const lf least = f_mul(length, f_splat(0.01f));
    lf xx = f_mul(least, least), yy = xx, xy = zero, xh = zero, yh = zero;
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const lv3 from = v3_sub(places[leg], place);
        const lf a = level_dot(up, from, x), b = level_dot(up, from, y), w = weights[leg];
        const lf rest = f_mul(f_sub(f_sub(heights[leg], height), level_dot(up, gradient, from)), w);
        xx = f_add(xx, f_mul(f_mul(a, a), w)), yy = f_add(yy, f_mul(f_mul(b, b), w)), xy = f_add(xy, f_mul(f_mul(a, b), w));
        xh = f_add(xh, f_mul(a, rest)), yh = f_add(yh, f_mul(b, rest));
    }
    const lf inverse = f_div(one, f_max(f_sub(f_mul(xx, yy), f_mul(xy, xy)), f_splat(1e-30f)));
    const lf slope_x = f_add(level_dot(up, gradient, x), f_mul(f_sub(f_mul(yy, xh), f_mul(xy, yh)), inverse));
    const lf slope_y = f_add(level_dot(up, gradient, y), f_mul(f_sub(f_mul(xx, yh), f_mul(xy, xh)), inverse));
    const lf roll = f_splat(setup->pelvis_roll), pitch = f_mul(f_select(heads, f_splat(setup->pelvis_pitch), roll), held);
    const lf lean_x = f_mul(f_atan2(slope_x, one), pitch), lean_y = f_mul(f_atan2(slope_y, one), f_mul(roll, held));
    const lf angle = f_sqrt(f_add(f_mul(lean_x, lean_x), f_mul(lean_y, lean_y))), most = f_splat(setup->max_pelvis_lean);
    const lf fits = f_div(most, f_max(angle, f_splat(setup->max_pelvis_lean + 1e-12f)));
    const lv3 lean_wanted = v3_settle(v3_scale(v3_add(v3_scale(x, lean_x), v3_scale(y, lean_y)), f_neg(fits)));
    const lv3 asked = v3_scale(moved, f_div(f_splat(setup->pelvis_shift), f_max(total, one)));
    const lf shift_fits = f_div(f_splat(setup->max_pelvis_shift), f_max(v3_length(asked), f_splat(setup->max_pelvis_shift + 1e-12f)));
    const lv3 shift_wanted = v3_settle(v3_scale(asked, shift_fits));

    lv3 shift = v3_load(&state->shift, lane), leaning = v3_load(&state->lean, lane);
    const lm goes = m_or(f_lt(l->pelvis_keep, one), m_not(l->remembered));
    const lf stays = f_keep(l->remembered, l->pelvis_keep);
    shift = v3_select(goes, v3_add(shift_wanted, v3_settle(v3_scale(v3_sub(shift, shift_wanted), stays))), shift);
    leaning = v3_select(goes, v3_add(lean_wanted, v3_settle(v3_scale(v3_sub(leaning, lean_wanted), stays))), leaning);
    v3_store_where(l->good, &state->shift, lane, shift), v3_store_where(l->good, &state->lean, lane, leaning);
    const lv3 unshifted = v3_sub(shift, shift_wanted), unleaned = v3_scale(v3_sub(leaning, lean_wanted), length);
    const lf squared = f_splat(setup->still * setup->still);
    *rests = m_and(*rests, m_and(f_le(v3_dot(unshifted, unshifted), squared), f_le(v3_dot(unleaned, unleaned), squared)));

    const lv3 applied = v3_scale(leaning, weight);
    const lf turn = v3_length(applied), tiny = f_splat(1e-9f);
    lf sine, cosine;
    f_sincos_quarter(turn, &sine, &cosine);
    move->shift = v3_scale(shift, weight), move->leans = f_lt(tiny, turn);
    move->lean = lean_to(up, at_height(up, v3_scale(applied, f_div(sine, f_max(turn, tiny))), cosine));
}

/* the hip of an animated pose, moved with the pelvis but for its height */
lane_inline lv3 moved_hip(const phx_crowd_task *task, const crowd_lanes *l, const pelvis_move *move, lv3 hip) {
    if (!task->pelvises) return hip;
    const lv3 pelvis = v3_load(&task->joints[l->group * task->setup->plan.count + task->setup->pelvis_slot].position, l->lane);
    return v3_add(v3_select(move->leans, v3_add(pelvis, leaned(l->up, &move->lean, v3_sub(hip, pelvis))), hip), move->shift);
}

/* How far the pelvis must sink for this leg to reach (<= 0), and how far the ground pushes it up (any sign). And how high it is when the
 * leg's squared length changes at a bound: a leg that stands straightens by 0.7 of its full square a second, one that swings folds by 2, or by
 * 5 where joints may turn only so fast. */
lane_inline void pelvis_demand(const phx_crowd_task *task, const crowd_lanes *l, uint32_t leg, const pelvis_move *move, const leg_goal *goal, lm stands, int slows,
                               lf *drop, lf *rise, lf *bound) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const phx_joint_rows *joints = task->joints + l->group * setup->plan.count;
    const lup up = l->up;
    const lv3 hip = v3_load(&joints[rig->hip].position, l->lane), ankle = v3_load(&joints[rig->ankle].position, l->lane);
    const lf reach = goal->reach;
    const lv3 from = moved_hip(task, l, move, hip), to_target = v3_sub(goal->target, from);
    const lf below = height_of(up, to_target);
    const lv3 aside = level(up, to_target);
    const lf aside_squared = level_dot(up, aside, aside), room = f_sub(f_mul(reach, reach), aside_squared);
    const lf most = f_add(below, f_sqrt(f_max(room, f_splat(0.0f))));
    const lm reachable = f_lt(f_splat(0.0f), room);
    *drop = f_mul(f_keep(reachable, f_min(most, f_splat(0.0f))), f_mul(goal->support, goal->weight));
    *rise = f_add(f_min(height_of(up, v3_sub(goal->target, ankle)), f_max(most, f_splat(0.0f))), f_mul(f_sub(f_splat(1.0f), goal->support), f_splat(setup->max_pelvis_rise)));
    /* where the leg was, from the hip of now: seen from the root a hip moves little in a frame */
    const lf old = f_load(task->characters[l->group].pelvis.v + l->lane);
    const lv3 was = v3_sub(v3_load(&task->legs[l->group * setup->leg_count + leg].target, l->lane), raised(up, from, old));
    const lf by = f_mul(f_mul(goal->length, goal->length), f_mul(l->dt, f_select(stands, f_splat(0.7f), f_splat(slows ? -5.0f : -2.0f))));
    *bound = f_add(below, f_sqrt(f_max(f_sub(f_add(v3_dot(was, was), by), aside_squared), f_splat(0.0f))));
}

/* Stores 3 or 4 floats of each lane in `where` only; the others' memory is not touched. */
lane_inline void unpack3_where(lm where, phx_view view, span s, lv3 a) {
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
lane_inline void unpack4_where(lm where, phx_view view, span s, lq4 a) {
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

lane_inline void store_translation(lm where, const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s, lv3 a) {
    if (poses->layout != PHX_POSE_ROWS) {
        unpack3_where(where, joint_view(poses, index, poses->translation_offset), s, a);
        return;
    }
    v3_store_where(where, (phx_rows3 *)(void *)joint_row(poses, index, group, 0, 0), lane, a);
}
lane_inline void store_rotation(lm where, const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s, lq4 a) {
    if (poses->layout != PHX_POSE_ROWS) {
        unpack4_where(where, joint_view(poses, index, poses->rotation_offset), s, a);
        return;
    }
    q4_store_where(where, (phx_rows4 *)(void *)joint_row(poses, index, group, 0, 3), lane, a);
}

/* Length back to 1 by one Newton step: products of unit quaternions are that near. */
lane_inline lq4 q4_near_unit(lq4 q) { return q4_scale(q, f_sub(f_splat(1.5f), f_mul(q4_dot(q, q), f_splat(0.5f)))); }

lane_inline lq4 local_under(lq4 above, lq4 world) { return q4_near_unit(q4_mul(q4_conjugate(above), world)); }
lane_inline lq4 animated_of(const phx_crowd_task *task, const crowd_lanes *l, size_t joint, size_t slot) {
    const phx_poses *poses = &task->frame->poses;
    return load_rotation(poses, poses->layout == PHX_POSE_COMPACT ? slot : joint, task->first + (size_t)l->group * PHX_BLOCK_LANES, l->lane, l->s);
}

/* A joint's new local rotation, written back, and what it takes to repeat the correction without solving. */
lane_inline void store_local(const phx_crowd_task *task, const crowd_lanes *l, lm where, size_t joint, size_t slot, lq4 local, phx_rows3 *replay) {
    const phx_poses *poses = &task->frame->poses;
    const size_t index = poses->layout == PHX_POSE_COMPACT ? slot : joint, first = task->first + (size_t)l->group * PHX_BLOCK_LANES;
    if (replay) {
        const lq4 correction = q4_mul(local, q4_conjugate(load_rotation(poses, index, first, l->lane, l->s)));
        const lf sign = f_copysign(f_splat(1.0f), correction.w);
        v3_store_where(where, replay, l->lane, v3_settle(v3_scale(v3(correction.x, correction.y, correction.z), sign)));
    }
    store_rotation(where, poses, index, first, l->lane, l->s, local);
}

/* A swinging foot spares its leg: where the leg would fold below 0.6 of its length, the foot sinks as far as the ground lets it; where
 * it would be stretched beyond 0.93, it follows less and less, so that the knee does not snap straight. Neither touches a leg that
 * the animation itself folds or stretches as far. */
lane_inline lv3 spare_leg(const leg_goal *goal, lv3 delta, lv3 animated, lup up) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), length_squared = f_mul(goal->length, goal->length), animated_squared = v3_dot(animated, animated);
    const lf least_squared = f_min(f_mul(length_squared, f_splat(0.36f)), f_mul(animated_squared, f_splat(0.81f)));
    const lm folds = m_and(f_lt(v3_dot(delta, delta), least_squared), f_lt(zero, goal->clearance));
    if (m_any(folds)) {
        const lf rise = height_of(up, delta), level_squared = f_sub(v3_dot(delta, delta), f_mul(rise, rise));
        const lf sinks = f_add(rise, f_sqrt(f_max(f_sub(least_squared, level_squared), zero)));
        delta = v3_select(folds, raised(up, delta, f_neg(f_mul(f_min(f_max(sinks, zero), goal->clearance), goal->weight))), delta);
    }
    const lf squared = v3_dot(delta, delta), most_squared = f_min(f_max(f_mul(length_squared, f_splat(0.86f)), animated_squared), length_squared);
    const lm stretches = m_and(f_lt(most_squared, squared), f_lt(goal->support, one));
    if (m_any(stretches)) {
        const lf far = f_sqrt(squared), most = f_sqrt(most_squared), room = f_sub(f_mul(goal->length, f_splat(1.0001f)), most);
        const lf soft = f_add(most, f_div(f_mul(room, f_sub(far, most)), f_select(stretches, f_add(room, f_sub(far, most)), one)));
        delta = v3_select(stretches, v3_scale(delta, f_div(mix(soft, far, goal->support), f_select(stretches, far, one))), delta);
    }
    return delta;
}

/* the pelvis's new local rotation, where it leans */
lane_cold void lean_pelvis(const phx_crowd_task *task, const crowd_lanes *l, const pelvis_move *move, lq4 above) {
    const phx_crowd_setup *setup = task->setup;
    const lq4 world = q4_load(&task->joints[l->group * setup->plan.count + setup->pelvis_slot].rotation, l->lane);
    phx_rows3 *turn = &task->pelvises[l->group].turn;
    const lm leans = m_and(l->good, move->leans);
    v3_store_where(l->good, turn, l->lane, v3_splat(0.0f, 0.0f, 0.0f));
    if (m_any(leans)) store_local(task, l, leans, setup->pelvis_joint, setup->pelvis_slot, local_under(above, q4_mul(move->lean.turn, world)), turn);
}

/* the leg in two bones */
lane_inline void bend_leg(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, lf weight, lf pelvis, const pelvis_move *move, const leg_goal *goal,
                          two_bone_out *out) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = p->rig;
    const uint32_t lane = p->lane;
    phx_leg_state *state = p->state;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lv3 hip = v3_load(&p->hip->position, lane), knee = v3_load(&p->knee->position, lane), ankle = v3_load(&p->ankle->position, lane);

    two_bone_in in;
    in.thigh = v3_sub(knee, hip), in.shin = v3_sub(ankle, knee);
    const lv3 asked = v3_sub(goal->target, raised(l->up, moved_hip(task, l, move, hip), pelvis));
    in.delta = spare_leg(goal, asked, v3_sub(ankle, hip), l->up);
    in.pole = v3_cross(goal->hinge, in.delta);
    in.previous = v3_load(&state->bend, lane);
    in.rest_bend = v3(zero, zero, zero);
    in.weight = weight, in.pole_weight = one;
    in.tip_from = q4_identity(), in.tip_to = (lq4){zero, zero, zero, zero}, in.pose_norm = one;
    phx_two_bone_setup limits;
    limits.twist = PHX_TWIST_INHERIT, limits.tolerance = 1e-3f, limits.direction_tolerance_squared = 1e-8f;
    limits.soft_start = setup->soft_start, limits.soft = setup->soft_start < 1.0f;
    limits.max_stretch = 1.0f, limits.stretch = 0;
    limits.limits = rig->limits, limits.short_at_min_bend = rig->short_at_min_bend, limits.open_at_max_bend = rig->open_at_max_bend;
    limits.cos_turn = -1.0f, limits.sin_turn = 0.0f, limits.turn_limit = 0;
    *out = two_bone_core(&limits, &in, PHX_TWIST_INHERIT, FULL_LEG);
    v3_store_where(l->good, &state->bend, lane, out->bend), v3_store_where(l->good, &state->target, lane, v3_add(goal->target, v3_sub(in.delta, asked)));
    f_store_where(l->good, state->residual.v + lane, out->residual);
    i_store_where(l->good, state->flags.v + lane, i_or(out->flags, goal->flags));
}

/* Local rotations, turned no farther from the last ones than a joint may turn in this frame; lanes that were held back. */
lane_inline lm slow_joint(const phx_crowd_task *task, const crowd_lanes *l, lm where, int k, lq4 last, lq4 *local) {
    lf sine = f_splat(task->step.turn_sine[k]), cosine = f_splat(task->step.turn_cosine[k]);
    if (lane_rare(!m_all(f_eq(l->dt, f_splat(task->step.dt)))) && 0.0f < task->setup->joint_speed[k])
        f_sincos_quarter(f_min(f_mul(f_mul(f_splat(task->setup->joint_speed[k]), l->dt), f_splat(0.5f)), f_splat(1.57079637050628662f)), &sine, &cosine);
    const lq4 turn = q4_mul(q4_conjugate(last), *local);
    const lm held = m_and(where, f_lt(f_abs(turn.w), cosine));
    if (!m_any(held)) return held;
    const lv3 axis = v3(turn.x, turn.y, turn.z);
    const lv3 part = v3_scale(axis, f_copysign(f_div(sine, f_sqrt(f_max(v3_dot(axis, axis), f_splat(1e-30f)))), turn.w));
    *local = q4_select(held, q4_near_unit(q4_mul(last, (lq4){part.x, part.y, part.z, cosine})), *local);
    return held;
}

typedef struct leg_locals {
    lq4 hip, knee, ankle;
} leg_locals;

/* The leg as far as its joints could turn by now: hip and knee each on its way to where it shall be, then the ankle to the attitude that the foot
 * shall have. What is told of the leg is made true again. */
lane_inline lm slow_leg(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, lm where, lf pelvis, const pelvis_move *move, lf length,
                        lq4 above_hip, lq4 ankle_world, leg_locals *locals) {
    const phx_leg_setup *rig = p->rig;
    const uint32_t lane = p->lane;
    const phx_leg_turns *turns = task->turns + (p->state - task->legs);
    const lm hip_held = slow_joint(task, l, where, 0, q4_load(&turns->hip, lane), &locals->hip);
    const lm bent = m_or(slow_joint(task, l, where, 1, q4_load(&turns->knee, lane), &locals->knee), hip_held);
    if (m_any(bent)) {
        const lv3 hip_at = v3_load(&p->hip->position, lane), knee_at = v3_load(&p->knee->position, lane), ankle_at = v3_load(&p->ankle->position, lane);
        const lq4 hip = q4_mul(above_hip, locals->hip), root = q4_normalize(q4_mul(hip, q4_conjugate(q4_load(&p->hip->rotation, lane))));
        const lq4 knee = q4_mul(q4_mul(root, q4_load(&p->joints[rig->knee_parent].rotation, lane)), locals->knee);
        const lq4 mid = q4_normalize(q4_mul(knee, q4_conjugate(q4_load(&p->knee->rotation, lane))));
        locals->ankle = q4_select(bent, local_under(q4_mul(mid, q4_load(&p->joints[rig->ankle_parent].rotation, lane)), ankle_world), locals->ankle);
        const lv3 asked = v3_sub(v3_load(&p->state->target, lane), raised(l->up, moved_hip(task, l, move, hip_at), pelvis));
        const lv3 leg = v3_add(q4_rotate(root, v3_sub(knee_at, hip_at)), q4_rotate(mid, v3_sub(ankle_at, knee_at)));
        const lf residual = v3_length(v3_sub(asked, leg));
        const lm reached = f_le(residual, f_mul(length, f_splat(1e-3f))); /* by chance perhaps, where the solve itself could not */
        const li stay = i_select(reached, i_splat(~(PHX_FLAG_OUT_OF_REACH | PHX_FLAG_TOO_CLOSE)), i_splat(~PHX_FLAG_REACHED));
        f_store_where(bent, p->state->residual.v + lane, residual);
        i_store_where(bent, p->state->flags.v + lane, i_or(i_and(i_load(p->state->flags.v + lane), stay), mark_if(reached, PHX_FLAG_REACHED)));
    }
    const lm held = m_or(slow_joint(task, l, where, 2, q4_load(&turns->ankle, lane), &locals->ankle), bent);
    i_store_where(held, p->state->flags.v + lane, i_or(i_load(p->state->flags.v + lane), i_splat(PHX_FLAG_LIMIT)));
    return held;
}

/* its new local rotations; lanes whose joints had to be slowed, where any may have to be */
lane_inline lm write_leg(const phx_crowd_task *task, const crowd_lanes *l, const leg_place *p, lf weight, lf pelvis, const pelvis_move *move,
                         const leg_goal *goal, const two_bone_out *out, int slows) {
    const phx_leg_setup *rig = p->rig;
    lm slowed = m_from_bits(0);
    const uint32_t lane = p->lane;
    const phx_joint_rows *joints = p->joints;
    phx_leg_replay *replay = task->replays ? task->replays + (p->state - task->legs) : NULL;
    const lf one = f_splat(1.0f);
    const lm moved = m_and(l->good, out->moved);
    const lq4 hip_world = q4_load(&p->hip->rotation, lane), knee_world = q4_load(&p->knee->rotation, lane);
    const lm partial = f_lt(weight, one);
    lq4 turn = goal->turn;
    if (m_any(partial)) turn = q4_select(partial, q4_fraction(turn, weight), turn);
    lq4 above_hip = rig->hip_parent == PHX_NO_JOINT ? q4_load(&task->root_rotation[l->group], lane) : q4_load(&joints[rig->hip_parent].rotation, lane);
    if (task->pelvises) above_hip = q4_select(move->leans, q4_mul(move->lean.turn, above_hip), above_hip);
    const lq4 hip_new = q4_mul(out->root_rotation, hip_world), knee_new = q4_mul(out->mid_rotation, knee_world);
    lq4 above_knee = hip_new, above_ankle = knee_new; /* nearly always: no joint between */
    if (rig->knee_parent != rig->hip) above_knee = q4_mul(out->root_rotation, q4_load(&joints[rig->knee_parent].rotation, lane));
    if (rig->ankle_parent != rig->knee) above_ankle = q4_mul(out->mid_rotation, q4_load(&joints[rig->ankle_parent].rotation, lane));
    const lq4 ankle_new = q4_mul(turn, q4_load(&p->ankle->rotation, lane));
    const lm unmoved = m_andnot(l->good, moved);
    if (replay && m_any(unmoved)) { /* nothing was corrected, nothing is to be repeated */
        const lv3 none = v3_splat(0.0f, 0.0f, 0.0f);
        v3_store_where(unmoved, &replay->hip, lane, none), v3_store_where(unmoved, &replay->knee, lane, none), v3_store_where(unmoved, &replay->ankle, lane, none);
    }
    leg_locals locals = {local_under(above_hip, hip_new), local_under(above_knee, knee_new), local_under(above_ankle, ankle_new)};
    if (slows) {
        const lm may = m_and(m_and(moved, l->remembered), goal->aloft);
        if (m_any(may)) slowed = slow_leg(task, l, p, may, pelvis, move, goal->length, above_hip, ankle_new, &locals);
        leg_locals last = locals;
        if (lane_rare(m_any(unmoved))) { /* as animated */
            last.hip = q4_select(moved, last.hip, q4_normalize(animated_of(task, l, rig->hip_joint, rig->hip)));
            last.knee = q4_select(moved, last.knee, q4_normalize(animated_of(task, l, rig->knee_joint, rig->knee)));
            last.ankle = q4_select(moved, last.ankle, q4_normalize(animated_of(task, l, rig->ankle_joint, rig->ankle)));
        }
        phx_leg_turns *turns = task->turns + (p->state - task->legs);
        q4_store_where(l->good, &turns->hip, lane, last.hip), q4_store_where(l->good, &turns->knee, lane, last.knee);
        q4_store_where(l->good, &turns->ankle, lane, last.ankle);
    }
    store_local(task, l, moved, rig->hip_joint, rig->hip, locals.hip, replay ? &replay->hip : NULL);
    store_local(task, l, moved, rig->knee_joint, rig->knee, locals.knee, replay ? &replay->knee : NULL);
    store_local(task, l, moved, rig->ankle_joint, rig->ankle, locals.ankle, replay ? &replay->ankle : NULL);
    if (rig->ball_joint != PHX_NO_JOINT && m_any(goal->toes)) {
        lq4 toe = goal->toe_turn;
        if (m_any(partial)) toe = q4_select(partial, q4_fraction(toe, weight), toe);
        const lq4 above_ball = q4_mul(turn, q4_load(&joints[rig->ball_parent].rotation, lane));
        const lq4 ball_new = q4_mul(q4_mul(toe, turn), q4_load(&joints[rig->ball].rotation, lane));
        store_local(task, l, m_and(moved, goal->toes), rig->ball_joint, rig->ball, local_under(above_ball, ball_new), NULL);
    }
    return slowed;
}

lane_inline void repeat_rotation(const phx_crowd_task *task, const crowd_lanes *l, lm where, size_t joint, size_t slot, const phx_rows3 *replay) {
    const phx_poses *poses = &task->frame->poses;
    const size_t index = poses->layout == PHX_POSE_COMPACT ? slot : joint, first = task->first + (size_t)l->group * PHX_BLOCK_LANES;
    const lv3 v = v3_load(replay, l->lane);
    const lq4 correction = {v.x, v.y, v.z, f_sqrt(f_max(f_sub(f_splat(1.0f), v3_dot(v, v)), f_splat(0.0f)))};
    const lq4 animated = load_rotation(poses, index, first, l->lane, l->s);
    const lm finite = f_lt(q4_dot(animated, animated), f_splat(1e30f));
    store_rotation(m_and(where, finite), poses, index, first, l->lane, l->s, q4_mul(correction, animated));
}

/* Characters at a lower level of detail: last frame's local corrections on this frame's animation. */
static void repeat_corrections(const phx_crowd_task *task, const crowd_lanes *l, lm legs_too, lm pelvis_too) {
    const phx_crowd_setup *setup = task->setup;
    const phx_poses *poses = &task->frame->poses;
    if (m_any(legs_too)) {
        for (uint32_t leg = 0; leg < setup->leg_count; ++leg) {
            const phx_leg_setup *rig = setup->legs + leg;
            const phx_leg_replay *replay = task->replays + l->group * setup->leg_count + leg;
            repeat_rotation(task, l, legs_too, rig->hip_joint, rig->hip, &replay->hip);
            repeat_rotation(task, l, legs_too, rig->knee_joint, rig->knee, &replay->knee);
            repeat_rotation(task, l, legs_too, rig->ankle_joint, rig->ankle, &replay->ankle);
        }
    }
    if (setup->pelvis_joint != PHX_NO_JOINT && m_any(pelvis_too)) {
        const size_t index = poses->layout == PHX_POSE_COMPACT ? setup->pelvis_slot : setup->pelvis_joint, first = task->first + (size_t)l->group * PHX_BLOCK_LANES;
        const lv3 sunk = v3_load(&task->characters[l->group].sunk, l->lane);
        store_translation(pelvis_too, poses, index, first, l->lane, l->s, v3_add(load_translation(poses, index, first, l->lane, l->s), sunk));
        if (task->pelvises) repeat_rotation(task, l, pelvis_too, setup->pelvis_joint, setup->pelvis_slot, &task->pelvises[l->group].turn);
    }
}

/* The pelvis follows what the legs need: exponentially or by a critically damped spring, both exact for any dt, at bounded speed, and up no
 * farther than `ceiling`. */
lane_inline lf follow_pelvis(const phx_crowd_task *task, const crowd_lanes *l, lf wanted, lf weight, lf ceiling, li *marks) {
    const phx_crowd_setup *setup = task->setup;
    phx_character_state *character = task->characters + l->group;
    const lf reach = f_mul(f_splat(setup->pelvis_speed), l->dt);
    lf old = f_load(character->pelvis.v + l->lane);
    /* a root that steps, as a capsule on stairs does, does not take the pelvis with it faster than it may move; a root that goes on
     * climbing or falling does, and so does one whose feet have no ground */
    const lf climb = height_of(l->up, l->travel);
    const lm fast = m_and(m_and(l->remembered, f_lt(reach, f_abs(climb))), f_lt(f_splat(0.0f), l->dt));
    const lm climbed = is_marked(task->legs + l->group * setup->leg_count, l->lane, PHX_MARK_CLIMBS);
    const lm stepped = m_and(m_andnot(fast, climbed), m_and(f_lt(f_abs(climb), f_splat(setup->max_pelvis_drop)), f_lt(f_splat(0.0f), weight)));
    *marks = i_or(*marks, mark_if(fast, PHX_MARK_CLIMBS));
    old = f_select(stepped, f_sub(old, climb), old);
    old = f_min(f_max(old, f_splat(-setup->max_pelvis_drop)), f_splat(setup->max_pelvis_rise));
    lf pelvis;
    if (setup->pelvis_spring) { /* x(t) = (x0 + (v0 + w x0) t) e^-wt, at half after the half-life: w = 1.67835 / half-life */
        const lf rate = f_splat(setup->pelvis_rate), away = f_sub(old, wanted);
        float *speeds = task->velocities[l->group].v + l->lane;
        const lf velocity = f_keep(l->remembered, f_load(speeds));
        const lf decay = f_exp2(f_mul(f_mul(rate, l->dt), f_splat(-1.44269504088896f)));
        const lf drive = f_add(velocity, f_mul(rate, away));
        const lf swung = f_add(wanted, settle(f_mul(f_add(away, f_mul(drive, l->dt)), decay)));
        pelvis = f_min(f_max(swung, f_splat(-setup->max_pelvis_drop)), f_splat(setup->max_pelvis_rise)); /* with speed left it swings past what is wanted */
        const lf next = settle(f_mul(f_sub(velocity, f_mul(f_mul(rate, drive), l->dt)), decay));
        const lf limit = f_splat(setup->pelvis_speed);
        f_store_where(l->good, speeds, f_keep(l->remembered, f_min(f_max(next, f_neg(limit)), limit)));
    } else {
        pelvis = f_add(wanted, settle(f_mul(f_sub(old, wanted), l->pelvis_keep)));
    }
    if (setup->pelvis_firm) pelvis = f_min(wanted, pelvis);
    pelvis = f_min(f_max(f_min(pelvis, f_max(ceiling, old)), f_sub(old, reach)), f_add(old, reach));
    return f_select(l->remembered, f_select(f_lt(f_splat(0.0f), l->dt), pelvis, old), wanted);
}

/* What the next tile will read, on its way into the second-level cache while this one is solved: the lines of the poses that the plan
 * touches, which no hardware prefetcher guesses, and the state. Asked for in bursts between the stages of the solve, few enough at a time
 * that the core does not wait for them. First-level prefetches and every other line lost a third on a Zen 4, and prefetching while packing
 * cost time. A Zen 5 drops what is asked into the second level, all of it for seconds on end, and so is asked into the first. Its state
 * asked for by the group that is prepared, or left to the hardware, and one loop of equal bursts, won nothing there. */
enum {
    AHEAD_LINES = 64,
    AHEAD_BURSTS = 14,      /* one a stage of two legs */
    AHEAD_WORTH = 3 << 19, /* bytes that a frame touches: below, the second level holds most of them from the last frame, and asking only costs */
};
typedef struct ahead {
    size_t until;   /* characters from this one on are not asked for */
    uint32_t burst; /* the next one */
    int near;       /* into the first level */
    uint32_t count; /* offsets within a pose that lie on all the lines touched */
    size_t offsets[AHEAD_LINES];
} ahead;

static void ahead_plan(ahead *a, const phx_crowd_task *task) {
    const phx_poses *poses = &task->frame->poses;
    const phx_walk_plan *plan = &task->setup->plan;
    const size_t first = poses->translation_offset < poses->rotation_offset ? poses->translation_offset : poses->rotation_offset;
    const size_t translation_end = poses->translation_offset + 12, rotation_end = poses->rotation_offset + 16;
    const size_t size = (translation_end > rotation_end ? translation_end : rotation_end) - first;
    a->count = 0;
    a->until = 0;
    a->near = task->setup->fetch_near;
    const size_t states = (sizeof *task->characters + task->setup->leg_count * sizeof *task->legs) / PHX_BLOCK_LANES;
    if (task->frame->count * (plan->count * size + states) > AHEAD_WORTH) a->until = task->frame->count;
    if (poses->layout == PHX_POSE_ROWS) return;
    size_t at = 0, end = 0; /* every 64 bytes of a stretch of joints, and its last one, lie on all its lines whatever the pose's alignment */
    for (uint32_t slot = 0; slot < plan->count; ++slot) {
        const size_t from = (poses->layout == PHX_POSE_COMPACT ? slot : plan->joints[slot]) * poses->joint_stride + first;
        if (slot > 0 && from > end + 64 && a->count < AHEAD_LINES) a->offsets[a->count++] = end;
        if (slot == 0 || from > end + 64) at = from;
        end = from + size - 1;
        for (; at < end && a->count < AHEAD_LINES; at += 64) a->offsets[a->count++] = at;
    }
    if (a->count < AHEAD_LINES) a->offsets[a->count++] = end;
}

static inline void ahead_line(const ahead *a, const void *line) {
    if (a->near) lane_prefetch_once(line);
    else lane_prefetch_far(line);
}
static inline void ahead_bytes(const ahead *a, const void *from, const void *to) {
    for (const char *line = from; line < (const char *)to; line += 64) ahead_line(a, line);
}

/* the next of AHEAD_BURSTS shares of what LANES characters need; out of line, as a leg's instructions hardly fit the cache */
static lane_apart void ahead_burst(ahead *a, const phx_crowd_task *task, uint32_t group, uint32_t lane) {
    const phx_poses *poses = &task->frame->poses;
    const uint32_t burst = a->burst++;
    const size_t next = task->first + PHX_TILE_CHARACTERS + group * PHX_BLOCK_LANES + lane;
    if (burst >= AHEAD_BURSTS || next >= a->until) return;
    for (size_t k = next + burst * LANES / AHEAD_BURSTS; k < next + (burst + 1) * LANES / AHEAD_BURSTS && k < a->until; ++k) {
        const char *pose = (const char *)poses->data + k * poses->character_stride;
        for (uint32_t line = 0; line < a->count; ++line) ahead_line(a, pose + a->offsets[line]);
    }
    const uint32_t legs = task->setup->leg_count, share = burst + lane / LANES * AHEAD_BURSTS, shares = AHEAD_BURSTS * PHX_BLOCK_LANES / LANES;
    if (poses->layout == PHX_POSE_ROWS) { /* seven lines a joint */
        const phx_walk_plan *plan = &task->setup->plan;
        for (uint32_t slot = plan->count * share / shares; slot < plan->count * (share + 1) / shares; ++slot) {
            const float *rows = joint_row(poses, plan->joints[slot], task->first + PHX_TILE_CHARACTERS + group * PHX_BLOCK_LANES, 0, 0);
            ahead_bytes(a, rows, rows + 7 * PHX_BLOCK_LANES);
        }
    }
    const char *states = (const char *)(task->legs + (group + PHX_TILE_GROUPS) * legs);
    const size_t size = legs * sizeof *task->legs / 64;
    ahead_bytes(a, states + size * share / shares * 64, states + size * (share + 1) / shares * 64);
    const phx_character_state *character = task->characters + group + PHX_TILE_GROUPS;
    if (share == 0) ahead_bytes(a, character, character + 1);
    if (task->turns) {
        const char *turns = (const char *)(task->turns + (group + PHX_TILE_GROUPS) * legs);
        const size_t size_turns = legs * sizeof *task->turns / 64;
        ahead_bytes(a, turns + size_turns * share / shares * 64, turns + size_turns * (share + 1) / shares * 64);
    }
    if (task->stills) { /* what still characters are told by, and repeat */
        const size_t at = (group + PHX_TILE_GROUPS) * legs, size_still = legs * sizeof *task->still_legs / 64, size_replay = legs * sizeof *task->replays / 64;
        const char *stills = (const char *)(task->still_legs + at), *replays = (const char *)(task->replays + at);
        ahead_bytes(a, stills + size_still * share / shares * 64, stills + size_still * (share + 1) / shares * 64);
        ahead_bytes(a, replays + size_replay * share / shares * 64, replays + size_replay * (share + 1) / shares * 64);
    }
}

lane_inline void ahead_fetch(ahead *a, const phx_crowd_task *task, uint32_t group, uint32_t lane) {
    if (a->until) ahead_burst(a, task, group, lane);
}

/* Lanes whose last corrections may be repeated: everything that they were solved with is where it was, within the tolerance. */
lane_cold lm find_still(const phx_crowd_task *task, const crowd_lanes *l, lf weight) {
    const phx_crowd_setup *setup = task->setup;
    const uint32_t legs = setup->leg_count, lane = l->lane;
    const lup up = l->up;
    const phx_character_still *still = task->stills + l->group;
    const lf tolerance = f_splat(setup->still), squared = f_splat(setup->still * setup->still), one = f_splat(1.0f), zero = f_splat(0.0f);
    lm rests = m_and(m_and(l->good, l->remembered), m_and(f_lt(f_splat(0.5f), f_load(still->settled.v + lane)), f_eq(f_load(still->weight.v + lane), weight)));
    rests = m_and(rests, m_and(f_le(f_load(task->characters[l->group].skipped.v + lane), zero), f_le(v3_dot(l->travel, l->travel), squared)));
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const uint32_t index = l->group * legs + leg;
        const phx_leg_setup *rig = setup->legs + leg;
        const phx_joint_rows *joints = task->joints + l->group * setup->plan.count;
        const phx_leg_still *last = task->still_legs + index;
        const phx_leg_state *state = task->legs + index;
        const phx_foot_rows *foot = task->feet + index;
        if (!m_any(rests)) return rests;
        if (task->frame->support.data) {
            const phx_view view = phx_view_of((char *)task->frame->support.data + leg * sizeof(float), task->frame->support.stride);
            rests = m_and(rests, f_le(one, pack1(view, l->s.first, l->s.count)));
        }
        lv3 last_heel = v3_load(&last->heel, lane), last_ball = v3_load(&state->ball, lane);
        const phx_ray_block *rays = task->rays + index * 2;
        const ray_hit heel_hit = read_hit(task, rays, lane, l->root, up), ball_hit = read_hit(task, rays + 1, lane, l->root, up);
        const ground_plane plane = plane_under(task, rays, lane, up, m_from_bits(0), f_load(foot->length.v + lane), &heel_hit, &ball_hit);
        const lm unasked = f_lt(f_load(rays->tfar + lane), zero);
        if (task->frame->bodies) {
            const li index_before = i_load(state->body.v + lane);
            const carrier body = load_carrier(task->frame, index_before, l->root);
            rests = m_and(rests, m_and(body.there, m_and(i_eq(body.generation, i_load(state->generation.v + lane)), i_eq(plane.body, index_before))));
            last_heel = onto(&body, last_heel), last_ball = onto(&body, last_ball);
        } else {
            last_heel = v3_sub(last_heel, l->travel), last_ball = v3_sub(last_ball, l->travel);
        }
        const lv3 hip = v3_sub(v3_load(&joints[rig->hip].position, lane), v3_load(&last->hip, lane));
        const lv3 knee = v3_sub(v3_load(&joints[rig->knee].position, lane), v3_load(&last->knee, lane));
        const lv3 heel = v3_sub(v3_load(&foot->heel, lane), last_heel), ball = v3_sub(v3_load(&foot->ball, lane), last_ball);
        rests = m_and(rests, m_and(f_le(v3_dot(hip, hip), squared), f_le(v3_dot(knee, knee), squared)));
        rests = m_and(rests, m_and(f_le(v3_dot(heel, heel), squared), f_le(v3_dot(ball, ball), squared)));
        const lv3 normal = v3_load(&state->normal, lane), at = level(up, v3_load(&joints[rig->ankle].position, lane));
        const lv3 turned = v3_scale(v3_sub(plane.normal, normal), f_load(foot->length.v + lane));
        const lf before = height_over(v3_sub(v3_load(&state->point, lane), l->travel), normal, f_div(one, f_select(rests, height_of(up, normal), one)), at);
        const lf now = height_over(plane.point, plane.normal, f_div(one, f_select(plane.seen, height_of(up, plane.normal), one)), at);
        const lm same = m_and(plane.seen, m_and(f_le(f_abs(f_sub(now, before)), tolerance), f_le(v3_dot(turned, turned), squared)));
        rests = m_and(rests, m_or(unasked, same));
    }
    return rests;
}

/* what the next frame will be compared with */
lane_cold void keep_still(const phx_crowd_task *task, const crowd_lanes *l, lf weight, lm rests) {
    const uint32_t legs = task->setup->leg_count, lane = l->lane;
    const phx_joint_rows *joints = task->joints + l->group * task->setup->plan.count;
    f_store_where(l->good, task->stills[l->group].settled.v + lane, f_keep(rests, f_splat(1.0f)));
    f_store_where(l->good, task->stills[l->group].weight.v + lane, weight);
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const uint32_t index = l->group * legs + leg;
        const phx_leg_setup *rig = task->setup->legs + leg;
        phx_leg_still *still = task->still_legs + index;
        lv3 heel = v3_load(&task->feet[index].heel, lane);
        if (task->frame->bodies) {
            const carrier body = load_carrier(task->frame, i_load(task->legs[index].body.v + lane), l->root);
            heel = into(&body, heel);
        }
        v3_store_where(l->good, &still->hip, lane, v3_load(&joints[rig->hip].position, lane));
        v3_store_where(l->good, &still->knee, lane, v3_load(&joints[rig->knee].position, lane)), v3_store_where(l->good, &still->heel, lane, heel);
    }
}

/* A leg's rows before and after: the stages store all lanes, and those that are not solved get their rows back. */
typedef struct leg_rows {
    float rows[sizeof(phx_leg_state) / sizeof(phx_rows1)][LANES];
} leg_rows;
lane_cold void keep_rows(const phx_crowd_task *task, const crowd_lanes *l, uint32_t leg, leg_rows *kept) {
    const float *rows = (const float *)(task->legs + l->group * task->setup->leg_count + leg) + l->lane;
    for (size_t k = 0; k < sizeof kept->rows / sizeof *kept->rows; ++k) memcpy(kept->rows[k], rows + k * PHX_BLOCK_LANES, sizeof *kept->rows);
}
lane_cold void put_back_rows(const phx_crowd_task *task, const crowd_lanes *l, uint32_t leg, const leg_rows *kept) {
    float *rows = (float *)(task->legs + l->group * task->setup->leg_count + leg) + l->lane;
    for (uint32_t lane = 0; lane < LANES; ++lane)
        for (size_t k = 0; !(m_bits(l->good) >> lane & 1) && k < sizeof kept->rows / sizeof *kept->rows; ++k)
            memcpy(rows + k * PHX_BLOCK_LANES + lane, &kept->rows[k][lane], sizeof(float));
}

/* Crowds whose joints may turn only so fast (`slows`) have a copy of their own: a branch and what it needs took the others 2 to 3 % at 4 and 8 lanes. */
lane_inline void solve_about(const phx_crowd_task *task, phx_up axis, int slows) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lup up = up_of(setup, axis);
    leg_carried carried = {{v3_splat(0.0f, 0.0f, 0.0f), q4_identity(), i_splat(0), m_from_bits(0)}, v3_splat(0.0f, 0.0f, 0.0f)};
    ahead next;
    ahead_plan(&next, task);
    for (uint32_t start = 0, group = 0; start < task->count; start += PHX_BLOCK_LANES, ++group) {
        const uint32_t in_group = task->count - start < PHX_BLOCK_LANES ? task->count - start : PHX_BLOCK_LANES;
        const phx_joint_rows *joints = task->joints + group * setup->plan.count;
        phx_character_state *character = task->characters + group;
        for (uint32_t lane = 0; lane < in_group; lane += LANES) {
            const uint32_t left = in_group - lane;
            const lm active = m_from_bits(left >= LANES ? 0xFFFFFFFFu : (1u << left) - 1);
            const lf mark = f_load(task->good[group].v + lane);
            crowd_lanes l;
            l.group = group, l.lane = lane, l.up = up, l.s = lanes_of(task->first + start, in_group, lane);
            l.good = m_and(active, f_lt(f_splat(0.5f), mark)), l.remembered = m_and(active, f_lt(f_splat(1.5f), mark));
            lf weight = one;
            lm known = active; /* lanes whose weight is a number */
            if (frame->weight.data) {
                weight = pack1(frame->weight, l.s.first, l.s.count);
                known = m_and(active, f_eq(weight, weight)), weight = f_min(f_max(weight, zero), one);
                l.good = m_and(l.good, known), l.remembered = m_and(l.remembered, known);
            }
            lm idle = m_and(known, f_lt(mark, f_splat(-0.5f))); /* at a lower level of detail or off */
            lm keeps = l.good; /* lanes that will remember this frame */
            if (lane_rare(frame->flags.data != NULL)) {
                const li flags = i_bits_of(pack1(frame->flags, l.s.first, l.s.count));
                const li lod = i_and(i_shr(flags, PHX_CHARACTER_LOD_SHIFT), i_splat(3));
                const lm off = m_andnot(active, i_eq(i_and(flags, i_splat(PHX_CHARACTER_OFF)), i_splat(0))), on = m_andnot(known, off);
                idle = m_or(idle, m_or(off, m_and(active, i_eq(lod, i_splat(PHX_LOD_OFF)))));
                const lm repeats = m_and(on, i_eq(lod, i_splat(PHX_LOD_REPLAY))), sinks = m_and(on, i_eq(lod, i_splat(PHX_LOD_PELVIS)));
                const lm stays = i_eq(i_and(flags, i_splat(PHX_CHARACTER_TELEPORT)), i_splat(0)); /* or what it did belongs elsewhere */
                const lm waits = m_and(m_and(m_or(repeats, sinks), stays), is_marked(task->legs + group * legs, lane, PHX_MARK_VALID));
                if (setup->replay && m_any(waits)) {
                    const lm shown = m_and(waits, f_lt(zero, weight));
                    repeat_corrections(task, &l, m_and(shown, repeats), shown);
                    f_store_where(waits, character->skipped.v + lane, f_add(f_load(character->skipped.v + lane), f_splat(task->step.dt)));
                    keeps = m_or(keeps, waits);
                }
            }
            const lm left_alone = m_andnot(active, keeps);
            if (lane_rare(m_any(left_alone))) {
                const li why = i_select(idle, i_splat(PHX_FLAG_INACTIVE), i_splat(PHX_FLAG_BAD_INPUT));
                for (uint32_t leg = 0; leg < legs; ++leg) i_store_where(left_alone, task->legs[group * legs + leg].flags.v + lane, why);
            }
            if (!m_any(l.good)) continue;
            l.root = v3_load(&task->root_position[group], lane);
            l.travel = v3_sub(l.root, v3_load(&character->root, lane));
            lane_times(task, &l);
            if (task->stills) {
                const lm still = find_still(task, &l, weight);
                if (m_any(still)) {
                    const lm shown = m_and(still, f_lt(zero, weight));
                    repeat_corrections(task, &l, shown, shown);
                    f_store_where(still, task->stills[group].settled.v + lane, f_splat(2.0f));
                    l.good = m_andnot(l.good, still), l.remembered = m_andnot(l.remembered, still);
                    next.burst = 0;
                    if (!m_any(l.good)) {
                        while (next.burst < AHEAD_BURSTS && next.until) ahead_fetch(&next, task, group, lane);
                        continue;
                    }
                }
            }

            leg_goal goals[PHX_MAX_LEGS];
            lm rests = l.good; /* characters that need not be solved again while nothing moves */
            lf drop = zero, rise = f_splat(setup->max_pelvis_rise), ceiling = f_splat(1e30f), needed = f_splat(-1e30f), standing = zero, held = zero;
            next.burst = 0;
            const int all = m_all(l.good);
            for (uint32_t leg = 0; leg < legs; ++leg) {
                leg_rows kept;
                if (lane_rare(!all)) keep_rows(task, &l, leg, &kept);
                const leg_place place = place_of(task, &l, leg);
                leg_work work;
                work.carried = &carried;
                see_ground(task, &l, &place, &work, &goals[leg]), ahead_fetch(&next, task, group, lane);
                choose_ground(task, &l, &place, &work), ahead_fetch(&next, task, group, lane);
                judge_contact(task, &l, &place, &work), ahead_fetch(&next, task, group, lane);
                turn_foot(task, &l, &place, &work), ahead_fetch(&next, task, group, lane);
                place_foot(task, &l, &place, &work, &goals[leg], slows), ahead_fetch(&next, task, group, lane);
                if (lane_rare(!all)) put_back_rows(task, &l, leg, &kept);
                standing = f_max(goals[leg].support, standing), held = f_max(goals[leg].weight, held);
                if (task->stills) rests = m_and(rests, goals[leg].rests);
            }
            pelvis_move move;
            if (task->pelvises) move_pelvis(task, &l, goals, weight, &move, &rests);
            for (uint32_t leg = 0; leg < legs; ++leg) {
                lf leg_drop, leg_rise, bound;
                const lm stands = has_mark(goals[leg].flags, PHX_MARK_STANDS);
                pelvis_demand(task, &l, leg, &move, &goals[leg], stands, slows, &leg_drop, &leg_rise, &bound);
                drop = f_min(leg_drop, drop), rise = f_min(leg_rise, rise);
                /* rising, the pelvis spares the legs that stand, but first those that it draws up from behind */
                ceiling = f_select(stands, f_min(bound, ceiling), ceiling), needed = f_select(stands, needed, f_max(bound, needed));
            }
            /* what every standing leg grants; legs that stand less grant more, which the best one takes back */
            rise = f_mul(f_max(f_sub(rise, f_mul(f_sub(one, standing), f_splat(setup->max_pelvis_rise))), zero), standing);
            lf pelvis = zero;
            if (setup->pelvis_joint != PHX_NO_JOINT) {
                const lf wanted = f_select(f_lt(drop, zero), f_max(drop, f_splat(-setup->max_pelvis_drop)), rise);
                pelvis = follow_pelvis(task, &l, wanted, held, f_max(needed, ceiling), &goals[0].flags);
                if (task->stills) {
                    const lf still = f_splat(setup->still);
                    rests = m_and(rests, f_le(f_abs(f_sub(pelvis, wanted)), still));
                    if (task->velocities) rests = m_and(rests, f_le(f_mul(f_abs(f_load(task->velocities[group].v + lane)), f_splat(setup->pelvis_half_life)), still));
                }
            }
            const lf applied = f_mul(pelvis, weight);

            for (uint32_t leg = 0; leg < legs; ++leg) {
                const leg_place place = place_of(task, &l, leg);
                two_bone_out bones;
                bend_leg(task, &l, &place, weight, applied, &move, &goals[leg], &bones), ahead_fetch(&next, task, group, lane);
                const lm slowed = write_leg(task, &l, &place, weight, applied, &move, &goals[leg], &bones, slows);
                if (slows) rests = m_andnot(rests, slowed);
                ahead_fetch(&next, task, group, lane);
            }

            if (setup->pelvis_joint != PHX_NO_JOINT) {
                const size_t index = frame->poses.layout == PHX_POSE_COMPACT ? setup->pelvis_slot : setup->pelvis_joint;
                const uint32_t parent = setup->pelvis_parent;
                const lq4 above = parent == PHX_NO_JOINT ? q4_load(&task->root_rotation[group], lane) : q4_load(&joints[parent].rotation, lane);
                lv3 by = v3_scale(up.v, applied);
                lf far = f_abs(applied);
                if (task->pelvises) by = v3_add(by, move.shift), far = v3_dot(by, by);
                lv3 local = q4_rotate(q4_conjugate(above), by);
                if (task->scales && parent != PHX_NO_JOINT) {
                    const lv3 scale = v3_load(&task->scales[group * setup->plan.count + parent], lane);
                    local = v3(f_div(local.x, scale.x), f_div(local.y, scale.y), f_div(local.z, scale.z));
                }
                const lm sunk = m_and(l.good, f_lt(zero, far));
                if (m_any(sunk)) {
                    const lv3 translation = load_translation(&frame->poses, index, task->first + start, lane, l.s);
                    store_translation(sunk, &frame->poses, index, task->first + start, lane, l.s, v3_add(translation, local));
                }
                if (setup->replay) v3_store_where(l.good, &character->sunk, lane, local);
                if (task->pelvises) lean_pelvis(task, &l, &move, above);
            }
            if (task->stills) keep_still(task, &l, weight, rests);
            f_store_where(l.good, character->pelvis.v + lane, pelvis);
            f_store_where(l.good, character->skipped.v + lane, zero);
            v3_store_where(l.good, &character->root, lane, l.root);
        }
    }
}

static lane_apart void solve_about_y(const phx_crowd_task *task) { solve_about(task, PHX_UP_Y, 0); }
static lane_apart void solve_about_z(const phx_crowd_task *task) { solve_about(task, PHX_UP_Z, 0); }
static lane_apart void solve_about_any(const phx_crowd_task *task) { solve_about(task, PHX_UP_ANY, 0); }
static lane_apart void solve_slow_about_y(const phx_crowd_task *task) { solve_about(task, PHX_UP_Y, 1); }
static lane_apart void solve_slow_about_z(const phx_crowd_task *task) { solve_about(task, PHX_UP_Z, 1); }
static lane_apart void solve_slow_about_any(const phx_crowd_task *task) { solve_about(task, PHX_UP_ANY, 1); }
static void crowd_solve(const phx_crowd_task *task) {
    const int slows = task->turns != NULL;
    if (task->setup->up_axis == PHX_UP_Y) slows ? solve_slow_about_y(task) : solve_about_y(task);
    else if (task->setup->up_axis == PHX_UP_Z) slows ? solve_slow_about_z(task) : solve_about_z(task);
    else slows ? solve_slow_about_any(task) : solve_about_any(task);
}
