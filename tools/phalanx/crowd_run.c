/* The crowd's frame loop: workers take tiles from a counter, times are kept per worker and frame. */
#define _DEFAULT_SOURCE
#include "crowd_run.h"
#include "capture_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLING, PREPARE, CAST, SOLVE, STAGES };

/* The next tile of one worker's range, from its first on; apart from the others' cache lines. */
typedef struct next_tile {
    atomic_uint tile;
    char apart[124];
} next_tile;

/* One pass over the same frames: the backend asked for, or the reference. */
typedef struct pass {
    phx_crowd *crowd;
    phx_transform *poses;
    uint32_t characters, frames;
    uint64_t *spent; /* [frame][worker][stage] nanoseconds */
    next_tile *next; /* a worker's own range */
} pass;

typedef struct stage_run {
    const crowd_run_options *options;
    crowd_run *run;
    pass first, again; /* again.crowd NULL: no reference */
    phx_vec3 *places;
    phx_quat *turns;
    uint32_t *flags;
    uint64_t *hashes;     /* a character */
    uint32_t *capture_of; /* a character: index of its capture, or PHX_NO_HIT */
    _Atomic uint64_t non_finite, off_ground;
    _Atomic uint64_t different; /* 1 + (frame << 32 | character) of one that the reference answers differently; 0: none */
    pthread_barrier_t barrier;
    uint32_t workers;
    atomic_bool rejected;
    capture_file file; /* bytes NULL: nothing is being captured */
    bool file_failed;
    io_error file_error;
} stage_run;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The frame of its lap and clip that a walker is in. */
static uint32_t frame_of_lap(const walker *w, uint32_t frame) { return w->lap > 0 ? frame % w->lap : frame; }
static double clip_frame(const walker *w, uint32_t frame) { return w->phase + w->rate * frame_of_lap(w, frame); }

/* Roots of up to 16 characters from `first` on. A root stands as high as a body of some width feels the ground: the mean over half
 * a metre of it along the walker's heading. */
static void place_roots(stage_run *s, uint32_t first, uint32_t count, uint32_t frame) {
    const motion *motion = s->options->motion;
    float x[16] = {0}, z[16] = {0}, along_x[16] = {0}, along_z[16] = {0}, at_x[16], at_z[16], height[16], sum[16] = {0}, found[16] = {0};
    uint32_t off = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const walker *w = &s->options->walkers[first + k];
        double from[2], to[2];
        motion_path(motion, w->phase, from);
        motion_path(motion, clip_frame(w, frame), to);
        const double dx = to[0] - from[0], dz = to[1] - from[1], c = cos(w->heading), si = sin(w->heading);
        const turn rotation = turn_times(turn_y(w->heading), motion->turn);
        x[k] = (float)(w->start[0] + c * dx + si * dz);
        z[k] = (float)(w->start[1] + c * dz - si * dx);
        along_x[k] = (float)si;
        along_z[k] = (float)c;
        s->turns[first + k] = (phx_quat){(float)rotation.x, (float)rotation.y, (float)rotation.z, (float)rotation.w};
        s->flags[first + k] = frame_of_lap(w, frame) == 0 ? PHX_CHARACTER_TELEPORT : 0;
    }
    for (int sample = -3; sample <= 3; ++sample) {
        for (int k = 0; k < 16; ++k) {
            at_x[k] = x[k] + along_x[k] * (float)sample * (0.25f / 3);
            at_z[k] = z[k] + along_z[k] * (float)sample * (0.25f / 3);
        }
        ground_heights16(s->options->ground, at_x, at_z, height);
        for (uint32_t k = 0; k < count; ++k) {
            const bool there = !isnan(height[k]);
            sum[k] += there ? height[k] : 0;
            found[k] += there ? 1 : 0;
            off += sample == 0 && !there;
        }
    }
    for (uint32_t k = 0; k < count; ++k) s->places[first + k] = (phx_vec3){x[k], found[k] > 0 ? sum[k] / found[k] : 0, z[k]};
    if (off > 0) atomic_fetch_add_explicit(&s->off_ground, off, memory_order_relaxed);
}

