/* Fuzz target: a crowd of any definition through frames of any poses, roots, flags, times, bodies and hits. The reference and a backend
 * agree to the bit, all state is finite afterwards, and a captured frame replays to the same bits. */
#include "fuzz.h"
#include "crowd/crowd.h"

enum { JOINTS = 12, MOST_CHARACTERS = 34, MOST_FRAMES = 6, BODIES = 3 };
static const uint16_t parents[JOINTS] = {PHX_NO_JOINT, 0, 1, 2, 3, 4, 1, 6, 7, 8, 1, 10};

static phx_transform rest_of(uint32_t joint) {
    static const phx_vec3 places[JOINTS] = {{0, 0, 0},          {0, 0.92f, 0},      {0.1f, -0.02f, 0},  {0, -0.42f, 0.01f},
                                            {0, -0.4f, -0.01f}, {0, -0.05f, 0.13f}, {-0.1f, -0.02f, 0}, {0, -0.42f, 0.01f},
                                            {0, -0.4f, -0.01f}, {0, -0.05f, 0.13f}, {0, 0.3f, 0},       {0, 0.2f, 0}};
    return (phx_transform){places[joint], {0, 0, 0, 1}, {1, 1, 1}};
}

static phx_crowd_def take_def(fuzz_bytes *b) {
    phx_crowd_def def = phx_crowd_def_default();
    static const phx_skeleton skeleton = {JOINTS, parents};
    const uint32_t how = take_byte(b), more = take_byte(b);
    def.skeleton = skeleton;
    def.capacity = 1 + take_below(b, MOST_CHARACTERS);
    def.leg_count = how & 1 ? 1 : 2;
    def.pelvis = how & 2 ? PHX_NO_JOINT : 1;
    for (uint16_t leg = 0; leg < 2; ++leg) {
        phx_leg *l = def.legs + leg;
        l->hip = (uint16_t)(2 + 4 * leg), l->knee = (uint16_t)(l->hip + 1), l->ankle = (uint16_t)(l->hip + 2);
        l->ball = how & 4 ? PHX_NO_JOINT : (uint16_t)(l->hip + 3);
        l->heel_offset = (phx_vec3){0, -0.08f, 0}, l->ball_offset = (phx_vec3){0, how & 4 ? -0.08f : -0.03f, how & 4 ? 0.13f : 0.0f},
        l->knee_forward = (phx_vec3){0, 0, 1};
        if (more & 1) l->max_bend = take_parameter(b, 0.5f, 3.1f), l->min_bend = take_parameter(b, 0, 0.4f);
        if (more & 2) l->heel_offset = (phx_vec3){take_float(b), take_float(b), take_float(b)};
        if (more & 4) l->knee_forward = (phx_vec3){take_float(b), take_float(b), take_float(b)};
    }
    def.scaled = how >> 3 & 1, def.bodies = how >> 4 & 1, def.replay = how >> 5 & 1, def.workspaces = how >> 6;
    if (more & 8) { /* any members of the params */
        float *params = &def.params.step_up;
        for (uint32_t k = 1 + take_below(b, 6); k-- > 0;)
            params[take_below(b, (uint32_t)(sizeof def.params / 4))] = take_parameter(b, 0, 2); /* switches are set below */
        def.params.pelvis_spring = (int)(take_byte(b) & 1), def.params.pelvis_firm = (int)(take_byte(b) & 1),
        def.params.lock = (int)(take_byte(b) & 1);
        def.params.ray_reuse = take_byte(b) & 1 ? 0.05f : 0.0f;
        if (take_byte(b) & 1) def.params.still_tolerance = take_parameter(b, 0, 0.1f);
        if (take_byte(b) & 1) {
            def.params.pelvis_shift = take_parameter(b, 0, 1), def.params.max_pelvis_shift = take_parameter(b, 0, 2);
            def.params.pelvis_pitch = take_parameter(b, -1, 1), def.params.pelvis_roll = take_parameter(b, 0, 1);
            def.params.max_pelvis_lean = take_parameter(b, 0, 1);
        }
    }
    if (more & 16) def.up = (phx_vec3){0, 0, 1};
    if (more & 32) def.unit = take_parameter(b, 0.01f, 100);
    if (more & 64) def.legs[take_below(b, 2)].knee = (uint16_t)take_below(b, 16);
    return def;
}

