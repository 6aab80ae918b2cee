/* Joint limits over lanes. Included by kernel/table.inl before the chain kernels, which call limit_local and limit_toward;
 * the meaning is described in phalanx/limit.h, the scalar twin is reference/limit.h. All lanes have the same limit. */

static inline lq4 q4_splat(phx_quat a) { return (lq4){f_splat(a.x), f_splat(a.y), f_splat(a.z), f_splat(a.w)}; }
static inline lv3 v3_splat3(phx_vec3 a) { return v3_splat(a.x, a.y, a.z); }

/* Clamps the twist whose half angle has the cosine *w and the sine *p, a unit pair of any sign, to the range; returns the
 * lanes that had to move. Seen from the middle of the range, the nearer end is a matter of sign. */
static inline lm limit_twist(const phx_limit_setup *limit, lf *p, lf *w) {
    const lf middle_cos = f_splat(limit->middle_cos), middle_sin = f_splat(limit->middle_sin);
    const lf range_cos = f_splat(limit->range_cos), range_sin = f_splat(limit->range_sin);
    lf c = f_add(f_mul(*w, middle_cos), f_mul(*p, middle_sin)), s = f_sub(f_mul(*p, middle_cos), f_mul(*w, middle_sin));
    const lm outside = limit->range_cos > 0.9999f ? f_lt(f_splat(limit->range_sin + 2e-7f), f_abs(s)) : f_lt(f_abs(c), range_cos); /* cosines of small angles are all 1 */
    s = f_copysign(range_sin, f_mul(s, f_copysign(f_splat(1.0f), c)));
    c = range_cos;
    *w = f_select(outside, f_sub(f_mul(c, middle_cos), f_mul(s, middle_sin)), *w);
    *p = f_select(outside, f_add(f_mul(s, middle_cos), f_mul(c, middle_sin)), *p);
    return outside;
}

/* Points outside the ellipse to its rim, nearly at right angles to it; *a along the longer half axis. The rim's normals at `guess`, a first
 * guess of the foot, and at its mirror image meet on the long axis at c: where the line from there to the point leaves the ellipse is the
 * foot. Shrunk toward the centre, what hardly leaves a narrow ellipse across would lose a good part of what it has along. */
static inline void limit_to_rim(const phx_limit_setup *limit, float inverse_long, float inverse_short, lf *a, lf *b) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), slack = f_splat(limit->slack);
    const lf x = f_max(f_sub(f_abs(*a), slack), zero), y = f_max(f_sub(f_abs(*b), slack), zero), flat = f_mul(y, f_splat(limit->narrow));
    const lf far = f_div(x, f_mul(f_splat(inverse_long), f_sqrt(f_some(f_add(f_mul(x, x), f_mul(flat, flat)))))), guess = f_min(x, far);
    const lf c = f_mul(guess, f_splat(limit->evolute)), m = f_mul(c, f_splat(inverse_long));
    const lf p = f_mul(f_sub(x, c), f_splat(inverse_long)), q = f_mul(y, f_splat(inverse_short));
    const lf room = f_max(f_mul(f_sub(one, m), f_add(one, m)), zero), along = f_mul(m, p);
    const lf root = f_sqrt(f_add(f_mul(along, along), f_mul(f_add(f_mul(p, p), f_mul(q, q)), room)));
    const lf share = f_min(f_div(room, f_some(f_add(along, root))), one);
    *a = f_sub(*a, f_copysign(f_mul(f_sub(x, c), f_sub(one, share)), *a)), *b = f_copysign(f_mul(y, share), *b);
}

