/* Levels of detail within a budget, and whole frames over a job system: who is solved, in what order of merit, the same from any
 * spread over threads; what is skipped repeats its last correction and catches up exactly. */
#include "crowd_rig.h"
#include <pthread.h>

static phx_crowd *make_crowd(uint32_t capacity, uint32_t workspaces) {
    phx_crowd_def def = rig_def(NULL, capacity);
    def.replay = 1, def.workspaces = workspaces;
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    assert_non_null(crowd);
    return crowd;
}

static void the_budget_goes_to_the_highest_scores(void **state) {
    (void)state;
    random_state r = random_seeded("crowd schedule", 0x5CED);
    enum { N = 3000, KEPT = 1 << 20 /* a bit of the caller's */ };
    phx_crowd *crowd = make_crowd(N, 1);
    float *priority = calloc(N, sizeof *priority);
    uint32_t *age = calloc(N, sizeof *age), *before = calloc(N, sizeof *before), *flags = calloc(N, sizeof *flags);
    for (uint32_t round = 0; round < 50; ++round) {
        const uint32_t count = random_below(&r, N + 1), budget = random_below(&r, 2 * N + 10);
        for (uint32_t i = 0; i < count; ++i) {
            priority[i] = random_below(&r, 4) ? (float)random_below(&r, 6) : random_float(&r, -1, 5);
            age[i] = before[i] = random_below(&r, 5);
            flags[i] = KEPT | PHX_CHARACTER_LOD(random_below(&r, 4));
        }
        if (count > 3) priority[1] = NAN, priority[2] = INFINITY;
        assert_int_equal(phx_crowd_schedule(crowd, count, budget, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), NULL), PHX_OK);
        uint32_t full = 0, off = 0;
        double worst_full = INFINITY, best_replay = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t lod = flags[i] >> PHX_CHARACTER_LOD_SHIFT & 3;
            const double score = (double)(priority[i] * ((float)before[i] + 1));
            assert_true(flags[i] & KEPT);
            if (!(score > 0)) {
                assert_int_equal(lod, PHX_LOD_OFF), ++off;
            } else if (lod == PHX_LOD_FULL) {
                assert_int_equal(age[i], 0), ++full;
                if (score < worst_full) worst_full = score;
                assert_true(score >= best_replay); /* ties: the lower index first */
            } else {
                assert_int_equal(lod, PHX_LOD_REPLAY), assert_int_equal(age[i], before[i] + 1);
                if (score > best_replay) best_replay = score;
            }
        }
        assert_true(best_replay <= worst_full);
        const uint32_t most = budget / 2 < count - off ? budget / 2 : count - off;
        assert_int_equal(full, most);
    }
    free(priority), free(age), free(before), free(flags);
    phx_crowd_destroy(crowd);
}

