/* The rules of foot placement, one scenario each: locks, bodies, lost and refused ground, edges, levels of detail. Expected numbers
 * are worked out from the rule, as the comments say. */
#include "scenario_run.h"

static const double pi = 3.14159265358979323846;

/* The ball stays put while the animation goes to and fro faster than the speed at which feet lock, and slower than that at which
 * they let go. Drifting at 0.5 m/s the lock opens past 0.2 m, that is 24 frames after the first step of 1/120 m; what is left,
 * 0.2 m at most, dies away by 1 - 2^(-1 / (60 * 0.05)) = 0.2063 a frame: 0.0413 m. */
static void locks_do_not_chatter(void **state) {
    (void)state;
    json_t *root = run_scenario("lock_chatter");
    const point at = point_of(leg_of(frame_of(root, 20), 0), "ball");
    for (size_t f = 2; f < 150; ++f) {
        assert_true(locked(frame_of(root, f), 0));
        if (f >= 20) assert_near("ball of a locked foot", apart(point_of(leg_of(frame_of(root, f), 0), "ball"), at), 0, 1e-3);
    }
    size_t release = 150;
    while (release < frames_of(root) && locked(frame_of(root, release), 0)) ++release;
    assert_in_range(release, 174, 176);
    point last = point_of(leg_of(frame_of(root, release - 1), 0), "lock_offset");
    assert_near("last offset", last.z, -0.2, 0.0085);
    for (size_t f = release; f < release + 5; ++f) {
        const point offset = point_of(leg_of(frame_of(root, f), 0), "lock_offset");
        assert_near("offset", offset.z, last.z * exp2(-1.0 / 3), 1e-5);
        assert_true(apart(offset, last) <= 0.042);
        last = offset;
    }
    json_decref(root);
}

/* A foot that stopped between two frames stood already in the first of them, where it was low: it is locked there, and does not slide by the
 * 6 mm that it still went. One that was 50 mm up then is locked where it came down. */
static void a_foot_that_stops_between_frames_does_not_slide(void **state) {
    (void)state;
    json_t *root = run_scenario("stops_between_frames");
    size_t stop = 1; /* a foot's first frame knows no speed */
    while (stop < frames_of(root) && !locked(frame_of(root, stop), 0)) ++stop;
    assert_in_range(stop, 10, 12);
    for (size_t leg = 0; leg < 2; ++leg) {
        const point before = point_of(leg_of(frame_of(root, stop - 1), leg), "ball");
        for (size_t f = stop; f < frames_of(root); ++f) {
            assert_true(locked(frame_of(root, f), leg));
            assert_near("ball", point_of(leg_of(frame_of(root, f), leg), "ball").z - before.z, leg == 0 ? 0 : 0.006, 1e-5);
        }
    }
    json_decref(root);
}

static point in_platform(point p, size_t frame) {
    const double t = (double)(frame + 1) / 60, angle = 20 * t * pi / 180, x = p.x - 0.8 * t, z = p.z - 0.5 * t;
    return (point){cos(angle) * x - sin(angle) * z, p.y, sin(angle) * x + cos(angle) * z};
}

static void locked_feet_ride_and_turn_with_their_body(void **state) {
    (void)state;
    json_t *root = run_scenario("turning_platform");
    for (size_t leg = 0; leg < 2; ++leg) {
        const char *const ends[] = {"heel", "ball"};
        for (int end = 0; end < 2; ++end) {
            const point first = in_platform(point_of(leg_of(frame_of(root, 0), leg), ends[end]), 0);
            for (size_t f = 0; f < 60; ++f) {
                assert_true(locked(frame_of(root, f), leg));
                assert_near(ends[end], apart(in_platform(point_of(leg_of(frame_of(root, f), leg), ends[end]), f), first), 0, 1e-3);
            }
        }
        /* told in the body's own frame */
        const point lock = point_of(leg_of(frame_of(root, 59), leg), "lock_point"),
                    ball = point_of(leg_of(frame_of(root, 59), leg), "ball");
        assert_near("lock point", apart(in_platform(ball, 59), lock), 0, 1e-3);
    }
    json_decref(root);
}

