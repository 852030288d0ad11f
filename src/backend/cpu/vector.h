/* Vector operations of the CPU back end, by instruction set. */
#ifndef INGOT_CPU_VECTOR_H
#define INGOT_CPU_VECTOR_H
#include "../backend.h"

/* Overrides the table's vector operations for the instruction set in use. */
void ingot_cpu_vector_init(ingot_backend *b);
void ingot_vector_avx2(ingot_backend *b);
void ingot_vector_avx512(ingot_backend *b);
void ingot_vector_neon(ingot_backend *b);
#endif
