/* The two-bone reference against a double-precision model: positions, rotations, twist, weight, reach, stretch, knee limits,
 * the turn of the bend plane, the tip's own rotation. Every backend has the reference's bits (see the other tests), so the
 * reference is what is measured here. */
#include "two_bone_oracle.h"

static const phx_backend *reference(void) {
    static const phx_backend *backend; /* asking the processor each time costs more than a solve */
    return backend ? backend : (backend = phx_backend_find("reference"));
}
static phx_vec3 narrow(vec a) { return (phx_vec3){(float)a.x, (float)a.y, (float)a.z}; }
static vec direction(random_state *r) { return vec_of(random_direction(r)); }
static double uniform(random_state *r, double low, double high) { return low + (high - low) * (double)(random_bits(r) >> 11) * 0x1p-53; }

/* A leg near the origin: bones of lengths u, l in a knee angle of `knee` (0 straight), target at `reach` of the length. */
static leg posed(random_state *r, double u, double l, double knee, double reach) {
    const vec thigh = direction(r);
    const vec side = unit(without(direction(r), thigh));
    const vec root = times(direction(r), u + l);
    const vec mid = plus(root, times(thigh, u));
    const vec tip = plus(mid, times(plus(times(thigh, cos(knee)), times(side, -sin(knee))), l));
    leg a = leg_of(narrow(root), narrow(mid), narrow(tip), narrow(plus(root, times(direction(r), reach * (u + l)))), random_direction(r));
    a.parent = random_rotation(r), a.root_local = random_rotation(r), a.mid_local = random_rotation(r), a.tip_local = random_rotation(r);
    return a;
}

/* lengths as the floats have them */
static double upper_of(const leg *a) { return gap(vec_of(a->root), vec_of(a->mid)); }
static double lower_of(const leg *a) { return gap(vec_of(a->mid), vec_of(a->tip)); }
static vec axis_of(const leg *a) { return unit(minus(vec_of(a->target), vec_of(a->root))); }
static double distance_of(const leg *a) { return gap(vec_of(a->target), vec_of(a->root)); }

static phx_two_bone_params params_with(phx_twist twist) {
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = twist;
    return params;
}

/* Knee and foot of any proportion and size, where the law of cosines puts them. */
static void knee_and_foot_follow_the_law_of_cosines(void **state) {
    (void)state;
    random_state r = random_seeded("law of cosines", 0x0AC1E);
    double worst_foot = 0, worst_knee = 0, worst_residual = 0;
    for (int i = 0; i < 200000; ++i) {
        const double scale = pow(10, uniform(&r, -3, 3)), ratio = pow(10, uniform(&r, -0.6, 0.6));
        const leg a = posed(&r, scale * ratio, scale, uniform(&r, 0, 3.1), uniform(&r, 0, 1.4));
        const phx_two_bone_params params = params_with(i & 1 ? PHX_TWIST_INHERIT : PHX_TWIST_PLANE);
        const leg b = solved(reference(), a, params);
        assert_sound(&b, params);
        const double u = upper_of(&a), l = lower_of(&a), length = u + l, distance = distance_of(&a);
        const vec axis = axis_of(&a), pole = without(vec_of(a.pole), axis);
        if (norm(pole) < 0.1 || distance < 0.03 * length) continue; /* ill-conditioned below */
        const limb want = limb_at(vec_of(a.root), u, l, axis, distance, pole);
        worst_foot = fmax(worst_foot, gap(want.foot, vec_of(b.tip_position)) / length);
        /* the knee's sideways place is a square root: near straight, a rounding of the distance moves it by its own root */
        const double sine = sqrt(1 - want.cos_root * want.cos_root);
        worst_knee = fmax(worst_knee, gap(want.knee, vec_of(b.mid_position)) / length * fmax(sine * fmin(u, l) / fmax(u, l), 1e-3));
        const int in_reach = distance < length * (1 - 1e-6) && distance > fabs(u - l) + 1e-6 * length;
        if (in_reach) {
            worst_residual = fmax(worst_residual, b.result.residual / length);
            assert_int_equal(b.result.flags, PHX_FLAG_REACHED);
        }
    }
    printf("# worst: foot %.2g, residual %.2g, knee x sine %.2g of the leg's length\n", worst_foot, worst_residual, worst_knee);
    assert_below(worst_residual, 2e-6);
    assert_below(worst_foot, 2e-6);
    assert_below(worst_knee, 3e-6);
}

