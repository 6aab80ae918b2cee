/* The procedural walker: what stands does not move, nothing sinks, bones keep their length, and its speed is found from its feet. */
#include "support.h"
#include "phalanx/motion.h"
#include "phalanx/walk.h"

static io_character character;
static legs found;
static motion walk;
static io_notes notes;

static int set_up(void **state) {
    (void)state;
    io_error error;
    walk_character(&character);
    if (!legs_find(&character, NULL, &found, &notes, &error) || !motion_create(&character, 0, &found, &notes, &walk, &error)) {
        printf("%s\n", error.text);
        return 1;
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    motion_free(&walk);
    io_character_free(&character);
    io_notes_free(&notes);
    return 0;
}

static void place_at(double frame, placed_joint *joints) {
    phx_transform locals[64];
    double at[2];
    assert_true(walk.joint_count <= 64);
    motion_sample(&walk, frame, locals);
    motion_path(&walk, frame, at);
    motion_place(&walk, locals, (root_transform){vec_of(at[0], 0, at[1]), walk.turn}, joints);
}

static void has_two_legs_and_a_loop_at_the_stated_speed(void **state) {
    (void)state;
    assert_true(walk.joint_count >= 20);
    assert_int_equal(walk.leg_count, 2);
    assert_true(walk.loops && walk.in_place);
    assert_int_equal(walk.frames, WALK_FRAMES + 1);
    assert_true(fabs(walk.speed - WALK_SPEED) < 1e-4);
    assert_string_equal(character.joints[walk.pelvis].name, "pelvis");
    for (uint32_t l = 0; l < 2; ++l) assert_true(walk.legs[l].ball != PHX_NO_JOINT);
    /* each foot stands some 60 % of the cycle; its landing and its last push are not counted as standing still */
    assert_true(walk.stance_share > 0.45 && walk.stance_share < 0.62);
}

static void what_stands_stays_where_it_is(void **state) {
    (void)state;
    placed_joint joints[64];
    for (uint32_t l = 0; l < 2; ++l) {
        vec heel_at = {0, 0, 0}, ball_at = {0, 0, 0};
        int heel_frames = 0, ball_frames = 0;
        for (uint32_t f = 0; f < 2 * WALK_FRAMES; ++f) {
            /* shares of the cycle after this heel landed, as the walk is designed: heel down to 0.36, toes down from 0.11 to 0.60 */
            const double p = fmod((double)f / WALK_FRAMES + (l == 0 ? 0 : 0.5), 1);
            place_at(f, joints);
            const vec heel = motion_heel(&walk, l, joints), ball = motion_ball(&walk, l, joints);
            if (p > 1e-9 && p < 0.36) {
                if (heel_frames++ == 0) heel_at = heel;
                assert_true(vec_length(vec_sub(heel, heel_at)) < 1e-5 && fabs(heel.y) < 1e-5);
            } else {
                heel_frames = 0;
            }
            if (p > 0.12 && p < 0.60) {
                if (ball_frames++ == 0) ball_at = ball;
                assert_true(vec_length(vec_sub(ball, ball_at)) < 1e-5 && fabs(ball.y) < 1e-5);
            } else {
                ball_frames = 0;
            }
        }
    }
}

static void between_frames_it_stays_within_a_millimetre(void **state) {
    (void)state;
    placed_joint joints[64];
    for (uint32_t l = 0; l < 2; ++l) {
        for (double p = 0.13; p < 0.35; p += 0.003) {
            place_at((p + (l == 0 ? 1 : 0.5)) * WALK_FRAMES, joints);
            assert_true(fabs(motion_ball(&walk, l, joints).y) < 1e-3 && fabs(motion_heel(&walk, l, joints).y) < 1e-3);
        }
    }
}

static void nothing_sinks_and_the_swing_clears_the_ground(void **state) {
    (void)state;
    placed_joint joints[64];
    for (uint32_t l = 0; l < 2; ++l) {
        const leg *leg = &found.leg[l];
        double highest = 0;
        for (uint32_t f = 0; f < WALK_FRAMES; ++f) {
            place_at(f, joints);
            const double heel = motion_heel(&walk, l, joints).y, ball = motion_ball(&walk, l, joints).y;
            assert_true(heel > -1e-5 && ball > -1e-5);
            assert_true(joints[leg->tip].place.y > 0.005);
            highest = fmax(highest, fmin(heel, ball));
        }
        assert_true(highest > 0.04);
    }
}

static void bones_keep_their_length_and_knees_bend_forward(void **state) {
    (void)state;
    placed_joint joints[64];
    for (double f = 0; f < WALK_FRAMES; f += 0.5) {
        place_at(f, joints);
        for (uint32_t j = 1; j < walk.joint_count; ++j) {
            if (j == walk.pelvis) continue;
            const float *rest = character.joints[j].rest.translation;
            const double length = vec_length(vec_of(rest[0], rest[1], rest[2]));
            const double is = vec_length(vec_sub(joints[j].place, joints[walk.parents[j]].place));
            assert_true(fabs(is - length) < 1e-6);
        }
        for (uint32_t l = 0; l < 2; ++l) {
            const vec hip = joints[walk.legs[l].hip].place, knee = joints[walk.legs[l].knee].place,
                      ankle = joints[walk.legs[l].ankle].place;
            const double reach = vec_length(vec_sub(ankle, hip)) / walk.leg_length[l];
            assert_true(reach < 0.986 && reach > 0.5);
            const vec thigh = vec_sub(knee, hip), shin = vec_sub(ankle, knee);
            /* the knee is in front of the line from hip to ankle: thigh x shin points to the walker's left, +X */
            assert_true(vec_cross(shin, thigh).x > 0 || vec_cross(thigh, shin).x > 0);
            assert_true(vec_cross(thigh, shin).x > 0);
        }
    }
}

static void a_loop_goes_on_past_its_end(void **state) {
    (void)state;
    placed_joint early[64], late[64];
    const double cycle = WALK_FRAMES;
    place_at(11.25, early);
    place_at(11.25 + 3 * cycle, late);
    const double carried = 3 * cycle / 60 * WALK_SPEED;
    for (uint32_t j = 0; j < walk.joint_count; ++j) {
        const vec moved = vec_sub(late[j].place, early[j].place);
        assert_true(fabs(moved.x) < 1e-4 && fabs(moved.y) < 1e-6 && fabs(moved.z - carried) < 1e-3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_two_legs_and_a_loop_at_the_stated_speed),    cmocka_unit_test(what_stands_stays_where_it_is),
        cmocka_unit_test(between_frames_it_stays_within_a_millimetre),    cmocka_unit_test(nothing_sinks_and_the_swing_clears_the_ground),
        cmocka_unit_test(bones_keep_their_length_and_knees_bend_forward), cmocka_unit_test(a_loop_goes_on_past_its_end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
