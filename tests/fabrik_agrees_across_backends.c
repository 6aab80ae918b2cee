/* Every backend returns the reference's bits for FABRIK chains: random and adversarial, of 1 to 64 bones, as jobs and as blocks, at
 * counts around the sizes of vectors, blocks and pools, alone, shuffled, re-split, unaligned, in place, without touching a byte outside. */
#include "chains.h"

static void check_job(random_state *r, size_t count, uint32_t joints, uint32_t options) {
    chain_data input = chain_data_make(count, joints), expected = chain_data_make(count, joints), actual = chain_data_make(count, joints);
    chain_data_fill(r, &input);
    const phx_fabrik_params params = random_fabrik_params(r, options);
    phx_limit limits[PHX_CHAIN_MAX_JOINTS];
    random_limits(r, joints, limits);
    chain_data_copy(&expected, &input);
    phx_report report;
    phx_chain_job job = chain_data_job(&expected, options, limits);
    if (phx_fabrik_solve(phx_backend_find("reference"), &params, &job, &report)) print_error("%s\n", report.text), fail();
    FOR_EACH_BACKEND(backend) {
        chain_data_copy(&actual, &input);
        job = chain_data_job(&actual, options, limits);
        assert_int_equal(phx_fabrik_solve(backend, &params, &job, NULL), PHX_OK);
        if (!chain_data_equal(&expected, &actual)) {
            print_error("backend %s, %zu chains of %u joints, options 0x%x\n", phx_backend_name(backend), count, joints, options);
            fail();
        }
    }
    chain_data_free(&input), chain_data_free(&expected), chain_data_free(&actual);
}

static void jobs_match_the_reference_at_every_count(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik jobs", 0xFAB1);
    for (uint32_t round = 0; round < 34 * 24; ++round) check_job(&r, round % 34, 2 + random_below(&r, round % 5 ? 9 : 64), random_options(&r));
}

static void jobs_match_the_reference_around_pools(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik pools", 0xFAB2);
    static const size_t counts[] = {47, 48, 49, 63, 64, 65, 95, 96, 97, 143, 144, 145, 191, 192, 193, 255, 256, 257, 511, 700};
    for (uint32_t round = 0; round < 3; ++round)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) check_job(&r, counts[k], 2 + random_below(&r, 9), random_options(&r));
    check_job(&r, 300, 65, 0), check_job(&r, 300, 34, 0), check_job(&r, 300, 33, 0), check_job(&r, 300, 2, 0);
}

static void a_chain_does_not_know_its_neighbours(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik shuffles", 0xFAB3);
    enum { N = 600 };
    for (uint32_t round = 0; round < 6; ++round) {
        const uint32_t joints = 2 + random_below(&r, 12), options = round < 2 ? 0 : random_options(&r) & ~(uint32_t)CHAIN_SHARED;
        chain_data input = chain_data_make(N, joints), expected = chain_data_make(N, joints), actual = chain_data_make(N, joints);
        chain_data_fill(&r, &input);
        uint32_t order[N];
        for (uint32_t i = 0; i < N; ++i) order[i] = i;
        for (uint32_t i = N - 1; i > 0; --i) {
            const uint32_t j = random_below(&r, i + 1), t = order[i];
            order[i] = order[j], order[j] = t;
        }
        const phx_fabrik_params params = random_fabrik_params(&r, options);
        phx_limit limits[PHX_CHAIN_MAX_JOINTS];
        random_limits(&r, joints, limits);
        chain_data_copy(&expected, &input);
        for (size_t i = 0; i < N; ++i) {
            phx_chain_job alone = chain_data_job(&expected, options, limits);
            chain_job_skip(&alone, i), alone.count = 1;
            assert_int_equal(phx_fabrik_solve(phx_backend_find("reference"), &params, &alone, NULL), PHX_OK);
        }
        FOR_EACH_BACKEND(backend) {
            for (uint32_t i = 0; i < N; ++i) memcpy(chain_data_at(&actual, i), chain_data_at(&input, order[i]), input.size);
            phx_chain_job job = chain_data_job(&actual, options, limits);
            size_t first = 0;
            while (first < phx_chain_job_block_count(&job)) {
                size_t n = 1 + random_below(&r, 20);
                if (n > phx_chain_job_block_count(&job) - first) n = phx_chain_job_block_count(&job) - first;
                assert_int_equal(phx_fabrik_solve_range(backend, &params, &job, first, n, NULL), PHX_OK);
                first += n;
            }
            for (uint32_t i = 0; i < N; ++i)
                assert_int_equal(first_difference(chain_data_at(&actual, i), chain_data_at(&expected, order[i]), input.size), -1);
        }
        chain_data_free(&input), chain_data_free(&expected), chain_data_free(&actual);
    }
}

static void blocks_match_jobs(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik blocks", 0xFAB4);
    for (uint32_t round = 0; round < 48; ++round) {
        const uint32_t joints = 2 + random_below(&r, round % 8 ? 10 : 64), options = (random_options(&r) & ~(uint32_t)(CHAIN_LOCALS | CHAIN_IN_PLACE | CHAIN_SHARED)) | CHAIN_ROTATION;
        const size_t blocks = 1 + random_below(&r, round % 8 ? 24 : 4), count = blocks * 16;
        chain_data data = chain_data_make(count, joints);
        chain_data_fill(&r, &data);
        const phx_fabrik_params params = random_fabrik_params(&r, options);
        phx_limit limits[PHX_CHAIN_MAX_JOINTS];
        random_limits(&r, joints, limits);
        chain_data job_data = chain_data_make(count, joints);
        chain_data_copy(&job_data, &data);
        phx_chain_job job = chain_data_job(&job_data, options, limits);
        assert_int_equal(phx_fabrik_solve(phx_backend_find("reference"), &params, &job, NULL), PHX_OK);
        for (int separate = 0; separate < 2; ++separate) FOR_EACH_BACKEND(backend) {
            chain_rows rows = chain_rows_make(&data, options, limits, separate);
            const size_t half = blocks / 2;
            phx_report report;
            if (phx_fabrik_solve_blocks(backend, &params, &rows.blocks, 0, half, &report)) print_error("%s\n", report.text), fail();
            assert_int_equal(phx_fabrik_solve_blocks(backend, &params, &rows.blocks, half, blocks - half, NULL), PHX_OK);
            if (!chain_rows_match(&rows, &job_data, &job)) {
                print_error("backend %s, %zu blocks of %u joints, options 0x%x\n", phx_backend_name(backend), blocks, joints, options);
                fail();
            }
            chain_rows_free(&rows);
        }
        chain_data_free(&data), chain_data_free(&job_data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_match_the_reference_at_every_count),
        cmocka_unit_test(jobs_match_the_reference_around_pools),
        cmocka_unit_test(a_chain_does_not_know_its_neighbours),
        cmocka_unit_test(blocks_match_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
