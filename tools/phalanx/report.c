/* Gathers what the page's pictures need, as JSON in tenths of a millimetre, and puts it into the page. */
#include "report.h"

#include "report_page.h"

#include <stdlib.h>
#include <string.h>

/* What the page shows in motion: a few walkers, not too long, not too many joints. */
enum { MOST_WALKERS = 4, MOST_FRAMES = 600, MOST_NUMBERS = 600000 };

static const double unit = 1e-4; /* metres per integer of the data */

/* JSON integers are short and exact enough; what is not finite becomes null. */
static void append(json_t *list, double metres) {
    json_array_append_new(list, isfinite(metres) ? json_integer((json_int_t)floor(metres / unit + 0.5)) : json_null());
}

/* Where a walker's own picture lies in the world: X to its left, Y up from the ground where it starts, Z ahead. */
typedef struct view {
    vec origin;
    double heading;
} view;

static vec to_view(view v, vec p) { return turn_vec(turn_y(-v.heading), vec_sub(p, v.origin)); }
static vec from_view(view v, vec p) { return vec_add(turn_vec(turn_y(v.heading), p), v.origin); }

static void append_vec(json_t *list, vec p) {
    append(list, p.x);
    append(list, p.y);
    append(list, p.z);
}

static double ground_in_view(const ground *ground, view v, double x, double z) {
    const vec at = from_view(v, vec_of(x, 0, z));
    double height;
    return ground_height(ground, at.x, at.z, &height, NULL) ? height - v.origin.y : (double)NAN;
}

/* One capture: joints, soles and the ground around. */
static json_t *walker_json(const figures *f, const ground *ground, const crowd_capture *capture, uint32_t frames) {
    const motion *motion = f->motion;
    const uint32_t joints = motion->joint_count, legs = motion->leg_count;
    const vec first = capture->roots[0].place;
    /* the walker's own axes: its root's turn, less the turn that brought the clip to +Z */
    const vec ahead = turn_vec(turn_times(capture->roots[0].rotation, turn_back(motion->turn)), vec_of(0, 0, 1));
    const view v = {first, atan2(ahead.x, ahead.z)};
    placed_joint *placed = io_allocate(joints, sizeof *placed);
    double least[2] = {-1, -0.8}, most[2] = {1, 0.8}, *beside = io_allocate(legs, sizeof *beside),
           *standing = io_allocate(legs, sizeof *standing);
    json_t *walker = json_object(), *stance = json_array(), *pelvis = json_array();
    for (int kind = QUALITY_BEFORE; kind <= QUALITY_AFTER; ++kind) {
        json_t *places = json_array(), *contacts = json_array(), *soles = json_array();
        for (uint32_t frame = 0; frame < frames; ++frame) {
            motion_place(motion, (kind == QUALITY_BEFORE ? capture->before : capture->after) + (size_t)frame * joints,
                         capture->roots[frame], placed);
            for (uint32_t j = 0; j < joints; ++j) {
                const vec p = to_view(v, placed[j].place);
                append_vec(places, p);
                most[1] = fmax(most[1], p.z + 1);
                least[1] = fmin(least[1], p.z - 1);
            }
            for (uint32_t l = 0; l < legs; ++l) {
                const vec points[] = {motion_heel(motion, l, placed), motion_ball(motion, l, placed)};
                for (int k = 0; k < 2; ++k) {
                    double height;
                    vec normal;
                    append_vec(contacts, to_view(v, points[k]));
                    append(soles, quality_height(ground, points[k], &height, &normal) ? height : (double)NAN);
                }
                if (kind != QUALITY_AFTER) continue;
                const bool stands = motion_stands(motion, capture->clip_frame[frame], l);
                json_array_append_new(stance, json_integer(stands));
                beside[l] += stands ? to_view(v, points[1]).x : 0;
                standing[l] += stands;
            }
            if (kind == QUALITY_AFTER) append(pelvis, (double)capture->pelvis[frame]);
        }
        const char *when = kind == QUALITY_BEFORE ? "before" : "after";
        json_object_set_new(walker, when, json_pack("{s:o, s:o, s:o}", "joints", places, "contacts", contacts, "soles", soles));
    }
    json_t *profiles = json_array(), *patch = json_array();
    const double fine = 0.01;
    for (uint32_t l = 0; l < legs; ++l) {
        json_t *heights = json_array();
        const double x = standing[l] > 0 ? beside[l] / standing[l] : 0;
        for (double z = least[1]; z <= most[1]; z += fine) append(heights, ground_in_view(ground, v, x, z));
        json_array_append_new(profiles, heights);
    }
    const int across = 17, along = (int)fmin(120, ceil((most[1] - least[1]) / 0.1)) + 1;
    for (int i = 0; i < along; ++i) {
        const double z = least[1] + (most[1] - least[1]) * i / (along - 1);
        for (int k = 0; k < across; ++k) append(patch, ground_in_view(ground, v, least[0] + (most[0] - least[0]) * k / (across - 1), z));
    }
    json_object_update_new(walker, json_pack("{s:i, s:i, s:o, s:o, s:o, s:o}", "character", (int)capture->character, "frames", (int)frames,
                                             "stance", stance, "pelvis", pelvis, "profiles", profiles, "patch", patch));
    json_object_update_new(walker, json_pack("{s:f, s:f, s:f, s:f, s:f, s:i, s:i}", "z0", least[1], "z1", most[1], "x0", least[0], "x1",
                                             most[0], "fine", fine, "across", across, "along", along));
    free(standing);
    free(beside);
    free(placed);
    return walker;
}

