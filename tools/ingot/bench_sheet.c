#include "bench_sheet.h"
#include "common/system.h"
#include <errno.h>
#include <ingot/machine.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_table(const bench_sheet *b) { return !b->s->json && !b->s->csv; }

/* A file must be one that can be written before hours are spent; what is in it stays until there is something to write. */
static int try_output(bench_sheet *b) {
    if (!b->s->output) return CLI_DONE;
    b->created = access(b->s->output, F_OK) != 0;
    FILE *f = fopen(b->s->output, "ae");
    if (!f || fclose(f)) return cli_fail("cannot write %s: %s", b->s->output, strerror(errno));
    return CLI_DONE;
}

int bench_sheet_open(bench_sheet *b, const settings *s, const char *command, const bench_column *columns, int n_columns) {
    *b = (bench_sheet){.s = s, .columns = columns, .n_columns = n_columns};
    if (s->json && s->csv) return cli_wrong_use(command, "give --json or --csv, not both");
    if (ingot_environment_check() != INGOT_OK) {
        cli_fail_status(INGOT_E_INVALID);
        return CLI_WRONG_USE;
    }
    const int code = try_output(b);
    if (code) return code;
    system_catch_interrupt(true);
    b->doc = json_object();
    b->rows = json_array();
    json_put(b->doc, "bench", json_text(strchr(command, ' ') + 1));
    json_put(b->doc, "machine", bench_machine_json());
    json_put(b->doc, "clock", json_text(s->clock ? "cpu" : "wall"));
    json_put(b->doc, "rows", b->rows);
    json_put(b->doc, "others_before", json_number(bench_look_for_others(s->quiet)));
    b->progress = progress_start(s->quiet);
    ingot_bench_load_start(&b->load);
    return CLI_DONE;
}

/* --- output --- */
/* To the standard output at once, to a file at the end. */
static void emit(bench_sheet *b) {
    if (b->s->output || !b->text.n) return;
    progress_wipe(&b->progress);
    if (!b->lost && !cli_write(b->text.data, b->text.n)) b->lost = b->stopped = true;
    strbuf_drop(&b->text, b->text.n);
}

static void print_cell(bench_sheet *b, const bench_column *c, const json_t *value) {
    char text[64];
    const double x = json_number_value(value) * (c->scale > 0 ? c->scale : 1);
    if (!json_is_number(value)) snprintf(text, sizeof text, "-");
    else if (c->decimals < 0) snprintf(text, sizeof text, "%.4g", x);
    else snprintf(text, sizeof text, "%.*f", c->decimals, x);
    strbuf_print(&b->text, "%*s", c->width, json_is_string(value) ? json_string_value(value) : text);
}

static void print_head(bench_sheet *b) {
    bench_machine_print(&b->text, json_object_get(b->doc, "machine"));
    for (int i = 0; i < b->n_columns; i++) strbuf_print(&b->text, "%s%*s", i ? "  " : "", b->columns[i].width, b->columns[i].title);
    strbuf_print(&b->text, "\n");
}

static void print_row(bench_sheet *b, const json_t *row) {
    for (int i = 0; i < b->n_columns; i++) {
        if (i) strbuf_print(&b->text, "  ");
        print_cell(b, &b->columns[i], json_object_get(row, b->columns[i].key));
    }
    strbuf_print(&b->text, "%s\n", json_is_true(json_object_get(row, "partial")) ? "  partial" : "");
}

static void print_csv_text(strbuf *to, const char *text) {
    const bool quote = strpbrk(text, ",\"\n");
    if (quote) strbuf_add(to, "\"", 1);
    for (; *text; text++) {
        if (*text == '"') strbuf_add(to, text, 1);
        strbuf_add(to, text, 1);
    }
    if (quote) strbuf_add(to, "\"", 1);
}

/* The keys of the first row, or their values in `row`. */
static void print_csv(bench_sheet *b, const json_t *row) {
    const char *key, *comma = "";
    json_t *ignored;
    json_object_foreach(json_array_get(b->rows, 0), key, ignored) {
        const json_t *x = row ? json_object_get(row, key) : NULL;
        strbuf_print(&b->text, "%s", comma);
        comma = ",";
        if (!row) strbuf_print(&b->text, "%s", key);
        else if (json_is_string(x)) print_csv_text(&b->text, json_string_value(x));
        else if (json_is_integer(x)) strbuf_print(&b->text, "%lld", json_integer_value(x));
        else if (json_is_real(x)) strbuf_print(&b->text, "%.10g", json_real_value(x));
        else if (json_is_boolean(x)) strbuf_print(&b->text, "%s", json_is_true(x) ? "true" : "false");
    }
    strbuf_print(&b->text, "\n");
}

