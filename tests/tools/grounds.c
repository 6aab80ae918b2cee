/* Grounds of every kind: heights and normals against the surface's own formula, files written here and real ones, placement by
 * origin, heading and scale, and 16-ray casts against single queries and plane geometry. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "io/ground.h"
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

static const char *write_file(const char *name, const void *data, size_t size) {
    const char *path = in_folder(name);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(size, fwrite(data, 1, size, out));
    fclose(out);
    return path;
}

static ground *load_with(const char *name, ground_options options) {
    ground *loaded;
    io_error error = {{0}};
    if (!ground_load(name, &options, &loaded, &error)) fail_msg("%s", error.text);
    return loaded;
}
static ground *load(const char *name) { return load_with(name, ground_default_options()); }

static void refused(const char *name, const char *because) {
    ground *loaded;
    io_error error = {{0}};
    ground_options options = ground_default_options();
    assert_false(ground_load(name, &options, &loaded, &error));
    if (strstr(error.text, because) == NULL) fail_msg("'%s' should say '%s'", error.text, because);
    assert_non_null(strstr(error.text, name));
}

static double height_at(const ground *g, double x, double z) {
    double height = NAN;
    return ground_height(g, x, z, &height, NULL) ? height : NAN;
}

/* Height base + ax x + az z and the normal of that plane. */
static void is_plane(const ground *g, double x, double z, double height, double slope_x, double slope_z, double tolerance) {
    double got, n[3], over = 1 / sqrt(1 + slope_x * slope_x + slope_z * slope_z);
    assert_true(ground_height(g, x, z, &got, n));
    if (!(fabs(got - height) <= tolerance)) fail_msg("height at %g,%g: %.9g instead of %.9g", x, z, got, height);
    assert_true(fabs(n[0] + slope_x * over) <= 1e-5 && fabs(n[1] - over) <= 1e-5 && fabs(n[2] + slope_z * over) <= 1e-5);
}

static void planes_and_stairs(void **state) {
    (void)state;
    ground *g = load("flat");
    is_plane(g, 3, -5, 0, 0, 0, 0);
    assert_true(ground_get_extent(g).endless);
    ground_free(g);
    g = load("slope:30");
    is_plane(g, 3, -5, -5 * 0.57735026919, 0, 0.57735026919, 1e-6);
    ground_free(g);
    ground_options options = ground_default_options();
    options.heading_degrees = 90; /* the walker's +Z runs along the ground's +X, which is level; its -X along +Z */
    g = load_with("slope:30", options);
    is_plane(g, 3, -5, -3 * 0.57735026919, -0.57735026919, 0, 1e-6);
    ground_free(g);
    g = load("stairs");
    is_plane(g, 0, -7, 0, 0, 0, 0);
    is_plane(g, 0, 0.99, 0, 0, 0, 0);
    is_plane(g, 9, 1.01, 0.17, 0, 0, 1e-6);
    is_plane(g, 9, 1.28, 0.17, 0, 0, 1e-6);
    is_plane(g, 9, 1.30, 0.34, 0, 0, 1e-6);
    is_plane(g, 9, 3.89, 10 * 0.17, 0, 0, 1e-6); /* the tenth tread spans 1 + 9 x 0.29 = 3.61 to 3.90 */
    ground_free(g);
    g = load("stairs:0.2,0.5");
    is_plane(g, 0, 1.6, 0.4, 0, 0, 1e-6);
    ground_free(g);
    refused("stairs:1", "stairs:RISE,RUN");
    refused("stairs:0,0", "RUN from 0.01 to below 1000");
    refused("stairs:1e30,1e30", "RISE between -1000 and 1000");
    refused("slope:90", "slope:DEG");
    refused("slope:x", "slope:DEG");
    refused("hills:-1", "hills:SEED");
    refused("mountains", "is no file");
}

