#include <attend/data_check.h>

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "text/data_findings.h"
#include "text/hash_set.h"
#include "text/histogram.h"
#include "text/line_features.h"
#include "text/unseen.h"
#include "text/words.h"
#include <attend/lines.h>
#include <attend/utf8.h>
#include <limits.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Lengths above max(LONG, LONG_TIMES x median) characters are outliers. Ratios are outliers beyond a factor of 3 from
 * the median, or beyond 6 standard deviations, estimated by the median deviation, if that is more. With fewer than
 * FEW pairs the median is meaningless. */
enum { LONG = 1000, LONG_TIMES = 20, FEW = 20, MIN_RATIO_LIMIT = 70 /* 64 ln 3 */ };
static const double ratio_deviations = 6 * 1.4826;

/* The most extreme examples so far. */
typedef struct extreme {
    int count;
    int keys[ATTEND_MAX_EXAMPLES]; /* decreasing */
    attend_example examples[ATTEND_MAX_EXAMPLES];
} extreme;

typedef struct checker {
    attend_data_check_report *report;
    attend_data_check_counts *counts; /* of the data being read */
    bool quick, valid, lines;
    attend_pairs_file *files[2]; /* kept open: examples borrow their names */
    attend_hash_set pairs, sources;
    size_t memory; /* limit of these sets, in bytes; 0: none */
    bool has_valid;
    attend_unseen unseen; /* only with validation data */
    attend_finding findings[ATTEND_FINDING_KINDS];
    uint64_t side_lengths[2][ATTEND_LENGTH_BUCKETS], lengths[ATTEND_LENGTH_BUCKETS], ratios[ATTEND_RATIO_BUCKETS];
    extreme longest, highest, lowest; /* highest and lowest: ratios */
} checker;

/* --- findings --- */

static attend_example *note(checker *c, attend_finding_kind kind)
{
    attend_finding *f = c->findings + kind;
    f->count++;
    return f->example_count < ATTEND_MAX_EXAMPLES ? &f->examples[f->example_count++] : NULL;
}

static void note_line(checker *c, attend_finding_kind kind, const attend_line_features *l, uint64_t number)
{
    attend_example *e = note(c, kind);
    if (e) attend_example_of(e, l->file, number, l->text, l->size, NULL, 0);
}

/* Makes an example of both sides, or of a monolingual line. */
static void make_example(const checker *c, attend_example *e, const attend_text_pair *p)
{
    if (c->lines)
        attend_example_of(e, p->target_file, p->line, p->target, p->target_size, NULL, 0);
    else
        attend_example_of(e, p->source_file, p->line, p->source, p->source_size, p->target, p->target_size);
}

static void note_pair(checker *c, attend_finding_kind kind, const attend_text_pair *p)
{
    attend_example *e = note(c, kind);
    if (e) make_example(c, e, p);
}

static void note_extreme(const checker *c, extreme *x, int key, const attend_text_pair *p)
{
    int at = x->count < ATTEND_MAX_EXAMPLES ? x->count : ATTEND_MAX_EXAMPLES - 1;
    if (x->count == ATTEND_MAX_EXAMPLES && key <= x->keys[at]) return;
    for (; at > 0 && x->keys[at - 1] < key; at--) {
        x->keys[at] = x->keys[at - 1];
        x->examples[at] = x->examples[at - 1];
    }
    x->keys[at] = key;
    make_example(c, &x->examples[at], p);
    if (x->count < ATTEND_MAX_EXAMPLES) x->count++;
}

/* --- lines --- */

/* Makes an example of the text around an invalid byte. */
static void note_fault(checker *c, attend_finding_kind kind, const attend_line_features *l, uint64_t number, size_t at)
{
    enum { BEFORE = 20 };
    attend_example *e = note(c, kind);
    if (!e) return;
    const size_t from = at > BEFORE ? attend_utf8_cut(l->text, at, at - BEFORE) : 0;
    attend_example_of(e, l->file, number, l->text + from, l->size - from, NULL, 0);
    char shown[ATTEND_EXCERPT_BYTES];
    snprintf(shown, sizeof shown, "byte %zu: %.720s", at + 1, e->excerpt);
    memcpy(e->excerpt, shown, sizeof shown);
}

