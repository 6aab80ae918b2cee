/* Eight lanes: AVX2 (without FMA). See lane.h. */
#ifndef PHX_LANE_8_H
#define PHX_LANE_8_H

#include <string.h>
#include <simde/x86/avx2.h>

enum { LANES = 8 };
typedef simde__m256 lf;
typedef simde__m256i li;
typedef simde__m256 lm;

lane_inline lf f_splat(float a) { return simde_mm256_set1_ps(a); }
lane_inline lf f_load(const float *p) { return simde_mm256_load_ps(p); }
lane_inline void f_store(float *p, lf a) { simde_mm256_store_ps(p, a); }
lane_inline lf f_add(lf a, lf b) { return simde_mm256_add_ps(a, b); }
lane_inline lf f_sub(lf a, lf b) { return simde_mm256_sub_ps(a, b); }
lane_inline lf f_mul(lf a, lf b) { return simde_mm256_mul_ps(a, b); }
lane_inline lf f_div(lf a, lf b) { return simde_mm256_div_ps(a, b); }
lane_inline lf f_sqrt(lf a) { return simde_mm256_sqrt_ps(a); }
lane_inline lf f_neg(lf a) { return simde_mm256_xor_ps(a, f_splat(-0.0f)); }
lane_inline lf f_abs(lf a) { return simde_mm256_andnot_ps(f_splat(-0.0f), a); }
lane_inline lf f_copysign(lf magnitude, lf sign) {
    const lf bit = f_splat(-0.0f);
    return simde_mm256_or_ps(simde_mm256_andnot_ps(bit, magnitude), simde_mm256_and_ps(bit, sign));
}
lane_inline lm f_lt(lf a, lf b) { return simde_mm256_cmp_ps(a, b, SIMDE_CMP_LT_OQ); }
lane_inline lm f_le(lf a, lf b) { return simde_mm256_cmp_ps(a, b, SIMDE_CMP_LE_OQ); }
lane_inline lm f_eq(lf a, lf b) { return simde_mm256_cmp_ps(a, b, SIMDE_CMP_EQ_OQ); }
lane_inline lf f_select(lm m, lf a, lf b) { return simde_mm256_blendv_ps(b, a, m); }
lane_inline lf f_keep(lm m, lf a) { return simde_mm256_and_ps(m, a); }
#if defined(__AVX2__)
lane_inline lf f_min(lf a, lf b) { return simde_mm256_min_ps(a, b); }
lane_inline lf f_max(lf a, lf b) { return simde_mm256_max_ps(a, b); }
#else /* other instruction sets have minima of other NaN and zero rules */
lane_inline lf f_min(lf a, lf b) { return f_select(f_lt(a, b), a, b); }
lane_inline lf f_max(lf a, lf b) { return f_select(f_lt(b, a), a, b); }
#endif

lane_inline lm m_and(lm a, lm b) { return simde_mm256_and_ps(a, b); }
lane_inline lm m_or(lm a, lm b) { return simde_mm256_or_ps(a, b); }
lane_inline lm m_andnot(lm a, lm b) { return simde_mm256_andnot_ps(b, a); }
lane_inline lm m_not(lm a) { return simde_mm256_xor_ps(a, simde_mm256_castsi256_ps(simde_mm256_set1_epi32(-1))); }
lane_inline uint32_t m_bits(lm a) { return (uint32_t)simde_mm256_movemask_ps(a); }
lane_inline uint32_t m_count(lm a) { return (uint32_t)__builtin_popcount(m_bits(a)); }
lane_inline int m_any(lm a) { return m_bits(a) != 0; }
lane_inline int m_all(lm a) { return m_bits(a) == 0xFFu; }
lane_inline lm m_from_bits(uint32_t bits) {
    const li lane = simde_mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    return simde_mm256_castsi256_ps(simde_mm256_cmpeq_epi32(simde_mm256_and_si256(simde_mm256_set1_epi32((int32_t)bits), lane), lane));
}

lane_inline li i_splat(int32_t a) { return simde_mm256_set1_epi32(a); }
lane_inline li i_load(const void *p) { return simde_mm256_load_si256((const simde__m256i *)p); }
lane_inline void i_store(void *p, li a) { simde_mm256_store_si256((simde__m256i *)p, a); }
lane_inline li i_add(li a, li b) { return simde_mm256_add_epi32(a, b); }
lane_inline li i_sub(li a, li b) { return simde_mm256_sub_epi32(a, b); }
lane_inline li i_and(li a, li b) { return simde_mm256_and_si256(a, b); }
lane_inline li i_or(li a, li b) { return simde_mm256_or_si256(a, b); }
lane_inline li i_xor(li a, li b) { return simde_mm256_xor_si256(a, b); }
#define i_shl_vector(a, n) simde_mm256_slli_epi32((a), (n)) /* macros, because n is part of the instruction; lane_pair.h takes them by this name */
#define i_shr_vector(a, n) simde_mm256_srli_epi32((a), (n))
#define i_shl i_shl_vector
#define i_shr i_shr_vector
lane_inline lm i_eq(li a, li b) { return simde_mm256_castsi256_ps(simde_mm256_cmpeq_epi32(a, b)); }
lane_inline lm i_gt(li a, li b) { return simde_mm256_castsi256_ps(simde_mm256_cmpgt_epi32(a, b)); }
lane_inline li i_select(lm m, li a, li b) { return simde_mm256_blendv_epi8(b, a, simde_mm256_castps_si256(m)); }
lane_inline li i_truncate(lf a) { return simde_mm256_cvttps_epi32(a); }
lane_inline lf i_to_f(li a) { return simde_mm256_cvtepi32_ps(a); }
lane_inline li i_bits_of(lf a) { return simde_mm256_castps_si256(a); }
lane_inline lf i_as_f(li a) { return simde_mm256_castsi256_ps(a); }

