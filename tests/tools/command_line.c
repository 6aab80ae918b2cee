/* What all commands do alike, and small things of single ones: output that goes nowhere, files that cannot be written, ranges that do not
 * fit, the names of things in sentences. */
#define _DEFAULT_SOURCE
#include "support.h"

#include <stdbool.h>
#include <time.h>

#include "made_files.h"
#include "tool.h"

static void says(const char *words) {
    if (!strstr(tool_said, words)) fail_msg("'%s' is not in: %s", words, tool_said);
}

static void a_full_disk_is_no_success(void **state) {
    (void)state;
    if (!file_exists("/dev/full")) {
        printf("skipped: there is no /dev/full\n");
        skip();
    }
    static const char *const commands[] = {"--help", "--version", "help", "backends", "demo --help", "solve --help", "verify --help"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        char command[512];
        snprintf(command, sizeof command, "'%s' %s 2>&1 >/dev/full", PHALANX_CLI, commands[i]);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        tool_said[fread(tool_said, 1, sizeof tool_said - 1, pipe)] = 0;
        assert_int_equal(WEXITSTATUS(pclose(pipe)), 1);
        says("standard output cannot be written");
        assert_int_equal(run_tool("%s", commands[i]), 0);
    }
}

/* Two million characters for a million frames would take days: the complaint comes first. */
static void what_cannot_be_written_is_said_before_the_work(void **state) {
    (void)state;
    static const char *const options[] = {"--json", "--report", "--capture"};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        const time_t start = time(NULL);
        assert_int_equal(run_tool("demo --characters 2000000 --frames 1000000 %s /nowhere/at/all", options[i]), 1);
        says(options[i]), says("/nowhere/at/all: cannot be written: No such file or directory");
        assert_int_equal(run_tool("demo --characters 2000000 --frames 1000000 %s /tmp", options[i]), 1);
        says("/tmp: cannot be written: Is a directory");
        assert_true(time(NULL) - start < 60);
    }
    /* asking leaves what is there alone, and nothing where nothing was */
    const char *kept = scratch("kept.json"), *never = scratch("never.html");
    write_bytes(kept, "old", 3);
    assert_int_equal(run_tool("demo --characters 9 --frames 2 --ground nowhere.png --json %s --report %s", kept, never), 1);
    FILE *file = fopen(kept, "r");
    char text[8] = {0};
    assert_int_equal(fread(text, 1, 7, file), 3);
    fclose(file);
    assert_string_equal(text, "old");
    assert_false(file_exists(never));
}

static void captures_hold_what_was_asked_for(void **state) {
    (void)state;
    const char *capture = scratch("frame");
    assert_int_equal(run_tool("demo --characters 10 --frames 2 --capture %s --capture-first 5 --capture-count 6", capture), 2);
    says("--capture-count: '6' is no whole number from 1 to 5");
    assert_int_equal(run_tool("demo --characters 10 --frames 2 --capture %s --capture-first 10", capture), 2);
    says("--capture-first: '10' is no whole number from 0 to 9");
    assert_int_equal(run_tool("demo --characters 10 --frames 2 --capture %s --capture-count 11", capture), 2);
    assert_int_equal(run_tool("demo --characters 10 --frames 2 --capture %s --capture-frame 2", capture), 2);
    assert_false(file_exists(capture));
    static const struct {
        const char *options;
        int holds;
    } good[] = {{"--capture-first 5 --capture-count 5", 5}, {"--capture-first 9", 1}, {"", 10}, {"--capture-count 3", 3}};
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        assert_int_equal(run_tool("demo --characters 10 --frames 2 --capture %s %s", capture, good[i].options), 0);
        assert_int_equal(run_tool("replay %s", capture), 0);
        char words[64];
        snprintf(words, sizeof words, ": %d character%s on", good[i].holds, good[i].holds > 1 ? "s" : "");
        says(words);
    }
}

static void standard_input_is_called_so(void **state) {
    (void)state;
    static const char *const commands[] = {"feet -", "replay -", "solve -"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        assert_int_equal(run_tool("%s < /dev/null", commands[i]), 1);
        says("standard input"), assert_null(strstr(tool_said, "/dev/stdin"));
    }
    const char *scene = scratch("scene.json");
    static const char nine[] = "{\"legs\": [1,2,3,4,5,6,7,8,9], \"frames\": [{}]}", three[] = "{\"frames\": [{\"legs\": [null,null,null]}]}";
    write_bytes(scene, nine, sizeof nine - 1);
    assert_int_equal(run_tool("feet - < %s", scene), 1);
    says("standard input: legs is [1,2,3,4,5,6,7,8,9]: it must be a list of 1 to 8 legs, and holds 9");
    write_bytes(scene, three, sizeof three - 1);
    assert_int_equal(run_tool("feet - < %s", scene), 1);
    says("standard input: frames[0].legs is [null,null,null]: it must list all 2 legs"), says("and lists 3");
}

