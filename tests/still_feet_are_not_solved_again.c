/* With a still tolerance, characters that stand and move no farther are not solved again: their corrections are repeated, feet stay within
 * a few tolerances of where they would be, and whatever moves farther is solved in the same frame, its neighbours untouched. */
#include "crowd_rig.h"

enum { N = 37 }; /* two full groups and some */
static const float tolerance = 0.001f;

typedef struct scene {
    phx_transform poses[N * RIG_JOINTS];
    phx_vec3 roots[N];
    phx_quat turns[N];
    float weights[N], support[2 * N];
    uint32_t flags[N];
    float lifted; /* the ground of character 20 */
    phx_body bodies[3];
    int with_bodies;
    float dt;
} scene;

/* The ground of every character is a plane of its own, and characters stand 10 apart. */
static int own_planes(const void *data, float x, float z, float *height, phx_vec3 *normal) {
    const scene *s = data;
    const int c = (int)floorf(x / 10 + 0.5f);
    const float slope = 0.02f * (float)(c % 9 - 4), l = sqrtf(1 + slope * slope);
    *height = slope * z + (c == 20 ? s->lifted : 0), *normal = (phx_vec3){0, 1 / l, -slope / l};
    return 1;
}
static void cast_planes(phx_ray_blocks rays, const scene *s) {
    cast(rays, own_planes, s);
    for (uint32_t b = 0; s->with_bodies && b < rays.count; ++b)
        for (uint32_t lane = 0; lane < PHX_BLOCK_LANES; ++lane)
            if (rays.blocks[b].geomID[lane] != PHX_NO_HIT)
                rays.blocks[b].geomID[lane] = (rays.first_character + b / (rays.legs * 2) * PHX_BLOCK_LANES + lane) % 3;
}

static void stand(scene *s) {
    for (uint32_t c = 0; c < N; ++c) {
        rig_pose(s->poses + c * RIG_JOINTS, (const float[]){0.2f, 0.25f}, (const float[]){0.4f, 0.5f});
        s->poses[c * RIG_JOINTS + 1].translation.y -= 0.9f - 0.82f * cosf(0.25f) - 0.08f;
        s->roots[c] = (phx_vec3){10 * (float)c, 0, 0}, s->turns[c] = about_y(0.1f * (float)c);
        s->weights[c] = 1, s->support[2 * c] = s->support[2 * c + 1] = 1, s->flags[c] = 0;
    }
    for (int b = 0; b < 3; ++b) s->bodies[b] = (phx_body){{0, 0, 0}, {0, 0, 0, 1}, 1};
    s->lifted = 0, s->dt = 1.0f / 60, s->with_bodies = 0;
}

static phx_crowd *make(const phx_backend *backend, float still, int bodies, int creeps) {
    phx_crowd_def def = rig_def(backend, N);
    def.params.still_tolerance = still, def.bodies = bodies;
    if (!creeps) def.params.pelvis_shift = 0.5f, def.params.pelvis_roll = 0.5f; /* whose filter would lag behind what creeps */
    phx_crowd *crowd = phx_crowd_create(&def, NULL);
    assert_non_null(crowd);
    return crowd;
}

static void frame_of(phx_crowd *crowd, scene *s) {
    phx_crowd_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.count = N, frame.dt = s->dt, frame.poses = phx_poses_of(s->poses, RIG_JOINTS);
    frame.root_position = PHX_VIEW_ARRAY(s->roots), frame.root_rotation = PHX_VIEW_ARRAY(s->turns);
    frame.weight = PHX_VIEW_ARRAY(s->weights), frame.flags = PHX_VIEW_ARRAY(s->flags);
    frame.support = phx_view_of(s->support, 2 * sizeof(float));
    if (s->with_bodies) frame.bodies = s->bodies, frame.body_count = 3;
    cast_planes(phx_crowd_prepare(crowd, &frame, 0), s);
    assert_int_equal(phx_crowd_solve(crowd, &frame, 0), PHX_OK);
}

static uint32_t still_of(const phx_crowd *crowd, uint32_t c) {
    phx_foot_info left, right;
    assert_int_equal(phx_crowd_foot(crowd, c, 0, &left) | phx_crowd_foot(crowd, c, 1, &right), PHX_OK);
    assert_int_equal(left.still, right.still);
    return left.still;
}

