/* A character from FBX, Collada and whatever else Assimp reads as nodes and node animations. */
#include "assimp_scene.h"
#include "reader.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct node_list {
    const struct aiNode **node;
    int32_t *parent; /* index into the list */
    bool *skeletal, *kept;
    size_t count;
} node_list;

/* Depth first, so that parents come first and a listing of joints reads as a tree. The count bounds a looped graph too. */
static bool list_nodes(const char *path, const struct aiScene *scene, node_list *list, io_error *error) {
    enum { MOST_NODES = 16384 };
    typedef struct {
        const struct aiNode *node;
        int32_t parent;
    } open_node;
    open_node *open = io_allocate(MOST_NODES, sizeof *open);
    list->node = io_allocate(MOST_NODES, sizeof *list->node);
    list->parent = io_allocate(MOST_NODES, sizeof *list->parent);
    open[0] = (open_node){scene->mRootNode, -1};
    size_t waiting = 1;
    while (waiting > 0) {
        open_node next = open[--waiting];
        list->node[list->count] = next.node;
        list->parent[list->count] = next.parent;
        int32_t at = (int32_t)list->count++;
        if (list->count + waiting + next.node->mNumChildren > MOST_NODES) {
            free(open);
            return io_fail(error, "%s: holds more than %d nodes", path, MOST_NODES);
        }
        for (unsigned c = next.node->mNumChildren; c-- > 0;) open[waiting++] = (open_node){next.node->mChildren[c], at};
    }
    free(open);
    list->skeletal = io_allocate(list->count, sizeof *list->skeletal);
    list->kept = io_allocate(list->count, sizeof *list->kept);
    return true;
}

static int32_t find_node(const node_list *list, const struct aiString *name) {
    for (size_t n = 0; n < list->count; ++n) {
        if (strcmp(list->node[n]->mName.data, name->data) == 0) return (int32_t)n;
    }
    return -1;
}

static bool is_camera_or_light(const struct aiScene *scene, const struct aiNode *node) {
    for (unsigned c = 0; c < scene->mNumCameras; ++c) {
        if (strcmp(scene->mCameras[c]->mName.data, node->mName.data) == 0) return true;
    }
    for (unsigned l = 0; l < scene->mNumLights; ++l) {
        if (strcmp(scene->mLights[l]->mName.data, node->mName.data) == 0) return true;
    }
    return false;
}

/* The joints are the bones of meshes. Without meshes they are the animated nodes of the largest tree below the root, so that
 * animated cameras, targets and props beside the skeleton are left out. */
static void choose_nodes(const struct aiScene *scene, node_list *list) {
    bool any = false;
    for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
        for (unsigned b = 0; b < scene->mMeshes[m]->mNumBones; ++b) {
            int32_t node = find_node(list, &scene->mMeshes[m]->mBones[b]->mName);
            if (node >= 0) any = list->skeletal[node] = true;
        }
    }
    if (!any) {
        int32_t *tree = io_allocate(list->count, sizeof *tree);
        size_t *animated = io_allocate(list->count, sizeof *animated);
        bool *moves = io_allocate(list->count, sizeof *moves);
        for (unsigned a = 0; a < scene->mNumAnimations; ++a) {
            for (unsigned c = 0; c < scene->mAnimations[a]->mNumChannels; ++c) {
                int32_t node = find_node(list, &scene->mAnimations[a]->mChannels[c]->mNodeName);
                if (node >= 0 && !is_camera_or_light(scene, list->node[node])) moves[node] = true;
            }
        }
        size_t largest = 0;
        for (size_t n = 1; n < list->count; ++n) {
            tree[n] = list->parent[n] == 0 ? (int32_t)n : tree[list->parent[n]];
            animated[tree[n]] += moves[n];
            if (animated[tree[n]] > animated[largest]) largest = (size_t)tree[n];
        }
        for (size_t n = 0; n < list->count; ++n) list->skeletal[n] = moves[n] && (n == 0 || (size_t)tree[n] == largest);
        free(moves);
        free(animated);
        free(tree);
    }
    /* where 3ds Max's biped keeps its footprints, an animated node that is no bone */
    for (size_t n = 0; n < list->count; ++n) list->skeletal[n] &= strstr(list->node[n]->mName.data, "Footsteps") == NULL;
    for (size_t n = list->count; n-- > 0;) {
        list->kept[n] |= list->skeletal[n];
        if (list->kept[n] && list->parent[n] >= 0) list->kept[list->parent[n]] = true;
    }
    /* what hangs below a joint and is no mesh: end points, which show how long a foot is */
    for (size_t n = 1; n < list->count; ++n) {
        if (list->kept[list->parent[n]] && !list->kept[n] && list->node[n]->mNumMeshes == 0 && !is_camera_or_light(scene, list->node[n]))
            list->kept[n] = list->skeletal[list->parent[n]];
    }
}

static float finite_or_zero(ai_real value, bool *finite) {
    if (!isfinite(value)) *finite = false;
    return isfinite(value) ? (float)value : 0;
}

