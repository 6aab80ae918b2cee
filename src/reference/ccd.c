/* CCD in plain scalar C, one chain at a time: the yardstick for every kernel, and the backend "reference". The lanes' twin is
 * kernel/ccd.inl; the method is described in phalanx/ccd.h. */
#include "chain.h"
#include "limit.h"
#include "reference.h"
#include <float.h>

/* The joints that turn, in units of a power of two near the chain's length, relative to the first of them. */
typedef struct ccd_chain {
    const phx_ccd_setup *setup;
    uint32_t bones;
    int limited;
    float length, tolerance;          /* of the chain; and as a distance */
    phx_vec3 goal, aim;               /* where the tip should go, and its direction */
    float goal_distance;
    phx_vec3 pole, previous, rest_bend;
    phx_quat parent;
    phx_vec3 bone[PHX_CHAIN_MAX_BONES];    /* in the joint's own frame */
    phx_vec3 animated[PHX_CHAIN_MAX_BONES]; /* limited: the bone as animated */
    phx_vec3 at[PHX_CHAIN_MAX_JOINTS];
    phx_quat frame[PHX_CHAIN_MAX_BONES];   /* rotation of a joint: of the world where limited, else since the animation */
    phx_quat best[PHX_CHAIN_MAX_BONES];
    phx_quat turn[PHX_CHAIN_MAX_BONES];    /* of this sweep, in the world as it was before */
    phx_vec3 blocked[PHX_CHAIN_MAX_BONES]; /* unit axis of the part of the last turn that the limit took back, or zero */
    float share[PHX_CHAIN_MAX_BONES];
    int hint_known;
    phx_vec3 hints[4];                /* pole, previous, pose, rest: in the frame of the chain before it is aimed */
    int hit;                          /* a limit changed a turn */
} ccd_chain;

static const phx_vec3 zero = {0.0f, 0.0f, 0.0f};

/* near-unit to unit without a root: one step of Newton's, exact to the second order */
static phx_quat settle4(phx_quat a) { return scale4(a, 1.5f - 0.5f * dot4(a, a)); }

static phx_quat aim_turn(phx_vec3 from, phx_vec3 to, float to_length, phx_vec3 spare) {
    const float from_length = length3(from);
    return between4(scale3(from, to_length / max1(from_length, 1e-8f)), to, to_length * to_length, spare);
}

/* sum of the inner joints less its part along the chord, zero for a straight chain */
static phx_vec3 pose_bend(const ccd_chain *c) {
    phx_vec3 sum = zero;
    for (uint32_t j = 1; j < c->bones; ++j) sum = add3(sum, c->at[j]);
    const phx_vec3 chord = c->at[c->bones];
    const float squared = dot3(chord, chord);
    const phx_vec3 bend = sub3(sum, scale3(chord, squared <= 1e-12f ? 0.0f : dot3(sum, chord) / squared));
    const float tolerance = c->setup->chain.direction_tolerance_squared * (c->length * c->length);
    return dot3(bend, bend) <= tolerance ? zero : bend;
}

static void find_hints(ccd_chain *c) {
    const phx_vec3 chord = c->at[c->bones];
    phx_quat back = quat_identity();
    if (1e-12f < dot3(chord, chord) && 1e-6f < c->goal_distance)
        back = conjugate4(aim_turn(chord, c->goal, c->goal_distance, reject3(spare_direction(c->aim), c->aim)));
    c->hints[0] = rotate3(back, c->pole);
    c->hints[1] = rotate3(back, c->previous);
    c->hints[2] = pose_bend(c);
    c->hints[3] = c->rest_bend;
    c->hint_known = 1;
}

/* Unit axis at right angles to the unit vector a, from the joint back to the root, about which a straight chain bends its joint
 * toward the hint. */
static phx_vec3 bend_axis(ccd_chain *c, phx_vec3 a) {
    if (!c->hint_known) find_hints(c);
    phx_vec3 chosen = reject3(spare_direction(a), a);
    for (int k = 0; k < 4; ++k)
        if (take_hint(c->hints[k], a, c->setup->chain.direction_tolerance_squared, &chosen)) break;
    return cross3(unit_bend(chosen, a), a);
}

static phx_quat parent_frame(const ccd_chain *c, uint32_t j) { return j ? c->frame[j - 1] : c->parent; }

/* What the joint may really do of a turn: cap, then limit. */
static phx_quat allowed_turn(ccd_chain *c, uint32_t j, phx_quat turn) {
    const phx_ccd_setup *setup = c->setup;
    if (setup->capped && turn.w < setup->cap_cos) {
        const float s = setup->cap_sin / max1(length3(vec3(turn.x, turn.y, turn.z)), 1e-12f);
        turn = quat(turn.x * s, turn.y * s, turn.z * s, setup->cap_cos);
    }
    if (!c->limited) return turn;
    const phx_limit_setup *limit = &setup->chain.limits[setup->from + j];
    if (limit->type == PHX_LIMIT_NONE) return turn;
    if (dot3(c->blocked[j], vec3(turn.x, turn.y, turn.z)) < -1e-4f) c->blocked[j] = zero; /* away from the limit */
    const phx_quat parent = parent_frame(c, j), frame = c->frame[j];
    int changed;
    const phx_quat local = phx_reference_limit_local(limit, mul4(conjugate4(parent), mul4(turn, frame)), &changed);
    if (!changed) return turn;
    c->hit = 1;
    const phx_quat got = mul4(mul4(parent, local), conjugate4(frame));
    const phx_quat lost = mul4(turn, conjugate4(got));
    const phx_vec3 axis = vec3(lost.x, lost.y, lost.z);
    const float squared = dot3(axis, axis);
    if (1e-12f < squared) c->blocked[j] = scale3(axis, copysignf(1.0f, lost.w) / sqrtf(squared));
    return got;
}

