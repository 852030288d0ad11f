/* The registries as users see them: names, descriptions, options and stored bits, built once from the descriptors. */
#include "method.h"
#include <pthread.h>
#include <stdio.h>

enum { N_KINDS = INGOT_PART_POLICY + 1, MAX_ROWS = 64, MAX_OPTIONS = 96, SHOWN_DIM = 128 };
_Static_assert((int)INGOT_N_CODECS <= MAX_ROWS && (int)INGOT_N_TRANSFORMS <= MAX_ROWS && (int)INGOT_N_POLICIES <= MAX_ROWS, "rows");

static struct {
    ingot_part_info info;
    char options[MAX_OPTIONS];
} rows[N_KINDS][MAX_ROWS];
static int n_rows[N_KINDS];

static void add(ingot_part_kind kind, const char *name, const char *description, double bits, const char *options) {
    const int i = n_rows[kind]++;
    snprintf(rows[kind][i].options, MAX_OPTIONS, "%s", options);
    rows[kind][i].info = (ingot_part_info){name, kind, bits, description, rows[kind][i].options};
}

static double codec_bits(int codec, int group) {
    const ingot_side_plan side = {codec, INGOT_TRANSFORM_NONE, group ? group : ingot_codec_get(codec)->default_group};
    return ingot_side_plan_bits(&side, SHOWN_DIM);
}

/* What may follow a method's name: the options of its codec, then the transforms. */
static void add_method(const ingot_method *m) {
    char options[MAX_OPTIONS];
    const char *own = ingot_codec_get(m->codec)->options;
    int n = snprintf(options, sizeof options, "%s%s", own, *own ? "," : "");
    for (int t = 0; ingot_transform_get(t); t++)
        n += snprintf(options + n, sizeof options - (size_t)n, "%s%s", t ? "|" : "", ingot_transform_get(t)->name);
    add(INGOT_PART_METHOD, m->name, m->description, codec_bits(m->codec, m->group), options);
}

static void build(void) {
    for (int i = 0; ingot_method_get(i); i++) add_method(ingot_method_get(i));
    for (int i = 0; ingot_codec_get(i); i++) {
        const ingot_codec *c = ingot_codec_get(i);
        add(INGOT_PART_CODEC, c->name, c->description, codec_bits(i, 0), c->options);
    }
    for (int i = 0; ingot_transform_get(i); i++)
        add(INGOT_PART_TRANSFORM, ingot_transform_get(i)->name, ingot_transform_get(i)->description, 0, "");
    for (int i = 0; ingot_policy_get(i); i++)
        add(INGOT_PART_POLICY, ingot_policy_get(i)->name, ingot_policy_get(i)->description, 0, "");
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
