/* config.c: the table of configuration fields, made from the list in attend/config.h: text to fields and back,
 * and ranges. */
#include <attend/config.h>

#include "core/status.h"
#include "model/architecture.h"
#include "model/config.h"
#include <attend/parse.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHOICES = 32, MAX_VALUES_TEXT = 256 };

typedef struct field {
    attend_config_field public;
    size_t offset;   /* of the member */
    double min, max; /* of INTEGER and REAL */
} field;

/* ---- the table ---- */

/* The values of these two fields are lists that exist elsewhere: attend_architectures and attend_scores. */
static char architecture_values[MAX_VALUES_TEXT], score_values[MAX_VALUES_TEXT];

/* The words of the list: sets of architectures, */
enum {
    RNN = 1 << ATTEND_ARCHITECTURE_RNN,
    TRANSFORMER = 1 << ATTEND_ARCHITECTURE_TRANSFORMER,
    LSTMN = 1 << ATTEND_ARCHITECTURE_LSTMN,
    RECURRENT = RNN | LSTMN,
    NONE = 0,
    ALL = ~0
};
/* what a field has an effect on, */
enum { MODEL = false, TRAINING = true };
/* what happens where it has none, */
enum { IGNORED = false, REFUSED = true };
/* and values. */
#define RANGE(kind, from, to)                                                                                          \
    .public.type = ATTEND_FIELD_##kind, .public.values = #from ".." #to, .min = from, .max = to
#define INTEGER(from, to) RANGE(INTEGER, from, to)
#define REAL(from, to)    RANGE(REAL, from, to)
#define SWITCH            .public.type = ATTEND_FIELD_SWITCH, .public.values = "yes|no"
#define CHOICE(names)     .public.type = ATTEND_FIELD_CHOICE, .public.values = names
#define ARCHITECTURE      CHOICE(architecture_values)
#define SCORE             .public.type = ATTEND_FIELD_SCORE, .public.values = score_values

#define ENTRY(of_member, first_version, effect, of_translation, of_language_model, elsewhere, text, ...)               \
    { .offset = offsetof(attend_config, of_member),                                                                    \
      .public.since = first_version,                                                                                   \
      .public.training_only = effect,                                                                                  \
      .public.translation = (unsigned)(of_translation),                                                                \
      .public.language_model = (unsigned)(of_language_model),                                                          \
      .public.refused_elsewhere = elsewhere,                                                                           \
      .public.help = text,                                                                                             \
      __VA_ARGS__ },
#define FIELD(type, member, current, values, value, since, effect, translation, language_model, elsewhere, help)       \
    ENTRY(member, since, effect, translation, language_model, elsewhere, help, .public.name = current,                 \
          .public.key = current, values)
#define RENAMED(type, member, current, values, value, since, effect, translation, language_model, elsewhere, help,     \
                old)                                                                                                   \
    ENTRY(member, since, effect, translation, language_model, elsewhere, help, .public.name = current,                 \
          .public.old_name = old, .public.key = old, values)

/* Ranges keep every width that a model adds up or multiplies by its gates far below INT_MAX; areas (rows times width)
 * may exceed an int and are size_t everywhere. */
static const field fields[] = { ATTEND_CONFIG_FIELDS(FIELD, RENAMED) };

_Static_assert(ATTEND_MAX_LAYERS == 8, "the range of layers and decoder-layers");

static void append(char *text, const char *name)
{
    const size_t length = strlen(text);
    snprintf(text + length, MAX_VALUES_TEXT - length, "%s%s", length ? "|" : "", name);
}

static void make_values(void)
{
    for (const architecture *const *a = attend_architectures; *a; a++) append(architecture_values, (*a)->name);
    append(score_values, "none"); /* those of the user are registered later */
    for (const attend_score *const *score = attend_scores; *score; score++) append(score_values, (*score)->name);
}

static const field *field_at(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_values);
    return i >= 0 && i < ATTEND_CONFIG_FIELD_COUNT ? &fields[i] : NULL;
}

const attend_config_field *attend_config_field_at(int i)
{
    const field *f = field_at(i);
    return f ? &f->public : NULL;
}

int attend_config_field_find(const char *name)
{
    ATTEND_REQUIRE(0, name);
    for (int i = 0; i < ATTEND_CONFIG_FIELD_COUNT; i++) {
        const attend_config_field *f = &fields[i].public;
        if (strcmp(f->name, name) == 0 || (f->old_name && strcmp(f->old_name, name) == 0)) return i;
    }
    return -1;
}

static const field *field_of(const char *name)
{
    const field *f = field_at(attend_config_field_find(name));
    if (f) return f;
    const char *names[ATTEND_CONFIG_FIELD_COUNT];
    for (int i = 0; i < ATTEND_CONFIG_FIELD_COUNT; i++) names[i] = fields[i].public.name;
    const char *closest = attend_closest_word(name, names, ATTEND_CONFIG_FIELD_COUNT);
    attend_fail(ATTEND_BAD_USAGE, "a model has no field '%s'%s%s%s", name, closest ? "; did you mean '" : "",
                closest ? closest : "", closest ? "'?" : "");
    return NULL;
}

/* ---- from text ---- */

/* The names in a list such as "yes|no". */
typedef struct choices {
    char text[MAX_VALUES_TEXT];
    const char *names[MAX_CHOICES];
    int count;
} choices;

