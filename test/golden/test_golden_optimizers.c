/* test_golden_optimizers.c: ten updates with given gradients, compared with torch.optim.
 *
 * A loss that is linear in a parameter, sum(g * parameter), has the given g as its gradient; that of an embedding
 * comes row by row through attend_gather. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include <stdlib.h>

enum { PARAMETERS = 3, MATRIX = 0, VECTOR = 1, TABLE = 2, THREADS = 2 };

static const char *const parameter_names[PARAMETERS] = { "matrix", "vector", "table" };
static const char *const gradient_names[PARAMETERS] = { "g.matrix", "g.vector", "g.rows" };
static const char *const names[] = { "sgd",  "momentum",     "sgd_decay", "sgd_clip",
                                     "adam", "adam_epsilon", "adamw",     "adam_clip" };

static rig shared; /* the golden of all tests in this file, which together must compare all its tensors */

/* The parameters and the gradients of their updates. */
typedef struct training {
    rig *r;
    attend_params *set;
    attend_param *parameters[PARAMETERS];
    attend_real *gradients[PARAMETERS]; /* (updates, ...) */
    const golden_tensor *shapes[PARAMETERS];
    int *ids; /* (updates, ids_per_update) */
    int ids_per_update;
    int update;
} training;

static const golden_tensor *find(rig *r, const char *name)
{
    const golden_tensor *t = golden_find(&r->g, name);
    rig_require(r, t != NULL);
    return t;
}

static void training_open(training *t, rig *r)
{
    int count = 0;
    *t = (training){ .r = r };
    rig_status(r, attend_params_new(&t->set));
    for (int i = 0; i < PARAMETERS; i++) {
        const golden_tensor *start = find(r, parameter_names[i]);
        rig_status(r, attend_params_add(&t->parameters[i], t->set, start->name, start->rank, start->shape));
        attend_real *value = attend_param_edit(t->parameters[i]);
        for (size_t k = 0; k < start->size; k++) value[k] = (attend_real)start->data[k];
        attend_param_changed(t->parameters[i]);
        t->shapes[i] = find(r, gradient_names[i]);
        t->gradients[i] = rig_reals(t->shapes[i]);
    }
    t->ids = rig_integers(r, "ids", &count);
    t->ids_per_update = count / t->shapes[TABLE]->shape[0];
}

static void training_close(training *t)
{
    for (int i = 0; i < PARAMETERS; i++) free(t->gradients[i]);
    free(t->ids);
    attend_params_free(t->set);
}

/* The loss of shard i is that of parameter i. */
static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const training *t = user;
    const golden_tensor *g = t->shapes[shard];
    size_t size = g->size / (size_t)g->shape[0];
    attend_var *v = attend_parameter(c, t->parameters[shard]);
    if (shard == TABLE) v = attend_gather(c, v, t->ids + t->update * t->ids_per_update, t->ids_per_update);
    const attend_real *now = t->gradients[shard] + (size_t)t->update * size;
    return attend_sum(c, attend_mul(c, v, attend_constant(c, g->rank - 1, g->shape + 1, now)));
}

static void compare_parameters(training *t, const char *optimizer, const char *when)
{
    for (int i = 0; i < PARAMETERS; i++) {
        const attend_param *p = t->parameters[i];
        int shape[ATTEND_MAX_RANK];
        char name[GOLDEN_NAME];
        for (int k = 0; k < attend_param_rank(p); k++) shape[k] = attend_param_dim(p, k);
        (void)snprintf(name, sizeof name, "%s.%s.%s", optimizer, when, parameter_names[i]);
        rig_compare(t->r, name, attend_param_rank(p), shape, attend_param_value(p));
    }
}

static void require_near(rig *r, const char *what, int update, double got, double want)
{
    double off = got > want ? got - want : want - got;
    if (!(off <= r->tolerance * want))
        fail_msg("%s: the %s of update %d is %.17g, expected %.17g [%s]", r->path, what, update, got, want, r->way);
}

static void run_updates(training *t, attend_team *team, attend_optimizer *o, const char *name, double max_norm)
{
    int updates = t->shapes[MATRIX]->shape[0];
    for (t->update = 0; t->update < updates; t->update++) {
        double loss = 0.0, norm = 0.0;
        size_t at = (size_t)t->update;
        rig_status(t->r, attend_team_gradient(team, PARAMETERS, shard_loss, t, 1, (uint64_t)t->update, &loss));
        require_near(t->r, "norm of the gradient", t->update, attend_team_norm(team), rig_number(t->r, "norms", at));
        rig_status(t->r, attend_optimizer_step(o, rig_number(t->r, "rates", at), max_norm, &norm));
        require_near(t->r, "norm before clipping", t->update, norm, rig_number(t->r, "norms", at));
        if (t->update == 0) compare_parameters(t, name, "first");
    }
    compare_parameters(t, name, "last");
}

static void check_optimizer(const void *user)
{
    const char *name = user;
    char key[GOLDEN_NAME];
    training t;
    attend_team *team = NULL;
    attend_optimizer *o = NULL;
    shared.way = name;
    (void)snprintf(key, sizeof key, "%s.options", name);
    attend_optimizer_options options = {
        .kind = rig_number(&shared, key, 0) > 0.5 ? ATTEND_ADAM : ATTEND_SGD,
        .momentum = rig_number(&shared, key, 1),
        .beta1 = rig_number(&shared, key, 2),
        .beta2 = rig_number(&shared, key, 3),
        .epsilon = rig_number(&shared, key, 4),
        .weight_decay = rig_number(&shared, key, 5),
    };
    training_open(&t, &shared);
    rig_status(&shared, attend_team_new(&team, t.set, THREADS));
    rig_status(&shared, attend_optimizer_new(&o, team, &options));
    run_updates(&t, team, o, name, rig_number(&shared, key, 6));
    attend_optimizer_free(o);
    attend_team_free(team);
    training_close(&t);
}

static void test_optimizer(void **state)
{
    rig_every_table(check_optimizer, *state);
}

static int open_shared(void **state)
{
    (void)state;
    rig_open(&shared, "optimizers", RIG_PARAMETERS, "");
    return 0;
}

static void every_number_was_compared(void **state)
{
    (void)state;
    rig_close(&shared);
}

int main(int argc, char **argv)
{
    enum { COUNT = sizeof names / sizeof *names };
    struct CMUnitTest tests[COUNT + 1] = { [COUNT] = cmocka_unit_test(every_number_was_compared) };
    rig_directory(argc, argv);
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){ .name = names[i],
                                        .test_func = test_optimizer,
                                        .initial_state = (void *)(uintptr_t)names[i] };
    return cmocka_run_group_tests(tests, open_shared, NULL);
}
