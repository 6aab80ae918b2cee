/* Two-bone solver in plain scalar C, one leg at a time: the yardstick for every kernel, and the backend "reference".
 * The lanes' twin is kernel/two_bone.inl; the method is described in phalanx/two_bone.h. */
#include "reference.h"
#include "scalar.h"
#include "memory.h"
#include <float.h>

/* squared norm of a quaternion that can be normalised without loss; false on NaN */
static int near_unit(float squared) { return 0.25f < squared && squared < 4.0f; }

static phx_vec3 fallback_hint(const phx_leg_in *in, phx_vec3 axis, phx_vec3 chord, phx_vec3 pose_normal, int pose_usable,
                              float tolerance_squared) {
    phx_vec3 chosen;
    if (take_hint(in->previous, axis, tolerance_squared, &chosen)) return chosen;
    if (pose_usable && take_hint(cross3(pose_normal, chord), axis, tolerance_squared, &chosen)) return chosen;
    if (take_hint(in->rest_bend, axis, tolerance_squared, &chosen)) return chosen;
    return reject3(spare_direction(axis), axis);
}

static phx_leg_out as_animated(const phx_leg_in *in, float length) {
    phx_leg_out out;
    const phx_vec3 chord = add3(in->thigh, in->shin);
    out.root_rotation = out.mid_rotation = out.tip_rotation = quat_identity();
    out.bend = dot3(in->previous, in->previous) < 3e38f ? in->previous : vec3(0.0f, 0.0f, 0.0f); /* a bend that is no number is forgotten */
    out.upper = in->thigh, out.lower = in->shin;
    out.residual = min1(length3(sub3(in->delta, chord)), FLT_MAX);
    out.stretch = 1.0f;
    out.flags = length <= 1e-9f ? PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH : PHX_FLAG_BAD_INPUT;
    out.ok = out.moved = 0;
    return out;
}

