/* Four lanes: the base instructions of x86-64 (SSE2), and of AArch64 and WebAssembly by SIMDe. See lane.h. */
#ifndef PHX_LANE_4_H
#define PHX_LANE_4_H

#include <string.h>
#include <simde/x86/sse2.h>

enum { LANES = 4 };
typedef simde__m128 lf;
typedef simde__m128i li;
typedef simde__m128 lm;

lane_inline lf f_splat(float a) { return simde_mm_set1_ps(a); }
lane_inline lf f_load(const float *p) { return simde_mm_load_ps(p); }
lane_inline void f_store(float *p, lf a) { simde_mm_store_ps(p, a); }
lane_inline lf f_add(lf a, lf b) { return simde_mm_add_ps(a, b); }
lane_inline lf f_sub(lf a, lf b) { return simde_mm_sub_ps(a, b); }
lane_inline lf f_mul(lf a, lf b) { return simde_mm_mul_ps(a, b); }
lane_inline lf f_div(lf a, lf b) { return simde_mm_div_ps(a, b); }
lane_inline lf f_sqrt(lf a) { return simde_mm_sqrt_ps(a); }
lane_inline lf f_neg(lf a) { return simde_mm_xor_ps(a, f_splat(-0.0f)); }
lane_inline lf f_abs(lf a) { return simde_mm_andnot_ps(f_splat(-0.0f), a); }
lane_inline lf f_copysign(lf magnitude, lf sign) {
    const lf bit = f_splat(-0.0f);
    return simde_mm_or_ps(simde_mm_andnot_ps(bit, magnitude), simde_mm_and_ps(bit, sign));
}
lane_inline lm f_lt(lf a, lf b) { return simde_mm_cmplt_ps(a, b); }
lane_inline lm f_le(lf a, lf b) { return simde_mm_cmple_ps(a, b); }
lane_inline lm f_eq(lf a, lf b) { return simde_mm_cmpeq_ps(a, b); }
lane_inline lf f_select(lm m, lf a, lf b) { return simde_mm_or_ps(simde_mm_and_ps(m, a), simde_mm_andnot_ps(m, b)); }
lane_inline lf f_keep(lm m, lf a) { return simde_mm_and_ps(m, a); }
#if defined(__SSE2__)
lane_inline lf f_min(lf a, lf b) { return simde_mm_min_ps(a, b); }
lane_inline lf f_max(lf a, lf b) { return simde_mm_max_ps(a, b); }
#else /* other instruction sets have minima of other NaN and zero rules */
lane_inline lf f_min(lf a, lf b) { return f_select(f_lt(a, b), a, b); }
lane_inline lf f_max(lf a, lf b) { return f_select(f_lt(b, a), a, b); }
#endif

lane_inline lm m_and(lm a, lm b) { return simde_mm_and_ps(a, b); }
lane_inline lm m_or(lm a, lm b) { return simde_mm_or_ps(a, b); }
lane_inline lm m_andnot(lm a, lm b) { return simde_mm_andnot_ps(b, a); }
lane_inline lm m_not(lm a) { return simde_mm_xor_ps(a, simde_mm_castsi128_ps(simde_mm_set1_epi32(-1))); }
lane_inline uint32_t m_bits(lm a) { return (uint32_t)simde_mm_movemask_ps(a); }
/* how many lanes: there may be no instruction for it */
lane_inline uint32_t m_count(lm a) { return (uint32_t)(0x4332322132212110u >> (4 * m_bits(a)) & 15); }
lane_inline int m_any(lm a) { return m_bits(a) != 0; }
lane_inline int m_all(lm a) { return m_bits(a) == 0xFu; }
lane_inline lm m_from_bits(uint32_t bits) {
    const li lane = simde_mm_set_epi32(8, 4, 2, 1);
    return simde_mm_castsi128_ps(simde_mm_cmpeq_epi32(simde_mm_and_si128(simde_mm_set1_epi32((int32_t)bits), lane), lane));
}

lane_inline li i_splat(int32_t a) { return simde_mm_set1_epi32(a); }
lane_inline li i_load(const void *p) { return simde_mm_load_si128((const simde__m128i *)p); }
lane_inline void i_store(void *p, li a) { simde_mm_store_si128((simde__m128i *)p, a); }
lane_inline li i_add(li a, li b) { return simde_mm_add_epi32(a, b); }
lane_inline li i_sub(li a, li b) { return simde_mm_sub_epi32(a, b); }
lane_inline li i_and(li a, li b) { return simde_mm_and_si128(a, b); }
lane_inline li i_or(li a, li b) { return simde_mm_or_si128(a, b); }
lane_inline li i_xor(li a, li b) { return simde_mm_xor_si128(a, b); }
#define i_shl_vector(a, n) simde_mm_slli_epi32((a), (n)) /* macros, because n is part of the instruction; lane_pair.h takes them by this name */
#define i_shr_vector(a, n) simde_mm_srli_epi32((a), (n))
#define i_shl i_shl_vector
#define i_shr i_shr_vector
lane_inline lm i_eq(li a, li b) { return simde_mm_castsi128_ps(simde_mm_cmpeq_epi32(a, b)); }
lane_inline lm i_gt(li a, li b) { return simde_mm_castsi128_ps(simde_mm_cmpgt_epi32(a, b)); }
lane_inline li i_select(lm m, li a, li b) {
    const li bits = simde_mm_castps_si128(m);
    return simde_mm_or_si128(simde_mm_and_si128(bits, a), simde_mm_andnot_si128(bits, b));
}
lane_inline li i_truncate(lf a) { return simde_mm_cvttps_epi32(a); }
lane_inline lf i_to_f(li a) { return simde_mm_cvtepi32_ps(a); }
lane_inline li i_bits_of(lf a) { return simde_mm_castps_si128(a); }
lane_inline lf i_as_f(li a) { return simde_mm_castsi128_ps(a); }

