/* phalanx_bench: Google Benchmark over every workload and every backend that this machine can run. Besides the library's own flags
 * (--benchmark_filter=REGEX, --benchmark_format=json, ...): --slowdown=PERCENT solves that share of each batch of blocks twice,
 * --no_machine leaves the machine's speeds and the bounds of crowds out, --small_pages puts the crowd's poses on ordinary pages, --check
 * only asks whether the baselines solve what we solve. */
#include "bench.h"

#include <cstring>

double bench_slowdown = 0.0;
bool bench_machine = true;
bool bench_huge_pages = true;

int main(int argc, char **argv) {
    char short_runs[] = "--benchmark_min_time=0.1"; /* first, so that one given by the caller replaces it */
    std::vector<char *> arguments = {argv[0], short_runs};
    bool header = true;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--slowdown=", 11) == 0) bench_slowdown = std::atof(argv[i] + 11) / 100.0;
        else if (std::strcmp(argv[i], "--no_machine") == 0) bench_machine = header = false;
        else if (std::strcmp(argv[i], "--small_pages") == 0) bench_huge_pages = false;
        else if (std::strcmp(argv[i], "--check") == 0) return check_two_bone() ? 0 : 1;
        else arguments.push_back(argv[i]);
        if (std::strncmp(argv[i], "--benchmark_list_tests", 22) == 0) header = false;
    }
    int count = int(arguments.size());
    arguments.push_back(nullptr);
    register_two_bone();
    register_crowd();
    register_chains();
#if defined(PHALANX_BENCH_KDL)
    register_kdl();
#endif
    register_aim();
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    benchmark::AddCustomContext("phalanx", PHX_VERSION);
    benchmark::AddCustomContext("compiler", PHALANX_BENCH_COMPILER);
    benchmark::AddCustomContext("flags", PHALANX_BENCH_FLAGS);
    if (header)
        describe_machine([](const std::string &name, const std::string &value) { benchmark::AddCustomContext(name, value); });
    const size_t ran = benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return ran ? 0 : 1;
}
