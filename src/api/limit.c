/* Joint limits, public face: makers, validation, and the constants that lanes work with. The work is in kernel/limit.inl. */
#include "../backend/ops.h"
#include "../reference/scalar.h"
#include "limit.h"
#include "report.h"

static const float pi = 3.14159274101257f; /* the float nearest to pi */

phx_limit phx_limit_none(void) {
    phx_limit limit;
    memset(&limit, 0, sizeof limit);
    limit.rest.w = 1.0f;
    limit.axis.x = 1.0f, limit.side.y = 1.0f;
    limit.min = limit.twist_min = -pi, limit.max = limit.twist_max = pi;
    limit.max_swing = limit.max_swing_across = pi;
    return limit;
}

phx_limit phx_limit_hinge(phx_vec3 axis, float min, float max) {
    phx_limit limit = phx_limit_none();
    limit.type = PHX_LIMIT_HINGE;
    limit.axis = axis, limit.min = min, limit.max = max;
    return limit;
}

phx_limit phx_limit_cone(phx_vec3 axis, float max_swing) {
    phx_limit limit = phx_limit_none();
    limit.type = PHX_LIMIT_CONE;
    limit.axis = axis, limit.max_swing = max_swing;
    return limit;
}

phx_limit phx_limit_ellipse(phx_vec3 axis, phx_vec3 side, float max_swing, float max_swing_across) {
    phx_limit limit = phx_limit_none();
    limit.type = PHX_LIMIT_ELLIPSE;
    limit.axis = axis, limit.side = side, limit.max_swing = max_swing, limit.max_swing_across = max_swing_across;
    return limit;
}

/* squares of usable lengths, which NaN and infinity fail */
static int usable(float squared) { return 1e-24f < squared && squared < 1e24f; }

static phx_status check_span(const char *name, const char *low_name, const char *high_name, float low, float high, phx_report *report) {
    const float turn = 2.0f * pi + 1e-5f; /* ends that were rounded to float are still a full turn */
    phx_status status = phx_check_range(name, low_name, low, -turn, turn, report);
    if (!status) status = phx_check_range(name, high_name, high, -turn, turn, report);
    if (status) return status;
    if (low > high) return phx_reject(report, PHX_ERROR_VALUE, "%s: '%s' is %g, above '%s', which is %g", name, low_name, (double)low, high_name, (double)high);
    if (high - low > turn)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: '%s' to '%s' is %g wide, more than a full turn", name, low_name, high_name, (double)(high - low));
    return PHX_OK;
}

phx_status phx_limit_check(const char *name, const phx_limit *limit, phx_report *report) {
    if (limit->type == PHX_LIMIT_NONE) return PHX_OK;
    if (limit->type != PHX_LIMIT_HINGE && limit->type != PHX_LIMIT_CONE && limit->type != PHX_LIMIT_ELLIPSE)
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'type' is %d, none of phx_limit_type (0 to 3)", name, (int)limit->type);
    if (!usable(dot4(limit->rest, limit->rest)))
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'rest' is (%g %g %g %g), no rotation: start from phx_limit_none(), or set it to (0 0 0 1)", name,
                          (double)limit->rest.x, (double)limit->rest.y, (double)limit->rest.z, (double)limit->rest.w);
    if (!usable(dot3(limit->axis, limit->axis)))
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'axis' is (%g %g %g): give it a length between 1e-12 and 1e12", name, (double)limit->axis.x,
                          (double)limit->axis.y, (double)limit->axis.z);
    if (limit->type == PHX_LIMIT_HINGE) return check_span(name, "min", "max", limit->min, limit->max, report);
    phx_status status = check_span(name, "twist_min", "twist_max", limit->twist_min, limit->twist_max, report);
    if (!status) status = phx_check_range(name, "max_swing", limit->max_swing, 0.0f, pi, report);
    if (status || limit->type == PHX_LIMIT_CONE) return status;
    status = phx_check_range(name, "max_swing_across", limit->max_swing_across, 0.0f, pi, report);
    if (status) return status;
    const phx_vec3 across = cross3(limit->axis, limit->side);
    if (!usable(dot3(limit->side, limit->side)) ||
        !(dot3(across, across) > 1e-6f * dot3(limit->axis, limit->axis) * dot3(limit->side, limit->side)))
        return phx_reject(report, PHX_ERROR_VALUE, "%s: 'side' is (%g %g %g), which has no length or lies along 'axis'", name, (double)limit->side.x,
                          (double)limit->side.y, (double)limit->side.z);
    return PHX_OK;
}

