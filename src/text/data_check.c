#include <attend/data_check.h>

#include "core/memory.h"
#include "core/status.h"
#include "text/data_findings.h"
#include "text/hash_set.h"
#include "text/histogram.h"
#include "text/line_features.h"
#include <attend/lines.h>
#include <limits.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Lengths beyond max(LONG, LONG_TIMES x median) characters stand out; ratios beyond a factor of 3 from the median and, where lengths are looser,
 * beyond 6 standard deviations as the median deviation estimates them. Fewer pairs than FEW have no median worth the name. */
enum { LONG = 1000, LONG_TIMES = 20, FEW = 20, RATIO_LEAST = 70 /* 64 ln 3 */ };
static const double ratio_deviations = 6 * 1.4826;

/* The examples that stand out most, so far. */
typedef struct extreme {
    int count;
    int keys[ATTEND_MAX_EXAMPLES]; /* falling */
    attend_example examples[ATTEND_MAX_EXAMPLES];
} extreme;

typedef struct doctor {
    attend_data_check_report *report;
    attend_data_check_counts *counts; /* of what is being read */
    bool quick, valid, lines;
    attend_pairs_file *files[2]; /* open to the end: examples borrow their names */
    attend_hash_set pairs, sources;
    attend_finding found[ATTEND_FINDING_KINDS];
    uint64_t side_lengths[2][ATTEND_LENGTH_BUCKETS], lengths[ATTEND_LENGTH_BUCKETS], ratios[ATTEND_RATIO_BUCKETS];
    extreme longest, steepest, flattest; /* ratios: high and low */
} doctor;

/* --- findings --- */

static attend_example *note(doctor *d, attend_finding_kind kind)
{
    attend_finding *f = d->found + kind;
    f->count++;
    return f->example_count < ATTEND_MAX_EXAMPLES ? &f->examples[f->example_count++] : NULL;
}

static void note_line(doctor *d, attend_finding_kind kind, const attend_line_features *l, uint64_t number)
{
    attend_example *e = note(d, kind);
    if (e) attend_example_of(e, l->file, number, l->text, l->size, NULL, 0);
}

/* Both sides, or a line that is alone. */
static void show_pair(const doctor *d, attend_example *e, const attend_text_pair *p)
{
    if (d->lines)
        attend_example_of(e, p->target_file, p->line, p->target, p->target_size, NULL, 0);
    else
        attend_example_of(e, p->source_file, p->line, p->source, p->source_size, p->target, p->target_size);
}

static void note_pair(doctor *d, attend_finding_kind kind, const attend_text_pair *p)
{
    attend_example *e = note(d, kind);
    if (e) show_pair(d, e, p);
}

static void note_extreme(const doctor *d, extreme *x, int key, const attend_text_pair *p)
{
    int at = x->count < ATTEND_MAX_EXAMPLES ? x->count : ATTEND_MAX_EXAMPLES - 1;
    if (x->count == ATTEND_MAX_EXAMPLES && key <= x->keys[at]) return;
    for (; at > 0 && x->keys[at - 1] < key; at--) {
        x->keys[at] = x->keys[at - 1];
        x->examples[at] = x->examples[at - 1];
    }
    x->keys[at] = key;
    show_pair(d, &x->examples[at], p);
    if (x->count < ATTEND_MAX_EXAMPLES) x->count++;
}

/* --- lines --- */

/* Shows what stands around the byte that is wrong. */
static void note_fault(doctor *d, attend_finding_kind kind, const attend_line_features *l, uint64_t number, size_t at)
{
    enum { BEFORE = 20 };
    attend_example *e = note(d, kind);
    if (!e) return;
    size_t from = at > BEFORE ? at - BEFORE : 0;
    while (from > 0 && from < at && ((unsigned char)l->text[from] & 0xc0) == 0x80) from++;
    attend_example_of(e, l->file, number, l->text + from, l->size - from, NULL, 0);
    char shown[ATTEND_EXCERPT_BYTES];
    snprintf(shown, sizeof shown, "byte %zu: %.720s", at + 1, e->excerpt);
    memcpy(e->excerpt, shown, sizeof shown);
}

