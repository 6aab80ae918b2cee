/* Which instruction sets can solve here. A backend is a const table of kernels that the caller holds and passes to every
 * solve; there is no hidden dispatch. Every backend returns the same bits. */
#ifndef PHALANX_BACKEND_H
#define PHALANX_BACKEND_H

#include "base.h"

PHX_EXTERN_C_BEGIN

typedef struct phx_backend phx_backend;

/* The widest backend that this build holds and this processor and operating system allow (CPUID and XGETBV). Never NULL:
 * `reference`, plain scalar C, is always there. The check is pure and takes about a microsecond, or some 60 in a virtual machine that
 * traps CPUID: keep the pointer. */
PHX_API const phx_backend *phx_backend_best(void);

/* By name: "avx512", "avx2", "sse2", "neon", "wasm", "reference". NULL where it is not built in or may not run here. */
PHX_API const phx_backend *phx_backend_find(const char *name);

/* The i-th usable backend, best first; NULL past the last. */
PHX_API const phx_backend *phx_backend_at(uint32_t index);

PHX_API const char *phx_backend_name(const phx_backend *backend);

/* Lanes that one instruction moves: 16, 8, 4, or 1 for the reference. */
PHX_API uint32_t phx_backend_lanes(const phx_backend *backend);

PHX_EXTERN_C_END
#endif
