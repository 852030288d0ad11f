/* ingot bench compare. */
#include "bench_compare.h"
#include "bench_ranges.h"
#include <stdlib.h>
#include <string.h>

static const bench_column columns[] = {
    {"a", "A", -16, 0, 0}, {"b", "B", -16, 0, 0}, {"n_tokens", "tokens", 7, 0, 0}, {"n_heads", "heads", 5, 0, 0}, {"n_kv_heads", "kv", 3, 0, 0},
    {"head_dim", "dim", 3, 0, 0}, {"threads", "thr", 3, 0, 0}, {"floor_pct", "floor %", 7, 1, 0}, {"a_us", "A us", 10, 1, 0}, {"b_us", "B us", 10, 1, 0},
    {"gain", "gain", 6, 3, 0}, {"gain_noise_pct", "+- %", 5, 1, 0}, {"a_share", "A share", 7, 2, 0}, {"b_share", "B share", 7, 2, 0},
    {"at_most_25", "end 25%", 7, 3, 0}, {"at_most_50", "end 50%", 7, 3, 0}, {"at_most", "at most", 7, 3, 0}, {"verdict", "verdict", -20, 0, 0},
};

void bench_put_verdict(json_t *row, const ingot_bench_verdict *v) {
    json_put(row, "floor_pct", json_number(v->floor_pct));
    json_put(row, "gain", json_number(v->gain));
    json_put(row, "gain_noise_pct", json_number(v->gain_noise_pct));
    json_put(row, "effect", json_integer(v->effect));
    json_put(row, "verdict", json_text(v->effect > 0 ? "B is faster" : v->effect < 0 ? "A is faster" : "inside the noise"));
}

int bench_compare_attn_rows(bench_sheet *b, ingot_bench_attn_row rows[4], ingot_device *device, const ingot_bench_attn_config *c, const bench_pair *pair) {
    const int code = bench_sheet_status(b, ingot_bench_attn(rows, device, c, pair->plans, 4));
    if (code) return code;
    for (int i = 0; i < 4; i++)
        if (rows[i].status != INGOT_OK) return cli_fail("%s: %s", pair->names[i / 2], rows[i].message);
    return CLI_DONE;
}

/* The share that the option gives, in percent; -1: none was given. */
static void put_at_most(json_t *row, const ingot_bench_verdict *v, double percent) {
    const double gain = v->effect ? v->gain : 1;
    json_put(row, "at_most_25", json_number(ingot_bench_at_most(gain, 0.25)));
    json_put(row, "at_most_50", json_number(ingot_bench_at_most(gain, 0.5)));
    json_put(row, "attention_share", percent < 0 ? json_null() : json_number(0.01 * percent));
    json_put(row, "at_most", percent < 0 ? json_null() : json_number(ingot_bench_at_most(gain, 0.01 * percent)));
}

static json_t *row_json(const settings *s, const bench_pair *pair, const ingot_bench_attn_config *c, int threads, const ingot_bench_attn_row rows[4], const ingot_bench_verdict *v) {
    json_t *o = json_object();
    json_put(o, "a", json_text(pair->names[0]));
    json_put(o, "b", json_text(pair->names[1]));
    json_put(o, "n_tokens", json_integer(c->n_tokens));
    json_put(o, "n_queries", json_integer(c->n_queries));
    json_put(o, "n_heads", json_integer(c->n_heads));
    json_put(o, "n_kv_heads", json_integer(c->n_kv_heads));
    json_put(o, "head_dim", json_integer(c->head_dim));
    json_put(o, "threads", json_integer(threads));
    for (int i = 0; i < 4; i += 2) {
        const ingot_bench_attn_row *r = &rows[i];
        const double bytes = (double)(r->packed_bytes + r->exact_bytes);
        char key[32];
        bench_put_times(o, i ? "b" : "a", &r->op);
        snprintf(key, sizeof key, "%c_bytes", i ? 'b' : 'a'), json_put(o, key, json_number(bytes));
        snprintf(key, sizeof key, "%c_gb_s", i ? 'b' : 'a'), json_put(o, key, json_number(1e-3 * bytes / r->op.sum.median));
        snprintf(key, sizeof key, "%c_share", i ? 'b' : 'a'), json_put(o, key, json_number(r->read.sum.median / r->op.sum.median));
        snprintf(key, sizeof key, "%c_error", i ? 'b' : 'a'), json_put(o, key, json_number(r->error));
        snprintf(key, sizeof key, "%c_checksum", i ? 'b' : 'a'), json_put(o, key, json_number(r->checksum));
    }
    bench_put_verdict(o, v);
    put_at_most(o, v, (double)s->share);
    json_put(o, "reps", json_integer(rows[0].op.n));
    return o;
}

