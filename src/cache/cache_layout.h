/* Sizes and places of everything a cache owns. */
#ifndef INGOT_CACHE_LAYOUT_H
#define INGOT_CACHE_LAYOUT_H
#include "cache_impl.h"
/* Sizes of tiles and pages of every layer; needs shapes, formats, groups and exact pages. */
void ingot_cache_layout_layers(ingot_cache *c);
/* Allocates pages and exact stores (one block), scratch (one block) and tables. */
ingot_status ingot_cache_layout_allocate(ingot_cache *c);
#endif
