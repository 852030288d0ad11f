/* What the measures of `ingot eval` share. */
#ifndef TOOLS_INGOT_EVAL_COMMON_H
#define TOOLS_INGOT_EVAL_COMMON_H
#include "command.h"
#include "common/json.h"
#include "common/setup.h"
#include <ingot/eval.h>

/* A model, a text in its tokens, and the plan of the cache options. */
typedef struct eval_job {
    setup u;
    ingot_eval_plan plan;
    strbuf text;
    int32_t *ids;
    size_t n_ids;
} eval_job;

/* Opens all of it and catches Ctrl-C from then on; a text that is not `needed` is left out when neither -p nor -f gives one. An exit code, after
 * printing one line when it is not CLI_DONE. */
int eval_open(eval_job *j, const settings *s, const char *command, bool needed);
void eval_close(eval_job *j);
json_t *eval_quarters(const double quarter[4]);
/* The figures that a window (ingot_eval_window) and the whole (ingot_eval_result) have in common. */
#define EVAL_PUT_KLD(o, r)                                                     \
    do {                                                                       \
        json_put(o, "mean", json_number((r)->kld_mean));                       \
        json_put(o, "p99", json_number((r)->kld_p99));                         \
        json_put(o, "p999", json_number((r)->kld_p999));                       \
        json_put(o, "max", json_number((r)->kld_max));                         \
        json_put(o, "quarters", eval_quarters((r)->kld_quarter));              \
        json_put(o, "top1_agreement", json_number((r)->top1_agreement));       \
        json_put(o, "rms_dp", json_number((r)->rms_dp));                       \
        json_put(o, "mean_dp", json_number((r)->mean_dp));                     \
    } while (0)
/* A figure as text, `fmt` with one double; "-" where there is none, as wide as the figure would be. Returns `buf`. */
const char *eval_figure(char *buf, size_t cap, const char *fmt, double x);
/* Says why a measure failed. An exit code. */
int eval_fail(ingot_status status);
/* Float activations, windows of 2048 tokens. */
void eval_defaults(settings *s);
const char *eval_activations(const settings *s);
#endif
