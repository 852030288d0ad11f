/* Tiny model files with random weights, right or spoilt in one place, and a plain forward pass to compare with. */
#ifndef INGOT_TEST_MODEL_FIXTURE_H
#define INGOT_TEST_MODEL_FIXTURE_H
#include <ingot/model.h>

/* What is written. Zero or NULL leaves an optional part out. */
typedef struct model_spec {
    const char *arch; /* "llama" or "gemma3" */
    int n_layers, n_embd, n_heads, n_kv_heads, k_dim, v_dim, n_ff, n_ctx, n_vocab, n_rot;
    float rope_base, attention_scale;
    int sliding_window, pattern;                /* gemma3 */
    bool biases, separate_output, rope_factors; /* llama */
    float linear_factor;                        /* rope.scaling.type linear */

    /* One spoilt place. */
    const char *drop;      /* a key or tensor that is left out */
    const char *key;       /* a key that is written with */
    uint32_t key_value;    /* this value, as u32 */
    const char *str_key, *str_value;
    const char *tensor;    /* a tensor that is written with */
    uint64_t d0, d1;       /* this shape */
} model_spec;

extern const model_spec tiny_llama, tiny_gemma3;

/* Writes the file into a temporary folder; the path is static. NULL after a failed check. */
const char *model_write(const model_spec *spec);
void model_remove(const char *path);
/* Opens it on `device` with defaults. */
ingot_status model_open_spec(ingot_model **m, const model_spec *spec, ingot_device *device);

/* The values of a tensor [n], made from its name. `norm`: near 1. Freed with free(). */
float *model_values(const char *name, size_t n);

/* Logits [n_vocab] behind tokens[n], computed position by position in double from the definition of the architecture. */
void plain_forward(const model_spec *spec, const int32_t *tokens, int n, double *logits);
#endif
