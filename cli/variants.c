/* variants.c: which variants there are. Nothing here knows what an option means: whatever changes a model may differ. */
#include "comparison.h"
#include "core/status.h"
#include "options_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const verb *const v = &verb_compare;

/* --vary FIELD=V1,V2 */
typedef struct axis {
    char *text; /* the field, and each of its values, with '\0' between */
    const char *field;
    const char **values;
    int count;
} axis;

static void axes_free(axis *axes, int count)
{
    for (int i = 0; axes && i < count; i++) free(axes[i].text), free(axes[i].values);
    free(axes);
}

void variants_free(comparison *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->variants[i].said);
        facts_free(&c->variants[i].options);
        text_lines_free(&c->variants[i].translations);
    }
    free(c->variants);
    c->variants = NULL, c->count = 0;
}

static int no_memory(void)
{
    return options_wrong(v, "no memory for the variants");
}

/* ---- one variant ---- */

/* Where messages say it is, from now on; NULL: nowhere in particular. */
static void at_variant(const char *name)
{
    static char where[VARIANT_NAME + 16];
    if (name) snprintf(where, sizeof where, "variant '%s': ", name);
    options_at(name ? where : "");
}

static bool is_variable(const char *field)
{
    for (int i = 0; v->training[i].name; i++)
        if (strcmp(v->training[i].name, field) == 0) return true;
    return options_find_field(v, field) >= 0;
}

static int set(variant *x, const char *field, const char *value)
{
    if (!is_variable(field) && options_find(v, field) < 0) return options_unknown(v, field);
    if (!is_variable(field))
        return options_wrong(v, "--%s makes no other model: give it once, for all variants", field);
    const int f = options_find_field(v, field);
    if (!value && !(f >= 0 && options_is_switch(f))) return options_wrong(v, "'%s' wants a value: %s=..", field, field);
    if (value && !*value) return options_wrong(v, "'%s=' has no value", field);
    options_mark(v, &x->p, field);
    options_mark(v, &x->own, field);
    const size_t size = (x->said ? strlen(x->said) + 1 : 0) + strlen(field) + strlen(value ? value : "yes") + 2;
    char *said = malloc(size);
    if (!said) return no_memory();
    snprintf(said, size, "%s%s%s=%s", x->said ? x->said : "", x->said ? " " : "", field, value ? value : "yes");
    free(x->said);
    x->said = said;
    return options_set(v, &x->t, field, value ? value : "yes");
}

/* A name as a file may be called everywhere: letters, digits, what else harms nobody; blanks become _, the rest %XX. */
static bool file_of(const char *name, char file[VARIANT_FILE])
{
    size_t n = 0;
    for (const unsigned char *s = (const unsigned char *)name; *s; s++) {
        const bool plain = isalnum(*s) || strchr("_-+=,@", *s) || *s >= 0x80 || (*s == '.' && n > 0);
        if (n + 4 > VARIANT_FILE) return false;
        if (plain || *s == ' ')
            file[n++] = plain ? (char)*s : '_';
        else
            n += (size_t)snprintf(file + n, VARIANT_FILE - n, "%%%02X", *s);
    }
    file[n] = '\0';
    return n > 0;
}

static int check_name(const comparison *c, const variant *x)
{
    if (attend_utf8_valid(x->name, strlen(x->name)) != strlen(x->name))
        return options_wrong(v, "a variant's name is not UTF-8");
    for (const char *s = x->name; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f) return options_wrong(v, "a variant's name is one line of text");
    if (strncmp(x->file, "comparison.", 11) == 0)
        return options_wrong(v, "'%s' is what the comparison's own files are called; name the variant otherwise",
                             x->name);
    for (const variant *y = c->variants; y < x; y++) {
        if (strcmp(x->name, y->name) == 0) return options_wrong(v, "two variants are called '%s'", x->name);
        if (strcmp(x->file, y->file) == 0)
            return options_wrong(v, "the variants '%s' and '%s' would both be kept in %s/%s; name one otherwise",
                                 y->name, x->name, c->s->output, x->file);
    }
    return 0;
}

