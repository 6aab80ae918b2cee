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
    {"fabrik", 0xa7284b6b0bc5632du},
    {"ccd", 0xd2ae5c8d9478c6deu},
    {"aim", 0x40e3261779f9ddf4u},
    {"limit", 0x12e0910efdfefbe2u},
    {"pose", 0x1869b31d9d20f79cu},
    {"crowd", 0x673e1adae4bd1af2u},
    {"tiles", 0x60f2cd61abf3ef5au},
};

#endif
