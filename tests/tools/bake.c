/* `phalanx bake`: the GLB holds the walk that was baked, origin and heading choose the way, faults leave no file. */
#define _DEFAULT_SOURCE
#include "support.h"

#include <stdbool.h>

#include "io/character.h"
#include "phalanx/legs.h"
#include "shared_files.h"
#include "tool.h"

typedef struct real_clip {
    const char *file, *clip;
    double least_speed, most_speed; /* m/s; README files beside the clips say how fast each walks */
} real_clip;

static const real_clip clips[] = {
    {"cmu_bvh/12_01_walk.bvh", NULL, 0.85, 0.95},       {"bvhtoolbox_walk/walk01.bvh", NULL, 1.28, 1.38},
    {"gltf_cesiumman/CesiumMan.glb", NULL, 0.78, 0.92}, {"gltf_kaykit/Med_MovementBasic.glb", "Walking_A", 0.5, 1.0},
    {"ozz_pab/pab_walk.dae", NULL, 1.03, 1.11},
};

static json_t *bake(const real_clip *clip, const char *ground, const char *out) {
    const char *json = scratch("bake.json"), *file = shared_file(0, clip->file);
    const int status = run_tool("bake '%s' %s%s --ground '%s' -o %s --json %s", file, clip->clip != NULL ? "--clip " : "",
                                clip->clip != NULL ? clip->clip : "", ground, out, json);
    if (status != 0) fail_msg("bake %s: %s", clip->file, tool_said);
    return read_json(json);
}

/* Ends of the baked walk, and leg bones in every frame, read back by the reader. */
static void the_file_holds_the_walk(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof clips / sizeof *clips; ++i) {
        const char *out = scratch("walk.glb");
        json_t *root = bake(&clips[i], "hills:3", out);
        const double speed = json_at(root, "speed"), rate = json_at(root, "frame_rate"), frames = json_at(root, "frames");
        if (speed < clips[i].least_speed || speed > clips[i].most_speed) fail_msg("%s: %g m/s", clips[i].file, speed);
        json_decref(root);
        io_character before, after;
        io_character_options options = {0};
        io_error error;
        assert_true(io_character_load(shared_file(0, clips[i].file), &options, &before, &error));
        if (!io_character_load(out, &options, &after, &error)) fail_msg("%s", error.text);
        assert_int_equal(after.clip_count, before.is_gltf ? before.clip_count + 1 : 1);
        const size_t clip = after.clip_count - 1;
        assert_non_null(strstr(after.clips[clip].name, "hills:3"));
        assert_true(fabs(after.clips[clip].seconds - (frames - 1) / rate) < 1e-3);
        legs found;
        io_notes notes = {0};
        assert_true(legs_find(&before, NULL, &found, &notes, &error) && found.count == 2);
        io_transform *locals = io_allocate(after.joint_count, sizeof *locals);
        double(*world)[12] = io_allocate(after.joint_count, sizeof *world), start[3] = {0}, end[3] = {0};
        for (uint32_t f = 0; f < (uint32_t)frames; ++f) {
            io_character_sample(&after, clip, f / rate, locals);
            io_character_world(&after, locals, world);
            for (size_t l = 0; l < 2; ++l) {
                const int32_t hip = io_character_find_joint(&after, before.joints[found.leg[l].hip].name);
                const int32_t knee = io_character_find_joint(&after, before.joints[found.leg[l].knee].name);
                const int32_t ankle = io_character_find_joint(&after, before.joints[found.leg[l].ankle].name);
                assert_true(hip >= 0 && knee >= 0 && ankle >= 0);
                double upper = 0, lower = 0;
                for (int k = 0; k < 3; ++k) {
                    upper += pow(world[knee][4 * k + 3] - world[hip][4 * k + 3], 2);
                    lower += pow(world[ankle][4 * k + 3] - world[knee][4 * k + 3], 2);
                    if (l == 0 && f == 0) start[k] = world[hip][4 * k + 3];
                    if (l == 0) end[k] = world[hip][4 * k + 3];
                }
                assert_true(fabs(sqrt(upper) / found.leg[l].upper_length - 1) < 1e-4);
                assert_true(fabs(sqrt(lower) / found.leg[l].lower_length - 1) < 1e-4);
            }
        }
        /* it walked along +Z as far as its speed says, hips swaying by less than 0.2 m */
        const double walked = speed * (frames - 1) / rate;
        assert_true(walked > 3.5);
        assert_true(fabs(end[2] - start[2] - walked) < 0.2 && fabs(end[0] - start[0]) < 0.35);
        free(world);
        free(locals);
        io_notes_free(&notes);
        io_character_free(&after);
        io_character_free(&before);
    }
}

