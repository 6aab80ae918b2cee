/* A crowd returns the same poses, to the bit, from every backend, pose layout, order of tiles and number of neighbours, through
 * frames of walking, teleports, holes in the ground, switched-off characters and poisoned input. */
#include "crowd_rig.h"

typedef struct world {
    uint32_t count;
    phx_transform *poses; /* count * RIG_JOINTS */
    phx_vec3 *positions;
    phx_quat *rotations;
    float *weights, *support;
    uint32_t *flags;
} world;

static world make_world(uint32_t count) {
    world w;
    w.count = count;
    w.poses = calloc(count * RIG_JOINTS + 1, sizeof *w.poses);
    w.positions = calloc(count + 1, sizeof *w.positions), w.rotations = calloc(count + 1, sizeof *w.rotations);
    w.weights = calloc(count + 1, sizeof *w.weights), w.support = calloc(2 * count + 1, sizeof *w.support), w.flags = calloc(count + 1, sizeof *w.flags);
    return w;
}
static void free_world(world w) { free(w.poses), free(w.positions), free(w.rotations), free(w.weights), free(w.support), free(w.flags); }

/* everything about character c at frame f, from the seed and c alone, so that a sub-crowd sees the same */
static void set_character(world w, uint32_t at, uint32_t c, uint32_t f, int hostile) {
    random_state r = {0xC0FFEEu + c * 7919u};
    const float speed = random_float(&r, 0.5f, 1.5f), heading = random_float(&r, -3, 3), phase = random_float(&r, 0, 6);
    const float x = random_float(&r, -20, 20), z = random_float(&r, -20, 20), t = (float)f / 30.0f;
    rig_walk(w.poses + at * RIG_JOINTS, phase + 5 * t);
    w.rotations[at] = about_y(heading);
    w.positions[at] = (phx_vec3){x + speed * t * sinf(heading), 0, z + speed * t * cosf(heading)};
    phx_vec3 normal;
    ground_hills(NULL, w.positions[at].x, w.positions[at].z, &w.positions[at].y, &normal);
    w.weights[at] = c % 5 == 0 ? random_float(&r, -0.1f, 1.1f) : 1.0f;
    w.support[2 * at] = random_float(&r, 0, 1), w.support[2 * at + 1] = random_float(&r, 0, 1);
    w.flags[at] = 0;
    random_state per_frame = {(uint64_t)c << 32 | f};
    if (random_below(&per_frame, 20) == 0) w.flags[at] = 1u << random_below(&per_frame, 2);
    if (c % 3 == 1 && random_below(&per_frame, 4)) w.flags[at] |= PHX_CHARACTER_LOD(random_below(&per_frame, 4));
    if (hostile && random_below(&per_frame, 6) == 0) {
        static const float bad[] = {NAN, INFINITY, 3e38f, -1e30f, 0.0f};
        const float value = bad[random_below(&per_frame, 5)];
        phx_transform *joint = w.poses + at * RIG_JOINTS + random_below(&per_frame, RIG_JOINTS);
        switch (random_below(&per_frame, 6)) {
        case 0: w.positions[at].x = value; break;
        case 1: w.rotations[at] = (phx_quat){value, value, value, value}; break;
        case 2: joint->translation.y = value; break;
        case 3: joint->rotation.w = value; break;
        case 4: joint->translation = (phx_vec3){0, 0, 0}; break;
        default: w.weights[at] = value;
        }
    }
}

static phx_body bodies[3];
static void move_bodies(uint32_t f) {
    for (uint32_t b = 0; b < 3; ++b) {
        bodies[b].position = (phx_vec3){0.1f * (float)(b * f), 0.05f * sinf((float)(f + b)), 0};
        bodies[b].rotation = about_y(0.02f * (float)(b * f));
        bodies[b].generation = f / (5 + 9 * b);
    }
    if (f % 13 == 12) bodies[1].position.x = NAN;
}

static phx_crowd_frame frame_over(world w, float dt, int with_support) {
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = w.count, frame.dt = dt;
    frame.poses = phx_poses_of(w.poses, RIG_JOINTS);
    frame.root_position = PHX_VIEW_ARRAY(w.positions), frame.root_rotation = PHX_VIEW_ARRAY(w.rotations);
    frame.weight = PHX_VIEW_ARRAY(w.weights), frame.flags = PHX_VIEW_ARRAY(w.flags);
    if (with_support) frame.support = phx_view_of(w.support, 2 * sizeof(float));
    return frame;
}

static float dt_of(uint32_t f) {
    static const float odd[] = {0.0f, -1.0f, 1e-9f, 10.0f, NAN, 1e30f};
    return f % 11 == 7 ? odd[f / 11 % 6] : 1.0f / 30.0f;
}

