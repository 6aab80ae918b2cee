/* The workload of single chains: two-bone legs, FABRIK, CCD, joint limits. See workload.h. */
#include "workload.h"

#include <stdlib.h>

static phx_vec3 along(phx_vec3 a, phx_vec3 d, float s) { return (phx_vec3){a.x + d.x * s, a.y + d.y * s, a.z + d.z * s}; }
static phx_vec3 between(phx_vec3 a, phx_vec3 b) { return (phx_vec3){b.x - a.x, b.y - a.y, b.z - a.z}; }

/* C leaves the order of arguments and initialisers to the compiler: at most one value is drawn in each. */
static phx_vec3 random_place(workload_random *r, float scale) {
    phx_vec3 v;
    v.x = random_between(r, -9, 9) * scale, v.y = random_between(r, -1, 1) * scale, v.z = random_between(r, -9, 9) * scale;
    return v;
}
static void poison(workload_random *r, void *floats, uint32_t count) {
    const uint32_t at = random_under(r, count);
    const float bad = random_bad(r);
    memcpy((char *)floats + at * sizeof bad, &bad, sizeof bad);
}

static void *aligned_memory(size_t size, void **whole) {
    char *memory = calloc(1, size + 64);
    *whole = memory;
    return memory == NULL ? NULL : memory + (64 - (uintptr_t)memory % 64) % 64;
}

/* ---- two bones ---- */

enum { GROUPS = 64, LEGS = WORKLOAD_LEGS / GROUPS };

typedef struct leg {
    phx_vec3 root, mid, tip, target, pole, rest_bend, bend;
    float weight, pole_weight;
    phx_quat parent, root_local, mid_local, tip_local, target_rotation;
} leg;

typedef struct leg_answer {
    phx_quat root_rotation, mid_rotation, tip_rotation, root_local, mid_local, tip_local;
    phx_vec3 mid, tip, bend;
    float stretch;
    phx_result result;
    uint32_t zero[3];
} leg_answer;
_Static_assert(sizeof(leg_answer) == WORKLOAD_LEG_ANSWER, "an answer has no padding");

static leg make_leg(workload_random *r) {
    leg a;
    const float scale = random_scale(r), upper = random_between(r, 0.2f, 0.6f) * scale, lower = random_between(r, 0.2f, 0.6f) * scale;
    const float reach = (upper + lower) * random_between(r, 0.0f, 1.3f);
    a.root = random_place(r, scale);
    a.mid = along(a.root, random_unit(r), upper), a.tip = along(a.mid, random_unit(r), lower);
    a.target = along(a.root, random_unit(r), reach);
    a.pole = random_unit(r), a.rest_bend = random_unit(r), a.bend = random_unit(r);
    a.weight = random_between(r, -0.2f, 1.2f), a.pole_weight = random_between(r, -0.2f, 1.2f);
    a.parent = random_turn(r), a.root_local = random_turn(r), a.mid_local = random_turn(r), a.tip_local = random_turn(r);
    a.target_rotation = random_turn(r);
    if (random_under(r, 2)) return a;
    for (uint32_t k = 0, n = 1 + random_under(r, 2); k < n; ++k) { /* something degenerate or hostile */
        const phx_vec3 chord = between(a.root, a.target);
        switch (random_under(r, 18)) {
        case 0: a.target = a.root; break;
        case 1: a.pole = chord; break;
        case 2: a.pole = between(a.target, a.root), a.bend = chord; break;
        case 3: a.mid = along(a.root, between(a.root, a.tip), 0.5f); break;
        case 4: a.tip = a.root; break;
        case 5: a.mid = a.root; break;
        case 6: a.tip = a.mid; break;
        case 7: a.mid = a.tip = a.root; break;
        case 8: a.pole = a.bend = a.rest_bend = (phx_vec3){0, 0, 0}; break;
        case 9: a.weight = random_under(r, 2) ? 0.0f : 1.0f; break;
        case 10: a.target = along(a.root, between(a.tip, a.root), 1.0f); break;
        case 11: a.mid = along(a.root, (phx_vec3){0, -1, 0}, upper), a.tip = along(a.mid, (phx_vec3){0, -1, 0}, lower); break;
        case 12: a.target = a.tip; break;
        case 13: memset(&a.target_rotation, 0, sizeof a.target_rotation); break;
        case 14: a.root.x += 4e5f * scale, a.mid.x += 4e5f * scale, a.tip.x += 4e5f * scale, a.target.x += 4e5f * scale; break;
        case 15: poison(r, random_under(r, 2) ? &a.weight : &a.pole_weight, 1); break;
        case 16: poison(r, random_under(r, 2) ? &a.target.x : &a.pole.x, 3); break;
        default: poison(r, random_under(r, 2) ? &a.root.x : random_under(r, 2) ? &a.mid.x : &a.tip.x, 3);
        }
    }
    workload_one_nan(&a, sizeof a / 4); /* half of the sum of two infinities */
    return a;
}

