#include "command.h"
#include "common/json.h"
#include "common/kv_report.h"
#include "common/setup.h"
#include <ingot/ingot.h>
#include <ingot/machine.h>

/* Context for the table of caches: what -c says, else the model's, else this. */
enum { USUAL_CONTEXT = 8192 };

static int context(const settings *s, const ingot_model_info *info) { return s->n_ctx ? s->n_ctx : info->n_ctx_train > 0 ? info->n_ctx_train : USUAL_CONTEXT; }

/* The plan of one method with its defaults. */
static bool method_plan(int i, ingot_plan *plan) {
    return ingot_plan_parse(plan, &(ingot_plan_spec){.kv = ingot_part_get(INGOT_PART_METHOD, i)->name, .window = -1, .sinks = -1}) == INGOT_OK;
}

static void print_machine(const setup *u) {
    ingot_machine m;
    ingot_machine_get(&m);
    printf("ingot %s\n\nMachine\n", ingot_version());
    printf("  processor          %s\n", m.processor);
    printf("  instruction set    %s in use%s%s, the machine has %s\n", m.used, *m.extras ? " with " : "", m.extras, m.level);
    printf("  device             %s\n", ingot_device_description(u->device));
    ingot_environment_info e;
    for (int i = 0; ingot_environment_get(&e, i); i++)
        printf("  %-18s %s (%s: %s)\n", e.name, e.value ? e.value : "not set", e.values, e.meaning);
}

static void print_model(const ingot_model_info *info) {
    char size[32], name[128];
    printf("\nModel\n");
    printf("  name               %s\n", info->name && *info->name ? cli_printable(info->name, name, sizeof name) : "(none given)");
    printf("  architecture       %s\n", info->architecture);
    printf("  weights            %s; %.1f million parameters, %s on disk\n", info->file_types, 1e-6 * (double)info->n_params,
           format_bytes((double)info->file_bytes, size, sizeof size));
    printf("  layers             %d, width %d, feed-forward %d\n", info->n_layers, info->n_embd, info->n_ff);
    printf("  attention          %d heads on %d key/value heads, keys of %d, values of %d elements\n", info->n_heads, info->n_kv_heads, info->k_dim, info->v_dim);
    if (info->n_sliding_layers) printf("  sliding windows    %d tokens in %d of %d layers\n", info->sliding_window, info->n_sliding_layers, info->n_layers);
    printf("  vocabulary         %d tokens\n", info->n_vocab);
    printf("  trained context    %d tokens\n", info->n_ctx_train);
    printf("  chat format        %s\n", info->has_chat_template ? "yes" : "none");
}

static void print_caches(const settings *s, const ingot_model_info *info) {
    const int n = context(s, info);
    printf("\nCache of %d tokens (computed from the formats, without exact windows; 'run' reports what is really used)\n", n);
    for (int i = 0; i < ingot_part_count(INGOT_PART_METHOD); i++) {
        ingot_plan plan;
        char size[32];
        if (!method_plan(i, &plan)) continue;
        const kv_claim c = kv_claim_of(&plan, info, n, n);
        printf("  %-18s ", ingot_part_get(INGOT_PART_METHOD, i)->name);
        if (c.unsupported) printf("not possible: %s\n", c.unsupported);
        else printf("%11s  %6.3f bits per element\n", format_bytes(c.bytes, size, sizeof size), 8 * c.bytes / c.elements);
    }
}

static json_t *machine_json(const setup *u) {
    ingot_machine m;
    ingot_environment_info e;
    ingot_machine_get(&m);
    json_t *o = json_object(), *environment = json_object();
    json_put(o, "processor", json_text(m.processor));
    json_put(o, "level", json_text(m.level));
    json_put(o, "used", json_text(m.used));
    json_put(o, "extras", json_text(m.extras));
    json_put(o, "device", json_text(ingot_device_description(u->device)));
    json_put(o, "threads", json_integer(ingot_device_threads(u->device)));
    for (int i = 0; ingot_environment_get(&e, i); i++) json_put(environment, e.name, e.value ? json_text(e.value) : json_null());
    json_put(o, "environment", environment);
    return o;
}

static json_t *model_json(const ingot_model_info *info) {
    json_t *o = json_object();
    json_put(o, "name", json_text(info->name ? info->name : ""));
    json_put(o, "architecture", json_text(info->architecture));
    json_put(o, "file_types", json_text(info->file_types));
    json_put(o, "n_params", json_integer((json_int_t)info->n_params));
    json_put(o, "file_bytes", json_integer((json_int_t)info->file_bytes));
    json_put(o, "n_layers", json_integer(info->n_layers));
    json_put(o, "n_embd", json_integer(info->n_embd));
    json_put(o, "n_ff", json_integer(info->n_ff));
    json_put(o, "n_heads", json_integer(info->n_heads));
    json_put(o, "n_kv_heads", json_integer(info->n_kv_heads));
    json_put(o, "k_dim", json_integer(info->k_dim));
    json_put(o, "v_dim", json_integer(info->v_dim));
    json_put(o, "n_vocab", json_integer(info->n_vocab));
    json_put(o, "n_ctx_train", json_integer(info->n_ctx_train));
    json_put(o, "sliding_window", json_integer(info->sliding_window));
    json_put(o, "n_sliding_layers", json_integer(info->n_sliding_layers));
    json_put(o, "has_chat_template", json_boolean(info->has_chat_template));
    return o;
}

/* "computed": from the formats' claimed bits; null where the method cannot store the model's vectors. */
static json_t *caches_json(const settings *s, const ingot_model_info *info) {
    json_t *array = json_array();
    for (int i = 0; i < ingot_part_count(INGOT_PART_METHOD); i++) {
        ingot_plan plan;
        if (!method_plan(i, &plan)) continue;
        const kv_claim c = kv_claim_of(&plan, info, context(s, info), context(s, info));
        json_t *o = json_object();
        json_put(o, "method", json_text(ingot_part_get(INGOT_PART_METHOD, i)->name));
        json_put(o, "n_tokens", json_integer(context(s, info)));
        json_put(o, "computed_bytes", c.unsupported ? json_null() : json_integer((json_int_t)c.bytes));
        json_put(o, "bits_per_element", c.unsupported ? json_null() : json_number(8 * c.bytes / c.elements));
        json_put(o, "unsupported", c.unsupported ? json_text(c.unsupported) : json_null());
        json_push(array, o);
    }
    return array;
}

static int print_json(const settings *s, const setup *u) {
    json_t *o = json_object();
    json_put(o, "version", json_text(ingot_version()));
    json_put(o, "machine", machine_json(u));
    if (u->model) {
        json_put(o, "model", model_json(&u->info));
        json_put(o, "cache", caches_json(s, &u->info));
    }
    return json_print(o);
}

static int run_info(const settings *s) {
    setup u = {0};
    int code = setup_device(&u, s);
    if (!code && s->model) code = setup_vocabulary(&u, s, "info");
    if (!code && s->json) {
        code = print_json(s, &u);
    } else if (!code) {
        print_machine(&u);
        if (u.model) {
            print_model(&u.info);
            if (u.info.n_layers) print_caches(s, &u.info);
        }
    }
    setup_close(&u);
    return code;
}

static const option_group *const groups[] = {&settings_model, &settings_context, &settings_compute, &settings_json, NULL};

static void defaults(settings *s) { s->quiet = true; }

const command command_info = {
    .name = "info", .summary = "Show what this machine offers and, with -m, what a model is and what its cache takes", .synopsis = "[-m MODEL] [options]",
    .groups = groups, .defaults = defaults, .run = run_info,
};
