/* Capture and replay of one frame: implements phalanx/capture.h. State rows are copied as words, row by row, so that nothing here
 * names their members: a change of phx_character_state, phx_leg_state, phx_mark, phx_carried_plane, phx_leg_replay, phx_leg_turns,
 * phx_pelvis_state, phx_character_still or phx_leg_still needs a new CAPTURE_VERSION.
 *
 * The file, in 32-bit words: header, params, legs, joints, bodies, and one record a character: state before, inputs, pose, rays and
 * hits, state after, corrected pose. */
#include "crowd.h"
#include "../api/report.h"
#include "../reference/memory.h"
#include "../reference/pose.h"
#include "phalanx/capture.h"
#include <stdlib.h>

enum {
    CAPTURE_VERSION = 7,
    MAGIC_LOW = 0x43584850,  /* "PHXC" */
    MAGIC_HIGH = 0x00545041, /* "APT" */
    MOST_JOINTS = 4096,
    MOST_BODIES = 1 << 20,
    MOST_CHARACTERS = 1 << 24
};

enum {
    H_MAGIC_LOW,
    H_MAGIC_HIGH,
    H_CHECK_LOW,
    H_CHECK_HIGH, /* the checksum covers all words after it */
    H_VERSION,
    H_SIZE_LOW,
    H_SIZE_HIGH,
    H_FINISHED,
    H_STATE_WORDS,
    H_LEG_WORDS,
    H_PARAM_WORDS,
    H_JOINTS,
    H_LEGS,
    H_BODIES,
    H_FIRST,
    H_CHARACTERS,
    H_PRESENT,
    H_SCALED,
    H_DEF_BODIES,
    H_DEF_REPLAY,
    H_DEF_SPRING, /* 1 = the pelvis follows by the spring */
    H_DEF_PELVIS, /* 1 = it shifts or leans */
    H_DEF_TURNS,  /* 1 = joints may turn only so fast */
    H_DEF_STILL,  /* 1 = still characters are not solved again */
    H_PELVIS,
    H_DT,
    H_UNIT,
    H_UP_X,
    H_UP_Y,
    H_UP_Z,
    HEADER_WORDS
};
enum { HAS_ROOT_POSITION = 1, HAS_ROOT_ROTATION = 2, HAS_WEIGHT = 4, HAS_FLAGS = 8, HAS_SUPPORT = 16 };
enum { JOINT_WORDS = 2, LEG_DEF_WORDS = 15, BODY_WORDS = 8, HIT_WORDS = 8, POSE_WORDS = 10, SOLVED_WORDS = 7 };

/* rows of 16 lanes that a state struct is made of */
#define ROWS_OF(type) ((uint32_t)(sizeof(type) / (PHX_BLOCK_LANES * 4)))

static void put(unsigned char *at, uint32_t word) {
    for (int i = 0; i < 4; ++i) at[i] = (unsigned char)(word >> 8 * i);
}
static uint32_t get(const unsigned char *at) { return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }
static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Writes words one after the other, or reads them. */
typedef struct cursor {
    unsigned char *at;
} cursor;
static void put_word(cursor *c, uint32_t word) { put(c->at, word), c->at += 4; }
static void put_float(cursor *c, float value) { put_word(c, bits_of(value)); }
static void put_vec(cursor *c, phx_vec3 v) { put_float(c, v.x), put_float(c, v.y), put_float(c, v.z); }
static void put_quat(cursor *c, phx_quat q) { put_float(c, q.x), put_float(c, q.y), put_float(c, q.z), put_float(c, q.w); }

typedef struct reader {
    const unsigned char *at;
} reader;
static uint32_t get_word(reader *r) {
    const uint32_t word = get(r->at);
    r->at += 4;
    return word;
}
static float get_float(reader *r) { return float_of(get_word(r)); }
static phx_vec3 get_vec(reader *r) {
    const float x = get_float(r), y = get_float(r), z = get_float(r);
    return vec3(x, y, z);
}
static phx_quat get_quat(reader *r) {
    const float x = get_float(r), y = get_float(r), z = get_float(r), w = get_float(r);
    return quat(x, y, z, w);
}

/* FNV-1a, 64 bits */
static uint64_t checksum(const unsigned char *bytes, size_t size) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash;
}

/* Where things lie, in words; all from the header's counts. */
typedef struct layout {
    uint32_t params, joints, legs, bodies, characters;
    uint32_t character_rows, leg_rows; /* of a character's state, of one leg's, with what the definition adds to them */
    uint64_t params_at, legs_at, joints_at, bodies_at, records_at;
    uint64_t state_words, inputs_at, pose_at, hits_at, after_at, solved_at, record; /* within a record; state before comes first */
    uint64_t size;                                                                  /* words in all */
} layout;

