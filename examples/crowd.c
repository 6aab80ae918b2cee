/* A hundred bipeds stand on ground that their animation never saw. The ground here is a formula; an engine casts its own rays. */
#include <phalanx/phalanx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HIPS, LEFT_HIP, LEFT_KNEE, LEFT_ANKLE, LEFT_BALL, RIGHT_HIP, RIGHT_KNEE, RIGHT_ANKLE, RIGHT_BALL, JOINTS, CHARACTERS = 100 };
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

/* The engine's ray cast. Rays of a block stand side by side, in the order of Embree's RTCRayHit16. */
static void cast(phx_ray_blocks rays) {
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *ray = &rays.blocks[b];
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            const float height = 0.1f * sinf(ray->org_x[lane]) * cosf(ray->org_z[lane]);
            const float distance = ray->org_y[lane] - height; /* rays go straight down */
            if (distance < 0 || distance > ray->tfar[lane]) continue; /* no hit: geomID stays PHX_NO_HIT */
            ray->tfar[lane] = distance;
            ray->Ng_x[lane] = -0.1f * cosf(ray->org_x[lane]) * cosf(ray->org_z[lane]);
            ray->Ng_y[lane] = 1.0f;
            ray->Ng_z[lane] = 0.1f * sinf(ray->org_x[lane]) * sinf(ray->org_z[lane]);
            ray->geomID[lane] = 0;
        }
    }
}

int main(void) {
    phx_report report;
    phx_transform rest[JOINTS];
    phx_vec3 position[JOINTS];
    phx_quat rotation[JOINTS];
    _Alignas(64) static unsigned char workspace[65536];
    sample(rest);

    phx_crowd_def def = phx_crowd_def_default();
    def.capacity = CHARACTERS;
    def.skeleton = (phx_skeleton){JOINTS, parents};
    def.pelvis = HIPS;
    def.leg_count = 2;
    def.legs[0].hip = LEFT_HIP, def.legs[0].knee = LEFT_KNEE, def.legs[0].ankle = LEFT_ANKLE, def.legs[0].ball = LEFT_BALL;
    def.legs[1].hip = RIGHT_HIP, def.legs[1].knee = RIGHT_KNEE, def.legs[1].ankle = RIGHT_ANKLE, def.legs[1].ball = RIGHT_BALL;
    def.params = phx_crowd_params_for_leg(0.84f);

    /* Where heel, ball and knee are is measured once, from a pose whose feet stand flat on the plane y = 0. */
    phx_fk_job fk = {.skeleton = &def.skeleton, .count = 1, .poses = phx_poses_of(rest, JOINTS),
                     .positions = phx_view_of(position, sizeof position), .rotations = phx_view_of(rotation, sizeof rotation)};
    if (phx_fk_workspace_size(&fk) > sizeof workspace) return 1;
    if (phx_fk_solve(phx_backend_best(), &fk, 0, 1, workspace, &report) != PHX_OK) return fprintf(stderr, "%s\n", report.text), 1;
    for (int leg = 0; leg < 2; ++leg)
        if (phx_leg_measure(&def.legs[leg], position, rotation, def.up, 0, NULL, &report) != PHX_OK)
            return fprintf(stderr, "%s\n", report.text), 1;

    phx_crowd *crowd = phx_crowd_create(&def, &report); /* all memory is taken here */
    phx_transform *poses = malloc(sizeof(phx_transform) * JOINTS * CHARACTERS);
    if (!crowd || !poses) return fprintf(stderr, "%s\n", report.text), 1;

    static phx_vec3 roots[CHARACTERS];
    for (int c = 0; c < CHARACTERS; ++c) roots[c] = (phx_vec3){(float)(c % 10), 0, (float)(c / 10)};
    phx_crowd_frame frame = {.count = CHARACTERS, .dt = 1.0f / 60, .poses = phx_poses_of(poses, JOINTS), .root_position = PHX_VIEW_ARRAY(roots)};
    if (phx_crowd_validate(crowd, &frame, &report) != PHX_OK) return fprintf(stderr, "%s\n", report.text), 1;

    for (int f = 0; f < 60; ++f) {
        for (int c = 0; c < CHARACTERS; ++c) sample(poses + c * JOINTS);
        for (uint32_t tile = 0; tile < phx_crowd_frame_tiles(crowd, &frame); ++tile) { /* what a job system hands out */
            phx_ray_blocks rays = phx_crowd_prepare(crowd, &frame, tile);
            cast(rays);
            phx_crowd_solve(crowd, &frame, tile); /* rotations, and the pelvis's translation, are corrected in place in `poses` */
        }
    }

    for (uint32_t leg = 0; leg < 2; ++leg) {
        phx_foot_info foot;
        phx_crowd_foot(crowd, 42, leg, &foot);
        printf("%s foot of 42: ground at %+.3f m, ankle goes to %+.3f m, %.1f mm off, %s\n", leg ? "right" : "left", foot.ground_point.y,
               foot.target.y, 1000 * foot.residual, foot.locked ? "locked" : "free");
    }
    printf("pelvis of 42: %+.3f m; %zu bytes a character\n", phx_crowd_pelvis(crowd, 42), phx_crowd_memory(crowd) / CHARACTERS);
    phx_crowd_destroy(crowd);
    free(poses);
    return 0;
}
