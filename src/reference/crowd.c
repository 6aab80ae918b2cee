/* Foot placement in plain scalar C, one character at a time. The lanes' twin is kernel/crowd.inl; the stages are described in
 * phalanx/crowd.h. */
#include "reference.h"
#include "pose.h"
#include "memory.h"

static float saturate(float a) { return min1(max1(a, 0.0f), 1.0f); }
static float mix(float a, float b, float t) { return a + (b - a) * t; }
static phx_vec3 mix3(phx_vec3 a, phx_vec3 b, float t) { return add3(a, scale3(sub3(b, a), t)); }
static phx_vec3 unit3(phx_vec3 a) { return scale3(a, 1.0f / sqrtf(max1(dot3(a, a), 1e-30f))); }
static float ease(float old, float wanted, float keep) { return keep < 1.0f ? mix(wanted, old, keep) : old; }
static float settle(float a) { return 1e-9f < fabsf(a) ? a : 0.0f; }
static phx_vec3 settle3(phx_vec3 a) { return vec3(settle(a.x), settle(a.y), settle(a.z)); }

/* Heights and turns about up: fewer operations where up is an axis, and the same ones as in the lanes. */
typedef struct up_of {
    phx_vec3 v;
    phx_up axis;
} up_of;
static up_of up_in(const phx_crowd_setup *setup) { return (up_of){setup->up, setup->up_axis}; }
static float height_of(up_of up, phx_vec3 a) { return up.axis == PHX_UP_Y ? a.y : up.axis == PHX_UP_Z ? a.z : dot3(a, up.v); }
static phx_vec3 raised(up_of up, phx_vec3 a, float by) {
    switch (up.axis) {
    case PHX_UP_Y: return vec3(a.x, a.y + by, a.z);
    case PHX_UP_Z: return vec3(a.x, a.y, a.z + by);
    default: return add3(a, scale3(up.v, by));
    }
}
static phx_vec3 at_height(up_of up, phx_vec3 a, float height) {
    switch (up.axis) {
    case PHX_UP_Y: return vec3(a.x, height, a.z);
    case PHX_UP_Z: return vec3(a.x, a.y, height);
    default: return add3(sub3(a, scale3(up.v, dot3(a, up.v))), scale3(up.v, height));
    }
}
static phx_vec3 level(up_of up, phx_vec3 a) {
    return up.axis == PHX_UP_ANY ? sub3(a, scale3(up.v, dot3(a, up.v))) : at_height(up, a, 0.0f);
}
static float level_dot(up_of up, phx_vec3 a, phx_vec3 b) {
    switch (up.axis) {
    case PHX_UP_Y: return a.x * b.x + a.z * b.z;
    case PHX_UP_Z: return a.x * b.x + a.y * b.y;
    default: return dot3(a, b);
    }
}
static float level_sine(up_of up, phx_vec3 a, phx_vec3 b) {
    switch (up.axis) {
    case PHX_UP_Y: return a.z * b.x - a.x * b.z;
    case PHX_UP_Z: return a.x * b.y - a.y * b.x;
    default: return dot3(cross3(a, b), up.v);
    }
}
static phx_vec3 level_row(const phx_crowd_setup *setup, const phx_level_rows *rows, uint32_t lane) {
    const float a = rows->a[lane], b = rows->b[lane];
    switch (setup->up_axis) {
    case PHX_UP_Y: return vec3(a, 0.0f, b);
    case PHX_UP_Z: return vec3(a, b, 0.0f);
    default: return add3(scale3(setup->level_a, a), scale3(setup->level_b, b));
    }
}
static void set_level_row(const phx_crowd_setup *setup, phx_level_rows *rows, uint32_t lane, phx_vec3 v) {
    rows->a[lane] = setup->up_axis == PHX_UP_ANY ? dot3(v, setup->level_a) : v.x;
    rows->b[lane] = setup->up_axis == PHX_UP_ANY ? dot3(v, setup->level_b) : setup->up_axis == PHX_UP_Y ? v.z : v.y;
}
static phx_vec3 up_cross(up_of up, phx_vec3 a) {
    switch (up.axis) {
    case PHX_UP_Y: return vec3(a.z, 0.0f, -a.x);
    case PHX_UP_Z: return vec3(-a.y, a.x, 0.0f);
    default: return cross3(up.v, a);
    }
}
static phx_vec3 up_mix(up_of up, phx_vec3 a, float t) {
    switch (up.axis) {
    case PHX_UP_Y: return vec3(a.x * t, mix(1.0f, a.y, t), a.z * t);
    case PHX_UP_Z: return vec3(a.x * t, a.y * t, mix(1.0f, a.z, t));
    default: return mix3(up.v, a, t);
    }
}
static phx_vec3 about_up(up_of up, float sine, float versine, phx_vec3 a) {
    const phx_vec3 side = up_cross(up, a);
    switch (up.axis) {
    case PHX_UP_Y: return vec3(a.x + (side.x * sine - a.x * versine), a.y, a.z + (side.z * sine - a.z * versine));
    case PHX_UP_Z: return vec3(a.x + (side.x * sine - a.x * versine), a.y + (side.y * sine - a.y * versine), a.z);
    default: return add3(a, add3(scale3(side, sine), scale3(cross3(up.v, side), versine)));
    }
}

/* The shortest rotation that takes up to the unit vector `tilt`, less than a right angle away. */
typedef struct lean {
    phx_vec3 tilt;
    float share; /* 1 / (1 + cosine) */
    phx_quat turn;
} lean;
static lean lean_to(up_of up, phx_vec3 tilt) {
    const float w = 1.0f + height_of(up, tilt), inverse = 1.0f / sqrtf(some1(w + w));
    const phx_vec3 axis = scale3(up_cross(up, tilt), inverse);
    return (lean){tilt, inverse * inverse + inverse * inverse, {axis.x, axis.y, axis.z, w * inverse}};
}
static phx_vec3 leaned(up_of up, const lean *l, phx_vec3 a) {
    const phx_vec3 t = l->tilt;
    if (up.axis == PHX_UP_ANY) {
        const float height = dot3(a, up.v), part = (height + dot3(a, t)) * l->share;
        return sub3(add3(a, scale3(t, (height + height) - part)), scale3(up.v, part));
    }
    const float height = height_of(up, a), part = level_dot(up, t, a), rest = height - part * l->share;
    const float new_height = height_of(up, t) * height - part;
    if (up.axis == PHX_UP_Y) return vec3(a.x + t.x * rest, new_height, a.z + t.z * rest);
    return vec3(a.x + t.x * rest, a.y + t.y * rest, new_height);
}
static phx_quat lean_after(up_of up, const lean *l, float sine, float cosine) {
    const phx_quat q = l->turn;
    switch (up.axis) {
    case PHX_UP_Y: return quat(q.x * cosine - q.z * sine, q.w * sine, q.z * cosine + q.x * sine, q.w * cosine);
    case PHX_UP_Z: return quat(q.x * cosine + q.y * sine, q.y * cosine - q.x * sine, q.w * sine, q.w * cosine);
    default: return mul4(q, quat(up.v.x * sine, up.v.y * sine, up.v.z * sine, cosine));
    }
}

static uint32_t flags_of(const phx_crowd_frame *frame, size_t character) {
    uint32_t flags = 0;
    if (frame->flags.data) memcpy(&flags, (const char *)frame->flags.data + character * frame->flags.stride, sizeof flags);
    return flags;
}
static phx_lod lod_of(uint32_t flags) { return flags & PHX_CHARACTER_OFF ? PHX_LOD_OFF : (phx_lod)(flags >> PHX_CHARACTER_LOD_SHIFT & 3); }

/* A body of this frame; position relative to the character's root. */
typedef struct carrier {
    phx_vec3 position;
    phx_quat rotation;
    uint32_t generation;
    int there;
} carrier;

static carrier load_carrier(const phx_crowd_frame *frame, uint32_t index, phx_vec3 root) {
    static const phx_body still = {{0, 0, 0}, {0, 0, 0, 1}, 0};
    const phx_body *body = index < frame->body_count ? frame->bodies + index : &still;
    carrier c;
    c.position = sub3(body->position, root);
    c.generation = body->generation;
    const float norm = dot4(body->rotation, body->rotation);
    c.there = index < frame->body_count && dot3(c.position, c.position) < 1e18f && 0.25f < norm && norm < 4.0f;
    if (!c.there) c.position = vec3(0.0f, 0.0f, 0.0f);
    c.rotation = normalize4(c.there ? body->rotation : quat_identity());
    return c;
}
static phx_vec3 onto(const carrier *c, phx_vec3 point) { return add3(c->position, rotate3(c->rotation, point)); }
static phx_vec3 into(const carrier *c, phx_vec3 point) { return rotate3(conjugate4(c->rotation), sub3(point, c->position)); }

/* Where a swinging foot will stand: where it came to stand after its last swing, seen from the root, by the time that this swing has
 * taken as long; before a whole swing was seen, where its own speed takes it soon. The end of the ball's ray goes there, the more the
 * faster the foot is, and starts as much higher or lower as the root will be by then; on the way up the heel's ray takes its place, as it
 * is the ball that meets the risers. Seconds until then; 0 where the rays stay under heel and ball. */
