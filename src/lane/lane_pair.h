/* Two vectors taken as one of twice the lanes: the contract of lane.h, but for packing, with every operation done on both halves. A kernel
 * written once then has two independent chains of operations in flight, which hides the latency of divisions and roots. Included by lane.h
 * where PHX_PAIR is defined; PHX_LANES is the width of a half.
 *
 * Rows: a block has 16 columns. Where two halves fit, they are neighbours in one row; two halves of 16 lanes are the same row of two
 * neighbouring blocks, PHX_PAIR bytes apart. */
#ifndef PHX_LANE_PAIR_H
#define PHX_LANE_PAIR_H

/* the half's operations by names of their own */
#define LANES HALF_LANES
#define lf half_lf
#define li half_li
#define lm half_lm
#define f_splat half_f_splat
#define f_load half_f_load
#define f_store half_f_store
#define f_add half_f_add
#define f_sub half_f_sub
#define f_mul half_f_mul
#define f_div half_f_div
#define f_sqrt half_f_sqrt
#define f_min half_f_min
#define f_max half_f_max
#define f_neg half_f_neg
#define f_abs half_f_abs
#define f_copysign half_f_copysign
#define f_lt half_f_lt
#define f_le half_f_le
#define f_eq half_f_eq
#define f_select half_f_select
#define f_keep half_f_keep
#define m_and half_m_and
#define m_or half_m_or
#define m_andnot half_m_andnot
#define m_not half_m_not
#define m_any half_m_any
#define m_all half_m_all
#define m_bits half_m_bits
#define m_count half_m_count
#define m_from_bits half_m_from_bits
#define i_splat half_i_splat
#define i_load half_i_load
#define i_store half_i_store
#define i_add half_i_add
#define i_sub half_i_sub
#define i_and half_i_and
#define i_or half_i_or
#define i_xor half_i_xor
#define i_eq half_i_eq
#define i_gt half_i_gt
#define i_select half_i_select
#define i_truncate half_i_truncate
#define i_to_f half_i_to_f
#define i_bits_of half_i_bits_of
#define i_as_f half_i_as_f
#define f_load3 half_f_load3
#define f_load4 half_f_load4
#define f_store3 half_f_store3
#define f_store4 half_f_store4
#define f_load1 half_f_load1
#define f_store1 half_f_store1
#if PHX_LANES == 4
#include "lane_4.h"
#elif PHX_LANES == 8
#include "lane_8.h"
#else
#include "lane_16.h"
#endif
#undef LANES
#undef lf
#undef li
#undef lm
#undef f_splat
#undef f_load
#undef f_store
#undef f_add
#undef f_sub
#undef f_mul
#undef f_div
#undef f_sqrt
#undef f_min
#undef f_max
#undef f_neg
#undef f_abs
#undef f_copysign
#undef f_lt
#undef f_le
#undef f_eq
#undef f_select
#undef f_keep
#undef m_and
#undef m_or
#undef m_andnot
#undef m_not
#undef m_any
#undef m_all
#undef m_bits
#undef m_count
#undef m_from_bits
#undef i_splat
#undef i_load
#undef i_store
#undef i_add
#undef i_sub
#undef i_and
#undef i_or
#undef i_xor
#undef i_shl
#undef i_shr
#undef i_eq
#undef i_gt
#undef i_select
#undef i_truncate
#undef i_to_f
#undef i_bits_of
#undef i_as_f
#undef f_load3
#undef f_load4
#undef f_store3
#undef f_store4
#undef f_load1
#undef f_store1

enum { LANES = 2 * HALF_LANES };
typedef struct lf {
    half_lf a, b;
} lf;
typedef struct li {
    half_li a, b;
} li;
typedef struct lm {
    half_lm a, b;
} lm;

