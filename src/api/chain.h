/* What fabrik.c and ccd.c share: checks of params, blocks and jobs, and prepared constants. */
#ifndef PHX_API_CHAIN_H
#define PHX_API_CHAIN_H
#include "../backend/ops.h"

/* Each opens its sentence with `name` and leaves the report alone when all is well. */
phx_status phx_chain_check_ranges(const char *name, const phx_chain_params *params, phx_report *report);
phx_status phx_chain_check_blocks(const char *name, const phx_chain_blocks *blocks, phx_report *report);
phx_status phx_chain_check_job(const char *name, const phx_chain_job *job, uint32_t least_joints, phx_report *report);

/* Of valid params and tables; the setup is for one call. */
void phx_chain_prepare(const phx_chain_params *params, uint32_t joints, const phx_limit *limits, const float *joint_weights,
                       phx_chain_setup *setup);
#endif
