/* Two-bone solver, public face: defaults, validation, slicing into ranges. The work is in kernel/two_bone.inl. */
#include "../backend/ops.h"
#include "../reference/scalar.h"
#include "report.h"

static const float pi = 3.14159274101257f; /* the float nearest to pi */

phx_two_bone_params phx_two_bone_params_default(void) {
    phx_two_bone_params params;
    params.twist = PHX_TWIST_PLANE;
    params.tolerance = 1e-4f;
    params.direction_tolerance = 1e-4f;
    params.soft_start = 1.0f;
    params.max_stretch = 1.0f;
    params.min_bend = 0.0f, params.max_bend = pi;
    params.max_bend_turn = pi;
    return params;
}

phx_two_bone_job phx_two_bone_job_default(void) {
    phx_two_bone_job job;
    memset(&job, 0, sizeof job);
    job.params = phx_two_bone_params_default();
    return job;
}

void phx_two_bone_extra_default(phx_two_bone_extra *extra) {
    if (!extra) return;
    memset(extra, 0, sizeof *extra);
    for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane)
        extra->weight.v[lane] = extra->pole_weight.v[lane] = extra->tip_from.w[lane] = extra->stretch.v[lane] = 1.0f;
}

static phx_status check_params(const char *job, const phx_two_bone_params *params, phx_report *report) {
    phx_status status = PHX_OK;
    if (params->twist != PHX_TWIST_PLANE && params->twist != PHX_TWIST_INHERIT)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'twist' is %d, neither PHX_TWIST_PLANE nor PHX_TWIST_INHERIT", job,
                          (int)params->twist);
    if (!status) status = phx_check_range(job, "tolerance", params->tolerance, 1e-30f, 1.0f, report);
    if (!status) status = phx_check_range(job, "direction_tolerance", params->direction_tolerance, 1e-6f, 0.5f, report);
    if (!status) status = phx_check_range(job, "soft_start", params->soft_start, 1e-3f, 1.0f, report);
    if (!status) status = phx_check_range(job, "max_stretch", params->max_stretch, 1.0f, 16.0f, report);
    if (!status) status = phx_check_range(job, "max_bend", params->max_bend, 0.0f, pi, report);
    if (!status) status = phx_check_range(job, "min_bend", params->min_bend, 0.0f, pi, report);
    if (!status && params->min_bend > params->max_bend)
        status = phx_reject(report, PHX_ERROR_VALUE, "%s: 'min_bend' is %g, above 'max_bend', which is %g", job, (double)params->min_bend, (double)params->max_bend);
    if (!status) status = phx_check_range(job, "max_bend_turn", params->max_bend_turn, 0.0f, pi, report);
    return status;
}

static phx_two_bone_setup prepare(const phx_two_bone_params *params) {
    phx_two_bone_setup setup;
    setup.twist = params->twist;
    setup.tolerance = params->tolerance;
    setup.direction_tolerance_squared = params->direction_tolerance * params->direction_tolerance;
    setup.soft_start = params->soft_start;
    setup.max_stretch = params->max_stretch;
    setup.soft = params->soft_start < 1.0f;
    setup.stretch = params->max_stretch > 1.0f;
    setup.limits = params->min_bend > 0.0f || params->max_bend < pi;
    setup.turn_limit = params->max_bend_turn < pi;
    /* trigonometry only for what is on: some 8 ns of every call, an eighth of a block of legs in 16 lanes */
    setup.short_at_min_bend = setup.open_at_max_bend = setup.sin_turn = setup.cos_turn = 0.0f;
    if (setup.limits) bend_limits1(params->min_bend, params->max_bend, &setup.short_at_min_bend, &setup.open_at_max_bend);
    if (setup.turn_limit) sincos1(params->max_bend_turn, &setup.sin_turn, &setup.cos_turn);
    return setup;
}

phx_status phx_two_bone_solve_blocks(const phx_backend *backend, const phx_two_bone_params *params, phx_two_bone_block *blocks,
                                     phx_two_bone_extra *extras, size_t block_count, phx_report *report) {
    static const char name[] = "two_bone blocks";
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "%s: 'backend' is NULL", name);
    if (!params) return phx_reject(report, PHX_ERROR_NULL, "%s: 'params' is NULL", name);
    if (!blocks && block_count) return phx_reject(report, PHX_ERROR_NULL, "%s: 'blocks' is NULL", name);
    if ((uintptr_t)blocks % 64) return phx_reject(report, PHX_ERROR_ALIGN, "%s: 'blocks' is not at a multiple of 64 bytes", name);
    if ((uintptr_t)extras % 64) return phx_reject(report, PHX_ERROR_ALIGN, "%s: 'extras' is not at a multiple of 64 bytes", name);
    if (block_count > PHX_MOST_BYTES / (sizeof *blocks + sizeof *extras))
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'block_count' is %zu, more than memory can hold", name, block_count);
    const phx_status status = check_params(name, params, report);
    if (status) return status;
    const phx_two_bone_setup setup = prepare(params);
    backend->two_bone_blocks(&setup, blocks, extras, block_count);
    return phx_accept(report);
}

