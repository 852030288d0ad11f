/* The cache's part of the CPU back end: tiles for registers with 16 tokens side by side, and attention on them. */
#include "cpu_kv.h"
#include "../../base/cpu.h"
#include "attend_packed.h"
#include "code_plan.h"

#if defined(__x86_64__)
static size_t decoded_floats(const ingot_kv_fmt *f) {
    code_plan plan;
    return tile16_has(f) || ingot_code_plan(f, &plan) ? 0 : INGOT_PAGE_TOKENS * (size_t)f->dim;
}

size_t cpu_decoded_floats(const ingot_kv_fmt *k, const ingot_kv_fmt *v) {
    const size_t of_k = decoded_floats(k), of_v = decoded_floats(v);
    return of_k > of_v ? of_k : of_v;
}

/* In float: one chunk of 64 channels, a decoded page, scores and state of a pass. Packed: whatever that path lays out. */
static size_t attend_scratch_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_group, int max_tokens) {
    const int n_rows = n_group * max_tokens, pass = n_rows < CPU_PASS_ROWS ? n_rows : CPU_PASS_ROWS;
    const size_t rows = (64 * 64 + cpu_decoded_floats(k, v)) * sizeof(float) + (size_t)pass * (64 * sizeof(float) + sizeof(cpu_row));
    const size_t packed = tile16_has(k) && tile16_has(v) ? ingot_attend_packed_scratch_bytes(k, v, n_rows) : 0;
    return (rows > packed ? rows : packed) + 64;
}

void ingot_cpu_kv_init(ingot_backend *b) {
    const ingot_isa isa = ingot_cpu_get()->isa;
    if (isa != INGOT_ISA_AVX2 && isa != INGOT_ISA_AVX512) return;
    tile16_init(b->tile, ingot_tile_put_avx2);
    b->attend_scratch_bytes = attend_scratch_bytes;
    b->attend = ingot_cpu_attend_avx2;
    b->merge = ingot_cpu_merge_avx2;
    b->normalize = ingot_cpu_normalize_avx2;
    if (isa < INGOT_ISA_AVX512) return;
    tile16_init(b->tile, ingot_tile_put_avx512);
    b->attend = ingot_cpu_attend_avx512;
    b->merge = ingot_cpu_merge_avx512;
    b->normalize = ingot_cpu_normalize_avx512;
}
#else
void ingot_cpu_kv_init(ingot_backend *b) { (void)b; }
#endif
