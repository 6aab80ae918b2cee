/* Aim in scalar C, one chain at a time: the twin of kernel/aim.inl, in the same order of operations. */
#include "chain.h"
#include "limit.h"
#include "reference.h"

static phx_vec3 unit(phx_vec3 a) { return scale3(a, 1.0f / length3(a)); }

/* `a` less its part along the unit vector n, or a fixed direction where too little remains; unit */
static phx_vec3 across(phx_vec3 a, phx_vec3 n) {
    phx_vec3 rest = reject3(a, n);
    if (!(1e-4f < dot3(rest, rest))) rest = reject3(spare_direction(n), n);
    return unit(rest);
}

/* the last joint's ray: from the eye along the forward axis */
typedef struct sight {
    phx_vec3 eye, forward, up;
} sight;
static sight look(const phx_aim_setup *setup, phx_vec3 at, phx_quat frame) {
    return (sight){add3(at, rotate3(frame, setup->eye)), rotate3(frame, setup->forward), rotate3(frame, setup->up)};
}

/* The turn about `pivot` that brings the ray through the target; *close is 1 where no point of the ray can come there. Further turns about
 * *axis keep the ray there. */
static phx_quat turn_to_target(const sight *s, phx_vec3 pivot, phx_vec3 target, int *close, phx_vec3 *axis) {
    const phx_vec3 offset = sub3(s->eye, pivot), goal = sub3(target, pivot);
    const float squared = dot3(goal, goal), along = dot3(offset, s->forward);
    const float inside = (along * along - dot3(offset, offset)) + squared;
    const float ahead = sqrtf(max1(inside, 0.0f)) - along;
    phx_vec3 from = add3(offset, scale3(s->forward, ahead)), to = goal;
    *close = !(0.0f < inside && 0.0f < ahead);
    if (*close) from = s->forward, to = sub3(target, s->eye);
    const float from_squared = dot3(from, from), to_squared = dot3(to, to);
    *axis = s->forward;
    if (from_squared <= 1e-18f || to_squared <= 1e-18f) {
        *close = 1;
        return quat_identity();
    }
    *axis = to = scale3(to, 1.0f / sqrtf(to_squared));
    return between4(scale3(from, 1.0f / sqrtf(from_squared)), to, 1.0f, across(s->up, to));
}

/* out of the cone about `start`? By chords: the cosines of small angles are all 1 */
static int is_beyond(const phx_aim_setup *setup, phx_vec3 forward, phx_vec3 start) {
    const phx_vec3 chord = sub3(forward, start);
    return setup->cap_chord_squared < dot3(chord, chord);
}

/* the direction on the edge of the cone about `start` that is nearest to `forward`; opposite to it any */
static phx_vec3 edge_of_cone(const phx_aim_setup *setup, phx_vec3 forward, phx_vec3 start) {
    const phx_vec3 chord = sub3(forward, start);
    phx_vec3 side = reject3(chord, start);
    if (!(dot3(chord, chord) * 2.5e-5f < dot3(side, side))) side = reject3(spare_direction(start), start);
    side = unit(side);
    return add3(scale3(start, setup->cap_cos), scale3(side, setup->cap_sin));
}

/* The turn about `axis` that takes `forward`, which another turn about it took out of the cone about `start`, back to the nearer end of
 * the arc within; 0 where it is not needed. On the arc forward . start = (forward . axis) (start . axis) + room cos(angle), by the angle
 * between the two as seen along the axis; where there is no room no turn changes it. */
static int roll_back(const phx_aim_setup *setup, phx_vec3 forward, phx_vec3 start, phx_vec3 axis, phx_quat *back) {
    const phx_vec3 now = reject3(forward, axis), middle = reject3(start, axis);
    const float room = sqrtf(dot3(now, now) * dot3(middle, middle));
    const float least = setup->cap_cos - dot3(forward, axis) * dot3(start, axis);
    if (!(dot3(now, middle) < least && 1e-6f < room)) return 0;
    const float cosine = max1(min1(least / max1(room, 1e-6f), 1.0f), -1.0f), sine = sqrtf((1.0f - cosine) * (1.0f + cosine));
    const phx_vec3 ahead = unit(middle), aside = cross3(axis, ahead), from = unit(now);
    const phx_vec3 to = add3(scale3(ahead, cosine), scale3(aside, copysignf(sine, dot3(aside, now))));
    *back = turn4(axis, dot3(from, to), dot3(cross3(from, to), axis), 1.0f);
    return 1;
}

