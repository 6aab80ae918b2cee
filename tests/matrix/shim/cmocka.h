/* As much of cmocka as the library's tests use, for processors and systems that Debian has no cmocka for: a failed assertion names its
 * place and ends the program with status 1. Not used where cmocka is. */
#ifndef PHALANX_TEST_CMOCKA_SHIM_H
#define PHALANX_TEST_CMOCKA_SHIM_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};
#define cmocka_unit_test(function) {#function, function}

static inline void shim_check(int holds, const char *text, const char *file, int line) {
    if (holds) return;
    printf("FAILED: %s, %s:%d\n", text, file, line);
    fflush(stdout);
    exit(1);
}
static inline void print_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}
#define print_message print_error
#define _fail(file, line) shim_check(0, "fail", file, line)
#define fail() shim_check(0, "fail()", __FILE__, __LINE__)
#define fail_msg(...) (print_error(__VA_ARGS__), fail())
#define assert_true(a) shim_check((a) != 0, #a, __FILE__, __LINE__)
#define assert_false(a) shim_check(!(a), "not " #a, __FILE__, __LINE__)
#define assert_null(a) shim_check((a) == NULL, #a " is NULL", __FILE__, __LINE__)
#define assert_non_null(a) shim_check((a) != NULL, #a " is not NULL", __FILE__, __LINE__)
#define assert_ptr_equal(a, b) shim_check((const void *)(a) == (const void *)(b), #a " == " #b, __FILE__, __LINE__)
#define assert_int_equal(a, b) shim_check((long long)(a) == (long long)(b), #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) shim_check((long long)(a) != (long long)(b), #a " != " #b, __FILE__, __LINE__)
#define assert_float_equal(a, b, apart) shim_check(fabs((double)(a) - (double)(b)) <= (double)(apart), #a " near " #b, __FILE__, __LINE__)
#define assert_string_equal(a, b) shim_check(strcmp((a), (b)) == 0, #a " == " #b, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) shim_check(strcmp((a), (b)) != 0, #a " != " #b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) shim_check(memcmp((a), (b), (size)) == 0, #a " == " #b, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, size) shim_check(memcmp((a), (b), (size)) != 0, #a " != " #b, __FILE__, __LINE__)
#define assert_in_range(a, low, high) shim_check((a) >= (low) && (a) <= (high), #a " in range", __FILE__, __LINE__)

#define cmocka_run_group_tests(tests, setup, teardown) shim_run((tests), sizeof(tests) / sizeof *(tests))
static inline int shim_run(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        void *state = NULL;
        printf("%s\n", tests[i].name);
        fflush(stdout);
        tests[i].run(&state);
    }
    printf("%d tests passed\n", (int)count);
    return 0;
}

#if defined(_WIN32)
/* Windows frees aligned memory by another call: these programs end before it matters. */
#include <malloc.h>
#define aligned_alloc(alignment, size) _aligned_malloc((size), (alignment))
#define free(memory) ((void)(memory))
#endif

#endif
