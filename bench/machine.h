/* What this machine can do, measured in the process that benchmarks: the speed of copies at any size and of single operations at each lane
 * width. roofline.h turns it into a bound for a workload. Called by roofline.cpp and main.cpp. */
#ifndef PHALANX_BENCH_MACHINE_H
#define PHALANX_BENCH_MACHINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds an instruction takes at full throughput, one lane width, many independent operations in flight. */
typedef struct bench_speed {
    double mul, add, div, sqrt;
    double mixed; /* multiplications, additions and bit operations in turn: how many instructions start a cycle */
} bench_speed;

typedef double bench_clock(void); /* nanoseconds */

/* machine.inl, compiled for each width; the caller has checked that this machine may run it */
void bench_speed_w4(bench_clock *clock, bench_speed *speed);
void bench_copy_w4(char *to, const char *from, size_t size);
#if defined(PHX_HAVE_AVX2)
void bench_speed_w8(bench_clock *clock, bench_speed *speed);
void bench_copy_w8(char *to, const char *from, size_t size);
#endif
#if defined(PHX_HAVE_AVX512)
void bench_speed_w16(bench_clock *clock, bench_speed *speed);
void bench_copy_w16(char *to, const char *from, size_t size);
#endif

#ifdef __cplusplus
}
#endif
#endif
