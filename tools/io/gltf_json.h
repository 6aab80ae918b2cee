/* The JSON and the binary chunk of a glTF file: taking them out of a GLB, checking what a skeleton hangs on, and reducing the
 * JSON to that before tinygltf sees it. Used by read_gltf.c and write_glb.c. */
#ifndef PHALANX_TOOLS_IO_GLTF_JSON_H
#define PHALANX_TOOLS_IO_GLTF_JSON_H

#include "common.h"

#include <jansson.h>

typedef struct gltf_parts {
    const char *text;
    size_t text_size;
    const uint8_t *binary; /* NULL where there is no binary chunk */
    size_t binary_size;
} gltf_parts;

/* Both forms; the parts point into `data`. Refuses chunks that are missing, out of order, doubled or past the end. */
bool gltf_split(const char *path, const uint8_t *data, size_t size, gltf_parts *parts, io_error *error);

/* Parses and checks: the asset's version, node references and rotations, skins and their matrices and roots. NULL on error. */
json_t *gltf_parse(const char *path, const gltf_parts *parts, io_error *error);

/* What is left when everything is dropped that neither nodes, skins nor animations need - meshes, pictures, materials, buffers
 * that hold only those - with all indices as they were. A new value. */
json_t *gltf_reduce(const json_t *root);

#endif
