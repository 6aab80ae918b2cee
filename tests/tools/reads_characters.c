/* Real characters of every format: joint positions against files that another program wrote, legs, units and frame counts
 * against what is known of each file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/character.h"
#include "phalanx/legs.h"
#include "shared_files.h"

static void load(const char *path, const io_character_options *options, io_character *character) {
    io_error error = {{0}};
    const io_character_options none = {0};
    if (!io_character_load(path, options != NULL ? options : &none, character, &error)) fail_msg("%s", error.text);
}

/* Every row (frame,time,side,part,joint,x,y,z) of a table of world positions in file units. Positions carry six digits there. */
static void positions_match(const char *file, const char *table, const char *clip_name, double rows_a_second, int skipped_frames,
                            double tolerance) {
    const char *path = shared_file(0, file), *rows = shared_file(1, table);
    io_character character;
    load(path, NULL, &character);
    io_error error = {{0}};
    size_t clip = 0, checked = 0;
    if (!io_character_find_clip(&character, clip_name, &clip, &error)) fail_msg("%s", error.text);
    io_transform *locals = calloc(character.joint_count, sizeof *locals);
    double(*world)[12] = calloc(character.joint_count, sizeof *world), worst = 0;
    FILE *in = fopen(rows, "r");
    assert_non_null(in);
    char line[256];
    assert_non_null(fgets(line, sizeof line, in));
    int placed = -1, frame;
    char side[8], part[16], name[64];
    double time, expected[3];
    while (fgets(line, sizeof line, in) != NULL) {
        assert_int_equal(8, sscanf(line, "%d,%lf,%7[^,],%15[^,],%63[^,],%lf,%lf,%lf", &frame, &time, side, part, name, &expected[0],
                                   &expected[1], &expected[2]));
        if (frame < skipped_frames) continue;
        if (frame != placed) {
            io_character_sample(&character, clip,
                                (frame - skipped_frames) / (rows_a_second > 0 ? rows_a_second : character.clips[clip].frame_rate), locals);
            io_character_world(&character, locals, world);
            placed = frame;
        }
        int32_t joint = io_character_find_joint(&character, name);
        if (joint < 0) fail_msg("%s has no joint %s", file, name);
        for (int k = 0; k < 3; ++k) {
            /* a sixth digit in file units is worth 5e-6 of the value */
            double unit = character.unit, off = fabs(world[joint][4 * k + 3] - expected[k] * unit),
                   allowed = tolerance + 6e-6 * fabs(expected[k]) * unit;
            worst = fmax(worst, off - 6e-6 * fabs(expected[k]) * unit);
            if (!(off <= allowed))
                fail_msg("%s frame %d %s axis %d: %.9g m instead of %.9g m", file, frame, name, k, world[joint][4 * k + 3],
                         expected[k] * unit);
        }
        ++checked;
    }
    fclose(in);
    assert_true(checked > 100);
    printf("%s: %zu positions, worst %.2g m beyond the table's own rounding\n", file, checked, fmax(worst, 0));
    free(world);
    free(locals);
    io_character_free(&character);
}

static void cmu_walk_positions(void **state) {
    (void)state, positions_match("cmu_bvh/12_01_walk.bvh", "cmu_bvh/legs_12_01_walk.csv", NULL, 0, 1, 1e-6);
}
static void bvhtoolbox_positions(void **state) {
    (void)state, positions_match("bvhtoolbox_walk/walk01.bvh", "bvhtoolbox_walk/legs_walk01.csv", NULL, 0, 0, 1e-6);
}
static void cesiumman_positions(void **state) {
    (void)state, positions_match("gltf_cesiumman/CesiumMan.glb", "gltf_cesiumman/legs_walk.csv", NULL, 30, 0, 1e-6);
}
static void fox_positions(void **state) { (void)state, positions_match("gltf_fox/Fox.glb", "gltf_fox/legs_Walk.csv", "Walk", 30, 0, 1e-6); }
static void kaykit_positions(void **state) {
    (void)state, positions_match("gltf_kaykit/Med_MovementBasic.glb", "gltf_kaykit/legs_Walking_A.csv", "Walking_A", 30, 0, 1e-6);
}
/* The table is of the same motion from another export; the Collada file's matrices have six decimals of a centimetre-scaled turn. */
static void collada_positions(void **state) {
    (void)state, positions_match("ozz_pab/pab_walk.dae", "ozz_pab/legs_walk.csv", NULL, 30, 0, 2e-5);
}

