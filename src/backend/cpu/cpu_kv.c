/* The cache's part of the CPU back end: tiles for registers with 16 tokens side by side, and attention on them. */
#include "cpu_kv.h"
#include "../../base/cpu.h"
#include "attend_packed.h"
#include "code_plan.h"

#if defined(__x86_64__)
static size_t of_wide(const ingot_kv_fmt *f, cpu_route route, const code_plan *plan) {
    return route == ROUTE_PLAN && code_plan_is_wide(plan, f) ? (size_t)plan->begin[plan->n] : 0;
}

cpu_extra ingot_cpu_extra(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    code_plan plan;
    cpu_extra x = {0};
    cpu_route route = ingot_cpu_route(k, INGOT_SIDE_K, n_rows, &plan);
    x.query = route == ROUTE_SCORE ? (ingot_codec_get(k->codec)->query_bytes(k) + 63) / 64 * 16 : of_wide(k, route, &plan);
    if (route == ROUTE_DECODE) x.decoded = INGOT_PAGE_TOKENS * (size_t)k->dim;
    route = ingot_cpu_route(v, INGOT_SIDE_V, n_rows, &plan);
    x.out = of_wide(v, route, &plan);
    if (route == ROUTE_DECODE && x.decoded < INGOT_PAGE_TOKENS * (size_t)v->dim) x.decoded = INGOT_PAGE_TOKENS * (size_t)v->dim;
    return x;
}

/* In float: one chunk of 64 channels, scores and state of a pass, and what the routes need. */
static size_t rows_bytes(const ingot_kv_fmt *k, const ingot_kv_fmt *v, int n_rows) {
    const size_t pass = (size_t)(n_rows < CPU_PASS_ROWS ? n_rows : CPU_PASS_ROWS);
    const cpu_extra x = ingot_cpu_extra(k, v, n_rows);
    return (64 * 64 + x.decoded + pass * (64 + x.query + x.out)) * sizeof(float) + pass * sizeof(cpu_row);
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
