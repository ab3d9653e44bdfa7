/* search.c: beam search and sampling over a batch of sources.
 *
 * A step predicts one more token of every running hypothesis. In this file, `row` is the index of a hypothesis among
 * all of the step, and `rows` is the length of a hypothesis after the step, the end included: step 1 has rows = 1. */
#include "decode/search.h"

#include "core/memory.h"
#include "core/rng.h"
#include "core/status.h"
#include "decode/top_tokens.h"
#include "decode/repeated_ngrams.h"
#include "model/model.h"
#include <limits.h>
#include <math.h>
#include <string.h>

typedef attend_real real;
typedef search_node node;
typedef search_beam beam;
typedef search_candidate candidate;

/* ---- memory ---- */

/* Allocates memory for `more` nodes, each with the weights of `length` source tokens. */
static bool reserve_nodes(search *s, size_t more, int length)
{
    enum { MIN_BLOCK = 1 << 12 };
    const size_t numbers = s->needs_weights ? more * (size_t)length : 0;
    if (numbers && (!s->blocks || s->blocks->capacity - s->blocks->used < numbers)) {
        const size_t capacity = 8 * numbers > MIN_BLOCK ? 8 * numbers : MIN_BLOCK;
        search_block *b = attend_memory_zeroed(1, sizeof *b + capacity * sizeof *b->numbers);
        if (!b) return false;
        b->next = s->blocks, b->capacity = capacity;
        s->blocks = b;
    }
    if (s->node_count + more <= s->node_capacity) return true;
    if (s->node_count + more > INT_MAX) return false; /* a node index is an int */
    const size_t capacity = 2 * s->node_capacity + more + 256;
    node *nodes = attend_memory_zeroed(capacity, sizeof *nodes);
    if (!nodes) return false;
    if (s->node_count) memcpy(nodes, s->nodes, s->node_count * sizeof *nodes);
    attend_memory_free(s->nodes);
    s->nodes = nodes, s->node_capacity = capacity;
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
    attend_memory_free(s->branches);
    attend_memory_free(s->best);
    attend_memory_free(s->coverage);
    attend_memory_free(s->history);
    attend_memory_free(s->banned);
    attend_memory_free(s->sampler.masses);
    attend_memory_free(s->sampler.best);
    attend_ensemble_free(&s->ensemble);
}

int attend_search_max_length(const attend_search_options *o, const attend_model *const *models, int model_count,
                             int length, int prefix)
{
    const bool is_language_model = attend_model_config(models[0])->task == ATTEND_TASK_LANGUAGE_MODEL;
    double limit = fmin((is_language_model ? prefix : o->length_ratio * length) + o->length_extra, 1000000);
    if (o->max_length > 0) limit = fmin(limit, o->max_length);
    for (int i = 0; i < model_count; i++)
        limit = fmin(limit, attend_config_max_tokens(attend_model_config(models[i]), true) - 1);
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
    const size_t width = (size_t)s->width, all = (size_t)s->count * width, vocabulary = (size_t)s->vocabulary;
    int max_limit = 0;
    s->beams = attend_memory_zeroed((size_t)s->count, sizeof *s->beams);
    s->counts = attend_memory_zeroed((size_t)s->count + 3 * all, sizeof *s->counts);
    s->candidates = attend_memory_zeroed(s->o.sample ? 1 : width * width, sizeof *s->candidates);
    s->best = attend_memory_zeroed(width, sizeof *s->best);
    bool ok = s->beams && s->counts && s->candidates && s->best;
    if (ok && s->report) {
        s->branches = attend_memory_zeroed(s->o.sample ? width : width * width, sizeof *s->branches);
        ok = s->branches != NULL;
    }
    if (ok) s->parents = s->counts + s->count, s->tokens = s->parents + all, s->last = s->tokens + all;
    const int *prefix = x->prefix;
    for (int i = 0; ok && i < s->count; i++) {
        beam *b = &s->beams[i];
        b->length = x->lengths[i];
        b->prefix = prefix;
        b->prefix_count = x->prefix_lengths ? x->prefix_lengths[i] : 0;
        if (prefix) prefix += b->prefix_count;
        b->stream = x->streams ? x->streams[i] : (uint64_t)i;
        b->limit = attend_search_max_length(&s->o, s->ensemble.models, s->ensemble.count, b->length, b->prefix_count);
        if (b->length > s->max_source) s->max_source = b->length;
        if (b->limit > max_limit) max_limit = b->limit;
        ok = beam_new(s, b);
    }
    if (ok) ok = (s->coverage = attend_memory_zeroed((size_t)s->max_source + 1, sizeof *s->coverage)) != NULL;
    if (ok && s->o.no_repeat_ngram > 0) {
        s->history = attend_memory_zeroed((size_t)max_limit + 1, sizeof *s->history);
        s->banned = attend_memory_zeroed(vocabulary, sizeof *s->banned);
        ok = s->history && s->banned;
    }
    if (ok && s->o.sample) {
        s->sampler = (attend_sampler){ .temperature = s->o.temperature, .top_p = s->o.top_p, .top_k = s->o.top_k };
        s->sampler.masses = attend_memory_zeroed(vocabulary, sizeof *s->sampler.masses);
        s->sampler.best = attend_memory_zeroed(vocabulary, sizeof *s->sampler.best);
        ok = s->sampler.masses && s->sampler.best;
    }
    return ok && reserve_nodes(s, 1, 0);
}

