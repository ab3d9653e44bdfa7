/* demo_pairs.h: the built-in pairs: English and French sentences made by a grammar, with the links between their words that it knows of.
 *
 * Purpose    Something to train on at once, and to check attention against. Pair i of a seed is a function of both: as many as you like, in any
 *            order, on any machine the same. A source has one target, whatever the seed.
 * Held out   A sentence is held out or not by its source alone, so that no held-out source is ever among the training ones, of any seed.
 * Words      stand between blanks: punctuation apart, and what French elides too ("l' homme", "je n' ai pas"), so that an article is one word
 *            and its noun another, and a link can tell them apart. What is contracted (du, des, au, aux) is one word with links to two.
 * Links      Every target word has one at least. Those of words that say the same are sure; of words that are only there for grammar's sake (the
 *            do of a question, will, to, and the article of "le chien du roi", the king 's dog) possible.
 * Threads    No state. Nothing here allocates or fails. */
#ifndef ATTEND_CLI_DEMO_PAIRS_H
#define ATTEND_CLI_DEMO_PAIRS_H

#include <attend/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DEMO_TEXT = 512, /* bytes of a side, the '\0' included */
    DEMO_LINKS = 96,
    DEMO_MAX_WORDS = 16 /* words of a source at most */
};

typedef struct demo_pair {
    char source[DEMO_TEXT], target[DEMO_TEXT];
    int source_words, target_words;
    attend_word_link links[DEMO_LINKS]; /* by target */
    int link_count;
} demo_pair;

void demo_pairs_at(uint64_t seed, bool held_out, uint64_t i, demo_pair *out);
/* Whether a source is among the held-out ones. */
bool demo_pairs_held_out(const char *source);

#ifdef __cplusplus
}
#endif
#endif
