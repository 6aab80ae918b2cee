/* FABRIK over lanes. Included by kernel/table.inl once for each width; the method is described in phalanx/fabrik.h, the scalar
 * twin is reference/fabrik.c.
 *
 * Chains need different numbers of rounds, and a round waits for its square root and division. So IN_FLIGHT vectors go through a
 * round together (the stage); when few of their lanes are still busy, these are compressed into a second set (the pool), which
 * runs, writes out what is done, closes the gaps and is topped up. A lane's arithmetic never depends on where it is. */

enum {
    IN_FLIGHT = LANES == 16 ? 4 : 8,
    IN_FLIGHT_LONG = IN_FLIGHT / 2, /* above FABRIK_SHORT bones, to bound the stack */
    FABRIK_SHORT = 32,
    STEPS_IN_REGISTERS = LANES == 16,
    STEPS_AHEAD = LANES == 16 ? 2 : 1,
    FABRIK_WINDOW = 512,          /* chains of a window at most, */
    FABRIK_WINDOW_FLOATS = 16384, /* fewer where their bones need more than this */
    /* a row of a set holds its lanes and one vector of slack, which whole-vector stores of packed lanes run into */
    FABRIK_FLOATS_SHORT = 4 * FABRIK_SHORT * (IN_FLIGHT + 1) * LANES,
    FABRIK_FLOATS_LONG = 4 * PHX_CHAIN_MAX_BONES * (IN_FLIGHT_LONG + 1) * LANES,
    FABRIK_BACK_SHORT = 3 * FABRIK_SHORT * IN_FLIGHT * LANES,
    FABRIK_BACK_LONG = 3 * PHX_CHAIN_MAX_BONES * IN_FLIGHT_LONG * LANES,
    FABRIK_BACK_FLOATS = FABRIK_BACK_SHORT > FABRIK_BACK_LONG ? FABRIK_BACK_SHORT : FABRIK_BACK_LONG,
    FABRIK_FLOATS = FABRIK_FLOATS_SHORT > FABRIK_FLOATS_LONG ? FABRIK_FLOATS_SHORT : FABRIK_FLOATS_LONG,
};

/* rows of state of a chain in a set, besides four for each bone: the joint at its end, relative to the root, and its length */
enum { TARGET_X, TARGET_Y, TARGET_Z, WHOLE, COUNTS, CHAIN, FABRIK_STATES };

/* COUNTS: rounds in the lowest bits, a bit for a chain that one more step closes, one for a bone without length, and what is left of the
 * budget in the high half */
enum { COUNT_ROUNDS = 0x3FFF, COUNT_CLOSES = 1 << 14, COUNT_ZERO_LENGTH = 1 << 15, COUNT_LEFT = 1 << 16, COUNT_ROUND = 1 - COUNT_LEFT };

/* the joints between root and tip on their way back, three rows for each, without slack */
typedef struct fabrik_back {
    PHX_ALIGN_64 float joints[FABRIK_BACK_FLOATS];
} fabrik_back;

typedef struct fabrik_set {
    PHX_ALIGN_64 float joints[FABRIK_FLOATS];
    PHX_ALIGN_64 float state[FABRIK_STATES][(IN_FLIGHT + 1) * LANES];
    lm active[IN_FLIGHT];
    size_t stride;   /* floats from row to row of `joints` */
    uint32_t count;  /* pool: lanes in use */
} fabrik_set;

/* What the end of a chain needs to know of its beginning, for one vector. Where positions are the answer, nothing from `axis` on is set. */
typedef struct fabrik_case {
    li flags, blame;
    lm ok, moved; /* usable input; joints are no longer the animated ones */
    lm still;     /* not usable, no chain at all, or a budget of 0 */
    lv3 axis, delta;
    lf stretch, weight;
} fabrik_case;

/* Chains whose answer is more than positions, from when their rounds are over until all of the window's are. */
typedef struct fabrik_window {
    PHX_ALIGN_64 float joints[FABRIK_WINDOW_FLOATS]; /* vector by vector: four rows for each bone, as in a set */
    PHX_ALIGN_64 float whole[FABRIK_WINDOW];
    PHX_ALIGN_64 uint32_t counts[FABRIK_WINDOW];
    fabrik_case cases[FABRIK_WINDOW / LANES];
    size_t first; /* its first chain */
} fabrik_window;

static inline size_t fabrik_stride(uint32_t vectors) { return (vectors + 1) * LANES; }
static inline void fabrik_prepare(fabrik_set *set, uint32_t vectors) {
    set->stride = fabrik_stride(vectors), set->count = 0;
}
static inline float *fabrik_row(fabrik_set *set, uint32_t bone, uint32_t component, uint32_t vector) {
    return set->joints + (4 * bone + component) * set->stride + vector * LANES;
}
static inline lv3 joint_at(fabrik_set *set, uint32_t bone, uint32_t vector) {
    const float *row = fabrik_row(set, bone, 0, vector);
    return v3(f_load(row), f_load(row + set->stride), f_load(row + 2 * set->stride));
}
static inline void set_joint(fabrik_set *set, uint32_t bone, uint32_t vector, lv3 at) {
    float *row = fabrik_row(set, bone, 0, vector);
    f_store(row, at.x), f_store(row + set->stride, at.y), f_store(row + 2 * set->stride, at.z);
}
static inline lf bone_length(fabrik_set *set, uint32_t bone, uint32_t vector) { return f_load(fabrik_row(set, bone, 3, vector)); }
static inline lv3 state3(fabrik_set *set, uint32_t row, uint32_t vector) {
    return v3(f_load(set->state[row] + vector * LANES), f_load(set->state[row + 1] + vector * LANES), f_load(set->state[row + 2] + vector * LANES));
}
static inline void set_state3(fabrik_set *set, uint32_t row, uint32_t vector, lv3 a) {
    f_store(set->state[row] + vector * LANES, a.x), f_store(set->state[row + 1] + vector * LANES, a.y);
    f_store(set->state[row + 2] + vector * LANES, a.z);
}

/* ---- starting poses: rare, out of line, for the lanes of a mask ---- */

/* A divisor for lanes beside the mask, which may hold no chain: shares of a chain's length are above it, and no quotient by it overflows. */
static inline lf some_length(lf a) { return f_max(a, f_splat(1e-19f)); }

static inline lv3 sum_of_bends(fabrik_set *set, uint32_t vector, uint32_t bones, lv3 axis) {
    lv3 sum = v3_splat(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < bones; ++i) sum = v3_add(sum, v3_reject(joint_at(set, i, vector), axis));
    return sum;
}

/* The first usable of pole, previous bend, own bend, rest bend, spare direction; unit. */
static inline lv3 choose_bend(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane, lv3 axis, lf whole, lv3 own) {
    const lf tolerance_squared = f_splat(setup->direction_tolerance_squared), noise = f_mul(whole, f_splat(1e-5f));
    lv3 chosen = v3_reject(spare_direction(axis), axis);
    lm open = m_from_bits(0xFFFF);
    if (blocks->pole) open = m_andnot(open, take_hint(open, v3_load(blocks->pole + block, lane), axis, tolerance_squared, &chosen));
    if (blocks->bend) open = m_andnot(open, take_hint(open, v3_load(blocks->bend + block, lane), axis, tolerance_squared, &chosen));
    const lm bent = m_and(open, f_lt(f_mul(noise, noise), v3_dot(own, own)));
    chosen = v3_select(bent, own, chosen);
    open = m_andnot(open, bent);
    if (blocks->rest_bend) take_hint(open, v3_load(blocks->rest_bend + block, lane), axis, tolerance_squared, &chosen);
    return unit_bend(chosen, axis);
}

static void lay_on_arc(fabrik_set *set, uint32_t vector, uint32_t bones, lm wanted, lf whole, lv3 axis, lf chord, lv3 bend) {
    const lf one = f_splat(1.0f);
    const lf inverse = f_div(one, some_length(whole));
    const lf m = f_max(f_sub(one, f_mul(chord, inverse)), f_splat(1e-7f));
    const lf m_squared = f_mul(m, m);
    const lf x = f_sqrt(f_add(f_add(f_mul(m, f_splat(6.0f)), f_mul(m_squared, f_splat(1.8f))), f_mul(f_mul(m_squared, m_squared), f_splat(2.07f))));
    const lf radius = f_div(whole, f_add(x, x));
    lf sine_end, cosine_end, along = f_splat(0.0f);
    f_sincos(x, &sine_end, &cosine_end);
    for (uint32_t i = 0; i < bones; ++i) {
        along = f_add(along, bone_length(set, i, vector));
        const lf share = f_mul(along, inverse);
        lf sine, cosine;
        f_sincos(f_mul(x, f_sub(f_add(share, share), one)), &sine, &cosine);
        const lv3 at = v3_add(v3_scale(axis, f_mul(f_add(sine_end, sine), radius)), v3_scale(bend, f_mul(f_sub(cosine, cosine_end), radius)));
        set_joint(set, i, vector, v3_select(wanted, at, joint_at(set, i, vector)));
    }
}

static void lay_on_triangle(fabrik_set *set, uint32_t vector, uint32_t bones, lm wanted, lf whole, lf longest, lv3 axis, lf aimed, lv3 bend) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), least = f_mul(whole, f_splat(1e-6f));
    const lf others = f_sub(whole, longest), chord = f_max(aimed, least);
    lf along = f_div(f_sub(f_add(f_mul(longest, longest), f_mul(chord, chord)), f_mul(others, others)), some_length(f_add(chord, chord)));
    along = f_min(f_max(along, f_neg(longest)), longest);
    const lf height = f_sqrt(f_max(f_mul(f_sub(longest, along), f_add(longest, along)), zero));
    const lv3 rise = v3_scale(bend, f_select(f_eq(bone_length(set, 0, vector), longest), height, f_neg(height)));
    const lv3 long_side = v3_add(v3_scale(axis, along), rise);
    const lv3 other_side = v3_scale(v3_sub(v3_scale(axis, f_sub(chord, along)), rise), f_div(one, some_length(f_max(others, least))));
    lm open = m_from_bits(0xFFFF);
    lv3 at = v3(zero, zero, zero);
    for (uint32_t i = 0; i < bones; ++i) {
        const lf length = bone_length(set, i, vector);
        const lm is_longest = m_and(open, f_eq(length, longest));
        open = m_andnot(open, is_longest);
        at = v3_add(at, v3_select(is_longest, long_side, v3_scale(other_side, length)));
        set_joint(set, i, vector, v3_select(wanted, at, joint_at(set, i, vector)));
    }
}

