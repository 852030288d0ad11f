/* ingot eval probe. */
#include "eval_common.h"
#include <ingot/probe.h>
#include <math.h>

static json_t *head_json(const ingot_probe_result *r, const ingot_probe_head *h) {
    json_t *o = json_object(), *ranks = json_object();
    json_put(o, "layer", json_integer(h->layer));
    json_put(o, "head", json_integer(h->head));
    json_put(o, "sliding", json_boolean(h->sliding));
    json_put(o, "score_error", json_number(h->score_error));
    json_put(o, "output_error", json_number(h->output_error));
    json_put(o, "output_cosine", json_number(h->output_cosine));
    for (int i = 0; i < r->n_policies; i++) json_put(ranks, r->policies[i].name, json_number(h->rank[i]));
    json_put(o, "rank_correlation", ranks);
    return o;
}

static int print_json(const ingot_probe_result *r, const char *method) {
    json_t *o = json_object(), *policies = json_array(), *heads = json_array();
    json_put(o, "method", json_text(method));
    json_put(o, "n_ctx", json_integer(r->n_ctx));
    json_put(o, "score_error", json_number(r->score_error));
    json_put(o, "output_error", json_number(r->output_error));
    json_put(o, "output_cosine", json_number(r->output_cosine));
    for (int i = 0; i < r->n_policies; i++) {
        const ingot_probe_policy *p = &r->policies[i];
        json_t *policy = json_object();
        json_put(policy, "name", json_text(p->name));
        json_put(policy, "n_heads", json_integer(p->n_heads));
        json_put(policy, "mean", json_number(p->mean_rank));
        json_put(policy, "min", json_number(p->least_rank));
        json_put(policy, "positive", json_number(p->positive));
        json_push(policies, policy);
    }
    json_put(o, "policies", policies);
    for (int i = 0; i < r->n_heads; i++) json_push(heads, head_json(r, &r->heads[i]));
    json_put(o, "heads", heads);
    return json_print(o);
}

/* A figure in eight columns; a dash where there is none. */
static void print_figure(double x, int digits) {
    if (isfinite(x)) printf(" %12.*f", digits, x);
    else printf(" %12s", "-");
}

static int print_text(const ingot_probe_result *r, const char *method) {
    printf("cache %s, first %d tokens\n\nlayer head  score error output error  1 - cosine", method, r->n_ctx);
    for (int i = 0; i < r->n_policies; i++) printf(" %12s", r->policies[i].name);
    printf("\n");
    for (int i = 0; i < r->n_heads; i++) {
        const ingot_probe_head *h = &r->heads[i];
        printf("%5d %4d%s", h->layer, h->head, h->sliding ? "s" : " ");
        print_figure(h->score_error, 4);
        print_figure(h->output_error, 4);
        print_figure(1.0 - h->output_cosine, 6);
        for (int j = 0; j < r->n_policies; j++) print_figure(h->rank[j], 3);
        printf("\n");
    }
    printf(" mean      ");
    print_figure(r->score_error, 4);
    print_figure(r->output_error, 4);
    print_figure(1.0 - r->output_cosine, 6);
    printf("\n\n");
    for (int i = 0; i < r->n_policies; i++) {
        const ingot_probe_policy *p = &r->policies[i];
        printf("%s: rank correlation with the attention to come, over %d heads that may evict: mean %.3f, least %.3f, positive in %.1f %%\n", p->name, p->n_heads, p->mean_rank,
               p->least_rank, 100 * p->positive);
    }
    for (int i = 0; i < r->n_heads; i++)
        if (r->heads[i].sliding) {
            printf("s: the layer has a sliding window, nothing is evicted from it\n");
            break;
        }
    return CLI_DONE;
}

static int measure(const settings *s, eval_job *j) {
    j->u.progress = progress_start(s->quiet);
    const ingot_probe_config config = {.n_ctx = s->n_ctx, .device = j->u.device, .plan = j->plan.plan, .calibration = j->plan.calibration,
                                       .progress = progress_callback, .progress_user = &j->u.progress};
    ingot_probe_result r;
    const ingot_status status = ingot_eval_probe(&r, j->u.model, j->ids, j->n_ids, &config);
    progress_wipe(&j->u.progress);
    if (status != INGOT_OK) return eval_fail(status);
    char method[INGOT_PLAN_TEXT_BYTES];
    ingot_plan_print(&j->plan.plan, method, sizeof method);
    const int code = (s->json ? print_json : print_text)(&r, method);
    ingot_free_memory(r.heads);
    return code;
}

static int run_probe(const settings *s) {
    eval_job j = {0};
    int code = eval_open(&j, s, "eval probe", true);
    if (!code) code = measure(s, &j);
    eval_close(&j);
    return code;
}

static void defaults(settings *s) {
    eval_defaults(s);
    s->n_ctx = 1024;
}

#define WINDOW(field) offsetof(settings, field)
static const option rows[] = {{"ctx-size", 'c', OPTION_INT, WINDOW(n_ctx), "N", "tokens of the window, the text's first ones", 16, 1 << 20, NULL}};
static const option_group settings_window = {"Evaluation", rows, 1};
static const option_group *const groups[] = {&settings_model, &settings_text, &settings_window, &settings_cache, &settings_compute, &settings_json, &settings_quiet, NULL};

const command eval_probe = {
    .name = "eval probe", .summary = "Errors of scores and outputs by layer and head, and whether eviction scores foretell attention", .synopsis = "-m MODEL -f TEXT [options]",
    .details = "Queries, keys and values are those of the model with the f16 cache; each layer's go through a cache of the plan by themselves. Errors are relative: of "
               "scores to the spread of a query's scores, of outputs to their length. Eviction scores are compared with the attention that the window's second half "
               "pays to the first (Spearman's rank correlation); policies that need a calibration are looked at when one is given.",
    .groups = groups, .defaults = defaults, .print_more = settings_print_methods, .run = run_probe,
};
