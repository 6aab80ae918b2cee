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
    {"two_bone", 0x584f4a444784048eu},
    {"fabrik", 0xc7452ab2020da4dau},
    {"ccd", 0xd101fbd8414e7e6bu},
    {"aim", 0xa7468cf6f7bd87e7u},
    {"limit", 0x4969be8d3d19e1ceu},
    {"pose", 0x1869b31d9d20f79cu},
    {"crowd", 0xe57860cd84a6fd53u},
    {"tiles", 0x22287066b00ea20cu},
};

#endif
