/* cpu_score_location.c: e_ij = scale q_ij, where j counts all keys of the sequence     dq_ij += scale de_ij */
#include "device/scores.h"

void attend_location_tile(const attend_tile *t)
{
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++)
            t->score[(size_t)i * t->score_stride + (size_t)j] =
                (real)t->scale * t->query[(size_t)i * t->query_stride + (size_t)(t->first_key + j)];
}

void attend_location_tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    for (int i = 0; g->query && i < t->queries; i++)
        for (int j = 0; j < t->keys; j++)
            g->query[(size_t)i * t->query_stride + (size_t)(t->first_key + j)] +=
                (real)t->scale * g->score[(size_t)i * t->score_stride + (size_t)j];
}
