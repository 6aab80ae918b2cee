/* Aim: chest, neck and head share the turn toward a target, jobs over the user's own structures. */
#include "bench.h"

#include <cmath>
#include <random>

namespace {

const uint32_t joints = 3;

struct looker {
    phx_vec3 position[joints];
    phx_quat rotation[joints];
    phx_vec3 target;
    phx_quat correction[joints];
    phx_result result;
};

/* read: joints' positions and rotations, target; written: corrections, result */
const double bytes = 4.0 * (joints * 7 + 3 + joints * 4 + 3);

void aim(benchmark::State &state, const phx_backend *backend, size_t count) {
    page_array<looker> lookers(count);
    std::mt19937 random(1);
    const auto uniform = [&](float low, float high) { return low + (high - low) * float(random() >> 8) * 0x1p-24f; };
    for (size_t i = 0; i < count; ++i) {
        looker &one = lookers[i] = {};
        const float yaw = uniform(0, 6.2831853f), to = yaw + uniform(-1.4f, 1.4f), away = uniform(0.5f, 20.0f);
        for (uint32_t j = 0; j < joints; ++j) {
            one.position[j] = {uniform(0, 100), 1.3f + 0.15f * float(j), uniform(0, 100)};
            if (j) one.position[j].x = one.position[0].x, one.position[j].z = one.position[0].z;
            one.rotation[j] = {0, std::sin(yaw / 2), 0, std::cos(yaw / 2)};
        }
        one.target = {one.position[0].x + away * std::sin(to), uniform(0, 3), one.position[0].z + away * std::cos(to)};
    }
    const float share[joints] = {0.3f, 0.5f, 1.0f};
    phx_chain_job job = phx_chain_job_default();
    job.count = count, job.joints = joints, job.joint_weights = share;
    job.position = phx_joint_view_of(lookers[0].position, sizeof(looker), sizeof(phx_vec3));
    job.rotation = phx_joint_view_of(lookers[0].rotation, sizeof(looker), sizeof(phx_quat));
    job.correction = phx_joint_view_of(lookers[0].correction, sizeof(looker), sizeof(phx_quat));
    job.target = PHX_VIEW(lookers.data(), target), job.result = PHX_VIEW(lookers.data(), result);
    const phx_aim_params params = phx_aim_params_default();
    phx_report report;
    if (phx_aim_validate(&params, &job, &report) != PHX_OK) return state.SkipWithError(report.text);
    measure(state, count, bytes, lookers.bytes(), [&] { phx_aim_solve(backend, &params, &job, nullptr); });
    size_t reached = 0;
    for (size_t i = 0; i < count; ++i) reached += lookers[i].result.flags & PHX_FLAG_REACHED ? 1 : 0;
    state.counters["reached"] = double(reached) / double(count);
}

} // namespace

void register_aim() { register_on_backends("aim", {16, 1000, 100000}, aim); }
