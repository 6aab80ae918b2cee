/* `phalanx solve` and `phalanx backends` through a subprocess: worked values and reported two-bone failures as JSON, limits at the
 * knee and at the hip, refusals and their sentences, exit codes, the same bytes from every backend, the picture. */
#define _XOPEN_SOURCE 700
#include "support.h"
#include "temporary.h"

#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct outcome {
    int status;
    char *out, *error;
} outcome;

static char *whole(FILE *file) {
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    rewind(file);
    for (size_t got; (got = fread(text + size, 1, capacity - size - 1, file)) > 0;)
        if ((size += got) + 1 == capacity) text = realloc(text, capacity *= 2);
    text[size] = 0;
    fclose(file);
    return text;
}

static outcome run_tool(const char *arguments, const char *input) {
    FILE *in = tmpfile(), *out = tmpfile(), *error = tmpfile();
    assert_true(in && out && error);
    fputs(input, in), fflush(in), rewind(in);
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s <&%d >&%d 2>&%d", PHALANX_CLI, arguments, fileno(in), fileno(out), fileno(error));
    const int result = system(command);
    assert_true(WIFEXITED(result));
    fclose(in);
    return (outcome){WEXITSTATUS(result), whole(out), whole(error)};
}

static json_t *solve_with(const char *cases, const char *backend) {
    char *input = malloc(strlen(cases) + 32), arguments[64];
    sprintf(input, "{\"cases\": [%s]}", cases);
    snprintf(arguments, sizeof arguments, "solve - --backend %s", backend);
    outcome o = run_tool(arguments, input);
    if (o.status) print_error("%s", o.error);
    assert_int_equal(o.status, 0);
    assert_string_equal(o.error, "");
    json_error_t error;
    json_t *root = json_loads(o.out, 0, &error);
    if (!root) fail_msg("%s in %s", error.text, o.out);
    free(input), free(o.out), free(o.error);
    assert_string_equal(json_string_value(json_object_get(root, "backend")), backend);
    return root;
}

/* answers live until the end of the test that asked */
static json_t *answers[256];
static size_t answer_count;

static int forget_answers(void **state) {
    (void)state;
    while (answer_count) json_decref(answers[--answer_count]);
    return 0;
}

/* the only case's result */
static json_t *solve_one(const char *one) {
    assert_true(answer_count < sizeof answers / sizeof *answers);
    json_t *root = solve_with(one, phx_backend_name(phx_backend_best()));
    answers[answer_count++] = root;
    return json_array_get(json_object_get(root, "results"), 0);
}

static double at(json_t *result, const char *field, size_t joint, size_t k) {
    json_t *value = json_array_get(json_array_get(json_object_get(result, field), joint), k);
    assert_true(json_is_number(value));
    return json_number_value(value);
}
static double number(json_t *result, const char *field) { return json_number_value(json_object_get(result, field)); }
static int has_flag(json_t *result, const char *name) {
    size_t i;
    json_t *flag;
    json_array_foreach(json_object_get(result, "flags"), i, flag) if (strcmp(json_string_value(flag), name) == 0) return 1;
    return 0;
}
static void assert_joint(json_t *result, size_t joint, double x, double y, double z, double bound) {
    const double miss = sqrt(pow(at(result, "joints", joint, 0) - x, 2) + pow(at(result, "joints", joint, 1) - y, 2) +
                             pow(at(result, "joints", joint, 2) - z, 2));
    if (miss <= bound) return;
    fail_msg("joint %zu is %.9g from (%g, %g, %g): %s", joint, miss, x, y, z, json_dumps(result, 0));
}
/* the joint's local X in the world */
static void local_x(json_t *result, size_t joint, double *v) {
    const double x = at(result, "rotations", joint, 0), y = at(result, "rotations", joint, 1), z = at(result, "rotations", joint, 2),
                 w = at(result, "rotations", joint, 3);
    v[0] = 1 - 2 * (y * y + z * z), v[1] = 2 * (x * y + w * z), v[2] = 2 * (x * z - w * y);
}

static void worked_values(void **state) {
    (void)state;
    json_t *r = solve_one(
        "{\"id\": \"a\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,0,0], \"pole\": [0,1,0]}");
    assert_string_equal(json_string_value(json_object_get(r, "id")), "a");
    assert_joint(r, 1, 0.5, sqrt(3) / 2, 0, 1e-6), assert_joint(r, 2, 1, 0, 0, 1e-6);
    assert_true(has_flag(r, "reached") && number(r, "iterations") == 1 && number(r, "residual") < 1e-6);
    assert_int_equal(json_array_size(json_object_get(r, "rotations")), 3);
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [3,0,0], \"pole\": [0,1,0], "
                  "\"max_iterations\": 1000}");
    assert_joint(r, 2, 2, 0, 0, 1e-5);
    assert_true(has_flag(r, "out_of_reach") && !has_flag(r, "reached") && fabs(number(r, "residual") - 1) < 1e-5);
}

