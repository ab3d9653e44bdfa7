#include "text/data_findings.h"

#include "core/printable.h"
#include <string.h>

/* A finding is a warning if its count exceeds `share` of all pairs, otherwise information; a share below 0 always
 * prevents training. */
typedef struct kind {
    const char *name;
    double share;
    const char *what, *advice;
} kind;

enum { STOPS = -1, WARNS = 0, INFORMS = 1 };

static const kind kinds[ATTEND_FINDING_KINDS] = {
    [ATTEND_FINDING_LINE_COUNTS] = { "line-counts", STOPS, "files whose lines do not correspond",
                                     "Find the line from which they do not match (a line feed too many or too few) and "
                                     "fix it there." },
    [ATTEND_FINDING_NO_TAB] = { "no-tab", STOPS, "lines without a TAB",
                                "Write each line as source, TAB, target, or give two line-aligned files as two names; "
                                "monolingual lines are for "
                                "the task language-model." },
    [ATTEND_FINDING_MANY_TABS] = { "tabs", STOPS, "lines with more than one TAB",
                                   "Remove further columns (cut -f 1,2), or write TABs inside a sentence as spaces. "
                                   "For lemma, form and features, write lemma, space, features, TAB, form: awk -F "
                                   "'\\t' "
                                   "'{ print $1 \" \" $3 \"\\t\" $2 }'" },
    [ATTEND_FINDING_TOO_LONG] = { "too-long", STOPS, "lines of more than 16 MiB",
                                  "Put a line feed after each sentence; if there are line feeds already, this is not a "
                                  "text." },
    [ATTEND_FINDING_NOT_UTF8] = { "not-utf8", STOPS, "lines that are not UTF-8",
                                  "Convert the file (iconv -f WINDOWS-1252 -t UTF-8, if it is Western European), or "
                                  "remove these lines." },
    [ATTEND_FINDING_NUL] = { "nul", STOPS, "lines with a NUL byte",
                             "Remove the bytes (tr -d '\\000'); if there are many, the file is UTF-16 or not a text." },
    [ATTEND_FINDING_NOTHING_USABLE] = { "nothing-left", STOPS, "files without a usable pair",
                                        "See the findings about single lines." },
    [ATTEND_FINDING_EMPTY] = { "empty", WARNS, "pairs with an empty side",
                               "Training skips them; many of them indicate that the files are misaligned." },
    [ATTEND_FINDING_CONTROL] = { "control", WARNS, "lines with control characters",
                                 "Remove them: the model would learn them as letters. A CR or U+2028 inside a line is "
                                 "often a lost line feed." },
    [ATTEND_FINDING_MOJIBAKE] = { "mojibake", WARNS, "lines that appear to be UTF-8 read as Latin-1 and encoded again",
                                  "Convert the original file again, from its true encoding." },
    [ATTEND_FINDING_LONG] = { "long", WARNS, "pairs far longer than the others",
                              "Check whether they are sentences; the training option max-length excludes long pairs." },
    [ATTEND_FINDING_RATIO] = { "ratio", WARNS, "pairs with sides of very different lengths",
                               "Inspect some; if one side is not a translation of the other, remove them or align the "
                               "files again." },
    [ATTEND_FINDING_VALID_PAIR] = { "validation-pair", 0.01, "validation pairs that are also training pairs",
                                    "Remove them from one of the two: otherwise validation rewards memorisation." },
    [ATTEND_FINDING_VALID_SOURCE] = { "validation-source", INFORMS,
                                      "validation sources that occur in training with another target",
                                      "Harmless for formulas and greetings; if there are many, split the data by "
                                      "source." },
    [ATTEND_FINDING_VALID_CHARACTER] = { "validation-character", 0.01,
                                         "validation lines with characters that the training data does not have",
                                         "The model will know nothing about them. If they are capitals, train with "
                                         "lowercase; otherwise write them as the training data does, or add pairs "
                                         "that have them." },
    [ATTEND_FINDING_VALID_WORD] = { "validation-word", INFORMS,
                                    "validation lines with words that the training data does not have",
                                    "Usual for names and rare words: subwords and characters spell them, word tokens "
                                    "do not know them. In most lines: the data is of another kind." },
    [ATTEND_FINDING_DUPLICATE] = { "duplicate", 0.1, "duplicate pairs",
                                   "Keep one of each (sort -u on a .tsv) unless their frequency matters." },
    [ATTEND_FINDING_IDENTICAL] = { "identical", 0.02, "pairs with the same text on both sides",
                                   "Common for names and numbers. Remove untranslated sentences: the model would learn "
                                   "to copy." },
    [ATTEND_FINDING_SAME_SOURCE] = { "same-source", INFORMS, "pairs whose source occurred before with another target",
                                     "Harmless: a sentence can have several translations. Split training and "
                                     "validation by source." },
    [ATTEND_FINDING_BLANKS] = { "blanks", INFORMS, "lines that begin or end with white space",
                                "Harmless for word tokens; character and subword tokenizers learn the white space." },
    [ATTEND_FINDING_TAB] = { "tab", 0.5, "lines with a TAB",
                             "A language model reads a TAB as text. If these are pairs, do not choose the task "
                             "language-model." },
};