typedef struct scene {
    phx_transform poses[MOST_CHARACTERS * JOINTS];
    phx_vec3 roots[MOST_CHARACTERS];
    phx_quat turns[MOST_CHARACTERS];
    float weights[MOST_CHARACTERS], support[MOST_CHARACTERS * PHX_MAX_LEGS];
    uint32_t flags[MOST_CHARACTERS];
    phx_body bodies[BODIES];
} scene;

static phx_crowd_frame take_frame(fuzz_bytes *b, const phx_crowd *crowd, scene *s) {
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    const uint32_t capacity = crowd->capacity, how = take_byte(b);
    frame.count = how & 1 ? take_below(b, capacity + 2) : capacity;
    frame.dt = how & 2 ? take_float(b) : 1.0f / 60;
    for (uint32_t i = 0; i < capacity; ++i) {
        for (uint32_t j = 0; j < JOINTS; ++j) s->poses[i * JOINTS + j] = rest_of(j);
        s->turns[i] = (phx_quat){0, 0, 0, 1}, s->weights[i] = 1, s->flags[i] = 0, s->roots[i].x += 0.01f;
    }
    for (uint32_t k = take_below(b, 24); k-- > 0;) { /* some numbers of some characters */
        const uint32_t i = take_below(b, capacity), j = take_below(b, JOINTS), what = take_byte(b);
        phx_transform *joint = s->poses + i * JOINTS + j;
        switch (what & 7) {
        case 0:
            (&joint->translation.x)[(what >> 3) % 3] = take_float(b);
            break;
        case 1:
            (&joint->rotation.x)[what >> 3 & 3] = take_float(b);
            break;
        case 2:
            (&joint->scale.x)[(what >> 3) % 3] = take_float(b);
            break;
        case 3:
            (&s->roots[i].x)[(what >> 3) % 3] = take_float(b);
            break;
        case 4:
            (&s->turns[i].x)[what >> 3 & 3] = take_float(b);
            break;
        case 5:
            s->weights[i] = take_float(b);
            break;
        case 6:
            s->support[i * PHX_MAX_LEGS + (what >> 3 & 1)] = take_float(b);
            break;
        default:
            s->flags[i] = take_byte(b) << (what & 8) | (what >> 4 & 3);
        }
    }
    frame.poses = phx_poses_of(s->poses, JOINTS);
    if (!(how & 4)) frame.root_position = PHX_VIEW_ARRAY(s->roots);
    if (!(how & 8)) frame.root_rotation = PHX_VIEW_ARRAY(s->turns);
    if (!(how & 16)) frame.weight = PHX_VIEW_ARRAY(s->weights);
    if (!(how & 32)) frame.flags = PHX_VIEW_ARRAY(s->flags);
    if (how & 64) frame.support = phx_view_of(s->support, PHX_MAX_LEGS * sizeof(float));
    if (crowd->setup.bodies || how == 255) {
        for (uint32_t k = take_below(b, 4); k-- > 0;) {
            float *body = &s->bodies[take_below(b, BODIES)].position.x;
            body[take_below(b, 7)] = take_float(b);
        }
        if (how & 128) ++s->bodies[take_below(b, BODIES)].generation;
        frame.bodies = s->bodies, frame.body_count = take_byte(b) < 230 ? BODIES : take_below(b, BODIES + 1);
    }
    return frame;
}

