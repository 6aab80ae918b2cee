/* FABRIK in scalar C, one chain at a time: the twin of kernel/fabrik.inl, in the same order of operations. */
#include "chain.h"
#include "reference.h"

/* One chain on its way; joint i + 1, relative to the root, is at[i], and bone i has length[i]. */
typedef struct limb {
    uint32_t bones;
    phx_vec3 at[PHX_CHAIN_MAX_BONES];
    float length[PHX_CHAIN_MAX_BONES];
    phx_vec3 delta;         /* from the root to the caller's target */
    phx_vec3 target;        /* from the root to what is solved for: softened, not stretched */
    phx_vec3 axis;          /* unit, from the root to the target */
    phx_vec3 error;         /* tip - target after the last round */
    float whole;            /* sum of the lengths */
    float aimed;            /* |target| */
    float tolerance_squared, tiny_squared;
    float stretch;
    uint32_t budget, rounds;
    uint32_t flags, blame;  /* blame: what to say if the tolerance is not met */
    int moved;              /* joints are no longer the animated ones */
    int active;             /* rounds are needed */
    int closes;             /* the tolerance is wide enough for a last step that turns the chain onto its target */
    int ok;
} limb;

/* how far the joints stand off the axis, all together */
static phx_vec3 sum_of_bends(const limb *limb, phx_vec3 axis) {
    phx_vec3 sum = vec3(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < limb->bones; ++i) sum = add3(sum, reject3(limb->at[i], axis));
    return sum;
}

/* The first usable of pole, previous bend, own bend (given as a sum of deviations from the axis), rest bend, spare direction; unit. */
static phx_vec3 choose_bend(const phx_chain_setup *setup, const phx_reference_chain *chain, const limb *limb, phx_vec3 own) {
    const float tolerance_squared = setup->direction_tolerance_squared;
    const float noise = limb->whole * 1e-5f;
    phx_vec3 chosen;
    if (!take_hint(chain->pole, limb->axis, tolerance_squared, &chosen) && !take_hint(chain->bend, limb->axis, tolerance_squared, &chosen)) {
        if (noise * noise < dot3(own, own)) chosen = own;
        else if (!take_hint(chain->rest_bend, limb->axis, tolerance_squared, &chosen)) chosen = reject3(spare_direction(limb->axis), limb->axis);
    }
    return unit_bend(chosen, limb->axis);
}

/* The joints on a circular arc over the chord to the target, at their shares of the length. Half the arc's angle x solves
 * sin x / x = chord / length; with m = 1 - chord / length, x^2 = 6 m + 1.8 m^2 + 2.07 m^4 (series, fitted at x = pi). */
static void lay_on_arc(limb *limb, phx_vec3 axis, float chord, phx_vec3 bend) {
    const float inverse = 1.0f / limb->whole;
    const float m = max1(1.0f - chord * inverse, 1e-7f);
    const float m_squared = m * m;
    const float x = sqrtf(m * 6.0f + m_squared * 1.8f + m_squared * m_squared * 2.07f);
    const float radius = limb->whole / (x + x);
    float sine_end, cosine_end, along = 0.0f;
    sincos1(x, &sine_end, &cosine_end);
    for (uint32_t i = 0; i < limb->bones; ++i) {
        along = along + limb->length[i];
        const float share = along * inverse;
        float sine, cosine;
        sincos1(x * ((share + share) - 1.0f), &sine, &cosine);
        limb->at[i] = add3(scale3(axis, (sine_end + sine) * radius), scale3(bend, (cosine - cosine_end) * radius));
    }
}

/* The longest bone and all others, these parallel, are the two sides of a triangle over the chord: exact for two bones, and
 * near the dead zone of a longest bone the only shape there is. The bones before the longest bend as `bend` says. */