/* the lanes of a mask side by side: the index of the k-th one in lane k */
typedef li lp;
static inline lp m_packing(lm m) {
    int32_t index[8] = {0};
    uint32_t bits = m_bits(m);
    for (uint32_t k = 0; bits; ++k, bits &= bits - 1) index[k] = __builtin_ctz(bits);
    return simde_mm256_loadu_si256((const simde__m256i *)(const void *)index);
}
static inline lf f_pack(lp p, lf a) { return simde_mm256_permutevar8x32_ps(a, p); }
static inline void f_store_any(float *p, lf a) { simde_mm256_storeu_ps(p, a); }

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

/* element k in the low half, element k + 4 in the high half: the two halves then transpose alike */
lane_inline lf pair(simde__m128 low, simde__m128 high) { return simde_mm256_insertf128_ps(simde_mm256_castps128_ps256(low), high, 1); }
lane_inline simde__m128 low_half(lf a) { return simde_mm256_castps256_ps128(a); }
lane_inline simde__m128 high_half(lf a) { return simde_mm256_extractf128_ps(a, 1); }
lane_inline void transpose(lf *a, lf *b, lf *c, lf *d) {
    const lf ab_low = simde_mm256_unpacklo_ps(*a, *b), ab_high = simde_mm256_unpackhi_ps(*a, *b);
    const lf cd_low = simde_mm256_unpacklo_ps(*c, *d), cd_high = simde_mm256_unpackhi_ps(*c, *d);
    *a = simde_mm256_shuffle_ps(ab_low, cd_low, 0x44);
    *b = simde_mm256_shuffle_ps(ab_low, cd_low, 0xEE);
    *c = simde_mm256_shuffle_ps(ab_high, cd_high, 0x44);
    *d = simde_mm256_shuffle_ps(ab_high, cd_high, 0xEE);
}
/* the fourth element on */
lane_inline const char *fourth(const char *p, size_t stride) {
    p += 4 * stride;
    lane_address(p);
    return p;
}
lane_inline void f_load3(const char *p, size_t stride, lf *x, lf *y, lf *z) {
    lf r[4];
    const char *q = fourth(p, stride);
    for (size_t k = 0; k < 4; ++k) r[k] = pair(load_12_bytes(p + k * stride), load_12_bytes(q + k * stride));
    transpose(&r[0], &r[1], &r[2], &r[3]);
    *x = r[0], *y = r[1], *z = r[2];
}
lane_inline void f_load4(const char *p, size_t stride, lf *x, lf *y, lf *z, lf *w) {
    lf r[4];
    const char *q = fourth(p, stride);
    for (size_t k = 0; k < 4; ++k) r[k] = pair(load_16_bytes(p + k * stride), load_16_bytes(q + k * stride));
    transpose(&r[0], &r[1], &r[2], &r[3]);
    *x = r[0], *y = r[1], *z = r[2], *w = r[3];
}
lane_inline void f_store3(char *p, size_t stride, lf x, lf y, lf z) {
    lf r[4] = {x, y, z, z};
    transpose(&r[0], &r[1], &r[2], &r[3]);
    char *q = (char *)fourth(p, stride);
    for (size_t k = 0; k < 4; ++k) store_12_bytes(p + k * stride, low_half(r[k])), store_12_bytes(q + k * stride, high_half(r[k]));
}
lane_inline void f_store4(char *p, size_t stride, lf x, lf y, lf z, lf w) {
    lf r[4] = {x, y, z, w};
    transpose(&r[0], &r[1], &r[2], &r[3]);
    char *q = (char *)fourth(p, stride);
    for (size_t k = 0; k < 4; ++k) store_16_bytes(p + k * stride, low_half(r[k])), store_16_bytes(q + k * stride, high_half(r[k]));
}
lane_inline lf f_load1(const char *p, size_t stride) {
    float v[8];
    for (int k = 0; k < 8; ++k) memcpy(&v[k], p + (size_t)k * stride, sizeof v[k]);
    return simde_mm256_loadu_ps(v);
}
lane_inline void f_store1(char *p, size_t stride, lf a) {
    float v[8];
    simde_mm256_storeu_ps(v, a);
    for (int k = 0; k < 8; ++k) memcpy(p + (size_t)k * stride, &v[k], sizeof v[k]);
}

#endif