static void wrong_arguments_are_named(void **state) {
    (void)state;
    phx_crowd *crowd = make_crowd(4, 1);
    uint32_t words[4] = {0};
    phx_report report;
    const phx_view some = PHX_VIEW_ARRAY(words), none = {NULL, 0};
    assert_int_equal(phx_crowd_schedule(NULL, 4, 4, some, some, some, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "crowd"));
    assert_int_equal(phx_crowd_schedule(crowd, 4, 4, none, some, some, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "priority"));
    assert_int_equal(phx_crowd_schedule(crowd, 4, 4, some, phx_view_of(words, 2), some, &report), PHX_ERROR_STRIDE);
    assert_non_null(strstr(report.text, "age"));
    uint32_t ages[5] = {3, 3, 3, 3, 3}, flags[5] = {0};
    float priority[5] = {1, 2, 3, 4, 5};
    const phx_view by = PHX_VIEW_ARRAY(priority), age = PHX_VIEW_ARRAY(ages), into = PHX_VIEW_ARRAY(flags);
    const struct {
        uint32_t count;
        phx_view priority, age, flags;
        phx_status status;
        const char *word;
    } wrong[] = {{5, by, age, into, PHX_ERROR_COUNT, "'count' is 5, the capacity is 4"},
                 {0xFFFFFFFFu, by, age, into, PHX_ERROR_COUNT, "'count'"},
                 {4, by, age, age, PHX_ERROR_OVERLAP, "'age' overlaps 'flags'"},
                 {4, by, age, phx_view_of(ages + 1, 4), PHX_ERROR_OVERLAP, "'flags'"},
                 {4, by, age, phx_view_of(priority + 1, 4), PHX_ERROR_OVERLAP, "'flags' overlaps 'priority'"},
                 {4, by, age, by, PHX_ERROR_OVERLAP, "'flags' overlaps 'priority'"},
                 {4, by, by, into, PHX_ERROR_OVERLAP, "'age' overlaps 'priority'"},
                 {1, PHX_VIEW_ONE(ages), age, into, PHX_ERROR_OVERLAP, "'age' overlaps 'priority'"},
                 {4, PHX_VIEW_ONE(ages + 3), age, into, PHX_ERROR_OVERLAP, "'age' overlaps 'priority'"},
                 {4, by, phx_view_of(ages, SIZE_MAX - 3), into, PHX_ERROR_STRIDE, "'age'"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        assert_int_equal(phx_crowd_schedule(crowd, wrong[k].count, 4, wrong[k].priority, wrong[k].age, wrong[k].flags, &report), wrong[k].status);
        if (!strstr(report.text, wrong[k].word)) fail_msg("%s", report.text);
        for (int i = 0; i < 5; ++i) assert_true(ages[i] == 3 && flags[i] == 0 && priority[i] == (float)(i + 1));
    }
    assert_int_equal(phx_crowd_schedule(crowd, 4, 4, by, age, into, &report), PHX_OK);
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    assert_int_equal(phx_crowd_run(crowd, &frame, NULL, &report), PHX_ERROR_NULL);
    const phx_crowd_callbacks empty = {NULL, NULL, NULL, NULL};
    assert_int_equal(phx_crowd_run(crowd, &frame, &empty, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "cast"));
    phx_crowd_destroy(crowd);
}

static void cast_hills(void *context, phx_ray_blocks rays) { cast(rays, ground_hills, context); }

/* a job system of four threads, each taking every fourth tile */
typedef struct thread_job {
    phx_task_function task;
    void *data;
    uint32_t first, count;
} thread_job;
static void *run_thread(void *argument) {
    const thread_job *job = argument;
    for (uint32_t i = job->first; i < job->count; i += 4) job->task(job->data, i, job->first);
    return NULL;
}
static void four_threads(void *context, uint32_t count, phx_task_function task, void *data) {
    (void)context;
    pthread_t threads[4];
    thread_job jobs[4];
    for (uint32_t k = 0; k < 4; ++k) {
        jobs[k] = (thread_job){task, data, k, count};
        pthread_create(&threads[k], NULL, run_thread, &jobs[k]);
    }
    for (uint32_t k = 0; k < 4; ++k) pthread_join(threads[k], NULL);
}

enum { CROWD = 700 };
static void pose_all(phx_transform *poses, phx_vec3 *positions, uint32_t f) {
    for (uint32_t c = 0; c < CROWD; ++c) {
        phx_vec3 normal;
        rig_walk(poses + c * RIG_JOINTS, 0.1f * (float)c + 0.08f * (float)f);
        positions[c] = (phx_vec3){(float)(c % 30) + 0.01f * (float)f, 0, (float)(c / 30)};
        ground_hills(NULL, positions[c].x, positions[c].z, &positions[c].y, &normal);
    }
}

static void threads_change_no_bit(void **state) {
    (void)state;
    phx_transform *one = calloc(CROWD * RIG_JOINTS, sizeof *one), *four = calloc(CROWD * RIG_JOINTS, sizeof *four);
    phx_vec3 *positions = calloc(CROWD, sizeof *positions);
    phx_crowd *crowd[2] = {make_crowd(CROWD, 1), make_crowd(CROWD, 4)};
    for (uint32_t f = 0; f < 20; ++f) {
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = CROWD, frame.dt = 1.0f / 60, frame.root_position = PHX_VIEW_ARRAY(positions);
        pose_all(one, positions, f), pose_all(four, positions, f);
        const phx_crowd_callbacks alone = {cast_hills, NULL, NULL, NULL}, together = {cast_hills, NULL, four_threads, NULL};
        frame.poses = phx_poses_of(one, RIG_JOINTS);
        assert_int_equal(phx_crowd_run(crowd[0], &frame, &alone, NULL), PHX_OK);
        frame.poses = phx_poses_of(four, RIG_JOINTS);
        assert_int_equal(phx_crowd_run(crowd[1], &frame, &together, NULL), PHX_OK);
        assert_int_equal(first_difference(one, four, CROWD * RIG_JOINTS * sizeof *one), -1);
    }
    free(one), free(four), free(positions);
    phx_crowd_destroy(crowd[0]), phx_crowd_destroy(crowd[1]);
}

/* A character that stands still on a slope: what is replayed is what was solved, to rounding. */
static void replay_repeats_the_last_correction(void **state) {
    (void)state;
    phx_crowd *crowd = make_crowd(1, 1);
    phx_transform solved[RIG_JOINTS], replayed[RIG_JOINTS], animated[RIG_JOINTS];
    phx_vec3 position = {0.3f, 0, 0.7f}, normal;
    ground_hills(NULL, position.x, position.z, &position.y, &normal);
    const float hip[2] = {0.3f, -0.2f}, knee[2] = {0.4f, 0.3f};
    rig_pose(animated, hip, knee);
    uint32_t flags = 0;
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = 1, frame.dt = 1.0f / 30, frame.root_position = PHX_VIEW_ONE(&position), frame.flags = PHX_VIEW_ONE(&flags);
    for (int f = 0; f < 60; ++f) {
        memcpy(solved, animated, sizeof solved);
        frame.poses = phx_poses_of(solved, RIG_JOINTS);
        run_frame(crowd, &frame, ground_hills, NULL);
    }
    assert_true(first_difference(solved, animated, sizeof solved) >= 0);
    flags = PHX_CHARACTER_LOD(PHX_LOD_REPLAY);
    for (int f = 0; f < 3; ++f) {
        memcpy(replayed, animated, sizeof replayed);
        frame.poses = phx_poses_of(replayed, RIG_JOINTS);
        run_frame(crowd, &frame, ground_hills, NULL);
        for (int j = 0; j < RIG_JOINTS; ++j) {
            const phx_quat a = solved[j].rotation, b = replayed[j].rotation;
            assert_true(fabs((double)a.x * b.x + (double)a.y * b.y + (double)a.z * b.z + (double)a.w * b.w) > 1 - 1e-6);
            assert_true(fabsf(solved[j].translation.y - replayed[j].translation.y) < 1e-6f);
        }
    }
    flags = PHX_CHARACTER_LOD(PHX_LOD_OFF);
    memcpy(replayed, animated, sizeof replayed);
    run_frame(crowd, &frame, ground_hills, NULL);
    assert_int_equal(first_difference(replayed, animated, sizeof replayed), -1);
    phx_crowd_destroy(crowd);
}

/* What was done at one place is not repeated at another: teleported while it replays, a character is as animated until it is solved, and
 * then as if it had never been elsewhere. On every backend. */
static void a_teleport_is_not_lost_in_a_replay(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_transform animated[RIG_JOINTS], pose[2][RIG_JOINTS];
        const float hip[2] = {0.3f, -0.2f}, knee[2] = {0.4f, 0.3f};
        rig_pose(animated, hip, knee);
        for (int fresh = 0; fresh < 2; ++fresh) {
            phx_crowd_def def = rig_def(backend, 1);
            def.replay = 1;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            phx_vec3 position = {0.3f, 0, 0.7f}, normal;
            ground_hills(NULL, position.x, position.z, &position.y, &normal);
            uint32_t flags = 0;
            phx_crowd_frame frame;
            memset(&frame, 0, sizeof frame);
            frame.count = 1, frame.dt = 1.0f / 30, frame.root_position = PHX_VIEW_ONE(&position), frame.flags = PHX_VIEW_ONE(&flags);
            frame.poses = phx_poses_of(pose[fresh], RIG_JOINTS);
            for (int f = 0; f < 30 && !fresh; ++f) {
                memcpy(pose[fresh], animated, sizeof animated);
                run_frame(crowd, &frame, ground_hills, NULL);
            }
            position.x = 4.1f;
            ground_hills(NULL, position.x, position.z, &position.y, &normal);
            flags = PHX_CHARACTER_TELEPORT | PHX_CHARACTER_LOD(PHX_LOD_REPLAY);
            memcpy(pose[fresh], animated, sizeof animated);
            run_frame(crowd, &frame, ground_hills, NULL);
            assert_int_equal(first_difference(pose[fresh], animated, sizeof animated), -1);
            phx_foot_info foot;
            assert_int_equal(phx_crowd_foot(crowd, 0, 0, &foot), PHX_OK);
            assert_int_equal(foot.flags, PHX_FLAG_INACTIVE);
            flags = 0;
            run_frame(crowd, &frame, ground_hills, NULL);
            phx_crowd_destroy(crowd);
        }
        assert_int_equal(first_difference(pose[0], pose[1], sizeof pose[0]), -1);
    }
}