/* nothing pulls the foot when its body becomes another one that is elsewhere */
static void a_body_that_is_replaced_moves_nobody(void **state) {
    (void)state;
    json_t *root = run_scenario("platform_replaced");
    for (size_t leg = 0; leg < 2; ++leg)
        for (size_t f = 30; f < 60; ++f) {
            const point before = point_of(leg_of(frame_of(root, f - 1), leg), "ball"),
                        after = point_of(leg_of(frame_of(root, f), leg), "ball");
            assert_near("ball", apart(before, after), 0, 0.0277 * 0.2063 + 1e-4); /* what the lock held, easing out at most */
        }
    json_decref(root);
}

/* A cube that rolls onto its next face has no plane any more that the feet could have stood on; the same height is under them, and they
 * stand there as before. Read as a height over the character, the plane that became a wall threw them a million metres off, for good. */
static void a_cube_that_rolls_throws_nobody(void **state) {
    (void)state;
    json_t *root = run_scenario("rolling_cube");
    for (size_t f = 0; f < frames_of(root); ++f)
        for (size_t leg = 0; leg < 2; ++leg) {
            assert_near("ball", point_of(leg_of(frame_of(root, f), leg), "ball").y, 1, 1e-3);
            assert_near("heel", point_of(leg_of(frame_of(root, f), leg), "heel").y, 1, 1e-3);
        }
    json_decref(root);
}

static void feet_ride_a_lift(void **state) {
    (void)state;
    json_t *root = run_scenario("lift");
    for (size_t f = 0; f < frames_of(root); ++f)
        for (size_t leg = 0; leg < 2; ++leg) {
            const double floor = fmin((double)(f + 1), 66) / 60;
            assert_near("heel over the lift", point_of(leg_of(frame_of(root, f), leg), "heel").y - floor, 0, 1e-3);
            assert_near("ball over the lift", point_of(leg_of(frame_of(root, f), leg), "ball").y - floor, 0, 1e-3);
        }
    json_decref(root);
}

/* Held for 0.1 s (6 frames, of which rounding may take the last), then 2^(-1/6) a frame. */
static void lost_ground_is_held_and_then_let_go(void **state) {
    (void)state;
    json_t *root = run_scenario("lost_ground");
    size_t f = 30;
    while (f < 60 && number(leg_of(frame_of(root, f), 0), "weight") == 1) ++f;
    assert_in_range(f, 35, 36);
    double expected = 1, ankle = point_of(leg_of(frame_of(root, f - 1), 0), "ankle").y;
    const double held = ankle, animated = point_of(json_object_get(leg_of(frame_of(root, f), 0), "animated"), "ankle").y;
    for (; f < 60; ++f) {
        assert_near("weight", number(leg_of(frame_of(root, f), 0), "weight"), expected *= exp2(-1.0 / 6), 1e-4);
        assert_near("ankle", point_of(leg_of(frame_of(root, f), 0), "ankle").y, animated + (held - animated) * expected, 5e-3);
    }
    json_decref(root);
}

/* Half-lives of 0.05 s are 3 frames long, and a standing foot comes down in half of it: at most 1 - 2^(-2/3) = 0.37003 a frame. */
static void standing_feet_follow_ground_that_falls_away(void **state) {
    (void)state;
    json_t *root = run_scenario("ground_falls_away");
    for (size_t leg = 0; leg < 2; ++leg) {
        double last = 0;
        for (size_t f = 30; f < 90; ++f) {
            const double heel = point_of(leg_of(frame_of(root, f), leg), "heel").y;
            assert_true(heel <= last + 1e-6 && last - heel <= 0.15 * 0.37003 + 1e-4);
            last = heel;
        }
        assert_near("heel after half a second", point_of(leg_of(frame_of(root, 60), leg), "heel").y, -0.15, 1e-3);
    }
    json_decref(root);
}

static void unusable_hits_are_misses(void **state) {
    (void)state;
    json_t *root = run_scenario("refused_hits");
    for (size_t f = 0; f < 7; ++f) {
        json_t *leg = leg_of(frame_of(root, f), 0);
        assert_near("weight", number(leg, "weight"), 0, 0);
        assert_true(json_is_null(json_object_get(leg, "body")));
        assert_near("ankle moved by", apart(point_of(leg, "ankle"), point_of(json_object_get(leg, "animated"), "ankle")), 0, 1e-6);
    }
    assert_near("a good hit's weight", number(leg_of(frame_of(root, 7), 0), "weight"), 1, 0);
    assert_near("a good hit's ankle", point_of(leg_of(frame_of(root, 7), 0), "ankle").y, 0.18, 1e-3);
    json_decref(root);
}

