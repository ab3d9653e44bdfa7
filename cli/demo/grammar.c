/* grammar.c: draws the structure of a sentence at random, such that its English has exactly one French translation. */
#include "demo/sentence.h"

#include <string.h>

static int below(demo_sentence *s, int n)
{
    const int i = (int)(attend_rng_uniform(&s->rng, s->drawn++) * n);
    return i < n ? i : n - 1;
}

static bool chance(demo_sentence *s, double p)
{
    return attend_rng_uniform(&s->rng, s->drawn++) < p;
}

static demo_phrase *new_phrase(demo_sentence *s)
{
    if (s->phrase_count == DEMO_MAX_PHRASES) s->too_long = true, s->phrase_count--;
    demo_phrase *p = &s->phrases[s->phrase_count++];
    memset(p, 0, sizeof *p);
    p->person = IL;
    return p;
}

static demo_clause *new_clause(demo_sentence *s)
{
    if (s->clause_count == DEMO_MAX_CLAUSES) s->too_long = true, s->clause_count--;
    demo_clause *c = &s->clauses[s->clause_count++];
    memset(c, 0, sizeof *c);
    return c;
}

/* ---- nouns ---- */

static const demo_noun *draw_noun(demo_sentence *s, unsigned kinds)
{
    for (;;) {
        const demo_noun *n = &demo_nouns[below(s, demo_noun_count)];
        if (n->kind & kinds) return n;
    }
}

/* An adjective that fits the noun and its position; NULL if a few draws find none. */
static const demo_adjective *draw_adjective(demo_sentence *s, unsigned kind, int before)
{
    for (int i = 0; i < 20; i++) {
        const demo_adjective *a = &demo_adjectives[below(s, demo_adjective_count)];
        if ((a->kinds & kind) && (before < 0 || a->before == (before > 0))) return a;
    }
    return NULL;
}

static demo_phrase *draw_name(demo_sentence *s)
{
    demo_phrase *p = new_phrase(s);
    p->kind = DEMO_NAME;
    p->name = &demo_names[below(s, demo_name_count)];
    p->feminine = p->name->feminine;
    return p;
}

static demo_clause *draw_relative(demo_sentence *s, const demo_phrase *of);

/* rich: may have an owner or a relative clause. definite: excludes "some", which "de" would absorb. */
static demo_phrase *draw_noun_phrase(demo_sentence *s, unsigned kinds, bool rich, bool definite)
{
    static const demo_determiner all[] = { DEMO_THE,   DEMO_THE,   DEMO_THE,    DEMO_THE, DEMO_A,   DEMO_A,
                                           DEMO_A,     DEMO_THIS,  DEMO_MY,     DEMO_HIS, DEMO_HER, DEMO_OUR,
                                           DEMO_THEIR, DEMO_EVERY, DEMO_NUMBER, DEMO_MANY };
    demo_phrase *p = new_phrase(s);
    p->noun = draw_noun(s, kinds);
    p->feminine = p->noun->feminine;
    const bool mass = !p->noun->english[1];
    p->determiner = all[below(s, (int)(sizeof all / sizeof *all))];
    if (definite && (p->determiner == DEMO_A || p->determiner == DEMO_MANY)) p->determiner = DEMO_THE;
    if (mass && p->determiner != DEMO_A) p->determiner = DEMO_THE;
    p->plural = !mass && chance(s, 0.35);
    if (p->determiner == DEMO_NUMBER || p->determiner == DEMO_MANY) p->plural = !mass;
    if (p->determiner == DEMO_EVERY) p->plural = false;
    if (p->determiner == DEMO_NUMBER) p->number = &demo_numbers[below(s, demo_number_count)];
    if (chance(s, 0.4)) {
        const demo_adjective *a = draw_adjective(s, p->noun->kind, -1);
        if (a && a->before) p->before = a;
        if (a && !a->before) p->after = a;
        if (p->before && chance(s, 0.3)) p->after = draw_adjective(s, p->noun->kind, 0);
    }
    if (rich && !mass && chance(s, 0.16)) {
        p->determiner = DEMO_OWNED, p->number = NULL;
        p->owner = chance(s, 0.4) ? draw_name(s) : draw_noun_phrase(s, PERSON, false, true);
        if (p->owner->determiner == DEMO_NUMBER || p->owner->determiner == DEMO_EVERY) p->owner->determiner = DEMO_THE;
    } else if (rich && p->determiner == DEMO_THE && !mass && chance(s, 0.2)) {
        p->relative = draw_relative(s, p);
    }
    p->person = p->plural ? ILS : IL;
    return p;
}

