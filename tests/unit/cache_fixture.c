#include "cache_fixture.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "transform/chain.h"
#include <stdlib.h>
#include <unistd.h>

int targets(target out[8]) {
    const ingot_isa before = ingot_cpu_get()->isa;
    int n = 0;
    out[n++] = (target){"ref", INGOT_ISA_REF};
    for (int isa = INGOT_ISA_REF; isa < INGOT_N_ISAS; isa++)
        if (ingot_cpu_force((ingot_isa)isa)) out[n++] = (target){"cpu", (ingot_isa)isa};
    ingot_cpu_force(before);
    return n;
}

ingot_device *target_open(const target *t, int n_threads) {
    ingot_device *d = NULL;
    const ingot_isa before = ingot_cpu_get()->isa;
    CHECK(ingot_cpu_force(t->isa));
    CHECK_OK(ingot_device_open(&d, t->device, n_threads));
    ingot_cpu_force(before);
    return d;
}

ingot_layer_shape shape_of(int n_heads, int n_kv_heads, int k_dim, int v_dim, int sliding) {
    return (ingot_layer_shape){.n_heads = n_heads, .n_kv_heads = n_kv_heads, .k_dim = k_dim, .v_dim = v_dim, .sliding_window = sliding, .scale = 1.0f / sqrtf((float)k_dim)};
}

size_t out_width(const cache_case *spec, int layer) {
    return (size_t)spec->layers[layer].n_heads * (size_t)spec->layers[layer].v_dim;
}

static ingot_plan plan_of(const cache_case *spec) {
    ingot_plan p;
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = spec->kv, .window = spec->window, .sinks = spec->sinks}));
    return p;
}

bool fixture_open(fixture *f, const cache_case *spec, const target *t, int n_threads) {
    memset(f, 0, sizeof *f);
    f->spec = *spec;
    f->device = target_open(t, n_threads);
    if (!f->device) return false;
    if (!f->spec.max_tokens) f->spec.max_tokens = FIX_TOKENS;
    if (!f->spec.max_seqs) f->spec.max_seqs = FIX_SEQS;
    if (!f->spec.max_batch) f->spec.max_batch = 256;
    const ingot_cache_config config = {.layers = f->spec.layers, .n_layers = f->spec.n_layers, .plan = plan_of(spec),
        .max_tokens = f->spec.max_tokens, .max_seqs = f->spec.max_seqs, .max_batch = f->spec.max_batch, .calibration = spec->calibration};
    if (!CHECK_OK(ingot_cache_create(&f->cache, f->device, &config))) return false;
    for (int l = 0; l < f->spec.n_layers; l++) f->out[l] = calloc((size_t)f->spec.max_batch * out_width(spec, l), sizeof(float));
    return true;
}

void fixture_close(fixture *f) {
    ingot_cache_destroy(f->cache);
    ingot_device_close(f->device);
    for (int l = 0; l < FIX_LAYERS; l++) free(f->out[l]);
}

/* kind 0, 1, 2: q, k, v. Roughly normal, some channels far from zero. */
static void content(float *x, int n, int dim, uint32_t tag, int position, int layer, int kind) {
    ingot_rng r = {((uint64_t)tag << 32 | (uint32_t)position) * 31 + (uint64_t)(layer * 3 + kind)};
    for (int i = 0; i < n; i++) {
        const double u = ingot_rng_uniform(&r) + ingot_rng_uniform(&r) + ingot_rng_uniform(&r) - 1.5;
        x[i] = (float)(2 * u + (kind == 1 && i % dim % 13 == 5 ? 3.0 : 0.0));
    }
}

