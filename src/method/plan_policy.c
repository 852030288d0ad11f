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

/* A budget must hold what is never evicted and one token more. */
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
    const int recent = o->recent > 0 ? o->recent : 0;
    const long least = (long)p->sinks + p->window + recent + 1;
    if (o->budget && o->budget < least)
        return ingot_fail(INGOT_E_INVALID, "budget=%d of policy %s is less than the %ld that %d sinks, a window of %d, %d recent tokens and one more take", o->budget,
                          policy->name, least, p->sinks, p->window, recent);
    return INGOT_OK;
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
