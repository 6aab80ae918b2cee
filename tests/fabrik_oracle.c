/* FABRIK against a model in double precision, written from the method's description alone: random chains of 1 to 64 bones at scales from
 * 1e-3 to 1e3 end where the model ends, on every backend, and what they return holds to the digits that the header promises. */
#include "support.h"

enum { MAX = PHX_CHAIN_MAX_JOINTS };

typedef struct vec {
    double x, y, z;
} vec;
static vec vec_of(phx_vec3 a) { return (vec){a.x, a.y, a.z}; }
static vec plus(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
static vec minus(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static vec times(vec a, double s) { return (vec){a.x * s, a.y * s, a.z * s}; }
static double inner(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static double norm(vec a) { return sqrt(inner(a, a)); }
static vec unit(vec a) { return times(a, 1 / norm(a)); }
static vec without(vec a, vec n) { return minus(a, times(n, inner(a, n))); }

/* how a chain came to its answer */
typedef enum path { AT_REST, STRAIGHT, FOLDED, TRIANGLE, ARC, NEAR_REACH, ROUNDS, PATHS } path;
static const char *const path_names[PATHS] = {"there already", "out of reach", "in the dead zone", "from a triangle",
                                              "from an arc",   "bends scaled", "rounds alone"};

typedef struct model {
    uint32_t bones, rounds;
    vec at[MAX]; /* relative to the root, which is at[0] */
    double length[MAX], whole, longest;
    vec target, axis;
    path path;
    int renewed; /* started again after eight rounds */
    double closest_call; /* how near a decision was to going the other way, relative */
    double growth; /* of what rounding leaves, in rounds whose moves hardly arrive */
} model;

static void decide(model *m, double a, double b, double scale) { m->closest_call = fmin(m->closest_call, fabs(a - b) / scale); }

/* all joints' deviations from the line to the target; the direction least along it where there is none */
static vec own_bend(const model *m, vec axis) {
    vec sum = {0, 0, 0};
    for (uint32_t i = 1; i <= m->bones; ++i) sum = plus(sum, without(m->at[i], axis));
    if (norm(sum) <= 1e-5 * m->whole) sum = without(fabs(axis.x) <= fabs(axis.y) ? (vec){1, 0, 0} : (vec){0, 1, 0}, axis);
    return unit(sum);
}

/* Joints on the circular arc of the chain's length over the chord: half its angle x solves sin x / x = chord / length. The library's series
 * for x is checked against bisection and then used, for the rounds that follow would make its error larger. */
static void model_arc(model *m, double chord) {
    const vec bend = own_bend(m, m->axis);
    double low = 0, high = 3.14159265358979;
    for (int k = 0; k < 80; ++k) {
        const double x = (low + high) / 2;
        if (sin(x) / x > chord / m->whole) low = x;
        else high = x;
    }
    const double less = 1 - chord / m->whole, x = sqrt(6 * less + 1.8 * less * less + 2.07 * less * less * less * less);
    assert_true(fabs(x / ((low + high) / 2) - 1) < 6e-3);
    const double radius = m->whole / (2 * x);
    double along = 0;
    for (uint32_t i = 0; i < m->bones; ++i) {
        along += m->length[i];
        const double angle = x * (2 * along / m->whole - 1);
        m->at[i + 1] = plus(times(m->axis, radius * (sin(x) + sin(angle))), times(bend, radius * (cos(angle) - cos(x))));
    }
}

/* the longest bone is one side, all others together the other; bones before the longest lie on the same side of the triangle as it */
static void model_triangle(model *m) {
    const double chord = norm(m->target), others = m->whole - m->longest;
    const vec bend = own_bend(m, m->axis);
    const double along = (m->longest * m->longest + chord * chord - others * others) / (2 * chord);
    const double height = sqrt(fmax(m->longest * m->longest - along * along, 0)) * (m->length[0] == m->longest ? 1 : -1);
    const vec side = plus(times(m->axis, along), times(bend, height)), rest = times(minus(times(m->axis, chord), side), 1 / others);
    int found = 0;
    for (uint32_t i = 0; i < m->bones; ++i) {
        const int is_longest = !found && m->length[i] == m->longest;
        found |= is_longest;
        m->at[i + 1] = plus(m->at[i], is_longest ? side : times(rest, m->length[i]));
    }
}

/* the same bends, of the size that leaves the wanted distance: a bone that goes w across spends w^2 / 2l of the length */
static void model_scaled_bends(model *m) {
    vec across[MAX], before = {0, 0, 0};
    const vec tip = without(m->at[m->bones], m->axis);
    double along = 0, spent = 0;
    for (uint32_t i = 0; i < m->bones; ++i) {
        along += m->length[i];
        const vec deviation = minus(without(m->at[i + 1], m->axis), times(tip, along / m->whole));
        across[i] = minus(deviation, before), before = deviation;
        spent += inner(across[i], across[i]) / m->length[i];
    }
    const double factor = sqrt(2 * (m->whole - norm(m->target)) / spent);
    for (uint32_t i = 0; i < m->bones; ++i) {
        const vec w = times(across[i], factor);
        const double forth = sqrt(fmax(m->length[i] * m->length[i] - inner(w, w), 0.04 * m->length[i] * m->length[i]));
        m->at[i + 1] = plus(m->at[i], plus(w, times(m->axis, forth)));
    }
}

/* How far the last joint before the tip comes along the last bone, to the first order, in a forward pass whose first joint is off by `off` and
 * whose goals are moved by `move`: a joint follows its goal across its bone and the joint before it along it. */
static double arriving(const model *m, vec off, vec move) {
    for (uint32_t i = 1; i + 1 < m->bones; ++i) {
        const vec bone = unit(minus(m->at[i + 1], m->at[i]));
        off = plus(without(move, bone), times(bone, inner(off, bone)));
    }
    return inner(off, unit(minus(m->target, m->at[m->bones - 1])));
}

/* Backward from the target, in later rounds from where the last bone, which points at the target, then ends; `ahead` times as far. Forward
 * with the goals moved by the least by which nothing of what the first joint is off arrives; where moves hardly arrive, by less. */
static void model_round(model *m, vec error, double ahead) {
    const uint32_t last = m->bones - 1;
    m->at[last] = m->rounds == 0 ? plus(m->target, times(unit(minus(m->at[last], m->target)), m->length[last])) : minus(m->at[last], times(error, ahead));
    for (uint32_t i = last - 1; i >= 1 && i < last; --i) m->at[i] = plus(m->at[i + 1], times(unit(minus(m->at[i], m->at[i + 1])), m->length[i]));
    const vec none = {0, 0, 0}, first = times(unit(m->at[1]), m->length[0]);
    const vec gain = {arriving(m, none, (vec){1, 0, 0}), arriving(m, none, (vec){0, 1, 0}), arriving(m, none, (vec){0, 0, 1})};
    const vec move = times(gain, -arriving(m, minus(first, m->at[1]), none) / fmax(inner(gain, gain), 1e-3));
    m->growth *= fmax(1, 1 / fmax(norm(gain), 0.03));
    m->at[1] = first;
    for (uint32_t i = 1; i <= last; ++i) {
        const vec to = i < last ? plus(m->at[i + 1], move) : m->target;
        m->at[i + 1] = plus(m->at[i], times(unit(minus(to, m->at[i])), m->length[i]));
    }
}

static vec crossed(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static vec about(vec v, vec axis, double angle) { /* Rodrigues */
    return plus(plus(times(v, cos(angle)), times(crossed(axis, v), sin(angle))), times(axis, inner(axis, v) * (1 - cos(angle))));
}

/* The last step: a tip within an eighth of the target's distance is brought onto it by a turn of the middle joint, in the plane of the chain's
 * halves, to the angle that the triangle of these and the target's distance has, and the shortest turn of the whole chain. Not where the halves
 * are within a sine of a quarter of one line, nor where the first turn would be more than about an eighth. */
static int model_close(model *m) {
    const uint32_t middle = m->bones / 2;
    const vec a = m->at[middle], tip = m->at[m->bones], b = minus(tip, a), normal = crossed(a, b);
    const double distance = norm(m->target), sides = norm(a) * norm(b), surplus = inner(tip, tip) - distance * distance;
    if (m->bones < 6) return 0;
    decide(m, norm(minus(tip, m->target)), distance / 8, m->whole);
    decide(m, norm(normal), sides / 4, m->whole * m->whole), decide(m, fabs(surplus), norm(normal) / 4, m->whole * m->whole);
    if (norm(minus(tip, m->target)) > distance / 8 || norm(normal) <= sides / 4 || fabs(surplus) > norm(normal) / 4) return 0;
    const double now = atan2(norm(normal), inner(a, b)), then = acos((distance * distance - inner(a, a) - inner(b, b)) / (2 * sides));
    for (uint32_t i = middle + 1; i <= m->bones; ++i) m->at[i] = plus(a, about(minus(m->at[i], a), unit(normal), then - now));
    const vec axis = crossed(m->at[m->bones], m->target);
    const double angle = atan2(norm(axis), inner(m->at[m->bones], m->target));
    for (uint32_t i = 1; i <= m->bones && angle > 1e-12; ++i) m->at[i] = about(m->at[i], unit(axis), angle);
    assert_true(norm(minus(m->at[m->bones], m->target)) < 1e-9 * m->whole);
    return 1;
}

/* the whole method, without hints, softness or stretch */
static void model_solve(model *m, double tolerance, uint32_t most) {
    const double distance = norm(m->target), nearest = 2 * m->longest - m->whole;
    m->axis = unit(m->target), m->closest_call = m->growth = 1;
    vec error = minus(m->at[m->bones], m->target);
    m->path = AT_REST;
    decide(m, norm(error), tolerance * m->whole, m->whole);
    if (norm(error) <= tolerance * m->whole) return;
    decide(m, distance, m->whole, m->whole), decide(m, distance, nearest, m->whole);
    if (distance >= m->whole || distance <= nearest) {
        m->path = distance >= m->whole ? STRAIGHT : FOLDED, m->rounds = 1;
        int found = 0;
        for (uint32_t i = 0; i < m->bones; ++i) {
            const int forth = m->path == STRAIGHT || (!found && m->length[i] == m->longest);
            found |= forth;
            m->at[i + 1] = plus(m->at[i], times(m->axis, forth ? m->length[i] : -m->length[i]));
        }
        return;
    }
    double off = 0;
    for (uint32_t i = 1; i <= m->bones; ++i) off += inner(without(m->at[i], m->axis), without(m->at[i], m->axis));
    m->path = ROUNDS;
    decide(m, distance, nearest + 0.2 * m->whole, m->whole), decide(m, distance, 0.9 * m->whole, m->whole);
    decide(m, off, 6e-4 * m->bones * m->whole * m->whole, m->whole * m->whole);
    if (fabs(nearest) <= distance && (m->bones == 2 || (nearest >= 0 && distance < nearest + 0.2 * m->whole))) {
        m->path = TRIANGLE, model_triangle(m);
    } else {
        if (off <= 6e-4 * m->bones * m->whole * m->whole) m->path = ARC, model_arc(m, distance);
        if (distance > 0.9 * m->whole) m->path = NEAR_REACH, model_scaled_bends(m);
    }
    error = minus(m->at[m->bones], m->target);
    while (m->rounds < most) {
        model_round(m, error, m->rounds % 4 == 3 ? 3 : 1);
        ++m->rounds;
        error = minus(m->at[m->bones], m->target);
        decide(m, norm(error), tolerance * m->whole, m->whole);
        if (norm(error) <= tolerance * m->whole || model_close(m)) break;
        if (m->rounds == 8 && m->rounds < most && norm(error) > 1e-3 * m->whole) {
            model_arc(m, distance);
            error = minus(m->at[m->bones], m->target), m->renewed = 1;
        }
    }
}

typedef struct chain {
    phx_vec3 position[MAX], solved[MAX];
    phx_quat correction[MAX];
    phx_vec3 target;
    phx_result result;
} chain;

/* A chain as an animation might leave it, or nearly straight, or with one long bone; a target at up to 1.1 of its reach, in any
 * direction, along a nearly straight chain, or at the tip. */
static void random_case(random_state *r, uint32_t bones, float scale, chain *c) {
    memset(c, 0, sizeof *c);
    const uint32_t kind = random_below(r, 16);
    const float wiggle = kind < 3 ? 0.03f : random_float(r, 0.2f, 1.2f);
    const uint32_t longest = random_below(r, 4) ? bones : random_below(r, bones);
    float whole = 0;
    phx_vec3 d = random_direction(r), at = random_direction(r);
    at = (phx_vec3){at.x * scale, at.y * scale, at.z * scale};
    for (uint32_t j = 0; j <= bones; ++j) {
        c->position[j] = at;
        if (j == bones) break;
        float length = random_float(r, 0.1f, 0.3f) * scale;
        if (j == longest) length = length * 0.25f * (float)bones + 0.2f * scale;
        at = (phx_vec3){at.x + d.x * length, at.y + d.y * length, at.z + d.z * length};
        whole += length;
        const phx_vec3 n = random_direction(r);
        const vec next = unit((vec){d.x + wiggle * n.x, d.y + wiggle * n.y, d.z + wiggle * n.z});
        d = (phx_vec3){(float)next.x, (float)next.y, (float)next.z};
    }
    const vec chord = unit(minus(vec_of(c->position[bones]), vec_of(c->position[0])));
    phx_vec3 way = random_direction(r);
    if (kind < 3) way = (phx_vec3){(float)chord.x, (float)chord.y, (float)chord.z};
    const float reach = whole * (random_below(r, 4) ? random_float(r, 0.05f, 0.9f) : random_float(r, 0.85f, 1.1f));
    c->target = (phx_vec3){c->position[0].x + way.x * reach, c->position[0].y + way.y * reach, c->position[0].z + way.z * reach};
    if (kind == 3) c->target = (phx_vec3){at.x + way.x * whole * 3e-4f, at.y + way.y * whole * 3e-4f, at.z + way.z * whole * 3e-4f};
}

static model model_of(const chain *c, uint32_t bones) {
    model m;
    memset(&m, 0, sizeof m);
    m.bones = bones;
    for (uint32_t i = 0; i < bones; ++i) {
        m.at[i + 1] = minus(vec_of(c->position[i + 1]), vec_of(c->position[0]));
        m.length[i] = norm(minus(m.at[i + 1], m.at[i]));
        m.whole += m.length[i], m.longest = fmax(m.longest, m.length[i]);
    }
    m.target = minus(vec_of(c->target), vec_of(c->position[0]));
    return m;
}

static vec turned(phx_quat q, vec v) {
    const double x = q.x, y = q.y, z = q.z, w = q.w;
    const vec t = {2 * (y * v.z - z * v.y), 2 * (z * v.x - x * v.z), 2 * (x * v.y - y * v.x)};
    return (vec){v.x + w * t.x + y * t.z - z * t.y, v.y + w * t.y + z * t.x - x * t.z, v.z + w * t.z + x * t.y - y * t.x};
}

#define require(condition) \
    ((condition) ? (void)0 : (print_error("%u bones at scale %g, %s\n", bones, (double)scale, path_names[m.path]), assert_true(condition)))

static void chains_end_where_the_model_ends(void **state) {
    (void)state;
    random_state r = random_seeded("fabrik oracle", 0xFA0D);
    /* Farthest that a joint may be from the model's, of the chain's length; both are within 1e-3 of the target, by as many rounds. The
     * plane of an arc is that of a nearly straight chain, which rounding turns more. */
    static const double allowed[PATHS] = {1e-6, 1e-5, 1e-5, 1e-4, 3e-4, 1e-4, 1e-4};
    enum { PER_SIZE = 48 };
    static chain chains[7 * PER_SIZE];
    const float tolerance = 1e-3f;
    FOR_EACH_BACKEND(backend) {
        uint32_t counts[PATHS] = {0}, compared[PATHS] = {0}, all = 0;
        double worst[PATHS] = {0};
        for (uint32_t bones = 1; bones <= 64; ++bones) {
            for (int k = 0; k < 7 * PER_SIZE; ++k) random_case(&r, bones, powf(10, (float)(k % 7 - 3)), chains + k);
            phx_fabrik_params params = phx_fabrik_params_default();
            params.chain.tolerance = tolerance;
            phx_chain_job job = phx_chain_job_default();
            job.count = 7 * PER_SIZE, job.joints = bones + 1;
            job.position = phx_joint_view_of(chains->position, sizeof *chains, 12);
            job.position_out = phx_joint_view_of(chains->solved, sizeof *chains, 12);
            job.correction = phx_joint_view_of(chains->correction, sizeof *chains, 16);
            job.target = PHX_VIEW(chains, target), job.result = PHX_VIEW(chains, result);
            assert_int_equal(phx_fabrik_solve(backend, &params, &job, NULL), PHX_OK);
            for (int k = 0; k < 7 * PER_SIZE; ++k) {
                const chain *c = chains + k;
                const float scale = powf(10, (float)(k % 7 - 3));
                model m = model_of(c, bones);
                const model animated = m;
                model_solve(&m, tolerance, 16);
                /* what is written is rounded beside the root, which is one scale from the origin */
                const double grain = 1.2e-7 * (2 * scale + m.whole) / m.whole;
                const double miss = norm(minus(vec_of(c->solved[bones]), vec_of(c->target))) / m.whole;
                vec walked = vec_of(c->position[0]);
                for (uint32_t i = 0; i < bones; ++i) {
                    const double now = norm(minus(vec_of(c->solved[i + 1]), vec_of(c->solved[i])));
                    require(fabs(now - m.length[i]) <= 1e-6 * m.length[i] + 2 * grain * m.whole);
                    const phx_quat q = c->correction[i];
                    require(fabs(sqrt((double)q.x * q.x + (double)q.y * q.y + (double)q.z * q.z + (double)q.w * q.w) - 1) < 1e-6);
                    walked = plus(walked, turned(q, minus(animated.at[i + 1], animated.at[i])));
                    require(norm(minus(walked, vec_of(c->solved[i + 1]))) <= (1e-5 + grain) * m.whole);
                }
                require(fabs(miss - c->result.residual / m.whole) <= 1e-6 + 2 * grain);
                require(!(c->result.flags & PHX_FLAG_REACHED) == !(c->result.residual <= tolerance * m.whole * (1 + 1e-6)));
                ++counts[m.path], ++all;
                /* a decision that rounding may turn leads elsewhere, and a chain that starts again, or whose rounds make fifty times as much of
                 * rounding, has left its model */
                if (m.closest_call < 1e-5 || m.renewed || m.growth > 50) continue;
                require(m.rounds == c->result.iterations || m.path == ARC || m.path == NEAR_REACH || m.rounds > 5);
                if (m.rounds != c->result.iterations) continue;
                ++compared[m.path];
                double farthest = 0;
                for (uint32_t i = 1; i <= bones; ++i) {
                    const vec solved = minus(vec_of(c->solved[i]), vec_of(c->position[0]));
                    farthest = fmax(farthest, norm(minus(solved, m.at[i])));
                }
                farthest = farthest / m.whole;
                worst[m.path] = fmax(worst[m.path], farthest);
                if (farthest > allowed[m.path] + grain) {
                    print_error("%u bones at scale %g, %s, %u rounds: a joint is %g of the length from the model's\n", bones,
                                (double)scale, path_names[m.path], m.rounds, farthest);
                    fail();
                }
            }
        }
        print_message("%s:", phx_backend_name(backend));
        for (int p = 0; p < PATHS; ++p) {
            print_message(" %s %u of %u within %.1e%s", path_names[p], compared[p], counts[p], worst[p], p + 1 < PATHS ? ";" : "\n");
            assert_true(counts[p] >= 100 && compared[p] >= 0.98 * counts[p]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_end_where_the_model_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
