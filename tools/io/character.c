/* Loading a character of any format, sampling its clips and placing its joints in the world. */
#include "character.h"

#include "joint_names.h"
#include "reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

io_joint *io_add_joint(io_character *character, const char *name, int32_t parent) {
    size_t index = character->joint_count++;
    /* grown by doubling, at powers of two */
    if ((index & (index - 1)) == 0)
        character->joints = io_reallocate(character->joints, index == 0 ? 1 : index * 2, sizeof *character->joints);
    io_joint *joint = &character->joints[index];
    *joint = (io_joint){.parent = parent, .node = -1, .rest = IO_IDENTITY};
    joint->name = name != NULL && *name != 0 ? io_copy_text(name) : io_format_text("joint %zu", index);
    return joint;
}

io_clip *io_add_clip(io_character *character, const char *name) {
    size_t index = character->clip_count++;
    if ((index & (index - 1)) == 0)
        character->clips = io_reallocate(character->clips, index == 0 ? 1 : index * 2, sizeof *character->clips);
    io_clip *clip = &character->clips[index];
    *clip = (io_clip){0};
    clip->name = name != NULL && *name != 0 ? io_copy_text(name) : io_format_text("clip %zu", index);
    return clip;
}

io_track *io_add_track(io_clip *clip, uint32_t joint, io_path path, io_interpolation interpolation, uint32_t count) {
    size_t index = clip->track_count++, width = path == IO_ROTATION ? 4 : 3;
    if ((index & (index - 1)) == 0) clip->tracks = io_reallocate(clip->tracks, index == 0 ? 1 : index * 2, sizeof *clip->tracks);
    io_track *track = &clip->tracks[index];
    *track = (io_track){.joint = joint, .path = path, .interpolation = interpolation, .count = count};
    track->times = io_allocate(count, sizeof(float));
    track->values = io_allocate((size_t)count * width * (interpolation == IO_CUBICSPLINE ? 3 : 1), sizeof(float));
    return track;
}

bool io_time_clip(const char *path, io_clip *clip, io_error *error) {
    const uint32_t most_frames = 1000000;
    double last = 0, shortest = INFINITY;
    for (size_t t = 0; t < clip->track_count; ++t) {
        const io_track *track = &clip->tracks[t];
        for (uint32_t k = 1; k < track->count; ++k) {
            double step = (double)track->times[k] - (double)track->times[k - 1];
            if (step > 1e-4 && step < shortest) shortest = step;
        }
        if (track->count > 0) last = fmax(last, track->times[track->count - 1]);
    }
    /* Keys lie on the frames of whatever made them, so the closest pair tells its rate. A rate within 2 % of a whole number
     * is that number: key times are rounded floats. */
    double rate = shortest < 1 ? 1 / shortest : 30;
    if (fabs(rate - round(rate)) <= 0.02 * rate) rate = round(rate);
    if (rate > 240) rate = 60;
    clip->seconds = last;
    clip->frame_rate = rate;
    if (!(last * rate < most_frames)) {
        return io_fail(error, "%s: clip '%s' lasts %g s, more than %u frames; cut it to what is to be used", path, clip->name, last,
                       most_frames);
    }
    clip->frames = (uint32_t)floor(last * rate + 0.5) + 1;
    return true;
}

