/* `phalanx feet` on the scenarios of tests/scenarios: expected numbers are worked out from each case by hand, as the comments
 * say; and what it says about scenarios that are wrong. */
#include "scenario_run.h"

/* -0.2 (1 - 2^(-0.2 / 0.05)) = -0.1875, whatever the frame rate */
static void pelvis_eases_alike_at_every_frame_rate(void **state) {
    (void)state;
    const int rates[] = {10, 30, 60, 240};
    for (int i = 0; i < 4; ++i) {
        char name[64];
        snprintf(name, sizeof name, "pelvis_eases_at_%d_hz", rates[i]);
        json_t *root = run_scenario(name);
        assert_int_equal(frames_of(root), rates[i] / 5 + 1);
        assert_near("pelvis before", number(frame_of(root, 0), "pelvis"), 0, 1e-6);
        assert_near(name, number(frame_of(root, frames_of(root) - 1), "pelvis"), -0.1875, 1e-4);
        json_decref(root);
    }
}

static void hit_stop_holds_and_a_huge_step_lands(void **state) {
    (void)state;
    json_t *root = run_scenario("hit_stop");
    double pelvis[12];
    assert_int_equal(frames_of(root), 12);
    for (size_t i = 0; i < 12; ++i) pelvis[i] = number(frame_of(root, i), "pelvis");
    assert_near("pelvis after 0.1 s", pelvis[6], -0.15, 1e-4);
    assert_true(pelvis[7] == pelvis[6]); /* dt 0: nine digits tell floats apart */
    assert_near("pelvis after 1e-9 s", pelvis[8], pelvis[7], 1e-6);
    assert_true(pelvis[9] == pelvis[8] && pelvis[10] == pelvis[9]); /* dt -1, dt not a number */
    assert_near("pelvis after 10 s", pelvis[11], -0.2, 1e-6);
    assert_true(pelvis[11] >= -0.2 - 1e-7);
    json_decref(root);
}

/* the sole lies on the plane and the ankle is its height away along the normal, not along the vertical (that would be .0866) */
static void soles_lie_flat_on_slopes(void **state) {
    (void)state;
    const char *const names[] = {"slope_uphill", "slope_downhill"};
    for (int i = 0; i < 2; ++i) {
        json_t *root = run_scenario(names[i]);
        const double ny = 0.86602540378443865, nz = i ? 0.5 : -0.5;
        for (size_t f = 0; f < frames_of(root); ++f) {
            for (size_t leg = 0; leg < 2; ++leg) {
                json_t *foot = leg_of(frame_of(root, f), leg);
                const point ankle = point_of(foot, "ankle"), heel = point_of(foot, "heel"), ball = point_of(foot, "ball");
                assert_near("ankle over the plane", ankle.y * ny + ankle.z * nz, 0.1, 1e-3);
                assert_near("heel over the plane", heel.y * ny + heel.z * nz, 0, 2e-3);
                assert_near("ball over the plane", ball.y * ny + ball.z * nz, 0, 2e-3);
            }
        }
        json_decref(root);
    }
}

/* Pelvis corrections of at most 1.5 m/s / 60 Hz a frame, two reversals a stair; soles of standing feet (animated on the flat)
 * never more than 2 mm under the tread. */
