/* Registries as users see them, and what one side of a plan can store. */
#include "codec/codec.h"
#include "method/method.h"
#include "test.h"

TEST("method/every registry row is complete") {
    static const int counts[] = {0, INGOT_N_CODECS, INGOT_N_TRANSFORMS, INGOT_N_POLICIES};
    for (int kind = INGOT_PART_METHOD; kind <= INGOT_PART_POLICY; kind++) {
        const int n = ingot_part_count((ingot_part_kind)kind);
        CHECK(n > 0);
        if (kind != INGOT_PART_METHOD) CHECK_INT(n, counts[kind]);
        for (int i = 0; i < n; i++) {
            const ingot_part_info *p = ingot_part_get((ingot_part_kind)kind, i);
            test_case("%s", p->name);
            CHECK(p->name[0] && p->description[0] && p->options && p->source && p->limits && p->sides >= 1 && p->sides <= 3);
            CHECK(!strpbrk(p->name, " ,=/;|") && strlen(p->name) <= 18);
            CHECK(strlen(p->options) < 250); /* not cut */
            CHECK_INT(p->kind, kind);
            CHECK((p->bits_per_element > 0) == (kind == INGOT_PART_METHOD || kind == INGOT_PART_CODEC));
            for (int e = 0; e < i; e++) CHECK(strcmp(p->name, ingot_part_get((ingot_part_kind)kind, e)->name) != 0);
        }
        CHECK(ingot_part_get((ingot_part_kind)kind, n) == NULL && ingot_part_get((ingot_part_kind)kind, -1) == NULL);
    }
    CHECK_INT(ingot_part_count((ingot_part_kind)9), 0);
    int n_methods = 0;
    while (ingot_method_get(n_methods)) n_methods++;
    CHECK_INT(ingot_part_count(INGOT_PART_METHOD), n_methods);
}

TEST("method/every codec and every transform can be named") {
    for (int c = 0; c < INGOT_N_CODECS; c++) {
        bool named = false;
        for (int m = 0; ingot_method_get(m); m++) named |= ingot_method_get(m)->k.codec == c || ingot_method_get(m)->v.codec == c;
        test_case("%s", ingot_codec_get(c)->name);
        CHECK(named);
    }
}

TEST("method/every method can store heads of 64, 128 and 256") {
    for (int m = 0; ingot_method_get(m); m++)
        for (int dim = 64; dim <= 256; dim *= 2) {
            ingot_plan p;
            test_case("%s, %d", ingot_method_get(m)->name, dim);
            CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = ingot_method_get(m)->name, .window = -1, .sinks = -1}));
            CHECK_OK(ingot_side_plan_check(&p.k, false, dim));
            CHECK_OK(ingot_side_plan_check(&p.v, true, dim));
            CHECK_NEAR(ingot_part_bits(INGOT_PART_METHOD, m, dim), (ingot_side_plan_bits(&p.k, false, dim) + ingot_side_plan_bits(&p.v, true, dim)) / 2, 0);
        }
}

static double bits(const char *kv, int dim) {
    ingot_plan p;
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1}));
    CHECK_OK(ingot_side_plan_check(&p.k, false, dim));
    return ingot_side_plan_bits(&p.k, false, dim);
}

TEST("method/claimed bits") {
    CHECK_NEAR(bits("f16", 128), 16, 0);
    CHECK_NEAR(bits("q8_0", 128), 8.5, 0);
    CHECK_NEAR(bits("int4", 128), 5, 0);
    CHECK_NEAR(bits("int4,group=64", 128), 4.5, 0);
    CHECK_NEAR(bits("int4,group=128", 128), 4.25, 0);
    CHECK_NEAR(bits("int4,group=128", 64), 4.5, 0); /* the group is clipped to the head size */
    CHECK_NEAR(bits("int4", 80), 5.2, 1e-12);       /* 32 + 32 + 16: three scales */
    CHECK_NEAR(ingot_part_bits(INGOT_PART_CODEC, INGOT_CODEC_INT4, 128), 5, 0);
    CHECK_NEAR(ingot_part_bits(INGOT_PART_CODEC, INGOT_CODEC_INT4, 72), 0, 0);
    CHECK_NEAR(ingot_part_bits(INGOT_PART_TRANSFORM, 1, 128), 0, 0);
    CHECK_NEAR(ingot_part_bits(INGOT_PART_METHOD, -1, 128), 0, 0);
    for (int i = 0; i < ingot_part_count(INGOT_PART_METHOD); i++) {
        const ingot_part_info *m = ingot_part_get(INGOT_PART_METHOD, i);
        CHECK_NEAR(m->bits_per_element, ingot_part_bits(INGOT_PART_METHOD, i, 128), 0);
        CHECK_HAS(m->parts, " / ");
    }
}

