/* Writing a character's clips as GLB, for `phalanx bake`.
 *
 *   io_transform *locals = malloc(frames * character.joint_count * sizeof *locals);   // frame after frame, all joints
 *   io_baked_clip clip = {"walk_phalanx", 30, frames, locals, clip_index};
 *   if (!io_write_glb("out.glb", &character, &clip, 1, &error)) ...;
 *
 * A character that came from glTF keeps everything else of its file - meshes, skins, materials, images (not re-encoded), other
 * animations, extras, unknown extensions - and gets the clips as further animations; the source file is read again, so it must
 * still be there, and may be the target. Buffers and images beside a .gltf are taken into the GLB. Any other character becomes a
 * skeleton: a node for each joint under one that turns the file's units and axes into metres and Y up, a skin over the joints,
 * and the clips.
 *
 * Local transforms are in the file's own units, as io_character_sample gives them. Of each joint only what differs from its rest
 * pose in some frame is written. The target appears whole or not at all. */
#ifndef PHALANX_TOOLS_IO_WRITE_GLB_H
#define PHALANX_TOOLS_IO_WRITE_GLB_H

#include "character.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct io_baked_clip {
    const char *name;
    double frame_rate;          /* frames a second; > 0 */
    uint32_t frames;            /* at least 1 */
    const io_transform *locals; /* frames x joint_count */
    int32_t source; /* index of the clip it was made from: what that moves besides joints (faces, props) comes along; -1: nothing */
} io_baked_clip;

/* False with a sentence where a transform is not finite, the source has changed, or the target cannot be written. */
bool io_write_glb(const char *path, const io_character *character, const io_baked_clip *clips, size_t clip_count, io_error *error);

#ifdef __cplusplus
}
#endif
#endif
