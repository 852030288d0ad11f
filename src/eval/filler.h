/* The text between the things that a recall task hides: pieces of a given text, or made-up sentences that say nothing. */
#ifndef INGOT_EVAL_FILLER_H
#define INGOT_EVAL_FILLER_H
#include "../base/rng.h"
#include <ingot/model.h>

/* A text in tokens; ids NULL: made-up sentences. */
typedef struct recall_text { const int32_t *ids; size_t n; } recall_text;

/* out[n]: consecutive tokens from a random place of the text, which begins with a sentence where there is one. The made-up sentences have no digits and
 * are drawn from 16 million, so that none can be guessed from others. INGOT_E_INVALID when the text is too short (both counts). */
ingot_status ingot_recall_fill(int32_t *out, int n, const ingot_model *model, recall_text text, ingot_rng *rng);
/* The end of a sentence (or line) nearest to `wanted` in ids[n], at most 64 tokens away; else `wanted`. 0 and n count as ends. */
int ingot_recall_snap(const ingot_model *model, const int32_t *ids, int n, int wanted);
/* Uniform in [0, n). */
static inline int ingot_recall_draw(ingot_rng *rng, int n) { return (int)(ingot_rng_next(rng) % (uint64_t)n); }
#endif
