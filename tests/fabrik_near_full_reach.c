/* FABRIK near full reach: before the first round all bends are scaled so that the chain is as long as the target is far, by a formula that
 * is exact to second order. So one round leaves at most what the formula's next term says: about the square of the share that is missing.
 */
#include "support.h"

static void one_round_leaves_the_square_of_what_is_missing(void **state) {
    (void)state;
    random_state r = random_seeded("near full reach", 0xF0117);
    FOR_EACH_BACKEND(backend) {
        for (int k = 0; k < 2000; ++k) {
            enum { MOST = 17 };
            const uint32_t joints = 4 + random_below(&r, MOST - 3);
            const float missing = random_float(&r, 0.004f, 0.04f), bend = random_float(&r, 0.8f, 1.6f) / (float)(joints - 1);
            phx_vec3 at[MOST], out[MOST];
            at[0] = (phx_vec3){0, 0, 0};
            for (uint32_t j = 0; j + 1 < joints; ++j) { /* a gentle arc */
                const float angle = bend * ((float)j - (float)(joints - 2) * 0.5f);
                at[j + 1] = (phx_vec3){at[j].x + cosf(angle), at[j].y + sinf(angle), 0};
            }
            const float whole = (float)(joints - 1), turn = random_float(&r, -3, 3);
            const phx_vec3 target = {whole * (1 - missing) * cosf(turn), whole * (1 - missing) * sinf(turn), 0};
            phx_result result;
            phx_fabrik_params params = phx_fabrik_params_default();
            params.chain.tolerance = 0, params.chain.max_iterations = 1;
            phx_chain_job job = phx_chain_job_default();
            job.count = 1, job.joints = joints;
            job.position = phx_joint_view_of(at, sizeof at, 12), job.position_out = phx_joint_view_of(out, sizeof out, 12);
            job.target = PHX_VIEW_ONE(&target), job.result = phx_view_of(&result, sizeof result);
            assert_int_equal(phx_fabrik_solve(backend, &params, &job, NULL), PHX_OK);
            assert_int_equal(result.iterations, 1);
            assert_true(result.residual <= whole * (3 * missing * missing + 1e-5f));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_round_leaves_the_square_of_what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
