/* A quick look at decode attention: time of one operation over all KV heads of a layer, one thread, data cold, beside a
 * plain read of the same bytes. Specs run interleaved, so that a slow moment hits all of them. For work on the kernels;
 * the product's own benchmark is `ingot bench`.
 *
 *   cc -O3 -Iinclude -Isrc bench/attn_quick.c build/src/libingot.a -lm -lpthread -o /tmp/attn_quick
 *   /tmp/attn_quick [-d DIM] [-g HEADS_PER_KV_HEAD] [-n CONTEXT] [-t QUERY_TOKENS] [-r REPS] [-m POOL_MB] SPEC...
 * SPEC: K[/V], each the name of a codec[:GROUP]; a side that the codec cannot serve is f16. `put` is the time to store a token, K and V. */
#include "backend/backend.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KV_HEADS = 8, MAX_SPECS = 64, MAX_REPS = 101 };

typedef struct spec {
    const char *name;
    ingot_kv_fmt f[2];
    size_t bytes[2], op_bytes;
    double op_ns[MAX_REPS], read_ns[MAX_REPS], put_ns;
} spec;

static int dim = 128, group = 4, ctx = 8192, tokens = 1, reps = 9;
static size_t pool_bytes = (size_t)600 << 20;
static const ingot_backend *be;
static uint8_t *pool;
static volatile uint64_t sink;
static double checksum;

static bool parse_side(const char *s, ingot_kv_side side, ingot_kv_fmt *f) {
    char name[32];
    const char *colon = strchr(s, ':');
    const size_t n = colon ? (size_t)(colon - s) : strcspn(s, "/");
    if (n >= sizeof name) return false;
    memcpy(name, s, n), name[n] = 0;
    const ingot_codec *c = ingot_codec_get(ingot_codec_find(name));
    if (!c) return false;
    *f = (ingot_kv_fmt){.codec = ingot_codec_find(name), .dim = dim, .side = side, .variant = c->default_variant[side]};
    f->group = colon ? atoi(colon + 1) : c->default_group;
    if (f->group > dim && !(c->group_is_tokens && side == INGOT_SIDE_K)) f->group = dim;
    if (!(c->sides >> side & 1)) *f = (ingot_kv_fmt){.codec = INGOT_CODEC_F16, .dim = dim, .side = side};
    if (ingot_codec_get(f->codec)->check(f)) return false;
    if (!c->code_bits) return true;
    ingot_rng rng = {3};
    const size_t floats = (size_t)f->group << c->code_bits;
    float *book = ingot_alloc(floats * sizeof *book, INGOT_MEM_OTHER);
    ingot_codec_params *params = ingot_alloc(sizeof *params, INGOT_MEM_OTHER);
    for (size_t k = 0; k < floats; k++) book[k] = (float)ingot_rng_normal(&rng);
    f->params = params;
    return ingot_codec_params_fill(f, book, ingot_alloc(ingot_codec_params_bytes(f), INGOT_MEM_OTHER), params) == NULL;
}

static bool parse_spec(char *text, spec *s) {
    *s = (spec){.name = text};
    char *slash = strchr(text, '/');
    if (!parse_side(text, INGOT_SIDE_K, &s->f[0]) || !parse_side(slash ? slash + 1 : text, INGOT_SIDE_V, &s->f[1])) return false;
    for (int i = 0; i < 2; i++) s->bytes[i] = ingot_backend_tile(be, i, &s->f[i])->bytes(&s->f[i]);
    s->op_bytes = (s->bytes[0] + s->bytes[1]) * KV_HEADS * (size_t)(ctx / 64);
    return s->op_bytes <= pool_bytes;
}

/* Time that this thread ran: others on the machine disturb it less than the wall's. */
static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One page of random tokens, copied all over the pool. */
static void fill(spec *s) {
    const size_t head = s->bytes[0] + s->bytes[1];
    float *x = ingot_alloc(64 * (size_t)dim * sizeof *x, INGOT_MEM_OTHER);
    ingot_rng rng = {7};
    double put = 0;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 64 * dim; i++) x[i] = (float)ingot_rng_normal(&rng);
        const uint64_t t0 = cpu_ns();
        for (int k = 0; k < 8; k++) ingot_backend_tile(be, side, &s->f[side])->put(&s->f[side], pool + (side ? s->bytes[0] : 0), 0, 64, x, dim);
        put += (double)(cpu_ns() - t0) / 8 / 64;
    }
    if (s->put_ns == 0 || put < s->put_ns) s->put_ns = put;
    for (size_t at = head; at + head <= pool_bytes; at += head) memcpy(pool + at, pool, head);
    ingot_dealloc(x);
}

static double time_read(const uint8_t *p, size_t n) {
    const uint64_t t0 = cpu_ns();
    uint64_t a[16] = {0};
    const uint64_t *q = (const uint64_t *)(const void *)p;
    for (size_t i = 0; i + 16 <= n / 8; i += 16) for (int j = 0; j < 16; j++) a[j] |= q[i + (size_t)j];
    for (int j = 0; j < 16; j++) sink |= a[j];
    return (double)(cpu_ns() - t0);
}