phx_leg_out phx_reference_leg(const phx_two_bone_setup *setup, const phx_leg_in *in) {
    const float tolerance_squared = setup->direction_tolerance_squared;
    phx_leg_out out;
    uint32_t flags = 0;

    /* lengths */
    const float upper_length = length3(in->thigh), lower_length = length3(in->shin);
    const float length = upper_length + lower_length;
    const float epsilon = length * 0x1p-22f;
    const float target_distance = length3(in->delta);
    const float to_squared = dot4(in->tip_to, in->tip_to);
    const int turn_tip = to_squared != 0.0f;
    const int usable = 1e-9f < length && length < 1e9f && target_distance < 1e9f && in->weight == in->weight &&
                       in->pole_weight == in->pole_weight && near_unit(in->pose_norm) &&
                       (!turn_tip || (near_unit(to_squared) && near_unit(dot4(in->tip_from, in->tip_from))));
    if (!usable) return as_animated(in, length);
    const float inverse_product = 1.0f / max1(upper_length * lower_length, 1e-30f);
    const phx_vec3 thigh = scale3(in->thigh, lower_length * inverse_product), shin = scale3(in->shin, upper_length * inverse_product);
    const phx_vec3 chord = add3(in->thigh, in->shin);

    /* axis from root to target */
    phx_vec3 axis;
    if (target_distance <= epsilon) {
        const float chord_length = length3(chord);
        axis = epsilon < chord_length ? scale3(chord, 1.0f / chord_length) : vec3(1.0f, 0.0f, 0.0f);
    } else {
        axis = scale3(in->delta, 1.0f / max1(target_distance, 1e-30f));
    }

    /* distance: soft reach, stretch, knee limits, then what a triangle allows */
    float nearest = fabsf(upper_length - lower_length) + epsilon, farthest = length - epsilon;
    float distance = target_distance, stretch = 1.0f;
    if (setup->soft) {
        const float start = length * setup->soft_start, room = length - start;
        if (start < distance) {
            distance = length - room * eased_share1(start - distance, room);
            flags |= PHX_FLAG_SOFTENED;
        }
    }
    if (setup->limits) {
        const float gap = upper_length - lower_length, product = upper_length * lower_length;
        const float low = sqrtf(gap * gap + product * setup->open_at_max_bend);
        const float high = sqrtf(max1(length * length - product * setup->short_at_min_bend, 0.0f));
        if ((distance < low && nearest < low) || (high < distance && high < farthest)) flags |= PHX_FLAG_LIMIT;
        /* `high` of a knee that may only fold is rounded, and must still be a triangle's */
        farthest = max1(min1(farthest, high), nearest), nearest = max1(nearest, low);
    }
    distance = min1(max1(distance, nearest), farthest);
    if (setup->stretch && distance < target_distance) {
        stretch = min1(max1(target_distance / max1(distance, 1e-30f), 1.0f), setup->max_stretch);
        if (1.0f < stretch) flags |= PHX_FLAG_STRETCHED;
    }

    /* law of cosines: the elbow's coordinates along axis and bend, in units of each bone; solved for the shorter bone, since the
     * longer bone's sine would lose a bone a thousand times shorter */
    const int upper_shorter = upper_length < lower_length;
    const float shorter = upper_shorter ? upper_length : lower_length, longer = upper_shorter ? lower_length : upper_length;
    const float short_scale = longer * inverse_product, long_scale = shorter * inverse_product;
    const float difference = (shorter - longer) * length;
    float along = (distance * distance + difference) / max1(distance + distance, 1e-30f);
    along = min1(max1(along, -shorter), shorter);
    const float short_cos = along * short_scale;
    const float short_sin = sqrtf(max1((1.0f - short_cos) * (1.0f + short_cos), 0.0f));
    const float long_cos = (distance - along) * long_scale;
    const float long_sin = short_sin * shorter * long_scale;
    const float upper_cos = upper_shorter ? short_cos : long_cos, upper_sin = upper_shorter ? short_sin : long_sin;
    const float lower_cos = upper_shorter ? long_cos : short_cos, lower_sin = upper_shorter ? long_sin : short_sin;

    /* bend direction: pole, or the next usable hint */
    const phx_vec3 pose_normal = cross3(shin, thigh);
    const float pose_sine_squared = dot3(pose_normal, pose_normal);
    const int pose_usable = tolerance_squared < pose_sine_squared;
    phx_vec3 bend;
    const int pole_usable = take_hint(in->pole, axis, tolerance_squared, &bend);
    if (!pole_usable) {
        bend = fallback_hint(in, axis, chord, pose_normal, pose_usable, tolerance_squared);
        if (dot3(in->pole, in->pole) != 0.0f) flags |= PHX_FLAG_HINT_UNUSABLE;
    }
    bend = unit_bend(bend, axis);
    if (pole_usable && in->pole_weight < 1.0f) {
        const phx_vec3 other = unit_bend(fallback_hint(in, axis, chord, pose_normal, pose_usable, tolerance_squared), axis);
        const phx_vec3 mixed = add3(other, scale3(sub3(bend, other), max1(in->pole_weight, 0.0f)));
        if (1e-6f < dot3(mixed, mixed)) bend = unit_bend(mixed, axis);
    }
    phx_vec3 held;
    if (setup->turn_limit && take_hint(in->previous, axis, tolerance_squared, &held)) {
        held = unit_bend(held, axis);
        if (dot3(bend, held) < setup->cos_turn) {
            const phx_vec3 side = cross3(axis, held);
            const float sine = copysignf(setup->sin_turn, dot3(bend, side));
            bend = add3(scale3(held, setup->cos_turn), scale3(side, sine));
            flags |= PHX_FLAG_BEND_HELD;
        }
    }

    /* new bone directions, and the rotations that take the animated ones there */
    const phx_vec3 new_thigh = add3(scale3(axis, upper_cos), scale3(bend, upper_sin));
    const phx_vec3 new_shin = sub3(scale3(axis, lower_cos), scale3(bend, lower_sin));
    const phx_vec3 normal = cross3(axis, bend);
    const float least = length * 1e-6f;
    phx_vec3 upper, lower;
    if (upper_length <= least || lower_length <= least) { /* a bone without length follows the other one */
        const phx_quat rotation = between4(scale3(chord, 1.0f / max1(length, 1e-30f)), axis, 1.0f, reject3(spare_direction(axis), axis));
        const phx_vec3 whole = scale3(axis, length);
        out.root_rotation = out.mid_rotation = rotation;
        bend = unit_bend(bend, axis);
        upper = upper_length <= least ? vec3(0.0f, 0.0f, 0.0f) : whole;
        lower = upper_length <= least ? whole : vec3(0.0f, 0.0f, 0.0f);
        flags |= PHX_FLAG_ZERO_LENGTH;
    } else {
        out.root_rotation = between4(thigh, new_thigh, 1.0f, normal);
        if (setup->twist == PHX_TWIST_PLANE) {
            phx_vec3 old_normal;
            if (pose_usable) {
                old_normal = scale3(pose_normal, 1.0f / sqrtf(max1(pose_sine_squared, 1e-30f)));
            } else { /* straight or folded: the hinge that rest bend, or the spare direction, implies */
                phx_vec3 hint = reject3(spare_direction(thigh), thigh);
                take_hint(in->rest_bend, thigh, tolerance_squared, &hint);
                old_normal = cross3(thigh, unit_bend(hint, thigh));
            }
            const phx_vec3 swung = rotate3(out.root_rotation, old_normal);
            const phx_quat twist = turn4(new_thigh, dot3(swung, normal), dot3(cross3(swung, normal), new_thigh), 1.0f);
            out.root_rotation = mul4(twist, out.root_rotation);
            const float old_cos = dot3(thigh, shin), old_sin = dot3(pose_normal, old_normal);
            const float new_cos = upper_cos * lower_cos - upper_sin * lower_sin;
            const float new_sin = lower_cos * upper_sin + lower_sin * upper_cos;
            const float cosine = old_cos * new_cos + old_sin * new_sin, sine = old_sin * new_cos - old_cos * new_sin;
            out.mid_rotation = mul4(turn4(normal, cosine, sine, 1.0f), out.root_rotation);
            if (!pose_usable) /* that hinge is not exactly at right angles to the shin */
                out.mid_rotation = mul4(between4(rotate3(out.mid_rotation, shin), new_shin, 1.0f, normal), out.mid_rotation);
        } else {
            out.mid_rotation = between4(shin, new_shin, 1.0f, normal);
        }
        upper = scale3(new_thigh, upper_length), lower = scale3(new_shin, lower_length);
    }

    /* weight, in rotation space */
    out.tip_rotation = out.mid_rotation;
    if (turn_tip) out.tip_rotation = normalize4(mul4(in->tip_to, conjugate4(in->tip_from)));
    if (in->weight < 1.0f) {
        const float weight = max1(in->weight, 0.0f);
        out.root_rotation = fraction4(out.root_rotation, weight);
        out.mid_rotation = fraction4(out.mid_rotation, weight);
        out.tip_rotation = fraction4(out.tip_rotation, weight);
        upper = rotate3(out.root_rotation, in->thigh);
        lower = rotate3(out.mid_rotation, in->shin);
        stretch = 1.0f + (stretch - 1.0f) * weight;
    }
    upper = scale3(upper, stretch), lower = scale3(lower, stretch);

    /* honesty: the residual as returned, and what stood in the way */
    out.residual = length3(sub3(in->delta, add3(upper, lower)));
    if (out.residual <= length * setup->tolerance) {
        flags |= PHX_FLAG_REACHED;
    } else {
        if (length - epsilon < target_distance) flags |= PHX_FLAG_OUT_OF_REACH;
        if (target_distance < fabsf(upper_length - lower_length) - epsilon) flags |= PHX_FLAG_TOO_CLOSE;
    }
    out.bend = bend, out.upper = upper, out.lower = lower, out.stretch = stretch, out.flags = flags;
    out.ok = 1, out.moved = 0.0f < in->weight;
    if (!out.moved) out.flags = flags_unmoved(flags);
    return out;
}