static void lay_on_triangle(limb *limb, float longest, phx_vec3 bend) {
    const float others = limb->whole - longest, chord = max1(limb->aimed, limb->whole * 1e-6f);
    float along = (longest * longest + chord * chord - others * others) / (chord + chord);
    along = min1(max1(along, -longest), longest);
    const float height = sqrtf(max1((longest - along) * (longest + along), 0.0f));
    const phx_vec3 rise = scale3(bend, limb->length[0] == longest ? height : -height);
    const phx_vec3 long_side = add3(scale3(limb->axis, along), rise);
    const phx_vec3 other_side = scale3(sub3(scale3(limb->axis, chord - along), rise), 1.0f / max1(others, limb->whole * 1e-6f));
    int turned = 0;
    phx_vec3 at = vec3(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i < limb->bones; ++i) {
        const int is_longest = !turned && limb->length[i] == longest;
        turned |= is_longest;
        at = add3(at, is_longest ? long_side : scale3(other_side, limb->length[i]));
        limb->at[i] = at;
    }
}

/* Near full reach the bends are small and only their size is wrong: bone i, with the part w_i across the axis, spends about
 * k^2 w_i^2 / (2 l_i) of the length for bends scaled by k, so k^2 = 2 (whole - aimed) / sum of w_i^2 / l_i. */
static void scale_bends(const phx_chain_setup *setup, const phx_reference_chain *chain, limb *limb) {
    const float inverse = 1.0f / limb->whole;
    const phx_vec3 tip = reject3(limb->at[limb->bones - 1], limb->axis);
    float spent = 0.0f, along = 0.0f;
    phx_vec3 before = vec3(0.0f, 0.0f, 0.0f), own = before;
    for (uint32_t i = 0; i < limb->bones; ++i) {
        along = along + limb->length[i];
        const phx_vec3 deviation = sub3(reject3(limb->at[i], limb->axis), scale3(tip, along * inverse));
        const phx_vec3 across = sub3(deviation, before);
        spent = spent + dot3(across, across) / max1(limb->length[i], limb->whole * 1e-6f);
        own = add3(own, deviation);
        before = deviation;
    }
    if (spent <= limb->whole * 1e-6f) {
        lay_on_arc(limb, limb->axis, limb->aimed, choose_bend(setup, chain, limb, own));
        return;
    }
    const float scale = sqrtf(max1((limb->whole - limb->aimed) * 2.0f, 0.0f) / spent);
    along = 0.0f;
    before = vec3(0.0f, 0.0f, 0.0f);
    phx_vec3 at = before;
    for (uint32_t i = 0; i < limb->bones; ++i) {
        along = along + limb->length[i];
        const phx_vec3 deviation = sub3(reject3(limb->at[i], limb->axis), scale3(tip, along * inverse));
        const phx_vec3 across = scale3(sub3(deviation, before), scale);
        const float squared = limb->length[i] * limb->length[i];
        const float forth = sqrtf(max1(squared - dot3(across, across), squared * 0.04f));
        at = add3(at, add3(across, scale3(limb->axis, forth)));
        before = deviation;
        limb->at[i] = at;
    }
}

/* the turn about `axis` from `now` to `wanted`, less their parts along it; identity where nothing remains */
static phx_quat turn_about(phx_vec3 axis, phx_vec3 now, phx_vec3 wanted) {
    const phx_vec3 a = reject3(now, axis), b = reject3(wanted, axis);
    const float cosine = dot3(a, b), sine = dot3(cross3(a, b), axis);
    const float scale = sqrtf(cosine * cosine + sine * sine);
    return 1e-6f < scale ? turn4(axis, cosine, sine, scale) : quat_identity();
}

