#include "chain.h"
#include <string.h>

static void copy(float *y, const float *x, int dim) {
    if (y != x) memcpy(y, x, sizeof(float) * (size_t)dim);
}

void ingot_chain_forward(const ingot_transform_chain *c, float *y, const float *x) {
    const float *from = x;
    for (int i = 0; i < c->n; i++, from = y) c->step[i]->forward(c->cal[i], y, from, c->dim);
    copy(y, from, c->dim);
}

void ingot_chain_query(const ingot_transform_chain *c, float *y, const float *q) {
    const float *from = q;
    for (int i = 0; i < c->n; i++, from = y) (c->step[i]->query ? c->step[i]->query : c->step[i]->forward)(c->cal[i], y, from, c->dim);
    copy(y, from, c->dim);
}

void ingot_chain_inverse(const ingot_transform_chain *c, float *y, const float *x) {
    const float *from = x;
    for (int i = c->n; i-- > 0; from = y) c->step[i]->inverse(c->cal[i], y, from, c->dim);
    copy(y, from, c->dim);
}
