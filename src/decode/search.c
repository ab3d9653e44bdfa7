/* search.c: beam search over a batch of sources. A hypothesis is a node that knows its parent; nodes of all sources lie in one array that
 * only grows, their attention rows in another. */
#include <attend/search.h>

#include "core/memory.h"
#include "core/status.h"
#include "decode/best.h"
#include <limits.h>
#include <math.h>
#include <string.h>

typedef attend_real real;

typedef struct node {
    int parent; /* -1: none */
    int word;
    double sum; /* log p up to here */
    real log_p; /* of this word */
} node;

/* A target that ended. */
typedef struct finished {
    int last; /* node of the end, which the limit may have put there */
    bool ended;
    double score, sum;
} finished;

/* One source. */
typedef struct beam {
    int length, limit; /* source words; target words at most */
    int running;       /* hypotheses, whose nodes are .. */
    int *nodes;        /* .. (beam) these, and .. */
    int *from;         /* .. (beam) the rows of the last step they come from */
    finished *done;    /* (n_best) the best so far, best first */
    int done_count;
} beam;

/* What may follow: a word for a hypothesis. */
typedef struct candidate {
    int hypothesis, word; /* hypothesis: row of the step */
    double sum;
    real log_p;
} candidate;

typedef struct search {
    const attend_model *m;
    attend_search_options o;
    attend_decoding *d;
    int count, vocabulary, longest;
    beam *beams;
    node *nodes;
    size_t node_count, node_room;
    real *weights;                        /* (nodes, longest), if they are wanted */
    int *counts, *parents, *words, *rows; /* of the step: see attend_decoding_step; rows: node of each hypothesis */
    candidate *candidates;                /* (beam * beam) */
    int *best;                            /* (beam) */
    double *coverage;                     /* (longest) */
} search;

struct attend_found {
    int count;
    int *first; /* (count + 1): of the translations of each source */
    attend_translation *list;
    int *words;
    real *numbers;
};

/* ---- memory ---- */

static bool nodes_fit(search *s, size_t more)
{
    if (s->node_count + more <= s->node_room) return true;
    if (s->node_count + more > INT_MAX) return false; /* nodes are known by an int */
    const size_t room = 2 * s->node_room + more + 256;
    node *nodes = attend_memory_zeroed(room, sizeof *nodes);
    real *weights = s->o.weights || s->o.coverage_penalty != 0
                        ? attend_memory_zeroed(room * (size_t)s->longest + 1, sizeof *weights)
                        : NULL;
    const bool ok = nodes && (weights || !(s->o.weights || s->o.coverage_penalty != 0));
    if (!ok) {
        attend_memory_free(nodes);
        attend_memory_free(weights);
        return false;
    }
    if (s->node_count) memcpy(nodes, s->nodes, s->node_count * sizeof *nodes);
    if (s->node_count && weights) memcpy(weights, s->weights, s->node_count * (size_t)s->longest * sizeof *weights);
    attend_memory_free(s->nodes);
    attend_memory_free(s->weights);
    s->nodes = nodes, s->weights = weights, s->node_room = room;
    return true;
}

static void search_free(search *s)
{
    for (int i = 0; s->beams && i < s->count; i++) {
        attend_memory_free(s->beams[i].nodes);
        attend_memory_free(s->beams[i].done);
    }
    attend_memory_free(s->beams);
    attend_memory_free(s->nodes);
    attend_memory_free(s->weights);
    attend_memory_free(s->counts);
    attend_memory_free(s->candidates);
    attend_memory_free(s->best);
    attend_memory_free(s->coverage);
    attend_decoding_free(s->d);
}

static bool search_new(search *s, const int *lengths)
{
    const size_t width = (size_t)s->o.beam, all = (size_t)s->count * width;
    s->beams = attend_memory_zeroed((size_t)s->count, sizeof *s->beams);
    s->counts = attend_memory_zeroed((size_t)s->count + 3 * all, sizeof *s->counts);
    s->candidates = attend_memory_zeroed(width * width, sizeof *s->candidates);
    s->best = attend_memory_zeroed(width, sizeof *s->best);
    bool ok = s->beams && s->counts && s->candidates && s->best;
    if (ok) s->parents = s->counts + s->count, s->words = s->parents + all, s->rows = s->words + all;
    for (int i = 0; ok && i < s->count; i++) {
        beam *b = &s->beams[i];
        b->length = lengths[i];
        const double limit = s->o.length_ratio * lengths[i] + s->o.length_extra;
        b->limit = limit > 1000000 ? 1000000 : (int)limit;
        b->nodes = attend_memory_zeroed(2 * width, sizeof *b->nodes);
        b->from = b->nodes ? b->nodes + width : NULL;
        b->done = attend_memory_zeroed((size_t)s->o.n_best + 1, sizeof *b->done);
        if (lengths[i] > s->longest) s->longest = lengths[i];
        ok = b->nodes && b->done;
    }
    if (ok) ok = (s->coverage = attend_memory_zeroed((size_t)s->longest + 1, sizeof *s->coverage)) != NULL;
    return ok && nodes_fit(s, 1);
}

