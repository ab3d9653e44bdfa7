#include "shortlist_pairs.h"

#include "array.h"
#include "pair_reader.h"
#include "terminal.h"

#include <attend/aligner.h>
#include <attend/status.h>
#include <attend/text.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE, TARGET, BATCH = 1024 };

/* The tokens of all pairs of a side, one pair after another. */
typedef struct token_list {
    int *ids, *words; /* words: the word of each token, or -1 */
    int count, id_capacity, word_capacity;
} token_list;

typedef struct counting {
    const shortlist_options *o;
    attend_shortlist *list;
    attend_tokenizer *tokenizers[2];
    attend_aligner *aligner;
    token_list tokens[2];
    int *lengths[2]; /* (pairs) tokens of each */
    int pairs, length_capacities[2];
    unsigned long long used; /* pairs without a fault */
    bool shows;              /* progress, on a terminal */
    unsigned char *linked;   /* of a pair: (sources, targets) */
    int linked_capacity;
} counting;

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "out of memory for the pairs of a shortlist");
}

static void counting_free(counting *c)
{
    for (int side = 0; side < 2; side++) {
        attend_tokenizer_free(c->tokenizers[side]);
        free(c->tokens[side].ids);
        free(c->tokens[side].words);
        free(c->lengths[side]);
    }
    free(c->linked);
    attend_aligner_free(c->aligner);
}

static void warn(const counting *c, unsigned long long pair, const char *why)
{
    if (!c->o->quiet)
        attend_print(stderr, "%sattend convert: pair %llu is left out: %s\n", c->shows ? "\r" : "", pair + 1, why);
}

/* ---- pairs to tokens ---- */

/* Appends the tokens of a text to a side, and their numbers as text to `numbers`: the aligner's words are tokens. */
static int add_text(counting *c, int side, const char *text, attend_string *normal, attend_ids *ids,
                    attend_string *numbers, int *count)
{
    token_list *to = &c->tokens[side];
    ids->count = 0;
    *count = 0;
    int status = attend_tokenizer_normalize(c->tokenizers[side], text, strlen(text), normal);
    if (status == ATTEND_OK) status = attend_tokenizer_encode(c->tokenizers[side], text, strlen(text), ids, 0, 0, 0);
    if (status != ATTEND_OK) return status;
    const size_t needed = (size_t)to->count + (size_t)ids->count + 1;
    if (!array_reserve(&to->ids, &to->id_capacity, needed, sizeof *to->ids) ||
        !array_reserve(&to->words, &to->word_capacity, needed, sizeof *to->words))
        return no_memory();
    if (ids->count) memcpy(to->ids + to->count, ids->ids, (size_t)ids->count * sizeof *ids->ids);
    attend_words_of_spans(normal->text, normal->size, ids->spans, ids->count, to->words + to->count);
    for (int i = 0; status == ATTEND_OK && i < ids->count; i++) {
        char number[16];
        const int size = snprintf(number, sizeof number, "%d ", ids->ids[i]);
        status = attend_string_add(numbers, number, (size_t)size);
    }
    if (status == ATTEND_OK) status = attend_string_add(numbers, "", 1);
    to->count += ids->count;
    *count = ids->count;
    return status;
}

/* Adds a pair. One that is not UTF-8 is added without tokens, which the aligner leaves out. */
static int add_pair(counting *c, const char *const texts[2], unsigned long long number, attend_string *normal,
                    attend_ids *ids, attend_string numbers[2])
{
    int status = ATTEND_OK, counts[2] = { 0, 0 };
    const int before[2] = { c->tokens[0].count, c->tokens[1].count };
    const size_t sizes[2] = { numbers[0].size, numbers[1].size };
    for (int side = 0; status == ATTEND_OK && side < 2; side++)
        status = add_text(c, side, texts[side], normal, ids, &numbers[side], &counts[side]);
    if (status == ATTEND_BAD_DATA) {
        warn(c, number, "it is not UTF-8");
        status = ATTEND_OK;
        for (int side = 0; status == ATTEND_OK && side < 2; side++) {
            c->tokens[side].count = before[side], counts[side] = 0, numbers[side].size = sizes[side];
            status = attend_string_add(&numbers[side], "", 1);
        }
    }
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        if (!array_reserve(&c->lengths[side], &c->length_capacities[side], (size_t)c->pairs + 1, sizeof(int)))
            return no_memory();
        c->lengths[side][c->pairs] = counts[side];
    }
    c->pairs += status == ATTEND_OK;
    return status;
}

static double bytes_of(const counting *c)
{
    double bytes = 0;
    for (int side = 0; side < 2; side++)
        bytes += (double)sizeof(int) *
                 ((double)c->tokens[side].id_capacity + c->tokens[side].word_capacity + c->length_capacities[side]);
    return bytes;
}

static int check_memory(const counting *c, double bytes)
{
    if (c->o->memory == 0 || bytes <= (double)c->o->memory / 2) return ATTEND_OK;
    return attend_fail(
        ATTEND_NO_MEMORY,
        "the alignments of %d pairs take more than the memory limit: raise --memory, or give fewer pairs", c->pairs);
}

