/* Calibrating: windows of text through the model, then what the moments give, then codebooks, then the file. */
#include <ingot/calibrate.h>
#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/error.h"
#include "../model/output_moment.h"
#include "calibrate_books.h"
#include "calibrate_derive.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Tokens of a pass (their queries, keys and values are copied for all layers), books between two reports, tokens by default and at least. */
enum { PASS_TOKENS = 256, BOOKS_AT_ONCE = 32, USUAL_CONTEXT = 4096, SHORT_CONTEXT = 1024, USUAL_TOKENS = 16384, LEAST_TOKENS = 64 };

/* Shares of the progress bar. */
#define SHARE_MODEL 0.3
#define SHARE_DERIVE 0.1

/* What went wrong in work on several threads, by item: messages belong to a thread. */
typedef struct outcome {
    ingot_status status;
    char message[192];
} outcome;

typedef struct calibration_run {
    const ingot_calibrate_config *config;
    ingot_model *model;
    ingot_model_info info;
    ingot_engine *engine;
    ingot_session *session;
    calibrate_stats stats;
    calibrate_arrays *arrays; /* [stats.n_heads] */
    outcome *outcomes;        /* [max(stats.n_heads, BOOKS_AT_ONCE)] */
    ingot_calibration_writer *writer;
    ingot_calibrate_result *result;
    calibrate_book_kind kinds[CALIBRATE_MAX_BOOK_KINDS];
    int n_kinds;
} calibration_run;

static ingot_status report(const calibration_run *r, const char *what, double fraction) {
    const ingot_calibrate_config *c = r->config;
    if (!c->progress || c->progress(c->progress_user, what, fraction)) return INGOT_OK;
    return ingot_fail(INGOT_E_CANCELLED, "calibrating was cancelled");
}

static void settle(outcome *o, ingot_status s) {
    o->status = s;
    if (s != INGOT_OK) snprintf(o->message, sizeof o->message, "%s", ingot_last_error());
}

/* The failure of the first item that failed. */
static ingot_status first_failure(const outcome *o, int n) {
    for (int i = 0; i < n; i++)
        if (o[i].status != INGOT_OK) return ingot_fail(o[i].status, "%s", o[i].message);
    return INGOT_OK;
}

/* --- the model's run --- */

/* Every other window is read as contexts of at most SHORT_CONTEXT tokens: moments behind RoPE depend on the positions, and those of long contexts alone serve short
 * ones less well. Divergence of wush3 (window 128, sinks 4) from 8192 tokens in contexts of 1024, of 4096, and 16384 in both: SmolLM2 at 1024 tokens .0085,
 * .0095 and .0080, at 4096 .0182, .0122 and .0119; Gemma 3 at 1024 .0041, .0044 and .0038, at 4096 .0125, .0069 and .0069. */
static int context_of(const ingot_calibrate_result *p, int window) { return window % 2 && p->n_ctx > SHORT_CONTEXT ? SHORT_CONTEXT : p->n_ctx; }

static ingot_status run_window(calibration_run *r, const int32_t *tokens, int index) {
    const int n = r->result->n_ctx, context = context_of(r->result, index), bos = ingot_model_adds_bos(r->model) ? ingot_model_bos(r->model) : -1;
    ingot_batch_token batch[PASS_TOKENS];
    char what[64];
    snprintf(what, sizeof what, "reading window %d of %d", index + 1, r->result->n_windows);
    for (int at = 0, size; at < n; at += size) {
        const int place = at % context, left = context - place < n - at ? context - place : n - at;
        const double done = (index + (double)at / n) / r->result->n_windows;
        size = left < PASS_TOKENS ? left : PASS_TOKENS;
        INGOT_TRY(report(r, what, done * (r->config->no_codebooks ? 1.0 - SHARE_DERIVE : SHARE_MODEL)));
        if (place == 0) INGOT_TRY(ingot_session_trim(r->session, 0));
        for (int i = 0; i < size; i++) batch[i] = (ingot_batch_token){r->session, place + i == 0 && bos >= 0 ? bos : tokens[at + i], false};
        INGOT_TRY(ingot_engine_forward(r->engine, batch, size, NULL));
        ingot_calibrate_stats_add(&r->stats, r->engine);
    }
    return INGOT_OK;
}

