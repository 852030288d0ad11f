/* The back end interface. A back end is a table of functions; `_ref` fills all of it, others override what they do better
 * (listed by ops.def). Nothing here switches on a method's name. All functions are pure on their arguments;
 * those with a team are called by every thread of it and contain the barriers they need, including one at the end. */
#ifndef INGOT_BACKEND_H
#define INGOT_BACKEND_H
#include "../base/pool.h"
#include "kv.h"
#include "weight.h"
#include "../codec/codec.h"

/* Rotary embedding of rows of heads. Angles come from a table cos/sin [n_rot/2] per position, made by the caller. */
typedef struct ingot_rope_args {
    float *x;                 /* [n_tokens][stride], n_heads heads of head_dim each from the row's start */
    ptrdiff_t stride;
    int n_tokens, n_heads, head_dim, n_rot;
    bool neox;                /* pairs (j, j + n_rot/2); else (2j, 2j+1) */
    const float *cos, *sin;   /* [n_tokens][n_rot/2] */
} ingot_rope_args;

typedef enum ingot_act { INGOT_ACT_SILU, INGOT_ACT_GELU_TANH } ingot_act;

typedef struct ingot_backend {
    const char *name;

    /* --- cache --- */
    ingot_tile_ops tile[2][INGOT_N_CODECS]; /* [side][codec]; callers take ingot_backend_tile */
    ingot_tile_ops plain_tile; /* of any format: canonical blocks one after the other */
    /* Serves any k/v codec pair of the table. */
    void (*attend)(const ingot_attend_args *a);
    size_t (*attend_scratch_bytes)(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_group, int max_tokens);
    /* Joins state b into a (both [dim] o): a's m, l, o become the merged ones. */
    void (*merge)(float *m, float *l, float *o, float mb, float lb, const float *ob, int dim);
    /* o / l into out; l = 0 gives zeros. */
    void (*normalize)(const float *o, float l, float *out, int dim);

    /* --- weights --- */
    /* type: enum ingot_wtype (src/gguf/wtype.h). data [n_out rows] stays mapped and valid; *w may refer to it.
     * All threads of the team pass the same w (and get the same status); weight_free takes NULL. */
    ingot_status (*weight_prepare)(ingot_weight **w, int type, int n_out, int n_in, const void *data, const ingot_team *team);
    void (*weight_free)(ingot_weight *w);
    size_t (*weight_bytes)(const ingot_weight *w); /* own memory, not mapped bytes it refers to */
    size_t (*linear_scratch_bytes)(int n_in, int max_tokens);
    void (*linear)(const ingot_linear_args *a, const ingot_team *team);

    /* --- vector work, one thread each (callers split the rows) --- */
    /* y[i] = x[i] * w[i] / sqrt(mean(x^2) + eps), n rows of dim, row strides given; x may be y. */
    void (*rmsnorm)(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride, const float *w, int n, int dim, float eps);
    void (*rope)(const ingot_rope_args *a);
    /* y[i] = act(gate[i]) * up[i]; y may be gate. */
    void (*glu)(float *y, const float *gate, const float *up, size_t n, ingot_act act);
    void (*add)(float *y, const float *x, size_t n); /* y += x */
    void (*scale)(float *y, float s, size_t n);      /* y *= s */
} ingot_backend;

/* The tile functions of a format on one side. */
static inline const ingot_tile_ops *ingot_backend_tile(const ingot_backend *b, int side, const ingot_kv_fmt *f) {
    const ingot_tile_ops *ops = &b->tile[side][f->codec];
    return !ops->takes || ops->takes(f) ? ops : &b->plain_tile;
}

/* Filled by `_ref`, then overridden in ascending order up to the level of ingot_cpu_get(); "ref" stays scalar. Static. */
const ingot_backend *ingot_backend_find(const char *name);
int ingot_backend_count(void);
const char *ingot_backend_name(int i);

/* What a device is made of (include/ingot/device.h). */
struct ingot_device {
    const ingot_backend *backend;
    ingot_pool *pool;
    char description[160];
};
#endif
