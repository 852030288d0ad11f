/* Rearranging the rows of a quantised matrix into groups of 16 (linear.h). */
#include "linear.h"
#include "weight_arena.h"
#include "../../base/alloc.h"
#include "../../base/checked.h"
#include "../../base/error.h"
#include "../../gguf/wtype.h"
#include <string.h>

static const lin_format formats[] = {
#define FORMAT(type, code, scale, part, zero) {INGOT_W_##type, code, scale, part, zero},
    LIN_FORMATS(FORMAT)
#undef FORMAT
};

static const lin_format *format_of(int type) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i].type == type) return &formats[i];
    }
    return NULL;
}

/* Codes of one row's run into the vectors of its group; the place is zero before. */
static void put_codes(int code, uint8_t *at, const uint8_t *c) {
    if (code == LIN_C8) {
        for (int j = 0; j < 8; j++) memcpy(at + j * 64, c + 4 * j, 4);
        return;
    }
    for (int j = 0; j < 4; j++) {
        for (int b = 0; b < 4; b++) at[j * 64 + b] = (uint8_t)((c[4 * j + b] & 15) | c[16 + 4 * j + b] << 4);
    }
    if (code == LIN_C5) {
        for (int i = 0; i < 32; i++) at[256 + i % 4] |= (uint8_t)((c[i] >> 4) << (i / 4));
    } else if (code == LIN_C6) {
        for (int i = 0; i < 32; i++) at[256 + (i / 16) * 64 + i % 4] |= (uint8_t)((c[i] >> 4) << (2 * (i / 4 % 4)));
    }
}

static void put_u16(uint8_t *at, uint16_t v) { memcpy(at, &v, 2); }

/* Scales of run i of lane r; `plane` is the group's. */
static void put_scales(const lin_format *f, uint8_t *plane, int i, int r, const ingot_wtype_run *run) {
    const int per_run = f->scale == LIN_K || f->scale == LIN_KM ? 0 : 1, parts = LIN_RUN / f->part;
    uint8_t *at = plane + (size_t)(per_run ? i : i / 8) * lin_scale_bytes(f->scale, f->part);
    if (f->scale == LIN_E) {
        memcpy(at + 4 * r, &run->e, 4);
        return;
    }
    const bool min = f->scale == LIN_DM || f->scale == LIN_KM;
    put_u16(at + 2 * r, run->d);
    if (min) put_u16(at + 32 + 2 * r, run->m);
    if (per_run) return;
    at += min ? 64 : 32;
    for (int h = 0; h < parts; h++) {
        const int part = i % 8 * parts + h;
        at[part * (min ? 32 : 16) + r] = run->scale[h];
        if (min) at[part * 32 + 16 + r] = run->min[h];
    }
}

static void pack_group(ingot_weight *w, int g, const uint8_t *rows, ingot_wtype_run_fn read) {
    uint8_t *codes = w->data + (size_t)g * w->group_bytes, *scales = codes + w->scales_at;
    const int n = w->n_out - g * LIN_ROWS < LIN_ROWS ? w->n_out - g * LIN_ROWS : LIN_ROWS;
    const size_t code_bytes = lin_code_bytes(w->format->code);
    for (int i = 0; i < w->n_in / LIN_RUN; i++, codes += code_bytes) {
        for (int r = 0; r < n; r++) {
            ingot_wtype_run run;
            read(rows + (size_t)r * (size_t)w->row_bytes, i, &run);
            put_codes(w->format->code, codes + 4 * r, run.code);
            put_scales(w->format, scales, i, r, &run);
        }
    }
}

/* Allocates the matrix and the place for its groups. */
static ingot_weight *weight_create(int type, int n_out, int n_in, const void *data) {
    const ingot_wtype_info *info = ingot_wtype_get((uint32_t)type);
    ingot_weight *w = ingot_alloc(sizeof *w, INGOT_MEM_WEIGHTS);
    if (!w) return NULL;
    *w = (ingot_weight){.format = format_of(type), .type = type, .n_out = n_out, .n_in = n_in, .table = ingot_wtype_table((uint32_t)type),
                        .n_groups = n_out / LIN_ROWS + (n_out % LIN_ROWS != 0), .rows = data,
                        .row_bytes = n_in / info->block * info->block_bytes};
    if (!w->format) return w;
    const lin_format *f = w->format;
    const size_t n_runs = (size_t)n_in / LIN_RUN;
    const size_t scales = (f->scale == LIN_K || f->scale == LIN_KM ? n_runs / 8 : n_runs) * lin_scale_bytes(f->scale, f->part);
    w->scales_at = n_runs * lin_code_bytes(f->code);
    w->group_bytes = (w->scales_at + scales + 63) / 64 * 64;
    w->rows = NULL;
    uint64_t bytes;
    if (ingot_mul_u64(w->group_bytes, (uint64_t)w->n_groups, &bytes)) w->data = ingot_weight_arena_get(bytes);
    if (w->data) return w;
    ingot_dealloc(w);
    return NULL;
}

ingot_status ingot_cpu_weight_prepare(ingot_weight **out, int type, int n_out, int n_in, const void *data, const ingot_team *team) {
    const ingot_status s = ingot_ref_weight_check(type, n_out, n_in, data);
    if (team->rank == 0) *out = s == INGOT_OK ? weight_create(type, n_out, n_in, data) : NULL;
    ingot_team_barrier(team);
    if (s != INGOT_OK) return s;
    ingot_weight *w = *out;
    if (!w) return ingot_fail(INGOT_E_NOMEM, "out of memory for a weight matrix of %d x %d", n_out, n_in);
    if (w->format) {
        int begin, end;
        ingot_team_range(team, w->n_groups, 1, &begin, &end);
        for (int g = begin; g < end; g++) {
            pack_group(w, g, (const uint8_t *)data + (size_t)g * LIN_ROWS * (size_t)w->row_bytes, ingot_wtype_run_reader((uint32_t)type));
        }
        ingot_team_barrier(team);
    }
    return INGOT_OK;
}

void ingot_cpu_weight_free(ingot_weight *w) {
    if (!w) return;
    ingot_weight_arena_put(w->data);
    ingot_dealloc(w);
}

size_t ingot_cpu_weight_bytes(const ingot_weight *w) {
    return sizeof *w + (w->format ? w->group_bytes * (size_t)w->n_groups : 0);
}
