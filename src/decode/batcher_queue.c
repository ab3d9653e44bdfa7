/* batcher_queue.c: chooses batches from the requests that wait.
 *
 * The queue is an array without order, which is searched for each batch: it has some hundred entries, and a batch takes
 * milliseconds. */
#include "decode/batcher.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void find_first_deadline(attend_batcher *b)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < b->statistics.waiting; i++)
        if (b->queue[i]->deadline < first) first = b->queue[i]->deadline;
    atomic_store(&b->first_deadline, first);
}

static void set_length(attend_batcher *b, int length)
{
    b->statistics.waiting = length;
    atomic_store(&b->waiting, length);
    find_first_deadline(b);
}

void attend_batcher_queue_add(attend_batcher *b, attend_future *const *futures, int count)
{
    for (int i = 0; i < count; i++) {
        futures[i]->sequence = b->sequence++;
        b->queue[b->statistics.waiting + i] = futures[i];
    }
    set_length(b, b->statistics.waiting + count);
}

/* ---- ending what need not be decoded ---- */

void attend_batcher_queue_sweep(attend_batcher *b, batcher_worker *w)
{
    const int64_t now = attend_batcher_clock();
    if (!atomic_load(&b->has_cancelled) && !atomic_load(&b->closing) && now < atomic_load(&b->first_deadline)) return;
    int ended = 0, kept = 0;
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->has_cancelled, false); /* before looking: a later cancellation sets it again */
    for (int i = 0; i < b->statistics.waiting; i++) {
        attend_future *f = b->queue[i];
        if (attend_future_verdict(f, now) == ATTEND_FUTURE_RUNNING)
            b->queue[kept++] = f;
        else
            w->ended[ended++] = f;
    }
    set_length(b, kept);
    pthread_mutex_unlock(&b->lock);
    for (int i = 0; i < ended; i++) attend_future_end(w->ended[i], attend_future_verdict(w->ended[i], now));
}

/* ---- batches ---- */

/* The bytes of the options, except whether weights are returned: those go to the requests that want them. */
typedef struct option_bytes {
    unsigned char bytes[sizeof(attend_search_options)];
} option_bytes;

static option_bytes bytes_of(const attend_search_options *o)
{
    option_bytes x;
    memcpy(x.bytes, o, sizeof *o);
    memset(x.bytes + offsetof(attend_search_options, weights), 0, sizeof o->weights);
    return x;
}

/* Whether two requests can be decoded in one search. The comparison of bytes may find a difference where there is none,
 * in padding, but not the reverse, and a new option cannot be forgotten. */
static bool fits(const attend_future *a, const attend_future *b)
{
    const option_bytes x = bytes_of(&a->search), y = bytes_of(&b->search);
    return a->model == b->model && !a->line.prefix.count == !b->line.prefix.count &&
           memcmp(x.bytes, y.bytes, sizeof x.bytes) == 0;
}

static bool is_earlier(const attend_future *a, const attend_future *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->sequence < b->sequence;
}

/* By length, then by deadline. */
static int compare(const void *x, const void *y)
{
    const attend_future *a = *(attend_future *const *)x, *b = *(attend_future *const *)y;
    if (a->tokens != b->tokens) return a->tokens < b->tokens ? -1 : 1;
    return is_earlier(a, b) ? -1 : 1;
}

/* Marks a request as part of the batch: moves it out of the queue later. */
static void add_to_batch(batcher_worker *w, attend_future *f)
{
    w->batch[w->batch_count++] = f;
    atomic_store(&f->state, ATTEND_FUTURE_RUNNING);
}

/* Adds the nearest neighbours in length of entry `at` of the sorted requests, up to a number of tokens. */
static void add_similar(attend_batcher *b, batcher_worker *w, int count, int at, int64_t max_tokens)
{
    const attend_future *first = b->similar[at];
    const double share = first->model->setup.limit.share;
    int64_t tokens = first->tokens;
    double work = first->line.work;
    for (int low = at - 1, high = at + 1; low >= 0 || high < count;) {
        const bool down = high >= count || (low >= 0 && first->tokens - b->similar[low]->tokens <=
                                                            b->similar[high]->tokens - first->tokens);
        attend_future *f = b->similar[down ? low-- : high++];
        if (tokens + f->tokens > max_tokens || work + f->line.work > share) {
            if (down) /* what is further up is longer still */
                continue;
            high = count;
            continue;
        }
        tokens += f->tokens, work += f->line.work;
        add_to_batch(w, f);
    }
}

/* The tokens of a batch: at most batch_tokens, and fewer if that gives every idle worker a batch. */
static int64_t max_batch_tokens(const attend_batcher *b, const attend_future *first, int64_t total)
{
    const int idle = b->o.threads - b->running_workers;
    const int64_t share = idle > 1 ? (total + idle - 1) / idle : total;
    return share < first->model->setup.o.batch_tokens ? share : first->model->setup.o.batch_tokens;
}

/* Chooses the batch of the request `first`: itself, and those that fit. */
static void choose(attend_batcher *b, batcher_worker *w, attend_future *first)
{
    int count = 0, at = 0;
    int64_t total = 0;
    for (int i = 0; i < b->statistics.waiting; i++) {
        attend_future *f = b->queue[i];
        if (f != first && (f->tokens == 0 || !fits(first, f))) continue;
        b->similar[count++] = f;
        total += f->tokens;
    }
    qsort(b->similar, (size_t)count, sizeof *b->similar, compare);
    while (b->similar[at] != first) at++;
    add_to_batch(w, first);
    if (first->line.work <= first->model->setup.limit.share)
        add_similar(b, w, count, at, max_batch_tokens(b, first, total));
}

static void remove_batch(attend_batcher *b)
{
    int kept = 0;
    for (int i = 0; i < b->statistics.waiting; i++)
        if (atomic_load(&b->queue[i]->state) == ATTEND_FUTURE_WAITING) b->queue[kept++] = b->queue[i];
    set_length(b, kept);
}

bool attend_batcher_queue_take(attend_batcher *b, batcher_worker *w)
{
    w->batch_count = 0;
    pthread_mutex_lock(&b->lock);
    if (b->statistics.waiting > 0 && !atomic_load(&b->is_exclusive)) {
        attend_future *first = b->queue[0];
        for (int i = 1; i < b->statistics.waiting; i++)
            if (is_earlier(b->queue[i], first)) first = b->queue[i];
        if (first->tokens > 0)
            choose(b, w, first);
        else
            add_to_batch(w, first);
        remove_batch(b);
        if (first->line.work > first->model->setup.limit.share) atomic_store(&b->is_exclusive, true);
        b->running_workers++;
        b->statistics.running += w->batch_count;
        atomic_fetch_add(&b->busy, 1);
    }
    pthread_mutex_unlock(&b->lock);
    return w->batch_count > 0;
}