static float look_ahead(const phx_crowd_task *task, uint32_t group, uint32_t lane, uint32_t index, phx_vec3 root, phx_quat rotation, phx_vec3 *heel_end,
                        phx_vec3 *ball_end, float *climb) {
    const phx_character_state *character = task->characters + group;
    const phx_leg_state *state = task->legs + index;
    const phx_foot_rows *foot = task->feet + index;
    const up_of up = up_in(task->setup);
    const phx_vec3 ball = row3(&foot->ball, lane);
    const float dt = task->step.dt + character->skipped.v[lane], length = foot->length.v[lane];
    if (!phx_is_marked(state, lane, PHX_MARK_KNOWN) || phx_is_marked(state, lane, PHX_MARK_STANDS) || !(0.0f < dt)) return 0.0f;
    const phx_vec3 travel = sub3(root, row3(&character->root, lane));
    phx_vec3 last_ball = sub3(row3(&state->ball, lane), travel);
    if (task->frame->bodies) {
        const carrier last = load_carrier(task->frame, state->body.v[lane], root);
        last_ball = last.there && last.generation == state->generation.v[lane] ? onto(&last, row3(&state->ball, lane)) : ball;
    }
    const phx_vec3 path = level(up, sub3(ball, last_ball));
    const float pace = sqrtf(level_dot(up, path, path)) / max1(length * dt, 1e-20f), share = saturate(pace - 1.5f); /* from 1.5 to 2.5 legs a second: slower feet tread about */
    const float swing = state->swing.v[lane];
    const int learnt = 0.0f < swing;
    const float left = learnt ? max1((swing - state->loose.swung.v[lane]) - dt, 0.0f) : 0.1f, frames = left / max1(dt, 1e-6f);
    const phx_vec3 standing = add3(rotate3(rotation, row3(&state->landing, lane)), scale3(travel, frames));
    const phx_vec3 place = learnt ? standing : add3(*ball_end, scale3(path, frames));
    const phx_vec3 to = scale3(level(up, sub3(place, *ball_end)), share);
    const float near = length * 0.02f, squared = level_dot(up, to, to);
    if (!(near * near < squared && squared < 1e12f)) return 0.0f;
    if (height_of(up, row3(&state->point, lane)) < state->ball_ground.v[lane]) *heel_end = *ball_end;
    *ball_end = add3(*ball_end, to);
    const float most = task->setup->step_up * 0.7f; /* beyond it a root that steps would look over what is above */
    *climb = min1(max1(height_of(up, travel) * (frames * share), -most), most);
    return max1(left + dt, 0.1f);
}

void phx_reference_crowd_prepare(const phx_crowd_task *task) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count, slots = setup->plan.count;
    const up_of up = up_in(setup);
    const phx_vec3 none = vec3(0.0f, 0.0f, 0.0f);
    const int reuse = setup->ray_reuse_squared > 0.0f && !frame->bodies;
    const uint32_t padded = (task->count + PHX_BLOCK_LANES - 1) / PHX_BLOCK_LANES * PHX_BLOCK_LANES;
    for (uint32_t i = 0; i < padded; ++i) {
        const uint32_t group = i / PHX_BLOCK_LANES, lane = i % PHX_BLOCK_LANES;
        const size_t character = task->first + (i < task->count ? i : task->count - 1); /* the tail repeats the last one */
        phx_joint_rows *joints = task->joints + group * slots;
        const phx_character_state *state = task->characters + group;
        const phx_vec3 root = read3(frame->root_position, character, none);
        const phx_quat rotation = read4(frame->root_rotation, character, quat_identity());
        const uint32_t flags = flags_of(frame, character);
        int good = lod_of(flags) == PHX_LOD_FULL;
        if (good) {
            phx_reference_walk(&setup->plan, &frame->poses, character, lane, rotation, joints, task->scales ? task->scales + group * slots : NULL);

            /* input that arithmetic can bear, or the character is left alone this frame and starts afresh in the next */
            const float norm = dot4(rotation, rotation);
            good = dot3(root, root) < 1e18f && 0.25f < norm && norm < 4.0f;
            if (task->scales && setup->pelvis_parent != PHX_NO_JOINT) { /* the pelvis's correction will be divided by it */
                const phx_vec3 scale = row3(&task->scales[group * slots + setup->pelvis_parent], lane);
                good = good && 1e-6f < fabsf(scale.x) && 1e-6f < fabsf(scale.y) && 1e-6f < fabsf(scale.z);
            }
            for (uint32_t leg = 0; leg < legs; ++leg) {
                const phx_leg_setup *rig = setup->legs + leg;
                phx_foot_rows *foot = task->feet + group * legs + leg;
                const phx_vec3 heel = add3(row3(&joints[rig->ankle].position, lane), rotate3(row4(&joints[rig->ankle].rotation, lane), rig->heel_offset));
                const phx_quat turned = row4(&joints[rig->ball].rotation, lane);
                const phx_vec3 ball = add3(row3(&joints[rig->ball].position, lane), rotate3(turned, rig->ball_offset));
                set_row3(&foot->heel, lane, heel), set_row3(&foot->ball, lane, ball);
                const phx_vec3 hip = row3(&joints[rig->hip].position, lane), knee = row3(&joints[rig->knee].position, lane);
                foot->length.v[lane] = length3(sub3(knee, hip)) + length3(sub3(row3(&joints[rig->ankle].position, lane), knee));
                good = good && dot3(heel, heel) < 1e18f && dot3(ball, ball) < 1e18f;
                /* a rotation without length anywhere above leaves none here */
                const float turned_norm = dot4(turned, turned);
                good = good && 0.25f < turned_norm && turned_norm < 4.0f;
            }
            set_row3(&task->root_position[group], lane, root), set_row4(&task->root_rotation[group], lane, rotation);
        }
        const int remembered = phx_is_marked(task->legs + group * legs, lane, PHX_MARK_VALID) && !(flags & PHX_CHARACTER_TELEPORT);
        task->good[group].v[lane] = good ? (remembered ? 2.0f : 1.0f) : lod_of(flags) == PHX_LOD_FULL ? 0.0f : -1.0f;
        if (lane == 0) task->wanted[group] = 0;
        if (good && i < task->count) task->wanted[group] = (uint16_t)(task->wanted[group] | 1u << lane);

        /* rays start where the soles will probably end: where they ended last frame, seen from the animation */
        for (uint32_t leg = 0; leg < legs; ++leg) {
            phx_foot_rows *foot = task->feet + group * legs + leg;
            const phx_leg_state *leg_state = task->legs + group * legs + leg;
            phx_ray_block *rays = task->rays + (group * legs + leg) * 2;
            phx_vec3 ends[2] = {none, none};
            float climb[2] = {0.0f, 0.0f};
            int ask = good;
            foot->look.v[lane] = 0.0f;
            if (good) {
                ends[0] = row3(&foot->heel, lane), ends[1] = row3(&foot->ball, lane);
                if (remembered) ends[0] = add3(ends[0], level_row(setup, &leg_state->heel_shift, lane)), ends[1] = add3(ends[1], level_row(setup, &leg_state->ball_shift, lane));
                if (!frame->bodies && remembered && phx_is_marked(leg_state, lane, PHX_MARK_LOCKED)) { /* a locked ball's place is known */
                    const phx_vec3 lock_point = sub3(row3(&leg_state->lock_point, lane), sub3(root, row3(&state->root, lane)));
                    ends[0] = add3(row3(&foot->heel, lane), sub3(lock_point, row3(&foot->ball, lane))), ends[1] = lock_point;
                }
                if (remembered) foot->look.v[lane] = look_ahead(task, group, lane, group * legs + leg, root, rotation, ends, ends + 1, climb + 1);
                if (reuse && remembered && phx_is_marked(leg_state, lane, PHX_MARK_KNOWN)) {
                    const phx_vec3 last = sub3(row3(&leg_state->point, lane), sub3(root, row3(&state->root, lane)));
                    const phx_vec3 from_heel = level(up, sub3(last, ends[0])), from_ball = level(up, sub3(last, ends[1]));
                    if (min1(level_dot(up, from_heel, from_heel), level_dot(up, from_ball, from_ball)) < setup->ray_reuse_squared) ask = 0;
                }
            }
            for (int end = 0; end < 2; ++end) {
                const phx_vec3 origin = good ? add3(root, at_height(up, ends[end], setup->step_up + climb[end])) : none;
                rays[end].org_x[lane] = origin.x, rays[end].org_y[lane] = origin.y, rays[end].org_z[lane] = origin.z;
                rays[end].tfar[lane] = ask ? setup->ray_length : -1.0f;
                rays[end].geomID[lane] = PHX_NO_HIT;
            }
        }
    }
}

/* One character at work. */
typedef struct one {
    uint32_t group, lane;
    size_t character;
    int remembered;
    phx_vec3 root, travel; /* root position; how far it went since the last solve */
    phx_crowd_step step;   /* dt includes frames that were skipped at a lower level of detail */
} one;

/* A ray's hit as a point (root-relative) and unit normal; false for misses, ceilings, steep ground and nonsense. The point is
 * taken from the ray's own origin, so that a hit that comes a frame late still lies on the ground. */
static int read_hit(const phx_crowd_task *task, const phx_ray_block *ray, uint32_t lane, phx_vec3 root, phx_vec3 *point, phx_vec3 *normal) {
    const up_of up = up_in(task->setup);
    const phx_vec3 n = vec3(ray->Ng_x[lane], ray->Ng_y[lane], ray->Ng_z[lane]);
    const phx_vec3 origin = vec3(ray->org_x[lane], ray->org_y[lane], ray->org_z[lane]);
    const float t = ray->tfar[lane], squared = dot3(n, n);
    const uint32_t body = ray->geomID[lane];
    int ok = 1e-20f < squared && squared < 1e20f && 0.0f <= t && t <= task->setup->ray_length && body != PHX_NO_HIT;
    if (task->frame->bodies) ok = ok && body < task->frame->body_count;
    *normal = scale3(n, 1.0f / sqrtf(ok ? squared : 1.0f));
    *point = raised(up, sub3(origin, root), -(ok ? t : 0.0f));
    return ok && dot3(*point, *point) < 1e18f && task->setup->cos_max_slope <= height_of(up, *normal);
}

