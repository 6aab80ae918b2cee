/* Hostile files: every public bad file, files cut short at many places, files with random damage, and files made to exhaust a
 * reader. Each is refused in one sentence with status 1, or loads; nothing crashes, hangs, or takes a gigabyte. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>
#include <jansson.h>

#include "io/character.h"
#include "io/ground.h"
#include "phalanx/legs.h"
#include "shared_files.h"
#include "temporary.h"

#if defined(PHALANX_SANITIZED)
enum { SECONDS_ALLOWED = 20, SANITIZED = 1 };
#else
enum { SECONDS_ALLOWED = 5, SANITIZED = 0 };
#endif

static char folder[128];

static const char *in_folder(const char *name) {
    static char path[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static const char *write_file(const char *name, const void *data, size_t size) {
    const char *path = in_folder(name);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(out >= 0);
    assert_int_equal(size, write(out, data, size));
    close(out);
    return path;
}

static void read_output(const char *path, char *text, size_t size) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    text[fread(text, 1, size - 1, in)] = 0;
    fclose(in);
}

/* `phalanx inspect FILE` under limits; its status, after checking the manners of what it printed. */
static int inspect(const char *file, char *message, size_t message_size) {
    char out_path[160], err_path[160], out[64];
    snprintf(out_path, sizeof out_path, "%s/stdout", folder);
    snprintf(err_path, sizeof err_path, "%s/stderr", folder);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int o = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600), e = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(o, 1);
        dup2(e, 2);
        if (!SANITIZED) setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)1 << 30, (rlim_t)1 << 30});
        execl(PHALANX_CLI, "phalanx", "inspect", "--json", file, (char *)NULL);
        _exit(127);
    }
    int status = 0, waited = 0;
    struct timespec nap = {0, 2000000};
    for (; waitpid(child, &status, WNOHANG) == 0; ++waited) {
        if (waited > SECONDS_ALLOWED * 400) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            fail_msg("%s: took more than %d s", file, SECONDS_ALLOWED);
        }
        nanosleep(&nap, NULL);
    }
    read_output(err_path, message, message_size);
    read_output(out_path, out, sizeof out);
    if (!WIFEXITED(status)) fail_msg("%s: ended by signal %d: %s", file, WTERMSIG(status), message);
    int code = WEXITSTATUS(status);
    if (code == 0) {
        if (out[0] != '{' || message[0] != 0) fail_msg("%s: loaded, but printed '%s' and '%s'", file, out, message);
    } else {
        const char *line_end = strchr(message, '\n');
        if (code != 1 || out[0] != 0 || line_end == NULL || line_end[1] != 0 || strstr(message, file) == NULL)
            fail_msg("%s: status %d, standard output '%s', standard error '%s'", file, code, out, message);
    }
    return code;
}

static size_t visited, refused_count;

static void visit(const char *path) {
    DIR *listing = opendir(path);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char inner[1024], report[1100], message[1024];
        if (entry->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        struct stat what;
        assert_int_equal(0, stat(inner, &what));
        if (S_ISDIR(what.st_mode)) {
            visit(inner);
            continue;
        }
        if (strstr(entry->d_name, ".report.json") != NULL) continue;
        int code = inspect(inner, message, sizeof message);
        ++visited;
        refused_count += code == 1;
        snprintf(report, sizeof report, "%s.report.json", inner);
        json_t *verdict = json_load_file(report, 0, NULL);
        if (verdict != NULL) {
            /* the validator's verdict: errors are refused; a sound file loads, unless there is no skeleton in it */
            bool sound = json_integer_value(json_object_get(json_object_get(verdict, "issues"), "numErrors")) == 0;
            if (sound && code != 0 && strstr(message, "holds no joints") == NULL)
                fail_msg("%s is sound, but was refused: %s", inner, message);
            if (!sound && code == 0) fail_msg("%s has errors, but was loaded", inner);
            json_decref(verdict);
        } else if (strstr(inner, ".bvh") != NULL && code != 0) {
            fail_msg("%s is odd but usable, and was refused: %s", inner, message);
        }
    }
    closedir(listing);
}

static void public_bad_files(void **state) {
    (void)state;
    const char *start = shared_file(0, "malformed");
    visit(start);
    printf("%zu files, %zu refused\n", visited, refused_count);
    assert_true(visited > 100);
}

typedef enum kind { CHARACTER, GROUND } kind;

