/* Joint limits alone: against an independent swing-twist in double precision, at the edges of their ranges, and bit for bit on
 * every backend. */
#include "support.h"

static const double PI = 3.14159265358979323846;

typedef struct dquat {
    double x, y, z, w;
} dquat;

static dquat dmul(dquat a, dquat b) {
    return (dquat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
                   a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
static dquat dconj(dquat a) { return (dquat){-a.x, -a.y, -a.z, a.w}; }
static dquat wide(phx_quat q) {
    const double l = sqrt((double)q.x * q.x + (double)q.y * q.y + (double)q.z * q.z + (double)q.w * q.w);
    return (dquat){q.x / l, q.y / l, q.z / l, q.w / l};
}
static void drotate(dquat q, const double v[3], double out[3]) {
    const dquat r = dmul(dmul(q, (dquat){v[0], v[1], v[2], 0}), dconj(q));
    out[0] = r.x, out[1] = r.y, out[2] = r.z;
}
static dquat about(const double axis[3], double angle) {
    return (dquat){axis[0] * sin(angle / 2), axis[1] * sin(angle / 2), axis[2] * sin(angle / 2), cos(angle / 2)};
}
static phx_quat narrow(dquat q) { return (phx_quat){(float)q.x, (float)q.y, (float)q.z, (float)q.w}; }
static void unit3(phx_vec3 v, double out[3]) {
    const double l = sqrt((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
    out[0] = v.x / l, out[1] = v.y / l, out[2] = v.z / l;
}
static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Swing and twist found by geometry, not by the formula of the library: the swing angle is the angle between the axis and its
 * image; the twist is what remains after the shortest arc that makes that swing is undone. */
static void split(dquat local, phx_quat rest, const double axis[3], double *swing, double swing_axis[3], double *twist) {
    const dquat d = dmul(dconj(wide(rest)), local);
    double image[3];
    drotate(d, axis, image);
    const double c = fmax(-1, fmin(1, dot(axis, image)));
    double n[3] = {axis[1] * image[2] - axis[2] * image[1], axis[2] * image[0] - axis[0] * image[2], axis[0] * image[1] - axis[1] * image[0]};
    const double s = sqrt(dot(n, n));
    *swing = atan2(s, c);
    for (int k = 0; k < 3; ++k) swing_axis[k] = s > 1e-12 ? n[k] / s : 0;
    const dquat t = dmul(dconj(about(swing_axis, *swing)), d);
    const double v[3] = {t.x, t.y, t.z};
    *twist = 2 * atan2(dot(v, axis), t.w);
}

/* how far `angle` lies outside [low, high], angles being equal modulo a full turn */
static double outside(double angle, double low, double high) {
    double least = 1e9;
    for (int turn = -3; turn <= 3; ++turn) {
        const double a = angle + turn * 2 * PI;
        least = fmin(least, a < low ? low - a : a > high ? a - high : 0);
    }
    return least;
}

static phx_quat apply(const phx_backend *backend, const phx_limit *limit, phx_quat q, uint32_t *changed) {
    phx_quat out;
    uint32_t flag;
    phx_report report;
    const phx_status status = phx_limit_apply(backend, limit, 1, PHX_VIEW_ARRAY(&q), PHX_VIEW_ARRAY(&out), PHX_VIEW_ARRAY(&flag), &report);
    if (status) print_error("%s\n", report.text);
    assert_int_equal(status, PHX_OK);
    if (changed) *changed = flag;
    return out;
}

static phx_limit random_limit(random_state *r) {
    phx_limit limit = phx_limit_none();
    limit.rest = random_rotation(r);
    limit.axis = random_direction(r), limit.side = random_direction(r);
    limit.type = (phx_limit_type)(1 + random_below(r, 3));
    const float low = random_float(r, -6.2f, 6.2f), width = random_below(r, 4) ? random_float(r, 0, 6.2f) : random_below(r, 2) ? 0.0f : 6.2831853f;
    limit.min = limit.twist_min = fmaxf(-6.2831853f, fminf(low, 6.2831853f - width));
    limit.max = limit.twist_max = limit.min + width;
    limit.max_swing = random_below(r, 6) ? random_float(r, 0, 3.14159f) : random_below(r, 2) ? 0.0f : 3.14159274f;
    limit.max_swing_across = random_below(r, 6) ? random_float(r, 0, 3.14159f) : random_below(r, 2) ? 0.0f : 3.14159274f;
    return limit;
}

/* distance from a point to an ellipse with the half axes a, b */
static double from_ellipse(double a, double b, const double at[2]) {
    enum { STEPS = 400 };
    double best = 0, least = 1e9;
    for (int k = 0; k <= STEPS; ++k) {
        const double t = k * PI / 2 / STEPS, d = hypot(a * cos(t) - fabs(at[0]), b * sin(t) - fabs(at[1]));
        if (d < least) least = d, best = t;
    }
    double low = fmax(best - PI / STEPS, 0), high = fmin(best + PI / STEPS, PI / 2);
    for (int k = 0; k < 60; ++k) {
        const double s = low + (high - low) / 3, t = high - (high - low) / 3;
        if (hypot(a * cos(s) - fabs(at[0]), b * sin(s) - fabs(at[1])) < hypot(a * cos(t) - fabs(at[0]), b * sin(t) - fabs(at[1]))) high = t;
        else low = s;
    }
    return hypot(a * cos(low) - fabs(at[0]), b * sin(low) - fabs(at[1]));
}

static void limited_rotations_obey_an_independent_swing_twist(void **state) {
    (void)state;
    random_state r = random_seeded("limits against geometry", 0x11A1);
    double worst_twist = 0, worst_swing = 0;
    for (int k = 0; k < 20000; ++k) {
        const phx_limit limit = random_limit(&r);
        const phx_quat q = random_rotation(&r);
        uint32_t changed;
        const phx_quat out = apply(phx_backend_find("reference"), &limit, q, &changed);
        double axis[3], n[3], swing, twist, swing_before, twist_before;
        unit3(limit.axis, axis);
        split(wide(out), limit.rest, axis, &swing, n, &twist);
        const dquat o = {out.x, out.y, out.z, out.w};
        assert_true(fabs(o.x * o.x + o.y * o.y + o.z * o.z + o.w * o.w - 1) < 1e-5);
        assert_true(o.x * (double)q.x + o.y * (double)q.y + o.z * (double)q.z + o.w * (double)q.w >= -1e-6); /* of it and its negative the one nearer to q */
        double before_n[3];
        split(wide(q), limit.rest, axis, &swing_before, before_n, &twist_before);
        if (limit.type == PHX_LIMIT_HINGE) {
            worst_swing = fmax(worst_swing, swing);
            worst_twist = fmax(worst_twist, outside(twist, limit.min, limit.max));
            if (swing_before < 3.0 && outside(twist_before, limit.min, limit.max) == 0)
                assert_true(fabs(remainder(twist - twist_before, 2 * PI)) < 1e-4 / cos(swing_before / 2)); /* the hinge's own angle stays */
            continue;
        }
        /* near a half turn of swing the split of twist is ill-defined: skip what the bound of 1e-4 cannot mean */
        const int ends_folded = swing > PI - 0.05;
        if (!ends_folded) worst_twist = fmax(worst_twist, outside(twist, limit.twist_min, limit.twist_max));
        if (limit.type == PHX_LIMIT_CONE) {
            worst_swing = fmax(worst_swing, swing - limit.max_swing);
            if (swing_before > limit.max_swing + 1e-3 && swing > 1e-2) assert_true(dot(n, before_n) > 1 - 1e-3); /* nearest: same direction */
        } else {
            double side[3], across[3];
            unit3(limit.side, side);
            const double along = dot(side, axis);
            for (int c = 0; c < 3; ++c) side[c] -= along * axis[c];
            const double l = sqrt(dot(side, side));
            for (int c = 0; c < 3; ++c) side[c] /= l;
            across[0] = axis[1] * side[2] - axis[2] * side[1], across[1] = axis[2] * side[0] - axis[0] * side[2];
            across[2] = axis[0] * side[1] - axis[1] * side[0];
            const double a = tan(swing / 4) * dot(n, side), b = tan(swing / 4) * dot(n, across);
            const double at[2] = {a, b}, ta = fmax(tan(limit.max_swing / 4), 1e-6), tb = fmax(tan(limit.max_swing_across / 4), 1e-6);
            if (hypot(a / ta, b / tb) > 1 && from_ellipse(ta, tb, at) > 2.5e-5) /* 1e-4 rad of swing */
                fail_msg("ellipse of %g and %g: (%g %g) is beyond (%g %g)", (double)limit.max_swing, (double)limit.max_swing_across, a, b, ta, tb);
        }
        if (!changed) assert_int_equal(first_difference(&out, &q, sizeof q), -1);
    }
    printf("# worst violation: twist %.2g rad, swing %.2g rad\n", worst_twist, worst_swing);
    assert_true(worst_twist < 1e-4);
    assert_true(worst_swing < 1e-4);
}

static void hinge_keeps_the_sign_of_its_angle(void **state) {
    (void)state;
    const double y[3] = {0, 1, 0};
    const float quarter = 1.57079633f;
    FOR_EACH_BACKEND(backend) {
        const phx_limit limit = phx_limit_hinge((phx_vec3){0, 2, 0}, -quarter, quarter);
        for (int degrees = -179; degrees < 180; ++degrees) {
            const phx_quat q = narrow(about(y, degrees * PI / 180));
            uint32_t changed;
            const phx_quat out = apply(backend, &limit, q, &changed);
            const double angle = 2 * atan2(out.y, out.w) * 180 / PI;
            const double right = degrees > 90 ? 90 : degrees < -90 ? -90 : degrees;
            assert_true(fabs(remainder(angle - right, 360)) < 1e-3);
            if (abs(degrees) != 90) assert_int_equal(changed, abs(degrees) > 90);
        }
    }
}

static void what_a_hinge_has_no_use_for_is_not_read(void **state) {
    (void)state;
    random_state r = random_seeded("hinges with nonsense beside", 0x11A7);
    const phx_limit plain = phx_limit_hinge((phx_vec3){0, 0, 1}, -0.5f, 0.7f);
    static const float nonsense[] = {NAN, INFINITY, 3e38f, -1e12f};
    for (int k = 0; k < 40; ++k) {
        phx_limit odd = plain;
        odd.max_swing = nonsense[k & 3], odd.max_swing_across = nonsense[k >> 1 & 3], odd.twist_min = NAN, odd.side.x = INFINITY;
        const phx_quat q = random_rotation(&r);
        FOR_EACH_BACKEND(backend) {
            const phx_quat expected = apply(backend, &plain, q, NULL), got = apply(backend, &odd, q, NULL);
            assert_memory_equal(&expected, &got, sizeof got);
        }
    }
}

static void a_range_may_pass_pi(void **state) {
    (void)state;
    const double x[3] = {1, 0, 0};
    FOR_EACH_BACKEND(backend) {
        const phx_limit limit = phx_limit_hinge((phx_vec3){1, 0, 0}, 2.0f, 4.5f); /* 115 to 258 degrees, the middle at 186 */
        const struct {
            double in, right;
        } cases[] = {{2.5, 2.5}, {3.5, 3.5}, {-2.0, -2.0}, {4.4, 4.4}, {1.0, 2.0}, {0.2, 2.0}, {-0.2, 4.5}, {-1.0, 4.5}, {PI, PI}};
        for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
            const phx_quat out = apply(backend, &limit, narrow(about(x, cases[k].in)), NULL);
            assert_true(fabs(remainder(2 * atan2(out.x, out.w) - cases[k].right, 2 * PI)) < 1e-5);
        }
    }
}

/* angles whose cosines are all 1: a hinge that is held, and a bone that may not twist */
static void narrow_ranges_hold(void **state) {
    (void)state;
    const double x[3] = {1, 0, 0};
    FOR_EACH_BACKEND(backend) for (int twists = 0; twists < 2; ++twists) for (double middle = -2; middle <= 2; middle += 0.5) {
        for (double range = 0; range < 0.04; range = range > 0 ? range * 3 : 1e-5) {
            phx_limit limit = phx_limit_hinge((phx_vec3){1, 0, 0}, (float)(middle - range), (float)(middle + range));
            if (twists) limit = phx_limit_cone((phx_vec3){1, 0, 0}, 1.0f), limit.twist_min = (float)(middle - range), limit.twist_max = (float)(middle + range);
            for (double beyond = -0.01; beyond <= 0.01; beyond += 0.00017) {
                const double in = middle + beyond, right = middle + fmax(-range, fmin(range, beyond));
                const phx_quat out = apply(backend, &limit, narrow(about(x, in)), NULL);
                assert_true(fabs(remainder(2 * atan2(out.x, out.w) - right, 2 * PI)) < 2e-6);
            }
        }
    }
}

/* A bone along x that may nod about z, and hardly about y: what it is turned about y is taken back, what it nods is not. */
static void a_narrow_ellipse_keeps_the_part_along_its_long_axis(void **state) {
    (void)state;
    const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
    static const struct {
        float most;
        double nods, across;
    } cases[] = {{1, 0.6, 0.02}, {1, 0.98, 1e-4}, {1, 0.999, 1e-5}, {3, 2.997, 1e-4}, {3, 1, 0.5}, {0.1f, 0.09, 1e-3}, {1, -0.98, -1e-4}};
    FOR_EACH_BACKEND(backend) for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) for (int turned = 0; turned < 2; ++turned) {
        phx_limit limit = phx_limit_ellipse((phx_vec3){1, 0, 0}, (phx_vec3){0, 0, 1}, cases[k].most, 0.0f);
        if (turned) limit = phx_limit_ellipse((phx_vec3){1, 0, 0}, (phx_vec3){0, 1, 0}, 0.0f, cases[k].most); /* the same, its axes the other way round */
        /* nodding and turning in one swing */
        const double angle = hypot(cases[k].nods, cases[k].across), share = cases[k].nods / angle, rest = cases[k].across / angle;
        const phx_quat out = apply(backend, &limit, narrow(about((double[]){0, rest, share}, angle)), NULL);
        double swing, n[3], twist;
        split(wide(out), limit.rest, x, &swing, n, &twist);
        if (fabs(swing * dot(n, z) - cases[k].nods) > 0.01 * fabs(cases[k].nods) + 0.1 * fabs(cases[k].across) || fabs(swing * dot(n, y)) > 1e-5)
            fail_msg("%s: %g about z and %g about y became %g and %g", phx_backend_name(backend), cases[k].nods, cases[k].across, swing * dot(n, z), swing * dot(n, y));
    }
}

/* tangents of a quarter of the swing, along side and across */
static void swing_tangents(phx_quat q, const phx_limit *limit, double at[2], double *swing) {
    double axis[3], side[3], n[3], twist;
    unit3(limit->axis, axis), unit3(limit->side, side);
    split(wide(q), limit->rest, axis, swing, n, &twist);
    const double along = dot(side, axis);
    for (int k = 0; k < 3; ++k) side[k] -= along * axis[k];
    const double length = sqrt(dot(side, side));
    for (int k = 0; k < 3; ++k) side[k] /= length;
    const double across[3] = {axis[1] * side[2] - axis[2] * side[1], axis[2] * side[0] - axis[0] * side[2], axis[0] * side[1] - axis[1] * side[0]};
    at[0] = tan(*swing / 4) * dot(n, side), at[1] = tan(*swing / 4) * dot(n, across);
}

/* A swing outside an ellipse goes to its rim by no more than an eighth over the shortest way, and so by next to nothing where it is just outside. */
static void a_swing_goes_to_nearly_the_nearest_point_of_its_ellipse(void **state) {
    (void)state;
    random_state r = random_seeded("nearest points of ellipses", 0xE111);
    static const float narrows[] = {0, 1e-4f, 1e-3f, 0.01f, 0.03f, 0.1f, 0.3f, 0.5f, 0.7f, 0.9f, 1};
    int outside_seen = 0;
    for (int k = 0; k < 20000; ++k) {
        const float longer = random_float(&r, 0.05f, 3.1f), shorter = longer * narrows[k % 11];
        phx_limit limit = phx_limit_ellipse(random_direction(&r), random_direction(&r), k % 2 ? longer : shorter, k % 2 ? shorter : longer);
        if (phx_limit_validate(&limit, NULL) != PHX_OK) continue;
        limit.rest = random_rotation(&r);
        phx_quat q = random_rotation(&r);
        if (k % 3) { /* near the rim: what the limit makes of a rotation, turned by a little more */
            const phx_quat rim = apply(phx_backend_find("reference"), &limit, q, NULL);
            const phx_vec3 d = random_direction(&r);
            q = narrow(dmul(wide(rim), about((double[]){d.x, d.y, d.z}, pow(10, random_float(&r, -6, 0)))));
        }
        double before[2], after[2], swing;
        swing_tangents(q, &limit, before, &swing);
        if (swing > 3) continue; /* near a half turn rounding decides which way a swing goes */
        const double a = tan(fmax(limit.max_swing, 4e-6) / 4), b = tan(fmax(limit.max_swing_across, 4e-6) / 4);
        if (hypot(before[0] / a, before[1] / b) <= 1) continue;
        uint32_t changed;
        const phx_quat out = apply(phx_backend_find("reference"), &limit, q, &changed);
        ++outside_seen;
        swing_tangents(out, &limit, after, &swing);
        const double nearest = from_ellipse(a, b, before), way = hypot(after[0] - before[0], after[1] - before[1]);
        if (way > 1.125 * nearest + 3e-6 || from_ellipse(a, b, after) > 3e-6)
            fail_msg("ellipse of %g and %g: (%g %g) went to (%g %g), by %g; the rim is %g away", (double)limit.max_swing, (double)limit.max_swing_across, before[0],
                     before[1], after[0], after[1], way, nearest);
    }
    assert_true(outside_seen > 8000);
}

/* What a limit allows it leaves alone: applied a thousand times, the rotation is where the first time put it. */
static void limits_applied_again_and_again_do_not_creep(void **state) {
    (void)state;
    random_state r = random_seeded("limits again and again", 0xC4EE9);
    static const float swings[] = {0.0f, 1e-6f, 1e-5f, 1e-4f, 1e-3f, 0.01f, 0.3f, 1.0f, 2.5f};
    enum { SWINGS = sizeof swings / sizeof *swings };
    FOR_EACH_BACKEND(backend) {
        for (int round = 0; round < SWINGS * SWINGS * 4; ++round) {
            const phx_vec3 axis = random_direction(&r);
            phx_vec3 side = random_direction(&r);
            phx_limit limit = phx_limit_ellipse(axis, side, swings[round % SWINGS], swings[round / SWINGS % SWINGS]);
            if (phx_limit_validate(&limit, NULL) != PHX_OK) continue;
            const phx_quat first = apply(backend, &limit, random_rotation(&r), NULL);
            phx_quat now = first;
            for (int again = 0; again < 1000; ++again) now = apply(backend, &limit, now, NULL);
            const dquat since = dmul(dconj(wide(first)), wide(now));
            const double turned = 2 * sqrt(since.x * since.x + since.y * since.y + since.z * since.z);
            if (turned > 1e-4) fail_msg("%s, ellipse of %g and %g: %g rad away after a thousand times", phx_backend_name(backend), (double)limit.max_swing,
                                        (double)limit.max_swing_across, turned);
        }
    }
}

/* A side that is nearly the axis still gives an ellipse whose twist is about the axis alone. */
static void a_side_near_the_axis_is_made_orthogonal(void **state) {
    (void)state;
    random_state r = random_seeded("sides near the axis", 0x51DE);
    FOR_EACH_BACKEND(backend) for (int round = 0; round < 4000; ++round) {
        const phx_vec3 axis = random_direction(&r), away = random_direction(&r);
        phx_limit limit = phx_limit_ellipse(axis, (phx_vec3){axis.x + 1.1e-3f * away.x, axis.y + 1.1e-3f * away.y, axis.z + 1.1e-3f * away.z}, 2.8f, 2.5f);
        if (phx_limit_validate(&limit, NULL) != PHX_OK) continue;
        limit.twist_min = limit.twist_max = 0.5f;
        double swing, n[3], twist, unit_axis[3];
        unit3(axis, unit_axis);
        /* within the ellipse, so that the twist alone is limited; not near the half turn, where it is not defined */
        phx_quat q = narrow(about((double[]){1, 0, 0}, 0)), turned = random_rotation(&r);
        split(wide(turned), q, unit_axis, &swing, n, &twist);
        if (swing > 2.7) continue;
        split(wide(apply(backend, &limit, turned, NULL)), limit.rest, unit_axis, &swing, n, &twist);
        if (outside(twist, 0.5, 0.5) > 1e-4) fail_msg("%s: the twist is %.9g, not 0.5", phx_backend_name(backend), twist);
    }
}

static void half_turns_are_defined(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        const phx_limit limits[] = {phx_limit_hinge((phx_vec3){1, 0, 0}, -1, 1), phx_limit_cone((phx_vec3){1, 0, 0}, 0.5f),
                                    phx_limit_ellipse((phx_vec3){1, 0, 0}, (phx_vec3){0, 1, 0}, 0.5f, 0.25f)};
        const phx_quat turns[] = {{0, 1, 0, 0}, {0, 0, -1, 0}, {1, 0, 0, 0}, {0, 0.6f, 0.8f, 0}};
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 4; ++k) {
                const phx_quat out = apply(backend, &limits[i], turns[k], NULL);
                assert_true(fabsf(out.x * out.x + out.y * out.y + out.z * out.z + out.w * out.w - 1) < 1e-5f);
            }
    }
}

