/* variants.c: the variants of a comparison, from --vary and --variant. Any option that changes the model may vary. */
#include "comparison.h"
#include <attend/status.h>
#include "array.h"
#include "option_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const verb *v = &verb_compare; /* that of the comparison */

/* --vary FIELD=V1,V2 */
typedef struct axis {
    char *text;                /* the field and its values, each ended by '\0' */
    const char *typed, *field; /* as given, which names variants; and its current name */
    const char **values;
    int count;
} axis;

static void axes_free(axis *axes, int count)
{
    for (int i = 0; axes && i < count; i++) free(axes[i].text), free(axes[i].values);
    free(axes);
}

static void variant_free(variant *x)
{
    free(x->differences);
    for (int i = 0; i < x->value_count; i++) free(x->values[i]);
    free(x->values);
    record_free(&x->options);
    text_lines_free(&x->translations);
}

void variants_free(comparison *c)
{
    for (int i = 0; i < c->count; i++) variant_free(&c->variants[i]);
    free(c->variants);
    c->variants = NULL, c->count = 0;
}

static int no_memory(void)
{
    return usage_error(v, "out of memory for the variants");
}

/* ---- one variant ---- */

/* Prefixes usage errors with the name of a variant; NULL: no longer. */
static void set_error_variant(const char *name)
{
    static char where[VARIANT_NAME + 16];
    if (name) snprintf(where, sizeof where, "variant '%s': ", name);
    options_set_location(name ? where : "");
}

static bool can_vary(const char *field)
{
    return options_is_shared(v, options_find(v, field)) || options_find_field(v, field) >= 0;
}

/* A copy of a value, which the variant owns. NULL: out of memory. */
static const char *keep_value(variant *x, const char *value)
{
    if (!array_reserve(&x->values, &x->value_capacity, (size_t)x->value_count + 1, sizeof *x->values)) return NULL;
    char *copy = strdup(value);
    if (copy) x->values[x->value_count++] = copy;
    return copy;
}

static int set(variant *x, const char *typed, const char *value)
{
    const char *const field = options_current_name(v, typed, value);
    if (!can_vary(field) && options_find(v, field) < 0) return unknown_option_error(v, field);
    if (!can_vary(field))
        return usage_error(v, "--%s does not change the model and cannot vary; give it as an option", field);
    const int f = options_find_field(v, field);
    if (!value && !(f >= 0 && options_is_switch(f)))
        return usage_error(v, "'%s' requires a value: %s=VALUE", field, field);
    if (value && !*value) return usage_error(v, "'%s=' has no value", field);
    options_mark_given(v, &x->p, field);
    options_mark_given(v, &x->own, field);
    const size_t size =
        (x->differences ? strlen(x->differences) + 1 : 0) + strlen(field) + strlen(value ? value : "yes") + 2;
    char *differences = malloc(size);
    if (!differences) return no_memory();
    snprintf(differences, size, "%s%s%s=%s", x->differences ? x->differences : "", x->differences ? " " : "", field,
             value ? value : "yes");
    free(x->differences);
    x->differences = differences;
    const char *const kept = keep_value(x, value ? value : "yes");
    return kept ? options_set(v, &x->t, field, kept) : no_memory();
}

/* The directory of a variant: letters, digits and safe punctuation of its name; spaces become _, other characters
 * %XX. */
static bool directory_name(const char *name, char file[VARIANT_FILE])
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
        return usage_error(v, "the name of the variant '%s' is not UTF-8", x->name);
    for (const char *s = x->name; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            return usage_error(v, "the name of the variant '%s' contains a control character", x->name);
    if (strncmp(x->file, "comparison.", 11) == 0)
        return usage_error(v, "'%s' is reserved for files of the comparison; choose another name for the variant",
                           x->name);
    for (const variant *y = c->variants; y < x; y++) {
        if (strcmp(x->name, y->name) == 0) return usage_error(v, "two variants have the name '%s'", x->name);
        if (strcmp(x->file, y->file) == 0)
            return usage_error(v, "the variants '%s' and '%s' would share the directory %s/%s; rename one of them",
                               y->name, x->name, c->s->output, x->file);
    }
    return 0;
}

