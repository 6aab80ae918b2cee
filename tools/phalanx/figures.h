/* The figures of a run: as JSON for programs, as a table that a person reads in ten seconds. Shared by `phalanx demo` and `bake`. */
#ifndef PHALANX_TOOLS_FIGURES_H
#define PHALANX_TOOLS_FIGURES_H

#include "quality.h"

#include <jansson.h>
#include <stdio.h>

typedef struct figures {
    const char *ground_name;
    const phx_backend *backend;
    const motion *motion;
    const crowd_run *run;
    const quality *quality; /* QUALITY_KINDS of them */
    const io_notes *notes;
    uint64_t seed;
    double dt;
} figures;

/* Keys as README lists them. */
json_t *figures_json(const figures *figures);
void figures_print(FILE *out, const figures *figures);

/* What was guessed about the character, its clip and the ground, for the reader of the figures. */
void figures_note_inputs(const io_character *character, size_t clip, bool clip_named, const ground *ground, io_notes *notes);

/* A note where the ground is one slope that is steeper than feet stand on: nothing would be corrected, and nobody would know why. */
void figures_note_slope(const char *ground_name, const ground *ground, io_notes *notes);

/* Writes JSON to a file, or to standard output where the path is "-". */
bool figures_write(const char *path, const json_t *json, io_error *error);

/* A JSON string of any bytes: those that are no UTF-8 become '?'. */
json_t *figures_text(const char *text);

#endif
