/* Two-bone kernel over lanes. Included by kernel/table.inl once for each width; the method is described in
 * phalanx/two_bone.h, the scalar twin is reference/two_bone.c. Rare cases (degenerate axis, unusable pole, bone without
 * length) stand behind a branch on "does any lane need it"; the branch never changes bits, only time. */

typedef struct two_bone_in {
    lv3 thigh, shin;   /* mid - root, tip - mid, as animated */
    lv3 delta;         /* target - root */
    lv3 pole, previous;
    lv3 rest_bend;     /* full only */
    lf weight, pole_weight;
    lq4 tip_from, tip_to;
    lf pose_norm;      /* full only: squared norm of the product of the animated rotations, 1 where none are given */
} two_bone_in;

typedef struct two_bone_out {
    lq4 root_rotation, mid_rotation, tip_rotation;
    lv3 bend;          /* unit, in the plane at right angles to the axis */
    lv3 upper, lower;  /* mid - root, tip - mid, as solved */
    lf residual, stretch;
    li flags;
    lm ok;    /* the input was usable */
    lm moved; /* and the weight is not 0: where false, the animated pose stands to the bit */
} two_bone_out;

/* squared norm of a quaternion that can be normalised without loss; false on NaN */
lane_inline lm near_unit(lf squared) { return m_and(f_lt(f_splat(0.25f), squared), f_lt(squared, f_splat(4.0f))); }

/* X if |axis.x| <= |axis.y|, else Y: never near the axis */
lane_inline lv3 spare_direction(lv3 axis) {
    const lm use_x = f_le(f_abs(axis.x), f_abs(axis.y));
    return v3(f_keep(use_x, f_splat(1.0f)), f_select(use_x, f_splat(0.0f), f_splat(1.0f)), f_splat(0.0f));
}

/* Flags of what was left as animated: what was done to the answer was not done to it. */
lane_inline li flags_unmoved(li flags) { return i_and(flags, i_splat(~(PHX_FLAG_LIMIT | PHX_FLAG_SOFTENED | PHX_FLAG_STRETCHED))); }

/* 2^k for a in [2^k, 2^(k+1)) */
lane_inline lf power_of_two_of(lf a) { return i_as_f(i_and(i_bits_of(a), i_splat(0x7F800000))); }

/* Exactly scaled to a length in [1, 2), so that products of it neither overflow nor vanish; zero where it is not between 1e-12 and 1e18
 * long. Returns the lanes where it is neither that nor was zero. */
lane_inline lm take_pole(lv3 given, lv3 *pole) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), squared = v3_dot(given, given);
    const lm usable = m_and(f_lt(f_splat(1e-24f), squared), f_lt(squared, f_splat(1e36f)));
    const lf inverse = f_div(one, power_of_two_of(f_sqrt(f_select(usable, squared, one))));
    *pole = v3_select(usable, v3_scale(given, inverse), v3(zero, zero, zero));
    return m_not(m_or(usable, f_eq(squared, zero)));
}

/* e^(gap / room), the share of its room that a soft reach leaves, for a gap <= 0: bounded, so that no lane overflows. */
lane_inline lf eased_share(lf gap, lf room) {
    const lf share = f_div(f_min(gap, f_splat(0.0f)), f_max(room, f_splat(1e-19f)));
    return f_exp2(f_mul(share, f_splat(1.44269504088896f)));
}

/* Replaces *chosen by `hint` less its part along the axis, in lanes of `wanted` where enough remains; returns those lanes. */
lane_inline lm take_hint(lm wanted, lv3 hint, lv3 axis, lf tolerance_squared, lv3 *chosen) {
    const lv3 rest = v3_reject(hint, axis);
    const lm usable = m_and(wanted, f_lt(f_mul(v3_dot(hint, hint), tolerance_squared), v3_dot(rest, rest)));
    *chosen = v3_select(usable, rest, *chosen);
    return usable;
}

/* The next usable hint after the pole, for lanes of `wanted`: previous bend, pose plane, rest bend, spare direction. */
lane_cold lv3 fallback_hint(lm wanted, lv3 chosen, lv3 previous, lv3 rest_bend, lv3 axis, lv3 chord, lv3 pose_normal, lm pose_usable,
                            lf tolerance_squared) {
    lm open = wanted;
    open = m_andnot(open, take_hint(open, previous, axis, tolerance_squared, &chosen));
    open = m_andnot(open, take_hint(m_and(open, pose_usable), v3_cross(pose_normal, chord), axis, tolerance_squared, &chosen));
    open = m_andnot(open, take_hint(open, rest_bend, axis, tolerance_squared, &chosen));
    return v3_select(open, v3_reject(spare_direction(axis), axis), chosen);
}