static layout layout_of(uint32_t params, uint32_t joints, uint32_t legs, uint32_t bodies, uint32_t characters, int velocities, int carried,
                        int replays, int turns, int pelvises, int stills) {
    layout l;
    l.params = params, l.joints = joints, l.legs = legs, l.bodies = bodies, l.characters = characters;
    l.leg_rows = ROWS_OF(phx_leg_state) + (carried ? ROWS_OF(phx_carried_plane) : 0) + (replays ? ROWS_OF(phx_leg_replay) : 0) +
                 (turns ? ROWS_OF(phx_leg_turns) : 0) +
                 (stills ? ROWS_OF(phx_leg_still) : 0);
    l.character_rows = ROWS_OF(phx_character_state) + (velocities ? 1 : 0) + (pelvises ? ROWS_OF(phx_pelvis_state) : 0) + (stills ? ROWS_OF(phx_character_still) : 0);
    l.params_at = HEADER_WORDS, l.legs_at = l.params_at + params;
    l.joints_at = l.legs_at + (uint64_t)legs * LEG_DEF_WORDS, l.bodies_at = l.joints_at + (uint64_t)joints * JOINT_WORDS;
    l.records_at = l.bodies_at + (uint64_t)bodies * BODY_WORDS;
    l.state_words = l.character_rows + (uint64_t)legs * l.leg_rows;
    l.inputs_at = l.state_words;
    l.pose_at = l.inputs_at + 3 + 4 + 1 + 1 + legs;
    l.hits_at = l.pose_at + (uint64_t)joints * POSE_WORDS;
    l.after_at = l.hits_at + 1 + (uint64_t)legs * 2 * HIT_WORDS; /* the first word: 1 = all before is written */
    l.solved_at = l.after_at + l.state_words;
    l.record = l.solved_at + (uint64_t)joints * SOLVED_WORDS;
    l.size = l.records_at + l.record * characters;
    return l;
}

static layout layout_for(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t count) {
    return layout_of(sizeof(phx_crowd_params) / 4, crowd->setup.plan.count, crowd->setup.leg_count, frame->bodies ? frame->body_count : 0,
                     count, crowd->velocities != NULL, crowd->carried != NULL, crowd->replays != NULL, crowd->turns != NULL, crowd->pelvises != NULL, crowd->stills != NULL);
}

/* One lane of a state struct as words, and back. */
static void put_lane(cursor *c, const void *rows, uint32_t count, uint32_t lane) {
    for (uint32_t row = 0; row < count; ++row) {
        uint32_t word;
        memcpy(&word, (const char *)rows + (row * PHX_BLOCK_LANES + lane) * 4, sizeof word);
        put_word(c, word);
    }
}
static void get_lane(reader *r, void *rows, uint32_t count, uint32_t lane) {
    for (uint32_t row = 0; row < count; ++row) {
        const uint32_t word = get_word(r);
        memcpy((char *)rows + (row * PHX_BLOCK_LANES + lane) * 4, &word, sizeof word);
    }
}

static void put_state(cursor *c, const phx_crowd *crowd, uint32_t character) {
    const size_t group = character / PHX_BLOCK_LANES;
    const uint32_t lane = character % PHX_BLOCK_LANES;
    put_lane(c, crowd->characters + group, ROWS_OF(phx_character_state), lane);
    if (crowd->velocities) put_lane(c, crowd->velocities + group, 1, lane);
    if (crowd->pelvises) put_lane(c, crowd->pelvises + group, ROWS_OF(phx_pelvis_state), lane);
    if (crowd->stills) put_lane(c, crowd->stills + group, ROWS_OF(phx_character_still), lane);
    for (uint32_t leg = 0; leg < crowd->setup.leg_count; ++leg) {
        const size_t index = group * crowd->setup.leg_count + leg;
        put_lane(c, crowd->legs + index, ROWS_OF(phx_leg_state), lane);
        if (crowd->carried) put_lane(c, crowd->carried + index, ROWS_OF(phx_carried_plane), lane);
        if (crowd->replays) put_lane(c, crowd->replays + index, ROWS_OF(phx_leg_replay), lane);
        if (crowd->turns) put_lane(c, crowd->turns + index, ROWS_OF(phx_leg_turns), lane);
        if (crowd->stills) put_lane(c, crowd->still_legs + index, ROWS_OF(phx_leg_still), lane);
    }
}

static void get_state(reader *r, phx_crowd *crowd, uint32_t character) {
    const size_t group = character / PHX_BLOCK_LANES;
    const uint32_t lane = character % PHX_BLOCK_LANES;
    get_lane(r, crowd->characters + group, ROWS_OF(phx_character_state), lane);
    if (crowd->velocities) get_lane(r, crowd->velocities + group, 1, lane);
    if (crowd->pelvises) get_lane(r, crowd->pelvises + group, ROWS_OF(phx_pelvis_state), lane);
    if (crowd->stills) get_lane(r, crowd->stills + group, ROWS_OF(phx_character_still), lane);
    for (uint32_t leg = 0; leg < crowd->setup.leg_count; ++leg) {
        const size_t index = group * crowd->setup.leg_count + leg;
        get_lane(r, crowd->legs + index, ROWS_OF(phx_leg_state), lane);
        if (crowd->carried) get_lane(r, crowd->carried + index, ROWS_OF(phx_carried_plane), lane);
        if (crowd->replays) get_lane(r, crowd->replays + index, ROWS_OF(phx_leg_replay), lane);
        if (crowd->turns) get_lane(r, crowd->turns + index, ROWS_OF(phx_leg_turns), lane);
        if (crowd->stills) get_lane(r, crowd->still_legs + index, ROWS_OF(phx_leg_still), lane);
    }
}

