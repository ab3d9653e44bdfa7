/* Training on 1, 2, 3, 7 and 16 threads gives bit-identical losses, gradients and parameters, also with dropout and sampling, and if all operations
 * of a shard are divided among threads. Many threads that read one model at once get the same results. */
#include "unit/unit.h"

#include "core/pool.h"
#include "device/cpu.h"
#include "support/tiny_pairs.h"
#include <attend/attend.h>

enum { SHARDS = 5, PAIRS = 13, MAX_LENGTH = 8, UPDATES = 2 };

/* Pairs of different lengths, some empty, with a link in each pair that is not. */
typedef struct corpus {
    int source[PAIRS * MAX_LENGTH], source_lengths[PAIRS], target[PAIRS * MAX_LENGTH], target_lengths[PAIRS];
    attend_link links[PAIRS];
    attend_pairs pairs;
} corpus;

static void corpus_fill(corpus *k)
{
    int s = 0, t = 0, links = 0;
    for (int i = 0; i < PAIRS; i++) {
        k->source_lengths[i] = (5 * i + 3) % MAX_LENGTH, k->target_lengths[i] = (3 * i + 1) % MAX_LENGTH;
        for (int j = 0; j < k->source_lengths[i]; j++, s++) k->source[s] = s * 7 % TINY_SOURCE;
        for (int j = 0; j < k->target_lengths[i]; j++, t++) k->target[t] = t * 5 % TINY_TARGET;
        if (k->source_lengths[i] && k->target_lengths[i])
            k->links[links++] = (attend_link){ i, k->target_lengths[i] - 1, k->source_lengths[i] / 2 };
    }
    k->pairs = (attend_pairs){ .count = PAIRS,
                               .source = k->source,
                               .source_lengths = k->source_lengths,
                               .target = k->target,
                               .target_lengths = k->target_lengths,
                               .links = k->links,
                               .link_count = links };
}

static attend_model *model_of(const char *spec)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, spec) != ATTEND_OK || attend_model_new(&m, &config, 7) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    return m;
}

/* ---- training ---- */

typedef struct training {
    const attend_model *m;
    const attend_pairs *pairs;
} training;

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const training *t = user;
    const int first = shard * PAIRS / SHARDS, last = (shard + 1) * PAIRS / SHARDS;
    const attend_pairs part = attend_pairs_slice(t->pairs, first, last - first);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 0.1, options.label_smoothing = 0.1, options.guidance = 0.3, options.baseline = 1.5;
    return attend_model_loss(c, t->m, &part, &options);
}

/* The results of a training as bytes: gradients, loss and norm of each update, and the parameters. */
typedef struct trace {
    unsigned char *bytes;
    size_t size, capacity;
} trace;