/* A character beyond the frame's count keeps its state. Told to forget it when it comes back, elsewhere, it is as in a crowd where it never
 * was; not told, its feet are drawn to where they were locked. */
static void who_comes_back_is_told_to_forget(void **state) {
    (void)state;
    phx_transform animated[RIG_JOINTS], pose[3][2 * RIG_JOINTS]; /* fresh, told, not told */
    const float hip[2] = {0.3f, -0.2f}, knee[2] = {0.4f, 0.3f};
    rig_pose(animated, hip, knee);
    for (int k = 0; k < 3; ++k) {
        phx_crowd_def def = rig_def(NULL, 2);
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        phx_vec3 roots[2] = {{0}};
        uint32_t flags[2] = {0, 0};
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.dt = 1.0f / 30, frame.root_position = PHX_VIEW_ARRAY(roots), frame.flags = PHX_VIEW_ARRAY(flags), frame.poses = phx_poses_of(pose[k], RIG_JOINTS);
        phx_foot_info left[2], later[2];
        for (int f = k ? 0 : 40; f < 41; ++f) {
            frame.count = 10 <= f && f < 40 ? 1 : 2;
            if (f == 40) roots[1].x = 0.1f, flags[1] = k < 2 ? PHX_CHARACTER_TELEPORT : 0;
            memcpy(pose[k], animated, sizeof animated), memcpy(pose[k] + RIG_JOINTS, animated, sizeof animated);
            run_frame(crowd, &frame, ground_hills, NULL);
            for (uint32_t leg = 0; f == 9 && leg < 2; ++leg) phx_crowd_foot(crowd, 1, leg, left + leg);
            for (uint32_t leg = 0; f == 39 && leg < 2; ++leg) phx_crowd_foot(crowd, 1, leg, later + leg);
        }
        if (k) assert_true(left[0].locked || left[1].locked), assert_int_equal(first_difference(left, later, sizeof left), -1);
        phx_crowd_destroy(crowd);
    }
    assert_int_equal(first_difference(pose[0] + RIG_JOINTS, pose[1] + RIG_JOINTS, sizeof animated), -1);
    assert_true(first_difference(pose[0] + RIG_JOINTS, pose[2] + RIG_JOINTS, sizeof animated) >= 0);
}

