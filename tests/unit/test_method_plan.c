/* Registries as users see them, and the spelling of plans. */
#include "codec/codec.h"
#include "method/method.h"
#include "test.h"

static ingot_status parse(ingot_plan *p, const char *kv) { return ingot_plan_parse(p, kv, NULL, NULL, 0, 0); }

TEST("method/every registry row is complete") {
    static const int counts[] = {0, INGOT_N_CODECS, INGOT_N_TRANSFORMS, INGOT_N_POLICIES};
    for (int kind = INGOT_PART_METHOD; kind <= INGOT_PART_POLICY; kind++) {
        const int n = ingot_part_count((ingot_part_kind)kind);
        CHECK(n > 0);
        if (kind != INGOT_PART_METHOD) CHECK_INT(n, counts[kind]);
        for (int i = 0; i < n; i++) {
            const ingot_part_info *p = ingot_part_get((ingot_part_kind)kind, i);
            CHECK(p->name[0] && p->description[0] && p->options);
            CHECK_INT(p->kind, kind);
            CHECK((p->bits_per_element > 0) == (kind == INGOT_PART_METHOD || kind == INGOT_PART_CODEC));
            for (int e = 0; e < i; e++) CHECK(strcmp(p->name, ingot_part_get((ingot_part_kind)kind, e)->name) != 0);
        }
        CHECK(ingot_part_get((ingot_part_kind)kind, n) == NULL && ingot_part_get((ingot_part_kind)kind, -1) == NULL);
    }
    CHECK_INT(ingot_part_count((ingot_part_kind)9), 0);
}

static double bits(const char *kv, int dim) {
    ingot_plan p;
    CHECK_OK(parse(&p, kv));
    CHECK_OK(ingot_side_plan_check(&p.k, dim));
    return ingot_side_plan_bits(&p.k, dim);
}

TEST("method/claimed bits") {
    CHECK_NEAR(bits("f16", 128), 16, 0);
    CHECK_NEAR(bits("q8_0", 128), 8.5, 0);
    CHECK_NEAR(bits("int4", 128), 5, 0);
    CHECK_NEAR(bits("int4,group=64", 128), 4.5, 0);
    CHECK_NEAR(bits("int4,group=128", 128), 4.25, 0);
    CHECK_NEAR(bits("int4,group=128", 64), 4.5, 0); /* the group is clipped to the head size */
    CHECK_NEAR(bits("int4", 80), 5.2, 1e-12);       /* 32 + 32 + 16: three scales */
    for (int i = 0; i < ingot_part_count(INGOT_PART_METHOD); i++) {
        const ingot_part_info *m = ingot_part_get(INGOT_PART_METHOD, i);
        CHECK_NEAR(m->bits_per_element, bits(m->name, 128), 0);
        CHECK_HAS(m->options, "hadamard");
    }
}

