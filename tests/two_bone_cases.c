/* Failures that users of other two-bone solvers reported, each as the kind that it is and not as its one instance: full reach,
 * bend sign, target on the root, pole along the limb, straight rest poses, unwanted stretch, missing roll, bones without length,
 * mirrored, scaled and far-away limbs, tails and guard bytes, odd alignments, NaN that sticks. On every backend. */
#include "two_bone_oracle.h"
#include <float.h>

static phx_vec3 narrow(vec a) { return (phx_vec3){(float)a.x, (float)a.y, (float)a.z}; }
static vec direction(random_state *r) { return vec_of(random_direction(r)); }
static double uniform(random_state *r, double low, double high) { return low + (high - low) * (double)(random_bits(r) >> 11) * 0x1p-53; }
static phx_two_bone_params defaults(void) { return phx_two_bone_params_default(); }

/* hanging straight down from the root */
static leg hanging(vec root, double upper, double lower, vec target, vec pole) {
    return leg_of(narrow(root), narrow(minus(root, (vec){0, upper, 0})), narrow(minus(root, (vec){0, upper + lower, 0})), narrow(target),
                  narrow(pole));
}

static float ulps_from(float x, int steps) {
    for (; steps > 0; --steps) x = nextafterf(x, INFINITY);
    for (; steps < 0; ++steps) x = nextafterf(x, -INFINITY);
    return x;
}

/* The target a few roundings short of, at and beyond the leg's length, in any direction: the knee stays on its side, the leg whole. */
static void full_reach_never_leaves_the_domain(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int k = -4; k <= 4; ++k) {
            const float reach = ulps_from(0.82f, k);
            const leg a =
                solved(backend, hanging((vec){0, 0, 0}, 0.42, 0.40, (vec){0.6 * reach, -0.8 * reach, 0}, (vec){0, 0, 1}), defaults());
            assert_sound(&a, defaults());
            assert_true(a.mid_position.z >= 0.0f && a.mid_position.z <= 1e-3f);
        }
        random_state r = random_seeded("full reach", 0xD01);
        for (int i = 0; i < 20000; ++i) {
            const double u = uniform(&r, 0.1, 2), l = uniform(&r, 0.1, 2);
            const vec axis = direction(&r), pole = unit(without(direction(&r), axis));
            leg a = hanging((vec){0, 0, 0}, u, l, times(axis, u + l), pole);
            ((float *)&a.target)[random_below(&r, 3)] += (float)((double)random_below(&r, 9) - 4) * 0x1p-24f;
            a = solved(backend, a, defaults());
            assert_sound(&a, defaults());
            const double side = inner(vec_of(a.mid_position), pole);
            assert_true(side >= -1e-6 && side <= 1.5e-3 * (u + l)); /* sqrt of a rounding of the length */
        }
    }
}

/* The knee is where the pole says, for every direction of pole and target. */
static void knee_bends_toward_the_pole(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int sign = -1; sign <= 1; sign += 2) {
            leg a = leg_of((phx_vec3){26.5f, 25.5f, 0}, (phx_vec3){26.5f, 34, 0}, (phx_vec3){26.5f, 42.5f, 0}, (phx_vec3){28.5f, 41.5f, 0},
                           (phx_vec3){(float)sign, 0, 0});
            a = solved(backend, a, defaults());
            assert_sound(&a, defaults());
            assert_below(gap(vec_of(a.tip_position), (vec){28.5, 41.5, 0}), 1e-3);
            assert_below(gap(vec_of(a.mid_position), sign < 0 ? (vec){24.828, 33.834, 0} : (vec){30.172, 33.166, 0}), 1e-3);
        }
        random_state r = random_seeded("bend sign", 0xD02);
        for (int i = 0; i < 20000; ++i) {
            const vec root = times(direction(&r), 30), axis = direction(&r), pole = direction(&r);
            if (norm(without(pole, axis)) < 1e-2) continue;
            leg a = hanging(root, 8.5, uniform(&r, 6, 9), plus(root, times(axis, uniform(&r, 4, 13))), pole);
            a.mid = narrow(plus(root, times(direction(&r), 8.5)));
            a = solved(backend, a, defaults());
            assert_sound(&a, defaults());
            const vec to_knee = without(minus(vec_of(a.mid_position), root), axis);
            assert_below(angle_between(to_knee, without(pole, axis)), 1e-3);
        }
    }
}

