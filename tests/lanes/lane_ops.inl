/* The table of one width: included by w*.c and pair_w*.c, which set PHX_LANES and TABLE. */
#include "../../src/lane/lane.h"
#include "../../src/lane/quat.h"
#include "lane_ops.h"

static lf floats(const uint32_t *p) {
    float v[LANES];
    memcpy(v, p, sizeof v);
    return f_load1((const char *)v, sizeof *v);
}
static li words(const uint32_t *p) { return i_bits_of(floats(p)); }
static void put_floats(uint32_t *p, lf a) { f_store1((char *)p, sizeof *p, a); }
static void put_words(uint32_t *p, li a) { put_floats(p, i_as_f(a)); }
static lm mask(const uint32_t *p) {
    uint32_t bits = 0;
    for (int i = 0; i < LANES; ++i) bits |= (p[i] & 1u) << i;
    return m_from_bits(bits);
}
static void put_mask(uint32_t *p, lm m) {
    for (int i = 0; i < LANES; ++i) p[i] = m_bits(m) >> i & 1u;
}

static void run(lane_op op, const uint32_t *pa, const uint32_t *pb, const uint32_t *pc, uint32_t *out) {
    const lf a = floats(pa), b = floats(pb);
    const li ia = words(pa), ib = words(pb);
    const lm ma = mask(pa), mb = mask(pb), mc = mask(pc);
    lf sine, cosine;
    switch (op) {
    case OP_SPLAT: {
        float v;
        memcpy(&v, pa, sizeof v);
        put_floats(out, f_splat(v));
        break;
    }
    case OP_ADD: put_floats(out, f_add(a, b)); break;
    case OP_SUB: put_floats(out, f_sub(a, b)); break;
    case OP_MUL: put_floats(out, f_mul(a, b)); break;
    case OP_DIV: put_floats(out, f_div(a, b)); break;
    case OP_SQRT: put_floats(out, f_sqrt(a)); break;
    case OP_MIN: put_floats(out, f_min(a, b)); break;
    case OP_MAX: put_floats(out, f_max(a, b)); break;
    case OP_NEG: put_floats(out, f_neg(a)); break;
    case OP_ABS: put_floats(out, f_abs(a)); break;
    case OP_COPYSIGN: put_floats(out, f_copysign(a, b)); break;
    case OP_LT: put_mask(out, f_lt(a, b)); break;
    case OP_LE: put_mask(out, f_le(a, b)); break;
    case OP_EQ: put_mask(out, f_eq(a, b)); break;
    case OP_SELECT: put_floats(out, f_select(mc, a, b)); break;
    case OP_KEEP: put_floats(out, f_keep(mc, a)); break;
    case OP_MASK_AND: put_mask(out, m_and(ma, mb)); break;
    case OP_MASK_OR: put_mask(out, m_or(ma, mb)); break;
    case OP_MASK_NOT: put_mask(out, m_not(ma)); break;
    case OP_MASK_ANDNOT: put_mask(out, m_andnot(ma, mb)); break;
    case OP_MASK_ANY: out[0] = m_any(ma) != 0; break;
    case OP_MASK_ALL: out[0] = m_all(ma) != 0; break;
    case OP_MASK_BITS: out[0] = m_bits(ma); break;
    case OP_INT_SPLAT: put_words(out, i_splat((int32_t)pa[0])); break;
    case OP_INT_ADD: put_words(out, i_add(ia, ib)); break;
    case OP_INT_SUB: put_words(out, i_sub(ia, ib)); break;
    case OP_INT_AND: put_words(out, i_and(ia, ib)); break;
    case OP_INT_OR: put_words(out, i_or(ia, ib)); break;
    case OP_INT_XOR: put_words(out, i_xor(ia, ib)); break;
    case OP_INT_SHL: put_words(out, i_shl(ia, 5)); break;
    case OP_INT_SHR: put_words(out, i_shr(ia, 7)); break;
    case OP_INT_EQ: put_mask(out, i_eq(ia, ib)); break;
    case OP_INT_GT: put_mask(out, i_gt(ia, ib)); break;
    case OP_INT_SELECT: put_words(out, i_select(mc, ia, ib)); break;
    case OP_TRUNCATE: put_words(out, i_truncate(a)); break;
    case OP_TO_FLOAT: put_floats(out, i_to_f(ia)); break;
    case OP_SINE: f_sincos(a, &sine, &cosine), put_floats(out, sine); break;
    case OP_COSINE: f_sincos(a, &sine, &cosine), put_floats(out, cosine); break;
    case OP_SINE_QUARTER: f_sincos_quarter(a, &sine, &cosine), put_floats(out, sine); break;
    case OP_COSINE_QUARTER: f_sincos_quarter(a, &sine, &cosine), put_floats(out, cosine); break;
    case OP_ATAN2_POSITIVE: put_floats(out, f_atan2_positive(a, b)); break;
    case OP_ATAN2: put_floats(out, f_atan2(a, b)); break;
    case OP_EXP2: put_floats(out, f_exp2(a)); break;
    case OP_COUNT: break;
    }
}

static void gather(int n, const char *from, size_t stride, uint32_t *rows) {
    lf x = f_splat(0.0f), y = x, z = x, w = x;
    if (n == 1) x = f_load1(from, stride);
    if (n == 3) f_load3(from, stride, &x, &y, &z);
    if (n == 4) f_load4(from, stride, &x, &y, &z, &w);
    put_floats(rows, x), put_floats(rows + 16, y), put_floats(rows + 32, z), put_floats(rows + 48, w);
}
static void scatter(int n, char *to, size_t stride, const uint32_t *rows) {
    const lf x = floats(rows), y = floats(rows + 16), z = floats(rows + 32), w = floats(rows + 48);
    if (n == 1) f_store1(to, stride, x);
    if (n == 3) f_store3(to, stride, x, y, z);
    if (n == 4) f_store4(to, stride, x, y, z, w);
}

static lf row(const float *p) { return f_load1((const char *)p, sizeof *p); }
static void put_row(float *p, lf a) { f_store1((char *)p, sizeof *p, a); }
static lv3 row3(const float *p) { return v3(row(p), row(p + 16), row(p + 32)); }
static void put_quat(float *p, lq4 q) { put_row(p, q.x), put_row(p + 16, q.y), put_row(p + 32, q.z), put_row(p + 48, q.w); }
static lq4 row4(const float *p) { return (lq4){row(p), row(p + 16), row(p + 32), row(p + 48)}; }

static void between(const float *from, const float *to, const float *spare, float length_squared, float *quat) {
    put_quat(quat, q4_between(row3(from), row3(to), f_splat(length_squared), row3(spare)));
}
static void turn(const float *axis, const float *cosine, const float *sine, float *quat) {
    put_quat(quat, q4_turn(row3(axis), row(cosine), row(sine), f_splat(1.0f)));
}
static void fraction(const float *quat, const float *weight, float *out) { put_quat(out, q4_fraction(row4(quat), row(weight))); }
static void rotate(const float *quat, const float *vector, float *out) {
    const lv3 v = q4_rotate(row4(quat), row3(vector));
    put_row(out, v.x), put_row(out + 16, v.y), put_row(out + 32, v.z);
}

const lane_table TABLE = {LANES, run, gather, scatter, between, turn, fraction, rotate};
