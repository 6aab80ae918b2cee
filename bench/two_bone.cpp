/* Two-bone workloads: blocks, jobs over strided structures, and the baselines that they are measured against. */
#include "bench.h"
#include "pieces.h"
#include "two_bone_baselines.h"

#include <cmath>
#include <atomic>
#include <cstdio>
#include <thread>
#include <utility>

static const std::vector<int64_t> sizes = {16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304};
static const std::vector<int64_t> some_sizes = {16, 1024, 16384, 1048576};

/* read: six vectors; written: two rotations, bend, residual, flags */
static const double block_bytes = 4.0 * (6 * 3 + 2 * 4 + 3 + 2);
/* a job writes the iterations too */
static const double job_bytes = block_bytes + 4.0;
/* read: five vectors; written: two rotations */
static const double baseline_bytes = 4.0 * (5 * 3 + 2 * 4);

/* The loops of autovec and of the scalar baselines return shortest swings, so two_bone takes PHX_TWIST_INHERIT to do the same work;
 * two_bone_plane is the library's default, PHX_TWIST_PLANE. */
static void blocks(benchmark::State &state, const phx_backend *backend, size_t legs, phx_twist twist) {
    const size_t count = (legs + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES;
    std::vector<bench_leg> source(legs);
    bench_fill_legs(source.data(), legs);
    page_array<phx_two_bone_block> array(count);
    bench_fill_blocks(array.data(), source.data(), legs);
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = twist;
    const size_t again = phx_backend_lanes(backend) > 1 ? size_t(double(count) * bench_slowdown) : 0; /* the yardstick stays */

    const size_t sample = std::min<size_t>(count, 256);
    bench_operations operations;
    page_array<phx_two_bone_block> sampled(sample);
    std::copy(array.data(), array.data() + sample, sampled.data());
    const bool counted = count_two_bone(backend, twist, sampled.data(), sample, &operations);
    if (counted)
        for (uint64_t *n : {&operations.mul, &operations.add, &operations.div, &operations.sqrt, &operations.other}) *n = *n * count / sample;

    measure(
        state, legs, block_bytes, array.bytes(),
        [&] {
            phx_two_bone_solve_blocks(backend, &params, array.data(), nullptr, count, nullptr);
            if (again) phx_two_bone_solve_blocks(backend, &params, array.data(), nullptr, again, nullptr);
        },
        counted ? &operations : nullptr, phx_backend_lanes(backend));
}

static phx_two_bone_job job_over(bench_leg *legs, size_t count) {
    phx_two_bone_job job = phx_two_bone_job_default();
    job.params.twist = PHX_TWIST_INHERIT;
    job.count = count;
    job.root = PHX_VIEW(legs, hip), job.mid = PHX_VIEW(legs, knee), job.tip = PHX_VIEW(legs, ankle);
    job.target = PHX_VIEW(legs, target), job.pole = PHX_VIEW(legs, knee_forward);
    job.bend = PHX_VIEW(legs, bend);
    job.root_rotation = PHX_VIEW(legs, hip_correction), job.mid_rotation = PHX_VIEW(legs, knee_correction);
    job.result = PHX_VIEW(legs, result);
    return job;
}

static void job(benchmark::State &state, const phx_backend *backend, size_t legs) {
    page_array<bench_leg> array(legs);
    bench_fill_legs(array.data(), legs);
    const phx_two_bone_job job = job_over(array.data(), legs);
    measure(state, legs, job_bytes, array.bytes(), [&] { phx_two_bone_solve(backend, &job); });
}

/* Blocks split over threads, which start together and each go over theirs several times. ns_per_chain is a core's time, so that with
 * perfect scaling it is what one thread needs. */
static void threads(benchmark::State &state, const phx_backend *backend, size_t legs, uint32_t count) {
    const size_t blocks = legs / PHX_BLOCK_LANES, passes = std::max<size_t>(1, (size_t(1) << 20) / legs);
    std::vector<bench_leg> source(legs);
    bench_fill_legs(source.data(), legs);
    page_array<phx_two_bone_block> array(blocks);
    bench_fill_blocks(array.data(), source.data(), legs);
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = PHX_TWIST_INHERIT;
    std::vector<double> times(count * 16); /* one line a thread */
    for (auto _ : state) {
        std::atomic<uint32_t> ready{0};
        const auto work = [&](uint32_t t) {
            const size_t first = blocks * t / count, last = blocks * (t + 1) / count;
            ++ready;
            while (ready < count) std::this_thread::yield();
            const double start = thread_nanoseconds();
            for (size_t pass = 0; pass < passes; ++pass)
                phx_two_bone_solve_blocks(backend, &params, array.data() + first, nullptr, last - first, nullptr);
            times[t * 16] += thread_nanoseconds() - start;
        };
        std::vector<std::thread> workers;
        for (uint32_t t = 1; t < count; ++t) workers.emplace_back(work, t);
        work(0); /* here: the harness counts this thread's time only */
        for (std::thread &worker : workers) worker.join();
    }
    double spent = 0;
    for (uint32_t t = 0; t < count; ++t) spent += times[t * 16];
    const double each = spent / (double(state.iterations()) * double(passes) * double(legs));
    state.counters["ns_per_chain"] = each;
    state.counters["million_legs_a_second"] = count * 1e3 / each;
    state.counters["bytes_per_chain"] = block_bytes;
}

static const bench_pieces *pieces_of(const phx_backend *backend) {
    switch (phx_backend_lanes(backend)) {
    case 4: return &bench_pieces_w4;
#if defined(PHX_HAVE_AVX2)
    case 8: return &bench_pieces_w8;
#endif
#if defined(PHX_HAVE_AVX512)
    case 16: return &bench_pieces_w16;
#endif
    default: return nullptr;
    }
}

/* what a job does besides solving: six vectors into rows; two rotations, a vector and a result out of them */
static void moves(benchmark::State &state, const bench_pieces *pieces, size_t legs, bool in) {
    page_array<bench_leg> array(legs);
    bench_fill_legs(array.data(), legs);
    page_array<phx_two_bone_block> rows((legs + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES);
    bench_fill_blocks(rows.data(), array.data(), legs);
    const phx_two_bone_job job = job_over(array.data(), legs);
    if (in) measure(state, legs, 4.0 * 2 * 18, array.bytes() + rows.bytes(), [&] { pieces->pack(&job, rows.data()); });
    else measure(state, legs, 4.0 * (13 + 14), array.bytes() + rows.bytes(), [&] { pieces->unpack(&job, rows.data()); });
}

static void variant(benchmark::State &state, void (*solve)(const phx_two_bone_setup *, phx_two_bone_block *, size_t), size_t legs) {
    std::vector<bench_leg> source(legs);
    bench_fill_legs(source.data(), legs);
    page_array<phx_two_bone_block> array((legs + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES);
    bench_fill_blocks(array.data(), source.data(), legs);
    const phx_two_bone_params params = phx_two_bone_params_default();
    phx_two_bone_setup setup = {}; /* soft reach, stretch and limits are off */
    setup.twist = PHX_TWIST_INHERIT;
    setup.tolerance = params.tolerance;
    setup.direction_tolerance_squared = params.direction_tolerance * params.direction_tolerance;
    measure(state, legs, block_bytes, array.bytes(), [&] { solve(&setup, array.data(), array.size()); });
}

/* a page and a line between the arrays: at equal distances they would share cache sets */
static size_t array_stride(size_t legs) { return (legs + 1023) / 1024 * 1024 + 1040; }

static bench_leg_arrays arrays_of(const std::vector<bench_leg> &source, page_array<float> &memory) {
    const size_t legs = source.size(), stride = array_stride(legs);
    bench_leg_arrays arrays;
    float *next = memory.data();
    for (float **field : {arrays.root, arrays.mid, arrays.tip, arrays.target, arrays.pole})
        for (int k = 0; k < 3; ++k, next += stride) field[k] = next;
    for (float **field : {arrays.root_rotation, arrays.mid_rotation})
        for (int k = 0; k < 4; ++k, next += stride) field[k] = next;
    for (size_t i = 0; i < legs; ++i) {
        const phx_vec3 values[] = {source[i].hip, source[i].knee, source[i].ankle, source[i].target, source[i].knee_forward};
        float **fields[] = {arrays.root, arrays.mid, arrays.tip, arrays.target, arrays.pole};
        for (int f = 0; f < 5; ++f) fields[f][0][i] = values[f].x, fields[f][1][i] = values[f].y, fields[f][2][i] = values[f].z;
    }
    return arrays;
}

static void autovec(benchmark::State &state, size_t legs) {
    std::vector<bench_leg> source(legs);
    bench_fill_legs(source.data(), legs);
    page_array<float> memory(array_stride(legs) * 23);
    const bench_leg_arrays arrays = arrays_of(source, memory);
    measure(state, legs, baseline_bytes, legs * size_t(baseline_bytes), [&] { bench_two_bone_autovec(&arrays, legs); });
}

static void scalar(benchmark::State &state, size_t legs, void (*solve)(bench_leg *, size_t)) {
    page_array<bench_leg> array(legs);
    bench_fill_legs(array.data(), legs);
    measure(state, legs, baseline_bytes, array.bytes(), [&] { solve(array.data(), legs); });
}

static phx_vec3 turned(phx_quat q, phx_vec3 from, phx_vec3 to) {
    const double v[3] = {double(to.x) - from.x, double(to.y) - from.y, double(to.z) - from.z};
    const double t[3] = {2 * (q.y * v[2] - q.z * v[1]), 2 * (q.z * v[0] - q.x * v[2]), 2 * (q.x * v[1] - q.y * v[0])};
    return {float(v[0] + q.w * t[0] + q.y * t[2] - q.z * t[1]), float(v[1] + q.w * t[1] + q.z * t[0] - q.x * t[2]),
            float(v[2] + q.w * t[2] + q.x * t[1] - q.y * t[0])};
}
static float apart(phx_vec3 a, phx_vec3 b) { return std::max({std::fabs(a.x - b.x), std::fabs(a.y - b.y), std::fabs(a.z - b.z)}); }

bool check_two_bone() {
    const size_t count = 4096;
    std::vector<bench_leg> ours(count), plain, trigonometry, arrays_legs;
    bench_fill_legs(ours.data(), count);
    plain = trigonometry = arrays_legs = ours;
    const phx_two_bone_job solved = job_over(ours.data(), count);
    if (phx_two_bone_solve(phx_backend_best(), &solved) != PHX_OK) return false;
    bench_two_bone_scalar(plain.data(), count);
    bench_two_bone_scalar_trigonometry(trigonometry.data(), count);
    page_array<float> memory(array_stride(count) * 23);
    const bench_leg_arrays arrays = arrays_of(arrays_legs, memory);
    bench_two_bone_autovec(&arrays, count);
    for (size_t i = 0; i < count; ++i) {
        float *const *root = arrays.root_rotation, *const *mid = arrays.mid_rotation;
        arrays_legs[i].hip_correction = {root[0][i], root[1][i], root[2][i], root[3][i]};
        arrays_legs[i].knee_correction = {mid[0][i], mid[1][i], mid[2][i], mid[3][i]};
    }
    bool agree = true;
    const std::pair<const char *, const std::vector<bench_leg> *> baselines[] = {
        {"autovec", &arrays_legs}, {"scalar", &plain}, {"scalar_trigonometry", &trigonometry}};
    for (const auto &[name, legs] : baselines) {
        float worst = 0.0f;
        for (size_t i = 0; i < count; ++i) {
            const bench_leg &a = ours[i], &b = (*legs)[i];
            worst = std::max(worst, apart(turned(a.hip_correction, a.hip, a.knee), turned(b.hip_correction, b.hip, b.knee)));
            worst = std::max(worst, apart(turned(a.knee_correction, a.knee, a.ankle), turned(b.knee_correction, b.knee, b.ankle)));
        }
        /* out of reach the cosine is 1 less some 1e-6, so its sine differs by up to a thousandth between float programs */
        std::printf("two_bone/%s: bones within %.2g m of the library's\n", name, double(worst));
        agree = agree && worst < 2e-3f;
    }
    return agree;
}

void register_two_bone() {
    for (const int64_t legs : sizes) {
        register_on_backends("two_bone", {legs}, [](benchmark::State &state, const phx_backend *backend, size_t n) {
            blocks(state, backend, n, PHX_TWIST_INHERIT);
        });
        register_plain("two_bone/autovec", {legs}, autovec);
    }
    register_on_backends("two_bone_plane", some_sizes, [](benchmark::State &state, const phx_backend *backend, size_t n) {
        blocks(state, backend, n, PHX_TWIST_PLANE);
    });
    register_on_backends("two_bone_job", sizes, job);
    for (const int64_t legs : some_sizes)
        for (uint32_t i = 0; const phx_backend *backend = phx_backend_at(i); ++i) {
            const bench_pieces *pieces = pieces_of(backend);
            if (!pieces) continue;
            const auto add = [&](const char *name, auto body) {
                const std::string full = std::string(name) + "/" + phx_backend_name(backend) + "/" + std::to_string(legs);
                benchmark::RegisterBenchmark(full.c_str(), body);
            };
            add("pack", [=](benchmark::State &state) { moves(state, pieces, size_t(legs), true); });
            add("unpack", [=](benchmark::State &state) { moves(state, pieces, size_t(legs), false); });
            add("two_bone_single", [=](benchmark::State &state) { variant(state, pieces->single, size_t(legs)); });
            if (pieces->stream) add("two_bone_stream", [=](benchmark::State &state) { variant(state, pieces->stream, size_t(legs)); });
        }
    for (const int64_t legs : {65536, 1048576})
        for (uint32_t i = 0; const phx_backend *backend = phx_backend_at(i); ++i)
            for (uint32_t count = 1; count <= std::max(2u, std::thread::hardware_concurrency()); count *= 2)
                benchmark::RegisterBenchmark(
                    ("two_bone_threads/" + std::string(phx_backend_name(backend)) + "/" + std::to_string(legs) + "/" + std::to_string(count))
                        .c_str(),
                    [=](benchmark::State &state) { threads(state, backend, size_t(legs), count); });
    register_plain("two_bone/scalar", some_sizes, [](benchmark::State &state, size_t n) { scalar(state, n, bench_two_bone_scalar); });
    register_plain("two_bone/scalar_trigonometry", some_sizes, [](benchmark::State &state, size_t n) {
        scalar(state, n, bench_two_bone_scalar_trigonometry);
    });
}
