/* GLB out: the source's JSON is edited rather than parsed into a model and written anew, so that nothing in it can be lost. */
#include "write_glb.h"

#include "gltf_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The one binary chunk that is being put together. */
typedef struct chunk {
    uint8_t *data;
    size_t size, capacity;
} chunk;

/* Appends at the next multiple of 4 and returns where. `data` may be NULL: zeros. */
static size_t append(chunk *to, const void *data, size_t size) {
    size_t at = (to->size + 3) & ~(size_t)3;
    if (at + size > to->capacity) {
        to->capacity = (at + size) * 2 + 4096;
        to->data = io_reallocate(to->data, to->capacity, 1);
    }
    if (at > to->size) memset(to->data + to->size, 0, at - to->size);
    if (data != NULL && size > 0) memcpy(to->data + at, data, size);
    else if (size > 0) memset(to->data + at, 0, size);
    to->size = at + size;
    return at;
}

/* The array of that name, made where it is missing. */
static json_t *array_of(json_t *object, const char *name) {
    json_t *array = json_object_get(object, name);
    if (!json_is_array(array)) {
        array = json_array();
        json_object_set_new(object, name, array);
    }
    return array;
}

static json_int_t append_view(json_t *root, size_t offset, size_t size) {
    json_t *views = array_of(root, "bufferViews");
    json_array_append_new(views,
                          json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)offset, "byteLength", (json_int_t)size));
    return (json_int_t)json_array_size(views) - 1;
}

static json_int_t append_accessor(json_t *root, json_int_t view, size_t offset, uint32_t count, const char *type) {
    json_t *accessors = array_of(root, "accessors");
    json_array_append_new(accessors, json_pack("{s:I, s:I, s:i, s:I, s:s}", "bufferView", view, "byteOffset", (json_int_t)offset,
                                               "componentType", 5126, "count", (json_int_t)count, "type", type));
    return (json_int_t)json_array_size(accessors) - 1;
}

/* ---- the clips ------------------------------------------------------------------------------------------------------------- */

static const float *property(const io_transform *local, io_path path) {
    return path == IO_TRANSLATION ? local->translation : path == IO_ROTATION ? local->rotation : local->scale;
}

/* Whether a joint's property leaves its rest pose anywhere, by more than single precision's own rounding. */
static bool leaves_rest(const io_character *character, const io_baked_clip *clip, size_t joint, io_path path) {
    int width = path == IO_ROTATION ? 4 : 3;
    const float *rest = property(&character->joints[joint].rest, path);
    for (uint32_t f = 0; f < clip->frames; ++f) {
        const float *now = property(&clip->locals[(size_t)f * character->joint_count + joint], path);
        float same = 0, opposite = 0, size = 0;
        for (int k = 0; k < width; ++k) {
            same = fmaxf(same, fabsf(now[k] - rest[k]));
            opposite = fmaxf(opposite, fabsf(now[k] + rest[k]));
            size = fmaxf(size, fabsf(rest[k]));
        }
        /* q and -q are one rotation */
        if (path == IO_ROTATION && opposite < same) same = opposite;
        if (same > 2e-7f * fmaxf(size, path == IO_TRANSLATION ? 0 : 1)) return true;
    }
    return false;
}

/* Keys of one property, rotations as unit quaternions without sign jumps, so that a player's interpolation goes the short way. */
static float *gather_keys(const io_character *character, const io_baked_clip *clip, size_t joint, io_path path) {
    size_t width = path == IO_ROTATION ? 4 : 3;
    float *keys = io_allocate(clip->frames * width, sizeof *keys);
    for (uint32_t f = 0; f < clip->frames; ++f) {
        const float *now = property(&clip->locals[(size_t)f * character->joint_count + joint], path);
        float *key = keys + f * width;
        memcpy(key, now, width * sizeof *key);
        if (width != 4) continue;
        double length = 0, turn = 0;
        for (int k = 0; k < 4; ++k) length += (double)now[k] * now[k];
        length = sqrt(length);
        for (int k = 0; k < 4 && f > 0; ++k) turn += (double)now[k] * (double)key[k - 4];
        for (int k = 0; k < 4; ++k) key[k] = (float)(now[k] / (turn < 0 ? -length : length));
    }
    return keys;
}

