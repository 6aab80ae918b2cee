/* Every backend returns the reference's bits for two-bone legs: random and adversarial, as jobs and as blocks, at every count,
 * alone, shuffled, re-split, from unaligned arrays, in place, without touching a byte outside. */
#include "support.h"

enum { MAX_LEGS = 4096 };

/* what a job can read and write, one structure a leg: odd size, so that elements fall on every alignment */
#pragma pack(push, 1)
typedef struct leg {
    phx_vec3 root, mid, tip, target, pole, rest_bend;
    float weight, pole_weight;
    phx_quat parent, root_local, mid_local, tip_local, target_rotation;
    phx_vec3 bend;
    char pad;
    phx_quat root_rotation, mid_rotation, tip_rotation, root_out, mid_out, tip_out;
    phx_vec3 mid_position, tip_position;
    float stretch;
    phx_result result;
} leg;
#pragma pack(pop)

static phx_vec3 along(phx_vec3 a, phx_vec3 d, float s) { return (phx_vec3){a.x + d.x * s, a.y + d.y * s, a.z + d.z * s}; }

static leg random_leg(random_state *r) {
    leg a;
    memset(&a, 0, sizeof a);
    const float scale = powf(10.0f, random_float(r, -3, 3));
    const float upper = random_float(r, 0.2f, 0.6f) * scale, lower = random_float(r, 0.2f, 0.6f) * scale;
    a.root = (phx_vec3){random_float(r, -9, 9) * scale, random_float(r, -1, 1) * scale, random_float(r, -9, 9) * scale};
    a.mid = along(a.root, random_direction(r), upper);
    a.tip = along(a.mid, random_direction(r), lower);
    a.target = along(a.root, random_direction(r), (upper + lower) * random_float(r, 0.0f, 1.3f));
    a.pole = random_direction(r), a.rest_bend = random_direction(r), a.bend = random_direction(r);
    a.weight = random_float(r, -0.2f, 1.2f), a.pole_weight = random_float(r, -0.2f, 1.2f);
    a.parent = random_rotation(r), a.root_local = random_rotation(r), a.mid_local = random_rotation(r), a.tip_local = random_rotation(r);
    a.target_rotation = random_rotation(r);
    return a;
}

/* one or two things made degenerate or hostile */
static leg hostile_leg(random_state *r) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e30f, 1e-40f, 0.0f, 1e-20f, 1e20f};
    leg a = random_leg(r);
    for (uint32_t k = 0, n = 1 + random_below(r, 2); k < n; ++k) {
        const phx_vec3 chord = {a.target.x - a.root.x, a.target.y - a.root.y, a.target.z - a.root.z};
        switch (random_below(r, 16)) {
        case 0: a.target = a.root; break;
        case 1: a.pole = chord; break;
        case 2: a.pole = (phx_vec3){-chord.x, -chord.y, -chord.z}, a.bend = chord; break;
        case 3: a.mid = (phx_vec3){(a.root.x + a.tip.x) / 2, (a.root.y + a.tip.y) / 2, (a.root.z + a.tip.z) / 2}; break;
        case 4: a.tip = a.root; break;
        case 5: a.mid = a.root; break;
        case 6: a.tip = a.mid; break;
        case 7: a.mid = a.tip = a.root; break;
        case 8: a.pole = a.bend = a.rest_bend = (phx_vec3){0, 0, 0}; break;
        case 9: a.weight = random_below(r, 2) ? 0.0f : 1.0f; break;
        case 10: a.target = along(a.root, (phx_vec3){a.root.x - a.tip.x, a.root.y - a.tip.y, a.root.z - a.tip.z}, 1.0f); break;
        case 11: a.weight = bad[random_below(r, 9)]; break;
        case 12: a.mid = along(a.root, (phx_vec3){0, -1, 0}, 1), a.tip = along(a.mid, (phx_vec3){0, -1, 0}, 1); break;
        case 13: a.target = a.tip; break;
        default: { /* any float of any vector */
            phx_vec3 *fields[] = {&a.root, &a.mid, &a.tip, &a.target, &a.pole, &a.rest_bend};
            phx_vec3 v;
            phx_vec3 *field = fields[random_below(r, 6)];
            memcpy(&v, field, sizeof v);
            ((float *)&v)[random_below(r, 3)] = bad[random_below(r, 9)];
            memcpy(field, &v, sizeof v);
        }
        }
    }
    return a;
}

typedef enum variant { PLAIN, FULL, IN_PLACE } variant;

