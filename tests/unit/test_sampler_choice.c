/* Sampling on small distributions: which tokens are left, how often each comes, and in which order the filters act. */
#include "base/rng.h"
#include "test.h"
#include <ingot/session.h>
#include <stdlib.h>

enum { N = 5, DRAWS = 20000 };
static const double probs[N] = {0.5, 0.2, 0.15, 0.1, 0.05};

/* All filters off, temperature 1. */
static ingot_sampler_config plain(void) { return (ingot_sampler_config){.temperature = 1.0f, .top_p = 1.0f, .repeat_penalty = 1.0f, .repeat_last_n = 64, .seed = 7}; }

static void make_logits(float logits[N]) {
    for (int i = 0; i < N; i++) logits[i] = (float)log(probs[i]) + 3.0f;
}

/* Draws from the distribution and compares with want[N] (sum 1): tokens of probability 0 never come, the others pass a chi-square
 * test at 1e-4 (critical values for 1 to 4 degrees of freedom). */
static void check_distribution(const ingot_sampler_config *config, const double want[N]) {
    static const double critical[5] = {0.0, 15.14, 18.42, 21.11, 23.51};
    float logits[N];
    int counts[N] = {0};
    ingot_sampler *s = NULL;
    make_logits(logits);
    if (!CHECK_OK(ingot_sampler_create(&s, config, N))) return;
    for (int i = 0; i < DRAWS; i++) {
        const int32_t id = ingot_sampler_sample(s, logits);
        if (id >= 0 && id < N) counts[id]++;
    }
    double chi = 0.0;
    int freedom = -1, total = 0;
    for (int i = 0; i < N; i++) {
        total += counts[i];
        if (want[i] == 0.0) {
            CHECK_INT(counts[i], 0);
            continue;
        }
        const double expected = want[i] * DRAWS;
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
        freedom++;
    }
    CHECK_INT(total, DRAWS);
    CHECK(chi <= critical[freedom]);
    ingot_sampler_destroy(s);
}

TEST("sampler/plain distribution") {
    const ingot_sampler_config c = plain();
    check_distribution(&c, probs);
}

TEST("sampler/temperature flattens") {
    ingot_sampler_config c = plain();
    c.temperature = 2.0f;
    double want[N], sum = 0.0;
    for (int i = 0; i < N; i++) sum += sqrt(probs[i]);
    for (int i = 0; i < N; i++) want[i] = sqrt(probs[i]) / sum;
    check_distribution(&c, want);
}

TEST("sampler/top-k, top-p and min-p cut where they should") {
    ingot_sampler_config c = plain();
    test_case("top-k 2");
    c.top_k = 2;
    check_distribution(&c, (double[N]){0.5 / 0.7, 0.2 / 0.7});
    c = plain();
    test_case("top-p 0.69");
    c.top_p = 0.69f;
    check_distribution(&c, (double[N]){0.5 / 0.7, 0.2 / 0.7});
    test_case("top-p 0.71: the token that crosses the limit stays");
    c.top_p = 0.71f;
    check_distribution(&c, (double[N]){0.5 / 0.85, 0.2 / 0.85, 0.15 / 0.85});
    test_case("top-p below the first token's probability");
    c.top_p = 0.1f;
    check_distribution(&c, (double[N]){1.0});
    c = plain();
    test_case("min-p 0.25");
    c.min_p = 0.25f;
    check_distribution(&c, (double[N]){0.5 / 0.85, 0.2 / 0.85, 0.15 / 0.85});
    test_case("min-p 1");
    c.min_p = 1.0f;
    check_distribution(&c, (double[N]){1.0});
}

TEST("sampler/order of the filters") {
    ingot_sampler_config c = plain();
    test_case("top-p counts what top-k has left");
    c.top_k = 3;
    c.top_p = 0.8f;
    check_distribution(&c, (double[N]){0.5 / 0.7, 0.2 / 0.7});
    test_case("min-p looks at probabilities before the temperature");
    c = plain();
    c.min_p = 0.25f;
    c.temperature = 2.0f;
    const double sum = sqrt(0.5) + sqrt(0.2) + sqrt(0.15);
    check_distribution(&c, (double[N]){sqrt(0.5) / sum, sqrt(0.2) / sum, sqrt(0.15) / sum});
}

TEST("sampler/greedy: ties, NaN and infinities") {
    ingot_sampler_config c = plain();
    c.temperature = 0.0f;
    ingot_sampler *s = NULL;
    if (!CHECK_OK(ingot_sampler_create(&s, &c, N))) return;
    CHECK_INT(ingot_sampler_sample(s, (float[N]){1, 3, 2, 3, 0}), 1);
    CHECK_INT(ingot_sampler_sample(s, (float[N]){NAN, -5, NAN, -4, -9}), 3);
    CHECK_INT(ingot_sampler_sample(s, (float[N]){-INFINITY, -INFINITY, 1, -INFINITY, 0}), 2);
    CHECK_INT(ingot_sampler_sample(s, (float[N]){0, 0, 0, 0, INFINITY}), 4);
    const int32_t id = ingot_sampler_sample(s, (float[N]){NAN, NAN, NAN, NAN, NAN});
    CHECK(id >= 0 && id < N);
    ingot_sampler_destroy(s);
    c.temperature = 0.8f;
    c.top_k = 3;
    c.top_p = 0.9f;
    c.min_p = 0.1f;
    if (!CHECK_OK(ingot_sampler_create(&s, &c, N))) return;
    const int32_t drawn = ingot_sampler_sample(s, (float[N]){NAN, NAN, 2, NAN, NAN});
    CHECK_INT(drawn, 2);
    ingot_sampler_destroy(s);
}

