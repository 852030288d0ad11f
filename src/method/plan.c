/* The spelling of plans. A side is METHOD[,group=N][,TRANSFORM]; a whole plan is words apart by spaces: a side for both K and
 * V, or k=SIDE, v=SIDE, then window=N, sinks=N, policy=NAME. */
#include "../base/error.h"
#include "method.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SPEC = 256 };

/* "a, b, c" of one registry. */
static const char *names(ingot_part_kind kind, char *buf, size_t cap) {
    size_t n = 0;
    buf[0] = 0;
    for (int i = 0; i < ingot_part_count(kind) && n < cap; i++)
        n += (size_t)snprintf(buf + n, cap - n, "%s%s", i ? ", " : "", ingot_part_get(kind, i)->name);
    return buf;
}

/* A decimal number in [0, max] that is the whole of `s`. */
static bool parse_number(const char *s, int max, int *out) {
    long n = 0;
    if (!*s) return false;
    for (; *s; s++) {
        if (!isdigit((unsigned char)*s)) return false;
        n = n * 10 + (*s - '0');
        if (n > max) return false;
    }
    *out = (int)n;
    return true;
}

static ingot_status parse_group(ingot_side_plan *side, const char *method, const char *value) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    if (!codec->groups) return ingot_fail(INGOT_E_INVALID, "%s has no option \"group\"", method);
    int group = 0;
    bool ok = parse_number(value, INGOT_MAX_HEAD_DIM, &group), known = false;
    for (const int *g = codec->groups; *g; g++) known |= *g == group;
    if (!ok || !known) return ingot_fail(INGOT_E_INVALID, "\"group=%s\" of %s; valid: %s", value, method, codec->options);
    side->group = group;
    return INGOT_OK;
}

static ingot_status parse_option(ingot_side_plan *side, int method, const char *word, bool *have_group, bool *have_transform) {
    const ingot_part_info *info = ingot_part_get(INGOT_PART_METHOD, method);
    const bool is_group = !strncmp(word, "group=", 6);
    const int transform = ingot_transform_find(word);
    if (!is_group && transform < 0)
        return ingot_fail(INGOT_E_INVALID, "unknown option \"%s\" of %s; valid: %s", word, info->name, info->options);
    bool *have = is_group ? have_group : have_transform;
    if (*have) return ingot_fail(INGOT_E_INVALID, "\"%s\" of %s: given twice", word, info->name);
    *have = true;
    if (is_group) return parse_group(side, info->name, word + 6);
    side->transform = transform;
    return INGOT_OK;
}

/* Splits at `sep` in place; returns the next piece or NULL at the end. Empty pieces are returned. */
static char *next_piece(char **rest, char sep) {
    char *s = *rest;
    if (!s) return NULL;
    char *end = strchr(s, sep);
    if (end) *end = 0;
    *rest = end ? end + 1 : NULL;
    return s;
}

/* `text` is modified. */
static ingot_status parse_side(ingot_side_plan *out, int *method, char *text) {
    char list[MAX_SPEC], *rest = text;
    const char *name = next_piece(&rest, ',');
    *method = ingot_method_find(name);
    const ingot_method *m = ingot_method_get(*method);
    if (!m) return ingot_fail(INGOT_E_INVALID, "unknown cache method \"%s\"; valid: %s", name, names(INGOT_PART_METHOD, list, sizeof list));
    *out = (ingot_side_plan){m->codec, m->transform, m->group ? m->group : ingot_codec_get(m->codec)->default_group};
    bool have_group = false, have_transform = false;
    for (char *word; (word = next_piece(&rest, ','));) INGOT_TRY(parse_option(out, *method, word, &have_group, &have_transform));
    return INGOT_OK;
}

static ingot_status parse_count(int *out, const char *what, const char *value, int max) {
    if (!parse_number(value, max, out)) return ingot_fail(INGOT_E_INVALID, "%s=%s is not a number from 0 to %d", what, value, max);
    return INGOT_OK;
}

static ingot_status parse_policy(int *out, const char *name) {
    char list[MAX_SPEC];
    *out = ingot_policy_find(name);
    if (*out < 0) return ingot_fail(INGOT_E_INVALID, "unknown policy \"%s\"; valid: %s", name, names(INGOT_PART_POLICY, list, sizeof list));
    return INGOT_OK;
}

static ingot_status parse_both(ingot_plan *p, char *text) {
    int method;
    INGOT_TRY(parse_side(&p->k, &method, text));
    const ingot_method *m = ingot_method_get(method);
    p->v = p->k;
    p->window = m->window, p->sinks = m->sinks, p->policy = m->policy;
    return INGOT_OK;
}