static size_t pose_index(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t slot) {
    return frame->poses.layout == PHX_POSE_COMPACT ? slot : crowd->setup.plan.joints[slot];
}

size_t phx_capture_size(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count) {
    if (phx_crowd_validate(crowd, frame, NULL) || count == 0 || first > frame->count || count > frame->count - first) return 0;
    if (crowd->setup.plan.count > MOST_JOINTS || (frame->bodies && frame->body_count > MOST_BODIES)) return 0;
    return (size_t)layout_for(crowd, frame, count).size * 4;
}

phx_status phx_capture_begin(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count, void *buffer,
                             size_t size, phx_report *report) {
    static const char name[] = "capture";
    const phx_status status = phx_crowd_validate(crowd, frame, report);
    if (status) return status;
    if (!buffer) return phx_reject(report, PHX_ERROR_NULL, "%s: 'buffer' is NULL", name);
    const size_t needed = phx_capture_size(crowd, frame, first, count);
    if (needed == 0)
        return phx_reject(report, PHX_ERROR_COUNT,
                          "%s: 'first' %u and 'count' %u are not in the frame's %u characters, or it has more than %d joints or %d bodies",
                          name, first, count, frame->count, MOST_JOINTS, MOST_BODIES);
    if (size < needed) return phx_reject(report, PHX_ERROR_COUNT, "%s: 'size' is %zu, it takes %zu bytes", name, size, needed);

    const layout l = layout_for(crowd, frame, count);
    const phx_crowd_def *def = &crowd->def;
    unsigned char *bytes = buffer;
    memset(bytes, 0, needed);
    uint32_t header[HEADER_WORDS] = {0};
    header[H_MAGIC_LOW] = MAGIC_LOW, header[H_MAGIC_HIGH] = MAGIC_HIGH, header[H_VERSION] = CAPTURE_VERSION;
    header[H_SIZE_LOW] = (uint32_t)needed, header[H_SIZE_HIGH] = (uint32_t)((uint64_t)needed >> 32);
    header[H_STATE_WORDS] = ROWS_OF(phx_character_state), header[H_LEG_WORDS] = ROWS_OF(phx_leg_state);
    header[H_PARAM_WORDS] = l.params, header[H_JOINTS] = l.joints, header[H_LEGS] = l.legs, header[H_BODIES] = l.bodies;
    header[H_FIRST] = first, header[H_CHARACTERS] = count;
    header[H_PRESENT] = (frame->root_position.data ? HAS_ROOT_POSITION : 0u) | (frame->root_rotation.data ? HAS_ROOT_ROTATION : 0u) |
                        (frame->weight.data ? HAS_WEIGHT : 0u) | (frame->flags.data ? HAS_FLAGS : 0u) |
                        (frame->support.data ? HAS_SUPPORT : 0u);
    header[H_SCALED] = def->scaled != 0, header[H_DEF_BODIES] = crowd->carried != NULL, header[H_DEF_REPLAY] = crowd->replays != NULL;
    header[H_DEF_SPRING] = crowd->velocities != NULL, header[H_DEF_PELVIS] = crowd->pelvises != NULL, header[H_DEF_STILL] = crowd->stills != NULL;
    header[H_DEF_TURNS] = crowd->turns != NULL;
    header[H_PELVIS] = crowd->setup.pelvis_slot, header[H_DT] = bits_of(frame->dt), header[H_UNIT] = bits_of(def->unit);
    header[H_UP_X] = bits_of(def->up.x), header[H_UP_Y] = bits_of(def->up.y), header[H_UP_Z] = bits_of(def->up.z);
    cursor c = {bytes};
    for (int i = 0; i < HEADER_WORDS; ++i) put_word(&c, header[i]);
    for (uint32_t i = 0; i < l.params; ++i) { /* the params are floats and ints, each a word */
        uint32_t word;
        memcpy(&word, (const char *)&def->params + i * 4, sizeof word);
        put_word(&c, word);
    }
    for (uint32_t i = 0; i < l.legs; ++i) {
        const phx_leg *leg = def->legs + i;
        const phx_leg_setup *rig = crowd->setup.legs + i;
        put_word(&c, rig->hip), put_word(&c, rig->knee), put_word(&c, rig->ankle),
            put_word(&c, leg->ball == PHX_NO_JOINT ? PHX_NO_JOINT : rig->ball);
        put_vec(&c, leg->heel_offset), put_vec(&c, leg->ball_offset), put_vec(&c, leg->knee_forward);
        put_float(&c, leg->min_bend), put_float(&c, leg->max_bend);
    }
    for (uint32_t slot = 0; slot < l.joints; ++slot)
        put_word(&c, crowd->setup.plan.parents[slot]), put_word(&c, crowd->setup.plan.joints[slot]);
    for (uint32_t i = 0; i < l.bodies; ++i)
        put_vec(&c, frame->bodies[i].position), put_quat(&c, frame->bodies[i].rotation), put_word(&c, frame->bodies[i].generation);
    return phx_accept(report);
}

