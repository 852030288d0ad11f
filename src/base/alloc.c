/* One header of 64 bytes lies in front of every block: it keeps the block aligned and says what to count down. */
#include "alloc.h"
#include "checked.h"
#include "env.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64 };
/* Larger than any machine's memory, small enough that sums of a few never wrap. */
#define MAX_BYTES ((size_t)1 << 47)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

typedef struct header {
    size_t bytes; /* asked for */
    size_t whole; /* mapped blocks: length of the mapping, header included */
    ingot_mem_tag tag;
} header;
_Static_assert(sizeof(header) <= ALIGN, "the header must fit in front of an aligned block");

static atomic_size_t in_use[INGOT_MEM_N_TAGS];
static atomic_bool forbidden;
static atomic_long violations, fail_countdown;

static header *header_of(void *p) { return (header *)((char *)p - ALIGN); }

/* What every request passes through; false = refuse. */
static bool admit(size_t bytes) {
    if (atomic_load_explicit(&forbidden, memory_order_relaxed)) atomic_fetch_add(&violations, 1);
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) > 0 && atomic_fetch_sub(&fail_countdown, 1) == 1)
        return false;
    return bytes <= MAX_BYTES;
}

static void *finish(header *h, size_t bytes, size_t whole, ingot_mem_tag tag) {
    h->bytes = bytes;
    h->whole = whole;
    h->tag = tag;
    atomic_fetch_add_explicit(&in_use[tag], bytes, memory_order_relaxed);
    return (char *)h + ALIGN;
}

void *ingot_alloc(size_t bytes, ingot_mem_tag tag) {
    if (!admit(bytes)) return NULL;
    /* aligned_alloc wants a multiple; an empty block still has room behind its header, so that its address lies inside the
     * system's block, where leak checkers look for it. */
    const size_t whole = ((bytes ? bytes : 1) + 2 * ALIGN - 1) / ALIGN * ALIGN;
    header *h = aligned_alloc(ALIGN, whole);
    if (!h) return NULL;
    memset(h, 0, whole);
    return finish(h, bytes, 0, tag);
}

void *ingot_alloc_array(size_t n, size_t size, ingot_mem_tag tag) {
    uint64_t bytes;
    if (!ingot_mul_u64(n, size, &bytes)) return NULL;
    return ingot_alloc((size_t)bytes, tag);
}

void *ingot_realloc(void *p, size_t bytes, ingot_mem_tag tag) {
    if (!p) return ingot_alloc(bytes, tag);
    void *q = ingot_alloc(bytes, tag);
    if (!q) return NULL;
    const size_t old = header_of(p)->bytes;
    memcpy(q, p, old < bytes ? old : bytes);
    ingot_dealloc(p);
    return q;
}

void ingot_dealloc(void *p) {
    if (!p) return;
    header *h = header_of(p);
    atomic_fetch_sub_explicit(&in_use[h->tag], h->bytes, memory_order_relaxed);
    free(h);
}

char *ingot_strdup(const char *s, ingot_mem_tag tag) {
    const size_t n = strlen(s) + 1;
    char *p = ingot_alloc(n, tag);
    return p ? memcpy(p, s, n) : NULL;
}

void *ingot_alloc_mapped(size_t bytes, ingot_mem_tag tag) {
    if (!admit(bytes)) return NULL;
    const size_t whole = bytes + ALIGN;
    header *h = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (h == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    const char *huge = ingot_env_get(INGOT_ENV_HUGEPAGES);
    /* Advice only: the system may be built without it, and everything works the same then. */
    if (whole >= HUGE_PAGE_BYTES && !(huge && strcmp(huge, "0") == 0)) (void)madvise(h, whole, MADV_HUGEPAGE);
#endif
    return finish(h, bytes, whole, tag);
}

void ingot_dealloc_mapped(void *p) {
    if (!p) return;
    header *h = header_of(p);
    atomic_fetch_sub_explicit(&in_use[h->tag], h->bytes, memory_order_relaxed);
    munmap(h, h->whole);
}

size_t ingot_mem_bytes(ingot_mem_tag tag) { return atomic_load(&in_use[tag]); }
void ingot_mem_forbid(bool on) { atomic_store(&forbidden, on); }
long ingot_mem_violations(void) { return atomic_load(&violations); }
void ingot_mem_fail_at(long n) { atomic_store(&fail_countdown, n > 0 ? n : 0); }
