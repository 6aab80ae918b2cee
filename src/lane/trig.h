/* Sine, cosine, arc tangent and power of two over lanes, from polynomials alone so that every machine returns the same bits.
 * Errors, measured against double precision by tests/trig.c: sin and cos 1e-7 absolute for |x| <= 8192, atan2 3e-7 absolute,
 * exp2 1e-7 relative. The scalar twin is reference/scalar.h. Coefficients: the classic single-precision
 * minimax polynomials (Moshier, Methods and Programs for Mathematical Functions, 1989). */
#ifndef PHX_LANE_TRIG_H
#define PHX_LANE_TRIG_H

#include "lane.h"

/* both on [-pi/4, pi/4] */
static inline lf f_sine_polynomial(lf x, lf z) {
    lf p = f_splat(-1.9515295891e-4f);
    p = f_add(f_mul(p, z), f_splat(8.3321608736e-3f));
    p = f_add(f_mul(p, z), f_splat(-1.6666654611e-1f));
    return f_add(f_mul(f_mul(p, z), x), x);
}
static inline lf f_cosine_polynomial(lf z) {
    lf p = f_splat(2.443315711809948e-5f);
    p = f_add(f_mul(p, z), f_splat(-1.388731625493765e-3f));
    p = f_add(f_mul(p, z), f_splat(4.166664568298827e-2f));
    return f_add(f_sub(f_mul(f_mul(p, z), z), f_mul(z, f_splat(0.5f))), f_splat(1.0f));
}

/* |x| <= 8192; reduction by multiples of pi/2 in three parts */
static inline void f_sincos(lf x, lf *sine, lf *cosine) {
    const li quadrant = i_truncate(f_add(f_mul(x, f_splat(0.636619772367581f)), f_copysign(f_splat(0.5f), x)));
    const lf n = i_to_f(quadrant);
    lf r = f_sub(x, f_mul(n, f_splat(1.5703125f)));
    r = f_sub(r, f_mul(n, f_splat(4.837512969970703125e-4f)));
    r = f_sub(r, f_mul(n, f_splat(7.549789948768648e-8f)));
    const lf z = f_mul(r, r), s = f_sine_polynomial(r, z), c = f_cosine_polynomial(z);
    const lm odd = i_eq(i_and(quadrant, i_splat(1)), i_splat(1));
    const li sine_sign = i_shl(i_and(quadrant, i_splat(2)), 30);
    const li cosine_sign = i_shl(i_and(i_add(quadrant, i_splat(1)), i_splat(2)), 30);
    *sine = i_as_f(i_xor(i_bits_of(f_select(odd, c, s)), sine_sign));
    *cosine = i_as_f(i_xor(i_bits_of(f_select(odd, s, c)), cosine_sign));
}

/* x in [0, pi/2] */
static inline void f_sincos_quarter(lf x, lf *sine, lf *cosine) {
    const lm upper = f_lt(f_splat(0.785398163397448f), x);
    const lf reduced = f_sub(f_sub(f_splat(1.57079637050628662f), x), f_splat(4.37113882867379e-8f));
    const lf r = f_select(upper, reduced, x);
    const lf z = f_mul(r, r), s = f_sine_polynomial(r, z), c = f_cosine_polynomial(z);
    *sine = f_select(upper, c, s);
    *cosine = f_select(upper, s, c);
}

/* atan2 for y >= 0 and x >= 0, in [0, pi/2]; 0 where both are 0. One division: arguments above tan(pi/8) are first turned
 * by -45 degrees, as (a - b) / (a + b). */
static inline lf f_atan2_positive(lf y, lf x) {
    const lm swap = f_lt(x, y);
    const lf low = f_select(swap, x, y), high = f_select(swap, y, x);
    const lm middle = f_lt(f_mul(high, f_splat(0.414213562373095f)), low);
    const lf numerator = f_select(middle, f_sub(low, high), low);
    const lf denominator = f_select(middle, f_add(low, high), high);
    const lm zero = f_le(denominator, f_splat(0.0f));
    const lf t = f_div(numerator, f_select(zero, f_splat(1.0f), denominator));
    const lf z = f_mul(t, t);
    lf p = f_splat(8.05374449538e-2f);
    p = f_add(f_mul(p, z), f_splat(-1.38776856032e-1f));
    p = f_add(f_mul(p, z), f_splat(1.99777106478e-1f));
    p = f_add(f_mul(p, z), f_splat(-3.33329491539e-1f));
    lf angle = f_add(f_mul(f_mul(p, z), t), t);
    angle = f_select(middle, f_add(angle, f_splat(0.785398163397448f)), angle);
    return f_select(swap, f_sub(f_splat(1.57079632679490f), angle), angle);
}

static inline lf f_atan2(lf y, lf x) {
    const lf angle = f_atan2_positive(f_abs(y), f_abs(x));
    const lf half = f_select(f_lt(x, f_splat(0.0f)), f_sub(f_splat(3.14159265358979f), angle), angle);
    return f_copysign(half, y);
}

/* 2^x; 0 below -126, 2^127 above 127 */
static inline lf f_exp2(lf x) {
    const lf clamped = f_min(f_max(x, f_splat(-126.0f)), f_splat(127.0f));
    const li n = i_truncate(f_add(clamped, f_copysign(f_splat(0.5f), clamped)));
    const lf r = f_mul(f_sub(clamped, i_to_f(n)), f_splat(0.693147180559945f));
    lf p = f_splat(1.9875691500e-4f);
    p = f_add(f_mul(p, r), f_splat(1.3981999507e-3f));
    p = f_add(f_mul(p, r), f_splat(8.3334519073e-3f));
    p = f_add(f_mul(p, r), f_splat(4.1665795894e-2f));
    p = f_add(f_mul(p, r), f_splat(1.6666665459e-1f));
    p = f_add(f_mul(p, r), f_splat(5.0000001201e-1f));
    p = f_add(f_add(f_mul(f_mul(p, r), r), r), f_splat(1.0f));
    const lf power = i_as_f(i_shl(i_add(n, i_splat(127)), 23));
    return f_select(f_lt(x, f_splat(-126.0f)), f_splat(0.0f), f_mul(p, power));
}

#endif
