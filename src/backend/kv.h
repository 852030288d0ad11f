/* The key/value part of the back end interface: tiles of 64 tokens, encode into them, attend on them.
 *
 * A page of the cache holds INGOT_PAGE_TOKENS tokens of one layer: for each KV head a K tile, then a V tile. How the bytes
 * lie inside a tile belongs to the back end; zero bytes are valid (absent tokens are masked by range, but whatever
 * a zeroed or stale slot decodes to must be finite or must not reach a result). */
#ifndef INGOT_BACKEND_KV_H
#define INGOT_BACKEND_KV_H
#include "../codec/codec.h"
#include <ingot/status.h>
#include <ingot/types.h>

/* Functions of one codec and side in one back end. */
typedef struct ingot_tile_ops {
    /* Whether they serve a format of the codec; NULL: all. Others have plain tiles: see ingot_backend_tile. */
    bool (*takes)(const ingot_kv_fmt *f);
    /* Bytes of a tile of 64 tokens; a multiple of 64. */
    size_t (*bytes)(const ingot_kv_fmt *f);
    /* Encodes n tokens x[i*stride .. +dim] into slots [slot, slot+n), slot+n <= 64; neighbours stay untouched. Codecs with blocks of several
     * tokens write every block that the range touches anew: its other slots become absent. */
    void (*put)(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride);
    /* Canonical block that starts at a slot (a multiple of the codec's tokens) out of / into the tile. */
    void (*get_block)(const ingot_kv_fmt *f, const uint8_t *tile, int slot, void *block);
    void (*set_block)(const ingot_kv_fmt *f, uint8_t *tile, int slot, const void *block);
} ingot_tile_ops;

/* One attention call: rows of queries that share one KV head, over consecutive pages of one sequence.
 * Row r = (query token r / n_group, head r % n_group of the KV head's group). Position p of the run lies in page p/64, slot p%64
 * (p counted from the first page of the run). Row r sees positions [lo[t], hi[t]) with t = r / n_group.
 * The state is an online softmax: m (running maximum of the scaled scores, natural-log units, -INFINITY when empty), l (sum), o (unnormalised
 * output), read and written, so that a call continues where an earlier one ended; an empty range leaves it as it is. */
typedef struct ingot_attend_args {
    ingot_kv_fmt k, v;
    const uint8_t *const *tiles; /* [n_pages]: K tile of this KV head in each page */
    size_t v_offset;             /* V tile = K tile + v_offset */
    int n_pages;
    const float *q;              /* row r at q + (r / n_group) * q_token_stride + (r % n_group) * k.dim */
    ptrdiff_t q_token_stride;
    int n_tokens, n_group;
    const int32_t *lo, *hi;      /* [n_tokens] */
    float scale;
    bool fast;                   /* integer products of 8 bits are enough (relative error about 1e-2); a back end without them is precise */
    float *m, *l;                /* [n_tokens * n_group] */
    float *o;                    /* [n_tokens * n_group][v.dim] */
    void *scratch;               /* of the calling thread, attend_scratch_bytes() */
} ingot_attend_args;
#endif
