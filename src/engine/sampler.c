/* Sampling in llama.cpp's order: repeat penalty, top-k, top-p, min-p, temperature, draw. Equal logits are ordered by token id, so
 * that the same seed gives the same text everywhere. NaN counts as -infinity. */
#include "../base/alloc.h"
#include "../base/error.h"
#include "../base/rng.h"
#include <ingot/session.h>
#include <math.h>

typedef struct candidate { float logit; int32_t id; } candidate;

struct ingot_sampler {
    ingot_sampler_config config;
    int n_vocab;
    ingot_rng rng;
    float *logits;        /* [n_vocab] after the penalty */
    candidate *heap;      /* [n_vocab] */
    double *weight;       /* [n_vocab] */
    int32_t *last;        /* [repeat_last_n] ring of accepted tokens */
    int n_last, next_last;
    uint32_t *penalized;  /* [n_vocab] stamp of the last sample that penalised the token */
    uint32_t stamp;
};

void ingot_sampler_defaults(ingot_sampler_config *c) {
    const uint64_t seed = c->seed;
    *c = (ingot_sampler_config){.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .repeat_penalty = 1.0f, .repeat_last_n = 64, .seed = seed};
}

static ingot_status check(const ingot_sampler_config *c) {
    if (!(c->temperature >= 0.0f) || !isfinite(c->temperature)) return ingot_fail(INGOT_E_INVALID, "temperature %g, must be 0 or more", (double)c->temperature);
    if (c->top_k < 0) return ingot_fail(INGOT_E_INVALID, "top-k %d, must be 0 (off) or more", c->top_k);
    if (!(c->top_p > 0.0f && c->top_p <= 1.0f)) return ingot_fail(INGOT_E_INVALID, "top-p %g, must be above 0 and at most 1 (off)", (double)c->top_p);
    if (!(c->min_p >= 0.0f && c->min_p <= 1.0f)) return ingot_fail(INGOT_E_INVALID, "min-p %g, must be 0 (off) to 1", (double)c->min_p);
    if (!(c->repeat_penalty > 0.0f) || !isfinite(c->repeat_penalty)) return ingot_fail(INGOT_E_INVALID, "repeat penalty %g, must be above 0 (1 is off)", (double)c->repeat_penalty);
    if (c->repeat_last_n < 0) return ingot_fail(INGOT_E_INVALID, "the repeat penalty looks back %d tokens, must be 0 or more", c->repeat_last_n);
    return INGOT_OK;
}

ingot_status ingot_sampler_create(ingot_sampler **out, const ingot_sampler_config *config, int n_vocab) {
    if (!out) return ingot_fail(INGOT_E_INVALID, "no place for the sampler");
    *out = NULL;
    if (!config || n_vocab < 1) return ingot_fail(INGOT_E_INVALID, "a sampler needs a configuration and a vocabulary, not of %d tokens", n_vocab);
    INGOT_TRY(check(config));
    ingot_sampler *s = ingot_alloc(sizeof *s, INGOT_MEM_OTHER);
    if (!s) return ingot_fail(INGOT_E_NOMEM, "out of memory for a sampler");
    s->config = *config;
    s->n_vocab = n_vocab;
    s->rng.state = config->seed;
    const size_t n = (size_t)n_vocab;
    s->logits = ingot_alloc_array(n, sizeof *s->logits, INGOT_MEM_SCRATCH);
    s->heap = ingot_alloc_array(n, sizeof *s->heap, INGOT_MEM_SCRATCH);
    s->weight = ingot_alloc_array(n, sizeof *s->weight, INGOT_MEM_SCRATCH);
    s->penalized = ingot_alloc_array(n, sizeof *s->penalized, INGOT_MEM_SCRATCH);
    s->last = ingot_alloc_array((size_t)config->repeat_last_n, sizeof *s->last, INGOT_MEM_SCRATCH);
    if (!s->logits || !s->heap || !s->weight || !s->penalized || !s->last) {
        ingot_sampler_destroy(s);
        return ingot_fail(INGOT_E_NOMEM, "out of memory for a sampler of %d tokens", n_vocab);
    }
    *out = s;
    return INGOT_OK;
}

void ingot_sampler_destroy(ingot_sampler *s) {
    if (!s) return;
    void *owned[] = {s->logits, s->heap, s->weight, s->penalized, s->last};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) ingot_dealloc(owned[i]);
    ingot_dealloc(s);
}

void ingot_sampler_accept(ingot_sampler *s, int32_t token) {
    if (s->config.repeat_last_n == 0 || token < 0 || token >= s->n_vocab) return;
    s->last[s->next_last] = token;
    s->next_last = (s->next_last + 1) % s->config.repeat_last_n;
    if (s->n_last < s->config.repeat_last_n) s->n_last++;
}

/* Copies the logits and lowers those of recent tokens, each token once (Keskar et al., arXiv 1909.05858, section 4.1, with the sign fixed). */
static void penalize(ingot_sampler *s, const float *logits) {
    for (int i = 0; i < s->n_vocab; i++) s->logits[i] = logits[i] == logits[i] ? logits[i] : -INFINITY;
    if (s->config.repeat_penalty == 1.0f) return;
    s->stamp++;
    for (int i = 0; i < s->n_last; i++) {
        const int32_t id = s->last[i];
        if (s->penalized[id] == s->stamp) continue;
        s->penalized[id] = s->stamp;
        float *x = &s->logits[id];
        *x = *x > 0.0f ? *x / s->config.repeat_penalty : *x * s->config.repeat_penalty;
    }
}

