/* Height maps: PNG, ESRI ASCII grids, SRTM tiles and, with GDAL, GeoTIFF. */
#include "ground_kinds.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include <stb/stb_image.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef PHALANX_HAVE_GDAL
#include <cpl_error.h>
#include <gdal.h>
#include <ogr_srs_api.h>
#endif

/* 256 MB of samples. */
static const uint64_t most_samples = (uint64_t)64 << 20;

/* A side of 2 samples at least, and not more than memory should hold. */
static bool sensible_size(const char *path, double columns, double rows, io_error *error) {
    if (!(columns >= 2 && rows >= 2))
        return io_fail(error, "%s: measures %g x %g samples; a ground needs 2 x 2 at least", path, columns, rows);
    if (!(columns * rows <= (double)most_samples))
        return io_fail(error, "%s: measures %g x %g samples; cut it to %llu million at most", path, columns, rows,
                       (unsigned long long)(most_samples >> 20));
    return true;
}

static bool read_asc(const char *path, const char *text, ground_raster *raster, io_error *error) {
    double columns = 0, rows = 0, left = 0, bottom = 0, cell[2] = {0, 0}, missing = -9999;
    bool centred = false;
    const char *at = text;
    for (;;) {
        while (isspace((unsigned char)*at)) ++at;
        if (!isalpha((unsigned char)*at) || strncasecmp(at, "nan", 3) == 0) break;
        char key[32];
        size_t length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_') ++length;
        snprintf(key, sizeof key, "%.*s", (int)(length < 31 ? length : 31), at);
        char *after = NULL;
        double value = strtod(at + length, &after);
        if (after == at + length)
            return io_fail(error, "%s: header line '%s' has no number; it is no ESRI ASCII grid or is damaged", path, key);
        at = after;
        if (strcasecmp(key, "ncols") == 0) columns = value;
        else if (strcasecmp(key, "nrows") == 0) rows = value;
        else if (strcasecmp(key, "cellsize") == 0) cell[0] = cell[1] = value;
        else if (strcasecmp(key, "dx") == 0) cell[0] = value;
        else if (strcasecmp(key, "dy") == 0) cell[1] = value;
        else if (strcasecmp(key, "nodata_value") == 0) missing = value;
        else if (strcasecmp(key, "xllcorner") == 0) left = value;
        else if (strcasecmp(key, "yllcorner") == 0) bottom = value;
        else if (strcasecmp(key, "xllcenter") == 0) left = value, centred = true;
        else if (strcasecmp(key, "yllcenter") == 0) bottom = value, centred = true;
        else return io_fail(error, "%s: header line '%s' is not one of ncols nrows xllcorner yllcorner cellsize NODATA_value", path, key);
    }
    if (columns != floor(columns) || rows != floor(rows) || !(cell[0] > 0 && cell[1] > 0 && cell[0] < 1e6 && cell[1] < 1e6))
        return io_fail(error, "%s: its header gives no usable ncols, nrows and cellsize; it is no ESRI ASCII grid or is damaged", path);
    if (!sensible_size(path, columns, rows, error)) return false;
    /* a sample takes two bytes at least: nothing is taken on the header's word alone */
    if (columns * rows > (double)strlen(at) / 2 + 1)
        return io_fail(error, "%s: is cut short: its header says %g x %g samples", path, columns, rows);
    raster->columns = (uint32_t)columns;
    raster->rows = (uint32_t)rows;
    raster->cell[0] = cell[0];
    raster->cell[1] = cell[1];
    /* cells this small on coordinates that fit a globe are degrees: 0.01 degrees are a kilometre */
    double middle = bottom + (rows - (centred ? 1 : 0)) / 2 * cell[1];
    raster->degrees = cell[0] <= 0.02 && fabs(left) <= 360 && fabs(middle) <= 90 && (left != 0 || bottom != 0);
    raster->latitude = middle;
    raster->height = io_allocate((size_t)raster->columns * raster->rows, sizeof(float));
    for (size_t i = 0; i < (size_t)raster->columns * raster->rows; ++i) {
        char *after = NULL;
        double value = strtod(at, &after);
        if (after == at || (*after != 0 && !isspace((unsigned char)*after))) {
            while (isspace((unsigned char)*at)) ++at;
            if (*at == 0)
                return io_fail(error, "%s: is cut short: it holds %zu of the %zu samples its header says", path, i,
                               (size_t)raster->columns * raster->rows);
            const char *end = at + strcspn(at, " \t\r\n"), *from = end - at <= 48 || after - at < 24 ? at : after - 24; /* a long one from near its fault on */
            return io_fail(error, "%s: sample %zu is '%s%.*s', no number", path, i, from > at ? "..." : "", end - from < 48 ? (int)(end - from) : 48, from);
        }
        at = after;
        raster->height[i] = value == missing || !(fabs(value) < 1e6) ? NAN : (float)value;
    }
    return true;
}