/* Priorities 1, 2, 4 and off, each age 9, but the teleported ones have age 0: those come first, the one that is off stays off. */
static void the_budget_goes_to_teleported_characters_first(void **state) {
    (void)state;
    phx_crowd *crowd = make_crowd(4, 1);
    float priority[4] = {4, 2, 1, 0};
    uint32_t age[4] = {9, 9, 0, 0}, flags[4] = {0, 0, PHX_CHARACTER_TELEPORT, PHX_CHARACTER_TELEPORT};
    assert_int_equal(phx_crowd_schedule(crowd, 4, 4, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), NULL), PHX_OK);
    const phx_lod expected[4] = {PHX_LOD_FULL, PHX_LOD_REPLAY, PHX_LOD_FULL, PHX_LOD_OFF};
    for (int i = 0; i < 4; ++i) assert_int_equal(flags[i] >> PHX_CHARACTER_LOD_SHIFT & 3, expected[i]);
    phx_crowd_destroy(crowd);
}

/* Off is off, whatever the priority, and takes nothing of the budget; teleported ones go by score among themselves. */
static void who_is_off_takes_no_budget(void **state) {
    (void)state;
    phx_crowd *crowd = make_crowd(4, 1);
    float priority[4] = {9, 8, 1, 2};
    uint32_t age[4] = {0, 0, 0, 0}, flags[4] = {PHX_CHARACTER_OFF, PHX_CHARACTER_OFF | PHX_CHARACTER_TELEPORT, 0, 0};
    assert_int_equal(phx_crowd_schedule(crowd, 4, 2, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), NULL), PHX_OK);
    const phx_lod expected[4] = {PHX_LOD_OFF, PHX_LOD_OFF, PHX_LOD_REPLAY, PHX_LOD_FULL};
    for (int i = 0; i < 4; ++i) assert_int_equal(flags[i] >> PHX_CHARACTER_LOD_SHIFT & 3, expected[i]);
    for (int i = 0; i < 4; ++i) priority[i] = 0.1f * (float)(i + 1), age[i] = 0, flags[i] = PHX_CHARACTER_TELEPORT;
    const uint32_t solved[] = {3, 2, 3, 1}; /* 0.4; 0.3 x 2 above 0.4; 0.4 x 2 above 0.2 x 3 and 0.3; 0.2 x 4 above 0.6 and 0.4 */
    for (int frame = 0; frame < 4; ++frame) {
        assert_int_equal(phx_crowd_schedule(crowd, 4, 2, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), NULL), PHX_OK);
        for (uint32_t i = 0; i < 4; ++i) assert_int_equal((flags[i] >> PHX_CHARACTER_LOD_SHIFT & 3) == PHX_LOD_FULL, i == solved[frame]);
    }
    phx_crowd_destroy(crowd);
}

