/* Solving, casting, scheduling and capturing take no memory and no lock: the linker leads every such call of this program through the counters
 * below. Creating a crowd and opening a replay say so when they get no memory, whichever request is refused, and keep none. */
#include "chains.h"
#include "crowd_rig.h"
#include <pthread.h>

static unsigned long calls;
static long open_pieces;       /* taken and not yet given back */
static long refuse_in = -1;    /* how many requests are still granted before one is refused; -1 = all are */
static void *granted(void *memory) { return open_pieces += memory != NULL, memory; }
static int refused(void) { return ++calls, refuse_in >= 0 && refuse_in-- == 0; }

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

void *__wrap_malloc(size_t size) { return refused() ? NULL : granted(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) { return refused() ? NULL : granted(__real_calloc(count, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return refused() ? NULL : granted(__real_aligned_alloc(alignment, size)); }
void *__wrap_realloc(void *memory, size_t size) {
    if (refused()) return NULL;
    open_pieces -= memory != NULL;
    return granted(__real_realloc(memory, size));
}
void __wrap_free(void *memory) { ++calls, open_pieces -= memory != NULL, __real_free(memory); }
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) { return ++calls, __real_pthread_mutex_lock(mutex); }

static void the_counters_count(void **state) {
    (void)state;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const unsigned long before = calls;
    void *volatile memory = malloc(10);
    free(memory);
    pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex);
    assert_int_equal(calls - before, 3);
    const phx_crowd_def def = rig_def(phx_backend_best(), 10);
    phx_crowd_destroy(phx_crowd_create(&def, NULL)); /* the library's own calls are seen, too */
    assert_true(calls - before >= 5);
}

static void cast_hills(void *context, phx_ray_blocks rays) { cast(rays, ground_hills, context); }
static void count_line(void *context, phx_vec3 from, phx_vec3 to, uint32_t colour, phx_draw what) {
    (void)from, (void)to, (void)colour, (void)what;
    ++*(uint32_t *)context;
}

static void solving_takes_no_memory_and_no_lock(void **state) {
    (void)state;
    random_state r = random_seeded("memory", 31337);
    FOR_EACH_BACKEND(backend) {
        for (uint32_t joints = 2; joints <= PHX_CHAIN_MAX_JOINTS; joints = joints * 2 + 1) {
            chain_data data = chain_data_make(300, joints);
            chain_data_fill(&r, &data);
            phx_limit limits[PHX_CHAIN_MAX_JOINTS];
            random_limits(&r, joints, limits);
            const phx_chain_job job = chain_data_job(&data, CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_POLE | CHAIN_TIP | CHAIN_START, limits);
            const phx_fabrik_params fabrik = phx_fabrik_params_default();
            const phx_ccd_params ccd = phx_ccd_params_default();
            const phx_aim_params aim = phx_aim_params_default();
            const phx_chain_job heads = chain_data_job(&data, CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_POLE | CHAIN_LIMITS, limits);
            phx_report report;
            const unsigned long before = calls;
            assert_int_equal(phx_fabrik_solve(backend, &fabrik, &job, &report), PHX_OK);
            assert_int_equal(phx_ccd_solve(backend, &ccd, &job, &report), PHX_OK);
            assert_int_equal(phx_aim_solve(backend, &aim, &heads, &report), PHX_OK);
            assert_int_equal(phx_limit_apply(backend, limits, 300, phx_view_of(job.rotation.data, job.rotation.chain_stride),
                                             phx_view_of(job.rotation_out.data, job.rotation_out.chain_stride), (phx_view){0}, &report), PHX_OK);
            assert_int_equal(calls, before);
            chain_data_free(&data);
        }
        enum { LEGS = 1000 };
        static phx_vec3 points[4][LEGS];
        static phx_quat turns[LEGS];
        for (int k = 0; k < 4; ++k)
            for (int i = 0; i < LEGS; ++i) points[k][i] = random_direction(&r);
        phx_two_bone_job legs = phx_two_bone_job_default();
        legs.count = LEGS, legs.root = PHX_VIEW_ARRAY(points[0]), legs.mid = PHX_VIEW_ARRAY(points[1]), legs.tip = PHX_VIEW_ARRAY(points[2]);
        legs.target = PHX_VIEW_ARRAY(points[3]), legs.root_rotation = PHX_VIEW_ARRAY(turns);
        const unsigned long before_legs = calls;
        assert_int_equal(phx_two_bone_solve(backend, &legs), PHX_OK);
        static phx_two_bone_block blocks[4];
        static phx_two_bone_extra extras[4];
        memset(blocks, 0, sizeof blocks);
        for (int b = 0; b < 4; ++b) phx_two_bone_extra_default(extras + b);
        assert_int_equal(phx_two_bone_solve_blocks(backend, &legs.params, blocks, extras, 4, NULL), PHX_OK);
        assert_int_equal(calls, before_legs);

        enum { CHARACTERS = 200 };
        static phx_transform poses[CHARACTERS * RIG_JOINTS];
        phx_crowd_def def = rig_def(backend, CHARACTERS);
        def.replay = 1, def.scaled = 1;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        static char workspace[1 << 16];
        static phx_vec3 places[CHARACTERS * RIG_JOINTS];
        static unsigned char capture[1 << 20];
        phx_fk_job fk;
        memset(&fk, 0, sizeof fk);
        fk.skeleton = &def.skeleton, fk.count = CHARACTERS, fk.poses = phx_poses_of(poses, RIG_JOINTS);
        fk.positions = phx_view_of(places, RIG_JOINTS * sizeof *places);
        assert_in_range(phx_fk_workspace_size(&fk), 1, sizeof workspace - 64);
        static float priority[CHARACTERS];
        static uint32_t age[CHARACTERS], flags[CHARACTERS];
        const phx_crowd_callbacks callbacks = {.cast = cast_hills};
        const unsigned long before_crowd = calls;
        for (int f = 0; f < 10; ++f) {
            for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses + i * RIG_JOINTS, (float)(i + f));
            phx_crowd_frame frame;
            memset(&frame, 0, sizeof frame);
            frame.count = CHARACTERS, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(poses, RIG_JOINTS);
            assert_int_equal(phx_fk_solve(backend, &fk, 0, CHARACTERS, workspace + (64 - (uintptr_t)workspace % 64) % 64, NULL), PHX_OK);
            for (int i = 0; i < CHARACTERS; ++i) priority[i] = (float)(i % 7);
            phx_report report;
            assert_int_equal(phx_crowd_schedule(crowd, CHARACTERS, 100, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), &report),
                             PHX_OK);
            frame.flags = PHX_VIEW_ARRAY(flags);
            assert_in_range(phx_capture_size(crowd, &frame, 30, 9), 1, sizeof capture);
            assert_int_equal(phx_capture_begin(crowd, &frame, 30, 9, capture, sizeof capture, &report), PHX_OK);
            for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
                cast(phx_crowd_prepare(crowd, &frame, tile), ground_hills, NULL);
                assert_int_equal(phx_capture_tile(crowd, &frame, tile, capture), PHX_OK);
                assert_int_equal(phx_crowd_solve(crowd, &frame, tile), PHX_OK);
            }
            assert_int_equal(phx_capture_end(crowd, &frame, capture, &report), PHX_OK);
            uint32_t lines = 0;
            assert_int_equal(phx_crowd_draw(crowd, &frame, 0, CHARACTERS, PHX_DRAW_ALL, count_line, &lines, &report), PHX_OK);
            assert_true(lines > 0);
            assert_int_equal(phx_crowd_run(crowd, &frame, &callbacks, &report), PHX_OK);
            phx_foot_info info;
            phx_crowd_foot(crowd, 0, 0, &info);
        }
        assert_int_equal(calls, before_crowd);
        phx_crowd_destroy(crowd);
    }
}

