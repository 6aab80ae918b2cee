/* Pieces of the two-bone kernel at 4 lanes. See pieces.h. */
#define PHX_LANES 4
#define BENCH_PIECES bench_pieces_w4
#include "pieces.inl"