static ingot_status parse_word(ingot_plan *p, char *word, bool first) {
    int method;
    if (!strncmp(word, "k=", 2)) return parse_side(&p->k, &method, word + 2);
    if (!strncmp(word, "v=", 2)) return parse_side(&p->v, &method, word + 2);
    if (!strncmp(word, "window=", 7)) return parse_count(&p->window, "window", word + 7, INGOT_MAX_EXACT_WINDOW);
    if (!strncmp(word, "sinks=", 6)) return parse_count(&p->sinks, "sinks", word + 6, INGOT_MAX_EXACT_SINKS);
    if (!strncmp(word, "policy=", 7)) return parse_policy(&p->policy, word + 7);
    if (first) return parse_both(p, word);
    return ingot_fail(INGOT_E_INVALID, "unknown word \"%s\" in a cache plan; valid: k=, v=, window=, sinks=, policy=", word);
}

static ingot_status copy_spec(char buf[MAX_SPEC], const char *spec) {
    if (strlen(spec) >= MAX_SPEC) return ingot_fail(INGOT_E_INVALID, "cache method of %zu characters; at most %d", strlen(spec), MAX_SPEC - 1);
    strcpy(buf, spec);
    return INGOT_OK;
}

static ingot_status parse_override(ingot_side_plan *side, const char *spec) {
    char buf[MAX_SPEC];
    int method;
    if (!spec) return INGOT_OK;
    INGOT_TRY(copy_spec(buf, spec));
    return parse_side(side, &method, buf);
}

static ingot_status override_count(int *out, const char *what, int value, int max) {
    if (value < 0 || value > max) return ingot_fail(INGOT_E_INVALID, "%s=%d is not a number from 0 to %d", what, value, max);
    if (value) *out = value;
    return INGOT_OK;
}

static ingot_status parse(ingot_plan *p, const char *kv, const char *k, const char *v, int window, int sinks) {
    char buf[MAX_SPEC], *rest = buf, base[] = "f16";
    INGOT_TRY(parse_both(p, base));
    INGOT_TRY(copy_spec(buf, kv ? kv : base));
    for (char *word; (word = next_piece(&rest, ' '));) INGOT_TRY(parse_word(p, word, word == buf));
    INGOT_TRY(parse_override(&p->k, k));
    INGOT_TRY(parse_override(&p->v, v));
    INGOT_TRY(override_count(&p->window, "window", window, INGOT_MAX_EXACT_WINDOW));
    return override_count(&p->sinks, "sinks", sinks, INGOT_MAX_EXACT_SINKS);
}

ingot_status ingot_plan_parse(ingot_plan *out, const char *kv, const char *k, const char *v, int window, int sinks) {
    ingot_plan p;
    *out = (ingot_plan){{0, 0, 0}, {0, 0, 0}, 0, 0, 0};
    INGOT_TRY(parse(&p, kv, k, v, window, sinks));
    *out = p;
    return INGOT_OK;
}

/* The first method whose parts are those of the side; a codec without a method of its own cannot be in a plan. */
static const ingot_method *method_of_side(const ingot_side_plan *s) {
    const ingot_method *fallback = NULL;
    for (int i = 0; ingot_method_get(i); i++) {
        const ingot_method *m = ingot_method_get(i);
        if (m->codec != s->codec) continue;
        if (m->transform == s->transform) return m;
        if (!fallback) fallback = m;
    }
    return fallback;
}

static void print_side(const ingot_side_plan *s, char *buf, size_t cap) {
    const ingot_method *m = method_of_side(s);
    if (!m) {
        snprintf(buf, cap, "?");
        return;
    }
    const int usual = m->group ? m->group : ingot_codec_get(m->codec)->default_group;
    const ingot_transform *t = ingot_transform_get(s->transform);
    int n = snprintf(buf, cap, "%s", m->name);
    if (s->group != usual) n += snprintf(buf + n, cap - (size_t)n, ",group=%d", s->group);
    if (s->transform != m->transform && t) snprintf(buf + n, cap - (size_t)n, ",%s", t->name);
}

const char *ingot_plan_print(const ingot_plan *plan, char *buf, size_t cap) {
    char k[96], v[96], all[MAX_SPEC];
    print_side(&plan->k, k, sizeof k);
    print_side(&plan->v, v, sizeof v);
    const bool same = !strcmp(k, v);
    int n = same ? snprintf(all, sizeof all, "%s", k) : snprintf(all, sizeof all, "k=%s v=%s", k, v);
    if (plan->window) n += snprintf(all + n, sizeof all - (size_t)n, " window=%d", plan->window);
    if (plan->sinks) n += snprintf(all + n, sizeof all - (size_t)n, " sinks=%d", plan->sinks);
    const ingot_policy *policy = ingot_policy_get(plan->policy);
    if (plan->policy != INGOT_POLICY_FULL && policy) snprintf(all + n, sizeof all - (size_t)n, " policy=%s", policy->name);
    if (cap) snprintf(buf, cap, "%s", all);
    return buf;
}
