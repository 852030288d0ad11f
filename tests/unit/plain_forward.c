/* A forward pass from the definition, in double, without cache and batch: position by position, everything recomputed. */
#include "model_fixture.h"
#include "test.h"
#include <stdlib.h>

enum { MAX_TOKENS = 160, MAX_WIDTH = 512 };

typedef struct pass {
    const model_spec *s;
    int n;
    double x[MAX_TOKENS][MAX_WIDTH], q[MAX_TOKENS][MAX_WIDTH], k[MAX_TOKENS][MAX_WIDTH], v[MAX_TOKENS][MAX_WIDTH];
} pass;

/* Values are made once a call and kept until its end. */
static struct kept { char name[48]; float *x; } kept[96];
static int n_kept;

static const float *values(const char *name, int n) {
    for (int i = 0; i < n_kept; i++)
        if (!strcmp(kept[i].name, name)) return kept[i].x;
    if (!CHECK(n_kept < 96)) abort();
    snprintf(kept[n_kept].name, sizeof kept[0].name, "%s", name);
    return kept[n_kept++].x = model_values(name, (size_t)n);
}

static const float *layer_values(int layer, const char *name, const char *kind, int n) {
    char full[48];
    snprintf(full, sizeof full, "blk.%d.%s.%s", layer, name, kind);
    return values(full, n);
}

static void norm_by(double *y, const double *x, const float *w, int dim) {
    double sum = 0.0;
    for (int i = 0; i < dim; i++) sum += x[i] * x[i];
    const double r = 1.0 / sqrt(sum / dim + (double)1e-5f);
    for (int i = 0; i < dim; i++) y[i] = x[i] * r * (double)w[i];
}

static void norm(double *y, const double *x, int layer, const char *name, int dim) { norm_by(y, x, layer_values(layer, name, "weight", dim), dim); }

static void product(double *y, const double *x, int layer, const char *name, int n_in, int n_out, bool bias) {
    const float *w = layer_values(layer, name, "weight", n_in * n_out), *add = bias ? layer_values(layer, name, "bias", n_out) : NULL;
    for (int i = 0; i < n_out; i++) {
        y[i] = add ? (double)add[i] : 0.0;
        for (int j = 0; j < n_in; j++) y[i] += (double)w[i * n_in + j] * x[j];
    }
}

static bool is_gemma(const model_spec *s) { return !strcmp(s->arch, "gemma3"); }
static bool is_sliding(const model_spec *s, int layer) { return is_gemma(s) && layer % s->pattern < s->pattern - 1; }

/* Llama turns pairs (2j, 2j+1), Gemma (j, j + n/2); sliding layers use base 10000. */
static void rotate(const pass *p, double *x, int layer, int pos) {
    const model_spec *s = p->s;
    const int n = s->n_rot ? s->n_rot : s->k_dim;
    const float *factors = s->rope_factors ? values("rope_freqs.weight", n / 2) : NULL;
    for (int j = 0; j < n / 2; j++) {
        const double base = is_sliding(s, layer) ? 10000.0 : (double)s->rope_base;
        double angle = pos * pow(base, -2.0 * j / n) / (factors ? (double)factors[j] : 1.0);
        if (s->linear_factor != 0.0f && !is_sliding(s, layer)) angle /= (double)s->linear_factor;
        double *a = is_gemma(s) ? &x[j] : &x[2 * j], *b = is_gemma(s) ? &x[j + n / 2] : &x[2 * j + 1];
        const double u = *a, w = *b;
        *a = u * cos(angle) - w * sin(angle);
        *b = u * sin(angle) + w * cos(angle);
    }
}

static void project(pass *p, int layer, int pos) {
    const model_spec *s = p->s;
    double h[MAX_WIDTH];
    norm(h, p->x[pos], layer, "attn_norm", s->n_embd);
    product(p->q[pos], h, layer, "attn_q", s->n_embd, s->n_heads * s->k_dim, s->biases);
    product(p->k[pos], h, layer, "attn_k", s->n_embd, s->n_kv_heads * s->k_dim, s->biases);
    product(p->v[pos], h, layer, "attn_v", s->n_embd, s->n_kv_heads * s->v_dim, s->biases);
    for (int i = 0; i < s->n_heads + s->n_kv_heads; i++) {
        double *head = i < s->n_heads ? p->q[pos] + i * s->k_dim : p->k[pos] + (i - s->n_heads) * s->k_dim;
        if (is_gemma(s)) norm(head, head, layer, i < s->n_heads ? "attn_q_norm" : "attn_k_norm", s->k_dim);
        rotate(p, head, layer, pos);
    }
}