static void reported_failures(void **state) {
    (void)state;
    json_t *r;
    for (int sign = -1; sign <= 1; sign += 2) { /* bend sign follows the pole */
        char text[256];
        snprintf(text, sizeof text,
                 "{\"solver\": \"two_bone\", \"joints\": [[26.5,25.5,0],[26.5,34,0],[26.5,42.5,0]], \"target\": [28.5,41.5,0], \"pole\": "
                 "[%d,0,0]}",
                 sign);
        r = solve_one(text);
        assert_joint(r, 1, sign < 0 ? 24.828 : 30.172, sign < 0 ? 33.834 : 33.166, 0, 1e-3), assert_joint(r, 2, 28.5, 41.5, 0, 1e-3);
    }
    r = solve_one(
        "{\"solver\": \"two_bone\", \"joints\": [[1.5,0.9,-2],[1.5,0.45,-2],[1.5,0,-2]], \"target\": [1.5,0.9,-2], \"pole\": [0,0,1]}");
    assert_joint(r, 1, 1.5, 0.9, -1.55, 1e-5), assert_joint(r, 2, 1.5, 0.9, -2, 1e-5);
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,0,0],[0,-0.45,0],[0,-0.85,0]], \"target\": [1e-40,0,0], \"pole\": [0,0,1]}");
    assert_true(fabs(sqrt(pow(at(r, "joints", 2, 0), 2) + pow(at(r, "joints", 2, 1), 2) + pow(at(r, "joints", 2, 2), 2)) - 0.05) < 1e-5);
    assert_true(has_flag(r, "too_close"));
    for (int sign = -1; sign <= 1; sign += 2) { /* a pole along the limb is no pole */
        char text[256];
        snprintf(text, sizeof text,
                 "{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.1,0]], \"rest_bend\": [0,0,1], \"target\": [0,0.2,0], "
                 "\"pole\": [%de-6,-1,0]}",
                 sign);
        r = solve_one(text);
        assert_joint(r, 1, 0, 0.6, 0.20616, 1e-5);
        assert_true(has_flag(r, "hint_unusable"));
    }
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,0.9,0],[0,0.45,0],[0,0,0]], \"target\": [0,0.3,0], \"rest_bend\": [0,0,1]}");
    assert_joint(r, 1, 0, 0.6, 0.33541, 1e-5);
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.1,0]], \"target\": [0,-0.2,0]}");
    assert_joint(r, 1, 0, 0.55, 0, 1e-3), assert_joint(r, 2, 0, 0.1, 0, 1e-5);
    assert_false(has_flag(r, "reached"));
    r = solve_one(
        "{\"solver\": \"two_bone\", \"joints\": [[0,0,0],[0,-0.45,0],[0,-0.45,0]], \"lengths\": [0.45,0], \"target\": [0,-0.3,0]}");
    assert_joint(r, 1, 0, -0.45, 0, 1e-6), assert_joint(r, 2, 0, -0.45, 0, 1e-6);
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,0,0],[0,0,0],[0,0,0]], \"lengths\": [0,0], \"target\": [0,-0.3,0]}");
    assert_joint(r, 1, 0, 0, 0, 0), assert_joint(r, 2, 0, 0, 0, 0);
    assert_true(has_flag(r, "bad_input"));
    for (int side = -1; side <= 1; side += 2) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"solver\": \"two_bone\", \"joints\": [[%g,1,0],[%g,0.55,0],[%g,0.12,0]], \"target\": [%g,0.25,0.2], \"pole\": [0,0,1]}",
                 side * 0.1, side * 0.1, side * 0.1, side * 0.15);
        r = solve_one(text);
        assert_joint(r, 1, side * 0.12221, 0.66687, 0.30172, 1e-5);
    }
}

/* Rest straight down, hinge about local X, pole to the side: thigh and shin roll so that both hinges stand along Z. Said by a hinge
 * limit, by a rest bend, or by nothing. */
static void bones_roll_into_the_bend_plane(void **state) {
    (void)state;
    static const char *const said[] = {"", ", \"rest_bend\": [0,0,1]",
                                       ", \"limits\": [null, {\"type\": \"hinge\", \"axis\": [1,0,0], \"min\": 0, \"max\": 2.6}, null]",
                                       ", \"limits\": [null, {\"type\": \"hinge\", \"axis\": [1,0,0], \"min\": -2.6, \"max\": 0}]"};
    for (size_t i = 0; i < 4; ++i) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.1,0]], \"target\": [0,0.4,0], \"pole\": [1,0,0]%s}",
                 said[i]);
        json_t *r = solve_one(text);
        double thigh[3], shin[3];
        assert_joint(r, 1, 0.33541, 0.7, 0, 1e-5);
        local_x(r, 0, thigh), local_x(r, 1, shin);
        assert_true(fabs(thigh[2]) > cos(0.1 * 0.0174533) && fabs(shin[2]) > cos(0.1 * 0.0174533) && thigh[2] * shin[2] > 0);
        assert_false(has_flag(r, "limit"));
    }
}

