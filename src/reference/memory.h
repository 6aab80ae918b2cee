/* How the reference solvers read and write blocks' rows and the caller's strided arrays, one element at a time. */
#ifndef PHX_REFERENCE_MEMORY_H
#define PHX_REFERENCE_MEMORY_H

#include "scalar.h"

static inline phx_vec3 row3(const phx_rows3 *rows, uint32_t lane) { return vec3(rows->x[lane], rows->y[lane], rows->z[lane]); }
static inline phx_quat row4(const phx_rows4 *rows, uint32_t lane) { return quat(rows->x[lane], rows->y[lane], rows->z[lane], rows->w[lane]); }
static inline void set_row3(phx_rows3 *rows, uint32_t lane, phx_vec3 a) { rows->x[lane] = a.x, rows->y[lane] = a.y, rows->z[lane] = a.z; }
static inline void set_row4(phx_rows4 *rows, uint32_t lane, phx_quat a) {
    rows->x[lane] = a.x, rows->y[lane] = a.y, rows->z[lane] = a.z, rows->w[lane] = a.w;
}

/* element `index` of a view, or the default where the view is absent; any alignment */
#define READER(name, type)                                                                                                                 \
    static inline type name(phx_view view, size_t index, type fallback) {                                                                         \
        if (view.data) memcpy(&fallback, (const char *)view.data + index * view.stride, sizeof fallback);                                  \
        return fallback;                                                                                                                   \
    }
READER(read1, float)
READER(read3, phx_vec3)
READER(read4, phx_quat)
#undef READER
static inline void write_out(phx_view view, size_t index, const void *value, size_t size) {
    if (view.data) memcpy((char *)view.data + index * view.stride, value, size);
}
static inline void write1(phx_view view, size_t index, float value) { write_out(view, index, &value, sizeof value); }
static inline void write3(phx_view view, size_t index, phx_vec3 value) { write_out(view, index, &value, sizeof value); }
static inline void write4(phx_view view, size_t index, phx_quat value) { write_out(view, index, &value, sizeof value); }

#endif
