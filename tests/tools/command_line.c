/* What all commands do alike, and small things of single ones: output that goes nowhere, files that cannot be written, ranges that do not
 * fit, the names of things in sentences. */
#define _DEFAULT_SOURCE
#include "support.h"

#include <stdbool.h>
#include <time.h>

#include "io/common.h"
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

/* One new file in two spellings would hold one output and lose the other; two of one name in two folders are two. */
static void a_new_file_spelled_twice_is_one(void **state) {
    (void)state;
    char folder[256], other[256], names[6][600], here[512];
    snprintf(folder, sizeof folder, "%s", scratch("spelled")), snprintf(other, sizeof other, "%s", scratch("other"));
    assert_int_equal(mkdir(folder, 0777) | mkdir(other, 0777), 0);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(symlink(folder, "link"), 0);
    snprintf(names[0], sizeof *names, "%s/q", folder), snprintf(names[1], sizeof *names, "q"), snprintf(names[2], sizeof *names, "./q");
    snprintf(names[3], sizeof *names, "../spelled//q"), snprintf(names[4], sizeof *names, "link/q"), snprintf(names[5], sizeof *names, "%s/q", other);
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b) {
            if ((a == 5 || b == 5) && (a + b < 9 || a == b)) continue; /* another folder, with one spelling */
            const int status = run_tool("demo --characters 1 --frames 1 --json '%s' --report '%s'", names[a], names[b]);
            if (a == 5 || b == 5) {
                assert_int_equal(status, 0);
                assert_true(file_exists(names[a]) && file_exists(names[b]));
                assert_int_equal(unlink(names[a]) | unlink(names[b]), 0);
                continue;
            }
            assert_int_equal(status, 2);
            says("--json and --report are both"), says("one would be lost");
            assert_false(file_exists("q"));
        }
    const bytes file = standing_bvh();
    write_bytes("standing.bvh", file.at, file.size);
    free(file.at);
    assert_int_equal(run_tool("bake standing.bvh --ground flat -o q.glb --json ./q.glb"), 2);
    says("one would be lost");
    assert_false(file_exists("q.glb"));
    assert_int_equal(chdir(here), 0);
}