/* A hinge at the knee stops the knee, on the side that it allows and from the pose's own side too; a cone holds the thigh. */
static void limits_hold_and_say_so(void **state) {
    (void)state;
    json_t *r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.1,0]], \"target\": [0,0.9,0], \"pole\": [0,0,1],"
                          " \"limits\": [null, {\"type\": \"hinge\", \"axis\": [1,0,0], \"min\": 0, \"max\": 1.5707963}, null]}");
    assert_joint(r, 2, 0, 1 - 0.45 * sqrt(2), 0, 1e-5); /* a right angle at the knee */
    assert_true(has_flag(r, "limit") && !has_flag(r, "reached"));
    /* bent to the forbidden side as animated: the knee passes through straight and bends forward */
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.15,0.2]], \"rest_joints\": "
                  "[[0,1,0],[0,0.55,0],[0,0.1,0]], \"target\": [0,0.4,0],"
                  " \"limits\": [null, {\"type\": \"hinge\", \"axis\": [1,0,0], \"min\": 0, \"max\": 2.5}, null]}");
    assert_true(at(r, "joints", 1, 2) > 0.3 && has_flag(r, "reached"));
    /* thigh at most 0.3 rad from straight down */
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.1,0]], \"target\": [0,0.8,0.5], \"pole\": [0,0,1],"
                  " \"limits\": [{\"type\": \"cone\", \"axis\": [0,-1,0], \"max_swing\": 0.3}, null, null]}");
    double lean = atan2(hypot(at(r, "joints", 1, 0), at(r, "joints", 1, 2)), 1 - at(r, "joints", 1, 1));
    assert_true(lean < 0.3 + 1e-4 && has_flag(r, "limit") && has_flag(r, "reached")); /* by the knee, which is free */
    /* and with a knee that may bend by 0.5 rad only: both at their ends, the miss as large as it is said to be */
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.55,0],[0,0.1,0]], \"target\": [0,1,0.5], \"pole\": [0,0,-1],"
                  " \"limits\": [{\"type\": \"cone\", \"axis\": [0,-1,0], \"max_swing\": 0.3},"
                  " {\"type\": \"hinge\", \"axis\": [1,0,0], \"min\": -0.5, \"max\": 0}, null]}");
    lean = atan2(at(r, "joints", 1, 2), 1 - at(r, "joints", 1, 1));
    assert_true(fabs(lean - 0.3) < 1e-3 && has_flag(r, "limit") && !has_flag(r, "reached"));
    const double miss = sqrt(pow(at(r, "joints", 2, 0), 2) + pow(at(r, "joints", 2, 1) - 1, 2) + pow(at(r, "joints", 2, 2) - 0.5, 2));
    assert_true(fabs(miss - number(r, "residual")) < 1e-6);
    assert_joint(r, 2, 0, 1 - 0.45 * (cos(0.3) + cos(0.8)), 0.45 * (sin(0.3) + sin(0.8)), 2e-3);
}

static void far_from_the_origin_nothing_is_lost(void **state) {
    (void)state;
    json_t *near = solve_one(
        "{\"solver\": \"two_bone\", \"joints\": [[0,0,0],[0,-0.5,0],[0,-1,0]], \"target\": [0.25,-0.75,0.125], \"pole\": [0,0,1]}");
    json_t *far = solve_one("{\"solver\": \"two_bone\", \"joints\": [[-490.5,150,2935],[-490.5,149.5,2935],[-490.5,149,2935]], \"target\": "
                            "[-490.25,149.25,2935.125], \"pole\": [0,0,1]}");
    for (size_t j = 0; j < 3; ++j) for (size_t k = 0; k < 4; ++k) assert_true(at(near, "rotations", j, k) == at(far, "rotations", j, k));
    assert_true(number(near, "residual") == number(far, "residual"));
}

static void weight_zero_leaves_every_digit(void **state) {
    (void)state;
    json_t *r = solve_one(
        "{\"solver\": \"two_bone\", \"weight\": 0, \"joints\": [[0.1,1,0],[0.123456789,0.55,0],[0.1,0.12,0]], \"target\": [0.15,0.25,0.2],"
        " \"rotations\": [[0,0,0,1],[0.6,0,0,0.8],[0,1,0,0]]}");
    assert_joint(r, 1, 0.123456789, 0.55, 0, 0), assert_joint(r, 2, 0.1, 0.12, 0, 0);
    assert_true(at(r, "rotations", 1, 0) == 0.6 && at(r, "rotations", 1, 3) == 0.8 && at(r, "rotations", 2, 1) == 1);
}

/* What cannot be solved is left as it is and says so; what cannot be meant is refused. */
static void bad_chains_are_flagged(void **state) {
    (void)state;
    json_t *r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,0,0], \"rotations\": "
                          "[[0,0,0,0],[0,0,0,1],[0,0,0,1]]}");
    assert_true(has_flag(r, "bad_input"));
    assert_joint(r, 2, 2, 0, 0, 0);
    r = solve_one("{\"solver\": \"two_bone\", \"joints\": [[3e30,3e30,3e30],[3e30,3e30,3e30],[3e30,3e30,3e30]], \"target\": [0,0,0]}");
    assert_true(has_flag(r, "bad_input"));
}

