/* Two-bone jobs and blocks that are wrong: every field, every way to be wrong, gets its status and a sentence that names the
 * field, and nothing is written. */
#include "two_bone_oracle.h"

typedef struct field {
    const char *name;
    size_t offset, size; /* of the view in the job, of its element */
    int required, output;
} field;

#define FIELD(name, size, required, output) {#name, offsetof(phx_two_bone_job, name), size, required, output}
static const field fields[] = {
    FIELD(root, 12, 1, 0),
    FIELD(mid, 12, 1, 0),
    FIELD(tip, 12, 1, 0),
    FIELD(target, 12, 1, 0),
    FIELD(pole, 12, 0, 0),
    FIELD(rest_bend, 12, 0, 0),
    FIELD(weight, 4, 0, 0),
    FIELD(pole_weight, 4, 0, 0),
    FIELD(parent_rotation, 16, 0, 0),
    FIELD(root_local, 16, 1, 0),
    FIELD(mid_local, 16, 1, 0),
    FIELD(tip_local, 16, 1, 0),
    FIELD(target_rotation, 16, 0, 0),
    FIELD(bend, 12, 0, 1),
    FIELD(root_rotation, 16, 0, 1),
    FIELD(mid_rotation, 16, 0, 1),
    FIELD(tip_rotation, 16, 0, 1),
    FIELD(root_local_out, 16, 0, 1),
    FIELD(mid_local_out, 16, 0, 1),
    FIELD(tip_local_out, 16, 0, 1),
    FIELD(mid_position, 12, 0, 1),
    FIELD(tip_position, 12, 0, 1),
    FIELD(stretch, 4, 0, 1),
    FIELD(result, 12, 0, 1),
};
enum { FIELDS = sizeof fields / sizeof *fields, LEGS = 20 };

static leg good_legs[LEGS];

static phx_two_bone_job good_job(leg *legs) {
    for (int i = 0; i < LEGS; ++i) {
        good_legs[i] =
            leg_of((phx_vec3){0, 1, 0}, (phx_vec3){0, 0.55f, 0}, (phx_vec3){0, 0.1f, 0.1f}, (phx_vec3){0, 0.3f, 0}, (phx_vec3){0, 0, 1});
        good_legs[i].target_rotation.w = 1;
    }
    memcpy(legs, good_legs, sizeof good_legs);
    return job_over(legs, LEGS, phx_two_bone_params_default());
}

/* validate, solve and solve_range all refuse; the sentence names the field; no byte of the legs has changed */
static void assert_refused(const phx_two_bone_job *job, phx_status wanted, const char *name, const leg *legs) {
    phx_report report;
    memset(&report, 0x55, sizeof report);
    const phx_status status = phx_two_bone_validate(job, &report);
    char quoted[64];
    snprintf(quoted, sizeof quoted, "'%s'", name);
    if (status != wanted || report.status != wanted || !strstr(report.text, quoted)) {
        print_error("%s: status %d (%s), wanted %d (%s); '%s'\n", name, (int)status, phx_status_name(status), (int)wanted,
                    phx_status_name(wanted), report.text);
        fail();
    }
    assert_true(strlen(report.text) > strlen("two_bone job: "));
    assert_int_equal(phx_two_bone_validate(job, NULL), wanted);
    FOR_EACH_BACKEND(backend) {
        assert_int_equal(phx_two_bone_solve(backend, job), wanted);
        assert_int_equal(phx_two_bone_solve_range(backend, job, 0, 1), wanted);
    }
    if (legs) assert_memory_equal(legs, good_legs, sizeof good_legs);
}

static void a_whole_job_is_accepted(void **state) {
    (void)state;
    leg legs[LEGS];
    const phx_two_bone_job job = good_job(legs);
    phx_report report;
    memset(&report, 0x55, sizeof report);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    assert_int_equal(report.status, PHX_OK);
    assert_string_equal(report.text, "");
    assert_int_equal(phx_two_bone_validate(&job, NULL), PHX_OK);
    assert_int_equal(phx_two_bone_solve(phx_backend_best(), &job), PHX_OK);
}

