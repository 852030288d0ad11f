/* Architectures: each file checks shapes, binds tensors and lays down a fixed tape of layer operations; the engine runs tapes and
 * knows no architecture. One file, one line in archs.def. */
#ifndef INGOT_MODEL_ARCH_H
#define INGOT_MODEL_ARCH_H
#include "../backend/backend.h"
#include "../gguf/gguf.h"
#include <ingot/cache.h>

/* Activation buffers of a forward pass, f32 [n_tokens][width]. */
typedef enum ingot_buf { INGOT_BUF_X, INGOT_BUF_NORM, INGOT_BUF_Q, INGOT_BUF_K, INGOT_BUF_V, INGOT_BUF_ATT, INGOT_BUF_GATE, INGOT_BUF_UP, INGOT_BUF_TMP, INGOT_BUF_LOGITS, INGOT_N_BUFS } ingot_buf;

typedef enum ingot_op_kind {
    INGOT_OP_EMBED,   /* dst = rows of table `weight_raw`, times `value` */
    INGOT_OP_RMSNORM, /* dst = norm(src) * w; `heads` > 1: each of the heads of a row by itself, w [dim] shared */
    INGOT_OP_LINEAR,  /* dst_i = W_i src (+ bias_i), up to 3 that share src */
    INGOT_OP_ROPE,    /* dst rotated in place with rope table `rope` */
    INGOT_OP_ATTEND,  /* ATT = attention(Q, K, V) of `layer` (appends K and V first) */
    INGOT_OP_GLU,     /* dst = act(dst) * src */
    INGOT_OP_ADD,     /* dst += src */
    INGOT_OP_SCALE,   /* dst *= value */
    INGOT_OP_SELECT_ROWS /* keeps only rows whose logits are wanted: dst (compact) = src; later ops work on those */
} ingot_op_kind;

typedef struct ingot_op {
    ingot_op_kind kind;
    ingot_buf dst, src;
    int layer, dim, heads, rope;
    float value; /* eps, scale */
    ingot_act act;
    const float *w; /* norm weights [dim], converted to f32 */
    struct { ingot_buf dst; ingot_weight *w; const float *bias; int n_out; } lin[3];
    int n_lin, n_in;
} ingot_op;

/* cos/sin are computed per batch from these. angle(pos, j) = pos * freq[j]; cos and sin are multiplied by mscale. */
typedef struct ingot_rope_spec { int n_rot; bool neox; float mscale; float *freq; /* [n_rot/2] owned by the model */ } ingot_rope_spec;

typedef struct ingot_model_build ingot_model_build; /* helper state while building: see model_build.h */

typedef struct ingot_arch {
    const char *name; /* general.architecture */
    ingot_status (*build)(ingot_model_build *b);
} ingot_arch;

const ingot_arch *ingot_arch_find(const char *name);
int ingot_arch_count(void);
const ingot_arch *ingot_arch_at(int i);
#endif