/* One bone a thousand, a hundred thousand times the other. */
static void unequal_bones_keep_their_lengths(void **state) {
    (void)state;
    random_state r = random_seeded("unequal bones", 0x0AC2E);
    for (int i = 0; i < 100000; ++i) {
        const double ratio = pow(10, uniform(&r, 1, 5)), u = i & 1 ? 1 : 1 / ratio, l = i & 1 ? 1 / ratio : 1;
        const double near = fabs(u - l) / (u + l);
        leg a = posed(&r, u, l, uniform(&r, 0, 3.1), uniform(&r, near, 1));
        a.root = (phx_vec3){0, 0, 0}; /* where the short bone keeps its digits */
        const vec thigh = times(direction(&r), u);
        a.mid = narrow(thigh), a.tip = narrow(plus(thigh, times(direction(&r), l)));
        a.target = narrow(times(direction(&r), uniform(&r, near, 1) * (u + l)));
        for (int twist = 0; twist < 2; ++twist) {
            const phx_two_bone_params params = params_with((phx_twist)twist);
            const leg b = solved(reference(), a, params);
            assert_sound(&b, params);
            assert_true(b.result.flags & PHX_FLAG_REACHED);
            /* the short bone within its own 1e-5 or the grain of the coordinates, whichever is more */
            const double upper = upper_of(&a), lower = lower_of(&a);
            assert_below(fabs(gap(vec_of(b.root), vec_of(b.mid_position)) - upper), 1e-5 * upper + 2.5e-7);
            assert_below(fabs(gap(vec_of(b.mid_position), vec_of(b.tip_position)) - lower), 1e-5 * lower + 2.5e-7);
        }
    }
}

/* Poses at and near the straight and the folded leg, which leave the knee's hinge open. */
static void straight_and_folded_poses_get_rotations_that_lead_to_the_foot(void **state) {
    (void)state;
    random_state r = random_seeded("straight poses", 0x0AC3E);
    for (int i = 0; i < 100000; ++i) {
        const double tiny = i % 3 ? pow(10, uniform(&r, -8, -2)) : 0;
        leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), i & 1 ? tiny : 3.14159265358979 - tiny, uniform(&r, 0.4, 1.2));
        if (i & 2) a.rest_bend = random_direction(&r);
        for (int twist = 0; twist < 2; ++twist) {
            const phx_two_bone_params params = params_with((phx_twist)twist);
            const leg b = solved(reference(), a, params);
            assert_sound(&b, params);
        }
    }
}

/* Half turns and all but half turns, for thigh and shin alike. */
static void half_turns_arrive(void **state) {
    (void)state;
    random_state r = random_seeded("half turns", 0x0AC4E);
    double worst = 0;
    for (int i = 0; i < 200000; ++i) {
        /* a leg that is sent to the mirror image of its own pose, tilted a little */
        leg a = posed(&r, 0.45, 0.45, uniform(&r, 0.02, 2), 1);
        const double tilt = i % 4 ? pow(10, uniform(&r, -8, -1)) : 0;
        const vec root = vec_of(a.root), chord = minus(vec_of(a.tip), root);
        const vec knee = without(minus(vec_of(a.mid), root), unit(chord));
        const vec side = unit(without(direction(&r), unit(chord)));
        a.target = narrow(plus(root, times(plus(times(unit(chord), -cos(tilt)), times(side, sin(tilt))), norm(chord))));
        a.pole = narrow(times(knee, i & 1 ? -1 : 1));
        for (int twist = 0; twist < 2; ++twist) {
            const phx_two_bone_params params = params_with((phx_twist)twist);
            const leg b = solved(reference(), a, params);
            assert_sound(&b, params);
            const vec thigh = minus(vec_of(a.mid), root), landed = plus(root, apply(turn_of(b.root_rotation), thigh));
            worst = fmax(worst, gap(landed, vec_of(b.mid_position)));
        }
    }
    printf("# worst: %.2g m from the knee by the returned rotation\n", worst);
}

