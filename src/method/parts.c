/* The registries as users see them: names, descriptions, options and stored bits, built once from the descriptors. */
#include "plan.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_KINDS = INGOT_PART_POLICY + 1, MAX_ROWS = 96, MAX_OPTIONS = 256, SHOWN_DIM = 128, KEYS = 1, VALUES = 2 };
_Static_assert((int)INGOT_N_CODECS <= MAX_ROWS && (int)INGOT_N_TRANSFORMS <= MAX_ROWS && (int)INGOT_N_POLICIES <= MAX_ROWS, "rows");

static struct {
    ingot_part_info info;
    char options[MAX_OPTIONS];
} rows[N_KINDS][MAX_ROWS];
static int n_rows[N_KINDS];

static void add(ingot_part_info info, const char *options) {
    if (n_rows[info.kind] == MAX_ROWS) return; /* a test counts the rows */
    const int i = n_rows[info.kind]++;
    snprintf(rows[info.kind][i].options, MAX_OPTIONS, "%s", options);
    info.options = rows[info.kind][i].options;
    info.bits_per_element = ingot_part_bits(info.kind, i, SHOWN_DIM);
    rows[info.kind][i].info = info;
}

/* The side of a codec alone that is shown: K where it has one. */
static bool shown_side(const ingot_codec *c) { return !(c->sides & KEYS); }

static ingot_side_plan codec_side(int codec) {
    const ingot_codec *c = ingot_codec_get(codec);
    return (ingot_side_plan){codec, 0, c->default_group, c->default_variant[shown_side(c)]};
}

double ingot_part_bits(ingot_part_kind kind, int i, int dim) {
    if (kind == INGOT_PART_METHOD && ingot_method_get(i)) {
        const ingot_method *m = ingot_method_get(i);
        const ingot_side_plan k = ingot_method_side_plan(m, false), v = ingot_method_side_plan(m, true);
        if (ingot_side_plan_check(&k, false, dim) != INGOT_OK || ingot_side_plan_check(&v, true, dim) != INGOT_OK) return 0;
        return (ingot_side_plan_bits(&k, false, dim) + ingot_side_plan_bits(&v, true, dim)) / 2;
    }
    const ingot_codec *c = kind == INGOT_PART_CODEC ? ingot_codec_get(i) : NULL;
    if (!c) return 0;
    const ingot_side_plan side = codec_side(i);
    const ingot_kv_fmt f = ingot_side_plan_fmt(&side, shown_side(c), dim);
    return c->check(&f) ? 0 : ingot_side_plan_bits(&side, shown_side(c), dim);
}

static size_t join(char *buf, size_t n, const char *separator, const char *text) {
    if (!*text || n >= MAX_OPTIONS) return n;
    return n + (size_t)snprintf(buf + n, MAX_OPTIONS - n, "%s%s", n ? separator : "", text);
}

/* What may follow a method's name: the options of its codecs, then the transforms. */
static void add_method(const ingot_method *m) {
    char options[MAX_OPTIONS] = "";
    const ingot_codec *k = ingot_codec_get(m->k.codec), *v = ingot_codec_get(m->v.codec);
    size_t n = join(options, 0, "", k->options);
    if (strcmp(k->options, v->options)) n = join(options, n, ",", v->options);
    for (int t = 0; ingot_transform_get(t); t++) n = join(options, n, t ? "|" : ",", ingot_transform_get(t)->name);
    const ingot_side_plan sides[2] = {ingot_method_side_plan(m, false), ingot_method_side_plan(m, true)};
    add((ingot_part_info){.name = m->name, .kind = INGOT_PART_METHOD, .description = m->description, .source = m->source ? m->source : "",
                          .limits = m->limits ? m->limits : "", .sides = KEYS | VALUES, .window = m->window,
                          .needs_calibration = ingot_side_plan_needs(&sides[0]) || ingot_side_plan_needs(&sides[1])},
        options);
}

static void add_codec(const ingot_codec *c) {
    add((ingot_part_info){.name = c->name, .kind = INGOT_PART_CODEC, .description = c->description, .source = "", .limits = "", .sides = c->sides,
                          .needs_calibration = c->needs != INGOT_CAL_NONE},
        c->options);
}

static void add_transform(const ingot_transform *t) {
    add((ingot_part_info){.name = t->name, .kind = INGOT_PART_TRANSFORM, .description = t->description, .source = "", .limits = "", .sides = t->sides,
                          .needs_calibration = t->needs != INGOT_CAL_NONE},
        "");
}

static void add_policy(const ingot_policy *p) {
    add((ingot_part_info){.name = p->name, .kind = INGOT_PART_POLICY, .description = p->description, .source = "", .limits = "", .sides = KEYS | VALUES,
                          .needs_calibration = p->needs != INGOT_CAL_NONE},
        p->evicts && p->options ? p->options : "");
}

static void build(void) {
    for (int i = 0; ingot_method_get(i); i++) add_method(ingot_method_get(i));
    for (int i = 0; ingot_codec_get(i); i++) add_codec(ingot_codec_get(i));
    for (int i = 0; ingot_transform_get(i); i++) add_transform(ingot_transform_get(i));
    for (int i = 0; ingot_policy_get(i); i++) add_policy(ingot_policy_get(i));
}

static void build_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, build);
}

int ingot_part_count(ingot_part_kind kind) {
    build_once();
    return (unsigned)kind < N_KINDS ? n_rows[kind] : 0;
}

const ingot_part_info *ingot_part_get(ingot_part_kind kind, int i) {
    return i >= 0 && i < ingot_part_count(kind) ? &rows[kind][i].info : NULL;
}
