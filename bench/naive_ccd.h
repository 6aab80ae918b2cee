/* CCD as a user would write it, to measure the library against: an array of structures, one chain after the other, plain scalar C,
 * early stop, no guards beyond a division by nothing. Every joint from the tip's parent to the root turns the tip toward the target and
 * all joints beyond it are moved at once; at the end each bone's rotation is the shortest swing from where it was. Included by one file
 * of the bench, which is compiled with -O3. */
#ifndef PHALANX_BENCH_NAIVE_CCD_H
#define PHALANX_BENCH_NAIVE_CCD_H

#include "phalanx/base.h"
#include <math.h>

/* shortest turn from a to b, unit; identity where there is none */
static inline phx_quat naive_ccd_swing(float ax, float ay, float az, float bx, float by, float bz) {
    const float m = sqrtf((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz));
    const float x = ay * bz - az * by, y = az * bx - ax * bz, z = ax * by - ay * bx, w = m + ax * bx + ay * by + az * bz;
    const float norm = sqrtf(x * x + y * y + z * z + w * w);
    if (norm < 1e-12f) return (phx_quat){0, 0, 0, 1};
    const float inverse = 1.0f / norm;
    return (phx_quat){x * inverse, y * inverse, z * inverse, w * inverse};
}

/* `joints` positions, root first, moved in place; `correction` (joints - 1) gets each bone's turn from where it was. Returns the sweeps
 * used; `tolerance` in metres; at most 65 joints. */
static inline unsigned naive_ccd(phx_vec3 *position, phx_quat *correction, unsigned joints, phx_vec3 target, float tolerance,
                                 unsigned max_sweeps) {
    const unsigned tip = joints - 1;
    phx_vec3 before[65];
    for (unsigned j = 0; j <= tip; ++j) before[j] = position[j];
    unsigned sweep = 0;
    for (; sweep < max_sweeps; ++sweep) {
        const float dx = target.x - position[tip].x, dy = target.y - position[tip].y, dz = target.z - position[tip].z;
        if (dx * dx + dy * dy + dz * dz <= tolerance * tolerance) break;
        for (unsigned j = tip; j-- > 0;) {
            const phx_vec3 p = position[j], end = position[tip];
            const phx_quat q = naive_ccd_swing(end.x - p.x, end.y - p.y, end.z - p.z, target.x - p.x, target.y - p.y, target.z - p.z);
            for (unsigned k = j + 1; k <= tip; ++k) {
                const float vx = position[k].x - p.x, vy = position[k].y - p.y, vz = position[k].z - p.z;
                const float tx = 2.0f * (q.y * vz - q.z * vy), ty = 2.0f * (q.z * vx - q.x * vz), tz = 2.0f * (q.x * vy - q.y * vx);
                position[k].x = p.x + vx + q.w * tx + q.y * tz - q.z * ty;
                position[k].y = p.y + vy + q.w * ty + q.z * tx - q.x * tz;
                position[k].z = p.z + vz + q.w * tz + q.x * ty - q.y * tx;
            }
        }
    }
    for (unsigned j = 0; j < tip; ++j) {
        const phx_vec3 a = before[j], b = before[j + 1], c = position[j], d = position[j + 1];
        correction[j] = naive_ccd_swing(b.x - a.x, b.y - a.y, b.z - a.z, d.x - c.x, d.y - c.y, d.z - c.z);
    }
    return sweep;
}

#endif