/* plane: the pose's hinge, carried by thigh and by shin, is the new bend plane's normal. */
static void plane_twist_carries_the_hinge_into_the_bend_plane(void **state) {
    (void)state;
    random_state r = random_seeded("plane twist", 0x0AC5E);
    for (int i = 0; i < 100000; ++i) {
        const double knee = uniform(&r, 0.02, 3.1);
        const leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), knee, uniform(&r, 0.2, 1.2));
        const leg b = solved(reference(), a, params_with(PHX_TWIST_PLANE));
        const vec thigh = minus(vec_of(a.mid), vec_of(a.root)), shin = minus(vec_of(a.tip), vec_of(a.mid));
        const vec hinge = unit(outer(shin, thigh)), axis = unit(minus(vec_of(b.tip_position), vec_of(b.root)));
        const vec wanted = unit(outer(axis, without(vec_of(b.bend), axis)));
        const double grain = 1e-5 + 1e-6 / sin(knee);
        assert_below(angle_between(apply(turn_of(b.root_rotation), hinge), wanted), grain);
        assert_below(angle_between(apply(turn_of(b.mid_rotation), hinge), wanted), grain);
    }
}

/* inherit: each bone's correction is the shortest one that points it right. */
static void inherited_twist_swings_each_bone_the_shortest_way(void **state) {
    (void)state;
    random_state r = random_seeded("inherited twist", 0x0AC6E);
    for (int i = 0; i < 100000; ++i) {
        const leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), uniform(&r, 0, 3.1), uniform(&r, 0.2, 1.2));
        const leg b = solved(reference(), a, params_with(PHX_TWIST_INHERIT));
        const vec thigh = minus(vec_of(a.mid), vec_of(a.root)), shin = minus(vec_of(a.tip), vec_of(a.mid));
        assert_below(fabs(turn_angle(turn_of(b.root_rotation)) - angle_between(thigh, apply(turn_of(b.root_rotation), thigh))), 4e-6);
        assert_below(fabs(turn_angle(turn_of(b.mid_rotation)) - angle_between(shin, apply(turn_of(b.mid_rotation), shin))), 4e-6);
    }
}

/* New local rotations, chained from the parent down, are the corrections applied to the animated world rotations. */
static void local_outputs_agree_with_world_corrections(void **state) {
    (void)state;
    random_state r = random_seeded("locals", 0x0AC7E);
    for (int i = 0; i < 50000; ++i) {
        leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), uniform(&r, 0, 3.1), uniform(&r, 0.2, 1.2));
        a.weight = i & 1 ? 1.0f : random_float(&r, 0.01f, 1.0f);
        if (i & 2) a.target_rotation = random_rotation(&r);
        const leg b = solved(reference(), a, params_with((phx_twist)(i / 4 % 2)));
        turn was = turn_of(a.parent), now = was;
        const phx_quat old_locals[] = {a.root_local, a.mid_local, a.tip_local}, new_locals[] = {b.root_out, b.mid_out, b.tip_out};
        const phx_quat corrections[] = {b.root_rotation, b.mid_rotation, b.tip_rotation};
        for (int joint = 0; joint < 3; ++joint) {
            was = compose(was, turn_of(old_locals[joint])), now = compose(now, turn_of(new_locals[joint]));
            assert_below(turn_angle(compose(inverse(now), compose(turn_of(corrections[joint]), was))), 4e-6);
            assert_below(fabs(turn_norm(turn_of(new_locals[joint])) - 1), 3e-7);
        }
    }
}

/* A share of the correction is that share of its angle about the same axis, by the short way; bones keep their lengths. */
static void weight_takes_its_share_of_each_rotation(void **state) {
    (void)state;
    random_state r = random_seeded("weight", 0x0AC8E);
    for (int i = 0; i < 50000; ++i) {
        leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), uniform(&r, 0, 3.1), uniform(&r, 0.2, 1.2));
        const phx_two_bone_params params = params_with((phx_twist)(i % 2));
        const leg whole = solved(reference(), a, params);
        a.weight = i % 3 ? 0.5f : random_float(&r, 0.0f, 1.0f);
        const leg part = solved(reference(), a, params);
        assert_sound(&part, params);
        const phx_quat wholes[] = {whole.root_rotation, whole.mid_rotation, whole.tip_rotation};
        const phx_quat parts[] = {part.root_rotation, part.mid_rotation, part.tip_rotation};
        for (int joint = 0; joint < 3; ++joint) {
            const turn q = turn_of(wholes[joint]), p = turn_of(parts[joint]);
            const double angle = turn_angle(q);
            if (angle > 3.14) continue; /* either way round is short */
            const double s = sqrt(q.x * q.x + q.y * q.y + q.z * q.z);
            if (s < 1e-3) continue;
            const turn want = about((vec){copysign(q.x, q.x * q.w), copysign(q.y, q.y * q.w), copysign(q.z, q.z * q.w)}, angle * a.weight);
            assert_below(turn_angle(compose(inverse(want), p)), 4e-6);
        }
    }
}