/* Loads in this process, so that a sanitizer sees it, and looks at what was loaded as the commands do. */
static bool loads(kind what, const char *path, io_error *error) {
    error->text[0] = 0;
    if (what == GROUND) {
        ground *g;
        ground_options options = ground_default_options();
        if (!ground_load(path, &options, &g, error)) return false;
        double height, normal[3];
        assert_true(ground_height(g, 0, 0, &height, normal) && isfinite(height));
        ground_free(g);
        return true;
    }
    io_character character;
    if (!io_character_load(path, &(io_character_options){0}, &character, error)) return false;
    legs found;
    io_error ignored;
    assert_true(legs_find(&character, NULL, &found, &character.notes, &ignored));
    io_transform *locals = calloc(character.joint_count, sizeof *locals);
    double(*world)[12] = calloc(character.joint_count, sizeof *world);
    for (size_t c = 0; c < character.clip_count && c < 3; ++c) {
        io_character_sample(&character, c, character.clips[c].seconds * 0.6, locals);
        io_character_world(&character, locals, world);
    }
    free(world);
    free(locals);
    io_character_free(&character);
    return true;
}

/* Prefixes of a good file: all of the first `head` and the last `tail` bytes, and every `step`-th between. None loads, save those that
 * lack no more than the last `harmless` bytes (a digit of the last number, a checksum, a closing newline). */
static void prefixes(kind what, const char *good, size_t head, size_t tail, size_t step, size_t harmless) {
    uint8_t *data;
    size_t size, tried = 0, loaded = 0;
    io_error error;
    assert_true(io_read_file(good, &data, &size, &error));
    char name[64];
    snprintf(name, sizeof name, "cut%s", strrchr(good, '.'));
    /* SRTM tiles are known by their size and their name */
    const char *base = strrchr(good, '/') + 1;
    if (strstr(good, ".hgt") != NULL) snprintf(name, sizeof name, "%.40s", base);
    for (size_t length = 0, next; length < size; length = next) {
        next = length + (length < head || length + tail >= size ? 1 : step);
        if (length + tail < size && next + tail > size) next = size - tail;
        const char *path = write_file(name, data, length);
        ++tried;
        if (loads(what, path, &error)) {
            ++loaded;
            if (length + harmless < size) fail_msg("%s loads with %zu of its %zu bytes", good, length, size);
        } else if (strstr(error.text, name) == NULL || strchr(error.text, '\n') != NULL) {
            fail_msg("%s with %zu bytes: '%s' is not one sentence that names the file", good, length, error.text);
        }
    }
    assert_true(loads(what, write_file(name, data, size), &error));
    printf("%s: %zu prefixes, %zu loaded\n", base, tried, loaded);
    free(data);
}

static void cut_glb(void **state) { (void)state, prefixes(CHARACTER, shared_file(0, "gltf_fox/Fox.glb"), 4096, 300, 997, 0); }
static void cut_gltf(void **state) {
    (void)state, prefixes(CHARACTER, shared_file(0, "malformed/assimp_gltf2/simple_skin/simple_skin.gltf"), 4096, 200, 7, 8);
}
static void cut_bvh(void **state) { (void)state, prefixes(CHARACTER, shared_file(0, "bvhtoolbox_walk/walk01.bvh"), 4096, 300, 61, 12); }
static void cut_dae(void **state) { (void)state, prefixes(CHARACTER, shared_file(0, "ozz_pab/pab_walk.dae"), 64, 2, 60013, 2); }
static void cut_png(void **state) { (void)state, prefixes(GROUND, shared_file(0, "terrain_misc/fuji.png"), 4096, 40, 40009, 20); }
static void cut_asc(void **state) {
    (void)state, prefixes(GROUND, shared_file(0, "terrain_misc/DEM-kootenai_37x50_1x1.asc"), 4096, 150, 211, 20);
}
static void cut_hgt(void **state) { (void)state, prefixes(GROUND, shared_file(0, "terrain_srtm/N57E011.hgt"), 4096, 20, 500009, 0); }
static void cut_tif(void **state) {
    (void)state;
    io_error error;
    const char *good = shared_file(0, "terrain_srtm/olinda_dem_utm25s.tif");
    if (!loads(GROUND, good, &error) && strstr(error.text, "built without GDAL") != NULL) skip();
    prefixes(GROUND, good, 4096, 60, 3001, 4);
}

