/* Fuzz target: a file of any bytes through the command FUZZ_COMMAND (solve, feet, replay), as a user calls it: it ends with 0 or 1. A
 * capture's checksum is put right first, where the bytes have a header at all: else nothing behind it would ever be read. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "phalanx/cli.h"

/* FNV-1a over what follows the fifth word, as src/crowd/capture.c */
static void put_checksum(uint8_t *bytes, size_t size) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 16; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
    for (int i = 0; i < 8; ++i) bytes[8 + i] = (uint8_t)(hash >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(size ? size : 1);
    if (size) memcpy(bytes, data, size);
    if (strcmp(FUZZ_NAME, "replay") == 0 && size > 24) put_checksum(bytes, size);
    char path[128], name[] = FUZZ_NAME, json[] = "--json";
    snprintf(path, sizeof path, "%s", fuzz_write(".in", bytes, size));
    free(bytes);
    char *arguments[] = {name, path, json, NULL};
    const int status = FUZZ_COMMAND(strcmp(FUZZ_NAME, "solve") == 0 ? 2 : 3, arguments);
    FUZZ_CHECK(status == CLI_DONE || status == CLI_INPUT);
    return 0;
}
