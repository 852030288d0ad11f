/* Codecs: number formats of the vectors of one KV head, in their one canonical form (docs/formats.md).
 * A canonical block holds one token's vector ("row"), or, for codecs that share scales between tokens, `tokens` of them. Back ends may rearrange
 * blocks inside their tiles but never change a code or a scale. One file per codec (or family), one line per codec in codecs.def. */
#ifndef INGOT_CODEC_H
#define INGOT_CODEC_H
#include <ingot/calibration.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ingot_codec_id {
#define CODEC(id, desc) INGOT_CODEC_##id,
#include "codecs.def"
#undef CODEC
    INGOT_N_CODECS
} ingot_codec_id;

typedef enum ingot_kv_side { INGOT_SIDE_K, INGOT_SIDE_V } ingot_kv_side;

/* What a codec takes from a calibration for one layer, side and KV head. */
typedef struct ingot_codec_params {
    const float *codebook;  /* [1 << bits][group], rows are centroids */
    const float *half_norm; /* [1 << bits] half the squared norm of each centroid */
    const struct ingot_codebook_search *search; /* what finds the nearest centroid (codebook.h) */
} ingot_codec_params;

/* One side's number format in one layer (and head, where there are params). */
typedef struct ingot_kv_fmt {
    int codec;
    int group;   /* effective: channels per scale (at most dim), or tokens per scale; 0 for codecs without the option */
    int dim;     /* elements of a vector, a multiple of 16 from 16 to 512 */
    int variant; /* index into the codec's variants; 0 for codecs without */
    ingot_kv_side side;
    bool adjacent_pairs; /* RoPE rotates channels (2j, 2j + 1); else (j, j + dim / 2) */
    const ingot_codec_params *params; /* NULL for codecs that need none, and where only sizes are asked for */
} ingot_kv_fmt;

/* Rows whose elements decode as level[code] * scale + offset, each scale (and offset) for `group` channels of one token. A back end
 * with a loop for this shape serves every codec that has one. Group g (the last may be shorter): its scale lies at scale_at + g * scale_stride,
 * its offset at offset_at + g * offset_stride, its codes start at code_at + g * code_stride bytes of the row. */
typedef enum ingot_scale_kind {
    INGOT_SCALE_F16,
    INGOT_SCALE_E4M3, /* a byte, FP8 E4M3 (finite, no sign) */
    INGOT_SCALE_E8M0  /* a byte b: 2^(b - 127) */
} ingot_scale_kind;
typedef enum ingot_code_order {
    INGOT_ORDER_LSB,  /* element i in bits [i * bits, (i + 1) * bits) of the group's codes, least significant first */
    INGOT_ORDER_HALVES /* 4 or 5 bits, groups of 32 (ggml): byte j of a group of n elements holds the low four bits of element j (low) and j + n / 2 (high);
                        * a last group may have n = 16. With 5 bits n / 8 bytes come first, bit j = the fifth bit of element j */
} ingot_code_order;
typedef struct ingot_code_shape {
    int bits;           /* 1 to 8 */
    const float *level; /* [1 << bits] */
    float unit;         /* the levels are integers from -127 to 127 (up to 4 bits; -128 for 8) times this, so that integer products serve; 0: they are not */
    bool signed_scale;  /* scales may be negative */
    ingot_code_order order;
    ingot_scale_kind scale_kind;
    int group;          /* channels */
    bool has_offset;    /* f16 */
    int token_stride;   /* 0 for rows. Else a block of several tokens, whose f16 scales and offsets belong to channels (group = 1): those of channel c lie at
                         * scale_at + c * scale_stride and offset_at + c * offset_stride, the codes of all channels of token t from code_at + t * token_stride on */
    int scale_at, scale_stride, offset_at, offset_stride, code_at, code_stride;
} ingot_code_shape;