static void refused(ingot_side_plan s, bool value, int dim, ingot_status status, const char *why) {
    CHECK_STATUS(ingot_side_plan_check(&s, value, dim), status);
    CHECK_HAS(ingot_last_error(), why);
}

TEST("method/sides that cannot be are refused with the reason") {
    const ingot_side_plan good = {INGOT_CODEC_INT4, 0, 32, 0};
    ingot_side_plan s = good;
    CHECK_OK(ingot_side_plan_check(&good, false, 64));
    refused(good, true, 72, INGOT_E_UNSUPPORTED, "72");
    refused(good, true, 72, INGOT_E_UNSUPPORTED, "multiple of 16");
    s.codec = 999;
    refused(s, false, 64, INGOT_E_INVALID, "999");
    s = good, s.codec = -1;
    refused(s, false, 64, INGOT_E_INVALID, "-1");
    s = good, s.group = 48;
    refused(s, false, 64, INGOT_E_INVALID, "group=48");
    s = good, s.group = 0;
    refused(s, false, 64, INGOT_E_INVALID, "group=0");
    s = good, s.variant = 1;
    refused(s, false, 64, INGOT_E_INVALID, "variant 1");
    s = good, s.variant = -1;
    refused(s, false, 64, INGOT_E_INVALID, "variant -1");
    refused((ingot_side_plan){INGOT_CODEC_F16, 0, 32, 0}, false, 64, INGOT_E_INVALID, "group=32");
}

TEST("method/transforms that cannot be are refused with the reason") {
    ingot_side_plan s = {INGOT_CODEC_INT4, INGOT_BIT(HADAMARD), 32, 0};
    CHECK_OK(ingot_side_plan_check(&s, false, 80));
    refused(s, false, 176, INGOT_E_UNSUPPORTED, "hadamard");
    s.transforms = INGOT_BIT(HADAMARD) | INGOT_BIT(CENTER);
    CHECK_OK(ingot_side_plan_check(&s, false, 64));
    refused(s, true, 64, INGOT_E_INVALID, "center is for keys only");
    s.transforms = INGOT_BIT(HADAMARD) | INGOT_BIT(HAAR);
    refused(s, false, 64, INGOT_E_INVALID, "hadamard and haar");
    s.transforms = INGOT_BIT(NONE);
    refused(s, false, 64, INGOT_E_INVALID, "none");
    s.transforms = 1u << INGOT_N_TRANSFORMS;
    refused(s, false, 64, INGOT_E_INVALID, "transforms");
}

TEST("method/codes that were learned in one frame are refused in another") {
    static const struct { const char *kv; bool value; const char *why; } rows[] = {
        {"vecinfer8,none", false, "pq8 was calibrated for keys behind smooth,hadamard and cannot be used with the transforms none"},
        {"vecinfer8,haar", false, "smooth,haar"}, {"k=vecinfer8,center v=f16", false, "center,smooth,hadamard"},
        {"k=f16 v=vecinfer8,hadamard", true, "pq8 was calibrated for values without transforms and cannot be used with the transforms hadamard"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p;
        test_case("%s", rows[i].kv);
        CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = rows[i].kv, .window = -1, .sinks = -1}));
        refused(rows[i].value ? p.v : p.k, rows[i].value, 64, INGOT_E_INVALID, rows[i].why);
    }
}

TEST("method/plans say which part needs a calibration") {
    static const struct { const char *kv, *part; } rows[] = {
        {"int4", NULL}, {"int4,hadamard,center", NULL}, {"int4,smooth", "smooth"}, {"k=int4 v=int4,whiten", "whiten"}, {"k=int4,mean v=f16", "mean"},
        {"f16 layers=3=int4,smooth", "smooth"}, {"vecinfer8", "pq8"}, {"wush4", "mean"}, {"turboquant2_5", "split"},
        {"int4 policy=qfilters,budget=50%", "qfilters"}, {"int4 policy=knorm,budget=50%", NULL}, {"f16 layers=3=int4/int4,whiten", "whiten"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p;
        const char *what = "?";
        test_case("%s", rows[i].kv);
        CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = rows[i].kv, .window = -1, .sinks = -1}));
        CHECK_INT(ingot_plan_needs_calibration(&p, &what), rows[i].part != NULL);
        CHECK_INT(ingot_plan_needs_calibration(&p, NULL), rows[i].part != NULL);
        if (rows[i].part) CHECK_STR(what, rows[i].part);
        else CHECK(what == NULL);
    }
}
