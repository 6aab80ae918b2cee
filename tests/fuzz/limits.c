/* Fuzz target: one limit on any rotations; the reference and a backend agree to the bit, and a limited rotation is within its limit. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, data + size};
    const phx_backend *backend = take_backend(&b), *reference = phx_backend_find("reference");
    phx_limit limit = phx_limit_none();
    limit.type = (phx_limit_type)take_below(&b, 5);
    limit.axis = (phx_vec3){take_float(&b), take_float(&b), take_float(&b)},
    limit.side = (phx_vec3){take_float(&b), take_float(&b), take_float(&b)};
    limit.min = take_parameter(&b, -6.3f, 3), limit.max = limit.min + take_parameter(&b, 0, 6.2f);
    limit.twist_min = take_parameter(&b, -6.3f, 3), limit.twist_max = limit.twist_min + take_parameter(&b, 0, 6.2f);
    limit.max_swing = take_parameter(&b, 0, 3.14159f), limit.max_swing_across = take_parameter(&b, 0, 3.14159f);
    if (take_byte(&b) & 1) limit.rest = (phx_quat){take_float(&b), take_float(&b), take_float(&b), take_float(&b)};
    fuzz_job f = {.chains = take_below(&b, FUZZ_MOST)};
    phx_view local = {0}, limited = {0}, changed = {0};
    FUZZ_VIEW(&f, local, 16, 0), FUZZ_VIEW(&f, limited, 16, 1), FUZZ_VIEW(&f, changed, 4, 1);
    const uint32_t given = take_byte(&b);
    for (uint32_t k = 0; k < f.count; ++k) {
        if (k == 2 && given & 1) continue;
        *f.fields[k].data = f.fields[k].output ? NULL : (void *)&f;
        fuzz_take(&f, f.fields + k, &b);
    }
    phx_report report;
    fuzz_point(&f, 0);
    const phx_status status = phx_limit_apply(reference, &limit, f.chains, local, limited, changed, &report);
    fuzz_point(&f, 1);
    FUZZ_CHECK(phx_limit_apply(backend, &limit, f.chains, local, limited, changed, &report) == status);
    if (status != PHX_OK) {
        FUZZ_CHECK(report.text[0]);
        fuzz_untouched(&f, 0), fuzz_untouched(&f, 1);
        fuzz_free(&f);
        return 0;
    }
    fuzz_same(&f, 0, 1);
    for (size_t i = 0; i < f.chains; ++i) {
        phx_quat before, after;
        uint32_t flag = 0;
        memcpy(&before, (char *)local.data + i * local.stride, sizeof before),
            memcpy(&after, (char *)limited.data + i * limited.stride, sizeof after);
        if (changed.data) memcpy(&flag, (char *)changed.data + i * changed.stride, sizeof flag);
        if (changed.data && !flag) FUZZ_CHECK(memcmp(&before, &after, sizeof after) == 0);
        if (flag) FUZZ_CHECK(fabsf(after.x * after.x + after.y * after.y + after.z * after.z + after.w * after.w - 1) < 1e-5f);
    }
    if (fuzz_apart(&f)) {
        const size_t victim = take_below(&b, (uint32_t)f.chains);
        fuzz_spoil(&f, 2, victim, &b);
        fuzz_point(&f, 2);
        FUZZ_CHECK(phx_limit_apply(backend, &limit, f.chains, local, limited, changed, &report) == PHX_OK);
        fuzz_same_but(&f, 1, 2, victim);
    }
    fuzz_free(&f);
    return 0;
}
