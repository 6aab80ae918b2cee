/* Long chains for tests: random and hostile ones, one packed record a chain, as jobs and as blocks. Included by the tests of
 * FABRIK and CCD. */
#ifndef PHALANX_TEST_CHAINS_H
#define PHALANX_TEST_CHAINS_H

#include "support.h"

/* which optional fields a job has */
enum {
    CHAIN_START = 1, CHAIN_LENGTH = 2, CHAIN_BUDGET = 4, CHAIN_POLE = 8, CHAIN_BEND = 16, CHAIN_REST_BEND = 32, CHAIN_WEIGHT = 64,
    CHAIN_ROTATION = 128, CHAIN_LOCALS = 256, CHAIN_PARENT = 512, CHAIN_TIP = 1024, CHAIN_CORRECTION = 2048, CHAIN_LIMITS = 4096,
    CHAIN_IN_PLACE = 8192, CHAIN_SOFT = 16384, CHAIN_STRETCH = 32768, CHAIN_PLANE = 65536, CHAIN_SHARED = 1 << 17, CHAIN_TIGHT = 1 << 18
};

static inline uint32_t random_options(random_state *r) {
    uint32_t options = (uint32_t)random_bits(r) & (uint32_t)random_bits(r) & ((1u << 19) - 1);
    if (random_below(r, 4) == 0) options &= CHAIN_START | CHAIN_LENGTH | CHAIN_BUDGET | CHAIN_REST_BEND | CHAIN_TIGHT; /* positions alone */
    if (options & (CHAIN_TIP | CHAIN_LIMITS) && !(options & CHAIN_LOCALS)) options |= CHAIN_ROTATION;
    if (options & CHAIN_LOCALS) options &= ~(uint32_t)CHAIN_ROTATION;
    return options;
}

/* One record a chain, of an odd size, so that elements fall on every alignment; the fields lie one after the other. */
typedef struct chain_data {
    size_t count, size;
    uint32_t joints;
    char *records; /* with one record of guard on either side */
} chain_data;

typedef struct chain_offsets {
    size_t position, start, rotation, local, correction, rotation_out, local_out, position_out, length;
    size_t target, target_rotation, pole, rest_bend, parent, weight, budget, bend, stretch, result, end;
} chain_offsets;

static inline chain_offsets offsets_of(uint32_t joints) {
    const size_t j = joints;
    chain_offsets o;
    size_t at = 1;
#define FIELD(name, bytes) o.name = at, at += (bytes)
    FIELD(position, 12 * j), FIELD(start, 12 * j), FIELD(rotation, 16 * j), FIELD(local, 16 * j), FIELD(correction, 16 * j);
    FIELD(rotation_out, 16 * j), FIELD(local_out, 16 * j), FIELD(position_out, 12 * j), FIELD(length, 4 * (j - 1));
    FIELD(target, 12), FIELD(target_rotation, 16), FIELD(pole, 12), FIELD(rest_bend, 12), FIELD(parent, 16), FIELD(weight, 4), FIELD(budget, 4);
    FIELD(bend, 12), FIELD(stretch, 4), FIELD(result, sizeof(phx_result));
#undef FIELD
    o.end = at | 1;
    return o;
}

