/* The matrix product's outer loops: quantise the activations, hand out groups of rows. */
#include "linear.h"
#include "../../base/cpu.h"

/* Tokens that an item runs over, so that their activations stay in a core's own cache. */
enum { CHUNK_TOKENS = 128, ITEMS_PER_THREAD = 8, SLOT = 0 };

static size_t align64(size_t n) { return (n + 63) / 64 * 64; }

static size_t scratch_bytes(int n_in, int max_tokens) {
    const size_t n = (size_t)n_in * (size_t)max_tokens;
    return align64(n) + (n / LIN_RUN) * 4 * sizeof(float) + 64;
}

static lin_acts acts_in_scratch(const ingot_linear_args *a) {
    uint8_t *at = (uint8_t *)align64((size_t)(uintptr_t)a->scratch);
    const size_t n = (size_t)a->n_in * (size_t)a->n_tokens;
    return (lin_acts){a->n_tokens, a->n_in, a->n_in / LIN_RUN, (int8_t *)at, (float *)(void *)(at + align64(n))};
}

static bool is_int8(const ingot_linear_args *a, const ingot_linear_out *o) { return a->int8_activations && o->w->format; }

/* How the work is cut: item i is groups [i % n_runs * run, + run) of all outputs' groups in a row, for tokens chunk i / n_runs. */
typedef struct plan { int n_groups, run, n_runs, chunk, n_chunks; } plan;

static plan plan_make(const ingot_linear_args *a, int threads, const lin_isa *isa, bool int8) {
    plan p = {0};
    for (int k = 0; k < a->n_out; k++) p.n_groups += a->out[k].w->n_groups;
    p.chunk = int8 ? CHUNK_TOKENS : a->n_tokens > 0 ? a->n_tokens : 1;
    /* Few rows for many threads: shorter runs of tokens, whole tiles. */
    while (p.chunk > 2 * isa->tile && (a->n_tokens + p.chunk - 1) / p.chunk * p.n_groups < threads * ITEMS_PER_THREAD) {
        p.chunk = (p.chunk / 2 + isa->tile - 1) / isa->tile * isa->tile;
    }
    p.n_chunks = (a->n_tokens + p.chunk - 1) / p.chunk;
    p.run = p.n_groups / (threads * ITEMS_PER_THREAD);
    if (p.run < 1 || !int8) p.run = p.run / isa->float_groups * isa->float_groups;
    if (p.run < 1) p.run = int8 ? 1 : isa->float_groups;
    p.n_runs = (p.n_groups + p.run - 1) / p.run;
    return p;
}

/* Groups [g0, g1), counted over all outputs. */
static void item_run(const ingot_linear_args *a, const lin_acts *acts, const lin_isa *isa, int g0, int g1, int t0, int t1) {
    for (int k = 0, at = 0; k < a->n_out; at += a->out[k].w->n_groups, k++) {
        const ingot_linear_out *o = &a->out[k];
        const int from = g0 > at ? g0 - at : 0, to = g1 - at < o->w->n_groups ? g1 - at : o->w->n_groups;
        if (from >= to) continue;
        if (is_int8(a, o)) isa->rows_int8(o, acts, from, to, t0, t1);
        else isa->rows_float(o, a->x, a->x_stride, from, to, t0, t1);
    }
}

void ingot_cpu_linear(const ingot_linear_args *a, const ingot_team *team, const lin_isa *isa) {
    const lin_acts acts = acts_in_scratch(a);
    bool int8 = false;
    for (int k = 0; k < a->n_out; k++) int8 |= is_int8(a, &a->out[k]);
    const plan p = plan_make(a, team->size, isa, int8);
    if (int8) {
        int begin, end;
        ingot_team_range(team, a->n_tokens, isa->tile, &begin, &end);
        isa->quantize(&acts, a->x, a->x_stride, begin, end);
    }
    ingot_team_start(team, SLOT);
    for (int i; (i = ingot_team_next(team, SLOT)) < p.n_runs * p.n_chunks;) {
        const int g0 = i % p.n_runs * p.run, t0 = i / p.n_runs * p.chunk;
        item_run(a, &acts, isa, g0, g0 + p.run < p.n_groups ? g0 + p.run : p.n_groups, t0, t0 + p.chunk < a->n_tokens ? t0 + p.chunk : a->n_tokens);
    }
    ingot_team_barrier(team);
}

void ingot_cpu_linear_init(ingot_backend *b) {
#if defined(__x86_64__)
    const ingot_isa isa = ingot_cpu_get()->isa;
    if (isa < INGOT_ISA_AVX2) return;
    b->weight_prepare = ingot_cpu_weight_prepare;
    b->weight_free = ingot_cpu_weight_free;
    b->weight_bytes = ingot_cpu_weight_bytes;
    b->linear_scratch_bytes = scratch_bytes;
    b->linear = isa >= INGOT_ISA_AVX512 ? ingot_linear_avx512 : ingot_linear_avx2;
#else
    (void)b;
#endif
}
