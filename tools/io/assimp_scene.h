/* Assimp's import, made safe to call on any file. Used for characters (read_assimp.c) and mesh grounds (ground_mesh.c). */
#ifndef PHALANX_TOOLS_IO_ASSIMP_SCENE_H
#define PHALANX_TOOLS_IO_ASSIMP_SCENE_H

#include "common.h"

struct aiScene;

/* Imports with the given post-processing `flags`. The import is tried in a child process first, which a crash, an endless loop
 * or a grab for memory ends instead of the caller. Give the scene to aiReleaseImport. */
const struct aiScene *io_import_scene(const char *path, unsigned flags, io_error *error);

#endif
