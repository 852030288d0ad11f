#include "gguf_index.h"
#include <stdlib.h>
#include <string.h>

static int compare_names(ingot_str a, ingot_str b) {
    if (a.n != b.n) return a.n < b.n ? -1 : 1;
    return memcmp(a.p, b.p, a.n);
}

static int compare_entries(const void *a, const void *b) {
    const gguf_entry *x = a, *y = b;
    const int c = compare_names(x->name, y->name);
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

void gguf_index_sort(gguf_entry *entries, int n) {
    if (n > 1) qsort(entries, (size_t)n, sizeof *entries, compare_entries);
}

const gguf_entry *gguf_index_duplicate(const gguf_entry *entries, int n) {
    for (int i = 1; i < n; i++)
        if (compare_names(entries[i - 1].name, entries[i].name) == 0) return &entries[i];
    return NULL;
}

int gguf_index_find(const gguf_entry *entries, int n, const char *name) {
    const ingot_str want = {name, strlen(name)};
    int low = 0, high = n;
    while (low < high) {
        const int mid = low + (high - low) / 2;
        const int c = compare_names(entries[mid].name, want);
        if (c == 0) return entries[mid].at;
        if (c < 0) low = mid + 1;
        else high = mid;
    }
    return -1;
}
