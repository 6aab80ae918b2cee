/* Crowds: memory, validation, and the slicing of a frame into one backend call a tile. Implements phalanx/crowd.h; the work
 * itself is in kernel/crowd.inl. */
#define _DEFAULT_SOURCE /* madvise */
#include "../backend/ops.h"
#include "../backend/cpu.h"
#include "../api/report.h"
#include "../reference/scalar.h"
#include <stdlib.h>

static const float pi = 3.14159274101257f;

phx_crowd_params phx_crowd_params_default(void) {
    phx_crowd_params params;
    params.step_up = 0.6f, params.step_down = 0.6f;
    params.max_slope = 1.04719755f, params.max_foot_pitch = 0.78539816f, params.max_foot_roll = 0.52359878f;
    params.max_pelvis_drop = 0.5f, params.max_pelvis_rise = 0.2f;
    params.pelvis_speed = 1.5f;
    params.pelvis_half_life = 0.06f, params.ground_half_life = 0.05f, params.tilt_half_life = 0.05f, params.weight_half_life = 0.1f;
    params.hold_seconds = 0.1f;
    params.contact_height = 0.02f, params.swing_height = 0.12f, params.plant_height = 0.04f;
    params.max_extension = 0.99f, params.soft_start = 1.0f;
    params.pelvis_spring = 0, params.pelvis_firm = 1;
    params.enter_height = params.exit_height = params.enter_speed = params.exit_speed = 0.0f;
    params.lock = 1;
    params.release_distance = 0.2f, params.release_twist = 0.6f, params.release_half_life = 0.05f;
    params.ray_reuse = 0.0f;
    params.max_toe_bend = 0.6f;
    params.pelvis_shift = params.pelvis_pitch = params.pelvis_roll = 0.0f;
    params.max_pelvis_shift = 0.1f, params.max_pelvis_lean = 0.35f;
    params.still_tolerance = 0.0f;
    params.hip_speed = params.knee_speed = params.ankle_speed = 0.0f;
    return params;
}

phx_crowd_params phx_crowd_params_for_leg(float leg_length) {
    phx_crowd_params params = phx_crowd_params_default();
    if (!(2e-3f <= leg_length && leg_length <= 1e3f)) return params;
    const float scale = leg_length / 0.9f;
    params.step_up *= scale, params.step_down *= scale;
    params.max_pelvis_drop *= scale, params.max_pelvis_rise *= scale;
    params.contact_height *= scale, params.swing_height *= scale, params.plant_height *= scale;
    params.release_distance *= scale, params.max_pelvis_shift *= scale;
    return params;
}

phx_crowd_def phx_crowd_def_default(void) {
    phx_crowd_def def;
    memset(&def, 0, sizeof def);
    def.pelvis = PHX_NO_JOINT;
    for (int leg = 0; leg < PHX_MAX_LEGS; ++leg) def.legs[leg].ball = PHX_NO_JOINT;
    def.up = vec3(0.0f, 1.0f, 0.0f);
    def.unit = 1.0f;
    def.params = phx_crowd_params_default();
    return def;
}

static int finite3(phx_vec3 a) { return dot3(a, a) < 1e30f; }
static phx_vec3 apart(phx_vec3 point, phx_vec3 up, float height) { return scale3(up, height - dot3(point, up)); }

phx_status phx_leg_measure(phx_leg *leg, const phx_vec3 *positions, const phx_quat *rotations, phx_vec3 up, float ground_height,
                           const phx_vec3 *forward, phx_report *report) {
    if (!leg) return phx_reject(report, PHX_ERROR_NULL, "leg: 'leg' is NULL");
    if (!positions) return phx_reject(report, PHX_ERROR_NULL, "leg: 'positions' is NULL");
    if (!rotations) return phx_reject(report, PHX_ERROR_NULL, "leg: 'rotations' is NULL");
    const float norm = dot3(up, up);
    if (!(0.99f < norm && norm < 1.01f)) return phx_reject(report, PHX_ERROR_VALUE, "leg: 'up' has length %g, not 1", (double)sqrtf(norm));
    const struct {
        const char *name;
        uint16_t joint;
    } joints[] = {{"hip", leg->hip}, {"knee", leg->knee}, {"ankle", leg->ankle}, {"ball", leg->ball == PHX_NO_JOINT ? leg->ankle : leg->ball}};
    for (int k = 0; k < 4; ++k) {
        const uint16_t j = joints[k].joint;
        if (j == PHX_NO_JOINT) return phx_reject(report, PHX_ERROR_COUNT, "leg: '%s' is PHX_NO_JOINT; name its joint first", joints[k].name);
        if (!finite3(positions[j]) || !is_rotation(rotations[j]))
            return phx_reject(report, PHX_ERROR_VALUE, "leg: '%s[%u]' of the %s is not finite%s", finite3(positions[j]) ? "rotations" : "positions", j,
                              joints[k].name, finite3(positions[j]) ? ", or far from unit length" : " or longer than 1e15");
    }
    if (!(fabsf(ground_height) < 1e15f)) return phx_reject(report, PHX_ERROR_VALUE, "leg: 'ground_height' is %g, not finite or above 1e15", (double)ground_height);
    const phx_vec3 hip = positions[leg->hip], knee = positions[leg->knee], ankle = positions[leg->ankle];
    const uint16_t ball = leg->ball == PHX_NO_JOINT ? leg->ankle : leg->ball;
    const phx_vec3 thigh = sub3(knee, hip), shin = sub3(ankle, knee), normal = cross3(shin, thigh);
    const float squares = dot3(thigh, thigh) * dot3(shin, shin);
    int keeps = 0; /* its knee_forward */
    phx_vec3 out; /* at right angles to the thigh: where the knee of a straight leg would go */
    if (forward) out = sub3(scale3(*forward, dot3(thigh, thigh)), scale3(thigh, dot3(*forward, thigh)));
    else if (dot3(normal, normal) > 3e-4f * squares) out = cross3(normal, thigh); /* bent more than a degree */
    else if (dot3(leg->knee_forward, leg->knee_forward) > 1e-12f) keeps = 1, out = leg->knee_forward;
    else return phx_reject(report, PHX_ERROR_VALUE, "leg: the knee is straight within a degree and 'forward' is NULL; say which way it points");
    const float length = length3(out);
    if (!(length > 0.0f && length < 1e18f)) return phx_reject(report, PHX_ERROR_VALUE, "leg: 'forward' has no direction at right angles to the thigh");
    leg->heel_offset = rotate3(conjugate4(rotations[leg->ankle]), apart(ankle, up, ground_height));
    leg->ball_offset = rotate3(conjugate4(rotations[ball]), apart(positions[ball], up, ground_height));
    if (!keeps) leg->knee_forward = rotate3(conjugate4(rotations[leg->hip]), scale3(out, 1.0f / length));
    return phx_accept(report);
}

