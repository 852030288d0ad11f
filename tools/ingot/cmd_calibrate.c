#include "command.h"
#include "common/json.h"
#include "common/kv_report.h"
#include "common/setup.h"
#include "common/system.h"
#include <ingot/calibrate.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".ingotcal" /* where commands look for a calibration by themselves */

static double file_bytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size : 0.0;
}

static int print_json(const ingot_calibrate_result *r, const char *path) {
    json_t *o = json_object(), *signs = json_object(), *books = json_array(), *seconds = json_object();
    json_put(o, "file", json_text(path));
    json_put(o, "file_bytes", json_integer((json_int_t)file_bytes(path)));
    json_put(o, "n_windows", json_integer(r->n_windows));
    json_put(o, "n_ctx", json_integer(r->n_ctx));
    json_put(o, "n_layers", json_integer(r->n_layers));
    json_put(o, "n_kv_heads", json_integer(r->n_kv_heads));
    json_put(o, "n_query_heads", json_integer(r->n_query_heads));
    json_put(o, "whiten", json_boolean(r->whitened));
    json_put(signs, "n_heads", json_integer(r->n_audited));
    json_put(signs, "mean", json_number(r->positive_mean));
    json_put(signs, "min", json_number(r->positive_min));
    json_put(signs, "min_layer", json_integer(r->positive_min_layer));
    json_put(signs, "min_head", json_integer(r->positive_min_head));
    json_put(o, "positive_projections", signs);
    for (int i = 0; i < r->n_books; i++) {
        const ingot_calibrate_book_sum *b = &r->books[i];
        json_t *book = json_object();
        json_put(book, "codec", json_text(b->codec));
        json_put(book, "bits", json_integer(b->bits));
        json_put(book, "group", json_integer(b->group));
        json_put(book, "side", json_text(b->value ? "v" : "k"));
        json_put(book, "n", json_integer(b->n_books));
        json_put(book, "n_vectors", json_integer(b->n_vectors));
        json_put(book, "error", json_number(b->error));
        json_push(books, book);
    }
    json_put(o, "codebooks", books);
    json_put(seconds, "model", json_number(r->seconds_model));
    json_put(seconds, "derive", json_number(r->seconds_derive));
    json_put(seconds, "codebooks", json_number(r->seconds_books));
    json_put(o, "seconds", seconds);
    return json_print(o);
}

static bool too_few(const ingot_calibrate_book_sum *b) { return b->n_vectors < 1 << b->bits; }

/* Less text than this gives matrices that fit the text rather than the model. */
enum { FEW_TOKENS = 4096 };

static void warn(const ingot_calibrate_result *r) {
    char left_out[256] = "";
    size_t n = 0;
    const int tokens = r->n_windows * r->n_ctx;
    if (tokens < FEW_TOKENS) cli_warn("calibrated on %d tokens; fewer than %d fit the text rather than the model", tokens, FEW_TOKENS);
    for (int i = 0; i < r->n_books && n < sizeof left_out; i++) {
        const ingot_calibrate_book_sum *b = &r->books[i];
        if (too_few(b)) n += (size_t)snprintf(left_out + n, sizeof left_out - n, "%s%s,group=%d for %s (%d for %d)", n ? ", " : "", b->codec, b->group, b->value ? "values" : "keys", b->n_vectors, 1 << b->bits);
    }
    if (n) cli_warn("the text has fewer vectors than some codebooks have centroids; left out: %s", left_out);
}

static int print_text(const ingot_calibrate_result *r, const char *path) {
    char size[32], shown[256];
    printf("%d window%s of %d tokens, %d layers, %d KV heads, %d query heads\n", r->n_windows, r->n_windows == 1 ? "" : "s", r->n_ctx, r->n_layers, r->n_kv_heads, r->n_query_heads);
    printf("  means, outlier channels   keys and values\n");
    printf("  smoothing factors         keys\n");
    printf("  whitening                 %s\n", r->whitened ? "keys and values" : "not for every head: there is no Hadamard matrix of its size");
    printf("  filters                   keys");
    if (r->n_audited)
        printf("; queries on the right side, over %d heads that may evict: %.1f %% on average, least %.1f %% (layer %d, head %d)", r->n_audited, 100 * r->positive_mean,
               100 * r->positive_min, r->positive_min_layer, r->positive_min_head);
    printf("\n");
    if (!r->n_books) printf("  codebooks                 none\n");
    for (int i = 0; i < r->n_books; i++) {
        const ingot_calibrate_book_sum *b = &r->books[i];
        printf("  codebooks                 %s,group=%d for %s: ", b->codec, b->group, b->value ? "values" : "keys");
        if (b->n_books) printf("%d, relative error %.4f\n", b->n_books, b->error);
        else if (too_few(b)) printf("none, %d vectors are too few\n", b->n_vectors);
        else printf("none, heads of this size have none\n");
    }
    printf("%s: %s, %.0f s (model %.0f, matrices %.0f, codebooks %.0f)\n", cli_printable(path, shown, sizeof shown), format_bytes(file_bytes(path), size, sizeof size),
           r->seconds_model + r->seconds_derive + r->seconds_books, r->seconds_model, r->seconds_derive, r->seconds_books);
    return CLI_DONE;
}

