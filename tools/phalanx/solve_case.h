/* One chain problem of `phalanx solve`: read from JSON by solve_case.c, answered by solve_run.c, drawn by solve_svg.c. Numbers
 * are double until they enter the solver, which works relative to the root: a chain far from the origin loses no digits. */
#ifndef PHALANX_TOOLS_SOLVE_CASE_H
#define PHALANX_TOOLS_SOLVE_CASE_H

#include "../io/common.h"
#include "space.h"
#include "phalanx/phalanx.h"

/* ---- what space.h does not have ---- */

static inline vec vec_direction(vec a) { /* unit; zero stays zero */
    const double l = vec_length(a);
    return l > 0 ? vec_scale(a, 1 / l) : a;
}
static inline vec vec_reject(vec a, vec unit) { return vec_sub(a, vec_scale(unit, vec_dot(a, unit))); }
static inline double turn_dot(turn a, turn b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
static inline turn turn_unit(turn a) {
    const double s = 1 / sqrt(turn_dot(a, a));
    return (turn){a.x * s, a.y * s, a.z * s, a.w * s};
}
/* the shortest rotation between two directions; none where one of them is nothing */
turn turn_between(vec from, vec to);
/* `share` of the way from a to b by the shortest arc */
turn turn_slerp(turn a, turn b, double share);

static inline phx_vec3 vec_narrow(vec a) { return (phx_vec3){(float)a.x, (float)a.y, (float)a.z}; }
static inline vec vec_widen(phx_vec3 a) { return (vec){a.x, a.y, a.z}; }
static inline phx_quat turn_narrow(turn a) { return (phx_quat){(float)a.x, (float)a.y, (float)a.z, (float)a.w}; }
static inline turn turn_widen(phx_quat a) { return (turn){a.x, a.y, a.z, a.w}; }

/* ---- cases ---- */

typedef enum solve_solver { SOLVE_TWO_BONE, SOLVE_FABRIK, SOLVE_CCD, SOLVE_AIM } solve_solver;

typedef struct solve_case {
    char *id;
    solve_solver solver;
    size_t joints;          /* 2 or more */
    vec *position;          /* [joints] */
    turn *rotation;         /* [joints], world, identity where not given */
    vec *rest_position;     /* [joints], consistent with rest_rotation */
    turn *rest_rotation;    /* [joints] */
    double *length;         /* [joints - 1] */
    phx_limit *limits;      /* [joints]; `rest` filled in */
    bool limited;           /* is any of them one? */
    bool rest_given;        /* a rest pose of its own */
    bool no_direction;      /* lengths were given for joints that all coincide */
    bool bad_rotation;      /* a rotation has no usable length */
    vec target;
    turn target_rotation;
    vec pole, previous_bend, rest_bend; /* zero: not given. rest_bend in the rest pose */
    bool has_target_rotation, has_pole, has_rest_bend, has_twist;
    double weight, soft_start, max_stretch, tolerance, damping;
    phx_twist twist;
    uint32_t max_iterations;
    /* answers */
    vec *solved_position;   /* [joints] */
    turn *solved_rotation;  /* [joints] */
    vec bend;
    double residual;
    uint32_t iterations, flags;
} solve_case;

typedef struct solve_cases {
    solve_case *all;
    size_t count;
} solve_cases;

/* Reads the JSON text; `name` is the file's name for the sentence. False: nothing is in `cases`. */
bool solve_cases_read(const char *name, const char *text, size_t size, solve_cases *cases, io_error *error);
void solve_cases_free(solve_cases *cases);

/* Fills a case's answers. False only where the solver refuses the set-up: a sentence that names the case. */
bool solve_run(const phx_backend *backend, solve_case *one, io_error *error);

/* All cases as an SVG picture, before in grey and after in colour. Free with free(). */
char *solve_svg(const solve_cases *cases, size_t *size);

#endif
