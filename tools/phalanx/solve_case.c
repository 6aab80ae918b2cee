/* Reads the cases of `phalanx solve` from JSON. Whatever is wrong gets one sentence with the case's id, the field, the value
 * and what would be right. Called by solve.c. */
#include "solve_case.h"

#include <float.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

turn turn_between(vec from, vec to) {
    from = vec_direction(from), to = vec_direction(to);
    if (vec_length(from) == 0 || vec_length(to) == 0) return TURN_NONE;
    const vec axis = vec_cross(from, to);
    const double cosine = vec_dot(from, to);
    if (cosine > -0.999999) return turn_unit((turn){axis.x, axis.y, axis.z, 1 + cosine});
    const vec spare = vec_direction(vec_reject(fabs(to.x) < 0.7 ? (vec){1, 0, 0} : (vec){0, 1, 0}, to));
    const vec cleaned = vec_reject(axis, to);
    const double sine_squared = vec_dot(cleaned, cleaned);
    if (sine_squared < 1e-24) return (turn){spare.x, spare.y, spare.z, 0};
    return turn_unit((turn){cleaned.x, cleaned.y, cleaned.z, sine_squared / (1 - cosine)});
}

turn turn_slerp(turn a, turn b, double share) {
    const turn d = turn_times(b, turn_back(a));
    const double s = sqrt(d.x * d.x + d.y * d.y + d.z * d.z), sign = d.w < 0 ? -1 : 1;
    if (s < 1e-15) return a;
    return turn_times(turn_about(vec_scale((vec){d.x, d.y, d.z}, sign / s), 2 * atan2(s, fabs(d.w)) * share), a);
}

/* where a sentence points: the case and the field being read */
typedef struct place {
    const char *file, *id;
    io_error *error;
} place;

