/* A character from a BVH recording. The format is two pages long, and reading it here rather than through a general importer
 * buys what recordings in the wild need: messages with a line, double precision, any order of channels, frame counts that do
 * not match their header, and no trust in that header when memory is taken. */
#include "reader.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct bvh_joint {
    uint32_t channel_count;
    uint8_t channel[9]; /* 0 1 2: X Y Z position, 3 4 5: X Y Z rotation, in the file's order */
    bool is_end;
    bool has_offset;
    double offset[3];
} bvh_joint;

typedef struct bvh_text {
    const char *path;
    const char *at, *end;
    uint32_t line;
    io_error *error;
} bvh_text;

static bool complain(const bvh_text *text, const char *what) {
    if (text->at >= text->end)
        return io_fail(text->error, "%s: is cut short: it ends in line %u where %s should stand", text->path, text->line, what);
    char found[64] = "";
    for (size_t i = 0; i < sizeof found - 1 && text->at + i < text->end && !isspace((unsigned char)text->at[i]); ++i)
        found[i] = text->at[i];
    return io_fail(text->error, "%s: line %u has '%s' where %s should stand; it is no BVH or is damaged", text->path, text->line, found,
                   what);
}

static void skip_space(bvh_text *text) {
    for (; text->at < text->end && isspace((unsigned char)*text->at); ++text->at) text->line += *text->at == '\n';
}

static bool take_word(bvh_text *text, const char *word) {
    skip_space(text);
    size_t length = strlen(word);
    if ((size_t)(text->end - text->at) < length || strncasecmp(text->at, word, length) != 0) return false;
    const char *after = text->at + length;
    if (after < text->end && isalnum((unsigned char)*after) && isalnum((unsigned char)after[-1])) return false;
    text->at = after;
    return true;
}

/* The file ends in a zero byte (io_read_file), so that strtod stops. Where it fails, text->at is the word that is no such number. */
static bool take_number(bvh_text *text, double *number) {
    skip_space(text);
    char *after = NULL;
    if (text->at >= text->end) return false;
    *number = strtod(text->at, &after);
    if (after == text->at || (after < text->end && !isspace((unsigned char)*after) && *after != '{' && *after != '}')) return false;
    if (!(fabs(*number) < 1e9)) return false;
    text->at = after;
    return true;
}

static bool take_whole(bvh_text *text, double least, double most, double *number) {
    skip_space(text);
    const char *start = text->at;
    if (take_number(text, number) && *number >= least && *number <= most && *number == floor(*number)) return true;
    text->at = start;
    return false;
}

/* A joint's name is the rest of its line: names with spaces exist ("Bip01 L Thigh"). */
static char *take_name(bvh_text *text) {
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t')) ++text->at;
    const char *start = text->at;
    while (text->at < text->end && *text->at != '\n' && *text->at != '\r' && *text->at != '{') ++text->at;
    const char *stop = text->at;
    while (stop > start && isspace((unsigned char)stop[-1])) --stop;
    size_t length = (size_t)(stop - start);
    return io_format_text("%.*s", length > 200 ? 200 : (int)length, start);
}

static bool take_channels(bvh_text *text, bvh_joint *joint) {
    static const char *const names[6] = {"Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"};
    double count;
    if (!take_whole(text, 0, 9, &count)) return complain(text, "a number of channels from 0 to 9");
    for (uint32_t c = 0; c < (uint32_t)count; ++c) {
        uint8_t which = 0;
        while (which < 6 && !take_word(text, names[which])) ++which;
        if (which == 6) return complain(text, "a channel such as Xposition or Zrotation");
        joint->channel[joint->channel_count++] = which;
    }
    return true;
}

