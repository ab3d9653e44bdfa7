/* attend_train on several ranks: the same model, checkpoint and log as alone, to the byte; resuming with another number of ranks; faults of ranks and
 * of their transport. Ranks are threads here; test/cli/ranks.sh runs them as processes. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/rank_threads.h"
#include "support/trainings.h"
#include <math.h>
#include <time.h>

enum { TRAIN = 60, VALID = 40 };

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", TRAIN, 1);
    write_reversals("valid.tsv", VALID, 77);
    return 0;
}

static attend_pairs_spec train_spec, valid_spec;
static char names[2][512], model_name[512];

typedef struct variant {
    const char *name;
    void (*set)(attend_train_options *o);
} variant;

static void set_rnn(attend_train_options *o)
{
    o->tokens[0].kind = o->tokens[1].kind = ATTEND_TOKENS_WORD;
    o->config.hidden = 8, o->config.embedding = 6;
    o->keep = 2;
}

static void set_transformer(attend_train_options *o)
{
    assert_ok(attend_config_set(&o->config, "architecture", "transformer"));
    o->tokens[0].kind = o->tokens[1].kind = ATTEND_TOKENS_BPE;
    o->tokens[0].vocab_size = o->tokens[1].vocab_size = 264;
    o->bpe_dropout = 0.3;
    o->config.hidden = 8, o->config.heads = 2, o->config.layers = 2, o->config.feed_forward_width = 12;
    o->accumulate = 2;
    o->average_checkpoints = 2;
    o->valid_metric = ATTEND_VALID_CHRF;
}

static void set_lstmn(attend_train_options *o)
{
    assert_ok(attend_config_set(&o->config, "architecture", "lstmn"));
    o->tokens[0].kind = o->tokens[1].kind = ATTEND_TOKENS_CHAR;
    o->config.hidden = 8, o->config.embedding = 6;
    o->optimizer.kind = ATTEND_SGD, o->optimizer.momentum = 0.9;
    o->schedule.rate = 0.05;
    o->valid_metric = ATTEND_VALID_LOSS;
}

/* Rows of 5000 numbers: a piece has 13 of them, so that the ranks own parts of a matrix. */
static void set_wide(attend_train_options *o)
{
    set_rnn(o);
    o->config.hidden = 64, o->config.embedding = 700;
    o->updates = 5;
}

/* Pairs lose their beginnings, by another length in each epoch. */
static void set_crops(attend_train_options *o)
{
    set_rnn(o);
    o->crop = 0.5;
    o->accumulate = 2;
}

static const variant variants[] = { { "rnn", set_rnn },
                                    { "transformer", set_transformer },
                                    { "lstmn", set_lstmn },
                                    { "wide", set_wide },
                                    { "crops", set_crops } };
enum { VARIANTS = sizeof variants / sizeof *variants };

static attend_train_options options_for(const variant *v, const char *model)
{
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.tsv"));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.tsv"));
    snprintf(model_name, sizeof model_name, "%s", in_folder(model));
    train_spec.source = names[0], valid_spec.source = names[1];
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = model_name;
    o.config.dropout = 0.2;
    o.batch_tokens = 60, o.shard_tokens = 20;
    o.valid_metric = ATTEND_VALID_BLEU;
    o.average = 0.9;
    o.valid_every = 4, o.save_every = 3, o.log_every = 2;
    o.updates = 11, o.patience = 0;
    v->set(&o);
    return o;
}

static void same_training(const char *a, const char *b)
{
    same_file(a, b, "");
    same_file(a, b, ".checkpoint");
    same_log(a, b);
}

/* Trains on ranks that must all succeed. */
static void train(const variant *v, const char *model, int ranks, int threads)
{
    attend_train_options o = options_for(v, model);
    rank_thread r[MAX_TEST_RANKS];
    rank_group *g = attend_rank_group_new(ranks, 30);
    assert_non_null(g);
    o.threads = threads;
    train_on_ranks(g, ranks, &o, NULL, r);
    for (int i = 0; i < ranks; i++) {
        if (r[i].status != ATTEND_OK) fail_msg("rank %d: %s", i, r[i].message);
        assert_int_equal(r[i].end, ATTEND_TRAIN_DONE);
    }
    attend_rank_group_free(g);
}

static void train_alone(const variant *v, const char *model)
{
    attend_train_options o = options_for(v, model);
    assert_ok(attend_train(&o, NULL, NULL));
}

static void ranks_and_threads_do_not_matter(void **state)
{
    (void)state;
    static const int rank_counts[] = { 1, 2, 3, 4, 5, 8 };
    for (int v = 0; v < VARIANTS; v++) {
        char reference[32];
        snprintf(reference, sizeof reference, "%s-alone", variants[v].name);
        train_alone(&variants[v], reference);
        for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++)
            for (int threads = 1; threads <= (rank_counts[i] > 4 ? 1 : 3); threads++) {
                train(&variants[v], "ranks", rank_counts[i], threads);
                same_training(reference, "ranks");
                remove_model("ranks");
            }
    }
}