static void refusals_name_case_field_value_and_mend(void **state) {
    (void)state;
#define LEG "\"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,0,0]"
    static const struct {
        const char *one, *words[3];
    } wrong[] = {
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,1e999],[2,0,0]], \"target\": [1,0,0]}",
         {"'k'", "'joints'", "1e999"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,0,NaN]}",
         {"'k'", "'target'", "NaN"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0],[2,0,0]], \"target\": [1,0,0]}",
         {"'k'", "'joints[1]'", "[x, y, z]"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,1e39,0]}",
         {"'k'", "'target[1]'", "1e+39"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,\"x\",0]}",
         {"'k'", "'target[1]'", "\"x\""}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]]}", {"'k'", "'target'", "missing"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0]], \"target\": [1,0,0]}", {"'k'", "'joints'", "takes 3"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [[0,0,0],[1,0,0],[2,0,0],[3,0,0]], \"target\": [1,0,0]}",
         {"'k'", "'joints'", "takes 3"}},
        {"{\"id\": \"k\", \"solver\": \"two_bone\", \"joints\": [], \"target\": [1,0,0]}", {"'k'", "'joints'", "takes 3"}},
        {"{\"id\": \"k\", \"solver\": \"fabrik\", \"joints\": [], \"target\": [1,0,0]}", {"'k'", "'joints'", "2 at least"}},
        {"{\"id\": \"k\", \"solver\": \"ccd\", \"joints\": [[0,0,0]], \"target\": [1,0,0]}", {"'k'", "'joints'", "2 at least"}},
        {"{\"id\": \"k\", \"solver\": \"magic\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,0,0]}",
         {"'k'", "'solver'", "\"magic\""}},
        {"{\"id\": \"k\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,0,0]}", {"'k'", "'solver'", "missing"}},
        {"{\"id\": \"k\", " LEG ", \"polle\": [0,0,1]}", {"'k'", "'polle'", "no key"}},
        {"{\"id\": \"k\", " LEG ", \"pole\": 3}", {"'k'", "'pole'", "[x, y, z]"}},
        {"{\"id\": \"k\", " LEG ", \"rotations\": [[0,0,0,1]]}", {"'k'", "'rotations'", "3 are wanted"}},
        {"{\"id\": \"k\", " LEG ", \"rotations\": [[0,0,0,1],[0,0,1],[0,0,0,1]]}", {"'k'", "'rotations[1]'", "[x, y, z, w]"}},
        {"{\"id\": \"k\", " LEG ", \"rest_joints\": [[0,0,0]]}", {"'k'", "'rest_joints'", "3 are wanted"}},
        {"{\"id\": \"k\", " LEG ", \"rest_rotations\": []}", {"'k'", "'rest_rotations'", "3 are wanted"}},
        {"{\"id\": \"k\", " LEG ", \"lengths\": [1,1,1]}", {"'k'", "'lengths'", "2 are wanted"}},
        {"{\"id\": \"k\", " LEG ", \"lengths\": [1,-1]}", {"'k'", "'lengths[1]'", "0 or more"}},
        {"{\"id\": \"k\", " LEG ", \"weight\": \"full\"}", {"'k'", "'weight'", "number"}},
        {"{\"id\": \"k\", " LEG ", \"weight\": null}", {"'k'", "'weight'", "null"}},
        {"{\"id\": \"k\", " LEG ", \"soft_start\": 0}", {"'k'", "'soft_start'", "0.001 to 1"}},
        {"{\"id\": \"k\", " LEG ", \"max_stretch\": 0.5}", {"'k'", "'max_stretch'", "1 to 16"}},
        {"{\"id\": \"k\", " LEG ", \"tolerance\": -1}", {"'k'", "'tolerance'", "0 to 1"}},
        {"{\"id\": \"k\", " LEG ", \"max_iterations\": 0}", {"'k'", "'max_iterations'", "is 0; a number from 1 to 1024"}},
        {"{\"id\": \"k\", " LEG ", \"max_iterations\": 1.5}", {"'k'", "'max_iterations'", "whole"}},
        {"{\"id\": \"k\", " LEG ", \"damping\": 2}", {"'k'", "'damping'", "from 0.001 to 1"}},
        {"{\"id\": \"k\", \"solver\": \"ccd\", \"joints\": [[0,0,0],[1,0,0]], \"target\": [1,0,0], \"damping\": 5e-4}", {"'k'", "'damping'", "from 0.001 to 1"}},
        {"{\"id\": \"k\", " LEG ", \"damping\": 0.5}", {"'k'", "'damping'", "ccd alone"}},
        {"{\"id\": \"k\", " LEG ", \"twist\": \"roll\"}", {"'k'", "'twist'", "\"roll\""}},
        {"{\"id\": \"k\", \"solver\": \"ccd\", \"joints\": [[0,0,0],[1,0,0]], \"target\": [1,0,0], \"twist\": \"plane\"}",
         {"'k'", "'twist'", "inherit"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null]}", {"'k'", "'limits'", "3 are wanted"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, 3, null]}", {"'k'", "'limits[1]'", "\"type\""}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"ball\"}, null]}", {"'k'", "'limits[1]'", "\"ball\""}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"hinge\"}, null]}", {"'k'", "'limits[1]'", "no axis"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"hinge\", \"axis\": [0,0,0]}, null]}",
         {"'k'", "'limits[1].axis'", "direction"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"hinge\", \"axis\": [0,0,1], \"min\": 2, \"max\": 1}, null]}",
         {"'k'", "'limits[1]'", "'min'"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"hinge\", \"axis\": [0,0,1], \"max_swing\": 1}, null]}",
         {"'k'", "'limits[1].max_swing'", "no key"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"cone\", \"axis\": [0,0,1]}, null]}",
         {"'k'", "'limits[1]'", "max_swing"}},
        {"{\"id\": \"k\", " LEG ", \"limits\": [null, {\"type\": \"cone\", \"axis\": [0,0,1], \"max_swing\": 4}, null]}",
         {"'k'", "'limits[1]'", "'max_swing'"}},
        {"{\"id\": 7, " LEG "}", {"'0'", "'id'", "string"}},
        {"{\"id\": \"k\", " LEG ", \"target\": [1,0,0]}", {"duplicate", "target", ""}},
        {"[1]", {"case 0", "[1.0]", "object"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char input[2048];
        snprintf(input, sizeof input, "{\"cases\": [%s]}", wrong[i].one);
        outcome o = run_tool("solve -", input);
        int good = o.status == 1 && o.out[0] == 0 && strchr(o.error, '\n') == o.error + strlen(o.error) - 1;
        for (int w = 0; w < 3; ++w) good = good && strstr(o.error, wrong[i].words[w]);
        if (!good) {
            print_error("%s\n-> %d %s%s", wrong[i].one, o.status, o.error, o.out);
            fail();
        }
        free(o.out), free(o.error);
    }
    static const char *const no_cases[] = {
        "", "{", "[]", "{}", "3", "null", "{\"cases\": 3}", "{\"cases\": [], \"more\": 1}", "{\"cases\": []} x", "\xff\xfe"};
    for (size_t i = 0; i < sizeof no_cases / sizeof *no_cases; ++i) {
        outcome o = run_tool("solve -", no_cases[i]);
        if (o.status != 1 || o.out[0]) print_error("'%s' -> %d %s\n", no_cases[i], o.status, o.error);
        assert_int_equal(o.status, 1);
        assert_string_equal(o.out, "");
        assert_true(strlen(o.error) > 10 && strchr(o.error, '\n') == o.error + strlen(o.error) - 1);
        free(o.out), free(o.error);
    }
}

static void a_refused_case_leaves_no_picture(void **state) {
    (void)state;
    char path[256], arguments[512];
    temporary_template(path, sizeof path, "solve");
    close(mkstemp(path)), unlink(path);
    snprintf(arguments, sizeof arguments, "solve - --svg %s", path);
    outcome o = run_tool(arguments, "{\"cases\": [{" LEG "}, {" LEG ", \"weight\": \"x\"}]}");
    assert_int_equal(o.status, 1);
    assert_int_equal(access(path, F_OK), -1);
    free(o.out), free(o.error);
    o = run_tool(arguments, "{\"cases\": [{\"id\": \"<one & two>\", " LEG
                            ", \"pole\": [0,1,0], \"limits\": [{\"type\": \"cone\", \"axis\": [1,0,0], \"max_swing\": 1}, {\"type\": "
                            "\"hinge\", \"axis\": [0,0,1], \"min\": -2, \"max\": 0}]}]}");
    assert_int_equal(o.status, 0);
    free(o.out), free(o.error);
    char *svg = whole(fopen(path, "rb"));
    assert_true(strncmp(svg, "<svg", 4) == 0 && strcmp(svg + strlen(svg) - 7, "</svg>\n") == 0);
    assert_non_null(strstr(svg, "&lt;one &amp; two&gt;"));
    assert_non_null(strstr(svg, ">pole<"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    free(svg), unlink(path);
}

/* README's picture is of the solvers as they are */
static void the_committed_picture_is_of_these_solvers(void **state) {
    (void)state;
    char path[256], arguments[1024];
    temporary_template(path, sizeof path, "solve");
    close(mkstemp(path));
    snprintf(arguments, sizeof arguments, "solve %s --svg %s", PHALANX_SOURCE_DIR "/docs/solvers.json", path);
    outcome o = run_tool(arguments, "");
    assert_int_equal(o.status, 0);
    free(o.out), free(o.error);
    char *drawn = whole(fopen(path, "rb")), *committed = whole(fopen(PHALANX_SOURCE_DIR "/docs/solvers.svg", "rb"));
    if (strcmp(drawn, committed)) fail_msg("docs/solvers.svg is of other answers: phalanx solve docs/solvers.json --svg docs/solvers.svg");
    free(drawn), free(committed), unlink(path);
}

static void usage_is_status_two(void **state) {
    (void)state;
    static const char *const wrong[] = {"solve",         "solve a b", "solve - --backend mmx", "solve - --bakend sse2",
                                        "solve - --svg", "backends x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        outcome o = run_tool(wrong[i], "");
        if (o.status != 2) print_error("%s -> %d\n", wrong[i], o.status);
        assert_int_equal(o.status, 2);
        assert_true(o.error[0] && !o.out[0]);
        free(o.out), free(o.error);
    }
    outcome o = run_tool("solve no/such/file.json", "");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.error, "no/such/file.json"));
    free(o.out), free(o.error);
    o = run_tool("solve --help", "");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "soft_start"));
    free(o.out), free(o.error);
}

static void backends_are_named_best_first(void **state) {
    (void)state;
    outcome o = run_tool("backends", "");
    char wanted[256] = "";
    for (uint32_t i = 0; phx_backend_at(i); ++i) strcat(wanted, phx_backend_name(phx_backend_at(i))), strcat(wanted, "\n");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.out, wanted);
    free(o.out), free(o.error);
}

