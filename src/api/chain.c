/* Long chains, public face of what FABRIK and CCD share: defaults, checks, prepared constants. */
#include "chain.h"
#include "../reference/scalar.h"
#include "limit.h"
#include "report.h"
#include <stdio.h>

phx_chain_params phx_chain_params_default(void) {
    phx_chain_params params;
    params.tolerance = 1e-3f;
    params.direction_tolerance = 1e-4f;
    params.max_iterations = 16;
    params.soft_start = 1.0f;
    params.max_stretch = 1.0f;
    params.twist = PHX_TWIST_INHERIT;
    return params;
}

phx_chain_job phx_chain_job_default(void) {
    phx_chain_job job;
    memset(&job, 0, sizeof job);
    return job;
}

size_t phx_chain_job_block_count(const phx_chain_job *job) {
    return job ? job->count / PHX_BLOCK_LANES + (job->count % PHX_BLOCK_LANES != 0) : 0;
}

phx_status phx_chain_check_ranges(const char *name, const phx_chain_params *params, phx_report *report) {
    if (params->twist != PHX_TWIST_PLANE && params->twist != PHX_TWIST_INHERIT)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'twist' is %d, neither PHX_TWIST_PLANE nor PHX_TWIST_INHERIT", name, (int)params->twist);
    phx_status status = phx_check_range(name, "max_iterations", (float)params->max_iterations, 1.0f, 1024.0f, report);
    if (!status) status = phx_check_range(name, "tolerance", params->tolerance, 0.0f, 1.0f, report);
    if (!status) status = phx_check_range(name, "direction_tolerance", params->direction_tolerance, 1e-6f, 0.5f, report);
    if (!status) status = phx_check_range(name, "soft_start", params->soft_start, 1e-3f, 1.0f, report);
    if (!status) status = phx_check_range(name, "max_stretch", params->max_stretch, 1.0f, 16.0f, report);
    return status;
}

static phx_status check_tables(const char *name, uint32_t least_joints, uint32_t joints, const phx_limit *limits, const float *joint_weights,
                               phx_report *report) {
    if (joints < least_joints || joints > PHX_CHAIN_MAX_JOINTS)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'joints' is %u, outside [%u, %d]", name, (unsigned)joints, (unsigned)least_joints,
                          PHX_CHAIN_MAX_JOINTS);
    for (uint32_t j = 0; limits && j < joints; ++j) {
        char where[80];
        snprintf(where, sizeof where, "%s: 'limits[%u]'", name, (unsigned)j);
        const phx_status status = phx_limit_check(where, limits + j, report);
        if (status) return status;
    }
    for (uint32_t j = 0; joint_weights && j + 1 < joints; ++j) {
        char field[32];
        snprintf(field, sizeof field, "joint_weights[%u]", (unsigned)j);
        const phx_status status = phx_check_range(name, field, joint_weights[j], 0.0f, 1.0f, report);
        if (status) return status;
    }
    return PHX_OK;
}

