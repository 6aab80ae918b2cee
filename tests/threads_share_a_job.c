/* Eight threads over disjoint ranges of one job, and over the tiles of one crowd, a hundred times: the bits of one thread. Run under the
 * thread sanitizer, it also shows that nothing is shared but what is only read. */
#include "chains.h"
#include "crowd_rig.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, REPEATS = 100 };

/* all threads take pieces from one counter until none is left */
typedef struct pool {
    atomic_size_t next;
    size_t pieces;
    int (*work)(void *context, size_t piece);
    void *context;
    atomic_int failed;
} pool;

static void *take_pieces(void *argument) {
    pool *p = argument;
    for (size_t piece; (piece = atomic_fetch_add(&p->next, 1)) < p->pieces;)
        if (!p->work(p->context, piece)) atomic_store(&p->failed, 1);
    return NULL;
}

static void over_threads(size_t pieces, int (*work)(void *context, size_t piece), void *context) {
    pool p = {.pieces = pieces, .work = work, .context = context};
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; ++t) assert_int_equal(pthread_create(&threads[t], NULL, take_pieces, &p), 0);
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    assert_int_equal(atomic_load(&p.failed), 0);
}

/* ---- two bones ---- */

enum { LEGS = 10000, BLOCKS_A_PIECE = 7 };
typedef struct leg {
    phx_vec3 root, mid, tip, target, pole, bend;
    phx_quat root_rotation, mid_rotation;
    phx_vec3 mid_out, tip_out;
    phx_result result;
} leg;
typedef struct leg_work {
    const phx_backend *backend;
    phx_two_bone_job job;
} leg_work;

static size_t pieces_of(size_t blocks) { return (blocks + BLOCKS_A_PIECE - 1) / BLOCKS_A_PIECE; }
static size_t length_of(size_t piece, size_t blocks) {
    const size_t left = blocks - piece * BLOCKS_A_PIECE;
    return left < BLOCKS_A_PIECE ? left : BLOCKS_A_PIECE;
}
static int solve_legs(void *context, size_t piece) {
    const leg_work *w = context;
    return phx_two_bone_solve_range(w->backend, &w->job, piece * BLOCKS_A_PIECE, length_of(piece, phx_two_bone_block_count(&w->job))) == PHX_OK;
}

static void ten_thousand_legs(void **state) {
    (void)state;
    random_state r = random_seeded("legs over threads", 4711);
    leg *given = calloc(LEGS, sizeof *given), *expected = malloc(LEGS * sizeof *given), *actual = malloc(LEGS * sizeof *given);
    for (int i = 0; i < LEGS; ++i) {
        leg *a = given + i;
        a->root = (phx_vec3){random_float(&r, -50, 50), 1, random_float(&r, -50, 50)};
        a->mid = step_along(a->root, random_direction(&r), 0.45f), a->tip = step_along(a->mid, random_direction(&r), 0.43f);
        a->target = step_along(a->root, random_direction(&r), random_float(&r, 0, 1.2f));
        a->pole = random_direction(&r), a->bend = random_direction(&r);
    }
    leg_work w;
    w.job = phx_two_bone_job_default();
    w.job.count = LEGS;
    FOR_EACH_BACKEND(backend) {
        w.backend = backend;
        for (int repeat = -1; repeat < REPEATS; ++repeat) {
            leg *legs = repeat < 0 ? expected : actual;
            memcpy(legs, given, LEGS * sizeof *given);
            w.job.root = PHX_VIEW(legs, root), w.job.mid = PHX_VIEW(legs, mid), w.job.tip = PHX_VIEW(legs, tip), w.job.target = PHX_VIEW(legs, target);
            w.job.pole = PHX_VIEW(legs, pole), w.job.bend = PHX_VIEW(legs, bend);
            w.job.root_rotation = PHX_VIEW(legs, root_rotation), w.job.mid_rotation = PHX_VIEW(legs, mid_rotation);
            w.job.mid_position = PHX_VIEW(legs, mid_out), w.job.tip_position = PHX_VIEW(legs, tip_out), w.job.result = PHX_VIEW(legs, result);
            if (repeat < 0) assert_int_equal(phx_two_bone_solve(backend, &w.job), PHX_OK);
            else over_threads(pieces_of(phx_two_bone_block_count(&w.job)), solve_legs, &w);
            if (repeat >= 0) assert_int_equal(first_difference(expected, actual, LEGS * sizeof *given), -1);
        }
    }
    free(given), free(expected), free(actual);
}

/* ---- long chains ---- */

