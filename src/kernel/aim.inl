/* Aim over lanes. Included by kernel/table.inl once for each width; the method is described in phalanx/aim.h, the scalar twin is
 * reference/aim.c. */

/* `a` less its part along the unit vector n, or a fixed direction where too little remains; unit */
static inline lv3 aim_across(lv3 a, lv3 n) {
    const lv3 rest = v3_reject(a, n);
    return v3_unit(v3_select(f_lt(f_splat(1e-4f), v3_dot(rest, rest)), rest, v3_reject(spare_direction(n), n)));
}

/* the last joint's ray: from the eye along the forward axis */
typedef struct aim_sight {
    lv3 eye, forward, up;
} aim_sight;
static inline aim_sight aim_look(const phx_aim_setup *setup, lv3 at, lq4 frame) {
    return (aim_sight){v3_add(at, q4_rotate(frame, v3_splat3(setup->eye))), q4_rotate(frame, v3_splat3(setup->forward)),
                       q4_rotate(frame, v3_splat3(setup->up))};
}

/* The turn about `pivot` that brings the ray through the target; *close gets the lanes where no point of the ray can come there. Further
 * turns about *axis keep the ray there. */
static inline lq4 aim_turn(const aim_sight *s, lv3 pivot, lv3 target, lm *close, lv3 *axis) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), least = f_splat(1e-18f);
    const lv3 offset = v3_sub(s->eye, pivot), goal = v3_sub(target, pivot);
    const lf squared = v3_dot(goal, goal), along = v3_dot(offset, s->forward);
    const lf inside = f_add(f_sub(f_mul(along, along), v3_dot(offset, offset)), squared);
    const lf ahead = f_sub(f_sqrt(f_max(inside, zero)), along);
    *close = m_not(m_and(f_lt(zero, inside), f_lt(zero, ahead)));
    const lv3 from = v3_select(*close, s->forward, v3_add(offset, v3_scale(s->forward, ahead)));
    lv3 to = v3_select(*close, v3_sub(target, s->eye), goal);
    const lf from_squared = v3_dot(from, from), to_squared = v3_dot(to, to);
    const lm none = m_or(f_le(from_squared, least), f_le(to_squared, least));
    to = v3_scale(to, f_div(one, f_sqrt(f_some(to_squared))));
    const lq4 turn = q4_between(v3_scale(from, f_div(one, f_sqrt(f_some(from_squared)))), to, one, aim_across(s->up, to));
    *axis = v3_select(none, s->forward, to);
    *close = m_or(*close, none);
    return q4_select(none, q4_identity(), turn);
}

/* out of the cone about `start`? By chords: the cosines of small angles are all 1 */
static inline lm aim_beyond(const phx_aim_setup *setup, lv3 forward, lv3 start) {
    const lv3 chord = v3_sub(forward, start);
    return f_lt(f_splat(setup->cap_chord_squared), v3_dot(chord, chord));
}

/* the direction on the edge of the cone about `start` that is nearest to `forward`; opposite to it any */
static inline lv3 aim_edge(const phx_aim_setup *setup, lv3 forward, lv3 start) {
    const lv3 chord = v3_sub(forward, start), rest = v3_reject(chord, start);
    const lm aside = f_lt(f_mul(v3_dot(chord, chord), f_splat(2.5e-5f)), v3_dot(rest, rest));
    const lv3 side = v3_unit(v3_select(aside, rest, v3_reject(spare_direction(start), start)));
    return v3_add(v3_scale(start, f_splat(setup->cap_cos)), v3_scale(side, f_splat(setup->cap_sin)));
}

/* The turn about `axis` that takes `forward`, which another turn about it took out of the cone about `start`, back to the nearer end of
 * the arc within; *beyond gets the lanes that need it. On the arc forward . start = (forward . axis) (start . axis) + room cos(angle), by the
 * angle between the two as seen along the axis; where there is no room no turn changes it. */
