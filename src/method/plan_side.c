/* Reading one side, or both by one method: METHOD[,OPTION=VALUE]...[,TRANSFORM]... */
#include "../base/error.h"
#include "plan.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *ingot_part_names(ingot_part_kind kind, char *buf, size_t cap) {
    size_t n = 0;
    buf[0] = 0;
    for (int i = 0; i < ingot_part_count(kind) && n < cap; i++)
        n += (size_t)snprintf(buf + n, cap - n, "%s%s", i ? ", " : "", ingot_part_get(kind, i)->name);
    return buf;
}

bool ingot_parse_number(const char *s, int max, int *out) {
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

char *ingot_next_piece(char **rest, char sep) {
    char *s = *rest;
    if (!s) return NULL;
    char *end = strchr(s, sep);
    if (end) *end = 0;
    *rest = end ? end + 1 : NULL;
    return s;
}

const ingot_method_side *ingot_method_side_of(const ingot_method *m, bool value) { return value ? &m->v : &m->k; }

static int find_variant(const ingot_codec *c, const char *name) {
    for (int i = 0; c->variants && c->variants[i]; i++)
        if (!strcmp(c->variants[i], name)) return i;
    return -1;
}

ingot_side_plan ingot_method_side_plan(const ingot_method *m, bool value) {
    const ingot_method_side *s = ingot_method_side_of(m, value);
    const ingot_codec *c = ingot_codec_get(s->codec);
    return (ingot_side_plan){s->codec, s->transforms, s->group ? s->group : c->default_group,
                             s->variant ? find_variant(c, s->variant) : c->default_variant[value]};
}

/* What the words behind a method's name say. */
typedef struct side_words {
    ingot_side_plan *out; /* [2] */
    int method;
    unsigned mask, transforms;
    bool none, group, variant;
} side_words;

static const ingot_codec *codec_of(const side_words *w, int side) { return ingot_codec_get(w->out[side].codec); }

static ingot_status given_twice(const side_words *w, const char *word) {
    return ingot_fail(INGOT_E_INVALID, "\"%s\" of %s: given twice", word, ingot_method_get(w->method)->name);
}

static ingot_status bad_value(const side_words *w, const char *word, const ingot_codec *c) {
    return ingot_fail(INGOT_E_INVALID, "\"%s\" of %s; valid: %s", word, ingot_method_get(w->method)->name, c->options);
}

/* Some codecs name the one group size that they have. */
static bool has_group_option(const ingot_codec *c) { return c->groups && c->groups[0] && c->groups[1]; }

static ingot_status read_group(side_words *w, const char *word) {
    bool applies = false;
    for (int side = 0; side < 2; side++) {
        const ingot_codec *c = codec_of(w, side);
        int group = 0;
        bool known = false;
        if (!(w->mask >> side & 1) || !has_group_option(c)) continue;
        if (ingot_parse_number(word + 6, INGOT_MAX_HEAD_DIM, &group))
            for (const int *g = c->groups; *g; g++) known |= *g == group;
        if (!known) return bad_value(w, word, c);
        const char *why = ingot_group_refused(c, w->out[side].codec, group, side);
        if (why) return ingot_fail(INGOT_E_INVALID, "\"%s\" of %s: %s", word, ingot_method_get(w->method)->name, why);
        w->out[side].group = group;
        applies = true;
    }
    if (!applies) return ingot_fail(INGOT_E_INVALID, "%s has no option \"group\"", ingot_method_get(w->method)->name);
    if (w->group) return given_twice(w, word);
    w->group = true;
    return INGOT_OK;
}

/* KEY=VALUE where KEY selects the variants of a codec; *is: whether it does. */
static ingot_status read_variant(side_words *w, const char *word, bool *is) {
    *is = false;
    for (int side = 0; side < 2; side++) {
        const ingot_codec *c = codec_of(w, side);
        const size_t n = c->variant_key ? strlen(c->variant_key) : 0;
        if (!(w->mask >> side & 1) || !n || strncmp(word, c->variant_key, n) || word[n] != '=') continue;
        const int variant = find_variant(c, word + n + 1);
        if (variant < 0) return bad_value(w, word, c);
        w->out[side].variant = variant;
        *is = true;
    }
    if (*is && w->variant) return given_twice(w, word);
    w->variant |= *is;
    return INGOT_OK;
}

static ingot_status read_transform(side_words *w, const char *word, int transform) {
    const ingot_transform *t = ingot_transform_get(transform);
    if (transform == INGOT_TRANSFORM_NONE) {
        if (w->none) return given_twice(w, word);
        w->none = true;
        return INGOT_OK;
    }
    if (!(t->sides & w->mask)) return ingot_fail(INGOT_E_INVALID, "%s is for %s only", word, t->sides & INGOT_FOR_K ? "keys" : "values");
    if (w->transforms >> transform & 1) return given_twice(w, word);
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
        const ingot_transform *other = ingot_transform_get(i);
        if (w->transforms >> i & 1 && other->stage == t->stage && other->sides & t->sides & w->mask)
            return ingot_fail(INGOT_E_INVALID, "%s and %s of %s exclude each other", other->name, t->name, ingot_method_get(w->method)->name);
    }
    w->transforms |= 1u << transform;
    return INGOT_OK;
}

static ingot_status read_word(side_words *w, const char *word) {
    bool is_variant;
    const int transform = ingot_transform_find(word);
    if (transform >= 0) return read_transform(w, word, transform);
    if (!strncmp(word, "group=", 6)) return read_group(w, word);
    INGOT_TRY(read_variant(w, word, &is_variant));
    if (is_variant) return INGOT_OK;
    const ingot_part_info *info = ingot_part_get(INGOT_PART_METHOD, w->method);
    char transforms[INGOT_PLAN_TEXT];
    return ingot_fail(INGOT_E_INVALID, "unknown option \"%s\" of %s; valid: %s%sthe transforms %s", word, info->name, info->options, *info->options ? ", " : "",
                      ingot_part_names(INGOT_PART_TRANSFORM, transforms, sizeof transforms));
}

/* A method's own transforms, less those that the given ones replace, and the given ones. */
static unsigned combine(unsigned own, unsigned given, bool none, int side) {
    unsigned result = none ? 0 : own;
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++) {
        const ingot_transform *t = ingot_transform_get(i);
        if (!(given >> i & 1) || !(t->sides >> side & 1)) continue;
        for (int j = 0; j < INGOT_N_TRANSFORMS; j++)
            if (ingot_transform_get(j)->stage == t->stage) result &= ~(1u << j);
        result |= 1u << i;
    }
    return result;
}

ingot_status ingot_parse_side(ingot_side_plan out[2], int *method, char *text, unsigned mask) {
    char list[INGOT_PLAN_TEXT], *rest = text;
    const char *name = ingot_next_piece(&rest, ',');
    *method = ingot_method_find(name);
    const ingot_method *m = ingot_method_get(*method);
    if (!m)
        return ingot_fail(INGOT_E_INVALID, "unknown cache method \"%s\"; valid: %s", name, ingot_part_names(INGOT_PART_METHOD, list, sizeof list));
    ingot_side_plan sides[2] = {ingot_method_side_plan(m, false), ingot_method_side_plan(m, true)};
    side_words w = {.out = sides, .method = *method, .mask = mask};
    for (char *word; (word = ingot_next_piece(&rest, ','));) INGOT_TRY(read_word(&w, word));
    for (int side = 0; side < 2; side++) {
        sides[side].transforms = combine(sides[side].transforms, w.transforms, w.none, side);
        if (mask >> side & 1) out[side] = sides[side];
    }
    return INGOT_OK;
}
