/* Sentences about rejected arguments, and the checks that all jobs share. Called by the other files of src/api. */
#ifndef PHX_API_REPORT_H
#define PHX_API_REPORT_H
#include "phalanx/pose.h"

/* Fills the report (may be NULL) and returns the status. */
#if defined(__MINGW32__)
#include <stdio.h>
__attribute__((format(__MINGW_PRINTF_FORMAT, 3, 4)))
#elif defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
phx_status phx_reject(phx_report *report, phx_status status, const char *format, ...);
/* that it is the status is for analysers to see */
static inline phx_status phx_same(phx_status unused, phx_status status) {
    (void)unused;
    return status;
}
#define phx_reject(report, status, ...) phx_same((phx_reject)((report), (status), __VA_ARGS__), (status))

/* Clears the report and returns PHX_OK. */
phx_status phx_accept(phx_report *report);

/* One field of a job: its view, its name, the size of an element. */
typedef struct phx_field {
    const char *name;
    const phx_view *view;
    size_t size;
    int required, output;
} phx_field;

/* What any array may take: half of what 32 bits address; of 64 bits, the 56 that a program has of them. Sums of a few of these do not wrap. */
#define PHX_MOST_BYTES (SIZE_MAX >> (sizeof(size_t) > 4 ? 8 : 1))
/* `count` elements of `size` bytes, `stride` apart, are no more than that; `stride` is `what` of `name`. size <= PHX_MOST_BYTES */
phx_status phx_check_extent(const char *job, const char *name, const char *what, size_t stride, size_t count, size_t size, phx_report *report);

/* Required views are there, strides hold their element (0 allowed for inputs) and `elements` of them fit into memory. `job` names the struct
 * in the sentence. */
phx_status phx_check_fields(const char *job, const phx_field *fields, size_t count, size_t elements, phx_report *report);

/* No output shares bytes with another output, or with another element of an input. Takes time by the element only where the ranges of views of
 * different strides meet. */
phx_status phx_check_overlap(const char *job, const phx_field *fields, size_t count, size_t elements, phx_report *report);

/* Do elements of an array of `count` chains (or characters) of `joints` joints share bytes with each other? For strides that fit into memory. */
int phx_overlaps_itself(size_t chain_stride, size_t joint_stride, size_t size, size_t count, uint32_t joints);

/* low <= value <= high, which NaN fails */
phx_status phx_check_range(const char *job, const char *name, float value, float low, float high, phx_report *report);

/* Strides, offsets and alignment of a pose array of `count` characters of `joints` joints; `scaled`: scales are read too. */
phx_status phx_check_poses(const char *job, const phx_poses *poses, int scaled, size_t count, uint32_t joints, phx_report *report);
/* no two joints of `count` characters share bytes; for poses that passed the check above */
phx_status phx_check_poses_apart(const char *job, const phx_poses *poses, int scaled, size_t count, uint32_t joints, phx_report *report);
#endif
