/* batcher.h: translates the requests of many threads in batches, on threads of its own.
 *
 * Purpose    A request is one line for one model. attend_batcher_submit returns a future at once. A worker thread that
 *            has nothing to do takes what waits; it never waits for more. It takes the request with the earliest
 *            deadline and, with it, others of the same model and search options, those of similar length first, up to
 *            batch_tokens. While fewer batches than threads are decoded, idle threads help with their operations.
 * Results    A request has the result that attend_translator gives for the line with the same options, to the byte,
 *            whatever else is translated at the same time. Its random stream is part of the request.
 * Deadlines  A request that is not translated before its deadline ends as ATTEND_FUTURE_EXPIRED, whether it waits or
 *            is being decoded. Requests without a deadline come after all others.
 * Cancelling A cancelled request leaves the queue, or the search, within one decoding step. The other requests of its
 *            batch are not affected.
 * Limits     At most max_waiting requests wait. Further ones are refused with ATTEND_BUSY.
 * Ownership  A batcher borrows its models; a request is copied. A future is the caller's, freed by attend_future_free
 *            before or after it has finished, and before or after the batcher is freed. A result belongs to its future.
 * Threads    All functions may be called by any thread at any time, attend_batcher_free and
 *            attend_batcher_remove_model by one thread and after all submissions to the batcher or model. After a
 *            fork, the child must not use a batcher of its parent: its threads do not exist there. */
#ifndef ATTEND_BATCHER_H
#define ATTEND_BATCHER_H

#include <attend/translator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- batchers and their models ---- */

typedef struct attend_batcher_options {
    int threads;     /* 1 to 1024: worker threads, which sleep if there is no work */
    int max_waiting; /* 1 to 1000000: requests that wait and are not yet being decoded */
} attend_batcher_options;

#define ATTEND_BATCHER_OPTIONS_INIT                                                                                    \
    {                                                                                                                  \
        1, 256                                                                                                         \
    }

typedef struct attend_batcher attend_batcher;
typedef struct attend_batcher_model attend_batcher_model;

/* Starts the worker threads. ATTEND_BAD_USAGE, ATTEND_NO_MEMORY; ATTEND_FAILED: threads cannot be started. *out is the
 * caller's, freed by attend_batcher_free. */
int attend_batcher_new(attend_batcher **out, const attend_batcher_options *options);
/* Cancels all requests, waits until they have ended, which takes one decoding step, and removes all models. NULL is
 * allowed. */
void attend_batcher_free(attend_batcher *b);

/* Adds a model, or an ensemble, which must stay unchanged until it is removed. The options are those of a translator, of
 * which `threads` is not used. batch_tokens limits the batches of this model. With a memory limit, each worker has its
 * share of it, and a line that takes more is decoded alone. *out belongs to the batcher. Fails as
 * attend_translator_new. */
int attend_batcher_add_model(attend_batcher_model **out, attend_batcher *b, const attend_model *m,
                             const attend_translator_options *options);
/* An ensemble. Fails as attend_translator_new_ensemble. */
int attend_batcher_add_ensemble(attend_batcher_model **out, attend_batcher *b, const attend_model *const *models,
                                int model_count, const attend_translator_options *options);
/* Waits until all requests of the model have ended and their `done` functions have returned, and frees it: the caller
 * may then free the attend_model. Requests that wait are still translated; cancel them if they need not be. Must not
 * be called by a `done` function. NULL is allowed. */
void attend_batcher_remove_model(attend_batcher_model *m);

/* The tokenizer of a side, which belongs to the model. A language model has one for both. */
const attend_tokenizer *attend_batcher_model_tokenizer(const attend_batcher_model *m, bool target);

/* ---- requests ---- */

typedef struct attend_future attend_future;

/* Called once, by a worker thread, when a request has ended in whatever state; not if the submission failed. It must
 * return soon: the worker waits for it. It may call any function except attend_batcher_free and
 * attend_batcher_remove_model, and may free the future. The future exists until it returns, even if the caller has
 * freed it. */
typedef void (*attend_future_fn)(void *user, attend_future *f);

typedef struct attend_request {
    const char *text; /* (size) the line */
    size_t size;
    const char *prefix; /* (prefix_size) the translation must begin with it; NULL: none */
    size_t prefix_size;
    const attend_search_options *search; /* NULL: that of the model's options */
    double timeout;                      /* seconds from now to the deadline; 0: none */
    uint64_t stream;                     /* of random numbers; a translator uses the number of the line */
    attend_future_fn done;               /* NULL: none */
    /* receives what each step of the search considers (search.h), as source 0, by the worker thread, which waits for it;
     * NULL: none. If its batch fails because of another request, it is decoded again, from step 1 */
    attend_branches_fn branches;
    void *user; /* of done and branches; must exist until done has returned */
} attend_request;

/* Submits `count` requests, all or none. out receives their futures. ATTEND_BUSY: the queue has no room for them;
 * ATTEND_BAD_USAGE: invalid search options, or a prefix for a language model; ATTEND_NO_MEMORY. After a failure, all of
 * out is NULL. */
int attend_batcher_submit(attend_future **out, /* (count) */
                          attend_batcher_model *m, int count, const attend_request *requests);

typedef enum attend_future_state {
    ATTEND_FUTURE_WAITING,
    ATTEND_FUTURE_RUNNING, /* it is being decoded */
    ATTEND_FUTURE_DONE,    /* there is a result; that of a faulty line says so */
    ATTEND_FUTURE_CANCELLED,
    ATTEND_FUTURE_EXPIRED, /* its deadline passed */
    ATTEND_FUTURE_FAILED   /* attend_future_status and attend_future_message say why */
} attend_future_state;

/* The current state. States from ATTEND_FUTURE_DONE on are final. */
attend_future_state attend_future_poll(const attend_future *f);
/* Waits until the state is final, or for some seconds; negative: without limit. Returns the current state. */
attend_future_state attend_future_wait(attend_future *f, double seconds);
/* Asks for the request to end; does nothing if it has ended. Never waits. */
void attend_future_cancel(attend_future *f);
/* Frees a future, which must not be used again; cancels it first if it has not ended. Never waits. NULL is allowed. */
void attend_future_free(attend_future *f);

/* The result of ATTEND_FUTURE_DONE, as attend_translator_result returns it; NULL in any other state. Valid until the
 * future is freed. */
const attend_line_result *attend_future_result(const attend_future *f);
/* The status and the message of ATTEND_FUTURE_FAILED; ATTEND_OK and "" in any other state. */
int attend_future_status(const attend_future *f);
const char *attend_future_message(const attend_future *f);

/* ---- statistics ---- */

typedef struct attend_batcher_statistics {
    int waiting, running;                                        /* requests at present */
    uint64_t submitted, refused;                                 /* requests; refused: ATTEND_BUSY */
    uint64_t done, cancelled, expired, failed;                   /* requests that have ended */
    uint64_t batches, batch_lines, source_tokens, target_tokens; /* decoded; target tokens of the best translations */
    double waiting_seconds;                                      /* the sum over all decoded requests */
    double decoding_seconds;                                     /* the sum over all batches */
    double cancelling_seconds, max_cancelling_seconds; /* from attend_future_cancel to the end: sum, maximum */
} attend_batcher_statistics;

/* The statistics since the batcher was created. */
void attend_batcher_get_statistics(attend_batcher *b, attend_batcher_statistics *out);

#ifdef __cplusplus
}
#endif
#endif