/* Can it be used at all? */
static bool check_line(doctor *d, attend_line_features *l, uint64_t number)
{
    size_t at;
    switch (attend_line_check(l->text, l->size, &at)) {
    case ATTEND_LINE_NUL:
        note_fault(d, ATTEND_FINDING_NUL, l, number, at);
        return false;
    case ATTEND_LINE_NOT_UTF8:
        note_fault(d, ATTEND_FINDING_NOT_UTF8, l, number, at);
        return false;
    default:
        attend_line_measure(l);
        return true;
    }
}

/* --- pairs --- */

static void count_good(attend_data_check_counts *n, const attend_line_features sides[2])
{
    n->usable++;
    for (int i = 0; i < 2; i++) {
        n->words[i] += sides[i].words;
        n->characters[i] += sides[i].characters;
        if ((size_t)n->longest[i] < sides[i].characters) n->longest[i] = (int)sides[i].characters;
    }
}

static void measure(doctor *d, const attend_text_pair *p, const attend_line_features sides[2])
{
    const size_t source = sides[0].characters, target = sides[1].characters;
    const int length = attend_length_bucket(source > target ? source : target),
              ratio = attend_ratio_bucket(source, target);
    d->side_lengths[0][attend_length_bucket(source)]++;
    d->side_lengths[1][attend_length_bucket(target)]++;
    d->lengths[length]++;
    d->ratios[ratio]++;
    if (length > LONG) note_extreme(d, &d->longest, length, p);
    note_extreme(d, &d->steepest, ratio, p);
    note_extreme(d, &d->flattest, -ratio, p);
}

/* By 64-bit hashes: among 100 million lines, one chance in 4000 that any two are taken for the same wrongly. */
static int compare(doctor *d, const attend_text_pair *p)
{
    const uint64_t source = XXH3_64bits(p->source, p->source_size);
    const uint64_t pair = XXH3_64bits_withSeed(p->target, p->target_size, source);
    if (d->valid) {
        if (attend_hash_set_has(&d->pairs, pair))
            note_pair(d, ATTEND_FINDING_VALID_PAIR, p);
        else if (!d->lines && attend_hash_set_has(&d->sources, source))
            note_pair(d, ATTEND_FINDING_VALID_SOURCE, p);
        return ATTEND_OK;
    }
    bool had_pair = false, had_source = false;
    int status = attend_hash_set_add(&d->pairs, pair, &had_pair);
    if (status == ATTEND_OK) status = attend_hash_set_add(&d->sources, source, &had_source);
    if (status != ATTEND_OK) return status;
    if (had_pair)
        note_pair(d, ATTEND_FINDING_DUPLICATE, p);
    else if (had_source && !d->lines)
        note_pair(d, ATTEND_FINDING_SAME_SOURCE, p);
    return ATTEND_OK;
}

static void note_looks(doctor *d, const attend_line_features *l, uint64_t number)
{
    if (l->control) note_line(d, ATTEND_FINDING_CONTROL, l, number);
    if (l->mojibake) note_line(d, ATTEND_FINDING_MOJIBAKE, l, number);
    if (l->blanks) note_line(d, ATTEND_FINDING_BLANKS, l, number);
}

static int examine(doctor *d, const attend_text_pair *p)
{
    attend_line_features sides[2] = { { .text = p->source, .size = p->source_size, .file = p->source_file },
                                      { .text = p->target, .size = p->target_size, .file = p->target_file } };
    bool usable = check_line(d, &sides[0], p->line);
    usable &= check_line(d, &sides[1], p->line);
    if (!usable) return ATTEND_OK;
    if ((sides[0].words == 0 && !d->lines) || sides[1].words == 0) {
        note_pair(d, ATTEND_FINDING_EMPTY, p);
        return ATTEND_OK;
    }
    count_good(d->counts, sides);
    if (d->quick) return ATTEND_OK;
    for (int i = d->lines; i < 2; i++) note_looks(d, &sides[i], p->line);
    if (d->lines && memchr(p->target, '\t', p->target_size)) note_pair(d, ATTEND_FINDING_TAB, p);
    if (p->source_size == p->target_size && memcmp(p->source, p->target, p->source_size) == 0)
        note_pair(d, ATTEND_FINDING_IDENTICAL, p);
    if (!d->valid) measure(d, p, sides);
    return compare(d, p);
}

