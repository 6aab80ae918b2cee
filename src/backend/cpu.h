/* What this processor and operating system allow. Called by backend.c. */
#ifndef PHX_CPU_H
#define PHX_CPU_H
#include <stdint.h>
typedef struct phx_cpu {
    int avx2;   /* AVX2, and the system saves the upper halves of the registers */
    int avx512; /* AVX-512 F, BW, DQ, VL, and the system saves mask and 512-bit registers */
} phx_cpu;
phx_cpu phx_cpu_detect(void);
#endif
