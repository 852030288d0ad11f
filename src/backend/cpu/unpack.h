/* Tiles of canonical blocks, read by vector loops: chunks of at most 64 channels as floats. */
#ifndef INGOT_CPU_UNPACK_H
#define INGOT_CPU_UNPACK_H
#include "code_plan.h"
#include "cpu_kv.h"

/* Channels [c0, c0 + channels) of the tokens of the window w: K as out [channel][64 tokens], V as [64 tokens][64]. Tokens outside may stay as they were. */
typedef void (*unpack_codes_fn)(const code_part *p, const uint8_t *tile, cpu_window w, int c0, int channels, float *out);
/* Keys, all channels: out [dim][64]. */
typedef void (*unpack_page_fn)(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, float *out);
typedef void (*unpack_own_fn)(const ingot_kv_fmt *f, const uint8_t *tile, cpu_window w, int c0, int channels, float *out);

/* [side]; the codecs with loops of their own are those of ROUTE_OWN and ROUTE_PAGE. */
typedef struct cpu_unpack {
    unpack_codes_fn codes[2];
    unpack_page_fn page[INGOT_N_CODECS];
    unpack_own_fn own[2][INGOT_N_CODECS];
} cpu_unpack;
extern const cpu_unpack ingot_unpack_avx2, ingot_unpack_avx512, ingot_unpack_neon;
#endif
