/* Every lane operation of every width against plain C: all special values in all operand positions, random bits, and the
 * strided loads and stores with guard bytes around. A width runs only where the processor allows it. */
#include "support.h"
#include "lanes/lane_ops.h"
#include "reference/scalar.h"

static const uint32_t specials[] = {
    0x00000000u, 0x80000000u, /* zeros */
    0x00000001u, 0x80000001u, 0x007FFFFFu, 0x807FFFFFu, 0x00400000u, /* denormals */
    0x00800000u, 0x80800000u, /* smallest normals */
    0x3F800000u, 0xBF800000u, 0x3F7FFFFFu, 0x3F800001u, 0x3F000000u, 0xBF000000u, 0x40490FDBu, 0x3FC90FDBu, /* 1, near 1, 0.5, pi, pi / 2 */
    0x4B000000u, 0xCB000001u, 0x4F000000u, 0xCF000000u, 0x4EFFFFFFu, /* 2^23, 2^31 */
    0x7F7FFFFFu, 0xFF7FFFFFu, 0x7F800000u, 0xFF800000u, /* largest, infinite */
    0x7FC00000u, 0xFFC00000u, 0x7FC12345u, 0x7F800001u, /* NaNs, one of them signalling */
    0x7FFFFFFFu, 0x00000002u,
};
enum { SPECIALS = sizeof specials / sizeof *specials };

typedef struct width {
    const char *backend;
    const lane_table *table;
} width;

enum { WIDTHS = 5 };

/* the widths that may run here */
static uint32_t usable_widths(width *widths) {
    uint32_t count = 0;
    widths[count++] = (width){"four lanes", &lane_table_w4};
    widths[count++] = (width){"pairs of four lanes", &lane_table_pair_w4};
#if defined(PHX_HAVE_AVX2)
    if (phx_backend_find("avx2")) {
        widths[count++] = (width){"avx2", &lane_table_w8};
        widths[count++] = (width){"pairs of avx2", &lane_table_pair_w8};
    }
#endif
#if defined(PHX_HAVE_AVX512)
    if (phx_backend_find("avx512")) widths[count++] = (width){"avx512", &lane_table_w16};
#endif
    return count;
}

static float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint32_t as_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* x86's answer to a float that fits no integer is INT_MIN; results outside the range are not used by any kernel */
static int fits_int(float a) { return a >= -2147483648.0f && a < 2147483648.0f; }

static uint32_t plain(lane_op op, uint32_t ua, uint32_t ub, uint32_t uc) {
    const float a = as_float(ua), b = as_float(ub);
    float sine, cosine;
    switch (op) {
    case OP_SPLAT: return ua;
    case OP_ADD: return as_bits(a + b);
    case OP_SUB: return as_bits(a - b);
    case OP_MUL: return as_bits(a * b);
    case OP_DIV: return as_bits(a / b);
    case OP_SQRT: return as_bits(sqrtf(a));
    case OP_MIN: return a < b ? ua : ub;
    case OP_MAX: return a > b ? ua : ub;
    case OP_NEG: return ua ^ 0x80000000u;
    case OP_ABS: return ua & 0x7FFFFFFFu;
    case OP_COPYSIGN: return (ua & 0x7FFFFFFFu) | (ub & 0x80000000u);
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_EQ: return a == b;
    case OP_SELECT: case OP_INT_SELECT: return uc & 1 ? ua : ub;
    case OP_KEEP: return uc & 1 ? ua : 0;
    case OP_MASK_AND: return ua & ub & 1;
    case OP_MASK_OR: return (ua | ub) & 1;
    case OP_MASK_NOT: return ~ua & 1;
    case OP_MASK_ANDNOT: return ua & ~ub & 1;
    case OP_INT_SPLAT: return ua;
    case OP_INT_ADD: return ua + ub;
    case OP_INT_SUB: return ua - ub;
    case OP_INT_AND: return ua & ub;
    case OP_INT_OR: return ua | ub;
    case OP_INT_XOR: return ua ^ ub;
    case OP_INT_SHL: return ua << 5;
    case OP_INT_SHR: return ua >> 7;
    case OP_INT_EQ: return ua == ub;
    case OP_INT_GT: return (int32_t)ua > (int32_t)ub;
    case OP_TRUNCATE: return (uint32_t)(int32_t)a;
    case OP_TO_FLOAT: return as_bits((float)(int32_t)ua);
    case OP_SINE: sincos1(a, &sine, &cosine); return as_bits(sine);
    case OP_COSINE: sincos1(a, &sine, &cosine); return as_bits(cosine);
    case OP_SINE_QUARTER: sincos_quarter1(a, &sine, &cosine); return as_bits(sine);
    case OP_COSINE_QUARTER: sincos_quarter1(a, &sine, &cosine); return as_bits(cosine);
    case OP_ATAN2_POSITIVE: return as_bits(atan2_positive1(a, b));
    case OP_ATAN2: return as_bits(atan2_1(a, b));
    case OP_EXP2: return as_bits(exp2_1(a));
    default: return 0;
    }
}

