/* A cache without the engine: links against libingot alone. Prints the attention output of one token, which is its value. */
#include <ingot/ingot.h>
#include <stdio.h>

int main(void) {
    const ingot_layer_shape layer = {.n_heads = 2, .n_kv_heads = 1, .k_dim = 64, .v_dim = 64, .scale = 0.125f};
    ingot_cache_config config = {.layers = &layer, .n_layers = 1, .max_tokens = 64, .max_seqs = 1, .max_batch = 1};
    float q[128] = {1}, k[64] = {1}, v[64], out[128];
    for (int i = 0; i < 64; i++) v[i] = (float)(i % 16) - 8;
    ingot_device *device = NULL;
    ingot_cache *cache = NULL;
    int seq;
    const int failed = ingot_plan_parse(&config.plan, &(ingot_plan_spec){.kv = "int4,group=32", .window = -1, .sinks = -1}) || ingot_device_open(&device, "cpu", 1) ||
                       ingot_cache_create(&cache, device, &config) || ingot_cache_seq_open(cache, &seq) ||
                       ingot_cache_step_begin(cache, &seq, 1, NULL) || ingot_cache_layer(cache, 0, q, k, v, out);
    if (failed) return fprintf(stderr, "%s\n", ingot_last_error()), 1;
    ingot_cache_step_end(cache);
    printf("ingot %s: %.1f %.1f\n", ingot_version(), out[0], out[127]);
    ingot_cache_destroy(cache);
    ingot_device_close(device);
    return 0;
}