/* Target on the root, by all ways to get there: exactly, by a denormal, by less than the leg's grain. */
static void target_on_the_root_folds_the_leg(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        leg a = solved(backend, hanging((vec){1.5, 0.9, -2}, 0.45, 0.45, (vec){1.5, 0.9, -2}, (vec){0, 0, 1}), defaults());
        assert_sound(&a, defaults());
        assert_below(gap(vec_of(a.tip_position), (vec){1.5, 0.9, -2}), 1e-6);
        assert_below(gap(vec_of(a.mid_position), (vec){1.5, 0.9, -1.55}), 1e-6);
        static const float tiny[] = {0.0f, -0.0f, 1e-40f, -1e-45f, 1e-30f, 1e-12f, -1e-9f};
        for (size_t i = 0; i < sizeof tiny / sizeof *tiny; ++i) for (int k = 0; k < 3; ++k) for (int lower = 0; lower < 2; ++lower) {
            leg b = hanging((vec){0, 0, 0}, 0.45, lower ? 0.45 : 0.40, (vec){0, 0, 0}, (vec){0, 0, 1});
            ((float *)&b.target)[k] = tiny[i];
            const leg c = solved(backend, b, defaults()), d = solved(backend, b, defaults());
            assert_sound(&c, defaults());
            assert_below(fabs(norm(vec_of(c.tip_position)) - (lower ? 0 : 0.05)), 1e-6);
            assert_memory_equal(&c, &d, sizeof c);
            assert_int_equal(!!(c.result.flags & PHX_FLAG_TOO_CLOSE), !lower);
        }
        /* a pose that is folded onto its root too: no direction at all is left, and still an answer */
        leg folded = leg_of((phx_vec3){0, 0, 0}, (phx_vec3){0.45f, 0, 0}, (phx_vec3){0, 0, 0}, (phx_vec3){0, 0, 0}, (phx_vec3){0, 0, 0});
        folded = solved(backend, folded, defaults());
        assert_sound(&folded, defaults());
    }
}

/* Within the dead zone around the limb the pole's noise is not followed; outside it is, without a jump of the result's soundness. */
static void pole_along_the_limb_hands_over_to_the_next_hint(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        random_state r = random_seeded("pole along the limb", 0xD04);
        for (int sign = -1; sign <= 1; sign += 2) {
            leg a = leg_of((phx_vec3){0, 1, 0}, (phx_vec3){0, 0.6f, 0.20616f}, (phx_vec3){0, 0.2f, 0}, (phx_vec3){0, 0.2f, 0},
                           (phx_vec3){(float)sign * 1e-6f, -1, 0});
            a = solved(backend, a, defaults());
            assert_sound(&a, defaults());
            assert_below(gap(vec_of(a.mid_position), (vec){0, 0.6, 0.20616}), 1e-5);
            assert_true(a.result.flags & PHX_FLAG_HINT_UNUSABLE);
        }
        for (int i = 0; i < 20000; ++i) {
            const vec axis = direction(&r), side = unit(without(direction(&r), axis));
            const double lean = pow(10, uniform(&r, -9, -2)), length = pow(10, uniform(&r, -4, 4));
            leg a = hanging((vec){0, 0, 0}, 0.45, 0.43, times(axis, 0.7), times(plus(axis, times(side, lean)), i & 1 ? -length : length));
            a.rest_bend = narrow(direction(&r));
            const vec rest = without(vec_of(a.rest_bend), axis);
            if (norm(rest) < 1e-2) continue;
            a = solved(backend, a, defaults());
            assert_sound(&a, defaults());
            if (lean < 0.9e-4) {
                assert_below(angle_between(vec_of(a.bend), rest), 1e-4);
                assert_true(a.result.flags & PHX_FLAG_HINT_UNUSABLE);
            } else if (lean > 1.2e-4) {
                assert_below(angle_between(vec_of(a.bend), times(side, i & 1 ? -1 : 1)), 2e-7 / lean);
                assert_false(a.result.flags & PHX_FLAG_HINT_UNUSABLE);
            }
        }
    }
}