attend_search_bytes attend_search_estimate(const attend_search_options *o, const attend_model *const *models,
                                           int model_count, int length, int prefix)
{
    /* NODE: a node, in an array that doubles. ROW: a token with its log p, span and text. CACHED: times the width, in
     * every layer that attends to earlier tokens */
    enum { NODE = 3 * sizeof(node), ROW = 32, CACHED = 8 };
    const double rows = attend_search_max_length(o, models, model_count, length, prefix) + 1.0;
    const double width = o->sample ? o->n_best : o->beam;
    bool attending = false;
    attend_search_bytes bytes = { .work = width * rows * NODE, .kept = o->n_best * rows * ROW };
    for (int i = 0; i < model_count; i++) {
        const attend_config *c = attend_model_config(models[i]);
        attending |= attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) > 0;
        bytes.work += length * attend_model_row_bytes(models[i]);
        bytes.work += width * rows * CACHED * c->hidden * attend_config_attention_layers(c, ATTEND_ATTENTION_DECODER) *
                      sizeof(real);
    }
    if (attending && (o->weights || o->coverage_penalty != 0)) bytes.work += width * rows * length * sizeof(real);
    if (attending && o->weights) bytes.kept += o->n_best * rows * length * sizeof(real);
    return bytes;
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
    memset(s->coverage, 0, (size_t)s->max_source * sizeof *s->coverage);
    for (int n = last; n >= 0; n = s->nodes[n].parent)
        for (int j = 0; j < b->length; j++) s->coverage[j] += (double)s->nodes[n].weights[j];
    for (int j = 0; j < b->length; j++) sum += log(fmin(fmax(s->coverage[j], 1e-10), 1));
    return s->o.coverage_penalty * sum;
}

/* Adds a finished hypothesis. A sample is stored in its slot; other hypotheses are sorted by score, and equal scores in
 * the order in which they finished. */
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

/* True if a hypothesis with this sum can still reach a higher score than the worst of the n-best. log p cannot
 * increase, the coverage term is at most 0, and the length penalty is largest at the length limit. */
static bool can_improve(const search *s, const beam *b, double sum)
{
    if (b->done_count < s->o.n_best) return true;
    const double penalty = s->o.length_penalty > 0 ? penalty_of(s, b->limit + 1) : 1;
    return sum / penalty > b->done[s->o.n_best - 1].score;
}

/* ---- candidates ---- */

static int is_better(const candidate *a, const candidate *b)
{
    if (a->sum != b->sum) return a->sum > b->sum;
    return a->hypothesis != b->hypothesis ? a->hypothesis < b->hypothesis : a->token < b->token;
}

/* Moves the best `max` of n candidates, sorted, to the front and returns their number. An insertion sort suffices: n
 * and max are small. */