/* A clip that has no name is asked for by no name: an empty one names it, and not the first. */
static void an_empty_clip_name_is_a_name(void **state) {
    (void)state;
    const char *bvh = scratch("standing.bvh"), *out = scratch("out.glb");
    const bytes file = standing_bvh();
    write_bytes(bvh, file.at, file.size);
    free(file.at);
    assert_int_equal(run_tool("bake '%s' --clip '' --ground flat -o '%s'", bvh, out), 1);
    says("has no clip ''; it has ");
    assert_false(file_exists(out));
    assert_int_equal(run_tool("bake '%s' --ground flat -o '%s'", bvh, out), 0);
    assert_true(file_exists(out));
}

/* A crowd of one holds a tile of 64; what one character takes is a sixty-fourth of that, in text and in JSON. */
static void memory_of_one_character_is_not_that_of_a_tile(void **state) {
    (void)state;
    const char *bvh = scratch("standing.bvh"), *out = scratch("out.glb"), *json = scratch("out.json");
    const bytes file = standing_bvh();
    write_bytes(bvh, file.at, file.size);
    free(file.at);
    assert_int_equal(run_tool("bake '%s' --ground flat -o '%s' --json '%s'", bvh, out, json), 0);
    says("bytes a character, in tiles of 64");
    json_t *root = read_json(json);
    assert_true(fabs(json_at(root, "memory.bytes_per_character") * 64 - json_at(root, "memory.bytes")) < 1);
    json_decref(root);
    assert_int_equal(run_tool("demo --characters 65 --frames 2 --json '%s'", json), 0);
    root = read_json(json);
    assert_true(fabs(json_at(root, "memory.bytes_per_character") * 128 - json_at(root, "memory.bytes")) < 1);
    json_decref(root);
}

/* 60 degrees is what feet stand on by default. */
static void a_slope_too_steep_to_stand_on_is_noted(void **state) {
    (void)state;
    static const int steep[] = {61, 75, -70}, walkable[] = {59, 30, -59, 0};
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(run_tool("demo --characters 4 --frames 3 --ground slope:%d", steep[i]), 0);
        says("is steeper than feet stand on (max_slope, 60 degrees)");
    }
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(run_tool("demo --characters 4 --frames 3 --ground slope:%d", walkable[i]), 0);
        assert_null(strstr(tool_said, "steeper"));
    }
}

static void columns_of_the_skeleton_have_a_heading(void **state) {
    (void)state;
    const char *bvh = scratch("standing.bvh");
    const bytes file = standing_bvh();
    write_bytes(bvh, file.at, file.size);
    free(file.at);
    assert_int_equal(run_tool("inspect '%s'", bvh), 0);
    const char *heading = strstr(tool_said, "\n  joint "), *first = strstr(tool_said, "\n  Hips ");
    assert_true(heading && first && heading < first);
    /* the numbers stand under their words */
    const char *bone = strstr(heading, "bone"), *length = strpbrk(first + 1, "0123456789");
    assert_true(bone && length && labs((bone - heading) - (length - first)) <= 2);
}

static void an_option_given_twice_is_refused(void **state) {
    (void)state;
    assert_int_equal(run_tool("demo --characters 4 --frames 3 --characters 5"), 2);
    says("--characters is given twice");
    assert_int_equal(run_tool("demo --characters 4 --frames=3 --frames 3"), 2);
    says("--frames is given twice");
}

/* A name with a hole in it would be cut; the parser's own words for that speak of a flag that nobody at a prompt can set. */
static void holes_in_json_are_named_in_plain_words(void **state) {
    (void)state;
    const char *file = scratch("hole.json");
    static const char text[] = "{\"id\": \"a\\u0000b\"}";
    write_bytes(file, text, sizeof text - 1);
    static const char *const commands[] = {"solve", "feet"};
    for (size_t i = 0; i < 2; ++i) {
        assert_int_equal(run_tool("%s '%s'", commands[i], file), 1);
        says("\\u0000 has no place in a name or a text");
        assert_null(strstr(tool_said, "JSON_"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_given_twice_is_refused),
        cmocka_unit_test(holes_in_json_are_named_in_plain_words),
        cmocka_unit_test(a_full_disk_is_no_success),
        cmocka_unit_test(what_cannot_be_written_is_said_before_the_work),
        cmocka_unit_test(captures_hold_what_was_asked_for),
        cmocka_unit_test(standard_input_is_called_so),
        cmocka_unit_test(an_empty_clip_name_is_a_name),
        cmocka_unit_test(memory_of_one_character_is_not_that_of_a_tile),
        cmocka_unit_test(a_slope_too_steep_to_stand_on_is_noted),
        cmocka_unit_test(columns_of_the_skeleton_have_a_heading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
