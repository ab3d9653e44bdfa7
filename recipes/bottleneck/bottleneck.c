/* bottleneck.c: how much of a sequence fits into the last state of an encoder? Two synthetic tasks in which every token matters: copy the source, or
 * reverse it. Models with and without attention train on random sequences and are tested on new ones.
 *
 *     bottleneck [--task copy|reverse|both] [--symbols N] [--min-length N] [--max-length N] [--hidden N] [--updates N] [--test N]
 *                [--threads N] [--save FILE] [NAME=VALUE ..]
 *
 * NAME=VALUE sets a field of the model's configuration (attention=dot context=after readout=plain). Without any, RNNsearch is compared with a model
 * without attention, and the exit code is 0 if RNNsearch is better. --save writes the last model. */
#include <attend/attend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_LENGTH = 400, BATCH = 64, SHARD = 16, SLICE = 8 };

typedef struct task {
    bool reverse;
    int symbols, min_length, max_length;
} task;

typedef struct setting {
    int hidden, updates, test, threads;
    const char *save; /* path of the last model; NULL: not saved */
} setting;

/* A batch of random sources with their targets. */
typedef struct batch {
    int source[BATCH * (MAX_LENGTH + 1)], target[BATCH * MAX_LENGTH];
    int source_lengths[BATCH], target_lengths[BATCH];
    attend_pairs pairs;
    int rows;
} batch;

static unsigned long long random_state = 88172645463325252ull;

static int random_below(int n)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17; /* xorshift */
    return (int)((random_state >> 33) % (unsigned)n);
}

static void batch_fill(batch *b, const task *t, int count)
{
    int s = 0, o = 0;
    for (int i = 0; i < count; i++) {
        const int length = t->min_length + random_below(t->max_length - t->min_length + 1);
        for (int j = 0; j < length; j++) b->source[s + j] = ATTEND_FIRST_TOKEN + random_below(t->symbols);
        for (int j = 0; j < length; j++) b->target[o + j] = b->source[s + (t->reverse ? length - 1 - j : j)];
        b->source[s + length] = ATTEND_END;
        b->source_lengths[i] = length + 1, b->target_lengths[i] = length;
        s += length + 1, o += length;
    }
    b->pairs = (attend_pairs){ .count = count,
                               .source = b->source,
                               .source_lengths = b->source_lengths,
                               .target = b->target,
                               .target_lengths = b->target_lengths };
    b->rows = attend_pairs_rows(&b->pairs);
}

/* ---- training ---- */

typedef struct training {
    attend_model *m;
    const batch *b;
} training;

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const training *t = user;
    const attend_pairs part = attend_pairs_slice(&t->b->pairs, shard * SHARD, SHARD);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 1.0 / t->b->rows;
    return attend_model_loss(c, t->m, &part, &options);
}

static int train(attend_model *m, const task *t, const setting *s, batch *b)
{
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    attend_team *team = NULL;
    attend_optimizer *adam = NULL;
    training now = { .m = m, .b = b };
    int status = attend_team_new(&team, attend_model_params(m), s->threads);
    if (status == ATTEND_OK) status = attend_optimizer_new(&adam, team, &options);
    const time_t begin = time(NULL);
    for (int i = 0; status == ATTEND_OK && i < s->updates; i++) {
        double loss = 0;
        /* in the first half of the updates, from short sequences to long ones: attention is learned sooner on short ones */
        task easier = *t;
        const double share = 2.0 * i / s->updates;
        if (share < 1)
            easier.max_length = 2 + (int)((t->max_length - 2) * share),
            easier.min_length = easier.max_length < t->min_length ? 2 : t->min_length;
        batch_fill(b, &easier, BATCH);
        status = attend_team_gradient(team, BATCH / SHARD, shard_loss, &now, 1, (uint64_t)i, &loss);
        const double rate = 2e-3 * fmin(1, 2.0 * (s->updates - i) / s->updates);
        if (status == ATTEND_OK) status = attend_optimizer_step(adam, rate, 1, NULL);
        if (i % 200 == 0 || i == s->updates - 1)
            fprintf(stderr, "    update %5d  loss %.4f  %lds\n", i, loss, (long)(time(NULL) - begin));
    }
    attend_optimizer_free(adam);
    attend_team_free(team);
    return status;
}

/* ---- testing ---- */

static int argmax(const attend_real *log_p, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (log_p[i] > log_p[best]) best = i;
    return best;
}

