/* Runs one case of `phalanx solve` on the library. Called by solve.c.
 *
 * The library's two-bone limits are angles of the knee. A hinge at the mid joint that stands at right angles to the bones is such
 * an angle and is solved in closed form. Every other limit is applied to the solved rotations; where that loses the target, CCD
 * under the same limits is asked too, and the nearer answer is taken. */
#include "solve_case.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static void leave_as_animated(solve_case *one, uint32_t flags) {
    memcpy(one->solved_position, one->position, one->joints * sizeof *one->position);
    memcpy(one->solved_rotation, one->rotation, one->joints * sizeof *one->rotation);
    one->bend = one->previous_bend;
    one->residual = fmin(vec_length(vec_sub(one->target, one->position[one->joints - 1])), FLT_MAX);
    one->iterations = 0, one->flags = flags;
}

static double chain_length(const solve_case *one) {
    double length = 0;
    for (size_t j = 0; j + 1 < one->joints; ++j) length += vec_length(vec_sub(one->position[j + 1], one->position[j]));
    return length;
}

/* a direction keeps its meaning at any length; the library squares it in 32 bits */
static vec sized(vec direction) {
    const double length = vec_length(direction);
    return length > 1e-12 && length < 1e12 ? direction : vec_direction(direction);
}

static turn limited(const phx_limit *limit, turn local, bool *changed) {
    if (limit->type == PHX_LIMIT_NONE) return local;
    phx_quat q = turn_narrow(turn_unit(local));
    uint32_t moved = 0;
    phx_limit_apply(phx_backend_find("reference"), limit, 1, PHX_VIEW_ARRAY(&q), PHX_VIEW_ARRAY(&q), PHX_VIEW_ARRAY(&moved), NULL);
    if (!moved) return local;
    *changed = true;
    return turn_unit(turn_widen(q));
}

/* ---- two bones ---- */

/* What a hinge at the mid joint asks of the closed form. */
typedef struct knee {
    bool known;
    vec axis;             /* unit, world, at right angles to the thigh; a positive turn of the shin about it is positive flexion */
    double zero;          /* flexion of the shin at the joint's rest rotation */
    double side;          /* 1: the shin bends about +axis, -1: about -axis */
    double low, high;     /* knee angles, 0 straight */
    turn mid, tip;        /* the rotations of a pose that obeys the hinge */
    vec shin;
    bool moved;           /* the animated pose did not */
} knee;

static knee knee_of(const solve_case *one) {
    knee k = {.known = false, .mid = one->rotation[1], .tip = one->rotation[2], .shin = vec_sub(one->position[2], one->position[1])};
    const phx_limit *limit = &one->limits[1];
    const vec thigh = vec_direction(vec_sub(one->position[1], one->position[0]));
    if (limit->type != PHX_LIMIT_HINGE || vec_length(thigh) == 0 || vec_length(k.shin) == 0) return k;
    const turn rest = turn_times(one->rotation[0], turn_widen(limit->rest));
    const vec axis = turn_vec(rest, vec_direction(vec_widen(limit->axis)));
    const vec shin = turn_vec(rest, turn_vec(turn_back(one->rotation[1]), k.shin)); /* at the joint's rest */
    if (fabs(vec_dot(axis, thigh)) > 1e-3 || fabs(vec_dot(axis, vec_direction(shin))) > 1e-3) return k;
    k.known = true;
    k.axis = vec_direction(vec_reject(axis, thigh));
    k.zero = atan2(vec_dot(k.axis, vec_cross(thigh, shin)), vec_dot(thigh, shin));
    double low = k.zero + limit->min, high = k.zero + limit->max;
    const double turns = 2 * pi * floor(((low + high) / 2 + pi) / (2 * pi));
    low = fmax(low - turns, -pi), high = fmin(high - turns, pi);
    k.side = high >= -low ? 1 : -1;
    k.low = fmax(k.side > 0 ? low : -high, 0), k.high = fmin(k.side > 0 ? high : -low, pi);

    /* the animated flexion, brought to the nearest allowed one */
    const vec bone = vec_sub(one->position[2], one->position[1]);
    const double flexion = atan2(vec_dot(k.axis, vec_cross(thigh, bone)), vec_dot(thigh, bone));
    const double nearest = k.side * fmin(fmax(k.side * flexion, k.low), k.high);
    const turn mid = turn_times(turn_about(k.axis, nearest - k.zero), rest);
    const vec obeyed = turn_vec(mid, turn_vec(turn_back(one->rotation[1]), bone));
    if (vec_length(vec_sub(obeyed, bone)) > 1e-5 * vec_length(bone)) {
        k.moved = true;
        k.mid = mid, k.shin = obeyed;
        k.tip = turn_times(mid, turn_times(turn_back(one->rotation[1]), one->rotation[2]));
    }
    return k;
}

