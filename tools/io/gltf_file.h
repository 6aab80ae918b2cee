/* The part of a glTF file that a skeleton needs, as plain C data. Filled by the tinygltf adapter (gltf_file.cpp), consumed by
 * read_gltf.c. Everything here has been checked: indices are in range, the node graph is a forest, every number is finite. */
#ifndef PHALANX_TOOLS_IO_GLTF_FILE_H
#define PHALANX_TOOLS_IO_GLTF_FILE_H

#include "character.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gltf_node {
    char *name;     /* NULL where the file has none */
    int32_t parent; /* -1: a root */
    bool in_skin;   /* a joint of some skin */
    bool has_mesh;
    bool has_matrix;
    double matrix[16]; /* column-major, where has_matrix */
    io_transform rest; /* where not has_matrix */
} gltf_node;

typedef struct gltf_animation {
    char *name;       /* NULL where the file has none */
    io_track *tracks; /* `joint` holds the node index */
    size_t track_count;
} gltf_animation;

typedef struct gltf_file {
    gltf_node *nodes;
    size_t node_count;
    gltf_animation *animations;
    size_t animation_count;
} gltf_file;

/* `text`: JSON that gltf_parse has checked and gltf_reduce has reduced. `binary`: the GLB's binary chunk, or NULL. `path` is for
 * messages and for buffers in files beside it. On false `file` is empty. */
bool gltf_file_read(const char *path, const char *text, const uint8_t *binary, size_t binary_size, gltf_file *file, io_error *error);
void gltf_file_free(gltf_file *file);

#ifdef __cplusplus
}
#endif
#endif
