/* Runs a scenario of tests/scenarios through `phalanx feet --json` and reads its answer. */
#ifndef PHALANX_TEST_SCENARIO_RUN_H
#define PHALANX_TEST_SCENARIO_RUN_H

#include "run_tool.h"
#include "temporary.h"

#include <jansson.h>

#define SCENARIOS PHALANX_SOURCE_DIR "/tests/scenarios/"

static inline json_t *run_scenario(const char *name) {
    char arguments[1024];
    int status;
    snprintf(arguments, sizeof arguments, "feet '" SCENARIOS "%s.json' --json", name);
    char *text = run_tool(arguments, &status);
    assert_int_equal(status, 0);
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    if (!root) fail_msg("%s: %s", name, error.text);
    free(text);
    return root;
}

/* the same for a scenario given as text */
static inline json_t *run_scenario_text(const char *text) {
    char path[256], arguments[512];
    temporary_template(path, sizeof path, "scenario");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    int status;
    snprintf(arguments, sizeof arguments, "feet %s --json", path);
    char *said = run_tool(arguments, &status);
    remove(path);
    assert_int_equal(status, 0);
    json_t *root = json_loads(said, 0, NULL);
    assert_non_null(root);
    free(said);
    return root;
}

static inline json_t *frame_of(json_t *root, size_t frame) {
    json_t *found = json_array_get(json_object_get(root, "frames"), frame);
    assert_non_null(found);
    return found;
}
static inline size_t frames_of(json_t *root) { return json_array_size(json_object_get(root, "frames")); }
static inline json_t *leg_of(json_t *frame, size_t leg) { return json_array_get(json_object_get(frame, "legs"), leg); }
static inline double number(json_t *object, const char *name) {
    json_t *value = json_object_get(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}
typedef struct point {
    double x, y, z;
} point;
static inline point point_of(json_t *object, const char *name) {
    json_t *value = json_object_get(object, name);
    double v[3];
    assert_int_equal(json_array_size(value), 3);
    for (size_t i = 0; i < 3; ++i) {
        assert_true(json_is_number(json_array_get(value, i)));
        v[i] = json_number_value(json_array_get(value, i));
    }
    return (point){v[0], v[1], v[2]};
}
static inline void assert_near(const char *what, double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance)) fail_msg("%s is %.9g instead of %.9g +- %g", what, value, expected, tolerance);
}

static inline int locked(json_t *frame, size_t leg) { return json_is_true(json_object_get(leg_of(frame, leg), "locked")); }
static inline double apart(point a, point b) {
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z));
}

/* of the stairs in stairs_by_ramp and stairs_by_capsule */
static inline double tread_under(double z) { return -1.8 + 0.18 * (floor((z + 2.72) / 0.28) + 1); }

#endif