static void missing_fields_are_named(void **state) {
    (void)state;
    leg legs[LEGS];
    for (int f = 0; f < FIELDS; ++f) {
        phx_two_bone_job job = good_job(legs);
        phx_view *view = (phx_view *)(void *)((char *)&job + fields[f].offset);
        view->data = NULL;
        if (fields[f].required) assert_refused(&job, PHX_ERROR_NULL, fields[f].name, legs);
        else assert_int_equal(phx_two_bone_validate(&job, NULL), PHX_OK);
    }
    /* each local output, and the tip's target, needs the locals down to it */
    static const char *const wants[][2] = {
        {"root_local_out", "root_local"},  {"mid_local_out", "root_local"},  {"mid_local_out", "mid_local"},
        {"tip_local_out", "root_local"},   {"tip_local_out", "mid_local"},   {"tip_local_out", "tip_local"},
        {"target_rotation", "root_local"}, {"target_rotation", "mid_local"}, {"target_rotation", "tip_local"}};
    for (size_t k = 0; k < sizeof wants / sizeof *wants; ++k) {
        phx_two_bone_job job = good_job(legs);
        for (int f = 0; f < FIELDS; ++f) {
            const int asks = strstr(fields[f].name, "_local_out") || strcmp(fields[f].name, "target_rotation") == 0;
            if ((asks && strcmp(fields[f].name, wants[k][0]) != 0) || strcmp(fields[f].name, wants[k][1]) == 0)
                ((phx_view *)(void *)((char *)&job + fields[f].offset))->data = NULL;
        }
        assert_refused(&job, PHX_ERROR_NULL, wants[k][1], legs);
    }
}

static void strides_that_hold_no_element_are_named(void **state) {
    (void)state;
    leg legs[LEGS];
    for (int f = 0; f < FIELDS; ++f) {
        for (size_t stride = 0; stride < fields[f].size; ++stride) {
            phx_two_bone_job job = good_job(legs);
            ((phx_view *)(void *)((char *)&job + fields[f].offset))->stride = stride;
            if (stride == 0 && !fields[f].output) assert_int_equal(phx_two_bone_validate(&job, NULL), PHX_OK); /* one value for all */
            else assert_refused(&job, PHX_ERROR_STRIDE, fields[f].name, legs);
        }
        for (int k = 0; k < 3; ++k) { /* beyond all memory */
            phx_two_bone_job job = good_job(legs);
            ((phx_view *)(void *)((char *)&job + fields[f].offset))->stride = k == 0 ? SIZE_MAX : k == 1 ? SIZE_MAX - 7 : SIZE_MAX / 2;
            assert_refused(&job, PHX_ERROR_STRIDE, fields[f].name, legs);
        }
        static char own[16 * LEGS]; /* among the legs these would lie on other fields */
        phx_two_bone_job job = good_job(legs);
        *(phx_view *)(void *)((char *)&job + fields[f].offset) = phx_view_of(own, fields[f].size);
        assert_int_equal(phx_two_bone_validate(&job, NULL), PHX_OK);
    }
}

typedef struct range {
    const char *name;
    size_t offset;
    float low, high;
} range;
#define RANGE(name, low, high) {#name, offsetof(phx_two_bone_params, name), low, high}
static const range ranges[] = {
    RANGE(tolerance, 1e-30f, 1.0f),          RANGE(direction_tolerance, 1e-6f, 0.5f), RANGE(soft_start, 1e-3f, 1.0f),
    RANGE(max_stretch, 1.0f, 16.0f),         RANGE(min_bend, 0.0f, 3.14159274f),      RANGE(max_bend, 0.0f, 3.14159274f),
    RANGE(max_bend_turn, 0.0f, 3.14159274f),
};
enum { RANGES = sizeof ranges / sizeof *ranges };

static void parameters_out_of_range_are_named(void **state) {
    (void)state;
    leg legs[LEGS];
    _Alignas(64) phx_two_bone_block block, before;
    memset(&block, 0x11, sizeof block), memset(&before, 0x11, sizeof before);
    for (int k = 0; k < RANGES; ++k) {
        const float wrong[] = {NAN,
                               INFINITY,
                               -INFINITY,
                               -1.0f,
                               nextafterf(ranges[k].high, 100.0f),
                               ranges[k].low > 0 ? nextafterf(ranges[k].low, -1.0f) : -1e-30f};
        for (int w = 0; w < 6; ++w) {
            phx_two_bone_job job = good_job(legs);
            memcpy((char *)&job.params + ranges[k].offset, &wrong[w], sizeof wrong[w]);
            assert_refused(&job, PHX_ERROR_VALUE, ranges[k].name, legs);
            phx_report report;
            FOR_EACH_BACKEND(backend)
            assert_int_equal(phx_two_bone_solve_blocks(backend, &job.params, &block, NULL, 1, &report), PHX_ERROR_VALUE);
            assert_non_null(strstr(report.text, ranges[k].name));
            assert_memory_equal(&block, &before, sizeof block);
        }
        const float right[] = {ranges[k].low, ranges[k].high};
        for (int w = 0; w < 2; ++w) {
            phx_two_bone_job job = good_job(legs);
            memcpy((char *)&job.params + ranges[k].offset, &right[w], sizeof right[w]);
            assert_int_equal(phx_two_bone_validate(&job, NULL), PHX_OK);
        }
    }
    phx_two_bone_job job = good_job(legs);
    job.params.min_bend = 1.0f, job.params.max_bend = 0.5f;
    assert_refused(&job, PHX_ERROR_VALUE, "min_bend", legs);
    phx_report report;
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_VALUE);
    assert_non_null(strstr(report.text, "'min_bend' is 1, above 'max_bend', which is 0.5"));
    job = good_job(legs);
    const int other = 7;
    memcpy(&job.params.twist, &other, sizeof other);
    assert_refused(&job, PHX_ERROR_VALUE, "twist", legs);
}