/* Signed sole heights of all kinds in bins of equal width, the outermost holding what lies beyond. */
static json_t *histogram_json(const figures *f, const sole_samples *soles) {
    const quality *before = &f->quality[QUALITY_BEFORE];
    const int bins = 60;
    const double width = ceil(fmax(2, fmax(before->penetration_mm.p99, before->gap_mm.p99)) / (bins / 2)), low = -width * bins / 2;
    static const char *const names[] = {"flat", "before", "after"};
    json_t *histogram = json_pack("{s:f, s:f}", "low", low, "width", width);
    for (int kind = 0; kind < QUALITY_KINDS; ++kind) {
        double count[60] = {0};
        for (size_t i = 0; i < soles->count; ++i) {
            const double bin = floor(((double)soles->mm[kind][i] - low) / width);
            count[(int)fmin(fmax(bin, 0), bins - 1)] += 1;
        }
        json_t *list = json_array();
        for (int b = 0; b < bins; ++b) json_array_append_new(list, json_real(soles->count > 0 ? count[b] / (double)soles->count : 0));
        json_object_set_new(histogram, names[kind], list);
    }
    return histogram;
}

/* The crowd from above: heights of the ground beneath it, and the way each captured character went. */
static json_t *map_json(const figures *f, const ground *ground) {
    double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
    const crowd_run *run = f->run;
    json_t *paths = json_array(), *heights = json_array();
    const uint32_t step = run->frames > 60 ? run->frames / 60 : 1;
    for (uint32_t k = 0; k < run->captured_count; ++k) {
        json_t *path = json_array();
        for (uint32_t frame = 0; frame < run->frames; frame += step) {
            const vec p = run->captures[k].roots[frame].place;
            const double at[] = {p.x, p.z};
            if (frame > 0 && vec_length(vec_sub(p, run->captures[k].roots[frame - step].place)) > 1) break; /* it started anew */
            for (int i = 0; i < 2; ++i) {
                json_array_append_new(path, json_real(at[i]));
                least[i] = fmin(least[i], at[i] - 2);
                most[i] = fmax(most[i], at[i] + 2);
            }
        }
        json_array_append_new(paths, path);
    }
    /* cells are square, and the picture is wider than tall */
    const int columns = 140, rows = 80;
    const double cell = fmax((most[0] - least[0]) / columns, (most[1] - least[1]) / rows);
    const double x0 = (least[0] + most[0] - cell * columns) / 2, z0 = (least[1] + most[1] - cell * rows) / 2;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            double height;
            const bool there = ground_height(ground, x0 + cell * (j + 0.5), z0 + cell * (i + 0.5), &height, NULL);
            json_array_append_new(heights, there ? json_integer((json_int_t)floor(height * 100 + 0.5)) : json_null());
        }
    }
    return json_pack("{s:f, s:f, s:f, s:i, s:i, s:o, s:o}", "x", x0, "z", z0, "cell", cell, "columns", columns, "rows", rows, "centimetres",
                     heights, "paths", paths);
}