static void weight_zero_and_below_return_the_inputs_bits(void **state) {
    (void)state;
    random_state r = random_seeded("weight 0", 0x0AC9E);
    static const float none[] = {0.0f, -0.0f, -1.0f, -INFINITY};
    FOR_EACH_BACKEND(backend) for (int i = 0; i < 4000; ++i) {
        leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), uniform(&r, 0, 3.1), uniform(&r, 0.2, 1.2));
        a.weight = none[i % 4];
        if (i & 8) a.target_rotation = random_rotation(&r);
        phx_two_bone_params params = params_with((phx_twist)(i / 4 % 2));
        if (i & 16) params.max_stretch = 1.5f;
        const leg b = solved(backend, a, params);
        assert_memory_equal(&a.mid, &b.mid_position, sizeof a.mid);
        assert_memory_equal(&a.tip, &b.tip_position, sizeof a.tip);
        assert_memory_equal(&a.root_local, &b.root_out, sizeof a.root_local);
        assert_memory_equal(&a.mid_local, &b.mid_out, sizeof a.mid_local);
        assert_memory_equal(&a.tip_local, &b.tip_out, sizeof a.tip_local);
        assert_true(b.stretch == 1.0f);
    }
}

/* soft reach: the distance is kept up to `start` of the length, then eases to the length as 1 - exp */
static void soft_reach_eases_to_full_length(void **state) {
    (void)state;
    random_state r = random_seeded("soft reach", 0x0ACAE);
    for (int i = 0; i < 50000; ++i) {
        phx_two_bone_params params = phx_two_bone_params_default();
        params.soft_start = random_float(&r, 0.5f, 0.999f);
        const leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), 0.3, uniform(&r, 0.4, 2));
        const leg b = solved(reference(), a, params);
        assert_sound(&b, params);
        const double length = upper_of(&a) + lower_of(&a), start = length * params.soft_start, distance = distance_of(&a);
        const double want = distance <= start ? distance : length - (length - start) * exp((start - distance) / (length - start));
        assert_below(fabs(gap(vec_of(b.root), vec_of(b.tip_position)) - fmin(want, length)), 2e-6 * length);
        if (distance > start * 1.00001) assert_true(b.result.flags & PHX_FLAG_SOFTENED);
        if (distance < start * 0.99999) assert_false(b.result.flags & PHX_FLAG_SOFTENED);
    }
}

static void stretch_lengthens_both_bones_alike_up_to_its_ratio(void **state) {
    (void)state;
    random_state r = random_seeded("stretch", 0x0ACBE);
    for (int i = 0; i < 50000; ++i) {
        phx_two_bone_params params = phx_two_bone_params_default();
        params.max_stretch = random_float(&r, 1.0f, 1.5f);
        const leg a = posed(&r, uniform(&r, 0.3, 0.5), uniform(&r, 0.3, 0.5), 0.3, uniform(&r, 0.4, 2));
        const leg b = solved(reference(), a, params);
        assert_sound(&b, params);
        const double length = upper_of(&a) + lower_of(&a), distance = distance_of(&a);
        const double want = fmin(fmax(distance / length, 1), params.max_stretch);
        assert_below(fabs(b.stretch - want), 2e-6);
        if (distance < length * 0.99999 || params.max_stretch == 1.0f) assert_true(b.stretch == 1.0f);
        if (distance > length * 1.001 && distance < length * params.max_stretch * 0.999) assert_true(b.result.flags & PHX_FLAG_REACHED);
    }
}

