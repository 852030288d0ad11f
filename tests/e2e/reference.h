/* The float32 reference figures of a test model, and the pieces that end-to-end tests share. */
#ifndef INGOT_TEST_REFERENCE_H
#define INGOT_TEST_REFERENCE_H
#include "test.h"
#include <ingot/eval.h>

/* Sanitizers make a forward pass ten times slower. There the tests walk the same code with less text, and those whose point is a figure
 * are left to the other builds. */
#if defined(__SANITIZE_ADDRESS__)
enum { SLOW_BUILD = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SLOW_BUILD = 1 };
#else
enum { SLOW_BUILD = 0 };
#endif
#else
enum { SLOW_BUILD = 0 };
#endif
/* Skips the test there. */
bool skip_slow(void);

enum { REF_TOKENS = 4096, REF_WINDOWS = 8, REF_TOPS = 24, REF_GREEDY = 4, REF_TOP = 10, REF_TEXT = 64 };

typedef struct ref_window { int ctx, index; double nll_all, nll_second_half; } ref_window;
typedef struct ref_top { int ctx, window, pos, id[REF_TOP]; double logprob[REF_TOP]; } ref_top;
typedef struct ref_greedy { int n_prompt, n; int32_t prompt[REF_TEXT], text[REF_TEXT]; double margin[REF_TEXT]; } ref_greedy;

typedef struct reference {
    int n_tokens, n_windows, n_tops, n_greedy;
    int32_t tokens[REF_TOKENS];
    ref_window windows[REF_WINDOWS];
    ref_top tops[REF_TOPS];
    ref_greedy greedy[REF_GREEDY];
} reference;

/* Reads golden/reference_MODEL.txt; a malformed file fails the test. */
bool reference_read(reference *r, const char *model);

/* A model on a device, or NULL after test_skip / a failed check. */
typedef struct loaded { ingot_device *device; ingot_model *model; } loaded;
bool load_model(loaded *l, const char *name);
void unload_model(loaded *l);

/* An engine with the given cache ("f16", "int4,group=32", ...). NULL after a failed check. */
ingot_engine *open_engine(ingot_model *model, const char *kv, int n_ctx, int max_sessions, int n_batch, ingot_activations act);
/* Most probable token of a row. */
int32_t argmax(const float *logits, int n);
/* Natural logarithm of the sum of exponentials, in double. */
double log_sum(const float *logits, int n);
#endif
