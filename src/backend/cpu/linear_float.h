/* Products with float activations: rows are dequantised into a panel that stays in the nearest cache, then tiles of tokens
 * run over it. For files compiled for one instruction set. */
#ifndef INGOT_CPU_LINEAR_FLOAT_H
#define INGOT_CPU_LINEAR_FLOAT_H
#include "linear_simd.h"
#include "../../gguf/wtype.h"

/* A panel is [inputs][2 vectors of rows]: 32 rows or 16. */
enum { PANEL_IN = 256, PANEL_ROWS = 2 * VW, PANEL_GROUPS = PANEL_ROWS / LIN_ROWS };

/* Inputs [k0, k0 + n) of a group into columns [column, +16) of the panel. */
LIN_KERNEL void panel_group(const lin_format f, const ingot_weight *w, int g, int k0, int n, float *panel) {
    const uint8_t *group = w->data + (size_t)g * w->group_bytes, *scales = group + w->scales_at;
    const vi table = lin_load_table(f, w), byte = vi_set(255);
    const int halves = LIN_RUN / f.part;
    for (int i = k0 / LIN_RUN; i < (k0 + n) / LIN_RUN; i++) {
        for (int part = 0; part < LIN_PARTS; part++) {
            float *out = panel + (ptrdiff_t)(i * LIN_RUN - k0) * PANEL_ROWS + part * VW;
            vi c[8];
            lin_unpack(f.code, group + (size_t)i * lin_code_bytes(f.code), part, table, c);
            LIN_UNROLL(2) for (int h = 0; h < halves; h++) {
                vf a, b;
                lin_scales(f, scales, i, h, part, &a, &b);
                LIN_UNROLL(8) for (int j = h * (8 / halves); j < (h + 1) * (8 / halves); j++) {
                    LIN_UNROLL(4) for (int s = 0; s < 4; s++) {
                        float *to = out + (4 * j + s) * PANEL_ROWS;
                        if (lin_signed(f.code)) vf_store(to, vf_mul(vf_byte_s(c[j], 8 * s), a));
                        else vf_store(to, vf_fma(vi_to_float(vi_and(vi_right(c[j], 8 * s), byte)), a, b));
                    }
                }
            }
        }
    }
}

#define PANEL(type, code, scale, part, zero)                                                    \
    static void panel_##type(const ingot_weight *w, int g, int k0, int n, float *panel) {       \
        panel_group((lin_format){0, code, scale, part, zero}, w, g, k0, n, panel);              \
    }
LIN_FORMATS(PANEL)
#undef PANEL

/* n values of a row of floats. */
static void row_floats(const ingot_weight *w, int row, int k0, int n, float *x) {
    const uint8_t *at = w->rows + (size_t)row * (size_t)w->row_bytes + (size_t)k0 * (w->type == INGOT_W_F32 ? 4 : 2);
    int i = 0;
    if (w->type == INGOT_W_F32) {
        memcpy(x, at, (size_t)n * 4);
        return;
    }
    if (w->type == INGOT_W_F16) {
        for (; i + VW <= n; i += VW) vf_store(x + i, vf_halves((const uint16_t *)(const void *)(at + 2 * i)));
    }
    for (; i < n; i++) {
        uint16_t h;
        memcpy(&h, at + 2 * i, 2);
        x[i] = w->type == INGOT_W_F16 ? ingot_f16_to_f32(h) : ingot_bf16_to_f32(h);
    }
}

static void panel_floats(const ingot_weight *w, int g, int k0, int n, float *panel) {
    float x[PANEL_IN];
    for (int r = 0; r < LIN_ROWS; r++) {
        const bool there = g * LIN_ROWS + r < w->n_out;
        if (there) row_floats(w, g * LIN_ROWS + r, k0, n, x);
        for (int i = 0; i < n; i++) panel[i * PANEL_ROWS + r] = there ? x[i] : 0.f;
    }
}

static void panel_fill(const ingot_weight *w, int g, int k0, int n, float *panel) {
    switch (w->type) {
#define CASE(type, code, scale, part, zero) case INGOT_W_##type: panel_##type(w, g, k0, n, panel); break;
        LIN_FORMATS(CASE)
#undef CASE
    default: panel_floats(w, g, k0, n, panel); break;
    }
}

/* What a tile of tokens needs of the call: rows [row, row + lanes[0] + lanes[1]). */
typedef struct panel_rows { int lanes[2], row; bool first; } panel_rows;

