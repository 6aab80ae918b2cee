/* Two legs of the program's own array, solved where they lie. */
#include <phalanx/phalanx.h>

#include <stdio.h>

typedef struct leg {
    phx_vec3 hip, knee, ankle;     /* where the animation put them */
    phx_vec3 goal, forward, bend;  /* where the foot belongs; which way a knee bends; kept from frame to frame */
    phx_quat hip_turn, knee_turn;  /* answers: new world rotation = turn * animated world rotation */
    phx_result ik;
} leg;

int main(void) {
    const phx_vec3 hip = {0, 0.9f, 0}, knee = {0, 0.47f, 0.05f}, ankle = {0, 0.05f, 0}, forward = {0, 0, 1};
    leg legs[2] = {{.hip = hip, .knee = knee, .ankle = ankle, .goal = {0.05f, 0.25f, 0.1f}, .forward = forward},
                   {.hip = hip, .knee = knee, .ankle = ankle, .goal = {0, -0.5f, 0}, .forward = forward}};

    phx_two_bone_job job = phx_two_bone_job_default();
    job.count = 2;
    job.root = PHX_VIEW(legs, hip), job.mid = PHX_VIEW(legs, knee), job.tip = PHX_VIEW(legs, ankle);
    job.target = PHX_VIEW(legs, goal), job.pole = PHX_VIEW(legs, forward), job.bend = PHX_VIEW(legs, bend);
    job.root_rotation = PHX_VIEW(legs, hip_turn), job.mid_rotation = PHX_VIEW(legs, knee_turn);
    job.result = PHX_VIEW(legs, ik);
    phx_report report;
    if (phx_two_bone_validate(&job, &report) != PHX_OK) return fprintf(stderr, "%s\n", report.text), 1;
    phx_two_bone_solve(phx_backend_best(), &job);

    for (int i = 0; i < 2; ++i)
        printf("leg %d: %s by %.3f m, hip turns by (%.3f %.3f %.3f %.3f)\n", i, legs[i].ik.flags & PHX_FLAG_REACHED ? "reached" : "short",
               legs[i].ik.residual, legs[i].hip_turn.x, legs[i].hip_turn.y, legs[i].hip_turn.z, legs[i].hip_turn.w);
    return 0;
}