static void every_backend_gives_the_same_bits(void **state) {
    (void)state;
    random_state r = random_seeded("limits on all backends", 0x11A2);
    static const float bad[] = {NAN, INFINITY, 3e38f, 1e-40f, 0.0f};
    for (uint32_t round = 0; round < 34 * 30; ++round) {
        const size_t count = round % 34;
        const phx_limit limit = random_limit(&r);
        phx_quat in[34], expected[34], out[34];
        uint32_t changed[34], changed_expected[34];
        memset(in, 0, sizeof in), memset(expected, 0x5A, sizeof expected), memset(changed_expected, 0x5A, sizeof changed_expected);
        for (size_t i = 0; i < count; ++i) {
            in[i] = random_rotation(&r);
            if (random_below(&r, 5) == 0) in[i] = limit.rest;
            if (random_below(&r, 5) == 0) ((float *)&in[i])[random_below(&r, 4)] = bad[random_below(&r, 5)];
            if (random_below(&r, 16) == 0) memset(&in[i], 0, sizeof in[i]);
        }
        assert_int_equal(phx_limit_apply(phx_backend_find("reference"), &limit, count, PHX_VIEW_ARRAY(in), PHX_VIEW_ARRAY(expected),
                                         PHX_VIEW_ARRAY(changed_expected), NULL), PHX_OK);
        FOR_EACH_BACKEND(backend) {
            memset(out, 0x5A, sizeof out), memset(changed, 0x5A, sizeof changed);
            assert_int_equal(phx_limit_apply(backend, &limit, count, PHX_VIEW_ARRAY(in), PHX_VIEW_ARRAY(out), PHX_VIEW_ARRAY(changed), NULL), PHX_OK);
            assert_int_equal(first_difference(out, expected, sizeof out), -1);
            assert_int_equal(first_difference(changed, changed_expected, sizeof changed), -1);
            memcpy(out, in, sizeof in); /* in place */
            assert_int_equal(phx_limit_apply(backend, &limit, count, PHX_VIEW_ARRAY(out), PHX_VIEW_ARRAY(out), phx_view_of(NULL, 0), NULL), PHX_OK);
            assert_int_equal(first_difference(out, expected, count * sizeof *out), -1);
        }
    }
}

