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
    {"fabrik", 0x4a8b1152843323abu},
    {"ccd", 0x116cd062ad2c8df7u},
    {"aim", 0x4213504e15aad924u},
    {"limit", 0x6fa299634402dd01u},
    {"pose", 0x1869b31d9d20f79cu},
    {"crowd", 0xe57860cd84a6fd53u},
    {"tiles", 0x22287066b00ea20cu},
};

#endif
