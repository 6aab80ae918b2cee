/* A captured frame replays to the same bits on every backend; damaged captures are refused, or replayed without harm. */
#include "crowd_rig.h"

enum { CHARACTERS = 70, FIRST = 57, COUNT = 9, FRAMES = 12 }; /* the captured ones lie in both tiles */

typedef struct variant {
    const char *name;
    phx_pose_layout layout;
    int bodies, replay, support, scaled, workspaces, leans;
} variant;

static const variant variants[] = {
    {"plain", PHX_POSE_AOS, 0, 0, 0, 0, 0, 0},
    {"bodies, lod", PHX_POSE_AOS, 1, 1, 0, 0, 0, 0},
    {"compact, support", PHX_POSE_COMPACT, 0, 1, 1, 0, 1, 0},
    {"rows, scaled", PHX_POSE_ROWS, 1, 0, 1, 1, 0, 0},
    {"shared workspace", PHX_POSE_AOS, 1, 1, 1, 1, 1, 0},
    {"all wait", PHX_POSE_AOS, 0, 2, 0, 0, 0, 0}, /* in the captured frame, at lower levels of detail */
    {"pelvis that leans, lod", PHX_POSE_AOS, 1, 1, 1, 1, 0, 1},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct captured {
    unsigned char *bytes;
    size_t size;
} captured;

/* moving ground, three bodies side by side: geomID by x */
static void cast_bodies(phx_ray_blocks rays, float lift) {
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *r = rays.blocks + b;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            float height;
            phx_vec3 normal;
            const int there = ground_hills(NULL, r->org_x[lane], r->org_z[lane], &height, &normal);
            const float t = r->org_y[lane] - (height + lift);
            if (!there || !(t >= 0 && t <= r->tfar[lane])) continue;
            r->tfar[lane] = t, r->geomID[lane] = (uint32_t)(fabsf(r->org_x[lane]) * 2) % 3;
            r->Ng_x[lane] = normal.x, r->Ng_y[lane] = normal.y, r->Ng_z[lane] = normal.z;
        }
    }
}