/* ---- reading ---- */

enum { MANY = 7000 }; /* more than ranks read in two rounds */

static void set_shared_bpe(attend_train_options *o)
{
    set_rnn(o);
    o->tokens[0].kind = o->tokens[1].kind = ATTEND_TOKENS_BPE;
    o->tokens[0].vocab_size = o->tokens[1].vocab_size = 300;
    o->config.shared_vocab = true;
}

static void set_language_model(attend_train_options *o)
{
    set_rnn(o);
    o->config.task = ATTEND_TASK_LANGUAGE_MODEL;
    o->tokens[0].kind = o->tokens[1].kind = ATTEND_TOKENS_CHAR;
    o->valid_metric = ATTEND_VALID_LOSS;
    train_spec = (attend_pairs_spec){ .target = names[0] }, valid_spec = (attend_pairs_spec){ .target = names[1] };
}

/* Most words are in one line only, so that each rank counts others. */
static void write_words(const char *name, int count)
{
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    for (int i = 0; i < count; i++)
        fprintf(f, "%c%c%c %c\t%c %c%c\n", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26, 'a' + i % 7,
                'a' + i % 7, 'a' + i % 26, 'a' + i / 676 % 26);
    assert_int_equal(fclose(f), 0);
}

/* Vocabularies, the words that the data has and the order of the pairs are those of one process. */
static void many_pairs(void **state)
{
    (void)state;
    static const variant kinds[] = { { "words", set_rnn },
                                     { "bpe", set_shared_bpe },
                                     { "transformer", set_transformer },
                                     { "lm", set_language_model } };
    write_words("train.tsv", MANY);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const variant *v = &kinds[i];
        attend_train_options o = options_for(v, "many-alone");
        o.updates = 2;
        assert_ok(attend_train(&o, NULL, NULL));
        for (int ranks = 2; ranks <= 4; ranks++) {
            rank_thread r[MAX_TEST_RANKS];
            rank_group *g = attend_rank_group_new(ranks, 30);
            o = options_for(v, "many");
            o.updates = 2;
            train_on_ranks(g, ranks, &o, NULL, r);
            for (int k = 0; k < ranks; k++)
                if (r[k].status != ATTEND_OK) fail_msg("%s, rank %d: %s", v->name, k, r[k].message);
            attend_rank_group_free(g);
            same_training("many-alone", "many");
            remove_model("many");
        }
        remove_model("many-alone");
        train_spec = valid_spec = (attend_pairs_spec){ 0 };
    }
    write_reversals("train.tsv", TRAIN, 1);
}

/* ---- stopping and resuming ---- */

static void a_stopped_training_resumes_with_other_ranks(void **state)
{
    (void)state;
    static const int counts[] = { 3, 1, 2, 4, 2 };
    for (int v = 0; v < VARIANTS; v++) {
        char reference[32];
        snprintf(reference, sizeof reference, "%s-alone", variants[v].name);
        attend_train_end end = ATTEND_TRAIN_STOPPED;
        for (int runs = 0; end == ATTEND_TRAIN_STOPPED; runs++) {
            attend_train_options o = options_for(&variants[v], "stopped");
            rank_thread r[MAX_TEST_RANKS];
            const int count = counts[runs % 5];
            stopper s = { .left = 4 }; /* it also counts calls while data is read */
            const attend_train_events events = { .user = &s, .stop = stop_after };
            rank_group *g = attend_rank_group_new(count, 30);
            train_on_ranks(g, count, &o, &events, r);
            for (int i = 0; i < count; i++) {
                if (r[i].status != ATTEND_OK) fail_msg("rank %d: %s", i, r[i].message);
                assert_int_equal(r[i].end, r[0].end);
            }
            end = r[0].end;
            attend_rank_group_free(g);
            assert_true(runs < 30);
        }
        same_training(reference, "stopped");
        remove_model("stopped");
    }
}

/* ---- faults ---- */

/* Longer than other processes keep a thread of a loaded machine waiting, and than the short faults below. */
#define FAULT_TIMEOUT 0.8

/* Trains with a fault; true: training ended all the same. */
static bool train_with_fault(const variant *v, const char *model, int ranks, int rank, long message,
                             rank_fault_injection fault, double seconds, rank_thread r[MAX_TEST_RANKS])
{
    attend_train_options o = options_for(v, model);
    rank_group *g = attend_rank_group_new(ranks, FAULT_TIMEOUT);
    assert_non_null(g);
    attend_rank_group_inject(g, rank, message, fault, seconds);
    train_on_ranks(g, ranks, &o, NULL, r);
    attend_rank_group_free(g);
    return r[0].status == ATTEND_OK;
}