/* What a rename would do unasked: make a file of a link that leads nowhere, write over one that is read-only. */
static void links_to_nowhere_and_read_only_files_stay(void **state) {
    (void)state;
    const char *link = scratch("dangling"), *nowhere = scratch("nowhere.json"), *live = scratch("live");
    assert_int_equal(symlink(nowhere, link), 0);
    assert_int_equal(run_tool("demo --characters 1 --frames 1 --json %s", link), 1);
    says("dangling: cannot be written: it is a link that leads nowhere; remove it");
    assert_false(file_exists(nowhere));
    io_error error;
    assert_false(io_write_file(link, "new", 3, &error));
    write_bytes(nowhere, "old", 3);
    assert_int_equal(symlink(nowhere, live), 0);
    assert_int_equal(run_tool("demo --characters 1 --frames 1 --json %s", live), 0);
    struct stat status;
    assert_true(lstat(live, &status) == 0 && S_ISLNK(status.st_mode));
    assert_true(stat(nowhere, &status) == 0 && status.st_size > 3);

    char folder[256], kept[300];
    snprintf(folder, sizeof folder, "%s", scratch("")), snprintf(kept, sizeof kept, "%s/kept.json", folder);
    write_bytes(kept, "old", 3);
    assert_int_equal(chmod(kept, 0444) | chmod(folder, 0777), 0);
    const pid_t child = fork(); /* root may write what it likes: as nobody, who may make files beside it */
    if (child == 0) _exit(geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0) ? 77
                          : io_can_write(kept, &error) || !strstr(error.text, "Permission denied") || io_write_file(kept, "new", 3, &error) ? 1 : 0);
    int result;
    assert_true(waitpid(child, &result, 0) == child && WIFEXITED(result));
    if (WEXITSTATUS(result) == 77) {
        printf("skipped: root cannot drop its rights here, and may write read-only files\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_true(stat(kept, &status) == 0 && status.st_size == 3);
}

static void hashes_that_cannot_be_written_are_no_wrong_answers(void **state) {
    (void)state;
    const time_t start = time(NULL);
    assert_int_equal(run_tool("verify --update /nope/x 2>/dev/null | cat"), 0);
    assert_string_equal(tool_said, "");
    assert_int_equal(run_tool("verify --update /nope/x"), 1);
    says("phalanx verify: --update: /nope/x: cannot be written: No such file or directory\n");
    assert_null(strstr(tool_said, "answers"));
    assert_true(time(NULL) - start < 5); /* before the work, which takes half a minute */
}

static void help_names_the_version_option(void **state) {
    (void)state;
    assert_int_equal(run_tool("--help"), 0);
    says("--version");
}

/* A number that is wrong is shown, and the range that it is to be in. */
static void numbers_out_of_range_are_shown_with_it(void **state) {
    (void)state;
    static const struct {
        const char *offset, *frames, *time, *words[2];
    } cases[] = {
        {"0 0 0", "-7", "0.1", {"line 8 has '-7'", "a whole number of frames, below 1e9,"}},
        {"0 0 0", "1.5", "0.1", {"line 8 has '1.5'", "a whole number of frames"}},
        {"0 1e37 0", "1", "0.1", {"line 4 has '1e37'", "between -1e9 and 1e9"}},
        {"0 0 0", "1", "1e300", {"line 9 has '1e300'", "seconds from frame to frame, below 1e9"}},
    };
    const char *bvh = scratch("numbers.bvh");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        const int n = snprintf(text, sizeof text, "HIERARCHY\nROOT a\n{\nOFFSET %s\nCHANNELS 3 Zrotation Xrotation Yrotation\n}\nMOTION\nFrames: %s\nFrame Time: %s\n0 0 0\n",
                               cases[i].offset, cases[i].frames, cases[i].time);
        write_bytes(bvh, text, (size_t)n);
        assert_int_equal(run_tool("inspect '%s'", bvh), 1);
        says(cases[i].words[0]), says(cases[i].words[1]);
    }
}

/* One frame that takes no time is played at 30 a second, and that is said; one of a tenth of a second is what it is. And one is no plural. */
static void a_frame_time_that_is_guessed_is_noted(void **state) {
    (void)state;
    const char *bvh = scratch("one.bvh");
    for (int said = 0; said < 2; ++said) {
        char text[400];
        const int n = snprintf(text, sizeof text, "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n}\nMOTION\nFrames: 1\nFrame Time: %s\n0 0 0\n",
                               said ? "0.1" : "0");
        write_bytes(bvh, text, (size_t)n);
        assert_int_equal(run_tool("inspect '%s'", bvh), 0);
        says(said ? "1 frame at 10 a second" : "1 frame at 30 a second"), says("\n1 joint, ");
        assert_int_equal(strstr(tool_said, "the frame time is 0 s; 30 frames a second is a guess") == NULL, said);
    }
    assert_int_equal(run_tool("demo --characters 1 --frames 1"), 0);
    says("\n1 frame at ");
}

/* Two million characters for a million frames would take days: the complaint comes first. */
static void what_cannot_be_written_is_said_before_the_work(void **state) {
    (void)state;
    static const char *const options[] = {"--json", "--report", "--capture"};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        const time_t start = time(NULL);
        assert_int_equal(run_tool("demo --characters 2000000 --frames 1000000 %s /nowhere/at/all", options[i]), 1);
        says(options[i]), says("/nowhere/at/all: cannot be written: No such file or directory");
        assert_int_equal(run_tool("demo --characters 2000000 --frames 1000000 %s '%s'", options[i], scratch(".")), 1);
        says("/.: cannot be written: Is a directory");
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
        cmocka_unit_test(a_new_file_spelled_twice_is_one),
        cmocka_unit_test(links_to_nowhere_and_read_only_files_stay),
        cmocka_unit_test(hashes_that_cannot_be_written_are_no_wrong_answers),
        cmocka_unit_test(help_names_the_version_option),
        cmocka_unit_test(numbers_out_of_range_are_shown_with_it),
        cmocka_unit_test(a_frame_time_that_is_guessed_is_noted),
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