static int64_t count_contexts(const ingot_calibrate_result *p) {
    int64_t n = 0;
    for (int w = 0; w < p->n_windows; w++) n += (p->n_ctx + context_of(p, w) - 1) / context_of(p, w);
    return n;
}

static ingot_status run_model(calibration_run *r, const int32_t *tokens) {
    const ingot_calibrate_result *p = r->result;
    ingot_engine_config config = {.n_ctx = p->n_ctx, .max_sessions = 1, .n_batch = PASS_TOKENS, .max_logits = 1, .activations = INGOT_ACT_FLOAT};
    INGOT_TRY(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "f16", .window = -1, .sinks = -1}));
    INGOT_TRY(ingot_engine_create(&r->engine, r->model, &config));
    INGOT_TRY(ingot_session_create(&r->session, r->engine));
    INGOT_TRY(ingot_calibrate_stats_init(&r->stats, &r->info, (int64_t)p->n_windows * p->n_ctx, count_contexts(p), PASS_TOKENS, !r->config->no_codebooks));
    ingot_engine_capture(r->engine, ingot_calibrate_stats_capture, &r->stats);
    for (int w = 0; w < p->n_windows; w++) INGOT_TRY(run_window(r, tokens + (size_t)w * (size_t)p->n_ctx, w));
    ingot_engine_capture(r->engine, NULL, NULL);
    return INGOT_OK;
}

/* --- what the moments give --- */

static int first_head(const calibration_run *r, int layer) {
    int n = 0;
    for (int l = 0; l < layer; l++) n += r->info.layers[l].n_kv_heads;
    return n;
}

static ingot_status derive_heads(calibration_run *r, int layer) {
    const ingot_layer_shape *l = &r->info.layers[layer];
    const size_t square = (size_t)l->v_dim * (size_t)l->v_dim;
    double *output = ingot_alloc_array((size_t)l->n_kv_heads, square * sizeof *output, INGOT_MEM_SCRATCH);
    if (!output) return ingot_fail(INGOT_E_NOMEM, "out of memory for the output projection of layer %d", layer);
    ingot_status s = ingot_model_output_moment(r->model, layer, output);
    for (int h = 0, at = first_head(r, layer); s == INGOT_OK && h < l->n_kv_heads; h++, at++)
        s = ingot_calibrate_derive(&r->arrays[at], &r->stats.heads[at], output + (size_t)h * square, r->stats.n_queries);
    ingot_dealloc(output);
    return s;
}

static void derive_layer(void *user, int layer) {
    calibration_run *r = user;
    settle(&r->outcomes[layer], derive_heads(r, layer));
}

/* How the signs of the filters fared where they are used: nothing is evicted from layers with a sliding window. (There positions that no query sees together
 * are far apart in phase, so that one direction cannot serve all of them.) */
static void audit(calibration_run *r) {
    ingot_calibrate_result *p = r->result;
    double sum = 0.0;
    p->positive_min = 1.0;
    for (int i = 0; i < r->stats.n_heads; i++) {
        const calibrate_head *h = &r->stats.heads[i];
        const int group = h->shape->n_heads / h->shape->n_kv_heads;
        p->n_query_heads += group;
        for (int g = 0; g < group && !h->shape->sliding_window; g++) {
            const double share = r->arrays[i].positive[g];
            sum += share;
            p->n_audited++;
            if (share >= p->positive_min && p->n_audited > 1) continue;
            p->positive_min = share, p->positive_min_layer = h->layer, p->positive_min_head = h->head * group + g;
        }
        p->whitened &= r->arrays[i].whiten[0] && r->arrays[i].whiten[1];
    }
    p->positive_mean = p->n_audited ? sum / p->n_audited : 0.0;
}

static ingot_status derive_all(calibration_run *r) {
    const int n = r->stats.n_heads, items = n > BOOKS_AT_ONCE ? n : BOOKS_AT_ONCE;
    r->arrays = ingot_alloc_array((size_t)n, sizeof *r->arrays, INGOT_MEM_OTHER);
    r->outcomes = ingot_alloc_array((size_t)items, sizeof *r->outcomes, INGOT_MEM_OTHER);
    if (!r->arrays || !r->outcomes) return ingot_fail(INGOT_E_NOMEM, "out of memory for the arrays of %d heads", n);
    INGOT_TRY(report(r, "deriving transforms", r->config->no_codebooks ? 1.0 - SHARE_DERIVE : SHARE_MODEL));
    ingot_engine_parallel(r->engine, r->info.n_layers, derive_layer, r);
    INGOT_TRY(first_failure(r->outcomes, r->info.n_layers));
    for (int i = 0; i < n; i++) INGOT_TRY(ingot_calibrate_arrays_add(&r->arrays[i], &r->stats.heads[i], r->writer));
    audit(r);
    return INGOT_OK;
}

