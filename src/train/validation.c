/* validation.c: how good the model is on pairs it does not learn from. The loss is the cross-entropy of the targets; other scores translate the
 * sources greedily and compare texts. Pieces of a fixed number of pairs run on threads and are added up in order. */
#include "train/trainer.h"

#include "core/memory.h"
#include "train/team.h"
#include <attend/search.h>
#include <math.h>
#include <string.h>

enum { PIECE = 32 };

typedef struct piece_result {
    double nll;
    uint64_t rows;
    attend_metric_sums sums;
    int status;
    char message[256];
} piece_result;

typedef struct validation {
    trainer *t;
    attend_metric_options metric;
    bool translate;
    uint64_t pairs;
    int pieces;
    piece_result *results;
    int workers;
} validation;

/* The numbers of a piece of the validation pairs. */
typedef struct piece {
    int *ids[2], lengths[2][PIECE];
    attend_pairs pairs;
} piece;

static int piece_new(const validation *v, int number, piece *p)
{
    int status = ATTEND_OK;
    const uint64_t first = (uint64_t)number * PIECE, left = v->pairs - first;
    const int count = left < PIECE ? (int)left : PIECE;
    size_t sizes[2] = { 0, 0 };
    for (int i = 0; i < count; i++) {
        status = attend_corpus_lengths(v->t->valid, first + (uint64_t)i, &p->lengths[0][i], &p->lengths[1][i]);
        if (status != ATTEND_OK) return status;
        for (int side = 0; side < 2; side++) sizes[side] += (size_t)p->lengths[side][i];
    }
    for (int side = 0; side < 2; side++) p->ids[side] = attend_memory_zeroed(sizes[side] + 1, sizeof(int));
    if (!p->ids[0] || !p->ids[1]) return attend_fail(ATTEND_NO_MEMORY, "no memory for validation");
    for (int i = 0, s = 0, o = 0; i < count && status == ATTEND_OK; s += p->lengths[0][i], o += p->lengths[1][i], i++)
        status = attend_corpus_ids(v->t->valid, first + (uint64_t)i, p->ids[0] + s, p->ids[1] + o);
    p->pairs = (attend_pairs){ .count = count,
                               .source = p->ids[0],
                               .source_lengths = p->lengths[0],
                               .target = p->ids[1],
                               .target_lengths = p->lengths[1] };
    return status;
}

/* Pairs from `first` on that take no more memory than a shard of training does. */
static int part_size(const validation *v, const attend_pairs *pairs, int first)
{
    int count = 0, tokens = 0;
    for (; first + count < pairs->count; count++) {
        tokens += pairs->source_lengths[first + count] + pairs->target_lengths[first + count] + 1;
        if (count > 0 && tokens > v->t->o.shard_tokens) break;
    }
    return count;
}

static int add_loss(const validation *v, attend_ctx *c, const piece *p, piece_result *r)
{
    double log_probability[PIECE];
    int status = ATTEND_OK;
    for (int first = 0, count; status == ATTEND_OK && first < p->pairs.count; first += count) {
        count = part_size(v, &p->pairs, first);
        const attend_pairs part = attend_pairs_slice(&p->pairs, first, count);
        status = attend_model_score(c, v->t->m, &part, log_probability, NULL, ATTEND_ATTENTION_CROSS, NULL);
        for (int i = 0; status == ATTEND_OK && i < count; i++) r->nll -= log_probability[i];
    }
    r->rows = (uint64_t)attend_pairs_rows(&p->pairs);
    return status;
}