/* ---- scores ---- */

static double penalty_of(const search *s, int n)
{
    return s->o.length_penalty == 0 ? 1 : pow((5.0 + n) / 6, s->o.length_penalty);
}

static double coverage_of(const search *s, const beam *b, int last)
{
    double sum = 0;
    if (s->o.coverage_penalty == 0 || !s->weights) return 0;
    memset(s->coverage, 0, (size_t)s->longest * sizeof *s->coverage);
    for (int n = last; n >= 0; n = s->nodes[n].parent)
        for (int j = 0; j < b->length; j++)
            s->coverage[j] += (double)s->weights[(size_t)n * (size_t)s->longest + (size_t)j];
    for (int j = 0; j < b->length; j++) sum += log(fmin(fmax(s->coverage[j], 1e-10), 1));
    return s->o.coverage_penalty * sum;
}

/* A target of `rows` rows ended at a node. Of equal scores the earlier one stays in front. */
static void finish(search *s, beam *b, int last, int rows, bool ended)
{
    finished f = { .last = last, .ended = ended, .sum = s->nodes[last].sum };
    f.score = f.sum / penalty_of(s, rows) + coverage_of(s, b, last);
    int at = b->done_count;
    while (at > 0 && b->done[at - 1].score < f.score) at--;
    if (at >= s->o.n_best) return;
    const int kept = b->done_count < s->o.n_best ? b->done_count : s->o.n_best - 1;
    memmove(b->done + at + 1, b->done + at, (size_t)(kept - at) * sizeof *b->done);
    b->done[at] = f;
    b->done_count = kept + 1;
}

/* Whether a hypothesis with this sum could still end better than the worst that would come back. log p only falls, coverage is at most 0, and
 * the penalty is largest at the length limit. */
static bool may_win(const search *s, const beam *b, double sum)
{
    if (b->done_count < s->o.n_best) return true;
    const double most = s->o.length_penalty > 0 ? penalty_of(s, b->limit + 1) : 1;
    return sum / most > b->done[s->o.n_best - 1].score;
}

/* ---- a step ---- */

static int by_sum(const candidate *a, const candidate *b)
{
    if (a->sum != b->sum) return a->sum > b->sum;
    return a->hypothesis != b->hypothesis ? a->hypothesis < b->hypothesis : a->word < b->word;
}

/* The best `most` of n, in order, to the front: both are small. */
static int keep_best(candidate *c, int n, int most)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        const candidate x = c[i];
        int at = kept < most ? kept++ : most - 1;
        if (i >= most && !by_sum(&x, &c[most - 1])) continue;
        for (; at > 0 && by_sum(&x, &c[at - 1]); at--) c[at] = c[at - 1];
        c[at] = x;
    }
    return kept;
}

static int add_node(search *s, const beam *b, const candidate *c)
{
    const int n = (int)s->node_count++;
    s->nodes[n] = (node){ .parent = s->rows[c->hypothesis], .word = c->word, .sum = c->sum, .log_p = c->log_p };
    if (!s->weights) return n;
    const int heads = attend_model_config(s->m)->heads;
    real *row = s->weights + (size_t)n * (size_t)s->longest;
    for (int h = 0; h < heads; h++) {
        const real *w = attend_decoding_weights(s->d, c->hypothesis, h);
        for (int j = 0; w && j < b->length; j++) row[j] += w[j] / (real)heads;
    }
    return n;
}

static candidate candidate_of(const search *s, int row, int word)
{
    const real log_p = attend_decoding_log_probabilities(s->d)[(size_t)row * (size_t)s->vocabulary + (size_t)word];
    const double before = s->rows[row] >= 0 ? s->nodes[s->rows[row]].sum : 0;
    return (candidate){ .hypothesis = row, .word = word, .sum = before + (double)log_p, .log_p = log_p };
}

