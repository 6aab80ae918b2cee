/* CCD over lanes. Included by kernel/table.inl once for each width; the method is described in phalanx/ccd.h, the scalar twin is
 * reference/ccd.c. Rare cases (straight and folded joints, restarts, seldom options) stand behind a branch on "does any lane need
 * it"; the branch never changes bits, only time. Lanes that have arrived are frozen by mask. */

/* LANES chains, from the first joint that turns, in units of a power of two near each chain's length. Arrays hold one entry a bone. */
typedef struct ccd_lanes {
    const phx_ccd_setup *setup;
    uint32_t bones;
    int hint_known, fresh, may_restart;
    lm hit;                     /* a limit changed a turn */
    lm ok, active, counted;     /* counted: lanes of chains, not of fill */

    /* what sweeps go on from, with the rows from `bone` to `blocked`; moved as a whole, see ccd_take_in */
    lf length, tolerance;       /* of the chain; and as a distance */
    lv3 goal, aim;              /* where the tip should go, and its direction */
    lf goal_distance;
    lv3 pole, previous, rest_bend;
    lq4 parent;
    li budget, used, phase, since, restarts;
    lf residual, best_residual, unreachable;
    lf before, before_that;     /* residuals of the last two sweeps */

    /* sweeps */
    lv3 hints[4];               /* pole, previous, pose, rest: in the frame of the chain before it is aimed */
    lm straight, distant;       /* distance step: out of reach; far enough from the goal to jump */
    lf wanted_squared;

    /* what the end needs to know of the beginning */
    lv3 root, target, delta;
    lf weight, metre, unit, full, distance, stretch, longest, given_total;
    li flags;
    lm turned;

    lv3 *bone;                  /* in the joint's own frame */
    lv3 *at;                    /* of joints, and one more: the tip */
    lq4 *frame;                 /* rotation of a joint: of the world where limited, else since the animation */
    lq4 *best;
    lf *share;
    lv3 *blocked;               /* limited: unit axis of the part of the last turn that the limit took back, or zero */
    lq4 *turn;                  /* of this sweep, in the world as it was before */
    lv3 *animated;              /* limited: the bone as animated */
} ccd_lanes;

enum {
    CCD_IN_FLIGHT = 2, /* vectors that take their first sweep together, which is the only one of nearly all */
    CCD_ROWS_A_BONE = 25,
    CCD_ROWS_CARRIED = 18, /* of those, from `bone` to `blocked` */
    CCD_SHORT = 16,
    CCD_MANY = LANES * 3 / 4, /* more lanes than this sweep on in place */
    CCD_WINDOW = 12,        /* vectors whose survivors of the first sweep go on together, */
    CCD_WINDOW_ROWS = 2424, /* fewer where their rows need more than this */
};

static inline lv3 v3_zero(void) { return v3_splat(0.0f, 0.0f, 0.0f); }

/* near-unit to unit without a root: one step of Newton's, exact to the second order */
static inline lq4 q4_settle(lq4 a) { return q4_scale(a, f_sub(f_splat(1.5f), f_mul(f_splat(0.5f), q4_dot(a, a)))); }

static inline lq4 ccd_aim_turn(lv3 from, lv3 to, lf to_length, lv3 spare) {
    const lf from_length = v3_length(from);
    return q4_between(v3_scale(from, f_div(to_length, f_max(from_length, f_splat(1e-8f)))), to, f_mul(to_length, to_length), spare);
}

/* sum of the inner joints less its part along the chord, zero for a straight chain */
static lv3 ccd_pose_bend(const ccd_lanes *c) {
    lv3 sum = v3_zero();
    for (uint32_t j = 1; j < c->bones; ++j) sum = v3_add(sum, c->at[j]);
    const lv3 chord = c->at[c->bones];
    const lf squared = v3_dot(chord, chord);
    const lf along = f_select(f_le(squared, f_splat(1e-12f)), f_splat(0.0f), f_div(v3_dot(sum, chord), f_max(squared, f_splat(1e-12f))));
    const lv3 bend = v3_sub(sum, v3_scale(chord, along));
    const lf tolerance = f_mul(f_splat(c->setup->chain.direction_tolerance_squared), f_mul(c->length, c->length));
    return v3_select(f_le(v3_dot(bend, bend), tolerance), v3_zero(), bend);
}

static void ccd_find_hints(ccd_lanes *c) {
    const lv3 chord = c->at[c->bones];
    const lm known = m_and(f_lt(f_splat(1e-12f), v3_dot(chord, chord)), f_lt(f_splat(1e-6f), c->goal_distance));
    const lq4 turn = ccd_aim_turn(chord, c->goal, c->goal_distance, v3_reject(spare_direction(c->aim), c->aim));
    const lq4 back = q4_select(known, q4_conjugate(turn), q4_identity());
    c->hints[0] = q4_rotate(back, c->pole);
    c->hints[1] = q4_rotate(back, c->previous);
    c->hints[2] = ccd_pose_bend(c);
    c->hints[3] = c->rest_bend;
    c->hint_known = 1;
}

/* Unit axis at right angles to the unit vector a, from the joint back to the root, about which a straight chain bends its joint
 * toward the hint. */
static lv3 ccd_bend_axis(ccd_lanes *c, lv3 a) {
    if (!c->hint_known) ccd_find_hints(c);
    lv3 chosen = v3_reject(spare_direction(a), a);
    lm open = m_not(m_from_bits(0));
    for (int k = 0; k < 4; ++k)
        open = m_andnot(open, take_hint(open, c->hints[k], a, f_splat(c->setup->chain.direction_tolerance_squared), &chosen));
    return v3_cross(unit_bend(chosen, a), a);
}

static inline lq4 ccd_parent(const ccd_lanes *c, uint32_t j) { return j ? c->frame[j - 1] : c->parent; }
static inline const phx_limit_setup *ccd_limit(const ccd_lanes *c, uint32_t j) { return &c->setup->chain.limits[c->setup->from + j]; }
static inline int ccd_is_hinge(const ccd_lanes *c, uint32_t j, const int limited) {
    return limited && ccd_limit(c, j)->type == PHX_LIMIT_HINGE;
}
static inline lv3 ccd_hinge_axis(const ccd_lanes *c, uint32_t j) {
    return q4_rotate(ccd_parent(c, j), v3_splat3(c->setup->hinge_axis[c->setup->from + j]));
}

/* What the joint may really do of a turn: cap, then limit; in the lanes given. */
static inline lq4 ccd_allowed_turn(ccd_lanes *c, uint32_t j, lq4 turn, lm lanes, const int limited) {
    const phx_ccd_setup *setup = c->setup;
    if (setup->capped) {
        const lm over = f_lt(turn.w, f_splat(setup->cap_cos));
        const lf s = f_div(f_splat(setup->cap_sin), f_max(v3_length(v3(turn.x, turn.y, turn.z)), f_splat(1e-12f)));
        turn = q4_select(over, (lq4){f_mul(turn.x, s), f_mul(turn.y, s), f_mul(turn.z, s), f_splat(setup->cap_cos)}, turn);
    }
    if (!limited) return turn;
    const phx_limit_setup *limit = ccd_limit(c, j);
    if (limit->type == PHX_LIMIT_NONE) return turn;
    const lm away = f_lt(v3_dot(c->blocked[j], v3(turn.x, turn.y, turn.z)), f_splat(-1e-4f));
    c->blocked[j] = v3_select(m_and(lanes, away), v3_zero(), c->blocked[j]);
    const lq4 parent = ccd_parent(c, j), frame = c->frame[j];
    lm changed;
    const lq4 local = limit_local(limit, q4_mul(q4_conjugate(parent), q4_mul(turn, frame)), &changed);
    changed = m_and(changed, lanes);
    if (!m_any(changed)) return turn;
    c->hit = m_or(c->hit, changed);
    const lq4 got = q4_mul(q4_mul(parent, local), q4_conjugate(frame));
    const lq4 lost = q4_mul(turn, q4_conjugate(got));
    const lv3 axis = {lost.x, lost.y, lost.z};
    const lf squared = v3_dot(axis, axis);
    const lv3 unit = v3_scale(axis, f_div(f_copysign(f_splat(1.0f), lost.w), f_sqrt(f_some(squared))));
    c->blocked[j] = v3_select(m_and(changed, f_lt(f_splat(1e-12f), squared)), unit, c->blocked[j]);
    return q4_select(changed, got, turn);
}

/* cosine and sine of half the angle of a hinge, seen from the middle of its range */
static inline void ccd_hinge_angle(const ccd_lanes *c, uint32_t j, lf *cosine, lf *sine) {
    const phx_limit_setup *limit = ccd_limit(c, j);
    const lq4 local = q4_mul(q4_conjugate(ccd_parent(c, j)), c->frame[j]);
    const lq4 d = q4_mul(q4_conjugate(q4_splat(limit->rest)), local);
    const lf p = v3_dot(v3(d.x, d.y, d.z), v3_splat3(limit->axis));
    const lf middle_cos = f_splat(limit->middle_cos), middle_sin = f_splat(limit->middle_sin);
    *cosine = f_add(f_mul(d.w, middle_cos), f_mul(p, middle_sin)), *sine = f_sub(f_mul(p, middle_cos), f_mul(d.w, middle_sin));
}

/* The lanes in which the turn about the hinge's axis h leaves its range. */
static inline lm ccd_leaves_range(const ccd_lanes *c, uint32_t j, lv3 h, lq4 turn, lf cosine, lf sine) {
    const lf after = f_sub(f_mul(cosine, turn.w), f_mul(sine, v3_dot(h, v3(turn.x, turn.y, turn.z))));
    return f_lt(f_abs(after), f_splat(ccd_limit(c, j)->range_cos));
}

