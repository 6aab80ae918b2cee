/* Taking a glTF file apart and checking what a skeleton hangs on. Section numbers are those of the glTF 2.0 specification. */
#include "gltf_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t little_endian_32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

bool gltf_split(const char *path, const uint8_t *data, size_t size, gltf_parts *parts, io_error *error) {
    *parts = (gltf_parts){.text = (const char *)data, .text_size = size};
    if (size < 4 || memcmp(data, "glTF", 4) != 0) {
        if (io_has_extension(path, ".glb")) return io_fail(error, "%s: is no GLB: it does not begin with glTF", path);
        return true;
    }
    if (size < 20) return io_fail(error, "%s: is cut short: a GLB needs 20 bytes at least, it has %zu", path, size);
    uint32_t version = little_endian_32(data + 4), length = little_endian_32(data + 8);
    if (version != 2) return io_fail(error, "%s: is GLB version %u; export it as glTF 2.0", path, version);
    if (length > size) return io_fail(error, "%s: is cut short: its header says %u bytes, it has %zu", path, length, size);
    /* 4.4.3: JSON first, then at most one binary chunk; others may follow and are passed over */
    size_t at = 12;
    for (int index = 0; at < length; ++index) {
        if (length - at < 8) return io_fail(error, "%s: is damaged: chunk %d has no room for its header", path, index);
        uint32_t chunk_size = little_endian_32(data + at), type = little_endian_32(data + at + 4);
        if (chunk_size > length - at - 8) return io_fail(error, "%s: is damaged: chunk %d runs past the end", path, index);
        if (index == 0 && type != 0x4E4F534A) return io_fail(error, "%s: is damaged: its first chunk is not the JSON", path);
        if (index > 0 && (type == 0x4E4F534A || (type == 0x004E4942 && index > 1)))
            return io_fail(error, "%s: is damaged: chunk %d is doubled or out of order", path, index);
        if (chunk_size % 4 != 0) return io_fail(error, "%s: is damaged: chunk %d is not a multiple of 4 bytes", path, index);
        if (index == 0) {
            parts->text = (const char *)data + at + 8;
            parts->text_size = chunk_size;
        } else if (index == 1 && type == 0x004E4942) {
            parts->binary = data + at + 8;
            parts->binary_size = chunk_size;
        }
        at += 8 + (size_t)chunk_size;
    }
    if (parts->text == (const char *)data) return io_fail(error, "%s: is damaged: it has no JSON chunk", path);
    return true;
}

/* JSON may write 2 as 2.0 (3.2); integers from here on. */
static void make_whole(json_t *value) {
    size_t index;
    const char *key;
    json_t *item;
    if (json_is_array(value)) {
        json_array_foreach(value, index, item) {
            double real = json_is_real(item) ? json_real_value(item) : 0.5;
            if (real == floor(real) && fabs(real) < 1e15) json_array_set_new(value, index, json_integer((json_int_t)real));
            else make_whole(item);
        }
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, item) {
            if (strcmp(key, "extras") == 0 || strcmp(key, "extensions") == 0) continue; /* not ours to touch */
            double real = json_is_real(item) ? json_real_value(item) : 0.5;
            if (real == floor(real) && fabs(real) < 1e15) json_object_set_new(value, key, json_integer((json_int_t)real));
            else make_whole(item);
        }
    }
}

static size_t count_of(const json_t *root, const char *array) { return json_array_size(json_object_get(root, array)); }
static const json_t *item_of(const json_t *root, const char *array, json_int_t index) {
    return index >= 0 ? json_array_get(json_object_get(root, array), (size_t)index) : NULL;
}

/* An index into a top-level array. An absent one is fine. */
static bool refers(const json_t *root, const json_t *value, const char *array) {
    return value == NULL ||
           (json_is_integer(value) && json_integer_value(value) >= 0 && (size_t)json_integer_value(value) < count_of(root, array));
}

/* Parent (-1: none) and topmost ancestor of each node. */
typedef struct node_graph {
    int32_t *parent, *top;
} node_graph;

