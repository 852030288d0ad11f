/* Encodes tokens straight into tiles: codes of one token as bytes first, then put where they belong. The arithmetic is
 * the codecs' own (src/codec), operation for operation, so that the rows are theirs bit for bit: no contraction, the same
 * roundings, f16 by the processor (the same round to nearest even). For files compiled for one instruction set. */
#ifndef INGOT_CPU_TILE_PUT_H
#define INGOT_CPU_TILE_PUT_H
#include "tile16.h"
#include "vec.h"
#include <string.h>

#define HALF_MAX 65504.f
enum { Q8_GROUP = 32 };

VEC_INLINE vf clip(vf x) { return vf_min(vf_max(x, vf_set(-HALF_MAX)), vf_set(HALF_MAX)); }

#if defined(__aarch64__)
typedef uint8x16_t bytes_16;
VEC_INLINE bytes_16 load_bytes(const uint8_t *p) { return vld1q_u8(p); }
/* Nibbles below 16, which become two's complement of codes less 8. */
VEC_INLINE bytes_16 centred_pairs(bytes_16 low, bytes_16 high) { return veorq_u8(vorrq_u8(low, vshlq_n_u8(high, 4)), vdupq_n_u8(0x88)); }
#else
typedef __m128i bytes_16;
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
VEC_INLINE bytes_16 load_bytes(const uint8_t *p) { return _mm_loadu_si128((const void *)p); }
VEC_INLINE bytes_16 centred_pairs(bytes_16 low, bytes_16 high) { return _mm_xor_si128(_mm_or_si128(low, _mm_slli_epi16(high, 4)), _mm_set1_epi8((char)0x88)); }
#endif

#if defined(__aarch64__)
VEC_INLINE void store_halves(uint16_t *p, vf x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
VEC_INLINE void store_bytes(uint8_t *p, int32x4_t i) {
    const int16x4_t w = vqmovn_s32(i);
    const uint32_t b = vget_lane_u32(vreinterpret_u32_s8(vqmovn_s16(vcombine_s16(w, w))), 0);
    memcpy(p, &b, 4);
}
VEC_INLINE void store_nearest(uint8_t *p, vf x) { store_bytes(p, vcvtnq_s32_f32(x)); }
VEC_INLINE void store_away(uint8_t *p, vf x) { store_bytes(p, vcvtaq_s32_f32(x)); }
VEC_INLINE vf magnitude(vf x) { return vabsq_f32(x); }
VEC_INLINE void store_lane_bytes(uint8_t *row, int b, bytes_16 bytes) {
    uint8_t x[16];
    vst1q_u8(x, bytes);
    VEC_UNROLL(16) for (int i = 0; i < 16; i++) row[4 * i + b] = x[i];
}
#elif defined(__AVX512F__)
VEC_INLINE void store_halves(uint16_t *p, vf x) { _mm256_storeu_si256((void *)p, _mm512_cvtps_ph(x, NEAREST)); }
/* Integers of small floats as bytes: to nearest even, or half away from zero as roundf. */
VEC_INLINE void store_nearest(uint8_t *p, vf x) { _mm_storeu_si128((void *)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x))); }
VEC_INLINE void store_away(uint8_t *p, vf x) {
    const __m512 half = _mm512_or_ps(_mm512_and_ps(x, _mm512_set1_ps(-0.f)), _mm512_set1_ps(0.49999997f));
    _mm_storeu_si128((void *)p, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(_mm512_add_ps(x, half))));
}
VEC_INLINE vf magnitude(vf x) { return _mm512_abs_ps(x); }
/* Byte b of the 16 lanes of a row; the other bytes stay untouched. */
VEC_INLINE void store_lane_bytes(uint8_t *row, int b, bytes_16 bytes) {
    const __m512i v = _mm512_sll_epi32(_mm512_cvtepu8_epi32(bytes), _mm_cvtsi32_si128(8 * b));
    _mm512_mask_storeu_epi8(row, 0x1111111111111111ull << b, v);
}
#else
VEC_INLINE void store_halves(uint16_t *p, vf x) { _mm_storeu_si128((void *)p, _mm256_cvtps_ph(x, NEAREST)); }
VEC_INLINE void store_bytes(uint8_t *p, __m256i i) {
    const __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
    _mm_storel_epi64((void *)p, _mm_packs_epi16(w, w));
}
VEC_INLINE void store_nearest(uint8_t *p, vf x) { store_bytes(p, _mm256_cvtps_epi32(x)); }
VEC_INLINE void store_away(uint8_t *p, vf x) {
    const __m256 half = _mm256_or_ps(_mm256_and_ps(x, _mm256_set1_ps(-0.f)), _mm256_set1_ps(0.49999997f));
    store_bytes(p, _mm256_cvttps_epi32(_mm256_add_ps(x, half)));
}
VEC_INLINE vf magnitude(vf x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), x); }
VEC_INLINE void store_lane_bytes(uint8_t *row, int b, bytes_16 bytes) {
    uint8_t x[16];
    _mm_storeu_si128((void *)x, bytes);
    VEC_UNROLL(16) for (int i = 0; i < 16; i++) row[4 * i + b] = x[i];
}
#endif

