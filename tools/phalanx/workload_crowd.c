/* The workload of whole characters: forward kinematics, three crowds over a thousand frames each, and one of many tiles. See workload.h. */
#include "workload.h"

#include <stdlib.h>

enum { MOST_LEGS = 4, SPINE = 4, PER_LEG = 5, MOST_JOINTS = SPINE + MOST_LEGS * PER_LEG };

/* 0 root, 1 hips, 2 spine, 3 head, then hip knee ankle ball toe of each leg */
static uint16_t parent_of(uint32_t joint) {
    if (joint < SPINE) return joint == 0 ? PHX_NO_JOINT : (uint16_t)(joint - 1);
    return (joint - SPINE) % PER_LEG == 0 ? 1 : (uint16_t)(joint - 1);
}

/* ---- forward kinematics ---- */

enum { POSE_JOINTS = 14 };
_Static_assert(WORKLOAD_POSE_ANSWER == POSE_JOINTS * 28, "a position and a rotation for each joint");

typedef struct pose_range {
    const phx_backend *backend;
    const phx_fk_job *job;
    size_t characters;
} pose_range;
static bool pose_work(void *context, size_t first, size_t count) {
    const pose_range *range = context;
    const size_t from = first * 16, to = (first + count) * 16 < range->characters ? (first + count) * 16 : range->characters;
    const size_t size = phx_fk_workspace_size(range->job);
    char *memory = malloc(size + 64);
    if (memory == NULL) return false;
    const phx_status status = phx_fk_solve(range->backend, range->job, from, to - from, memory + (64 - (uintptr_t)memory % 64) % 64, NULL);
    free(memory);
    return status == PHX_OK;
}

bool workload_poses(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    enum { COUNT = WORKLOAD_POSES, GROUPS = (COUNT + 15) / 16 };
    uint16_t parents[POSE_JOINTS];
    phx_transform *poses = malloc(COUNT * POSE_JOINTS * sizeof *poses);
    char *memory = calloc(GROUPS * POSE_JOINTS + 1, 640);
    float *rows = (float *)(void *)(memory + (64 - (uintptr_t)memory % 64) % 64);
    phx_vec3 *roots = malloc(COUNT * sizeof *roots);
    phx_quat *turns = malloc(COUNT * sizeof *turns);
    phx_vec3 *positions = calloc(COUNT * POSE_JOINTS, sizeof *positions);
    phx_quat *rotations = calloc(COUNT * POSE_JOINTS, sizeof *rotations);
    bool good = poses != NULL && memory != NULL && roots != NULL && turns != NULL && positions != NULL && rotations != NULL;
    for (uint32_t j = 0; j < POSE_JOINTS; ++j) parents[j] = parent_of(j);
    workload_random r = {0x905Eu};
    for (uint32_t c = 0; good && c < COUNT; ++c) {
        for (uint32_t j = 0; j < POSE_JOINTS; ++j) {
            phx_transform *t = poses + c * POSE_JOINTS + j;
            t->translation = random_unit(&r), t->rotation = random_turn(&r);
            t->scale.x = random_between(&r, 0.5f, 2), t->scale.y = random_between(&r, 0.5f, 2), t->scale.z = random_between(&r, 0.5f, 2);
            if (random_under(&r, 200) == 0) t->rotation.y = random_bad(&r);
            if (random_under(&r, 200) == 0) t->translation.z = random_bad(&r);
            for (uint32_t k = 0; k < 10; ++k) memcpy(rows + ((c / 16 * POSE_JOINTS + j) * 10 + k) * 16 + c % 16, (const char *)t + k * 4, 4);
        }
        roots[c].x = random_between(&r, -50, 50), roots[c].y = random_between(&r, -2, 2), roots[c].z = random_between(&r, -50, 50);
        turns[c] = random_turn(&r);
    }
    const phx_skeleton skeleton = {POSE_JOINTS, parents};
    phx_fk_job job;
    memset(&job, 0, sizeof job);
    job.skeleton = &skeleton, job.count = COUNT, job.scaled = 1;
    job.poses = phx_poses_of(poses, POSE_JOINTS);
    if (arrangement == WORKLOAD_BLOCKS) job.poses = (phx_poses){PHX_POSE_ROWS, rows, POSE_JOINTS * 640, 640, 0, 0, 0};
    job.root_position = PHX_VIEW_ARRAY(roots), job.root_rotation = PHX_VIEW_ARRAY(turns);
    job.positions = phx_view_of(positions, POSE_JOINTS * sizeof *positions), job.rotations = phx_view_of(rotations, POSE_JOINTS * sizeof *rotations);
    pose_range range = {backend, &job, COUNT};
    good = good && workload_split(GROUPS, arrangement == WORKLOAD_SHUFFLED ? threads : 0, pose_work, &range);
    if (good) workload_one_nan(positions, COUNT * POSE_JOINTS * 3), workload_one_nan(rotations, COUNT * POSE_JOINTS * 4);
    for (size_t c = 0; good && c < COUNT; ++c) {
        memcpy(answers + c * WORKLOAD_POSE_ANSWER, positions + c * POSE_JOINTS, POSE_JOINTS * sizeof *positions);
        memcpy(answers + c * WORKLOAD_POSE_ANSWER + POSE_JOINTS * sizeof *positions, rotations + c * POSE_JOINTS, POSE_JOINTS * sizeof *rotations);
    }
    free(poses), free(memory), free(roots), free(turns), free(positions), free(rotations);
    return good;
}

