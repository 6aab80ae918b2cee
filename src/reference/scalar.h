/* Scalar floats, vectors and quaternions for the reference solvers: plain C with branches, in the same order of operations as
 * lane/vec.h, lane/quat.h and lane/trig.h, and without including them. Also used by src/api to prepare constants. */
#ifndef PHX_REFERENCE_SCALAR_H
#define PHX_REFERENCE_SCALAR_H

#include "phalanx/base.h"
#include <math.h>
#include <string.h>

/* With these a compiler leaves out what looks for NaN, reorders sums, and divides by multiplying. GCC's macros; clang has the first two. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "Phalanx is to be compiled without -ffast-math, -Ofast, -ffinite-math-only and -funsafe-math-optimizations: its answers and its checks rest on IEEE arithmetic"
#endif

/* NaN and equal zeros give the second operand, as the lanes do */
static inline float min1(float a, float b) { return a < b ? a : b; }
static inline float max1(float a, float b) { return a > b ? a : b; }
static inline float some1(float a) { return max1(a, 0x1p-126f); } /* see f_some */

/* flags of what was left as animated: what was done to the answer was not done to it */
static inline uint32_t flags_unmoved(uint32_t flags) { return flags & ~(uint32_t)(PHX_FLAG_LIMIT | PHX_FLAG_SOFTENED | PHX_FLAG_STRETCHED); }

