/* Pictures of solved cases for `phalanx solve --svg`: a grid with one cell for each case. The chain before is grey, after it is in
 * colour; target, pole, bend plane, joint limits and a scale bar stand beside it. The view keeps Y upright and looks along the
 * horizontal direction in which the chain spreads least, or from above where it lies flat. */
#include "solve_case.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_WIDTH = 360, CELL_HEIGHT = 400, TITLE = 52, FOOT = 26, MARGIN = 34, LEGEND = 40, LEGEND_ENTRY = 92 };

typedef struct text {
    char *data;
    size_t size, capacity;
} text;

static void put(text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *out, const char *format, ...) {
    for (;;) {
        va_list arguments;
        va_start(arguments, format);
        const int needed = vsnprintf(out->data + out->size, out->capacity - out->size, format, arguments);
        va_end(arguments);
        if (needed < 0) return;
        if ((size_t)needed < out->capacity - out->size) {
            out->size += (size_t)needed;
            return;
        }
        out->capacity = 2 * out->capacity + (size_t)needed;
        out->data = io_reallocate(out->data, out->capacity, 1);
    }
}

static void put_escaped(text *out, const char *words, size_t most) {
    for (size_t i = 0; words[i] && i < most; ++i) {
        const char c = words[i];
        if (c == '<') put(out, "&lt;");
        else if (c == '>') put(out, "&gt;");
        else if (c == '&') put(out, "&amp;");
        else if ((unsigned char)c < 32) put(out, " ");
        else put(out, "%c", c);
    }
}

/* From metres to a cell's pixels. */
typedef struct view {
    vec right, up;
    const char *name;
    vec centre;
    double scale;
    double x, y; /* of the middle of the drawing in the picture */
} view;

static double across(const view *v, vec p) { return v->x + v->scale * vec_dot(vec_sub(p, v->centre), v->right); }
static double down(const view *v, vec p) { return v->y - v->scale * vec_dot(vec_sub(p, v->centre), v->up); }

/* every point that must be in the picture */
static size_t points_of(const solve_case *one, vec *points) {
    size_t count = 0;
    for (size_t j = 0; j < one->joints; ++j) points[count++] = one->position[j], points[count++] = one->solved_position[j];
    points[count++] = one->target;
    return count;
}

static view choose_view(const solve_case *one, const vec *points, size_t count) {
    view v = {.up = {0, 1, 0}};
    double xx = 0, xz = 0, zz = 0, yy = 0;
    const vec root = one->position[0];
    for (size_t i = 0; i < count; ++i) {
        const vec d = vec_sub(points[i], root);
        xx += d.x * d.x, xz += d.x * d.z, zz += d.z * d.z, yy += d.y * d.y;
    }
    const double angle = 0.5 * atan2(2 * xz, xx - zz), c = cos(angle), s = sin(angle);
    const double least = s * s * xx - 2 * s * c * xz + c * c * zz;
    if (yy < 0.25 * least) {
        v.right = (vec){1, 0, 0}, v.up = (vec){0, 0, -1}, v.name = "from above: x right, z down";
    } else if (xx + zz < 1e-6 * yy || fabs(s) < 0.2) {
        v.right = (vec){1, 0, 0}, v.name = "front: x right, y up";
    } else if (fabs(c) < 0.2) {
        v.right = (vec){0, 0, 1}, v.name = "side: z right, y up";
    } else {
        v.right = (vec){c, 0, s}, v.name = "aslant: y up";
    }
    /* a chain that moves along one line only is seen best in the plane of its bend */
    if (xx + zz < 1e-6 * yy && fabs(one->bend.z) > fabs(one->bend.x)) v.right = (vec){0, 0, 1}, v.name = "side: z right, y up";
    return v;
}