/* `thorough` looks for overlaps too, which costs as much as a block or two of legs. */
static phx_status validate(const phx_two_bone_job *job, int thorough, phx_report *report) {
    static const char name[] = "two_bone job";
    if (!job) return phx_reject(report, PHX_ERROR_NULL, "%s: the job is NULL", name);
    const phx_status status = check_params(name, &job->params, report);
    if (status) return status;
    if (job->count > SIZE_MAX / 2 - PHX_BLOCK_LANES)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %zu, more than memory can hold", name, job->count);
    if (job->count == 0) return phx_accept(report);
    /* an output, or a wanted rotation, needs the locals from the root down to its joint */
    const struct {
        const char *name;
        const phx_view *view;
        int locals;
    } asking[] = {{"target_rotation", &job->target_rotation, 3}, {"tip_local_out", &job->tip_local_out, 3}, {"mid_local_out", &job->mid_local_out, 2}, {"root_local_out", &job->root_local_out, 1}};
    static const char *const local_names[] = {"root_local", "mid_local", "tip_local"};
    const phx_view *const locals[] = {&job->root_local, &job->mid_local, &job->tip_local};
    for (int a = 0; a < 4; ++a)
        for (int k = 0; asking[a].view->data && k < asking[a].locals; ++k)
            if (!locals[k]->data) return phx_reject(report, PHX_ERROR_NULL, "%s: '%s' is required by '%s', but NULL", name, local_names[k], asking[a].name);
    const phx_field fields[] = {
        {"root", &job->root, 12, 1, 0},
        {"mid", &job->mid, 12, 1, 0},
        {"tip", &job->tip, 12, 1, 0},
        {"target", &job->target, 12, 1, 0},
        {"pole", &job->pole, 12, 0, 0},
        {"rest_bend", &job->rest_bend, 12, 0, 0},
        {"weight", &job->weight, 4, 0, 0},
        {"pole_weight", &job->pole_weight, 4, 0, 0},
        {"parent_rotation", &job->parent_rotation, 16, 0, 0},
        {"root_local", &job->root_local, 16, 0, 0},
        {"mid_local", &job->mid_local, 16, 0, 0},
        {"tip_local", &job->tip_local, 16, 0, 0},
        {"target_rotation", &job->target_rotation, 16, 0, 0},
        {"bend", &job->bend, 12, 0, 1},
        {"root_rotation", &job->root_rotation, 16, 0, 1},
        {"mid_rotation", &job->mid_rotation, 16, 0, 1},
        {"tip_rotation", &job->tip_rotation, 16, 0, 1},
        {"root_local_out", &job->root_local_out, 16, 0, 1},
        {"mid_local_out", &job->mid_local_out, 16, 0, 1},
        {"tip_local_out", &job->tip_local_out, 16, 0, 1},
        {"mid_position", &job->mid_position, 12, 0, 1},
        {"tip_position", &job->tip_position, 12, 0, 1},
        {"stretch", &job->stretch, 4, 0, 1},
        {"result", &job->result, sizeof(phx_result), 0, 1},
    };
    phx_status checked = phx_check_fields(name, fields, sizeof fields / sizeof *fields, job->count, report);
    if (!checked && thorough) checked = phx_check_overlap(name, fields, sizeof fields / sizeof *fields, job->count, report);
    return checked ? checked : phx_accept(report);
}

phx_status phx_two_bone_validate(const phx_two_bone_job *job, phx_report *report) { return validate(job, 1, report); }

size_t phx_two_bone_block_count(const phx_two_bone_job *job) {
    return job ? job->count / PHX_BLOCK_LANES + (job->count % PHX_BLOCK_LANES != 0) : 0;
}

static phx_status solve_range(const phx_backend *backend, const phx_two_bone_job *job, size_t first, size_t count, int thorough) {
    if (!backend) return PHX_ERROR_NULL;
    const phx_status status = validate(job, thorough, NULL);
    if (status) return status;
    const size_t blocks = phx_two_bone_block_count(job);
    if (first > blocks || count > blocks - first) return PHX_ERROR_COUNT;
    if (count == 0) return PHX_OK;
    const phx_two_bone_setup setup = prepare(&job->params);
    const size_t begin = first * PHX_BLOCK_LANES, end = (first + count) * PHX_BLOCK_LANES;
    backend->two_bone_job(&setup, job, begin, (end < job->count ? end : job->count) - begin);
    return PHX_OK;
}

phx_status phx_two_bone_solve(const phx_backend *backend, const phx_two_bone_job *job) {
    return solve_range(backend, job, 0, phx_two_bone_block_count(job), 1);
}

phx_status phx_two_bone_solve_range(const phx_backend *backend, const phx_two_bone_job *job, size_t first, size_t count) {
    return solve_range(backend, job, first, count, 0);
}