static phx_vec3 hinge_axis(const ccd_chain *c, uint32_t j) { return rotate3(parent_frame(c, j), c->setup->hinge_axis[c->setup->from + j]); }
static int is_hinge(const ccd_chain *c, uint32_t j) {
    return c->limited && c->setup->chain.limits[c->setup->from + j].type == PHX_LIMIT_HINGE;
}

/* cosine and sine of half the angle of a hinge, seen from the middle of its range */
static void hinge_angle(const ccd_chain *c, uint32_t j, float *cosine, float *sine) {
    const phx_limit_setup *limit = &c->setup->chain.limits[c->setup->from + j];
    const phx_quat local = mul4(conjugate4(parent_frame(c, j)), c->frame[j]);
    const phx_quat d = mul4(conjugate4(limit->rest), local);
    const float p = dot3(vec3(d.x, d.y, d.z), limit->axis);
    *cosine = d.w * limit->middle_cos + p * limit->middle_sin, *sine = p * limit->middle_cos - d.w * limit->middle_sin;
}

/* would the turn about the hinge's axis h leave its range? */
static int leaves_range(const ccd_chain *c, uint32_t j, phx_vec3 h, phx_quat turn) {
    const phx_limit_setup *limit = &c->setup->chain.limits[c->setup->from + j];
    float cosine, sine;
    hinge_angle(c, j, &cosine, &sine);
    return !limit->twist_free && fabsf(cosine * turn.w - sine * dot3(h, vec3(turn.x, turn.y, turn.z))) < limit->range_cos;
}

/* turns the tip (from the joint: b) about the hinge's axis toward a goal (from the joint: a) */
static phx_quat hinge_aim(phx_vec3 h, phx_vec3 b, phx_vec3 a) {
    const phx_vec3 across_b = reject3(b, h), across_a = reject3(a, h);
    const float scale = sqrtf(dot3(across_b, across_b) * dot3(across_a, across_a));
    if (!(1e-10f < scale)) return quat_identity();
    return turn4(h, dot3(across_b, across_a), dot3(h, cross3(across_b, across_a)), scale);
}

/* A chain so far from its goal may jump; a nearer one, such as last frame's, must not. */
static int is_distant(const ccd_chain *c, float residual) { return c->length * 0.1f < residual; }

/* Distance step: from the tip to the root, in sweep order. */
static void distance_step(ccd_chain *c) {
    const phx_ccd_setup *setup = c->setup;
    const float wanted_squared = c->goal_distance * c->goal_distance;
    const int straight = c->length * 0.999999f <= c->goal_distance;
    phx_vec3 tip = c->at[c->bones];
    const int distant = is_distant(c, length3(sub3(c->goal, tip)));
    c->hint_known = 0;
    for (uint32_t j = c->bones - 1; j > 0; --j) {
        const phx_vec3 at = c->at[j], b = sub3(tip, at);
        const phx_vec3 a = straight ? sub3(c->at[j - 1], at) : sub3(zero, at);
        const float aa = dot3(a, a), bb = dot3(b, b), ab = dot3(a, b);
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): there is a share for every bone */
        const float gap = (wanted_squared - ((aa + bb) - (ab + ab))) * c->share[j];
        const phx_vec3 x = cross3(a, b);
        phx_quat turn = quat_identity();
        if (is_hinge(c, j)) {
            const phx_vec3 h = hinge_axis(c, j);
            const float ha = dot3(h, a), hb = dot3(h, b);
            const float m = sqrtf(max1(aa - ha * ha, 0.0f) * max1(bb - hb * hb, 0.0f));
            const float inverse = 1.0f / max1(m, 1e-8f);
            const float c0 = (ab - ha * hb) * inverse, s0 = dot3(h, x) * inverse;
            float c1 = min1(max1(c0 - gap * (0.5f * inverse), -1.0f), 1.0f);
            if (straight) c1 = -1.0f;
            float side = s0;
            if (fabsf(s0) <= setup->direction_tolerance) {
                side = setup->hinge_side[setup->from + j];
                if (side == 0.0f) side = dot3(h, cross3(b, sub3(c->goal, at)));
                side = c0 < 0.0f ? -side : side;
            }
            const float s1 = copysignf(sqrtf(max1((1.0f - c1) * (1.0f + c1), 0.0f)), side);
            if (1e-8f < m) {
                turn = turn4(h, c0 * c1 + s0 * s1, s1 * c0 - c1 * s0, 1.0f);
                if (distant && leaves_range(c, j, h, turn)) { /* the triangle's other side, where the hinge can go there */
                    const phx_quat other = turn4(h, c0 * c1 - s0 * s1, -s1 * c0 - c1 * s0, 1.0f);
                    if (!leaves_range(c, j, h, other)) turn = other;
                }
            }
        } else {
            const float m = sqrtf(aa * bb), sx = sqrtf(dot3(x, x));
            const float inverse = 1.0f / max1(m, 1e-8f);
            phx_vec3 axis = x;
            float c0 = ab * inverse, s0 = sx * inverse, axis_length = sx;
            if (s0 <= setup->direction_tolerance) {
                axis = bend_axis(c, scale3(a, 1.0f / max1(sqrtf(aa), 1e-18f)));
                c0 = copysignf(1.0f, c0), s0 = 0.0f, axis_length = 1.0f;
            }
            float c1 = min1(max1(c0 - gap * (0.5f * inverse), -1.0f), 1.0f);
            if (straight) c1 = -1.0f;
            const float s1 = sqrtf(max1((1.0f - c1) * (1.0f + c1), 0.0f));
            const float cosine = c0 * c1 + s0 * s1, sine = s1 * c0 - c1 * s0;
            const int obtuse = cosine < 0.0f;
            const float w = obtuse ? fabsf(sine) : 1.0f + cosine;
            const float k = obtuse ? copysignf(1.0f - cosine, sine) : sine;
            const float divisor = 1.0f / (axis_length * sqrtf(w * w + k * k));
            const float scale = k * divisor;
            if (1e-8f < m) turn = quat(axis.x * scale, axis.y * scale, axis.z * scale, w * (axis_length * divisor));
        }
        turn = allowed_turn(c, j, turn);
        c->turn[j] = turn;
        tip = add3(at, rotate3(turn, b));
    }
    phx_quat turn = quat_identity();
    if (is_hinge(c, 0)) turn = hinge_aim(hinge_axis(c, 0), tip, c->goal);
    else if (1e-6f < c->goal_distance && 1e-12f < dot3(tip, tip)) {
        turn = aim_turn(tip, c->goal, c->goal_distance, reject3(spare_direction(c->aim), c->aim));
    }
    const float weight = setup->weight[setup->from];
    if (weight < 1.0f) turn = fraction4(turn, weight);
    c->turn[0] = allowed_turn(c, 0, turn);
}

