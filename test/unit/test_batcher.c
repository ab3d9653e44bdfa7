/* A batcher gives every request the bytes that a translator gives for the line, whatever else it decodes, and ends
 * requests that are cancelled or late within one decoding step. */
#include "unit/unit.h"

#include "core/memory.h"
#include "decode/batcher.h"
#include "support/model_with_tokenizer.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const char *const lines[] = { "a b c", "",  "d",       "\xff",  "a a a a a a a a", " ",   "c d a b",
                                     "b",     "c", "zebra b", "a b c", "d c b a d c b a", "d d", "b a" };
enum { LINES = sizeof lines / sizeof *lines };

typedef struct giver {
    int next;
} giver;

static int next_line(void *user, const char **line, size_t *size)
{
    static const char *const words[] = { "a b c d", "b c", "a" };
    giver *g = user;
    if (g->next == 3) return 0;
    *line = words[g->next++];
    *size = strlen(*line);
    return 1;
}

static attend_model *model_of(attend_token_kind kind, const char *words)
{
    giver g = { 0 };
    return model_with_tokenizer(kind, words, next_line, &g);
}

static attend_model *a_model(void)
{
    return model_of(ATTEND_TOKENS_WORD, "hidden=8 heads=2 attention-width=6");
}

static attend_batcher *batcher_of(int threads, int max_waiting)
{
    attend_batcher *b = NULL;
    assert_ok(attend_batcher_new(&b, &(attend_batcher_options){ threads, max_waiting }));
    return b;
}

static attend_batcher_model *add(attend_batcher *b, const attend_model *m)
{
    const attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher_model *added = NULL;
    assert_ok(attend_batcher_add_model(&added, b, m, &o));
    return added;
}

static attend_request request_of(const char *text)
{
    return (attend_request){ .text = text, .size = strlen(text) };
}

static attend_future *submit(attend_batcher_model *m, const attend_request *r)
{
    attend_future *f = NULL;
    assert_ok(attend_batcher_submit(&f, m, 1, r));
    return f;
}

/* ---- the hook: called before each decoding step of this program ---- */

static void (*volatile before_step)(void);
static atomic_int steps;

int __real_attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *tokens);
int __wrap_attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *tokens);
int __wrap_attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *tokens)
{
    atomic_fetch_add(&steps, 1);
    if (before_step) before_step();
    return __real_attend_decoding_step(d, counts, parents, tokens);
}

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static void slow_step(void)
{
    sleep_ms(2);
}

/* ---- equal results ---- */

static void assert_same(const attend_line_result *a, const attend_line_result *b)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->source_count, b->source_count);
    assert_int_equal(a->unknown_count, b->unknown_count);
    if (a->fault || b->fault) assert_string_equal(a->fault, b->fault);
    for (int i = 0; i < a->count; i++) {
        const attend_hypothesis *x = &a->hypotheses[i], *y = &b->hypotheses[i];
        assert_string_equal(x->text, y->text);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->prefix_size, y->prefix_size);
        assert_true(x->score == y->score && x->log_probability == y->log_probability);
        assert_true(!x->weights == !y->weights);
        assert_true(!x->token_log_probability == !y->token_log_probability);
        if (x->token_log_probability)
            assert_memory_equal(x->token_log_probability, y->token_log_probability,
                                (size_t)(x->count + 1) * sizeof *x->token_log_probability);
        if (x->weights)
            assert_memory_equal(x->weights, y->weights,
                                (size_t)(x->count + 1) * (size_t)a->source_count * sizeof *x->weights);
    }
}

typedef struct variant {
    attend_search_options search;
    const char *prefix;
} variant;

static variant variant_of(int i)
{
    variant v = { .search = ATTEND_SEARCH_OPTIONS_INIT };
    v.search.weights = i % 2;
    if (i % 5 == 1) v.search.n_best = 3;
    if (i % 5 == 2) v.search.beam = 2;
    if (i % 5 == 3) v.prefix = "b a";
    if (i % 5 == 4) v.search.sample = true, v.search.seed = 7;
    return v;
}

