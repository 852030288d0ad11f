/* The scalar reference back end: it defines what is correct for every operation. */
#include "ref_kv.h"
#include "ref_weight.h"

void ingot_backend_ref_init(ingot_backend *b);

void ingot_backend_ref_init(ingot_backend *b) {
    b->name = "ref";
    ingot_ref_kv_init(b);
    ingot_ref_linear_init(b);
    ingot_ref_vector_init(b);
}
