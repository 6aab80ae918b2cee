/* Joint limits: how far a joint may turn from its rest pose. Used inside the chain solvers, and alone on any joint rotation.
 *
 * A limit looks at the joint's local rotation (from its own frame to its parent's) against the rest pose: d = rest* local, the
 * turn since rest, seen in the joint's rest frame. It is split into swing after twist, d = swing twist, where the twist turns
 * about `axis` and the swing about a direction at right angles to it; there are no Euler angles and no order of axes.
 *
 * HINGE    only the twist about `axis` remains, clamped to [min, max].
 * CONE     the swing turns at most by `max_swing` in every direction; the twist is clamped to [twist_min, twist_max].
 * ELLIPSE  the swing turns at most by `max_swing` about `side` and by `max_swing_across` about axis x side, between them by the
 *          ellipse of the tangents of a quarter of the angles, onto which swings outside go by about the shortest way; the twist as for
 *          a cone.
 *
 * A range is an interval of angles that may pass pi, such as [0, 3.5] or [2, 5]; a rotation outside it goes to the nearer end. */
#ifndef PHALANX_LIMIT_H
#define PHALANX_LIMIT_H

#include "backend.h"

PHX_EXTERN_C_BEGIN

typedef enum phx_limit_type {
    PHX_LIMIT_NONE = 0,
    PHX_LIMIT_HINGE = 1,
    PHX_LIMIT_CONE = 2,
    PHX_LIMIT_ELLIPSE = 3
} phx_limit_type;

/* An all-zero limit limits nothing, except that `rest` must be a rotation where the type is not NONE. */
typedef struct phx_limit {
    phx_limit_type type;
    phx_quat rest;               /* the joint's local rotation in the rest pose; normalised by the library */
    phx_vec3 axis;               /* hinge: the axis; else: the twist axis, most often along the bone. Joint's rest frame, of a length
                                    between 1e-12 and 1e12 */
    phx_vec3 side;               /* ellipse only: first swing axis, made orthogonal to `axis` */
    float min, max;              /* hinge: radians, min <= max <= min + 2 pi, both within [-2 pi, 2 pi] */
    float max_swing;             /* cone, ellipse: radians in [0, pi] */
    float max_swing_across;      /* ellipse: radians in [0, pi] */
    float twist_min, twist_max;  /* cone, ellipse: radians, as min and max; [-pi, pi] leaves the twist free */
} phx_limit;

PHX_API phx_limit phx_limit_none(void);
/* `rest` identity; change it where the joint's rest rotation is another one. */
PHX_API phx_limit phx_limit_hinge(phx_vec3 axis, float min, float max);
/* Twist free. */
PHX_API phx_limit phx_limit_cone(phx_vec3 axis, float max_swing);
PHX_API phx_limit phx_limit_ellipse(phx_vec3 axis, phx_vec3 side, float max_swing, float max_swing_across);

/* NaN, an axis without length, min > max, a range wider than a full turn, a swing outside [0, pi]: what is wrong, in words. */
PHX_API phx_status phx_limit_validate(const phx_limit *limit, phx_report *report);

/* Applies one limit to `count` local rotations. `local` and `limited` (quat) may be the same array. `changed` (uint32, may be
 * absent) is 1 where the limit changed the rotation, else 0, and then the bits are the input's. A rotation that is not finite
 * or has no length is passed through unchanged. An output that overlaps the other output, or another element's `local`, is an
 * error, whatever the strides. On error nothing is written. */
PHX_API phx_status phx_limit_apply(const phx_backend *backend, const phx_limit *limit, size_t count, phx_view local, phx_view limited,
                                   phx_view changed, phx_report *report);

PHX_EXTERN_C_END
#endif
