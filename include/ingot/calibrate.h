/* Making a calibration: a model is run on text, and what methods need is derived from its queries, keys, values and output projections.
 * docs/calibration.md says what from what. Part of libingot-engine. C11, C++-clean. */
#ifndef INGOT_CALIBRATE_H
#define INGOT_CALIBRATE_H
#include <ingot/session.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_calibrate_config {
    int n_ctx;          /* tokens of one window; 0: 4096, or what the model was trained for or the text has if that is less. Moments of keys behind RoPE depend
                         * on the positions: take the lengths of use. Every other window is read as contexts of at most 1024 tokens */
    int n_windows;      /* 0: as many as 16384 tokens take, at most what the text has */
    bool no_codebooks;  /* leave out the codebooks, which take most of the time and of the file */
    const char *source; /* what the text is called, printable, one line; NULL: "a text" */
    ingot_progress progress; /* NULL allowed */
    void *progress_user;
} ingot_calibrate_config;

/* One kind of codebook, over all layers and KV heads. */
typedef struct ingot_calibrate_book_sum {
    const char *codec; /* static */
    int bits, group;
    bool value;
    int n_books;
    int n_vectors; /* sub-vectors that each would be trained on; where they are fewer than the 1 << bits centroids there is no book */
    double error;  /* mean squared error over mean square of the vectors it was trained on, mean over the books; NAN without books */
} ingot_calibrate_book_sum;

typedef struct ingot_calibrate_result {
    int n_windows, n_ctx;
    int n_layers, n_kv_heads, n_query_heads; /* heads over all layers */
    bool whitened;        /* false when some head size has no such transform */
    /* Audit of the signs of the filters: the share of a query head's queries whose projection on its direction is positive, over the heads of the layers without
     * sliding window, the only ones that tokens are evicted from. */
    int n_audited;
    double positive_mean, positive_min;
    int positive_min_layer, positive_min_head;
    int n_books;
    ingot_calibrate_book_sum *books; /* [n_books]; free with ingot_free_memory */
    double seconds_model, seconds_derive, seconds_books;
} ingot_calibrate_result;

/* Runs the model (float activations, f16 cache) on the first windows of tokens[n], derives everything and writes the calibration to `path`; nothing
 * is left there when it fails or is cancelled. Codebooks that the text has fewer vectors for than centroids are left out, which the result tells. The same file for the same model, text and machine, whatever the number of threads.
 * Errors: INGOT_E_INVALID (a text too short, with both counts; a head whose queries or values are all zero; another file at `path`), INGOT_E_IO, INGOT_E_NOMEM, INGOT_E_CANCELLED. */
ingot_status ingot_calibrate(ingot_calibrate_result *out, ingot_model *model, const int32_t *tokens, size_t n, const ingot_calibrate_config *config, const char *path);

#ifdef __cplusplus
}
#endif
#endif