enum { LEG_POLE = 1, LEG_REST = 2, LEG_BEND = 4, LEG_WEIGHT = 8, LEG_POLE_WEIGHT = 16, LEG_LOCALS = 32, LEG_PARENT = 64, LEG_TIP = 128 };

static phx_two_bone_params leg_params(workload_random *r) {
    phx_two_bone_params params = phx_two_bone_params_default();
    if (random_under(r, 2)) params.twist = PHX_TWIST_INHERIT;
    if (random_under(r, 3) == 0) params.soft_start = random_between(r, 0.8f, 1.0f);
    if (random_under(r, 3) == 0) params.max_stretch = random_between(r, 1.0f, 1.5f);
    if (random_under(r, 3) == 0) params.min_bend = random_between(r, 0.0f, 0.4f), params.max_bend = random_between(r, 1.0f, 3.0f);
    if (random_under(r, 3) == 0) params.max_bend_turn = random_between(r, 0.0f, 1.0f);
    return params;
}

static phx_two_bone_job leg_job(const phx_two_bone_params *params, uint32_t options, const leg *in, leg_answer *out, size_t count) {
    phx_two_bone_job job = phx_two_bone_job_default();
    job.params = *params, job.count = count;
    job.root = PHX_VIEW(in, root), job.mid = PHX_VIEW(in, mid), job.tip = PHX_VIEW(in, tip), job.target = PHX_VIEW(in, target);
    if (options & LEG_POLE) job.pole = PHX_VIEW(in, pole);
    if (options & LEG_REST) job.rest_bend = PHX_VIEW(in, rest_bend);
    if (options & LEG_BEND) job.bend = PHX_VIEW(out, bend);
    if (options & LEG_WEIGHT) job.weight = PHX_VIEW(in, weight);
    if (options & LEG_POLE_WEIGHT) job.pole_weight = PHX_VIEW(in, pole_weight);
    if (options & LEG_LOCALS) {
        job.root_local = PHX_VIEW(in, root_local), job.mid_local = PHX_VIEW(in, mid_local), job.tip_local = PHX_VIEW(in, tip_local);
        if (options & LEG_PARENT) job.parent_rotation = PHX_VIEW(in, parent);
        if (options & LEG_TIP) job.target_rotation = PHX_VIEW(in, target_rotation), job.tip_rotation = PHX_VIEW(out, tip_rotation);
        job.root_local_out = PHX_VIEW(out, root_local), job.mid_local_out = PHX_VIEW(out, mid_local), job.tip_local_out = PHX_VIEW(out, tip_local);
    }
    job.root_rotation = PHX_VIEW(out, root_rotation), job.mid_rotation = PHX_VIEW(out, mid_rotation);
    job.mid_position = PHX_VIEW(out, mid), job.tip_position = PHX_VIEW(out, tip), job.stretch = PHX_VIEW(out, stretch);
    job.result = PHX_VIEW(out, result);
    return job;
}

typedef struct two_bone_range {
    const phx_backend *backend;
    phx_two_bone_job job;
} two_bone_range;
static bool two_bone_work(void *context, size_t first, size_t count) {
    const two_bone_range *range = context;
    return phx_two_bone_solve_range(range->backend, &range->job, first, count) == PHX_OK;
}