static void scale_bends(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane, fabrik_set *set, uint32_t vector,
                        uint32_t bones, lm wanted, lf whole, lv3 axis, lf aimed) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), least = f_mul(whole, f_splat(1e-6f));
    const lf inverse = f_div(one, some_length(whole));
    const lv3 none = v3(zero, zero, zero), tip = v3_reject(joint_at(set, bones - 1, vector), axis);
    lf spent = zero, along = zero;
    lv3 before = none, own = none;
    for (uint32_t i = 0; i < bones; ++i) {
        const lf length = bone_length(set, i, vector);
        along = f_add(along, length);
        const lv3 deviation = v3_sub(v3_reject(joint_at(set, i, vector), axis), v3_scale(tip, f_mul(along, inverse)));
        const lv3 across = v3_sub(deviation, before);
        spent = f_add(spent, f_div(v3_dot(across, across), some_length(f_max(length, least))));
        own = v3_add(own, deviation);
        before = deviation;
    }
    const lm flat = f_le(spent, least);
    const lm flat_wanted = m_and(wanted, flat);
    if (m_any(flat_wanted)) lay_on_arc(set, vector, bones, flat_wanted, whole, axis, aimed, choose_bend(setup, blocks, block, lane, axis, whole, own));
    wanted = m_andnot(wanted, flat);
    if (!m_any(wanted)) return;
    const lf scale = f_sqrt(f_div(f_max(f_mul(f_sub(whole, aimed), f_splat(2.0f)), zero), some_length(f_max(spent, least))));
    along = zero, before = none;
    lv3 at = none;
    for (uint32_t i = 0; i < bones; ++i) {
        const lf length = bone_length(set, i, vector);
        const lv3 old = joint_at(set, i, vector);
        along = f_add(along, length);
        const lv3 deviation = v3_sub(v3_reject(old, axis), v3_scale(tip, f_mul(along, inverse)));
        const lv3 across = v3_scale(v3_sub(deviation, before), scale);
        const lf squared = f_mul(length, length);
        const lf forth = f_sqrt(f_max(f_sub(squared, v3_dot(across, across)), f_mul(squared, f_splat(0.04f))));
        at = v3_add(at, v3_add(across, v3_scale(axis, forth)));
        before = deviation;
        set_joint(set, i, vector, v3_select(wanted, at, old));
    }
}

/* out of reach: along the axis; nearer than the chain can fold: the first of the longest bones along it, the others against it */
static void lay_straight(fabrik_set *set, uint32_t vector, uint32_t bones, lm straight, lm folded, lf longest, lv3 axis) {
    const lf zero = f_splat(0.0f);
    const lm wanted = m_or(straight, folded);
    lm open = m_from_bits(0xFFFF);
    lv3 at = v3(zero, zero, zero);
    for (uint32_t i = 0; i < bones; ++i) {
        const lf length = bone_length(set, i, vector);
        const lm along = m_or(straight, m_and(open, f_eq(length, longest)));
        open = m_andnot(open, along);
        at = v3_add(at, v3_scale(axis, f_select(along, length, f_neg(length))));
        set_joint(set, i, vector, v3_select(wanted, at, joint_at(set, i, vector)));
    }
}

/* lanes of `there` whose bones do not have their lengths yet */
static lm wrong_lengths(fabrik_set *set, uint32_t vector, uint32_t bones, lm there) {
    lv3 before = v3_splat(0.0f, 0.0f, 0.0f);
    lm right = there;
    for (uint32_t i = 0; i < bones; ++i) {
        const lv3 at = joint_at(set, i, vector), bone = v3_sub(at, before);
        const lf length = bone_length(set, i, vector);
        const lf wanted = f_mul(length, length);
        right = m_and(right, f_le(f_abs(f_sub(v3_dot(bone, bone), wanted)), f_mul(wanted, f_splat(1e-6f))));
        before = at;
    }
    return m_andnot(there, right);
}

/* ---- steps ---- */

static inline lv3 target_direction(lv3 target) {
    const lf squared = v3_dot(target, target);
    const lm none = f_le(squared, f_splat(1e-30f));
    const lv3 unit = v3_scale(target, f_div(f_splat(1.0f), f_sqrt(f_some(squared))));
    return v3_select(none, v3_splat(1.0f, 0.0f, 0.0f), unit);
}

/* What a step of squared length `squared`, not near zero, is scaled by to the length of its bone, or to 1. Root and quotient go side by side, where
 * a quotient by the root would wait for it: up to 3 % of all time at 16 lanes, 3 to 5 % at 4. */
lane_inline lf step_scale(lf length, lf squared) { return f_mul(f_div(length, squared), f_sqrt(squared)); }

/* A step whose two joints coincide takes the direction of the step before it, `last`, the first one that of the target: the way from `from`
 * toward `goal` with that, and its squared length. */
static lv3 recovered_way(fabrik_set *set, uint32_t vector, lf tiny, lf least, lv3 goal, lv3 from, lv3 last, float sign, lf *squared) {
    lv3 d = v3_sub(goal, from);
    const lm lost = f_le(v3_dot(d, d), tiny);
    const lv3 instead = v3_select(f_lt(tiny, v3_dot(last, last)), last, v3_scale(target_direction(state3(set, TARGET_X, vector)), f_splat(sign)));
    d = v3_select(lost, instead, d);
    *squared = v3_dot(d, d);
    *squared = f_select(lost, f_some(*squared), f_max(*squared, least));
    return d;
}
static inline lv3 v3_keep(lm m, lv3 a) { return v3(f_keep(m, a.x), f_keep(m, a.y), f_keep(m, a.z)); }

/* The first step of the first backward pass, from the target to where the joint before the tip then is; the tip goes onto the target. After
 * a round that joint is not far to seek, see end_of_round. */
static inline void first_step(fabrik_set *set, uint32_t vector, const uint32_t bones, lm active, lv3 target, lf whole) {
    lv3 from = target, goal = joint_at(set, bones - 2, vector);
    lf tiny = f_mul(f_mul(whole, whole), f_splat(1e-16f)), length = bone_length(set, bones - 1, vector);
    const lv3 joint = goal, tip = joint_at(set, bones - 1, vector);
    const int all = m_all(active);
    if (!all) from = v3_keep(active, from), goal = v3_keep(active, goal), tiny = f_keep(active, tiny), length = f_keep(active, length);
    lv3 d = v3_sub(goal, from);
    lf squared = v3_dot(d, d);
    const lf least = f_some(tiny);
    const lm lost = m_and(active, f_le(squared, tiny));
    squared = f_max(squared, least);
    if (lane_rare(m_any(lost))) d = recovered_way(set, vector, tiny, least, goal, from, v3_splat(0.0f, 0.0f, 0.0f), -1.0f, &squared);
    const lv3 at = v3_add(from, v3_scale(d, step_scale(length, squared)));
    set_joint(set, bones - 2, vector, all ? at : v3_select(active, at, joint));
    set_joint(set, bones - 1, vector, all ? target : v3_select(active, target, tip));
}

/* ---- the beginning of LANES chains ---- */

static inline lm is_rotation(lq4 a) {
    const lf squared = q4_dot(a, a);
    return m_and(f_lt(f_splat(0.25f), squared), f_lt(squared, f_splat(4.0f)));
}

typedef struct fabrik_sizes {
    lf whole, longest, shortest;     /* of the bones */
    lf spread, forward, everywhere;  /* sums of squares of the joints: from the root; along the axis; the animated ones' and these */
} fabrik_sizes;

/* Lays the chain out in its rows, relative to the root; `given` lengths or those of the animated bones. */
lane_inline fabrik_sizes fabrik_measure(const phx_rows3 *animated, const phx_rows3 *source, const phx_rows1 *lengths, uint32_t lane,
                                        uint32_t bones, lv3 axis, float *row, const size_t stride, const int given, const int started) {
    const lf zero = f_splat(0.0f);
    const lv3 root = v3_load(animated, lane), origin = v3_load(source, lane);
    fabrik_sizes s = {zero, zero, f_splat(1e30f), zero, zero, zero};
    lf astray = zero;
    lv3 joint = root;
    for (uint32_t i = 0; i < bones; ++i, row += 4 * stride) {
        const lv3 next = v3_load(source + i + 1, lane), at = v3_sub(next, origin);
        lf length;
        if (given) {
            length = f_load(lengths[i].v + lane);
        } else {
            const lv3 end = started ? v3_load(animated + i + 1, lane) : next;
            length = settled_length(v3_length(v3_sub(end, joint)));
            joint = end;
        }
        f_store(row, at.x), f_store(row + stride, at.y), f_store(row + 2 * stride, at.z), f_store(row + 3 * stride, length);
        s.whole = f_add(s.whole, length);
        s.longest = f_max(length, s.longest);
        s.shortest = f_min(length, s.shortest);
        const lf along = v3_dot(at, axis);
        s.spread = f_add(s.spread, v3_dot(at, at));
        s.forward = f_add(s.forward, f_mul(along, along));
        if (started) { /* the animated joints are read later, so they must be fit to be read */
            const lv3 pose = v3_sub(v3_load(animated + i + 1, lane), root);
            astray = f_add(astray, v3_dot(pose, pose));
        }
    }
    s.everywhere = f_add(s.spread, astray);
    return s;
}

lane_inline void fabrik_number(fabrik_set *set, uint32_t vector, uint32_t chain, lf whole, li counts) {
    static const PHX_ALIGN_64 int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    f_store(set->state[WHOLE] + vector * LANES, whole);
    i_store(set->state[COUNTS] + vector * LANES, counts);
    i_store(set->state[CHAIN] + vector * LANES, i_add(i_splat((int32_t)chain), i_load(numbers)));
}

