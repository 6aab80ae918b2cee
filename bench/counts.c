/* Solves a given number of chains, for callgrind to count the instructions: phalanx_counts WORKLOAD BACKEND CHAINS [SLOWDOWN_PERCENT].
 * Called by `tools/perf counts`, which takes the difference of two runs, so that everything but the solving cancels out: whatever the
 * number, MOST chains are prepared and one call is made. SLOWDOWN solves that share of the chains once more. */
#include "workloads.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static bench_leg legs[MOST];
static phx_two_bone_block blocks[MOST / PHX_BLOCK_LANES];

static int solve_blocks(const phx_backend *backend, phx_twist twist, size_t count) {
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = twist;
    return phx_two_bone_solve_blocks(backend, &params, blocks, NULL, count / PHX_BLOCK_LANES, NULL) == PHX_OK;
}

static int solve_job(const phx_backend *backend, size_t count) {
    phx_two_bone_job job = phx_two_bone_job_default();
    job.params.twist = PHX_TWIST_INHERIT;
    job.count = count;
    job.root = PHX_VIEW(legs, hip), job.mid = PHX_VIEW(legs, knee), job.tip = PHX_VIEW(legs, ankle);
    job.target = PHX_VIEW(legs, target), job.pole = PHX_VIEW(legs, knee_forward), job.bend = PHX_VIEW(legs, bend);
    job.root_rotation = PHX_VIEW(legs, hip_correction), job.mid_rotation = PHX_VIEW(legs, knee_correction);
    job.result = PHX_VIEW(legs, result);
    return phx_two_bone_solve(backend, &job) == PHX_OK;
}

static int solve(const char *workload, const phx_backend *backend, size_t count) {
    if (strcmp(workload, "two_bone") == 0) return solve_blocks(backend, PHX_TWIST_INHERIT, count);
    if (strcmp(workload, "two_bone_plane") == 0) return solve_blocks(backend, PHX_TWIST_PLANE, count);
    if (strcmp(workload, "two_bone_job") == 0) return solve_job(backend, count);
    return 0;
}

int main(int argc, char **argv) {
    const phx_backend *backend = argc >= 4 ? phx_backend_find(argv[2]) : NULL;
    const size_t chains = argc >= 4 ? (size_t)atoi(argv[3]) : 0, again = argc >= 5 ? chains * (size_t)atoi(argv[4]) / 100 : 0;
    if (!backend || chains > MOST) {
        fprintf(stderr, "phalanx_counts WORKLOAD BACKEND CHAINS [SLOWDOWN_PERCENT]: at most %d chains, a backend of this machine\n", MOST);
        return 2;
    }
    bench_fill_legs(legs, MOST);
    bench_fill_blocks(blocks, legs, MOST);
    if (!solve(argv[1], backend, chains) || (argc >= 5 && !solve(argv[1], backend, again))) return 1;
    return 0;
}