typedef struct known_leg {
    const char *side, *hip, *knee, *ankle, *ball;
    double upper, lower; /* metres, three decimals */
} known_leg;

static void has_legs(const char *file, size_t joints, double unit, const known_leg *known, size_t count) {
    io_character character;
    load(shared_file(0, file), NULL, &character);
    assert_int_equal(joints, character.skeletal_count);
    assert_true(fabs(character.unit - unit) <= 1e-9);
    assert_false(character.z_up);
    legs found;
    io_error error = {{0}};
    assert_true(legs_find(&character, NULL, &found, &character.notes, &error));
    assert_int_equal(count, found.count);
    for (size_t i = 0; i < count; ++i) {
        const leg *leg = &found.leg[i];
        assert_string_equal(known[i].side, leg_side_name(leg));
        assert_string_equal(known[i].hip, character.joints[leg->hip].name);
        assert_string_equal(known[i].knee, character.joints[leg->knee].name);
        assert_string_equal(known[i].ankle, character.joints[leg->ankle].name);
        if (known[i].ball == NULL) assert_int_equal(-1, leg->ball);
        else assert_string_equal(known[i].ball, leg->ball >= 0 ? character.joints[leg->ball].name : "none");
        assert_true(fabs(leg->upper_length - known[i].upper) <= 0.0006);
        assert_true(fabs(leg->lower_length - known[i].lower) <= 0.0006);
        assert_true(leg->front == (i >= 2));
    }
    io_character_free(&character);
}