/* FNV-1a of each character's pose, going on from where its last frame ended; eight at a time, as each alone waits for its
 * multiplications. */
static void hash_poses(uint64_t *hashes, const uint8_t *poses, size_t size, uint32_t count) {
    const uint64_t prime = 0x100000001b3u;
    uint32_t c = 0;
    for (; c + 8 <= count; c += 8) {
        uint64_t h[8];
        memcpy(h, hashes + c, sizeof h);
        for (size_t i = 0; i < size; ++i) {
            for (size_t k = 0; k < 8; ++k) h[k] = (h[k] ^ poses[(c + k) * size + i]) * prime;
        }
        memcpy(hashes + c, h, sizeof h);
    }
    for (; c < count; ++c) {
        for (size_t i = 0; i < size; ++i) hashes[c] = (hashes[c] ^ poses[c * size + i]) * prime;
    }
}

static uint64_t count_non_finite(const phx_transform *poses, size_t count) {
    uint32_t found = 0;
    const float *values = &poses->translation.x;
    for (size_t i = 0; i < 10 * count; ++i) {
        uint32_t bits;
        memcpy(&bits, &values[i], 4);
        found += (bits & 0x7f800000u) == 0x7f800000u;
    }
    return found;
}

static void capture_before(stage_run *s, uint32_t character, uint32_t frame) {
    if (s->capture_of[character] == PHX_NO_HIT) return;
    const uint32_t joints = s->options->motion->joint_count;
    crowd_capture *capture = &s->run->captures[s->capture_of[character]];
    const phx_vec3 p = s->places[character];
    const phx_quat q = s->turns[character];
    memcpy(capture->before + (size_t)frame * joints, s->first.poses + (size_t)character * joints, joints * sizeof(phx_transform));
    capture->roots[frame] = (root_transform){vec_of(p.x, p.y, p.z), {q.x, q.y, q.z, q.w}};
    capture->clip_frame[frame] = clip_frame(&s->options->walkers[character], frame);
    capture->spawned[frame] = s->flags[character] != 0;
}

static void capture_after(stage_run *s, uint32_t character, uint32_t frame) {
    if (s->capture_of[character] == PHX_NO_HIT) return;
    const uint32_t joints = s->options->motion->joint_count, legs = s->options->motion->leg_count;
    crowd_capture *capture = &s->run->captures[s->capture_of[character]];
    memcpy(capture->after + (size_t)frame * joints, s->first.poses + (size_t)character * joints, joints * sizeof(phx_transform));
    for (uint32_t l = 0; l < legs; ++l) phx_crowd_foot(s->first.crowd, character, l, &capture->feet[(size_t)frame * legs + l]);
    capture->pelvis[frame] = phx_crowd_pelvis(s->first.crowd, character);
}

static void run_tile(stage_run *s, pass *pass, phx_crowd_frame *view, uint32_t worker, uint32_t frame, uint32_t tile) {
    const motion *motion = s->options->motion;
    const uint32_t first = tile * PHX_TILE_CHARACTERS, joints = motion->joint_count;
    const uint32_t count = pass->characters - first < PHX_TILE_CHARACTERS ? pass->characters - first : PHX_TILE_CHARACTERS;
    const bool main_pass = pass == &s->first;
    uint64_t *spent = pass->spent + ((size_t)frame * s->workers + worker) * STAGES, t[5];
    t[0] = now();
    for (uint32_t c = first; c < first + count; ++c) {
        motion_sample(motion, clip_frame(&s->options->walkers[c], frame), pass->poses + (size_t)c * joints);
    }
    if (main_pass) {
        for (uint32_t c = 0; c < count; c += 16) place_roots(s, first + c, count - c < 16 ? count - c : 16, frame);
        for (uint32_t c = first; c < first + count; ++c) capture_before(s, c, frame);
    }
    t[1] = now();
    const phx_ray_blocks rays = phx_crowd_prepare(pass->crowd, view, tile);
    t[2] = now();
    for (uint32_t b = 0; b < rays.count; ++b) ground_cast16(s->options->ground, rays.active[b / (2 * rays.legs)], &rays.blocks[b]);
    t[3] = now();
    if (main_pass && s->file.bytes != NULL) capture_file_tile(&s->file, pass->crowd, view, tile);
    if (rays.blocks == NULL || phx_crowd_solve(pass->crowd, view, tile) != PHX_OK) atomic_store(&s->rejected, true);
    t[4] = now();
    for (int k = 0; k < STAGES; ++k) spent[k] += t[k + 1] - t[k];
    if (main_pass) {
        const phx_transform *poses = pass->poses + (size_t)first * joints;
        hash_poses(s->hashes + first, (const uint8_t *)poses, joints * sizeof *poses, count);
        const uint64_t bad = count_non_finite(poses, (size_t)count * joints);
        if (bad > 0) atomic_fetch_add_explicit(&s->non_finite, bad, memory_order_relaxed);
        for (uint32_t c = first; c < first + count; ++c) capture_after(s, c, frame);
    } else {
        for (uint32_t c = first; c < first + count; ++c) {
            if (memcmp(pass->poses + (size_t)c * joints, s->first.poses + (size_t)c * joints, joints * sizeof(phx_transform)) != 0)
                atomic_store(&s->different, 1 + ((uint64_t)frame << 32 | c));
        }
    }
}

