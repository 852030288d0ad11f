/* The stored integers of a row give the decoded values by the formulas beside ingot_wtype_run: EXACT. */
#include "test.h"
#include "wtype_vectors.h"
#include "base/half.h"

/* What the comment in wtype.h calls zero. */
static int zero_of(int type) {
    switch (type) {
    case INGOT_W_Q4_0: return 8;
    case INGOT_W_Q5_0: return 16;
    case INGOT_W_Q8_0: return 128;
    case INGOT_W_Q3_K: return 4;
    case INGOT_W_Q6_K: return 32;
    default: return 0;
    }
}

static float value_of(int type, const ingot_wtype_run *r, int j) {
    const int8_t *table = ingot_wtype_table((uint32_t)type);
    const float d = type == INGOT_W_MXFP4 ? r->e : ingot_f16_to_f32(r->d), m = ingot_f16_to_f32(r->m);
    const float c = (float)((table ? table[r->code[j]] : r->code[j]) - zero_of(type));
    switch (type) {
    case INGOT_W_Q4_1: case INGOT_W_Q5_1: return d * c + m;
    case INGOT_W_Q3_K: case INGOT_W_Q6_K: case INGOT_W_IQ4_XS: return d * (float)(int8_t)r->scale[j / 16] * c;
    case INGOT_W_Q2_K: case INGOT_W_Q4_K: case INGOT_W_Q5_K: return d * (float)r->scale[j / 16] * c - m * (float)r->min[j / 16];
    default: return d * c;
    }
}

TEST("wtype/runs of stored integers give the decoded values") {
    static float x[2048];
    int n_formats = 0;
    wtype_vector v;
    for (size_t at = 0; wtype_vector_next(&at, &v);) {
        const ingot_wtype_run_fn read = ingot_wtype_run_reader((uint32_t)v.w->type);
        CHECK_INT(read != NULL, v.w->block > 1); /* every format but the floats */
        if (!read) continue;
        n_formats++;
        for (uint32_t i = 0; i < v.n / 32; i++) {
            ingot_wtype_run r;
            memset(&r, 0, sizeof r);
            read(v.blocks, i, &r);
            for (int j = 0; j < 32; j++) x[32 * i + (uint32_t)j] = value_of(v.w->type, &r, j);
        }
        CHECK_MEM(x, v.want, 4 * (size_t)v.n);
    }
    CHECK_INT(n_formats, 13);
    CHECK(ingot_wtype_run_reader(255) == NULL && ingot_wtype_table(INGOT_W_Q4_0) == NULL);
}
