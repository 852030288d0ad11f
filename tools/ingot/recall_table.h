/* Settings and results of recall, as `eval recall` and `eval report` both have them. */
#ifndef TOOLS_INGOT_RECALL_TABLE_H
#define TOOLS_INGOT_RECALL_TABLE_H
#include "common/json.h"
#include "common/settings.h"
#include <ingot/eval.h>

typedef struct recall_setup {
    ingot_recall_config config; /* n_ctx and progress_user are left to the caller */
    int depths[INGOT_RECALL_MAX_DEPTHS];
} recall_setup;

void recall_defaults(settings *s);
/* Takes tasks, depths and the rest from the options; the setup must stay where it is. False after printing what is wrong. */
bool recall_read(recall_setup *out, const settings *s, const char *command);
/* {n_ctx, tasks: {NAME: {accuracy, logprob, n_answers, by_depth: [...]}}} */
json_t *recall_json(const recall_setup *r, const ingot_recall_result *result);
/* What stands between the things that are hidden. */
const char *recall_filler(const settings *s);
#endif
