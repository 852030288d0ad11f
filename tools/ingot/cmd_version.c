#include "command.h"
#include <ingot/ingot.h>

static const option_group *const groups[] = {NULL};

static int run_version(const settings *s) {
    (void)s;
    printf("ingot %s\n", ingot_version());
    return CLI_DONE;
}

const command command_version = {.name = "version", .summary = "Print the version", .synopsis = "", .groups = groups, .run = run_version};
