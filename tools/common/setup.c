#include "setup.h"
#include "system.h"
#include <ingot/machine.h>
#include <string.h>
#include <unistd.h>

int setup_device(setup *u, const settings *s) {
    ingot_status status = ingot_environment_check();
    if (status == INGOT_OK) status = ingot_device_open(&u->device, s->device, s->threads);
    if (status == INGOT_OK) return CLI_DONE;
    cli_fail_status(status);
    return status == INGOT_E_INVALID ? CLI_WRONG_USE : CLI_FAILED;
}

/* The library's message, with the file's name where it does not say which file it is about. */
static int model_refused(const char *path, ingot_status status) {
    const char *message = *ingot_last_error() ? ingot_last_error() : ingot_status_string(status);
    return strstr(message, path) ? cli_fail("%s", message) : cli_fail("%s: %s", path, message);
}

static int open_model(setup *u, const settings *s, const char *command, bool vocab_only) {
    if (!s->model || !*s->model) return cli_wrong_use(command, "no model: give -m FILE");
    u->progress = progress_start(s->quiet);
    const ingot_model_options options = {.device = u->device, .progress = progress_callback, .progress_user = &u->progress, .vocab_only = vocab_only};
    const ingot_status status = ingot_model_open(&u->model, s->model, &options);
    progress_wipe(&u->progress);
    if (status == INGOT_E_CANCELLED) return cli_fail("interrupted");
    if (status != INGOT_OK) return model_refused(s->model, status);
    ingot_model_info_get(u->model, &u->info);
    return CLI_DONE;
}

int setup_model(setup *u, const settings *s, const char *command) {
    if (!s->model) return open_model(u, s, command, false);
    const int code = setup_device(u, s);
    return code ? code : open_model(u, s, command, false);
}

int setup_vocabulary(setup *u, const settings *s, const char *command) { return open_model(u, s, command, true); }

static const char *calibration_of_environment(void) {
    ingot_environment_info e;
    for (int i = 0; ingot_environment_get(&e, i); i++)
        if (!strcmp(e.name, "INGOT_CALIBRATION")) return e.value;
    return NULL;
}

const char *setup_calibration_path(setup *u, const settings *s) {
    const char *path = s->calibration ? s->calibration : calibration_of_environment();
    if (path) return path;
    const int n = snprintf(u->beside, sizeof u->beside, "%s.ingotcal", s->model);
    return n >= (int)sizeof u->beside || access(u->beside, F_OK) ? NULL : u->beside;
}

int setup_open_calibration(setup *u, const char *path) {
    const ingot_status status = ingot_calibration_open(&u->calibration, path);
    if (status != INGOT_OK) return cli_fail_status(status);
    u->calibration_path = path;
    return CLI_DONE;
}

int setup_calibration(setup *u, const settings *s, const ingot_plan *plan) {
    const char *part;
    char name[INGOT_PLAN_TEXT_BYTES];
    const bool needed = ingot_plan_needs_calibration(plan, &part);
    if (u->calibration || !(needed || s->calibration)) return CLI_DONE;
    const char *path = setup_calibration_path(u, s);
    if (!path)
        return cli_fail("%s needs a calibration of the model (for %s), and there is no %s.ingotcal: make one with 'ingot calibrate', or name one with --calibration or "
                        "INGOT_CALIBRATION", ingot_plan_print(plan, name, sizeof name), part, s->model);
    return setup_open_calibration(u, path);
}

void setup_warn(const settings *s, const ingot_plan *plan) {
    const int mean = ingot_plan_mean_tokens(plan);
    if (s->quiet || !mean || !plan->policy.budget || plan->policy.budget >= mean + plan->window + plan->sinks) return;
    cli_warn("a budget of %d with centred keys: they need room for %d exact tokens until their mean is known, which costs more than the budget saves", plan->policy.budget, mean);
}

int setup_engine(setup *u, const settings *s, const ingot_plan *plan, int n_ctx) {
    const int code = setup_calibration(u, s, plan);
    if (code) return code;
    setup_warn(s, plan);
    const ingot_engine_config config = {.plan = *plan, .n_ctx = n_ctx, .max_sessions = 1, .n_batch = s->n_batch,
                                        .activations = (ingot_activations)s->activations, .calibration = u->calibration};
    ingot_status status = ingot_engine_create(&u->engine, u->model, &config);
    if (status == INGOT_OK) status = ingot_session_create(&u->session, u->engine);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

void setup_close(setup *u) {
    progress_wipe(&u->progress);
    if (u->session) ingot_session_destroy(u->session);
    if (u->engine) ingot_engine_destroy(u->engine);
    if (u->model) ingot_model_close(u->model);
    ingot_calibration_close(u->calibration);
    if (u->device) ingot_device_close(u->device);
    memset(u, 0, sizeof *u);
}