#define L_START "\"joints\": [[0,0,0],[0,0.25,0],[0,0.5,0],[0.25,0.5,0],[0.5,0.5,0]]"

/* Lengths as wanted, rotations unit and leading where the positions say, the residual the true one; `joints` were given without
 * rotations, so each bone's own frame is the world's and it leads from the given joints. */
static void assert_chain(json_t *r, const double (*given)[3], size_t joints, const double *target, double tolerance) {
    double length = 0, tip[3];
    for (size_t j = 0; j + 1 < joints; ++j) {
        double bone[3], before = 0, after = 0, miss = 0;
        const double x = at(r, "rotations", j, 0), y = at(r, "rotations", j, 1), z = at(r, "rotations", j, 2), w = at(r, "rotations", j, 3);
        for (int k = 0; k < 3; ++k) bone[k] = given[j + 1][k] - given[j][k], before += bone[k] * bone[k];
        const double t[3] = {2 * (y * bone[2] - z * bone[1]), 2 * (z * bone[0] - x * bone[2]), 2 * (x * bone[1] - y * bone[0])};
        const double led[3] = {bone[0] + w * t[0] + y * t[2] - z * t[1], bone[1] + w * t[1] + z * t[0] - x * t[2],
                               bone[2] + w * t[2] + x * t[1] - y * t[0]};
        for (int k = 0; k < 3; ++k) {
            const double d = at(r, "joints", j + 1, (size_t)k) - at(r, "joints", j, (size_t)k);
            after += d * d, miss += (d - led[k]) * (d - led[k]);
        }
        assert_true(fabs(sqrt(after) - sqrt(before)) <= 1e-5 * sqrt(before));
        assert_true(fabs(sqrt(x * x + y * y + z * z + w * w) - 1) < 1e-6);
        assert_true(sqrt(miss) <= 1e-5 * sqrt(before));
        length += sqrt(before);
    }
    double residual = 0;
    for (int k = 0; k < 3; ++k) tip[k] = at(r, "joints", joints - 1, (size_t)k), residual += (tip[k] - target[k]) * (tip[k] - target[k]);
    assert_true(fabs(sqrt(residual) - number(r, "residual")) < 2e-6 * length);
    assert_int_equal(has_flag(r, "reached"), number(r, "residual") <= tolerance * length);
}

