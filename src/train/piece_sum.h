/* piece_sum.h: the gradient of a piece of a parameter, while those of nodes are added. The additions are those of
 * attend_gradient_add: of a sparse gradient only the rows that were used are added. */
#ifndef ATTEND_TRAIN_PIECE_SUM_H
#define ATTEND_TRAIN_PIECE_SUM_H

#include "train/pieces.h"

/* Zero outside the rows listed, unless it is dense. Rows are numbers within the parameter. */
typedef struct piece_sum {
    const device_memory *memory;
    real *values; /* (size) on the device */
    size_t size, width;
    int first_row;
    bool dense;
    size_t dirty; /* values before this one may not be zero, after a dense sum */
    int rows_used;
    int *rows;
    unsigned char *touched;
} piece_sum;

/* Memory for pieces of at most `size` numbers and `rows` rows. */
bool attend_piece_sum_new(piece_sum *s, const device_memory *memory, size_t size, size_t rows);
void attend_piece_sum_free(piece_sum *s);

/* Makes it zero, for a piece of rows of `width` numbers that begins with a row. */
void attend_piece_sum_begin(piece_sum *s, size_t size, size_t width, int first_row);
/* Sets all its numbers. is_host: from host memory. */
void attend_piece_sum_set(piece_sum *s, const real *from, bool is_host);
/* Sets a row, which must be one of the piece. */
void attend_piece_sum_set_row(piece_sum *s, int row, const real *from, bool is_host);
static inline bool attend_piece_sum_has_row(const piece_sum *s, int row)
{
    return row >= s->first_row && (size_t)(row - s->first_row) * s->width < s->size;
}
/* to += from, and from becomes zero. */
void attend_piece_sum_add(piece_sum *to, piece_sum *from);

#endif
