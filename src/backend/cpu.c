/* CPUID and XGETBV, asked afresh each time: pure, so no initialisation can race. Called by backend.c and crowd.c. */
#include "cpu.h"

enum { OSXSAVE = 1 << 27, AVX = 1 << 28, AVX2 = 1 << 5, XMM_YMM = 0x6, MASKS_ZMM = 0xE0 };
static const uint32_t f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;

phx_cpu phx_cpu_decide(uint32_t leaf_1_ecx, uint32_t leaf_7_ebx, uint64_t saved_state) {
    const int avx = (leaf_1_ecx & (OSXSAVE | AVX)) == (OSXSAVE | AVX) && (saved_state & XMM_YMM) == XMM_YMM;
    phx_cpu cpu;
    cpu.avx2 = avx && (leaf_7_ebx & AVX2) != 0;
    cpu.avx512 = cpu.avx2 && (leaf_7_ebx & f_dq_bw_vl) == f_dq_bw_vl && (saved_state & MASKS_ZMM) == MASKS_ZMM;
    return cpu;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

phx_cpu phx_cpu_detect(void) {
    unsigned a, b, c = 0, d, leaf_1_ecx = 0, leaf_7_ebx = 0;
    if (__get_cpuid(1, &a, &b, &c, &d)) leaf_1_ecx = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) leaf_7_ebx = b;
    return phx_cpu_decide(leaf_1_ecx, leaf_7_ebx, leaf_1_ecx & OSXSAVE ? saved_state() : 0); /* without OSXSAVE there is no XGETBV */
}

int phx_cpu_fetches_near(void) {
    unsigned a = 0, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 15) + (a >> 20 & 255) == 26;
}
#else
phx_cpu phx_cpu_detect(void) { return phx_cpu_decide(0, 0, 0); }
int phx_cpu_fetches_near(void) { return 0; }
#endif
