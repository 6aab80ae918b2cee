/* Scalar two-bone solvers as users write them: arrays of structures, one leg after the other, -O3 -march=native, no guards. */
#include "two_bone_baselines.h"
#include <math.h>

static phx_vec3 sub(phx_vec3 a, phx_vec3 b) { return (phx_vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static phx_vec3 add(phx_vec3 a, phx_vec3 b) { return (phx_vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static phx_vec3 scale(phx_vec3 a, float s) { return (phx_vec3){a.x * s, a.y * s, a.z * s}; }
static float dot(phx_vec3 a, phx_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static phx_vec3 cross(phx_vec3 a, phx_vec3 b) {
    return (phx_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static phx_vec3 unit(phx_vec3 a) { return scale(a, 1.0f / sqrtf(dot(a, a))); }
static float clamp(float a, float low, float high) { return a < low ? low : a > high ? high : a; }

static phx_quat swing(phx_vec3 from, phx_vec3 to, float length_squared) {
    const phx_vec3 axis = cross(from, to);
    const float w = length_squared + dot(from, to), inverse = 1.0f / sqrtf(dot(axis, axis) + w * w);
    return (phx_quat){axis.x * inverse, axis.y * inverse, axis.z * inverse, w * inverse};
}

void bench_two_bone_scalar(bench_leg *legs, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        bench_leg *leg = legs + i;
        const phx_vec3 thigh = sub(leg->knee, leg->hip), shin = sub(leg->ankle, leg->knee), delta = sub(leg->target, leg->hip);
        const float upper = sqrtf(dot(thigh, thigh)), lower = sqrtf(dot(shin, shin)), far = sqrtf(dot(delta, delta));
        const phx_vec3 axis = scale(delta, 1.0f / far);
        const float distance = clamp(far, fabsf(upper - lower) + 1e-6f, upper + lower - 1e-6f);
        const float along = (upper * upper - lower * lower + distance * distance) / (2.0f * distance);
        const float aside = sqrtf(fmaxf(upper * upper - along * along, 0.0f));
        const phx_vec3 bend = unit(sub(leg->knee_forward, scale(axis, dot(leg->knee_forward, axis))));
        const phx_vec3 new_thigh = add(scale(axis, along), scale(bend, aside)), new_shin = sub(scale(axis, distance), new_thigh);
        leg->hip_correction = swing(thigh, new_thigh, upper * upper);
        leg->knee_correction = swing(shin, new_shin, lower * lower);
    }
}

static phx_quat around(phx_vec3 axis, float angle) {
    const float sine = sinf(angle * 0.5f);
    return (phx_quat){axis.x * sine, axis.y * sine, axis.z * sine, cosf(angle * 0.5f)};
}
static phx_quat multiply(phx_quat a, phx_quat b) {
    return (phx_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
                      a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
static phx_vec3 rotate(phx_quat q, phx_vec3 v) {
    const phx_vec3 u = {q.x, q.y, q.z}, t = scale(cross(u, v), 2.0f);
    return add(v, add(scale(t, q.w), cross(u, t)));
}

/* The usual steps: bend the knee to the angle that the distance needs, swing the limb to the target, turn it about the target's
 * direction until the knee points to its pole. */
void bench_two_bone_scalar_trigonometry(bench_leg *legs, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        bench_leg *leg = legs + i;
        const phx_vec3 thigh = sub(leg->knee, leg->hip), shin = sub(leg->ankle, leg->knee), chord = sub(leg->ankle, leg->hip);
        const phx_vec3 delta = sub(leg->target, leg->hip);
        const float upper = sqrtf(dot(thigh, thigh)), lower = sqrtf(dot(shin, shin)), reach = sqrtf(dot(chord, chord));
        const float far = sqrtf(dot(delta, delta)), distance = clamp(far, fabsf(upper - lower) + 1e-6f, upper + lower - 1e-6f);
        const float hip_now = acosf(clamp(dot(thigh, chord) / (upper * reach), -1.0f, 1.0f));
        const float knee_now = acosf(clamp(-dot(thigh, shin) / (upper * lower), -1.0f, 1.0f));
        const float hip_new = acosf(clamp((upper * upper + distance * distance - lower * lower) / (2.0f * upper * distance), -1.0f, 1.0f));
        const float knee_new = acosf(clamp((upper * upper + lower * lower - distance * distance) / (2.0f * upper * lower), -1.0f, 1.0f));
        const phx_vec3 hinge = unit(cross(chord, thigh));
        const phx_quat open_hip = around(hinge, hip_new - hip_now), open_knee = around(hinge, knee_new - knee_now);
        const phx_vec3 chord_unit = scale(chord, 1.0f / reach), axis = scale(delta, 1.0f / far);
        const phx_quat aim = around(unit(cross(chord_unit, axis)), acosf(clamp(dot(chord_unit, axis), -1.0f, 1.0f)));
        const phx_quat aimed = multiply(aim, open_hip);
        const phx_vec3 knee = rotate(aimed, thigh), forward = cross(axis, leg->knee_forward);
        const float roll = atan2f(dot(forward, knee), dot(cross(forward, axis), knee));
        const phx_quat hip = multiply(around(axis, -roll), aimed);
        leg->hip_correction = hip;
        leg->knee_correction = multiply(hip, open_knee);
    }
}
