/* The measure of quality, on captures whose right figures are known because they were made by hand. */
#include "support.h"
#include "phalanx/quality.h"
#include "phalanx/walk.h"

enum { FRAMES = 2 * WALK_FRAMES };

static io_character character;
static legs found;
static motion walk;
static io_notes notes;
static ground *flat, *slope;

/* One walker over two cycles, its corrected poses the same as the animated ones, its roots `lift` metres above y = 0. */
static crowd_run run_of(double lift) {
    crowd_run run = {.characters = 1, .frames = FRAMES, .threads = 1, .feet = 2, .captured_count = 1};
    run.captures = io_allocate(1, sizeof *run.captures);
    crowd_capture *capture = run.captures;
    capture->before = io_allocate((size_t)FRAMES * walk.joint_count, sizeof *capture->before);
    capture->after = io_allocate((size_t)FRAMES * walk.joint_count, sizeof *capture->after);
    capture->roots = io_allocate(FRAMES, sizeof *capture->roots);
    capture->clip_frame = io_allocate(FRAMES, sizeof *capture->clip_frame);
    capture->spawned = io_allocate(FRAMES, 1);
    capture->feet = io_allocate(2 * FRAMES, sizeof *capture->feet);
    capture->pelvis = io_allocate(FRAMES, sizeof *capture->pelvis);
    for (uint32_t f = 0; f < FRAMES; ++f) {
        double at[2];
        motion_sample(&walk, f, capture->before + (size_t)f * walk.joint_count);
        memcpy(capture->after + (size_t)f * walk.joint_count, capture->before + (size_t)f * walk.joint_count,
               walk.joint_count * sizeof *capture->after);
        motion_path(&walk, f, at);
        capture->roots[f] = (root_transform){vec_of(at[0], lift, at[1]), walk.turn};
        capture->clip_frame[f] = f;
        for (int l = 0; l < 2; ++l) capture->feet[2 * f + (uint32_t)l].flags = PHX_FLAG_REACHED;
    }
    return run;
}

static phx_transform *corrected(crowd_run *run, uint32_t frame, uint32_t joint) {
    return &run->captures[0].after[(size_t)frame * walk.joint_count + joint];
}

static void measure(crowd_run *run, const ground *ground, quality result[QUALITY_KINDS]) {
    quality_measure(&walk, ground, run, 1.0 / 60, result, NULL);
    crowd_run_free(run);
}

static int set_up(void **state) {
    (void)state;
    io_error error;
    const ground_options options = ground_default_options();
    walk_character(&character);
    if (legs_find(&character, NULL, &found, &notes, &error) && motion_create(&character, 0, &found, &notes, &walk, &error) &&
        ground_load("flat", &options, &flat, &error) && ground_load("slope:30", &options, &slope, &error))
        return 0;
    printf("%s\n", error.text);
    return 1;
}

static int tear_down(void **state) {
    (void)state;
    ground_free(flat);
    ground_free(slope);
    motion_free(&walk);
    io_character_free(&character);
    io_notes_free(&notes);
    return 0;
}

static void on_its_own_ground_the_clip_is_its_own_floor(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    measure(&run, flat, q);
    for (int kind = 0; kind < QUALITY_KINDS; ++kind) {
        assert_true(q[kind].samples > FRAMES && q[kind].stances == 5);
        assert_true(q[kind].penetration_mm.max < 0.1);
        assert_true(q[kind].gap_mm.p50 < 0.1);
        assert_int_equal(q[kind].knee_flips, 0);
        assert_int_equal(q[kind].non_finite, 0);
        assert_int_equal(q[kind].unreached, 0);
        assert_memory_equal(&q[kind].slide_mm, &q[QUALITY_FLAT].slide_mm, sizeof q[kind].slide_mm);
    }
    assert_true(q[QUALITY_AFTER].max_bone_length_error == 0);
}

