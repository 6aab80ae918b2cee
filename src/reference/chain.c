/* One chain at a time from jobs and blocks to scalar C and back: the twin of kernel/chain.inl. */
#include "chain.h"

static phx_vec3 row3(const phx_rows3 *rows, uint32_t lane) { return vec3(rows->x[lane], rows->y[lane], rows->z[lane]); }
static phx_quat row4(const phx_rows4 *rows, uint32_t lane) { return quat(rows->x[lane], rows->y[lane], rows->z[lane], rows->w[lane]); }
static void set_row3(phx_rows3 *rows, uint32_t lane, phx_vec3 a) { rows->x[lane] = a.x, rows->y[lane] = a.y, rows->z[lane] = a.z; }
static void set_row4(phx_rows4 *rows, uint32_t lane, phx_quat a) {
    rows->x[lane] = a.x, rows->y[lane] = a.y, rows->z[lane] = a.z, rows->w[lane] = a.w;
}

/* all that is absent */
static void clear(phx_reference_chain *chain, uint32_t joints) {
    chain->joints = joints;
    chain->has_start = chain->has_rotation = chain->has_length = chain->has_pole = chain->has_bend = chain->has_weight = 0;
    chain->has_target_rotation = chain->wants_rotation = 0;
    chain->pole = chain->rest_bend = chain->bend = vec3(0.0f, 0.0f, 0.0f);
    chain->target_rotation = quat(0.0f, 0.0f, 0.0f, 0.0f);
    chain->parent_rotation = quat_identity();
    chain->weight = 1.0f;
    chain->budget = UINT32_MAX;
    chain->stretch = 1.0f;
}

void phx_reference_chain_blocks(const void *setup, const phx_chain_blocks *blocks, size_t first, size_t count, phx_reference_chain_solver *solve) {
    const uint32_t joints = blocks->joints;
    phx_reference_chain chain;
    for (size_t b = first; b < first + count; ++b) {
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            clear(&chain, joints);
            for (uint32_t j = 0; j < joints; ++j) {
                const size_t row = b * joints + j;
                chain.position[j] = row3(blocks->position + row, lane);
                if (blocks->start) chain.start[j] = row3(blocks->start + row, lane);
                if (blocks->rotation) chain.rotation[j] = row4(blocks->rotation + row, lane);
                if (blocks->length && j + 1 < joints) chain.length[j] = blocks->length[b * (joints - 1) + j].v[lane];
            }
            chain.has_start = blocks->start != NULL, chain.has_rotation = blocks->rotation != NULL, chain.has_length = blocks->length != NULL;
            chain.has_pole = blocks->pole != NULL, chain.has_bend = blocks->bend != NULL, chain.has_weight = blocks->weight != NULL;
            chain.has_target_rotation = blocks->target_rotation != NULL, chain.wants_rotation = blocks->correction != NULL;
            chain.target = row3(blocks->target + b, lane);
            if (blocks->target_rotation) chain.target_rotation = row4(blocks->target_rotation + b, lane);
            if (blocks->pole) chain.pole = row3(blocks->pole + b, lane);
            if (blocks->rest_bend) chain.rest_bend = row3(blocks->rest_bend + b, lane);
            if (blocks->parent_rotation) chain.parent_rotation = row4(blocks->parent_rotation + b, lane);
            if (blocks->weight) chain.weight = blocks->weight[b].v[lane];
            if (blocks->budget) chain.budget = blocks->budget[b].v[lane];
            if (blocks->bend) chain.bend = row3(blocks->bend + b, lane);

            solve(setup, &chain);

            for (uint32_t j = 0; j < joints; ++j) {
                set_row3((blocks->solved ? blocks->solved : blocks->position) + b * joints + j, lane, chain.position[j]);
                if (blocks->correction) set_row4(blocks->correction + b * joints + j, lane, chain.correction[j]);
            }
            if (blocks->bend) set_row3(blocks->bend + b, lane, chain.bend);
            if (blocks->stretch) blocks->stretch[b].v[lane] = chain.stretch;
            if (blocks->residual) blocks->residual[b].v[lane] = chain.residual;
            if (blocks->iterations) blocks->iterations[b].v[lane] = chain.iterations;
            if (blocks->flags) blocks->flags[b].v[lane] = chain.flags;
        }
    }
}