/* The length limit is reached: what runs ends here. */
static void end_all(search *s, beam *b, int first, int rows)
{
    for (int i = first; i < first + b->running; i++) {
        const candidate c = candidate_of(s, i, ATTEND_END);
        if (c.sum > -INFINITY) finish(s, b, add_node(s, b, &c), rows, false); /* NaN is not */
    }
    b->running = 0;
}

/* What follows the hypotheses of one source, which are rows [first, first + b->running) of the step. */
static void advance(search *s, beam *b, int first, int rows)
{
    const real *log_p = attend_decoding_log_probabilities(s->d);
    int n = 0;
    for (int i = first; i < first + b->running; i++) {
        const int found =
            attend_best_words(log_p + (size_t)i * (size_t)s->vocabulary, s->vocabulary, s->o.beam, s->best);
        for (int j = 0; j < found; j++) s->candidates[n++] = candidate_of(s, i, s->best[j]);
    }
    n = keep_best(s->candidates, n,
                  s->o.beam); /* an end takes a place as a word does: with a beam of one, the best word decides */
    b->running = 0;
    for (int i = 0; i < n; i++) {
        const candidate *c = &s->candidates[i];
        if (c->sum == -INFINITY) break;
        if (c->word == ATTEND_END) {
            finish(s, b, add_node(s, b, c), rows, true);
        } else if (may_win(s, b, c->sum)) {
            b->from[b->running] = c->hypothesis;
            b->nodes[b->running++] = add_node(s, b, c);
        }
    }
}

/* One step of all sources that still run. */
static int step(search *s, int rows)
{
    int status = attend_decoding_step(s->d, s->counts, s->parents, s->words);
    if (status != ATTEND_OK) return status;
    int first = 0;
    for (int i = 0; i < s->count; i++) {
        beam *b = &s->beams[i];
        const int running = b->running;
        if (running && !nodes_fit(s, (size_t)s->o.beam))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for a beam of %d", s->o.beam);
        if (running && rows > b->limit)
            end_all(s, b, first, rows);
        else if (running)
            advance(s, b, first, rows);
        first += running;
    }
    return ATTEND_OK;
}

/* The hypotheses of the next step; returns how many. */
static int line_up(search *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++) {
        const beam *b = &s->beams[i];
        s->counts[i] = b->running;
        for (int j = 0; j < b->running; j++, n++) {
            s->parents[n] = b->from[j];
            s->words[n] = s->nodes[b->nodes[j]].word;
            s->rows[n] = b->nodes[j];
        }
    }
    return n;
}

static int run(search *s)
{
    for (int i = 0; i < s->count; i++) {
        s->counts[i] = s->beams[i].running = 1;
        s->parents[i] = i, s->words[i] = ATTEND_BEGIN, s->rows[i] = -1;
    }
    int status = ATTEND_OK;
    for (int rows = 1, n = s->count; status == ATTEND_OK && n > 0; rows++) {
        status = step(s, rows);
        n = line_up(s);
    }
    return status;
}

/* ---- what came out ---- */

void attend_found_free(attend_found *f)
{
    if (!f) return;
    attend_memory_free(f->first);
    attend_memory_free(f->list);
    attend_memory_free(f->words);
    attend_memory_free(f->numbers);
    attend_memory_free(f);
}

int attend_found_count(const attend_found *f, int source)
{
    return source >= 0 && source < f->count ? f->first[source + 1] - f->first[source] : 0;
}

const attend_translation *attend_found_at(const attend_found *f, int source, int rank)
{
    return rank >= 0 && rank < attend_found_count(f, source) ? &f->list[f->first[source] + rank] : NULL;
}

static int rows_of(const search *s, int last)
{
    int rows = 0;
    for (int n = last; n >= 0; n = s->nodes[n].parent) rows++;
    return rows;
}

