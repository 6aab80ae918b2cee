/* `phalanx solve`: chain problems in as JSON, answers out; and `phalanx backends`, which names what can solve here. */
#include "cli.h"
#include "solve_case.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Solves chain problems. CASES.json, or - for standard input, holds\n"
    "  {\"cases\": [{\"id\": \"a\", \"solver\": \"two_bone\", \"joints\": [[x,y,z], ...], \"target\": [x,y,z], ...}, ...]}\n"
    "and the answers come out as\n"
    "  {\"backend\": \"avx2\", \"results\": [{\"id\", \"joints\", \"rotations\", \"bend\", \"residual\", \"iterations\", \"flags\"}, "
    "...]}\n"
    "with 9 digits. Right-handed, metres, radians, quaternions x y z w.\n"
    "\n"
    "keys of a case (only solver, joints and target are needed):\n"
    "  id               string; default: its place in the list\n"
    "  solver           two_bone, fabrik, ccd or aim. Aim turns all joints but the tip, in equal shares, until the last bone points at "
    "the\n"
    "                   target; its residual is the distance by which that ray misses, and its pole where the last joint's +Y should "
    "point\n"
    "  joints           current positions, root first; two_bone takes 3\n"
    "  rotations        world rotation of each joint, tip included; default identity\n"
    "  rest_joints, rest_rotations  the rest pose that limits and rest bend refer to; default: the pose above. Where only one of\n"
    "                   them is given the other follows from rigid bones\n"
    "  lengths          of the bones; default from joints\n"
    "  target, target_rotation      where the tip goes, and its world rotation; without the latter it turns with its bone\n"
    "  pole, previous_bend, rest_bend  directions to bend toward, tried in this order, the pose's own plane before rest_bend\n"
    "  weight           0 animated .. 1 solved, clamped; default 1\n"
    "  soft_start       share of full length where the reach begins to ease in; default 1 = off\n"
    "  max_stretch      how far bones may lengthen; default 1 = off\n"
    "  twist            plane (hinges follow the bend plane) or inherit (shortest swing); default plane for two_bone, else inherit.\n"
    "                   A straight limb of two bones without rest bend or hinge limit has the mid joint's local X for a hinge\n"
    "  tolerance        of `reached`, a share of the chain's length; default 1e-3\n"
    "  max_iterations   1 to 1024; default 16\n"
    "  damping          ccd alone, 0.001 to 1; below 1 it takes plain sweeps and this share of every turn; default 1\n"
    "  limits           for each joint null or {\"type\": \"hinge\", \"axis\", \"min\", \"max\"}, {\"type\": \"cone\", \"axis\", "
    "\"max_swing\", \"twist_min\",\n"
    "                   \"twist_max\"}, {\"type\": \"ellipse\", \"axis\", \"side\", \"max_swing\", \"max_swing_across\", ...}, in the "
    "joint's rest frame;\n"
    "                   min and max, twist_min and twist_max default to a full turn (-pi, pi): free";

static bool read_input(const char *path, char **text, size_t *size, io_error *error) {
    if (strcmp(path, "-") != 0) return io_read_file(path, (uint8_t **)text, size, error);
    const size_t most = (size_t)512 << 20;
    size_t capacity = 1 << 16;
    *size = 0, *text = io_allocate(capacity, 1);
    for (;;) {
        const size_t got = fread(*text + *size, 1, capacity - *size, stdin);
        *size += got;
        if (got == 0) break;
        if (*size > most) {
            free(*text);
            return io_fail(error, "standard input: longer than 512 MB");
        }
        if (*size == capacity) *text = io_reallocate(*text, capacity *= 2, 1);
    }
    if (!ferror(stdin)) return true;
    free(*text);
    return io_fail(error, "standard input: cannot be read");
}

static void print_number(double value) { printf("%.9g", value + 0.0); } /* -0 is 0 */

