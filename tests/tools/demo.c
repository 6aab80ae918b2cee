/* `phalanx demo`: its JSON, one hash for every backend and thread count, its report, what it refuses. */
#define _DEFAULT_SOURCE
#include "support.h"

#include <stdbool.h>

#include "shared_files.h"
#include "tool.h"

static void json_has_every_key(void **state) {
    (void)state;
    const char *json = scratch("demo.json");
    assert_int_equal(run_tool("demo --characters 300 --frames 40 --json %s", json), 0);
    json_t *root = read_json(json);
    static const char *const numbers[] = {"lanes",
                                          "threads",
                                          "characters",
                                          "feet",
                                          "frames",
                                          "seed",
                                          "ns_per_foot.pose",
                                          "ns_per_foot.rays",
                                          "ns_per_foot.ground",
                                          "ns_per_foot.solve",
                                          "ns_per_foot.write_back",
                                          "ns_per_foot.total",
                                          "frame_ms.median",
                                          "frame_ms.p99",
                                          "reference.ns_per_foot_total",
                                          "reference.speedup"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) json_at(root, numbers[i]);
    static const char *const kinds[] = {"flat", "before", "after"};
    static const char *const spreads[] = {"penetration_mm", "gap_mm", "slide_mm"};
    static const char *const counts[] = {"knee_flips", "max_bone_length_error", "unreached", "non_finite"};
    char keys[128];
    for (int k = 0; k < 3; ++k) {
        for (int s = 0; s < 3; ++s) {
            double at[3];
            static const char *const shares[] = {"p50", "p99", "max"};
            for (int p = 0; p < 3; ++p) {
                snprintf(keys, sizeof keys, "quality.%s.%s.%s", kinds[k], spreads[s], shares[p]);
                at[p] = json_at(root, keys);
            }
            assert_true(0 <= at[0] && at[0] <= at[1] && at[1] <= at[2]);
        }
        for (int c = 0; c < 4; ++c) {
            snprintf(keys, sizeof keys, "quality.%s.%s", kinds[k], counts[c]);
            json_at(root, keys);
        }
    }
    assert_string_equal(json_string_value(json_object_get(root, "version")), PHX_VERSION);
    assert_string_equal(json_string_value(json_object_get(root, "backend")), phx_backend_name(phx_backend_best()));
    const char *hash = json_string_value(json_object_get(root, "hash"));
    assert_non_null(hash);
    assert_int_equal(strlen(hash), 16);
    assert_int_equal(strspn(hash, "0123456789abcdef"), 16);
    assert_int_equal(json_at(root, "characters"), 300);
    assert_int_equal(json_at(root, "feet"), 600);
    assert_int_equal(json_at(root, "frames"), 40);
    const double parts = json_at(root, "ns_per_foot.pose") + json_at(root, "ns_per_foot.rays") + json_at(root, "ns_per_foot.solve") +
                         json_at(root, "ns_per_foot.write_back");
    assert_true(fabs(json_at(root, "ns_per_foot.total") - parts) < 1e-3 * parts);
    json_decref(root);
}

static char *hash_of(const char *arguments) {
    const char *json = scratch("hash.json");
    if (run_tool("demo --characters 333 --frames 30 %s --json %s", arguments, json) != 0) fail_msg("demo %s: %s", arguments, tool_said);
    json_t *root = read_json(json);
    char *hash = strdup(json_string_value(json_object_get(root, "hash")));
    json_decref(root);
    return hash;
}

static void every_backend_and_thread_count_returns_the_same_poses(void **state) {
    (void)state;
    char *expected = hash_of("--backend reference"), arguments[128];
    FOR_EACH_BACKEND(backend) {
        for (int threads = 1; threads <= 4; ++threads) {
            snprintf(arguments, sizeof arguments, "--backend %s --threads %d", phx_backend_name(backend), threads);
            char *hash = hash_of(arguments);
            assert_string_equal(hash, expected);
            free(hash);
        }
    }
    char *other = hash_of("--seed 2");
    assert_string_not_equal(other, expected);
    free(other);
    other = hash_of("--ground flat");
    assert_string_not_equal(other, expected);
    free(other);
    free(expected);
}

static void feet_stand_better_than_before(void **state) {
    (void)state;
    const char *json = scratch("quality.json");
    assert_int_equal(run_tool("demo --characters 256 --frames 150 --json %s", json), 0);
    json_t *root = read_json(json);
    assert_true(json_at(root, "quality.before.penetration_mm.p99") > 10); /* the hills are worth correcting for */
    assert_true(json_at(root, "quality.after.penetration_mm.p99") <= 0.25 * json_at(root, "quality.before.penetration_mm.p99"));
    assert_true(json_at(root, "quality.after.gap_mm.p99") <= 0.25 * json_at(root, "quality.before.gap_mm.p99"));
    assert_true(json_at(root, "quality.flat.penetration_mm.max") < 1);
    assert_int_equal(json_at(root, "quality.after.knee_flips"), 0);
    assert_int_equal(json_at(root, "quality.after.non_finite"), 0);
    assert_true(json_at(root, "quality.after.max_bone_length_error") < 1e-5);
    json_decref(root);
}

