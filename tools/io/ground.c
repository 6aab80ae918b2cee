/* Grounds: procedural surfaces and height fields, and the door to meshes. */
#include "ground_kinds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LANES 16

typedef enum ground_kind { GROUND_PLANE, GROUND_STAIRS, GROUND_HILLS, GROUND_RASTER, GROUND_MESH } ground_kind;

struct ground {
    ground_kind kind;
    io_notes notes;
    ground_extent extent;
    /* placement: from walker to ground. Procedural: g = place * w + start, in metres; raster: in cells, `start` the fraction
     * within `first_cell`, so that coordinates near the walker keep their digits however large the raster is */
    float place[2][2], start[2];
    int32_t first_cell[2];
    float base;             /* procedural: height under the origin, taken off; rasters have it taken off their samples */
    float scale;            /* procedural: size of features */
    float slope, rise, run; /* a plane has no steps, stairs no slope */
    uint32_t seed;
    int32_t columns, rows;
    float *height;
    ground_mesh *mesh;
};

/* A value in [-1, 1) for each lattice point (a finaliser of Murmur3 over both indices and the seed). */
static inline float lattice(int32_t i, int32_t j, uint32_t seed) {
    uint32_t h = (uint32_t)i * 0x85ebca6bu ^ (uint32_t)j * 0xc2b2ae35u ^ seed * 0x9e3779b9u;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    h ^= h >> 16;
    return (float)(int32_t)h * (1.0f / 2147483648.0f);
}

/* floor without libm, so that the loops below stay plain arithmetic; what no ground reaches, and NaN, becomes 1e9 */
static inline int32_t whole(float x) {
    x = fabsf(x) < 1e9f ? x : 1e9f;
    int32_t i = (int32_t)x;
    return i - ((float)i > x);
}

/* Value noise with a quintic fade (Perlin 2002), so that slopes are continuous: height and both slopes. */
static inline void noise(float x, float z, uint32_t seed, float out[3]) {
    int32_t i = whole(x), j = whole(z);
    float u = x - (float)i, v = z - (float)j;
    float fu = u * u * u * (u * (u * 6 - 15) + 10), fv = v * v * v * (v * (v * 6 - 15) + 10);
    float du = 30 * u * u * (u * (u - 2) + 1), dv = 30 * v * v * (v * (v - 2) + 1);
    float a = lattice(i, j, seed), b = lattice(i + 1, j, seed), c = lattice(i, j + 1, seed), d = lattice(i + 1, j + 1, seed);
    float across = b - a, along = c - a, twist = a - b - c + d;
    out[0] = a + across * fu + along * fv + twist * fu * fv;
    out[1] = (across + twist * fv) * du;
    out[2] = (along + twist * fu) * dv;
}

/* Wavelength and amplitude in metres: hills to climb, humps of some strides, bumps of a foot's length or two. */
static const float hill_octave[3][2] = {{16.0f, 1.5f}, {5.0f, 0.25f}, {1.7f, 0.03f}};

/* Height and slopes (dh/dgx, dh/dgz) of the hills under 16 ground points. */
static void hills16(const ground *g, const float *x, const float *z, float *height, float *slope_x, float *slope_z) {
    for (int k = 0; k < LANES; ++k) height[k] = slope_x[k] = slope_z[k] = 0;
    for (uint32_t o = 0; o < 3; ++o) {
        float wave = hill_octave[o][0], high = hill_octave[o][1], over = 1 / (g->scale * wave);
        for (int k = 0; k < LANES; ++k) {
            float part[3];
            noise(x[k] * over, z[k] * over, g->seed * 3 + o, part);
            height[k] += high * part[0] * g->scale;
            slope_x[k] += high / wave * part[1];
            slope_z[k] += high / wave * part[2];
        }
    }
}

/* Heights and slopes under 16 points (walker's x, z), in the walker's frame. Lanes without ground get NaN. Straight loops over
 * lanes: the compiler keeps them in vectors, and each lane's bits are its own. */
