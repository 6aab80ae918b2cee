/* Every backend returns the reference's bits for CCD chains: random and adversarial, with every option, as jobs and as blocks, at
 * every count, alone, shuffled, re-split, from unaligned arrays, in place, without touching a byte outside. */
#include "support.h"

enum { MAX_JOINTS = 34 };

/* what a job can read and write, one structure a chain: odd size, so that elements fall on every alignment */
#pragma pack(push, 1)
typedef struct chain {
    phx_vec3 position[MAX_JOINTS], start[MAX_JOINTS];
    phx_quat rotation[MAX_JOINTS];
    float length[MAX_JOINTS];
    phx_vec3 target, pole, rest_bend;
    phx_quat target_rotation, parent_rotation;
    float weight;
    uint32_t budget;
    phx_vec3 bend;
    char pad;
    phx_vec3 position_out[MAX_JOINTS];
    phx_quat correction[MAX_JOINTS], rotation_out[MAX_JOINTS], local_out[MAX_JOINTS];
    float stretch;
    phx_result result;
} chain;
#pragma pack(pop)

static phx_vec3 along(phx_vec3 a, phx_vec3 d, float s) { return (phx_vec3){a.x + d.x * s, a.y + d.y * s, a.z + d.z * s}; }

static void put(void *to, phx_vec3 v) { memcpy(to, &v, sizeof v); }

static void random_chain(random_state *r, uint32_t joints, chain *a) {
    memset(a, 0, sizeof *a);
    const float scale = powf(10.0f, random_float(r, -3, 3));
    phx_vec3 at = {random_float(r, -9, 9) * scale, random_float(r, -1, 1) * scale, random_float(r, -9, 9) * scale};
    phx_vec3 direction = random_direction(r);
    phx_vec3 warm = at;
    const float wiggle = random_below(r, 3) ? 0.3f : 2.0f;
    float length = 0;
    const phx_vec3 root = at;
    for (uint32_t j = 0; j < joints; ++j) {
        put(&a->position[j], at), put(&a->start[j], warm);
        const phx_vec3 turn = random_direction(r);
        direction = along(direction, turn, wiggle * random_float(r, 0, 1));
        const float l = sqrtf(direction.x * direction.x + direction.y * direction.y + direction.z * direction.z);
        direction = l > 0.05f ? (phx_vec3){direction.x / l, direction.y / l, direction.z / l} : random_direction(r);
        const float bone = random_float(r, 0.1f, 0.3f) * scale;
        at = along(at, direction, bone);
        warm = along(warm, along(direction, random_direction(r), 0.3f), bone);
        if (j + 1 < joints) length += bone;
        a->rotation[j] = random_rotation(r);
        a->length[j] = bone * random_float(r, 0.9f, 1.1f);
    }
    const float reach = random_below(r, 4) ? random_float(r, 0.1f, 0.95f) : random_float(r, 0.0f, 1.4f);
    put(&a->target, along(root, random_direction(r), length * reach));
    put(&a->pole, random_direction(r)), put(&a->rest_bend, random_direction(r)), put(&a->bend, random_direction(r));
    a->target_rotation = random_rotation(r), a->parent_rotation = random_rotation(r);
    a->weight = random_below(r, 2) ? 1.0f : random_float(r, -0.2f, 1.2f);
    a->budget = random_below(r, 4) ? 100u : random_below(r, 5);
}

