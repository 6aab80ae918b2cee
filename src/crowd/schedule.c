/* Whole frames over the caller's job system, and levels of detail within a budget: phx_crowd_run and phx_crowd_schedule. */
#include "crowd.h"
#include "../api/report.h"
#include <string.h>

/* A worker takes several tiles in a row, because each fetches the memory of the next one, but few enough that many workers end together. */
enum { LONGEST_RUN = 8, LEAST_RUNS = 32 };
typedef struct frame_run {
    phx_crowd *crowd;
    const phx_crowd_frame *frame;
    const phx_crowd_callbacks *callbacks;
    uint32_t tiles, length; /* of all runs, of one */
} frame_run;

static void run_tiles(void *data, uint32_t index, uint32_t worker) {
    const frame_run *run = data;
    phx_crowd_frame frame = *run->frame;
    frame.worker = worker;
    const uint32_t first = index * run->length, last = run->tiles - first < run->length ? run->tiles : first + run->length;
    for (uint32_t tile = first; tile < last; ++tile) {
        const phx_ray_blocks rays = phx_crowd_prepare(run->crowd, &frame, tile);
        if (!rays.blocks) return;
        run->callbacks->cast(run->callbacks->cast_context, rays);
        phx_crowd_solve(run->crowd, &frame, tile);
    }
}

phx_status phx_crowd_run(phx_crowd *crowd, const phx_crowd_frame *frame, const phx_crowd_callbacks *callbacks, phx_report *report) {
    const phx_status status = phx_crowd_validate(crowd, frame, report);
    if (status) return status;
    if (!callbacks) return phx_reject(report, PHX_ERROR_NULL, "crowd run: 'callbacks' is NULL");
    if (!callbacks->cast) return phx_reject(report, PHX_ERROR_NULL, "crowd run: 'cast' is NULL");
    const uint32_t tiles = phx_crowd_frame_tiles(crowd, frame), share = tiles / LEAST_RUNS;
    const uint32_t length = !callbacks->parallel ? tiles : share < 1 ? 1 : share < LONGEST_RUN ? share : LONGEST_RUN;
    frame_run run = {crowd, frame, callbacks, tiles, length};
    if (callbacks->parallel) callbacks->parallel(callbacks->parallel_context, (tiles + length - 1) / length, run_tiles, &run);
    else if (tiles) run_tiles(&run, 0, 0);
    return phx_accept(report);
}

static uint32_t read_word(phx_view view, size_t index) {
    uint32_t value;
    memcpy(&value, (const char *)view.data + index * view.stride, sizeof value);
    return value;
}
static void write_word(phx_view view, size_t index, uint32_t value) { memcpy((char *)view.data + index * view.stride, &value, sizeof value); }

/* bits of priority * (age + 1): positive floats are in the order of their bits; 0 for characters that are off. One that was teleported has
 * nothing to repeat: those come before all others, in the same order. */
static uint32_t score_of(phx_view priority, phx_view age, phx_view flags, size_t index) {
    float value;
    const uint32_t bits = read_word(priority, index);
    memcpy(&value, &bits, sizeof value);
    value = value * ((float)read_word(age, index) + 1.0f);
    const uint32_t said = read_word(flags, index);
    if (!(value > 0.0f) || said & PHX_CHARACTER_OFF) return 0;
    uint32_t score;
    memcpy(&score, &value, sizeof score);
    return said & PHX_CHARACTER_TELEPORT ? score | 0x80000000u : score;
}

phx_status phx_crowd_schedule(const phx_crowd *crowd, uint32_t count, uint32_t budget_feet, phx_view priority, phx_view age, phx_view flags,
                              phx_report *report) {
    static const char name[] = "crowd schedule";
    if (!crowd) return phx_reject(report, PHX_ERROR_NULL, "%s: 'crowd' is NULL", name);
    if (!crowd->setup.replay)
        return phx_reject(report, PHX_ERROR_STATE, "%s: the crowd was defined with replay 0, and cannot repeat corrections; set def.replay = 1", name);
    phx_field fields[] = {{"age", &age, 4, 1, 1}, {"flags", &flags, 4, 1, 1}, {"priority", &priority, 4, 1, 0}};
    if (count > crowd->capacity) return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %u, the capacity is %u", name, count, crowd->capacity);
    phx_status status = phx_check_fields(name, fields, 3, count, report);
    fields[2].output = 1; /* as far as sharing bytes goes: it is not to be overwritten, by its own character's words either */
    if (!status) status = phx_check_overlap(name, fields, 3, count, report);
    if (status) return status;

    /* the score of the last character that fits, found eleven bits at a time from the top: no sorting, no memory */
    static const struct {
        uint32_t shift, bits;
    } digits[3] = {{21, 11}, {10, 11}, {0, 10}};
    uint32_t fits = budget_feet / crowd->setup.leg_count, prefix = 0, mask = 0;
    for (int d = 0; d < 3; ++d) {
        uint32_t histogram[2048] = {0};
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t score = score_of(priority, age, flags, i);
            if (score && (score & mask) == prefix) ++histogram[score >> digits[d].shift & ((1u << digits[d].bits) - 1)];
        }
        uint32_t digit = (1u << digits[d].bits) - 1;
        while (digit > 0 && histogram[digit] <= fits) fits -= histogram[digit--];
        prefix |= digit << digits[d].shift;
        mask |= ((1u << digits[d].bits) - 1) << digits[d].shift;
    }
    /* all above the threshold fit, and `fits` of those at it */
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t score = score_of(priority, age, flags, i), old = read_word(age, i);
        phx_lod lod = PHX_LOD_REPLAY;
        if (score == 0) lod = PHX_LOD_OFF;
        else if (score > prefix) lod = PHX_LOD_FULL;
        else if (score == prefix && fits > 0) lod = PHX_LOD_FULL, --fits;
        write_word(age, i, lod == PHX_LOD_FULL ? 0 : old < 0xFFFFFFFEu ? old + 1 : old);
        write_word(flags, i, (read_word(flags, i) & ~PHX_CHARACTER_LOD(3)) | PHX_CHARACTER_LOD(lod));
    }
    return phx_accept(report);
}
