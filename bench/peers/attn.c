/* Times one decode attention operation of ggml (llama.cpp, ik_llama.cpp): one query token against a full cache, with
 * keys and values in ggml's types, read from main memory. Prints one JSON object per combination.
 *
 *   peer-attn --ctx 4096 --heads 32 --kv-heads 8 --head-dim 128 --threads 1 --types f16:f16,q4_0:q4_0 [--path matmul]
 *
 * Paths: `flash` is ggml_flash_attn_ext; `matmul` is matrix product, softmax, matrix product with transposed values
 * in f16, what llama.cpp does when flash attention is off (its work on the new token's key and value is not in either). */
#include "attn_cache.h"
#include "common.h"
#include "ggml-backend.h"
#ifdef PEER_HAS_GGML_CPU_H
#include "ggml-cpu.h"
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_REPS = 4000, MIN_REPS = 5, MAX_COPIES = 4096, MASK_ROWS = 64, PAGE = 4096, NODES = 16 };

typedef struct options {
    geometry g;
    int threads;
    bool matmul;
    double budget_s;
    size_t rotate_bytes;
} options;

typedef struct op {
    enum ggml_type tk, tv;
    size_t k_bytes, v_bytes;
    int copies;
    char *arena, *next;
    size_t arena_bytes;
    float *query, *out;
    struct ggml_context *ctx;
    struct ggml_cgraph *graphs[MAX_COPIES];
    struct ggml_tensor *last;
} op;