/* ---- crowds ---- */

/* the crowds; and a crowd that is large enough for eight threads to have a tile of 64 each, and one that is not full */
enum { CROWDS = 3, FRAMES = 1000, CHARACTERS = 83, MANY_FRAMES = 50, MANY_CHARACTERS = 523, BODIES = 3 };
_Static_assert(CHARACTERS <= 128, "two tiles: workload.c says that they keep two threads busy");
_Static_assert(CROWDS * FRAMES * CHARACTERS == WORKLOAD_CROWD_ANSWERS, "an answer for each character and frame");
_Static_assert(MANY_FRAMES * MANY_CHARACTERS == WORKLOAD_TILE_ANSWERS, "an answer for each character and frame");

/* what one crowd is like */
typedef struct kind {
    uint32_t characters, frames, threads_every; /* threads are started in every so-manieth frame */
    uint32_t legs;
    bool z_up;       /* else Y */
    float unit;      /* metres in one of its units */
    bool scaled, bodies, replay, hostile, support, spring, leans, slow; /* slow: joints may turn only so fast */
} kind;
static const kind kinds[CROWDS] = {
    /* a thread costs more than these few tiles */
    {CHARACTERS, FRAMES, 10, .legs = 2, .unit = 1},
    {CHARACTERS, FRAMES, 10, .legs = 4, .z_up = true, .unit = 0.01f, .scaled = true, .bodies = true, .replay = true, .leans = true},
    {CHARACTERS, FRAMES, 10, .legs = 2, .unit = 1, .hostile = true, .support = true, .spring = true},
};
static const kind many = {MANY_CHARACTERS, MANY_FRAMES, 1, .legs = 2, .unit = 1, .bodies = true, .hostile = true, .slow = true};

static phx_vec3 place(const kind *k, float right, float up, float forward) {
    right /= k->unit, up /= k->unit, forward /= k->unit;
    return k->z_up ? (phx_vec3){right, -forward, up} : (phx_vec3){right, up, forward};
}

/* a turn by twice the angle whose tangent is t: exact arithmetic, and a unit quaternion to the last bits */
static phx_quat turn_right(float t) {
    const float n = 1 + t * t;
    return (phx_quat){2 * t / n, 0, 0, (1 - t * t) / n};
}
static phx_quat turn_up(const kind *k, float t) {
    const float n = 1 + t * t, s = 2 * t / n, c = (1 - t * t) / n;
    return k->z_up ? (phx_quat){0, 0, s, c} : (phx_quat){0, s, 0, c};
}