static void heights16(const ground *g, const float *x, const float *z, float *height, float *slope_x, float *slope_z) {
    float gx[LANES], gz[LANES], sx[LANES], sz[LANES];
    for (int k = 0; k < LANES; ++k) {
        /* beyond 2^30 cells nothing is meant; the select also catches NaN */
        float px = x[k] * g->place[0][0] + z[k] * g->place[0][1] + g->start[0],
              pz = x[k] * g->place[1][0] + z[k] * g->place[1][1] + g->start[1];
        gx[k] = fabsf(px) < 1e9f ? px : 1e9f;
        gz[k] = fabsf(pz) < 1e9f ? pz : 1e9f;
    }
    if (g->kind != GROUND_RASTER) {
        if (g->kind == GROUND_HILLS) {
            hills16(g, gx, gz, height, sx, sz);
        } else {
            for (int k = 0; k < LANES; ++k) {
                int32_t step = g->kind == GROUND_STAIRS ? whole((gz[k] - g->scale) / g->run) + 1 : 0;
                height[k] = g->slope * gz[k] + (step > 0 ? g->rise * (float)step : 0);
                sx[k] = 0;
                sz[k] = g->slope;
            }
        }
        for (int k = 0; k < LANES; ++k) height[k] = gx[k] < 1e9f && gz[k] < 1e9f ? height[k] - g->base : NAN;
    } else {
        int32_t i[LANES], j[LANES];
        float u[LANES], v[LANES], inside[LANES], corner[4][LANES];
        for (int k = 0; k < LANES; ++k) {
            int32_t column = whole(gx[k]), row = whole(gz[k]);
            u[k] = gx[k] - (float)column;
            v[k] = gz[k] - (float)row;
            column += g->first_cell[0];
            row += g->first_cell[1];
            /* the last sample's edge belongs to the cell before it */
            u[k] = column == g->columns - 1 && u[k] == 0 ? 1 : u[k];
            v[k] = row == g->rows - 1 && v[k] == 0 ? 1 : v[k];
            column -= column == g->columns - 1 && u[k] == 1;
            row -= row == g->rows - 1 && v[k] == 1;
            bool in = column >= 0 && column < g->columns - 1 && row >= 0 && row < g->rows - 1;
            inside[k] = in ? 0 : NAN;
            i[k] = in ? column : 0;
            j[k] = in ? row : 0;
        }
        for (int k = 0; k < LANES; ++k) {
            const float *cell = g->height + (size_t)j[k] * (size_t)g->columns + (size_t)i[k];
            corner[0][k] = cell[0];
            corner[1][k] = cell[1];
            corner[2][k] = cell[g->columns];
            corner[3][k] = cell[g->columns + 1];
        }
        for (int k = 0; k < LANES; ++k) {
            float across = corner[1][k] - corner[0][k], along = corner[2][k] - corner[0][k],
                  twist = corner[0][k] - corner[1][k] - corner[2][k] + corner[3][k];
            height[k] = corner[0][k] + across * u[k] + along * v[k] + twist * u[k] * v[k] + inside[k];
            sx[k] = across + twist * v[k];
            sz[k] = along + twist * u[k];
        }
    }
    for (int k = 0; k < LANES; ++k) {
        slope_x[k] = sx[k] * g->place[0][0] + sz[k] * g->place[1][0];
        slope_z[k] = sx[k] * g->place[0][1] + sz[k] * g->place[1][1];
    }
}

static float height_at(const ground *g, float x, float z, float slope[2]) {
    float xs[LANES] = {x}, zs[LANES] = {z}, height[LANES], slope_x[LANES], slope_z[LANES];
    heights16(g, xs, zs, height, slope_x, slope_z);
    slope[0] = slope_x[0];
    slope[1] = slope_z[0];
    return height[0];
}

static bool finite_ray(const phx_ray_block *r, int k) {
    return isfinite(r->org_x[k]) && isfinite(r->org_y[k]) && isfinite(r->org_z[k]) && isfinite(r->dir_x[k]) && isfinite(r->dir_y[k]) &&
           isfinite(r->dir_z[k]) && !isnan(r->tnear[k]) && !isnan(r->tfar[k]);
}

