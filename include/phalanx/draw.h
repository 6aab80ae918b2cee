/* Debug drawing: what a solve did, as lines that the caller draws. Not fast, not needed in a release; allocates nothing.
 *
 *     phx_crowd_solve(crowd, &frame, tile);
 *     phx_crowd_draw(crowd, &frame, 0, 10, PHX_DRAW_ALL, my_line, my_renderer, &report); */
#ifndef PHALANX_DRAW_H
#define PHALANX_DRAW_H

#include "crowd.h"

PHX_EXTERN_C_BEGIN

/* What a line shows; bits, to be combined into the `what` of a call. Below, how many lines there are. */
typedef enum phx_draw {
    PHX_DRAW_BONES = 1u << 0,   /* corrected pose: one a joint that is read and has a parent, and three a foot: ankle to heel, ball joint
                                   (or ankle) to ball, heel to ball. Legs red where the ankle misses its target, else green standing and
                                   blue swinging */
    PHX_DRAW_TARGETS = 1u << 1, /* four a leg: a cross at the ankle's target, and from the ankle to it; yellow */
    PHX_DRAW_PLANES = 1u << 2,  /* five a leg whose ground is known: a square and its normal; bright the more the foot follows it */
    PHX_DRAW_RAYS = 1u << 3,    /* two a leg: from the origin to the hit (white), or to the ray's end where it met nothing (grey);
                                   only in crowds with a workspace a tile, as the last prepare and the caller's cast left them */
    PHX_DRAW_LOCKS = 1u << 4,   /* four a locked foot: a cross where the ball is locked, and from the ball to it; magenta */
    PHX_DRAW_LIMITS = 1u << 5,  /* two a leg with limits: the shin at the least and the most bend; one a character whose pelvis moves:
                                   how far down and up it may go; orange */
    PHX_DRAW_ALL = 63
} phx_draw;

/* Receives one line: end points in the world, colour 0xRRGGBB, and what it shows (one phx_draw bit). Points are always finite: lines
 * of characters whose input is not are left out. */
typedef void (*phx_draw_line)(void *context, phx_vec3 from, phx_vec3 to, uint32_t colour, phx_draw what);

/* Characters [first, first + count) of a frame after it was solved: frame->poses holds the corrected pose, and bodies and roots are
 * those of the solve. Errors name what is NULL or out of range; nothing is drawn then. */
PHX_API phx_status phx_crowd_draw(const phx_crowd *crowd, const phx_crowd_frame *frame, uint32_t first, uint32_t count, uint32_t what,
                                  phx_draw_line line, void *context, phx_report *report);

/* Any solved chain: a line a bone between `count` joints, root first, and where target is not NULL a cross there and a line from the
 * last joint to it (PHX_DRAW_BONES and PHX_DRAW_TARGETS). flags: phx_flag bits of the result, for the colour. */
PHX_API void phx_chain_draw(const phx_vec3 *joints, uint32_t count, const phx_vec3 *target, uint32_t flags, phx_draw_line line,
                            void *context);

PHX_EXTERN_C_END
#endif