/* y[t] (+)= panel . x[t] for n tokens (a constant). */
LIN_KERNEL void tile_float(const int n, const float *panel, int n_in, const float *x, ptrdiff_t x_stride, const ingot_linear_out *o, int t0, panel_rows p) {
    vf sum[LIN_FLOAT_TILE][2];
    float *y = o->y + t0 * o->y_stride + p.row;
    LIN_UNROLL(12) for (int t = 0; t < n; t++) {
        LIN_UNROLL(2) for (int v = 0; v < 2; v++) {
            const float *start = p.first ? o->bias ? o->bias + p.row + v * VW : NULL : y + t * o->y_stride + v * VW;
            sum[t][v] = start ? lin_load(start, p.lanes[v]) : vf_zero();
        }
    }
    for (int k = 0; k < n_in; k++) {
        const vf w0 = vf_load(panel + k * PANEL_ROWS), w1 = vf_load(panel + k * PANEL_ROWS + VW);
        LIN_UNROLL(12) for (int t = 0; t < n; t++) {
            const vf b = vf_set(x[t * x_stride + k]);
            sum[t][0] = vf_fma(w0, b, sum[t][0]);
            sum[t][1] = vf_fma(w1, b, sum[t][1]);
        }
    }
    LIN_UNROLL(12) for (int t = 0; t < n; t++) {
        LIN_UNROLL(2) for (int v = 0; v < 2; v++) lin_store(y + t * o->y_stride + v * VW, sum[t][v], p.lanes[v]);
    }
}

static void tiles_float(const float *panel, int n_in, const float *x, ptrdiff_t x_stride, const ingot_linear_out *o, int t0, int t1, panel_rows p) {
    int t = t0;
    for (; t + LIN_FLOAT_TILE <= t1; t += LIN_FLOAT_TILE) tile_float(LIN_FLOAT_TILE, panel, n_in, x + t * x_stride, x_stride, o, t, p);
    for (; t + 4 <= t1; t += 4) tile_float(4, panel, n_in, x + t * x_stride, x_stride, o, t, p);
    for (; t < t1; t++) tile_float(1, panel, n_in, x + t * x_stride, x_stride, o, t, p);
}

/* Few tokens and rows of floats: inputs in the lanes, no panel. */
static void row_dot(const ingot_linear_out *o, int row, const float *x, ptrdiff_t x_stride, int t0, int t1) {
    float w[PANEL_IN], total[4] = {0};
    for (int k0 = 0; k0 < o->w->n_in; k0 += PANEL_IN) {
        const int n = o->w->n_in - k0 < PANEL_IN ? o->w->n_in - k0 : PANEL_IN;
        row_floats(o->w, row, k0, n, w);
        for (int t = t0; t < t1; t++) {
            const float *xt = x + t * x_stride + k0;
            vf s[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
            int k = 0;
            for (; k + 4 * VW <= n; k += 4 * VW) {
                LIN_UNROLL(4) for (int v = 0; v < 4; v++) s[v] = vf_fma(vf_load(w + k + v * VW), vf_load(xt + k + v * VW), s[v]);
            }
            float rest = 0;
            for (; k < n; k++) rest += w[k] * xt[k];
            total[t - t0] += vf_sum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3]))) + rest;
        }
    }
    for (int t = t0; t < t1; t++) o->y[t * o->y_stride + row] = total[t - t0] + (o->bias ? o->bias[row] : 0.f);
}

static void rows_float(const ingot_linear_out *o, const float *x, ptrdiff_t x_stride, int g0, int g1, int t0, int t1) {
    _Alignas(64) float panel[PANEL_IN * PANEL_ROWS];
    const ingot_weight *w = o->w;
    if (!w->format && t1 - t0 <= 4) {
        for (int row = g0 * LIN_ROWS; row < g1 * LIN_ROWS && row < w->n_out; row++) row_dot(o, row, x, x_stride, t0, t1);
        return;
    }
    for (int g = g0; g < g1; g += PANEL_GROUPS) {
        panel_rows p = {.row = g * LIN_ROWS};
        const int n_groups = g1 - g < PANEL_GROUPS ? g1 - g : PANEL_GROUPS;
        for (int v = 0; v < 2; v++) p.lanes[v] = v * VW / LIN_ROWS < n_groups ? lin_lanes(w, g + v * VW / LIN_ROWS, v * VW % LIN_ROWS / VW) : 0;
        if (n_groups < PANEL_GROUPS) memset(panel, 0, sizeof panel); /* no columns of garbage */
        for (int k0 = 0; k0 < w->n_in; k0 += PANEL_IN) {
            const int n = w->n_in - k0 < PANEL_IN ? w->n_in - k0 : PANEL_IN;
            for (int i = 0; i < n_groups; i++) panel_fill(w, g + i, k0, n, panel + i * LIN_ROWS);
            p.first = k0 == 0;
            tiles_float(panel, n, x + k0, x_stride, o, t0, t1, p);
        }
    }
}
#endif