enum { VARIANTS = 10, CLIENTS = 6, ROUNDS = 12 };

/* What a translator says about every line in every variant. */
static attend_translator *expected[VARIANTS];

static void expect(const attend_model *const *models, int model_count)
{
    size_t sizes[LINES], prefix_sizes[LINES];
    const char *prefixes[LINES];
    for (int v = 0; v < VARIANTS; v++) {
        const variant x = variant_of(v);
        attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
        o.search = x.search;
        for (int i = 0; i < LINES; i++) {
            sizes[i] = strlen(lines[i]);
            prefixes[i] = x.prefix, prefix_sizes[i] = x.prefix ? strlen(x.prefix) : 0;
        }
        assert_ok(attend_translator_new_ensemble(&expected[v], models, model_count, &o));
        assert_ok(attend_translator_run_from(expected[v], LINES, lines, sizes, x.prefix ? prefixes : NULL,
                                             x.prefix ? prefix_sizes : NULL));
    }
}

typedef struct client {
    attend_batcher_model *model;
    unsigned seed;
    pthread_t thread;
    int wrong; /* cmocka's assertions are for the main thread */
    attend_future *futures[ROUNDS][LINES];
    int variants[ROUNDS];
} client;

static unsigned draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* Submits all lines several times in random variants, single or together, and cancels some of them. */
static void *run_client(void *argument)
{
    client *c = argument;
    for (int r = 0; r < ROUNDS; r++) {
        attend_request requests[LINES];
        c->variants[r] = (int)(draw(&c->seed) % VARIANTS);
        const variant v = variant_of(c->variants[r]);
        for (int i = 0; i < LINES; i++) {
            requests[i] = request_of(lines[i]);
            requests[i].search = &v.search, requests[i].prefix = v.prefix;
            requests[i].prefix_size = v.prefix ? strlen(v.prefix) : 0;
            requests[i].stream = (uint64_t)i;
            requests[i].timeout = draw(&c->seed) % 2 ? 1000 : 0;
        }
        if (draw(&c->seed) % 2) {
            c->wrong += attend_batcher_submit(c->futures[r], c->model, LINES, requests) != ATTEND_OK;
        } else {
            for (int i = 0; i < LINES; i++)
                c->wrong += attend_batcher_submit(&c->futures[r][i], c->model, 1, &requests[i]) != ATTEND_OK;
        }
        for (int i = 0; i < LINES; i++)
            if (draw(&c->seed) % 16 == 0) attend_future_cancel(c->futures[r][i]);
        if (draw(&c->seed) % 4 == 0) sleep_ms(1);
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < LINES; i++) {
            const attend_future_state state = attend_future_wait(c->futures[r][i], -1);
            c->wrong += state != ATTEND_FUTURE_DONE && state != ATTEND_FUTURE_CANCELLED;
        }
    return NULL;
}

