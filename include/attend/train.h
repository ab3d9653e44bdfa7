/* train.h: gradients on several threads, optimizers and learning-rate schedules.
 *
 * Purpose    The caller cuts a batch into shards, in a way that does not depend on the number of threads. A team of
 *            threads runs forward and backward, one shard on one thread; gradients are added in a fixed tree. So the
 *            same shards give bit-identical results on any number of threads.
 * Ownership  A team owns its threads, contexts and gradients; parameters are borrowed.
 * Threads    One thread at a time may use a team. */
#ifndef ATTEND_TRAIN_H
#define ATTEND_TRAIN_H

#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_team attend_team;

/* A team of `threads` threads, including the caller's, with gradients of `params`. `params` must outlive the team,
 * and no parameter may be added to it from now on. */
int attend_team_new(attend_team **out, attend_params *params, int threads);
void attend_team_free(attend_team *t);
/* attend_ctx_set_compute for the contexts of the team. */
int attend_team_set_compute(attend_team *t, attend_compute_precision precision);

/* Builds the loss of shard number `shard`, a scalar, in an empty context that is recording, training and seeded. */
typedef attend_var *(*attend_shard_fn)(attend_ctx *c, int shard, void *user);

/* Gradient of the sum of the shards' losses, and, unless `loss` is NULL, that sum (in double, in shard order; 0 on
 * failure). Shards run in any order and at the same time, so that `fn` must not write to shared data. On failure the
 * message is that of the failed shard with the lowest number, and the gradients are zero. */
int attend_team_gradient(attend_team *t, int shards, attend_shard_fn fn, void *user, uint64_t seed, uint64_t update,
                         double *loss);

/* The gradient of the last attend_team_gradient. It belongs to the team. */
const attend_grads *attend_team_grads(const attend_team *t);

/* The L2 norm of the whole gradient, added in double in a fixed order. */
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

/* The team must outlive the last step; the two may be freed in either order. */
int attend_optimizer_new(attend_optimizer **out, attend_team *t, const attend_optimizer_options *options);
void attend_optimizer_free(attend_optimizer *o);

/* One update with the team's gradient. max_norm > 0 scales the gradient down to that norm first
 * (Pascanu et al. 2013). If the norm is not finite, nothing changes, and
 * the caller finds it in *norm. norm may be NULL. */
int attend_optimizer_step(attend_optimizer *o, double rate, double max_norm, double *norm);

/* The state of an optimizer, for checkpoints: the number of steps, and for each parameter up to two arrays of its
 * size (which: 0 the first moment or velocity, 1 the second moment; NULL if this kind has none). The functions that
 * set them restore a state; attend_optimizer_set_moment fails with ATTEND_BAD_USAGE if there is no such array. */
uint64_t attend_optimizer_steps(const attend_optimizer *o);
void attend_optimizer_set_steps(attend_optimizer *o, uint64_t steps);
const attend_real *attend_optimizer_moment(const attend_optimizer *o, int parameter, int which);
int attend_optimizer_set_moment(attend_optimizer *o, int parameter, int which, const attend_real *values);

/* ---- schedules: the learning rate of an update ---- */

typedef enum attend_schedule_kind {
    ATTEND_SCHEDULE_CONSTANT,     /* rate, after the warmup */
    ATTEND_SCHEDULE_INVERSE_SQRT, /* rate sqrt(warmup / update), after the warmup (Vaswani et al. 2017) */
    /* half a cosine down to min_share times the rate at the last update (Loshchilov, Hutter 2017) */
    ATTEND_SCHEDULE_COSINE,
    ATTEND_SCHEDULE_PLATEAU /* multiplied by `factor` after each `patience` validations without a better model */
} attend_schedule_kind;

typedef struct attend_schedule {
    attend_schedule_kind kind;
    double rate;
    uint64_t warmup;  /* updates over which the rate rises linearly from 0 */
    uint64_t updates; /* cosine: total */
    double min_share; /* cosine, plateau: minimum, as a share of the rate */
    double factor;    /* plateau */
    int patience;     /* plateau */
} attend_schedule;

#define ATTEND_SCHEDULE_INIT                                                                                           \
    {                                                                                                                  \
        ATTEND_SCHEDULE_PLATEAU, 1e-3, 0, 0, 0.01, 0.5, 2                                                              \
    }

/* The learning rate of an update, counted from 1. reductions: how often the plateau schedule has reduced it so far. */
double attend_schedule_rate(const attend_schedule *s, uint64_t update, int reductions);

#ifdef __cplusplus
}
#endif
#endif
