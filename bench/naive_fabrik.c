/* FABRIK as a user would write it: an array of joints a chain, passes in turn, early stop. The baseline of fabrik/naive. */
#include "chain_workload.h"
#include <math.h>
#include <string.h>

static float distance(phx_vec3 a, phx_vec3 b) {
    const float x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
    return sqrtf(x * x + y * y + z * z);
}

/* the point at `length` from `from` on the way to `to` */
static phx_vec3 toward(phx_vec3 from, phx_vec3 to, float length) {
    const float k = length / distance(from, to);
    return (phx_vec3){from.x + (to.x - from.x) * k, from.y + (to.y - from.y) * k, from.z + (to.z - from.z) * k};
}

uint64_t bench_naive_fabrik(uint32_t bones, size_t count, const phx_vec3 *positions, const float *lengths, const phx_vec3 *targets,
                            float tolerance, uint32_t max_iterations, phx_vec3 *solved, size_t *reached) {
    uint64_t rounds = 0;
    *reached = 0;
    for (size_t i = 0; i < count; ++i) {
        phx_vec3 *joint = solved + i * (bones + 1);
        const float *length = lengths + i * bones;
        const phx_vec3 root = positions[i * (bones + 1)], target = targets[i];
        float whole = 0;
        memcpy(joint, positions + i * (bones + 1), (bones + 1) * sizeof *joint);
        for (uint32_t j = 0; j < bones; ++j) whole += length[j];
        const float near_enough = tolerance * whole;
        if (distance(root, target) >= whole) {
            for (uint32_t j = 0; j < bones; ++j) joint[j + 1] = toward(joint[j], target, length[j]);
            ++rounds;
        } else {
            for (uint32_t n = 0; n < max_iterations && distance(joint[bones], target) > near_enough; ++n, ++rounds) {
                joint[bones] = target;
                for (uint32_t j = bones; j-- > 0;) joint[j] = toward(joint[j + 1], joint[j], length[j]);
                joint[0] = root;
                for (uint32_t j = 0; j < bones; ++j) joint[j + 1] = toward(joint[j], joint[j + 1], length[j]);
            }
        }
        *reached += distance(joint[bones], target) <= near_enough;
    }
    return rounds;
}
