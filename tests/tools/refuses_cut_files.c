/* A good file of each format, made here, cut after every one of its bytes. Each piece is refused by a sentence of one line that names it,
 * or, where what is left is a whole file too, loads. On the command line, for some of the lengths: status 1, one line, nothing written,
 * within 5 s and 1 GB. */
#define _GNU_SOURCE
#include "support.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

#include "io/character.h"
#include "io/ground.h"
#include "made_files.h"
#include "tool.h"

#if defined(PHALANX_SANITIZED)
enum { SECONDS = 30, SANITIZED = 1 };
#else
enum { SECONDS = 5, SANITIZED = 0 };
#endif

static bytes bytes_of_file(const char *path) {
    bytes b;
    io_error error;
    if (!io_read_file(path, &b.at, &b.size, &error)) fail_msg("%s", error.text);
    return b;
}

static bytes small_gltf(void) {
    return bytes_of_text(
        "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"name\":\"Hips\",\"children\":[1]},"
        "{\"name\":\"Leg\",\"translation\":[0,-1,0]}],\"skins\":[{\"joints\":[0,1]}],\"buffers\":[{\"byteLength\":32,\"uri\":"
        "\"data:application/octet-stream;base64,AAAAAAAAgD8AAAAAAAAAAAAAAAAAAAAAAACAPwAAAAA=\"}],\"bufferViews\":[{\"buffer\":0,"
        "\"byteLength\":8},{\"buffer\":0,\"byteOffset\":8,\"byteLength\":24}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,"
        "\"count\":2,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]},{\"bufferView\":1,\"componentType\":5126,\"count\":2,\"type\":\"VEC3\"}],"
        "\"animations\":[{\"name\":\"Hop\",\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,"
        "\"path\":\"translation\"}}]}]}");
}

static bytes small_collada(void) {
    return bytes_of_text(
        "<?xml version=\"1.0\"?>\n<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\"><asset><unit meter=\"1\"/>"
        "<up_axis>Y_UP</up_axis></asset><library_animations><animation id=\"hop\"><source id=\"in\"><float_array id=\"in-a\" count=\"2\">0 1"
        "</float_array><technique_common><accessor source=\"#in-a\" count=\"2\"><param name=\"TIME\" type=\"float\"/></accessor>"
        "</technique_common></source><source id=\"out\"><float_array id=\"out-a\" count=\"32\">1 0 0 0 0 1 0 1 0 0 1 0 0 0 0 1 "
        "1 0 0 0 0 1 0 1.1 0 0 1 0 0 0 0 1</float_array><technique_common><accessor source=\"#out-a\" count=\"2\" stride=\"16\">"
        "<param name=\"TRANSFORM\" type=\"float4x4\"/></accessor></technique_common></source><sampler id=\"s1\"><input semantic=\"INPUT\" "
        "source=\"#in\"/><input semantic=\"OUTPUT\" source=\"#out\"/></sampler><channel source=\"#s1\" target=\"hips/transform\"/>"
        "</animation></library_animations><library_visual_scenes><visual_scene id=\"s\"><node id=\"hips\" name=\"Hips\" type=\"JOINT\">"
        "<matrix sid=\"transform\">1 0 0 0 0 1 0 1 0 0 1 0 0 0 0 1</matrix><node id=\"leg\" name=\"Leg\" type=\"JOINT\">"
        "<matrix sid=\"transform\">1 0 0 0 0 1 0 -1 0 0 1 0 0 0 0 1</matrix></node></node></visual_scene></library_visual_scenes>"
        "<scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>\n");
}

static uint32_t crc(const unsigned char *data, size_t size) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < size; ++i) {
        c ^= data[i];
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    return ~c;
}
static void big_endian(unsigned char *to, uint32_t value) {
    for (int k = 0; k < 4; ++k) to[k] = (unsigned char)(value >> (24 - 8 * k));
}
static void add_chunk(bytes *png, const char *type, const void *data, size_t size) {
    png->at = realloc(png->at, png->size + size + 12);
    unsigned char *at = png->at + png->size;
    big_endian(at, (uint32_t)size);
    memcpy(at + 4, type, 4);
    if (size > 0) memcpy(at + 8, data, size);
    big_endian(at + 8 + size, crc(at + 4, size + 4));
    png->size += size + 12;
}
/* 8 by 8 grey pixels, stored without compression */
static bytes small_png(void) {
    unsigned char header[13] = {0, 0, 0, 8, 0, 0, 0, 8, 8}, packed[7 + 72 + 4] = {0x78, 1, 1, 72, 0, (unsigned char)~72, 0xff};
    uint32_t a = 1, b = 0;
    for (int i = 0; i < 72; ++i) {
        packed[7 + i] = i % 9 ? (unsigned char)i : 0;
        a += packed[7 + i], b = (b + a) % 65521;
    }
    big_endian(packed + 79, b << 16 | a);
    bytes png = {malloc(8), 8};
    memcpy(png.at, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&png, "IHDR", header, sizeof header), add_chunk(&png, "IDAT", packed, sizeof packed), add_chunk(&png, "IEND", NULL, 0);
    return png;
}

