/* The lane operations of pairs of width 8, for tests/lane_ops.c. */
#define PHX_LANES 8
#define PHX_PAIR 0 /* both halves lie in one row */
#define TABLE lane_table_pair_w8
#include "lane_ops.inl"