static void put3(phx_rows3 *rows, uint32_t lane, phx_vec3 v) { rows->x[lane] = v.x, rows->y[lane] = v.y, rows->z[lane] = v.z; }
static phx_vec3 get3(const phx_rows3 *rows, uint32_t lane) { return (phx_vec3){rows->x[lane], rows->y[lane], rows->z[lane]}; }
static phx_quat get4(const phx_rows4 *rows, uint32_t lane) {
    return (phx_quat){rows->x[lane], rows->y[lane], rows->z[lane], rows->w[lane]};
}

/* The blocks' face has no local rotations; groups that use them keep the answer that is there. */
static bool two_bone_blocks(const phx_backend *backend, const phx_two_bone_params *params, uint32_t options, const leg *in, leg_answer *out) {
    enum { BLOCKS = (LEGS + 15) / 16 };
    void *whole[2];
    phx_two_bone_block *blocks = aligned_memory(BLOCKS * sizeof *blocks, &whole[0]);
    phx_two_bone_extra *extras = aligned_memory(BLOCKS * sizeof *extras, &whole[1]);
    bool good = blocks != NULL && extras != NULL;
    for (uint32_t i = 0; good && i < BLOCKS * 16; ++i) {
        phx_two_bone_block *b = blocks + i / 16;
        phx_two_bone_extra *e = extras + i / 16;
        const uint32_t lane = i % 16;
        if (lane == 0) phx_two_bone_extra_default(e);
        if (i >= LEGS) continue;
        put3(&b->root, lane, in[i].root), put3(&b->mid, lane, in[i].mid), put3(&b->tip, lane, in[i].tip);
        put3(&b->target, lane, in[i].target);
        if (options & LEG_POLE) put3(&b->pole, lane, in[i].pole);
        if (options & LEG_BEND) put3(&b->bend, lane, in[i].bend);
        if (options & LEG_REST) put3(&e->rest_bend, lane, in[i].rest_bend);
        if (options & LEG_WEIGHT) e->weight.v[lane] = in[i].weight;
        if (options & LEG_POLE_WEIGHT) e->pole_weight.v[lane] = in[i].pole_weight;
    }
    good = good && phx_two_bone_solve_blocks(backend, params, blocks, extras, BLOCKS, NULL) == PHX_OK;
    for (uint32_t i = 0; good && i < LEGS; ++i) {
        const phx_two_bone_block *b = blocks + i / 16;
        const phx_two_bone_extra *e = extras + i / 16;
        const uint32_t lane = i % 16;
        out[i].root_rotation = get4(&b->root_rotation, lane), out[i].mid_rotation = get4(&b->mid_rotation, lane);
        if (options & LEG_BEND) out[i].bend = get3(&b->bend, lane);
        out[i].mid = get3(&e->mid_position, lane), out[i].tip = get3(&e->tip_position, lane), out[i].stretch = e->stretch.v[lane];
        out[i].result.residual = b->residual.v[lane], out[i].result.flags = b->flags.v[lane];
    }
    free(whole[0]), free(whole[1]);
    return good;
}

bool workload_two_bone(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    leg *in = malloc(LEGS * sizeof *in), *moved = malloc(LEGS * sizeof *moved);
    leg_answer *out = calloc(LEGS, sizeof *out);
    uint32_t *order = malloc(LEGS * sizeof *order);
    bool good = in != NULL && moved != NULL && out != NULL && order != NULL;
    for (uint32_t g = 0; good && g < GROUPS; ++g) {
        workload_random r = {0x1E65u + g};
        const uint32_t options = g == 0 ? LEG_POLE | LEG_BEND : g == 1 ? 0 : (uint32_t)random_word(&r) & 255;
        const phx_two_bone_params params = leg_params(&r);
        for (uint32_t i = 0; i < LEGS; ++i) in[i] = make_leg(&r);
        leg_answer *group = (leg_answer *)(void *)answers + (size_t)g * LEGS;
        if (arrangement == WORKLOAD_BLOCKS) {
            if (!(options & LEG_LOCALS)) good = two_bone_blocks(backend, &params, options, in, group);
            continue;
        }
        random_order(&r, order, LEGS);
        memset(out, 0, LEGS * sizeof *out);
        for (uint32_t i = 0; i < LEGS; ++i) {
            if (arrangement == WORKLOAD_IN_ORDER) order[i] = i;
            moved[i] = in[order[i]];
            if (options & LEG_BEND) out[i].bend = moved[i].bend;
        }
        two_bone_range range = {backend, leg_job(&params, options, moved, out, LEGS)};
        good = workload_split(phx_two_bone_block_count(&range.job), arrangement == WORKLOAD_SHUFFLED ? threads : 0, two_bone_work, &range);
        for (uint32_t i = 0; i < LEGS; ++i) group[order[i]] = out[i];
    }
    free(in), free(moved), free(out), free(order);
    return good;
}