/* Unit, and once more freed from the axis: a short remainder of a long hint is mostly rounding. */
lane_inline lv3 unit_bend(lv3 bend, lv3 axis) {
    return v3_reject(v3_scale(bend, f_div(f_splat(1.0f), f_some(v3_length(bend)))), axis);
}

/* Targets on the root: the axis is the animated one, or X where that is nothing either. */
lane_cold lv3 axis_on_root(lm on_root, lv3 axis, lv3 chord, lf epsilon) {
    const lf length = v3_length(chord);
    const lv3 along_chord = v3_scale(chord, f_div(f_splat(1.0f), f_max(length, f_splat(1e-30f))));
    return v3_select(on_root, v3_select(f_lt(epsilon, length), along_chord, v3_splat(1.0f, 0.0f, 0.0f)), axis);
}

/* The hinge of a straight or folded limb: what rest bend, or the spare direction, implies. */
lane_cold lv3 implied_normal(lm pose_usable, lv3 normal, lv3 thigh, lv3 rest_bend, lf tolerance_squared) {
    lv3 hint = v3_reject(spare_direction(thigh), thigh);
    take_hint(m_not(pose_usable), rest_bend, thigh, tolerance_squared, &hint);
    return v3_select(pose_usable, normal, v3_cross(thigh, unit_bend(hint, thigh)));
}

/* That hinge is not exactly at right angles to the shin: the last bit of the way. */
lane_cold lq4 led_to_shin(lm pose_usable, lq4 rotation, lv3 shin, lv3 new_shin, lv3 normal) {
    return q4_select(pose_usable, rotation, q4_mul(q4_between(q4_rotate(rotation, shin), new_shin, f_splat(1.0f), normal), rotation));
}

/* A part of a later group's lines on their way into the second cache level; `later` NULL: none. In eight parts over the solve, because all
 * at once they fill the queue of loads and the solve waits for them: from memory that costs more than half of the time. */
enum { FETCH_PARTS = 8 };
lane_inline void fetch_part(const char *later, size_t part) {
    enum { LINES = sizeof(phx_two_bone_block) / 64 * LANES / PHX_BLOCK_LANES };
    if (!later) return;
    for (size_t k = part * LINES / FETCH_PARTS; k < (part + 1) * LINES / FETCH_PARTS; ++k) lane_prefetch_far(later + k * 64);
}

/* `full`: 0 = the pole alone; 1 = everything; FULL_LEG = everything but a turned tip and a partial pole, with a weight in [0, 1].
 * Fetches parts 1 to 6 of `later` on the way; see fetch_part. */