/* Straight as animated, no pole: the knee goes where the rest bend says, at every bend of the target. */
static void straight_pose_bends_toward_its_rest_bend(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        leg a = hanging((vec){0, 0.9, 0}, 0.45, 0.45, (vec){0, 0.3, 0}, (vec){0, 0, 0});
        a.rest_bend = (phx_vec3){0, 0, 1};
        a = solved(backend, a, defaults());
        assert_sound(&a, defaults());
        assert_below(gap(vec_of(a.mid_position), (vec){0, 0.6, 0.33541}), 1e-5);
        random_state r = random_seeded("straight rest", 0xD05);
        for (int i = 0; i < 20000; ++i) {
            const vec down = direction(&r), forward = unit(without(direction(&r), down));
            const double reach = uniform(&r, 0.01, 0.9999);
            leg b = leg_of((phx_vec3){0, 0, 0}, narrow(times(down, 0.45)), narrow(times(down, 0.9)), narrow(times(down, 0.9 * reach)),
                           (phx_vec3){0, 0, 0});
            b.rest_bend = narrow(forward);
            b = solved(backend, b, defaults());
            assert_sound(&b, defaults());
            assert_below(gap(vec_of(b.mid_position), plus(times(down, 0.45 * reach), times(forward, 0.45 * sqrt(1 - reach * reach)))),
                         1e-4);
        }
    }
}

static void bones_do_not_stretch_unless_asked(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        leg a = solved(backend, hanging((vec){0, 1, 0}, 0.45, 0.45, (vec){0, -0.2, 0}, (vec){0, 0, 1}), defaults());
        assert_sound(&a, defaults());
        assert_below(gap(vec_of(a.mid_position), (vec){0, 0.55, 0}), 1e-3);
        assert_below(gap(vec_of(a.tip_position), (vec){0, 0.1, 0}), 1e-5);
        assert_false(a.result.flags & PHX_FLAG_REACHED);
        random_state r = random_seeded("no stretch", 0xD06);
        for (int i = 0; i < 20000; ++i) {
            const vec target = times(direction(&r), pow(10, uniform(&r, -0.1, 7)));
            leg b = solved(backend, hanging((vec){0, 0, 0}, 0.45, 0.43, target, direction(&r)), defaults());
            assert_sound(&b, defaults());
            assert_below(fabs(norm(vec_of(b.tip_position)) - fmin(norm(target), 0.88)), 1e-6);
            assert_true(b.stretch == 1.0f);
        }
    }
}

/* The pose's hinge, wherever the pole sends the knee: thigh and shin roll into the bend plane alike. */
static void hinges_roll_with_the_bend_plane(void **state) {
    (void)state;
    const double tenth_of_a_degree = 0.1 * 3.14159265358979 / 180;
    FOR_EACH_BACKEND(backend) {
        leg a = hanging((vec){0, 1, 0}, 0.45, 0.45, (vec){0, 0.4, 0}, (vec){1, 0, 0});
        a.rest_bend = (phx_vec3){0, 0, 1}; /* hinge about X */
        a = solved(backend, a, defaults());
        assert_below(gap(vec_of(a.mid_position), (vec){0.33541, 0.7, 0}), 1e-5);
        const vec thigh_hinge = apply(turn_of(a.root_rotation), (vec){1, 0, 0}),
                  shin_hinge = apply(turn_of(a.mid_rotation), (vec){1, 0, 0});
        assert_true(fabs(thigh_hinge.z) > cos(tenth_of_a_degree) && fabs(shin_hinge.z) > cos(tenth_of_a_degree) &&
                    thigh_hinge.z * shin_hinge.z > 0);
        random_state r = random_seeded("roll", 0xD07);
        for (int i = 0; i < 20000; ++i) {
            const vec down = direction(&r), forward = unit(without(direction(&r), down)), hinge = outer(down, forward);
            const vec axis = direction(&r), pole = unit(without(direction(&r), axis));
            leg b = leg_of((phx_vec3){0, 0, 0}, narrow(times(down, 0.45)), narrow(times(down, 0.9)),
                           narrow(times(axis, uniform(&r, 0.1, 0.85))), narrow(pole));
            b.rest_bend = narrow(forward);
            b = solved(backend, b, defaults());
            assert_sound(&b, defaults());
            const vec normal = outer(axis, pole);
            assert_below(angle_between(apply(turn_of(b.root_rotation), hinge), normal), tenth_of_a_degree / 10);
            assert_below(angle_between(apply(turn_of(b.mid_rotation), hinge), normal), tenth_of_a_degree / 10);
        }
    }
}

/* Bones turned onto their opposites, exactly and nearly, along every axis. */
static void opposite_directions_get_a_half_turn(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int k = 0; k < 3 * 2 * 3 * 2; ++k) {
        const int axis = k % 3, sign = k / 3 % 2 ? 1 : -1, tilt = k / 6 % 3, twist = k / 18;
        vec way = {0, 0, 0};
        ((double *)&way)[axis] = sign;
        vec goal = times(way, -0.9);
        if (tilt) ((double *)&goal)[(axis + tilt) % 3] = 0.9e-4;
        phx_two_bone_params params = defaults();
        params.twist = (phx_twist)twist;
        leg a = leg_of((phx_vec3){0, 0, 0}, narrow(times(way, 0.5)), narrow(way), narrow(goal), (phx_vec3){0, 0, 0});
        a = solved(backend, a, params);
        assert_sound(&a, params);
        assert_below(gap(plus(apply(turn_of(a.root_rotation), times(way, 0.5)), apply(turn_of(a.mid_rotation), times(way, 0.5))), goal),
                     1e-5);
    }
}