/* +1 where a hinge is at the upper end of its range, -1 at the lower, else 0 */
static float hinge_end(const ccd_chain *c, uint32_t j) {
    const phx_limit_setup *limit = &c->setup->chain.limits[c->setup->from + j];
    if (limit->twist_free) return 0.0f;
    float cosine, sine;
    hinge_angle(c, j, &cosine, &sine);
    return fabsf(cosine) < limit->range_cos + 1e-5f ? copysignf(1.0f, sine * copysignf(1.0f, cosine)) : 0.0f;
}

/* the symmetric matrix of the share step */
typedef struct share_matrix {
    float xx, xy, xz, yy, yz, zz;
} share_matrix;

/* adds weight times m m^T */
static void add_outer(share_matrix *a, phx_vec3 m, float weight) {
    const phx_vec3 k = scale3(m, weight);
    a->xx = a->xx + k.x * m.x, a->xy = a->xy + k.x * m.y, a->xz = a->xz + k.x * m.z;
    a->yy = a->yy + k.y * m.y, a->yz = a->yz + k.y * m.z, a->zz = a->zz + k.z * m.z;
}

/* (matrix + damping)^-1, by adjugate over determinant */
static share_matrix inverse_share(const share_matrix *a, float damping) {
    const float xx = a->xx + damping, yy = a->yy + damping, zz = a->zz + damping, xy = a->xy, xz = a->xz, yz = a->yz;
    const float ax = yy * zz - yz * yz, ay = xz * yz - xy * zz, az = xy * yz - xz * yy;
    const float by = xx * zz - xz * xz, bz = xy * xz - xx * yz, cz = xx * yy - xy * xy;
    const float inverse = 1.0f / max1((xx * ax + xy * ay) + xz * az, 1e-20f);
    return (share_matrix){ax * inverse, ay * inverse, az * inverse, by * inverse, bz * inverse, cz * inverse};
}

static phx_vec3 times_share(const share_matrix *a, phx_vec3 v) {
    return vec3(dot3(vec3(a->xx, a->xy, a->xz), v), dot3(vec3(a->xy, a->yy, a->yz), v), dot3(vec3(a->xz, a->yz, a->zz), v));
}

/* what joint j is to turn where the share step's answer is y; r: from the joint to the tip */
static phx_vec3 share_turn(const ccd_chain *c, uint32_t j, phx_vec3 r, phx_vec3 y, phx_vec3 axis, int held, float weight) {
    if (is_hinge(c, j)) return scale3(axis, held ? 0.0f : dot3(cross3(axis, r), y) * weight);
    const phx_vec3 turn = scale3(cross3(r, y), weight);
    return c->limited && held ? sub3(turn, scale3(axis, dot3(axis, turn))) : turn;
}

/* Share step: all joints at once. What limits take away is left out of the sum: first what the miss itself would push further, then
 * what the first answer would. Turns do not add up: how far the tip will be off for that, to the second order, is shared as well. */
static void share_step(ccd_chain *c) {
    const float *weights = c->setup->weight + c->setup->from;
    const phx_vec3 tip = c->at[c->bones], miss = sub3(c->goal, tip);
    phx_vec3 axis[PHX_CHAIN_MAX_BONES]; /* of a hinge, or unit blocked direction */
    float way[PHX_CHAIN_MAX_BONES];     /* that is blocked: the end of a hinge's range, 1 for a blocked direction */
    int held[PHX_CHAIN_MAX_BONES];      /* and it counts */
    share_matrix sum = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (uint32_t j = 0; j < c->bones; ++j) {
        const phx_vec3 r = sub3(tip, c->at[j]);
        if (is_hinge(c, j)) {
            axis[j] = hinge_axis(c, j), way[j] = hinge_end(c, j);
            held[j] = 0.0f < dot3(axis[j], cross3(r, miss)) * way[j];
            if (!held[j]) add_outer(&sum, cross3(axis[j], r), weights[j]);
            continue;
        }
        const phx_vec3 k = scale3(r, weights[j]);
        const float x2 = k.x * r.x, y2 = k.y * r.y, z2 = k.z * r.z;
        sum.xx = sum.xx + (y2 + z2), sum.yy = sum.yy + (x2 + z2), sum.zz = sum.zz + (x2 + y2);
        sum.xy = sum.xy - k.x * r.y, sum.xz = sum.xz - k.x * r.z, sum.yz = sum.yz - k.y * r.z;
        axis[j] = c->blocked[j], way[j] = 1.0f, held[j] = 0;
        if (!c->limited) continue;
        held[j] = 0.0f < dot3(axis[j], cross3(r, miss));
        if (held[j]) add_outer(&sum, cross3(axis[j], r), -weights[j]);
    }
    const float length_squared = c->length * c->length;
    const float damping = length_squared * 1e-5f + min1(dot3(miss, miss), length_squared) * 0.2f;
    share_matrix inverse = inverse_share(&sum, damping);
    phx_vec3 y = times_share(&inverse, miss);
    if (c->limited) {
        int more = 0;
        for (uint32_t j = 0; j < c->bones; ++j) {
            const phx_vec3 motion = cross3(axis[j], sub3(tip, c->at[j]));
            if (held[j] || !(0.0f < dot3(motion, y) * way[j])) continue;
            held[j] = 1, more = 1;
            add_outer(&sum, motion, -weights[j]);
        }
        if (more) inverse = inverse_share(&sum, damping), y = times_share(&inverse, miss);
    }
    if (c->length * c->tolerance * 0.25f < dot3(miss, miss)) {
        phx_vec3 all = zero, second = zero; /* turns of the joints before, and where the tip comes to lie beyond the sum */
        for (uint32_t j = 0; j < c->bones; ++j) {
            const phx_vec3 r = sub3(tip, c->at[j]), turn = share_turn(c, j, r, y, axis[j], held[j], weights[j]);
            second = add3(second, cross3(add3(all, scale3(turn, 0.5f)), cross3(turn, r)));
            all = add3(all, turn);
        }
        if (dot3(second, second) < dot3(miss, miss) * 0.0625f) y = sub3(y, times_share(&inverse, second));
    }
    for (uint32_t j = 0; j < c->bones; ++j) {
        phx_vec3 half = share_turn(c, j, sub3(tip, c->at[j]), y, axis[j], held[j], weights[j] * 0.5f);
        const float squared = dot3(half, half);
        if (0.25f < squared) half = scale3(half, 0.5f / sqrtf(squared));
        c->turn[j] = allowed_turn(c, j, normalize4(quat(half.x, half.y, half.z, 1.0f)));
    }
}