typedef struct ground_plane {
    phx_vec3 point, normal;
    uint32_t body;
    int seen; /* a ray hit this frame */
    float ball_ground; /* height of what the ball's ray hit */
    int ball_hit, heel_hit;
    phx_vec3 heel_point, heel_normal;
} ground_plane;

/* One plane from two hits: through both, rolled by the mean of their normals. Where that plane and the ground's own normals
 * disagree by more than 35 degrees there is an edge between heel and ball, and the foot stands on the higher side. A foot that looks
 * ahead takes what its ball's ray hit. Hits that lie nearer to each other than 1 % of the leg's `length` have no direction: theirs would be
 * that of rounding. */
static ground_plane plane_under(const phx_crowd_task *task, const phx_ray_block *rays, uint32_t lane, phx_vec3 root, int looks, float length) {
    const phx_crowd_setup *setup = task->setup;
    const up_of up = up_in(setup);
    const float cos_edge = 0.8191520f;
    phx_vec3 heel_point, heel_normal, ball_point, ball_normal;
    const int heel_hit = read_hit(task, rays, lane, root, &heel_point, &heel_normal);
    const int ball_hit = read_hit(task, rays + 1, lane, root, &ball_point, &ball_normal);
    const int on_heel = heel_hit && (!ball_hit || (!looks && height_of(up, ball_point) < height_of(up, heel_point)));
    ground_plane plane;
    plane.seen = heel_hit || ball_hit;
    plane.ball_ground = height_of(up, ball_point), plane.ball_hit = ball_hit;
    plane.heel_point = heel_point, plane.heel_normal = heel_normal, plane.heel_hit = heel_hit;
    plane.point = on_heel ? heel_point : ball_point;
    plane.normal = on_heel ? heel_normal : ball_normal;
    plane.body = on_heel ? rays[0].geomID[lane] : rays[1].geomID[lane];
    if (heel_hit && ball_hit && !looks) {
        const phx_vec3 along = sub3(ball_point, heel_point), sum = add3(heel_normal, ball_normal);
        const float squared = dot3(along, along), least_squared = max1(length * length * 1e-4f, 1e-30f);
        const phx_vec3 common = unit3(sub3(sum, scale3(along, (least_squared < squared ? dot3(sum, along) : 0.0f) / max1(squared, least_squared))));
        if (setup->cos_max_slope <= height_of(up, common) && cos_edge <= dot3(common, heel_normal) && cos_edge <= dot3(common, ball_normal))
            plane.normal = common;
    }
    return plane;
}

typedef struct leg_work {
    phx_vec3 target;    /* ankle, root-relative */
    phx_quat turn;      /* of the foot, from its animated attitude */
    phx_quat toe_turn;  /* of the toes, on top of it */
    int toes;           /* do they turn? */
    float support, weight, length;
    int aloft;          /* swings, or its sole is in the air: its joints may be slow to follow */
    float clearance;    /* how far a swinging foot may sink without touching the ground */
    uint32_t flags;     /* its marks, and that it stands with its ball beyond an edge */
    int rests;          /* stands, and no filter of it is on its way: with the same input it would end where it is */
} leg_work;

/* height of a plane over the point `at`, along up; per_up is 1 / (normal . up) */
static float height_over(phx_vec3 point, phx_vec3 normal, float per_up, phx_vec3 at) { return dot3(sub3(point, at), normal) * per_up; }

/* shortest rotation between unit vectors less than a right angle apart */
static phx_quat between_near(phx_vec3 from, phx_vec3 to) {
    const phx_vec3 axis = cross3(from, to);
    return normalize4(quat(axis.x, axis.y, axis.z, 1.0f + dot3(from, to)));
}