/* One bone of no length: the other carries the leg; both: the chain is left alone. */
static void bones_without_length_do_no_harm(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        leg a = solved(backend, hanging((vec){0, 0, 0}, 0.45, 0, (vec){0, -0.3, 0}, (vec){0, 0, 1}), defaults());
        assert_sound(&a, defaults());
        assert_below(gap(vec_of(a.mid_position), (vec){0, -0.45, 0}), 1e-6);
        assert_below(gap(vec_of(a.tip_position), (vec){0, -0.45, 0}), 1e-6);
        assert_true(a.result.flags & PHX_FLAG_ZERO_LENGTH);
        a = solved(backend, hanging((vec){0.25, 3, 7}, 0, 0, (vec){0, -0.3, 0}, (vec){0, 0, 1}), defaults());
        assert_true(all_finite(&a));
        assert_memory_equal(&a.mid_position, &a.root, sizeof a.root);
        assert_memory_equal(&a.tip_position, &a.root, sizeof a.root);
        assert_int_equal(a.result.flags, PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
        random_state r = random_seeded("no length", 0xD09);
        for (int i = 0; i < 20000; ++i) {
            const vec aim = times(direction(&r), uniform(&r, 0, 1)), bone = times(direction(&r), 0.45);
            leg b =
                leg_of((phx_vec3){0, 0, 0}, i & 1 ? narrow(bone) : (phx_vec3){0, 0, 0}, narrow(bone), narrow(aim), random_direction(&r));
            if (i & 2) b.weight = random_float(&r, 0, 1);
            phx_two_bone_params params = defaults();
            params.twist = (phx_twist)(i / 4 % 2);
            b = solved(backend, b, params);
            assert_sound(&b, params);
            assert_true(b.result.flags & PHX_FLAG_ZERO_LENGTH);
            if (b.weight == 1) assert_below(gap(vec_of(b.tip_position), times(unit(aim), 0.45)), 2e-6);
        }
    }
}

/* A limb and its mirror image give mirror images. */
static void mirrored_limbs_mirror(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        random_state r = random_seeded("mirror", 0xD10);
        for (int i = 0; i < 20000; ++i) {
            leg a = i ? hanging((vec){uniform(&r, -1, 1), 1, uniform(&r, -1, 1)}, 0.45, uniform(&r, 0.3, 0.5), times(direction(&r), 0.9),
                                direction(&r))
                      : hanging((vec){0.1, 1, 0}, 0.45, 0.43, (vec){0.15, 0.25, 0.2}, (vec){0, 0, 1});
            if (i) a.mid.x += random_float(&r, -0.1f, 0.1f), a.mid.z += random_float(&r, -0.1f, 0.1f);
            leg b = a;
            b.root.x = -a.root.x, b.mid.x = -a.mid.x, b.tip.x = -a.tip.x, b.target.x = -a.target.x, b.pole.x = -a.pole.x;
            a = solved(backend, a, defaults()), b = solved(backend, b, defaults());
            assert_sound(&a, defaults()), assert_sound(&b, defaults());
            if (i == 0) assert_below(gap(vec_of(a.mid_position), (vec){0.12221, 0.66687, 0.30172}), 1e-5);
            b.mid_position.x = -b.mid_position.x, b.tip_position.x = -b.tip_position.x;
            assert_below(gap(vec_of(a.mid_position), vec_of(b.mid_position)), 1e-6);
            assert_below(gap(vec_of(a.tip_position), vec_of(b.tip_position)), 1e-6);
            /* a mirrored rotation keeps x, w and flips y, z */
            const turn mirrored = {b.root_rotation.x, -b.root_rotation.y, -b.root_rotation.z, b.root_rotation.w};
            if (i)
                assert_below(turn_angle(compose(inverse(mirrored), turn_of(a.root_rotation))),
                             2e-5); /* a straight pose's hinge is a choice */
        }
    }
}

