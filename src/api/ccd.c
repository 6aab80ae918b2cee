/* CCD, public face: defaults, validation, slicing into ranges. The work is in kernel/ccd.inl. */
#include "../backend/ops.h"
#include "../reference/scalar.h"
#include "ccd.h"
#include "chain.h"
#include "report.h"

static const float pi = 3.14159274101257f; /* the float nearest to pi */

phx_ccd_params phx_ccd_params_default(void) {
    phx_ccd_params params;
    params.chain = phx_chain_params_default();
    params.mode = PHX_CCD_SHARE;
    params.from = 0;
    params.damping = 1.0f;
    params.max_turn = pi;
    params.restarts = 3;
    return params;
}

/* `from` is checked against the joints of the chains, which are valid by then, as are the pointers */
static phx_status check_params(const char *name, const phx_ccd_params *params, uint32_t joints, phx_report *report) {
    if (params->chain.twist != PHX_TWIST_INHERIT)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'twist' is %d, and CCD knows PHX_TWIST_INHERIT alone", name,
                          (int)params->chain.twist);
    if (params->mode != PHX_CCD_SHARE && params->mode != PHX_CCD_PLAIN)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'mode' is %d, neither PHX_CCD_SHARE nor PHX_CCD_PLAIN", name,
                          (int)params->mode);
    if (params->from + 2u > joints || params->from > PHX_CHAIN_MAX_JOINTS)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'from' is %u, and the last joint that turns is %u", name, (unsigned)params->from,
                          (unsigned)joints - 2u);
    if (params->restarts > 8)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'restarts' is %u, outside [0, 8]", name, (unsigned)params->restarts);
    phx_status status = phx_check_range(name, "damping", params->damping, 1e-3f, 1.0f, report);
    if (!status) status = phx_check_range(name, "max_turn", params->max_turn, 1e-4f, pi, report);
    return status;
}

void phx_ccd_prepare(const phx_ccd_params *params, uint32_t joints, const phx_limit *limits, const float *joint_weights,
                     phx_ccd_setup *setup) {
    phx_chain_prepare(&params->chain, joints, limits, joint_weights, &setup->chain);
    setup->mode = params->mode;
    setup->from = params->from;
    setup->direction_tolerance = params->chain.direction_tolerance;
    setup->damping = params->damping;
    setup->capped = params->max_turn < pi;
    sincos1(0.5f * params->max_turn, &setup->cap_sin, &setup->cap_cos);
    setup->restarts = params->restarts;
    setup->rounds = 0;
    setup->stats = NULL;
    for (uint32_t j = 0; j + 1 < joints; ++j) setup->weight[j] = joint_weights ? joint_weights[j] : 1.0f;
    const phx_limit_type root = setup->chain.limited ? setup->chain.limits[params->from].type : PHX_LIMIT_NONE;
    setup->root_free = setup->weight[params->from] == 1.0f && root == PHX_LIMIT_NONE;
    /* Share steps alone never even bends out: beside hinges under a free root they fold neighbours into hairpins within some hundred frames,
     * where the distance step would open them; of long chains they take more sweeps. So there only where a small miss would turn the whole
     * chain far, near its root. */
    int hinged = 0;
    for (uint32_t j = params->from; setup->chain.limited && j + 1 < joints; ++j) hinged |= setup->chain.limits[j].type == PHX_LIMIT_HINGE;
    const int is_long = joints - params->from > 6;
    if (setup->root_free) setup->near = 0.1f, setup->near_reach = hinged ? 0.2f : is_long ? 0.3f : 0.9f;
    else setup->near = root == PHX_LIMIT_HINGE ? 0.1f : 0.05f, setup->near_reach = 1.0f;
    if (!setup->chain.limited) return;
    for (uint32_t j = 0; j < joints; ++j) {
        const phx_limit_setup *limit = &setup->chain.limits[j];
        setup->hinge_axis[j] = rotate3(limit->rest, limit->axis);
        const float middle = 0.5f * (limits[j].min + limits[j].max), width = limits[j].max - limits[j].min;
        setup->hinge_side[j] = fabsf(middle) <= 0.25f * width ? 0.0f : copysignf(1.0f, middle);
    }
}

phx_status phx_ccd_solve_blocks(const phx_backend *backend, const phx_ccd_params *params, const phx_chain_blocks *blocks,
                                phx_report *report) {
    static const char name[] = "ccd blocks";
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "%s: 'backend' is NULL", name);
    if (!params) return phx_reject(report, PHX_ERROR_NULL, "%s: 'params' is NULL", name);
    phx_status status = phx_chain_check_ranges(name, &params->chain, report);
    if (!status) status = phx_chain_check_blocks(name, blocks, report);
    if (!status) status = check_params(name, params, blocks->joints, report);
    if (status) return status;
    phx_ccd_setup setup;
    phx_ccd_prepare(params, blocks->joints, blocks->limits, blocks->joint_weights, &setup);
    if (blocks->count) backend->ccd_blocks(&setup, blocks, 0, blocks->count);
    return phx_accept(report);
}

phx_status phx_ccd_validate(const phx_ccd_params *params, const phx_chain_job *job, phx_report *report) {
    static const char name[] = "ccd job";
    if (!params) return phx_reject(report, PHX_ERROR_NULL, "%s: 'params' is NULL", name);
    phx_status status = phx_chain_check_ranges(name, &params->chain, report);
    if (!status) status = phx_chain_check_job(name, job, 2, report);
    if (!status) status = check_params(name, params, job->joints, report);
    return status ? status : phx_accept(report);
}

phx_status phx_ccd_solve_range(const phx_backend *backend, const phx_ccd_params *params, const phx_chain_job *job, size_t first,
                               size_t count, phx_report *report) {
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "ccd job: 'backend' is NULL");
    const phx_status status = phx_ccd_validate(params, job, report);
    if (status) return status;
    const size_t blocks = phx_chain_job_block_count(job);
    if (first > blocks || count > blocks - first)
        return phx_reject(report, PHX_ERROR_COUNT, "ccd job: blocks [%zu, %zu + %zu) are not within the %zu there are", first, first, count, blocks);
    if (count == 0) return PHX_OK;
    phx_ccd_setup setup;
    phx_ccd_prepare(params, job->joints, job->limits, job->joint_weights, &setup);
    const size_t begin = first * PHX_BLOCK_LANES, end = (first + count) * PHX_BLOCK_LANES;
    backend->ccd_job(&setup, job, begin, (end < job->count ? end : job->count) - begin);
    return PHX_OK;
}

phx_status phx_ccd_solve(const phx_backend *backend, const phx_ccd_params *params, const phx_chain_job *job, phx_report *report) {
    return phx_ccd_solve_range(backend, params, job, 0, phx_chain_job_block_count(job), report);
}
