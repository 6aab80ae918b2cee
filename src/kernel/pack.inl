/* From the caller's strided arrays into lanes and back. Included by kernel/table.inl before the kernels that use it.
 * A group of LANES elements is transposed straight to and from registers; a shorter group goes through a small scratch, its
 * missing lanes filled with copies of the last element, so that a tail has no undefined lane and no byte outside is touched. */

static inline const char *element(phx_view view, size_t index) { return (const char *)view.data + index * view.stride; }
static inline char *element_out(phx_view view, size_t index) { return (char *)view.data + index * view.stride; }

typedef struct pack_scratch {
    PHX_ALIGN_64 char bytes[LANES * 16];
} pack_scratch;

/* copies `count` elements of `size` bytes side by side and repeats the last; out of line: it is the rare case */
static void gather_tail(phx_view view, size_t first, size_t count, size_t size, pack_scratch *scratch) {
    for (size_t k = 0; k < LANES; ++k) memcpy(scratch->bytes + k * size, element(view, first + (k < count ? k : count - 1)), size);
}
static void scatter_tail(phx_view view, size_t first, size_t count, size_t size, const pack_scratch *scratch) {
    for (size_t k = 0; k < count; ++k) memcpy(element_out(view, first + k), scratch->bytes + k * size, size);
}

lane_inline lv3 pack3(phx_view view, size_t first, size_t count) {
    lv3 a;
    if (count >= LANES) {
        f_load3(element(view, first), view.stride, &a.x, &a.y, &a.z);
    } else {
        pack_scratch scratch;
        gather_tail(view, first, count, 12, &scratch);
        f_load3(scratch.bytes, 12, &a.x, &a.y, &a.z);
    }
    return a;
}
lane_inline lq4 pack4(phx_view view, size_t first, size_t count) {
    lq4 a;
    if (count >= LANES) {
        f_load4(element(view, first), view.stride, &a.x, &a.y, &a.z, &a.w);
    } else {
        pack_scratch scratch;
        gather_tail(view, first, count, 16, &scratch);
        f_load4(scratch.bytes, 16, &a.x, &a.y, &a.z, &a.w);
    }
    return a;
}
lane_inline lf pack1(phx_view view, size_t first, size_t count) {
    if (count >= LANES) return f_load1(element(view, first), view.stride);
    pack_scratch scratch;
    gather_tail(view, first, count, 4, &scratch);
    return f_load1(scratch.bytes, 4);
}

lane_inline void unpack3(phx_view view, size_t first, size_t count, lv3 a) {
    if (count >= LANES) {
        f_store3(element_out(view, first), view.stride, a.x, a.y, a.z);
    } else {
        pack_scratch scratch;
        f_store3(scratch.bytes, 12, a.x, a.y, a.z);
        scatter_tail(view, first, count, 12, &scratch);
    }
}
lane_inline void unpack4(phx_view view, size_t first, size_t count, lq4 a) {
    if (count >= LANES) {
        f_store4(element_out(view, first), view.stride, a.x, a.y, a.z, a.w);
    } else {
        pack_scratch scratch;
        f_store4(scratch.bytes, 16, a.x, a.y, a.z, a.w);
        scatter_tail(view, first, count, 16, &scratch);
    }
}
lane_inline void unpack1(phx_view view, size_t first, size_t count, lf a) {
    if (count >= LANES) {
        f_store1(element_out(view, first), view.stride, a);
    } else {
        pack_scratch scratch;
        f_store1(scratch.bytes, 4, a);
        scatter_tail(view, first, count, 4, &scratch);
    }
}
/* phx_result: a float and two integers, moved as bits */
lane_inline void unpack_result(phx_view view, size_t first, size_t count, lf residual, li iterations, li flags) {
    unpack3(view, first, count, v3(residual, i_as_f(iterations), i_as_f(flags)));
}

/* Which bytes of the caller's arrays a later group of a job will touch. Views over one array of structures are one stream, whose lines are
 * fetched once; hardware prefetchers lose such a walk, as LANES elements are visited field by field. Half of a group's lines are called before the work on
 * an earlier group and half after it: all at once fill the queue of loads. Wide lanes are done with that work before a line comes from
 * memory all the way: they call lines into the second level only. */
enum { PREFETCH_STREAMS = 24, PREFETCH_AHEAD = 64 /* elements */, PREFETCH_PARTS = 2 };
lane_inline void prefetch_line(const char *address) {
    if (LANES >= 16) lane_prefetch_far(address);
    else lane_prefetch(address);
}

typedef struct prefetch_plan {
    struct {
        const char *base;
        size_t stride, size;
    } streams[PREFETCH_STREAMS];
    uint32_t count;
    size_t bytes; /* of one element, all streams */
} prefetch_plan;

static inline void prefetch_add(prefetch_plan *plan, phx_view view, size_t size) {
    if (!view.data || !view.stride) return;
    const char *base = (const char *)view.data;
    uint32_t k = 0;
    for (; k < plan->count; ++k) {
        const char *other = plan->streams[k].base;
        const size_t apart = (uintptr_t)base < (uintptr_t)other ? (uintptr_t)other - (uintptr_t)base : (uintptr_t)base - (uintptr_t)other;
        if (plan->streams[k].stride == view.stride && apart < view.stride) break;
    }
    if (k == PREFETCH_STREAMS) return;
    if (k == plan->count) {
        plan->streams[k].base = base, plan->streams[k].stride = view.stride, plan->streams[k].size = size;
        ++plan->count;
    } else {
        const uintptr_t low = (uintptr_t)plan->streams[k].base, high = low + plan->streams[k].size, at = (uintptr_t)base;
        if (at < low) plan->streams[k].base = base;
        plan->streams[k].size = (high > at + size ? high : at + size) - (at < low ? at : low);
    }
    plan->bytes = 0;
    for (k = 0; k < plan->count; ++k) plan->bytes += plan->streams[k].stride;
}

/* Groups that start before this element fetch ahead; 0 where the whole job fits the second cache level and nothing is gained. */
static inline size_t prefetch_until(const prefetch_plan *plan, size_t count) {
    const size_t enough = ((size_t)1 << 20) / (plan->bytes + 1);
    return count > enough && count > PREFETCH_AHEAD + LANES ? count - PREFETCH_AHEAD - LANES : 0;
}

/* a part of the lines of elements [first, first + LANES) */
static inline void prefetch_group(const prefetch_plan *plan, size_t first, size_t part) {
    const size_t begin = part * LANES / PREFETCH_PARTS, end = (part + 1) * LANES / PREFETCH_PARTS;
    for (uint32_t k = 0; k < plan->count; ++k) {
        const size_t stride = plan->streams[k].stride, size = plan->streams[k].size;
        const char *start = plan->streams[k].base + first * stride;
        if (stride < size + 64) { /* no line lies between elements */
            for (size_t at = begin * stride; at < end * stride; at += 64) prefetch_line(start + at);
        } else {
            for (size_t lane = begin; lane < end; ++lane)
                for (size_t at = 0; at < size + 63; at += 64) prefetch_line(start + lane * stride + (at < size ? at : size - 1));
        }
    }
}
