/* The README's C code is the examples' code, the examples run, and what the README says they print is what they print; and the tests that
 * tests/README.md names for each reported failure are there. */
#define _POSIX_C_SOURCE 200809L /* popen */
#include "support.h"

static const char *const examples[] = {"first", "chain", "look", "crowd", "ferry"};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static char *text_of(FILE *file) {
    enum { MOST = 1 << 20 };
    char *text = malloc(MOST);
    assert_non_null(text);
    const size_t size = fread(text, 1, MOST - 1, file);
    assert_true(size < MOST - 1);
    text[size] = 0;
    return text;
}

static char *text_at(const char *path) {
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", PHALANX_SOURCE_DIR, path);
    FILE *file = fopen(full, "rb");
    if (!file) fail_msg("%s cannot be read", full);
    char *text = text_of(file);
    fclose(file);
    return text;
}

/* Takes the indentation out of every line, so that a piece of a function may be quoted from the margin on. */
static void strip(char *text) {
    char *to = text;
    int start = 1;
    for (const char *from = text; *from; ++from) {
        if (start && (*from == ' ' || *from == '\t')) continue;
        start = *from == '\n';
        *to++ = *from;
    }
    *to = 0;
}

static void every_piece_of_c_is_a_piece_of_an_example(void **state) {
    (void)state;
    char *readme = text_at("README.md"), *sources[EXAMPLES + 1];
    for (int e = 0; e < EXAMPLES; ++e) {
        char path[64];
        snprintf(path, sizeof path, "examples/%s.c", examples[e]);
        sources[e] = text_at(path);
        strip(sources[e]);
    }
    sources[EXAMPLES] = text_at("examples/biped.h");
    strip(sources[EXAMPLES]);
    int pieces = 0;
    for (char *piece = readme; (piece = strstr(piece, "\n```c\n")) != NULL; ++pieces) {
        piece += strlen("\n```c\n");
        char *end = strstr(piece, "\n```");
        assert_non_null(end);
        const size_t length = (size_t)(end + 1 - piece);
        char *quoted = malloc(length + 1);
        assert_non_null(quoted);
        memcpy(quoted, piece, length);
        quoted[length] = 0;
        strip(quoted);
        int found = 0;
        for (int e = 0; e <= EXAMPLES; ++e) found |= strstr(sources[e], quoted) != NULL;
        if (!found) fail_msg("no file of examples/ holds these lines of the README:\n%s", quoted);
        free(quoted);
        piece = end;
    }
    assert_in_range(pieces, 3, 100);
    for (int e = 0; e <= EXAMPLES; ++e) free(sources[e]);
    free(readme);
}

static void examples_print_what_the_readme_says(void **state) {
    (void)state;
    char *readme = text_at("README.md");
    for (int e = 0; e < EXAMPLES; ++e) {
        char command[4096];
        snprintf(command, sizeof command, "'%s/%s'", PHALANX_EXAMPLES, examples[e]);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        char *printed = text_of(pipe);
        assert_int_equal(pclose(pipe), 0);
        assert_true(strlen(printed) > 40);
        if (!strstr(readme, printed)) fail_msg("examples/%s prints this, and the README does not:\n%s", examples[e], printed);
        free(printed);
    }
    free(readme);
}

/* "- **D07** kind: `file.c: function`, ..." for each of D01 to D27: the function is in that file, and among the tests that it runs. */
static void every_reported_failure_has_its_tests(void **state) {
    (void)state;
    char *list = text_at("tests/README.md");
    int tests = 0;
    for (int id = 1; id <= 27; ++id) {
        char mark[16];
        snprintf(mark, sizeof mark, "\n- **D%02d** ", id);
        char *entry = strstr(list, mark);
        if (!entry) fail_msg("tests/README.md: D%02d is missing", id);
        char *end = strstr(entry + 1, "\n- **D");
        const int before = tests;
        for (char *at = strchr(entry, '`'); at && (!end || at < end); at = strchr(strchr(at + 1, '`') + 1, '`'), ++tests) {
            char file[128], function[128], wanted[160];
            if (sscanf(at, "`%127[^:]: %127[^`]`", file, function) != 2) fail_msg("D%02d: '%.60s' is no `file: test`", id, at);
            char path[160];
            snprintf(path, sizeof path, "tests/%s", file);
            char *source = text_at(path);
            snprintf(wanted, sizeof wanted, "static void %s(void **state)", function);
            const int there = strstr(source, wanted) != NULL;
            snprintf(wanted, sizeof wanted, "cmocka_unit_test(%s)", function);
            int runs = strstr(source, wanted) != NULL;
            snprintf(wanted, sizeof wanted, "cmocka_unit_test_teardown(%s,", function);
            runs |= strstr(source, wanted) != NULL;
            if (!there || !runs) fail_msg("D%02d: %s has no test %s that it runs", id, path, function);
            free(source);
        }
        if (tests == before) fail_msg("D%02d: no test is named", id);
    }
    assert_true(tests > 50);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_of_c_is_a_piece_of_an_example),
        cmocka_unit_test(examples_print_what_the_readme_says),
        cmocka_unit_test(every_reported_failure_has_its_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
