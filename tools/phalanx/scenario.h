/* A hand-written scenario for the foot stages: one small character, its frames and its ground, from a JSON file. Used by
 * `phalanx feet`; the format is described in tools/phalanx/feet.md.
 *
 *   scenario *scene;  io_error error;
 *   if (!scenario_load("slope.json", &scene, &error)) ...;
 *   phx_crowd_def def = scenario_crowd(scene);                     // one character, ready for phx_crowd_create
 *   scenario_frame frame;
 *   while ((step = scenario_next(scene, &frame, &error)) > 0) {    // 0: no frame left; -1: error has a sentence
 *       ... phx_crowd_prepare ...
 *       scenario_cast(scene, &frame, rays);
 *       ... phx_crowd_solve ...
 *   }
 *   scenario_free(scene); */
#ifndef PHALANX_TOOLS_SCENARIO_H
#define PHALANX_TOOLS_SCENARIO_H

#include "../io/common.h"
#include "space.h"

#include <phalanx/crowd.h>

typedef struct scenario scenario;

/* Joints of the skeleton that the tool makes: 0 root, 1 pelvis, then four a leg. */
enum { SCENARIO_PELVIS = 1, SCENARIO_MAX_JOINTS = 2 + 4 * PHX_MAX_LEGS, SCENARIO_MAX_BODIES = 64, SCENARIO_MAX_FRAMES = 100000 };
typedef enum scenario_joint { SCENARIO_HIP, SCENARIO_KNEE, SCENARIO_ANKLE, SCENARIO_BALL } scenario_joint;
static inline uint16_t scenario_leg_joint(uint32_t leg, scenario_joint joint) { return (uint16_t)(2 + 4 * leg + (uint32_t)joint); }

typedef struct scenario_body {
    vec position;
    turn rotation;
    uint32_t generation;
} scenario_body;

/* What a ray of heel (0) or ball (1) meets, where the file says it outright. */
typedef struct scenario_hit {
    enum { SCENARIO_CAST, SCENARIO_MISS, SCENARIO_GIVEN } kind;
    vec point, normal;
    uint32_t body; /* geomID */
} scenario_hit;

typedef struct scenario_frame {
    uint32_t index;
    double time; /* seconds since the first frame began: the sum of all dt so far, this one's included, that are above 0 */
    float dt;
    phx_vec3 root_position;
    phx_quat root_rotation;
    phx_transform pose[SCENARIO_MAX_JOINTS]; /* animated, local */
    float weight;
    uint32_t flags;
    bool has_support;
    float support[PHX_MAX_LEGS];
    scenario_body bodies[SCENARIO_MAX_BODIES];  /* of the scene, and last, at scenario_world_body(), the ground that never moves */
    phx_body crowd_bodies[SCENARIO_MAX_BODIES]; /* the same in single precision, for the crowd */
    uint32_t body_count;                        /* 0: the scene has no bodies, its ground never moves */
    scenario_hit hits[PHX_MAX_LEGS][2];
} scenario_frame;

bool scenario_load(const char *path, scenario **loaded, io_error *error);
void scenario_free(scenario *scene);

/* Arrays in the definition are the scene's. */
phx_crowd_def scenario_crowd(const scenario *scene);
const char *scenario_leg_name(const scenario *scene, uint32_t leg);
/* Index of the body that static ground belongs to: one past the bodies that the file names. */
uint32_t scenario_world_body(const scenario *scene);

/* 1: `frame` is filled. 0: the scenario is over. -1: the file is at fault, `error` says where. */
int scenario_next(scenario *scene, scenario_frame *frame, io_error *error);

/* Answers the rays of the only character (lane 0 of each block; the copies in other lanes are answered alike). */
void scenario_cast(const scenario *scene, const scenario_frame *frame, phx_ray_blocks rays);

#endif