/* ---- long chains ---- */

enum {
    CHAIN_GROUPS = 66, MOST_CHAINS = 503, LONG_CHAINS = 61, JOINTS = PHX_CHAIN_MAX_JOINTS,
    CHAIN_START = 1, CHAIN_LENGTH = 2, CHAIN_BUDGET = 4, CHAIN_POLE = 8, CHAIN_BEND = 16, CHAIN_REST = 32, CHAIN_WEIGHT = 64,
    CHAIN_ROTATION = 128, CHAIN_LOCAL = 256, CHAIN_PARENT = 512, CHAIN_TIP = 1024, CHAIN_LIMITS = 2048, CHAIN_IN_PLACE = 4096
};

typedef struct chain {
    phx_vec3 position[JOINTS], start[JOINTS];
    phx_quat rotation[JOINTS];
    float length[JOINTS];
    phx_vec3 target, pole, rest_bend, bend;
    phx_quat parent, target_rotation;
    float weight;
    uint32_t budget;
    /* answers */
    phx_vec3 solved[JOINTS];
    phx_quat correction[JOINTS], turned[JOINTS], local[JOINTS];
    float stretch;
    phx_result result;
} chain;

/* The joints of a chain are too much to keep: their hash stands for them. */
typedef struct chain_answer {
    phx_vec3 tip, bend;
    uint64_t joints, turned;
    float stretch;
    phx_result result;
} chain_answer;
_Static_assert(sizeof(chain_answer) == WORKLOAD_CHAIN_ANSWER, "an answer has no padding");

static uint32_t group_joints(uint32_t g) {
    static const uint32_t joints[] = {5, 9, 3, 17, 4, 2, 5, 6, 9, 12};
    return g < 60 ? joints[g % 10] : g < 63 ? 33 : 65;
}
static uint32_t group_chains(uint32_t g) { return g < 60 ? MOST_CHAINS : LONG_CHAINS; }