enum { FULL_LEG = 2 };
lane_inline two_bone_out two_bone_core_fetching(const phx_two_bone_setup *setup, const two_bone_in *in, const phx_twist twist,
                                                const int full, const char *later) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lf least_divisor = f_splat(1e-30f); /* keeps lanes that a mask will replace from dividing by nothing */
    const lf tolerance_squared = f_splat(setup->direction_tolerance_squared);
    two_bone_out out;
    li flags = i_splat(0);

    /* lengths */
    const lf upper_length = v3_length(in->thigh), lower_length = v3_length(in->shin);
    const lf length = f_add(upper_length, lower_length);
    const lf epsilon = f_mul(length, f_splat(0x1p-22f));
    const lf target_distance = v3_length(in->delta);
    lm ok = m_and(m_and(f_lt(f_splat(1e-9f), length), f_lt(length, f_splat(1e9f))), f_lt(target_distance, f_splat(1e9f)));
    lm turn_tip = m_from_bits(0);
    if (full && full != FULL_LEG) {
        const lf to_squared = q4_dot(in->tip_to, in->tip_to);
        turn_tip = m_not(f_eq(to_squared, zero));
        ok = m_and(ok, m_and(f_eq(in->weight, in->weight), f_eq(in->pole_weight, in->pole_weight)));
        ok = m_and(ok, m_or(m_not(turn_tip), m_and(near_unit(to_squared), near_unit(q4_dot(in->tip_from, in->tip_from)))));
        ok = m_and(ok, near_unit(in->pose_norm));
    }
    const lf inverse_product = f_div(one, f_max(f_mul(upper_length, lower_length), least_divisor));
    const lv3 thigh = v3_scale(in->thigh, f_mul(lower_length, inverse_product));
    const lv3 shin = v3_scale(in->shin, f_mul(upper_length, inverse_product));
    const lv3 chord = v3_add(in->thigh, in->shin);

    fetch_part(later, 1);
    /* axis from root to target */
    lv3 axis = v3_scale(in->delta, f_div(one, f_max(target_distance, least_divisor)));
    const lm on_root = f_le(target_distance, epsilon);
    if (lane_rare(m_any(on_root))) axis = axis_on_root(on_root, axis, chord, epsilon);

    /* distance: soft reach, stretch, knee limits, then what a triangle allows */
    lf nearest = f_add(f_abs(f_sub(upper_length, lower_length)), epsilon), farthest = f_sub(length, epsilon);
    lf distance = target_distance, stretch = one;
    if (full && setup->soft) {
        const lf start = f_mul(length, f_splat(setup->soft_start)), room = f_sub(length, start);
        const lm soften = f_lt(start, distance);
        const lf eased = eased_share(f_sub(start, distance), room);
        distance = f_select(soften, f_sub(length, f_mul(room, eased)), distance);
        flags = i_select(soften, i_or(flags, i_splat(PHX_FLAG_SOFTENED)), flags);
    }
    if (full && setup->limits) {
        const lf gap = f_sub(upper_length, lower_length), product = f_mul(upper_length, lower_length);
        const lf low = f_sqrt(f_add(f_mul(gap, gap), f_mul(product, f_splat(setup->open_at_max_bend))));
        const lf high = f_sqrt(f_max(f_sub(f_mul(length, length), f_mul(product, f_splat(setup->short_at_min_bend))), zero));
        const lm limited = m_or(m_and(f_lt(distance, low), f_lt(nearest, low)), m_and(f_lt(high, distance), f_lt(high, farthest)));
        /* `high` of a knee that may only fold is rounded, and must still be a triangle's */
        farthest = f_max(f_min(farthest, high), nearest), nearest = f_max(nearest, low);
        flags = i_select(limited, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);
    }
    distance = f_min(f_max(distance, nearest), farthest);
    if (full && setup->stretch) {
        stretch = f_min(f_max(f_div(target_distance, f_max(distance, least_divisor)), one), f_splat(setup->max_stretch));
        stretch = f_select(f_lt(distance, target_distance), stretch, one);
        flags = i_select(f_lt(one, stretch), i_or(flags, i_splat(PHX_FLAG_STRETCHED)), flags);
    }

    fetch_part(later, 2);
    /* Law of cosines: the elbow's coordinates along axis and bend, in units of each bone. Solved for the shorter bone: an error
     * in `along` is then an angle of that bone only, where the longer bone's sine would lose a bone a thousand times shorter. */
    const lm upper_shorter = f_lt(upper_length, lower_length);
    const lf shorter = f_select(upper_shorter, upper_length, lower_length), longer = f_select(upper_shorter, lower_length, upper_length);
    const lf difference = f_mul(f_sub(shorter, longer), length);
    lf along = f_div(f_add(f_mul(distance, distance), difference), f_max(f_add(distance, distance), least_divisor));
    along = f_min(f_max(along, f_neg(shorter)), shorter);
    const lf short_scale = f_mul(longer, inverse_product), long_scale = f_mul(shorter, inverse_product);
    const lf short_cos = f_mul(along, short_scale);
    const lf short_sin = f_sqrt(f_max(f_mul(f_sub(one, short_cos), f_add(one, short_cos)), zero));
    const lf long_cos = f_mul(f_sub(distance, along), long_scale);
    const lf long_sin = f_mul(f_mul(short_sin, shorter), long_scale);
    const lf upper_cos = f_select(upper_shorter, short_cos, long_cos), upper_sin = f_select(upper_shorter, short_sin, long_sin);
    const lf lower_cos = f_select(upper_shorter, long_cos, short_cos), lower_sin = f_select(upper_shorter, long_sin, short_sin);

    /* bend direction: pole, or the next usable hint */
    const lv3 pose_normal = v3_cross(shin, thigh);
    const lf pose_sine_squared = v3_dot(pose_normal, pose_normal);
    const lm pose_usable = f_lt(tolerance_squared, pose_sine_squared);
    lv3 bend = v3_reject(in->pole, axis);
    const lf pole_squared = v3_dot(in->pole, in->pole);
    const lm pole_usable = f_lt(f_mul(pole_squared, tolerance_squared), v3_dot(bend, bend));
    if (lane_rare(!m_all(pole_usable))) {
        bend =
            fallback_hint(m_not(pole_usable), bend, in->previous, in->rest_bend, axis, chord, pose_normal, pose_usable, tolerance_squared);
        const lm given = m_not(f_eq(pole_squared, zero));
        flags = i_select(m_andnot(given, pole_usable), i_or(flags, i_splat(PHX_FLAG_HINT_UNUSABLE)), flags);
    }
    fetch_part(later, 3);
    bend = unit_bend(bend, axis);
    if (full) {
        const lm partial = m_and(pole_usable, f_lt(in->pole_weight, one));
        if (full != FULL_LEG && m_any(partial)) {
            lv3 other = fallback_hint(partial, bend, in->previous, in->rest_bend, axis, chord, pose_normal, pose_usable, tolerance_squared);
            other = unit_bend(other, axis);
            const lf share = f_max(in->pole_weight, zero);
            const lv3 mixed = v3_add(other, v3_scale(v3_sub(bend, other), share));
            const lm mixable = m_and(partial, f_lt(f_splat(1e-6f), v3_dot(mixed, mixed)));
            bend = v3_select(mixable, unit_bend(mixed, axis), bend);
        }
        if (setup->turn_limit) {
            lv3 held = bend;
            const lm known = take_hint(ok, in->previous, axis, tolerance_squared, &held);
            held = unit_bend(held, axis);
            const lm fast = m_and(known, f_lt(v3_dot(bend, held), f_splat(setup->cos_turn)));
            const lv3 side = v3_cross(axis, held);
            const lf sine = f_copysign(f_splat(setup->sin_turn), v3_dot(bend, side));
            bend = v3_select(fast, v3_add(v3_scale(held, f_splat(setup->cos_turn)), v3_scale(side, sine)), bend);
            flags = i_select(fast, i_or(flags, i_splat(PHX_FLAG_BEND_HELD)), flags);
        }
    }

    fetch_part(later, 4);
    /* new bone directions, and the rotations that take the animated ones there */
    const lv3 new_thigh = v3_add(v3_scale(axis, upper_cos), v3_scale(bend, upper_sin));
    const lv3 new_shin = v3_sub(v3_scale(axis, lower_cos), v3_scale(bend, lower_sin));
    const lv3 normal = v3_cross(axis, bend);
    fetch_part(later, 5);
    lq4 root_rotation = q4_between(thigh, new_thigh, one, normal), mid_rotation;
    if (twist == PHX_TWIST_PLANE) {
        lv3 old_normal = v3_scale(pose_normal, f_div(one, f_sqrt(f_max(pose_sine_squared, least_divisor))));
        if (lane_rare(!m_all(pose_usable))) old_normal = implied_normal(pose_usable, old_normal, thigh, in->rest_bend, tolerance_squared);
        const lv3 swung = q4_rotate(root_rotation, old_normal);
        root_rotation = q4_mul(q4_turn(new_thigh, v3_dot(swung, normal), v3_dot(v3_cross(swung, normal), new_thigh), one), root_rotation);
        const lf old_cos = v3_dot(thigh, shin), old_sin = v3_dot(pose_normal, old_normal);
        const lf new_cos = f_sub(f_mul(upper_cos, lower_cos), f_mul(upper_sin, lower_sin));
        const lf new_sin = f_add(f_mul(lower_cos, upper_sin), f_mul(lower_sin, upper_cos));
        const lf cosine = f_add(f_mul(old_cos, new_cos), f_mul(old_sin, new_sin));
        const lf sine = f_sub(f_mul(old_sin, new_cos), f_mul(old_cos, new_sin));
        mid_rotation = q4_mul(q4_turn(normal, cosine, sine, one), root_rotation);
        if (lane_rare(!m_all(pose_usable))) mid_rotation = led_to_shin(pose_usable, mid_rotation, shin, new_shin, normal);
    } else {
        mid_rotation = q4_between(shin, new_shin, one, normal);
    }
    fetch_part(later, 6);
    lv3 upper = v3_scale(new_thigh, upper_length), lower = v3_scale(new_shin, lower_length);

    /* a bone without length follows the other one */
    const lf least = f_mul(length, f_splat(1e-6f));
    const lm missing = m_or(f_le(upper_length, least), f_le(lower_length, least));
    if (lane_rare(m_any(missing))) {
        const lm upper_missing = f_le(upper_length, least);
        const lf inverse = f_div(one, f_max(length, least_divisor));
        const lq4 rotation = q4_between(v3_scale(chord, inverse), axis, one, v3_reject(spare_direction(axis), axis));
        const lv3 whole = v3_scale(axis, length);
        root_rotation = q4_select(missing, rotation, root_rotation);
        mid_rotation = q4_select(missing, rotation, mid_rotation);
        bend = v3_select(missing, unit_bend(bend, axis), bend);
        upper = v3_select(missing, v3_select(upper_missing, v3_splat(0.0f, 0.0f, 0.0f), whole), upper);
        lower = v3_select(missing, v3_select(upper_missing, whole, v3_splat(0.0f, 0.0f, 0.0f)), lower);
        flags = i_select(missing, i_or(flags, i_splat(PHX_FLAG_ZERO_LENGTH)), flags);
    }

    /* weight, in rotation space */
    lq4 tip_rotation = mid_rotation;
    if (full) {
        if (full != FULL_LEG) tip_rotation = q4_select(turn_tip, q4_normalize(q4_mul(in->tip_to, q4_conjugate(in->tip_from))), tip_rotation);
        const lm partial = f_lt(in->weight, one);
        if (m_any(partial)) {
            const lf weight = f_max(in->weight, zero);
            root_rotation = q4_select(partial, q4_fraction(root_rotation, weight), root_rotation);
            mid_rotation = q4_select(partial, q4_fraction(mid_rotation, weight), mid_rotation);
            tip_rotation = q4_select(partial, q4_fraction(tip_rotation, weight), tip_rotation);
            upper = v3_select(partial, q4_rotate(root_rotation, in->thigh), upper);
            lower = v3_select(partial, q4_rotate(mid_rotation, in->shin), lower);
            stretch = f_select(partial, f_add(one, f_mul(f_sub(stretch, one), weight)), stretch);
            flags = i_select(f_lt(zero, in->weight), flags, flags_unmoved(flags));
        }
        upper = v3_scale(upper, stretch), lower = v3_scale(lower, stretch);
    }

    /* honesty: the residual as returned, and what stood in the way */
    const lv3 miss = v3_sub(in->delta, v3_add(upper, lower));
    const lf residual = v3_length(miss);
    const lm reached = f_le(residual, f_mul(length, f_splat(setup->tolerance)));
    const lm far = f_lt(f_sub(length, epsilon), target_distance),
             close = f_lt(target_distance, f_sub(f_abs(f_sub(upper_length, lower_length)), epsilon));
    const li blame =
        i_or(i_select(far, i_splat(PHX_FLAG_OUT_OF_REACH), i_splat(0)), i_select(close, i_splat(PHX_FLAG_TOO_CLOSE), i_splat(0)));
    flags = i_or(flags, i_select(reached, i_splat(PHX_FLAG_REACHED), blame));

    /* bad input: as animated */
    out.ok = ok, out.moved = full ? m_and(ok, f_lt(zero, in->weight)) : ok, out.bend = bend, out.root_rotation = root_rotation,
    out.mid_rotation = mid_rotation, out.tip_rotation = tip_rotation;
    out.upper = upper, out.lower = lower, out.residual = residual, out.stretch = stretch, out.flags = flags;
    if (lane_rare(!m_all(ok))) {
        const lv3 animated_miss = v3_sub(in->delta, chord);
        const lf animated_residual = f_min(v3_length(animated_miss), f_splat(3.402823466e+38f));
        const lm known = f_lt(v3_dot(in->previous, in->previous), f_splat(3e38f)); /* a bend that is no number is forgotten */
        out.bend = v3_select(ok, bend, v3(f_keep(known, in->previous.x), f_keep(known, in->previous.y), f_keep(known, in->previous.z)));
        out.root_rotation = q4_select(ok, root_rotation, q4_identity());
        out.mid_rotation = q4_select(ok, mid_rotation, q4_identity());
        out.tip_rotation = q4_select(ok, tip_rotation, q4_identity());
        out.upper = v3_select(ok, upper, in->thigh), out.lower = v3_select(ok, lower, in->shin);
        out.residual = f_select(ok, residual, animated_residual);
        out.stretch = f_select(ok, stretch, one);
        const li none =
            i_select(f_le(length, f_splat(1e-9f)), i_splat(PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH), i_splat(PHX_FLAG_BAD_INPUT));
        out.flags = i_select(ok, flags, none);
    }
    return out;
}