static demo_phrase *draw_pronoun(demo_sentence *s, int person)
{
    demo_phrase *p = new_phrase(s);
    p->kind = DEMO_PRONOUN;
    p->person = person;
    p->plural = person >= NOUS;
    p->feminine = person == IL && chance(s, 0.5);
    return p;
}

static demo_phrase *draw_subject(demo_sentence *s, unsigned kinds, bool rich)
{
    static const int persons[] = { JE, IL, IL, NOUS, VOUS, ILS };
    const int way = below(s, 10);
    if (way < 4) return draw_pronoun(s, persons[below(s, 6)]);
    if (way < 5 && (kinds & PERSON)) return draw_name(s);
    if (way < 6 && (kinds & PERSON)) {
        demo_phrase *p = draw_name(s);
        p->kind = DEMO_TWO_NAMES;
        do p->other = &demo_names[below(s, demo_name_count)];
        while (p->other == p->name);
        p->feminine = p->name->feminine && p->other->feminine;
        p->plural = true, p->person = ILS;
        return p;
    }
    return draw_noun_phrase(s, kinds & ALIVE, rich, false);
}

/* An object pronoun other than the subject, which would need a reflexive. */
static demo_phrase *draw_object_pronoun(demo_sentence *s, int subject)
{
    static const int persons[] = { JE, IL, IL, NOUS, VOUS, ILS };
    for (;;) {
        const int person = persons[below(s, 6)];
        const bool first = person == JE || person == NOUS, second = person == VOUS;
        if ((first && (subject == JE || subject == NOUS)) || (second && (subject == VOUS || subject == TU))) continue;
        return draw_pronoun(s, person);
    }
}

/* ---- clauses ---- */

/* who sleeps, that she sees */
static demo_clause *draw_relative(demo_sentence *s, const demo_phrase *of)
{
    demo_clause *c = new_clause(s);
    c->person = of->plural ? ILS : IL;
    if ((of->noun->kind & ALIVE) && chance(s, 0.5)) {
        do c->verb = &demo_intransitive[below(s, demo_intransitive_count)];
        while (!(c->verb->subjects & of->noun->kind) || c->verb->objects);
        if (chance(s, 0.3)) c->polarity = DEMO_NOT;
        return c;
    }
    do c->verb = &demo_transitive[below(s, demo_transitive_count)];
    while (!(c->verb->objects & of->noun->kind));
    c->subject =
        chance(s, 0.7) ? draw_pronoun(s, (const int[]){ JE, IL, IL, NOUS, VOUS, ILS }[below(s, 6)]) : draw_name(s);
    c->person = c->subject->person;
    return c;
}