/* the lanes of a mask side by side: each moves down by the number of gaps below it, first by one, then by two */
typedef struct lp {
    lm by_one, by_two;
} lp;
static inline lp m_packing(lm m) {
    uint32_t bits = m_bits(m), one = 0, two = 0;
    for (uint32_t k = 0; bits; ++k, bits &= bits - 1) {
        const uint32_t gaps = (uint32_t)__builtin_ctz(bits) - k;
        one |= (gaps & 1) << (k + (gaps & 2));
        two |= (gaps >> 1) << k;
    }
    return (lp){m_from_bits(one), m_from_bits(two)};
}
static inline lf f_pack(lp p, lf a) {
    a = f_select(p.by_one, simde_mm_castsi128_ps(simde_mm_srli_si128(simde_mm_castps_si128(a), 4)), a);
    return f_select(p.by_two, simde_mm_castsi128_ps(simde_mm_srli_si128(simde_mm_castps_si128(a), 8)), a);
}
static inline void f_store_any(float *p, lf a) { simde_mm_storeu_ps(p, a); }

/* one element of three floats: eight bytes, then four */
lane_inline simde__m128 load_12_bytes(const char *p) {
    float z;
    memcpy(&z, p + 8, sizeof z);
    return simde_mm_movelh_ps(simde_mm_castsi128_ps(simde_mm_loadl_epi64((const simde__m128i *)(const void *)p)), simde_mm_set_ss(z));
}
lane_inline void store_12_bytes(char *p, simde__m128 a) {
    const float z = simde_mm_cvtss_f32(simde_mm_movehl_ps(a, a));
    simde_mm_storel_epi64((simde__m128i *)(void *)p, simde_mm_castps_si128(a));
    memcpy(p + 8, &z, sizeof z);
}
lane_inline simde__m128 load_16_bytes(const char *p) { return simde_mm_loadu_ps((const float *)(const void *)p); }
lane_inline void store_16_bytes(char *p, simde__m128 a) { simde_mm_storeu_ps((float *)(void *)p, a); }

lane_inline void transpose(lf *a, lf *b, lf *c, lf *d) {
    const lf ab_low = simde_mm_unpacklo_ps(*a, *b), ab_high = simde_mm_unpackhi_ps(*a, *b);
    const lf cd_low = simde_mm_unpacklo_ps(*c, *d), cd_high = simde_mm_unpackhi_ps(*c, *d);
    *a = simde_mm_movelh_ps(ab_low, cd_low);
    *b = simde_mm_movehl_ps(cd_low, ab_low);
    *c = simde_mm_movelh_ps(ab_high, cd_high);
    *d = simde_mm_movehl_ps(cd_high, ab_high);
}
lane_inline void f_load3(const char *p, size_t stride, lf *x, lf *y, lf *z) {
    lf a = load_12_bytes(p), b = load_12_bytes(p + stride), c = load_12_bytes(p + 2 * stride), d = load_12_bytes(p + 3 * stride);
    transpose(&a, &b, &c, &d);
    *x = a, *y = b, *z = c;
}
lane_inline void f_load4(const char *p, size_t stride, lf *x, lf *y, lf *z, lf *w) {
    *x = load_16_bytes(p), *y = load_16_bytes(p + stride), *z = load_16_bytes(p + 2 * stride), *w = load_16_bytes(p + 3 * stride);
    transpose(x, y, z, w);
}
lane_inline void f_store3(char *p, size_t stride, lf x, lf y, lf z) {
    lf w = z;
    transpose(&x, &y, &z, &w);
    store_12_bytes(p, x), store_12_bytes(p + stride, y), store_12_bytes(p + 2 * stride, z), store_12_bytes(p + 3 * stride, w);
}
lane_inline void f_store4(char *p, size_t stride, lf x, lf y, lf z, lf w) {
    transpose(&x, &y, &z, &w);
    store_16_bytes(p, x), store_16_bytes(p + stride, y), store_16_bytes(p + 2 * stride, z), store_16_bytes(p + 3 * stride, w);
}
lane_inline lf f_load1(const char *p, size_t stride) {
    float v[4];
    for (int k = 0; k < 4; ++k) memcpy(&v[k], p + (size_t)k * stride, sizeof v[k]);
    return simde_mm_loadu_ps(v);
}
lane_inline void f_store1(char *p, size_t stride, lf a) {
    float v[4];
    simde_mm_storeu_ps(v, a);
    for (int k = 0; k < 4; ++k) memcpy(p + (size_t)k * stride, &v[k], sizeof v[k]);
}

#endif
