/* number_array.h: an array of numbers on a device that outlives contexts, such as a moment of an optimizer. */
#ifndef ATTEND_TRAIN_NUMBER_ARRAY_H
#define ATTEND_TRAIN_NUMBER_ARRAY_H

#include "train/pieces.h"

typedef struct number_array {
    const device_memory *memory;
    size_t first, size; /* elements of the parameter: those that this rank owns */
    real *data;         /* on the device */
    real *host;         /* the copy of attend_number_array_read; NULL: none */
} number_array;

/* Arrays of zeros for what this rank owns of each parameter; NULL: no memory. */
number_array *attend_number_arrays_new(const attend_params *params, const parameter_pieces *pieces);
void attend_number_arrays_free(number_array *arrays, int count);
/* The numbers in host memory, valid until the next call; NULL: no memory. */
const real *attend_number_array_read(number_array *a);
/* from: numbers for the whole parameter, of which the array takes its own. */
void attend_number_array_write(number_array *a, const real *from);

#endif
