/* bleu_tokens.c: the tokenizers of BLEU. "13a" is NIST's mteval-v13a as in sacreBLEU: entities are decoded, then each
 * rule is applied to the whole line, from left to right:
 *   ASCII punctuation, except ' - . and the comma, becomes a token;
 *   a full stop or comma becomes a token unless a digit precedes it;
 *   a full stop or comma becomes a token unless a digit follows it;
 *   a dash after a digit becomes a token. */
#include "core/memory.h"
#include "core/status.h"
#include "metric/kinds.h"

#include <string.h>

/* Replaces every `from` by `to`, which is not longer, in place. */
static void replace(attend_metric_text *t, const char *from, const char *to)
{
    const size_t length = strlen(from);
    size_t n = 0;
    for (size_t i = 0; i < t->n;) {
        size_t k = 0;
        while (k < length && i + k < t->n && t->c[i + k] == (unsigned char)from[k]) k++;
        if (k < length) {
            t->c[n++] = t->c[i++];
            continue;
        }
        for (const char *c = to; *c; c++) t->c[n++] = (unsigned char)*c;
        i += length;
    }
    t->n = n;
}

static void decode_entities(attend_metric_text *t)
{
    static const char *const pairs[][2] = { { "<skipped>", "" }, { "-\n", "" },   { "\n", " " },  { "&quot;", "\"" },
                                            { "&amp;", "&" },    { "&lt;", "<" }, { "&gt;", ">" } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) replace(t, pairs[i][0], pairs[i][1]);
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_point(uint32_t c)
{
    return c == '.' || c == ',';
}

static bool is_separate(uint32_t c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
           (c >= ':' && c <= '@') || c == '/';
}

/* A rule writes the replacement of one or two characters at `at` and returns how many characters it consumed. */
typedef size_t rule(const attend_metric_text *t, size_t at, attend_metric_text *out);

static size_t put(attend_metric_text *out, size_t consumed, uint32_t a, uint32_t b, uint32_t c)
{
    out->c[out->n++] = a;
    if (b) out->c[out->n++] = b;
    if (c) out->c[out->n++] = c;
    return consumed;
}

static size_t rule_marks(const attend_metric_text *t, size_t at, attend_metric_text *out)
{
    return is_separate(t->c[at]) ? put(out, 1, ' ', t->c[at], ' ') : put(out, 1, t->c[at], 0, 0);
}

static size_t rule_point_after_non_digit(const attend_metric_text *t, size_t at, attend_metric_text *out)
{
    put(out, 1, t->c[at], 0, 0);
    if (is_digit(t->c[at]) || at + 1 == t->n || !is_point(t->c[at + 1])) return 1;
    return put(out, 2, ' ', t->c[at + 1], ' ');
}

static size_t rule_point_before_non_digit(const attend_metric_text *t, size_t at, attend_metric_text *out)
{
    if (!is_point(t->c[at]) || at + 1 == t->n || is_digit(t->c[at + 1])) return put(out, 1, t->c[at], 0, 0);
    put(out, 1, ' ', t->c[at], ' ');
    return put(out, 2, t->c[at + 1], 0, 0);
}

static size_t rule_dash_after_digit(const attend_metric_text *t, size_t at, attend_metric_text *out)
{
    put(out, 1, t->c[at], 0, 0);
    if (!is_digit(t->c[at]) || at + 1 == t->n || t->c[at + 1] != '-') return 1;
    return put(out, 2, ' ', '-', ' ');
}

static bool apply(attend_metric_text *t, rule *r)
{
    attend_metric_text out = { attend_memory_zeroed(t->n, 3 * sizeof *t->c),
                               0 }; /* a rule writes at most 3 characters per character */
    if (!out.c) return false;
    for (size_t i = 0; i < t->n;) i += r(t, i, &out);
    attend_memory_free(t->c);
    *t = out;
    return true;
}

static int tokenize_13a(attend_metric_text *t)
{
    static rule *const rules[] = { rule_marks, rule_point_after_non_digit, rule_point_before_non_digit,
                                   rule_dash_after_digit };
    while (t->n > 0 && attend_metric_is_space(t->c[t->n - 1])) t->n--;
    decode_entities(t);
    /* a space at both ends, so that a point there has a neighbour that is not a digit */
    attend_metric_text padded = { attend_memory_zeroed(t->n + 2, sizeof *t->c), t->n + 2 };
    bool has_memory = padded.c != NULL;
    if (has_memory) {
        if (t->n > 0) memcpy(padded.c + 1, t->c, t->n * sizeof *t->c);
        padded.c[0] = padded.c[t->n + 1] = ' ';
        attend_memory_free(t->c);
        *t = padded;
    }
    for (size_t i = 0; has_memory && i < sizeof rules / sizeof *rules; i++) has_memory = apply(t, rules[i]);
    return has_memory ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for a line of %zu characters", t->n);
}

int attend_bleu_words_read(attend_metric_words *w, attend_ngrams *names, attend_metric_text *t,
                           attend_bleu_tokens tokens)
{
    if (tokens == ATTEND_BLEU_CHAR) { /* a character is its own id */
        attend_metric_remove_spaces(t);
        *w = (attend_metric_words){ t->c, t->n };
        *t = (attend_metric_text){ 0 };
        return ATTEND_OK;
    }
    int status = tokens == ATTEND_BLEU_13A ? tokenize_13a(t) : ATTEND_OK;
    return status == ATTEND_OK ? attend_metric_words_read(w, names, t, false) : status;
}