static void put_inputs(cursor *c, const phx_crowd *crowd, const phx_crowd_frame *frame, size_t character) {
    uint32_t flags = 0;
    if (frame->flags.data) memcpy(&flags, (const char *)frame->flags.data + character * frame->flags.stride, sizeof flags);
    put_vec(c, read3(frame->root_position, character, vec3(0.0f, 0.0f, 0.0f)));
    put_quat(c, read4(frame->root_rotation, character, quat_identity()));
    put_float(c, read1(frame->weight, character, 1.0f));
    put_word(c, flags);
    for (uint32_t leg = 0; leg < crowd->setup.leg_count; ++leg) {
        const char *supports = frame->support.data;
        float support = 0.0f;
        if (supports) memcpy(&support, supports + character * frame->support.stride + leg * sizeof support, sizeof support);
        put_float(c, support);
    }
    for (uint32_t slot = 0; slot < crowd->setup.plan.count; ++slot) {
        const size_t index = pose_index(crowd, frame, slot);
        put_vec(c, phx_reference_translation(&frame->poses, index, character));
        put_quat(c, phx_reference_rotation(&frame->poses, index, character));
        put_vec(c, crowd->setup.scaled ? phx_reference_scale(&frame->poses, index, character) : vec3(1.0f, 1.0f, 1.0f));
    }
}

/* The layout of a capture that this crowd and frame have begun; false where the buffer is not that. */
static int begun(const phx_crowd *crowd, const phx_crowd_frame *frame, const unsigned char *bytes, layout *l, uint32_t *first) {
    if (!bytes || phx_crowd_validate(crowd, frame, NULL)) return 0;
    if (get(bytes + H_MAGIC_LOW * 4) != MAGIC_LOW || get(bytes + H_VERSION * 4) != CAPTURE_VERSION || get(bytes + H_FINISHED * 4) != 0)
        return 0;
    *first = get(bytes + H_FIRST * 4);
    const uint32_t count = get(bytes + H_CHARACTERS * 4);
    const size_t needed = phx_capture_size(crowd, frame, *first, count);
    *l = layout_for(crowd, frame, count);
    return needed != 0 && get(bytes + H_SIZE_LOW * 4) == (uint32_t)needed &&
           get(bytes + H_SIZE_HIGH * 4) == (uint32_t)((uint64_t)needed >> 32);
}

phx_status phx_capture_tile(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile, void *buffer) {
    unsigned char *bytes = buffer;
    layout l;
    uint32_t first;
    if (!begun(crowd, frame, bytes, &l, &first)) return PHX_ERROR_STATE;
    if (tile >= phx_crowd_frame_tiles(crowd, frame)) return PHX_ERROR_COUNT;
    const uint32_t begin = tile * PHX_TILE_CHARACTERS, count = phx_tile_count(frame, tile);
    if (begin + count <= first || first + l.characters <= begin) return PHX_OK;
    if (!phx_is_prepared(phx_prepared_of(crowd, frame, tile), tile, count)) return PHX_ERROR_STATE;
    const phx_ray_block *rays = phx_in_workspace(crowd, crowd->rays, phx_workspace_of(crowd, frame, tile));
    for (uint32_t i = 0; i < PHX_TILE_CHARACTERS; ++i) {
        const uint32_t character = begin + i, lane = i % PHX_BLOCK_LANES;
        if (character < first || character - first >= l.characters) continue;
        cursor c = {bytes + (l.records_at + l.record * (character - first)) * 4};
        put_state(&c, crowd, character);
        put_inputs(&c, crowd, frame, character);
        put_word(&c, 1);
        for (uint32_t leg = 0; leg < l.legs; ++leg) {
            for (uint32_t end = 0; end < 2; ++end) {
                const phx_ray_block *ray = rays + (i / PHX_BLOCK_LANES * l.legs + leg) * 2 + end;
                put_float(&c, ray->org_x[lane]), put_float(&c, ray->org_y[lane]), put_float(&c, ray->org_z[lane]);
                put_float(&c, ray->tfar[lane]);
                put_float(&c, ray->Ng_x[lane]), put_float(&c, ray->Ng_y[lane]), put_float(&c, ray->Ng_z[lane]);
                put_word(&c, ray->geomID[lane]);
            }
        }
    }
    return PHX_OK;
}

