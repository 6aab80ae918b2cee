/* Status and flag names, reports, and the checks that all jobs share. */
#include "report.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *phx_status_name(phx_status status) {
    switch (status) {
    case PHX_OK: return "ok";
    case PHX_ERROR_NULL: return "missing pointer";
    case PHX_ERROR_STRIDE: return "stride too small";
    case PHX_ERROR_COUNT: return "count out of range";
    case PHX_ERROR_VALUE: return "value out of range";
    case PHX_ERROR_ALIGN: return "misaligned blocks";
    case PHX_ERROR_OVERLAP: return "overlapping outputs";
    case PHX_ERROR_HIERARCHY: return "wrong hierarchy";
    case PHX_ERROR_MEMORY: return "out of memory";
    case PHX_ERROR_STATE: return "call out of order";
    }
    return "unknown status";
}

const char *phx_flag_name(phx_flag flag) {
    switch (flag) {
    case PHX_FLAG_REACHED: return "reached";
    case PHX_FLAG_OUT_OF_REACH: return "out_of_reach";
    case PHX_FLAG_TOO_CLOSE: return "too_close";
    case PHX_FLAG_HINT_UNUSABLE: return "hint_unusable";
    case PHX_FLAG_LIMIT: return "limit";
    case PHX_FLAG_STALLED: return "stalled";
    case PHX_FLAG_BAD_INPUT: return "bad_input";
    case PHX_FLAG_ZERO_LENGTH: return "zero_length";
    case PHX_FLAG_SOFTENED: return "softened";
    case PHX_FLAG_STRETCHED: return "stretched";
    case PHX_FLAG_BEND_HELD: return "bend_held";
    case PHX_FLAG_OVERHANGS: return "overhangs";
    case PHX_FLAG_INACTIVE: return "inactive";
    }
    return NULL;
}

phx_status phx_accept(phx_report *report) {
    if (report) memset(report, 0, sizeof *report);
    return PHX_OK;
}

phx_status(phx_reject)(phx_report *report, phx_status status, const char *format, ...) {
    if (report) {
        va_list arguments;
        va_start(arguments, format);
        report->status = status;
        vsnprintf(report->text, sizeof report->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

phx_status phx_check_extent(const char *job, const char *name, const char *what, size_t stride, size_t count, size_t size, phx_report *report) {
    const size_t steps = count > 1 ? count - 1 : 1, small = (size_t)1 << (sizeof(size_t) > 4 ? 27 : 15);
    if (stride <= small && steps <= small && size <= small) return PHX_OK; /* all but always, and without a division */
    const size_t most = (PHX_MOST_BYTES - size) / steps;
    if (stride <= most) return PHX_OK;
    return phx_reject(report, PHX_ERROR_STRIDE, "%s: '%s' has %s %zu, more than memory can hold: at most %zu here", job, name, what, stride, most);
}

phx_status phx_check_fields(const char *job, const phx_field *fields, size_t count, size_t elements, phx_report *report) {
    for (size_t i = 0; i < count; ++i) {
        const phx_field *field = fields + i;
        if (!field->view->data) {
            if (field->required)
                return phx_reject(report, PHX_ERROR_NULL, "%s: '%s' is required but NULL: give its first element and stride", job, field->name);
            continue;
        }
        if (field->view->stride == 0 && !field->output) continue;
        if (field->view->stride < field->size)
            return phx_reject(report, PHX_ERROR_STRIDE, "%s: '%s' has stride %zu, less than %zu", job, field->name, field->view->stride, field->size);
        if (phx_check_extent(job, field->name, "stride", field->view->stride, elements, field->size, report)) return PHX_ERROR_STRIDE;
    }
    return PHX_OK;
}

/* What collide asks, of views of different strides: element by element, where their ranges meet at all. */
static int walk_and_collide(const phx_field *output, const phx_field *other, size_t elements) {
    const uintptr_t b = (uintptr_t)other->view->data;
    const size_t step = other->view->stride;
    const uintptr_t end = b + (elements - 1) * step + other->size;
    for (size_t i = 0; i < elements; ++i) {
        const uintptr_t a = (uintptr_t)output->view->data + i * output->view->stride;
        if (a >= end) return 0;
        if (a + output->size <= b) continue;
        size_t k = a < b + other->size ? 0 : (size_t)(a - b - other->size) / step + 1; /* the first that ends after a */
        for (; k < elements && b + k * step < a + output->size; ++k)
            if (k != i || other->output) return 1;
    }
    return 0;
}

/* Do elements of `output` share bytes with elements of `other`, where that is not allowed? */
static int collide(const phx_field *output, const phx_field *other, size_t elements) {
    const uintptr_t a = (uintptr_t)output->view->data, b = (uintptr_t)other->view->data;
    const size_t stride = output->view->stride, reach = (elements - 1) * stride;
    const size_t other_reach = (elements - 1) * other->view->stride;
    if (a + reach + output->size <= b || b + other_reach + other->size <= a) return 0;
    if (elements == 1) return other->output;
    if (other->view->stride != stride && other->view->stride != 0) return walk_and_collide(output, other, elements);
    const size_t apart = (size_t)(a < b ? b - a : a - b);
    const size_t offset = apart % stride, first = a < b ? output->size : other->size, second = a < b ? other->size : output->size;
    const int same_bytes = offset < first, next_bytes = offset + second > stride;
    if (other->view->stride == 0) return same_bytes || next_bytes;
    if (apart < stride) return (same_bytes && other->output) || next_bytes;
    return same_bytes || next_bytes;
}

phx_status phx_check_overlap(const char *job, const phx_field *fields, size_t count, size_t elements, phx_report *report) {
    for (size_t i = 0; elements > 0 && i < count; ++i) {
        if (!fields[i].output || !fields[i].view->data) continue;
        for (size_t k = 0; k < count; ++k) {
            if (k == i || !fields[k].view->data || (fields[k].output && k < i) || !collide(fields + i, fields + k, elements)) continue;
            return phx_reject(report, PHX_ERROR_OVERLAP, "%s: '%s' overlaps '%s' of %s", job, fields[i].name, fields[k].name,
                              fields[k].output ? "the same or another element" : "another element");
        }
    }
    return PHX_OK;
}

/* Joint j lies j joint strides on, and so among the chains near that place. */
int phx_overlaps_itself(size_t chain_stride, size_t joint_stride, size_t size, size_t count, uint32_t joints) {
    if (count < 2 || chain_stride >= (joints - 1) * joint_stride + size) return 0;
    if (chain_stride == 0) return 1;
    for (uint32_t j = 1; j < joints; ++j) {
        const size_t chains = j * joint_stride / chain_stride, apart = j * joint_stride % chain_stride;
        if ((apart < size && chains < count) || (chain_stride - apart < size && chains + 1 < count)) return 1;
    }
    return 0;
}

phx_status phx_check_range(const char *job, const char *name, float value, float low, float high, phx_report *report) {
    if (low <= value && value <= high) return PHX_OK;
    return phx_reject(report, PHX_ERROR_VALUE, "%s: '%s' is %.9g, outside [%g, %g]%s", job, name, (double)value, (double)low, (double)high,
                      value == 0.0f ? ": if the whole struct is zero, start from its ..._default()" : "");
}
