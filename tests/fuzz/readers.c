/* Fuzz target: a file of any bytes through the reader of FUZZ_EXTENSION: a character's skeleton and clips, or a ground. What is read is
 * sane: it is finite, parents come first, every frame and every place can be asked for. */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "io/character.h"
#include "io/ground.h"

static void read_character(const char *path) {
    io_character character;
    io_error error;
    const io_character_options options = {0, 0};
    error.text[0] = 0;
    if (!io_character_load(path, &options, &character, &error)) {
        FUZZ_CHECK(error.text[0]);
        return;
    }
    FUZZ_CHECK(character.joint_count > 0 && character.unit > 0);
    for (size_t j = 0; j < character.joint_count; ++j) FUZZ_CHECK(character.joints[j].name && character.joints[j].parent < (int32_t)j);
    io_transform *locals = malloc(character.joint_count * sizeof *locals);
    double(*matrices)[12] = malloc(character.joint_count * sizeof *matrices);
    for (size_t clip = 0; clip <= character.clip_count && clip < 4; ++clip) {
        const double seconds = clip < character.clip_count ? character.clips[clip].seconds : 0;
        FUZZ_CHECK(isfinite(seconds) && seconds >= 0);
        if (clip < character.clip_count) FUZZ_CHECK(character.clips[clip].frames >= 1 && character.clips[clip].frame_rate > 0);
        const double times[] = {-1, 0, seconds * 0.37, seconds, seconds + 1};
        for (int k = 0; k < 5; ++k) {
            io_character_sample(&character, clip, times[k], locals);
            for (size_t j = 0; j < character.joint_count; ++j) {
                const float *q = locals[j].rotation;
                const double norm = (double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3];
                FUZZ_CHECK(fabs(norm - 1) < 1e-3);
            }
            io_character_world(&character, locals, matrices);
        }
    }
    free(locals), free(matrices);
    io_character_free(&character);
}

static void read_ground(const char *path) {
    ground *ground;
    io_error error;
    const ground_options options = ground_default_options();
    error.text[0] = 0;
    if (!ground_load(path, &options, &ground, &error)) {
        FUZZ_CHECK(error.text[0]);
        return;
    }
    const ground_extent extent = ground_get_extent(ground);
    phx_ray_block rays;
    memset(&rays, 0, sizeof rays);
    for (int k = 0; k < 16; ++k) {
        const double x = extent.least[0] + (extent.most[0] - extent.least[0]) * (k % 5 - 0.5) / 3,
                     z = extent.least[2] + (extent.most[2] - extent.least[2]) * (k % 7 - 1) / 5;
        double height, normal[3];
        if (ground_height(ground, x, z, &height, normal)) FUZZ_CHECK(isfinite(height) && normal[1] > 0);
        rays.org_x[k] = (float)x, rays.org_y[k] = (float)extent.most[1] + 1, rays.org_z[k] = (float)z;
        rays.dir_y[k] = -1, rays.tfar[k] = 1e6f, rays.geomID[k] = PHX_NO_HIT;
    }
    ground_cast16(ground, 0xFFFF, &rays);
    for (int k = 0; k < 16; ++k) FUZZ_CHECK(rays.geomID[k] == PHX_NO_HIT || (isfinite(rays.tfar[k]) && rays.Ng_y[k] > 0));
    ground_free(ground);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (strcmp(FUZZ_EXTENSION, ".hgt") == 0 && size > 0) { /* a tile must have its exact size: the bytes repeat, unless the first says no */
        const size_t side = data[0] & 1 ? 1201 : 3, bytes = side * side * 2;
        uint8_t *tile = malloc(bytes);
        for (size_t k = 0; k < bytes; ++k) tile[k] = data[k % size];
        read_ground(fuzz_write(FUZZ_EXTENSION, tile, data[0] & 2 ? bytes - 1 : bytes));
        free(tile);
        return 0;
    }
    const char *path = fuzz_write(FUZZ_EXTENSION, data, size);
    if (FUZZ_GROUND)
        read_ground(path);
    else
        read_character(path);
    return 0;
}