static void faults_of_the_transport(void **state)
{
    (void)state;
    static const struct {
        rank_fault_injection fault;
        double seconds;
        const char *text; /* of the message; NULL: training succeeds */
    } cases[] = { { INJECT_KILL, 0, "it has ended" },
                  { INJECT_DROP, 0, NULL },
                  { INJECT_DELAY, 0.05, NULL },
                  { INJECT_DUPLICATE, 0, NULL },
                  { INJECT_TRUNCATE, 0, "a message has another size" },
                  { INJECT_STOP, 0.05, NULL },
                  { INJECT_STOP, 2, "nothing was heard from it for 0.8 s" } };
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 5; k++) {
            const int ranks = 2 + k % 3, rank = k % ranks;
            const long message = 3 + 37 * k + 5 * (long)i;
            rank_thread r[MAX_TEST_RANKS];
            const bool done =
                train_with_fault(&variants[0], "faulty", ranks, rank, message, cases[i].fault, cases[i].seconds, r);
            failed += !done;
            if (cases[i].text && !done) {
                char name[32];
                snprintf(name, sizeof name, "rank %d on ", rank);
                for (int other = 0; other < ranks; other++) {
                    if (other == rank) continue;
                    assert_int_not_equal(r[other].status, ATTEND_OK);
                    if (!strstr(r[other].message, cases[i].text) || !strstr(r[other].message, name))
                        fail_msg("fault %zu at rank %d of %d: %s", i, rank, ranks, r[other].message);
                }
            }
            if (cases[i].fault == INJECT_DELAY || (cases[i].fault == INJECT_STOP && cases[i].seconds < FAULT_TIMEOUT))
                assert_true(done);
            /* whatever happened, the training goes on to the same bytes with another number of ranks */
            train(&variants[0], "faulty", 1 + (k + 1) % 4, 1);
            same_training("rnn-alone", "faulty");
            remove_model("faulty");
        }
    assert_true(failed >= 15);
}

static void killed_at_many_messages(void **state)
{
    (void)state;
    int killed = 0;
    const long step = getenv("ATTEND_TEST_LONG") ? 1 : 17;
    for (long message = 1;; message += step) {
        rank_thread r[MAX_TEST_RANKS];
        if (train_with_fault(&variants[0], "killed", 3, (int)(message % 3), message, INJECT_KILL, 0, r)) break;
        killed++;
        train(&variants[0], "killed", 1 + (int)(message % 4), 1);
        same_training("rnn-alone", "killed");
        remove_model("killed");
    }
    same_training("rnn-alone", "killed");
    remove_model("killed");
    assert_true(killed >= 5);
}

/* ---- what is refused ---- */

/* Rank 1 reads a file of its own; the other refuses it. */
static void refuse_file(const attend_pairs_spec *other, const char *text)
{
    rank_thread r[MAX_TEST_RANKS];
    pthread_t ids[2];
    rank_group *g = attend_rank_group_new(2, 30);
    for (int i = 0; i < 2; i++) {
        r[i] = (rank_thread){ .group = g, .rank = i, .options = options_for(&variants[0], "refused") };
        if (i == 1) r[i].options.train = other;
        pthread_create(&ids[i], NULL, run_rank_thread, &r[i]);
    }
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
    attend_rank_group_free(g);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(r[i].status, ATTEND_OK);
        if ((i == 0 && !strstr(r[i].message, "rank 1 on ")) || !strstr(r[i].message, text))
            fail_msg("rank %d: %s", i, r[i].message);
    }
    remove_model("refused");
}

/* Other lines; a line more, also where a round ends; a line that is not UTF-8. */
static void other_data_are_refused(void **state)
{
    (void)state;
    char name[512];
    snprintf(name, sizeof name, "%s", in_folder("other.tsv"));
    const attend_pairs_spec other = { .source = name };
    write_reversals("other.tsv", TRAIN, 2);
    refuse_file(&other, "has read other data");
    for (int count = TRAIN; count <= 2048; count += 2048 - TRAIN) {
        write_reversals("train.tsv", count, 1);
        write_reversals("other.tsv", count + 1, 1);
        refuse_file(&other, "has read other data");
    }
    write_reversals("train.tsv", TRAIN, 1);
}

/* A line that is not UTF-8: one rank finds it. */
static void a_bad_line(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        rank_thread r[MAX_TEST_RANKS];
        write_reversals("train.tsv", first ? 3 : 2049, 1);
        FILE *f = fopen(in_folder("train.tsv"), "ab");
        fputs("a \xff\tb\n", f);
        fclose(f);
        rank_group *g = attend_rank_group_new(3, 30);
        attend_train_options o = options_for(&variants[0], "refused");
        train_on_ranks(g, 3, &o, NULL, r);
        attend_rank_group_free(g);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(r[i].status, ATTEND_BAD_DATA);
            if (!strstr(r[i].message, first ? "train.tsv:4: " : "train.tsv:2050: "))
                fail_msg("rank %d: %s", i, r[i].message);
        }
        remove_model("refused");
    }
    write_reversals("train.tsv", TRAIN, 1);
}