static void set_hit(phx_ray_block *r, int k, float t, float slope_x, float slope_z) {
    float over = 1 / sqrtf(1 + slope_x * slope_x + slope_z * slope_z);
    r->tfar[k] = t;
    r->Ng_x[k] = -slope_x * over;
    r->Ng_y[k] = over;
    r->Ng_z[k] = -slope_z * over;
    r->u[k] = r->v[k] = 0;
    r->primID[k] = 0;
    r->geomID[k] = 0;
}

/* Any direction: steps of a tenth of a metre (or what 2,000 of them cover) until the ray changes sides, then bisection. */
static void march(const ground *g, phx_ray_block *r, int k) {
    float length = sqrtf(r->dir_x[k] * r->dir_x[k] + r->dir_y[k] * r->dir_y[k] + r->dir_z[k] * r->dir_z[k]);
    float near = r->tnear[k] > 0 ? r->tnear[k] : 0, far = r->tfar[k];
    r->geomID[k] = PHX_NO_HIT;
    if (!(length > 0) || !(near <= far)) return;
    float reach = 1000 / length; /* a ray without an end looks this far */
    if (far > near + reach) far = near + reach;
    float step = fmaxf(0.1f / length, (far - near) / 2000), slope[2], low = near, before = NAN;
    for (int s = 0; s <= 2001; ++s) {
        float t = near + (float)s * step;
        if (t > far) t = far;
        float above = r->org_y[k] + t * r->dir_y[k] - height_at(g, r->org_x[k] + t * r->dir_x[k], r->org_z[k] + t * r->dir_z[k], slope);
        if ((before > 0 && above <= 0) || (before < 0 && above >= 0)) {
            float high = t;
            for (int b = 0; b < 40; ++b) {
                float middle = low + (high - low) * 0.5f;
                float at = r->org_y[k] + middle * r->dir_y[k] -
                           height_at(g, r->org_x[k] + middle * r->dir_x[k], r->org_z[k] + middle * r->dir_z[k], slope);
                if ((before > 0) == (at > 0)) low = middle;
                else high = middle;
            }
            height_at(g, r->org_x[k] + high * r->dir_x[k], r->org_z[k] + high * r->dir_z[k], slope);
            set_hit(r, k, high, slope[0], slope[1]);
            return;
        }
        before = above;
        low = t;
        if (t >= far) return;
    }
}

void ground_cast16(const ground *g, uint32_t active, phx_ray_block *r) {
    if (g->kind == GROUND_MESH) {
        ground_mesh_cast16(g->mesh, active, r);
    } else {
        float height[LANES], slope_x[LANES], slope_z[LANES], t[LANES];
        heights16(g, r->org_x, r->org_z, height, slope_x, slope_z);
        for (int k = 0; k < LANES; ++k) t[k] = (r->org_y[k] - height[k]) / -r->dir_y[k];
        for (int k = 0; k < LANES; ++k) {
            if (!(active >> k & 1)) continue;
            bool straight_down = r->dir_x[k] == 0 && r->dir_z[k] == 0 && r->dir_y[k] < 0;
            if (!finite_ray(r, k)) r->geomID[k] = PHX_NO_HIT;
            else if (!straight_down) march(g, r, k);
            else if (t[k] >= r->tnear[k] && t[k] <= r->tfar[k]) set_hit(r, k, t[k], slope_x[k], slope_z[k]);
            else r->geomID[k] = PHX_NO_HIT;
        }
    }
}

void ground_heights16(const ground *g, const float x[LANES], const float z[LANES], float height[LANES]) {
    float slope_x[LANES], slope_z[LANES];
    if (g->kind != GROUND_MESH) {
        heights16(g, x, z, height, slope_x, slope_z);
        return;
    }
    for (int k = 0; k < LANES; ++k) {
        double at;
        height[k] = ground_mesh_height(g->mesh, (double)x[k], (double)z[k], &at, NULL) ? (float)at : NAN;
    }
}

