/* Calibration files: what is written is read, and nothing else is. */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/le.h"
#include "base/read_file.h"
#include "calibration/calibration_file.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256];
static const uint8_t fingerprint[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255};

static const char *at(const char *name) {
    static char path[300];
    if (!*dir) {
        const char *tmp = getenv("TMPDIR");
        snprintf(dir, sizeof dir, "%s/ingot-cal-XXXXXX", tmp ? tmp : "/tmp");
        if (!CHECK(mkdtemp(dir) != NULL)) return NULL;
    }
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* Removes the folder; returns how many files were in it. */
static int clear(void) {
    int n = 0;
    DIR *d = *dir ? opendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.' || strlen(e->d_name) > 2) n++, unlink(at(e->d_name));
    if (d) closedir(d), rmdir(dir);
    *dir = 0;
    return n;
}

static const float mean[4] = {1, -2, 3.5f, 0}, order[4] = {2, 0, 3, 1}, lambda[4] = {.5f, 1, 2, 4}, book[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static float pair[2 * 16] = {1, [5] = 1, [10] = 1, [15] = 1, [16] = 1, [21] = 1, [26] = 1, [31] = 1};

static ingot_calibration_writer *writer(bool backwards) {
    ingot_calibration_writer *w;
    if (!CHECK_OK(ingot_calibration_writer_create(&w, fingerprint, "2 windows of na\xc3\xafve text"))) return NULL;
    for (int step = 0; step < 7; step++) switch (backwards ? 6 - step : step) {
        case 0: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_MEAN, 0, 0, false, 0, 0, mean, 4)); break;
        case 1: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_MEAN, 0, 0, false, 0, 1, lambda, 3)); break;
        case 2: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_MEAN, 0, 0, true, 1023, 5, mean, 4)); break;
        case 3: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_SMOOTH, 0, 0, false, 0, 0, lambda, 4)); break;
        case 4: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_OUTLIERS, 0, 0, true, 2, 0, order, 4)); break;
        case 5: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_WHITEN, 0, 0, false, 2, 0, pair, 32)); break;
        case 6: CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_CODEBOOK, 2, 2, false, 2, 0, book, 8)); break;
        }
    return w;
}

static void check_contents(const ingot_calibration *c) {
    size_t n = 0;
    const float *x = ingot_calibration_get(c, INGOT_CAL_MEAN, 0, 0, true, 1023, 5, &n);
    CHECK_MEM(ingot_calibration_fingerprint(c), fingerprint, 16);
    CHECK_STR(ingot_calibration_source(c), "2 windows of na\xc3\xafve text");
    if (CHECK(x && n == 4)) CHECK_MEM(x, mean, sizeof mean);
    x = ingot_calibration_get(c, INGOT_CAL_MEAN, 0, 0, false, 0, 1, &n);
    if (CHECK(x && n == 3)) CHECK_MEM(x, lambda, 3 * sizeof *x);
    x = ingot_calibration_get(c, INGOT_CAL_OUTLIERS, 0, 0, true, 2, 0, NULL);
    if (CHECK(x != NULL)) CHECK_MEM(x, order, sizeof order);
    x = ingot_calibration_get(c, INGOT_CAL_WHITEN, 0, 0, false, 2, 0, &n);
    if (CHECK(x && n == 32 && (uintptr_t)x % 64 == 0)) CHECK_MEM(x, pair, sizeof pair);
    x = ingot_calibration_get(c, INGOT_CAL_CODEBOOK, 2, 2, false, 2, 0, &n);
    if (CHECK(x && n == 8)) CHECK_MEM(x, book, sizeof book);
    CHECK(!ingot_calibration_get(c, INGOT_CAL_CODEBOOK, 3, 2, false, 2, 0, &n));
    CHECK(!ingot_calibration_get(c, INGOT_CAL_MEAN, 0, 0, true, 0, 0, &n));
    CHECK(!ingot_calibration_get(c, INGOT_CAL_NONE, 0, 0, false, 0, 0, &n));
    CHECK(!ingot_calibration_get(c, INGOT_CAL_FILTER, 0, 0, false, 2, 0, &n));
    CHECK(!ingot_calibration_get(c, INGOT_CAL_MEAN, 0, 0, false, -1, 0, &n));
}

