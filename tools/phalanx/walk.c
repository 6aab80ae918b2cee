/* The procedural walker. All angles in radians, lengths in metres; the root frame moves forward (+Z) at WALK_SPEED, +X is left. */
#include "walk.h"

#include "../io/reader.h"
#include "space.h"

#define PI 3.14159265358979323846

static const double frame_rate = 60;
/* Macros, as the table of joints is made of them. */
#define THIGH        0.43
#define SHIN         0.42
#define HIP_BESIDE   0.095 /* from the pelvis joint */
#define HIP_BELOW    0.02
#define ANKLE_HEIGHT 0.085
#define BALL_HEIGHT  0.025
#define BALL_AHEAD   0.14

/* One cycle, as shares of it: the left heel lands at 0. */
static const double foot_flat = 0.11, heel_off = 0.36, toe_off = 0.60;
static const double landing_pitch = 0.30; /* toes up */
static const double pushing_pitch = 1.05; /* heel up, at toe-off */
static const double landing_ahead = 0.31; /* the heel before the root as it lands */
static const double swing_lift = 0.050;   /* added at mid swing, so that the toes clear the ground */
static const double pitch_settled = 0.80; /* of the swing: toes are up by then, ready to land */
static const double foot_beside = 0.085, toe_out = 0.10;
static const double longest_reach = 0.985; /* of the leg: the knee is never quite straight */

enum {
    ROOT,
    PELVIS,
    SPINE,
    CHEST,
    NECK,
    HEAD,
    LEFT_SHOULDER,
    LEFT_UPPER_ARM,
    LEFT_FOREARM,
    LEFT_HAND,
    RIGHT_SHOULDER,
    RIGHT_UPPER_ARM,
    RIGHT_FOREARM,
    RIGHT_HAND,
    LEFT_THIGH,
    LEFT_SHIN,
    LEFT_FOOT,
    LEFT_TOES,
    LEFT_TOES_END,
    RIGHT_THIGH,
    RIGHT_SHIN,
    RIGHT_FOOT,
    RIGHT_TOES,
    RIGHT_TOES_END,
    JOINTS
};

static const struct {
    const char *name;
    int parent;
    double at[3]; /* from the parent, in the rest pose: arms out, legs straight, every rotation the identity */
} body[JOINTS] = {
    {"root", -1, {0, 0, 0}},
    {"pelvis", ROOT, {0, ANKLE_HEIGHT + SHIN + THIGH + HIP_BELOW, 0}},
    {"spine", PELVIS, {0, 0.11, 0}},
    {"chest", SPINE, {0, 0.17, -0.01}},
    {"neck", CHEST, {0, 0.24, 0.01}},
    {"head", NECK, {0, 0.10, 0.015}},
    {"left_shoulder", CHEST, {0.05, 0.18, 0}},
    {"left_upper_arm", LEFT_SHOULDER, {0.13, 0, -0.01}},
    {"left_forearm", LEFT_UPPER_ARM, {0.28, 0, 0}},
    {"left_hand", LEFT_FOREARM, {0.25, 0, 0}},
    {"right_shoulder", CHEST, {-0.05, 0.18, 0}},
    {"right_upper_arm", RIGHT_SHOULDER, {-0.13, 0, -0.01}},
    {"right_forearm", RIGHT_UPPER_ARM, {-0.28, 0, 0}},
    {"right_hand", RIGHT_FOREARM, {-0.25, 0, 0}},
    {"left_thigh", PELVIS, {HIP_BESIDE, -HIP_BELOW, 0}},
    {"left_shin", LEFT_THIGH, {0, -THIGH, 0}},
    {"left_foot", LEFT_SHIN, {0, -SHIN, 0}},
    {"left_toes", LEFT_FOOT, {0, BALL_HEIGHT - ANKLE_HEIGHT, BALL_AHEAD}},
    {"left_toes_end", LEFT_TOES, {0, -0.01, 0.065}},
    {"right_thigh", PELVIS, {-HIP_BESIDE, -HIP_BELOW, 0}},
    {"right_shin", RIGHT_THIGH, {0, -THIGH, 0}},
    {"right_foot", RIGHT_SHIN, {0, -SHIN, 0}},
    {"right_toes", RIGHT_FOOT, {0, BALL_HEIGHT - ANKLE_HEIGHT, BALL_AHEAD}},
    {"right_toes_end", RIGHT_TOES, {0, -0.01, 0.065}},
};

/* 0 to 1 with no slope at either end. */
static double ease(double t) { return t * t * (3 - 2 * t); }

/* From a to b with slopes da and db (per unit of t), and no curvature at either end. */
static double quintic(double a, double da, double b, double db, double t) {
    double t3 = t * t * t, t4 = t3 * t, t5 = t4 * t;
    return a * (1 - 10 * t3 + 15 * t4 - 6 * t5) + da * (t - 6 * t3 + 8 * t4 - 3 * t5) + b * (10 * t3 - 15 * t4 + 6 * t5) +
           db * (-4 * t3 + 7 * t4 - 3 * t5);
}