static bool refuse(const place *at, const char *field, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(const place *at, const char *field, const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    char id[80];
    snprintf(id, sizeof id, "%s", at->id);
    for (char *c = id; *c; ++c)
        if ((unsigned char)*c < 32) *c = ' ';
    return io_fail(at->error, "%s: case '%s': '%.80s' %s", at->file, id, field, what);
}

/* a value as the user wrote it, cut short */
static const char *shown(const json_t *value) {
    static char text[64];
    if (json_is_number(value)) { /* as it was written: integers are read as reals, and json_dumps would append ".0" */
        snprintf(text, sizeof text, "%.9g", json_number_value(value));
        return text;
    }
    char *whole = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    snprintf(text, sizeof text, "%.60s", whole ? whole : "?");
    if (whole && strlen(whole) > 60) memcpy(text + 57, "...", 4);
    free(whole);
    return text;
}

static bool read_number(const place *at, const char *field, const json_t *value, double *out) {
    if (!json_is_number(value)) return refuse(at, field, "is %s; a number is wanted", shown(value));
    *out = json_number_value(value);
    if (!(fabs(*out) <= FLT_MAX))
        return refuse(at, field, "is %s; a number that a 32-bit float can hold (3.4e38 at most) is wanted", shown(value));
    return true;
}

static bool read_numbers(const place *at, const char *field, const json_t *value, size_t count, const char *meaning, double *out) {
    if (!json_is_array(value) || json_array_size(value) != count) return refuse(at, field, "is %s; %s is wanted", shown(value), meaning);
    for (size_t i = 0; i < count; ++i) {
        char element[96];
        snprintf(element, sizeof element, "%.80s[%zu]", field, i);
        if (!read_number(at, element, json_array_get(value, i), out + i)) return false;
    }
    return true;
}

static bool read_vector(const place *at, const char *field, const json_t *value, vec *out) {
    double v[3];
    if (!read_numbers(at, field, value, 3, "[x, y, z]", v)) return false;
    *out = (vec){v[0], v[1], v[2]};
    return true;
}

/* Normalised; a quaternion that is far from unit length stays as it is and makes the chain bad input. */
static bool read_rotation(const place *at, const char *field, const json_t *value, turn *out, bool *usable) {
    double v[4];
    if (!read_numbers(at, field, value, 4, "[x, y, z, w]", v)) return false;
    *out = (turn){v[0], v[1], v[2], v[3]};
    const double squared = turn_dot(*out, *out);
    *usable = 0.25 < squared && squared < 4;
    if (*usable) *out = turn_unit(*out);
    return true;
}

static bool read_range(const place *at, const json_t *object, const char *field, double low, double high, const char *range, double *out) {
    const json_t *value = json_object_get(object, field);
    if (!value) return true;
    if (!read_number(at, field, value, out)) return false;
    return (low <= *out && *out <= high) || refuse(at, field, "is %s; a number %s is wanted", shown(value), range);
}

static bool known_key(const char *key, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (strcmp(key, names[i]) == 0) return true;
    return false;
}
#define KNOWN(key, names) known_key(key, names, sizeof names / sizeof *names)

/* one of an array with an element for each joint */
static bool check_per_joint(const place *at, const char *field, const json_t *value, size_t wanted, const char *what) {
    if (json_is_array(value) && json_array_size(value) == wanted) return true;
    if (json_is_array(value))
        return refuse(at, field, "has %zu elements; %zu are wanted, one for each %s", json_array_size(value), wanted, what);
    return refuse(at, field, "is %s; an array with one element for each %s is wanted", shown(value), what);
}

static bool read_vectors(const place *at, const char *field, const json_t *value, size_t count, vec *out) {
    if (!check_per_joint(at, field, value, count, "joint")) return false;
    for (size_t j = 0; j < count; ++j) {
        char element[64];
        snprintf(element, sizeof element, "%s[%zu]", field, j);
        if (!read_vector(at, element, json_array_get(value, j), out + j)) return false;
    }
    return true;
}

static bool read_rotations(const place *at, const char *field, const json_t *value, size_t count, turn *out, bool *bad) {
    if (!check_per_joint(at, field, value, count, "joint, the tip included")) return false;
    for (size_t j = 0; j < count; ++j) {
        char element[64];
        bool usable;
        snprintf(element, sizeof element, "%s[%zu]", field, j);
        if (!read_rotation(at, element, json_array_get(value, j), out + j, &usable)) return false;
        if (!usable) *bad = true;
    }
    return true;
}

static bool read_limit(const place *at, const char *field, const json_t *value, phx_limit *out) {
    static const char *const hinge_keys[] = {"type", "axis", "min", "max"};
    static const char *const cone_keys[] = {"type", "axis", "max_swing", "twist_min", "twist_max"};
    static const char *const ellipse_keys[] = {"type", "axis", "side", "max_swing", "max_swing_across", "twist_min", "twist_max"};
    *out = phx_limit_none();
    if (json_is_null(value)) return true;
    if (!json_is_object(value)) return refuse(at, field, "is %s; null or an object with \"type\" is wanted", shown(value));
    const char *type = json_string_value(json_object_get(value, "type"));
    const bool hinge = type && strcmp(type, "hinge") == 0, cone = type && strcmp(type, "cone") == 0,
               ellipse = type && strcmp(type, "ellipse") == 0;
    if (!hinge && !cone && !ellipse)
        return refuse(at, field, "has type %s; \"hinge\", \"cone\" or \"ellipse\" is wanted", shown(json_object_get(value, "type")));
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        char name[160];
        snprintf(name, sizeof name, "%s.%.80s", field, key);
        if (!(hinge ? KNOWN(key, hinge_keys) : cone ? KNOWN(key, cone_keys) : KNOWN(key, ellipse_keys)))
            return refuse(at, name, "is no key of a %s; %s are", type,
                          hinge  ? "type, axis, min, max"
                          : cone ? "type, axis, max_swing, twist_min, twist_max"
                                 : "type, axis, side, max_swing, max_swing_across, twist_min, twist_max");
        if (strcmp(key, "type") == 0) continue;
        if (strcmp(key, "axis") == 0 || strcmp(key, "side") == 0) {
            vec v;
            if (!read_vector(at, name, member, &v)) return false;
            if (!(vec_length(v) > 1e-12)) return refuse(at, name, "is %s; a direction is wanted", shown(member));
            *(key[0] == 'a' ? &out->axis : &out->side) = vec_narrow(vec_direction(v));
        } else {
            double number;
            if (!read_number(at, name, member, &number)) return false;
        }
    }
    if (!json_object_get(value, "axis")) return refuse(at, field, "has no axis; [x, y, z] in the joint's rest frame is wanted");
    if (!hinge && !json_object_get(value, "max_swing")) return refuse(at, field, "has no max_swing; radians from 0 to pi are wanted");
    if (ellipse && (!json_object_get(value, "side") || !json_object_get(value, "max_swing_across")))
        return refuse(at, field, "is an ellipse without side or max_swing_across");
    const double pi = 3.14159274101257324; /* the float nearest to pi */
#define NUMBER(name, otherwise) (json_object_get(value, name) ? (float)json_number_value(json_object_get(value, name)) : (float)(otherwise))
    out->type = hinge ? PHX_LIMIT_HINGE : cone ? PHX_LIMIT_CONE : PHX_LIMIT_ELLIPSE;
    out->min = NUMBER("min", -pi), out->max = NUMBER("max", pi);
    out->max_swing = NUMBER("max_swing", pi), out->max_swing_across = NUMBER("max_swing_across", pi);
    out->twist_min = NUMBER("twist_min", -pi), out->twist_max = NUMBER("twist_max", pi);
#undef NUMBER
    out->rest = (phx_quat){0, 0, 0, 1};
    phx_report report;
    if (phx_limit_validate(out, &report)) return refuse(at, field, "cannot be: %s", report.text);
    return true;
}