/* `full`: more than positions is asked for. */
lane_inline void fabrik_begin_as(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane, uint32_t chain,
                                 lm valid, fabrik_set *set, uint32_t vector, fabrik_case *c, const int full) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f);
    const uint32_t bones = blocks->joints - 1;
    const phx_rows3 *animated = blocks->position + block * blocks->joints;
    const phx_rows3 *source = blocks->start ? blocks->start + block * blocks->joints : animated;
    const phx_rows1 *lengths = blocks->length ? blocks->length + block * bones : NULL;
    const int started = blocks->start != NULL, check_far = started || lengths;
    const lv3 root = v3_load(animated, lane), origin = v3_load(source, lane);
    const lv3 delta = v3_sub(v3_load(blocks->target + block, lane), root);
    const lv3 chord = v3_sub(v3_load(source + bones, lane), origin);
    const lf squared = v3_dot(delta, delta), chord_squared = v3_dot(chord, chord);
    const lf distance = f_sqrt(squared);

    lv3 axis = delta;
    lf axis_length = distance;
    const lm on_root = m_or(f_le(squared, f_mul(chord_squared, f_splat(1e-12f))), f_le(squared, f_splat(1e-30f)));
    if (m_any(on_root)) {
        const lm usable = f_lt(f_splat(1e-30f), chord_squared);
        axis = v3_select(on_root, v3_select(usable, chord, v3(one, zero, zero)), axis);
        axis_length = v3_length(axis);
    }
    axis = v3_scale(axis, f_div(one, axis_length));

    fabrik_sizes sizes;
    float *rows = fabrik_row(set, 0, 0, vector);
    if (lengths && !started) sizes = fabrik_measure(animated, source, lengths, lane, bones, axis, rows, set->stride, 1, 0);
    else if (!started) sizes = fabrik_measure(animated, source, lengths, lane, bones, axis, rows, set->stride, 0, 0);
    else sizes = fabrik_measure(animated, source, lengths, lane, bones, axis, rows, set->stride, lengths != NULL, 1);
    const lf whole = sizes.whole, longest = sizes.longest, shortest = sizes.shortest, spread = sizes.spread, forward = sizes.forward;
    const lf tolerance = f_mul(whole, f_splat(setup->tolerance)), epsilon = f_mul(whole, f_splat(0x1p-20f));
    const lf tolerance_squared = f_mul(f_mul(tolerance, tolerance), f_splat(0.999999f));
    li budget = i_splat((int32_t)setup->max_iterations);
    if (blocks->budget) { /* unsigned: what looks negative is large */
        const li own = i_load(blocks->budget[block].v + lane);
        budget = i_select(m_or(i_gt(own, budget), i_gt(i_splat(0), own)), budget, own);
    }
    const lf weight = full && blocks->weight ? f_load(blocks->weight[block].v + lane) : one;
    const lm sized = m_and(m_and(f_lt(f_splat(1e-9f), whole), f_lt(whole, f_splat(1e9f))), f_le(zero, shortest));
    const lm near = m_and(f_lt(distance, f_splat(1e9f)), f_lt(sizes.everywhere, f_splat(1e21f)));
    lm ok = m_and(m_and(sized, near), f_eq(weight, weight));
    if (blocks->rotation) {
        for (uint32_t j = 0; j <= bones; ++j) ok = m_and(ok, is_rotation(q4_load(blocks->rotation + block * blocks->joints + j, lane)));
        if (blocks->parent_rotation) ok = m_and(ok, is_rotation(q4_load(blocks->parent_rotation + block, lane)));
    }
    li flags = i_select(f_le(shortest, f_mul(whole, f_splat(1e-6f))), i_splat(PHX_FLAG_ZERO_LENGTH), i_splat(0));
    lf stretch = one;

    /* what can be reached */
    const lf nearest = f_max(f_sub(f_add(longest, longest), whole), zero);
    lf aimed = distance;
    lv3 target = delta;
    if (full && setup->soft) {
        const lf start = f_mul(whole, f_splat(setup->soft_start)), room = f_sub(whole, start);
        const lm soften = f_lt(start, aimed);
        const lf eased = eased_share(f_sub(start, aimed), room);
        aimed = f_select(soften, f_sub(whole, f_mul(room, eased)), aimed);
        target = v3_select(soften, v3_scale(axis, aimed), target);
        flags = i_select(soften, i_or(flags, i_splat(PHX_FLAG_SOFTENED)), flags);
    }
    lm straight = f_le(f_sub(whole, epsilon), aimed), folded = m_and(f_le(aimed, f_add(nearest, epsilon)), f_lt(epsilon, nearest));
    if (full && setup->stretch) {
        const lf reach = f_min(f_max(aimed, nearest), whole);
        const lf wanted = f_min(f_max(f_div(distance, some_length(reach)), one), f_splat(setup->max_stretch));
        stretch = f_select(f_lt(reach, distance), wanted, one);
        flags = i_select(f_lt(one, stretch), i_or(flags, i_splat(PHX_FLAG_STRETCHED)), flags);
    }
    li blame = i_select(f_lt(f_sub(whole, epsilon), distance), i_splat(PHX_FLAG_OUT_OF_REACH),
                              i_select(f_lt(distance, f_sub(nearest, epsilon)), i_splat(PHX_FLAG_TOO_CLOSE), i_splat(PHX_FLAG_STALLED)));
    const lv3 error = v3_sub(joint_at(set, bones - 1, vector), target);
    const lm open = m_andnot(m_and(valid, ok), i_eq(budget, i_splat(0)));

    lm there = m_and(open, f_le(v3_dot(error, error), tolerance_squared));
    if (check_far && m_any(there)) there = m_andnot(there, wrong_lengths(set, vector, bones, there));
    lm moved = started ? open : m_andnot(open, there);
    if (full && setup->stretch) moved = m_or(moved, m_and(open, f_lt(one, stretch)));
    lm active = m_andnot(open, there);
    li rounds = i_splat(0);
    straight = m_and(straight, active), folded = m_andnot(m_and(folded, active), straight);
    const lm closed = m_or(straight, folded);
    if (m_any(closed)) {
        lay_straight(set, vector, bones, straight, folded, longest, axis);
        rounds = i_select(closed, i_splat(1), rounds);
        active = m_andnot(active, closed);
    }
    /* poses that rounds alone would not bring to the target */
    const lf gap = f_sub(f_add(longest, longest), whole);
    lm triangle = m_and(active, f_le(f_abs(gap), aimed));
    if (bones != 2) triangle = m_and(triangle, m_and(f_le(zero, gap), f_lt(aimed, f_add(gap, f_mul(whole, f_splat(0.2f))))));
    const lm other = m_andnot(active, triangle);
    const lm flat = m_and(other, f_le(f_sub(spread, forward), f_mul(f_mul(whole, whole), f_splat((float)bones * 6e-4f))));
    const lm near_reach = m_and(other, f_lt(f_mul(whole, f_splat(0.9f)), aimed));
    const lm prepared = m_or(triangle, m_or(flat, near_reach));
    if (m_any(prepared)) {
        const lm bend_wanted = m_or(triangle, flat);
        if (m_any(bend_wanted)) {
            const lv3 bend = choose_bend(setup, blocks, block, lane, axis, whole, sum_of_bends(set, vector, bones, axis));
            if (m_any(triangle)) lay_on_triangle(set, vector, bones, triangle, whole, longest, axis, aimed, bend);
            if (m_any(flat)) lay_on_arc(set, vector, bones, flat, whole, axis, aimed, bend);
        }
        if (m_any(near_reach)) scale_bends(setup, blocks, block, lane, set, vector, bones, near_reach, whole, axis, aimed);
    }
    if (!m_all(ok)) {
        const li bad = i_select(f_le(whole, f_splat(1e-9f)), i_splat(PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH), i_splat(PHX_FLAG_BAD_INPUT));
        flags = i_select(ok, flags, bad), blame = i_select(ok, blame, i_splat(0));
        stretch = f_select(ok, stretch, one);
    }
    const li zero_length = i_select(i_eq(i_and(flags, i_splat(PHX_FLAG_ZERO_LENGTH)), i_splat(0)), i_splat(0), i_splat(COUNT_ZERO_LENGTH));
    set_state3(set, TARGET_X, vector, target);
    if (m_any(active)) first_step(set, vector, bones, active, target, whole);
    fabrik_number(set, vector, chain, whole, i_or(i_or(rounds, i_shl(budget, 16)), zero_length));
    set->active[vector] = active;
    c->flags = flags, c->blame = blame, c->ok = ok, c->moved = moved, c->still = m_not(open);
    if (full) c->axis = axis, c->delta = delta, c->stretch = stretch, c->weight = weight;
}
static lane_apart void fabrik_begin_plain(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane,
                                          uint32_t chain, lm valid, fabrik_set *set, uint32_t vector, fabrik_case *c) {
    fabrik_begin_as(setup, blocks, block, lane, chain, valid, set, vector, c, 0);
}
/* LANES chains of which each needs rounds and nothing but rounds, and whose answer is positions: what fabrik_begin_plain would do, in two thirds
 * of its instructions; 0 where one may be another. The bounds lie safely beside those of fabrik_begin_as, whose rounding is not repeated. */
static lane_apart int fabrik_begin_quick(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane,
                                         uint32_t chain, fabrik_set *set, uint32_t vector, fabrik_case *c) {
    const lf zero = f_splat(0.0f);
    const uint32_t bones = blocks->joints - 1;
    const size_t stride = set->stride;
    const phx_rows3 *source = blocks->position + block * blocks->joints;
    const phx_rows1 *lengths = blocks->length ? blocks->length + block * bones : NULL;
    const lv3 root = v3_load(source, lane), target = v3_sub(v3_load(blocks->target + block, lane), root);
    lv3 joint = root, tip = v3(zero, zero, zero);
    lf whole = zero, longest = zero, shortest = f_splat(1e30f), spread = zero, far = zero;
    float *row = fabrik_row(set, 0, 0, vector);
    for (uint32_t i = 0; i < bones; ++i, row += 4 * stride) {
        const lv3 next = v3_load(source + i + 1, lane);
        const lf length = lengths ? f_load(lengths[i].v + lane) : settled_length(v3_length(v3_sub(next, joint)));
        joint = next, tip = v3_sub(next, root);
        f_store(row, tip.x), f_store(row + stride, tip.y), f_store(row + 2 * stride, tip.z), f_store(row + 3 * stride, length);
        whole = f_add(whole, length);
        longest = f_max(length, longest), shortest = f_min(length, shortest);
        far = v3_dot(tip, tip);
        spread = f_add(spread, far);
    }
    const lv3 error = v3_sub(tip, target);
    const lf squared = v3_dot(target, target), along = f_mul(v3_dot(tip, target), f_splat(1e-9f)), square = f_mul(whole, whole);
    const lf tolerance = f_mul(whole, f_splat(setup->tolerance));
    lm usual = m_and(m_and(f_lt(f_splat(1e-9f), whole), f_lt(whole, f_splat(1e9f))), f_lt(spread, f_splat(1e21f)));
    usual = m_and(usual, m_and(f_lt(f_mul(whole, f_splat(1e-6f)), shortest), f_lt(f_add(longest, longest), whole)));
    usual = m_and(usual, m_and(f_lt(squared, f_mul(square, f_splat(0.8099f))), f_lt(f_max(f_mul(far, f_splat(1e-12f)), f_splat(1e-30f)), squared)));
    usual = m_and(usual, f_lt(f_mul(f_mul(tolerance, tolerance), f_splat(1.0001f)), v3_dot(error, error)));
    /* not flat: the tip alone is farther off the line to the target; the target's distance goes in times 1e-9, lest its square overflow */
    const lf beside = f_sub(f_sub(far, f_mul(square, f_splat((float)bones * 6.1e-4f))), f_mul(spread, f_splat(1e-5f)));
    usual = m_and(usual, f_lt(f_add(f_mul(along, along), f_splat(1e-35f)), f_mul(f_mul(squared, f_splat(1e-18f)), beside)));
    if (!m_all(usual)) return 0;
    set_state3(set, TARGET_X, vector, target);
    fabrik_number(set, vector, chain, whole, i_splat((int32_t)setup->max_iterations << 16));
    first_step(set, vector, bones, usual, target, whole);
    set->active[vector] = usual;
    c->flags = i_splat(0), c->blame = i_splat(PHX_FLAG_STALLED), c->ok = c->moved = usual, c->still = m_from_bits(0);
    return 1;
}
static lane_apart void fabrik_begin_full(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane,
                                         uint32_t chain, lm valid, fabrik_set *set, uint32_t vector, fabrik_case *c) {
    fabrik_begin_as(setup, blocks, block, lane, chain, valid, set, vector, c, 1);
}

/* ---- rounds ---- */