static bool read_hgt(const char *path, const uint8_t *data, size_t size, ground_raster *raster, io_notes *notes, io_error *error) {
    /* a degree in whole arc seconds or halves of them, 12 arc seconds at most: 301, 401, ... 1201 (SRTM3), 3601 (SRTM1), 7201 */
    uint32_t side = (uint32_t)(sqrt((double)size / 2) + 0.5);
    if ((size_t)side * side * 2 != size || side < 301 || 7200 % (side - 1) != 0)
        return io_fail(error,
                       "%s: has %zu bytes, the size of no SRTM tile (2,884,802 or 25,934,402 are usual); it is cut short or something else",
                       path, size);
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    int south = 0, east = 0;
    char ns = 0, ew = 0;
    bool named = sscanf(name, "%c%2d%c%3d", &ns, &south, &ew, &east) == 4 && strchr("NSns", ns) != NULL && strchr("EWew", ew) != NULL;
    if (!named) io_note(notes, "the file's name gives no latitude (as N57E011.hgt does); its samples are taken to lie at the equator");
    raster->columns = raster->rows = side;
    raster->cell[0] = raster->cell[1] = 1.0 / (side - 1);
    raster->degrees = true;
    raster->latitude = named ? (ns == 'N' || ns == 'n' ? south : -south) + 0.5 : 0;
    raster->height = io_allocate((size_t)side * side, sizeof(float));
    for (size_t i = 0; i < (size_t)side * side; ++i) {
        int16_t value = (int16_t)((unsigned)data[2 * i] << 8 | data[2 * i + 1]);
        raster->height[i] = value == -32768 ? NAN : (float)value;
    }
    return true;
}

/* Mapbox Terrain-RGB: height = -10000 + (R 65536 + G 256 + B) / 10. A picture that is not one would have to keep red at 0 to 2
 * in every pixel and still not be grey, which no photograph and no grey map does. */
static bool is_terrain_rgb(const stbi_uc *pixels, size_t count) {
    size_t grey = 0;
    for (size_t i = 0; i < count; ++i) {
        const stbi_uc *p = pixels + 4 * i;
        double height = -10000 + (p[0] * 65536 + p[1] * 256 + p[2]) * 0.1;
        if (height < -500 || height > 9000) return false;
        grey += p[0] == p[1] && p[1] == p[2];
    }
    return grey * 2 < count;
}

static bool read_png(const char *path, const uint8_t *data, size_t size, ground_raster *raster, io_notes *notes, io_error *error) {
    int width = 0, height = 0, channels = 0;
    if (!stbi_info_from_memory(data, (int)size, &width, &height, &channels))
        return io_fail(error, "%s: is no PNG that can be read: %s", path, stbi_failure_reason());
    if (!sensible_size(path, width, height, error)) return false;
    /* deflate packs 1032 to 1 at best (its longest match, 258 bytes, takes two bits): less data than that is cut short */
    double bits = stbi_is_16_bit_from_memory(data, (int)size) ? 16 : 1;
    if ((double)width * height * channels * bits / 8 > 1100.0 * (double)size)
        return io_fail(error, "%s: is cut short: %d x %d pixels cannot be in %zu bytes", path, width, height, size);
    size_t count = (size_t)width * (size_t)height;
    raster->columns = (uint32_t)width;
    raster->rows = (uint32_t)height;
    raster->cell[0] = raster->cell[1] = 1;
    if (bits == 16) {
        stbi_us *grey = stbi_load_16_from_memory(data, (int)size, &width, &height, &channels, 1);
        if (grey == NULL) return io_fail(error, "%s: is damaged or cut short: %s", path, stbi_failure_reason());
        raster->height = io_allocate(count, sizeof(float));
        for (size_t i = 0; i < count; ++i) raster->height[i] = (float)grey[i] * (25.5f / 65535);
        stbi_image_free(grey);
    } else {
        stbi_uc *pixels = stbi_load_from_memory(data, (int)size, &width, &height, &channels, 4);
        if (pixels == NULL) return io_fail(error, "%s: is damaged or cut short: %s", path, stbi_failure_reason());
        raster->height = io_allocate(count, sizeof(float));
        bool terrain = channels >= 3 && is_terrain_rgb(pixels, count);
        for (size_t i = 0; i < count; ++i) {
            const stbi_uc *p = pixels + 4 * i;
            if (terrain) raster->height[i] = -10000 + (float)(p[0] * 65536 + p[1] * 256 + p[2]) * 0.1f;
            else raster->height[i] = (float)(p[0] * 77 + p[1] * 150 + p[2] * 29) * (0.1f / 256); /* luma; exact for grey */
        }
        stbi_image_free(pixels);
        if (terrain) {
            raster->cell[0] = raster->cell[1] = 60;
            io_note(notes, "the picture is Mapbox Terrain-RGB; 60 m a pixel is a guess, as the file does not say");
            return true;
        }
    }
    io_note(notes, "height map: 1 m a pixel, black 0 m, white 25.5 m; --ground-scale changes both");
    return true;
}