bool ground_height(const ground *g, double x, double z, double *height, double normal[3]) {
    if (g->kind == GROUND_MESH) return ground_mesh_height(g->mesh, x, z, height, normal);
    float slope[2], at = height_at(g, (float)x, (float)z, slope);
    if (!isfinite(at)) return false;
    if (height != NULL) *height = at;
    if (normal != NULL) {
        double over = 1 / sqrt(1 + (double)slope[0] * slope[0] + (double)slope[1] * slope[1]);
        normal[0] = -slope[0] * over;
        normal[1] = over;
        normal[2] = -slope[1] * over;
    }
    return true;
}

const io_notes *ground_notes(const ground *g) { return &g->notes; }
ground_extent ground_get_extent(const ground *g) { return g->extent; }

void ground_free(ground *g) {
    if (g == NULL) return;
    if (g->mesh != NULL) ground_mesh_free(g->mesh);
    free(g->height);
    io_notes_free(&g->notes);
    free(g);
}

/* The walker's x, z to the ground's: turned by the heading. cos and sin of quarter turns are exact. */
static void turn_of(double degrees, double turn[2][2]) {
    double quarter = fmod(degrees, 360) / 90, c, s;
    if (quarter == floor(quarter)) {
        static const double cosine[4] = {1, 0, -1, 0};
        int q = ((int)quarter % 4 + 4) % 4;
        c = cosine[q];
        s = cosine[(q + 3) % 4];
    } else {
        c = cos(degrees * (3.14159265358979323846 / 180));
        s = sin(degrees * (3.14159265358979323846 / 180));
    }
    turn[0][0] = c;
    turn[0][1] = s;
    turn[1][0] = -s;
    turn[1][1] = c;
}

static void finish_extent(ground *g) {
    for (int k = 0; k < 2; ++k) g->extent.centre[k] = (g->extent.least[2 * k] + g->extent.most[2 * k]) / 2;
}

static bool place_procedural(ground *g, const ground_options *options) {
    double turn[2][2];
    turn_of(options->heading_degrees, turn);
    for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) g->place[a][b] = (float)turn[a][b];
        g->start[a] = options->has_origin ? (float)options->origin[a] : 0;
    }
    float slope[2];
    g->base = 0;
    g->base = height_at(g, 0, 0, slope);
    g->extent = (ground_extent){.least = {-10000, -10000, -10000}, .most = {10000, 10000, 10000}, .endless = true};
    return true;
}

/* False: not a procedural name. `good` is false after a sentence where it is one with a wrong argument. */
static bool take_procedural(const char *name, const ground_options *options, ground *g, bool *good, io_error *error) {
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    const char *rest = colon != NULL ? colon + 1 : NULL;
    double number[2] = {0, 0};
    *good = true;
    if (length == 4 && strncmp(name, "flat", 4) == 0) {
        if (rest != NULL) *good = io_fail(error, "ground '%s': flat takes no argument", name);
        g->kind = GROUND_PLANE;
    } else if (length == 5 && strncmp(name, "slope", 5) == 0) {
        if (rest == NULL || !io_parse_number(rest, number) || !(fabs(number[0]) <= 80))
            *good = io_fail(error, "ground '%s': write slope:DEG with -80 to 80 degrees, as in slope:15", name);
        g->kind = GROUND_PLANE;
        g->slope = (float)tan(number[0] * (3.14159265358979323846 / 180));
    } else if (length == 6 && strncmp(name, "stairs", 6) == 0) {
        number[0] = 0.17;
        number[1] = 0.29;
        if (rest != NULL) {
            char *text = io_copy_text(rest), *comma = strchr(text, ',');
            if (comma != NULL) *comma = 0;
            if (comma == NULL || !io_parse_number(text, &number[0]) || !io_parse_number(comma + 1, &number[1]) ||
                !(number[1] >= 0.01 && number[1] < 1e3) || !(fabs(number[0]) < 1e3))
                *good = io_fail(error, "ground '%s': write stairs:RISE,RUN in metres, RISE between -1000 and 1000, RUN from 0.01 to below 1000, as in stairs:0.17,0.29",
                                 name);
            free(text);
        }
        g->kind = GROUND_STAIRS;
        g->rise = (float)(number[0] * options->scale);
        g->run = (float)(number[1] * options->scale);
    } else if (length == 5 && strncmp(name, "hills", 5) == 0) {
        number[0] = 1;
        if (rest != NULL &&
            (!io_parse_number(rest, number) || !(number[0] >= 0 && number[0] < 4294967296.0) || number[0] != floor(number[0])))
            *good = io_fail(error, "ground '%s': write hills:SEED with a whole number, as in hills:7", name);
        g->kind = GROUND_HILLS;
        g->seed = *good ? (uint32_t)number[0] : 0;
    } else {
        return false;
    }
    g->scale = (float)options->scale;
    if (*good) *good = place_procedural(g, options);
    return true;
}

