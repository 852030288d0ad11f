#include "bench_sheet.h"
#include "common/system.h"
#include <errno.h>
#include <ingot/ingot.h>
#include <ingot/machine.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Others may use this share of all cores before a warning. */
#define BUSY 0.05

static bool is_table(const bench_sheet *b) { return !b->s->json && !b->s->csv; }

static json_t *machine_json(void) {
    ingot_machine m;
    ingot_bench_host h;
    ingot_machine_get(&m);
    ingot_bench_host_get(&h);
    json_t *o = json_object();
    json_put(o, "processor", json_text(m.processor));
    json_put(o, "cores", json_integer(h.n_cores));
    json_put(o, "level", json_text(m.level));
    json_put(o, "used", json_text(m.used));
    json_put(o, "extras", json_text(m.extras));
    json_put(o, "llc_bytes", json_integer((json_int_t)h.llc_bytes));
    json_put(o, "memory_bytes", json_integer((json_int_t)h.memory_bytes));
    json_put(o, "system", json_text(h.system));
    json_put(o, "ingot", json_text(ingot_version()));
    return o;
}

static void print_machine(bench_sheet *b) {
    const json_t *m = json_object_get(b->doc, "machine");
    const char *extras = json_string_value(json_object_get(m, "extras"));
    fprintf(b->out, "# %s, %lld core%s, %s%s%s, last-level cache %.0f MiB, memory %.1f GiB, %s, ingot %s\n", json_string_value(json_object_get(m, "processor")),
            json_integer_value(json_object_get(m, "cores")), json_integer_value(json_object_get(m, "cores")) == 1 ? "" : "s", json_string_value(json_object_get(m, "used")),
            *extras ? " " : "", extras, (double)json_integer_value(json_object_get(m, "llc_bytes")) / 1048576, (double)json_integer_value(json_object_get(m, "memory_bytes")) / 1073741824,
            json_string_value(json_object_get(m, "system")), json_string_value(json_object_get(m, "ingot")));
}

static void print_titles(const bench_sheet *b) {
    for (int i = 0; i < b->n_columns; i++) fprintf(b->out, "%s%*s", i ? "  " : "", b->columns[i].width, b->columns[i].title);
    fputc('\n', b->out);
}

/* Others' share of the cores in a tenth of a second in which this process sleeps. */
static void look_for_others(bench_sheet *b) {
    double others, stolen;
    ingot_bench_load load;
    ingot_bench_load_start(&load);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    ingot_bench_load_since(&load, &others, &stolen);
    json_put(b->doc, "others_before", json_number(others));
    if (others > BUSY && !b->s->quiet) cli_warn("the machine is not idle: others use %.0f %% of its cores", 100 * others);
}

static int open_output(bench_sheet *b) {
    b->out = stdout;
    if (!b->s->output) return CLI_DONE;
    FILE *f = fopen(b->s->output, "ae"); /* what is there stays until there is something to write */
    if (!f) return cli_fail("cannot write %s: %s", b->s->output, strerror(errno));
    b->out = f;
    b->to_file = true;
    return CLI_DONE;
}

int bench_sheet_open(bench_sheet *b, const settings *s, const char *command, const bench_column *columns, int n_columns) {
    *b = (bench_sheet){.s = s, .command = command, .columns = columns, .n_columns = n_columns};
    if (s->json && s->csv) return cli_wrong_use(command, "give --json or --csv, not both");
    if (ingot_environment_check() != INGOT_OK) {
        cli_fail_status(INGOT_E_INVALID);
        return CLI_WRONG_USE;
    }
    const int code = open_output(b);
    if (code) return code;
    if (b->to_file && !freopen(s->output, "we", b->out)) return cli_fail("cannot write %s: %s", s->output, strerror(errno));
    system_catch_interrupt(true);
    b->doc = json_object();
    b->rows = json_array();
    json_put(b->doc, "bench", json_text(strchr(command, ' ') + 1));
    json_put(b->doc, "machine", machine_json());
    json_put(b->doc, "clock", json_text(s->clock ? "cpu" : "wall"));
    json_put(b->doc, "rows", b->rows);
    look_for_others(b);
    if (is_table(b)) {
        print_machine(b);
        print_titles(b);
        fflush(b->out);
    }
    b->progress = progress_start(s->quiet);
    ingot_bench_load_start(&b->load);
    return CLI_DONE;
}

/* --- rows --- */
static void print_cell(const bench_sheet *b, const bench_column *c, const json_t *value) {
    char text[64];
    const double x = json_number_value(value) * (c->scale > 0 ? c->scale : 1);
    if (json_is_string(value)) snprintf(text, sizeof text, "%s", json_string_value(value));
    else if (!json_is_number(value)) snprintf(text, sizeof text, "-");
    else if (c->decimals < 0) snprintf(text, sizeof text, "%.4g", x);
    else snprintf(text, sizeof text, "%.*f", c->decimals, x);
    fprintf(b->out, "%*s", c->width, text);
}