static void hills_are_smooth_and_walkable(void **state) {
    (void)state;
    double steepest = 0, lowest = 0, highest = 0;
    for (int seed = 1; seed <= 5; ++seed) {
        char name[16];
        snprintf(name, sizeof name, "hills:%d", seed);
        ground *g = load(name);
        assert_true(fabs(height_at(g, 0, 0)) <= 1e-6);
        for (int i = 0; i < 20000; ++i) {
            /* a low-discrepancy walk over 400 m */
            double x = fmod(i * 0.754877666, 1) * 400 - 200, z = fmod(i * 0.569840291, 1) * 400 - 200, h, n[3], step = 0.02;
            assert_true(ground_height(g, x, z, &h, n));
            double sx = (height_at(g, x + step, z) - height_at(g, x - step, z)) / (2 * step),
                   sz = (height_at(g, x, z + step) - height_at(g, x, z - step)) / (2 * step);
            /* the normal is the surface's own: its slopes are those of central differences */
            assert_true(fabs(-n[0] / n[1] - sx) < 4e-3 && fabs(-n[2] / n[1] - sz) < 4e-3);
            steepest = fmax(steepest, acos(n[1]) * 57.29577951);
            lowest = fmin(lowest, h);
            highest = fmax(highest, h);
        }
        ground_free(g);
    }
    printf("hills: %.1f degrees at their steepest, %.2f to %.2f m high\n", steepest, lowest, highest);
    assert_true(steepest > 18 && steepest < 30);
    assert_true(highest - lowest > 2 && highest - lowest < 8);
}

static void seeds_make_different_hills(void **state) {
    (void)state;
    ground *a = load("hills:1"), *b = load("hills:2"), *c = load("hills");
    assert_true(height_at(a, 7, 3) != height_at(b, 7, 3));
    assert_true(height_at(a, 7, 3) == height_at(c, 7, 3));
    ground_free(a);
    ground_free(b);
    ground_free(c);
}

/* 5 columns, 3 rows of 2 m, height 10 + 0.5 east - 0.25 south; the middle is column 2, row 1, and comes to (0, 0, 0). */
static const char *plane_asc(const char *name, int hole) {
    char text[1024];
    int at = snprintf(text, sizeof text, "ncols 5\nNROWS 3\nxllcorner 1000\nyllcorner 2000\ncellsize 2\nNODATA_value -9999\n");
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 5; ++column) {
            double h = 10 + 0.5 * 2 * (column - 2) - 0.25 * 2 * (row - 1);
            at += snprintf(text + at, sizeof text - (size_t)at, "%g%c", hole == row * 5 + column ? -9999 : h, column < 4 ? ' ' : '\n');
        }
    }
    return write_file(name, text, (size_t)at);
}

