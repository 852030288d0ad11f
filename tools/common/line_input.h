/* Lines that a person types or a pipe delivers. On a terminal they can be edited and recalled. */
#ifndef TOOLS_LINE_INPUT_H
#define TOOLS_LINE_INPUT_H
#include "cli.h"

typedef enum line_result { LINE_READ, LINE_END, LINE_INTERRUPTED } line_result;

/* Reads one message: lines that end in a backslash continue. Without the line end. `prompt` is shown on a terminal only.
 * LINE_INTERRUPTED after Ctrl-C at a terminal (what was typed is dropped); elsewhere that is the end. */
line_result line_read(strbuf *out, const char *prompt, const char *more_prompt);
/* Frees what reading lines has allocated. */
void line_close(void);
#endif
