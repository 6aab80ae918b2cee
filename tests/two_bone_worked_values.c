/* The worked values of the two-bone method, on every backend: equal bones of 1 m, hint +Y, target in reach and beyond it. */
#include "two_bone_oracle.h"

static leg unit_leg(phx_vec3 target) {
    return leg_of((phx_vec3){0, 0, 0}, (phx_vec3){1, 0, 0}, (phx_vec3){1, 1, 0}, target, (phx_vec3){0, 1, 0});
}

static void elbow_stands_at_half_and_root_three_halves(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) for (int twist = 0; twist < 2; ++twist) {
        phx_two_bone_params params = phx_two_bone_params_default();
        params.twist = (phx_twist)twist;
        const leg a = solved(backend, unit_leg((phx_vec3){1, 0, 0}), params);
        assert_sound(&a, params);
        assert_below(gap(vec_of(a.mid_position), (vec){0.5, sqrt(3) / 2, 0}), 5e-7);
        assert_below(gap(vec_of(a.tip_position), (vec){1, 0, 0}), 5e-7);
        assert_below(gap(vec_of(a.bend), (vec){0, 1, 0}), 1e-7);
        assert_int_equal(a.result.flags, PHX_FLAG_REACHED);
        assert_int_equal(a.result.iterations, 1);
        assert_below(a.result.residual, 2e-6);
    }
}

static void beyond_reach_the_tip_stands_two_metres_out(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const leg a = solved(backend, unit_leg((phx_vec3){3, 0, 0}), phx_two_bone_params_default());
        assert_sound(&a, phx_two_bone_params_default());
        assert_below(gap(vec_of(a.tip_position), (vec){2, 0, 0}), 2e-6);
        assert_below(fabs(a.result.residual - 1), 2e-6);
        assert_int_equal(a.result.flags, PHX_FLAG_OUT_OF_REACH);
    }
}

static void corrections_are_the_turns_that_geometry_asks_for(void **state) {
    (void)state;
    /* thigh from +X to 60 degrees; shin from +Y to -60 degrees: turns of 60 and -150 degrees about Z, by either twist rule */
    FOR_EACH_BACKEND(backend) for (int twist = 0; twist < 2; ++twist) {
        phx_two_bone_params params = phx_two_bone_params_default();
        params.twist = (phx_twist)twist;
        leg a = unit_leg((phx_vec3){1, 0, 0});
        if (twist == 0) a.tip = (phx_vec3){1, -1, 0}; /* a pose that bends to the same side: the hinge needs no roll */
        a = solved(backend, a, params);
        const double shin_turn = twist == 0 ? 30 : -150, degree = 3.14159265358979 / 180;
        assert_below(turn_angle(compose(inverse(about((vec){0, 0, 1}, 60 * degree)), turn_of(a.root_rotation))), 2e-6);
        assert_below(turn_angle(compose(inverse(about((vec){0, 0, 1}, shin_turn * degree)), turn_of(a.mid_rotation))), 2e-6);
    }
}

static void no_length_no_answer(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        leg a = unit_leg((phx_vec3){1, 0, 0});
        a.mid = a.tip = a.root;
        a = solved(backend, a, phx_two_bone_params_default());
        assert_int_equal(a.result.flags, PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
        assert_int_equal(a.result.iterations, 0);
        assert_below(gap(vec_of(a.tip_position), (vec){0, 0, 0}), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elbow_stands_at_half_and_root_three_halves),
        cmocka_unit_test(beyond_reach_the_tip_stands_two_metres_out),
        cmocka_unit_test(corrections_are_the_turns_that_geometry_asks_for),
        cmocka_unit_test(no_length_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
