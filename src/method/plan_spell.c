/* Writing one side, or both by one method: candidates are spelled, read again, and the shortest that comes back the same is taken. */
#include "plan.h"
#include <stdio.h>
#include <string.h>

static bool same_side(const ingot_side_plan *a, const ingot_side_plan *b) {
    return a->codec == b->codec && a->transforms == b->transforms && a->group == b->group && a->variant == b->variant;
}

/* A text under construction and its words behind the method's name. */
typedef struct spelling {
    char text[192];
    size_t n;
    int words;
} spelling;

static void add_word(spelling *s, const char *key, const char *value) {
    if (s->n >= sizeof s->text) return;
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, ",%s%s", key, value);
    s->words++;
}

/* The words that turn method m into the sides in `mask`. Where two sides want different words the text does not read back, which the caller sees. */
static void spell(spelling *out, const ingot_method *m, const ingot_side_plan *const side[2], unsigned mask, bool none) {
    unsigned transforms = 0;
    int group = 0;
    char number[16];
    const ingot_side_plan own[2] = {ingot_method_side_plan(m, false), ingot_method_side_plan(m, true)};
    out->words = 0;
    out->n = (size_t)snprintf(out->text, sizeof out->text, "%s", m->name);
    for (int s = 0; s < 2; s++) {
        if (!(mask >> s & 1)) continue;
        if (side[s]->group != own[s].group) group = side[s]->group;
        transforms |= side[s]->transforms & ~(none ? 0 : own[s].transforms);
    }
    snprintf(number, sizeof number, "%d", group);
    if (group) add_word(out, "group=", number);
    for (int s = 0, done = 0; s < 2 && !done; s++) {
        const ingot_codec *c = ingot_codec_get(own[s].codec);
        if (!(mask >> s & 1) || side[s]->variant == own[s].variant || !c->variants) continue;
        char key[32];
        snprintf(key, sizeof key, "%s=", c->variant_key);
        add_word(out, key, c->variants[side[s]->variant]);
        done = 1;
    }
    if (none) add_word(out, "none", "");
    for (int stage = 0; stage < INGOT_N_STAGES; stage++)
        for (int t = 0; t < INGOT_N_TRANSFORMS; t++)
            if (transforms >> t & 1 && (int)ingot_transform_get(t)->stage == stage) add_word(out, ingot_transform_get(t)->name, "");
}

static bool reads_back(const spelling *s, const ingot_side_plan *const side[2], unsigned mask) {
    char text[sizeof s->text];
    ingot_side_plan got[2];
    int method;
    if (s->n >= sizeof s->text) return false;
    memcpy(text, s->text, sizeof text);
    if (ingot_parse_side(got, &method, text, mask) != INGOT_OK) return false;
    for (int i = 0; i < 2; i++)
        if (mask >> i & 1 && !same_side(&got[i], side[i])) return false;
    return true;
}

/* A row of the registries with variant indices that exist: what can be spelled at all. */
static bool is_sound(const ingot_side_plan *s) {
    const ingot_codec *c = ingot_codec_get(s->codec);
    if (!c) return false;
    for (int i = 0; i <= s->variant; i++)
        if (s->variant && !(c->variants && c->variants[i])) return false;
    return s->variant >= 0;
}

/* The spelling of fewest words, of the earliest method among equals; false when there is none. */
static bool shortest(spelling *best, const ingot_method **method, const ingot_side_plan *const side[2], unsigned mask) {
    bool found = false;
    for (int s = 0; s < 2; s++)
        if (mask >> s & 1 && !is_sound(side[s])) return false;
    for (int i = 0; ingot_method_get(i); i++) {
        const ingot_method *m = ingot_method_get(i);
        if ((mask & INGOT_FOR_K && m->k.codec != side[0]->codec) || (mask & INGOT_FOR_V && m->v.codec != side[1]->codec)) continue;
        for (int none = 0; none < 2; none++) {
            spelling s;
            spell(&s, m, side, mask, none);
            if ((found && s.words >= best->words) || !reads_back(&s, side, mask)) continue;
            *best = s;
            *method = m;
            found = true;
        }
    }
    return found;
}

bool ingot_print_side(const ingot_side_plan *side, bool value, char *buf, size_t cap) {
    const ingot_side_plan *const sides[2] = {side, side};
    const ingot_method *method;
    spelling s;
    const bool found = shortest(&s, &method, sides, value ? INGOT_FOR_V : INGOT_FOR_K);
    snprintf(buf, cap, "%s", found ? s.text : "?");
    return found;
}

bool ingot_print_both(const ingot_side_plan *k, const ingot_side_plan *v, const ingot_method **method, char *buf, size_t cap) {
    const ingot_side_plan *const sides[2] = {k, v};
    spelling s;
    if (!shortest(&s, method, sides, INGOT_FOR_BOTH)) return false;
    snprintf(buf, cap, "%s", s.text);
    return true;
}
