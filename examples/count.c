/* count.c: a complete training program on the tape. A GRU reads sequences of consecutive numbers modulo TEN, such as 3 4 5 6, of
 * different lengths, and learns to predict the next number.
 *     cc count.c $(pkg-config --cflags --libs attend) && ./a.out */
#include <attend/attend.h>
#include <stdio.h>

enum { TEN = 10, WIDTH = 32, SEQUENCES = 16, SHARD = 4, MAX_LENGTH = 12, UPDATES = 150 };

typedef struct model {
    attend_params *params;
    attend_param *embedding, *w, *u, *out;
} model;

/* The loss of SHARD sequences; the batch has SEQUENCES of them. */
static attend_var *loss(attend_ctx *c, int shard, void *user)
{
    const model *m = user;
    int ids[SHARD * MAX_LENGTH], next[SHARD * MAX_LENGTH], lengths[SHARD], rows = 0;
    for (int i = 0; i < SHARD; i++) {
        int number = shard * SHARD + i;
        lengths[i] = 1 + number % MAX_LENGTH;
        for (int t = 0; t < lengths[i]; t++, rows++) {
            ids[rows] = (number + t) % TEN;
            next[rows] = (number + t + 1) % TEN;
        }
    }
    attend_var *x = attend_gather(c, attend_parameter(c, m->embedding), ids, rows);
    const attend_cell gru = { .kind = ATTEND_CELL_GRU, .w = attend_parameter(c, m->w), .u = attend_parameter(c, m->u) };
    attend_var *h = attend_cell_sequence(c, &gru, x, attend_ragged_new(c, SHARD, lengths), false, NULL);
    return attend_cross_entropy(c, attend_linear(c, h, attend_parameter(c, m->out), NULL), next, 0, 1.0 / rows, NULL);
}

static int model_new(model *m)
{
    int status = attend_params_new(&m->params);
    attend_param **list[] = { &m->embedding, &m->w, &m->u, &m->out };
    const char *names[] = { "embedding", "w", "u", "out" };
    const int shapes[][2] = { { TEN, WIDTH }, { 3 * WIDTH, WIDTH }, { 3 * WIDTH, WIDTH }, { TEN, WIDTH } };
    for (int i = 0; status == ATTEND_OK && i < 4; i++) {
        status = attend_params_add(list[i], m->params, names[i], 2, shapes[i]);
        if (status == ATTEND_OK) attend_param_fill_uniform(*list[i], 1, 0.2);
    }
    return status;
}

int main(void)
{
    model m = { 0 };
    attend_team *team = NULL;
    attend_optimizer *adam = NULL;
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    double current = 0;
    int status = model_new(&m);
    if (status == ATTEND_OK) status = attend_team_new(&team, m.params, 2);
    if (status == ATTEND_OK) status = attend_optimizer_new(&adam, team, &options);
    for (int i = 0; status == ATTEND_OK && i < UPDATES; i++) {
        status = attend_team_gradient(team, SEQUENCES / SHARD, loss, &m, 1, (uint64_t)i, &current);
        if (status == ATTEND_OK) status = attend_optimizer_step(adam, 0.01, 1, NULL);
        if (i % 30 == 0 || i == UPDATES - 1) printf("update %3d  loss %.4f\n", i, current);
    }
    if (status != ATTEND_OK) fprintf(stderr, "count: %s\n", attend_message());
    attend_optimizer_free(adam);
    attend_team_free(team);
    attend_params_free(m.params);
    return status == ATTEND_OK && current < 0.1 ? 0 : 1;
}