/* Metres a degree at a latitude, on WGS84's ellipsoid (series of the meridian and parallel arcs, to a metre). */
static void degrees_to_metres(ground_raster *raster, io_notes *notes) {
    double phi = raster->latitude * (3.14159265358979323846 / 180);
    raster->cell[0] *= 111412.84 * cos(phi) - 93.5 * cos(3 * phi) + 0.118 * cos(5 * phi);
    raster->cell[1] *= 111132.92 - 559.82 * cos(2 * phi) + 1.175 * cos(4 * phi) - 0.0023 * cos(6 * phi);
    raster->degrees = false;
    io_note(notes, "the raster is in degrees: at latitude %.4g a cell measures %.5g x %.5g m", raster->latitude, raster->cell[0],
            raster->cell[1]);
}

/* The middle of the cell nearest to the raster's middle ground at all four corners. */
static bool nearest_ground(const ground_raster *raster, double at[2]) {
    double best = INFINITY;
    const double middle[2] = {at[0], at[1]};
    for (uint32_t j = 0; j + 1 < raster->rows; ++j) {
        for (uint32_t i = 0; i + 1 < raster->columns; ++i) {
            const float *cell = raster->height + (size_t)j * raster->columns + i;
            double u = i + 0.5 - middle[0], v = j + 0.5 - middle[1], away = u * u + v * v;
            if (away < best && isfinite(cell[0] + cell[1] + cell[raster->columns] + cell[raster->columns + 1])) {
                best = away;
                at[0] = i + 0.5;
                at[1] = j + 0.5;
            }
        }
    }
    return isfinite(best);
}

