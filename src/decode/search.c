/* search.c: beam search, or sampling, over a batch of sources. */
#include "decode/search.h"

#include "core/memory.h"
#include "core/rng.h"
#include "core/status.h"
#include "decode/top_tokens.h"
#include "decode/repeated_ngrams.h"
#include <limits.h>
#include <math.h>
#include <string.h>

typedef attend_real real;
typedef search_node node;
typedef search_beam beam;
typedef search_candidate candidate;

/* ---- memory ---- */

/* Room for `more` nodes, each with the weights of `length` words. */
static bool nodes_fit(search *s, size_t more, int length)
{
    enum { LEAST = 1 << 12 }; /* numbers of a block */
    const size_t numbers = s->want_weights ? more * (size_t)length : 0;
    if (numbers && (!s->blocks || s->blocks->room - s->blocks->used < numbers)) {
        const size_t room = 8 * numbers > LEAST ? 8 * numbers : LEAST;
        search_block *b = attend_memory_zeroed(1, sizeof *b + room * sizeof *b->numbers);
        if (!b) return false;
        b->next = s->blocks, b->room = room;
        s->blocks = b;
    }
    if (s->node_count + more <= s->node_room) return true;
    if (s->node_count + more > INT_MAX) return false; /* nodes are known by an int */
    const size_t room = 2 * s->node_room + more + 256;
    node *nodes = attend_memory_zeroed(room, sizeof *nodes);
    if (!nodes) return false;
    if (s->node_count) memcpy(nodes, s->nodes, s->node_count * sizeof *nodes);
    attend_memory_free(s->nodes);
    s->nodes = nodes, s->node_room = room;
    return true;
}

static void search_free(search *s)
{
    for (int i = 0; s->beams && i < s->count; i++) {
        attend_memory_free(s->beams[i].nodes);
        attend_memory_free(s->beams[i].done);
    }
    for (search_block *b = s->blocks, *next; b; b = next) {
        next = b->next;
        attend_memory_free(b);
    }
    attend_memory_free(s->beams);
    attend_memory_free(s->nodes);
    attend_memory_free(s->counts);
    attend_memory_free(s->candidates);
    attend_memory_free(s->best);
    attend_memory_free(s->coverage);
    attend_memory_free(s->said);
    attend_memory_free(s->banned);
    attend_memory_free(s->draw.masses);
    attend_memory_free(s->draw.heap);
    attend_ensemble_free(&s->voters);
}

/* Words a target may have: by the source's length (where there is none, by the prefix'), by the user's word, by what the models can take, and at least its
 * prefix. */
static int limit_of(const search *s, int length, int prefix)
{
    const attend_search_options *o = &s->o;
    const bool alone = attend_model_config(s->voters.models[0])->task == ATTEND_TASK_LANGUAGE_MODEL;
    double limit = fmin((alone ? prefix : o->length_ratio * length) + o->length_extra, 1000000);
    if (o->max_length > 0) limit = fmin(limit, o->max_length);
    for (int i = 0; i < s->voters.count; i++)
        limit = fmin(limit, attend_config_max_tokens(attend_model_config(s->voters.models[i]), true) - 1);
    return (int)fmax(limit, prefix);
}

static bool beam_new(search *s, beam *b)
{
    const size_t width = (size_t)s->width;
    b->nodes = attend_memory_zeroed(3 * width, sizeof *b->nodes);
    b->done = attend_memory_zeroed((size_t)s->o.n_best + 1, sizeof *b->done);
    if (!b->nodes || !b->done) return false;
    b->from = b->nodes + width, b->slots = b->from + width;
    return true;
}