static void the_report_is_one_page_that_needs_nothing_else(void **state) {
    (void)state;
    const char *report = scratch("report.html");
    assert_int_equal(run_tool("demo --characters 20 --frames 30 --report %s", report), 0);
    FILE *file = fopen(report, "rb");
    assert_non_null(file);
    char *text = calloc(1, 8 << 20);
    const size_t size = fread(text, 1, (8 << 20) - 1, file);
    fclose(file);
    assert_true(size > 20000 && size < (8 << 20) - 1);
    assert_non_null(strstr(text, "</html>"));
    assert_null(strstr(text, "://"));
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "@import"));
    /* the data is whole JSON */
    char *data = strstr(text, "<script type=\"application/json\" id=\"data\">");
    assert_non_null(data);
    data = strchr(data, '>') + 1;
    char *end = strstr(data, "</script>");
    assert_non_null(end);
    *end = 0;
    json_error_t error;
    json_t *root = json_loads(data, 0, &error);
    if (root == NULL) fail_msg("the report's data: %s", error.text);
    assert_int_equal(json_at(root, "figures.characters"), 20);
    assert_true(json_array_size(json_object_get(root, "walkers")) >= 1);
    json_decref(root);
    free(text);
}

static void walks_a_character_from_a_file_on_a_ground_from_a_file(void **state) {
    (void)state;
    const char *character = shared_file(0, "ozz_pab/pab_walk.dae"), *ground = shared_file(1, "terrain_misc/DEM-kootenai_37x50_1x1.asc");
    const char *json = scratch("file.json");
    if (run_tool("demo --characters 50 --frames 60 --character '%s' --ground '%s' --json %s", character, ground, json) != 0)
        fail_msg("%s", tool_said);
    json_t *root = read_json(json);
    assert_int_equal(json_at(root, "feet"), 100);
    assert_true(json_at(root, "quality.after.penetration_mm.p99") < json_at(root, "quality.before.penetration_mm.p99"));
    assert_int_equal(json_at(root, "quality.after.non_finite"), 0);
    json_decref(root);
}

static void figures_to_standard_output_are_nothing_but_json(void **state) {
    (void)state;
    char command[2048];
    snprintf(command, sizeof command, "'%s' demo --characters 5 --frames 3 --json - 2>/dev/null", PHALANX_CLI);
    FILE *pipe = popen(command, "r");
    json_error_t error;
    json_t *root = json_loadf(pipe, 0, &error);
    assert_non_null(root);
    assert_int_equal(pclose(pipe), 0);
    json_decref(root);
}

static void what_is_wrong_is_refused_in_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *arguments;
        int status;
        const char *says;
    } cases[] = {
        {"--characters 0", 2, "--characters"},
        {"--characters many", 2, "many"},
        {"--frames -3", 2, "--frames"},
        {"--threads 0", 2, "--threads"},
        {"--seed 1.5", 2, "--seed"},
        {"--nonsense", 2, "--nonsense"},
        {"--ground", 2, "--ground"},
        {"extra", 2, "extra"},
        {"--clip walk", 2, "--character"},
        {"--backend sse9", 1, "sse9"},
        {"--ground nowhere.png", 1, "nowhere.png"},
        {"--character nobody.glb", 1, "nobody.glb"},
        {"--json /nowhere/at/all.json", 1, "/nowhere/at/all.json"},
        {"--json same.out --capture same.out", 2, "--json and --capture"},
        {"--json /dev/null --ground same.out --capture same.out", 2, "--ground and --capture"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *json = scratch("refused.json"), *report = scratch("refused.html");
        const bool own = strstr(cases[i].arguments, "--json") != NULL;
        const int status = run_tool("demo %s %s --report %s %s%s %s", strstr(cases[i].arguments, "--characters") ? "" : "--characters 4",
                                    strstr(cases[i].arguments, "--frames") ? "" : "--frames 2", report, own ? "" : "--json ", own ? "" : json,
                                    cases[i].arguments);
        if (status != cases[i].status || strstr(tool_said, cases[i].says) == NULL)
            fail_msg("demo %s: %d: %s", cases[i].arguments, status, tool_said);
        assert_true(own || (!file_exists(json) && !file_exists(report)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_key),
        cmocka_unit_test(every_backend_and_thread_count_returns_the_same_poses),
        cmocka_unit_test(feet_stand_better_than_before),
        cmocka_unit_test(the_report_is_one_page_that_needs_nothing_else),
        cmocka_unit_test(walks_a_character_from_a_file_on_a_ground_from_a_file),
        cmocka_unit_test(figures_to_standard_output_are_nothing_but_json),
        cmocka_unit_test(what_is_wrong_is_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
