/* The lane operations of width 4, for tests/lane_ops.c. */
#define PHX_LANES 4
#define TABLE lane_table_w4
#include "lane_ops.inl"
