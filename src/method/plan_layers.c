/* Layers that are stored otherwise: their spelling, RANGE[,RANGE]...=SIDE[/SIDE], several apart by ";", and their one form. */
#include "../base/error.h"
#include "plan.h"
#include <stdio.h>
#include <string.h>

static bool same_sides(const ingot_layer_plan *a, const ingot_layer_plan *b) {
    return !memcmp(&a->k, &b->k, sizeof a->k) && !memcmp(&a->v, &b->v, sizeof a->v);
}

static ingot_status parse_sides(ingot_layer_plan *out, char *text) {
    char *rest = text;
    int method;
    ingot_side_plan sides[2];
    char *k = ingot_next_piece(&rest, '/'), *v = rest;
    INGOT_TRY(ingot_parse_side(sides, &method, k, v ? INGOT_FOR_K : INGOT_FOR_BOTH));
    if (v) INGOT_TRY(ingot_parse_side(sides, &method, v, INGOT_FOR_V));
    out->k = sides[INGOT_SIDE_K], out->v = sides[INGOT_SIDE_V];
    return INGOT_OK;
}

/* FIRST or FIRST-LAST. `text` is modified. */
static ingot_status parse_range(ingot_layer_plan *out, char *text) {
    char whole[32], *rest = text;
    snprintf(whole, sizeof whole, "%s", text);
    const char *first = ingot_next_piece(&rest, '-'), *last = rest ? rest : first;
    if (!ingot_parse_number(first, INGOT_MAX_LAYERS - 1, &out->first) || !ingot_parse_number(last, INGOT_MAX_LAYERS - 1, &out->last))
        return ingot_fail(INGOT_E_INVALID, "layers \"%s\": not a layer or a range such as 0-3, from 0 to %d", whole, INGOT_MAX_LAYERS - 1);
    if (out->first > out->last) return ingot_fail(INGOT_E_INVALID, "layers \"%s\": %d is after %d", whole, out->first, out->last);
    return INGOT_OK;
}

static ingot_status too_many(void) { return ingot_fail(INGOT_E_INVALID, "more than %d ranges of layers that are stored otherwise", INGOT_MAX_LAYER_PLANS); }

/* What the plan says of each layer: 0 = as the rest, i + 1 = as layer plan i; a later one wins. */
static void paint(const ingot_plan *p, uint8_t of[INGOT_MAX_LAYERS]) {
    const ingot_layer_plan rest = {0, 0, p->k, p->v};
    memset(of, 0, INGOT_MAX_LAYERS);
    for (int i = 0; i < p->n_layer_plans; i++) {
        const ingot_layer_plan *l = &p->layer_plans[i];
        int as = i + 1;
        for (int e = 0; e < i; e++)
            if (as == i + 1 && same_sides(&p->layer_plans[e], l)) as = e + 1;
        if (same_sides(&rest, l)) as = 0;
        for (int layer = l->first < 0 ? 0 : l->first; layer <= l->last && layer < INGOT_MAX_LAYERS; layer++) of[layer] = (uint8_t)as;
    }
}

ingot_status ingot_settle_layers(ingot_plan *p) {
    uint8_t of[INGOT_MAX_LAYERS];
    ingot_layer_plan settled[INGOT_MAX_LAYER_PLANS];
    int n = 0;
    paint(p, of);
    for (int first = 0, last; first < INGOT_MAX_LAYERS; first = last + 1) {
        for (last = first; last + 1 < INGOT_MAX_LAYERS && of[last + 1] == of[first];) last++;
        if (!of[first]) continue;
        if (n == INGOT_MAX_LAYER_PLANS) return too_many();
        settled[n] = p->layer_plans[of[first] - 1];
        settled[n].first = first, settled[n++].last = last;
    }
    memset(p->layer_plans, 0, sizeof p->layer_plans);
    memcpy(p->layer_plans, settled, sizeof *settled * (size_t)n);
    p->n_layer_plans = n;
    return INGOT_OK;
}

static ingot_status parse_entry(ingot_plan *p, char *text) {
    char *sides = strchr(text, '=');
    if (!sides) return ingot_fail(INGOT_E_INVALID, "layers \"%s\": say how they are stored, such as 0-1,28-29=q8_0 or 0=q8_0/int4", text);
    *sides++ = 0;
    ingot_layer_plan plan = {0};
    INGOT_TRY(parse_sides(&plan, sides));
    char *rest = text;
    for (char *range; (range = ingot_next_piece(&rest, ','));) {
        INGOT_TRY(parse_range(&plan, range));
        if (p->n_layer_plans == INGOT_MAX_LAYER_PLANS) return too_many();
        p->layer_plans[p->n_layer_plans++] = plan;
    }
    return INGOT_OK;
}

ingot_status ingot_parse_layers(ingot_plan *p, char *text) {
    for (char *entry; (entry = ingot_next_piece(&text, ';'));) INGOT_TRY(parse_entry(p, entry));
    return INGOT_OK;
}

static size_t print_sides(const ingot_layer_plan *l, char *buf, size_t cap) {
    const ingot_method *method;
    char k[192], v[192];
    if (ingot_print_both(&l->k, &l->v, &method, k, sizeof k)) return (size_t)snprintf(buf, cap, "=%s", k);
    ingot_print_side(&l->k, false, k, sizeof k);
    ingot_print_side(&l->v, true, v, sizeof v);
    return (size_t)snprintf(buf, cap, "=%s/%s", k, v);
}

size_t ingot_print_layers(const ingot_plan *p, char *buf, size_t cap) {
    size_t n = 0;
    for (int i = 0; i < p->n_layer_plans; i++) {
        bool printed = false;
        for (int e = 0; e < i; e++) printed |= same_sides(&p->layer_plans[e], &p->layer_plans[i]);
        if (printed) continue;
        const char *before = " layers=";
        for (int e = i; e < p->n_layer_plans && n < cap; e++) {
            const ingot_layer_plan *l = &p->layer_plans[e];
            if (!same_sides(l, &p->layer_plans[i])) continue;
            n += (size_t)snprintf(buf + n, cap - n, l->first == l->last ? "%s%d" : "%s%d-%d", before, l->first, l->last);
            before = ",";
        }
        if (n < cap) n += print_sides(&p->layer_plans[i], buf + n, cap - n);
    }
    return n;
}