static const char *element(phx_view view, size_t i) { return (const char *)view.data + i * view.stride; }
static void read_in(phx_view view, size_t i, void *value, size_t size) {
    if (view.data) memcpy(value, element(view, i), size);
}
static void write_out(phx_view view, size_t i, const void *value, size_t size) {
    if (view.data) memcpy((char *)view.data + i * view.stride, value, size);
}
static void read_joint(phx_joint_view view, size_t i, uint32_t j, void *value, size_t size) {
    if (view.data) memcpy(value, (const char *)view.data + i * view.chain_stride + j * view.joint_stride, size);
}
static void write_joint(phx_joint_view view, size_t i, uint32_t j, const void *value, size_t size) {
    if (view.data) memcpy((char *)view.data + i * view.chain_stride + j * view.joint_stride, value, size);
}

static int still(phx_quat correction) { return correction.x == 0.0f && correction.y == 0.0f && correction.z == 0.0f && correction.w == 1.0f; }

/* zero, which is no rotation, where it is not finite, so that its bits are the same everywhere */
static phx_quat world_of(phx_quat above, phx_quat local) {
    const phx_quat world = mul4(above, local);
    return dot4(world, world) < 1e30f ? world : quat(0.0f, 0.0f, 0.0f, 0.0f);
}

/* identity where one of the two is no rotation */
static phx_quat local_of(phx_quat above, phx_quat world) {
    const phx_quat local = normalize4(mul4(conjugate4(above), world));
    return 0.25f < dot4(local, local) ? local : quat_identity();
}

void phx_reference_chain_job(const void *setup, const phx_chain_job *job, size_t first, size_t count, phx_reference_chain_solver *solve) {
    const uint32_t joints = job->joints;
    phx_reference_chain chain;
    phx_quat local[PHX_CHAIN_MAX_JOINTS];
    for (size_t i = first; i < first + count; ++i) {
        clear(&chain, joints);
        read_in(job->parent_rotation, i, &chain.parent_rotation, 16);
        phx_quat world = chain.parent_rotation;
        for (uint32_t j = 0; j < joints; ++j) {
            read_joint(job->position, i, j, &chain.position[j], 12);
            read_joint(job->start, i, j, &chain.start[j], 12);
            read_joint(job->rotation, i, j, &chain.rotation[j], 16);
            if (j + 1 < joints) read_joint(job->length, i, j, &chain.length[j], 4);
            if (job->local.data) {
                read_joint(job->local, i, j, &local[j], 16);
                chain.rotation[j] = world = world_of(world, local[j]);
            }
        }
        chain.has_start = job->start.data != NULL, chain.has_rotation = job->rotation.data || job->local.data;
        chain.has_length = job->length.data != NULL, chain.has_pole = job->pole.data != NULL, chain.has_bend = job->bend.data != NULL;
        chain.has_weight = job->weight.data != NULL, chain.has_target_rotation = job->target_rotation.data != NULL;
        chain.wants_rotation = job->correction.data || job->rotation_out.data || job->local_out.data;
        read_in(job->target, i, &chain.target, 12);
        read_in(job->target_rotation, i, &chain.target_rotation, 16);
        read_in(job->pole, i, &chain.pole, 12);
        read_in(job->rest_bend, i, &chain.rest_bend, 12);
        read_in(job->weight, i, &chain.weight, 4);
        read_in(job->budget, i, &chain.budget, 4);
        read_in(job->bend, i, &chain.bend, 12);

        solve(setup, &chain);

        phx_quat above = chain.parent_rotation, above_before = above;
        int above_still = 1;
        for (uint32_t j = 0; j < joints; ++j) {
            write_joint(job->position_out, i, j, &chain.position[j], 12);
            write_joint(job->correction, i, j, &chain.correction[j], 16);
            if (!chain.wants_rotation || !chain.has_rotation) continue;
            const int own_still = still(chain.correction[j]);
            const phx_quat before = chain.rotation[j], now = own_still ? before : normalize4(mul4(chain.correction[j], before));
            write_joint(job->rotation_out, i, j, &now, 16);
            if (job->local_out.data) {
                phx_quat own = local_of(above, now);
                if (own_still && above_still) own = job->local.data ? local[j] : local_of(above_before, before);
                write_joint(job->local_out, i, j, &own, 16);
            }
            above = now, above_before = before, above_still = own_still;
        }
        const phx_result result = {chain.residual, chain.iterations, chain.flags};
        write_out(job->bend, i, &chain.bend, 12);
        write_out(job->stretch, i, &chain.stretch, 4);
        write_out(job->result, i, &result, sizeof result);
    }
}