void bench_sheet_add(bench_sheet *b, json_t *row) {
    const bool first = !json_array_size(b->rows);
    json_put(row, "partial", json_boolean(b->stopped));
    json_push(b->rows, row);
    if (is_table(b)) {
        if (first) print_head(b);
        print_row(b, row);
    }
    if (b->s->csv) {
        if (first) print_csv(b, NULL);
        print_csv(b, row);
    }
    emit(b);
}

void bench_sheet_note(bench_sheet *b, const char *line) {
    if (is_table(b)) strbuf_print(&b->text, "# %s\n", line);
    emit(b);
}

int bench_sheet_status(bench_sheet *b, ingot_status status) {
    progress_wipe(&b->progress);
    if (status == INGOT_E_CANCELLED) b->stopped = true;
    return status == INGOT_OK || status == INGOT_E_CANCELLED ? CLI_DONE : cli_fail_status(status);
}

/* --- the end --- */
static void print_end(bench_sheet *b, bool partial) {
    bench_look_back(b->doc, &b->load, b->s->quiet);
    json_put(b->doc, "partial", json_boolean(partial));
    if (is_table(b)) {
        strbuf_print(&b->text, "# others used %.1f %% of the cores meanwhile, the host took %.1f %%\n", 100 * json_number_value(json_object_get(b->doc, "others_share")),
                     100 * json_number_value(json_object_get(b->doc, "stolen_share")));
        if (partial) strbuf_print(&b->text, "# interrupted: some rows are missing or of fewer rounds\n");
    }
    if (b->s->json) {
        char *text = json_dumps(b->doc, b->s->output ? JSON_INDENT(1) : 0);
        strbuf_add(&b->text, text ? text : "", text ? strlen(text) : 0);
        strbuf_add(&b->text, "\n", 1);
        free(text);
    }
    emit(b);
}

static int write_file(const bench_sheet *b) {
    FILE *f = fopen(b->s->output, "we");
    const bool ok = f && fwrite(b->text.data, 1, b->text.n, f) == b->text.n;
    const int saved = errno;
    if (f && (fclose(f) == 0) && ok) return CLI_DONE;
    return cli_fail("cannot write %s: %s", b->s->output, strerror(ok ? errno : saved));
}

int bench_sheet_close(bench_sheet *b, int code) {
    progress_wipe(&b->progress);
    const bool keep = b->doc && (!code || json_array_size(b->rows));
    if (keep) print_end(b, b->stopped || code);
    if (keep && b->s->output) {
        const int written = write_file(b);
        if (!code) code = written;
    } else if (b->doc && b->created) {
        unlink(b->s->output);
    }
    if (b->lost) code = cli_output_failed();
    else if (b->stopped && !code) code = cli_fail("interrupted; what was finished is kept");
    json_decref(b->doc);
    strbuf_free(&b->text);
    return code;
}

/* --- for the benchmarks --- */
ingot_bench_protocol bench_protocol(bench_sheet *b) {
    return (ingot_bench_protocol){.seconds = (double)b->s->min_time, .n_reps = b->s->n_reps, .cold_bytes = (size_t)((double)b->s->cold * 1048576), .cpu_time = b->s->clock == 1,
                                  .progress = progress_callback, .progress_user = &b->progress};
}

void bench_warn_threads(const settings *s, int n_threads) {
    ingot_bench_host h;
    ingot_bench_host_get(&h);
    if (n_threads > h.n_cores && !s->quiet) cli_warn("%d threads on %d core%s: they wait for each other", n_threads, h.n_cores, h.n_cores == 1 ? "" : "s");
}

int bench_device(ingot_device **out, const settings *s, int n_threads) {
    bench_warn_threads(s, n_threads);
    const ingot_status status = ingot_device_open(out, s->device, n_threads);
    if (status == INGOT_OK) return CLI_DONE;
    cli_fail_status(status);
    return status == INGOT_E_INVALID ? CLI_WRONG_USE : CLI_FAILED;
}

void bench_put_times(json_t *row, const char *name, const ingot_bench_times *t) {
    char key[64];
    const char *dash = *name ? "_" : "";
    snprintf(key, sizeof key, "%s%s%s", name, dash, *name ? "us" : "median_us");
    json_put(row, key, json_number(t->n ? t->sum.median : NAN));
    snprintf(key, sizeof key, "%s%sbest_us", name, dash);
    json_put(row, key, json_number(t->n ? t->sum.least : NAN));
    snprintf(key, sizeof key, "%s%snoise_pct", name, dash);
    json_put(row, key, json_number(t->n ? t->sum.noise_pct : NAN));
}