static int is_below(const phx_skeleton *skeleton, uint16_t joint, uint16_t above) {
    for (; joint != PHX_NO_JOINT; joint = skeleton->parents[joint])
        if (joint == above) return 1;
    return 0;
}

/* does its pelvis shift or lean? */
static int moves_pelvis(const phx_crowd_def *def) {
    const phx_crowd_params *p = &def->params;
    return def->pelvis != PHX_NO_JOINT && (0.0f < p->pelvis_shift || 0.0f < fabsf(p->pelvis_pitch) || 0.0f < p->pelvis_roll);
}

/* may its joints turn only so fast? */
static int slows_joints(const phx_crowd_params *p) { return 0.0f < p->hip_speed || 0.0f < p->knee_speed || 0.0f < p->ankle_speed; }

static int keeps_corrections(const phx_crowd_def *def) { return def->replay || 0.0f < def->params.still_tolerance; }

static phx_status check_def(const phx_crowd_def *def, phx_report *report) {
    static const char name[] = "crowd definition";
    if (!def) return phx_reject(report, PHX_ERROR_NULL, "%s: 'def' is NULL", name);
    const phx_status status = phx_skeleton_validate(&def->skeleton, report);
    if (status) return status;
    if (def->capacity == 0 || def->capacity > 16777216u)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'capacity' is %u, outside [1, 16777216]", name, def->capacity);
    if (def->leg_count == 0 || def->leg_count > PHX_MAX_LEGS)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'leg_count' is %u, outside [1, %d]", name, def->leg_count, PHX_MAX_LEGS);
    const float norm = dot3(def->up, def->up);
    if (!(0.999f < norm && norm < 1.001f)) return phx_reject(report, PHX_ERROR_VALUE, "%s: 'up' has length %g, not 1", name, (double)sqrtf(norm));
    if (phx_check_range(name, "unit", def->unit, 1e-6f, 1e6f, report)) return PHX_ERROR_VALUE;
    const uint32_t joints = def->skeleton.joint_count;
    if (def->pelvis != PHX_NO_JOINT && def->pelvis >= joints)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'pelvis' is joint %u, the skeleton has %u", name, def->pelvis, joints);
    for (uint32_t i = 0; i < def->leg_count; ++i) {
        const phx_leg *leg = def->legs + i;
        const struct {
            const char *name;
            uint16_t joint, above;
        } chain[] = {{"hip", leg->hip, PHX_NO_JOINT}, {"knee", leg->knee, leg->hip}, {"ankle", leg->ankle, leg->knee}, {"ball", leg->ball, leg->ankle}};
        for (uint32_t k = 0; k < 4; ++k) {
            if (k == 3 && leg->ball == PHX_NO_JOINT) break;
            if (k == 1 && leg->hip == 0 && leg->knee == 0 && leg->ankle == 0)
                return phx_reject(report, PHX_ERROR_HIERARCHY, "%s: 'legs[%u]' has hip, knee and ankle 0; set its joints", name, i);
            if (chain[k].joint >= joints)
                return phx_reject(report, PHX_ERROR_COUNT, "%s: 'legs[%u].%s' is joint %u, the skeleton has %u", name, i, chain[k].name, chain[k].joint, joints);
            if (k > 0 && (chain[k].joint == chain[k].above || !is_below(&def->skeleton, chain[k].joint, chain[k].above)))
                return phx_reject(report, PHX_ERROR_HIERARCHY, "%s: 'legs[%u].%s' is joint %u, which is not below the %s, joint %u", name, i, chain[k].name,
                                  chain[k].joint, chain[k - 1].name, chain[k].above);
        }
        if (def->pelvis != PHX_NO_JOINT && !is_below(&def->skeleton, leg->hip, def->pelvis))
            return phx_reject(report, PHX_ERROR_HIERARCHY, "%s: 'legs[%u].hip' is joint %u, which is not below the pelvis, joint %u", name, i, leg->hip, def->pelvis);
        for (uint32_t k = 0; k < i; ++k) {
            const phx_leg *other = def->legs + k;
            if (leg->hip == other->hip || leg->knee == other->knee || leg->ankle == other->ankle)
                return phx_reject(report, PHX_ERROR_HIERARCHY, "%s: 'legs[%u]' and 'legs[%u]' share a joint", name, k, i);
            const int later_below = is_below(&def->skeleton, leg->hip, other->hip);
            if (later_below || is_below(&def->skeleton, other->hip, leg->hip)) /* its correction would move a leg that is solved without it */
                return phx_reject(report, PHX_ERROR_HIERARCHY, "%s: 'legs[%u]' hangs below the hip of 'legs[%u]', joint %u; legs must hang side by side", name,
                                  later_below ? i : k, later_below ? k : i, later_below ? other->hip : leg->hip);
        }
        const struct {
            const char *name;
            phx_vec3 value;
        } vectors[] = {{"heel_offset", leg->heel_offset}, {"ball_offset", leg->ball_offset}, {"knee_forward", leg->knee_forward}};
        for (int k = 0; k < 3; ++k)
            if (!finite3(vectors[k].value))
                return phx_reject(report, PHX_ERROR_VALUE, "%s: 'legs[%u].%s' is (%g %g %g), not finite or longer than 1e15", name, i, vectors[k].name,
                                  (double)vectors[k].value.x, (double)vectors[k].value.y, (double)vectors[k].value.z);
        if (!(dot3(leg->knee_forward, leg->knee_forward) > 1e-12f))
            return phx_reject(report, PHX_ERROR_VALUE, "%s: 'legs[%u].knee_forward' is (0 0 0); say which way the knee points, in the hip joint's frame", name, i);
        if (!(0.0f <= leg->min_bend && leg->min_bend <= leg->max_bend && leg->max_bend <= pi))
            return phx_reject(report, PHX_ERROR_VALUE, "%s: 'legs[%u]' has min_bend %g and max_bend %g; set 0 <= min_bend <= max_bend <= pi, both 0 for no limit",
                              name, i, (double)leg->min_bend, (double)leg->max_bend);
    }
    const phx_crowd_params *p = &def->params;
    const struct {
        const char *name;
        float value, low, high;
    } ranges[] = {
        {"step_up", p->step_up, 1e-3f, 1e3f}, {"step_down", p->step_down, 1e-3f, 1e3f}, {"max_slope", p->max_slope, 0.01f, 1.55f},
        {"max_foot_pitch", p->max_foot_pitch, 0.0f, 1.0f}, {"max_foot_roll", p->max_foot_roll, 0.0f, 0.55f}, {"max_pelvis_drop", p->max_pelvis_drop, 0.0f, 1e3f},
        {"max_pelvis_rise", p->max_pelvis_rise, 0.0f, 1e3f}, {"pelvis_speed", p->pelvis_speed, 0.0f, 1e6f},
        {"pelvis_half_life", p->pelvis_half_life, 0.0f, 1e6f}, {"ground_half_life", p->ground_half_life, 0.0f, 1e6f},
        {"tilt_half_life", p->tilt_half_life, 0.0f, 1e6f}, {"weight_half_life", p->weight_half_life, 0.0f, 1e6f},
        {"hold_seconds", p->hold_seconds, 0.0f, 1e6f}, {"contact_height", p->contact_height, 0.0f, 1e3f},
        {"swing_height", p->swing_height, 1e-4f, 1e3f}, {"plant_height", p->plant_height, 0.0f, 1e3f},
        {"max_extension", p->max_extension, 0.5f, 1.0f}, {"soft_start", p->soft_start, 0.5f, 1.0f},
        {"enter_height", p->enter_height, 0.0f, 1e3f}, {"exit_height", p->exit_height, 0.0f, 1e3f},
        {"enter_speed", p->enter_speed, 0.0f, 1e6f}, {"exit_speed", p->exit_speed, 0.0f, 1e6f},
        {"release_distance", p->release_distance, 1e-4f, 1e3f}, {"release_twist", p->release_twist, 0.01f, 1.5f},
        {"release_half_life", p->release_half_life, 0.0f, 1e6f}, {"ray_reuse", p->ray_reuse, 0.0f, 1e3f},
        {"max_toe_bend", p->max_toe_bend, 0.0f, 1.5f},
        {"pelvis_shift", p->pelvis_shift, 0.0f, 1.0f}, {"max_pelvis_shift", p->max_pelvis_shift, 0.0f, 1e3f},
        {"pelvis_pitch", p->pelvis_pitch, -1.0f, 1.0f}, {"pelvis_roll", p->pelvis_roll, 0.0f, 1.0f},
        {"max_pelvis_lean", p->max_pelvis_lean, 0.0f, 1.0f}, {"still_tolerance", p->still_tolerance, 0.0f, 1.0f},
        {"hip_speed", p->hip_speed, 0.0f, 1e6f}, {"knee_speed", p->knee_speed, 0.0f, 1e6f}, {"ankle_speed", p->ankle_speed, 0.0f, 1e6f},
    };
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; ++k)
        if (phx_check_range("crowd params", ranges[k].name, ranges[k].value, ranges[k].low, ranges[k].high, report)) return PHX_ERROR_VALUE;
    if (p->swing_height <= p->contact_height)
        return phx_reject(report, PHX_ERROR_VALUE, "crowd params: 'swing_height' is %g, not above 'contact_height' %g", (double)p->swing_height, (double)p->contact_height);
    if (p->exit_height > 0.0f && p->exit_height < p->enter_height)
        return phx_reject(report, PHX_ERROR_VALUE, "crowd params: 'exit_height' is %g, below 'enter_height' %g", (double)p->exit_height, (double)p->enter_height);
    if (p->exit_speed > 0.0f && p->exit_speed < p->enter_speed)
        return phx_reject(report, PHX_ERROR_VALUE, "crowd params: 'exit_speed' is %g, below 'enter_speed' %g", (double)p->exit_speed, (double)p->enter_speed);
    for (uint32_t i = 0; i < def->leg_count; ++i)
        if (moves_pelvis(def) && def->legs[i].hip == def->pelvis)
            return phx_reject(report, PHX_ERROR_HIERARCHY, "%s: 'legs[%u].hip' is the pelvis itself, which cannot shift or lean then", name, i);
    if (!!def->allocator.allocate != !!def->allocator.release)
        return phx_reject(report, PHX_ERROR_NULL, "%s: 'allocator' has only one of allocate and release", name);
    return PHX_OK;
}

