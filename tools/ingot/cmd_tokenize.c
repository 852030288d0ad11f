#include "command.h"
#include "common/json.h"
#include "common/setup.h"
#include <stdlib.h>

static int print_ids(const settings *s, const int32_t *ids, size_t n) {
    if (s->json) {
        json_t *o = json_object();
        json_put(o, "n_tokens", json_integer((json_int_t)n));
        json_put(o, "ids", json_tokens(ids, n));
        return json_print(o);
    }
    strbuf lines = {0};
    for (size_t i = 0; i < n; i++) {
        char line[16];
        strbuf_add(&lines, line, (size_t)snprintf(line, sizeof line, "%d\n", ids[i]));
    }
    const bool ok = cli_write(lines.data ? lines.data : "", lines.n);
    strbuf_free(&lines);
    return ok ? CLI_DONE : cli_output_failed();
}

static int run_tokenize(const settings *s) {
    setup u = {0};
    strbuf text = {0};
    int32_t *ids = NULL;
    size_t n = 0;
    int code = s->model ? settings_read_text(s, "tokenize", "text", false, &text) : CLI_DONE;
    if (!code) code = setup_vocabulary(&u, s, "tokenize");
    if (!code) {
        const int flags = (s->special ? INGOT_TOKENIZE_SPECIAL : 0) | (s->bos ? INGOT_TOKENIZE_BOS : 0);
        const ingot_status status = ingot_model_tokenize(u.model, text.data, text.n, flags, &ids, &n);
        code = status == INGOT_OK ? print_ids(s, ids, n) : cli_fail_status(status);
    }
    ingot_free_memory(ids);
    strbuf_free(&text);
    setup_close(&u);
    return code;
}

static const option_group *const groups[] = {&settings_model, &settings_text, &settings_vocabulary, &settings_json, NULL};

static void defaults(settings *s) { s->quiet = true; }

const command command_tokenize = {
    .name = "tokenize", .summary = "Print the token ids of a text, one a line", .synopsis = "-m MODEL [-p TEXT | -f FILE] [options]",
    .groups = groups, .defaults = defaults, .run = run_tokenize,
};