static void ascii_grids(void **state) {
    (void)state;
    ground *g = load(plane_asc("plane.asc", -1));
    is_plane(g, 0, 0, 0, 0.5, -0.25, 1e-6);
    is_plane(g, 1.3, 0.7, 0.5 * 1.3 - 0.25 * 0.7, 0.5, -0.25, 1e-6);
    is_plane(g, -4, -2, -2 + 0.5, 0.5, -0.25, 1e-6); /* the north-west sample: west is -X, north -Z */
    is_plane(g, 4, 2, 2 - 0.5, 0.5, -0.25, 1e-6);    /* the last edges belong to the ground */
    assert_false(ground_height(g, 4.01, 0, NULL, NULL));
    assert_false(ground_height(g, 0, -2.01, NULL, NULL));
    assert_false(ground_height(g, NAN, 0, NULL, NULL));
    assert_false(ground_height(g, 1e30, -INFINITY, NULL, NULL));
    ground_extent extent = ground_get_extent(g);
    assert_true(extent.least[0] == -4 && extent.most[0] == 4 && extent.least[2] == -2 && extent.most[2] == 2 && !extent.endless);
    assert_true(fabs(extent.least[1] + 2.5) < 1e-6 && fabs(extent.most[1] - 2.5) < 1e-6);
    ground_free(g);

    /* twice as large, from another point, turned so that +Z runs along the ground's +X */
    ground_options options = {.has_origin = true, .origin = {-2, 1}, .heading_degrees = 90, .scale = 2};
    g = load_with(in_folder("plane.asc"), options);
    is_plane(g, 0.5, 1.5, 0.5 * 1.5 - 0.25 * -0.5, 0.25, 0.5, 1e-6);
    assert_true(isnan(height_at(g, 0, 10.1)) && !isnan(height_at(g, 0, 9.9)));
    extent = ground_get_extent(g);
    assert_true(extent.least[2] == -6 && extent.most[2] == 10 && extent.least[0] == -3 && extent.most[0] == 5);
    ground_free(g);
    options.origin[0] = 9;
    ground *none;
    io_error error = {{0}};
    assert_false(ground_load(in_folder("plane.asc"), &options, &none, &error));
    assert_non_null(strstr(error.text, "X may be from -8 to 8"));

    /* a hole in the middle takes its four cells with it; the origin moves beside it */
    g = load(plane_asc("hole.asc", 7));
    assert_true(ground_height(g, 0, 0, NULL, NULL));
    int missing = 0;
    for (double x = -7.9; x < 8; x += 0.1) missing += isnan(height_at(g, x, 0));
    assert_true(missing > 0);
    ground_free(g);
}

static void degrees_become_metres(void **state) {
    (void)state;
    /* one arc second at 60 degrees north: 111,412.84 cos 60 - 93.5 cos 180 + 0.118 cos 300 = 55,799.98 m a degree of longitude, 111,132.92
     * + 279.91 - 0.5875 - 0.0023 = 111,412.24 of latitude */
    const char text[] = "ncols 3\nnrows 3\nxllcorner 10\nyllcorner 59.999583333\ncellsize 0.000277777778\n0 0 0\n0 0 0\n0 0 0\n";
    ground *g = load(write_file("degrees.asc", text, sizeof text - 1));
    ground_extent extent = ground_get_extent(g);
    assert_true(fabs(extent.most[0] - 55799.98 / 3600) < 1e-4);
    assert_true(fabs(extent.most[2] - 111412.24 / 3600) < 1e-4);
    ground_free(g);
}

static void srtm_tiles(void **state) {
    (void)state;
    /* 301 x 301 big-endian samples: 100 m in the middle, 256 m at its east, a void at the north-west corner */
    static uint8_t tile[301 * 301 * 2];
    size_t middle = 2 * (150 * 301 + 150);
    tile[middle + 1] = 100;
    tile[middle + 2] = 1;
    tile[0] = 0x80;
    ground *g = load(write_file("S01W001.hgt", tile, sizeof tile));
    ground_extent extent = ground_get_extent(g);
    /* half a degree at latitude -0.5 */
    assert_true(fabs(extent.most[2] - 55287) < 60 && fabs(extent.most[0] - 55658) < 60);
    assert_true(fabs(height_at(g, extent.most[0] / 300, 0) - (256 - 100) / 2.0) < 1e-2);
    assert_true(isnan(height_at(g, extent.least[0] * 0.999, extent.least[2] * 0.999)));
    assert_true(fabs(height_at(g, extent.most[0] * 0.999, extent.least[2] * 0.999) + 100) < 1e-3);
    ground_free(g);
    refused(write_file("N10E010.hgt", tile, sizeof tile - 1), "the size of no SRTM tile");
    refused(write_file("N10E011.hgt", tile, 8), "the size of no SRTM tile");
}

