/* Shared constants and plain types. C11, C++-clean. */
#ifndef INGOT_TYPES_H
#define INGOT_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tokens in one page of the cache (a multiple of every token block of every back end). */
#define INGOT_PAGE_TOKENS 64

/* Limits that inputs are checked against. */
#define INGOT_MAX_HEAD_DIM 512
#define INGOT_MAX_LAYERS 1024

#endif
