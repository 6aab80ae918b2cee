/* `phalanx inspect`: what a character file holds, which legs were found in it, and what had to be guessed. */
#include "cli.h"
#include "legs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names in files are bytes; JSON wants UTF-8. */
static json_t *text_or_null(const char *text) {
    if (text == NULL) return json_null();
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

static int print_json(const io_character *character, const legs *found) {
    json_t *clips = json_array(), *legs = json_array(), *notes = json_array();
    for (size_t c = 0; c < character->clip_count; ++c) {
        const io_clip *clip = &character->clips[c];
        json_array_append_new(
            clips, json_pack("{s:o, s:f, s:i}", "name", text_or_null(clip->name), "seconds", clip->seconds, "frames", (int)clip->frames));
    }
    for (size_t l = 0; l < found->count; ++l) {
        const leg *leg = &found->leg[l];
        const io_joint *joints = character->joints;
        json_t *entry =
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:f, s:f}", "side", leg_side_name(leg), "hip", text_or_null(joints[leg->hip].name), "knee",
                      text_or_null(joints[leg->knee].name), "ankle", text_or_null(joints[leg->ankle].name), "ball",
                      text_or_null(leg->ball >= 0 ? joints[leg->ball].name : NULL), "upper_length", leg->upper_length, "lower_length",
                      leg->lower_length);
        if (found->count > 2) json_object_set_new(entry, "pair", json_string(leg->front ? "front" : "hind"));
        json_array_append_new(legs, entry);
    }
    for (size_t n = 0; n < character->notes.count; ++n) json_array_append_new(notes, text_or_null(character->notes.text[n]));
    json_t *root = json_pack("{s:I, s:f, s:s, s:o, s:o, s:o}", "joints", (json_int_t)character->skeletal_count, "unit", character->unit,
                             "up", character->z_up ? "z" : "y", "clips", clips, "legs", legs, "notes", notes);
    int failed = root == NULL || json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0 || putchar('\n') == EOF;
    json_decref(root);
    return failed ? cli_complain(CLI_INPUT, "inspect", "standard output cannot be written") : CLI_DONE;
}

static void print_text(const io_character *character, const legs *found) {
    const io_joint *joints = character->joints;
    printf("%s\n%zu joint%s, %g m a unit, %s up\n\nskeleton at rest\n  %-44s %6s\n", character->path, character->skeletal_count,
           character->skeletal_count == 1 ? "" : "s", character->unit, character->z_up ? "Z" : "Y", "joint", "bone to its parent, m");
    int *depth = io_allocate(character->joint_count, sizeof *depth);
    io_transform *rest = io_allocate(character->joint_count, sizeof *rest);
    double(*world)[12] = io_allocate(character->joint_count, sizeof *world);
    io_character_sample(character, SIZE_MAX, 0, rest);
    io_character_world(character, rest, world);
    for (size_t j = 0; j < character->joint_count; ++j) {
        int32_t parent = joints[j].parent;
        depth[j] = parent >= 0 ? depth[parent] + 1 : 0;
        double length = 0;
        for (int k = 0; k < 3 && parent >= 0; ++k) {
            double d = world[j][4 * k + 3] - world[parent][4 * k + 3];
            length += d * d;
        }
        const char *what = joints[j].skeletal                                                     ? ""
                           : j + 1 < character->joint_count && joints[j + 1].parent == (int32_t)j ? "  (carries the skeleton)"
                                                                                                  : "  (end)";
        printf("  %*s%-*s %6.3f%s\n", 2 * (depth[j] < 20 ? depth[j] : 20), "", depth[j] < 16 ? 44 - 2 * depth[j] : 12, joints[j].name,
               __builtin_sqrt(length), what);
    }
    free(world);
    free(rest);
    free(depth);
    printf("\nlegs\n");
    for (size_t l = 0; l < found->count; ++l) {
        const leg *leg = &found->leg[l];
        printf("  %s%s: hip %s, knee %s, ankle %s, ball %s; thigh %.3f m, shin %.3f m\n",
               found->count > 2 ? leg->front ? "front " : "hind " : "", leg_side_name(leg), joints[leg->hip].name, joints[leg->knee].name,
               joints[leg->ankle].name, leg->ball >= 0 ? joints[leg->ball].name : "none", leg->upper_length, leg->lower_length);
    }
    if (found->count == 0) printf("  none\n");
    printf("\nclips\n");
    for (size_t c = 0; c < character->clip_count; ++c) {
        const io_clip *clip = &character->clips[c];
        printf("  %s: %.3f s, %u frame%s at %.4g a second\n", clip->name, clip->seconds, clip->frames, clip->frames == 1 ? "" : "s", clip->frame_rate);
    }
    if (character->clip_count == 0) printf("  none\n");
    if (character->notes.count > 0) printf("\nnotes\n");
    for (size_t n = 0; n < character->notes.count; ++n) printf("  %s\n", character->notes.text[n]);
}

int command_inspect(int argc, char **argv) {
    const char *given_legs = NULL, *unit = NULL, *up = NULL, *file = NULL;
    bool json = false;
    const cli_option options[] = {
        {"--json", NULL, "print JSON: joints unit up clips legs notes", NULL, &json},
        {"--legs", "LEGS", "name the legs: hip,knee,ankle[,ball];hip,knee,ankle[,ball]...", &given_legs, NULL},
        {"--unit", "M", "metres per unit of the file", &unit, NULL},
        {"--up", "y|z", "the file's up axis", &up, NULL},
    };
    cli_command_line line = {.synopsis = "inspect FILE [options]",
                             .about = "Shows the skeleton, the legs found in it, the clips, and what had to be guessed.\n"
                                      "FILE: .glb .gltf .bvh .fbx .dae",
                             .options = options,
                             .option_count = sizeof options / sizeof *options,
                             .files = &file,
                             .file_least = 1,
                             .file_most = 1};
    int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    io_character_options reading = {0};
    if (!cli_number("inspect", "--unit", unit, 1e-6, 1e6, &reading.unit) || !cli_up("inspect", up, &reading.up)) return CLI_USAGE;
    io_character character;
    io_error error;
    if (!io_character_load(file, &reading, &character, &error)) return cli_complain(CLI_INPUT, "inspect", "%s", error.text);
    legs found;
    if (!legs_find(&character, given_legs, &found, &character.notes, &error)) {
        status = cli_complain(CLI_INPUT, "inspect", "%s", error.text);
    } else if (json) {
        status = print_json(&character, &found);
    } else {
        print_text(&character, &found);
        status = CLI_DONE;
    }
    io_character_free(&character);
    return status;
}