static uint32_t crc(const uint8_t *data, size_t size) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < size; ++i) {
        c ^= data[i];
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    }
    return ~c;
}
static void big_endian(uint8_t *to, uint32_t value) {
    for (int k = 0; k < 4; ++k) to[k] = (uint8_t)(value >> (24 - 8 * k));
}
static size_t chunk(uint8_t *png, size_t at, const char *type, const uint8_t *data, size_t size) {
    big_endian(png + at, (uint32_t)size);
    memcpy(png + at + 4, type, 4);
    if (size > 0) memcpy(png + at + 8, data, size);
    big_endian(png + at + 8 + size, crc(png + at + 4, size + 4));
    return at + 12 + size;
}
/* A PNG of `channels` (1 grey, 3 colour), its rows stored without compression. */
static const char *write_png(const char *name, uint32_t width, uint32_t height, int bits, int channels, const uint8_t *pixels) {
    static uint8_t png[4096], raw[2048], packed[2100];
    size_t row = width * (size_t)channels * (size_t)bits / 8, size = 0, at = 8;
    for (uint32_t y = 0; y < height; ++y) {
        raw[size++] = 0;
        memcpy(raw + size, pixels + y * row, row);
        size += row;
    }
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; ++i) {
        a = (a + raw[i]) % 65521;
        b = (b + a) % 65521;
    }
    packed[0] = 0x78;
    packed[1] = 1;
    packed[2] = 1;
    packed[3] = (uint8_t)size;
    packed[4] = (uint8_t)(size >> 8);
    packed[5] = (uint8_t)~packed[3];
    packed[6] = (uint8_t)~packed[4];
    memcpy(packed + 7, raw, size);
    big_endian(packed + 7 + size, b << 16 | a);
    uint8_t header[13] = {0};
    big_endian(header, width);
    big_endian(header + 4, height);
    header[8] = (uint8_t)bits;
    header[9] = channels == 1 ? 0 : 2;
    memcpy(png, "\x89PNG\r\n\x1a\n", 8);
    at = chunk(png, at, "IHDR", header, sizeof header);
    at = chunk(png, at, "IDAT", packed, size + 11);
    at = chunk(png, at, "IEND", NULL, 0);
    return write_file(name, png, at);
}

static void png_height_maps(void **state) {
    (void)state;
    const uint8_t grey[9] = {0, 0, 0, 0, 0, 255, 0, 0, 0};
    ground *g = load(write_png("grey.png", 3, 3, 8, 1, grey));
    is_plane(g, 1, 0, 25.5, 25.5, -25.5, 1e-4); /* the last column belongs to the cell before it, the row to the cell after */
    assert_true(fabs(height_at(g, 0.5, 0.5) - 25.5 / 4) < 1e-5);
    ground_free(g);
    const uint8_t deep[18] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0};
    g = load(write_png("deep.png", 3, 3, 16, 1, deep));
    assert_true(fabs(height_at(g, 1, 0) - 25.5 * 32768 / 65535) < 1e-5);
    ground_free(g);
    /* Terrain-RGB: 1,2,3 is -10000 + 66051/10 = -3394.9, below any land, so it is a picture; 1,140,10 is 138.6 + ... */
    uint8_t terrain[27];
    for (int i = 0; i < 9; ++i) {
        uint32_t code = 100000 + 500 + (i == 5 ? 120 : 0); /* 50 m, one of 62 m */
        terrain[3 * i] = (uint8_t)(code >> 16);
        terrain[3 * i + 1] = (uint8_t)(code >> 8);
        terrain[3 * i + 2] = (uint8_t)code;
    }
    g = load(write_png("terrain.png", 3, 3, 8, 3, terrain));
    assert_true(fabs(height_at(g, 60, 0) - 12) < 1e-2);
    ground_free(g);
    terrain[0] = 9; /* -10000 + 9 x 6553.6 and more: no height on Earth */
    g = load(write_png("colour.png", 3, 3, 8, 3, terrain));
    assert_true(ground_get_extent(g).most[0] == 1);
    ground_free(g);
}

static const char *write_text(const char *name, const char *text) { return write_file(name, text, strlen(text)); }

