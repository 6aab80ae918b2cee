/* Grounds to walk on: height maps, meshes and procedural ones, behind one interface. Used by `phalanx demo` and `bake`.
 *
 *   ground *ground;  io_error error;
 *   ground_options options = ground_default_options();                 // then --origin, --heading, --ground-scale
 *   if (!ground_load("hills:7", &options, &ground, &error)) { fprintf(stderr, "phalanx: %s\n", error.text); return 1; }
 *   double height, normal[3];
 *   if (ground_height(ground, x, z, &height, normal)) ...;              // false: no ground there
 *   ground_cast16(ground, rays.active[group], &rays.blocks[b]);         // 16 rays of phx_crowd_prepare, in place
 *   ground_free(ground);
 *
 * Names: a file, or
 *   flat              the plane y = 0
 *   slope:DEG         a plane that rises along +Z
 *   stairs[:RISE,RUN] level up to z = 1 m, then steps up along +Z for ever (0.17 m and 0.29 m unless given)
 *   hills[:SEED]      smooth rolling ground, up to about 25 degrees steep
 * Files: .png (8 or 16 bit grey: 1 m a pixel, black 0 m, white 25.5 m; Mapbox Terrain-RGB where every pixel decodes to a height
 * on Earth), .asc (ESRI ASCII grid), .hgt (SRTM), .tif (GeoTIFF, where built with GDAL), .obj .glb .gltf .dae .fbx .stl .ply
 * (where built with Embree). A file in the working folder wins over a procedural name.
 *
 * The ground is placed under the walker: its `origin` point comes to (0, 0, 0) and it is turned so that the walker's +Z runs
 * along `heading`; both are given in the ground's own metres after scaling. A raster's own frame is X east, Z south, (0, 0) its
 * middle; a mesh keeps its own coordinates. Rasters in degrees are turned into metres at the latitude of their middle. So all
 * coordinates stay small where feet are, and single precision is good to micrometres.
 *
 * Everything after ground_load is read-only: any number of threads may query one ground, and each answer depends on its own ray
 * alone. Answers of everything but meshes use only + - * / and sqrt on floats: the same bits everywhere. */
#ifndef PHALANX_TOOLS_IO_GROUND_H
#define PHALANX_TOOLS_IO_GROUND_H

#include "common.h"

#include <phalanx/crowd.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ground ground;

typedef struct ground_options {
    bool has_origin;        /* else the middle of a raster (or the nearest point to it that has ground), 0,0 of a mesh */
    double origin[2];       /* X, Z of the point that comes to (0, 0, 0), metres */
    double heading_degrees; /* turn about +Y: 0 walks along the ground's +Z, 90 along its +X */
    double scale;           /* multiplies horizontal and vertical metres; > 0 */
} ground_options;

static inline ground_options ground_default_options(void) { return (ground_options){false, {0, 0}, 0, 1}; }

/* False with a sentence where the file is at fault, the name means nothing, or the origin has no ground. */
bool ground_load(const char *name, const ground_options *options, ground **loaded, io_error *error);
void ground_free(ground *ground);

/* Guesses and conversions, for the user: the raster's size in metres, whether degrees were converted, ... */
const io_notes *ground_notes(const ground *ground);

/* The box that holds all of the placed ground; walkers must stay inside. `endless` grounds (procedural ones) give +-10 km in X
 * and Z. With a heading, or holes, not all of the box is covered: ask ground_height. */
typedef struct ground_extent {
    double least[3], most[3]; /* X Y Z, metres */
    double centre[2];         /* X Z */
    bool endless;
} ground_extent;
ground_extent ground_get_extent(const ground *ground);

/* The topmost ground at (x, z): height and unit upward normal (either may be NULL). False where there is none. Height fields are
 * bilinear within a cell, and the normal is that surface's own. */
bool ground_height(const ground *ground, double x, double z, double *height, double normal[3]);

/* The same for 16 points at once, for little more than one costs; NaN where there is no ground. */
void ground_heights16(const ground *ground, const float x[16], const float z[16], float height[16]);

/* 16 rays in place. Bit i of `active`: cast lane i; other lanes are left as they are. A hit between tnear and tfar sets tfar, Ng
 * (unit, upward), u, v, primID, geomID = 0 (the static ground); a miss, or a ray with a field that is not finite, sets geomID =
 * PHX_NO_HIT only. */
void ground_cast16(const ground *ground, uint32_t active, phx_ray_block *rays);

#ifdef __cplusplus
}
#endif
#endif
