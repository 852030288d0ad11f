#include "bench_plans.h"
#include "common/lists.h"
#include <stdlib.h>
#include <string.h>

/* Whether a plan begins at `text`. */
static bool begins_plan(const char *text) {
    const size_t n = strcspn(text, ",= ");
    if (!strncmp(text, "k=", 2)) return true;
    for (int i = 0; i < ingot_part_count(INGOT_PART_METHOD); i++) {
        const char *name = ingot_part_get(INGOT_PART_METHOD, i)->name;
        if (strlen(name) == n && !memcmp(name, text, n)) return text[n] != '=';
    }
    return false;
}

static size_t plan_length(const char *text) {
    for (size_t n = 0;; n++) {
        if (!text[n] || (text[n] == ',' && begins_plan(text + n + 1))) return n;
    }
}

bool bench_plan_read(const settings *s, ingot_plan *out) {
    settings one = *s;
    if (strstr(s->kv, "window=")) one.kv_window = -1;
    if (strstr(s->kv, "sinks=")) one.kv_sinks = -1;
    return settings_plan(&one, out);
}

static bool add(bench_plans *out, const settings *s, const char *text, size_t length, const char *attn) {
    const size_t n = (size_t)out->n;
    out->names = cli_realloc(out->names, n + 1, sizeof *out->names);
    out->plans = cli_realloc(out->plans, n + 1, sizeof *out->plans);
    char *name = cli_realloc(NULL, length + 1, 1);
    memcpy(name, text, length);
    name[length] = 0;
    out->names[n] = name;
    out->n++;
    settings one = *s;
    one.kv = name;
    one.attn = attn;
    return bench_plan_read(&one, &out->plans[n]);
}

bool bench_plans_read(bench_plans *out, const settings *s, const char *usual) {
    *out = (bench_plans){0};
    for (int i = 0; i < (s->plans.n ? s->plans.n : 1); i++) {
        for (const char *text = s->plans.n ? s->plans.items[i] : usual;;) {
            const size_t length = plan_length(text);
            const char *rest = s->attn;
            char word[32];
            if (!rest && !add(out, s, text, length, NULL)) return false;
            while (list_next(&rest, word, sizeof word))
                if (!add(out, s, text, length, word)) return false;
            if (!text[length]) break;
            text += length + 1;
        }
    }
    return true;
}

bool bench_plans_alone(const bench_plans *p) {
    const char *part;
    for (int i = 0; i < p->n; i++) {
        if (!ingot_plan_needs_calibration(&p->plans[i], &part)) continue;
        cli_fail("%s: %s needs a calibration, which belongs to a model: measure it with 'ingot bench model'", p->names[i], part);
        return false;
    }
    return true;
}

void bench_plans_free(bench_plans *p) {
    for (int i = 0; i < p->n; i++) free(p->names[i]);
    free(p->names);
    free(p->plans);
    *p = (bench_plans){0};
}

const char *bench_plan_attn(const ingot_plan *plan) { return plan->fast_attention ? "fast" : "precise"; }

double bench_plan_bits(const ingot_plan *plan, int dim) {
    return 0.5 * (ingot_side_plan_bits(&plan->k, false, dim) + ingot_side_plan_bits(&plan->v, true, dim));
}
