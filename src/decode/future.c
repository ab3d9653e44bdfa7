/* future.c: requests of a batcher and their results. */
#include "decode/batcher.h"

#include "core/memory.h"
#include "core/status.h"
#include "decode/search.h"
#include <math.h>
#include <time.h>

int64_t attend_batcher_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A time some seconds from now; INT64_MAX if that is never. */
static int64_t after(int64_t now, double seconds)
{
    return seconds < 1e9 ? now + (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* ---- creating ---- */

static void free_memory(attend_future *f)
{
    attend_translator_line_free(&f->line);
    for (int side = 0; side < 2; side++) attend_pipeline_free_borrowed(&f->sides[side]);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    attend_memory_free(f);
}

static void init_condition(pthread_cond_t *c)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int encode(attend_future *f, const attend_request *r)
{
    const translator_setup *s = &f->model->setup;
    for (int side = 0; side < 2; side++) f->sides[side] = attend_pipeline_borrow(&f->model->sides[side]);
    const int status = attend_translator_encode((translator_texts){ s, f->sides }, &f->line, r->stream, r->text,
                                                r->size, r->prefix, r->prefix ? r->prefix_size : 0);
    if (status != ATTEND_OK) return status;
    attend_translator_estimate(&f->line, &f->search);
    attend_translator_write_empty(&f->line);
    f->tokens = f->line.needs_search ? attend_translator_line_tokens(&f->line) : 0;
    return ATTEND_OK;
}

int attend_future_new(attend_future **out, attend_batcher_model *m, const attend_request *r)
{
    if ((!r->text && r->size > 0) || !(r->timeout >= 0))
        return attend_fail(ATTEND_BAD_USAGE, "a request needs a text, and a timeout of 0 or more; %g given",
                           r->timeout);
    if (m->setup.is_language_model && r->prefix)
        return attend_fail(ATTEND_BAD_USAGE, "a language model continues its lines and takes no other prefixes");
    attend_search_options options = r->search ? *r->search : m->setup.o.search;
    int status = attend_search_check_options(&options);
    if (status == ATTEND_OK && r->branches) status = attend_search_check_branches(&options);
    if (status != ATTEND_OK) return status;
    attend_future *f = attend_memory_zeroed(1, sizeof *f);
    if (!f) return attend_fail(ATTEND_NO_MEMORY, "no memory for a request");
    pthread_mutex_init(&f->lock, NULL);
    init_condition(&f->changed);
    atomic_store(&f->references, 2);
    f->model = m;
    f->search = options;
    f->search.weights |= m->setup.o.replace_unknown;
    f->submitted = attend_batcher_clock();
    f->deadline = r->timeout > 0 ? after(f->submitted, r->timeout) : INT64_MAX;
    f->done = r->done, f->branches = r->branches, f->user = r->user;
    status = encode(f, r);
    if (status != ATTEND_OK) {
        free_memory(f);
        return status;
    }
    *out = f;
    return ATTEND_OK;
}

/* ---- ending ---- */

attend_future_state attend_future_verdict(const attend_future *f, int64_t now)
{
    if (atomic_load(&f->cancelled_at) || atomic_load(&f->model->batcher->closing)) return ATTEND_FUTURE_CANCELLED;
    return now >= f->deadline ? ATTEND_FUTURE_EXPIRED : ATTEND_FUTURE_RUNNING;
}

static void count_end(attend_batcher_statistics *s, const attend_future *f, attend_future_state state)
{
    const int64_t cancelled_at = atomic_load(&f->cancelled_at);
    s->done += state == ATTEND_FUTURE_DONE;
    s->expired += state == ATTEND_FUTURE_EXPIRED;
    s->failed += state == ATTEND_FUTURE_FAILED;
    if (state != ATTEND_FUTURE_CANCELLED) return;
    const double seconds = cancelled_at ? (double)(attend_batcher_clock() - cancelled_at) * 1e-9 : 0;
    s->cancelled++;
    s->cancelling_seconds += seconds;
    s->max_cancelling_seconds = fmax(s->max_cancelling_seconds, seconds);
}

void attend_future_end(attend_future *f, attend_future_state state)
{
    attend_batcher *b = f->model->batcher;
    pthread_mutex_lock(&b->lock);
    count_end(&b->statistics, f, state);
    pthread_mutex_unlock(&b->lock);
    pthread_mutex_lock(&f->lock);
    atomic_store(&f->state, (int)state);
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    if (f->done) f->done(f->user, f);
    pthread_mutex_lock(&b->lock);
    if (--f->model->pending == 0) pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    attend_future_release(f);
}

void attend_future_release(attend_future *f)
{
    if (atomic_fetch_sub(&f->references, 1) == 1) free_memory(f);
}

void attend_future_discard(attend_future *f)
{
    free_memory(f);
}

/* ---- the caller's side ---- */

static bool is_final(int state)
{
    return state >= ATTEND_FUTURE_DONE;
}

attend_future_state attend_future_poll(const attend_future *f)
{
    ATTEND_REQUIRE(ATTEND_FUTURE_FAILED, f);
    return (attend_future_state)atomic_load(&f->state);
}

attend_future_state attend_future_wait(attend_future *f, double seconds)
{
    ATTEND_REQUIRE(ATTEND_FUTURE_FAILED, f);
    const int64_t end = seconds < 0 ? INT64_MAX : after(attend_batcher_clock(), seconds == seconds ? seconds : 0);
    const struct timespec until = { (time_t)(end / 1000000000), (long)(end % 1000000000) };
    pthread_mutex_lock(&f->lock);
    for (int error = 0; !is_final(atomic_load(&f->state)) && error == 0;)
        error = end == INT64_MAX ? pthread_cond_wait(&f->changed, &f->lock)
                                 : pthread_cond_timedwait(&f->changed, &f->lock, &until);
    const attend_future_state state = (attend_future_state)atomic_load(&f->state);
    pthread_mutex_unlock(&f->lock);
    return state;
}

/* The lock keeps the batcher from ending the request, and so from being freed, meanwhile. */
void attend_future_cancel(attend_future *f)
{
    ATTEND_REQUIRE_VOID(f);
    pthread_mutex_lock(&f->lock);
    if (!is_final(atomic_load(&f->state)) && !atomic_load(&f->cancelled_at)) {
        attend_batcher *b = f->model->batcher;
        atomic_store(&f->cancelled_at, attend_batcher_clock());
        atomic_store(&b->has_cancelled, true);
        attend_pool_wake(b->pool);
    }
    pthread_mutex_unlock(&f->lock);
}

void attend_future_free(attend_future *f)
{
    if (!f) return;
    attend_future_cancel(f);
    attend_future_release(f);
}

const attend_line_result *attend_future_result(const attend_future *f)
{
    ATTEND_REQUIRE(NULL, f);
    return atomic_load(&f->state) == ATTEND_FUTURE_DONE ? &f->line.result : NULL;
}

int attend_future_status(const attend_future *f)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, f);
    return atomic_load(&f->state) == ATTEND_FUTURE_FAILED ? f->status : ATTEND_OK;
}

const char *attend_future_message(const attend_future *f)
{
    ATTEND_REQUIRE(NULL, f);
    return atomic_load(&f->state) == ATTEND_FUTURE_FAILED ? f->message : "";
}
