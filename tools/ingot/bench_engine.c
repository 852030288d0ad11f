#include "bench_engine.h"
#include <stdlib.h>

/* Beyond what is read and generated: a page that two sequences share (ingot_bench_model_config). */
enum { SHARED_PAGE = 64 };

int bench_engine_open(bench_engine *e, bench_sheet *b, const char *command, const ingot_plan *plans, int n_plans, int n_ctx, int n_threads) {
    *e = (bench_engine){0};
    settings s = *b->s;
    s.threads = n_threads;
    bench_warn_threads(&s, n_threads);
    int code = setup_model(&e->u, &s, command);
    for (int i = 0; !code && i < n_plans; i++) code = setup_calibration(&e->u, &s, &plans[i]);
    if (code) return code;
    json_put(b->doc, "model", json_text(e->u.info.name));
    json_put(b->doc, "weights", json_text(e->u.info.file_types));
    json_put(b->doc, "weight_bytes", json_integer((json_int_t)e->u.info.weight_bytes));
    const ingot_bench_model_config config = {.protocol = bench_protocol(b), .n_ctx = n_ctx + SHARED_PAGE, .n_threads = n_threads, .n_batch = s.n_batch,
                                             .activations = (ingot_activations)s.activations, .calibration = e->u.calibration};
    return bench_sheet_status(b, ingot_bench_model_open(&e->bench, e->u.model, &config, plans, n_plans));
}

void bench_engine_close(bench_engine *e) {
    ingot_bench_model_close(e->bench);
    e->bench = NULL;
    setup_close(&e->u);
}

static int by_size(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

bool bench_depths_read(bench_range *out, const char *command, const char *name, const char *text, bool none) {
    if (!bench_range_read(out, command, name, text, 0, 1 << 24, none)) return false;
    qsort(out->values, (size_t)out->n, sizeof *out->values, by_size);
    return true;
}