static void compare_with_translator(const attend_model *const *models, int model_count, int threads)
{
    const attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher *b = batcher_of(threads, CLIENTS * ROUNDS * LINES);
    attend_batcher_model *m = NULL;
    attend_batcher_statistics s;
    client *clients = calloc(CLIENTS, sizeof *clients);
    assert_non_null(clients);
    int done = 0;
    assert_ok(attend_batcher_add_ensemble(&m, b, models, model_count, &o));
    expect(models, model_count);
    for (int c = 0; c < CLIENTS; c++) {
        clients[c].model = m, clients[c].seed = (unsigned)(c + threads);
        assert_int_equal(pthread_create(&clients[c].thread, NULL, run_client, &clients[c]), 0);
    }
    for (int c = 0; c < CLIENTS; c++) {
        pthread_join(clients[c].thread, NULL);
        assert_int_equal(clients[c].wrong, 0);
    }
    attend_batcher_get_statistics(b, &s);
    attend_batcher_remove_model(m);
    attend_batcher_free(b); /* results outlive it */
    for (int c = 0; c < CLIENTS; c++)
        for (int r = 0; r < ROUNDS; r++)
            for (int i = 0; i < LINES; i++) {
                attend_future *f = clients[c].futures[r][i];
                if (attend_future_poll(f) == ATTEND_FUTURE_DONE) {
                    assert_same(attend_future_result(f), attend_translator_result(expected[clients[c].variants[r]], i));
                    done++;
                }
                attend_future_free(f);
            }
    printf("%d of %d requests compared, %llu batches\n", done, CLIENTS * ROUNDS * LINES, (unsigned long long)s.batches);
    assert_true(done > CLIENTS * ROUNDS * LINES / 2);
    assert_int_equal(s.done, done);
    assert_int_equal(s.done + s.cancelled, s.submitted);
    assert_true(s.batches < s.submitted);
    for (int v = 0; v < VARIANTS; v++) attend_translator_free(expected[v]);
    free(clients);
}

static void results_are_those_of_a_translator(void **state)
{
    (void)state;
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_model *m = model_of((attend_token_kind)kind, "hidden=8 heads=2 attention-width=6");
        compare_with_translator((const attend_model *const[]){ m }, 1, 1 + kind);
        attend_model_free(m);
    }
    attend_model *a = a_model(), *b = model_of(ATTEND_TOKENS_WORD, "hidden=12 heads=2 attention-width=6");
    compare_with_translator((const attend_model *const[]){ a, b }, 2, 2);
    attend_model_free(a), attend_model_free(b);
}

static void several_models_and_options(void **state)
{
    (void)state;
    attend_model *models[2] = { a_model(), model_of(ATTEND_TOKENS_CHAR, "hidden=8 heads=2 attention-width=6") };
    attend_batcher *b = batcher_of(2, 100);
    attend_batcher_model *added[2] = { add(b, models[0]), add(b, models[1]) };
    attend_future *futures[2][LINES];
    const attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    for (int i = 0; i < LINES; i++)
        for (int k = 0; k < 2; k++)
            futures[k][i] = submit(added[k], &(attend_request){ .text = lines[i], .size = strlen(lines[i]) });
    for (int k = 0; k < 2; k++) {
        attend_translator *t = NULL;
        assert_ok(attend_translator_new(&t, models[k], &o));
        for (int i = 0; i < LINES; i++) {
            const size_t size = strlen(lines[i]);
            assert_ok(attend_translator_run(t, 1, &lines[i], &size));
            assert_int_equal(attend_future_wait(futures[k][i], -1), ATTEND_FUTURE_DONE);
            assert_same(attend_future_result(futures[k][i]), attend_translator_result(t, 0));
            attend_future_free(futures[k][i]);
        }
        attend_translator_free(t);
        assert_non_null(attend_batcher_model_tokenizer(added[k], true));
    }
    attend_batcher_free(b);
    attend_model_free(models[0]), attend_model_free(models[1]);
}

/* ---- order and limits ---- */

/* Keeps a worker busy until it is released. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_closed, is_reached;
} gate;

static void wait_at_gate(void *user, attend_future *f)
{
    gate *g = user;
    (void)f;
    pthread_mutex_lock(&g->lock);
    g->is_reached = true;
    pthread_cond_broadcast(&g->changed);
    while (g->is_closed) pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void gate_close(gate *g, attend_batcher_model *m)
{
    *g = (gate){ .is_closed = true };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    attend_request r = request_of("a");
    r.done = wait_at_gate, r.user = g;
    attend_future_free(submit(m, &r)); /* cancelled at once; `done` is called all the same */
    pthread_mutex_lock(&g->lock);
    while (!g->is_reached) pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_closed = false;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

enum { ORDER = 6 };
static int order[ORDER], ordered;