void fixture_step_open(fixture *f, const int *seqs, const uint32_t *tags, int n) {
    int *positions = calloc((size_t)n, sizeof(int));
    if (!CHECK_OK(ingot_cache_step_begin(f->cache, seqs, n, positions))) {
        free(positions);
        return;
    }
    for (int i = 0; i < n; i++) {
        CHECK_INT(positions[i], f->n[seqs[i]]);
        f->tag[seqs[i]][f->n[seqs[i]]++] = tags[i];
    }
    for (int l = 0; l < f->spec.n_layers; l++) {
        const ingot_layer_shape *s = &f->spec.layers[l];
        const int nq = s->n_heads * s->k_dim, nk = s->n_kv_heads * s->k_dim, nv = s->n_kv_heads * s->v_dim;
        float *q = malloc(sizeof(float) * (size_t)(n * (nq + nk + nv))), *k = q + n * nq, *v = k + n * nk;
        for (int i = 0; i < n; i++) {
            content(q + i * nq, nq, s->k_dim, tags[i], positions[i], l, 0);
            content(k + i * nk, nk, s->k_dim, tags[i], positions[i], l, 1);
            content(v + i * nv, nv, s->v_dim, tags[i], positions[i], l, 2);
        }
        CHECK_OK(ingot_cache_layer(f->cache, l, q, k, v, f->out[l]));
        free(q);
    }
    free(positions);
}

void fixture_step(fixture *f, const int *seqs, const uint32_t *tags, int n) {
    fixture_step_open(f, seqs, tags, n);
    ingot_cache_step_end(f->cache);
}

void fixture_feed(fixture *f, int seq, uint32_t tag, int n) {
    int seqs[256];
    uint32_t tags[256];
    for (int i = 0; i < n && i < 256; i++) seqs[i] = seq, tags[i] = tag;
    fixture_step(f, seqs, tags, n);
}

/* One side of one head as it should be stored: rows in the stored frame, exact and packed, both taken back to the original frame. */
typedef struct stored_side {
    ingot_kv_fmt f;
    ingot_transform_chain chain;
    bool centred, ring;
    int sinks;
    void *memory; /* of params */
    ingot_codec_params params;
} stored_side;

static const float *calibrated(const cache_case *spec, int kind, int bits, int group, int side, int layer, int head) {
    size_t n;
    return kind == INGOT_CAL_NONE || !spec->calibration ? NULL : ingot_calibration_get(spec->calibration, kind, bits, group, side, layer, head, &n);
}

/* `out` must stay where it is. */
static void stored_side_make(stored_side *out, const cache_case *spec, const ingot_plan *plan, int layer, int side, int head, bool ring) {
    const ingot_layer_shape *s = &spec->layers[layer];
    const ingot_side_plan *p = ingot_plan_side(plan, layer, side);
    const ingot_codec *c = ingot_codec_get(p->codec);
    const int dim = side ? s->v_dim : s->k_dim;
    *out = (stored_side){.f = {.codec = p->codec, .group = p->group < dim || (c->group_is_tokens && !side) ? p->group : dim, .dim = dim, .variant = p->variant,
                             .side = (ingot_kv_side)side, .adjacent_pairs = s->adjacent_pairs},
                       .chain = {.dim = dim}, .ring = ring, .sinks = spec->sinks};
    for (int stage = 0; stage < INGOT_N_STAGES; stage++)
        for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
            const ingot_transform *t = ingot_transform_get(i);
            if (!(p->transforms >> i & 1u) || (int)t->stage != stage) continue;
            out->centred |= t->running_mean;
            if (!t->forward) continue;
            out->chain.cal[out->chain.n] = calibrated(spec, t->needs, 0, 0, side, layer, head);
            out->chain.step[out->chain.n++] = t;
        }
    if (c->needs == INGOT_CAL_NONE) return;
    out->memory = ingot_alloc(ingot_codec_params_bytes(&out->f), INGOT_MEM_OTHER);
    CHECK(!ingot_codec_params_fill(&out->f, calibrated(spec, c->needs, c->code_bits, out->f.group, side, layer, head), out->memory, &out->params));
    out->f.params = &out->params;
}

static bool is_centred(const ingot_side_plan *p) {
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++)
        if ((p->transforms >> i & 1u) && ingot_transform_get(i)->running_mean) return true;
    return false;
}

static int tokens_of(const ingot_side_plan *p, int side, int dim) {
    const ingot_kv_fmt f = {.codec = p->codec, .group = p->group, .dim = dim, .variant = p->variant, .side = (ingot_kv_side)side};
    return ingot_codec_tokens(&f);
}