/* Plain CCD: from the tip to the root, in sweep order. */
static void plain_step(ccd_chain *c) {
    const phx_ccd_setup *setup = c->setup;
    phx_vec3 tip = c->at[c->bones];
    c->hint_known = 0;
    for (uint32_t j = c->bones; j-- > 0;) {
        const phx_vec3 at = c->at[j], b = sub3(tip, at), a = sub3(c->goal, at);
        const float aa = dot3(a, a), bb = dot3(b, b), ab = dot3(a, b);
        phx_quat turn = quat_identity();
        if (is_hinge(c, j)) turn = hinge_aim(hinge_axis(c, j), b, a);
        else if (1e-12f < aa && 1e-12f < bb) {
            const float a_length = sqrtf(aa), m = a_length * sqrtf(bb);
            phx_vec3 spare = zero;
            if (ab < m * -0.999f) spare = bend_axis(c, scale3(a, 1.0f / a_length));
            turn = aim_turn(b, a, a_length, spare);
        }
        const float weight = setup->weight[setup->from + j] * setup->damping;
        if (weight < 1.0f) turn = fraction4(turn, weight);
        turn = allowed_turn(c, j, turn);
        c->turn[j] = turn;
        tip = add3(at, rotate3(turn, b));
    }
}

/* Applies the turns of a sweep from the root to the tip; fresh: no joint has turned since the animation. */
static void apply_turns(ccd_chain *c, int fresh) {
    phx_quat all = quat_identity();
    phx_vec3 at = zero;
    for (uint32_t j = 0; j < c->bones; ++j) {
        if (c->limited) c->blocked[j] = rotate3(all, c->blocked[j]);
        all = j ? mul4(all, c->turn[j]) : c->turn[0];
        c->frame[j] = settle4(fresh ? all : mul4(all, c->frame[j]));
        at = add3(at, rotate3(c->frame[j], c->bone[j]));
        c->at[j + 1] = at;
    }
}

static void place_joints(ccd_chain *c) {
    phx_vec3 at = zero;
    c->at[0] = zero;
    for (uint32_t j = 0; j < c->bones; ++j) {
        at = add3(at, rotate3(c->frame[j], c->bone[j]));
        c->at[j + 1] = at;
    }
}

/* fraction of a positive number */
static float fraction1(float a) { return a - (float)(int32_t)a; }

/* The seed-th pose of a limit's own range, as a local rotation: by the two-dimensional sequence of Roberts (2018), no angle nearer
 * to an end than 15 % of the range. */
static phx_quat seed_rotation(const phx_limit_setup *limit, uint32_t j, float seed) {
    const float odd = (float)(j & 1u) * 0.25f;
    const float number = fraction1((seed * 0.7548777f + ((float)j * seed) * 0.5698403f) + odd);
    if (limit->type == PHX_LIMIT_HINGE) {
        const float x = number * 1.4f - 0.7f, size = fabsf(x);
        const float c = (1.0f - size) + size * limit->range_cos, s = x * limit->range_sin;
        const float inverse = 1.0f / sqrtf(c * c + s * s);
        const float w = (c * limit->middle_cos - s * limit->middle_sin) * inverse;
        const float p = (s * limit->middle_cos + c * limit->middle_sin) * inverse;
        return mul4(limit->rest, quat(limit->axis.x * p, limit->axis.y * p, limit->axis.z * p, w));
    }
    const float across = fraction1(number + 0.25f);
    const float a = (1.0f - fabsf(number - 0.5f) * 4.0f) * (limit->tan_side * 0.3f);
    const float b = (1.0f - fabsf(across - 0.5f) * 4.0f) * (limit->tan_across * 0.3f);
    const float squared = a * a + b * b, scale = 1.0f / (1.0f + squared), twice = scale + scale;
    const phx_vec3 v = add3(scale3(limit->side, a * twice), scale3(limit->across, b * twice));
    float w = 1.0f, p = 0.0f;
    if (!limit->twist_free && limit->middle_cos < limit->range_cos) { /* no twist is not allowed: the middle of the range */
        w = limit->middle_cos, p = limit->middle_sin;
    }
    const phx_quat swing = quat(v.x, v.y, v.z, (1.0f - squared) * scale);
    const phx_quat twist = quat(limit->axis.x * p, limit->axis.y * p, limit->axis.z * p, w);
    return mul4(limit->rest, mul4(swing, twist));
}

