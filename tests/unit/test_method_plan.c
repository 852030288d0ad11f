/* The spelling of plans: what is read, what is printed, what is refused. */
#include "base/rng.h"
#include "codec/codec.h"
#include "method/method.h"
#include "test.h"

static ingot_status parse(ingot_plan *p, const char *kv) { return ingot_plan_parse(p, &(ingot_plan_spec){.kv = kv, .window = -1, .sinks = -1}); }

TEST("method/every spelling comes back the same") {
    static const struct { const char *in, *out; } rows[] = {
        {"f16", "f16"}, {"q8_0", "q8_0"}, {"int4", "int4"}, {"int4,group=32", "int4"}, {"int4,group=64", "int4,group=64"},
        {"int4,none", "int4"}, {"int4,hadamard,group=128", "int4,group=128,hadamard"}, {"q8_0,hadamard", "q8_0,hadamard"},
        {"int4,none,hadamard", "int4,hadamard"}, {"int4,hadamard,none", "int4,hadamard"},
        {"k=q8_0 v=int4,group=64", "k=q8_0 v=int4,group=64"}, {"k=int4 v=int4", "int4"}, {"int4 k=f16", "k=f16 v=int4"},
        {"int4,hadamard,smooth", "int4,smooth,hadamard"}, {"k=int4,center,hadamard v=int4,hadamard", "int4,center,hadamard"},
        {"int4,center", "int4,center"}, {"k=int4,center v=int4", "int4,center"}, {"k=int4,smooth v=int4", "int4,smooth"}, {"k=int4,haar v=int4", "k=int4,haar v=int4"},
        {"int4 window=128 sinks=4", "int4 window=128 sinks=4"}, {"int4 attn=precise", "int4"}, {"int4 attn=fast sinks=4", "int4 sinks=4 attn=fast"}, {"int4 sinks=4 window=0", "int4 sinks=4"}, {"int4 policy=full", "int4"},
        {"k=q8_0 v=int4,group=64 window=128 sinks=4", "k=q8_0 v=int4,group=64 window=128 sinks=4"},
        {"int4 layers=0-1,28-29=q8_0", "int4 layers=0-1,28-29=q8_0"}, {"int4 layers=0=q8_0 layers=1=q8_0", "int4 layers=0-1=q8_0"},
        {"int4 layers=5=q8_0/int4,group=64", "int4 layers=5=q8_0/int4,group=64"}, {"int4 layers=5=q8_0/q8_0", "int4 layers=5=q8_0"},
        {"int4 layers=0-9=q8_0 layers=3-4=f16", "int4 layers=0-2,5-9=q8_0 layers=3-4=f16"}, {"int4 layers=0-9=q8_0 layers=3-4=int4", "int4 layers=0-2,5-9=q8_0"},
        {"int4 layers=4-5=int4", "int4"}, {"qjl,group=64", "qjl,group=64"}, {"k=qjl v=kivi2 window=128", "qjl"}, {"kivi2", "kivi2"}, {"kivi2 window=0", "kivi2 window=0"}, {"k=kivi2 v=kivi2", "kivi2 window=0"},
        {"turboquant4,none", "turboquant4,none"}, {"turboquant4,haar", "turboquant4,haar"}, {"k=turboquant4,mean,whiten v=turboquant4", "wush4 window=0 sinks=0"},
        {"turboquant4,scale=paper", "turboquant4,scale=paper"}, {"k=turboquant4,scale=unbiased v=turboquant4,scale=ls", "turboquant4"}, {"wush4,none,whiten", "turboquant4,whiten window=128 sinks=4"},
        {"int4 layers=7=f16 layers=2=q8_0", "int4 layers=2=q8_0 layers=7=f16"}, {"int4 layers=1023=f16", "int4 layers=1023=f16"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p, again;
        char text[INGOT_PLAN_TEXT_BYTES];
        test_case("%s", rows[i].in);
        if (!CHECK_OK(parse(&p, rows[i].in))) continue;
        CHECK_STR(ingot_plan_print(&p, text, sizeof text), rows[i].out);
        CHECK_OK(parse(&again, text));
        CHECK_MEM(&again, &p, sizeof p);
    }
}

/* The transforms that a word adds to a side, none of its stage but itself. */
static unsigned with(unsigned own, int t, int side) {
    if (t == INGOT_TRANSFORM_NONE) return 0;
    if (!(ingot_transform_get(t)->sides >> side & 1)) return own;
    for (int i = 0; i < INGOT_N_TRANSFORMS; i++)
        if (ingot_transform_get(i)->stage == ingot_transform_get(t)->stage) own &= ~(1u << i);
    return own | 1u << t;
}

TEST("method/a transform replaces the method's own of its stage, on the sides that have it") {
    for (int m = 0; ingot_method_get(m); m++)
        for (int t = 0; t < INGOT_N_TRANSFORMS; t++) {
            const ingot_method *method = ingot_method_get(m);
            char in[128], out[INGOT_PLAN_TEXT_BYTES];
            ingot_plan p, again;
            snprintf(in, sizeof in, "%s,%s", method->name, ingot_transform_get(t)->name);
            test_case("%s", in);
            if (!CHECK_OK(parse(&p, in))) continue;
            CHECK_INT(p.k.transforms, with(method->k.transforms, t, 0));
            CHECK_INT(p.v.transforms, with(method->v.transforms, t, 1));
            CHECK_INT(p.window, method->window);
            CHECK_OK(parse(&again, ingot_plan_print(&p, out, sizeof out)));
            CHECK_MEM(&again, &p, sizeof p);
        }
}

TEST("method/every group and variant is read on the sides that have it") {
    for (int m = 0; ingot_method_get(m); m++)
        for (int side = 0; side < 2; side++) {
            const ingot_method *method = ingot_method_get(m);
            const ingot_codec *c = ingot_codec_get(side ? method->v.codec : method->k.codec);
            for (int i = 0; c->groups && c->groups[1] && c->groups[i]; i++) {
                char in[128];
                ingot_plan p;
                snprintf(in, sizeof in, "%s=%s,group=%d", side ? "v" : "k", method->name, c->groups[i]);
                test_case("%s", in);
                const bool refused = ingot_group_refused(c, side ? method->v.codec : method->k.codec, c->groups[i], side) != NULL;
                CHECK_STATUS(parse(&p, in), refused ? INGOT_E_INVALID : INGOT_OK);
                if (!refused) CHECK_INT((side ? p.v : p.k).group, c->groups[i]);
            }
            for (int i = 0; c->variants && c->variants[i]; i++) {
                char in[128];
                ingot_plan p;
                snprintf(in, sizeof in, "%s=%s,%s=%s", side ? "v" : "k", method->name, c->variant_key, c->variants[i]);
                test_case("%s", in);
                CHECK_OK(parse(&p, in));
                CHECK_INT((side ? p.v : p.k).variant, i);
            }
        }
}

/* Any side of any method, with options of its own, as text. */
static void random_side(ingot_rng *r, bool value, char *buf, size_t cap) {
    int n_methods = 0, stages = 0;
    while (ingot_method_get(n_methods)) n_methods++;
    const ingot_method *m = ingot_method_get((int)(ingot_rng_next(r) % (unsigned)n_methods));
    const ingot_codec *c = ingot_codec_get(value ? m->v.codec : m->k.codec);
    size_t n = (size_t)snprintf(buf, cap, "%s", m->name);
    if (c->groups && c->groups[1] && ingot_rng_next(r) % 2) {
        int count = 0;
        while (c->groups[count] && !ingot_group_refused(c, value ? m->v.codec : m->k.codec, c->groups[count], value)) count++;
        n += (size_t)snprintf(buf + n, cap - n, ",group=%d", c->groups[ingot_rng_next(r) % (unsigned)count]);
    }
    if (c->variants && ingot_rng_next(r) % 2) {
        int count = 0;
        while (c->variants[count]) count++;
        n += (size_t)snprintf(buf + n, cap - n, ",%s=%s", c->variant_key, c->variants[ingot_rng_next(r) % (unsigned)count]);
    }
    if (ingot_rng_next(r) % 4 == 0) n += (size_t)snprintf(buf + n, cap - n, ",none");
    for (int t = 1; t < INGOT_N_TRANSFORMS; t++) {
        const ingot_transform *x = ingot_transform_get(t);
        if (ingot_rng_next(r) % 4 || stages >> x->stage & 1 || !(x->sides >> value & 1)) continue;
        stages |= 1 << x->stage;
        n += (size_t)snprintf(buf + n, cap - n, ",%s", x->name);
    }
}

static int below(ingot_rng *r, int n) { return (int)(ingot_rng_next(r) % (unsigned)n); }

static void random_policy(ingot_rng *r, char *buf, size_t cap) {
    const ingot_policy *policy = ingot_policy_get(below(r, INGOT_N_POLICIES));
    size_t n = (size_t)snprintf(buf, cap, " policy=%s", policy->name);
    if (!policy->evicts) return;
    if (below(r, 2)) n += (size_t)snprintf(buf + n, cap - n, ",budget=%d", 9000 + below(r, 1000));
    else n += (size_t)snprintf(buf + n, cap - n, ",budget=%d.%d%%", 1 + below(r, 98), below(r, 10));
    if (below(r, 2)) snprintf(buf + n, cap - n, ",recent=%d", below(r, 300));
}

static size_t random_layers(ingot_rng *r, char *buf, size_t cap) {
    char k[256], v[256];
    size_t n = (size_t)snprintf(buf, cap, " layers=");
    const int n_ranges = 1 + below(r, 2);
    for (int i = 0; i < n_ranges; i++) {
        const int first = below(r, 60), last = first + below(r, 6);
        n += (size_t)snprintf(buf + n, cap - n, first == last ? "%s%d" : "%s%d-%d", i ? "," : "", first, last);
    }
    random_side(r, false, k, sizeof k);
    random_side(r, true, v, sizeof v);
    return n + (size_t)snprintf(buf + n, cap - n, "=%s/%s", k, v);
}

TEST("method/random plans come back from their spelling, which is the only one") {
    ingot_rng r = {7};
    for (int i = 0; i < 3000; i++) {
        char in[INGOT_PLAN_TEXT_BYTES], k[256], v[256], out[INGOT_PLAN_TEXT_BYTES], out_again[INGOT_PLAN_TEXT_BYTES];
        ingot_plan p, again;
        random_side(&r, false, k, sizeof k);
        random_side(&r, true, v, sizeof v);
        size_t n = (size_t)snprintf(in, sizeof in, "k=%s v=%s", k, v);
        if (below(&r, 3) == 0) n = (size_t)snprintf(in, sizeof in, "%s", ingot_method_get(below(&r, ingot_part_count(INGOT_PART_METHOD)))->name);
        if (below(&r, 2)) n += (size_t)snprintf(in + n, sizeof in - n, " window=%d sinks=%d", below(&r, 200), below(&r, 10));
        for (int e = below(&r, 4); e > 0; e--) n += random_layers(&r, in + n, sizeof in - n);
        if (below(&r, 2)) random_policy(&r, in + n, sizeof in - n);
        test_case("%s", in);
        if (!CHECK_OK(parse(&p, in))) continue;
        ingot_plan_print(&p, out, sizeof out);
        if (!CHECK(!strchr(out, '?')) || !CHECK_OK(parse(&again, out))) continue;
        CHECK_MEM(&again, &p, sizeof p);
        CHECK_STR(ingot_plan_print(&again, out_again, sizeof out_again), out);
    }
}

TEST("method/the longest spelling fits") {
    ingot_plan p, again;
    char longest[256] = "", in[INGOT_PLAN_TEXT_BYTES], out[INGOT_PLAN_TEXT_BYTES];
    ingot_rng r = {3};
    for (int i = 0; i < 20000; i++) {
        char side[256];
        random_side(&r, false, side, sizeof side);
        if (strlen(side) > strlen(longest)) strcpy(longest, side);
    }
    CHECK(strlen(longest) < 96); /* 1 + 16 layer plans of two sides each and their ranges, the rest in 600 */
    CHECK(2 * 17 * 96 + 16 * (int)sizeof " layers=1022-1023=/" + 200 < INGOT_PLAN_TEXT_BYTES);
    size_t n = (size_t)snprintf(in, sizeof in, "f16");
    for (int i = 0; i < INGOT_MAX_LAYER_PLANS; i++) n += (size_t)snprintf(in + n, sizeof in - n, " layers=%d=%s/f16", 2 * i, i % 2 ? "q8_0" : longest);
    CHECK_OK(parse(&p, in));
    CHECK_INT(p.n_layer_plans, INGOT_MAX_LAYER_PLANS);
    CHECK_OK(parse(&again, ingot_plan_print(&p, out, sizeof out)));
    CHECK_MEM(&again, &p, sizeof p);
    n += (size_t)snprintf(in + n, sizeof in - n, " layers=100=q8_0");
    CHECK_STATUS(parse(&p, in), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "16");
}

TEST("method/what is given apart replaces what the plan says") {
    ingot_plan p;
    char text[INGOT_PLAN_TEXT_BYTES];
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4", .k = "q8_0", .window = -1, .sinks = -1}));
    CHECK_STR(ingot_plan_print(&p, text, sizeof text), "k=q8_0 v=int4");
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.v = "int4,group=64", .window = 16, .sinks = 2}));
    CHECK_STR(ingot_plan_print(&p, text, sizeof text), "k=f16 v=int4,group=64 window=16 sinks=2");
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4 window=9 sinks=3", .window = 16, .sinks = -1}));
    CHECK_INT(p.window, 16);
    CHECK_INT(p.sinks, 3);
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4 window=9 sinks=3", .window = 0, .sinks = -1}));
    CHECK_INT(p.window, 0);
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4 layers=0=q8_0 policy=full", .layers = "3-4=f16;7=f16/q8_0", .policy = "full", .window = -1, .sinks = -1}));
    CHECK_STR(ingot_plan_print(&p, text, sizeof text), "int4 layers=3-4=f16 layers=7=f16/q8_0");
    CHECK_STR(ingot_plan_print(&p, text, 8), "int4 la");
    CHECK_STR(ingot_plan_print(&p, text, 1), "");
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.window = -1, .sinks = -1}));
    CHECK_STR(ingot_plan_print(&p, text, sizeof text), "f16");
}

