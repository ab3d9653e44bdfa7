/* detokenize.h: tokens to text, with the span of each token. */
#ifndef ATTEND_TEXT_DETOKENIZE_H
#define ATTEND_TEXT_DETOKENIZE_H

#include <attend/text.h>

/* Text to write instead of a token; text NULL: write the token itself. */
typedef struct attend_substitution {
    const char *text;
    size_t size;
} attend_substitution;

/* Appends the text of tokens to `out`, as attend_tokenizer_decode writes it. spans (count) become the spans of the
 * tokens, relative to the beginning of the appended text; consecutive bytes share the span of the characters they
 * form. substitutions (count), or NULL, apply to tokenizers of kind word only. ATTEND_BAD_USAGE if a token is outside
 * the vocabulary, ATTEND_NO_MEMORY. */
int attend_detokenize(const attend_tokenizer *t, const int *ids, int count, const attend_substitution *substitutions,
                      attend_string *out, attend_span *spans);
/* The same; line feeds and NULs, which a model can generate as bytes, become spaces, so that the text is one line. */
int attend_detokenize_line(const attend_tokenizer *t, const int *ids, int count,
                           const attend_substitution *substitutions, attend_string *out, attend_span *spans);

#endif