static void a_body_that_is_lifted_or_sunk_says_by_how_much(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(-0.012);
    measure(&run, flat, q);
    /* a foot that rolls has one point higher, never a deeper one: every sample sinks by 12 mm less at most the clip's own gap */
    assert_true(fabs(q[QUALITY_AFTER].penetration_mm.max - 12) < 0.1 && fabs(q[QUALITY_AFTER].penetration_mm.p50 - 12) < 0.1);
    assert_true(q[QUALITY_AFTER].gap_mm.p99 == 0);
    assert_true(q[QUALITY_FLAT].penetration_mm.max < 0.1);
    run = run_of(0.02);
    measure(&run, flat, q);
    assert_true(fabs(q[QUALITY_AFTER].gap_mm.p50 - 20) < 0.1 && q[QUALITY_AFTER].penetration_mm.max == 0);
    assert_true(fabs(q[QUALITY_AFTER].gap_mm.max - q[QUALITY_FLAT].gap_mm.max - 20) < 0.1);
}

static void heights_are_taken_along_the_normal(void **state) {
    (void)state;
    double height;
    vec normal;
    /* 1 m over a plane that rises by 30 degrees: cos 30 degrees away from it */
    assert_true(quality_height(slope, vec_of(3, 1, 0), &height, &normal));
    assert_true(fabs(height - 0.86602540378) < 1e-6);
    assert_true(fabs(normal.y - 0.86602540378) < 1e-6 && fabs(normal.z + 0.5) < 1e-6 && fabs(normal.x) < 1e-9);
    assert_true(quality_height(NULL, vec_of(5, -2, 1), &height, &normal));
    assert_true(height == -2);
}

static void a_root_that_drifts_makes_feet_slide(void **state) {
    (void)state;
    quality still[QUALITY_KINDS], q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    measure(&run, flat, still);
    run = run_of(0);
    /* sideways, 2 mm a frame, so that every stance of n frames drifts by 2 (n - 1) mm and its own slide beside */
    for (uint32_t f = 0; f < FRAMES; ++f) run.captures[0].roots[f].place.x += 0.002 * f;
    uint32_t longest = 0;
    for (uint32_t l = 0; l < 2; ++l) {
        for (uint32_t f = 0, length = 0; f < FRAMES; ++f) {
            length = motion_stands(&walk, f, l) ? length + 1 : 0;
            if (length > longest) longest = length;
        }
    }
    measure(&run, flat, q);
    const double drift = 2.0 * (longest - 1);
    assert_true(q[QUALITY_AFTER].slide_mm.max >= drift - 1e-6);
    assert_true(q[QUALITY_AFTER].slide_mm.max <= hypot(drift, still[QUALITY_AFTER].slide_mm.max) + 1.5);
}

static void a_knee_turned_backward_is_a_flip_and_counted_once_a_frame(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    /* three frames with the shin at the far side of the hip-ankle line: half a turn of the thigh about that line, in its own frame */
    uint32_t turned = 0;
    for (uint32_t f = 60; f < 63; ++f, ++turned) {
        phx_transform *thigh = corrected(&run, f, walk.legs[0].hip);
        placed_joint joints[64];
        motion_place(&walk, run.captures[0].after + (size_t)f * walk.joint_count, run.captures[0].roots[f], joints);
        const phx_leg *l = &walk.legs[0];
        const vec axis = vec_unit(vec_sub(joints[l->ankle].place, joints[l->hip].place));
        const turn parent = joints[walk.parents[l->hip]].rotation;
        const turn was = {thigh->rotation.x, thigh->rotation.y, thigh->rotation.z, thigh->rotation.w};
        const turn is = turn_times(turn_times(turn_times(turn_back(parent), turn_about(axis, 3.14159265358979)), parent), was);
        thigh->rotation = (phx_quat){(float)is.x, (float)is.y, (float)is.z, (float)is.w};
    }
    measure(&run, flat, q);
    /* the three, and the frame in which the plane springs back */
    assert_int_equal(q[QUALITY_AFTER].knee_flips, turned + 1);
    assert_int_equal(q[QUALITY_BEFORE].knee_flips, 0);
    assert_true(q[QUALITY_AFTER].max_bone_length_error < 1e-6);
}