static bool check_clip(const char *path, const io_character *character, const io_baked_clip *clip, io_error *error) {
    if (clip->frames < 1 || !(clip->frame_rate > 0) || !isfinite(clip->frame_rate))
        return io_fail(error, "%s: clip '%s' has no frames to write", path, clip->name);
    for (size_t i = 0; i < clip->frames * character->joint_count; ++i) {
        const float *numbers = (const float *)&clip->locals[i]; /* ten floats without gaps */
        double length = 0;
        bool finite = true;
        for (int k = 0; k < 10; ++k) finite &= isfinite(numbers[k]) != 0;
        for (int k = 0; k < 4; ++k) length += (double)clip->locals[i].rotation[k] * clip->locals[i].rotation[k];
        if (!finite || !(length > 1e-12))
            return io_fail(error, "%s: frame %zu of clip '%s' holds a transform that is not finite for joint '%s'; nothing was written",
                           path, i / character->joint_count, clip->name, character->joints[i % character->joint_count].name);
    }
    return true;
}

/* A node that is animated may not have a matrix (glTF 2.0, 3.5.3): its parts take its place. */
static void matrix_to_parts(json_t *node, const io_transform *rest) {
    if (json_object_get(node, "matrix") == NULL) return;
    json_object_del(node, "matrix");
    json_object_set_new(node, "translation",
                        json_pack("[f,f,f]", (double)rest->translation[0], (double)rest->translation[1], (double)rest->translation[2]));
    json_object_set_new(
        node, "rotation",
        json_pack("[f,f,f,f]", (double)rest->rotation[0], (double)rest->rotation[1], (double)rest->rotation[2], (double)rest->rotation[3]));
    json_object_set_new(node, "scale", json_pack("[f,f,f]", (double)rest->scale[0], (double)rest->scale[1], (double)rest->scale[2]));
}

/* What the source's own clip moves besides the joints - faces, props, cameras - goes on moving: its channels come along, on the
 * keys that are there already. */
static void keep_other_channels(const json_t *source, const bool *is_joint, json_t *channels, json_t *samplers) {
    size_t index;
    json_t *channel;
    json_array_foreach(json_object_get(source, "channels"), index, channel) {
        const json_t *target = json_object_get(channel, "target"), *node = json_object_get(target, "node");
        const char *path = json_string_value(json_object_get(target, "path"));
        /* the reader has checked that nodes which move are there */
        bool moves = path != NULL && (strcmp(path, "translation") == 0 || strcmp(path, "rotation") == 0 || strcmp(path, "scale") == 0);
        bool ours = moves && json_is_integer(node) && is_joint[json_integer_value(node)];
        json_t *sampler =
            json_array_get(json_object_get(source, "samplers"), (size_t)json_integer_value(json_object_get(channel, "sampler")));
        if (ours || sampler == NULL) continue;
        json_t *copy = json_deep_copy(channel);
        json_array_append_new(samplers, json_deep_copy(sampler));
        json_object_set_new(copy, "sampler", json_integer((json_int_t)json_array_size(samplers) - 1));
        json_array_append_new(channels, copy);
    }
}

