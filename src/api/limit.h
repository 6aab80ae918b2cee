/* What the other files of src/api need of limits: checks with a name, and prepared constants. */
#ifndef PHX_API_LIMIT_H
#define PHX_API_LIMIT_H
#include "../backend/ops.h"

/* One sentence for each way to be wrong; `name` opens it. Leaves the report alone when all is well. */
phx_status phx_limit_check(const char *name, const phx_limit *limit, phx_report *report);

/* Of a valid limit. */
phx_limit_setup phx_limit_prepare(const phx_limit *limit);
#endif