/* The lengths that were asked for, along the bones as they lie; a bone without direction takes its rest pose's or a neighbour's. */
static void apply_lengths(solve_case *one) {
    vec *p = one->position;
    const size_t bones = one->joints - 1;
    vec *direction = io_allocate(bones, sizeof *direction);
    bool wanted = false;
    for (size_t j = 0; j < bones; ++j) {
        const vec bone = vec_sub(p[j + 1], p[j]);
        direction[j] = vec_direction(bone);
        if (fabs(vec_length(bone) - one->length[j]) > 1e-6 * one->length[j]) wanted = true;
        if (vec_length(direction[j]) == 0) direction[j] = vec_direction(vec_sub(one->rest_position[j + 1], one->rest_position[j]));
    }
    for (size_t j = 1; j < bones; ++j)
        if (vec_length(direction[j]) == 0) direction[j] = direction[j - 1];
    for (size_t j = bones - 1; j-- > 0;)
        if (vec_length(direction[j]) == 0) direction[j] = direction[j + 1];
    for (size_t j = 0; wanted && j < bones; ++j) {
        if (vec_length(direction[j]) == 0 && one->length[j] > 0) one->no_direction = true;
        p[j + 1] = vec_add(p[j], vec_scale(direction[j], one->length[j]));
    }
    free(direction);
}

/* Makes the rest pose whole: what was not given of it follows from the bones being rigid. */
static void complete_rest(solve_case *one, bool joints_given, bool rotations_given) {
    const size_t n = one->joints;
    if (joints_given && !rotations_given) {
        for (size_t j = 0; j < n; ++j) {
            const size_t bone = j + 1 < n ? j : n - 2;
            const turn swing = turn_between(vec_sub(one->position[bone + 1], one->position[bone]),
                                            vec_sub(one->rest_position[bone + 1], one->rest_position[bone]));
            one->rest_rotation[j] = turn_times(swing, one->rotation[j]);
        }
    } else if (!joints_given && rotations_given) {
        for (size_t j = 0; j + 1 < n; ++j) {
            const vec bone = turn_vec(turn_back(one->rotation[j]), vec_sub(one->position[j + 1], one->position[j]));
            one->rest_position[j + 1] = vec_add(one->rest_position[j], turn_vec(one->rest_rotation[j], bone));
        }
    }
    for (size_t j = 0; j < n; ++j) {
        if (one->limits[j].type == PHX_LIMIT_NONE) continue;
        const turn parent = j ? one->rest_rotation[j - 1] : TURN_NONE;
        one->limits[j].rest = turn_narrow(turn_unit(turn_times(turn_back(parent), one->rest_rotation[j])));
        one->limited = true;
    }
}

