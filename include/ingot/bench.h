/* Measuring speed: attention over a cache, storing into it, whole models, and the memory's own bandwidth, the ceiling of all of them.
 * docs/benchmarks.md says what is done and why. Part of libingot-engine. C11, C++-clean. */
#ifndef INGOT_BENCH_H
#define INGOT_BENCH_H
#include <ingot/session.h>
#ifdef __cplusplus
extern "C" {
#endif

/* --- the machine --- */
typedef struct ingot_bench_host {
    int n_cores;            /* that this process may use */
    size_t llc_bytes;       /* largest cache of the processor as the system tells; 0: it does not */
    size_t memory_bytes, available_bytes; /* of the machine; what is free for this process, limits of its group included */
    char system[160];       /* name, release and architecture of the operating system */
} ingot_bench_host;
void ingot_bench_host_get(ingot_bench_host *out);

/* Who used the cores since a moment: shares of the time of all cores. NaN where the system does not tell. */
typedef struct ingot_bench_load {
    double busy, stolen, own, seconds; /* counters at that moment */
} ingot_bench_load;
void ingot_bench_load_start(ingot_bench_load *out);
void ingot_bench_load_since(const ingot_bench_load *start, double *others, double *stolen);

/* --- times --- */
/* Median, least, and noise of x[n]: the larger of half the 95 % interval of the median (from order statistics) and of the distance between the medians of even
 * and odd rounds (A against A), in percent of the median; NaN below 2 values. scratch [n]. */
typedef struct ingot_bench_summary {
    double median, least, noise_pct;
} ingot_bench_summary;
ingot_bench_summary ingot_bench_summarize(const double *x, int n, double *scratch);

/* How everything is measured: rows by turns, forwards and backwards, the first round not counted. */
typedef struct ingot_bench_protocol {
    double seconds;    /* of measuring for each row, about; at least 7 rounds are done */
    int n_reps;        /* rounds; 0: as many as `seconds` allow */
    size_t cold_bytes; /* memory that the data of a row is rotated over; 0: a quarter more than the largest cache */
    bool cpu_time;     /* count the time that threads ran instead of the wall's: for machines that are not idle */
    ingot_progress progress; /* NULL allowed */
    void *progress_user;
} ingot_bench_protocol;

typedef struct ingot_bench_times {
    int n;      /* rounds */
    double *us; /* [n] in the order of rounds; free with ingot_free_memory */
    ingot_bench_summary sum; /* of us */
} ingot_bench_times;

/* Two things, each measured twice in the same rounds. */
typedef struct ingot_bench_verdict {
    double floor_pct;  /* noise floor: the larger distance of A against A and of B against B from 1, their noise included, in percent */
    double gain;       /* time of A over time of B, median over the rounds: above 1 B is faster */
    double gain_noise_pct;
    int effect;        /* 1: B is faster; -1: A is; 0: the gain is inside the noise, and nothing was shown */
} ingot_bench_verdict;
ingot_status ingot_bench_compare(ingot_bench_verdict *out, const ingot_bench_times a[2], const ingot_bench_times b[2]);
/* What a gain of one part gives the whole at most, when the part takes this share (0 to 1) of its time (Amdahl). */
double ingot_bench_at_most(double gain, double share);

#define INGOT_BENCH_MESSAGE_BYTES 512

/* --- attention --- */
typedef struct ingot_bench_attn_config {
    ingot_bench_protocol protocol;
    int n_tokens;  /* context, query tokens included; INGOT_BENCH_RAGGED more are really there, so that it ends inside a page */
    int n_queries; /* query tokens at once; 1: decoding */
    int n_heads, n_kv_heads, head_dim;
    bool kernel;   /* measure the back end's attention alone as well; one query token and one thread only */
} ingot_bench_attn_config;
#define INGOT_BENCH_RAGGED 27

/* One plan. An operation is what the cache does in one layer of a step: new keys and values are stored, queries attend. */
typedef struct ingot_bench_attn_row {
    ingot_status status; /* else the plan could not be measured, and the message says why */
    char message[INGOT_BENCH_MESSAGE_BYTES];
    ingot_bench_times op, read; /* read: a plain read of as many bytes in the same rounds, by the same threads */
    ingot_bench_summary vs_read; /* op / read of the same round */
    ingot_bench_times kernel;    /* where asked for */
    ingot_bench_summary vs_kernel; /* op / kernel of the same round: what the cache adds */
    size_t packed_bytes, exact_bytes; /* keys and values that one operation reads: packed; exact window, sinks, new tokens */
    int n_copies;     /* of the data, used by turns */
    double checksum;  /* sum of the outputs of the last query token */
    double error;     /* their distance from exact attention on the vectors before they were stored, relative, over all heads */
} ingot_bench_attn_row;

/* Measures plans[n_plans] by turns on all threads of the device; out[n_plans]. Vectors are random, normal, 4096 tokens of them repeated. A plan that cannot be measured
 * does not stop the others. Errors: INGOT_E_INVALID naming a wrong value; INGOT_E_NOMEM saying how much memory the rotation wants and how much there is;
 * INGOT_E_CANCELLED, with the finished rounds in out. */
ingot_status ingot_bench_attn(ingot_bench_attn_row *out, ingot_device *device, const ingot_bench_attn_config *config, const ingot_plan *plans, int n_plans);
void ingot_bench_attn_rows_free(ingot_bench_attn_row *rows, int n);

/* --- storing --- */
typedef struct ingot_bench_append_config {
    ingot_bench_protocol protocol;
    int n_tokens; /* tokens of one step */
    int n_kv_heads, head_dim;
} ingot_bench_append_config;

/* One plan. An operation is what the cache does with a step's new keys and values in one layer, attention left out: check, transform, encode what is due to be packed, keep the
 * rest exact. Sequences grow from step to step, so that formats of blocks store a block whenever one is full. */
typedef struct ingot_bench_append_row {
    ingot_status status;
    char message[INGOT_BENCH_MESSAGE_BYTES];
    ingot_bench_times op;
    double mean_us;                    /* differs from the median where only some steps pack */
    double bytes_in, bytes_out;        /* of one operation, mean over the rounds: vectors as floats; packed, and exact where there is such a store */
    ingot_bench_summary copy_gb_s;     /* a copy of 64 MiB in the same rounds, by the same threads, read and written bytes together */
    int n_copies;
    uint64_t checksum;                 /* of the canonical bytes of some stored tokens: the same on every machine */
} ingot_bench_append_row;

/* Measures plans[n_plans] by turns; out[n_plans]. Vectors come from, and go to, memory that no cache of the processor holds. Errors as above. */
ingot_status ingot_bench_append(ingot_bench_append_row *out, ingot_device *device, const ingot_bench_append_config *config, const ingot_plan *plans, int n_plans);
void ingot_bench_append_rows_free(ingot_bench_append_row *rows, int n);

/* --- whole models --- */
/* Engines of several plans on one model, side by side. */
typedef struct ingot_bench_model ingot_bench_model;
typedef struct ingot_bench_model_config {
    ingot_bench_protocol protocol; /* nothing is rotated: weights and cache are what they are; cpu_time: of all threads together, over their number */
    int n_ctx;                     /* tokens that every cache holds; 64 more than are read and generated leave room for a page that two sequences share */
    int n_threads;                 /* of the model's device */
    int n_batch;                   /* tokens of one forward pass; 0: the engine's default */
    ingot_activations activations;
    const ingot_calibration *calibration; /* borrowed; NULL: plans that need one cannot be measured */
} ingot_bench_model_config;

typedef struct ingot_bench_model_row {
    ingot_status status; /* of the plan: else it could not be measured, and the message says why */
    char message[INGOT_BENCH_MESSAGE_BYTES];
    ingot_bench_times token; /* time of a token: of all over their number (prefill), of one (decode) */
    ingot_bench_times shallow; /* decode: the same behind no tokens, in the same rounds; what is missing is what the context costs */
    ingot_cache_memory memory; /* decode: of a cache filled to the depth */
} ingot_bench_model_row;

/* Plans that cannot be measured are left out of every measurement. Errors: INGOT_E_INVALID, INGOT_E_NOMEM saying how much memory the caches want and how much there is. */
ingot_status ingot_bench_model_open(ingot_bench_model **out, ingot_model *model, const ingot_bench_model_config *config, const ingot_plan *plans, int n_plans);
void ingot_bench_model_close(ingot_bench_model *b);
/* Reading a prompt of n_tokens, logits of the last one included; out[n_plans], plans by turns, n_tokens at most n_ctx. Tokens are random. */
ingot_status ingot_bench_model_prefill(ingot_bench_model_row *out, ingot_bench_model *b, int n_tokens);
/* Decoding n_gen tokens (at least 2; the first one is not counted) behind `depth` tokens that were really read, again and again from there; depths must not fall from call to
 * call. depth + n_gen at most n_ctx. */
ingot_status ingot_bench_model_decode(ingot_bench_model_row *out, ingot_bench_model *b, int depth, int n_gen);
void ingot_bench_model_rows_free(ingot_bench_model_row *rows, int n);

/* --- the memory --- */
/* Bandwidth of a device's threads on memory that no cache holds. */
typedef struct ingot_bench_copy_result {
    ingot_bench_times read, copy;  /* of n_bytes */
    double n_bytes;
    double read_gb_s, copy_gb_s; /* 1e9 bytes a second; copy: read and written bytes together */
} ingot_bench_copy_result;
/* n_bytes: of one read or copy; 0: 64 MiB, or what is rotated over if that is less. Errors as above. */
ingot_status ingot_bench_copy(ingot_bench_copy_result *out, ingot_device *device, const ingot_bench_protocol *protocol, size_t n_bytes);
void ingot_bench_copy_free(ingot_bench_copy_result *r);

#ifdef __cplusplus
}
#endif
#endif