/* arches of parabolas, like a sine: period 1, from -1 to 1 */
static float wave(float t) {
    const float u = t - (float)(int)t, v = u < 0.5f ? u : u - 0.5f;
    return (u < 0.5f ? 16.0f : -16.0f) * v * (0.5f - v);
}

static float lattice(int x, int z) {
    workload_random r = {((uint64_t)(uint32_t)x << 32 | (uint32_t)z) * 0x9E3779B97F4A7C15u};
    return random_between(&r, 0, 0.35f);
}
/* Heights of a square grid with cells of two metres, bilinear between, hence two slopes; and a hole now and then. */
static bool ground_at(float x, float z, float *height, float *slope_x, float *slope_z, uint32_t *body) {
    const float u = x * 0.5f + 4096.0f, v = z * 0.5f + 4096.0f;
    if (!(u >= 0 && u < 8192 && v >= 0 && v < 8192)) return false;
    const int i = (int)u, j = (int)v;
    const float a = u - (float)i, b = v - (float)j;
    const float h00 = lattice(i, j), h10 = lattice(i + 1, j), h01 = lattice(i, j + 1), h11 = lattice(i + 1, j + 1);
    *slope_x = ((h10 - h00) * (1 - b) + (h11 - h01) * b) * 0.5f, *slope_z = ((h01 - h00) * (1 - a) + (h11 - h10) * a) * 0.5f;
    *height = (h00 * (1 - a) + h10 * a) * (1 - b) + (h01 * (1 - a) + h11 * a) * b;
    const uint32_t cell = (uint32_t)(i * 7 + j * 3);
    *body = cell % 29 == 5 ? 77 : cell % BODIES;
    if (cell % 11 == 3) *height += 0.17f; /* a step */
    return !(cell % 13 == 7 && a < 0.1f);
}

typedef struct world {
    const kind *kind;
    uint32_t joints;
    phx_crowd *crowd;
    phx_crowd_frame frame;
    phx_transform *poses, *compact;
    char *memory;
    float *rows;
    const uint16_t *used;
    uint32_t used_count;
    phx_vec3 positions[MANY_CHARACTERS];
    phx_quat rotations[MANY_CHARACTERS];
    float weights[MANY_CHARACTERS], support[MANY_CHARACTERS * MOST_LEGS];
    uint32_t flags[MANY_CHARACTERS];
    phx_body bodies[BODIES];
    bool good;
} world;

static phx_crowd *make_crowd(const kind *k, const phx_backend *backend, const uint16_t *parents, uint32_t joints, bool one_workspace) {
    phx_crowd_def def = phx_crowd_def_default();
    def.backend = backend, def.capacity = k->characters, def.skeleton = (phx_skeleton){joints, parents};
    def.pelvis = 1, def.leg_count = k->legs, def.unit = k->unit;
    if (k->z_up) def.up = (phx_vec3){0, 0, 1};
    def.scaled = k->scaled, def.bodies = k->bodies, def.replay = k->replay, def.workspaces = one_workspace ? 1 : 0;
    if (k->leans) def.params.pelvis_shift = 0.6f, def.params.pelvis_pitch = 0.8f, def.params.pelvis_roll = 0.5f;
    if (k->slow) def.params.hip_speed = 3, def.params.knee_speed = 5, def.params.ankle_speed = 4;
    if (k->spring) def.params.pelvis_spring = 1, def.params.ray_reuse = 0.03f, def.params.soft_start = 0.97f;
    for (uint16_t l = 0; l < k->legs; ++l) {
        phx_leg *leg = def.legs + l;
        leg->hip = (uint16_t)(SPINE + PER_LEG * l), leg->knee = (uint16_t)(leg->hip + 1), leg->ankle = (uint16_t)(leg->hip + 2);
        leg->ball = (uint16_t)(leg->hip + 3);
        leg->heel_offset = place(k, 0, -0.08f, 0), leg->ball_offset = place(k, 0, -0.03f, 0);
        const phx_vec3 forward = place(k, 0, 0, k->unit);
        leg->knee_forward = forward;
        if (k->spring) leg->min_bend = 0.05f, leg->max_bend = 2.2f;
    }
    return phx_crowd_create(&def, NULL);
}

