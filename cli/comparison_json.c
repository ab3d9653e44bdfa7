/* comparison_json.c: the table as one JSON object. */
#include "comparison.h"
#include "json_members.h"

static void json_scores(attend_json_writer *w, const comparison *c, int i)
{
    json_begin_object(w, "scores");
    for (int m = 0; m < METRICS; m++) {
        const attend_interval *s = &c->variants[i].scores[m];
        if (!c->e.selected[m]) continue;
        json_begin_object(w, attend_metric_name((attend_metric_kind)m));
        json_number(w, "score", 4, s->score);
        if (c->e.samples > 0) {
            json_number(w, "low", 4, s->low);
            json_number(w, "high", 4, s->high);
        }
        if (c->e.samples > 0 && i != c->base) json_number(w, "p", 6, s->p);
        attend_json_end_object(w);
    }
    attend_json_end_object(w);
}

static void json_results(attend_json_writer *w, const comparison *c, int i)
{
    const variant *x = &c->variants[i];
    json_number(w, "parameters", 0, x->r.parameters);
    json_number(w, "perplexity", 4, comparison_perplexity(x));
    json_scores(w, c, i);
    if (c->s->gold) json_number(w, "aer", 6, comparison_aer(x));
    json_number(w, "best_update", 0, x->r.best_update);
    json_number(w, "best_epoch", 2, x->r.best_update / x->r.updates_per_epoch);
    json_number(w, "updates", 0, x->r.last_update);
    json_number(w, "train_seconds", 1, x->r.seconds);
    json_number(w, "train_tokens_per_second", 1, comparison_train_speed(x));
    json_number(w, "translate_seconds", 2, x->r.translating);
    json_number(w, "translate_tokens_per_second", 1, comparison_translate_speed(x));
}

static void json_variant(attend_json_writer *w, const comparison *c, int i)
{
    static const char *const states[] = { "pending", "done", "failed" };
    const variant *x = &c->variants[i];
    attend_json_begin_object(w);
    json_text(w, "name", x->name);
    json_text(w, "folder", x->file);
    json_text(w, "differs_by", x->differences ? x->differences : "");
    json_text(w, "state", states[x->state]);
    if (x->state == VARIANT_FAILED) json_text(w, "reason", x->reason);
    json_begin_object(w, "options");
    for (int k = 0; k < x->options.count; k++) json_text(w, x->options.list[k].name, x->options.list[k].text);
    attend_json_end_object(w);
    if (x->state == VARIANT_DONE) json_results(w, c, i);
    attend_json_end_object(w);
}

static void json_signatures(attend_json_writer *w, const comparison *c)
{
    json_begin_object(w, "signatures");
    for (int m = 0; m < METRICS; m++) {
        char signature[160];
        if (!c->e.selected[m]) continue;
        attend_metric_signature(&c->e.options[m], test_set_reference_count(&c->e.test_set), signature,
                                sizeof signature);
        json_text(w, attend_metric_name((attend_metric_kind)m), signature);
    }
    attend_json_end_object(w);
}

void comparison_print_json(const comparison *c, FILE *to)
{
    attend_json_writer w = attend_json_to_file(to);
    attend_json_begin_object(&w);
    json_text(&w, "version", attend_version());
    json_text(&w, "training_data", c->train_hash.text);
    json_text(&w, "validation_data", c->valid_hash.text);
    json_text(&w, "test_data", c->test_hash.text);
    json_integer(&w, "sources", c->e.test_set.count);
    json_integer(&w, "beam", c->s->beam);
    json_integer(&w, "samples", c->e.samples);
    json_signatures(&w, c);
    if (c->base >= 0) json_text(&w, "against", c->variants[c->base].name);
    json_begin_array(&w, "variants");
    for (int i = 0; i < c->count; i++) json_variant(&w, c, i);
    attend_json_end_array(&w);
    json_end_line(&w);
}