static bool check_nodes(const char *path, const json_t *root, node_graph *graph, io_error *error) {
    int32_t *parent = graph->parent;
    static const char *const to[3][2] = {{"mesh", "meshes"}, {"skin", "skins"}, {"camera", "cameras"}};
    const json_t *nodes = json_object_get(root, "nodes"), *node, *child;
    size_t n, c;
    for (n = 0; n < json_array_size(nodes); ++n) parent[n] = -1;
    json_array_foreach((json_t *)nodes, n, node) {
        if (!json_is_object(node)) return io_fail(error, "%s: node %zu is no object", path, n);
        for (int k = 0; k < 3; ++k) {
            if (!refers(root, json_object_get(node, to[k][0]), to[k][1]))
                return io_fail(error, "%s: node %zu names a %s that is not there", path, n, to[k][0]);
        }
        const json_t *children = json_object_get(node, "children"), *rotation = json_object_get(node, "rotation"),
                     *matrix = json_object_get(node, "matrix");
        if (children != NULL && !json_is_array(children)) return io_fail(error, "%s: node %zu has children that are no list", path, n);
        json_array_foreach((json_t *)children, c, child) {
            if (!refers(root, child, "nodes")) return io_fail(error, "%s: node %zu has a child that is not there", path, n);
            size_t below = (size_t)json_integer_value(child);
            if (parent[below] >= 0)
                return io_fail(error, "%s: node %zu has two parents, or one twice: %d and %zu", path, below, parent[below], n);
            parent[below] = (int32_t)n;
        }
        if (rotation != NULL && matrix == NULL) {
            double length = 0;
            for (size_t k = 0; k < 4; ++k) length += pow(json_number_value(json_array_get(rotation, k)), 2);
            if (!(fabs(sqrt(length) - 1) <= 0.05))
                return io_fail(error, "%s: node %zu has a rotation of length %.3g instead of 1", path, n, sqrt(length));
        }
        if (matrix != NULL && (rotation != NULL || json_object_get(node, "translation") != NULL || json_object_get(node, "scale") != NULL))
            return io_fail(error, "%s: node %zu has a matrix and its parts; keep one", path, n);
        for (size_t k = 3; k < 16 && matrix != NULL; k += 4) {
            if (json_number_value(json_array_get(matrix, k)) != (k == 15))
                return io_fail(error, "%s: node %zu has a matrix that is no affine transform", path, n);
        }
    }
    /* walks up that end at a root or at a node whose top is known: every node is walked once */
    int32_t *walk = io_allocate(json_array_size(nodes), sizeof *walk);
    bool good = true;
    for (n = 0; n < json_array_size(nodes); ++n) graph->top[n] = -1;
    for (n = 0; n < json_array_size(nodes) && good; ++n) {
        size_t depth = 0;
        int32_t at = (int32_t)n;
        for (; at >= 0 && graph->top[at] < 0 && depth < json_array_size(nodes); at = parent[at]) walk[depth++] = at;
        if (at >= 0 && graph->top[at] < 0) good = io_fail(error, "%s: node %zu is its own ancestor", path, n);
        int32_t top = at >= 0 ? graph->top[at] : depth > 0 ? walk[depth - 1] : -1;
        while (depth > 0 && good) graph->top[walk[--depth]] = top;
    }
    free(walk);
    return good;
}

/* Whether `node` is `above` or hangs below it. Nodes that do are stamped, so that a skin's joints share their way up. */
static bool is_below(const node_graph *graph, int32_t node, int32_t above, uint32_t *stamps, uint32_t stamp) {
    int32_t at = node;
    while (at >= 0 && at != above && stamps[at] != stamp) at = graph->parent[at];
    if (at < 0) return false;
    for (int32_t on_way = node; on_way != at; on_way = graph->parent[on_way]) stamps[on_way] = stamp;
    return true;
}

