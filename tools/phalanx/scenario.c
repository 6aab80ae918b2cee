/* Scenarios: reading the JSON file, moving what it says moves, making the animated pose, and the ground that rays meet. */
#include "scenario.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct key {
    double time, value[3];
} key;

/* A number or a vector that may move while a frame entry repeats. Between entries it keeps its last value. */
typedef struct track {
    int size; /* numbers: 1 or 3 */
    double now[3];
    double origin[3]; /* where the entry starts from */
    bool absolute;    /* the entry's first frame is at origin, instead of one step past it */
    bool has_end;
    double end[3], velocity[3], amplitude[3], period, phase;
    key *keys;
    size_t key_count;
    bool loop, smooth;
} track;

typedef struct rotation_track {
    turn now;
    bool turning; /* by degrees about axis */
    vec axis;
    track degrees;
} rotation_track;

typedef struct hit_track {
    scenario_hit now;
    track point, normal;
} hit_track;

typedef struct leg_entry {
    char name[32];
    vec hip, heel, ball; /* hip in character space at rest; contact points from the ankle, foot level */
    double lengths[2], ankle_height, ball_height, min_bend, max_bend;
    bool has_ball;
    vec forward;
    track ankle, support;
    rotation_track ankle_rotation;
    hit_track hit[2];
} leg_entry;

typedef struct body_entry {
    track position;
    rotation_track rotation;
    uint32_t generation;
} body_entry;

typedef struct shape {
    enum { SHAPE_PLANE, SHAPE_BOX, SHAPE_STEPS } kind;
    uint32_t body;
    vec point, normal; /* plane */
    vec least, most;   /* box */
    vec direction;     /* steps: horizontal, unit; origin is `point` */
    double rise, run;
    uint32_t count;
} shape;

struct scenario {
    char *file;
    json_t *root, *frames;
    vec up, forward;
    double unit;
    phx_crowd_params params;
    bool has_pelvis;
    vec pelvis_rest;
    leg_entry legs[PHX_MAX_LEGS];
    uint32_t leg_count;
    body_entry bodies[SCENARIO_MAX_BODIES];
    uint32_t body_count;
    shape *shapes;
    size_t shape_count;
    track root_position, pelvis_position, weight;
    rotation_track root_rotation, pelvis_rotation;
    bool on_ground, has_support, has_lod;
    double ground_lift; /* of a root on the ground, over where the file moves it */
    uint32_t lod;
    uint16_t parents[SCENARIO_MAX_JOINTS];
    /* where the run stands */
    size_t entry;
    uint32_t repeat, repeated, index;
    double dt, entry_time, time;
    uint32_t entry_flags;
    io_error *error;
};

/* ---- reading, with sentences that name the place ---------------------------------------------------------------------- */

typedef struct place {
    char text[160];
} place;

static place place_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static place place_of(const char *format, ...) {
    place at;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(at.text, sizeof at.text, format, arguments);
    va_end(arguments);
    return at;
}
static place member(place at, const char *name) { return at.text[0] ? place_of("%.110s.%.40s", at.text, name) : place_of("%.40s", name); }
static place item(place at, size_t index) { return place_of("%.130s[%zu]", at.text, index); }

/* "FILE: PLACE is VALUE: what is wrong and the mend" */
static bool wrong(scenario *s, place at, const json_t *value, const char *format, ...) __attribute__((format(printf, 4, 5)));
static bool wrong(scenario *s, place at, const json_t *value, const char *format, ...) {
    char sentence[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    char *shown = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (shown && strlen(shown) > 60) memcpy(shown + 57, "...", 4);
    if (shown)
        io_fail(s->error, "%s: %s is %s: %s", s->file, at.text[0] ? at.text : "the scenario", shown, sentence);
    else
        io_fail(s->error, "%s: %s: %s", s->file, at.text, sentence);
    free(shown);
    return false;
}

/* An object whose keys are all known; "note" always is. */
static bool read_keys(scenario *s, json_t *object, place at, const char *const *known) {
    if (!json_is_object(object)) return wrong(s, at, object, "it must be an object { ... }");
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        bool found = strcmp(name, "note") == 0;
        char list[700] = "";
        for (size_t i = 0; known[i] && !found; ++i) {
            found = strcmp(name, known[i]) == 0;
            strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
            strncat(list, known[i], sizeof list - strlen(list) - 1);
        }
        if (!found) return wrong(s, member(at, name), NULL, "there is no such key; known here: %s", list);
    }
    return true;
}

/* A JSON number, or "nan", "inf", "-inf" so that bad input can be tried. */
static bool read_number(scenario *s, const json_t *value, place at, double *number) {
    const char *word = json_string_value(value);
    if (json_is_number(value))
        *number = json_number_value(value);
    else if (word && strcmp(word, "nan") == 0)
        *number = (double)NAN;
    else if (word && strcmp(word, "inf") == 0)
        *number = (double)INFINITY;
    else if (word && strcmp(word, "-inf") == 0)
        *number = -(double)INFINITY;
    else
        return wrong(s, at, value, "it must be a number (or \"nan\", \"inf\", \"-inf\")");
    return true;
}

static bool read_range(scenario *s, const json_t *value, place at, double least, double most, double *number) {
    if (!value) return true;
    if (!read_number(s, value, at, number)) return false;
    if (*number >= least && *number <= most) return true;
    return wrong(s, at, value, "it must be from %g to %g", least, most);
}

static bool read_count(scenario *s, const json_t *value, place at, uint32_t least, uint32_t most, uint32_t *count) {
    if (!value) return true;
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most)
        return wrong(s, at, value, "it must be a whole number from %u to %u", least, most);
    *count = (uint32_t)json_integer_value(value);
    return true;
}

static bool read_numbers(scenario *s, const json_t *value, place at, int size, double *numbers) {
    if (size == 1) return read_number(s, value, at, numbers);
    if (!json_is_array(value) || json_array_size(value) != (size_t)size) return wrong(s, at, value, "it must be %d numbers [ ... ]", size);
    for (int i = 0; i < size; ++i)
        if (!read_number(s, json_array_get(value, (size_t)i), item(at, (size_t)i), numbers + i)) return false;
    return true;
}

static bool read_vec(scenario *s, const json_t *value, place at, vec *v) {
    double numbers[3];
    if (!value) return true;
    if (!read_numbers(s, value, at, 3, numbers)) return false;
    *v = vec_of(numbers[0], numbers[1], numbers[2]);
    return true;
}

static bool read_direction(scenario *s, const json_t *value, place at, vec *v) {
    if (!value) return true;
    if (!read_vec(s, value, at, v)) return false;
    const double length = vec_length(*v);
    if (!(length > 1e-6 && length < 1e18))
        return wrong(s, at, value, "it has no direction; give a vector that is not zero, such as [0,1,0]");
    *v = vec_scale(*v, 1 / length);
    return true;
}

