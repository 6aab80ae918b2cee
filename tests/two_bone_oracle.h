/* A two-bone limb in double precision, written from the mathematics alone, and one leg solved through a job. Used by the
 * tests of the two-bone solver; knows nothing of the solver's own code. */
#ifndef PHALANX_TEST_TWO_BONE_ORACLE_H
#define PHALANX_TEST_TWO_BONE_ORACLE_H

#include "support.h"

typedef struct vec {
    double x, y, z;
} vec;

static inline vec vec_of(phx_vec3 a) { return (vec){a.x, a.y, a.z}; }
static inline vec plus(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vec minus(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline vec times(vec a, double s) { return (vec){a.x * s, a.y * s, a.z * s}; }
static inline double inner(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec outer(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static inline double norm(vec a) { return sqrt(inner(a, a)); }
static inline vec unit(vec a) { return times(a, 1.0 / norm(a)); }
static inline double gap(vec a, vec b) { return norm(minus(a, b)); }
static inline vec without(vec a, vec n) { return minus(a, times(n, inner(a, n))); }
static inline double angle_between(vec a, vec b) { return atan2(norm(outer(a, b)), inner(a, b)); }

typedef struct turn {
    double x, y, z, w;
} turn;

static inline turn turn_of(phx_quat q) { return (turn){q.x, q.y, q.z, q.w}; }
static inline turn compose(turn a, turn b) {
    return (turn){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
static inline turn inverse(turn a) { return (turn){-a.x, -a.y, -a.z, a.w}; }
static inline double turn_norm(turn a) { return sqrt(a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w); }
static inline vec apply(turn q, vec v) {
    const turn r = compose(compose(q, (turn){v.x, v.y, v.z, 0}), inverse(q));
    return (vec){r.x, r.y, r.z};
}
/* of the rotation, in [0, pi] */
static inline double turn_angle(turn q) { return 2 * atan2(sqrt(q.x * q.x + q.y * q.y + q.z * q.z), fabs(q.w)); }
static inline turn about(vec axis, double angle) {
    const vec a = times(unit(axis), sin(angle / 2));
    return (turn){a.x, a.y, a.z, cos(angle / 2)};
}

/* Where knee and foot belong: lengths, target, a unit bend direction and the distance root-tip that is wanted. */
typedef struct limb {
    vec knee, foot;
    double distance, cos_root; /* after clamping */
} limb;

static inline limb limb_at(vec root, double upper, double lower, vec axis, double distance, vec bend) {
    limb out;
    const double epsilon = ldexp(upper + lower, -22);
    out.distance = fmin(fmax(distance, fabs(upper - lower) + epsilon), upper + lower - epsilon);
    out.cos_root = (upper * upper + out.distance * out.distance - lower * lower) / (2 * upper * out.distance);
    out.cos_root = fmin(fmax(out.cos_root, -1), 1);
    const vec b = unit(without(bend, axis));
    out.knee = plus(root, plus(times(axis, upper * out.cos_root), times(b, upper * sqrt(1 - out.cos_root * out.cos_root))));
    out.foot = plus(root, times(axis, out.distance));
    return out;
}

/* ---- one leg, with everything that a job can take and give ---- */

typedef struct leg {
    phx_vec3 root, mid, tip, target, pole, rest_bend, bend;
    float weight, pole_weight;
    phx_quat parent, root_local, mid_local, tip_local, target_rotation; /* target_rotation all zero: not wanted */
    phx_quat root_rotation, mid_rotation, tip_rotation, root_out, mid_out, tip_out;
    phx_vec3 mid_position, tip_position;
    float stretch;
    phx_result result;
} leg;

static inline leg leg_of(phx_vec3 root, phx_vec3 mid, phx_vec3 tip, phx_vec3 target, phx_vec3 pole) {
    leg a;
    memset(&a, 0, sizeof a);
    a.root = root, a.mid = mid, a.tip = tip, a.target = target, a.pole = pole;
    a.weight = a.pole_weight = 1;
    a.parent.w = a.root_local.w = a.mid_local.w = a.tip_local.w = 1;
    return a;
}

static inline phx_two_bone_job job_over(leg *legs, size_t count, phx_two_bone_params params) {
    phx_two_bone_job job = phx_two_bone_job_default();
    job.params = params;
    job.count = count;
    job.root = PHX_VIEW(legs, root), job.mid = PHX_VIEW(legs, mid), job.tip = PHX_VIEW(legs, tip);
    job.target = PHX_VIEW(legs, target), job.pole = PHX_VIEW(legs, pole), job.bend = PHX_VIEW(legs, bend);
    job.rest_bend = PHX_VIEW(legs, rest_bend), job.weight = PHX_VIEW(legs, weight), job.pole_weight = PHX_VIEW(legs, pole_weight);
    job.parent_rotation = PHX_VIEW(legs, parent);
    job.root_local = PHX_VIEW(legs, root_local), job.mid_local = PHX_VIEW(legs, mid_local), job.tip_local = PHX_VIEW(legs, tip_local);
    job.target_rotation = PHX_VIEW(legs, target_rotation);
    job.root_rotation = PHX_VIEW(legs, root_rotation), job.mid_rotation = PHX_VIEW(legs, mid_rotation);
    job.tip_rotation = PHX_VIEW(legs, tip_rotation), job.stretch = PHX_VIEW(legs, stretch);
    job.root_local_out = PHX_VIEW(legs, root_out), job.mid_local_out = PHX_VIEW(legs, mid_out), job.tip_local_out = PHX_VIEW(legs, tip_out);
    job.mid_position = PHX_VIEW(legs, mid_position), job.tip_position = PHX_VIEW(legs, tip_position);
    job.result = PHX_VIEW(legs, result);
    return job;
}

static inline leg solved(const phx_backend *backend, leg a, phx_two_bone_params params) {
    const phx_two_bone_job job = job_over(&a, 1, params);
    assert_int_equal(phx_two_bone_solve(backend, &job), PHX_OK);
    return a;
}

static inline int all_finite(const leg *a) {
    const float *values = (const float *)(const void *)a;
    for (size_t i = 0; i < offsetof(leg, result) / sizeof(float); ++i)
        if (!isfinite(values[i])) return 0;
    return isfinite(a->result.residual);
}

#define assert_below(value, bound) assert_below_at((value), (bound), #value, __FILE__, __LINE__)
static inline void assert_below_at(double value, double bound, const char *what, const char *file, int line) {
    if (value <= bound) return;
    print_error("%s = %.9g, allowed %.9g\n", what, value, bound);
    _fail(file, line);
}

/* What every result of a leg with finite input owes: finite numbers, unit quaternions, bones of their length, rotations that
 * lead where the positions say, an honest residual and an honest `reached`. Bounds are relative to the chain's length. */
static inline void assert_sound(const leg *a, phx_two_bone_params params) {
    assert_true(all_finite(a));
    const vec root = vec_of(a->root), thigh = minus(vec_of(a->mid), root), shin = minus(vec_of(a->tip), vec_of(a->mid));
    const double upper = norm(thigh), lower = norm(shin), length = upper + lower;
    /* positions are written beside the root: their own rounding is the coordinates' */
    const double grain = 1.2e-7 * (fabs(root.x) + fabs(root.y) + fabs(root.z) + length * a->stretch) * 2;
    assert_below(fabs(turn_norm(turn_of(a->root_rotation)) - 1), 2e-6);
    assert_below(fabs(turn_norm(turn_of(a->mid_rotation)) - 1), 2e-6);
    assert_below(fabs(turn_norm(turn_of(a->tip_rotation)) - 1), 2e-6);
    const vec knee = vec_of(a->mid_position), foot = vec_of(a->tip_position);
    assert_below(fabs(gap(root, knee) - upper * a->stretch), 1e-6 * length * a->stretch + grain);
    assert_below(fabs(gap(knee, foot) - lower * a->stretch), 1e-6 * length * a->stretch + grain);
    const vec fk_knee = plus(root, times(apply(turn_of(a->root_rotation), thigh), a->stretch));
    const vec fk_foot = plus(fk_knee, times(apply(turn_of(a->mid_rotation), shin), a->stretch));
    assert_below(gap(fk_knee, knee), 3e-6 * length * a->stretch + grain);
    assert_below(gap(fk_foot, foot), 4e-6 * length * a->stretch + grain);
    const double residual = gap(foot, vec_of(a->target));
    assert_below(fabs(residual - a->result.residual), 2e-6 * length * a->stretch + 2e-7 * residual + grain);
    if (a->result.flags & PHX_FLAG_REACHED) assert_below(residual, length * params.tolerance + grain);
    else assert_below(length * params.tolerance - grain, residual);
}

#endif
