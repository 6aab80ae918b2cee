/* Reading parts and sides of a leg from joint names. */
#include "joint_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* The words of a name, lower case: split at anything but letters, at "aB" and at "ABc" (LHipJoint: l hip joint). */
typedef struct words {
    char letters[128]; /* all letters, without the gaps */
    char word[24][20];
    int count;
} words;

static void split(const char *name, words *w) {
    const char *colon = strrchr(name, ':');
    if (colon != NULL) name = colon + 1;
    size_t letters = 0, filled = 0;
    w->count = 0;
    memset(w->word, 0, sizeof w->word);
    for (size_t i = 0; name[i] != 0; ++i) {
        unsigned char c = (unsigned char)name[i], next = (unsigned char)name[i + 1];
        unsigned char previous = i > 0 ? (unsigned char)name[i - 1] : 0;
        bool starts = isalpha(c) && filled > 0 && isupper(c) && (islower(previous) || (isupper(previous) && islower(next)));
        if ((!isalpha(c) || starts) && filled > 0) {
            filled = 0;
            if (w->count < 23) ++w->count;
        }
        if (!isalpha(c)) continue;
        if (filled + 1 < sizeof w->word[0]) w->word[w->count][filled++] = (char)tolower(c);
        if (letters + 1 < sizeof w->letters) w->letters[letters++] = (char)tolower(c);
    }
    if (filled > 0) ++w->count;
    w->letters[letters] = 0;
}

static bool has_word(const words *w, const char *word) {
    for (int i = 0; i < w->count; ++i) {
        if (strcmp(w->word[i], word) == 0) return true;
    }
    return false;
}

static bool has_any(const words *w, const char *const *parts) {
    for (; *parts != NULL; ++parts) {
        if (strstr(w->letters, *parts) != NULL) return true;
    }
    return false;
}

char io_joint_side_of(const char *name) {
    words w;
    split(name, &w);
    if (has_word(&w, "l") || has_word(&w, "left") || has_word(&w, "lft") || strstr(w.letters, "left") != NULL) return 'l';
    if (has_word(&w, "r") || has_word(&w, "right") || has_word(&w, "rgt") || strstr(w.letters, "right") != NULL) return 'r';
    return 0;
}

io_joint_role io_joint_role_of(const char *name) {
    static const char *const helper[] = {"twist",    "roll", "ctrl",   "control", "target", "pole", "effector",
                                         "footstep", "nub",  "socket", "weapon",  "slot",   NULL};
    static const char *const arm[] = {"arm", "hand", "finger", "shoulder", "clavicle", "collar", "elbow", "wrist", "thumb", NULL};
    static const char *const ball[] = {"toe", "forefoot", NULL};
    static const char *const ankle[] = {"foot", "ankle", NULL};
    static const char *const hip[] = {"thigh", "upleg", "upperleg", "legupper", "legup", "femur", NULL};
    static const char *const knee[] = {"calf", "shin", "knee", "lowerleg", "lowleg", "leglower", "leglow", NULL};
    words w;
    split(name, &w);
    if (has_any(&w, helper) || has_word(&w, "ik") || has_word(&w, "end") || has_word(&w, "heel")) return IO_ROLE_HELPER;
    if (has_any(&w, ball) || has_word(&w, "ball") || strstr(w.letters, "footthumb") != NULL) return IO_ROLE_BALL;
    if (has_any(&w, ankle)) return IO_ROLE_ANKLE;
    if (has_any(&w, arm)) return IO_ROLE_ARM;
    if (has_any(&w, hip)) return IO_ROLE_HIP;
    if (has_any(&w, knee)) return IO_ROLE_KNEE;
    /* a bare "hip" has a side, else it is the pelvis; a bare "leg" is the lower one (LeftUpLeg, LeftLeg) */
    if (strstr(w.letters, "hip") != NULL && strstr(w.letters, "hips") == NULL && io_joint_side_of(name) != 0) return IO_ROLE_HIP;
    if (strstr(w.letters, "leg") != NULL) return IO_ROLE_KNEE;
    return IO_ROLE_NONE;
}
