/* Pairs at four lanes; see pair.inl. Compiled with the platform's base flags. */
#define PHX_LANES 4
#include "pair.inl"
