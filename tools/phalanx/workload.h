/* The fixed workload behind `phalanx verify`: more than 100,000 chains, easy, degenerate and hostile, and thousands of crowd frames, the
 * same on every machine. Its inputs come of integers and of float operations that IEEE 754 rounds exactly (no math library), so any
 * difference in an answer is the library's or the compiler's. It needs the library and threads, nothing else: tests/matrix builds it for
 * processors and systems that the command line tool is not built for. */
#ifndef PHALANX_TOOLS_WORKLOAD_H
#define PHALANX_TOOLS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "phalanx/phalanx.h"

/* How one and the same work is laid out and split. Every arrangement must give every chain the same answer. */
typedef enum workload_arrangement {
    WORKLOAD_IN_ORDER, /* one job, one call; crowds: plain poses, tile after tile */
    WORKLOAD_SHUFFLED, /* another order, small uneven ranges, over threads; crowds: tiles backwards, compact poses, over threads */
    WORKLOAD_BLOCKS,   /* rows of 16 chains; crowds: rows of poses, one workspace for all tiles */
    WORKLOAD_ARRANGEMENTS
} workload_arrangement;

typedef struct workload {
    const char *name;    /* "two_bone", as the golden hashes name it */
    const char *chains;  /* what one answer is of: "legs", "chains", ... */
    size_t count;        /* of them */
    size_t answer_size;  /* bytes of each one's answer */
    bool has_blocks;     /* rows of 16 are one of its faces; otherwise WORKLOAD_BLOCKS is not to be run */
    unsigned threads;    /* more than these would have nothing to do */
    /* Fills answers[count * answer_size]. WORKLOAD_BLOCKS overwrites what its face has, so `answers` must hold another
     * arrangement's already. threads: of WORKLOAD_SHUFFLED, from 1; the others have none. False: out of memory, or the library refused
     * a valid call. */
    bool (*run)(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
} workload;

extern const workload workloads[];
extern const size_t workload_count;

/* 64-bit FNV-1a over bytes; go on from an earlier hash, or start from WORKLOAD_HASH_START. */
#define WORKLOAD_HASH_START 0xcbf29ce484222325u
uint64_t workload_hash(uint64_t hash, const void *bytes, size_t size);

/* Gives all NaNs among these floats one bit pattern: which of them a poisoned joint turns into is the processor's affair (x86 makes
 * negative ones, ARM positive ones). Solvers return none; only plain forward kinematics hands on what it was given. */
void workload_one_nan(void *floats, size_t count);

/* ---- what the parts of the workload share ---- */

bool workload_two_bone(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_fabrik(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_ccd(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_aim(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_limits(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_poses(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_crowds(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
bool workload_tiles(const phx_backend *backend, workload_arrangement arrangement, unsigned threads, unsigned char *answers);
enum {
    WORKLOAD_MOST_THREADS = 64,
    WORKLOAD_LEGS = 64 * 1021, WORKLOAD_LEG_ANSWER = 160,
    WORKLOAD_CHAINS = 60 * 503 + 6 * 61, WORKLOAD_CHAIN_ANSWER = 56,
    WORKLOAD_LIMITS = 64 * 253, WORKLOAD_LIMIT_ANSWER = 20,
    WORKLOAD_POSES = 2049, WORKLOAD_POSE_ANSWER = 28 * 14,
    WORKLOAD_CROWD_ANSWERS = 3 * 1000 * 83, WORKLOAD_TILE_ANSWERS = 50 * 523, WORKLOAD_CROWD_ANSWER = 8
};

/* Calls work(context, first, count) over ranges that cover [0, blocks): in uneven pieces over so many threads (in turn, where no thread
 * can be started); all at once for 0 threads. False if any call was false. */
typedef bool (*workload_work)(void *context, size_t first, size_t count);
bool workload_split(size_t blocks, unsigned threads, workload_work work, void *context);

/* splitmix64 and values made of it */
typedef struct workload_random {
    uint64_t state;
} workload_random;

static inline uint64_t random_word(workload_random *r) {
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static inline uint32_t random_under(workload_random *r, uint32_t n) { return (uint32_t)((random_word(r) >> 32) * n >> 32); }
static inline float random_between(workload_random *r, float low, float high) {
    return low + (high - low) * ((float)(random_word(r) >> 40) * 0x1p-24f);
}
phx_vec3 random_unit(workload_random *r);
phx_quat random_turn(workload_random *r);
float random_scale(workload_random *r); /* a millimetre to a kilometre */
float random_bad(workload_random *r);   /* NaN, infinities, huge, tiny, zero */
/* The numbers 0 .. count - 1 in another order. */
void random_order(workload_random *r, uint32_t *order, uint32_t count);

#endif