/* Scale changes nothing but the scale. */
static void scaled_limbs_scale(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        random_state r = random_seeded("scale", 0xD11);
        for (int i = 0; i < 5000; ++i) {
            const leg a = i ? hanging((vec){uniform(&r, -1, 1), 1, uniform(&r, -1, 1)}, 0.45, uniform(&r, 0.3, 0.5),
                                      times(direction(&r), uniform(&r, 0, 1.2)), direction(&r))
                            : hanging((vec){0.1, 1, 0}, 0.45, 0.43, (vec){0.15, 0.25, 0.2}, (vec){0, 0, 1});
            const leg plain = solved(backend, a, defaults());
            const double upper = gap(vec_of(a.root), vec_of(a.mid)), lower = gap(vec_of(a.mid), vec_of(a.tip)),
                         distance = gap(vec_of(a.root), vec_of(a.target));
            const int bent = distance < 0.97 * (upper + lower) && distance > fabs(upper - lower) + 0.03;
            static const float scales[] = {1e-6f, 0.01f, 0x1p-10f, 100.0f, 1e6f, 0x1p20f};
            for (int k = 0; k < 6; ++k) {
                const double s = scales[k];
                leg b = a;
                b.root = narrow(times(vec_of(a.root), s)), b.mid = narrow(times(vec_of(a.mid), s)), b.tip = narrow(times(vec_of(a.tip), s));
                b.target = narrow(times(vec_of(a.target), s));
                b = solved(backend, b, defaults());
                assert_sound(&b, defaults());
                assert_int_equal(b.result.flags, plain.result.flags);
                assert_below(gap(times(vec_of(b.tip_position), 1 / s), vec_of(plain.tip_position)), 1e-5);
                /* the knee of an all but straight or folded leg moves by the root of a rounding */
                assert_below(gap(times(vec_of(b.mid_position), 1 / s), vec_of(plain.mid_position)), bent ? 1e-5 : 4e-4);
                if (k == 2 || k == 5) /* powers of two: to the bit */
                    assert_memory_equal(&b.root_rotation, &plain.root_rotation, sizeof b.root_rotation);
            }
        }
    }
}

/* Far away, only the coordinates' own grain is lost; given relative to the root, nothing. */
static void far_from_the_origin_angles_hold(void **state) {
    (void)state;
    const vec far = {-490.1, 150.1, 2935.1};
    FOR_EACH_BACKEND(backend) for (int frame = 0; frame < 100; ++frame) {
        const double breath = 1e-3 * sin(frame * 0.2);
        const vec root = {0.1, 1 + breath, 0}, target = {0.15, 0.25, 0.2};
        const leg near = solved(backend, hanging(root, 0.45, 0.43, target, (vec){0, 0, 1}), defaults());
        leg there = solved(backend, hanging(plus(root, far), 0.45, 0.43, plus(target, far), (vec){0, 0, 1}), defaults());
        assert_true(all_finite(&there));
        assert_below(
            angle_between(minus(vec_of(there.mid_position), vec_of(there.root)), minus(vec_of(near.mid_position), vec_of(near.root))),
            0.1 * 3.14159265 / 180);
        assert_below(angle_between(minus(vec_of(there.tip_position), vec_of(there.mid_position)),
                                   minus(vec_of(near.tip_position), vec_of(near.mid_position))),
                     0.1 * 3.14159265 / 180);
        leg relative = there;
        const vec origin = vec_of(there.root);
        relative.root = (phx_vec3){0, 0, 0}, relative.bend = (phx_vec3){0, 0, 0};
        relative.mid = narrow(minus(vec_of(there.mid), origin)), relative.tip = narrow(minus(vec_of(there.tip), origin)),
        relative.target = narrow(minus(vec_of(there.target), origin));
        relative = solved(backend, relative, defaults());
        assert_memory_equal(&relative.root_rotation, &there.root_rotation, sizeof there.root_rotation);
        assert_memory_equal(&relative.mid_rotation, &there.mid_rotation, sizeof there.mid_rotation);
    }
}

