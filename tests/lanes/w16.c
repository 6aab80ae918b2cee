/* The lane operations of width 16, for tests/lane_ops.c. */
#define PHX_LANES 16
#define TABLE lane_table_w16
#include "lane_ops.inl"
