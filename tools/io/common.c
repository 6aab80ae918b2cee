/* Error sentences, notes, memory and whole files for the command line tools. */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool(io_fail)(io_error *error, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        /* names from a hostile file must not break the one-line message or the terminal */
        for (char *c = error->text; *c != 0; ++c) {
            if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
        }
    }
    return false;
}

static char *format_text(const char *format, va_list arguments) {
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        fputs("phalanx: out of memory\n", stderr);
        exit(1);
    }
    return text;
}

char *io_format_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    return text;
}

void io_note(io_notes *notes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    notes->text = io_reallocate(notes->text, notes->count + 1, sizeof *notes->text);
    notes->text[notes->count++] = format_text(format, arguments);
    va_end(arguments);
}

void io_notes_free(io_notes *notes) {
    for (size_t i = 0; i < notes->count; ++i) free(notes->text[i]);
    free(notes->text);
    *notes = (io_notes){0};
}

void *io_allocate(size_t count, size_t item_size) {
    void *memory = calloc(count > 0 ? count : 1, item_size);
    if (memory == NULL) {
        fputs("phalanx: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *io_reallocate(void *memory, size_t count, size_t item_size) {
    size_t bytes = 0;
    void *larger = NULL;
    if (!__builtin_mul_overflow(count > 0 ? count : 1, item_size, &bytes)) larger = realloc(memory, bytes);
    if (larger == NULL) {
        fputs("phalanx: out of memory\n", stderr);
        exit(1);
    }
    return larger;
}

char *io_copy_text(const char *text) { return io_format_text("%s", text); }

const char *io_input_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

bool io_read_file(const char *path, uint8_t **data, size_t *size, io_error *error) {
    const size_t largest = (size_t)512 << 20;
    *data = NULL;
    *size = 0;
    const char *name = io_input_name(path);
    int file = name == path ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (file < 0) return io_fail(error, "%s: cannot be opened: %s", name, strerror(errno));
    struct stat status;
    if (fstat(file, &status) != 0 || S_ISDIR(status.st_mode)) {
        close(file);
        return io_fail(error, "%s: is a directory; name a file in it", name);
    }
    size_t capacity = S_ISREG(status.st_mode) && status.st_size > 0 ? (size_t)status.st_size : 65536;
    if (capacity > largest) {
        close(file);
        return io_fail(error, "%s: holds more than 512 MB; give a smaller file", name);
    }
    uint8_t *bytes = io_reallocate(NULL, capacity + 1, 1);
    size_t filled = 0;
    for (;;) {
        if (filled == capacity) {
            if (capacity >= largest) {
                free(bytes);
                close(file);
                return io_fail(error, "%s: holds more than 512 MB; give a smaller file", name);
            }
            capacity = capacity * 2 + 4096 < largest ? capacity * 2 + 4096 : largest;
            bytes = io_reallocate(bytes, capacity + 1, 1);
        }
        ssize_t got = read(file, bytes + filled, capacity - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            int why = errno;
            free(bytes);
            close(file);
            return io_fail(error, "%s: cannot be read: %s", name, strerror(why));
        }
        if (got == 0) break;
        filled += (size_t)got;
    }
    close(file);
    bytes[filled] = 0;
    *data = bytes;
    *size = filled;
    return true;
}

static bool write_all(int file, const void *data, size_t size) {
    const char *bytes = data;
    while (size > 0) {
        ssize_t put = write(file, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* What `path` leads to, and whether it may be written over: a rename asks no file for leave, and would put a file in a dangling link's place. */
static bool may_write(const char *path, struct stat *status, bool *exists, io_error *error) {
    struct stat link;
    *exists = stat(path, status) == 0;
    if (!*exists && lstat(path, &link) == 0)
        return io_fail(error, "%s: cannot be written: it is a link that leads nowhere; remove it, or make what it should lead to", path);
    if (*exists && S_ISDIR(status->st_mode)) errno = EISDIR;
    else if (!*exists || access(path, W_OK) == 0) return true;
    return io_fail(error, "%s: cannot be written: %s", path, strerror(errno));
}

bool io_can_write(const char *path, io_error *error) {
    struct stat status;
    bool exists;
    if (!may_write(path, &status, &exists, error)) return false;
    if (exists && !S_ISREG(status.st_mode)) return true;
    char *resolved = realpath(path, NULL), *temporary = io_format_text("%s.XXXXXX", resolved != NULL ? resolved : path);
    const int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0) io_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    else close(file), unlink(temporary);
    free(temporary);
    free(resolved);
    return file >= 0;
}

bool io_write_file(const char *path, const void *data, size_t size, io_error *error) {
    struct stat status;
    bool exists;
    if (!may_write(path, &status, &exists, error)) return false;
    if (exists && !S_ISREG(status.st_mode)) {
        int file = open(path, O_WRONLY | O_CLOEXEC);
        bool written = file >= 0 && write_all(file, data, size);
        int why = errno;
        if (file >= 0 && close(file) != 0 && written) {
            written = false;
            why = errno;
        }
        return written ? true : io_fail(error, "%s: cannot be written: %s", path, strerror(why));
    }
    /* a link is followed, so that it stays a link */
    char *resolved = exists ? realpath(path, NULL) : NULL;
    const char *target = resolved != NULL ? resolved : path;
    char *temporary = io_format_text("%s.XXXXXX", target);
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0) {
        int why = errno;
        free(temporary);
        free(resolved);
        return io_fail(error, "%s: cannot be written: %s", path, strerror(why));
    }
    mode_t mask = umask(0);
    umask(mask);
    bool written = fchmod(file, exists ? status.st_mode & 0777 : 0666 & ~mask) == 0 && write_all(file, data, size);
    int why = errno;
    if (close(file) != 0 && written) {
        written = false;
        why = errno;
    }
    if (written && rename(temporary, target) != 0) {
        written = false;
        why = errno;
    }
    if (!written) unlink(temporary);
    free(temporary);
    free(resolved);
    return written ? true : io_fail(error, "%s: cannot be written: %s", path, strerror(why));
}

bool io_has_extension(const char *path, const char *extension) {
    size_t length = strlen(path), ending = strlen(extension);
    return length > ending && strcasecmp(path + length - ending, extension) == 0;
}

bool io_parse_number(const char *text, double *value) {
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end != 0 || !isfinite(number)) return false;
    *value = number;
    return true;
}

const char *io_json_complaint(const char *said) {
    return strstr(said, "JSON_ALLOW_NUL") != NULL ? "\\u0000 has no place in a name or a text" : said;
}
