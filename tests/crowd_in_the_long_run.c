/* A crowd that lives long: characters come, go, stand, run, teleport and change their level of detail, bodies appear, move and vanish, rays
 * and poses are now and then nonsense. Whatever happens, state stays finite, never denormal, and within the ranges of the params; memory
 * does not grow; and nothing builds up: after a teleport of everyone the old crowd and a new one agree to the bit. The number of frames is
 * the argument; tools/test --long runs a million. */
#include "crowd_rig.h"
#include "crowd/crowd.h"
#include <stdio.h>

enum { CHARACTERS = 48, BODIES = 3, GROUPS = CHARACTERS / PHX_BLOCK_LANES };
static uint32_t frames = 40000;

/* ---- what the library takes ---- */

typedef struct ledger {
    long open;
    size_t bytes, most;
    uint64_t calls;
} ledger;
static void *ledger_allocate(void *context, size_t size, size_t alignment) {
    ledger *l = context;
    ++l->calls, ++l->open, l->bytes += size;
    if (l->bytes > l->most) l->most = l->bytes;
    return aligned_alloc(alignment, size);
}
static void ledger_release(void *context, void *memory) {
    ledger *l = context;
    if (memory) --l->open;
    free(memory);
}

/* pages that are this process's own, or -1 where the system does not say, or counts what an emulator or checker takes for itself */
static long pages_held(void) {
    long all, resident, shared;
    if (getenv("PHALANX_EMULATED")) return -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return -1;
    const int read = fscanf(file, "%ld %ld %ld", &all, &resident, &shared);
    fclose(file);
    return read == 3 ? resident - shared : -1;
}

/* ---- the world ---- */

typedef struct walker {
    phx_vec3 at;
    float heading, speed, phase, nonsense; /* nonsense: how likely a bad number is in a frame */
    uint32_t flags, teleported;
    int spoiled; /* this frame's pose, or the one whose corrections are repeated, has a number that belongs nowhere */
} walker;

typedef struct world {
    random_state r;
    walker walkers[CHARACTERS];
    uint32_t count; /* characters in this frame: load changes */
    phx_body bodies[BODIES];
    uint32_t body_count;
    phx_transform poses[CHARACTERS * RIG_JOINTS];
    phx_vec3 positions[CHARACTERS];
    phx_quat rotations[CHARACTERS];
    float weights[CHARACTERS];
    uint32_t flags[CHARACTERS];
} world;

static void spawn(world *w, walker *c) {
    c->at = (phx_vec3){random_float(&w->r, -200, 200), 0, random_float(&w->r, -200, 200)};
    c->heading = random_float(&w->r, -3, 3), c->speed = random_below(&w->r, 4) ? random_float(&w->r, 0, 2) : 0.0f;
    c->phase = random_float(&w->r, 0, 6), c->nonsense = random_below(&w->r, 16) ? 0.0f : 0.02f;
    c->teleported = 1;
}

/* none of them tiny: roots, normals and what is turned by them are kept as they are given */
static float nonsense(random_state *r) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -1e30f, 0.0f, 1e9f};
    return bad[random_below(r, sizeof bad / sizeof *bad)];
}

static float frame_time(random_state *r) {
    switch (random_below(r, 40)) {
    case 0:
        return 0.0f;
    case 1:
        return -1.0f;
    case 2:
        return 1e-9f;
    case 3:
        return random_float(r, 0.1f, 5.0f);
    case 4:
        return NAN;
    default:
        return 1.0f / (float)(30 + random_below(r, 91));
    }
}