static bool place_raster(const char *path, ground *g, ground_raster *raster, const ground_options *options, io_error *error) {
    if (raster->degrees) degrees_to_metres(raster, &g->notes);
    double cell[2] = {raster->cell[0] * options->scale, raster->cell[1] * options->scale}, turn[2][2];
    double middle[2] = {(raster->columns - 1) / 2.0, (raster->rows - 1) / 2.0}, at[2] = {middle[0], middle[1]};
    double half[2] = {middle[0] * cell[0], middle[1] * cell[1]};
    if (options->has_origin) {
        for (int k = 0; k < 2; ++k) at[k] = middle[k] + options->origin[k] / cell[k];
    } else {
        uint32_t i = (uint32_t)at[0], j = (uint32_t)at[1];
        const float *c = raster->height + (size_t)j * raster->columns + i;
        if (!isfinite(c[0] + c[1] + c[raster->columns] + c[raster->columns + 1])) {
            if (!nearest_ground(raster, at)) return io_fail(error, "%s: holds no ground: no cell has all four corners", path);
            io_note(&g->notes, "the middle has no ground; the origin is %g,%g", (at[0] - middle[0]) * cell[0],
                    (at[1] - middle[1]) * cell[1]);
        }
    }
    turn_of(options->heading_degrees, turn);
    g->columns = (int32_t)raster->columns;
    g->rows = (int32_t)raster->rows;
    for (int a = 0; a < 2; ++a) {
        if (!(at[a] >= 0 && at[a] <= (a == 0 ? raster->columns : raster->rows) - 1.0))
            return io_fail(error, "%s: --origin lies outside; X may be from %g to %g and Z from %g to %g", path, -half[0], half[0],
                           -half[1], half[1]);
        double first = floor(at[a]);
        g->first_cell[a] = (int32_t)first;
        g->start[a] = (float)(at[a] - first);
        for (int b = 0; b < 2; ++b) g->place[a][b] = (float)(turn[a][b] / cell[a]);
    }
    /* heights relative to the origin's, which is found in double so that nothing is lost */
    uint32_t i = (uint32_t)fmin(floor(at[0]), raster->columns - 2.0), j = (uint32_t)fmin(floor(at[1]), raster->rows - 2.0);
    const float *c = raster->height + (size_t)j * raster->columns + i;
    double u = at[0] - i, v = at[1] - j;
    double base = (1 - v) * ((1 - u) * c[0] + u * c[1]) + v * ((1 - u) * c[raster->columns] + u * c[raster->columns + 1]);
    if (!isfinite(base)) return io_fail(error, "%s: has no ground at --origin; choose another point", path);
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < (size_t)raster->columns * raster->rows; ++k) {
        double h = ((double)raster->height[k] - base) * options->scale;
        raster->height[k] = (float)h;
        if (isfinite(h)) {
            low = fmin(low, h);
            high = fmax(high, h);
        }
    }
    g->extent.least[1] = low;
    g->extent.most[1] = high;
    for (int k = 0; k < 3; k += 2) {
        g->extent.least[k] = INFINITY;
        g->extent.most[k] = -INFINITY;
    }
    for (int corner = 0; corner < 4; ++corner) {
        double x = (corner & 1 ? 2 * middle[0] - at[0] : -at[0]) * cell[0], z = (corner & 2 ? 2 * middle[1] - at[1] : -at[1]) * cell[1];
        /* the inverse of a turn is its transpose */
        double wx = turn[0][0] * x + turn[1][0] * z, wz = turn[0][1] * x + turn[1][1] * z;
        g->extent.least[0] = fmin(g->extent.least[0], wx);
        g->extent.most[0] = fmax(g->extent.most[0], wx);
        g->extent.least[2] = fmin(g->extent.least[2], wz);
        g->extent.most[2] = fmax(g->extent.most[2], wz);
    }
    io_note(&g->notes, "the ground measures %.5g x %.5g m in cells of %.4g x %.4g m, %.5g m from lowest to highest", 2 * half[0],
            2 * half[1], cell[0], cell[1], high - low);
    g->height = raster->height;
    raster->height = NULL;
    finish_extent(g);
    return true;
}

bool ground_load(const char *name, const ground_options *options, ground **loaded, io_error *error) {
    *loaded = NULL;
    if (!(options->scale > 1e-6 && options->scale < 1e6)) return io_fail(error, "--ground-scale: must be from 1e-6 to 1e6");
    ground *g = io_allocate(1, sizeof *g);
    bool good = false, procedural = access(name, F_OK) != 0 && take_procedural(name, options, g, &good, error);
    if (!procedural && ground_is_raster(name)) {
        ground_raster raster = {0};
        g->kind = GROUND_RASTER;
        good = ground_read_raster(name, &raster, &g->notes, error) && place_raster(name, g, &raster, options, error);
        free(raster.height);
    } else if (!procedural && access(name, F_OK) != 0) {
        good = io_fail(error, "ground '%s': is no file, and not flat, slope:DEG, stairs:RISE,RUN or hills:SEED either", name);
    } else if (!procedural && !ground_is_mesh(name)) {
        good = io_fail(error,
                       "ground '%s': its name ends as no height map's (.asc .png .hgt .tif .tiff) and no mesh's that is read (.glb .gltf .obj .ply .stl "
                       ".fbx .dae and others)",
                       name);
    } else if (!procedural) {
        g->kind = GROUND_MESH;
        good = ground_mesh_load(name, options, &g->mesh, &g->notes, error);
        if (good) {
            ground_mesh_extent(g->mesh, g->extent.least, g->extent.most);
            finish_extent(g);
        }
    }
    if (!good) {
        ground_free(g);
        return false;
    }
    *loaded = g;
    return true;
}
