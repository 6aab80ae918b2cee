/* Files that tests of the tools make themselves, so that they run where no recordings are. Include after support.h. */
#ifndef PHALANX_TESTS_MADE_FILES_H
#define PHALANX_TESTS_MADE_FILES_H

#include <fcntl.h>
#include <unistd.h>

typedef struct bytes {
    unsigned char *at;
    size_t size;
} bytes;

static inline bytes bytes_of_text(const char *text) { return (bytes){(unsigned char *)strdup(text), strlen(text)}; }

static inline void write_bytes(const char *path, const void *data, size_t size) {
    const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(out >= 0);
    assert_int_equal(write(out, data, size), size);
    close(out);
}

/* Legs of 0.45 + 0.45 m that stand, hips swaying a little. */
static inline bytes standing_bvh(void) {
    static const char leg[] = "  JOINT %sUpLeg\n  {\n    OFFSET %s0.1 0 0\n    CHANNELS 3 Zrotation Xrotation Yrotation\n    JOINT %sLeg\n    {\n"
                              "      OFFSET 0 -0.45 0.01\n      CHANNELS 3 Zrotation Xrotation Yrotation\n      JOINT %sFoot\n      {\n"
                              "        OFFSET 0 -0.45 -0.01\n        CHANNELS 3 Zrotation Xrotation Yrotation\n        End Site\n        {\n"
                              "          OFFSET 0 -0.05 0.12\n        }\n      }\n    }\n  }\n";
    char text[4096];
    int n = snprintf(text, sizeof text, "HIERARCHY\nROOT Hips\n{\n  OFFSET 0 0.98 0\n"
                                        "  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    n += snprintf(text + n, sizeof text - (size_t)n, leg, "Left", "", "Left", "Left");
    n += snprintf(text + n, sizeof text - (size_t)n, leg, "Right", "-", "Right", "Right");
#pragma GCC diagnostic pop
    n += snprintf(text + n, sizeof text - (size_t)n, "}\nMOTION\nFrames: 4\nFrame Time: 0.1\n");
    for (int f = 0; f < 4; ++f) n += snprintf(text + n, sizeof text - (size_t)n, "0 0.97 0.00%d 0 0 0  0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0\n", f);
    return bytes_of_text(text);
}

#endif
