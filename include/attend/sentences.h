/* sentences.h: splits a text into sentences by rules, and joins sentences.
 *
 * Purpose    A model that was trained on single sentences translates lines of several ones badly. Split each line,
 *            translate the parts and join the results: `attend translate --split-sentences`.
 * Rules      A sentence ends after . ! ? and their counterparts in other scripts, with the quotes and brackets that close
 *            after them. After . ! ? and the ellipsis, white space must follow, and then no lower-case letter. There is
 *            no end after initials and abbreviations (English, German, French and Spanish), in numbers, after the number
 *            of a list or a German date, and inside brackets. docs/text.md has the details. In doubt, the text is not
 *            split: one part of two sentences does less harm than half a sentence.
 * Text       is UTF-8. From the first byte on that is not, it is one sentence.
 * Time       Linear in the size of the text; no memory is allocated by reading.
 * Threads    The functions have no state. */
#ifndef ATTEND_SENTENCES_H
#define ATTEND_SENTENCES_H

#include <attend/string.h>
#include <attend/words.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_BRACKET_KINDS = 9 };

/* Reads the sentences of a text one after another; the members are internal. Borrows the text. */
typedef struct attend_sentence_reader {
    const char *text;
    size_t size, at;
    int closing_brackets[ATTEND_BRACKET_KINDS]; /* in the rest of the text */
} attend_sentence_reader;

/* Starts at the beginning of a text of at most INT_MAX bytes. */
attend_sentence_reader attend_sentences_begin(const char *text, size_t size);
/* Finds the next sentence. Returns false after the last. The sentences one after another are the text: each includes the
 * white space after it, the first also that before it. A text of white space is one sentence; an empty text has none. */
bool attend_sentence_next(attend_sentence_reader *r, attend_span *sentence);

/* Appends a sentence without the white space around it, after a space, unless the string is empty or ends with a
 * character of a script that has no spaces between sentences (Chinese, Japanese). ATTEND_NO_MEMORY: the string is
 * unchanged. */
int attend_sentences_append(attend_string *text, const char *sentence, size_t size);

#ifdef __cplusplus
}
#endif
#endif
