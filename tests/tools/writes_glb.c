/* GLB out: the source's own content comes back untouched, the baked clip comes back as it was given, and nothing is left behind
 * where writing fails. */
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "io/character.h"
#include "io/write_glb.h"
#include "shared_files.h"
#include "temporary.h"

static char folder[128];

static const char *in_folder(const char *name) {
    static char path[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void load(const char *path, io_character *character) {
    io_error error = {{0}};
    if (!io_character_load(path, &(io_character_options){0}, character, &error)) fail_msg("%s", error.text);
}

/* A clip's frames, with every joint of the skeleton turned by a tenth of a radian about Y, so that it is none of the file's. */
static io_transform *changed_frames(const io_character *character, size_t clip) {
    uint32_t frames = character->clips[clip].frames;
    io_transform *locals = calloc((size_t)frames * character->joint_count, sizeof *locals);
    float s = sinf(0.05f), c = cosf(0.05f);
    for (uint32_t f = 0; f < frames; ++f) {
        io_transform *now = locals + (size_t)f * character->joint_count;
        io_character_sample(character, clip, f / character->clips[clip].frame_rate, now);
        for (size_t j = 0; j < character->joint_count; ++j) {
            float x = now[j].rotation[0], y = now[j].rotation[1], z = now[j].rotation[2], w = now[j].rotation[3];
            const float turned[4] = {x * c - z * s, y * c + w * s, z * c + x * s, w * c - y * s};
            if (character->joints[j].skeletal) memcpy(now[j].rotation, turned, sizeof turned);
        }
    }
    return locals;
}

static json_t *read_glb(const char *path, uint8_t **data, const uint8_t **bin, uint32_t *bin_size) {
    size_t size;
    io_error error;
    uint32_t length;
    assert_true(io_read_file(path, data, &size, &error));
    memcpy(&length, *data + 12, 4);
    memcpy(bin_size, *data + 20 + length, 4);
    *bin = *data + 28 + length;
    json_t *root = json_loadb((const char *)*data + 20, length, 0, NULL);
    assert_non_null(root);
    return root;
}

/* Every member of the source is in the result: equal, or an array that begins with the source's. */
static void nothing_was_lost(const char *source, const char *result) {
    uint8_t *data[2];
    const uint8_t *bin[2];
    uint32_t size[2];
    json_t *was = read_glb(source, &data[0], &bin[0], &size[0]), *is = read_glb(result, &data[1], &bin[1], &size[1]), *value;
    const char *key;
    assert_true(size[1] > size[0]);
    assert_memory_equal(bin[0], bin[1], size[0]);
    assert_int_equal(json_object_size(was), json_object_size(is));
    json_object_foreach(was, key, value) {
        json_t *now = json_object_get(is, key), *item;
        size_t i;
        bool grows = strcmp(key, "animations") == 0 || strcmp(key, "accessors") == 0 || strcmp(key, "bufferViews") == 0;
        if (strcmp(key, "buffers") == 0) {
            assert_int_equal(json_integer_value(json_object_get(json_array_get(now, 0), "byteLength")), size[1]);
        } else if (grows) {
            json_array_foreach(value, i, item) {
                if (!json_equal(item, json_array_get(now, i))) fail_msg("%s: %s[%zu] changed", source, key, i);
            }
        } else if (!json_equal(value, now)) {
            fail_msg("%s: %s changed", source, key);
        }
    }
    assert_int_equal(json_array_size(json_object_get(was, "animations")) + 1, json_array_size(json_object_get(is, "animations")));
    json_decref(was);
    json_decref(is);
    free(data[0]);
    free(data[1]);
}

/* World positions of the written clip against the frames that were given. */
static void comes_back(const char *result, const io_character *given, const io_transform *frames, size_t clip, const char *name,
                       double tolerance) {
    io_character read;
    load(result, &read);
    size_t written = 0;
    io_error error;
    assert_true(io_character_find_clip(&read, name, &written, &error));
    const io_clip *was = &given->clips[clip], *is = &read.clips[written];
    assert_true(fabs(was->seconds - is->seconds) < 1e-4);
    io_transform *locals = calloc(read.joint_count, sizeof *locals);
    double(*expected)[12] = calloc(given->joint_count, sizeof *expected), (*got)[12] = calloc(read.joint_count, sizeof *got);
    for (uint32_t f = 0; f < was->frames; ++f) {
        io_character_world(given, frames + (size_t)f * given->joint_count, expected);
        io_character_sample(&read, written, f / was->frame_rate, locals);
        io_character_world(&read, locals, got);
        for (size_t j = 0; j < given->joint_count; ++j) {
            int32_t same = io_character_find_joint(&read, given->joints[j].name);
            assert_true(same >= 0);
            for (int k = 3; k < 12; k += 4) {
                double off = fabs(expected[j][k] - got[same][k] * given->unit / (given->is_gltf ? read.unit : given->unit));
                if (!(off <= tolerance)) fail_msg("%s frame %u joint %s: %g m off", result, f, given->joints[j].name, off);
            }
        }
    }
    free(got);
    free(expected);
    free(locals);
    io_character_free(&read);
}

static void round_trip(const char *file, const char *clip_name, double tolerance) {
    io_character character;
    io_error error = {{0}};
    size_t clip = 0;
    const char *source = shared_file(0, file), *result = in_folder("out.glb");
    load(source, &character);
    assert_true(io_character_find_clip(&character, clip_name, &clip, &error));
    io_transform *frames = changed_frames(&character, clip);
    const io_baked_clip baked = {"test_phalanx", character.clips[clip].frame_rate, character.clips[clip].frames, frames, (int32_t)clip};
    if (!io_write_glb(result, &character, &baked, 1, &error)) fail_msg("%s", error.text);
    if (character.is_gltf) nothing_was_lost(source, result);
    comes_back(result, &character, frames, clip, "test_phalanx", tolerance);
    free(frames);
    io_character_free(&character);
}

static void cesiumman_keeps_its_content(void **state) { (void)state, round_trip("gltf_cesiumman/CesiumMan.glb", NULL, 1e-6); }
static void fox_keeps_its_content(void **state) { (void)state, round_trip("gltf_fox/Fox.glb", "Walk", 1e-6); }
static void kaykit_keeps_its_content(void **state) { (void)state, round_trip("gltf_kaykit/Med_MovementBasic.glb", "Walking_A", 1e-6); }
static void bvh_becomes_a_skeleton(void **state) { (void)state, round_trip("bvhtoolbox_walk/walk01.bvh", NULL, 1e-5); }
static void cmu_bvh_becomes_a_skeleton(void **state) { (void)state, round_trip("cmu_bvh/12_01_walk.bvh", NULL, 1e-5); }
static void collada_becomes_a_skeleton(void **state) { (void)state, round_trip("ozz_pab/pab_walk.dae", NULL, 1e-5); }

/* CesiumMan stands under two matrix nodes; moving one of those makes it translation, rotation and scale, and only that one. */
static void animated_matrix_becomes_parts(void **state) {
    (void)state;
    io_character character;
    io_error error = {{0}};
    load(shared_file(0, "gltf_cesiumman/CesiumMan.glb"), &character);
    io_transform *frames = changed_frames(&character, 0);
    int32_t carrier = io_character_find_joint(&character, "Armature");
    for (uint32_t f = 0; f < character.clips[0].frames; ++f)
        frames[f * character.joint_count + (size_t)carrier].translation[1] = 0.01f * (float)f;
    const io_baked_clip baked = {"moved", character.clips[0].frame_rate, character.clips[0].frames, frames, -1};
    const char *result = in_folder("matrix.glb");
    assert_true(io_write_glb(result, &character, &baked, 1, &error));
    uint8_t *data;
    const uint8_t *bin;
    uint32_t size;
    json_t *root = read_glb(result, &data, &bin, &size), *nodes = json_object_get(root, "nodes");
    assert_null(json_object_get(json_array_get(nodes, 1), "matrix"));
    assert_non_null(json_object_get(json_array_get(nodes, 1), "rotation"));
    assert_non_null(json_object_get(json_array_get(nodes, 0), "matrix"));
    json_decref(root);
    free(data);
    comes_back(result, &character, frames, 0, "moved", 1e-6);
    free(frames);
    io_character_free(&character);
}

static void write_text(const char *path, const void *data, size_t size) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(size, fwrite(data, 1, size, out));
    fclose(out);
}

/* A .gltf with one buffer in it and one beside it, a picture beside it, extras, morph weights that the clip moves too. */
static void parts_beside_a_gltf_are_taken_in(void **state) {
    (void)state;
    const float beside[] = {0, 1, /* rotations */ 0, 0, 0, 1, 0, 0, 1, 0};
    write_text(in_folder("two parts.bin"), beside, sizeof beside);
    const uint8_t picture[] = "\x89PNG\r\n\x1a\n and the rest of it";
    write_text(in_folder("face.png"), picture, sizeof picture);
    const char text[] =
        "{\"asset\":{\"version\":\"2.0\"},\"extras\":{\"keep\":[1,2.5,\"\\u00e4\"]},\"extensionsUsed\":[\"ACME_thing\"],\"extensions\":{"
        "\"ACME_thing\":{\"a\":1}},"
        "\"scenes\":[{\"nodes\":[0]}],\"scene\":0,\"nodes\":[{\"name\":\"a\",\"children\":[1]},{\"name\":\"b\",\"translation\":[0,1,0]}],"
        "\"skins\":[{\"joints\":[0,1]}],\"images\":[{\"uri\":\"face.png\",\"extras\":7}],"
        /* 0, 1 as floats */
        "\"buffers\":[{\"byteLength\":8,\"uri\":\"data:application/"
        "octet-stream;base64,AAAAAAAAgD8=\",\"name\":\"first\"},{\"byteLength\":40,\"uri\":\"two%20parts.bin\"}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":8},{\"buffer\":1,\"byteLength\":8},{\"buffer\":1,\"byteOffset\":8,\"byteLength\":32}"
        "],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]},"
        "{\"bufferView\":1,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\"},{\"bufferView\":2,\"componentType\":5126,\"count\":2,"
        "\"type\":\"VEC4\"}],"
        "\"animations\":[{\"name\":\"turn\",\"samplers\":[{\"input\":0,\"output\":2},{\"input\":0,\"output\":1}],"
        "\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}},{\"sampler\":1,\"target\":{\"node\":0,\"path\":"
        "\"weights\"}}]}]}";
    write_text(in_folder("parts.gltf"), text, sizeof text - 1);
    io_character character;
    io_error error = {{0}};
    load(in_folder("parts.gltf"), &character);
    io_transform *frames = changed_frames(&character, 0);
    const io_baked_clip baked = {"turn_phalanx", character.clips[0].frame_rate, character.clips[0].frames, frames, 0};
    char result[160];
    snprintf(result, sizeof result, "%s/parts.glb", folder);
    if (!io_write_glb(result, &character, &baked, 1, &error)) fail_msg("%s", error.text);
    uint8_t *data;
    const uint8_t *bin;
    uint32_t size;
    json_t *root = read_glb(result, &data, &bin, &size);
    assert_int_equal(1, json_array_size(json_object_get(root, "buffers")));
    assert_string_equal("first", json_string_value(json_object_get(json_array_get(json_object_get(root, "buffers"), 0), "name")));
    assert_non_null(json_object_get(json_object_get(root, "extensions"), "ACME_thing"));
    assert_string_equal("\xc3\xa4", json_string_value(json_array_get(json_object_get(json_object_get(root, "extras"), "keep"), 2)));
    json_t *image = json_array_get(json_object_get(root, "images"), 0),
           *view = json_array_get(json_object_get(root, "bufferViews"), (size_t)json_integer_value(json_object_get(image, "bufferView")));
    assert_null(json_object_get(image, "uri"));
    assert_int_equal(7, json_integer_value(json_object_get(image, "extras")));
    assert_string_equal("image/png", json_string_value(json_object_get(image, "mimeType")));
    assert_int_equal(sizeof picture, json_integer_value(json_object_get(view, "byteLength")));
    assert_memory_equal(picture, bin + json_integer_value(json_object_get(view, "byteOffset")), sizeof picture);
    /* both clips: joints and weights */
    json_t *animation = json_array_get(json_object_get(root, "animations"), 1), *channel;
    size_t i, weights = 0;
    json_array_foreach(json_object_get(animation, "channels"), i, channel) weights +=
        strcmp("weights", json_string_value(json_object_get(json_object_get(channel, "target"), "path"))) == 0;
    assert_int_equal(1, weights);
    json_decref(root);
    free(data);
    comes_back(result, &character, frames, 0, "turn_phalanx", 1e-6);
    /* the source's own clip still reads the same from its new place: half way through its half turn about Z */
    io_character again;
    load(result, &again);
    io_transform locals[2];
    io_character_sample(&again, 0, 0.5, locals);
    assert_true(fabsf(fabsf(locals[1].rotation[2]) - 0.70710678f) < 1e-6f);
    io_character_free(&again);
    free(frames);
    io_character_free(&character);
}

static size_t files_in_folder(void) {
    size_t count = 0;
    DIR *listing = opendir(folder);
    while (readdir(listing) != NULL) ++count;
    closedir(listing);
    return count;
}

static void failure_leaves_nothing_behind(void **state) {
    (void)state;
    io_character character;
    io_error error = {{0}};
    load(shared_file(0, "gltf_fox/Fox.glb"), &character);
    io_transform *frames = changed_frames(&character, 0);
    frames[character.joint_count + 3].rotation[1] = NAN;
    const io_baked_clip baked = {"bad", 24, character.clips[0].frames, frames, 0};
    size_t before = files_in_folder();
    assert_false(io_write_glb(in_folder("bad.glb"), &character, &baked, 1, &error));
    assert_non_null(strstr(error.text, "frame 1"));
    frames[character.joint_count + 3].rotation[1] = 0;
    char missing[160];
    snprintf(missing, sizeof missing, "%s/no such folder/out.glb", folder);
    assert_false(io_write_glb(missing, &character, &baked, 1, &error));
    assert_non_null(strstr(error.text, "no such folder"));
    assert_int_equal(before, files_in_folder());
    free(frames);
    io_character_free(&character);
}

static int make_folder(void **state) {
    (void)state;
    temporary_template(folder, sizeof folder, "glb");
    return mkdtemp(folder) == NULL;
}
static int remove_folder(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cesiumman_keeps_its_content),   cmocka_unit_test(fox_keeps_its_content),
        cmocka_unit_test(kaykit_keeps_its_content),      cmocka_unit_test(bvh_becomes_a_skeleton),
        cmocka_unit_test(cmu_bvh_becomes_a_skeleton),    cmocka_unit_test(collada_becomes_a_skeleton),
        cmocka_unit_test(animated_matrix_becomes_parts), cmocka_unit_test(parts_beside_a_gltf_are_taken_in),
        cmocka_unit_test(failure_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