static void step_world(world *w, float dt, uint32_t frame) {
    random_state *r = &w->r;
    const float time = dt > 0 ? fminf(dt, 5) : 0;
    if (random_below(r, 50) == 0) w->count = random_below(r, CHARACTERS + 1);
    for (uint32_t b = 0; b < BODIES; ++b) {
        w->bodies[b].position =
            (phx_vec3){3 * sinf(0.001f * (float)(frame % 100000)), 0.1f * sinf(0.01f * (float)(frame % 10000)), (float)b};
        w->bodies[b].rotation = about_y(0.0005f * (float)(frame % 10000));
        if (random_below(r, 300) == 0) ++w->bodies[b].generation;
        if (random_below(r, 400) == 0) w->bodies[b].position.y = nonsense(r);
    }
    if (random_below(r, 200) == 0) w->body_count = random_below(r, BODIES + 1);
    for (uint32_t i = 0; i < CHARACTERS; ++i) {
        walker *c = w->walkers + i;
        if (random_below(r, 2000) == 0) spawn(w, c);
        if (random_below(r, 500) == 0) c->flags = PHX_CHARACTER_LOD(random_below(r, 4));
        if (random_below(r, 100) == 0) c->flags &= ~PHX_CHARACTER_LOD(3);
        c->heading += random_float(r, -0.02f, 0.02f), c->phase = fmodf(c->phase + 4 * c->speed * time, 6.2831853f);
        c->at.x += c->speed * time * sinf(c->heading), c->at.z += c->speed * time * cosf(c->heading);
        if (fabsf(c->at.x) > 300 || fabsf(c->at.z) > 300) spawn(w, c);
        phx_vec3 normal;
        ground_hills(NULL, c->at.x, c->at.z, &c->at.y, &normal);
        if (random_below(r, 3000) == 0) c->at.y += 5; /* falls, and is caught by the ground in the next frame */
        rig_walk(w->poses + i * RIG_JOINTS, c->phase);
        w->positions[i] = c->at, w->rotations[i] = about_y(c->heading), w->weights[i] = i % 7 ? 1.0f : random_float(r, -0.1f, 1.1f);
        w->flags[i] = c->flags | (c->teleported ? (uint32_t)PHX_CHARACTER_TELEPORT : 0);
        c->teleported = 0;
        if (!(c->flags & PHX_CHARACTER_LOD(3))) c->spoiled = 0;
        if (c->nonsense > random_float(r, 0, 1)) {
            phx_transform *joint = w->poses + i * RIG_JOINTS + random_below(r, RIG_JOINTS);
            c->spoiled = 1;
            switch (random_below(r, 5)) {
            case 0:
                w->positions[i].y = nonsense(r);
                break;
            case 1:
                w->rotations[i].w = nonsense(r);
                break;
            case 2:
                joint->translation.z = nonsense(r);
                break;
            case 3:
                joint->rotation.x = nonsense(r);
                break;
            default:
                w->weights[i] = nonsense(r);
            }
        }
    }
}

/* what a broken physics engine returns now and then */
static void spoil(random_state *r, phx_ray_blocks rays) {
    while (rays.count && random_below(r, 8) == 0) {
        phx_ray_block *ray = rays.blocks + random_below(r, rays.count);
        float *const rows[] = {ray->tfar, ray->Ng_x, ray->Ng_y, ray->Ng_z, ray->u};
        rows[random_below(r, 5)][random_below(r, PHX_BLOCK_LANES)] = nonsense(r);
        if (random_below(r, 4) == 0)
            ray->geomID[random_below(r, PHX_BLOCK_LANES)] = random_below(r, 2) ? (uint32_t)random_bits(r) : random_below(r, 4);
    }
}

/* ---- what must hold ---- */

/* words of state that are no floats: bodies, generations, flags */
static int is_float_row(const phx_leg_state *legs, const void *row) {
    return row != (const void *)&legs->body && row != (const void *)&legs->generation && row != (const void *)&legs->flags;
}

static void check_rows(const void *rows, size_t bytes, const phx_leg_state *legs, uint32_t frame, const char *what) {
    for (size_t at = 0; at < bytes; at += PHX_BLOCK_LANES * 4) {
        const char *row = (const char *)rows + at;
        if (legs && !is_float_row(legs, row)) continue;
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            float value;
            memcpy(&value, row + lane * 4, 4);
            if (isfinite(value) && fpclassify(value) != FP_SUBNORMAL) continue;
            print_error("frame %u: %s, row %zu, lane %u is %g\n", frame, what, at / (PHX_BLOCK_LANES * 4), lane, (double)value);
            fail();
        }
    }
}

static void check_state(const phx_crowd *crowd, uint32_t frame) {
    const phx_crowd_params *params = &crowd->def.params;
    for (uint32_t group = 0; group < GROUPS; ++group) {
        check_rows(crowd->characters + group, sizeof *crowd->characters, NULL, frame, "character");
        if (crowd->pelvises) check_rows(crowd->pelvises + group, sizeof *crowd->pelvises, NULL, frame, "pelvis");
        for (uint32_t leg = 0; leg < 2; ++leg) {
            const uint32_t index = group * 2 + leg;
            check_rows(crowd->legs + index, sizeof *crowd->legs, crowd->legs + index, frame, "leg");
            if (crowd->carried) check_rows(crowd->carried + index, sizeof *crowd->carried, NULL, frame, "carried plane");
            if (crowd->stills) check_rows(crowd->still_legs + index, sizeof *crowd->still_legs, NULL, frame, "still");
            if (crowd->replays) check_rows(crowd->replays + index, sizeof *crowd->replays, NULL, frame, "replay");
        }
    }
    for (uint32_t c = 0; c < CHARACTERS; ++c) {
        const float pelvis = phx_crowd_pelvis(crowd, c);
        assert_in_range((pelvis + params->max_pelvis_drop + 1e-6f) * 1e6f, 0,
                        (params->max_pelvis_drop + params->max_pelvis_rise + 2e-6f) * 1e6f);
        for (uint32_t leg = 0; leg < 2; ++leg) {
            phx_foot_info info;
            phx_crowd_foot(crowd, c, leg, &info);
            assert_true(info.flags < 2u * PHX_FLAG_OVERHANGS); /* marks are nobody's outside */
            assert_true(0 <= info.weight && info.weight <= 1 && 0 <= info.support && info.support <= 1);
            const float offset = sqrtf(info.lock_offset.x * info.lock_offset.x + info.lock_offset.y * info.lock_offset.y +
                                       info.lock_offset.z * info.lock_offset.z);
            assert_true(offset <= params->release_distance * 1.0001f);
        }
    }
}