/* turns the tip (from the joint: b) about the hinge's axis toward a goal (from the joint: a) */
static inline lq4 ccd_hinge_aim(lv3 h, lv3 b, lv3 a) {
    const lv3 across_b = v3_reject(b, h), across_a = v3_reject(a, h);
    const lf scale = f_sqrt(f_mul(v3_dot(across_b, across_b), v3_dot(across_a, across_a)));
    const lq4 turn = q4_turn(h, v3_dot(across_b, across_a), v3_dot(h, v3_cross(across_b, across_a)), scale);
    return q4_select(f_lt(f_splat(1e-10f), scale), turn, q4_identity());
}

static inline void ccd_keep_turn(ccd_lanes *c, uint32_t j, lq4 turn, lm lanes, int mixed) {
    c->turn[j] = mixed ? q4_select(lanes, turn, c->turn[j]) : turn;
}

/* One joint of the distance step, which goes from the tip to the root. */
static inline void ccd_distance_joint(ccd_lanes *c, uint32_t j, lv3 *tip, lm lanes, int mixed, const int limited) {
    const phx_ccd_setup *setup = c->setup;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), minus_one = f_splat(-1.0f), half = f_splat(0.5f), least = f_splat(1e-8f);
    const lf direction_tolerance = f_splat(setup->direction_tolerance);
    const lm straight = c->straight;
    const lv3 at = c->at[j], b = v3_sub(*tip, at);
    lv3 a = v3_sub(v3(zero, zero, zero), at);
    if (m_any(straight)) a = v3_select(straight, v3_sub(c->at[j - 1], at), a);
    const lf aa = v3_dot(a, a), bb = v3_dot(b, b), ab = v3_dot(a, b);
    const lf gap = f_mul(f_sub(c->wanted_squared, f_sub(f_add(aa, bb), f_add(ab, ab))), c->share[j]);
    const lv3 x = v3_cross(a, b);
    lq4 turn;
    if (ccd_is_hinge(c, j, limited)) {
        const lv3 h = ccd_hinge_axis(c, j);
        const lf ha = v3_dot(h, a), hb = v3_dot(h, b);
        const lf m = f_sqrt(f_mul(f_max(f_sub(aa, f_mul(ha, ha)), zero), f_max(f_sub(bb, f_mul(hb, hb)), zero)));
        const lf inverse = f_div(one, f_max(m, least));
        const lf c0 = f_mul(f_sub(ab, f_mul(ha, hb)), inverse), s0 = f_mul(v3_dot(h, x), inverse);
        lf c1 = f_min(f_max(f_sub(c0, f_mul(gap, f_mul(half, inverse))), minus_one), one);
        c1 = f_select(straight, minus_one, c1);
        lf side = s0;
        const lm collinear = f_le(f_abs(s0), direction_tolerance);
        if (m_any(m_and(collinear, lanes))) {
            lf chosen = f_splat(setup->hinge_side[setup->from + j]);
            if (setup->hinge_side[setup->from + j] == 0.0f) chosen = v3_dot(h, v3_cross(b, v3_sub(c->goal, at)));
            side = f_select(collinear, f_select(f_lt(c0, zero), f_neg(chosen), chosen), side);
        }
        const lf s1 = f_copysign(f_sqrt(f_max(f_mul(f_sub(one, c1), f_add(one, c1)), zero)), side);
        turn = q4_turn(h, f_add(f_mul(c0, c1), f_mul(s0, s1)), f_sub(f_mul(s1, c0), f_mul(c1, s0)), one);
        const lm may_jump = m_and(lanes, c->distant);
        if (!ccd_limit(c, j)->twist_free && m_any(may_jump)) {
            lf cosine, sine;
            ccd_hinge_angle(c, j, &cosine, &sine);
            const lm leaves = m_and(may_jump, ccd_leaves_range(c, j, h, turn, cosine, sine));
            if (m_any(leaves)) { /* the triangle's other side, where the hinge can go there */
                const lf other_cosine = f_sub(f_mul(c0, c1), f_mul(s0, s1)), other_sine = f_sub(f_mul(f_neg(s1), c0), f_mul(c1, s0));
                const lq4 other = q4_turn(h, other_cosine, other_sine, one);
                turn = q4_select(m_andnot(leaves, ccd_leaves_range(c, j, h, other, cosine, sine)), other, turn);
            }
        }
        turn = q4_select(f_lt(least, m), turn, q4_identity());
    } else {
        const lf m = f_sqrt(f_mul(aa, bb)), sx = f_sqrt(v3_dot(x, x));
        const lf inverse = f_div(one, f_max(m, least));
        lv3 axis = x;
        lf c0 = f_mul(ab, inverse), s0 = f_mul(sx, inverse), axis_length = sx;
        const lm collinear = f_le(s0, direction_tolerance);
        if (m_any(m_and(collinear, lanes))) {
            axis = v3_select(collinear, ccd_bend_axis(c, v3_scale(a, f_div(one, f_max(f_sqrt(aa), f_splat(1e-18f))))), axis);
            c0 = f_select(collinear, f_copysign(one, c0), c0), s0 = f_select(collinear, zero, s0);
            axis_length = f_select(collinear, one, axis_length);
        }
        lf c1 = f_min(f_max(f_sub(c0, f_mul(gap, f_mul(half, inverse))), minus_one), one);
        c1 = f_select(straight, minus_one, c1);
        const lf s1 = f_sqrt(f_max(f_mul(f_sub(one, c1), f_add(one, c1)), zero));
        const lf cosine = f_add(f_mul(c0, c1), f_mul(s0, s1)), sine = f_sub(f_mul(s1, c0), f_mul(c1, s0));
        const lm obtuse = f_lt(cosine, zero);
        const lf w = f_select(obtuse, f_abs(sine), f_add(one, cosine));
        const lf k = f_select(obtuse, f_copysign(f_sub(one, cosine), sine), sine);
        const lf divisor = f_div(one, f_some(f_mul(axis_length, f_sqrt(f_add(f_mul(w, w), f_mul(k, k))))));
        const lf scale = f_mul(k, divisor);
        turn = (lq4){f_mul(axis.x, scale), f_mul(axis.y, scale), f_mul(axis.z, scale), f_mul(w, f_mul(axis_length, divisor))};
        const lm usable = f_lt(least, m);
        if (!m_all(usable)) turn = q4_select(usable, turn, q4_identity());
    }
    turn = ccd_allowed_turn(c, j, turn, lanes, limited);
    ccd_keep_turn(c, j, turn, lanes, mixed);
    *tip = v3_add(at, q4_rotate(turn, b));
}

/* A chain so far from its goal may jump; a nearer one, such as last frame's, must not. */
static inline lm ccd_is_distant(const ccd_lanes *c) { return f_lt(f_mul(c->length, f_splat(0.1f)), c->residual); }

static inline void ccd_distance_begin(ccd_lanes *c, lm lanes) {
    c->distant = ccd_is_distant(c);
    c->wanted_squared = f_mul(c->goal_distance, c->goal_distance);
    c->straight = m_and(lanes, f_le(f_mul(c->length, f_splat(0.999999f)), c->goal_distance));
    c->hint_known = 0;
}

/* The root aims. */
static inline void ccd_distance_end(ccd_lanes *c, lv3 tip, lm lanes, int mixed, const int limited) {
    const phx_ccd_setup *setup = c->setup;
    lq4 turn;
    if (ccd_is_hinge(c, 0, limited)) {
        turn = ccd_hinge_aim(ccd_hinge_axis(c, 0), tip, c->goal);
    } else {
        turn = ccd_aim_turn(tip, c->goal, c->goal_distance, v3_reject(spare_direction(c->aim), c->aim));
        const lm known = m_and(f_lt(f_splat(1e-6f), c->goal_distance), f_lt(f_splat(1e-12f), v3_dot(tip, tip)));
        turn = q4_select(known, turn, q4_identity());
    }
    const float weight = setup->weight[setup->from];
    if (weight < 1.0f) turn = q4_fraction(turn, f_splat(weight));
    ccd_keep_turn(c, 0, ccd_allowed_turn(c, 0, turn, lanes, limited), lanes, mixed);
}

/* Distance step of `count` vectors together, joint by joint: while one waits for its roots and divisions, the other works. */
static inline void ccd_distance_step(ccd_lanes *set, uint32_t count, const lm *lanes, int mixed, const int limited) {
    lv3 tip[CCD_IN_FLIGHT];
    for (uint32_t v = 0; v < count; ++v) ccd_distance_begin(set + v, lanes[v]), tip[v] = set[v].at[set[v].bones];
    for (uint32_t j = set->bones - 1; j > 0; --j)
        for (uint32_t v = 0; v < count; ++v) ccd_distance_joint(set + v, j, tip + v, lanes[v], mixed, limited);
    for (uint32_t v = 0; v < count; ++v) ccd_distance_end(set + v, tip[v], lanes[v], mixed, limited);
}

/* +1 where a hinge is at the upper end of its range, -1 at the lower, else 0 */
static inline lf ccd_hinge_end(const ccd_lanes *c, uint32_t j) {
    const phx_limit_setup *limit = ccd_limit(c, j);
    if (limit->twist_free) return f_splat(0.0f);
    const lf one = f_splat(1.0f);
    lf cosine, sine;
    ccd_hinge_angle(c, j, &cosine, &sine);
    return f_keep(f_lt(f_abs(cosine), f_splat(limit->range_cos + 1e-5f)), f_copysign(one, f_mul(sine, f_copysign(one, cosine))));
}

/* the symmetric matrix of the share step */
typedef struct ccd_matrix {
    lf xx, xy, xz, yy, yz, zz;
} ccd_matrix;

/* adds weight times m m^T */
static inline void ccd_add_outer(ccd_matrix *a, lv3 m, lf weight) {
    const lv3 k = v3_scale(m, weight);
    a->xx = f_add(a->xx, f_mul(k.x, m.x)), a->xy = f_add(a->xy, f_mul(k.x, m.y)), a->xz = f_add(a->xz, f_mul(k.x, m.z));
    a->yy = f_add(a->yy, f_mul(k.y, m.y)), a->yz = f_add(a->yz, f_mul(k.y, m.z)), a->zz = f_add(a->zz, f_mul(k.z, m.z));
}

