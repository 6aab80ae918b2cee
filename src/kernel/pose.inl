/* Local poses in the caller's memory to joint rows: forward kinematics over lanes. Included by kernel/table.inl; used by the
 * fk job and by kernel/crowd.inl. The scalar twin is reference/pose.c. */

/* `count` characters from `first`; lanes beyond count repeat the last one */
typedef struct span {
    size_t first, count;
} span;

/* the span of lanes [lane, lane + LANES) of a group of `count` characters from `first` */
static inline span lanes_of(size_t first, size_t count, uint32_t lane) {
    if (lane < count) return (span){first + lane, count - lane};
    return (span){first + count - 1, 1};
}

static inline phx_view joint_view(const phx_poses *poses, size_t index, size_t offset) {
    return phx_view_of((char *)poses->data + index * poses->joint_stride + offset, poses->character_stride);
}
/* ten rows of one joint of 16 characters; `group` is a multiple of 16, `lane` within it */
static inline float *joint_row(const phx_poses *poses, size_t index, size_t group, uint32_t lane, int row) {
    char *joint = (char *)poses->data + group / PHX_BLOCK_LANES * poses->character_stride + index * poses->joint_stride;
    return (float *)(void *)joint + row * PHX_BLOCK_LANES + lane;
}

static inline lv3 load_translation(const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s) {
    if (poses->layout != PHX_POSE_ROWS) return pack3(joint_view(poses, index, poses->translation_offset), s.first, s.count);
    return v3(f_load(joint_row(poses, index, group, lane, 0)), f_load(joint_row(poses, index, group, lane, 1)), f_load(joint_row(poses, index, group, lane, 2)));
}
static inline lq4 load_rotation(const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s) {
    if (poses->layout != PHX_POSE_ROWS) return pack4(joint_view(poses, index, poses->rotation_offset), s.first, s.count);
    return (lq4){f_load(joint_row(poses, index, group, lane, 3)), f_load(joint_row(poses, index, group, lane, 4)),
                 f_load(joint_row(poses, index, group, lane, 5)), f_load(joint_row(poses, index, group, lane, 6))};
}
static inline lv3 load_scale(const phx_poses *poses, size_t index, size_t group, uint32_t lane, span s) {
    if (poses->layout != PHX_POSE_ROWS) return pack3(joint_view(poses, index, poses->scale_offset), s.first, s.count);
    return v3(f_load(joint_row(poses, index, group, lane, 7)), f_load(joint_row(poses, index, group, lane, 8)), f_load(joint_row(poses, index, group, lane, 9)));
}

/* How the walk reads joints: translation and rotation side by side in full groups of arrays, where the three floats are loaded as four,
 * which is cheaper; rows; or whatever there is. */
typedef enum walk_kind {
    WALK_ANY,
    WALK_SIDE_BY_SIDE,
    WALK_ROWS
} walk_kind;

/* a joint's translation and rotation; `first` is where those of joint 0 lie for the group's first lane, unless the kind is any */
lane_inline void load_joint(const walk_kind kind, const phx_poses *poses, const char *first, size_t index, size_t group, uint32_t lane, span s,
                            lv3 *translation, lq4 *rotation) {
    if (kind == WALK_SIDE_BY_SIDE) {
        const char *at = first + index * poses->joint_stride;
        lf unused;
        f_load4(at, poses->character_stride, &translation->x, &translation->y, &translation->z, &unused);
        f_load4(at + 12, poses->character_stride, &rotation->x, &rotation->y, &rotation->z, &rotation->w);
    } else if (kind == WALK_ROWS) {
        const float *rows = (const float *)(const void *)(first + index * poses->joint_stride);
        *translation = v3(f_load(rows), f_load(rows + PHX_BLOCK_LANES), f_load(rows + 2 * PHX_BLOCK_LANES));
        *rotation = (lq4){f_load(rows + 3 * PHX_BLOCK_LANES), f_load(rows + 4 * PHX_BLOCK_LANES), f_load(rows + 5 * PHX_BLOCK_LANES), f_load(rows + 6 * PHX_BLOCK_LANES)};
    } else {
        *translation = load_translation(poses, index, group, lane, s), *rotation = load_rotation(poses, index, group, lane, s);
    }
}

/* Walks the plan, of one joint or more, for lanes [lane, lane + LANES) of the group that starts at character `group`: root-relative joints
 * in rows. A joint is loaded while the one before it is worked on, as it may come from far. What poses and plan say is copied first: for
 * all that a compiler knows, each store changes it. */
