/* The kernels over lanes whose operations count themselves. Included by measure_w*.c after lane.h. A macro of a function's own name wraps
 * that function: each call counts one and then calls it. */
#include "operations.h"

static bench_operations counted;
static inline void count_one(uint64_t *n) { ++*n; }

#define f_mul(a, b) (count_one(&counted.mul), f_mul(a, b))
#define f_add(a, b) (count_one(&counted.add), f_add(a, b))
#define f_sub(a, b) (count_one(&counted.add), f_sub(a, b))
#define f_div(a, b) (count_one(&counted.div), f_div(a, b))
#define f_sqrt(a) (count_one(&counted.sqrt), f_sqrt(a))
#define f_min(a, b) (count_one(&counted.other), f_min(a, b))
#define f_max(a, b) (count_one(&counted.other), f_max(a, b))
#define f_neg(a) (count_one(&counted.other), f_neg(a))
#define f_abs(a) (count_one(&counted.other), f_abs(a))
#define f_copysign(a, b) (count_one(&counted.other), f_copysign(a, b))
#define f_lt(a, b) (count_one(&counted.other), f_lt(a, b))
#define f_le(a, b) (count_one(&counted.other), f_le(a, b))
#define f_eq(a, b) (count_one(&counted.other), f_eq(a, b))
#define f_select(m, a, b) (count_one(&counted.other), f_select(m, a, b))
#define f_keep(m, a) (count_one(&counted.other), f_keep(m, a))
#define i_select(m, a, b) (count_one(&counted.other), i_select(m, a, b))
#define f_load3(p, stride, x, y, z) (counted.other += LANES, f_load3(p, stride, x, y, z)) /* each element takes one at least */
#define f_load4(p, stride, x, y, z, w) (counted.other += LANES, f_load4(p, stride, x, y, z, w))
#define f_store3(p, stride, x, y, z) (counted.other += LANES, f_store3(p, stride, x, y, z))
#define f_store4(p, stride, x, y, z, w) (counted.other += LANES, f_store4(p, stride, x, y, z, w))

#include "lane/trig.h"
#include "lane/vec.h"
#include "lane/quat.h"
#include "kernel/pack.inl"
#include "kernel/two_bone.inl"
#include <math.h>
#include "kernel/pose.inl"
#include "kernel/crowd.inl"

void BENCH_COUNT_TWO_BONE(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, size_t count, bench_operations *operations) {
    memset(&counted, 0, sizeof counted);
    two_bone_blocks(setup, blocks, NULL, count);
    (void)two_bone_job;
    *operations = counted;
}

static void counted_prepare(const phx_crowd_task *task) { crowd_prepare(task); }
static void counted_solve(const phx_crowd_task *task) { crowd_solve(task); }
bench_operations *BENCH_COUNT_CROWD(phx_backend *backend) {
    (void)forward_kinematics;
    backend->crowd_prepare = counted_prepare, backend->crowd_solve = counted_solve;
    return &counted;
}