/* The poses in a layout that a byte picks, and back after the frame. */
typedef struct laid_poses {
    phx_poses poses;
    char *memory, *data;
    const uint16_t *joints; /* NULL = all */
    uint32_t joint_count;
} laid_poses;
static float *laid_at(const laid_poses *l, uint32_t character, uint32_t joint, uint32_t k) {
    const phx_poses *p = &l->poses;
    const size_t offset = k < 3 ? p->translation_offset : k < 7 ? p->rotation_offset : p->scale_offset;
    if (p->layout == PHX_POSE_ROWS)
        return (float *)(void *)(l->data + character / 16 * p->character_stride + joint * p->joint_stride + k * 64 + character % 16 * 4);
    return (float *)(void *)(l->data + character * p->character_stride + joint * p->joint_stride + offset + 4 * (k < 3 ? k : k < 7 ? k - 3 : k - 7));
}
static void laid_copy(const laid_poses *l, phx_transform *poses, uint32_t capacity, int back) {
    for (uint32_t i = 0; i < capacity; ++i)
        for (uint32_t j = 0; j < l->joint_count; ++j)
            for (uint32_t k = 0; k < 10; ++k) {
                char *plain = (char *)(poses + i * JOINTS + (l->joints ? l->joints[j] : j)) + k * 4, *laid = (char *)laid_at(l, i, j, k);
                memcpy(back ? plain : laid, back ? laid : plain, 4);
            }
}
static laid_poses lay_out(fuzz_bytes *b, const phx_crowd *crowd, phx_transform *poses) {
    const uint32_t how = take_byte(b), capacity = crowd->capacity;
    laid_poses l = {.joint_count = JOINTS};
    size_t bytes;
    if ((how & 3) == 1) l.joints = phx_crowd_joints(crowd, &l.joint_count);
    if ((how & 3) == 2) {
        l.poses = (phx_poses){PHX_POSE_ROWS, NULL, 640 * JOINTS + (how >> 2 & 1) * 64, 640, 0, 0, 0};
        bytes = (capacity + 15) / 16 * l.poses.character_stride;
    } else {
        static const size_t offsets[4][3] = {{0, 12, 28}, {16, 0, 28}, {28, 12, 0}, {1, 21, 45}}; /* translation, rotation, scale */
        const size_t *o = offsets[how >> 2 & 3], joint = (how >> 2 & 3) == 3 ? 57 : 40 + (how >> 4 & 3) * 4;
        l.poses = (phx_poses){l.joints ? PHX_POSE_COMPACT : PHX_POSE_AOS, NULL, joint * l.joint_count + (how >> 6) * 3, joint, o[0], o[1], o[2]};
        bytes = capacity * l.poses.character_stride;
    }
    l.memory = calloc(bytes + 64, 1);
    l.data = l.memory + (64 - (uintptr_t)l.memory % 64) % 64;
    l.poses.data = l.data;
    laid_copy(&l, poses, capacity, 0);
    return l;
}

/* flat ground, and some hits of any kind */
static void cast(fuzz_bytes b, phx_ray_blocks rays) {
    for (uint32_t k = 0; k < rays.count; ++k) {
        phx_ray_block *ray = rays.blocks + k;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            if (ray->tfar[lane] < 0) continue;
            ray->tfar[lane] = ray->tfar[lane] * 0.5f, ray->geomID[lane] = (uint32_t)lane % BODIES;
            ray->Ng_x[lane] = 0, ray->Ng_y[lane] = 1, ray->Ng_z[lane] = 0.1f;
        }
    }
    for (uint32_t k = take_below(&b, 24); rays.count && k-- > 0;) {
        phx_ray_block *ray = rays.blocks + take_below(&b, rays.count);
        const uint32_t what = take_byte(&b), lane = what & 15;
        float *const rows[] = {ray->tfar, ray->Ng_x, ray->Ng_y, ray->Ng_z, ray->tfar, ray->Ng_y};
        if (what >> 4 < 12)
            rows[(what >> 4) % 6][lane] = take_float(&b);
        else
            ray->geomID[lane] = take_byte(&b) & 1 ? PHX_NO_HIT : take_word(&b);
    }
}