double io_decompose(const double m[16], io_transform *transform) {
    double axis[3][3], length[3];
    for (int c = 0; c < 3; ++c) {
        for (int r = 0; r < 3; ++r) axis[c][r] = m[4 * c + r];
        length[c] = sqrt(axis[c][0] * axis[c][0] + axis[c][1] * axis[c][1] + axis[c][2] * axis[c][2]);
        for (int r = 0; r < 3; ++r) axis[c][r] = length[c] > 0 ? axis[c][r] / length[c] : (double)(r == c);
    }
    double skew = 0;
    for (int c = 0; c < 3; ++c) {
        const double *a = axis[c], *b = axis[(c + 1) % 3];
        skew = fmax(skew, fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]));
    }
    double determinant = axis[0][0] * (axis[1][1] * axis[2][2] - axis[1][2] * axis[2][1]) -
                         axis[1][0] * (axis[0][1] * axis[2][2] - axis[0][2] * axis[2][1]) +
                         axis[2][0] * (axis[0][1] * axis[1][2] - axis[0][2] * axis[1][1]);
    if (determinant < 0) {
        length[0] = -length[0];
        for (int r = 0; r < 3; ++r) axis[0][r] = -axis[0][r];
    }
    /* rotation matrix to quaternion by its largest component (Shepperd 1978) */
    double x = axis[0][0], y = axis[1][1], z = axis[2][2], q[4];
    if (x + y + z > 0) {
        double s = 2 * sqrt(1 + x + y + z);
        q[3] = s / 4, q[0] = (axis[1][2] - axis[2][1]) / s, q[1] = (axis[2][0] - axis[0][2]) / s, q[2] = (axis[0][1] - axis[1][0]) / s;
    } else if (x >= y && x >= z) {
        double s = 2 * sqrt(fmax(1 + x - y - z, 1e-12));
        q[3] = (axis[1][2] - axis[2][1]) / s, q[0] = s / 4, q[1] = (axis[1][0] + axis[0][1]) / s, q[2] = (axis[2][0] + axis[0][2]) / s;
    } else if (y >= z) {
        double s = 2 * sqrt(fmax(1 + y - x - z, 1e-12));
        q[3] = (axis[2][0] - axis[0][2]) / s, q[0] = (axis[1][0] + axis[0][1]) / s, q[1] = s / 4, q[2] = (axis[2][1] + axis[1][2]) / s;
    } else {
        double s = 2 * sqrt(fmax(1 + z - x - y, 1e-12));
        q[3] = (axis[0][1] - axis[1][0]) / s, q[0] = (axis[2][0] + axis[0][2]) / s, q[1] = (axis[2][1] + axis[1][2]) / s, q[2] = s / 4;
    }
    for (int k = 0; k < 3; ++k) {
        transform->translation[k] = (float)m[12 + k];
        transform->scale[k] = (float)length[k];
    }
    for (int k = 0; k < 4; ++k) transform->rotation[k] = (float)q[k];
    io_normalise_rotation(transform->rotation);
    return skew;
}

bool io_normalise_rotation(float q[4]) {
    double length = sqrt((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3]);
    if (!(length > 1e-6) || !isfinite(length)) return false;
    for (int k = 0; k < 4; ++k) q[k] = (float)(q[k] / length);
    return true;
}

static void blend_rotations(const float a[4], const float b[4], double t, float out[4]) {
    double dot = (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3];
    double sign = dot < 0 ? -1 : 1, wa = 1 - t, wb = t;
    dot = fabs(dot);
    if (dot < 0.9999995) {
        double angle = acos(dot), over = 1 / sin(angle);
        wa = sin((1 - t) * angle) * over;
        wb = sin(t * angle) * over;
    }
    for (int k = 0; k < 4; ++k) out[k] = (float)(wa * a[k] + sign * wb * b[k]);
    io_normalise_rotation(out);
}

static void sample_track(const io_track *track, double time, io_transform *local) {
    size_t width = track->path == IO_ROTATION ? 4 : 3;
    float *out = track->path == IO_TRANSLATION ? local->translation : track->path == IO_ROTATION ? local->rotation : local->scale;
    /* `before`: the last key at or before `time` */
    uint32_t before = 0, after = track->count;
    if (after == 0) return;
    while (after - before > 1) {
        uint32_t middle = before + (after - before) / 2;
        if (track->times[middle] <= time) before = middle;
        else after = middle;
    }
    bool cubic = track->interpolation == IO_CUBICSPLINE;
    size_t stride = cubic ? 3 * width : width, value = cubic ? width : 0;
    const float *a = track->values + before * stride;
    if (before + 1 >= track->count || time <= track->times[before] || track->interpolation == IO_STEP) {
        memcpy(out, a + value, width * sizeof(float));
        if (width == 4) io_normalise_rotation(out);
        return;
    }
    const float *b = a + stride;
    double span = (double)track->times[before + 1] - (double)track->times[before], t = (time - track->times[before]) / span;
    if (cubic) {
        /* glTF 2.0, appendix C.5: Hermite spline with tangents per second */
        double t2 = t * t, t3 = t2 * t;
        for (size_t k = 0; k < width; ++k) {
            out[k] = (float)((2 * t3 - 3 * t2 + 1) * a[width + k] + span * (t3 - 2 * t2 + t) * a[2 * width + k] +
                             (-2 * t3 + 3 * t2) * b[width + k] + span * (t3 - t2) * b[k]);
        }
        if (width == 4 && !io_normalise_rotation(out)) memcpy(out, a + value, width * sizeof(float));
    } else if (width == 4) {
        blend_rotations(a, b, t, out);
    } else {
        for (size_t k = 0; k < width; ++k) out[k] = (float)((1 - t) * a[k] + t * b[k]);
    }
}

void io_character_sample(const io_character *character, size_t clip, double time, io_transform *locals) {
    for (size_t j = 0; j < character->joint_count; ++j) locals[j] = character->joints[j].rest;
    if (clip >= character->clip_count) return;
    for (size_t t = 0; t < character->clips[clip].track_count; ++t) {
        const io_track *track = &character->clips[clip].tracks[t];
        sample_track(track, time, &locals[track->joint]);
    }
}

