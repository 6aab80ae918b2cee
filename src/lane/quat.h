/* Quaternions over lanes; the scalar twin, with the same order of operations, is reference/scalar.h. */
#ifndef PHX_LANE_QUAT_H
#define PHX_LANE_QUAT_H

#include "vec.h"
#include "trig.h"

typedef struct lq4 {
    lf x, y, z, w;
} lq4;

lane_inline lq4 q4_identity(void) { return (lq4){f_splat(0.0f), f_splat(0.0f), f_splat(0.0f), f_splat(1.0f)}; }
lane_inline lq4 q4_load(const phx_rows4 *rows, uint32_t lane) {
    return (lq4){f_load(rows->x + lane), f_load(rows->y + lane), f_load(rows->z + lane), f_load(rows->w + lane)};
}
lane_inline void q4_store(phx_rows4 *rows, uint32_t lane, lq4 a) {
    f_store(rows->x + lane, a.x), f_store(rows->y + lane, a.y), f_store(rows->z + lane, a.z), f_store(rows->w + lane, a.w);
}
lane_inline lq4 q4_conjugate(lq4 a) { return (lq4){f_neg(a.x), f_neg(a.y), f_neg(a.z), a.w}; }
lane_inline lq4 q4_select(lm m, lq4 a, lq4 b) {
    return (lq4){f_select(m, a.x, b.x), f_select(m, a.y, b.y), f_select(m, a.z, b.z), f_select(m, a.w, b.w)};
}
lane_inline lf q4_dot(lq4 a, lq4 b) {
    return f_add(f_add(f_add(f_mul(a.x, b.x), f_mul(a.y, b.y)), f_mul(a.z, b.z)), f_mul(a.w, b.w));
}
lane_inline lq4 q4_scale(lq4 a, lf s) { return (lq4){f_mul(a.x, s), f_mul(a.y, s), f_mul(a.z, s), f_mul(a.w, s)}; }
lane_inline lq4 q4_normalize(lq4 a) { return q4_scale(a, f_div(f_splat(1.0f), f_sqrt(f_some(q4_dot(a, a))))); }

/* Hamilton product: first b, then a */
lane_inline lq4 q4_mul(lq4 a, lq4 b) {
    return (lq4){
        f_sub(f_add(f_add(f_mul(a.w, b.x), f_mul(a.x, b.w)), f_mul(a.y, b.z)), f_mul(a.z, b.y)),
        f_sub(f_add(f_add(f_mul(a.w, b.y), f_mul(a.y, b.w)), f_mul(a.z, b.x)), f_mul(a.x, b.z)),
        f_sub(f_add(f_add(f_mul(a.w, b.z), f_mul(a.z, b.w)), f_mul(a.x, b.y)), f_mul(a.y, b.x)),
        f_sub(f_sub(f_sub(f_mul(a.w, b.w), f_mul(a.x, b.x)), f_mul(a.y, b.y)), f_mul(a.z, b.z)),
    };
}

/* q v q*, as v + 2 (w t + u x t) with u the vector part and t = u x v */
lane_inline lv3 q4_rotate(lq4 q, lv3 v) {
    const lv3 u = {q.x, q.y, q.z};
    const lv3 t = v3_cross(u, v);
    const lv3 s = v3_add(v3_scale(t, q.w), v3_cross(u, t));
    return v3_add(v, v3_add(s, s));
}

/* The lanes of q4_between near the half turn, where both parts are mostly rounding: the axis is cleaned of its part along `to`, and
 * w = length^2 + from . to becomes |from x to|^2 / (length^2 - from . to), which has no cancellation; `spare` at the half turn itself.
 * The divisor is above length^2 there, and kept so in the other lanes, that none overflows. */
lane_cold lq4 q4_near_half_turn(lq4 q, lf cosine, lv3 to, lf length_squared, lv3 spare, lm near_half_turn) {
    const lv3 axis = {q.x, q.y, q.z};
    const lv3 cleaned = v3_sub(axis, v3_scale(to, f_div(v3_dot(axis, to), f_some(length_squared))));
    const lf noise = f_mul(length_squared, f_splat(1e-6f)), sine_squared = v3_dot(cleaned, cleaned);
    const lm half_turn = m_and(near_half_turn, f_le(sine_squared, f_mul(noise, noise)));
    const lv3 chosen = v3_select(half_turn, spare, v3_select(near_half_turn, cleaned, axis));
    const lf w = f_select(near_half_turn, f_div(sine_squared, f_some(f_max(f_sub(length_squared, cosine), length_squared))), q.w);
    return (lq4){chosen.x, chosen.y, chosen.z, f_select(half_turn, f_splat(0.0f), w)};
}

/* Shortest rotation that takes `from` to `to`, both of length sqrt(length_squared): (from x to, length^2 + from . to),
 * normalised. Near the half turn both parts are mostly rounding: see q4_near_half_turn. `spare`, a unit vector at right angles
 * to `to`, is the axis of the half turn itself. */
lane_inline lq4 q4_between(lv3 from, lv3 to, lf length_squared, lv3 spare) {
    const lv3 axis = v3_cross(from, to);
    const lf cosine = v3_dot(from, to), w = f_add(length_squared, cosine);
    lq4 q = {axis.x, axis.y, axis.z, w};
    const lm near_half_turn = f_lt(w, f_mul(length_squared, f_splat(0.0625f)));
    if (lane_rare(m_any(near_half_turn))) q = q4_near_half_turn(q, cosine, to, length_squared, spare, near_half_turn);
    return q4_normalize(q);
}

/* Half-angle quaternion of a turn about the unit axis by the angle whose cosine and sine, both scaled by `scale` >= 0, are given:
 * (axis sin, scale + cos) normalised, or its equal (axis (scale - cos), sin) where the turn is more than a right angle. */
lane_inline lq4 q4_turn(lv3 axis, lf cosine, lf sine, lf scale) {
    const lm obtuse = f_lt(cosine, f_splat(0.0f));
    const lf w = f_select(obtuse, f_abs(sine), f_add(scale, cosine));
    const lf s = f_select(obtuse, f_copysign(f_sub(scale, cosine), sine), sine);
    const lf inverse = f_div(f_splat(1.0f), f_sqrt(f_some(f_add(f_mul(w, w), f_mul(s, s)))));
    const lf k = f_mul(s, inverse);
    return (lq4){f_mul(axis.x, k), f_mul(axis.y, k), f_mul(axis.z, k), f_mul(w, inverse)};
}

/* Slerp from the identity to the unit q by the shortest arc; weight in [0, 1]. */
lane_inline lq4 q4_fraction(lq4 q, lf weight) {
    const lf flip = f_copysign(f_splat(1.0f), q.w);
    const lf s = f_sqrt(f_add(f_add(f_mul(q.x, q.x), f_mul(q.y, q.y)), f_mul(q.z, q.z)));
    const lf half_angle = f_mul(f_atan2_positive(s, f_abs(q.w)), weight);
    lf sine, cosine;
    f_sincos_quarter(half_angle, &sine, &cosine);
    const lm tiny = f_lt(s, f_splat(1e-12f));
    const lf k = f_mul(f_select(tiny, weight, f_div(sine, f_max(s, f_splat(1e-12f)))), flip);
    return (lq4){f_mul(q.x, k), f_mul(q.y, k), f_mul(q.z, k), cosine};
}

#endif