static void note(trace *t, const void *bytes, size_t size)
{
    if (t->size + size > t->capacity) {
        t->capacity = 2 * (t->size + size);
        t->bytes = realloc(t->bytes, t->capacity);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}

static trace train(const char *spec, const attend_pairs *pairs, int threads)
{
    attend_model *m = model_of(spec);
    attend_team *team = NULL;
    attend_optimizer *adam = NULL;
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    training now = { m, pairs };
    trace t = { 0 };
    attend_params *params = attend_model_params(m);
    assert_ok(attend_team_new(&team, params, threads));
    assert_ok(attend_optimizer_new(&adam, team, &options));
    for (int i = 0; i < UPDATES; i++) {
        double loss, norm;
        if (attend_team_gradient(team, SHARDS, shard_loss, &now, 3, (uint64_t)i, &loss) != ATTEND_OK)
            fail_msg("%s: %s", spec, attend_message());
        for (int p = 0; p < attend_params_count(params); p++) {
            const attend_param *x = attend_params_at(params, p);
            note(&t, attend_grads_of(attend_team_grads(team), x), attend_param_size(x) * sizeof(attend_real));
        }
        assert_ok(attend_optimizer_step(adam, 1e-2, 1, &norm));
        note(&t, &loss, sizeof loss), note(&t, &norm, sizeof norm);
    }
    for (int p = 0; p < attend_params_count(params); p++) {
        const attend_param *x = attend_params_at(params, p);
        note(&t, attend_param_value(x), attend_param_size(x) * sizeof(attend_real));
    }
    attend_optimizer_free(adam);
    attend_team_free(team);
    attend_model_free(m);
    return t;
}

static const char *const models[] = {
    "dropout=0.3",
    "dropout=0.3 dropout-along-time=yes layers=2 cell=lstm",
    "dropout=0.3 dropout-along-time=yes layers=3 context=after readout=plain input-feeding=yes attention=dot",
    "dropout=0.999 layers=8 cell=gru-reset-before",
    "attention=none cell=simple layers=2 dropout=0.5",
    "attention=bilinear context=after readout=plain cell=lstm window=local-m",
    "attention=projected heads=2 attention-width=6 selection=entmax15",
    "attention=location-sensitive selection=sparsemax",
    "attention=location max-positions=8 context=after readout=plain",
    "attention=scaled-dot window=local-p tie-embeddings=yes shared-vocab=yes target-vocab=7",
    "selection=hard dropout=0.2",
    "selection=hard estimator=reinforce entropy-bonus=0.01",
    "selection=hard estimator=reinforce context=after readout=plain input-feeding=yes layers=2 dropout=0.2",
    "architecture=transformer hidden=8 embedding=0 heads=2 layers=2 dropout=0.3 attention-dropout=0.2",
    "architecture=lstmn layers=2 dropout=0.3",
    "architecture=lstmn fusion=deep layers=2 span=2 dropout=0.3 dropout-along-time=yes",
    ("architecture=transformer hidden=8 embedding=0 heads=2 norm=post positions=learned max-positions=8 "
     "feed-forward=gated"),
};

/* Wide enough for several column blocks of every operation: 64 columns, panels of 16 to 32, products of 96 rows. */
#define WIDE "hidden=200 embedding=136 attention-width=136 source-vocab=300 target-vocab=1200 "
static const char *const wide_models[] = {
    WIDE "dropout=0.3",
    WIDE "dropout=0.3 dropout-along-time=yes layers=2 cell=lstm context=after readout=plain input-feeding=yes",
    WIDE "cell=gru-reset-before attention=projected heads=2",
    WIDE "architecture=transformer embedding=0 heads=4 layers=2 dropout=0.3 attention-dropout=0.2",
    WIDE "architecture=transformer embedding=0 heads=4 norm=post positions=learned max-positions=8 feed-forward=gated",
    WIDE "architecture=lstmn dropout=0.3",
};

/* Compares trainings of a model on several threads with one on a single thread. */
static void compare_threads(const char *spec, const attend_pairs *pairs)
{
    static const int counts[] = { 2, 3, 7, 16 };
    attend_cpu_divide_all(false);
    trace one = train(spec, pairs, 1);
    for (int all = 0; all < 2; all++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            attend_cpu_divide_all(all);
            trace t = train(spec, pairs, counts[i]);
            if (t.size != one.size || memcmp(t.bytes, one.bytes, t.size) != 0)
                fail_msg("%s: %d threads give different bits%s", spec, counts[i], all ? " if all is divided" : "");
            free(t.bytes);
        }
    attend_cpu_divide_all(false);
    free(one.bytes);
}

static void training_does_not_depend_on_threads(void **state)
{
    (void)state;
    static corpus k;
    corpus_fill(&k);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) compare_threads(models[i], &k.pairs);
}

static void wide_models_do_not_depend_on_threads(void **state)
{
    (void)state;
    static corpus k;
    corpus_fill(&k);
    for (size_t i = 0; i < sizeof wide_models / sizeof *wide_models; i++) compare_threads(wide_models[i], &k.pairs);
}

/* ---- reading ---- */

enum { READERS = 8 };

typedef struct reading {
    const attend_model *m;
    const attend_pairs *pairs;
    attend_ctx *contexts[READERS];
    double scores[READERS][PAIRS];
    int status[READERS];
} reading;

static void read_model(void *user, int i)
{
    reading *r = user;
    r->status[i] = attend_model_score(r->contexts[i], r->m, r->pairs, r->scores[i], NULL, ATTEND_ATTENTION_CROSS, NULL);
}

static void many_threads_read_one_model(void **state)
{
    (void)state;
    static corpus k;
    corpus_fill(&k);
    attend_pool *pool = NULL;
    assert_ok(attend_pool_new(&pool, 3));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        attend_model *m = model_of(models[i]);
        reading r = { .m = m, .pairs = &k.pairs };
        for (int j = 0; j < READERS; j++) assert_ok(attend_ctx_new(&r.contexts[j]));
        attend_pool_run(pool, READERS, read_model, &r); /* none finds packed weights yet */
        for (int j = 0; j < READERS; j++) {
            assert_int_equal(r.status[j], ATTEND_OK);
            assert_memory_equal(r.scores[j], r.scores[0], sizeof r.scores[0]);
            attend_ctx_free(r.contexts[j]);
        }
        attend_model_free(m);
    }
    attend_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(training_does_not_depend_on_threads),
                                        cmocka_unit_test(wide_models_do_not_depend_on_threads),
                                        cmocka_unit_test(many_threads_read_one_model) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