TEST("method/layers are stored as the last word on them says") {
    ingot_plan p = {0};
    CHECK_OK(parse(&p, "int4 layers=0-3=q8_0 layers=2=f16/q8_0"));
    static const int k[] = {INGOT_CODEC_Q8_0, INGOT_CODEC_Q8_0, INGOT_CODEC_F16, INGOT_CODEC_Q8_0, INGOT_CODEC_INT4};
    for (int layer = 0; layer < 5; layer++) {
        CHECK_INT(ingot_plan_side(&p, layer, false)->codec, k[layer]);
        CHECK_INT(ingot_plan_side(&p, layer, true)->codec, layer < 4 ? INGOT_CODEC_Q8_0 : INGOT_CODEC_INT4);
    }
    /* A plan made by hand may overlap and repeat; the later entry counts, and its spelling says the same. */
    char text[INGOT_PLAN_TEXT_BYTES];
    ingot_plan by_hand;
    CHECK_OK(parse(&by_hand, "int4"));
    const ingot_side_plan q8_0 = *ingot_plan_side(&p, 0, false);
    by_hand.n_layer_plans = 2;
    by_hand.layer_plans[0] = (ingot_layer_plan){0, 5, q8_0, q8_0};
    by_hand.layer_plans[1] = (ingot_layer_plan){2, 3, by_hand.k, by_hand.v};
    CHECK_INT(ingot_plan_side(&by_hand, 3, true)->codec, INGOT_CODEC_INT4);
    CHECK_STR(ingot_plan_print(&by_hand, text, sizeof text), "int4 layers=0-1,4-5=q8_0");
}