static void note_order(void *user, attend_future *f)
{
    assert_true(attend_future_poll(f) == ATTEND_FUTURE_DONE);
    order[ordered++] = *(int *)user;
}

static void earliest_deadline_first(void **state)
{
    (void)state;
    static const double timeouts[ORDER] = { 0, 900, 0, 300, 600, 200 };
    static const int right[ORDER] = { 5, 3, 4, 1, 0, 2 };
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(1, 100);
    attend_batcher_model *m = add(b, model);
    attend_future *futures[ORDER];
    int numbers[ORDER];
    gate g;
    ordered = 0;
    gate_close(&g, m);
    for (int i = 0; i < ORDER; i++) {
        attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
        search.beam = i + 1; /* so that each is a batch of its own */
        numbers[i] = i;
        futures[i] = submit(m, &(attend_request){ .text = "a b",
                                                  .size = 3,
                                                  .search = &search,
                                                  .timeout = timeouts[i],
                                                  .done = note_order,
                                                  .user = &numbers[i] });
        assert_int_equal(attend_future_poll(futures[i]), ATTEND_FUTURE_WAITING);
    }
    assert_int_equal(attend_future_wait(futures[0], 0.001), ATTEND_FUTURE_WAITING);
    gate_open(&g);
    for (int i = 0; i < ORDER; i++) attend_future_wait(futures[i], -1);
    attend_batcher_remove_model(m); /* all `done` functions have returned */
    assert_memory_equal(order, right, sizeof right);
    for (int i = 0; i < ORDER; i++) attend_future_free(futures[i]);
    attend_batcher_free(b);
    attend_model_free(model);
}

static void batches_have_similar_lengths(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(1, 100);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher_model *m = NULL;
    o.batch_tokens = 20;
    assert_ok(attend_batcher_add_model(&m, b, model, &o));
    static const char *const texts[] = { "a a a a a a", "a", "b b b b b b", "b", "c c c c c c", "c", "d d d d d d" };
    enum { TEXTS = sizeof texts / sizeof *texts };
    attend_future *futures[TEXTS];
    attend_batcher_statistics before, after;
    gate g;
    gate_close(&g, m);
    attend_batcher_get_statistics(b, &before);
    for (int i = 0; i < TEXTS; i++)
        futures[i] =
            submit(m, &(attend_request){ .text = texts[i], .size = strlen(texts[i]), .timeout = i == 0 ? 900 : 1000 });
    gate_open(&g);
    for (int i = 0; i < TEXTS; i++) assert_int_equal(attend_future_wait(futures[i], -1), ATTEND_FUTURE_DONE);
    attend_batcher_get_statistics(b, &after);
    /* texts 0 and 2 (14 tokens) with the short ones (6), then the others: 4 and 6 */
    assert_int_equal(after.batches - before.batches, 2);
    assert_int_equal(after.batch_lines - before.batch_lines, TEXTS);
    for (int i = 0; i < TEXTS; i++) attend_future_free(futures[i]);
    attend_batcher_free(b);
    attend_model_free(model);
}

static void a_full_queue_refuses(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(1, 3);
    attend_batcher_model *m = add(b, model);
    attend_request requests[4];
    attend_future *futures[4], *more[2];
    attend_batcher_statistics s;
    gate g;
    for (int i = 0; i < 4; i++) requests[i] = request_of("a b");
    gate_close(&g, m);
    assert_int_equal(attend_batcher_submit(futures, m, 4, requests), ATTEND_BUSY);
    for (int i = 0; i < 4; i++) assert_null(futures[i]);
    assert_ok(attend_batcher_submit(futures, m, 2, requests));
    assert_int_equal(attend_batcher_submit(more, m, 2, requests), ATTEND_BUSY); /* one would fit: all or none */
    assert_non_null(strstr(attend_message(), "no room for 2"));
    assert_ok(attend_batcher_submit(futures + 2, m, 1, requests));
    attend_batcher_get_statistics(b, &s);
    assert_int_equal(s.waiting, 3);
    assert_int_equal(s.refused, 6);
    gate_open(&g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attend_future_wait(futures[i], -1), ATTEND_FUTURE_DONE);
        attend_future_free(futures[i]);
    }
    attend_batcher_free(b);
    attend_model_free(model);
}