static void a_crowd_without_replay_refuses_it(void **state) {
    (void)state;
    phx_crowd_def def = rig_def(NULL, 3);
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    phx_transform poses[3 * RIG_JOINTS];
    uint32_t flags[3] = {0, PHX_CHARACTER_LOD(PHX_LOD_OFF), PHX_CHARACTER_LOD(PHX_LOD_PELVIS)};
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = 3, frame.poses = phx_poses_of(poses, RIG_JOINTS), frame.flags = PHX_VIEW_ARRAY(flags);
    phx_report report;
    assert_int_equal(phx_crowd_validate(crowd, &frame, &report), PHX_ERROR_STATE);
    assert_non_null(strstr(report.text, "character 2"));
    frame.count = 2;
    assert_int_equal(phx_crowd_validate(crowd, &frame, &report), PHX_OK);
    float priority[3] = {1, 1, 1};
    uint32_t age[3] = {0, 0, 0};
    assert_int_equal(phx_crowd_schedule(crowd, 3, 2, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), &report), PHX_ERROR_STATE);
    assert_non_null(strstr(report.text, "def.replay"));
    phx_crowd_destroy(crowd);
}

/* The pelvis eases by the time that passed, whether it passed in full frames or in replayed ones. */
static void skipped_time_is_caught_up(void **state) {
    (void)state;
    float pelvis[2];
    for (int skip = 0; skip < 2; ++skip) {
        phx_crowd_def def = rig_def(NULL, 1);
        def.replay = 1, def.params.pelvis_firm = 0, def.params.lock = 0, def.params.pelvis_speed = 1000, def.params.ground_half_life = 0;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        phx_transform pose[RIG_JOINTS];
        phx_vec3 position = {0, 0, 0};
        uint32_t flags = 0;
        const float hip[2] = {0.1f, 0.1f}, knee[2] = {0.2f, 0.2f};
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = 1, frame.dt = 0.01f, frame.root_position = PHX_VIEW_ONE(&position), frame.flags = PHX_VIEW_ONE(&flags);
        frame.poses = phx_poses_of(pose, RIG_JOINTS);
        for (int f = 0; f < 12; ++f) {
            rig_pose(pose, hip, knee);
            flags = skip && f > 1 && f < 11 ? PHX_CHARACTER_LOD(PHX_LOD_REPLAY) : 0;
            phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, 0);
            for (uint32_t b = 0; b < rays.count; ++b) { /* flat, then 0.2 lower from the second frame on */
                if (rays.blocks[b].tfar[0] < 0) continue;
                rays.blocks[b].tfar[0] = rays.blocks[b].org_y[0] + (f > 0 ? 0.2f : 0.0f);
                rays.blocks[b].Ng_x[0] = rays.blocks[b].Ng_z[0] = 0, rays.blocks[b].Ng_y[0] = 1, rays.blocks[b].geomID[0] = 0;
            }
            assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
        }
        pelvis[skip] = phx_crowd_pelvis(crowd, 0);
        phx_crowd_destroy(crowd);
    }
    assert_true(pelvis[0] < -0.05f);
    assert_true(fabsf(pelvis[0] - pelvis[1]) < 1e-4f);
}

