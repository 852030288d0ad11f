#include "schedule.h"
#include <string.h>

/* The rotary tables are written at the start of a pass and count as one more buffer. */
enum { TABLES = INGOT_N_BUFS, N_TRACKED };

/* How rows are split: items of a row and elements of an item; equal splits give equal ranges to a thread. */
typedef struct split { int items, dim; } split;
static const split NONE = {0, 0}, MIXED = {-1, -1};

/* Accesses since the last barrier. */
typedef struct pending { split read[N_TRACKED], written[N_TRACKED]; } pending;

int ingot_op_items(const ingot_op *op) { return op->kind == INGOT_OP_GLU ? (op->dim + INGOT_GLU_COLUMNS - 1) / INGOT_GLU_COLUMNS : op->heads; }

bool ingot_op_is_team(const ingot_op *op) { return op->kind == INGOT_OP_LINEAR || op->kind == INGOT_OP_ATTEND; }

static bool same(split a, split b) { return a.items == b.items && a.dim == b.dim; }
static bool clashes(split before, split now) { return !same(before, NONE) && (same(now, MIXED) || !same(before, now)); }
static void note(split *at, split now) { *at = same(*at, NONE) || same(*at, now) ? now : MIXED; }

/* Bit masks of the buffers that an operation reads and writes. */
static void accesses(const ingot_op *op, unsigned *reads, unsigned *writes) {
    *reads = 1u << op->src;
    *writes = 1u << op->dst;
    switch (op->kind) {
    case INGOT_OP_EMBED: *reads = 0; break;
    case INGOT_OP_LINEAR:
        *writes = 0;
        for (int i = 0; i < op->n_lin; i++) *writes |= 1u << op->lin[i].dst;
        break;
    case INGOT_OP_ATTEND: *reads = 1u << INGOT_BUF_Q | 1u << INGOT_BUF_K | 1u << INGOT_BUF_V; break;
    case INGOT_OP_ROPE: *reads |= 1u << TABLES; break;
    case INGOT_OP_GLU:
    case INGOT_OP_ADD: *reads |= 1u << op->dst; break;
    case INGOT_OP_RMSNORM:
    case INGOT_OP_SELECT_ROWS: break;
    }
}

static split split_of(const ingot_op *op) {
    if (ingot_op_is_team(op)) return MIXED;
    return (split){ingot_op_items(op), op->kind == INGOT_OP_GLU ? INGOT_GLU_COLUMNS : op->dim};
}

void ingot_schedule_barriers(const ingot_model *m, bool *barrier) {
    pending p;
    memset(&p, 0, sizeof p);
    p.written[TABLES] = MIXED;
    for (int i = 0; i < m->n_ops; i++) {
        const ingot_op *op = &m->tape[i];
        if (i == m->head_begin) memset(&p, 0, sizeof p); /* the head is run by itself */
        unsigned reads, writes;
        accesses(op, &reads, &writes);
        const split now = split_of(op);
        barrier[i] = false;
        for (int b = 0; b < N_TRACKED; b++) {
            if (reads >> b & 1u) barrier[i] |= clashes(p.written[b], now);
            if (writes >> b & 1u) barrier[i] |= clashes(p.written[b], now) || clashes(p.read[b], now);
        }
        if (barrier[i] || ingot_op_is_team(op)) memset(&p, 0, sizeof p);
        if (ingot_op_is_team(op)) continue;
        for (int b = 0; b < N_TRACKED; b++) {
            if (reads >> b & 1u) note(&p.read[b], now);
            if (writes >> b & 1u) note(&p.written[b], now);
        }
    }
}
