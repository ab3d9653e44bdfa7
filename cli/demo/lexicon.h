/* lexicon.h: the words of the built-in pairs: English, French, and what French has to know about each to say it right. */
#ifndef ATTEND_DEMO_LEXICON_H
#define ATTEND_DEMO_LEXICON_H

#include <stdbool.h>

/* What a noun is, so that nobody eats a door. */
enum {
    PERSON = 1,
    ANIMAL = 2,
    THING = 4,
    PLACE = 8,
    MASS = 16, /* has no plural: bread */
    TEXT = 32, /* things too, as are .. */
    LOCKED = 64,
    EDIBLE = 128,
    LIQUID = 256, /* mass too */
    ALIVE = PERSON | ANIMAL,
    OBJECT = THING | TEXT | LOCKED | EDIBLE,
    ANY = ALIVE | OBJECT | PLACE
};

typedef struct demo_noun {
    const char *english[2], *french[2]; /* singular and plural */
    bool feminine;
    unsigned kind;
    bool aspirated; /* le héros, and not l'héros */
} demo_noun;

typedef struct demo_adjective {
    const char *english;
    const char *french[4]; /* masculine, feminine, and both in the plural */
    const char *liaison;   /* masculine before a vowel: bel; NULL: the same */
    bool before;           /* stands before its noun */
    unsigned kinds;        /* of what it is said */
} demo_adjective;

/* Persons: je, tu, il, nous, vous, ils. */
enum { JE, TU, IL, NOUS, VOUS, ILS, PERSONS };

typedef struct demo_verb {
    const char *base, *third, *past; /* see, sees, seen */
    const char *infinitive;
    const char *present[PERSONS];
    const char *participle; /* with avoir; NULL: with être, and so not here */
    const char *future;     /* its stem: verr- */
    unsigned subjects, objects;
} demo_verb;

typedef struct demo_name {
    const char *text;
    bool feminine;
} demo_name;

typedef struct demo_word {
    const char *english, *french;
} demo_word;

extern const demo_noun demo_nouns[];
extern const demo_adjective demo_adjectives[];
extern const demo_verb demo_transitive[], demo_giving[], demo_intransitive[], demo_moving[], demo_saying[],
    demo_modals[];
extern const demo_verb demo_be, demo_have;
extern const demo_name demo_names[];
extern const demo_word demo_places[]; /* prepositions */
extern const demo_word demo_numbers[], demo_adverbs[], demo_times[];

/* How many each list has. */
extern const int demo_noun_count, demo_adjective_count, demo_transitive_count, demo_giving_count,
    demo_intransitive_count, demo_moving_count, demo_saying_count, demo_modal_count, demo_name_count, demo_place_count,
    demo_number_count, demo_adverb_count, demo_time_count;

/* Whether a French word begins with a vowel to the ear; h is taken for mute. */
bool demo_vowel(const char *french);

#endif
