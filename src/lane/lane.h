/* The lane contract: what lane_4.h, lane_8.h and lane_16.h each define, and all that a kernel may use.
 *
 * Types   lf  LANES floats      li  LANES 32-bit integers      lm  LANES truth values, opaque (a vector or a mask register)
 *
 * Floats  f_splat f_load f_store (rows, aligned to the lane width)  f_add f_sub f_mul f_div f_sqrt  f_min f_max
 *         f_neg f_abs f_copysign(magnitude, sign)  f_lt f_le f_eq (false on NaN)  f_select(m, a, b)  f_keep(m, a) = a or +0
 * Masks   m_and m_or m_not m_andnot(a, b) = a and not b  m_any m_all  m_bits (bit i = lane i)  m_count  m_from_bits
 * Ints    i_splat i_load i_store i_add i_sub i_and i_or i_xor i_shl i_shr i_eq i_gt(signed) i_select  i_truncate (float to int)
 *         i_to_f  i_bits_of (reinterpret float)  i_as_f (reinterpret int)
 * Arrays  f_load3 f_load4 f_store3 f_store4: LANES strided elements of 3 or 4 floats, transposed, any alignment, and never a
 *         byte beyond the elements;  f_load1 f_store1: strided single floats
 * Packing m_packing(m) is a plan (lp) by which f_pack puts the lanes of m side by side, in order, from lane 0 on; the lanes after
 *         them are unspecified.  f_store_any: a whole vector to any address of a float
 *
 * Rules. Every operation is correctly rounded or a bit operation, so all widths, and scalar C, return the same bits: no
 * estimates, no fused multiply-add, nothing across lanes in a result. f_min(a, b) is a < b ? a : b and f_max is a > b ? a : b:
 * the second operand wins on NaN and on equal zeros, as x86 does. To add an operation: define it in the three files,
 * describe it here, and give it a line in tests/lane_ops.c.
 *
 * lane_pair.h takes two vectors as one of twice the lanes; kernels that gain by it are compiled by kernel/pair_w*.c too. */
#ifndef PHX_LANE_H
#define PHX_LANE_H

#include <stddef.h>
#include <stdint.h>

/* With these a compiler leaves out what looks for NaN, reorders sums, and divides by multiplying. GCC's macros; clang has the first two. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "Phalanx is to be compiled without -ffast-math, -Ofast, -ffinite-math-only and -funsafe-math-optimizations: its answers and its checks rest on IEEE arithmetic"
#endif

/* lane_inline: what a hot loop uses. A call would spill every register and turn options that are constants of a loop into branches.
 * lane_cold: what rare lanes need, out of the way of the hot loop; takes and returns values, so that nothing hot is forced into memory.
 * lane_address: a pointer from which near addresses are counted, as written; a compiler that sorts the sums anew takes three times the instructions.
 * lane_in_order: loads and stores stay on their side of it, where a compiler that gathers them runs out of registers. */
#if defined(__GNUC__)
#define lane_inline static inline __attribute__((always_inline))
#define lane_cold static __attribute__((noinline, cold, unused))
#define lane_apart __attribute__((noinline))
#define lane_rare(condition) __builtin_expect((condition), 0)
#define lane_in_order() __asm__ volatile("" ::: "memory")
#define lane_address(p) __asm__("" : "+r"(p))
#define lane_prefetch_far(address) __builtin_prefetch((address), 0, 2) /* into the second level */
#define lane_prefetch(address) __builtin_prefetch((address), 0, 3)
#define lane_prefetch_once(address) __builtin_prefetch((address), 0, 0) /* into the first level, first to leave it */
#else
#define lane_inline static inline
#define lane_cold static
#define lane_apart
#define lane_rare(condition) (condition)
#define lane_in_order() ((void)0)
#define lane_address(p) ((void)0)
#define lane_prefetch(address) ((void)(address))
#define lane_prefetch_far(address) ((void)(address))
#define lane_prefetch_once(address) ((void)(address))
#endif

#if defined(PHX_PAIR)
#include "lane_pair.h"
#elif PHX_LANES == 4
#include "lane_4.h"
#elif PHX_LANES == 8
#include "lane_8.h"
#elif PHX_LANES == 16
#include "lane_16.h"
#else
#error "define PHX_LANES as 4, 8 or 16"
#endif

#endif
