/* The four-lane backend: sse2 on x86-64, neon on AArch64, wasm on WebAssembly. Compiled with the platform's base flags. */
#define PHX_LANES 4
#if defined(PHX_HAVE_NEON)
#define PHX_TABLE phx_table_neon
#define PHX_TABLE_NAME "neon"
#elif defined(PHX_HAVE_WASM)
#define PHX_TABLE phx_table_wasm
#define PHX_TABLE_NAME "wasm"
#else
#define PHX_TABLE phx_table_sse2
#define PHX_TABLE_NAME "sse2"
#endif
#include "table.inl"