/* (matrix + damping)^-1, by adjugate over determinant */
static inline ccd_matrix ccd_inverse(const ccd_matrix *a, lf damping) {
    const lf xx = f_add(a->xx, damping), yy = f_add(a->yy, damping), zz = f_add(a->zz, damping), xy = a->xy, xz = a->xz, yz = a->yz;
    const lf ax = f_sub(f_mul(yy, zz), f_mul(yz, yz)), ay = f_sub(f_mul(xz, yz), f_mul(xy, zz)), az = f_sub(f_mul(xy, yz), f_mul(xz, yy));
    const lf by = f_sub(f_mul(xx, zz), f_mul(xz, xz)), bz = f_sub(f_mul(xy, xz), f_mul(xx, yz)), cz = f_sub(f_mul(xx, yy), f_mul(xy, xy));
    const lf determinant = f_add(f_add(f_mul(xx, ax), f_mul(xy, ay)), f_mul(xz, az));
    const lf inverse = f_div(f_splat(1.0f), f_max(determinant, f_splat(1e-20f)));
    return (ccd_matrix){f_mul(ax, inverse), f_mul(ay, inverse), f_mul(az, inverse), f_mul(by, inverse), f_mul(bz, inverse), f_mul(cz, inverse)};
}

static inline lv3 ccd_times(const ccd_matrix *a, lv3 v) {
    return v3(v3_dot(v3(a->xx, a->xy, a->xz), v), v3_dot(v3(a->xy, a->yy, a->yz), v), v3_dot(v3(a->xz, a->yz, a->zz), v));
}

/* what joint j is to turn where the share step's answer is y; r: from the joint to the tip */
static inline lv3 ccd_share_turn(const ccd_lanes *c, uint32_t j, lv3 r, lv3 y, lf weight, lf HELD, const int limited) {
    const lv3 axis = limited ? v3(c->turn[j].x, c->turn[j].y, c->turn[j].z) : v3_zero();
    const lm held = limited ? f_eq(c->turn[j].w, HELD) : m_from_bits(0);
    if (ccd_is_hinge(c, j, limited)) return v3_scale(axis, f_select(held, f_splat(0.0f), f_mul(v3_dot(v3_cross(axis, r), y), weight)));
    const lv3 turn = v3_scale(v3_cross(r, y), weight);
    return limited && m_any(held) ? v3_select(held, v3_sub(turn, v3_scale(axis, v3_dot(axis, turn))), turn) : turn;
}

/* Share step: all joints at once, in every lane. What limits take away is left out of the sum: first what the miss itself would push
 * further, then what the first answer would. Turns do not add up: how far the tip will be off for that, to the second order, is shared as
 * well. Until it holds the turns, the row of turns keeps for limited joints the axis of a hinge or the blocked direction, and in w which
 * way is blocked: the end of a hinge's range, 1 for a blocked direction, HELD where it counts. */
static inline void ccd_share_step(ccd_lanes *c, lm lanes, const int limited) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), half_of = f_splat(0.5f), HELD = f_splat(2.0f);
    const float *weights = c->setup->weight + c->setup->from;
    const lv3 tip = c->at[c->bones], miss = v3_sub(c->goal, tip);
    ccd_matrix sum = {zero, zero, zero, zero, zero, zero};
    for (uint32_t j = 0; j < c->bones; ++j) {
        const lv3 r = v3_sub(tip, c->at[j]);
        const lf weight = f_splat(weights[j]);
        if (ccd_is_hinge(c, j, limited)) {
            const lv3 axis = ccd_hinge_axis(c, j);
            const lf end = ccd_hinge_end(c, j);
            const lm held = f_lt(zero, f_mul(v3_dot(axis, v3_cross(r, miss)), end));
            c->turn[j] = (lq4){axis.x, axis.y, axis.z, f_select(held, HELD, end)};
            ccd_add_outer(&sum, v3_cross(axis, r), f_select(held, zero, weight));
            continue;
        }
        const lv3 k = v3_scale(r, weight);
        const lf x2 = f_mul(k.x, r.x), y2 = f_mul(k.y, r.y), z2 = f_mul(k.z, r.z);
        sum.xx = f_add(sum.xx, f_add(y2, z2)), sum.yy = f_add(sum.yy, f_add(x2, z2)), sum.zz = f_add(sum.zz, f_add(x2, y2));
        sum.xy = f_sub(sum.xy, f_mul(k.x, r.y)), sum.xz = f_sub(sum.xz, f_mul(k.x, r.z)), sum.yz = f_sub(sum.yz, f_mul(k.y, r.z));
        if (!limited) continue;
        const lv3 axis = c->blocked[j];
        const lm held = f_lt(zero, v3_dot(axis, v3_cross(r, miss)));
        c->turn[j] = (lq4){axis.x, axis.y, axis.z, f_select(held, HELD, one)};
        if (m_any(held)) ccd_add_outer(&sum, v3_cross(axis, r), f_keep(held, f_splat(-weights[j])));
    }
    const lf length_squared = f_mul(c->length, c->length), squared = v3_dot(miss, miss);
    const lf damping = f_add(f_mul(length_squared, f_splat(1e-5f)), f_mul(f_min(squared, length_squared), f_splat(0.2f)));
    ccd_matrix inverse = ccd_inverse(&sum, damping);
    lv3 y = ccd_times(&inverse, miss);
    if (limited) {
        lm more = m_from_bits(0);
        for (uint32_t j = 0; j < c->bones; ++j) {
            const lv3 motion = v3_cross(v3(c->turn[j].x, c->turn[j].y, c->turn[j].z), v3_sub(tip, c->at[j]));
            const lf way = c->turn[j].w;
            const lm pushed = m_andnot(f_lt(zero, f_mul(v3_dot(motion, y), way)), f_eq(way, HELD));
            if (!m_any(pushed)) continue;
            more = m_or(more, pushed);
            c->turn[j].w = f_select(pushed, HELD, way);
            ccd_add_outer(&sum, motion, f_keep(pushed, f_splat(-weights[j])));
        }
        if (m_any(more)) inverse = ccd_inverse(&sum, damping), y = ccd_times(&inverse, miss); /* the same bits where nothing was added */
    }
    const lm far = f_lt(f_mul(f_mul(c->length, c->tolerance), f_splat(0.25f)), squared);
    if (m_any(m_and(lanes, far))) {
        lv3 all = v3_zero(), second = v3_zero(); /* turns of the joints before, and where the tip comes to lie beyond the sum */
        for (uint32_t j = 0; j < c->bones; ++j) {
            const lv3 r = v3_sub(tip, c->at[j]), turn = ccd_share_turn(c, j, r, y, f_splat(weights[j]), HELD, limited);
            second = v3_add(second, v3_cross(v3_add(all, v3_scale(turn, half_of)), v3_cross(turn, r)));
            all = v3_add(all, turn);
        }
        const lm small = f_lt(v3_dot(second, second), f_mul(squared, f_splat(0.0625f)));
        y = v3_select(m_and(far, small), v3_sub(y, ccd_times(&inverse, second)), y);
    }
    for (uint32_t j = 0; j < c->bones; ++j) {
        lv3 half = ccd_share_turn(c, j, v3_sub(tip, c->at[j]), y, f_splat(weights[j] * 0.5f), HELD, limited);
        const lf sine = v3_dot(half, half);
        const lm wide = f_lt(f_splat(0.25f), sine);
        if (m_any(wide)) half = v3_select(wide, v3_scale(half, f_div(half_of, f_sqrt(f_max(sine, f_splat(0.25f))))), half);
        c->turn[j] = ccd_allowed_turn(c, j, q4_normalize((lq4){half.x, half.y, half.z, one}), lanes, limited);
    }
}

/* Plain CCD: from the tip to the root, in sweep order. */
static inline void ccd_plain_step(ccd_lanes *c, lm lanes, const int limited) {
    const phx_ccd_setup *setup = c->setup;
    lv3 tip = c->at[c->bones];
    c->hint_known = 0;
    for (uint32_t j = c->bones; j-- > 0;) {
        const lv3 at = c->at[j], b = v3_sub(tip, at), a = v3_sub(c->goal, at);
        const lf aa = v3_dot(a, a), bb = v3_dot(b, b), ab = v3_dot(a, b);
        lq4 turn;
        if (ccd_is_hinge(c, j, limited)) {
            turn = ccd_hinge_aim(ccd_hinge_axis(c, j), b, a);
        } else {
            const lf a_length = f_sqrt(aa), m = f_mul(a_length, f_sqrt(bb));
            lv3 spare = v3_zero();
            const lm opposite = f_lt(ab, f_mul(m, f_splat(-0.999f)));
            if (m_any(m_and(opposite, lanes)))
                spare = v3_select(opposite, ccd_bend_axis(c, v3_scale(a, f_div(f_splat(1.0f), f_max(a_length, f_splat(1e-8f))))), spare);
            turn = ccd_aim_turn(b, a, a_length, spare);
            turn = q4_select(m_and(f_lt(f_splat(1e-12f), aa), f_lt(f_splat(1e-12f), bb)), turn, q4_identity());
        }
        const float weight = setup->weight[setup->from + j] * setup->damping;
        if (weight < 1.0f) turn = q4_fraction(turn, f_splat(weight));
        turn = ccd_allowed_turn(c, j, turn, lanes, limited);
        c->turn[j] = turn;
        tip = v3_add(at, q4_rotate(turn, b));
    }
}

/* Applies the turns of a sweep from the root to the tip, to `count` vectors together. */
static inline void ccd_apply_turns(ccd_lanes *set, uint32_t count, const int limited) {
    lq4 all[CCD_IN_FLIGHT];
    lv3 at[CCD_IN_FLIGHT];
    for (uint32_t v = 0; v < count; ++v) all[v] = q4_identity(), at[v] = v3_zero();
    for (uint32_t j = 0; j < set->bones; ++j) {
        for (uint32_t v = 0; v < count; ++v) {
            ccd_lanes *c = set + v;
            if (limited) c->blocked[j] = v3_select(c->active, q4_rotate(all[v], c->blocked[j]), c->blocked[j]);
            all[v] = j ? q4_mul(all[v], c->turn[j]) : c->turn[j];
            const lq4 frame = q4_settle(c->fresh ? all[v] : q4_mul(all[v], c->frame[j]));
            c->frame[j] = q4_select(c->active, frame, c->frame[j]);
            at[v] = v3_add(at[v], q4_rotate(c->frame[j], c->bone[j]));
            c->at[j + 1] = at[v];
        }
    }
}