/* --- encode --- */

/* As encode_group in src/codec/affine.c; codes one a byte. */
VEC_INLINE void encode_int4(const float *x, int n, uint16_t *scale, uint16_t *mid, uint8_t *codes) {
    vf lo_v = vf_load(x), hi_v = lo_v;
    for (int i = VW; i < n; i += VW) {
        const vf v = vf_load(x + i);
        lo_v = vf_min(lo_v, v);
        hi_v = vf_max(hi_v, v);
    }
    const float lo = -vf_top(vf_sub(vf_zero(), clip(lo_v))), hi = vf_top(clip(hi_v));
    *scale = float_to_half((hi - lo + 0.f) / 15.f); /* + 0: a group of zeros of both signs has the scale 0, not -0 */
    const float s = half_to_float(*scale), m0 = (lo + hi) * 0.5f + s * 0.5f;
    *mid = float_to_half(m0 > HALF_MAX ? HALF_MAX : m0 < -HALF_MAX ? -HALF_MAX : m0);
    const vf m = vf_set(half_to_float(*mid)), inverse = vf_set(s > 0.f ? 1.f / s : 0.f);
    for (int i = 0; i < n; i += VW) {
        const vf c = vf_mul(vf_sub(clip(vf_load(x + i)), m), inverse);
        store_nearest(codes + i, vf_add(vf_round(vf_min(vf_max(c, vf_set(-8.f)), vf_set(7.f))), vf_set(8.f)));
    }
}

/* As encode_block in src/codec/q8_0.c. */
VEC_INLINE void encode_q8(const float *x, int n, uint16_t *scale, uint8_t *codes) {
    vf top = vf_zero();
    for (int i = 0; i < n; i += VW) top = vf_max(top, magnitude(vf_load(x + i)));
    float d = vf_top(top) / 127.f;
    if (d > HALF_MAX) d = HALF_MAX;
    *scale = float_to_half(d);
    const vf inverse = vf_set(d > 0.f ? 1.f / d : 0.f);
    /* The maximum takes its second operand for 0 * infinity, as fmaxf takes the number. */
    for (int i = 0; i < n; i += VW) store_away(codes + i, vf_min(vf_max(vf_mul(vf_load(x + i), inverse), vf_set(-127.f)), vf_set(127.f)));
}

/* --- put --- */

static void put_k_f16(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    uint16_t h[16];
    for (int t = 0; t < n; t++, slot++) {
        uint8_t *out = tile + ((ptrdiff_t)(slot / 16) * f->dim * 16 + slot % 16) * 2;
        for (int c = 0; c < f->dim; c += 16, out += 512) {
            for (int i = 0; i < 16; i += VW) store_halves(h + i, clip(vf_load(x + t * stride + c + i)));
            VEC_UNROLL(16) for (int i = 0; i < 16; i++) memcpy(out + 32 * i, &h[i], 2);
        }
    }
}

static void put_v_f16(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    for (int t = 0; t < n; t++) {
        uint16_t *out = (uint16_t *)(void *)tile + (ptrdiff_t)(slot + t) * f->dim;
        for (int c = 0; c < f->dim; c += VW) store_halves(out + c, clip(vf_load(x + t * stride + c)));
    }
}

static void put_k_q8(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    tile16 t16;
    tile16_make(&t16, f);
    uint16_t *scales = (uint16_t *)(void *)tile;
    uint8_t codes[Q8_GROUP];
    for (int t = 0; t < n; t++, slot++) {
        uint8_t *out = tile + t16.codes + (ptrdiff_t)(slot / 16) * t16.dim * 16 + slot % 16 * 4;
        for (int c0 = 0; c0 < t16.dim; c0 += Q8_GROUP) {
            const int m = t16.dim - c0 < Q8_GROUP ? t16.dim - c0 : Q8_GROUP;
            encode_q8(x + t * stride + c0, m, &scales[tile16_k_scale(t16.n_groups, c0 / Q8_GROUP, slot)], codes);
            for (int i = 0; i < m; i += 4, out += 64) {
                uint32_t w;
                memcpy(&w, codes + i, 4);
                w ^= 0x80808080u;
                memcpy(out, &w, 4);
            }
        }
    }
}