static void split_choices(const field *f, choices *c)
{
    snprintf(c->text, sizeof c->text, "%s", f->public.values);
    c->count = 0;
    for (char *rest = c->text, *name; c->count < MAX_CHOICES && (name = strtok_r(rest, "|", &rest));)
        c->names[c->count++] = name;
}

static int refuse_value(const field *f, const char *value)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s", f->public.name, value, f->public.values);
}

/* The index of a name in the list, or -1 and a message. */
static int choice_of(const field *f, const char *value)
{
    choices c;
    split_choices(f, &c);
    for (int i = 0; i < c.count; i++)
        if (strcmp(c.names[i], value) == 0) return i;
    const char *closest = attend_closest_word(value, c.names, (size_t)c.count);
    if (closest)
        attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s; did you mean '%s'?", f->public.name, value,
                    f->public.values, closest);
    else
        refuse_value(f, value);
    return -1;
}

/* A score function by its name, which may be registered at any time, so that the list of values does not have it. */
static int set_score(const field *f, const attend_score **to, const char *value)
{
    choices c;
    split_choices(f, &c);
    *to = attend_score_find(value);
    if (*to || strcmp(value, "none") == 0) return ATTEND_OK;
    const char *closest = attend_closest_word(value, c.names, (size_t)c.count);
    return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s; %s%s%s", f->public.name, value, f->public.values,
                       closest ? "did you mean '" : ATTEND_SCORE_IS_MISSING, closest ? closest : "",
                       closest ? "'?" : "");
}

/* Reports an enum member with a value outside of its enum. */
static int refuse_number(const field *f, int number)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s number %d is not one of %s", f->public.name, number, f->public.values);
}

static int set_number(const field *f, void *to, const char *value)
{
    const bool integer = f->public.type == ATTEND_FIELD_INTEGER;
    double x;
    if (!attend_parse_real(value, NULL, &x) || !(x >= f->min && x <= f->max) || (integer && x != floor(x)))
        return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not %s in %s", f->public.name, value,
                           integer ? "an integer" : "a number", f->public.values);
    if (integer)
        *(int *)to = (int)x;
    else
        *(double *)to = x;
    return ATTEND_OK;
}

int attend_config_set(attend_config *config, const char *name, const char *value)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, config && name && value);
    const field *f = field_of(name);
    if (!f) return ATTEND_BAD_USAGE;
    void *to = (char *)config + f->offset;
    if (f->public.type == ATTEND_FIELD_INTEGER || f->public.type == ATTEND_FIELD_REAL) return set_number(f, to, value);
    if (f->public.type == ATTEND_FIELD_SCORE) return set_score(f, to, value);
    const int choice = choice_of(f, value);
    if (choice < 0) return ATTEND_BAD_USAGE;
    if (f->public.type == ATTEND_FIELD_SWITCH)
        *(bool *)to = choice == 0;
    else
        memcpy(to, &choice, sizeof choice); /* enums of the public headers are as wide as an int; tested */
    return ATTEND_OK;
}

/* ---- to text ---- */

int attend_config_get(const attend_config *config, const char *name, char *text, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, config && name && text);
    const field *f = field_of(name);
    if (!f) return ATTEND_BAD_USAGE;
    const void *from = (const char *)config + f->offset;
    const attend_score *score;
    choices c;
    int number, length = -1;
    switch (f->public.type) {
    case ATTEND_FIELD_INTEGER:
        length = snprintf(text, size, "%d", *(const int *)from);
        break;
    case ATTEND_FIELD_REAL:
        length = attend_format_real(text, size, *(const double *)from, 15);
        break;
    case ATTEND_FIELD_SWITCH:
        length = snprintf(text, size, "%s", *(const bool *)from ? "yes" : "no");
        break;
    case ATTEND_FIELD_CHOICE:
        memcpy(&number, from, sizeof number);
        split_choices(f, &c);
        if (number < 0 || number >= c.count) return refuse_number(f, number);
        length = snprintf(text, size, "%s", c.names[number]);
        break;
    case ATTEND_FIELD_SCORE:
        memcpy(&score, from, sizeof score);
        length = snprintf(text, size, "%s", score ? score->name : "none");
        break;
    }
    if (length < 0 || (size_t)length >= size)
        return attend_fail(ATTEND_BAD_USAGE, "attend_config_get: %zu bytes are too few for '%s'", size, name);
    return ATTEND_OK;
}

/* ---- ranges ---- */

int attend_config_check_ranges(const attend_config *config)
{
    for (int i = 0; i < ATTEND_CONFIG_FIELD_COUNT; i++) {
        const field *f = field_at(i);
        const void *from = (const char *)config + f->offset;
        choices c;
        double x = f->min;
        int number;
        if (f->public.type == ATTEND_FIELD_INTEGER) x = *(const int *)from;
        if (f->public.type == ATTEND_FIELD_REAL) x = *(const double *)from;
        if (!(x >= f->min && x <= f->max))
            return attend_fail(ATTEND_BAD_USAGE, "%s %g is not in %s", f->public.name, x, f->public.values);
        if (f->public.type != ATTEND_FIELD_CHOICE) continue;
        memcpy(&number, from, sizeof number);
        split_choices(f, &c);
        if (number < 0 || number >= c.count) return refuse_number(f, number);
    }
    return ATTEND_OK;
}