static phx_crowd_frame view_of(const stage_run *s, const pass *pass, uint32_t worker) {
    return (phx_crowd_frame){.count = pass->characters,
                             .dt = (float)s->options->dt,
                             .poses = phx_poses_of(pass->poses, s->options->motion->joint_count),
                             .root_position = PHX_VIEW_ARRAY(s->places),
                             .root_rotation = PHX_VIEW_ARRAY(s->turns),
                             .flags = PHX_VIEW_ARRAY(s->flags),
                             .worker = worker};
}

static void run_pass(stage_run *s, pass *pass, uint32_t worker, uint32_t frame) {
    phx_crowd_frame view = view_of(s, pass, worker);
    /* several in a row, as each fetches the memory of the next one; few enough that the workers end together */
    const uint32_t tiles = phx_crowd_frame_tiles(pass->crowd, &view), share = tiles / (8 * s->workers), length = share < 1 ? 1 : share < 8 ? share : 8;
    /* first those that this worker had in the last frame, as its core's cache has them, then what others have left */
    for (uint32_t k = 0; k < s->workers; ++k) {
        const uint32_t whose = (worker + k) % s->workers;
        const uint32_t begin = (uint32_t)((uint64_t)tiles * whose / s->workers), end = (uint32_t)((uint64_t)tiles * (whose + 1) / s->workers);
        for (;;) {
            const uint32_t first = begin + atomic_fetch_add_explicit(&pass->next[whose].tile, length, memory_order_relaxed);
            if (first >= end) break;
            for (uint32_t tile = first; tile < first + length && tile < end; ++tile) run_tile(s, pass, &view, worker, frame, tile);
        }
    }
}

static void show_progress(const stage_run *s, uint32_t frame, uint64_t started, uint64_t *shown) {
    const uint64_t t = now();
    const bool last = frame + 1 == s->options->frames;
    if (s->options->progress == NULL || t - started < 1000000000u || (t - *shown < 100000000u && !(last && *shown > 0))) return;
    *shown = t;
    fprintf(stderr, "\rphalanx %s: frame %u of %u%s", s->options->progress, frame + 1, s->options->frames, last ? "\r\033[K" : " ");
    fflush(stderr);
}

typedef struct worker_start {
    stage_run *stage;
    uint32_t worker;
} worker_start;

/* By one worker, before and after all work on a frame. */
static void begin_capture(stage_run *s, uint32_t frame) {
    const crowd_run_options *o = s->options;
    if (o->capture_path == NULL || frame != o->capture_frame) return;
    const phx_crowd_frame view = view_of(s, &s->first, 0);
    s->file_failed = !capture_file_begin(&s->file, s->first.crowd, &view, o->capture_first, o->capture_count, &s->file_error);
}

