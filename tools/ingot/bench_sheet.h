/* What every benchmark prints: the machine, rows as they are finished, and whether the machine was idle; as a table, CSV or JSON. */
#ifndef TOOLS_INGOT_BENCH_SHEET_H
#define TOOLS_INGOT_BENCH_SHEET_H
#include "command.h"
#include "common/json.h"
#include "common/progress.h"
#include <ingot/bench.h>

/* A column of the table; CSV has all keys of the first row. */
typedef struct bench_column {
    const char *key, *title;
    int width;    /* negative: to the left */
    int decimals; /* of numbers; -1: as short as 4 digits allow */
    double scale; /* numbers are multiplied with it; 0 = 1 */
} bench_column;

typedef struct bench_sheet {
    const settings *s;
    const bench_column *columns;
    int n_columns;
    json_t *doc, *rows;
    strbuf text;    /* not written yet: all of it where a file is written, else the line at hand */
    bool created;   /* the file was not there before */
    bool stopped;   /* by Ctrl-C, or because the output is lost: nothing more is to be measured */
    bool lost;
    ingot_bench_load load;
    progress progress;
} bench_sheet;

/* Checks options and environment, opens the output, catches Ctrl-C, looks whether the machine is idle, and begins. An exit code. */
int bench_sheet_open(bench_sheet *b, const settings *s, const char *command, const bench_column *columns, int n_columns);
/* Takes the row over. Rows of measurements that were cut short are marked `partial`. */
void bench_sheet_add(bench_sheet *b, json_t *row);
/* A line for people behind a table; nothing in CSV and JSON. */
void bench_sheet_note(bench_sheet *b, const char *line);
/* What a library function's status means for the command: INGOT_OK and INGOT_E_CANCELLED (noted in the sheet) go on, others are printed. An exit code. */
int bench_sheet_status(bench_sheet *b, ingot_status status);
/* Writes what is left, also of a run that failed behind its first rows, then marked `partial`; `code`, or what went wrong. */
int bench_sheet_close(bench_sheet *b, int code);

/* --- for the benchmarks --- */
ingot_bench_protocol bench_protocol(bench_sheet *b);
/* A warning when there are fewer cores. */
void bench_warn_threads(const settings *s, int n_threads);
/* Opens a device with so many threads, with that warning. */
int bench_device(ingot_device **out, const settings *s, int n_threads);
/* {name_us: median, name_best_us, name_noise_pct}; the first is "median_us" etc. when name is "". */
void bench_put_times(json_t *row, const char *name, const ingot_bench_times *t);

/* --- bench_machine.c --- */
json_t *bench_machine_json(void);
void bench_machine_print(strbuf *to, const json_t *machine);
/* Others' share of the cores in a tenth of a second in which this process sleeps, with a warning when it is large. */
double bench_look_for_others(bool quiet);
/* What others did since `load`: into the document, and a warning when it was much. */
void bench_look_back(json_t *doc, const ingot_bench_load *load, bool quiet);
void strbuf_print(strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