static bool read_hierarchy(bvh_text *text, io_character *character, bvh_joint **joints, size_t *channel_total, io_error *error) {
    if (!take_word(text, "HIERARCHY")) return complain(text, "HIERARCHY");
    int32_t open = -1; /* the joint whose braces are open */
    size_t capacity = 0;
    for (;;) {
        skip_space(text);
        bool root = open < 0 && take_word(text, "ROOT"), end = false;
        if (open < 0 && !root) {
            if (take_word(text, "MOTION")) break;
            return complain(text, character->joint_count == 0 ? "ROOT" : "MOTION");
        }
        bool child = root || take_word(text, "JOINT");
        if (!child && take_word(text, "End")) end = child = take_word(text, "Site");
        if (child) {
            if (character->joint_count >= 65535) return io_fail(error, "%s: holds more than 65535 joints", text->path);
            char *name = end ? (skip_space(text), io_format_text("%s_End", character->joints[open].name)) : take_name(text);
            size_t index = character->joint_count;
            io_add_joint(character, name, open)->skeletal = !end;
            free(name);
            if (index == capacity) *joints = io_reallocate(*joints, capacity = capacity * 2 + 32, sizeof **joints);
            (*joints)[index] = (bvh_joint){.is_end = end}; /* NOLINT(clang-analyzer-core.NullDereference): its capacity is 0 at first */
            open = (int32_t)index;
            if (!take_word(text, "{")) return complain(text, "'{'");
        } else if (take_word(text, "OFFSET")) {
            for (int k = 0; k < 3; ++k) {
                if (!take_number(text, &(*joints)[open].offset[k])) return complain(text, "a number of an OFFSET, between -1e9 and 1e9,");
                character->joints[open].rest.translation[k] = (float)(*joints)[open].offset[k];
            }
            (*joints)[open].has_offset = true;
        } else if (take_word(text, "CHANNELS")) {
            if ((*joints)[open].channel_count > 0)
                return io_fail(error, "%s: line %u gives a joint its CHANNELS twice", text->path, text->line);
            if (!take_channels(text, &(*joints)[open])) return false;
            *channel_total += (*joints)[open].channel_count;
        } else if (take_word(text, "}")) {
            if (!(*joints)[open].has_offset)
                return io_fail(error, "%s: joint '%s' has no OFFSET", text->path, character->joints[open].name);
            open = character->joints[open].parent;
        } else {
            return complain(text, "OFFSET, CHANNELS, JOINT, End Site or '}'");
        }
    }
    return true;
}

/* Channels apply in the file's order, each in the frame the one before has turned: R = R1 R2 R3. */
static void frame_transform(const bvh_joint *joint, const double *values, double position[3], double q[4]) {
    q[0] = q[1] = q[2] = 0;
    q[3] = 1;
    for (uint32_t c = 0; c < joint->channel_count; ++c) {
        int which = joint->channel[c];
        if (which < 3) {
            position[which] = values[c];
            continue;
        }
        int axis = which - 3, next = (axis + 1) % 3, last = (axis + 2) % 3;
        double half = values[c] * (3.14159265358979323846 / 360), s = sin(half), k = cos(half);
        double turned[4];
        turned[axis] = q[axis] * k + q[3] * s;
        turned[next] = q[next] * k + q[last] * s;
        turned[last] = q[last] * k - q[next] * s;
        turned[3] = q[3] * k - q[axis] * s;
        memcpy(q, turned, sizeof turned);
    }
}

/* Largest turn of any joint from one frame to the next, radians. */
static double largest_turn(const io_clip *clip, uint32_t frame) {
    double largest = 0;
    for (size_t t = 0; t < clip->track_count; ++t) {
        const io_track *track = &clip->tracks[t];
        if (track->path != IO_ROTATION) continue;
        const float *a = track->values + 4 * (size_t)frame, *b = a + 4;
        double dot = fabs((double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3]);
        largest = fmax(largest, 2 * acos(fmin(dot, 1)));
    }
    return largest;
}

/* cgspeed's conversions of the CMU recordings start with an inserted T-pose. It shows as a jump of whole limbs (20 degrees
 * and more) in one frame, ten times what the next two frames turn. */
static void drop_inserted_pose(io_character *character, io_clip *clip) {
    if (clip->frames < 4) return;
    double jump = largest_turn(clip, 0), after = fmax(largest_turn(clip, 1), largest_turn(clip, 2));
    if (jump < 0.35 || jump < 10 * after) return;
    for (size_t t = 0; t < clip->track_count; ++t) {
        io_track *track = &clip->tracks[t];
        size_t width = track->path == IO_ROTATION ? 4 : 3;
        --track->count;
        memmove(track->values, track->values + width, (size_t)track->count * width * sizeof(float));
    }
    --clip->frames;
    io_note(&character->notes, "frame 0 is skipped: it is an inserted pose, %.0f degrees away from frame 1", jump * 57.29577951308232);
}