static void prepare_setup(const phx_crowd_def *def, const uint16_t *slots, phx_crowd_setup *setup) {
    const phx_crowd_params *p = &def->params;
    const float per_metre = 1.0f / def->unit;
    float unused;
    setup->leg_count = def->leg_count;
    const phx_vec3 up = def->up;
    setup->up_axis = up.x == 0.0f && up.y == 1.0f && up.z == 0.0f ? PHX_UP_Y : up.x == 0.0f && up.y == 0.0f && up.z == 1.0f ? PHX_UP_Z : PHX_UP_ANY;
    setup->up = setup->up_axis == PHX_UP_ANY ? scale3(up, 1.0f / length3(up)) : up;
    const phx_vec3 spare = reject3(spare_direction(setup->up), setup->up);
    setup->level_a = scale3(spare, 1.0f / length3(spare)), setup->level_b = cross3(setup->up, setup->level_a);
    setup->scaled = def->scaled;
    for (uint32_t i = 0; i < def->leg_count; ++i) {
        const phx_leg *leg = def->legs + i;
        phx_leg_setup *out = setup->legs + i;
        out->hip = slots[leg->hip], out->knee = slots[leg->knee], out->ankle = slots[leg->ankle];
        out->ball = leg->ball == PHX_NO_JOINT ? out->ankle : slots[leg->ball];
        out->hip_parent = setup->plan.parents[out->hip], out->knee_parent = setup->plan.parents[out->knee];
        out->ankle_parent = setup->plan.parents[out->ankle], out->ball_parent = setup->plan.parents[out->ball];
        out->hip_joint = leg->hip, out->knee_joint = leg->knee, out->ankle_joint = leg->ankle, out->ball_joint = leg->ball;
        out->heel_offset = leg->heel_offset, out->ball_offset = leg->ball_offset, out->knee_forward = leg->knee_forward;
        out->limits = leg->max_bend > 0.0f;
        bend_limits1(leg->min_bend, leg->max_bend, &out->short_at_min_bend, &out->open_at_max_bend);
    }
    setup->pelvis_joint = def->pelvis;
    setup->pelvis_slot = def->pelvis == PHX_NO_JOINT ? PHX_NO_JOINT : slots[def->pelvis];
    setup->pelvis_parent = def->pelvis == PHX_NO_JOINT ? PHX_NO_JOINT : setup->plan.parents[setup->pelvis_slot];
    setup->step_up = p->step_up * per_metre;
    setup->ray_length = (p->step_up + p->step_down) * per_metre;
    sincos1(p->max_slope, &unused, &setup->cos_max_slope);
    sincos1(p->max_foot_pitch, &setup->sin_max_pitch, &unused), sincos1(p->max_foot_roll, &setup->sin_max_roll, &unused);
    sincos1(p->max_toe_bend * 0.5f, &setup->sin_half_toe, &unused);
    setup->max_pelvis_drop = p->max_pelvis_drop * per_metre, setup->max_pelvis_rise = p->max_pelvis_rise * per_metre;
    setup->pelvis_speed = p->pelvis_speed * per_metre;
    setup->pelvis_half_life = p->pelvis_half_life, setup->ground_half_life = p->ground_half_life;
    setup->tilt_half_life = p->tilt_half_life, setup->weight_half_life = p->weight_half_life;
    setup->hold_seconds = p->hold_seconds;
    setup->contact_height = p->contact_height * per_metre, setup->swing_height = p->swing_height * per_metre;
    setup->inverse_swing_range = 1.0f / (setup->swing_height - setup->contact_height);
    setup->plant_height = p->plant_height * per_metre;
    setup->max_extension = p->max_extension, setup->soft_start = p->soft_start;
    /* where one of two is given the other one is as far from it as when both are derived */
    const float enter_height = p->enter_height > 0.0f ? p->enter_height : p->exit_height / 1.4f, exit_height = p->exit_height > 0.0f ? p->exit_height : p->enter_height * 1.4f;
    const float enter_speed = p->enter_speed > 0.0f ? p->enter_speed : p->exit_speed / 2.4f, exit_speed = p->exit_speed > 0.0f ? p->exit_speed : p->enter_speed * 2.4f;
    setup->enter_height = enter_height * per_metre, setup->exit_height = exit_height * per_metre;
    setup->enter_speed = enter_speed * per_metre, setup->exit_speed = exit_speed * per_metre;
    setup->lock = p->lock != 0, setup->pelvis_spring = p->pelvis_spring != 0, setup->pelvis_firm = p->pelvis_firm != 0, setup->bodies = def->bodies != 0, setup->replay = keeps_corrections(def);
    const float distance = p->release_distance * per_metre, reuse = p->ray_reuse * per_metre;
    setup->release_distance_squared = distance * distance;
    setup->relock_distance_squared = distance * distance * 0.0625f; /* a quarter of the distance, so that a released foot does not catch at once */
    sincos1(p->release_twist * 0.5f, &setup->sin_half_release_twist, &unused);
    setup->release_half_life = p->release_half_life;
    setup->ray_reuse_squared = reuse * reuse;
    setup->grip_half_life = 0.02f;
    setup->pelvis_shift = p->pelvis_shift, setup->max_pelvis_shift = p->max_pelvis_shift * per_metre;
    setup->pelvis_pitch = p->pelvis_pitch, setup->pelvis_roll = p->pelvis_roll, setup->max_pelvis_lean = p->max_pelvis_lean;
    setup->still = p->still_tolerance * per_metre;
    setup->joint_speed[0] = p->hip_speed, setup->joint_speed[1] = p->knee_speed, setup->joint_speed[2] = p->ankle_speed;
    setup->fetch_near = phx_cpu_fetches_near();
    setup->pelvis_rate = 1.67834699f / max1(p->pelvis_half_life, 1e-6f); /* (1 + x) e^-x = 1/2 */
}

