/* Which backends are there, in what order, and what names that do not exist get. */
#include "support.h"

static void reference_is_always_last(void **state) {
    (void)state;
    uint32_t n = 0;
    while (phx_backend_at(n)) ++n;
    assert_true(n >= 2);
    assert_string_equal(phx_backend_name(phx_backend_at(n - 1)), "reference");
    assert_int_equal(phx_backend_lanes(phx_backend_at(n - 1)), 1);
    assert_ptr_equal(phx_backend_best(), phx_backend_at(0));
}

static void best_is_the_widest(void **state) {
    (void)state;
    for (uint32_t i = 1; phx_backend_at(i); ++i) assert_true(phx_backend_lanes(phx_backend_at(i)) < phx_backend_lanes(phx_backend_at(i - 1)));
}

static void names_find_their_backend_and_unknown_names_none(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) assert_ptr_equal(phx_backend_find(phx_backend_name(backend)), backend);
    assert_null(phx_backend_find("mmx"));
    assert_null(phx_backend_find(""));
    assert_null(phx_backend_find(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_always_last),
        cmocka_unit_test(best_is_the_widest),
        cmocka_unit_test(names_find_their_backend_and_unknown_names_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