static void start_again(fabrik_set *set, uint32_t vector, uint32_t bones, lm wanted) {
    const lv3 target = state3(set, TARGET_X, vector), axis = target_direction(target);
    const lf whole = f_load(set->state[WHOLE] + vector * LANES), noise = f_mul(whole, f_splat(1e-5f));
    lv3 own = sum_of_bends(set, vector, bones, axis);
    own = v3_select(f_lt(f_mul(noise, noise), v3_dot(own, own)), own, v3_reject(spare_direction(axis), axis));
    lay_on_arc(set, vector, bones, wanted, whole, axis, v3_length(target), unit_bend(own, axis));
}

/* three rows `stride` apart */
static inline lv3 rows3(const float *row, size_t stride) { return v3(f_load(row), f_load(row + stride), f_load(row + 2 * stride)); }
static inline void set_rows3(float *row, size_t stride, lv3 a) { f_store(row, a.x), f_store(row + stride, a.y), f_store(row + 2 * stride, a.z); }

/* ---- the last step ---- */

/* Shorter chains need few rounds, and this step costs them more than it saves. */
static inline int fabrik_closes(const phx_chain_setup *setup, uint32_t bones) { return 1e-5f <= setup->tolerance && 6 <= bones; }

/* What it turns: the part of the chain from a middle joint on, b, against the part before it, a; zeros beside the lanes given, which may be
 * of any size. */
typedef struct fabrik_fold {
    lv3 a, b, normal; /* a x b */
    lf surplus;       /* squared distance of the tip from the root, less the target's */
} fabrik_fold;

static inline fabrik_fold fabrik_fold_of(fabrik_set *set, uint32_t vector, lm lanes, lv3 tip, lv3 target, lv3 error, const uint32_t bones) {
    fabrik_fold f;
    f.a = v3_keep(lanes, joint_at(set, bones / 2 - 1, vector)), f.b = v3_sub(v3_keep(lanes, tip), f.a), f.normal = v3_cross(f.a, f.b);
    const lf along = v3_dot(error, target);
    f.surplus = f_keep(lanes, f_add(v3_dot(error, error), f_add(along, along)));
    return f;
}

/* The lanes whose tip is so near that a turn of the middle joint by less than an eighth, and one of the whole chain about the root, end on
 * the target. */
static inline lm fabrik_may_close(fabrik_set *set, uint32_t vector, lm lanes, lv3 tip, lv3 target, lv3 error, lf squared, const uint32_t bones) {
    lanes = m_and(lanes, f_le(squared, f_mul(v3_dot(target, target), f_splat(0.015625f))));
    const fabrik_fold f = fabrik_fold_of(set, vector, lanes, tip, target, error, bones);
    const lf sine = f_mul(v3_dot(f.normal, f.normal), f_splat(0.0625f)), sides = f_mul(v3_dot(f.a, f.a), v3_dot(f.b, f.b));
    return m_and(lanes, m_and(f_lt(f_mul(sides, f_splat(0.00390625f)), sine), f_le(f_mul(f.surplus, f.surplus), sine)));
}

/* The rows of a rotation's matrix, from a quaternion of any length and 2 / length^2. */
typedef struct turn_rows {
    lv3 x, y, z;
} turn_rows;

static inline turn_rows rows_of(lq4 q, lf scale) {
    const lf one = f_splat(1.0f), x2 = f_mul(q.x, scale), y2 = f_mul(q.y, scale), z2 = f_mul(q.z, scale);
    const lf wx = f_mul(q.w, x2), wy = f_mul(q.w, y2), wz = f_mul(q.w, z2), xx = f_mul(q.x, x2), xy = f_mul(q.x, y2), xz = f_mul(q.x, z2);
    const lf yy = f_mul(q.y, y2), yz = f_mul(q.y, z2), zz = f_mul(q.z, z2);
    return (turn_rows){v3(f_sub(one, f_add(yy, zz)), f_sub(xy, wz), f_add(xz, wy)), v3(f_add(xy, wz), f_sub(one, f_add(xx, zz)), f_sub(yz, wx)),
                       v3(f_sub(xz, wy), f_add(yz, wx), f_sub(one, f_add(xx, yy)))};
}

/* Turns the bones [first, end), whose first begins at `*old`, and goes on from `*at`. */
static inline void fabrik_turn_bones(fabrik_set *set, uint32_t vector, lm lanes, const turn_rows *rows, uint32_t first, uint32_t end, lv3 *old, lv3 *at) {
    for (uint32_t i = first; i < end; ++i) {
        const lv3 joint = joint_at(set, i, vector), kept = v3_keep(lanes, joint), bone = v3_sub(kept, *old);
        *old = kept;
        *at = v3_add(*at, v3(v3_dot(rows->x, bone), v3_dot(rows->y, bone), v3_dot(rows->z, bone)));
        set_joint(set, i, vector, v3_select(lanes, *at, joint));
    }
}

/* Closes the chains of a vector that rounds have left to it. */
static lane_apart void fabrik_close(fabrik_set *set, uint32_t vector, const uint32_t bones) {
    const li counts = i_load(set->state[COUNTS] + vector * LANES);
    const lm lanes = m_andnot(m_not(i_eq(i_and(counts, i_splat(COUNT_CLOSES)), i_splat(0))), set->active[vector]);
    if (!m_any(lanes)) return;
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), half = f_splat(0.5f), two = f_splat(2.0f);
    const lv3 end = v3_keep(lanes, joint_at(set, bones - 1, vector)), target = v3_keep(lanes, state3(set, TARGET_X, vector));
    const fabrik_fold f = fabrik_fold_of(set, vector, lanes, end, target, v3_sub(end, target), bones);
    /* law of cosines: the lengths of a and b stay, and from the target's distance follows what their product is to be */
    const lf sides = f_mul(v3_dot(f.a, f.a), v3_dot(f.b, f.b)), square = v3_dot(f.normal, f.normal), reach = v3_dot(target, target);
    const lf inverse = f_div(one, f_some(sides)), now = v3_dot(f.a, f.b), then = f_sub(now, f_mul(f.surplus, half));
    const lf across_now = f_sqrt(square), across_then = f_sqrt(f_max(f_sub(sides, f_mul(then, then)), zero));
    const lf cosine = f_mul(f_add(f_mul(now, then), f_mul(across_now, across_then)), inverse);
    const lf sine = f_mul(f_sub(f_mul(across_then, now), f_mul(then, across_now)), inverse);
    const lv3 k = v3_scale(f.normal, f_mul(f_mul(f_div(one, f_some(square)), across_now), sine));
    const lq4 bend = {k.x, k.y, k.z, f_add(one, cosine)};
    const lf bend_scale = f_div(two, f_some(q4_dot(bend, bend)));
    /* the tip is now as far from the root as the target */
    const lv3 t = v3_cross(k, f.b), s = v3_scale(v3_add(v3_scale(t, bend.w), v3_cross(k, t)), bend_scale);
    const lv3 tip = v3_scale(v3_add(f.a, v3_add(f.b, s)), f_div(one, f_some(reach)));
    const lv3 axis = v3_cross(tip, target);
    const lq4 turn = {axis.x, axis.y, axis.z, f_add(one, v3_dot(tip, target))};
    const lf turn_scale = f_div(two, f_some(q4_dot(turn, turn)));
    const turn_rows before = rows_of(turn, turn_scale), behind = rows_of(q4_mul(turn, bend), f_mul(f_mul(turn_scale, bend_scale), half));
    lv3 old = v3(zero, zero, zero), at = old;
    fabrik_turn_bones(set, vector, lanes, &before, 0, bones / 2, &old, &at);
    fabrik_turn_bones(set, vector, lanes, &behind, bones / 2, bones, &old, &at);
}

/* What rounds hand on: a bone's direction and the product of the cosines between the bones so far, see fabrik_moves; what the goals of the
 * forward pass are moved by; when a lane has arrived and where it counts as lost. */
typedef struct fabrik_round {
    PHX_ALIGN_64 float bone[3 * IN_FLIGHT * LANES];
    PHX_ALIGN_64 float cosines[IN_FLIGHT * LANES];
    PHX_ALIGN_64 float move[3 * IN_FLIGHT * LANES];
    PHX_ALIGN_64 float near[IN_FLIGHT * LANES];
    PHX_ALIGN_64 float tiny[IN_FLIGHT * LANES];
    PHX_ALIGN_64 float least[IN_FLIGHT * LANES]; /* what squares are taken for at least, so that nothing overflows in lost lanes */
} fabrik_round;

static inline float *back_row(fabrik_back *back, uint32_t joint, const uint32_t vectors) { return back->joints + joint * 3 * vectors * LANES; }

/* The backward pass once more, for lanes whose two joints coincide. */
lane_cold void backward_again(fabrik_set *set, fabrik_back *back, fabrik_round *round, uint32_t bones, uint32_t vectors) {
    const size_t across = vectors * LANES;
    for (uint32_t v = 0; v < vectors; ++v) {
        const lf tiny = f_load(round->tiny + v * LANES), least = f_load(round->least + v * LANES);
        lv3 q = rows3(back_row(back, bones - 2, vectors) + v * LANES, across), bone = v3_sub(q, state3(set, TARGET_X, v));
        lf cosines = f_splat(1.0f), squared;
        for (uint32_t i = bones - 2; i >= 1; --i) {
            const lv3 d = recovered_way(set, v, tiny, least, joint_at(set, i - 1, v), q, bone, -1.0f, &squared);
            const lv3 way = v3_scale(d, step_scale(f_splat(1.0f), squared));
            cosines = f_mul(cosines, v3_dot(bone, way));
            bone = way;
            q = v3_add(q, v3_scale(way, bone_length(set, i, v)));
            set_rows3(back_row(back, i - 1, vectors) + v * LANES, across, q);
        }
        set_rows3(round->bone + v * LANES, across, bone);
        f_store(round->cosines + v * LANES, cosines);
    }
}

/* The first step of the forward pass once more. */
lane_cold void root_again(fabrik_set *set, fabrik_back *back, const fabrik_round *round, uint32_t vectors) {
    const lv3 none = v3_splat(0.0f, 0.0f, 0.0f);
    for (uint32_t v = 0; v < vectors; ++v) {
        const lf tiny = f_load(round->tiny + v * LANES), least = f_load(round->least + v * LANES);
        lf squared;
        const lv3 d = recovered_way(set, v, tiny, least, rows3(back->joints + v * LANES, vectors * LANES), none, none, 1.0f, &squared);
        set_joint(set, 0, v, v3_select(set->active[v], v3_scale(d, step_scale(bone_length(set, 0, v), squared)), joint_at(set, 0, v)));
    }
}