/* Checks that a line is valid text, and measures it. */
static bool check_line(checker *c, attend_line_features *l, uint64_t number)
{
    size_t at;
    switch (attend_line_check(l->text, l->size, &at)) {
    case ATTEND_LINE_NUL:
        note_fault(c, ATTEND_FINDING_NUL, l, number, at);
        return false;
    case ATTEND_LINE_NOT_UTF8:
        note_fault(c, ATTEND_FINDING_NOT_UTF8, l, number, at);
        return false;
    default:
        attend_line_measure(l);
        return true;
    }
}

/* --- pairs --- */

static void count_usable(attend_data_check_counts *n, const attend_line_features sides[2])
{
    n->usable++;
    for (int i = 0; i < 2; i++) {
        n->words[i] += sides[i].words;
        n->characters[i] += sides[i].characters;
        n->syllables[i] += sides[i].syllables;
        if ((size_t)n->longest[i] < sides[i].characters) n->longest[i] = (int)sides[i].characters;
    }
}

static void measure(checker *c, const attend_text_pair *p, const attend_line_features sides[2])
{
    const size_t source = sides[0].characters, target = sides[1].characters;
    const int length = attend_length_bucket(source > target ? source : target),
              ratio = attend_ratio_bucket(source, target);
    c->side_lengths[0][attend_length_bucket(source)]++;
    c->side_lengths[1][attend_length_bucket(target)]++;
    c->lengths[length]++;
    c->ratios[ratio]++;
    if (length > LONG) note_extreme(c, &c->longest, length, p);
    note_extreme(c, &c->highest, ratio, p);
    note_extreme(c, &c->lowest, -ratio, p);
}

/* A set that grows has its old and its new table for a while. */
static int check_memory(const checker *c)
{
    const attend_word_set *words = c->unseen.words;
    const double bytes = 1.5 * (double)sizeof *c->pairs.table *
                         ((double)c->pairs.capacity + (double)c->sources.capacity + (double)words[0].hashes.capacity +
                          (double)words[1].hashes.capacity);
    if (c->memory == 0 || bytes <= (double)c->memory) return ATTEND_OK;
    return attend_fail(
        ATTEND_NO_MEMORY,
        "the hashes of %zu different lines and their words, by which duplicates are found, take more than the "
        "memory limit: raise it, or check only for faults that prevent training",
        c->pairs.count);
}

/* Compares 64-bit hashes: with 100 million lines, the probability of any collision is 1 in 4000. */
static int find_duplicates(checker *c, const attend_text_pair *p)
{
    const uint64_t source = XXH3_64bits(p->source, p->source_size);
    const uint64_t pair = XXH3_64bits_withSeed(p->target, p->target_size, source);
    if (c->valid) {
        if (attend_hash_set_has(&c->pairs, pair))
            note_pair(c, ATTEND_FINDING_VALID_PAIR, p);
        else if (!c->lines && attend_hash_set_has(&c->sources, source))
            note_pair(c, ATTEND_FINDING_VALID_SOURCE, p);
        return ATTEND_OK;
    }
    bool had_pair = false, had_source = false;
    int status = attend_hash_set_add(&c->pairs, pair, &had_pair);
    if (status == ATTEND_OK) status = attend_hash_set_add(&c->sources, source, &had_source);
    if (status == ATTEND_OK) status = check_memory(c);
    if (status != ATTEND_OK) return status;
    if (had_pair)
        note_pair(c, ATTEND_FINDING_DUPLICATE, p);
    else if (had_source && !c->lines)
        note_pair(c, ATTEND_FINDING_SAME_SOURCE, p);
    return ATTEND_OK;
}

/* Makes an example of a line that begins with what is unseen in it. */
static void note_unseen(checker *c, attend_finding_kind kind, const attend_unseen_parts *x, attend_span first,
                        int count, const attend_line_features *l, uint64_t number)
{
    attend_example *e = count > 0 ? note(c, kind) : NULL;
    if (!e) return;
    char shown[ATTEND_EXCERPT_BYTES];
    attend_example_of(e, l->file, number, x->line + first.begin, (size_t)(first.end - first.begin), NULL, 0);
    int used = snprintf(shown, sizeof shown, "%.300s", e->excerpt);
    int32_t point = 0;
    if (kind == ATTEND_FINDING_VALID_CHARACTER && attend_utf8_next(x->line + first.begin, 4, &point) > 0)
        used += snprintf(shown + used, sizeof shown - (size_t)used, " (U+%04X)", (unsigned)point);
    if (count > 1) used += snprintf(shown + used, sizeof shown - (size_t)used, " and %d more", count - 1);
    attend_example_of(e, l->file, number, x->line, x->size, NULL, 0);
    snprintf(shown + used, sizeof shown - (size_t)used, " in %.400s", e->excerpt);
    memcpy(e->excerpt, shown, sizeof shown);
}