static track track_at(int size, const double *value) {
    track t;
    memset(&t, 0, sizeof t);
    t.size = size;
    memcpy(t.now, value, (size_t)size * sizeof *value);
    memcpy(t.origin, t.now, sizeof t.now);
    t.absolute = true;
    return t;
}
static track track_vec(vec v) { return track_at(3, (double[3]){v.x, v.y, v.z}); }

static bool read_track_keys(scenario *s, json_t *keys, place at, track *t) {
    if (!json_is_array(keys) || json_array_size(keys) < 2) return wrong(s, at, keys, "it must hold two or more [seconds, value] pairs");
    t->key_count = json_array_size(keys);
    t->keys = io_allocate(t->key_count, sizeof *t->keys);
    for (size_t i = 0; i < t->key_count; ++i) {
        json_t *pair = json_array_get(keys, i);
        if (!json_is_array(pair) || json_array_size(pair) != 2) return wrong(s, item(at, i), pair, "it must be a pair [seconds, value]");
        if (!read_number(s, json_array_get(pair, 0), item(item(at, i), 0), &t->keys[i].time)) return false;
        if (!read_numbers(s, json_array_get(pair, 1), item(item(at, i), 1), t->size, t->keys[i].value)) return false;
        if (!(i == 0 ? t->keys[i].time == 0 : t->keys[i].time > t->keys[i - 1].time))
            return wrong(s, item(at, i), pair,
                         i ? "its time must be later than that of the key before"
                           : "the first key's time must be 0, the entry's first frame");
    }
    return true;
}

/* How a value moves while this entry repeats; `value` NULL: it stays. */
static bool track_begin(scenario *s, track *t, json_t *value, place at) {
    free(t->keys);
    const int size = t->size;
    track next = track_at(size, t->now);
    *t = next;
    if (!value) return true;
    if (!json_is_object(value)) return read_numbers(s, value, at, size, t->origin);
    static const char *const known[] = {"from", "to", "velocity", "sine", "keys", "loop", "smooth", NULL};
    if (!read_keys(s, value, at, known)) return false;
    json_t *from = json_object_get(value, "from"), *to = json_object_get(value, "to"), *velocity = json_object_get(value, "velocity");
    json_t *sine = json_object_get(value, "sine"), *keys = json_object_get(value, "keys");
    t->absolute = from != NULL;
    t->loop = json_is_true(json_object_get(value, "loop")), t->smooth = json_is_true(json_object_get(value, "smooth"));
    if (!!keys + !!to + !!velocity > 1) return wrong(s, at, NULL, "'to', 'velocity' and 'keys' exclude each other: keep one");
    if (keys && from) return wrong(s, at, NULL, "'keys' start at their first key: leave 'from' out");
    if (from && !read_numbers(s, from, member(at, "from"), size, t->origin)) return false;
    if (to && !read_numbers(s, to, member(at, "to"), size, t->end)) return false;
    t->has_end = to != NULL;
    if (velocity && !read_numbers(s, velocity, member(at, "velocity"), size, t->velocity)) return false;
    if (keys && !read_track_keys(s, keys, member(at, "keys"), t)) return false;
    if (!sine) return true;
    static const char *const known_sine[] = {"amplitude", "period", "phase", NULL};
    const place sine_at = member(at, "sine");
    if (!read_keys(s, sine, sine_at, known_sine)) return false;
    t->period = 1;
    if (!json_object_get(sine, "amplitude")) return wrong(s, sine_at, sine, "'amplitude' is missing");
    return read_numbers(s, json_object_get(sine, "amplitude"), member(sine_at, "amplitude"), size, t->amplitude) &&
           read_range(s, json_object_get(sine, "period"), member(sine_at, "period"), 1e-6, 1e6, &t->period) &&
           read_range(s, json_object_get(sine, "phase"), member(sine_at, "phase"), -1e6, 1e6, &t->phase);
}

/* The value in the entry's frame number `k`, whose local time is `time`; `dt` is what a frame takes. */
static void track_step(track *t, uint32_t k, uint32_t repeat, double time, double dt) {
    const double frames = t->absolute ? (double)repeat - 1 : (double)repeat, done = t->absolute ? (double)k : (double)k + 1;
    const double share = frames > 0 ? done / frames : 1, seconds = t->absolute ? time : time + dt;
    size_t next = 0;
    double along = 0;
    if (t->keys) {
        const double last = t->keys[t->key_count - 1].time;
        double at = time;
        if (t->loop) at = fmod(time + 1e-12, last);
        while (next < t->key_count && t->keys[next].time <= at) ++next;
        if (next == t->key_count)
            --next, along = 1;
        else
            along = next ? (at - t->keys[next - 1].time) / (t->keys[next].time - t->keys[next - 1].time) : 0;
        if (t->smooth) along = along * along * (3 - 2 * along);
    }
    const double wave = t->period > 0 ? sin(2 * 3.14159265358979323846 * (time / t->period + t->phase)) : 0;
    for (int i = 0; i < t->size; ++i) {
        double value = t->origin[i];
        if (t->keys)
            value = next ? t->keys[next - 1].value[i] + along * (t->keys[next].value[i] - t->keys[next - 1].value[i]) : t->keys[0].value[i];
        else if (t->has_end)
            value = share >= 1 ? t->end[i] : value + (t->end[i] - value) * share;
        else
            value = value + t->velocity[i] * seconds;
        t->now[i] = value + t->amplitude[i] * wave;
    }
}

static bool rotation_begin(scenario *s, rotation_track *r, json_t *value, place at) {
    r->turning = false;
    if (!value) return true;
    if (json_is_array(value)) {
        double q[4];
        if (!read_numbers(s, value, at, 4, q)) return false;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): read_numbers has filled all four */
        const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (fabs(length - 1) > 1e-2)
            return wrong(s, at, value, "a rotation [x,y,z,w] has length 1, this one %.4g; or write {\"axis\": [..], \"degrees\": ..}",
                         length);
        r->now = (turn){q[0] / length, q[1] / length, q[2] / length, q[3] / length};
        return true;
    }
    static const char *const known[] = {"axis", "degrees", NULL};
    if (!read_keys(s, value, at, known)) return false;
    if (!json_object_get(value, "axis") || !json_object_get(value, "degrees"))
        return wrong(s, at, value, "it needs both 'axis' and 'degrees'");
    r->turning = true;
    return read_direction(s, json_object_get(value, "axis"), member(at, "axis"), &r->axis) &&
           track_begin(s, &r->degrees, json_object_get(value, "degrees"), member(at, "degrees"));
}

