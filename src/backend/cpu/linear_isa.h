/* The table of one instruction set, included by the file compiled for it. */
#include "linear_float.h"
#include "linear_int8.h"

static void rows_int8(const ingot_linear_out *o, const lin_acts *acts, int g0, int g1, int t0, int t1) {
    switch (o->w->type) {
#define CASE(type, code, scale, part, zero) case INGOT_W_##type: rows_##type(o, acts, g0, g1, t0, t1); break;
        LIN_FORMATS(CASE)
#undef CASE
    }
}

static const lin_isa isa_table = {LIN_TILE, PANEL_GROUPS, quantize, rows_int8, rows_float};