static bool check_skins(const char *path, const json_t *root, const node_graph *graph, uint32_t *stamps, io_error *error) {
    const json_t *skin, *joint;
    size_t s, j;
    json_array_foreach(json_object_get(root, "skins"), s, skin) {
        const json_t *joints = json_object_get(skin, "joints"), *skeleton = json_object_get(skin, "skeleton"),
                     *bind = json_object_get(skin, "inverseBindMatrices");
        if (!json_is_array(joints) || json_array_size(joints) == 0) return io_fail(error, "%s: skin %zu has no joints", path, s);
        if (!refers(root, skeleton, "nodes")) return io_fail(error, "%s: skin %zu names a skeleton node that is not there", path, s);
        if (!refers(root, bind, "accessors")) return io_fail(error, "%s: skin %zu names inverse bind matrices that are not there", path, s);
        int32_t top = -1;
        json_array_foreach((json_t *)joints, j, joint) {
            if (!refers(root, joint, "nodes")) return io_fail(error, "%s: skin %zu names a joint that is not there", path, s);
            int32_t node = (int32_t)json_integer_value(joint), above = graph->top[node];
            if (top >= 0 && above != top)
                return io_fail(error, "%s: skin %zu has joints without a common root; put them under one node", path, s);
            top = above;
            if (skeleton != NULL && !is_below(graph, node, (int32_t)json_integer_value(skeleton), stamps, (uint32_t)s + 1))
                return io_fail(error, "%s: skin %zu has a skeleton node that is not above its joints; correct it or leave it out", path, s);
        }
        if (bind != NULL) {
            const json_t *accessor = item_of(root, "accessors", json_integer_value(bind));
            const char *type = json_string_value(json_object_get(accessor, "type"));
            if (type == NULL || strcmp(type, "MAT4") != 0 || json_integer_value(json_object_get(accessor, "componentType")) != 5126)
                return io_fail(error, "%s: skin %zu has inverse bind matrices that are no 4 x 4 float matrices", path, s);
            const json_t *view =
                item_of(root, "bufferViews",
                        json_object_get(accessor, "bufferView") != NULL ? json_integer_value(json_object_get(accessor, "bufferView")) : -1);
            if (json_object_get(view, "byteStride") != NULL)
                return io_fail(error, "%s: skin %zu has inverse bind matrices with a stride", path, s);
            if (json_integer_value(json_object_get(accessor, "count")) < (json_int_t)json_array_size(joints))
                return io_fail(error, "%s: skin %zu has fewer inverse bind matrices than joints", path, s);
        }
    }
    return true;
}

/* Skinned nodes: a mesh that can be skinned, and joints in every scene that shows it. */
static bool check_skinned(const char *path, const json_t *root, const node_graph *graph, io_error *error) {
    const json_t *node, *scene, *shown, *primitive;
    size_t n, s, k, p;
    json_array_foreach(json_object_get(root, "nodes"), n, node) {
        const json_t *skin = json_object_get(node, "skin"), *mesh = json_object_get(node, "mesh");
        if (skin == NULL) continue;
        if (mesh == NULL) return io_fail(error, "%s: node %zu has a skin but no mesh to put it on", path, n);
        json_array_foreach(json_object_get(item_of(root, "meshes", json_integer_value(mesh)), "primitives"), p, primitive) {
            if (json_object_get(json_object_get(primitive, "attributes"), "JOINTS_0") == NULL)
                return io_fail(error, "%s: node %zu has a skin, but its mesh is bound to no joints", path, n);
        }
        const json_t *joints = json_object_get(item_of(root, "skins", json_integer_value(skin)), "joints");
        int32_t joint_root = graph->top[json_integer_value(json_array_get(joints, 0))], mesh_root = graph->top[n];
        json_array_foreach(json_object_get(root, "scenes"), s, scene) {
            bool has_mesh = false, has_joints = false;
            json_array_foreach(json_object_get(scene, "nodes"), k, shown) {
                has_mesh |= json_integer_value(shown) == mesh_root;
                has_joints |= json_integer_value(shown) == joint_root;
            }
            if (has_mesh && !has_joints) return io_fail(error, "%s: scene %zu shows node %zu without the joints of its skin", path, s, n);
        }
    }
    return true;
}

static int by_value(const void *a, const void *b) {
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return (p > q) - (p < q);
}

/* What 3.11 asks of channels beyond what the reader needs anyway: no node with a matrix, no property moved twice, key times with
 * their bounds. */
