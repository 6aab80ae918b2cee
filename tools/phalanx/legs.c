/* Finding legs by names, by shape, or as told. */
#define _DEFAULT_SOURCE
#include "legs.h"

#include "../io/joint_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rest pose and what the search needs to know of each joint's subtree. */
typedef struct body {
    const io_character *character;
    double (*at)[3];
    io_joint_role *role;
    int32_t *first_child, *next_sibling; /* -1: none */
    int32_t *low_ends;                   /* leaves near the ground in the subtree, itself included */
    double *highest;                     /* of the subtree */
    double ground, height;               /* lowest joint, and how far the highest is above it */
} body;

static double distance(const body *b, int32_t from, int32_t to) {
    double d[3];
    for (int k = 0; k < 3; ++k) d[k] = b->at[to][k] - b->at[from][k];
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static bool is_ancestor(const body *b, int32_t above, int32_t joint) {
    while (joint > above) joint = b->character->joints[joint].parent;
    return joint == above;
}

static body measure(const io_character *character, size_t clip) {
    size_t count = character->joint_count;
    body b = {.character = character, .ground = INFINITY};
    b.at = io_allocate(count, sizeof *b.at);
    b.role = io_allocate(count, sizeof *b.role);
    b.first_child = io_allocate(count, sizeof *b.first_child);
    b.next_sibling = io_allocate(count, sizeof *b.next_sibling);
    b.low_ends = io_allocate(count, sizeof *b.low_ends);
    b.highest = io_allocate(count, sizeof *b.highest);
    io_transform *locals = io_allocate(count, sizeof *locals);
    double(*matrices)[12] = io_allocate(count, sizeof *matrices);
    io_character_sample(character, clip, 0, locals);
    io_character_world(character, locals, matrices);
    double top = -INFINITY;
    for (size_t j = 0; j < count; ++j) {
        for (int k = 0; k < 3; ++k) b.at[j][k] = matrices[j][4 * k + 3];
        b.role[j] = io_joint_role_of(character->joints[j].name);
        b.highest[j] = b.at[j][1];
        int32_t parent = character->joints[j].parent;
        b.first_child[j] = -1;
        /* carriers above the skeleton stand at the origin, wherever the body is */
        if (!character->joints[j].skeletal && (parent < 0 || !character->joints[parent].skeletal)) continue;
        b.ground = fmin(b.ground, b.at[j][1]);
        top = fmax(top, b.at[j][1]);
    }
    b.height = top - b.ground;
    for (size_t j = count; j-- > 0;) {
        if (b.first_child[j] < 0) b.low_ends[j] = b.at[j][1] <= b.ground + 0.15 * b.height;
        int32_t parent = character->joints[j].parent;
        if (parent < 0) continue;
        b.next_sibling[j] = b.first_child[parent];
        b.first_child[parent] = (int32_t)j;
        b.low_ends[parent] += b.low_ends[j];
        b.highest[parent] = fmax(b.highest[parent], b.highest[j]);
    }
    free(matrices);
    free(locals);
    return b;
}

static void forget(body *b) {
    free(b->at);
    free(b->role);
    free(b->first_child);
    free(b->next_sibling);
    free(b->low_ends);
    free(b->highest);
}

/* The joint after `at` in a walk over the subtree of `top`, parents first; -1 at its end. */
static int32_t next_below(const body *b, int32_t top, int32_t at) {
    if (b->first_child[at] >= 0) return b->first_child[at];
    while (at != top && b->next_sibling[at] < 0) at = b->character->joints[at].parent;
    return at == top ? -1 : b->next_sibling[at];
}

/* The ball: the first joint below the ankle that is called so, else the longest way on from the ankle that is a joint. */
static int32_t find_ball(const body *b, int32_t ankle) {
    const io_joint *joints = b->character->joints;
    int32_t way_on = -1;
    for (int32_t j = next_below(b, ankle, ankle); j >= 0; j = next_below(b, ankle, j)) {
        if (joints[j].skeletal && b->role[j] == IO_ROLE_BALL) return j;
    }
    for (int32_t j = b->first_child[ankle]; j >= 0; j = b->next_sibling[j]) {
        if (!joints[j].skeletal || b->role[j] == IO_ROLE_HELPER || b->role[j] == IO_ROLE_ARM) continue;
        if (way_on < 0 || distance(b, ankle, j) > distance(b, ankle, way_on)) way_on = j;
    }
    return way_on;
}

static int32_t find_tip(const body *b, int32_t below, int32_t ankle) {
    int32_t tip = -1;
    for (int32_t j = next_below(b, below, below); j >= 0; j = next_below(b, below, j)) {
        if (b->first_child[j] < 0 && (tip < 0 || distance(b, ankle, j) > distance(b, ankle, tip))) tip = j;
    }
    return tip;
}

static leg make_leg(const body *b, int32_t hip, int32_t knee, int32_t ankle) {
    leg made = {.hip = hip, .knee = knee, .ankle = ankle};
    made.ball = find_ball(b, ankle);
    made.tip = find_tip(b, made.ball >= 0 ? made.ball : ankle, ankle);
    made.side = 0;
    const int32_t joints[] = {hip, knee, ankle};
    for (int k = 0; k < 3 && made.side == 0; ++k) made.side = io_joint_side_of(b->character->joints[joints[k]].name);
    made.upper_length = distance(b, hip, knee);
    made.lower_length = distance(b, knee, ankle);
    return made;
}

static bool shares_joints(const body *b, const legs *found, int32_t hip) {
    for (size_t i = 0; i < found->count; ++i) {
        if (is_ancestor(b, found->leg[i].hip, hip) || is_ancestor(b, hip, found->leg[i].hip)) return true;
    }
    return false;
}

static void find_by_names(const body *b, legs *found) {
    for (int32_t j = 0; j < (int32_t)b->character->joint_count && found->count < LEGS_MOST; ++j) {
        if (b->role[j] != IO_ROLE_ANKLE || !b->character->joints[j].skeletal) continue;
        int32_t knee = b->character->joints[j].parent;
        while (knee >= 0 && b->role[knee] != IO_ROLE_KNEE) knee = b->character->joints[knee].parent;
        int32_t hip = knee >= 0 ? b->character->joints[knee].parent : -1;
        while (hip >= 0 && b->role[hip] != IO_ROLE_HIP) hip = b->character->joints[hip].parent;
        if (hip < 0 || shares_joints(b, found, hip) || !(distance(b, hip, knee) > 0 && distance(b, knee, j) > 0)) continue;
        found->leg[found->count++] = make_leg(b, hip, knee, j);
    }
}

/* One limb from `top` down to the ground: hip, knee, ankle are its first three joints once short or sideways stubs at the top
 * (a hip joint beside the pelvis) and joints in the same place have been passed over. */
static bool limb_to_leg(const body *b, int32_t top, leg *made) {
    int32_t chain[64];
    int count = 0;
    for (int32_t at = top; at >= 0 && count < 64;) {
        chain[count++] = at;
        int32_t next = -1;
        for (int32_t j = b->first_child[at]; j >= 0; j = b->next_sibling[j]) {
            if (b->low_ends[j] > 0 && (next < 0 || distance(b, at, j) > distance(b, at, next))) next = j;
        }
        at = next;
    }
    double total = 0;
    for (int i = 0; i + 1 < count; ++i) total += distance(b, chain[i], chain[i + 1]);
    int hip = 0;
    for (; hip + 1 < count; ++hip) {
        double length = distance(b, chain[hip], chain[hip + 1]), drop = b->at[chain[hip]][1] - b->at[chain[hip + 1]][1];
        if (length >= 0.15 * total && (drop >= 0.5 * length || length >= 0.3 * total)) break;
        total -= length;
    }
    int knee = hip + 1;
    while (knee < count && distance(b, chain[hip], chain[knee]) < 0.1 * total) ++knee;
    int ankle = knee + 1;
    while (ankle < count && distance(b, chain[knee], chain[ankle]) < 0.1 * total) ++ankle;
    if (ankle >= count || !b->character->joints[chain[ankle]].skeletal) return false;
    *made = make_leg(b, chain[hip], chain[knee], chain[ankle]);
    double length = made->upper_length + made->lower_length, drop = b->at[made->hip][1] - b->at[made->ankle][1];
    return length > 0.15 * b->height && drop > 0.4 * length;
}

/* Limbs that hang: nothing in them is higher than where they start, and something in them is near the ground. */
static void find_by_shape(const body *b, legs *found) {
    const io_joint *joints = b->character->joints;
    for (int32_t j = 0; j < (int32_t)b->character->joint_count && found->count < LEGS_MOST; ++j) {
        if (b->low_ends[j] == 0 || b->role[j] == IO_ROLE_HELPER || !joints[j].skeletal) continue;
        if (b->highest[j] > b->at[j][1] + 0.05 * b->height) continue;
        /* a joint whose limbs part well above the ground holds several legs: its children are looked at instead */
        int32_t at = j, parts = 1;
        while (parts == 1) {
            int32_t next = -1;
            parts = 0;
            for (int32_t c = b->first_child[at]; c >= 0; c = b->next_sibling[c]) {
                if (b->low_ends[c] == 0) continue;
                ++parts;
                next = c;
            }
            if (parts == 1) at = next;
        }
        if (parts > 1 && b->at[at][1] - b->ground > 0.45 * (b->at[j][1] - b->ground)) continue;
        leg candidate;
        if (!shares_joints(b, found, j) && limb_to_leg(b, j, &candidate) && !shares_joints(b, found, candidate.hip))
            found->leg[found->count++] = candidate;
    }
}

/* Of legs found by shape only those stay that have a partner of like length across the body. */
static void keep_pairs(const body *b, legs *found) {
    bool keep[LEGS_MOST] = {false};
    for (size_t i = 0; i < found->count; ++i) {
        for (size_t k = 0; k < found->count; ++k) {
            const leg *p = &found->leg[i], *q = &found->leg[k];
            double mine = p->upper_length + p->lower_length, other = q->upper_length + q->lower_length;
            if (i == k || fabs(mine - other) > 0.1 * mine || fabs(b->at[p->hip][1] - b->at[q->hip][1]) > 0.1 * b->height) continue;
            if (p->side == 0 || q->side == 0 || p->side != q->side) keep[i] = true;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < found->count; ++i) {
        if (keep[i]) found->leg[kept++] = found->leg[i];
    }
    found->count = kept;
}

/* Where the toes point, on the ground plane; +Z where they do not say. */
static void forward_of(const body *b, const legs *found, double forward[3]) {
    forward[0] = forward[1] = forward[2] = 0;
    for (size_t i = 0; i < found->count; ++i) {
        int32_t end = found->leg[i].tip >= 0 ? found->leg[i].tip : found->leg[i].ball;
        if (end < 0) continue;
        forward[0] += b->at[end][0] - b->at[found->leg[i].ankle][0];
        forward[2] += b->at[end][2] - b->at[found->leg[i].ankle][2];
    }
    double length = sqrt(forward[0] * forward[0] + forward[2] * forward[2]);
    if (length < 0.02 * b->height) {
        forward[0] = 0;
        forward[2] = length = 1;
    }
    forward[0] /= length;
    forward[2] /= length;
}

static double along(const body *b, int32_t joint, const double direction[3]) {
    return b->at[joint][0] * direction[0] + b->at[joint][1] * direction[1] + b->at[joint][2] * direction[2];
}

static int by_pair_and_side(const void *a, const void *b) {
    const leg *p = a, *q = b;
    if (p->front != q->front) return p->front - q->front;
    if (p->side != q->side) return p->side == 'l' ? -1 : 1;
    return (p->hip > q->hip) - (p->hip < q->hip);
}

static void label(const body *b, legs *found, io_notes *notes) {
    double forward[3], middle = 0, nearest = INFINITY, furthest = -INFINITY;
    forward_of(b, found, forward);
    const double left[3] = {forward[2], 0, -forward[0]}; /* up x forward */
    double centre = 0;
    for (size_t i = 0; i < found->count; ++i) centre += along(b, found->leg[i].hip, left) / (double)found->count;
    for (size_t i = 0; i < found->count; ++i) {
        leg *one = &found->leg[i];
        if (one->side == 0) one->side = along(b, one->hip, left) >= centre ? 'l' : 'r';
        nearest = fmin(nearest, along(b, one->hip, forward));
        furthest = fmax(furthest, along(b, one->hip, forward));
    }
    middle = (nearest + furthest) / 2;
    bool named = false;
    for (size_t i = 0; i < found->count; ++i) named |= b->role[found->leg[i].hip] == IO_ROLE_ARM;
    for (size_t i = 0; i < found->count && found->count > 2; ++i) {
        leg *one = &found->leg[i];
        one->front = named ? b->role[one->hip] == IO_ROLE_ARM : along(b, one->hip, forward) > middle + 0.05 * b->height;
    }
    qsort(found->leg, found->count, sizeof *found->leg, by_pair_and_side);
    for (size_t i = 0; i + 1 < found->count; i += 2) {
        const leg *p = &found->leg[i], *q = &found->leg[i + 1];
        double apart = fabs(p->upper_length + p->lower_length - q->upper_length - q->lower_length);
        if (apart > 0.002)
            io_note(notes, "left and right %slegs differ by %.0f mm in length", found->count > 2 ? p->front ? "front " : "hind " : "",
                    apart * 1000);
    }
    for (size_t i = 0; i < found->count; ++i) {
        if (found->leg[i].ball < 0) {
            io_note(notes, "leg '%s' has no ball joint%s", b->character->joints[found->leg[i].hip].name,
                    found->leg[i].tip >= 0 ? "; the end below its ankle stands in for the toes" : "; its foot is a point");
        }
    }
}

static bool take_given(const body *b, const char *given, legs *found, io_error *error) {
    const io_character *character = b->character;
    char *copy = io_copy_text(given), *rest = copy;
    bool good = true;
    for (char *one; good && (one = strsep(&rest, ";")) != NULL;) {
        if (*one == 0) continue;
        int32_t joint[4] = {-1, -1, -1, -1};
        int count = 0;
        for (char *name; good && (name = strsep(&one, ",")) != NULL; ++count) {
            if (count == 4)
                good = io_fail(error, "--legs: '%s' names more than hip, knee, ankle and ball for one leg; put ';' between legs", given);
            else if ((joint[count] = io_character_find_joint(character, name)) < 0)
                good = io_fail(error, "--legs: %s has no joint '%s'; `phalanx inspect` lists its joints", character->path, name);
            else if (count > 0 && !(joint[count - 1] < joint[count] && is_ancestor(b, joint[count - 1], joint[count])))
                good = io_fail(error, "--legs: '%s' does not hang below '%s' in %s; give hip, knee, ankle, ball from the top", name,
                               character->joints[joint[count - 1]].name, character->path);
        }
        if (good && count < 3)
            good = io_fail(error, "--legs: each leg needs hip, knee and ankle, separated by commas; '%s' names too few", given);
        if (good && found->count == LEGS_MOST) good = io_fail(error, "--legs: at most %d legs can be given", LEGS_MOST);
        if (good && shares_joints(b, found, joint[0]))
            good = io_fail(error, "--legs: '%s' hangs above or below the hip of another leg in %s; legs must hang side by side",
                           character->joints[joint[0]].name, character->path);
        if (!good) break;
        leg made = make_leg(b, joint[0], joint[1], joint[2]);
        if (count == 4) {
            made.ball = joint[3];
            made.tip = find_tip(b, made.ball, made.ankle);
        }
        if (!(made.upper_length > 0 && made.lower_length > 0))
            good = io_fail(error, "--legs: '%s' has a bone of no length in %s", character->joints[joint[0]].name, character->path);
        found->leg[found->count++] = made;
    }
    if (good && found->count == 0) good = io_fail(error, "--legs: is empty; give hip,knee,ankle[,ball] for each leg, ';' between legs");
    free(copy);
    return good;
}

bool legs_find(const io_character *character, const char *given, legs *found, io_notes *notes, io_error *error) {
    *found = (legs){0};
    /* far beyond any body; the search compares joints with joints */
    if (character->joint_count > 4096 && given == NULL) {
        io_note(notes, "legs are not looked for among %zu joints; --legs hip,knee,ankle[,ball];... names them", character->joint_count);
        return true;
    }
    body b = measure(character, SIZE_MAX);
    bool good = true;
    if (given != NULL) {
        good = take_given(&b, given, found, error);
    } else {
        find_by_names(&b, found);
        size_t named = found->count;
        find_by_shape(&b, found);
        if (named >= 2) {
            /* names have told the legs: by shape only an animal's front legs are added, not capes and tails */
            size_t kept = named;
            for (size_t i = named; i < found->count; ++i) {
                if (b.role[found->leg[i].hip] == IO_ROLE_ARM) found->leg[kept++] = found->leg[i];
            }
            found->count = kept;
        } else {
            keep_pairs(&b, found);
        }
        if (found->count == 0 && character->clip_count > 0) {
            /* a rest pose may lie down or be folded; the first frame of the first clip seldom is */
            forget(&b);
            b = measure(character, 0);
            find_by_shape(&b, found);
            keep_pairs(&b, found);
        }
        if (found->count == 0) io_note(notes, "no legs were found; --legs hip,knee,ankle[,ball];... names them");
        else if (named < 2) io_note(notes, "legs were found by shape, as names do not tell them; --legs settles it");
        if (found->count % 2 == 1) io_note(notes, "an odd number of legs was found; --legs settles it");
    }
    if (good) label(&b, found, notes);
    forget(&b);
    return good;
}

const char *leg_side_name(const leg *leg) { return leg->side == 'r' ? "right" : "left"; }
