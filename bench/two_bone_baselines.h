/* Two-bone solvers that the library is measured against, without its guards. Called by two_bone.cpp. */
#ifndef PHALANX_BENCH_TWO_BONE_BASELINES_H
#define PHALANX_BENCH_TWO_BONE_BASELINES_H

#include "workloads.h"

#ifdef __cplusplus
extern "C" {
#endif

/* one array for each component */
typedef struct bench_leg_arrays {
    float *root[3], *mid[3], *tip[3], *target[3], *pole[3];
    float *root_rotation[4], *mid_rotation[4];
} bench_leg_arrays;

/* plain loops over arrays, two_bone_autovec.c */
void bench_two_bone_autovec(const bench_leg_arrays *arrays, size_t count);

/* one leg at a time over an array of structures, two_bone_scalar.c: law of cosines without trigonometry, and as most write it, with
 * acosf and sinf for the angles and axis-angle quaternions */
void bench_two_bone_scalar(bench_leg *legs, size_t count);
void bench_two_bone_scalar_trigonometry(bench_leg *legs, size_t count);

#ifdef __cplusplus
}
#endif
#endif