static inline phx_vec3 vec3(float x, float y, float z) { return (phx_vec3){x, y, z}; }
static inline phx_vec3 add3(phx_vec3 a, phx_vec3 b) { return vec3(a.x + b.x, a.y + b.y, a.z + b.z); }
static inline phx_vec3 sub3(phx_vec3 a, phx_vec3 b) { return vec3(a.x - b.x, a.y - b.y, a.z - b.z); }
static inline phx_vec3 scale3(phx_vec3 a, float s) { return vec3(a.x * s, a.y * s, a.z * s); }
static inline float dot3(phx_vec3 a, phx_vec3 b) { return (a.x * b.x + a.y * b.y) + a.z * b.z; }
static inline phx_vec3 cross3(phx_vec3 a, phx_vec3 b) {
    return vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline float length3(phx_vec3 a) { return sqrtf(dot3(a, a)); }
static inline phx_vec3 reject3(phx_vec3 a, phx_vec3 n) { return sub3(a, scale3(n, dot3(a, n))); }

static inline phx_quat quat(float x, float y, float z, float w) { return (phx_quat){x, y, z, w}; }
static inline phx_quat quat_identity(void) { return quat(0.0f, 0.0f, 0.0f, 1.0f); }
static inline phx_quat conjugate4(phx_quat a) { return quat(-a.x, -a.y, -a.z, a.w); }
static inline float dot4(phx_quat a, phx_quat b) { return ((a.x * b.x + a.y * b.y) + a.z * b.z) + a.w * b.w; }
static inline phx_quat scale4(phx_quat a, float s) { return quat(a.x * s, a.y * s, a.z * s, a.w * s); }
static inline phx_quat normalize4(phx_quat a) { return scale4(a, 1.0f / sqrtf(some1(dot4(a, a)))); }
static inline phx_quat mul4(phx_quat a, phx_quat b) {
    return quat(((a.w * b.x + a.x * b.w) + a.y * b.z) - a.z * b.y, ((a.w * b.y + a.y * b.w) + a.z * b.x) - a.x * b.z,
                ((a.w * b.z + a.z * b.w) + a.x * b.y) - a.y * b.x, ((a.w * b.w - a.x * b.x) - a.y * b.y) - a.z * b.z);
}
static inline phx_vec3 rotate3(phx_quat q, phx_vec3 v) {
    const phx_vec3 u = vec3(q.x, q.y, q.z);
    const phx_vec3 t = cross3(u, v);
    const phx_vec3 s = add3(scale3(t, q.w), cross3(u, t));
    return add3(v, add3(s, s));
}

/* near enough to unit length to be meant as a rotation; 0 for NaN */
static inline int is_rotation(phx_quat a) {
    const float squared = dot4(a, a);
    return 0.25f < squared && squared < 4.0f;
}

/* to 21 significant bits, so that lengths measured from rounded joints come out the same frame after frame */
static inline float settled_length(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits = (bits + 4u) & 0xFFFFFFF8u;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* X if |axis.x| <= |axis.y|, else Y: never near the axis */
static inline phx_vec3 spare_direction(phx_vec3 axis) {
    return fabsf(axis.x) <= fabsf(axis.y) ? vec3(1.0f, 0.0f, 0.0f) : vec3(0.0f, 1.0f, 0.0f);
}

/* 2^k for a in [2^k, 2^(k+1)) */
static inline float power_of_two_of(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= 0x7F800000u;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* Exactly scaled to a length in [1, 2), so that products of it neither overflow nor vanish; zero where it is not between 1e-12 and 1e18
 * long, and then 0 is returned unless it was zero. */
static inline int take_pole(phx_vec3 given, phx_vec3 *pole) {
    const float squared = dot3(given, given);
    const int usable = 1e-24f < squared && squared < 1e36f;
    *pole = usable ? scale3(given, 1.0f / power_of_two_of(sqrtf(squared))) : vec3(0.0f, 0.0f, 0.0f);
    return usable || squared == 0.0f;
}

/* `hint` less its part along the axis; 0 where too little of it remains, and for NaN */
static inline int take_hint(phx_vec3 hint, phx_vec3 axis, float tolerance_squared, phx_vec3 *chosen) {
    const phx_vec3 rest = reject3(hint, axis);
    if (!(dot3(hint, hint) * tolerance_squared < dot3(rest, rest))) return 0;
    *chosen = rest;
    return 1;
}
static inline phx_vec3 unit_bend(phx_vec3 bend, phx_vec3 axis) { return reject3(scale3(bend, 1.0f / length3(bend)), axis); }

/* |x| <= 8192 */
static inline void sincos1(float x, float *sine, float *cosine) {
    const int32_t quadrant = (int32_t)(x * 0.636619772367581f + copysignf(0.5f, x));
    const float n = (float)quadrant;
    const float r = ((x - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.549789948768648e-8f;
    const float z = r * r;
    const float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z + -1.6666654611e-1f) * z * r + r;
    const float c = (((2.443315711809948e-5f * z + -1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - z * 0.5f) + 1.0f;
    const float a = quadrant & 1 ? c : s, b = quadrant & 1 ? s : c;
    *sine = quadrant & 2 ? -a : a;
    *cosine = (quadrant + 1) & 2 ? -b : b;
}

/* Knee limits as two-bone solvers take them, in units of the product of the bones: 2 (1 - cos min_bend), by which the squared
 * distance of root and tip is short of the straight leg's, and 2 (1 + cos max_bend), by which it exceeds the folded leg's. By half
 * angles, so that small bends and nearly folded ones are exact. */
static inline void bend_limits1(float min_bend, float max_bend, float *short_at_min_bend, float *open_at_max_bend) {
    float sine, cosine;
    sincos1(min_bend * 0.5f, &sine, &cosine);
    *short_at_min_bend = 4.0f * sine * sine;
    sincos1(max_bend * 0.5f, &sine, &cosine);
    *open_at_max_bend = 4.0f * cosine * cosine;
}

/* x in [0, pi/2] */
static inline void sincos_quarter1(float x, float *sine, float *cosine) {
    const int upper = 0.785398163397448f < x;
    const float r = upper ? (1.57079637050628662f - x) - 4.37113882867379e-8f : x;
    const float z = r * r;
    const float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z + -1.6666654611e-1f) * z * r + r;
    const float c = (((2.443315711809948e-5f * z + -1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - z * 0.5f) + 1.0f;
    *sine = upper ? c : s;
    *cosine = upper ? s : c;
}

/* of half the angle that a joint of this speed may turn in a time; cosine -1, which nothing is below, where it has no limit */
static inline void half_turn_in1(float dt, float speed, float *sine, float *cosine) {
    sincos_quarter1(min1(speed * dt * 0.5f, 1.57079637050628662f), sine, cosine);
    if (!(0.0f < speed)) *cosine = -1.0f;
}

/* y >= 0, x >= 0; [0, pi/2] */
static inline float atan2_positive1(float y, float x) {
    const int swap = x < y;
    const float low = swap ? x : y, high = swap ? y : x;
    const int middle = high * 0.414213562373095f < low;
    const float numerator = middle ? low - high : low, denominator = middle ? low + high : high;
    const float t = numerator / (denominator <= 0.0f ? 1.0f : denominator);
    const float z = t * t;
    float angle = (((8.05374449538e-2f * z + -1.38776856032e-1f) * z + 1.99777106478e-1f) * z + -3.33329491539e-1f) * z * t + t;
    if (middle) angle = angle + 0.785398163397448f;
    return swap ? 1.57079632679490f - angle : angle;
}

static inline float atan2_1(float y, float x) {
    const float angle = atan2_positive1(fabsf(y), fabsf(x));
    return copysignf(x < 0.0f ? 3.14159265358979f - angle : angle, y);
}

/* 2^x; 0 below -126, 2^127 above 127 */
static inline float exp2_1(float x) {
    const float clamped = min1(max1(x, -126.0f), 127.0f);
    const int32_t n = (int32_t)(clamped + copysignf(0.5f, clamped));
    const float r = (clamped - (float)n) * 0.693147180559945f;
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    if (x < -126.0f) return 0.0f;
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* e^(gap / room), the share of its room that a soft reach leaves, for a gap <= 0 */
static inline float eased_share1(float gap, float room) { return exp2_1(min1(gap, 0.0f) / max1(room, 1e-19f) * 1.44269504088896f); }

/* share of an old value that stays after dt seconds: 2^(-dt / half-life); all of it for dt <= 0, none for half-life 0 */
static inline float keep1(float dt, float half_life) {
    if (dt <= 0.0f) return 1.0f;
    if (half_life <= 0.0f) return 0.0f;
    return exp2_1(-dt / half_life);
}

/* shortest rotation from -> to; see q4_between */
static inline phx_quat between4(phx_vec3 from, phx_vec3 to, float length_squared, phx_vec3 spare) {
    phx_vec3 axis = cross3(from, to);
    const float cosine = dot3(from, to);
    float w = length_squared + cosine;
    if (w < length_squared * 0.0625f) {
        axis = sub3(axis, scale3(to, dot3(axis, to) / some1(length_squared)));
        const float noise = length_squared * 1e-6f;
        const float sine_squared = dot3(axis, axis);
        w = sine_squared / some1(length_squared - cosine);
        if (sine_squared <= noise * noise) axis = spare, w = 0.0f;
    }
    return normalize4(quat(axis.x, axis.y, axis.z, w));
}

/* turn about a unit axis given the scaled cosine and sine of its angle; see q4_turn */
static inline phx_quat turn4(phx_vec3 axis, float cosine, float sine, float scale) {
    const int obtuse = cosine < 0.0f;
    const float w = obtuse ? fabsf(sine) : scale + cosine;
    const float s = obtuse ? copysignf(scale - cosine, sine) : sine;
    const float inverse = 1.0f / sqrtf(some1(w * w + s * s));
    const float k = s * inverse;
    return quat(axis.x * k, axis.y * k, axis.z * k, w * inverse);
}

/* slerp from the identity by the shortest arc; weight in [0, 1] */
static inline phx_quat fraction4(phx_quat q, float weight) {
    const float flip = copysignf(1.0f, q.w);
    const float s = sqrtf((q.x * q.x + q.y * q.y) + q.z * q.z);
    float sine, cosine;
    sincos_quarter1(atan2_positive1(s, fabsf(q.w)) * weight, &sine, &cosine);
    const float k = (s < 1e-12f ? weight : sine / s) * flip;
    return quat(q.x * k, q.y * k, q.z * k, cosine);
}

#endif
