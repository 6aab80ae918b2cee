/* The eight-lane backend. Compiled with -mavx2; nothing here may be called before CPUID allowed it. */
#define PHX_LANES 8
#define PHX_TABLE phx_table_avx2
#define PHX_TABLE_NAME "avx2"
#include "table.inl"
