/* Assimp's import behind a child process that takes the risk. */
#define _GNU_SOURCE
#include "assimp_scene.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/scene.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct aiScene *import(const char *path, unsigned flags) {
    struct aiPropertyStore *properties = aiCreatePropertyStore();
    if (properties == NULL) return NULL;
    /* FBX pivots would come as extra nodes between the joints; they are folded into their joint instead */
    aiSetImportPropertyInteger(properties, AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, 0);
    aiSetImportPropertyInteger(properties, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);
    const struct aiScene *scene = aiImportFileExWithProperties(path, flags, NULL, properties);
    aiReleasePropertyStore(properties);
    return scene;
}

/* Status of a trial run in a child: 0 fine, 1 refused, -1 crashed, hung or ran out of memory. */
static int try_import(const char *path, unsigned flags) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return 0; /* no process to spare: take the risk here */
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0) {
            dup2(nowhere, 1);
            dup2(nowhere, 2);
        }
#if !defined(PHALANX_SANITIZED)
        /* a sanitizer's shadow memory would count */
        setrlimit(RLIMIT_DATA, &(struct rlimit){.rlim_cur = (rlim_t)900 << 20, .rlim_max = (rlim_t)900 << 20});
#endif
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        setrlimit(RLIMIT_CPU, &(struct rlimit){.rlim_cur = 4, .rlim_max = 4});
        alarm(20);
        _exit(import(path, flags) != NULL ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1 ? WEXITSTATUS(status) : -1;
}

const struct aiScene *io_import_scene(const char *path, unsigned flags, io_error *error) {
    int trial = try_import(path, flags);
    if (trial < 0) {
        io_fail(error, "%s: is damaged or too large: Assimp crashed, ran out of memory or took more than 4 s over it", path);
        return NULL;
    }
    const struct aiScene *scene = import(path, flags);
    if (scene == NULL || scene->mRootNode == NULL) {
        const char *reason = aiGetErrorString();
        io_fail(error, "%s: cannot be read by Assimp: %.400s", path, reason != NULL && *reason != 0 ? reason : "it gives no reason");
        if (scene != NULL) aiReleaseImport(scene);
        return NULL;
    }
    return scene;
}
