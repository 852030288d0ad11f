/* Where a team that runs the tape must meet. Products and attention are team work and end with a barrier of their own; all other
 * operations are split into items (rows, heads of a row, pieces of a row) of which each thread does a fixed range, so that
 * successive ones with the same split need no barrier between them. */
#ifndef INGOT_ENGINE_SCHEDULE_H
#define INGOT_ENGINE_SCHEDULE_H
#include "../model/model.h"

/* Columns of one item of GLU: it is the only element-wise operation that costs something for a single token. */
enum { INGOT_GLU_COLUMNS = 128 };

/* Items of one row of an operation that is not team work. */
int ingot_op_items(const ingot_op *op);
bool ingot_op_is_team(const ingot_op *op);
/* barrier[n_ops]: whether all must meet before the operation. */
void ingot_schedule_barriers(const ingot_model *m, bool *barrier);
#endif