/* Everything about character c at frame f, from their numbers alone. */
static void set_character(world *w, uint32_t c, uint32_t f) {
    const kind *k = w->kind;
    workload_random fixed = {0xC0FFEEu + c * 7919u};
    const float speed = random_between(&fixed, 0.4f, 1.6f), turn = random_between(&fixed, -2, 2), phase = random_between(&fixed, 0, 1);
    const float x = random_between(&fixed, -30, 30), z = random_between(&fixed, -30, 30);
    /* the way it goes: there and back, on a line */
    const float n = 1 + turn * turn, ahead_x = 2 * turn / n, ahead_z = (1 - turn * turn) / n, way = 6 * wave(speed * (float)f / 1500.0f);
    const float right = x + ahead_x * way, forward = z + ahead_z * way;
    float height = 0, slope_x, slope_z;
    uint32_t body;
    if (!ground_at(right, forward, &height, &slope_x, &slope_z, &body)) height = 0;
    w->positions[c] = place(k, right, height, forward);
    /* half the angle: tan(a / 2) = turn, and a turn by a needs tan(a / 4) */
    w->rotations[c] = turn_up(k, turn * 0.4f);
    phx_transform *pose = w->poses + (size_t)c * w->joints;
    for (uint32_t j = 0; j < w->joints; ++j) pose[j] = (phx_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    const float cycle = phase + (float)f * speed / 60.0f;
    pose[1].translation = place(k, 0, 0.9f + 0.01f * wave(2 * cycle), 0), pose[2].translation = place(k, 0, 0.2f, 0);
    pose[3].translation = place(k, 0, 0.5f, 0);
    for (uint32_t l = 0; l < k->legs; ++l) {
        phx_transform *p = pose + SPINE + PER_LEG * l;
        const float t = cycle + 0.5f * (float)(l % 2) + 0.25f * (float)(l / 2);
        const float hip = 0.11f * wave(t), knee = 0.04f + 0.07f * (1 + wave(t + 0.25f));
        p[0].translation = place(k, l % 2 ? -0.1f : 0.1f, -0.02f, l / 2 ? -0.6f : 0), p[0].rotation = turn_right(-hip);
        p[1].translation = place(k, 0, -0.42f, 0), p[1].rotation = turn_right(knee);
        p[2].translation = place(k, 0, -0.40f, 0), p[2].rotation = turn_right(hip - knee);
        p[3].translation = place(k, 0, -0.05f, 0.13f), p[4].translation = place(k, 0, 0, 0.07f);
    }
    if (k->scaled) pose[1].scale.x = pose[1].scale.y = pose[1].scale.z = 1 + 0.001f * (float)(c % 9);
    w->weights[c] = c % 5 == 0 ? random_between(&fixed, -0.1f, 1.1f) : 1.0f;
    for (uint32_t l = 0; l < k->legs; ++l) w->support[c * k->legs + l] = wave(cycle + 0.5f * (float)l) > 0 ? 0.0f : 1.0f;
    workload_random now = {(uint64_t)c << 32 | f};
    w->flags[c] = random_under(&now, 150) == 0 ? 1u << random_under(&now, 2) : 0;
    if (k->replay && c % 3 == 1) w->flags[c] |= PHX_CHARACTER_LOD(random_under(&now, 4));
    if (k->hostile && random_under(&now, 40) == 0) {
        phx_transform *joint = pose + random_under(&now, w->joints);
        const float value = random_bad(&now);
        switch (random_under(&now, 6)) {
        case 0: w->positions[c].x = value; break;
        case 1: w->rotations[c] = (phx_quat){value, value, value, value}; break;
        case 2: joint->translation.y = value; break;
        case 3: joint->rotation.w = value; break;
        case 4: joint->translation = (phx_vec3){0, 0, 0}; break;
        default: w->weights[c] = value;
        }
    }
}

static void move_bodies(world *w, uint32_t f) {
    for (uint32_t b = 0; b < BODIES; ++b) {
        w->bodies[b].position = place(w->kind, 0.02f * (float)b * wave((float)f / 200), 0.03f * wave((float)(f + b) / 90), 0);
        w->bodies[b].rotation = turn_up(w->kind, 0.01f * (float)b * wave((float)f / 300));
        w->bodies[b].generation = f / (50 + 90 * b);
    }
}

static void cast_rays(const world *w, phx_ray_blocks rays) {
    const kind *k = w->kind;
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *r = rays.blocks + b;
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            if (!(r->tfar[lane] > 0)) continue;
            const float right = r->org_x[lane] * k->unit, forward = (k->z_up ? -r->org_y[lane] : r->org_z[lane]) * k->unit;
            const float up = (k->z_up ? r->org_z[lane] : r->org_y[lane]) * k->unit;
            float height, slope_x, slope_z;
            uint32_t body;
            if (!ground_at(right, forward, &height, &slope_x, &slope_z, &body)) continue;
            const float distance = (up - height) / k->unit;
            if (!(distance >= 0 && distance <= r->tfar[lane])) continue;
            const phx_vec3 normal = place(k, -slope_x, 1, -slope_z);
            r->tfar[lane] = distance, r->geomID[lane] = k->bodies ? body : 0;
            r->Ng_x[lane] = normal.x, r->Ng_y[lane] = normal.y, r->Ng_z[lane] = normal.z;
        }
    }
}

