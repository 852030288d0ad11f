#include "json.h"
#include "utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need(bool ok) {
    if (ok) return;
    cli_fail("out of memory for the JSON output");
    _exit(CLI_FAILED);
}

void json_put(json_t *object, const char *key, json_t *value) { need(json_object_set_new(object, key, value) == 0); }
void json_push(json_t *array, json_t *value) { need(json_array_append_new(array, value) == 0); }

json_t *json_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

/* Strings from files may hold anything: what is no UTF-8 is replaced. */
json_t *json_text(const char *s) {
    strbuf clean = {0};
    utf8_decoder d = {0};
    utf8_feed(&d, s, strlen(s), &clean);
    utf8_finish(&d, &clean);
    json_t *value = json_stringn(clean.data ? clean.data : "", clean.n);
    strbuf_free(&clean);
    return value;
}

json_t *json_tokens(const int32_t *ids, size_t n) {
    json_t *array = json_array();
    need(array != NULL);
    for (size_t i = 0; i < n; i++) json_push(array, json_integer(ids[i]));
    return array;
}

int json_print(json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    json_decref(value);
    need(text != NULL);
    const bool ok = cli_write(text, strlen(text)) && cli_write("\n", 1);
    free(text);
    return ok ? CLI_DONE : cli_output_failed();
}