/* `node_of`: the node index of each joint. */
static void append_clip(json_t *root, chunk *binary, const io_character *character, const json_int_t *node_of, const io_baked_clip *clip) {
    static const char *const path_name[3] = {"translation", "rotation", "scale"};
    json_t *channels = json_array(), *samplers = json_array();
    float *times = io_allocate(clip->frames, sizeof *times);
    for (uint32_t f = 0; f < clip->frames; ++f) times[f] = (float)(f / clip->frame_rate);
    size_t start = append(binary, times, clip->frames * sizeof *times);
    json_int_t input = append_accessor(root, append_view(root, start, clip->frames * sizeof *times), 0, clip->frames, "SCALAR");
    json_t *accessor = json_array_get(json_object_get(root, "accessors"), (size_t)input);
    json_object_set_new(accessor, "min", json_pack("[f]", 0.0));
    json_object_set_new(accessor, "max", json_pack("[f]", (double)times[clip->frames - 1]));
    free(times);
    for (size_t j = 0; j < character->joint_count; ++j) {
        for (int p = 0; p < 3; ++p) {
            /* a clip that moves nothing still needs a channel to be an animation */
            bool last_chance = j + 1 == character->joint_count && p == IO_ROTATION && json_array_size(channels) == 0;
            if (!leaves_rest(character, clip, j, (io_path)p) && !last_chance) continue;
            size_t bytes = clip->frames * (p == IO_ROTATION ? 4u : 3u) * sizeof(float);
            float *keys = gather_keys(character, clip, j, (io_path)p);
            json_int_t view = append_view(root, append(binary, keys, bytes), bytes);
            free(keys);
            json_int_t output = append_accessor(root, view, 0, clip->frames, p == IO_ROTATION ? "VEC4" : "VEC3");
            json_array_append_new(samplers, json_pack("{s:I, s:s, s:I}", "input", input, "interpolation", "LINEAR", "output", output));
            json_array_append_new(channels, json_pack("{s:I, s:{s:I, s:s}}", "sampler", (json_int_t)json_array_size(samplers) - 1, "target",
                                                      "node", node_of[j], "path", path_name[p]));
            matrix_to_parts(json_array_get(json_object_get(root, "nodes"), (size_t)node_of[j]), &character->joints[j].rest);
        }
    }
    if (character->is_gltf && clip->source >= 0) {
        bool *is_joint = io_allocate(json_array_size(json_object_get(root, "nodes")), sizeof *is_joint);
        for (size_t j = 0; j < character->joint_count; ++j) is_joint[node_of[j]] = true;
        keep_other_channels(json_array_get(json_object_get(root, "animations"), (size_t)clip->source), is_joint, channels, samplers);
        free(is_joint);
    }
    json_t *name = json_string(clip->name);
    json_array_append_new(array_of(root, "animations"), json_pack("{s:o, s:o, s:o}", "name", name != NULL ? name : json_string("phalanx"),
                                                                  "channels", channels, "samplers", samplers));
}

/* ---- everything else of a glTF source --------------------------------------------------------------------------------------- */

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* The bytes of a data: URI. */
static uint8_t *decode_data_uri(const char *uri, size_t *size) {
    const char *comma = strchr(uri, ',');
    *size = 0;
    if (comma == NULL) return NULL;
    uint8_t *out = io_allocate(strlen(comma) + 1, 1);
    unsigned held = 0;
    int bits = 0;
    for (const char *c = comma + 1; *c != 0; ++c) {
        int value = base64_value(*c);
        if (value < 0) continue;
        held = held << 6 | (unsigned)value;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[(*size)++] = (uint8_t)(held >> bits);
    }
    return out;
}