/* The others once more. */
lane_cold void forward_again(fabrik_set *set, fabrik_back *back, const fabrik_round *round, uint32_t bones, uint32_t vectors) {
    const size_t across = vectors * LANES;
    for (uint32_t v = 0; v < vectors; ++v) {
        const lf tiny = f_load(round->tiny + v * LANES), least = f_load(round->least + v * LANES);
        const lv3 move = rows3(round->move + v * LANES, across);
        lv3 q = joint_at(set, 0, v), before = q;
        for (uint32_t i = 1; i < bones; ++i) {
            const lv3 goal = i + 1 < bones ? v3_add(rows3(back_row(back, i, vectors) + v * LANES, across), move) : state3(set, TARGET_X, v);
            lf squared;
            const lv3 d = recovered_way(set, v, tiny, least, goal, q, before, 1.0f, &squared);
            const lv3 next = v3_add(q, v3_scale(d, step_scale(bone_length(set, i, v), squared)));
            before = v3_sub(next, q);
            q = next;
            set_joint(set, i, v, v3_select(set->active[v], next, joint_at(set, i, v)));
        }
    }
}

/* A step of a pass for all vectors. The second half of a vector's step, which waits for the quotient, comes after the first halves of the
 * vectors next to it, and no load moves from one to the other: in another order what waits fills the processor's queues, or the compiler
 * spills (Zen 4: a third slower). At 16 lanes the joints `from` stay in registers, `q`; narrower vectors have 16 of these and read the row
 * that was just written. Each returns where two joints coincide. */

/* Backward: from joint `i` toward joint i - 1. */
lane_inline lm backward_steps(lv3 *q, const fabrik_set *set, fabrik_back *back, fabrik_round *round, uint32_t i, const uint32_t vectors) {
    const size_t stride = fabrik_stride(vectors), across = vectors * LANES;
    const float *from = back_row(back, i, vectors), *goal = set->joints + 4 * (i - 1) * stride, *length = goal + 7 * stride;
    float *to = back_row(back, i - 1, vectors);
    lm lost = m_from_bits(0);
    lv3 d[IN_FLIGHT];
    lf scale[IN_FLIGHT];
#pragma GCC unroll 16
    for (uint32_t t = 0; t < vectors + STEPS_AHEAD; ++t) {
        if (t < vectors) {
            const uint32_t at = t * LANES;
            if (!STEPS_IN_REGISTERS) q[t] = rows3(from + at, across);
            d[t] = v3_sub(rows3(goal + at, stride), q[t]);
            const lf squared = v3_dot(d[t], d[t]);
            lost = m_or(lost, f_le(squared, f_load(round->tiny + at)));
            scale[t] = step_scale(f_splat(1.0f), f_max(squared, f_load(round->least + at)));
            if (!STEPS_IN_REGISTERS) lane_in_order();
        }
        if (t >= STEPS_AHEAD) {
            const uint32_t v = t - STEPS_AHEAD, at = v * LANES;
            const lv3 bone = v3_scale(d[v], scale[v]);
            f_store(round->cosines + at, f_mul(f_load(round->cosines + at), v3_dot(rows3(round->bone + at, across), bone)));
            set_rows3(round->bone + at, across, bone);
            if (!STEPS_IN_REGISTERS) q[v] = rows3(from + at, across);
            q[v] = v3_add(q[v], v3_scale(bone, f_load(length + at)));
            set_rows3(to + at, across, q[v]);
            lane_in_order();
        }
    }
    return lost;
}

/* Forward: the first joint, from the root toward where the backward pass left it. */
lane_inline lm root_steps(lv3 *q, fabrik_set *set, const fabrik_back *back, const fabrik_round *round, const lm *idle, const uint32_t vectors) {
    const size_t stride = fabrik_stride(vectors), across = vectors * LANES;
    lm lost = m_from_bits(0);
#pragma GCC unroll 16
    for (uint32_t v = 0; v < vectors; ++v) {
        const uint32_t at = v * LANES;
        float *to = set->joints + at;
        const lv3 d = rows3(back->joints + at, across);
        const lf squared = v3_dot(d, d);
        lost = m_or(lost, f_le(squared, f_load(round->tiny + at)));
        q[v] = v3_scale(d, step_scale(f_load(to + 3 * stride), f_max(squared, f_load(round->least + at))));
        q[v] = v3_select(idle[v], rows3(to, stride), q[v]);
        set_rows3(to, stride, q[v]);
        lane_in_order();
    }
    return lost;
}

/* What the goals of the forward pass are moved by. The backward pass left the first joint off its place by a miss, and a share of this would
 * come to the tip: along a bone it is passed on, at each joint by the cosine between the bones, across it is not. The move is the shortest for
 * which, to the first order, nothing arrives. With u, v the last and the first bone's direction and k the product of the cosines, a move w brings
 * (u - k v).w and the miss k v.miss: w is along u - k v. Here u and k are times the last bone's length. */
static inline void fabrik_moves(fabrik_set *set, fabrik_back *back, fabrik_round *round, const uint32_t bones, const uint32_t vectors) {
    const size_t across = vectors * LANES;
#pragma GCC unroll 1
    for (uint32_t v = 0; v < vectors; ++v) {
        const uint32_t at = v * LANES;
        const lv3 u = v3_sub(rows3(back_row(back, bones - 2, vectors) + at, across), state3(set, TARGET_X, v)), bone = rows3(round->bone + at, across);
        const lv3 miss = v3_sub(rows3(back->joints + at, across), joint_at(set, 0, v));
        const lf k = f_load(round->cosines + at), length = bone_length(set, bones - 1, v), least = f_mul(f_mul(length, length), f_splat(1e-3f));
        const lv3 way = v3_sub(u, v3_scale(bone, k));
        const lf carried = f_keep(set->active[v], f_mul(k, v3_dot(bone, miss))); /* idle lanes must not overflow */
        set_rows3(round->move + at, across, v3_scale(way, f_div(carried, f_some(f_max(v3_dot(way, way), least)))));
    }
}

/* Forward: joint `i`, toward where the backward pass left it or, the tip, toward the target. Lanes of `idle` keep what is there. */
lane_inline lm forward_steps(lv3 *q, fabrik_set *set, const float *goal, const size_t goal_stride, const fabrik_round *round, uint32_t i,
                             const int moved, const lm *idle, const uint32_t vectors) {
    const size_t stride = fabrik_stride(vectors), across = vectors * LANES;
    const float *from = set->joints + 4 * (i - 1) * stride;
    float *to = set->joints + 4 * i * stride;
    const float *length = to + 3 * stride;
    lm lost = m_from_bits(0);
    lv3 d[IN_FLIGHT];
    lf scale[IN_FLIGHT];
#pragma GCC unroll 16
    for (uint32_t t = 0; t < vectors + STEPS_AHEAD; ++t) {
        if (t < vectors) {
            const uint32_t at = t * LANES;
            lv3 toward = rows3(goal + at, goal_stride);
            if (moved) toward = v3_add(toward, rows3(round->move + at, across));
            if (!STEPS_IN_REGISTERS) q[t] = rows3(from + at, stride);
            d[t] = v3_sub(toward, q[t]);
            const lf squared = v3_dot(d[t], d[t]);
            lost = m_or(lost, f_le(squared, f_load(round->tiny + at)));
            scale[t] = step_scale(f_load(length + at), f_max(squared, f_load(round->least + at)));
            if (!STEPS_IN_REGISTERS) lane_in_order();
        }
        if (t >= STEPS_AHEAD) {
            const uint32_t v = t - STEPS_AHEAD, at = v * LANES;
            if (!STEPS_IN_REGISTERS) q[v] = rows3(from + at, stride);
            q[v] = v3_add(q[v], v3_scale(d[v], scale[v]));
            q[v] = v3_select(idle[v], rows3(to + at, stride), q[v]);
            set_rows3(to + at, stride, q[v]);
            lane_in_order();
        }
    }
    return lost;
}

lane_inline void steps_reload(lv3 *q, const float *rows, size_t stride, const uint32_t vectors) {
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; ++v) q[v] = rows3(rows + v * LANES, stride);
}

/* Begins vector `v`'s next round. After a round the last bone points at the target, so the joint before the tip goes by the tip's error;
 * chains that rounds bring nearer too slowly go farther in every fourth. */
static inline void begin_round(fabrik_set *set, fabrik_back *back, fabrik_round *round, uint32_t v, lv3 target, lv3 error, li counted,
                               const uint32_t bones, const uint32_t vectors) {
    const size_t across = vectors * LANES;
    const lf ahead = f_select(i_eq(i_and(counted, i_splat(3)), i_splat(3)), f_splat(3.0f), f_splat(1.0f));
    const lv3 joint = v3_sub(joint_at(set, bones - 2, v), v3_scale(error, ahead));
    set_rows3(back_row(back, bones - 2, vectors) + v * LANES, across, joint);
    set_rows3(round->bone + v * LANES, across, v3_sub(joint, target));
    f_store(round->cosines + v * LANES, f_splat(1.0f));
}

static inline void begin_rounds(const phx_chain_setup *setup, fabrik_set *set, fabrik_back *back, fabrik_round *round, const uint32_t bones,
                                const uint32_t vectors) {
#pragma GCC unroll 8
    for (uint32_t v = 0; v < vectors; ++v) {
        const lv3 target = state3(set, TARGET_X, v), error = v3_sub(joint_at(set, bones - 1, v), target);
        const lf whole = f_load(set->state[WHOLE] + v * LANES), tolerance = f_mul(whole, f_splat(setup->tolerance));
        f_store(round->near + v * LANES, f_mul(f_mul(tolerance, tolerance), f_splat(0.999999f)));
        /* idle lanes are never lost */
        const lf tiny = f_mul(f_mul(whole, whole), f_splat(1e-16f));
        f_store(round->tiny + v * LANES, f_select(set->active[v], tiny, f_splat(-1.0f)));
        f_store(round->least + v * LANES, f_some(tiny));
        begin_round(set, back, round, v, target, error, i_load(set->state[COUNTS] + v * LANES), bones, vectors);
    }
}

/* The end of a round for one vector: who is done. */
static inline void end_of_round(fabrik_set *set, fabrik_back *back, fabrik_round *round, uint32_t v, const uint32_t bones, int closes,
                                const uint32_t vectors) {
    const lm active = set->active[v];
    const lv3 target = state3(set, TARGET_X, v), tip = joint_at(set, bones - 1, v);
    lv3 error = v3_sub(tip, target);
    const lf squared = v3_dot(error, error);
    const li counts = i_load(set->state[COUNTS] + v * LANES);
    li counted = i_select(active, i_add(counts, i_splat(COUNT_ROUND)), counts);
    const lm arrived = f_le(squared, f_load(round->near + v * LANES));
    lm done = m_or(arrived, i_gt(i_splat(COUNT_LEFT), counted));
    if (closes) {
        const lm closing = fabrik_may_close(set, v, m_andnot(active, arrived), tip, target, error, squared, bones);
        counted = i_select(closing, i_or(counted, i_splat(COUNT_CLOSES)), counted);
        done = m_or(done, closing);
    }
    i_store(set->state[COUNTS] + v * LANES, counted);
    const lm going = m_andnot(active, done);
    set->active[v] = going;
    const lm eighth = m_and(going, i_eq(i_and(counted, i_splat(COUNT_ROUNDS)), i_splat(8)));
    if (lane_rare(m_any(eighth))) {
        const lf whole = f_load(set->state[WHOLE] + v * LANES);
        const lm again = m_and(eighth, f_lt(f_mul(f_mul(whole, whole), f_splat(1e-6f)), squared));
        if (m_any(again)) start_again(set, v, bones, again), error = v3_sub(joint_at(set, bones - 1, v), target);
    }
    float *tiny = round->tiny + v * LANES;
    f_store(tiny, f_select(going, f_load(tiny), f_splat(-1.0f)));
    begin_round(set, back, round, v, target, error, counted, bones, vectors);
}

