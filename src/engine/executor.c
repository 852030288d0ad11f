#include "executor.h"
#include "../cache/cache_team.h"
#include "../gguf/wtype.h"
#include "schedule.h"
#include <string.h>

/* Operations [begin, end) of the tape on n rows. */
typedef struct run {
    ingot_engine *engine;
    int begin, end, n;
    const int *selected; /* rows of the batch, for SELECT_ROWS */
} run;

static float *row(const ingot_engine *e, ingot_buf b, int t) { return e->buf[b] + e->stride[b] * t; }

/* A thread's items as pieces of one row each: while (next_piece) ... */
typedef struct pieces { int at, end, per_row; } pieces;
typedef struct piece { int row, first, n; } piece;

static pieces pieces_of(const ingot_team *team, int n_rows, int per_row) {
    pieces p = {.per_row = per_row};
    ingot_team_range(team, n_rows * per_row, 1, &p.at, &p.end);
    return p;
}

static bool next_piece(pieces *p, piece *out) {
    if (p->at >= p->end) return false;
    out->row = p->at / p->per_row;
    out->first = p->at % p->per_row;
    out->n = p->per_row - out->first < p->end - p->at ? p->per_row - out->first : p->end - p->at;
    p->at += out->n;
    return true;
}

static void embed(const ingot_engine *e, const ingot_op *op, int t) {
    const ingot_wtype_info *type = ingot_wtype_get(op->table->type);
    const size_t row_bytes = (size_t)(op->dim / type->block) * (size_t)type->block_bytes;
    float *x = row(e, op->dst, t);
    type->decode((const uint8_t *)op->table->data + row_bytes * (size_t)e->tokens[t], op->dim, x);
    if (op->value != 1.0f) e->device->backend->scale(x, op->value, (size_t)op->dim);
}

static void norm(const ingot_engine *e, const ingot_op *op, piece p) {
    const ptrdiff_t at = (ptrdiff_t)p.first * op->dim;
    e->device->backend->rmsnorm(row(e, op->dst, p.row) + at, op->dim, row(e, op->src, p.row) + at, op->dim, op->w, p.n, op->dim, op->value);
}

static void rope(const ingot_engine *e, const ingot_op *op, piece p) {
    const ingot_rope_spec *spec = &e->model->ropes[op->rope];
    const ptrdiff_t table = (ptrdiff_t)p.row * (spec->n_rot / 2);
    e->device->backend->rope(&(ingot_rope_args){
        .x = row(e, op->dst, p.row) + (ptrdiff_t)p.first * op->dim, .stride = e->stride[op->dst], .n_tokens = 1, .n_heads = p.n, .head_dim = op->dim,
        .n_rot = spec->n_rot, .neox = spec->neox, .cos = e->rope_cos[op->rope] + table, .sin = e->rope_sin[op->rope] + table});
}

static void glu(const ingot_engine *e, const ingot_op *op, piece p) {
    const int first = p.first * INGOT_GLU_COLUMNS, last = (p.first + p.n) * INGOT_GLU_COLUMNS < op->dim ? (p.first + p.n) * INGOT_GLU_COLUMNS : op->dim;
    float *gate = row(e, op->dst, p.row) + first;
    e->device->backend->glu(gate, gate, row(e, op->src, p.row) + first, (size_t)(last - first), op->act);
}

/* This thread's items of an operation that is not team work. */
static void split_op(const run *r, const ingot_op *op, const ingot_team *team) {
    const ingot_engine *e = r->engine;
    pieces all = pieces_of(team, r->n, ingot_op_items(op));
    for (piece p; next_piece(&all, &p);) {
        switch (op->kind) {
        case INGOT_OP_EMBED: embed(e, op, p.row); break;
        case INGOT_OP_RMSNORM: norm(e, op, p); break;
        case INGOT_OP_ROPE: rope(e, op, p); break;
        case INGOT_OP_GLU: glu(e, op, p); break;
        case INGOT_OP_ADD: e->device->backend->add(row(e, op->dst, p.row), row(e, op->src, p.row), (size_t)op->dim); break;
        case INGOT_OP_SELECT_ROWS: memcpy(row(e, op->dst, p.row), row(e, op->src, r->selected[p.row]), (size_t)op->dim * sizeof(float)); break;
        case INGOT_OP_LINEAR:
        case INGOT_OP_ATTEND: break; /* team work, not split here */
        }
    }
}