static bool read_case(place *at, const json_t *object, solve_case *one) {
    static const char *const keys[] = {"id", "solver", "joints", "rotations", "rest_joints", "rest_rotations", "lengths", "target",
                                       "target_rotation", "pole", "previous_bend", "rest_bend", "weight", "soft_start", "max_stretch",
                                       "twist", "tolerance", "max_iterations", "damping", "limits"};
    static const char *const solvers[] = {"two_bone", "fabrik", "ccd", "aim"};
    if (!json_is_object(object)) return io_fail(at->error, "%s: case %s is %s; an object is wanted", at->file, at->id, shown(object));
    const json_t *id = json_object_get(object, "id");
    if (id && !json_is_string(id)) return refuse(at, "id", "is %s; a string is wanted", shown(id));
    if (id) free(one->id), at->id = one->id = io_copy_text(json_string_value(id));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!KNOWN(key, keys)) return refuse(at, key, "is no key of a case; `phalanx solve --help` lists them");
    }

    const char *solver = json_string_value(json_object_get(object, "solver"));
    size_t which = 0;
    while (which < 4 && !(solver && strcmp(solver, solvers[which]) == 0)) ++which;
    if (which == 4)
        return refuse(at, "solver", "is %s; \"two_bone\", \"fabrik\", \"ccd\" or \"aim\" is wanted",
                      json_object_get(object, "solver") ? shown(json_object_get(object, "solver")) : "missing");
    one->solver = (solve_solver)which;

    const json_t *joints = json_object_get(object, "joints");
    if (!json_is_array(joints))
        return refuse(at, "joints", "is %s; an array of [x, y, z], root first, is wanted", joints ? shown(joints) : "missing");
    const size_t n = one->joints = json_array_size(joints);
    if (one->solver == SOLVE_TWO_BONE && n != 3) return refuse(at, "joints", "has %zu elements; two_bone takes 3: root, mid and tip", n);
    if (n < 2) return refuse(at, "joints", "has %zu element%s; a chain has 2 at least", n, n == 1 ? "" : "s");
    if (n > PHX_CHAIN_MAX_JOINTS) return refuse(at, "joints", "has %zu elements; %d at most", n, PHX_CHAIN_MAX_JOINTS);
    one->position = io_allocate(n, sizeof *one->position), one->rotation = io_allocate(n, sizeof *one->rotation);
    one->rest_position = io_allocate(n, sizeof *one->rest_position), one->rest_rotation = io_allocate(n, sizeof *one->rest_rotation);
    one->length = io_allocate(n, sizeof *one->length), one->limits = io_allocate(n, sizeof *one->limits);
    one->solved_position = io_allocate(n, sizeof *one->solved_position),
    one->solved_rotation = io_allocate(n, sizeof *one->solved_rotation);
    if (!read_vectors(at, "joints", joints, n, one->position)) return false;
    for (size_t j = 0; j < n; ++j) one->rotation[j] = TURN_NONE;
    const json_t *rotations = json_object_get(object, "rotations"), *lengths = json_object_get(object, "lengths");
    if (rotations && !read_rotations(at, "rotations", rotations, n, one->rotation, &one->bad_rotation)) return false;

    const json_t *rest_joints = json_object_get(object, "rest_joints"), *rest_rotations = json_object_get(object, "rest_rotations");
    memcpy(one->rest_position, one->position, n * sizeof *one->position),
        memcpy(one->rest_rotation, one->rotation, n * sizeof *one->rotation);
    if (rest_joints && !read_vectors(at, "rest_joints", rest_joints, n, one->rest_position)) return false;
    if (rest_rotations && !read_rotations(at, "rest_rotations", rest_rotations, n, one->rest_rotation, &one->bad_rotation)) return false;
    one->rest_given = rest_joints || rest_rotations;

    for (size_t j = 0; j + 1 < n; ++j) one->length[j] = vec_length(vec_sub(one->position[j + 1], one->position[j]));
    if (lengths) {
        if (!check_per_joint(at, "lengths", lengths, n - 1, "bone")) return false;
        for (size_t j = 0; j + 1 < n; ++j) {
            char element[64];
            snprintf(element, sizeof element, "lengths[%zu]", j);
            const json_t *length = json_array_get(lengths, j);
            if (!read_number(at, element, length, &one->length[j])) return false;
            if (one->length[j] < 0) return refuse(at, element, "is %s; metres, 0 or more, are wanted", shown(length));
        }
        apply_lengths(one);
        if (!rest_joints) memcpy(one->rest_position, one->position, n * sizeof *one->position);
    }

    const json_t *target = json_object_get(object, "target");
    if (!target) return refuse(at, "target", "is missing; [x, y, z] is wanted");
    if (!read_vector(at, "target", target, &one->target)) return false;
    const json_t *target_rotation = json_object_get(object, "target_rotation");
    if (target_rotation) {
        bool usable;
        if (!read_rotation(at, "target_rotation", target_rotation, &one->target_rotation, &usable)) return false;
        one->has_target_rotation = true;
        if (!usable) one->bad_rotation = true;
    }
    const struct {
        const char *name;
        vec *out;
        bool *given;
    } directions[] = {{"pole", &one->pole, &one->has_pole},
                      {"previous_bend", &one->previous_bend, NULL},
                      {"rest_bend", &one->rest_bend, &one->has_rest_bend}};
    for (size_t i = 0; i < 3; ++i) {
        const json_t *direction = json_object_get(object, directions[i].name);
        if (!direction) continue;
        if (!read_vector(at, directions[i].name, direction, directions[i].out)) return false;
        if (directions[i].given) *directions[i].given = vec_length(*directions[i].out) > 0;
    }

    one->weight = 1, one->soft_start = 1, one->max_stretch = 1, one->tolerance = 1e-3, one->damping = 1;
    double iterations = 16;
    const json_t *weight = json_object_get(object, "weight");
    if (weight && !read_number(at, "weight", weight, &one->weight)) return false;
    if (!read_range(at, object, "soft_start", 1e-3, 1, "from 0.001 to 1", &one->soft_start)) return false;
    if (!read_range(at, object, "max_stretch", 1, 16, "from 1 to 16", &one->max_stretch)) return false;
    if (!read_range(at, object, "tolerance", 0, 1, "from 0 to 1, a share of the chain's length,", &one->tolerance)) return false;
    if (!read_range(at, object, "damping", 1e-3, 1, "from 0.001 to 1", &one->damping)) return false;
    if (!read_range(at, object, "max_iterations", 1, 1024, "from 1 to 1024", &iterations)) return false;
    if (iterations != floor(iterations))
        return refuse(at, "max_iterations", "is %s; a whole number is wanted", shown(json_object_get(object, "max_iterations")));
    one->max_iterations = (uint32_t)iterations;

    const json_t *twist = json_object_get(object, "twist");
    one->twist = PHX_TWIST_PLANE, one->has_twist = twist != NULL;
    if (twist) {
        const char *name = json_string_value(twist);
        if (name && strcmp(name, "inherit") == 0) one->twist = PHX_TWIST_INHERIT;
        else if (!name || strcmp(name, "plane") != 0) return refuse(at, "twist", "is %s; \"plane\" or \"inherit\" is wanted", shown(twist));
    }

    if (target_rotation && one->solver == SOLVE_AIM)
        return refuse(at, "target_rotation", "is %s; aim turns joints to look at the target and takes none", shown(target_rotation));
    if (one->damping < 1 && one->solver != SOLVE_CCD)
        return refuse(at, "damping", "is %s; ccd alone turns by shares: set \"solver\" to \"ccd\", or \"weight\" for a share of the whole answer",
                      shown(json_object_get(object, "damping")));
    if (twist && one->solver == SOLVE_CCD && one->twist == PHX_TWIST_PLANE)
        return refuse(at, "twist", "is \"plane\"; ccd turns joints as they come and knows \"inherit\" alone");

    const json_t *limits = json_object_get(object, "limits");
    if (limits) {
        if (!json_is_array(limits) || (json_array_size(limits) != n && json_array_size(limits) != n - 1))
            return check_per_joint(at, "limits", limits, n, "joint, null where it has none");
        for (size_t j = 0; j < json_array_size(limits); ++j) {
            char element[64];
            snprintf(element, sizeof element, "limits[%zu]", j);
            if (!read_limit(at, element, json_array_get(limits, j), &one->limits[j])) return false;
        }
    }
    if (!one->bad_rotation) complete_rest(one, rest_joints != NULL, rest_rotations != NULL);
    return true;
}

