/* Phase 0 of a layer with centred keys: the mean of the sequence's first keys, taken once, before the first key is packed. */
#include "cache_impl.h"

int ingot_cache_mean_units(const layer_job *j, const segment *s) {
    return j->l->centred && s->finds_mean ? j->l->shape.n_kv_heads : 0;
}

void ingot_cache_mean_unit(const layer_job *j, const segment *s, int head, worker *w) {
    const int dim = j->l->shape.k_dim;
    double sum[INGOT_MAX_HEAD_DIM] = {0};
    float *mean = ingot_cache_mean(j->c, j->l, s->seq, head);
    for (int p = MEAN_FROM; p < MEAN_TO; p++) {
        ingot_cache_stored_row(j, s, INGOT_SIDE_K, head, p, w, w->rows);
        for (int i = 0; i < dim; i++) sum[i] += (double)w->rows[i];
    }
    for (int i = 0; i < dim; i++) mean[i] = (float)(sum[i] / (MEAN_TO - MEAN_FROM));
}