static leg_work place_foot(const phx_crowd_task *task, const one *o, uint32_t leg) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const uint32_t lane = o->lane, index = o->group * setup->leg_count + leg;
    const phx_joint_rows *joints = task->joints + o->group * setup->plan.count;
    phx_leg_state *state = task->legs + index;
    phx_carried_plane *carried = task->carried ? task->carried + index : NULL;
    const up_of up = up_in(setup);
    const phx_vec3 ankle = row3(&joints[rig->ankle].position, lane);
    const phx_vec3 heel = row3(&task->feet[index].heel, lane), ball = row3(&task->feet[index].ball, lane);
    const float heel_height = height_of(up, heel), ball_height = height_of(up, ball);
    const float sole_height = min1(heel_height, ball_height);
    const float dt = o->step.dt;

    /* the plane under the foot: this frame's hits, or the last one seen, carried by its body */
    const float look = task->feet[index].look.v[lane];
    ground_plane plane = plane_under(task, task->rays + index * 2, lane, o->root, 0.0f < look, task->feet[index].length.v[lane]);
    const int known = o->remembered && phx_is_marked(state, lane, PHX_MARK_KNOWN);
    const uint32_t last_body = state->body.v[lane];
    phx_vec3 last_point = sub3(row3(&state->point, lane), o->travel), last_normal = row3(&state->normal, lane);
    phx_vec3 last_ball = row3(&state->ball, lane), lock_point = row3(&state->lock_point, lane), lock_heading = row3(&state->lock_heading, lane);
    const float length = task->feet[index].length.v[lane];
    int there = known; /* does the last plane still stand on its body? */
    if (task->frame->bodies) {
        const carrier last = load_carrier(task->frame, last_body, o->root);
        there = known && last.there && last.generation == state->generation.v[lane];
        if (there) {
            const phx_vec3 normal = rotate3(last.rotation, row3(&carried->normal, lane));
            there = 0.1f < height_of(up, normal); /* what has become a wall carries nobody */
            if (there) last_point = onto(&last, row3(&carried->point, lane)), last_normal = normal;
        }
        last_ball = there ? onto(&last, last_ball) : ball;
        lock_point = onto(&last, lock_point), lock_heading = rotate3(last.rotation, lock_heading);
    } else {
        last_ball = sub3(last_ball, o->travel), lock_point = sub3(lock_point, o->travel);
    }
    if (!known) last_point = vec3(0.0f, 0.0f, 0.0f), last_normal = up.v;
    /* at an edge a locked foot stays on the tread that it was put on, although its rays now fall past it */
    int locked_before = there && phx_is_marked(state, lane, PHX_MARK_LOCKED);
    const float last_ground = state->ball_ground.v[lane] - height_of(up, o->travel);
    const float last_per_up = 1.0f / height_of(up, last_normal);
    float per_up = 1.0f / (plane.seen ? height_of(up, plane.normal) : 1.0f);
    int past_edge = 0;
    if (locked_before && plane.seen) {
        const float tread = height_over(last_point, last_normal, last_per_up, lock_point);
        const float seen_there = height_over(plane.point, plane.normal, per_up, lock_point);
        past_edge = length * 0.05f < fabsf(seen_there - tread);
        /* the ball's ray stands still: what changed under it is the ground itself, and is followed */
        if (!task->frame->bodies && plane.ball_hit && length * 0.05f < fabsf(plane.ball_ground - last_ground)) past_edge = 0;
    }
    const float ball_ground = plane.ball_hit ? plane.ball_ground : known ? last_ground : 0.0f;
    if (past_edge) plane.point = last_point, plane.normal = last_normal;
    if (past_edge || !plane.seen) plane.body = there ? last_body : PHX_NO_HIT;
    locked_before = locked_before && last_body == plane.body;
    carrier body = {{0, 0, 0}, {0, 0, 0, 1}, 0, 0};
    if (task->frame->bodies) {
        body = load_carrier(task->frame, plane.body, o->root);
        plane.seen = plane.seen && body.there;
    }
    const int unasked = known && task->rays[index * 2].tfar[lane] < 0.0f; /* the last plane is near enough */
    const float missed = plane.seen || unasked ? 0.0f : (known ? state->missed.v[lane] : 0.0f) + dt;
    const int held = known && missed <= setup->hold_seconds;
    if (!plane.seen) plane.point = last_point, plane.normal = last_normal;
    if (!plane.seen || past_edge) per_up = last_per_up;
    const phx_ray_block *ball_ray = task->rays + index * 2 + 1;
    const phx_vec3 ball_ray_point = sub3(vec3(ball_ray->org_x[lane], ball_ray->org_y[lane], ball_ray->org_z[lane]), o->root);
    const float under_plane = height_over(plane.point, plane.normal, per_up, at_height(up, ball_ray_point, plane.ball_ground));
    const int hangs = plane.seen && (!plane.ball_hit || length * 0.05f < under_plane);
    const int grounded = plane.seen || held;
    const float wanted = grounded ? 1.0f : 0.0f;
    const float weight = o->remembered ? settle(ease(state->weight.v[lane], wanted, o->step.weight_keep)) : wanted;

    /* contact: told, or found from height and speed with hysteresis; heights and speeds follow the leg's length */
    const int stood = known && phx_is_marked(state, lane, PHX_MARK_STANDS);
    int stands, entering;
    float support;
    if (task->frame->support.data) {
        memcpy(&support, (const char *)task->frame->support.data + o->character * task->frame->support.stride + leg * sizeof support, sizeof support);
        support = saturate(support);
        stands = entering = 0.99f < support;
    } else {
        const float low = saturate((setup->swing_height - sole_height) * setup->inverse_swing_range);
        support = low * low * (3.0f - (low + low));
        const float enter_height = setup->enter_height > 0.0f ? setup->enter_height : length * 0.05f;
        const float exit_height = setup->exit_height > 0.0f ? setup->exit_height : length * 0.07f;
        const float enter_speed = setup->enter_speed > 0.0f ? setup->enter_speed : length * 0.5f;
        const float exit_speed = setup->exit_speed > 0.0f ? setup->exit_speed : length * 1.2f;
        const phx_vec3 path = level(up, sub3(ball, last_ball));
        const float moved = level_dot(up, path, path), slow = enter_speed * dt, fast = exit_speed * dt; /* squares are compared */
        const int moving = known && 0.0f < dt;
        entering = sole_height < enter_height && (!moving || moved < slow * slow);
        const int leaving = exit_height < sole_height || (moving && fast * fast < moved);
        const int still = known && dt <= 0.0f; /* no time passed: nothing is decided */
        stands = still ? stood : stood ? !leaving : entering;
    }
    stands = stands && grounded;
    const float firm = stands ? 1.0f : 0.0f;
    const float grip = o->remembered ? settle(ease(state->grip.v[lane], firm, o->step.grip_keep)) : firm;
    const float planted = task->frame->support.data ? support : grip;
    support = max1(firm, support);

    /* a foot that looks ahead goes from the plane that it left to the one where it will stand within the time left, fast at first as
     * edges are on the way; it stays over the ground below it */
    const phx_vec3 floor_point = level(up, ankle);
    float height = height_over(plane.point, plane.normal, per_up, floor_point), low = height;
    const float last_height = height_over(last_point, last_normal, last_per_up, floor_point);
    float stepped = last_height - height;
    if (0.0f < look && plane.ball_hit) {
        const float rest = max1(1.0f - dt / look, 0.0f), keep = rest * (rest * 0.9f + 0.1f);
        height = mix(height, last_height, keep), stepped = 0.0f;
        plane.normal = unit3(mix3(plane.normal, last_normal, keep)), per_up = 1.0f / height_of(up, plane.normal);
        plane.point = raised(up, floor_point, height);
        low = plane.heel_hit ? height_over(plane.heel_point, plane.heel_normal, 1.0f / height_of(up, plane.heel_normal), floor_point) : height;
    }

    /* a jump of the ground is not followed at once: the foot keeps its height and the difference dies away, twice as fast where it
     * should stand lower; never into the ground */
    const float error = min1(max1(sole_height, -setup->plant_height), setup->plant_height) * planted; /* what the clip itself hovers or sinks */
    float jump = known ? settle((state->jump.v[lane] + stepped) * o->step.ground_keep) : 0.0f;
    if (stands && 0.0f < jump) jump = settle(jump * o->step.ground_keep);
    const float hover = max1(sole_height - error, 0.0f);
    jump = max1(jump, (low - height) - hover);

    /* the attitude: as the ground leans, within pitch and roll limits, smoothed */
    const phx_vec3 heading = level(up, sub3(ball, heel));
    const float heading_squared = level_dot(up, heading, heading);
    const phx_vec3 forward = 1e-12f < heading_squared ? heading : level(up, spare_direction(up.v));
    const phx_vec3 ahead = scale3(forward, 1.0f / sqrtf(max1(level_dot(up, forward, forward), 1e-30f))), side = up_cross(up, ahead);
    const float pitch = min1(max1(level_dot(up, plane.normal, ahead), -setup->sin_max_pitch), setup->sin_max_pitch);
    const float roll = min1(max1(level_dot(up, plane.normal, side), -setup->sin_max_roll), setup->sin_max_roll);
    const float upright = sqrtf(max1((1.0f - pitch * pitch) - roll * roll, 0.0f));
    phx_vec3 tilt = at_height(up, add3(scale3(ahead, pitch), scale3(side, roll)), upright);
    const phx_vec3 attitude = tilt;
    const int limited = 1e-8f < dot3(sub3(tilt, plane.normal), sub3(tilt, plane.normal));
    if (known) {
        const phx_vec3 last_tilt = row3(&state->tilt, lane);
        tilt = o->step.tilt_keep < 1.0f ? unit3(settle3(mix3(tilt, last_tilt, o->step.tilt_keep))) : last_tilt;
    }
    const lean foot_lean = lean_to(up, tilt);

    /* the lock's turn about up: the foot keeps its heading on the body; what is left after release dies away */
    int holds = locked_before;
    float yaw = o->remembered ? settle(state->yaw.v[lane] * o->step.release_keep) : 0.0f;
    if (locked_before) {
        const phx_vec3 locked_heading = level(up, lock_heading);
        const float scale = sqrtf(heading_squared * level_dot(up, locked_heading, locked_heading));
        const float cosine = level_dot(up, heading, locked_heading), sine = level_sine(up, heading, locked_heading);
        const phx_quat back = turn4(vec3(1.0f, 0.0f, 0.0f), cosine, sine, max1(scale, 1e-20f));
        const float kept = 1e-12f < scale ? back.x : 0.0f;
        holds = fabsf(kept) <= setup->sin_half_release_twist;
        if (holds) yaw = kept;
    }
    const float yaw_cos = sqrtf(1.0f - yaw * yaw), sine = (yaw + yaw) * yaw_cos, versine = (yaw + yaw) * yaw;
    const phx_vec3 turned_heel = add3(ball, about_up(up, sine, versine, sub3(heel, ball)));
    const phx_vec3 turned_ankle = add3(ball, about_up(up, sine, versine, sub3(ankle, ball)));

    /* the foot's pose over flat ground, carried to the plane and turned below the ankle at the sole's height; then lifted so that its
     * deepest point keeps its animated height, less what the clip itself hovers or sinks while the foot stands */
    const phx_vec3 pivot = at_height(up, ankle, max1(sole_height, 0.0f)), ground = raised(up, pivot, height);
    phx_vec3 new_heel = add3(ground, leaned(up, &foot_lean, sub3(turned_heel, pivot)));
    phx_vec3 new_ball = add3(ground, leaned(up, &foot_lean, sub3(ball, pivot)));
    phx_vec3 new_ankle = add3(ground, leaned(up, &foot_lean, sub3(turned_ankle, pivot)));
    const float heel_lift = (heel_height - error) - dot3(sub3(new_heel, plane.point), plane.normal);
    const float ball_lift = (ball_height - error) - dot3(sub3(new_ball, plane.point), plane.normal);
    const phx_vec3 lift = scale3(plane.normal, max1(heel_lift, ball_lift));
    new_heel = add3(new_heel, lift), new_ball = add3(new_ball, lift), new_ankle = add3(new_ankle, lift);

    /* the lock: the ball stays where it is on its body; on release the difference dies away */
    phx_vec3 offset = vec3(0.0f, 0.0f, 0.0f);
    if (o->remembered) offset = settle3(scale3(row3(&state->offset, lane), o->step.release_keep));
    const phx_vec3 to_lock = reject3(sub3(lock_point, new_ball), plane.normal);
    const int locked = holds && stands && dot3(to_lock, to_lock) <= setup->release_distance_squared;
    if (locked) offset = to_lock;
    int starts = setup->lock && stands && entering && !locked_before && dot3(offset, offset) <= setup->relock_distance_squared && 0.5f < weight;
    if (task->frame->bodies) starts = starts && body.there; /* a body that is gone locks nobody */
    if (starts) { /* where its ray fell, if that is near, as the ground there is known; sooner where it was in the last frame, if it was low then */
        const int was_low = known && !phx_is_marked(state, lane, PHX_MARK_LOCKED) && 1.0f <= state->loose.support.v[lane];
        const phx_vec3 was = add3(last_ball, level_row(setup, &state->ball_shift, lane));
        const phx_vec3 fell = raised(up, ball_ray_point, height_over(plane.point, plane.normal, per_up, ball_ray_point));
        const phx_vec3 stayed = raised(up, was, height_over(plane.point, plane.normal, per_up, was));
        const phx_vec3 to_ray = reject3(sub3(fell, new_ball), plane.normal), to_last = reject3(sub3(stayed, new_ball), plane.normal);
        const float near = length * 0.025f;
        if (was_low && length3(sub3(to_last, offset)) < near) offset = to_last;
        else if (length3(sub3(to_ray, offset)) < near) offset = to_ray;
    }
    new_heel = add3(new_heel, offset), new_ball = add3(new_ball, offset);
    const phx_vec3 placed = raised(up, add3(new_ankle, offset), jump);
    const phx_vec3 under_ball = sub3(new_ball, scale3(plane.normal, dot3(sub3(new_ball, plane.point), plane.normal)));
    const phx_vec3 new_lock = starts ? under_ball : lock_point;
    const phx_vec3 new_lock_heading = about_up(up, sine, versine, heading);

    leg_work work;
    work.support = support, work.weight = weight, work.length = length;
    work.aloft = !stands || length * 0.005f < hover;
    work.clearance = stands ? 0.0f : hover + max1(jump, 0.0f);
    work.target = mix3(ankle, placed, weight);
    work.turn = lean_after(up, &foot_lean, yaw, yaw_cos);
    if (weight < 1.0f) work.turn = fraction4(work.turn, weight);
    work.toes = limited;
    work.toe_turn = quat_identity();
    const phx_vec3 untilted = scale3(sub3(tilt, attitude), length);
    const float tolerance = setup->still, squared = tolerance * tolerance, slack = (1.0f - weight) * length;
    work.rests = stands && (plane.seen || unasked) && !work.toes && !starts && !past_edge && slack <= tolerance && fabsf(jump) <= tolerance &&
                 (1.0f - planted) * setup->plant_height <= tolerance && dot3(untilted, untilted) <= squared &&
                 (locked || (dot3(offset, offset) <= squared && fabsf(yaw) * length <= tolerance));
    if (work.toes) { /* the toes lie on the ground that is too steep for the foot */
        const phx_vec3 steep = unit3(up_mix(up, plane.normal, support * weight));
        const phx_quat toe = between_near(tilt, steep);
        const float half_sine = sqrtf((toe.x * toe.x + toe.y * toe.y) + toe.z * toe.z);
        const float toe_sine = min1(half_sine, setup->sin_half_toe);
        const float share = toe_sine / max1(half_sine, 1e-12f);
        work.toe_turn = quat(toe.x * share, toe.y * share, toe.z * share, sqrtf(1.0f - toe_sine * toe_sine));
    }

    set_row3(&state->point, lane, plane.point), set_row3(&state->normal, lane, plane.normal);
    phx_vec3 stored_ball = ball, stored_lock = new_lock, stored_heading = new_lock_heading;
    if (task->frame->bodies) {
        set_row3(&carried->point, lane, into(&body, plane.point));
        set_row3(&carried->normal, lane, rotate3(conjugate4(body.rotation), plane.normal));
        stored_ball = into(&body, ball);
        /* a lock that goes on is kept to the bit: carried back and forth it would creep */
        stored_lock = locked_before && !starts ? row3(&state->lock_point, lane) : into(&body, new_lock);
        stored_heading = rotate3(conjugate4(body.rotation), new_lock_heading);
        state->generation.v[lane] = body.generation;
    }
    set_row3(&state->ball, lane, stored_ball), set_row3(&state->lock_point, lane, stored_lock);
    state->ball_ground.v[lane] = ball_ground;
    state->missed.v[lane] = missed, state->weight.v[lane] = weight, state->jump.v[lane] = jump;
    set_row3(&state->tilt, lane, tilt);
    const int whole = known && phx_is_marked(state, lane, PHX_MARK_STOOD);
    const float swung = min1((known && !stood ? state->loose.swung.v[lane] : 0.0f) + dt, 1e6f); /* the frame in which it comes to stand is the last */
    if (!known) state->swing.v[lane] = 0.0f;
    if (whole && stands && !stood && 0.12f < swung) {
        state->swing.v[lane] = swung;
        set_row3(&state->landing, lane, rotate3(conjugate4(row4(&task->root_rotation[o->group], lane)), level(up, ball)));
    }
    if (starts) set_row3(&state->lock_heading, lane, stored_heading);
    if (!locked && !starts) state->loose.swung.v[lane] = swung, state->loose.support.v[lane] = support;
    work.flags = PHX_MARK_VALID | (grounded || 0.0f < weight ? PHX_MARK_KNOWN : 0u) | (stands ? PHX_MARK_STANDS : 0u) | /* a plane is known until it is let go */
                 (whole || (known && stands) ? PHX_MARK_STOOD : 0u) | (locked || starts ? PHX_MARK_LOCKED : 0u) | (hangs && stands ? PHX_FLAG_OVERHANGS : 0u);
    state->grip.v[lane] = grip;
    set_row3(&state->offset, lane, offset), state->yaw.v[lane] = yaw;
    set_level_row(setup, &state->heel_shift, lane, scale3(level(up, sub3(new_heel, heel)), weight));
    set_level_row(setup, &state->ball_shift, lane, scale3(level(up, sub3(new_ball, ball)), weight));
    state->body.v[lane] = plane.body;
    return work;
}

