/* The sixteen-lane backend. Compiled with -mavx512*; nothing here may be called before CPUID allowed it. */
#define PHX_LANES 16
#define PHX_TABLE phx_table_avx512
#define PHX_TABLE_NAME "avx512"
#include "table.inl"