/* ---- cancelling ---- */

static attend_future *to_cancel;
static int cancel_at, steps_after;

static void cancel_in_step(void)
{
    const int n = atomic_load(&steps);
    if (n == cancel_at) attend_future_cancel(to_cancel);
    if (n > cancel_at) steps_after++;
}

/* A model that never ends a translation: it would take thousands of steps. */
static void cancelled_within_one_step(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(1, 10);
    attend_batcher_model *m = add(b, model);
    attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    search.length_extra = 5000, search.no_repeat_ngram = 0, search.n_best = 5;
    search.length_penalty = 10; /* long hypotheses can always improve */
    attend_request r = request_of("a b c");
    r.search = &search;
    gate g;
    gate_close(&g, m);
    to_cancel = submit(m, &r);
    atomic_store(&steps, 0);
    cancel_at = 7, steps_after = 0, before_step = cancel_in_step;
    gate_open(&g);
    assert_int_equal(attend_future_wait(to_cancel, -1), ATTEND_FUTURE_CANCELLED);
    before_step = NULL;
    assert_int_equal(atomic_load(&steps), 7); /* it was cancelled before step 7, which was the last */
    assert_int_equal(steps_after, 0);
    assert_null(attend_future_result(to_cancel));
    attend_future_free(to_cancel);
    attend_batcher_statistics s;
    attend_batcher_get_statistics(b, &s);
    assert_true(s.max_cancelling_seconds > 0 && s.cancelling_seconds >= s.max_cancelling_seconds);
    attend_batcher_free(b);
    attend_model_free(model);
}

static void deadlines_end_what_waits_and_what_runs(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(1, 10);
    attend_batcher_model *m = add(b, model);
    attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    search.length_extra = 50000, search.n_best = 5, search.length_penalty = 10;
    attend_request endless = request_of("a b c"), late = request_of("b");
    endless.search = &search, endless.timeout = 0.3;
    late.timeout = 0.301; /* after the first, which runs until its own deadline */
    attend_request cancelled = request_of("c");
    before_step = slow_step;
    attend_future *first = submit(m, &endless);
    while (attend_future_poll(first) == ATTEND_FUTURE_WAITING) sleep_ms(1);
    late.timeout = 0.05;
    attend_future *second = submit(m, &late), *third = submit(m, &cancelled);
    attend_future_cancel(third);
    /* both end while the first is being decoded */
    assert_int_equal(attend_future_wait(third, -1), ATTEND_FUTURE_CANCELLED);
    assert_int_equal(attend_future_wait(second, -1), ATTEND_FUTURE_EXPIRED);
    assert_int_equal(attend_future_poll(first), ATTEND_FUTURE_RUNNING);
    assert_int_equal(attend_future_wait(first, -1), ATTEND_FUTURE_EXPIRED);
    before_step = NULL;
    attend_future_free(first), attend_future_free(second), attend_future_free(third);
    attend_batcher_free(b);
    attend_model_free(model);
}

static atomic_int ends;

static void count_end(void *user, attend_future *f)
{
    (void)user;
    (void)f;
    atomic_fetch_add(&ends, 1);
}

