#include "calibrate_books.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/half.h"
#include "../transform/chain.h"
#include "kmeans.h"
#include <string.h>

/* Vectors for each centroid, as far as there are so many, and at least this number. */
enum { POINTS_PER_CENTROID = 32, LEAST_POINTS = 32768 };

int ingot_calibrate_book_kinds(calibrate_book_kind *out) {
    int n = 0;
    for (int i = 0; i < INGOT_N_CODECS; i++) {
        const ingot_codec *c = ingot_codec_get(i);
        if (c->needs != INGOT_CAL_CODEBOOK) continue;
        for (int side = 0; side < 2; side++)
            for (const int *g = c->groups; *g && (c->sides >> side & 1u) && n < CALIBRATE_MAX_BOOK_KINDS; g++) out[n++] = (calibrate_book_kind){c, *g, side};
    }
    return n;
}

/* The chain of a codec's frame, such as "smooth,hadamard". False when one of the transforms cannot do the size. */
static ingot_status frame_chain(ingot_transform_chain *chain, bool *possible, const char *frame, int dim, const float *smooth) {
    *chain = (ingot_transform_chain){.dim = dim};
    *possible = true;
    for (const char *at = frame ? frame : ""; *at;) {
        char name[32];
        const size_t n = strcspn(at, ",");
        if (n >= sizeof name) return ingot_fail(INGOT_E_INVALID, "the frame \"%s\" names no transform", frame);
        memcpy(name, at, n);
        name[n] = 0;
        const ingot_transform *t = ingot_transform_get(ingot_transform_find(name));
        if (!t || !t->forward || (t->needs != INGOT_CAL_NONE && t->needs != INGOT_CAL_SMOOTH)) return ingot_fail(INGOT_E_INVALID, "codebooks cannot be trained behind \"%s\"", name);
        if (t->check(dim)) *possible = false;
        chain->cal[chain->n] = smooth;
        chain->step[chain->n++] = t;
        at += n + (at[n] == ',');
    }
    return INGOT_OK;
}

/* n of the n_sample vectors, evenly spread, in the frame of the chain; their mean square per element. */
static double take_points(float *points, const uint16_t *sample, int n_sample, int n, const ingot_transform_chain *chain) {
    double square = 0.0;
    for (int i = 0; i < n; i++) {
        const uint16_t *from = sample + (ptrdiff_t)((int64_t)i * n_sample / n) * chain->dim;
        float *x = points + (ptrdiff_t)i * chain->dim;
        for (int j = 0; j < chain->dim; j++) x[j] = ingot_f16_to_f32(from[j]);
        ingot_chain_forward(chain, x, x);
        for (int j = 0; j < chain->dim; j++) square += (double)x[j] * (double)x[j];
    }
    return square / ((double)n * chain->dim);
}

static int vectors_for(const calibrate_book_kind *kind, int dim, int n) {
    const int k = 1 << kind->codec->code_bits, points = POINTS_PER_CENTROID * k > LEAST_POINTS ? POINTS_PER_CENTROID * k : LEAST_POINTS;
    const int vectors = (points * kind->group + dim - 1) / dim;
    return vectors < n ? vectors : n;
}

int ingot_calibrate_book_vectors(const calibrate_book_kind *kind, int dim, int n) { return vectors_for(kind, dim, n) * (dim / kind->group); }

ingot_status ingot_calibrate_book(float **book, double *error, const calibrate_book_kind *kind, const calibrate_head *h, const float *smooth, int n) {
    const int dim = kind->value ? h->shape->v_dim : h->shape->k_dim, k = 1 << kind->codec->code_bits, n_vectors = vectors_for(kind, dim, n);
    const ingot_kv_fmt f = {.codec = ingot_codec_find(kind->codec->name), .group = kind->group, .dim = dim, .side = kind->value ? INGOT_SIDE_V : INGOT_SIDE_K};
    ingot_transform_chain chain;
    bool possible;
    *book = NULL;
    *error = 0.0;
    INGOT_TRY(frame_chain(&chain, &possible, kind->codec->frame[kind->value], dim, smooth));
    if (!possible || dim % kind->group || kind->codec->check(&f) || ingot_calibrate_book_vectors(kind, dim, n) < k) return INGOT_OK;
    float *points = ingot_alloc_array((size_t)n_vectors, (size_t)dim * sizeof *points, INGOT_MEM_SCRATCH);
    *book = ingot_alloc_array((size_t)k, (size_t)kind->group * sizeof **book, INGOT_MEM_OTHER);
    ingot_status s = points && *book ? INGOT_OK : ingot_fail(INGOT_E_NOMEM, "out of memory for a codebook of %d vectors", k);
    if (s == INGOT_OK) {
        const double square = take_points(points, kind->value ? h->v_sample : h->k_sample, n, n_vectors, &chain);
        double e = 0.0;
        s = ingot_kmeans(*book, &e, points, (size_t)ingot_calibrate_book_vectors(kind, dim, n), kind->group, k);
        *error = square > 0.0 ? e / (kind->group * square) : 0.0;
    }
    ingot_dealloc(points);
    if (s == INGOT_OK) return s;
    ingot_dealloc(*book);
    *book = NULL;
    return ingot_fail_prefix(s, "layer %d, KV head %d", h->layer, h->head);
}
