/* Engines that run the same tokens side by side: optionally the f16 cache as the base, and the plans under test. A batch of the
 * base is computed once and every plan is compared with it, so no full set of logits is ever kept. */
#ifndef INGOT_EVAL_TRACKS_H
#define INGOT_EVAL_TRACKS_H
#include <ingot/eval.h>

/* Tokens to run, and behind which of them the logits are looked at. A "row" is the number of a wanted token, counted from 0. */
typedef struct eval_sequence {
    const int32_t *tokens;
    const bool *want; /* [n] */
    int n;
} eval_sequence;

/* One engine and the session that is fed. */
typedef struct eval_track {
    ingot_engine *engine;
    ingot_session *session;
    ingot_batch_token *batch;   /* [n_batch] */
    int n_fed;                  /* tokens of the sequence */
    int row_first, row_end;     /* rows that the last pass holds */
    ingot_status status;        /* why it takes no more part */
    char message[INGOT_EVAL_MESSAGE_BYTES];
} eval_track;

/* How far the whole work is, in tokens through an engine. */
typedef struct eval_work {
    ingot_progress fn; /* NULL: nobody wants to know */
    void *user;
    const char *what;
    double done, total;
} eval_work;

typedef struct eval_tracks {
    int n_vocab, n_batch; /* tokens that all tracks have taken before the next ones come */
    eval_track base;      /* engine NULL: there is none */
    eval_track *tracks;   /* [n] */
    int n;
    eval_work work;
} eval_tracks;

typedef struct eval_tracks_config {
    int n_ctx, n_batch; /* n_batch 0: the engine's default */
    ingot_activations activations;
    bool base;
    bool batches; /* also for plans that stream */
    ingot_progress progress;
    void *progress_user;
} eval_tracks_config;

/* INGOT_E_INVALID naming the first of tokens[n] that is not of the model's vocabulary. */
ingot_status ingot_eval_check_tokens(const ingot_model *model, const int32_t *tokens, size_t n);

/* Opens an engine for each plan. A plan that cannot have one is marked (tracks[i].status) and takes no part; the base must open.
 * On failure everything is closed again. */
ingot_status ingot_eval_tracks_open(eval_tracks *out, ingot_model *model, const eval_tracks_config *config, const ingot_eval_plan *plans, int n);
void ingot_eval_tracks_close(eval_tracks *s);

/* Looks at one row of a track; `base` is NULL without base. Called from several threads, for different rows. */
typedef void (*eval_score)(void *user, int track, int row, const float *base, const float *logits);
/* Runs the sequence from an empty cache through all tracks and scores its rows. A track that fails is marked and left behind.
 * Errors: those of the base, INGOT_E_CANCELLED. */
ingot_status ingot_eval_tracks_run(eval_tracks *s, const eval_sequence *q, eval_score score, void *user);
/* Whether a track still takes part. */
bool ingot_eval_tracks_alive(const eval_tracks *s);
/* Adds tokens to the work that is done; INGOT_E_CANCELLED when the callback wants to stop. */
ingot_status ingot_eval_work_add(eval_work *w, double tokens);
/* Marks a track with this thread's last error and gives INGOT_OK; INGOT_E_CANCELLED is handed through. */
ingot_status ingot_eval_track_settle(eval_track *t, ingot_status s);
#endif