static void ccd_place_joints(ccd_lanes *c) {
    lv3 at = v3_zero();
    c->at[0] = at;
    for (uint32_t j = 0; j < c->bones; ++j) {
        at = v3_add(at, q4_rotate(c->frame[j], c->bone[j]));
        c->at[j + 1] = at;
    }
}

/* fraction of a positive number */
static inline lf f_fraction(lf a) { return f_sub(a, i_to_f(i_truncate(a))); }

/* The seed-th pose of a limit's own range, as a local rotation: by the two-dimensional sequence of Roberts (2018), no angle nearer
 * to an end than 15 % of the range. */
static lq4 ccd_seed_rotation(const phx_limit_setup *limit, uint32_t j, lf seed) {
    const lf one = f_splat(1.0f);
    const lf odd = f_splat((float)(j & 1u) * 0.25f);
    const lf first = f_mul(seed, f_splat(0.7548777f)), second = f_mul(f_mul(f_splat((float)j), seed), f_splat(0.5698403f));
    const lf number = f_fraction(f_add(f_add(first, second), odd));
    const lv3 axis = v3_splat3(limit->axis);
    const lf middle_cos = f_splat(limit->middle_cos), middle_sin = f_splat(limit->middle_sin);
    if (limit->type == PHX_LIMIT_HINGE) {
        const lf x = f_sub(f_mul(number, f_splat(1.4f)), f_splat(0.7f)), size = f_abs(x);
        const lf c = f_add(f_sub(one, size), f_mul(size, f_splat(limit->range_cos))), s = f_mul(x, f_splat(limit->range_sin));
        const lf inverse = f_div(one, f_sqrt(f_add(f_mul(c, c), f_mul(s, s))));
        const lf w = f_mul(f_sub(f_mul(c, middle_cos), f_mul(s, middle_sin)), inverse);
        const lf p = f_mul(f_add(f_mul(s, middle_cos), f_mul(c, middle_sin)), inverse);
        return q4_mul(q4_splat(limit->rest), (lq4){f_mul(axis.x, p), f_mul(axis.y, p), f_mul(axis.z, p), w});
    }
    const lf half = f_splat(0.5f), four = f_splat(4.0f);
    const lf across = f_fraction(f_add(number, f_splat(0.25f)));
    const lf a = f_mul(f_sub(one, f_mul(f_abs(f_sub(number, half)), four)), f_splat(limit->tan_side * 0.3f));
    const lf b = f_mul(f_sub(one, f_mul(f_abs(f_sub(across, half)), four)), f_splat(limit->tan_across * 0.3f));
    const lf squared = f_add(f_mul(a, a), f_mul(b, b)), scale = f_div(one, f_add(one, squared)), twice = f_add(scale, scale);
    const lv3 v = v3_add(v3_scale(v3_splat3(limit->side), f_mul(a, twice)), v3_scale(v3_splat3(limit->across), f_mul(b, twice)));
    /* no twist, or where that is not allowed the middle of the range */
    const int twisted = !limit->twist_free && limit->middle_cos < limit->range_cos;
    const lf w = twisted ? middle_cos : one, p = twisted ? middle_sin : f_splat(0.0f);
    const lq4 swing = {v.x, v.y, v.z, f_mul(f_sub(one, squared), scale)};
    return q4_mul(q4_splat(limit->rest), q4_mul(swing, (lq4){f_mul(axis.x, p), f_mul(axis.y, p), f_mul(axis.z, p), w}));
}

/* How far the tip is from the goal in the seed-th pose within the limits; takes that pose in the lanes of `keep`. Joints without
 * a limit stay. */
static lf ccd_seed_pose(ccd_lanes *c, lf seed, lm keep) {
    lq4 old_parent = c->parent, frame = c->parent;
    lv3 at = v3_zero();
    for (uint32_t j = 0; j < c->bones; ++j) {
        const phx_limit_setup *limit = ccd_limit(c, j);
        const lq4 old = c->frame[j];
        const lq4 local = limit->type == PHX_LIMIT_NONE ? q4_mul(q4_conjugate(old_parent), old) : ccd_seed_rotation(limit, j, seed);
        frame = q4_normalize(q4_mul(frame, local));
        at = v3_add(at, q4_rotate(frame, c->bone[j]));
        c->frame[j] = q4_select(keep, frame, old);
        c->at[j + 1] = v3_select(keep, at, c->at[j + 1]);
        c->blocked[j] = v3_select(keep, v3_zero(), c->blocked[j]);
        old_parent = old;
    }
    return v3_length(v3_sub(c->goal, at));
}

/* Starts again from the nearest of four poses within the limits; the distance from there. */
static lf ccd_restart(ccd_lanes *c, li number, lm lanes) {
    lf nearest = f_splat(3.402823466e+38f), chosen = f_splat(1.0f);
    for (int32_t k = 1; k <= 4; ++k) {
        const lf seed = i_to_f(i_add(i_shl(number, 2), i_splat(k))), distance = ccd_seed_pose(c, seed, m_from_bits(0));
        const lm nearer = f_lt(distance, nearest);
        nearest = f_select(nearer, distance, nearest), chosen = f_select(nearer, seed, chosen);
    }
    return ccd_seed_pose(c, chosen, lanes);
}

/* Turns the chain about the line from root to tip until its bend points along the pole, as far as the root may; the lanes that
 * turned. */
static lm ccd_follow_pole(ccd_lanes *c, lm lanes, const int limited) {
    const lv3 chord = c->at[c->bones];
    const lf chord_length = v3_length(chord);
    const lv3 axis = v3_scale(chord, f_div(f_splat(1.0f), f_some(chord_length)));
    const lv3 bend = ccd_pose_bend(c), pole = v3_reject(c->pole, axis);
    const lf bend_squared = v3_dot(bend, bend), pole_squared = v3_dot(pole, pole);
    const lm given = f_lt(f_mul(v3_dot(c->pole, c->pole), f_splat(c->setup->chain.direction_tolerance_squared)), pole_squared);
    lanes = m_and(m_and(lanes, f_lt(f_splat(1e-4f), chord_length)), m_and(f_lt(f_splat(0.0f), bend_squared), given));
    if (!m_any(lanes)) return lanes;
    lq4 turn = q4_turn(axis, v3_dot(bend, pole), v3_dot(axis, v3_cross(bend, pole)), f_mul(f_sqrt(bend_squared), f_sqrt(pole_squared)));
    const float weight = c->setup->weight[c->setup->from];
    if (weight < 1.0f) turn = q4_fraction(turn, f_splat(weight));
    turn = ccd_allowed_turn(c, 0, turn, lanes, limited);
    for (uint32_t j = 0; j < c->bones; ++j) c->frame[j] = q4_select(lanes, q4_settle(q4_mul(turn, c->frame[j])), c->frame[j]);
    ccd_place_joints(c);
    return lanes;
}

/* A joint before a hinge also turns about its own bone, u (unit), which ends at `end`, so that the hinge bends the next bone toward
 * where it should go: by its range where that goes one way, else by the bend it has. */
static inline lq4 ccd_face_hinge(const ccd_lanes *c, uint32_t j, lq4 old, lq4 frame, lv3 bone, lv3 u, lv3 end, lv3 wanted, lm lanes,
                                 lm *changed) {
    const phx_ccd_setup *setup = c->setup;
    const lv3 next = c->bone[j + 1], e = v3_reject(v3_sub(wanted, end), u);
    const float side = setup->hinge_side[setup->from + j + 1];
    lv3 bend;
    if (side == 0.0f) bend = q4_rotate(q4_mul(q4_conjugate(old), c->frame[j + 1]), next);
    else bend = v3_scale(v3_cross(v3_splat3(setup->hinge_axis[setup->from + j + 1]), bone), f_splat(side));
    const lv3 b = v3_reject(q4_rotate(frame, bend), u);
    const lf bb = v3_dot(b, b), ee = v3_dot(e, e);
    lanes = m_and(lanes, m_and(f_lt(f_mul(v3_dot(next, next), f_splat(2.5e-3f)), ee), f_lt(f_splat(1e-8f), bb)));
    if (!m_any(lanes)) return frame;
    const lq4 parent = ccd_parent(c, j);
    const lq4 faced = q4_mul(q4_turn(u, v3_dot(b, e), v3_dot(u, v3_cross(b, e)), f_sqrt(f_mul(bb, ee))), frame);
    lm clamped;
    const lq4 local = limit_local(ccd_limit(c, j), q4_mul(q4_conjugate(parent), faced), &clamped);
    *changed = m_or(*changed, m_and(lanes, clamped));
    return q4_select(lanes, q4_normalize(q4_mul(parent, local)), frame);
}

/* One round of FABRIK: back from the aim to the first bone's end without limits, for there no joint's parent is known yet; forth from the
 * root, each joint turning its bone toward the next one's place as far as its limit allows. The row of turns keeps the places, and in w the
 * lengths of the bones. */
