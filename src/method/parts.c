/* The registries as users see them: names, descriptions, options and stored bits, built once from the descriptors. */
#include "../base/error.h"
#include "plan.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_KINDS = INGOT_PART_POLICY + 1, MAX_ROWS = 96, MAX_OPTIONS = 256, SHOWN_DIM = 128, KEYS = 1, VALUES = 2 };
_Static_assert((int)INGOT_N_CODECS <= MAX_ROWS && (int)INGOT_N_TRANSFORMS <= MAX_ROWS && (int)INGOT_N_POLICIES <= MAX_ROWS, "rows");

static struct {
    ingot_part_info info;
    char options[MAX_OPTIONS], parts[MAX_OPTIONS];
} rows[N_KINDS][MAX_ROWS];
static int n_rows[N_KINDS];

/* Strings that may be missing in a descriptor. */
static const char *text(const char *s) { return s ? s : ""; }

static void add(ingot_part_info info, const char *options, const char *parts) {
    if (n_rows[info.kind] == MAX_ROWS) return; /* a test counts the rows */
    const int i = n_rows[info.kind]++;
    snprintf(rows[info.kind][i].options, MAX_OPTIONS, "%s", options);
    snprintf(rows[info.kind][i].parts, MAX_OPTIONS, "%s", parts);
    info.options = rows[info.kind][i].options;
    info.stage = text(info.stage);
    info.parts = rows[info.kind][i].parts;
    info.bits_per_element = ingot_part_bits(info.kind, i, SHOWN_DIM);
    rows[info.kind][i].info = info;
}

/* The side of a codec alone that is shown: K where it has one. */
static bool shown_side(const ingot_codec *c) { return !(c->sides & KEYS); }

static ingot_side_plan codec_side(int codec) {
    const ingot_codec *c = ingot_codec_get(codec);
    return (ingot_side_plan){codec, 0, c->default_group, c->default_variant[shown_side(c)]};
}

ingot_status ingot_part_check(ingot_part_kind kind, int i, int dim) {
    const ingot_method *m = kind == INGOT_PART_METHOD ? ingot_method_get(i) : NULL;
    const ingot_codec *c = kind == INGOT_PART_CODEC ? ingot_codec_get(i) : NULL;
    const ingot_transform *t = kind == INGOT_PART_TRANSFORM ? ingot_transform_get(i) : NULL;
    if (m) {
        const ingot_side_plan k = ingot_method_side_plan(m, false), v = ingot_method_side_plan(m, true);
        INGOT_TRY(ingot_side_plan_check(&k, false, dim));
        return ingot_side_plan_check(&v, true, dim);
    }
    if (!c && !t) return kind == INGOT_PART_POLICY && ingot_policy_get(i) ? INGOT_OK : ingot_fail(INGOT_E_INVALID, "there is no row %d", i);
    const ingot_side_plan side = c ? codec_side(i) : (ingot_side_plan){0};
    const ingot_kv_fmt f = ingot_side_plan_fmt(&side, c && shown_side(c), dim);
    const char *why = c ? c->check(&f) : t->check(dim);
    return why ? ingot_fail(INGOT_E_UNSUPPORTED, "%s cannot do vectors of %d elements: %s", c ? c->name : t->name, dim, why) : INGOT_OK;
}

double ingot_part_bits(ingot_part_kind kind, int i, int dim) {
    if (kind == INGOT_PART_METHOD && ingot_part_check(kind, i, dim) == INGOT_OK) {
        const ingot_side_plan k = ingot_method_side_plan(ingot_method_get(i), false), v = ingot_method_side_plan(ingot_method_get(i), true);
        return (ingot_side_plan_bits(&k, false, dim) + ingot_side_plan_bits(&v, true, dim)) / 2;
    }
    if (kind != INGOT_PART_CODEC || ingot_part_check(kind, i, dim) != INGOT_OK) return 0;
    const ingot_side_plan side = codec_side(i);
    return ingot_side_plan_bits(&side, shown_side(ingot_codec_get(i)), dim);
}

/* The options of both sides' codecs, each once. */
static void join_options(char *buf, const char *k, const char *v) {
    const bool both = strcmp(k, v) && *v;
    snprintf(buf, MAX_OPTIONS, "%s%s%s", k, both && *k ? "," : "", both ? v : "");
}

static size_t add_side_parts(char *buf, size_t n, const ingot_method_side *s) {
    char transforms[MAX_OPTIONS];
    n += (size_t)snprintf(buf + n, MAX_OPTIONS - n, "%s", ingot_codec_get(s->codec)->name);
    if (s->transforms && n < MAX_OPTIONS) n += (size_t)snprintf(buf + n, MAX_OPTIONS - n, ",%s", ingot_transform_names(s->transforms, transforms, sizeof transforms));
    return n < MAX_OPTIONS ? n : MAX_OPTIONS - 1;
}

static void add_method(const ingot_method *m) {
    char options[MAX_OPTIONS], parts[MAX_OPTIONS];
    join_options(options, ingot_codec_get(m->k.codec)->options, ingot_codec_get(m->v.codec)->options);
    size_t n = add_side_parts(parts, 0, &m->k);
    n += (size_t)snprintf(parts + n, MAX_OPTIONS - n, " / ");
    add_side_parts(parts, n < MAX_OPTIONS ? n : MAX_OPTIONS - 1, &m->v);
    const ingot_side_plan k = ingot_method_side_plan(m, false), v = ingot_method_side_plan(m, true);
    add((ingot_part_info){.name = m->name, .kind = INGOT_PART_METHOD, .description = m->description, .source = text(m->source), .limits = text(m->limits),
                          .sides = KEYS | VALUES, .window = m->window, .needs_calibration = ingot_side_plan_needs(&k) || ingot_side_plan_needs(&v)},
        options, parts);
}

static void add_codec(const ingot_codec *c) {
    add((ingot_part_info){.name = c->name, .kind = INGOT_PART_CODEC, .description = c->description, .source = text(c->source), .limits = "", .sides = c->sides,
                          .needs_calibration = c->needs != INGOT_CAL_NONE},
        c->options, "");
}

static void add_transform(const ingot_transform *t) {
    static const char *const stages[INGOT_N_STAGES] = {"center", "scale", "rotate"};
    add((ingot_part_info){.name = t->name, .kind = INGOT_PART_TRANSFORM, .description = t->description, .source = text(t->source), .limits = "", .sides = t->sides,
                          .stage = t == ingot_transform_get(INGOT_TRANSFORM_NONE) ? "" : stages[t->stage], .needs_calibration = t->needs != INGOT_CAL_NONE},
        "", "");
}

static void add_policy(const ingot_policy *p) {
    add((ingot_part_info){.name = p->name, .kind = INGOT_PART_POLICY, .description = p->description, .source = text(p->source), .limits = "", .sides = KEYS | VALUES,
                          .needs_calibration = p->needs != INGOT_CAL_NONE},
        p->options, "");
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
