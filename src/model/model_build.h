/* What an architecture builds with: keys and tensors with their checks, and operations of the tape.
 *
 * The first failure sticks in b->status and every later call does nothing, so that an architecture reads as a list; where a value
 * is used in between (a division, a loop) it must look at b->status first. Messages name the key or tensor, what was wanted and what was
 * found. Keys are given without the architecture's prefix; tensor names are printf formats. */
#ifndef INGOT_MODEL_BUILD_H
#define INGOT_MODEL_BUILD_H
#include "model.h"

struct ingot_model_build {
    ingot_model *model;
    const ingot_gguf *gguf;
    const char *arch; /* prefix of keys */
    ingot_status status;
};

/* Sets the first failure. */
void ingot_build_fail(ingot_model_build *b, ingot_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* --- keys --- */
/* A required integer in [min, max]. 0 after a failure. */
int ingot_build_int(ingot_model_build *b, const char *key, int min, int max);
/* An optional one: `otherwise` when absent. */
int ingot_build_int_or(ingot_model_build *b, const char *key, int min, int max, int otherwise);
float ingot_build_float(ingot_model_build *b, const char *key);
float ingot_build_float_or(ingot_model_build *b, const char *key, float otherwise);
/* What every decoder needs, into model->info: n_layers, n_embd, n_heads, n_kv_heads, k_dim, v_dim, n_ff, n_ctx_train, n_vocab; the layers
 * are allocated and get these shapes with `scale` 1/sqrt(k_dim) and no sliding window. Returns the epsilon of the norms. */
float ingot_build_geometry(ingot_model_build *b);
/* Adds the RoPE table of `base` and gives its index; with `scaled` the file's rope.scaling keys and rope_freqs tensor apply. */
int ingot_build_rope(ingot_model_build *b, double base, bool neox, bool scaled);

/* --- tensors --- */
bool ingot_build_has(const ingot_model_build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A vector [dim], converted to f32, owned by the model. */
const float *ingot_build_vector(ingot_model_build *b, int dim, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, NULL when the file has none. */
const float *ingot_build_vector_or_null(ingot_model_build *b, int dim, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A matrix [n_out][n_in] as it lies in the file. */
const ingot_gguf_tensor *ingot_build_matrix(ingot_model_build *b, int n_out, int n_in, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* --- tape --- */
void ingot_tape_embed(ingot_model_build *b, ingot_buf dst, const ingot_gguf_tensor *table, float scale);
/* `heads` vectors of `dim` in each row, one weight vector for all. */
void ingot_tape_norm(ingot_model_build *b, ingot_buf dst, ingot_buf src, const float *w, int heads, int dim, float eps);
/* Starts a group of products of `src` [n_in]; each ingot_tape_product adds one (at most 3). */
void ingot_tape_linear(ingot_model_build *b, ingot_buf src, int n_in);
void ingot_tape_product(ingot_model_build *b, ingot_buf dst, const ingot_gguf_tensor *w, const float *bias);
void ingot_tape_rope(ingot_model_build *b, ingot_buf x, int heads, int dim, int rope);
void ingot_tape_attend(ingot_model_build *b, int layer);
void ingot_tape_glu(ingot_model_build *b, ingot_buf gate, ingot_buf up, int dim, ingot_act act);
void ingot_tape_add(ingot_model_build *b, ingot_buf dst, ingot_buf src, int dim);
void ingot_tape_select_rows(ingot_model_build *b, ingot_buf dst, ingot_buf src, int dim);
/* The usual end: rows are selected, normed with `norm`, multiplied with output.weight or the tied embedding table. */
void ingot_tape_head(ingot_model_build *b, const float *norm, float eps, const ingot_gguf_tensor *embedding);
#endif