TEST("method/plans made by hand are checked") {
    ingot_plan good, p;
    CHECK_OK(parse(&good, "int4 window=8 sinks=2 policy=knorm,budget=40 layers=0-1=q8_0"));
    CHECK_OK(ingot_plan_check(&good, 2));
    CHECK_STATUS(ingot_plan_check(&good, 1), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "layers 0-1");
    p = good, p.window = -1;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.sinks = 1 << 20;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.policy.policy = 99;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.policy.permill = 100;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.policy.budget = 10;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.policy.recent = -2;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.policy.policy = INGOT_POLICY_FULL;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.n_layer_plans = 17;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.layer_plans[0].first = -1;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
    p = good, p.layer_plans[0].last = -1;
    CHECK_STATUS(ingot_plan_check(&p, 2), INGOT_E_INVALID);
}

TEST("method/printing a plan leaves the last error alone") {
    ingot_plan p;
    char text[INGOT_PLAN_TEXT_BYTES], error[1024];
    CHECK_STATUS(parse(&p, "int99"), INGOT_E_INVALID);
    snprintf(error, sizeof error, "%s", ingot_last_error());
    CHECK_OK(parse(&p, "k=int4,center,hadamard v=q8_0,haar"));
    ingot_plan_print(&p, text, sizeof text);
    CHECK_STR(ingot_last_error(), error);
}