/* --- codebooks --- */

/* Books [first, first + BOOKS_AT_ONCE) of all, by head, then kind. */
typedef struct book_batch {
    calibration_run *run;
    int first;
    float *book[BOOKS_AT_ONCE];
    double error[BOOKS_AT_ONCE];
} book_batch;

static void make_book(void *user, int i) {
    book_batch *b = user;
    calibration_run *r = b->run;
    const int head = (b->first + i) / r->n_kinds, kind = (b->first + i) % r->n_kinds;
    settle(&r->outcomes[i], ingot_calibrate_book(&b->book[i], &b->error[i], &r->kinds[kind], &r->stats.heads[head], r->arrays[head].smooth, r->stats.n_sample));
}

static ingot_status add_books(const book_batch *b, int n) {
    calibration_run *r = b->run;
    INGOT_TRY(first_failure(r->outcomes, n));
    for (int i = 0; i < n; i++) {
        const calibrate_head *h = &r->stats.heads[(b->first + i) / r->n_kinds];
        const calibrate_book_kind *k = &r->kinds[(b->first + i) % r->n_kinds];
        ingot_calibrate_book_sum *sum = &r->result->books[(b->first + i) % r->n_kinds];
        sum->n_vectors = ingot_calibrate_book_vectors(k, k->value ? h->shape->v_dim : h->shape->k_dim, r->stats.n_sample);
        if (!b->book[i]) continue;
        INGOT_TRY(ingot_calibration_writer_add(r->writer, INGOT_CAL_CODEBOOK, k->codec->code_bits, k->group, k->value, h->layer, h->head, b->book[i],
                                               ((size_t)1 << k->codec->code_bits) * (size_t)k->group));
        sum->n_books++;
        sum->error += b->error[i];
    }
    return INGOT_OK;
}

static ingot_status make_books(calibration_run *r) {
    ingot_calibrate_result *p = r->result;
    r->n_kinds = ingot_calibrate_book_kinds(r->kinds);
    p->books = ingot_alloc_array((size_t)r->n_kinds, sizeof *p->books, INGOT_MEM_OTHER);
    if (!p->books) return ingot_fail(INGOT_E_NOMEM, "out of memory for the list of codebooks");
    p->n_books = r->n_kinds;
    for (int i = 0; i < r->n_kinds; i++) p->books[i] = (ingot_calibrate_book_sum){.codec = r->kinds[i].codec->name, .bits = r->kinds[i].codec->code_bits, .group = r->kinds[i].group, .value = r->kinds[i].value};
    const int n = r->stats.n_heads * r->n_kinds;
    for (int first = 0; first < n; first += BOOKS_AT_ONCE) {
        const int size = n - first < BOOKS_AT_ONCE ? n - first : BOOKS_AT_ONCE;
        book_batch b = {.run = r, .first = first};
        INGOT_TRY(report(r, "training codebooks", SHARE_MODEL + SHARE_DERIVE + (1.0 - SHARE_MODEL - SHARE_DERIVE) * first / n));
        ingot_engine_parallel(r->engine, size, make_book, &b);
        const ingot_status s = add_books(&b, size);
        for (int i = 0; i < size; i++) ingot_dealloc(b.book[i]);
        INGOT_TRY(s);
    }
    for (int i = 0; i < r->n_kinds; i++)
        p->books[i].error = p->books[i].n_books ? p->books[i].error / p->books[i].n_books : NAN;
    return INGOT_OK;
}

/* --- all of it --- */

static int smaller(int a, size_t b) { return (size_t)a < b ? a : (int)b; }

