/* libFuzzer target: up to five lines as the texts of a plan (kv, k, v, policy, layers). What is taken must print to a text that reads back to the same
 * plan, and its sides must answer whether they can store a vector. */
#include "method/method.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int ok) {
    if (!ok) abort();
}

static void use_side(const ingot_plan *p, int layer, bool value) {
    const ingot_side_plan *side = ingot_plan_side(p, layer, value);
    for (int dim = 16; dim <= 256; dim *= 2)
        if (ingot_side_plan_check(side, value, dim) == INGOT_OK) expect(ingot_side_plan_bits(side, value, dim) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[2 * INGOT_PLAN_TEXT_BYTES], *line[5] = {NULL}, *at = text, again[INGOT_PLAN_TEXT_BYTES];
    if (size >= sizeof text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (int i = 0; i < 5 && at; i++) {
        line[i] = at;
        at = strchr(at, '\n');
        if (at) *at++ = 0;
        if (i && !*line[i]) line[i] = NULL;
    }
    const ingot_plan_spec spec = {.kv = line[0], .k = line[1], .v = line[2], .policy = line[3], .layers = line[4], .window = -1, .sinks = -1};
    ingot_plan p, q;
    if (ingot_plan_parse(&p, &spec) != INGOT_OK) {
        expect(*ingot_last_error() != 0);
        return 0;
    }
    expect(ingot_plan_check(&p, INGOT_MAX_LAYERS) == INGOT_OK);
    ingot_plan_print(&p, again, sizeof again);
    expect(ingot_plan_parse(&q, &(ingot_plan_spec){.kv = again, .window = -1, .sinks = -1}) == INGOT_OK && !memcmp(&p, &q, sizeof p));
    for (int layer = 0; layer < 3; layer++)
        for (int value = 0; value < 2; value++) use_side(&p, layer, value);
    ingot_plan_needs_calibration(&p, NULL);
    return 0;
}
