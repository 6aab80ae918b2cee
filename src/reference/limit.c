/* Joint limits in scalar C: the twin of kernel/limit.inl. */
#include "limit.h"
#include "reference.h"

/* half-angle sine *p and cosine *w into the range; 1 where they had to move */
static int clamp_twist(const phx_limit_setup *limit, float *p, float *w) {
    const float c = *w * limit->middle_cos + *p * limit->middle_sin, s = *p * limit->middle_cos - *w * limit->middle_sin;
    if (!(limit->range_cos > 0.9999f ? limit->range_sin + 2e-7f < fabsf(s) : fabsf(c) < limit->range_cos)) return 0; /* cosines of small angles are all 1 */
    const float end = copysignf(limit->range_sin, s * copysignf(1.0f, c));
    *w = limit->range_cos * limit->middle_cos - end * limit->middle_sin;
    *p = end * limit->middle_cos + limit->range_cos * limit->middle_sin;
    return 1;
}

/* A point outside the ellipse to its rim, nearly at right angles to it; *a along the longer half axis. The rim's normals at `guess`, a first
 * guess of the foot, and at its mirror image meet on the long axis at c: where the line from there to the point leaves the ellipse is the
 * foot. */
static void to_rim(const phx_limit_setup *limit, float inverse_long, float inverse_short, float *a, float *b) {
    const float x = max1(fabsf(*a) - limit->slack, 0.0f), y = max1(fabsf(*b) - limit->slack, 0.0f), flat = y * limit->narrow;
    const float far = x / (inverse_long * sqrtf(some1(x * x + flat * flat))), guess = min1(x, far);
    const float c = guess * limit->evolute, m = c * inverse_long, p = (x - c) * inverse_long, q = y * inverse_short;
    const float room = max1((1.0f - m) * (1.0f + m), 0.0f), along = m * p;
    const float share = min1(room / some1(along + sqrtf(along * along + (p * p + q * q) * room)), 1.0f);
    *a = *a - copysignf((x - c) * (1.0f - share), *a), *b = copysignf(y * share, *b);
}

static int clamp_swing(const phx_limit_setup *limit, phx_vec3 *v, float *w) {
    const float inverse = 1.0f / (1.0f + *w);
    float a = dot3(*v, limit->side) * inverse, b = dot3(*v, limit->across) * inverse;
    const float slack = limit->slack, most = slack + slack; /* moved to within the one, it is let be within the other */
    float u = max1(fabsf(a) - most, 0.0f) * limit->inverse_side, t = max1(fabsf(b) - most, 0.0f) * limit->inverse_across;
    if (!(1.0f < u * u + t * t)) return 0;
    if (limit->type == PHX_LIMIT_ELLIPSE) {
        if (limit->tan_side < limit->tan_across) to_rim(limit, limit->inverse_across, limit->inverse_side, &b, &a);
        else to_rim(limit, limit->inverse_side, limit->inverse_across, &a, &b);
    } else {
        u = fabsf(a) * limit->inverse_side, t = fabsf(b) * limit->inverse_across;
        const float shrink = 1.0f / max1(sqrtf(u * u + t * t), 1.0f);
        a = a * shrink, b = b * shrink;
    }
    const float squared = a * a + b * b;
    const float scale = 1.0f / (1.0f + squared);
    const float twice = scale + scale;
    *v = add3(scale3(limit->side, a * twice), scale3(limit->across, b * twice));
    *w = (1.0f - squared) * scale;
    return 1;
}

static float split_twist(phx_quat d, float along, float *p, float *w) {
    const float norm = sqrtf(along * along + d.w * d.w);
    const float inverse = 1.0f / max1(norm, 1e-6f);
    const int none = norm <= 1e-6f;
    *p = none ? 0.0f : along * inverse;
    *w = none ? 1.0f : d.w * inverse;
    return norm;
}

