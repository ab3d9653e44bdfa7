/* english.c: the English words of a sentence; records their indices, to which the French words are linked. */
#include "demo/sentence.h"

#include <stdio.h>
#include <string.h>

static int put_word(demo_sentence *s, const char *word)
{
    if (s->english_count == DEMO_SENTENCE_WORDS) {
        s->too_long = true;
        return 0;
    }
    demo_output_word *w = &s->english[s->english_count];
    snprintf(w->text, sizeof w->text, "%s", word);
    w->flags = strcmp(word, "a") == 0 ? DEMO_ARTICLE : 0;
    return s->english_count++;
}

static void put_clause(demo_sentence *s, demo_clause *c, bool question);

/* ---- nouns ---- */

static const char *determiner_of(const demo_phrase *p)
{
    static const char *const words[] = {
        [DEMO_THE] = "the", [DEMO_MY] = "my",       [DEMO_HIS] = "his",     [DEMO_HER] = "her",
        [DEMO_OUR] = "our", [DEMO_THEIR] = "their", [DEMO_EVERY] = "every", [DEMO_MANY] = "many"
    };
    if (p->determiner == DEMO_THIS) return p->plural ? "these" : "this";
    if (p->determiner == DEMO_NUMBER) return p->number->english;
    if (p->determiner != DEMO_A) return words[p->determiner];
    if (!p->plural && p->noun->english[1]) return "a";
    return p->negated ? "any" : "some";
}

/* the king 's, the kings ', the children 's */
static const char *genitive_of(const demo_phrase *owner)
{
    const char *const word = owner->kind == DEMO_NOUN && owner->plural ? owner->noun->english[1] : "";
    return *word && word[strlen(word) - 1] == 's' ? "'" : "'s";
}

/* object: him, not he */
static void put_phrase(demo_sentence *s, demo_phrase *p, bool object)
{
    static const char *const subjects[] = { "I", "you", "he", "we", "you", "they" }, *const objects[] = {
        "me", "you", "him", "us", "you", "them"
    };
    p->at_determiner = p->at_before = p->at_after = p->at_noun = p->at_second = p->at_that = -1;
    if (p->kind == DEMO_PRONOUN) {
        const char *word = (object ? objects : subjects)[p->person];
        p->at_noun = put_word(s, p->feminine && p->person == IL ? (object ? "her" : "she") : word);
        return;
    }
    if (p->kind != DEMO_NOUN) {
        p->at_noun = put_word(s, p->name->text);
        if (p->kind == DEMO_TWO_NAMES) p->at_that = put_word(s, "and"), p->at_second = put_word(s, p->other->text);
        return;
    }
    if (p->owner) put_phrase(s, p->owner, false);
    p->at_determiner = put_word(s, p->owner ? genitive_of(p->owner) : determiner_of(p));
    if (p->before) p->at_before = put_word(s, p->before->english);
    if (p->after) p->at_after = put_word(s, p->after->english);
    p->at_noun = put_word(s, p->noun->english[p->plural]);
    if (!p->relative) return;
    p->at_that = put_word(s, !p->relative->subject && p->noun->kind == PERSON ? "who" : "that");
    put_clause(s, p->relative, false);
}

/* ---- verbs ---- */

static const char *be(int person)
{
    return person == JE ? "am" : person == IL ? "is" : "are";
}

/* The auxiliary, which moves to the front in a question and precedes "not"; NULL: none. */
static const char *auxiliary_of(const demo_clause *c, bool question)
{
    const bool is_want = c->tense == DEMO_MODAL && c->modal == &demo_modals[0];
    if (c->tense == DEMO_FUTURE) return "will";
    if (c->tense == DEMO_PERFECT) return c->person == IL ? "has" : "have";
    if (c->tense == DEMO_MODAL && !is_want) return c->modal->base;
    if (c->verb == &demo_be) return be(c->person);
    return question || c->polarity == DEMO_NOT ? (c->person == IL ? "does" : "do") : NULL;
}

