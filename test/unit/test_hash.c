/* Hash tables: input that is chosen to collide does not, and no result depends on the seed of the hashes. */
#include "core/hash.h"
#include "core/pair_table.h"
#include "metric/ngrams.h"
#include "support/trainings.h"
#include "text/hash_set.h"
#include "unit/unit.h"
#include <attend/data_check.h>
#include <attend/map_selection.h>
#include <attend/shortlist.h>
#include <attend/string_table.h>
#include <attend/trainer.h>

/* ENTRIES keys that would all be in one slot of a table of SLOTS if the hashes had no seed. */
enum { ENTRIES = 1500, SLOTS = 4096 };

/* The steps from the slot of a hash to the slot in use. */
static size_t distance(uint64_t hash, size_t at, size_t slots)
{
    return (at - (size_t)hash) & (slots - 1);
}

/* A table that is half full has about half a step per entry, one that is three quarters full 1.4, with a standard
 * deviation of 0.16 over the seeds (Flajolet, Poblete, Viola 1998); colliding keys have 750. */
static void assert_few_steps(size_t steps, size_t slots)
{
    assert_int_equal(slots, SLOTS);
    if (steps > 10 * ENTRIES) fail_msg("%d entries are %zu steps from their slots", ENTRIES, steps);
}

static void chosen_strings(void **state)
{
    (void)state;
    attend_string_table t = { 0 };
    for (unsigned long i = 0; t.count < ENTRIES; i++) {
        char word[32];
        int number;
        const size_t size = (size_t)snprintf(word, sizeof word, "%lx", i);
        if (attend_hash_bytes(word, size, 0) % SLOTS == 0) assert_ok(attend_string_table_add(&t, word, size, &number));
    }
    size_t steps = 0;
    for (size_t i = 0; i < t.slot_count; i++)
        if (t.slots[i].number) steps += distance(t.slots[i].hash, i, t.slot_count);
    assert_few_steps(steps, t.slot_count);
    attend_string_table_free(&t);
}

static void chosen_pairs(void **state)
{
    (void)state;
    attend_pair_table t = { 0 };
    for (int i = 0, count = 0; count < ENTRIES; i++) /* Fibonacci hashing, the usual choice without a seed */
        if (((uint64_t)i * 0x9e3779b97f4a7c15u >> 32) % SLOTS == 0)
            assert_true(attend_pair_table_add(&t, 0, i, count++));
    size_t steps = 0;
    for (size_t i = 0; i < t.slot_count; i++)
        if (t.slots[i].value)
            steps += distance(attend_pair_table_hash(&t, t.slots[i].left, t.slots[i].right), i, t.slot_count);
    assert_few_steps(steps, t.slot_count);
    attend_pair_table_free(&t);
}

static void chosen_hashes(void **state)
{
    (void)state;
    attend_hash_set t = { 0 };
    bool had;
    for (uint64_t i = 1; i <= ENTRIES; i++) assert_ok(attend_hash_set_add(&t, i * SLOTS, &had));
    size_t steps = 0;
    for (size_t i = 0; i < t.capacity; i++)
        if (t.table[i]) steps += distance(attend_hash_number(t.table[i], t.seed), i, t.capacity);
    assert_few_steps(2 * steps, 2 * t.capacity); /* a set is denser */
    attend_hash_set_free(&t);
}

/* The finalizer of splitmix64. */
static uint64_t splitmix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void chosen_symbols(void **state)
{
    (void)state;
    attend_ngrams t = { 0 };
    for (uint32_t i = 0; t.count < ENTRIES; i++)
        if (splitmix(i) % SLOTS == 0) assert_true(attend_ngrams_child(&t, 0, i) > 0);
    size_t steps = 0;
    for (size_t i = 0; i < t.capacity; i++)
        if (t.slots[i].node)
            steps += distance(attend_hash_pair(t.slots[i].parent, t.slots[i].symbol, t.seed), i, t.capacity);
    assert_few_steps(steps, t.capacity);
    attend_ngrams_free(&t);
}

/* The seed of a process is drawn once, and differs from that of another process. */
static void seeds(void **state)
{
    (void)state;
    attend_hash_use_seed(0); /* draw again */
    const uint64_t first = attend_hash_seed();
    assert_true(first != 0 && first == attend_hash_seed());
    attend_hash_use_seed(0);
    assert_true(first != attend_hash_seed()); /* two in 2^64 draws are equal */
}

