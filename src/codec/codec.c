#include "codec.h"
#include <string.h>

#define CODEC(id, desc) extern const ingot_codec desc;
#include "codecs.def"
#undef CODEC

static const ingot_codec *const codecs[INGOT_N_CODECS] = {
#define CODEC(id, desc) &desc,
#include "codecs.def"
#undef CODEC
};

const ingot_codec *ingot_codec_get(int id) {
    return id >= 0 && id < INGOT_N_CODECS ? codecs[id] : NULL;
}

int ingot_codec_tokens(const ingot_kv_fmt *f) {
    const ingot_codec *c = ingot_codec_get(f->codec);
    return c->tokens ? c->tokens(f) : 1;
}

int ingot_codec_find(const char *name) {
    for (int i = 0; i < INGOT_N_CODECS; i++)
        if (!strcmp(codecs[i]->name, name)) return i;
    return -1;
}
