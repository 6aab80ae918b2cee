/* Pairs at eight lanes; see pair.inl. Compiled with -mavx2. */
#define PHX_LANES 8
#include "pair.inl"