static int keep_best(candidate *c, int n, int max)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        const candidate x = c[i];
        int at = kept < max ? kept++ : max - 1;
        if (i >= max && !is_better(&x, &c[max - 1])) continue;
        for (; at > 0 && is_better(&x, &c[at - 1]); at--) c[at] = c[at - 1];
        c[at] = x;
    }
    return kept;
}

static candidate candidate_with(const search *s, int row, int token, real log_p)
{
    const double before = s->last[row] >= 0 ? s->nodes[s->last[row]].sum : 0;
    return (candidate){ .hypothesis = row, .token = token, .sum = before + (double)log_p, .log_p = log_p };
}

static candidate candidate_of(const search *s, int row, int token)
{
    return candidate_with(s, row, token,
                          token == ATTEND_END ? attend_ensemble_end(&s->ensemble, row)
                                              : attend_ensemble_token(&s->ensemble, row, token));
}

/* ---- branches that are reported ---- */

static attend_search_branch branch_of(const search *s, const candidate *c, int rows)
{
    const int last = s->last[c->hypothesis];
    return (attend_search_branch){ .parent = last >= 0 ? s->nodes[last].number : -1,
                                   .number = -1,
                                   .token = c->token,
                                   .log_probability = (double)c->log_p,
                                   .total = c->sum,
                                   .score = c->sum / penalty_of(s, rows) };
}

/* All candidates of a step, before the best are chosen. */
static void add_branches(search *s, int count, int rows)
{
    for (int i = 0; s->branches && i < count; i++)
        if (s->candidates[i].sum > -INFINITY) s->branches[s->branch_count++] = branch_of(s, &s->candidates[i], rows);
}

/* A candidate that is continued or finished: one of those above, or the only one of its hypothesis. */
static void keep_branch(search *s, const candidate *c, int number, bool ended, int rows)
{
    if (!s->branches) return;
    attend_search_branch b = branch_of(s, c, rows);
    int at = 0;
    while (at < s->branch_count &&
           (s->branches[at].parent != b.parent || s->branches[at].token != b.token || s->branches[at].number >= 0))
        at++;
    if (at == s->branch_count) s->branch_count++;
    b.number = number, b.ended = ended;
    s->branches[at] = b;
}

/* ---- nodes ---- */

static int add_node(search *s, beam *b, const candidate *c, bool ended, int rows)
{
    const int n = (int)s->node_count++;
    keep_branch(s, c, b->node_count, ended, rows);
    s->nodes[n] = (node){
        .parent = s->last[c->hypothesis], .token = c->token, .number = b->node_count++, .sum = c->sum, .log_p = c->log_p
    };
    if (!s->needs_weights || b->length == 0) return n;
    real *weights = s->blocks->numbers + s->blocks->used; /* zeroed */
    s->blocks->used += (size_t)b->length;
    attend_ensemble_weights(&s->ensemble, c->hypothesis, b->length, false, weights);
    if (c->token == ATTEND_END) attend_ensemble_weights(&s->ensemble, c->hypothesis, b->length, true, weights);
    s->nodes[n].weights = weights;
    return n;
}

/* A shifted alignment (attend_alignment) takes the weights of a token from the step after its own: adds them to the
 * last node of each of these rows. */
static void add_shifted_weights(search *s, const beam *b, int first, int running)
{
    for (int row = first; s->needs_weights && b->length > 0 && row < first + running; row++)
        if (s->last[row] >= 0)
            attend_ensemble_weights(&s->ensemble, row, b->length, true, s->nodes[s->last[row]].weights);
}

static void continue_with(search *s, beam *b, const candidate *c, int slot, int rows)
{
    b->from[b->running] = c->hypothesis;
    b->slots[b->running] = slot;
    b->nodes[b->running++] = add_node(s, b, c, false, rows);
}

/* Extends a hypothesis by a token, or finishes it. */
static void extend(search *s, beam *b, const candidate *c, int slot, int rows)
{
    if (c->token == ATTEND_END)
        finish(s, b, add_node(s, b, c, true, rows), slot, rows, true);
    else
        continue_with(s, b, c, slot, rows);
}

