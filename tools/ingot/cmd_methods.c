#include "command.h"
#include "common/json.h"
#include "methods_markdown.h"
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

static const char *sides_name(const ingot_part_info *p) { return p->sides == 3 ? "K V" : p->sides == 1 ? "K" : "V"; }

static json_t *describe_json(int kind, const ingot_part_info *p) {
    json_t *o = json_object(), *sides = json_array();
    json_put(o, "name", json_text(p->name));
    json_put(o, "kind", json_text(kinds[kind].name));
    json_put(o, "bits_per_element", json_number(p->bits_per_element));
    json_put(o, "description", json_text(p->description));
    json_put(o, "options", json_text(p->options));
    if (p->sides & 1) json_push(sides, json_text("k"));
    if (p->sides & 2) json_push(sides, json_text("v"));
    json_put(o, "sides", sides);
    json_put(o, "needs_calibration", json_boolean(p->needs_calibration));
    json_put(o, "parts", json_text(p->parts));
    json_put(o, "stage", json_text(p->stage));
    json_put(o, "window", json_integer(p->window));
    json_put(o, "source", json_text(p->source));
    json_put(o, "limits", json_text(p->limits));
    return o;
}

static void print_title(int kind) {
    printf("%s%s\n  %-18s %6s  %-3s  %-3s  %s\n", kind ? "\n" : "", kinds[kind].title, "", "bits", "K V", "cal", "what it is");
}

static void print_row(const ingot_part_info *p) {
    char bits[16] = "";
    if (p->bits_per_element > 0) snprintf(bits, sizeof bits, "%.3f", p->bits_per_element);
    printf("  %-18s %6s  %-3s  %-3s  ", p->name, bits, sides_name(p), p->needs_calibration ? "yes" : "");
    options_print_wrapped(stdout, p->description, 39, 39);
}

static void print_line(const char *name, const char *text) {
    if (!*text) return;
    printf("  %-18s", name);
    options_print_wrapped(stdout, text, 20, 20);
}

static void print_bits(const ingot_part_info *p, int row) {
    char text[256];
    size_t n = 0;
    if (p->bits_per_element <= 0) return;
    for (const int *dim = usual_head_sizes; *dim && n < sizeof text; dim++) {
        const double bits = ingot_part_bits(p->kind, row, *dim);
        if (bits > 0) n += (size_t)snprintf(text + n, sizeof text - n, "%s%.3f at %d", n ? ", " : "", bits, *dim);
    }
    print_line("bits per element", text);
}

/* Why heads of some usual size cannot be stored. */
static void print_refusals(const ingot_part_info *p, int row) {
    for (const int *dim = usual_head_sizes; *dim; dim++)
        if (ingot_part_check(p->kind, row, *dim) != INGOT_OK) print_line("not possible", ingot_last_error());
}

static void describe(int kind, const ingot_part_info *p, int row) {
    char text[64] = "";
    printf("%s (%s)\n", p->name, kinds[kind].name);
    print_line("description", p->description);
    print_line("keys / values", p->parts);
    print_bits(p, row);
    print_line("stage", p->stage);
    print_line("used for", p->sides == 3 ? "keys and values" : p->sides == 1 ? "keys" : "values");
    if (p->window) snprintf(text, sizeof text, "the %d newest tokens", p->window);
    print_line("exact", text);
    print_line("calibration", p->needs_calibration ? "needed: ingot calibrate" : "not needed");
    print_line("options", p->options);
    print_line("source", p->source);
    print_line("limits", p->limits);
    print_refusals(p, row);
    if (p->kind == INGOT_PART_METHOD) printf("  %-18s--kv %s[,OPTION=VALUE][,TRANSFORM]...; --kv-k and --kv-v set keys or values alone\n", "use", p->name);
    if (p->kind == INGOT_PART_POLICY) printf("  %-18s--kv-policy %s%s\n", "use", p->name, *p->options ? ",budget=N" : "");
}

static int run_methods(const settings *s) {
    const char *wanted = s->positional.n ? s->positional.items[0] : NULL;
    if (s->markdown && (s->json || wanted)) return cli_wrong_use("methods", "--markdown prints everything, as text: without %s", wanted ? "a name" : "--json");
    if (s->markdown) {
        methods_markdown();
        return CLI_DONE;
    }
    json_t *array = s->json ? json_array() : NULL;
    int n_found = 0;
    for (int k = 0; k < N_KINDS; k++) {
        if (!array && !wanted) print_title(k);
        for (int i = 0; i < ingot_part_count(kinds[k].kind); i++) {
            const ingot_part_info *p = ingot_part_get(kinds[k].kind, i);
            if (wanted && strcmp(wanted, p->name)) continue;
            n_found++;
            if (array) json_push(array, describe_json(k, p));
            else if (wanted) describe(k, p, i);
            else print_row(p);
        }
    }
    if (wanted && !n_found) {
        json_decref(array);
        return cli_wrong_use("methods", "no method, codec, transform or policy is called '%s'", wanted);
    }
    return array ? json_print(array) : CLI_DONE;
}

static const option_group *const groups[] = {&settings_json, &settings_markdown, NULL};

const command command_methods = {
    .name = "methods", .summary = "List the cache methods and the parts they are made of, or describe one", .synopsis = "[NAME] [--json | --markdown]",
    .groups = groups, .max_positional = 1, .run = run_methods,
};