static void freeing_cancels(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(2, 100);
    attend_batcher_model *m = add(b, model);
    attend_future *futures[LINES];
    atomic_store(&ends, 0);
    before_step = slow_step;
    for (int i = 0; i < LINES; i++)
        futures[i] = submit(m, &(attend_request){ .text = lines[i], .size = strlen(lines[i]), .done = count_end });
    for (int i = 0; i < LINES / 2; i++) attend_future_free(futures[i]);
    attend_batcher_free(b);
    before_step = NULL;
    assert_int_equal(atomic_load(&ends), LINES);
    for (int i = LINES / 2; i < LINES; i++) {
        const attend_future_state end = attend_future_poll(futures[i]);
        assert_true(end == ATTEND_FUTURE_CANCELLED || end == ATTEND_FUTURE_DONE);
        attend_future_free(futures[i]);
    }
    attend_model_free(model);
}

/* The worker may be at any point when the batcher is closed. */
static void freeing_at_any_moment(void **state)
{
    (void)state;
    enum { TIMES = 400 };
    attend_model *model = a_model();
    atomic_store(&ends, 0);
    for (int i = 0; i < TIMES; i++) {
        attend_batcher *b = batcher_of(1 + i % 2, 10);
        attend_batcher_model *m = add(b, model);
        for (int j = 0; j < 3; j++)
            attend_future_free(submit(m, &(attend_request){ .text = "a", .size = 1, .done = count_end }));
        for (volatile int spin = 0; spin < i * 20; spin++) continue;
        attend_batcher_free(b);
    }
    assert_int_equal(atomic_load(&ends), 3 * TIMES);
    attend_model_free(model);
}

/* ---- refusals and faults ---- */

static void invalid_use_is_reported(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = NULL;
    assert_int_equal(attend_batcher_new(&b, &(attend_batcher_options){ 0, 5 }), ATTEND_BAD_USAGE);
    assert_int_equal(attend_batcher_new(&b, &(attend_batcher_options){ 1, 0 }), ATTEND_BAD_USAGE);
    b = batcher_of(1, 5);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher_model *m = NULL;
    o.max_tokens = 3, o.threads = -7;
    assert_ok(attend_batcher_add_model(&m, b, model, &o)); /* threads is not used */
    attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    search.beam = 0;
    attend_request r = request_of("a a a a");
    r.search = &search;
    attend_future *f = NULL;
    assert_int_equal(attend_batcher_submit(&f, m, 1, &r), ATTEND_BAD_USAGE);
    search.beam = 5, search.shortlist = true; /* found out only by the search */
    f = submit(m, &(attend_request){ .text = "a", .size = 1, .search = &search });
    assert_int_equal(attend_future_wait(f, -1), ATTEND_FUTURE_FAILED);
    assert_int_equal(attend_future_status(f), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_future_message(f), "shortlist"));
    attend_future_free(f);
    r.search = NULL;
    f = submit(m, &r);
    assert_int_equal(attend_future_wait(f, -1), ATTEND_FUTURE_DONE);
    assert_string_equal(attend_future_result(f)->fault,
                        "it is too long: it has more tokens than the maximum input length");
    assert_string_equal(attend_future_result(f)->hypotheses[0].text, "");
    assert_string_equal(attend_future_message(f), "");
    attend_future_free(f);
    r.timeout = -1;
    assert_int_equal(attend_batcher_submit(&f, m, 1, &r), ATTEND_BAD_USAGE);
    assert_ok(attend_batcher_submit(&f, m, 0, &r));
    attend_future_free(NULL);
    attend_batcher_free(b);
    attend_batcher_free(NULL);
    attend_model_free(model);
}

