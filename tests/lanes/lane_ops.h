/* Every lane operation by number, so that one test can run each width's own against plain C. Used by tests/lane_ops.c;
 * filled by lanes/w*.c and pair_w*.c, each compiled with that width's flags. */
#ifndef PHALANX_TEST_LANE_OPS_H
#define PHALANX_TEST_LANE_OPS_H

#include <stddef.h>
#include <stdint.h>

typedef enum lane_op {
    OP_SPLAT, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_SQRT, OP_MIN, OP_MAX, OP_NEG, OP_ABS, OP_COPYSIGN, OP_LT, OP_LE, OP_EQ, OP_SELECT, OP_KEEP,
    OP_MASK_AND, OP_MASK_OR, OP_MASK_NOT, OP_MASK_ANDNOT, OP_MASK_ANY, OP_MASK_ALL, OP_MASK_BITS,
    OP_INT_SPLAT, OP_INT_ADD, OP_INT_SUB, OP_INT_AND, OP_INT_OR, OP_INT_XOR, OP_INT_SHL, OP_INT_SHR, OP_INT_EQ, OP_INT_GT, OP_INT_SELECT,
    OP_TRUNCATE, OP_TO_FLOAT,
    OP_SINE, OP_COSINE, OP_SINE_QUARTER, OP_COSINE_QUARTER, OP_ATAN2_POSITIVE, OP_ATAN2, OP_EXP2,
    OP_COUNT
} lane_op;

typedef struct lane_table {
    size_t lanes;
    /* 16 words each of a, b, c in, of out; masks are made of the low bit of a word and come back as 0 or 1 */
    void (*run)(lane_op op, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *out);
    /* `lanes` strided elements of n = 1, 3 or 4 words to rows of 16, and back */
    void (*gather)(int n, const char *from, size_t stride, uint32_t *rows);
    void (*scatter)(int n, char *to, size_t stride, const uint32_t *rows);
    /* shortest rotation, turn, share of a rotation, a rotated vector: rows of 16 as x y z w ... */
    void (*between)(const float *from, const float *to, const float *spare, float length_squared, float *quat);
    void (*turn)(const float *axis, const float *cosine, const float *sine, float *quat);
    void (*fraction)(const float *quat, const float *weight, float *out);
    void (*rotate)(const float *quat, const float *vector, float *out);
} lane_table;

extern const lane_table lane_table_w4, lane_table_pair_w4;
#if defined(PHX_HAVE_AVX2)
extern const lane_table lane_table_w8, lane_table_pair_w8;
#endif
#if defined(PHX_HAVE_AVX512)
extern const lane_table lane_table_w16;
#endif

#endif
