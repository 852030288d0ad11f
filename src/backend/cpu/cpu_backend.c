/* The CPU back end: the reference's table, overridden for the instruction set in use. */
#include "../backend.h"
#include "cpu_kv.h"
#include "linear.h"
#include "vector.h"

void ingot_backend_cpu_init(ingot_backend *b);

void ingot_backend_cpu_init(ingot_backend *b) {
    b->name = "cpu";
    ingot_cpu_kv_init(b);
    ingot_cpu_linear_init(b);
    ingot_cpu_vector_init(b);
}
