/* Fuzz target: jobs of long chains, by the solver that FUZZ_SOLVER names: 0 FABRIK, 1 CCD, 2 aim. Any joints, counts, strides, optional
 * fields, limits and numbers. The reference and a backend agree to the bit, refused jobs touch nothing, neighbours do not matter. */
#include "fuzz.h"

static phx_chain_params take_chain_params(fuzz_bytes *b, uint32_t which) {
    phx_chain_params params = phx_chain_params_default();
    params.max_iterations = which & 1 ? take_below(b, 24) : 8;
    if (which & 2) params.soft_start = take_parameter(b, 0.5f, 1.0f);
    if (which & 4) params.max_stretch = take_parameter(b, 1.0f, 2.0f);
    if (which & 8) params.tolerance = take_parameter(b, 0.0f, 1.0f);
    if (which & 16) params.direction_tolerance = take_parameter(b, 1e-6f, 0.5f);
    if (which & 32 && FUZZ_SOLVER == 0) params.twist = PHX_TWIST_PLANE;
    return params;
}

static phx_vec3 take_vector(fuzz_bytes *b) {
    const float x = take_float(b), y = take_float(b), z = take_float(b);
    return (phx_vec3){x, y, z};
}

static phx_limit take_limit(fuzz_bytes *b) {
    phx_limit limit = phx_limit_none();
    limit.type = (phx_limit_type)take_below(b, 4);
    if (limit.type == PHX_LIMIT_NONE) return limit;
    limit.axis = take_vector(b);
    limit.side = take_byte(b) & 1 ? take_vector(b) : (phx_vec3){limit.axis.y, limit.axis.z, -limit.axis.x};
    limit.min = take_parameter(b, -3.1f, 1.0f), limit.max = limit.min + take_parameter(b, 0, 3.0f);
    limit.twist_min = take_parameter(b, -3.1f, 1.0f), limit.twist_max = limit.twist_min + take_parameter(b, 0, 3.0f);
    limit.max_swing = take_parameter(b, 0, 3.1f), limit.max_swing_across = take_parameter(b, 0, 3.1f);
    if (take_byte(b) & 1) limit.rest = (phx_quat){take_float(b), take_float(b), take_float(b), 1};
    return limit;
}

typedef struct solver {
    phx_fabrik_params fabrik;
    phx_ccd_params ccd;
    phx_aim_params aim;
} solver;

static solver take_solver(fuzz_bytes *b) {
    solver s = {phx_fabrik_params_default(), phx_ccd_params_default(), phx_aim_params_default()};
    const uint32_t which = take_byte(b), more = take_byte(b);
    s.fabrik.chain = s.ccd.chain = take_chain_params(b, which);
    if (more & 1) s.ccd.mode = PHX_CCD_PLAIN, s.ccd.damping = take_parameter(b, 0.1f, 1.0f);
    if (more & 2) s.ccd.from = take_below(b, 4);
    if (more & 4) s.ccd.max_turn = take_parameter(b, 0.1f, 3.0f);
    if (more & 8) s.aim.forward = take_vector(b), s.aim.up = take_vector(b);
    if (more & 16) s.aim.eye = take_vector(b);
    if (more & 32) s.aim.max_angle = take_parameter(b, 0.0f, 3.14159274f);
    return s;
}

