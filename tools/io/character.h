/* A character read from a file: its joints, rest pose and clips. Read by `phalanx inspect`, `bake` and `demo`.
 *
 *   io_character character;  io_error error;
 *   io_character_options options = {0};                     // or what --unit and --up said
 *   if (!io_character_load("walk.bvh", &options, &character, &error)) { fprintf(stderr, "phalanx: %s\n", error.text); return 1; }
 *   io_transform *locals = malloc(character.joint_count * sizeof *locals);
 *   io_character_sample(&character, 0, 0.25, locals);       // clip 0 at 0.25 s; every joint is filled
 *   io_transform root = io_character_root(&character);      // file space -> metres, Y up: seed forward kinematics with it
 *   ...
 *   io_character_free(&character);
 *
 * Local transforms stay in the file's own units and axes, so that corrected ones can be written back as they are
 * (io/write_glb.h); `root` is what turns them into metres with Y up. Joints stand parent before child. Nodes that carry the
 * skeleton (an armature above it, a group between two joints) and end sites are joints too, marked by `skeletal` = false.
 *
 * Formats: .glb .gltf (tinygltf), .bvh (own reader), .fbx .dae and whatever else Assimp reads as a skeleton. */
#ifndef PHALANX_TOOLS_IO_CHARACTER_H
#define PHALANX_TOOLS_IO_CHARACTER_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Local to the parent: p' = translation + rotation * (scale * p). Quaternion x y z w, unit. Scale may be negative. */
typedef struct io_transform {
    float translation[3];
    float rotation[4];
    float scale[3];
} io_transform;

typedef struct io_joint {
    char *name;        /* never NULL; made up ("joint 12") where the file has none */
    int32_t parent;    /* -1: a root. Always less than the joint's own index */
    int32_t node;      /* glTF: index of the node in the file; else -1 */
    bool skeletal;     /* a joint of a skin or of the motion; false: a carrier above or between, or an end site */
    io_transform rest; /* local */
} io_joint;

typedef enum io_path { IO_TRANSLATION, IO_ROTATION, IO_SCALE } io_path;
typedef enum io_interpolation { IO_LINEAR, IO_STEP, IO_CUBICSPLINE } io_interpolation;

/* Keys of one property of one joint. times: `count`, finite, never falling. values: 3 or 4 floats a key; three times as
 * many (in-tangent, value, out-tangent) for IO_CUBICSPLINE. */
typedef struct io_track {
    uint32_t joint;
    io_path path;
    io_interpolation interpolation;
    uint32_t count;
    float *times;
    float *values;
} io_track;

typedef struct io_clip {
    char *name;
    double seconds;    /* time of the last frame; 0 for a single pose */
    double frame_rate; /* frames a second: as the file says, or found from its keys */
    uint32_t frames;   /* samples at frame_rate over [0, seconds], both ends included */
    io_track *tracks;
    size_t track_count;
} io_clip;

typedef struct io_character {
    char *path;
    io_joint *joints;
    size_t joint_count;
    size_t skeletal_count; /* what `inspect` calls the number of joints */
    io_clip *clips;
    size_t clip_count;
    double unit; /* metres per file unit */
    bool z_up;   /* file's up axis is Z, else Y */
    bool is_gltf;
    io_notes notes; /* guesses and oddities, for the user */
} io_character;

typedef struct io_character_options {
    double unit; /* metres per file unit; 0: from the file, or guessed from the skeleton's size and noted */
    char up;     /* 'y' or 'z'; 0: from the file, or guessed */
} io_character_options;

/* True: `character` is filled and must be freed. False: `error` says why, and `character` is empty. */
bool io_character_load(const char *path, const io_character_options *options, io_character *character, io_error *error);
void io_character_free(io_character *character);

/* The file space -> world transform: Z up turned to Y up, scaled by `unit`; no translation. */
io_transform io_character_root(const io_character *character);

/* Local transforms of all joints at `time` seconds (held before the first and after the last key), `joint_count` of them.
 * A clip's k-th frame is at k / frame_rate. LINEAR rotations by shortest-arc slerp. `clip` >= clip_count: the rest pose. */
void io_character_sample(const io_character *character, size_t clip, double time, io_transform *locals);

/* World matrices of all joints in metres, Y up, in double precision: row-major 3 x 4, position in the last column.
 * Exact for any scale. For checks, leg detection and reports; crowds use the library's own forward kinematics. */
void io_character_world(const io_character *character, const io_transform *locals, double (*matrices)[12]);

/* Index of the joint with that name, or -1; skeletal joints win. `phx` matches "mixamorig:phx" too when nothing else does. */
int32_t io_character_find_joint(const io_character *character, const char *name);

/* Index of the clip named `name`; NULL: the only clip, or the first, or 0 where there is none. A name that
 * only ends in "|name" (Blender's "Rig|Walk") matches too. False with a sentence that lists the clips when it is not there. */
bool io_character_find_clip(const io_character *character, const char *name, size_t *clip, io_error *error);

#ifdef __cplusplus
}
#endif
#endif
