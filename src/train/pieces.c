#include "train/pieces.h"

#include "core/memory.h"

static size_t row_size(const attend_param *p)
{
    return p->size / (size_t)p->shape[0];
}

/* Numbers of all pieces of a parameter but the last. */
static size_t piece_size(const attend_param *p)
{
    const size_t width = row_size(p), rows = width < PIECE ? PIECE / width : 1;
    return rows * width;
}

static int count_pieces(const attend_param *p)
{
    const size_t size = piece_size(p);
    return (int)((p->size + size - 1) / size);
}

static void fill_list(parameter_pieces *p, const attend_params *params)
{
    parameter_piece *at = p->list;
    for (int i = 0; i < params->count; i++) {
        const attend_param *x = params->list[i];
        const size_t size = piece_size(x);
        for (size_t first = 0; first < x->size; first += size)
            *at++ = (parameter_piece){ i, { first, x->size - first < size ? x->size : first + size } };
    }
}

int attend_pieces_new(parameter_pieces *p, const attend_params *params)
{
    *p = (parameter_pieces){ .parameters = params->count };
    for (int i = 0; i < params->count; i++) p->count += count_pieces(params->list[i]);
    p->list = attend_memory_zeroed((size_t)p->count + 1, sizeof *p->list);
    if (!p->list) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d pieces of parameters", p->count);
    fill_list(p, params);
    return attend_pieces_divide(p, 1, 0);
}

static size_t numbers_of(const parameter_piece *piece)
{
    return piece->elements.last - piece->elements.first;
}

/* Rank r begins at the first piece before which there are at least r of `ranks` parts of all numbers. */
static void divide(parameter_pieces *p)
{
    size_t total = 0, before = 0;
    int rank = 0;
    for (int i = 0; i < p->count; i++) total += numbers_of(&p->list[i]);
    for (int i = 0; i < p->count; before += numbers_of(&p->list[i++]))
        while (rank < p->ranks && (double)before >= (double)total * rank / p->ranks)
            p->begin[rank] = i, p->numbers[rank++] = before;
    for (; rank <= p->ranks; rank++) p->begin[rank] = p->count, p->numbers[rank] = total;
    for (int r = 0; r < p->ranks; r++)
        for (int i = p->begin[r]; i < p->begin[r + 1]; i++) {
            element_range *x = &p->ranges[r * p->parameters + p->list[i].parameter];
            if (x->last == x->first) x->first = p->list[i].elements.first;
            x->last = p->list[i].elements.last;
        }
}

int attend_pieces_divide(parameter_pieces *p, int ranks, int rank)
{
    int *begin = attend_memory_zeroed((size_t)ranks + 1, sizeof *begin);
    size_t *numbers = attend_memory_zeroed((size_t)ranks + 1, sizeof *numbers);
    element_range *ranges = attend_memory_zeroed((size_t)ranks * (size_t)p->parameters + 1, sizeof *ranges);
    if (!begin || !numbers || !ranges) {
        attend_memory_free(begin);
        attend_memory_free(numbers);
        attend_memory_free(ranges);
        return attend_fail(ATTEND_NO_MEMORY, "no memory to divide parameters among %d ranks", ranks);
    }
    attend_memory_free(p->begin);
    attend_memory_free(p->numbers);
    attend_memory_free(p->ranges);
    p->ranks = ranks, p->rank = rank;
    p->begin = begin, p->numbers = numbers, p->ranges = ranges;
    divide(p);
    return ATTEND_OK;
}

void attend_pieces_free(parameter_pieces *p)
{
    attend_memory_free(p->list);
    attend_memory_free(p->begin);
    attend_memory_free(p->numbers);
    attend_memory_free(p->ranges);
    *p = (parameter_pieces){ 0 };
}