/* a character that is left alone keeps its bits, every other one has unit rotations where its pose had */
static void check_poses(const phx_crowd *crowd, const world *w, const phx_transform *before, uint32_t frame) {
    for (uint32_t c = 0; c < w->count; ++c) {
        const phx_transform *now = w->poses + c * RIG_JOINTS, *was = before + c * RIG_JOINTS;
        if (!phx_is_marked(crowd->legs + c / 16 * 2, c % 16, PHX_MARK_VALID)) assert_memory_equal(was, now, RIG_JOINTS * sizeof *now);
        for (uint32_t j = 0; j < RIG_JOINTS && !w->walkers[c].spoiled; ++j) {
            const phx_quat q = now[j].rotation;
            const float norm = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
            if (fabsf(norm - 1) < 1e-5f && isfinite(now[j].translation.x + now[j].translation.y + now[j].translation.z)) continue;
            print_error("frame %u: character %u, joint %u: squared norm %g\n", frame, c, j, (double)norm);
            fail();
        }
    }
}

static void run(int with_bodies, uint32_t count) {
    static world w;
    static phx_transform before[CHARACTERS * RIG_JOINTS];
    memset(&w, 0, sizeof w);
    w.r = random_seeded("long run", 0x1076 + (uint64_t)with_bodies);
    ledger l = {0, 0, 0, 0};
    phx_crowd_def def = rig_def(NULL, CHARACTERS);
    def.bodies = with_bodies, def.replay = 1;
    def.params.pelvis_spring = with_bodies;
    def.params.still_tolerance = with_bodies ? 0 : 0.002f;
    if (with_bodies) def.params.pelvis_shift = 1, def.params.pelvis_pitch = -0.5f, def.params.pelvis_roll = 0.5f;
    def.allocator = (phx_allocator){ledger_allocate, ledger_release, &l};
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    assert_non_null(crowd);
    for (uint32_t c = 0; c < CHARACTERS; ++c) spawn(&w, w.walkers + c);
    w.count = CHARACTERS, w.body_count = BODIES;
    const uint64_t calls = l.calls;
    long pages = -1;
    float lowest = 0, highest = 0;
    for (uint32_t f = 0; f < count; ++f) {
        const float dt = frame_time(&w.r);
        step_world(&w, dt, f);
        memcpy(before, w.poses, sizeof before);
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = w.count, frame.dt = dt, frame.poses = phx_poses_of(w.poses, RIG_JOINTS);
        frame.root_position = PHX_VIEW_ARRAY(w.positions), frame.root_rotation = PHX_VIEW_ARRAY(w.rotations);
        frame.weight = PHX_VIEW_ARRAY(w.weights), frame.flags = PHX_VIEW_ARRAY(w.flags);
        if (with_bodies) frame.bodies = w.bodies, frame.body_count = w.body_count;
        for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
            const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, tile);
            cast(rays, ground_hills, NULL);
            spoil(&w.r, rays);
            assert_int_equal(phx_crowd_solve(crowd, &frame, tile), PHX_OK);
        }
        for (uint32_t c = 0; c < CHARACTERS; ++c) {
            const float pelvis = phx_crowd_pelvis(crowd, c);
            lowest = fminf(lowest, pelvis), highest = fmaxf(highest, pelvis);
        }
        check_poses(crowd, &w, before, f);
        if (f % 16 == 0 || f + 1 == count) check_state(crowd, f);
        if (f == count / 4) pages = pages_held();
    }
    const long grown = pages < 0 ? 0 : pages_held() - pages;
    if (pages < 0) printf("# skipped: pages of memory are not counted here\n");
    printf("# %s: %u frames, pelvis from %g to %g m, %zu bytes taken at creation, %ld pages more at the end than after a quarter\n",
           with_bodies ? "bodies" : "ground", count, (double)lowest, (double)highest, l.most, grown);
    assert_int_equal(l.calls, calls); /* all memory was taken at creation */
    assert_in_range(grown + 16, 0, 16 + 16);
    assert_true(lowest < -0.05f && highest > 0.01f); /* something happened at all */

    /* nothing builds up: seconds after a teleport everywhere, the old crowd is a new one, to the bit */
    phx_crowd *fresh = phx_crowd_create(&def, NULL);
    static phx_transform other[CHARACTERS * RIG_JOINTS];
    for (uint32_t c = 0; c < CHARACTERS; ++c) spawn(&w, w.walkers + c), w.walkers[c].nonsense = 0, w.walkers[c].flags = 0;
    w.body_count = BODIES;
    for (uint32_t f = 0; f < 200; ++f) {
        step_world(&w, 1.0f / 60, f);
        w.count = CHARACTERS, w.body_count = BODIES;
        for (uint32_t c = 0; c < CHARACTERS; ++c) w.walkers[c].flags = 0, w.flags[c] &= PHX_CHARACTER_TELEPORT;
        memcpy(other, w.poses, sizeof other);
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = w.count, frame.dt = 1.0f / 60, frame.poses = phx_poses_of(w.poses, RIG_JOINTS);
        frame.root_position = PHX_VIEW_ARRAY(w.positions), frame.root_rotation = PHX_VIEW_ARRAY(w.rotations),
        frame.flags = PHX_VIEW_ARRAY(w.flags);
        if (with_bodies) frame.bodies = w.bodies, frame.body_count = w.body_count;
        run_frame(crowd, &frame, ground_hills, NULL);
        frame.poses = phx_poses_of(other, RIG_JOINTS);
        run_frame(fresh, &frame, ground_hills, NULL);
        assert_memory_equal(w.poses, other, sizeof other);
    }
    phx_crowd_destroy(fresh);
    phx_crowd_destroy(crowd);
    assert_int_equal(l.open, 0);
}

