/* Types that every Phalanx header shares: status and report, vectors, quaternions, strided views, per-chain results.
 *
 * Conventions, everywhere: right-handed, metres, radians, quaternions x y z w with the Hamilton product, a vector is
 * turned by v' = q v q*. Positions and rotations may be in any one space (world, character) as long as one call uses one.
 * Nothing in this library allocates, locks, keeps globals or changes the floating-point mode while it solves. */
#ifndef PHALANX_BASE_H
#define PHALANX_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PHX_EXTERN_C_BEGIN extern "C" {
#define PHX_EXTERN_C_END }
#define PHX_ALIGN_64 alignas(64)
#else
#define PHX_EXTERN_C_BEGIN
#define PHX_EXTERN_C_END
#define PHX_ALIGN_64 _Alignas(64)
#endif

#if defined(_WIN32) && defined(PHX_SHARED)
#ifdef PHX_BUILDING
#define PHX_API __declspec(dllexport)
#else
#define PHX_API __declspec(dllimport)
#endif
#elif defined(__GNUC__) && !defined(_WIN32)
#define PHX_API __attribute__((visibility("default")))
#else
#define PHX_API
#endif

PHX_EXTERN_C_BEGIN

/* Lanes of a block in memory. It is 16 on every machine, whatever the backend's own width, so that stored blocks are
 * portable: a row is 16 floats, one cache line. */
#define PHX_BLOCK_LANES 16

typedef struct phx_vec3 {
    float x, y, z;
} phx_vec3;

/* Unit unless said otherwise. */
typedef struct phx_quat {
    float x, y, z, w;
} phx_quat;

/* Sixteen vectors, quaternions, numbers as rows; every row starts a cache line. */
typedef struct phx_rows3 {
    PHX_ALIGN_64 float x[PHX_BLOCK_LANES];
    float y[PHX_BLOCK_LANES];
    float z[PHX_BLOCK_LANES];
} phx_rows3;

typedef struct phx_rows4 {
    PHX_ALIGN_64 float x[PHX_BLOCK_LANES];
    float y[PHX_BLOCK_LANES];
    float z[PHX_BLOCK_LANES];
    float w[PHX_BLOCK_LANES];
} phx_rows4;

typedef struct phx_rows1 {
    PHX_ALIGN_64 float v[PHX_BLOCK_LANES];
} phx_rows1;

typedef struct phx_rows1u {
    PHX_ALIGN_64 uint32_t v[PHX_BLOCK_LANES];
} phx_rows1u;

/* What a call says about itself. A bad chain is never a status: it is a flag on that chain (phx_flag). */
typedef enum phx_status {
    PHX_OK = 0,
    PHX_ERROR_NULL,     /* a required pointer or view is NULL */
    PHX_ERROR_STRIDE,   /* a stride is smaller than its element, or larger than memory */
    PHX_ERROR_COUNT,    /* a count or range is out of bounds */
    PHX_ERROR_VALUE,    /* a parameter is NaN or outside its documented range */
    PHX_ERROR_ALIGN,    /* blocks, and what an allocator gives, must start at a multiple of 64 bytes */
    PHX_ERROR_OVERLAP,  /* outputs overlap in a way that is not allowed */
    PHX_ERROR_HIERARCHY,/* joints are unordered, cyclic, or not on one chain */
    PHX_ERROR_MEMORY,   /* the allocator returned NULL */
    PHX_ERROR_STATE     /* calls came in an order that has no meaning */
} phx_status;

/* A sentence about a rejected argument: it names the field, the value and what would be right. Filled only on error. */
typedef struct phx_report {
    phx_status status;
    char text[252];
} phx_report;

/* A short English name of a status, for logs; never NULL. */
PHX_API const char *phx_status_name(phx_status status);

/* What happened to one chain. Several may be set. */
typedef enum phx_flag {
    PHX_FLAG_REACHED = 1u << 0,       /* |tip - target| <= tolerance, after limits, weight and blending */
    PHX_FLAG_OUT_OF_REACH = 1u << 1,  /* not reached, and the target is farther than the chain is long */
    PHX_FLAG_TOO_CLOSE = 1u << 2,     /* not reached, and the target is nearer than the chain can fold */
    PHX_FLAG_HINT_UNUSABLE = 1u << 3, /* the pole was given but lies along the limb or is not finite: the next hint was used */
    PHX_FLAG_LIMIT = 1u << 4,         /* a joint limit changed the answer in the steps that led to it last: FABRIK's projections along the
                                         way, which may bend a chain another way round, do not count. This, SOFTENED and STRETCHED
                                         never where a weight or budget of 0 left the chain as animated */
    PHX_FLAG_STALLED = 1u << 5,       /* iterations ran out, or stopped gaining, before the tolerance was met */
    PHX_FLAG_BAD_INPUT = 1u << 6,     /* NaN, infinite or absurd input, or no length at all: left as animated */
    PHX_FLAG_ZERO_LENGTH = 1u << 7,   /* a bone has no length; the rest of the chain was solved */
    PHX_FLAG_SOFTENED = 1u << 8,      /* soft reach held the tip short of the target */
    PHX_FLAG_STRETCHED = 1u << 9,     /* the bones were lengthened, as the caller allowed */
    PHX_FLAG_BEND_HELD = 1u << 10,    /* the bend plane wanted to turn faster than allowed and was held back */
    PHX_FLAG_INACTIVE = 1u << 11,     /* a lane that holds no chain */
    PHX_FLAG_OVERHANGS = 1u << 12     /* crowds: a foot stands with its ball beyond an edge: over nothing, or ground lower by more than 5 % of the leg */
} phx_flag;

/* The name of one flag as the command line prints it ("reached", "out_of_reach", ...); NULL for a value that is none. */
PHX_API const char *phx_flag_name(phx_flag flag);

/* Per-chain result. */
typedef struct phx_result {
    float residual;      /* |tip - target| in metres as returned; FLT_MAX where one is not finite */
    uint32_t iterations; /* rounds used; 1 for closed forms; 0 where none was needed, as the tip began within the tolerance, and when
                            nothing was solved: bad input, a weight or budget of 0 */
    uint32_t flags;      /* phx_flag bits */
} phx_result;

/* A strided view over the caller's memory: element i is at (char *)data + i * stride. Any alignment, any stride that is
 * at least the element's size; a stride of 0 repeats one element (inputs only). data NULL: the field is absent. */
typedef struct phx_view {
    void *data;
    size_t stride;
} phx_view;

static inline phx_view phx_view_of(const void *data, size_t stride) {
    phx_view view;
    view.data = (void *)(uintptr_t)data;
    view.stride = stride;
    return view;
}

/* The member `field` of each element of an array of structures. */
#define PHX_VIEW(array, field) phx_view_of(&(array)->field, sizeof *(array))
/* Each element of an array as it is. */
#define PHX_VIEW_ARRAY(array) phx_view_of((array), sizeof *(array))
/* One value for all chains (inputs only). */
#define PHX_VIEW_ONE(pointer) phx_view_of((pointer), 0)

/* Which rotation a bone gets besides pointing the right way. */
typedef enum phx_twist {
    PHX_TWIST_PLANE = 0,  /* the joints' hinges follow the bend plane */
    PHX_TWIST_INHERIT = 1 /* shortest swing: the animation's own twist is kept */
} phx_twist;

PHX_EXTERN_C_END
#endif