static void check_finite(const void *rows, size_t bytes, const phx_leg_state *leg) {
    for (size_t at = 0; at < bytes; at += PHX_BLOCK_LANES * 4) {
        const char *row = (const char *)rows + at;
        if (leg && (row == (const char *)&leg->body || row == (const char *)&leg->generation || row == (const char *)&leg->flags)) continue;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            float value;
            memcpy(&value, row + lane * 4, 4);
            FUZZ_CHECK(isfinite(value));
        }
    }
}
static void check_state(const phx_crowd *crowd) {
    const uint32_t groups = (crowd->capacity + 15) / 16, legs = crowd->setup.leg_count;
    for (uint32_t g = 0; g < groups; ++g) {
        check_finite(crowd->characters + g, sizeof *crowd->characters, NULL);
        if (crowd->pelvises) check_finite(crowd->pelvises + g, sizeof *crowd->pelvises, NULL);
        if (crowd->stills) check_finite(crowd->stills + g, sizeof *crowd->stills, NULL);
    }
    for (uint32_t k = 0; k < groups * legs; ++k) {
        check_finite(crowd->legs + k, sizeof *crowd->legs, crowd->legs + k);
        if (crowd->carried) check_finite(crowd->carried + k, sizeof *crowd->carried, NULL);
        if (crowd->replays) check_finite(crowd->replays + k, sizeof *crowd->replays, NULL);
        if (crowd->stills) check_finite(crowd->still_legs + k, sizeof *crowd->still_legs, NULL);
    }
    for (uint32_t i = 0; i < crowd->capacity; ++i)
        FUZZ_CHECK(-crowd->setup.max_pelvis_drop <= phx_crowd_pelvis(crowd, i) &&
                   phx_crowd_pelvis(crowd, i) <= crowd->setup.max_pelvis_rise);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static scene one, other;
    static phx_transform same[MOST_CHARACTERS * JOINTS];
    fuzz_bytes b = {data, data + size};
    const phx_backend *backend = take_backend(&b);
    phx_crowd_def def = take_def(&b);
    phx_report report;
    def.backend = phx_backend_find("reference");
    phx_crowd *reference = phx_crowd_create(&def, &report);
    def.backend = backend;
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    FUZZ_CHECK(!crowd == !reference && (crowd || report.text[0]));
    if (!crowd) return 0;
    memset(&one, 0, sizeof one);
    for (int body = 0; body < BODIES; ++body) one.bodies[body].rotation.w = 1;
    const uint32_t captured = take_below(&b, MOST_FRAMES * 3), frames = 1 + take_below(&b, MOST_FRAMES);
    for (uint32_t f = 0; f < frames; ++f) {
        phx_crowd_frame frame = take_frame(&b, reference, &one);
        other = one; /* hits come of the same bytes */
        const fuzz_bytes hits = b;
        const phx_status status = phx_crowd_validate(reference, &frame, &report);
        memcpy(same, one.poses, sizeof same);
        for (uint32_t tile = 0; tile < 1 || tile < phx_crowd_frame_tiles(reference, &frame); ++tile) {
            cast(hits, phx_crowd_prepare(reference, &frame, tile));
            phx_crowd_solve(reference, &frame, tile);
        }
        /* levels that the crowd was not made for are off where nobody validates */
        if (status != PHX_OK && !strstr(report.text, "'flags' of")) FUZZ_CHECK(memcmp(same, one.poses, sizeof same) == 0);
        laid_poses laid = lay_out(&b, crowd, other.poses);
        frame.poses = laid.poses;
        const size_t bytes = f == captured ? phx_capture_size(crowd, &frame, 0, frame.count) : 0;
        void *capture = bytes ? malloc(bytes) : NULL;
        if (capture) FUZZ_CHECK(phx_capture_begin(crowd, &frame, 0, frame.count, capture, bytes, &report) == PHX_OK);
        for (uint32_t tile = 0; tile < 1 || tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
            cast(hits, phx_crowd_prepare(crowd, &frame, tile));
            if (capture) FUZZ_CHECK(phx_capture_tile(crowd, &frame, tile, capture) == PHX_OK);
            phx_crowd_solve(crowd, &frame, tile);
        }
        laid_copy(&laid, other.poses, crowd->capacity, 1);
        FUZZ_CHECK(memcmp(one.poses, other.poses, sizeof one.poses) == 0);
        check_state(reference), check_state(crowd);
        for (uint32_t i = 0; i < crowd->capacity; ++i) {
            for (uint32_t leg = 0; leg < def.leg_count; ++leg) {
                phx_foot_info a, c;
                memset(&a, 0, sizeof a), memset(&c, 0, sizeof c);
                FUZZ_CHECK(phx_crowd_foot(reference, i, leg, &a) == PHX_OK && phx_crowd_foot(crowd, i, leg, &c) == PHX_OK);
                FUZZ_CHECK(memcmp(&a, &c, sizeof a) == 0);
            }
        }
        if (capture) {
            FUZZ_CHECK(phx_capture_end(crowd, &frame, capture, &report) == PHX_OK);
            phx_replay *replay = phx_replay_open(capture, bytes, take_backend(&b), &report);
            FUZZ_CHECK(replay != NULL);
            phx_replay_difference difference;
            FUZZ_CHECK(phx_replay_run(replay, &difference) == PHX_OK && difference.characters == 0);
            phx_replay_close(replay);
            free(capture);
        }
        free(laid.memory);
        for (uint32_t k = take_byte(&b); k > 200; --k) take_byte(&b); /* other hits for the next frame */
    }
    phx_crowd_destroy(crowd), phx_crowd_destroy(reference);
    return 0;
}