static bool has_meshes(void) {
    ground *g;
    io_error error = {{0}};
    ground_options options = ground_default_options();
    bool loaded = ground_load(write_text("probe.obj", "v -1 0 -1\nv 1 0 -1\nv 0 0 1\nf 1 2 3\n"), &options, &g, &error);
    if (loaded) ground_free(g);
    else if (strstr(error.text, "built without Embree") == NULL) fail_msg("%s", error.text);
    return loaded;
}

static void meshes(void **state) {
    (void)state;
    if (!has_meshes()) {
        printf("skipped: built without Embree\n");
        skip();
    }
    /* a plane y = 3 + 0.25 x + 0.5 z over 20 m, wound clockwise seen from above: normals must come out upward all the same */
    const char *path = write_text("plane.obj", "v -10 -4.5 -10\nv 10 0.5 -10\nv 10 10.5 10\nv -10 5.5 10\nf 1 2 3 4\n");
    ground *g = load(path);
    is_plane(g, 0, 0, 0, 0.25, 0.5, 1e-5);
    is_plane(g, 2, -3, 0.5 - 1.5, 0.25, 0.5, 1e-5);
    assert_false(ground_height(g, 10.1, 0, NULL, NULL));
    ground_extent extent = ground_get_extent(g);
    assert_true(fabs(extent.most[1] - 7.5) < 1e-5 && fabs(extent.least[0] + 10) < 1e-5);
    ground_free(g);
    ground_options options = {.has_origin = true, .origin = {4, -2}, .heading_degrees = 90, .scale = 2};
    g = load_with(path, options);
    is_plane(g, 1, 3, 0.25 * 3 - 0.5, -0.5, 0.25, 1e-5); /* walker +Z is ground +X, walker +X is ground -Z */
    ground_free(g);
    options.origin[0] = 100;
    ground *none;
    io_error error = {{0}};
    assert_false(ground_load(path, &options, &none, &error));
    assert_non_null(strstr(error.text, "X -20 to 20"));
    refused(write_text("points.obj", "v 0 0 0\nv 1 0 0\nv 0 0 1\n"), "");
}

/* 16 rays at odd places with odd limits, one lane off. */
static void cast_matches_queries(const ground *g, bool everywhere) {
    phx_ray_block rays, before;
    memset(&rays, 0, sizeof rays);
    for (int k = 0; k < 16; ++k) {
        rays.org_x[k] = (float)(k * 0.37 - 2.6);
        rays.org_y[k] = 20;
        rays.org_z[k] = (float)(1.7 - k * 0.21);
        rays.dir_y[k] = k == 3 ? -2 : -1;
        rays.tfar[k] = k == 5 ? 1 : 100;
        rays.mask[k] = 0xffffffffu;
        rays.geomID[k] = rays.instID[k] = 77;
    }
    rays.org_x[7] = NAN;
    rays.tfar[8] = INFINITY;
    rays.tnear[9] = 50;
    before = rays;
    ground_cast16(g, 0xffff & ~(1u << 11), &rays);
    for (int k = 0; k < 16; ++k) {
        double height, n[3];
        bool hit = ground_height(g, before.org_x[k], before.org_z[k], &height, n);
        if (k == 11) {
            assert_true(rays.geomID[k] == 77 && rays.tfar[k] == before.tfar[k] && rays.Ng_y[k] == 0);
        } else if (k == 5 || k == 7 || k == 9 || !hit) {
            assert_true(rays.geomID[k] == PHX_NO_HIT && (rays.tfar[k] == before.tfar[k]));
        } else {
            assert_int_equal(0, rays.geomID[k]);
            double at = before.org_y[k] + (double)rays.tfar[k] * before.dir_y[k];
            assert_true(fabs(at - height) < 1e-5);
            assert_true(fabs(rays.Ng_x[k] - n[0]) < 1e-6 && fabs(rays.Ng_y[k] - n[1]) < 1e-6 && fabs(rays.Ng_z[k] - n[2]) < 1e-6);
        }
        if (everywhere) assert_true(hit || k == 7);
    }
}