static void long_chains_reach(void **state) {
    (void)state;
    json_t *r = solve_one("{\"solver\": \"fabrik\", \"joints\": [[0,0,0],[1,0,0],[2,0,0]], \"target\": [1,1,0]}");
    assert_joint(r, 1, 1, 0, 0, 1e-6), assert_joint(r, 2, 1, 1, 0, 1e-6);
    assert_true(number(r, "iterations") == 1 && has_flag(r, "reached"));
    r = solve_one("{\"solver\": \"ccd\", \"joints\": [[0,0,0],[1,0,0]], \"target\": [0,1,0]}");
    assert_joint(r, 1, 0, 1, 0, 1e-6);
    assert_true(fabs(at(r, "rotations", 0, 2) - sqrt(0.5)) < 1e-6);
    static const char *const solvers[] = {"fabrik", "ccd"};
    for (size_t s = 0; s < 2; ++s) {
        char text[512];
        /* a target on an inner joint of a straight chain */
        const double line[4][3] = {{0, 0, 0}, {10, 0, 0}, {20, 0, 0}, {30, 0, 0}}, inner[3] = {20, 0, 0};
        snprintf(text, sizeof text,
                 "{\"solver\": \"%s\", \"joints\": [[0,0,0],[10,0,0],[20,0,0],[30,0,0]], \"target\": [20,0,0], \"tolerance\": 3.3e-4}",
                 solvers[s]);
        r = solve_one(text);
        assert_chain(r, line, 4, inner, 3.3e-4);
        assert_true(has_flag(r, "reached") && fabs(at(r, "joints", 1, 1)) + fabs(at(r, "joints", 1, 2)) > 1);
        /* tolerance 0 ends, within its rounds, and exactly enough */
        const double start[5][3] = {{0, 0, 0}, {0, 0.25, 0}, {0, 0.5, 0}, {0.25, 0.5, 0}, {0.5, 0.5, 0}}, goal[3] = {0.6, 0.2, 0};
        snprintf(text, sizeof text, "{\"solver\": \"%s\", " L_START ", \"target\": [0.6,0.2,0], \"tolerance\": 0, \"max_iterations\": 64}",
                 solvers[s]);
        r = solve_one(text);
        assert_chain(r, start, 5, goal, 0);
        assert_true(number(r, "iterations") <= 64 && number(r, "residual") <= 1e-5);
        /* out of reach goes straight, at once */
        snprintf(text, sizeof text,
                 "{\"solver\": \"%s\", \"joints\": [[0,0,0],[0,0.25,0],[0,0.5,0],[0,0.75,0],[0,1,0]], \"target\": [1.5,0,0], "
                 "\"max_iterations\": 10}",
                 solvers[s]);
        r = solve_one(text);
        assert_joint(r, 4, 1, 0, 0, 1e-3);
        assert_true(has_flag(r, "out_of_reach") && !has_flag(r, "reached"));
        /* a hinge with both signs */
        const char *const hinge = "\"limits\": [{\"type\": \"hinge\", \"axis\": [0,1,0], \"min\": -1.5707963, \"max\": 1.5707963}, null]";
        snprintf(text, sizeof text, "{\"solver\": \"%s\", \"joints\": [[0,0,0],[1,0,0]], \"target\": [0.5,0,0.866], %s}", solvers[s],
                 hinge);
        r = solve_one(text);
        assert_true(fabs(2 * atan2(at(r, "rotations", 0, 1), at(r, "rotations", 0, 3)) * 180 / 3.14159265358979 + 60) < 0.1);
        snprintf(text, sizeof text, "{\"solver\": \"%s\", \"joints\": [[0,0,0],[1,0,0]], \"target\": [-0.5,0,0.866], %s}", solvers[s],
                 hinge);
        r = solve_one(text);
        assert_joint(r, 1, 0, 0, 1, 1e-5);
        assert_true(has_flag(r, "limit") && !has_flag(r, "reached"));
        /* all of it a hundred times smaller and larger */
        for (int k = -1; k <= 1; ++k) {
            const double q = pow(100, k);
            double small[5][3], aim[3];
            for (int j = 0; j < 5; ++j) for (int c = 0; c < 3; ++c) small[j][c] = start[j][c] * q, aim[c] = goal[c] * q;
            snprintf(text, sizeof text,
                     "{\"solver\": \"%s\", \"joints\": [[0,0,0],[0,%g,0],[0,%g,0],[%g,%g,0],[%g,%g,0]], \"target\": [%g,%g,0]}", solvers[s],
                     0.25 * q, 0.5 * q, 0.25 * q, 0.5 * q, 0.5 * q, 0.5 * q, aim[0], aim[1]);
            r = solve_one(text);
            assert_chain(r, (const double (*)[3])small, 5, aim, 1e-3);
            assert_true(has_flag(r, "reached"));
        }
    }
}

