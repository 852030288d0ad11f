/* What every command shares: one-line errors, exit codes, checked output, memory that is there or ends the program. */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H
#include <ingot/status.h>
#include <stdbool.h>
#include <stddef.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_USE = 2 };

/* Each prints "ingot: MESSAGE" as one line on stderr (control characters shown as '?') and returns its exit code. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cli_wrong_use(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The library's last error; `s` decides nothing but the text when the library left no message. */
int cli_fail_status(ingot_status s);
/* "ingot: warning: MESSAGE". */
void cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text from a file as it may be shown: control characters become '?'. Returns `buf`. */
const char *cli_printable(const char *text, char *buf, size_t cap);

/* Writes to stdout and hands it to the system; false (with errno) when that fails, then cli_output_failed() says so. */
bool cli_write(const char *text, size_t n);
int cli_output_failed(void);
/* At the end of the program: flushes and closes stdout; `code`, or CLI_FAILED with a message when output was lost. */
int cli_close_output(int code);

/* Never NULL: out of memory ends the program with one line. */
void *cli_realloc(void *p, size_t n, size_t size);

/* A growing string, always NUL-terminated once something was added. {0} is empty. */
typedef struct strbuf {
    char *data;
    size_t n, cap;
} strbuf;
void strbuf_add(strbuf *b, const char *text, size_t n);
/* Drops the first n bytes. */
void strbuf_drop(strbuf *b, size_t n);
void strbuf_free(strbuf *b);
#endif
