/* train.h: the gradient of a batch on several threads, and the optimizers.
 *
 * Purpose    A batch is cut into shards by the caller, in a way that does not depend on the number of threads.
 *            Each shard runs forward and backward on one thread; gradients are added in shard order. So the
 *            same shards give the same numbers, to the bit, on any number of threads.
 * Threads    A team is used by one thread at a time; it owns its workers. */
#ifndef ATTEND_TRAIN_H
#define ATTEND_TRAIN_H

#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_team attend_team;

/* `threads` workers (the caller's thread is one of them) and the gradients of `params`, which must outlive it and to which no
 * parameter may be added from now on. Large products go through CBLAS, which is told once, for the whole process, to use one
 * thread: each shard has its own. */
int attend_team_new(attend_team **out, attend_params *params, int threads);
void attend_team_free(attend_team *t);

/* Builds the loss of shard number `shard` in a clean context, which is recording, training and seeded. */
typedef attend_var *(*attend_shard_fn)(attend_ctx *c, int shard, void *user);

/* Gradient of the sum of the shards' losses, and that sum (in double, in shard order; 0 on failure). Shards run in any
 * order and at the same time: `fn` must only read what `user` shares. On failure the message is that of the
 * failed shard with the lowest number, and the gradients are zero. */
int attend_team_gradient(attend_team *t, int shards, attend_shard_fn fn, void *user, uint64_t seed, uint64_t update,
                         double *loss);

const attend_grads *attend_team_grads(const attend_team *t);

/* sqrt of the sum of squares of the whole gradient, added in double in a fixed order. */
double attend_team_norm(attend_team *t);

/* ---- optimizers ---- */

typedef struct attend_optimizer attend_optimizer;

typedef enum attend_optimizer_kind { ATTEND_SGD, ATTEND_ADAM } attend_optimizer_kind;

typedef struct attend_optimizer_options {
    attend_optimizer_kind kind;
    double momentum;     /* SGD: v = momentum v + g, x -= rate v; 0 is plain SGD */
    double beta1, beta2; /* Adam (Kingma, Ba 2015) */
    double epsilon;      /* Adam */
    double weight_decay; /* decoupled: x -= rate * decay * x (Loshchilov, Hutter 2019) */
} attend_optimizer_options;

#define ATTEND_OPTIMIZER_OPTIONS_INIT                                                                                  \
    {                                                                                                                  \
        ATTEND_ADAM, 0.0, 0.9, 0.999, 1e-8, 0.0                                                                        \
    }

/* The team must outlive every step; the two may be freed in either order. */
int attend_optimizer_new(attend_optimizer **out, attend_team *t, const attend_optimizer_options *options);
void attend_optimizer_free(attend_optimizer *o);

/* One update with the team's gradient. max_norm > 0 scales the gradient down to that norm first
 * (Pascanu et al. 2013). A norm that is not finite changes nothing: *norm says so and the caller decides.
 * norm may be NULL. */
int attend_optimizer_step(attend_optimizer *o, double rate, double max_norm, double *norm);

/* What an optimizer remembers, for checkpoints: how many steps it took, and for each parameter of the team's set up to two arrays as large as
 * it (which: 0 or 1; NULL if this kind keeps no such array). Both may be set to what they were. */
uint64_t attend_optimizer_steps(const attend_optimizer *o);
void attend_optimizer_set_steps(attend_optimizer *o, uint64_t steps);
attend_real *attend_optimizer_moment(const attend_optimizer *o, int parameter, int which);

/* ---- schedules: the learning rate of an update ---- */

typedef enum attend_schedule_kind {
    ATTEND_SCHEDULE_CONSTANT,     /* rate, once warm */
    ATTEND_SCHEDULE_INVERSE_SQRT, /* rate sqrt(warmup / update), once warm (Vaswani et al. 2017) */
    ATTEND_SCHEDULE_COSINE, /* falls along half a cosine to `least` times the rate at the last update (Loshchilov, Hutter 2017) */
    ATTEND_SCHEDULE_PLATEAU /* times `factor` whenever validation has not improved `patience` times in a row */
} attend_schedule_kind;

typedef struct attend_schedule {
    attend_schedule_kind kind;
    double rate;
    uint64_t warmup;  /* updates over which the rate rises from 0 in a line */
    uint64_t updates; /* cosine: of the whole training */
    double least;     /* cosine, and a bound of plateau: the share of the rate it does not fall below */
    double factor;    /* plateau */
    int patience;     /* plateau */
} attend_schedule;

#define ATTEND_SCHEDULE_INIT                                                                                           \
    {                                                                                                                  \
        ATTEND_SCHEDULE_PLATEAU, 1e-3, 0, 0, 0.01, 0.5, 2                                                              \
    }

/* The rate of an update, counted from 1; falls: how often plateau has fallen so far. */
double attend_schedule_rate(const attend_schedule *s, uint64_t update, int falls);

#ifdef __cplusplus
}
#endif
#endif