static json_t *page_data(const figures *f, const ground *ground, const sole_samples *soles, const json_t *json) {
    const motion *motion = f->motion;
    const crowd_run *run = f->run;
    json_t *parents = json_array(), *legs = json_array(), *walkers = json_array(), *totals = json_array();
    for (uint32_t j = 0; j < motion->joint_count; ++j) {
        json_array_append_new(parents, json_integer(motion->parents[j] != PHX_NO_JOINT ? motion->parents[j] : -1));
    }
    for (uint32_t l = 0; l < motion->leg_count; ++l) {
        const phx_leg *leg = &motion->legs[l];
        json_array_append_new(legs,
                              json_pack("{s:s, s:i, s:i, s:i, s:i}", "side", motion->leg_side[l] == 'r' ? "right" : "left", "hip", leg->hip,
                                        "knee", leg->knee, "ankle", leg->ankle, "ball", leg->ball != PHX_NO_JOINT ? leg->ball : -1));
    }
    uint32_t frames = run->frames < MOST_FRAMES ? run->frames : MOST_FRAMES;
    const double a_frame = 6.0 * motion->joint_count;
    frames = (uint32_t)fmax(1, fmin(frames, MOST_NUMBERS / a_frame));
    const double room = fmin(MOST_WALKERS, fmin(run->captured_count, floor(MOST_NUMBERS / (a_frame * frames))));
    for (uint32_t k = 0; k < (uint32_t)fmax(1, room); ++k)
        json_array_append_new(walkers, walker_json(f, ground, &run->captures[k], frames));
    const uint32_t step = (run->frames + 599) / 600;
    for (uint32_t frame = 0; frame < run->frames; frame += step) json_array_append_new(totals, json_real(run->total_by_frame[frame]));
    json_t *data = json_pack("{s:O, s:o, s:o, s:o, s:o, s:o, s:i, s:f}", "figures", (json_t *)(uintptr_t)json, "histogram",
                             histogram_json(f, soles), "totals", totals, "parents", parents, "legs", legs, "walkers", walkers, "pelvis",
                             motion->pelvis != PHX_NO_JOINT ? motion->pelvis : -1, "rate", 1 / f->dt);
    if (run->characters > 1) json_object_set_new(data, "map", map_json(f, ground));
    return data;
}

bool report_write(const char *path, const figures *figures, const ground *ground, const sole_samples *soles, const json_t *json,
                  io_error *error) {
    json_t *data = page_data(figures, ground, soles, json);
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(7) | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH);
    json_decref(data);
    static const char marker[] = "{\"data\":\"here\"}";
    const char *page = (const char *)report_page, *at = strstr(page, marker);
    if (text == NULL || at == NULL) {
        free(text);
        return io_fail(error, "%s: the report cannot be put together; this is a fault of phalanx itself", path);
    }
    char *whole = io_format_text("%.*s%s%s", (int)(at - page), page, text, at + sizeof marker - 1);
    const bool good = io_write_file(path, whole, strlen(whole), error);
    free(whole);
    free(text);
    return good;
}
