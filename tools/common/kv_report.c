#include "kv_report.h"
#include <stdio.h>

kv_claim kv_claim_of(const ingot_plan *plan, const ingot_model_info *info, int n_tokens, int n_positions) {
    kv_claim c = {0, 0, NULL};
    for (int i = 0; i < info->n_layers; i++) {
        const ingot_layer_shape *l = &info->layers[i];
        const ingot_side_plan *k = ingot_plan_side(plan, i, false), *v = ingot_plan_side(plan, i, true);
        if (ingot_side_plan_check(k, false, l->k_dim) != INGOT_OK || ingot_side_plan_check(v, true, l->v_dim) != INGOT_OK) {
            c.unsupported = ingot_last_error();
            return c;
        }
        const int held = !l->sliding_window ? n_tokens : l->sliding_window < n_positions ? l->sliding_window : n_positions;
        const double vectors = (double)held * l->n_kv_heads;
        const double bits = l->k_dim * ingot_side_plan_bits(k, false, l->k_dim) + l->v_dim * ingot_side_plan_bits(v, true, l->v_dim);
        c.bytes += vectors * bits / 8;
        c.elements += vectors * (l->k_dim + l->v_dim);
    }
    return c;
}

json_t *kv_report_json(const ingot_engine *engine, const ingot_model_info *info) {
    const ingot_cache *cache = ingot_engine_cache(engine);
    ingot_cache_memory m;
    char method[INGOT_PLAN_TEXT_BYTES];
    ingot_cache_memory_get(cache, &m);
    const ingot_plan *plan = ingot_cache_plan(cache);
    const kv_claim claim = kv_claim_of(plan, info, m.n_tokens, m.n_positions);
    json_t *o = json_object();
    json_put(o, "method", json_text(ingot_plan_print(plan, method, sizeof method)));
    json_put(o, "resident_bytes", json_integer((json_int_t)m.resident_bytes));
    json_put(o, "method_bytes", json_integer((json_int_t)m.method_bytes));
    json_put(o, "f16_bytes", json_integer((json_int_t)m.f16_bytes));
    json_put(o, "bits_per_element", json_number(m.elements ? 8.0 * (double)m.resident_bytes / (double)m.elements : 0));
    json_put(o, "claimed_bits_per_element", json_number(claim.elements > 0 ? 8 * claim.bytes / claim.elements : 0));
    json_put(o, "n_tokens", json_integer(m.n_tokens));
    json_put(o, "n_positions", json_integer(m.n_positions));
    json_put(o, "capacity_bytes", json_integer((json_int_t)m.capacity_bytes));
    return o;
}

const char *format_held(const ingot_cache_memory *m, char *buf, size_t cap) {
    char held[32], f16[32], method[32], more[64] = "", seen[48] = "";
    if (m->n_positions != m->n_tokens) snprintf(seen, sizeof seen, " (of %d seen)", m->n_positions);
    if (m->method_bytes) snprintf(more, sizeof more, ", tables %s", format_bytes((double)m->method_bytes, method, sizeof method));
    snprintf(buf, cap, "%d tokens%s in %s, f16: %s%s", m->n_tokens, seen, format_bytes((double)m->resident_bytes, held, sizeof held),
             format_bytes((double)m->f16_bytes, f16, sizeof f16), more);
    return buf;
}

const char *format_bytes(double bytes, char *buf, size_t cap) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    while (bytes >= 1024 && i < 4) bytes /= 1024, i++;
    snprintf(buf, cap, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
    return buf;
}
