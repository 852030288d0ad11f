/* Running the tape of a model on one batch: the whole team, one pool run. */
#ifndef INGOT_ENGINE_EXECUTOR_H
#define INGOT_ENGINE_EXECUTOR_H
#include "engine.h"

/* The layers on the engine's batch, between step_begin and step_end of the cache. */
void ingot_executor_layers(ingot_engine *e);
/* The head on rows [first, first + n) of the wanted ones; logits into the LOGITS buffer. */
void ingot_executor_head(ingot_engine *e, int first, int n);
#endif
