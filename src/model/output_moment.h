/* How the rest of a model weighs the attention outputs of a layer: what a calibrated transform of the values needs. */
#ifndef INGOT_MODEL_OUTPUT_MOMENT_H
#define INGOT_MODEL_OUTPUT_MOMENT_H
#include <ingot/model.h>

/* moment [n_kv_heads][v_dim][v_dim]: for each KV head the sum over its query heads of W_h^T W_h, where W_h [n_embd][v_dim] are the columns of the output
 * projection that read head h. Where the projection is followed by a norm, each row counts with that norm's weight (its common factor is left out).
 * Errors: INGOT_E_UNSUPPORTED when no product of the layer reads the attention's outputs, INGOT_E_NOMEM. */
ingot_status ingot_model_output_moment(const ingot_model *model, int layer, double *moment);
#endif