static int add_batch(counting *c, const pair_reader *from)
{
    attend_string normal = { 0 }, numbers[2] = { { 0 }, { 0 } };
    attend_ids ids = { 0 };
    size_t starts[2][PAIR_READER_BATCH];
    const char *texts[2][PAIR_READER_BATCH];
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < from->count; i++) {
        const unsigned long long number = from->first + (unsigned long long)i;
        const char *const sides[2] = { from->sources[i], from->targets[i] };
        if (from->too_long[i]) warn(c, number, "a line is longer than 16 MiB");
        for (int side = 0; side < 2; side++) starts[side][i] = numbers[side].size;
        status = add_pair(c, sides, number, &normal, &ids, numbers);
    }
    for (int side = 0; status == ATTEND_OK && side < 2; side++)
        for (int i = 0; i < from->count; i++) texts[side][i] = numbers[side].text + starts[side][i];
    if (status == ATTEND_OK) status = attend_aligner_add(c->aligner, from->count, texts[0], texts[1]);
    attend_string_free(&normal);
    for (int side = 0; side < 2; side++) attend_string_free(&numbers[side]);
    attend_ids_free(&ids);
    return status == ATTEND_OK ? check_memory(c, bytes_of(c)) : status;
}

/* ---- links to counts ---- */

/* Marks the links of a pair, in either direction: linked[j * targets + t]. */
static bool mark_links(counting *c, const attend_aligned_pair *r, int sources, int targets)
{
    const size_t area = (size_t)sources * (size_t)targets;
    if (!array_reserve(&c->linked, &c->linked_capacity, area + 1, 1)) return false;
    memset(c->linked, 0, area);
    for (int kind = ATTEND_ALIGNED_FORWARD; kind <= ATTEND_ALIGNED_REVERSE; kind++)
        for (int k = 0; k < r->counts[kind]; k++)
            c->linked[(size_t)r->links[kind][k].source * (size_t)targets + (size_t)r->links[kind][k].target] = 1;
    return true;
}

/* Adds all tokens of a target word for each source token that one of them is linked with. */
static int count_pair(counting *c, const attend_aligned_pair *r, const int *source, int sources, const int *target,
                      const int *words, int targets)
{
    int status = mark_links(c, r, sources, targets) ? ATTEND_OK : no_memory();
    for (int first = 0, last; first < targets && status == ATTEND_OK; first = last) {
        for (last = first + 1; last < targets && words[last] >= 0 && words[last] == words[first];) last++;
        bool has_link = false;
        for (int j = 0; j <= sources && status == ATTEND_OK; j++) {
            bool linked = j == sources && !has_link;
            for (int t = first; j < sources && t < last; t++)
                linked |= c->linked[(size_t)j * (size_t)targets + (size_t)t];
            has_link |= linked;
            for (int t = first; linked && t < last && status == ATTEND_OK; t++)
                status = attend_shortlist_add(c->list, j < sources ? source[j] : ATTEND_END, target[t]);
        }
        for (int t = first; t < last && status == ATTEND_OK; t++) status = attend_shortlist_count(c->list, target[t]);
    }
    return status;
}

static int count_all(counting *c)
{
    const int *source = c->tokens[SOURCE].ids, *target = c->tokens[TARGET].ids, *words = c->tokens[TARGET].words;
    int status = ATTEND_OK;
    for (int first = 0; status == ATTEND_OK && first < c->pairs; first += BATCH) {
        const int count = c->pairs - first < BATCH ? c->pairs - first : BATCH;
        status = attend_aligner_align_added(c->aligner, (size_t)first, count);
        for (int i = 0; status == ATTEND_OK && i < count; i++) {
            const int sources = c->lengths[SOURCE][first + i], targets = c->lengths[TARGET][first + i];
            const attend_aligned_pair *r = attend_aligner_result(c->aligner, i);
            if (r->fault) warn(c, (unsigned long long)first + (unsigned long long)i, r->fault);
            if (!r->fault) status = count_pair(c, r, source, sources, target, words, targets);
            c->used += !r->fault;
            if (source) source += sources;
            if (target) target += targets, words += targets;
        }
        if (status == ATTEND_OK) status = check_memory(c, bytes_of(c) + (double)attend_shortlist_bytes(c->list));
    }
    return status;
}

static void show_iteration(void *user, int done, int iterations)
{
    const counting *c = user;
    if (c->shows)
        attend_print(stderr, done < iterations ? "\rtraining the aligner: %d of %d" : "\r\033[K", done, iterations);
}

int shortlist_count_pairs(attend_shortlist *list, const attend_model *m, const pairs_list *input,
                          const shortlist_options *o)
{
    counting c = { .o = o, .list = list, .shows = !o->quiet && terminal_columns(STDERR_FILENO) > 0 };
    attend_aligner_options options = attend_aligner_defaults();
    options.unit = ATTEND_UNIT_WORD, options.threads = o->threads, options.memory = o->memory / 2;
    options.progress = show_iteration, options.user = &c;
    pair_reader *from = NULL;
    int status = attend_tokenizer_from_model(&c.tokenizers[SOURCE], m, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_from_model(&c.tokenizers[TARGET], m, "target");
    if (status == ATTEND_OK) status = attend_aligner_new(&c.aligner, &options);
    if (status == ATTEND_OK) status = pair_reader_open(&from, input);
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0)
        status = add_batch(&c, from);
    pair_reader_close(from);
    if (status == ATTEND_OK) status = attend_aligner_train(c.aligner);
    if (status == ATTEND_OK) status = count_all(&c);
    if (status == ATTEND_OK && !o->quiet) attend_print(stderr, "%llu pair%s aligned\n", c.used, c.used == 1 ? "" : "s");
    counting_free(&c);
    return status;
}
