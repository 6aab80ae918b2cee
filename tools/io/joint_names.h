/* What a joint's name says about its part in a leg and its side. Used to find legs (phalanx/legs.c) and the up axis. */
#ifndef PHALANX_TOOLS_IO_JOINT_NAMES_H
#define PHALANX_TOOLS_IO_JOINT_NAMES_H

typedef enum io_joint_role {
    IO_ROLE_NONE,
    IO_ROLE_HIP,
    IO_ROLE_KNEE,
    IO_ROLE_ANKLE,
    IO_ROLE_BALL,
    IO_ROLE_ARM,
    IO_ROLE_HELPER
} io_joint_role;

/* Knows the habits of BVH recordings, mixamo, 3ds Max bipeds, Blender and game rigs: "LeftUpLeg", "mixamorig:RightFoot",
 * "Bip01 L Thigh", "lowerleg.l", "DEF-shin.R", "calf_l", "LeftToeBase". IO_ROLE_ARM: shoulder to fingers. IO_ROLE_HELPER:
 * twist, roll and IK joints, which carry no limb. */
io_joint_role io_joint_role_of(const char *name);

/* 'l', 'r', or 0 where the name does not say. */
char io_joint_side_of(const char *name);

#endif
