/* Every status and every flag has a name of its own, and what is none has none. */
#include "support.h"

static void statuses_have_names(void **state) {
    (void)state;
    for (int a = PHX_OK; a <= PHX_ERROR_STATE; ++a) {
        assert_non_null(phx_status_name((phx_status)a));
        assert_true(strlen(phx_status_name((phx_status)a)) > 1);
        assert_string_not_equal(phx_status_name((phx_status)a), phx_status_name((phx_status)99));
        for (int b = PHX_OK; b < a; ++b) assert_string_not_equal(phx_status_name((phx_status)a), phx_status_name((phx_status)b));
    }
}

static void flags_have_the_names_that_the_manual_gives(void **state) {
    (void)state;
    static const char *const names[] = {"reached", "out_of_reach", "too_close", "hint_unusable", "limit", "stalled",
                                        "bad_input", "zero_length", "softened", "stretched", "bend_held", "inactive", "overhangs"};
    for (uint32_t bit = 0; bit < 13; ++bit) assert_string_equal(phx_flag_name((phx_flag)(1u << bit)), names[bit]);
    assert_null(phx_flag_name((phx_flag)0));
    assert_null(phx_flag_name((phx_flag)3));
    assert_null(phx_flag_name((phx_flag)(1u << 13)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(statuses_have_names), cmocka_unit_test(flags_have_the_names_that_the_manual_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
