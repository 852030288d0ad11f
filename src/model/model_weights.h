/* Preparing the weights of a built model for its device. */
#ifndef INGOT_MODEL_WEIGHTS_H
#define INGOT_MODEL_WEIGHTS_H
#include "model.h"

/* Prepares all weights on the device's threads, reports progress, gives mapped pages back that were repacked. */
ingot_status ingot_model_weights_prepare(ingot_model *m, const ingot_model_options *options);
void ingot_model_weights_free(ingot_model *m);
#endif