lane_inline void walk_joints_of(const walk_kind kind, const phx_walk_plan *plan, const phx_poses *given, size_t group, uint32_t lane, span s, lq4 root_rotation,
                                phx_joint_rows *joints, phx_rows3 *scales) {
    const phx_poses poses = *given;
    const uint32_t count = plan->count;
    const uint16_t *parents = plan->parents, *indices = poses.layout == PHX_POSE_COMPACT ? NULL : plan->joints;
    const char *first = NULL;
    if (kind == WALK_ROWS) first = (const char *)joint_row(&poses, 0, group, lane, 0);
    if (kind == WALK_SIDE_BY_SIDE) first = (const char *)poses.data + poses.translation_offset + s.first * poses.character_stride;
    lv3 next_offset;
    lq4 next_local;
    load_joint(kind, &poses, first, indices ? indices[0] : 0, group, lane, s, &next_offset, &next_local);
    for (uint32_t slot = 0; slot < count; ++slot) {
        const uint32_t parent = parents[slot];
        lv3 offset = next_offset;
        const lq4 local = next_local;
        if (slot + 1 < count) load_joint(kind, &poses, first, indices ? indices[slot + 1] : slot + 1, group, lane, s, &next_offset, &next_local);
        lv3 scale = v3_splat(1.0f, 1.0f, 1.0f);
        if (scales) scale = load_scale(&poses, indices ? indices[slot] : slot, group, lane, s);
        lv3 position;
        lq4 rotation;
        if (parent == PHX_NO_JOINT) {
            position = q4_rotate(root_rotation, offset);
            rotation = q4_mul(root_rotation, local);
        } else {
            if (scales) {
                const lv3 above = v3_load(&scales[parent], lane);
                offset = v3(f_mul(offset.x, above.x), f_mul(offset.y, above.y), f_mul(offset.z, above.z));
                scale = v3(f_mul(scale.x, above.x), f_mul(scale.y, above.y), f_mul(scale.z, above.z));
            }
            const lq4 above = q4_load(&joints[parent].rotation, lane);
            position = v3_add(v3_load(&joints[parent].position, lane), q4_rotate(above, offset));
            rotation = q4_mul(above, local);
        }
        v3_store(&joints[slot].position, lane, position);
        q4_store(&joints[slot].rotation, lane, rotation);
        if (scales) v3_store(&scales[slot], lane, scale);
    }
}

/* NaN is one NaN: which of two operands' bits an addition hands on is not the same everywhere */
static inline lf one_nan(lf a) { return f_select(f_eq(a, a), a, i_as_f(i_splat(0x7FC00000))); }

static lane_apart void walk_joints(const phx_walk_plan *plan, const phx_poses *poses, size_t group, uint32_t lane, span s, const lq4 *root_rotation,
                                   phx_joint_rows *joints, phx_rows3 *scales) {
    const int side_by_side = s.count >= LANES && poses->layout != PHX_POSE_ROWS && poses->rotation_offset == poses->translation_offset + 12;
    if (scales && side_by_side) walk_joints_of(WALK_SIDE_BY_SIDE, plan, poses, group, lane, s, *root_rotation, joints, scales);
    else if (scales) walk_joints_of(WALK_ANY, plan, poses, group, lane, s, *root_rotation, joints, scales);
    else if (side_by_side) walk_joints_of(WALK_SIDE_BY_SIDE, plan, poses, group, lane, s, *root_rotation, joints, NULL);
    else if (poses->layout == PHX_POSE_ROWS) walk_joints_of(WALK_ROWS, plan, poses, group, lane, s, *root_rotation, joints, NULL);
    else walk_joints_of(WALK_ANY, plan, poses, group, lane, s, *root_rotation, joints, NULL);
}

static void forward_kinematics(const phx_fk_job *job, const phx_walk_plan *plan, const uint16_t *wanted, uint32_t wanted_count, size_t first,
                               size_t count, phx_joint_rows *joints, phx_rows3 *scales) {
    for (size_t k = 0; k < count; k += LANES) {
        const span s = {first + k, count - k};
        const size_t group = s.first / PHX_BLOCK_LANES * PHX_BLOCK_LANES;
        const lq4 rotation = job->root_rotation.data ? pack4(job->root_rotation, s.first, s.count) : q4_identity();
        /* only the rows layout reads by lane, and its ranges start at a multiple of 16; rows of the workspace follow it */
        const uint32_t lane = job->poses.layout == PHX_POSE_ROWS ? (uint32_t)(s.first - group) : 0;
        walk_joints(plan, &job->poses, group, lane, s, &rotation, joints, scales);
        for (uint32_t w = 0; w < wanted_count; ++w) {
            const phx_joint_rows *joint = joints + wanted[w];
            if (job->positions.data) {
                lv3 position = v3_load(&joint->position, lane);
                if (job->root_position.data) position = v3_add(pack3(job->root_position, s.first, s.count), position);
                unpack3(phx_view_of((char *)job->positions.data + w * 12, job->positions.stride), s.first, s.count,
                        v3(one_nan(position.x), one_nan(position.y), one_nan(position.z)));
            }
            if (job->rotations.data) {
                const lq4 rotated = q4_load(&joint->rotation, lane);
                unpack4(phx_view_of((char *)job->rotations.data + w * 16, job->rotations.stride), s.first, s.count,
                        (lq4){one_nan(rotated.x), one_nan(rotated.y), one_nan(rotated.z), one_nan(rotated.w)});
            }
        }
    }
}
