/* Debug drawing: as many lines of each kind as draw.h says, finite all of them, and bones that end where forward kinematics ends. */
#include "crowd_rig.h"

enum { CHARACTERS = 21, KINDS = 6, BONES_DRAWN = 9 + 3 * 2 }; /* the rig's read joints: root, hips, and hip knee ankle ball a leg */

typedef struct drawing {
    int lines[KINDS], strange;
    phx_vec3 ends[4096][2];
    uint32_t kinds[4096];
    int count;
} drawing;

static void take_line(void *context, phx_vec3 from, phx_vec3 to, uint32_t colour, phx_draw what) {
    drawing *d = context;
    const float numbers[6] = {from.x, from.y, from.z, to.x, to.y, to.z};
    int kind = 0;
    while (kind < KINDS && what != 1u << kind) ++kind;
    if (kind == KINDS || colour > 0xFFFFFF)
        ++d->strange;
    else
        ++d->lines[kind];
    for (int i = 0; i < 6; ++i) d->strange += !isfinite(numbers[i]);
    if (d->count < 4096) d->ends[d->count][0] = from, d->ends[d->count][1] = to, d->kinds[d->count++] = what;
}

typedef struct scene {
    phx_crowd *crowd;
    phx_crowd_frame frame;
    phx_transform pose[CHARACTERS * RIG_JOINTS];
    phx_vec3 roots[CHARACTERS];
    uint32_t flags[CHARACTERS];
} scene;

static int flat(const void *unused, float x, float z, float *height, phx_vec3 *normal) {
    (void)unused, (void)x, (void)z;
    *height = 0, *normal = (phx_vec3){0, 1, 0};
    return 1;
}

/* Everyone stands still for some frames on the flat, so that every foot is locked; one character is not finite. */
static void stand(scene *s, int limits, int bad) {
    phx_crowd_def def = rig_def(NULL, CHARACTERS);
    if (limits) def.legs[0].max_bend = def.legs[1].max_bend = 2.5f;
    memset(s, 0, sizeof *s);
    phx_report report;
    s->crowd = phx_crowd_create(&def, &report);
    assert_non_null(s->crowd);
    s->frame.count = CHARACTERS, s->frame.dt = 1 / 60.0f;
    s->frame.poses = phx_poses_of(s->pose, RIG_JOINTS);
    s->frame.root_position = PHX_VIEW_ARRAY(s->roots);
    for (int frame = 0; frame < 30; ++frame) {
        for (int c = 0; c < CHARACTERS; ++c) {
            rig_pose(s->pose + c * RIG_JOINTS, (const float[2]){0.2f, 0.2f}, (const float[2]){0.4f, 0.4f});
            s->pose[c * RIG_JOINTS + RIG_HIPS].translation.y = 0.02f + 0.42f * cosf(0.2f) + 0.40f * cosf(0.2f) + 0.08f;
            s->roots[c] = (phx_vec3){(float)c, 0, 0};
        }
        if (bad >= 0) s->roots[bad].y = NAN;
        run_frame(s->crowd, &s->frame, flat, NULL);
    }
}

static void lines_are_finite_and_as_many_as_stated(void **state) {
    (void)state;
    static drawing d;
    static scene s;
    stand(&s, 1, -1);
    for (uint32_t leg = 0; leg < 2; ++leg) {
        phx_foot_info info;
        phx_crowd_foot(s.crowd, 3, leg, &info);
        assert_true(info.locked);
    }
    memset(&d, 0, sizeof d);
    phx_report report;
    assert_int_equal(phx_crowd_draw(s.crowd, &s.frame, 3, 5, PHX_DRAW_ALL, take_line, &d, &report), PHX_OK);
    const int expected[KINDS] = {BONES_DRAWN * 5, 4 * 2 * 5, 5 * 2 * 5, 2 * 2 * 5, 4 * 2 * 5, (2 * 2 + 1) * 5};
    for (int kind = 0; kind < KINDS; ++kind) assert_int_equal(d.lines[kind], expected[kind]);
    assert_int_equal(d.strange, 0);
    for (int kind = 0; kind < KINDS; ++kind) {
        memset(&d, 0, sizeof d);
        phx_crowd_draw(s.crowd, &s.frame, 3, 5, 1u << kind, take_line, &d, NULL);
        assert_int_equal(d.count, expected[kind]);
        assert_int_equal(d.lines[kind], expected[kind]);
    }
    phx_crowd_destroy(s.crowd);
}

static void bad_characters_are_left_out(void **state) {
    (void)state;
    static drawing d;
    static scene s;
    stand(&s, 0, 7);
    memset(&d, 0, sizeof d);
    assert_int_equal(phx_crowd_draw(s.crowd, &s.frame, 7, 1, PHX_DRAW_ALL & ~PHX_DRAW_RAYS, take_line, &d, NULL), PHX_OK);
    assert_int_equal(d.count, 0);
    phx_crowd_draw(s.crowd, &s.frame, 0, CHARACTERS, PHX_DRAW_ALL, take_line, &d, NULL);
    assert_int_equal(d.strange, 0);
    assert_int_equal(d.lines[0], BONES_DRAWN * (CHARACTERS - 1));
    phx_crowd_destroy(s.crowd);
}