/* How the pelvis moves level and leans, weight included. */
typedef struct pelvis_move {
    int leans;
    phx_vec3 shift;
    lean lean;
} pelvis_move;

/* Where shift and lean shall be, and what is on its way there. The slope under the feet is the planes' mean gradient and the least-squares
 * plane through what the heights over it leave; feet nearer to a line than a hundredth of a leg say nothing across it. */
static pelvis_move move_pelvis(const phx_crowd_task *task, const one *o, const leg_work *work, float weight, int *rests) {
    const phx_crowd_setup *setup = task->setup;
    const uint32_t legs = setup->leg_count, lane = o->lane;
    const phx_joint_rows *joints = task->joints + o->group * setup->plan.count;
    const up_of up = up_in(setup);
    phx_pelvis_state *state = task->pelvises + o->group;
    phx_vec3 places[PHX_MAX_LEGS], moved = vec3(0.0f, 0.0f, 0.0f), gradient = moved, place = moved, heading = moved;
    float heights[PHX_MAX_LEGS], weights[PHX_MAX_LEGS], total = 0.0f, height = 0.0f, length = 0.0f;
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const uint32_t index = o->group * legs + leg;
        const phx_leg_state *foot = task->legs + index;
        const phx_vec3 normal = row3(&foot->normal, lane);
        const float per_up = 1.0f / height_of(up, normal), w = work[leg].support * work[leg].weight;
        places[leg] = level(up, row3(&joints[setup->legs[leg].ankle].position, lane));
        heights[leg] = height_over(row3(&foot->point, lane), normal, per_up, places[leg]), weights[leg] = w;
        total = total + w, height = height + heights[leg] * w, length = max1(work[leg].length, length);
        place = add3(place, scale3(places[leg], w)), gradient = add3(gradient, scale3(level(up, normal), -(per_up * w)));
        moved = add3(moved, scale3(add3(level_row(setup, &foot->heel_shift, lane), level_row(setup, &foot->ball_shift, lane)), w * 0.5f));
        heading = add3(heading, level(up, sub3(row3(&task->feet[index].ball, lane), row3(&task->feet[index].heel, lane))));
    }
    const float share = 1.0f / max1(total, 1e-6f), held = min1(total, 1.0f);
    place = scale3(place, share), gradient = scale3(gradient, share), height = height * share;
    const float heading_squared = level_dot(up, heading, heading);
    const phx_vec3 ahead = scale3(heading, 1.0f / sqrtf(max1(heading_squared, 1e-30f)));
    const phx_vec3 spare = level(up, spare_direction(up.v));
    const phx_vec3 x = 1e-12f < heading_squared ? ahead : unit3(spare), y = up_cross(up, x);
    const float least = length * 0.01f;
    float xx = least * least, yy = xx, xy = 0.0f, xh = 0.0f, yh = 0.0f;
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const phx_vec3 from = sub3(places[leg], place);
        const float a = level_dot(up, from, x), b = level_dot(up, from, y), w = weights[leg];
        const float rest = ((heights[leg] - height) - level_dot(up, gradient, from)) * w;
        xx = xx + a * a * w, yy = yy + b * b * w, xy = xy + a * b * w, xh = xh + a * rest, yh = yh + b * rest;
    }
    const float inverse = 1.0f / max1(xx * yy - xy * xy, 1e-30f);
    const float slope_x = level_dot(up, gradient, x) + (yy * xh - xy * yh) * inverse;
    const float slope_y = level_dot(up, gradient, y) + (xx * yh - xy * xh) * inverse;
    const float pitch = (1e-12f < heading_squared ? setup->pelvis_pitch : setup->pelvis_roll) * held;
    const float lean_x = atan2_1(slope_x, 1.0f) * pitch, lean_y = atan2_1(slope_y, 1.0f) * (setup->pelvis_roll * held);
    const float angle = sqrtf(lean_x * lean_x + lean_y * lean_y), fits = setup->max_pelvis_lean / max1(angle, setup->max_pelvis_lean + 1e-12f);
    const phx_vec3 lean_wanted = settle3(scale3(add3(scale3(x, lean_x), scale3(y, lean_y)), -fits));
    const phx_vec3 asked = scale3(moved, setup->pelvis_shift / max1(total, 1.0f));
    const float way = length3(asked), shift_fits = setup->max_pelvis_shift / max1(way, setup->max_pelvis_shift + 1e-12f);
    const phx_vec3 shift_wanted = settle3(scale3(asked, shift_fits));

    const float keep = o->step.pelvis_keep;
    phx_vec3 shift = row3(&state->shift, lane), leaning = row3(&state->lean, lane);
    if (keep < 1.0f || !o->remembered) {
        const float stays = o->remembered ? keep : 0.0f;
        shift = add3(shift_wanted, settle3(scale3(sub3(shift, shift_wanted), stays)));
        leaning = add3(lean_wanted, settle3(scale3(sub3(leaning, lean_wanted), stays)));
    }
    set_row3(&state->shift, lane, shift), set_row3(&state->lean, lane, leaning);
    const phx_vec3 unshifted = sub3(shift, shift_wanted), unleaned = scale3(sub3(leaning, lean_wanted), length);
    *rests = *rests && dot3(unshifted, unshifted) <= setup->still * setup->still && dot3(unleaned, unleaned) <= setup->still * setup->still;

    pelvis_move move;
    const phx_vec3 applied = scale3(leaning, weight);
    const float turn = length3(applied);
    float sine, cosine;
    sincos_quarter1(turn, &sine, &cosine);
    move.shift = scale3(shift, weight), move.leans = 1e-9f < turn;
    move.lean = lean_to(up, at_height(up, scale3(applied, sine / max1(turn, 1e-9f)), cosine));
    return move;
}

/* the hip of an animated pose, moved with the pelvis but for its height */
static phx_vec3 moved_hip(const phx_crowd_task *task, const one *o, const pelvis_move *move, phx_vec3 hip) {
    if (!task->pelvises) return hip;
    const phx_vec3 pelvis = row3(&task->joints[o->group * task->setup->plan.count + task->setup->pelvis_slot].position, o->lane);
    const up_of up = up_in(task->setup);
    const phx_vec3 turned = move->leans ? add3(pelvis, leaned(up, &move->lean, sub3(hip, pelvis))) : hip;
    return add3(turned, move->shift);
}

/* How far the pelvis must sink for this leg to reach (<= 0), and how far the ground pushes it up (any sign). And how high it is when the
 * leg's squared length changes at a bound: a leg that stands straightens by 0.7 of its full square a second, one that swings folds by 2, or by
 * 5 where joints may turn only so fast. */