static inline chain_data chain_data_make(size_t count, uint32_t joints) {
    chain_data data = {count, offsets_of(joints).end, joints, NULL};
    data.records = malloc((count + 2) * data.size);
    memset(data.records, 0xA5, (count + 2) * data.size);
    return data;
}
static inline void chain_data_free(chain_data *data) { free(data->records); }
static inline char *chain_data_at(const chain_data *data, size_t i) { return data->records + (i + 1) * data->size; }
static inline void chain_data_copy(chain_data *to, const chain_data *from) { memcpy(to->records, from->records, (from->count + 2) * from->size); }
static inline int chain_data_equal(const chain_data *a, const chain_data *b) {
    const long at = first_difference(a->records, b->records, (a->count + 2) * a->size);
    if (at < 0) return 1;
    const long chain = at / (long)a->size - 1, byte = at % (long)a->size;
    const chain_offsets o = offsets_of(a->joints);
    const struct { const char *name; size_t at; } names[] = {
        {"position", o.position}, {"start", o.start}, {"rotation", o.rotation}, {"local", o.local}, {"correction", o.correction},
        {"rotation_out", o.rotation_out}, {"local_out", o.local_out}, {"position_out", o.position_out}, {"length", o.length}, {"target", o.target},
        {"target_rotation", o.target_rotation}, {"pole", o.pole}, {"rest_bend", o.rest_bend}, {"parent", o.parent}, {"weight", o.weight},
        {"budget", o.budget}, {"bend", o.bend}, {"stretch", o.stretch}, {"result", o.result}};
    const char *name = "guard";
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        if (names[k].at <= (size_t)byte) name = names[k].name;
    phx_result ra, rb;
    memcpy(&ra, chain_data_at(a, (size_t)(chain < 0 ? 0 : chain)) + o.result, sizeof ra), memcpy(&rb, chain_data_at(b, (size_t)(chain < 0 ? 0 : chain)) + o.result, sizeof rb);
    print_error("chain %ld differs at byte %ld, in '%s'; results: %g %u 0x%x and %g %u 0x%x\n", chain, byte, name, (double)ra.residual, ra.iterations, ra.flags,
                (double)rb.residual, rb.iterations, rb.flags);
    const size_t word = ((size_t)byte - 1) / 4 * 4 + 1;
    float x[2];
    memcpy(&x[0], chain_data_at(a, (size_t)(chain < 0 ? 0 : chain)) + word, 4), memcpy(&x[1], chain_data_at(b, (size_t)(chain < 0 ? 0 : chain)) + word, 4);
    print_error("  expected %.9g, got %.9g\n", (double)x[0], (double)x[1]);
    return 0;
}