/* A crowd walks for some frames; the last one is captured. */
static captured capture_walk(const phx_backend *backend, const variant *v) {
    phx_crowd_def def = rig_def(backend, CHARACTERS);
    def.bodies = v->bodies, def.replay = v->replay, def.scaled = v->scaled, def.workspaces = (uint32_t)v->workspaces;
    def.params.pelvis_spring = v->scaled;
    if (v->bodies) def.params.hip_speed = 2, def.params.ankle_speed = 1;
    if (v->leans) def.params.still_tolerance = 0.05f, def.params.pelvis_shift = 1, def.params.pelvis_pitch = -0.5f, def.params.pelvis_roll = 0.5f;
    phx_report report;
    phx_crowd *crowd = phx_crowd_create(&def, &report);
    assert_non_null(crowd);
    uint32_t joints = RIG_JOINTS;
    const uint16_t *plan = phx_crowd_joints(crowd, &joints);
    if (v->layout != PHX_POSE_COMPACT) joints = RIG_JOINTS;
    static phx_transform poses[CHARACTERS * RIG_JOINTS];
    static PHX_ALIGN_64 float rows[(CHARACTERS / 16 + 1) * RIG_JOINTS * 160];
    static phx_vec3 roots[CHARACTERS];
    static phx_quat turns[CHARACTERS];
    static float weights[CHARACTERS], support[CHARACTERS * 2];
    static uint32_t flags[CHARACTERS];
    phx_body bodies[3] = {{{0, 0, 0}, {0, 0, 0, 1}, 7}, {{1, 0, 0}, {0, 0, 0, 1}, 8}, {{0, 0, 2}, {0, 0, 0, 1}, 9}};
    captured out = {NULL, 0};
    for (int f = 0; f < FRAMES; ++f) {
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        for (int c = 0; c < CHARACTERS; ++c) {
            phx_transform pose[RIG_JOINTS];
            rig_walk(pose, 0.1f * (float)f + 0.37f * (float)c);
            if (v->scaled)
                for (int j = 0; j < RIG_JOINTS; ++j) pose[j].scale = j == RIG_HIPS ? (phx_vec3){1.1f, 1.1f, 1.1f} : (phx_vec3){1, 1, 1};
            for (uint32_t j = 0; j < joints; ++j) {
                const phx_transform *t = pose + (v->layout == PHX_POSE_COMPACT ? plan[j] : j);
                poses[(uint32_t)c * joints + j] = *t;
                const float ten[10] = {t->translation.x, t->translation.y, t->translation.z, t->rotation.x, t->rotation.y,
                                       t->rotation.z,    t->rotation.w,    t->scale.x,       t->scale.y,    t->scale.z};
                for (int k = 0; k < 10; ++k) rows[((uint32_t)c / 16 * joints + j) * 160 + (uint32_t)k * 16 + (uint32_t)c % 16] = ten[k];
            }
            roots[c] = (phx_vec3){0.7f * (float)c, 0, 0.03f * (float)f}, turns[c] = about_y(0.05f * (float)c);
            weights[c] = c % 5 ? 1.0f : 0.6f, support[2 * c] = (float)(c % 3) / 2, support[2 * c + 1] = 1;
            flags[c] = v->replay && f > 3 ? PHX_CHARACTER_LOD((c + f) % 4 == 0 ? PHX_LOD_REPLAY
                                                              : c % 7 == 0     ? PHX_LOD_PELVIS
                                                                               : PHX_LOD_FULL)
                                          : 0u;
            if (v->replay == 2 && f == FRAMES - 1) flags[c] = PHX_CHARACTER_LOD(c % 3 ? PHX_LOD_REPLAY : PHX_LOD_PELVIS);
            if (v->replay < 2 && c == FIRST + 2 && f == FRAMES - 1) flags[c] = PHX_CHARACTER_TELEPORT;
            if (c == FIRST + 3 && f == FRAMES - 1) roots[c].x = NAN;
            if (c == FIRST + 4) flags[c] = PHX_CHARACTER_OFF;
        }
        frame.count = CHARACTERS, frame.dt = 1 / 60.0f;
        frame.poses = phx_poses_of(poses, joints);
        frame.poses.layout = v->layout;
        if (v->layout == PHX_POSE_ROWS)
            frame.poses.data = rows, frame.poses.joint_stride = 640, frame.poses.character_stride = 640 * RIG_JOINTS;
        frame.root_position = PHX_VIEW_ARRAY(roots), frame.root_rotation = PHX_VIEW_ARRAY(turns);
        frame.weight = PHX_VIEW_ARRAY(weights), frame.flags = PHX_VIEW_ARRAY(flags);
        if (v->support) frame.support = phx_view_of(support, 8);
        bodies[0].position.y = bodies[1].position.y = bodies[2].position.y = 0.002f * (float)f;
        if (v->bodies) frame.bodies = bodies, frame.body_count = 3;
        const int last = f == FRAMES - 1;
        if (last) {
            out.size = phx_capture_size(crowd, &frame, FIRST, COUNT);
            out.bytes = malloc(out.size + 1);
            out.bytes[out.size] = 0xA5;
            assert_int_equal(phx_capture_begin(crowd, &frame, FIRST, COUNT, out.bytes, out.size, &report), PHX_OK);
        }
        for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) {
            const phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, tile);
            if (v->bodies)
                cast_bodies(rays, 0.002f * (float)f);
            else
                cast(rays, ground_hills, NULL);
            if (last) assert_int_equal(phx_capture_tile(crowd, &frame, tile, out.bytes), PHX_OK);
            assert_int_equal(phx_crowd_solve(crowd, &frame, tile), PHX_OK);
        }
        if (last) {
            if (phx_capture_end(crowd, &frame, out.bytes, &report)) fail_msg("%s", report.text);
            assert_int_equal(out.bytes[out.size], 0xA5);
        }
    }
    phx_crowd_destroy(crowd);
    return out;
}

static void replays_to_the_same_bits_on_every_backend(void **state) {
    (void)state;
    for (int v = 0; v < VARIANTS; ++v) {
        captured first = {NULL, 0};
        FOR_EACH_BACKEND(capturing) {
            captured c = capture_walk(capturing, variants + v);
            if (!first.bytes)
                first = c;
            else { /* the same file, whoever captured it */
                assert_int_equal(c.size, first.size);
                const long at = first_difference(c.bytes, first.bytes, c.size);
                if (at >= 0) fail_msg("%s: captures of %s differ at byte %ld", variants[v].name, phx_backend_name(capturing), at);
                free(c.bytes);
            }
        }
        FOR_EACH_BACKEND(backend) {
            phx_report report;
            phx_replay *replay = phx_replay_open(first.bytes, first.size, backend, &report);
            if (!replay) fail_msg("%s: %s", variants[v].name, report.text);
            const phx_replay_info info = phx_replay_get(replay);
            assert_int_equal(info.first, FIRST);
            assert_int_equal(info.count, COUNT);
            assert_int_equal(info.def->leg_count, 2);
            for (int run = 0; run < 2; ++run) { /* each run starts afresh */
                phx_replay_difference difference;
                assert_int_equal(phx_replay_run(replay, &difference), PHX_OK);
                if (difference.characters)
                    fail_msg("%s on %s: %u characters differ, first %u in %s, joint %u, leg %u", variants[v].name,
                             phx_backend_name(backend), difference.characters, difference.character, difference.stage, difference.joint,
                             difference.leg);
            }
            phx_replay_close(replay);
        }
        free(first.bytes);
    }
}