/* The bytes of the file that `writer` makes. */
static uint8_t *image(size_t *n, bool backwards) {
    uint8_t *p = NULL;
    ingot_calibration_writer *w = writer(backwards);
    if (!w) return NULL;
    CHECK_OK(ingot_calibration_writer_save(w, at("a.cal")));
    CHECK_OK(ingot_read_file(&p, n, at("a.cal")));
    ingot_calibration_writer_destroy(w);
    CHECK_INT(clear(), 1); /* nothing is left beside the file */
    return p;
}

TEST("calibration/what is written is read") {
    ingot_calibration_writer *w = writer(false);
    ingot_calibration *c;
    if (!w) return;
    CHECK_OK(ingot_calibration_writer_save(w, at("a.cal")));
    if (CHECK_OK(ingot_calibration_open(&c, at("a.cal")))) check_contents(c), ingot_calibration_close(c);
    CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_FILTER, 0, 0, false, 1, 1, mean, 4));
    CHECK_OK(ingot_calibration_writer_save(w, at("a.cal"))); /* over the old one */
    if (CHECK_OK(ingot_calibration_open(&c, at("a.cal")))) {
        CHECK(ingot_calibration_get(c, INGOT_CAL_FILTER, 0, 0, false, 1, 1, NULL) != NULL);
        ingot_calibration_close(c);
    }
    ingot_calibration_writer_destroy(w);
    CHECK_INT(clear(), 1);
    ingot_calibration_close(NULL);
    ingot_calibration_writer_destroy(NULL);
}

TEST("calibration/the order of additions does not change the file") {
    size_t n, m;
    uint8_t *a = image(&n, false), *b = image(&m, true);
    if (a && b && CHECK_INT(n, m)) CHECK_MEM(a, b, n);
    ingot_dealloc(a);
    ingot_dealloc(b);
}

TEST("calibration/an empty one is a file too") {
    ingot_calibration_writer *w;
    ingot_calibration *c;
    if (!CHECK_OK(ingot_calibration_writer_create(&w, fingerprint, ""))) return;
    CHECK_OK(ingot_calibration_writer_save(w, at("a.cal")));
    if (CHECK_OK(ingot_calibration_open(&c, at("a.cal")))) {
        CHECK_STR(ingot_calibration_source(c), "");
        CHECK(!ingot_calibration_get(c, INGOT_CAL_MEAN, 0, 0, false, 0, 0, NULL));
        ingot_calibration_close(c);
    }
    ingot_calibration_writer_destroy(w);
    CHECK_INT(clear(), 1);
}

/* The image must be refused; from a block of exactly its size, so that a sanitizer sees a read behind it. */
static bool refused(const uint8_t *p, size_t n, ingot_status want, const char *part) {
    ingot_calibration *c;
    uint8_t *exact = malloc(n ? n : 1);
    if (n) memcpy(exact, p, n);
    const ingot_status s = cal_open_memory(&c, exact, n);
    free(exact);
    bool ok = CHECK(s != INGOT_OK && c == NULL);
    if (!ok) ingot_calibration_close(c);
    if (ok && want != INGOT_OK) ok = CHECK_STATUS(s, want);
    return ok && CHECK_HAS(ingot_last_error(), part);
}

TEST("calibration/cut off at any length it is refused") {
    size_t n;
    uint8_t *p = image(&n, false);
    for (size_t i = 0; p && i < n; i++) {
        test_case("%zu of %zu bytes", i, n);
        if (!refused(p, i, INGOT_E_FORMAT, i < 8 ? "is not a calibration" : i < 64 ? "cut off" : "bytes where")) break;
    }
    ingot_dealloc(p);
}

