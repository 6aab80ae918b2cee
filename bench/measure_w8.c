/* Machine speed, copies and operation counts at 8 lanes. See machine.inl and operations.inl. */
#define PHX_LANES 8
#define BENCH_SPEED bench_speed_w8
#define BENCH_COPY bench_copy_w8
#define BENCH_COUNT_TWO_BONE bench_count_two_bone_w8
#define BENCH_COUNT_CROWD bench_count_crowd_w8
#include "lane/lane.h"
#include "machine.inl"
#include "operations.inl"