/* Sets (flag 1) or clears (0) the flags of the tokens that would repeat an n-gram of a hypothesis. */
static void ban(search *s, int row, int rows, unsigned char flag)
{
    if (!s->banned) return;
    for (int n = s->last[row], i = rows - 2; n >= 0; n = s->nodes[n].parent, i--) s->history[i] = s->nodes[n].token;
    attend_mark_repeated_ngrams(s->history, rows - 1, s->o.no_repeat_ngram, flag, s->banned);
}

/* ---- one step of one source; its hypotheses are the rows [first, first + running) of the step ---- */

/* Adds the best next tokens of a hypothesis to the n candidates so far; returns the new number. */
static int add_candidates(search *s, int row, int rows, int n)
{
    if (s->ensemble.keep) {
        int count;
        const int *tokens;
        const real *log_p = attend_ensemble_best(&s->ensemble, row, &count, &tokens);
        for (int j = 0; j < count; j++) s->candidates[n++] = candidate_with(s, row, tokens[j], log_p[j]);
        return n;
    }
    ban(s, row, rows, 1);
    attend_top_k best = { .k = s->o.beam, .entries = s->best };
    attend_top_tokens(&best, attend_ensemble_log_probabilities(&s->ensemble, row), s->vocabulary, s->banned);
    ban(s, row, rows, 0);
    for (int j = 0; j < best.count; j++) s->candidates[n++] = candidate_of(s, row, s->best[j].index);
    return n;
}

/* Extends hypotheses by the best candidates of all. Candidates that end a hypothesis count towards the beam size, so
 * that a beam of 1 is greedy decoding. */
static void search_step(search *s, beam *b, int first, int running, int rows)
{
    int n = 0;
    for (int i = first; i < first + running; i++) n = add_candidates(s, i, rows, n);
    add_branches(s, n, rows);
    n = keep_best(s->candidates, n, s->o.beam);
    for (int i = 0; i < n; i++) {
        const candidate *c = &s->candidates[i];
        if (c->sum == -INFINITY) break;
        if (c->token == ATTEND_END || can_improve(s, b, c->sum)) extend(s, b, c, 0, rows);
    }
}

/* True in the step that samples the first token after the prefix: all samples of a source still share one
 * hypothesis. */
static bool is_first_sampling_step(const search *s, const beam *b, int rows)
{
    return s->o.sample && rows - 1 == b->prefix_count;
}

/* The random number in [0, 1) for a source, a sample and a position. */
static double uniform(const search *s, const beam *b, int slot, int rows)
{
    enum { USE = 0x73616d70 }; /* attend_rng.use; those of operations count from 0 */
    const attend_rng r = { s->o.seed, b->stream, USE + (uint32_t)slot };
    uint32_t four[4];
    attend_rng_block(&r, (uint32_t)rows, four);
    return (four[0] + four[1] * 0x1p-32) * 0x1p-32;
}

/* Samples the next token of each sample. */
static void sample_step(search *s, beam *b, int first, int running, int rows)
{
    const bool one = is_first_sampling_step(s, b, rows);
    const int samples = one ? s->o.n_best : running;
    for (int i = 0; i < samples; i++) {
        const int row = one ? first : first + i, slot = one ? i : b->slots[i];
        ban(s, row, rows, 1);
        const int token = attend_sample_token(&s->sampler, attend_ensemble_log_probabilities(&s->ensemble, row),
                                              s->vocabulary, s->banned, uniform(s, b, slot, rows));
        ban(s, row, rows, 0);
        if (token < 0) continue;
        const candidate c = candidate_of(s, row, token);
        extend(s, b, &c, slot, rows);
    }
}

/* Ends all hypotheses at the length limit. */
static void end_all(search *s, beam *b, int first, int running, int rows)
{
    const bool one = is_first_sampling_step(s, b, rows);
    const int ends = one ? s->o.n_best : running;
    for (int i = 0; i < ends; i++) {
        const candidate c = candidate_of(s, one ? first : first + i, ATTEND_END);
        if (c.sum > -INFINITY) /* false for NaN */
            finish(s, b, add_node(s, b, &c, true, rows), one ? i : b->slots[i], rows, false);
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
        if (c.sum > -INFINITY) continue_with(s, b, &c, 0, rows);
    } else if (s->o.sample) {
        sample_step(s, b, first, running, rows);
    } else {
        search_step(s, b, first, running, rows);
    }
}