/* Greedy decoding of the first SLICE pairs of a batch. Returns the number of correct outputs, or -1. */
static int decode(attend_ctx *c, attend_model *m, const batch *b)
{
    attend_decoding *d = NULL;
    int counts[SLICE], parents[SLICE], tokens[SLICE], alive[SLICE], right = 0, left = SLICE;
    bool good[SLICE];
    if (attend_decoding_new(&d, c, m, SLICE, b->source, b->source_lengths) != ATTEND_OK) return -1;
    for (int i = 0; i < SLICE; i++)
        counts[i] = 1, parents[i] = i, tokens[i] = ATTEND_BEGIN, alive[i] = i, good[i] = true;
    for (int t = 0; left > 0; t++) {
        if (attend_decoding_step(d, counts, parents, tokens) != ATTEND_OK) {
            attend_decoding_free(d);
            return -1;
        }
        const int vocabulary = attend_model_config(m)->target_vocab;
        int next = 0;
        for (int k = 0; k < left; k++) { /* a wrong sequence is not continued */
            const int i = alive[k];
            int first = 0;
            for (int j = 0; j < i; j++) first += b->target_lengths[j];
            const int output =
                argmax(attend_decoding_log_probabilities(d) + (size_t)k * (size_t)vocabulary, vocabulary);
            const int expected = t < b->target_lengths[i] ? b->target[first + t] : ATTEND_END;
            if (output != expected) good[i] = false;
            if (output != expected || output == ATTEND_END) {
                counts[i] = 0;
                right += good[i];
            } else {
                parents[next] = k, tokens[next] = output, alive[next++] = i;
            }
        }
        left = next;
    }
    attend_decoding_free(d);
    return right;
}

/* Trains and tests one model. Returns the share of outputs in which every token is correct. */
static double run(const attend_config *config, const task *t, const setting *s)
{
    static batch b;
    attend_model *m = NULL;
    attend_ctx *c = NULL;
    random_state = 88172645463325252ull;
    int status = attend_model_new(&m, config, 1), right = 0, tested = 0;
    if (status == ATTEND_OK) status = train(m, t, s, &b);
    if (status == ATTEND_OK) status = attend_ctx_new(&c);
    for (; status == ATTEND_OK && tested < s->test; tested += SLICE) {
        batch_fill(&b, t, SLICE);
        const int now = decode(c, m, &b);
        if (now < 0) status = ATTEND_FAILED;
        right += now;
    }
    if (status == ATTEND_OK && s->save) status = attend_model_save(m, s->save);
    if (status != ATTEND_OK) {
        fprintf(stderr, "bottleneck: %s\n", attend_message());
        exit(1);
    }
    attend_ctx_free(c);
    attend_model_free(m);
    return (double)right / tested;
}

static bool set_field(attend_config *config, const char *text)
{
    char name[64];
    const char *value = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", (int)(value - text), text);
    if (attend_config_set(config, name, value + 1) == ATTEND_OK) return true;
    fprintf(stderr, "bottleneck: %s\n", attend_message());
    return false;
}

int main(int argc, char **argv)
{
    task t = { .symbols = 12, .min_length = 20, .max_length = 40 };
    setting s = { .hidden = 128, .updates = 3000, .test = 1000, .threads = 2 };
    const char *which = "both";
    attend_config config = ATTEND_CONFIG_INIT, own;
    bool fields = false;
    const struct {
        const char *name;
        int *number;
    } numbers[] = { { "--symbols", &t.symbols }, { "--min-length", &t.min_length }, { "--max-length", &t.max_length },
                    { "--hidden", &s.hidden },   { "--updates", &s.updates },       { "--test", &s.test },
                    { "--threads", &s.threads } };
    config.dropout = 0;
    own = config;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        if (strcmp(argv[i], "--task") == 0 && i + 1 < argc) which = argv[++i], known = true;
        if (!known && strcmp(argv[i], "--save") == 0 && i + 1 < argc) s.save = argv[++i], known = true;
        for (size_t j = 0; !known && i + 1 < argc && j < sizeof numbers / sizeof *numbers; j++)
            if (strcmp(argv[i], numbers[j].name) == 0) *numbers[j].number = atoi(argv[++i]), known = true;
        if (!known && strchr(argv[i], '=')) known = fields = set_field(&own, argv[i]);
        if (!known) {
            fprintf(stderr, "bottleneck: unknown option %s; the options are listed at the top of bottleneck.c\n",
                    argv[i]);
            return 2;
        }
    }
    if (t.symbols < 2 || t.min_length < 2 || t.max_length < t.min_length || t.max_length > MAX_LENGTH ||
        s.updates < 2) {
        fprintf(stderr, "bottleneck: 2 <= min-length <= max-length <= %d, at least 2 symbols and 2 updates\n",
                MAX_LENGTH);
        return 2;
    }
    bool better = true;
    for (int reverse = 0; reverse < 2; reverse++) {
        if (strcmp(which, reverse ? "copy" : "reverse") == 0) continue;
        double share[2] = { 0, 0 };
        t.reverse = reverse;
        for (int attention = fields; attention < 2; attention++) {
            attend_config now = fields ? own : config;
            now.hidden = s.hidden, now.embedding = s.hidden / 2;
            now.source_vocab = now.target_vocab = ATTEND_FIRST_TOKEN + t.symbols;
            if (!attention) now.attention = NULL;
            const time_t begin = time(NULL);
            share[attention] = run(&now, &t, &s);
            printf("%-8s %d to %d tokens, %-20s %6.2f %% exact  (%d updates, %lds)\n", reverse ? "reverse" : "copy",
                   t.min_length, t.max_length, now.attention ? now.attention->name : "no attention",
                   100 * share[attention], s.updates, (long)(time(NULL) - begin));
            fflush(stdout);
        }
        better = better && share[1] > share[0];
    }
    return better ? 0 : 1;
}
