/* Looking at the queries, keys and values of a forward pass, for calibration and for measuring. */
#ifndef INGOT_ENGINE_CAPTURE_H
#define INGOT_ENGINE_CAPTURE_H
#include <ingot/session.h>

/* What one attention layer is given for the tokens of one pass: behind RoPE and norms, in front of the cache's transforms. Row i of q holds n_heads
 * vectors of k_dim elements, of k n_kv_heads of k_dim, of v n_kv_heads of v_dim (the layer's shape); rows lie `stride` floats apart. Valid during the call. */
typedef struct ingot_captured {
    int layer, n_tokens;
    const int *positions; /* [n_tokens] */
    const float *q, *k, *v;
    ptrdiff_t q_stride, k_stride, v_stride;
} ingot_captured;

/* Called on one thread, for each layer of each pass, in the order of the layers. It must not call the engine. */
typedef void (*ingot_capture_fn)(void *user, const ingot_captured *c);

/* From the next pass on; fn NULL ends it. */
void ingot_engine_capture(ingot_engine *engine, ingot_capture_fn fn, void *user);
#endif