static void origin_and_heading_choose_the_way(void **state) {
    (void)state;
    const char *file = shared_file(0, "ozz_pab/pab_walk.dae"), *ground = shared_file(1, "terrain_misc/DEM-kootenai_37x50_1x1.asc");
    char hashes[3][17];
    static const char *const ways[] = {"", "--origin 3,-2", "--heading 90"};
    for (int i = 0; i < 3; ++i) {
        const char *json = scratch("way.json");
        if (run_tool("bake '%s' --ground '%s' -o %s --json %s %s", file, ground, scratch("way.glb"), json, ways[i]) != 0)
            fail_msg("%s", tool_said);
        json_t *root = read_json(json);
        snprintf(hashes[i], sizeof hashes[i], "%s", json_string_value(json_object_get(root, "hash")));
        json_decref(root);
    }
    assert_string_not_equal(hashes[0], hashes[1]);
    assert_string_not_equal(hashes[0], hashes[2]);
    /* there and off the edge: 49 x 36 m */
    assert_int_equal(run_tool("bake '%s' --ground '%s' -o %s --origin 500,0", file, ground, scratch("off.glb")), 1);
    assert_false(file_exists(scratch("off.glb")));
    assert_int_equal(run_tool("bake '%s' --ground '%s' -o %s --origin 0,17.9", file, ground, scratch("off.glb")), 1);
    assert_false(file_exists(scratch("off.glb")));
}

static void what_is_wrong_is_refused_and_leaves_no_file(void **state) {
    (void)state;
    const char *good = shared_file(0, "gltf_cesiumman/CesiumMan.glb");
    char sentence[2048];
    const struct {
        const char *arguments;
        int status;
        const char *says;
    } cases[] = {
        {"", 2, "missing"},
        {"'%s'", 2, "--ground"},
        {"'%s' --ground hills --clip nothing", 1, "nothing"},
        {"'%s' --ground nowhere.asc", 1, "nowhere.asc"},
        {"'%s' --ground hills --legs a,b,c", 1, "--legs"},
        {"'%s' --ground hills --unit 0", 2, "--unit"},
        {"'%s' --ground hills --up x", 2, "--up"},
        {"'%s' --ground hills --origin 3", 2, "--origin"},
        {"'%s' --ground hills --origin 1,nan", 2, "--origin"},
        {"'%s' --ground hills --heading north", 2, "--heading"},
        {"'%s' --ground hills --ground-scale -1", 2, "--ground-scale"},
        {"nobody.bvh --ground hills", 1, "nobody.bvh"},
        {"'%s' --ground hills --report -", 2, "--report: '-'"},
        {"'%s' --ground /etc/passwd", 1, "ends as no height map"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *out = scratch("refused.glb"), *json = scratch("refused.json");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(sentence, sizeof sentence, cases[i].arguments, good);
#pragma GCC diagnostic pop
        const int status = run_tool("bake %s -o %s --json %s", sentence, out, json);
        if (status != cases[i].status || strstr(tool_said, cases[i].says) == NULL) fail_msg("bake %s: %d: %s", sentence, status, tool_said);
        assert_false(file_exists(out));
        assert_false(file_exists(json));
    }
    assert_int_equal(run_tool("bake '%s' --ground hills", good), 2);
    assert_non_null(strstr(tool_said, "-o"));
    assert_int_equal(run_tool("bake '%s' --ground hills -o out.gltf", good), 2);
    assert_non_null(strstr(tool_said, "'out.gltf' does not end in .glb"));
    assert_int_equal(run_tool("bake '%s' --ground hills -o /nowhere/at/all.glb", good), 1);
}

/* A GLB baked onto itself keeps what it held, and gives the new clip a name of its own; it does not change where the figures cannot be
 * written. */
static void a_glb_is_baked_onto_itself(void **state) {
    (void)state;
    const char *file = shared_file(0, "gltf_cesiumman/CesiumMan.glb"), *out = scratch("again.glb");
    assert_int_equal(run_tool("bake '%s' --ground stairs -o %s", file, out), 0);
    assert_int_equal(run_tool("bake %s --clip 'clip 0' --ground stairs -o %s", out, out), 0);
    assert_int_equal(run_tool("bake %s --clip 'clip 0' --ground stairs -o %s", out, out), 0);
    static const char *const names[] = {"clip 0", "clip 0 on stairs", "clip 0 on stairs (2)", "clip 0 on stairs (3)"};
    for (int round = 0; round < 2; ++round) {
        io_character character;
        io_character_options options = {0};
        io_error error;
        if (!io_character_load(out, &options, &character, &error)) fail_msg("%s", error.text);
        assert_int_equal(character.clip_count, 4);
        for (size_t c = 0; c < 4; ++c) assert_string_equal(character.clips[c].name, names[c]);
        io_character_free(&character);
        if (round == 0) assert_int_equal(run_tool("bake %s --clip 'clip 0' --ground stairs -o %s --json /dev/full", out, out), 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_holds_the_walk),
        cmocka_unit_test(origin_and_heading_choose_the_way),
        cmocka_unit_test(a_glb_is_baked_onto_itself),
        cmocka_unit_test(what_is_wrong_is_refused_and_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
