/* The engine's library as installed: opening a missing file fails with its name. */
#include <ingot/model.h>
#include <stdio.h>

int main(void) {
    ingot_model *model;
    const ingot_model_options options = {.vocab_only = true};
    if (ingot_model_open(&model, "missing.gguf", &options) == INGOT_OK) return 1;
    puts(ingot_last_error());
    return 0;
}