/* Where the knee of the rest pose points, carried along by the root's rotation; zero where nothing says it. */
static vec rest_bend_of(const solve_case *one, const knee *k, vec thigh) {
    if (k->known) return vec_scale(vec_cross(vec_direction(thigh), k->axis), k->side);
    const turn carry = turn_times(one->rotation[0], turn_back(one->rest_rotation[0]));
    if (one->has_rest_bend) return sized(turn_vec(carry, one->rest_bend));
    if (!one->rest_given) return (vec){0, 0, 0};
    const vec *r = one->rest_position;
    const vec bend = vec_reject(vec_sub(r[1], r[0]), vec_direction(vec_sub(r[2], r[0])));
    return vec_length(bend) > 1e-4 * vec_length(vec_sub(r[1], r[0])) ? turn_vec(carry, bend) : (vec){0, 0, 0};
}

typedef struct two_bone_answer {
    turn root, mid, tip; /* corrections */
    vec upper, lower;
    vec bend;
    double residual, stretch;
    uint32_t flags;
} two_bone_answer;

static bool solve_once(const phx_backend *backend, const phx_two_bone_params *params, const solve_case *one, const knee *k, vec rest_bend,
                       double weight, two_bone_answer *answer, io_error *error) {
    _Alignas(64) phx_two_bone_block block;
    _Alignas(64) phx_two_bone_extra extra;
    memset(&block, 0, sizeof block);
    phx_two_bone_extra_default(&extra);
    const vec thigh = vec_sub(one->position[1], one->position[0]);
#define PUT(rows, value) ((rows).x[0] = (float)(value).x, (rows).y[0] = (float)(value).y, (rows).z[0] = (float)(value).z)
#define PUT4(rows, value) (PUT(rows, value), (rows).w[0] = (float)(value).w)
#define GET(rows) ((vec){(rows).x[0], (rows).y[0], (rows).z[0]})
#define GET4(rows) ((turn){(rows).x[0], (rows).y[0], (rows).z[0], (rows).w[0]})
    const vec tip = vec_add(thigh, k->shin), delta = vec_sub(one->target, one->position[0]);
    const vec pole = sized(one->pole), previous = sized(one->previous_bend);
    PUT(block.mid, thigh), PUT(block.tip, tip), PUT(block.target, delta), PUT(block.pole, pole), PUT(block.bend, previous);
    PUT(extra.rest_bend, rest_bend), PUT4(extra.tip_from, k->tip);
    if (one->has_target_rotation) PUT4(extra.tip_to, one->target_rotation);
    extra.weight.v[0] = (float)weight;
    phx_report report;
    if (phx_two_bone_solve_blocks(backend, params, &block, &extra, 1, &report))
        return io_fail(error, "case '%s': %s", one->id, report.text);
    answer->root = GET4(block.root_rotation), answer->mid = GET4(block.mid_rotation), answer->tip = GET4(extra.tip_rotation);
    answer->upper = GET(extra.mid_position), answer->lower = vec_sub(GET(extra.tip_position), answer->upper);
    answer->bend = GET(block.bend), answer->residual = block.residual.v[0], answer->stretch = extra.stretch.v[0];
    answer->flags = block.flags.v[0];
#undef PUT
#undef PUT4
#undef GET
#undef GET4
    return true;
}