lane_inline two_bone_out two_bone_core(const phx_two_bone_setup *setup, const two_bone_in *in, phx_twist twist, int full) {
    return two_bone_core_fetching(setup, in, twist, full, NULL);
}

/* Residuals; of bad input as given, for where the root is not finite or far away, what is relative to it says nothing. */
lane_cold lf gap_as_given(lm ok, lf residual, lv3 tip, lv3 target) {
    return f_select(ok, residual, f_min(v3_length(v3_sub(target, tip)), f_splat(3.402823466e+38f)));
}

lane_cold void residual_as_given(phx_two_bone_block *block, uint32_t lane, lm ok) {
    float *residual = block->residual.v + lane;
    f_store(residual, gap_as_given(ok, f_load(residual), v3_load(&block->tip, lane), v3_load(&block->target, lane)));
}

/* LANES legs of a block, the first in column `lane`. */
lane_inline void two_bone_lanes(const phx_two_bone_setup *setup, phx_two_bone_block *block, phx_two_bone_extra *extra, uint32_t lane,
                                phx_twist twist, int full, const char *later) {
    fetch_part(later, 0);
    const lv3 root = v3_load(&block->root, lane), mid = v3_load(&block->mid, lane), tip = v3_load(&block->tip, lane);
    two_bone_in in;
    in.thigh = v3_sub(mid, root), in.shin = v3_sub(tip, mid), in.delta = v3_sub(v3_load(&block->target, lane), root);
    in.pole = v3_load(&block->pole, lane), in.previous = v3_load(&block->bend, lane);
    in.pose_norm = f_splat(1.0f);
    if (full && extra) {
        in.rest_bend = v3_load(&extra->rest_bend, lane);
        in.weight = f_load(extra->weight.v + lane), in.pole_weight = f_load(extra->pole_weight.v + lane);
        in.tip_from = q4_load(&extra->tip_from, lane), in.tip_to = q4_load(&extra->tip_to, lane);
    } else {
        const lf zero = f_splat(0.0f);
        in.rest_bend = v3(zero, zero, zero);
        in.weight = f_splat(1.0f), in.pole_weight = f_splat(1.0f);
        in.tip_from = q4_identity(), in.tip_to = (lq4){zero, zero, zero, zero};
    }
    const two_bone_out out = two_bone_core_fetching(setup, &in, twist, full, later);
    fetch_part(later, FETCH_PARTS - 1);
    q4_store(&block->root_rotation, lane, out.root_rotation);
    q4_store(&block->mid_rotation, lane, out.mid_rotation);
    v3_store(&block->bend, lane, out.bend);
    f_store(block->residual.v + lane, out.residual);
    i_store(block->flags.v + lane, out.flags);
    if (full && extra) {
        const lv3 elbow = v3_add(root, out.upper);
        q4_store(&extra->tip_rotation, lane, out.tip_rotation);
        v3_store(&extra->mid_position, lane, v3_select(out.moved, elbow, mid));
        v3_store(&extra->tip_position, lane, v3_select(out.moved, v3_add(elbow, out.lower), tip));
        f_store(extra->stretch.v + lane, out.stretch);
    }
    if (lane_rare(!m_all(out.ok))) residual_as_given(block, lane, out.ok); /* last, when nothing else is in registers */
}

