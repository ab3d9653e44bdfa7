/* sentence.h: a sentence of the built-in pairs: its grammatical structure, drawn at random, and its words in both
 * languages, with the English words that each French word is linked to. */
#ifndef ATTEND_DEMO_SENTENCE_H
#define ATTEND_DEMO_SENTENCE_H

#include <attend/random.h>
#include "demo/lexicon.h"

enum { DEMO_SENTENCE_WORDS = 40, DEMO_WORD_LINKS = 3, DEMO_MAX_PHRASES = 12, DEMO_MAX_CLAUSES = 4 };

/* ---- structure ---- */

typedef enum demo_determiner {
    DEMO_THE,
    DEMO_A, /* plural and mass nouns: some, any */
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
    const demo_name *name, *other;        /* other: of two */
    const demo_adjective *before, *after; /* the noun in French; NULL: none */
    const demo_word *number;
    struct demo_phrase *owner;
    struct demo_clause *relative; /* a relative clause whose subject or object is this phrase */
    demo_determiner determiner;
    int person; /* of a subject, or of a pronoun */
    bool plural, feminine;
    bool negated;                                                        /* object of a negated verb: pas de chien */
    int at_determiner, at_before, at_after, at_noun, at_second, at_that; /* indices of English words; -1: none */
} demo_phrase;

typedef enum demo_tense { DEMO_PRESENT, DEMO_FUTURE, DEMO_PERFECT, DEMO_MODAL } demo_tense;
typedef enum demo_polarity { DEMO_POSITIVE, DEMO_NOT, DEMO_NEVER, DEMO_NO_LONGER } demo_polarity;

typedef struct demo_clause {
    demo_phrase *subject; /* NULL: the noun that this relative clause modifies */
    const demo_verb *verb, *modal;
    demo_tense tense;
    demo_polarity polarity;
    const demo_word *adverb, *time, *place;
    demo_phrase *object, *receiver, *where; /* where: a place, a destination or an origin */
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

/* ---- words ---- */

enum { DEMO_ELIDES = 1, DEMO_ARTICLE = 2, DEMO_HARD = 4 }; /* hard: an aspirated h, before which nothing is elided */

typedef struct demo_output_word {
    char text[24];
    unsigned flags;
    int links[2 * DEMO_WORD_LINKS];
    bool sure[2 * DEMO_WORD_LINKS];
    int link_count;
} demo_output_word;

typedef struct demo_sentence {
    demo_form form;
    demo_clause *clause, *outer; /* outer: "I think that" */
    demo_phrase *addressee;
    const demo_word *title; /* "sir , you ..." */
    int at_first, at_comma, at_that, at_end;

    demo_phrase phrases[DEMO_MAX_PHRASES];
    demo_clause clauses[DEMO_MAX_CLAUSES];
    int phrase_count, clause_count;

    demo_output_word english[DEMO_SENTENCE_WORDS], french[DEMO_SENTENCE_WORDS];
    int english_count, french_count;
    bool too_long;

    attend_rng rng;
    uint64_t drawn;
} demo_sentence;

/* Draws the next sentence from s->rng. */
void demo_draw(demo_sentence *s);
/* Generates the English words and records their indices; then the French words, which are linked to them. */
void demo_write_english(demo_sentence *s);
void demo_write_french(demo_sentence *s);

#endif
