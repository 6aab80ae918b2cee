/* Writes what one frame of a crowd consumes and returns to a file, for `phalanx replay`. Used by `phalanx feet` and `phalanx demo`.
 *
 *   capture_file capture = {NULL, 0};  io_error error;
 *   if (!capture_file_begin(&capture, crowd, &frame, first, count, &error)) ...;   // before the frame's first solve
 *   for each tile: prepare, cast, capture_file_tile(&capture, crowd, &frame, tile), solve   // threads may share the tiles
 *   if (!capture_file_finish(&capture, crowd, &frame, &error)) ...;                 // after the last solve
 *   if (!capture_file_write(&capture, path, &error)) ...;
 *   capture_file_free(&capture); */
#ifndef PHALANX_TOOLS_CAPTURE_FILE_H
#define PHALANX_TOOLS_CAPTURE_FILE_H

#include "../io/common.h"

#include <phalanx/capture.h>

typedef struct capture_file {
    void *bytes;
    size_t size;
} capture_file;

/* Characters [first, first + count) of the frame, as many of them as there are. Memory that the capture held is freed or used again:
 * zero-initialise it once. */
bool capture_file_begin(capture_file *capture, const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count,
                        io_error *error);
void capture_file_tile(capture_file *capture, const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile);
bool capture_file_finish(capture_file *capture, const phx_crowd *crowd, const phx_crowd_frame *frame, io_error *error);
bool capture_file_write(const capture_file *capture, const char *path, io_error *error);
void capture_file_free(capture_file *capture);

#endif