lane_inline void two_bone_loop(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count,
                               phx_twist twist, int full) {
    /* Lines are fetched four blocks ahead where the blocks surely come from beyond the second cache level. */
    enum { AHEAD = 4, MANY = 512, SPAN = LANES > PHX_BLOCK_LANES ? LANES / PHX_BLOCK_LANES : 1 };
    const size_t fetched = count > MANY ? count - AHEAD : 0;
    for (size_t k = 0; k < count; k += SPAN) {
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; lane += LANES) {
            const char *later = k < fetched ? (const char *)(blocks + k + AHEAD) + sizeof *blocks / PHX_BLOCK_LANES * lane : NULL;
            two_bone_lanes(setup, blocks + k, extras ? extras + k : NULL, lane, twist, full, later);
        }
    }
}

/* Over pairs of vectors only the plain loops are compiled: with all options they are large, and slow to compile. */
#if defined(PHX_PAIR)
enum { TWO_BONE_FULL = 0 };
#else
enum { TWO_BONE_FULL = 1 };
#endif

/* Four loops, each compiled for what it needs: the plain ones carry no option's cost. Functions of their own, so that a debugger and
 * tests/binary_is_clean find them by name. */
#define TWO_BONE_LOOP(name, twist, full)                                                                                                       \
    static lane_apart void name(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count) {     \
        two_bone_loop(setup, blocks, extras, count, twist, full);                                                                              \
    }