static void pelvis_demand(const phx_crowd_task *task, const one *o, uint32_t leg, const pelvis_move *move, const leg_work *work, float *drop, float *rise,
                          float *bound) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const phx_joint_rows *joints = task->joints + o->group * setup->plan.count;
    const up_of up = up_in(setup);
    const phx_vec3 hip = row3(&joints[rig->hip].position, o->lane), ankle = row3(&joints[rig->ankle].position, o->lane);
    const float reach = max1(work->length * setup->max_extension, length3(sub3(ankle, hip)));
    const phx_vec3 from = moved_hip(task, o, move, hip), to_target = sub3(work->target, from);
    const float below = height_of(up, to_target);
    const phx_vec3 aside = level(up, to_target);
    const float aside_squared = level_dot(up, aside, aside), room = reach * reach - aside_squared;
    const float most = below + sqrtf(max1(room, 0.0f));
    *drop = (0.0f < room ? min1(most, 0.0f) : 0.0f) * (work->support * work->weight);
    *rise = min1(height_of(up, sub3(work->target, ankle)), max1(most, 0.0f)) + (1.0f - work->support) * setup->max_pelvis_rise;
    /* where the leg was, from the hip of now: seen from the root a hip moves little in a frame */
    const phx_vec3 was = sub3(row3(&task->legs[o->group * setup->leg_count + leg].target, o->lane), raised(up, from, task->characters[o->group].pelvis.v[o->lane]));
    const float by = work->length * work->length * (o->step.dt * (work->flags & PHX_MARK_STANDS ? 0.7f : task->turns ? -5.0f : -2.0f));
    *bound = below + sqrtf(max1((dot3(was, was) + by) - aside_squared, 0.0f));
}

/* Length back to 1 by one Newton step: products of unit quaternions are that near. */
static phx_quat near_unit4(phx_quat q) { return scale4(q, 1.5f - dot4(q, q) * 0.5f); }

static phx_quat local_under(phx_quat above, phx_quat world) { return near_unit4(mul4(conjugate4(above), world)); }
static phx_quat animated_of(const phx_crowd_task *task, const one *o, size_t joint, size_t slot) {
    const phx_poses *poses = &task->frame->poses;
    return phx_reference_rotation(poses, poses->layout == PHX_POSE_COMPACT ? slot : joint, o->character);
}

/* A joint's new local rotation, written back, and what it takes to repeat the correction without solving. */
static void store_local(const phx_crowd_task *task, const one *o, size_t joint, size_t slot, phx_quat local, phx_rows3 *replay) {
    const phx_poses *poses = &task->frame->poses;
    const size_t index = poses->layout == PHX_POSE_COMPACT ? slot : joint;
    if (replay) {
        const phx_quat correction = mul4(local, conjugate4(phx_reference_rotation(poses, index, o->character)));
        set_row3(replay, o->lane, settle3(scale3(vec3(correction.x, correction.y, correction.z), copysignf(1.0f, correction.w))));
    }
    phx_reference_set_rotation(poses, index, o->character, local);
}

/* A swinging foot spares its leg: where the leg would fold below 0.6 of its length, the foot sinks as far as the ground lets it; where
 * it would be stretched beyond 0.93, it follows less and less, so that the knee does not snap straight. Neither touches a leg that
 * the animation itself folds or stretches as far. */
static phx_vec3 spare_leg(const leg_work *work, phx_vec3 delta, phx_vec3 animated, up_of up) {
    const float length_squared = work->length * work->length, animated_squared = dot3(animated, animated);
    const float least_squared = min1(length_squared * 0.36f, animated_squared * 0.81f);
    if (dot3(delta, delta) < least_squared && 0.0f < work->clearance) {
        const float rise = height_of(up, delta), level_squared = dot3(delta, delta) - rise * rise;
        const float sinks = rise + sqrtf(max1(least_squared - level_squared, 0.0f));
        delta = raised(up, delta, -(min1(max1(sinks, 0.0f), work->clearance) * work->weight));
    }
    const float squared = dot3(delta, delta), most_squared = min1(max1(length_squared * 0.86f, animated_squared), length_squared);
    if (most_squared < squared && work->support < 1.0f) {
        const float far = sqrtf(squared), most = sqrtf(most_squared), room = work->length * 1.0001f - most;
        const float soft = most + room * (far - most) / (room + (far - most));
        delta = scale3(delta, mix(soft, far, work->support) / far);
    }
    return delta;
}

/* A local rotation, turned no farther from the last one than a joint may turn in this frame; was it held back? */
static int slow_joint(const one *o, int k, phx_quat last, phx_quat *local) {
    const phx_quat turn = mul4(conjugate4(last), *local);
    if (!(fabsf(turn.w) < o->step.turn_cosine[k])) return 0;
    const float scale = copysignf(o->step.turn_sine[k] / sqrtf(max1((turn.x * turn.x + turn.y * turn.y) + turn.z * turn.z, 1e-30f)), turn.w);
    *local = near_unit4(mul4(last, quat(turn.x * scale, turn.y * scale, turn.z * scale, o->step.turn_cosine[k])));
    return 1;
}

typedef struct leg_locals {
    phx_quat hip, knee, ankle;
} leg_locals;

/* The leg as far as its joints could turn by now: hip and knee each on its way to where it shall be, then the ankle to the attitude that the foot
 * shall have. What is told of the leg is made true again. */
static int slow_leg(const phx_crowd_task *task, const one *o, uint32_t index, const phx_leg_setup *rig, const phx_leg_in *in, phx_vec3 asked, float length,
                    phx_quat above_hip, phx_quat ankle_world, phx_leg_out *out, leg_locals *l) {
    const uint32_t lane = o->lane;
    const phx_joint_rows *joints = task->joints + o->group * task->setup->plan.count;
    const phx_leg_turns *turns = task->turns + index;
    int held = slow_joint(o, 0, row4(&turns->hip, lane), &l->hip);
    held = slow_joint(o, 1, row4(&turns->knee, lane), &l->knee) || held;
    if (held) {
        const phx_quat hip = mul4(above_hip, l->hip), root = normalize4(mul4(hip, conjugate4(row4(&joints[rig->hip].rotation, lane))));
        const phx_quat knee = mul4(mul4(root, row4(&joints[rig->knee_parent].rotation, lane)), l->knee);
        const phx_quat mid = normalize4(mul4(knee, conjugate4(row4(&joints[rig->knee].rotation, lane))));
        l->ankle = local_under(mul4(mid, row4(&joints[rig->ankle_parent].rotation, lane)), ankle_world);
        out->residual = length3(sub3(asked, add3(rotate3(root, in->thigh), rotate3(mid, in->shin))));
        const int reached = out->residual <= length * 1e-3f; /* by chance perhaps, where the solve itself could not */
        const uint32_t gone = reached ? PHX_FLAG_OUT_OF_REACH | PHX_FLAG_TOO_CLOSE : PHX_FLAG_REACHED;
        out->flags = (out->flags & ~gone) | (reached ? PHX_FLAG_REACHED : 0u);
    }
    held = slow_joint(o, 2, row4(&turns->ankle, lane), &l->ankle) || held;
    if (held) out->flags |= PHX_FLAG_LIMIT;
    return held;
}

