/* Which tables this build holds and this machine may run, best first. Implements phalanx/backend.h. */
#include "ops.h"
#include "cpu.h"
#include <string.h>

const phx_backend *phx_backend_at(uint32_t index) {
    const phx_cpu cpu = phx_cpu_detect();
    const phx_backend *usable[4];
    uint32_t count = 0;
    (void)cpu;
#if defined(PHX_HAVE_AVX512)
    if (cpu.avx512) usable[count++] = &phx_table_avx512;
#endif
#if defined(PHX_HAVE_AVX2)
    if (cpu.avx2) usable[count++] = &phx_table_avx2;
#endif
#if defined(PHX_HAVE_SSE2)
    usable[count++] = &phx_table_sse2;
#endif
#if defined(PHX_HAVE_NEON)
    usable[count++] = &phx_table_neon;
#endif
#if defined(PHX_HAVE_WASM)
    usable[count++] = &phx_table_wasm;
#endif
    usable[count++] = &phx_table_reference;
    return index < count ? usable[index] : NULL;
}

const phx_backend *phx_backend_best(void) { return phx_backend_at(0); }

const phx_backend *phx_backend_find(const char *name) {
    if (!name) return NULL;
    for (uint32_t i = 0;; ++i) {
        const phx_backend *backend = phx_backend_at(i);
        if (!backend || strcmp(backend->name, name) == 0) return backend;
    }
}

const char *phx_backend_name(const phx_backend *backend) { return backend ? backend->name : "none"; }
uint32_t phx_backend_lanes(const phx_backend *backend) { return backend ? backend->lanes : 0; }