static inline void ccd_fabrik_round(ccd_lanes *c, lv3 aim, lm lanes) {
    const lf one = f_splat(1.0f), tiny = f_splat(1e-8f);
    lv3 place = aim;
    for (uint32_t i = c->bones - 1; i > 0; --i) {
        const lv3 d = v3_sub(c->at[i], place);
        const lf length = v3_length(c->bone[i]);
        place = v3_add(place, v3_scale(d, f_div(length, f_max(v3_length(d), tiny))));
        c->turn[i] = (lq4){place.x, place.y, place.z, length};
    }
    c->turn[0].w = v3_length(c->bone[0]);
    lq4 old_parent = c->parent;
    lv3 at = v3_zero();
    for (uint32_t j = 0; j < c->bones; ++j) {
        const phx_limit_setup *limit = ccd_limit(c, j);
        const int last = j + 1 == c->bones;
        const lq4 parent = ccd_parent(c, j), old = c->frame[j];
        const lv3 to = v3_sub(last ? aim : v3(c->turn[j + 1].x, c->turn[j + 1].y, c->turn[j + 1].z), at);
        const lf to_length = v3_length(to), bone_length = c->turn[j].w;
        const lm usable = m_and(lanes, m_and(f_lt(tiny, to_length), f_lt(tiny, bone_length)));
        const lv3 bone = v3_scale(c->bone[j], f_div(one, f_max(bone_length, tiny)));
        const lq4 before = q4_mul(q4_conjugate(old_parent), old);
        lm changed;
        const lv3 direction = v3_scale(to, f_div(one, f_max(to_length, tiny)));
        lq4 local = limit_toward(limit, before, bone, q4_rotate(q4_conjugate(parent), direction), &changed);
        changed = m_and(changed, usable);
        local = q4_select(usable, local, before);
        lq4 frame = q4_normalize(q4_mul(parent, local));
        if (!last && ccd_is_hinge(c, j + 1, 1) && !ccd_is_hinge(c, j, 1)) {
            const lv3 u = q4_rotate(frame, bone);
            const lv3 wanted = j + 2 == c->bones ? aim : v3(c->turn[j + 2].x, c->turn[j + 2].y, c->turn[j + 2].z);
            frame = ccd_face_hinge(c, j, old, frame, bone, u, v3_add(at, v3_scale(u, bone_length)), wanted, usable, &changed);
        }
        c->hit = m_or(c->hit, changed);
        frame = c->frame[j] = q4_select(lanes, frame, old);
        c->blocked[j] = v3_select(lanes, v3_zero(), c->blocked[j]);
        at = v3_add(at, q4_rotate(frame, c->bone[j]));
        c->at[j + 1] = v3_select(lanes, at, c->at[j + 1]);
        old_parent = old;
    }
}

/* What the chains of a vector did in one step, for those who ask how busy the lanes are. */
static inline void ccd_count(const ccd_lanes *c, lm lanes) {
    if (c->setup->stats) c->setup->stats->busy += m_count(m_and(lanes, c->counted)), c->setup->stats->total += LANES;
}

/* FABRIK's rounds before the sweeps, aimed beyond the goal as in fabrik.inl; they end early where one leaves more than half of the
 * error. */
static inline void ccd_fabrik_rounds(ccd_lanes *c) {
    const lf zero = f_splat(0.0f), most = f_splat(8.0f);
    lm in = m_and(m_and(c->active, ccd_is_distant(c)), f_le(c->unreachable, zero));
    in = m_and(in, f_lt(c->goal_distance, f_mul(c->length, f_splat(0.999999f))));
    lv3 error = v3_sub(c->at[c->bones], c->goal);
    lf alpha = zero, squared = v3_dot(error, error);
    for (uint32_t k = 0; k < c->setup->rounds && m_any(in); ++k) {
        ccd_count(c, in);
        ccd_fabrik_round(c, v3_sub(c->goal, v3_scale(error, alpha)), in);
        const lv3 now = v3_sub(c->at[c->bones], c->goal);
        const lf kept = v3_dot(now, error), lost = f_sub(squared, kept), before = c->residual;
        const lf least = f_mul(squared, f_splat(1e-3f));
        const lf share = f_div(f_add(kept, f_mul(alpha, squared)), f_some(f_max(lost, least)));
        alpha = f_select(f_le(lost, least), most, f_min(f_max(share, zero), most));
        error = now, squared = v3_dot(now, now);
        c->residual = f_select(in, f_sqrt(squared), c->residual);
        c->used = i_select(in, i_add(c->used, i_splat(1)), c->used);
        const lm improved = m_and(in, f_lt(c->residual, c->best_residual));
        c->best_residual = f_select(improved, c->residual, c->best_residual);
        if (m_any(improved))
            for (uint32_t j = 0; j < c->bones; ++j) c->best[j] = q4_select(improved, c->frame[j], c->best[j]);
        const lm arrived = m_and(in, f_le(c->residual, f_add(c->unreachable, c->tolerance)));
        c->active = m_andnot(m_andnot(c->active, arrived), m_andnot(in, i_gt(c->budget, c->used)));
        in = m_andnot(m_and(in, c->active), f_lt(f_mul(before, f_splat(0.5f)), c->residual));
    }
}

static inline void ccd_sweeps_begin(ccd_lanes *c, const int limited) {
    const lf far = f_splat(3.402823466e+38f);
    c->residual = c->best_residual = v3_length(v3_sub(c->goal, c->at[c->bones]));
    c->before = c->before_that = far;
    c->since = c->restarts = c->used = i_splat(0);
    c->active = m_and(m_and(c->ok, f_lt(c->tolerance, c->residual)), i_gt(c->budget, c->used));
    if (!c->fresh && m_any(c->active))
        for (uint32_t j = 0; j < c->bones; ++j) c->best[j] = c->frame[j];
    const lm within = f_lt(c->goal_distance, f_mul(c->length, f_splat(c->setup->near_reach)));
    const lm near = m_and(within, f_lt(c->residual, f_mul(c->length, f_splat(c->setup->near))));
    if (limited && c->setup->rounds) ccd_fabrik_rounds(c);
    c->phase = i_select(m_or(near, f_lt(c->residual, f_mul(c->length, f_splat(0.025f)))), i_splat(1), i_splat(0));
}

/* After a sweep: who has arrived, cannot get nearer, has used its budget, or starts again. */
static inline void ccd_sweep_end(ccd_lanes *c, const int limited) {
    const phx_ccd_setup *setup = c->setup;
    const li one = i_splat(1);
    const lm swept = c->active;
    c->used = i_select(swept, i_add(c->used, one), c->used);
    c->since = i_add(c->since, one), c->phase = i_add(c->phase, one);
    if (setup->root_free) c->phase = i_select(i_eq(c->phase, i_splat(3)), i_splat(0), c->phase);
    c->before_that = c->before, c->before = c->residual;
    c->residual = v3_length(v3_sub(c->goal, c->at[c->bones]));
    const lm improved = m_and(swept, f_lt(c->residual, c->best_residual));
    c->best_residual = f_select(improved, c->residual, c->best_residual);
    c->active = m_and(m_and(swept, f_lt(c->tolerance, c->residual)), i_gt(c->budget, c->used));
    c->active = m_andnot(c->active, f_le(c->residual, f_add(c->unreachable, c->tolerance)));
    const int fresh = c->fresh;
    c->fresh = 0;
    if (fresh && m_any(m_andnot(swept, improved))) /* the pose before the first sweep was better */
        for (uint32_t j = 0; j < c->bones; ++j) c->best[j] = q4_identity();
    if (!m_any(c->active)) return;
    lm renewed = m_from_bits(0);
    if (setup->mode != PHX_CCD_PLAIN) {
        const lm late = m_and(c->active, i_gt(c->since, i_splat(2)));
        if (c->may_restart) {
            renewed = m_and(late, f_lt(f_mul(c->before_that, f_splat(0.6f)), c->residual));
            renewed = m_and(renewed, i_gt(i_splat((int32_t)setup->restarts), c->restarts));
        }
        const lm stalled = m_and(m_andnot(late, renewed), f_lt(f_mul(c->before_that, f_splat(0.99f)), c->residual));
        c->active = m_andnot(c->active, stalled);
    }
    const lm keep = m_and(improved, c->active);
    if (m_any(keep))
        for (uint32_t j = 0; j < c->bones; ++j) c->best[j] = q4_select(keep, c->frame[j], c->best[j]);
    if (limited && m_any(renewed)) {
        c->residual = f_select(renewed, ccd_restart(c, c->restarts, renewed), c->residual);
        c->active = m_and(c->active, f_lt(c->tolerance, c->residual)); /* the new pose may be there already */
        c->restarts = i_select(renewed, i_add(c->restarts, one), c->restarts);
        c->since = i_select(renewed, i_splat(0), c->since), c->phase = i_select(renewed, one, c->phase);
        c->before = f_select(renewed, f_splat(3.402823466e+38f), c->before);
    }
}

/* One more sweep of the lanes that are active. */
static inline void ccd_sweep(ccd_lanes *c, const int limited) {
    ccd_count(c, c->active);
    if (c->setup->mode == PHX_CCD_PLAIN) {
        ccd_plain_step(c, c->active, limited);
    } else {
        const lm distance = m_and(c->active, i_eq(c->phase, i_splat(0))), share = m_andnot(c->active, distance);
        const int mixed = m_any(distance) && m_any(share);
        if (m_any(share)) ccd_share_step(c, share, limited);
        if (m_any(distance)) ccd_distance_step(c, 1, &distance, mixed, limited);
    }
    ccd_apply_turns(c, 1, limited);
    ccd_sweep_end(c, limited);
}

/* Everything before the first sweep of `count` vectors, and that sweep where all of their lanes take the same step in it. */
static inline void ccd_first_sweep(ccd_lanes *set, uint32_t count, const int limited) {
    lm first[CCD_IN_FLIGHT];
    int together = set->setup->mode != PHX_CCD_PLAIN;
    for (uint32_t v = 0; v < count; ++v) {
        ccd_sweeps_begin(set + v, limited);
        first[v] = m_and(set[v].active, i_eq(set[v].phase, i_splat(0)));
        together = together && m_any(first[v]) && !m_any(m_andnot(set[v].active, first[v]));
    }
    if (!together) return;
    for (uint32_t v = 0; v < count; ++v) ccd_count(set + v, set[v].active);
    ccd_distance_step(set, count, first, 0, limited);
    ccd_apply_turns(set, count, limited);
    for (uint32_t v = 0; v < count; ++v) ccd_sweep_end(set + v, limited);
}

