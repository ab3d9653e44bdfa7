#include "text/data_findings.h"

#include "format/utf8.h"
#include <string.h>

/* A finding is a warning if its count is more than `share` of all pairs, and information up to there; below 0 it always stops training. */
typedef struct kind {
    const char *name;
    double share;
    const char *what, *advice;
} kind;

enum { STOPS = -1, WARNS = 0, INFORMS = 1 };

static const kind kinds[ATTEND_FINDING_KINDS] = {
    [ATTEND_FINDING_LINE_COUNTS] = { "line-counts", STOPS, "files whose lines do not belong together",
                                     "Find the line from which they do not match (a line feed too many or too few) and "
                                     "mend "
                                     "it there." },
    [ATTEND_FINDING_NO_TAB] = { "no-tab", STOPS, "lines without a TAB",
                                "Write each line as source, TAB, target; two line-aligned files are given as two, and "
                                "lines of "
                                "text alone are for --task language-model." },
    [ATTEND_FINDING_MANY_TABS] = { "tabs", STOPS, "lines with more than one TAB",
                                   "Take the further columns off (cut -f 1,2), or write TABs inside a sentence as "
                                   "blanks." },
    [ATTEND_FINDING_TOO_LONG] = { "too-long", STOPS, "lines of more than 16 MiB",
                                  "Put a line feed behind every sentence; if there are some, this is not a text." },
    [ATTEND_FINDING_NOT_UTF8] = { "not-utf8", STOPS, "lines that are not UTF-8",
                                  "Convert the file (iconv -f WINDOWS-1252 -t UTF-8, if it is Western European), or "
                                  "take "
                                  "these lines "
                                  "out." },
    [ATTEND_FINDING_NUL] = { "nul", STOPS, "lines with a NUL byte",
                             "Take the bytes out (tr -d '\\000'); if there are many, the file is UTF-16 or no text at "
                             "all." },
    [ATTEND_FINDING_NOTHING_USABLE] = { "nothing-left", STOPS, "files of which no pair can be used",
                                        "See the findings about single lines." },
    [ATTEND_FINDING_EMPTY] = { "empty", WARNS, "pairs with an empty side",
                               "Training leaves them out; many of them mean that the files have slipped out of step." },
    [ATTEND_FINDING_CONTROL] = { "control", WARNS, "lines with control characters",
                                 "Take them out: the model would learn them as letters. A CR or U+2028 inside a line "
                                 "is "
                                 "often a lost line feed." },
    [ATTEND_FINDING_MOJIBAKE] = { "mojibake", WARNS,
                                  "lines that look like UTF-8 that was read as Latin-1 and written again",
                                  "Go back to the source of the file and convert it once." },
    [ATTEND_FINDING_LONG] = { "long", WARNS, "pairs far longer than the others",
                              "Look whether they are sentences; --max-length leaves them out." },
    [ATTEND_FINDING_RATIO] = { "ratio", WARNS, "pairs with sides of very different lengths",
                               "Look at some; if one side is no translation of the other, take them out or align the "
                               "files again." },
    [ATTEND_FINDING_VALID_PAIR] = { "validation-pair", 0.01, "validation pairs that are training pairs too",
                                    "Take them out of one of the two: the validation rewards memory otherwise." },
    [ATTEND_FINDING_VALID_SOURCE] = { "validation-source", INFORMS,
                                      "validation sources that occur in training, with another target",
                                      "Fine for formulae and greetings; split by source if it is much." },
    [ATTEND_FINDING_DUPLICATE] = { "duplicate", 0.1, "pairs that came before",
                                   "Keep one of each (sort -u on a .tsv) unless their frequency means something." },
    [ATTEND_FINDING_IDENTICAL] = { "identical", 0.02, "pairs with the same text on both sides",
                                   "Names and numbers do; if they are untranslated sentences, take them out: they "
                                   "teach "
                                   "copying." },
    [ATTEND_FINDING_SAME_SOURCE] = { "same-source", INFORMS,
                                     "pairs with a source that came before, with another target",
                                     "Fine: there is more than one translation. Split training and validation by "
                                     "source." },
    [ATTEND_FINDING_BLANKS] = { "blanks", INFORMS, "lines that begin or end with a blank",
                                "Harmless for words; characters and subwords would learn the blank." },
    [ATTEND_FINDING_TAB] = { "tab", 0.5, "lines with a TAB",
                             "It is text like any other to a language model. If these are pairs, leave --task "
                             "language-model out." },
};

/* The same of lines alone, where other words are needed. */
typedef struct words {
    const char *what, *advice; /* NULL: those above */
} words;

static const words of_lines[ATTEND_FINDING_KINDS] = {
    [ATTEND_FINDING_NOTHING_USABLE] = { "files of which no line can be used", NULL },
    [ATTEND_FINDING_EMPTY] = { "empty lines", "Training leaves them out." },
    [ATTEND_FINDING_LONG] = { "lines far longer than the others", NULL },
    [ATTEND_FINDING_VALID_PAIR] = { "validation lines that are training lines too", NULL },
    [ATTEND_FINDING_DUPLICATE] = { "lines that came before",
                                   "Keep one of each (sort -u) unless their frequency means something." },
};

void attend_finding_describe(attend_finding *f, attend_finding_kind k, uint64_t total, bool lines)
{
    const kind *d = kinds + k;
    f->name = d->name;
    f->what = lines && of_lines[k].what ? of_lines[k].what : d->what;
    f->advice = lines && of_lines[k].advice ? of_lines[k].advice : d->advice;
    f->severity = d->share < 0                                                        ? ATTEND_SEVERITY_ERROR
                  : d->share < INFORMS && (double)f->count > d->share * (double)total ? ATTEND_SEVERITY_WARNING
                                                                                      : ATTEND_SEVERITY_INFO;
}

/* --- excerpts --- */

/* Decodes the character at `s`, of which `size` > 0 bytes can be read. Returns its length in bytes and stores its code point; for a byte
 * that starts no character, the length is 1 and the code point -1. */
static size_t decode(const char *s, size_t size, int32_t *code_point)
{
    const size_t length = attend_utf8_next(s, size, code_point);
    if (length > 0) return length;
    *code_point = -1;
    return 1;
}

/* Characters that would do something to a terminal, or that nobody sees. */
static bool is_shown(int32_t c)
{
    return c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) && c != 0xad && !(c >= 0x200b && c <= 0x200f) &&
           !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff;
}

/* Up to `most` characters of a text in quotes. */
static char *quote(char *out, const char *text, size_t size, int most)
{
    *out++ = '"';
    for (int i = 0; size > 0 && i < most; i++) {
        int32_t c;
        const size_t length = decode(text, size, &c);
        if (c < 0 || c == 0)
            out += sprintf(out, "\\x%02x", (unsigned char)*text);
        else if (c == '\t')
            out += sprintf(out, "\\t");
        else if (!is_shown(c))
            out += sprintf(out, "\\u{%x}", (unsigned)c);
        else
            out = (char *)memcpy(out, text, length) + length;
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