/* Clamps the swing with the vector part *v, at right angles to the axis, and the real part *w >= 0; returns the lanes that moved. */
static inline lm limit_swing(const phx_limit_setup *limit, lv3 *v, lf *w) {
    const lf one = f_splat(1.0f);
    const lv3 side = v3_splat3(limit->side), across = v3_splat3(limit->across);
    const lf inverse = f_div(one, f_add(one, *w));
    lf a = f_mul(v3_dot(*v, side), inverse), b = f_mul(v3_dot(*v, across), inverse);
    const lf slack = f_splat(limit->slack), most = f_add(slack, slack), zero = f_splat(0.0f); /* moved to within the one, it is let be within the other */
    lf u = f_mul(f_max(f_sub(f_abs(a), most), zero), f_splat(limit->inverse_side)), t = f_mul(f_max(f_sub(f_abs(b), most), zero), f_splat(limit->inverse_across));
    const lm outside = f_lt(one, f_add(f_mul(u, u), f_mul(t, t)));
    if (m_any(outside)) {
        if (limit->type == PHX_LIMIT_ELLIPSE) {
            if (limit->tan_side < limit->tan_across) limit_to_rim(limit, limit->inverse_across, limit->inverse_side, &b, &a);
            else limit_to_rim(limit, limit->inverse_side, limit->inverse_across, &a, &b);
        } else {
            u = f_mul(f_abs(a), f_splat(limit->inverse_side)), t = f_mul(f_abs(b), f_splat(limit->inverse_across));
            const lf shrink = f_div(one, f_max(f_sqrt(f_add(f_mul(u, u), f_mul(t, t))), one));
            a = f_mul(a, shrink), b = f_mul(b, shrink);
        }
        const lf squared = f_add(f_mul(a, a), f_mul(b, b));
        const lf scale = f_div(one, f_add(one, squared));
        const lf twice = f_add(scale, scale);
        const lv3 clamped = v3_add(v3_scale(side, f_mul(a, twice)), v3_scale(across, f_mul(b, twice)));
        *v = v3_select(outside, clamped, *v);
        *w = f_select(outside, f_mul(f_sub(one, squared), scale), *w);
    }
    return outside;
}

/* Twist of the unit rotation d about the unit axis: half-angle sine and cosine; none where d is a half turn across the axis. */
static inline lf split_twist(lq4 d, lf along, lf *p, lf *w) {
    const lf norm = f_sqrt(f_add(f_mul(along, along), f_mul(d.w, d.w)));
    const lm none = f_le(norm, f_splat(1e-6f));
    const lf inverse = f_div(f_splat(1.0f), f_max(norm, f_splat(1e-6f)));
    *p = f_select(none, f_splat(0.0f), f_mul(along, inverse));
    *w = f_select(none, f_splat(1.0f), f_mul(d.w, inverse));
    return norm;
}

/* The unit local rotation, limited; *changed gets the lanes where the limit changed it, the others keep their bits. */
static inline lq4 limit_local(const phx_limit_setup *limit, lq4 local, lm *changed) {
    *changed = m_from_bits(0);
    if (limit->type == PHX_LIMIT_NONE) return local;
    const lf zero = f_splat(0.0f);
    const lq4 rest = q4_splat(limit->rest);
    const lq4 d = q4_mul(q4_conjugate(rest), local);
    const lv3 axis = v3_splat3(limit->axis), v = {d.x, d.y, d.z};
    const lf along = v3_dot(v, axis);
    lf p, w;
    const lf norm = split_twist(d, along, &p, &w);
    lm outside = m_from_bits(0);
    lq4 result;
    if (limit->type == PHX_LIMIT_HINGE) {
        const lv3 swing = v3_sub(v, v3_scale(axis, along));
        outside = f_lt(f_splat(1e-12f), v3_dot(swing, swing));
        if (!limit->twist_free) outside = m_or(outside, limit_twist(limit, &p, &w));
        result = (lq4){f_mul(axis.x, p), f_mul(axis.y, p), f_mul(axis.z, p), w};
    } else {
        /* swing = d twist*: its real part is the norm, its vector at right angles to the axis */
        const lv3 turned = v3_add(v3_scale(v, w), v3_scale(v3_cross(axis, v), p));
        lv3 swing = v3_sub(turned, v3_scale(axis, v3_dot(turned, axis)));
        lf swing_w = norm;
        outside = limit_swing(limit, &swing, &swing_w);
        if (!limit->twist_free) outside = m_or(outside, limit_twist(limit, &p, &w));
        result = q4_mul((lq4){swing.x, swing.y, swing.z, swing_w}, (lq4){f_mul(axis.x, p), f_mul(axis.y, p), f_mul(axis.z, p), w});
    }
    *changed = outside;
    if (!m_any(outside)) return local;
    result = q4_normalize(q4_mul(rest, result));
    const lf same = f_copysign(f_splat(1.0f), f_add(q4_dot(result, local), zero)); /* of q and -q the one nearer to the input */
    return q4_select(outside, q4_scale(result, same), local);
}