phx_status phx_capture_end(const phx_crowd *crowd, const phx_crowd_frame *frame, void *buffer, phx_report *report) {
    unsigned char *bytes = buffer;
    layout l;
    uint32_t first;
    if (!begun(crowd, frame, bytes, &l, &first))
        return phx_reject(report, PHX_ERROR_STATE, "capture: the buffer was not begun with this crowd and frame");
    for (uint32_t i = 0; i < l.characters; ++i) {
        unsigned char *record = bytes + (l.records_at + l.record * i) * 4;
        if (get(record + l.hits_at * 4) != 1)
            return phx_reject(report, PHX_ERROR_STATE, "capture: character %u is missing: call phx_capture_tile for tile %u",
                              first + i, (first + i) / PHX_TILE_CHARACTERS);
        cursor c = {record + l.after_at * 4};
        put_state(&c, crowd, first + i);
        for (uint32_t slot = 0; slot < l.joints; ++slot) {
            const size_t index = pose_index(crowd, frame, slot);
            put_vec(&c, phx_reference_translation(&frame->poses, index, first + i));
            put_quat(&c, phx_reference_rotation(&frame->poses, index, first + i));
        }
    }
    put(bytes + H_FINISHED * 4, 1);
    const uint64_t check = checksum(bytes + H_VERSION * 4, ((size_t)l.size - H_VERSION) * 4);
    put(bytes + H_CHECK_LOW * 4, (uint32_t)check), put(bytes + H_CHECK_HIGH * 4, (uint32_t)(check >> 32));
    return phx_accept(report);
}

/* ---- replay ------------------------------------------------------------------------------------------------------------ */

struct phx_replay {
    const unsigned char *bytes;
    layout l;
    uint32_t first;
    phx_crowd *crowd;
    phx_crowd_def def;
    phx_crowd_frame frame;
    /* arrays in the same allocation */
    phx_transform *pose;
    phx_vec3 *root_position;
    phx_quat *root_rotation;
    float *weight, *support;
    uint32_t *flags, *joints;
    phx_body *bodies;
    uint16_t *parents;
};

static const unsigned char *record_of(const phx_replay *replay, uint32_t character, uint64_t word) {
    return replay->bytes + (replay->l.records_at + replay->l.record * character + word) * 4;
}

/* Checks everything that sizes and indices depend on. */
static phx_status check_bytes(const unsigned char *bytes, size_t size, layout *l, phx_report *report) {
    if (!bytes) return phx_reject(report, PHX_ERROR_NULL, "replay: 'bytes' is NULL");
    if (size < HEADER_WORDS * 4 || get(bytes) != MAGIC_LOW || get(bytes + 4) != MAGIC_HIGH)
        return phx_reject(report, PHX_ERROR_VALUE, "not a capture: it does not begin as captures do");
    uint32_t h[HEADER_WORDS];
    for (int i = 0; i < HEADER_WORDS; ++i) h[i] = get(bytes + i * 4);
    if (h[H_VERSION] != CAPTURE_VERSION)
        return phx_reject(report, PHX_ERROR_VALUE,
                          "capture of version %u: this library reads version %d; replay it with the library that made it", h[H_VERSION],
                          CAPTURE_VERSION);
    const uint64_t stated = h[H_SIZE_LOW] | (uint64_t)h[H_SIZE_HIGH] << 32;
    if (stated != size)
        return phx_reject(report, PHX_ERROR_COUNT, "capture is cut or has grown: it states %llu bytes and has %zu", (unsigned long long)stated, size);
    if (h[H_FINISHED] != 1) return phx_reject(report, PHX_ERROR_STATE, "capture was not finished: phx_capture_end is missing");
    const uint64_t check = checksum(bytes + H_VERSION * 4, size - H_VERSION * 4);
    if (h[H_CHECK_LOW] != (uint32_t)check || h[H_CHECK_HIGH] != (uint32_t)(check >> 32))
        return phx_reject(report, PHX_ERROR_VALUE, "capture is damaged: its checksum does not match");
    if (h[H_STATE_WORDS] != ROWS_OF(phx_character_state) || h[H_LEG_WORDS] != ROWS_OF(phx_leg_state) ||
        h[H_PARAM_WORDS] != sizeof(phx_crowd_params) / 4)
        return phx_reject(report, PHX_ERROR_VALUE,
                          "capture was made by a library whose crowds keep another state; replay it with that one");
    if (h[H_JOINTS] == 0 || h[H_JOINTS] > MOST_JOINTS || h[H_LEGS] == 0 || h[H_LEGS] > PHX_MAX_LEGS || h[H_BODIES] > MOST_BODIES ||
        h[H_CHARACTERS] == 0 || h[H_CHARACTERS] > MOST_CHARACTERS || h[H_SCALED] > 1 || h[H_DEF_BODIES] > 1 || h[H_DEF_REPLAY] > 1 ||
        h[H_DEF_SPRING] > 1 || h[H_DEF_PELVIS] > 1 || h[H_DEF_STILL] > 1 || h[H_DEF_TURNS] > 1 || h[H_PRESENT] > 31)
        return phx_reject(report, PHX_ERROR_COUNT, "capture is damaged: %u joints, %u legs, %u bodies, %u characters", h[H_JOINTS],
                          h[H_LEGS], h[H_BODIES], h[H_CHARACTERS]);
    *l = layout_of(h[H_PARAM_WORDS], h[H_JOINTS], h[H_LEGS], h[H_BODIES], h[H_CHARACTERS], (int)h[H_DEF_SPRING], (int)h[H_DEF_BODIES],
                   (int)h[H_DEF_REPLAY], (int)h[H_DEF_TURNS], (int)h[H_DEF_PELVIS], (int)h[H_DEF_STILL]);
    if (l->size * 4 != size)
        return phx_reject(report, PHX_ERROR_COUNT, "capture is damaged: its counts take %llu bytes, it has %zu",
                          (unsigned long long)(l->size * 4), size);
    return PHX_OK;
}

