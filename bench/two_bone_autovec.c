/* What an engineer would try before taking a library: plain loops over arrays of x, y, z, left to the compiler's vectoriser with
 * -O3 -march=native -ffast-math. The maths is the kernel's (law of cosines without trigonometry, shortest swings out), without its guards: a
 * straight leg, a pole along the limb, a target on the root or a half turn give NaN here. */
#include "two_bone_baselines.h"
#include <math.h>

void bench_two_bone_autovec(const bench_leg_arrays *arrays, size_t count) {
    const float *restrict root_x = arrays->root[0], *restrict root_y = arrays->root[1], *restrict root_z = arrays->root[2];
    const float *restrict mid_x = arrays->mid[0], *restrict mid_y = arrays->mid[1], *restrict mid_z = arrays->mid[2];
    const float *restrict tip_x = arrays->tip[0], *restrict tip_y = arrays->tip[1], *restrict tip_z = arrays->tip[2];
    const float *restrict target_x = arrays->target[0], *restrict target_y = arrays->target[1], *restrict target_z = arrays->target[2];
    const float *restrict pole_x = arrays->pole[0], *restrict pole_y = arrays->pole[1], *restrict pole_z = arrays->pole[2];
    float *restrict root_qx = arrays->root_rotation[0], *restrict root_qy = arrays->root_rotation[1];
    float *restrict root_qz = arrays->root_rotation[2], *restrict root_qw = arrays->root_rotation[3];
    float *restrict mid_qx = arrays->mid_rotation[0], *restrict mid_qy = arrays->mid_rotation[1];
    float *restrict mid_qz = arrays->mid_rotation[2], *restrict mid_qw = arrays->mid_rotation[3];
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (size_t i = 0; i < count; ++i) {
        const float ax = mid_x[i] - root_x[i], ay = mid_y[i] - root_y[i], az = mid_z[i] - root_z[i];
        const float bx = tip_x[i] - mid_x[i], by = tip_y[i] - mid_y[i], bz = tip_z[i] - mid_z[i];
        const float dx = target_x[i] - root_x[i], dy = target_y[i] - root_y[i], dz = target_z[i] - root_z[i];
        const float upper = sqrtf(ax * ax + ay * ay + az * az), lower = sqrtf(bx * bx + by * by + bz * bz);
        const float squared = dx * dx + dy * dy + dz * dz, inverse = 1.0f / sqrtf(squared);
        const float ux = dx * inverse, uy = dy * inverse, uz = dz * inverse;
        float distance = squared * inverse;
        distance = fminf(fmaxf(distance, fabsf(upper - lower) + 1e-6f), upper + lower - 1e-6f);
        /* elbow in the plane of axis and bend */
        const float along = (upper * upper - lower * lower + distance * distance) / (2.0f * distance);
        const float aside = sqrtf(fmaxf(upper * upper - along * along, 0.0f));
        const float dot = pole_x[i] * ux + pole_y[i] * uy + pole_z[i] * uz;
        float nx = pole_x[i] - ux * dot, ny = pole_y[i] - uy * dot, nz = pole_z[i] - uz * dot;
        const float scale = aside / sqrtf(nx * nx + ny * ny + nz * nz);
        nx *= scale, ny *= scale, nz *= scale;
        const float cx = ux * along + nx, cy = uy * along + ny, cz = uz * along + nz;             /* new thigh */
        const float ex = ux * distance - cx, ey = uy * distance - cy, ez = uz * distance - cz;    /* new shin */
        /* shortest swings: (from x to, |from||to| + from . to), normalised */
        const float px = ay * cz - az * cy, py = az * cx - ax * cz, pz = ax * cy - ay * cx;
        const float pw = upper * upper + ax * cx + ay * cy + az * cz;
        const float p = 1.0f / sqrtf(px * px + py * py + pz * pz + pw * pw);
        root_qx[i] = px * p, root_qy[i] = py * p, root_qz[i] = pz * p, root_qw[i] = pw * p;
        const float qx = by * ez - bz * ey, qy = bz * ex - bx * ez, qz = bx * ey - by * ex;
        const float qw = lower * lower + bx * ex + by * ey + bz * ez;
        const float q = 1.0f / sqrtf(qx * qx + qy * qy + qz * qz + qw * qw);
        mid_qx[i] = qx * q, mid_qy[i] = qy * q, mid_qz[i] = qz * q, mid_qw[i] = qw * q;
    }
}
