#include "methods_markdown.h"
#include <ingot/method.h>
#include <stdio.h>
#include <string.h>

const int usual_head_sizes[] = {64, 80, 96, 112, 128, 192, 256, 512, 0};

static const char intro[] =
    "# Methods\n"
    "\n"
    "Made by `ingot methods --markdown`; a test holds this file against it.\n"
    "\n"
    "A method names a codec (the number format of a vector) and transforms (what is done to a vector before it is encoded), for keys and for values. "
    "`--kv` takes a method for both, `--kv-k` and `--kv-v` one for either; options and transforms follow its name: `--kv int4,group=64,hadamard`. "
    "A policy says which tokens stay: `--kv-policy qfilters,budget=1024`. [cli.md](cli.md) has the whole spelling, [formats.md](formats.md) the bytes.\n"
    "\n"
    "Bits are stored bits per element for heads of 64, 128 and 256 elements with the default options, scales and all other metadata included, exact windows not; "
    "of a method, the mean of keys and values. \"Calibration\" marks what needs a file made by `ingot calibrate`. Sources: the papers that a part follows; "
    "where none is given the part is common property or of this project.\n";

/* A cell; bars would end it. */
static void cell(const char *text) {
    printf(" ");
    for (; *text; text++) printf(*text == '|' ? "\\|" : "%c", *text);
    printf(" |");
}

static void code_cell(const char *text) {
    char code[512] = "";
    if (*text) snprintf(code, sizeof code, "`%s`", text);
    cell(code);
}

static void bits_cells(const ingot_part_info *p, int row) {
    for (int dim = 64; dim <= 256; dim *= 2) {
        const double bits = ingot_part_bits(p->kind, row, dim);
        char text[32] = "";
        if (bits > 0) snprintf(text, sizeof text, "%.5g", bits);
        cell(text);
    }
}

static void sides_cell(const ingot_part_info *p) { cell(p->sides == 3 ? "keys, values" : p->sides == 1 ? "keys" : "values"); }

static void calibration_cell(const ingot_part_info *p) { cell(p->needs_calibration ? "yes" : ""); }

/* What the descriptor says, and the usual head sizes that cannot be stored. */
static void limits_cell(const ingot_part_info *p, int row) {
    char text[512];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", p->limits);
    const char *before = n ? "; not for heads of " : "not for heads of ";
    for (const int *dim = usual_head_sizes; *dim && n < sizeof text; dim++) {
        if (ingot_part_check(p->kind, row, *dim) == INGOT_OK) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", before, *dim);
        before = ", ";
    }
    cell(text);
}

static void method_row(const ingot_part_info *p, int row) {
    char window[16] = "";
    if (p->window) snprintf(window, sizeof window, "%d", p->window);
    code_cell(p->parts);
    bits_cells(p, row);
    code_cell(p->options);
    cell(window);
    calibration_cell(p);
    cell(p->source);
    limits_cell(p, row);
}

static void codec_row(const ingot_part_info *p, int row) {
    sides_cell(p);
    bits_cells(p, row);
    code_cell(p->options);
    calibration_cell(p);
    cell(p->source);
    limits_cell(p, row);
}

static void transform_row(const ingot_part_info *p, int row) {
    cell(p->stage);
    sides_cell(p);
    calibration_cell(p);
    cell(p->source);
    limits_cell(p, row);
}

static void policy_row(const ingot_part_info *p, int row) {
    (void)row;
    code_cell(p->options);
    calibration_cell(p);
    cell(p->source);
    cell(p->limits);
}

static const struct {
    ingot_part_kind kind;
    const char *title, *text, *columns;
    int n_columns;
    void (*row)(const ingot_part_info *p, int row);
} sections[] = {
    {INGOT_PART_METHOD, "Methods", "Every method takes the transforms below as well; one given replaces the method's own of the same stage, `none` takes all of them away. "
                                   "\"Exact\" is the window of newest tokens that stays in f16 unless `--kv-window` says otherwise.",
     "method | what it is | keys / values | d = 64 | d = 128 | d = 256 | options | exact | calibration | source | limits", 11, method_row},
    {INGOT_PART_CODEC, "Codecs", "Number formats. A plan names them by a method: `turboquant4,none` is `tq4` without transforms.",
     "codec | what it is | sides | d = 64 | d = 128 | d = 256 | options | calibration | source | limits", 10, codec_row},
    {INGOT_PART_TRANSFORM, "Transforms", "Applied in the order of their stages: center, scale, rotate; at most one of each. Queries and outputs go through the counterpart, so none of them changes "
                                         "what exact vectors would give.",
     "transform | what it does | stage | sides | calibration | source | limits", 7, transform_row},
    {INGOT_PART_POLICY, "Policies", "Those that take a budget evict; it counts all tokens of a sequence in a layer without sliding window, exact ones included. `recent`: packed tokens beside the "
                                    "exact window that always stay; a quarter of the budget, less what the window covers, unless given. Codecs that store keys in blocks of tokens (`kivi*`, "
                                    "`qjl`, `polarpair`) evict whole blocks: fewer tokens than the budget may be held, never more. A budget in tokens must hold sinks, window, `recent`, a block "
                                    "that is not full yet, and one block (or token) more; a share is at least that.",
     "policy | which tokens stay | options | calibration | source | limits", 6, policy_row},
};

void methods_markdown(void) {
    printf("%s", intro);
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        printf("\n## %s\n\n%s\n\n| %s |\n|", sections[s].title, sections[s].text, sections[s].columns);
        for (int i = 0; i < sections[s].n_columns; i++) printf("---|");
        printf("\n");
        for (int i = 0; i < ingot_part_count(sections[s].kind); i++) {
            const ingot_part_info *p = ingot_part_get(sections[s].kind, i);
            printf("|");
            code_cell(p->name);
            cell(p->description);
            sections[s].row(p, i);
            printf("\n");
        }
    }
}