#define PAIR_OF_1(result, name, type) \
    lane_inline result name(type x) { return (result){half_##name(x.a), half_##name(x.b)}; }
#define PAIR_OF_2(result, name, type) \
    lane_inline result name(type x, type y) { return (result){half_##name(x.a, y.a), half_##name(x.b, y.b)}; }
#define PAIR_OF_SELECT(result, name) \
    lane_inline result name(lm m, result x, result y) { return (result){half_##name(m.a, x.a, y.a), half_##name(m.b, x.b, y.b)}; }

/* from a half to the other one, in floats of a row and in elements of an array */
enum { HALF_A_ROW = HALF_LANES < 16 ? HALF_LANES : PHX_PAIR / 4 };

lane_inline lf f_splat(float a) { return (lf){half_f_splat(a), half_f_splat(a)}; }
lane_inline lf f_load(const float *p) { return (lf){half_f_load(p), half_f_load(p + HALF_A_ROW)}; }
lane_inline void f_store(float *p, lf x) { half_f_store(p, x.a), half_f_store(p + HALF_A_ROW, x.b); }
PAIR_OF_2(lf, f_add, lf)
PAIR_OF_2(lf, f_sub, lf)
PAIR_OF_2(lf, f_mul, lf)
PAIR_OF_2(lf, f_div, lf)
PAIR_OF_1(lf, f_sqrt, lf)
PAIR_OF_2(lf, f_min, lf)
PAIR_OF_2(lf, f_max, lf)
PAIR_OF_1(lf, f_neg, lf)
PAIR_OF_1(lf, f_abs, lf)
PAIR_OF_2(lf, f_copysign, lf)
PAIR_OF_2(lm, f_lt, lf)
PAIR_OF_2(lm, f_le, lf)
PAIR_OF_2(lm, f_eq, lf)
PAIR_OF_SELECT(lf, f_select)
lane_inline lf f_keep(lm m, lf x) { return (lf){half_f_keep(m.a, x.a), half_f_keep(m.b, x.b)}; }

PAIR_OF_2(lm, m_and, lm)
PAIR_OF_2(lm, m_or, lm)
PAIR_OF_2(lm, m_andnot, lm)
PAIR_OF_1(lm, m_not, lm)
lane_inline int m_any(lm m) { return half_m_any(half_m_or(m.a, m.b)); }
lane_inline int m_all(lm m) { return half_m_all(half_m_and(m.a, m.b)); }
lane_inline uint32_t m_bits(lm m) { return half_m_bits(m.a) | half_m_bits(m.b) << HALF_LANES; }
lane_inline uint32_t m_count(lm m) { return half_m_count(m.a) + half_m_count(m.b); }
lane_inline lm m_from_bits(uint32_t bits) { return (lm){half_m_from_bits(bits), half_m_from_bits(bits >> HALF_LANES)}; }

lane_inline li i_splat(int32_t a) { return (li){half_i_splat(a), half_i_splat(a)}; }
lane_inline li i_load(const void *p) { return (li){half_i_load(p), half_i_load((const float *)p + HALF_A_ROW)}; }
lane_inline void i_store(void *p, li x) { half_i_store(p, x.a), half_i_store((float *)p + HALF_A_ROW, x.b); }
PAIR_OF_2(li, i_add, li)
PAIR_OF_2(li, i_sub, li)
PAIR_OF_2(li, i_and, li)
PAIR_OF_2(li, i_or, li)
PAIR_OF_2(li, i_xor, li)
#define i_shl(x, n) ((li){i_shl_vector((x).a, n), i_shl_vector((x).b, n)})
#define i_shr(x, n) ((li){i_shr_vector((x).a, n), i_shr_vector((x).b, n)})
PAIR_OF_2(lm, i_eq, li)
PAIR_OF_2(lm, i_gt, li)
PAIR_OF_SELECT(li, i_select)
PAIR_OF_1(li, i_truncate, lf)
PAIR_OF_1(lf, i_to_f, li)
PAIR_OF_1(li, i_bits_of, lf)
PAIR_OF_1(lf, i_as_f, li)

lane_inline void f_load3(const char *p, size_t stride, lf *x, lf *y, lf *z) {
    half_f_load3(p, stride, &x->a, &y->a, &z->a);
    half_f_load3(p + HALF_LANES * stride, stride, &x->b, &y->b, &z->b);
}
lane_inline void f_load4(const char *p, size_t stride, lf *x, lf *y, lf *z, lf *w) {
    half_f_load4(p, stride, &x->a, &y->a, &z->a, &w->a);
    half_f_load4(p + HALF_LANES * stride, stride, &x->b, &y->b, &z->b, &w->b);
}
lane_inline void f_store3(char *p, size_t stride, lf x, lf y, lf z) {
    half_f_store3(p, stride, x.a, y.a, z.a);
    half_f_store3(p + HALF_LANES * stride, stride, x.b, y.b, z.b);
}
lane_inline void f_store4(char *p, size_t stride, lf x, lf y, lf z, lf w) {
    half_f_store4(p, stride, x.a, y.a, z.a, w.a);
    half_f_store4(p + HALF_LANES * stride, stride, x.b, y.b, z.b, w.b);
}
lane_inline lf f_load1(const char *p, size_t stride) {
    return (lf){half_f_load1(p, stride), half_f_load1(p + HALF_LANES * stride, stride)};
}
lane_inline void f_store1(char *p, size_t stride, lf x) {
    half_f_store1(p, stride, x.a);
    half_f_store1(p + HALF_LANES * stride, stride, x.b);
}

#undef PAIR_OF_1
#undef PAIR_OF_2
#undef PAIR_OF_SELECT
#endif
