/* Which backends are there, in what order, what names that do not exist get; and that none is offered which CPUID or the system denies. */
#include "backend/cpu.h"
#include "support.h"

static void reference_is_always_last(void **state) {
    (void)state;
    uint32_t n = 0;
    while (phx_backend_at(n)) ++n;
    assert_true(n >= 2);
    assert_string_equal(phx_backend_name(phx_backend_at(n - 1)), "reference");
    assert_int_equal(phx_backend_lanes(phx_backend_at(n - 1)), 1);
    assert_ptr_equal(phx_backend_best(), phx_backend_at(0));
}

static void best_is_the_widest(void **state) {
    (void)state;
    for (uint32_t i = 1; phx_backend_at(i); ++i) assert_true(phx_backend_lanes(phx_backend_at(i)) < phx_backend_lanes(phx_backend_at(i - 1)));
}

static void names_find_their_backend_and_unknown_names_none(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) assert_ptr_equal(phx_backend_find(phx_backend_name(backend)), backend);
    assert_null(phx_backend_find("mmx"));
    assert_null(phx_backend_find(""));
    assert_null(phx_backend_find(NULL));
}

/* bits as Intel's manual numbers them: leaf 1 ECX 27 OSXSAVE, 28 AVX; leaf 7 EBX 5 AVX2, 16 AVX512F, 17 DQ, 30 BW, 31 VL; XCR0 1 SSE, 2 AVX,
 * 5 masks, 6 and 7 the rest of the 512-bit registers */
static void what_processor_or_system_denies_is_not_run(void **state) {
    (void)state;
    const uint32_t leaf_1 = 1u << 27 | 1u << 28, leaf_7 = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    const uint64_t saved = 1u << 1 | 1u << 2 | 1u << 5 | 1u << 6 | 1u << 7;
    phx_cpu cpu = phx_cpu_decide(leaf_1, leaf_7, saved);
    assert_true(cpu.avx2 && cpu.avx512);
    cpu = phx_cpu_decide(UINT32_MAX, UINT32_MAX, UINT64_MAX);
    assert_true(cpu.avx2 && cpu.avx512);
    for (int bit = 0; bit < 32; ++bit) { /* each bit that is asked for, denied alone */
        const uint32_t one = 1u << bit;
        const int for_avx2 = bit == 5, for_avx512 = bit == 16 || bit == 17 || bit == 30 || bit == 31;
        cpu = phx_cpu_decide(leaf_1 & ~one, leaf_7, saved);
        assert_int_equal(cpu.avx2, !(leaf_1 & one)), assert_int_equal(cpu.avx512, !(leaf_1 & one));
        cpu = phx_cpu_decide(leaf_1, leaf_7 & ~one, saved);
        assert_int_equal(cpu.avx2, !for_avx2), assert_int_equal(cpu.avx512, !for_avx2 && !for_avx512);
        cpu = phx_cpu_decide(leaf_1, leaf_7, saved & ~(uint64_t)one);
        assert_int_equal(cpu.avx2, bit != 1 && bit != 2), assert_int_equal(cpu.avx512, !(saved & one));
        cpu = phx_cpu_decide(one, one, saved);
        assert_true(!cpu.avx2 && !cpu.avx512);
    }
    cpu = phx_cpu_decide(leaf_1, leaf_7, 0);
    assert_true(!cpu.avx2 && !cpu.avx512);
}

/* and what this machine denies is not offered */
static void backends_are_those_that_this_machine_allows(void **state) {
    (void)state;
    const phx_cpu cpu = phx_cpu_detect();
    printf("# here: avx2 %d, avx512 %d\n", cpu.avx2, cpu.avx512);
    if (!cpu.avx2) assert_null(phx_backend_find("avx2"));
    if (!cpu.avx512) assert_null(phx_backend_find("avx512"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_always_last),
        cmocka_unit_test(best_is_the_widest),
        cmocka_unit_test(what_processor_or_system_denies_is_not_run),
        cmocka_unit_test(backends_are_those_that_this_machine_allows),
        cmocka_unit_test(names_find_their_backend_and_unknown_names_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
