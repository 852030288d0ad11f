/* docs/methods.md, made from the registries. */
#ifndef TOOLS_METHODS_MARKDOWN_H
#define TOOLS_METHODS_MARKDOWN_H
void methods_markdown(void);
/* Head sizes that models have, among those asked in this program's lists; 0 ends it. */
extern const int usual_head_sizes[];
#endif