/* The leg in two bones, and its new local rotations; did its joints have to be slowed? */
static int solve_leg(const phx_crowd_task *task, const one *o, uint32_t leg, float weight, float pelvis, const pelvis_move *move, const leg_work *work) {
    const phx_crowd_setup *setup = task->setup;
    const phx_leg_setup *rig = setup->legs + leg;
    const uint32_t lane = o->lane, index = o->group * setup->leg_count + leg;
    const phx_joint_rows *joints = task->joints + o->group * setup->plan.count;
    phx_leg_state *state = task->legs + index;
    phx_leg_replay *replay = task->replays ? task->replays + index : NULL;
    const phx_vec3 hip = row3(&joints[rig->hip].position, lane), knee = row3(&joints[rig->knee].position, lane);
    const phx_vec3 ankle = row3(&joints[rig->ankle].position, lane);
    const phx_quat hip_world = row4(&joints[rig->hip].rotation, lane), knee_world = row4(&joints[rig->knee].rotation, lane);

    phx_leg_in in;
    in.thigh = sub3(knee, hip), in.shin = sub3(ankle, knee);
    const phx_vec3 from = raised(up_in(setup), moved_hip(task, o, move, hip), pelvis), asked = sub3(work->target, from);
    in.delta = spare_leg(work, asked, sub3(ankle, hip), up_in(setup));
    /* the leg's plane turns about the clip's own hinge; the straighter the leg, or the more the clip bends the knee backward,
     * the more about the hinge that the thigh's own frame says. A hinge, unlike a bend direction, does not turn over when the
     * foot rises past the hip. */
    const phx_vec3 normal = cross3(in.shin, in.thigh);
    const phx_vec3 clip_hinge = unit3(normal), rig_hinge = unit3(cross3(in.thigh, rotate3(hip_world, rig->knee_forward)));
    const float squares = dot3(in.thigh, in.thigh) * dot3(in.shin, in.shin);
    const float bent = min1(dot3(normal, normal) * 100.0f / max1(squares, 1e-30f), 1.0f);
    const float agreed = dot3(clip_hinge, rig_hinge);
    in.pole = cross3(mix3(rig_hinge, clip_hinge, bent * saturate((agreed + agreed) + 1.0f)), in.delta);
    in.previous = row3(&state->bend, lane);
    in.rest_bend = vec3(0.0f, 0.0f, 0.0f);
    in.weight = weight, in.pole_weight = 1.0f;
    in.tip_from = quat_identity(), in.tip_to = quat(0.0f, 0.0f, 0.0f, 0.0f), in.pose_norm = 1.0f;
    phx_two_bone_setup limits;
    limits.twist = PHX_TWIST_INHERIT, limits.tolerance = 1e-3f, limits.direction_tolerance_squared = 1e-8f;
    limits.soft_start = setup->soft_start, limits.soft = setup->soft_start < 1.0f;
    limits.max_stretch = 1.0f, limits.stretch = 0;
    limits.limits = rig->limits, limits.short_at_min_bend = rig->short_at_min_bend, limits.open_at_max_bend = rig->open_at_max_bend;
    limits.cos_turn = -1.0f, limits.sin_turn = 0.0f, limits.turn_limit = 0;
    phx_leg_out out = phx_reference_leg(&limits, &in);
    const phx_vec3 target = add3(work->target, sub3(in.delta, asked));
    int slowed = 0;

    if (replay && !out.moved) /* nothing was corrected, nothing is to be repeated */
        set_row3(&replay->hip, lane, in.rest_bend), set_row3(&replay->knee, lane, in.rest_bend), set_row3(&replay->ankle, lane, in.rest_bend);
    if (out.moved) {
        const phx_quat turn = weight < 1.0f ? fraction4(work->turn, weight) : work->turn;
        phx_quat above_hip =
            rig->hip_parent == PHX_NO_JOINT ? row4(&task->root_rotation[o->group], lane) : row4(&joints[rig->hip_parent].rotation, lane);
        if (task->pelvises && move->leans) above_hip = mul4(move->lean.turn, above_hip);
        const phx_quat above_knee = mul4(out.root_rotation, row4(&joints[rig->knee_parent].rotation, lane));
        const phx_quat above_ankle = mul4(out.mid_rotation, row4(&joints[rig->ankle_parent].rotation, lane));
        const phx_quat hip_new = mul4(out.root_rotation, hip_world), knee_new = mul4(out.mid_rotation, knee_world);
        const phx_quat ankle_new = mul4(turn, row4(&joints[rig->ankle].rotation, lane));
        leg_locals local = {local_under(above_hip, hip_new), local_under(above_knee, knee_new), local_under(above_ankle, ankle_new)};
        if (task->turns) {
            if (o->remembered && work->aloft) slowed = slow_leg(task, o, index, rig, &in, sub3(target, from), work->length, above_hip, ankle_new, &out, &local);
            phx_leg_turns *turns = task->turns + index;
            set_row4(&turns->hip, lane, local.hip), set_row4(&turns->knee, lane, local.knee), set_row4(&turns->ankle, lane, local.ankle);
        }
        store_local(task, o, rig->hip_joint, rig->hip, local.hip, replay ? &replay->hip : NULL);
        store_local(task, o, rig->knee_joint, rig->knee, local.knee, replay ? &replay->knee : NULL);
        store_local(task, o, rig->ankle_joint, rig->ankle, local.ankle, replay ? &replay->ankle : NULL);
        if (rig->ball_joint != PHX_NO_JOINT && work->toes) {
            const phx_quat toe = weight < 1.0f ? fraction4(work->toe_turn, weight) : work->toe_turn;
            const phx_quat above_ball = mul4(turn, row4(&joints[rig->ball_parent].rotation, lane));
            store_local(task, o, rig->ball_joint, rig->ball, local_under(above_ball, mul4(mul4(toe, turn), row4(&joints[rig->ball].rotation, lane))), NULL);
        }
    } else if (task->turns) { /* as animated */
        phx_leg_turns *turns = task->turns + index;
        set_row4(&turns->hip, lane, normalize4(animated_of(task, o, rig->hip_joint, rig->hip)));
        set_row4(&turns->knee, lane, normalize4(animated_of(task, o, rig->knee_joint, rig->knee)));
        set_row4(&turns->ankle, lane, normalize4(animated_of(task, o, rig->ankle_joint, rig->ankle)));
    }
    set_row3(&state->target, lane, target);
    set_row3(&state->bend, lane, out.bend);
    state->residual.v[lane] = out.residual, state->flags.v[lane] = out.flags | work->flags;
    return slowed;
}

static void repeat_rotation(const phx_crowd_task *task, const one *o, size_t joint, size_t slot, const phx_rows3 *replay) {
    const phx_poses *poses = &task->frame->poses;
    const size_t index = poses->layout == PHX_POSE_COMPACT ? slot : joint;
    const phx_vec3 v = row3(replay, o->lane);
    const phx_quat correction = quat(v.x, v.y, v.z, sqrtf(max1(1.0f - dot3(v, v), 0.0f)));
    const phx_quat animated = phx_reference_rotation(poses, index, o->character);
    if (dot4(animated, animated) < 1e30f) phx_reference_set_rotation(poses, index, o->character, mul4(correction, animated));
}

/* A character at a lower level of detail: last frame's local corrections on this frame's animation. */
static void repeat_corrections(const phx_crowd_task *task, const one *o, int legs_too) {
    const phx_crowd_setup *setup = task->setup;
    const phx_poses *poses = &task->frame->poses;
    for (uint32_t leg = 0; legs_too && leg < setup->leg_count; ++leg) {
        const phx_leg_setup *rig = setup->legs + leg;
        const phx_leg_replay *replay = task->replays + o->group * setup->leg_count + leg;
        repeat_rotation(task, o, rig->hip_joint, rig->hip, &replay->hip);
        repeat_rotation(task, o, rig->knee_joint, rig->knee, &replay->knee);
        repeat_rotation(task, o, rig->ankle_joint, rig->ankle, &replay->ankle);
    }
    if (setup->pelvis_joint != PHX_NO_JOINT) {
        const size_t index = poses->layout == PHX_POSE_COMPACT ? setup->pelvis_slot : setup->pelvis_joint;
        const phx_vec3 sunk = row3(&task->characters[o->group].sunk, o->lane);
        phx_reference_set_translation(poses, index, o->character, add3(phx_reference_translation(poses, index, o->character), sunk));
        if (task->pelvises) repeat_rotation(task, o, setup->pelvis_joint, setup->pelvis_slot, &task->pelvises[o->group].turn);
    }
}

/* The pelvis follows what the legs need: exponentially or by a critically damped spring, both exact for any dt, at bounded speed, and up no
 * farther than `ceiling`. */
static float follow_pelvis(const phx_crowd_task *task, const one *o, float wanted, float weight, float ceiling, uint32_t *marks) {
    const phx_crowd_setup *setup = task->setup;
    phx_character_state *character = task->characters + o->group;
    const float dt = o->step.dt, reach = setup->pelvis_speed * dt;
    float old = character->pelvis.v[o->lane];
    /* a root that steps, as a capsule on stairs does, does not take the pelvis with it faster than it may move; a root that goes on
     * climbing or falling does, and so does one whose feet have no ground */
    const float climb = height_of(up_in(setup), o->travel);
    const int fast = o->remembered && reach < fabsf(climb) && 0.0f < dt;
    const int climbed = phx_is_marked(task->legs + o->group * setup->leg_count, o->lane, PHX_MARK_CLIMBS);
    if (fast && !climbed && fabsf(climb) < setup->max_pelvis_drop && 0.0f < weight) old = old - climb;
    *marks |= fast ? PHX_MARK_CLIMBS : 0u;
    old = min1(max1(old, -setup->max_pelvis_drop), setup->max_pelvis_rise);
    float pelvis;
    if (setup->pelvis_spring) { /* x(t) = (x0 + (v0 + w x0) t) e^-wt, at half after the half-life: w = 1.67835 / half-life */
        const float rate = setup->pelvis_rate, away = old - wanted;
        float *speed = task->velocities[o->group].v + o->lane;
        const float velocity = o->remembered ? *speed : 0.0f;
        const float decay = exp2_1(rate * dt * -1.44269504088896f);
        const float drive = velocity + rate * away;
        const float swung = wanted + settle((away + drive * dt) * decay);
        pelvis = min1(max1(swung, -setup->max_pelvis_drop), setup->max_pelvis_rise); /* with speed left it swings past what is wanted */
        const float next = settle((velocity - rate * drive * dt) * decay);
        *speed = o->remembered ? min1(max1(next, -setup->pelvis_speed), setup->pelvis_speed) : 0.0f;
    } else {
        pelvis = wanted + settle((old - wanted) * o->step.pelvis_keep);
    }
    if (setup->pelvis_firm) pelvis = min1(wanted, pelvis);
    pelvis = min1(max1(min1(pelvis, max1(ceiling, old)), old - reach), old + reach);
    if (!o->remembered) return wanted;
    return 0.0f < dt ? pelvis : old;
}