static void fit(view *v, const vec *points, size_t count, double left, double top) {
    double low[2] = {DBL_MAX, DBL_MAX}, high[2] = {-DBL_MAX, -DBL_MAX};
    for (size_t i = 0; i < count; ++i) {
        const double at[2] = {vec_dot(points[i], v->right), vec_dot(points[i], v->up)};
        for (int k = 0; k < 2; ++k) low[k] = fmin(low[k], at[k]), high[k] = fmax(high[k], at[k]);
    }
    const double width = CELL_WIDTH - 2 * MARGIN, height = CELL_HEIGHT - TITLE - FOOT - 2 * MARGIN;
    const double wide = high[0] - low[0], tall = high[1] - low[1], most = fmax(wide, tall);
    v->centre = vec_add(vec_scale(v->right, (low[0] + high[0]) / 2), vec_scale(v->up, (low[1] + high[1]) / 2));
    v->scale = most > 0 && most < 1e30 ? fmin(width / fmax(wide, most * 1e-3), height / fmax(tall, most * 1e-3)) : 1;
    v->x = left + CELL_WIDTH / 2.0, v->y = top + TITLE + MARGIN + height / 2;
}

static void put_chain(text *out, const view *v, const vec *joints, size_t count, const char *colour, double thick, double radius) {
    put(out, "<polyline fill='none' stroke='%s' stroke-width='%.1f' stroke-linejoin='round' stroke-linecap='round' points='", colour,
        thick);
    for (size_t j = 0; j < count; ++j) put(out, "%.2f,%.2f ", across(v, joints[j]), down(v, joints[j]));
    put(out, "'/>\n");
    for (size_t j = 0; j < count; ++j)
        put(out, "<circle cx='%.2f' cy='%.2f' r='%.1f' fill='%s' stroke='#fff'/>\n", across(v, joints[j]), down(v, joints[j]),
            j ? radius : radius + 1.5, colour);
}

static void put_arrow(text *out, const view *v, vec from, vec direction, double metres, const char *colour, const char *label) {
    const vec to = vec_add(from, vec_scale(vec_direction(direction), metres));
    const double x0 = across(v, from), y0 = down(v, from), x1 = across(v, to), y1 = down(v, to), length = hypot(x1 - x0, y1 - y0);
    if (length < 2) { /* it points at the reader, or away */
        put(out, "<circle cx='%.2f' cy='%.2f' r='7' fill='none' stroke='%s' stroke-dasharray='3 2'/>\n", x0, y0, colour);
        put(out, "<text class='mark' x='%.2f' y='%.2f' fill='%s'>%s</text>\n", x0 + 10, y0 - 6, colour, label);
        return;
    }
    const double ux = (x1 - x0) / length, uy = (y1 - y0) / length;
    put(out, "<path d='M%.2f %.2fL%.2f %.2fM%.2f %.2fL%.2f %.2fL%.2f %.2f' fill='none' stroke='%s' stroke-width='1.6'/>\n", x0, y0, x1, y1,
        x1 - 6 * ux - 3 * uy, y1 - 6 * uy + 3 * ux, x1, y1, x1 - 6 * ux + 3 * uy, y1 - 6 * uy - 3 * ux, colour);
    put(out, "<text class='mark' x='%.2f' y='%.2f' fill='%s'>%s</text>\n", x1 + 4, y1 - 3, colour, label);
}

