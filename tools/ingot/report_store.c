/* report.json: a header that says how everything was measured, and what was. A rerun adds what is missing; another way of measuring is refused. */
#include "report.h"
#include "common/system.h"
#include <errno.h>
#include <ingot/file.h>
#include <ingot/ingot.h>
#include <ingot/machine.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CAP = 4096 };

static bool path_of(const report *r, const char *file, char path[PATH_CAP]) {
    if (snprintf(path, PATH_CAP, "%s/%s", r->s->output, file) < PATH_CAP) return true;
    cli_fail("%s: the name is too long", r->s->output);
    return false;
}

json_t *report_child(json_t *object, const char *key) {
    json_t *child = json_object_get(object, key);
    if (child) return child;
    json_put(object, key, json_object());
    return json_object_get(object, key);
}

json_t *report_object(json_t *list, const char *name) {
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) {
        const char *plan = json_string_value(json_object_get(row, "plan"));
        if (plan && !strcmp(plan, name)) return row;
    }
    row = json_object();
    json_put(row, "plan", json_text(name));
    json_push(list, row);
    return row;
}

/* A text in 64 bits (FNV-1a), to tell it from others. */
static json_t *fingerprint(const void *data, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    char text[24];
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
    return json_text(text);
}

static json_t *hexadecimal(const uint8_t bytes[16]) {
    char text[33];
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_text(text);
}

static json_t *model_fingerprint(const report *r) {
    uint8_t bytes[16] = {0};
    return ingot_model_fingerprint(r->job.u.model, bytes) == INGOT_OK ? hexadecimal(bytes) : json_null();
}

static json_t *depths_json(const report *r) {
    json_t *a = json_array();
    for (int i = 0; i < r->recall.config.n_depths; i++) json_push(a, json_integer(r->recall.depths[i]));
    return a;
}

/* What a figure depends on besides its plan and context. */
static json_t *how(const report *r) {
    const settings *s = r->s;
    json_t *o = json_object();
    json_put(o, "model_fingerprint", model_fingerprint(r));
    json_put(o, "text_fingerprint", fingerprint(r->job.text.data, r->job.text.n));
    json_put(o, "windows", json_integer(s->n_windows));
    json_put(o, "activations", json_text(eval_activations(s)));
    json_put(o, "stream", json_boolean(s->stream));
    json_put(o, "recall_depths", depths_json(r));
    json_put(o, "recall_samples", json_integer(r->recall.config.n_samples));
    json_put(o, "recall_hops", json_integer(r->recall.config.hops));
    json_put(o, "seed", json_integer((json_int_t)s->seed));
    json_put(o, "version", json_text(ingot_version()));
    return o;
}

/* What is worth saying beside. */
static json_t *about(const report *r) {
    ingot_machine machine;
    ingot_machine_get(&machine);
    json_t *o = json_object();
    json_put(o, "model", json_text(r->s->model));
    json_put(o, "name", json_text(r->job.u.info.name ? r->job.u.info.name : ""));
    json_put(o, "text", json_text(r->s->file ? r->s->file : "the given text"));
    json_put(o, "processor", json_text(machine.processor));
    json_put(o, "device", json_text(ingot_device_description(r->job.u.device)));
    return o;
}

static char *text_of(json_t *value) {
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    return text;
}

/* The first key of `now` that `before` has otherwise. */
static int compare_how(const report *r, json_t *before, json_t *now) {
    const char *key;
    json_t *value;
    int code = CLI_DONE;
    json_object_foreach(now, key, value) {
        json_t *old = json_object_get(before, key);
        if (code || (old && json_equal(old, value))) continue;
        char *was = text_of(old), *is = text_of(value);
        code = cli_fail("%s/report.json was made with another %s (%s, now %s): give another folder or remove that file", r->s->output, key, was ? was : "none", is ? is : "none");
        free(was);
        free(is);
    }
    return code;
}

/* A calibration may come later than the first rows, but there is only one. */
static int note_calibration(report *r) {
    const ingot_calibration *c = r->job.u.calibration;
    const char *before = json_string_value(json_object_get(r->doc, "calibration"));
    if (!c) return CLI_DONE;
    json_t *checksum = hexadecimal(ingot_calibration_checksum(c)), *old = json_object_get(r->doc, "calibration_checksum");
    const bool same = !before || json_equal(checksum, old);
    char *was = same ? NULL : text_of(old), *is = same ? NULL : text_of(checksum);
    const int code = same ? CLI_DONE : cli_fail("%s/report.json was made with another calibration (%s, %s, now %s, %s): give another folder or remove that file", r->s->output,
                                                before, was ? was : "unknown", ingot_calibration_source(c), is ? is : "unknown");
    free(was);
    free(is);
    json_put(r->doc, "calibration", json_text(ingot_calibration_source(c)));
    json_put(r->doc, "calibration_checksum", checksum);
    return code;
}

static int load(report *r, const char *path) {
    json_error_t error;
    r->doc = json_load_file(path, 0, &error);
    if (!r->doc && access(path, F_OK)) {
        r->doc = json_object();
        json_put(r->doc, "how", how(r));
    }
    if (!r->doc) return cli_fail("%s: %s (line %d)", path, error.text, error.line);
    if (!json_is_object(json_object_get(r->doc, "how")) || (json_object_get(r->doc, "rows") && !json_is_array(json_object_get(r->doc, "rows"))))
        return cli_fail("%s is no report", path);
    json_t *now = how(r);
    const int code = compare_how(r, json_object_get(r->doc, "how"), now);
    json_decref(now);
    return code;
}

int report_open(report *r) {
    char path[PATH_CAP];
    if (mkdir(r->s->output, 0777) && errno != EEXIST) return cli_fail("cannot make the folder %s: %s", r->s->output, strerror(errno));
    if (!path_of(r, "report.json", path)) return CLI_FAILED;
    int code = load(r, path);
    if (!code) code = note_calibration(r);
    if (code) return code;
    json_put(r->doc, "about", about(r));
    if (!json_object_get(r->doc, "rows")) json_put(r->doc, "rows", json_array());
    if (!json_object_get(r->doc, "budgets")) json_put(r->doc, "budgets", json_array());
    for (int i = 0; i < r->n_rows; i++) {
        report_row *row = &r->rows[i];
        row->json = report_object(json_object_get(r->doc, "rows"), row->name);
        json_put(row->json, "method", json_text(row->method));
        if (row->skipped) json_put(row->json, "skipped", json_text(row->skipped));
        else json_object_del(row->json, "skipped");
    }
    return report_save(r);
}

static int save_text(const report *r, const char *file, const char *text, size_t n) {
    char path[PATH_CAP];
    if (!path_of(r, file, path)) return CLI_FAILED;
    const ingot_status status = ingot_replace_file(path, text, n);
    return status == INGOT_OK ? CLI_DONE : cli_fail_status(status);
}

int report_save(const report *r) {
    char *json = json_dumps(r->doc, JSON_INDENT(1));
    if (!json) return cli_fail("out of memory for the report");
    strbuf markdown = {0};
    report_markdown(&markdown, r->doc);
    int code = save_text(r, "report.json", json, strlen(json));
    if (!code) code = save_text(r, "REPORT.md", markdown.data, markdown.n);
    strbuf_free(&markdown);
    free(json);
    return code;
}
