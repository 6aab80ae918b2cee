/* The caller's floating-point mode: two-bone solving leaves it as it was, every backend agrees with the reference where it rounds to
 * nearest, and but for rounding errors where it does not, flushing denormals changes nothing for limbs of ordinary size, and ordinary input
 * raises no exception and fires no trap. */
#define _GNU_SOURCE
#include "two_bone_oracle.h"
#include <fenv.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned mode_now(void) { return _mm_getcsr() & ~0x3Fu; } /* without the sticky exception bits */
static void set_mode(unsigned mode) { _mm_setcsr(mode); }
enum { FLUSH = 0x8040, DOWN = 0x2000, UP = 0x4000, TOWARD_ZERO = 0x6000 };
static int to_nearest(unsigned mode) { return !(mode & TOWARD_ZERO); }
static const unsigned modes[] = {0x1F80, 0x1F80 | FLUSH, 0x1F80 | DOWN, 0x1F80 | UP, 0x1F80 | TOWARD_ZERO, 0x1F80 | FLUSH | UP};
#else
static unsigned mode_now(void) { return (unsigned)fegetround(); }
static void set_mode(unsigned mode) { fesetround((int)mode); }
static int to_nearest(unsigned mode) { return (int)mode == FE_TONEAREST; }
static const unsigned modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
#endif
enum { MODES = sizeof modes / sizeof *modes, LEGS = 1000 };

static phx_vec3 along(phx_vec3 a, phx_vec3 d, float s) { return (phx_vec3){a.x + d.x * s, a.y + d.y * s, a.z + d.z * s}; }

static void fill(random_state *r, leg *legs) {
    for (int i = 0; i < LEGS; ++i) {
        const phx_vec3 root = {random_float(r, -9, 9), random_float(r, -9, 9), random_float(r, -9, 9)};
        const phx_vec3 mid = along(root, random_direction(r), random_float(r, 0.3f, 0.5f));
        const phx_vec3 tip = along(mid, random_direction(r), random_float(r, 0.3f, 0.5f));
        legs[i] = leg_of(root, mid, tip, along(root, random_direction(r), random_float(r, 0, 1.2f)), random_direction(r));
        legs[i].root_local = random_rotation(r), legs[i].mid_local = random_rotation(r), legs[i].tip_local = random_rotation(r);
        legs[i].target_rotation = random_rotation(r), legs[i].weight = random_float(r, -0.1f, 1.2f), legs[i].bend = random_direction(r);
        if (i % 16 == 0) legs[i].target = legs[i].root;
        if (i % 16 == 1) legs[i].tip = legs[i].mid;
        if (i % 16 == 2) legs[i].pole = (phx_vec3){0, 0, 0}, legs[i].bend = (phx_vec3){0, 0, 0};
        if (i % 16 == 3) legs[i].mid = along(root, (phx_vec3){0, -1, 0}, 0.4f), legs[i].tip = along(root, (phx_vec3){0, -1, 0}, 0.8f);
    }
}

static phx_two_bone_params params_of(int k) {
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = (phx_twist)(k & 1);
    if (k & 2)
        params.soft_start = 0.9f, params.max_stretch = 1.1f, params.max_bend = 2.5f, params.min_bend = 0.1f, params.max_bend_turn = 0.5f;
    return params;
}

static void solving_keeps_the_mode_and_backends_agree_in_it(void **state) {
    (void)state;
    random_state r = random_seeded("floating-point modes", 0xF10A7);
    static leg input[LEGS], expected[LEGS], actual[LEGS];
    fill(&r, input);
    const unsigned before = mode_now();
    const phx_backend *reference = phx_backend_find("reference");
    FOR_EACH_BACKEND(backend) for (int m = 0; m < MODES; ++m) for (int k = 0; k < 4; ++k) {
        memcpy(expected, input, sizeof input), memcpy(actual, input, sizeof input);
        const phx_two_bone_job plain = job_over(expected, LEGS, params_of(k)), lanes = job_over(actual, LEGS, params_of(k));
        set_mode(modes[m]);
        const phx_status a = phx_two_bone_solve(reference, &plain), b = phx_two_bone_solve(backend, &lanes);
        const unsigned after = mode_now();
        set_mode(before);
        assert_true(a == PHX_OK && b == PHX_OK);
        assert_int_equal(after, modes[m]);
        if (to_nearest(modes[m])) assert_int_equal(first_difference(expected, actual, sizeof actual), -1);
        else
            for (int i = 0; i < LEGS; ++i) /* a straight knee moves by the root of a rounding */
                assert_below(gap(vec_of(expected[i].tip_position), vec_of(actual[i].tip_position)), 5e-4);
    }
}