typedef struct ingot_codec {
    const char *name, *description;
    const char *source;   /* where it comes from, such as "arXiv 2402.02750"; NULL when there is nothing to cite */
    unsigned sides;       /* bit INGOT_SIDE_K, bit INGOT_SIDE_V: where it can be used */
    int default_group;    /* 0: the codec has no group option */
    const int *groups;    /* allowed values, 0-terminated; NULL without option */
    bool group_is_tokens; /* on the K side, `group` counts tokens (the size of a block) and is not clipped to dim */
    const char *variant_key;        /* name of the option that selects a variant, such as "scale"; NULL without variants */
    const char *const *variants;    /* NULL-terminated */
    int default_variant[2];         /* by side */
    const char *options;  /* shown to users, such as "group=32|64|128,scale=paper|unbiased"; "" without */
    int needs;            /* enum ingot_cal_kind that params are made from, INGOT_CAL_NONE for most */
    int code_bits;        /* bits of a code where params hold a codebook; else 0 */
    const char *frame[2]; /* by side: the transforms that the calibration was made behind, such as "smooth,hadamard" ("" = none); NULL = any */

    /* Tokens of one block; NULL: 1. Divides INGOT_PAGE_TOKENS. */
    int (*tokens)(const ingot_kv_fmt *f);
    /* Bytes of one canonical block. */
    size_t (*block_bytes)(const ingot_kv_fmt *f);
    /* x finite f32: token i of the block at x + i * stride, i in [first, first + n) (0 and 1 for blocks of one token); tokens outside are absent: they
     * take no part in scales, and their codes are 0. Pure, no allocation, deterministic, no contraction. Whatever x is, the block decodes to finite numbers. */
    void (*encode)(const ingot_kv_fmt *f, const float *x, ptrdiff_t stride, int first, int n, void *block);
    /* block -> x [tokens][dim]; defines the value form, against which every other form is held. */
    void (*decode)(const ingot_kv_fmt *f, const void *block, float *x);
    /* NULL when f (dim, group, side) is fine, else the reason in a few words. */
    const char *(*check)(const ingot_kv_fmt *f);

    /* The shape of a block; NULL where it is not of this kind. */
    void (*shape)(const ingot_kv_fmt *f, ingot_code_shape *out);

    /* Rows of two parts, each of a shape (of rows): part 0 holds the first channels[0] elements, part 1 the others. NULL for codecs of one part.
     * With `narrow` the parts make a vector w of a wider frame, [channels[0] + channels[1]]: the row decodes to narrow(w), which is linear, and
     * <q, narrow(w)> = <prepare(q), w>, up to rounding, where prepare makes floats [channels[0] + channels[1]]. */
    void (*parts)(const ingot_kv_fmt *f, ingot_code_shape part[2], int channels[2]);
    void (*narrow)(const ingot_kv_fmt *f, const float *w, float *x);

    /* Score form, K side, all three or none: scores without decoding. prepared (query_bytes, aligned to 64) is made once per query q [dim] f32;
     * s [tokens] = <q, decode(block)[token]>, up to rounding. */
    size_t (*query_bytes)(const ingot_kv_fmt *f);
    void (*prepare)(const ingot_kv_fmt *f, const float *q, void *prepared);
    void (*score)(const ingot_kv_fmt *f, const void *prepared, const void *block, float *s);
} ingot_codec;

const ingot_codec *ingot_codec_get(int id); /* NULL when out of range */
int ingot_codec_find(const char *name);     /* -1 when unknown */
/* Tokens of a block of f. */
int ingot_codec_tokens(const ingot_kv_fmt *f);

/* Bytes that ingot_codec_params_fill needs; 0 for codecs without a codebook. f: codec, group. */
size_t ingot_codec_params_bytes(const ingot_kv_fmt *f);
/* Derives the params of a codebook [1 << code_bits][group] in memory [ingot_codec_params_bytes] aligned to 64; both must outlive *out.
 * NULL, or what is wrong with the codebook in a few words. */
const char *ingot_codec_params_fill(const ingot_kv_fmt *f, const float *codebook, void *memory, ingot_codec_params *out);
#endif