static void casts_agree_with_single_queries(void **state) {
    (void)state;
    const char *names[] = {"flat", "slope:20", "stairs", "hills:3"};
    for (int i = 0; i < 4; ++i) {
        ground *g = load(names[i]);
        cast_matches_queries(g, true);
        ground_free(g);
    }
    ground *g = load(plane_asc("cast.asc", -1));
    cast_matches_queries(g, false);
    ground_free(g);
    if (!has_meshes()) return;
    g = load(write_text("cast.obj", "v -10 0 -10\nv 10 2 -10\nv 10 4 10\nv -10 1 10\nf 4 3 2\nf 4 2 1\n"));
    cast_matches_queries(g, true);
    ground_free(g);
}

static void slanted_rays_meet_the_plane(void **state) {
    (void)state;
    const double slope = tan(20 * 3.14159265358979 / 180);
    ground *g = load("slope:20");
    for (int round = 0; round < 2; ++round) {
        phx_ray_block rays;
        memset(&rays, 0, sizeof rays);
        for (int k = 0; k < 16; ++k) {
            rays.org_x[k] = (float)(k * 0.1);
            rays.org_y[k] = 2;
            rays.org_z[k] = (float)(k * 0.05 - 0.4);
            rays.dir_x[k] = (float)(0.1 * k);
            rays.dir_y[k] = k == 0 ? 1 : -1;
            rays.dir_z[k] = (float)(0.03 * k - 0.2);
            rays.tfar[k] = round == 0 ? 10 : INFINITY;
            rays.mask[k] = 0xffffffffu;
        }
        phx_ray_block before = rays;
        ground_cast16(g, 0xffff, &rays);
        for (int k = 0; k < 16; ++k) {
            /* y = slope z: t = (oy - slope oz) / (slope dz - dy) */
            double t = (before.org_y[k] - slope * before.org_z[k]) / (slope * before.dir_z[k] - before.dir_y[k]);
            if (t < 0 || t > before.tfar[k]) {
                assert_true(rays.geomID[k] == PHX_NO_HIT);
                continue;
            }
            assert_int_equal(0, rays.geomID[k]);
            assert_true(fabs(rays.tfar[k] - t) < 1e-5);
            assert_true(fabs(rays.Ng_y[k] - cos(20 * 3.14159265358979 / 180)) < 1e-6);
        }
    }
    ground_free(g);
}

/* Height ranges as the data's own notes give them. */
static void real_heights(const char *name, double least, double most, double tolerance, double width, double depth) {
    ground *g = load(shared_file(0, name));
    ground_extent e = ground_get_extent(g);
    const io_notes *notes = ground_notes(g);
    for (size_t i = 0; i < notes->count; ++i) printf("%s: %s\n", name, notes->text[i]);
    if (!(fabs((e.most[1] - e.least[1]) - (most - least)) <= tolerance))
        fail_msg("%s: %g m from lowest to highest instead of %g", name, e.most[1] - e.least[1], most - least);
    assert_true(fabs(e.most[0] - e.least[0] - width) <= 0.01 * width && fabs(e.most[2] - e.least[2] - depth) <= 0.01 * depth);
    assert_true(fabs(height_at(g, 0, 0)) < 1e-3);
    ground_free(g);
}
static void real_kootenai(void **state) {
    (void)state, real_heights("terrain_misc/DEM-kootenai_37x50_1x1.asc", 537.36, 543.81, 0.011, 49, 36);
}
static void real_gully(void **state) {
    (void)state, real_heights("terrain_misc/bijou_gully_5m.asc", 1673, 1730, 1, 104 * 4.9887, 76 * 4.9887);
}
/* 143 cells of three arc seconds at 40.15 degrees north: 85,191 and 111,036 m a degree */
static void real_boulder(void **state) {
    (void)state, real_heights("terrain_srtm/SRTMGL3_boulder.asc", 2186, 3345, 0.5, 143 * 85191.0 / 1200, 143 * 111036.0 / 1200);
}
/* a degree at 57.5 north */
static void real_sweden(void **state) { (void)state, real_heights("terrain_srtm/N57E011.hgt", -6, 163, 0.5, 59955, 111370); }
static void real_fuji(void **state) { (void)state, real_heights("terrain_misc/fuji.png", 13.7, 3751, 0.5, 511 * 60.0, 511 * 60.0); }