static void attend(const pass *p, int layer, int pos, double *out) {
    const model_spec *s = p->s;
    const double scale = s->attention_scale != 0.0f ? (double)s->attention_scale : 1.0 / sqrt(s->k_dim);
    const int first = is_sliding(s, layer) && pos >= s->sliding_window ? pos - s->sliding_window + 1 : 0;
    for (int h = 0; h < s->n_heads; h++) {
        const int kv = h / (s->n_heads / s->n_kv_heads);
        double score[MAX_TOKENS], best = -INFINITY, sum = 0.0;
        for (int t = first; t <= pos; t++) {
            score[t] = 0.0;
            for (int i = 0; i < s->k_dim; i++) score[t] += p->q[pos][h * s->k_dim + i] * p->k[t][kv * s->k_dim + i] * scale;
            best = fmax(best, score[t]);
        }
        for (int t = first; t <= pos; t++) sum += score[t] = exp(score[t] - best);
        for (int i = 0; i < s->v_dim; i++) {
            double o = 0.0;
            for (int t = first; t <= pos; t++) o += score[t] / sum * p->v[t][kv * s->v_dim + i];
            out[h * s->v_dim + i] = o;
        }
    }
}

static double activate(const model_spec *s, double x) {
    if (!is_gemma(s)) return x / (1.0 + exp(-x));
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static void finish_layer(pass *p, int layer, int pos) {
    const model_spec *s = p->s;
    double att[MAX_WIDTH], h[MAX_WIDTH], up[MAX_WIDTH], y[MAX_WIDTH], *x = p->x[pos];
    attend(p, layer, pos, att);
    product(y, att, layer, "attn_output", s->n_heads * s->v_dim, s->n_embd, s->biases);
    if (is_gemma(s)) norm(y, y, layer, "post_attention_norm", s->n_embd);
    for (int i = 0; i < s->n_embd; i++) x[i] += y[i];
    norm(h, x, layer, "ffn_norm", s->n_embd);
    product(y, h, layer, "ffn_gate", s->n_embd, s->n_ff, false);
    product(up, h, layer, "ffn_up", s->n_embd, s->n_ff, false);
    for (int i = 0; i < s->n_ff; i++) up[i] *= activate(s, y[i]);
    product(y, up, layer, "ffn_down", s->n_ff, s->n_embd, false);
    if (is_gemma(s)) norm(y, y, layer, "post_ffw_norm", s->n_embd);
    for (int i = 0; i < s->n_embd; i++) x[i] += y[i];
}

void plain_forward(const model_spec *s, const int32_t *tokens, int n, double *logits) {
    static pass p;
    p.s = s;
    p.n = n;
    const int table = s->n_vocab * s->n_embd;
    const float *embedding = values("token_embd.weight", table), *head = s->separate_output ? values("output.weight", table) : embedding;
    for (int t = 0; t < n; t++)
        for (int i = 0; i < s->n_embd; i++) p.x[t][i] = (double)embedding[tokens[t] * s->n_embd + i] * (is_gemma(s) ? sqrt(s->n_embd) : 1.0);
    for (int l = 0; l < s->n_layers; l++) {
        for (int t = 0; t < n; t++) project(&p, l, t);
        for (int t = 0; t < n; t++) finish_layer(&p, l, t);
    }
    double h[MAX_WIDTH];
    norm_by(h, p.x[n - 1], values("output_norm.weight", s->n_embd), s->n_embd);
    for (int i = 0; i < s->n_vocab; i++) {
        logits[i] = 0.0;
        for (int j = 0; j < s->n_embd; j++) logits[i] += (double)head[i * s->n_embd + j] * h[j];
    }
    while (n_kept > 0) free(kept[--n_kept].x);
}