static void free_case(solve_case *one) {
    free(one->id), free(one->position), free(one->rotation), free(one->rest_position), free(one->rest_rotation), free(one->length);
    free(one->limits), free(one->solved_position), free(one->solved_rotation);
}

void solve_cases_free(solve_cases *cases) {
    for (size_t i = 0; i < cases->count; ++i) free_case(&cases->all[i]);
    free(cases->all);
    *cases = (solve_cases){NULL, 0};
}

/* The last string before `end` that is the value of "id" (want_value) or any key: tells where a syntax error stands. */
static bool last_word(const char *text, size_t end, bool want_id, char *out, size_t size) {
    bool found = false, id_key = false;
    for (size_t i = 0; i < end; ++i) {
        if (text[i] != '"') continue;
        const size_t begin = ++i;
        while (i < end && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        if (i >= end) break;
        const size_t length = i - begin;
        size_t next = i + 1;
        while (next < end && (text[next] == ' ' || text[next] == '\n' || text[next] == '\t' || text[next] == '\r')) ++next;
        const bool key = next < end && text[next] == ':';
        if (key ? !want_id : id_key) snprintf(out, size, "%.*s", (int)(length < 80 ? length : 80), text + begin), found = true;
        id_key = want_id && key && length == 2 && memcmp(text + begin, "id", 2) == 0;
    }
    return found;
}

bool solve_cases_read(const char *name, const char *text, size_t size, solve_cases *cases, io_error *error) {
    *cases = (solve_cases){NULL, 0};
    json_error_t syntax;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &syntax);
    if (!root) {
        char id[96], key[96], where[256] = "";
        const size_t at = syntax.position > 0 && (size_t)syntax.position <= size ? (size_t)syntax.position : 0;
        if (last_word(text, at, true, id, sizeof id) && last_word(text, at, false, key, sizeof key))
            snprintf(where, sizeof where, "case '%s': '%s': ", id, key);
        return io_fail(error, "%s: %s%s (line %d, column %d); finite JSON is wanted, see `phalanx solve --help`", name, where, io_json_complaint(syntax.text),
                       syntax.line, syntax.column);
    }
    bool good = true;
    const char *key;
    json_t *value;
    const json_t *list = json_object_get(root, "cases");
    if (!json_is_object(root) || !json_is_array(list))
        good = io_fail(error, "%s: an object {\"cases\": [...]} is wanted, this is %s", name, shown(root));
    if (good) {
        json_object_foreach(root, key, value) {
            if (good && strcmp(key, "cases") != 0) /* NOLINT(bugprone-redundant-branch-condition): it is a loop */
                good = io_fail(error, "%s: '%s' is no key beside \"cases\"; there is no other", name, key);
        }
    }
    if (good) cases->all = io_allocate(json_array_size(list) + 1, sizeof *cases->all);
    for (size_t i = 0; good && i < json_array_size(list); ++i) {
        solve_case *one = &cases->all[cases->count++];
        one->id = io_format_text("%zu", i);
        place at = {name, one->id, error};
        good = read_case(&at, json_array_get(list, i), one);
    }
    json_decref(root);
    if (!good) solve_cases_free(cases);
    return good;
}