static double time_op(const spec *s, const uint8_t *base, const float *q, float *state, void *scratch) {
    const int pages = ctx / 64, rows = group * tokens;
    const uint8_t **tile = ingot_alloc((size_t)pages * sizeof *tile, INGOT_MEM_OTHER);
    int32_t lo[256] = {0}, hi[256];
    for (int t = 0; t < tokens; t++) hi[t] = ctx;
    const size_t head = s->bytes[0] + s->bytes[1];
    double ns = 0;
    for (int h = 0; h < KV_HEADS; h++) {
        float *m = state, *l = m + rows, *o = l + rows;
        for (int r = 0; r < rows; r++) m[r] = -INFINITY, l[r] = 0;
        memset(o, 0, (size_t)rows * (size_t)dim * sizeof *o);
        for (int p = 0; p < pages; p++) tile[p] = base + ((size_t)p * KV_HEADS + (size_t)h) * head;
        const ingot_attend_args a = {.k = s->f[0], .v = s->f[1], .tiles = tile, .v_offset = s->bytes[0], .n_pages = pages, .q = q,
            .q_token_stride = (ptrdiff_t)group * dim, .n_tokens = tokens, .n_group = group, .lo = lo, .hi = hi,
            .scale = 0.0883883f, .m = m, .l = l, .o = o, .scratch = scratch};
        const uint64_t t0 = cpu_ns();
        be->attend(&a);
        ns += (double)(cpu_ns() - t0);
        checksum += (double)o[h % dim] / (double)l[0];
    }
    ingot_dealloc(tile);
    return ns;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

int main(int argc, char **argv) {
    static spec specs[MAX_SPECS];
    int n = 0, i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        const int v = atoi(argv[i + 1]);
        switch (argv[i][1]) {
        case 'd': dim = v; break;
        case 'g': group = v; break;
        case 'n': ctx = v; break;
        case 't': tokens = v; break;
        case 'r': reps = v < MAX_REPS ? v : MAX_REPS; break;
        case 'm': pool_bytes = (size_t)v << 20; break;
        default: return 2;
        }
    }
    be = ingot_backend_find("cpu");
    for (; i < argc && n < MAX_SPECS; i++) {
        if (!parse_spec(argv[i], &specs[n++])) {
            fprintf(stderr, "%s: not a spec, or the pool is too small\n", argv[i]);
            return 2;
        }
    }
    ingot_rng rng = {1};
    const size_t q_floats = (size_t)tokens * (size_t)group * (size_t)dim;
    float *q = ingot_alloc(q_floats * sizeof *q, INGOT_MEM_OTHER), *state = ingot_alloc((q_floats + 512) * 2 * sizeof *state, INGOT_MEM_OTHER);
    for (size_t k = 0; k < q_floats; k++) q[k] = (float)ingot_rng_normal(&rng);
    pool = ingot_alloc_mapped(pool_bytes, INGOT_MEM_OTHER);
    if (!pool || !q || !state) return 1;
    printf("# %s, dim %d, %d heads for each of %d KV heads, %d tokens, 1 thread, %d query token(s)\n", ingot_isa_name(ingot_cpu_get()->isa), dim, group, KV_HEADS, ctx, tokens);
    size_t at = 0; /* the specs' data differs, so each spec refills; within it, op and read take turns on fresh memory */
    for (int r = 0; r < 3; r++) {
        for (int s = 0; s < n; s++) {
            fill(&specs[s]);
            void *scratch = ingot_alloc(be->attend_scratch_bytes(&specs[s].f[0], &specs[s].f[1], group, tokens), INGOT_MEM_OTHER);
            const size_t head = specs[s].bytes[0] + specs[s].bytes[1];
            for (int k = r * reps / 3; k < (r + 1) * reps / 3; k++) {
                for (int what = 0; what < 2; what++) {
                    at = (at + specs[s].op_bytes) / head * head;
                    if (at + specs[s].op_bytes > pool_bytes) at = 0;
                    if (what) specs[s].op_ns[k] = time_op(&specs[s], pool + at, q, state, scratch);
                    else specs[s].read_ns[k] = time_read(pool + at, specs[s].op_bytes);
                }
            }
            ingot_dealloc(scratch);
        }
    }
    for (int s = 0; s < n; s++) {
        const int k = reps / 3 * 3;
        const double op = median(specs[s].op_ns, k), rd = median(specs[s].read_ns, k), b = (double)specs[s].op_bytes;
        printf("%-16s median %8.3f ms  %6.2f GB/s  read %6.2f GB/s  ratio %.2f | best %8.3f ms  %6.2f ns/token/KV head  read %6.2f GB/s  ratio %.2f | put %7.1f ns\n",
               specs[s].name, op * 1e-6, b / op, b / rd, op / rd, specs[s].op_ns[0] * 1e-6, specs[s].op_ns[0] / ctx / KV_HEADS,
               b / specs[s].read_ns[0], specs[s].op_ns[0] / specs[s].read_ns[0], specs[s].put_ns);
    }
    printf("# checksum %.6g\n", checksum);
    return 0;
}
