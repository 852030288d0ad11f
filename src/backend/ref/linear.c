/* Matrix products of the reference: every weight decoded by its format's definition, sums in double. */
#include "ref_weight.h"
#include "../../base/alloc.h"
#include "../../base/error.h"
#include "../../gguf/wtype.h"
#include <math.h>

struct ingot_weight {
    const ingot_wtype_info *type;
    int n_out, n_in;
    size_t row_bytes;
    const uint8_t *data; /* mapped, borrowed */
};

ingot_status ingot_ref_weight_check(int type, int n_out, int n_in, const void *data) {
    const ingot_wtype_info *info = type < 0 ? NULL : ingot_wtype_get((uint32_t)type);
    if (!info) return ingot_fail(INGOT_E_UNSUPPORTED, "weight type %d (%s) is not supported", type, ingot_wtype_any_name((uint32_t)type));
    if (!data || n_out <= 0 || n_in <= 0) return ingot_fail(INGOT_E_INVALID, "a weight matrix of %d x %d", n_out, n_in);
    if (n_in % info->block) {
        return ingot_fail(INGOT_E_UNSUPPORTED, "rows of %d elements are no whole blocks of %s (%d elements)", n_in, info->name, info->block);
    }
    return INGOT_OK;
}

/* Every thread of the team sees the same checks fail; only rank 0 allocates. */
static ingot_status weight_prepare(ingot_weight **w, int type, int n_out, int n_in, const void *data, const ingot_team *team) {
    const ingot_status s = ingot_ref_weight_check(type, n_out, n_in, data);
    if (team->rank == 0) {
        *w = s == INGOT_OK ? ingot_alloc(sizeof **w, INGOT_MEM_WEIGHTS) : NULL;
        if (*w) {
            const ingot_wtype_info *info = ingot_wtype_get((uint32_t)type);
            **w = (ingot_weight){info, n_out, n_in, (size_t)(n_in / info->block) * (size_t)info->block_bytes, data};
        }
    }
    ingot_team_barrier(team);
    if (s == INGOT_OK && !*w) return ingot_fail(INGOT_E_NOMEM, "out of memory for a weight matrix");
    return s;
}

static void weight_free(ingot_weight *w) { ingot_dealloc(w); }
static size_t weight_bytes(const ingot_weight *w) { return sizeof *w; }

/* Room for the values that int8 activations stand for. */
static size_t linear_scratch_bytes(int n_in, int max_tokens) { return (size_t)n_in * (size_t)max_tokens * sizeof(float); }

/* x[n] as the int8 activations stand for it; a last part of a block is left out (no quantised matrix has one). */
static void quantized_values(const float *x, int n, float *y) {
    for (int i = 0; i + ACT_BLOCK <= n; i += ACT_BLOCK) {
        uint32_t amax = 0;
        float inv;
        for (int j = i; j < i + ACT_BLOCK; j++) {
            const uint32_t bits = ingot_f32_bits(x[j]) & 0x7fffffffu;
            if (bits > amax) amax = bits;
        }
        const float d = ingot_act_scale(amax, &inv);
        for (int j = i; j < i + ACT_BLOCK; j++) y[j] = d == d ? d * rintf(x[j] * inv) : d;
    }
}

/* Elements of a row decoded at a time, and tokens that use them before the next. */
enum { CHUNK = 256, TOKENS = 16 };

/* sum[t] = row . x[t] for n tokens. */
static void dot_row(const ingot_weight *w, const uint8_t *row, const float *x, ptrdiff_t x_stride, int n, double *sum) {
    float wv[CHUNK];
    for (int t = 0; t < n; t++) sum[t] = 0;
    for (int at = 0; at < w->n_in; at += CHUNK) {
        const int len = w->n_in - at < CHUNK ? w->n_in - at : CHUNK;
        w->type->decode(row + (size_t)(at / w->type->block) * (size_t)w->type->block_bytes, len, wv);
        for (int t = 0; t < n; t++) {
            for (int i = 0; i < len; i++) sum[t] += (double)wv[i] * (double)x[t * x_stride + at + i];
        }
    }
}

static void rows_of(const ingot_linear_out *o, const float *x, ptrdiff_t x_stride, int n_tokens, const ingot_team *team) {
    int begin, end;
    double sum[TOKENS];
    ingot_team_range(team, o->w->n_out, 1, &begin, &end);
    for (int i = begin; i < end; i++) {
        for (int t0 = 0; t0 < n_tokens; t0 += TOKENS) {
            const int n = n_tokens - t0 < TOKENS ? n_tokens - t0 : TOKENS;
            dot_row(o->w, o->w->data + (size_t)i * o->w->row_bytes, x + t0 * x_stride, x_stride, n, sum);
            for (int t = 0; t < n; t++) o->y[(t0 + t) * o->y_stride + i] = (float)(sum[t] + (o->bias ? (double)o->bias[i] : 0.0));
        }
    }
}

/* Matrices of floats are multiplied in float whatever the activations are. */
static void linear(const ingot_linear_args *a, const ingot_team *team) {
    float *xq = a->scratch;
    if (a->int8_activations) {
        int begin, end;
        ingot_team_range(team, a->n_tokens, 1, &begin, &end);
        for (int t = begin; t < end; t++) quantized_values(a->x + t * a->x_stride, a->n_in, xq + (ptrdiff_t)t * a->n_in);
        ingot_team_barrier(team);
    }
    for (int k = 0; k < a->n_out; k++) {
        const bool int8 = a->int8_activations && a->out[k].w->type->block > 1;
        rows_of(&a->out[k], int8 ? xq : a->x, int8 ? a->n_in : a->x_stride, a->n_tokens, team);
    }
    ingot_team_barrier(team);
}

void ingot_ref_linear_init(ingot_backend *b) {
    b->weight_prepare = weight_prepare;
    b->weight_free = weight_free;
    b->weight_bytes = weight_bytes;
    b->linear_scratch_bytes = linear_scratch_bytes;
    b->linear = linear;
}