/* one or two things made degenerate or hostile */
static void hostile_chain(random_state *r, uint32_t joints, chain *a) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e30f, 1e-40f, 0.0f, 1e-20f, 1e20f};
    random_chain(r, joints, a);
    phx_vec3 root, tip, step;
    for (uint32_t k = 0, n = 1 + random_below(r, 2); k < n; ++k) {
        memcpy(&root, &a->position[0], 12), memcpy(&tip, &a->position[joints - 1], 12);
        const uint32_t j = random_below(r, joints);
        switch (random_below(r, 18)) {
        case 0: put(&a->target, root); break;
        case 1: put(&a->target, tip); break;
        case 2: /* straight */
            step = (phx_vec3){0, -1, 0};
            for (uint32_t i = 0; i < joints; ++i) put(&a->position[i], along(root, step, 0.25f * (float)i));
            put(&a->target, along(root, step, random_float(r, -1.2f, 1.2f) * 0.25f * (float)(joints - 1)));
            break;
        case 3: /* folded like a rule */
            for (uint32_t i = 0; i < joints; ++i) put(&a->position[i], along(root, random_direction(r), i & 1 ? 0.2f : 0.0f));
            break;
        case 4:
            for (uint32_t i = 0; i < joints; ++i) put(&a->position[i], i & 1 ? along(root, (phx_vec3){1, 0, 0}, 0.25f) : root);
            break;
        case 5: put(&a->position[joints - 1], root); break;
        case 6: memcpy(&a->position[j], &a->position[j ? j - 1 : 0], 12); break;
        case 7:
            for (uint32_t i = 0; i < joints; ++i) put(&a->position[i], root);
            break;
        case 8: put(&a->pole, (phx_vec3){0, 0, 0}), put(&a->bend, (phx_vec3){0, 0, 0}), put(&a->rest_bend, (phx_vec3){0, 0, 0}); break;
        case 9: put(&a->pole, (phx_vec3){tip.x - root.x, tip.y - root.y, tip.z - root.z}); break;
        case 10: a->weight = bad[random_below(r, 9)]; break;
        case 11: a->length[j] = bad[random_below(r, 9)]; break;
        case 12: memcpy((char *)a + offsetof(chain, rotation) + 16 * j + 4 * random_below(r, 4), &bad[random_below(r, 9)], 4); break;
        case 13: a->target_rotation = (phx_quat){0, 0, 0, 0}; break;
        case 14: a->parent_rotation.y = bad[random_below(r, 9)]; break;
        case 15: memcpy(a->start, a->position, sizeof a->start); break;
        default: { /* any float of any vector */
            const size_t offsets[] = {offsetof(chain, position) + 12 * j, offsetof(chain, start) + 12 * j, offsetof(chain, target),
                                      offsetof(chain, pole), offsetof(chain, rest_bend), offsetof(chain, bend)};
            memcpy((char *)a + offsets[random_below(r, 6)] + 4 * random_below(r, 3), &bad[random_below(r, 9)], 4);
        }
        }
    }
}

typedef struct call {
    uint32_t joints;
    phx_ccd_params params;
    phx_limit limits[MAX_JOINTS];
    float weights[MAX_JOINTS];
    int limited, weighted, full, in_place, locals, warm, lengths;
} call;

static call random_call(random_state *r, uint32_t k) {
    static const uint32_t sizes[] = {2, 3, 4, 5, 6, 9, 17, 18, 33};
    call c;
    memset(&c, 0, sizeof c);
    c.joints = k < 9 ? sizes[k] : 2 + random_below(r, random_below(r, 3) ? 8 : MAX_JOINTS - 2);
    c.params = phx_ccd_params_default();
    c.full = k % 4 != 0, c.in_place = random_below(r, 4) == 0, c.locals = random_below(r, 2) != 0;
    c.warm = c.full && random_below(r, 3) == 0, c.lengths = c.full && random_below(r, 4) == 0;
    if (k < 9 && !c.full) return c;
    if (random_below(r, 4) == 0) c.params.mode = PHX_CCD_PLAIN, c.params.damping = random_below(r, 2) ? 1.0f : random_float(r, 0.2f, 1.0f);
    if (random_below(r, 5) == 0) c.params.from = random_below(r, c.joints - 1);
    if (random_below(r, 5) == 0) c.params.max_turn = random_float(r, 0.01f, 3.0f);
    if (random_below(r, 5) == 0) c.params.chain.soft_start = random_float(r, 0.7f, 1.0f);
    if (random_below(r, 5) == 0) c.params.chain.max_stretch = random_float(r, 1.0f, 1.6f);
    if (random_below(r, 5) == 0) c.params.chain.tolerance = random_below(r, 2) ? 0.0f : 1e-5f;
    if (random_below(r, 5) == 0) c.params.chain.tolerance = random_float(r, 0.0f, random_below(r, 2) ? 0.2f : 1.0f);
    c.params.restarts = random_below(r, 5);
    c.limited = c.full && random_below(r, 2), c.weighted = random_below(r, 4) == 0;
    for (uint32_t j = 0; j < c.joints; ++j) {
        const float low = random_float(r, -3.0f, 2.0f);
        switch (random_below(r, 5)) {
        case 0: c.limits[j] = phx_limit_none(); break;
        case 1: c.limits[j] = phx_limit_hinge(random_direction(r), low, low + random_float(r, 0.0f, 3.0f)); break;
        case 2: c.limits[j] = phx_limit_cone(random_direction(r), random_float(r, 0.0f, 3.1f)); break;
        case 3:
            c.limits[j] = phx_limit_cone(random_direction(r), random_float(r, 0.1f, 2.0f));
            c.limits[j].twist_min = low, c.limits[j].twist_max = low + random_float(r, 0.0f, 1.1f);
            break;
        default:
            c.limits[j] = phx_limit_ellipse(random_direction(r), random_direction(r), random_float(r, 0, 2), random_float(r, 0, 2));
        }
        c.limits[j].rest = random_rotation(r);
        c.weights[j] = random_below(r, 2) ? 1.0f : random_float(r, 0.0f, 1.0f);
    }
    return c;
}

