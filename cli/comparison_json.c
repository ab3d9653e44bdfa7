/* comparison_json.c: the table for programs: one object. */
#include "comparison.h"
#include "json_text.h"

#include <math.h>
#include <string.h>

static void text(FILE *to, const char *name, const char *value)
{
    fprintf(to, ", \"%s\": ", name);
    json_text(to, value, strlen(value));
}

static void number(FILE *to, const char *name, int digits, double x)
{
    if (isfinite(x) && fabs(x) < 1e15)
        fprintf(to, ", \"%s\": %.*f", name, digits, x);
    else if (isfinite(x))
        fprintf(to, ", \"%s\": %.*e", name, digits, x);
    else
        fprintf(to, ", \"%s\": null", name);
}

static void scores(const comparison *c, int i, FILE *to)
{
    fprintf(to, ", \"scores\": {");
    for (int m = 0, count = 0; m < METRICS; m++) {
        const attend_interval *s = &c->variants[i].scores[m];
        if (!c->e.wanted[m]) continue;
        fprintf(to, "%s\"%s\": {\"score\": %.4f", count++ ? ", " : "", attend_metric_name((attend_metric_kind)m),
                s->score);
        if (c->e.samples > 0) fprintf(to, ", \"low\": %.4f, \"high\": %.4f", s->low, s->high);
        if (c->e.samples > 0 && i != c->base) fprintf(to, ", \"p\": %.6f", s->p);
        fprintf(to, "}");
    }
    fprintf(to, "}");
}

static void one(const comparison *c, int i, FILE *to)
{
    static const char *const states[] = { "waits", "done", "failed" };
    const variant *x = &c->variants[i];
    fprintf(to, "{\"name\": ");
    json_text(to, x->name, strlen(x->name));
    text(to, "folder", x->file);
    text(to, "differs_by", x->said ? x->said : "");
    text(to, "state", states[x->state]);
    if (x->state == VARIANT_FAILED) text(to, "reason", x->reason);
    fprintf(to, ", \"options\": {");
    for (int k = 0; k < x->options.count; k++) {
        if (k) fprintf(to, ", ");
        json_text(to, x->options.list[k].name, strlen(x->options.list[k].name));
        fprintf(to, ": ");
        json_text(to, x->options.list[k].text, strlen(x->options.list[k].text));
    }
    fprintf(to, "}");
    if (x->state == VARIANT_DONE) {
        number(to, "parameters", 0, x->r.parameters);
        number(to, "perplexity", 4, comparison_perplexity(x));
        scores(c, i, to);
        if (c->s->gold) number(to, "aer", 6, comparison_aer(x));
        number(to, "best_update", 0, x->r.best_update);
        number(to, "best_epoch", 2, x->r.best_update / x->r.updates_per_epoch);
        number(to, "updates", 0, x->r.last_update);
        number(to, "train_seconds", 1, x->r.seconds);
        number(to, "train_tokens_per_second", 1, comparison_train_speed(x));
        number(to, "translate_seconds", 2, x->r.translating);
        number(to, "translate_tokens_per_second", 1, comparison_translate_speed(x));
    }
    fprintf(to, "}");
}

void comparison_print_json(const comparison *c, FILE *to)
{
    fprintf(to, "{\"version\": \"%s\"", attend_version());
    text(to, "training_data", c->train_mark.text);
    text(to, "validation_data", c->valid_mark.text);
    text(to, "test_data", c->test_mark.text);
    fprintf(to, ", \"sources\": %d, \"beam\": %lld, \"samples\": %d, \"signatures\": {", c->e.segments.count,
            c->s->beam, c->e.samples);
    for (int m = 0, count = 0; m < METRICS; m++) {
        char signature[160];
        if (!c->e.wanted[m]) continue;
        attend_metric_signature(&c->e.options[m], segments_reference_count(&c->e.segments), signature,
                                sizeof signature);
        fprintf(to, "%s\"%s\": \"%s\"", count++ ? ", " : "", attend_metric_name((attend_metric_kind)m), signature);
    }
    fprintf(to, "}");
    if (c->base >= 0) text(to, "against", c->variants[c->base].name);
    fprintf(to, ", \"variants\": [");
    for (int i = 0; i < c->count; i++) {
        if (i) fprintf(to, ", ");
        one(c, i, to);
    }
    fprintf(to, "]}\n");
}