static variant *add(comparison *c, const char *name, size_t size, int *status)
{
    *status = 0;
    if (c->count == MAX_VARIANTS)
        *status = usage_error(v, "there are more than %d variants", MAX_VARIANTS);
    else if (!array_reserve(&c->variants, &c->capacity, (size_t)c->count + 1, sizeof *c->variants))
        *status = no_memory();
    if (*status != 0) return NULL;
    variant *x = &c->variants[c->count++];
    *x = (variant){ .t = c->s->t, .p = *c->p };
    if (size >= sizeof x->name) {
        *status = usage_error(
            v, "the name '%.30s..' has %zu bytes, but at most %d are allowed; use --variant with a shorter name", name,
            size, VARIANT_NAME - 1);
        return NULL;
    }
    memcpy(x->name, name, size);
    x->name[size] = '\0';
    *status = size == 0 ? usage_error(v, "--variant has an empty name; expected \"NAME: field=value ...\"")
              : directory_name(x->name, x->file)
                  ? check_name(c, x)
                  : usage_error(v, "'%s' is too long for the name of a directory; choose a shorter one", x->name);
    return *status == 0 ? x : NULL;
}

/* ---- --variant "NAME: field=value field=value" ---- */

static int add_named(comparison *c, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon) return usage_error(v, "--variant '%s' has no name; expected \"NAME: field=value field=value\"", text);
    const char *first = text + strspn(text, " \t");
    size_t size = (size_t)(colon - first);
    while (size > 0 && (first[size - 1] == ' ' || first[size - 1] == '\t')) size--;
    int status;
    variant *x = add(c, first, size, &status);
    char *copy = x ? strdup(colon + 1) : NULL;
    if (x && !copy) status = no_memory();
    if (x) set_error_variant(x->name);
    for (char *rest = copy, *word; status == 0 && (word = strtok_r(rest, " \t", &rest));) {
        if (strncmp(word, "--", 2) == 0) word += 2;
        char *value = strchr(word, '=');
        if (value) *value++ = '\0';
        status = set(x, word, value);
    }
    set_error_variant(NULL);
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
        return usage_error(v, "--vary '%s' is not FIELD=VALUE,VALUE,... (such as attention=none,dot,additive)", text);
    *values++ = '\0';
    a->typed = strncmp(a->text, "--", 2) == 0 ? a->text + 2 : a->text;
    a->field = options_current_name(v, a->typed, NULL);
    for (char *at = values; at; a->count++) {
        char *comma = strchr(at, ',');
        if (comma) *comma++ = '\0';
        if (!*at) return usage_error(v, "--vary '%s' has an empty value", text);
        a->values[a->count] = at;
        at = comma;
    }
    return 0;
}

/* Whether a value is a sufficient name: a word that is not a value of another varied field. */
static bool is_distinctive(const axis *axes, int count, int which, const char *value)
{
    if (!isalpha((unsigned char)*value) || strcmp(value, "yes") == 0 || strcmp(value, "no") == 0) return false;
    for (int i = 0; i < count; i++)
        for (int j = 0; i != which && j < axes[i].count; j++)
            if (strcmp(axes[i].values[j], value) == 0) return false;
    return true;
}

/* Combination `number` of all values; the last field changes fastest. */
static int add_product(comparison *c, const axis *axes, int count, long number)
{
    int chosen[MAX_VARIANTS], status;
    char name[4 * VARIANT_NAME] = "";
    for (int i = count - 1; i >= 0; number /= axes[i].count, i--) chosen[i] = (int)(number % axes[i].count);
    for (int i = 0; i < count; i++) {
        const char *value = axes[i].values[chosen[i]];
        const bool distinctive = is_distinctive(axes, count, i, value);
        const size_t n = strlen(name);
        snprintf(name + n, sizeof name - n, "%s%s%s%s", n ? " " : "", distinctive ? "" : axes[i].typed,
                 distinctive ? "" : "=", value);
    }
    variant *x = add(c, name, strlen(name), &status);
    if (!x) return status;
    x->may_be_skipped = count > 1;
    set_error_variant(x->name);
    for (int i = 0; status == 0 && i < count; i++) status = set(x, axes[i].field, axes[i].values[chosen[i]]);
    set_error_variant(NULL);
    return status;
}

static int add_products(comparison *c)
{
    const texts_list *given = &c->s->vary;
    long all = 1;
    int status = 0;
    if (given->count > MAX_VARIANTS)
        return usage_error(v, "--vary is given %d times, more than the maximum number of variants", given->count);
    axis *axes = calloc((size_t)given->count + 1, sizeof *axes);
    if (!axes) return no_memory();
    for (int i = 0; status == 0 && i < given->count; i++) {
        status = read_axis(&axes[i], given->items[i]);
        for (int j = 0; status == 0 && j < i; j++)
            if (strcmp(axes[i].field, axes[j].field) == 0)
                status = usage_error(v, "--vary %s= is given twice; list all values in one --vary", axes[i].field);
        if (status == 0 && (all *= axes[i].count) > MAX_VARIANTS)
            status = usage_error(v, "--vary gives %ld variants or more, but at most %d are allowed", all, MAX_VARIANTS);
    }
    for (long number = 0; status == 0 && given->count > 0 && number < all; number++)
        status = add_product(c, axes, given->count, number);
    axes_free(axes, given->count);
    return status;
}