/* Every count of legs, each field an array of its own that ends where its last element ends, at every alignment. */
static void tails_and_alignments_change_nothing(void **state) {
    (void)state;
    random_state r = random_seeded("tails", 0xD24);
    leg legs[33], alone[33];
    const phx_backend *reference = phx_backend_find("reference");
    for (int i = 0; i < 33; ++i) {
        legs[i] = hanging((vec){uniform(&r, -9, 9), 1, uniform(&r, -9, 9)}, 0.45, 0.43, (vec){uniform(&r, -9, 9), 0.2, uniform(&r, -9, 9)},
                          direction(&r));
        alone[i] = solved(reference, legs[i], defaults());
    }
    enum { GUARD = 32 };
    static const size_t offsets[] = {0, 1, 4, 8, 16, 60};
    FOR_EACH_BACKEND(backend) for (size_t count = 0; count <= 33; ++count) for (size_t o = 0; o < 6; ++o) {
        const size_t offset = offsets[o];
        static const size_t sizes[] = {12, 12, 12, 12, 12, 12, 16, 16, 12}; /* root mid tip target pole bend, rotations, result */
        char *memory[9];
        for (int f = 0; f < 9; ++f) {
            memory[f] = malloc(offset + GUARD + count * sizes[f] + GUARD);
            memset(memory[f], 0xC3, offset + GUARD + count * sizes[f] + GUARD);
        }
        for (size_t i = 0; i < count; ++i) {
            const phx_vec3 *fields[] = {&legs[i].root, &legs[i].mid, &legs[i].tip, &legs[i].target, &legs[i].pole, &legs[i].bend};
            for (int f = 0; f < 6; ++f) memcpy(memory[f] + offset + GUARD + i * 12, fields[f], 12);
        }
        phx_two_bone_job job = phx_two_bone_job_default();
        job.count = count;
        phx_view *views[] = {&job.root, &job.mid,           &job.tip,          &job.target, &job.pole,
                             &job.bend, &job.root_rotation, &job.mid_rotation, &job.result};
        for (int f = 0; f < 9; ++f) *views[f] = phx_view_of(memory[f] + offset + GUARD, sizes[f]);
        assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
        for (size_t i = 0; i < count; ++i) {
            assert_memory_equal(memory[5] + offset + GUARD + i * 12, &alone[i].bend, 12);
            assert_memory_equal(memory[6] + offset + GUARD + i * 16, &alone[i].root_rotation, 16);
            assert_memory_equal(memory[7] + offset + GUARD + i * 16, &alone[i].mid_rotation, 16);
            assert_memory_equal(memory[8] + offset + GUARD + i * 12, &alone[i].result, 12);
        }
        for (int f = 0; f < 9; ++f) {
            for (size_t b = 0; b < offset + GUARD; ++b) assert_int_equal((unsigned char)memory[f][b], 0xC3);
            for (size_t b = 0; b < GUARD; ++b) assert_int_equal((unsigned char)memory[f][offset + GUARD + count * sizes[f] + b], 0xC3);
            free(memory[f]);
        }
    }
}

/* One bad frame, of any field, leaves no trace in the next. */
static void a_bad_frame_is_forgotten(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e30f, -3e38f};
    FOR_EACH_BACKEND(backend) for (int b = 0; b < 5; ++b) for (int field = 0; field < 12; ++field) for (int full = 0; full < 2; ++full) {
        const leg fine = hanging((vec){0.1, 1, 0}, 0.45, 0.43, (vec){0.15, 0.25, 0.2}, (vec){0, 0, 1});
        leg a = fine;
        phx_vec3 *vectors[] = {&a.root, &a.mid, &a.tip, &a.target, &a.pole, &a.bend, &a.rest_bend};
        if (field < 7) vectors[field]->y = bad[b];
        else if (field == 7) a.weight = bad[b];
        else if (field == 8) a.pole_weight = bad[b];
        else if (field == 9) a.root_local.z = bad[b];
        else if (field == 10) a.tip_local = (phx_quat){0, 0, 0, 0};
        else a.target_rotation = (phx_quat){bad[b], 0, 0, 1};
        phx_two_bone_params params = defaults();
        if (full) params.soft_start = 0.9f, params.max_stretch = 1.2f, params.max_bend = 2.5f, params.max_bend_turn = 1.0f;
        leg first = solved(backend, a, params);
        /* whatever is not an input that is passed through must be a number */
        const phx_quat rotations[] = {first.root_rotation, first.mid_rotation, first.tip_rotation};
        for (int k = 0; k < 3; ++k) assert_below(fabs(turn_norm(turn_of(rotations[k])) - 1), 1e-6);
        assert_true(isfinite(first.bend.x) && isfinite(first.bend.y) && isfinite(first.bend.z) && isfinite(first.result.residual) &&
                    isfinite(first.stretch));
        const int hint = field == 4 || field == 5 || field == 6, infinite_weight = (field == 7 || field == 8) && !isnan(bad[b]);
        if (!hint && !infinite_weight) assert_true(first.result.flags & PHX_FLAG_BAD_INPUT);
        leg second = fine, fresh = fine;
        if (first.result.flags & PHX_FLAG_BAD_INPUT) {
            second.bend = first.bend;
            second = solved(backend, second, params), fresh = solved(backend, fresh, params);
            assert_memory_equal(&second, &fresh, sizeof fresh);
        }
    }
}

