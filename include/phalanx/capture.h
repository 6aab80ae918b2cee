/* Capture and replay: what one frame of a crowd consumed and what it returned, as a block of bytes that any machine and any
 * backend can run again. A foot that went wrong in a game becomes a small file; whoever opens it sees every stage of it, and
 * whether the answer was the same bits.
 *
 *     size_t size = phx_capture_size(crowd, &frame, 120, 3);                   // characters 120, 121, 122
 *     phx_capture_begin(crowd, &frame, 120, 3, buffer, size, &report);         // before the frame's first solve
 *     for each tile:  prepare, cast,  phx_capture_tile(crowd, &frame, tile, buffer);  solve
 *     phx_capture_end(crowd, &frame, buffer, &report);                         // after it was solved; buffer is the file
 *
 *     phx_replay *replay = phx_replay_open(bytes, size, backend, &report);
 *     phx_replay_run(replay, &difference);                                     // difference.characters == 0: the same bits
 *
 * Capturing allocates nothing. Little-endian 32-bit words throughout, a version, a checksum; reading trusts nothing. A capture of
 * n characters with j joints and k legs holds about 4 n (17 j + 150 k) bytes. It can be replayed by the library version that made it, and
 * by later ones for as long as the crowd's state keeps its layout; others say so. */
#ifndef PHALANX_CAPTURE_H
#define PHALANX_CAPTURE_H

#include "crowd.h"

PHX_EXTERN_C_BEGIN

/* Bytes that characters [first, first + count) of this frame take; 0 where the frame is invalid or the range is not in it. */
PHX_API size_t phx_capture_size(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count);

/* The definition, the bodies, and room for the rest. Before the frame's first solve. size: at least phx_capture_size bytes at buffer,
 * any alignment. */
PHX_API phx_status phx_capture_begin(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count, void *buffer,
                                     size_t size, phx_report *report);

/* All that solving a tile will consume: state, poses, roots, flags, rays and hits. After its rays were cast, before it is solved.
 * Tiles of which nothing is captured are passed over; of others, PHX_ERROR_STATE where the tile does not lie prepared in its workspace, as
 * phx_crowd_solve says, and where buffer is no capture that this crowd and frame have begun. Threads may do this for different tiles at once. */
PHX_API phx_status phx_capture_tile(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile, void *buffer);

/* Corrected poses and state, and the checksum: after all tiles were solved. PHX_ERROR_STATE where a tile is missing. */
PHX_API phx_status phx_capture_end(const phx_crowd *crowd, const phx_crowd_frame *frame, void *buffer, phx_report *report);

typedef struct phx_replay phx_replay;

/* NULL, and a sentence, where the bytes are no capture, damaged, unfinished, or made with another layout. They must stay until
 * the replay is closed. Takes memory in proportion to size. backend NULL = phx_backend_best(). */
PHX_API phx_replay *phx_replay_open(const void *bytes, size_t size, const phx_backend *backend, phx_report *report);
PHX_API void phx_replay_close(phx_replay *replay);

/* How a run differs from what was captured. */
typedef struct phx_replay_difference {
    uint32_t characters; /* that differ; 0 = none */
    uint32_t character;  /* the first, numbered as in the captured crowd */
    const char *stage;   /* "rays": origins of its rays; "pose": its corrected joints; "state": what it takes to the next frame; NULL */
    uint32_t joint;      /* of "pose": the first joint that differs, numbered as in the captured skeleton; else PHX_NO_JOINT */
    uint32_t leg;        /* of "rays" and "state": the leg; PHX_NO_JOINT where it is the character's own state */
} phx_replay_difference;

/* Runs the frame from the captured state and compares all outputs bit for bit. May be repeated; each run starts afresh. */
PHX_API phx_status phx_replay_run(phx_replay *replay, phx_replay_difference *difference);

/* What is replayed. Joints are those that the crowd reads, parents first, numbered from 0; the definition's skeleton, legs and pelvis count
 * them so. Character c here is character first + c of the captured crowd. */
typedef struct phx_replay_info {
    uint32_t first, count;
    const phx_crowd_def *def;
    const uint32_t *joints;       /* their numbers in the captured skeleton */
    const phx_crowd *crowd;       /* as the last run left it: phx_crowd_foot, phx_crowd_draw */
    const phx_crowd_frame *frame; /* poses: phx_transform, def->skeleton.joint_count a character; corrected once it was run */
} phx_replay_info;
PHX_API phx_replay_info phx_replay_get(const phx_replay *replay);

/* The animated pose of one character, def->skeleton.joint_count transforms. */
PHX_API phx_status phx_replay_animated(const phx_replay *replay, uint32_t character, phx_transform *pose);

PHX_EXTERN_C_END
#endif