#ifdef PHALANX_HAVE_GDAL
static bool read_tiff(const char *path, ground_raster *raster, io_notes *notes, io_error *error) {
    static const char *const drivers[] = {"GTiff", NULL};
    GDALAllRegister();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    GDALDatasetH file = GDALOpenEx(path, GDAL_OF_RASTER | GDAL_OF_READONLY, drivers, NULL, NULL);
    bool good = false;
    if (file == NULL) {
        io_fail(error, "%s: is no GeoTIFF that can be read: %.300s", path, CPLGetLastErrorMsg());
        goto done;
    }
    int columns = GDALGetRasterXSize(file), rows = GDALGetRasterYSize(file);
    double transform[6] = {0, 1, 0, 0, 0, -1};
    GDALRasterBandH band = GDALGetRasterCount(file) > 0 ? GDALGetRasterBand(file, 1) : NULL;
    if (band == NULL) {
        io_fail(error, "%s: has no band of heights", path);
        goto done;
    }
    if (!sensible_size(path, columns, rows, error)) goto done;
    if (GDALGetGeoTransform(file, transform) != CE_None) io_note(notes, "the file is not placed on Earth; its cells are taken to be 1 m");
    if (transform[2] != 0 || transform[4] != 0 || !(fabs(transform[1]) > 0 && fabs(transform[5]) > 0)) {
        io_fail(error, "%s: is a turned raster; warp it north up first (gdalwarp)", path);
        goto done;
    }
    OGRSpatialReferenceH reference = GDALGetSpatialRef(file);
    raster->columns = (uint32_t)columns;
    raster->rows = (uint32_t)rows;
    raster->cell[0] = fabs(transform[1]);
    raster->cell[1] = fabs(transform[5]);
    raster->latitude = transform[3] + transform[5] * rows / 2.0;
    raster->degrees = reference != NULL ? OSRIsGeographic(reference) != 0 : raster->cell[0] <= 0.02 && fabs(raster->latitude) <= 90;
    if (raster->degrees && !(fabs(raster->latitude) <= 89)) {
        io_fail(error, "%s: lies at latitude %g, where degrees cannot be turned into metres", path, raster->latitude);
        goto done;
    }
    if (reference != NULL && !raster->degrees) {
        double metres = OSRGetLinearUnits(reference, NULL);
        if (metres > 0) raster->cell[0] *= metres, raster->cell[1] *= metres;
    }
    int has_missing = 0;
    double missing = GDALGetRasterNoDataValue(band, &has_missing);
    size_t count = (size_t)columns * (size_t)rows;
    raster->height = io_allocate(count, sizeof(float));
    if (GDALRasterIO(band, GF_Read, 0, 0, columns, rows, raster->height, columns, rows, GDT_Float32, 0, 0) != CE_None) {
        io_fail(error, "%s: is damaged or cut short: %.300s", path, CPLGetLastErrorMsg());
        goto done;
    }
    for (size_t i = 0; i < count; ++i) {
        float *h = &raster->height[i];
        if ((has_missing && *h == (float)missing) || !(fabsf(*h) < 1e6f)) *h = NAN;
    }
    good = true;
done:
    if (file != NULL) GDALClose(file);
    CPLPopErrorHandler();
    return good;
}
#else
static bool read_tiff(const char *path, ground_raster *raster, io_notes *notes, io_error *error) {
    (void)raster;
    (void)notes;
    return io_fail(error,
                   "%s: is a GeoTIFF, and this phalanx was built without GDAL; install libgdal-dev and build again, or convert it "
                   "(gdal_translate -of AAIGrid)",
                   path);
}
#endif

bool ground_is_raster(const char *path) {
    static const char *const extensions[] = {".png", ".asc", ".hgt", ".tif", ".tiff"};
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; ++i) {
        if (io_has_extension(path, extensions[i])) return true;
    }
    return false;
}

bool ground_read_raster(const char *path, ground_raster *raster, io_notes *notes, io_error *error) {
    uint8_t *data = NULL;
    size_t size = 0;
    if (!io_read_file(path, &data, &size, error)) return false;
    bool good;
    if (size == 0) good = io_fail(error, "%s: is empty; give a height map or a mesh", path);
    else if (io_has_extension(path, ".png")) good = read_png(path, data, size, raster, notes, error);
    else if (io_has_extension(path, ".asc")) good = read_asc(path, (const char *)data, raster, error);
    else if (io_has_extension(path, ".hgt")) good = read_hgt(path, data, size, raster, notes, error);
    else good = read_tiff(path, raster, notes, error);
    free(data);
    return good;
}
