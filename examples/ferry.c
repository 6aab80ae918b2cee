/* A ferry comes in with a hundred people on its deck, a hundred wait ashore: moving ground, the program's own threads, a budget of feet. */
#include "biped.h"

#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { PEOPLE = 200, WORKERS = 2, SHORE = 0, FERRY = 1, BODIES };

/* The job system: every worker takes every second task. */
typedef struct share {
    phx_task_function task;
    void *data;
    uint32_t count, worker;
} share;
static int work(void *of) {
    const share *s = of;
    for (uint32_t index = s->worker; index < s->count; index += WORKERS) s->task(s->data, index, s->worker);
    return 0;
}
static void parallel(void *context, uint32_t count, phx_task_function task, void *data) {
    (void)context;
    thrd_t threads[WORKERS];
    share shares[WORKERS];
    for (uint32_t w = 0; w < WORKERS; ++w) {
        shares[w] = (share){task, data, count, w};
        if (thrd_create(&threads[w], work, &shares[w]) != thrd_success) abort();
    }
    for (int w = 0; w < WORKERS; ++w) thrd_join(threads[w], NULL);
}

/* The world's rays, called from any worker: the shore is at height 0, the deck where the ferry is, and a hit's geomID says which. Block
 * b belongs to end b % 2 of leg b / 2 % legs of the group b / (2 * legs) of 16 characters. */
static void cast(void *context, phx_ray_blocks rays) {
    const phx_body *bodies = context;
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *ray = &rays.blocks[b];
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            if (!(rays.active[b / (2 * rays.legs)] >> lane & 1)) continue; /* nobody asks: off, or replayed */
            const uint32_t body = ray->org_x[lane] > 0 ? FERRY : SHORE;
            ray->tfar[lane] = ray->org_y[lane] - bodies[body].position.y;
            ray->Ng_x[lane] = 0, ray->Ng_y[lane] = 1, ray->Ng_z[lane] = 0, ray->geomID[lane] = body;
        }
    }
}

int main(void) {
    phx_report report;
    phx_crowd_def def = phx_crowd_def_default();
    if (!define_biped(&def, &report)) return fprintf(stderr, "%s\n", report.text), 1;
    def.capacity = PEOPLE;
    def.bodies = 1;           /* every frame gives bodies, the shore is one of them */
    def.replay = 1;           /* who is beyond the budget repeats what was last done */
    def.workspaces = WORKERS; /* memory for rays and joints of one tile a worker, not of every tile */
    def.params.pelvis_shift = 0.5f;
    phx_crowd *crowd = phx_crowd_create(&def, &report);
    if (!crowd) return fprintf(stderr, "%s\n", report.text), 1;
    phx_transform *poses = malloc(sizeof(phx_transform) * JOINTS * PEOPLE);
    if (!poses) return perror("poses"), 1;

    static phx_vec3 roots[PEOPLE];
    static float priority[PEOPLE];
    static uint32_t age[PEOPLE], flags[PEOPLE];
    phx_body bodies[BODIES] = {{{0, 0, 0}, {0, 0, 0, 1}, 0}, {{5, -0.3f, 0}, {0, 0, 0, 1}, 0}};
    const phx_crowd_callbacks callbacks = {.cast = cast, .cast_context = bodies, .parallel = parallel};
    phx_crowd_frame frame = {.count = PEOPLE, .dt = 1.0f / 60, .poses = phx_poses_of(poses, JOINTS), .root_position = PHX_VIEW_ARRAY(roots),
                             .flags = PHX_VIEW_ARRAY(flags), .bodies = bodies, .body_count = BODIES};
    for (int f = 0; f < 120; ++f) {
        bodies[FERRY].position.y = -0.3f + 0.0025f * (float)f; /* the deck rises */
        for (int c = 0; c < PEOPLE; ++c) {
            sample(poses + c * JOINTS);
            const int aboard = c % 2;
            roots[c] = (phx_vec3){aboard ? 1 + 0.1f * (float)c : -1, aboard ? bodies[FERRY].position.y : 0, 0.2f * (float)c};
            priority[c] = 1.0f / (1.0f + 0.01f * (float)c); /* the nearer, the sooner */
            flags[c] = f == 0 ? PHX_CHARACTER_TELEPORT : 0;  /* new here: nothing to repeat, solved first */
        }
        if (phx_crowd_schedule(crowd, PEOPLE, 240, PHX_VIEW_ARRAY(priority), PHX_VIEW_ARRAY(age), PHX_VIEW_ARRAY(flags), &report) != PHX_OK ||
            phx_crowd_run(crowd, &frame, &callbacks, &report) != PHX_OK)
            return fprintf(stderr, "%s\n", report.text), 1;
    }
    for (uint32_t c = 40; c < 200; c += 151) {
        phx_foot_info foot;
        phx_crowd_foot(crowd, c, 0, &foot);
        printf("%u stands on the %s at %+.3f m, %s; solved %u frames ago\n", c, foot.body == FERRY ? "ferry" : "shore", foot.ground_point.y,
               foot.locked ? "locked to it" : "free", age[c]);
    }
    phx_crowd_destroy(crowd);
    free(poses);
    return 0;
}
