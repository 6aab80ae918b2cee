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
    {"two_bone", 0xe70d86762f238845u},
    {"fabrik", 0x1515530b8801d38bu},
    {"ccd", 0xc5d6900a7c9692f4u},
    {"aim", 0xff05d25c22fd18c0u},
    {"limit", 0x12e0910efdfefbe2u},
    {"pose", 0x1869b31d9d20f79cu},
    {"crowd", 0x6cfaf874d5553643u},
    {"tiles", 0x60f2cd61abf3ef5au},
};

#endif