static void stairs_do_not_shake_the_body(void **state) {
    (void)state;
    const char *const names[] = {"stairs_by_ramp", "stairs_by_capsule"};
    for (int i = 0; i < 2; ++i) {
        json_t *root = run_scenario(names[i]);
        const size_t settled = 24;
        /* a ramp carries the body evenly and the correction is what may shake; a capsule steps, and the body itself must not */
        double before = i ? point_of(frame_of(root, settled - 1), "pelvis_position").y : number(frame_of(root, settled - 1), "pelvis");
        double direction = 0;
        int reversals = 0, standing = 0;
        for (size_t f = settled; f < frames_of(root); ++f) {
            json_t *frame = frame_of(root, f);
            const double pelvis = i ? point_of(frame, "pelvis_position").y : number(frame, "pelvis"), moved = pelvis - before;
            if (!(fabs(moved) <= 0.025 + 1e-6)) fail_msg("%s: the pelvis moves by %g in frame %zu", names[i], moved, f);
            if (fabs(moved) > 1e-5) reversals += moved * direction < 0, direction = moved;
            before = pelvis;
            for (size_t leg = 0; leg < 2; ++leg) {
                json_t *foot = leg_of(frame, leg);
                if (point_of(json_object_get(foot, "animated"), "ankle").y - point_of(frame, "root").y > 0.08 + 1e-4) continue;
                const point heel = point_of(foot, "heel"), ball = point_of(foot, "ball");
                if (heel.y - tread_under(heel.z) < -2e-3) fail_msg("%s: heel of leg %zu in the tread in frame %zu", names[i], leg, f);
                if (ball.y - tread_under(ball.z) < -2e-3) fail_msg("%s: ball of leg %zu in the tread in frame %zu", names[i], leg, f);
                ++standing;
            }
        }
        const double stairs = (double)(frames_of(root) - settled) / 60 * 1.4 / 0.28;
        printf("# %s: %.2f reversals a stair\n", names[i], reversals / stairs);
        assert_true(reversals <= 2 * stairs);
        assert_true(standing > 200);
        json_decref(root);
    }
}

/* Hips at 0.73, ankles at 0.08 and -0.17: high knee half-way up, sqrt(0.45^2 - 0.325^2) = 0.3112 forward. The low leg is straight:
 * its knee is as far forward as rounding and the share of the leg that counts as reach leave it. */
static void pelvis_sinks_for_the_lower_foot(void **state) {
    (void)state;
    json_t *root = run_scenario("lower_foot"), *frame = frame_of(root, 0);
    assert_near("pelvis", number(frame, "pelvis"), -0.17, 1e-3);
    assert_near("high ankle", point_of(leg_of(frame, 0), "ankle").y, 0.08, 1e-3);
    assert_near("low ankle", point_of(leg_of(frame, 1), "ankle").y, -0.17, 1e-3);
    assert_near("high knee's height", point_of(leg_of(frame, 0), "knee").y, 0.405, 1e-3);
    assert_near("high knee forward", point_of(leg_of(frame, 0), "knee").z, 0.3112, 1e-3);
    json_decref(root);
}

static void bad_frames_leave_no_trace(void **state) {
    (void)state;
    json_t *bad = run_scenario("bad_frames"), *fresh = run_scenario("fresh");
    json_t *after = frame_of(bad, 2), *alone = frame_of(fresh, 0);
    assert_true(json_equal(json_object_get(after, "legs"), json_object_get(alone, "legs")));
    assert_true(json_equal(json_object_get(after, "pelvis"), json_object_get(alone, "pelvis")));
    /* far away, the pose is as animated and all of it finite */
    for (size_t leg = 0; leg < 2; ++leg) {
        json_t *foot = leg_of(frame_of(bad, 0), leg);
        assert_near("ankle at 3e30", point_of(foot, "ankle").x, 3e30, 1e24);
        assert_near("ankle moved by", point_of(foot, "ankle").y - point_of(json_object_get(foot, "animated"), "ankle").y, 0, 0);
    }
    json_decref(bad), json_decref(fresh);
}

/* the ankles asked for are where forward kinematics of the made pose puts them */
static void animated_ankles_are_exact(void **state) {
    (void)state;
    json_t *root = run_scenario("stairs_by_ramp");
    for (size_t f = 0; f < frames_of(root); ++f) {
        json_t *frame = frame_of(root, f), *animated = json_object_get(leg_of(frame, 0), "animated");
        const point ankle = point_of(animated, "ankle"), from = point_of(frame, "root");
        const double t = fmod((double)f / 60, 0.4);
        if (t > 0.1999) continue; /* swing */
        assert_near("x", ankle.x, 0.1, 1e-6);
        assert_near("y", ankle.y - from.y, 0.08, 1e-6);
        assert_near("z", ankle.z - from.z, 0.14 - 1.4 * t, 1e-6);
    }
    json_decref(root);
}