/* Windows has no aligned_alloc, and frees aligned memory by a call of its own. */
#if defined(_WIN32)
#include <malloc.h>
#define take_aligned(alignment, size) _aligned_malloc((size), (alignment))
#define free_aligned _aligned_free
#else
#define take_aligned aligned_alloc
#define free_aligned free
#endif
/* A large crowd's rows are walked every frame: huge pages, where there are some, spare it the page walks. */
#if defined(__linux__)
#include <sys/mman.h>
static void *take_huge(size_t size) {
    const size_t huge = (size_t)1 << 21;
    if (size < 2 * huge) return NULL;
    void *memory = take_aligned(huge, (size + huge - 1) / huge * huge);
    if (memory) madvise(memory, size / huge * huge, MADV_HUGEPAGE); /* a wish: nothing depends on it */
    return memory;
}
#else
static void *take_huge(size_t size) {
    (void)size;
    return NULL;
}
#endif
static void *default_allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    void *memory = take_huge(size);
    return memory ? memory : take_aligned(alignment, size);
}
static void default_release(void *context, void *memory) {
    (void)context;
    free_aligned(memory);
}

/* NULL, and a report, where it gives what rows cannot lie in. NULL of its own is the caller's to report. */
static void *allocate(const phx_allocator *allocator, size_t size, phx_report *report) {
    void *memory = allocator->allocate(allocator->context, size, 64);
    if ((uintptr_t)memory % 64 == 0) return memory;
    phx_reject(report, PHX_ERROR_ALIGN, "crowd definition: 'allocator.allocate' was asked for %zu bytes at a multiple of 64 and returned %p; let it heed 'alignment'",
               size, memory);
    allocator->release(allocator->context, memory);
    return NULL;
}