static bytes small_grid(void) {
    return bytes_of_text("ncols 4\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 2\nNODATA_value -9999\n1.5 2 3 4\n2 3 4 5\n3 4 5 6.25\n");
}

static bytes small_mesh(void) {
    return bytes_of_text("v -10 0 -10\nv 10 0.5 -10\nv 10 1 10\nv -10 0 10\nf 1 2 3\nf 1 3 4\n");
}

/* scratch() lends its paths for a while only */
static const char *path_for(const char *name) {
    static char kept[256][128];
    static size_t count;
    assert_true(count < 256 && strlen(scratch(name)) < sizeof *kept);
    return strcpy(kept[count++], scratch(name));
}

/* ---- in this process, every length */

typedef bool (*loader)(const char *path, io_error *error);

static bool loads_character(const char *path, io_error *error) {
    io_character character;
    if (!io_character_load(path, &(io_character_options){0}, &character, error)) return false;
    io_character_free(&character);
    return true;
}
static bool loads_ground(const char *path, io_error *error) {
    ground *ground;
    const ground_options options = ground_default_options();
    if (!ground_load(path, &options, &ground, error)) return false;
    ground_free(ground);
    return true;
}

/* harmless: the last bytes that may be missing: a closing newline, digits of the last number, a checksum; SIZE_MAX where shorter files of
 * the kind are whole files too */
static void every_length(const char *name, loader loads, bytes good, size_t harmless) {
    const char *path = path_for(name);
    size_t loaded = 0;
    for (size_t length = 0; length < good.size; ++length) {
        io_error error = {{0}};
        write_bytes(path, good.at, length);
        if (loads(path, &error)) {
            ++loaded;
            if (harmless != SIZE_MAX && length + harmless < good.size) fail_msg("%s loads with %zu of its %zu bytes", name, length, good.size);
            continue;
        }
        const size_t said = strlen(error.text);
        if (said < strlen(path) + 8 || !strstr(error.text, name) || strchr(error.text, '\n'))
            fail_msg("%s with %zu bytes: '%s' is not a sentence about it", name, length, error.text);
    }
    io_error error;
    write_bytes(path, good.at, good.size);
    if (!loads(path, &error)) fail_msg("%s", error.text);
    printf("# %s: %zu lengths, %zu loaded\n", name, good.size, loaded);
    free(good.at);
}

static void characters(void **state) {
    (void)state;
    every_length("standing.bvh", loads_character, standing_bvh(), 2);
    every_length("hop.gltf", loads_character, small_gltf(), 0);
    every_length("hips.dae", loads_character, small_collada(), 1);
    const char *bvh = path_for("made.bvh"), *glb = path_for("made.glb");
    const bytes text = standing_bvh();
    write_bytes(bvh, text.at, text.size);
    free(text.at);
    if (run_tool("bake '%s' --ground flat -o '%s'", bvh, glb) != 0) fail_msg("%s", tool_said);
    every_length("made.glb", loads_character, bytes_of_file(glb), 0);
}

static void grounds(void **state) {
    (void)state;
    every_length("grid.asc", loads_ground, small_grid(), 4);
    every_length("grey.png", loads_ground, small_png(), 16); /* the end's chunk and checksum */
    io_error error = {{0}};
    const char *path = path_for("mesh.obj");
    const bytes mesh = small_mesh();
    write_bytes(path, mesh.at, mesh.size);
    free(mesh.at);
    if (!loads_ground(path, &error) && strstr(error.text, "Embree")) printf("# skipped: built without Embree: meshes\n");
    else every_length("mesh.obj", loads_ground, small_mesh(), SIZE_MAX);
    /* an SRTM tile is known by its size: none but the whole */
    bytes tile = {calloc(1201 * 1201, 2), 1201 * 1201 * 2};
    path = path_for("N10E010.hgt");
    for (size_t length = 0; length < tile.size; length += length < 4096 || length + 256 > tile.size ? 1 : 100003) {
        write_bytes(path, tile.at, length);
        if (loads_ground(path, &error)) fail_msg("%s loads with %zu bytes", path, length);
        if (!strstr(error.text, "N10E010.hgt") || strchr(error.text, '\n')) fail_msg("%zu bytes: '%s'", length, error.text);
        if (length >= 4096 && length + 100003 >= tile.size - 256 && length < tile.size - 256) length = tile.size - 257;
    }
    write_bytes(path, tile.at, tile.size);
    if (!loads_ground(path, &error)) fail_msg("%s", error.text);
    free(tile.at);
}