/* Windows and their length, from what is asked for and what the text has. */
static ingot_status choose_windows(ingot_calibrate_result *out, const ingot_calibrate_config *c, const ingot_model_info *info, size_t n) {
    const int usual = info->n_ctx_train > 0 && info->n_ctx_train < USUAL_CONTEXT ? info->n_ctx_train : USUAL_CONTEXT;
    if (c->n_ctx < 0 || c->n_windows < 0) return ingot_fail(INGOT_E_INVALID, "%d windows of %d tokens", c->n_windows, c->n_ctx);
    out->n_ctx = c->n_ctx ? c->n_ctx : smaller(usual, c->n_windows ? n / (size_t)c->n_windows : n);
    if (out->n_ctx < LEAST_TOKENS) return ingot_fail(INGOT_E_INVALID, "a window of %d tokens says too little, at least %d are needed (the text has %zu)", out->n_ctx, LEAST_TOKENS, n);
    const size_t whole = n / (size_t)out->n_ctx, wanted = c->n_windows ? (size_t)c->n_windows : (size_t)(USUAL_TOKENS / out->n_ctx > 1 ? USUAL_TOKENS / out->n_ctx : 1);
    out->n_windows = (int)(c->n_windows || whole > wanted ? wanted : whole > 0 ? whole : 1);
    if ((size_t)out->n_windows > whole)
        return ingot_fail(INGOT_E_INVALID, "the text has %zu tokens, %zu are needed for %d window%s of %d tokens", n, (size_t)out->n_windows * (size_t)out->n_ctx,
                          out->n_windows, out->n_windows == 1 ? "" : "s", out->n_ctx);
    return INGOT_OK;
}

static ingot_status start_file(calibration_run *r) {
    uint8_t fingerprint[16];
    char source[512], shorter[64] = "";
    const ingot_calibrate_result *p = r->result;
    INGOT_TRY(ingot_model_fingerprint(r->model, fingerprint));
    if (p->n_windows > 1 && context_of(p, 1) < p->n_ctx) snprintf(shorter, sizeof shorter, " (every other one as contexts of %d)", context_of(p, 1));
    snprintf(source, sizeof source, "%d window%s of %d tokens%s of %.400s", p->n_windows, p->n_windows == 1 ? "" : "s", p->n_ctx, shorter, r->config->source ? r->config->source : "a text");
    return ingot_calibration_writer_create(&r->writer, fingerprint, source);
}

static double seconds_since(uint64_t *last) {
    const uint64_t now = ingot_clock_ns(), before = *last;
    *last = now;
    return 1e-9 * (double)(now - before);
}

static ingot_status calibrate(calibration_run *r, const int32_t *tokens, const char *path) {
    ingot_calibrate_result *p = r->result;
    uint64_t last = ingot_clock_ns();
    INGOT_TRY(ingot_calibration_target_check(path)); /* what cannot be written is said before the work */
    INGOT_TRY(start_file(r));
    INGOT_TRY(run_model(r, tokens));
    p->n_layers = r->info.n_layers, p->n_kv_heads = r->stats.n_heads, p->whitened = true;
    p->seconds_model = seconds_since(&last);
    INGOT_TRY(derive_all(r));
    p->seconds_derive = seconds_since(&last);
    if (!r->config->no_codebooks) INGOT_TRY(make_books(r));
    p->seconds_books = seconds_since(&last);
    INGOT_TRY(report(r, "done", 1.0));
    return ingot_calibration_writer_save(r->writer, path);
}

static void release(calibration_run *r) {
    for (int i = 0; r->arrays && i < r->stats.n_heads; i++) ingot_calibrate_arrays_free(&r->arrays[i]);
    ingot_dealloc(r->arrays);
    ingot_dealloc(r->outcomes);
    ingot_calibration_writer_destroy(r->writer);
    ingot_session_destroy(r->session);
    ingot_engine_destroy(r->engine);
    ingot_calibrate_stats_free(&r->stats);
}

ingot_status ingot_calibrate(ingot_calibrate_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_calibrate_config *config, const char *path) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the result");
    *out = (ingot_calibrate_result){0};
    if (!model || !tokens || !config || !path) return ingot_fail(INGOT_E_INVALID, "calibrating needs a model, tokens, a configuration and a path");
    calibration_run r = {.config = config, .model = model, .result = out};
    ingot_model_info_get(model, &r.info);
    ingot_status s = choose_windows(out, config, &r.info, n);
    if (s == INGOT_OK) s = calibrate(&r, tokens, path);
    release(&r);
    if (s == INGOT_OK) return s;
    ingot_dealloc(out->books);
    *out = (ingot_calibrate_result){0};
    return s;
}