/* Hands out 64-byte aligned pieces of one allocation; with base NULL it only measures. */
typedef struct arena {
    char *base;
    size_t used;
} arena;
static void *take(arena *a, size_t size) {
    void *piece = a->base ? a->base + a->used : NULL;
    a->used += (size + 63) / 64 * 64;
    return piece;
}

static phx_crowd *lay_out(arena *a, const phx_crowd_def *def, uint32_t slot_count, uint16_t **joints, uint16_t **parents) {
    const size_t tiles = (def->capacity + PHX_TILE_CHARACTERS - 1) / PHX_TILE_CHARACTERS;
    const size_t workspaces = def->workspaces ? def->workspaces : tiles, legs = def->leg_count;
    phx_crowd *crowd = take(a, sizeof *crowd);
    *joints = take(a, slot_count * sizeof **joints);
    *parents = take(a, slot_count * sizeof **parents);
    phx_character_state *characters = take(a, tiles * PHX_TILE_GROUPS * sizeof *characters);
    phx_leg_state *leg_states = take(a, tiles * PHX_TILE_GROUPS * legs * sizeof *leg_states);
    phx_rows1 *velocities = def->params.pelvis_spring ? take(a, tiles * PHX_TILE_GROUPS * sizeof *velocities) : NULL;
    phx_carried_plane *carried = def->bodies ? take(a, tiles * PHX_TILE_GROUPS * legs * sizeof *carried) : NULL;
    phx_leg_replay *replays = keeps_corrections(def) ? take(a, tiles * PHX_TILE_GROUPS * legs * sizeof *replays) : NULL;
    phx_leg_turns *turns = slows_joints(&def->params) ? take(a, tiles * PHX_TILE_GROUPS * legs * sizeof *turns) : NULL;
    phx_pelvis_state *pelvises = moves_pelvis(def) ? take(a, tiles * PHX_TILE_GROUPS * sizeof *pelvises) : NULL;
    const int still = 0.0f < def->params.still_tolerance;
    phx_character_still *stills = still ? take(a, tiles * PHX_TILE_GROUPS * sizeof *stills) : NULL;
    phx_leg_still *still_legs = still ? take(a, tiles * PHX_TILE_GROUPS * legs * sizeof *still_legs) : NULL;
    /* Workspaces lie one after the other, four pages apart where workers have them: processors fetch ahead of what is written, and a worker
     * would take its neighbour's lines away all the time. Two on a virtual Zen 5 took up to twice as long side by side, prepared 1.5 times as long
     * one page apart, and lost nothing from four pages on; at other hours of that machine 5 to 11 %. */
    const size_t first_workspace = a->used;
    phx_rows4 *root_rotation = take(a, PHX_TILE_GROUPS * sizeof *root_rotation);
    phx_rows3 *root_position = take(a, PHX_TILE_GROUPS * sizeof *root_position);
    phx_rows1 *good = take(a, PHX_TILE_GROUPS * sizeof *good);
    phx_joint_rows *joint_rows = take(a, PHX_TILE_GROUPS * slot_count * sizeof *joint_rows);
    phx_rows3 *scales = def->scaled ? take(a, PHX_TILE_GROUPS * slot_count * sizeof *scales) : NULL;
    phx_foot_rows *feet = take(a, PHX_TILE_GROUPS * legs * sizeof *feet);
    phx_ray_block *rays = take(a, PHX_TILE_GROUPS * legs * 2 * sizeof *rays);
    phx_prepared *prepared = take(a, sizeof *prepared);
    const size_t workspace_bytes = a->used - first_workspace + (def->workspaces > 1 ? 16384 : 0);
    a->used += (workspaces - 1) * workspace_bytes;
    if (!crowd) return NULL;
    crowd->prepared = prepared, crowd->workspace_bytes = workspace_bytes;
    crowd->tiles = (uint32_t)tiles, crowd->workspaces = (uint32_t)workspaces, crowd->per_tile = def->workspaces == 0;
    crowd->characters = characters, crowd->legs = leg_states, crowd->velocities = velocities, crowd->carried = carried, crowd->replays = replays;
    crowd->turns = turns, crowd->pelvises = pelvises, crowd->stills = stills, crowd->still_legs = still_legs;
    crowd->root_rotation = root_rotation, crowd->root_position = root_position;
    crowd->good = good, crowd->joints = joint_rows, crowd->scales = scales, crowd->feet = feet, crowd->rays = rays;
    return crowd;
}