static void finds_legs_of_a_cmu_recording(void **state) {
    (void)state;
    has_legs("cmu_bvh/12_01_walk.bvh", 31, 0.056444,
             (const known_leg[]){{"left", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase", 0.336, 0.453},
                                 {"right", "RightUpLeg", "RightLeg", "RightFoot", "RightToeBase", 0.345, 0.438}},
             2);
}
static void finds_legs_without_toes(void **state) {
    (void)state;
    has_legs("bvhtoolbox_walk/walk01.bvh", 19, 0.01,
             (const known_leg[]){{"left", "LeftUpLeg", "LeftLeg", "LeftFoot", NULL, 0.440, 0.485},
                                 {"right", "RightUpLeg", "RightLeg", "RightFoot", NULL, 0.440, 0.482}},
             2);
}
static void finds_numbered_legs(void **state) {
    (void)state;
    has_legs("gltf_cesiumman/CesiumMan.glb", 19, 1,
             (const known_leg[]){{"left", "leg_joint_L_1", "leg_joint_L_2", "leg_joint_L_3", "leg_joint_L_5", 0.266, 0.276},
                                 {"right", "leg_joint_R_1", "leg_joint_R_2", "leg_joint_R_3", "leg_joint_R_5", 0.266, 0.276}},
             2);
}
static void finds_legs_of_a_game_rig(void **state) {
    (void)state;
    has_legs("gltf_kaykit/Med_MovementBasic.glb", 23, 1,
             (const known_leg[]){{"left", "upperleg.l", "lowerleg.l", "foot.l", "toes.l", 0.227, 0.149},
                                 {"right", "upperleg.r", "lowerleg.r", "foot.r", "toes.r", 0.227, 0.149}},
             2);
}
static void finds_legs_that_hang_from_the_spine(void **state) {
    (void)state;
    has_legs("ozz_pab/pab_walk.dae", 67, 1,
             (const known_leg[]){{"left", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftFootThumb1", 0.471, 0.458},
                                 {"right", "RightUpLeg", "RightLeg", "RightFoot", "RightFootThumb1", 0.471, 0.458}},
             2);
}
static void finds_four_legs_of_a_fox(void **state) {
    (void)state;
    has_legs("gltf_fox/Fox.glb", 24, 0.01,
             (const known_leg[]){{"left", "b_LeftLeg01_015", "b_LeftLeg02_016", "b_LeftFoot01_017", "b_LeftFoot02_018", 0.189, 0.179},
                                 {"right", "b_RightLeg01_019", "b_RightLeg02_020", "b_RightFoot01_021", "b_RightFoot02_022", 0.189, 0.179},
                                 {"left", "b_LeftUpperArm_09", "b_LeftForeArm_010", "b_LeftHand_011", NULL, 0.230, 0.194},
                                 {"right", "b_RightUpperArm_06", "b_RightForeArm_07", "b_RightHand_08", NULL, 0.230, 0.194}},
             4);
}

static void given_legs_win(void **state) {
    (void)state;
    io_character character;
    load(shared_file(0, "gltf_cesiumman/CesiumMan.glb"), NULL, &character);
    legs found;
    io_error error = {{0}};
    io_notes notes = {0};
    assert_true(legs_find(&character, "leg_joint_L_1,leg_joint_L_2,leg_joint_L_3", &found, &notes, &error));
    assert_int_equal(1, found.count);
    assert_int_equal('l', found.leg[0].side);
    assert_false(legs_find(&character, "leg_joint_L_1,leg_joint_L_3", &found, &notes, &error));
    assert_non_null(strstr(error.text, "hip, knee and ankle"));
    assert_false(legs_find(&character, "leg_joint_L_2,leg_joint_L_1,leg_joint_L_3", &found, &notes, &error));
    assert_non_null(strstr(error.text, "does not hang below"));
    assert_false(legs_find(&character, "nobody,leg_joint_L_1,leg_joint_L_3", &found, &notes, &error));
    assert_non_null(strstr(error.text, "'nobody'"));
    assert_false(legs_find(&character, "", &found, &notes, &error));
    io_notes_free(&notes);
    io_character_free(&character);
}

static void frame_counts_are_the_files_own(void **state) {
    (void)state;
    io_character character;
    load(shared_file(0, "cmu_bvh/12_01_walk.bvh"), NULL, &character);
    /* 524 in the file, less the inserted T-pose */
    assert_int_equal(523, character.clips[0].frames);
    assert_true(fabs(character.clips[0].frame_rate - 120) < 0.01);
    io_character_free(&character);
    load(shared_file(0, "malformed/bvh/Boxing_Toes.bvh"), NULL, &character);
    assert_int_equal(3069, character.clips[0].frames);
    assert_true(character.notes.count > 0 && strstr(character.notes.text[0], "goes on after the 3069 frames") != NULL);
    io_character_free(&character);
}

static void unit_and_up_are_what_the_user_says(void **state) {
    (void)state;
    io_character character;
    const io_character_options options = {.unit = 0.5, .up = 'z'};
    load(shared_file(0, "gltf_cesiumman/CesiumMan.glb"), &options, &character);
    assert_true(character.unit == 0.5 && character.z_up);
    io_transform *locals = calloc(character.joint_count, sizeof *locals);
    double(*world)[12] = calloc(character.joint_count, sizeof *world);
    io_character_sample(&character, SIZE_MAX, 0, locals);
    io_character_world(&character, locals, world);
    /* the same file as it is: x y z; turned from Z up and halved: x/2, z/2, -y/2 */
    io_character plain;
    load(shared_file(0, "gltf_cesiumman/CesiumMan.glb"), NULL, &plain);
    double(*upright)[12] = calloc(plain.joint_count, sizeof *upright);
    io_character_world(&plain, locals, upright);
    for (size_t j = 0; j < plain.joint_count; ++j) {
        assert_true(fabs(world[j][3] - 0.5 * upright[j][3]) < 1e-12);
        assert_true(fabs(world[j][7] - 0.5 * upright[j][11]) < 1e-12);
        assert_true(fabs(world[j][11] + 0.5 * upright[j][7]) < 1e-12);
        /* the root transform that crowds use says the same: rotation, then scale */
        io_transform root = io_character_root(&character);
        double w = root.rotation[3], x = root.rotation[0];
        assert_true(fabs(root.scale[0] - 0.5) < 1e-7 && fabs((w * w - x * x)) < 1e-6 && fabs(2 * w * x + 1) < 1e-6);
    }
    free(upright);
    free(world);
    free(locals);
    io_character_free(&plain);
    io_character_free(&character);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmu_walk_positions),
        cmocka_unit_test(bvhtoolbox_positions),
        cmocka_unit_test(cesiumman_positions),
        cmocka_unit_test(fox_positions),
        cmocka_unit_test(kaykit_positions),
        cmocka_unit_test(collada_positions),
        cmocka_unit_test(finds_legs_of_a_cmu_recording),
        cmocka_unit_test(finds_legs_without_toes),
        cmocka_unit_test(finds_numbered_legs),
        cmocka_unit_test(finds_legs_of_a_game_rig),
        cmocka_unit_test(finds_legs_that_hang_from_the_spine),
        cmocka_unit_test(finds_four_legs_of_a_fox),
        cmocka_unit_test(given_legs_win),
        cmocka_unit_test(frame_counts_are_the_files_own),
        cmocka_unit_test(unit_and_up_are_what_the_user_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
