/* JSON and table of a run's figures. */
#include "figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

json_t *figures_text(const char *text) {
    json_t *string = json_string(text);
    if (string != NULL) return string;
    char *ascii = io_copy_text(text);
    for (char *c = ascii; *c != 0; ++c) {
        if ((unsigned char)*c >= 128) *c = '?';
    }
    string = json_string(ascii);
    free(ascii);
    return string;
}

static json_t *spread_json(spread s) { return json_pack("{s:f, s:f, s:f}", "p50", s.p50, "p99", s.p99, "max", s.max); }

static json_t *quality_json(const quality *q) {
    return json_pack("{s:o, s:o, s:o, s:I, s:f, s:I, s:I, s:I, s:I, s:{s:f, s:f, s:f}, s:I, s:I, s:I}", "penetration_mm", spread_json(q->penetration_mm), "gap_mm",
                     spread_json(q->gap_mm), "slide_mm", spread_json(q->slide_mm), "knee_flips", (json_int_t)q->knee_flips,
                     "max_bone_length_error", q->max_bone_length_error, "unreached", (json_int_t)q->unreached, "non_finite",
                     (json_int_t)q->non_finite, "samples", (json_int_t)q->samples, "stances", (json_int_t)q->stances, "peak_turn",
                     "hip", q->peak_turn[0], "knee", q->peak_turn[1], "ankle", q->peak_turn[2], "fast_turns", (json_int_t)q->fast_turns,
                     "turns", (json_int_t)q->turns, "pelvis_reversals", (json_int_t)q->pelvis_reversals);
}

static double speedup(const crowd_run *run) { return run->compared_total > 0 ? run->reference_total / run->compared_total : 0; }

static const char *clip_name(const motion *motion) {
    return motion->clip < motion->character->clip_count ? motion->character->clips[motion->clip].name : "rest pose";
}

/* Crowds take their memory for whole tiles of 64: what a character takes shows where a tile is full. */
static double bytes_per_character(const crowd_run *run) { return (double)run->memory / ((run->characters + 63) / 64 * 64); }

json_t *figures_json(const figures *f) {
    const crowd_run *run = f->run;
    const crowd_times *t = &run->ns_per_foot;
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, run->hash);
    json_t *notes = json_array();
    for (size_t n = 0; n < f->notes->count; ++n) json_array_append_new(notes, figures_text(f->notes->text[n]));
    json_t *root = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:I, s:o, s:o, s:o}", "version", PHALANX_VERSION, "backend",
                             phx_backend_name(f->backend), "lanes", (int)phx_backend_lanes(f->backend), "threads", (int)run->threads,
                             "characters", (int)run->characters, "feet", (int)run->feet, "frames", (int)run->frames, "seed",
                             (json_int_t)f->seed, "character", figures_text(f->motion->character->path), "clip",
                             figures_text(clip_name(f->motion)), "ground", figures_text(f->ground_name));
    json_object_set_new(root, "speed", json_real(f->motion->speed));
    json_object_set_new(root, "frame_rate", json_real(1 / f->dt));
    json_object_set_new(root, "ns_per_foot",
                        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "pose", t->pose, "rays", t->rays, "ground", t->ground, "solve",
                                  t->solve, "write_back", t->write_back, "total", t->total));
    json_object_set_new(root, "sampling_ns_per_foot", json_real(t->sampling));
    json_object_set_new(root, "frame_ms", json_pack("{s:f, s:f}", "median", run->frame_ms_median, "p99", run->frame_ms_p99));
    json_object_set_new(root, "reference", json_pack("{s:f, s:f}", "ns_per_foot_total", run->reference_total, "speedup", speedup(run)));
    json_object_set_new(
        root, "memory",
        json_pack("{s:I, s:f}", "bytes", (json_int_t)run->memory, "bytes_per_character", bytes_per_character(run)));
    json_object_set_new(root, "quality",
                        json_pack("{s:i, s:o, s:o, s:o}", "characters", (int)run->captured_count, "flat", quality_json(&f->quality[QUALITY_FLAT]), "before",
                                  quality_json(&f->quality[QUALITY_BEFORE]), "after", quality_json(&f->quality[QUALITY_AFTER])));
    json_object_set_new(root, "hash", json_string(hash));
    json_object_set_new(root, "notes", notes);
    return root;
}

void figures_note_inputs(const io_character *character, size_t clip, bool clip_named, const ground *ground, io_notes *notes) {
    if (!clip_named && character->clip_count > 1)
        io_note(notes, "clip '%s' is the first of %zu, whatever it shows; --clip names another", character->clips[clip].name, character->clip_count);
    for (size_t n = 0; n < character->notes.count; ++n) io_note(notes, "%s", character->notes.text[n]);
    for (size_t n = 0; n < ground_notes(ground)->count; ++n) io_note(notes, "%s", ground_notes(ground)->text[n]);
}

