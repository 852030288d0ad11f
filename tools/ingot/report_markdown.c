/* REPORT.md, made from report.json's content alone. */
#include "report.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void put(strbuf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(strbuf *out, const char *fmt, ...) {
    char text[8192];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    strbuf_add(out, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static const char *text(const json_t *o, const char *key) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* A cell with the number, or an empty one. */
static void put_cell(strbuf *out, const json_t *o, const char *key, int digits, double factor) {
    const json_t *v = json_object_get(o, key);
    if (json_is_number(v)) put(out, " %.*f |", digits, factor * json_number_value(v));
    else put(out, " |");
}

/* Puts a number into the ascending list out[*n], once. */
static void insert(int *out, int *n, int cap, int value) {
    int at = 0;
    while (at < *n && out[at] < value) at++;
    if ((at < *n && out[at] == value) || *n == cap) return;
    memmove(out + at + 1, out + at, (size_t)(*n - at) * sizeof *out);
    out[at] = value;
    ++*n;
}

/* Contexts that some row has under `key`, ascending; returns how many. */
static int find_contexts(const json_t *rows, const char *key, int *out, int cap) {
    int n = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(json_array_get(rows, i), key), name, value) {
            (void)value;
            insert(out, &n, cap, atoi(name));
        }
    }
    return n;
}

static const json_t *of_context(const json_t *row, const char *what, int ctx) {
    char key[16];
    snprintf(key, sizeof key, "%d", ctx);
    return json_object_get(json_object_get(row, what), key);
}

static bool has_task(const json_t *rows, int ctx, int task) {
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (json_object_get(json_object_get(of_context(json_array_get(rows, i), "recall", ctx), "tasks"), ingot_recall_task_name(task))) return true;
    return false;
}

static void put_recall(strbuf *out, const json_t *row, int ctx, int task) {
    const json_t *cell = json_object_get(json_object_get(of_context(row, "recall", ctx), "tasks"), ingot_recall_task_name(task));
    if (cell) put(out, " %.0f (%.3f) |", 100 * number(cell, "accuracy"), number(cell, "logprob"));
    else put(out, " |");
}

static void put_speed(strbuf *out, const json_t *row) {
    const json_t *speed = json_object_get(row, "speed");
    const double f16 = number(speed, "f16_tok_s");
    if (f16 > 0) put(out, " %.1f (%.2f) |", number(speed, "tok_s"), number(speed, "tok_s") / f16);
    else put(out, " |");
}

static void put_row(strbuf *out, const json_t *rows, const json_t *row, int ctx) {
    const json_t *c = of_context(row, "contexts", ctx), *memory = json_object_get(c, "memory");
    put(out, "| `%s` |", text(row, "plan"));
    put_cell(out, row, "claimed_bits", 3, 1);
    put_cell(out, memory, "packed_bits_per_element", 3, 1);
    put_cell(out, memory, "bits_per_element", 2, 1);
    put_cell(out, c, "ppl", 3, 1);
    put_cell(out, c, "mean", 5, 1);
    put_cell(out, c, "p99", 4, 1);
    put_cell(out, c, "p999", 3, 1);
    put_cell(out, c, "max", 3, 1);
    put_cell(out, c, "top1_agreement", 2, 100);
    put_cell(out, c, "rms_dp", 3, 1);
    const json_t *quarters = json_object_get(c, "quarters");
    put(out, " %.4f %.4f %.4f %.4f |", json_number_value(json_array_get(quarters, 0)), json_number_value(json_array_get(quarters, 1)),
        json_number_value(json_array_get(quarters, 2)), json_number_value(json_array_get(quarters, 3)));
    put_speed(out, row);
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (has_task(rows, ctx, t)) put_recall(out, row, ctx, t);
    put(out, "\n");
}

/* What the base is, and how much text it was. */
static void put_context(strbuf *out, const json_t *rows, int ctx) {
    int depth = 0, columns = 13;
    const json_t *first = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *c = of_context(json_array_get(rows, i), "contexts", ctx), *speed = json_object_get(json_array_get(rows, i), "speed");
        if (c && !first) first = c;
        if (speed) depth = (int)number(speed, "depth");
    }
    put(out, "\n## %d tokens\n\n%.0f windows, %.0f tokens scored. Perplexity with the f16 cache: %.3f.\n\n", ctx, number(first, "n_windows"), number(first, "n_tokens"), number(first, "ppl_base"));
    put(out, "| plan | claimed bits | packed bits | resident bits | perplexity | KLD mean | 99 %% | 99.9 %% | max | top-1 %% | RMS dp %% | KLD by quarter |");
    if (depth) put(out, " decode tok/s behind %d (times f16) |", depth);
    else put(out, " decode |");
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
        if (has_task(rows, ctx, t)) put(out, " %s %% (log p) |", ingot_recall_task_name(t)), columns++;
    put(out, "\n|---|");
    for (int i = 1; i < columns; i++) put(out, "---|");
    put(out, "\n");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (of_context(json_array_get(rows, i), "contexts", ctx)) put_row(out, rows, json_array_get(rows, i), ctx);
}