phx_quat phx_reference_limit_local(const phx_limit_setup *limit, phx_quat local, int *changed) {
    *changed = 0;
    if (limit->type == PHX_LIMIT_NONE) return local;
    const phx_quat d = mul4(conjugate4(limit->rest), local);
    const phx_vec3 v = vec3(d.x, d.y, d.z), axis = limit->axis;
    const float along = dot3(v, axis);
    float p, w;
    const float norm = split_twist(d, along, &p, &w);
    int outside;
    phx_quat result;
    if (limit->type == PHX_LIMIT_HINGE) {
        const phx_vec3 swing = sub3(v, scale3(axis, along));
        outside = 1e-12f < dot3(swing, swing);
        if (!limit->twist_free) outside |= clamp_twist(limit, &p, &w);
        result = quat(axis.x * p, axis.y * p, axis.z * p, w);
    } else {
        const phx_vec3 turned = add3(scale3(v, w), scale3(cross3(axis, v), p));
        phx_vec3 swing = sub3(turned, scale3(axis, dot3(turned, axis)));
        float swing_w = norm;
        outside = clamp_swing(limit, &swing, &swing_w);
        if (!limit->twist_free) outside |= clamp_twist(limit, &p, &w);
        result = mul4(quat(swing.x, swing.y, swing.z, swing_w), quat(axis.x * p, axis.y * p, axis.z * p, w));
    }
    if (!outside) return local;
    *changed = 1;
    result = normalize4(mul4(limit->rest, result));
    return scale4(result, copysignf(1.0f, dot4(result, local) + 0.0f));
}

phx_quat phx_reference_limit_toward(const phx_limit_setup *limit, phx_quat local, phx_vec3 bone, phx_vec3 wanted, int *changed) {
    if (limit->type == PHX_LIMIT_HINGE) {
        const phx_vec3 axis = limit->axis, goal = rotate3(conjugate4(limit->rest), wanted);
        const phx_vec3 from = reject3(bone, axis), to = reject3(goal, axis);
        const float cosine = dot3(from, to), sine = dot3(axis, cross3(from, to));
        const float scale = sqrtf(cosine * cosine + sine * sine);
        if (!(1e-6f < scale)) return phx_reference_limit_local(limit, local, changed);
        const int obtuse = cosine < 0.0f;
        float w = obtuse ? fabsf(sine) : scale + cosine;
        float p = obtuse ? copysignf(scale - cosine, sine) : sine;
        const float inverse = 1.0f / max1(sqrtf(w * w + p * p), 1e-12f);
        w = w * inverse, p = p * inverse;
        const phx_vec3 missed = sub3(goal, add3(to, scale3(axis, dot3(bone, axis))));
        *changed = 1e-12f < dot3(missed, missed);
        if (!limit->twist_free) *changed |= clamp_twist(limit, &p, &w);
        const phx_quat turned = mul4(limit->rest, quat(axis.x * p, axis.y * p, axis.z * p, w));
        return scale4(turned, copysignf(1.0f, dot4(turned, local)));
    }
    const phx_vec3 now = rotate3(local, bone);
    const phx_vec3 spare = reject3(fabsf(wanted.x) <= fabsf(wanted.y) ? vec3(1.0f, 0.0f, 0.0f) : vec3(0.0f, 1.0f, 0.0f), wanted);
    const phx_vec3 unit_spare = scale3(spare, 1.0f / length3(spare));
    return phx_reference_limit_local(limit, normalize4(mul4(between4(now, wanted, 1.0f, unit_spare), local)), changed);
}

void phx_reference_limit_apply(const phx_limit_setup *setup, size_t count, phx_view local, phx_view limited, phx_view changed) {
    for (size_t i = 0; i < count; ++i) {
        phx_quat given;
        memcpy(&given, (const char *)local.data + i * local.stride, sizeof given);
        const float squared = dot4(given, given);
        int moved = 0;
        phx_quat result = given;
        if (1e-24f < squared && squared < 1e24f) {
            const phx_quat limited_rotation = phx_reference_limit_local(setup, scale4(given, 1.0f / sqrtf(squared)), &moved);
            if (moved) result = limited_rotation;
        }
        memcpy((char *)limited.data + i * limited.stride, &result, sizeof result);
        const uint32_t flag = (uint32_t)moved;
        if (changed.data) memcpy((char *)changed.data + i * changed.stride, &flag, sizeof flag);
    }
}