static size_t rounded(size_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

static void *take(op *o, size_t n) {
    char *p = o->next;
    o->next += rounded(n);
    return p;
}

static struct ggml_tensor *tensor(op *o, enum ggml_type type, int64_t a, int64_t b, int64_t c, void *data) {
    struct ggml_tensor *t = ggml_new_tensor_3d(o->ctx, type, a, b, c);
    t->data = data;
    return t;
}

/* One side of the cache as [dim, tokens, kv_heads]: llama.cpp keeps a token's heads side by side and permutes a view. */
static struct ggml_tensor *side(op *o, const geometry *g, enum ggml_type type, void *data) {
    if (g->layout == LAYOUT_HEADS) return tensor(o, type, g->dim, g->tokens, g->kv_heads, data);
    return ggml_permute(o->ctx, tensor(o, type, g->dim, g->kv_heads, g->tokens, data), 0, 2, 1, 3);
}

static void build_graph(op *o, const options *opt, int copy, void *k, void *v, void *mask, float *scratch) {
    const geometry *g = &opt->g;
    const float scale = 1.0f / sqrtf((float)g->dim);
    struct ggml_tensor *q = tensor(o, GGML_TYPE_F32, g->dim, 1, g->heads, o->query), *r;
    struct ggml_tensor *m = tensor(o, GGML_TYPE_F16, g->tokens, opt->matmul ? 1 : MASK_ROWS, 1, mask);
    if (opt->matmul) {
        struct ggml_tensor *s = ggml_mul_mat(o->ctx, side(o, g, o->tk, k), q);
        s->data = scratch;
        s = ggml_soft_max_ext(o->ctx, s, m, scale, 0);
        s->data = scratch + g->tokens * g->heads;
        r = ggml_mul_mat(o->ctx, tensor(o, o->tv, g->tokens, g->dim, g->kv_heads, v), s);
    } else {
        r = ggml_flash_attn_ext(o->ctx, q, side(o, g, o->tk, k), side(o, g, o->tv, v), m, scale, 0, 0);
    }
    r->data = o->out;
    o->graphs[copy] = ggml_new_graph_custom(o->ctx, NODES, false);
    ggml_build_forward_expand(o->graphs[copy], r);
    o->last = r;
}

static void prepare(op *o, const options *opt) {
    const geometry *g = &opt->g;
    const size_t rows = (size_t)g->tokens * (size_t)g->kv_heads, n_out = (size_t)g->heads * (size_t)g->dim;
    o->k_bytes = rows * ggml_row_size(o->tk, g->dim), o->v_bytes = rows * ggml_row_size(o->tv, g->dim);
    const size_t op_bytes = o->k_bytes + o->v_bytes, copies = opt->rotate_bytes / op_bytes + 1;
    o->copies = copies > MAX_COPIES ? MAX_COPIES : copies < 2 ? 2 : (int)copies;
    const size_t scratch = opt->matmul ? 2 * (size_t)g->tokens * (size_t)g->heads * sizeof(float) : 0, mask = (size_t)g->tokens * MASK_ROWS * 2;
    o->arena_bytes = (size_t)o->copies * (rounded(o->k_bytes) + rounded(o->v_bytes)) + 2 * rounded(4 * n_out) + rounded(scratch) + rounded(mask);
    o->arena = o->next = mmap(NULL, o->arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (o->arena == MAP_FAILED) {
        fprintf(stderr, "peer-attn: %zu MiB needed for the rotation, not to be had\n", o->arena_bytes >> 20);
        exit(1);
    }
    madvise(o->arena, o->arena_bytes, MADV_HUGEPAGE); /* the peer's best case; where the kernel refuses, small pages serve */
    o->query = take(o, 4 * n_out), o->out = take(o, 4 * n_out);
    void *mask_rows = take(o, mask), *probs = take(o, scratch), *k0 = NULL, *v0 = NULL;
    cache_normal(o->query, n_out, 3);
    const size_t meta = ggml_tensor_overhead() * 12 + ggml_graph_overhead_custom(NODES, false);
    o->ctx = ggml_init((struct ggml_init_params){.mem_size = meta * (size_t)o->copies + (1 << 20), .no_alloc = true});
    if (!o->ctx) peer_die("no memory for the graphs", NULL);
    for (int c = 0; c < o->copies; c++) {
        void *k = take(o, o->k_bytes), *v = take(o, o->v_bytes);
        if (c) {
            memcpy(k, k0, o->k_bytes), memcpy(v, v0, o->v_bytes);
        } else {
            k0 = k, v0 = v;
            if (!cache_fill(k, g, o->tk, false) || !(opt->matmul ? cache_fill_transposed(v, g) : cache_fill(v, g, o->tv, true))) peer_die("no memory to fill the cache", NULL);
        }
        build_graph(o, opt, c, k, v, mask_rows, probs);
    }
}

static double once(op *o, ggml_backend_t backend, int i) {
    const double t = peer_now();
    if (ggml_backend_graph_compute(backend, o->graphs[i % o->copies]) != GGML_STATUS_SUCCESS) peer_die("the operation failed", NULL);
    return peer_now() - t;
}

static void measure(ggml_backend_t backend, const options *opt, const char *tk, const char *tv, enum ggml_type k, enum ggml_type v) {
    static double t[MAX_REPS];
    const geometry *g = &opt->g;
    op *o = calloc(1, sizeof *o);
    if (!o) peer_die("no memory", NULL);
    o->tk = k, o->tv = v;
    prepare(o, opt);
    if (!ggml_backend_supports_op(backend, o->last)) peer_die("not supported:", tk);
    once(o, backend, 0);
    const double first = once(o, backend, 1), error = cache_error(g, o->query, o->out), fit = opt->budget_s / first;
    const int n = fit > MAX_REPS ? MAX_REPS : fit < MIN_REPS ? MIN_REPS : (int)fit;
    for (int i = 0; i < n; i++) t[i] = once(o, backend, i + 2);
    peer_sort(t, (size_t)n);
    double sum = 0;
    for (int i = 0; i < g->heads * g->dim; i++) sum += o->out[i];
    printf("{\"type_k\": \"%s\", \"type_v\": \"%s\", \"path\": \"%s\", \"layout\": \"%s\", \"n_tokens\": %lld, \"n_heads\": %d, \"n_kv_heads\": %d, "
           "\"head_dim\": %d, \"threads\": %d, \"median_us\": %.2f, \"best_us\": %.2f, \"p90_us\": %.2f, \"reps\": %d, \"bytes\": %zu, "
           "\"rotated_mib\": %zu, \"rel_error\": %.3g, \"checksum\": %.9g}\n",
           tk, tv, opt->matmul ? "matmul" : "flash", g->layout == LAYOUT_TOKENS ? "tokens" : "heads", (long long)g->tokens, g->heads, g->kv_heads,
           g->dim, opt->threads, t[n / 2] * 1e6, t[0] * 1e6, t[n * 9 / 10] * 1e6, n, o->k_bytes + o->v_bytes,
           (size_t)o->copies * (o->k_bytes + o->v_bytes) >> 20, error, sum);
    fflush(stdout);
    ggml_free(o->ctx);
    munmap(o->arena, o->arena_bytes);
    free(o);
}

int main(int argc, char **argv) {
    options opt = {.g = {4096, 32, 8, 128, LAYOUT_TOKENS}, .threads = 1, .budget_s = 0.5, .rotate_bytes = (size_t)600 << 20};
    char *types = NULL;
    for (int i = 1; i < argc; i += 2) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(a, "--ctx")) opt.g.tokens = peer_number(a, v, 32, 1 << 24);
        else if (!strcmp(a, "--heads")) opt.g.heads = (int)peer_number(a, v, 1, 1024);
        else if (!strcmp(a, "--kv-heads")) opt.g.kv_heads = (int)peer_number(a, v, 1, 1024);
        else if (!strcmp(a, "--head-dim")) opt.g.dim = (int)peer_number(a, v, 32, 1024);
        else if (!strcmp(a, "--threads")) opt.threads = (int)peer_number(a, v, 1, 512);
        else if (!strcmp(a, "--rotate-mib")) opt.rotate_bytes = (size_t)peer_number(a, v, 0, 1 << 20) << 20;
        else if (!strcmp(a, "--clock")) peer_clock(v);
        else if (!strcmp(a, "--budget-ms")) opt.budget_s = (double)peer_number(a, v, 0, 600000) * 1e-3;
        else if (!strcmp(a, "--path") && (!strcmp(v, "flash") || !strcmp(v, "matmul"))) opt.matmul = *v == 'm';
        else if (!strcmp(a, "--layout") && (!strcmp(v, "tokens") || !strcmp(v, "heads"))) opt.g.layout = *v == 't' ? LAYOUT_TOKENS : LAYOUT_HEADS;
        else if (!strcmp(a, "--types")) types = argv[i + 1];
        else peer_die("unknown option or value:", a);
    }
    if (!types) peer_die("--types K:V,... is missing", NULL);
    if (opt.g.heads % opt.g.kv_heads || opt.g.dim % 32) peer_die("heads must be a multiple of KV heads, the head size one of 32", NULL);
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!backend) peer_die("no CPU back end", NULL);
    ggml_backend_cpu_set_n_threads(backend, opt.threads);
    for (char *k = strtok(types, ","); k; k = strtok(NULL, ",")) {
        char *v = strchr(k, ':');
        if (!v) peer_die("a type is K:V, not", k);
        *v++ = 0;
        const enum ggml_type tk = peer_type(k), tv = peer_type(v);
        if (opt.matmul && tv != GGML_TYPE_F16) peer_die("without flash attention values are f16, not", v);
        measure(backend, &opt, k, v, tk, tv);
    }
    ggml_backend_free(backend);
    return 0;
}