static variant *add(comparison *c, const char *name, size_t size, int *status)
{
    variant *larger = realloc(c->variants, (size_t)(c->count + 1) * sizeof *larger);
    *status = 0;
    if (larger) c->variants = larger;
    if (c->count == MOST_VARIANTS)
        *status = options_wrong(v, "more than %d variants", MOST_VARIANTS);
    else if (!larger)
        *status = no_memory();
    if (*status != 0) return NULL;
    variant *x = &c->variants[c->count++];
    *x = (variant){ .t = c->s->t, .p = *c->p };
    if (size >= sizeof x->name) {
        *status = options_wrong(v, "the name '%.30s..' has %zu bytes; %d are the most: give shorter ones by --variant",
                                name, size, VARIANT_NAME - 1);
        return NULL;
    }
    memcpy(x->name, name, size);
    x->name[size] = '\0';
    *status = size == 0 ? options_wrong(v, "a variant has no name: --variant \"NAME: field=value ..\"")
              : file_of(x->name, x->file)
                  ? check_name(c, x)
                  : options_wrong(v, "'%s' makes too long a name for a folder; give a shorter one", x->name);
    return *status == 0 ? x : NULL;
}

/* ---- --variant "NAME: field=value field=value" ---- */

static int add_named(comparison *c, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon) return options_wrong(v, "--variant '%s' has no name: write \"NAME: field=value field=value\"", text);
    const char *first = text + strspn(text, " \t");
    size_t size = (size_t)(colon - first);
    while (size > 0 && (first[size - 1] == ' ' || first[size - 1] == '\t')) size--;
    int status;
    variant *x = add(c, first, size, &status);
    char *copy = x ? strdup(colon + 1) : NULL;
    if (x && !copy) status = no_memory();
    if (x) at_variant(x->name);
    for (char *rest = copy, *word; status == 0 && (word = strtok_r(rest, " \t", &rest));) {
        if (strncmp(word, "--", 2) == 0) word += 2;
        char *value = strchr(word, '=');
        if (value) *value++ = '\0';
        status = set(x, word, value);
    }
    at_variant(NULL);
    free(copy);
    return status;
}

/* ---- --vary ---- */

static int read_axis(axis *a, const char *text)
{
    a->text = strdup(text);
    a->values = calloc(strlen(text) + 1, sizeof *a->values);
    if (!a->text || !a->values) return no_memory();
    char *values = strchr(a->text, '=');
    if (!values || values == a->text || !values[1])
        return options_wrong(v, "--vary '%s' is not FIELD=VALUE,VALUE,.. (attention=none,dot,additive, say)", text);
    *values++ = '\0';
    a->field = strncmp(a->text, "--", 2) == 0 ? a->text + 2 : a->text;
    for (char *at = values; at; a->count++) {
        char *comma = strchr(at, ',');
        if (comma) *comma++ = '\0';
        if (!*at) return options_wrong(v, "--vary '%s' has an empty value", text);
        a->values[a->count] = at;
        at = comma;
    }
    return 0;
}

/* Whether a value says by itself what it is: a word that is no value of another field. */
static bool speaks(const axis *axes, int count, int which, const char *value)
{
    if (!isalpha((unsigned char)*value) || strcmp(value, "yes") == 0 || strcmp(value, "no") == 0) return false;
    for (int i = 0; i < count; i++)
        for (int j = 0; i != which && j < axes[i].count; j++)
            if (strcmp(axes[i].values[j], value) == 0) return false;
    return true;
}

/* The number-th of the product; the last field changes fastest. */
static int add_product(comparison *c, const axis *axes, int count, long number)
{
    int chosen[MOST_VARIANTS], status;
    char name[4 * VARIANT_NAME] = "";
    for (int i = count - 1; i >= 0; number /= axes[i].count, i--) chosen[i] = (int)(number % axes[i].count);
    for (int i = 0; i < count; i++) {
        const char *value = axes[i].values[chosen[i]];
        const bool alone = speaks(axes, count, i, value);
        const size_t n = strlen(name);
        snprintf(name + n, sizeof name - n, "%s%s%s%s", n ? " " : "", alone ? "" : axes[i].field, alone ? "" : "=",
                 value);
    }
    variant *x = add(c, name, strlen(name), &status);
    if (!x) return status;
    x->may_be_left_out = count > 1;
    at_variant(x->name);
    for (int i = 0; status == 0 && i < count; i++) status = set(x, axes[i].field, axes[i].values[chosen[i]]);
    at_variant(NULL);
    return status;
}