/* Rounds, each a backward and a forward pass, of `vectors` vectors at once until at most `enough` lanes are active; how many are. The
 * backward pass writes beside the joints, so only the forward pass has to keep the lanes that are done. The end of a round prepares the
 * next. */
lane_inline uint32_t fabrik_rounds_as(const phx_chain_setup *setup, fabrik_set *set, fabrik_back *back, const uint32_t bones, uint32_t busy,
                                      uint32_t enough, phx_fabrik_stats *stats, const uint32_t vectors) {
    const size_t stride = fabrik_stride(vectors), across = vectors * LANES;
    fabrik_round round;
    lv3 q[IN_FLIGHT];
    lm idle[IN_FLIGHT];
    const int closes = fabrik_closes(setup, bones);
    begin_rounds(setup, set, back, &round, bones, vectors);
    do {
        stats->busy += busy, stats->total += vectors * LANES;
        lm lost = m_from_bits(0);
        steps_reload(q, back_row(back, bones - 2, vectors), across, vectors);
        for (uint32_t i = bones - 2; i >= 1; --i) lost = m_or(lost, backward_steps(q, set, back, &round, i, vectors));
        if (lane_rare(m_any(lost))) backward_again(set, back, &round, bones, vectors);
#pragma GCC unroll 8
        for (uint32_t v = 0; v < vectors; ++v) idle[v] = m_not(set->active[v]);
        lost = root_steps(q, set, back, &round, idle, vectors);
        if (lane_rare(m_any(lost))) root_again(set, back, &round, vectors), steps_reload(q, set->joints, stride, vectors);
        fabrik_moves(set, back, &round, bones, vectors);
        lost = m_from_bits(0);
        for (uint32_t i = 1; i + 1 < bones; ++i)
            lost = m_or(lost, forward_steps(q, set, back_row(back, i, vectors), across, &round, i, 1, idle, vectors));
        lost = m_or(lost, forward_steps(q, set, set->state[TARGET_X], sizeof set->state[0] / sizeof(float), &round, bones - 1, 0, idle, vectors));
        if (lane_rare(m_any(lost))) forward_again(set, back, &round, bones, vectors);
        busy = 0;
#pragma GCC unroll 1 /* four lanes are 4 % slower unrolled */
        for (uint32_t v = 0; v < vectors; ++v) {
            end_of_round(set, back, &round, v, bones, closes, vectors);
            busy += m_count(set->active[v]);
        }
    } while (busy > enough);
    return busy;
}

static lane_apart uint32_t fabrik_rounds_short(const phx_chain_setup *setup, fabrik_set *set, fabrik_back *back, uint32_t bones, uint32_t busy,
                                               uint32_t enough, phx_fabrik_stats *stats) {
    return fabrik_rounds_as(setup, set, back, bones, busy, enough, stats, IN_FLIGHT);
}
static lane_apart uint32_t fabrik_rounds_long(const phx_chain_setup *setup, fabrik_set *set, fabrik_back *back, uint32_t bones, uint32_t busy,
                                              uint32_t enough, phx_fabrik_stats *stats) {
    return fabrik_rounds_as(setup, set, back, bones, busy, enough, stats, IN_FLIGHT_LONG);
}
static inline uint32_t fabrik_rounds(const phx_chain_setup *setup, fabrik_set *set, fabrik_back *back, uint32_t bones, uint32_t busy,
                                     uint32_t enough, phx_fabrik_stats *stats, const uint32_t vectors) {
    return (vectors == IN_FLIGHT ? fabrik_rounds_short : fabrik_rounds_long)(setup, set, back, bones, busy, enough, stats);
}

/* ---- the end of chains ---- */

static inline void write_results(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane, const fabrik_case *c,
                                 lv3 miss, lf whole, li counts, const int full) {
    const lf residual = f_min(v3_length(miss), f_splat(3.402823466e+38f));
    const lm reached = m_and(c->ok, f_le(residual, f_mul(whole, f_splat(setup->tolerance))));
    if (blocks->residual) f_store(blocks->residual[block].v + lane, residual);
    if (blocks->iterations) i_store(blocks->iterations[block].v + lane, i_and(counts, i_splat(COUNT_ROUNDS)));
    if (blocks->flags) i_store(blocks->flags[block].v + lane, i_or(c->flags, i_select(reached, i_splat(PHX_FLAG_REACHED), c->blame)));
    if (blocks->stretch) f_store(blocks->stretch[block].v + lane, full ? f_select(c->moved, c->stretch, f_splat(1.0f)) : f_splat(1.0f));
}

/* Positions and results of LANES chains; those that the pool goes on with are written once more by it. */
static inline void fabrik_end(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane, fabrik_set *set,
                              uint32_t vector, const fabrik_case *c, const int full) {
    const uint32_t bones = blocks->joints - 1;
    const phx_rows3 *animated = blocks->position + block * blocks->joints;
    phx_rows3 *solved = (blocks->solved ? blocks->solved : blocks->position) + block * blocks->joints;
    const lv3 root = v3_load(animated, lane), animated_tip = v3_load(animated + bones, lane);
    const lv3 tip = v3_select(c->moved, joint_at(set, bones - 1, vector), v3_sub(animated_tip, root));
    lv3 miss = v3_sub(tip, full ? c->delta : state3(set, TARGET_X, vector));
    if (lane_rare(!m_all(c->ok))) miss = v3_select(c->ok, miss, v3_sub(v3_load(blocks->target + block, lane), animated_tip)); /* whatever the root */
    const li counts = i_load(set->state[COUNTS] + vector * LANES);
    write_results(setup, blocks, block, lane, c, miss, f_load(set->state[WHOLE] + vector * LANES), counts, full);
    if (blocks->solved) v3_store(solved, lane, root);
    if (m_all(c->moved)) {
        for (uint32_t i = 0; i < bones; ++i) v3_store(solved + i + 1, lane, v3_add(root, joint_at(set, i, vector)));
    } else {
        for (uint32_t i = 0; i < bones; ++i)
            v3_store(solved + i + 1, lane, v3_select(c->moved, v3_add(root, joint_at(set, i, vector)), v3_load(animated + i + 1, lane)));
    }
}

/* How far the joints between root and tip stand off the line between these, all together; the lanes where that is a bend. */
static inline lm bend_of(const lv3 *at, uint32_t bones, lf whole, lv3 fallback_axis, lv3 *axis, lv3 *bend) {
    const lv3 tip = at[bones - 1];
    const lf squared = v3_dot(tip, tip), noise = f_mul(whole, f_splat(1e-5f)), noise_squared = f_mul(noise, noise);
    *axis = v3_select(f_lt(noise_squared, squared), v3_scale(tip, f_div(f_splat(1.0f), f_sqrt(f_some(squared)))), fallback_axis);
    lv3 sum = v3_splat(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i + 1 < bones; ++i) sum = v3_add(sum, v3_reject(at[i], *axis));
    *bend = sum;
    return f_lt(noise_squared, v3_dot(sum, sum));
}

/* the first usable of a, b, the spare direction; unit */
static inline lv3 other_bend(lv3 a, lv3 b, lv3 axis, lf tolerance_squared) {
    lv3 chosen = v3_reject(spare_direction(axis), axis);
    const lm open = m_not(take_hint(m_from_bits(0xFFFF), a, axis, tolerance_squared, &chosen));
    take_hint(open, b, axis, tolerance_squared, &chosen);
    return unit_bend(chosen, axis);
}

/* the turn about `axis` from `now` to `wanted`, less their parts along it; identity where nothing remains */
static inline lq4 turn_about(lv3 axis, lv3 now, lv3 wanted) {
    const lv3 a = v3_reject(now, axis), b = v3_reject(wanted, axis);
    const lf cosine = v3_dot(a, b), sine = v3_dot(v3_cross(a, b), axis);
    const lf scale = f_sqrt(f_add(f_mul(cosine, cosine), f_mul(sine, sine)));
    return q4_select(f_lt(f_splat(1e-6f), scale), q4_turn(axis, cosine, sine, scale), q4_identity());
}

/* shortest turn between unit vectors; a half turn goes about the bend plane's normal, where that is across */
static inline lq4 swing_between(lv3 from, lv3 to, lv3 normal) {
    const lf one = f_splat(1.0f);
    lv3 spare = v3_reject(normal, to);
    spare = v3_select(f_lt(f_splat(1e-4f), v3_dot(spare, spare)), spare, v3_reject(spare_direction(to), to));
    return q4_between(from, to, one, v3_scale(spare, f_div(one, v3_length(spare))));
}

/* direction of an animated bone; the target's direction where it has no length */
static inline lv3 animated_direction(lv3 bone, lf whole, lv3 axis) {
    const lf length = v3_length(bone);
    return v3_select(f_le(length, f_mul(whole, f_splat(1e-6f))), axis, v3_scale(bone, f_div(f_splat(1.0f), f_some(length))));
}