/* --- files --- */

/* A line that made no pair; the reader's message stands. */
static int note_trouble(doctor *d, attend_pair_fault fault, const attend_text_pair *p, int status)
{
    static const attend_finding_kind kinds[] = { [ATTEND_PAIR_NO_TAB] = ATTEND_FINDING_NO_TAB,
                                                 [ATTEND_PAIR_MANY_TABS] = ATTEND_FINDING_MANY_TABS,
                                                 [ATTEND_PAIR_TOO_LONG] = ATTEND_FINDING_TOO_LONG };
    if (fault == ATTEND_PAIR_LINE_COUNTS) { /* what else there is to say about these files means nothing */
        memset(d->found, 0, sizeof d->found);
        attend_example *e = note(d, ATTEND_FINDING_LINE_COUNTS);
        e->file = p->source_file;
        e->line = p->line;
        snprintf(e->excerpt, sizeof e->excerpt, "%s", attend_message());
        return ATTEND_OK;
    }
    if (fault > ATTEND_PAIR_TOO_LONG) return status;
    d->counts->pairs++;
    note_pair(d, kinds[fault], p);
    return ATTEND_OK;
}

static int read_pairs(doctor *d)
{
    attend_text_pair p;
    int status = ATTEND_OK;
    attend_pairs_file *f = d->files[d->valid];
    while (status == ATTEND_OK) {
        status = attend_pairs_file_next(f, &p);
        if (status != ATTEND_OK) {
            status = note_trouble(d, attend_pairs_file_fault(f), &p, status);
            if (d->found[ATTEND_FINDING_LINE_COUNTS].count > 0) break;
            continue;
        }
        if (!p.source) break;
        d->counts->pairs++;
        status = examine(d, &p);
    }
    if (status == ATTEND_OK && d->counts->usable == 0 && d->found[ATTEND_FINDING_LINE_COUNTS].count == 0)
        d->found[ATTEND_FINDING_NOTHING_USABLE].count++;
    return status;
}

/* --- the report --- */

static void conclude_ratios(doctor *d)
{
    const int median = attend_histogram_median(d->ratios, ATTEND_RATIO_BUCKETS);
    const int deviation = attend_histogram_deviation(d->ratios, ATTEND_RATIO_BUCKETS, median);
    const int wide = (int)(ratio_deviations * deviation), limit = wide > RATIO_LEAST ? wide : RATIO_LEAST;
    attend_finding *f = d->found + ATTEND_FINDING_RATIO;
    f->count = attend_histogram_outside(d->ratios, ATTEND_RATIO_BUCKETS, median - limit, median + limit);
    int high = 0, low = 0; /* the farther of both ends, again and again */
    while (f->example_count < ATTEND_MAX_EXAMPLES) {
        const int above = high < d->steepest.count ? d->steepest.keys[high] - median : 0;
        const int below = low < d->flattest.count ? median + d->flattest.keys[low] : 0;
        if (above <= limit && below <= limit) break;
        f->examples[f->example_count++] = above >= below ? d->steepest.examples[high++] : d->flattest.examples[low++];
    }
}