static void make_chain(workload_random *r, uint32_t joints, chain *c) {
    memset(c, 0, sizeof *c);
    const float scale = random_scale(r), bend = random_under(r, 4) ? random_between(r, 0.01f, 1.5f) : 0.0f;
    const uint32_t kind = random_under(r, 2) ? 99 : random_under(r, 18);
    float whole = 0;
    phx_vec3 direction = random_unit(r), first = direction;
    c->position[0] = c->start[0] = random_place(r, scale);
    for (uint32_t j = 0; j + 1 < joints; ++j) {
        float length = random_between(r, 0.1f, 0.3f) * scale;
        if (kind == 0 && random_under(r, 2)) length = 0;
        if (kind == 1) length = 0;
        if (kind == 2 && j == joints / 2) length *= 20;
        c->length[j] = length, whole += length;
        c->position[j + 1] = along(c->position[j], direction, length);
        c->start[j + 1] = along(c->start[j], random_unit(r), length);
        const phx_vec3 next = along(direction, random_unit(r), kind == 3 ? 0 : bend);
        const float square = next.x * next.x + next.y * next.y + next.z * next.z;
        direction = kind == 3 ? (phx_vec3){-direction.x, -direction.y, -direction.z} : square > 0.01f ? next : first;
    }
    for (uint32_t j = 0; j < joints; ++j) c->rotation[j] = random_turn(r);
    const float reach = whole * random_between(r, 0.0f, 1.3f), edge = whole * (1.0f + random_between(r, -2e-6f, 2e-6f));
    c->target = along(c->position[0], random_unit(r), reach);
    c->pole = random_unit(r), c->rest_bend = random_unit(r), c->bend = random_unit(r);
    c->parent = random_turn(r), c->target_rotation = random_turn(r);
    c->weight = random_under(r, 2) ? 1.0f : random_between(r, -0.2f, 1.2f), c->budget = random_under(r, 20);
    switch (kind) {
    case 4: c->target = c->position[0]; break;
    case 5: c->target = c->position[joints - 1]; break;
    case 6: c->target = c->position[random_under(r, joints)]; break;
    case 7: c->target = along(c->position[0], first, whole * random_between(r, -1.1f, 1.1f)); break;
    case 8: c->pole = between(c->position[0], c->target), c->bend = between(c->target, c->position[0]); break;
    case 9: c->pole = c->bend = c->rest_bend = (phx_vec3){0, 0, 0}; break;
    case 10: c->weight = random_under(r, 2) ? 0.0f : random_bad(r); break;
    case 11: memset(&c->target_rotation, 0, sizeof c->target_rotation), c->budget = random_under(r, 2) ? UINT32_MAX : 0; break;
    case 12: poison(r, c->length, joints - 1); break;
    case 13: poison(r, c->position, joints * 3); break;
    case 14: poison(r, c->start, joints * 3); break;
    case 15: poison(r, random_under(r, 2) ? &c->target : &c->pole, 3); break;
    case 16: c->target = along(c->position[0], random_unit(r), edge); break;
    case 17: c->length[random_under(r, joints - 1)] = -1.0f; break;
    default: break;
    }
}

static phx_limit make_limit(workload_random *r) {
    phx_limit limit = phx_limit_none();
    limit.type = (phx_limit_type)random_under(r, 4);
    limit.rest = random_turn(r), limit.axis = random_unit(r), limit.side = random_unit(r);
    limit.min = random_between(r, -3, 1), limit.max = limit.min + random_between(r, 0, 4);
    limit.twist_min = random_between(r, -3, 1), limit.twist_max = limit.twist_min + random_between(r, 0, 4);
    limit.max_swing = random_between(r, 0, 3), limit.max_swing_across = random_between(r, 0, 3);
    return limit;
}

static phx_chain_params chain_params(workload_random *r) {
    phx_chain_params params = phx_chain_params_default();
    params.max_iterations = 1 + random_under(r, 20);
    if (random_under(r, 3) == 0) params.tolerance = random_under(r, 2) ? 0.0f : 1e-6f;
    if (random_under(r, 3) == 0) params.soft_start = random_between(r, 0.8f, 1.0f);
    if (random_under(r, 3) == 0) params.max_stretch = random_between(r, 1.0f, 1.5f);
    return params;
}

static phx_chain_job chain_job(bool aim, uint32_t options, uint32_t joints, const phx_limit *limits, const float *weights, chain *c, size_t count) {
    phx_chain_job job = phx_chain_job_default();
    job.count = count, job.joints = joints;
#define JOINT(field) phx_joint_view_of(c->field, sizeof *c, sizeof *c->field)
    job.position = JOINT(position), job.target = PHX_VIEW(c, target);
    if (options & CHAIN_START) job.start = JOINT(start);
    if (options & CHAIN_LENGTH) job.length = JOINT(length);
    if (options & CHAIN_BUDGET) job.budget = PHX_VIEW(c, budget);
    if (options & CHAIN_POLE) job.pole = PHX_VIEW(c, pole);
    if (options & CHAIN_BEND) job.bend = PHX_VIEW(c, bend);
    if (options & CHAIN_REST) job.rest_bend = PHX_VIEW(c, rest_bend);
    if (options & CHAIN_WEIGHT) job.weight = PHX_VIEW(c, weight);
    if (options & CHAIN_LOCAL) job.local = JOINT(rotation);
    else if (options & CHAIN_ROTATION) job.rotation = JOINT(rotation);
    if (options & (CHAIN_LOCAL | CHAIN_ROTATION)) {
        if (options & CHAIN_TIP) job.target_rotation = PHX_VIEW(c, target_rotation);
        if (options & CHAIN_LIMITS) job.limits = limits;
        job.correction = JOINT(correction), job.rotation_out = JOINT(turned), job.local_out = JOINT(local);
    }
    if (options & CHAIN_PARENT) job.parent_rotation = PHX_VIEW(c, parent);
    job.position_out = options & CHAIN_IN_PLACE ? job.position : JOINT(solved);
    if (!aim) job.stretch = PHX_VIEW(c, stretch);
    job.result = PHX_VIEW(c, result);
    job.joint_weights = weights;
#undef JOINT
    return job;
}