static void stretched_bones_bad_numbers_and_missed_targets_are_seen(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    corrected(&run, 10, walk.legs[1].ankle)->translation.y *= 1.01f;
    measure(&run, flat, q);
    assert_true(fabs(q[QUALITY_AFTER].max_bone_length_error - 0.01) < 1e-5);
    run = run_of(0);
    corrected(&run, 20, 3)->rotation.w = NAN;
    corrected(&run, 21, 5)->translation.x = INFINITY;
    measure(&run, flat, q);
    assert_int_equal(q[QUALITY_AFTER].non_finite, 2);
    assert_int_equal(q[QUALITY_BEFORE].non_finite, 0);
    run = run_of(0);
    uint64_t missed = 0;
    for (uint32_t f = 30; f < 50; ++f) {
        run.captures[0].feet[2 * f].flags = PHX_FLAG_OUT_OF_REACH;
        missed += motion_stands(&walk, f, 0);
    }
    measure(&run, flat, q);
    assert_int_equal(q[QUALITY_AFTER].unreached, missed);
}

static void a_new_start_begins_a_new_stance(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    /* 5 m away in mid stance of the left foot: no slide where the walker was put there anew */
    for (uint32_t f = 20; f < FRAMES; ++f) run.captures[0].roots[f].place.x += 5;
    run.captures[0].spawned[20] = 1;
    measure(&run, flat, q);
    assert_true(q[QUALITY_AFTER].slide_mm.max < 20);
    assert_int_equal(q[QUALITY_AFTER].stances, 6);
}

/* A knee turned by 0.9 rad in one frame is fast on its way there and back: at least 0.9 * 60 less what the clip's own knee does. */
static void a_joint_that_pops_is_seen(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    const uint16_t knee = walk.legs[0].knee;
    phx_quat *r = &corrected(&run, 40, knee)->rotation;
    const turn turned = turn_times((turn){r->x, r->y, r->z, r->w}, turn_x(0.9));
    *r = (phx_quat){(float)turned.x, (float)turned.y, (float)turned.z, (float)turned.w};
    measure(&run, flat, q);
    assert_true(q[QUALITY_BEFORE].fast_turns == 0 && q[QUALITY_AFTER].fast_turns == 2 && q[QUALITY_AFTER].turns == 2 * (FRAMES - 1));
    assert_true(fabs(q[QUALITY_AFTER].peak_turn[1] - 0.9 * 60) <= q[QUALITY_BEFORE].peak_turn[1]);
    for (int k = 0; k < 3; k += 2) assert_true(q[QUALITY_AFTER].peak_turn[k] == q[QUALITY_BEFORE].peak_turn[k]);
}

/* The walker's pelvis is at -18 mm cos 4 pi (p - 0.05) of cycle p: lowest at 0.05, then highest and lowest in turn every quarter of a cycle,
 * at 0.3 up to 1.8 in the two cycles. */
static void the_pelvis_turns_round_twice_a_step(void **state) {
    (void)state;
    quality q[QUALITY_KINDS];
    crowd_run run = run_of(0);
    measure(&run, flat, q);
    assert_int_equal(q[QUALITY_BEFORE].pelvis_reversals, 7);
    assert_int_equal(q[QUALITY_AFTER].pelvis_reversals, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_its_own_ground_the_clip_is_its_own_floor),
        cmocka_unit_test(a_body_that_is_lifted_or_sunk_says_by_how_much),
        cmocka_unit_test(heights_are_taken_along_the_normal),
        cmocka_unit_test(a_root_that_drifts_makes_feet_slide),
        cmocka_unit_test(a_knee_turned_backward_is_a_flip_and_counted_once_a_frame),
        cmocka_unit_test(stretched_bones_bad_numbers_and_missed_targets_are_seen),
        cmocka_unit_test(a_new_start_begins_a_new_stance),
        cmocka_unit_test(a_joint_that_pops_is_seen),
        cmocka_unit_test(the_pelvis_turns_round_twice_a_step),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
