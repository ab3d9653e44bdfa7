/* sentence.h: a sentence of the built-in pairs before it is in any language: what is said of whom, as drawn; then its words in both, and from which
 * English word each French one comes. */
#ifndef ATTEND_DEMO_SENTENCE_H
#define ATTEND_DEMO_SENTENCE_H

#include <attend/random.h>
#include "demo/lexicon.h"

enum { DEMO_SENTENCE_WORDS = 40, DEMO_WORD_LINKS = 3, DEMO_MOST_PHRASES = 12, DEMO_MOST_CLAUSES = 4 };

/* ---- what is said ---- */

typedef enum demo_determiner {
    DEMO_THE,
    DEMO_A, /* in the plural and of bread: some, or any */
    DEMO_THIS,
    DEMO_MY,
    DEMO_HIS,
    DEMO_HER,
    DEMO_OUR,
    DEMO_THEIR,
    DEMO_EVERY,
    DEMO_NUMBER,
    DEMO_MANY,
    DEMO_OWNED /* by `owner`: the king 's dog, le chien du roi */
} demo_determiner;

typedef enum demo_phrase_kind { DEMO_NOUN, DEMO_NAME, DEMO_PRONOUN, DEMO_TWO_NAMES } demo_phrase_kind;

struct demo_clause;
typedef struct demo_phrase {
    demo_phrase_kind kind;
    const demo_noun *noun;
    const demo_name *name, *other;         /* other: of two */
    const demo_adjective *before, *behind; /* by where French has them; NULL: none */
    const demo_word *number;
    struct demo_phrase *owner;
    struct demo_clause *relative; /* who .., that ..: its subject or its object is this */
    demo_determiner determiner;
    int person; /* of a subject, or of a pronoun */
    bool plural, feminine;
    bool negated; /* the object of a negated verb: pas de chien */
    int at_determiner, at_before, at_behind, at_noun, at_second, at_that; /* English words; -1: none */
} demo_phrase;

typedef enum demo_tense { DEMO_PRESENT, DEMO_FUTURE, DEMO_PERFECT, DEMO_MODAL } demo_tense;
typedef enum demo_polarity { DEMO_POSITIVE, DEMO_NOT, DEMO_NEVER, DEMO_NO_LONGER } demo_polarity;

typedef struct demo_clause {
    demo_phrase *subject; /* NULL: the noun that this is a relative clause of */
    const demo_verb *verb, *modal;
    demo_tense tense;
    demo_polarity polarity;
    const demo_word *adverb, *time, *place;
    demo_phrase *object, *receiver, *where; /* where: place, to or from which */
    int person;                             /* of the verb */
    bool moving_to, moving_from;
    const demo_adjective *quality; /* is tired */
    bool plural, feminine;         /* of the quality */
    int at_auxiliary, at_not, at_longer, at_verb, at_modal, at_to, at_adverb, at_quality, at_preposition, at_receiver,
        at_time;
} demo_clause;

typedef enum demo_form {
    DEMO_PLAIN,
    DEMO_QUESTION,
    DEMO_WHY,
    DEMO_WHERE,
    DEMO_THAT,
    DEMO_ADDRESS,
    DEMO_IT_IS
} demo_form;

/* ---- as words ---- */

enum {
    DEMO_ELIDES = 1,
    DEMO_ARTICLE = 2,
    DEMO_HARD = 4
}; /* hard: does not elide what stands before it, whatever it begins with */

typedef struct demo_spoken {
    char text[24];
    unsigned flags;
    int links[2 * DEMO_WORD_LINKS];
    bool sure[2 * DEMO_WORD_LINKS];
    int link_count;
} demo_spoken;

typedef struct demo_sentence {
    demo_form form;
    demo_clause *clause, *outer; /* outer: I think that .. */
    demo_phrase *said_to;
    const demo_word *title; /* sir, you .. */
    int at_first, at_comma, at_that, at_end;

    demo_phrase phrases[DEMO_MOST_PHRASES];
    demo_clause clauses[DEMO_MOST_CLAUSES];
    int phrase_count, clause_count;

    demo_spoken english[DEMO_SENTENCE_WORDS], french[DEMO_SENTENCE_WORDS];
    int english_count, french_count;
    bool too_long;

    attend_rng rng;
    uint64_t drawn;
} demo_sentence;

/* The next sentence by the sentence's rng. */
void demo_draw(demo_sentence *s);
/* Its English words, and where they stand; then its French ones. */
void demo_say_english(demo_sentence *s);
void demo_say_french(demo_sentence *s);

#endif
