/* Calibrations: what methods learn from running a model on text. A file belongs to one model, whose fingerprint it carries.
 * C11, C++-clean. An open calibration is immutable and may be shared by threads. */
#ifndef INGOT_CALIBRATION_H
#define INGOT_CALIBRATION_H
#include <ingot/status.h>
#include <ingot/types.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of arrays, one per layer, side and KV head (f32). Keys are post-RoPE, in the model's own frame unless said. */
typedef enum ingot_cal_kind {
    INGOT_CAL_NONE = -1,
    INGOT_CAL_MEAN,     /* [dim] mean of the vectors */
    INGOT_CAL_SMOOTH,   /* [dim] lambda = sqrt(largest |x|) of each channel, clamped from below (VecInfer) */
    INGOT_CAL_OUTLIERS, /* [dim] channel numbers by falling RMS */
    INGOT_CAL_WHITEN,   /* [2][dim][dim] A, then B = A^-T, for row vectors: x A is stored, q B is the query (K), y B^T takes what is stored back */
    INGOT_CAL_FILTER,   /* [dim] direction of the queries of the group's heads (Q-Filters), larger <k, u> = kept; K only */
    INGOT_CAL_CODEBOOK, /* [1 << bits][group] centroids of sub-vectors of `group` channels, in the frame that the codec names */
    INGOT_N_CAL_KINDS
} ingot_cal_kind;

typedef struct ingot_calibration ingot_calibration;

/* Opens and checks a whole file. Errors, naming the file and what is wrong: INGOT_E_IO, INGOT_E_FORMAT (not a calibration, truncated, damaged, an array
 * that cannot be what it says), INGOT_E_UNSUPPORTED (another version), INGOT_E_NOMEM. */
ingot_status ingot_calibration_open(ingot_calibration **out, const char *path);
void ingot_calibration_close(ingot_calibration *c); /* NULL is allowed */
/* 16 bytes that identify the model's weights. */
const uint8_t *ingot_calibration_fingerprint(const ingot_calibration *c);
/* 16 bytes that identify the file's content. */
const uint8_t *ingot_calibration_checksum(const ingot_calibration *c);
/* One line on what it was made from, such as "3 windows of 1024 tokens of text.txt". */
const char *ingot_calibration_source(const ingot_calibration *c);
/* The array of a kind; bits and group (0 for kinds without) select among codebooks. NULL when the file has none, else *n elements.
 * Valid until the calibration is closed. */
const float *ingot_calibration_get(const ingot_calibration *c, int kind, int bits, int group, bool value, int layer, int head, size_t *n);

/* A calibration under construction. Arrays are copied. `source` is one line of at most 1023 bytes. The same arrays give the same file, whatever the
 * order they are added in. add: INGOT_E_INVALID naming the array and what is wrong (added twice, wrong shape, not finite, smoothing factors that
 * are not positive, outliers that do not name every channel once). All: INGOT_E_NOMEM. */
typedef struct ingot_calibration_writer ingot_calibration_writer;
ingot_status ingot_calibration_writer_create(ingot_calibration_writer **out, const uint8_t fingerprint[16], const char *source);
ingot_status ingot_calibration_writer_add(ingot_calibration_writer *w, int kind, int bits, int group, bool value, int layer, int head, const float *x, size_t n);
/* As ingot_replace_file of <ingot/file.h> does, and what ingot_calibration_target_check refuses is refused. */
ingot_status ingot_calibration_writer_save(ingot_calibration_writer *w, const char *path);
void ingot_calibration_writer_destroy(ingot_calibration_writer *w); /* NULL is allowed */
/* Whether a calibration may be written to `path`, to be asked before the work: INGOT_E_IO as ingot_replace_file_check, INGOT_E_INVALID where a file with other
 * content is, which is never overwritten. */
ingot_status ingot_calibration_target_check(const char *path);

#ifdef __cplusplus
}
#endif
#endif