static phx_status solve(const phx_backend *backend, const solver *s, const phx_chain_job *job) {
    if (FUZZ_SOLVER == 0) return phx_fabrik_solve(backend, &s->fabrik, job, NULL);
    if (FUZZ_SOLVER == 1) return phx_ccd_solve(backend, &s->ccd, job, NULL);
    return phx_aim_solve(backend, &s->aim, job, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    const phx_backend *backend = take_backend(&b), *reference = phx_backend_find("reference");
    const solver s = take_solver(&b);
    phx_chain_job job = phx_chain_job_default();
    static const uint32_t sizes[] = {2, 3, 4, 5, 3, 4, 6, 9, 17, 33, 34, 65, 1, 0, 66, 7};
    const uint32_t joints = sizes[take_below(&b, 16)];
    job.joints = joints;
    job.count = take_below(&b, joints > 16 ? 5 : FUZZ_MOST);
    if (take_byte(&b) == 255) job.count = 70; /* enough for FABRIK's pool of the narrower backends */
    phx_limit limits[PHX_CHAIN_MAX_JOINTS + 2];
    float weights[PHX_CHAIN_MAX_JOINTS + 2];
    const uint32_t given = take_word(&b);
    for (uint32_t j = 0; j < sizeof limits / sizeof *limits; ++j) limits[j] = phx_limit_none(), weights[j] = 1;
    if (given >> 24 & 1) {
        for (uint32_t j = 0; j < joints; ++j) limits[j] = take_limit(&b);
        job.limits = limits;
    }
    if (given >> 25 & 1) {
        for (uint32_t j = 0; j < joints; ++j) weights[j] = take_parameter(&b, 0, 1);
        job.joint_weights = weights;
    }
    fuzz_job f = {.chains = job.count};
    phx_joint_view *joint_views[] = {&job.position,     &job.position_out, &job.rotation, &job.local, &job.correction,
                                     &job.rotation_out, &job.local_out,    &job.start,    &job.length};
    static const struct {
        size_t size;
        int output;
    } shapes[] = {{12, 0}, {12, 1}, {16, 0}, {16, 0}, {16, 1}, {16, 1}, {16, 1}, {12, 0}, {4, 0}};
    for (uint32_t k = 0; k < 9; ++k) {
        const size_t elements = k == 8 ? (joints > 1 ? joints - 1 : 1) : joints ? joints : 1;
        joint_views[k]->joint_stride = shapes[k].size + (given >> 26 & 1 ? 5 : 0);
        fuzz_add(&f, &joint_views[k]->data, &joint_views[k]->chain_stride, (elements - 1) * joint_views[k]->joint_stride + shapes[k].size,
                 shapes[k].output);
    }
    FUZZ_VIEW(&f, job.target, 12, 0), FUZZ_VIEW(&f, job.target_rotation, 16, 0), FUZZ_VIEW(&f, job.pole, 12, 0),
        FUZZ_VIEW(&f, job.rest_bend, 12, 0);
    FUZZ_VIEW(&f, job.parent_rotation, 16, 0), FUZZ_VIEW(&f, job.weight, 4, 0), FUZZ_VIEW(&f, job.budget, 4, 0),
        FUZZ_VIEW(&f, job.bend, 12, 1);
    FUZZ_VIEW(&f, job.stretch, 4, 1), FUZZ_VIEW(&f, job.result, 12, 1);
    f.fields[15].words = 1;
    for (uint32_t k = 0; k < f.count; ++k) {
        const int required = k == 0 || k == 9 || (FUZZ_SOLVER == 2 && k == 2);
        if (!required && !(given >> k & 1)) continue;
        *f.fields[k].data = f.fields[k].output && k != 16 ? NULL : (void *)&f;
        fuzz_take(&f, f.fields + k, &b);
    }
    fuzz_point(&f, 0);
    const phx_status status = solve(reference, &s, &job);
    fuzz_point(&f, 1);
    FUZZ_CHECK(solve(backend, &s, &job) == status);
    if (status != PHX_OK) {
        fuzz_untouched(&f, 0), fuzz_untouched(&f, 1);
        fuzz_free(&f);
        return 0;
    }
    fuzz_same(&f, 0, 1);
    for (size_t i = 0; i < job.count; ++i) {
        phx_result result = {0, 0, 0};
        if (job.result.data) memcpy(&result, (char *)job.result.data + i * job.result.stride, sizeof result);
        FUZZ_CHECK(isfinite(result.residual) && result.residual >= 0 && (result.flags & ~0xFFFu) == 0);
        FUZZ_CHECK(!(result.flags & PHX_FLAG_BAD_INPUT) || !(result.flags & PHX_FLAG_REACHED));
        for (uint32_t j = 0; job.correction.data && j < joints; ++j) {
            phx_quat turn;
            memcpy(&turn, (char *)job.correction.data + i * job.correction.chain_stride + j * job.correction.joint_stride, sizeof turn);
            FUZZ_CHECK(fabsf(turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w - 1) < 1e-3f);
        }
    }
    if (fuzz_apart(&f)) {
        const size_t victim = take_below(&b, (uint32_t)job.count);
        fuzz_spoil(&f, 2, victim, &b);
        fuzz_point(&f, 2);
        FUZZ_CHECK(solve(backend, &s, &job) == PHX_OK);
        fuzz_same_but(&f, 1, 2, victim);
    }
    fuzz_free(&f);
    return 0;
}
