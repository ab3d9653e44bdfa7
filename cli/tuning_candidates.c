/* tuning_candidates.c: candidates that differ from the defaults at random. */
#include "tuning.h"

#include <attend/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 6, TEXT = 32, MAX_CHOICES = 5 };

/* What is searched. The default has the best chance to stay: a candidate differs in about half of the fields. */
static const struct {
    const char *name;
    bool is_factor;              /* the default is multiplied; otherwise added to */
    double choices[MAX_CHOICES]; /* drawn with equal probability */
    double min, max, step;       /* of the result: a multiple of `step` */
} fields[FIELDS] = {
    { "hidden", true, { 0.5, 0.75, 1, 1.5, 2 }, 16, 2048, 16 },
    { "layers", false, { -1, 0, 0, 0, 1 }, 1, 6, 1 },
    { "dropout", false, { -0.1, 0, 0, 0.1, 0.2 }, 0, 0.6, 0.01 },
    { "learning-rate", true, { 0.5, 0.7, 1, 1.4, 2 }, 1e-6, 1, 0 },
    { "label-smoothing", false, { -0.1, 0, 0, 0.05, 0.1 }, 0, 0.3, 0.01 },
    { "batch-tokens", true, { 0.5, 1, 1, 1, 2 }, 50, 100000, 50 },
};

/* The width of a model with several heads must be a multiple of their number. */
static double step_of(const train_settings *base, int field)
{
    const int heads = base->config.heads;
    return field == 0 && heads > 1 ? 8.0 * heads : fields[field].step;
}

/* The value of a field in a candidate; "": the default. */
static void draw(const verb *v, const train_settings *base, int candidate, int field, char text[TEXT])
{
    const attend_rng random = { .seed = (uint64_t)base->seed, .stream = (uint64_t)candidate, .use = (uint32_t)field };
    char usual[TEXT];
    text[0] = '\0';
    if (!options_get(v, base, fields[field].name, usual, sizeof usual)) return;
    const double now = strtod(usual, NULL), step = step_of(base, field),
                 choice = fields[field].choices[(int)(attend_rng_uniform(&random, 0) * MAX_CHOICES)];
    double value = fields[field].is_factor ? now * choice : now + choice;
    if (step > 0) value = round(value / step) * step;
    value = fmin(fmax(value, fmax(fields[field].min, step >= 1 ? step : 0)), fields[field].max);
    if (fabs(value - now) < 1e-9 || choice == (fields[field].is_factor ? 1 : 0)) return;
    snprintf(text, TEXT, "%.4g", value);
}

/* Adds a candidate unless there is one like it. */
static int add(comparison *c, const train_settings *base, int number)
{
    const char *names[FIELDS], *values[FIELDS];
    char texts[FIELDS][TEXT], differences[VARIANT_NAME * 4] = "";
    int count = 0;
    for (int i = 0; i < FIELDS; i++) {
        if (options_given(c->v, c->p, fields[i].name)) continue; /* the user has decided */
        draw(c->v, base, number, i, texts[i]);
        if (!*texts[i]) continue;
        const size_t n = strlen(differences);
        snprintf(differences + n, sizeof differences - n, "%s%s=%s", n ? " " : "", fields[i].name, texts[i]);
        names[count] = fields[i].name, values[count++] = texts[i];
    }
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->variants[i].name, differences) == 0) count = 0;
    return count > 0 ? variants_add(c, NULL, count, names, values) : 0;
}

int tuning_add_candidates(comparison *c, const attend_data_check_counts *counts, int count)
{
    train_settings base = c->s->t;
    int status = train_settings_check(c->v, &base, c->p);
    if (status == 0) status = train_settings_choose(c->v, &base, c->p, counts);
    if (status == 0) status = variants_add(c, "defaults", 0, NULL, NULL);
    for (int i = 1; status == 0 && c->count < count && i < 4 * count; i++) status = add(c, &base, i);
    return status == 0 ? variants_resolve(c, counts) : status;
}
