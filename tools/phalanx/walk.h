/* A character that needs no file: a body of 24 joints and a walk made of formulas, for `phalanx demo` and tests.
 *
 * The foot is designed first and the leg is solved to it: the heel lands, the foot rolls flat, stays, the heel lifts about the
 * ball, the toes let go. While it stands, what touches the ground moves with the ground and by nothing else, so that the
 * clip's own error on flat ground is the rounding of its keys. */
#ifndef PHALANX_TOOLS_WALK_H
#define PHALANX_TOOLS_WALK_H

#include "../io/character.h"

/* The clip "walk": in place, facing +Z, one cycle of WALK_FRAMES steps of 1/60 s (the last frame repeats the first). Its
 * stance feet move backward at WALK_SPEED: carry the root forward at that speed. */
#define WALK_FRAMES 66
#define WALK_SPEED  1.2

/* Metres, Y up. Free it with io_character_free. */
void walk_character(io_character *character);

#endif
