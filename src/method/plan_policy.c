/* The spelling of policies, NAME[,budget=N|N%][,recent=N], and what their budgets must leave room for. */
#include "../base/error.h"
#include "plan.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MIN_PERMILL = 10, MAX_PERMILL = 990 };

/* A share such as "25%" or "12.5%" in thousandths. */
static bool parse_share(const char *s, int *permill) {
    int whole = 0, tenth = 0;
    if (!isdigit((unsigned char)*s)) return false;
    for (; isdigit((unsigned char)*s); s++) {
        whole = whole * 10 + (*s - '0');
        if (whole > 100) return false;
    }
    if (s[0] == '.' && isdigit((unsigned char)s[1])) tenth = s[1] - '0', s += 2;
    *permill = whole * 10 + tenth;
    return !strcmp(s, "%") && *permill >= MIN_PERMILL && *permill <= MAX_PERMILL;
}

static ingot_status parse_budget(ingot_policy_plan *p, const char *value) {
    if (strchr(value, '%')) {
        if (!parse_share(value, &p->permill)) return ingot_fail(INGOT_E_INVALID, "budget=%s is not a share from 1%% to 99%% with at most one decimal", value);
    } else if (!ingot_parse_number(value, INGOT_MAX_BUDGET, &p->budget) || !p->budget) {
        return ingot_fail(INGOT_E_INVALID, "budget=%s is neither a number of tokens from 1 to %d nor a share such as 25%%", value, INGOT_MAX_BUDGET);
    }
    return INGOT_OK;
}

static ingot_status parse_word(ingot_policy_plan *p, const ingot_policy *policy, const char *word) {
    const bool is_budget = !strncmp(word, "budget=", 7), is_recent = !strncmp(word, "recent=", 7);
    if (!policy->evicts) return ingot_fail(INGOT_E_INVALID, "unknown option \"%s\" of policy %s, which has none", word, policy->name);
    if (!is_budget && !is_recent) return ingot_fail(INGOT_E_INVALID, "unknown option \"%s\" of policy %s; valid: %s", word, policy->name, policy->options);
    if (is_budget ? p->budget || p->permill : p->recent >= 0) return ingot_fail(INGOT_E_INVALID, "\"%s\" of policy %s: given twice", word, policy->name);
    if (is_budget) return parse_budget(p, word + 7);
    if (!ingot_parse_number(word + 7, INGOT_MAX_BUDGET, &p->recent))
        return ingot_fail(INGOT_E_INVALID, "recent=%s is not a number from 0 to %d", word + 7, INGOT_MAX_BUDGET);
    return INGOT_OK;
}

ingot_status ingot_parse_policy(ingot_policy_plan *out, char *text) {
    char list[INGOT_PLAN_TEXT], *rest = text;
    const char *name = ingot_next_piece(&rest, ',');
    const int row = ingot_policy_find(name);
    const ingot_policy *policy = ingot_policy_get(row);
    if (!policy) return ingot_fail(INGOT_E_INVALID, "unknown policy \"%s\"; valid: %s", name, ingot_part_names(INGOT_PART_POLICY, list, sizeof list));
    *out = (ingot_policy_plan){.policy = row, .recent = policy->evicts ? -1 : 0};
    for (char *word; (word = ingot_next_piece(&rest, ','));) INGOT_TRY(parse_word(out, policy, word));
    return INGOT_OK;
}

static int block_of(const ingot_side_plan *side, bool value) {
    const ingot_codec *codec = ingot_codec_get(side->codec);
    const ingot_kv_fmt f = ingot_side_plan_fmt(side, value, INGOT_MAX_HEAD_DIM);
    return codec ? ingot_codec_tokens(&f) : 1;
}