static bool check_animations(const char *path, const json_t *root, io_error *error) {
    static const char *const paths[4] = {"translation", "rotation", "scale", "weights"};
    const json_t *animation, *channel, *sampler;
    size_t a, c, k;
    json_array_foreach(json_object_get(root, "animations"), a, animation) {
        const json_t *channels = json_object_get(animation, "channels");
        uint32_t *targets = io_allocate(json_array_size(channels), sizeof *targets);
        size_t count = 0;
        bool good = true;
        json_array_foreach((json_t *)channels, c, channel) {
            const json_t *target = json_object_get(channel, "target"), *node = json_object_get(target, "node");
            const char *moved = json_string_value(json_object_get(target, "path"));
            if (node == NULL || moved == NULL) continue;
            if (!refers(root, node, "nodes")) good = good && io_fail(error, "%s: animation %zu moves a node that is not there", path, a);
            if (!good) break;
            for (k = 0; k < 4 && strcmp(moved, paths[k]) != 0; ++k) {
            }
            if (k < 4) targets[count++] = (uint32_t)json_integer_value(node) * 4 + (uint32_t)k;
            if (k < 3 && json_object_get(item_of(root, "nodes", json_integer_value(node)), "matrix") != NULL)
                good = io_fail(error, "%s: animation %zu moves node %lld, which has a matrix; give it translation, rotation and scale",
                               path, a, (long long)json_integer_value(node));
        }
        qsort(targets, count, sizeof *targets, by_value);
        for (k = 1; k < count && good; ++k) {
            if (targets[k] == targets[k - 1])
                good = io_fail(error, "%s: animation %zu moves the %s of node %u twice", path, a, paths[targets[k] % 4], targets[k] / 4);
        }
        free(targets);
        json_array_foreach(json_object_get(animation, "samplers"), k, sampler) {
            const json_t *times = item_of(root, "accessors", json_integer_value(json_object_get(sampler, "input")));
            if (good && times != NULL && (json_object_get(times, "min") == NULL || json_object_get(times, "max") == NULL))
                good = io_fail(error, "%s: animation %zu has key times that state no min and max", path, a);
        }
        if (!good) return false;
    }
    return true;
}

json_t *gltf_parse(const char *path, const gltf_parts *parts, io_error *error) {
    json_error_t problem;
    json_t *root = json_loadb(parts->text, parts->text_size, JSON_ALLOW_NUL, &problem);
    if (root == NULL) {
        io_fail(error, "%s: is cut short or damaged: line %d of its JSON: %s", path, problem.line, problem.text);
        return NULL;
    }
    const char *version = json_string_value(json_object_get(json_object_get(root, "asset"), "version"));
    static const char *const arrays[] = {"nodes", "skins", "animations", "accessors", "bufferViews", "buffers", "meshes", "scenes"};
    const json_t *item;
    size_t index;
    bool good = true;
    if (version == NULL) good = io_fail(error, "%s: is no glTF: its JSON states no asset version", path);
    else if (strncmp(version, "2.", 2) != 0) good = io_fail(error, "%s: is glTF %.16s; export it as glTF 2.0", path, version);
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays && good; ++a) {
        const json_t *array = json_object_get(root, arrays[a]);
        if (array != NULL && !json_is_array(array)) good = io_fail(error, "%s: its %s are no list", path, arrays[a]);
        json_array_foreach((json_t *)array, index, item) {
            if (good && !json_is_object(item)) good = io_fail(error, "%s: entry %zu of its %s is no object", path, index, arrays[a]);
        }
    }
    if (good && count_of(root, "nodes") > 65535)
        good = io_fail(error, "%s: holds %zu nodes; at most 65535 can be read", path, count_of(root, "nodes"));
    json_array_foreach(json_object_get(root, "extensionsRequired"), index, item) {
        const char *name = json_string_value(item);
        if (good && name != NULL && strstr(name, "meshopt_compression") != NULL)
            good = io_fail(error, "%s: needs the extension %.64s, which cannot be read; export it without compression", path, name);
    }
    if (good) {
        make_whole(json_object_get(root, "nodes"));
        make_whole(json_object_get(root, "skins"));
        make_whole(json_object_get(root, "animations"));
        size_t nodes = count_of(root, "nodes");
        node_graph graph = {io_allocate(nodes, sizeof(int32_t)), io_allocate(nodes, sizeof(int32_t))};
        uint32_t *stamps = io_allocate(nodes, sizeof *stamps);
        good = check_nodes(path, root, &graph, error) && check_skins(path, root, &graph, stamps, error) &&
               check_skinned(path, root, &graph, error) && check_animations(path, root, error);
        free(stamps);
        free(graph.top);
        free(graph.parent);
    }
    if (good) return root;
    json_decref(root);
    return NULL;
}

/* Copies the array, keeping the entries that are needed and putting `stub` in place of the others. */
static json_t *keep_needed(const json_t *array, const bool *needed, json_t *stub) {
    json_t *kept = json_array(), *item;
    size_t index;
    json_array_foreach((json_t *)array, index, item) json_array_append(kept, needed[index] ? item : stub);
    json_decref(stub);
    return kept;
}