/* Reads the chain, decides what can be decided without a round, prepares the rest. */
static void begin(const phx_chain_setup *setup, const phx_reference_chain *chain, limb *limb) {
    const uint32_t bones = chain->joints - 1;
    const phx_vec3 *source = chain->has_start ? chain->start : chain->position;
    const phx_vec3 zero = vec3(0.0f, 0.0f, 0.0f);
    const phx_vec3 delta = sub3(chain->target, chain->position[0]);
    const phx_vec3 chord = sub3(source[bones], source[0]);
    const float squared = dot3(delta, delta), chord_squared = dot3(chord, chord);
    const float distance = sqrtf(squared);
    limb->bones = bones;
    limb->delta = delta;

    phx_vec3 axis = delta;
    if (squared <= chord_squared * 1e-12f || squared <= 1e-30f) axis = 1e-30f < chord_squared ? chord : vec3(1.0f, 0.0f, 0.0f);
    axis = scale3(axis, 1.0f / length3(axis));
    limb->axis = axis;

    float whole = 0.0f, longest = 0.0f, shortest = 1e30f, spread = 0.0f, forward = 0.0f, astray = 0.0f;
    for (uint32_t i = 0; i < bones; ++i) {
        const phx_vec3 at = sub3(source[i + 1], source[0]);
        const phx_vec3 bone = sub3(chain->position[i + 1], chain->position[i]);
        const float length = chain->has_length ? chain->length[i] : settled_length(length3(bone));
        limb->at[i] = at;
        limb->length[i] = length;
        whole = whole + length;
        longest = max1(length, longest);
        shortest = min1(length, shortest);
        const float along = dot3(at, axis);
        spread = spread + dot3(at, at);
        forward = forward + along * along;
        if (chain->has_start) { /* the animated joints are read later, so they must be fit to be read */
            const phx_vec3 pose = sub3(chain->position[i + 1], chain->position[0]);
            astray = astray + dot3(pose, pose);
        }
    }
    limb->whole = whole;
    const float tolerance = whole * setup->tolerance, epsilon = whole * 0x1p-20f;
    limb->tolerance_squared = tolerance * tolerance * 0.999999f;
    limb->closes = 1e-5f <= setup->tolerance && 6 <= bones;
    limb->tiny_squared = whole * whole * 1e-16f;
    const uint32_t budget = chain->budget < setup->max_iterations ? chain->budget : setup->max_iterations;
    limb->budget = budget;
    limb->rounds = 0;
    limb->stretch = 1.0f;
    limb->ok = 1e-9f < whole && whole < 1e9f && distance < 1e9f && 0.0f <= shortest && spread + astray < 1e21f &&
               chain->weight == chain->weight;
    if (chain->has_rotation) {
        for (uint32_t j = 0; j <= bones; ++j) limb->ok &= is_rotation(chain->rotation[j]);
        limb->ok &= is_rotation(chain->parent_rotation);
    }
    limb->moved = limb->active = 0;
    limb->flags = 0;
    if (!limb->ok) {
        limb->flags = whole <= 1e-9f ? PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH : PHX_FLAG_BAD_INPUT;
        limb->blame = 0;
        return;
    }
    if (shortest <= whole * 1e-6f) limb->flags |= PHX_FLAG_ZERO_LENGTH;

    /* what can be reached: soft reach, the longest bone's dead zone, full length, stretch */
    const float nearest = max1((longest + longest) - whole, 0.0f);
    float aimed = distance;
    phx_vec3 target = delta;
    if (setup->soft) {
        const float start = whole * setup->soft_start, room = whole - start;
        if (start < aimed) {
            const float eased = eased_share1(start - aimed, room);
            aimed = whole - room * eased;
            target = scale3(axis, aimed);
            limb->flags |= PHX_FLAG_SOFTENED;
        }
    }
    const int straight = whole - epsilon <= aimed, folded = aimed <= nearest + epsilon && epsilon < nearest;
    if (setup->stretch) {
        const float reach = min1(max1(aimed, nearest), whole);
        if (reach < distance) {
            limb->stretch = min1(max1(distance / max1(reach, 1e-19f), 1.0f), setup->max_stretch);
            if (1.0f < limb->stretch) limb->flags |= PHX_FLAG_STRETCHED;
        }
    }
    limb->target = target;
    limb->aimed = aimed;
    limb->blame = whole - epsilon < distance ? PHX_FLAG_OUT_OF_REACH : distance < nearest - epsilon ? PHX_FLAG_TOO_CLOSE : PHX_FLAG_STALLED;
    limb->error = sub3(limb->at[bones - 1], target);
    if (budget == 0) return;

    /* there already, unless the bones have the wrong lengths */
    int there = dot3(limb->error, limb->error) <= limb->tolerance_squared;
    if (there && (chain->has_start || chain->has_length)) {
        phx_vec3 before = zero;
        for (uint32_t i = 0; i < bones; ++i) {
            const phx_vec3 bone = sub3(limb->at[i], before);
            const float wanted = limb->length[i] * limb->length[i];
            if (!(fabsf(dot3(bone, bone) - wanted) <= wanted * 1e-6f)) there = 0;
            before = limb->at[i];
        }
    }
    limb->moved = !there || chain->has_start || 1.0f < limb->stretch;
    if (there) return;

    if (straight || folded) {
        int turned = 0; /* folded: the first of the longest bones points along the axis, the others against it */
        phx_vec3 at = zero;
        for (uint32_t i = 0; i < bones; ++i) {
            const int along = straight || (!turned && limb->length[i] == longest);
            turned |= along;
            at = add3(at, scale3(axis, along ? limb->length[i] : -limb->length[i]));
            limb->at[i] = at;
        }
        limb->rounds = 1;
        limb->error = sub3(at, target);
        return;
    }
    limb->active = 1;
    const float gap = (longest + longest) - whole;
    const int triangle = fabsf(gap) <= aimed && (bones == 2 || (0.0f <= gap && aimed < gap + whole * 0.2f));
    const int flat = !triangle && spread - forward <= whole * whole * ((float)bones * 6e-4f);
    if (triangle) lay_on_triangle(limb, longest, choose_bend(setup, chain, limb, sum_of_bends(limb, axis)));
    if (flat) lay_on_arc(limb, axis, aimed, choose_bend(setup, chain, limb, sum_of_bends(limb, axis)));
    if (!triangle && whole * 0.9f < aimed) scale_bends(setup, chain, limb);
    limb->error = sub3(limb->at[bones - 1], target);
}

