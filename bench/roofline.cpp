/* See roofline.h. */
#include "roofline.h"
#include "machine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include <benchmark/benchmark.h>

static double now() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static bool has_lanes(uint32_t lanes) {
    for (uint32_t i = 0; const phx_backend *backend = phx_backend_at(i); ++i)
        if (phx_backend_lanes(backend) == lanes) return true;
    return false;
}

static const bench_speed *speed_of(uint32_t lanes) {
    static std::map<uint32_t, bench_speed> measured;
    const auto found = measured.find(lanes);
    if (found != measured.end()) return &found->second;
    if (!has_lanes(lanes)) return nullptr;
    bench_speed speed;
    if (lanes == 4) bench_speed_w4(now, &speed);
#if defined(PHX_HAVE_AVX2)
    else if (lanes == 8) bench_speed_w8(now, &speed);
#endif
#if defined(PHX_HAVE_AVX512)
    else if (lanes == 16) bench_speed_w16(now, &speed);
#endif
    else return nullptr;
    return &(measured[lanes] = speed);
}

using copy_function = void (*)(char *, const char *, size_t);
static copy_function widest_copy() {
#if defined(PHX_HAVE_AVX512)
    if (has_lanes(16)) return bench_copy_w16;
#endif
#if defined(PHX_HAVE_AVX2)
    if (has_lanes(8)) return bench_copy_w8;
#endif
    return bench_copy_w4;
}

double copy_bandwidth(size_t working_set) {
    static std::map<size_t, double> measured;
    const size_t half = std::max<size_t>(working_set / 2, 1024) / 256 * 256;
    const auto found = measured.find(half);
    if (found != measured.end()) return found->second;
    char *memory = static_cast<char *>(std::aligned_alloc(4096, (2 * half + 4095) / 4096 * 4096));
    if (!memory) return 0.0;
    std::memset(memory, 1, 2 * half);
    const copy_function copy = widest_copy();
    const size_t repeats = std::max<size_t>(1, (size_t(4) << 20) / half);
    double best = 1e30;
    for (int attempt = 0; attempt < 9; ++attempt) {
        const double start = now();
        for (size_t k = 0; k < repeats; ++k) {
            copy(memory + half, memory, half);
            benchmark::ClobberMemory();
        }
        best = std::min(best, (now() - start) / double(repeats));
    }
    std::free(memory);
    return measured[half] = 2.0 * double(half) / best;
}

bound bound_of(const bench_operations *operations, uint32_t lanes, double chains, double bytes_per_chain, size_t working_set) {
    bound tightest = {bytes_per_chain / copy_bandwidth(working_set), "copy"};
    const bench_speed *speed = operations ? speed_of(lanes) : nullptr;
    if (!speed) return tightest;
    const auto consider = [&](double nanoseconds, const char *name) {
        if (nanoseconds / chains > tightest.nanoseconds) tightest = {nanoseconds / chains, name};
    };
    const double mul = double(operations->mul), add = double(operations->add), div = double(operations->div), sqrt = double(operations->sqrt);
    consider(mul * speed->mul, "mul");
    consider(add * speed->add, "add");
    consider(div * speed->div + sqrt * speed->sqrt, "div+sqrt");
    consider((mul + add + div + sqrt + double(operations->other)) * speed->mixed, "issue");
    return tightest;
}

bool count_two_bone(const phx_backend *backend, phx_twist twist, phx_two_bone_block *blocks, size_t count, bench_operations *operations) {
    phx_two_bone_setup setup = {}; /* soft reach, stretch and limits are off */
    const phx_two_bone_params params = phx_two_bone_params_default();
    setup.twist = twist;
    setup.tolerance = params.tolerance;
    setup.direction_tolerance_squared = params.direction_tolerance * params.direction_tolerance;
    switch (phx_backend_lanes(backend)) {
    case 4: bench_count_two_bone_w4(&setup, blocks, count, operations); return true;
#if defined(PHX_HAVE_AVX2)
    case 8: bench_count_two_bone_w8(&setup, blocks, count, operations); return true;
#endif
#if defined(PHX_HAVE_AVX512)
    case 16: bench_count_two_bone_w16(&setup, blocks, count, operations); return true;
#endif
    default: return false;
    }
}

const phx_backend *counting_crowds(const phx_backend *backend, bench_operations **operations) {
    static phx_backend counting;
    counting = *backend;
    switch (phx_backend_lanes(backend)) {
    case 4: *operations = bench_count_crowd_w4(&counting); break;
#if defined(PHX_HAVE_AVX2)
    case 8: *operations = bench_count_crowd_w8(&counting); break;
#endif
#if defined(PHX_HAVE_AVX512)
    case 16: *operations = bench_count_crowd_w16(&counting); break;
#endif
    default: return nullptr;
    }
    return &counting;
}

void describe_machine(void (*line)(const std::string &name, const std::string &value)) {
    char text[160];
    size_t previous = 0;
    for (const benchmark::CPUInfo::CacheInfo &cache : benchmark::CPUInfo::Get().caches) {
        if (cache.type == "Instruction" || cache.type == "I") continue;
        const size_t size = std::max<size_t>(size_t(cache.size) / 2, previous * 2); /* half of a level is surely within it */
        std::snprintf(text, sizeof text, "%.1f GB/s (%zu KiB in all)", copy_bandwidth(size), size >> 10);
        line("copy in L" + std::to_string(cache.level), text);
        previous = size_t(cache.size);
    }
    const size_t memory = std::max<size_t>(size_t(256) << 20, previous * 4);
    std::snprintf(text, sizeof text, "%.1f GB/s (%zu MiB in all)", copy_bandwidth(memory), memory >> 20);
    line("copy in memory", text);
    for (const uint32_t lanes : {4u, 8u, 16u})
        if (const bench_speed *speed = speed_of(lanes)) {
            std::snprintf(text, sizeof text, "mul %.3f, add %.3f, div %.3f, sqrt %.3f, mixed %.3f ns", speed->mul, speed->add, speed->div,
                          speed->sqrt, speed->mixed);
            line("an operation of " + std::to_string(lanes) + " lanes", text);
        }
}
