/* Mesh grounds: read by Assimp, cast by Embree in packets of 16. */
#include "ground_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef PHALANX_HAVE_EMBREE

#include "assimp_scene.h"

#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <embree3/rtcore.h>

_Static_assert(sizeof(phx_ray_block) == sizeof(struct RTCRayHit16), "a block must be what Embree takes");

struct ground_mesh {
    RTCDevice device;
    RTCScene scene;
    double least[3], most[3];
};

bool ground_is_mesh(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL && aiIsExtensionSupported(dot);
}

/* All triangles of the scene as one soup of points, in the file's coordinates. */
static bool gather(const char *path, const struct aiScene *scene, float (**points)[3], size_t *triangles, io_error *error) {
    size_t count = 0;
    for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
        for (unsigned f = 0; f < scene->mMeshes[m]->mNumFaces; ++f) count += scene->mMeshes[m]->mFaces[f].mNumIndices == 3;
    }
    if (count == 0) return io_fail(error, "%s: holds no triangles; give a mesh or a height map as ground", path);
    if (count > 4000000) return io_fail(error, "%s: holds %zu triangles; cut it to 4 million at most", path, count);
    float(*out)[3] = io_allocate(count * 3, sizeof *out);
    size_t at = 0;
    for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
        const struct aiMesh *mesh = scene->mMeshes[m];
        for (unsigned f = 0; f < mesh->mNumFaces; ++f) {
            if (mesh->mFaces[f].mNumIndices != 3) continue; /* points and lines bear nobody */
            for (int corner = 0; corner < 3; ++corner) {
                unsigned index = mesh->mFaces[f].mIndices[corner];
                const struct aiVector3D *v = index < mesh->mNumVertices ? &mesh->mVertices[index] : NULL;
                if (v == NULL || !(fabs(v->x) < 1e9 && fabs(v->y) < 1e9 && fabs(v->z) < 1e9)) {
                    free(out);
                    return io_fail(error, "%s: has a corner that is not finite or not there in mesh %u", path, m);
                }
                out[at][0] = (float)v->x;
                out[at][1] = (float)v->y;
                out[at++][2] = (float)v->z;
            }
        }
    }
    *points = out;
    *triangles = count;
    return true;
}

static bool build(const char *path, ground_mesh *mesh, float (*points)[3], size_t triangles, io_error *error) {
    mesh->scene = rtcNewScene(mesh->device);
    rtcSetSceneFlags(mesh->scene, RTC_SCENE_FLAG_ROBUST);
    RTCGeometry geometry = rtcNewGeometry(mesh->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    float *vertices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float), triangles * 3);
    uint32_t *indices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(uint32_t), triangles);
    if (vertices != NULL && indices != NULL) {
        memcpy(vertices, points, triangles * 9 * sizeof(float));
        for (size_t i = 0; i < triangles * 3; ++i) indices[i] = (uint32_t)i;
        rtcCommitGeometry(geometry);
        rtcAttachGeometryByID(mesh->scene, geometry, 0);
        rtcCommitScene(mesh->scene);
    }
    rtcReleaseGeometry(geometry);
    enum RTCError problem = rtcGetDeviceError(mesh->device);
    return problem == RTC_ERROR_NONE ? true : io_fail(error, "%s: Embree could not build a scene from it (error %d)", path, (int)problem);
}

static void measure(ground_mesh *mesh, float (*points)[3], size_t triangles) {
    for (int k = 0; k < 3; ++k) {
        mesh->least[k] = INFINITY;
        mesh->most[k] = -INFINITY;
        for (size_t i = 0; i < triangles * 3; ++i) {
            mesh->least[k] = fmin(mesh->least[k], points[i][k]);
            mesh->most[k] = fmax(mesh->most[k], points[i][k]);
        }
    }
}

/* The walker's frame: the origin point at zero, turned by the heading, scaled. Done in double, on the points themselves. */
static void place(float (*points)[3], size_t triangles, const double origin[3], double heading_degrees, double scale) {
    double angle = heading_degrees * (3.14159265358979323846 / 180), c = cos(angle), s = sin(angle);
    for (size_t i = 0; i < triangles * 3; ++i) {
        double x = points[i][0] * scale - origin[0], z = points[i][2] * scale - origin[2];
        points[i][0] = (float)(c * x - s * z);
        points[i][1] = (float)(points[i][1] * scale - origin[1]);
        points[i][2] = (float)(s * x + c * z);
    }
}

