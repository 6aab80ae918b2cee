/* Runs a crowd of walkers over a ground, tile by tile on as many threads as asked, and times it: what `phalanx demo` and `bake`
 * have in common.
 *
 *   crowd_run_options options = {.motion = &walk, .ground = ground, .walkers = walkers, .characters = n, ...};
 *   crowd_run run;
 *   if (!crowd_run_start(&options, &run, &error)) ...;
 *   ... run.ns_per_foot, run.hash, run.captures[0].after ...
 *   crowd_run_free(&run);
 *
 * A frame of a tile: sample the clip, put the root on the ground (both the engine's job, timed apart), phx_crowd_prepare,
 * cast its rays, phx_crowd_solve. The first frames are run a second time by the reference backend, turn by turn with the first
 * run, and must return the same bits. */
#ifndef PHALANX_TOOLS_CROWD_RUN_H
#define PHALANX_TOOLS_CROWD_RUN_H

#include "../io/ground.h"
#include "motion.h"

/* One walker: straight ahead from `start` along `heading`, `rate` frames of its clip a frame of the run. */
typedef struct walker {
    double start[2]; /* X, Z */
    double heading;  /* radians about +Y; 0 walks along +Z */
    double phase;    /* frame of the clip at which it starts */
    double rate;     /* > 0 */
    uint32_t lap;    /* frames after which it starts anew, as if just spawned; 0 = never. Needed where the clip does not loop */
} walker;

typedef struct crowd_run_options {
    const motion *motion;
    const ground *ground;
    const walker *walkers;
    uint32_t characters, frames, threads; /* each 1 or more */
    double dt;                            /* seconds a frame */
    double joint_speed;                   /* joints turn at most this many times as fast as the clip ever turns them; 0 = no limit */
    const phx_backend *backend;
    uint32_t reference_characters, reference_frames; /* how many the reference backend runs again; 0 = none */
    const uint32_t *captured;                        /* characters, rising */
    uint32_t captured_count;
    const char *capture_path; /* one frame of some characters goes there, for `phalanx replay`; NULL = none */
    uint32_t capture_frame, capture_first, capture_count;
    const char *progress; /* command name for a line on standard error; NULL = silent */
} crowd_run_options;

/* All that a report or a measure needs of one character. */
typedef struct crowd_capture {
    uint32_t character;
    phx_transform *before, *after; /* frames * joints */
    root_transform *roots;         /* frames */
    double *clip_frame;            /* frames */
    uint8_t *spawned;              /* frames: 1 = it started anew here */
    phx_foot_info *feet;           /* frames * legs: the library's own account */
    float *pelvis;                 /* frames: its correction along the vertical, metres */
} crowd_capture;

/* Processor time a foot and frame, medians over the frames, nanoseconds. The library works in two calls: phx_crowd_prepare (poses
 * packed, forward kinematics, rays) is `pose`, phx_crowd_solve (hits to rotations in the caller's pose) is `solve`. */
typedef struct crowd_times {
    double sampling; /* clip sampling and root placement: the engine's, in no total */
    double pose, rays, ground, solve, write_back;
    double total; /* pose + rays + solve + write_back */
} crowd_times;

typedef struct crowd_run {
    uint32_t characters, frames, threads, feet;
    crowd_times ns_per_foot;
    double frame_ms_median, frame_ms_p99; /* pose to write_back with the ray casts, on the thread that took longest */
    double *total_by_frame;               /* frames: ns a foot */
    double reference_total;               /* ns a foot of the reference backend; 0 where it did not run */
    double compared_total;                /* ns a foot of the backend over the frames that the reference ran too */
    uint64_t hash;       /* FNV-1a, 64 bits, over the FNV-1a hashes of each character's output poses, frame after frame, in order */
    uint64_t non_finite; /* numbers in output poses */
    uint64_t off_ground; /* characters * frames whose root stood where there is no ground */
    size_t memory;       /* bytes the crowd holds */
    crowd_capture *captures;
    uint32_t captured_count;
} crowd_run;

/* False: `error` has a sentence, and `run` is empty. */
bool crowd_run_start(const crowd_run_options *options, crowd_run *run, io_error *error);
void crowd_run_free(crowd_run *run);

#endif
