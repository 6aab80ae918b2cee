/* Runs the command line tool from a test. */
#define _XOPEN_SOURCE 700
#ifndef PHALANX_TEST_RUN_TOOL_H
#define PHALANX_TEST_RUN_TOOL_H

#include "support.h"

#include <sys/wait.h>

/* Standard output of the tool, zero-terminated (free it), and its exit status. arguments: as a shell reads them. */
static inline char *run_tool(const char *arguments, int *status) {
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s", PHALANX_CLI, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    for (size_t got; (got = fread(text + size, 1, capacity - size - 1, pipe)) > 0;)
        if ((size += got) + 1 == capacity) text = realloc(text, capacity *= 2);
    text[size] = 0;
    const int result = pclose(pipe);
    assert_true(WIFEXITED(result));
    *status = WEXITSTATUS(result);
    return text;
}

#endif