static bool do_tiles(void *context, size_t first, size_t count) {
    world *w = context;
    bool good = true;
    for (size_t k = 0; k < count; ++k) {
        const uint32_t tile = phx_crowd_frame_tiles(w->crowd, &w->frame) - 1 - (uint32_t)(first + k);
        const phx_ray_blocks rays = phx_crowd_prepare(w->crowd, &w->frame, tile);
        cast_rays(w, rays);
        good = rays.blocks != NULL && phx_crowd_solve(w->crowd, &w->frame, tile) == PHX_OK && good;
    }
    return good;
}

/* poses to the arrangement's layout, or back */
static void carry_poses(world *w, workload_arrangement arrangement, bool out) {
    for (uint32_t c = 0; c < w->kind->characters; ++c)
        for (uint32_t j = 0; j < (arrangement == WORKLOAD_SHUFFLED ? w->used_count : w->joints); ++j) {
            phx_transform *pose = w->poses + (size_t)c * w->joints + (arrangement == WORKLOAD_SHUFFLED ? w->used[j] : j);
            if (arrangement == WORKLOAD_SHUFFLED) {
                phx_transform *compact = w->compact + (size_t)c * w->used_count + j;
                if (out) *compact = *pose;
                else *pose = *compact;
            } else if (arrangement == WORKLOAD_BLOCKS) {
                for (uint32_t k = 0; k < 10; ++k) {
                    float *row = w->rows + ((c / 16 * w->joints + j) * 10 + k) * 16 + c % 16;
                    if (out) memcpy(row, (const char *)pose + k * 4, 4);
                    else memcpy((char *)pose + k * 4, row, 4);
                }
            }
        }
}

