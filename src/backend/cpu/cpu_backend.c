/* The CPU back end: the reference's table, overridden for the instruction set in use. */
#include "../backend.h"
#include "cpu_kv.h"

void ingot_backend_cpu_init(ingot_backend *b);

void ingot_backend_cpu_init(ingot_backend *b) {
    b->name = "cpu";
    ingot_cpu_kv_init(b);
}