/* Tokens that are packed, and evicted, together: the largest block of all sides of the plan. */
static int largest_block(const ingot_plan *p) {
    int largest = 1;
    for (int i = -1; i < p->n_layer_plans; i++)
        for (int side = 0; side < 2; side++) {
            const ingot_layer_plan *l = i < 0 ? NULL : &p->layer_plans[i];
            const int block = block_of(l ? side ? &l->v : &l->k : side ? &p->v : &p->k, side);
            if (block > largest) largest = block;
        }
    return largest;
}

int64_t ingot_plan_least_budget(const ingot_plan *p, int block, int recent) {
    const int64_t waiting = block - 1, blocks = ((int64_t)recent + block - 1) / block + 1, cut = p->sinks % block ? block - p->sinks % block : 0;
    return p->sinks + p->window + waiting + blocks * block + cut;
}

static ingot_status check_least(const ingot_plan *p) {
    const int budget = p->policy.budget, recent = p->policy.recent > 0 ? p->policy.recent : 0, block = largest_block(p);
    const char *name = ingot_policy_get(p->policy.policy)->name;
    const long long least = ingot_plan_least_budget(p, block, recent);
    if (!budget || budget >= least) return INGOT_OK;
    if (block == 1)
        return ingot_fail(INGOT_E_INVALID, "budget=%d of policy %s is less than the %lld that %d sinks, a window of %d, %d recent tokens and one more take", budget, name, least,
                          p->sinks, p->window, recent);
    return ingot_fail(INGOT_E_INVALID, "budget=%d of policy %s is less than the %lld that %d sinks, a window of %d, up to %d tokens that wait to be packed, %d recent tokens and one "
                      "block more take: tokens are packed and evicted in blocks of %d here", budget, name, least, p->sinks, p->window, block - 1, recent, block);
}

/* A budget must hold what is never evicted and one token, or block, more. */
ingot_status ingot_check_policy(const ingot_plan *p) {
    const ingot_policy_plan *o = &p->policy;
    const ingot_policy *policy = ingot_policy_get(o->policy);
    if (!policy) return ingot_fail(INGOT_E_INVALID, "policy %d does not exist", o->policy);
    if (!policy->evicts) {
        if (o->budget || o->permill) return ingot_fail(INGOT_E_INVALID, "policy %s evicts nothing and has no budget", policy->name);
        return INGOT_OK;
    }
    if (!o->budget && !o->permill) return ingot_fail(INGOT_E_INVALID, "policy %s needs budget=N (tokens) or budget=N%% (of the tokens seen)", policy->name);
    if (o->budget && o->permill) return ingot_fail(INGOT_E_INVALID, "policy %s with a budget of %d tokens and of %d thousandths", policy->name, o->budget, o->permill);
    if (o->budget < 0 || o->budget > INGOT_MAX_BUDGET || o->permill < 0 || o->permill > MAX_PERMILL || (o->permill && o->permill < MIN_PERMILL))
        return ingot_fail(INGOT_E_INVALID, "policy %s with a budget of %d tokens, %d thousandths", policy->name, o->budget, o->permill);
    if (o->recent < -1 || o->recent > INGOT_MAX_BUDGET) return ingot_fail(INGOT_E_INVALID, "policy %s with recent=%d", policy->name, o->recent);
    return check_least(p);
}

void ingot_print_policy(const ingot_policy_plan *p, char *buf, size_t cap) {
    const ingot_policy *policy = ingot_policy_get(p->policy);
    char budget[24] = "", recent[24] = "";
    if (p->budget) snprintf(budget, sizeof budget, ",budget=%d", p->budget);
    else if (p->permill % 10) snprintf(budget, sizeof budget, ",budget=%d.%d%%", p->permill / 10, p->permill % 10);
    else if (p->permill) snprintf(budget, sizeof budget, ",budget=%d%%", p->permill / 10);
    if (policy && policy->evicts && p->recent >= 0) snprintf(recent, sizeof recent, ",recent=%d", p->recent);
    snprintf(buf, cap, "%s%s%s", policy ? policy->name : "?", budget, recent);
}