/* ---- creation ---- */

typedef struct ledger {
    int asked, fail_at; /* which request is refused; -1 = none */
    long open;          /* allocations not yet released */
    size_t largest;
} ledger;
static void *ledger_allocate(void *context, size_t size, size_t alignment) {
    ledger *l = context;
    assert_int_equal(size % alignment, 0);
    if (l->asked++ == l->fail_at) return NULL;
    ++l->open;
    if (size > l->largest) l->largest = size;
    void *memory = aligned_alloc(alignment, size);
    memset(memory, 0xA5, size);
    return memory;
}
static void ledger_release(void *context, void *memory) {
    ledger *l = context;
    if (memory) --l->open;
    free(memory);
}

static void a_crowd_without_memory_says_so_and_keeps_none(void **state) {
    (void)state;
    for (uint32_t options = 0; options < 16; ++options) {
        ledger l = {0, -1, 0, 0};
        phx_crowd_def def = rig_def(NULL, 130);
        def.bodies = options & 1, def.replay = options >> 1 & 1, def.scaled = options >> 2 & 1, def.workspaces = options >> 3;
        def.allocator = (phx_allocator){ledger_allocate, ledger_release, &l};
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        assert_true(l.asked > 0);
        assert_int_equal(phx_crowd_memory(crowd), l.largest);
        assert_int_equal(l.open, 1);
        phx_crowd_destroy(crowd);
        assert_int_equal(l.open, 0);
        for (int k = 0, requests = l.asked; k < requests; ++k) {
            l = (ledger){0, k, 0, 0};
            phx_report report;
            assert_null(phx_crowd_create(&def, &report));
            assert_int_equal(report.status, PHX_ERROR_MEMORY);
            assert_non_null(strstr(report.text, "no memory"));
            assert_int_equal(l.open, 0);
        }
    }
    const phx_crowd_def def = rig_def(NULL, 130); /* the C library's memory */
    phx_report report;
    const long open = open_pieces;
    phx_crowd *crowd = NULL;
    for (long k = 0; !crowd; ++k) {
        refuse_in = k;
        crowd = phx_crowd_create(&def, &report);
        const int all_granted = refuse_in >= 0;
        refuse_in = -1;
        assert_int_equal(crowd != NULL, all_granted);
        if (crowd) {
            assert_true(k > 0);
            continue;
        }
        assert_int_equal(report.status, PHX_ERROR_MEMORY);
        assert_int_equal(open_pieces, open);
    }
    phx_crowd_destroy(crowd);
    assert_int_equal(open_pieces, open);
}