/* one joint index of the definition; PHX_NO_JOINT stays */
static uint16_t joint_in(uint32_t word) { return word < PHX_NO_JOINT ? (uint16_t)word : PHX_NO_JOINT; }

static void read_definition(phx_replay *replay) {
    const layout *l = &replay->l;
    const unsigned char *bytes = replay->bytes;
    phx_crowd_def *def = &replay->def;
    *def = phx_crowd_def_default();
    def->capacity = l->characters;
    def->leg_count = l->legs;
    def->pelvis = joint_in(get(bytes + H_PELVIS * 4));
    def->scaled = (int)get(bytes + H_SCALED * 4), def->bodies = (int)get(bytes + H_DEF_BODIES * 4),
    def->replay = (int)get(bytes + H_DEF_REPLAY * 4);
    def->unit = float_of(get(bytes + H_UNIT * 4));
    def->up = vec3(float_of(get(bytes + H_UP_X * 4)), float_of(get(bytes + H_UP_Y * 4)), float_of(get(bytes + H_UP_Z * 4)));
    reader r = {bytes + l->params_at * 4};
    for (uint32_t i = 0; i < l->params; ++i) {
        const uint32_t word = get_word(&r);
        memcpy((char *)&def->params + i * 4, &word, sizeof word);
    }
    for (uint32_t i = 0; i < l->legs; ++i) {
        phx_leg *leg = def->legs + i;
        leg->hip = joint_in(get_word(&r)), leg->knee = joint_in(get_word(&r)), leg->ankle = joint_in(get_word(&r)),
        leg->ball = joint_in(get_word(&r));
        leg->heel_offset = get_vec(&r), leg->ball_offset = get_vec(&r), leg->knee_forward = get_vec(&r);
        leg->min_bend = get_float(&r), leg->max_bend = get_float(&r);
    }
    for (uint32_t i = 0; i < l->joints; ++i) replay->parents[i] = joint_in(get_word(&r)), replay->joints[i] = get_word(&r);
    for (uint32_t i = 0; i < l->bodies; ++i) {
        replay->bodies[i].position = get_vec(&r), replay->bodies[i].rotation = get_quat(&r), replay->bodies[i].generation = get_word(&r);
    }
    def->skeleton = (phx_skeleton){l->joints, replay->parents};
}

static void read_inputs(phx_replay *replay) {
    const layout *l = &replay->l;
    const uint32_t present = get(replay->bytes + H_PRESENT * 4);
    phx_crowd_frame *frame = &replay->frame;
    for (uint32_t i = 0; i < l->characters; ++i) {
        reader r = {record_of(replay, i, l->inputs_at)};
        replay->root_position[i] = get_vec(&r), replay->root_rotation[i] = get_quat(&r);
        replay->weight[i] = get_float(&r), replay->flags[i] = get_word(&r);
        for (uint32_t leg = 0; leg < l->legs; ++leg) replay->support[(size_t)i * l->legs + leg] = get_float(&r);
    }
    frame->count = l->characters, frame->dt = float_of(get(replay->bytes + H_DT * 4));
    frame->poses = phx_poses_of(replay->pose, l->joints);
    if (present & HAS_ROOT_POSITION) frame->root_position = PHX_VIEW_ARRAY(replay->root_position);
    if (present & HAS_ROOT_ROTATION) frame->root_rotation = PHX_VIEW_ARRAY(replay->root_rotation);
    if (present & HAS_WEIGHT) frame->weight = PHX_VIEW_ARRAY(replay->weight);
    if (present & HAS_FLAGS) frame->flags = PHX_VIEW_ARRAY(replay->flags);
    if (present & HAS_SUPPORT) frame->support = phx_view_of(replay->support, l->legs * sizeof(float));
    if (replay->def.bodies) frame->bodies = replay->bodies, frame->body_count = l->bodies;
}

/* State and pose as they were before the frame. */
static void rewind_to_start(phx_replay *replay) {
    for (uint32_t i = 0; i < replay->l.characters; ++i) {
        reader r = {record_of(replay, i, 0)};
        get_state(&r, replay->crowd, i);
        phx_replay_animated(replay, i, replay->pose + (size_t)i * replay->l.joints);
    }
}