static void end_capture(stage_run *s) {
    if (s->file.bytes == NULL) return;
    const phx_crowd_frame view = view_of(s, &s->first, 0);
    s->file_failed = !capture_file_finish(&s->file, s->first.crowd, &view, &s->file_error) ||
                     !capture_file_write(&s->file, s->options->capture_path, &s->file_error);
    capture_file_free(&s->file);
}

static void *work(void *argument) {
    const worker_start *start = argument;
    stage_run *s = start->stage;
    uint64_t started = now(), shown = 0;
    for (uint32_t frame = 0; frame < s->options->frames; ++frame) {
        const bool again = s->again.crowd != NULL && frame < s->again.frames;
        atomic_store(&s->first.next[start->worker].tile, 0);
        if (again) atomic_store(&s->again.next[start->worker].tile, 0);
        if (start->worker == 0) begin_capture(s, frame);
        pthread_barrier_wait(&s->barrier);
        run_pass(s, &s->first, start->worker, frame);
        pthread_barrier_wait(&s->barrier);
        if (start->worker == 0) end_capture(s);
        if (again) run_pass(s, &s->again, start->worker, frame);
        if (again) pthread_barrier_wait(&s->barrier);
        if (start->worker == 0) show_progress(s, frame, started, &shown);
    }
    return NULL;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values`. */
static double share_of(double *values, size_t count, double share) {
    qsort(values, count, sizeof *values, by_value);
    return values[(size_t)(share * (double)(count - 1) + 0.5)];
}

static double spent_in(const stage_run *s, const pass *pass, uint32_t frame, int stage) {
    double sum = 0;
    for (uint32_t w = 0; w < s->workers; ++w) sum += (double)pass->spent[((size_t)frame * s->workers + w) * STAGES + (size_t)stage];
    return sum / ((double)pass->characters * s->options->motion->leg_count);
}

static double median_of_stage(const stage_run *s, const pass *pass, uint32_t frames, int stage, double *room) {
    for (uint32_t f = 0; f < frames; ++f) room[f] = spent_in(s, pass, f, stage);
    return share_of(room, frames, 0.5);
}

static void summarise(stage_run *s) {
    crowd_run *run = s->run;
    const uint32_t frames = run->frames;
    double *room = io_allocate(frames, sizeof *room);
    crowd_times *times = &run->ns_per_foot;
    times->sampling = median_of_stage(s, &s->first, frames, SAMPLING, room);
    times->pose = median_of_stage(s, &s->first, frames, PREPARE, room);
    times->ground = median_of_stage(s, &s->first, frames, CAST, room);
    times->solve = median_of_stage(s, &s->first, frames, SOLVE, room);
    times->total = times->pose + times->rays + times->solve + times->write_back;
    run->total_by_frame = io_allocate(frames, sizeof *run->total_by_frame);
    for (uint32_t f = 0; f < frames; ++f) {
        double longest = 0;
        for (uint32_t w = 0; w < s->workers; ++w) {
            const uint64_t *spent = s->first.spent + ((size_t)f * s->workers + w) * STAGES;
            longest = fmax(longest, (double)(spent[PREPARE] + spent[CAST] + spent[SOLVE]) / 1e6);
        }
        room[f] = longest;
        run->total_by_frame[f] = spent_in(s, &s->first, f, PREPARE) + spent_in(s, &s->first, f, SOLVE);
    }
    run->frame_ms_median = share_of(room, frames, 0.5);
    run->frame_ms_p99 = share_of(room, frames, 0.99);
    if (s->again.crowd != NULL) {
        const uint32_t compared = s->again.frames;
        run->reference_total =
            median_of_stage(s, &s->again, compared, PREPARE, room) + median_of_stage(s, &s->again, compared, SOLVE, room);
        run->compared_total = median_of_stage(s, &s->first, compared, PREPARE, room) + median_of_stage(s, &s->first, compared, SOLVE, room);
    }
    free(room);
    run->non_finite = s->non_finite;
    run->off_ground = s->off_ground;
    run->memory = phx_crowd_memory(s->first.crowd);
    run->hash = 0xcbf29ce484222325u;
    for (uint32_t c = 0; c < run->characters; ++c) {
        for (int k = 0; k < 8; ++k) run->hash = (run->hash ^ (s->hashes[c] >> (8 * k) & 0xff)) * 0x100000001b3u;
    }
}

/* Joints of legs may turn `times` as fast as the clip turns the fastest of their kind, as its fastest walker plays it. */
static void set_joint_speeds(const crowd_run_options *options, phx_crowd_params *params) {
    const motion *motion = options->motion;
    double peak[3] = {0, 0, 0}, rate = 0;
    for (uint32_t c = 0; c < options->characters; ++c) rate = fmax(rate, options->walkers[c].rate);
    for (uint32_t f = 1; f < motion->frames; ++f) {
        for (uint32_t l = 0; l < motion->leg_count; ++l) {
            const uint16_t chain[] = {motion->legs[l].hip, motion->legs[l].knee, motion->legs[l].ankle};
            for (int k = 0; k < 3; ++k) {
                const phx_transform *now = motion->locals + (size_t)f * motion->joint_count + chain[k];
                peak[k] = fmax(peak[k], turn_between(now[-(ptrdiff_t)motion->joint_count].rotation, now->rotation));
            }
        }
    }
    const double a_second = options->joint_speed * rate / options->dt;
    params->hip_speed = (float)fmin(a_second * peak[0], 1e6), params->knee_speed = (float)fmin(a_second * peak[1], 1e6);
    params->ankle_speed = (float)fmin(a_second * peak[2], 1e6);
}

static bool make_pass(stage_run *s, pass *pass, const phx_backend *backend, uint32_t characters, uint32_t frames, io_error *error) {
    const motion *motion = s->options->motion;
    phx_crowd_def def = phx_crowd_def_default();
    phx_report report;
    def.backend = backend;
    def.capacity = characters;
    def.skeleton = (phx_skeleton){motion->joint_count, motion->parents};
    def.pelvis = motion->pelvis;
    def.leg_count = motion->leg_count;
    memcpy(def.legs, motion->legs, motion->leg_count * sizeof *def.legs);
    def.scaled = motion->scaled;
    def.workspaces = s->workers;
    double shortest = motion->leg_length[0];
    for (uint32_t l = 1; l < motion->leg_count; ++l) shortest = fmin(shortest, motion->leg_length[l]);
    def.params = phx_crowd_params_for_leg((float)shortest);
    if (motion->leg_count > 2) { /* steps are measured from the root's level, and these feet stand far from it: up and down 45 degrees */
        placed_joint *joints = io_allocate(motion->joint_count, sizeof *joints);
        motion_place(motion, motion->locals, (root_transform){vec_of(0, 0, 0), motion->turn}, joints);
        double far = 0;
        for (uint32_t l = 0; l < motion->leg_count; ++l) {
            const vec hip = joints[motion->legs[l].hip].place;
            far = fmax(far, sqrt(hip.x * hip.x + hip.z * hip.z));
        }
        free(joints);
        def.params.step_up += (float)far, def.params.step_down += (float)far;
    }
    if (s->options->joint_speed > 0) set_joint_speeds(s->options, &def.params);
    pass->characters = characters;
    pass->frames = frames;
    pass->crowd = phx_crowd_create(&def, &report);
    if (pass->crowd == NULL) return io_fail(error, "the crowd cannot be made: %s", report.text);
    pass->poses = io_allocate((size_t)characters * motion->joint_count, sizeof *pass->poses);
    pass->next = io_allocate(s->workers, sizeof *pass->next);
    pass->spent = io_allocate((size_t)frames * s->workers * STAGES, sizeof *pass->spent);
    return true;
}

static void free_pass(pass *pass) {
    phx_crowd_destroy(pass->crowd);
    free(pass->poses);
    free(pass->spent);
    free(pass->next);
}

bool crowd_run_start(const crowd_run_options *options, crowd_run *run, io_error *error) {
    const motion *motion = options->motion;
    const uint32_t n = options->characters, frames = options->frames;
    *run = (crowd_run){.characters = n, .frames = frames, .threads = options->threads, .feet = n * motion->leg_count};
    stage_run s = {.options = options, .run = run, .workers = options->threads};
    crowd_run_options silent = *options;
    if (!isatty(STDERR_FILENO)) silent.progress = NULL;
    s.options = &silent;
    bool good = make_pass(&s, &s.first, options->backend, n, frames, error);
    if (good && options->reference_frames > 0 && options->reference_characters > 0)
        good = make_pass(&s, &s.again, phx_backend_find("reference"), options->reference_characters, options->reference_frames, error);
    if (good) {
        s.places = io_allocate(n, sizeof *s.places);
        s.turns = io_allocate(n, sizeof *s.turns);
        s.flags = io_allocate(n, sizeof *s.flags);
        s.hashes = io_allocate(n, sizeof *s.hashes);
        s.capture_of = io_allocate(n, sizeof *s.capture_of);
        for (uint32_t c = 0; c < n; ++c) s.hashes[c] = 0xcbf29ce484222325u;
        memset(s.capture_of, 0xff, n * sizeof *s.capture_of);
        run->captured_count = options->captured_count;
        run->captures = io_allocate(run->captured_count, sizeof *run->captures);
        for (uint32_t k = 0; k < run->captured_count; ++k) {
            crowd_capture *capture = &run->captures[k];
            capture->character = options->captured[k];
            capture->before = io_allocate((size_t)frames * motion->joint_count, sizeof *capture->before);
            capture->after = io_allocate((size_t)frames * motion->joint_count, sizeof *capture->after);
            capture->roots = io_allocate(frames, sizeof *capture->roots);
            capture->clip_frame = io_allocate(frames, sizeof *capture->clip_frame);
            capture->spawned = io_allocate(frames, 1);
            capture->feet = io_allocate((size_t)frames * motion->leg_count, sizeof *capture->feet);
            capture->pelvis = io_allocate(frames, sizeof *capture->pelvis);
            s.capture_of[capture->character] = k;
        }
        pthread_barrier_init(&s.barrier, NULL, s.workers);
        pthread_t *threads = io_allocate(s.workers, sizeof *threads);
        worker_start *starts = io_allocate(s.workers, sizeof *starts);
        uint32_t started = 1;
        for (uint32_t w = 0; w < s.workers; ++w) starts[w] = (worker_start){&s, w};
        for (; started < s.workers; ++started) {
            if (pthread_create(&threads[started], NULL, work, &starts[started]) != 0) {
                /* those already started wait at the barrier for ever: nothing can go on */
                fprintf(stderr, "phalanx: thread %u of %u cannot be started; ask for fewer with --threads\n", started + 1, s.workers);
                exit(1);
            }
        }
        work(&starts[0]);
        for (uint32_t w = 1; w < s.workers; ++w) pthread_join(threads[w], NULL);
        free(starts);
        free(threads);
        pthread_barrier_destroy(&s.barrier);
        summarise(&s);
        if (s.file_failed) good = io_fail(error, "%s", s.file_error.text);
        if (s.rejected) good = io_fail(error, "the crowd refused a frame; this is a fault of phalanx itself");
        if (s.different != 0) {
            const uint64_t at = s.different - 1;
            good = io_fail(error, "backend %s and the reference disagree: character %u, frame %u; this is a fault of phalanx itself",
                           phx_backend_name(options->backend), (uint32_t)at, (uint32_t)(at >> 32));
        }
    }
    free(s.places);
    free(s.turns);
    free(s.flags);
    free(s.hashes);
    free(s.capture_of);
    free_pass(&s.first);
    free_pass(&s.again);
    if (!good) crowd_run_free(run);
    return good;
}

void crowd_run_free(crowd_run *run) {
    for (uint32_t k = 0; k < run->captured_count; ++k) {
        crowd_capture *capture = &run->captures[k];
        free(capture->before);
        free(capture->after);
        free(capture->roots);
        free(capture->clip_frame);
        free(capture->spawned);
        free(capture->feet);
        free(capture->pelvis);
    }
    free(run->captures);
    free(run->total_by_frame);
    *run = (crowd_run){0};
}