/* every scenario, every backend: the same text but for the backend's name */
static void backends_print_the_same(void **state) {
    (void)state;
    const char *const names[] = {"pelvis_eases_at_10_hz", "pelvis_eases_at_30_hz", "pelvis_eases_at_60_hz", "pelvis_eases_at_240_hz",
                                 "hit_stop",              "lock_chatter",          "slope_uphill",          "slope_downhill",
                                 "stairs_by_ramp",        "stairs_by_capsule",     "lower_foot",            "bad_frames"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char *expected = NULL;
        FOR_EACH_BACKEND(backend) {
            char arguments[1024];
            int status;
            snprintf(arguments, sizeof arguments, "feet '" SCENARIOS "%s.json' --backend %s", names[i], phx_backend_name(backend));
            char *text = run_tool(arguments, &status);
            assert_int_equal(status, 0);
            if (!expected)
                expected = text;
            else {
                assert_string_equal(text, expected);
                free(text);
            }
        }
        free(expected);
    }
}

/* A scenario that is wrong is refused with one sentence that names the place, and status 1; nothing is printed on standard output. */
static void wrong_scenarios_are_refused_in_words(void **state) {
    (void)state;
    const struct {
        const char *json, *words;
    } cases[] = {
        {"", "not JSON"},
        {"[]", "it must be an object"},
        {"{\"frames\": []}", "frames is []"},
        {"{}", "frames: it must list the frames"},
        {"{\"frames\": [{}], \"grund\": {}}", "grund: there is no such key; known here: up, forward"},
        {"{\"frames\": [{\"dt\": \"slow\"}]}", "frames[0].dt is \"slow\""},
        {"{\"frames\": [{\"repeat\": 0}]}", "frames[0].repeat is 0: it must be a whole number from 1"},
        {"{\"frames\": [{\"repeat\": 100000}, {}]}", "more than 100000 frames"},
        {"{\"frames\": [{}, {\"legs\": [null]}]}", "frames[1].legs is [null]: it must list all 2 legs, null for one that goes on as it was, and lists 1"},
        {"{\"frames\": [{\"legs\": [{\"ankle\": {\"position\": [0, 0]}}, null]}]}",
         "frames[0].legs[0].ankle.position is [0,0]: it must be 3 numbers"},
        {"{\"frames\": [{\"legs\": [{\"ankle\": {\"position\": [0.1, -0.5, 0]}}, null]}]}", "1.4 from the hip and the leg is 0.9 long"},
        {"{\"frames\": [{\"legs\": [null, {\"ankle\": {\"position\": [-0.1, 0.9, 0]}}]}]}", "nearer than the leg can fold"},
        {"{\"frames\": [{\"legs\": [{\"hit\": {\"normal\": [0,1,0]}}, null]}]}",
         "frames[0].legs[0].hit is {\"normal\":[0,1,0]}: 'point' is missing"},
        {"{\"frames\": [{\"root\": {\"rotation\": [0,0,0,2]}}]}", "a rotation [x,y,z,w] has length 1, this one 2"},
        {"{\"frames\": [{\"root\": {\"position\": {\"to\": [0,0,1], \"velocity\": [0,0,1]}}}]}", "exclude each other"},
        {"{\"frames\": [{\"weight\": {\"keys\": [[0, 1], [0, 2]]}}]}", "frames[0].weight.keys[1] is [0,2]: its time must be later"},
        {"{\"frames\": [{\"flags\": [\"jump\"]}]}", "frames[0].flags[0] is \"jump\""},
        {"{\"frames\": [{\"lod\": \"low\"}]}", "frames[0].lod is \"low\""},
        {"{\"up\": [0,0,0], \"frames\": [{}]}", "up is [0,0,0]: it has no direction"},
        {"{\"up\": [0,0,1], \"frames\": [{}]}", "it lies along 'up'"},
        {"{\"params\": {\"step_upp\": 1}, \"frames\": [{}]}", "params.step_upp: there is no such key"},
        {"{\"params\": {\"max_slope\": 2}, \"frames\": [{}]}", "'max_slope' is 2"},
        {"{\"legs\": [], \"frames\": [{}]}", "it must be a list of 1 to 8 legs, and holds 0"},
        {"{\"legs\": [{}], \"frames\": [{}]}", "legs[0]: 'hip' is missing"},
        {"{\"legs\": [{\"hip\": [0,1,0], \"lengths\": [0, 1]}], \"frames\": [{}]}", "thigh and shin must be longer than 0"},
        {"{\"ground\": {\"planes\": [{\"body\": 0}]}, \"frames\": [{}]}", "ground.planes[0].body is 0: there are no 'bodies'"},
        {"{\"ground\": {\"boxes\": [{\"min\": [0,0,0], \"max\": [1,0,1]}]}, \"frames\": [{}]}", "'min' must be less than 'max'"},
        {"{\"ground\": {\"steps\": [{\"direction\": [0,1,0]}]}, \"frames\": [{}]}", "it must not lie along 'up'"},
        {"{\"frames\": [{}], \"frames\": [{}]}", "duplicate"},
    };
    char path[256];
    temporary_template(path, sizeof path, "scenario");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(cases[i].json, out);
        fclose(out);
        char arguments[512];
        int status;
        snprintf(arguments, sizeof arguments, "feet %s 2>&1", path);
        char *said = run_tool(arguments, &status);
        if (status != 1 || !strstr(said, cases[i].words))
            fail_msg("%s\n  status %d, said: %s  expected in it: %s", cases[i].json, status, said, cases[i].words);
        assert_ptr_equal(strstr(said, "phalanx feet: "), said);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one sentence, and nothing else */
        free(said);
    }
    remove(path);
}

