/* What both measuring programs need. */
#ifndef INGOT_PEERS_COMMON_H
#define INGOT_PEERS_COMMON_H

#include "ggml.h"
#include <stddef.h>

/* Says what is wrong, with the value where there is one, and ends the program. */
_Noreturn void peer_die(const char *what, const char *value);

/* What peer_now counts: `wall`, or `cpu`, time that the process ran. Ends the program for another name. */
void peer_clock(const char *name);

/* Seconds. */
double peer_now(void);

/* The peer's type of that name; ends the program where it has none. */
enum ggml_type peer_type(const char *name);

/* A whole number between `least` and `most`; ends the program otherwise. */
long peer_number(const char *option, const char *text, long least, long most);

void peer_sort(double *x, size_t n);

#endif
