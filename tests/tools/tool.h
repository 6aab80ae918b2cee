/* Running the command line tool from a test. Include after support.h; the test defines _DEFAULT_SOURCE first. */
#ifndef PHALANX_TESTS_TOOL_H
#define PHALANX_TESTS_TOOL_H

#include "temporary.h"

#include <jansson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status; what it said on either stream is in tool_said, zero-terminated. */
static char tool_said[16384];

static inline int run_tool(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int run_tool(const char *format, ...) {
    char arguments[4096], command[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(command, sizeof command, "'%s' %s 2>&1", PHALANX_CLI, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = 0;
    for (size_t got; (got = fread(tool_said + size, 1, sizeof tool_said - 1 - size, pipe)) > 0;) size += got;
    tool_said[size] = 0;
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A file of this name in a folder of the test's own; up to 8 may be in use at once. */
static inline const char *scratch(const char *name) {
    static char path[8][512];
    static int next;
    static char folder[128];
    if (folder[0] == 0) {
        temporary_template(folder, sizeof folder, "test");
        assert_non_null(mkdtemp(folder));
    }
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static inline bool file_exists(const char *path) { return access(path, F_OK) == 0; }

static inline json_t *read_json(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) fail_msg("%s: %s", path, error.text);
    return root;
}

/* A number at "a.b.c". */
static inline double json_at(const json_t *root, const char *keys) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", keys);
    for (char *key = copy; key != NULL;) {
        char *dot = strchr(key, '.');
        if (dot != NULL) *dot = 0;
        root = json_object_get(root, key);
        if (root == NULL) fail_msg("JSON: '%s' is missing in %s", key, keys);
        key = dot != NULL ? dot + 1 : NULL;
    }
    if (!json_is_number(root)) fail_msg("JSON: %s is no number", keys);
    return json_number_value(root);
}

#endif
