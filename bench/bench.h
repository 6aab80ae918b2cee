/* What the workloads share: registration, memory, the counters that each result carries. One file a workload calls this; main.cpp calls
 * the register functions. */
#ifndef PHALANX_BENCH_BENCH_H
#define PHALANX_BENCH_BENCH_H

#include "phalanx/phalanx.h"
#include "roofline.h"
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

void register_two_bone();
void register_chains();
void register_crowd();
void register_aim();
#if defined(PHALANX_BENCH_KDL)
void register_kdl();
#endif

/* Do the baselines do the same work: true where their bones end where the library's do. Prints how far apart they are. */
bool check_two_bone();

/* Share of each batch of blocks that backends other than the reference solve a second time, from --slowdown=PERCENT: how the tests prove
 * that a slower build is noticed. */
extern double bench_slowdown;

/* Are the machine's speeds measured, and bounds of crowds from them? --no_machine says no. */
extern bool bench_machine;

/* May arrays that ask for huge pages have them? --small_pages says no. */
extern bool bench_huge_pages;

/* An array that starts a page, uninitialised. */
template <typename T> class page_array {
  public:
    explicit page_array(size_t count, bool huge = false) : count_(count) {
        const size_t page = huge && bench_huge_pages ? size_t(1) << 21 : 4096, size = (count * sizeof(T) + page - 1) / page * page;
        data_ = static_cast<T *>(std::aligned_alloc(page, size));
        if (!data_) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
        if (page > 4096) madvise(static_cast<void *>(data_), size, MADV_HUGEPAGE);
#endif
    }
    ~page_array() { std::free(data_); }
    page_array(const page_array &) = delete;
    page_array &operator=(const page_array &) = delete;
    T *data() { return data_; }
    size_t size() const { return count_; }
    size_t bytes() const { return count_ * sizeof(T); }
    T &operator[](size_t i) { return data_[i]; }
    const T &operator[](size_t i) const { return data_[i]; }

  private:
    T *data_;
    size_t count_;
};

/* A benchmark for each usable backend: name/<backend>/<argument>. */
template <typename Body> void register_on_backends(const std::string &name, const std::vector<int64_t> &arguments, Body body) {
    for (const int64_t argument : arguments) /* size by size, so that what is compared runs one after the other */
        for (uint32_t i = 0; const phx_backend *backend = phx_backend_at(i); ++i)
            benchmark::RegisterBenchmark((name + "/" + phx_backend_name(backend) + "/" + std::to_string(argument)).c_str(),
                                         [=](benchmark::State &state) { body(state, backend, size_t(argument)); });
}
template <typename Body> void register_plain(const std::string &name, const std::vector<int64_t> &arguments, Body body) {
    for (const int64_t argument : arguments)
        benchmark::RegisterBenchmark((name + "/" + std::to_string(argument)).c_str(),
                                     [=](benchmark::State &state) { body(state, size_t(argument)); });
}

/* Nanoseconds that this thread has run: other programs on the same core do not count. */
inline double thread_nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

/* Times the loop of a benchmark and sets its counters: ns_per_chain, bytes_per_chain, copy_share (of the measured bandwidth of a plain copy
 * with the same working set), bound_ns and bound_share (bound over time), with the bound's name as label. */
template <typename Solve>
void measure(benchmark::State &state, size_t chains, double bytes_per_chain, size_t working_set, Solve solve,
             const bench_operations *operations = nullptr, uint32_t lanes = 0, const char *unit = "ns_per_chain") {
    const bound limit = bound_of(operations, lanes, double(chains), bytes_per_chain, working_set);
    solve(); /* pages in, caches filled */
    const double start = thread_nanoseconds();
    for (auto _ : state) {
        solve();
        benchmark::ClobberMemory();
    }
    const double each = (thread_nanoseconds() - start) / (double(state.iterations()) * double(chains));
    state.counters[unit] = each;
    state.counters["chains_solved"] = double(chains) * (double(state.iterations()) + 1.0); /* what `tools/perf counts` divides by */
    state.counters["bytes_per_chain"] = bytes_per_chain;
    state.counters["copy_share"] = bytes_per_chain / each / copy_bandwidth(working_set);
    state.counters["bound_ns"] = limit.nanoseconds;
    state.counters["bound_share"] = limit.nanoseconds / each;
    state.SetLabel("bound: " + limit.name);
}

#endif