static void draw_tense(demo_sentence *s, demo_clause *c)
{
    const int way = below(s, 20);
    c->tense = way < 10 ? DEMO_PRESENT : way < 13 ? DEMO_FUTURE : way < 16 ? DEMO_PERFECT : DEMO_MODAL;
    if (c->tense == DEMO_PERFECT && !c->verb->participle) c->tense = DEMO_PRESENT;
    if (c->tense == DEMO_FUTURE && c->person != IL && c->person != ILS)
        c->tense = DEMO_PRESENT; /* fewer forms to learn */
    if (c->tense == DEMO_MODAL) c->modal = &demo_modals[below(s, demo_modal_count)];
    if (chance(s, 0.35)) {
        const int no = below(s, 10);
        c->polarity = no < 6 ? DEMO_NOT : no < 8 || c->tense != DEMO_PRESENT ? DEMO_NEVER : DEMO_NO_LONGER;
        if (c->tense == DEMO_MODAL) c->polarity = DEMO_NOT;
    }
    if (c->polarity == DEMO_POSITIVE && c->tense == DEMO_PRESENT && chance(s, 0.2))
        c->adverb = &demo_adverbs[below(s, demo_adverb_count)];
}

static void draw_place(demo_sentence *s, demo_clause *c)
{
    c->place = &demo_places[below(s, demo_place_count)];
    c->where = draw_noun_phrase(s, PLACE, true, true);
}

/* is tired, is in the garden */
static void draw_copula(demo_sentence *s, demo_clause *c)
{
    c->verb = &demo_be;
    demo_phrase *who = c->subject;
    const unsigned kind = who->kind == DEMO_NOUN ? who->noun->kind : PERSON;
    const bool gender = who->kind != DEMO_PRONOUN || who->person == IL || who->person == ILS || who->person == TU;
    if (gender && chance(s, 0.7)) c->quality = draw_adjective(s, kind, -1);
    if (who->kind == DEMO_NOUN && c->quality && (c->quality == who->after || c->quality == who->before))
        c->quality = NULL;
    c->plural = who->plural, c->feminine = who->feminine;
    if (!c->quality) draw_place(s, c);
    c->tense = chance(s, 0.2) && (c->person == IL || c->person == ILS) ? DEMO_FUTURE : DEMO_PRESENT;
    if (chance(s, 0.3)) c->polarity = chance(s, 0.7) ? DEMO_NOT : DEMO_NEVER;
}

static void draw_transitive(demo_sentence *s, demo_clause *c, unsigned kind)
{
    const bool giving = (kind & PERSON) && chance(s, 0.25);
    do c->verb = giving ? &demo_giving[below(s, demo_giving_count)] : &demo_transitive[below(s, demo_transitive_count)];
    while (!(c->verb->subjects & kind));
    draw_tense(s, c);
    if (giving) {
        c->receiver = chance(s, 0.4)   ? draw_object_pronoun(s, c->person)
                      : chance(s, 0.3) ? draw_name(s)
                                       : draw_noun_phrase(s, PERSON, false, false);
    } else if ((c->verb->objects & PERSON) && chance(s, 0.4)) {
        c->object = draw_object_pronoun(s, c->person);
        const bool third = c->object->person == IL || c->object->person == ILS;
        if (!third && c->tense == DEMO_PERFECT) c->tense = DEMO_PRESENT; /* il m'a vu, or vue? */
        return;
    }
    c->object = draw_noun_phrase(s, c->verb->objects, !c->receiver, false);
    c->object->negated = c->polarity != DEMO_POSITIVE;
}

static void draw_intransitive(demo_sentence *s, demo_clause *c, unsigned kind)
{
    const bool moving = chance(s, 0.5);
    do
        c->verb =
            moving ? &demo_moving[below(s, demo_moving_count)] : &demo_intransitive[below(s, demo_intransitive_count)];
    while (!(c->verb->subjects & kind));
    draw_tense(s, c);
    if (moving) {
        c->moving_from = c->verb != &demo_moving[0] && chance(s, 0.5);
        c->moving_to = !c->moving_from;
        c->where = draw_noun_phrase(s, PLACE, true, true);
    } else if (c->verb->objects || chance(s, 0.6)) {
        draw_place(s, c);
    }
}