/* Direction of the target as the rare cases of a round see it; X where it is on the root. */
static phx_vec3 target_direction(const limb *limb) {
    const float squared = dot3(limb->target, limb->target);
    return squared <= 1e-30f ? vec3(1.0f, 0.0f, 0.0f) : scale3(limb->target, 1.0f / sqrtf(squared));
}

/* A step whose two joints coincide takes the direction of the step before it, the first one that of the target. */
static phx_vec3 lost_direction(const limb *limb, phx_vec3 last, float sign) {
    return limb->tiny_squared < dot3(last, last) ? last : scale3(target_direction(limb), sign);
}

/* what a step of squared length `squared` is scaled by to the length of its bone, or to 1 */
static float step_scale(float length, float squared) {
    const float some = some1(squared);
    return length / some * sqrtf(some);
}

/* The backward pass begins at the target, with a step to where the joint before the tip then is. After a round it is not far to seek: the
 * last bone points at the target, so that joint goes by the tip's error, `ahead` times. Before the first round the step is taken here, and the
 * tip put onto the target. */
static void first_step(limb *limb) {
    const uint32_t last = limb->bones - 1;
    phx_vec3 d = sub3(limb->at[last - 1], limb->target);
    float squared = dot3(d, d);
    if (squared <= limb->tiny_squared) d = lost_direction(limb, vec3(0.0f, 0.0f, 0.0f), -1.0f), squared = dot3(d, d);
    limb->at[last - 1] = add3(limb->target, scale3(d, step_scale(limb->length[last], squared)));
    limb->at[last] = limb->target;
    limb->error = vec3(0.0f, 0.0f, 0.0f);
}