io_transform io_character_root(const io_character *character) {
    io_transform root = IO_IDENTITY;
    for (int k = 0; k < 3; ++k) root.scale[k] = (float)character->unit;
    if (character->z_up) {
        /* a quarter turn about X takes +Z to +Y */
        root.rotation[0] = -0.70710678118654752f;
        root.rotation[3] = 0.70710678118654752f;
    }
    return root;
}

static void local_matrix(const io_transform *t, double m[12]) {
    double x = t->rotation[0], y = t->rotation[1], z = t->rotation[2], w = t->rotation[3];
    double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
                      {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
                      {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) m[4 * i + j] = r[i][j] * t->scale[j];
        m[4 * i + 3] = t->translation[i];
    }
}

void io_character_world(const io_character *character, const io_transform *locals, double (*matrices)[12]) {
    double unit = character->unit;
    const double turned[12] = {unit, 0, 0, 0, 0, 0, unit, 0, 0, -unit, 0, 0}, upright[12] = {unit, 0, 0, 0, 0, unit, 0, 0, 0, 0, unit, 0};
    for (size_t j = 0; j < character->joint_count; ++j) {
        int32_t parent = character->joints[j].parent;
        const double *above = parent >= 0 ? matrices[parent] : character->z_up ? turned : upright;
        double local[12], *world = matrices[j];
        local_matrix(&locals[j], local);
        for (int i = 0; i < 3; ++i) {
            for (int k = 0; k < 4; ++k) {
                world[4 * i + k] = above[4 * i] * local[k] + above[4 * i + 1] * local[4 + k] + above[4 * i + 2] * local[8 + k] +
                                   (k == 3 ? above[4 * i + 3] : 0);
            }
        }
    }
}

int32_t io_character_find_joint(const io_character *character, const char *name) {
    for (int pass = 0; pass < 3; ++pass) {
        for (size_t j = 0; j < character->joint_count; ++j) {
            const io_joint *joint = &character->joints[j];
            const char *colon = strrchr(joint->name, ':');
            if (pass == 2 ? colon != NULL && strcmp(colon + 1, name) == 0
                          : (joint->skeletal || pass == 1) && strcmp(joint->name, name) == 0)
                return (int32_t)j;
        }
    }
    return -1;
}

bool io_character_find_clip(const io_character *character, const char *name, size_t *clip, io_error *error) {
    *clip = 0;
    if (name == NULL) return true;
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t c = 0; c < character->clip_count; ++c) {
            const char *whole = character->clips[c].name, *bar = strrchr(whole, '|');
            if (pass == 1 && bar == NULL) continue;
            if (strcmp(pass == 0 ? whole : bar + 1, name) == 0) {
                *clip = c;
                return true;
            }
        }
    }
    char list[512] = "";
    for (size_t c = 0; c < character->clip_count; ++c) {
        size_t used = strlen(list);
        if (used + strlen(character->clips[c].name) + 8 > sizeof list) {
            strcat(list, " ...");
            break;
        }
        strcat(strcat(list, c > 0 ? ", " : ""), character->clips[c].name);
    }
    return io_fail(error, "%s: has no clip '%s'; it has %s", character->path, name, character->clip_count > 0 ? list : "none");
}

/* The largest side of the box around the rest pose, in file units: about its height for a biped in any usual rest pose, its
 * length for a quadruped. */
static double rest_size(const io_character *character, double (*matrices)[12]) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t j = 0; j < character->joint_count; ++j) {
        for (int k = 0; k < 3; ++k) {
            low[k] = fmin(low[k], matrices[j][4 * k + 3]);
            high[k] = fmax(high[k], matrices[j][4 * k + 3]);
        }
    }
    return fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
}

static void settle_unit(io_reading *reading, double size) {
    /* metres, centimetres, inches, the unit of the CMU recordings as BVH (1 / 0.45 inch), millimetres: in the order of how
     * common each is, and far enough apart that few bodies fit two */
    static const struct {
        double unit;
        const char *name;
    } candidates[] = {
        {1, "metres"}, {0.01, "centimetres"}, {0.0254, "inches"}, {0.056444, "1/0.45 inch (CMU recordings)"}, {0.001, "millimetres"}};
    io_character *character = reading->character;
    /* a format's own unit stands unless it makes a mouse or a house; recordings without one are of people */
    double least = reading->likely_unit > 0 ? 0.25 : 0.9, most = reading->likely_unit > 0 ? 4 : 2.7;
    if (reading->likely_unit > 0) {
        character->unit = reading->likely_unit;
        double in_metres = size * reading->likely_unit;
        if (!(size > 0) || (in_metres >= 0.1 && in_metres <= 10)) return;
    }
    size_t best = 0;
    double nearest = INFINITY;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; ++i) {
        double in_metres = size * candidates[i].unit;
        double away = in_metres >= least && in_metres <= most ? -1 : fabs(log(in_metres / 1.7));
        if (away < nearest) {
            nearest = away;
            best = i;
        }
        if (away < 0) break;
    }
    if (!(size > 0)) best = 0;
    character->unit = candidates[best].unit;
    io_note(&character->notes, "the unit is a guess: %s (%g m), as the rest pose then measures %.3g m; --unit settles it",
            candidates[best].name, candidates[best].unit, size * candidates[best].unit);
}

