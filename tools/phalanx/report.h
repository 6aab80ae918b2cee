/* The page that `--report` writes: one file with everything in it, pictures drawn by the page's own script from the run's data.
 * The page is report.html beside this file; the data takes the place of its one marker. */
#ifndef PHALANX_TOOLS_REPORT_H
#define PHALANX_TOOLS_REPORT_H

#include "figures.h"

/* `json`: what --json writes; it becomes part of the page. */
bool report_write(const char *path, const figures *figures, const ground *ground, const sole_samples *soles, const json_t *json,
                  io_error *error);

#endif
