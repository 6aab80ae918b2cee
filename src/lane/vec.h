/* Vectors of three over lanes; the scalar twin, with the same order of operations, is reference/scalar.h. */
#ifndef PHX_LANE_VEC_H
#define PHX_LANE_VEC_H

#include "lane.h"
#include "phalanx/base.h"

typedef struct lv3 {
    lf x, y, z;
} lv3;

lane_inline lv3 v3(lf x, lf y, lf z) { return (lv3){x, y, z}; }
lane_inline lv3 v3_splat(float x, float y, float z) { return (lv3){f_splat(x), f_splat(y), f_splat(z)}; }
lane_inline lv3 v3_load(const phx_rows3 *rows, uint32_t lane) {
    return (lv3){f_load(rows->x + lane), f_load(rows->y + lane), f_load(rows->z + lane)};
}
lane_inline void v3_store(phx_rows3 *rows, uint32_t lane, lv3 a) {
    f_store(rows->x + lane, a.x), f_store(rows->y + lane, a.y), f_store(rows->z + lane, a.z);
}
lane_inline lv3 v3_add(lv3 a, lv3 b) { return (lv3){f_add(a.x, b.x), f_add(a.y, b.y), f_add(a.z, b.z)}; }
lane_inline lv3 v3_sub(lv3 a, lv3 b) { return (lv3){f_sub(a.x, b.x), f_sub(a.y, b.y), f_sub(a.z, b.z)}; }
lane_inline lv3 v3_neg(lv3 a) { return (lv3){f_neg(a.x), f_neg(a.y), f_neg(a.z)}; }
lane_inline lv3 v3_scale(lv3 a, lf s) { return (lv3){f_mul(a.x, s), f_mul(a.y, s), f_mul(a.z, s)}; }
/* A divisor that is never 0, for lanes whose quotient may be thrown away: a division by zero would fire the caller's trap. */
lane_inline lf f_some(lf a) { return f_max(a, f_splat(0x1p-126f)); }
/* (x + y) + z, always in this order */
lane_inline lf v3_dot(lv3 a, lv3 b) { return f_add(f_add(f_mul(a.x, b.x), f_mul(a.y, b.y)), f_mul(a.z, b.z)); }
lane_inline lv3 v3_cross(lv3 a, lv3 b) {
    return (lv3){f_sub(f_mul(a.y, b.z), f_mul(a.z, b.y)), f_sub(f_mul(a.z, b.x), f_mul(a.x, b.z)), f_sub(f_mul(a.x, b.y), f_mul(a.y, b.x))};
}
lane_inline lf v3_length(lv3 a) { return f_sqrt(v3_dot(a, a)); }
lane_inline lv3 v3_select(lm m, lv3 a, lv3 b) {
    return (lv3){f_select(m, a.x, b.x), f_select(m, a.y, b.y), f_select(m, a.z, b.z)};
}
/* a less its part along the unit vector n */
lane_inline lv3 v3_reject(lv3 a, lv3 n) { return v3_sub(a, v3_scale(n, v3_dot(a, n))); }

#endif