static phx_leg_in plain_leg(phx_vec3 root, phx_vec3 mid, phx_vec3 tip, phx_vec3 target, phx_vec3 pole, phx_vec3 previous) {
    phx_leg_in in;
    in.thigh = sub3(mid, root), in.shin = sub3(tip, mid), in.delta = sub3(target, root);
    in.pole = pole, in.previous = previous, in.rest_bend = vec3(0.0f, 0.0f, 0.0f);
    in.weight = 1.0f, in.pole_weight = 1.0f;
    in.tip_from = quat_identity(), in.tip_to = quat(0.0f, 0.0f, 0.0f, 0.0f), in.pose_norm = 1.0f;
    return in;
}

/* residual of bad input: where the root is not finite or far away, what is relative to it says nothing */
static float gap_as_given(phx_vec3 tip, phx_vec3 target) { return min1(length3(sub3(target, tip)), FLT_MAX); }

void phx_reference_two_bone_blocks(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        phx_two_bone_block *block = blocks + k;
        phx_two_bone_extra *extra = extras ? extras + k : NULL;
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            const phx_vec3 root = row3(&block->root, lane), mid = row3(&block->mid, lane), tip = row3(&block->tip, lane);
            phx_leg_in in = plain_leg(root, mid, tip, row3(&block->target, lane), row3(&block->pole, lane), row3(&block->bend, lane));
            if (extra) {
                in.rest_bend = row3(&extra->rest_bend, lane);
                in.weight = extra->weight.v[lane], in.pole_weight = extra->pole_weight.v[lane];
                in.tip_from = row4(&extra->tip_from, lane), in.tip_to = row4(&extra->tip_to, lane);
            }
            phx_leg_out out = phx_reference_leg(setup, &in);
            if (!out.ok) out.residual = gap_as_given(tip, row3(&block->target, lane));
            set_row4(&block->root_rotation, lane, out.root_rotation);
            set_row4(&block->mid_rotation, lane, out.mid_rotation);
            set_row3(&block->bend, lane, out.bend);
            block->residual.v[lane] = out.residual;
            block->flags.v[lane] = out.flags;
            if (extra) {
                const phx_vec3 elbow = add3(root, out.upper);
                set_row4(&extra->tip_rotation, lane, out.tip_rotation);
                set_row3(&extra->mid_position, lane, out.moved ? elbow : mid);
                set_row3(&extra->tip_position, lane, out.moved ? add3(elbow, out.lower) : tip);
                extra->stretch.v[lane] = out.stretch;
            }
        }
    }
}