phx_crowd *phx_crowd_create(const phx_crowd_def *def, phx_report *report) {
    if (check_def(def, report)) return NULL;
    phx_allocator allocator = def->allocator;
    if (!allocator.allocate) allocator.allocate = default_allocate, allocator.release = default_release;

    /* the plan is made in a scratch of the skeleton's size, then copied into the crowd */
    const size_t joint_count = def->skeleton.joint_count;
    const size_t scratch_size = (3 * joint_count * sizeof(uint16_t) + 63) / 64 * 64;
    phx_reject(report, PHX_ERROR_MEMORY, "crowd: no memory for a plan of %zu joints", joint_count);
    uint16_t *scratch = allocate(&allocator, scratch_size, report);
    if (!scratch) return NULL;
    uint16_t *slots = scratch + 2 * joint_count, wanted[PHX_MAX_LEGS * 2 + 1];
    uint32_t wanted_count = 0;
    for (uint32_t i = 0; i < def->leg_count; ++i) {
        wanted[wanted_count++] = def->legs[i].ankle;
        if (def->legs[i].ball != PHX_NO_JOINT) wanted[wanted_count++] = def->legs[i].ball;
    }
    if (def->pelvis != PHX_NO_JOINT) wanted[wanted_count++] = def->pelvis;
    phx_walk_plan plan;
    phx_plan_walk(&def->skeleton, wanted, wanted_count, scratch, scratch + joint_count, slots, &plan);

    arena measure = {NULL, 0};
    uint16_t *joints, *parents;
    lay_out(&measure, def, plan.count, &joints, &parents);
    phx_reject(report, PHX_ERROR_MEMORY, "crowd: no memory for %u characters (%zu bytes)", def->capacity, measure.used);
    void *memory = allocate(&allocator, measure.used, report);
    if (!memory) {
        allocator.release(allocator.context, scratch);
        return NULL;
    }
    memset(memory, 0, measure.used);
    arena real = {memory, 0};
    phx_crowd *crowd = lay_out(&real, def, plan.count, &joints, &parents);
    memcpy(joints, plan.joints, plan.count * sizeof *joints);
    memcpy(parents, plan.parents, plan.count * sizeof *parents);
    crowd->backend = def->backend ? def->backend : phx_backend_best();
    crowd->def = *def;
    crowd->def.skeleton.parents = NULL; /* the caller's */
    crowd->allocator = allocator;
    crowd->memory = memory, crowd->size = measure.used;
    crowd->capacity = def->capacity;
    crowd->setup.plan.count = plan.count, crowd->setup.plan.joints = joints, crowd->setup.plan.parents = parents;
    prepare_setup(def, slots, &crowd->setup);
    allocator.release(allocator.context, scratch);

    /* what never changes in a ray is written once */
    const size_t blocks = (size_t)PHX_TILE_GROUPS * def->leg_count * 2;
    for (size_t b = 0; b < crowd->workspaces * blocks; ++b) {
        phx_ray_block *ray = (phx_ray_block *)phx_in_workspace(crowd, crowd->rays, b / blocks) + b % blocks;
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            ray->dir_x[lane] = -def->up.x, ray->dir_y[lane] = -def->up.y, ray->dir_z[lane] = -def->up.z;
            ray->mask[lane] = 0xFFFFFFFFu, ray->geomID[lane] = ray->instID[lane] = PHX_NO_HIT;
        }
    }
    phx_accept(report);
    return crowd;
}

void phx_crowd_destroy(phx_crowd *crowd) {
    if (!crowd) return;
    const phx_allocator allocator = crowd->allocator;
    allocator.release(allocator.context, crowd->memory);
}

size_t phx_crowd_memory(const phx_crowd *crowd) { return crowd ? crowd->size : 0; }
const phx_backend *phx_crowd_backend(const phx_crowd *crowd) { return crowd ? crowd->backend : NULL; }

const uint16_t *phx_crowd_joints(const phx_crowd *crowd, uint32_t *count) {
    if (count) *count = crowd ? crowd->setup.plan.count : 0;
    return crowd ? crowd->setup.plan.joints : NULL;
}

uint32_t phx_crowd_tiles(const phx_crowd *crowd) { return crowd ? crowd->tiles : 0; }
uint32_t phx_crowd_frame_tiles(const phx_crowd *crowd, const phx_crowd_frame *frame) {
    if (!crowd || !frame) return 0;
    const uint32_t count = frame->count < crowd->capacity ? frame->count : crowd->capacity;
    return (count + PHX_TILE_CHARACTERS - 1) / PHX_TILE_CHARACTERS;
}