/* is the operation defined for these operands? */
static int in_domain(lane_op op, uint32_t ua, uint32_t ub) {
    const float a = as_float(ua), b = as_float(ub);
    switch (op) {
    case OP_TRUNCATE: return fits_int(a);
    case OP_SINE: case OP_COSINE: return fabsf(a) <= 8192.0f;
    case OP_SINE_QUARTER: case OP_COSINE_QUARTER: return 0.0f <= a && a <= 1.5707964f;
    case OP_ATAN2_POSITIVE: return 0.0f <= a && a < 1e38f && 0.0f <= b && b < 1e38f;
    case OP_ATAN2: return fabsf(a) < 1e38f && fabsf(b) < 1e38f;
    default: return 1;
    }
}

/* arithmetic may return any NaN; moves of bits may not */
static int may_differ_in_nan(lane_op op) {
    return (op >= OP_ADD && op <= OP_SQRT) || (op >= OP_SINE && op <= OP_EXP2);
}

static void compare(const width *w, lane_op op, const uint32_t *a, const uint32_t *b, const uint32_t *c) {
    uint32_t out[16] = {0};
    const size_t lanes = w->table->lanes;
    w->table->run(op, a, b, c, out);
    if (op == OP_MASK_ANY || op == OP_MASK_ALL || op == OP_MASK_BITS) {
        uint32_t bits = 0;
        for (size_t i = 0; i < lanes; ++i) bits |= (a[i] & 1u) << i;
        const uint32_t full = (uint32_t)((1ull << lanes) - 1);
        assert_int_equal(out[0], op == OP_MASK_ANY ? bits != 0 : op == OP_MASK_ALL ? bits == full : bits);
        return;
    }
    for (size_t i = 0; i < lanes; ++i) {
        const size_t from = op == OP_SPLAT || op == OP_INT_SPLAT ? 0 : i;
        if (!in_domain(op, a[from], b[from])) continue;
        const uint32_t want = plain(op, a[from], b[from], c[from]);
        if (out[i] == want) continue;
        if (may_differ_in_nan(op) && isnan(as_float(want)) && isnan(as_float(out[i]))) continue;
        print_error("%s, operation %d, lane %zu: a %08x b %08x c %08x gives %08x, plain C %08x\n", w->backend, (int)op, i, a[from], b[from],
                    c[from], out[i], want);
        fail();
    }
}

static void every_operation_is_plain_c_in_every_lane(void **state) {
    (void)state;
    width widths[WIDTHS];
    random_state r = random_seeded("lane operations", 0x1A5E0);
    for (uint32_t k = 0, n = usable_widths(widths); k < n; ++k) {
        for (int op = 0; op < OP_COUNT; ++op) {
            for (uint32_t i = 0; i < SPECIALS; ++i) for (uint32_t j = 0; j < SPECIALS; ++j) {
                uint32_t a[16], b[16], c[16];
                for (uint32_t l = 0; l < 16; ++l)
                    a[l] = specials[(i + l) % SPECIALS], b[l] = specials[(j + 3 * l) % SPECIALS], c[l] = i + j * l;
                compare(widths + k, (lane_op)op, a, b, c);
            }
            for (int round = 0; round < 20000; ++round) {
                uint32_t a[16], b[16], c[16];
                for (uint32_t l = 0; l < 16; ++l) {
                    a[l] = (uint32_t)random_bits(&r), b[l] = (uint32_t)random_bits(&r), c[l] = (uint32_t)random_bits(&r);
                    if (round & 1) a[l] = as_bits(random_float(&r, -9, 9)), b[l] = as_bits(random_float(&r, -9, 9));
                    if (round % 3 == 0) a[l] &= 0x7FFFFFFFu, b[l] &= 0x7FFFFFFFu;
                    if (round % 64 == 2) a[l] |= 1; /* all lanes true */
                    if (round % 64 == 4) a[l] &= ~1u;
                    if (round % 16 == 6) b[l] = a[l];
                }
                compare(widths + k, (lane_op)op, a, b, c);
            }
        }
    }
}

