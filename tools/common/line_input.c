#include "line_input.h"
#include "system.h"
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 500 };

static struct {
    bool open, terminal;
    EditLine *editor; /* on a terminal */
    History *history;
    const char *prompt;
    char *line; /* of getline(), elsewhere */
    size_t cap;
} input;

static char *show_prompt(EditLine *e) {
    (void)e;
    return (char *)(uintptr_t)input.prompt; /* histedit.h wants it writable and does not write */
}

/* One character; -1 after Ctrl-C (the editor's own reader would go on). */
static int read_character(EditLine *e, wchar_t *out) {
    mbstate_t state = {0};
    (void)e;
    for (;;) {
        char byte;
        if (!system_wait_input()) return -1;
        const ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return (int)n;
        const size_t got = mbrtowc(out, &byte, 1, &state);
        if (got == (size_t)-2) continue;
        if (got != (size_t)-1) return 1;
        state = (mbstate_t){0}; /* no character of this locale: dropped */
    }
}

/* Lines are UTF-8, whatever the locale is called. */
static void use_utf8(void) {
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8")) setlocale(LC_CTYPE, "C.UTF-8");
}

static void open_input(void) {
    input.open = true;
    input.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!input.terminal) return;
    use_utf8();
    HistEvent event;
    input.history = history_init();
    input.editor = el_init("ingot", stdin, stdout, stderr);
    if (!input.editor || !input.history) {
        input.terminal = false;
        return;
    }
    history(input.history, &event, H_SETSIZE, HISTORY_LINES);
    history(input.history, &event, H_SETUNIQUE, 1);
    el_set(input.editor, EL_EDITOR, "emacs");
    el_set(input.editor, EL_PROMPT, show_prompt);
    el_set(input.editor, EL_SIGNAL, 0);
    el_set(input.editor, EL_HIST, history, input.history);
    el_set(input.editor, EL_GETCFN, read_character);
}

static const char *edit_line(const char *prompt, size_t *n) {
    int count = 0;
    HistEvent event;
    input.prompt = prompt;
    const char *line = el_gets(input.editor, &count);
    if (!line || count <= 0) {
        el_reset(input.editor);
        fputc('\n', stdout);
        return NULL;
    }
    if (count > 1) history(input.history, &event, H_ENTER, line);
    *n = (size_t)count;
    return line;
}

static const char *plain_line(size_t *n) {
    const ssize_t count = getline(&input.line, &input.cap, stdin);
    if (count <= 0) {
        clearerr(stdin);
        return NULL;
    }
    *n = (size_t)count;
    return input.line;
}

line_result line_read(strbuf *out, const char *prompt, const char *more_prompt) {
    if (!input.open) open_input();
    strbuf_drop(out, out->n);
    system_catch_interrupt(false);
    for (bool first = true;; first = false) {
        size_t n = 0;
        const char *line = input.terminal ? edit_line(first ? prompt : more_prompt, &n) : plain_line(&n);
        if (!line && system_interrupted()) return input.terminal ? LINE_INTERRUPTED : LINE_END;
        if (!line) return first ? LINE_END : LINE_READ;
        if (n && line[n - 1] == '\n') n--;
        if (n && line[n - 1] == '\r') n--;
        const bool more = n && line[n - 1] == '\\';
        strbuf_add(out, line, more ? n - 1 : n);
        if (!more) return LINE_READ;
        strbuf_add(out, "\n", 1);
    }
}

void line_close(void) {
    if (input.editor) el_end(input.editor);
    if (input.history) history_end(input.history);
    free(input.line);
    memset(&input, 0, sizeof input);
}
