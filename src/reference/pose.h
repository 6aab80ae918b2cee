/* One character's joints in scalar C; shared by reference/pose.c and reference/crowd.c. */
#ifndef PHX_REFERENCE_POSE_H
#define PHX_REFERENCE_POSE_H
#include "../crowd/crowd.h"

/* Local translation, rotation or scale of a joint (index into the pose as its layout counts) of one character. */
phx_vec3 phx_reference_translation(const phx_poses *poses, size_t index, size_t character);
phx_quat phx_reference_rotation(const phx_poses *poses, size_t index, size_t character);
phx_vec3 phx_reference_scale(const phx_poses *poses, size_t index, size_t character);
void phx_reference_set_translation(const phx_poses *poses, size_t index, size_t character, phx_vec3 value);
void phx_reference_set_rotation(const phx_poses *poses, size_t index, size_t character, phx_quat value);

/* Forward kinematics of one character into lane `lane` of the rows; scales NULL unless scaled. */
void phx_reference_walk(const phx_walk_plan *plan, const phx_poses *poses, size_t character, uint32_t lane, phx_quat root_rotation,
                        phx_joint_rows *joints, phx_rows3 *scales);
#endif
