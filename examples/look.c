/* Heads that look: neck and head share the turn, within what a neck can do, eyes on the target. */
#include <phalanx/phalanx.h>

#include <stdio.h>

enum { LOOKERS = 3, JOINTS = 2 };

typedef struct looker {
    phx_vec3 joint[JOINTS];     /* animated: neck, head */
    phx_quat local[JOINTS];     /* local rotations, corrected in place */
    phx_vec3 goal;
    phx_result ik;
} looker;

int main(void) {
    static looker lookers[LOOKERS];
    const phx_vec3 goals[LOOKERS] = {{0, 1.7f, 2}, {1, 2.2f, 1}, {0.2f, 1.7f, -2}}; /* ahead, aside and above, behind */
    for (int i = 0; i < LOOKERS; ++i)
        lookers[i] = (looker){.joint = {{0, 1.5f, 0}, {0, 1.6f, 0.02f}}, .local = {{0, 0, 0, 1}, {0, 0, 0, 1}}, .goal = goals[i]};

    phx_aim_params aim = phx_aim_params_default();  /* the head looks along its own +Z, its crown is +Y */
    aim.eye = (phx_vec3){0, 0.08f, 0.1f};           /* in the head's frame */
    aim.max_angle = 1.4f;                           /* 80 degrees from where the animation looks */
    const float weights[JOINTS] = {0.4f, 0.6f};     /* the neck takes 40 % of the turn */
    const phx_vec3 up = {0, 1, 0};

    phx_chain_job job = phx_chain_job_default();
    job.count = LOOKERS, job.joints = JOINTS, job.joint_weights = weights;
    job.position = phx_joint_view_of(lookers[0].joint, sizeof(looker), sizeof(phx_vec3));
    job.local = job.local_out = phx_joint_view_of(lookers[0].local, sizeof(looker), sizeof(phx_quat));
    job.target = PHX_VIEW(lookers, goal), job.pole = PHX_VIEW_ONE(&up), job.result = PHX_VIEW(lookers, ik);
    phx_report report;
    if (phx_aim_solve(phx_backend_best(), &aim, &job, &report) != PHX_OK) return fprintf(stderr, "%s\n", report.text), 1;

    for (int i = 0; i < LOOKERS; ++i)
        printf("looker %d: %s, misses by %.2f m\n", i, lookers[i].ik.flags & PHX_FLAG_REACHED ? "sees it" : "turns as far as it may",
               lookers[i].ik.residual);
    return 0;
}
