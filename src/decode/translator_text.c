/* translator_text.c: lines to tokens, and hypotheses to text. */
#include "decode/translator_lines.h"

#include "core/memory.h"
#include "core/status.h"
#include "decode/word_links.h"
#include "text/detokenize.h"
#include <math.h>
#include <string.h>

/* ---- encoding ---- */

static bool is_blank(const char *text, size_t size)
{
    attend_span word;
    return !attend_word_next(text, size, &(size_t){ 0 }, &word);
}

static const char too_many_tokens[] = "it is too long: it has more tokens than the maximum input length";

/* Adds a source or a prefix. A text that is not UTF-8 or too long sets *fault and is not added. */
static int add_text(translator_texts t, attend_side side, const char *text, size_t size, attend_encoded_text *at,
                    const char **fault)
{
    attend_pipeline *p = &t.sides[side];
    const int max_tokens = t.setup->max_tokens[side];
    const bool is_prefix = side == ATTEND_TARGET && !t.setup->is_language_model;
    const bool exceeds = attend_pipeline_exceeds(p, text, size, max_tokens);
    const int status = exceeds ? attend_pipeline_add_nothing(p, at) : attend_pipeline_add(p, text, size, at);
    if (status == ATTEND_BAD_DATA) {
        *fault = is_prefix ? "its prefix is not UTF-8" : "it is not UTF-8";
        return ATTEND_OK;
    }
    if (status != ATTEND_OK || (!exceeds && attend_pipeline_length(p, at) <= max_tokens)) return status;
    *fault = is_prefix                            ? "its prefix is too long"
             : max_tokens < t.setup->o.max_tokens ? "it is too long for the model"
                                                  : too_many_tokens;
    attend_pipeline_remove(p, at);
    return ATTEND_OK;
}

/* What a line has that the training data did not have. */
static int find_unknowns(translator_line *line)
{
    const bool is_language_model = line->texts.setup->is_language_model;
    const attend_encoded_text *at = is_language_model ? &line->prefix : &line->source;
    attend_pipeline *p = &line->texts.sides[is_language_model ? ATTEND_TARGET : ATTEND_SOURCE];
    return at->count > 0 ? attend_pipeline_unknowns(p, at, &line->unknown_spans) : ATTEND_OK;
}

int attend_translator_encode(translator_texts texts, translator_line *line, uint64_t number, const char *text,
                             size_t size, const char *prefix, size_t prefix_size)
{
    *line = (translator_line){ .texts = texts, .number = number };
    int status = ATTEND_OK;
    if (texts.setup->is_language_model) { /* the line is a prefix; an empty one is valid */
        if (!is_blank(text, size)) status = add_text(texts, ATTEND_TARGET, text, size, &line->prefix, &line->fault);
        line->needs_search = status == ATTEND_OK && !line->fault;
        return line->needs_search ? find_unknowns(line) : status;
    }
    if (is_blank(text, size)) return ATTEND_OK;
    status = add_text(texts, ATTEND_SOURCE, text, size, &line->source, &line->fault);
    if (status == ATTEND_OK && !line->fault && prefix_size > 0)
        status = add_text(texts, ATTEND_TARGET, prefix, prefix_size, &line->prefix, &line->fault);
    line->needs_search = status == ATTEND_OK && !line->fault && line->source.count > 0;
    return line->needs_search ? find_unknowns(line) : status;
}

/* ---- unknown words ---- */

static attend_tokenized_text source_of(const translator_line *line)
{
    const attend_pipeline *p = &line->texts.sides[ATTEND_SOURCE];
    return (attend_tokenized_text){ .text = attend_pipeline_text(p, &line->source),
                                    .spans = attend_pipeline_spans(p, &line->source),
                                    .count = attend_pipeline_length(p, &line->source),
                                    .unit = ATTEND_UNIT_WORD };
}

/* The source word with the largest of a row of weights, or its replacement in the dictionary. */
static attend_substitution source_word(const translator_line *line, const attend_real *weights)
{
    const attend_tokenized_text source = source_of(line);
    attend_span at;
    if (attend_most_attended_word(&source, weights, 1, line->source.count, &at) < 0)
        return (attend_substitution){ NULL, 0 };
    const attend_substitution word = { source.text + at.begin, (size_t)(at.end - at.begin) };
    const char *entry = line->texts.setup->o.dictionary
                            ? attend_dictionary_find(line->texts.setup->o.dictionary, word.text, word.size)
                            : NULL;
    return entry ? (attend_substitution){ entry, strlen(entry) } : word;
}

/* Replaces unknown tokens: in the prefix by the prefix's own text, after it by a source word if replace_unknown is
 * set. */
static void substitute(const translator_line *line, const attend_translation *x, attend_substitution *substitutions)
{
    const attend_pipeline *p = &line->texts.sides[ATTEND_TARGET];
    for (int i = 0; i < x->count; i++) {
        substitutions[i] = (attend_substitution){ NULL, 0 };
        if (x->tokens[i] != ATTEND_UNKNOWN) continue;
        if (i < line->prefix.count) {
            const attend_span at = attend_pipeline_spans(p, &line->prefix)[i];
            substitutions[i] =
                (attend_substitution){ attend_pipeline_text(p, &line->prefix) + at.begin, (size_t)(at.end - at.begin) };
        } else if (line->texts.setup->o.replace_unknown && x->weights) {
            substitutions[i] = source_word(line, x->weights + (size_t)i * (size_t)line->source.count);
        }
    }
}