/* A round: a backward pass, which leaves the first joint off its place by `miss`, and a forward pass, which begins there. The forward pass
 * would bring a share of the miss to the tip: along a bone it passes on, at each joint by the cosine between the bones, across it does not. So
 * its goals are all moved by the shortest way for which, to the first order, nothing arrives. With u, v the last and the first bone's direction
 * and k the product of the cosines, a move w brings (u - k v).w and the miss k v.miss: w is along u - k v. Here u and k are times the last bone's
 * length. */
static void pass_both(limb *limb, float ahead) {
    const uint32_t last = limb->bones - 1;
    const phx_vec3 zero = vec3(0.0f, 0.0f, 0.0f);
    phx_vec3 q = sub3(limb->at[last - 1], scale3(limb->error, ahead)), bone = sub3(q, limb->target);
    const phx_vec3 u = bone;
    float k = 1.0f;
    limb->at[last - 1] = q;
    for (uint32_t i = last - 1; i >= 1; --i) {
        phx_vec3 d = sub3(limb->at[i - 1], q);
        float squared = dot3(d, d);
        if (squared <= limb->tiny_squared) d = lost_direction(limb, bone, -1.0f), squared = dot3(d, d);
        const phx_vec3 v = scale3(d, step_scale(1.0f, squared));
        k = k * dot3(bone, v);
        bone = v;
        limb->at[i - 1] = q = add3(q, scale3(v, limb->length[i]));
    }

    phx_vec3 d = limb->at[0], before = zero;
    float squared = dot3(d, d);
    if (squared <= limb->tiny_squared) d = lost_direction(limb, zero, 1.0f), squared = dot3(d, d);
    q = scale3(d, step_scale(limb->length[0], squared));
    const phx_vec3 miss = sub3(limb->at[0], q), way = sub3(u, scale3(bone, k));
    const float least = limb->length[last] * limb->length[last] * 1e-3f;
    const phx_vec3 move = scale3(way, k * dot3(bone, miss) / some1(max1(dot3(way, way), least)));
    limb->at[0] = before = q;
    for (uint32_t i = 1; i <= last; ++i) {
        d = sub3(i < last ? add3(limb->at[i], move) : limb->target, q);
        squared = dot3(d, d);
        if (squared <= limb->tiny_squared) d = lost_direction(limb, before, 1.0f), squared = dot3(d, d);
        const phx_vec3 next = add3(q, scale3(d, step_scale(limb->length[i], squared)));
        before = sub3(next, q);
        limb->at[i] = q = next;
    }
}

/* direction of an animated bone, and its length; the target's direction where it has none */
static phx_vec3 animated_direction(const phx_reference_chain *chain, const limb *limb, uint32_t i) {
    const phx_vec3 bone = sub3(chain->position[i + 1], chain->position[i]);
    const float length = length3(bone);
    return length <= limb->whole * 1e-6f ? limb->axis : scale3(bone, 1.0f / length);
}

/* A chain that is still far off after eight rounds swings between two shapes: it starts again from an arc. */
static void start_again(limb *limb) {
    const phx_vec3 axis = target_direction(limb);
    const float noise = limb->whole * 1e-5f;
    phx_vec3 own = sum_of_bends(limb, axis);
    if (!(noise * noise < dot3(own, own))) own = reject3(spare_direction(axis), axis);
    lay_on_arc(limb, axis, length3(limb->target), unit_bend(own, axis));
    limb->error = sub3(limb->at[limb->bones - 1], limb->target);
}

/* The rows of a rotation's matrix, from a quaternion of any length and 2 / length^2. */
typedef struct turn_rows {
    phx_vec3 x, y, z;
} turn_rows;

static turn_rows rows_of(phx_quat q, float scale) {
    const float x2 = q.x * scale, y2 = q.y * scale, z2 = q.z * scale;
    const float wx = q.w * x2, wy = q.w * y2, wz = q.w * z2, xx = q.x * x2, xy = q.x * y2, xz = q.x * z2;
    const float yy = q.y * y2, yz = q.y * z2, zz = q.z * z2;
    return (turn_rows){vec3(1.0f - (yy + zz), xy - wz, xz + wy), vec3(xy + wz, 1.0f - (xx + zz), yz - wx), vec3(xz - wy, yz + wx, 1.0f - (xx + yy))};
}

