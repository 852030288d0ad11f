#include "reference.h"
#include <stdlib.h>

bool skip_slow(void) {
    if (SLOW_BUILD) test_skip("a figure, not code: too slow under sanitizers");
    return SLOW_BUILD;
}

static bool read_ids(FILE *f, int n, int max, int32_t *out) {
    if (n < 0 || n > max) return false;
    for (int i = 0; i < n; i++)
        if (fscanf(f, "%d", &out[i]) != 1) return false;
    return true;
}

static bool read_top(FILE *f, ref_top *t) {
    if (fscanf(f, "%d %d %d", &t->ctx, &t->window, &t->pos) != 3) return false;
    for (int i = 0; i < REF_TOP; i++)
        if (fscanf(f, "%d %lf", &t->id[i], &t->logprob[i]) != 2) return false;
    return true;
}

static bool read_greedy(FILE *f, ref_greedy *g) {
    if (fscanf(f, "%d", &g->n_prompt) != 1 || !read_ids(f, g->n_prompt, REF_TEXT, g->prompt)) return false;
    if (fscanf(f, "%d", &g->n) != 1 || !read_ids(f, g->n, REF_TEXT, g->text)) return false;
    for (int i = 0; i < g->n; i++)
        if (fscanf(f, "%lf", &g->margin[i]) != 1) return false;
    return true;
}

static bool read_record(FILE *f, const char *word, reference *r) {
    if (!strcmp(word, "#")) {
        for (int c; (c = fgetc(f)) != '\n' && c != EOF;) continue;
        return true;
    }
    if (!strcmp(word, "tokens")) return fscanf(f, "%d", &r->n_tokens) == 1 && read_ids(f, r->n_tokens, REF_TOKENS, r->tokens);
    if (!strcmp(word, "window") && r->n_windows < REF_WINDOWS) {
        ref_window *w = &r->windows[r->n_windows++];
        return fscanf(f, "%d %d %lf %lf", &w->ctx, &w->index, &w->nll_all, &w->nll_second_half) == 4;
    }
    if (!strcmp(word, "top") && r->n_tops < REF_TOPS) return read_top(f, &r->tops[r->n_tops++]);
    if (!strcmp(word, "greedy") && r->n_greedy < REF_GREEDY) return read_greedy(f, &r->greedy[r->n_greedy++]);
    return false;
}

bool reference_read(reference *r, const char *model) {
    char rel[64], word[16];
    *r = (reference){0};
    snprintf(rel, sizeof rel, "golden/reference_%s.txt", model);
    FILE *f = fopen(test_path(rel), "r");
    if (!CHECK(f != NULL)) return false;
    bool ok = true;
    while (ok && fscanf(f, "%15s", word) == 1) ok = read_record(f, word, r);
    fclose(f);
    return CHECK(ok && r->n_tokens > 0 && r->n_windows > 0 && r->n_tops > 0 && r->n_greedy > 0);
}

bool load_model(loaded *l, const char *name) {
    *l = (loaded){0};
    const char *path = test_model(name);
    if (!path) {
        test_skip("model %s is not there", name);
        return false;
    }
    if (!CHECK_OK(ingot_device_open(&l->device, "cpu", 2))) return false;
    const ingot_model_options options = {.device = l->device};
    if (CHECK_OK(ingot_model_open(&l->model, path, &options))) return true;
    unload_model(l);
    return false;
}

void unload_model(loaded *l) {
    ingot_model_close(l->model);
    ingot_device_close(l->device);
    *l = (loaded){0};
}

ingot_engine *open_engine(ingot_model *model, const char *kv, int n_ctx, int max_sessions, int n_batch, ingot_activations act) {
    ingot_engine_config config = {.n_ctx = n_ctx, .max_sessions = max_sessions, .n_batch = n_batch, .activations = act};
    ingot_engine *engine = NULL;
    if (!CHECK_OK(ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1}))) return NULL;
    CHECK_OK(ingot_engine_create(&engine, model, &config));
    return engine;
}

int32_t argmax(const float *logits, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

double log_sum(const float *logits, int n) {
    const float best = logits[argmax(logits, n)];
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += exp((double)logits[i] - (double)best);
    return (double)best + log(sum);
}