/* Limits that the closed form did not know, applied to the solved rotations from the root on; the shin is aimed again where the thigh
 * was held back. True where one changed something. */
static bool hold_to_limits(solve_case *one, double stretch) {
    const vec thigh = turn_vec(turn_back(one->rotation[0]), vec_sub(one->position[1], one->position[0]));
    const vec shin = turn_vec(turn_back(one->rotation[1]), vec_sub(one->position[2], one->position[1]));
    turn *r = one->solved_rotation;
    const turn knee = turn_times(turn_back(r[0]), r[1]), ankle = turn_times(turn_back(r[1]), r[2]);
    bool changed = false, root_changed = false;
    r[0] = limited(&one->limits[0], r[0], &root_changed);
    const vec elbow = vec_add(one->position[0], vec_scale(turn_vec(r[0], thigh), stretch));
    if (root_changed) {
        r[1] = turn_times(r[0], knee);
        r[1] = turn_times(turn_between(turn_vec(r[1], shin), vec_sub(one->target, elbow)), r[1]);
    }
    bool mid_changed = false;
    const turn local = limited(&one->limits[1], turn_times(turn_back(r[0]), r[1]), &mid_changed);
    if (mid_changed) r[1] = turn_times(r[0], local);
    if (!one->has_target_rotation) r[2] = turn_times(r[1], ankle);
    const turn tip = limited(&one->limits[2], turn_times(turn_back(r[1]), r[2]), &changed);
    if (changed) r[2] = turn_times(r[1], tip);
    if (!changed && !root_changed && !mid_changed) return false;
    one->solved_position[1] = elbow;
    one->solved_position[2] = vec_add(elbow, vec_scale(turn_vec(r[1], shin), stretch));
    return true;
}

static void judge(solve_case *one) {
    one->residual = vec_length(vec_sub(one->target, one->solved_position[one->joints - 1]));
    one->flags &= ~(uint32_t)PHX_FLAG_REACHED;
    if (one->residual <= chain_length(one) * one->tolerance)
        one->flags |= PHX_FLAG_REACHED, one->flags &= ~(uint32_t)(PHX_FLAG_OUT_OF_REACH | PHX_FLAG_TOO_CLOSE);
}

/* ---- long chains ---- */

/* Where the rest pose bends: its joint that stands farthest from the line between root and tip, carried along by the root. */
static vec chain_rest_bend(const solve_case *one) {
    const turn carry = turn_times(one->rotation[0], turn_back(one->rest_rotation[0]));
    if (one->has_rest_bend) return sized(turn_vec(carry, one->rest_bend));
    vec bend = {0, 0, 0};
    if (!one->rest_given) return bend;
    const vec *r = one->rest_position, chord = vec_direction(vec_sub(r[one->joints - 1], r[0]));
    for (size_t j = 1; j + 1 < one->joints; ++j) {
        const vec off = vec_reject(vec_sub(r[j], r[0]), chord);
        if (vec_length(off) > vec_length(bend)) bend = off;
    }
    return vec_length(bend) > 1e-4 * vec_length(vec_sub(r[one->joints - 1], r[0])) ? turn_vec(carry, bend) : (vec){0, 0, 0};
}

