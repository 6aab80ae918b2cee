/* Throughput of the lane operations, and a plain copy by lanes. Included by measure_w*.c, which set PHX_LANES and the names. */
#include "machine.h"

/* keeps a value in a register and the compiler from knowing it */
#if PHX_LANES == 16
#define HOLD(a) __asm__ volatile("" : "+v"(a))
#else
#define HOLD(a) __asm__ volatile("" : "+x"(a))
#endif

enum { FLIGHT = 12, ROUNDS = 20000, TRIES = 7 };

/* the fastest of several tries; `step` is one operation on `a` with the constant `c` */
#define THROUGHPUT(step)                                                                  \
    {                                                                                     \
        double best = 1e30;                                                               \
        for (int attempt = 0; attempt < TRIES; ++attempt) {                               \
            const double start = clock();                                                 \
            for (int round = 0; round < ROUNDS; ++round)                                  \
                for (int k = 0; k < FLIGHT; ++k) {                                        \
                    lf a = chain[k];                                                      \
                    step;                                                                 \
                    HOLD(a);                                                              \
                    chain[k] = a;                                                         \
                }                                                                         \
            const double took = clock() - start;                                          \
            if (took < best) best = took;                                                 \
        }                                                                                 \
        result = best / ((double)ROUNDS * FLIGHT);                                        \
    }

void BENCH_SPEED(bench_clock *clock, bench_speed *speed) {
    lf chain[FLIGHT];
    for (int k = 0; k < FLIGHT; ++k) chain[k] = f_splat(1.5f);
    lf c = f_splat(1.0f);
    HOLD(c);
    double result;
    THROUGHPUT(a = f_mul(a, c)) speed->mul = result;
    THROUGHPUT(a = f_add(a, c)) speed->add = result;
    for (int k = 0; k < FLIGHT; ++k) chain[k] = f_splat(1.2345f);
    THROUGHPUT(a = f_div(a, c)) speed->div = result;
    THROUGHPUT(a = f_sqrt(a)) speed->sqrt = result;
    THROUGHPUT(a = f_mul(a, c); HOLD(a); a = f_add(a, c); HOLD(a); a = f_abs(a)) speed->mixed = result / 3.0;
}

void BENCH_COPY(char *to, const char *from, size_t size) {
    for (size_t i = 0; i < size; i += 4 * sizeof(lf)) {
        const float *source = (const float *)(const void *)(from + i);
        float *target = (float *)(void *)(to + i);
        const lf a = f_load(source), b = f_load(source + LANES), c = f_load(source + 2 * LANES), d = f_load(source + 3 * LANES);
        f_store(target, a), f_store(target + LANES, b), f_store(target + 2 * LANES, c), f_store(target + 3 * LANES, d);
    }
}