static bool read_clips(const char *path, const struct aiScene *scene, const node_list *list, const int32_t *joint_of,
                       io_character *character, io_error *error) {
    for (unsigned a = 0; a < scene->mNumAnimations; ++a) {
        const struct aiAnimation *from = scene->mAnimations[a];
        double ticks = from->mTicksPerSecond > 0 ? from->mTicksPerSecond : 25;
        /* Collada's clip is named after whichever node comes first: the file's name says more */
        bool named = from->mName.length > 0 && find_node(list, &from->mName) < 0;
        const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path, *dot = strrchr(base, '.');
        char *stem = io_format_text("%.*s", (int)(dot != NULL && dot > base ? dot - base : (ptrdiff_t)strlen(base)), base);
        io_clip *clip = io_add_clip(character, named ? from->mName.data : stem);
        free(stem);
        bool finite = true;
        for (unsigned c = 0; c < from->mNumChannels; ++c) {
            const struct aiNodeAnim *channel = from->mChannels[c];
            int32_t node = find_node(list, &channel->mNodeName);
            if (node < 0 || joint_of[node] < 0) continue;
            uint32_t joint = (uint32_t)joint_of[node];
            for (int p = 0; p < 3; ++p) {
                unsigned count = p == 0 ? channel->mNumPositionKeys : p == 1 ? channel->mNumRotationKeys : channel->mNumScalingKeys;
                if (count == 0) continue;
                io_track *track = io_add_track(clip, joint, (io_path)p, IO_LINEAR, count);
                for (unsigned k = 0; k < count; ++k) {
                    if (p == 1) {
                        const struct aiQuatKey *key = &channel->mRotationKeys[k];
                        float *q = track->values + 4 * k;
                        q[0] = finite_or_zero(key->mValue.x, &finite);
                        q[1] = finite_or_zero(key->mValue.y, &finite);
                        q[2] = finite_or_zero(key->mValue.z, &finite);
                        q[3] = finite_or_zero(key->mValue.w, &finite);
                        finite &= io_normalise_rotation(q);
                        track->times[k] = (float)(key->mTime / ticks);
                    } else {
                        const struct aiVectorKey *key = p == 0 ? &channel->mPositionKeys[k] : &channel->mScalingKeys[k];
                        track->values[3 * k] = finite_or_zero(key->mValue.x, &finite);
                        track->values[3 * k + 1] = finite_or_zero(key->mValue.y, &finite);
                        track->values[3 * k + 2] = finite_or_zero(key->mValue.z, &finite);
                        track->times[k] = (float)(key->mTime / ticks);
                    }
                    finite &= isfinite(track->times[k]) != 0;
                    if (k > 0 && !(track->times[k] >= track->times[k - 1]))
                        return io_fail(error, "%s: clip '%s' has key times that fall", path, clip->name);
                }
            }
        }
        if (!finite) return io_fail(error, "%s: clip '%s' holds a key that is not finite or a rotation of no length", path, clip->name);
        if (!io_time_clip(path, clip, error)) return false;
    }
    return true;
}

/* FBX states its axes and unit, which Assimp hands through; Collada's are already in the root node's transform. */
static void read_conventions(const struct aiScene *scene, io_reading *reading, bool is_fbx) {
    reading->likely_unit = 1;
    if (!is_fbx) {
        reading->up_known = true;
        return;
    }
    reading->likely_unit = 0.01;
    for (unsigned p = 0; scene->mMetaData != NULL && p < scene->mMetaData->mNumProperties; ++p) {
        const struct aiMetadataEntry *entry = &scene->mMetaData->mValues[p];
        const char *key = scene->mMetaData->mKeys[p].data;
        if (strcmp(key, "UpAxis") == 0 && entry->mType == AI_INT32) {
            reading->character->z_up = *(const int32_t *)entry->mData == 2;
            reading->up_known = true;
        } else if (strcmp(key, "UnitScaleFactor") == 0) {
            double factor = entry->mType == AI_DOUBLE  ? *(const double *)entry->mData
                            : entry->mType == AI_FLOAT ? *(const float *)entry->mData
                                                       : 1;
            if (factor > 1e-6 && factor < 1e6) reading->likely_unit = 0.01 * factor;
        }
    }
}

bool io_read_assimp(io_reading *reading, const char *path, const uint8_t *data, size_t size, io_error *error) {
    (void)data;
    (void)size;
    io_character *character = reading->character;
    const struct aiScene *scene = io_import_scene(path, 0, error);
    if (scene == NULL) return false;
    node_list list = {0};
    int32_t *joint_of = NULL;
    bool good = list_nodes(path, scene, &list, error);
    if (good) {
        choose_nodes(scene, &list);
        joint_of = io_allocate(list.count, sizeof *joint_of);
        for (size_t n = 0; n < list.count && good; ++n) {
            joint_of[n] = -1;
            if (!list.kept[n]) continue;
            joint_of[n] = (int32_t)character->joint_count;
            io_joint *joint = io_add_joint(character, list.node[n]->mName.data, list.parent[n] >= 0 ? joint_of[list.parent[n]] : -1);
            joint->skeletal = list.skeletal[n];
            const struct aiMatrix4x4 *m = &list.node[n]->mTransformation;
            const double columns[16] = {m->a1, m->b1, m->c1, 0, m->a2, m->b2, m->c2, 0, m->a3, m->b3, m->c3, 0, m->a4, m->b4, m->c4, 1};
            for (int k = 0; k < 16; ++k) good &= fabs(columns[k]) < 1e30;
            if (!good) io_fail(error, "%s: node '%s' has a transform that is not finite", path, joint->name);
            else if (io_decompose(columns, &joint->rest) > 1e-3)
                io_note(&character->notes, "node '%s' has a transform with shear, which is dropped", joint->name);
        }
        read_conventions(scene, reading, io_has_extension(path, ".fbx"));
        good = good && read_clips(path, scene, &list, joint_of, character, error);
    }
    free(joint_of);
    free(list.node);
    free(list.parent);
    free(list.skeletal);
    free(list.kept);
    aiReleaseImport(scene);
    return good;
}
