/* batcher.c: creates batchers, adds and removes models, accepts requests. */
#include "decode/batcher.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/tape.h"
#include "decode/search.h"

/* ---- creating ---- */

static void *run_workers(void *argument)
{
    attend_batcher *b = argument;
    attend_pool_run(b->pool, b->o.threads, attend_batcher_work, b);
    return NULL;
}

static int fill(attend_batcher *b)
{
    const size_t room = (size_t)b->o.max_waiting;
    b->queue = attend_memory_zeroed(room, sizeof *b->queue);
    b->similar = attend_memory_zeroed(room, sizeof *b->similar);
    b->workers = attend_memory_zeroed((size_t)b->o.threads, sizeof *b->workers);
    bool ok = b->queue && b->similar && b->workers;
    for (int i = 0; ok && i < b->o.threads; i++) {
        b->workers[i].batch = attend_memory_zeroed(room, sizeof(attend_future *));
        b->workers[i].ended = attend_memory_zeroed(room, sizeof(attend_future *));
        ok = b->workers[i].batch && b->workers[i].ended;
    }
    if (!ok) return attend_fail(ATTEND_NO_MEMORY, "no memory for a queue of %d requests", b->o.max_waiting);
    const int status = attend_pool_new(&b->pool, b->o.threads);
    if (status != ATTEND_OK) return status;
    const int error = pthread_create(&b->runner, NULL, run_workers, b);
    if (error) return attend_fail(ATTEND_FAILED, "cannot start a worker thread: %s", attend_errno_text(error));
    b->has_runner = true;
    return ATTEND_OK;
}

int attend_batcher_new(attend_batcher **out, const attend_batcher_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && options);
    *out = NULL;
    if (options->threads < 1 || options->threads > 1024 || options->max_waiting < 1 || options->max_waiting > 1000000)
        return attend_fail(ATTEND_BAD_USAGE, "invalid options: threads %d (1 to 1024), max_waiting %d (1 to 1000000)",
                           options->threads, options->max_waiting);
    attend_batcher *b = attend_memory_zeroed(1, sizeof *b);
    if (!b) return attend_fail(ATTEND_NO_MEMORY, "no memory for a batcher");
    b->o = *options;
    atomic_store(&b->first_deadline, INT64_MAX);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    const int status = fill(b);
    if (status != ATTEND_OK) {
        attend_batcher_free(b);
        return status;
    }
    *out = b;
    return ATTEND_OK;
}

static void worker_free(batcher_worker *w)
{
    for (int i = 0; i < w->context_count; i++) attend_ctx_free(w->contexts[i]);
    attend_memory_free(w->contexts);
    attend_memory_free(w->batch);
    attend_memory_free(w->ended);
}

void attend_batcher_free(attend_batcher *b)
{
    if (!b) return;
    if (b->has_runner) {
        atomic_store(&b->closing, true);
        attend_pool_wake(b->pool);
        pthread_join(b->runner, NULL);
    }
    while (b->models) attend_batcher_remove_model(b->models);
    attend_pool_free(b->pool);
    for (int i = 0; b->workers && i < b->o.threads; i++) worker_free(&b->workers[i]);
    attend_memory_free(b->workers);
    attend_memory_free(b->queue);
    attend_memory_free(b->similar);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    attend_memory_free(b);
}

/* ---- models ---- */

static void model_free(attend_batcher_model *m)
{
    for (int side = 0; side < 2; side++) attend_pipeline_free(&m->sides[side]);
    attend_translator_setup_free(&m->setup);
    attend_memory_free(m);
}

int attend_batcher_add_ensemble(attend_batcher_model **out, attend_batcher *b, const attend_model *const *models,
                                int model_count, const attend_translator_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && b && models && options);
    *out = NULL;
    attend_batcher_model *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory for a model of a batcher");
    m->batcher = b;
    attend_translator_options o = *options;
    o.threads = b->o.threads;
    int status = attend_translator_setup_new(&m->setup, models, model_count, &o, &(int){ b->o.threads });
    if (status == ATTEND_OK) /* the setup divides memory between fewer threads if it is scarce; all workers run here */
        status =
            attend_memory_limit_set(&m->setup.limit, o.memory, m->setup.models, m->setup.model_count, b->o.threads);
    if (status == ATTEND_OK) status = attend_search_check_options(&o.search);
    if (status == ATTEND_OK) status = attend_pipelines_from_model(m->sides, m->setup.models[0]);
    if (status != ATTEND_OK) {
        model_free(m);
        return status;
    }
    attend_pipelines_set_unit(m->sides, m->setup.o.unit);
    attend_translator_setup_finish(&m->setup, m->sides);
    pthread_mutex_lock(&b->lock);
    m->next = b->models;
    b->models = m;
    pthread_mutex_unlock(&b->lock);
    *out = m;
    return ATTEND_OK;
}

int attend_batcher_add_model(attend_batcher_model **out, attend_batcher *b, const attend_model *m,
                             const attend_translator_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && b && m && options);
    return attend_batcher_add_ensemble(out, b, &m, 1, options);
}

void attend_batcher_remove_model(attend_batcher_model *m)
{
    if (!m) return;
    attend_batcher *b = m->batcher;
    pthread_mutex_lock(&b->lock);
    while (m->pending > 0) pthread_cond_wait(&b->changed, &b->lock);
    attend_batcher_model **at = &b->models;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    pthread_mutex_unlock(&b->lock);
    model_free(m);
}

const attend_tokenizer *attend_batcher_model_tokenizer(const attend_batcher_model *m, bool target)
{
    ATTEND_REQUIRE(NULL, m);
    return m->sides[target || m->setup.is_language_model].tokenizer;
}

/* ---- requests ---- */

static int queue(attend_batcher_model *m, int count, attend_future *const *futures)
{
    attend_batcher *b = m->batcher;
    pthread_mutex_lock(&b->lock);
    const bool has_room = b->statistics.waiting <= b->o.max_waiting - count;
    if (has_room) {
        attend_batcher_queue_add(b, futures, count);
        b->statistics.submitted += (uint64_t)count;
        m->pending += count;
    } else {
        b->statistics.refused += (uint64_t)count;
    }
    pthread_mutex_unlock(&b->lock);
    if (!has_room)
        return attend_fail(ATTEND_BUSY, "the queue has no room for %d more requests (max_waiting is %d)", count,
                           b->o.max_waiting);
    attend_pool_wake(b->pool);
    return ATTEND_OK;
}

int attend_batcher_submit(attend_future **out, attend_batcher_model *m, int count, const attend_request *requests)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m && count >= 0 && ((out && requests) || count == 0));
    int status = ATTEND_OK;
    for (int i = 0; i < count; i++) out[i] = NULL;
    for (int i = 0; status == ATTEND_OK && i < count; i++) status = attend_future_new(&out[i], m, &requests[i]);
    if (status == ATTEND_OK && count > 0) status = queue(m, count, out);
    for (int i = 0; status != ATTEND_OK && i < count; i++) {
        if (out[i]) attend_future_discard(out[i]);
        out[i] = NULL;
    }
    return status;
}

void attend_batcher_get_statistics(attend_batcher *b, attend_batcher_statistics *out)
{
    ATTEND_REQUIRE_VOID(b && out);
    pthread_mutex_lock(&b->lock);
    *out = b->statistics;
    pthread_mutex_unlock(&b->lock);
}