static void linear(const run *r, const ingot_op *op, const ingot_team *team) {
    const ingot_engine *e = r->engine;
    ingot_linear_args a = {.n_out = op->n_lin, .x = e->buf[op->src], .x_stride = e->stride[op->src], .n_tokens = r->n, .n_in = op->n_in,
                           .int8_activations = e->config.activations == INGOT_ACT_INT8, .scratch = e->linear_scratch};
    for (int i = 0; i < op->n_lin; i++) {
        const ingot_op_linear *l = &op->lin[i];
        a.out[i] = (ingot_linear_out){.w = e->model->weights[l->weight].handle, .bias = l->bias, .y = e->buf[l->dst], .y_stride = e->stride[l->dst]};
    }
    e->device->backend->linear(&a, team);
}

static void attend(const run *r, const ingot_op *op, const ingot_team *team) {
    const ingot_engine *e = r->engine;
    if (e->capture && team->rank == 0) /* the others may begin: nobody writes these buffers before the barrier at the end */
        e->capture(e->capture_user, &(ingot_captured){.layer = op->layer, .n_tokens = r->n, .positions = e->positions, .q = e->buf[INGOT_BUF_Q],
                                                      .k = e->buf[INGOT_BUF_K], .v = e->buf[INGOT_BUF_V], .q_stride = e->stride[INGOT_BUF_Q],
                                                      .k_stride = e->stride[INGOT_BUF_K], .v_stride = e->stride[INGOT_BUF_V]});
    ingot_cache_layer_team(e->cache, op->layer, e->buf[INGOT_BUF_Q], e->stride[INGOT_BUF_Q], e->buf[INGOT_BUF_K], e->stride[INGOT_BUF_K],
                           e->buf[INGOT_BUF_V], e->stride[INGOT_BUF_V], e->buf[INGOT_BUF_ATT], e->stride[INGOT_BUF_ATT], team);
}

static void run_ops(const run *r, const ingot_team *team) {
    const ingot_engine *e = r->engine;
    for (int i = r->begin; i < r->end; i++) {
        const ingot_op *op = &e->model->tape[i];
        if (e->barrier_before[i]) ingot_team_barrier(team);
        if (op->kind == INGOT_OP_LINEAR) linear(r, op, team);
        else if (op->kind == INGOT_OP_ATTEND) attend(r, op, team);
        else split_op(r, op, team);
    }
}

static void layers_team(const ingot_team *team, void *arg) {
    const run *r = arg;
    const ingot_engine *e = r->engine;
    int begin, end;
    ingot_team_range(team, r->n, 1, &begin, &end);
    for (int i = 0; i < e->model->n_ropes; i++) {
        const ptrdiff_t at = (ptrdiff_t)begin * (e->model->ropes[i].n_rot / 2);
        ingot_rope_table(&e->model->ropes[i], e->positions + begin, end - begin, e->rope_cos[i] + at, e->rope_sin[i] + at);
    }
    run_ops(r, team);
}

static void head_team(const ingot_team *team, void *arg) { run_ops(arg, team); }

void ingot_executor_layers(ingot_engine *e) {
    run r = {.engine = e, .begin = 0, .end = e->model->head_begin, .n = e->n_tokens};
    ingot_pool_run(e->device->pool, layers_team, &r);
}

void ingot_executor_head(ingot_engine *e, int first, int n) {
    run r = {.engine = e, .begin = e->model->head_begin, .end = e->model->n_ops, .n = n, .selected = e->wanted + first};
    ingot_pool_run(e->device->pool, head_team, &r);
}
