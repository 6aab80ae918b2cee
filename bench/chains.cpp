/* Long chains: FABRIK and CCD over blocks, free and with a cone on every joint, every solve from the same animated pose (nothing warm),
 * beside the loops that users write. */
#include "bench.h"
#include "chains_naive.h"

#include <cmath>
#include <cstring>

static const float tolerance = 1e-3f;
static const uint32_t max_rounds = 16;

struct chains {
    chains(uint32_t bones, size_t count, bool limited = false)
        : bones(bones), count(count), positions(count * (bones + 1)), rotations(limited ? positions.size() : 0), lengths(count * bones),
          targets(count) {
        if (limited) bench_fill_limited_chains(positions.data(), rotations.data(), targets.data(), bones, count);
        else bench_fill_chains(positions.data(), targets.data(), bones, count);
        for (size_t i = 0; i < count; ++i)
            for (uint32_t j = 0; j < bones; ++j) {
                const phx_vec3 a = positions[i * (bones + 1) + j], b = positions[i * (bones + 1) + j + 1];
                lengths[i * bones + j] = std::sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y) + (b.z - a.z) * (b.z - a.z));
            }
    }
    uint32_t bones;
    size_t count;
    std::vector<phx_vec3> positions;
    std::vector<phx_quat> rotations; /* of chains with limits */
    std::vector<float> lengths;
    std::vector<phx_vec3> targets;
};

