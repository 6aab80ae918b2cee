/* What every reader and writer of the command line tools shares: error sentences, notes, memory, whole-file reading and
 * writing that never leaves half a file. Nothing here is part of the library. */
#ifndef PHALANX_TOOLS_IO_COMMON_H
#define PHALANX_TOOLS_IO_COMMON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One sentence for standard error: it names the file, what is wrong and the mend. */
typedef struct io_error {
    char text[1280];
} io_error;

/* Fills `error` (which may be NULL) and returns false, so that a reader can `return io_fail(error, ...)`. */
bool io_fail(io_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* that it is false is for analysers to see */
static inline bool io_false(bool unused) {
    (void)unused;
    return false;
}
#define io_fail(...) io_false((io_fail)(__VA_ARGS__))

/* Sentences for the user about what was guessed, skipped or is ambiguous. Zero-initialise, then free. */
typedef struct io_notes {
    char **text;
    size_t count;
} io_notes;

void io_note(io_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void io_notes_free(io_notes *notes);

/* Memory that is there or ends the program with a sentence and status 1: a command line tool has no better answer.
 * `io_allocate` gives zeroed memory for count items (one byte at least). */
void *io_allocate(size_t count, size_t item_size) __attribute__((returns_nonnull));
void *io_reallocate(void *memory, size_t count, size_t item_size) __attribute__((returns_nonnull));
char *io_copy_text(const char *text);
char *io_format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The whole file, or standard input for "-", followed by one zero byte that `size` does not count. Directories, devices without an end
 * and files above 512 MB are refused. Free `*data`. */
bool io_read_file(const char *path, uint8_t **data, size_t *size, io_error *error);

/* Writes beside `path` and renames into place, so that `path` holds either its old content or all of the new one.
 * A path that exists and is no regular file (a pipe, /dev/stdout) is written to directly. Links are followed; one that leads nowhere is
 * refused, and so is a file that may not be written. */
bool io_write_file(const char *path, const void *data, size_t size, io_error *error);

/* What io_write_file would say now about a path that cannot be written: asked before work that takes long. Leaves nothing behind. */
bool io_can_write(const char *path, io_error *error);

/* The name of what io_read_file reads, for sentences. */
const char *io_input_name(const char *path);

/* Whether the file's name ends in `extension` (".bvh"), whatever its case. */
bool io_has_extension(const char *path, const char *extension);

/* A number that takes all of `text`, and is finite. */
bool io_parse_number(const char *text, double *value);

/* What jansson says of a text that it cannot read, less the names of its own flags. */
const char *io_json_complaint(const char *said);

#ifdef __cplusplus
}
#endif
#endif