TEST("calibration/any wrong byte is noticed") {
    static const uint8_t flips[] = {1, 0x80, 0xff};
    size_t n;
    uint8_t *p = image(&n, false);
    bool ok = p != NULL;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t f = 0; ok && f < sizeof flips; f++) {
            test_case("byte %zu of %zu ^ %d", i, n, flips[f]);
            p[i] ^= flips[f];
            ok = refused(p, n, INGOT_OK, "");
            p[i] ^= flips[f];
        }
    ingot_dealloc(p);
}

/* Makes size and checksum right again. */
static void seal(uint8_t *p, size_t n) {
    ingot_le_put_u64(p + CAL_AT_FILE_BYTES, n);
    ingot_hash(p + n - INGOT_HASH_BYTES, p, n - INGOT_HASH_BYTES);
}

TEST("calibration/files of another kind or version") {
    size_t n;
    uint8_t *p = image(&n, false);
    if (!p) return;
    refused((const uint8_t *)"GGUF\3\0\0\0", 8, INGOT_E_FORMAT, "is not a calibration");
    refused((const uint8_t *)"", 0, INGOT_E_FORMAT, "is not a calibration");
    ingot_le_put_u32(p + CAL_AT_VERSION, 2);
    refused(p, n, INGOT_E_UNSUPPORTED, "version 2; this build reads version 1");
    ingot_dealloc(p);
}

/* One wrong field in a file whose checksum is right. */
TEST("calibration/fields that contradict each other") {
    enum { SOURCE = 24, TABLE = 72, SECOND = TABLE + CAL_ENTRY_BYTES, LAST = TABLE + 6 * CAL_ENTRY_BYTES };
    static const struct { int at, bytes; uint64_t value; const char *part; } cases[] = {
        {CAL_AT_ENTRIES, 4, 8, ""},
        {CAL_AT_ENTRIES, 4, 6, ""},
        {CAL_AT_ENTRIES, 4, 0, "behind its last array"},
        {CAL_AT_ENTRIES, 4, UINT32_MAX, "table reaches beyond"},
        {CAL_AT_SOURCE_BYTES, 4, UINT32_MAX, "table reaches beyond"},
        {CAL_AT_SOURCE_BYTES, 4, SOURCE - 1, "gap in front of its table"},
        {CAL_AT_SOURCE_BYTES + 4, 4, 1, "last field is not zero"},
        {CAL_HEADER_BYTES, 1, '\n', "not a line of text"},
        {CAL_HEADER_BYTES, 1, 0x1b, "not a line of text"},
        {SECOND + 4 * CAL_HEAD, 4, 0, "out of order or given twice"},
        {SECOND + 4 * CAL_KIND, 4, 5, ""},
        {LAST + 4 * CAL_KIND, 4, 6, "no kind 6"},
        {LAST + 4 * CAL_BITS, 4, 3, "group << bits"},
        {LAST + 4 * CAL_BITS, 4, 64, "out of range"},
        {LAST + 4 * CAL_GROUP, 4, 1 << 20, "out of range"},
        {LAST + 4 * CAL_LAYER, 4, 1024, "layer 1024"},
        {LAST + 4 * CAL_HEAD, 4, UINT32_MAX, "out of range"},
        {LAST + 4 * CAL_VALUE, 4, 2, "side 2"},
        {LAST + CAL_AT_ELEMENTS, 8, 7, "group << bits"},
        {LAST + CAL_AT_ELEMENTS, 8, 1ull << 62, "beyond the file's end"},
        {LAST + CAL_AT_ELEMENTS, 8, UINT64_MAX, "beyond the file's end"},
        {LAST + CAL_AT_OFFSET, 8, 0, "does not begin behind"},
        {LAST + CAL_AT_OFFSET, 8, UINT64_MAX - 64, "does not begin behind"},
        {TABLE + CAL_AT_ELEMENTS, 8, 0, "vector of 1 to 512"},
        {TABLE + 4 * CAL_BITS, 4, 0, NULL}, /* as it is: the table of cases is right about the layout */
    };
    size_t n;
    uint8_t *p = image(&n, false), *q = p ? malloc(n) : NULL;
    for (size_t i = 0; q && i < sizeof cases / sizeof *cases; i++) {
        ingot_calibration *c;
        test_case("%zu: byte %d = %llu", i, cases[i].at, (unsigned long long)cases[i].value);
        memcpy(q, p, n);
        for (int b = 0; b < cases[i].bytes; b++) q[cases[i].at + b] = (uint8_t)(cases[i].value >> 8 * b);
        seal(q, n);
        if (cases[i].part) refused(q, n, INGOT_E_FORMAT, cases[i].part);
        else if (CHECK_OK(cal_open_memory(&c, q, n))) check_contents(c), ingot_calibration_close(c);
    }
    free(q);
    ingot_dealloc(p);
}

