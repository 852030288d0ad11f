/* Opening what a command needs, in order: device, model, engine. Closing is safe at any stage. */
#ifndef TOOLS_SETUP_H
#define TOOLS_SETUP_H
#include "progress.h"
#include "settings.h"

typedef struct setup {
    ingot_device *device;
    ingot_model *model;
    ingot_calibration *calibration; /* NULL: none was needed */
    const char *calibration_path;   /* of the file that was opened */
    char beside[4096];              /* storage of one beside the model */
    ingot_engine *engine;
    ingot_session *session;
    ingot_model_info info; /* of the model */
    progress progress;
} setup;

/* Each gives an exit code, after printing one line when it is not CLI_DONE. */
int setup_device(setup *u, const settings *s);
int setup_model(setup *u, const settings *s, const char *command);     /* with its device */
int setup_vocabulary(setup *u, const settings *s, const char *command); /* tokenizer and metadata only */
/* The calibration that --calibration names, else, where the plan needs one, what INGOT_CALIBRATION names or MODEL.ingotcal. Once opened it stays: a second
 * plan may be asked for. setup_engine does this by itself. */
int setup_calibration(setup *u, const settings *s, const ingot_plan *plan);
/* Its two halves: where a calibration is (NULL: nowhere), and opening it. */
const char *setup_calibration_path(setup *u, const settings *s);
int setup_open_calibration(setup *u, const char *path);
/* Says what is wise to know of a plan that can be used. setup_engine does this by itself. */
void setup_warn(const settings *s, const ingot_plan *plan);
int setup_engine(setup *u, const settings *s, const ingot_plan *plan, int n_ctx); /* and one session */
void setup_close(setup *u);
#endif