typedef struct chain_work {
    const phx_backend *backend;
    phx_chain_job job;
    int ccd;
    phx_fabrik_params fabrik;
    phx_ccd_params ccd_params;
} chain_work;
static int solve_chains(void *context, size_t piece) {
    const chain_work *w = context;
    const size_t first = piece * BLOCKS_A_PIECE, count = length_of(piece, phx_chain_job_block_count(&w->job));
    if (w->ccd) return phx_ccd_solve_range(w->backend, &w->ccd_params, &w->job, first, count, NULL) == PHX_OK;
    return phx_fabrik_solve_range(w->backend, &w->fabrik, &w->job, first, count, NULL) == PHX_OK;
}

static void two_thousand_chains(void **state) {
    (void)state;
    enum { CHAINS = 2000, JOINTS = 5 };
    random_state r = random_seeded("chains over threads", 4712);
    chain_data given = chain_data_make(CHAINS, JOINTS), expected = chain_data_make(CHAINS, JOINTS), actual = chain_data_make(CHAINS, JOINTS);
    chain_data_fill(&r, &given);
    phx_limit limits[JOINTS];
    random_limits(&r, JOINTS, limits);
    chain_work w = {.fabrik = phx_fabrik_params_default(), .ccd_params = phx_ccd_params_default()};
    FOR_EACH_BACKEND(backend)
        for (int k = 0; k < 4; ++k) {
            const uint32_t options = k < 2 ? CHAIN_LENGTH | CHAIN_BEND : CHAIN_ROTATION | CHAIN_CORRECTION | CHAIN_LIMITS | CHAIN_POLE;
            w.backend = backend, w.ccd = k % 2;
            for (int repeat = -1; repeat < REPEATS / 10; ++repeat) {
                chain_data *data = repeat < 0 ? &expected : &actual;
                chain_data_copy(data, &given);
                w.job = chain_data_job(data, options, limits);
                if (repeat < 0) assert_true(w.ccd ? phx_ccd_solve(backend, &w.ccd_params, &w.job, NULL) == PHX_OK : phx_fabrik_solve(backend, &w.fabrik, &w.job, NULL) == PHX_OK);
                else over_threads(pieces_of(phx_chain_job_block_count(&w.job)), solve_chains, &w);
                if (repeat >= 0 && !chain_data_equal(&expected, &actual)) fail();
            }
        }
    chain_data_free(&given), chain_data_free(&expected), chain_data_free(&actual);
}

/* ---- a crowd ---- */

typedef struct crowd_work {
    phx_crowd *crowd;
    const phx_crowd_frame *frame;
} crowd_work;
static int solve_tile(void *context, size_t piece) {
    const crowd_work *w = context;
    cast(phx_crowd_prepare(w->crowd, w->frame, (uint32_t)piece), ground_hills, NULL);
    return phx_crowd_solve(w->crowd, w->frame, (uint32_t)piece) == PHX_OK;
}

static void a_thousand_characters(void **state) {
    (void)state;
    enum { CHARACTERS = 1000 };
    random_state r = random_seeded("crowd over threads", 4713);
    phx_transform *poses[2] = {malloc(CHARACTERS * RIG_JOINTS * sizeof **poses), malloc(CHARACTERS * RIG_JOINTS * sizeof **poses)};
    phx_vec3 roots[CHARACTERS];
    float phases[CHARACTERS];
    for (int i = 0; i < CHARACTERS; ++i) roots[i] = (phx_vec3){random_float(&r, -30, 30), 0, random_float(&r, -30, 30)}, phases[i] = random_float(&r, 0, 6);
    FOR_EACH_BACKEND(backend) {
        const phx_crowd_def def = rig_def(backend, CHARACTERS);
        phx_crowd *crowds[2] = {phx_crowd_create(&def, NULL), phx_crowd_create(&def, NULL)};
        for (int f = 0; f < REPEATS; ++f) {
            for (int i = 0; i < CHARACTERS; ++i) rig_walk(poses[0] + i * RIG_JOINTS, phases[i] + 0.1f * (float)f), roots[i].x += 0.01f;
            memcpy(poses[1], poses[0], CHARACTERS * RIG_JOINTS * sizeof **poses);
            for (int k = 0; k < 2; ++k) {
                phx_crowd_frame frame;
                memset(&frame, 0, sizeof frame);
                frame.count = CHARACTERS, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(poses[k], RIG_JOINTS), frame.root_position = PHX_VIEW_ARRAY(roots);
                crowd_work w = {crowds[k], &frame};
                if (k == 0) run_frame(crowds[k], &frame, ground_hills, NULL);
                else over_threads(phx_crowd_frame_tiles(crowds[k], &frame), solve_tile, &w);
            }
            assert_int_equal(first_difference(poses[0], poses[1], CHARACTERS * RIG_JOINTS * sizeof **poses), -1);
        }
        phx_crowd_destroy(crowds[0]), phx_crowd_destroy(crowds[1]);
    }
    free(poses[0]), free(poses[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_legs),
        cmocka_unit_test(two_thousand_chains),
        cmocka_unit_test(a_thousand_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