TEST("method/every spelling comes back the same") {
    static const struct { const char *in, *out; } rows[] = {
        {"f16", "f16"}, {"q8_0", "q8_0"}, {"int4", "int4"}, {"int4,group=32", "int4"}, {"int4,group=64", "int4,group=64"},
        {"int4,none", "int4"}, {"int4,hadamard,group=128", "int4,group=128,hadamard"}, {"q8_0,hadamard", "q8_0,hadamard"},
        {"k=q8_0 v=int4,group=64", "k=q8_0 v=int4,group=64"}, {"k=int4 v=int4", "int4"}, {"int4 k=f16", "k=f16 v=int4"},
        {"int4 window=128 sinks=4", "int4 window=128 sinks=4"}, {"int4 sinks=4 window=0", "int4 sinks=4"}, {"int4 policy=full", "int4"},
        {"k=q8_0 v=int4,group=64 window=128 sinks=4", "k=q8_0 v=int4,group=64 window=128 sinks=4"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p, again;
        char text[256];
        test_case("%s", rows[i].in);
        if (!CHECK_OK(parse(&p, rows[i].in))) continue;
        CHECK_STR(ingot_plan_print(&p, text, sizeof text), rows[i].out);
        CHECK_OK(parse(&again, text));
        CHECK_MEM(&again, &p, sizeof p);
    }
}

TEST("method/every method, group and transform comes back the same") {
    for (int m = 0; m < ingot_part_count(INGOT_PART_METHOD); m++)
        for (int t = 0; t < INGOT_N_TRANSFORMS; t++) {
            const ingot_method *method = ingot_method_get(m);
            const int *groups = ingot_codec_get(method->codec)->groups;
            for (int g = 0; g == 0 || (groups && groups[g]); g++) {
                char in[128], out[256];
                ingot_plan p, again;
                if (groups) snprintf(in, sizeof in, "%s,group=%d,%s", method->name, groups[g], ingot_transform_get(t)->name);
                else snprintf(in, sizeof in, "%s,%s", method->name, ingot_transform_get(t)->name);
                test_case("%s", in);
                CHECK_OK(parse(&p, in));
                CHECK_INT(p.k.transform, t);
                CHECK_INT(p.v.group, groups ? groups[g] : 0);
                CHECK_OK(parse(&again, ingot_plan_print(&p, out, sizeof out)));
                CHECK_MEM(&again, &p, sizeof p);
            }
        }
}

TEST("method/sides and counts given apart") {
    ingot_plan p;
    char text[256];
    CHECK_OK(ingot_plan_parse(&p, "int4", "q8_0", NULL, 0, 0));
    CHECK_STR(ingot_plan_print(&p, text, sizeof text), "k=q8_0 v=int4");
    CHECK_OK(ingot_plan_parse(&p, NULL, NULL, "int4,group=64", 16, 2));
    CHECK_STR(ingot_plan_print(&p, text, sizeof text), "k=f16 v=int4,group=64 window=16 sinks=2");
    CHECK_OK(ingot_plan_parse(&p, "int4 window=9", NULL, NULL, 16, 0));
    CHECK_INT(p.window, 16);
    CHECK_STR(ingot_plan_print(&p, text, 8), "int4 wi");
    CHECK_STR(ingot_plan_print(&p, text, 1), "");
}

TEST("method/bad spellings are named, with what is valid") {
    static const struct { const char *kv, *part, *valid; } rows[] = {
        {"int5", "\"int5\"", "f16, q8_0, int4"}, {"", "\"\"", "f16, q8_0, int4"}, {"int4,group=48", "group=48", "group=32|64|128"},
        {"int4,group=", "group=", "group=32|64|128"}, {"int4,group=0032x", "group=0032x", "group=32|64|128"},
        {"int4,group=99999999999999999999", "group=9999", "group=32|64|128"}, {"int4,group=-32", "group=-32", "group=32|64|128"},
        {"q8_0,group=32", "q8_0", "no option"}, {"int4,dct", "\"dct\"", "hadamard"}, {"int4,", "\"\"", "hadamard"},
        {"int4,group=32,group=64", "twice", "group=64"}, {"int4,none,hadamard", "twice", "hadamard"}, {"q8_0,dct", "\"dct\"", "none|hadamard"},
        {"int4 int4", "\"int4\"", "window="}, {"int4  window=1", "\"\"", "sinks="}, {"int4 window=x", "window=x", "65536"},
        {"int4 window=65537", "window=65537", "65536"}, {"int4 sinks=4097", "sinks=4097", "4096"}, {"int4 sinks=-1", "sinks=-1", "4096"},
        {"int4 policy=lru", "\"lru\"", "full"}, {"k=int9", "\"int9\"", "q8_0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p;
        test_case("%s", rows[i].kv);
        CHECK_STATUS(parse(&p, rows[i].kv), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), rows[i].part);
        CHECK_HAS(ingot_last_error(), rows[i].valid);
    }
    ingot_plan p;
    char text[4000];
    memset(text, 'a', sizeof text - 1), text[sizeof text - 1] = 0;
    CHECK_STATUS(parse(&p, text), INGOT_E_INVALID);
    CHECK_STATUS(ingot_plan_parse(&p, "int4", "nope", NULL, 0, 0), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "nope");
    CHECK_STATUS(ingot_plan_parse(&p, "int4", NULL, NULL, -1, 0), INGOT_E_INVALID);
    CHECK_STATUS(ingot_plan_parse(&p, "int4", NULL, NULL, 0, 5000), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "5000");
}

TEST("method/sides that cannot be are refused with the reason") {
    const ingot_side_plan good = {INGOT_CODEC_INT4, INGOT_TRANSFORM_NONE, 32};
    ingot_side_plan s = good;
    CHECK_OK(ingot_side_plan_check(&s, 64));
    CHECK_STATUS(ingot_side_plan_check(&s, 72), INGOT_E_UNSUPPORTED);
    CHECK_HAS(ingot_last_error(), "72");
    CHECK_HAS(ingot_last_error(), "multiple of 16");
    s.codec = 99;
    CHECK_STATUS(ingot_side_plan_check(&s, 64), INGOT_E_INVALID);
    s = good, s.transform = -1;
    CHECK_STATUS(ingot_side_plan_check(&s, 64), INGOT_E_INVALID);
    s = good, s.group = 48;
    CHECK_STATUS(ingot_side_plan_check(&s, 64), INGOT_E_INVALID);
    s = good, s.group = 0;
    CHECK_STATUS(ingot_side_plan_check(&s, 64), INGOT_E_INVALID);
    s = (ingot_side_plan){INGOT_CODEC_F16, INGOT_TRANSFORM_NONE, 32};
    CHECK_STATUS(ingot_side_plan_check(&s, 64), INGOT_E_INVALID);
    s = good, s.transform = INGOT_TRANSFORM_HADAMARD;
    CHECK_OK(ingot_side_plan_check(&s, 80));
    CHECK_STATUS(ingot_side_plan_check(&s, 144), INGOT_E_UNSUPPORTED);
    CHECK_HAS(ingot_last_error(), "hadamard");
}
