/* FABRIK, public face: defaults, validation, slicing into ranges. The work is in kernel/fabrik.inl. */
#include "ccd.h"
#include "chain.h"
#include "report.h"

phx_fabrik_params phx_fabrik_params_default(void) {
    phx_fabrik_params params;
    params.chain = phx_chain_params_default();
    params.stats = NULL;
    return params;
}

static phx_status check(const char *name, const phx_fabrik_params *params, phx_report *report) {
    if (!params) return phx_reject(report, PHX_ERROR_NULL, "%s: 'params' is NULL", name);
    return phx_chain_check_ranges(name, &params->chain, report);
}

static phx_status check_range(const char *name, size_t first, size_t count, size_t blocks, phx_report *report) {
    if (first <= blocks && count <= blocks - first) return PHX_OK;
    return phx_reject(report, PHX_ERROR_COUNT, "%s: blocks [%zu, %zu + %zu) are not within the %zu there are", name, first, first, count, blocks);
}

static int is_limited(uint32_t joints, const phx_limit *limits) {
    for (uint32_t j = 0; limits && j < joints; ++j)
        if (limits[j].type != PHX_LIMIT_NONE) return 1;
    return 0;
}

/* Chains with limits: four rounds with the limits in them, then sweeps. Rounds know no weights of joints. */
static void prepare_limited(const phx_fabrik_params *params, uint32_t joints, const phx_limit *limits, const float *joint_weights,
                            phx_ccd_setup *setup) {
    phx_ccd_params sweeps = phx_ccd_params_default();
    sweeps.chain = params->chain;
    sweeps.chain.twist = PHX_TWIST_INHERIT;
    phx_ccd_prepare(&sweeps, joints, limits, joint_weights, setup);
    setup->rounds = 4;
    for (uint32_t j = 0; j + 1 < joints; ++j)
        if (setup->weight[j] < 1.0f) setup->rounds = 0;
    setup->stats = params->stats;
}

phx_status phx_fabrik_solve_blocks(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_blocks *blocks, size_t first,
                                   size_t count, phx_report *report) {
    static const char name[] = "fabrik blocks";
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "%s: 'backend' is NULL", name);
    phx_status status = check(name, params, report);
    if (!status) status = phx_chain_check_blocks(name, blocks, report);
    if (!status) status = check_range(name, first, count, blocks->count, report);
    if (status) return status;
    if (count == 0) return phx_accept(report);
    if (is_limited(blocks->joints, blocks->limits)) {
        phx_ccd_setup sweeps;
        prepare_limited(params, blocks->joints, blocks->limits, blocks->joint_weights, &sweeps);
        backend->ccd_blocks(&sweeps, blocks, first, count);
        return phx_accept(report);
    }
    phx_fabrik_setup setup;
    phx_chain_prepare(&params->chain, blocks->joints, NULL, NULL, &setup.chain);
    setup.stats = params->stats;
    backend->fabrik_blocks(&setup, blocks, first, count);
    return phx_accept(report);
}

phx_status phx_fabrik_validate(const phx_fabrik_params *params, const phx_chain_job *job, phx_report *report) {
    static const char name[] = "fabrik job";
    phx_status status = check(name, params, report);
    if (!status) status = phx_chain_check_job(name, job, 2, report);
    return status ? status : phx_accept(report);
}

phx_status phx_fabrik_solve_range(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_job *job, size_t first,
                                  size_t count, phx_report *report) {
    static const char name[] = "fabrik job";
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "%s: 'backend' is NULL", name);
    phx_status status = check(name, params, report);
    if (!status) status = phx_chain_check_job(name, job, 2, report);
    if (!status) status = check_range(name, first, count, phx_chain_job_block_count(job), report);
    if (status) return status;
    if (count == 0) return phx_accept(report);
    const size_t begin = first * PHX_BLOCK_LANES, end = (first + count) * PHX_BLOCK_LANES;
    const size_t chains = (end < job->count ? end : job->count) - begin;
    if (is_limited(job->joints, job->limits)) {
        phx_ccd_setup sweeps;
        prepare_limited(params, job->joints, job->limits, job->joint_weights, &sweeps);
        backend->ccd_job(&sweeps, job, begin, chains);
        return phx_accept(report);
    }
    phx_fabrik_setup setup;
    phx_chain_prepare(&params->chain, job->joints, NULL, NULL, &setup.chain);
    setup.stats = params->stats;
    backend->fabrik_job(&setup, job, begin, chains);
    return phx_accept(report);
}

phx_status phx_fabrik_solve(const phx_backend *backend, const phx_fabrik_params *params, const phx_chain_job *job, phx_report *report) {
    return phx_fabrik_solve_range(backend, params, job, 0, phx_chain_job_block_count(job), report);
}
