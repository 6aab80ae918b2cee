/* What FABRIK and CCD share over lanes: jobs packed into blocks of rows and back. Included by kernel/table.inl before them.
 * The scalar twin is reference/chain.c. */

/* Solves the first `chains` chains of the blocks; the rest of the last block's lanes is fill that nobody reads. */
typedef void chain_solver(const void *setup, const phx_chain_blocks *blocks, size_t chains);

enum {
    CHAIN_VECTORS = PHX_BLOCK_LANES / LANES, /* of one block */
    /* rows of 64 bytes: what one block of the longest chains with every field needs, 19 a joint and 32 besides */
    CHAIN_ARENA_ROWS = 19 * PHX_CHAIN_MAX_JOINTS + 32,
    CHAIN_WINDOW = 16 /* blocks of a job that are solved together, where they fit the arena */
};

/* The blocks [first, first + count) of a longer array. */
static inline phx_chain_blocks chain_blocks_at(const phx_chain_blocks *blocks, size_t first, size_t count) {
    phx_chain_blocks part = *blocks;
    const size_t joints = first * blocks->joints, bones = first * (blocks->joints - 1);
    part.count = count;
#define ADVANCE(field, by) if (part.field) part.field += by
    ADVANCE(position, joints);
    ADVANCE(solved, joints);
    ADVANCE(start, joints);
    ADVANCE(rotation, joints);
    ADVANCE(correction, joints);
    ADVANCE(length, bones);
    ADVANCE(target, first);
    ADVANCE(target_rotation, first);
    ADVANCE(pole, first);
    ADVANCE(rest_bend, first);
    ADVANCE(parent_rotation, first);
    ADVANCE(weight, first);
    ADVANCE(budget, first);
    ADVANCE(bend, first);
    ADVANCE(stretch, first);
    ADVANCE(residual, first);
    ADVANCE(iterations, first);
    ADVANCE(flags, first);
#undef ADVANCE
    return part;
}

/* to 21 significant bits, so that lengths measured from rounded joints come out the same frame after frame */
static inline lf settled_length(lf a) { return i_as_f(i_and(i_add(i_bits_of(a), i_splat(4)), i_splat(-8))); }

/* the j-th joint of all chains as a view of its own */
static inline phx_view joint_of(phx_joint_view view, uint32_t joint) {
    return phx_view_of((const char *)view.data + joint * view.joint_stride, view.chain_stride);
}

/* World rotation of a joint; zero, which is no rotation, where it is not finite, so that its bits are the same everywhere. */
static inline lq4 world_of(lq4 above, lq4 local) {
    const lq4 world = q4_mul(above, local);
    const lf zero = f_splat(0.0f);
    return q4_select(f_lt(q4_dot(world, world), f_splat(1e30f)), world, (lq4){zero, zero, zero, zero});
}

/* Local rotation of a joint; identity where one of the two is no rotation. */
static inline lq4 local_of(lq4 above, lq4 world) {
    const lq4 local = q4_normalize(q4_mul(q4_conjugate(above), world));
    return q4_select(f_lt(f_splat(0.25f), q4_dot(local, local)), local, q4_identity());
}

/* Rows handed out one after the other. */
typedef struct chain_arena {
    PHX_ALIGN_64 float rows[CHAIN_ARENA_ROWS * PHX_BLOCK_LANES];
} chain_arena;

static inline void *arena_take(chain_arena *arena, size_t *used, int wanted, size_t rows) {
    if (!wanted) return NULL;
    void *at = arena->rows + *used * PHX_BLOCK_LANES;
    *used += rows;
    return at;
}

