/* french.c: the French words of a sentence: agreement, negation around the verb, pronouns before it; then elision and contraction, by what stands
 * behind a word. Each word says from which English ones it comes. */
#include "demo/sentence.h"

#include <stdio.h>
#include <string.h>

/* ---- words and links ---- */

static demo_spoken *say(demo_sentence *s, const char *word, int from)
{
    if (s->french_count == DEMO_SENTENCE_WORDS) s->too_long = true, s->french_count--;
    demo_spoken *w = &s->french[s->french_count++];
    memset(w, 0, sizeof *w);
    snprintf(w->text, sizeof w->text, "%s", word);
    w->links[0] = from, w->sure[0] = true, w->link_count = 1;
    return w;
}

/* A link that is there for grammar's sake: does, will, to. */
static void maybe(demo_spoken *w, int from)
{
    if (from < 0 || w->link_count == DEMO_WORD_LINKS || from == w->links[0]) return;
    w->links[w->link_count] = from, w->sure[w->link_count++] = false;
}

static demo_spoken *say_eliding(demo_sentence *s, const char *word, int from)
{
    demo_spoken *w = say(s, word, from);
    w->flags |= DEMO_ELIDES;
    return w;
}

static void say_clause(demo_sentence *s, const demo_clause *c);

/* ---- nouns ---- */

static const char *adjective_form(const demo_adjective *a, bool feminine, bool plural)
{
    return a->french[feminine + 2 * plural];
}

static bool noun_elides(const demo_phrase *p)
{
    return !p->noun->aspirated && demo_vowel(p->noun->french[p->plural]);
}

static const char *before_form(const demo_phrase *p)
{
    const bool liaison = p->before->liaison && !p->feminine && !p->plural && noun_elides(p);
    return liaison ? p->before->liaison : adjective_form(p->before, p->feminine, p->plural);
}

/* What stands behind the determiner begins with a vowel. */
static bool elided(const demo_phrase *p)
{
    return p->before ? demo_vowel(before_form(p)) : noun_elides(p);
}

static demo_spoken *say_article(demo_sentence *s, const demo_phrase *p, int from)
{
    demo_spoken *w = say(s, p->plural ? "les" : p->feminine ? "la" : "le", from);
    w->flags |= DEMO_ARTICLE | (p->plural ? 0 : DEMO_ELIDES);
    return w;
}

static void say_indefinite(demo_sentence *s, const demo_phrase *p)
{
    const int at = p->at_determiner;
    if (p->negated || (p->plural && p->before)) {
        say_eliding(s, "de", at); /* pas de chien, de grands chiens */
    } else if (p->plural) {
        say(s, "des", at);
    } else if (p->noun->english[1]) {
        say(s, p->feminine ? "une" : "un", at);
    } else {
        say_eliding(s, "de", at); /* du pain, de l'eau */
        say_article(s, p, at);
    }
}

static const char *possessive(const demo_phrase *p)
{
    static const char *const mine[] = { "mon", "ma", "mes" }, *const his[] = { "son", "sa", "ses" },
                             *const our[] = { "notre", "notre", "nos" }, *const their[] = { "leur", "leur", "leurs" };
    const char *const *row = p->determiner == DEMO_MY      ? mine
                             : p->determiner == DEMO_OUR   ? our
                             : p->determiner == DEMO_THEIR ? their
                                                           : his;
    return row[p->plural ? 2 : p->feminine && !elided(p)];
}

static void say_determiner(demo_sentence *s, const demo_phrase *p)
{
    const int at = p->at_determiner;
    switch (p->determiner) {
    case DEMO_THE:
        say_article(s, p, at);
        break;
    case DEMO_OWNED:
        say_article(s, p, at)->sure[0] = false;
        break; /* the owner stands for it in English */
    case DEMO_A:
        say_indefinite(s, p);
        break;
    case DEMO_THIS:
        say(s, p->plural ? "ces" : p->feminine ? "cette" : elided(p) ? "cet" : "ce", at);
        break;
    case DEMO_EVERY:
        say(s, "chaque", at);
        break;
    case DEMO_NUMBER:
        say(s, p->number->french, at);
        break;
    case DEMO_MANY:
        say(s, "beaucoup", at);
        say_eliding(s, "de", at);
        break;
    case DEMO_MY:
    case DEMO_HIS:
    case DEMO_HER:
    case DEMO_OUR:
    case DEMO_THEIR:
        say(s, possessive(p), at);
        break;
    }
}

