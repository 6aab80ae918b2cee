/* Fuzz target: two-bone jobs of any count, strides, optional fields and numbers. The reference and a backend agree to the bit, refused
 * jobs touch nothing, a leg's neighbours do not matter, and results are what the header says. */
#include "fuzz.h"

static phx_two_bone_params take_params(fuzz_bytes *b) {
    phx_two_bone_params params = phx_two_bone_params_default();
    const uint32_t which = take_byte(b);
    if (which & 1) params.twist = PHX_TWIST_INHERIT;
    if (which & 2) params.soft_start = take_parameter(b, 0.5f, 1.0f);
    if (which & 4) params.max_stretch = take_parameter(b, 1.0f, 2.0f);
    if (which & 8) params.max_bend = take_parameter(b, 0.0f, 3.14159274f), params.min_bend = take_parameter(b, 0.0f, params.max_bend);
    if (which & 16) params.max_bend_turn = take_parameter(b, 0.0f, 3.14159274f);
    if (which & 32) params.tolerance = take_parameter(b, 1e-30f, 1.0f);
    if (which & 64) params.direction_tolerance = take_parameter(b, 1e-6f, 0.5f);
    return params;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    phx_two_bone_job job = phx_two_bone_job_default();
    const phx_backend *backend = take_backend(&b), *reference = phx_backend_find("reference");
    job.params = take_params(&b);
    job.count = take_below(&b, FUZZ_MOST);
    const uint32_t given = take_word(&b);
    fuzz_job f = {.chains = job.count};
    FUZZ_VIEW(&f, job.root, 12, 0), FUZZ_VIEW(&f, job.mid, 12, 0), FUZZ_VIEW(&f, job.tip, 12, 0), FUZZ_VIEW(&f, job.target, 12, 0);
    FUZZ_VIEW(&f, job.pole, 12, 0), FUZZ_VIEW(&f, job.rest_bend, 12, 0), FUZZ_VIEW(&f, job.weight, 4, 0),
        FUZZ_VIEW(&f, job.pole_weight, 4, 0);
    FUZZ_VIEW(&f, job.parent_rotation, 16, 0), FUZZ_VIEW(&f, job.root_local, 16, 0), FUZZ_VIEW(&f, job.mid_local, 16, 0);
    FUZZ_VIEW(&f, job.tip_local, 16, 0), FUZZ_VIEW(&f, job.target_rotation, 16, 0), FUZZ_VIEW(&f, job.bend, 12, 1);
    FUZZ_VIEW(&f, job.root_rotation, 16, 1), FUZZ_VIEW(&f, job.mid_rotation, 16, 1), FUZZ_VIEW(&f, job.tip_rotation, 16, 1);
    FUZZ_VIEW(&f, job.root_local_out, 16, 1), FUZZ_VIEW(&f, job.mid_local_out, 16, 1), FUZZ_VIEW(&f, job.tip_local_out, 16, 1);
    FUZZ_VIEW(&f, job.mid_position, 12, 1), FUZZ_VIEW(&f, job.tip_position, 12, 1), FUZZ_VIEW(&f, job.stretch, 4, 1),
        FUZZ_VIEW(&f, job.result, 12, 1);
    for (uint32_t k = 0; k < f.count; ++k)
        if (k < 4 ? (given >> 24) < 250 || k != (given & 3) : given >> (k - 4) & 1) {
            *f.fields[k].data = &f; /* until it points to a run's array; tells bend apart from pure outputs */
            if (f.fields[k].output && k != 13) *f.fields[k].data = NULL;
            fuzz_take(&f, f.fields + k, &b);
        }
    fuzz_point(&f, 0);
    const phx_status status = phx_two_bone_solve(reference, &job);
    fuzz_point(&f, 1);
    FUZZ_CHECK(phx_two_bone_solve(backend, &job) == status);
    if (status != PHX_OK) {
        phx_report report;
        FUZZ_CHECK(phx_two_bone_validate(&job, &report) == status && report.text[0]);
        fuzz_untouched(&f, 0), fuzz_untouched(&f, 1);
        fuzz_free(&f);
        return 0;
    }
    fuzz_same(&f, 0, 1);
    for (size_t i = 0; i < job.count; ++i) {
        phx_result result = {0, 0, 0};
        phx_quat turn = {0, 0, 0, 1};
        if (job.result.data) memcpy(&result, (char *)job.result.data + i * job.result.stride, sizeof result);
        if (job.root_rotation.data) memcpy(&turn, (char *)job.root_rotation.data + i * job.root_rotation.stride, sizeof turn);
        FUZZ_CHECK(isfinite(result.residual) && result.residual >= 0);
        FUZZ_CHECK(fabsf(turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + turn.w * turn.w - 1) < 1e-4f);
        FUZZ_CHECK((result.flags & ~0xFFFu) == 0 && (!(result.flags & PHX_FLAG_BAD_INPUT) || !(result.flags & PHX_FLAG_REACHED)));
    }
    if (fuzz_apart(&f)) {
        const size_t victim = take_below(&b, (uint32_t)job.count);
        fuzz_spoil(&f, 2, victim, &b);
        fuzz_point(&f, 2);
        FUZZ_CHECK(phx_two_bone_solve(backend, &job) == PHX_OK);
        fuzz_same_but(&f, 1, 2, victim);
    }
    fuzz_free(&f);
    return 0;
}
