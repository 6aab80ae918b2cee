/* Long chains by another library where its Debian package is there: Orocos KDL's damped least squares (Levenberg-Marquardt) over ball
 * joints of three axes, position alone. It turns from a slightly bent pose to the targets of the other chain workloads; doubles, no
 * limits. */
#include "bench.h"
#include "chains_naive.h"

#include <cmath>
#include <kdl/chain.hpp>
#include <kdl/chainiksolverpos_lma.hpp>

static void kdl(benchmark::State &state, uint32_t bones, size_t count) {
    const float tolerance = 1e-3f;
    std::vector<phx_vec3> positions(count * (bones + 1)), targets(count);
    bench_fill_chains(positions.data(), targets.data(), bones, count);
    Eigen::Matrix<double, 6, 1> weights;
    weights << 1, 1, 1, 0, 0, 0;
    std::vector<KDL::Chain> chains(count);
    std::vector<std::unique_ptr<KDL::ChainIkSolverPos_LMA>> solvers;
    std::vector<KDL::Frame> goals;
    for (size_t i = 0; i < count; ++i) {
        double whole = 0;
        const phx_vec3 *p = &positions[i * (bones + 1)];
        for (uint32_t j = 0; j < bones; ++j) {
            const double length = std::hypot(p[j + 1].x - p[j].x, p[j + 1].y - p[j].y, p[j + 1].z - p[j].z);
            chains[i].addSegment(KDL::Segment(KDL::Joint(KDL::Joint::RotX)));
            chains[i].addSegment(KDL::Segment(KDL::Joint(KDL::Joint::RotZ)));
            chains[i].addSegment(KDL::Segment(KDL::Joint(KDL::Joint::RotY), KDL::Frame(KDL::Vector(0, length, 0))));
            whole += length;
        }
        goals.emplace_back(KDL::Vector(targets[i].x - p[0].x, targets[i].y - p[0].y, targets[i].z - p[0].z));
        solvers.emplace_back(new KDL::ChainIkSolverPos_LMA(chains[i], weights, double(tolerance) * whole, 100));
    }
    KDL::JntArray start(3 * bones), answer(3 * bones);
    for (uint32_t j = 0; j < 3 * bones; ++j) start(j) = j % 3 == 2 ? 0.0 : 0.1;
    size_t reached = 0;
    measure(state, count, 4.0 * (2 * 3 * (bones + 1) + bones + 3), positions.size() * sizeof(phx_vec3), [&] {
        reached = 0;
        for (size_t i = 0; i < count; ++i) reached += solvers[i]->CartToJnt(start, goals[i], answer) == 0;
    });
    state.counters["reached"] = double(reached) / double(count);
}

void register_kdl() {
    for (const uint32_t bones : {4u, 8u})
        benchmark::RegisterBenchmark(("fabrik/kdl_lma/" + std::to_string(bones) + "/1000").c_str(),
                                     [=](benchmark::State &state) { kdl(state, bones, 1000); });
}