static void print_row(const bench_sheet *b, const json_t *row) {
    for (int i = 0; i < b->n_columns; i++) {
        if (i) fputs("  ", b->out);
        print_cell(b, &b->columns[i], json_object_get(row, b->columns[i].key));
    }
    fputs(json_is_true(json_object_get(row, "partial")) ? "  partial\n" : "\n", b->out);
    fflush(b->out);
}

static void print_csv_text(FILE *f, const char *text) {
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

static void print_csv(const bench_sheet *b, json_t *row) {
    const char *key;
    json_t *value;
    bool first = true;
    json_t *head = json_array_get(b->rows, 0);
    json_object_foreach(head, key, value) {
        const json_t *x = json_object_get(row, key);
        if (!first) fputc(',', b->out);
        first = false;
        if (json_is_string(x)) print_csv_text(b->out, json_string_value(x));
        else if (json_is_integer(x)) fprintf(b->out, "%lld", json_integer_value(x));
        else if (json_is_real(x)) fprintf(b->out, "%.10g", json_real_value(x));
        else if (json_is_boolean(x)) fputs(json_is_true(x) ? "true" : "false", b->out);
    }
    fputc('\n', b->out);
    fflush(b->out);
}

static void print_csv_head(const bench_sheet *b, json_t *row) {
    const char *key;
    json_t *value;
    bool first = true;
    json_object_foreach(row, key, value) {
        fprintf(b->out, "%s%s", first ? "" : ",", key);
        first = false;
    }
    fputc('\n', b->out);
}

void bench_sheet_add(bench_sheet *b, json_t *row) {
    json_put(row, "partial", json_boolean(b->interrupted));
    json_push(b->rows, row);
    progress_wipe(&b->progress);
    if (is_table(b)) print_row(b, row);
    if (b->s->csv && json_array_size(b->rows) == 1) print_csv_head(b, row);
    if (b->s->csv) print_csv(b, row);
}

void bench_sheet_note(bench_sheet *b, const char *fmt, ...) {
    va_list args;
    if (!is_table(b)) return;
    progress_wipe(&b->progress);
    va_start(args, fmt);
    vfprintf(b->out, fmt, args);
    va_end(args);
    fflush(b->out);
}

int bench_sheet_status(bench_sheet *b, ingot_status status) {
    progress_wipe(&b->progress);
    if (status == INGOT_OK) return CLI_DONE;
    if (status != INGOT_E_CANCELLED) return cli_fail_status(status);
    b->interrupted = true;
    return CLI_DONE;
}

/* --- the end --- */
static void look_back(bench_sheet *b) {
    double others, stolen;
    ingot_bench_load_since(&b->load, &others, &stolen);
    json_put(b->doc, "others_share", json_number(others));
    json_put(b->doc, "stolen_share", json_number(stolen));
    if (is_table(b)) fprintf(b->out, "# others used %.1f %% of the cores meanwhile, the host took %.1f %%\n", 100 * others, 100 * stolen);
    if (others + stolen > BUSY && !b->s->quiet) cli_warn("the machine was not idle: others used %.0f %% of its cores, its host took %.0f %%; absolute times are too long", 100 * others, 100 * stolen);
}

static int write_json(bench_sheet *b) {
    json_put(b->doc, "partial", json_boolean(b->interrupted));
    char *text = json_dumps(b->doc, b->to_file ? JSON_INDENT(1) | JSON_PRESERVE_ORDER : 0);
    if (!text) return cli_fail("out of memory for the JSON output");
    fprintf(b->out, "%s\n", text);
    free(text);
    return CLI_DONE;
}

static int close_output(const bench_sheet *b, int code) {
    if (!b->to_file) return code; /* the program closes stdout, and checks it */
    errno = 0;
    const bool bad = ferror(b->out) || fflush(b->out);
    return (fclose(b->out) || bad) && !code ? cli_fail("cannot write %s: %s", b->s->output, strerror(errno ? errno : EIO)) : code;
}

int bench_sheet_close(bench_sheet *b, int code) {
    progress_wipe(&b->progress);
    if (b->doc && !code) {
        look_back(b);
        if (b->interrupted && is_table(b)) fprintf(b->out, "# interrupted: what is there was measured in fewer rounds or not at all\n");
        if (b->s->json) code = write_json(b);
    }
    if (b->out) code = close_output(b, code);
    if (b->interrupted && !code) code = cli_fail("interrupted; what was finished is kept");
    json_decref(b->doc);
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