/* Positions below the result are packed once n tokens are there. */
static int expected_pack_end(const cache_case *spec, const ingot_plan *plan, int n) {
    int tokens = 1, hold = 0;
    for (int l = 0; l < spec->n_layers; l++)
        for (int side = 0; side < 2; side++) {
            const int t = tokens_of(ingot_plan_side(plan, l, side), side, side ? spec->layers[l].v_dim : spec->layers[l].k_dim);
            if (t > tokens) tokens = t;
            if (is_centred(ingot_plan_side(plan, l, side))) hold = 256;
        }
    return n < hold || n <= spec->window ? 0 : (n - spec->window) / tokens * tokens;
}

static bool has_ring(const cache_case *spec, const ingot_plan *plan) {
    return spec->window > 0 || expected_pack_end(spec, plan, 1) == 0; /* a single token is not packed at once */
}

/* x [to][dim] of one head -> what readers see of it in the original frame: packed and exact [to][stride]. */
static void store_side(const stored_side *s, const float *x, int to, double *packed, double *exact, size_t stride) {
    const ingot_codec *c = ingot_codec_get(s->f.codec), *f16 = ingot_codec_get(INGOT_CODEC_F16);
    const int dim = s->f.dim, tokens = ingot_codec_tokens(&s->f);
    float *y = calloc((size_t)(to + 64) * (size_t)dim, sizeof(float)), *block = malloc(sizeof(float) * (size_t)(tokens * dim)), mean[INGOT_MAX_HEAD_DIM] = {0}, back[INGOT_MAX_HEAD_DIM];
    uint8_t row[INGOT_MAX_HEAD_DIM * 2], *bytes = malloc(c->block_bytes(&s->f));
    for (int p = 0; p < to; p++) {
        float *at = y + (ptrdiff_t)p * dim;
        ingot_chain_forward(&s->chain, at, x + (ptrdiff_t)p * dim);
        memcpy(back, at, sizeof(float) * (size_t)dim);
        f16->encode(&s->f, back, 0, 0, 1, row);
        f16->decode(&s->f, row, back);
        if (s->ring) memcpy(at, back, sizeof(float) * (size_t)dim);
        ingot_chain_inverse(&s->chain, back, back);
        for (int i = 0; i < dim; i++) exact[(size_t)p * stride + (size_t)i] = (double)back[i];
    }
    for (int i = 0; s->centred && to >= 256 && i < dim; i++) {
        double sum = 0;
        for (int p = 4; p < 256; p++) sum += (double)y[p * dim + i];
        mean[i] = (float)(sum / 252);
    }
    for (ptrdiff_t i = 0; i < (ptrdiff_t)to * dim; i++) y[i] -= mean[i % dim];
    for (int base = 0; base < to; base += tokens) {
        const int first = s->sinks > base ? s->sinks - base : 0;
        if (first >= tokens || base + tokens > (to + 63) / 64 * 64) continue;
        c->encode(&s->f, y + (ptrdiff_t)base * dim, dim, first, tokens - first, bytes);
        c->decode(&s->f, bytes, block);
        for (int i = 0; i < tokens && base + i < to; i++) {
            for (int e = 0; e < dim; e++) back[e] = block[i * dim + e] + mean[e];
            ingot_chain_inverse(&s->chain, back, back);
            for (int e = 0; e < dim; e++) packed[(size_t)(base + i) * stride + (size_t)e] = (double)back[e];
        }
    }
    free(y), free(block), free(bytes);
}

typedef struct oracle {
    const cache_case *spec;
    const ingot_layer_shape *s;
    ingot_plan plan;
    double *k[2], *v[2]; /* [packed, exact][to][n_kv_heads][dim] */
} oracle;