static void print_vector(vec v) {
    putchar('['), print_number(v.x), putchar(','), print_number(v.y), putchar(','), print_number(v.z), putchar(']');
}

static void print_result(const solve_case *one) {
    char *id = NULL;
    json_t *string = json_string(one->id);
    if (string) id = json_dumps(string, JSON_ENCODE_ANY);
    printf("{\"id\": %s, \"joints\": [", id ? id : "null");
    free(id), json_decref(string);
    for (size_t j = 0; j < one->joints; ++j) {
        if (j) putchar(',');
        print_vector(one->solved_position[j]);
    }
    printf("], \"rotations\": [");
    for (size_t j = 0; j < one->joints; ++j) {
        const turn q = one->solved_rotation[j];
        printf(j ? ",[" : "["), print_number(q.x), putchar(','), print_number(q.y), putchar(','), print_number(q.z), putchar(','),
            print_number(q.w), putchar(']');
    }
    printf("], \"bend\": "), print_vector(one->bend);
    printf(", \"residual\": "), print_number(one->residual);
    printf(", \"iterations\": %u, \"flags\": [", one->iterations);
    const char *separator = "";
    for (uint32_t bit = 0; bit < 32; ++bit) {
        const char *name = one->flags & (1u << bit) ? phx_flag_name((phx_flag)(1u << bit)) : NULL;
        if (name) printf("%s\"%s\"", separator, name), separator = ", ";
    }
    printf("]}");
}

int command_solve(int argc, char **argv) {
    const char *backend_name = NULL, *svg_path = NULL, *files[1];
    const cli_option options[] = {
        {"--backend", "NAME", "one of `phalanx backends`; default the best", &backend_name, NULL},
        {"--svg", "FILE", "draw every case, before in grey and after in colour", &svg_path, NULL},
    };
    cli_command_line line = {.synopsis = "solve CASES.json [options]",
                             .about = about,
                             .options = options,
                             .option_count = 2,
                             .files = files,
                             .file_least = 1,
                             .file_most = 1};
    const int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    const cli_file named[] = {{"CASES.json", files[0], false}, {"--svg", svg_path, true}};
    if (!cli_files_distinct("solve", named, sizeof named / sizeof *named)) return CLI_USAGE;
    const phx_backend *backend = backend_name ? phx_backend_find(backend_name) : phx_backend_best();
    if (!backend)
        return cli_complain(CLI_USAGE, "solve", "--backend '%s' is none that is usable here; `phalanx backends` lists them", backend_name);

    io_error error;
    char *text = NULL;
    size_t size = 0;
    if (!read_input(files[0], &text, &size, &error)) return cli_complain(CLI_INPUT, "solve", "%s", error.text);
    solve_cases cases;
    bool good = solve_cases_read(strcmp(files[0], "-") == 0 ? "standard input" : files[0], text, size, &cases, &error);
    free(text);
    for (size_t i = 0; good && i < cases.count; ++i) good = solve_run(backend, &cases.all[i], &error);
    if (good && svg_path) {
        char *picture = solve_svg(&cases, &size);
        good = io_write_file(svg_path, picture, size, &error);
        free(picture);
    }
    if (good) {
        printf("{\"backend\": \"%s\", \"results\": [", phx_backend_name(backend));
        for (size_t i = 0; i < cases.count; ++i) printf(i ? ",\n  " : "\n  "), print_result(&cases.all[i]);
        printf("\n]}\n");
    }
    solve_cases_free(&cases);
    return good ? CLI_DONE : cli_complain(CLI_INPUT, "solve", "%s", error.text);
}

int command_backends(int argc, char **argv) {
    cli_command_line line = {.synopsis = "backends",
                             .about = "Names the backends that this build holds and this machine may run, best first."};
    const int status = cli_parse(&line, argc, argv);
    if (status >= 0) return status;
    for (uint32_t i = 0; phx_backend_at(i); ++i) printf("%s\n", phx_backend_name(phx_backend_at(i)));
    return CLI_DONE;
}
