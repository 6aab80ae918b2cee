/* The lane operations of pairs of width 4, for tests/lane_ops.c. */
#define PHX_LANES 4
#define PHX_PAIR 0 /* both halves lie in one row */
#define TABLE lane_table_pair_w4
#include "lane_ops.inl"