static void strided_moves_touch_their_elements_only(void **state) {
    (void)state;
    width widths[WIDTHS];
    random_state r = random_seeded("strided moves", 0x1A5E1);
    static const size_t strides[] = {0, 4, 12, 13, 16, 17, 20, 28, 40, 64, 100, 67 * 40};
    for (uint32_t k = 0, count = usable_widths(widths); k < count; ++k) {
        const size_t lanes = widths[k].table->lanes;
        for (size_t s = 0; s < sizeof strides / sizeof *strides; ++s)
            for (size_t offset = 0; offset < 20; ++offset)
                for (int n = 1; n <= 4; ++n) {
                    const size_t size = (size_t)n * 4, stride = strides[s];
                    if (n == 2 || (stride && stride < size)) continue;
                    const size_t span = (lanes - 1) * stride + size;
                    /* exactly as large as needed: the sanitizer sees a byte too many */
                    unsigned char *memory = malloc(offset + span), *wanted = malloc(offset + span);
                    for (size_t i = 0; i < offset + span; ++i) memory[i] = wanted[i] = (unsigned char)random_bits(&r);
                    uint32_t rows[64] = {0};
                    widths[k].table->gather(n, (const char *)memory + offset, stride, rows);
                    for (size_t l = 0; l < lanes; ++l)
                        for (size_t e = 0; e < (size_t)n; ++e) {
                            uint32_t word;
                            memcpy(&word, memory + offset + l * stride + 4 * e, 4);
                            assert_int_equal(rows[16 * e + l], word);
                        }
                    if (stride) {
                        for (size_t i = 0; i < 64; ++i) rows[i] = (uint32_t)random_bits(&r);
                        for (size_t l = 0; l < lanes; ++l)
                            for (size_t e = 0; e < (size_t)n; ++e) memcpy(wanted + offset + l * stride + 4 * e, &rows[16 * e + l], 4);
                        widths[k].table->scatter(n, (char *)memory + offset, stride, rows);
                        assert_int_equal(first_difference(memory, wanted, offset + span), -1);
                    }
                    free(memory), free(wanted);
                }
    }
}

static void put_vector(float *rows, uint32_t lane, phx_vec3 v) { rows[lane] = v.x, rows[16 + lane] = v.y, rows[32 + lane] = v.z; }
static phx_vec3 vector_of(const float *rows, uint32_t lane) { return vec3(rows[lane], rows[16 + lane], rows[32 + lane]); }
static phx_quat quat_at(const float *rows, uint32_t lane) { return quat(rows[lane], rows[16 + lane], rows[32 + lane], rows[48 + lane]); }

static void rotations_over_lanes_are_the_scalar_ones(void **state) {
    (void)state;
    width widths[WIDTHS];
    random_state r = random_seeded("rotations over lanes", 0x1A5E2);
    for (uint32_t k = 0, count = usable_widths(widths); k < count; ++k) {
        const lane_table *table = widths[k].table;
        for (int round = 0; round < 20000; ++round) {
            float from[48], to[48], spare[48], q[64], share[16], cosine[16], sine[16], lanes_out[64];
            for (uint32_t l = 0; l < 16; ++l) {
                const phx_vec3 a = random_direction(&r), b = random_direction(&r);
                const float tilt = random_float(&r, -0.5f, 0.5f) * (float)pow(10, random_float(&r, -8, 0));
                phx_vec3 c = b;
                if (random_below(&r, 2)) c = add3(scale3(a, -1.0f), scale3(b, tilt)), c = scale3(c, 1.0f / length3(c));
                if (random_below(&r, 8) == 0) c = random_below(&r, 2) ? a : scale3(a, -1.0f);
                put_vector(from, l, a), put_vector(to, l, c), put_vector(spare, l, random_direction(&r));
                const phx_quat rotation = random_rotation(&r);
                q[l] = rotation.x, q[16 + l] = rotation.y, q[32 + l] = rotation.z, q[48 + l] = rotation.w;
                if (random_below(&r, 8) == 0) q[l] = q[16 + l] = q[32 + l] = 0, q[48 + l] = random_below(&r, 2) ? 1.0f : -1.0f;
                share[l] = random_below(&r, 4) ? random_float(&r, 0, 1) : (float)random_below(&r, 2);
                const float angle = random_float(&r, -3.2f, 3.2f);
                cosine[l] = random_below(&r, 8)   ? cosf(angle)
                            : random_below(&r, 2) ? -1.0f
                                                  : 0.0f,
                sine[l] = random_below(&r, 8) ? sinf(angle) : -0.0f;
                if (cosine[l] == 0.0f) sine[l] = 1.0f;
            }
#define SAME(words, scalar)                                                                                                                \
    for (uint32_t l = 0; l < table->lanes; ++l) {                                                                                          \
        const float got[] = {lanes_out[l], lanes_out[16 + l], lanes_out[32 + l], lanes_out[48 + l]};                                       \
        const phx_quat want = scalar;                                                                                                      \
        assert_int_equal(first_difference(got, &want, (words) * sizeof *got), -1);                                                         \
    }
            table->between(from, to, spare, 1.0f, lanes_out);
            SAME(4, between4(vector_of(from, l), vector_of(to, l), 1.0f, vector_of(spare, l)));
            table->turn(from, cosine, sine, lanes_out);
            SAME(4, turn4(vector_of(from, l), cosine[l], sine[l], 1.0f));
            table->fraction(q, share, lanes_out);
            SAME(4, fraction4(quat_at(q, l), share[l]));
            table->rotate(q, to, lanes_out);
            SAME(3, quat(rotate3(quat_at(q, l), vector_of(to, l)).x, rotate3(quat_at(q, l), vector_of(to, l)).y,
                         rotate3(quat_at(q, l), vector_of(to, l)).z, 0));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_plain_c_in_every_lane),
        cmocka_unit_test(strided_moves_touch_their_elements_only),
        cmocka_unit_test(rotations_over_lanes_are_the_scalar_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