/* `thorough` looks for poses that overlap too, which where characters are interleaved takes as long as part of a tile */
static phx_status validate(const phx_crowd *crowd, const phx_crowd_frame *frame, int thorough, phx_report *report) {
    static const char name[] = "crowd frame";
    if (!crowd) return phx_reject(report, PHX_ERROR_NULL, "%s: 'crowd' is NULL", name);
    if (!frame) return phx_reject(report, PHX_ERROR_NULL, "%s: 'frame' is NULL", name);
    if (frame->count > crowd->capacity)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'count' is %u, the capacity is %u", name, frame->count, crowd->capacity);
    if (!crowd->per_tile && frame->worker >= crowd->workspaces)
        return phx_reject(report, PHX_ERROR_COUNT, "%s: 'worker' is %u, the crowd has %u workspaces", name, frame->worker, crowd->workspaces);
    if (!frame->bodies && crowd->setup.bodies) return phx_reject(report, PHX_ERROR_NULL, "%s: 'bodies' is NULL, but the crowd was defined with bodies", name);
    if (frame->bodies && !crowd->setup.bodies) return phx_reject(report, PHX_ERROR_STATE, "%s: 'bodies' are given, but the crowd was defined without", name);
    if (frame->count == 0) return phx_accept(report);
    const phx_walk_plan *plan = &crowd->setup.plan;
    const uint32_t joints = frame->poses.layout == PHX_POSE_COMPACT ? plan->count : plan->joints[plan->count - 1] + 1u;
    phx_status status = phx_check_poses(name, &frame->poses, crowd->setup.scaled, frame->count, joints, report);
    if (!status && thorough) status = phx_check_poses_apart(name, &frame->poses, crowd->setup.scaled, frame->count, joints, report);
    if (status) return status;
    const phx_field fields[] = {
        {"root_position", &frame->root_position, 12, 0, 0},
        {"root_rotation", &frame->root_rotation, 16, 0, 0},
        {"weight", &frame->weight, 4, 0, 0},
        {"flags", &frame->flags, 4, 0, 0},
        {"support", &frame->support, 4 * (size_t)crowd->setup.leg_count, 0, 0},
    };
    status = phx_check_fields(name, fields, sizeof fields / sizeof *fields, frame->count, report);
    for (uint32_t i = 0; !status && thorough && !crowd->setup.replay && frame->flags.data && i < frame->count; ++i) {
        uint32_t flags;
        memcpy(&flags, (const char *)frame->flags.data + i * frame->flags.stride, sizeof flags);
        const uint32_t lod = flags >> PHX_CHARACTER_LOD_SHIFT & 3;
        if (lod == PHX_LOD_REPLAY || lod == PHX_LOD_PELVIS)
            status = phx_reject(report, PHX_ERROR_STATE, "%s: 'flags' of character %u ask for replay, but the crowd was defined with replay 0; set def.replay = 1", name, i);
    }
    return status ? status : phx_accept(report);
}

phx_status phx_crowd_validate(const phx_crowd *crowd, const phx_crowd_frame *frame, phx_report *report) { return validate(crowd, frame, 1, report); }

phx_crowd_step phx_crowd_step_of(const phx_crowd_setup *setup, float dt) {
    phx_crowd_step step;
    step.dt = dt;
    step.pelvis_keep = keep1(dt, setup->pelvis_half_life), step.ground_keep = keep1(dt, setup->ground_half_life);
    step.tilt_keep = keep1(dt, setup->tilt_half_life), step.weight_keep = keep1(dt, setup->weight_half_life);
    step.grip_keep = keep1(dt, setup->grip_half_life), step.release_keep = keep1(dt, setup->release_half_life);
    for (int k = 0; k < 3; ++k) half_turn_in1(dt, setup->joint_speed[k], step.turn_sine + k, step.turn_cosine + k);
    return step;
}

/* to be solved, or only prepared */
static phx_crowd_task task_of(phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile, int solved) {
    const phx_crowd_setup *setup = &crowd->setup;
    const size_t groups = PHX_TILE_GROUPS, workspace = phx_workspace_of(crowd, frame, tile), state = tile * groups;
    const float dt = frame->dt > 0.0f ? min1(frame->dt, 1e6f) : 0.0f; /* NaN and negative: 0 */
    phx_crowd_task task;
    task.setup = setup, task.frame = frame;
    task.step = solved ? phx_crowd_step_of(setup, dt) : (phx_crowd_step){.dt = dt}; /* preparing asks for no filter */
    task.first = tile * PHX_TILE_CHARACTERS;
    task.count = phx_tile_count(frame, tile);
    task.root_rotation = phx_in_workspace(crowd, crowd->root_rotation, workspace);
    task.root_position = phx_in_workspace(crowd, crowd->root_position, workspace);
    task.good = phx_in_workspace(crowd, crowd->good, workspace);
    task.joints = phx_in_workspace(crowd, crowd->joints, workspace);
    task.scales = phx_in_workspace(crowd, crowd->scales, workspace);
    task.feet = phx_in_workspace(crowd, crowd->feet, workspace);
    task.rays = phx_in_workspace(crowd, crowd->rays, workspace);
    task.characters = crowd->characters + state;
    task.legs = crowd->legs + state * setup->leg_count;
    task.velocities = crowd->velocities ? crowd->velocities + state : NULL;
    task.carried = crowd->carried ? crowd->carried + state * setup->leg_count : NULL;
    task.replays = crowd->replays ? crowd->replays + state * setup->leg_count : NULL;
    task.turns = crowd->turns ? crowd->turns + state * setup->leg_count : NULL;
    task.pelvises = crowd->pelvises ? crowd->pelvises + state : NULL;
    task.stills = crowd->stills ? crowd->stills + state : NULL;
    task.still_legs = crowd->still_legs ? crowd->still_legs + state * setup->leg_count : NULL;
    task.wanted = NULL;
    return task;
}