/* However the root moves, steadily or in jumps, the correction keeps to its range; a steady climb or fall leaves none behind. */
static void the_pelvis_keeps_its_range_whatever_the_root_does(void **state) {
    (void)state;
    random_state r = random_seeded("root motion", 0x9E1);
    for (int round = 0; round < 60; ++round) {
        phx_crowd_def def = rig_def(NULL, 1);
        def.params.pelvis_spring = round % 4 > 1;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        phx_transform pose[RIG_JOINTS];
        phx_vec3 position = {0, 0, 0};
        const float speed = random_float(&r, -8, 8);
        const int hit = round % 3, jumps = round % 2;
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = 1, frame.dt = 1.0f / 60, frame.root_position = PHX_VIEW_ONE(&position), frame.poses = phx_poses_of(pose, RIG_JOINTS);
        for (int f = 0; f < 120; ++f) {
            rig_walk(pose, 0.1f * (float)f);
            position.y += jumps && f % 7 == 0 ? random_float(&r, -0.45f, 0.45f) : f < 90 ? speed / 60 : 0;
            phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, 0);
            for (uint32_t b = 0; hit && b < rays.count; ++b) { /* ground that goes with the root, or none */
                rays.blocks[b].tfar[0] = rays.blocks[b].org_y[0] - position.y;
                rays.blocks[b].Ng_x[0] = rays.blocks[b].Ng_z[0] = 0, rays.blocks[b].Ng_y[0] = 1, rays.blocks[b].geomID[0] = 0;
            }
            assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
            const float pelvis = phx_crowd_pelvis(crowd, 0);
            assert_true(pelvis >= -0.5f && pelvis <= 0.2f);
            if (!jumps && !hit && f > 60) assert_true(fabsf(pelvis) < 1e-3f); /* falling or rising over no ground */
        }
        phx_crowd_destroy(crowd);
    }
}