/* A failure of one rank is that of all, and names the rank. */
static void a_failure_of_one_rank(void **state)
{
    (void)state;
    rank_thread r[MAX_TEST_RANKS];
    pthread_t ids[3];
    rank_group *g = attend_rank_group_new(3, 30);
    const attend_pairs_spec missing = { .source = "no/such/file.tsv" };
    for (int i = 0; i < 3; i++) {
        r[i] = (rank_thread){ .group = g, .rank = i, .options = options_for(&variants[0], "refused") };
        if (i == 2) r[i].options.train = &missing;
        pthread_create(&ids[i], NULL, run_rank_thread, &r[i]);
    }
    for (int i = 0; i < 3; i++) pthread_join(ids[i], NULL);
    attend_rank_group_free(g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].status, ATTEND_IO);
        assert_non_null(strstr(r[i].message, "no/such/file.tsv"));
        if (i < 2) assert_non_null(strstr(r[i].message, "rank 2 on "));
    }
    remove_model("refused");
}

/* ---- memory ---- */

static void refused_memory(void **state)
{
    (void)state;
    attend_train_options o = options_for(&variants[0], "memory");
    rank_thread r[MAX_TEST_RANKS];
    rank_group *g = attend_rank_group_new(2, 30);
    attend_memory_refuse(-1);
    o.updates = 4;
    train_on_ranks(g, 2, &o, NULL, r);
    const long requests = attend_memory_requests();
    attend_rank_group_free(g);
    remove_model("memory");
    assert_true(requests > 1000);
    const long tries = getenv("ATTEND_TEST_LONG") ? requests : 60;
    int failed = 0;
    for (long i = 0; i < tries; i++) {
        attend_memory_refuse(0);
        g = attend_rank_group_new(2, 30);
        attend_memory_refuse(1 + requests * i / tries);
        train_on_ranks(g, 2, &o, NULL, r);
        attend_memory_refuse(0);
        failed += r[0].status != ATTEND_OK;
        if (r[0].status != ATTEND_OK && r[0].status != ATTEND_NO_MEMORY) fail_msg("%s", r[0].message);
        attend_rank_group_free(g);
        if (i % 10 == 0) {
            train(&variants[0], "memory", 1 + (int)(i / 10) % 3, 1);
            same_training("rnn-alone", "memory");
        }
        remove_model("memory");
    }
    assert_true(failed > tries / 4);
}

/* ---- bytes ---- */

/* A rank sends (R - 1) / R of the bytes of the parameters twice in an update: gradients and weights. */
static void bytes_of_an_update(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks *= 2) {
        uint64_t bytes[2];
        size_t parameters = 0;
        for (int k = 0; k < 2; k++) {
            attend_train_options o = options_for(&variants[3], "bytes");
            rank_thread r[MAX_TEST_RANKS];
            rank_group *g = attend_rank_group_new(ranks, 30);
            o.updates = k == 0 ? 1 : 3, o.valid_count = 0, o.average = 0, o.save_every = 1000, o.shard_tokens = 8;
            train_on_ranks(g, ranks, &o, NULL, r);
            bytes[k] = 0;
            for (int i = 0; i < ranks; i++) {
                assert_int_equal(r[i].status, ATTEND_OK);
                bytes[k] += r[i].bytes;
            }
            attend_rank_group_free(g);
            attend_model *m = NULL;
            assert_ok(attend_model_load(&m, o.model, NULL));
            parameters = attend_params_size(attend_model_params(m));
            attend_model_free(m);
            remove_model("bytes");
        }
        const double per_update = (double)(bytes[1] - bytes[0]) / 2 / ranks, model = 4.0 * (double)parameters,
                     most = 2.0 * (ranks - 1) / ranks * model;
        printf("%d ranks: %.0f bytes a rank and update, %.3f of 2 (R - 1) / R of %.0f\n", ranks, per_update,
               per_update / most, model);
        assert_true(per_update <= 1.05 * most); /* with the outcome of the shards and the norm */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_and_threads_do_not_matter),
        cmocka_unit_test(many_pairs),
        cmocka_unit_test(a_stopped_training_resumes_with_other_ranks),
        cmocka_unit_test(faults_of_the_transport),
        cmocka_unit_test(killed_at_many_messages),
        cmocka_unit_test(other_data_are_refused),
        cmocka_unit_test(a_bad_line),
        cmocka_unit_test(a_failure_of_one_rank),
        cmocka_unit_test(refused_memory),
        cmocka_unit_test(bytes_of_an_update),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
