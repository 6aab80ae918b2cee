/* `phalanx bake`: one clip of a character put on a ground, as a GLB with the corrected clip, with figures and pictures. */
#include "cli.h"
#include "figures.h"
#include "report.h"
#include "../io/write_glb.h"

#include <stdlib.h>
#include <string.h>

/* Loops are walked this far, metres, and at least twice. */
static const double walked = 6;

/* How many frames the walk lasts: the clip, or so many rounds of it as make some strides; less where the ground ends. */
static bool choose_frames(const motion *motion, const ground *ground, const char *ground_name, uint32_t *frames, io_notes *notes,
                          io_error *error) {
    double wanted = motion->frames;
    if (motion->loops) {
        const double round = motion->frames - 1, a_round = motion->path[motion->frames - 1][1];
        const double rounds = a_round > 0 ? fmax(2, ceil(walked / a_round)) : 2;
        wanted = fmin(rounds, fmax(2, 20000 / round)) * round + 1;
    }
    *frames = (uint32_t)wanted;
    for (uint32_t f = 0; f < *frames; ++f) {
        double at[2];
        motion_path(motion, f, at);
        /* room for the foot that is in front */
        if (ground_height(ground, at[0], at[1] + 0.5 * motion->leg_length[0], NULL, NULL)) continue;
        if (f < motion->frame_rate)
            return io_fail(error,
                           "%s: ends %.2f m ahead of where the walk begins; move the start with --origin X,Z or turn it with --heading DEG",
                           ground_name, at[1]);
        io_note(notes, "the ground ends: %.1f m are walked", at[1]);
        *frames = f;
        break;
    }
    return true;
}

/* Corrected poses as the character's file has them: its units and axes, the forward motion in its topmost joints. */
static io_transform *file_poses(const motion *motion, const crowd_run *run) {
    const crowd_capture *capture = &run->captures[0];
    const io_character *character = motion->character;
    io_transform *out = io_allocate((size_t)run->frames * motion->joint_count, sizeof *out);
    const turn from_up = character->z_up ? turn_x(1.57079632679489661923) : TURN_NONE;
    for (uint32_t f = 0; f < run->frames; ++f) {
        const root_transform root = {turn_vec(from_up, capture->roots[f].place), turn_times(from_up, capture->roots[f].rotation)};
        for (uint32_t j = 0; j < motion->joint_count; ++j) {
            const phx_transform *local = &capture->after[(size_t)f * motion->joint_count + j];
            vec place = vec_of(local->translation.x, local->translation.y, local->translation.z);
            turn rotation = {local->rotation.x, local->rotation.y, local->rotation.z, local->rotation.w};
            if (motion->parents[j] == PHX_NO_JOINT) {
                place = vec_add(root.place, turn_vec(root.rotation, place));
                rotation = turn_times(root.rotation, rotation);
            }
            place = vec_scale(place, 1 / character->unit);
            out[(size_t)f * motion->joint_count + j] =
                (io_transform){{(float)place.x, (float)place.y, (float)place.z},
                               {(float)rotation.x, (float)rotation.y, (float)rotation.z, (float)rotation.w},
                               {local->scale.x, local->scale.y, local->scale.z}};
        }
    }
    return out;
}

static bool write_character(const char *path, const motion *motion, const crowd_run *run, const char *ground_name, io_error *error) {
    const char *slash = strrchr(ground_name, '/'), *base = slash != NULL ? slash + 1 : ground_name;
    const char *clip = motion->character->clips[motion->clip].name;
    char *name = io_format_text("%s on %s", clip, base);
    const io_character *character = motion->character;
    for (size_t again = 2, c = 0; c < character->clip_count; ++c) {
        if (strcmp(character->clips[c].name, name) != 0) continue;
        free(name);
        name = io_format_text("%s on %s (%zu)", clip, base, again++);
        c = (size_t)-1; /* that one may be there too */
    }
    io_transform *locals = file_poses(motion, run);
    const io_baked_clip baked = {name, motion->frame_rate, run->frames, locals, (int32_t)motion->clip};
    const bool good = io_write_glb(path, motion->character, &baked, 1, error);
    free(locals);
    free(name);
    return good;
}

static bool parse_origin(const char *text, double origin[2]) {
    char copy[128];
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    char *comma = strchr(copy, ',');
    if (comma == NULL) return false;
    *comma = 0;
    return io_parse_number(copy, &origin[0]) && io_parse_number(comma + 1, &origin[1]) && fabs(origin[0]) <= 1e7 && fabs(origin[1]) <= 1e7;
}