static bool search_new(search *s, const attend_search_sources *x)
{
    const size_t width = (size_t)s->width, all = (size_t)s->count * width, words = (size_t)s->vocabulary;
    int longest_limit = 0;
    s->beams = attend_memory_zeroed((size_t)s->count, sizeof *s->beams);
    s->counts = attend_memory_zeroed((size_t)s->count + 3 * all, sizeof *s->counts);
    s->candidates = attend_memory_zeroed(s->o.sample ? 1 : width * width, sizeof *s->candidates);
    s->best = attend_memory_zeroed(width, sizeof *s->best);
    bool ok = s->beams && s->counts && s->candidates && s->best;
    if (ok) s->parents = s->counts + s->count, s->words = s->parents + all, s->rows = s->words + all;
    const int *prefix = x->prefix;
    for (int i = 0; ok && i < s->count; i++) {
        beam *b = &s->beams[i];
        b->length = x->lengths[i];
        b->prefix = prefix;
        b->prefix_count = x->prefix_lengths ? x->prefix_lengths[i] : 0;
        if (prefix) prefix += b->prefix_count;
        b->stream = x->streams ? x->streams[i] : (uint64_t)i;
        b->limit = limit_of(s, b->length, b->prefix_count);
        if (b->length > s->longest) s->longest = b->length;
        if (b->limit > longest_limit) longest_limit = b->limit;
        ok = beam_new(s, b);
    }
    if (ok) ok = (s->coverage = attend_memory_zeroed((size_t)s->longest + 1, sizeof *s->coverage)) != NULL;
    if (ok && s->o.no_repeat_ngram > 0) {
        s->said = attend_memory_zeroed((size_t)longest_limit + 1, sizeof *s->said);
        s->banned = attend_memory_zeroed(words, sizeof *s->banned);
        ok = s->said && s->banned;
    }
    if (ok && s->o.sample) {
        s->draw = (attend_sampler){ .temperature = s->o.temperature, .top_p = s->o.top_p, .top_k = s->o.top_k };
        s->draw.masses = attend_memory_zeroed(words, sizeof *s->draw.masses);
        s->draw.heap = attend_memory_zeroed(words, sizeof *s->draw.heap);
        ok = s->draw.masses && s->draw.heap;
    }
    return ok && nodes_fit(s, 1, 0);
}

/* ---- scores ---- */

static double penalty_of(const search *s, int n)
{
    return s->o.length_penalty == 0 ? 1 : pow((5.0 + n) / 6, s->o.length_penalty);
}

static double coverage_of(const search *s, const beam *b, int last)
{
    double sum = 0;
    if (s->o.coverage_penalty == 0) return 0;
    memset(s->coverage, 0, (size_t)s->longest * sizeof *s->coverage);
    for (int n = last; n >= 0; n = s->nodes[n].parent)
        for (int j = 0; j < b->length; j++) s->coverage[j] += (double)s->nodes[n].weights[j];
    for (int j = 0; j < b->length; j++) sum += log(fmin(fmax(s->coverage[j], 1e-10), 1));
    return s->o.coverage_penalty * sum;
}

