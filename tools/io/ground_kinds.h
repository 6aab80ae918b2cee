/* Between ground.c and the loaders of each kind of ground. */
#ifndef PHALANX_TOOLS_IO_GROUND_KINDS_H
#define PHALANX_TOOLS_IO_GROUND_KINDS_H

#include "ground.h"

/* A raster as its file has it: rows from north to south, NaN where there is no ground. */
typedef struct ground_raster {
    uint32_t columns, rows;
    double cell[2]; /* size of a cell, X and Z: metres, or degrees where `degrees` */
    bool degrees;
    double latitude; /* of the middle, where `degrees` */
    float *height;   /* columns * rows, metres */
} ground_raster;

bool ground_read_raster(const char *path, ground_raster *raster, io_notes *notes, io_error *error);
/* Whether the name ends like a raster's. */
bool ground_is_raster(const char *path);

/* Meshes through Embree: a stub that refuses where the build has none. */
typedef struct ground_mesh ground_mesh;
/* whether the name ends as one of the mesh formats that are read */
bool ground_is_mesh(const char *path);
bool ground_mesh_load(const char *path, const ground_options *options, ground_mesh **mesh, io_notes *notes, io_error *error);
void ground_mesh_free(ground_mesh *mesh);
void ground_mesh_extent(const ground_mesh *mesh, double least[3], double most[3]);
bool ground_mesh_height(const ground_mesh *mesh, double x, double z, double *height, double normal[3]);
void ground_mesh_cast16(const ground_mesh *mesh, uint32_t active, phx_ray_block *rays);

#endif