static void rotation_step(rotation_track *r, uint32_t k, uint32_t repeat, double time, double dt) {
    if (!r->turning) return;
    track_step(&r->degrees, k, repeat, time, dt);
    r->now = turn_about(r->axis, r->degrees.now[0] * (3.14159265358979323846 / 180));
}

static rotation_track rotation_none(void) {
    rotation_track r;
    memset(&r, 0, sizeof r);
    r.now = TURN_NONE;
    r.degrees = track_at(1, (double[1]){0});
    return r;
}

static vec track_vec_now(const track *t) { return vec_of(t->now[0], t->now[1], t->now[2]); }

/* ---- set-up ------------------------------------------------------------------------------------------------------------ */

#define NUMBER(name)                                                                                                                       \
    { #name, offsetof(phx_crowd_params, name), false }
#define SWITCH(name)                                                                                                                       \
    { #name, offsetof(phx_crowd_params, name), true }
static const struct {
    const char *name;
    size_t offset;
    bool is_switch; /* an int, 0 or 1 */
} parameters[] = {
    NUMBER(step_up),          NUMBER(step_down),        NUMBER(max_slope),         NUMBER(max_foot_pitch),
    NUMBER(max_foot_roll),    NUMBER(max_pelvis_drop),  NUMBER(max_pelvis_rise),   NUMBER(pelvis_speed),
    NUMBER(pelvis_half_life), NUMBER(ground_half_life), NUMBER(tilt_half_life),    NUMBER(weight_half_life),
    NUMBER(hold_seconds),     NUMBER(contact_height),   NUMBER(plant_height),      NUMBER(swing_height),
    NUMBER(max_extension),    NUMBER(soft_start),       SWITCH(pelvis_spring),   SWITCH(pelvis_firm),     NUMBER(enter_height),
    NUMBER(exit_height),      NUMBER(enter_speed),      NUMBER(exit_speed),        SWITCH(lock),
    NUMBER(release_distance), NUMBER(release_twist),    NUMBER(release_half_life), NUMBER(ray_reuse),
    NUMBER(max_toe_bend),     NUMBER(pelvis_shift),     NUMBER(max_pelvis_shift),  NUMBER(pelvis_pitch),
    NUMBER(pelvis_roll),      NUMBER(max_pelvis_lean),  NUMBER(still_tolerance),
    NUMBER(hip_speed),        NUMBER(knee_speed),       NUMBER(ankle_speed),
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };
_Static_assert(PARAMETERS * 4 == sizeof(phx_crowd_params), "every member of phx_crowd_params has a line above");

static bool read_params(scenario *s, json_t *params) {
    const place at = place_of("params");
    const char *known[PARAMETERS + 1] = {NULL};
    for (size_t i = 0; i < PARAMETERS; ++i) known[i] = parameters[i].name;
    s->params = phx_crowd_params_default();
    if (!params) return true;
    if (!read_keys(s, params, at, known)) return false;
    for (size_t i = 0; i < PARAMETERS; ++i) {
        json_t *value = json_object_get(params, parameters[i].name);
        char *parameter = (char *)&s->params + parameters[i].offset;
        double number;
        if (!value) continue;
        if (parameters[i].is_switch) {
            uint32_t on = 0;
            if (!json_is_boolean(value) && !read_count(s, value, member(at, parameters[i].name), 0, 1, &on)) return false;
            const int whole = on || json_is_true(value);
            memcpy(parameter, &whole, sizeof whole);
        } else {
            if (!read_number(s, value, member(at, parameters[i].name), &number)) return false;
            const float single = (float)number;
            memcpy(parameter, &single, sizeof single);
        }
    }
    return true;
}

static vec default_ankle(const scenario *s, const leg_entry *leg) {
    return vec_add(leg->hip, vec_scale(s->up, leg->ankle_height - vec_dot(leg->hip, s->up)));
}

static bool read_leg(scenario *s, leg_entry *leg, json_t *value, place at) {
    static const char *const known[] = {"name",        "hip",          "lengths",  "ankle_height", "heel", "ball",
                                        "ball_height", "knee_forward", "min_bend", "max_bend",     NULL};
    if (value && !read_keys(s, value, at, known)) return false;
    json_t *name = json_object_get(value, "name"), *lengths = json_object_get(value, "lengths"), *ball = json_object_get(value, "ball");
    if (name && (!json_is_string(name) || strlen(json_string_value(name)) >= sizeof leg->name))
        return wrong(s, member(at, "name"), name, "it must be a short text");
    if (name) strcpy(leg->name, json_string_value(name));
    if (value && !json_object_get(value, "hip"))
        return wrong(s, at, NULL, "'hip' is missing: its position over flat ground, such as [0.1, 0.9, 0]");
    if (!read_vec(s, json_object_get(value, "hip"), member(at, "hip"), &leg->hip)) return false;
    if (lengths && !read_numbers(s, lengths, member(at, "lengths"), 2, leg->lengths)) return false;
    for (int i = 0; i < 2; ++i)
        if (!(leg->lengths[i] > 0 && leg->lengths[i] < 1e6))
            return wrong(s, member(at, "lengths"), lengths, "thigh and shin must be longer than 0 and shorter than 1e6");
    if (!read_range(s, json_object_get(value, "ankle_height"), member(at, "ankle_height"), 0, 1e6, &leg->ankle_height)) return false;
    leg->heel = vec_scale(s->up, -leg->ankle_height);
    leg->ball = vec_add(leg->heel, vec_scale(s->forward, 0.13 / s->unit));
    if (!read_vec(s, json_object_get(value, "heel"), member(at, "heel"), &leg->heel)) return false;
    if (!read_vec(s, ball, member(at, "ball"), &leg->ball)) return false;
    json_t *ball_height = json_object_get(value, "ball_height");
    leg->has_ball = !json_is_null(ball_height);
    leg->ball_height = 0;
    if (leg->has_ball && !read_range(s, ball_height, member(at, "ball_height"), 0, 1e6, &leg->ball_height)) return false;
    leg->forward = s->forward;
    return read_direction(s, json_object_get(value, "knee_forward"), member(at, "knee_forward"), &leg->forward) &&
           read_range(s, json_object_get(value, "min_bend"), member(at, "min_bend"), 0, 3.14159265, &leg->min_bend) &&
           read_range(s, json_object_get(value, "max_bend"), member(at, "max_bend"), 0, 3.14159265, &leg->max_bend);
}

static bool read_legs(scenario *s, json_t *legs) {
    const vec side = vec_cross(s->up, s->forward);
    s->leg_count = 2;
    if (legs) {
        if (!json_is_array(legs) || json_array_size(legs) < 1 || json_array_size(legs) > PHX_MAX_LEGS)
            return wrong(s, place_of("legs"), legs, "it must be a list of 1 to %d legs, and holds %zu", PHX_MAX_LEGS, json_array_size(legs));
        s->leg_count = (uint32_t)json_array_size(legs);
    }
    vec sum = vec_of(0, 0, 0);
    for (uint32_t i = 0; i < s->leg_count; ++i) {
        leg_entry *leg = s->legs + i;
        if (s->leg_count == 2)
            strcpy(leg->name, i ? "right" : "left");
        else
            snprintf(leg->name, sizeof leg->name, "leg%u", i);
        leg->lengths[0] = leg->lengths[1] = 0.45 / s->unit;
        leg->ankle_height = 0.08 / s->unit;
        leg->hip = vec_scale(vec_add(vec_scale(s->up, 0.9), vec_scale(side, i ? -0.1 : 0.1)), 1 / s->unit);
        if (!read_leg(s, leg, legs ? json_array_get(legs, i) : NULL, item(place_of("legs"), i))) return false;
        leg->ankle = track_vec(default_ankle(s, leg));
        leg->ankle_rotation = rotation_none();
        leg->support = track_at(1, (double[1]){1});
        for (int end = 0; end < 2; ++end) leg->hit[end].point = leg->hit[end].normal = track_vec(vec_of(0, 0, 0));
        sum = vec_add(sum, leg->hip);
    }
    s->pelvis_rest = vec_scale(sum, 1.0 / s->leg_count);
    return true;
}

static bool read_shape(scenario *s, json_t *value, place at, shape *shape) {
    static const char *const planes[] = {"point", "normal", "body", NULL};
    static const char *const boxes[] = {"min", "max", "body", NULL};
    static const char *const steps[] = {"origin", "direction", "rise", "run", "count", "body", NULL};
    if (!read_keys(s, value, at, shape->kind == SHAPE_PLANE ? planes : shape->kind == SHAPE_BOX ? boxes : steps)) return false;
    json_t *body = json_object_get(value, "body");
    shape->body = s->body_count;
    if (body && s->body_count == 0) return wrong(s, member(at, "body"), body, "there are no 'bodies'; add them beside 'ground'");
    if (body && !read_count(s, body, member(at, "body"), 0, s->body_count - 1, &shape->body)) return false;
    if (shape->kind == SHAPE_PLANE) {
        shape->point = vec_of(0, 0, 0), shape->normal = s->up;
        return read_vec(s, json_object_get(value, "point"), member(at, "point"), &shape->point) &&
               read_direction(s, json_object_get(value, "normal"), member(at, "normal"), &shape->normal);
    }
    if (shape->kind == SHAPE_BOX) {
        if (!json_object_get(value, "min") || !json_object_get(value, "max")) return wrong(s, at, value, "a box needs 'min' and 'max'");
        if (!read_vec(s, json_object_get(value, "min"), member(at, "min"), &shape->least) ||
            !read_vec(s, json_object_get(value, "max"), member(at, "max"), &shape->most))
            return false;
        if (!(shape->least.x < shape->most.x && shape->least.y < shape->most.y && shape->least.z < shape->most.z))
            return wrong(s, at, value, "'min' must be less than 'max' along every axis");
        return true;
    }
    shape->point = vec_of(0, 0, 0), shape->direction = s->forward, shape->rise = 0.17 / s->unit, shape->run = 0.29 / s->unit,
    shape->count = 1000;
    if (!read_vec(s, json_object_get(value, "origin"), member(at, "origin"), &shape->point) ||
        !read_direction(s, json_object_get(value, "direction"), member(at, "direction"), &shape->direction) ||
        !read_range(s, json_object_get(value, "rise"), member(at, "rise"), -1e3, 1e3, &shape->rise) ||
        !read_range(s, json_object_get(value, "run"), member(at, "run"), 1e-3, 1e3, &shape->run) ||
        !read_count(s, json_object_get(value, "count"), member(at, "count"), 1, 1000, &shape->count))
        return false;
    const vec level = vec_sub(shape->direction, vec_scale(s->up, vec_dot(shape->direction, s->up)));
    if (vec_length(level) < 0.1)
        return wrong(s, member(at, "direction"), json_object_get(value, "direction"), "steps lead sideways: it must not lie along 'up'");
    shape->direction = vec_unit(level);
    return true;
}

static bool read_ground(scenario *s, json_t *ground) {
    static const char *const known[] = {"planes", "boxes", "steps", NULL};
    const place at = place_of("ground");
    if (!ground) {
        s->shapes = io_allocate(1, sizeof *s->shapes);
        s->shapes[s->shape_count++] = (shape){.kind = SHAPE_PLANE, .normal = s->up, .body = s->body_count};
        return true;
    }
    if (!read_keys(s, ground, at, known)) return false;
    for (int kind = 0; kind < 3; ++kind) {
        json_t *list = json_object_get(ground, known[kind]);
        if (list && !json_is_array(list)) return wrong(s, member(at, known[kind]), list, "it must be a list [ ... ]");
        for (size_t i = 0; i < json_array_size(list); ++i) {
            s->shapes = io_reallocate(s->shapes, s->shape_count + 1, sizeof *s->shapes);
            shape *shape = s->shapes + s->shape_count++;
            memset(shape, 0, sizeof *shape);
            shape->kind = kind == 0 ? SHAPE_PLANE : kind == 1 ? SHAPE_BOX : SHAPE_STEPS;
            if (!read_shape(s, json_array_get(list, i), item(member(at, known[kind]), i), shape)) return false;
        }
    }
    return true;
}

static bool begin_bodies(scenario *s, json_t *bodies, place at) {
    static const char *const known[] = {"position", "rotation", "generation", NULL};
    if (bodies && s->body_count == 0)
        return wrong(s, at, bodies, "the scenario has no bodies; list them in its own 'bodies' first, beside 'frames'");
    if (bodies && (!json_is_array(bodies) || json_array_size(bodies) != s->body_count))
        return wrong(s, at, bodies, "it must list all %u bodies, null for one that stays as it is", s->body_count);
    for (uint32_t i = 0; i < s->body_count; ++i) {
        json_t *value = json_array_get(bodies, i);
        body_entry *body = s->bodies + i;
        if (json_is_null(value)) value = NULL;
        if (value && !read_keys(s, value, item(at, i), known)) return false;
        if (!track_begin(s, &body->position, json_object_get(value, "position"), member(item(at, i), "position")) ||
            !rotation_begin(s, &body->rotation, json_object_get(value, "rotation"), member(item(at, i), "rotation")) ||
            !read_count(s, json_object_get(value, "generation"), member(item(at, i), "generation"), 0, 0xFFFFFFFFu, &body->generation))
            return false;
    }
    return true;
}

static bool read_bodies(scenario *s, json_t *bodies) {
    const place at = place_of("bodies");
    if (!bodies) return true;
    if (!json_is_array(bodies) || json_array_size(bodies) > SCENARIO_MAX_BODIES - 1)
        return wrong(s, at, bodies, "it must be a list of at most %d bodies", SCENARIO_MAX_BODIES - 1);
    s->body_count = (uint32_t)json_array_size(bodies);
    for (uint32_t i = 0; i < s->body_count; ++i)
        s->bodies[i].position = track_vec(vec_of(0, 0, 0)), s->bodies[i].rotation = rotation_none();
    if (!begin_bodies(s, bodies, at)) return false;
    for (uint32_t i = 0; i < s->body_count; ++i)
        track_step(&s->bodies[i].position, 0, 1, 0, 0), rotation_step(&s->bodies[i].rotation, 0, 1, 0, 0);
    return true;
}

static bool read_root(scenario *s) {
    static const char *const known[] = {"up", "forward", "unit", "params", "pelvis", "legs", "bodies", "ground", "frames", NULL};
    const place top = place_of("%s", "");
    json_t *root = s->root, *pelvis = json_object_get(root, "pelvis");
    if (!read_keys(s, root, top, known)) return false;
    s->up = vec_of(0, 1, 0), s->forward = vec_of(0, 0, 1), s->unit = 1;
    if (!read_direction(s, json_object_get(root, "up"), place_of("up"), &s->up) ||
        !read_direction(s, json_object_get(root, "forward"), place_of("forward"), &s->forward) ||
        !read_range(s, json_object_get(root, "unit"), place_of("unit"), 1e-6, 1e6, &s->unit))
        return false;
    s->forward = vec_sub(s->forward, vec_scale(s->up, vec_dot(s->forward, s->up)));
    if (vec_length(s->forward) < 0.1)
        return wrong(s, place_of("forward"), json_object_get(root, "forward"),
                     "it lies along 'up'; give the direction that knees and toes point in, such as [1,0,0]");
    s->forward = vec_unit(s->forward);
    if (pelvis && !json_is_boolean(pelvis))
        return wrong(s, place_of("pelvis"), pelvis, "it must be true, or false for a character whose pelvis is not moved");
    s->has_pelvis = !json_is_false(pelvis);
    if (!read_params(s, json_object_get(root, "params")) || !read_legs(s, json_object_get(root, "legs")) ||
        !read_bodies(s, json_object_get(root, "bodies")) || !read_ground(s, json_object_get(root, "ground")))
        return false;
    s->frames = json_object_get(root, "frames");
    if (!json_is_array(s->frames) || json_array_size(s->frames) == 0)
        return wrong(s, place_of("frames"), s->frames, "it must list the frames; one of them may be {}");
    for (size_t i = 0; i < json_array_size(s->frames); ++i) s->has_lod = s->has_lod || json_object_get(json_array_get(s->frames, i), "lod");
    s->root_position = track_vec(vec_of(0, 0, 0)), s->pelvis_position = track_vec(s->pelvis_rest);
    s->root_rotation = s->pelvis_rotation = rotation_none();
    s->weight = track_at(1, (double[1]){1});
    s->dt = 1.0 / 60;
    s->parents[0] = PHX_NO_JOINT, s->parents[1] = 0;
    for (uint32_t leg = 0; leg < s->leg_count; ++leg) {
        const uint16_t hip = scenario_leg_joint(leg, SCENARIO_HIP);
        s->parents[hip] = SCENARIO_PELVIS;
        for (uint16_t j = 1; j < 4; ++j) s->parents[hip + j] = (uint16_t)(hip + j - 1);
    }
    return true;
}

bool scenario_load(const char *path, scenario **loaded, io_error *error) {
    uint8_t *data;
    size_t size;
    *loaded = NULL;
    if (!io_read_file(path, &data, &size, error)) return false;
    scenario *s = io_allocate(1, sizeof *s);
    json_error_t json_error;
    s->file = io_copy_text(io_input_name(path)), s->error = error;
    s->root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &json_error);
    free(data);
    if (!s->root) io_fail(error, "%s:%d:%d: not JSON: %s", s->file, json_error.line, json_error.column, io_json_complaint(json_error.text));
    if (!s->root || !read_root(s)) {
        scenario_free(s);
        return false;
    }
    *loaded = s;
    return true;
}

void scenario_free(scenario *s) {
    if (!s) return;
    json_decref(s->root);
    free(s->root_position.keys), free(s->pelvis_position.keys), free(s->weight.keys);
    free(s->root_rotation.degrees.keys), free(s->pelvis_rotation.degrees.keys);
    for (uint32_t i = 0; i < PHX_MAX_LEGS; ++i) {
        leg_entry *leg = s->legs + i;
        free(leg->ankle.keys), free(leg->support.keys), free(leg->ankle_rotation.degrees.keys);
        for (int end = 0; end < 2; ++end) free(leg->hit[end].point.keys), free(leg->hit[end].normal.keys);
    }
    for (uint32_t i = 0; i < SCENARIO_MAX_BODIES; ++i) free(s->bodies[i].position.keys), free(s->bodies[i].rotation.degrees.keys);
    free(s->shapes);
    free(s->file);
    free(s);
}

static phx_vec3 single3(vec v) { return (phx_vec3){(float)v.x, (float)v.y, (float)v.z}; }
static phx_quat single4(turn q) { return (phx_quat){(float)q.x, (float)q.y, (float)q.z, (float)q.w}; }

phx_crowd_def scenario_crowd(const scenario *s) {
    phx_crowd_def def = phx_crowd_def_default();
    def.capacity = 1;
    def.skeleton = (phx_skeleton){2 + 4 * s->leg_count, s->parents};
    def.pelvis = s->has_pelvis ? SCENARIO_PELVIS : PHX_NO_JOINT;
    def.up = single3(s->up), def.unit = (float)s->unit;
    def.bodies = s->body_count > 0, def.replay = s->has_lod;
    def.params = s->params;
    def.leg_count = s->leg_count;
    for (uint32_t i = 0; i < s->leg_count; ++i) {
        const leg_entry *from = s->legs + i;
        phx_leg *leg = def.legs + i;
        leg->hip = scenario_leg_joint(i, SCENARIO_HIP), leg->knee = scenario_leg_joint(i, SCENARIO_KNEE),
        leg->ankle = scenario_leg_joint(i, SCENARIO_ANKLE);
        leg->ball = from->has_ball ? scenario_leg_joint(i, SCENARIO_BALL) : PHX_NO_JOINT;
        leg->heel_offset = single3(from->heel);
        leg->ball_offset = single3(from->has_ball ? vec_scale(s->up, -from->ball_height) : from->ball);
        leg->knee_forward = single3(from->forward);
        leg->min_bend = (float)from->min_bend, leg->max_bend = (float)from->max_bend;
    }
    return def;
}

const char *scenario_leg_name(const scenario *s, uint32_t leg) { return s->legs[leg].name; }
uint32_t scenario_world_body(const scenario *s) { return s->body_count; }

/* ---- frames ------------------------------------------------------------------------------------------------------------ */

static bool begin_hit(scenario *s, hit_track *hit, json_t *value, place at) {
    static const char *const known[] = {"point", "normal", "body", NULL};
    if (!value) return track_begin(s, &hit->point, NULL, at) && track_begin(s, &hit->normal, NULL, at);
    hit->now.kind = SCENARIO_MISS;
    if (json_is_null(value)) return true;
    hit->now.kind = SCENARIO_CAST;
    if (json_is_string(value) && strcmp(json_string_value(value), "cast") == 0) return true;
    if (!json_is_object(value))
        return wrong(s, at, value,
                     "it must be {\"point\": .., \"normal\": .., \"body\": ..}, null (a miss) or \"cast\" (the ground decides)");
    if (!read_keys(s, value, at, known)) return false;
    if (!json_object_get(value, "point")) return wrong(s, at, value, "'point' is missing");
    hit->now.kind = SCENARIO_GIVEN, hit->now.body = s->body_count;
    if (!json_object_get(value, "normal")) hit->normal.now[0] = s->up.x, hit->normal.now[1] = s->up.y, hit->normal.now[2] = s->up.z;
    return track_begin(s, &hit->point, json_object_get(value, "point"), member(at, "point")) &&
           track_begin(s, &hit->normal, json_object_get(value, "normal"), member(at, "normal")) &&
           read_count(s, json_object_get(value, "body"), member(at, "body"), 0, 0xFFFFFFFEu, &hit->now.body);
}

static bool begin_leg(scenario *s, leg_entry *leg, json_t *value, place at) {
    static const char *const known[] = {"ankle", "support", "hit", NULL}, *const known_ankle[] = {"position", "rotation", NULL};
    static const char *const known_ends[] = {"heel", "ball", NULL};
    if (json_is_null(value)) value = NULL;
    if (value && !read_keys(s, value, at, known)) return false;
    json_t *ankle = json_object_get(value, "ankle"), *hit = json_object_get(value, "hit");
    const place ankle_at = member(at, "ankle"), hit_at = member(at, "hit");
    if (ankle && !read_keys(s, ankle, ankle_at, known_ankle)) return false;
    if (json_object_get(value, "support")) s->has_support = true;
    if (!track_begin(s, &leg->ankle, json_object_get(ankle, "position"), member(ankle_at, "position")) ||
        !rotation_begin(s, &leg->ankle_rotation, json_object_get(ankle, "rotation"), member(ankle_at, "rotation")) ||
        !track_begin(s, &leg->support, json_object_get(value, "support"), member(at, "support")))
        return false;
    const bool ends = json_object_get(hit, "heel") || json_object_get(hit, "ball");
    if (ends && !read_keys(s, hit, hit_at, known_ends)) return false;
    for (int end = 0; end < 2; ++end) {
        const char *name = known_ends[end];
        if (!begin_hit(s, leg->hit + end, ends ? json_object_get(hit, name) : hit, ends ? member(hit_at, name) : hit_at)) return false;
    }
    return true;
}

static bool begin_entry(scenario *s) {
    static const char *const known[] = {"dt", "repeat", "root", "pelvis", "legs", "weight", "flags", "lod", "bodies", NULL};
    static const char *const known_root[] = {"position", "rotation", "on_ground", NULL}, *const known_pelvis[] = {"position", "rotation",
                                                                                                                  NULL};
    static const char *const lods[] = {"full", "replay", "pelvis", "off"};
    json_t *entry = json_array_get(s->frames, s->entry);
    const place at = item(place_of("frames"), s->entry);
    if (!read_keys(s, entry, at, known)) return false;
    s->repeat = 1, s->repeated = 0, s->entry_time = 0, s->entry_flags = 0;
    if (json_object_get(entry, "dt") && !read_number(s, json_object_get(entry, "dt"), member(at, "dt"), &s->dt)) return false;
    if (!read_count(s, json_object_get(entry, "repeat"), member(at, "repeat"), 1, SCENARIO_MAX_FRAMES, &s->repeat)) return false;
    if (s->repeat > SCENARIO_MAX_FRAMES - s->index)
        return wrong(s, at, NULL, "with it the scenario has more than %d frames; shorten a 'repeat'", SCENARIO_MAX_FRAMES);
    json_t *root = json_object_get(entry, "root"), *pelvis = json_object_get(entry, "pelvis"), *legs = json_object_get(entry, "legs");
    const place root_at = member(at, "root"), pelvis_at = member(at, "pelvis");
    if (root && !read_keys(s, root, root_at, known_root)) return false;
    if (pelvis && !read_keys(s, pelvis, pelvis_at, known_pelvis)) return false;
    if (json_object_get(root, "on_ground")) s->on_ground = json_is_true(json_object_get(root, "on_ground")), s->ground_lift = 0;
    if (!track_begin(s, &s->root_position, json_object_get(root, "position"), member(root_at, "position")) ||
        !rotation_begin(s, &s->root_rotation, json_object_get(root, "rotation"), member(root_at, "rotation")) ||
        !track_begin(s, &s->pelvis_position, json_object_get(pelvis, "position"), member(pelvis_at, "position")) ||
        !rotation_begin(s, &s->pelvis_rotation, json_object_get(pelvis, "rotation"), member(pelvis_at, "rotation")) ||
        !track_begin(s, &s->weight, json_object_get(entry, "weight"), member(at, "weight")) ||
        !begin_bodies(s, json_object_get(entry, "bodies"), member(at, "bodies")))
        return false;
    if (legs && (!json_is_array(legs) || json_array_size(legs) != s->leg_count))
        return wrong(s, member(at, "legs"), legs, "it must list all %u legs, null for one that goes on as it was, and lists %zu", s->leg_count,
                     json_array_size(legs));
    for (uint32_t i = 0; i < s->leg_count; ++i)
        if (!begin_leg(s, s->legs + i, json_array_get(legs, i), item(member(at, "legs"), i))) return false;
    json_t *flags = json_object_get(entry, "flags"), *lod = json_object_get(entry, "lod");
    if (flags && !json_is_array(flags)) return wrong(s, member(at, "flags"), flags, "it must be a list of \"teleport\", \"off\"");
    for (size_t i = 0; i < json_array_size(flags); ++i) {
        const char *word = json_string_value(json_array_get(flags, i));
        if (word && strcmp(word, "teleport") == 0)
            s->entry_flags |= PHX_CHARACTER_TELEPORT;
        else if (word && strcmp(word, "off") == 0)
            s->entry_flags |= PHX_CHARACTER_OFF;
        else
            return wrong(s, item(member(at, "flags"), i), json_array_get(flags, i), "it must be \"teleport\" or \"off\"");
    }
    if (!lod) return true;
    for (uint32_t i = 0; i < 4; ++i) {
        if (!json_is_string(lod) || strcmp(json_string_value(lod), lods[i]) != 0) continue;
        s->lod = i;
        return true;
    }
    return wrong(s, member(at, "lod"), lod, "it must be \"full\", \"replay\", \"pelvis\" or \"off\"");
}

/* The pose in which the ankles are where the frame wants them: law of cosines, knee forward. */
static bool pose_leg(scenario *s, uint32_t index, phx_transform *pose) {
    const leg_entry *leg = s->legs + index;
    const place at = place_of("frames[%zu], its frame %u: ankle of leg %s", s->entry, s->repeated, leg->name);
    const vec up = s->up, ankle = track_vec_now(&leg->ankle), hip_offset = vec_sub(leg->hip, s->pelvis_rest);
    const turn pelvis = s->pelvis_rotation.now;
    const vec hip = vec_add(track_vec_now(&s->pelvis_position), turn_vec(pelvis, hip_offset)), to_ankle = vec_sub(ankle, hip);
    const double a = leg->lengths[0], b = leg->lengths[1], length = a + b, least = fabs(a - b);
    double distance = vec_length(to_ankle);
    if (distance > length * (1 + 1e-7))
        return wrong(s, at, NULL, "it is %.6g from the hip and the leg is %.6g long; bring the ankle nearer or lengthen the leg", distance,
                     length);
    if (distance < least * (1 - 1e-7) || distance < 1e-6 * length)
        return wrong(s, at, NULL, "it is %.6g from the hip, nearer than the leg can fold (%.6g); move the ankle away", distance, least);
    if (distance > length) distance = length;
    const vec axis = vec_scale(to_ankle, 1 / distance), forward = turn_vec(pelvis, leg->forward);
    vec bend = vec_sub(forward, vec_scale(axis, vec_dot(forward, axis)));
    if (vec_length(bend) < 1e-3) bend = vec_sub(up, vec_scale(axis, vec_dot(up, axis))); /* a leg straight ahead: the knee points up */
    bend = vec_unit(bend);
    double cosine = (a * a + distance * distance - b * b) / (2 * a * distance);
    cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
    const vec thigh = vec_add(vec_scale(axis, cosine), vec_scale(bend, sqrt(1 - cosine * cosine)));
    const vec shin = vec_unit(vec_sub(to_ankle, vec_scale(thigh, a)));
    /* joints rest with the character's axes; a bone's -up lies along it and the hinge, up x forward, stays at right angles to the leg's
     * plane */
    const vec hinge = vec_cross(bend, axis), rest_forward = vec_unit(vec_sub(leg->forward, vec_scale(up, vec_dot(leg->forward, up))));
    const turn rest = turn_from_axes(rest_forward, up, vec_cross(rest_forward, up));
    turn world[2];
    for (int bone = 0; bone < 2; ++bone) {
        const vec y = vec_scale(bone ? shin : thigh, -1), z = vec_scale(hinge, -1);
        world[bone] = turn_times(turn_from_axes(vec_cross(y, z), y, z), turn_back(rest));
    }
    phx_transform *joint = pose + scenario_leg_joint(index, SCENARIO_HIP);
    const vec ball = leg->has_ball ? vec_add(leg->ball, vec_scale(up, leg->ball_height)) : leg->ball;
    joint[SCENARIO_HIP].translation = single3(hip_offset), joint[SCENARIO_HIP].rotation = single4(turn_times(turn_back(pelvis), world[0]));
    joint[SCENARIO_KNEE].translation = single3(vec_scale(up, -a)),
    joint[SCENARIO_KNEE].rotation = single4(turn_times(turn_back(world[0]), world[1]));
    joint[SCENARIO_ANKLE].translation = single3(vec_scale(up, -b));
    joint[SCENARIO_ANKLE].rotation = single4(turn_times(turn_back(world[1]), leg->ankle_rotation.now));
    joint[SCENARIO_BALL].translation = single3(ball);
    return true;
}

/* ---- ground ------------------------------------------------------------------------------------------------------------ */

typedef struct cast_hit {
    double distance;
    vec normal;
    uint32_t body;
} cast_hit;

/* nearest hit of a shape at its own rest place, from above only; true where nearer than `best` */
static bool cast_shape(const scenario *s, const shape *shape, vec origin, vec direction, cast_hit *best) {
    if (shape->kind == SHAPE_BOX) {
        const double o[3] = {origin.x, origin.y, origin.z}, d[3] = {direction.x, direction.y, direction.z};
        const double least[3] = {shape->least.x, shape->least.y, shape->least.z}, most[3] = {shape->most.x, shape->most.y, shape->most.z};
        double enter = -1, leave = 1e300;
        int face = -1;
        for (int i = 0; i < 3; ++i) {
            if (fabs(d[i]) < 1e-12) {
                if (o[i] < least[i] || o[i] > most[i]) return false;
                continue;
            }
            const double near = ((d[i] > 0 ? least[i] : most[i]) - o[i]) / d[i], far = ((d[i] > 0 ? most[i] : least[i]) - o[i]) / d[i];
            if (near > enter) enter = near, face = i;
            if (far < leave) leave = far;
        }
        if (face < 0 || enter < 0 || enter > leave || enter >= best->distance) return false;
        const double sign = d[face] > 0 ? -1 : 1;
        best->distance = enter, best->normal = vec_of(face == 0 ? sign : 0, face == 1 ? sign : 0, face == 2 ? sign : 0);
        return true;
    }
    const vec normal = shape->kind == SHAPE_PLANE ? shape->normal : s->up;
    const double approach = vec_dot(direction, normal);
    bool found = false;
    if (!(approach < 0)) return false;
    const uint32_t treads = shape->kind == SHAPE_PLANE ? 1 : shape->count;
    for (uint32_t i = 0; i < treads; ++i) {
        const vec point = shape->kind == SHAPE_PLANE ? shape->point : vec_add(shape->point, vec_scale(s->up, shape->rise * (i + 1)));
        const double distance = vec_dot(vec_sub(point, origin), normal) / approach;
        if (!(distance >= 0 && distance < best->distance)) continue;
        if (shape->kind == SHAPE_STEPS) {
            const double along =
                vec_dot(vec_sub(vec_add(origin, vec_scale(direction, distance)), shape->point), shape->direction) / shape->run;
            if (along < i || (along >= i + 1 && i + 1 < treads)) continue;
        }
        best->distance = distance, best->normal = normal, found = true;
    }
    return found;
}

static bool cast_ray(const scenario *s, const scenario_body *bodies, vec origin, vec direction, double reach, cast_hit *best) {
    bool found = false;
    best->distance = reach;
    for (size_t i = 0; i < s->shape_count; ++i) {
        const shape *shape = s->shapes + i;
        const scenario_body *body = bodies + shape->body;
        const turn back = turn_back(body->rotation);
        if (!cast_shape(s, shape, turn_vec(back, vec_sub(origin, body->position)), turn_vec(back, direction), best)) continue;
        best->normal = turn_vec(body->rotation, best->normal), best->body = shape->body, found = true;
    }
    return found;
}

void scenario_cast(const scenario *s, const scenario_frame *frame, phx_ray_blocks rays) {
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block *ray = rays.blocks + b;
        const scenario_hit *given = &frame->hits[b / 2 % rays.legs][b % 2];
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            const vec origin = vec_of(ray->org_x[lane], ray->org_y[lane], ray->org_z[lane]),
                      direction = vec_of(ray->dir_x[lane], ray->dir_y[lane], ray->dir_z[lane]);
            cast_hit hit = {0};
            if (given->kind == SCENARIO_MISS) continue;
            if (given->kind == SCENARIO_GIVEN) {
                /* where the ray meets the plane of the hit; a plane it cannot meet is taken at the point's height */
                const double approach = vec_dot(direction, given->normal);
                const vec to_point = vec_sub(given->point, origin);
                hit.distance = fabs(approach) > 1e-3 ? vec_dot(to_point, given->normal) / approach : vec_dot(to_point, direction);
                hit.normal = given->normal, hit.body = given->body;
            } else if (!cast_ray(s, frame->bodies, origin, direction, ray->tfar[lane], &hit)) {
                continue;
            }
            ray->tfar[lane] = (float)hit.distance, ray->geomID[lane] = hit.body;
            ray->Ng_x[lane] = (float)hit.normal.x, ray->Ng_y[lane] = (float)hit.normal.y, ray->Ng_z[lane] = (float)hit.normal.z;
        }
    }
}

