/* cmd_demo.c: trains a small model on the built-in pairs (demo/demo_pairs.h), translates with it and shows its
 * attention. */
#include "options.h"
#include "device_option.h"

#include "demo_files.h"
#include "demo_maps.h"
#include "interrupt.h"
#include "memory_option.h"
#include "progress.h"

#include <attend/processors.h>
#include <attend/status.h>
#include "demo/demo_pairs.h"
#include "result_text.h"
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *attention, *output, *write_pairs, *device;
    attend_config config;
    long long pairs, updates, seed, threads, memory;
    bool quiet;
} settings;

enum {
    TESTED = 500,  /* held-out sentences to translate */
    ALIGNED = 200, /* of these, sentences whose links are compared with the gold links */
    SHOWN = 4
};

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "attention", "NAME", "score function of the attention, or none; see attend train --help for the names",
      OPTION_TEXT, AT(attention), 0, 0, NULL },
    { "pairs", "N", "number of built-in pairs to train on", OPTION_INTEGER, AT(pairs), 100, 1e7, NULL },
    { "updates", "N", "number of updates", OPTION_INTEGER, AT(updates), 1, 1e9, NULL },
    { "seed", "N", "random seed of the sentences and of the model", OPTION_INTEGER, AT(seed), 0, 9e15, NULL },
    { "threads", "N",
      "number of threads; does not change the model (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    MEMORY_OPTION(AT(memory), " (default: none)"),
    DEVICE_OPTION(AT(device)),
    { "output", "DIRECTORY", "where to write the pairs and the model", OPTION_DIRECTORY, AT(output), 0, 0, NULL },
    { "write-pairs", "DIRECTORY", "only write the pairs to this directory, for attend train and attend align",
      OPTION_DIRECTORY, AT(write_pairs), 0, 0, NULL },
    { "quiet", NULL, "print the results only", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
static const option_alias aliases[] = {
    { "output", "keep", NULL, NULL },
    { NULL, NULL, NULL, NULL },
};

/* ---- training ---- */

/* Sizes and rates with which several seeds reach 95 % exact match in about a minute on two cores. */
static void train_options(const settings *s, const demo_files *f, const attend_pairs_spec *specs,
                          attend_train_options *o)
{
    *o = attend_train_defaults();
    o->config = s->config;
    o->train = &specs[0], o->train_count = 1;
    o->valid = &specs[1], o->valid_count = 1;
    o->model = f->model;
    for (int side = 0; side < 2; side++) o->tokens[side].kind = ATTEND_TOKENS_WORD;
    o->label_smoothing = 0;
    o->batch_tokens = 500;
    o->schedule.kind = ATTEND_SCHEDULE_COSINE;
    o->schedule.rate = 0.003, o->schedule.warmup = 50;
    o->updates = (uint64_t)s->updates;
    o->valid_every = o->save_every = (o->updates + 3) / 4;
    o->patience = 0;
    o->seed = (uint64_t)s->seed;
    o->threads = (int)s->threads;
    o->memory = (size_t)s->memory;
    o->fresh = true;
}

static int train(const settings *s, const demo_files *f, attend_train_end *end)
{
    const attend_pairs_spec specs[2] = { { .source = f->train }, { .source = f->valid } };
    attend_train_options o;
    train_options(s, f, specs, &o);
    progress_view view = progress_new(stderr, s->quiet, valid_metric_style(0), true);
    const attend_train_events events = { .user = &view,
                                         .plan = progress_plan,
                                         .progress = progress_show,
                                         .notice = progress_message,
                                         .stop = interrupt_stop };
    interrupt_catch();
    const int status = attend_train(&o, &events, end);
    progress_end(&view);
    return status;
}

/* ---- test ---- */

typedef struct test {
    demo_pair *pairs;                              /* (TESTED) */
    const char *sources[TESTED], *targets[TESTED]; /* the texts of the pairs */
    size_t sizes[TESTED];
    int exact;
    attend_aer_sums errors;
    double words; /* of the aligned targets */
} test;

/* A result without one of the sentences would be wrong. */
static int check_fault(int sentence, const char *fault)
{
    return fault ? attend_fail(ATTEND_FAILED, "held-out sentence %d has no result: %s", sentence + 1, fault)
                 : ATTEND_OK;
}

static int align(test *t, const attend_model *m, const settings *s)
{
    attend_scorer *scorer = NULL;
    attend_word_link found[DEMO_LINKS];
    int status = attend_scorer_new(&scorer, m, (int)s->threads, true);
    if (status == ATTEND_OK) status = attend_scorer_set_memory(scorer, (size_t)s->memory);
    if (status == ATTEND_OK) status = attend_scorer_run(scorer, ALIGNED, t->sources, t->targets);
    for (int i = 0; status == ATTEND_OK && i < ALIGNED; i++) {
        const demo_pair *p = &t->pairs[i];
        const attend_scored_pair *r = attend_scorer_result(scorer, i);
        const int count = attend_scorer_links(r, found, DEMO_LINKS);
        status = check_fault(i, r->fault);
        if (status == ATTEND_OK) status = attend_aer_add(&t->errors, found, count, p->links, p->link_count);
        t->words += p->target_words;
    }
    attend_scorer_free(scorer);
    return status;
}

/* The number of crossing links: how much the French word order differs. */
static int crossings(const demo_pair *p)
{
    int n = 0;
    for (int i = 0; i < p->link_count; i++)
        for (int j = 0; j < i; j++)
            n += p->links[i].sure && p->links[j].sure && p->links[i].target > p->links[j].target &&
                 p->links[i].source < p->links[j].source;
    return n;
}

/* Prints a translation, with its attention map below. */
static int show(demo_maps *d, const attend_line_result *r, const demo_pair *p, bool attends)
{
    attend_print(stdout, attends ? "\n  %s\n  %s%s\n\n" : "\n  %s\n  %s%s\n", p->source, r->hypotheses[0].text,
                 strcmp(r->hypotheses[0].text, p->target) == 0 ? "" : "     (differs from the reference)");
    return attends ? demo_maps_add(d, p->source, r, true) : ATTEND_OK;
}

/* Shows sentences whose word order changes: the first few on the terminal, all on the page. */
static int show_some(test *t, const attend_model *m, const attend_translator *translator, const demo_files *f)
{
    const bool attends = attend_model_config(m)->attention != NULL;
    demo_maps d = { 0 };
    int status = demo_maps_new(&d, m, f->model);
    for (int i = 0, shown = 0; status == ATTEND_OK && i < TESTED; i++) {
        const attend_line_result *r = attend_translator_result(translator, i);
        if (crossings(&t->pairs[i]) < 3) continue;
        if (t->pairs[i].source_words <= 9 && shown < SHOWN)
            status = show(&d, r, &t->pairs[i], attends), shown++;
        else if (attends)
            status = demo_maps_add(&d, t->sources[i], r, false);
    }
    if (status == ATTEND_OK && attends) status = demo_maps_write_page(&d, f->page);
    demo_maps_free(&d);
    return status;
}

static int translate(test *t, const attend_model *m, const settings *s, const demo_files *f)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *translator = NULL;
    o.threads = (int)s->threads, o.search.n_best = 3, o.memory = (size_t)s->memory;
    int status = attend_translator_new(&translator, m, &o);
    if (status == ATTEND_OK) status = attend_translator_run(translator, TESTED, t->sources, t->sizes);
    for (int i = 0; status == ATTEND_OK && i < TESTED; i++) {
        const attend_line_result *r = attend_translator_result(translator, i);
        status = check_fault(i, r->fault);
        if (status == ATTEND_OK) t->exact += strcmp(r->hypotheses[0].text, t->targets[i]) == 0;
    }
    if (status == ATTEND_OK) status = show_some(t, m, translator, f);
    attend_translator_free(translator);
    return status;
}

static int test_model(const settings *s, const demo_files *f, test *t)
{
    attend_model *model = NULL;
    t->pairs = malloc(TESTED * sizeof *t->pairs);
    if (!t->pairs) return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d pairs", TESTED);
    for (int i = 0; i < TESTED; i++) {
        demo_test_pair((uint64_t)s->seed, i, &t->pairs[i]);
        t->sources[i] = t->pairs[i].source, t->targets[i] = t->pairs[i].target, t->sizes[i] = strlen(t->sources[i]);
    }
    int status = attend_model_load(&model, f->model, NULL);
    const bool attends = status == ATTEND_OK && attend_model_config(model)->attention;
    if (status == ATTEND_OK) status = translate(t, model, s, f);
    if (status == ATTEND_OK && attends) status = align(t, model, s);
    attend_model_free(model);
    free(t->pairs);
    return status;
}

/* Prints a word of a command, quoted for the shell. */
static void word(const char *before, const char *text)
{
    write_unchanged(stdout, before);
    cli_print_word(stdout, text);
}

static void report(const settings *s, const demo_files *f, const test *t)
{
    attend_print(stdout, "\nexact match %.1f %% of %d held-out sentences\n", 100.0 * t->exact / TESTED, TESTED);
    if (t->words > 0)
        attend_print(
            stdout,
            "attention   %.1f %% of the target words of %d of them attend most to an aligned source word; AER %.4f\n",
            100 * t->errors.matched_possible / t->words, ALIGNED, attend_aer(&t->errors));
    if (strcmp(s->attention, "additive") != 0)
        attend_print(stdout,
                     "docs/demo.md compares the scores after 3500 updates; additive reaches 99.0 %% and 97.8 %%.\n");
    if (t->words > 0) attend_print(stdout, "\nOpen %s in a browser for more attention maps.\n", f->page);
    attend_print(stdout, "The model is %s. Try it:\n\n", f->model);
    word("  ", cli_program), word(" translate --model ", f->model);
    attend_print(stdout, " 'I do not see the black cat .'");
    if (t->words > 0) {
        word("\n  ", cli_program), word(" show --model ", f->model),
            attend_print(stdout, " 'the cat does not give me the black bag .'");
        word("\n  ", cli_program), word(" align --model ", f->model), word(" --input ", f->test);
        word(" --gold ", f->links);
    }
    attend_print(stdout, "\n\nTo train on your own pairs, one per line with a TAB between source and target:\n\n");
    word("  ", cli_program), attend_print(stdout, " check --train pairs.tsv\n");
    word("  ", cli_program), attend_print(stdout, " train --train pairs.tsv --model my-model\n");
}

/* ---- the verb ---- */

static int demo(settings *s)
{
    demo_files f = { 0 };
    test t = { 0 };
    attend_train_end end = ATTEND_TRAIN_DONE;
    const bool only_pairs = s->write_pairs != NULL;
    int status = attend_config_set(&s->config, "attention", s->attention);
    s->config.input_feeding = s->config.attention != NULL;
    s->config.heads = s->config.attention ? s->config.attention->usual_heads : 0;
    if (status == ATTEND_OK)
        status = demo_files_write(&f, only_pairs ? s->write_pairs : s->output, only_pairs ? NULL : &s->config,
                                  (uint64_t)s->seed, s->pairs);
    if (status == ATTEND_OK && only_pairs) {
        attend_print(stdout, "%s  %s\n%s  %s\n", f.train, f.valid, f.test, f.links);
    } else {
        if (status == ATTEND_OK) status = train(s, &f, &end);
        if (status == ATTEND_OK && end != ATTEND_TRAIN_STOPPED) status = test_model(s, &f, &t);
        if (status == ATTEND_OK && interrupt_caught()) {
            if (!s->quiet) attend_print(stderr, "stopped; the demo does not resume but starts again\n");
            demo_files_free(&f);
            return 128 + interrupt_caught();
        }
        if (status == ATTEND_OK) report(s, &f, &t);
    }
    demo_files_free(&f);
    return status == ATTEND_OK ? 0 : cli_fail(&verb_demo, status);
}

static const void *defaults(void)
{
    static const attend_config config = ATTEND_CONFIG_INIT;
    static settings s;
    s = (settings){ .config = config,
                    .attention = config.attention->name,
                    .output = "attend-demo",
                    .pairs = 60000,
                    .updates = 3500,
                    .seed = 1,
                    .threads = attend_processors_threads() };
    s.config.hidden = 128, s.config.embedding = 128, s.config.dropout = 0;
    s.config.context = ATTEND_CONTEXT_AFTER,
    s.config.readout = ATTEND_READOUT_PLAIN; /* the query depends on the last token, which sharpens the maps */
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    int status = options_parse(&verb_demo, &s, argc, argv, &p);
    if (status == 0 && !p.help)
        status = p.positional_count > 0
                     ? usage_error(&verb_demo, "unexpected argument '%s'", p.positional[0])
                     : device_option_use(&verb_demo, &p, &(device_choice){ s.device, NULL, &s.threads, NULL, s.quiet });
    if (status == 0 && !p.help) status = demo(&s);
    options_free(&verb_demo, &s, &p);
    return status;
}

const verb verb_demo = {
    .name = "demo",
    .summary = "train on built-in pairs, translate and show the attention, in about a minute",
    .synopsis = "attend demo [--attention NAME] [--pairs N] [--updates N] [--seed N] [--output DIRECTORY]\n"
                "       attend demo --write-pairs DIRECTORY",
    .details =
        "Trains on English and French sentences generated by a grammar, translates held-out sentences, and prints\n"
        "how many translations are exact and how often attention agrees with the word alignment of the grammar.\n"
        "The pairs, the gold links and the model stay in a directory for use with the other verbs (docs/demo.md).",
    .examples = "  attend demo\n  attend demo --attention dot --seed 2\n  attend demo --write-pairs pairs\n",
    .options = table,
    .defaults = defaults,
    .aliases = aliases,
    .directory_files = demo_file_names,
    .run = run,
};