/* The directions that a limit leaves to its bone: a fan for a hinge, a rim for a cone. */
static void put_limit(text *out, const view *v, const solve_case *one, size_t joint, double reach) {
    const phx_limit *limit = &one->limits[joint];
    if (limit->type == PHX_LIMIT_NONE || joint + 1 >= one->joints) return;
    const turn parent = joint ? one->solved_rotation[joint - 1] : TURN_NONE;
    const turn frame = turn_times(parent, turn_widen(limit->rest));
    const vec bone = vec_direction(turn_vec(turn_back(one->rotation[joint]), vec_sub(one->position[joint + 1], one->position[joint])));
    const vec axis = vec_direction(vec_widen(limit->axis)), at = one->solved_position[joint];
    const bool hinge = limit->type == PHX_LIMIT_HINGE;
    put(out, "<path class='limit' d='");
    if (hinge) put(out, "M%.2f %.2f", across(v, at), down(v, at));
    enum { STEPS = 48 };
    vec rim[4];
    for (int i = 0; i <= STEPS; ++i) {
        const double share = (double)i / STEPS;
        turn swing;
        if (hinge) {
            swing = turn_about(axis, limit->min + (limit->max - limit->min) * share);
        } else {
            const vec first = vec_direction(vec_reject(limit->type == PHX_LIMIT_ELLIPSE ? vec_widen(limit->side)
                                                       : fabs(axis.x) < 0.7             ? (vec){1, 0, 0}
                                                                                        : (vec){0, 1, 0},
                                                       axis));
            const vec second = vec_cross(axis, first);
            const double angle = 6.28318530717958648 * share,
                         other = limit->type == PHX_LIMIT_ELLIPSE ? limit->max_swing_across : limit->max_swing;
            const double a = tan((double)limit->max_swing / 4) * cos(angle), b = tan(other / 4) * sin(angle), tangent = hypot(a, b);
            swing = turn_about(vec_direction(vec_add(vec_scale(first, a), vec_scale(second, b))), 4 * atan(tangent));
        }
        const vec end = vec_add(at, vec_scale(turn_vec(frame, turn_vec(swing, bone)), reach));
        if (i % 12 == 0 && i < STEPS) rim[i / 12] = end;
        put(out, "%c%.2f %.2f", i == 0 && !hinge ? 'M' : 'L', across(v, end), down(v, end));
    }
    put(out, "Z");
    for (size_t i = 0; !hinge && i < 4; ++i)
        put(out, "M%.2f %.2fL%.2f %.2f", across(v, at), down(v, at), across(v, rim[i]), down(v, rim[i]));
    put(out, "'/>\n");
}

static void put_case(text *out, const solve_case *one, double left, double top) {
    static const char *const solvers[] = {"two_bone", "fabrik", "ccd", "aim"};
    const bool reached = one->flags & PHX_FLAG_REACHED;
    const char *colour = one->flags & PHX_FLAG_BAD_INPUT ? "#8a8a8a" : reached ? "#1769aa" : "#c05a00";
    vec *points = io_allocate(2 * one->joints + 1, sizeof *points);
    const size_t count = points_of(one, points), n = one->joints;
    view v = choose_view(one, points, count);
    fit(&v, points, count, left, top);
    free(points);
    double length = 0;
    for (size_t j = 0; j + 1 < n; ++j) length += vec_length(vec_sub(one->position[j + 1], one->position[j]));
    const double arrow = fmin(0.3 * length, 46 / v.scale);
    const vec tip = one->solved_position[n - 1];

    put(out, "<svg x='%.0f' y='%.0f' width='%d' height='%d' viewBox='%.0f %.0f %d %d'>\n", left, top, CELL_WIDTH, CELL_HEIGHT, left, top,
        CELL_WIDTH, CELL_HEIGHT);
    put(out, "<rect x='%.1f' y='%.1f' width='%d' height='%d' rx='6' fill='#fff' stroke='#d5d5d5'/>\n", left + 4.5, top + 4.5,
        CELL_WIDTH - 9, CELL_HEIGHT - 9);
    put(out, "<text class='title' x='%.0f' y='%.0f'>", left + 16, top + 25), put_escaped(out, one->id, 38), put(out, "</text>\n");
    put(out, "<text x='%.0f' y='%.0f'>%s, residual %.3g m", left + 16, top + 41, solvers[one->solver], one->residual);
    for (uint32_t bit = 0; bit < 32; ++bit) {
        const char *name = one->flags & (1u << bit) ? phx_flag_name((phx_flag)(1u << bit)) : NULL;
        if (name) put(out, ", %s", name);
    }
    put(out, "</text>\n");

    for (size_t j = 0; j < n; ++j) put_limit(out, &v, one, j, fmin(0.5 * one->length[j < n - 1 ? j : n - 2], 60 / v.scale));
    if (n > 2) { /* the plane that the chain bends in */
        put(out, "<polygon fill='%s' fill-opacity='.13' points='", colour);
        for (size_t j = 0; j < n; ++j) put(out, "%.2f,%.2f ", across(&v, one->solved_position[j]), down(&v, one->solved_position[j]));
        put(out, "'/>\n");
    }
    put_chain(out, &v, one->position, n, "#b0b0b0", 4, 3);
    if (!reached && one->residual * v.scale > 2)
        put(out, "<line x1='%.2f' y1='%.2f' x2='%.2f' y2='%.2f' stroke='#c62828' stroke-dasharray='4 3'/>\n", across(&v, tip),
            down(&v, tip), across(&v, one->target), down(&v, one->target));
    put_chain(out, &v, one->solved_position, n, colour, 5, 4);
    put(out,
        "<path d='M%.2f %.2fh16m-8 -8v16' stroke='#c62828' stroke-width='1.6'/><circle cx='%.2f' cy='%.2f' r='5' fill='none' "
        "stroke='#c62828' stroke-width='1.6'/>\n",
        across(&v, one->target) - 8, down(&v, one->target), across(&v, one->target), down(&v, one->target));
    const vec middle = one->solved_position[n > 2 ? n / 2 : 0];
    if (one->has_pole) put_arrow(out, &v, middle, one->pole, arrow, "#2e7d32", "pole");
    if (vec_length(one->bend) > 0 && !(one->flags & PHX_FLAG_BAD_INPUT))
        put_arrow(out, &v, vec_scale(vec_add(one->solved_position[0], tip), 0.5), one->bend, arrow * 0.7, "#6a1b9a", "bend");
    put(out, "<text class='mark' x='%.2f' y='%.2f'>root</text>\n", across(&v, one->solved_position[0]) + 8, down(&v, one->solved_position[0]) - 7);
    put(out, "<text class='mark' x='%.2f' y='%.2f'>tip</text>\n", across(&v, tip) + 8, down(&v, tip) + 14);

    /* a round number of metres, between a seventh and a third of the width */
    const double rough = CELL_WIDTH / (6 * v.scale), power = pow(10, floor(log10(rough)));
    const double bar = rough < 2 * power ? power : rough < 5 * power ? 2 * power : 5 * power;
    const double y = top + CELL_HEIGHT - 18;
    put(out, "<path d='M%.2f %.2fv-5m0 5h%.2fv-5' stroke='#555' fill='none'/>\n", left + 16, y, bar * v.scale);
    put(out, "<text x='%.2f' y='%.2f'>%g m</text>\n", left + 22 + bar * v.scale, y, bar);
    put(out, "<text x='%.0f' y='%.2f' text-anchor='end'>%s</text>\n</svg>\n", left + CELL_WIDTH - 16, y, v.name);
}

