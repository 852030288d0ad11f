/* The pieces that the parser and the printer of plans share. */
#ifndef INGOT_METHOD_PLAN_H
#define INGOT_METHOD_PLAN_H
#include "method.h"

/* Longest text of a plan or of one of its options; lists of names fit as well. */
enum { INGOT_PLAN_TEXT = INGOT_PLAN_TEXT_BYTES };

/* Which sides a text is for. */
enum { INGOT_FOR_K = 1 << INGOT_SIDE_K, INGOT_FOR_V = 1 << INGOT_SIDE_V, INGOT_FOR_BOTH = INGOT_FOR_K | INGOT_FOR_V };

/* The side of a method that `value` asks for, and what it gives a plan. */
const ingot_method_side *ingot_method_side_of(const ingot_method *m, bool value);
ingot_side_plan ingot_method_side_plan(const ingot_method *m, bool value);

/* Splits at `sep` in place: the next piece, which may be empty, or NULL at the end. */
char *ingot_next_piece(char **rest, char sep);
/* A decimal number in [0, max] that is the whole of `s`. */
bool ingot_parse_number(const char *s, int max, int *out);
/* "a, b, c" of one registry. */
const char *ingot_part_names(ingot_part_kind kind, char *buf, size_t cap);

/* Reads METHOD[,OPTION=VALUE][,TRANSFORM]... for the sides in `mask` into out[INGOT_SIDE_K] and out[INGOT_SIDE_V]; an option applies to the sides that
 * have it, and one of them must. *method: its row. `text` is modified. */
ingot_status ingot_parse_side(ingot_side_plan out[2], int *method, char *text, unsigned mask);
/* The shortest spelling of one side. False where no method has its codec on that side: then it says "?". */
bool ingot_print_side(const ingot_side_plan *side, bool value, char *buf, size_t cap);
/* The shortest spelling that, read for both sides, gives these two; *method: its method. False when there is none. */
bool ingot_print_both(const ingot_side_plan *k, const ingot_side_plan *v, const ingot_method **method, char *buf, size_t cap);

/* NAME[,budget=N|N%][,recent=N]. `text` is modified. */
ingot_status ingot_parse_policy(ingot_policy_plan *out, char *text);
/* Whether the policy can work with the plan's exact tokens; the message names the numbers. */
ingot_status ingot_check_policy(const ingot_plan *p);
void ingot_print_policy(const ingot_policy_plan *p, char *buf, size_t cap);

/* RANGE[,RANGE]...=SIDE[/SIDE], several apart by ";", appended to the plan. `text` is modified. */
ingot_status ingot_parse_layers(ingot_plan *p, char *text);
/* Brings the layer plans into their one form: ranges in order, none twice, none like the rest of the plan, neighbours joined. */
ingot_status ingot_settle_layers(ingot_plan *p);
/* " layers=..." words of a settled plan, one for each pair of sides; characters written. */
size_t ingot_print_layers(const ingot_plan *p, char *buf, size_t cap);
#endif