/* What the last step of a chain turns: the part of the chain from a middle joint on, b, against the part before it, a. */
typedef struct fold {
    phx_vec3 a, b, normal; /* a x b */
    float surplus;         /* squared distance of the tip from the root, less the target's */
} fold;

static fold fold_of(const limb *limb) {
    fold f;
    f.a = limb->at[limb->bones / 2 - 1], f.b = sub3(limb->at[limb->bones - 1], f.a), f.normal = cross3(f.a, f.b);
    const float along = dot3(limb->error, limb->target);
    f.surplus = dot3(limb->error, limb->error) + (along + along);
    return f;
}

/* Is the tip so near that a turn of its middle joint by less than an eighth, and one of the whole chain about the root, end on the target? */
static int may_close(const limb *limb) {
    if (!(limb->closes && dot3(limb->error, limb->error) <= dot3(limb->target, limb->target) * 0.015625f)) return 0;
    const fold f = fold_of(limb);
    const float sine = dot3(f.normal, f.normal) * 0.0625f, sides = dot3(f.a, f.a) * dot3(f.b, f.b);
    return sides * 0.00390625f < sine && f.surplus * f.surplus <= sine;
}

static void close_chain(limb *limb) {
    const fold f = fold_of(limb);
    /* law of cosines: the lengths of a and b stay, and from the target's distance follows what their product is to be */
    const float sides = dot3(f.a, f.a) * dot3(f.b, f.b), square = dot3(f.normal, f.normal), reach = dot3(limb->target, limb->target);
    const float inverse = 1.0f / some1(sides), now = dot3(f.a, f.b), then = now - f.surplus * 0.5f;
    const float across_now = sqrtf(square), across_then = sqrtf(max1(sides - then * then, 0.0f));
    const float cosine = (now * then + across_now * across_then) * inverse, sine = (across_then * now - then * across_now) * inverse;
    const phx_vec3 k = scale3(f.normal, 1.0f / some1(square) * across_now * sine);
    const phx_quat bend = quat(k.x, k.y, k.z, 1.0f + cosine);
    const float bend_scale = 2.0f / some1(dot4(bend, bend));
    /* the tip is now as far from the root as the target */
    const phx_vec3 u = vec3(bend.x, bend.y, bend.z), t = cross3(u, f.b);
    const phx_vec3 tip = scale3(add3(f.a, add3(f.b, scale3(add3(scale3(t, bend.w), cross3(u, t)), bend_scale))), 1.0f / some1(reach));
    const phx_vec3 axis = cross3(tip, limb->target);
    const phx_quat turn = quat(axis.x, axis.y, axis.z, 1.0f + dot3(tip, limb->target));
    const float turn_scale = 2.0f / some1(dot4(turn, turn));
    const turn_rows before = rows_of(turn, turn_scale), behind = rows_of(mul4(turn, bend), turn_scale * bend_scale * 0.5f);
    phx_vec3 old = vec3(0.0f, 0.0f, 0.0f), at = old;
    for (uint32_t i = 0; i < limb->bones; ++i) {
        const phx_vec3 bone = sub3(limb->at[i], old);
        const turn_rows *rows = i < limb->bones / 2 ? &before : &behind;
        old = limb->at[i];
        limb->at[i] = at = add3(at, vec3(dot3(rows->x, bone), dot3(rows->y, bone), dot3(rows->z, bone)));
    }
}

static void iterate(limb *limb) {
    if (limb->active) first_step(limb);
    while (limb->active) {
        pass_both(limb, (limb->rounds & 3) == 3 ? 3.0f : 1.0f);
        limb->error = sub3(limb->at[limb->bones - 1], limb->target);
        const float squared = dot3(limb->error, limb->error);
        ++limb->rounds;
        const int arrived = squared <= limb->tolerance_squared;
        if (!arrived && may_close(limb)) {
            close_chain(limb);
            return;
        }
        limb->active = !(arrived || limb->budget <= limb->rounds);
        if (limb->active && limb->rounds == 8 && limb->whole * limb->whole * 1e-6f < squared) start_again(limb);
    }
}