static void conclude_lengths(doctor *d)
{
    const size_t many =
        LONG_TIMES * attend_length_of_bucket(attend_histogram_median(d->lengths, ATTEND_LENGTH_BUCKETS));
    const int limit = attend_length_bucket(many > LONG ? many : LONG);
    attend_finding *f = d->found + ATTEND_FINDING_LONG;
    f->count = attend_histogram_outside(d->lengths, ATTEND_LENGTH_BUCKETS, 0, limit);
    for (int i = 0; i < d->longest.count && d->longest.keys[i] > limit; i++)
        f->examples[f->example_count++] = d->longest.examples[i];
}

static void conclude(doctor *d)
{
    if (d->quick || d->found[ATTEND_FINDING_LINE_COUNTS].count > 0) return;
    for (int i = 0; i < 2; i++)
        d->report->train.median[i] =
            (int)attend_length_of_bucket(attend_histogram_median(d->side_lengths[i], ATTEND_LENGTH_BUCKETS));
    conclude_lengths(d);
    if (d->report->train.usable >= FEW && !d->lines) conclude_ratios(d);
}

static bool is_about_valid(int kind)
{
    return kind == ATTEND_FINDING_VALID_PAIR || kind == ATTEND_FINDING_VALID_SOURCE;
}

/* The names the examples use, which belong to the files, become the report's. */
static int keep_names(doctor *d)
{
    attend_data_check_report *r = d->report;
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

static int write_report(doctor *d)
{
    attend_data_check_report *r = d->report;
    r->findings = attend_memory_zeroed(ATTEND_FINDING_KINDS, sizeof *r->findings);
    if (!r->findings) return attend_fail(ATTEND_NO_MEMORY, "no memory for a report");
    for (int i = 0; i < ATTEND_FINDING_KINDS; i++)
        attend_finding_describe(&d->found[i], (attend_finding_kind)i,
                                is_about_valid(i) ? r->valid.pairs : r->train.pairs, d->lines);
    for (int severity = 0; severity <= ATTEND_SEVERITY_INFO; severity++)
        for (int i = 0; i < ATTEND_FINDING_KINDS; i++)
            if (d->found[i].count > 0 && (int)d->found[i].severity == severity)
                r->findings[r->finding_count++] = d->found[i];
    return keep_names(d);
}

static int run(doctor *d, const attend_pairs_spec *train, int train_count, const attend_pairs_spec *valid,
               int valid_count)
{
    d->counts = &d->report->train;
    int status = attend_pairs_file_open(&d->files[0], train, train_count);
    if (status == ATTEND_OK && valid_count > 0 && d->lines != !valid[0].source)
        status = attend_fail(ATTEND_BAD_USAGE, "training and validation must both be pairs, or both lines alone");
    if (status == ATTEND_OK && valid_count > 0) /* a wrong name is found before anything is read */
        status = attend_pairs_file_open(&d->files[1], valid, valid_count);
    if (status == ATTEND_OK) status = read_pairs(d);
    if (status == ATTEND_OK && valid_count > 0 && d->found[ATTEND_FINDING_LINE_COUNTS].count == 0) {
        d->valid = true;
        d->counts = &d->report->valid;
        status = read_pairs(d);
    }
    if (status != ATTEND_OK) return status;
    conclude(d);
    return write_report(d);
}

int attend_data_check(attend_data_check_report **out, const attend_pairs_spec *train, int train_count,
                      const attend_pairs_spec *valid, int valid_count, bool quick)
{
    *out = NULL;
    doctor *d = attend_memory_zeroed(1, sizeof *d);
    attend_data_check_report *r = attend_memory_zeroed(1, sizeof *r);
    int status = d && r ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to look at data");
    if (status == ATTEND_OK) {
        d->report = r;
        d->quick = r->quick = quick;
        d->lines = r->lines = train_count > 0 && !train[0].source;
        status = run(d, train, train_count, valid, valid_count);
        attend_hash_set_free(&d->pairs);
        attend_hash_set_free(&d->sources);
        attend_pairs_file_close(d->files[0]);
        attend_pairs_file_close(d->files[1]);
    }
    attend_memory_free(d);
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
    return r->finding_count > 0 && r->findings[0].severity == ATTEND_SEVERITY_ERROR;
}