static void put_v_q8(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    tile16 t16;
    tile16_make(&t16, f);
    uint16_t *scales = (uint16_t *)(void *)tile;
    uint8_t codes[Q8_GROUP];
    for (int t = 0; t < n; t++, slot++) {
        uint8_t *row = tile + t16.codes + slot % 16 * 64;
        for (int c0 = 0; c0 < t16.dim; c0 += Q8_GROUP) {
            const int m = t16.dim - c0 < Q8_GROUP ? t16.dim - c0 : Q8_GROUP;
            encode_q8(x + t * stride + c0, m, &scales[tile16_v_scale(c0 / Q8_GROUP, slot)], codes);
            for (int i = 0; i < m; i += 16, row += 1024) store_lane_bytes(row, slot / 16, load_bytes(codes + i));
        }
    }
}

/* One token's scales and mids into their planes, its codes one a byte. */
VEC_INLINE void encode_row_int4(const tile16 *t16, uint8_t *tile, bool k, int slot, const float *x, uint8_t *codes) {
    uint16_t *scales = (uint16_t *)(void *)tile, *mids = (uint16_t *)(void *)(tile + t16->offsets);
    for (int g = 0; g < t16->n_groups; g++) {
        const int c = g * t16->group, n = t16->dim - c < t16->group ? t16->dim - c : t16->group;
        const size_t at = k ? tile16_k_scale(t16->n_groups, g, slot) : tile16_v_scale(g, slot);
        encode_int4(x + c, n, &scales[at], &mids[at], codes + c);
    }
}

static void put_k_int4(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    tile16 t16;
    tile16_make(&t16, f);
    uint8_t codes[TILE_MAX_DIM];
    for (int t = 0; t < n; t++, slot++) {
        uint8_t *out = tile + t16.codes + (ptrdiff_t)(slot / 16) * t16.dim * 8 + slot % 16 * 4;
        encode_row_int4(&t16, tile, true, slot, x + t * stride, codes);
        for (int c = 0; c < t16.dim; c += 8, out += 64) {
            uint64_t w;
            memcpy(&w, codes + c, 8);
            const uint32_t pair = (uint32_t)(w | w >> 28);
            memcpy(out, &pair, 4);
        }
    }
}

/* The last 16 channels, whose bytes hold two tokens. */
static void put_v_int4_tail(uint8_t *unit, int slot, const uint8_t *codes) {
    uint8_t *row = unit + slot % 8 * 64 + slot / 16;
    const int shift = slot % 16 >= 8 ? 4 : 0;
    for (int i = 0; i < 16; i++) row[4 * i] = (uint8_t)((row[4 * i] & (0xf0u >> shift)) | (codes[i] ^ 8u) << shift);
}

static void put_v_int4(const ingot_kv_fmt *f, uint8_t *tile, int slot, int n, const float *x, ptrdiff_t stride) {
    tile16 t16;
    tile16_make(&t16, f);
    uint8_t codes[TILE_MAX_DIM];
    for (int t = 0; t < n; t++, slot++) {
        uint8_t *unit = tile + t16.codes;
        int c = 0;
        encode_row_int4(&t16, tile, false, slot, x + t * stride, codes);
        for (; c + 32 <= t16.dim; c += 32, unit += 1024) {
            store_lane_bytes(unit + slot % 16 * 64, slot / 16, centred_pairs(load_bytes(codes + c), load_bytes(codes + c + 16)));
        }
        if (c < t16.dim) put_v_int4_tail(unit, slot, codes + c);
    }
}

#define TILE_PUT_TABLE                                                                                                        \
    {                                                                                                                         \
        [INGOT_SIDE_K] = {[INGOT_CODEC_F16] = put_k_f16, [INGOT_CODEC_Q8_0] = put_k_q8, [INGOT_CODEC_INT4] = put_k_int4},     \
        [INGOT_SIDE_V] = {[INGOT_CODEC_F16] = put_v_f16, [INGOT_CODEC_Q8_0] = put_v_q8, [INGOT_CODEC_INT4] = put_v_int4},     \
    }
#endif
