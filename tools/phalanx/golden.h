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
    {"fabrik", 0x33a14033ddcf912au},
    {"ccd", 0x922b51e3b5c983dbu},
    {"aim", 0xc7bf41d16e0e198cu},
    {"limit", 0x970687d88e26fbb1u},
    {"pose", 0x1869b31d9d20f79cu},
    {"crowd", 0xdecfb8f18b378296u},
    {"tiles", 0xf46fa0317116a575u},
};

#endif