/* Writes a translation behind what *words and *numbers have so far. */
static attend_translation translation_of(const search *s, const beam *b, const finished *f, int **words, real **numbers)
{
    const int rows = rows_of(s, f->last);
    const bool weights = s->o.weights && s->weights && attend_model_config(s->m)->attention;
    attend_translation t = { .words = *words,
                             .count = rows - 1,
                             .ended = f->ended,
                             .score = f->score,
                             .log_probability = f->sum,
                             .word_log_probability = *numbers,
                             .weights = weights ? *numbers + rows : NULL };
    for (int n = f->last, i = rows - 1; n >= 0; n = s->nodes[n].parent, i--) {
        if (i < rows - 1) (*words)[i] = s->nodes[n].word;
        (*numbers)[i] = s->nodes[n].log_p;
        if (weights)
            memcpy(*numbers + rows + (size_t)i * (size_t)b->length, s->weights + (size_t)n * (size_t)s->longest,
                   (size_t)b->length * sizeof **numbers);
    }
    *words += rows - 1;
    *numbers += (size_t)rows * (1 + (weights ? (size_t)b->length : 0));
    return t;
}

static int collect(const search *s, attend_found **out)
{
    size_t count = 0, words = 0, numbers = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->beams[i].done_count == 0)
            return attend_fail(ATTEND_FAILED,
                               "source %d: the model's probabilities are not numbers; its weights are too large", i);
        for (int j = 0; j < s->beams[i].done_count; j++) {
            const size_t rows = (size_t)rows_of(s, s->beams[i].done[j].last);
            count++, words += rows, numbers += rows * (1 + (s->o.weights ? (size_t)s->beams[i].length : 0));
        }
    }
    attend_found *f = attend_memory_zeroed(1, sizeof *f);
    if (f) {
        f->count = s->count;
        f->first = attend_memory_zeroed((size_t)s->count + 1, sizeof *f->first);
        f->list = attend_memory_zeroed(count, sizeof *f->list);
        f->words = attend_memory_zeroed(words, sizeof *f->words);
        f->numbers = attend_memory_zeroed(numbers, sizeof *f->numbers);
    }
    if (!f || !f->first || !f->list || !f->words || !f->numbers) {
        attend_found_free(f);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu translations", count);
    }
    int *word = f->words;
    real *number = f->numbers;
    for (int i = 0, n = 0; i < s->count; i++) {
        for (int j = 0; j < s->beams[i].done_count; j++)
            f->list[n++] = translation_of(s, &s->beams[i], &s->beams[i].done[j], &word, &number);
        f->first[i + 1] = n;
    }
    *out = f;
    return ATTEND_OK;
}

/* ---- all together ---- */

static int check(const attend_model *m, const attend_search_options *o)
{
    if (o->beam < 1 || o->beam > 1024)
        return attend_fail(ATTEND_BAD_USAGE, "a beam of %d is not one of 1 to 1024", o->beam);
    if (o->n_best < 1 || o->n_best > o->beam)
        return attend_fail(ATTEND_BAD_USAGE, "n-best %d is not one of 1 to the beam, %d", o->n_best, o->beam);
    if (!(o->length_ratio >= 0 && o->length_ratio <= 1000) || o->length_extra < 0 || o->length_extra > 100000)
        return attend_fail(ATTEND_BAD_USAGE, "a length limit of %g times the source and %d words makes no sense",
                           o->length_ratio, o->length_extra);
    if (!(o->length_penalty >= 0 && o->length_penalty <= 10) ||
        !(o->coverage_penalty >= 0 && o->coverage_penalty <= 100))
        return attend_fail(ATTEND_BAD_USAGE, "length penalty %g and coverage penalty %g must lie in 0..10 and 0..100",
                           o->length_penalty, o->coverage_penalty);
    if (o->coverage_penalty > 0 && !attend_model_config(m)->attention)
        return attend_fail(ATTEND_BAD_USAGE, "a coverage penalty needs attention, and this model has none");
    return ATTEND_OK;
}

int attend_search(attend_found **out, attend_ctx *c, const attend_model *m, const attend_search_options *options,
                  int count, const int *source, const int *lengths)
{
    static const attend_search_options usual = ATTEND_SEARCH_OPTIONS_INIT;
    *out = NULL;
    search s = { .m = m, .o = options ? *options : usual, .count = count };
    s.vocabulary = attend_model_config(m)->target_vocab;
    int status = check(m, &s.o);
    if (status == ATTEND_OK) status = attend_decoding_new(&s.d, c, m, count, source, lengths);
    if (status == ATTEND_OK && !search_new(&s, lengths))
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to search for %d sources", count);
    if (status == ATTEND_OK) status = run(&s);
    if (status == ATTEND_OK) status = collect(&s, out);
    search_free(&s);
    return status;
}
