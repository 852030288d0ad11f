/* A loaded model: weights, tokenizer, chat format. Part of libingot-engine. C11, C++-clean. */
#ifndef INGOT_MODEL_H
#define INGOT_MODEL_H
#include <ingot/cache.h>
#include <ingot/device.h>
#include <ingot/status.h>
#include <ingot/types.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_model ingot_model;

/* Called while loading (fraction 0..1); return false to cancel. */
typedef bool (*ingot_progress)(void *user, const char *what, double fraction);

typedef struct ingot_model_options {
    ingot_device *device;    /* borrowed; weights are prepared for it */
    ingot_progress progress; /* NULL allowed */
    void *progress_user;
    bool vocab_only;         /* tokenizer, metadata and geometry, no weights: device may be NULL. Geometry is checked and filled
                              * where the architecture is known and the file has tensors, else it stays 0 */
} ingot_model_options;

/* Maps the GGUF file at `path` (the first file when split), checks it and prepares the weights.
 * Errors: INGOT_E_IO, INGOT_E_FORMAT, INGOT_E_UNSUPPORTED (names the architecture, tensor or type). */
ingot_status ingot_model_open(ingot_model **out, const char *path, const ingot_model_options *options);
void ingot_model_close(ingot_model *model);

typedef struct ingot_model_info {
    const char *architecture, *name; /* owned by the model */
    const char *file_types;          /* such as "Q4_1 x210, F32 x61, Q8_0 x1" */
    int n_layers, n_embd, n_heads, n_kv_heads, k_dim, v_dim, n_ff, n_vocab, n_ctx_train;
    int sliding_window, n_sliding_layers;
    uint64_t n_params;
    size_t file_bytes;     /* of all files */
    size_t weight_bytes;   /* what the prepared weights occupy, from the allocator, plus mapped bytes still in use; 0 when vocab_only */
    const ingot_layer_shape *layers; /* [n_layers] */
    bool has_chat_template;
} ingot_model_info;
void ingot_model_info_get(const ingot_model *model, ingot_model_info *out);
/* 16 bytes that tell models apart: a hash of the architecture and of the names, number formats, shapes and samples of all tensors. Metadata, vocabulary and
 * how a file is split do not count. The first call reads some pages of every tensor. Thread-safe. Errors: INGOT_E_INVALID without model or place. */
ingot_status ingot_model_fingerprint(const ingot_model *model, uint8_t out[16]);
/* INGOT_OK when the calibration was made from this model, else INGOT_E_INVALID naming both. Engines check it, too. */
ingot_status ingot_model_check_calibration(const ingot_model *model, const ingot_calibration *calibration);

/* --- tokens --- */
enum {
    INGOT_TOKENIZE_BOS = 1,    /* put the model's BOS first where the model asks for one (never two) */
    INGOT_TOKENIZE_SPECIAL = 2 /* control tokens written in the text become that token; else they are plain text */
};
/* Encodes text[n_bytes] (UTF-8; invalid bytes: INGOT_E_INVALID naming the offset).
 * *ids is allocated by the library and freed with ingot_free_memory. */
ingot_status ingot_model_tokenize(const ingot_model *model, const char *text, size_t n_bytes, int flags, int32_t **ids, size_t *n_ids);
/* Bytes of one token (may be part of a UTF-8 character), not NUL-terminated, owned by the model; control tokens
 * give "" unless `special`. */
const char *ingot_model_token_bytes(const ingot_model *model, int32_t id, bool special, size_t *n_bytes);
/* The BOS token, or -1 when the model has none; whether the model asks for it in front of a text. */
int32_t ingot_model_bos(const ingot_model *model);
bool ingot_model_adds_bos(const ingot_model *model);
/* Whether `id` ends an answer (EOS, EOT, end of turn). */
bool ingot_model_is_end(const ingot_model *model, int32_t id);

/* --- chat --- */
typedef struct ingot_message { const char *role, *content; } ingot_message; /* "system", "user", "assistant" */
/* Tokens of messages[n] in the model's own chat format, with the header of the assistant's answer at the end when
 * `add_header`. Text of the messages never becomes control tokens. `first`: whether these messages begin
 * the conversation (BOS, default system prompt). INGOT_E_UNSUPPORTED when the model has no chat format or one
 * that is not known. */
ingot_status ingot_model_chat_tokens(const ingot_model *model, const ingot_message *messages, int n, bool first, bool add_header, int32_t **ids, size_t *n_ids);
/* The token that closes an answer in the chat format; -1 when there is none. Whoever keeps a conversation in a session
 * feeds it after every answer, also after one that was cut short, before the tokens of the next turn (first = false). */
int32_t ingot_model_chat_end(const ingot_model *model);

/* Frees what a function of the library allocated for the caller. NULL is allowed. */
void ingot_free_memory(void *p);

#ifdef __cplusplus
}
#endif
#endif