static void say_pronoun(demo_sentence *s, const demo_phrase *p)
{
    static const char *const words[] = { "je", "tu", "il", "nous", "vous", "ils" };
    demo_spoken *w = say(s, p->person == IL && p->feminine ? "elle" : words[p->person], p->at_noun);
    if (p->person == JE) w->flags |= DEMO_ELIDES;
}

static void say_phrase(demo_sentence *s, const demo_phrase *p)
{
    if (p->kind == DEMO_PRONOUN) {
        say_pronoun(s, p);
        return;
    }
    if (p->kind != DEMO_NOUN) {
        say(s, p->name->text, p->at_noun);
        if (p->kind == DEMO_TWO_NAMES) say(s, "et", p->at_that), say(s, p->other->text, p->at_second);
        return;
    }
    say_determiner(s, p);
    if (p->before) say(s, before_form(p), p->at_before);
    demo_spoken *noun = say(s, p->noun->french[p->plural], p->at_noun);
    if (p->noun->aspirated) noun->flags |= DEMO_HARD;
    if (p->behind) say(s, adjective_form(p->behind, p->feminine, p->plural), p->at_behind);
    if (p->owner) {
        say_eliding(s, "de", p->at_determiner);
        say_phrase(s, p->owner);
    }
    if (!p->relative) return;
    if (p->relative->subject)
        say_eliding(s, "que", p->at_that);
    else
        say(s, "qui", p->at_that);
    say_clause(s, p->relative);
}

/* ---- verbs ---- */

/* me, le, lui: before the verb, and before the infinitive of two. */
static void say_clitic(demo_sentence *s, const demo_clause *c)
{
    static const char *const direct[] = { "me", "te", "le", "nous", "vous", "les" }, *const indirect[] = {
        "me", "te", "lui", "nous", "vous", "leur"
    };
    const demo_phrase *p = c->object && c->object->kind == DEMO_PRONOUN       ? c->object
                           : c->receiver && c->receiver->kind == DEMO_PRONOUN ? c->receiver
                                                                              : NULL;
    if (!p) return;
    const bool received = p == c->receiver;
    const char *word = (received ? indirect : direct)[p->person];
    if (!received && p->person == IL && p->feminine) word = "la";
    demo_spoken *w = say(s, word, p->at_noun);
    if (p->person <= TU || (p->person == IL && !received)) w->flags |= DEMO_ELIDES;
    if (received) maybe(w, c->at_receiver);
}

static void say_finite(demo_sentence *s, const demo_clause *c)
{
    static const char *const endings[] = { "ai", "as", "a", "ons", "ez", "ont" };
    char text[sizeof s->french[0].text];
    demo_spoken *w = NULL;
    switch (c->tense) {
    case DEMO_PERFECT:
        say(s, demo_have.present[c->person], c->at_auxiliary);
        return;
    case DEMO_MODAL:
        w = say(s, c->modal->present[c->person], c->at_modal);
        break;
    case DEMO_FUTURE:
        snprintf(text, sizeof text, "%s%s", c->verb->future, endings[c->person]);
        w = say(s, text, c->at_verb);
        break;
    case DEMO_PRESENT:
        w = say(s, c->verb->present[c->person], c->at_verb);
        break;
    }
    maybe(w, c->at_auxiliary);
}

/* What is not finite: vu, which agrees with a pronoun before it, or voir. */
static void say_rest(demo_sentence *s, const demo_clause *c)
{
    char text[sizeof s->french[0].text];
    if (c->tense == DEMO_PERFECT) {
        const demo_phrase *p = c->object && c->object->kind == DEMO_PRONOUN ? c->object : NULL;
        const size_t size = strlen(c->verb->participle);
        const bool feminine = p && p->feminine, ends_in_s = c->verb->participle[size - 1] == 's';
        const bool s_behind = p && p->plural && (feminine || !ends_in_s);
        snprintf(text, sizeof text, "%s%s%s", c->verb->participle, feminine ? "e" : "", s_behind ? "s" : "");
        say(s, text, c->at_verb);
    } else if (c->tense == DEMO_MODAL) {
        say_clitic(s, c);
        maybe(say(s, c->verb->infinitive, c->at_verb), c->at_to);
    }
}

static void say_ne(demo_sentence *s, const demo_clause *c)
{
    if (c->polarity == DEMO_POSITIVE) return;
    maybe(say_eliding(s, "ne", c->at_not), c->at_longer);
}