/* Ten thousand frames on the remembered bend alone: the foot circles the hip, passes through it, under it and behind it, and the
 * knee never jumps from one side to the other. */
static void remembered_bend_never_flips(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int walk = 0; walk < 4; ++walk) {
        leg a = hanging((vec){0, 0, 0}, 0.45, 0.43, (vec){0, -0.6, 0}, (vec){0, 0, 1});
        vec last = {0, 0, 1};
        for (int frame = 0; frame < 10000; ++frame) {
            const double t = frame * 0.01;
            vec target = {0.5 * sin(t), -0.5 * cos(t), 0.1 * sin(3 * t)};                                    /* around the hip, sideways */
            if (walk == 1) target = (vec){0.02 * cos(t), 0.7 * sin(t), 0}; /* up and down through the hip */
            if (walk == 2) target = (vec){0, -0.9 * cos(t), 0.9 * sin(t)}; /* around, in the bend plane, stretched */
            if (walk == 3) target = (vec){0.6 * sin(1.7 * t), 0.6 * sin(t), 0.6 * sin(1.3 * t)};             /* anywhere */
            a.target = narrow(target);
            if (frame) a.pole = (phx_vec3){0, 0, 0};
            const leg b = solved(backend, a, defaults());
            assert_sound(&b, defaults());
            const vec bend = vec_of(b.bend);
            assert_below(fabs(norm(bend) - 1), 1e-5);
            /* the bend turns no more than the axis did, with a little for a step close by the hip */
            if (frame && walk != 1 && walk != 3) assert_below(angle_between(last, bend), 0.08);
            if (frame) assert_true(inner(last, bend) > 0);
            last = bend, a.bend = b.bend;
        }
    }
}

/* As the target nears full reach the knee closes in steadily: no flip, no jump, no dent. */
static void near_straight_keeps_bend_side(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int soft = 0; soft < 2; ++soft) {
        phx_two_bone_params params = defaults();
        if (soft) params.soft_start = 0.97f;
        leg a = hanging((vec){0, 0, 0}, 0.45, 0.43, (vec){0, -0.8, 0}, (vec){0, 0, 1});
        float last = 1;
        for (int step = 0; step <= 4000; ++step) {
            a.target.y = -0.8f - 0.12f * (float)step / 4000;
            const leg b = solved(backend, a, params);
            assert_sound(&b, params);
            assert_true(b.mid_position.z > 0.0f && b.mid_position.z <= last + 1e-6f);
            last = b.mid_position.z, a.bend = b.bend;
        }
    }
}

/* A knee that may only fold: bones nearly alike, whose folded leg is as short as a rounding. Corrections are unit as two_bone.h says. */
static void folded_knees_turn_by_rotations(void **state) {
    (void)state;
    random_state r = random_seeded("folded knees", 0xF01D);
    FOR_EACH_BACKEND(backend) for (int i = 0; i < 4000; ++i) {
        const double u = uniform(&r, 0.1, 2), l = u * (1 + uniform(&r, -1, 1) * pow(10, uniform(&r, -7, 0)));
        const vec mid = times(direction(&r), u), tip = plus(mid, times(direction(&r), l));
        leg a = leg_of((phx_vec3){0, 0, 0}, narrow(mid), narrow(tip), narrow(times(direction(&r), uniform(&r, 0, 1.3) * (u + l))), random_direction(&r));
        if (i == 0) {
            a = leg_of((phx_vec3){0, 0, 0}, (phx_vec3){0.835846782f, 0.432609081f, -0.764322996f}, (phx_vec3){-0.252161741f, 0.966047764f, -0.786972404f},
                       (phx_vec3){-0.756217122f, 0.193362713f, -0.438863039f}, (phx_vec3){0.0992337465f, -0.33717978f, 0.390283108f});
        }
        phx_two_bone_params params = defaults();
        params.twist = i % 2 ? PHX_TWIST_INHERIT : PHX_TWIST_PLANE;
        params.max_bend = (float)(3.14159265 - (i % 3 ? 0 : pow(10, uniform(&r, -6, 0)))), params.min_bend = i % 5 < 3 ? params.max_bend : (float)uniform(&r, 0, params.max_bend);
        if (i % 7 == 6) params.max_bend = params.min_bend = (float)(i % 2 ? 0 : pow(10, uniform(&r, -6, 0)));
        a = solved(backend, a, params);
        const phx_quat turns[] = {a.root_rotation, a.mid_rotation};
        for (int k = 0; k < 2; ++k) {
            const double x = turns[k].x, y = turns[k].y, z = turns[k].z, w = turns[k].w;
            assert_below(fabs(sqrt(x * x + y * y + z * z + w * w) - 1), 2e-6);
        }
    }
}