/* A file named by a URI relative to the source. */
static bool read_beside(const char *source, const char *uri, uint8_t **data, size_t *size, io_error *error) {
    const char *slash = strrchr(source, '/');
    char *path = io_format_text("%.*s%s", slash != NULL ? (int)(slash - source) + 1 : 0, source, uri), *to = path;
    for (const char *from = path; *from != 0; ++from) {
        unsigned code;
        if (from[0] == '%' && from[1] != 0 && sscanf(from + 1, "%2x", &code) == 1) {
            *to++ = (char)code;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    bool good = io_read_file(path, data, size, error);
    free(path);
    return good;
}

/* All buffers become the one binary chunk; their views move with them. */
static bool merge_buffers(const char *source, json_t *root, const uint8_t *binary, size_t binary_size, chunk *merged, io_error *error) {
    json_t *buffers = array_of(root, "buffers"), *view, *buffer;
    size_t count = json_array_size(buffers), index;
    size_t *start = io_allocate(count, sizeof *start);
    bool good = true;
    json_array_foreach(buffers, index, buffer) {
        json_int_t length = json_integer_value(json_object_get(buffer, "byteLength"));
        const char *uri = json_string_value(json_object_get(buffer, "uri"));
        uint8_t *owned = NULL;
        const uint8_t *data = binary;
        size_t size = binary_size;
        if (uri != NULL && strncmp(uri, "data:", 5) == 0) data = owned = decode_data_uri(uri, &size);
        else if (uri != NULL && (good = read_beside(source, uri, &owned, &size, error))) data = owned;
        if (good && (length < 0 || data == NULL || (size_t)length > size))
            good = io_fail(error, "%s: buffer %zu is shorter than the file says", source, index);
        if (good) start[index] = append(merged, data, (size_t)length);
        free(owned);
        if (!good) break;
    }
    if (good) {
        json_array_foreach(json_object_get(root, "bufferViews"), index, view) {
            json_int_t of = json_integer_value(json_object_get(view, "buffer"));
            if (of < 0 || (size_t)of >= count) continue; /* the reader has refused what it needs; others stay as they are */
            if (of == 0) continue;                       /* starts where it did */
            json_object_set_new(view, "byteOffset",
                                json_integer(json_integer_value(json_object_get(view, "byteOffset")) + (json_int_t)start[of]));
            json_object_set_new(view, "buffer", json_integer(0));
        }
        /* the first keeps its name and extras */
        while (json_array_size(buffers) > 1) json_array_remove(buffers, 1);
        if (json_array_size(buffers) == 0) json_array_append_new(buffers, json_object());
        json_object_del(json_array_get(buffers, 0), "uri");
    }
    free(start);
    return good;
}

/* Pictures beside the source come along, as they are; one that is missing keeps its name, and so does a web address. */
static void embed_images(const char *source, json_t *root, chunk *binary) {
    size_t index;
    json_t *image;
    json_array_foreach(json_object_get(root, "images"), index, image) {
        const char *uri = json_string_value(json_object_get(image, "uri"));
        uint8_t *data = NULL;
        size_t size = 0;
        if (uri == NULL || strncmp(uri, "data:", 5) == 0 || strstr(uri, "://") != NULL) continue;
        if (!read_beside(source, uri, &data, &size, NULL)) continue;
        const char *type = size > 8 && memcmp(data, "\x89PNG", 4) == 0        ? "image/png"
                           : size > 3 && memcmp(data, "\xff\xd8\xff", 3) == 0 ? "image/jpeg"
                                                                              : NULL;
        if (type == NULL && json_object_get(image, "mimeType") == NULL) {
            free(data);
            continue;
        }
        if (type != NULL) json_object_set_new(image, "mimeType", json_string(type));
        json_object_set_new(image, "bufferView", json_integer(append_view(root, append(binary, data, size), size)));
        json_object_del(image, "uri");
        free(data);
    }
}

static json_t *load_source(const io_character *character, chunk *binary, json_int_t *node_of, io_error *error) {
    uint8_t *data = NULL;
    size_t size = 0;
    if (!io_read_file(character->path, &data, &size, error)) return NULL;
    gltf_parts parts;
    json_t *root = gltf_split(character->path, data, size, &parts, error) ? gltf_parse(character->path, &parts, error) : NULL;
    bool good = root != NULL;
    size_t nodes = json_array_size(json_object_get(root, "nodes"));
    for (size_t j = 0; j < character->joint_count && good; ++j) {
        node_of[j] = character->joints[j].node;
        if (node_of[j] < 0 || (size_t)node_of[j] >= nodes)
            good = io_fail(error, "%s: has changed since it was read; run again", character->path);
    }
    if (good && (good = merge_buffers(character->path, root, parts.binary, parts.binary_size, binary, error)))
        embed_images(character->path, root, binary);
    free(data);
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* ---- a skeleton of its own -------------------------------------------------------------------------------------------------- */

static json_t *text_value(const char *text) {
    json_t *value = json_string(text);
    if (value != NULL) return value;
    /* a name that is no UTF-8 */
    char *ascii = io_copy_text(text);
    for (char *c = ascii; *c != 0; ++c) {
        if ((unsigned char)*c >= 128) *c = '?';
    }
    value = json_string(ascii);
    free(ascii);
    return value;
}

static json_t *node_of_transform(const char *name, const io_transform *t) {
    double x = t->rotation[0], y = t->rotation[1], z = t->rotation[2], w = t->rotation[3], over = 1 / sqrt(x * x + y * y + z * z + w * w);
    return json_pack("{s:o, s:[f,f,f], s:[f,f,f,f], s:[f,f,f]}", "name", text_value(name), "translation", (double)t->translation[0],
                     (double)t->translation[1], (double)t->translation[2], "rotation", x * over, y * over, z * over, w * over, "scale",
                     (double)t->scale[0], (double)t->scale[1], (double)t->scale[2]);
}

static json_t *skeleton_of(const io_character *character, json_int_t *node_of) {
    json_t *nodes = json_array(), *joints = json_array();
    io_transform carrier = io_character_root(character);
    json_array_append_new(nodes, node_of_transform("phalanx_root", &carrier));
    for (size_t j = 0; j < character->joint_count; ++j) {
        node_of[j] = (json_int_t)j + 1;
        json_array_append_new(nodes, node_of_transform(character->joints[j].name, &character->joints[j].rest));
        json_t *parent = json_array_get(nodes, (size_t)(character->joints[j].parent + 1));
        json_array_append_new(array_of(parent, "children"), json_integer(node_of[j]));
        if (character->joints[j].skeletal) json_array_append_new(joints, json_integer(node_of[j]));
    }
    return json_pack("{s:{s:s, s:s}, s:i, s:[{s:[i]}], s:o, s:[{s:o, s:i}], s:[{}]}", "asset", "version", "2.0", "generator", "phalanx",
                     "scene", 0, "scenes", "nodes", 0, "nodes", nodes, "skins", "joints", joints, "skeleton", 0, "buffers");
}

static bool write_chunks(const char *path, json_t *root, chunk *binary, io_error *error) {
    append(binary, NULL, 0); /* pad to a multiple of 4 */
    json_object_set_new(json_array_get(json_object_get(root, "buffers"), 0), "byteLength", json_integer((json_int_t)binary->size));
    char *text = json_dumps(root, JSON_COMPACT);
    if (text == NULL) return io_fail(error, "%s: the JSON could not be put together", path);
    size_t length = strlen(text), padded = (length + 3) & ~(size_t)3, total = 12 + 8 + padded + 8 + binary->size;
    if (total > UINT32_MAX) {
        free(text);
        return io_fail(error, "%s: would be larger than the 4 GB a GLB can hold", path);
    }
    uint8_t *out = io_allocate(total, 1), *at = out;
    const uint32_t words[] = {0x46546C67, 2, (uint32_t)total, (uint32_t)padded, 0x4E4F534A};
    for (int w = 0; w < 5; ++w, at += 4) memcpy(at, &words[w], 4);
    memset(at, ' ', padded);
    memcpy(at, text, length);
    at += padded;
    const uint32_t header[] = {(uint32_t)binary->size, 0x004E4942};
    memcpy(at, header, 8);
    memcpy(at + 8, binary->data, binary->size);
    free(text);
    bool good = io_write_file(path, out, total, error);
    free(out);
    return good;
}

bool io_write_glb(const char *path, const io_character *character, const io_baked_clip *clips, size_t clip_count, io_error *error) {
    for (size_t c = 0; c < clip_count; ++c) {
        if (!check_clip(path, character, &clips[c], error)) return false;
    }
    chunk binary = {0};
    json_int_t *node_of = io_allocate(character->joint_count, sizeof *node_of);
    json_t *root = character->is_gltf ? load_source(character, &binary, node_of, error) : skeleton_of(character, node_of);
    bool good = root != NULL;
    for (size_t c = 0; c < clip_count && good; ++c) append_clip(root, &binary, character, node_of, &clips[c]);
    good = good && write_chunks(path, root, &binary, error);
    json_decref(root);
    free(node_of);
    free(binary.data);
    return good;
}