/* What the text is called in the calibration. */
static const char *source(const settings *s, char *buf, size_t cap) {
    if (s->prompt) return "the text of -p";
    if (!s->file || !strcmp(s->file, "-")) return "the standard input";
    const char *slash = strrchr(s->file, '/');
    return cli_printable(slash ? slash + 1 : s->file, buf, cap);
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether a file may be made there: said before minutes of work. An exit code. */
static int check_target(const settings *s, const char *path) {
    if (same_file(path, s->model)) return cli_fail("%s is the model, not a place for its calibration", path);
    if (s->file && strcmp(s->file, "-") && same_file(path, s->file)) return cli_fail("%s is the text, not a place for the calibration", path);
    const ingot_status status = ingot_calibration_target_check(path);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

static int calibrate(const settings *s, setup *u, const int32_t *ids, size_t n, const char *path) {
    char name[256];
    u->progress = progress_start(s->quiet);
    const ingot_calibrate_config config = {.n_ctx = s->n_ctx, .n_windows = s->n_windows, .no_codebooks = s->no_codebooks, .source = source(s, name, sizeof name),
                                           .progress = progress_callback, .progress_user = &u->progress};
    ingot_calibrate_result r;
    const ingot_status status = ingot_calibrate(&r, u->model, ids, n, &config, path);
    progress_wipe(&u->progress);
    if (status == INGOT_E_CANCELLED) return cli_fail("interrupted, nothing was written");
    if (status != INGOT_OK) return cli_fail_status(status);
    if (!s->quiet) warn(&r);
    const int code = s->json ? print_json(&r, path) : s->quiet ? CLI_DONE : print_text(&r, path);
    ingot_free_memory(r.books);
    return code;
}

static int run_calibrate(const settings *s) {
    setup u = {0};
    strbuf text = {0}, beside = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    int code = s->model ? settings_read_text(s, "calibrate", "text", false, &text) : CLI_DONE;
    system_catch_interrupt(true);
    if (!code) code = setup_model(&u, s, "calibrate");
    if (!code && !s->output) {
        strbuf_add(&beside, s->model, strlen(s->model));
        strbuf_add(&beside, SUFFIX, strlen(SUFFIX));
    }
    const char *path = s->output ? s->output : beside.data;
    if (!code) code = check_target(s, path);
    if (!code) {
        const ingot_status status = ingot_model_tokenize(u.model, text.data, text.n, 0, &ids, &n);
        code = status == INGOT_OK ? calibrate(s, &u, ids, n, path) : cli_fail_status(status);
    }
    ingot_free_memory(ids);
    strbuf_free(&text);
    strbuf_free(&beside);
    setup_close(&u);
    return code;
}

#define AT(field) offsetof(settings, field)
static const option rows[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "FILE", "where the calibration goes; by default MODEL.ingotcal, which is found by itself", 0, 0, NULL},
    {"ctx-size", 'c', OPTION_INT, AT(n_ctx), "N", "tokens of a window (every other one is read as contexts of 1024): take the lengths of use; 0: 4096, less where model or text have less", 0, INT_MAX, NULL},
    {"windows", 0, OPTION_INT, AT(n_windows), "N", "windows of the text; 0: as many as 16384 tokens take", 0, INT_MAX, NULL},
    {"no-codebooks", 0, OPTION_FLAG, AT(no_codebooks), NULL, "leave out the codebooks of product quantisation, which take most of the time and of the file", 0, 0, NULL},
};
static const option_group settings_calibrate = {"Calibration", rows, (int)(sizeof rows / sizeof *rows)};
static const option_group *const groups[] = {&settings_model, &settings_text, &settings_calibrate, &settings_compute, &settings_json, &settings_quiet, NULL};

const command command_calibrate = {
    .name = "calibrate", .summary = "Run a model on a text and derive what some cache methods need", .synopsis = "-m MODEL -f TEXT [-o FILE] [options]",
    .details = "Means and smoothing factors of keys, outlier channels, whitening matrices, directions of queries, codebooks: one file, which belongs to this "
               "model's weights. The text should be of the kind that the model is used for.",
    .groups = groups, .run = run_calibrate,
};
