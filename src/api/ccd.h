/* What fabrik.c needs of CCD, whose sweeps solve chains with limits. */
#ifndef PHX_API_CCD_H
#define PHX_API_CCD_H
#include "../backend/ops.h"

/* Of valid params and tables; the setup is for one call. */
void phx_ccd_prepare(const phx_ccd_params *params, uint32_t joints, const phx_limit *limits, const float *joint_weights, phx_ccd_setup *setup);
#endif