/* Other texts for monolingual lines, and for words that are symbols. */
typedef struct other_text {
    const char *what, *advice; /* NULL: as above */
} other_text;

static const other_text monolingual[ATTEND_FINDING_KINDS] = {
    [ATTEND_FINDING_NOTHING_USABLE] = { "files without a usable line", NULL },
    [ATTEND_FINDING_EMPTY] = { "empty lines", "Training skips them." },
    [ATTEND_FINDING_LONG] = { "lines far longer than the others", NULL },
    [ATTEND_FINDING_VALID_PAIR] = { "validation lines that are also training lines", NULL },
    [ATTEND_FINDING_DUPLICATE] = { "duplicate lines", "Keep one of each (sort -u) unless their frequency matters." },
};

static const other_text of_symbols = { "validation lines with symbols that the training data does not have",
                                       "A symbol, such as a phoneme, is one token: the model can neither read nor "
                                       "write one that training did not have. Look for other spellings of a symbol, "
                                       "or add pairs that have it." };

void attend_finding_describe(attend_finding *f, attend_finding_kind k, uint64_t total, bool lines, bool symbols)
{
    static const other_text none = { NULL, NULL };
    const kind *d = kinds + k;
    const other_text *other = lines ? monolingual + k : symbols && k == ATTEND_FINDING_VALID_WORD ? &of_symbols : &none;
    f->name = d->name;
    f->what = other->what ? other->what : d->what;
    f->advice = other->advice ? other->advice : d->advice;
    f->severity = d->share < 0                                                        ? ATTEND_SEVERITY_ERROR
                  : d->share < INFORMS && (double)f->count > d->share * (double)total ? ATTEND_SEVERITY_WARNING
                                                                                      : ATTEND_SEVERITY_INFO;
}

/* --- excerpts --- */

/* Writes up to `max` characters of a text in quotes. */
static char *quote(char *out, const char *text, size_t size, int max)
{
    *out++ = '"';
    for (int i = 0; size > 0 && i < max; i++) {
        size_t written;
        const size_t length = attend_printable_next(text, size, ATTEND_PRINT_VISIBLE, out, &written);
        out += written;
        text += length;
        size -= length;
    }
    out += sprintf(out, size > 0 ? "...\"" : "\"");
    return out;
}

void attend_example_of(attend_example *e, const char *file, uint64_t line, const char *source, size_t source_size,
                       const char *target, size_t target_size)
{
    enum { ALONE = 80, BESIDE = 40 }; /* characters, of at most 8 bytes each */
    _Static_assert(ALONE * 8 + 16 < ATTEND_EXCERPT_BYTES && 2 * BESIDE * 8 + 32 < ATTEND_EXCERPT_BYTES,
                   "an excerpt has room for the longest escapes");
    char *out = e->excerpt;
    e->file = file;
    e->line = line;
    *out = '\0';
    if (source) out = quote(out, source, source_size, target ? BESIDE : ALONE);
    if (!target) return;
    out += sprintf(out, " | ");
    quote(out, target, target_size, BESIDE);
}
