/* The library's forward kinematics on real clips, against leg positions that another program computed (legs_*.csv), on every backend. */
#include "support.h"
#include "io/character.h"
#include "shared_files.h"

static void positions_match(const char *file, const char *table, const char *clip_name, double rows_a_second, int skipped) {
    io_character character;
    io_error error = {{0}};
    const io_character_options none = {0};
    if (!io_character_load(shared_file(0, file), &none, &character, &error)) fail_msg("%s", error.text);
    size_t clip = 0, checked = 0;
    if (!io_character_find_clip(&character, clip_name, &clip, &error)) fail_msg("%s", error.text);
    const uint32_t joints = (uint32_t)character.joint_count;
    uint16_t *parents = calloc(joints, sizeof *parents);
    io_transform *locals = calloc(joints, sizeof *locals);
    phx_vec3 *places = calloc(joints, sizeof *places);
    for (uint32_t j = 0; j < joints; ++j) parents[j] = character.joints[j].parent < 0 ? PHX_NO_JOINT : (uint16_t)character.joints[j].parent;
    const phx_skeleton skeleton = {joints, parents};
    const io_transform root = io_character_root(&character);
    phx_quat turn;
    _Static_assert(sizeof(io_transform) == sizeof(phx_transform), "one layout");
    memcpy(&turn, (const char *)&root + offsetof(phx_transform, rotation), sizeof turn);
    phx_fk_job job;
    memset(&job, 0, sizeof job);
    job.skeleton = &skeleton, job.count = 1, job.scaled = 1;
    job.poses = phx_poses_of((phx_transform *)(void *)locals, joints);
    job.root_rotation = PHX_VIEW_ONE(&turn);
    job.positions = phx_view_of(places, joints * sizeof *places);
    void *workspace = aligned_alloc(64, (phx_fk_workspace_size(&job) + 63) / 64 * 64);
    double worst = 0;
    FOR_EACH_BACKEND(backend) {
        FILE *in = fopen(shared_file(1, table), "r");
        assert_non_null(in);
        char line[256], side[8], part[16], name[64];
        assert_non_null(fgets(line, sizeof line, in));
        int placed = -1, frame;
        double time, expected[3];
        while (fgets(line, sizeof line, in) != NULL) {
            assert_int_equal(8, sscanf(line, "%d,%lf,%7[^,],%15[^,],%63[^,],%lf,%lf,%lf", &frame, &time, side, part, name, expected, expected + 1, expected + 2));
            if (frame < skipped) continue;
            if (frame != placed) {
                io_character_sample(&character, clip, (frame - skipped) / (rows_a_second > 0 ? rows_a_second : character.clips[clip].frame_rate), locals);
                assert_int_equal(phx_fk_solve(backend, &job, 0, 1, workspace, NULL), PHX_OK);
                placed = frame;
            }
            const int32_t joint = io_character_find_joint(&character, name);
            assert_true(joint >= 0);
            const double got[3] = {places[joint].x, places[joint].y, places[joint].z};
            for (int k = 0; k < 3; ++k) { /* the table has six digits; floats of file units far from the origin have seven */
                const double off = fabs(got[k] - expected[k]), allowed = 1e-5 * (1 + fabs(expected[k])) + 1e-5 * fabs(expected[0] + expected[1] + expected[2]);
                if (!(off <= allowed)) fail_msg("%s frame %d %s axis %d: %.9g instead of %.9g", file, frame, name, k, got[k], expected[k]);
                worst = fmax(worst, off * character.unit);
            }
            ++checked;
        }
        fclose(in);
    }
    assert_true(checked > 100);
    printf("# %s: %zu positions on all backends, worst %.2g m\n", file, checked, worst);
    free(workspace), free(parents), free(locals), free(places);
    io_character_free(&character);
}

static void real_clips_stand_where_another_program_says(void **state) {
    (void)state;
    if (!shared_folder()) skip();
    positions_match("cmu_bvh/12_01_walk.bvh", "cmu_bvh/legs_12_01_walk.csv", NULL, 0, 1);
    positions_match("bvhtoolbox_walk/walk01.bvh", "bvhtoolbox_walk/legs_walk01.csv", NULL, 0, 0);
    positions_match("gltf_kaykit/Med_MovementBasic.glb", "gltf_kaykit/legs_Walking_A.csv", "Walking_A", 30, 0);
    positions_match("ozz_pab/pab_walk.dae", "ozz_pab/legs_walk.csv", NULL, 30, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(real_clips_stand_where_another_program_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
