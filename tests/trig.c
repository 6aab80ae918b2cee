/* Errors of the library's own sine, cosine, arc tangent and power of two against double precision, over dense sweeps. The
 * bounds are those that lane/trig.h states; tests/lane_ops.c shows that the lanes have the same bits. */
#include "support.h"
#include "reference/scalar.h"

static void sine_and_cosine(void **state) {
    (void)state;
    double worst_near = 0, worst_far = 0;
    for (int i = -4000000; i <= 4000000; ++i) {
        const float x = (float)i * 2.5e-5f; /* |x| <= 100 */
        float s, c;
        sincos1(x, &s, &c);
        worst_near = fmax(worst_near, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    }
    for (int i = -2000000; i <= 2000000; ++i) {
        const float x = (float)i * 4.096e-3f; /* |x| <= 8192 */
        float s, c;
        sincos1(x, &s, &c);
        worst_far = fmax(worst_far, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    }
    printf("# sine, cosine: %.3g up to 100, %.3g up to 8192\n", worst_near, worst_far);
    assert_true(worst_near <= 1e-7);
    assert_true(worst_far <= 1e-7);
}

static void sine_and_cosine_of_the_first_quarter(void **state) {
    (void)state;
    double worst = 0;
    const float end = 1.57079637f;
    for (int i = 0; i <= 4000000; ++i) {
        const float x = end * ((float)i / 4000000.0f);
        float s, c;
        sincos_quarter1(x, &s, &c);
        worst = fmax(worst, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
        assert_true(s >= 0.0f && c >= -1e-7f && s <= 1.0f && c <= 1.0f);
    }
    printf("# first quarter: %.3g\n", worst);
    assert_true(worst <= 1e-7);
}

static void arc_tangent(void **state) {
    (void)state;
    random_state r = random_seeded("arc tangent", 0x7816);
    double worst = 0, worst_relative = 0;
    for (int i = 0; i < 4000000; ++i) {
        const double angle = -3.14159265358979 + 6.28318530717958 * i / 4000000.0;
        const double radius = pow(10, random_float(&r, -15, 15));
        const float y = (float)(radius * sin(angle)), x = (float)(radius * cos(angle));
        worst = fmax(worst, fabs(atan2_1(y, x) - atan2(y, x)));
        /* small angles keep their digits */
        const float small = (float)pow(10, random_float(&r, -20, -1));
        worst_relative = fmax(worst_relative, fabs(atan2_1(small, 1.0f) / atan2(small, 1.0) - 1));
    }
    printf("# arc tangent: %.3g, small angles %.3g relative\n", worst, worst_relative);
    assert_true(worst <= 3e-7);
    assert_true(worst_relative <= 2e-7);
    assert_true(atan2_1(0.0f, 0.0f) == 0.0f && atan2_1(0.0f, 1.0f) == 0.0f && !signbit(atan2_1(0.0f, 1.0f)) &&
                signbit(atan2_1(-0.0f, 1.0f)));
    assert_true(atan2_1(1.0f, 0.0f) == 1.57079637f && atan2_1(-1.0f, 0.0f) == -1.57079637f);
    assert_true(atan2_1(0.0f, -1.0f) == 3.14159274f && atan2_1(-0.0f, -1.0f) == -3.14159274f);
}

static void power_of_two(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i <= 8000000; ++i) {
        const float x = -126.0f + 253.0f * ((float)i / 8000000.0f);
        worst = fmax(worst, fabs(exp2_1(x) / exp2(x) - 1));
    }
    printf("# power of two: %.3g relative\n", worst);
    assert_true(worst <= 1e-7);
    for (int n = -126; n <= 127; ++n) assert_true(exp2_1((float)n) == ldexpf(1.0f, n));
    assert_true(exp2_1(-126.001f) == 0.0f && exp2_1(-INFINITY) == 0.0f && exp2_1(200.0f) == 0x1p127f && exp2_1(INFINITY) == 0x1p127f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_and_cosine),
        cmocka_unit_test(sine_and_cosine_of_the_first_quarter),
        cmocka_unit_test(arc_tangent),
        cmocka_unit_test(power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
