/* Captures on their way to a file; see capture_file.h. */
#include "capture_file.h"

#include <stdlib.h>

bool capture_file_begin(capture_file *capture, const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count,
                        io_error *error) {
    capture_file_free(capture);
    if (first >= frame->count) return io_fail(error, "capture: there is no character %u, the crowd has %u", first, frame->count);
    if (count > frame->count - first) count = frame->count - first;
    capture->size = phx_capture_size(crowd, frame, first, count);
    capture->bytes = io_allocate(capture->size, 1);
    phx_report report;
    if (!phx_capture_begin(crowd, frame, first, count, capture->bytes, capture->size, &report)) return true;
    capture_file_free(capture);
    return io_fail(error, "%s", report.text);
}

void capture_file_tile(capture_file *capture, const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile) {
    phx_capture_tile(crowd, frame, tile, capture->bytes); /* a tile that fails is missed by phx_capture_end */
}

bool capture_file_finish(capture_file *capture, const phx_crowd *crowd, const phx_crowd_frame *frame, io_error *error) {
    phx_report report;
    return phx_capture_end(crowd, frame, capture->bytes, &report) == PHX_OK || io_fail(error, "%s", report.text);
}

bool capture_file_write(const capture_file *capture, const char *path, io_error *error) {
    return io_write_file(path, capture->bytes, capture->size, error);
}

void capture_file_free(capture_file *capture) {
    free(capture->bytes);
    capture->bytes = NULL;
}