/* Pole, rotations, tip, weight, stretch: everything after the rounds, for LANES chains whose answer is more than positions. */
static void fabrik_finish(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t block, uint32_t lane, fabrik_set *set,
                          uint32_t vector, fabrik_case *c) {
    const lf zero = f_splat(0.0f), one = f_splat(1.0f), tolerance_squared = f_splat(setup->direction_tolerance_squared);
    const lv3 none = v3(zero, zero, zero);
    const uint32_t bones = blocks->joints - 1;
    const phx_rows3 *animated = blocks->position + block * blocks->joints;
    const lv3 root = v3_load(animated, lane);
    const lf whole = f_load(set->state[WHOLE] + vector * LANES);
    const lv3 pole_given = blocks->pole ? v3_load(blocks->pole + block, lane) : none;
    const lv3 previous = blocks->bend ? v3_load(blocks->bend + block, lane) : none;
    const lv3 rest_bend = blocks->rest_bend ? v3_load(blocks->rest_bend + block, lane) : none;
    const lm live = m_not(c->still);
    lv3 at[PHX_CHAIN_MAX_BONES];
    for (uint32_t i = 0; i < bones; ++i) { /* a start pose that is not solved may be of any size: beside its bones' lengths it would overflow */
        const lv3 joint = joint_at(set, i, vector);
        at[i] = v3(f_keep(live, joint.x), f_keep(live, joint.y), f_keep(live, joint.z));
    }

    /* bend plane */
    lv3 axis, bend, pole = none;
    const lm bent = bend_of(at, bones, whole, c->axis, &axis, &bend);
    bend = unit_bend(bend, axis);
    if (!m_all(bent)) bend = v3_select(bent, bend, other_bend(previous, rest_bend, axis, tolerance_squared));
    if (blocks->pole) {
        const lm usable = take_hint(m_from_bits(0xFFFF), pole_given, axis, tolerance_squared, &pole);
        const lm refused = m_andnot(m_andnot(live, usable), f_eq(v3_dot(pole_given, pole_given), zero));
        c->flags = i_select(refused, i_or(c->flags, i_splat(PHX_FLAG_HINT_UNUSABLE)), c->flags);
        pole = unit_bend(pole, axis);
        const lq4 turn = turn_about(axis, bend, pole);
        const lf size = f_add(f_add(f_mul(turn.x, turn.x), f_mul(turn.y, turn.y)), f_mul(turn.z, turn.z));
        const lm turning = m_and(m_and(live, usable), m_and(bent, f_lt(f_splat(2.5e-9f), size)));
        if (m_any(turning))
            for (uint32_t i = 0; i < bones; ++i) at[i] = v3_select(turning, q4_rotate(turn, at[i]), at[i]);
        c->moved = m_or(c->moved, turning);
        bend = v3_select(usable, pole, bend);
    }
    if (blocks->bend) v3_store(blocks->bend + block, lane, v3_select(live, bend, previous));
    const lm weighed = f_lt(zero, c->weight), solved = m_and(live, weighed);
    c->moved = m_and(c->moved, weighed);
    if (!m_all(solved)) {
        c->flags = i_select(solved, c->flags, flags_unmoved(c->flags));
        float *counts = set->state[COUNTS] + vector * LANES;
        i_store(counts, i_select(solved, i_load(counts), i_splat(0)));
    }
    const lm partial = m_and(c->moved, f_lt(c->weight, one));
    const int some_partial = m_any(partial);

    if (blocks->correction || some_partial) {
        phx_rows4 *out = blocks->correction ? blocks->correction + block * blocks->joints : NULL;
        const lv3 normal = v3_cross(axis, bend);
        const lf weight = f_max(c->weight, zero), least = f_mul(whole, f_splat(1e-6f));
        lv3 old_normal = none;
        if (setup->twist == PHX_TWIST_PLANE) {
            lv3 before[PHX_CHAIN_MAX_BONES], old_axis, old_bend;
            for (uint32_t i = 0; i < bones; ++i) before[i] = v3_sub(v3_load(animated + i + 1, lane), root);
            const lm old_bent = bend_of(before, bones, whole, c->axis, &old_axis, &old_bend);
            old_bend = unit_bend(old_bend, old_axis);
            if (!m_all(old_bent)) old_bend = v3_select(old_bent, old_bend, other_bend(previous, rest_bend, old_axis, tolerance_squared));
            old_normal = v3_cross(old_axis, old_bend);
        }
        lv3 before = none, weighted_at = none, joint = root;
        lq4 correction = q4_identity();
        for (uint32_t i = 0; i < bones; ++i) {
            const lv3 end = v3_load(animated + i + 1, lane), from = animated_direction(v3_sub(end, joint), whole, c->axis);
            const lf length = bone_length(set, i, vector);
            const lm solid = f_lt(least, length);
            const lv3 to = v3_scale(v3_sub(at[i], before), f_keep(solid, f_div(one, f_some(length))));
            joint = end, before = at[i];
            lq4 fresh = swing_between(from, to, normal);
            if (setup->twist == PHX_TWIST_PLANE) /* `to` of a short bone is not quite unit, and so is a turn about it */
                fresh = q4_normalize(q4_mul(turn_about(to, q4_rotate(fresh, old_normal), normal), fresh));
            correction = q4_select(solid, fresh, correction);
            lq4 given = correction;
            if (some_partial) {
                given = q4_select(partial, q4_fraction(correction, weight), correction);
                weighted_at = v3_add(weighted_at, v3_scale(q4_rotate(given, from), length));
                at[i] = v3_select(partial, weighted_at, at[i]);
            }
            if (out) q4_store(out + i, lane, q4_select(c->moved, given, q4_identity()));
        }
        if (out) {
            lq4 tip = q4_select(c->moved, correction, q4_identity());
            lm tip_partial = partial;
            if (blocks->target_rotation) {
                const lq4 wanted = q4_load(blocks->target_rotation + block, lane), now = q4_load(blocks->rotation + block * blocks->joints + bones, lane);
                const lm turned = m_and(m_and(is_rotation(wanted), is_rotation(now)), m_and(live, weighed));
                tip = q4_select(turned, q4_normalize(q4_mul(wanted, q4_conjugate(now))), tip);
                tip_partial = m_or(tip_partial, m_and(turned, f_lt(c->weight, one)));
            }
            if (m_any(tip_partial)) tip = q4_select(tip_partial, q4_fraction(tip, weight), tip);
            q4_store(out + bones, lane, tip);
        }
    }
    if (some_partial) c->stretch = f_select(partial, f_add(one, f_mul(f_sub(c->stretch, one), c->weight)), c->stretch);
    for (uint32_t i = 0; i < bones; ++i) set_joint(set, i, vector, setup->stretch ? v3_scale(at[i], c->stretch) : at[i]);
}

/* ---- the pool ---- */

/* The active lanes of one set side by side behind the `count` lanes of another, or of the same one. */
static inline void fabrik_move(fabrik_set *to, fabrik_set *from, const uint32_t bones, const uint32_t vectors) {
    const size_t stride = fabrik_stride(vectors);
    uint32_t count = to == from ? 0 : to->count;
    for (uint32_t v = 0; v < vectors; ++v) {
        const uint32_t lanes = m_count(from->active[v]);
        if (lanes == 0) continue;
        const float *source = from->joints + v * LANES;
        float *target = to->joints + count;
        if (LANES == 4) { /* few lanes, and no instruction that packs them: one after the other */
            for (uint32_t bits = m_bits(from->active[v]); bits; bits &= bits - 1, ++count, ++target) {
                const uint32_t lane = (uint32_t)__builtin_ctz(bits);
                for (uint32_t row = 0; row < 4 * bones; ++row) target[row * to->stride] = source[row * from->stride + lane];
                for (uint32_t row = 0; row < FABRIK_STATES; ++row) to->state[row][count] = from->state[row][v * LANES + lane];
            }
            continue;
        }
        const lp plan = m_packing(from->active[v]);
        for (uint32_t row = 0; row < 4 * bones; ++row, source += stride, target += stride)
            f_store_any(target, f_pack(plan, f_load(source)));
        for (uint32_t row = 0; row < FABRIK_STATES; ++row)
            f_store_any(to->state[row] + count, f_pack(plan, f_load(from->state[row] + v * LANES)));
        count += lanes;
    }
    to->count = count;
}

/* lanes [count, all) of no chain: zeros, inactive */
static inline void fabrik_activate(fabrik_set *set, uint32_t vectors) {
    for (uint32_t v = 0; v < vectors; ++v) {
        const uint32_t first = v * LANES;
        set->active[v] = m_from_bits(set->count >= first + LANES ? 0xFFFFu : set->count <= first ? 0u : (1u << (set->count - first)) - 1u);
    }
}
static void fabrik_clear_rest(fabrik_set *set, uint32_t bones, uint32_t lanes) {
    for (uint32_t row = 0; row < 4 * bones; ++row)
        for (uint32_t k = set->count; k < lanes; ++k) set->joints[row * set->stride + k] = 0.0f;
    for (uint32_t row = 0; row < FABRIK_STATES; ++row)
        for (uint32_t k = set->count; k < lanes; ++k) set->state[row][k] = 0.0f;
}

/* Writes the finished lanes of a vector of the pool, those of `done`, where their chains belong. */
static inline void fabrik_retire(const phx_chain_setup *setup, const phx_chain_blocks *blocks, fabrik_set *pool, uint32_t v, uint32_t done,
                                 const uint32_t vectors) {
    const uint32_t bones = blocks->joints - 1;
    const size_t stride = fabrik_stride(vectors);
    const lv3 miss = v3_sub(joint_at(pool, bones - 1, v), state3(pool, TARGET_X, v));
    const lf length = v3_length(miss), whole = f_load(pool->state[WHOLE] + v * LANES);
    const li counts = i_load(pool->state[COUNTS] + v * LANES);
    PHX_ALIGN_64 float residual[LANES];
    PHX_ALIGN_64 uint32_t rounds[LANES], flags[LANES];
    f_store(residual, length);
    i_store(rounds, i_and(counts, i_splat(COUNT_ROUNDS)));
    const lm reached = f_le(length, f_mul(whole, f_splat(setup->tolerance)));
    i_store(flags, i_or(i_select(reached, i_splat(PHX_FLAG_REACHED), i_splat(PHX_FLAG_STALLED)),
                        i_select(i_eq(i_and(counts, i_splat(COUNT_ZERO_LENGTH)), i_splat(0)), i_splat(0), i_splat(PHX_FLAG_ZERO_LENGTH))));
    const phx_rows3 *roots = blocks->position;
    phx_rows3 *solved = blocks->solved ? blocks->solved : blocks->position;
    for (; done; done &= done - 1) {
        const uint32_t k = (uint32_t)__builtin_ctz(done);
        uint32_t chain;
        memcpy(&chain, pool->state[CHAIN] + v * LANES + k, 4);
        const size_t block = chain / PHX_BLOCK_LANES, lane = chain % PHX_BLOCK_LANES, first = block * blocks->joints;
        const float x = roots[first].x[lane], y = roots[first].y[lane], z = roots[first].z[lane];
        const float *row = pool->joints + v * LANES + k;
        float *out = solved[first + 1].x + lane;
        for (uint32_t i = 0; i < bones; ++i, row += 4 * stride, out += 3 * PHX_BLOCK_LANES) {
            out[0] = x + row[0];
            out[PHX_BLOCK_LANES] = y + row[stride];
            out[2 * PHX_BLOCK_LANES] = z + row[2 * stride];
        }
        if (blocks->residual) blocks->residual[block].v[lane] = residual[k];
        if (blocks->iterations) blocks->iterations[block].v[lane] = rounds[k];
        if (blocks->flags) blocks->flags[block].v[lane] = flags[k];
    }
}

/* The finished lanes of a vector of the pool go to their window instead. */
static inline void fabrik_leave(fabrik_window *window, const fabrik_set *pool, uint32_t bones, uint32_t v, uint32_t done,
                                const uint32_t vectors) {
    const size_t stride = fabrik_stride(vectors);
    for (; done; done &= done - 1) {
        const uint32_t k = v * LANES + (uint32_t)__builtin_ctz(done);
        uint32_t chain;
        memcpy(&chain, pool->state[CHAIN] + k, 4);
        const size_t at = chain - window->first;
        const float *row = pool->joints + k;
        float *out = window->joints + at / LANES * (4 * bones * LANES) + at % LANES;
        for (uint32_t i = 0; i < bones; ++i, row += 4 * stride, out += 4 * LANES)
            out[0] = row[0], out[LANES] = row[stride], out[2 * LANES] = row[2 * stride];
        memcpy(window->counts + at, pool->state[COUNTS] + k, 4);
    }
}

