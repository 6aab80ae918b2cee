/* A biped for the examples: its skeleton, a standing pose, and what a crowd must be told of it. */
#ifndef EXAMPLES_BIPED_H
#define EXAMPLES_BIPED_H

#include <phalanx/phalanx.h>

#include <math.h>
#include <stdio.h>

enum { HIPS, LEFT_HIP, LEFT_KNEE, LEFT_ANKLE, LEFT_BALL, RIGHT_HIP, RIGHT_KNEE, RIGHT_ANKLE, RIGHT_BALL, JOINTS };
static const uint16_t parents[JOINTS] = {PHX_NO_JOINT, HIPS, LEFT_HIP, LEFT_KNEE, LEFT_ANKLE, HIPS, RIGHT_HIP, RIGHT_KNEE, RIGHT_ANKLE};

/* What animation sampling would write each frame: local transforms, here a standing pose with its knees a little bent. */
static void sample(phx_transform *pose) {
    const float bend = 0.15f; /* radians that thigh and shin lean */
    for (int j = 0; j < JOINTS; ++j) pose[j] = (phx_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    pose[HIPS].translation.y = 0.92f;
    for (int leg = 0; leg < 2; ++leg) {
        phx_transform *hip = pose + (leg ? RIGHT_HIP : LEFT_HIP);
        hip[0].translation = (phx_vec3){leg ? -0.1f : 0.1f, 0, 0};
        hip[0].rotation = (phx_quat){-sinf(bend / 2), 0, 0, cosf(bend / 2)};
        hip[1].translation.y = -0.42f, hip[1].rotation = (phx_quat){sinf(bend), 0, 0, cosf(bend)};
        hip[2].translation.y = -0.42f, hip[2].rotation = hip[0].rotation;
        hip[3].translation = (phx_vec3){0, -0.05f, 0.13f};
    }
}

/* 0 and a report where something is wrong with it. */
static int define_biped(phx_crowd_def *def, phx_report *report) {
    static phx_transform rest[JOINTS];
    phx_vec3 position[JOINTS];
    phx_quat rotation[JOINTS];
    _Alignas(64) static unsigned char workspace[65536];
    sample(rest);
    def->skeleton = (phx_skeleton){JOINTS, parents};
    def->pelvis = HIPS;
    def->leg_count = 2;
    def->legs[0].hip = LEFT_HIP, def->legs[0].knee = LEFT_KNEE, def->legs[0].ankle = LEFT_ANKLE, def->legs[0].ball = LEFT_BALL;
    def->legs[1].hip = RIGHT_HIP, def->legs[1].knee = RIGHT_KNEE, def->legs[1].ankle = RIGHT_ANKLE, def->legs[1].ball = RIGHT_BALL;
    def->params = phx_crowd_params_for_leg(0.84f);

    /* Where heel, ball and knee are is measured once, from a pose whose feet stand flat on the plane y = 0. */
    phx_fk_job fk = {.skeleton = &def->skeleton, .count = 1, .poses = phx_poses_of(rest, JOINTS),
                     .positions = phx_view_of(position, sizeof position), .rotations = phx_view_of(rotation, sizeof rotation)};
    if (phx_fk_workspace_size(&fk) > sizeof workspace) return snprintf(report->text, sizeof report->text, "fk: the workspace is too small"), 0;
    if (phx_fk_solve(phx_backend_best(), &fk, 0, 1, workspace, report) != PHX_OK) return 0;
    for (int leg = 0; leg < 2; ++leg)
        if (phx_leg_measure(&def->legs[leg], position, rotation, def->up, 0, NULL, report) != PHX_OK) return 0;
    return 1;
}

#endif
