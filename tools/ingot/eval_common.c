#include "eval_common.h"
#include "common/system.h"
#include <math.h>

void eval_defaults(settings *s) {
    s->activations = INGOT_ACT_FLOAT;
    s->n_ctx = 2048;
}

const char *eval_activations(const settings *s) { return s->activations == INGOT_ACT_FLOAT ? "float" : "int8"; }

int eval_fail(ingot_status status) { return status == INGOT_E_CANCELLED ? cli_fail("interrupted") : cli_fail_status(status); }

json_t *eval_quarters(const double quarter[4]) {
    json_t *a = json_array();
    for (int i = 0; i < 4; i++) json_push(a, json_number(quarter[i]));
    return a;
}

int eval_open(eval_job *j, const settings *s, const char *command, bool needed) {
    if (!settings_plan(s, &j->plan.plan)) return CLI_WRONG_USE;
    j->plan.stream = s->stream;
    const bool text = needed || s->prompt || s->file;
    int code = s->model && text ? settings_read_text(s, command, "text", false, &j->text) : CLI_DONE;
    system_catch_interrupt(true);
    if (!code) code = setup_model(&j->u, s, command);
    if (!code) code = setup_calibration(&j->u, s, &j->plan.plan);
    if (code) return code;
    setup_warn(s, &j->plan.plan);
    ingot_plan_fit(&j->plan.plan, j->u.info.k_dim, j->u.info.v_dim);
    j->plan.calibration = j->u.calibration;
    if (!text) return CLI_DONE;
    const ingot_status status = ingot_model_tokenize(j->u.model, j->text.data, j->text.n, 0, &j->ids, &j->n_ids);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

const char *eval_figure(char *buf, size_t cap, const char *fmt, double x) {
    const int width = snprintf(buf, cap, fmt, 0.0);
    if (isfinite(x)) snprintf(buf, cap, fmt, x);
    else snprintf(buf, cap, "%*s", width, "-");
    return buf;
}

void eval_close(eval_job *j) {
    ingot_free_memory(j->ids);
    strbuf_free(&j->text);
    setup_close(&j->u);
}