static phx_two_bone_job job_over(leg *legs, size_t count, variant v, phx_two_bone_params params) {
    phx_two_bone_job job = phx_two_bone_job_default();
    job.params = params;
    job.count = count;
    job.root = PHX_VIEW(legs, root), job.mid = PHX_VIEW(legs, mid), job.tip = PHX_VIEW(legs, tip);
    job.target = PHX_VIEW(legs, target), job.pole = PHX_VIEW(legs, pole), job.bend = PHX_VIEW(legs, bend);
    job.root_rotation = PHX_VIEW(legs, root_rotation), job.mid_rotation = PHX_VIEW(legs, mid_rotation);
    job.result = PHX_VIEW(legs, result);
    if (v == PLAIN) return job;
    job.rest_bend = PHX_VIEW(legs, rest_bend), job.weight = PHX_VIEW(legs, weight), job.pole_weight = PHX_VIEW(legs, pole_weight);
    job.parent_rotation = PHX_VIEW(legs, parent);
    job.root_local = PHX_VIEW(legs, root_local), job.mid_local = PHX_VIEW(legs, mid_local), job.tip_local = PHX_VIEW(legs, tip_local);
    job.target_rotation = PHX_VIEW(legs, target_rotation);
    job.tip_rotation = PHX_VIEW(legs, tip_rotation), job.stretch = PHX_VIEW(legs, stretch);
    job.root_local_out = PHX_VIEW(legs, root_out), job.mid_local_out = PHX_VIEW(legs, mid_out), job.tip_local_out = PHX_VIEW(legs, tip_out);
    job.mid_position = PHX_VIEW(legs, mid_position), job.tip_position = PHX_VIEW(legs, tip_position);
    if (v == IN_PLACE) {
        job.root_local_out = job.root_local, job.mid_local_out = job.mid_local, job.tip_local_out = job.tip_local;
        job.mid_position = job.mid, job.tip_position = job.tip;
    }
    return job;
}

static phx_two_bone_params random_params(random_state *r, uint32_t k) {
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = k & 1 ? PHX_TWIST_INHERIT : PHX_TWIST_PLANE;
    if (k & 2) params.soft_start = random_float(r, 0.8f, 1.0f);
    if (k & 4) params.max_stretch = random_float(r, 1.0f, 1.5f);
    if (k & 8) params.max_bend = random_float(r, 1.0f, 3.0f), params.min_bend = random_float(r, 0.0f, 0.9f);
    if (k & 16) params.max_bend_turn = random_float(r, 0.0f, 3.0f);
    return params;
}

static leg *fill(random_state *r, size_t count) {
    leg *legs = calloc(count + 2, sizeof *legs);
    memset(legs, 0xA5, (count + 2) * sizeof *legs);
    for (size_t i = 1; i <= count; ++i) legs[i] = random_below(r, 3) ? random_leg(r) : hostile_leg(r);
    return legs;
}

static void jobs_match_the_reference_at_every_count(void **state) {
    (void)state;
    random_state r = random_seeded("two-bone jobs", 0x70A1);
    for (uint32_t round = 0; round < 34 * 3 * 32; ++round) {
        const size_t count = round % 34;
        const variant v = (variant)(round / 34 % 3);
        const phx_two_bone_params params = random_params(&r, round / 102);
        leg *input = fill(&r, count), *expected = malloc((count + 2) * sizeof *input), *actual = malloc((count + 2) * sizeof *input);
        memcpy(expected, input, (count + 2) * sizeof *input);
        phx_two_bone_job job = job_over(expected + 1, count, v, params);
        assert_int_equal(phx_two_bone_solve(phx_backend_find("reference"), &job), PHX_OK);
        FOR_EACH_BACKEND(backend) {
            memcpy(actual, input, (count + 2) * sizeof *input);
            job = job_over(actual + 1, count, v, params);
            assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
            const long at = first_difference(expected, actual, (count + 2) * sizeof *input);
            if (at >= 0) {
                print_error("backend %s, count %zu, variant %d, params %u: leg %ld differs at byte %ld\n", phx_backend_name(backend), count,
                            (int)v, round / 102, at / (long)sizeof *input - 1, at % (long)sizeof *input);
                fail();
            }
        }
        free(input), free(expected), free(actual);
    }
}