/* Z is up where the legs hang along it: seen from the feet, the hips lie further along Z than along Y. */
static void settle_up(io_reading *reading, double (*matrices)[12]) {
    io_character *character = reading->character;
    if (reading->up_known) return;
    double feet[3] = {0}, hips[3] = {0};
    size_t foot_count = 0, hip_count = 0;
    for (size_t j = 0; j < character->joint_count; ++j) {
        io_joint_role role = io_joint_role_of(character->joints[j].name);
        bool foot = role == IO_ROLE_ANKLE, hip = role == IO_ROLE_HIP;
        for (int k = 0; k < 3; ++k) {
            feet[k] += foot ? matrices[j][4 * k + 3] : 0;
            hips[k] += hip ? matrices[j][4 * k + 3] : 0;
        }
        foot_count += foot;
        hip_count += hip;
    }
    if (foot_count == 0 || hip_count == 0) return;
    double y = hips[1] / (double)hip_count - feet[1] / (double)foot_count, z = hips[2] / (double)hip_count - feet[2] / (double)foot_count;
    if (z > 2 * fabs(y)) {
        character->z_up = true;
        io_note(&character->notes, "up is a guess: Z, as the legs hang along it; --up settles it");
    }
}

bool io_character_load(const char *path, const io_character_options *options, io_character *character, io_error *error) {
    *character = (io_character){.unit = 1};
    uint8_t *data = NULL;
    size_t size = 0;
    if (!io_read_file(path, &data, &size, error)) return false;
    character->path = io_copy_text(path);
    io_reading reading = {.character = character};
    bool read;
    if (size == 0) read = io_fail(error, "%s: is empty; give a GLB, glTF, BVH, FBX or DAE file", path);
    else if (io_has_extension(path, ".glb") || io_has_extension(path, ".gltf") || (size >= 4 && memcmp(data, "glTF", 4) == 0))
        read = io_read_gltf(&reading, path, data, size, error);
    else if (io_has_extension(path, ".bvh")) read = io_read_bvh(&reading, path, data, size, error);
    else {
        read = io_read_assimp(&reading, path, data, size, error);
        if (!read && !io_has_extension(path, ".fbx") && !io_has_extension(path, ".dae"))
            io_fail(error, "%s: is no character that can be read; give a GLB, glTF, BVH, FBX or DAE file", path);
    }
    free(data);
    for (size_t j = 0; read && j < character->joint_count; ++j) character->skeletal_count += character->joints[j].skeletal;
    if (read && character->skeletal_count == 0) {
        read = io_fail(error, "%s: holds no joints (no skin, no animated node); give a file with a skeleton", path);
    }
    if (!read) {
        io_character_free(character);
        return false;
    }
    io_transform *locals = io_allocate(character->joint_count, sizeof *locals);
    double(*matrices)[12] = io_allocate(character->joint_count, sizeof *matrices);
    bool z_up = character->z_up;
    character->z_up = false;
    io_character_sample(character, SIZE_MAX, 0, locals);
    io_character_world(character, locals, matrices);
    character->z_up = z_up;
    if (options->unit > 0) {
        character->unit = options->unit;
    } else {
        settle_unit(&reading, rest_size(character, matrices));
    }
    if (options->up != 0) {
        character->z_up = options->up == 'z';
    } else {
        settle_up(&reading, matrices);
    }
    free(locals);
    free(matrices);
    return true;
}

void io_character_free(io_character *character) {
    for (size_t j = 0; j < character->joint_count; ++j) free(character->joints[j].name);
    for (size_t c = 0; c < character->clip_count; ++c) {
        io_clip *clip = &character->clips[c];
        for (size_t t = 0; t < clip->track_count; ++t) {
            free(clip->tracks[t].times);
            free(clip->tracks[t].values);
        }
        free(clip->tracks);
        free(clip->name);
    }
    free(character->joints);
    free(character->clips);
    free(character->path);
    io_notes_free(&character->notes);
    *character = (io_character){0};
}
