#include "filler.h"
#include "../base/alloc.h"
#include "../base/error.h"
#include <stdio.h>
#include <string.h>

enum { N_WORDS = 16, SNAP = 64, SENTENCE_BYTES = 160 };

static const char *const qualities[N_WORDS] = {"old", "quiet", "tired", "cheerful", "young", "careful", "tall", "patient",
                                               "friendly", "nervous", "famous", "honest", "lonely", "clever", "polite", "busy"};
static const char *const persons[N_WORDS] = {"baker", "teacher", "sailor", "farmer", "doctor", "painter", "tailor", "clerk",
                                             "miller", "singer", "hunter", "lawyer", "barber", "gardener", "nurse", "judge"};
static const char *const acts[N_WORDS] = {"carried", "found", "left", "painted", "sold", "mended", "washed", "hid",
                                          "bought", "lost", "borrowed", "dropped", "placed", "kept", "noticed", "wrapped"};
static const char *const looks[N_WORDS] = {"green", "small", "heavy", "broken", "wooden", "silver", "round", "dusty",
                                           "yellow", "narrow", "woollen", "plain", "purple", "empty", "striped", "rusty"};
static const char *const things[N_WORDS] = {"basket", "lamp", "ladder", "chair", "coat", "kettle", "mirror", "drum",
                                            "blanket", "clock", "bottle", "rope", "barrel", "hat", "spoon", "carpet"};
static const char *const places[N_WORDS] = {"near the river", "behind the church", "in the kitchen", "at the market", "under the bridge", "by the harbour",
                                            "in the garden", "on the hill", "beside the road", "at the station", "in the barn", "near the forest",
                                            "in the cellar", "at the school", "on the roof", "behind the mill"};

static const char *word(const char *const *list, ingot_rng *rng) { return list[ingot_recall_draw(rng, N_WORDS)]; }

static int sentence(char buf[SENTENCE_BYTES], ingot_rng *rng, bool first) {
    const char *who = word(qualities, rng), *person = word(persons, rng), *did = word(acts, rng), *look = word(looks, rng), *what = word(things, rng);
    return snprintf(buf, SENTENCE_BYTES, "%sThe %s %s %s the %s %s %s.", first ? "" : " ", who, person, did, look, what, word(places, rng));
}

/* Sentences of at least n tokens; there is no token without a byte, so n bytes a token suffice when tokens are long, and else it is tried again. */
static ingot_status invent(int32_t *out, int n, const ingot_model *model, ingot_rng *rng) {
    for (size_t bytes = 6 * (size_t)n + SENTENCE_BYTES;; bytes *= 2) {
        char *text = ingot_alloc(bytes + SENTENCE_BYTES, INGOT_MEM_OTHER);
        if (!text) return ingot_fail(INGOT_E_NOMEM, "out of memory for %zu bytes of text", bytes);
        size_t at = 0, n_ids = 0;
        while (at < bytes) at += (size_t)sentence(text + at, rng, !at);
        int32_t *ids = NULL;
        const ingot_status s = ingot_model_tokenize(model, text, at, 0, &ids, &n_ids);
        ingot_dealloc(text);
        if (s == INGOT_OK && n_ids >= (size_t)n) memcpy(out, ids, (size_t)n * sizeof *out);
        ingot_free_memory(ids);
        if (s != INGOT_OK || n_ids >= (size_t)n) return s;
    }
}

static bool ends_sentence(const ingot_model *model, int32_t id) {
    size_t n;
    const char *bytes = ingot_model_token_bytes(model, id, false, &n);
    return n && strchr(".!?\n", bytes[n - 1]);
}

int ingot_recall_snap(const ingot_model *model, const int32_t *ids, int n, int wanted) {
    for (int away = 0; away <= SNAP; away++)
        for (int side = 0; side < 2; side++) {
            const int at = side ? wanted + away : wanted - away;
            if (at == 0 || at == n || (at > 0 && at < n && ends_sentence(model, ids[at - 1]))) return at;
        }
    return wanted;
}

ingot_status ingot_recall_fill(int32_t *out, int n, const ingot_model *model, recall_text text, ingot_rng *rng) {
    if (n <= 0) return INGOT_OK;
    if (!text.ids) return invent(out, n, model, rng);
    if (text.n < (size_t)n) return ingot_fail(INGOT_E_INVALID, "the text has %zu tokens, %d are needed between what is hidden", text.n, n);
    const size_t last = text.n - (size_t)n; /* where it can begin */
    size_t at = (size_t)(ingot_rng_next(rng) % (last + 1));
    for (int i = 0; i <= SNAP && at + (size_t)i <= last; i++) {
        if (at + (size_t)i > 0 && !ends_sentence(model, text.ids[at + (size_t)i - 1])) continue;
        at += (size_t)i;
        break;
    }
    memcpy(out, text.ids + at, (size_t)n * sizeof *out);
    return INGOT_OK;
}