#define JOINTS(field) phx_joint_view_of(chains->field, sizeof *chains, sizeof chains->field[0])

static phx_chain_job job_over(chain *chains, size_t count, const call *c) {
    phx_chain_job job = phx_chain_job_default();
    job.count = count, job.joints = c->joints;
    job.position = JOINTS(position), job.position_out = JOINTS(position_out);
    job.target = PHX_VIEW(chains, target), job.result = PHX_VIEW(chains, result);
    job.correction = JOINTS(correction);
    if (c->weighted) job.joint_weights = c->weights;
    if (c->in_place) job.position_out = job.position;
    if (!c->full) return job;
    if (c->limited) job.limits = c->limits;
    if (c->warm) job.start = JOINTS(start);
    if (c->lengths) job.length = JOINTS(length);
    if (c->locals) job.local = JOINTS(rotation);
    else job.rotation = JOINTS(rotation);
    job.pole = PHX_VIEW(chains, pole), job.rest_bend = PHX_VIEW(chains, rest_bend), job.bend = PHX_VIEW(chains, bend);
    job.target_rotation = PHX_VIEW(chains, target_rotation), job.parent_rotation = PHX_VIEW(chains, parent_rotation);
    job.weight = PHX_VIEW(chains, weight), job.budget = PHX_VIEW(chains, budget);
    job.rotation_out = JOINTS(rotation_out), job.local_out = JOINTS(local_out);
    job.stretch = PHX_VIEW(chains, stretch);
    return job;
}

static chain *fill(random_state *r, size_t count, uint32_t joints) {
    chain *chains = malloc((count + 2) * sizeof *chains);
    memset(chains, 0xA5, (count + 2) * sizeof *chains);
    for (size_t i = 1; i <= count; ++i) {
        if (random_below(r, 3)) random_chain(r, joints, chains + i);
        else hostile_chain(r, joints, chains + i);
    }
    return chains;
}

/* Rotations that come of rotations that are no numbers are no numbers either, of a sign and payload that no standard gives. */
static void one_nan_for_all(chain *chains, size_t count) {
    for (size_t i = 0; i < count; ++i)
        for (size_t at = offsetof(chain, rotation_out); at < offsetof(chain, stretch); at += sizeof(float)) {
            float value;
            memcpy(&value, (char *)(chains + i) + at, sizeof value);
            if (value != value) value = NAN, memcpy((char *)(chains + i) + at, &value, sizeof value);
        }
}

static void say_where(const char *backend, const chain *expected, const chain *actual, size_t count, const call *c) {
    const long at = first_difference(expected, actual, (count + 2) * sizeof *expected);
    if (at < 0) return;
    print_error("backend %s, %u joints, count %zu, mode %d, from %u, limited %d, warm %d: chain %ld differs at byte %ld (position_out %zu, "
                "correction %zu, result %zu)\n",
                backend, c->joints, count, (int)c->params.mode, c->params.from, c->limited, c->warm, at / (long)sizeof *expected - 1,
                at % (long)sizeof *expected, offsetof(chain, position_out), offsetof(chain, correction), offsetof(chain, result));
    fail();
}

static void jobs_match_the_reference_at_every_count(void **state) {
    (void)state;
    random_state r = random_seeded("ccd jobs", 0xCCD1);
    for (uint32_t round = 0; round < 34 * 12; ++round) {
        const size_t count = round % 34;
        const call c = random_call(&r, round % 34 < 9 ? round % 34 : round);
        chain *input = fill(&r, count, c.joints);
        chain *expected = malloc((count + 2) * sizeof *input), *actual = malloc((count + 2) * sizeof *input);
        memcpy(expected, input, (count + 2) * sizeof *input);
        phx_chain_job job = job_over(expected + 1, count, &c);
        assert_int_equal(phx_ccd_solve(phx_backend_find("reference"), &c.params, &job, NULL), PHX_OK);
        one_nan_for_all(expected + 1, count);
        FOR_EACH_BACKEND(backend) {
            memcpy(actual, input, (count + 2) * sizeof *input);
            job = job_over(actual + 1, count, &c);
            assert_int_equal(phx_ccd_solve(backend, &c.params, &job, NULL), PHX_OK);
            one_nan_for_all(actual + 1, count);
            say_where(phx_backend_name(backend), expected, actual, count, &c);
        }
        free(input), free(expected), free(actual);
    }
}

