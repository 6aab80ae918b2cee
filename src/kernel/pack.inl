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
