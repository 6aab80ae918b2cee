/* A character from a glTF file: the joints of its skins, or its animated nodes where it has none, with all they hang from. */
#include "gltf_file.h"
#include "gltf_json.h"
#include "reader.h"

#include <stdlib.h>

/* Joints, everything above them and bare ends below; without skins, animated nodes and everything above and below. */
static void choose_nodes(const gltf_file *file, bool *skeletal, bool *kept) {
    bool any = false;
    for (size_t n = 0; n < file->node_count; ++n) any |= skeletal[n] = file->nodes[n].in_skin;
    if (!any) {
        for (size_t a = 0; a < file->animation_count; ++a) {
            for (size_t t = 0; t < file->animations[a].track_count; ++t) skeletal[file->animations[a].tracks[t].joint] = true;
        }
        /* each node takes after its parent; a walk up stops at a node that is settled, so that every node is walked once */
        bool *settled = io_allocate(file->node_count, sizeof *settled);
        size_t *walk = io_allocate(file->node_count, sizeof *walk);
        for (size_t n = 0; n < file->node_count; ++n) {
            size_t depth = 0;
            for (int32_t at = (int32_t)n; at >= 0 && !settled[at]; at = file->nodes[at].parent) walk[depth++] = (size_t)at;
            while (depth > 0) {
                size_t at = walk[--depth];
                int32_t parent = file->nodes[at].parent;
                if (parent >= 0 && skeletal[parent] && !file->nodes[at].has_mesh) skeletal[at] = true;
                settled[at] = true;
            }
        }
        free(walk);
        free(settled);
    }
    for (size_t n = 0; n < file->node_count; ++n) {
        for (int32_t at = skeletal[n] ? (int32_t)n : -1; at >= 0 && !kept[at]; at = file->nodes[at].parent) kept[at] = true;
    }
    /* bare ends of a joint, which show how long a foot is */
    bool *inner = io_allocate(file->node_count, sizeof *inner);
    for (size_t n = 0; n < file->node_count; ++n) {
        if (file->nodes[n].parent >= 0) inner[file->nodes[n].parent] = true;
    }
    for (size_t n = 0; n < file->node_count; ++n) {
        int32_t parent = file->nodes[n].parent;
        if (!inner[n] && !file->nodes[n].has_mesh && parent >= 0 && skeletal[parent]) kept[n] = true;
    }
    free(inner);
}

/* Buffers that are needed and have no uri: only the first may be the binary chunk, and it must fit. */
static bool check_buffers(const char *path, const json_t *reduced, const gltf_parts *parts, io_error *error) {
    size_t index;
    json_t *buffer;
    json_array_foreach(json_object_get(reduced, "buffers"), index, buffer) {
        json_int_t length = json_integer_value(json_object_get(buffer, "byteLength"));
        if (json_object_get(buffer, "uri") != NULL) continue;
        if (index > 0 || parts->binary == NULL || length < 1 || (size_t)length > parts->binary_size)
            return io_fail(error, "%s: buffer %zu should hold %lld bytes, but no data comes with it", path, index, (long long)length);
    }
    return true;
}

static bool read_file(const char *path, const uint8_t *data, size_t size, gltf_file *file, io_error *error) {
    gltf_parts parts;
    if (!gltf_split(path, data, size, &parts, error)) return false;
    json_t *root = gltf_parse(path, &parts, error);
    if (root == NULL) return false;
    json_t *reduced = gltf_reduce(root);
    char *text = json_dumps(reduced, JSON_COMPACT);
    bool good =
        text != NULL ? check_buffers(path, reduced, &parts, error) : io_fail(error, "%s: is damaged: its JSON cannot be used", path);
    good = good && gltf_file_read(path, text, parts.binary, parts.binary_size, file, error);
    free(text);
    json_decref(reduced);
    json_decref(root);
    return good;
}

bool io_read_gltf(io_reading *reading, const char *path, const uint8_t *data, size_t size, io_error *error) {
    io_character *character = reading->character;
    gltf_file file;
    if (!read_file(path, data, size, &file, error)) return false;
    character->is_gltf = true;
    reading->up_known = true; /* glTF 2.0, 3.4: Y up, metres; the first is kept, the second often is not */
    reading->likely_unit = 1;
    bool *skeletal = io_allocate(file.node_count, sizeof *skeletal), *kept = io_allocate(file.node_count, sizeof *kept);
    int32_t *joint_of = io_allocate(file.node_count, sizeof *joint_of);
    choose_nodes(&file, skeletal, kept);
    for (size_t n = 0; n < file.node_count; ++n) joint_of[n] = -1;
    bool good = true;
    /* parents first: each round appends the nodes whose parent has been placed, walking up from an unplaced one */
    size_t *path_up = io_allocate(file.node_count, sizeof *path_up);
    for (size_t n = 0; n < file.node_count && good; ++n) {
        size_t depth = 0;
        for (int32_t at = kept[n] ? (int32_t)n : -1; at >= 0 && joint_of[at] < 0; at = file.nodes[at].parent) path_up[depth++] = (size_t)at;
        while (depth > 0 && good) {
            size_t at = path_up[--depth];
            const gltf_node *node = &file.nodes[at];
            joint_of[at] = (int32_t)character->joint_count;
            io_joint *joint = io_add_joint(character, node->name, node->parent >= 0 ? joint_of[node->parent] : -1);
            joint->node = (int32_t)at;
            joint->skeletal = skeletal[at];
            joint->rest = node->rest;
            if (node->has_matrix && io_decompose(node->matrix, &joint->rest) > 1e-4) {
                io_note(&character->notes, "node '%s' has a matrix with shear, which is dropped", joint->name);
            }
            if (!io_normalise_rotation(joint->rest.rotation))
                good = io_fail(error, "%s: node %zu '%s' has a rotation of no length", path, at, joint->name);
        }
    }
    for (size_t a = 0; a < file.animation_count && good; ++a) {
        io_clip *clip = io_add_clip(character, file.animations[a].name);
        for (size_t t = 0; t < file.animations[a].track_count && good; ++t) {
            io_track *from = &file.animations[a].tracks[t];
            if (joint_of[from->joint] < 0) continue; /* moves a mesh or a camera beside the skeleton */
            size_t index = clip->track_count;
            io_track *track = io_add_track(clip, (uint32_t)joint_of[from->joint], from->path, from->interpolation, 0);
            free(track->times);
            free(track->values);
            track->count = from->count;
            track->times = from->times;
            track->values = from->values;
            from->times = from->values = NULL;
            if (track->path != IO_ROTATION) continue;
            for (uint32_t k = 0; k < track->count && good; ++k) {
                bool cubic = track->interpolation == IO_CUBICSPLINE;
                float *rotation = track->values + (size_t)k * (cubic ? 12 : 4) + (cubic ? 4 : 0);
                if (cubic ? !(rotation[0] != 0 || rotation[1] != 0 || rotation[2] != 0 || rotation[3] != 0)
                          : !io_normalise_rotation(rotation))
                    good = io_fail(error, "%s: track %zu of clip '%s' has a rotation of no length at key %u", path, index, clip->name, k);
            }
        }
        if (good) good = io_time_clip(path, clip, error);
    }
    free(path_up);
    free(joint_of);
    free(kept);
    free(skeletal);
    gltf_file_free(&file);
    return good;
}
