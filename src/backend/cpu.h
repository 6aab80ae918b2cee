/* What this processor and operating system allow. Called by backend.c and crowd.c. */
#ifndef PHX_CPU_H
#define PHX_CPU_H
#include <stdint.h>
typedef struct phx_cpu {
    int avx2;   /* AVX2, and the system saves the upper halves of the registers */
    int avx512; /* AVX2 and AVX-512 F, BW, DQ, VL, and the system saves mask and 512-bit registers */
} phx_cpu;
phx_cpu phx_cpu_detect(void);
/* what these words of CPUID and the state that XGETBV says is saved (0 where there is no XGETBV) allow */
phx_cpu phx_cpu_decide(uint32_t leaf_1_ecx, uint32_t leaf_7_ebx, uint64_t saved_state);
/* does it drop what is prefetched into the second level? AMD's family 26, Zen 5, does */
int phx_cpu_fetches_near(void);
#endif
