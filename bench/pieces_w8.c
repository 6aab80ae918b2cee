/* Pieces of the two-bone kernel at 8 lanes. See pieces.h. */
#define PHX_LANES 8
#define BENCH_PIECES bench_pieces_w8
#include "pieces.inl"