static bool read_motion(bvh_text *text, io_character *character, const bvh_joint *joints, size_t channel_total, io_error *error) {
    double frames_said = 0, frame_time = 0;
    if (!take_word(text, "Frames:")) return complain(text, "'Frames:'");
    if (!take_whole(text, 0, 1e9, &frames_said)) return complain(text, "a whole number of frames, below 1e9,");
    if (!take_word(text, "Frame") || !take_word(text, "Time:")) return complain(text, "'Frame Time:'");
    if (!take_number(text, &frame_time)) return complain(text, "the seconds from frame to frame, below 1e9,");
    if (frames_said == 0 || channel_total == 0) {
        io_note(&character->notes, "the file holds a skeleton without motion");
        return true;
    }
    if (!(frame_time > 1e-5)) {
        if (frames_said > 1)
            return io_fail(error, "%s: has a frame time of %g s; write the seconds from frame to frame there", text->path, frame_time);
        io_note(&character->notes, "the frame time is %g s; 30 frames a second is a guess", frame_time);
        frame_time = 1.0 / 30;
    }
    /* every value takes two bytes at least, which bounds the memory whatever the header says */
    double room = (double)(text->end - text->at) / 2 + 1;
    if (frames_said * (double)channel_total > room || frames_said > 1000000)
        return io_fail(error, "%s: is cut short: its header says %.0f frames of %zu values, which do not fit into it", text->path,
                       frames_said, channel_total);
    uint32_t frames = (uint32_t)frames_said;
    io_clip *clip = io_add_clip(character, NULL);
    free(clip->name);
    const char *slash = strrchr(text->path, '/'), *base = slash != NULL ? slash + 1 : text->path, *dot = strrchr(base, '.');
    clip->name = io_format_text("%.*s", (int)(dot != NULL && dot > base ? dot - base : (ptrdiff_t)strlen(base)), base);
    clip->frames = frames;
    for (size_t j = 0; j < character->joint_count; ++j) {
        bool moves = false, turns = false;
        for (uint32_t c = 0; c < joints[j].channel_count; ++c) *(joints[j].channel[c] < 3 ? &moves : &turns) = true;
        if (moves) io_add_track(clip, (uint32_t)j, IO_TRANSLATION, IO_LINEAR, frames);
        if (turns) io_add_track(clip, (uint32_t)j, IO_ROTATION, IO_LINEAR, frames);
    }
    double *values = io_allocate(channel_total, sizeof *values);
    for (uint32_t f = 0; f < frames; ++f) {
        for (size_t c = 0; c < channel_total; ++c) {
            if (take_number(text, &values[c])) continue;
            free(values);
            if (text->at < text->end) return complain(text, "a number between -1e9 and 1e9");
            return io_fail(error, "%s: is cut short: its header says %u frames, it ends in frame %u", text->path, frames, f);
        }
        size_t first = 0, t = 0;
        for (size_t j = 0; j < character->joint_count; ++j) {
            double position[3], rotation[4];
            memcpy(position, joints[j].offset, sizeof position);
            frame_transform(&joints[j], values + first, position, rotation);
            first += joints[j].channel_count;
            for (; t < clip->track_count && clip->tracks[t].joint == j; ++t) {
                io_track *track = &clip->tracks[t];
                size_t width = track->path == IO_ROTATION ? 4 : 3;
                track->times[f] = (float)(f * frame_time);
                for (size_t k = 0; k < width; ++k) track->values[f * width + k] = (float)(width == 4 ? rotation[k] : position[k]);
            }
        }
    }
    free(values);
    size_t extra = 0;
    for (double ignored; take_number(text, &ignored);) ++extra;
    if (text->at < text->end) return complain(text, "a number");
    if (extra > 0) {
        io_note(&character->notes, "the motion goes on after the %u frames its header says: %zu more values (%.3g frames) are left out",
                frames, extra, (double)extra / (double)channel_total);
    }
    drop_inserted_pose(character, clip);
    clip->frame_rate = 1 / frame_time;
    clip->seconds = (clip->frames - 1) * frame_time;
    return true;
}

bool io_read_bvh(io_reading *reading, const char *path, const uint8_t *data, size_t size, io_error *error) {
    bvh_text text = {.path = path, .at = (const char *)data, .end = (const char *)data + size, .line = 1, .error = error};
    if (size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) text.at += 3;
    bvh_joint *joints = NULL;
    size_t channel_total = 0;
    bool good = read_hierarchy(&text, reading->character, &joints, &channel_total, error) &&
                read_motion(&text, reading->character, joints, channel_total, error);
    free(joints);
    return good;
}
