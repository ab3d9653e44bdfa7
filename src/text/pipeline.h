/* pipeline.h: text to the tokens a model reads, for one side of a model.
 *
 * Purpose    The one definition of the steps between a line of text and a model: Unicode normal form C (NFC), lower
 *            case if the tokenizer has that, tokens with their spans, and ATTEND_END after the tokens of a source, so that attention can attend to
 *            its end. Training, translating, scoring and attention maps use it.
 * Ownership  {0} is empty; attend_pipeline_free releases the tokenizer and all texts.
 * Threads    A pipeline is used by one thread at a time; attend_pipeline_encode may be called by many. */
#ifndef ATTEND_TEXT_PIPELINE_H
#define ATTEND_TEXT_PIPELINE_H

#include "core/string.h"
#include "text/seen_words.h"
#include <attend/text.h>
#include <stdbool.h>

typedef enum attend_side { ATTEND_SOURCE, ATTEND_TARGET } attend_side;

typedef struct attend_pipeline {
    attend_tokenizer *tokenizer; /* NULL: the side does not exist */
    attend_side side;
    attend_seen_words seen; /* words of the training data; empty: not known */
    attend_unit unit;       /* of attention and links: of the tokenizer, unless the user wants another */
    /* the texts added so far */
    attend_ids ids;     /* tokens of all texts, one text after another */
    attend_string text; /* the texts as the tokenizer reads them (attend_tokenizer_normalize), each followed by '\0' */
    attend_string line; /* scratch: one text while it is normalised */
} attend_pipeline;

/* One text of a pipeline. */
typedef struct attend_encoded_text {
    int first, count;    /* tokens, ATTEND_END included */
    size_t offset, size; /* bytes in `text`; size does not count the '\0' */
} attend_encoded_text;

/* Loads the tokenizers of a model's sides; a language model has a target only. ATTEND_BAD_MODEL, ATTEND_NO_MEMORY. */
int attend_pipelines_from_model(attend_pipeline sides[2], const attend_model *m);
void attend_pipeline_free(attend_pipeline *p);
/* A pipeline without texts that uses the tokenizer and the words of another, which must outlive its use for encoding. Many
 * threads may use one each. attend_pipeline_free_borrowed releases its texts. */
attend_pipeline attend_pipeline_borrow(const attend_pipeline *from);
void attend_pipeline_free_borrowed(attend_pipeline *p);
/* Sets the unit of both sides; ATTEND_UNIT_AUTO: those of their tokenizers. */
void attend_pipelines_set_unit(attend_pipeline sides[2], attend_unit unit);

/* Appends a text and its tokens. A text without tokens gets no ATTEND_END. ATTEND_BAD_DATA if it is not UTF-8,
 * ATTEND_NO_MEMORY: *at is then an empty range, and nothing was added. */
int attend_pipeline_add(attend_pipeline *p, const char *text, size_t size, attend_encoded_text *at);
/* Whether a text certainly has more than max_tokens tokens, without encoding it: that would take many times the memory
 * of a text of megabytes. False for short texts. */
bool attend_pipeline_exceeds(const attend_pipeline *p, const char *text, size_t size, int max_tokens);
/* Appends a text without tokens instead of one that is left out. */
int attend_pipeline_add_nothing(attend_pipeline *p, attend_encoded_text *at);
/* Appends tokens that a model generated, as the text they spell, in which a line feed or NUL becomes a space.
 * ATTEND_BAD_USAGE if a token is outside the vocabulary, ATTEND_BEGIN or ATTEND_END; ATTEND_NO_MEMORY. */
int attend_pipeline_add_tokens(attend_pipeline *p, const int *tokens, int count, attend_encoded_text *at);
/* Appends ATTEND_END, with an empty span, to the text added last. */
int attend_pipeline_add_end(attend_pipeline *p, attend_encoded_text *at);
/* Removes the text added last. */
void attend_pipeline_remove(attend_pipeline *p, attend_encoded_text *at);
/* Removes all texts. Memory is kept for reuse unless a long text made it large. */
void attend_pipeline_clear(attend_pipeline *p);

/* The number of tokens of a source without its ATTEND_END. count: its tokens with it; 0: it is empty. */
static inline int attend_pipeline_source_length(int count)
{
    return count > 0 ? count - 1 : 0;
}
/* The number of tokens of a text without the ATTEND_END of a source. */
int attend_pipeline_length(const attend_pipeline *p, const attend_encoded_text *at);
/* Views of a text, valid until the next one is added. */
static inline const char *attend_pipeline_text(const attend_pipeline *p, const attend_encoded_text *at)
{
    return p->text.text + at->offset;
}
static inline const int *attend_pipeline_ids(const attend_pipeline *p, const attend_encoded_text *at)
{
    return p->ids.ids + at->first;
}
static inline const attend_span *attend_pipeline_spans(const attend_pipeline *p, const attend_encoded_text *at)
{
    return p->ids.spans + at->first;
}

/* Concatenates the tokens of `count` texts and stores the length of each. Returns memory that the caller frees
 * (attend_memory_free); NULL: no memory, and the lengths are set. */
int *attend_pipeline_join(const attend_pipeline *p, int count, const attend_encoded_text *const *texts, int *lengths);

/* The same as attend_pipeline_add without keeping the text, for training: appends the tokens to `out`. dropout, seed
 * and position are those of attend_tokenizer_encode. */
int attend_pipeline_encode(const attend_tokenizer *t, attend_side side, const char *text, size_t size, attend_ids *out,
                           double dropout, uint64_t seed, uint64_t position);

#endif
