/* Stored rows as they look from outside. */
#include "cache_impl.h"

bool ingot_cache_restore_row(const ingot_cache *c, int layer, int seq, bool value, int head, int position, float *x) {
    const cache_layer *l = &c->layers[layer];
    const cache_side *side = &l->side[value][head];
    const bool packed = position >= c->n_sinks && position < c->seqs[seq].packed_end;
    const float *mean = packed && l->centred && !value ? ingot_cache_mean(c, l, seq, head) : NULL;
    for (int i = 0; mean && i < side->fmt.dim; i++) x[i] += mean[i];
    ingot_chain_inverse(&side->chain, x, x);
    return packed;
}
