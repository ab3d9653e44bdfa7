/* unknowns.h: what a text has that the training data did not have: characters that its tokenizer encodes as bytes, words
 * outside the vocabulary (tokens of the kind word), and words that training has not seen (seen_words.h).
 *
 * Ownership  {0} is an empty list; attend_unknown_list_free releases it. */
#ifndef ATTEND_TEXT_UNKNOWNS_H
#define ATTEND_TEXT_UNKNOWNS_H

#include "text/pipeline.h"

typedef struct attend_unknown_span {
    attend_span span; /* of the text as attend_pipeline_text has it */
    bool is_word;     /* a word; else a character */
} attend_unknown_span;

typedef struct attend_unknown_list {
    attend_unknown_span *items;
    int count; /* characters or words of the vocabulary first, then words; each in the order of the text */
    size_t capacity;
} attend_unknown_list;

/* Replaces the content of the list by what is unknown in a text of a pipeline. ATTEND_NO_MEMORY. */
int attend_pipeline_unknowns(attend_pipeline *p, const attend_encoded_text *at, attend_unknown_list *l);
void attend_unknown_list_free(attend_unknown_list *l);

#endif