/* ---- the command itself */

static int wait_for(pid_t child, const char *what) {
    int status = 0;
    for (int waited = 0; waitpid(child, &status, WNOHANG) == 0; ++waited) {
        if (waited > SECONDS * 500) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            fail_msg("%s took more than %d s", what, SECONDS);
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    if (!WIFEXITED(status)) fail_msg("%s: ended by signal %d", what, WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* phalanx with these words: refused in one line that holds `names`, nothing on standard output, and no such files afterwards */
static void is_refused(const char *const *words, const char *names, const char *const *unwritten) {
    static const char *said, *printed;
    if (!said) said = path_for("said"), printed = path_for("printed");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(open(printed, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1), dup2(open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
        if (!SANITIZED) setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)1 << 30, (rlim_t)1 << 30});
        execv(PHALANX_CLI, (char *const *)words);
        _exit(127);
    }
    const int status = wait_for(child, words[1]);
    bytes sentence = bytes_of_file(said), output = bytes_of_file(printed);
    const char *text = (const char *)sentence.at, *end = memchr(text, '\n', sentence.size);
    if (status != 1 || output.size != 0 || end != text + sentence.size - 1 || !memmem(text, sentence.size, names, strlen(names)))
        fail_msg("phalanx %s %s: status %d, '%.*s' and %zu bytes of output", words[1], words[2], status, (int)sentence.size, text, output.size);
    for (; *unwritten; ++unwritten)
        if (file_exists(*unwritten)) fail_msg("phalanx %s %s: refused, and left %s", words[1], words[2], *unwritten);
    free(sentence.at), free(output.at);
}

/* Some lengths of each: a process takes its time. */
static void bake_leaves_nothing(void **state) {
    (void)state;
    const char *bvh = path_for("walker.bvh"), *out = path_for("out.glb"), *json = path_for("out.json"), *page = path_for("out.html");
    const bytes walker = standing_bvh();
    write_bytes(bvh, walker.at, walker.size);
    const struct {
        const char *name;
        bytes good;
        bool ground;
    } files[] = {{"cut.bvh", standing_bvh(), false}, {"cut.gltf", small_gltf(), false}, {"cut.dae", small_collada(), false},
                 {"cut.asc", small_grid(), true},    {"cut.png", small_png(), true}};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        const size_t size = files[i].good.size - 24; /* what is nearly whole may load */
        for (size_t k = 0; k <= 4; ++k) {
            const char *path = path_for(files[i].name);
            write_bytes(path, files[i].good.at, size * k / 4);
            const char *const words[] = {"phalanx", "bake", files[i].ground ? bvh : path, "--ground", files[i].ground ? path : "flat",
                                         "-o", out, "--json", json, "--report", page, NULL};
            is_refused(words, files[i].name, (const char *const[]){out, json, page, NULL});
        }
        free(files[i].good.at);
    }
    free(walker.at);
}

/* JSON and captures. */
static void solve_feet_and_replay_refuse(void **state) {
    (void)state;
    static const char cases[] = "{\"cases\": [{\"solver\": \"two_bone\", \"joints\": [[0,1,0],[0,0.5,0.1],[0,0,0]], \"target\": [0,0.2,0.1]}]}";
    static const char scene[] = "{\"legs\": [{\"hip\": [0.1,0.9,0]}, {\"hip\": [-0.1,0.9,0]}], \"frames\": [{\"repeat\": 2}]}";
    const char *capture = path_for("frame.capture"), *page = path_for("page.html"), *picture = path_for("picture.svg");
    const char *path = path_for("cut.json");
    for (size_t length = 0; length + 1 < sizeof cases; length += 7) {
        write_bytes(path, cases, length);
        is_refused((const char *const[]){"phalanx", "solve", path, "--svg", picture, NULL}, "cut.json", (const char *const[]){picture, NULL});
    }
    for (size_t length = 0; length + 1 < sizeof scene; length += 7) {
        write_bytes(path, scene, length);
        is_refused((const char *const[]){"phalanx", "feet", path, "--capture", capture, NULL}, "cut.json", (const char *const[]){capture, NULL});
    }
    write_bytes(path, scene, sizeof scene - 1);
    if (run_tool("feet '%s' --capture '%s'", path, capture) != 0) fail_msg("%s", tool_said);
    const bytes good = bytes_of_file(capture);
    path = path_for("cut.capture");
    for (size_t length = 0; length < good.size; length += length < 64 ? 13 : good.size / 7) {
        write_bytes(path, good.at, length);
        is_refused((const char *const[]){"phalanx", "replay", path, "--report", page, NULL}, "cut.capture", (const char *const[]){page, NULL});
    }
    free(good.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters),
        cmocka_unit_test(grounds),
        cmocka_unit_test(bake_leaves_nothing),
        cmocka_unit_test(solve_feet_and_replay_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
