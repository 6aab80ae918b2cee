/* What the fuzz targets share: a case is made of the fuzzer's bytes, so that every input means something, and zeros where they end.
 * A target is one LLVMFuzzerTestOneInput; libFuzzer drives it (tests/fuzz/run), or plain.c, which any compiler builds. */
#ifndef PHALANX_FUZZ_H
#define PHALANX_FUZZ_H

#include "phalanx/phalanx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #condition))
static inline void fuzz_failed(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

typedef struct fuzz_bytes {
    const uint8_t *at, *end;
} fuzz_bytes;

static inline uint32_t take_byte(fuzz_bytes *b) { return b->at < b->end ? *b->at++ : 0u; }
static inline uint32_t take_word(fuzz_bytes *b) {
    uint32_t word = take_byte(b);
    word |= take_byte(b) << 8, word |= take_byte(b) << 16;
    return word | take_byte(b) << 24;
}
static inline uint32_t take_below(fuzz_bytes *b, uint32_t n) { return (n > 256 ? take_byte(b) << 8 | take_byte(b) : take_byte(b)) % n; }

/* Mostly numbers of a size that limbs have; else what makes trouble, or any bits. */
static inline float take_float(fuzz_bytes *b) {
    static const float trouble[] = {NAN,    INFINITY, -INFINITY, 3.4e38f, -3e30f, 1e-40f, 0.0f, -0.0f,
                                    1e-20f, 1e20f,    1.0f,      -1.0f,   1e9f,   1e-9f,  4.0f, 0.5f};
    const uint32_t kind = take_byte(b);
    if (kind < 232) return ((float)kind - 116.0f) * (1.0f / 64) + (float)take_byte(b) * (1.0f / 16384);
    if (kind < 248) return trouble[kind - 232];
    const uint32_t bits = take_word(b);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
/* within [low, high], or now and then anything */
static inline float take_parameter(fuzz_bytes *b, float low, float high) {
    const uint32_t kind = take_byte(b);
    return kind < 250 ? low + (high - low) * ((float)kind / 249.0f) : take_float(b);
}

/* ---- one array of a job, with copies ---- */

enum { FUZZ_RUNS = 3, FUZZ_MOST = 40, FUZZ_FIELDS = 32 };

typedef struct fuzz_field {
    void **data;       /* of the view */
    size_t *stride;    /* from one chain to the next; NULL until the field is taken */
    size_t size;       /* bytes of one chain's element */
    int output, words; /* words: whole numbers, of any bits */
    size_t bytes, offset;
    char *memory[FUZZ_RUNS], *input; /* exactly as long as the view, so that a sanitizer sees every step outside */
} fuzz_field;

typedef struct fuzz_job {
    fuzz_field fields[FUZZ_FIELDS];
    uint32_t count;
    size_t chains;
} fuzz_job;

static inline void fuzz_add(fuzz_job *job, void **data, size_t *stride, size_t size, int output) {
    fuzz_field *field = job->fields + job->count++;
    *field = (fuzz_field){.data = data, .stride = stride, .size = size, .output = output};
}

/* Takes an array for the field: odd strides and alignments, sometimes one element for all chains, filled from the bytes. */
static inline void fuzz_take(fuzz_job *job, fuzz_field *field, fuzz_bytes *b) {
    const uint32_t shape = take_byte(b);
    const size_t extra = shape & 1 ? shape >> 1 & 15 : 0;
    size_t stride = field->size + extra;
    if (!field->output && (shape & 0xE0) == 0xE0) stride = 0;
    if ((shape & 0xFE) == 0x5E && field->size) stride = field->size - 1; /* to be refused */
    *field->stride = stride;
    field->offset = shape >> 5 & 3;
    field->bytes = job->chains ? (job->chains - 1) * stride + field->size : 0;
    field->input = calloc(field->bytes ? field->bytes : 1, 1);
    const size_t elements = stride ? job->chains : 1;
    for (size_t i = 0; i < elements && job->chains; ++i) {
        for (size_t k = 0; k + 4 <= field->size; k += 4) {
            float value = 0;
            uint32_t word = 0;
            if (field->output && *field->data == NULL) break;
            if (field->words)
                word = take_byte(b) < 200 ? take_below(b, 24) : take_word(b);
            else
                value = take_float(b), memcpy(&word, &value, 4);
            memcpy(field->input + i * stride + k, &word, 4);
        }
    }
    for (int run = 0; run < FUZZ_RUNS; ++run) {
        field->memory[run] = malloc(field->offset + field->bytes + 1);
        memcpy(field->memory[run] + field->offset, field->input, field->bytes);
    }
}
static inline char *fuzz_bytes_of(const fuzz_field *field, int run) { return field->memory[run] + field->offset; }
/* the job over the arrays of one run */
static inline void fuzz_point(fuzz_job *job, int run) {
    for (uint32_t k = 0; k < job->count; ++k) {
        fuzz_field *field = job->fields + k;
        if (field->input) *field->data = fuzz_bytes_of(field, run);
    }
}
static inline void fuzz_free(fuzz_job *job) {
    for (uint32_t k = 0; k < job->count; ++k) {
        for (int run = 0; run < FUZZ_RUNS; ++run) free(job->fields[k].memory[run]);
        free(job->fields[k].input);
    }
}
static inline void fuzz_same(const fuzz_job *job, int a, int b) {
    for (uint32_t k = 0; k < job->count; ++k) {
        const fuzz_field *field = job->fields + k;
        if (field->input) FUZZ_CHECK(memcmp(fuzz_bytes_of(field, a), fuzz_bytes_of(field, b), field->bytes) == 0);
    }
}
static inline void fuzz_untouched(const fuzz_job *job, int run) {
    for (uint32_t k = 0; k < job->count; ++k) {
        const fuzz_field *field = job->fields + k;
        if (field->input) FUZZ_CHECK(memcmp(fuzz_bytes_of(field, run), field->input, field->bytes) == 0);
    }
}
/* may one chain's inputs be changed alone? */
static inline int fuzz_apart(const fuzz_job *job) {
    for (uint32_t k = 0; k < job->count; ++k)
        if (job->fields[k].input && *job->fields[k].stride && *job->fields[k].stride < job->fields[k].size) return 0;
    return job->chains > 0;
}
/* Puts other numbers into the inputs of one chain, in all runs from `run` on. */
static inline void fuzz_spoil(fuzz_job *job, int run, size_t chain, fuzz_bytes *b) {
    for (uint32_t k = 0; k < job->count; ++k) {
        fuzz_field *field = job->fields + k;
        if (!field->input) continue;
        memcpy(fuzz_bytes_of(field, run), field->input, field->bytes);
        if (*field->stride == 0) continue;
        for (size_t at = 0; at + 4 <= field->size; at += 4) {
            const float value = take_byte(b) & 1 ? NAN : take_float(b);
            memcpy(fuzz_bytes_of(field, run) + chain * *field->stride + at, &value, 4);
        }
    }
}
/* every chain but that one has the same bytes in both runs */
static inline void fuzz_same_but(const fuzz_job *job, int a, int b, size_t chain) {
    for (uint32_t k = 0; k < job->count; ++k) {
        const fuzz_field *field = job->fields + k;
        for (size_t i = 0; field->input && i < job->chains; ++i) {
            if (i == chain) continue;
            const size_t at = i * *field->stride;
            FUZZ_CHECK(memcmp(fuzz_bytes_of(field, a) + at, fuzz_bytes_of(field, b) + at, field->size) == 0);
        }
    }
}

/* the widest backend of this build, or the one that a byte picks */
static inline const phx_backend *take_backend(fuzz_bytes *b) {
    const uint32_t pick = take_byte(b);
    const phx_backend *backend = phx_backend_at(pick & 3);
    return backend ? backend : phx_backend_best();
}

#define FUZZ_VIEW(job, view, size, output) fuzz_add(job, &(view).data, &(view).stride, size, output)

#endif