/* Training data is remembered, and validation data compared with it. */
static int check_unseen(checker *c, const attend_line_features *l, int side, uint64_t number)
{
    attend_unseen_parts x;
    if (!c->valid) return c->has_valid ? attend_unseen_learn(&c->unseen, side, l->text, l->size) : ATTEND_OK;
    const int status = attend_unseen_find(&c->unseen, side, l->text, l->size, &x);
    if (status != ATTEND_OK) return status;
    note_unseen(c, ATTEND_FINDING_VALID_CHARACTER, &x, x.first_character, x.characters, l, number);
    note_unseen(c, ATTEND_FINDING_VALID_WORD, &x, x.first_word, x.words, l, number);
    return ATTEND_OK;
}

static void note_features(checker *c, const attend_line_features *l, uint64_t number)
{
    if (l->control) note_line(c, ATTEND_FINDING_CONTROL, l, number);
    if (l->mojibake) note_line(c, ATTEND_FINDING_MOJIBAKE, l, number);
    if (l->blanks) note_line(c, ATTEND_FINDING_BLANKS, l, number);
}

static int check_pair(checker *c, const attend_text_pair *p)
{
    attend_line_features sides[2] = { { .text = p->source, .size = p->source_size, .file = p->source_file },
                                      { .text = p->target, .size = p->target_size, .file = p->target_file } };
    bool usable = check_line(c, &sides[0], p->line);
    usable &= check_line(c, &sides[1], p->line);
    if (!usable) return ATTEND_OK;
    if ((sides[0].words == 0 && !c->lines) || sides[1].words == 0) {
        note_pair(c, ATTEND_FINDING_EMPTY, p);
        return ATTEND_OK;
    }
    count_usable(c->counts, sides);
    if (c->quick) return ATTEND_OK;
    for (int i = c->lines; i < 2; i++) note_features(c, &sides[i], p->line);
    if (c->lines && memchr(p->target, '\t', p->target_size)) note_pair(c, ATTEND_FINDING_TAB, p);
    if (p->source_size == p->target_size && memcmp(p->source, p->target, p->source_size) == 0)
        note_pair(c, ATTEND_FINDING_IDENTICAL, p);
    if (!c->valid) measure(c, p, sides);
    int status = ATTEND_OK;
    for (int i = c->lines; status == ATTEND_OK && i < 2; i++) status = check_unseen(c, &sides[i], i, p->line);
    return status == ATTEND_OK ? find_duplicates(c, p) : status;
}

/* --- files --- */

/* Notes a line that is not a pair; other failures are returned with the reader's message. */
static int note_unreadable(checker *c, attend_pair_fault fault, const attend_text_pair *p, int status)
{
    static const attend_finding_kind kinds[] = { [ATTEND_PAIR_NO_TAB] = ATTEND_FINDING_NO_TAB,
                                                 [ATTEND_PAIR_MANY_TABS] = ATTEND_FINDING_MANY_TABS,
                                                 [ATTEND_PAIR_TOO_LONG] = ATTEND_FINDING_TOO_LONG };
    if (fault == ATTEND_PAIR_LINE_COUNTS) { /* other findings about these files are meaningless */
        memset(c->findings, 0, sizeof c->findings);
        attend_example *e = note(c, ATTEND_FINDING_LINE_COUNTS);
        e->file = p->source_file;
        e->line = p->line;
        snprintf(e->excerpt, sizeof e->excerpt, "%s", attend_message());
        return ATTEND_OK;
    }
    if (fault > ATTEND_PAIR_TOO_LONG) return status;
    c->counts->pairs++;
    note_pair(c, kinds[fault], p);
    return ATTEND_OK;
}