static void oracle_store(oracle *o, const uint32_t *tags, int layer, int to) {
    const ingot_layer_shape *s = o->s;
    for (int side = 0; side < 2; side++) {
        const int dim = side ? s->v_dim : s->k_dim, width = s->n_kv_heads * dim;
        double **store = side ? o->v : o->k;
        float *x = malloc(sizeof(float) * (size_t)(to * width)), *one = malloc(sizeof(float) * (size_t)(to * dim));
        for (int e = 0; e < 2; e++) store[e] = calloc((size_t)(to * width), sizeof(double));
        for (int p = 0; p < to; p++) content(x + p * width, width, dim, tags[p], p, layer, 1 + side);
        for (int h = 0; h < s->n_kv_heads; h++) {
            for (int p = 0; p < to; p++) memcpy(one + p * dim, x + p * width + h * dim, sizeof(float) * (size_t)dim);
            stored_side st;
            stored_side_make(&st, o->spec, &o->plan, layer, side, h, has_ring(o->spec, &o->plan));
            store_side(&st, one, to, store[0] + h * dim, store[1] + h * dim, (size_t)width);
            ingot_dealloc(st.memory);
        }
        free(x), free(one);
    }
}

static void oracle_row(const oracle *o, const float *q, int head, int t, int exact_from, float *out) {
    const ingot_layer_shape *s = o->s;
    const int kv = head / (s->n_heads / s->n_kv_heads);
    const int lo = s->sliding_window && t - s->sliding_window + 1 > 0 ? t - s->sliding_window + 1 : 0;
    double score[FIX_TOKENS], top = -INFINITY, sum = 0, acc[INGOT_MAX_HEAD_DIM] = {0};
    int exact_lo = expected_pack_end(o->spec, &o->plan, t + 1);
    if (exact_lo < exact_from) exact_lo = exact_from;
    for (int p = lo; p <= t; p++) {
        const bool e = p < o->spec->sinks || p >= exact_lo;
        const double *k = o->k[e] + (size_t)(p * s->n_kv_heads + kv) * (size_t)s->k_dim;
        score[p] = 0;
        for (int i = 0; i < s->k_dim; i++) score[p] += (double)q[i] * k[i];
        score[p] *= (double)s->scale;
        if (score[p] > top) top = score[p];
    }
    for (int p = lo; p <= t; p++) {
        const bool e = p < o->spec->sinks || p >= exact_lo;
        const double *v = o->v[e] + (size_t)(p * s->n_kv_heads + kv) * (size_t)s->v_dim, w = exp(score[p] - top);
        sum += w;
        for (int i = 0; i < s->v_dim; i++) acc[i] += w * v[i];
    }
    for (int i = 0; i < s->v_dim; i++) out[i] = (float)(acc[i] / sum);
}

void cache_expect(const cache_case *spec, const uint32_t *tags, int layer, int from, int to, int exact_from, float *out) {
    oracle o = {.spec = spec, .s = &spec->layers[layer], .plan = plan_of(spec)};
    const int nq = o.s->n_heads * o.s->k_dim;
    float *q = malloc(sizeof(float) * (size_t)nq);
    oracle_store(&o, tags, layer, to);
    for (int t = from; t < to; t++) {
        content(q, nq, o.s->k_dim, tags[t], t, layer, 0);
        for (int h = 0; h < o.s->n_heads; h++)
            oracle_row(&o, q + h * o.s->k_dim, h, t, exact_from, out + ((size_t)(t - from) * (size_t)o.s->n_heads + (size_t)h) * (size_t)o.s->v_dim);
    }
    for (int e = 0; e < 2; e++) free(o.k[e]), free(o.v[e]);
    free(q);
}

void fixture_expect(const fixture *f, int layer, int seq, int from, int to, int exact_from, float *out) {
    cache_expect(&f->spec, f->tag[seq], layer, from, to, exact_from, out);
}

static bool same_row(const fixture *a, int seq_a, const fixture *b, int seq_b, int layer, bool value, int head, int p) {
    static uint8_t x[INGOT_PAGE_TOKENS * (INGOT_MAX_HEAD_DIM * 2 + 4)], y[sizeof x];
    ingot_kv_fmt f, g;
    const ingot_status sa = ingot_cache_get_block(a->cache, layer, seq_a, value, head, p, x, &f);
    const ingot_status sb = ingot_cache_get_block(b->cache, layer, seq_b, value, head, p, y, &g);
    if (sa || sb) return sa == sb; /* both have dropped it */
    return f.codec == g.codec && f.group == g.group && !memcmp(x, y, ingot_codec_get(f.codec)->block_bytes(&f));
}