TEST("sampler/repeat penalty lowers recent tokens once") {
    ingot_sampler_config c = plain();
    c.temperature = 0.0f;
    c.repeat_penalty = 2.0f;
    c.repeat_last_n = 2;
    ingot_sampler *s = NULL;
    const float logits[N] = {4.0f, 3.0f, 1.5f, -1.0f, -1.5f};
    if (!CHECK_OK(ingot_sampler_create(&s, &c, N))) return;
    CHECK_INT(ingot_sampler_sample(s, logits), 0);
    ingot_sampler_accept(s, 0); /* 4 becomes 2 */
    CHECK_INT(ingot_sampler_sample(s, logits), 1);
    ingot_sampler_accept(s, 1); /* 3 becomes 1.5, so that 0 with 2 leads again */
    CHECK_INT(ingot_sampler_sample(s, logits), 0);
    ingot_sampler_accept(s, 1); /* 0 has left the two newest; twice accepted is lowered once */
    CHECK_INT(ingot_sampler_sample(s, (float[N]){2.0f, 5.0f, 2.4f, 0, 0}), 1);
    const float negative[N] = {-3.0f, -1.0f, -1.5f, -9.0f, -9.0f};
    CHECK_INT(ingot_sampler_sample(s, negative), 2); /* -1 becomes -2 */
    ingot_sampler_destroy(s);
}

TEST("sampler/seed decides") {
    ingot_sampler_config c = plain();
    float logits[N];
    make_logits(logits);
    int same = 0;
    ingot_sampler *a = NULL, *b = NULL, *d = NULL;
    CHECK_OK(ingot_sampler_create(&a, &c, N));
    CHECK_OK(ingot_sampler_create(&b, &c, N));
    c.seed = 8;
    CHECK_OK(ingot_sampler_create(&d, &c, N));
    for (int i = 0; a && b && d && i < 200; i++) {
        const int32_t x = ingot_sampler_sample(a, logits);
        CHECK_INT(ingot_sampler_sample(b, logits), x);
        same += ingot_sampler_sample(d, logits) == x;
    }
    CHECK(same < 150);
    ingot_sampler_destroy(a);
    ingot_sampler_destroy(b);
    ingot_sampler_destroy(d);
}

static int by_logit(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The smallest logit that a filter may leave, by sorting all. */
static float least_allowed(const float *logits, int n, int top_k, double top_p) {
    static float sorted[1000];
    double total = 0.0, sum = 0.0;
    memcpy(sorted, logits, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_logit);
    const int k = top_k ? top_k : n;
    for (int i = 0; i < k; i++) total += exp((double)sorted[i]);
    for (int i = 0; i < k; i++)
        if ((sum += exp((double)sorted[i])) >= top_p * total) return sorted[i];
    return sorted[k - 1];
}

TEST("sampler/large vocabulary agrees with sorting all of it") {
    enum { V = 1000 };
    static float logits[V];
    ingot_rng rng = {42};
    for (int i = 0; i < V; i++) logits[i] = (float)(3.0 * ingot_rng_normal(&rng));
    const struct { int k; float p; } cases[] = {{0, 0.3f}, {0, 0.9f}, {0, 0.99999f}, {40, 1.0f}, {40, 0.5f}, {999, 0.9f}, {1, 1.0f}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_case("top-k %d top-p %g", cases[i].k, (double)cases[i].p);
        ingot_sampler_config c = plain();
        c.temperature = 50.0f; /* nearly uniform over what is left, so that the last ones come too */
        c.top_k = cases[i].k;
        c.top_p = cases[i].p;
        ingot_sampler *s = NULL;
        if (!CHECK_OK(ingot_sampler_create(&s, &c, V))) continue;
        const float least = least_allowed(logits, V, c.top_k, (double)c.top_p);
        int below = 0;
        float lowest = INFINITY;
        for (int d = 0; d < 1000; d++) {
            const float x = logits[ingot_sampler_sample(s, logits)];
            below += x < least;
            lowest = x < lowest ? x : lowest;
        }
        CHECK_INT(below, 0);
        CHECK(lowest < least + 1.0f);
        ingot_sampler_destroy(s);
    }
}

TEST("sampler/bad settings are refused") {
    ingot_sampler_config bad[9];
    for (int i = 0; i < 9; i++) bad[i] = plain();
    bad[0].temperature = -1.0f;
    bad[1].temperature = NAN;
    bad[2].top_k = -1;
    bad[3].top_p = 0.0f;
    bad[4].top_p = 1.5f;
    bad[5].min_p = -0.1f;
    bad[6].repeat_penalty = 0.0f;
    bad[7].repeat_last_n = -1;
    bad[8].min_p = NAN;
    for (int i = 0; i < 9; i++) {
        ingot_sampler *s = NULL;
        test_case("bad setting %d", i);
        CHECK_STATUS(ingot_sampler_create(&s, &bad[i], N), INGOT_E_INVALID);
        CHECK(s == NULL);
    }
    const ingot_sampler_config good = plain();
    ingot_sampler *s = NULL;
    CHECK_STATUS(ingot_sampler_create(&s, &good, 0), INGOT_E_INVALID);
}