static void pelvis_ignores_feet_over_the_void(void **state) {
    (void)state;
    json_t *root = run_scenario("over_the_void");
    for (size_t f = 0; f < 5; ++f) {
        assert_near("pelvis", number(frame_of(root, f), "pelvis"), 0, 1e-6);
        assert_near("ankle over the void", point_of(leg_of(frame_of(root, f), 1), "ankle").y, 0.08, 1e-5);
    }
    json_decref(root);
}

static int has_flag(json_t *leg, const char *name) {
    size_t i;
    json_t *flag;
    json_array_foreach(json_object_get(leg, "flags"), i, flag) if (strcmp(json_string_value(flag), name) == 0) return 1;
    return 0;
}

/* and say that they hang over; feet on treads of their own do not */
static void feet_half_over_an_edge_stay_level_on_the_tread(void **state) {
    (void)state;
    json_t *whole = run_scenario("lower_foot");
    for (size_t leg = 0; leg < 2; ++leg) assert_false(has_flag(leg_of(frame_of(whole, 0), leg), "overhangs"));
    json_decref(whole);
    json_t *root = run_scenario("half_over_an_edge");
    for (size_t f = 0; f < frames_of(root); ++f)
        for (size_t leg = 0; leg < 2; ++leg) {
            assert_near("heel", point_of(leg_of(frame_of(root, f), leg), "heel").y, 0, 1e-3);
            assert_near("ball", point_of(leg_of(frame_of(root, f), leg), "ball").y, 0, 1e-3);
            assert_true(has_flag(leg_of(frame_of(root, f), leg), "overhangs"));
        }
    json_decref(root);
}

static void teleport_forgets(void **state) {
    (void)state;
    json_t *there = run_scenario("teleport"), *fresh = run_scenario("fresh");
    json_t *after = frame_of(there, frames_of(there) - 1), *alone = frame_of(fresh, 0);
    assert_true(json_equal(json_object_get(after, "legs"), json_object_get(alone, "legs")));
    assert_true(json_equal(json_object_get(after, "pelvis"), json_object_get(alone, "pelvis")));
    json_decref(there), json_decref(fresh);
}

/* the same corrections again; the pelvis alone, so that the legs hang 0.17 lower; nothing */
static void levels_of_detail_do_as_much_as_they_say(void **state) {
    (void)state;
    json_t *root = run_scenario("levels_of_detail");
    const double ankles[4][2] = {{0.08, -0.17}, {0.08, -0.17}, {-0.09, -0.09}, {0.08, 0.08}}, pelvis[4] = {0.73, 0.73, 0.73, 0.9};
    const size_t frames[4] = {29, 39, 49, 59};
    for (int i = 0; i < 4; ++i) {
        json_t *frame = frame_of(root, frames[i]);
        for (size_t leg = 0; leg < 2; ++leg) assert_near("ankle", point_of(leg_of(frame, leg), "ankle").y, ankles[i][leg], 1e-3);
        assert_near("pelvis", point_of(frame, "pelvis_position").y, pelvis[i], 1e-3);
    }
    json_decref(root);
}

/* what a leg says of itself: its ankle is as far from its target as its residual, also where a swinging foot gave way */
static void residuals_are_honest_on_stairs(void **state) {
    (void)state;
    const char *const names[] = {"stairs_by_ramp", "stairs_by_capsule", "slope_uphill", "over_the_void"};
    for (int i = 0; i < 4; ++i) {
        json_t *root = run_scenario(names[i]);
        for (size_t f = 0; f < frames_of(root); ++f)
            for (size_t l = 0; l < 2; ++l) {
                json_t *leg = leg_of(frame_of(root, f), l);
                const point ankle = point_of(leg, "ankle"), target = point_of(leg, "target");
                const double off = sqrt((ankle.x - target.x) * (ankle.x - target.x) + (ankle.y - target.y) * (ankle.y - target.y) + (ankle.z - target.z) * (ankle.z - target.z));
                assert_near("residual", number(leg, "residual"), off, 2e-5);
            }
        json_decref(root);
    }
}

