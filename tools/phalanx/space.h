/* Vectors and rotations in double precision for the tools' own forward kinematics and measures, kept apart from the library's
 * lanes on purpose: what is judged here must not come from what is judged. Conventions as in phalanx/base.h. */
#ifndef PHALANX_TOOLS_SPACE_H
#define PHALANX_TOOLS_SPACE_H

#include <math.h>

typedef struct vec {
    double x, y, z;
} vec;

/* x y z w. */
typedef struct turn {
    double x, y, z, w;
} turn;

#define TURN_NONE ((turn){0, 0, 0, 1})

static inline vec vec_of(double x, double y, double z) { return (vec){x, y, z}; }
static inline vec vec_add(vec a, vec b) { return vec_of(a.x + b.x, a.y + b.y, a.z + b.z); }
static inline vec vec_sub(vec a, vec b) { return vec_of(a.x - b.x, a.y - b.y, a.z - b.z); }
static inline vec vec_scale(vec a, double s) { return vec_of(a.x * s, a.y * s, a.z * s); }
static inline vec vec_times(vec a, vec b) { return vec_of(a.x * b.x, a.y * b.y, a.z * b.z); }
static inline double vec_dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec vec_cross(vec a, vec b) { return vec_of(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
static inline double vec_length(vec a) { return sqrt(vec_dot(a, a)); }
static inline vec vec_unit(vec a) { return vec_scale(a, 1 / vec_length(a)); }

static inline turn turn_times(turn a, turn b) {
    return (turn){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
static inline turn turn_back(turn q) { return (turn){-q.x, -q.y, -q.z, q.w}; }
/* q v q*, without assuming that q is unit: a rotation that is not shows in the lengths it makes. */
static inline vec turn_vec(turn q, vec v) {
    turn r = turn_times(turn_times(q, (turn){v.x, v.y, v.z, 0}), turn_back(q));
    return vec_of(r.x, r.y, r.z);
}
static inline turn turn_about(vec axis, double angle) {
    double s = sin(angle / 2);
    return (turn){axis.x * s, axis.y * s, axis.z * s, cos(angle / 2)};
}
static inline turn turn_x(double angle) { return turn_about(vec_of(1, 0, 0), angle); }
static inline turn turn_y(double angle) { return turn_about(vec_of(0, 1, 0), angle); }
static inline turn turn_z(double angle) { return turn_about(vec_of(0, 0, 1), angle); }

/* The rotation that takes X, Y, Z to these orthonormal axes (Shepperd 1978). */
static inline turn turn_from_axes(vec x, vec y, vec z) {
    turn q;
    if (x.x + y.y + z.z > 0) {
        double s = 2 * sqrt(1 + x.x + y.y + z.z);
        q = (turn){(y.z - z.y) / s, (z.x - x.z) / s, (x.y - y.x) / s, s / 4};
    } else if (x.x >= y.y && x.x >= z.z) {
        double s = 2 * sqrt(1 + x.x - y.y - z.z);
        q = (turn){s / 4, (y.x + x.y) / s, (z.x + x.z) / s, (y.z - z.y) / s};
    } else if (y.y >= z.z) {
        double s = 2 * sqrt(1 + y.y - x.x - z.z);
        q = (turn){(y.x + x.y) / s, s / 4, (z.y + y.z) / s, (z.x - x.z) / s};
    } else {
        double s = 2 * sqrt(1 + z.z - x.x - y.y);
        q = (turn){(z.x + x.z) / s, (z.y + y.z) / s, s / 4, (x.y - y.x) / s};
    }
    return q;
}

#endif