static void outputs_that_overlap_are_named(void **state) {
    (void)state;
    static leg legs[LEGS + 4];
    phx_report report;
    for (int f = 0; f < FIELDS; ++f) {
        if (!fields[f].output) continue;
        /* onto another output of the same leg, whole or by a byte; onto the next leg's inputs */
        for (int g = 0; g < FIELDS; ++g) {
            if (g == f) continue;
            phx_two_bone_job job = good_job(legs);
            phx_view *a = (phx_view *)(void *)((char *)&job + fields[f].offset), *b = (phx_view *)(void *)((char *)&job + fields[g].offset);
            a->data = b->data;
            if (fields[g].output) {
                assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
                assert_non_null(strstr(report.text, fields[f].name));
                FOR_EACH_BACKEND(backend) assert_int_equal(phx_two_bone_solve(backend, &job), PHX_ERROR_OVERLAP);
                a->data = (char *)b->data + fields[g].size - 1;
                assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
            } else {
                a->data = (char *)b->data + sizeof(leg);
                assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
                assert_non_null(strstr(report.text, fields[f].name));
                a->data = (char *)b->data + 3 * sizeof(leg) - 1;
                assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
            }
            assert_memory_equal(legs, good_legs, sizeof good_legs);
        }
    }
    /* one value for all legs that lies where an output of some leg goes */
    phx_two_bone_job job = good_job(legs);
    job.pole = PHX_VIEW_ONE(&legs[3].mid_position);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
    assert_non_null(strstr(report.text, "'pole'"));
    job.pole = PHX_VIEW_ONE(&legs[3].pole);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    /* in place, within a leg: any output onto any input that it fits */
    job = good_job(legs);
    job.mid_position = job.mid, job.tip_position = job.tip, job.root_local_out = job.root_local, job.mid_local_out = job.mid_local;
    job.tip_local_out = job.tip_local, job.stretch = job.weight, job.root_rotation = job.parent_rotation;
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    /* packed arrays side by side, and one leg alone */
    static phx_vec3 packed[3 * LEGS];
    job = good_job(legs);
    job.bend = phx_view_of(packed, 12), job.mid_position = phx_view_of(packed + LEGS, 12), job.tip_position = phx_view_of(packed + 2 * LEGS, 12);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    job.mid_position = phx_view_of(packed + LEGS - 1, 12);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
    job.count = 1;
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    /* views of two strides: one leg's own elements may be one, another's not, and what lies between them is free */
    static phx_vec3 wide[8 * LEGS];
    job = good_job(legs);
    job.pole = phx_view_of(wide, 24), job.bend = phx_view_of(wide, 12);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_ERROR_OVERLAP);
    assert_non_null(strstr(report.text, "'bend' overlaps 'pole' of another element"));
    job.count = 1;
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    job.count = LEGS, job.bend = phx_view_of(wide + 1, 48);
    assert_int_equal(phx_two_bone_validate(&job, &report), PHX_OK);
    job.mid_position = phx_view_of(wide + 3, 72); /* the first leg's lies where the second one's pole does not */
    assert_int_equal(phx_two_bone_validate(&job, &report), LEGS > 4 ? PHX_ERROR_OVERLAP : PHX_OK);
}

static void counts_and_ranges_out_of_bounds_are_refused(void **state) {
    (void)state;
    leg legs[LEGS];
    phx_two_bone_job job = good_job(legs);
    job.count = SIZE_MAX;
    assert_refused(&job, PHX_ERROR_COUNT, "count", legs);
    job = good_job(legs);
    assert_int_equal(phx_two_bone_block_count(&job), 2);
    assert_int_equal(phx_two_bone_block_count(NULL), 0);
    static const size_t wrong[][2] = {{3, 0}, {0, 3}, {1, 2}, {2, 1}, {SIZE_MAX, 1}, {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}};
    FOR_EACH_BACKEND(backend) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k)
            assert_int_equal(phx_two_bone_solve_range(backend, &job, wrong[k][0], wrong[k][1]), PHX_ERROR_COUNT);
        assert_int_equal(phx_two_bone_solve_range(backend, &job, 2, 0), PHX_OK);
        assert_int_equal(phx_two_bone_solve_range(backend, &job, 0, 0), PHX_OK);
    }
    assert_memory_equal(legs, good_legs, sizeof good_legs);
    /* no legs need no arrays */
    phx_two_bone_job none = phx_two_bone_job_default();
    assert_int_equal(phx_two_bone_solve(phx_backend_best(), &none), PHX_OK);
}

