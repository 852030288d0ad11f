/* ingot eval report: many plans measured in one folder, which keeps what is finished. */
#ifndef TOOLS_INGOT_REPORT_H
#define TOOLS_INGOT_REPORT_H
#include "eval_common.h"
#include "recall_table.h"

/* One plan of the report. */
typedef struct report_row {
    char *name;    /* canonical spelling; the key of the row in report.json */
    const char *method;  /* registry name it comes from, "" for other plans; static or of the settings */
    ingot_eval_plan plan;
    char *skipped; /* why it is not measured; NULL when it is */
    json_t *json;  /* its object in the document, borrowed */
} report_row;

typedef struct report {
    const settings *s;
    eval_job job;
    recall_setup recall;
    json_t *doc;
    report_row *rows;
    int n_rows;
    int contexts[16], n_contexts, budgets[32], n_budgets, window, sinks; /* window and sinks of --exact */
    /* progress: in tokens, one that is decoded alone counts as REPORT_DECODE of them */
    double started, work_done, work_total, work_unit; /* unit: of what runs now */
    char label[200];
} report;
enum { REPORT_DECODE = 6 };

/* report_rows.c: the plans that the options name. An exit code. */
int report_rows_make(report *r);
/* The plan of a policy with a budget, in place of a row. False (with the library's message) when there is none such. */
bool report_budget_row(const report *r, report_row *out, const char *policy, int budget);
void report_row_free(report_row *row);
void report_rows_free(report *r);

/* report_store.c: the document, read from DIR or new. An exit code. */
int report_open(report *r);
/* Writes report.json and REPORT.md, each as a whole. An exit code. */
int report_save(const report *r);
/* The object that row `name` has in the array `list`; made when there is none. */
json_t *report_object(json_t *list, const char *name);
/* object[key], an object; made when there is none. */
json_t *report_child(json_t *object, const char *key);

/* report_measure.c: everything that is not in the document yet. An exit code. */
int report_measure(report *r);

/* report_markdown.c: REPORT.md from the document alone. */
void report_markdown(strbuf *out, const json_t *doc);
#endif