static inline lq4 aim_roll_back(const phx_aim_setup *setup, lv3 forward, lv3 start, lv3 axis, lm *beyond) {
    const lf one = f_splat(1.0f), low = f_splat(-1.0f);
    const lv3 now = v3_reject(forward, axis), middle = v3_reject(start, axis);
    const lf room = f_sqrt(f_mul(v3_dot(now, now), v3_dot(middle, middle)));
    const lf least = f_sub(f_splat(setup->cap_cos), f_mul(v3_dot(forward, axis), v3_dot(start, axis)));
    *beyond = m_and(f_lt(v3_dot(now, middle), least), f_lt(f_splat(1e-6f), room));
    const lf cosine = f_max(f_min(f_div(least, f_max(room, f_splat(1e-6f))), one), low);
    const lf sine = f_sqrt(f_mul(f_sub(one, cosine), f_add(one, cosine)));
    const lv3 ahead = v3_unit(middle), aside = v3_cross(axis, ahead), from = v3_unit(now);
    const lv3 to = v3_add(v3_scale(ahead, cosine), v3_scale(aside, f_copysign(sine, v3_dot(aside, now))));
    return q4_turn(axis, v3_dot(from, to), v3_dot(v3_cross(from, to), axis), one);
}

static inline void aim_group(const phx_aim_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const uint32_t joints = blocks->joints, last = joints - 1;
    phx_rows3 *position = blocks->position + block * joints;
    const phx_rows4 *rotation = blocks->rotation + block * joints;
    const lv3 root = v3_load(position, lane), target = v3_sub(v3_load(blocks->target + block, lane), root);
    const lf weight = blocks->weight ? f_load(blocks->weight[block].v + lane) : one;
    const lq4 parent_given = blocks->parent_rotation ? q4_load(blocks->parent_rotation + block, lane) : q4_identity();
    lv3 pole = v3(zero, zero, zero);
    lm unusable = m_from_bits(0);
    if (blocks->pole) unusable = take_pole(v3_load(blocks->pole + block, lane), &pole);
    lv3 at[PHX_CHAIN_MAX_JOINTS];
    lq4 frame[PHX_CHAIN_MAX_JOINTS];
    lf spread = v3_dot(target, target);
    lm ok = m_and(f_eq(weight, weight), is_rotation(parent_given));
    for (uint32_t j = 0; j < joints; ++j) {
        const lq4 given = q4_load(rotation + j, lane);
        at[j] = v3_sub(v3_load(position + j, lane), root);
        spread = f_add(spread, v3_dot(at[j], at[j]));
        ok = m_and(ok, is_rotation(given));
        frame[j] = q4_normalize(given);
    }
    ok = m_and(ok, f_lt(spread, f_splat(1e18f)));
    const lf bad_residual = f_min(v3_length(v3_sub(target, at[last])), f_splat(3.402823466e+38f));
    const lq4 parent = q4_normalize(parent_given);
    const lv3 start = q4_rotate(frame[last], v3_splat3(setup->forward));
    const lf pole_squared = v3_dot(pole, pole);
    const lm hinted = m_or(unusable, f_lt(zero, pole_squared));
    li flags = i_splat(0);
    lm close = m_from_bits(0);
    for (uint32_t j = 0; j < joints; ++j) {
        const aim_sight s = aim_look(setup, at[last], frame[last]);
        lv3 axis;
        lq4 turn = aim_turn(&s, at[j], target, &close, &axis);
        lv3 forward = q4_rotate(turn, s.forward);
        if (setup->capped) {
            const lm beyond = aim_beyond(setup, forward, start);
            if (m_any(beyond)) {
                const lv3 edge = aim_edge(setup, forward, start);
                forward = v3_select(beyond, edge, forward), axis = v3_select(beyond, edge, axis);
                turn = q4_select(beyond, q4_between(s.forward, edge, one, aim_across(s.up, edge)), turn);
                flags = i_select(beyond, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);
            }
        }
        if (blocks->pole) {
            const lv3 up = v3_reject(q4_rotate(turn, s.up), axis), wanted = v3_reject(pole, axis);
            const lm usable = f_lt(f_mul(pole_squared, f_splat(setup->chain.direction_tolerance_squared)), v3_dot(wanted, wanted));
            const lv3 to = v3_unit(wanted);
            const lq4 roll = q4_turn(axis, v3_dot(up, to), v3_dot(v3_cross(up, to), axis), v3_length(up));
            turn = q4_select(usable, q4_mul(roll, turn), turn);
            if (setup->capped) {
                lm beyond;
                const lq4 back = aim_roll_back(setup, q4_rotate(turn, s.forward), start, axis, &beyond);
                beyond = m_and(beyond, usable);
                turn = q4_select(beyond, q4_mul(back, turn), turn);
                flags = i_select(beyond, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);
            }
            if (j == last) flags = i_select(m_andnot(hinted, usable), i_or(flags, i_splat(PHX_FLAG_HINT_UNUSABLE)), flags);
        }
        if (setup->share[j] < 1.0f) turn = q4_fraction(turn, f_splat(setup->share[j]));
        if (setup->capped && setup->share[j] > 0.0f) { /* a share of a turn within the cone may lead out of it */
            forward = q4_rotate(turn, s.forward);
            const lm beyond = aim_beyond(setup, forward, start);
            if (m_any(beyond)) {
                const lv3 edge = aim_edge(setup, forward, start);
                const lq4 back = q4_between(forward, edge, one, aim_across(q4_rotate(turn, s.up), edge));
                turn = q4_select(beyond, q4_mul(back, turn), turn);
                flags = i_select(beyond, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);
            }
        }
        if (setup->chain.limited) {
            lm changed;
            const lq4 above = j ? frame[j - 1] : parent;
            const lq4 local = q4_normalize(q4_mul(q4_conjugate(above), q4_mul(turn, frame[j])));
            const lq4 limited = limit_local(setup->chain.limits + j, local, &changed);
            turn = q4_select(changed, q4_mul(q4_mul(above, limited), q4_conjugate(frame[j])), turn);
            flags = i_select(changed, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);
        }
        for (uint32_t k = j; k < joints; ++k) {
            frame[k] = q4_normalize(q4_mul(turn, frame[k]));
            if (k > j) at[k] = v3_add(at[j], q4_rotate(turn, v3_sub(at[k], at[j])));
        }
    }
    const lm moved = m_and(ok, f_lt(zero, weight)), partial = f_lt(weight, one);
    const int some_partial = m_any(m_and(moved, partial));
    const lf share = f_max(weight, zero);
    lv3 joint = v3(zero, zero, zero), head = joint;
    lq4 head_frame = q4_identity();
    for (uint32_t j = 0; j < joints; ++j) {
        const lq4 animated = q4_normalize(q4_load(rotation + j, lane));
        const lv3 before = v3_load(position + j, lane);
        const lv3 bone = j < last ? v3_sub(v3_load(position + j + 1, lane), before) : joint;
        lq4 correction = q4_normalize(q4_mul(frame[j], q4_conjugate(animated)));
        if (some_partial) correction = q4_select(partial, q4_fraction(correction, share), correction);
        if (blocks->correction) q4_store(blocks->correction + block * joints + j, lane, q4_select(moved, correction, q4_identity()));
        if (j == last) {
            head = v3_select(moved, joint, v3_sub(before, root));
            head_frame = q4_select(moved, q4_mul(correction, animated), animated);
        }
        at[j] = v3_select(m_and(moved, m_from_bits(j ? 0xFFFFu : 0u)), v3_add(root, joint), before);
        if (j < last) joint = v3_add(joint, q4_rotate(correction, bone));
    }
    for (uint32_t j = 1; j < joints; ++j) v3_store(position + j, lane, at[j]);

    const aim_sight s = aim_look(setup, head, head_frame);
    const lv3 way = v3_sub(target, s.eye);
    const lf ahead = v3_dot(way, s.forward), distance = v3_length(way);
    const lf residual = f_select(f_lt(zero, ahead), v3_length(v3_reject(way, s.forward)), distance);
    const lm on_eye = f_le(v3_dot(way, way), f_splat(1e-18f)); /* no direction, and squares that vanish */
    const lm reached = m_andnot(f_le(residual, f_mul(distance, f_splat(setup->chain.tolerance))), on_eye);
    const li blame = i_select(m_or(close, on_eye), i_splat(PHX_FLAG_TOO_CLOSE), i_splat(PHX_FLAG_STALLED));
    if (!m_all(moved)) flags = i_select(moved, flags, flags_unmoved(flags));
    flags = i_or(flags, i_select(reached, i_splat(PHX_FLAG_REACHED), blame));
    if (blocks->residual) f_store(blocks->residual[block].v + lane, f_select(ok, residual, bad_residual));
    if (blocks->iterations) i_store(blocks->iterations[block].v + lane, i_select(moved, i_splat(1), i_splat(0)));
    if (blocks->flags) i_store(blocks->flags[block].v + lane, i_select(ok, flags, i_splat(PHX_FLAG_BAD_INPUT)));
}

static void aim_chains(const void *setup, const phx_chain_blocks *blocks, size_t chains) {
    for (size_t k = 0; k < chains; k += LANES) aim_group(setup, blocks, k / PHX_BLOCK_LANES, (uint32_t)(k % PHX_BLOCK_LANES));
}

static void aim_job(const phx_aim_setup *setup, const phx_chain_job *job, size_t first, size_t count) {
    chain_job_run(setup, job, first, count, aim_chains);
}