TEST("calibration/values that a method would stumble over") {
    enum { TABLE = 72 };
    static const struct { int entry, element; float value; const char *part; } cases[] = {
        {0, 3, NAN, "the mean of layer 0, K head 0 (4 elements) holds an infinity or a NaN"},
        {2, 0, -INFINITY, "V head 5"},
        {3, 1, 0, "not positive"},
        {3, 1, -1, "not positive"},
        {3, 1, 1e-40f, "not positive"},
        {4, 0, 4, "name every channel once"},
        {4, 0, -1, "name every channel once"},
        {4, 0, .5f, "name every channel once"},
        {4, 0, 3, "name every channel once"},
        {4, 0, 1e30f, "name every channel once"},
        {5, 31, INFINITY, "the whitening of layer 2"},
    };
    size_t n;
    uint8_t *p = image(&n, false), *q = p ? malloc(n) : NULL;
    for (size_t i = 0; q && i < sizeof cases / sizeof *cases; i++) {
        test_case("%s", cases[i].part);
        memcpy(q, p, n);
        const uint64_t start = ingot_le_u64(q + TABLE + cases[i].entry * CAL_ENTRY_BYTES + CAL_AT_OFFSET);
        memcpy(q + start + 4 * cases[i].element, &cases[i].value, 4);
        seal(q, n);
        refused(q, n, INGOT_E_FORMAT, cases[i].part);
    }
    free(q);
    ingot_dealloc(p);
}

TEST("calibration/arrays that the writer refuses") {
    ingot_calibration_writer *w = writer(false), *none;
    static const float bad[4] = {1, NAN, 2, 3}, twice[4] = {0, 1, 1, 3};
    if (!w) return;
#define REFUSED(part, ...) CHECK_STATUS(ingot_calibration_writer_add(w, __VA_ARGS__), INGOT_E_INVALID), CHECK_HAS(ingot_last_error(), part)
    REFUSED("added twice", INGOT_CAL_MEAN, 0, 0, false, 0, 0, mean, 4);
    REFUSED("NaN", INGOT_CAL_MEAN, 0, 0, false, 1, 0, bad, 4);
    REFUSED("every channel", INGOT_CAL_OUTLIERS, 0, 0, false, 1, 0, twice, 4);
    REFUSED("1 to 512", INGOT_CAL_MEAN, 0, 0, false, 1, 0, mean, 0);
    REFUSED("only codebooks", INGOT_CAL_MEAN, 4, 0, false, 1, 0, mean, 4);
    REFUSED("square", INGOT_CAL_WHITEN, 0, 0, false, 1, 0, mean, 4);
    REFUSED("no kind", INGOT_CAL_NONE, 0, 0, false, 1, 0, mean, 4);
    REFUSED("out of range", INGOT_CAL_MEAN, 0, 0, false, -1, 0, mean, 4);
    CHECK_STATUS(ingot_calibration_writer_create(&none, fingerprint, "two\nlines"), INGOT_E_INVALID);
    CHECK_OK(ingot_calibration_writer_save(w, at("a.cal"))); /* the refused ones left nothing */
    ingot_calibration *c;
    if (CHECK_OK(ingot_calibration_open(&c, at("a.cal")))) check_contents(c), ingot_calibration_close(c);
    ingot_calibration_writer_destroy(w);
    clear();
}