static bool run_chain(const phx_backend *backend, solve_case *one, io_error *error) {
    const size_t n = one->joints;
    phx_vec3 position[PHX_CHAIN_MAX_JOINTS], solved[PHX_CHAIN_MAX_JOINTS];
    phx_quat rotation[PHX_CHAIN_MAX_JOINTS], correction[PHX_CHAIN_MAX_JOINTS];
    for (size_t j = 0; j < n; ++j) {
        position[j] = vec_narrow(vec_sub(one->position[j], one->position[0]));
        rotation[j] = turn_narrow(one->rotation[j]);
        correction[j] = (phx_quat){0, 0, 0, 1};
        solved[j] = position[j];
    }
    phx_vec3 target = vec_narrow(vec_sub(one->target, one->position[0]));
    phx_vec3 pole = vec_narrow(sized(one->pole)), rest_bend = vec_narrow(chain_rest_bend(one)),
             bend = vec_narrow(sized(one->previous_bend));
    phx_quat target_rotation = turn_narrow(one->target_rotation);
    float weight = (float)one->weight;
    phx_result result;

    phx_chain_job job = phx_chain_job_default();
    job.count = 1, job.joints = (uint32_t)n;
    if (one->limited) job.limits = one->limits;
    job.position = phx_joint_view_of(position, sizeof position, sizeof *position);
    job.rotation = phx_joint_view_of(rotation, sizeof rotation, sizeof *rotation);
    job.target = PHX_VIEW_ARRAY(&target), job.pole = PHX_VIEW_ARRAY(&pole), job.rest_bend = PHX_VIEW_ARRAY(&rest_bend),
    job.bend = PHX_VIEW_ARRAY(&bend);
    if (one->has_target_rotation) job.target_rotation = PHX_VIEW_ARRAY(&target_rotation);
    job.weight = PHX_VIEW_ARRAY(&weight);
    job.position_out = phx_joint_view_of(solved, sizeof solved, sizeof *solved);
    job.correction = phx_joint_view_of(correction, sizeof correction, sizeof *correction);
    job.result = PHX_VIEW_ARRAY(&result);

    phx_chain_params params = phx_chain_params_default();
    params.tolerance = (float)one->tolerance, params.max_iterations = one->max_iterations;
    params.soft_start = (float)one->soft_start, params.max_stretch = (float)one->max_stretch;
    if (one->has_twist) params.twist = one->twist;
    phx_report report;
    phx_status status;
    if (one->solver == SOLVE_FABRIK) {
        phx_fabrik_params fabrik = phx_fabrik_params_default();
        fabrik.chain = params;
        status = phx_fabrik_solve(backend, &fabrik, &job, &report);
    } else {
        phx_ccd_params ccd = phx_ccd_params_default();
        ccd.chain = params;
        if (one->damping < 1) ccd.mode = PHX_CCD_PLAIN, ccd.damping = (float)one->damping;
        status = phx_ccd_validate(&ccd, &job, &report);
        if (!status) status = phx_ccd_solve(backend, &ccd, &job, NULL);
    }
    if (status) return io_fail(error, "case '%s': %s", one->id, report.text);
    if (result.flags & PHX_FLAG_BAD_INPUT) {
        leave_as_animated(one, result.flags);
        return true;
    }
    for (size_t j = 0; j < n; ++j) {
        one->solved_position[j] = vec_add(one->position[0], vec_widen(solved[j]));
        one->solved_rotation[j] = turn_unit(turn_times(turn_widen(correction[j]), one->rotation[j]));
    }
    one->bend = vec_widen(bend), one->residual = result.residual, one->iterations = result.iterations, one->flags = result.flags;
    if (one->weight <= 0) { /* to the last digit */
        memcpy(one->solved_position, one->position, n * sizeof *one->position);
        memcpy(one->solved_rotation, one->rotation, n * sizeof *one->rotation);
    }
    return true;
}

/* ---- aim ---- */