bool same_rows(const fixture *a, int seq_a, const fixture *b, int seq_b, int n_tokens) {
    for (int l = 0; l < a->spec.n_layers; l++)
        for (int h = 0; h < a->spec.layers[l].n_kv_heads; h++)
            for (int p = 0; p < n_tokens; p++)
                if (!same_row(a, seq_a, b, seq_b, l, false, h, p) || !same_row(a, seq_a, b, seq_b, l, true, h, p)) return false;
    return true;
}

static void fill(float *x, size_t n, ingot_rng *r, int kind, int dim) {
    for (size_t i = 0; i < n; i++) x[i] = kind == INGOT_CAL_SMOOTH ? 0.5f + (float)ingot_rng_uniform(r) : (float)ingot_rng_normal(r);
    for (int i = 0; kind == INGOT_CAL_OUTLIERS && i < dim; i++) x[i] = (float)((i * 7 + 3) % dim); /* dim has no factor 7 */
    if (kind != INGOT_CAL_WHITEN) return;
    memset(x, 0, n * sizeof *x);
    for (int i = 0; i < dim; i++) {
        const int to = (i * 11 + 1) % dim;
        x[i * dim + to] = 0.75f + (float)(i % 3) / 4;
        x[dim * dim + i * dim + to] = 1 / x[i * dim + to];
    }
}

static bool add_arrays(ingot_calibration_writer *w, int side, int layer, int head, int dim) {
    static const struct { int kind, bits, group; } rows[] = {{INGOT_CAL_MEAN, 0, 0}, {INGOT_CAL_SMOOTH, 0, 0}, {INGOT_CAL_OUTLIERS, 0, 0}, {INGOT_CAL_WHITEN, 0, 0},
        {INGOT_CAL_FILTER, 0, 0}, {INGOT_CAL_CODEBOOK, 8, 4}, {INGOT_CAL_CODEBOOK, 10, 4}, {INGOT_CAL_CODEBOOK, 12, 4}};
    float *x = malloc(sizeof(float) * (size_t)(2 * dim * dim + (4 << 12)));
    bool ok = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_rng r = {(uint64_t)(side * 1000 + layer * 100 + head * 10) + i};
        if (side && (rows[i].kind == INGOT_CAL_SMOOTH || rows[i].kind == INGOT_CAL_FILTER || rows[i].kind == INGOT_CAL_MEAN)) continue;
        const size_t n = rows[i].bits ? (size_t)rows[i].group << rows[i].bits : rows[i].kind == INGOT_CAL_WHITEN ? 2 * (size_t)(dim * dim) : (size_t)dim;
        fill(x, n, &r, rows[i].kind, dim);
        ok = ok && CHECK_OK(ingot_calibration_writer_add(w, rows[i].kind, rows[i].bits, rows[i].group, side, layer, head, x, n));
    }
    free(x);
    return ok;
}

ingot_calibration *made_up_calibration(const ingot_layer_shape *layers, int n_layers) {
    static const uint8_t fingerprint[16] = {1};
    char path[] = "/tmp/ingot-cal-XXXXXX";
    ingot_calibration_writer *w;
    ingot_calibration *c = NULL;
    const int fd = mkstemp(path);
    if (!CHECK(fd >= 0)) return NULL;
    close(fd);
    bool ok = CHECK_OK(ingot_calibration_writer_create(&w, fingerprint, "made up"));
    for (int l = 0; ok && l < n_layers; l++)
        for (int h = 0; ok && h < layers[l].n_kv_heads; h++) ok = add_arrays(w, 0, l, h, layers[l].k_dim) && add_arrays(w, 1, l, h, layers[l].v_dim);
    if (ok && CHECK_OK(ingot_calibration_writer_save(w, path))) CHECK_OK(ingot_calibration_open(&c, path));
    ingot_calibration_writer_destroy(w);
    unlink(path);
    return c;
}
