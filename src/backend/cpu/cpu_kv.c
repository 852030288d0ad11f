/* The cache's part of the CPU back end: tiles for registers with 16 tokens side by side, and attention on them. */
#include "cpu_kv.h"
#include "../../base/cpu.h"
#include "attend_packed.h"
#include "code_plan.h"

#if defined(__x86_64__) || defined(__aarch64__)
/* In float: one chunk of 64 channels, a decoded page (the sides take turns), scores and state of a pass, and what the routes keep for each row. */
static size_t rows_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    const size_t pass = (size_t)(n_rows < CPU_PASS_ROWS ? n_rows : CPU_PASS_ROWS);
    cpu_side ks, vs;
    ingot_cpu_side_plan(&ks, k, INGOT_SIDE_K, n_rows);
    ingot_cpu_side_plan(&vs, v, INGOT_SIDE_V, n_rows);
    const size_t decoded = ks.decoded > vs.decoded ? ks.decoded : vs.decoded;
    return (64 * 64 + decoded + pass * (64 + ks.of_row + vs.of_row)) * sizeof(float) + pass * sizeof(cpu_row);
}

/* Of whatever number of rows up to the most needs the most: few rows may take another route. Packed: whatever that path lays out. */
static size_t attend_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_group, int max_tokens) {
    const int n_rows = n_group * max_tokens;
    size_t most = rows_bytes(k, v, n_rows);
    if (n_rows > SCORE_ROWS && rows_bytes(k, v, SCORE_ROWS) > most) most = rows_bytes(k, v, SCORE_ROWS);
    const size_t packed = tile16_has(k) && tile16_has(v) ? ingot_attend_packed_scratch_bytes(k, v, n_rows) : 0;
    return (most > packed ? most : packed) + 64;
}

void ingot_cpu_kv_init(ingot_backend *b) {
    const ingot_isa isa = ingot_cpu_get()->isa;
    if (isa == INGOT_ISA_REF) return;
    b->attend_scratch_bytes = attend_scratch_bytes;
#if defined(__x86_64__)
    tile16_init(b->tile, ingot_tile_put_avx2);
    b->attend = ingot_cpu_attend_avx2;
    b->merge = ingot_cpu_merge_avx2;
    b->normalize = ingot_cpu_normalize_avx2;
    if (isa >= INGOT_ISA_AVXVNNI) b->attend = ingot_cpu_attend_avxvnni;
    if (isa < INGOT_ISA_AVX512) return;
    tile16_init(b->tile, ingot_tile_put_avx512);
    b->attend = ingot_cpu_attend_avx512;
    b->merge = ingot_cpu_merge_avx512;
    b->normalize = ingot_cpu_normalize_avx512;
#else
    tile16_init(b->tile, ingot_tile_put_neon);
    b->attend = isa >= INGOT_ISA_I8MM ? ingot_cpu_attend_neon_i8mm : isa >= INGOT_ISA_DOTPROD ? ingot_cpu_attend_neon_dotprod : ingot_cpu_attend_neon;
    b->merge = ingot_cpu_merge_neon;
    b->normalize = ingot_cpu_normalize_neon;
#endif
}
#else
void ingot_cpu_kv_init(ingot_backend *b) { (void)b; }
#endif