static int read_pairs(checker *c)
{
    attend_text_pair p;
    int status = ATTEND_OK;
    attend_pairs_file *f = c->files[c->valid];
    while (status == ATTEND_OK) {
        status = attend_pairs_file_next(f, &p);
        if (status != ATTEND_OK) {
            status = note_unreadable(c, attend_pairs_file_fault(f), &p, status);
            if (c->findings[ATTEND_FINDING_LINE_COUNTS].count > 0) break;
            continue;
        }
        if (!p.source) break;
        c->counts->pairs++;
        status = check_pair(c, &p);
    }
    if (status == ATTEND_OK && c->counts->usable == 0 && c->findings[ATTEND_FINDING_LINE_COUNTS].count == 0)
        c->findings[ATTEND_FINDING_NOTHING_USABLE].count++;
    return status;
}

/* --- the report --- */

static void conclude_ratios(checker *c)
{
    const int median = attend_histogram_median(c->ratios, ATTEND_RATIO_BUCKETS);
    const int deviation = attend_histogram_deviation(c->ratios, ATTEND_RATIO_BUCKETS, median);
    const int wide = (int)(ratio_deviations * deviation), limit = wide > MIN_RATIO_LIMIT ? wide : MIN_RATIO_LIMIT;
    attend_finding *f = c->findings + ATTEND_FINDING_RATIO;
    f->count = attend_histogram_outside(c->ratios, ATTEND_RATIO_BUCKETS, median - limit, median + limit);
    int high = 0, low = 0; /* takes the more extreme of both ends each time */
    while (f->example_count < ATTEND_MAX_EXAMPLES) {
        const int above = high < c->highest.count ? c->highest.keys[high] - median : 0;
        const int below = low < c->lowest.count ? median + c->lowest.keys[low] : 0;
        if (above <= limit && below <= limit) break;
        f->examples[f->example_count++] = above >= below ? c->highest.examples[high++] : c->lowest.examples[low++];
    }
}

static void conclude_lengths(checker *c)
{
    const size_t limit_length =
        LONG_TIMES * attend_length_of_bucket(attend_histogram_median(c->lengths, ATTEND_LENGTH_BUCKETS));
    const int limit = attend_length_bucket(limit_length > LONG ? limit_length : LONG);
    attend_finding *f = c->findings + ATTEND_FINDING_LONG;
    f->count = attend_histogram_outside(c->lengths, ATTEND_LENGTH_BUCKETS, 0, limit);
    for (int i = 0; i < c->longest.count && c->longest.keys[i] > limit; i++)
        f->examples[f->example_count++] = c->longest.examples[i];
}

static void conclude(checker *c)
{
    if (c->quick || c->findings[ATTEND_FINDING_LINE_COUNTS].count > 0) return;
    for (int i = 0; i < 2; i++)
        c->report->train.median[i] =
            (int)attend_length_of_bucket(attend_histogram_median(c->side_lengths[i], ATTEND_LENGTH_BUCKETS));
    conclude_lengths(c);
    if (c->report->train.usable >= FEW && !c->lines) conclude_ratios(c);
}

static bool is_about_valid(int kind)
{
    return kind == ATTEND_FINDING_VALID_PAIR || kind == ATTEND_FINDING_VALID_SOURCE ||
           kind == ATTEND_FINDING_VALID_CHARACTER || kind == ATTEND_FINDING_VALID_WORD;
}

/* Copies the file names of the examples, which belong to the readers, into the report. */
static int keep_names(checker *c)
{
    attend_data_check_report *r = c->report;
    size_t bytes = 0;
    for (int i = 0; i < r->finding_count; i++)
        for (int j = 0; j < r->findings[i].example_count; j++) bytes += strlen(r->findings[i].examples[j].file) + 1;
    char *at = r->names = attend_memory_zeroed(bytes, 1);
    if (!at) return attend_fail(ATTEND_NO_MEMORY, "no memory for a report");
    for (int i = 0; i < r->finding_count; i++)
        for (int j = 0; j < r->findings[i].example_count; j++) {
            attend_example *e = r->findings[i].examples + j;
            const size_t size = strlen(e->file) + 1;
            e->file = memcpy(at, e->file, size);
            at += size;
        }
    return ATTEND_OK;
}