static void null_is_refused_everywhere(void **state) {
    (void)state;
    leg legs[LEGS];
    const phx_two_bone_job job = good_job(legs);
    phx_report report;
    assert_int_equal(phx_two_bone_validate(NULL, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "NULL"));
    assert_int_equal(phx_two_bone_solve(NULL, &job), PHX_ERROR_NULL);
    assert_int_equal(phx_two_bone_solve(phx_backend_best(), NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_two_bone_solve_range(NULL, &job, 0, 1), PHX_ERROR_NULL);
    assert_memory_equal(legs, good_legs, sizeof good_legs);
}

static void blocks_are_checked_too(void **state) {
    (void)state;
    const phx_two_bone_params params = phx_two_bone_params_default();
    _Alignas(64) static char memory[64 + sizeof(phx_two_bone_block)], extras[64 + sizeof(phx_two_bone_extra)], copy[sizeof memory];
    memset(memory, 0x22, sizeof memory), memset(copy, 0x22, sizeof copy);
    phx_two_bone_block *block = (void *)memory;
    phx_two_bone_extra *extra = (void *)extras;
    phx_report report;
    const phx_backend *best = phx_backend_best();
    assert_int_equal(phx_two_bone_solve_blocks(NULL, &params, block, NULL, 1, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "'backend'"));
    assert_int_equal(phx_two_bone_solve_blocks(best, NULL, block, NULL, 1, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "'params'"));
    assert_int_equal(phx_two_bone_solve_blocks(best, &params, NULL, NULL, 1, &report), PHX_ERROR_NULL);
    assert_non_null(strstr(report.text, "'blocks'"));
    for (size_t offset = 4; offset < 64; offset += 4) {
        assert_int_equal(phx_two_bone_solve_blocks(best, &params, (void *)(memory + offset), NULL, 1, &report), PHX_ERROR_ALIGN);
        assert_non_null(strstr(report.text, "'blocks'"));
        assert_int_equal(phx_two_bone_solve_blocks(best, &params, block, (void *)(extras + offset), 1, &report), PHX_ERROR_ALIGN);
        assert_non_null(strstr(report.text, "'extras'"));
    }
    assert_memory_equal(memory, copy, sizeof memory);
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / sizeof *block};
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(phx_two_bone_solve_blocks(best, &params, block, NULL, counts[k], &report), PHX_ERROR_COUNT);
        assert_non_null(strstr(report.text, "'block_count'"));
    }
    assert_memory_equal(memory, copy, sizeof memory);
    assert_int_equal(phx_two_bone_solve_blocks(best, &params, NULL, NULL, 0, NULL), PHX_OK);
    phx_two_bone_extra_default(NULL);
    phx_two_bone_extra_default(extra);
    assert_int_equal(phx_two_bone_solve_blocks(best, &params, block, extra, 1, NULL), PHX_OK);
}

/* a zeroed block is sixteen chains without length */
static void zeroed_lanes_are_safe_fill(void **state) {
    (void)state;
    const phx_two_bone_params params = phx_two_bone_params_default();
    FOR_EACH_BACKEND(backend) {
        _Alignas(64) phx_two_bone_block block;
        _Alignas(64) phx_two_bone_extra extra;
        memset(&block, 0, sizeof block), phx_two_bone_extra_default(&extra);
        assert_int_equal(phx_two_bone_solve_blocks(backend, &params, &block, &extra, 1, NULL), PHX_OK);
        for (int l = 0; l < 16; ++l) {
            assert_int_equal(block.flags.v[l], PHX_FLAG_BAD_INPUT | PHX_FLAG_ZERO_LENGTH);
            assert_true(block.root_rotation.w[l] == 1 && block.mid_rotation.w[l] == 1 && block.residual.v[l] == 0 &&
                        extra.stretch.v[l] == 1);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_job_is_accepted),
        cmocka_unit_test(missing_fields_are_named),
        cmocka_unit_test(strides_that_hold_no_element_are_named),
        cmocka_unit_test(parameters_out_of_range_are_named),
        cmocka_unit_test(outputs_that_overlap_are_named),
        cmocka_unit_test(counts_and_ranges_out_of_bounds_are_refused),
        cmocka_unit_test(null_is_refused_everywhere),
        cmocka_unit_test(blocks_are_checked_too),
        cmocka_unit_test(zeroed_lanes_are_safe_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