/* A foot in the root frame. Feet travel straight along +Z though the toes point out: what stands moves exactly backward. */
typedef struct foot {
    double travel;        /* of the heel's landing place, along +Z */
    double ahead, height; /* of the ankle, from there, along the foot's own heading */
    double pitch;         /* positive lifts the heel */
    double toe_pitch;
} foot;

/* The foot while it stands, `p` of a cycle after its heel landed. */
static foot standing(double p) {
    const double carried = WALK_SPEED * WALK_FRAMES / frame_rate; /* ground covered in one cycle */
    foot f = {.travel = landing_ahead - carried * p};
    if (p < heel_off) {
        /* about the heel's contact, straight below the ankle */
        f.pitch = p < foot_flat ? -landing_pitch * (1 - ease(p / foot_flat)) : 0;
        f.ahead = ANKLE_HEIGHT * sin(f.pitch);
        f.height = ANKLE_HEIGHT * cos(f.pitch);
    } else {
        /* about the ball joint, the toes staying flat */
        double u = (p - heel_off) / (toe_off - heel_off), up = ANKLE_HEIGHT - BALL_HEIGHT;
        f.pitch = pushing_pitch * u * u;
        f.toe_pitch = -f.pitch;
        f.ahead = BALL_AHEAD - BALL_AHEAD * cos(f.pitch) + up * sin(f.pitch);
        f.height = BALL_HEIGHT + BALL_AHEAD * sin(f.pitch) + up * cos(f.pitch);
    }
    return f;
}

static foot foot_at(double p) {
    p -= floor(p);
    if (p < toe_off) return standing(p);
    /* the swing takes over position and speed at both ends */
    const double step = 1e-5, span = 1 - toe_off;
    foot a = standing(toe_off - step), b = standing(toe_off - 2 * step), c = standing(0), d = standing(step), f;
    double t = (p - toe_off) / span, slope = span / step, lift = t * t * (1 - t) * (1 - t) * 16 * swing_lift;
    f.travel = quintic(a.travel, (a.travel - b.travel) * slope, c.travel, (d.travel - c.travel) * slope, t);
    f.ahead = quintic(a.ahead, (a.ahead - b.ahead) * slope, c.ahead, (d.ahead - c.ahead) * slope, t);
    f.height = quintic(a.height, (a.height - b.height) * slope, c.height, (d.height - c.height) * slope, t) + lift;
    /* the landing pitch has no slope at either side */
    f.pitch = t < pitch_settled ? quintic(a.pitch, (a.pitch - b.pitch) * slope * pitch_settled, c.pitch, 0, t / pitch_settled) : c.pitch;
    /* toes stay level as they leave the ground, then straighten */
    f.toe_pitch = t < 0.7 ? -fmax(f.pitch, 0) * (1 - ease(t / 0.7)) : 0;
    return f;
}

/* The pelvis: height over the mean, to the left, and its rotation. Sways over the leg that stands, its leading hip forward. */
static void pelvis_at(double p, double *height, double *beside, turn *rotation) {
    *height = -0.018 * cos(4 * PI * (p - 0.05));
    *beside = 0.022 * sin(2 * PI * (p - 0.05));
    *rotation = turn_times(turn_y(-0.10 * cos(2 * PI * p)), turn_times(turn_z(0.045 * sin(2 * PI * (p - 0.05))), turn_x(0.03)));
}

/* World rotations of the leg's bones so that the ankle comes to `ankle`, which is in reach; the knee forward. */
static void solve_leg(vec hip, vec ankle, vec forward, turn *thigh_rotation, turn *shin_rotation) {
    vec axis = vec_sub(ankle, hip);
    double d = vec_length(axis), cosine = (THIGH * THIGH + d * d - SHIN * SHIN) / (2 * THIGH * d);
    axis = vec_scale(axis, 1 / d);
    vec bend = vec_unit(vec_sub(forward, vec_scale(axis, vec_dot(forward, axis))));
    vec knee = vec_add(hip, vec_scale(vec_add(vec_scale(axis, cosine), vec_scale(bend, sqrt(1 - cosine * cosine))), THIGH));
    vec hinge = vec_unit(vec_cross(bend, axis)), up = vec_unit(vec_sub(hip, knee));
    *thigh_rotation = turn_from_axes(hinge, up, vec_cross(hinge, up));
    up = vec_unit(vec_sub(knee, ankle));
    *shin_rotation = turn_from_axes(hinge, up, vec_cross(hinge, up));
}

static vec hip_of(double pelvis_height, double p, int side) {
    double height, beside;
    turn rotation;
    pelvis_at(p, &height, &beside, &rotation);
    vec hip = turn_vec(rotation, vec_of(side * HIP_BESIDE, -HIP_BELOW, 0));
    return vec_add(hip, vec_of(beside, pelvis_height + height, 0));
}

static vec ankle_of(double p, int side) {
    foot f = foot_at(side > 0 ? p : p + 0.5);
    return vec_add(turn_vec(turn_y(side * toe_out), vec_of(0, f.height, f.ahead)), vec_of(side * foot_beside, 0, f.travel));
}

