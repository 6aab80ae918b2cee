/* A hundred bipeds stand on ground that their animation never saw. The ground here is a formula; an engine casts its own rays. */
#include "biped.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHARACTERS = 100 };

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
    phx_crowd_def def = phx_crowd_def_default();
    def.capacity = CHARACTERS;
    if (!define_biped(&def, &report)) return fprintf(stderr, "%s\n", report.text), 1;

    phx_crowd *crowd = phx_crowd_create(&def, &report); /* all memory is taken here */
    if (!crowd) return fprintf(stderr, "%s\n", report.text), 1;
    phx_transform *poses = malloc(sizeof(phx_transform) * JOINTS * CHARACTERS);
    if (!poses) return perror("poses"), 1;

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