/* shortest turn between unit vectors; a half turn goes about the bend plane's normal, where that is across */
static phx_quat swing_between(phx_vec3 from, phx_vec3 to, phx_vec3 normal) {
    phx_vec3 spare = reject3(normal, to);
    if (!(1e-4f < dot3(spare, spare))) spare = reject3(spare_direction(to), to);
    return between4(from, to, 1.0f, scale3(spare, 1.0f / length3(spare)));
}

/* How far the joints between root and tip stand off the line between these, all together; 1 where that is a bend. */
static int bend_of(const phx_vec3 *at, uint32_t bones, float whole, phx_vec3 fallback_axis, phx_vec3 *axis, phx_vec3 *bend) {
    const phx_vec3 tip = at[bones - 1];
    const float squared = dot3(tip, tip), noise = whole * 1e-5f;
    *axis = noise * noise < squared ? scale3(tip, 1.0f / sqrtf(squared)) : fallback_axis;
    phx_vec3 sum = vec3(0.0f, 0.0f, 0.0f);
    for (uint32_t i = 0; i + 1 < bones; ++i) sum = add3(sum, reject3(at[i], *axis));
    *bend = sum;
    return noise * noise < dot3(sum, sum);
}

/* the first usable of a, b, the spare direction; unit */
static phx_vec3 other_bend(phx_vec3 a, phx_vec3 b, phx_vec3 axis, float tolerance_squared) {
    phx_vec3 chosen;
    if (!take_hint(a, axis, tolerance_squared, &chosen) && !take_hint(b, axis, tolerance_squared, &chosen))
        chosen = reject3(spare_direction(axis), axis);
    return unit_bend(chosen, axis);
}