static demo_clause *draw_clause(demo_sentence *s, demo_phrase *subject, bool rich)
{
    demo_clause *c = new_clause(s);
    c->subject = subject           ? subject
                 : chance(s, 0.12) ? draw_noun_phrase(s, ANY, rich, false)
                                   : draw_subject(s, ALIVE, rich);
    c->person = c->subject->person;
    const unsigned kind = c->subject->kind == DEMO_NOUN ? c->subject->noun->kind : PERSON;
    const int way = below(s, 10);
    if (!(kind & ALIVE) || way < 2)
        draw_copula(s, c);
    else if (way < 7)
        draw_transitive(s, c, kind);
    else
        draw_intransitive(s, c, kind);
    if (chance(s, 0.12) && !c->quality) {
        const bool future = c->tense == DEMO_FUTURE;
        c->time = &demo_times[future ? demo_time_count - 1 : below(s, demo_time_count - (c->where ? 2 : 1))];
    }
    return c;
}

/* ---- sentences ---- */

static void draw_address(demo_sentence *s)
{
    static const demo_word titles[] = { { "sir", "monsieur" }, { "madam", "madame" } };
    demo_phrase *you = NULL;
    if (chance(s, 0.6)) {
        s->addressee = draw_name(s);
        you = draw_pronoun(s, TU);
        you->feminine = s->addressee->feminine;
    } else {
        const int which = below(s, 2);
        s->title = &titles[which];
        you = draw_pronoun(s, VOUS);
    }
    s->clause = draw_clause(s, you, true);
    if (you->person != TU) return;
    for (int i = 0; i < s->phrase_count; i++) { /* all occurrences of "you" are of the same person */
        demo_phrase *p = &s->phrases[i];
        if (p->kind == DEMO_PRONOUN && p->person == VOUS) p->person = TU, p->plural = false;
    }
    for (int i = 0; i < s->clause_count; i++)
        if (s->clauses[i].person == VOUS) s->clauses[i].person = TU;
}

static void draw_it_is(demo_sentence *s)
{
    demo_clause *c = s->clause = new_clause(s);
    c->verb = &demo_be;
    c->polarity = chance(s, 0.3) ? DEMO_NOT : DEMO_POSITIVE;
    c->object = draw_noun_phrase(s, ANY, true, false);
    if (c->object->determiner == DEMO_EVERY || c->object->determiner == DEMO_MANY) c->object->determiner = DEMO_A;
    c->person = c->object->plural ? ILS : IL;
}

void demo_draw(demo_sentence *s)
{
    s->phrase_count = s->clause_count = s->english_count = s->french_count = 0;
    s->too_long = false;
    s->clause = s->outer = NULL, s->addressee = NULL, s->title = NULL;
    const int way = below(s, 100);
    s->form = way < 62   ? DEMO_PLAIN
              : way < 74 ? DEMO_QUESTION
              : way < 77 ? DEMO_WHY
              : way < 79 ? DEMO_WHERE
              : way < 88 ? DEMO_THAT
              : way < 94 ? DEMO_ADDRESS
                         : DEMO_IT_IS;
    if (s->form == DEMO_ADDRESS) {
        draw_address(s);
    } else if (s->form == DEMO_IT_IS) {
        draw_it_is(s);
    } else if (s->form == DEMO_WHERE) {
        s->clause = new_clause(s);
        s->clause->verb = &demo_be;
        s->clause->subject = chance(s, 0.2) ? draw_name(s) : draw_noun_phrase(s, ANY, true, true);
        demo_phrase *who = s->clause->subject;
        if (who->determiner == DEMO_NUMBER || who->determiner == DEMO_EVERY) who->determiner = DEMO_THE;
        s->clause->person = who->person;
    } else {
        if (s->form == DEMO_THAT) {
            s->outer = new_clause(s);
            s->outer->subject = draw_subject(s, PERSON, false);
            s->outer->person = s->outer->subject->person;
            s->outer->verb = &demo_saying[below(s, demo_saying_count)];
        }
        s->clause = draw_clause(s, NULL, s->form != DEMO_THAT);
    }
}