static bool run_crowd(const kind *k, const phx_backend *backend, workload_arrangement arrangement, unsigned threads, uint64_t *answers) {
    world *w = calloc(1, sizeof *w);
    if (w == NULL) return false;
    uint16_t parents[MOST_JOINTS];
    const uint32_t characters = k->characters;
    w->kind = k, w->joints = SPINE + PER_LEG * k->legs;
    for (uint32_t j = 0; j < w->joints; ++j) parents[j] = parent_of(j);
    w->crowd = make_crowd(k, backend, parents, w->joints, arrangement == WORKLOAD_BLOCKS);
    w->poses = malloc(characters * w->joints * sizeof *w->poses), w->compact = malloc(characters * w->joints * sizeof *w->compact);
    w->memory = calloc((characters + 15) / 16 * w->joints + 1, 640);
    w->rows = (float *)(void *)(w->memory + (64 - (uintptr_t)w->memory % 64) % 64);
    bool good = w->crowd != NULL && w->poses != NULL && w->compact != NULL && w->memory != NULL;
    if (good) w->used = phx_crowd_joints(w->crowd, &w->used_count);
    static const float odd_steps[] = {0.0f, -1.0f, 1e-9f, 10.0f, 1e30f};
    for (uint32_t f = 0; good && f < k->frames; ++f) {
        for (uint32_t c = 0; c < characters; ++c) set_character(w, c, f);
        move_bodies(w, f);
        phx_crowd_frame *frame = &w->frame;
        memset(frame, 0, sizeof *frame);
        frame->count = characters, frame->dt = f % 97 == 96 ? odd_steps[f / 97 % 5] : 1.0f / 60.0f;
        frame->poses = phx_poses_of(w->poses, w->joints);
        carry_poses(w, arrangement, true);
        if (arrangement == WORKLOAD_SHUFFLED) frame->poses = phx_poses_of(w->compact, w->used_count), frame->poses.layout = PHX_POSE_COMPACT;
        if (arrangement == WORKLOAD_BLOCKS) frame->poses = (phx_poses){PHX_POSE_ROWS, w->rows, w->joints * 640, 640, 0, 0, 0};
        frame->root_position = PHX_VIEW_ARRAY(w->positions), frame->root_rotation = PHX_VIEW_ARRAY(w->rotations);
        frame->weight = PHX_VIEW_ARRAY(w->weights), frame->flags = PHX_VIEW_ARRAY(w->flags);
        if (k->support) frame->support = phx_view_of(w->support, k->legs * sizeof(float));
        if (k->bodies) frame->bodies = w->bodies, frame->body_count = BODIES;
        const uint32_t tiles = phx_crowd_frame_tiles(w->crowd, frame);
        const unsigned over = threads < tiles ? threads : tiles;
        good = workload_split(tiles, arrangement == WORKLOAD_SHUFFLED && f % k->threads_every == 0 ? over : 0, do_tiles, w);
        carry_poses(w, arrangement, false);
        for (uint32_t c = 0; good && c < characters; ++c) {
            uint64_t hash = workload_hash(WORKLOAD_HASH_START, w->poses + (size_t)c * w->joints, w->joints * sizeof *w->poses);
            const float pelvis = phx_crowd_pelvis(w->crowd, c);
            hash = workload_hash(hash, &pelvis, sizeof pelvis);
            for (uint32_t l = 0; l < k->legs; ++l) {
                phx_foot_info info;
                memset(&info, 0, sizeof info);
                good = phx_crowd_foot(w->crowd, c, l, &info) == PHX_OK && good;
                hash = workload_hash(hash, &info, sizeof info);
            }
            answers[(size_t)f * characters + c] = hash;
        }
    }
    phx_crowd_destroy(w->crowd);
    free(w->poses), free(w->compact), free(w->memory), free(w);
    return good;
}

bool workload_crowds(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    bool good = true;
    for (size_t k = 0; good && k < CROWDS; ++k)
        good = run_crowd(kinds + k, backend, arrangement, threads, (uint64_t *)(void *)answers + k * FRAMES * CHARACTERS);
    return good;
}

bool workload_tiles(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    return run_crowd(&many, backend, arrangement, threads, (uint64_t *)(void *)answers);
}
