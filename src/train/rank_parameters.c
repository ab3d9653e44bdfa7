#include "train/rank_parameters.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/rank_gradient.h"

/* Copies what a rank owns of the parameters to a buffer of all numbers, in the order of the pieces, or back. */
static void copy_part(attend_team *t, int rank, real *buffer, bool to_buffer)
{
    real *at = buffer + t->pieces.numbers[rank];
    for (int i = 0; i < t->count; i++) {
        const attend_param *p = t->params->list[i];
        const element_range x = attend_pieces_of(&t->pieces, rank, i);
        const size_t size = x.last - x.first;
        if (size == 0) continue;
        if (to_buffer)
            p->memory->download(at, p->value + x.first, size * sizeof(real));
        else
            p->memory->upload(p->value + x.first, at, size * sizeof(real));
        at += size;
    }
}

/* Positions of the ranks' numbers, in bytes. */
static size_t *byte_offsets(const parameter_pieces *p)
{
    size_t *offsets = attend_memory_zeroed((size_t)p->ranks + 1, sizeof *offsets);
    for (int i = 0; offsets && i <= p->ranks; i++) offsets[i] = p->numbers[i] * sizeof(real);
    return offsets;
}

int attend_rank_parameters_gather(attend_team *t)
{
    if (!attend_ranks_are_several(t->ranks)) return ATTEND_OK;
    const parameter_pieces *p = &t->pieces;
    size_t *offsets = byte_offsets(p);
    real *buffer = offsets ? attend_rank_buffer(t, offsets[p->ranks]) : NULL;
    int status = ATTEND_OK;
    if (!buffer) status = attend_fail(ATTEND_NO_MEMORY, "no memory to exchange %zu numbers", p->numbers[p->ranks]);
    if (status == ATTEND_OK) {
        copy_part(t, p->rank, buffer, true);
        status = attend_ranks_all_gather(t->ranks, buffer, offsets);
    }
    for (int r = 0; status == ATTEND_OK && r < p->ranks; r++)
        if (r != p->rank) copy_part(t, r, buffer, false);
    attend_memory_free(offsets);
    return status;
}

int attend_rank_parameters_share(attend_team *t)
{
    if (!attend_ranks_are_several(t->ranks)) return ATTEND_OK;
    const size_t numbers = t->pieces.numbers[t->pieces.ranks];
    real *buffer = attend_rank_buffer(t, numbers * sizeof(real));
    if (!buffer) return attend_fail(ATTEND_NO_MEMORY, "no memory to exchange %zu numbers", numbers);
    const bool sends = t->pieces.rank == 0;
    for (int r = 0; sends && r < t->pieces.ranks; r++) copy_part(t, r, buffer, true);
    const int status = attend_ranks_share(t->ranks, buffer, numbers * sizeof(real));
    for (int r = 0; status == ATTEND_OK && !sends && r < t->pieces.ranks; r++) copy_part(t, r, buffer, false);
    for (int i = 0; status == ATTEND_OK && i < t->count; i++) attend_param_computed(t->params->list[i]);
    return status;
}

int attend_rank_array_gather(attend_team *t, int parameter, number_array *array, real **whole)
{
    const parameter_pieces *p = &t->pieces;
    size_t *offsets = attend_memory_zeroed((size_t)p->ranks + 1, sizeof *offsets);
    *whole = NULL;
    if (offsets) *whole = attend_memory_aligned(t->params->list[parameter]->size * sizeof(real));
    if (!offsets || !*whole) {
        attend_memory_free(offsets);
        return attend_fail(ATTEND_NO_MEMORY, "no memory to collect %zu numbers", t->params->list[parameter]->size);
    }
    for (int r = 0; r < p->ranks; r++) {
        const element_range x = attend_pieces_of(p, r, parameter);
        offsets[r + 1] = offsets[r] + (x.last - x.first) * sizeof(real);
    }
    int status =
        attend_device_memory_read(array->memory, *whole + array->first, array->data, array->size * sizeof(real));
    if (status == ATTEND_OK) status = attend_ranks_gather(t->ranks, *whole, offsets);
    attend_memory_free(offsets);
    if (status == ATTEND_OK && p->rank == 0) return ATTEND_OK;
    attend_memory_free(*whole);
    *whole = NULL;
    return status;
}