static void real_geotiffs(void **state) {
    (void)state;
    ground *g;
    io_error error = {{0}};
    ground_options options = ground_default_options();
    if (!ground_load(shared_file(0, "terrain_srtm/elev.tif"), &options, &g, &error)) {
        if (strstr(error.text, "built without GDAL") == NULL) fail_msg("%s", error.text);
        printf("skipped: built without GDAL\n");
        skip();
    }
    ground_free(g);
    real_heights("terrain_srtm/elev.tif", 141, 547, 0.5, 94 * 0.008333333 * 71630, 89 * 0.008333333 * 111220);
    real_heights("terrain_srtm/olinda_dem_utm25s.tif", -1, 88, 1, 110 * 89.994, 110 * 89.994);
}

static void damaged_rasters_are_refused(void **state) {
    (void)state;
    refused(write_text("empty.asc", ""), "is empty");
    refused(write_text("short.asc", "ncols 3\nnrows 2\ncellsize 1\n1 2 3\n4 5\n"), "holds 5 of the 6");
    refused(write_text("huge.asc", "ncols 100000\nnrows 100000\ncellsize 1\n1 2 3\n"), "million");
    refused(write_text("lies.asc", "ncols 5000\nnrows 5000\ncellsize 1\n1 2 3\n"), "cut short");
    refused(write_text("word.asc", "ncols 2\nnrows 2\ncellsize 1\n1 2 x 4\n"), "no number");
    refused(write_text("long.asc", "ncols 2\nnrows 2\ncellsize 1\n1 2 1234567890123.5m 4\n"), "sample 2 is '1234567890123.5m', no number");
    refused(write_text("longer.asc", "ncols 2\nnrows 2\ncellsize 1\n1 2 0.00000000000000000000000000000000000000000000000000000000000000000000123x 4\n"), "123x', no number");
    refused(write_text("nocell.asc", "ncols 2\nnrows 2\n1 2 3 4\n"), "cellsize");
    refused(write_text("nowhere.asc", "ncols 2\nnrows 2\ncellsize 1\nNODATA_value 1\n1 1 1 1\n"), "no ground");
    refused(write_text("text.png", "not a picture"), "no PNG");
    refused(write_text("text.tif", "not a picture"), "");
    refused(folder, "");
    refused("/nonexistent/ground.asc", "cannot be opened");
}

static int make_folder(void **state) {
    (void)state;
    temporary_template(folder, sizeof folder, "grounds");
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
        cmocka_unit_test(planes_and_stairs),
        cmocka_unit_test(hills_are_smooth_and_walkable),
        cmocka_unit_test(seeds_make_different_hills),
        cmocka_unit_test(ascii_grids),
        cmocka_unit_test(degrees_become_metres),
        cmocka_unit_test(srtm_tiles),
        cmocka_unit_test(png_height_maps),
        cmocka_unit_test(meshes),
        cmocka_unit_test(casts_agree_with_single_queries),
        cmocka_unit_test(slanted_rays_meet_the_plane),
        cmocka_unit_test(real_kootenai),
        cmocka_unit_test(real_gully),
        cmocka_unit_test(real_boulder),
        cmocka_unit_test(real_sweden),
        cmocka_unit_test(real_fuji),
        cmocka_unit_test(real_geotiffs),
        cmocka_unit_test(damaged_rasters_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
