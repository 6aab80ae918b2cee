/* `phalanx demo`: a crowd on uneven ground, its speed and how well its feet stand. */
#include "cli.h"
#include "figures.h"
#include "report.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

/* splitmix64 (Steele, Lea, Flood 2014): walkers depend on the seed and their own number alone. */
static double random_share(uint64_t seed, uint64_t index) {
    uint64_t z = (seed + 1) * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static bool path_is_on_ground(const ground *ground, const walker *w, double length) {
    for (int k = 0; k <= 16; ++k) {
        const double far = (length + 0.8) * k / 16 - 0.4;
        if (!ground_height(ground, w->start[0] + sin(w->heading) * far, w->start[1] + cos(w->heading) * far, NULL, NULL)) return false;
    }
    return true;
}

/* Everyone starts somewhere, heads somewhere, in their own step and pace; on ground that ends they walk as far as it goes and start anew.
 */
static bool place_walkers(const motion *motion, const ground *ground, uint64_t seed, double dt, uint32_t frames, walker *walkers,
                          uint32_t count, io_error *error) {
    const ground_extent extent = ground_get_extent(ground);
    const double side = 2 * sqrt((double)count), last = motion_last_frame(motion), pace = motion->frame_rate * dt;
    double middle[2], half[2];
    for (int k = 0; k < 2; ++k) {
        middle[k] = extent.endless ? 0 : extent.centre[k];
        half[k] = extent.endless ? side / 2 : (extent.most[2 * k] - extent.least[2 * k]) / 2;
    }
    for (uint32_t c = 0; c < count; ++c) {
        walker *w = &walkers[c];
        uint64_t draw = (uint64_t)c << 16;
        *w = (walker){.rate = motion->frames > 1 ? pace * (0.9 + 0.2 * random_share(seed, draw++)) : 1};
        w->phase = random_share(seed, draw++) * (motion->loops ? motion->frames - 1 : 0.3 * last);
        uint32_t lap = frames;
        if (!motion->loops && motion->frames > 1) lap = (uint32_t)fmin(frames, floor((last - w->phase) / w->rate) + 1);
        const double a_frame = motion->speed * dt * w->rate / pace;
        bool placed = false;
        for (int attempt = 0; attempt < 400 && !placed; ++attempt) {
            for (int k = 0; k < 2; ++k) w->start[k] = middle[k] + (2 * random_share(seed, draw++) - 1) * half[k];
            w->heading = (2 * random_share(seed, draw++) - 1) * 3.14159265358979323846;
            placed = path_is_on_ground(ground, w, a_frame * lap);
            /* what is too far for this ground is walked in shorter laps */
            if (!placed && attempt % 40 == 39 && lap > 1) lap = lap > 20 ? lap / 2 : lap;
        }
        if (!placed) return io_fail(error, "the ground is too small or too full of holes: no place was found for walker %u", c);
        w->lap = lap < frames || !motion->loops ? lap : 0;
    }
    return true;
}

int command_demo(int argc, char **argv) {
    const char *characters_text = NULL, *frames_text = NULL, *threads_text = NULL, *backend_name = NULL, *seed_text = NULL,
               *character_path = NULL;
    const char *clip_text = NULL, *ground_text = NULL, *json = NULL, *report = NULL, *given_legs = NULL, *unit = NULL, *up = NULL,
               *scale = NULL, *capture = NULL, *capture_frame_text = NULL, *capture_first_text = NULL, *capture_count_text = NULL;
    const cli_option options[] = {
        {"--characters", "N", "how many walk (10000)", &characters_text, NULL},
        {"--frames", "F", "how long, at 60 frames a second (240)", &frames_text, NULL},
        {"--threads", "T", "worker threads (1)", &threads_text, NULL},
        {"--backend", "NAME", "avx512 avx2 sse2 neon wasm reference (the best that runs here)", &backend_name, NULL},
        {"--seed", "S", "where they start, how they go, and which hills (1)", &seed_text, NULL},
        {"--character", "FILE", "who walks: .glb .gltf .bvh .fbx .dae (a walker made by formulas)", &character_path, NULL},
        {"--clip", "NAME", "which clip of that file (the only one, or the first)", &clip_text, NULL},
        {"--ground", "FILE", "height map or mesh, or flat, slope:DEG, stairs[:RISE,RUN], hills[:SEED] (hills)", &ground_text, NULL},
        {"--json", "FILE", "write the figures there; - is standard output", &json, NULL},
        {"--report", "FILE.html", "write a page with pictures there", &report, NULL},
        {"--capture", "FILE", "write one frame of some characters for `phalanx replay`", &capture, NULL},
        {"--capture-frame", "N", "which frame, from 0 (the last)", &capture_frame_text, NULL},
        {"--capture-first", "C", "the first of its characters, from 0 (0)", &capture_first_text, NULL},
        {"--capture-count", "N", "how many (64)", &capture_count_text, NULL},
        {"--legs", "LEGS", "name the legs: hip,knee,ankle[,ball];hip,knee,ankle[,ball]...", &given_legs, NULL},
        {"--unit", "M", "metres per unit of the character's file", &unit, NULL},
        {"--up", "y|z", "the character's file's up axis", &up, NULL},
        {"--ground-scale", "S", "multiplies the ground's metres", &scale, NULL},
    };
    cli_command_line line = {.synopsis = "demo [options]",
                             .about = "Walks a crowd over uneven ground: how fast, and how well its feet stand.",
                             .options = options,
                             .option_count = sizeof options / sizeof *options};
    int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    const cli_file named[] = {{"--character", character_path, false}, {"--ground", ground_text, false}, {"--json", json, true},
                              {"--report", report, true}, {"--capture", capture, true}};
    if (!cli_files_distinct("demo", named, sizeof named / sizeof *named)) return CLI_USAGE;
    uint64_t count = 10000, frames = 240, threads = 1, seed = 1;
    io_character_options reading = {0};
    ground_options placing = ground_default_options();
    if (!cli_count("demo", "--characters", characters_text, 1, 2000000, &count) ||
        !cli_count("demo", "--frames", frames_text, 1, 1000000, &frames) ||
        !cli_count("demo", "--threads", threads_text, 1, 256, &threads) || !cli_count("demo", "--seed", seed_text, 0, INT64_MAX, &seed) ||
        !cli_number("demo", "--unit", unit, 1e-6, 1e6, &reading.unit) || !cli_up("demo", up, &reading.up) ||
        !cli_number("demo", "--ground-scale", scale, 1e-6, 1e6, &placing.scale))
        return CLI_USAGE;
    uint64_t capture_frame = frames - 1, capture_first = 0, capture_count = 64;
    if (!cli_count("demo", "--capture-frame", capture_frame_text, 0, frames - 1, &capture_frame) ||
        !cli_count("demo", "--capture-first", capture_first_text, 0, count - 1, &capture_first) ||
        !cli_count("demo", "--capture-count", capture_count_text, 1, count - capture_first, &capture_count))
        return CLI_USAGE;
    if (capture_count > count - capture_first) capture_count = count - capture_first; /* of the 64 that nobody asked for */
    if (capture == NULL && (capture_frame_text != NULL || capture_first_text != NULL || capture_count_text != NULL))
        return cli_complain(CLI_USAGE, "demo", "--capture-frame, --capture-first and --capture-count need --capture FILE");
    if (character_path == NULL && (clip_text != NULL || given_legs != NULL || unit != NULL || up != NULL))
        return cli_complain(CLI_USAGE, "demo", "--clip, --legs, --unit and --up speak of a file: name it with --character");
    const phx_backend *backend = backend_name != NULL ? phx_backend_find(backend_name) : phx_backend_best();
    if (backend == NULL)
        return cli_complain(CLI_INPUT, "demo", "there is no backend '%s' here; `phalanx backends` lists those there are", backend_name);
    if (!cli_files_writable("demo", named, sizeof named / sizeof *named)) return CLI_INPUT;

    io_error error;
    io_notes notes = {0};
    io_character character = {0};
    motion motion = {0};
    ground *ground = NULL;
    crowd_run run = {0};
    legs found;
    size_t clip = 0;
    char hills[32];
    snprintf(hills, sizeof hills, "hills:%llu", (unsigned long long)(seed % 1000000));
    const char *ground_name = ground_text != NULL ? ground_text : hills;
    const double dt = 1.0 / 60;
    walker *walkers = io_allocate(count, sizeof *walkers);
    uint32_t *captured = NULL;
    bool good = true;
    if (character_path != NULL)
        good = io_character_load(character_path, &reading, &character, &error);
    else
        walk_character(&character);
    good = good && io_character_find_clip(&character, clip_text, &clip, &error) &&
           legs_find(&character, given_legs, &found, &character.notes, &error) &&
           motion_create(&character, clip, &found, &notes, &motion, &error) && ground_load(ground_name, &placing, &ground, &error) &&
           place_walkers(&motion, ground, seed, dt, (uint32_t)frames, walkers, (uint32_t)count, &error);
    if (good) {
        /* quality is judged on some, spread over the crowd; few where poses are long, so that captures stay within some 300 MB */
        const double a_capture = (double)frames * motion.joint_count * 2 * sizeof(phx_transform);
        uint32_t captures = (uint32_t)fmax(1, fmin(fmin((double)count, 64), 3e8 / a_capture));
        captured = io_allocate(captures, sizeof *captured);
        for (uint32_t k = 0; k < captures; ++k) captured[k] = (uint32_t)((uint64_t)k * count / captures);
        const crowd_run_options walk = {.motion = &motion,
                                        .ground = ground,
                                        .walkers = walkers,
                                        .characters = (uint32_t)count,
                                        .frames = (uint32_t)frames,
                                        .threads = (uint32_t)threads,
                                        .dt = dt,
                                        .backend = backend,
                                        .reference_characters = (uint32_t)(count < 16384 ? count : 16384),
                                        .reference_frames = (uint32_t)(frames < 60 ? frames : 60),
                                        .captured = captured,
                                        .captured_count = captures,
                                        .capture_path = capture,
                                        .capture_frame = (uint32_t)capture_frame,
                                        .capture_first = (uint32_t)capture_first,
                                        .capture_count = (uint32_t)capture_count,
                                        .progress = "demo"};
        good = crowd_run_start(&walk, &run, &error);
    }
    if (good) {
        figures_note_inputs(&character, clip, clip_text != NULL, ground, &notes);
        figures_note_slope(ground_name, ground, &notes);
        quality quality[QUALITY_KINDS];
        sole_samples soles;
        quality_measure(&motion, ground, &run, dt, quality, &soles);
        const figures figures = {ground_name, backend, &motion, &run, quality, &notes, seed, dt};
        json_t *object = figures_json(&figures);
        figures_print(json != NULL && strcmp(json, "-") == 0 ? stderr : stdout, &figures);
        good = (report == NULL || report_write(report, &figures, ground, &soles, object, &error)) &&
               (json == NULL || figures_write(json, object, &error));
        json_decref(object);
        sole_samples_free(&soles);
    }
    crowd_run_free(&run);
    free(captured);
    free(walkers);
    if (ground != NULL) ground_free(ground);
    motion_free(&motion);
    io_character_free(&character);
    io_notes_free(&notes);
    return good ? CLI_DONE : cli_complain(CLI_INPUT, "demo", "%s", error.text);
}