/* Every half turn, exact and tilted by 1e-4; a turn shared by three joints; a cone that holds the look. */
static void aim_points_the_last_bone_at_the_target(void **state) {
    (void)state;
    for (int axis = 0; axis < 3; ++axis) for (int sign = -1; sign <= 1; sign += 2) for (int tilt = 0; tilt < 3; ++tilt) {
        double a[3] = {0, 0, 0}, t[3] = {0, 0, 0};
        char text[256];
        a[axis] = sign, t[axis] = -sign;
        if (tilt) t[(axis + tilt) % 3] = 1e-4;
        snprintf(text, sizeof text, "{\"solver\": \"aim\", \"joints\": [[0,0,0],[%g,%g,%g]], \"target\": [%g,%g,%g]}", a[0], a[1], a[2],
                 t[0], t[1], t[2]);
        json_t *r = solve_one(text);
        assert_joint(r, 1, t[0], t[1], t[2], 1e-5);
        const double x = at(r, "rotations", 0, 0), y = at(r, "rotations", 0, 1), z = at(r, "rotations", 0, 2), w = at(r, "rotations", 0, 3);
        assert_true(fabs(x * x + y * y + z * z + w * w - 1) < 1e-6 && has_flag(r, "reached"));
        const double c[3] = {2 * (y * a[2] - z * a[1]), 2 * (z * a[0] - x * a[2]), 2 * (x * a[1] - y * a[0])};
        const double turned[3] = {a[0] + w * c[0] + y * c[2] - z * c[1], a[1] + w * c[1] + z * c[0] - x * c[2],
                                  a[2] + w * c[2] + x * c[1] - y * c[0]};
        for (int k = 0; k < 3; ++k) assert_true(fabs(turned[k] - t[k]) < 1e-4);
    }
    json_t *r = solve_one("{\"solver\": \"aim\", \"joints\": [[0,0,0],[0,0.1,0],[0,0.2,0],[0,0.2,0.1]], \"target\": [2,0.4,1]}");
    const double way[3] = {at(r, "joints", 3, 0) - at(r, "joints", 2, 0), at(r, "joints", 3, 1) - at(r, "joints", 2, 1),
                           at(r, "joints", 3, 2) - at(r, "joints", 2, 2)};
    const double goal[3] = {2 - at(r, "joints", 2, 0), 0.4 - at(r, "joints", 2, 1), 1 - at(r, "joints", 2, 2)};
    const double cosine =
        (way[0] * goal[0] + way[1] * goal[1] + way[2] * goal[2]) /
        sqrt((way[0] * way[0] + way[1] * way[1] + way[2] * way[2]) * (goal[0] * goal[0] + goal[1] * goal[1] + goal[2] * goal[2]));
    assert_true(cosine > 1 - 1e-9 && has_flag(r, "reached") && number(r, "residual") < 1e-5);
    assert_true(at(r, "rotations", 0, 3) < 0.9999 && at(r, "rotations", 1, 3) < at(r, "rotations", 0, 3) &&
                at(r, "rotations", 2, 3) < at(r, "rotations", 1, 3));
    r = solve_one("{\"solver\": \"aim\", \"joints\": [[0,0,0],[0,0,0.1]], \"target\": [1,0,0], \"limits\": [{\"type\": \"cone\", \"axis\": "
                  "[0,0,1], \"max_swing\": 0.5}, null]}");
    assert_joint(r, 1, 0.1 * sin(0.5), 0, 0.1 * cos(0.5), 1e-6);
    assert_true(has_flag(r, "limit") && !has_flag(r, "reached"));
}