static void flushed_denormals_and_other_roundings_change_next_to_nothing(void **state) {
    (void)state;
    random_state r = random_seeded("flushed denormals", 0xF10A8);
    static leg input[LEGS], plain[LEGS], other[LEGS];
    fill(&r, input);
    const unsigned before = mode_now();
    for (int m = 0; m < MODES; ++m) {
        memcpy(plain, input, sizeof input), memcpy(other, input, sizeof input);
        const phx_two_bone_job a = job_over(plain, LEGS, params_of(0)), b = job_over(other, LEGS, params_of(0));
        assert_int_equal(phx_two_bone_solve(phx_backend_best(), &a), PHX_OK);
        set_mode(modes[m]);
        const phx_status status = phx_two_bone_solve(phx_backend_best(), &b);
        set_mode(before);
        assert_int_equal(status, PHX_OK);
        for (int i = 0; i < LEGS; ++i) {
            assert_true(all_finite(&other[i]));
            assert_below(gap(vec_of(plain[i].tip_position), vec_of(other[i].tip_position)),
                         5e-4); /* a straight knee moves by the root of a rounding */
#if defined(__x86_64__)
            if (modes[m] == (0x1F80 | FLUSH)) { /* to the bit, but for numbers that are next to zero themselves */
                assert_below(gap(vec_of(plain[i].tip_position), vec_of(other[i].tip_position)), 1e-37);
                assert_below(gap(vec_of(plain[i].mid_position), vec_of(other[i].mid_position)), 1e-37);
            }
#endif
        }
    }
}

/* Any size, and every option: soft starts up to a rounding below 1, limits at both ends, bones without length. */
static phx_two_bone_params any_params(random_state *r) {
    static const float soft[] = {1e-3f, 0.5f, 0.9f, 0.99f, 0.999f, 0.9999f, 0.999999f, 0.99999994f, 1};
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = (phx_twist)random_below(r, 2);
    params.soft_start = soft[random_below(r, 9)];
    if (random_below(r, 2)) params.max_stretch = random_float(r, 1, 3);
    if (random_below(r, 2)) params.max_bend = random_below(r, 3) ? random_float(r, 0, 3.14159274f) : 0;
    if (random_below(r, 3) == 0) params.min_bend = random_below(r, 2) ? params.max_bend : params.max_bend * random_float(r, 0, 1);
    if (random_below(r, 2)) params.max_bend_turn = random_float(r, 0, 3);
    return params;
}
static void any_size(random_state *r, leg *legs) {
    const float scale = powf(10, random_float(r, -4, 6));
    fill(r, legs);
    for (int i = 0; i < LEGS; ++i) {
        const uint32_t kind = random_below(r, 12);
        if (kind == 0 || kind == 2) legs[i].tip = legs[i].mid;
        if (kind == 1 || kind == 2) legs[i].mid = legs[i].root;
        if (kind == 2) legs[i].tip = legs[i].root;
        if (kind == 3) legs[i].tip = legs[i].root; /* folded */
        if (kind == 4) legs[i].target = legs[i].tip;
        phx_vec3 *const places[] = {&legs[i].root, &legs[i].mid, &legs[i].tip, &legs[i].target};
        for (int k = 0; k < 4; ++k) *places[k] = along((phx_vec3){0, 0, 0}, *places[k], scale);
    }
}

/* A trap fires where an exception is raised: none of those that matter is, tails and degenerate but valid legs included. And with the traps
 * enabled the solve gets through, and leaves them enabled. */
static void valid_input_raises_no_exception(void **state) {
    (void)state;
    random_state r = random_seeded("exceptions", 0xF10A9);
    static leg given[LEGS], legs[LEGS];
    for (int k = 0; k < 120; ++k) {
        if (k % 2) any_size(&r, given);
        else fill(&r, given);
        const phx_two_bone_params params = k < 8 ? params_of(k / 2) : any_params(&r);
        const size_t count = LEGS - random_below(&r, 16);
        for (uint32_t b = 0; b <= 8; ++b) {
            const phx_backend *backend = b == 0 ? phx_backend_find("reference") : phx_backend_at(b - 1);
            if (!backend) break;
            memcpy(legs, given, sizeof legs);
            const phx_two_bone_job job = job_over(legs, count, params);
            feclearexcept(FE_ALL_EXCEPT);
            assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
            const int raised = fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
            if (raised)
                print_error("%s, round %d: %s%s%s\n", phx_backend_name(backend), k, raised & FE_INVALID ? "invalid " : "",
                            raised & FE_DIVBYZERO ? "division " : "", raised & FE_OVERFLOW ? "overflow" : "");
            assert_int_equal(raised, 0);
#if defined(__GLIBC__) && defined(__x86_64__)
            memcpy(legs, given, sizeof legs);
            feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
            const phx_status status = phx_two_bone_solve(backend, &job);
            const int enabled = fegetexcept();
            fedisableexcept(FE_ALL_EXCEPT);
            assert_int_equal(status, PHX_OK);
            assert_int_equal(enabled, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solving_keeps_the_mode_and_backends_agree_in_it),
        cmocka_unit_test(flushed_denormals_and_other_roundings_change_next_to_nothing),
        cmocka_unit_test(valid_input_raises_no_exception),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