/* Solving takes what lies prepared in the workspace: of another tile, of none, of fewer characters, or a second time it is an error. */
static void a_tile_is_solved_once_after_it_was_prepared(void **state) {
    (void)state;
    enum { COUNT = 2 * PHX_TILE_CHARACTERS };
    phx_transform *poses = calloc(COUNT * RIG_JOINTS, sizeof *poses), *before = calloc(COUNT * RIG_JOINTS, sizeof *poses);
    for (int c = 0; c < COUNT; ++c) rig_walk(poses + c * RIG_JOINTS, 0.1f);
    memcpy(before, poses, COUNT * RIG_JOINTS * sizeof *poses);
    for (uint32_t workspaces = 0; workspaces < 2; ++workspaces) {
        phx_crowd_def def = rig_def(NULL, COUNT);
        def.workspaces = workspaces;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = COUNT, frame.dt = 0.01f, frame.poses = phx_poses_of(poses, RIG_JOINTS);
        assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_ERROR_STATE);
        frame.count = 3;
        assert_non_null(phx_crowd_prepare(crowd, &frame, 0).blocks);
        frame.count = COUNT;
        assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_ERROR_STATE);
        assert_non_null(phx_crowd_prepare(crowd, &frame, 0).blocks);
        assert_non_null(phx_crowd_prepare(crowd, &frame, 1).blocks);
        if (workspaces) assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_ERROR_STATE);
        assert_memory_equal(poses, before, COUNT * RIG_JOINTS * sizeof *poses);
        assert_int_equal(phx_crowd_solve(crowd, &frame, 1), PHX_OK);
        assert_int_equal(phx_crowd_solve(crowd, &frame, 1), PHX_ERROR_STATE);
        if (!workspaces) assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
        memcpy(poses, before, COUNT * RIG_JOINTS * sizeof *poses);
        phx_crowd_destroy(crowd);
    }
    free(poses), free(before);
}

/* Characters whose joints share memory would overwrite each other; joints of many characters side by side do not. */
static void poses_that_overlap_are_named(void **state) {
    (void)state;
    enum { COUNT = 20 };
    static PHX_ALIGN_64 phx_transform poses[2 * 16 * RIG_JOINTS * COUNT];
    const size_t size = sizeof *poses;
    const struct {
        phx_pose_layout layout;
        size_t character_stride, joint_stride;
        phx_status expected;
    } cases[] = {
        {PHX_POSE_AOS, RIG_JOINTS * size, size, PHX_OK},
        {PHX_POSE_AOS, size, COUNT * size, PHX_OK}, /* joint after joint */
        {PHX_POSE_AOS, (RIG_JOINTS - 1) * size, size, PHX_OK}, /* the last joint is not read */
        {PHX_POSE_AOS, (RIG_JOINTS - 2) * size, size, PHX_ERROR_OVERLAP},
        {PHX_POSE_AOS, size, size, PHX_ERROR_OVERLAP},
        {PHX_POSE_AOS, size, (COUNT - 1) * size, PHX_ERROR_OVERLAP},
        {PHX_POSE_ROWS, RIG_JOINTS * 640, 640, PHX_OK},
        {PHX_POSE_ROWS, 640, 2 * 640, PHX_OK},
        {PHX_POSE_ROWS, 640, 640, PHX_ERROR_OVERLAP},
        {PHX_POSE_ROWS, 0, 640, PHX_ERROR_OVERLAP},
    };
    phx_crowd_def def = rig_def(NULL, COUNT);
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = COUNT, frame.poses = phx_poses_of(poses, RIG_JOINTS);
        frame.poses.layout = cases[k].layout, frame.poses.character_stride = cases[k].character_stride, frame.poses.joint_stride = cases[k].joint_stride;
        phx_report report;
        assert_int_equal(phx_crowd_validate(crowd, &frame, &report), cases[k].expected);
        if (cases[k].expected) assert_non_null(strstr(report.text, "'poses' has character stride"));
    }
    phx_crowd_destroy(crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_teleport_is_not_lost_in_a_replay), cmocka_unit_test(the_budget_goes_to_teleported_characters_first),
        cmocka_unit_test(who_comes_back_is_told_to_forget),
        cmocka_unit_test(a_crowd_without_replay_refuses_it), cmocka_unit_test(who_is_off_takes_no_budget),
        cmocka_unit_test(a_tile_is_solved_once_after_it_was_prepared), cmocka_unit_test(poses_that_overlap_are_named),
        cmocka_unit_test(the_pelvis_keeps_its_range_whatever_the_root_does),
        cmocka_unit_test(the_budget_goes_to_the_highest_scores), cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(threads_change_no_bit),                 cmocka_unit_test(replay_repeats_the_last_correction),
        cmocka_unit_test(skipped_time_is_caught_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
