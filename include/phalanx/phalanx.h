/* Everything of Phalanx in one include. */
#ifndef PHALANX_H
#define PHALANX_H

#define PHX_VERSION_MAJOR 0
#define PHX_VERSION_MINOR 1
#define PHX_VERSION_PATCH 0
#define PHX_VERSION "0.1.0"

#include "base.h"
#include "backend.h"
#include "two_bone.h"
#include "limit.h"
#include "chain.h"
#include "ccd.h"
#include "fabrik.h"
#include "aim.h"
#include "pose.h"
#include "crowd.h"
#include "draw.h"
#include "capture.h"

#endif