int variants_add(comparison *c, const char *name, int count, const char *const *fields, const char *const *values)
{
    char text[4 * VARIANT_NAME] = "";
    int status;
    v = c->v;
    for (int i = 0; i < count; i++) {
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s=%s", n ? " " : "", fields[i], values[i]);
    }
    const char *const shown = count > 0 ? text : name;
    variant *x = add(c, shown, strlen(shown), &status);
    if (!x) return status;
    x->may_be_skipped = true;
    for (int i = 0; status == 0 && i < count; i++) status = set(x, fields[i], values[i]);
    return status;
}

int variants_parse(comparison *c)
{
    v = c->v;
    if (c->s->vary.count + c->s->variants.count == 0)
        return usage_error(v,
                           "--vary or --variant is required, such as --vary attention=none,dot,additive or --variant "
                           "\"NAME: field=value ...\"");
    int status = add_products(c);
    for (int i = 0; status == 0 && i < c->s->variants.count; i++) status = add_named(c, c->s->variants.items[i]);
    return status;
}

/* ---- checks ---- */

/* A variant's own options must have an effect; an option common to all may apply to other variants only. */
static int check_config(const variant *x)
{
    attend_config config = x->t.config;
    const int status = attend_config_check_given(&config, options_fields_given(v, &x->own));
    if (status != ATTEND_OK) return status;
    config.source_vocab = config.target_vocab = ATTEND_FIRST_TOKEN + 1; /* placeholder: learned later */
    return attend_config_check(&config);
}

/* Lists what must be unchanged to resume. The data comes first: different data may have led to different sizes, and
 * is then the cause to report. */
static void list_options(const comparison *c, variant *x)
{
    char text[RECORD_TEXT];
    record_add(&x->options, "training data", "%s", c->train_hash.text);
    record_add(&x->options, "validation data", "%s", c->valid_hash.text);
    for (const option *o = train_option_group.options; o->name; o++)
        if (options_get(v, &x->t, o->name, text, sizeof text)) record_add(&x->options, o->name, "%s", text);
    if (x->t.average_checkpoints > 0)
        record_add(&x->options, "save-every", "%lld", x->t.save_every); /* determines which models are averaged */
    for (int i = 0; attend_config_field_at(i); i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (options_get(v, &x->t, f->name, text, sizeof text)) record_add(&x->options, f->key, "%s", text);
    }
}

static void remove_variant(comparison *c, int i)
{
    variant_free(&c->variants[i]);
    memmove(&c->variants[i], &c->variants[i + 1], (size_t)(c->count - i - 1) * sizeof *c->variants);
    c->count--;
}

/* A variant that resumes keeps the options of its checkpoint. */
static int choose_options(const comparison *c, variant *x, const attend_data_check_counts *counts)
{
    char *model = comparison_path(c, x, "model");
    x->t.checkpoint = model ? train_settings_checkpoint(&x->t, model) : NULL;
    const int status = train_settings_choose(v, &x->t, &x->p, counts);
    free(x->t.checkpoint);
    x->t.checkpoint = NULL;
    free(model);
    return status;
}

int variants_resolve(comparison *c, const attend_data_check_counts *counts)
{
    int status = 0;
    v = c->v;
    for (int i = 0; status == 0 && i < c->count; i++) {
        variant *x = &c->variants[i];
        x->t.train = c->s->t.train, x->t.valid = c->s->t.valid; /* pairs may have been held out meanwhile */
        set_error_variant(x->name);
        status = x->t.config.task == ATTEND_TASK_TRANSLATION
                     ? train_settings_check(v, &x->t, &x->p)
                     : usage_error(v, "attend %s does not support language models", v->name);
        if (status == 0) status = choose_options(c, x, counts);
        if (status == 0 && check_config(x) != ATTEND_OK) {
            if (!x->may_be_skipped) status = usage_error(v, "%s", attend_message());
            if (status != 0) break;
            if (!c->s->t.quiet) attend_print(stderr, "skipped     %s: %s\n", x->name, attend_message());
            remove_variant(c, i--);
            continue;
        }
        if (status == 0) list_options(c, x);
    }
    set_error_variant(NULL);
    if (status == 0 && c->count == 0) status = usage_error(v, "no combination of the values of --vary is valid");
    return status;
}