phx_replay *phx_replay_open(const void *bytes, size_t size, const phx_backend *backend, phx_report *report) {
    layout l;
    if (check_bytes(bytes, size, &l, report)) return NULL;
    const size_t n = l.characters;
    const struct {
        size_t offset, bytes;
    } parts[] = {{offsetof(phx_replay, pose), n * l.joints * sizeof(phx_transform)},
                 {offsetof(phx_replay, root_position), n * sizeof(phx_vec3)},
                 {offsetof(phx_replay, root_rotation), n * sizeof(phx_quat)},
                 {offsetof(phx_replay, weight), n * 4},
                 {offsetof(phx_replay, support), n * l.legs * 4},
                 {offsetof(phx_replay, flags), n * 4},
                 {offsetof(phx_replay, joints), l.joints * 4},
                 {offsetof(phx_replay, bodies), l.bodies * sizeof(phx_body) + 64},
                 {offsetof(phx_replay, parents), l.joints * 2}};
    size_t needed = (sizeof(phx_replay) + 63) / 64 * 64;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) needed += (parts[i].bytes + 63) / 64 * 64;
    phx_replay *replay = calloc(1, needed);
    if (!replay) {
        phx_reject(report, PHX_ERROR_MEMORY, "replay: no memory for %u characters (%zu bytes)", l.characters, needed);
        return NULL;
    }
    char *piece = (char *)replay + (sizeof(phx_replay) + 63) / 64 * 64;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        void *array = piece;
        memcpy((char *)replay + parts[i].offset, &array, sizeof array);
        piece += (parts[i].bytes + 63) / 64 * 64;
    }
    replay->bytes = bytes, replay->l = l, replay->first = get(replay->bytes + H_FIRST * 4);
    read_definition(replay);
    read_inputs(replay);
    replay->def.backend = backend;
    replay->crowd = phx_crowd_create(&replay->def, report);
    if (!replay->crowd) {
        free(replay);
        return NULL;
    }
    if ((replay->crowd->velocities != NULL) != (get(replay->bytes + H_DEF_SPRING * 4) != 0) ||
        (replay->crowd->pelvises != NULL) != (get(replay->bytes + H_DEF_PELVIS * 4) != 0) ||
        (replay->crowd->stills != NULL) != (get(replay->bytes + H_DEF_STILL * 4) != 0) ||
        (replay->crowd->turns != NULL) != (get(replay->bytes + H_DEF_TURNS * 4) != 0) ||
        (replay->crowd->replays != NULL) != (get(replay->bytes + H_DEF_REPLAY * 4) != 0)) {
        phx_replay_close(replay);
        phx_reject(report, PHX_ERROR_COUNT, "capture is damaged: its parameters and its state do not belong together");
        return NULL;
    }
    replay->def.backend = phx_crowd_backend(replay->crowd);
    rewind_to_start(replay);
    if (phx_crowd_validate(replay->crowd, &replay->frame, report)) {
        phx_replay_close(replay);
        return NULL;
    }
    return replay;
}

void phx_replay_close(phx_replay *replay) {
    if (!replay) return;
    phx_crowd_destroy(replay->crowd);
    free(replay);
}

phx_status phx_replay_animated(const phx_replay *replay, uint32_t character, phx_transform *pose) {
    if (!replay || !pose) return PHX_ERROR_NULL;
    if (character >= replay->l.characters) return PHX_ERROR_COUNT;
    reader r = {record_of(replay, character, replay->l.pose_at)};
    for (uint32_t joint = 0; joint < replay->l.joints; ++joint)
        pose[joint].translation = get_vec(&r), pose[joint].rotation = get_quat(&r), pose[joint].scale = get_vec(&r);
    return PHX_OK;
}

phx_replay_info phx_replay_get(const phx_replay *replay) {
    phx_replay_info info;
    memset(&info, 0, sizeof info);
    if (!replay) return info;
    info.first = replay->first, info.count = replay->l.characters;
    info.def = &replay->def, info.joints = replay->joints, info.crowd = replay->crowd, info.frame = &replay->frame;
    return info;
}

/* Gives a prepared tile its captured hits. Returns the lowest leg whose ray origins are not those captured, for each character. */
static void give_hits(phx_replay *replay, phx_ray_blocks rays, uint32_t *differing_legs) {
    for (uint32_t i = 0; i < rays.characters; ++i) {
        const uint32_t character = rays.first_character + i, lane = i % PHX_BLOCK_LANES;
        reader r = {record_of(replay, character, replay->l.hits_at + 1)};
        for (uint32_t leg = 0; leg < rays.legs; ++leg) {
            for (uint32_t end = 0; end < 2; ++end) {
                phx_ray_block *ray = rays.blocks + (i / PHX_BLOCK_LANES * rays.legs + leg) * 2 + end;
                const uint32_t x = get_word(&r), y = get_word(&r), z = get_word(&r);
                const int same = x == bits_of(ray->org_x[lane]) && y == bits_of(ray->org_y[lane]) && z == bits_of(ray->org_z[lane]);
                if (!same && differing_legs[i] == PHX_NO_JOINT) differing_legs[i] = leg;
                ray->tfar[lane] = get_float(&r);
                ray->Ng_x[lane] = get_float(&r), ray->Ng_y[lane] = get_float(&r), ray->Ng_z[lane] = get_float(&r);
                ray->geomID[lane] = get_word(&r);
            }
        }
    }
}