void figures_note_slope(const char *ground_name, const ground *ground, io_notes *notes) {
    double normal[3];
    if (strncmp(ground_name, "slope:", 6) != 0 || !ground_get_extent(ground).endless || !ground_height(ground, 0, 0, NULL, normal)) return;
    const double degrees = 180 / 3.14159265358979323846, steep = acos(fmin(normal[1], 1)) * degrees;
    const double most = (double)phx_crowd_params_default().max_slope * degrees;
    if (steep > most)
        io_note(notes, "a slope of %.4g degrees is steeper than feet stand on (max_slope, %.4g degrees): all of it is refused as ground", steep, most);
}

bool figures_write(const char *path, const json_t *json, io_error *error) {
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    if (text == NULL) return io_fail(error, "%s: the figures cannot be written as JSON", path);
    bool good;
    if (strcmp(path, "-") == 0) {
        good = puts(text) != EOF && fflush(stdout) == 0;
        if (!good) io_fail(error, "standard output cannot be written");
    } else {
        const size_t length = strlen(text);
        text[length] = '\n'; /* in place of the zero, which is not written */
        good = io_write_file(path, text, length + 1, error);
    }
    free(text);
    return good;
}

static void print_row(FILE *out, const char *name, spread a, spread b, spread c) {
    fprintf(out, "  %-22s", name);
    const spread all[] = {a, b, c};
    for (int k = 0; k < 3; ++k) fprintf(out, "%7.1f %7.1f %7.1f  ", all[k].p50, all[k].p99, all[k].max);
    fputc('\n', out);
}

void figures_print(FILE *out, const figures *f) {
    const crowd_run *run = f->run;
    const crowd_times *t = &run->ns_per_foot;
    const quality *flat = &f->quality[QUALITY_FLAT], *before = &f->quality[QUALITY_BEFORE], *after = &f->quality[QUALITY_AFTER];
    fprintf(out, "%u character%s (%u %s) on %s: %s, clip '%s', %.2f m/s\n", run->characters, run->characters == 1 ? "" : "s", run->feet,
            run->feet == 1 ? "foot" : "feet", f->ground_name, f->motion->character->path, clip_name(f->motion), f->motion->speed);
    fprintf(out, "%u frame%s at %.4g Hz, backend %s (%u lane%s), %u thread%s\n\n", run->frames, run->frames == 1 ? "" : "s", 1 / f->dt, phx_backend_name(f->backend),
            phx_backend_lanes(f->backend), phx_backend_lanes(f->backend) == 1 ? "" : "s", run->threads, run->threads == 1 ? "" : "s");
    fprintf(out, "ns a foot               %.1f  (pose %.1f, solve %.1f; beside it ray casts %.1f, clip sampling %.1f)\n", t->total,
            t->pose + t->rays, t->solve + t->write_back, t->ground, t->sampling);
    if (run->reference_total > 0)
        fprintf(out, "scalar reference        %.1f ns a foot: %.1f times as long, the same bits\n", run->reference_total, speedup(run));
    fprintf(out, "a frame                 %.3f ms, p99 %.3f ms, ray casts included\n", run->frame_ms_median, run->frame_ms_p99);
    fprintf(out, "memory                  %.0f bytes a character, in tiles of 64\n\n", bytes_per_character(run));
    fprintf(out, "  soles in stance, mm   %-25s%-25s%s\n", "  clip on flat ground", "  before", "  after");
    fprintf(out, "  %-22s", "");
    for (int k = 0; k < 3; ++k) fprintf(out, "%7s %7s %7s  ", "p50", "p99", "max");
    fputc('\n', out);
    print_row(out, "below the ground", flat->penetration_mm, before->penetration_mm, after->penetration_mm);
    print_row(out, "above the ground", flat->gap_mm, before->gap_mm, after->gap_mm);
    print_row(out, "slid in one stance", flat->slide_mm, before->slide_mm, after->slide_mm);
    fprintf(out,
            "\nknees flipped %" PRIu64 ", numbers not finite %" PRIu64 ", bone lengths within %.1e, out of reach in %" PRIu64 " of %" PRIu64
            " stance frames\n",
            after->knee_flips, after->non_finite, after->max_bone_length_error, after->unreached, after->samples);
    fprintf(out, "a joint turned more than 1.5 times as fast as it ever does in the clip in %" PRIu64 " of %" PRIu64 " leg frames\n", after->fast_turns,
            after->turns);
    if (run->captured_count < run->characters) fprintf(out, "soles and turns are those of %u character%s, spread over the crowd\n", run->captured_count,
                                                    run->captured_count == 1 ? "" : "s");
    if (run->off_ground > 0) fprintf(out, "%" PRIu64 " times a character stood where there is no ground\n", run->off_ground);
    fprintf(out, "hash %016" PRIx64 "\n", run->hash);
    for (size_t n = 0; n < f->notes->count; ++n) fprintf(out, "note: %s\n", f->notes->text[n]);
}
