/* french.c: the French words of a sentence: agreement, negation around the verb, pronouns before it; then elision and
 * contraction with the following word. Each word is linked to its English words. */
#include "demo/sentence.h"

#include <stdio.h>
#include <string.h>

/* ---- words and links ---- */

static demo_output_word *put_word(demo_sentence *s, const char *word, int from)
{
    if (s->french_count == DEMO_SENTENCE_WORDS) s->too_long = true, s->french_count--;
    demo_output_word *w = &s->french[s->french_count++];
    memset(w, 0, sizeof *w);
    snprintf(w->text, sizeof w->text, "%s", word);
    w->links[0] = from, w->sure[0] = true, w->link_count = 1;
    return w;
}

/* A possible link, to a word with a grammatical function: does, will, to. */
static void link_possible(demo_output_word *w, int from)
{
    if (from < 0 || w->link_count == DEMO_WORD_LINKS || from == w->links[0]) return;
    w->links[w->link_count] = from, w->sure[w->link_count++] = false;
}

static demo_output_word *put_eliding(demo_sentence *s, const char *word, int from)
{
    demo_output_word *w = put_word(s, word, from);
    w->flags |= DEMO_ELIDES;
    return w;
}

static void put_clause(demo_sentence *s, const demo_clause *c);

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

/* Whether the word after the determiner begins with a vowel. */
static bool before_vowel(const demo_phrase *p)
{
    return p->before ? demo_vowel(before_form(p)) : noun_elides(p);
}

static demo_output_word *put_article(demo_sentence *s, const demo_phrase *p, int from)
{
    demo_output_word *w = put_word(s, p->plural ? "les" : p->feminine ? "la" : "le", from);
    w->flags |= DEMO_ARTICLE | (p->plural ? 0 : DEMO_ELIDES);
    return w;
}

static void put_indefinite(demo_sentence *s, const demo_phrase *p)
{
    const int at = p->at_determiner;
    if (p->negated || (p->plural && p->before)) {
        put_eliding(s, "de", at); /* pas de chien, de grands chiens */
    } else if (p->plural) {
        put_word(s, "des", at);
    } else if (p->noun->english[1]) {
        put_word(s, p->feminine ? "une" : "un", at);
    } else {
        put_eliding(s, "de", at); /* du pain, de l'eau */
        put_article(s, p, at);
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
    return row[p->plural ? 2 : p->feminine && !before_vowel(p)];
}

static void put_determiner(demo_sentence *s, const demo_phrase *p)
{
    const int at = p->at_determiner;
    switch (p->determiner) {
    case DEMO_THE:
        put_article(s, p, at);
        break;
    case DEMO_OWNED:
        put_article(s, p, at)->sure[0] = false;
        break; /* English has the owner instead */
    case DEMO_A:
        put_indefinite(s, p);
        break;
    case DEMO_THIS:
        put_word(s, p->plural ? "ces" : p->feminine ? "cette" : before_vowel(p) ? "cet" : "ce", at);
        break;
    case DEMO_EVERY:
        put_word(s, "chaque", at);
        break;
    case DEMO_NUMBER:
        put_word(s, p->number->french, at);
        break;
    case DEMO_MANY:
        put_word(s, "beaucoup", at);
        put_eliding(s, "de", at);
        break;
    case DEMO_MY:
    case DEMO_HIS:
    case DEMO_HER:
    case DEMO_OUR:
    case DEMO_THEIR:
        put_word(s, possessive(p), at);
        break;
    }
}

static void put_pronoun(demo_sentence *s, const demo_phrase *p)
{
    static const char *const words[] = { "je", "tu", "il", "nous", "vous", "ils" };
    demo_output_word *w = put_word(s, p->person == IL && p->feminine ? "elle" : words[p->person], p->at_noun);
    if (p->person == JE) w->flags |= DEMO_ELIDES;
}

static void put_phrase(demo_sentence *s, const demo_phrase *p)
{
    if (p->kind == DEMO_PRONOUN) {
        put_pronoun(s, p);
        return;
    }
    if (p->kind != DEMO_NOUN) {
        put_word(s, p->name->text, p->at_noun);
        if (p->kind == DEMO_TWO_NAMES) put_word(s, "et", p->at_that), put_word(s, p->other->text, p->at_second);
        return;
    }
    put_determiner(s, p);
    if (p->before) put_word(s, before_form(p), p->at_before);
    demo_output_word *noun = put_word(s, p->noun->french[p->plural], p->at_noun);
    if (p->noun->aspirated) noun->flags |= DEMO_HARD;
    if (p->after) put_word(s, adjective_form(p->after, p->feminine, p->plural), p->at_after);
    if (p->owner) {
        put_eliding(s, "de", p->at_determiner);
        put_phrase(s, p->owner);
    }
    if (!p->relative) return;
    if (p->relative->subject)
        put_eliding(s, "que", p->at_that);
    else
        put_word(s, "qui", p->at_that);
    put_clause(s, p->relative);
}

/* ---- verbs ---- */

/* Object pronouns (me, le, lui) precede the verb, or the infinitive if there are two. */
static void put_clitic(demo_sentence *s, const demo_clause *c)
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
    demo_output_word *w = put_word(s, word, p->at_noun);
    if (p->person <= TU || (p->person == IL && !received)) w->flags |= DEMO_ELIDES;
    if (received) link_possible(w, c->at_receiver);
}