/* The best pose seen, in lanes whose last is not; those of `away` are looked after elsewhere. */
static inline void ccd_take_best(ccd_lanes *c, lm away) {
    const lm worse = m_andnot(m_and(c->ok, f_lt(c->best_residual, c->residual)), away);
    if (!m_any(worse)) return;
    for (uint32_t j = 0; j < c->bones; ++j) c->frame[j] = q4_select(worse, c->best[j], c->frame[j]);
    ccd_place_joints(c);
}

/* Sweeps until every lane has arrived, cannot get nearer, or has used its budget. */
static inline void ccd_go_on(ccd_lanes *c, const int limited) {
    while (m_any(c->active)) ccd_sweep(c, limited);
    ccd_take_best(c, m_from_bits(0));
}

/* ---- survivors ---- */

/* Chains of several vectors that have more sweeps to go, side by side; when a vector is full it is swept and sent home. */
typedef struct ccd_pool {
    ccd_lanes lanes;
    uint32_t count;
    ccd_lanes *home[2 * LANES];
    uint8_t lane[2 * LANES]; /* at home */
    float *waiting;          /* a row for each carried one, twice as wide: a whole vector of packed lanes fits behind what is there */
} ccd_pool;

enum { CCD_STATES = (offsetof(ccd_lanes, hints) - offsetof(ccd_lanes, length)) / sizeof(lf) };

static inline char *ccd_states(ccd_lanes *c) { return (char *)c + offsetof(ccd_lanes, length); }

static inline lf carried_row(const void *rows, size_t row) {
    lf a;
    memcpy(&a, (const char *)rows + row * sizeof a, sizeof a);
    return a;
}

static inline void ccd_take_in(ccd_pool *pool, ccd_lanes *home, lm lanes) {
    const lp plan = m_packing(lanes);
    const size_t rows = CCD_ROWS_CARRIED * home->bones + 3;
    float *to = pool->waiting + pool->count;
    for (size_t row = 0; row < CCD_STATES; ++row, to += 2 * LANES) f_store_any(to, f_pack(plan, carried_row(ccd_states(home), row)));
    for (size_t row = 0; row < rows; ++row, to += 2 * LANES) f_store_any(to, f_pack(plan, carried_row(home->bone, row)));
    for (uint32_t bits = m_bits(lanes); bits; bits &= bits - 1, ++pool->count)
        pool->home[pool->count] = home, pool->lane[pool->count] = (uint8_t)__builtin_ctz(bits);
}

static inline void send_lane(void *to, uint32_t to_lane, const void *from, uint32_t lane, size_t rows) {
    for (size_t row = 0; row < rows; ++row)
        memcpy((char *)to + row * sizeof(lf) + 4 * to_lane, (const char *)from + row * sizeof(lf) + 4 * lane, 4);
}

/* Sweeps the first LANES of those that wait, and sends them home. */
static inline void ccd_sweep_pool(ccd_pool *pool, const int limited) {
    ccd_lanes *c = &pool->lanes;
    const size_t rows = CCD_STATES + CCD_ROWS_CARRIED * c->bones + 3;
    const uint32_t count = pool->count < LANES ? pool->count : LANES;
    for (size_t row = 0; row < rows; ++row) {
        float *from = pool->waiting + row * 2 * LANES;
        const lf a = f_load(from);
        memcpy(row < CCD_STATES ? ccd_states(c) + row * sizeof a : (char *)c->bone + (row - CCD_STATES) * sizeof a, &a, sizeof a);
        f_store(from, f_load(from + LANES));
    }
    c->ok = c->active = c->counted = m_from_bits((1u << count) - 1u);
    c->hit = m_from_bits(0), c->fresh = c->hint_known = 0;
    ccd_go_on(c, limited);
    const uint32_t hit = m_bits(c->hit);
    PHX_ALIGN_64 uint32_t used[LANES];
    i_store(used, c->used);
    for (uint32_t k = 0; k < count; ++k) {
        ccd_lanes *home = pool->home[k];
        const uint32_t lane = pool->lane[k];
        send_lane(home->frame, lane, c->frame, k, 4 * c->bones);
        memcpy((char *)home + offsetof(ccd_lanes, used) + 4 * lane, used + k, 4);
        home->hit = m_or(home->hit, m_from_bits((hit >> k & 1u) << lane));
    }
    pool->count -= count;
    memmove(pool->home, pool->home + count, pool->count * sizeof *pool->home);
    memmove(pool->lane, pool->lane + count, pool->count);
}

/* The sweeps of a window of vectors. Half of limited chains need one sweep, a few need many, and a vector would wait for these: of 16
 * lanes 40 to 47 % were busy. Together survivors take 12 to 31 % off the time, at 4 lanes 12 to 15 %. */
static inline void ccd_pooled_sweeps(ccd_pool *pool, ccd_lanes *set, uint32_t count, const int limited) {
    lm away[CCD_WINDOW];
    pool->lanes.may_restart = set->may_restart;
    for (uint32_t v = 0; v < count; ++v) {
        ccd_lanes *c = set + v;
        while (m_count(c->active) > CCD_MANY) ccd_sweep(c, limited);
        away[v] = m_and(c->active, c->counted);
        ccd_take_best(c, c->active);
        if (m_any(away[v])) ccd_take_in(pool, c, away[v]);
        if (pool->count >= LANES) ccd_sweep_pool(pool, limited);
    }
    if (pool->count) ccd_sweep_pool(pool, limited);
    for (uint32_t v = 0; v < count; ++v)
        if (m_any(away[v])) ccd_place_joints(set + v);
}

static inline lm ccd_is_rotation(lq4 a) {
    const lf squared = q4_dot(a, a);
    return m_and(f_lt(f_splat(0.25f), squared), f_lt(squared, f_splat(4.0f)));
}

/* The pose to start from, as rotations, within the limits; where, are the rows of the group. */
static inline void ccd_take_start(ccd_lanes *c, const phx_rows3 *start, const phx_rows4 *rotation, uint32_t lane, const int limited) {
    lq4 old_parent = c->parent;
    lm moved = m_from_bits(0);
    for (uint32_t j = 0; j < c->bones; ++j) {
        lq4 frame = q4_identity();
        const lv3 bone = c->bone[j];
        if (start) {
            const lf tiny = f_splat(1e-12f), one = f_splat(1.0f);
            const lv3 wanted = v3_sub(v3_load(start + j + 1, lane), v3_load(start + j, lane));
            const lf a = v3_length(bone), b = v3_length(wanted);
            const lv3 to = v3_scale(wanted, f_div(one, f_max(b, tiny)));
            const lq4 swing = q4_between(v3_scale(bone, f_div(one, f_max(a, tiny))), to, one, v3_reject(spare_direction(to), to));
            frame = q4_select(m_and(f_lt(tiny, a), f_lt(tiny, b)), swing, frame);
        }
        if (limited) {
            const lq4 animated = q4_normalize(q4_load(rotation + j, lane));
            c->animated[j] = bone;
            c->bone[j] = q4_rotate(q4_conjugate(animated), bone);
            frame = q4_mul(frame, animated);
            lm changed;
            const lq4 local = q4_mul(q4_conjugate(old_parent), frame);
            const lq4 within = limit_local(ccd_limit(c, j), local, &changed);
            old_parent = frame;
            moved = m_or(moved, changed);
            if (m_any(moved)) frame = q4_select(moved, q4_normalize(q4_mul(ccd_parent(c, j), within)), frame);
            c->blocked[j] = v3_zero();
        }
        c->frame[j] = frame;
    }
    c->hit = moved;
    if (start || limited) {
        ccd_place_joints(c);
        return;
    }
    c->at[0] = v3_zero();
    for (uint32_t j = 0; j < c->bones; ++j) c->at[j + 1] = v3_add(c->at[j], c->bone[j]);
}

static inline void ccd_lay_out(ccd_lanes *c, const phx_ccd_setup *setup, uint32_t bones, lf *rows) {
    c->setup = setup, c->bones = bones;
    c->bone = (lv3 *)rows, rows += 3 * bones;
    c->at = (lv3 *)rows, rows += 3 * (bones + 1);
    c->frame = (lq4 *)rows, rows += 4 * bones;
    c->best = (lq4 *)rows, rows += 4 * bones;
    c->share = rows, rows += bones;
    c->blocked = (lv3 *)rows, rows += 3 * bones;
    c->turn = (lq4 *)rows, rows += 4 * bones;
    c->animated = (lv3 *)rows;
}