static phx_vec3 unit(phx_vec3 a) { return scale3(a, 1.0f / length3(a)); }

/* the tangent of a quarter of an angle in [0, pi]; never 0, since the lanes divide by it: 1e-6 is 0.0002 degrees */
static float tangent_of_quarter(float angle) {
    float sine, cosine;
    sincos1(0.25f * angle, &sine, &cosine);
    return max1(sine / cosine, 1e-6f);
}

phx_limit_setup phx_limit_prepare(const phx_limit *limit) {
    phx_limit_setup setup;
    memset(&setup, 0, sizeof setup);
    setup.type = (uint32_t)limit->type;
    setup.rest = quat_identity();
    if (limit->type == PHX_LIMIT_NONE) return setup;
    setup.rest = normalize4(limit->rest);
    setup.axis = unit(limit->axis);
    const int hinge = limit->type == PHX_LIMIT_HINGE, ellipse = limit->type == PHX_LIMIT_ELLIPSE;
    const float low = hinge ? limit->min : limit->twist_min, high = hinge ? limit->max : limit->twist_max;
    setup.twist_free = high - low >= 2.0f * pi - 1e-5f;
    sincos1(0.25f * (low + high), &setup.middle_sin, &setup.middle_cos);
    sincos1(min1(0.25f * (high - low), 0.5f * pi), &setup.range_sin, &setup.range_cos);
    const phx_vec3 spare = fabsf(setup.axis.x) <= fabsf(setup.axis.y) ? vec3(1.0f, 0.0f, 0.0f) : vec3(0.0f, 1.0f, 0.0f);
    const phx_vec3 aside = unit(reject3(ellipse ? unit(limit->side) : spare, setup.axis));
    setup.side = ellipse ? unit(reject3(aside, setup.axis)) : aside; /* twice: a side close to the axis leaves little, with its rounding */
    setup.across = cross3(setup.axis, setup.side);
    setup.tan_side = hinge ? 1.0f : tangent_of_quarter(limit->max_swing); /* a hinge's swing is nobody's business, and may be anything */
    setup.tan_across = ellipse ? tangent_of_quarter(limit->max_swing_across) : setup.tan_side;
    setup.slack = ellipse ? 4e-7f : 0.0f;
    setup.narrow = min1(setup.tan_side, setup.tan_across) / max1(setup.tan_side, setup.tan_across);
    setup.evolute = (1.0f - setup.narrow) * (1.0f + setup.narrow);
    setup.inverse_side = 1.0f / setup.tan_side, setup.inverse_across = 1.0f / setup.tan_across;
    return setup;
}

phx_status phx_limit_validate(const phx_limit *limit, phx_report *report) {
    if (!limit) return phx_reject(report, PHX_ERROR_NULL, "limit: the limit is NULL");
    const phx_status status = phx_limit_check("limit", limit, report);
    return status ? status : phx_accept(report);
}

phx_status phx_limit_apply(const phx_backend *backend, const phx_limit *limit, size_t count, phx_view local, phx_view limited,
                           phx_view changed, phx_report *report) {
    static const char name[] = "limit";
    if (!backend) return phx_reject(report, PHX_ERROR_NULL, "%s: 'backend' is NULL", name);
    phx_status status = phx_limit_validate(limit, report);
    if (status) return status;
    if (count > SIZE_MAX / 2) return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %zu, more than memory can hold", name, count);
    if (count == 0) return phx_accept(report);
    const phx_field fields[] = {{"local", &local, 16, 1, 0}, {"limited", &limited, 16, 1, 1}, {"changed", &changed, 4, 0, 1}};
    status = phx_check_fields(name, fields, sizeof fields / sizeof *fields, count, report);
    if (!status) status = phx_check_overlap(name, fields, sizeof fields / sizeof *fields, count, report);
    if (status) return status;
    const phx_limit_setup setup = phx_limit_prepare(limit);
    backend->limit_apply(&setup, count, local, limited, changed);
    return phx_accept(report);
}
