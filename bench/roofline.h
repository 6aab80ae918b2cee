/* The bound of a workload on this machine, and which bound it is: arithmetic units, instruction issue, or copying its bytes. */
#ifndef PHALANX_BENCH_ROOFLINE_H
#define PHALANX_BENCH_ROOFLINE_H

#include "operations.h"
#include <cstddef>
#include <string>

struct bound {
    double nanoseconds; /* a chain cannot take less */
    std::string name;   /* of the tightest: "mul", "add", "div+sqrt", "issue", "copy" */
};

/* Bytes a nanosecond (GB/s), reads and writes added, that a plain copy moves when source and target together take `working_set` bytes.
 * By the widest loads and stores that this machine has, without streaming. Measured once for each size. */
double copy_bandwidth(size_t working_set);

/* The bound of `chains` chains that take `operations` of `lanes` lanes each and move bytes_per_chain; no arithmetic bound where operations
 * is NULL or the width was not measured. */
bound bound_of(const bench_operations *operations, uint32_t lanes, double chains, double bytes_per_chain, size_t working_set);

/* Operations that the two-bone kernel of a backend spends on the blocks (which it solves); false for the reference. */
bool count_two_bone(const phx_backend *backend, phx_twist twist, phx_two_bone_block *blocks, size_t count, bench_operations *operations);

/* The same backend with crowd kernels that count, and where they do; NULL for the reference. Not from two threads at once. */
const phx_backend *counting_crowds(const phx_backend *backend, bench_operations **operations);

/* Lines of name and value for the output's header: copies at sizes that suit each cache, operations at each width. */
void describe_machine(void (*line)(const std::string &name, const std::string &value));

#endif
