/* ingot bench compare -m: decoding with two plans, and what a gain of attention can give at most. */
#include "bench_compare.h"
#include "bench_engine.h"
#include <math.h>

static const bench_column columns[] = {
    {"a", "A", -16, 0, 0}, {"b", "B", -16, 0, 0}, {"depth", "depth", 7, 0, 0}, {"threads", "thr", 3, 0, 0}, {"floor_pct", "floor %", 7, 1, 0},
    {"a_tokens_per_second", "A tok/s", 8, 2, 0}, {"b_tokens_per_second", "B tok/s", 8, 2, 0}, {"gain", "gain", 6, 3, 0}, {"gain_noise_pct", "+- %", 5, 1, 0},
    {"attention_share", "context", 7, 2, 0}, {"attention_gain", "op gain", 7, 3, 0}, {"at_most", "at most", 7, 3, 0}, {"verdict", "verdict", -20, 0, 0},
};

typedef struct job {
    const settings *s;
    const bench_pair *pair;
    bench_sheet sheet;
    bench_engine engine;
    bench_range depths, threads;
} job;

static bool same_shape(const ingot_layer_shape *a, const ingot_layer_shape *b) {
    return a->n_heads == b->n_heads && a->n_kv_heads == b->n_kv_heads && a->k_dim == b->k_dim && a->v_dim == b->v_dim && a->sliding_window == b->sliding_window;
}

/* Time of attention in all layers of a token, as measured alone, with each plan; NaN where a plan cannot be measured alone. Layers with a sliding window are taken as
 * contexts of that length. */
static int time_attention(job *j, int depth, double us[2]) {
    us[0] = us[1] = 0;
    for (int l = 0; l < j->engine.u.info.n_layers; l++) {
        const ingot_layer_shape *shape = &j->engine.u.info.layers[l];
        int first = 0, n = 0;
        while (!same_shape(&j->engine.u.info.layers[first], shape)) first++;
        if (first < l) continue; /* counted already */
        for (int i = l; i < j->engine.u.info.n_layers; i++) n += same_shape(&j->engine.u.info.layers[i], shape);
        const int sees = shape->sliding_window && shape->sliding_window < depth ? shape->sliding_window : depth;
        const ingot_bench_attn_config c = {.protocol = bench_protocol(&j->sheet), .n_tokens = sees ? sees : 1, .n_queries = 1, .n_heads = shape->n_heads,
                                           .n_kv_heads = shape->n_kv_heads, .head_dim = shape->k_dim};
        const ingot_plan plans[2] = {j->pair->plans[0], j->pair->plans[2]};
        ingot_bench_attn_row rows[2];
        const ingot_status status = shape->k_dim == shape->v_dim ? ingot_bench_attn(rows, j->engine.u.device, &c, plans, 2) : INGOT_E_UNSUPPORTED;
        const int code = bench_sheet_status(&j->sheet, status == INGOT_E_UNSUPPORTED ? INGOT_OK : status);
        for (int i = 0; i < 2; i++) us[i] += status == INGOT_OK && rows[i].status == INGOT_OK ? n * rows[i].op.sum.median : NAN;
        if (status != INGOT_E_UNSUPPORTED) ingot_bench_attn_rows_free(rows, 2);
        if (code || j->sheet.stopped) return code;
    }
    return CLI_DONE;
}

static json_t *row_json(const job *j, const ingot_bench_model_row rows[4], int depth, const ingot_bench_verdict *v, const double attention[2]) {
    json_t *o = json_object();
    const double whole = rows[0].token.sum.median, context = depth ? whole - rows[0].shallow.sum.median : 0;
    const double share = context > 0 ? context / whole : 0, gain = attention[0] / attention[1];
    json_put(o, "a", json_text(j->pair->names[0]));
    json_put(o, "b", json_text(j->pair->names[1]));
    json_put(o, "depth", json_integer(depth));
    json_put(o, "threads", json_integer(ingot_device_threads(j->engine.u.device)));
    bench_put_times(o, "a_shallow", &rows[0].shallow);
    bench_put_times(o, "b_shallow", &rows[2].shallow);
    bench_put_times(o, "a", &rows[0].token);
    bench_put_times(o, "b", &rows[2].token);
    json_put(o, "a_tokens_per_second", json_number(1e6 / rows[0].token.sum.median));
    json_put(o, "b_tokens_per_second", json_number(1e6 / rows[2].token.sum.median));
    json_put(o, "a_kv_bytes", json_integer((json_int_t)rows[0].memory.resident_bytes));
    json_put(o, "b_kv_bytes", json_integer((json_int_t)rows[2].memory.resident_bytes));
    bench_put_verdict(o, v);
    json_put(o, "attention_share", json_number(share));
    json_put(o, "attention_gain", json_number(gain));
    json_put(o, "at_most", json_number(ingot_bench_at_most(gain, share)));
    json_put(o, "reps", json_integer(rows[0].token.n));
    return o;
}

static int run_depth(job *j, int depth) {
    ingot_bench_model_row rows[4];
    double attention[2] = {NAN, NAN};
    int code = bench_sheet_status(&j->sheet, ingot_bench_model_decode(rows, j->engine.bench, depth, j->s->n_gen));
    for (int i = 0; !code && i < 4; i++)
        if (rows[i].status != INGOT_OK) code = cli_fail("%s: %s", j->pair->names[i / 2], rows[i].message);
    if (!code && rows[3].token.n > 1) {
        const ingot_bench_times a[2] = {rows[0].token, rows[1].token}, b[2] = {rows[2].token, rows[3].token};
        ingot_bench_verdict v;
        code = bench_sheet_status(&j->sheet, ingot_bench_compare(&v, a, b));
        if (!code && !j->sheet.stopped) code = time_attention(j, depth, attention);
        if (!code) bench_sheet_add(&j->sheet, row_json(j, rows, depth, &v, attention));
    }
    ingot_bench_model_rows_free(rows, 4);
    return code;
}

static int run_threads(job *j, int n_threads) {
    const int n_ctx = j->depths.values[j->depths.n - 1] + j->s->n_gen;
    int code = bench_engine_open(&j->engine, &j->sheet, "bench compare", j->pair->plans, 4, n_ctx, n_threads);
    for (int i = 0; !code && !j->sheet.stopped && i < j->depths.n; i++) code = run_depth(j, j->depths.values[i]);
    bench_engine_close(&j->engine);
    return code;
}

int bench_compare_model(const settings *s, const bench_pair *pair) {
    static job j;
    j = (job){.s = s, .pair = pair};
    if (!bench_depths_read(&j.depths, "bench compare", "ctx", s->contexts, false) || !bench_threads_read(&j.threads, "bench compare", s->thread_counts)) return CLI_WRONG_USE;
    int code = bench_sheet_open(&j.sheet, s, "bench compare", columns, sizeof columns / sizeof *columns);
    for (int i = 0; !code && !j.sheet.stopped && i < j.threads.n; i++) code = run_threads(&j, j.threads.values[i]);
    if (!code) bench_sheet_note(&j.sheet, "context: share of A's token that it takes more than behind no tokens; op gain: attention alone; at most: what that can give the whole token");
    return bench_sheet_close(&j.sheet, code);
}