/* on stairs a swinging sole may graze a tread, by a centimetre at most */
static void swinging_feet_clear_the_risers(void **state) {
    (void)state;
    const char *const names[] = {"stairs_by_ramp", "stairs_by_capsule"};
    for (int i = 0; i < 2; ++i) {
        json_t *root = run_scenario(names[i]);
        double deepest = 0;
        for (size_t f = 24; f < frames_of(root); ++f)
            for (size_t leg = 0; leg < 2; ++leg) {
                const point heel = point_of(leg_of(frame_of(root, f), leg), "heel"),
                            ball = point_of(leg_of(frame_of(root, f), leg), "ball");
                deepest = fmin(deepest, fmin(heel.y - tread_under(heel.z), ball.y - tread_under(ball.z)));
            }
        printf("# %s: deepest %.1f mm\n", names[i], deepest * 1e3);
        assert_true(deepest >= -0.002);
        json_decref(root);
    }
}

/* three legs on ground of three heights, walking on a turning body: in any order the same feet and the same pelvis, bit for bit */
static void the_order_of_legs_does_not_matter(void **state) {
    (void)state;
    const char *const legs[3] = {"{\"name\": \"a\", \"hip\": [0.2, 0.9, 0]}", "{\"name\": \"b\", \"hip\": [-0.2, 0.9, 0.1]}",
                                 "{\"name\": \"c\", \"hip\": [0, 0.92, -0.2]}"};
    const char *const ankles[3] = {
        "{\"ankle\": {\"position\": {\"sine\": {\"amplitude\": [0, 0.05, 0.1], \"period\": 0.7}}}}",
        "{\"ankle\": {\"position\": {\"sine\": {\"amplitude\": [0.02, 0.04, 0.1], \"period\": 0.5, \"phase\": 0.3}}}}", "null"};
    const int orders[3][3] = {{0, 1, 2}, {2, 0, 1}, {1, 0, 2}};
    json_t *roots[3];
    for (int o = 0; o < 3; ++o) {
        char text[4096];
        const int *k = orders[o];
        snprintf(
            text, sizeof text,
            "{\"legs\": [%s, %s, %s], \"bodies\": [{}], \"ground\": {\"boxes\": ["
            "{\"min\": [0.1, -1, -1], \"max\": [1, 0.05, 1], \"body\": 0}, {\"min\": [-1, -1, 0], \"max\": [0.1, -0.12, 1], \"body\": 0}, "
            "{\"min\": [-0.5, -1, -1], \"max\": [0.1, 0, 0]}]}, \"frames\": [{\"repeat\": 60, \"legs\": [%s, %s, %s], "
            "\"bodies\": [{\"rotation\": {\"axis\": [0, 1, 0], \"degrees\": {\"velocity\": 10}}}]}]}",
            legs[k[0]], legs[k[1]], legs[k[2]], ankles[k[0]], ankles[k[1]], ankles[k[2]]);
        roots[o] = run_scenario_text(text);
    }
    for (int o = 1; o < 3; ++o)
        for (size_t f = 0; f < 60; ++f) {
            json_t *one = frame_of(roots[0], f), *other = frame_of(roots[o], f);
            if (!json_equal(json_object_get(one, "pelvis"), json_object_get(other, "pelvis")))
                fail_msg("order %d: pelvis of frame %zu", o, f);
            for (size_t leg = 0; leg < 3; ++leg)
                if (!json_equal(leg_of(one, (size_t)orders[o][leg]), leg_of(other, leg)))
                    fail_msg("order %d: leg %zu of frame %zu", o, leg, f);
        }
    assert_true(number(frame_of(roots[0], 30), "pelvis") < -0.01); /* something was asked of it */
    for (int o = 0; o < 3; ++o) json_decref(roots[o]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_do_not_chatter),
        cmocka_unit_test(a_foot_that_stops_between_frames_does_not_slide),
        cmocka_unit_test(locked_feet_ride_and_turn_with_their_body),
        cmocka_unit_test(a_body_that_is_replaced_moves_nobody),
        cmocka_unit_test(a_cube_that_rolls_throws_nobody),
        cmocka_unit_test(feet_ride_a_lift),
        cmocka_unit_test(lost_ground_is_held_and_then_let_go),
        cmocka_unit_test(standing_feet_follow_ground_that_falls_away),
        cmocka_unit_test(unusable_hits_are_misses),
        cmocka_unit_test(pelvis_ignores_feet_over_the_void),
        cmocka_unit_test(feet_half_over_an_edge_stay_level_on_the_tread),
        cmocka_unit_test(teleport_forgets),
        cmocka_unit_test(levels_of_detail_do_as_much_as_they_say),
        cmocka_unit_test(the_order_of_legs_does_not_matter),
        cmocka_unit_test(residuals_are_honest_on_stairs),
        cmocka_unit_test(swinging_feet_clear_the_risers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