/* A swing counts from the foot's first contact on: what was under way when the foot was first seen was longer than was seen of it, however
 * long a frame is. The frame in which the foot comes to stand is the swing's last. */
static void only_whole_swings_are_learnt(void **state) {
    (void)state;
    static const struct {
        uint32_t frames;
        float dt, support;
        double learnt; /* after the last of them */
    } parts[] = {{1, 1.0f / 60, 0, 0}, {3, 1e6f, 0, 0}, {2, 1.0f / 60, 1, 0}, {12, 1.0f / 60, 0, 0}, {5, 1.0f / 60, 1, 13.0 / 60},
                 {9, 1.0f / 50, 0, 13.0 / 60}, {1, 1.0f / 50, 1, 0.2}, {3, 1.0f / 60, 0, 0.2}, {1, 1.0f / 60, 1, 0.2}};
    FOR_EACH_BACKEND(backend) {
        for (int bodies = 0; bodies < 2; ++bodies) {
            phx_crowd_def def = rig_def(backend, 1);
            def.bodies = bodies;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            const phx_body body[3] = {{{0, 0, 0}, {0, 0, 0, 1}, 1}, {{0, 0, 0}, {0, 0, 0, 1}, 1}, {{0, 0, 0}, {0, 0, 0, 1}, 1}};
            for (size_t p = 0; p < sizeof parts / sizeof *parts; ++p) {
                for (uint32_t f = 0; f < parts[p].frames; ++f) {
                    phx_transform pose[RIG_JOINTS];
                    const float straight[2] = {0.1f, 0.1f}, bent[2] = {0.2f, 0.2f}, support[2] = {parts[p].support, parts[p].support};
                    rig_pose(pose, straight, bent);
                    phx_crowd_frame frame;
                    memset(&frame, 0, sizeof frame);
                    frame.count = 1, frame.dt = parts[p].dt, frame.poses = phx_poses_of(pose, RIG_JOINTS);
                    frame.support = phx_view_of(support, sizeof support);
                    if (bodies) frame.bodies = body, frame.body_count = 3;
                    run_frame(crowd, &frame, ground_hills, NULL);
                }
                for (int leg = 0; leg < 2; ++leg) {
                    phx_foot_info info;
                    phx_crowd_foot(crowd, 0, (uint32_t)leg, &info);
                    assert_int_equal(info.locked, parts[p].support > 0);
                    assert_true(fabs((double)info.support - (double)parts[p].support) == 0);
                    assert_true(fabs((double)crowd->legs[leg].swing.v[0] - parts[p].learnt) < 1e-6);
                }
            }
            phx_crowd_destroy(crowd);
        }
    }
}

static void on_ground(void **state) {
    (void)state;
    run(0, frames / 2);
}
static void on_bodies(void **state) {
    (void)state;
    run(1, frames - frames / 2);
}

int main(int argc, char **argv) {
    if (argc > 1) frames = (uint32_t)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_whole_swings_are_learnt), cmocka_unit_test(on_ground), cmocka_unit_test(on_bodies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