/* How far the tip is from the goal in the seed-th pose within the limits; takes that pose where `keep`. Joints without a limit stay. */
static float seed_pose(ccd_chain *c, float seed, int keep) {
    phx_quat old_parent = c->parent, frame = c->parent;
    phx_vec3 at = zero;
    for (uint32_t j = 0; j < c->bones; ++j) {
        const phx_limit_setup *limit = &c->setup->chain.limits[c->setup->from + j];
        const phx_quat old = c->frame[j];
        const phx_quat local = limit->type == PHX_LIMIT_NONE ? mul4(conjugate4(old_parent), old) : seed_rotation(limit, j, seed);
        frame = normalize4(mul4(frame, local));
        at = add3(at, rotate3(frame, c->bone[j]));
        if (keep) c->frame[j] = frame, c->at[j + 1] = at, c->blocked[j] = zero;
        old_parent = old;
    }
    return length3(sub3(c->goal, at));
}

/* Starts again from the nearest of four poses within the limits; the distance from there. */
static float restart(ccd_chain *c, uint32_t number) {
    float nearest = FLT_MAX, chosen = 1.0f;
    for (uint32_t k = 1; k <= 4; ++k) {
        const float seed = (float)(number * 4u + k), distance = seed_pose(c, seed, 0);
        if (distance < nearest) nearest = distance, chosen = seed;
    }
    return seed_pose(c, chosen, 1);
}

/* Turns the chain about the line from root to tip until its bend points along the pole, as far as the root may; was there a turn? */
static int follow_pole(ccd_chain *c) {
    const phx_vec3 chord = c->at[c->bones];
    const float chord_length = length3(chord);
    if (!(1e-4f < chord_length)) return 0;
    const phx_vec3 axis = scale3(chord, 1.0f / chord_length);
    const phx_vec3 bend = pose_bend(c), pole = reject3(c->pole, axis);
    const float bend_squared = dot3(bend, bend), pole_squared = dot3(pole, pole);
    if (!(0.0f < bend_squared && dot3(c->pole, c->pole) * c->setup->chain.direction_tolerance_squared < pole_squared)) return 0;
    phx_quat turn = turn4(axis, dot3(bend, pole), dot3(axis, cross3(bend, pole)), sqrtf(bend_squared) * sqrtf(pole_squared));
    const float weight = c->setup->weight[c->setup->from];
    if (weight < 1.0f) turn = fraction4(turn, weight);
    turn = allowed_turn(c, 0, turn);
    for (uint32_t j = 0; j < c->bones; ++j) c->frame[j] = settle4(mul4(turn, c->frame[j]));
    place_joints(c);
    return 1;
}

/* A joint before a hinge also turns about its own bone, u (unit), which ends at `end`, so that the hinge bends the next bone toward
 * where it should go: by its range where that goes one way, else by the bend it has. */
static phx_quat face_hinge(const ccd_chain *c, uint32_t j, phx_quat old, phx_quat frame, phx_vec3 bone, phx_vec3 u, phx_vec3 end,
                           phx_vec3 wanted, int *changed) {
    const phx_ccd_setup *setup = c->setup;
    const phx_vec3 next = c->bone[j + 1], e = reject3(sub3(wanted, end), u);
    const float side = setup->hinge_side[setup->from + j + 1];
    phx_vec3 bend = scale3(cross3(setup->hinge_axis[setup->from + j + 1], bone), side);
    if (side == 0.0f) bend = rotate3(mul4(conjugate4(old), c->frame[j + 1]), next);
    const phx_vec3 b = reject3(rotate3(frame, bend), u);
    const float bb = dot3(b, b), ee = dot3(e, e);
    if (!(dot3(next, next) * 2.5e-3f < ee && 1e-8f < bb)) return frame;
    const phx_quat parent = parent_frame(c, j), faced = mul4(turn4(u, dot3(b, e), dot3(u, cross3(b, e)), sqrtf(bb * ee)), frame);
    int clamped;
    const phx_quat local = phx_reference_limit_local(&setup->chain.limits[setup->from + j], mul4(conjugate4(parent), faced), &clamped);
    *changed |= clamped;
    return normalize4(mul4(parent, local));
}

/* One round of FABRIK: back from the aim to the first bone's end without limits, for there no joint's parent is known yet; forth from the
 * root, each joint turning its bone toward the next one's place as far as its limit allows. */
static void fabrik_round(ccd_chain *c, phx_vec3 aim) {
    phx_vec3 place[PHX_CHAIN_MAX_JOINTS];
    place[c->bones] = aim;
    for (uint32_t i = c->bones - 1; i > 0; --i) {
        const phx_vec3 d = sub3(c->at[i], place[i + 1]);
        place[i] = add3(place[i + 1], scale3(d, length3(c->bone[i]) / max1(length3(d), 1e-8f)));
    }
    phx_quat old_parent = c->parent;
    phx_vec3 at = zero;
    for (uint32_t j = 0; j < c->bones; ++j) {
        const phx_limit_setup *limit = &c->setup->chain.limits[c->setup->from + j];
        const phx_quat parent = parent_frame(c, j), old = c->frame[j];
        const phx_vec3 to = sub3(place[j + 1], at);
        const float to_length = length3(to), bone_length = length3(c->bone[j]);
        phx_quat local = mul4(conjugate4(old_parent), old), frame;
        int changed = 0;
        if (1e-8f < to_length && 1e-8f < bone_length) {
            const phx_vec3 bone = scale3(c->bone[j], 1.0f / bone_length);
            local = phx_reference_limit_toward(limit, local, bone, rotate3(conjugate4(parent), scale3(to, 1.0f / to_length)), &changed);
            frame = normalize4(mul4(parent, local));
            if (j + 1 < c->bones && is_hinge(c, j + 1) && !is_hinge(c, j)) {
                const phx_vec3 u = rotate3(frame, bone);
                frame = face_hinge(c, j, old, frame, bone, u, add3(at, scale3(u, bone_length)), place[j + 2], &changed);
            }
        } else frame = normalize4(mul4(parent, local));
        c->hit |= changed;
        c->frame[j] = frame, c->blocked[j] = zero;
        at = add3(at, rotate3(frame, c->bone[j]));
        c->at[j + 1] = at;
        old_parent = old;
    }
}