/* A target of `rows` rows ended at a node. A sample has its place; else, of equal scores the earlier one stays in front. */
static void finish(search *s, beam *b, int last, int slot, int rows, bool ended)
{
    search_end f = { .last = last, .ended = ended, .sum = s->nodes[last].sum };
    f.score = f.sum / penalty_of(s, rows) + coverage_of(s, b, last);
    if (s->o.sample) {
        b->done[slot] = f;
        b->done_count++;
        return;
    }
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

/* ---- candidates ---- */

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

static candidate candidate_with(const search *s, int row, int word, real log_p)
{
    const double before = s->rows[row] >= 0 ? s->nodes[s->rows[row]].sum : 0;
    return (candidate){ .hypothesis = row, .word = word, .sum = before + (double)log_p, .log_p = log_p };
}

static candidate candidate_of(const search *s, int row, int word)
{
    return candidate_with(s, row, word,
                          word == ATTEND_END ? attend_ensemble_end(&s->voters, row)
                                             : attend_ensemble_token(&s->voters, row, word));
}

static int add_node(search *s, const beam *b, const candidate *c)
{
    const int n = (int)s->node_count++;
    s->nodes[n] = (node){ .parent = s->rows[c->hypothesis], .word = c->word, .sum = c->sum, .log_p = c->log_p };
    if (!s->want_weights) return n;
    real *weights = s->blocks->numbers + s->blocks->used; /* zero so far */
    s->blocks->used += (size_t)b->length;
    attend_ensemble_weights(&s->voters, c->hypothesis, b->length, weights);
    s->nodes[n].weights = weights;
    return n;
}

static void go_on(search *s, beam *b, const candidate *c, int slot)
{
    b->from[b->running] = c->hypothesis;
    b->slots[b->running] = slot;
    b->nodes[b->running++] = add_node(s, b, c);
}

/* A word for a hypothesis: its end, or one more. */
static void take(search *s, beam *b, const candidate *c, int slot, int rows)
{
    if (c->word == ATTEND_END)
        finish(s, b, add_node(s, b, c), slot, rows, true);
    else
        go_on(s, b, c, slot);
}

/* Bans what the hypothesis of a row must not say again, or lifts the ban. */
static void ban(search *s, int row, int rows, unsigned char flag)
{
    if (!s->banned) return;
    for (int n = s->rows[row], i = rows - 2; n >= 0; n = s->nodes[n].parent, i--) s->said[i] = s->nodes[n].word;
    attend_mark_repeated_ngrams(s->said, rows - 1, s->o.no_repeat_ngram, flag, s->banned);
}

/* ---- a step of one source, whose hypotheses are rows [first, first + running) of the step ---- */

/* The best words of one hypothesis, as candidates from the n-th on; returns how many there are then. */
static int add_candidates(search *s, int row, int rows, int n)
{
    int found;
    if (s->voters.keep) {
        const int *words;
        const real *log_p = attend_ensemble_best(&s->voters, row, &found, &words);
        for (int j = 0; j < found; j++) s->candidates[n++] = candidate_with(s, row, words[j], log_p[j]);
        return n;
    }
    ban(s, row, rows, 1);
    found = attend_top_tokens(attend_ensemble_log_probabilities(&s->voters, row), s->vocabulary, s->banned, s->o.beam,
                              s->best);
    ban(s, row, rows, 0);
    for (int j = 0; j < found; j++) s->candidates[n++] = candidate_of(s, row, s->best[j]);
    return n;
}

/* The best words for all hypotheses. An end takes a place as a word does: with a beam of one, the best word decides. */
static void search_on(search *s, beam *b, int first, int running, int rows)
{
    int n = 0;
    for (int i = first; i < first + running; i++) n = add_candidates(s, i, rows, n);
    n = keep_best(s->candidates, n, s->o.beam);
    for (int i = 0; i < n; i++) {
        const candidate *c = &s->candidates[i];
        if (c->sum == -INFINITY) break;
        if (c->word == ATTEND_END || may_win(s, b, c->sum)) take(s, b, c, 0, rows);
    }
}

/* Whether all samples of a source are still one: nothing has been drawn yet. */
static bool undivided(const search *s, const beam *b, int rows)
{
    return s->o.sample && rows - 1 == b->prefix_count;
}

/* A number in [0, 1) that belongs to a source, a sample and a word. */
static double uniform(const search *s, const beam *b, int slot, int rows)
{
    enum { USE = 0x73616d70 }; /* apart from the operations', which count from 0 */
    const attend_rng r = { s->o.seed, b->stream, USE + (uint32_t)slot };
    uint32_t four[4];
    attend_rng_block(&r, (uint32_t)rows, four);
    return (four[0] + four[1] * 0x1p-32) * 0x1p-32;
}

/* One word for each sample. */
static void draw_on(search *s, beam *b, int first, int running, int rows)
{
    const bool one = undivided(s, b, rows);
    const int samples = one ? s->o.n_best : running;
    for (int i = 0; i < samples; i++) {
        const int row = one ? first : first + i, slot = one ? i : b->slots[i];
        ban(s, row, rows, 1);
        const int word = attend_sample_token(&s->draw, attend_ensemble_log_probabilities(&s->voters, row),
                                             s->vocabulary, s->banned, uniform(s, b, slot, rows));
        ban(s, row, rows, 0);
        if (word < 0) continue;
        const candidate c = candidate_of(s, row, word);
        take(s, b, &c, slot, rows);
    }
}

/* The length limit is reached: what runs ends here. */
static void end_all(search *s, beam *b, int first, int running, int rows)
{
    const bool one = undivided(s, b, rows);
    const int ends = one ? s->o.n_best : running;
    for (int i = 0; i < ends; i++) {
        const candidate c = candidate_of(s, one ? first : first + i, ATTEND_END);
        if (c.sum > -INFINITY) /* NaN is not */
            finish(s, b, add_node(s, b, &c), one ? i : b->slots[i], rows, false);
    }
}

static void advance(search *s, beam *b, int first, int rows)
{
    const int running = b->running;
    b->running = 0;
    if (rows > b->limit) {
        end_all(s, b, first, running, rows);
    } else if (rows <= b->prefix_count) {
        const candidate c = candidate_of(s, first, b->prefix[rows - 1]);
        if (c.sum > -INFINITY) go_on(s, b, &c, 0);
    } else if (s->o.sample) {
        draw_on(s, b, first, running, rows);
    } else {
        search_on(s, b, first, running, rows);
    }
}

/* ---- all sources ---- */

/* One step of all sources that still run. */
static int step(search *s, int rows)
{
    int status = attend_ensemble_step(&s->voters, s->counts, s->parents, s->words);
    if (status != ATTEND_OK) return status;
    int first = 0;
    for (int i = 0; i < s->count; i++) {
        beam *b = &s->beams[i];
        const int running = b->running;
        if (running && !nodes_fit(s, (size_t)s->width, b->length))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for %d hypotheses of a source", s->width);
        if (running) advance(s, b, first, rows);
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

/* ---- all together ---- */

static int check(const attend_search_options *o)
{
    if (!o->sample && (o->beam < 1 || o->beam > 1024))
        return attend_fail(ATTEND_BAD_USAGE, "a beam of %d is not one of 1 to 1024", o->beam);
    const int most = o->sample ? 1024 : o->beam;
    if (o->n_best < 1 || o->n_best > most)
        return attend_fail(ATTEND_BAD_USAGE, "n-best %d is not one of 1 to %s%d", o->n_best,
                           o->sample ? "" : "the beam, ", most);
    if (!(o->length_ratio >= 0 && o->length_ratio <= 1000) || o->length_extra < 0 || o->length_extra > 100000 ||
        o->max_length < 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "a length limit of %g times the source and %d words, %d at most, makes no sense",
                           o->length_ratio, o->length_extra, o->max_length);
    if (!(o->length_penalty >= 0 && o->length_penalty <= 10) ||
        !(o->coverage_penalty >= 0 && o->coverage_penalty <= 100))
        return attend_fail(ATTEND_BAD_USAGE, "length penalty %g and coverage penalty %g must lie in 0..10 and 0..100",
                           o->length_penalty, o->coverage_penalty);
    if (o->no_repeat_ngram < 0)
        return attend_fail(ATTEND_BAD_USAGE, "runs of %d words cannot be forbidden to come twice; 0 allows all",
                           o->no_repeat_ngram);
    if (o->sample &&
        (!(o->temperature > 0 && o->temperature <= 1000) || o->top_k < 0 || !(o->top_p > 0 && o->top_p <= 1)))
        return attend_fail(ATTEND_BAD_USAGE,
                           "sampling wants a temperature above 0 and up to 1000, top-k 0 (all) or more and top-p above "
                           "0 and up to 1, and not %g, %d and %g",
                           o->temperature, o->top_k, o->top_p);
    return ATTEND_OK;
}

static int check_prefixes(const search *s, const attend_search_sources *x)
{
    if (!x->prefix_lengths) return ATTEND_OK;
    for (int i = 0, n = 0; i < x->count; i++) {
        if (x->prefix_lengths[i] < 0 || x->prefix_lengths[i] > 1000000)
            return attend_fail(ATTEND_BAD_USAGE, "source %d has a prefix of %d words, which is not 0 to 1000000", i,
                               x->prefix_lengths[i]);
        for (int j = 0; j < x->prefix_lengths[i]; j++, n++) {
            const int word = x->prefix[n];
            if (word < 0 || word >= s->vocabulary || word == ATTEND_BEGIN || word == ATTEND_END)
                return attend_fail(ATTEND_BAD_USAGE,
                                   "source %d: word %d of its prefix is %d, which no target of this model can have", i,
                                   j, word);
        }
    }
    return ATTEND_OK;
}

/* Where a step needs no more than the best words of each hypothesis, it leaves no more. */
static int keep_few(search *s, const attend_search_sources *x, int model_count)
{
    const bool possible =
        model_count == 1 && !s->o.sample && s->o.no_repeat_ngram == 0 && !x->prefix_lengths && s->o.beam <= 32;
    if (possible) return attend_ensemble_keep_best(&s->voters, s->o.beam, s->o.shortlist);
    if (!s->o.shortlist) return ATTEND_OK;
    return attend_fail(
        ATTEND_BAD_USAGE,
        "a shortlist is for one model and a beam of at most 32, without samples, prefixes or forbidden repeats");
}

int attend_search_ensemble(attend_search_result **out, attend_ctx *const *contexts, const attend_model *const *models,
                           int model_count, const attend_search_options *options, const attend_search_sources *sources)
{
    static const attend_search_options usual = ATTEND_SEARCH_OPTIONS_INIT;
    *out = NULL;
    search s = { .o = options ? *options : usual, .count = sources->count };
    s.width = s.o.sample ? s.o.n_best : s.o.beam;
    int status = check(&s.o);
    if (status == ATTEND_OK)
        status = attend_ensemble_new(&s.voters, contexts, models, model_count, sources->count, sources->words,
                                     sources->lengths);
    s.vocabulary = s.voters.vocabulary;
    s.want_weights = (s.o.weights || s.o.coverage_penalty != 0) && s.voters.attending;
    if (status == ATTEND_OK && s.o.coverage_penalty > 0 && !s.voters.attending)
        status = attend_fail(ATTEND_BAD_USAGE, "a coverage penalty needs attention, and this model has none");
    if (status == ATTEND_OK) status = check_prefixes(&s, sources);
    if (status == ATTEND_OK) status = keep_few(&s, sources, model_count);
    if (status == ATTEND_OK && !search_new(&s, sources))
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to search for %d sources", s.count);
    if (status == ATTEND_OK) status = run(&s);
    if (status == ATTEND_OK) status = attend_search_collect(&s, out);
    search_free(&s);
    return status;
}

int attend_search(attend_search_result **out, attend_ctx *c, const attend_model *m,
                  const attend_search_options *options, int count, const int *source, const int *lengths)
{
    return attend_search_ensemble(out, &c, &m, 1, options,
                                  &(attend_search_sources){ .count = count, .words = source, .lengths = lengths });
}