/* where the ankles of character c are, in the world */
static void ankles_of(scene *s, uint32_t c, phx_vec3 ankles[2]) {
    static PHX_ALIGN_64 char workspace[1 << 16];
    phx_vec3 positions[RIG_JOINTS];
    const phx_skeleton skeleton = {RIG_JOINTS, rig_parents};
    const phx_fk_job fk = {.skeleton = &skeleton,
                           .count = 1,
                           .poses = phx_poses_of(s->poses + c * RIG_JOINTS, RIG_JOINTS),
                           .root_position = PHX_VIEW_ONE(s->roots + c),
                           .root_rotation = PHX_VIEW_ONE(s->turns + c),
                           .positions = phx_view_of(positions, RIG_JOINTS * 12)};
    assert_true(phx_fk_workspace_size(&fk) <= sizeof workspace);
    assert_int_equal(phx_fk_solve(phx_backend_find("reference"), &fk, 0, 1, workspace, NULL), PHX_OK);
    ankles[0] = positions[6], ankles[1] = positions[11];
}
static float apart(scene *a, scene *b, uint32_t c) {
    phx_vec3 p[2], q[2];
    ankles_of(a, c, p), ankles_of(b, c, q);
    float most = 0;
    for (int leg = 0; leg < 2; ++leg) most = fmaxf(most, sqrtf(powf(p[leg].x - q[leg].x, 2) + powf(p[leg].y - q[leg].y, 2) + powf(p[leg].z - q[leg].z, 2)));
    return most;
}

static scene one, other, reference;

static void a_crowd_at_rest_is_not_solved(void **state) {
    (void)state;
    for (int bodies = 0; bodies < 2; ++bodies) {
        FOR_EACH_BACKEND(backend) {
            phx_crowd *still = make(backend, tolerance, bodies, 0), *always = make(backend, 0, bodies, 0), *scalar = make(phx_backend_find("reference"), tolerance, bodies, 0);
            for (int f = 0; f < 40; ++f) {
                stand(&one), stand(&other), stand(&reference);
                one.with_bodies = other.with_bodies = reference.with_bodies = bodies;
                frame_of(still, &one), frame_of(always, &other), frame_of(scalar, &reference);
                assert_int_equal(first_difference(one.poses, reference.poses, sizeof one.poses), -1);
                for (uint32_t c = 0; c < N; ++c) assert_int_equal(still_of(still, c), still_of(scalar, c));
            }
            for (uint32_t c = 0; c < N; ++c) {
                assert_int_equal(still_of(still, c), 1), assert_int_equal(still_of(always, c), 0);
                assert_true(apart(&one, &other, c) < tolerance);
            }
            phx_crowd_destroy(still), phx_crowd_destroy(always), phx_crowd_destroy(scalar);
        }
    }
}

/* one change a case to character 20; `size` in tolerances where it is a length */
enum { ROOT, GROUND, HIPS, KNEE, ANKLE_TURN, WEIGHT, SUPPORT, TELEPORT, BODY, BODY_TURN, GENERATION, CASES };
static void change(scene *s, int which, float size) {
    phx_transform *pose = s->poses + 20 * RIG_JOINTS;
    const float by = size * tolerance;
    switch (which) {
    case ROOT: s->roots[20].z += by; break;
    case GROUND: s->lifted = by; break;
    case HIPS: pose[1].translation.x += by; break;
    case KNEE: pose[4].rotation = about_x(-0.2f - by / 0.42f), pose[5].rotation = about_x(0.4f + by / 0.42f); break; /* the knee goes ahead by it */
    case ANKLE_TURN: { /* the ball goes aside */
        const phx_quat x = about_x(-0.2f), y = about_y(by / 0.13f);
        pose[6].rotation = (phx_quat){x.x * y.w, x.w * y.y, x.x * y.y, x.w * y.w};
        break;
    }
    case WEIGHT: s->weights[20] = 0.9f; break;
    case SUPPORT: s->support[41] = 0.5f; break;
    case TELEPORT: s->flags[20] = PHX_CHARACTER_TELEPORT; break;
    case BODY: s->bodies[20 % 3].position.x += by; break;
    case BODY_TURN: s->bodies[20 % 3].rotation = about_y(by); break; /* the character stands 200 from its axis */
    default: ++s->bodies[20 % 3].generation;
    }
}