static void put_negation(demo_sentence *s, demo_clause *c)
{
    if (c->polarity == DEMO_NO_LONGER) c->at_not = put_word(s, "no"), c->at_longer = put_word(s, "longer");
    if (c->polarity == DEMO_NOT) c->at_not = put_word(s, "not");
    if (c->polarity == DEMO_NEVER) c->at_not = put_word(s, "never");
}

static void put_verb(demo_sentence *s, demo_clause *c)
{
    const bool third = c->at_auxiliary < 0 && c->person == IL; /* sees, not see */
    if (c->tense == DEMO_MODAL) {
        if (c->modal == &demo_modals[0])
            c->at_modal = put_word(s, third ? c->modal->third : c->modal->base), c->at_to = put_word(s, "to");
        else
            c->at_modal = c->at_auxiliary;
        c->at_verb = put_word(s, c->verb->base);
    } else if (c->verb == &demo_be && c->tense == DEMO_PRESENT) {
        c->at_verb = c->at_auxiliary;
    } else {
        c->at_verb = put_word(s, c->tense == DEMO_PERFECT ? c->verb->past : third ? c->verb->third : c->verb->base);
    }
}

static const char *preposition_of(const demo_clause *c)
{
    if (c->place) return c->place->english;
    return c->moving_from ? "from" : strcmp(c->verb->base, "arrive") == 0 ? "at" : "to";
}

static void put_clause(demo_sentence *s, demo_clause *c, bool question)
{
    const char *const auxiliary = auxiliary_of(c, question);
    c->at_auxiliary = c->at_not = c->at_longer = c->at_verb = c->at_modal = c->at_to = c->at_adverb = -1;
    c->at_quality = c->at_preposition = c->at_receiver = c->at_time = -1;
    if (question) c->at_auxiliary = put_word(s, auxiliary);
    if (c->subject) put_phrase(s, c->subject, false);
    if (!question && auxiliary) c->at_auxiliary = put_word(s, auxiliary);
    put_negation(s, c);
    if (c->adverb) c->at_adverb = put_word(s, c->adverb->english);
    put_verb(s, c);
    if (c->quality) c->at_quality = put_word(s, c->quality->english);
    if (c->object) put_phrase(s, c->object, true);
    if (c->receiver) c->at_receiver = put_word(s, "to"), put_phrase(s, c->receiver, true);
    if (c->where) c->at_preposition = put_word(s, preposition_of(c)), put_phrase(s, c->where, false);
    if (c->time) c->at_time = put_word(s, c->time->english);
}

/* ---- sentences ---- */

/* "a" becomes "an" before a vowel. */
static void correct_articles(demo_sentence *s)
{
    for (int i = 0; i + 1 < s->english_count; i++)
        if ((s->english[i].flags & DEMO_ARTICLE) && strchr("aeiouAEIOU", s->english[i + 1].text[0]))
            snprintf(s->english[i].text, sizeof s->english[i].text, "an");
}

void demo_write_english(demo_sentence *s)
{
    const bool question = s->form == DEMO_QUESTION || s->form == DEMO_WHY || s->form == DEMO_WHERE;
    s->at_first = s->at_comma = s->at_that = -1;
    if (s->addressee) put_phrase(s, s->addressee, false);
    if (s->title) s->at_first = put_word(s, s->title->english);
    if (s->form == DEMO_ADDRESS) s->at_comma = put_word(s, ",");
    if (s->form == DEMO_WHY) s->at_first = put_word(s, "why");
    if (s->form == DEMO_WHERE) s->at_first = put_word(s, "where");
    if (s->outer) put_clause(s, s->outer, false), s->at_that = put_word(s, "that");
    if (s->form == DEMO_IT_IS) s->at_first = put_word(s, s->clause->person == ILS ? "they" : "it");
    put_clause(s, s->clause, question);
    s->at_end = put_word(s, question ? "?" : ".");
    correct_articles(s);
}