TEST("method/bad spellings are named, with what is valid") {
    static const struct { const char *kv, *part, *valid; } rows[] = {
        {"int5", "\"int5\"", "f16, q8_0"}, {"", "\"\"", "int4"}, {"int4,group=48", "group=48", "group="},
        {"int4,group=", "group=", "|64|"}, {"int4,group=0032x", "group=0032x", "|64|"},
        {"int4,group=99999999999999999999", "group=9999", "|64|"}, {"int4,group=-32", "group=-32", "|64|"},
        {"q8_0,group=32", "q8_0", "no option"}, {"int4,dct", "\"dct\"", "hadamard"}, {"int4,", "\"\"", "hadamard"},
        {"int4,group=32,group=64", "twice", "group=64"}, {"int4,none,none", "twice", "none"}, {"int4,haar,haar", "twice", "haar"},
        {"int4,haar,hadamard", "haar and hadamard", "exclude"}, {"int4,center,mean", "center and mean", "exclude"}, {"q8_0,dct", "\"dct\"", "none, hadamard"},
        {"k=qjl,group=32", "qjl", "no option"}, {"qjl,group=16", "group=16", "group=32|64 (values also 128)"}, {"kivi4,group=128", "group=128", "keys take groups of 32 or 64"}, {"k=kivi2,group=128", "group=128", "keys"}, {"v=int4,center", "center", "keys only"}, {"int4,scale=paper", "\"scale=paper\"", "group="},
        {"int4 int4", "\"int4\"", "first word"}, {"window=1 int4,group=64", "\"int4,group=64\"", "first word"}, {"int4 int", "\"int\"", "layers="}, {" ", "\"\"", "int4"}, {"int4 window=x", "window=x", "65536"},
        {"int4 window=65537", "window=65537", "65536"}, {"int4 sinks=4097", "sinks=4097", "4096"}, {"int4 sinks=-1", "sinks=-1", "4096"},
        {"int4 window=1 window=1", "window=1", "given before"}, {"int4 sinks=1 attn=fast sinks=2", "sinks=2", "given before"}, {"k=int4 v=int4 k=q8_0", "k=q8_0", "given before"},
        {"int4 attn=fast attn=precise", "attn=precise", "given before"}, {"int4 policy=knorm,budget=64 policy=full", "policy=full", "given before"}, {"int4 layers=0=q8_0;", "\"\"", "0-1,28-29=q8_0"},
        {"int4 policy=lru", "\"lru\"", "full"}, {"int4 policy=full,budget=5", "\"budget=5\"", "has none"}, {"int4 policy=", "\"\"", "full"}, {"k=int9", "\"int9\"", "q8_0"},
        {"int4 layers=0", "\"0\"", "0-1,28-29=q8_0"}, {"int4 layers==q8_0", "\"\"", "1023"}, {"int4 layers=a=q8_0", "\"a\"", "1023"}, {"int4 layers=1-=q8_0", "\"1-\"", "1023"},
        {"int4 layers=-1=q8_0", "\"-1\"", "1023"}, {"int4 layers=1024=q8_0", "\"1024\"", "1023"}, {"int4 layers=5-3=q8_0", "\"5-3\"", "5 is after 3"},
        {"int4 layers=0,,1=q8_0", "\"\"", "1023"}, {"int4 layers=0=", "\"\"", "q8_0"}, {"int4 layers=0=q8_0/", "\"\"", "q8_0"}, {"int4 layers=0=int99", "\"int99\"", "q8_0"},
        {"int4 layers=0=q8_0/int4,center", "center", "keys only"}, {"int4 layers=0-1-2=q8_0", "\"0-1-2\"", "1023"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p;
        test_case("%s", rows[i].kv);
        CHECK_STATUS(parse(&p, rows[i].kv), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), rows[i].part);
        CHECK_HAS(ingot_last_error(), rows[i].valid);
    }
}