/* the same as blocks, answers apart from the inputs so that each solve starts alike */
struct chain_rows {
    explicit chain_rows(const chains &source)
        : blocks((source.count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES), joints(source.bones + 1), position(blocks * joints),
          solved(blocks * joints), rotation(blocks * joints), limits(joints), length(blocks * source.bones), target(blocks),
          residual(blocks), iterations(blocks), flags(blocks) {
        const bool limited = !source.rotations.empty();
        std::memset(position.data(), 0, position.bytes());
        std::memset(length.data(), 0, length.bytes());
        std::memset(rotation.data(), 0, rotation.bytes());
        std::memset(target.data(), 0, target.bytes());
        for (size_t i = 0; i < source.count; ++i) {
            const size_t block = i / PHX_BLOCK_LANES, lane = i % PHX_BLOCK_LANES;
            const auto put = [lane](phx_rows3 &rows, phx_vec3 v) { rows.x[lane] = v.x, rows.y[lane] = v.y, rows.z[lane] = v.z; };
            for (uint32_t j = 0; j < joints; ++j) put(position[block * joints + j], source.positions[i * joints + j]);
            for (uint32_t j = 0; limited && j < joints; ++j) {
                const phx_quat q = source.rotations[i * joints + j];
                phx_rows4 &row = rotation[block * joints + j];
                row.x[lane] = q.x, row.y[lane] = q.y, row.z[lane] = q.z, row.w[lane] = q.w;
            }
            for (uint32_t j = 0; j < source.bones; ++j) length[block * source.bones + j].v[lane] = source.lengths[i * source.bones + j];
            put(target[block], source.targets[i]);
        }
        view = {};
        view.count = blocks, view.joints = joints;
        view.position = position.data(), view.solved = solved.data(), view.length = length.data(), view.target = target.data();
        for (uint32_t j = 0; j < joints; ++j) limits[j] = j < source.bones ? phx_limit_cone({0, 0, 1}, 0.785398f) : phx_limit_none();
        if (limited) view.rotation = rotation.data(), view.limits = limits.data();
        view.residual = residual.data(), view.iterations = iterations.data(), view.flags = flags.data();
    }
    size_t bytes() const {
        return position.bytes() + solved.bytes() + (view.limits ? rotation.bytes() : 0) + length.bytes() + target.bytes() +
               residual.bytes() + iterations.bytes() + flags.bytes();
    }
    /* share of chains that arrived, and the mean of their rounds */
    void describe(benchmark::State &state, size_t count) const {
        size_t reached = 0;
        double rounds = 0;
        for (size_t i = 0; i < count; ++i) {
            reached += flags[i / PHX_BLOCK_LANES].v[i % PHX_BLOCK_LANES] & PHX_FLAG_REACHED;
            rounds += iterations[i / PHX_BLOCK_LANES].v[i % PHX_BLOCK_LANES];
        }
        state.counters["reached"] = double(reached) / double(count);
        state.counters["rounds"] = rounds / double(count);
    }
    size_t blocks;
    uint32_t joints;
    page_array<phx_rows3> position, solved;
    page_array<phx_rows4> rotation;
    std::vector<phx_limit> limits;
    page_array<phx_rows1> length;
    page_array<phx_rows3> target;
    page_array<phx_rows1> residual;
    page_array<phx_rows1u> iterations, flags;
    phx_chain_blocks view;
};

/* read: joints, lengths, target, with limits rotations; written: joints, residual, rounds, flags */
static double bytes_of(const chain_rows &rows) {
    const uint32_t joints = rows.joints;
    return 4.0 * (2 * 3 * joints + joints - 1 + 3 + 3 + (rows.view.limits ? 4 * joints : 0));
}

template <bool limited> static void fabrik(benchmark::State &state, const phx_backend *backend, uint32_t bones, size_t count) {
    const chains source(bones, count, limited);
    chain_rows rows(source);
    phx_fabrik_stats stats = {0, 0};
    phx_fabrik_params params = phx_fabrik_params_default();
    params.chain.tolerance = tolerance, params.chain.max_iterations = max_rounds;
    params.stats = &stats;
    measure(state, count, bytes_of(rows), rows.bytes(),
            [&] { phx_fabrik_solve_blocks(backend, &params, &rows.view, 0, rows.blocks, nullptr); });
    rows.describe(state, count);
    state.counters["busy_lanes"] = stats.total ? double(stats.busy) / double(stats.total) : 0.0;
}

/* the same answer and the rotations that lead to it; animated rotations are the identity, which costs like any other */
static void fabrik_rotations(benchmark::State &state, const phx_backend *backend, uint32_t bones, size_t count) {
    const chains source(bones, count);
    chain_rows rows(source);
    page_array<phx_rows4> rotation(rows.blocks * rows.joints), correction(rows.blocks * rows.joints);
    std::memset(rotation.data(), 0, rotation.bytes());
    for (size_t i = 0; i < rotation.size(); ++i) std::fill_n(rotation[i].w, PHX_BLOCK_LANES, 1.0f);
    rows.view.rotation = rotation.data(), rows.view.correction = correction.data();
    phx_fabrik_stats stats = {0, 0};
    phx_fabrik_params params = phx_fabrik_params_default();
    params.chain.tolerance = tolerance, params.chain.max_iterations = max_rounds;
    params.stats = &stats;
    measure(state, count, bytes_of(rows) + 4.0 * 2 * 4 * (bones + 1), rows.bytes() + rotation.bytes() + correction.bytes(),
            [&] { phx_fabrik_solve_blocks(backend, &params, &rows.view, 0, rows.blocks, nullptr); });
    rows.describe(state, count);
    state.counters["busy_lanes"] = stats.total ? double(stats.busy) / double(stats.total) : 0.0;
}

template <bool limited> static void ccd(benchmark::State &state, const phx_backend *backend, uint32_t bones, size_t count) {
    const chains source(bones, count, limited);
    chain_rows rows(source);
    phx_ccd_params params = phx_ccd_params_default();
    params.chain.tolerance = tolerance, params.chain.max_iterations = max_rounds;
    measure(state, count, bytes_of(rows), rows.bytes(), [&] { phx_ccd_solve_blocks(backend, &params, &rows.view, nullptr); });
    rows.describe(state, count);
}

using naive_solver = uint64_t(phx_vec3 *, const float *, const phx_vec3 *, uint32_t, size_t, float, uint32_t, size_t *);

static void naive(benchmark::State &state, naive_solver *solve, uint32_t bones, size_t count) {
    const chains source(bones, count);
    std::vector<phx_vec3> positions(source.positions);
    size_t reached = 0;
    uint64_t rounds = 0;
    measure(state, count, 4.0 * (2 * 3 * (bones + 1) + bones + 3), 2 * positions.size() * sizeof(phx_vec3) + source.lengths.size() * 4, [&] {
        std::memcpy(positions.data(), source.positions.data(), positions.size() * sizeof(phx_vec3));
        rounds = solve(positions.data(), source.lengths.data(), source.targets.data(), bones, count, tolerance, max_rounds, &reached);
    });
    state.counters["reached"] = double(reached) / double(count);
    state.counters["rounds"] = double(rounds) / double(count);
}

void register_chains() {
    using solver = void (*)(benchmark::State &, const phx_backend *, uint32_t, size_t);
    const struct {
        const char *name;
        solver solve;
        naive_solver *plain;
    } solvers[] = {{"fabrik", fabrik<false>, bench_naive_fabrik}, {"fabrik_rotations", fabrik_rotations, nullptr},
                   {"fabrik_limits", fabrik<true>, nullptr},      {"ccd", ccd<false>, bench_naive_ccd},
                   {"ccd_limits", ccd<true>, nullptr}};
    for (const auto &entry : solvers)
        for (const uint32_t bones : {3u, 4u, 8u, 16u, 32u})
            for (const size_t count : {size_t(16), size_t(1000), size_t(10000)}) {
                const std::string size = "/" + std::to_string(bones) + "/" + std::to_string(count);
                for (uint32_t i = 0; const phx_backend *backend = phx_backend_at(i); ++i)
                    benchmark::RegisterBenchmark((std::string(entry.name) + "/" + phx_backend_name(backend) + size).c_str(),
                                                 [=](benchmark::State &state) { entry.solve(state, backend, bones, count); });
                if (!entry.plain) continue;
                benchmark::RegisterBenchmark((std::string(entry.name) + "/naive" + size).c_str(),
                                             [=](benchmark::State &state) { naive(state, entry.plain, bones, count); });
            }
}