static int add_products(comparison *c)
{
    const texts_list *given = &c->s->vary;
    long all = 1;
    int status = 0;
    if (given->count > MOST_VARIANTS) return options_wrong(v, "--vary is given %d times", given->count);
    axis *axes = calloc((size_t)given->count + 1, sizeof *axes);
    if (!axes) return no_memory();
    for (int i = 0; status == 0 && i < given->count; i++) {
        status = read_axis(&axes[i], given->items[i]);
        for (int j = 0; status == 0 && j < i; j++)
            if (strcmp(axes[i].field, axes[j].field) == 0)
                status = options_wrong(v, "--vary %s= is given twice; write all its values in one", axes[i].field);
        if (status == 0 && (all *= axes[i].count) > MOST_VARIANTS)
            status = options_wrong(v, "these --vary make %ld variants or more; %d are the most", all, MOST_VARIANTS);
    }
    for (long number = 0; status == 0 && given->count > 0 && number < all; number++)
        status = add_product(c, axes, given->count, number);
    axes_free(axes, given->count);
    return status;
}

int variants_make(comparison *c)
{
    if (c->s->vary.count + c->s->variants.count == 0)
        return options_wrong(v, "what is to be compared? --vary attention=none,dot,additive, or --variant \"NAME: "
                                "field=value ..\"");
    int status = add_products(c);
    for (int i = 0; status == 0 && i < c->s->variants.count; i++) status = add_named(c, c->s->variants.items[i]);
    return status;
}

/* ---- what makes sense ---- */

/* What the variant itself says must do something; what is given for all may be meant for the others. */
static int check_config(const variant *x)
{
    attend_config config = x->t.config;
    const int status = attend_config_check_given(&config, options_fields_given(v, &x->own));
    if (status != ATTEND_OK) return status;
    config.source_vocab = config.target_vocab = ATTEND_FIRST_TOKEN + 1; /* not known yet */
    return attend_config_check(&config);
}

/* What must be the same to go on: data first, since other data may have led to other sizes, which would then be to blame. */
static void list_options(const comparison *c, variant *x)
{
    char text[FACT_TEXT];
    facts_add(&x->options, "training data", "%s", c->train_mark.text);
    facts_add(&x->options, "validation data", "%s", c->valid_mark.text);
    for (int i = 0; v->training[i].name; i++)
        if (options_get(v, &x->t, v->training[i].name, text, sizeof text))
            facts_add(&x->options, v->training[i].name, "%s", text);
    if (x->t.average_checkpoints > 0)
        facts_add(&x->options, "save-every", "%lld", x->t.save_every); /* which models the last are */
    for (int i = 0; attend_config_field_at(i); i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (options_get(v, &x->t, f->name, text, sizeof text)) facts_add(&x->options, f->key, "%s", text);
    }
}

static void leave_out(comparison *c, int i)
{
    free(c->variants[i].said);
    memmove(&c->variants[i], &c->variants[i + 1], (size_t)(c->count - i - 1) * sizeof *c->variants);
    c->count--;
}

int variants_settle(comparison *c, const attend_data_check_counts *counts)
{
    int status = 0;
    for (int i = 0; status == 0 && i < c->count; i++) {
        variant *x = &c->variants[i];
        at_variant(x->name);
        status = x->t.config.task == ATTEND_TASK_TRANSLATION
                     ? train_settings_check(v, &x->t, &x->p)
                     : options_wrong(v, "what is compared are translations, and a language model makes none");
        if (status == 0) status = train_settings_choose(v, &x->t, &x->p, counts);
        if (status == 0 && check_config(x) != ATTEND_OK) {
            if (!x->may_be_left_out) status = options_wrong(v, "%s", attend_message());
            if (status != 0) break;
            if (!c->s->t.quiet) fprintf(stderr, "left out    %s: %s\n", x->name, attend_message());
            leave_out(c, i--);
            continue;
        }
        if (status == 0) list_options(c, x);
    }
    at_variant(NULL);
    if (status == 0 && c->count == 0) status = options_wrong(v, "no combination of these --vary makes sense");
    return status;
}