/* ---- writing ---- */

/* Appends the text of a hypothesis to line->text. */
static int append_text(translator_line *line, const attend_translation *x, attend_span *spans)
{
    attend_substitution *substitutions = attend_memory_zeroed((size_t)x->count, sizeof *substitutions);
    if (!substitutions) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translation of %d tokens", x->count);
    substitute(line, x, substitutions);
    int status = attend_detokenize_line(line->texts.sides[ATTEND_TARGET].tokenizer, x->tokens, x->count, substitutions,
                                        &line->text, spans);
    if (status == ATTEND_OK) status = attend_string_add(&line->text, "", 1);
    attend_memory_free(substitutions);
    return status;
}

/* Bytes of a hypothesis that its prefix prescribed. Tokens of kind word are written with single spaces, so that the
 * prefix may have become shorter. */
static size_t prefix_size(const translator_line *line, const attend_span *spans)
{
    if (line->prefix.count == 0) return 0;
    if (attend_tokenizer_kind(line->texts.sides[ATTEND_TARGET].tokenizer) == ATTEND_TOKENS_WORD)
        return (size_t)spans[line->prefix.count - 1].end;
    return line->prefix.size;
}

/* Only now, because the texts of all lines have their place. */
static int write_unknowns(translator_line *line)
{
    const attend_unknown_list *l = &line->unknown_spans;
    const char *text = line->texts.setup->is_language_model
                           ? attend_pipeline_text(&line->texts.sides[ATTEND_TARGET], &line->prefix)
                           : attend_pipeline_text(&line->texts.sides[ATTEND_SOURCE], &line->source);
    if (l->count == 0) return ATTEND_OK;
    line->unknowns = attend_memory_zeroed((size_t)l->count, sizeof *line->unknowns);
    if (!line->unknowns) return attend_fail(ATTEND_NO_MEMORY, "no memory for the unknown words of a line");
    for (int i = 0; i < l->count; i++) {
        const attend_span span = l->items[i].span;
        line->unknowns[i] = (attend_unknown){ text + span.begin, (size_t)(span.end - span.begin), l->items[i].is_word };
    }
    return ATTEND_OK;
}

static void fill_result(translator_line *line, int count)
{
    line->result = (attend_line_result){ .hypotheses = line->hypotheses,
                                         .count = count,
                                         .unknowns = line->unknowns,
                                         .unknown_count = line->unknown_spans.count,
                                         .source_unit = line->texts.sides[ATTEND_SOURCE].unit,
                                         .target_unit = line->texts.sides[ATTEND_TARGET].unit,
                                         .has_null = line->texts.setup->has_null };
    if (line->texts.setup->is_language_model) return;
    const attend_pipeline *p = &line->texts.sides[ATTEND_SOURCE];
    line->result.source = attend_pipeline_ids(p, &line->source);
    line->result.source_count = line->source.count;
    line->result.source_text = attend_pipeline_text(p, &line->source);
    line->result.source_spans = attend_pipeline_spans(p, &line->source);
}

int attend_translator_write(translator_line *line, const attend_search_result *search, int index)
{
    const int count = attend_search_result_count(search, index);
    size_t tokens = 0;
    for (int i = 0; i < count; i++) tokens += (size_t)attend_search_result_at(search, index, i)->count;
    line->hypotheses = attend_memory_zeroed((size_t)count, sizeof *line->hypotheses);
    line->spans = attend_memory_zeroed(tokens, sizeof *line->spans);
    size_t *starts = attend_memory_zeroed((size_t)count, sizeof *starts);
    int status = line->hypotheses && line->spans && starts
                     ? ATTEND_OK
                     : attend_fail(ATTEND_NO_MEMORY, "no memory for %d translations", count);
    attend_span *spans = line->spans;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const attend_translation *x = attend_search_result_at(search, index, i);
        starts[i] = line->text.size;
        status = append_text(line, x, spans);
        if (status != ATTEND_OK) break;
        line->hypotheses[i] = (attend_hypothesis){ .prefix_size = prefix_size(line, spans),
                                                   .score = x->score,
                                                   .log_probability = x->log_probability,
                                                   .confidence = exp(x->log_probability / (x->count + 1)),
                                                   .tokens = x->tokens,
                                                   .count = x->count,
                                                   .spans = spans,
                                                   .weights = x->weights,
                                                   .token_log_probability = x->token_log_probability };
        spans += x->count;
    }
    for (int i = 0; status == ATTEND_OK && i < count; i++) /* only now: line->text may have been reallocated */
        line->hypotheses[i].text = line->text.text + starts[i];
    attend_memory_free(starts);
    if (status == ATTEND_OK) status = write_unknowns(line);
    if (status == ATTEND_OK) fill_result(line, count);
    return status;
}

void attend_translator_write_empty(translator_line *line)
{
    static const attend_hypothesis empty = { .text = "" };
    line->result = (attend_line_result){
        .hypotheses = &empty, .count = 1, .fault = line->fault, .is_too_long = line->fault == too_many_tokens
    };
}

void attend_translator_line_free(translator_line *line)
{
    attend_unknown_list_free(&line->unknown_spans);
    attend_memory_free(line->unknowns);
    attend_memory_free(line->hypotheses);
    attend_memory_free(line->spans);
    attend_string_free(&line->text);
    attend_search_result_free(line->own_search);
}
