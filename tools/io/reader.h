/* Between io_character_load and the readers of each format: what a reader fills in, and the helpers they share. */
#ifndef PHALANX_TOOLS_IO_READER_H
#define PHALANX_TOOLS_IO_READER_H

#include "character.h"

/* Each fills joints (parents first), clips and notes of the character, `z_up` where the file states it, and what is said of
 * the unit. On false the caller frees what was filled. */
typedef struct io_reading {
    io_character *character;
    bool up_known;      /* z_up is what the file says */
    double likely_unit; /* what the file or its format says, in metres; 0: nothing. Doubted where it makes no sensible body */
} io_reading;

bool io_read_gltf(io_reading *reading, const char *path, const uint8_t *data, size_t size, io_error *error);
bool io_read_bvh(io_reading *reading, const char *path, const uint8_t *data, size_t size, io_error *error);
bool io_read_assimp(io_reading *reading, const char *path, const uint8_t *data, size_t size, io_error *error);

#define IO_IDENTITY ((io_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}})

/* Appends a joint with an identity rest pose; `name` is copied, NULL or "" becomes "joint N". */
io_joint *io_add_joint(io_character *character, const char *name, int32_t parent);
io_clip *io_add_clip(io_character *character, const char *name);
/* Appends a track with room for `count` keys of `width` floats. */
io_track *io_add_track(io_clip *clip, uint32_t joint, io_path path, io_interpolation interpolation, uint32_t count);

/* Seconds, frame rate and frame count from the tracks' keys. False where the clip is too long to be sampled. */
bool io_time_clip(const char *path, io_clip *clip, io_error *error);

/* Translation, rotation and scale of a column-major 4 x 4 matrix; a mirrored one gets its negative scale on X. Returns how
 * far from a plain TRS it is: the largest |cosine| between its axes (0: none). */
double io_decompose(const double matrix[16], io_transform *transform);

/* Rotations to unit length. False for one of no length or not finite. */
bool io_normalise_rotation(float rotation[4]);

#endif