int command_bake(int argc, char **argv) {
    const char *clip_text = NULL, *ground_name = NULL, *out = NULL, *json = NULL, *report = NULL, *origin = NULL, *heading = NULL,
               *unit = NULL, *up = NULL;
    const char *scale = NULL, *given_legs = NULL, *backend_name = NULL, *file = NULL;
    const cli_option options[] = {
        {"--clip", "NAME", "which clip (the only one, or the first)", &clip_text, NULL},
        {"--ground", "FILE", "height map or mesh, or flat, slope:DEG, stairs[:RISE,RUN], hills[:SEED]", &ground_name, NULL},
        {"-o", "OUT.glb", "the character with the corrected clip added", &out, NULL},
        {"--json", "FILE", "write the figures there; - is standard output", &json, NULL},
        {"--report", "FILE.html", "write a page with pictures there", &report, NULL},
        {"--origin", "X,Z", "where the walk begins on the ground, metres (its middle)", &origin, NULL},
        {"--heading", "DEG", "where it goes: 0 along the ground's +Z, 90 along +X (0)", &heading, NULL},
        {"--unit", "M", "metres per unit of the character's file", &unit, NULL},
        {"--up", "y|z", "the character's file's up axis", &up, NULL},
        {"--ground-scale", "S", "multiplies the ground's metres", &scale, NULL},
        {"--legs", "LEGS", "name the legs: hip,knee,ankle[,ball];hip,knee,ankle[,ball]...", &given_legs, NULL},
        {"--backend", "NAME", "avx512 avx2 sse2 neon wasm reference (the best that runs here)", &backend_name, NULL},
    };
    cli_command_line line = {.synopsis = "bake CHARACTER --ground FILE -o OUT.glb [options]",
                             .about =
                                 "Walks a clip over a ground and writes what its feet made of it.\nCHARACTER: .glb .gltf .bvh .fbx .dae",
                             .options = options,
                             .option_count = sizeof options / sizeof *options,
                             .files = &file,
                             .file_least = 1,
                             .file_most = 1};
    int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    io_character_options reading = {0};
    ground_options placing = ground_default_options();
    if (ground_name == NULL)
        return cli_complain(CLI_USAGE, "bake", "--ground is missing: name a height map, a mesh, or flat, slope:DEG, stairs, hills");
    if (out == NULL) return cli_complain(CLI_USAGE, "bake", "-o is missing: name the GLB to write");
    if (!io_has_extension(out, ".glb")) return cli_complain(CLI_USAGE, "bake", "-o: '%s' does not end in .glb, and a GLB is what is written", out);
    if (!cli_number("bake", "--unit", unit, 1e-6, 1e6, &reading.unit) || !cli_up("bake", up, &reading.up) ||
        !cli_number("bake", "--ground-scale", scale, 1e-6, 1e6, &placing.scale) ||
        !cli_number("bake", "--heading", heading, -360, 360, &placing.heading_degrees))
        return CLI_USAGE;
    /* a GLB may be baked in place: all that it held stays in it */
    const cli_file read[] = {{"CHARACTER", file, false}, {"--json", json, true}, {"--report", report, true}};
    const cli_file named[] = {{"-o", out, true}, {"--ground", ground_name, false}, {"--json", json, true}, {"--report", report, true}};
    if (!cli_files_distinct("bake", read, sizeof read / sizeof *read) || !cli_files_distinct("bake", named, sizeof named / sizeof *named))
        return CLI_USAGE;
    placing.has_origin = origin != NULL;
    if (origin != NULL && !parse_origin(origin, placing.origin))
        return cli_complain(CLI_USAGE, "bake", "--origin: '%s' is not X,Z in metres", origin);
    const phx_backend *backend = backend_name != NULL ? phx_backend_find(backend_name) : phx_backend_best();
    if (backend == NULL)
        return cli_complain(CLI_INPUT, "bake", "there is no backend '%s' here; `phalanx backends` lists those there are", backend_name);
    if (!cli_files_writable("bake", named, sizeof named / sizeof *named)) return CLI_INPUT;

    io_error error;
    io_notes notes = {0};
    io_character character = {0};
    motion motion = {0};
    ground *ground = NULL;
    crowd_run run = {0};
    legs found;
    size_t clip = 0;
    uint32_t frames = 0;
    bool good = io_character_load(file, &reading, &character, &error);
    if (good && character.clip_count == 0) good = io_fail(&error, "%s: has no clip to put on the ground", file);
    good = good && io_character_find_clip(&character, clip_text, &clip, &error) &&
           legs_find(&character, given_legs, &found, &character.notes, &error) &&
           motion_create(&character, clip, &found, &notes, &motion, &error) && ground_load(ground_name, &placing, &ground, &error) &&
           choose_frames(&motion, ground, ground_name, &frames, &notes, &error);
    if (good) {
        figures_note_inputs(&character, clip, clip_text != NULL, ground, &notes);
        const walker alone = {.rate = 1};
        const uint32_t captured = 0;
        const crowd_run_options walk = {.motion = &motion,
                                        .ground = ground,
                                        .walkers = &alone,
                                        .characters = 1,
                                        .frames = frames,
                                        .threads = 1,
                                        .dt = 1 / motion.frame_rate,
                                        .joint_speed = 1.45, /* 1.5 is what quality.h calls a pop */
                                        .backend = backend,
                                        .reference_characters = 1,
                                        .reference_frames = frames,
                                        .captured = &captured,
                                        .captured_count = 1,
                                        .progress = "bake"};
        good = crowd_run_start(&walk, &run, &error);
    }
    if (good) {
        figures_note_slope(ground_name, ground, &notes);
        quality quality[QUALITY_KINDS];
        sole_samples soles;
        quality_measure(&motion, ground, &run, 1 / motion.frame_rate, quality, &soles);
        const figures figures = {ground_name, backend, &motion, &run, quality, &notes, 0, 1 / motion.frame_rate};
        json_t *object = figures_json(&figures);
        /* the character last: it may be baked in place, and is not touched where anything else went wrong */
        good = (report == NULL || report_write(report, &figures, ground, &soles, object, &error)) &&
               (json == NULL || figures_write(json, object, &error)) && write_character(out, &motion, &run, ground_name, &error);
        if (good) figures_print(json != NULL && strcmp(json, "-") == 0 ? stderr : stdout, &figures);
        json_decref(object);
        sole_samples_free(&soles);
    }
    crowd_run_free(&run);
    if (ground != NULL) ground_free(ground);
    motion_free(&motion);
    io_character_free(&character);
    io_notes_free(&notes);
    return good ? CLI_DONE : cli_complain(CLI_INPUT, "bake", "%s", error.text);
}