static void every_backend_returns_the_reference(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 72; ++round) {
        const uint32_t count = round < 34 ? round : 34 + round * 2;
        const int hostile = round % 3 == 2, with_support = round % 4 == 1, scaled = round % 5 == 4;
        world expected = make_world(count), actual = make_world(count);
        phx_crowd_def def = rig_def(phx_backend_find("reference"), count ? count : 1);
        def.scaled = scaled, def.bodies = round % 3 == 0, def.replay = round % 2;
        if (round % 6 == 5) def.params.pelvis_spring = 1, def.params.ray_reuse = 0.04f, def.params.max_foot_pitch = 0.1f, def.params.max_foot_roll = 0.05f;
        if (round % 9 == 4) def.params.lock = 0;
        if (round % 7 == 5) def.params.still_tolerance = 0.1f; /* large: walkers that step slowly are still for a frame or two */
        if (round % 5 == 2) def.params.pelvis_shift = 0.8f, def.params.pelvis_pitch = -0.6f, def.params.pelvis_roll = 0.5f;
        if (round % 4 == 3) def.params.hip_speed = 2, def.params.knee_speed = 1.5f, def.params.ankle_speed = round % 8 == 3 ? 1 : 0;
        if (round % 7 == 3) def.params.soft_start = 0.95f, def.legs[0].max_bend = 2.0f, def.legs[0].min_bend = 0.05f;
        phx_crowd *reference = phx_crowd_create(&def, NULL), *others[8];
        assert_non_null(reference);
        uint32_t n = 0;
        FOR_EACH_BACKEND(backend) {
            def.backend = backend;
            assert_non_null(others[n++] = phx_crowd_create(&def, NULL));
        }
        for (uint32_t f = 0; f < 24; ++f) {
            for (uint32_t c = 0; c < count; ++c) set_character(expected, c, c, f, hostile);
            phx_crowd_frame frame = frame_over(expected, dt_of(f), with_support);
            move_bodies(f);
            if (def.bodies) frame.bodies = bodies, frame.body_count = 3;
            run_frame(reference, &frame, ground_hills, NULL);
            for (uint32_t k = 0; k < n; ++k) {
                for (uint32_t c = 0; c < count; ++c) set_character(actual, c, c, f, hostile);
                frame = frame_over(actual, dt_of(f), with_support);
                if (def.bodies) frame.bodies = bodies, frame.body_count = 3;
                run_frame(others[k], &frame, ground_hills, NULL);
                const long at = first_difference(expected.poses, actual.poses, count * RIG_JOINTS * sizeof *actual.poses);
                if (at >= 0) {
                    const long joint = at / (long)sizeof *actual.poses;
                    print_error("backend %s, round %u, frame %u: character %ld, joint %ld differs\n", phx_backend_name(phx_crowd_backend(others[k])), round, f,
                                joint / RIG_JOINTS, joint % RIG_JOINTS);
                    fail();
                }
                for (uint32_t c = 0; c < count; ++c) {
                    phx_pelvis_info pelvis, other;
                    assert_int_equal(phx_crowd_pelvis_info(reference, c, &pelvis) | phx_crowd_pelvis_info(others[k], c, &other), PHX_OK);
                    assert_int_equal(first_difference(&pelvis, &other, sizeof pelvis), -1);
                    assert_memory_equal(&(float){phx_crowd_pelvis(reference, c)}, &(float){phx_crowd_pelvis(others[k], c)}, 4);
                    for (uint32_t leg = 0; leg < 2; ++leg) {
                        phx_foot_info a, b;
                        phx_crowd_foot(reference, c, leg, &a), phx_crowd_foot(others[k], c, leg, &b);
                        assert_int_equal(first_difference(&a, &b, sizeof a), -1);
                    }
                }
            }
        }
        phx_crowd_destroy(reference);
        for (uint32_t k = 0; k < n; ++k) phx_crowd_destroy(others[k]);
        free_world(expected), free_world(actual);
    }
}