static void wrong_limits_are_refused_in_words(void **state) {
    (void)state;
    const phx_limit hinge = phx_limit_hinge((phx_vec3){0, 1, 0}, -1, 1), cone = phx_limit_cone((phx_vec3){0, 1, 0}, 1);
    const phx_limit ellipse = phx_limit_ellipse((phx_vec3){0, 1, 0}, (phx_vec3){1, 0, 0}, 1, 1);
    phx_limit bad[14];
    const char *field[14];
    int n = 0;
#define BAD(base, change, name) (bad[n] = base, bad[n].change, field[n++] = name)
    BAD(hinge, min = NAN, "'min'");
    BAD(hinge, max = -2, "'min'");
    BAD(hinge, max = 7, "'max'");
    BAD(hinge, axis = ((phx_vec3){0, 0, 0}), "'axis'");
    BAD(hinge, axis.x = NAN, "'axis'");
    BAD(hinge, rest = ((phx_quat){0, 0, 0, 0}), "'rest'");
    BAD(hinge, type = (phx_limit_type)9, "'type'");
    BAD(cone, max_swing = -0.1f, "'max_swing'");
    BAD(cone, max_swing = 3.2f, "'max_swing'");
    BAD(cone, max_swing = NAN, "'max_swing'");
    BAD(cone, twist_min = 3, ""); /* still a range */
    BAD(cone, twist_max = INFINITY, "'twist_max'");
    BAD(ellipse, max_swing_across = 4, "'max_swing_across'");
    BAD(ellipse, side = ((phx_vec3){0, 3, 0}), "'side'");
    phx_quat q = {0, 0, 0, 1}, out = {7, 7, 7, 7};
    for (int k = 0; k < n; ++k) {
        phx_report report;
        const phx_status status = phx_limit_apply(phx_backend_best(), &bad[k], 1, PHX_VIEW_ARRAY(&q), PHX_VIEW_ARRAY(&out), phx_view_of(NULL, 0), &report);
        if (!*field[k]) {
            assert_int_equal(status, PHX_OK);
            out.x = 7;
            continue;
        }
        assert_int_equal(status, PHX_ERROR_VALUE);
        assert_non_null(strstr(report.text, field[k]));
        assert_true(out.x == 7);
    }
    phx_limit wide_range = hinge;
    wide_range.min = -4, wide_range.max = 4;
    assert_int_equal(phx_limit_validate(&wide_range, NULL), PHX_ERROR_VALUE);
    assert_int_equal(phx_limit_validate(NULL, NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_limit_validate(&ellipse, NULL), PHX_OK);
    assert_int_equal(phx_limit_apply(NULL, &hinge, 1, PHX_VIEW_ARRAY(&q), PHX_VIEW_ARRAY(&out), phx_view_of(NULL, 0), NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_limit_apply(phx_backend_best(), &hinge, 1, phx_view_of(NULL, 0), PHX_VIEW_ARRAY(&out), phx_view_of(NULL, 0), NULL), PHX_ERROR_NULL);
    assert_int_equal(phx_limit_apply(phx_backend_best(), &hinge, 2, PHX_VIEW_ARRAY(&q), phx_view_of(&out, 8), phx_view_of(NULL, 0), NULL), PHX_ERROR_STRIDE);
}

/* what of one element is written over another one's input, or over another output: answers would depend on the backend */
static void overlapping_views_are_refused(void **state) {
    (void)state;
    enum { N = 40 };
    static phx_quat q[2 * N], before[2 * N];
    static uint32_t flags[4 * N];
    for (int i = 0; i < 2 * N; ++i) q[i] = narrow(about((double[]){0, 1, 0}, 0.07 * i));
    memcpy(before, q, sizeof q);
    const phx_limit hinge = phx_limit_hinge((phx_vec3){0, 1, 0}, 0, 0.1f);
    const phx_view absent = {0}, array = phx_view_of(q, 16), apart = phx_view_of(q + N, 16), marks = phx_view_of(flags, 4);
    const struct {
        phx_view local, limited, changed;
        const char *names[2];
    } bad[] = {
        {array, phx_view_of(q + 1, 16), absent, {"'limited'", "'local'"}},
        {phx_view_of(q + 1, 16), array, marks, {"'limited'", "'local'"}},
        {array, phx_view_of((char *)q + 4, 16), absent, {"'limited'", "'local'"}},
        {phx_view_of(q, 32), array, absent, {"'limited'", "'local'"}},
        {array, phx_view_of(q, 32), absent, {"'limited'", "'local'"}},
        {phx_view_of(q + 3, 0), array, absent, {"'limited'", "'local'"}},
        {array, apart, phx_view_of(q + N, 4), {"'changed'", "'limited'"}},
        {array, apart, phx_view_of(q + N, 16), {"'changed'", "'limited'"}},
        {array, apart, phx_view_of((char *)(q + N) - 4 * (N - 1), 4), {"'changed'", "'l"}},
        {array, apart, phx_view_of(q, 4), {"'changed'", "'local'"}},
        {array, array, phx_view_of(&q[5].y, 64), {"'changed'", "'l"}},
    };
    FOR_EACH_BACKEND(backend) {
        phx_report report;
        for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
            const phx_status status = phx_limit_apply(backend, &hinge, N, bad[k].local, bad[k].limited, bad[k].changed, &report);
            if (status != PHX_ERROR_OVERLAP || !strstr(report.text, bad[k].names[0]) || !strstr(report.text, bad[k].names[1])) {
                print_error("case %zu: status %s, %s\n", k, phx_status_name(status), report.text);
                fail();
            }
            assert_memory_equal(q, before, sizeof q);
        }
        /* in place, side by side, one for all, and the flag in a field of the same struct are as they were */
        struct {
            phx_quat local, limited;
            uint32_t changed;
        } rows[N];
        memset(rows, 0, sizeof rows);
        assert_int_equal(phx_limit_apply(backend, &hinge, N, PHX_VIEW(rows, local), PHX_VIEW(rows, limited), PHX_VIEW(rows, changed), &report), PHX_OK);
        assert_int_equal(phx_limit_apply(backend, &hinge, N, PHX_VIEW(rows, local), PHX_VIEW(rows, local), PHX_VIEW(rows, changed), &report), PHX_OK);
        assert_int_equal(phx_limit_apply(backend, &hinge, N, array, array, marks, &report), PHX_OK);
        memcpy(q, before, sizeof q);
        assert_int_equal(phx_limit_apply(backend, &hinge, N, phx_view_of(q + N, 0), array, marks, &report), PHX_OK);
        memcpy(q, before, sizeof q);
        assert_int_equal(phx_limit_apply(backend, &hinge, N / 2, phx_view_of(q, 32), phx_view_of(q + 1, 32), marks, &report), PHX_OK);
        memcpy(q, before, sizeof q);
        assert_int_equal(phx_limit_apply(backend, &hinge, N / 4, phx_view_of(q, 32), phx_view_of(q + 1, 64), marks, &report), PHX_OK);
        memcpy(q, before, sizeof q);
        assert_int_equal(phx_limit_apply(backend, &hinge, 1, phx_view_of(q, 16), phx_view_of(q, 48), marks, &report), PHX_OK);
        memcpy(q, before, sizeof q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limited_rotations_obey_an_independent_swing_twist),
        cmocka_unit_test(hinge_keeps_the_sign_of_its_angle),
        cmocka_unit_test(what_a_hinge_has_no_use_for_is_not_read),
        cmocka_unit_test(a_range_may_pass_pi),
        cmocka_unit_test(narrow_ranges_hold),
        cmocka_unit_test(a_side_near_the_axis_is_made_orthogonal),
        cmocka_unit_test(limits_applied_again_and_again_do_not_creep),
        cmocka_unit_test(a_narrow_ellipse_keeps_the_part_along_its_long_axis),
        cmocka_unit_test(a_swing_goes_to_nearly_the_nearest_point_of_its_ellipse),
        cmocka_unit_test(half_turns_are_defined),
        cmocka_unit_test(every_backend_gives_the_same_bits),
        cmocka_unit_test(wrong_limits_are_refused_in_words),
        cmocka_unit_test(overlapping_views_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