static void a_chain_does_not_know_its_neighbours(void **state) {
    (void)state;
    random_state r = random_seeded("ccd shuffles", 0xCCD2);
    enum { N = 400 };
    for (uint32_t round = 0; round < 6; ++round) {
        call c = random_call(&r, 37);
        c.joints = 5;
        if (c.params.from > 3) c.params.from = 0;
        chain *input = fill(&r, N, c.joints), *expected = malloc((N + 2) * sizeof *input), *actual = malloc((N + 2) * sizeof *input);
        uint32_t order[N];
        for (uint32_t i = 0; i < N; ++i) order[i] = i;
        for (uint32_t i = N - 1; i > 0; --i) {
            const uint32_t j = random_below(&r, i + 1), t = order[i];
            order[i] = order[j], order[j] = t;
        }
        memcpy(expected, input, (N + 2) * sizeof *input);
        for (size_t i = 1; i <= N; ++i) {
            phx_chain_job alone = job_over(expected + i, 1, &c);
            assert_int_equal(phx_ccd_solve(phx_backend_find("reference"), &c.params, &alone, NULL), PHX_OK);
        }
        one_nan_for_all(expected + 1, N);
        FOR_EACH_BACKEND(backend) {
            for (uint32_t i = 0; i < N; ++i) actual[i + 1] = input[order[i] + 1];
            phx_chain_job job = job_over(actual + 1, N, &c);
            size_t first = 0;
            while (first < phx_chain_job_block_count(&job)) { /* random re-split */
                size_t n = 1 + random_below(&r, 7);
                if (n > phx_chain_job_block_count(&job) - first) n = phx_chain_job_block_count(&job) - first;
                assert_int_equal(phx_ccd_solve_range(backend, &c.params, &job, first, n, NULL), PHX_OK);
                first += n;
            }
            one_nan_for_all(actual + 1, N);
            for (uint32_t i = 0; i < N; ++i) assert_int_equal(first_difference(actual + i + 1, expected + order[i] + 1, sizeof *input), -1);
        }
        free(input), free(expected), free(actual);
    }
}

#define ROWS(type, n) aligned_alloc(64, (n) * sizeof(type))
#define PUT3(rows, v) (rows).x[l] = (v).x, (rows).y[l] = (v).y, (rows).z[l] = (v).z
#define PUT4(rows, v) PUT3(rows, v), (rows).w[l] = (v).w

