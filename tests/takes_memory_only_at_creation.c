/* Solving takes no memory and no lock: the linker leads every such call of this program through the counters below. Creating a crowd says
 * so when it gets no memory, and keeps none. */
#include "chains.h"
#include "crowd_rig.h"
#include <pthread.h>

static unsigned long calls;
static int refuse; /* the next aligned_alloc returns NULL */

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

void *__wrap_malloc(size_t size) { return ++calls, __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return ++calls, __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return ++calls, __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return ++calls, refuse ? NULL : __real_aligned_alloc(alignment, size); }
void __wrap_free(void *memory) { ++calls, __real_free(memory); }
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
            phx_report report;
            const unsigned long before = calls;
            assert_int_equal(phx_fabrik_solve(backend, &fabrik, &job, &report), PHX_OK);
            assert_int_equal(phx_ccd_solve(backend, &ccd, &job, NULL), PHX_OK);
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
        assert_int_equal(calls, before_legs);

        enum { CHARACTERS = 200 };
        static phx_transform poses[CHARACTERS * RIG_JOINTS];
        phx_crowd_def def = rig_def(backend, CHARACTERS);
        def.replay = 1, def.scaled = 1;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        const unsigned long before_crowd = calls;
        for (int f = 0; f < 10; ++f) {
            for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses + i * RIG_JOINTS, (float)(i + f));
            phx_crowd_frame frame;
            memset(&frame, 0, sizeof frame);
            frame.count = CHARACTERS, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(poses, RIG_JOINTS);
            run_frame(crowd, &frame, ground_hills, NULL);
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
    refuse = 1;
    phx_crowd *crowd = phx_crowd_create(&def, &report);
    refuse = 0;
    assert_null(crowd);
    assert_int_equal(report.status, PHX_ERROR_MEMORY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counters_count),
        cmocka_unit_test(solving_takes_no_memory_and_no_lock),
        cmocka_unit_test(a_crowd_without_memory_says_so_and_keeps_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