/* Runs the pool until at most `wanted` lanes are left in it. */
static inline void fabrik_drain(const phx_chain_setup *setup, const phx_chain_blocks *blocks, fabrik_window *window, fabrik_set *pool,
                                fabrik_back *back, uint32_t wanted, phx_fabrik_stats *stats, const uint32_t vectors) {
    const uint32_t bones = blocks->joints - 1;
    const int closes = fabrik_closes(setup, bones);
    if (pool->count <= wanted) return;
    fabrik_activate(pool, vectors);
    if (pool->count < vectors * LANES) fabrik_clear_rest(pool, bones, vectors * LANES);
    while (pool->count > wanted) {
        const uint32_t enough = wanted < pool->count / 2 ? wanted : pool->count / 2;
        fabrik_rounds(setup, pool, back, bones, pool->count, enough, stats, vectors);
        for (uint32_t v = 0; v < vectors; ++v) {
            if (closes) fabrik_close(pool, v, bones);
            const uint32_t in_use = pool->count <= v * LANES ? 0 : pool->count - v * LANES;
            const uint32_t done = ~m_bits(pool->active[v]) & (in_use >= LANES ? (1u << (LANES - 1) << 1) - 1u : (1u << in_use) - 1u);
            if (done && window) fabrik_leave(window, pool, bones, v, done, vectors);
            else if (done) fabrik_retire(setup, blocks, pool, v, done, vectors);
        }
        fabrik_move(pool, pool, bones, vectors);
        fabrik_activate(pool, vectors);
    }
}

/* Begins the chains [chain, chain + LANES), or fills a vector beyond the last chain with nothing; how many lanes need rounds. */
static inline uint32_t fabrik_load(const phx_chain_setup *setup, const phx_chain_blocks *blocks, size_t chains, size_t chain, fabrik_set *set,
                                   uint32_t vector, fabrik_case *c, const int full) {
    if (chain < chains) {
        const uint32_t valid = chains - chain >= LANES ? 0xFFFFu : (1u << (chains - chain)) - 1u;
        const size_t block = chain / PHX_BLOCK_LANES;
        const uint32_t lane = (uint32_t)(chain % PHX_BLOCK_LANES);
        const int plain = !full && valid == 0xFFFFu && blocks->joints > 3 && !blocks->start && !blocks->rotation && !blocks->budget;
        if (plain && setup->max_iterations && fabrik_begin_quick(setup, blocks, block, lane, (uint32_t)chain, set, vector, c)) return LANES;
        (full ? fabrik_begin_full : fabrik_begin_plain)(setup, blocks, block, lane, (uint32_t)chain, m_from_bits(valid), set, vector, c);
        return m_count(set->active[vector]);
    }
    set->active[vector] = m_from_bits(0);
    for (uint32_t row = 0; row < 4 * (blocks->joints - 1); ++row) f_store(set->joints + row * set->stride + vector * LANES, f_splat(0.0f));
    for (uint32_t row = 0; row < FABRIK_STATES; ++row) f_store(set->state[row] + vector * LANES, f_splat(0.0f));
    return 0;
}

static inline void prefetch_rows(const void *begin, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) lane_prefetch_far((const char *)begin + at);
}
/* What the chains from `chain` on read and write, into the second level while others are solved: 3 to 8 % at 16 bones, nothing below 8. */
static inline void fabrik_prefetch(const phx_chain_blocks *blocks, size_t chain, size_t count) {
    const size_t block = chain / PHX_BLOCK_LANES, many = count / PHX_BLOCK_LANES, joints = blocks->joints;
    prefetch_rows(blocks->position + block * joints, many * joints * sizeof(phx_rows3));
    if (blocks->solved) prefetch_rows(blocks->solved + block * joints, many * joints * sizeof(phx_rows3));
    if (blocks->length) prefetch_rows(blocks->length + block * (joints - 1), many * (joints - 1) * sizeof(phx_rows1));
}

/* Chains whose answer is positions alone: staged and pooled. */
static inline void fabrik_plain(const phx_fabrik_setup *setup, const phx_chain_blocks *blocks, size_t chains, const uint32_t vectors) {
    const uint32_t bones = blocks->joints - 1, width = vectors * LANES;
    fabrik_set stage, pool;
    fabrik_back back;
    fabrik_case cases[IN_FLIGHT];
    phx_fabrik_stats stats = {0, 0};
    fabrik_prepare(&stage, vectors), fabrik_prepare(&pool, vectors);
    const int pooled = chains >= 3 * width, closes = fabrik_closes(&setup->chain, bones);
    for (size_t first = 0; first < chains; first += width) {
        uint32_t busy = 0;
        for (uint32_t v = 0; v < vectors; ++v)
            busy += fabrik_load(&setup->chain, blocks, chains, first + v * LANES, &stage, v, &cases[v], 0);
        const uint32_t enough = pooled ? width * 5 / 16 : 0;
        if (bones >= 8 && first + 2 * width <= chains) fabrik_prefetch(blocks, first + width, width);
        if (busy > enough) busy = fabrik_rounds(&setup->chain, &stage, &back, bones, busy, enough, &stats, vectors);
        for (uint32_t v = 0; v < vectors; ++v) {
            const size_t chain = first + v * LANES;
            const uint32_t lane = (uint32_t)(chain % PHX_BLOCK_LANES);
            if (closes) fabrik_close(&stage, v, bones);
            if (chain < chains) fabrik_end(&setup->chain, blocks, chain / PHX_BLOCK_LANES, lane, &stage, v, &cases[v], 0);
        }
        if (busy) {
            fabrik_drain(&setup->chain, blocks, NULL, &pool, &back, width - busy, &stats, vectors);
            fabrik_move(&pool, &stage, bones, vectors);
        }
    }
    fabrik_drain(&setup->chain, blocks, NULL, &pool, &back, 0, &stats, vectors);
    if (setup->stats) setup->stats->busy += stats.busy, setup->stats->total += stats.total;
}

/* LANES chains of a set to their place in the window, and back */
static inline void fabrik_park(fabrik_window *window, const fabrik_set *set, uint32_t v, size_t at, uint32_t bones,
                               const uint32_t vectors) {
    const float *in = set->joints + v * LANES;
    float *out = window->joints + at * 4 * bones;
    for (uint32_t row = 0; row < 4 * bones; ++row) f_store(out + row * LANES, f_load(in + row * fabrik_stride(vectors)));
    f_store(window->whole + at, f_load(set->state[WHOLE] + v * LANES));
    i_store(window->counts + at, i_load(set->state[COUNTS] + v * LANES));
}
static inline void fabrik_unpark(const fabrik_window *window, fabrik_set *set, uint32_t v, size_t at, uint32_t bones,
                                 const uint32_t vectors) {
    const float *in = window->joints + at * 4 * bones;
    float *out = set->joints + v * LANES;
    for (uint32_t row = 0; row < 4 * bones; ++row) f_store(out + row * fabrik_stride(vectors), f_load(in + row * LANES));
    f_store(set->state[WHOLE] + v * LANES, f_load(window->whole + at));
    i_store(set->state[COUNTS] + v * LANES, i_load(window->counts + at));
}

/* Chains whose answer is more than positions: staged and pooled window by window, then the rest of the answer from the joints. */
static inline void fabrik_full(const phx_fabrik_setup *setup, const phx_chain_blocks *blocks, size_t chains, const uint32_t vectors) {
    const uint32_t bones = blocks->joints - 1, width = vectors * LANES;
    fabrik_set stage, pool;
    fabrik_back back;
    fabrik_window window;
    phx_fabrik_stats stats = {0, 0};
    fabrik_prepare(&stage, vectors), fabrik_prepare(&pool, vectors);
    const int closes = fabrik_closes(&setup->chain, bones);
    const size_t fit = FABRIK_WINDOW_FLOATS / (4 * bones), span = (fit < FABRIK_WINDOW ? fit : FABRIK_WINDOW) / width * width;
    for (size_t first = 0; first < chains; first += span) {
        const size_t n = chains - first < span ? chains - first : span;
        const uint32_t enough = n >= 2 * width ? width * 5 / 16 : 0;
        window.first = first;
        for (size_t at = 0; at < n; at += width) {
            uint32_t busy = 0;
            for (uint32_t v = 0; v < vectors; ++v)
                busy += fabrik_load(&setup->chain, blocks, chains, first + at + v * LANES, &stage, v, &window.cases[at / LANES + v], 1);
            if (busy > enough) busy = fabrik_rounds(&setup->chain, &stage, &back, bones, busy, enough, &stats, vectors);
            for (uint32_t v = 0; v < vectors && closes; ++v) fabrik_close(&stage, v, bones);
            for (uint32_t v = 0; v < vectors; ++v) fabrik_park(&window, &stage, v, at + v * LANES, bones, vectors);
            if (busy) {
                fabrik_drain(&setup->chain, blocks, &window, &pool, &back, width - busy, &stats, vectors);
                fabrik_move(&pool, &stage, bones, vectors);
            }
        }
        fabrik_drain(&setup->chain, blocks, &window, &pool, &back, 0, &stats, vectors);
        for (size_t at = 0; at < n; at += LANES) {
            const size_t block = (first + at) / PHX_BLOCK_LANES;
            const uint32_t lane = (uint32_t)((first + at) % PHX_BLOCK_LANES);
            fabrik_unpark(&window, &stage, 0, at, bones, vectors);
            fabrik_finish(&setup->chain, blocks, block, lane, &stage, 0, &window.cases[at / LANES]);
            fabrik_end(&setup->chain, blocks, block, lane, &stage, 0, &window.cases[at / LANES], 1);
        }
    }
    if (setup->stats) setup->stats->busy += stats.busy, setup->stats->total += stats.total;
}

static void fabrik_chains(const void *any, const phx_chain_blocks *blocks, size_t chains) {
    const phx_fabrik_setup *setup = any;
    const int full = setup->chain.soft || setup->chain.stretch || blocks->pole || blocks->bend || blocks->weight || blocks->correction;
    const int is_short = blocks->joints - 1 <= FABRIK_SHORT;
    if (full && is_short) fabrik_full(setup, blocks, chains, IN_FLIGHT);
    else if (full) fabrik_full(setup, blocks, chains, IN_FLIGHT_LONG);
    else if (is_short) fabrik_plain(setup, blocks, chains, IN_FLIGHT);
    else fabrik_plain(setup, blocks, chains, IN_FLIGHT_LONG);
}

static void fabrik_blocks(const phx_fabrik_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count) {
    const size_t most = (size_t)1 << 24; /* chains are numbered in 32 bits */
    for (size_t done = 0; done < count; done += most) {
        const size_t n = count - done < most ? count - done : most;
        const phx_chain_blocks part = chain_blocks_at(blocks, first + done, n);
        fabrik_chains(setup, &part, n * PHX_BLOCK_LANES);
    }
}

static void fabrik_job(const phx_fabrik_setup *setup, const phx_chain_job *job, size_t first, size_t count) {
    chain_job_run(setup, job, first, count, fabrik_chains);
}
