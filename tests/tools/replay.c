/* `phalanx feet --capture` and `phalanx replay`: a captured frame of a scenario replays to the same bits on every backend, and the
 * numbers printed are those that the scenario printed. */
#include "run_tool.h"
#include "temporary.h"

#include <jansson.h>

#define SCENARIOS PHALANX_SOURCE_DIR "/tests/scenarios/"

static char capture_path[256];

static json_t *json_of(const char *arguments) {
    int status;
    char *text = run_tool(arguments, &status);
    assert_int_equal(status, 0);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static void a_captured_frame_replays_on_every_backend(void **state) {
    (void)state;
    const struct {
        const char *scenario;
        int frame;
    } cases[] = {{"stairs_by_ramp", 57}, {"slope_downhill", 0}, {"bad_frames", 1}, {"turning_platform", 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char arguments[1024];
        snprintf(arguments, sizeof arguments, "feet '" SCENARIOS "%s.json' --json --capture %s --capture-frame %d", cases[i].scenario,
                 capture_path, cases[i].frame);
        json_t *run = json_of(arguments), *frame = json_array_get(json_object_get(run, "frames"), (size_t)cases[i].frame);
        FOR_EACH_BACKEND(backend) {
            snprintf(arguments, sizeof arguments, "replay %s --json --backend %s", capture_path, phx_backend_name(backend));
            json_t *replay = json_of(arguments), *character = json_array_get(json_object_get(replay, "characters"), 0);
            assert_int_equal(json_integer_value(json_object_get(replay, "different")), 0);
            for (size_t leg = 0; leg < 2; ++leg) {
                json_t *before = json_array_get(json_object_get(frame, "legs"), leg),
                       *after = json_array_get(json_object_get(character, "legs"), leg);
                const char *const members[] = {"plane",    "target", "bend", "locked", "lock_point", "weight", "support",
                                               "residual", "flags",  "knee", "ankle",  "heel",       "ball",   "animated"};
                for (size_t m = 0; m < sizeof members / sizeof *members; ++m)
                    if (!json_equal(json_object_get(before, members[m]), json_object_get(after, members[m])))
                        fail_msg("%s on %s: '%s' of leg %zu is not what it was", cases[i].scenario, phx_backend_name(backend), members[m],
                                 leg);
            }
            json_decref(replay);
        }
        json_decref(run);
    }
}

/* some of a crowd in motion, captured while two threads work on it */
static void a_crowd_in_motion_replays(void **state) {
    (void)state;
    char arguments[1024];
    int status;
    snprintf(arguments, sizeof arguments,
             "demo --characters 300 --frames 20 --threads 2 --ground stairs --capture %s --capture-frame 17 --capture-first 50 "
             "--capture-count 90 "
             ">/dev/null 2>&1",
             capture_path);
    free(run_tool(arguments, &status));
    assert_int_equal(status, 0);
    FOR_EACH_BACKEND(backend) {
        snprintf(arguments, sizeof arguments, "replay %s --json --backend %s", capture_path, phx_backend_name(backend));
        json_t *replay = json_of(arguments), *characters = json_object_get(replay, "characters");
        assert_int_equal(json_array_size(characters), 90);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(characters, 89), "character")), 139);
        assert_int_equal(json_integer_value(json_object_get(replay, "different")), 0);
        json_decref(replay);
    }
}

static void a_page_is_written_with_the_data_in_it(void **state) {
    (void)state;
    char arguments[1024], page[256];
    temporary_template(page, sizeof page, "page");
    assert_true(mkstemp(page) >= 0);
    int status;
    snprintf(arguments, sizeof arguments,
             "feet '" SCENARIOS "slope_uphill.json' --capture %s >/dev/null && '" PHALANX_CLI "' replay %s --report %s", capture_path,
             capture_path, page);
    char *text = run_tool(arguments, &status);
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "every output the same bits"));
    free(text);
    FILE *file = fopen(page, "r");
    assert_non_null(file);
    char *content = calloc(1, 1 << 20);
    const size_t size = fread(content, 1, (1 << 20) - 1, file);
    fclose(file);
    assert_true(size > 4000);
    assert_null(strstr(content, "/*DATA*/"));
    char *data = strstr(content, "const data = ");
    assert_non_null(data);
    json_error_t error;
    json_t *root = json_loads(data + strlen("const data = "), JSON_DISABLE_EOF_CHECK, &error);
    if (!root) fail_msg("the page's data is no JSON: %s", error.text);
    /* bones 9 + 6, targets 8, planes 10, rays 4, locks 8, limits 1 */
    assert_int_equal(json_array_size(json_object_get(root, "lines")), 46);
    json_decref(root);
    free(content);
    remove(page);
}

static void what_differs_is_named(void **state) {
    (void)state;
    char arguments[1024];
    int status;
    snprintf(arguments, sizeof arguments, "feet '" SCENARIOS "fresh.json' --capture %s >/dev/null", capture_path);
    free(run_tool(arguments, &status));
    assert_int_equal(status, 0);
    static unsigned char bytes[1 << 16];
    FILE *file = fopen(capture_path, "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const struct {
        int flip, seal;
        size_t cut;
        const char *words;
    } cases[] = {
        {0, 0, 1, "capture is cut"},
        {0, 0, size - 50, "not a capture"},
        {1, 0, 0, "its checksum does not match"},
        {1, 1, 0, "1 character differs; first character 0: its pose at joint 9"}, /* the last word: the right ball's rotation */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        static unsigned char copy[1 << 16];
        memcpy(copy, bytes, size);
        if (cases[i].flip) copy[size - 4] ^= 1;
        if (cases[i].seal) { /* FNV-1a from word 4 on, in words 2 and 3 */
            uint64_t hash = 0xCBF29CE484222325u;
            for (size_t k = 16; k < size; ++k) hash = (hash ^ copy[k]) * 0x100000001B3u;
            for (int k = 0; k < 8; ++k) copy[8 + k] = (unsigned char)(hash >> 8 * k);
        }
        file = fopen(capture_path, "wb");
        fwrite(copy, 1, size - cases[i].cut, file);
        fclose(file);
        snprintf(arguments, sizeof arguments, "replay %s 2>&1 >/dev/null", capture_path);
        char *said = run_tool(arguments, &status);
        if (status != 1 || !strstr(said, cases[i].words)) fail_msg("status %d, said: %s expected in it: %s", status, said, cases[i].words);
        free(said);
    }
    free(run_tool("replay /nowhere/to/be/found 2>/dev/null", &status));
    assert_int_equal(status, 1);
    free(run_tool("replay 2>/dev/null", &status));
    assert_int_equal(status, 2);
}

int main(void) {
    temporary_template(capture_path, sizeof capture_path, "capture");
    if (mkstemp(capture_path) < 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_frame_replays_on_every_backend),
        cmocka_unit_test(a_crowd_in_motion_replays),
        cmocka_unit_test(a_page_is_written_with_the_data_in_it),
        cmocka_unit_test(what_differs_is_named),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(capture_path);
    return failed;
}