/* FABRIK's rounds before the sweeps, aimed beyond the goal as in fabrik.c; they end early where one leaves more than half of the error. */
static uint32_t fabrik_rounds(ccd_chain *c, uint32_t budget, float unreachable, float *residual, float *best, int *arrived) {
    phx_vec3 error = sub3(c->at[c->bones], c->goal);
    float alpha = 0.0f, squared = dot3(error, error);
    uint32_t used = 0;
    while (used < c->setup->rounds && used < budget) {
        fabrik_round(c, sub3(c->goal, scale3(error, alpha)));
        const phx_vec3 now = sub3(c->at[c->bones], c->goal);
        const float kept = dot3(now, error), lost = squared - kept, before = *residual;
        alpha = lost <= squared * 1e-3f ? 8.0f : min1(max1((kept + alpha * squared) / lost, 0.0f), 8.0f);
        error = now, squared = dot3(now, now);
        *residual = sqrtf(squared);
        used = used + 1;
        if (*residual < *best) {
            *best = *residual;
            memcpy(c->best, c->frame, c->bones * sizeof *c->best);
        }
        *arrived = *residual <= unreachable + c->tolerance;
        if (*arrived || before * 0.5f < *residual) break;
    }
    return used;
}

static uint32_t sweeps(ccd_chain *c, uint32_t budget, int fresh, int may_restart, float unreachable) {
    const int plain = c->setup->mode == PHX_CCD_PLAIN;
    float residual = length3(sub3(c->goal, c->at[c->bones])), best = residual;
    float before = FLT_MAX, before_that = FLT_MAX; /* residuals of the last two sweeps */
    uint32_t since = 0, restarts = 0, used = 0;
    int arrived = 0;
    memcpy(c->best, c->frame, c->bones * sizeof *c->best);
    const int near = residual < c->length * c->setup->near && c->goal_distance < c->length * c->setup->near_reach;
    if (c->setup->rounds && c->tolerance < residual && is_distant(c, residual) && unreachable <= 0.0f &&
        c->goal_distance < c->length * 0.999999f)
        used = fabrik_rounds(c, budget, unreachable, &residual, &best, &arrived);
    uint32_t phase = near || residual < c->length * 0.025f;
    while (!arrived && c->tolerance < residual && used < budget) {
        if (plain) plain_step(c);
        else if (phase == 0) distance_step(c);
        else share_step(c);
        apply_turns(c, fresh), fresh = 0;
        used = used + 1, since = since + 1, phase = phase + 1;
        if (phase == 3 && c->setup->root_free) phase = 0;
        before_that = before, before = residual;
        residual = length3(sub3(c->goal, c->at[c->bones]));
        if (residual < best) {
            best = residual;
            memcpy(c->best, c->frame, c->bones * sizeof *c->best);
        }
        if (residual <= unreachable + c->tolerance) break;
        if (plain || since < 3 || used >= budget) continue;
        if (before_that * 0.6f < residual && may_restart && restarts < c->setup->restarts) {
            residual = restart(c, restarts);
            restarts = restarts + 1, since = 0, phase = 1, before = FLT_MAX;
        } else if (before_that * 0.99f < residual) {
            break;
        }
    }
    if (best < residual) {
        memcpy(c->frame, c->best, c->bones * sizeof *c->best);
        place_joints(c);
    }
    return used;
}

/* The pose to start from, as rotations, within the limits. */
static void take_start(ccd_chain *c, const phx_reference_chain *in) {
    const uint32_t from = c->setup->from;
    phx_quat old_parent = c->parent;
    int moved = 0;
    for (uint32_t j = 0; j < c->bones; ++j) {
        phx_quat frame = quat_identity();
        const phx_vec3 bone = c->bone[j];
        if (in->has_start) {
            const phx_vec3 wanted = sub3(in->start[from + j + 1], in->start[from + j]);
            const float a = length3(bone), b = length3(wanted);
            if (1e-12f < a && 1e-12f < b) {
                const phx_vec3 to = scale3(wanted, 1.0f / b);
                frame = between4(scale3(bone, 1.0f / a), to, 1.0f, reject3(spare_direction(to), to));
            }
        }
        if (c->limited) {
            const phx_quat animated = normalize4(in->rotation[from + j]);
            c->animated[j] = bone;
            c->bone[j] = rotate3(conjugate4(animated), bone);
            frame = mul4(frame, animated);
            int changed;
            const phx_quat local = mul4(conjugate4(old_parent), frame);
            const phx_quat limited = phx_reference_limit_local(&c->setup->chain.limits[from + j], local, &changed);
            old_parent = frame;
            moved |= changed;
            if (moved) frame = normalize4(mul4(parent_frame(c, j), limited));
        }
        c->frame[j] = frame;
        c->blocked[j] = zero;
    }
    c->hit = moved;
    if (in->has_start || c->limited) {
        place_joints(c);
        return;
    }
    c->at[0] = zero;
    for (uint32_t j = 0; j < c->bones; ++j) c->at[j + 1] = add3(c->at[j], c->bone[j]);
}

