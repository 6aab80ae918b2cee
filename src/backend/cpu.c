/* CPUID and XGETBV, asked afresh each time: pure, so no initialisation can race. Called by backend.c. */
#include "cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

phx_cpu phx_cpu_detect(void) {
    phx_cpu cpu = {0, 0};
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return cpu;
    const unsigned osxsave_and_avx = (1u << 27) | (1u << 28);
    if ((c & osxsave_and_avx) != osxsave_and_avx) return cpu;
    const uint64_t state = saved_state();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return cpu;
    cpu.avx2 = (state & 0x6) == 0x6 && (b & (1u << 5)) != 0;
    const unsigned f_dq_bw_vl = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
    cpu.avx512 = (state & 0xE6) == 0xE6 && (b & f_dq_bw_vl) == f_dq_bw_vl;
    return cpu;
}
#else
phx_cpu phx_cpu_detect(void) {
    const phx_cpu cpu = {0, 0};
    return cpu;
}
#endif