/* ---- results ---- */

enum { RUNS = 3 };
static const uint64_t run_seeds[RUNS] = { 1, 2, 0x8000000000000000u };

static char *in_folder_copy(const char *name)
{
    char *path = strdup(in_folder(name));
    assert_non_null(path);
    return path;
}

/* A training run with subwords on one side and words on the other. */
static void train(const char *name)
{
    attend_train_options o = attend_train_defaults();
    char *data = in_folder_copy("train.tsv"), *model = in_folder_copy(name);
    const attend_pairs_spec spec = { .source = data };
    attend_train_end end;
    o.train = o.valid = &spec, o.train_count = o.valid_count = 1, o.model = model;
    o.tokens[0].kind = ATTEND_TOKENS_BPE, o.tokens[0].vocab_size = 280, o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6, o.config.heads = 2;
    o.batch_tokens = 100, o.valid_metric = ATTEND_VALID_CHRF, o.updates = 6, o.valid_every = 3, o.patience = 0;
    assert_ok(attend_train(&o, NULL, &end));
    free(data), free(model);
}

/* A model with a shortlist of many token pairs, and the alignment errors of its maps against IBM Model 1. */
static void add_shortlist(const char *name)
{
    char *path = in_folder_copy(name);
    attend_model *m = NULL;
    attend_shortlist *list = NULL;
    assert_ok(attend_model_load(&m, path, NULL));
    const attend_config *config = attend_model_config(m);
    assert_ok(attend_shortlist_new(&list, config->source_vocab, config->target_vocab));
    for (int i = 0; i < 2000; i++)
        assert_ok(attend_shortlist_add(list, i * 7 % config->source_vocab, i * i % config->target_vocab));
    assert_ok(attend_shortlist_attach(list, m, 3, 4));
    attend_shortlist_free(list);
    attend_map_selection *s = NULL;
    const char *const sources[] = { "a b c", "b c", "c a" }, *const targets[] = { "c b a", "c b", "a c" };
    const attend_map_score *scores;
    int count, best;
    assert_ok(attend_map_selection_new(&s, m, 1));
    assert_ok(attend_map_selection_add(s, 3, sources, targets, NULL));
    assert_ok(attend_map_selection_end(s, &scores, &count, &best));
    assert_ok(attend_model_attach(m, "errors", &scores[best].error, sizeof scores[best].error));
    attend_map_selection_free(s);
    assert_ok(attend_model_save(m, path));
    attend_model_free(m);
    free(path);
}

static void write_report(const char *name)
{
    char *data = in_folder_copy("train.tsv");
    const attend_pairs_spec spec = { .source = data };
    attend_data_check_report *r = NULL;
    assert_ok(attend_data_check(&r, &spec, 1, &spec, 1, false, 0));
    FILE *to = fopen(in_folder(name), "wb");
    assert_non_null(to);
    assert_ok(attend_data_check_json(r, to));
    assert_int_equal(fclose(to), 0);
    attend_data_check_free(r);
    free(data);
}

static void results_do_not_depend_on_the_seed(void **state)
{
    (void)state;
    char models[RUNS][8], reports[RUNS][8];
    write_reversals("train.tsv", 300, 1);
    for (int i = 0; i < RUNS; i++) {
        snprintf(models[i], sizeof models[i], "m%d", i);
        snprintf(reports[i], sizeof reports[i], "r%d", i);
        attend_hash_use_seed(run_seeds[i]);
        train(models[i]);
        add_shortlist(models[i]);
        write_report(reports[i]);
    }
    for (int i = 1; i < RUNS; i++) {
        same_file(models[0], models[i], "");
        same_file(models[0], models[i], ".checkpoint");
        same_log(models[0], models[i]);
        same_file(reports[0], reports[i], "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_strings),
        cmocka_unit_test(chosen_pairs),
        cmocka_unit_test(chosen_hashes),
        cmocka_unit_test(chosen_symbols),
        cmocka_unit_test(seeds),
        cmocka_unit_test_setup_teardown(results_do_not_depend_on_the_seed, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