TWO_BONE_LOOP(two_bone_inherit, PHX_TWIST_INHERIT, 0)
TWO_BONE_LOOP(two_bone_plane, PHX_TWIST_PLANE, 0)
TWO_BONE_LOOP(two_bone_inherit_full, PHX_TWIST_INHERIT, 1)
TWO_BONE_LOOP(two_bone_plane_full, PHX_TWIST_PLANE, 1)
#undef TWO_BONE_LOOP

/* Does the call need what only the full loops do? */
static int two_bone_blocks_full(const phx_two_bone_setup *setup, const phx_two_bone_extra *extras) {
    return extras || setup->soft || setup->stretch || setup->limits || setup->turn_limit;
}
static int two_bone_job_full(const phx_two_bone_setup *setup, const phx_two_bone_job *job) {
    return setup->soft || setup->stretch || setup->limits || setup->turn_limit || job->rest_bend.data || job->weight.data ||
           job->pole_weight.data || job->root_local.data || job->mid_local.data || job->tip_local.data || job->tip_rotation.data ||
           job->mid_position.data || job->tip_position.data || job->stretch.data;
}

static void two_bone_blocks(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count) {
    const int full = TWO_BONE_FULL && two_bone_blocks_full(setup, extras), plane = setup->twist == PHX_TWIST_PLANE;
    if (full && plane) two_bone_plane_full(setup, blocks, extras, count);
    else if (full) two_bone_inherit_full(setup, blocks, extras, count);
    else if (plane) two_bone_plane(setup, blocks, NULL, count);
    else two_bone_inherit(setup, blocks, NULL, count);
}

