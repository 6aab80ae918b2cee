/* The lane operations of width 8, for tests/lane_ops.c. */
#define PHX_LANES 8
#define TABLE lane_table_w8
#include "lane_ops.inl"
