/* A loaded model from inside: what the builder fills and the engine reads. */
#ifndef INGOT_MODEL_INTERNAL_H
#define INGOT_MODEL_INTERNAL_H
#include "../tokenizer/tokenizer.h"
#include "arch.h"
#include "rope.h"
#include <ingot/model.h>
#include <stdatomic.h>

/* One matrix of the model; prepared for the device after the shapes have been checked. */
typedef struct ingot_model_weight {
    const ingot_gguf_tensor *tensor; /* [n_out][n_in] */
    ingot_weight *handle;            /* NULL until prepared */
} ingot_model_weight;

/* Found on first demand, also by several threads at once: they store the same. */
typedef struct ingot_known_fingerprint {
    atomic_bool known;
    _Atomic uint64_t half[2];
} ingot_known_fingerprint;

struct ingot_model {
    ingot_gguf *gguf;
    ingot_tokenizer *tokenizer;
    ingot_device *device; /* NULL when opened for the vocabulary only */
    ingot_model_info info;
    char *architecture, *name, *file_types;

    ingot_layer_shape *layers; /* [info.n_layers] */
    ingot_op *tape;
    int n_ops, cap_ops;
    int head_begin; /* index of SELECT_ROWS: ops before it run once a pass, those from it on for each set of rows */
    int width[INGOT_N_BUFS];
    ingot_model_weight *weights;
    int n_weights, cap_weights;
    ingot_rope_spec *ropes;
    int n_ropes;
    ingot_known_fingerprint *fingerprint;
    float **vectors; /* norms, biases, frequency factors as f32, owned */
    int n_vectors, cap_vectors;
};
#endif