static void what_moves_is_solved_in_the_same_frame(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        for (int which = 0; which < CASES; ++which) {
            for (int far = 0; far < 2; ++far) {
                const int bodies = which >= BODY, lengthy = which <= ANKLE_TURN || which == BODY;
                if (!far && !lengthy) continue;
                phx_crowd *still = make(backend, tolerance, bodies, 0), *always = make(backend, 0, bodies, 0);
                for (int f = 0; f < 40; ++f) {
                    stand(&one), stand(&other), one.with_bodies = other.with_bodies = bodies;
                    frame_of(still, &one), frame_of(always, &other);
                }
                const scene rest = one;
                stand(&one), stand(&other), one.with_bodies = other.with_bodies = bodies;
                change(&one, which, far ? 3 : 0.4f), change(&other, which, far ? 3 : 0.4f);
                frame_of(still, &one), frame_of(always, &other);
                if (still_of(still, 20) == (uint32_t)far) fail_msg("%s: case %d, %s, was %ssolved", phx_backend_name(backend), which, far ? "far" : "near", far ? "not " : "");
                const float off = apart(&one, &other, 20);
                if (off > 4 * tolerance) fail_msg("%s: case %d, %s, is off by %g", phx_backend_name(backend), which, far ? "far" : "near", (double)off);
                for (uint32_t c = 0; c < N; ++c) {
                    if (c == 20 || (bodies && c % 3 == 20 % 3)) continue; /* those stand on the same body */
                    assert_int_equal(still_of(still, c), 1);
                    assert_int_equal(first_difference(rest.poses + c * RIG_JOINTS, one.poses + c * RIG_JOINTS, RIG_JOINTS * sizeof *one.poses), -1);
                }
                phx_crowd_destroy(still), phx_crowd_destroy(always);
            }
        }
    }
}

/* Roots creep by a quarter of the tolerance a frame: distances are those from the last solve, so errors do not pile up. */
static void what_creeps_is_solved_now_and_then(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_crowd *still = make(backend, tolerance, 0, 1), *always = make(backend, 0, 0, 1);
        uint32_t repeated = 0;
        for (int f = 0; f < 140; ++f) {
            stand(&one), stand(&other);
            for (uint32_t c = 0; c < N; ++c) one.roots[c].z = other.roots[c].z = f > 40 ? (float)(f - 40) * tolerance / 4 : 0;
            frame_of(still, &one), frame_of(always, &other);
            for (uint32_t c = 0; f > 40 && c < N; ++c) {
                repeated += still_of(still, c);
                if (apart(&one, &other, c) > 4 * tolerance) fail_msg("frame %d: off by %g", f, (double)apart(&one, &other, c));
            }
        }
        assert_true(repeated > 99 * N * 7 / 10 && repeated < 99 * N * 9 / 10); /* of five frames the first is solved, or of four */
        phx_crowd_destroy(still), phx_crowd_destroy(always);
    }
}

/* weight 0 leaves the pose alone, and so does repeating that */
static void nothing_is_repeated_where_nothing_was_corrected(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_crowd *crowd = make(backend, tolerance, 0, 0);
        for (int f = 0; f < 60; ++f) stand(&one), frame_of(crowd, &one);
        stand(&one), stand(&other);
        memset(one.weights, 0, sizeof one.weights), frame_of(crowd, &one);
        assert_int_equal(first_difference(one.poses, other.poses, sizeof one.poses), -1);
        stand(&one);
        for (uint32_t c = 0; c < N; ++c) one.weights[c] = 0, one.flags[c] = PHX_CHARACTER_LOD(PHX_LOD_REPLAY);
        frame_of(crowd, &one);
        for (uint32_t at = 0; at < N * RIG_JOINTS; ++at)
            for (int k = 0; k < 7; ++k) assert_true(fabsf((&one.poses[at].translation.x)[k] - (&other.poses[at].translation.x)[k]) < 1e-6f);
        phx_crowd_destroy(crowd);
    }
}

/* and what a weight of 0 left alone was not softened, as it is at weight 1: the legs stand beyond 0.9 of their length */
static void nothing_is_said_of_what_was_left_alone(void **state) {
    (void)state;
    FOR_EACH_BACKEND(backend) {
        phx_crowd_def def = rig_def(backend, N);
        def.params.soft_start = 0.5f;
        phx_crowd *crowd = phx_crowd_create(&def, NULL);
        assert_non_null(crowd);
        stand(&one);
        for (uint32_t c = 0; c < N; c += 2) one.weights[c] = 0;
        frame_of(crowd, &one);
        for (uint32_t foot = 0; foot < 2 * N; ++foot) {
            phx_foot_info info;
            assert_int_equal(phx_crowd_foot(crowd, foot / 2, foot % 2, &info), PHX_OK);
            assert_int_equal(info.flags & (PHX_FLAG_SOFTENED | PHX_FLAG_LIMIT | PHX_FLAG_STRETCHED), foot / 2 % 2 ? PHX_FLAG_SOFTENED : 0);
        }
        phx_crowd_destroy(crowd);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crowd_at_rest_is_not_solved),
        cmocka_unit_test(what_moves_is_solved_in_the_same_frame),
        cmocka_unit_test(what_creeps_is_solved_now_and_then),
        cmocka_unit_test(nothing_is_repeated_where_nothing_was_corrected),
        cmocka_unit_test(nothing_is_said_of_what_was_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