/* LANES chains of a block, from rows to the pose that they start from. */
static inline void ccd_prepare(ccd_lanes *c, const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane,
                               lf *rows, const int limited) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), least_divisor = f_splat(1e-30f);
    const li none = i_splat(0);
    const uint32_t joints = blocks->joints, from = setup->from, bones = joints - 1 - from;
    phx_rows3 *position = blocks->position + block * joints;
    const phx_rows3 *start = blocks->start ? blocks->start + block * joints : NULL;
    const phx_rows4 *rotation = blocks->rotation ? blocks->rotation + block * joints : NULL;
    const lv3 root = v3_load(position + from, lane), target = v3_load(blocks->target + block, lane);
    const lf weight = blocks->weight ? f_load(blocks->weight[block].v + lane) : one;
    const lq4 parent = blocks->parent_rotation ? q4_load(blocks->parent_rotation + block, lane) : q4_identity();
    ccd_lay_out(c, setup, bones, rows);

    /* what the chain is made of, and whether it is sound */
    const lf least_length = f_splat(1e-18f);
    const lv3 delta = v3_sub(target, root);
    const lf target_distance = v3_length(delta);
    const lv3 toward = v3_scale(delta, f_div(one, f_max(target_distance, least_length)));
    const lv3 aim = v3_select(f_lt(least_length, target_distance), toward, v3(one, zero, zero));
    lm ok = f_eq(weight, weight);
    lf total = zero, longest = zero;
    for (uint32_t j = 0; j < bones; ++j) {
        lv3 bone = v3_sub(v3_load(position + from + j + 1, lane), v3_load(position + from + j, lane));
        lf length = v3_length(bone);
        lf wanted = settled_length(length);
        if (blocks->length) wanted = f_load(blocks->length[block * (joints - 1) + from + j].v + lane);
        const lm nothing = f_le(length, least_length);
        ok = m_and(ok, m_and(f_le(zero, wanted), f_lt(length, f_splat(1e18f)))); /* the second: joints that are not finite */
        bone = v3_scale(bone, f_div(wanted, f_max(length, least_length)));
        length = wanted;
        if (m_any(nothing)) {
            bone = v3_select(nothing, v3_zero(), bone), length = f_select(nothing, zero, length);
            if (blocks->length) { /* its joints coincide: along the bone before it, else toward the target */
                lv3 led = v3_scale(aim, wanted);
                if (j) {
                    const lf before = c->share[j - 1];
                    led = v3_select(f_lt(least_length, before), v3_scale(c->bone[j - 1], f_div(wanted, f_max(before, least_length))), led);
                }
                const lm given = m_and(nothing, f_lt(least_length, wanted));
                bone = v3_select(given, led, bone), length = f_select(given, wanted, length);
            }
        }
        c->bone[j] = bone, c->share[j] = length;
        total = f_add(total, length);
        longest = f_max(length, longest);
    }
    lf still = zero; /* length of the bones that do not turn: they are looked at all the same, and tolerances are shares of all bones */
    for (uint32_t j = 0; j < from; ++j) {
        const lf most = f_splat(1e9f), distance = v3_length(v3_sub(v3_load(position + j + 1, lane), v3_load(position + j, lane)));
        ok = m_and(ok, f_lt(distance, most));
        lf wanted = settled_length(distance);
        if (blocks->length) {
            wanted = f_load(blocks->length[block * (joints - 1) + j].v + lane);
            ok = m_and(ok, m_and(f_le(zero, wanted), f_lt(wanted, most)));
        }
        still = f_add(still, wanted);
    }
    ok = m_and(ok, m_and(m_and(f_lt(f_splat(1e-9f), total), f_lt(total, f_splat(1e9f))), f_lt(target_distance, f_splat(1e9f))));
    if (start)
        for (uint32_t j = 0; j < joints; ++j) {
            const lv3 at = v3_load(start + j, lane);
            ok = m_and(ok, f_lt(v3_dot(at, at), f_splat(1e30f)));
        }
    if (rotation) {
        for (uint32_t j = 0; j < joints; ++j) ok = m_and(ok, ccd_is_rotation(q4_load(rotation + j, lane)));
        ok = m_and(ok, ccd_is_rotation(parent));
    }
    c->given_total = total;
    if (!m_all(ok)) total = f_select(ok, total, one);

    /* into units of a power of two near the chain's length; then reach, stretch, shares */
    const lf metre = power_of_two_of(total), unit = f_div(one, metre);
    const lf full = f_mul(total, unit), distance = f_mul(target_distance, unit);
    c->aim = v3_scale(delta, f_div(one, f_max(target_distance, least_divisor)));
    lf goal_distance = distance, stretch = one;
    c->goal = v3_scale(delta, unit);
    const lf farthest = f_mul(full, f_splat(1e4f)); /* the same direction, but nothing that overflows */
    const lm remote = f_lt(farthest, distance);
    if (m_any(remote)) {
        goal_distance = f_select(remote, farthest, distance);
        c->goal = v3_select(remote, v3_scale(c->aim, farthest), c->goal);
    }
    li flags = none;
    if (setup->chain.soft) {
        const lf begin = f_mul(full, f_splat(setup->chain.soft_start)), room = f_sub(full, begin);
        const lm soften = f_lt(begin, distance);
        const lf eased = eased_share(f_sub(begin, distance), room);
        goal_distance = f_select(soften, f_sub(full, f_mul(room, eased)), goal_distance);
        flags = i_select(soften, i_or(flags, i_splat(PHX_FLAG_SOFTENED)), flags);
    }
    if (setup->chain.stretch) {
        const lf reach = f_min(goal_distance, full);
        const lf wanted = f_min(f_max(f_div(distance, f_max(reach, least_divisor)), one), f_splat(setup->chain.max_stretch));
        stretch = f_select(f_lt(reach, distance), wanted, stretch);
        goal_distance = f_mul(reach, stretch);
        flags = i_select(f_lt(one, stretch), i_or(flags, i_splat(PHX_FLAG_STRETCHED)), flags);
    }
    if (setup->chain.soft || setup->chain.stretch) c->goal = v3_scale(c->aim, goal_distance);
    c->goal_distance = goal_distance;
    c->length = f_mul(full, stretch);
    c->tolerance = f_mul(f_add(full, f_mul(still, unit)), f_splat(setup->chain.tolerance));
    const lf scale = f_mul(unit, stretch), least = f_mul(total, f_splat(1e-7f));
    lf before = zero, sum = zero;
    lm no_length = m_from_bits(0);
    for (uint32_t j = 0; j < bones; ++j) {
        const lf length = c->share[j], reached = f_mul(before, unit);
        const lf lever = f_mul(reached, f_sub(full, reached));
        const lf part = j ? f_mul(f_mul(lever, lever), f_splat(setup->weight[from + j])) : zero;
        sum = f_add(sum, part);
        c->share[j] = f_div(part, f_max(sum, least_divisor));
        before = f_add(before, length);
        c->bone[j] = v3_scale(c->bone[j], scale);
        no_length = m_or(no_length, f_le(length, least));
    }
    flags = i_select(no_length, i_or(flags, i_splat(PHX_FLAG_ZERO_LENGTH)), flags);
    c->parent = parent;
    if (limited) c->parent = q4_normalize(from ? q4_load(rotation + from - 1, lane) : parent);
    c->pole = v3_zero();
    if (blocks->pole) {
        const lm unusable = take_pole(v3_load(blocks->pole + block, lane), &c->pole);
        flags = i_select(unusable, i_or(flags, i_splat(PHX_FLAG_HINT_UNUSABLE)), flags);
    }
    c->previous = blocks->bend ? v3_load(blocks->bend + block, lane) : v3_zero();
    c->rest_bend = blocks->rest_bend ? v3_load(blocks->rest_bend + block, lane) : v3_zero();

    c->root = root, c->target = target, c->delta = delta, c->weight = weight;
    c->metre = metre, c->unit = unit, c->full = full, c->distance = distance, c->stretch = stretch, c->longest = longest;
    c->flags = flags, c->ok = ok, c->turned = m_from_bits(0);
    const lf nearest = f_sub(f_mul(f_mul(f_add(longest, longest), unit), stretch), c->length);
    c->unreachable = f_max(f_max(f_sub(goal_distance, c->length), f_sub(nearest, goal_distance)), zero);
    const li most = i_splat((int32_t)setup->chain.max_iterations);
    c->budget = most;
    if (blocks->budget) {
        const li given = i_load(blocks->budget[block].v + lane);
        c->budget = i_select(m_or(i_gt(none, given), i_gt(given, most)), most, given);
    }
    c->fresh = !limited && !start && (setup->root_free || !blocks->pole);
    c->may_restart = limited && !start && setup->mode == PHX_CCD_SHARE;
    ccd_take_start(c, start ? start + from : NULL, limited ? rotation + from : NULL, lane, limited);
    if (!setup->root_free && blocks->pole) c->turned = ccd_follow_pole(c, ok, limited);
}