/* Z up, centimetres, one leg: the same answer as Y up in metres, turned and scaled */
static void units_and_up_axis_change_nothing_else(void **state) {
    (void)state;
    char path[256];
    temporary_template(path, sizeof path, "scenario");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    const char *const texts[] = {
        "{\"legs\": [{\"hip\": [0.1,0.9,0]}], \"ground\": {\"planes\": [{\"point\": [0,-0.05,0], \"normal\": [0.1,1,-0.3]}]}, \"frames\": "
        "[{\"repeat\": 5}]}",
        "{\"up\": [0,0,1], \"forward\": [1,0,0], \"unit\": 0.01, \"legs\": [{\"hip\": [0,10,90], \"lengths\": [45,45], \"ankle_height\": "
        "8, \"ball\": [13,0,-8]}],"
        " \"ground\": {\"planes\": [{\"point\": [0,0,-5], \"normal\": [-0.3,0.1,1]}]}, \"frames\": [{\"repeat\": 5}]}",
    };
    json_t *roots[2];
    for (int i = 0; i < 2; ++i) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(texts[i], out);
        fclose(out);
        char arguments[512];
        int status;
        snprintf(arguments, sizeof arguments, "feet %s --json", path);
        char *text = run_tool(arguments, &status);
        assert_int_equal(status, 0);
        roots[i] = json_loads(text, 0, NULL);
        assert_non_null(roots[i]);
        free(text);
    }
    const char *const places[] = {"target", "knee", "ankle", "heel", "ball"};
    for (size_t p = 0; p < 5; ++p) {
        const point a = point_of(leg_of(frame_of(roots[0], 4), 0), places[p]), b = point_of(leg_of(frame_of(roots[1], 4), 0), places[p]);
        assert_near(places[p], b.x / 100, a.z, 1e-5); /* (x, y, z) -> (z, x, y) */
        assert_near(places[p], b.y / 100, a.x, 1e-5);
        assert_near(places[p], b.z / 100, a.y, 1e-5);
    }
    json_decref(roots[0]), json_decref(roots[1]);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pelvis_eases_alike_at_every_frame_rate),
        cmocka_unit_test(hit_stop_holds_and_a_huge_step_lands),
        cmocka_unit_test(soles_lie_flat_on_slopes),
        cmocka_unit_test(stairs_do_not_shake_the_body),
        cmocka_unit_test(pelvis_sinks_for_the_lower_foot),
        cmocka_unit_test(bad_frames_leave_no_trace),
        cmocka_unit_test(animated_ankles_are_exact),
        cmocka_unit_test(backends_print_the_same),
        cmocka_unit_test(wrong_scenarios_are_refused_in_words),
        cmocka_unit_test(units_and_up_axis_change_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