/* The first thing about a character that is not as captured; stage NULL where all is. */
static void compare_character(const phx_replay *replay, uint32_t character, phx_replay_difference *found) {
    const layout *l = &replay->l;
    const phx_transform *pose = replay->pose + (size_t)character * l->joints;
    reader r = {record_of(replay, character, l->solved_at)};
    for (uint32_t joint = 0; joint < l->joints; ++joint) {
        uint32_t words[SOLVED_WORDS];
        int same = 1;
        memcpy(words, &pose[joint], sizeof words); /* translation and rotation come first */
        for (int i = 0; i < SOLVED_WORDS; ++i) same = (get_word(&r) == words[i]) & same;
        if (same) continue;
        found->stage = "pose", found->joint = replay->joints[joint];
        return;
    }
    unsigned char lane[(ROWS_OF(phx_leg_state) + ROWS_OF(phx_carried_plane) + ROWS_OF(phx_leg_replay) + ROWS_OF(phx_leg_turns) + ROWS_OF(phx_character_state) + 1 +
                        ROWS_OF(phx_pelvis_state) + ROWS_OF(phx_character_still) + ROWS_OF(phx_leg_still)) * 4];
    const size_t group = character / PHX_BLOCK_LANES;
    const unsigned char *captured = record_of(replay, character, l->after_at);
    cursor c = {lane};
    put_lane(&c, replay->crowd->characters + group, ROWS_OF(phx_character_state), character % PHX_BLOCK_LANES);
    if (replay->crowd->velocities) put_lane(&c, replay->crowd->velocities + group, 1, character % PHX_BLOCK_LANES);
    if (replay->crowd->pelvises) put_lane(&c, replay->crowd->pelvises + group, ROWS_OF(phx_pelvis_state), character % PHX_BLOCK_LANES);
    if (replay->crowd->stills) put_lane(&c, replay->crowd->stills + group, ROWS_OF(phx_character_still), character % PHX_BLOCK_LANES);
    if (memcmp(lane, captured, (size_t)(c.at - lane)) != 0) found->stage = "state";
    captured += c.at - lane;
    for (uint32_t leg = 0; leg < l->legs && !found->stage; ++leg) {
        const size_t index = group * l->legs + leg;
        c.at = lane;
        put_lane(&c, replay->crowd->legs + index, ROWS_OF(phx_leg_state), character % PHX_BLOCK_LANES);
        if (replay->crowd->carried) put_lane(&c, replay->crowd->carried + index, ROWS_OF(phx_carried_plane), character % PHX_BLOCK_LANES);
        if (replay->crowd->replays) put_lane(&c, replay->crowd->replays + index, ROWS_OF(phx_leg_replay), character % PHX_BLOCK_LANES);
        if (replay->crowd->turns) put_lane(&c, replay->crowd->turns + index, ROWS_OF(phx_leg_turns), character % PHX_BLOCK_LANES);
        if (replay->crowd->stills) put_lane(&c, replay->crowd->still_legs + index, ROWS_OF(phx_leg_still), character % PHX_BLOCK_LANES);
        if (memcmp(lane, captured, (size_t)(c.at - lane)) != 0) found->stage = "state", found->leg = leg;
        captured += c.at - lane;
    }
}

phx_status phx_replay_run(phx_replay *replay, phx_replay_difference *difference) {
    if (!replay) return PHX_ERROR_NULL;
    phx_replay_difference first = {0, 0, NULL, PHX_NO_JOINT, PHX_NO_JOINT};
    rewind_to_start(replay);
    for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(replay->crowd, &replay->frame); ++tile) {
        const phx_ray_blocks rays = phx_crowd_prepare(replay->crowd, &replay->frame, tile);
        uint32_t differing_legs[PHX_TILE_CHARACTERS];
        for (int i = 0; i < PHX_TILE_CHARACTERS; ++i) differing_legs[i] = PHX_NO_JOINT;
        give_hits(replay, rays, differing_legs);
        const phx_status status = phx_crowd_solve(replay->crowd, &replay->frame, tile);
        if (status) return status;
        for (uint32_t i = 0; i < rays.characters; ++i) {
            phx_replay_difference found = {0, replay->first + rays.first_character + i, NULL, PHX_NO_JOINT, PHX_NO_JOINT};
            if (differing_legs[i] != PHX_NO_JOINT)
                found.stage = "rays", found.leg = differing_legs[i];
            else
                compare_character(replay, rays.first_character + i, &found);
            if (!found.stage) continue;
            found.characters = first.characters;
            if (first.characters == 0) first = found;
            ++first.characters;
        }
    }
    if (difference) *difference = first;
    return PHX_OK;
}
