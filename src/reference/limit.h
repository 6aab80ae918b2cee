/* Joint limits in scalar C, one rotation at a time, in the order of operations of kernel/limit.inl. Called by limit.c, the
 * reference chain solvers, and aim. */
#ifndef PHX_REFERENCE_LIMIT_H
#define PHX_REFERENCE_LIMIT_H
#include "../backend/ops.h"
#include "scalar.h"

/* The unit local rotation, limited; *changed is 1 where the limit changed it, else the bits are the input's. */
phx_quat phx_reference_limit_local(const phx_limit_setup *limit, phx_quat local, int *changed);

/* The allowed local rotation that turns `bone` (unit, joint's frame) nearest to `wanted` (unit, parent's frame), from `local`. */
phx_quat phx_reference_limit_toward(const phx_limit_setup *limit, phx_quat local, phx_vec3 bone, phx_vec3 wanted, int *changed);
#endif