/* Chains [first, first + count) of a job, in windows of blocks: packed, solved, unpacked. */
static void chain_job_run(const void *setup, const phx_chain_job *job, size_t first, size_t count, chain_solver *solve) {
    const uint32_t joints = job->joints;
    const int rotated = job->rotation.data || job->local.data;
    const int turned = job->correction.data || job->rotation_out.data || job->local_out.data;
    const size_t joint_rows = 3u + (job->start.data ? 3u : 0u) + (rotated ? 4u : 0u) + (job->local.data ? 4u : 0u) + (turned ? 4u : 0u) +
                              (job->length.data ? 1u : 0u);
    size_t window = CHAIN_ARENA_ROWS / (joint_rows * joints + 32);
    if (window > CHAIN_WINDOW) window = CHAIN_WINDOW;
    chain_arena arena;
    for (size_t begin = first; begin < first + count; begin += window * PHX_BLOCK_LANES) {
        const size_t rest = first + count - begin;
        const size_t chains = rest < window * PHX_BLOCK_LANES ? rest : window * PHX_BLOCK_LANES;
        const size_t n = (chains + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES;
        size_t used = 0;
        phx_rows3 *start = arena_take(&arena, &used, job->start.data != NULL, 3 * n * joints);
        phx_rows4 *rotation = arena_take(&arena, &used, rotated, 4 * n * joints);
        phx_rows4 *local = arena_take(&arena, &used, job->local.data != NULL, 4 * n * joints);
        phx_rows1 *length = arena_take(&arena, &used, job->length.data != NULL, n * (joints - 1));
        phx_rows3 *target = arena_take(&arena, &used, 1, 3 * n);
        phx_rows4 *target_rotation = arena_take(&arena, &used, job->target_rotation.data != NULL, 4 * n);
        phx_rows3 *pole = arena_take(&arena, &used, job->pole.data != NULL, 3 * n);
        phx_rows3 *rest_bend = arena_take(&arena, &used, job->rest_bend.data != NULL, 3 * n);
        phx_rows4 *parent = arena_take(&arena, &used, job->parent_rotation.data != NULL, 4 * n);
        phx_rows1 *weight = arena_take(&arena, &used, job->weight.data != NULL, n);
        phx_rows1u *budget = arena_take(&arena, &used, job->budget.data != NULL, n);
        phx_chain_blocks blocks;
        blocks.count = n, blocks.joints = joints, blocks.limits = job->limits, blocks.joint_weights = job->joint_weights;
        blocks.position = arena_take(&arena, &used, 1, 3 * n * joints);
        blocks.solved = NULL, blocks.start = start, blocks.rotation = rotation, blocks.length = length, blocks.target = target;
        blocks.correction = arena_take(&arena, &used, turned, 4 * n * joints);
        blocks.target_rotation = target_rotation, blocks.pole = pole, blocks.rest_bend = rest_bend, blocks.parent_rotation = parent;
        blocks.weight = weight, blocks.budget = budget;
        blocks.bend = arena_take(&arena, &used, job->bend.data != NULL, 3 * n);
        blocks.stretch = arena_take(&arena, &used, job->stretch.data != NULL, n);
        blocks.residual = arena_take(&arena, &used, job->result.data != NULL, n);
        blocks.iterations = arena_take(&arena, &used, job->result.data != NULL, n);
        blocks.flags = arena_take(&arena, &used, job->result.data != NULL, n);

        for (size_t k = 0; k < chains; k += LANES) {
            const size_t block = k / PHX_BLOCK_LANES, i = begin + k, left = chains - k;
            const uint32_t lane = (uint32_t)(k % PHX_BLOCK_LANES);
            lq4 world = q4_identity();
            if (parent) world = pack4(job->parent_rotation, i, left), q4_store(parent + block, lane, world);
            for (uint32_t j = 0; j < joints; ++j) {
                const size_t row = block * joints + j;
                v3_store(blocks.position + row, lane, pack3(joint_of(job->position, j), i, left));
                if (start) v3_store(start + row, lane, pack3(joint_of(job->start, j), i, left));
                if (local) {
                    const lq4 own = pack4(joint_of(job->local, j), i, left);
                    world = world_of(world, own);
                    q4_store(local + row, lane, own);
                    q4_store(rotation + row, lane, world);
                } else if (rotation) {
                    q4_store(rotation + row, lane, pack4(joint_of(job->rotation, j), i, left));
                }
                if (length && j + 1 < joints) f_store(length[block * (joints - 1) + j].v + lane, pack1(joint_of(job->length, j), i, left));
            }
            v3_store(target + block, lane, pack3(job->target, i, left));
            if (target_rotation) q4_store(target_rotation + block, lane, pack4(job->target_rotation, i, left));
            if (pole) v3_store(pole + block, lane, pack3(job->pole, i, left));
            if (rest_bend) v3_store(rest_bend + block, lane, pack3(job->rest_bend, i, left));
            if (weight) f_store(weight[block].v + lane, pack1(job->weight, i, left));
            if (budget) i_store(budget[block].v + lane, i_bits_of(pack1(job->budget, i, left)));
            if (blocks.bend) v3_store(blocks.bend + block, lane, pack3(job->bend, i, left));
        }

        solve(setup, &blocks, chains);

        for (size_t k = 0; k < chains; k += LANES) {
            const size_t block = k / PHX_BLOCK_LANES, i = begin + k, left = chains - k;
            const uint32_t lane = (uint32_t)(k % PHX_BLOCK_LANES);
            lq4 above = parent ? q4_load(parent + block, lane) : q4_identity(); /* new world rotation of the parent */
            lq4 above_before = above;
            lm above_still = m_from_bits(0xFFFF);
            for (uint32_t j = 0; j < joints; ++j) {
                const size_t row = block * joints + j;
                if (job->position_out.data) unpack3(joint_of(job->position_out, j), i, left, v3_load(blocks.position + row, lane));
                if (!turned) continue;
                const lq4 correction = q4_load(blocks.correction + row, lane);
                if (job->correction.data) unpack4(joint_of(job->correction, j), i, left, correction);
                if (!rotated) continue;
                /* what did not turn keeps its bits */
                const lf zero = f_splat(0.0f);
                const lm still = m_and(m_and(f_eq(correction.x, zero), f_eq(correction.y, zero)), m_and(f_eq(correction.z, zero), f_eq(correction.w, f_splat(1.0f))));
                const lq4 before = q4_load(rotation + row, lane), now = q4_select(still, before, q4_normalize(q4_mul(correction, before)));
                if (job->rotation_out.data) unpack4(joint_of(job->rotation_out, j), i, left, now);
                if (job->local_out.data) {
                    const lq4 kept = local ? q4_load(local + row, lane) : local_of(above_before, before);
                    const lq4 fresh = local_of(above, now);
                    unpack4(joint_of(job->local_out, j), i, left, q4_select(m_and(still, above_still), kept, fresh));
                }
                above = now, above_before = before, above_still = still;
            }
            if (blocks.bend) unpack3(job->bend, i, left, v3_load(blocks.bend + block, lane));
            if (blocks.stretch) unpack1(job->stretch, i, left, f_load(blocks.stretch[block].v + lane));
            if (blocks.residual)
                unpack_result(job->result, i, left, f_load(blocks.residual[block].v + lane), i_load(blocks.iterations[block].v + lane),
                              i_load(blocks.flags[block].v + lane));
        }
    }
}