static bool before(candidate a, candidate b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); }

/* Heaps: with `up` the worst candidate is at the top, else the best. */
static void sift(candidate *h, int n, int i, bool up) {
    const candidate x = h[i];
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(h[child + 1], h[child]) != up) child++;
        if (before(h[child], x) == up) break;
        h[i] = h[child];
    }
    h[i] = x;
}

static void heapify(candidate *h, int n, bool up) {
    for (int i = n / 2 - 1; i >= 0; i--) sift(h, n, i, up);
}

/* The k best candidates, best first, in heap[0..k). */
static void select_top(ingot_sampler *s, int k) {
    candidate *h = s->heap;
    for (int i = 0; i < k; i++) h[i] = (candidate){s->logits[i], i};
    heapify(h, k, true);
    for (int i = k; i < s->n_vocab; i++) {
        const candidate c = {s->logits[i], i};
        if (!before(c, h[0])) continue;
        h[0] = c;
        sift(h, k, 0, true);
    }
    for (int n = k - 1; n > 0; n--) { /* the worst goes to the end */
        const candidate worst = h[0];
        h[0] = h[n];
        h[n] = worst;
        sift(h, n, 0, true);
    }
}

static float best_logit(const ingot_sampler *s) {
    float best = -INFINITY;
    for (int i = 0; i < s->n_vocab; i++) best = s->logits[i] > best ? s->logits[i] : best;
    return best;
}

/* Top-p over candidates c[n] that are sorted: the shortest prefix whose probability reaches p, at least one. */
static int cut_top_p(const candidate *c, int n, float p) {
    double total = 0.0, sum = 0.0;
    for (int i = 0; i < n; i++) total += exp((double)c[i].logit - (double)c[0].logit);
    for (int i = 0; i < n; i++) {
        sum += exp((double)c[i].logit - (double)c[0].logit);
        if (sum >= (double)p * total) return i + 1;
    }
    return n;
}

/* Top-p over the whole vocabulary: candidates are taken from a heap, best first, until p is reached; they end up sorted in
 * the heap array's tail, then in its front. Returns how many. */
static int take_top_p(ingot_sampler *s, float p) {
    candidate *h = s->heap;
    int n = s->n_vocab, taken = 0;
    double total = 0.0, sum = 0.0;
    const float best = best_logit(s);
    for (int i = 0; i < n; i++) {
        h[i] = (candidate){s->logits[i], i};
        total += exp((double)s->logits[i] - (double)best);
    }
    heapify(h, n, false);
    while (n > 0 && !(sum >= (double)p * total && taken > 0)) {
        const candidate top = h[0];
        h[0] = h[--n];
        h[n] = top;
        if (n > 1) sift(h, n, 0, false);
        sum += exp((double)top.logit - (double)best);
        taken++;
    }
    for (int i = 0; i < taken; i++) { /* reverse the tail, then move it to the front */
        const int a = s->n_vocab - 1 - i, b = s->n_vocab - taken + i;
        if (a <= b) break;
        const candidate x = h[a];
        h[a] = h[b];
        h[b] = x;
    }
    for (int i = 0; i < taken; i++) h[i] = h[s->n_vocab - taken + i];
    return taken;
}

/* What the filters leave, in heap[0..n); the best first when any filter that sorts is on. */
static int filter(ingot_sampler *s) {
    const ingot_sampler_config *c = &s->config;
    int n = s->n_vocab;
    if (c->top_k > 0 && c->top_k < n) {
        n = c->top_k;
        select_top(s, n);
        if (c->top_p < 1.0f) n = cut_top_p(s->heap, n, c->top_p);
    } else if (c->top_p < 1.0f) {
        n = take_top_p(s, c->top_p);
    } else {
        for (int i = 0; i < n; i++) s->heap[i] = (candidate){s->logits[i], i};
    }
    if (c->min_p > 0.0f) {
        const double least = (double)best_logit(s) + log((double)c->min_p);
        int kept = 0;
        for (int i = 0; i < n; i++)
            if ((double)s->heap[i].logit >= least) s->heap[kept++] = s->heap[i];
        n = kept > 0 ? kept : 1;
    }
    return n;
}

static int32_t draw(ingot_sampler *s, int n) {
    const double best = (double)best_logit(s), t = (double)s->config.temperature;
    double total = 0.0;
    for (int i = 0; i < n; i++) {
        s->weight[i] = exp(((double)s->heap[i].logit - best) / t);
        total += s->weight[i];
    }
    double left = ingot_rng_uniform(&s->rng) * total;
    int last = 0;
    for (int i = 0; i < n; i++) {
        if (!(s->weight[i] > 0.0)) continue;
        last = i; /* rounding may leave a rest behind the last one */
        if (left < s->weight[i]) break;
        left -= s->weight[i];
    }
    return s->heap[last].id;
}

int32_t ingot_sampler_sample(ingot_sampler *s, const float *logits) {
    penalize(s, logits);
    if (s->config.temperature == 0.0f || !isfinite(best_logit(s))) { /* greedy; also where there is no distribution to draw from */
        int best = 0;
        for (int i = 1; i < s->n_vocab; i++)
            if (s->logits[i] > s->logits[best]) best = i;
        return best;
    }
    return draw(s, filter(s));
}
