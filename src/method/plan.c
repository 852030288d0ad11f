/* The spelling of plans: words apart by spaces. A side for both K and V, or k=SIDE and v=SIDE, then window=N, sinks=N, attn=precise|fast, policy=NAME[,OPTION]...,
 * layers=RANGES=SIDE[/SIDE]. */
#include "../base/error.h"
#include "plan.h"
#include <stdio.h>
#include <string.h>

static ingot_status parse_count(int *out, const char *what, const char *value, int max) {
    if (!ingot_parse_number(value, max, out)) return ingot_fail(INGOT_E_INVALID, "%s=%s is not a number from 0 to %d", what, value, max);
    return INGOT_OK;
}

static ingot_status parse_one(ingot_side_plan *out, char *text, bool value) {
    ingot_side_plan sides[2];
    int method;
    INGOT_TRY(ingot_parse_side(sides, &method, text, value ? INGOT_FOR_V : INGOT_FOR_K));
    *out = sides[value];
    return INGOT_OK;
}

static ingot_status parse_both(ingot_plan *p, char *text) {
    ingot_side_plan sides[2];
    int method;
    INGOT_TRY(ingot_parse_side(sides, &method, text, INGOT_FOR_BOTH));
    const ingot_method *m = ingot_method_get(method);
    p->k = sides[INGOT_SIDE_K], p->v = sides[INGOT_SIDE_V];
    p->window = m->window, p->sinks = m->sinks;
    return INGOT_OK;
}

static ingot_status parse_attn(bool *fast, const char *value) {
    *fast = !strcmp(value, "fast");
    return *fast || !strcmp(value, "precise") ? INGOT_OK : ingot_fail(INGOT_E_INVALID, "attn=%s is neither precise nor fast", value);
}

static ingot_status read_k(ingot_plan *p, char *value) { return parse_one(&p->k, value, false); }
static ingot_status read_v(ingot_plan *p, char *value) { return parse_one(&p->v, value, true); }
static ingot_status read_window(ingot_plan *p, char *value) { return parse_count(&p->window, "window", value, INGOT_MAX_EXACT_WINDOW); }
static ingot_status read_sinks(ingot_plan *p, char *value) { return parse_count(&p->sinks, "sinks", value, INGOT_MAX_EXACT_SINKS); }
static ingot_status read_attn(ingot_plan *p, char *value) { return parse_attn(&p->fast_attention, value); }
static ingot_status read_policy(ingot_plan *p, char *value) { return ingot_parse_policy(&p->policy, value); }

/* What a word begins with; most may stand once. */
static const struct { const char *key; ingot_status (*read)(ingot_plan *p, char *value); bool repeats; } words[] = {
    {"k=", read_k, false},       {"v=", read_v, false},           {"window=", read_window, false},         {"sinks=", read_sinks, false},
    {"attn=", read_attn, false}, {"policy=", read_policy, false}, {"layers=", ingot_parse_layers, true}};
enum { N_WORDS = (int)(sizeof words / sizeof *words) };

/* A word that nothing begins like; methods stand in front. */
static ingot_status unknown_word(const char *word) {
    char name[64], valid[96];
    int n = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, ","), word);
    if (ingot_method_find(name) >= 0)
        return ingot_fail(INGOT_E_INVALID, "\"%s\" in a cache plan: a method for both sides must be the first word, and the only one", word);
    for (int i = 0; i < N_WORDS; i++) n += snprintf(valid + n, sizeof valid - (size_t)n, "%s%s", i ? ", " : "", words[i].key);
    return ingot_fail(INGOT_E_INVALID, "unknown word \"%s\" in a cache plan; valid: %s", word, valid);
}

/* *seen: the words that were there, as bits. */
static ingot_status parse_word(ingot_plan *p, char *word, bool first, unsigned *seen) {
    for (int i = 0; i < N_WORDS; i++) {
        const size_t n = strlen(words[i].key);
        if (strncmp(word, words[i].key, n)) continue;
        if (*seen >> i & 1u && !words[i].repeats) return ingot_fail(INGOT_E_INVALID, "\"%s\" in a cache plan: %s was given before", word, words[i].key);
        *seen |= 1u << i;
        return words[i].read(p, word + n);
    }
    return first ? parse_both(p, word) : unknown_word(word);
}

static ingot_status parse_words(ingot_plan *p, char *text) {
    unsigned seen = 0;
    bool first = true;
    for (char *word; (word = ingot_next_piece(&text, ' '));) {
        if (!*word && (text || !first)) continue; /* more spaces than needed */
        INGOT_TRY(parse_word(p, word, first, &seen));
        first = false;
    }
    return INGOT_OK;
}

static ingot_status copy_text(char buf[INGOT_PLAN_TEXT], const char *text) {
    if (strlen(text) >= INGOT_PLAN_TEXT) return ingot_fail(INGOT_E_INVALID, "cache method of %zu characters; at most %d", strlen(text), INGOT_PLAN_TEXT - 1);
    strcpy(buf, text);
    return INGOT_OK;
}

static ingot_status override_side(ingot_side_plan *side, const char *spec, bool value) {
    char buf[INGOT_PLAN_TEXT];
    if (!spec) return INGOT_OK;
    INGOT_TRY(copy_text(buf, spec));
    return parse_one(side, buf, value);
}