/* LANES legs of a job, from the caller's arrays to registers and back; on the way the lines of those that begin at `later`, 0: none, are
 * fetched. */
lane_inline void two_bone_group(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count, phx_twist twist,
                                int full, const prefetch_plan *plan, size_t later) {
    if (later) prefetch_group(plan, later, 0);
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const lv3 root = pack3(job->root, first, count), mid = pack3(job->mid, first, count), tip = pack3(job->tip, first, count);
    two_bone_in in;
    in.thigh = v3_sub(mid, root), in.shin = v3_sub(tip, mid), in.delta = v3_sub(pack3(job->target, first, count), root);
    in.pole = job->pole.data ? pack3(job->pole, first, count) : v3(zero, zero, zero);
    in.previous = job->bend.data ? pack3(job->bend, first, count) : v3(zero, zero, zero);
    in.rest_bend = v3(zero, zero, zero), in.weight = one, in.pole_weight = one;
    in.tip_from = q4_identity(), in.tip_to = (lq4){zero, zero, zero, zero}, in.pose_norm = one;
    lq4 parent = q4_identity(), root_local = parent, mid_local = parent, tip_local = parent;
    lq4 root_world = parent, mid_world = parent, tip_world = parent;
    if (full) {
        if (job->rest_bend.data) in.rest_bend = pack3(job->rest_bend, first, count);
        if (job->weight.data) in.weight = pack1(job->weight, first, count);
        if (job->pole_weight.data) in.pole_weight = pack1(job->pole_weight, first, count);
        if (job->parent_rotation.data) parent = pack4(job->parent_rotation, first, count);
        if (job->root_local.data) root_local = pack4(job->root_local, first, count);
        if (job->mid_local.data) mid_local = pack4(job->mid_local, first, count);
        if (job->tip_local.data) tip_local = pack4(job->tip_local, first, count);
        if (job->root_local.data || job->mid_local.data || job->tip_local.data) {
            root_world = q4_mul(parent, root_local), mid_world = q4_mul(root_world, mid_local), tip_world = q4_mul(mid_world, tip_local);
            in.pose_norm = q4_dot(tip_world, tip_world);
        }
        if (job->target_rotation.data) in.tip_from = tip_world, in.tip_to = pack4(job->target_rotation, first, count);
    }
    two_bone_out out = two_bone_core(setup, &in, twist, full);
    if (lane_rare(!m_all(out.ok))) out.residual = gap_as_given(out.ok, out.residual, pack3(job->tip, first, count), pack3(job->target, first, count));
    if (later) prefetch_group(plan, later, 1);
    if (job->bend.data) unpack3(job->bend, first, count, out.bend);
    if (job->root_rotation.data) unpack4(job->root_rotation, first, count, out.root_rotation);
    if (job->mid_rotation.data) unpack4(job->mid_rotation, first, count, out.mid_rotation);
    if (job->result.data) {
        const li iterations = i_select(out.moved, i_splat(1), i_splat(0));
        unpack_result(job->result, first, count, out.residual, iterations, out.flags);
    }
    if (!full) return;
    const lv3 elbow = v3_add(root, out.upper);
    const lq4 root_new = q4_mul(out.root_rotation, root_world), mid_new = q4_mul(out.mid_rotation, mid_world);
    if (job->tip_rotation.data) unpack4(job->tip_rotation, first, count, out.tip_rotation);
    if (job->mid_position.data) unpack3(job->mid_position, first, count, v3_select(out.moved, elbow, mid));
    if (job->tip_position.data) unpack3(job->tip_position, first, count, v3_select(out.moved, v3_add(elbow, out.lower), tip));
    if (job->stretch.data) unpack1(job->stretch, first, count, out.stretch);
    if (job->root_local_out.data) {
        const lq4 local = q4_normalize(q4_mul(q4_conjugate(parent), root_new));
        unpack4(job->root_local_out, first, count, q4_select(out.moved, local, root_local));
    }
    if (job->mid_local_out.data) {
        const lq4 local = q4_normalize(q4_mul(q4_conjugate(root_new), mid_new));
        unpack4(job->mid_local_out, first, count, q4_select(out.moved, local, mid_local));
    }
    if (job->tip_local_out.data) {
        const lq4 local = q4_normalize(q4_mul(q4_conjugate(mid_new), q4_mul(out.tip_rotation, tip_world)));
        unpack4(job->tip_local_out, first, count, q4_select(out.moved, local, tip_local));
    }
}

