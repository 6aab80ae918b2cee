/* The answer of every machine: 64-bit FNV-1a over the answers of each workload in workload.h. Written by `phalanx verify --update FILE`,
 * never by hand. A changed hash means that users' replays and lock-step games part ways: change it on purpose, and say why in
 * CHANGELOG.md. */
#ifndef PHALANX_TOOLS_GOLDEN_H
#define PHALANX_TOOLS_GOLDEN_H

#include <stdint.h>

static const struct {
    const char *workload;
    uint64_t hash;
} golden[] = {
    {"two_bone", 0xe88b8092fd700b4au},
    {"fabrik", 0x412f6ce11dbff35du},
    {"ccd", 0xa6bfc8436f9763ceu},
    {"aim", 0xe6934ffcfa8cd1bcu},
    {"limit", 0x12e0910efdfefbe2u},
    {"pose", 0x1869b31d9d20f79cu},
    {"crowd", 0xe1e063004519e375u},
    {"tiles", 0x708beb3252f0ca15u},
};

#endif