/* May the last corrections be repeated? Everything that was solved with is where it was, within the tolerance. */
static int is_still(const phx_crowd_task *task, const one *o, float weight) {
    const phx_crowd_setup *setup = task->setup;
    const uint32_t legs = setup->leg_count, lane = o->lane;
    const up_of up = up_in(setup);
    const phx_character_still *still = task->stills + o->group;
    const float squared = setup->still * setup->still;
    if (!o->remembered || !(0.5f < still->settled.v[lane]) || still->weight.v[lane] != weight) return 0;
    if (0.0f < task->characters[o->group].skipped.v[lane] || !(dot3(o->travel, o->travel) <= squared)) return 0;
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const uint32_t index = o->group * legs + leg;
        const phx_leg_setup *rig = setup->legs + leg;
        const phx_joint_rows *joints = task->joints + o->group * setup->plan.count;
        const phx_leg_still *last = task->still_legs + index;
        const phx_leg_state *state = task->legs + index;
        const phx_foot_rows *foot = task->feet + index;
        if (task->frame->support.data) {
            float support;
            memcpy(&support, (const char *)task->frame->support.data + o->character * task->frame->support.stride + leg * sizeof support, sizeof support);
            if (!(1.0f <= support)) return 0;
        }
        phx_vec3 last_heel = row3(&last->heel, lane), last_ball = row3(&state->ball, lane);
        const ground_plane plane = plane_under(task, task->rays + index * 2, lane, o->root, 0, foot->length.v[lane]);
        const int unasked = task->rays[index * 2].tfar[lane] < 0.0f;
        if (task->frame->bodies) {
            const carrier body = load_carrier(task->frame, state->body.v[lane], o->root);
            if (!body.there || body.generation != state->generation.v[lane] || plane.body != state->body.v[lane]) return 0;
            last_heel = onto(&body, last_heel), last_ball = onto(&body, last_ball);
        } else {
            last_heel = sub3(last_heel, o->travel), last_ball = sub3(last_ball, o->travel);
        }
        const phx_vec3 hip = sub3(row3(&joints[rig->hip].position, lane), row3(&last->hip, lane));
        const phx_vec3 knee = sub3(row3(&joints[rig->knee].position, lane), row3(&last->knee, lane));
        const phx_vec3 heel = sub3(row3(&foot->heel, lane), last_heel), ball = sub3(row3(&foot->ball, lane), last_ball);
        if (!(dot3(hip, hip) <= squared && dot3(knee, knee) <= squared && dot3(heel, heel) <= squared && dot3(ball, ball) <= squared)) return 0;
        if (unasked) continue;
        const phx_vec3 normal = row3(&state->normal, lane), at = level(up, row3(&joints[rig->ankle].position, lane));
        const phx_vec3 turned = scale3(sub3(plane.normal, normal), foot->length.v[lane]);
        const float before = height_over(sub3(row3(&state->point, lane), o->travel), normal, 1.0f / height_of(up, normal), at);
        const float now = height_over(plane.point, plane.normal, 1.0f / (plane.seen ? height_of(up, plane.normal) : 1.0f), at);
        if (!(plane.seen && fabsf(now - before) <= setup->still && dot3(turned, turned) <= squared)) return 0;
    }
    return 1;
}

/* what the next frame will be compared with */
static void keep_still(const phx_crowd_task *task, const one *o, float weight, int rests) {
    const uint32_t legs = task->setup->leg_count, lane = o->lane;
    const phx_joint_rows *joints = task->joints + o->group * task->setup->plan.count;
    task->stills[o->group].settled.v[lane] = rests ? 1.0f : 0.0f, task->stills[o->group].weight.v[lane] = weight;
    for (uint32_t leg = 0; leg < legs; ++leg) {
        const uint32_t index = o->group * legs + leg;
        const phx_leg_setup *rig = task->setup->legs + leg;
        phx_leg_still *still = task->still_legs + index;
        phx_vec3 heel = row3(&task->feet[index].heel, lane);
        if (task->frame->bodies) {
            const carrier body = load_carrier(task->frame, task->legs[index].body.v[lane], o->root);
            heel = into(&body, heel);
        }
        set_row3(&still->hip, lane, row3(&joints[rig->hip].position, lane)), set_row3(&still->knee, lane, row3(&joints[rig->knee].position, lane));
        set_row3(&still->heel, lane, heel);
    }
}

void phx_reference_crowd_solve(const phx_crowd_task *task) {
    const phx_crowd_setup *setup = task->setup;
    const phx_crowd_frame *frame = task->frame;
    const uint32_t legs = setup->leg_count;
    const phx_vec3 up = setup->up;
    for (uint32_t i = 0; i < task->count; ++i) {
        const uint32_t group = i / PHX_BLOCK_LANES, lane = i % PHX_BLOCK_LANES;
        const phx_joint_rows *joints = task->joints + group * setup->plan.count;
        phx_character_state *state = task->characters + group;
        const float mark = task->good[group].v[lane];
        one o;
        o.group = group, o.lane = lane, o.character = task->first + i, o.remembered = 1.5f < mark;
        const float asked = read1(frame->weight, o.character, 1.0f), weight = min1(max1(asked, 0.0f), 1.0f);
        if (mark < 0.5f || asked != asked) {
            const uint32_t flags = flags_of(frame, o.character);
            const phx_lod lod = lod_of(flags);
            const int stays = !(flags & PHX_CHARACTER_TELEPORT); /* or what it did belongs elsewhere */
            const int waits = setup->replay && (lod == PHX_LOD_REPLAY || lod == PHX_LOD_PELVIS) && stays && asked == asked &&
                              phx_is_marked(task->legs + group * legs, lane, PHX_MARK_VALID);
            if (waits) {
                if (0.0f < weight) repeat_corrections(task, &o, lod == PHX_LOD_REPLAY);
                state->skipped.v[lane] = state->skipped.v[lane] + task->step.dt;
            }
            for (uint32_t leg = 0; leg < legs && !waits; ++leg)
                task->legs[group * legs + leg].flags.v[lane] = mark < -0.5f && (asked == asked || lod == PHX_LOD_OFF) ? PHX_FLAG_INACTIVE : PHX_FLAG_BAD_INPUT;
            continue;
        }
        o.root = row3(&task->root_position[group], lane), o.travel = sub3(o.root, row3(&state->root, lane));
        o.step = task->step;
        const float skipped = o.remembered ? state->skipped.v[lane] : 0.0f;
        if (0.0f < skipped) o.step = phx_crowd_step_of(setup, task->step.dt + skipped);
        if (task->stills && is_still(task, &o, weight)) {
            if (0.0f < weight) repeat_corrections(task, &o, 1);
            task->stills[group].settled.v[lane] = 2.0f;
            continue;
        }

        leg_work work[PHX_MAX_LEGS];
        work[0].flags = 0; /* there is a leg, but analysers do not know */
        int rests = 1;
        float drop = 0.0f, rise = setup->max_pelvis_rise, ceiling = 1e30f, needed = -1e30f, standing = 0.0f, held = 0.0f;
        for (uint32_t leg = 0; leg < legs; ++leg) {
            work[leg] = place_foot(task, &o, leg);
            standing = max1(work[leg].support, standing), held = max1(work[leg].weight, held);
            rests = rests && work[leg].rests;
        }
        pelvis_move move = {0};
        if (task->pelvises) move = move_pelvis(task, &o, work, weight, &rests);
        for (uint32_t leg = 0; leg < legs; ++leg) {
            float leg_drop, leg_rise, bound;
            pelvis_demand(task, &o, leg, &move, &work[leg], &leg_drop, &leg_rise, &bound);
            drop = min1(leg_drop, drop), rise = min1(leg_rise, rise);
            /* rising, the pelvis spares the legs that stand, but first those that it draws up from behind */
            if (work[leg].flags & PHX_MARK_STANDS) ceiling = min1(bound, ceiling);
            else needed = max1(bound, needed);
        }
        /* what every standing leg grants; legs that stand less grant more, which the best one takes back */
        rise = max1(rise - (1.0f - standing) * setup->max_pelvis_rise, 0.0f) * standing;
        float pelvis = 0.0f;
        if (setup->pelvis_joint != PHX_NO_JOINT) {
            const float wanted = drop < 0.0f ? max1(drop, -setup->max_pelvis_drop) : rise;
            pelvis = follow_pelvis(task, &o, wanted, held, max1(needed, ceiling), &work[0].flags);
            rests = rests && fabsf(pelvis - wanted) <= setup->still;
            if (task->velocities) rests = rests && fabsf(task->velocities[group].v[lane]) * setup->pelvis_half_life <= setup->still;
        }
        const float applied = pelvis * weight;

        for (uint32_t leg = 0; leg < legs; ++leg) rests = !solve_leg(task, &o, leg, weight, applied, &move, &work[leg]) && rests;

        if (setup->pelvis_joint != PHX_NO_JOINT) {
            const uint32_t parent = setup->pelvis_parent;
            const phx_quat above = parent == PHX_NO_JOINT ? row4(&task->root_rotation[group], lane) : row4(&joints[parent].rotation, lane);
            const phx_vec3 by = task->pelvises ? add3(scale3(up, applied), move.shift) : scale3(up, applied);
            phx_vec3 local = rotate3(conjugate4(above), by);
            if (task->scales && parent != PHX_NO_JOINT) {
                const phx_vec3 scale = row3(&task->scales[group * setup->plan.count + parent], lane);
                local = vec3(local.x / scale.x, local.y / scale.y, local.z / scale.z);
            }
            if (0.0f < (task->pelvises ? dot3(by, by) : fabsf(applied))) {
                const size_t index = frame->poses.layout == PHX_POSE_COMPACT ? setup->pelvis_slot : setup->pelvis_joint;
                phx_reference_set_translation(&frame->poses, index, o.character, add3(phx_reference_translation(&frame->poses, index, o.character), local));
            }
            if (setup->replay) set_row3(&state->sunk, lane, local);
            if (task->pelvises) {
                const phx_quat world = row4(&joints[setup->pelvis_slot].rotation, lane);
                set_row3(&task->pelvises[group].turn, lane, vec3(0.0f, 0.0f, 0.0f));
                if (move.leans)
                    store_local(task, &o, setup->pelvis_joint, setup->pelvis_slot, local_under(above, mul4(move.lean.turn, world)), &task->pelvises[group].turn);
            }
        }
        if (task->stills) keep_still(task, &o, weight, rests);
        state->pelvis.v[lane] = pelvis, state->skipped.v[lane] = 0.0f;
        set_row3(&state->root, lane, o.root);
    }
}