static uint64_t random_state;
static uint32_t random_below(uint32_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

/* Copies with a few bytes changed, taken out, doubled or made into digits: anything but a crash will do. */
static void damaged_copies(kind what, const char *good, int rounds) {
    uint8_t *data;
    size_t size;
    io_error error;
    int loaded = 0;
    assert_true(io_read_file(good, &data, &size, &error));
    uint8_t *copy = malloc(size + 64);
    char name[64];
    snprintf(name, sizeof name, "damaged%s", strrchr(good, '.'));
    for (int round = 0; round < rounds; ++round) {
        size_t length = size;
        memcpy(copy, data, size);
        for (uint32_t change = 0, changes = 1 + random_below(6); change < changes; ++change) {
            /* half of the damage goes where headers and JSON are */
            uint32_t at = random_below(2) ? random_below((uint32_t)(length < 2000 ? length : 2000)) : random_below((uint32_t)length),
                     span = 1 + random_below(24);
            if (at + span > length) span = 1;
            switch (random_below(5)) {
            case 0:
                copy[at] = (uint8_t)random_below(256);
                break;
            case 1:
                copy[at] ^= (uint8_t)(1u << random_below(8));
                break;
            case 2:
                copy[at] = (uint8_t) "0123456789-.eE{}[],\""[random_below(20)];
                break;
            case 3:
                memmove(copy + at, copy + at + span, length - at - span);
                length -= span;
                break;
            default:
                if (length + span <= size + 64) {
                    memmove(copy + at + span, copy + at, length - at);
                    length += span;
                }
            }
        }
        loaded += loads(what, write_file(name, copy, length), &error);
    }
    printf("%s: %d damaged copies, %d loaded\n", strrchr(good, '/') + 1, rounds, loaded);
    free(copy);
    free(data);
}

static void random_damage(void **state) {
    (void)state;
    const char *seed = getenv("PHALANX_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 20240607;
    printf("seed %llu (PHALANX_SEED)\n", (unsigned long long)random_state);
    damaged_copies(CHARACTER, shared_file(0, "malformed/assimp_gltf2/simple_skin/simple_skin.gltf"), 2000);
    damaged_copies(CHARACTER, shared_file(0, "gltf_fox/Fox.glb"), 400);
    damaged_copies(CHARACTER, shared_file(0, "bvhtoolbox_walk/walk01.bvh"), 400);
    damaged_copies(CHARACTER, shared_file(0, "ozz_pab/pab_walk.dae"), 6);
    damaged_copies(GROUND, shared_file(0, "terrain_misc/DEM-kootenai_37x50_1x1.asc"), 400);
    damaged_copies(GROUND, shared_file(0, "terrain_misc/fuji.png"), 20);
}

/* A growing text. */
typedef struct text {
    char *at;
    size_t size, capacity;
} text;
static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
    if (t->size + 512 > t->capacity) t->at = realloc(t->at, t->capacity = t->capacity * 2 + 4096);
    va_list arguments;
    va_start(arguments, format);
    t->size += (size_t)vsnprintf(t->at + t->size, 512, format, arguments);
    va_end(arguments);
}
static int inspect_text(const char *name, text *t, char *message, size_t size) {
    const char *path = write_file(name, t->at, t->size);
    int code = inspect(path, message, size);
    free(t->at);
    *t = (text){0};
    return code;
}

static void exhausting_files(void **state) {
    (void)state;
    char message[1024];
    text t = {0};
    for (int i = 0; i < 300000; ++i) add(&t, "[");
    assert_int_equal(1, inspect_text("nested.gltf", &t, message, sizeof message));

    /* extras nested as deep as JSON allows */
    add(&t, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}],\"skins\":[{\"joints\":[0]}],\"extras\":");
    for (int i = 0; i < 1500; ++i) add(&t, "[");
    for (int i = 0; i < 1500; ++i) add(&t, "]");
    add(&t, "}");
    assert_int_equal(0, inspect_text("extras.gltf", &t, message, sizeof message));

    /* a chain of 60,000 joints that are all called foot; the same as a fan; and one node too many */
    for (int fan = 0; fan < 3; ++fan) {
        int count = fan == 2 ? 65536 : 60000;
        add(&t, "{\"asset\":{\"version\":\"2.0\"},\"skins\":[{\"joints\":[0");
        for (int i = 1; i < count; ++i) add(&t, ",%d", i);
        add(&t, "]}],\"nodes\":[{\"name\":\"LeftFoot\"");
        if (fan == 1) {
            add(&t, ",\"children\":[1");
            for (int i = 2; i < count; ++i) add(&t, ",%d", i);
            add(&t, "]");
        }
        for (int i = 1; i < count; ++i) {
            if (fan != 1) add(&t, ",\"children\":[%d]", i);
            add(&t, "},{\"name\":\"LeftFoot\"");
        }
        add(&t, "}]}");
        assert_int_equal(fan == 2, inspect_text("chain.gltf", &t, message, sizeof message));
    }

    /* numbers that promise more than the file holds */
    static const char *const accessors[] = {
        "{\"componentType\":5126,\"count\":4000000000,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]}",
        "{\"bufferView\":0,\"componentType\":5126,\"count\":4611686018427387905,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]}",
        "{\"bufferView\":0,\"byteOffset\":18446744073709551615,\"componentType\":5126,\"count\":1,\"type\":\"SCALAR\",\"min\":[0],\"max\":["
        "1]}",
        "{\"bufferView\":0,\"byteOffset\":-4,\"componentType\":5126,\"count\":1,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]}",
        "{\"bufferView\":7,\"componentType\":5126,\"count\":1,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]}",
        "{\"bufferView\":1,\"componentType\":5126,\"count\":1,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]}",
        "{\"bufferView\":0,\"componentType\":5126,\"count\":-1,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]}",
        "{\"bufferView\":0,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1],\"sparse\":{\"count\":99999999,"
        "\"indices\":{\"bufferView\":0,\"componentType\":5121},\"values\":{\"bufferView\":0}}}",
    };
    for (size_t i = 0; i < sizeof accessors / sizeof *accessors; ++i) {
        add(&t, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}],\"skins\":[{\"joints\":[0]}],\"buffers\":[{\"byteLength\":8,\"uri\":"
                "\"data:;base64,AAAAAAAAgD8=\"}],"
                "\"bufferViews\":[{\"buffer\":0,\"byteLength\":8},{\"buffer\":0,\"byteOffset\":18446744073709551612,\"byteLength\":8}],");
        add(&t, "\"accessors\":[%s,{\"componentType\":5126,\"count\":2,\"type\":\"VEC3\"}],", accessors[i]);
        add(&t, "\"animations\":[{\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":"
                "\"translation\"}}]}]}");
        assert_int_equal(1, inspect_text("numbers.gltf", &t, message, sizeof message));
    }

    /* control characters in names stay out of the message's one line */
    add(&t, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"name\":\"a\\n\\u001b[31mb\",\"rotation\":[0,0,0,0]}],\"skins\":[{\"joints\":[0]"
            "}]}");
    assert_int_equal(1, inspect_text("names.gltf", &t, message, sizeof message));

    add(&t, "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n");
    for (int i = 0; i < 60000; ++i) add(&t, "JOINT a\n{\nOFFSET 0 0 0\n");
    for (int i = 0; i < 60001; ++i) add(&t, "}\n");
    add(&t, "MOTION\nFrames: 1\nFrame Time: 0.1\n0 0 0\n");
    assert_int_equal(0, inspect_text("deep.bvh", &t, message, sizeof message));

    static const char *const motions[] = {"Frames: 4000000000\nFrame Time: 0.01\n1 2 3\n", "Frames: 1e300\nFrame Time: 0.01\n1 2 3\n",
                                          "Frames: -1\nFrame Time: 0.01\n1 2 3\n",         "Frames: 2\nFrame Time: 0\n1 2 3\n4 5 6\n",
                                          "Frames: 1\nFrame Time: nan\n1 2 3\n",           "Frames: 1\nFrame Time: 0.01\n1 nan 3\n",
                                          "Frames: 1\nFrame Time: 0.01\n1 1e999 3\n",      "Frames: 2\nFrame Time: 0.01\n1 2 3\n"};
    for (size_t i = 0; i < sizeof motions / sizeof *motions; ++i) {
        add(&t, "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n}\nMOTION\n%s", motions[i]);
        assert_int_equal(1, inspect_text("motion.bvh", &t, message, sizeof message));
    }
    static const char *const hierarchies[] = {"",
                                              "HIERARCHY\n",
                                              "HIERARCHY\nROOT a\n{\n}\nMOTION\n",
                                              "HIERARCHY\nROOT a\n{\nOFFSET 0 0\n}\n",
                                              "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 99 Zrotation\n}\n",
                                              "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Wrotation\n}\n",
                                              "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\n}\nMOTION\n",
                                              "HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 1\n"};
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; ++i) {
        add(&t, "%s", hierarchies[i]);
        assert_int_equal(1, inspect_text("hierarchy.bvh", &t, message, sizeof message));
    }
    char missing[256];
    snprintf(missing, sizeof missing, "%s/nobody.glb", folder);
    assert_int_equal(1, inspect(missing, message, sizeof message));
    assert_int_equal(1, inspect(folder, message, sizeof message));
}

static int make_folder(void **state) {
    (void)state;
    temporary_template(folder, sizeof folder, "bad");
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
        cmocka_unit_test(public_bad_files), cmocka_unit_test(cut_glb),       cmocka_unit_test(cut_gltf),         cmocka_unit_test(cut_bvh),
        cmocka_unit_test(cut_dae),          cmocka_unit_test(cut_png),       cmocka_unit_test(cut_asc),          cmocka_unit_test(cut_hgt),
        cmocka_unit_test(cut_tif),          cmocka_unit_test(random_damage), cmocka_unit_test(exhausting_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