static void a_leg_does_not_know_its_neighbours(void **state) {
    (void)state;
    random_state r = random_seeded("two-bone shuffles", 0x70A2);
    enum { N = 1000 };
    leg *input = fill(&r, N), *expected = malloc((N + 2) * sizeof *input), *actual = malloc((N + 2) * sizeof *input);
    uint32_t order[N];
    for (uint32_t i = 0; i < N; ++i) order[i] = i;
    for (uint32_t i = N - 1; i > 0; --i) {
        const uint32_t j = random_below(&r, i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    const phx_two_bone_params params = random_params(&r, 31);
    memcpy(expected, input, (N + 2) * sizeof *input);
    for (size_t i = 1; i <= N; ++i) {
        phx_two_bone_job alone = job_over(expected + i, 1, FULL, params);
        assert_int_equal(phx_two_bone_solve(phx_backend_find("reference"), &alone), PHX_OK);
    }
    FOR_EACH_BACKEND(backend) {
        for (uint32_t i = 0; i < N; ++i) actual[i + 1] = input[order[i] + 1];
        phx_two_bone_job job = job_over(actual + 1, N, FULL, params);
        size_t first = 0;
        while (first < phx_two_bone_block_count(&job)) { /* random re-split */
            size_t n = 1 + random_below(&r, 7);
            if (n > phx_two_bone_block_count(&job) - first) n = phx_two_bone_block_count(&job) - first;
            assert_int_equal(phx_two_bone_solve_range(backend, &job, first, n), PHX_OK);
            first += n;
        }
        for (uint32_t i = 0; i < N; ++i) assert_int_equal(first_difference(actual + i + 1, expected + order[i] + 1, sizeof *input), -1);
    }
    free(input), free(expected), free(actual);
}

static void blocks_match_jobs(void **state) {
    (void)state;
    random_state r = random_seeded("two-bone blocks", 0x70A3);
    enum { BLOCKS = 64, N = BLOCKS * 16 };
    for (uint32_t k = 0; k < 32; ++k) {
        const phx_two_bone_params params = random_params(&r, k);
        leg *legs = fill(&r, N) + 1;
        phx_two_bone_block *blocks = aligned_alloc(64, BLOCKS * sizeof *blocks);
        phx_two_bone_extra *extras = aligned_alloc(64, BLOCKS * sizeof *extras);
        for (int with_extras = 0; with_extras < 2; ++with_extras) FOR_EACH_BACKEND(backend) {
            for (size_t i = 0; i < N; ++i) legs[i].parent = (phx_quat){0, 0, 0, 1};
            memset(blocks, 0, BLOCKS * sizeof *blocks);
            for (size_t b = 0; b < BLOCKS; ++b) phx_two_bone_extra_default(extras + b);
#define PUT3(rows, v) (rows).x[l] = (v).x, (rows).y[l] = (v).y, (rows).z[l] = (v).z
#define PUT4(rows, v) PUT3(rows, v), (rows).w[l] = (v).w
            for (size_t i = 0; i < N; ++i) {
                phx_two_bone_block *b = blocks + i / 16;
                phx_two_bone_extra *e = extras + i / 16;
                const size_t l = i % 16;
                const leg a = legs[i];
                PUT3(b->root, a.root), PUT3(b->mid, a.mid), PUT3(b->tip, a.tip), PUT3(b->target, a.target), PUT3(b->pole, a.pole);
                PUT3(b->bend, a.bend), PUT3(e->rest_bend, a.rest_bend);
                e->weight.v[l] = a.weight, e->pole_weight.v[l] = a.pole_weight;
            }
            leg *copy = malloc(N * sizeof *copy);
            memcpy(copy, legs, N * sizeof *copy);
            phx_two_bone_job job = job_over(copy, N, with_extras ? FULL : PLAIN, params);
            job.target_rotation.data = NULL;
            assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
            assert_int_equal(phx_two_bone_solve_blocks(backend, &params, blocks, with_extras ? extras : NULL, BLOCKS, NULL), PHX_OK);
            for (size_t i = 0; i < N; ++i) {
                const phx_two_bone_block *b = blocks + i / 16;
                const phx_two_bone_extra *e = extras + i / 16;
                const size_t l = i % 16;
                const leg a = copy[i];
                const float from_job[] = {a.root_rotation.x, a.root_rotation.w, a.mid_rotation.y, a.bend.x, a.bend.z, a.result.residual};
                const float from_block[] = {b->root_rotation.x[l], b->root_rotation.w[l], b->mid_rotation.y[l], b->bend.x[l], b->bend.z[l], b->residual.v[l]};
                assert_int_equal(first_difference(from_job, from_block, sizeof from_job), -1);
                assert_int_equal(a.result.flags, b->flags.v[l]);
                if (with_extras) {
                    const float job_extra[] = {a.tip_rotation.x, a.tip_position.y, a.mid_position.z, a.stretch};
                    const float block_extra[] = {e->tip_rotation.x[l], e->tip_position.y[l], e->mid_position.z[l], e->stretch.v[l]};
                    assert_int_equal(first_difference(job_extra, block_extra, sizeof job_extra), -1);
                }
            }
            free(copy);
        }
        free(legs - 1), free(blocks), free(extras);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_match_the_reference_at_every_count),
        cmocka_unit_test(a_leg_does_not_know_its_neighbours),
        cmocka_unit_test(blocks_match_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