static void mark(bool *needed, size_t count, const json_t *index) {
    if (json_is_integer(index) && json_integer_value(index) >= 0 && (size_t)json_integer_value(index) < count)
        needed[json_integer_value(index)] = true;
}

json_t *gltf_reduce(const json_t *root) {
    static const char *const node_keys[] = {"name", "children", "matrix", "translation", "rotation", "scale", "mesh"};
    json_t *animations = json_deep_copy(json_object_get(root, "animations")),
           *accessors = json_deep_copy(json_object_get(root, "accessors"));
    json_t *views = json_deep_copy(json_object_get(root, "bufferViews")), *nodes = json_array(), *skins = json_array(), *item, *part;
    make_whole(animations);
    make_whole(accessors);
    make_whole(views);
    size_t index, k, accessor_count = json_array_size(accessors), view_count = json_array_size(views),
                     buffer_count = count_of(root, "buffers");
    bool *accessor_needed = io_allocate(accessor_count, 1), *view_needed = io_allocate(view_count, 1),
         *buffer_needed = io_allocate(buffer_count, 1);
    json_array_foreach(json_object_get(root, "nodes"), index, item) {
        json_t *node = json_object();
        for (k = 0; k < sizeof node_keys / sizeof *node_keys; ++k) {
            if (json_object_get(item, node_keys[k]) != NULL) json_object_set(node, node_keys[k], json_object_get(item, node_keys[k]));
        }
        json_array_append_new(nodes, node);
    }
    json_array_foreach(json_object_get(root, "skins"), index, item)
        json_array_append_new(skins, json_pack("{s:O}", "joints", json_object_get(item, "joints")));
    json_array_foreach(animations, index, item) {
        json_object_del(item, "extensions");
        json_object_del(item, "extras");
        json_array_foreach(json_object_get(item, "samplers"), k, part) {
            mark(accessor_needed, accessor_count, json_object_get(part, "input"));
            mark(accessor_needed, accessor_count, json_object_get(part, "output"));
            json_object_del(part, "extras");
        }
        json_array_foreach(json_object_get(item, "channels"), k, part) {
            json_object_del(part, "extras");
            json_object_del(part, "extensions");
            json_object_del(json_object_get(part, "target"), "extras");
            json_object_del(json_object_get(part, "target"), "extensions");
        }
    }
    json_array_foreach(accessors, index, item) {
        json_object_del(item, "extras");
        json_object_del(item, "extensions");
        if (!accessor_needed[index]) continue;
        mark(view_needed, view_count, json_object_get(item, "bufferView"));
        const json_t *sparse = json_object_get(item, "sparse");
        mark(view_needed, view_count, json_object_get(json_object_get(sparse, "indices"), "bufferView"));
        mark(view_needed, view_count, json_object_get(json_object_get(sparse, "values"), "bufferView"));
    }
    json_array_foreach(views, index, item) {
        json_object_del(item, "extras");
        json_object_del(item, "extensions");
        if (view_needed[index]) mark(buffer_needed, buffer_count, json_object_get(item, "buffer"));
    }
    json_t *buffers = json_deep_copy(json_object_get(root, "buffers"));
    make_whole(buffers);
    json_array_foreach(buffers, index, item) {
        json_object_del(item, "extras");
        json_object_del(item, "extensions");
    }
    json_t *reduced = json_pack(
        "{s:{s:s}, s:o, s:o, s:o, s:o, s:o}", "asset", "version", "2.0", "nodes", nodes, "skins", skins, "accessors",
        keep_needed(accessors, accessor_needed, json_pack("{s:i, s:i, s:s}", "componentType", 5126, "count", 1, "type", "SCALAR")),
        "bufferViews", keep_needed(views, view_needed, json_pack("{s:i, s:i}", "buffer", 0, "byteLength", 1)), "buffers",
        keep_needed(buffers, buffer_needed, json_pack("{s:i, s:s}", "byteLength", 1, "uri", "data:application/octet-stream;base64,AA==")));
    if (animations != NULL) json_object_set(reduced, "animations", animations);
    json_decref(animations);
    json_decref(accessors);
    json_decref(views);
    json_decref(buffers);
    free(accessor_needed);
    free(view_needed);
    free(buffer_needed);
    return reduced;
}