static ingot_status override_policy(ingot_policy_plan *policy, const char *spec) {
    char buf[INGOT_PLAN_TEXT];
    if (!spec) return INGOT_OK;
    INGOT_TRY(copy_text(buf, spec));
    return ingot_parse_policy(policy, buf);
}

static ingot_status override_layers(ingot_plan *p, const char *spec) {
    char buf[INGOT_PLAN_TEXT];
    if (!spec) return INGOT_OK;
    INGOT_TRY(copy_text(buf, spec));
    p->n_layer_plans = 0;
    return ingot_parse_layers(p, buf);
}

static ingot_status check_count(const char *what, int value, int max) {
    if (value < 0 || value > max) return ingot_fail(INGOT_E_INVALID, "%s=%d is not a number from 0 to %d", what, value, max);
    return INGOT_OK;
}

static ingot_status override_count(int *out, const char *what, int value, int max) {
    if (value == -1) return INGOT_OK;
    *out = value;
    return check_count(what, value, max);
}

static ingot_status parse(ingot_plan *p, const ingot_plan_spec *spec) {
    char buf[INGOT_PLAN_TEXT], base[] = "f16";
    INGOT_TRY(parse_both(p, base));
    INGOT_TRY(copy_text(buf, spec->kv ? spec->kv : "f16"));
    INGOT_TRY(parse_words(p, buf));
    INGOT_TRY(override_side(&p->k, spec->k, false));
    INGOT_TRY(override_side(&p->v, spec->v, true));
    INGOT_TRY(override_count(&p->window, "window", spec->window, INGOT_MAX_EXACT_WINDOW));
    INGOT_TRY(override_count(&p->sinks, "sinks", spec->sinks, INGOT_MAX_EXACT_SINKS));
    if (spec->attn) INGOT_TRY(parse_attn(&p->fast_attention, spec->attn));
    INGOT_TRY(override_policy(&p->policy, spec->policy));
    INGOT_TRY(override_layers(p, spec->layers));
    INGOT_TRY(ingot_check_policy(p));
    return ingot_settle_layers(p);
}

ingot_status ingot_plan_parse(ingot_plan *out, const ingot_plan_spec *spec) {
    ingot_plan p = {.policy.policy = INGOT_POLICY_FULL};
    *out = p;
    INGOT_TRY(parse(&p, spec));
    *out = p;
    return INGOT_OK;
}

ingot_status ingot_plan_check(const ingot_plan *p, int n_layers) {
    INGOT_TRY(check_count("window", p->window, INGOT_MAX_EXACT_WINDOW));
    INGOT_TRY(check_count("sinks", p->sinks, INGOT_MAX_EXACT_SINKS));
    INGOT_TRY(check_count("the number of layer plans", p->n_layer_plans, INGOT_MAX_LAYER_PLANS));
    INGOT_TRY(ingot_check_policy(p));
    for (int i = 0; i < p->n_layer_plans; i++) {
        const ingot_layer_plan *l = &p->layer_plans[i];
        if (l->first < 0 || l->first > l->last || l->last >= n_layers)
            return ingot_fail(INGOT_E_INVALID, "layers %d-%d of the plan: the model has layers 0 to %d", l->first, l->last, n_layers - 1);
    }
    return INGOT_OK;
}

static size_t add(char *all, size_t n, const char *word, int value) { return n + (size_t)snprintf(all + n, INGOT_PLAN_TEXT - n, " %s=%d", word, value); }

/* `p` is settled. */
static void print(const ingot_plan *p, char all[INGOT_PLAN_TEXT]) {
    const ingot_method *method = NULL;
    char k[192], v[192];
    int window = 0, sinks = 0;
    size_t n;
    if (ingot_print_both(&p->k, &p->v, &method, k, sizeof k)) {
        n = (size_t)snprintf(all, INGOT_PLAN_TEXT, "%s", k);
        window = method->window, sinks = method->sinks;
    } else {
        ingot_print_side(&p->k, false, k, sizeof k);
        ingot_print_side(&p->v, true, v, sizeof v);
        n = (size_t)snprintf(all, INGOT_PLAN_TEXT, "k=%s v=%s", k, v);
    }
    if (p->window != window) n = add(all, n, "window", p->window);
    if (p->sinks != sinks) n = add(all, n, "sinks", p->sinks);
    if (p->fast_attention) n += (size_t)snprintf(all + n, INGOT_PLAN_TEXT - n, " attn=fast");
    if (p->policy.policy != INGOT_POLICY_FULL) {
        ingot_print_policy(&p->policy, v, sizeof v);
        n += (size_t)snprintf(all + n, INGOT_PLAN_TEXT - n, " policy=%s", v);
    }
    ingot_print_layers(p, all + n, INGOT_PLAN_TEXT - n);
}

const char *ingot_plan_print(const ingot_plan *plan, char *buf, size_t cap) {
    char all[INGOT_PLAN_TEXT], error[1024];
    ingot_plan settled = *plan;
    snprintf(error, sizeof error, "%s", ingot_last_error()); /* spellings that are tried and dropped are no failures */
    if (ingot_settle_layers(&settled) != INGOT_OK) settled = *plan;
    print(&settled, all);
    ingot_fail(INGOT_OK, "%s", error);
    if (cap) snprintf(buf, cap, "%s", all);
    return buf;
}