typedef enum chain_solver { FABRIK, CCD, AIM } chain_solver;

/* one group's work, by one of the solvers */
typedef struct chain_range {
    const phx_backend *backend;
    chain_solver solver;
    phx_fabrik_params fabrik_params;
    phx_ccd_params ccd_params;
    phx_aim_params aim_params;
    phx_chain_job job;
} chain_range;
static bool chain_work(void *context, size_t first, size_t count) {
    const chain_range *range = context;
    if (range->solver == CCD) return phx_ccd_solve_range(range->backend, &range->ccd_params, &range->job, first, count, NULL) == PHX_OK;
    if (range->solver == AIM) return phx_aim_solve_range(range->backend, &range->aim_params, &range->job, first, count, NULL) == PHX_OK;
    return phx_fabrik_solve_range(range->backend, &range->fabrik_params, &range->job, first, count, NULL) == PHX_OK;
}

/* rows for one field of all chains; NULL where the job does not have it */
static void *chain_rows(const phx_chain_job *job, const void *data, size_t chain_stride, size_t joint_stride, uint32_t elements, uint32_t width,
                        bool fill, void **whole) {
    *whole = NULL;
    if (data == NULL) return NULL;
    const size_t blocks = phx_chain_job_block_count(job);
    float *rows = aligned_memory(blocks * elements * width * 64, whole);
    for (size_t i = 0; fill && rows != NULL && i < job->count; ++i)
        for (uint32_t j = 0; j < elements; ++j)
            for (uint32_t k = 0; k < width; ++k)
                memcpy(rows + ((i / 16 * elements + j) * width + k) * 16 + i % 16,
                       (const char *)data + i * chain_stride + j * joint_stride + k * 4, 4);
    return rows;
}
static void take_rows(const void *rows, size_t i, uint32_t elements, uint32_t width, void *to) {
    for (uint32_t j = 0; rows != NULL && j < elements; ++j)
        for (uint32_t k = 0; k < width; ++k)
            memcpy((float *)to + j * width + k, (const float *)rows + ((i / 16 * elements + j) * width + k) * 16 + i % 16, 4);
}

