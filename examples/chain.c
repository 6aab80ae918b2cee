/* Arms of three bones with an elbow and a wrist that know their limits, by FABRIK and by CCD. */
#include <phalanx/phalanx.h>

#include <stdio.h>

enum { ARMS = 3, JOINTS = 4 };

typedef struct arm {
    phx_vec3 joint[JOINTS];      /* animated: shoulder, elbow, wrist, fingertip */
    phx_quat local[JOINTS];      /* animated local rotations */
    phx_quat new_local[JOINTS];  /* answers */
    phx_vec3 new_joint[JOINTS];
    phx_vec3 goal, pole, bend;
    phx_result ik;
} arm;

int main(void) {
    static arm arms[ARMS];
    for (int i = 0; i < ARMS; ++i) {
        arms[i] = (arm){.joint = {{0, 1.4f, 0}, {0.3f, 1.4f, -0.02f}, {0.57f, 1.4f, 0}, {0.75f, 1.4f, 0}},
                        .goal = {0.2f + 0.2f * (float)i, 1.1f, 0.3f}, .pole = {0, -1, 0}};
        for (int j = 0; j < JOINTS; ++j) arms[i].local[j] = (phx_quat){0, 0, 0, 1};
    }

    phx_limit limits[JOINTS] = {{0}};                                            /* the shoulder and the fingertip are free */
    limits[1] = phx_limit_hinge((phx_vec3){0, -1, 0}, 0, 2.5f);                  /* the elbow: one axis, 0 to 143 degrees */
    limits[2] = phx_limit_cone((phx_vec3){1, 0, 0}, 0.9f);                       /* the wrist: 52 degrees to every side */

    phx_chain_job job = phx_chain_job_default();
    job.count = ARMS, job.joints = JOINTS, job.limits = limits;
    job.position = phx_joint_view_of(arms[0].joint, sizeof(arm), sizeof(phx_vec3));
    job.local = phx_joint_view_of(arms[0].local, sizeof(arm), sizeof(phx_quat));
    job.target = PHX_VIEW(arms, goal), job.pole = PHX_VIEW(arms, pole), job.bend = PHX_VIEW(arms, bend);
    job.position_out = phx_joint_view_of(arms[0].new_joint, sizeof(arm), sizeof(phx_vec3));
    job.local_out = phx_joint_view_of(arms[0].new_local, sizeof(arm), sizeof(phx_quat));
    job.result = PHX_VIEW(arms, ik);

    const phx_backend *backend = phx_backend_best();
    const phx_ccd_params ccd = phx_ccd_params_default();
    phx_report report;
    if (phx_ccd_solve(backend, &ccd, &job, &report) != PHX_OK) return fprintf(stderr, "%s\n", report.text), 1;
    for (int i = 0; i < ARMS; ++i)
        printf("arm %d with limits: %s after %u sweeps\n", i, arms[i].ik.flags & PHX_FLAG_REACHED ? "reached" : "short", arms[i].ik.iterations);

    job.limits = NULL; /* a tail or a rope: positions are enough */
    const phx_fabrik_params fabrik = phx_fabrik_params_default();
    if (phx_fabrik_solve(backend, &fabrik, &job, &report) != PHX_OK) return fprintf(stderr, "%s\n", report.text), 1;
    for (int i = 0; i < ARMS; ++i)
        printf("arm %d, free: %s after %u rounds\n", i, arms[i].ik.flags & PHX_FLAG_REACHED ? "reached" : "short", arms[i].ik.iterations);
    return 0;
}