static void blocks_match_jobs(void **state) {
    (void)state;
    random_state r = random_seeded("ccd blocks", 0xCCD3);
    enum { BLOCKS = 3, N = BLOCKS * 16 };
    for (uint32_t round = 0; round < 24; ++round) {
        call c = random_call(&r, 41);
        c.in_place = 0, c.full = 1, c.locals = 0;
        const uint32_t joints = c.joints;
        chain *chains = fill(&r, N, joints) + 1;
        FOR_EACH_BACKEND(backend) {
            phx_rows3 *position = ROWS(phx_rows3, BLOCKS * joints), *start = ROWS(phx_rows3, BLOCKS * joints);
            phx_rows3 *solved_rows = ROWS(phx_rows3, BLOCKS * joints), *given = ROWS(phx_rows3, BLOCKS * joints);
            phx_rows3 *target = ROWS(phx_rows3, BLOCKS);
            phx_rows3 *pole = ROWS(phx_rows3, BLOCKS), *rest_bend = ROWS(phx_rows3, BLOCKS), *bend = ROWS(phx_rows3, BLOCKS);
            phx_rows4 *rotation = ROWS(phx_rows4, BLOCKS * joints), *correction = ROWS(phx_rows4, BLOCKS * joints);
            phx_rows4 *target_rotation = ROWS(phx_rows4, BLOCKS), *parent = ROWS(phx_rows4, BLOCKS);
            phx_rows1 *length = ROWS(phx_rows1, BLOCKS * joints), *weight = ROWS(phx_rows1, BLOCKS), *residual = ROWS(phx_rows1, BLOCKS);
            phx_rows1 *stretch = ROWS(phx_rows1, BLOCKS);
            phx_rows1u *budget = ROWS(phx_rows1u, BLOCKS), *iterations = ROWS(phx_rows1u, BLOCKS), *flags = ROWS(phx_rows1u, BLOCKS);
            for (size_t i = 0; i < N; ++i) {
                const size_t b = i / 16, l = i % 16;
                const chain *a = chains + i;
                for (size_t j = 0; j < joints; ++j) {
                    PUT3(position[b * joints + j], a->position[j]), PUT3(start[b * joints + j], a->start[j]);
                    PUT4(rotation[b * joints + j], a->rotation[j]);
                    if (j + 1 < joints) length[b * (joints - 1) + j].v[l] = a->length[j];
                }
                PUT3(target[b], a->target), PUT3(pole[b], a->pole), PUT3(rest_bend[b], a->rest_bend), PUT3(bend[b], a->bend);
                PUT4(target_rotation[b], a->target_rotation), PUT4(parent[b], a->parent_rotation);
                weight[b].v[l] = a->weight, budget[b].v[l] = a->budget;
            }
            phx_chain_blocks blocks;
            memset(&blocks, 0, sizeof blocks);
            blocks.count = BLOCKS, blocks.joints = joints;
            if (c.limited) blocks.limits = c.limits;
            if (c.weighted) blocks.joint_weights = c.weights;
            if (c.warm) blocks.start = start;
            if (c.lengths) blocks.length = length;
            blocks.position = position, blocks.rotation = rotation, blocks.correction = correction, blocks.target = target;
            blocks.target_rotation = target_rotation, blocks.pole = pole, blocks.rest_bend = rest_bend, blocks.parent_rotation = parent;
            blocks.weight = weight, blocks.budget = budget, blocks.bend = bend, blocks.stretch = stretch, blocks.residual = residual;
            blocks.iterations = iterations, blocks.flags = flags;
            if (round % 2) blocks.solved = solved_rows;
            memcpy(given, position, BLOCKS * joints * sizeof *position);
            chain *copy = malloc(N * sizeof *copy);
            memcpy(copy, chains, N * sizeof *copy);
            phx_chain_job job = job_over(copy, N, &c);
            assert_int_equal(phx_ccd_solve(backend, &c.params, &job, NULL), PHX_OK);
            assert_int_equal(phx_ccd_solve_blocks(backend, &c.params, &blocks, NULL), PHX_OK);
            for (size_t i = 0; i < N; ++i) {
                const size_t b = i / 16, l = i % 16;
                const chain *a = copy + i;
                for (size_t j = 0; j < joints; ++j) {
                    const phx_rows3 *p = (blocks.solved ? solved_rows : position) + b * joints + j;
                    const phx_rows4 *q = correction + b * joints + j;
                    const phx_vec3 solved = {p->x[l], p->y[l], p->z[l]};
                    const phx_quat turned = {q->x[l], q->y[l], q->z[l], q->w[l]};
                    assert_int_equal(first_difference(&solved, &a->position_out[j], sizeof solved), -1);
                    assert_int_equal(first_difference(&turned, &a->correction[j], sizeof turned), -1);
                }
                const float from_block[] = {bend[b].x[l], bend[b].y[l], bend[b].z[l], stretch[b].v[l], residual[b].v[l]};
                const float from_job[] = {a->bend.x, a->bend.y, a->bend.z, a->stretch, a->result.residual};
                assert_int_equal(first_difference(from_block, from_job, sizeof from_job), -1);
                assert_int_equal(iterations[b].v[l], a->result.iterations);
                assert_int_equal(flags[b].v[l], a->result.flags);
            }
            if (blocks.solved) assert_memory_equal(given, position, BLOCKS * joints * sizeof *position);
            free(copy), free(position), free(solved_rows), free(given), free(start), free(target), free(pole), free(rest_bend), free(bend), free(rotation);
            free(correction), free(target_rotation), free(parent), free(length), free(weight), free(residual), free(stretch);
            free(budget), free(iterations), free(flags);
        }
        free(chains - 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_match_the_reference_at_every_count),
        cmocka_unit_test(a_chain_does_not_know_its_neighbours),
        cmocka_unit_test(blocks_match_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
