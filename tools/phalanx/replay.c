/* `phalanx replay`: runs a captured frame again on any backend, prints each foot's stages, and says whether the outputs are the
 * same bits as those captured. */
#include "cli.h"
#include "foot_text.h"
#include "replay_page.h"

#include <phalanx/capture.h>
#include <phalanx/draw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text for people ends after so many characters; a page draws so many. JSON holds all. */
enum { TEXT_CHARACTERS = 8, DRAWN_CHARACTERS = 64 };

/* "character 12, joint 7: pose differs" */
static void add_difference(text_buffer *out, const phx_replay_difference *difference) {
    text_add(out, "%u character%s differ%s; first character %u: its %s", difference->characters, difference->characters > 1 ? "s" : "",
             difference->characters > 1 ? "" : "s", difference->character, difference->stage);
    if (difference->joint != PHX_NO_JOINT) text_add(out, " at joint %u", difference->joint);
    if (difference->leg != PHX_NO_JOINT) text_add(out, " of leg %u", difference->leg);
}

static void add_character(text_buffer *out, phx_replay *replay, uint32_t character, bool json) {
    const phx_replay_info info = phx_replay_get(replay);
    const phx_crowd_def *def = info.def;
    const uint32_t joints = def->skeleton.joint_count;
    phx_transform *before = io_allocate(joints, sizeof *before),
                  *after = (phx_transform *)info.frame->poses.data + (size_t)character * joints;
    vec *places = io_allocate(2 * (size_t)joints, sizeof *places);
    turn *turns = io_allocate(2 * (size_t)joints, sizeof *turns);
    phx_vec3 root = {0, 0, 0};
    phx_quat rotation = {0, 0, 0, 1};
    if (info.frame->root_position.data) memcpy(&root, (const phx_vec3 *)info.frame->root_position.data + character, sizeof root);
    if (info.frame->root_rotation.data) memcpy(&rotation, (const phx_quat *)info.frame->root_rotation.data + character, sizeof rotation);
    phx_replay_animated(replay, character, before);
    pose_to_world(def->skeleton.parents, joints, before, root, rotation, places, turns);
    pose_to_world(def->skeleton.parents, joints, after, root, rotation, places + joints, turns + joints);
    const float pelvis = phx_crowd_pelvis(info.crowd, character);
    if (json) {
        text_add(out, "%s\n  {\"character\": %u, \"root\": ", character ? "," : "", info.first + character);
        vec_json(out, vec_from(root));
        text_add(out, ", \"pelvis\": ");
        number_json(out, (double)pelvis);
        phx_pelvis_info moved;
        phx_crowd_pelvis_info(info.crowd, character, &moved);
        pelvis_json(out, &moved);
        text_add(out, ", \"legs\": [");
    } else {
        text_add(out, "character %u  root (%.4f %.4f %.4f)  pelvis %+.4f\n", info.first + character, (double)root.x, (double)root.y,
                 (double)root.z, (double)pelvis);
    }
    for (uint32_t leg = 0; leg < def->leg_count; ++leg) {
        phx_foot_info foot;
        char name[16];
        snprintf(name, sizeof name, "leg%u", leg);
        phx_crowd_foot(info.crowd, character, leg, &foot);
        const foot_place animated = foot_place_of(def->legs + leg, places, turns);
        const foot_place placed = foot_place_of(def->legs + leg, places + joints, turns + joints);
        if (json && leg) text_add(out, ", ");
        if (json)
            foot_json(out, name, &foot, &animated, &placed, PHX_NO_HIT);
        else
            foot_text(out, name, &foot, &placed, PHX_NO_HIT);
    }
    if (json) text_add(out, "]}");
    free(before);
    free(places);
    free(turns);
}

static void add_line(void *context, phx_vec3 from, phx_vec3 to, uint32_t colour, phx_draw what) {
    text_buffer *out = context;
    int kind = 0;
    while (what != 1u << kind) ++kind;
    text_add(out, "%s[%d,%u,%.7g,%.7g,%.7g,%.7g,%.7g,%.7g]", out->text[out->length - 1] == '[' ? "" : ",", kind, colour, (double)from.x,
             (double)from.y, (double)from.z, (double)to.x, (double)to.y, (double)to.z);
}

/* The page with its data in the place of its marker. */
static bool write_page(const char *path, const text_buffer *data, io_error *error) {
    static const char marker[] = "/*DATA*/null";
    const char *page = (const char *)replay_page, *at = strstr(page, marker);
    text_buffer out = {NULL, 0, 0};
    text_add(&out, "%.*s%s%s", (int)(at - page), page, data->text, at + sizeof marker - 1);
    const bool good = io_write_file(path, out.text, out.length, error);
    free(out.text);
    return good;
}

/* A JSON text; bytes that could end the page's script, or that are not plain, are left out. */
static void add_name(text_buffer *out, const char *name) {
    text_add(out, "\"");
    for (; *name; ++name)
        if ((unsigned char)*name >= 32 && (unsigned char)*name < 127 && !strchr("\"\\<>&", *name)) text_add(out, "%c", *name);
    text_add(out, "\"");
}

static void add_index(text_buffer *out, uint32_t index) {
    if (index == PHX_NO_JOINT)
        text_add(out, "null");
    else
        text_add(out, "%u", index);
}