/* --- budgets --- */
static const json_t *find_budget(const json_t *budgets, const char *policy, int budget) {
    for (size_t i = 0; i < json_array_size(budgets); i++) {
        const json_t *row = json_array_get(budgets, i);
        if (!strcmp(text(row, "policy"), policy) && (int)number(row, "budget") == budget) return row;
    }
    return NULL;
}

static int find_budgets(const json_t *budgets, int *out, int cap) {
    int n = 0;
    for (size_t i = 0; i < json_array_size(budgets); i++) insert(out, &n, cap, (int)number(json_array_get(budgets, i), "budget"));
    return n;
}

static void put_budgets(strbuf *out, const json_t *budgets, int ctx) {
    int list[64];
    const int n = find_budgets(budgets, list, 64);
    double base = 0;
    for (size_t i = 0; i < json_array_size(budgets); i++) {
        const json_t *c = of_context(json_array_get(budgets, i), "contexts", ctx);
        if (c) base = number(c, "ppl_base");
    }
    put(out, "\n## Budgets at %d tokens\n\nPerplexity (KLD mean), fed token by token; all tokens: %.3f.\n\n| policy |", ctx, base);
    for (int b = 0; b < n; b++) put(out, " %d |", list[b]);
    put(out, "\n|---|");
    for (int b = 0; b < n; b++) put(out, "---|");
    put(out, "\n");
    for (int p = 0; p < ingot_part_count(INGOT_PART_POLICY); p++) {
        const char *policy = ingot_part_get(INGOT_PART_POLICY, p)->name;
        bool any = false;
        for (int b = 0; b < n; b++) any |= of_context(find_budget(budgets, policy, list[b]), "contexts", ctx) != NULL;
        if (!any) continue;
        put(out, "| %s |", policy);
        for (int b = 0; b < n; b++) {
            const json_t *c = of_context(find_budget(budgets, policy, list[b]), "contexts", ctx);
            if (c) put(out, " %.3f (%.4f) |", number(c, "ppl"), number(c, "mean"));
            else put(out, " |");
        }
        put(out, "\n");
    }
}

static void put_skipped(strbuf *out, const json_t *rows, bool *begun) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!*text(row, "skipped")) continue;
        if (!*begun) put(out, "\n## Not measured\n\n");
        *begun = true;
        put(out, "- `%s`: %s\n", text(row, "plan"), text(row, "skipped"));
    }
}

static void put_head(strbuf *out, const json_t *doc) {
    const json_t *how = json_object_get(doc, "how"), *about = json_object_get(doc, "about");
    put(out, "# What caches cost: %s\n\n", *text(about, "name") ? text(about, "name") : text(about, "model"));
    put(out, "Model `%s`, text `%s`, %s activations (decode speed: int8), %s; Ingot %s on %s (%s).", text(about, "model"), text(about, "text"), text(how, "activations"),
        json_is_true(json_object_get(how, "stream")) ? "fed token by token" : "fed in batches", text(how, "version"), text(about, "device"), text(about, "processor"));
    if (*text(doc, "calibration")) put(out, " Calibration: %s.", text(doc, "calibration"));
    put(out, "\n\nBits are stored bits per element of K and V: *claimed* by the formats; *packed*: resident pages without the exact tokens (window, sinks); *resident*: all that "
             "the cache holds, exact tokens included, at this length. KLD: divergence from the f16 cache in nats. Recall: share of right answers in %%, mean log p of their tokens, "
             "over made-up sentences (%.0f contexts of each kind). `ingot eval report` made this; docs/evaluating.md says how to read it.\n", number(how, "recall_samples"));
}

void report_markdown(strbuf *out, const json_t *doc) {
    const json_t *rows = json_object_get(doc, "rows"), *budgets = json_object_get(doc, "budgets");
    int contexts[64];
    bool begun = false;
    put_head(out, doc);
    int n = find_contexts(rows, "contexts", contexts, 64);
    for (int i = 0; i < n; i++) put_context(out, rows, contexts[i]);
    n = find_contexts(budgets, "contexts", contexts, 64);
    for (int i = 0; i < n; i++) put_budgets(out, budgets, contexts[i]);
    put_skipped(out, rows, &begun);
    put_skipped(out, budgets, &begun);
}
