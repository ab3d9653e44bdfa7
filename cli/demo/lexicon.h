/* lexicon.h: the words of the built-in pairs in English and French, with their French inflection. */
#ifndef ATTEND_DEMO_LEXICON_H
#define ATTEND_DEMO_LEXICON_H

#include <stdbool.h>

/* Semantic classes of nouns, by which verbs and adjectives select them. */
enum {
    PERSON = 1,
    ANIMAL = 2,
    THING = 4,
    PLACE = 8,
    MASS = 16, /* no plural: bread */
    TEXT = 32, /* TEXT, LOCKED and EDIBLE are things too */
    LOCKED = 64,
    EDIBLE = 128,
    LIQUID = 256, /* also a mass noun */
    ALIVE = PERSON | ANIMAL,
    OBJECT = THING | TEXT | LOCKED | EDIBLE,
    ANY = ALIVE | OBJECT | PLACE
};

typedef struct demo_noun {
    const char *english[2], *french[2]; /* singular and plural */
    bool feminine;
    unsigned kind;
    bool aspirated; /* le héros, not l'héros */
} demo_noun;

typedef struct demo_adjective {
    const char *english;
    const char *french[4]; /* masculine, feminine; the same in the plural */
    const char *liaison;   /* masculine before a vowel: bel; NULL: the same */
    bool before;           /* precedes its noun */
    unsigned kinds;        /* of nouns that it modifies */
} demo_adjective;

/* Persons: je, tu, il, nous, vous, ils. */
enum { JE, TU, IL, NOUS, VOUS, ILS, PERSONS };

typedef struct demo_verb {
    const char *base, *third, *past; /* see, sees, seen */
    const char *infinitive;
    const char *present[PERSONS];
    const char *participle; /* with avoir; NULL: with être, which is not used */
    const char *future;     /* stem: verr- */
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

/* The lengths of the lists. */
extern const int demo_noun_count, demo_adjective_count, demo_transitive_count, demo_giving_count,
    demo_intransitive_count, demo_moving_count, demo_saying_count, demo_modal_count, demo_name_count, demo_place_count,
    demo_number_count, demo_adverb_count, demo_time_count;

/* Whether a French word begins with a vowel sound; h counts as mute. */
bool demo_vowel(const char *french);

#endif