phx_status phx_chain_check_blocks(const char *name, const phx_chain_blocks *blocks, phx_report *report) {
    if (!blocks) return phx_reject(report, PHX_ERROR_NULL, "%s: 'blocks' is NULL", name);
    const phx_status status = check_tables(name, 2, blocks->joints, blocks->limits, blocks->joint_weights, report);
    if (status) return status;
    if (blocks->count > SIZE_MAX / 2 / sizeof(phx_rows4) / PHX_CHAIN_MAX_JOINTS)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %zu, more than memory can hold", name, blocks->count);
    if (blocks->count == 0) return PHX_OK;
    const struct {
        const char *name;
        const void *rows;
        int required;
    } fields[] = {
        {"position", blocks->position, 1},
        {"solved", blocks->solved, 0},
        {"start", blocks->start, 0},
        {"rotation", blocks->rotation, blocks->limits || blocks->target_rotation},
        {"correction", blocks->correction, 0},
        {"length", blocks->length, 0},
        {"target", blocks->target, 1},
        {"target_rotation", blocks->target_rotation, 0},
        {"pole", blocks->pole, 0},
        {"rest_bend", blocks->rest_bend, 0},
        {"parent_rotation", blocks->parent_rotation, 0},
        {"weight", blocks->weight, 0},
        {"budget", blocks->budget, 0},
        {"bend", blocks->bend, 0},
        {"stretch", blocks->stretch, 0},
        {"residual", blocks->residual, 0},
        {"iterations", blocks->iterations, 0},
        {"flags", blocks->flags, 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
        if (!fields[i].rows && fields[i].required)
            return phx_reject(report, PHX_ERROR_NULL, "%s: '%s' is required but NULL: give rows of 16 chains", name, fields[i].name);
        if ((uintptr_t)fields[i].rows % 64)
            return phx_reject(report, PHX_ERROR_ALIGN, "%s: '%s' is not at a multiple of 64 bytes", name, fields[i].name);
    }
    return PHX_OK;
}

static phx_status check_joint_view(const char *name, const char *field, const phx_joint_view *view, size_t size, int required, int output,
                                   size_t count, uint32_t joints, phx_report *report) {
    if (!view->data) return required ? phx_reject(report, PHX_ERROR_NULL, "%s: '%s' is required but NULL: give its first element and strides", name, field) : PHX_OK;
    if (joints > 1 && view->joint_stride < size)
        return phx_reject(report, PHX_ERROR_STRIDE, "%s: '%s' has joint stride %zu, less than %zu", name, field, view->joint_stride, size);
    if (view->chain_stride < size && count > 1 && (output || view->chain_stride != 0))
        return phx_reject(report, PHX_ERROR_STRIDE, "%s: '%s' has chain stride %zu, less than %zu", name, field, view->chain_stride, size);
    size_t reach = size; /* of one chain; strides of what there is one of are nobody's */
    if (joints > 1) {
        if (phx_check_extent(name, field, "joint stride", view->joint_stride, joints, size, report)) return PHX_ERROR_STRIDE;
        reach += (joints - 1) * view->joint_stride;
    }
    if (count > 1 && phx_check_extent(name, field, "chain stride", view->chain_stride, count, reach, report)) return PHX_ERROR_STRIDE;
    if (output && phx_overlaps_itself(view->chain_stride, view->joint_stride, size, count, joints))
        return phx_reject(report, PHX_ERROR_OVERLAP, "%s: '%s' has chain stride %zu and joint stride %zu, by which its own elements overlap", name, field,
                          view->chain_stride, view->joint_stride);
    return PHX_OK;
}

typedef struct joint_field {
    const char *name;
    const phx_joint_view *view;
    size_t size;
    int required, output;
} joint_field;

/* [0, a_size) and [at, at + b_size) on a ring */
static int apart_on_ring(size_t a_size, size_t at, size_t b_size, size_t ring) { return a_size <= at && at + b_size <= ring; }

/* Do joints of an output share bytes with those of another view, their own ones excepted where that is an input? Views of different strides
 * are left alone. Arrays of structures and arrays side by side are told apart at once; all pairs are tried only where joints interlock. */
static int joints_collide(const joint_field *output, const joint_field *other, size_t count, uint32_t joints) {
    const phx_joint_view *a = output->view, *b = other->view;
    const size_t chain = a->chain_stride, joint = joints > 1 ? a->joint_stride : 0, a_block = (joints - 1) * joint + output->size, b_block = (joints - 1) * joint + other->size;
    const uintptr_t from = (uintptr_t)a->data, to = (uintptr_t)b->data;
    if (!a->data || !b->data || (joints > 1 && b->joint_stride != joint) || (count > 1 && b->chain_stride != chain)) return 0;
    const size_t rows = count > 1 ? (count - 1) * chain : 0;
    if (from + rows + a_block <= to || to + rows + b_block <= from) return 0;
    if (from == to) return other->output || output->size != other->size;
    const size_t ahead = from < to ? to - from : from - to; /* bytes from the first of the two views to the second */
    const size_t first = from < to ? output->size : other->size, second = from < to ? other->size : output->size;
    if (chain >= a_block && chain >= b_block && apart_on_ring((joints - 1) * joint + first, ahead % chain, (joints - 1) * joint + second, chain)) return 0;
    if (joints > 1 && (count == 1 || chain % joint == 0) && apart_on_ring(first, ahead % joint, second, joint)) return 0;
    for (uint32_t j = 0; j < joints; ++j) /* joint j of the first view, a joint of the second some chains before or after */
        for (uint32_t k = 0; k < joints; ++k) {
            const int64_t gap = (int64_t)(ahead + k * joint) - (int64_t)(j * joint), step = (int64_t)chain, most = (int64_t)count - 1;
            const int64_t below = count > 1 ? gap / step - (gap % step < 0) : 0;
            for (int64_t chains = below; chains <= below + (count > 1); ++chains) {
                const int64_t left = gap - chains * step;
                if (-most <= chains && chains <= most && left < (int64_t)first && -left < (int64_t)second) return 1;
            }
        }
    return 0;
}

phx_status phx_chain_check_job(const char *name, const phx_chain_job *job, uint32_t least_joints, phx_report *report) {
    if (!job) return phx_reject(report, PHX_ERROR_NULL, "%s: the job is NULL", name);
    phx_status status = check_tables(name, least_joints, job->joints, job->limits, job->joint_weights, report);
    if (status) return status;
    if (job->count > SIZE_MAX / 2 - PHX_BLOCK_LANES)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %zu, more than memory can hold", name, job->count);
    if (job->count == 0) return PHX_OK;
    if (job->rotation.data && job->local.data)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'rotation' and 'local' are both given; one says it all", name);
    const char *asks = job->limits ? "limits" : job->target_rotation.data ? "target_rotation" : job->rotation_out.data ? "rotation_out" : job->local_out.data ? "local_out" : NULL;
    if (asks && !job->rotation.data && !job->local.data)
        return phx_reject(report, PHX_ERROR_NULL, "%s: 'rotation' or 'local' is required by '%s', and both are NULL", name, asks);
    const joint_field joint_fields[] = {
        {"position", &job->position, 12, 1, 0},
        {"start", &job->start, 12, 0, 0},
        {"rotation", &job->rotation, 16, 0, 0},
        {"local", &job->local, 16, 0, 0},
        {"length", &job->length, 4, 0, 0},
        {"position_out", &job->position_out, 12, 0, 1},
        {"correction", &job->correction, 16, 0, 1},
        {"rotation_out", &job->rotation_out, 16, 0, 1},
        {"local_out", &job->local_out, 16, 0, 1},
    };
    const size_t joint_field_count = sizeof joint_fields / sizeof *joint_fields;
    for (size_t i = 0; i < joint_field_count; ++i) {
        status = check_joint_view(name, joint_fields[i].name, joint_fields[i].view, joint_fields[i].size, joint_fields[i].required,
                                  joint_fields[i].output, job->count, job->joints, report);
        if (status) return status;
    }
    for (size_t i = 0; i < joint_field_count; ++i)
        for (size_t k = 0; joint_fields[i].output && k < joint_field_count; ++k)
            if (k != i && joints_collide(joint_fields + i, joint_fields + k, job->count, job->joints))
                return phx_reject(report, PHX_ERROR_OVERLAP, "%s: '%s' overlaps '%s' of %s", name, joint_fields[i].name, joint_fields[k].name,
                                  joint_fields[k].output ? "the same or another joint" : "another joint");
    const phx_field fields[] = {
        {"target", &job->target, 12, 1, 0},
        {"target_rotation", &job->target_rotation, 16, 0, 0},
        {"pole", &job->pole, 12, 0, 0},
        {"rest_bend", &job->rest_bend, 12, 0, 0},
        {"parent_rotation", &job->parent_rotation, 16, 0, 0},
        {"weight", &job->weight, 4, 0, 0},
        {"budget", &job->budget, 4, 0, 0},
        {"bend", &job->bend, 12, 0, 1},
        {"stretch", &job->stretch, 4, 0, 1},
        {"result", &job->result, sizeof(phx_result), 0, 1},
    };
    status = phx_check_fields(name, fields, sizeof fields / sizeof *fields, job->count, report);
    return status ? status : phx_check_overlap(name, fields, sizeof fields / sizeof *fields, job->count, report);
}

phx_status phx_chain_job_validate(const phx_chain_job *job, phx_report *report) {
    const phx_status status = phx_chain_check_job("chain job", job, 2, report);
    return status ? status : phx_accept(report);
}

void phx_chain_prepare(const phx_chain_params *params, uint32_t joints, const phx_limit *limits, const float *joint_weights,
                       phx_chain_setup *setup) {
    setup->tolerance = params->tolerance;
    setup->direction_tolerance_squared = params->direction_tolerance * params->direction_tolerance;
    setup->soft_start = params->soft_start;
    setup->max_stretch = params->max_stretch;
    setup->max_iterations = params->max_iterations;
    setup->twist = params->twist;
    setup->soft = params->soft_start < 1.0f;
    setup->stretch = params->max_stretch > 1.0f;
    setup->limited = 0;
    setup->joint_weights = joint_weights;
    for (uint32_t j = 0; limits && j < joints; ++j) {
        setup->limits[j] = phx_limit_prepare(limits + j);
        if (limits[j].type != PHX_LIMIT_NONE) setup->limited = 1;
    }
}