static bool chain_blocks(const chain_range *range, chain *c) {
    const phx_chain_job *job = &range->job;
    const uint32_t joints = job->joints;
    void *whole[18];
    phx_chain_blocks blocks;
    memset(&blocks, 0, sizeof blocks);
    blocks.count = phx_chain_job_block_count(job), blocks.joints = joints;
    blocks.limits = job->limits, blocks.joint_weights = job->joint_weights;
#define ROWS(n, field, elements, width, fill) \
    blocks.field = chain_rows(job, job->field.data, job->field.chain_stride, job->field.joint_stride, elements, width, fill, &whole[n])
#define ROW(n, field, width, fill) blocks.field = chain_rows(job, job->field.data, job->field.stride, 0, 1, width, fill, &whole[n])
    ROWS(0, position, joints, 3, true), ROWS(1, start, joints, 3, true), ROWS(2, rotation, joints, 4, true);
    ROWS(3, correction, joints, 4, false), ROWS(4, length, joints - 1, 1, true);
    ROW(5, target, 3, true), ROW(6, target_rotation, 4, true), ROW(7, pole, 3, true), ROW(8, rest_bend, 3, true);
    ROW(9, parent_rotation, 4, true), ROW(10, weight, 1, true), ROW(11, budget, 1, true), ROW(12, bend, 3, true), ROW(13, stretch, 1, false);
#undef ROWS
#undef ROW
    blocks.solved = chain_rows(job, job->position.data, 0, 0, joints, 3, false, &whole[14]);
    blocks.residual = chain_rows(job, job->position.data, 0, 0, 1, 1, false, &whole[15]);
    blocks.iterations = chain_rows(job, job->position.data, 0, 0, 1, 1, false, &whole[16]);
    blocks.flags = chain_rows(job, job->position.data, 0, 0, 1, 1, false, &whole[17]);
    bool good = blocks.position && blocks.target && blocks.solved && blocks.residual && blocks.iterations && blocks.flags;
    if (good && range->solver == CCD) good = phx_ccd_solve_blocks(range->backend, &range->ccd_params, &blocks, NULL) == PHX_OK;
    else if (good) good = phx_fabrik_solve_blocks(range->backend, &range->fabrik_params, &blocks, 0, blocks.count, NULL) == PHX_OK;
    for (size_t i = 0; good && i < job->count; ++i) {
        take_rows(blocks.solved, i, joints, 3, job->position_out.data == job->position.data ? c[i].position : c[i].solved);
        take_rows(blocks.correction, i, joints, 4, c[i].correction);
        take_rows(blocks.bend, i, 1, 3, &c[i].bend), take_rows(blocks.stretch, i, 1, 1, &c[i].stretch);
        take_rows(blocks.residual, i, 1, 1, &c[i].result.residual), take_rows(blocks.iterations, i, 1, 1, &c[i].result.iterations);
        take_rows(blocks.flags, i, 1, 1, &c[i].result.flags);
    }
    for (int k = 0; k < 18; ++k) free(whole[k]);
    return good;
}

/* `job`: also what only jobs return */
static void chain_says(const chain *c, uint32_t joints, uint32_t options, bool job, chain_answer *answer) {
    const phx_vec3 *solved = options & CHAIN_IN_PLACE ? c->position : c->solved;
    answer->tip = solved[joints - 1], answer->bend = c->bend, answer->stretch = c->stretch, answer->result = c->result;
    answer->joints = workload_hash(WORKLOAD_HASH_START, solved, joints * sizeof *solved);
    answer->joints = workload_hash(answer->joints, c->correction, joints * sizeof *c->correction);
    if (!job) return;
    answer->turned = workload_hash(WORKLOAD_HASH_START, c->turned, joints * sizeof *c->turned);
    answer->turned = workload_hash(answer->turned, c->local, joints * sizeof *c->local);
}

