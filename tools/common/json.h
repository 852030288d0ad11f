/* JSON as the commands print it: one object or array, one line. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H
#include "cli.h"
#include <jansson.h>
#include <stdint.h>

/* Each takes over `value`; running out of memory ends the program. */
void json_put(json_t *object, const char *key, json_t *value);
void json_push(json_t *array, json_t *value);
/* A number; null where it is not finite. */
json_t *json_number(double x);
json_t *json_text(const char *s);
json_t *json_tokens(const int32_t *ids, size_t n);
/* Prints `value` and a line end on stdout, and frees it. An exit code. */
int json_print(json_t *value);
#endif