/* Height under the origin, in a first scene in the file's own coordinates: Embree finds it as it will find the feet's. */
static bool find_base(const char *path, ground_mesh *mesh, const ground_options *options, io_notes *notes, double origin[3],
                      io_error *error) {
    double x = options->has_origin ? options->origin[0] / options->scale : 0,
           z = options->has_origin ? options->origin[1] / options->scale : 0, height = 0;
    if (!ground_mesh_height(mesh, x, z, &height, NULL)) {
        double middle[2] = {(mesh->least[0] + mesh->most[0]) / 2, (mesh->least[2] + mesh->most[2]) / 2};
        if (options->has_origin || !ground_mesh_height(mesh, middle[0], middle[1], &height, NULL)) {
            return io_fail(error, "%s: has no ground at %g,%g; give --origin X,Z within X %g to %g, Z %g to %g", path, x * options->scale,
                           z * options->scale, mesh->least[0] * options->scale, mesh->most[0] * options->scale,
                           mesh->least[2] * options->scale, mesh->most[2] * options->scale);
        }
        x = middle[0];
        z = middle[1];
        io_note(notes, "there is no ground at 0,0; the origin is the mesh's middle, %g,%g", x * options->scale, z * options->scale);
    }
    origin[0] = x * options->scale;
    origin[1] = height * options->scale;
    origin[2] = z * options->scale;
    return true;
}

bool ground_mesh_load(const char *path, const ground_options *options, ground_mesh **loaded, io_notes *notes, io_error *error) {
    const struct aiScene *scene = io_import_scene(path, aiProcess_Triangulate | aiProcess_PreTransformVertices, error);
    if (scene == NULL) return false;
    float(*points)[3] = NULL;
    size_t triangles = 0;
    bool good = gather(path, scene, &points, &triangles, error);
    aiReleaseImport(scene);
    if (!good) return false;
    ground_mesh *mesh = io_allocate(1, sizeof *mesh);
    mesh->device = rtcNewDevice("threads=1,set_affinity=0");
    good = mesh->device != NULL ? true : io_fail(error, "%s: Embree found no device to run on", path);
    double origin[3] = {0, 0, 0};
    if (good) measure(mesh, points, triangles);
    good = good && build(path, mesh, points, triangles, error) && find_base(path, mesh, options, notes, origin, error);
    if (good) {
        rtcReleaseScene(mesh->scene);
        place(points, triangles, origin, options->heading_degrees, options->scale);
        measure(mesh, points, triangles);
        good = build(path, mesh, points, triangles, error);
        io_note(notes, "the ground is a mesh of %zu triangles, %.4g x %.4g m", triangles, mesh->most[0] - mesh->least[0],
                mesh->most[2] - mesh->least[2]);
    }
    free(points);
    if (!good) ground_mesh_free(mesh);
    else *loaded = mesh;
    return good;
}

void ground_mesh_free(ground_mesh *mesh) {
    if (mesh->scene != NULL) rtcReleaseScene(mesh->scene);
    if (mesh->device != NULL) rtcReleaseDevice(mesh->device);
    free(mesh);
}

void ground_mesh_extent(const ground_mesh *mesh, double least[3], double most[3]) {
    memcpy(least, mesh->least, sizeof mesh->least);
    memcpy(most, mesh->most, sizeof mesh->most);
}

/* Embree's Ng is neither unit nor turned to one side: up it is here, and toward the ray where a face stands upright. */
static bool unit_upward(double n[3], const double direction[3]) {
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 0)) return false;
    bool away = n[1] < 0 || (n[1] == 0 && n[0] * direction[0] + n[2] * direction[2] > 0);
    for (int k = 0; k < 3; ++k) n[k] *= (away ? -1 : 1) / length;
    return true;
}

/* Embree takes nothing that is not finite or larger than 1.8e18; no ground is that far away. */
static const double farthest = 1e9;
static bool within(float value) { return fabs((double)value) < farthest; }