static int run_point(bench_sheet *b, ingot_device *device, const bench_point *p, void *user) {
    const bench_pair *pair = user;
    const ingot_bench_attn_config c = {.protocol = bench_protocol(b), .n_tokens = p->n_tokens, .n_queries = b->s->n_prefill, .n_heads = p->n_heads,
                                       .n_kv_heads = p->n_kv_heads, .head_dim = p->head_dim};
    ingot_bench_attn_row rows[4];
    int code = bench_compare_attn_rows(b, rows, device, &c, pair);
    if (!code && rows[3].op.n > 1) {
        const ingot_bench_times a[2] = {rows[0].op, rows[1].op}, other[2] = {rows[2].op, rows[3].op};
        ingot_bench_verdict v;
        code = bench_sheet_status(b, ingot_bench_compare(&v, a, other));
        if (!code) bench_sheet_add(b, row_json(b->s, pair, &c, ingot_device_threads(device), rows, &v));
    }
    ingot_bench_attn_rows_free(rows, 4);
    return code;
}

static int compare_attn(const settings *s, bench_pair *pair) {
    static bench_ranges r;
    bench_sheet b = {0};
    settings one = *s;
    if (!one.thread_counts) one.thread_counts = "1";
    if (!bench_ranges_read(&r, &one, "bench compare", "ctx")) return CLI_WRONG_USE;
    int code = bench_sheet_open(&b, s, "bench compare", columns, sizeof columns / sizeof *columns);
    if (!code) code = bench_ranges_run(&r, &b, run_point, pair);
    if (!code) bench_sheet_note(&b, "floor: A against A and B against B; end 25%: the gain of a whole token at most, where attention takes 25 % of its time");
    return bench_sheet_close(&b, code);
}

static int run_compare(const settings *s) {
    bench_pair pair;
    if (s->positional.n != 2) return cli_wrong_use("bench compare", "give two plans, such as f16 int4");
    for (int i = 0; i < 2; i++) {
        settings one = *s;
        one.kv = pair.names[i] = s->positional.items[i];
        if (s->model && one.kv_window == BENCH_WINDOW) one.kv_window = -1; /* a model's cache is measured as it would be used */
        if (s->model && one.kv_sinks == BENCH_SINKS) one.kv_sinks = -1;
        if (!bench_plan_read(&one, &pair.plans[2 * i])) return CLI_WRONG_USE;
        pair.plans[2 * i + 1] = pair.plans[2 * i];
    }
    return s->model ? bench_compare_model(s, &pair) : compare_attn(s, &pair);
}

static void defaults(settings *s) {
    s->contexts = "32K";
    s->heads = "32", s->kv_heads = "8", s->head_dims = "128";
    s->n_prefill = 1, s->n_gen = 16;
    s->min_time = 2;
    s->kv_window = BENCH_WINDOW, s->kv_sinks = BENCH_SINKS;
    s->share = -1;
}

static const option_group *const groups[] = {&settings_bench_compare, &settings_bench_exact, &settings_bench_plan, &settings_bench_attn, &settings_passes, &settings_bench_machine,
                                             &settings_bench_protocol, &settings_bench_output, &settings_quiet, NULL};

const command bench_compare = {
    .name = "bench compare", .summary = "Two plans against each other, each also against itself", .synopsis = "A B [-m MODEL] [options]",
    .details = "A and B run by turns, each twice, so that the noise is known before a gain is believed. Without a model: one attention operation. With -m: decoding behind --ctx "
               "tokens, and how much of a token's time attention takes. Without --threads: 1, with a model one per core.",
    .groups = groups, .max_positional = 2, .defaults = defaults, .print_more = settings_print_methods, .run = run_compare,
};