phx_ray_blocks phx_crowd_prepare(phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile) {
    phx_ray_blocks rays;
    memset(&rays, 0, sizeof rays);
    if (validate(crowd, frame, 0, NULL) || tile >= phx_crowd_frame_tiles(crowd, frame)) return rays;
    phx_crowd_task task = task_of(crowd, frame, tile, 0);
    task.wanted = rays.active;
    *phx_prepared_of(crowd, frame, tile) = (phx_prepared){tile + 1, task.count};
    crowd->backend->crowd_prepare(&task);
    const uint32_t groups = (task.count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES;
    rays.blocks = task.rays, rays.count = groups * crowd->setup.leg_count * 2;
    rays.first_character = task.first, rays.characters = task.count, rays.legs = crowd->setup.leg_count;
    return rays;
}

phx_status phx_crowd_solve(phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t tile) {
    const phx_status status = validate(crowd, frame, 0, NULL);
    if (status) return status;
    if (tile >= phx_crowd_frame_tiles(crowd, frame)) return PHX_ERROR_COUNT;
    const phx_crowd_task task = task_of(crowd, frame, tile, 1);
    phx_prepared *prepared = phx_prepared_of(crowd, frame, tile);
    if (!phx_is_prepared(prepared, tile, task.count)) return PHX_ERROR_STATE;
    prepared->tile = 0;
    crowd->backend->crowd_solve(&task);
    return PHX_OK;
}

static int is_valid(const phx_crowd *crowd, uint32_t character) {
    return phx_is_marked(crowd->legs + character / PHX_BLOCK_LANES * crowd->setup.leg_count, character % PHX_BLOCK_LANES, PHX_MARK_VALID);
}

phx_status phx_crowd_foot(const phx_crowd *crowd, uint32_t character, uint32_t leg, phx_foot_info *info) {
    if (!crowd || !info) return PHX_ERROR_NULL;
    if (character >= crowd->capacity || leg >= crowd->setup.leg_count) return PHX_ERROR_COUNT;
    const uint32_t group = character / PHX_BLOCK_LANES, lane = character % PHX_BLOCK_LANES;
    const phx_leg_state *state = crowd->legs + group * crowd->setup.leg_count + leg;
    if (!is_valid(crowd, character)) { /* left alone in the last frame, or never solved */
        memset(info, 0, sizeof *info);
        info->flags = state->flags.v[lane] ? state->flags.v[lane] : (uint32_t)PHX_FLAG_INACTIVE;
        info->body = PHX_NO_HIT;
        return PHX_OK;
    }
    const phx_rows3 *root = &crowd->characters[group].root;
    const phx_vec3 at = vec3(root->x[lane], root->y[lane], root->z[lane]);
    info->ground_point = add3(at, vec3(state->point.x[lane], state->point.y[lane], state->point.z[lane]));
    info->ground_normal = vec3(state->normal.x[lane], state->normal.y[lane], state->normal.z[lane]);
    info->target = add3(at, vec3(state->target.x[lane], state->target.y[lane], state->target.z[lane]));
    info->bend = vec3(state->bend.x[lane], state->bend.y[lane], state->bend.z[lane]);
    info->weight = state->weight.v[lane], info->support = phx_support_of(state, lane), info->residual = state->residual.v[lane];
    info->flags = state->flags.v[lane] & PHX_FLAGS_OUTSIDE, info->body = state->body.v[lane];
    info->locked = (uint32_t)phx_is_marked(state, lane, PHX_MARK_LOCKED);
    info->lock_point = vec3(state->lock_point.x[lane], state->lock_point.y[lane], state->lock_point.z[lane]);
    if (!crowd->setup.bodies) info->lock_point = add3(at, info->lock_point);
    info->lock_offset = vec3(state->offset.x[lane], state->offset.y[lane], state->offset.z[lane]);
    info->still = crowd->stills && 1.5f < crowd->stills[group].settled.v[lane];
    return PHX_OK;
}

float phx_crowd_pelvis(const phx_crowd *crowd, uint32_t character) {
    if (!crowd || character >= crowd->capacity) return 0.0f;
    const phx_character_state *state = crowd->characters + character / PHX_BLOCK_LANES;
    return is_valid(crowd, character) ? state->pelvis.v[character % PHX_BLOCK_LANES] : 0.0f;
}

phx_status phx_crowd_pelvis_info(const phx_crowd *crowd, uint32_t character, phx_pelvis_info *info) {
    if (!crowd || !info) return PHX_ERROR_NULL;
    if (character >= crowd->capacity) return PHX_ERROR_COUNT;
    const uint32_t group = character / PHX_BLOCK_LANES, lane = character % PHX_BLOCK_LANES;
    info->translation = scale3(crowd->setup.up, phx_crowd_pelvis(crowd, character));
    info->rotation = quat_identity();
    if (!crowd->pelvises || !is_valid(crowd, character)) return PHX_OK;
    const phx_rows3 *shift = &crowd->pelvises[group].shift, *lean = &crowd->pelvises[group].lean;
    info->translation = add3(info->translation, vec3(shift->x[lane], shift->y[lane], shift->z[lane]));
    const phx_vec3 leaning = vec3(lean->x[lane], lean->y[lane], lean->z[lane]), axis = cross3(crowd->setup.up, leaning);
    const float angle = length3(leaning);
    float sine, cosine;
    sincos1(angle * 0.5f, &sine, &cosine);
    if (0.0f < angle) info->rotation = quat(axis.x * (sine / angle), axis.y * (sine / angle), axis.z * (sine / angle), cosine);
    return PHX_OK;
}
