/* `phalanx feet`: drives the crowd's foot stages from a hand-written scenario and prints what became of each foot in each
 * frame. The scenario's format is described in feet.md. */
#include "capture_file.h"
#include "cli.h"
#include "foot_text.h"
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Drives the foot stages from a hand-written scenario and prints what became of each foot in each frame: the plane under it,\n"
    "target, support, weight, lock, pelvis, bend, residual, flags, and where forward kinematics of the corrected pose puts its joints.\n"
    "\n"
    "SCENARIO.json (\"-\" reads standard input) is one object; every key but 'frames' may be left out:\n"
    "  up [0,1,0]  forward [0,0,1]  unit 1 (metres a unit)  pelvis true (false: it is not moved)\n"
    "  params {NAME: number}      members of phx_crowd_params; the rest keep their defaults\n"
    "  legs [{hip, lengths [thigh, shin], ankle_height, heel, ball, ball_height, knee_forward, min_bend, max_bend, name}]\n"
    "                             default: two legs, hips 0.9 high, bones of 0.45, ankles 0.08 over flat ground\n"
    "  bodies [{position, rotation, generation}]\n"
    "  ground {planes [{point, normal, body}], boxes [{min, max, body}], steps [{origin, direction, rise, run, count, body}]}\n"
    "                             default: the plane through the origin; a shape with a body moves with it\n"
    "  frames [{dt 1/60, repeat 1, root {position, rotation, on_ground}, pelvis {position, rotation}, weight 1,\n"
    "           legs [{ankle {position, rotation}, support, hit}], bodies [..], flags [\"teleport\", \"off\"], lod}]\n"
    "                             ankles in the character's space; what a frame does not name stays as it was\n"
    "A position, number or angle is a value, or moves while its entry repeats: {\"from\": a, \"to\": b}, {\"velocity\": v},\n"
    "{\"keys\": [[seconds, value], ..], \"loop\": true, \"smooth\": true}, each also with \"sine\": {amplitude, period, phase}.\n"
    "A rotation is [x,y,z,w] or {\"axis\": [..], \"degrees\": value}. A hit is {point, normal, body}, null (a miss) or \"cast\",\n"
    "for both ends of the foot, or {\"heel\": hit, \"ball\": hit}. Numbers may be \"nan\", \"inf\", \"-inf\". \"note\" is for you.";

static void add_frame_text(text_buffer *out, const scenario_frame *frame, float pelvis, const phx_pelvis_info *info, vec pelvis_at) {
    const phx_vec3 root = frame->root_position;
    text_add(out, "frame %u  time %.4f  dt %.6g  root (%.4f %.4f %.4f)  pelvis %+.4f at (%.4f %.4f %.4f)", frame->index, frame->time,
             (double)frame->dt, (double)root.x, (double)root.y, (double)root.z, (double)pelvis, pelvis_at.x, pelvis_at.y, pelvis_at.z);
    const phx_quat q = info->rotation;
    if (q.w < 1) text_add(out, " turned (%.4f %.4f %.4f %.4f)", (double)q.x, (double)q.y, (double)q.z, (double)q.w);
    text_add(out, "\n");
}

static void add_frame_json(text_buffer *out, const scenario_frame *frame, float pelvis, const phx_pelvis_info *info, vec pelvis_at) {
    text_add(out, "%s\n  {\"frame\": %u, \"time\": %.9g, \"dt\": ", frame->index ? "," : "", frame->index, frame->time);
    number_json(out, (double)frame->dt);
    text_add(out, ", \"root\": ");
    vec_json(out, vec_from(frame->root_position));
    text_add(out, ", \"pelvis\": ");
    number_json(out, (double)pelvis);
    text_add(out, ", \"pelvis_position\": ");
    vec_json(out, pelvis_at);
    pelvis_json(out, info);
    text_add(out, ", \"legs\": [");
}

typedef struct feet_options {
    const char *file;
    const phx_backend *backend;
    bool json;
    const char *capture; /* NULL: none */
    uint64_t capture_frame;
} feet_options;
static const uint64_t LAST_FRAME = UINT64_MAX;

