#include "cli.h"
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line whatever a file name or a message contains. */
static void print_line(const char *prefix, const char *fmt, va_list args, const char *hint) {
    char text[2048];
    char clean[2048];
    vsnprintf(text, sizeof text, fmt, args);
    fprintf(stderr, "ingot: %s%s%s\n", prefix, cli_printable(text, clean, sizeof clean), hint);
}

int cli_fail(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    print_line("", fmt, args, "");
    va_end(args);
    return CLI_FAILED;
}

int cli_wrong_use(const char *command, const char *fmt, ...) {
    char hint[64];
    snprintf(hint, sizeof hint, " (see ingot %s%s--help)", command, *command ? " " : "");
    va_list args;
    va_start(args, fmt);
    print_line("", fmt, args, hint);
    va_end(args);
    return CLI_WRONG_USE;
}

int cli_fail_status(ingot_status s) {
    const char *message = ingot_last_error();
    return cli_fail("%s", *message ? message : ingot_status_string(s));
}

const char *cli_printable(const char *text, char *buf, size_t cap) {
    snprintf(buf, cap, "%s", text ? text : "");
    for (char *p = buf; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    return buf;
}

void cli_warn(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    print_line("warning: ", fmt, args, "");
    va_end(args);
}

static int output_errno; /* the first error of stdout, 0 = none */

static bool note_output(bool ok) {
    if (!ok && !output_errno) output_errno = errno ? errno : EIO;
    return ok;
}

bool cli_write(const char *text, size_t n) {
    errno = 0;
    return note_output(fwrite(text, 1, n, stdout) == n && fflush(stdout) == 0);
}

int cli_output_failed(void) { return cli_fail("cannot write the output: %s", strerror(output_errno ? output_errno : EIO)); }

int cli_close_output(int code) {
    if (output_errno) return code ? code : CLI_FAILED; /* was said when it happened */
    const bool nothing_written = !ferror(stdout) && !__fpending(stdout);
    errno = 0;
    note_output(!ferror(stdout));
    note_output(fclose(stdout) == 0 || (nothing_written && errno == EBADF)); /* started without stdout: fine as long as nobody needs it */
    return output_errno ? cli_output_failed() : code;
}

void *cli_realloc(void *p, size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) n = SIZE_MAX, size = 1; /* cannot be had */
    void *q = realloc(p, n && size ? n * size : 1);
    if (!q) {
        cli_fail("out of memory (%zu bytes wanted)", n * size);
        _exit(CLI_FAILED);
    }
    return q;
}

void strbuf_add(strbuf *b, const char *text, size_t n) {
    if (b->n + n + 1 > b->cap) {
        b->cap = (b->n + n + 1) * 2;
        b->data = cli_realloc(b->data, b->cap, 1);
    }
    if (n) memcpy(b->data + b->n, text, n);
    b->n += n;
    b->data[b->n] = 0;
}

void strbuf_drop(strbuf *b, size_t n) {
    if (!n) return;
    memmove(b->data, b->data + n, b->n - n + 1);
    b->n -= n;
}

void strbuf_free(strbuf *b) {
    free(b->data);
    *b = (strbuf){0};
}