/* Whether words of the training data are short symbols, such as phonemes, beside single words. */
static bool has_symbols(const attend_data_check_counts *n, bool lines)
{
    for (int i = 0; i < 2 && !lines; i++)
        if (attend_are_single_words(n->words[!i], n->usable) &&
            attend_are_symbols(n->words[i], n->characters[i], n->usable))
            return true;
    return false;
}

/* As training chooses tokens: single words that consist mostly of Hangul are split into letters. */
static void choose_letters(checker *c)
{
    const attend_data_check_counts *n = &c->report->train;
    for (int i = 0; i < 2; i++)
        c->unseen.in_letters[i] =
            attend_are_single_words(n->words[i], n->usable) && 2 * n->syllables[i] > n->characters[i];
}

static int fill_report(checker *c)
{
    attend_data_check_report *r = c->report;
    const bool symbols = has_symbols(&r->train, c->lines);
    r->findings = attend_memory_zeroed(ATTEND_FINDING_KINDS, sizeof *r->findings);
    if (!r->findings) return attend_fail(ATTEND_NO_MEMORY, "no memory for a report");
    for (int i = 0; i < ATTEND_FINDING_KINDS; i++)
        attend_finding_describe(&c->findings[i], (attend_finding_kind)i,
                                is_about_valid(i) ? r->valid.pairs : r->train.pairs, c->lines, symbols);
    for (int severity = 0; severity <= ATTEND_SEVERITY_INFO; severity++)
        for (int i = 0; i < ATTEND_FINDING_KINDS; i++)
            if (c->findings[i].count > 0 && (int)c->findings[i].severity == severity)
                r->findings[r->finding_count++] = c->findings[i];
    return keep_names(c);
}

static int run(checker *c, const attend_pairs_spec *train, int train_count, const attend_pairs_spec *valid,
               int valid_count)
{
    c->counts = &c->report->train;
    int status = attend_pairs_file_open(&c->files[0], train, train_count);
    if (status == ATTEND_OK && valid_count > 0 && c->lines != !valid[0].source)
        status = attend_fail(ATTEND_BAD_USAGE,
                             "training and validation data must both be pairs, or both be monolingual lines");
    if (status == ATTEND_OK &&
        valid_count > 0) /* opened first, so that a wrong name is reported before anything is read */
        status = attend_pairs_file_open(&c->files[1], valid, valid_count);
    if (status == ATTEND_OK) status = read_pairs(c);
    if (status == ATTEND_OK && valid_count > 0 && c->findings[ATTEND_FINDING_LINE_COUNTS].count == 0) {
        choose_letters(c);
        c->valid = true;
        c->counts = &c->report->valid;
        status = read_pairs(c);
    }
    if (status != ATTEND_OK) return status;
    conclude(c);
    return fill_report(c);
}

int attend_data_check(attend_data_check_report **out, const attend_pairs_spec *train, int train_count,
                      const attend_pairs_spec *valid, int valid_count, bool quick, size_t memory)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && (train || train_count < 1) && (valid || valid_count < 1));
    *out = NULL;
    checker *c = attend_memory_zeroed(1, sizeof *c);
    attend_data_check_report *r = attend_memory_zeroed(1, sizeof *r);
    int status = c && r ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to check data");
    if (status == ATTEND_OK) {
        c->report = r;
        c->quick = r->quick = quick;
        c->memory = memory;
        c->lines = r->lines = train_count > 0 && !train[0].source;
        c->has_valid = valid_count > 0;
        r->held_out = c->has_valid && valid[0].part == ATTEND_PART_HELD_OUT;
        status = run(c, train, train_count, valid, valid_count);
        attend_hash_set_free(&c->pairs);
        attend_hash_set_free(&c->sources);
        attend_unseen_free(&c->unseen);
        attend_pairs_file_close(c->files[0]);
        attend_pairs_file_close(c->files[1]);
    }
    attend_memory_free(c);
    if (status == ATTEND_OK)
        *out = r;
    else
        attend_data_check_free(r);
    return status;
}

void attend_data_check_free(attend_data_check_report *r)
{
    if (!r) return;
    attend_memory_free(r->names);
    attend_memory_free(r->findings);
    attend_memory_free(r);
}

bool attend_data_check_stops(const attend_data_check_report *r)
{
    ATTEND_REQUIRE(false, r);
    return r->finding_count > 0 && r->findings[0].severity == ATTEND_SEVERITY_ERROR;
}