/* Pole, rotations, tip, weight, stretch: everything after the rounds. */
static void finish(const phx_chain_setup *setup, phx_reference_chain *chain, limb *limb) {
    const uint32_t bones = limb->bones;
    const phx_vec3 zero = vec3(0.0f, 0.0f, 0.0f), root = chain->position[0], previous = chain->bend;
    const phx_quat identity = quat_identity();
    const float tolerance_squared = setup->direction_tolerance_squared;
    for (uint32_t i = 0; i <= bones; ++i) chain->correction[i] = identity;
    if (!limb->ok || limb->budget == 0) return;

    /* bend plane */
    phx_vec3 axis, bend, pole = zero;
    const int bent = bend_of(limb->at, bones, limb->whole, limb->axis, &axis, &bend);
    const int pole_usable = take_hint(chain->pole, axis, tolerance_squared, &pole);
    if (!pole_usable && !(dot3(chain->pole, chain->pole) == 0.0f)) limb->flags |= PHX_FLAG_HINT_UNUSABLE;
    if (bent) bend = unit_bend(bend, axis);
    else bend = other_bend(previous, chain->rest_bend, axis, tolerance_squared);
    if (pole_usable) {
        pole = unit_bend(pole, axis);
        const phx_quat turn = turn_about(axis, bend, pole);
        if (bent && 2.5e-9f < (turn.x * turn.x + turn.y * turn.y) + turn.z * turn.z) { /* more than 1e-4 rad off */
            for (uint32_t i = 0; i < bones; ++i) limb->at[i] = rotate3(turn, limb->at[i]);
            limb->moved = 1;
        }
        bend = pole;
    }
    chain->bend = bend;
    if (!(0.0f < chain->weight)) limb->moved = 0;

    /* rotations; the animated bend plane where hinges follow the plane */
    const phx_vec3 normal = cross3(axis, bend);
    phx_vec3 old_normal = zero;
    if (setup->twist == PHX_TWIST_PLANE) {
        phx_vec3 before[PHX_CHAIN_MAX_BONES], old_axis, old_bend;
        for (uint32_t i = 0; i < bones; ++i) before[i] = sub3(chain->position[i + 1], root);
        if (bend_of(before, bones, limb->whole, limb->axis, &old_axis, &old_bend)) old_bend = unit_bend(old_bend, old_axis);
        else old_bend = other_bend(previous, chain->rest_bend, old_axis, tolerance_squared);
        old_normal = cross3(old_axis, old_bend);
    }
    const int partial = chain->weight < 1.0f;
    const float weight = max1(chain->weight, 0.0f);
    phx_vec3 before = zero, at = zero;
    phx_quat correction = identity;
    for (uint32_t i = 0; i < bones; ++i) {
        const phx_vec3 from = animated_direction(chain, limb, i), bone = sub3(limb->at[i], before);
        before = limb->at[i];
        if (limb->whole * 1e-6f < limb->length[i]) { /* a bone without length turns with the one before it */
            const phx_vec3 to = scale3(bone, 1.0f / limb->length[i]);
            correction = swing_between(from, to, normal);
            if (setup->twist == PHX_TWIST_PLANE) correction = normalize4(mul4(turn_about(to, rotate3(correction, old_normal), normal), correction));
        }
        if (limb->moved) chain->correction[i] = partial ? fraction4(correction, weight) : correction;
        if (limb->moved && partial) {
            at = add3(at, scale3(rotate3(chain->correction[i], from), limb->length[i]));
            limb->at[i] = at;
        }
    }
    phx_quat tip = limb->moved ? correction : identity;
    if (chain->has_target_rotation && is_rotation(chain->target_rotation) && is_rotation(chain->rotation[bones]) && 0.0f < chain->weight)
        tip = normalize4(mul4(chain->target_rotation, conjugate4(chain->rotation[bones])));
    chain->correction[bones] = partial ? fraction4(tip, weight) : tip;
    if (partial) limb->stretch = 1.0f + (limb->stretch - 1.0f) * weight;
    if (setup->stretch)
        for (uint32_t i = 0; i < bones; ++i) limb->at[i] = scale3(limb->at[i], limb->stretch);
}

static void solve(const void *any, phx_reference_chain *chain) {
    const phx_fabrik_setup *setup = any;
    limb limb;
    begin(&setup->chain, chain, &limb);
    iterate(&limb);
    if (setup->stats) setup->stats->busy += limb.rounds, setup->stats->total += limb.rounds;
    finish(&setup->chain, chain, &limb);

    const phx_vec3 root = chain->position[0];
    const uint32_t bones = limb.bones;
    const phx_vec3 tip = limb.moved ? limb.at[bones - 1] : sub3(chain->position[bones], root);
    if (limb.moved)
        for (uint32_t i = 0; i < bones; ++i) chain->position[i + 1] = add3(root, limb.at[i]);
    const phx_vec3 miss = limb.ok ? sub3(tip, limb.delta) : sub3(chain->target, chain->position[bones]); /* bad input: whatever the root */
    chain->residual = min1(length3(miss), 3.402823466e+38f);
    chain->iterations = limb.rounds;
    chain->stretch = limb.moved ? limb.stretch : 1.0f;
    if (limb.ok && (limb.budget == 0 || !(0.0f < chain->weight))) limb.flags = flags_unmoved(limb.flags), chain->iterations = 0;
    const int reached = limb.ok && chain->residual <= limb.whole * setup->chain.tolerance;
    chain->flags = limb.flags | (reached ? PHX_FLAG_REACHED : limb.blame);
}

void phx_reference_fabrik_blocks(const phx_fabrik_setup *setup, const phx_chain_blocks *blocks, size_t first, size_t count) {
    phx_reference_chain_blocks(setup, blocks, first, count, solve);
}

void phx_reference_fabrik_job(const phx_fabrik_setup *setup, const phx_chain_job *job, size_t first, size_t count) {
    phx_reference_chain_job(setup, job, first, count, solve);
}