static void add_head(text_buffer *out, const char *file, phx_replay *replay, const phx_replay_difference *difference) {
    const phx_replay_info info = phx_replay_get(replay);
    text_add(out, "{\"file\": ");
    add_name(out, file);
    text_add(out, ", \"backend\": \"%s\", \"dt\": ", phx_backend_name(info.def->backend));
    number_json(out, (double)info.frame->dt);
    text_add(out, ", \"up\": ");
    vec_json(out, vec_from(info.def->up));
    text_add(out, ", \"different\": %u, ", difference->characters);
    if (difference->characters) {
        text_add(out, "\"verdict\": \"");
        add_difference(out, difference);
        text_add(out, "\", \"first_difference\": {\"character\": %u, \"stage\": \"%s\", \"joint\": ", difference->character,
                 difference->stage);
        add_index(out, difference->joint);
        text_add(out, ", \"leg\": ");
        add_index(out, difference->leg);
        text_add(out, "}, ");
    }
    text_add(out, "\"characters\": [");
}

int command_replay(int argc, char **argv) {
    const char *file = NULL, *backend_name = NULL, *page = NULL;
    bool json = false;
    const cli_option options[] = {
        {"--backend", "NAME", "avx512 avx2 sse2 neon wasm reference; default the best here", &backend_name, NULL},
        {"--json", NULL, "print JSON: file backend dt up different characters[{character root pelvis pelvis_moved pelvis_turned legs[..]}]", NULL, &json},
        {"--report", "FILE.html", "write a page with the characters drawn in 3D", &page, NULL},
    };
    cli_command_line line = {
        .synopsis = "replay CAPTURE [options]",
        .about = "Runs a captured frame of a crowd again, prints what became of each foot, and compares all outputs with the captured\n"
                 "ones, bit for bit. `phalanx feet` and `phalanx demo` write captures, and so does phx_capture_begin in an engine.\n"
                 "Exit status 0: the same bits; 1: they differ, and standard error names the first character and joint, or the file is\n"
                 "no capture.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .files = &file,
        .file_least = 1,
        .file_most = 1};
    const int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    const cli_file named[] = {{"CAPTURE", file, false}, {"--report", page, true}};
    if (!cli_files_distinct("replay", named, sizeof named / sizeof *named)) return CLI_USAGE;
    const phx_backend *backend = backend_name ? phx_backend_find(backend_name) : phx_backend_best();
    if (!backend)
        return cli_complain(CLI_USAGE, "replay", "--backend: '%s' is not usable here; `phalanx backends` lists those that are",
                            backend_name);
    uint8_t *bytes;
    size_t size;
    io_error error;
    phx_report report;
    if (!io_read_file(file, &bytes, &size, &error)) return cli_complain(CLI_INPUT, "replay", "%s", error.text);
    file = io_input_name(file);
    phx_replay *replay = phx_replay_open(bytes, size, backend, &report);
    if (!replay) {
        free(bytes);
        return cli_complain(CLI_INPUT, "replay", "%s: %s", file, report.text);
    }
    phx_replay_difference difference;
    phx_replay_run(replay, &difference);
    const phx_replay_info info = phx_replay_get(replay);
    text_buffer out = {NULL, 0, 0}, all = {NULL, 0, 0};
    add_head(&all, file, replay, &difference);
    if (json || page)
        for (uint32_t c = 0; c < info.count; ++c) add_character(&all, replay, c, true);
    if (!json) {
        const uint32_t shown = info.count < TEXT_CHARACTERS ? info.count : TEXT_CHARACTERS, wrong = difference.character - info.first;
        for (uint32_t c = 0; c < shown; ++c) add_character(&out, replay, c, false);
        if (difference.characters && wrong >= shown) add_character(&out, replay, wrong, false);
        if (shown < info.count) text_add(&out, "... %u characters in all; --json prints each\n", info.count);
        if (!difference.characters)
            text_add(&out, "%s: %u character%s on %s, every output the same bits\n", file, info.count, info.count > 1 ? "s" : "",
                     phx_backend_name(backend));
    }
    int result = CLI_DONE;
    if (page) {
        const size_t length = all.length;
        text_add(&all, "], \"lines\": [");
        phx_crowd_draw(info.crowd, info.frame, 0, info.count < DRAWN_CHARACTERS ? info.count : DRAWN_CHARACTERS, PHX_DRAW_ALL, add_line,
                       &all, NULL);
        text_add(&all, "]}");
        if (!write_page(page, &all, &error)) result = cli_complain(CLI_INPUT, "replay", "%s", error.text);
        all.length = length, all.text[length] = 0;
    }
    if (json) text_add(&all, "\n]}\n");
    const text_buffer *said = json ? &all : &out;
    if (result == CLI_DONE && said->length) fwrite(said->text, 1, said->length, stdout);
    if (result == CLI_DONE && difference.characters) {
        text_buffer sentence = {NULL, 0, 0};
        add_difference(&sentence, &difference);
        result = cli_complain(CLI_INPUT, "replay", "%s: on %s, %s", file, phx_backend_name(backend), sentence.text);
        free(sentence.text);
    }
    free(out.text);
    free(all.text);
    phx_replay_close(replay);
    free(bytes);
    return result;
}
