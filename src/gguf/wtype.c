#include "wtype.h"
#include "wtype_decode.h"

static const ingot_wtype_info known[] = {
    {INGOT_W_F32, "F32", 1, 4, ingot_wtype_decode_f32},
    {INGOT_W_F16, "F16", 1, 2, ingot_wtype_decode_f16},
    {INGOT_W_BF16, "BF16", 1, 2, ingot_wtype_decode_bf16},
    {INGOT_W_Q4_0, "Q4_0", 32, 18, ingot_wtype_decode_q4_0},
    {INGOT_W_Q4_1, "Q4_1", 32, 20, ingot_wtype_decode_q4_1},
    {INGOT_W_Q5_0, "Q5_0", 32, 22, ingot_wtype_decode_q5_0},
    {INGOT_W_Q5_1, "Q5_1", 32, 24, ingot_wtype_decode_q5_1},
    {INGOT_W_Q8_0, "Q8_0", 32, 34, ingot_wtype_decode_q8_0},
    {INGOT_W_Q2_K, "Q2_K", 256, 84, ingot_wtype_decode_q2_k},
    {INGOT_W_Q3_K, "Q3_K", 256, 110, ingot_wtype_decode_q3_k},
    {INGOT_W_Q4_K, "Q4_K", 256, 144, ingot_wtype_decode_q4_k},
    {INGOT_W_Q5_K, "Q5_K", 256, 176, ingot_wtype_decode_q5_k},
    {INGOT_W_Q6_K, "Q6_K", 256, 210, ingot_wtype_decode_q6_k},
    {INGOT_W_IQ4_NL, "IQ4_NL", 32, 18, ingot_wtype_decode_iq4_nl},
    {INGOT_W_IQ4_XS, "IQ4_XS", 256, 136, ingot_wtype_decode_iq4_xs},
    {INGOT_W_MXFP4, "MXFP4", 32, 17, ingot_wtype_decode_mxfp4},
};
enum { N_KNOWN = sizeof known / sizeof *known };

/* enum ggml_type; the removed ones keep their old names. */
static const struct { const char *name; bool removed; } names[] = {
    [0] = {"F32", false}, [1] = {"F16", false}, [2] = {"Q4_0", false}, [3] = {"Q4_1", false},
    [4] = {"Q4_2", true}, [5] = {"Q4_3", true},
    [6] = {"Q5_0", false}, [7] = {"Q5_1", false}, [8] = {"Q8_0", false}, [9] = {"Q8_1", false},
    [10] = {"Q2_K", false}, [11] = {"Q3_K", false}, [12] = {"Q4_K", false}, [13] = {"Q5_K", false}, [14] = {"Q6_K", false},
    [15] = {"Q8_K", false},
    [16] = {"IQ2_XXS", false}, [17] = {"IQ2_XS", false}, [18] = {"IQ3_XXS", false}, [19] = {"IQ1_S", false},
    [20] = {"IQ4_NL", false}, [21] = {"IQ3_S", false}, [22] = {"IQ2_S", false}, [23] = {"IQ4_XS", false},
    [24] = {"I8", false}, [25] = {"I16", false}, [26] = {"I32", false}, [27] = {"I64", false}, [28] = {"F64", false},
    [29] = {"IQ1_M", false}, [30] = {"BF16", false},
    [31] = {"Q4_0_4_4", true}, [32] = {"Q4_0_4_8", true}, [33] = {"Q4_0_8_8", true},
    [34] = {"TQ1_0", false}, [35] = {"TQ2_0", false},
    [36] = {"IQ4_NL_4_4", true}, [37] = {"IQ4_NL_4_8", true}, [38] = {"IQ4_NL_8_8", true},
    [39] = {"MXFP4", false}, [40] = {"NVFP4", false}, [41] = {"Q1_0", false},
};
enum { N_NAMES = sizeof names / sizeof *names };

const ingot_wtype_info *ingot_wtype_get(uint32_t type) {
    for (int i = 0; i < N_KNOWN; i++)
        if ((uint32_t)known[i].type == type) return &known[i];
    return NULL;
}

const ingot_wtype_info *ingot_wtype_at(int i) { return i >= 0 && i < N_KNOWN ? &known[i] : NULL; }

const char *ingot_wtype_any_name(uint32_t type) { return type < N_NAMES ? names[type].name : "unknown"; }

bool ingot_wtype_is_removed(uint32_t type) { return type < N_NAMES && names[type].removed; }