/* The mean pelvis height at which the legs never reach farther than `longest_reach`. */
static double mean_pelvis_height(void) {
    double most = 2, reach = longest_reach * (THIGH + SHIN);
    for (int frame = 0; frame < WALK_FRAMES; ++frame) {
        for (int side = -1; side <= 1; side += 2) {
            double p = (double)frame / WALK_FRAMES;
            vec hip = hip_of(0, p, side), ankle = ankle_of(p, side);
            double x = hip.x - ankle.x, z = hip.z - ankle.z;
            most = fmin(most, ankle.y - hip.y + sqrt(reach * reach - x * x - z * z));
        }
    }
    return most;
}

static void pose_at(double p, double pelvis_height, vec *pelvis_place, turn local[JOINTS]) {
    for (int j = 0; j < JOINTS; ++j) local[j] = TURN_NONE;
    double height, beside, swing = cos(2 * PI * p);
    turn pelvis;
    pelvis_at(p, &height, &beside, &pelvis);
    *pelvis_place = vec_of(beside, pelvis_height + height, 0);
    local[PELVIS] = pelvis;
    /* shoulders turn against the hips and stay level; the head looks ahead */
    turn chest = turn_times(turn_y(0.09 * swing), turn_x(0.05));
    turn spine = turn_x(0.04), neck = turn_times(turn_y(0.03 * swing), turn_x(0.06));
    local[SPINE] = turn_times(turn_back(pelvis), spine);
    local[CHEST] = turn_times(turn_back(spine), chest);
    local[NECK] = turn_times(turn_back(chest), neck);
    local[HEAD] = turn_times(turn_back(neck), turn_x(0.02));
    for (int side = -1; side <= 1; side += 2) {
        /* the left arm is back when the left leg is forward; the elbow bends more in front */
        double back = side * swing, lift = 1.42;
        int upper = side > 0 ? LEFT_UPPER_ARM : RIGHT_UPPER_ARM, lower = side > 0 ? LEFT_FOREARM : RIGHT_FOREARM;
        local[upper] = turn_times(turn_x(0.36 * back - 0.02), turn_z(-side * lift));
        local[lower] = turn_y(-side * (0.34 - 0.18 * back));

        foot f = foot_at(side > 0 ? p : p + 0.5);
        vec hip = hip_of(pelvis_height, p, side), ankle = ankle_of(p, side),
            forward = turn_vec(turn_y(0.6 * side * toe_out), vec_of(0, 0, 1));
        turn thigh_rotation, shin_rotation, foot_rotation = turn_times(turn_y(side * toe_out), turn_x(f.pitch));
        solve_leg(hip, ankle, forward, &thigh_rotation, &shin_rotation);
        int first = side > 0 ? LEFT_THIGH : RIGHT_THIGH;
        local[first] = turn_times(turn_back(pelvis), thigh_rotation);
        local[first + 1] = turn_times(turn_back(thigh_rotation), shin_rotation);
        local[first + 2] = turn_times(turn_back(shin_rotation), foot_rotation);
        local[first + 3] = turn_x(f.toe_pitch);
    }
}

void walk_character(io_character *character) {
    *character = (io_character){.unit = 1};
    character->path = io_copy_text("the procedural walker");
    for (int j = 0; j < JOINTS; ++j) {
        io_joint *joint = io_add_joint(character, body[j].name, body[j].parent);
        joint->skeletal = true;
        for (int k = 0; k < 3; ++k) joint->rest.translation[k] = (float)body[j].at[k];
    }
    character->skeletal_count = JOINTS;
    io_clip *clip = io_add_clip(character, "walk");
    clip->frame_rate = frame_rate;
    clip->frames = WALK_FRAMES + 1;
    clip->seconds = WALK_FRAMES / frame_rate;
    io_add_track(clip, PELVIS, IO_TRANSLATION, IO_LINEAR, WALK_FRAMES + 1);
    for (int j = PELVIS; j < JOINTS; ++j) io_add_track(clip, (uint32_t)j, IO_ROTATION, IO_LINEAR, WALK_FRAMES + 1);
    io_track *place = &clip->tracks[0], *tracks = place; /* the rotation of joint j is track j: PELVIS is 1 */
    double pelvis_height = mean_pelvis_height();
    for (int frame = 0; frame <= WALK_FRAMES; ++frame) {
        turn local[JOINTS];
        vec at;
        pose_at((double)(frame % WALK_FRAMES) / WALK_FRAMES, pelvis_height, &at, local);
        float time = (float)(frame / frame_rate);
        place->times[frame] = time;
        place->values[3 * frame] = (float)at.x;
        place->values[3 * frame + 1] = (float)at.y;
        place->values[3 * frame + 2] = (float)at.z;
        for (int j = PELVIS; j < JOINTS; ++j) {
            tracks[j].times[frame] = time;
            float *q = &tracks[j].values[4 * frame];
            q[0] = (float)local[j].x, q[1] = (float)local[j].y, q[2] = (float)local[j].z, q[3] = (float)local[j].w;
        }
    }
}