/* Knee angle between min_bend and max_bend, `limit` when and only when that changed the reach. */
static void knee_limits_hold(void **state) {
    (void)state;
    random_state r = random_seeded("knee limits", 0x0ACCE);
    for (int i = 0; i < 100000; ++i) {
        phx_two_bone_params params = phx_two_bone_params_default();
        params.max_bend = i % 4 ? random_float(&r, 0.5f, 3.1f) : 3.14159274f;
        params.min_bend = i % 3 ? random_float(&r, 0.0f, 0.5f) : 0.0f;
        const leg a = posed(&r, uniform(&r, 0.3, 0.5), i & 1 ? 0.4 : uniform(&r, 0.3, 0.5), uniform(&r, 0, 3.1), uniform(&r, 0, 1.2));
        const leg b = solved(reference(), a, params);
        assert_sound(&b, params);
        const vec root = vec_of(b.root), knee = vec_of(b.mid_position);
        const double angle = angle_between(minus(knee, root), minus(vec_of(b.tip_position), knee));
        const double u = upper_of(&a), l = lower_of(&a), distance = distance_of(&a);
        const double room = 2e-6 * (u + l) * (u + l) / (u * l); /* a rounding of the distance, as an angle squared */
        assert_below(cos(params.max_bend) - room, cos(angle));
        assert_below(cos(angle), cos(params.min_bend) + room);
        const double nearest = sqrt(fmax(u * u + l * l + 2 * u * l * cos(params.max_bend), (u - l) * (u - l)));
        const double farthest = sqrt(u * u + l * l + 2 * u * l * cos(params.min_bend));
        const int low = params.max_bend < 3.14f && distance < nearest - 1e-5, high = params.min_bend > 0.01f && distance > farthest + 1e-5;
        if (low || high) assert_true(b.result.flags & PHX_FLAG_LIMIT);
        if (distance > nearest + 1e-5 && distance < farthest - 1e-5) assert_false(b.result.flags & PHX_FLAG_LIMIT);
        if (params.max_bend > 3.14f && params.min_bend == 0.0f) assert_false(b.result.flags & PHX_FLAG_LIMIT);
    }
}

/* The bend plane turns from the previous bend toward the pole by no more than it may. */
static void bend_turns_no_faster_than_allowed(void **state) {
    (void)state;
    random_state r = random_seeded("bend turn", 0x0ACDE);
    for (int i = 0; i < 100000; ++i) {
        phx_two_bone_params params = phx_two_bone_params_default();
        params.max_bend_turn = random_float(&r, 0.0f, 3.0f);
        leg a = posed(&r, 0.45, 0.43, 0.3, uniform(&r, 0.4, 1.1));
        a.bend = random_direction(&r);
        const vec axis = axis_of(&a), was = without(vec_of(a.bend), axis), pole = without(vec_of(a.pole), axis);
        if (norm(was) < 1e-2 || norm(pole) < 1e-2) continue;
        const leg b = solved(reference(), a, params);
        assert_sound(&b, params);
        const double wanted = angle_between(was, pole), turned = angle_between(was, vec_of(b.bend)),
                     left = angle_between(vec_of(b.bend), pole);
        assert_below(fabs(turned - fmin(wanted, params.max_bend_turn)), 1e-4);
        assert_below(fabs(turned + left - wanted), 1e-4); /* and toward the pole */
        if (wanted > params.max_bend_turn + 1e-3) assert_true(b.result.flags & PHX_FLAG_BEND_HELD);
        if (wanted < params.max_bend_turn - 1e-3) assert_false(b.result.flags & PHX_FLAG_BEND_HELD);
    }
}

static void tip_takes_its_target_rotation_and_else_turns_with_its_bone(void **state) {
    (void)state;
    random_state r = random_seeded("tip rotation", 0x0ACEE);
    for (int i = 0; i < 50000; ++i) {
        leg a = posed(&r, 0.45, 0.43, uniform(&r, 0, 3), uniform(&r, 0.4, 1.1));
        leg b = solved(reference(), a, phx_two_bone_params_default());
        assert_memory_equal(&b.tip_rotation, &b.mid_rotation, sizeof b.mid_rotation);
        a.target_rotation = random_rotation(&r);
        b = solved(reference(), a, phx_two_bone_params_default());
        const turn world = compose(compose(compose(turn_of(a.parent), turn_of(b.root_out)), turn_of(b.mid_out)), turn_of(b.tip_out));
        assert_below(turn_angle(compose(inverse(world), turn_of(a.target_rotation))), 4e-6);
    }
}