static void say_pas(demo_sentence *s, const demo_clause *c)
{
    if (c->polarity == DEMO_NOT) say(s, "pas", c->at_not);
    if (c->polarity == DEMO_NEVER) say(s, "jamais", c->at_not);
    if (c->polarity == DEMO_NO_LONGER) maybe(say(s, "plus", c->at_longer), c->at_not);
}

static void say_where(demo_sentence *s, const demo_clause *c)
{
    if (!c->where) return;
    if (c->place) say(s, c->place->french, c->at_preposition);
    if (c->moving_to) say(s, "à", c->at_preposition);
    if (c->moving_from || (c->place && strcmp(c->place->french, "près") == 0)) say_eliding(s, "de", c->at_preposition);
    say_phrase(s, c->where);
}

static void say_predicate(demo_sentence *s, const demo_clause *c)
{
    say_ne(s, c);
    if (c->tense != DEMO_MODAL) say_clitic(s, c);
    say_finite(s, c);
    say_pas(s, c);
    if (c->adverb) say(s, c->adverb->french, c->at_adverb);
    say_rest(s, c);
    if (c->quality) say(s, adjective_form(c->quality, c->feminine, c->plural), c->at_quality);
    if (c->object && c->object->kind != DEMO_PRONOUN) say_phrase(s, c->object);
    if (c->receiver && c->receiver->kind != DEMO_PRONOUN) {
        say(s, "à", c->at_receiver);
        say_phrase(s, c->receiver);
    }
    say_where(s, c);
    if (c->time) say(s, c->time->french, c->at_time);
}

static void say_clause(demo_sentence *s, const demo_clause *c)
{
    if (c->subject) say_phrase(s, c->subject);
    say_predicate(s, c);
}

/* ---- what stands side by side ---- */

/* l' homme, j' ai, n' est, d' eau, qu' elle */
static void elide(demo_sentence *s)
{
    for (int i = 0; i + 1 < s->french_count; i++) {
        demo_spoken *w = &s->french[i], *next = &s->french[i + 1];
        if (!(w->flags & DEMO_ELIDES) || (next->flags & DEMO_HARD) || !demo_vowel(next->text)) continue;
        w->text[strlen(w->text) - 1] = '\'';
    }
}

/* du, des, au, aux: one word that comes from what both came from. */
static void contract(demo_sentence *s)
{
    int n = 0;
    for (int i = 0; i < s->french_count; i++) {
        demo_spoken w = s->french[i];
        const demo_spoken *next = i + 1 < s->french_count ? &s->french[i + 1] : NULL;
        const bool of = strcmp(w.text, "de") == 0, to = strcmp(w.text, "à") == 0;
        const bool article = next && (next->flags & DEMO_ARTICLE);
        const bool masculine = article && strcmp(next->text, "le") == 0,
                   plural = article && strcmp(next->text, "les") == 0;
        if ((of || to) && (masculine || plural)) {
            snprintf(w.text, sizeof w.text, "%s", of ? (plural ? "des" : "du") : plural ? "aux" : "au");
            for (int k = 0; k < next->link_count; k++) {
                if (next->links[k] == w.links[0]) continue;
                w.links[w.link_count] = next->links[k], w.sure[w.link_count++] = next->sure[k];
            }
            i++;
        }
        s->french[n++] = w;
    }
    s->french_count = n;
}

/* ---- sentences ---- */

static void say_question(demo_sentence *s)
{
    maybe(say(s, "est-ce", s->clause->at_auxiliary), s->at_end);
    maybe(say_eliding(s, "que", s->clause->at_auxiliary), s->at_end);
    say_clause(s, s->clause);
}

void demo_say_french(demo_sentence *s)
{
    if (s->said_to) say_phrase(s, s->said_to);
    if (s->title) say(s, s->title->french, s->at_first);
    if (s->form == DEMO_ADDRESS) say(s, ",", s->at_comma);
    if (s->form == DEMO_WHY) say(s, "pourquoi", s->at_first);
    if (s->outer) {
        say_clause(s, s->outer);
        say_eliding(s, "que", s->at_that);
    }
    if (s->form == DEMO_QUESTION || s->form == DEMO_WHY) {
        say_question(s);
    } else if (s->form == DEMO_WHERE) {
        say(s, "où", s->at_first);
        say_predicate(s, s->clause);
        say_phrase(s, s->clause->subject);
    } else {
        if (s->form == DEMO_IT_IS) say_eliding(s, "ce", s->at_first);
        say_clause(s, s->clause);
    }
    say(s, s->form == DEMO_QUESTION || s->form == DEMO_WHY || s->form == DEMO_WHERE ? "?" : ".", s->at_end);
    elide(s);
    contract(s);
}
