#include "command.h"
#include "common/json.h"
#include <string.h>

static const struct {
    ingot_part_kind kind;
    const char *name, *title;
} kinds[] = {
    {INGOT_PART_METHOD, "method", "Methods: what --kv, --kv-k and --kv-v take"},
    {INGOT_PART_CODEC, "codec", "Codecs: number formats of one vector"},
    {INGOT_PART_TRANSFORM, "transform", "Transforms: what is done to a vector before it is encoded"},
    {INGOT_PART_POLICY, "policy", "Policies: which tokens stay"},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static json_t *describe_json(int kind, const ingot_part_info *p) {
    json_t *o = json_object();
    json_put(o, "name", json_text(p->name));
    json_put(o, "kind", json_text(kinds[kind].name));
    json_put(o, "bits_per_element", json_number(p->bits_per_element));
    json_put(o, "description", json_text(p->description));
    json_put(o, "options", json_text(p->options));
    return o;
}

static void print_row(const ingot_part_info *p) {
    char bits[16] = "";
    if (p->bits_per_element > 0) snprintf(bits, sizeof bits, "%.2f", p->bits_per_element);
    printf("  %-12s %6s  ", p->name, bits);
    options_print_wrapped(stdout, p->description, 22, 22);
}

static void describe(int kind, const ingot_part_info *p) {
    printf("%s (%s)\n", p->name, kinds[kind].name);
    printf("  description       %s\n", p->description);
    if (p->bits_per_element > 0)
        printf("  bits per element  %.3f (stored, for vectors of 128 elements with the default options; f16 has 16)\n", p->bits_per_element);
    if (*p->options) printf("  options           %s\n", p->options);
    if (kinds[kind].kind == INGOT_PART_METHOD)
        printf("  use               --kv %s%s%s\n", p->name, *p->options ? "[,OPTION]..." : "", "; --kv-k and --kv-v set keys or values alone");
}

static int run_methods(const settings *s) {
    const char *wanted = s->positional.n ? s->positional.items[0] : NULL;
    json_t *array = s->json ? json_array() : NULL;
    int n_found = 0;
    for (int k = 0; k < N_KINDS; k++) {
        if (!array && !wanted) printf("%s%s\n", k ? "\n" : "", kinds[k].title);
        for (int i = 0; i < ingot_part_count(kinds[k].kind); i++) {
            const ingot_part_info *p = ingot_part_get(kinds[k].kind, i);
            if (wanted && strcmp(wanted, p->name)) continue;
            n_found++;
            if (array) json_push(array, describe_json(k, p));
            else if (wanted) describe(k, p);
            else print_row(p);
        }
    }
    if (wanted && !n_found) {
        json_decref(array);
        return cli_wrong_use("methods", "no method, codec, transform or policy is called '%s'", wanted);
    }
    return array ? json_print(array) : CLI_DONE;
}

static const option_group *const groups[] = {&settings_json, NULL};

const command command_methods = {
    .name = "methods", .summary = "List the cache methods and the parts they are made of, or describe one", .synopsis = "[NAME] [--json]",
    .groups = groups, .max_positional = 1, .run = run_methods,
};