/* From the solved pose to rows. */
static inline void ccd_finish(ccd_lanes *c, const phx_chain_blocks *blocks, size_t block, uint32_t lane, const int limited) {
    const phx_ccd_setup *setup = c->setup;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const li none = i_splat(0);
    const uint32_t joints = blocks->joints, from = setup->from, bones = c->bones, tip = joints - 1;
    phx_rows3 *position = blocks->position + block * joints;
    const phx_rows4 *rotation = blocks->rotation ? blocks->rotation + block * joints : NULL;
    const lm ok = c->ok;
    const lf stretch = c->stretch;
    if (setup->root_free && blocks->pole) c->turned = ccd_follow_pole(c, ok, limited);
    li flags = c->flags;
    if (limited) flags = i_select(c->hit, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);

    /* bend direction, and whether the pole was of use */
    if (blocks->bend || blocks->pole) {
        const lv3 chord = c->at[bones];
        const lf chord_length = v3_length(chord);
        const lf tiny = f_splat(1e-6f);
        const lv3 axis = v3_select(f_le(chord_length, tiny), c->aim, v3_scale(chord, f_div(one, f_max(chord_length, tiny))));
        const lf tolerance_squared = f_splat(setup->chain.direction_tolerance_squared);
        lv3 bend = v3_reject(spare_direction(axis), axis), unused;
        const lv3 hints[4] = {ccd_pose_bend(c), c->pole, c->previous, c->rest_bend};
        lm open = m_not(m_from_bits(0));
        for (int k = 0; k < 4; ++k) open = m_andnot(open, take_hint(open, hints[k], axis, tolerance_squared, &bend));
        if (blocks->bend) v3_store(blocks->bend + block, lane, v3_select(ok, unit_bend(bend, axis), c->previous));
        unused = bend;
        const lm usable = take_hint(ok, c->pole, axis, tolerance_squared, &unused);
        const lm given = m_not(f_eq(v3_dot(c->pole, c->pole), zero));
        flags = i_select(m_andnot(given, usable), i_or(flags, i_splat(PHX_FLAG_HINT_UNUSABLE)), flags);
    }

    /* corrections, the tip's own among them */
    const lm idle = i_eq(c->budget, none); /* as animated */
    const lf weight = f_select(idle, zero, c->weight);
    const lm partial = f_lt(weight, one), any_weight = f_lt(zero, weight);
    lm moved = m_or(m_not(i_eq(c->used, none)), c->turned);
    if (limited) moved = m_or(moved, c->hit);
    if (setup->chain.stretch) moved = m_or(moved, f_lt(one, stretch));
    if (blocks->start || blocks->length) moved = m_not(m_from_bits(0));
    moved = m_and(m_and(moved, any_weight), ok);
    lm tip_turns = m_from_bits(0);
    const lq4 above = c->frame[bones - 1];
    if (limited) { /* one turn from the animated bone: twice turned ones would shrink over many frames */
        for (uint32_t j = 0; j < bones; ++j) {
            c->frame[j] = q4_normalize(q4_mul(c->frame[j], q4_conjugate(q4_normalize(q4_load(rotation + from + j, lane)))));
            c->bone[j] = c->animated[j];
        }
        ccd_place_joints(c);
    }
    lq4 tip_correction = c->frame[bones - 1];
    if (blocks->correction || limited) {
        if (blocks->target_rotation) {
            const lq4 wanted = q4_load(blocks->target_rotation + block, lane);
            tip_turns = ccd_is_rotation(wanted);
            const lq4 turn = q4_normalize(q4_mul(wanted, q4_conjugate(q4_load(rotation + tip, lane))));
            tip_correction = q4_select(tip_turns, turn, tip_correction);
        }
        if (limited) {
            const lq4 animated = q4_normalize(q4_load(rotation + tip, lane));
            lm changed;
            const lq4 local = q4_mul(q4_conjugate(above), q4_mul(tip_correction, animated));
            const lq4 within = limit_local(&setup->chain.limits[tip], local, &changed);
            const lq4 limited_tip = q4_normalize(q4_mul(q4_mul(above, within), q4_conjugate(animated)));
            tip_correction = q4_select(changed, limited_tip, tip_correction);
            tip_turns = m_or(tip_turns, changed);
            flags = i_select(changed, i_or(flags, i_splat(PHX_FLAG_LIMIT)), flags);
        }
    }

    /* weight, in rotation space */
    lf grown = stretch;
    if (m_any(partial)) {
        const lf share = f_max(weight, zero);
        grown = f_select(partial, f_add(one, f_mul(f_sub(stretch, one), share)), stretch);
        const lf ratio = f_div(f_add(one, f_mul(f_sub(stretch, one), share)), stretch);
        flags = i_select(any_weight, flags, flags_unmoved(flags));
        for (uint32_t j = 0; j < bones; ++j) {
            c->frame[j] = q4_select(partial, q4_fraction(c->frame[j], share), c->frame[j]);
            c->bone[j] = v3_select(partial, v3_scale(c->bone[j], ratio), c->bone[j]);
        }
        tip_correction = q4_select(partial, q4_fraction(tip_correction, share), tip_correction);
        ccd_place_joints(c);
    }
    phx_rows3 *placed = blocks->solved ? blocks->solved + block * joints : position;
    for (uint32_t j = 0; blocks->solved && j <= from; ++j) v3_store(placed + j, lane, v3_load(position + j, lane));
    for (uint32_t j = 0; j < bones; ++j) {
        const lv3 solved = v3_add(c->root, v3_scale(c->at[j + 1], c->metre));
        v3_store(placed + from + j + 1, lane, v3_select(moved, solved, v3_load(position + from + j + 1, lane)));
    }
    if (blocks->correction) {
        phx_rows4 *out = blocks->correction + block * joints;
        for (uint32_t j = 0; j < from; ++j) q4_store(out + j, lane, q4_identity());
        for (uint32_t j = 0; j < bones; ++j) q4_store(out + from + j, lane, q4_select(moved, c->frame[j], q4_identity()));
        q4_store(out + tip, lane, q4_select(m_and(m_or(moved, tip_turns), ok), tip_correction, q4_identity()));
    }

    /* honesty: the residual as returned, and what stood in the way */
    lv3 end = c->at[bones];
    if (blocks->length && !m_all(moved)) /* laid out with the given lengths, but left where it was */
        end = v3_select(moved, end, v3_scale(v3_sub(v3_load(position + tip, lane), c->root), c->unit));
    const lf residual = v3_length(v3_sub(v3_scale(c->delta, c->unit), end));
    const lm reached = f_le(residual, c->tolerance);
    const lf epsilon = f_mul(c->full, f_splat(0x1p-22f));
    const lm far = f_lt(f_sub(c->full, epsilon), c->distance);
    const lm close = f_lt(c->distance, f_sub(f_sub(f_mul(f_add(c->longest, c->longest), c->unit), c->full), epsilon));
    li blame = i_select(m_andnot(partial, idle), none, i_splat(PHX_FLAG_STALLED));
    blame = i_select(far, i_splat(PHX_FLAG_OUT_OF_REACH), i_select(close, i_splat(PHX_FLAG_TOO_CLOSE), blame));
    flags = i_or(flags, i_select(reached, i_splat(PHX_FLAG_REACHED), blame));
    lf metres = f_mul(residual, c->metre);
    if (!m_all(ok)) { /* bad input: as animated */
        const lv3 miss = v3_sub(c->target, v3_load(position + tip, lane));
        metres = f_select(ok, metres, f_min(v3_length(miss), f_splat(3.402823466e+38f)));
        const li bad = i_splat(PHX_FLAG_BAD_INPUT), no_chain = i_splat(PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
        flags = i_select(ok, flags, i_select(f_le(c->given_total, f_splat(1e-9f)), no_chain, bad));
        grown = f_select(ok, grown, one);
    }
    if (blocks->stretch) f_store(blocks->stretch[block].v + lane, grown);
    if (blocks->residual) f_store(blocks->residual[block].v + lane, metres);
    if (blocks->iterations) i_store(blocks->iterations[block].v + lane, i_select(m_and(ok, any_weight), c->used, none));
    if (blocks->flags) i_store(blocks->flags[block].v + lane, flags);
}

/* The first `chains` chains of the blocks, `span` vectors at a time; their survivors in the pool, where one is given. */
static inline void ccd_run(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t chains, ccd_lanes *set, lf *rows,
                           uint32_t span, ccd_pool *pool, const int limited) {
    const size_t stride = CCD_ROWS_A_BONE * (blocks->joints - 1u) + 3u;
    for (size_t k = 0; k < chains; k += span * LANES) {
        uint32_t count = 0;
        for (size_t i = k; count < span && i < chains; ++count, i += LANES) {
            ccd_prepare(set + count, setup, blocks, i / PHX_BLOCK_LANES, (uint32_t)(i % PHX_BLOCK_LANES), rows + count * stride, limited);
            set[count].counted = m_from_bits(chains - i >= LANES ? 0xFFFFu : (1u << (chains - i)) - 1u);
        }
        uint32_t v = 0;
        for (; v + CCD_IN_FLIGHT <= count; v += CCD_IN_FLIGHT) ccd_first_sweep(set + v, CCD_IN_FLIGHT, limited);
        for (; v < count; ++v) ccd_first_sweep(set + v, 1, limited);
        if (pool && count > 2) ccd_pooled_sweeps(pool, set, count, limited);
        else for (v = 0; v < count; ++v) ccd_go_on(set + v, limited);
        for (v = 0; v < count; ++v) {
            const size_t i = k + v * LANES;
            ccd_finish(set + v, blocks, i / PHX_BLOCK_LANES, (uint32_t)(i % PHX_BLOCK_LANES), limited);
        }
    }
}

/* Three frames of the stack, so that short chains ask for little, and free ones for less, as nearly all of these need one sweep; long ones
 * do not need company to keep the processor busy. */
static lane_apart void ccd_short_limited_chains(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t chains) {
    lf rows[CCD_WINDOW_ROWS], pool_rows[CCD_ROWS_A_BONE * CCD_SHORT + 3];
    PHX_ALIGN_64 float waiting[(CCD_STATES + CCD_ROWS_CARRIED * CCD_SHORT + 3) * 2 * LANES];
    ccd_lanes set[CCD_WINDOW];
    ccd_pool pool;
    const uint32_t fit = CCD_WINDOW_ROWS / (CCD_ROWS_A_BONE * (blocks->joints - 1u) + 3u);
    const uint32_t bones = blocks->joints - 1u - setup->from;
    memset(waiting, 0, (CCD_STATES + CCD_ROWS_CARRIED * bones + 3) * 2 * LANES * sizeof *waiting); /* lanes of no chain go along */
    pool.count = 0, pool.waiting = waiting;
    ccd_lay_out(&pool.lanes, setup, bones, pool_rows);
    ccd_run(setup, blocks, chains, set, rows, fit < CCD_WINDOW ? fit : CCD_WINDOW, &pool, 1);
}
static lane_apart void ccd_short_chains(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t chains) {
    lf rows[CCD_IN_FLIGHT * (CCD_ROWS_A_BONE * CCD_SHORT + 3)];
    ccd_lanes set[CCD_IN_FLIGHT];
    ccd_run(setup, blocks, chains, set, rows, CCD_IN_FLIGHT, NULL, 0);
}
static lane_apart void ccd_long_chains(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t chains) {
    lf rows[CCD_ROWS_A_BONE * PHX_CHAIN_MAX_BONES + 3];
    ccd_lanes set[1];
    if (setup->chain.limited) ccd_run(setup, blocks, chains, set, rows, 1, NULL, 1);
    else ccd_run(setup, blocks, chains, set, rows, 1, NULL, 0);
}
static void ccd_chains(const void *setup, const phx_chain_blocks *blocks, size_t chains) {
    const phx_ccd_setup *ccd = setup;
    if (blocks->joints - 1 <= CCD_SHORT && ccd->chain.limited) ccd_short_limited_chains(setup, blocks, chains);
    else if (blocks->joints - 1 <= CCD_SHORT) ccd_short_chains(setup, blocks, chains);
    else ccd_long_chains(setup, blocks, chains);
}

static void ccd_blocks(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count) {
    const phx_chain_blocks part = chain_blocks_at(blocks, first, count);
    ccd_chains(setup, &part, count * PHX_BLOCK_LANES);
}

static void ccd_job(const phx_ccd_setup *setup, const phx_chain_job *job, size_t first, size_t count) {
    chain_job_run(setup, job, first, count, ccd_chains);
}