/* what a crowd takes more for more feet is their state, where its workspaces stay as they are; figures as in the README */
static void a_foot_keeps_at_most_256_bytes(void **state) {
    (void)state;
    for (size_t options = 0; options < 16; ++options) {
        const size_t bodies = options & 1, replay = options >> 1 & 1, spring = options >> 2 & 1, slow = options >> 3, more_feet = 2 * 16 * PHX_TILE_CHARACTERS;
        size_t bytes[2];
        for (uint32_t k = 0; k < 2; ++k) {
            phx_crowd_def def = rig_def(NULL, (1 + 16 * k) * PHX_TILE_CHARACTERS);
            def.bodies = (int)bodies, def.replay = (int)replay, def.workspaces = 1, def.params.pelvis_spring = (int)spring, def.params.ankle_speed = (float)slow;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            bytes[k] = phx_crowd_memory(crowd);
            phx_crowd_destroy(crowd);
        }
        assert_int_equal(bytes[1] - bytes[0], more_feet * (196 + 24 * bodies + 36 * replay + 48 * slow) + more_feet / 2 * 4 * spring);
        if (!spring && !(slow && (bodies || replay))) assert_true(bytes[1] - bytes[0] <= more_feet * 256);
    }
}

static void a_replay_without_memory_says_so_and_keeps_none(void **state) {
    (void)state;
    enum { CHARACTERS = 20 };
    static phx_transform poses[CHARACTERS * RIG_JOINTS];
    static unsigned char capture[1 << 20];
    phx_crowd_def def = rig_def(NULL, CHARACTERS);
    def.replay = def.bodies = 1;
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    assert_non_null(crowd);
    for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses + i * RIG_JOINTS, (float)i);
    const phx_body bodies[1] = {{{0, 0, 0}, {0, 0, 0, 1}, 1}};
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = CHARACTERS, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(poses, RIG_JOINTS), frame.bodies = bodies, frame.body_count = 1;
    const size_t size = phx_capture_size(crowd, &frame, 3, 9);
    assert_in_range(size, 1, sizeof capture);
    assert_int_equal(phx_capture_begin(crowd, &frame, 3, 9, capture, size, NULL), PHX_OK);
    cast(phx_crowd_prepare(crowd, &frame, 0), ground_hills, NULL);
    assert_int_equal(phx_capture_tile(crowd, &frame, 0, capture), PHX_OK);
    assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
    assert_int_equal(phx_capture_end(crowd, &frame, capture, NULL), PHX_OK);
    phx_crowd_destroy(crowd);
    const long open = open_pieces;
    phx_replay *replay = NULL;
    for (long k = 0; !replay; ++k) {
        phx_report report;
        refuse_in = k;
        replay = phx_replay_open(capture, size, NULL, &report);
        const int all_granted = refuse_in >= 0;
        refuse_in = -1;
        assert_int_equal(replay != NULL, all_granted);
        if (replay) {
            assert_true(k > 1); /* the replay's own memory and its crowd's */
            continue;
        }
        assert_int_equal(report.status, PHX_ERROR_MEMORY);
        assert_non_null(strstr(report.text, "no memory"));
        assert_int_equal(open_pieces, open);
    }
    phx_replay_difference difference;
    assert_int_equal(phx_replay_run(replay, &difference), PHX_OK);
    assert_int_equal(difference.characters, 0);
    phx_replay_close(replay);
    assert_int_equal(open_pieces, open);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counters_count),
        cmocka_unit_test(solving_takes_no_memory_and_no_lock),
        cmocka_unit_test(a_crowd_without_memory_says_so_and_keeps_none),
        cmocka_unit_test(a_foot_keeps_at_most_256_bytes),
        cmocka_unit_test(a_replay_without_memory_says_so_and_keeps_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