static uint32_t word_at(const unsigned char *bytes, size_t word) {
    return bytes[4 * word] | (uint32_t)bytes[4 * word + 1] << 8 | (uint32_t)bytes[4 * word + 2] << 16 | (uint32_t)bytes[4 * word + 3] << 24;
}
/* FNV-1a from word 4 on, stored in words 2 and 3, so that damage gets past the checksum */
static void seal(unsigned char *bytes, size_t size) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 16; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
    for (int i = 0; i < 8; ++i) bytes[8 + i] = (unsigned char)(hash >> 8 * i);
}

static void a_changed_output_is_found_and_named(void **state) {
    (void)state;
    captured c = capture_walk(NULL, variants);
    phx_report report;
    phx_replay_difference difference;
    /* the last word is the last joint's rotation w of the last character: the right ball, joint 12 of the rig */
    c.bytes[c.size - 4] ^= 1;
    assert_null(phx_replay_open(c.bytes, c.size, NULL, &report));
    assert_non_null(strstr(report.text, "checksum"));
    seal(c.bytes, c.size);
    phx_replay *replay = phx_replay_open(c.bytes, c.size, NULL, &report);
    assert_non_null(replay);
    phx_replay_run(replay, &difference);
    assert_int_equal(difference.characters, 1);
    assert_int_equal(difference.character, FIRST + COUNT - 1);
    assert_string_equal(difference.stage, "pose");
    assert_int_equal(difference.joint, 12);
    phx_replay_close(replay);
    free(c.bytes);
}

static void try_bytes(const unsigned char *bytes, size_t size, int *refused, int *replayed, int *different) {
    unsigned char *copy = malloc(size ? size : 1); /* exactly as long, for the address sanitizer */
    memcpy(copy, bytes, size);
    phx_report report = {PHX_OK, {0}};
    phx_replay *replay = phx_replay_open(copy, size, NULL, &report);
    if (!replay) {
        assert_true(report.status != PHX_OK && report.text[0]);
        ++*refused;
    } else {
        phx_replay_difference difference;
        assert_int_equal(phx_replay_run(replay, &difference), PHX_OK);
        ++*replayed, *different += difference.characters > 0;
        phx_replay_close(replay);
    }
    free(copy);
}

static void damaged_captures_do_no_harm(void **state) {
    (void)state;
    random_state random = random_seeded("damaged captures", 20240611);
    int refused = 0, replayed = 0, different = 0;
    for (int v = 0; v < 2; ++v) {
        captured c = capture_walk(NULL, variants + v);
        /* every cut within the header and 192 elsewhere, sealed or not: refused */
        for (size_t i = 0; i < 304; ++i) {
            const size_t size = i < 112 ? i : (size_t)(random_bits(&random) % c.size);
            try_bytes(c.bytes, size, &refused, &replayed, &different);
        }
        assert_int_equal(replayed, 0);
        /* a flipped bit: the checksum refuses it */
        for (int i = 0; i < 500; ++i) {
            const size_t at = (size_t)(random_bits(&random) % c.size);
            const unsigned char bit = (unsigned char)(1u << random_below(&random, 8));
            c.bytes[at] ^= bit;
            try_bytes(c.bytes, c.size, &refused, &replayed, &different);
            c.bytes[at] ^= bit;
        }
        assert_int_equal(replayed, 0);
        refused = 0;
        /* flipped bits under a right checksum, most of them in header and definition: refused or replayed, without harm */
        unsigned char *copy = malloc(c.size);
        for (int i = 0; i < 1000; ++i) {
            memcpy(copy, c.bytes, c.size);
            const uint32_t flips = 1 + random_below(&random, 3);
            for (uint32_t f = 0; f < flips; ++f) {
                const size_t range = i % 4 == 0 ? c.size : i % 4 == 1 ? 112 : 700;
                copy[16 + random_bits(&random) % (range - 16)] ^= (unsigned char)(1u << random_below(&random, 8));
            }
            seal(copy, c.size);
            try_bytes(copy, c.size, &refused, &replayed, &different);
        }
        free(copy);
        printf("# %s: %d refused, %d replayed, %d of them with a difference\n", variants[v].name, refused, replayed, different);
        assert_true(refused > 100 && replayed > 100);
        refused = replayed = different = 0;
        /* absurd counts under a right checksum */
        for (size_t word = 8; word < 19; ++word) {
            const uint32_t absurd[] = {0, 0xFFFFFFFFu, 0x7FFFFFFFu, 65536, 1u << 24};
            for (int k = 0; k < 5; ++k) {
                const uint32_t was = word_at(c.bytes, word);
                for (int i = 0; i < 4; ++i) c.bytes[4 * word + (size_t)i] = (unsigned char)(absurd[k] >> 8 * i);
                seal(c.bytes, c.size);
                try_bytes(c.bytes, c.size, &refused, &replayed, &different);
                for (int i = 0; i < 4; ++i) c.bytes[4 * word + (size_t)i] = (unsigned char)(was >> 8 * i);
            }
        }
        refused = replayed = different = 0;
        free(c.bytes);
    }
}