static void solve(const void *any, phx_reference_chain *chain) {
    const phx_aim_setup *setup = any;
    const uint32_t joints = chain->joints, last = joints - 1;
    const phx_vec3 root = chain->position[0], target = sub3(chain->target, root);
    phx_vec3 at[PHX_CHAIN_MAX_JOINTS];
    phx_quat animated[PHX_CHAIN_MAX_JOINTS], frame[PHX_CHAIN_MAX_JOINTS];
    float spread = dot3(target, target);
    int ok = chain->weight == chain->weight && is_rotation(chain->parent_rotation);
    for (uint32_t j = 0; j < joints; ++j) {
        at[j] = sub3(chain->position[j], root);
        spread = spread + dot3(at[j], at[j]);
        ok &= is_rotation(chain->rotation[j]);
        animated[j] = frame[j] = normalize4(chain->rotation[j]);
        chain->correction[j] = quat_identity();
    }
    ok &= spread < 1e18f;
    chain->stretch = 1.0f;
    if (!ok) {
        chain->residual = min1(length3(sub3(target, at[last])), 3.402823466e+38f);
        chain->iterations = 0;
        chain->flags = PHX_FLAG_BAD_INPUT;
        return;
    }
    const phx_quat parent = normalize4(chain->parent_rotation);
    const phx_vec3 start = rotate3(frame[last], setup->forward);
    phx_vec3 pole;
    const int unusable = !take_pole(chain->pole, &pole);
    const float pole_squared = dot3(pole, pole);
    const int hinted = unusable || 0.0f < pole_squared;
    uint32_t flags = 0;
    int close = 0;
    for (uint32_t j = 0; j < joints; ++j) {
        const sight s = look(setup, at[last], frame[last]);
        phx_vec3 axis;
        phx_quat turn = turn_to_target(&s, at[j], target, &close, &axis);
        phx_vec3 forward = rotate3(turn, s.forward);
        if (setup->capped && is_beyond(setup, forward, start)) {
            axis = forward = edge_of_cone(setup, forward, start);
            turn = between4(s.forward, forward, 1.0f, across(s.up, forward));
            flags |= PHX_FLAG_LIMIT;
        }
        if (hinted) {
            const phx_vec3 up = reject3(rotate3(turn, s.up), axis), across_axis = reject3(pole, axis);
            if (pole_squared * setup->chain.direction_tolerance_squared < dot3(across_axis, across_axis)) {
                const phx_vec3 wanted = unit(across_axis);
                turn = mul4(turn4(axis, dot3(up, wanted), dot3(cross3(up, wanted), axis), length3(up)), turn);
                phx_quat back;
                if (setup->capped && roll_back(setup, rotate3(turn, s.forward), start, axis, &back)) turn = mul4(back, turn), flags |= PHX_FLAG_LIMIT;
            } else if (j == last) {
                flags |= PHX_FLAG_HINT_UNUSABLE;
            }
        }
        if (setup->share[j] < 1.0f) turn = fraction4(turn, setup->share[j]);
        if (setup->capped && setup->share[j] > 0.0f) { /* a share of a turn within the cone may lead out of it */
            forward = rotate3(turn, s.forward);
            if (is_beyond(setup, forward, start)) {
                const phx_vec3 edge = edge_of_cone(setup, forward, start);
                turn = mul4(between4(forward, edge, 1.0f, across(rotate3(turn, s.up), edge)), turn);
                flags |= PHX_FLAG_LIMIT;
            }
        }
        if (setup->chain.limited) {
            int changed;
            const phx_quat above = j ? frame[j - 1] : parent;
            const phx_quat local = normalize4(mul4(conjugate4(above), mul4(turn, frame[j])));
            const phx_quat limited = phx_reference_limit_local(setup->chain.limits + j, local, &changed);
            if (changed) turn = mul4(mul4(above, limited), conjugate4(frame[j])), flags |= PHX_FLAG_LIMIT;
        }
        for (uint32_t k = j; k < joints; ++k) {
            frame[k] = normalize4(mul4(turn, frame[k]));
            if (k > j) at[k] = add3(at[j], rotate3(turn, sub3(at[k], at[j])));
        }
    }
    const int moved = 0.0f < chain->weight;
    if (moved) {
        phx_vec3 joint = vec3(0.0f, 0.0f, 0.0f);
        for (uint32_t j = 0; j < joints; ++j) {
            phx_quat correction = normalize4(mul4(frame[j], conjugate4(animated[j])));
            if (chain->weight < 1.0f) correction = fraction4(correction, chain->weight);
            const phx_vec3 bone = j < last ? sub3(chain->position[j + 1], chain->position[j]) : joint;
            chain->correction[j] = correction;
            frame[j] = mul4(correction, animated[j]);
            at[j] = joint;
            if (j < last) joint = add3(joint, rotate3(correction, bone));
        }
    }
    const sight s = moved ? look(setup, at[last], frame[last]) : look(setup, sub3(chain->position[last], root), animated[last]);
    if (moved)
        for (uint32_t j = 1; j < joints; ++j) chain->position[j] = add3(root, at[j]);
    const phx_vec3 way = sub3(target, s.eye);
    const float ahead = dot3(way, s.forward), distance = length3(way);
    chain->residual = 0.0f < ahead ? length3(reject3(way, s.forward)) : distance;
    chain->iterations = moved ? 1 : 0;
    if (!moved) flags = flags_unmoved(flags);
    const int on_eye = dot3(way, way) <= 1e-18f; /* no direction, and squares that vanish */
    if (chain->residual <= distance * setup->chain.tolerance && !on_eye) flags |= PHX_FLAG_REACHED;
    else flags |= close || on_eye ? PHX_FLAG_TOO_CLOSE : PHX_FLAG_STALLED;
    chain->flags = flags;
}

void phx_reference_aim_job(const phx_aim_setup *setup, const phx_chain_job *job, size_t first, size_t count) {
    phx_reference_chain_job(setup, job, first, count, solve);
}
