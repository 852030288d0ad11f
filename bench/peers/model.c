/* Times a whole model in llama.cpp or ik_llama.cpp, by turns with other programs: contexts are filled once and kept,
 * and each line on the standard input asks for one short measurement, answered by one JSON object.
 *
 *   peer-model -m FILE --type-k f16 --type-v f16 --flash 1 --threads 2
 *   < prefill 512        a prompt of 512 tokens into an empty cache, again and again
 *   < decode 8192 16     16 tokens behind 8192 that were really read, from the same depth again and again; the first
 *                        of the 16 is not counted, and the time is that of a token
 *
 * The same tokens and the same counting as `ingot bench model`. */
#include "common.h"
#include "llama.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 1000, MAX_TOKENS = 1 << 20, BATCH = 2048, UBATCH = 512, PAD = 256 };

typedef struct engine {
    struct llama_model *model;
    struct llama_context_params params;
    struct llama_context *ctx; /* of the latest request's kind and size */
    int n_ctx, n_held;
    llama_token *tokens;
    double budget_s;
} engine;

static void only_errors(enum ggml_log_level level, const char *text, void *user) {
    (void)user;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static void feed(engine *e, int from, int n) {
    for (int done = 0; done < n;) {
        const int part = n - done < BATCH ? n - done : BATCH;
#ifdef PEER_OLD_LLAMA
        const struct llama_batch batch = llama_batch_get_one(e->tokens + from + done, part, from + done, 0);
#else
        const struct llama_batch batch = llama_batch_get_one(e->tokens + from + done, part);
#endif
        if (llama_decode(e->ctx, batch)) peer_die("llama_decode failed", NULL);
        done += part;
    }
    llama_synchronize(e->ctx);
    if (!llama_get_logits_ith(e->ctx, -1)) peer_die("no logits", NULL);
    e->n_held = from + n;
}

static void keep(engine *e, int n) {
#ifdef PEER_OLD_LLAMA
    if (n) llama_kv_cache_seq_rm(e->ctx, 0, n, -1);
    else llama_kv_cache_clear(e->ctx);
#else
    if (n) llama_memory_seq_rm(llama_get_memory(e->ctx), 0, n, -1);
    else llama_memory_clear(llama_get_memory(e->ctx), false);
#endif
    e->n_held = n;
}

/* A context of about `n` tokens: with a larger one some paths would read what nobody filled. */
static void context_for(engine *e, int n, int depth) {
    const int n_ctx = (n + PAD - 1) / PAD * PAD;
    if (!e->ctx || e->n_ctx != n_ctx) {
        if (e->ctx) llama_free(e->ctx);
        e->params.n_ctx = (uint32_t)n_ctx;
        e->ctx = llama_init_from_model(e->model, e->params);
        if (!e->ctx) peer_die("no context with these types", NULL);
        e->n_ctx = n_ctx, e->n_held = 0;
    }
    if (e->n_held > depth) keep(e, depth);
    if (e->n_held < depth) feed(e, e->n_held, depth - e->n_held);
}

static double run_prefill(engine *e, int n) {
    keep(e, 0);
    const double start = peer_now();
    feed(e, 0, n);
    return (peer_now() - start) / n;
}

static double run_decode(engine *e, int depth, int n) {
    double start = 0;
    keep(e, depth);
    for (int i = 0; i < n; i++) {
        if (i == 1) start = peer_now();
        feed(e, depth + i, 1);
    }
    return (peer_now() - start) / (n - 1);
}

static void answer(engine *e, bool decoding, int depth, int n) {
    static double t[MAX_RUNS];
    int runs = 0;
    context_for(e, depth + n, depth);
    decoding ? run_decode(e, depth, n) : run_prefill(e, n);
    const double start = peer_now();
    do t[runs++] = decoding ? run_decode(e, depth, n) : run_prefill(e, n);
    while (runs < MAX_RUNS && peer_now() - start < e->budget_s);
    peer_sort(t, (size_t)runs);
    printf("{\"test\": \"%s\", \"n_tokens\": %d, \"depth\": %d, \"median_us\": %.3f, \"best_us\": %.3f, \"reps\": %d, \"state_bytes\": %zu}\n",
           decoding ? "decode" : "prefill", n, depth, t[runs / 2] * 1e6, t[0] * 1e6, runs, llama_state_get_size(e->ctx));
    fflush(stdout);
}

static void set_flash(struct llama_context_params *p, bool on) {
#ifdef PEER_OLD_LLAMA
    p->flash_attn = on;
#else
    p->flash_attn_type = on ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    p->swa_full = false; /* sliding layers keep their window only, as its server does */
#endif
}

static void serve(engine *e) {
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        int depth, n;
        if (sscanf(line, "prefill %d", &n) == 1 && n > 0 && n <= MAX_TOKENS) answer(e, false, 0, n);
        else if (sscanf(line, "decode %d %d", &depth, &n) == 2 && depth >= 0 && n > 1 && depth <= MAX_TOKENS - n) answer(e, true, depth, n);
        else peer_die("not a request:", line);
    }
}

int main(int argc, char **argv) {
    engine e = {.params = llama_context_default_params(), .budget_s = 1};
    const char *path = NULL;
    int threads = 1;
    e.params.n_batch = BATCH, e.params.n_ubatch = UBATCH;
    set_flash(&e.params, true);
    for (int i = 1; i < argc; i += 2) {
        const char *a = argv[i], *v = argv[i + 1];
        if (!v) peer_die("no value for", a);
        if (!strcmp(a, "-m")) path = v;
        else if (!strcmp(a, "--type-k")) e.params.type_k = peer_type(v);
        else if (!strcmp(a, "--type-v")) e.params.type_v = peer_type(v);
        else if (!strcmp(a, "--flash")) set_flash(&e.params, peer_number(a, v, 0, 1));
        else if (!strcmp(a, "--threads")) threads = (int)peer_number(a, v, 1, 512);
        else if (!strcmp(a, "--clock")) peer_clock(v);
        else if (!strcmp(a, "--budget-ms")) e.budget_s = (double)peer_number(a, v, 0, 600000) * 1e-3;
        else peer_die("unknown option or value:", a);
    }
    if (!path) peer_die("-m FILE is missing", NULL);
    e.params.n_threads = e.params.n_threads_batch = threads; /* unsigned in one peer, signed in the other */
    llama_log_set(only_errors, NULL);
    llama_backend_init();
    e.model = llama_model_load_from_file(path, llama_model_default_params());
    e.tokens = malloc(MAX_TOKENS * sizeof *e.tokens);
    if (!e.model || !e.tokens) peer_die("cannot load", path);
    const uint64_t n_vocab = (uint64_t)llama_vocab_n_tokens(llama_model_get_vocab(e.model));
    uint64_t s = 1;
    for (int i = 0; i < MAX_TOKENS; i++) s = s * 6364136223846793005u + 1442695040888963407u, e.tokens[i] = (llama_token)((s >> 33) % n_vocab);
    serve(&e);
    return 0;
}
