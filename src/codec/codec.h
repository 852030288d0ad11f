/* Codecs: number formats of one vector (one token of one KV head), in their one canonical form (docs/formats.md).
 * A codec stores a row of `dim` elements as `group`-wise scales and codes; back ends rearrange rows inside their pages
 * but never change a code or a scale. One file per codec, one line in codecs.def. */
#ifndef INGOT_CODEC_H
#define INGOT_CODEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ingot_codec_id {
#define CODEC(id, desc) INGOT_CODEC_##id,
#include "codecs.def"
#undef CODEC
    INGOT_N_CODECS
} ingot_codec_id;

typedef struct ingot_codec {
    const char *name, *description;
    int default_group;   /* 0: the codec has no group option */
    const int *groups;   /* allowed values, 0-terminated; NULL without option */
    const char *options; /* shown to users */
    /* Bytes of one canonical row. `group` is already effective: at most dim. */
    size_t (*row_bytes)(int dim, int group);
    /* x [dim] finite f32 -> row; row -> x. Pure, no allocation, deterministic, no contraction. */
    void (*encode)(const float *x, int dim, int group, void *row);
    void (*decode)(const void *row, int dim, int group, float *x);
    /* NULL when dim is fine, else the reason in a few words. */
    const char *(*check)(int dim, int group);
} ingot_codec;

const ingot_codec *ingot_codec_get(int id); /* NULL when out of range */
int ingot_codec_find(const char *name);     /* -1 when unknown */
#endif
