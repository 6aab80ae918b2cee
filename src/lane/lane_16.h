/* Sixteen lanes: AVX-512 F, BW, DQ, VL, native only, with mask registers. See lane.h. */
#ifndef PHX_LANE_16_H
#define PHX_LANE_16_H

#include <stdint.h>
#include <string.h>
#include <immintrin.h>

enum { LANES = 16 };
typedef __m512 lf;
typedef __m512i li;
typedef __mmask16 lm;

lane_inline lf f_splat(float a) { return _mm512_set1_ps(a); }
lane_inline lf f_load(const float *p) { return _mm512_load_ps(p); }
lane_inline void f_store(float *p, lf a) { _mm512_store_ps(p, a); }
lane_inline lf f_add(lf a, lf b) { return _mm512_add_ps(a, b); }
lane_inline lf f_sub(lf a, lf b) { return _mm512_sub_ps(a, b); }
lane_inline lf f_mul(lf a, lf b) { return _mm512_mul_ps(a, b); }
lane_inline lf f_div(lf a, lf b) { return _mm512_div_ps(a, b); }
lane_inline lf f_sqrt(lf a) { return _mm512_sqrt_ps(a); }
lane_inline lf f_min(lf a, lf b) { return _mm512_min_ps(a, b); }
lane_inline lf f_max(lf a, lf b) { return _mm512_max_ps(a, b); }
lane_inline lf f_neg(lf a) { return _mm512_xor_ps(a, f_splat(-0.0f)); }
lane_inline lf f_abs(lf a) { return _mm512_andnot_ps(f_splat(-0.0f), a); }
lane_inline lf f_copysign(lf magnitude, lf sign) { /* truth table of (mask & sign) | (~mask & magnitude) */
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(sign), _mm512_castps_si512(magnitude), 0xCA));
}
lane_inline lm f_lt(lf a, lf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
lane_inline lm f_le(lf a, lf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
lane_inline lm f_eq(lf a, lf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
lane_inline lf f_select(lm m, lf a, lf b) { return _mm512_mask_blend_ps(m, b, a); }
lane_inline lf f_keep(lm m, lf a) { return _mm512_maskz_mov_ps(m, a); }

lane_inline lm m_and(lm a, lm b) { return (lm)(a & b); }
lane_inline lm m_or(lm a, lm b) { return (lm)(a | b); }
lane_inline lm m_andnot(lm a, lm b) { return (lm)(a & ~b); }
lane_inline lm m_not(lm a) { return (lm)~a; }
lane_inline uint32_t m_bits(lm a) { return a; }
lane_inline uint32_t m_count(lm a) { return (uint32_t)__builtin_popcount(m_bits(a)); }
lane_inline int m_any(lm a) { return a != 0; }
lane_inline int m_all(lm a) { return a == 0xFFFFu; }
lane_inline lm m_from_bits(uint32_t bits) { return (lm)bits; }

lane_inline li i_splat(int32_t a) { return _mm512_set1_epi32(a); }
lane_inline li i_load(const void *p) { return _mm512_load_si512(p); }
lane_inline void i_store(void *p, li a) { _mm512_store_si512(p, a); }
lane_inline li i_add(li a, li b) { return _mm512_add_epi32(a, b); }
lane_inline li i_sub(li a, li b) { return _mm512_sub_epi32(a, b); }
lane_inline li i_and(li a, li b) { return _mm512_and_si512(a, b); }
lane_inline li i_or(li a, li b) { return _mm512_or_si512(a, b); }
lane_inline li i_xor(li a, li b) { return _mm512_xor_si512(a, b); }
#define i_shl_vector(a, n) _mm512_slli_epi32((a), (n)) /* macros, because n is part of the instruction; lane_pair.h takes them by this name */
#define i_shr_vector(a, n) _mm512_srli_epi32((a), (n))
#define i_shl i_shl_vector
#define i_shr i_shr_vector
lane_inline lm i_eq(li a, li b) { return _mm512_cmpeq_epi32_mask(a, b); }
lane_inline lm i_gt(li a, li b) { return _mm512_cmpgt_epi32_mask(a, b); }
lane_inline li i_select(lm m, li a, li b) { return _mm512_mask_blend_epi32(m, b, a); }
lane_inline li i_truncate(lf a) { return _mm512_cvttps_epi32(a); }
lane_inline lf i_to_f(li a) { return _mm512_cvtepi32_ps(a); }
lane_inline li i_bits_of(lf a) { return _mm512_castps_si512(a); }
lane_inline lf i_as_f(li a) { return _mm512_castsi512_ps(a); }

/* the lanes of a mask side by side */
typedef lm lp;
static inline lp m_packing(lm m) { return m; }
static inline lf f_pack(lp p, lf a) { return _mm512_maskz_compress_ps(p, a); }
static inline void f_store_any(float *p, lf a) { _mm512_storeu_ps(p, a); }

/* one element of three floats: masked moves touch only its 12 bytes. The empty statement keeps compilers from folding the store into the
 * extraction of a quarter: a masked VEXTRACTF32X4, unlike VMOVUPS, faults for bytes that it does not write. */
lane_inline __m128 load_12_bytes(const char *p) { return _mm_maskz_loadu_ps(7, p); }
lane_inline void store_12_bytes(char *p, __m128 a) {
    __asm__("" : "+v"(a));
    _mm_mask_storeu_ps(p, 7, a);
}
lane_inline __m128 load_16_bytes(const char *p) { return _mm_loadu_ps((const float *)(const void *)p); }
lane_inline void store_16_bytes(char *p, __m128 a) { _mm_storeu_ps((float *)(void *)p, a); }

/* elements k, k + 4, k + 8, k + 12 in the four quarters, which then transpose alike */
lane_inline lf quad(__m128 a, __m128 b, __m128 c, __m128 d) {
    const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(a), b, 1), high = _mm256_insertf128_ps(_mm256_castps128_ps256(c), d, 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
lane_inline void transpose(lf *a, lf *b, lf *c, lf *d) {
    const lf ab_low = _mm512_unpacklo_ps(*a, *b), ab_high = _mm512_unpackhi_ps(*a, *b);
    const lf cd_low = _mm512_unpacklo_ps(*c, *d), cd_high = _mm512_unpackhi_ps(*c, *d);
    *a = _mm512_shuffle_ps(ab_low, cd_low, 0x44);
    *b = _mm512_shuffle_ps(ab_low, cd_low, 0xEE);
    *c = _mm512_shuffle_ps(ab_high, cd_high, 0x44);
    *d = _mm512_shuffle_ps(ab_high, cd_high, 0xEE);
}
/* the fourth element on */
lane_inline const char *fourth(const char *p, size_t stride) {
    p += 4 * stride;
    lane_address(p);
    return p;
}
lane_inline void f_load3(const char *p, size_t stride, lf *x, lf *y, lf *z) {
    lf r[4];
    const char *p4 = fourth(p, stride), *p8 = fourth(p4, stride), *p12 = fourth(p8, stride);
    for (size_t k = 0; k < 4; ++k)
        r[k] = quad(load_12_bytes(p + k * stride), load_12_bytes(p4 + k * stride), load_12_bytes(p8 + k * stride), load_12_bytes(p12 + k * stride));
    transpose(&r[0], &r[1], &r[2], &r[3]);
    *x = r[0], *y = r[1], *z = r[2];
}
lane_inline void f_load4(const char *p, size_t stride, lf *x, lf *y, lf *z, lf *w) {
    lf r[4];
    const char *p4 = fourth(p, stride), *p8 = fourth(p4, stride), *p12 = fourth(p8, stride);
    for (size_t k = 0; k < 4; ++k)
        r[k] = quad(load_16_bytes(p + k * stride), load_16_bytes(p4 + k * stride), load_16_bytes(p8 + k * stride), load_16_bytes(p12 + k * stride));
    transpose(&r[0], &r[1], &r[2], &r[3]);
    *x = r[0], *y = r[1], *z = r[2], *w = r[3];
}
lane_inline void f_store3(char *p, size_t stride, lf x, lf y, lf z) {
    lf r[4] = {x, y, z, z};
    transpose(&r[0], &r[1], &r[2], &r[3]);
    char *p4 = (char *)fourth(p, stride), *p8 = (char *)fourth(p4, stride), *p12 = (char *)fourth(p8, stride);
    for (size_t k = 0; k < 4; ++k) {
        store_12_bytes(p + k * stride, _mm512_castps512_ps128(r[k]));
        store_12_bytes(p4 + k * stride, _mm512_extractf32x4_ps(r[k], 1));
        store_12_bytes(p8 + k * stride, _mm512_extractf32x4_ps(r[k], 2));
        store_12_bytes(p12 + k * stride, _mm512_extractf32x4_ps(r[k], 3));
    }
}
lane_inline void f_store4(char *p, size_t stride, lf x, lf y, lf z, lf w) {
    lf r[4] = {x, y, z, w};
    transpose(&r[0], &r[1], &r[2], &r[3]);
    char *p4 = (char *)fourth(p, stride), *p8 = (char *)fourth(p4, stride), *p12 = (char *)fourth(p8, stride);
    for (size_t k = 0; k < 4; ++k) {
        store_16_bytes(p + k * stride, _mm512_castps512_ps128(r[k]));
        store_16_bytes(p4 + k * stride, _mm512_extractf32x4_ps(r[k], 1));
        store_16_bytes(p8 + k * stride, _mm512_extractf32x4_ps(r[k], 2));
        store_16_bytes(p12 + k * stride, _mm512_extractf32x4_ps(r[k], 3));
    }
}
lane_inline lf f_load1(const char *p, size_t stride) {
    float v[16];
    for (int k = 0; k < 16; ++k) memcpy(&v[k], p + (size_t)k * stride, sizeof v[k]);
    return _mm512_loadu_ps(v);
}
lane_inline void f_store1(char *p, size_t stride, lf a) {
    float v[16];
    _mm512_storeu_ps(v, a);
    for (int k = 0; k < 16; ++k) memcpy(p + (size_t)k * stride, &v[k], sizeof v[k]);
}

#endif