static void a_character_does_not_know_its_neighbours(void **state) {
    (void)state;
    enum { N = 150 };
    world together = make_world(N), alone = make_world(1);
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = rig_def(backend, N);
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        def.capacity = 1;
        phx_crowd *single = phx_crowd_create(&def, NULL);
        for (uint32_t pick = 0; pick < N; pick += 37) {
            for (uint32_t f = 0; f < 20; ++f) {
                /* neighbours are poisoned, in another order each frame; the picked one is not */
                for (uint32_t c = 0; c < N; ++c) set_character(together, c, c, f, c != pick);
                set_character(alone, 0, pick, f, 0);
                if (f == 0) together.flags[pick] = alone.flags[0] = PHX_CHARACTER_TELEPORT;
                phx_crowd_frame a = frame_over(together, 1.0f / 30, 0), b = frame_over(alone, 1.0f / 30, 0);
                for (uint32_t tile = phx_crowd_frame_tiles(crowd, &a); tile-- > 0;) { /* last tile first */
                    cast(phx_crowd_prepare(crowd, &a, tile), ground_hills, NULL);
                    phx_crowd_solve(crowd, &a, tile);
                }
                run_frame(single, &b, ground_hills, NULL);
                assert_int_equal(first_difference(together.poses + pick * RIG_JOINTS, alone.poses, RIG_JOINTS * sizeof *alone.poses), -1);
            }
        }
        phx_crowd_destroy(crowd), phx_crowd_destroy(single);
    }
    free_world(together), free_world(alone);
}

static void layouts_agree(void **state) {
    (void)state;
    enum { N = 77, GROUPS = 5 };
    world w = make_world(N);
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = rig_def(backend, N);
        def.scaled = 1;
        phx_crowd *aos = phx_crowd_create(&def, NULL), *compact = phx_crowd_create(&def, NULL), *rows = phx_crowd_create(&def, NULL);
        uint32_t used;
        const uint16_t *joints = phx_crowd_joints(aos, &used);
        assert_int_equal(used, 10); /* root, hips and two legs without toes; spine and head are not read */
        phx_transform *small = calloc(N * used, sizeof *small);
        float *block = aligned_alloc(64, GROUPS * RIG_JOINTS * 640);
        for (uint32_t f = 0; f < 12; ++f) {
            for (uint32_t c = 0; c < N; ++c) set_character(w, c, c, f, f % 3 == 1);
            memset(block, 0, GROUPS * RIG_JOINTS * 640);
            for (uint32_t c = 0; c < N; ++c) {
                for (uint32_t s = 0; s < used; ++s) small[c * used + s] = w.poses[c * RIG_JOINTS + joints[s]];
                for (uint32_t j = 0; j < RIG_JOINTS; ++j)
                    for (uint32_t k = 0; k < 10; ++k)
                        block[(c / 16 * RIG_JOINTS + j) * 160 + k * 16 + c % 16] = ((const float *)&w.poses[c * RIG_JOINTS + j])[k];
            }
            phx_crowd_frame frame = frame_over(w, 1.0f / 60, 0);
            run_frame(aos, &frame, ground_hills, NULL);
            frame.poses = phx_poses_of(small, used), frame.poses.layout = PHX_POSE_COMPACT;
            run_frame(compact, &frame, ground_hills, NULL);
            frame.poses = (phx_poses){PHX_POSE_ROWS, block, RIG_JOINTS * 640, 640, 0, 0, 0};
            run_frame(rows, &frame, ground_hills, NULL);
            for (uint32_t c = 0; c < N; ++c) {
                for (uint32_t s = 0; s < used; ++s)
                    assert_int_equal(first_difference(&small[c * used + s], &w.poses[c * RIG_JOINTS + joints[s]], sizeof *small), -1);
                for (uint32_t j = 0; j < RIG_JOINTS; ++j)
                    for (uint32_t k = 0; k < 10; ++k)
                        assert_memory_equal(&block[(c / 16 * RIG_JOINTS + j) * 160 + k * 16 + c % 16], (const float *)&w.poses[c * RIG_JOINTS + j] + k, 4);
            }
        }
        free(small), free(block);
        phx_crowd_destroy(aos), phx_crowd_destroy(compact), phx_crowd_destroy(rows);
    }
    free_world(w);
}

