#include "recall_table.h"
#include "common/lists.h"
#include "common/progress.h"
#include "eval_common.h"
#include <string.h>

void recall_defaults(settings *s) {
    eval_defaults(s);
    s->contexts = "2048";
    s->tasks = "all";
    s->depths = "0,25,50,75,100";
    s->n_samples = 2;
    s->hops = 2;
    s->seed = 1;
}

const char *recall_filler(const settings *s) { return s->file ? s->file : s->prompt ? "the given text" : "made-up sentences"; }

static bool read_tasks(unsigned *out, const char *text, const char *command) {
    char word[32];
    *out = 0;
    for (const char *name; (name = list_next(&text, word, sizeof word));) {
        unsigned found = !strcmp(name, "all") ? (1u << INGOT_N_RECALL_TASKS) - 1 : 0;
        for (int t = 0; t < INGOT_N_RECALL_TASKS; t++)
            if (!strcmp(name, ingot_recall_task_name(t))) found = 1u << t;
        if (!found) return cli_wrong_use(command, "--tasks: '%s' is none of copy, passkey, needles, variables, all", name), false;
        *out |= found;
    }
    return true;
}

bool recall_read(recall_setup *out, const settings *s, const char *command) {
    *out = (recall_setup){.config = {.depths = out->depths, .n_samples = s->n_samples, .hops = s->hops, .seed = (uint64_t)s->seed,
                                     .activations = (ingot_activations)s->activations, .n_batch = s->n_batch, .progress = progress_callback}};
    if (!read_tasks(&out->config.tasks, s->tasks, command)) return false;
    const int n = list_integers(command, "depths", s->depths, 0, 100, out->depths, INGOT_RECALL_MAX_DEPTHS);
    for (int i = 1; i < n; i++)
        if (out->depths[i] <= out->depths[i - 1])
            return cli_wrong_use(command, "--depths: %d behind %d: they must ascend", out->depths[i], out->depths[i - 1]), false;
    out->config.n_depths = n;
    return n > 0;
}

static json_t *cell_json(const ingot_recall_cell *c) {
    json_t *o = json_object();
    json_put(o, "accuracy", json_number(c->accuracy));
    json_put(o, "logprob", json_number(c->logprob));
    json_put(o, "n_answers", json_integer(c->n_answers));
    return o;
}

json_t *recall_json(const recall_setup *r, const ingot_recall_result *result) {
    json_t *o = json_object(), *tasks = json_object();
    json_put(o, "n_ctx", json_integer(r->config.n_ctx));
    for (int t = 0; t < INGOT_N_RECALL_TASKS; t++) {
        if (!(r->config.tasks >> t & 1)) continue;
        json_t *task = cell_json(&result->all[t]), *by_depth = json_array();
        for (int d = 0; d < r->config.n_depths; d++) {
            json_t *cell = cell_json(&result->by_depth[t][d]);
            json_put(cell, "depth", json_integer(r->depths[d]));
            json_push(by_depth, cell);
        }
        json_put(task, "by_depth", by_depth);
        json_put(tasks, ingot_recall_task_name(t), task);
    }
    json_put(o, "tasks", tasks);
    return o;
}