/* ---- all sources ---- */

/* One step of all running sources. */
static int step(search *s, int rows)
{
    int status = attend_ensemble_step(&s->ensemble, s->counts, s->parents, s->tokens);
    if (status != ATTEND_OK) return status;
    int first = 0;
    for (int i = 0; i < s->count; i++) {
        beam *b = &s->beams[i];
        const int running = b->running;
        if (running && !reserve_nodes(s, (size_t)s->width, b->length))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for %d hypotheses of a source", s->width);
        if (running) add_shifted_weights(s, b, first, running);
        s->branch_count = 0;
        if (running) advance(s, b, first, rows);
        if (s->branch_count > 0) s->report(s->user, i, rows, s->branches, s->branch_count);
        first += running;
    }
    return s->needs_weights ? attend_ensemble_status(&s->ensemble) : ATTEND_OK;
}

/* Collects the running hypotheses of all sources for the next step; returns their number. */
static int collect_running(search *s)
{
    int n = 0;
    for (int i = 0; i < s->count; i++) {
        const beam *b = &s->beams[i];
        s->counts[i] = b->running;
        for (int j = 0; j < b->running; j++, n++) {
            s->parents[n] = b->from[j];
            s->tokens[n] = s->nodes[b->nodes[j]].token;
            s->last[n] = b->nodes[j];
        }
    }
    return n;
}

/* Ends the sources whose results are no longer needed. */
static void ask_to_stop(search *s)
{
    for (int i = 0; i < s->count; i++) {
        beam *b = &s->beams[i];
        if (b->running == 0 || !s->stop(s->user, i)) continue;
        b->running = b->done_count = 0;
        b->is_stopped = true;
    }
}

static int run(search *s)
{
    for (int i = 0; i < s->count; i++) {
        s->counts[i] = s->beams[i].running = 1;
        s->parents[i] = i, s->tokens[i] = ATTEND_BEGIN, s->last[i] = -1;
    }
    int status = ATTEND_OK;
    for (int rows = 1, n = s->count; status == ATTEND_OK && n > 0; rows++) {
        status = step(s, rows);
        if (s->stop) ask_to_stop(s);
        n = collect_running(s);
    }
    return status;
}

/* ---- the search ---- */

int attend_search_check_options(const attend_search_options *o)
{
    if (!o->sample && (o->beam < 1 || o->beam > 1024))
        return attend_fail(ATTEND_BAD_USAGE, "beam is %d; it must be from 1 to 1024", o->beam);
    const int max = o->sample ? 1024 : o->beam;
    if (o->n_best < 1 || o->n_best > max)
        return attend_fail(ATTEND_BAD_USAGE, "n_best is %d; it must be from 1 to %s%d", o->n_best,
                           o->sample ? "" : "the beam size, ", max);
    if (!(o->length_ratio >= 0 && o->length_ratio <= 1000) || o->length_extra < 0 || o->length_extra > 100000 ||
        o->max_length < 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "invalid length limit: length_ratio %g (0 to 1000), length_extra %d (0 to 100000), "
                           "max_length %d (0 or more)",
                           o->length_ratio, o->length_extra, o->max_length);
    if (!(o->length_penalty >= 0 && o->length_penalty <= 10) ||
        !(o->coverage_penalty >= 0 && o->coverage_penalty <= 100))
        return attend_fail(ATTEND_BAD_USAGE,
                           "length_penalty is %g and coverage_penalty %g; they must be from 0 to 10 and from 0 to 100",
                           o->length_penalty, o->coverage_penalty);
    if (o->no_repeat_ngram < 0)
        return attend_fail(ATTEND_BAD_USAGE, "no_repeat_ngram is %d; it must be 0 (off) or more", o->no_repeat_ngram);
    if (o->sample &&
        (!(o->temperature > 0 && o->temperature <= 1000) || o->top_k < 0 || !(o->top_p > 0 && o->top_p <= 1)))
        return attend_fail(ATTEND_BAD_USAGE,
                           "invalid sampling: temperature %g (above 0, at most 1000), top_k %d (0 or more), top_p %g "
                           "(above 0, at most 1)",
                           o->temperature, o->top_k, o->top_p);
    return ATTEND_OK;
}