static void calls_out_of_order_are_refused(void **state) {
    (void)state;
    phx_crowd_def def = rig_def(NULL, 3);
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    phx_transform poses[3 * RIG_JOINTS];
    for (int c = 0; c < 3; ++c) rig_walk(poses + c * RIG_JOINTS, (float)c);
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = 3, frame.dt = 0.01f, frame.poses = phx_poses_of(poses, RIG_JOINTS);
    phx_report report;
    assert_int_equal(phx_capture_size(crowd, &frame, 0, 0), 0);
    assert_int_equal(phx_capture_size(crowd, &frame, 2, 2), 0);
    assert_int_equal(phx_capture_size(crowd, &frame, 0xFFFFFFFFu, 1), 0);
    assert_int_equal(phx_capture_size(NULL, &frame, 0, 1), 0);
    const size_t size = phx_capture_size(crowd, &frame, 1, 2);
    unsigned char *bytes = malloc(size);
    memset(bytes, 0, size);
    assert_int_equal(phx_capture_begin(crowd, &frame, 1, 2, bytes, size - 1, &report), PHX_ERROR_COUNT);
    assert_int_equal(phx_capture_begin(crowd, &frame, 1, 2, NULL, size, &report), PHX_ERROR_NULL);
    assert_int_equal(phx_capture_begin(crowd, &frame, 2, 2, bytes, size, &report), PHX_ERROR_COUNT);
    assert_int_equal(phx_capture_tile(crowd, &frame, 0, bytes), PHX_ERROR_STATE);
    assert_int_equal(phx_capture_end(crowd, &frame, bytes, &report), PHX_ERROR_STATE);
    assert_int_equal(phx_capture_begin(crowd, &frame, 1, 2, bytes, size, &report), PHX_OK);
    assert_int_equal(phx_capture_end(crowd, &frame, bytes, &report), PHX_ERROR_STATE);
    assert_non_null(strstr(report.text, "character 1 is missing"));
    /* not cast yet, solved already: nothing is kept. In between, it is. */
    unsigned char *begun = malloc(size);
    memcpy(begun, bytes, size);
    assert_int_equal(phx_capture_tile(crowd, &frame, 0, bytes), PHX_ERROR_STATE);
    assert_memory_equal(bytes, begun, size);
    cast(phx_crowd_prepare(crowd, &frame, 0), ground_hills, NULL);
    assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
    assert_int_equal(phx_capture_tile(crowd, &frame, 0, bytes), PHX_ERROR_STATE);
    assert_memory_equal(bytes, begun, size);
    free(begun);
    assert_null(phx_replay_open(bytes, size, NULL, &report));
    assert_non_null(strstr(report.text, "not finished"));
    assert_null(phx_replay_open(NULL, 0, NULL, &report));
    assert_null(phx_replay_open("PNG", 3, NULL, &report));
    assert_non_null(strstr(report.text, "not a capture"));
    cast(phx_crowd_prepare(crowd, &frame, 0), ground_hills, NULL);
    assert_int_equal(phx_capture_tile(crowd, &frame, 0, bytes), PHX_OK);
    assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
    assert_int_equal(phx_capture_tile(crowd, &frame, 0, bytes), PHX_ERROR_STATE);
    assert_int_equal(phx_capture_end(crowd, &frame, bytes, &report), PHX_OK);
    phx_replay *replay = phx_replay_open(bytes, size, NULL, &report);
    assert_non_null(replay);
    phx_replay_difference difference;
    assert_int_equal(phx_replay_run(replay, &difference), PHX_OK);
    assert_int_equal(difference.characters, 0);
    phx_replay_close(replay);
    free(bytes);
    phx_crowd_destroy(crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_to_the_same_bits_on_every_backend),
        cmocka_unit_test(a_changed_output_is_found_and_named),
        cmocka_unit_test(damaged_captures_do_no_harm),
        cmocka_unit_test(calls_out_of_order_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