char *solve_svg(const solve_cases *cases, size_t *size) {
    text out = {io_allocate(1 << 16, 1), 0, 1 << 16};
    size_t columns = 1;
    while (columns < 5 && columns * columns < cases->count) ++columns;
    const size_t rows = cases->count ? (cases->count + columns - 1) / columns : 1;
    const size_t width = columns * CELL_WIDTH, height = rows * CELL_HEIGHT + LEGEND;
    put(&out,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%zu' height='%zu' viewBox='0 0 %zu %zu' font-family='sans-serif' font-size='11' "
        "fill='#444'>\n",
        width, height, width, height);
    put(&out, "<style>.title{font-size:15px;font-weight:bold;fill:#222}.limit{fill:#f9a825;fill-opacity:.2;stroke:#f9a825}"
              ".mark{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}</style>\n");
    put(&out, "<rect width='%zu' height='%zu' fill='#f4f4f4'/>\n", width, height);
    for (size_t i = 0; i < cases->count; ++i)
        put_case(&out, &cases->all[i], (double)(i % columns * CELL_WIDTH), (double)(i / columns * CELL_HEIGHT));
    const double y = (double)(rows * CELL_HEIGHT) + 16;
    static const char *const entries[][2] = {{"#b0b0b0", "before"}, {"#1769aa", "reached"}, {"#c05a00", "not reached"},
                                             {"#c62828", "target"}, {"#2e7d32", "pole"},    {"#6a1b9a", "bend"},
                                             {"#f9a825", "limit"}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
        const size_t per_row = columns == 1 ? 4 : 7;
        const double x = 16 + LEGEND_ENTRY * (double)(i % per_row), at = y + 16 * (double)(i / per_row);
        put(&out, "<rect x='%.0f' y='%.0f' width='10' height='10' fill='%s'/><text x='%.0f' y='%.0f'>%s</text>\n", x, at - 9, entries[i][0],
            x + 15, at, entries[i][1]);
    }
    put(&out, "</svg>\n");
    *size = out.size;
    return out.data;
}
