/* Pieces of the two-bone kernel at 16 lanes. See pieces.h. */
#define PHX_LANES 16
#define BENCH_PIECES bench_pieces_w16
#include "pieces.inl"