static inline phx_vec3 step_along(phx_vec3 a, phx_vec3 d, float s) { return (phx_vec3){a.x + d.x * s, a.y + d.y * s, a.z + d.z * s}; }
static inline phx_quat quat_product(phx_quat a, phx_quat b) {
    return (phx_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
                      a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

/* one chain, then in one of three cases something in it made degenerate or hostile */
static inline void random_chain(random_state *r, uint32_t joints, char *record) {
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e30f, 1e-40f, 0.0f, 1e-20f, 1e20f};
    const chain_offsets o = offsets_of(joints);
    phx_vec3 position[PHX_CHAIN_MAX_JOINTS], start[PHX_CHAIN_MAX_JOINTS];
    phx_quat rotation[PHX_CHAIN_MAX_JOINTS], local[PHX_CHAIN_MAX_JOINTS];
    float length[PHX_CHAIN_MAX_BONES];
    const float scale = powf(10.0f, random_float(r, -3, 3)), bend = random_below(r, 4) ? random_float(r, 0.01f, 1.5f) : 0.0f;
    const int hostile = random_below(r, 3) == 0;
    const uint32_t kind = hostile ? random_below(r, 16) : 99;
    phx_vec3 root = {random_float(r, -9, 9) * scale, random_float(r, -1, 1) * scale, random_float(r, -9, 9) * scale};
    phx_vec3 direction = random_direction(r);
    const phx_vec3 first = direction;
    float whole = 0;
    position[0] = start[0] = root;
    for (uint32_t j = 0; j + 1 < joints; ++j) {
        length[j] = random_float(r, 0.1f, 0.3f) * scale;
        if (kind == 0 && random_below(r, 2)) length[j] = 0;
        if (kind == 1) length[j] = 0;
        if (kind == 2 && j == joints / 2) length[j] *= 20;
        whole += length[j];
        position[j + 1] = step_along(position[j], direction, length[j]);
        const phx_vec3 other = random_direction(r);
        phx_vec3 next = step_along(direction, other, bend);
        if (kind == 3) next = (phx_vec3){-direction.x, -direction.y, -direction.z};
        const float l = sqrtf(next.x * next.x + next.y * next.y + next.z * next.z);
        direction = (phx_vec3){next.x / l, next.y / l, next.z / l};
        start[j + 1] = step_along(start[j], random_direction(r), length[j]);
    }
    for (uint32_t j = 0; j < joints; ++j) rotation[j] = random_rotation(r), local[j] = random_rotation(r);
    phx_vec3 target = step_along(root, random_direction(r), whole * random_float(r, 0.0f, 1.3f));
    phx_vec3 pole = random_direction(r), rest_bend = random_direction(r), previous = random_direction(r);
    phx_quat parent = random_rotation(r), target_rotation = random_rotation(r);
    float weight = random_below(r, 2) ? 1.0f : random_float(r, -0.2f, 1.2f);
    uint32_t budget = random_below(r, 20);
    const phx_vec3 chord = {target.x - root.x, target.y - root.y, target.z - root.z};
    switch (kind) {
    case 4: target = root; break;
    case 5: target = position[joints - 1]; break;
    case 6: target = position[random_below(r, joints)]; break;
    case 7: target = step_along(root, first, whole * random_float(r, -1.1f, 1.1f)); break;
    case 8: pole = chord, previous = (phx_vec3){-chord.x, -chord.y, -chord.z}; break;
    case 9: pole = previous = rest_bend = (phx_vec3){0, 0, 0}; break;
    case 10: weight = random_below(r, 2) ? 0.0f : bad[random_below(r, 9)]; break;
    case 11: memset(&target_rotation, 0, sizeof target_rotation), budget = random_below(r, 2) ? UINT32_MAX : 0; break;
    case 12: length[random_below(r, joints - 1)] = random_below(r, 2) ? -1.0f : bad[random_below(r, 9)]; break;
    case 13: ((float *)&position[random_below(r, joints)])[random_below(r, 3)] = bad[random_below(r, 9)]; break;
    case 14: ((float *)&start[random_below(r, joints)])[random_below(r, 3)] = bad[random_below(r, 9)]; break;
    case 15: ((float *)(random_below(r, 2) ? &target : &pole))[random_below(r, 3)] = bad[random_below(r, 9)]; break;
    default: break;
    }
    memcpy(record + o.position, position, 12 * joints), memcpy(record + o.start, start, 12 * joints);
    memcpy(record + o.rotation, rotation, 16 * joints), memcpy(record + o.local, local, 16 * joints);
    memcpy(record + o.length, length, 4 * (joints - 1));
    memcpy(record + o.target, &target, 12), memcpy(record + o.target_rotation, &target_rotation, 16);
    memcpy(record + o.pole, &pole, 12), memcpy(record + o.rest_bend, &rest_bend, 12), memcpy(record + o.parent, &parent, 16);
    memcpy(record + o.weight, &weight, 4), memcpy(record + o.budget, &budget, 4), memcpy(record + o.bend, &previous, 12);
}

static inline void chain_data_fill(random_state *r, chain_data *data) {
    for (size_t i = 0; i < data->count; ++i) random_chain(r, data->joints, chain_data_at(data, i));
}

static inline phx_chain_job chain_data_job(const chain_data *data, uint32_t options, const phx_limit *limits) {
    const chain_offsets o = offsets_of(data->joints);
    phx_chain_job job = phx_chain_job_default();
    job.count = data->count, job.joints = data->joints;
    if (data->count == 0) return job;
    char *first = chain_data_at(data, 0);
#define JOINTS(name, bytes) phx_joint_view_of(first + o.name, data->size, bytes)
#define CHAINS(name) phx_view_of(first + o.name, data->size)
    job.position = JOINTS(position, 12), job.target = CHAINS(target), job.position_out = JOINTS(position_out, 12), job.result = CHAINS(result);
    if (options & CHAIN_START) job.start = JOINTS(start, 12);
    if (options & CHAIN_LENGTH) job.length = JOINTS(length, 4);
    if (options & CHAIN_BUDGET) job.budget = CHAINS(budget);
    if (options & CHAIN_POLE) job.pole = CHAINS(pole);
    if (options & CHAIN_BEND) job.bend = CHAINS(bend);
    if (options & CHAIN_REST_BEND) job.rest_bend = CHAINS(rest_bend);
    if (options & CHAIN_WEIGHT) job.weight = CHAINS(weight);
    if (options & CHAIN_ROTATION) job.rotation = JOINTS(rotation, 16);
    if (options & CHAIN_LOCALS) job.local = JOINTS(local, 16);
    if (options & CHAIN_PARENT) job.parent_rotation = CHAINS(parent);
    if (options & CHAIN_TIP) job.target_rotation = CHAINS(target_rotation);
    if (options & CHAIN_CORRECTION) {
        job.correction = JOINTS(correction, 16);
        if (options & (CHAIN_ROTATION | CHAIN_LOCALS)) job.rotation_out = JOINTS(rotation_out, 16), job.local_out = JOINTS(local_out, 16);
    }
    if (options & CHAIN_LIMITS) job.limits = limits;
    if (options & CHAIN_STRETCH) job.stretch = CHAINS(stretch);
    if (options & CHAIN_SHARED) { /* one value for all chains */
        job.pole.stride = job.length.chain_stride = 0;
        if (job.target.data) job.target.stride = 0;
    }
    if (options & CHAIN_IN_PLACE) {
        job.position_out = job.position;
        if (options & CHAIN_CORRECTION && options & CHAIN_LOCALS) job.local_out = job.local;
        if (options & CHAIN_CORRECTION && options & CHAIN_ROTATION) job.rotation_out = job.rotation;
    }
#undef JOINTS
#undef CHAINS
    return job;
}

/* the chains from i on */
static inline void chain_job_skip(phx_chain_job *job, size_t i) {
    phx_joint_view *joint_views[] = {&job->position, &job->start, &job->rotation, &job->local, &job->length, &job->position_out, &job->correction,
                                     &job->rotation_out, &job->local_out};
    phx_view *views[] = {&job->target, &job->target_rotation, &job->pole, &job->rest_bend, &job->parent_rotation, &job->weight, &job->budget,
                         &job->bend, &job->stretch, &job->result};
    for (size_t k = 0; k < sizeof joint_views / sizeof *joint_views; ++k)
        if (joint_views[k]->data) joint_views[k]->data = (char *)joint_views[k]->data + i * joint_views[k]->chain_stride;
    for (size_t k = 0; k < sizeof views / sizeof *views; ++k)
        if (views[k]->data) views[k]->data = (char *)views[k]->data + i * views[k]->stride;
}

static inline void random_limits(random_state *r, uint32_t joints, phx_limit *limits) {
    for (uint32_t j = 0; j < joints; ++j) {
        phx_limit limit = phx_limit_none();
        limit.type = (phx_limit_type)random_below(r, 4);
        limit.rest = random_rotation(r);
        limit.axis = random_direction(r), limit.side = random_direction(r);
        limit.min = random_float(r, -3, 1), limit.max = limit.min + random_float(r, 0, 4);
        limit.twist_min = random_float(r, -3, 1), limit.twist_max = limit.twist_min + random_float(r, 0, 5);
        limit.max_swing = random_float(r, 0, 3), limit.max_swing_across = random_float(r, 0, 3);
        limits[j] = limit;
    }
}

static inline phx_chain_params random_chain_params(random_state *r, uint32_t options) {
    phx_chain_params params = phx_chain_params_default();
    params.max_iterations = 1 + random_below(r, 20);
    params.tolerance = options & CHAIN_TIGHT ? (random_below(r, 2) ? 0.0f : 1e-6f) : 1e-3f;
    if (random_below(r, 3) == 0) params.tolerance = random_float(r, 0.0f, random_below(r, 2) ? 0.2f : 1.0f);
    if (options & CHAIN_SOFT) params.soft_start = random_float(r, 0.8f, 1.0f);
    if (options & CHAIN_STRETCH) params.max_stretch = random_float(r, 1.0f, 1.5f);
    if (options & CHAIN_PLANE) params.twist = PHX_TWIST_PLANE;
    return params;
}
static inline phx_fabrik_params random_fabrik_params(random_state *r, uint32_t options) {
    phx_fabrik_params params = phx_fabrik_params_default();
    params.chain = random_chain_params(r, options);
    return params;
}

/* ---- the same chains as blocks ---- */

typedef struct chain_rows {
    phx_chain_blocks blocks;
    void *memory[20];
    int used;
} chain_rows;

static inline void *rows_take(chain_rows *rows, size_t count) {
    void *memory = aligned_alloc(64, (count ? count : 1) * 64);
    memset(memory, 0, (count ? count : 1) * 64);
    return rows->memory[rows->used++] = memory;
}

/* fills `width` rows for each of `per_chain` elements of every chain */
static inline void *rows_fill(chain_rows *rows, const chain_data *data, int wanted, size_t offset, size_t per_chain, size_t width) {
    if (!wanted) return NULL;
    float *memory = rows_take(rows, data->count / 16 * per_chain * width);
    for (size_t i = 0; i < data->count; ++i)
        for (size_t j = 0; j < per_chain; ++j)
            for (size_t k = 0; k < width; ++k)
                memcpy(&memory[((i / 16 * per_chain + j) * width + k) * 16 + i % 16], chain_data_at(data, i) + offset + (j * width + k) * 4, 4);
    return memory;
}

static inline chain_rows chain_rows_make(const chain_data *data, uint32_t options, const phx_limit *limits, int separate) {
    const chain_offsets o = offsets_of(data->joints);
    const size_t j = data->joints, n = data->count / 16;
    chain_rows rows;
    memset(&rows, 0, sizeof rows);
    phx_chain_blocks *b = &rows.blocks;
    b->count = n, b->joints = data->joints;
    b->position = rows_fill(&rows, data, 1, o.position, j, 3);
    if (separate) b->solved = rows_take(&rows, n * j * 3);
    b->target = rows_fill(&rows, data, 1, o.target, 1, 3);
    b->start = rows_fill(&rows, data, options & CHAIN_START, o.start, j, 3);
    b->length = rows_fill(&rows, data, options & CHAIN_LENGTH, o.length, j - 1, 1);
    b->budget = rows_fill(&rows, data, options & CHAIN_BUDGET, o.budget, 1, 1);
    b->pole = rows_fill(&rows, data, options & CHAIN_POLE, o.pole, 1, 3);
    b->bend = rows_fill(&rows, data, options & CHAIN_BEND, o.bend, 1, 3);
    b->rest_bend = rows_fill(&rows, data, options & CHAIN_REST_BEND, o.rest_bend, 1, 3);
    b->weight = rows_fill(&rows, data, options & CHAIN_WEIGHT, o.weight, 1, 1);
    b->rotation = rows_fill(&rows, data, options & CHAIN_ROTATION, o.rotation, j, 4);
    b->parent_rotation = rows_fill(&rows, data, options & CHAIN_PARENT, o.parent, 1, 4);
    b->target_rotation = rows_fill(&rows, data, options & CHAIN_TIP, o.target_rotation, 1, 4);
    if (options & CHAIN_CORRECTION) b->correction = rows_take(&rows, n * j * 4);
    if (options & CHAIN_STRETCH) b->stretch = rows_take(&rows, n);
    b->residual = rows_take(&rows, n), b->iterations = rows_take(&rows, n), b->flags = rows_take(&rows, n);
    if (options & CHAIN_LIMITS) b->limits = limits;
    return rows;
}
static inline void chain_rows_free(chain_rows *rows) {
    for (int k = 0; k < rows->used; ++k) free(rows->memory[k]);
}

static inline int rows_equal(const void *rows, const chain_data *data, size_t offset, size_t per_chain, size_t width, const char *name) {
    if (!rows) return 1;
    for (size_t i = 0; i < data->count; ++i)
        for (size_t j = 0; j < per_chain; ++j)
            for (size_t k = 0; k < width; ++k) {
                const float *at = (const float *)rows + ((i / 16 * per_chain + j) * width + k) * 16 + i % 16;
                if (memcmp(at, chain_data_at(data, i) + offset + (j * width + k) * 4, 4) == 0) continue;
                print_error("chain %zu: row of '%s', element %zu, differs\n", i, name, j);
                return 0;
            }
    return 1;
}

/* do the blocks hold what the job wrote into `data`? */
static inline int chain_rows_match(const chain_rows *rows, const chain_data *data, const phx_chain_job *job) {
    const chain_offsets o = offsets_of(data->joints);
    const phx_chain_blocks *b = &rows->blocks;
    const size_t j = data->joints;
    (void)job;
    return rows_equal(b->solved ? b->solved : b->position, data, o.position_out, j, 3, "position") && rows_equal(b->correction, data, o.correction, j, 4, "correction") &&
           rows_equal(b->bend, data, o.bend, 1, 3, "bend") && rows_equal(b->stretch, data, o.stretch, 1, 1, "stretch") &&
           rows_equal(b->residual, data, o.result, 1, 1, "residual") && rows_equal(b->iterations, data, o.result + 4, 1, 1, "iterations") &&
           rows_equal(b->flags, data, o.result + 8, 1, 1, "flags");
}

#endif