bool ground_mesh_height(const ground_mesh *mesh, double x, double z, double *height, double normal[3]) {
    if (!(fabs(x) < farthest && fabs(z) < farthest)) return false;
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    double top = mesh->most[1] + 1 + 1e-3 * (mesh->most[1] - mesh->least[1]);
    struct RTCRayHit ray = {
        .ray = {.org_x = (float)x, .org_y = (float)top, .org_z = (float)z, .dir_y = -1, .tfar = INFINITY, .mask = UINT32_MAX},
        .hit = {.geomID = RTC_INVALID_GEOMETRY_ID}};
    rtcIntersect1(mesh->scene, &context, &ray);
    if (ray.hit.geomID == RTC_INVALID_GEOMETRY_ID) return false;
    double n[3] = {ray.hit.Ng_x, ray.hit.Ng_y, ray.hit.Ng_z};
    if (!unit_upward(n, (const double[3]){0, -1, 0})) return false;
    if (height != NULL) *height = (double)ray.ray.org_y - (double)ray.ray.tfar;
    if (normal != NULL) memcpy(normal, n, sizeof n);
    return true;
}

void ground_mesh_cast16(const ground_mesh *mesh, uint32_t active, phx_ray_block *rays) {
    _Alignas(64) int valid[16];
    _Alignas(64) struct RTCRayHit16 block;
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    memcpy(&block, rays, sizeof block);
    for (int k = 0; k < 16; ++k) {
        bool sound = within(rays->org_x[k]) && within(rays->org_y[k]) && within(rays->org_z[k]) && within(rays->dir_x[k]) &&
                     within(rays->dir_y[k]) && within(rays->dir_z[k]) && rays->tnear[k] <= rays->tfar[k];
        if (active >> k & 1) rays->geomID[k] = PHX_NO_HIT;
        valid[k] = (active >> k & 1) && sound ? -1 : 0;
        block.hit.geomID[k] = RTC_INVALID_GEOMETRY_ID;
        block.hit.instID[0][k] = RTC_INVALID_GEOMETRY_ID;
        block.ray.mask[k] = UINT32_MAX;
        block.ray.time[k] = 0;
        block.ray.flags[k] = 0;
        if (block.ray.tnear[k] < 0) block.ray.tnear[k] = 0; /* Embree asks for it */
    }
    rtcIntersect16(valid, mesh->scene, &context, &block);
    for (int k = 0; k < 16; ++k) {
        double n[3] = {block.hit.Ng_x[k], block.hit.Ng_y[k], block.hit.Ng_z[k]};
        const double direction[3] = {block.ray.dir_x[k], block.ray.dir_y[k], block.ray.dir_z[k]};
        if (valid[k] == 0 || block.hit.geomID[k] == RTC_INVALID_GEOMETRY_ID || !unit_upward(n, direction)) continue;
        rays->tfar[k] = block.ray.tfar[k];
        rays->Ng_x[k] = (float)n[0];
        rays->Ng_y[k] = (float)n[1];
        rays->Ng_z[k] = (float)n[2];
        rays->u[k] = block.hit.u[k];
        rays->v[k] = block.hit.v[k];
        rays->primID[k] = block.hit.primID[k];
        rays->geomID[k] = 0;
    }
}

#else

bool ground_is_mesh(const char *path) {
    (void)path;
    return true; /* which is then refused */
}
bool ground_mesh_load(const char *path, const ground_options *options, ground_mesh **mesh, io_notes *notes, io_error *error) {
    (void)options;
    (void)mesh;
    (void)notes;
    return io_fail(error,
                   "%s: is a mesh, and this phalanx was built without Embree; install libembree-dev and build again, or give a height map",
                   path);
}
void ground_mesh_free(ground_mesh *mesh) { (void)mesh; }
void ground_mesh_extent(const ground_mesh *mesh, double least[3], double most[3]) { (void)mesh, (void)least, (void)most; }
bool ground_mesh_height(const ground_mesh *mesh, double x, double z, double *height, double normal[3]) {
    (void)mesh, (void)x, (void)z, (void)height, (void)normal;
    return false;
}
void ground_mesh_cast16(const ground_mesh *mesh, uint32_t active, phx_ray_block *rays) { (void)mesh, (void)active, (void)rays; }

#endif