TEST("method/policies and their budgets come back the same") {
    static const struct { const char *in, *out; int budget, permill, recent; } rows[] = {
        {"int4 policy=knorm,budget=64", "int4 policy=knorm,budget=64", 64, 0, -1}, {"int4 policy=knorm,recent=0,budget=64", "int4 policy=knorm,budget=64,recent=0", 64, 0, 0},
        {"int4 policy=h2o,budget=25%", "int4 policy=h2o,budget=25%", 0, 250, -1}, {"int4 policy=h2o,budget=12.5%,recent=7", "int4 policy=h2o,budget=12.5%,recent=7", 0, 125, 7},
        {"int4 policy=h2o,budget=1%", "int4 policy=h2o,budget=1%", 0, 10, -1}, {"int4 policy=h2o,budget=99.0%", "int4 policy=h2o,budget=99%", 0, 990, -1},
        {"int4 window=10 sinks=4 policy=streaming,budget=15", "int4 window=10 sinks=4 policy=streaming,budget=15", 15, 0, -1},
        {"  int4   policy=full ", "int4", 0, 0, 0}, {"f16 policy=streaming,budget=1", "f16 policy=streaming,budget=1", 1, 0, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p, again;
        char text[INGOT_PLAN_TEXT_BYTES];
        test_case("%s", rows[i].in);
        if (!CHECK_OK(parse(&p, rows[i].in))) continue;
        CHECK_INT(p.policy.budget, rows[i].budget);
        CHECK_INT(p.policy.permill, rows[i].permill);
        CHECK_INT(p.policy.recent, rows[i].recent);
        CHECK_STR(ingot_plan_print(&p, text, sizeof text), rows[i].out);
        CHECK_OK(parse(&again, text));
        CHECK_MEM(&again, &p, sizeof p);
    }
}

TEST("method/budgets that cannot be are refused with the numbers") {
    static const struct { const char *kv, *part, *valid; } rows[] = {
        {"int4 policy=knorm", "knorm", "budget=N"}, {"int4 policy=knorm,recent=4", "knorm", "budget=N"}, {"int4 policy=knorm,budget=0", "budget=0", "tokens"},
        {"int4 policy=knorm,budget=", "budget=", "tokens"}, {"int4 policy=knorm,budget=-3", "budget=-3", "tokens"}, {"int4 policy=knorm,budget=999999999", "budget=999999999", "268435456"},
        {"int4 policy=knorm,budget=0.9%", "budget=0.9%", "1% to 99%"}, {"int4 policy=knorm,budget=99.1%", "budget=99.1%", "1% to 99%"}, {"int4 policy=knorm,budget=100%", "budget=100%", "99%"},
        {"int4 policy=knorm,budget=12.55%", "12.55%", "one decimal"}, {"int4 policy=knorm,budget=12.%", "12.%", "one decimal"}, {"int4 policy=knorm,budget=%", "budget=%", "1%"},
        {"int4 policy=knorm,budget=5%%", "5%%", "1%"}, {"int4 policy=knorm,budget=.5%", ".5%", "1%"}, {"int4 policy=knorm,budget=99999999999%", "99999999999%", "1%"},
        {"int4 policy=knorm,budget=9,budget=9", "budget=9", "twice"}, {"int4 policy=knorm,budget=9,budget=9%", "budget=9%", "twice"}, {"int4 policy=knorm,budget=9,recent=1,recent=1", "recent=1", "twice"},
        {"int4 policy=knorm,budget=9,recent=x", "recent=x", "number"}, {"int4 policy=knorm,size=9", "\"size=9\"", "recent=N"}, {"int4 policy=knorm,", "\"\"", "recent=N"},
        {"int4 window=10 sinks=4 policy=streaming,budget=14", "budget=14", "15"}, {"int4 policy=streaming,budget=20,recent=20", "budget=20", "21"},
        {"kivi2 policy=streaming,budget=100", "budget=100", "191"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p;
        test_case("%s", rows[i].kv);
        CHECK_STATUS(parse(&p, rows[i].kv), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), rows[i].part);
        CHECK_HAS(ingot_last_error(), rows[i].valid);
    }
    /* The rule looks at what is given apart as well. */
    ingot_plan p;
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4 policy=h2o,budget=50", .window = 40, .sinks = 9}));
    CHECK_STATUS(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4 policy=h2o,budget=50", .window = 40, .sinks = 10}), INGOT_E_INVALID);
    CHECK_OK(ingot_plan_parse(&p, &(ingot_plan_spec){.kv = "int4 policy=h2o,budget=50", .policy = "full", .window = 40, .sinks = 10}));
}

TEST("method/bad parts of a spec are named") {
    ingot_plan p;
    char text[INGOT_PLAN_TEXT_BYTES + 1];
    memset(text, 'a', sizeof text - 1), text[sizeof text - 1] = 0;
    CHECK_STATUS(parse(&p, text), INGOT_E_INVALID);
    CHECK_STATUS(ingot_plan_parse(&p, &(ingot_plan_spec){.k = text, .window = -1, .sinks = -1}), INGOT_E_INVALID);
    const ingot_plan_spec bad[] = {{.k = "nope", .window = -1, .sinks = -1}, {.v = "nope", .window = -1, .sinks = -1}, {.policy = "nope", .window = -1, .sinks = -1},
                                   {.layers = "nope", .window = -1, .sinks = -1}, {.layers = "3=nope", .window = -1, .sinks = -1},
                                   {.layers = "", .window = -1, .sinks = -1}, {.window = -2, .sinks = -1}, {.window = -1, .sinks = 5000}};
    static const char *const said[] = {"\"nope\"", "\"nope\"", "\"nope\"", "\"nope\"", "\"nope\"", "\"\"", "window=-2", "sinks=5000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(ingot_plan_parse(&p, &bad[i]), INGOT_E_INVALID);
        CHECK_HAS(ingot_last_error(), said[i]);
    }
}

TEST("method/plans take the form of a model, in which one format has one name") {
    static const struct { const char *in; int k_dim, v_dim; const char *out; } rows[] = {
        {"int4,group=256", 64, 64, "int4,group=64"}, {"int4,group=128", 96, 96, "int4,group=128"}, {"int4,group=256", 96, 96, "int4,group=128"}, {"int4,group=64", 16, 16, "int4,group=16"},
        {"int4,group=64", 32, 32, "int4"}, {"int4,group=128", 256, 256, "int4,group=128"}, {"int4,group=256", 128, 64, "k=int4,group=128 v=int4,group=64"},
        {"k=kivi4,group=64 v=kivi4,group=128", 32, 32, "k=kivi4,group=64 v=kivi4"}, {"int4 layers=0=int4,group=64;1=int4,group=128", 64, 64, "int4 layers=0-1=int4,group=64"},
        {"int4,group=64 layers=3=int4,group=256", 64, 64, "int4,group=64"}, {"f16", 16, 16, "f16"}, {"vecinfer8,group=8", 16, 16, "vecinfer8,group=8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ingot_plan p;
        char text[INGOT_PLAN_TEXT_BYTES];
        test_case("%s for %d and %d", rows[i].in, rows[i].k_dim, rows[i].v_dim);
        if (!CHECK_OK(parse(&p, rows[i].in))) continue;
        ingot_plan_fit(&p, rows[i].k_dim, rows[i].v_dim);
        CHECK_STR(ingot_plan_print(&p, text, sizeof text), rows[i].out);
    }
}