/* The allowed local rotation that turns the joint's unit bone direction `bone` (joint's frame) nearest to `wanted` (unit, parent's
 * frame), from the unit rotation `local`, whose twist it keeps as far as the limit allows. */
static inline lq4 limit_toward(const phx_limit_setup *limit, lq4 local, lv3 bone, lv3 wanted, lm *changed) {
    const lf one = f_splat(1.0f);
    if (limit->type == PHX_LIMIT_HINGE) {
        const lq4 rest = q4_splat(limit->rest);
        const lv3 axis = v3_splat3(limit->axis);
        const lv3 goal = q4_rotate(q4_conjugate(rest), wanted);
        const lv3 from = v3_reject(bone, axis), to = v3_reject(goal, axis);
        const lf cosine = v3_dot(from, to), sine = v3_dot(axis, v3_cross(from, to));
        const lf scale = f_sqrt(f_add(f_mul(cosine, cosine), f_mul(sine, sine)));
        const lm usable = f_lt(f_splat(1e-6f), scale);
        const lm obtuse = f_lt(cosine, f_splat(0.0f)); /* as q4_turn */
        lf w = f_select(obtuse, f_abs(sine), f_add(scale, cosine));
        lf p = f_select(obtuse, f_copysign(f_sub(scale, cosine), sine), sine);
        const lf inverse = f_div(one, f_max(f_sqrt(f_add(f_mul(w, w), f_mul(p, p))), f_splat(1e-12f)));
        w = f_mul(w, inverse), p = f_mul(p, inverse);
        const lv3 reached = v3_sub(goal, v3_add(to, v3_scale(axis, v3_dot(bone, axis)))); /* what the hinge cannot give */
        lm outside = f_lt(f_splat(1e-12f), v3_dot(reached, reached));
        if (!limit->twist_free) outside = m_or(outside, limit_twist(limit, &p, &w));
        lm other;
        const lq4 kept = limit_local(limit, local, &other);
        const lq4 turned = q4_mul(rest, (lq4){f_mul(axis.x, p), f_mul(axis.y, p), f_mul(axis.z, p), w});
        const lf same = f_copysign(one, q4_dot(turned, local));
        *changed = m_or(m_and(outside, usable), m_andnot(other, usable));
        return q4_select(usable, q4_scale(turned, same), kept);
    }
    const lv3 now = q4_rotate(local, bone);
    const lv3 spare = v3_reject(v3_select(f_le(f_abs(wanted.x), f_abs(wanted.y)), v3_splat(1.0f, 0.0f, 0.0f), v3_splat(0.0f, 1.0f, 0.0f)), wanted);
    const lv3 unit_spare = v3_scale(spare, f_div(one, v3_length(spare)));
    return limit_local(limit, q4_normalize(q4_mul(q4_between(now, wanted, one, unit_spare), local)), changed);
}

static void limit_apply(const phx_limit_setup *setup, size_t count, phx_view local, phx_view limited, phx_view changed) {
    for (size_t k = 0; k < count; k += LANES) {
        const size_t n = count - k;
        const lq4 given = pack4(local, k, n);
        const lf squared = q4_dot(given, given);
        const lm usable = m_and(f_lt(f_splat(1e-24f), squared), f_lt(squared, f_splat(1e24f)));
        const lf inverse = f_div(f_splat(1.0f), f_sqrt(f_select(usable, squared, f_splat(1.0f))));
        lm moved;
        const lq4 result = limit_local(setup, q4_select(usable, q4_scale(given, inverse), q4_identity()), &moved);
        moved = m_and(moved, usable);
        unpack4(limited, k, n, q4_select(moved, result, given));
        if (changed.data) unpack1(changed, k, n, i_as_f(i_select(moved, i_splat(1), i_splat(0))));
    }
}
