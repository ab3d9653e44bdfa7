/* language_model.c: a training step (gradient, norm, clipping, Adam) of a GRU language model on one and two threads. */
#include "bench.h"

#include "support/language_model.h"
#include <stdio.h>

typedef struct trainer {
    language_model *m;
    attend_team *team;
    attend_optimizer *optimizer;
    uint64_t update;
} trainer;

static void run_step(void *state)
{
    trainer *t = state;
    double loss, norm;
    bench_require(
        attend_team_gradient(t->team, language_model_shards(t->m), language_model_loss, t->m, 1, t->update++, &loss));
    bench_require(attend_optimizer_step(t->optimizer, 1e-3, 1, &norm));
}

void bench_training(bench *b)
{
    language_model m = {
        .vocabulary = 10000, .embedding = 512, .hidden = 512, .count = 64, .max_length = 25, .shard = 16, .dropout = 0.1
    };
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    trainer t[2] = { { .m = &m }, { .m = &m } };
    bench_require(language_model_new(&m));
    for (int i = 0; i < 2; i++) {
        bench_require(attend_team_new(&t[i].team, m.params, i + 1));
        bench_require(attend_optimizer_new(&t[i].optimizer, t[i].team, &options));
    }
    double seconds[2];
    bench_measure(b, 2, (const work[]){ { run_step, &t[0] }, { run_step, &t[1] } }, seconds);
    result r = { .group = "GRU language model, 512, V 10000, B 64, T 25, training step", .goal = 1.9 };
    snprintf(r.name, sizeof r.name, "2 threads vs 1");
    snprintf(r.measured, sizeof r.measured, "%.0f tokens/s", m.tokens / seconds[1]);
    snprintf(r.reference, sizeof r.reference, "%.0f tokens/s on 1 thread", m.tokens / seconds[0]);
    r.ratio = seconds[0] / seconds[1];
    bench_report(b, &r);
    for (int i = 0; i < 2; i++) attend_optimizer_free(t[i].optimizer), attend_team_free(t[i].team);
    language_model_free(&m);
}
