/* Architectures: each file checks shapes, binds tensors and lays down a fixed tape of layer operations; the engine runs tapes and
 * knows no architecture. One file, one line in archs.def. How to add one: docs/adding-an-architecture.md. */
#ifndef INGOT_MODEL_ARCH_H
#define INGOT_MODEL_ARCH_H
#include "../backend/backend.h"
#include "../gguf/gguf.h"
#include <ingot/cache.h>

/* Activation buffers of a forward pass, f32 [n_tokens][width]; the widths follow from the tape. X is the residual stream and
 * must be left alone behind SELECT_ROWS, because the head may run several times on other rows of the same pass. */
typedef enum ingot_buf { INGOT_BUF_X, INGOT_BUF_NORM, INGOT_BUF_Q, INGOT_BUF_K, INGOT_BUF_V, INGOT_BUF_ATT, INGOT_BUF_GATE, INGOT_BUF_UP, INGOT_BUF_TMP, INGOT_BUF_LOGITS, INGOT_N_BUFS } ingot_buf;

typedef enum ingot_op_kind {
    INGOT_OP_EMBED,   /* dst = row of `table` for each token, times `value` */
    INGOT_OP_RMSNORM, /* dst = norm(src) * w, eps `value`; each of the `heads` vectors of a row by itself, w [dim] shared */
    INGOT_OP_LINEAR,  /* lin[i].dst = W_i src (+ bias_i), up to 3 that share src */
    INGOT_OP_ROPE,    /* dst rotated in place with the table of spec `rope` */
    INGOT_OP_ATTEND,  /* ATT = attention(Q, K, V) of `layer`; K and V are stored first */
    INGOT_OP_GLU,     /* dst = act(dst) * src */
    INGOT_OP_ADD,     /* dst += src */
    INGOT_OP_SELECT_ROWS /* dst = the rows of src whose logits are asked for; later ops work on those rows. Exactly one per tape */
} ingot_op_kind;

typedef struct ingot_op_linear {
    ingot_buf dst;
    int weight;        /* index into the model's weights */
    const float *bias; /* [n_out] or NULL */
    int n_out;
} ingot_op_linear;

/* A row of a buffer is `heads` vectors of `dim` elements (1 vector for whole-row operations). */
typedef struct ingot_op {
    ingot_op_kind kind;
    ingot_buf dst, src;
    int layer, dim, heads, rope;
    float value;
    ingot_act act;
    const float *w;                 /* norm weights [dim], f32 */
    const ingot_gguf_tensor *table; /* embedding rows, in the file's number format */
    ingot_op_linear lin[3];
    int n_lin, n_in;
} ingot_op;

typedef struct ingot_model_build ingot_model_build; /* state while building: see model_build.h */

typedef struct ingot_arch {
    const char *name; /* general.architecture */
    ingot_status (*build)(ingot_model_build *b);
} ingot_arch;

const ingot_arch *ingot_arch_find(const char *name, size_t n); /* NULL when unknown */
int ingot_arch_count(void);
const ingot_arch *ingot_arch_at(int i);
#endif