/* each bone's far end is a joint of the corrected pose; the crosses of targets lie on the ankles, those of locks on the soles */
static void lines_lie_where_the_solve_put_things(void **state) {
    (void)state;
    static drawing d;
    static scene s;
    stand(&s, 0, -1);
    phx_vec3 joints[RIG_JOINTS];
    phx_quat turns[RIG_JOINTS];
    const uint32_t c = 11;
    for (int j = 0; j < RIG_JOINTS; ++j) { /* all of the rig's rotations are about X */
        const phx_transform *t = s.pose + c * RIG_JOINTS + j;
        const uint16_t parent = rig_parents[j];
        const phx_quat q = parent == PHX_NO_JOINT ? (phx_quat){0, 0, 0, 1} : turns[parent];
        const double sine = 2.0 * q.x * q.w, cosine = 1 - 2.0 * q.x * q.x;
        const phx_vec3 at = parent == PHX_NO_JOINT ? s.roots[c] : joints[parent], o = t->translation;
        joints[j] = (phx_vec3){at.x + o.x, (float)(at.y + o.y * cosine - o.z * sine), (float)(at.z + o.y * sine + o.z * cosine)};
        turns[j] = (phx_quat){q.w * t->rotation.x + q.x * t->rotation.w, 0, 0, q.w * t->rotation.w - q.x * t->rotation.x};
    }
    memset(&d, 0, sizeof d);
    phx_crowd_draw(s.crowd, &s.frame, c, 1, PHX_DRAW_BONES, take_line, &d, NULL);
    const int ends[9] = {1, 4, 5, 6, 7, 9, 10, 11, 12};
    for (int i = 0; i < 9; ++i) {
        const phx_vec3 a = joints[ends[i]], p = joints[rig_parents[ends[i]]];
        int found = 0;
        for (int l = 0; l < d.count; ++l) {
            const phx_vec3 *e = d.ends[l];
            found += fabsf(e[1].x - a.x) + fabsf(e[1].y - a.y) + fabsf(e[1].z - a.z) < 1e-5f &&
                     fabsf(e[0].x - p.x) + fabsf(e[0].y - p.y) + fabsf(e[0].z - p.z) < 1e-5f;
        }
        if (!found) fail_msg("no bone from joint %d to joint %d", rig_parents[ends[i]], ends[i]);
    }
    memset(&d, 0, sizeof d);
    phx_crowd_draw(s.crowd, &s.frame, c, 1, PHX_DRAW_TARGETS | PHX_DRAW_LOCKS, take_line, &d, NULL);
    assert_int_equal(d.count, 16);
    for (int l = 0; l < d.count; l += 4) {
        const phx_vec3 *joining = d.ends[l + 3]; /* from the ankle or ball to the cross: nothing, as the foot reached it */
        const double gap = sqrt(pow((double)joining[0].x - joining[1].x, 2) + pow((double)joining[0].y - joining[1].y, 2) +
                                pow((double)joining[0].z - joining[1].z, 2));
        assert_true(gap < 1e-3);
        assert_true(fabsf((d.ends[l][0].x + d.ends[l][1].x) / 2 - joining[1].x) < 1e-5f);
    }
    phx_crowd_destroy(s.crowd);
}

static void wrong_calls_draw_nothing(void **state) {
    (void)state;
    static drawing d;
    static scene s;
    stand(&s, 0, -1);
    phx_report report;
    assert_int_equal(phx_crowd_draw(NULL, &s.frame, 0, 1, PHX_DRAW_ALL, take_line, &d, &report), PHX_ERROR_NULL);
    assert_int_equal(phx_crowd_draw(s.crowd, NULL, 0, 1, PHX_DRAW_ALL, take_line, &d, &report), PHX_ERROR_NULL);
    assert_int_equal(phx_crowd_draw(s.crowd, &s.frame, 0, 1, PHX_DRAW_ALL, NULL, &d, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "'line'"));
    assert_int_equal(phx_crowd_draw(s.crowd, &s.frame, 20, 2, PHX_DRAW_ALL, take_line, &d, &report), PHX_ERROR_COUNT);
    assert_int_equal(phx_crowd_draw(s.crowd, &s.frame, 0xFFFFFFFFu, 2, PHX_DRAW_ALL, take_line, &d, &report), PHX_ERROR_COUNT);
    assert_int_equal(d.count, 0);
    phx_crowd_destroy(s.crowd);
}

static void chains_are_drawn(void **state) {
    (void)state;
    static drawing d;
    const phx_vec3 joints[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}}, target = {2, 1, 1};
    memset(&d, 0, sizeof d);
    phx_chain_draw(joints, 4, &target, PHX_FLAG_OUT_OF_REACH, take_line, &d);
    assert_int_equal(d.lines[0], 3);
    assert_int_equal(d.lines[1], 4);
    phx_chain_draw(joints, 4, NULL, PHX_FLAG_REACHED, take_line, &d);
    assert_int_equal(d.lines[0], 6);
    assert_int_equal(d.lines[1], 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_finite_and_as_many_as_stated),
        cmocka_unit_test(bad_characters_are_left_out),
        cmocka_unit_test(lines_lie_where_the_solve_put_things),
        cmocka_unit_test(wrong_calls_draw_nothing),
        cmocka_unit_test(chains_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
