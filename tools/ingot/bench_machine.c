/* Which machine this is, and whether it was idle. */
#include "bench_sheet.h"
#include <ingot/ingot.h>
#include <ingot/machine.h>
#include <stdarg.h>
#include <time.h>

/* Others may use this share of all cores before a warning. */
#define BUSY 0.05

void strbuf_print(strbuf *b, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0) strbuf_add(b, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

json_t *bench_machine_json(void) {
    ingot_machine m;
    ingot_bench_host h;
    ingot_machine_get(&m);
    ingot_bench_host_get(&h);
    json_t *o = json_object();
    json_put(o, "processor", json_text(m.processor));
    json_put(o, "cores", json_integer(h.n_cores));
    json_put(o, "level", json_text(m.level));
    json_put(o, "used", json_text(m.used));
    json_put(o, "extras", json_text(m.extras));
    json_put(o, "llc_bytes", json_integer((json_int_t)h.llc_bytes));
    json_put(o, "memory_bytes", json_integer((json_int_t)h.memory_bytes));
    json_put(o, "system", json_text(h.system));
    json_put(o, "ingot", json_text(ingot_version()));
    return o;
}

static const char *text_of(const json_t *machine, const char *key) { return json_string_value(json_object_get(machine, key)); }
static double number_of(const json_t *machine, const char *key) { return json_number_value(json_object_get(machine, key)); }

void bench_machine_print(strbuf *to, const json_t *m) {
    const char *extras = text_of(m, "extras");
    strbuf_print(to, "# %s, %.0f core%s, %s%s%s, last-level cache %.0f MiB, memory %.1f GiB, %s, ingot %s\n", text_of(m, "processor"), number_of(m, "cores"),
                 number_of(m, "cores") > 1 ? "s" : "", text_of(m, "used"), *extras ? " " : "", extras, number_of(m, "llc_bytes") / 1048576,
                 number_of(m, "memory_bytes") / 1073741824, text_of(m, "system"), text_of(m, "ingot"));
}

double bench_look_for_others(bool quiet) {
    double others, stolen;
    ingot_bench_load load;
    ingot_bench_load_start(&load);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    ingot_bench_load_since(&load, &others, &stolen);
    if (others > BUSY && !quiet) cli_warn("the machine is not idle: others use %.0f %% of its cores", 100 * others);
    return others;
}

void bench_look_back(json_t *doc, const ingot_bench_load *load, bool quiet) {
    double others, stolen;
    ingot_bench_load_since(load, &others, &stolen);
    json_put(doc, "others_share", json_number(others));
    json_put(doc, "stolen_share", json_number(stolen));
    if (others + stolen > BUSY && !quiet)
        cli_warn("the machine was not idle: others used %.0f %% of its cores, its host took %.0f %%; absolute times are too long", 100 * others, 100 * stolen);
}