static bool long_chains(chain_solver solver, const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    chain *in = malloc(MOST_CHAINS * sizeof *in), *moved = malloc(MOST_CHAINS * sizeof *moved);
    uint32_t order[MOST_CHAINS];
    bool good = in != NULL && moved != NULL;
    size_t done = 0;
    for (uint32_t g = 0; good && g < CHAIN_GROUPS; ++g) {
        workload_random r = {0xC4A1u + g};
        const uint32_t joints = group_joints(g), count = group_chains(g);
        uint32_t options = g < 4 ? CHAIN_LENGTH : (uint32_t)random_word(&r) & 0x1fff;
        chain_range range = {.backend = backend, .solver = solver};
        range.fabrik_params = phx_fabrik_params_default(), range.ccd_params = phx_ccd_params_default(), range.aim_params = phx_aim_params_default();
        range.fabrik_params.chain = range.ccd_params.chain = chain_params(&r);
        if (random_under(&r, 3) == 0) range.fabrik_params.chain.twist = PHX_TWIST_PLANE;
        if (random_under(&r, 4) == 0) range.ccd_params.mode = PHX_CCD_PLAIN, range.ccd_params.damping = random_between(&r, 0.3f, 1.0f);
        if (random_under(&r, 4) == 0) range.ccd_params.max_turn = random_between(&r, 0.1f, 1.0f);
        if (random_under(&r, 4) == 0) range.ccd_params.from = random_under(&r, joints - 1);
        range.ccd_params.restarts = random_under(&r, 4);
        if (random_under(&r, 2)) range.aim_params.eye = random_unit(&r);
        if (random_under(&r, 3) == 0) range.aim_params.max_angle = random_between(&r, 0.1f, 2.0f);
        if (solver == AIM) options = (options & (CHAIN_POLE | CHAIN_WEIGHT | CHAIN_LOCAL | CHAIN_PARENT | CHAIN_LIMITS)) | CHAIN_ROTATION;
        phx_limit limits[JOINTS];
        float weights[JOINTS]; /* aim's last joint has one, too */
        for (uint32_t j = 0; j < joints; ++j) limits[j] = make_limit(&r), weights[j] = random_between(&r, 0, 1);
        for (uint32_t i = 0; i < count; ++i) make_chain(&r, joints, in + i);
        random_order(&r, order, count);
        for (uint32_t i = 0; i < count; ++i) {
            if (arrangement != WORKLOAD_SHUFFLED) order[i] = i;
            moved[i] = in[order[i]];
        }
        range.job = chain_job(solver == AIM, options, joints, limits, g % 3 == 2 ? weights : NULL, moved, count);
        chain_answer *group = (chain_answer *)(void *)answers + done;
        done += count;
        if (arrangement == WORKLOAD_BLOCKS) {
            /* blocks have no local rotations, and aim has no blocks: the answer that is there stays */
            if (options & CHAIN_LOCAL || solver == AIM) continue;
            good = chain_blocks(&range, moved);
        } else {
            const unsigned over = arrangement == WORKLOAD_SHUFFLED ? threads : 0;
            good = workload_split(phx_chain_job_block_count(&range.job), over, chain_work, &range);
        }
        for (uint32_t i = 0; i < count; ++i) chain_says(moved + i, joints, options, arrangement != WORKLOAD_BLOCKS, group + order[i]);
    }
    free(in), free(moved);
    return good;
}

bool workload_fabrik(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    return long_chains(FABRIK, backend, arrangement, threads, answers);
}
bool workload_ccd(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    return long_chains(CCD, backend, arrangement, threads, answers);
}
bool workload_aim(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    return long_chains(AIM, backend, arrangement, threads, answers);
}

/* ---- joint limits ---- */

enum { LIMIT_GROUPS = 64, ROTATIONS = WORKLOAD_LIMITS / LIMIT_GROUPS };

typedef struct limit_answer {
    phx_quat local;
    uint32_t changed;
} limit_answer;
_Static_assert(sizeof(limit_answer) == WORKLOAD_LIMIT_ANSWER, "an answer has no padding");

typedef struct limit_range {
    const phx_backend *backend;
    const phx_limit *limit;
    const phx_quat *in;
    limit_answer *out;
} limit_range;
static bool limit_work(void *context, size_t first, size_t count) {
    const limit_range *range = context;
    const phx_quat *in = range->in + first;
    limit_answer *out = range->out + first;
    return phx_limit_apply(range->backend, range->limit, count, PHX_VIEW_ARRAY(in), PHX_VIEW(out, local), PHX_VIEW(out, changed), NULL) == PHX_OK;
}

/* One limit for many rotations. No blocks and no ranges here: each piece is a call of its own. */
bool workload_limits(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers) {
    bool good = true;
    for (uint32_t g = 0; good && g < LIMIT_GROUPS; ++g) {
        workload_random r = {0x117u + g};
        phx_limit limit = make_limit(&r);
        limit.type = (phx_limit_type)(1 + g % 3);
        phx_quat in[ROTATIONS];
        for (uint32_t i = 0; i < ROTATIONS; ++i) {
            in[i] = random_turn(&r);
            if (random_under(&r, 8) == 0) in[i].w = random_bad(&r);
            if (random_under(&r, 8) == 0) in[i].x = in[i].y = 0;
        }
        limit_answer *out = (limit_answer *)(void *)answers + (size_t)g * ROTATIONS;
        limit_range range = {backend, &limit, in, out};
        good = workload_split(ROTATIONS, arrangement == WORKLOAD_SHUFFLED ? threads : 0, limit_work, &range);
    }
    return good;
}