static prefetch_plan two_bone_job_plan(const phx_two_bone_job *job) {
    const phx_view numbers[] = {job->weight, job->pole_weight, job->stretch};
    const phx_view vectors[] = {job->root, job->mid,       job->tip,          job->target,       job->pole,
                                job->bend, job->rest_bend, job->mid_position, job->tip_position, job->result};
    const phx_view rotations[] = {job->root_rotation, job->mid_rotation, job->tip_rotation,    job->parent_rotation,
                                  job->root_local,    job->mid_local,    job->tip_local,       job->target_rotation,
                                  job->root_local_out, job->mid_local_out, job->tip_local_out};
    prefetch_plan plan = {.count = 0};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) prefetch_add(&plan, numbers[k], 4);
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k) prefetch_add(&plan, vectors[k], 12);
    for (size_t k = 0; k < sizeof rotations / sizeof *rotations; ++k) prefetch_add(&plan, rotations[k], 16);
    return plan;
}

static void two_bone_job(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count) {
    const int full = TWO_BONE_FULL && two_bone_job_full(setup, job);
    prefetch_plan plan = {.count = 0};
    if (count > PREFETCH_AHEAD + LANES) plan = two_bone_job_plan(job);
    const size_t prefetched = prefetch_until(&plan, count);
    for (size_t k = 0; k < count; k += LANES) {
        const size_t n = count - k;
        const size_t later = k < prefetched ? first + k + PREFETCH_AHEAD : 0;
        if (full && setup->twist == PHX_TWIST_PLANE) two_bone_group(setup, job, first + k, n, PHX_TWIST_PLANE, 1, &plan, later);
        else if (full) two_bone_group(setup, job, first + k, n, PHX_TWIST_INHERIT, 1, &plan, later);
        else if (setup->twist == PHX_TWIST_PLANE) two_bone_group(setup, job, first + k, n, PHX_TWIST_PLANE, 0, &plan, later);
        else two_bone_group(setup, job, first + k, n, PHX_TWIST_INHERIT, 0, &plan, later);
    }
}
