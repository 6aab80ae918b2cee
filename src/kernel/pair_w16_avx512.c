/* Pairs at sixteen lanes; see pair.inl. Compiled with -mavx512*. */
#define PHX_LANES 16
#include "pair.inl"