/* The world may lie on any side: turned as a whole, with up, it does what it did, and every backend does it to the bit. */
static phx_vec3 turned(phx_quat q, phx_vec3 v) {
    const phx_vec3 t = {2 * (q.y * v.z - q.z * v.y), 2 * (q.z * v.x - q.x * v.z), 2 * (q.x * v.y - q.y * v.x)};
    return (phx_vec3){v.x + q.w * t.x + q.y * t.z - q.z * t.y, v.y + q.w * t.y + q.z * t.x - q.x * t.z, v.z + q.w * t.z + q.x * t.y - q.y * t.x};
}
static void cast_turned(phx_ray_blocks rays, phx_quat q) {
    const phx_quat back = {-q.x, -q.y, -q.z, q.w};
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *r = rays.blocks + b;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            float height;
            phx_vec3 normal;
            const phx_vec3 from = turned(back, (phx_vec3){r->org_x[lane], r->org_y[lane], r->org_z[lane]});
            ground_hills(NULL, from.x, from.z, &height, &normal);
            const float t = from.y - height;
            if (!(t >= 0 && t <= r->tfar[lane])) continue;
            normal = turned(q, normal);
            r->tfar[lane] = t, r->geomID[lane] = 0, r->Ng_x[lane] = normal.x, r->Ng_y[lane] = normal.y, r->Ng_z[lane] = normal.z;
        }
    }
}
static void turn_the_world(int pelvis_moves, int one_bone) {
    enum { N = 48, FRAMES = 40 };
    const float half = 0.707106781f;
    /* Y, Z, and one that is no axis; to the last digit, as the library takes the first two for axes only then */
    const struct {
        phx_quat turn;
        phx_vec3 up;
    } worlds[] = {{{0, 0, 0, 1}, {0, 1, 0}}, {{half, 0, 0, half}, {0, 0, 1}}, {{0.4f, 0.2f, -0.4f, 0.8f}, turned((phx_quat){0.4f, 0.2f, -0.4f, 0.8f}, (phx_vec3){0, 1, 0})}};
    enum { WORLDS = sizeof worlds / sizeof *worlds };
    world upright = make_world(N), w = make_world(N);
    phx_transform *first = calloc(FRAMES * N * RIG_JOINTS, sizeof *first), *reference = calloc(FRAMES * N * RIG_JOINTS, sizeof *reference);
    for (uint32_t side = 0; side < WORLDS; ++side) {
        const phx_quat q = worlds[side].turn;
        for (uint32_t b = 0, is_reference = 1; is_reference || phx_backend_at(b); is_reference = 0) {
            phx_crowd_def def = rig_def(is_reference ? phx_backend_find("reference") : phx_backend_at(b++), N);
            def.up = worlds[side].up;
            for (int leg = 0; one_bone && leg < 2; ++leg) { /* feet whose two rays are one but for rounding */
                def.legs[leg].ball = PHX_NO_JOINT;
                def.legs[leg].ball_offset = def.legs[leg].heel_offset;
            }
            if (pelvis_moves) def.params.pelvis_shift = 0.8f, def.params.pelvis_pitch = 0.6f, def.params.pelvis_roll = 0.5f;
            phx_crowd *crowd = phx_crowd_create(&def, NULL);
            assert_non_null(crowd);
            for (uint32_t f = 0; f < FRAMES; ++f) {
                for (uint32_t c = 0; c < N; ++c) {
                    set_character(upright, c, c, f, 0), set_character(w, c, c, f, 0);
                    const phx_quat r = upright.rotations[c];
                    w.positions[c] = turned(q, upright.positions[c]);
                    w.rotations[c] = (phx_quat){q.w * r.x + q.x * r.w + q.y * r.z - q.z * r.y, q.w * r.y + q.y * r.w + q.z * r.x - q.x * r.z,
                                                q.w * r.z + q.z * r.w + q.x * r.y - q.y * r.x, q.w * r.w - q.x * r.x - q.y * r.y - q.z * r.z};
                }
                const phx_crowd_frame frame = frame_over(w, 1.0f / 30, 0);
                for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
                    cast_turned(phx_crowd_prepare(crowd, &frame, tile), q);
                    assert_int_equal(phx_crowd_solve(crowd, &frame, tile), PHX_OK);
                }
                phx_transform *stored = (side == 0 ? first : reference) + f * N * RIG_JOINTS;
                if (!is_reference) {
                    assert_int_equal(first_difference(stored, w.poses, N * RIG_JOINTS * sizeof *w.poses), -1);
                    continue;
                }
                memcpy(stored, w.poses, N * RIG_JOINTS * sizeof *w.poses);
                for (uint32_t at = 0; side > 0 && at < N * RIG_JOINTS; ++at) {
                    const float *expected = (const float *)(first + f * N * RIG_JOINTS + at), *got = (const float *)(w.poses + at);
                    for (uint32_t k = 0; k < 7; ++k)
                        if (!(fabsf(expected[k] - got[k]) <= 1e-3f)) {
                            print_error("up %u, frame %u, character %u, joint %u, value %u: %g, but %g with Y up\n", side, f, at / RIG_JOINTS, at % RIG_JOINTS, k,
                                        (double)got[k], (double)expected[k]);
                            fail();
                        }
                }
            }
            phx_crowd_destroy(crowd);
        }
    }
    free(first), free(reference), free_world(upright), free_world(w);
}
static void up_may_be_any_direction(void **state) {
    (void)state;
    turn_the_world(0, 0), turn_the_world(1, 0), turn_the_world(0, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_returns_the_reference),
        cmocka_unit_test(a_character_does_not_know_its_neighbours),
        cmocka_unit_test(layouts_agree),
        cmocka_unit_test(up_may_be_any_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