/* A root that stands on what is below it, as a capsule does that steps up. */
static vec root_on_ground(scenario *s, const scenario_body *bodies) {
    const double step_up = s->params.step_up / s->unit, step_down = s->params.step_down / s->unit;
    const vec root = vec_add(track_vec_now(&s->root_position), vec_scale(s->up, s->ground_lift));
    cast_hit hit;
    if (s->on_ground && cast_ray(s, bodies, vec_add(root, vec_scale(s->up, step_up)), vec_scale(s->up, -1), step_up + step_down, &hit))
        s->ground_lift += step_up - hit.distance;
    return vec_add(track_vec_now(&s->root_position), vec_scale(s->up, s->ground_lift));
}

int scenario_next(scenario *s, scenario_frame *frame, io_error *error) {
    s->error = error;
    if (s->repeated == s->repeat) {
        if (s->index > 0) ++s->entry;
        if (s->entry >= json_array_size(s->frames)) return 0;
        if (!begin_entry(s)) return -1;
    }
    const uint32_t k = s->repeated, repeat = s->repeat;
    const double time = s->entry_time, dt = s->dt > 0 && s->dt < 1e6 ? s->dt : 0;
    memset(frame, 0, sizeof *frame);
    track_step(&s->root_position, k, repeat, time, dt), rotation_step(&s->root_rotation, k, repeat, time, dt);
    track_step(&s->pelvis_position, k, repeat, time, dt), rotation_step(&s->pelvis_rotation, k, repeat, time, dt);
    track_step(&s->weight, k, repeat, time, dt);
    for (uint32_t i = 0; i < s->body_count; ++i) {
        body_entry *body = s->bodies + i;
        track_step(&body->position, k, repeat, time, dt), rotation_step(&body->rotation, k, repeat, time, dt);
        frame->bodies[i] = (scenario_body){track_vec_now(&body->position), body->rotation.now, body->generation};
    }
    frame->bodies[s->body_count].rotation = TURN_NONE;
    frame->body_count = s->body_count ? s->body_count + 1 : 0;
    for (uint32_t i = 0; i < frame->body_count; ++i)
        frame->crowd_bodies[i] =
            (phx_body){single3(frame->bodies[i].position), single4(frame->bodies[i].rotation), frame->bodies[i].generation};

    frame->index = s->index, frame->dt = (float)s->dt, frame->time = s->time + dt;
    frame->root_position = single3(root_on_ground(s, frame->bodies)), frame->root_rotation = single4(s->root_rotation.now);
    frame->weight = (float)s->weight.now[0];
    frame->flags = s->entry_flags;
    if (k > 0) frame->flags &= ~(uint32_t)PHX_CHARACTER_TELEPORT;
    frame->flags |= PHX_CHARACTER_LOD(s->lod);
    frame->has_support = s->has_support;
    for (uint32_t j = 0; j < 2 + 4 * s->leg_count; ++j) frame->pose[j] = (phx_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    frame->pose[SCENARIO_PELVIS].translation = single3(track_vec_now(&s->pelvis_position));
    frame->pose[SCENARIO_PELVIS].rotation = single4(s->pelvis_rotation.now);
    for (uint32_t i = 0; i < s->leg_count; ++i) {
        leg_entry *leg = s->legs + i;
        track_step(&leg->ankle, k, repeat, time, dt), rotation_step(&leg->ankle_rotation, k, repeat, time, dt);
        track_step(&leg->support, k, repeat, time, dt);
        frame->support[i] = (float)leg->support.now[0];
        for (int end = 0; end < 2; ++end) {
            hit_track *hit = leg->hit + end;
            track_step(&hit->point, k, repeat, time, dt), track_step(&hit->normal, k, repeat, time, dt);
            frame->hits[i][end] = hit->now;
            frame->hits[i][end].point = track_vec_now(&hit->point), frame->hits[i][end].normal = track_vec_now(&hit->normal);
        }
        if (!pose_leg(s, i, frame->pose)) return -1;
    }
    ++s->repeated, ++s->index;
    s->entry_time += dt, s->time += dt;
    return 1;
}