/* All joints but the tip turn; the last bone is the forward axis, and the tip a point on the ray that is to pass the target. */
static bool run_aim(const phx_backend *backend, solve_case *one, io_error *error) {
    const size_t n = one->joints - 1;
    phx_vec3 position[PHX_CHAIN_MAX_JOINTS], solved[PHX_CHAIN_MAX_JOINTS];
    phx_quat rotation[PHX_CHAIN_MAX_JOINTS], correction[PHX_CHAIN_MAX_JOINTS];
    for (size_t j = 0; j < n; ++j) {
        position[j] = vec_narrow(vec_sub(one->position[j], one->position[0]));
        rotation[j] = turn_narrow(one->rotation[j]);
    }
    const vec bone = vec_sub(one->position[n], one->position[n - 1]);
    if (vec_length(bone) == 0) {
        leave_as_animated(one, PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
        return true;
    }
    phx_vec3 target = vec_narrow(vec_sub(one->target, one->position[0])), pole = vec_narrow(sized(one->pole));
    float weight = (float)one->weight;
    phx_result result;
    phx_chain_job job = phx_chain_job_default();
    job.count = 1, job.joints = (uint32_t)n;
    if (one->limited) job.limits = one->limits;
    job.position = phx_joint_view_of(position, sizeof position, sizeof *position);
    job.rotation = phx_joint_view_of(rotation, sizeof rotation, sizeof *rotation);
    job.target = PHX_VIEW_ARRAY(&target), job.weight = PHX_VIEW_ARRAY(&weight);
    if (one->has_pole) job.pole = PHX_VIEW_ARRAY(&pole);
    job.position_out = phx_joint_view_of(solved, sizeof solved, sizeof *solved);
    job.correction = phx_joint_view_of(correction, sizeof correction, sizeof *correction);
    job.result = PHX_VIEW_ARRAY(&result);

    phx_aim_params params = phx_aim_params_default();
    const vec forward = turn_vec(turn_back(one->rotation[n - 1]), vec_direction(bone));
    params.forward = vec_narrow(forward);
    /* local +Y, or +Z where the bone lies along it */
    params.up = fabs(forward.y) < 0.9 ? (phx_vec3){0, 1, 0} : (phx_vec3){0, 0, 1};
    params.tolerance = (float)one->tolerance;
    phx_report report;
    if (phx_aim_solve(backend, &params, &job, &report)) return io_fail(error, "case '%s': %s", one->id, report.text);
    if (result.flags & PHX_FLAG_BAD_INPUT) {
        leave_as_animated(one, result.flags);
        return true;
    }
    one->bend = one->previous_bend, one->residual = result.residual, one->iterations = result.iterations, one->flags = result.flags;
    for (size_t j = 0; j < n; ++j) {
        one->solved_position[j] = vec_add(one->position[0], vec_widen(solved[j]));
        one->solved_rotation[j] = turn_unit(turn_times(turn_widen(correction[j]), one->rotation[j]));
    }
    const turn last = turn_unit(turn_widen(correction[n - 1]));
    one->solved_position[n] = vec_add(one->solved_position[n - 1], turn_vec(last, bone));
    one->solved_rotation[n] = turn_times(last, one->rotation[n]);
    if (one->weight <= 0) { /* to the last digit */
        memcpy(one->solved_position, one->position, (n + 1) * sizeof *one->position);
        memcpy(one->solved_rotation, one->rotation, (n + 1) * sizeof *one->rotation);
    }
    return true;
}

/* ---- two bones, with what they ask of chains ---- */

/* CCD under the same limits, at full weight; kept where it comes nearer to the target. */
static bool take_sweeps(const phx_backend *backend, solve_case *one, io_error *error) {
    vec position[3];
    turn rotation[3];
    memcpy(position, one->solved_position, sizeof position), memcpy(rotation, one->solved_rotation, sizeof rotation);
    const solve_case before = *one;
    one->solver = SOLVE_CCD, one->weight = 1, one->has_twist = false, one->damping = 1;
    if (!run_chain(backend, one, error)) return false;
    one->solver = before.solver, one->weight = before.weight, one->has_twist = before.has_twist, one->damping = before.damping;
    one->flags |= PHX_FLAG_LIMIT;
    if (one->residual < before.residual && !(one->flags & PHX_FLAG_BAD_INPUT)) return true;
    memcpy(one->solved_position, position, sizeof position), memcpy(one->solved_rotation, rotation, sizeof rotation);
    one->bend = before.bend, one->residual = before.residual, one->iterations = before.iterations, one->flags = before.flags;
    return true;
}

static bool run_two_bone(const phx_backend *backend, solve_case *one, io_error *error) {
    const vec thigh = vec_sub(one->position[1], one->position[0]);
    const knee k = knee_of(one);
    phx_two_bone_params params = phx_two_bone_params_default();
    params.twist = one->twist;
    params.tolerance = fmaxf((float)one->tolerance, 1e-30f);
    params.soft_start = (float)one->soft_start, params.max_stretch = (float)one->max_stretch;
    if (k.known) params.max_bend = fminf((float)k.high, params.max_bend), params.min_bend = fminf((float)k.low, params.max_bend);
    /* limits rule the whole answer, so the weight is then taken of the limited one */
    const bool later = one->limited && one->weight < 1;
    const double weight = later ? 1 : one->weight;
    vec rest_bend = rest_bend_of(one, &k, thigh);
    two_bone_answer answer;
    if (!solve_once(backend, &params, one, &k, rest_bend, weight, &answer, error)) return false;
    /* A straight pose has no hinge. Where neither rest pose nor limit tells it and the bend is the pole's own, the mid joint's local X
     * is taken: a rest bend of its own then turns the twist only. */
    if (vec_length(rest_bend) == 0 && one->has_pole && !(answer.flags & (PHX_FLAG_HINT_UNUSABLE | PHX_FLAG_BAD_INPUT))) {
        rest_bend = vec_cross(vec_direction(thigh), turn_vec(one->rotation[1], (vec){1, 0, 0}));
        if (!solve_once(backend, &params, one, &k, rest_bend, weight, &answer, error)) return false;
    }
    if (answer.flags & PHX_FLAG_BAD_INPUT) {
        leave_as_animated(one, answer.flags);
        return true;
    }
    one->bend = answer.bend, one->residual = answer.residual, one->iterations = 1, one->flags = answer.flags;
    one->solved_position[0] = one->position[0];
    one->solved_position[1] = vec_add(one->position[0], answer.upper);
    one->solved_position[2] = vec_add(one->solved_position[1], answer.lower);
    one->solved_rotation[0] = turn_unit(turn_times(answer.root, one->rotation[0]));
    one->solved_rotation[1] = turn_unit(turn_times(answer.mid, k.mid));
    one->solved_rotation[2] = turn_unit(turn_times(answer.tip, k.tip));
    if (one->limited && hold_to_limits(one, answer.stretch)) {
        one->flags |= PHX_FLAG_LIMIT;
        judge(one);
        if (!(one->flags & PHX_FLAG_REACHED) && !take_sweeps(backend, one, error)) return false;
    }
    if (later) {
        const size_t bone = vec_length(thigh) > 0 ? 0 : 1;
        const double before = vec_length(vec_sub(one->position[bone + 1], one->position[bone]));
        const double after = vec_length(vec_sub(one->solved_position[bone + 1], one->solved_position[bone]));
        const double share = fmax(one->weight, 0), stretch = 1 + (after / before - 1) * share;
        for (size_t j = 0; j < 3; ++j) one->solved_rotation[j] = turn_slerp(one->rotation[j], one->solved_rotation[j], share);
        for (size_t j = 0; j < 2; ++j) {
            const turn correction = turn_times(one->solved_rotation[j], turn_back(one->rotation[j]));
            const vec bone = turn_vec(correction, vec_sub(one->position[j + 1], one->position[j]));
            one->solved_position[j + 1] = vec_add(one->solved_position[j], vec_scale(bone, stretch));
        }
        judge(one);
    }
    if (one->weight <= 0) { /* to the last digit */
        memcpy(one->solved_position, one->position, 3 * sizeof *one->position);
        memcpy(one->solved_rotation, one->rotation, 3 * sizeof *one->rotation);
    }
    return true;
}

bool solve_run(const phx_backend *backend, solve_case *one, io_error *error) {
    if (one->bad_rotation || one->no_direction) {
        leave_as_animated(one, PHX_FLAG_BAD_INPUT);
        return true;
    }
    switch (one->solver) {
    case SOLVE_TWO_BONE: return run_two_bone(backend, one, error);
    case SOLVE_FABRIK:
    case SOLVE_CCD: return run_chain(backend, one, error);
    case SOLVE_AIM: return run_aim(backend, one, error);
    }
    return false;
}