static void leave_as_animated(phx_reference_chain *chain, uint32_t flags) {
    for (uint32_t j = 0; j < chain->joints; ++j) chain->correction[j] = quat_identity();
    chain->stretch = 1.0f;
    chain->residual = min1(length3(sub3(chain->target, chain->position[chain->joints - 1])), FLT_MAX);
    chain->iterations = 0;
    chain->flags = flags;
}

static void solve_chain(const void *call, phx_reference_chain *chain) {
    const phx_ccd_setup *setup = call;
    const uint32_t joints = chain->joints, from = setup->from, bones = joints - 1 - from;
    const phx_vec3 root = chain->position[from];
    ccd_chain c;
    c.setup = setup, c.bones = bones, c.limited = setup->chain.limited != 0;

    /* what the chain is made of, and whether it is sound */
    const phx_vec3 delta = sub3(chain->target, root);
    const float target_distance = length3(delta);
    const phx_vec3 aim = 1e-18f < target_distance ? scale3(delta, 1.0f / target_distance) : vec3(1.0f, 0.0f, 0.0f);
    int sound = chain->weight == chain->weight, no_length = 0;
    float total = 0.0f, longest = 0.0f, length[PHX_CHAIN_MAX_BONES];
    for (uint32_t j = 0; j < bones; ++j) {
        phx_vec3 bone = sub3(chain->position[from + j + 1], chain->position[from + j]);
        float bone_length = length3(bone);
        const float wanted = chain->has_length ? chain->length[from + j] : settled_length(bone_length);
        sound &= 0.0f <= wanted && bone_length < 1e18f; /* with lengths given, only the second sees joints that are not finite */
        if (!(bone_length <= 1e-18f)) {
            bone = scale3(bone, wanted / bone_length), bone_length = wanted;
        } else if (chain->has_length && 1e-18f < wanted) { /* its joints coincide: along the bone before it, else toward the target */
            const int leads = j && 1e-18f < length[j - 1];
            bone = leads ? scale3(c.bone[j - 1], wanted / length[j - 1]) : scale3(aim, wanted);
            bone_length = wanted;
        } else {
            bone = zero, bone_length = 0.0f;
        }
        c.bone[j] = bone, length[j] = bone_length;
        total = total + bone_length;
        longest = max1(bone_length, longest);
    }
    float still = 0.0f; /* length of the bones that do not turn: they are looked at all the same, and tolerances are shares of all bones */
    for (uint32_t j = 0; j < from; ++j) {
        const float bone_length = length3(sub3(chain->position[j + 1], chain->position[j]));
        sound &= bone_length < 1e9f;
        if (chain->has_length) sound &= 0.0f <= chain->length[j] && chain->length[j] < 1e9f;
        still = still + (chain->has_length ? chain->length[j] : settled_length(bone_length));
    }
    sound &= 1e-9f < total && total < 1e9f && target_distance < 1e9f;
    if (chain->has_start)
        for (uint32_t j = 0; j < joints; ++j) sound &= dot3(chain->start[j], chain->start[j]) < 1e30f;
    if (chain->has_rotation) {
        for (uint32_t j = 0; j < joints; ++j) sound &= is_rotation(chain->rotation[j]);
        sound &= is_rotation(chain->parent_rotation);
    }
    if (!sound) {
        leave_as_animated(chain, PHX_FLAG_BAD_INPUT | (total <= 1e-9f ? PHX_FLAG_ZERO_LENGTH : 0u));
        return;
    }

    /* into units of a power of two near the chain's length; then reach, stretch, shares */
    const float metre = power_of_two_of(total), unit = 1.0f / metre;
    const float full = total * unit, distance = target_distance * unit;
    c.aim = scale3(delta, 1.0f / max1(target_distance, 1e-30f));
    float goal_distance = distance, stretch = 1.0f;
    c.goal = scale3(delta, unit);
    const float farthest = full * 1e4f; /* the same direction, but nothing that overflows */
    if (farthest < distance) goal_distance = farthest, c.goal = scale3(c.aim, farthest);
    uint32_t flags = 0;
    if (setup->chain.soft) {
        const float start = full * setup->chain.soft_start, room = full - start;
        if (start < distance) {
            goal_distance = full - room * eased_share1(start - distance, room);
            flags |= PHX_FLAG_SOFTENED;
        }
    }
    if (setup->chain.stretch) {
        const float reach = min1(goal_distance, full);
        if (reach < distance) stretch = min1(max1(distance / max1(reach, 1e-30f), 1.0f), setup->chain.max_stretch);
        goal_distance = reach * stretch;
        if (1.0f < stretch) flags |= PHX_FLAG_STRETCHED;
    }
    if (setup->chain.soft || setup->chain.stretch) c.goal = scale3(c.aim, goal_distance);
    c.goal_distance = goal_distance;
    c.length = full * stretch;
    c.tolerance = (full + still * unit) * setup->chain.tolerance;
    const float scale = unit * stretch, least = total * 1e-7f;
    float before = 0.0f, sum = 0.0f;
    for (uint32_t j = 0; j < bones; ++j) {
        const float lever = (before * unit) * (full - before * unit);
        const float part = j ? (lever * lever) * setup->weight[from + j] : 0.0f;
        sum = sum + part;
        c.share[j] = part / max1(sum, 1e-30f);
        before = before + length[j];
        c.bone[j] = scale3(c.bone[j], scale);
        no_length |= length[j] <= least;
    }
    if (no_length) flags |= PHX_FLAG_ZERO_LENGTH;
    c.parent = chain->parent_rotation;
    if (c.limited) c.parent = normalize4(from ? chain->rotation[from - 1] : chain->parent_rotation);
    c.previous = chain->bend, c.rest_bend = chain->rest_bend;
    if (!take_pole(chain->pole, &c.pole)) flags |= PHX_FLAG_HINT_UNUSABLE;

    /* solve */
    take_start(&c, chain);
    int turned = setup->root_free ? 0 : follow_pole(&c);
    const float nearest = (longest + longest) * unit * stretch - c.length;
    const float unreachable = max1(max1(goal_distance - c.length, nearest - goal_distance), 0.0f);
    const uint32_t budget = chain->budget < setup->chain.max_iterations ? chain->budget : setup->chain.max_iterations;
    const int fresh = !c.limited && !chain->has_start && (setup->root_free || !chain->has_pole);
    const int may_restart = c.limited && !chain->has_start && setup->mode == PHX_CCD_SHARE;
    const uint32_t used = sweeps(&c, budget, fresh, may_restart, unreachable);
    if (setup->stats) setup->stats->busy += used, setup->stats->total += used;
    if (setup->root_free) turned = follow_pole(&c);
    if (c.hit) flags |= PHX_FLAG_LIMIT;

    /* bend direction, and whether the pole was of use */
    const phx_vec3 chord = c.at[bones];
    const float chord_length = length3(chord);
    const phx_vec3 axis = chord_length <= 1e-6f ? c.aim : scale3(chord, 1.0f / max1(chord_length, 1e-6f));
    const float tolerance_squared = setup->chain.direction_tolerance_squared;
    phx_vec3 bend = reject3(spare_direction(axis), axis), unused;
    const phx_vec3 hints[4] = {pose_bend(&c), c.pole, c.previous, c.rest_bend};
    for (int k = 0; k < 4; ++k)
        if (take_hint(hints[k], axis, tolerance_squared, &bend)) break;
    chain->bend = unit_bend(bend, axis);
    if (!(dot3(c.pole, c.pole) == 0.0f) && !take_hint(c.pole, axis, tolerance_squared, &unused)) flags |= PHX_FLAG_HINT_UNUSABLE;

    /* corrections, the tip's own among them */
    const uint32_t tip = joints - 1;
    const float weight = budget == 0 ? 0.0f : max1(chain->weight, 0.0f); /* 0: as animated */
    const int moved = 0.0f < weight && (used > 0 || turned || c.hit || chain->has_start || chain->has_length || 1.0f < stretch);
    const phx_quat above = c.frame[bones - 1];
    for (uint32_t j = 0; j < bones; ++j) {
        if (c.limited) { /* one turn from the animated bone: twice turned ones would shrink over many frames */
            c.frame[j] = normalize4(mul4(c.frame[j], conjugate4(normalize4(chain->rotation[from + j]))));
            c.bone[j] = c.animated[j];
        }
        chain->correction[from + j] = c.frame[j];
    }
    if (c.limited) place_joints(&c);
    chain->correction[tip] = chain->correction[tip - 1];
    int tip_turns = chain->has_target_rotation && is_rotation(chain->target_rotation);
    if (tip_turns) chain->correction[tip] = normalize4(mul4(chain->target_rotation, conjugate4(chain->rotation[tip])));
    if (c.limited) {
        const phx_quat animated = normalize4(chain->rotation[tip]);
        int changed;
        const phx_quat local = mul4(conjugate4(above), mul4(chain->correction[tip], animated));
        const phx_quat limited = phx_reference_limit_local(&setup->chain.limits[tip], local, &changed);
        if (changed) {
            chain->correction[tip] = normalize4(mul4(mul4(above, limited), conjugate4(animated)));
            flags |= PHX_FLAG_LIMIT, tip_turns = 1;
        }
    }
    for (uint32_t j = 0; j < from; ++j) chain->correction[j] = quat_identity();

    /* weight, in rotation space */
    if (weight < 1.0f) {
        const float grown = (1.0f + (stretch - 1.0f) * weight) / stretch;
        for (uint32_t j = from; j < joints; ++j) chain->correction[j] = fraction4(chain->correction[j], weight);
        for (uint32_t j = 0; j < bones; ++j) {
            c.frame[j] = chain->correction[from + j];
            c.bone[j] = scale3(c.bone[j], grown);
        }
        place_joints(&c);
        stretch = 1.0f + (stretch - 1.0f) * weight;
        if (!(0.0f < weight)) flags = flags_unmoved(flags);
    }
    for (uint32_t j = 0; j < joints; ++j) {
        if (j > from && moved) chain->position[j] = add3(root, scale3(c.at[j - from], metre));
        if (!moved && !(j == tip && tip_turns)) chain->correction[j] = quat_identity();
    }

    /* honesty: the residual as returned, and what stood in the way */
    phx_vec3 end = c.at[bones];
    if (chain->has_length && !moved) end = scale3(sub3(chain->position[tip], root), unit); /* laid out with the given lengths, but left where it was */
    const float residual = length3(sub3(scale3(delta, unit), end));
    if (residual <= c.tolerance) {
        flags |= PHX_FLAG_REACHED;
    } else {
        const float epsilon = full * 0x1p-22f;
        const int far = full - epsilon < distance, close = distance < (longest + longest) * unit - full - epsilon;
        if (far) flags |= PHX_FLAG_OUT_OF_REACH;
        else if (close) flags |= PHX_FLAG_TOO_CLOSE;
        else if (budget == 0 || !(weight < 1.0f)) flags |= PHX_FLAG_STALLED;
    }
    chain->stretch = stretch, chain->residual = residual * metre, chain->iterations = 0.0f < weight ? used : 0, chain->flags = flags;
}

void phx_reference_ccd_blocks(const phx_ccd_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count) {
    phx_reference_chain_blocks(setup, blocks, first, count, solve_chain);
}

void phx_reference_ccd_job(const phx_ccd_setup *setup, const phx_chain_job *job, size_t first, size_t count) {
    phx_reference_chain_job(setup, job, first, count, solve_chain);
}