/* Pole weight: at 0 the next hint rules, at 1 the pole, between them the bend lies between. */
static void pole_weight_moves_the_bend_from_the_next_hint_to_the_pole(void **state) {
    (void)state;
    random_state r = random_seeded("pole weight", 0x0ACFE);
    for (int i = 0; i < 50000; ++i) {
        leg a = posed(&r, 0.45, 0.43, uniform(&r, 0.1, 3), uniform(&r, 0.4, 1.1));
        a.bend = random_direction(&r);
        const vec axis = axis_of(&a), previous = without(vec_of(a.bend), axis), pole = without(vec_of(a.pole), axis);
        if (norm(previous) < 1e-2 || norm(pole) < 1e-2 || angle_between(previous, pole) > 3) continue;
        leg b = a;
        b.pole_weight = i & 1 ? 0.0f : -3.0f;
        b = solved(reference(), b, phx_two_bone_params_default());
        assert_below(angle_between(vec_of(b.bend), previous), 2e-5);
        b = a, b.pole_weight = i & 1 ? 1.0f : 7.0f;
        b = solved(reference(), b, phx_two_bone_params_default());
        assert_below(angle_between(vec_of(b.bend), pole), 2e-5);
        b = a, b.pole_weight = random_float(&r, 0.0f, 1.0f);
        b = solved(reference(), b, phx_two_bone_params_default());
        const double parts = angle_between(previous, vec_of(b.bend)) + angle_between(vec_of(b.bend), pole);
        assert_below(fabs(parts - angle_between(previous, pole)), 1e-4);
    }
}

/* The chain of hints: each is taken when all before it are missing or lie along the limb, and `hint_unusable` speaks of the pole. */
static void the_first_usable_hint_wins(void **state) {
    (void)state;
    random_state r = random_seeded("hints", 0x0AD0E);
    for (int i = 0; i < 20000; ++i) {
        const int winner = i % 5; /* pole, previous, pose plane, rest bend, spare direction */
        leg a = posed(&r, 0.45, 0.43, winner <= 2 ? uniform(&r, 0.1, 3) : 0, uniform(&r, 0.4, 1.1));
        const vec axis = axis_of(&a);
        const vec thigh = minus(vec_of(a.mid), vec_of(a.root)), chord = minus(vec_of(a.tip), vec_of(a.root));
        a.bend = random_direction(&r), a.rest_bend = random_direction(&r);
        const double along = uniform(&r, -3, 3);
        int given = 1;
        if (winner > 0 && i & 8) a.pole = (phx_vec3){0, 0, 0}, given = 0;
        else if (winner > 0) a.pole = i & 16 ? narrow(times(axis, along)) : (phx_vec3){NAN, 1, INFINITY};
        if (winner > 1) a.bend = i & 32 ? narrow(times(axis, -1)) : i & 64 ? (phx_vec3){0, NAN, 0} : (phx_vec3){0, 0, 0};
        if (winner > 3) a.rest_bend = i & 32 ? narrow(axis) : i & 64 ? (phx_vec3){0, INFINITY, 0} : (phx_vec3){0, 0, 0};
        const vec spare = fabs(axis.x) <= fabs(axis.y) ? (vec){1, 0, 0} : (vec){0, 1, 0};
        const vec hints[] = {vec_of(a.pole), vec_of(a.bend), without(thigh, unit(chord)), vec_of(a.rest_bend), spare};
        const vec want = without(hints[winner], axis);
        if (norm(want) < 1e-2 * norm(hints[winner]) || fabs(fabs(axis.x) - fabs(axis.y)) < 1e-5) continue;
        const leg b = solved(reference(), a, phx_two_bone_params_default());
        assert_below(angle_between(vec_of(b.bend), want), 1e-4);
        assert_int_equal(!!(b.result.flags & PHX_FLAG_HINT_UNUSABLE), winner > 0 && given);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knee_and_foot_follow_the_law_of_cosines),
        cmocka_unit_test(unequal_bones_keep_their_lengths),
        cmocka_unit_test(straight_and_folded_poses_get_rotations_that_lead_to_the_foot),
        cmocka_unit_test(half_turns_arrive),
        cmocka_unit_test(plane_twist_carries_the_hinge_into_the_bend_plane),
        cmocka_unit_test(inherited_twist_swings_each_bone_the_shortest_way),
        cmocka_unit_test(local_outputs_agree_with_world_corrections),
        cmocka_unit_test(weight_takes_its_share_of_each_rotation),
        cmocka_unit_test(weight_zero_and_below_return_the_inputs_bits),
        cmocka_unit_test(soft_reach_eases_to_full_length),
        cmocka_unit_test(stretch_lengthens_both_bones_alike_up_to_its_ratio),
        cmocka_unit_test(knee_limits_hold),
        cmocka_unit_test(bend_turns_no_faster_than_allowed),
        cmocka_unit_test(tip_takes_its_target_rotation_and_else_turns_with_its_bone),
        cmocka_unit_test(pole_weight_moves_the_bend_from_the_next_hint_to_the_pole),
        cmocka_unit_test(the_first_usable_hint_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