TEST("calibration/a full disk leaves the old file whole") {
    ingot_calibration_writer *w = writer(false);
    static float big[2 * 256 * 256];
    ingot_calibration *c;
    struct rlimit old, low;
    if (!w) return;
    CHECK_OK(ingot_calibration_writer_save(w, at("a.cal")));
    CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_WHITEN, 0, 0, true, 3, 0, big, sizeof big / sizeof *big));
    getrlimit(RLIMIT_FSIZE, &old);
    low = old, low.rlim_cur = 100000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &low);
    const ingot_status s = ingot_calibration_writer_save(w, at("a.cal"));
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    CHECK_STATUS(s, INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), strerror(EFBIG));
    CHECK_HAS(ingot_last_error(), "a.cal: cannot write");
    if (CHECK_OK(ingot_calibration_open(&c, at("a.cal")))) check_contents(c), ingot_calibration_close(c);
    ingot_calibration_writer_destroy(w);
    CHECK_INT(clear(), 1); /* no half file beside it */
}

TEST("calibration/paths that cannot be read or written") {
    ingot_calibration_writer *w = writer(false);
    ingot_calibration *c;
    if (!w) return;
    CHECK_STATUS(ingot_calibration_open(&c, at("missing.cal")), INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), "missing.cal: cannot open");
    CHECK_STATUS(ingot_calibration_open(&c, dir), INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), "is a directory");
    CHECK_STATUS(ingot_calibration_writer_save(w, dir), INGOT_E_IO);
    CHECK_STATUS(ingot_calibration_writer_save(w, at("no/such/a.cal")), INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), "cannot write into its folder");
    if (CHECK(mkfifo(at("pipe"), 0600) == 0)) CHECK_STATUS(ingot_calibration_open(&c, at("pipe")), INGOT_E_IO);
    CHECK(c == NULL);
    ingot_calibration_writer_destroy(w);
    CHECK_INT(clear(), 1); /* the pipe */
}

TEST("calibration/no memory is an error and leaks nothing") {
    size_t n;
    uint8_t *p = image(&n, false);
    const size_t before = ingot_mem_bytes(INGOT_MEM_OTHER);
    ingot_calibration *c = NULL;
    ingot_calibration_writer *w;
    for (long i = 1; p && i < 10 && !c; i++) {
        ingot_mem_fail_at(i);
        const ingot_status s = cal_open_memory(&c, p, n);
        ingot_mem_fail_at(0);
        if (s != INGOT_OK) CHECK_STATUS(s, INGOT_E_NOMEM), CHECK(ingot_mem_bytes(INGOT_MEM_OTHER) == before);
    }
    if (CHECK(c != NULL)) ingot_calibration_close(c);
    for (long i = 1; i < 3; i++) { /* the copy, then the table */
        if (!CHECK_OK(ingot_calibration_writer_create(&w, fingerprint, "x"))) break;
        ingot_mem_fail_at(i);
        CHECK_STATUS(ingot_calibration_writer_add(w, INGOT_CAL_MEAN, 0, 0, false, 0, 0, mean, 4), INGOT_E_NOMEM);
        ingot_mem_fail_at(0);
        CHECK_OK(ingot_calibration_writer_add(w, INGOT_CAL_MEAN, 0, 0, false, 0, 0, mean, 4));
        ingot_calibration_writer_destroy(w);
    }
    CHECK(ingot_mem_bytes(INGOT_MEM_OTHER) == before);
    ingot_dealloc(p);
}