void phx_reference_two_bone_job(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count) {
    const phx_vec3 none = vec3(0.0f, 0.0f, 0.0f);
    const phx_quat identity = quat_identity();
    for (size_t i = first; i < first + count; ++i) {
        const phx_vec3 root = read3(job->root, i, none), mid = read3(job->mid, i, none), tip = read3(job->tip, i, none);
        phx_leg_in in = plain_leg(root, mid, tip, read3(job->target, i, none), read3(job->pole, i, none), read3(job->bend, i, none));
        in.rest_bend = read3(job->rest_bend, i, none);
        in.weight = read1(job->weight, i, 1.0f), in.pole_weight = read1(job->pole_weight, i, 1.0f);
        const phx_quat parent = read4(job->parent_rotation, i, identity), root_local = read4(job->root_local, i, identity);
        const phx_quat mid_local = read4(job->mid_local, i, identity), tip_local = read4(job->tip_local, i, identity);
        const int locals = job->root_local.data || job->mid_local.data || job->tip_local.data;
        phx_quat root_world = identity, mid_world = identity, tip_world = identity;
        if (locals) {
            root_world = mul4(parent, root_local), mid_world = mul4(root_world, mid_local), tip_world = mul4(mid_world, tip_local);
            in.pose_norm = dot4(tip_world, tip_world);
        }
        if (job->target_rotation.data) in.tip_from = tip_world, in.tip_to = read4(job->target_rotation, i, identity);

        phx_leg_out out = phx_reference_leg(setup, &in);
        if (!out.ok) out.residual = gap_as_given(tip, read3(job->target, i, none));

        const phx_vec3 elbow = add3(root, out.upper);
        const phx_result result = {out.residual, out.moved ? 1u : 0u, out.flags};
        write3(job->bend, i, out.bend);
        write4(job->root_rotation, i, out.root_rotation);
        write4(job->mid_rotation, i, out.mid_rotation);
        write4(job->tip_rotation, i, out.tip_rotation);
        write3(job->mid_position, i, out.moved ? elbow : mid);
        write3(job->tip_position, i, out.moved ? add3(elbow, out.lower) : tip);
        write1(job->stretch, i, out.stretch);
        write_out(job->result, i, &result, sizeof result);
        if (!locals) continue;
        const phx_quat root_new = mul4(out.root_rotation, root_world), mid_new = mul4(out.mid_rotation, mid_world);
        const phx_quat tip_new = mul4(out.tip_rotation, tip_world);
        write4(job->root_local_out, i, out.moved ? normalize4(mul4(conjugate4(parent), root_new)) : root_local);
        write4(job->mid_local_out, i, out.moved ? normalize4(mul4(conjugate4(root_new), mid_new)) : mid_local);
        write4(job->tip_local_out, i, out.moved ? normalize4(mul4(conjugate4(mid_new), tip_new)) : tip_local);
    }
}
