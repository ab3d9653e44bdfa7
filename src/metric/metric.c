/* metric.c: the list of metrics, and what they share. */
#include "core/memory.h"
#include "core/status.h"
#include "metric/kinds.h"

#include <attend/version.h>
#include <stdio.h>
#include <string.h>

static const attend_metric_functions *const kinds[] = {
    [ATTEND_BLEU] = &attend_metric_bleu,
    [ATTEND_CHRF] = &attend_metric_chrf,
    [ATTEND_CHRFPP] = &attend_metric_chrfpp,
    [ATTEND_TER] = &attend_metric_ter,
    [ATTEND_WER] = &attend_metric_wer,
    [ATTEND_CER] = &attend_metric_cer,
    [ATTEND_EXACT] = &attend_metric_exact,
    [ATTEND_TOKEN_ACCURACY] = &attend_metric_token_accuracy,
    [ATTEND_LINE_ERROR] = &attend_metric_line_error,
};
enum { KINDS = sizeof kinds / sizeof *kinds, TOKENS = ATTEND_BLEU_CHAR + 1 };

static const attend_metric_functions *find_kind(attend_metric_kind kind)
{
    return (size_t)kind < KINDS ? kinds[kind] : NULL; /* a negative kind is a large size_t */
}

static void free_lines(attend_metric_lines *lines)
{
    attend_metric_text_free(&lines->hypothesis);
    for (int i = 0; lines->references && i < lines->count; i++) attend_metric_text_free(&lines->references[i]);
    attend_memory_free(lines->references);
}

static int read_lines(attend_metric_lines *lines, const char *hypothesis, const char *const *references, int count,
                      bool lowercase)
{
    lines->count = count;
    lines->references = attend_memory_zeroed((size_t)count, sizeof *lines->references);
    if (!lines->references) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d references", count);
    int status = attend_metric_text_read(&lines->hypothesis, hypothesis, lowercase);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        if (!references[i]) return attend_fail(ATTEND_BAD_USAGE, "reference %d of %d is NULL", i + 1, count);
        status = attend_metric_text_read(&lines->references[i], references[i], lowercase);
    }
    return status;
}

int attend_metric_add(const attend_metric_options *o, attend_metric_sums *sums, const char *hypothesis,
                      const char *const *references, int count)
{
    const attend_metric_functions *f = o ? find_kind(o->kind) : NULL;
    if (!f || (size_t)o->tokens >= TOKENS) return attend_fail(ATTEND_BAD_USAGE, "unknown metric or BLEU tokenizer");
    if (!sums || !hypothesis || !references || count < 1)
        return attend_fail(ATTEND_BAD_USAGE, "%s needs sums, a hypothesis and at least one reference", f->name);
    attend_metric_lines lines = { 0 };
    attend_metric_sums these = { 0 };
    int status = read_lines(&lines, hypothesis, references, count, o->lowercase);
    if (status == ATTEND_OK) status = f->add(o, &lines, these.n);
    if (status == ATTEND_OK) attend_metric_merge(sums, &these);
    free_lines(&lines);
    return status;
}

void attend_metric_merge(attend_metric_sums *sums, const attend_metric_sums *more)
{
    ATTEND_REQUIRE_VOID(sums && more);
    for (int i = 0; i < ATTEND_METRIC_NUMBERS; i++) sums->n[i] += more->n[i];
}

double attend_metric_score(const attend_metric_options *o, const attend_metric_sums *sums)
{
    ATTEND_REQUIRE(0, o && sums);
    const attend_metric_functions *f = find_kind(o->kind);
    return f ? f->score(sums->n) : 0;
}

bool attend_metric_higher_is_better(attend_metric_kind kind)
{
    const attend_metric_functions *f = find_kind(kind);
    return f && f->higher_is_better;
}

const char *attend_metric_name(attend_metric_kind kind)
{
    const attend_metric_functions *f = find_kind(kind);
    return f ? f->name : NULL;
}

bool attend_metric_find(const char *name, attend_metric_kind *kind)
{
    ATTEND_REQUIRE(false, name && kind);
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0) {
            *kind = (attend_metric_kind)i;
            return true;
        }
    return false;
}

void attend_metric_signature(const attend_metric_options *o, int references, char *text, size_t size)
{
    ATTEND_REQUIRE_VOID(o && (text || size == 0));
    const attend_metric_functions *f = find_kind(o->kind);
    char count[16] = "var";
    if (references > 0) snprintf(count, sizeof count, "%d", references);
    if (size > 0) text[0] = '\0';
    if (!f) return;
    const char *signature =
        (size_t)o->tokens < TOKENS && f->signature[o->tokens] ? f->signature[o->tokens] : f->signature[0];
    snprintf(text, size, "%s|nrefs:%s|case:%s|%sversion:attend-%s", f->title, count, o->lowercase ? "lc" : "mixed",
             signature, attend_version());
}