/* Every frame of the scene through a crowd of one. */
static bool run(scenario *scene, const feet_options *options, text_buffer *out, io_error *error) {
    const bool json = options->json;
    phx_crowd_def def = scenario_crowd(scene);
    def.backend = options->backend;
    phx_report report;
    phx_crowd *crowd = phx_crowd_create(&def, &report);
    if (!crowd) return io_fail(error, "%s: %s", io_input_name(options->file), report.text);
    if (json) text_add(out, "{\"backend\": \"%s\", \"frames\": [", phx_backend_name(phx_crowd_backend(crowd)));
    scenario_frame *now = io_allocate(1, sizeof *now);
    capture_file capture = {NULL, 0};
    bool good = true;
    int step;
    while ((step = scenario_next(scene, now, error)) > 0) {
        const uint32_t joints = def.skeleton.joint_count;
        phx_transform pose[SCENARIO_MAX_JOINTS];
        memcpy(pose, now->pose, sizeof pose);
        phx_crowd_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.count = 1, frame.dt = now->dt;
        frame.poses = phx_poses_of(pose, joints);
        frame.root_position = PHX_VIEW_ONE(&now->root_position), frame.root_rotation = PHX_VIEW_ONE(&now->root_rotation);
        frame.weight = PHX_VIEW_ONE(&now->weight), frame.flags = PHX_VIEW_ONE(&now->flags);
        if (now->has_support) frame.support = phx_view_of(now->support, sizeof now->support);
        if (now->body_count > 0) frame.bodies = now->crowd_bodies, frame.body_count = now->body_count;
        const bool captured = options->capture && (options->capture_frame == LAST_FRAME || options->capture_frame == now->index);
        if (captured) good = good && capture_file_begin(&capture, crowd, &frame, 0, 1, error);
        scenario_cast(scene, now, phx_crowd_prepare(crowd, &frame, 0));
        if (captured && good) capture_file_tile(&capture, crowd, &frame, 0);
        phx_crowd_solve(crowd, &frame, 0);
        if (captured && good) good = capture_file_finish(&capture, crowd, &frame, error);

        vec before[SCENARIO_MAX_JOINTS], after[SCENARIO_MAX_JOINTS];
        turn before_turns[SCENARIO_MAX_JOINTS], after_turns[SCENARIO_MAX_JOINTS];
        pose_to_world(def.skeleton.parents, joints, now->pose, now->root_position, now->root_rotation, before, before_turns);
        pose_to_world(def.skeleton.parents, joints, pose, now->root_position, now->root_rotation, after, after_turns);
        phx_pelvis_info pelvis;
        phx_crowd_pelvis_info(crowd, 0, &pelvis);
        (json ? add_frame_json : add_frame_text)(out, now, phx_crowd_pelvis(crowd, 0), &pelvis, after[SCENARIO_PELVIS]);
        for (uint32_t leg = 0; leg < def.leg_count; ++leg) {
            phx_foot_info info;
            phx_crowd_foot(crowd, 0, leg, &info);
            const foot_place animated = foot_place_of(def.legs + leg, before, before_turns),
                             placed = foot_place_of(def.legs + leg, after, after_turns);
            if (json && leg > 0) text_add(out, ", ");
            if (json)
                foot_json(out, scenario_leg_name(scene, leg), &info, &animated, &placed, scenario_world_body(scene));
            else
                foot_text(out, scenario_leg_name(scene, leg), &info, &placed, scenario_world_body(scene));
        }
        if (json) text_add(out, "]}");
    }
    if (json) text_add(out, "\n]}\n");
    good = good && step == 0;
    if (good && options->capture) {
        if (capture.bytes)
            good = capture_file_write(&capture, options->capture, error);
        else
            good = io_fail(error, "--capture-frame: the scenario has frames 0 to %u", now->index);
    }
    capture_file_free(&capture);
    free(now);
    phx_crowd_destroy(crowd);
    return good;
}

int command_feet(int argc, char **argv) {
    const char *file = NULL, *backend_name = NULL, *capture = NULL, *capture_frame = NULL;
    bool json = false;
    const cli_option options[] = {
        {"--backend", "NAME", "avx512 avx2 sse2 neon wasm reference; default the best here", &backend_name, NULL},
        {"--json", NULL, "print JSON: backend frames[{frame time dt root pelvis pelvis_position pelvis_moved pelvis_turned legs[..]}]", NULL, &json},
        {"--capture", "FILE", "write one frame for `phalanx replay`", &capture, NULL},
        {"--capture-frame", "N", "which, from 0; default the last", &capture_frame, NULL},
    };
    cli_command_line line = {.synopsis = "feet SCENARIO.json [options]",
                             .about = about,
                             .options = options,
                             .option_count = sizeof options / sizeof *options,
                             .files = &file,
                             .file_least = 1,
                             .file_most = 1};
    const int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    const cli_file named[] = {{"SCENARIO.json", file, false}, {"--capture", capture, true}};
    if (!cli_files_distinct("feet", named, sizeof named / sizeof *named)) return CLI_USAGE;
    const phx_backend *backend = backend_name ? phx_backend_find(backend_name) : phx_backend_best();
    if (!backend)
        return cli_complain(CLI_USAGE, "feet", "--backend: '%s' is not usable here; `phalanx backends` lists those that are", backend_name);
    scenario *scene;
    io_error error;
    text_buffer out = {NULL, 0, 0};
    feet_options with = {file, backend, json, capture, LAST_FRAME};
    if (!cli_count("feet", "--capture-frame", capture_frame, 0, SCENARIO_MAX_FRAMES, &with.capture_frame)) return CLI_USAGE;
    if (capture_frame && !capture) return cli_complain(CLI_USAGE, "feet", "--capture-frame needs --capture FILE");
    if (!scenario_load(file, &scene, &error)) return cli_complain(CLI_INPUT, "feet", "%s", error.text);
    const bool good = run(scene, &with, &out, &error);
    if (good && out.length) fwrite(out.text, 1, out.length, stdout);
    free(out.text);
    scenario_free(scene);
    return good ? CLI_DONE : cli_complain(CLI_INPUT, "feet", "%s", error.text);
}
