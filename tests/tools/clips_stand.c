/* Real clips baked on surveyed and on procedural ground: feet stand at least four times better than before, no knee flips. */
#define _DEFAULT_SOURCE
#include "support.h"

#include <stdbool.h>

#include "shared_files.h"
#include "tool.h"

static const struct {
    const char *file, *clip;
} clips[] = {
    {"cmu_bvh/12_01_walk.bvh", ""},
    {"bvhtoolbox_walk/walk01.bvh", ""},
    {"gltf_cesiumman/CesiumMan.glb", ""},
    {"gltf_kaykit/Med_MovementBasic.glb", "--clip Walking_A"},
    {"ozz_pab/pab_walk.dae", ""},
};

static void stands_better(const char *ground) {
    bool good = true;
    for (size_t i = 0; i < sizeof clips / sizeof *clips; ++i) {
        const char *json = scratch("bake.json"), *file = shared_file(0, clips[i].file);
        if (run_tool("bake '%s' %s --ground '%s' -o %s --json %s", file, clips[i].clip, ground, scratch("out.glb"), json) != 0)
            fail_msg("%s: %s", clips[i].file, tool_said);
        json_t *root = read_json(json);
        const double sunk[] = {json_at(root, "quality.before.penetration_mm.p99"), json_at(root, "quality.after.penetration_mm.p99")};
        const double gap[] = {json_at(root, "quality.before.gap_mm.p99"), json_at(root, "quality.after.gap_mm.p99")};
        const double flips = json_at(root, "quality.after.knee_flips"), broken = json_at(root, "quality.after.non_finite");
        const double bones = json_at(root, "quality.after.max_bone_length_error");
        const bool right = sunk[1] <= sunk[0] / 4 && gap[1] <= gap[0] / 4 && flips == 0 && broken == 0 && bones < 1e-5;
        printf("%-36s penetration %5.1f -> %5.2f mm, gap %5.1f -> %5.2f mm, %g flips%s\n", clips[i].file, sunk[0], sunk[1], gap[0], gap[1],
               flips, right ? "" : "  <- not good enough");
        good &= right;
        json_decref(root);
    }
    assert_true(good);
}

static void clips_stand_on_surveyed_ground(void **state) {
    (void)state;
    stands_better(shared_file(1, "terrain_misc/DEM-kootenai_37x50_1x1.asc"));
}

static void clips_stand_on_procedural_hills(void **state) {
    (void)state;
    stands_better("hills:1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clips_stand_on_surveyed_ground),
        cmocka_unit_test(clips_stand_on_procedural_hills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