static void put_finite(demo_sentence *s, const demo_clause *c)
{
    static const char *const endings[] = { "ai", "as", "a", "ons", "ez", "ont" };
    char text[sizeof s->french[0].text];
    demo_output_word *w = NULL;
    switch (c->tense) {
    case DEMO_PERFECT:
        put_word(s, demo_have.present[c->person], c->at_auxiliary);
        return;
    case DEMO_MODAL:
        w = put_word(s, c->modal->present[c->person], c->at_modal);
        break;
    case DEMO_FUTURE:
        snprintf(text, sizeof text, "%s%s", c->verb->future, endings[c->person]);
        w = put_word(s, text, c->at_verb);
        break;
    case DEMO_PRESENT:
        w = put_word(s, c->verb->present[c->person], c->at_verb);
        break;
    }
    link_possible(w, c->at_auxiliary);
}

/* The participle, which agrees with a preceding pronoun, or the infinitive. */
static void put_rest(demo_sentence *s, const demo_clause *c)
{
    char text[sizeof s->french[0].text];
    if (c->tense == DEMO_PERFECT) {
        const demo_phrase *p = c->object && c->object->kind == DEMO_PRONOUN ? c->object : NULL;
        const size_t size = strlen(c->verb->participle);
        const bool feminine = p && p->feminine, ends_in_s = c->verb->participle[size - 1] == 's';
        const bool adds_s = p && p->plural && (feminine || !ends_in_s);
        snprintf(text, sizeof text, "%s%s%s", c->verb->participle, feminine ? "e" : "", adds_s ? "s" : "");
        put_word(s, text, c->at_verb);
    } else if (c->tense == DEMO_MODAL) {
        put_clitic(s, c);
        link_possible(put_word(s, c->verb->infinitive, c->at_verb), c->at_to);
    }
}

static void put_ne(demo_sentence *s, const demo_clause *c)
{
    if (c->polarity == DEMO_POSITIVE) return;
    link_possible(put_eliding(s, "ne", c->at_not), c->at_longer);
}

static void put_pas(demo_sentence *s, const demo_clause *c)
{
    if (c->polarity == DEMO_NOT) put_word(s, "pas", c->at_not);
    if (c->polarity == DEMO_NEVER) put_word(s, "jamais", c->at_not);
    if (c->polarity == DEMO_NO_LONGER) link_possible(put_word(s, "plus", c->at_longer), c->at_not);
}

static void put_where(demo_sentence *s, const demo_clause *c)
{
    if (!c->where) return;
    if (c->place) put_word(s, c->place->french, c->at_preposition);
    if (c->moving_to) put_word(s, "à", c->at_preposition);
    if (c->moving_from || (c->place && strcmp(c->place->french, "près") == 0)) put_eliding(s, "de", c->at_preposition);
    put_phrase(s, c->where);
}

static void put_predicate(demo_sentence *s, const demo_clause *c)
{
    put_ne(s, c);
    if (c->tense != DEMO_MODAL) put_clitic(s, c);
    put_finite(s, c);
    put_pas(s, c);
    if (c->adverb) put_word(s, c->adverb->french, c->at_adverb);
    put_rest(s, c);
    if (c->quality) put_word(s, adjective_form(c->quality, c->feminine, c->plural), c->at_quality);
    if (c->object && c->object->kind != DEMO_PRONOUN) put_phrase(s, c->object);
    if (c->receiver && c->receiver->kind != DEMO_PRONOUN) {
        put_word(s, "à", c->at_receiver);
        put_phrase(s, c->receiver);
    }
    put_where(s, c);
    if (c->time) put_word(s, c->time->french, c->at_time);
}

static void put_clause(demo_sentence *s, const demo_clause *c)
{
    if (c->subject) put_phrase(s, c->subject);
    put_predicate(s, c);
}

/* ---- neighbouring words ---- */

/* l' homme, j' ai, n' est, d' eau, qu' elle */
static void elide(demo_sentence *s)
{
    for (int i = 0; i + 1 < s->french_count; i++) {
        demo_output_word *w = &s->french[i], *next = &s->french[i + 1];
        if (!(w->flags & DEMO_ELIDES) || (next->flags & DEMO_HARD) || !demo_vowel(next->text)) continue;
        w->text[strlen(w->text) - 1] = '\'';
    }
}

/* Contractions (du, des, au, aux): one word with the links of both. */
static void contract(demo_sentence *s)
{
    int n = 0;
    for (int i = 0; i < s->french_count; i++) {
        demo_output_word w = s->french[i];
        const demo_output_word *next = i + 1 < s->french_count ? &s->french[i + 1] : NULL;
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

static void put_question(demo_sentence *s)
{
    link_possible(put_word(s, "est-ce", s->clause->at_auxiliary), s->at_end);
    link_possible(put_eliding(s, "que", s->clause->at_auxiliary), s->at_end);
    put_clause(s, s->clause);
}

void demo_write_french(demo_sentence *s)
{
    if (s->addressee) put_phrase(s, s->addressee);
    if (s->title) put_word(s, s->title->french, s->at_first);
    if (s->form == DEMO_ADDRESS) put_word(s, ",", s->at_comma);
    if (s->form == DEMO_WHY) put_word(s, "pourquoi", s->at_first);
    if (s->outer) {
        put_clause(s, s->outer);
        put_eliding(s, "que", s->at_that);
    }
    if (s->form == DEMO_QUESTION || s->form == DEMO_WHY) {
        put_question(s);
    } else if (s->form == DEMO_WHERE) {
        put_word(s, "où", s->at_first);
        put_predicate(s, s->clause);
        put_phrase(s, s->clause->subject);
    } else {
        if (s->form == DEMO_IT_IS) put_eliding(s, "ce", s->at_first);
        put_clause(s, s->clause);
    }
    put_word(s, s->form == DEMO_QUESTION || s->form == DEMO_WHY || s->form == DEMO_WHERE ? "?" : ".", s->at_end);
    elide(s);
    contract(s);
}