/* A weight of 0 leaves the limb as animated: not lengthened, softened or limited, and in no iteration; beside it, at weight 1, it is. */
static void what_is_left_as_animated_has_nothing_done_to_it(void **state) {
    (void)state;
    enum { COUNT = 16 };
    const uint32_t flags[] = {PHX_FLAG_STRETCHED, PHX_FLAG_SOFTENED, PHX_FLAG_LIMIT};
    FOR_EACH_BACKEND(backend) {
        random_state r = random_seeded("left as animated", 0xF1A6);
        for (int i = 0; i < 300; ++i) {
            phx_two_bone_job job = phx_two_bone_job_default();
            phx_vec3 root[COUNT], mid[COUNT], tip[COUNT], target[COUNT], mid_position[COUNT], tip_position[COUNT];
            float weight[COUNT], stretch[COUNT];
            phx_result result[COUNT];
            if (i % 3 == 0) job.params.max_stretch = 1.5f;
            if (i % 3 == 1) job.params.soft_start = 0.8f;
            if (i % 3 == 2) job.params.min_bend = 1.5f;
            job.params.twist = (phx_twist)(i / 3 % 2);
            for (int k = 0; k < COUNT; ++k) {
                const vec at = times(direction(&r), 2), bone = times(direction(&r), 0.45);
                root[k] = narrow(at), mid[k] = narrow(plus(at, bone)), tip[k] = narrow(plus(plus(at, bone), times(direction(&r), 0.4)));
                target[k] = narrow(plus(at, times(direction(&r), 1.0)));
                weight[k] = k % 2 ? (k % 4 == 1 ? 0.0f : -1.0f) : 1.0f;
            }
            job.count = COUNT, job.root = PHX_VIEW_ARRAY(root), job.mid = PHX_VIEW_ARRAY(mid), job.tip = PHX_VIEW_ARRAY(tip);
            job.target = PHX_VIEW_ARRAY(target), job.weight = PHX_VIEW_ARRAY(weight), job.stretch = PHX_VIEW_ARRAY(stretch);
            job.mid_position = PHX_VIEW_ARRAY(mid_position), job.tip_position = PHX_VIEW_ARRAY(tip_position), job.result = PHX_VIEW_ARRAY(result);
            assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
            for (int k = 0; k < COUNT; ++k) {
                if (k % 2 == 0) {
                    assert_true(result[k].flags & flags[i % 3]);
                    assert_int_equal(result[k].iterations, 1);
                    continue;
                }
                assert_memory_equal(&tip_position[k], &tip[k], sizeof *tip);
                assert_memory_equal(&mid_position[k], &mid[k], sizeof *mid);
                assert_int_equal(result[k].flags, PHX_FLAG_OUT_OF_REACH); /* 1 from the root, and 0.85 long */
                assert_int_equal(result[k].iterations, 0);
                assert_true(stretch[k] == 1.0f);
                assert_below(fabs((double)result[k].residual - gap(vec_of(tip[k]), vec_of(target[k]))), 2e-6);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_reach_never_leaves_the_domain),
        cmocka_unit_test(knee_bends_toward_the_pole),
        cmocka_unit_test(target_on_the_root_folds_the_leg),
        cmocka_unit_test(pole_along_the_limb_hands_over_to_the_next_hint),
        cmocka_unit_test(straight_pose_bends_toward_its_rest_bend),
        cmocka_unit_test(bones_do_not_stretch_unless_asked),
        cmocka_unit_test(hinges_roll_with_the_bend_plane),
        cmocka_unit_test(opposite_directions_get_a_half_turn),
        cmocka_unit_test(bones_without_length_do_no_harm),
        cmocka_unit_test(folded_knees_turn_by_rotations),
        cmocka_unit_test(mirrored_limbs_mirror),
        cmocka_unit_test(scaled_limbs_scale),
        cmocka_unit_test(far_from_the_origin_angles_hold),
        cmocka_unit_test(tails_and_alignments_change_nothing),
        cmocka_unit_test(a_bad_frame_is_forgotten),
        cmocka_unit_test(remembered_bend_never_flips),
        cmocka_unit_test(near_straight_keeps_bend_side),
        cmocka_unit_test(what_is_left_as_animated_has_nothing_done_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
