/* Aim, public face: defaults, validation, slicing into ranges. The work is in kernel/aim.inl. */
#include "../reference/scalar.h"
#include "chain.h"
#include "report.h"
#include <stdio.h>

static const float pi = 3.14159274101257f; /* the float nearest to pi */

phx_aim_params phx_aim_params_default(void) {
    phx_aim_params params;
    params.forward = vec3(0.0f, 0.0f, 1.0f), params.up = vec3(0.0f, 1.0f, 0.0f), params.eye = vec3(0.0f, 0.0f, 0.0f);
    params.max_angle = pi;
    params.tolerance = 1e-3f;
    params.direction_tolerance = 1e-4f;
    return params;
}

static int usable(phx_vec3 a) { return 1e-24f < dot3(a, a) && dot3(a, a) < 1e24f; }

static phx_status check(const phx_aim_params *params, const phx_chain_job *job, phx_report *report) {
    static const char name[] = "aim job";
    if (!params) return phx_reject(report, PHX_ERROR_NULL, "%s: 'params' is NULL", name);
    if (!job) return phx_reject(report, PHX_ERROR_NULL, "%s: the job is NULL", name);
    if (!usable(params->forward)) return phx_reject(report, PHX_ERROR_VALUE, "%s: 'forward' has no length", name);
    const phx_vec3 across = cross3(params->forward, params->up);
    if (!usable(params->up) || !(dot3(across, across) > 1e-6f * dot3(params->forward, params->forward) * dot3(params->up, params->up)))
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'up' has no length, or lies along 'forward'", name);
    if (!(dot3(params->eye, params->eye) < 1e18f)) return phx_reject(report, PHX_ERROR_VALUE, "%s: 'eye' is not finite, or too far", name);
    phx_status status = phx_check_range(name, "max_angle", params->max_angle, 0.0f, pi, report);
    if (!status) status = phx_check_range(name, "tolerance", params->tolerance, 0.0f, 1.0f, report);
    if (!status) status = phx_check_range(name, "direction_tolerance", params->direction_tolerance, 1e-6f, 0.5f, report);
    if (status) return status;
    const struct {
        const char *name;
        const void *data;
    } foreign[] = {
        {"start", job->start.data}, {"length", job->length.data}, {"target_rotation", job->target_rotation.data},
        {"rest_bend", job->rest_bend.data}, {"budget", job->budget.data}, {"bend", job->bend.data}, {"stretch", job->stretch.data},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; ++i)
        if (foreign[i].data) return phx_reject(report, PHX_ERROR_VALUE, "%s: '%s' is given, and means nothing here", name, foreign[i].name);
    status = phx_chain_check_job(name, job, 1, report);
    if (status) return status;
    if (job->joint_weights) {
        const float last = job->joint_weights[job->joints - 1];
        char field[32];
        snprintf(field, sizeof field, "joint_weights[%u]", (unsigned)job->joints - 1u);
        status = phx_check_range(name, field, last, 0.0f, 1.0f, report);
        if (status) return status;
    }
    if (job->count && !job->rotation.data && !job->local.data)
        return phx_reject(report, PHX_ERROR_NULL, "%s: 'rotation' or 'local' is required, but both are NULL", name);
    return PHX_OK;
}

phx_status phx_aim_validate(const phx_aim_params *params, const phx_chain_job *job, phx_report *report) {
    const phx_status status = check(params, job, report);
    return status ? status : phx_accept(report);
}

static void prepare(const phx_aim_params *params, const phx_chain_job *job, phx_aim_setup *setup) {
    phx_chain_params chain = phx_chain_params_default();
    chain.tolerance = params->tolerance;
    chain.direction_tolerance = params->direction_tolerance;
    phx_chain_prepare(&chain, job->joints, job->limits, NULL, &setup->chain);
    setup->forward = scale3(params->forward, 1.0f / length3(params->forward));
    setup->up = reject3(scale3(params->up, 1.0f / length3(params->up)), setup->forward);
    setup->up = scale3(setup->up, 1.0f / length3(setup->up));
    setup->eye = params->eye;
    setup->capped = params->max_angle < pi;
    sincos1(params->max_angle, &setup->cap_sin, &setup->cap_cos);
    float half_sin, half_cos;
    sincos1(0.5f * params->max_angle, &half_sin, &half_cos);
    const float chord = 2.0f * half_sin + 2.5e-7f;
    setup->cap_chord_squared = chord * chord;
    float sum = 0.0f; /* of this joint and all after it */
    for (uint32_t j = job->joints; j-- > 0;) {
        const float weight = job->joint_weights ? job->joint_weights[j] : 1.0f;
        sum = sum + weight;
        setup->share[j] = sum > 0.0f ? min1(weight / sum, 1.0f) : 0.0f;
    }
}

phx_status phx_aim_solve_range(const phx_backend *backend, const phx_aim_params *params, const phx_chain_job *job, size_t first, size_t count,
                               phx_report *report) {
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "aim job: 'backend' is NULL");
    const phx_status status = check(params, job, report);
    if (status) return status;
    const size_t blocks = phx_chain_job_block_count(job);
    if (first > blocks || count > blocks - first)
        return phx_reject(report, PHX_ERROR_COUNT, "aim job: blocks [%zu, %zu + %zu) are not within the %zu there are", first, first, count, blocks);
    if (count == 0) return phx_accept(report);
    phx_aim_setup setup;
    prepare(params, job, &setup);
    const size_t begin = first * PHX_BLOCK_LANES, end = (first + count) * PHX_BLOCK_LANES;
    backend->aim_job(&setup, job, begin, (end < job->count ? end : job->count) - begin);
    return phx_accept(report);
}

phx_status phx_aim_solve(const phx_backend *backend, const phx_aim_params *params, const phx_chain_job *job, phx_report *report) {
    return phx_aim_solve_range(backend, params, job, 0, phx_chain_job_block_count(job), report);
}
