/* The scalar solvers that fill the table "reference" (table.c). Called through phx_backend only. */
#ifndef PHX_REFERENCE_H
#define PHX_REFERENCE_H
#include "../backend/ops.h"

void phx_reference_two_bone_blocks(const phx_two_bone_setup *setup, phx_two_bone_block *blocks, phx_two_bone_extra *extras, size_t count);
void phx_reference_two_bone_job(const phx_two_bone_setup *setup, const phx_two_bone_job *job, size_t first, size_t count);
void phx_reference_limit_apply(const phx_limit_setup *setup, size_t count, phx_view local, phx_view limited, phx_view changed);
#endif