int attend_search_check_branches(const attend_search_options *o)
{
    if (o->sample || o->beam <= ATTEND_MAX_BRANCH_BEAM) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "beam is %d; branches are reported for a beam of at most %d", o->beam,
                       ATTEND_MAX_BRANCH_BEAM);
}

static int check_prefixes(const search *s, const attend_search_sources *x)
{
    if (!x->prefix_lengths) return ATTEND_OK;
    for (int i = 0, n = 0; i < x->count; i++) {
        if (x->prefix_lengths[i] < 0 || x->prefix_lengths[i] > 1000000)
            return attend_fail(ATTEND_BAD_USAGE, "the prefix of source %d has %d tokens; it must have 0 to 1000000", i,
                               x->prefix_lengths[i]);
        for (int j = 0; j < x->prefix_lengths[i]; j++, n++) {
            const int token = x->prefix[n];
            if (token < 0 || token >= s->vocabulary || token == ATTEND_BEGIN || token == ATTEND_END)
                return attend_fail(
                    ATTEND_BAD_USAGE,
                    "the prefix of source %d: token %d is %d, which cannot occur in a target of this model", i, j,
                    token);
        }
    }
    return ATTEND_OK;
}

/* Configures the model to return only the best tokens of each hypothesis where these suffice and, if requested, only
 * tokens on the shortlist. */
static int choose_output(search *s, const attend_search_sources *x, int model_count)
{
    const bool possible =
        model_count == 1 && !s->o.sample && s->o.no_repeat_ngram == 0 && !x->prefix_lengths && s->o.beam <= 32;
    if (possible) return attend_ensemble_keep_best(&s->ensemble, s->o.beam, s->o.shortlist);
    if (!s->o.shortlist) return ATTEND_OK;
    return attend_fail(
        ATTEND_BAD_USAGE,
        "a shortlist works with one model and a beam of at most 32, without sampling, prefixes or no_repeat_ngram");
}

int attend_search_ensemble(attend_search_result **out, attend_ctx *const *contexts, const attend_model *const *models,
                           int model_count, const attend_search_options *options, const attend_search_sources *sources)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && contexts && models && sources);
    static const attend_search_options defaults = ATTEND_SEARCH_OPTIONS_INIT;
    *out = NULL;
    search s = { .o = options ? *options : defaults,
                 .count = sources->count,
                 .stop = sources->stop,
                 .report = sources->branches,
                 .user = sources->user };
    s.width = s.o.sample ? s.o.n_best : s.o.beam;
    int status = attend_search_check_options(&s.o);
    if (status == ATTEND_OK && s.report) status = attend_search_check_branches(&s.o);
    if (status == ATTEND_OK)
        status = attend_ensemble_new(&s.ensemble, contexts, models, model_count, sources->count, sources->tokens,
                                     sources->lengths);
    s.vocabulary = s.ensemble.vocabulary;
    s.needs_weights = (s.o.weights || s.o.coverage_penalty != 0) && s.ensemble.attending;
    if (status == ATTEND_OK && !s.needs_weights) attend_ensemble_omit_weights(&s.ensemble);
    if (status == ATTEND_OK && s.o.coverage_penalty > 0 && !s.ensemble.attending)
        status = attend_fail(ATTEND_BAD_USAGE, "a coverage penalty needs a model with cross-attention");
    if (status == ATTEND_OK) status = check_prefixes(&s, sources);
    if (status == ATTEND_OK) status = choose_output(&s, sources, model_count);
    if (status == ATTEND_OK && !search_new(&s, sources))
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to decode %d sources", s.count);
    if (status == ATTEND_OK) status = run(&s);
    if (status == ATTEND_OK) status = attend_search_collect(&s, out);
    search_free(&s);
    return status;
}

int attend_search(attend_search_result **out, attend_ctx *c, const attend_model *m,
                  const attend_search_options *options, int count, const int *source, const int *lengths)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && c && m && (lengths || count < 1));
    return attend_search_ensemble(out, &c, &m, 1, options,
                                  &(attend_search_sources){ .count = count, .tokens = source, .lengths = lengths });
}