/* random cases with every key, and what is printed past the backend's name, compared byte for byte */
static void every_backend_prints_the_same_bytes(void **state) {
    (void)state;
    random_state r = random_seeded("solve on every backend", 0x501E);
    enum { CASES = 200 };
    char *input = malloc(CASES * 4096), *p = input;
    p += sprintf(p, "{\"cases\": [");
    for (int i = 0; i < CASES; ++i) {
        static const char *const solvers[] = {"two_bone", "fabrik", "ccd", "aim"};
        const int which = i / 2 % 4, joints = which ? 2 + i % 7 : 3;
        p += sprintf(p, "%s{\"solver\": \"%s\", \"joints\": [", i ? ",\n" : "", solvers[which]);
        for (int j = 0; j < joints; ++j)
            p += sprintf(p, "%s[%.9g,%.9g,%.9g]", j ? "," : "", random_float(&r, -1, 1), random_float(&r, -1, 1), random_float(&r, -1, 1));
        p += sprintf(p, "], \"target\": [%.9g,%.9g,%.9g]", random_float(&r, -1, 1), random_float(&r, -1, 1), random_float(&r, -1, 1));
        p += sprintf(p, ", \"pole\": [%.9g,%.9g,%.9g]", random_float(&r, -1, 1), random_float(&r, -1, 1), random_float(&r, -1, 1));
        if (i & 1) {
            const phx_quat q = random_rotation(&r);
            p += sprintf(p, ", \"weight\": %.9g", random_float(&r, 0, 1));
            if (which < 3) p += sprintf(p, ", \"target_rotation\": [%.9g,%.9g,%.9g,%.9g]", q.x, q.y, q.z, q.w);
        }
        if (i & 2) p += sprintf(p, ", \"soft_start\": 0.9, \"max_stretch\": 1.2");
        if (i & 4) p += sprintf(p, ", \"twist\": \"inherit\"");
        if (i & 8) {
            p += sprintf(p, ", \"limits\": [{\"type\": \"cone\", \"axis\": [1,0,0], \"max_swing\": 0.5}, {\"type\": \"hinge\", \"axis\": "
                            "[0,0,1], \"min\": -1, \"max\": 1}");
            for (int j = 2; j < joints; ++j) p += sprintf(p, ", null");
            p += sprintf(p, "]");
        }
        p += sprintf(p, "}");
    }
    sprintf(p, "]}");
    char *first = NULL;
    for (uint32_t i = 0; phx_backend_at(i); ++i) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "solve - --backend %s", phx_backend_name(phx_backend_at(i)));
        outcome o = run_tool(arguments, input);
        assert_int_equal(o.status, 0);
        char *results = strstr(o.out, "\"results\"");
        assert_non_null(results);
        assert_null(strstr(o.out, "nan"));
        assert_null(strstr(o.out, "inf"));
        if (!first) first = strdup(results);
        assert_string_equal(first, results);
        free(o.out), free(o.error);
    }
    free(first), free(input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(worked_values, forget_answers),
        cmocka_unit_test_teardown(reported_failures, forget_answers),
        cmocka_unit_test_teardown(bones_roll_into_the_bend_plane, forget_answers),
        cmocka_unit_test_teardown(limits_hold_and_say_so, forget_answers),
        cmocka_unit_test_teardown(long_chains_reach, forget_answers),
        cmocka_unit_test_teardown(aim_points_the_last_bone_at_the_target, forget_answers),
        cmocka_unit_test_teardown(far_from_the_origin_nothing_is_lost, forget_answers),
        cmocka_unit_test_teardown(weight_zero_leaves_every_digit, forget_answers),
        cmocka_unit_test_teardown(bad_chains_are_flagged, forget_answers),
        cmocka_unit_test_teardown(refusals_name_case_field_value_and_mend, forget_answers),
        cmocka_unit_test_teardown(a_refused_case_leaves_no_picture, forget_answers),
        cmocka_unit_test_teardown(usage_is_status_two, forget_answers),
        cmocka_unit_test(the_committed_picture_is_of_these_solvers),
        cmocka_unit_test_teardown(backends_are_named_best_first, forget_answers),
        cmocka_unit_test_teardown(every_backend_prints_the_same_bytes, forget_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