/* With a memory limit, a line that exceeds the share of a worker is decoded while no other is. */
static void a_memory_limit_changes_nothing(void **state)
{
    (void)state;
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(3, 100);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher_model *limited = NULL, *m = add(b, model);
    attend_future *futures[2][LINES];
    size_t bytes = 1 << 14;
    for (o.memory = bytes; attend_batcher_add_model(&limited, b, model, &o) != ATTEND_OK; o.memory += bytes)
        assert_true(o.memory < (size_t)1 << 30);
    for (int i = 0; i < LINES; i++) {
        futures[0][i] = submit(m, &(attend_request){ .text = lines[i], .size = strlen(lines[i]) });
        futures[1][i] = submit(limited, &(attend_request){ .text = lines[i], .size = strlen(lines[i]) });
    }
    int same = 0;
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < 2; k++) assert_int_equal(attend_future_wait(futures[k][i], -1), ATTEND_FUTURE_DONE);
        const attend_line_result *x = attend_future_result(futures[0][i]), *y = attend_future_result(futures[1][i]);
        if (y->fault && strstr(y->fault, "memory")) continue;
        assert_same(x, y);
        same++;
    }
    assert_true(same > 0);
    for (int i = 0; i < LINES; i++) attend_future_free(futures[0][i]), attend_future_free(futures[1][i]);
    attend_batcher_free(b);
    attend_model_free(model);
}

/* All workers run, so each has its part of the memory, however scarce it is. */
static void a_memory_limit_is_divided_between_all_workers(void **state)
{
    (void)state;
    enum { WORKERS = 64 };
    attend_model *model = a_model();
    attend_batcher *b = batcher_of(WORKERS, 10);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher_model *m = NULL;
    o.search.beam = o.search.n_best = 100;
    for (o.memory = 1 << 20; attend_batcher_add_model(&m, b, model, &o) != ATTEND_OK; o.memory += 1 << 20)
        assert_true(o.memory < (size_t)1 << 30);
    assert_true(WORKERS * m->setup.limit.share <= m->setup.limit.all);
    attend_batcher_free(b);
    attend_model_free(model);
}

/* Everything once, with one worker. */
static int use(const attend_model *model)
{
    const attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_batcher *b = NULL;
    attend_batcher_model *m = NULL;
    attend_future *futures[LINES] = { NULL };
    attend_request requests[LINES];
    attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    search.weights = true, search.n_best = 2;
    for (int i = 0; i < LINES; i++) requests[i] = request_of(lines[i]), requests[i].search = i % 2 ? &search : NULL;
    int status = attend_batcher_new(&b, &(attend_batcher_options){ 1, LINES });
    if (status == ATTEND_OK) status = attend_batcher_add_model(&m, b, model, &o);
    if (status == ATTEND_OK) status = attend_batcher_submit(futures, m, LINES, requests);
    for (int i = 0; status == ATTEND_OK && i < LINES; i++)
        if (attend_future_wait(futures[i], -1) != ATTEND_FUTURE_DONE) status = attend_future_status(futures[i]);
    for (int i = 0; i < LINES; i++) attend_future_free(futures[i]);
    attend_batcher_free(b);
    return status;
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    attend_model *model = model_of(ATTEND_TOKENS_BPE, "hidden=8 heads=2 attention-width=6");
    assert_ok(use(model)); /* the model packs its weights once */
    attend_memory_refuse(-1);
    assert_ok(use(model));
    const long requests = attend_memory_requests();
    assert_true(requests > 500);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        const int status = use(model);
        /* batches differ from run to run, and so does the number of allocations */
        if (status == ATTEND_OK && attend_memory_requests() < n) continue;
        if (status != ATTEND_NO_MEMORY)
            fail_msg("request %ld of %ld failed, and the status is %d", n, requests, status);
    }
    attend_memory_refuse(0);
    assert_ok(use(model));
    printf("%ld requests failed in turn\n", requests);
    attend_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_a_translator),
        cmocka_unit_test(several_models_and_options),
        cmocka_unit_test(earliest_deadline_first),
        cmocka_unit_test(batches_have_similar_lengths),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(cancelled_within_one_step),
        cmocka_unit_test(deadlines_end_what_waits_and_what_runs),
        cmocka_unit_test(freeing_cancels),
        cmocka_unit_test(freeing_at_any_moment),
        cmocka_unit_test(invalid_use_is_reported),
        cmocka_unit_test(a_memory_limit_changes_nothing),
        cmocka_unit_test(a_memory_limit_is_divided_between_all_workers),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
