#include "model_weights.h"
#include "../base/error.h"
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct prepare_job {
    ingot_model *model;
    const ingot_model_options *options;
    atomic_int status;   /* of the first failure */
    atomic_int stop;     /* weight at which the team stops, -1 for none */
    char message[256];   /* of rank 0 */
} prepare_job;

/* Whether the prepared form holds the matrix itself; else it still reads the mapped file. */
static bool is_repacked(const ingot_backend *backend, const ingot_model_weight *w) { return backend->weight_bytes(w->handle) >= w->tensor->bytes / 2; }

/* The mapping is private and never written: dropped pages come back from the file when somebody reads them. */
static void drop_pages(const ingot_gguf_tensor *t) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)t->data, end = begin + t->bytes;
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

static void fail(prepare_job *job, ingot_status s) {
    int none = INGOT_OK;
    atomic_compare_exchange_strong(&job->status, &none, (int)s);
}

/* After each matrix rank 0 reports; all meet, so that all leave the loop at the same matrix. */
static void prepare_team(const ingot_team *team, void *arg) {
    prepare_job *job = arg;
    ingot_model *m = job->model;
    const ingot_backend *backend = m->device->backend;
    for (int i = 0; i < m->n_weights; i++) {
        ingot_model_weight *w = &m->weights[i];
        const ingot_gguf_tensor *t = w->tensor;
        const ingot_status s = backend->weight_prepare(&w->handle, (int)t->type, (int)t->dims[1], (int)t->dims[0], t->data, team);
        if (s != INGOT_OK) {
            fail(job, s);
            if (team->rank == 0) snprintf(job->message, sizeof job->message, "%s", ingot_last_error());
        }
        ingot_team_barrier(team);
        if (team->rank == 0 && atomic_load(&job->status) == INGOT_OK) {
            if (is_repacked(backend, w)) drop_pages(t);
            const ingot_model_options *o = job->options;
            if (o->progress && !o->progress(o->progress_user, "preparing the weights", (double)(i + 1) / m->n_weights)) fail(job, INGOT_E_CANCELLED);
        }
        ingot_team_barrier(team);
        if (atomic_load(&job->status) == INGOT_OK) continue;
        if (team->rank == 0) atomic_store(&job->stop, i);
        return;
    }
}

ingot_status ingot_model_weights_prepare(ingot_model *m, const ingot_model_options *options) {
    const ingot_backend *backend = m->device->backend;
    prepare_job job = {.model = m, .options = options, .stop = -1};
    ingot_pool_run(m->device->pool, prepare_team, &job);
    const ingot_status s = (ingot_status)atomic_load(&job.status);
    if (s == INGOT_E_CANCELLED) return ingot_fail(s, "loading was cancelled");
    if (s != INGOT_OK) {
        const char *name = m->weights[atomic_load(&job.stop)].tensor->cname;
        return ingot_fail(s, "tensor %s: %s", name, job.message[0] ? job.message : ingot_status_string(s));
    }
    m->info.weight_bytes = 0;
    for (int i = 0; i < m->n_weights; i++) {
        const ingot_model_weight *w = &m->weights[i];
        m->info.weight_bytes += backend->weight_bytes(w->handle) + (is_repacked(backend, w) ? 0 : w->tensor->bytes);
    }
    /* Embedding rows are read from the file; a tied output that was not repacked counts once. */
    for (int i = 0; i < m->n_ops; i++) {
        if (m->tape[i].kind != INGOT_OP_EMBED) continue;
        bool counted = false;
        for (int j = 0; j < m->n_weights; j++) counted |= m->weights[j].tensor == m->tape[i].table && !is_repacked(backend, &m->weights[j]);
        if (!counted) m->info.weight_bytes += m->tape[i].table->bytes;
    }
    return INGOT_OK;
}

void ingot_model_weights_free(ingot_model *m) {
    for (int i = 0; i < m->n_weights; i++)
        if (m->weights[i].handle) m->device->backend->weight_free(m->weights[i].handle);
}