/* Compares one translation with the text that was in the file. */
static int add_text(const validation *v, uint64_t number, const attend_translation *found, attend_string *said,
                    piece_result *r)
{
    attend_text_pair text;
    attend_string reference = { 0 }, room = { 0 };
    said->size = 0;
    int status = attend_corpus_text(v->t->valid, number, &room, &text);
    if (status == ATTEND_OK)
        status = attend_tokenizer_decode(v->t->tokenizers[ATTEND_TARGET], found->tokens, found->count, said);
    if (status == ATTEND_OK) status = attend_normalize(&reference, text.target, text.target_size);
    const char *const references[1] = { reference.text ? reference.text : "" };
    if (status == ATTEND_OK)
        status = attend_metric_add(&v->metric, &r->sums, said->text ? said->text : "", references, 1);
    attend_string_free(&reference);
    attend_string_free(&room);
    return status;
}

static int add_translations(const validation *v, attend_ctx *c, int number, const piece *p, piece_result *r)
{
    attend_search_options options = ATTEND_SEARCH_OPTIONS_INIT;
    attend_search_result *found = NULL;
    attend_string said = { 0 };
    options.beam = 1;
    int status = attend_search(&found, c, v->t->m, &options, p->pairs.count, p->pairs.source, p->pairs.source_lengths);
    for (int i = 0; status == ATTEND_OK && i < p->pairs.count; i++)
        status = add_text(v, (uint64_t)number * PIECE + (uint64_t)i, attend_search_result_at(found, i, 0), &said, r);
    attend_string_free(&said);
    attend_search_result_free(found);
    return status;
}

/* One thread: every workers-th piece, with its own context. */
static void run_worker(void *user, int worker)
{
    validation *v = user;
    attend_ctx *c = v->t->team->contexts[worker];
    for (int i = worker; i < v->pieces; i += v->workers) {
        piece p = { .ids = { NULL, NULL } };
        piece_result *r = &v->results[i];
        r->status = piece_new(v, i, &p);
        if (r->status == ATTEND_OK) r->status = add_loss(v, c, &p, r);
        if (r->status == ATTEND_OK && v->translate) r->status = add_translations(v, c, i, &p, r);
        if (r->status != ATTEND_OK) snprintf(r->message, sizeof r->message, "%s", attend_message());
        attend_memory_free(p.ids[0]);
        attend_memory_free(p.ids[1]);
    }
}

static attend_metric_kind kind_of(attend_valid_metric metric)
{
    switch (metric) {
    case ATTEND_VALID_BLEU:
        return ATTEND_BLEU;
    case ATTEND_VALID_CHRF:
        return ATTEND_CHRF;
    case ATTEND_VALID_WORD_ERROR:
        return ATTEND_WER;
    case ATTEND_VALID_EXACT:
        return ATTEND_EXACT;
    default:
        return ATTEND_TOKEN_ACCURACY;
    }
}

int attend_trainer_validate(trainer *t, double *loss, double *score)
{
    validation v = { .t = t,
                     .metric = { .kind = kind_of(t->o.valid_metric) },
                     .translate = t->o.valid_metric != ATTEND_VALID_LOSS,
                     .pairs = attend_corpus_count(t->valid).pairs,
                     .workers = attend_pool_threads(t->team->pool) };
    v.pieces = (int)((v.pairs + PIECE - 1) / PIECE);
    v.results = attend_memory_zeroed((size_t)v.pieces, sizeof *v.results);
    if (!v.results) return attend_fail(ATTEND_NO_MEMORY, "no memory to validate %d pieces", v.pieces);
    attend_pool_run(t->team->pool, v.workers, run_worker, &v);
    double nll = 0, rows = 0;
    attend_metric_sums sums = { { 0 } };
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < v.pieces; i++) {
        const piece_result *r = &v.results[i];
        if (r->status != ATTEND_OK) status = attend_fail(r->status, "%s", r->message);
        nll += r->nll, rows += (double)r->rows;
        for (int k = 0; k < ATTEND_METRIC_NUMBERS; k++) sums.n[k] += r->sums.n[k];
    }
    attend_memory_free(v.results);
    *loss = nll / rows;
    *score = v.translate ? attend_metric_score(&v.metric, &sums) : exp(*loss);
    return status;
}
