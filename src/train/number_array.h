/* number_array.h: an array of numbers on a device that outlives contexts, such as a moment of an optimizer. */
#ifndef ATTEND_TRAIN_NUMBER_ARRAY_H
#define ATTEND_TRAIN_NUMBER_ARRAY_H

#include "core/tape.h"

typedef struct number_array {
    const device_memory *memory;
    size_t size;
    real *data; /* on the device */
    real *host; /* the copy of attend_number_array_read; NULL: none */
} number_array;

/* Arrays of zeros in the sizes of all parameters; NULL: no memory. */
number_array *attend_number_arrays_new(const attend_params *params);
void attend_number_arrays_free(number_array *arrays, int count);
/* The numbers in host memory, valid until the next call; NULL: no memory. */
const real *attend_number_array_read(number_array *a);
void attend_number_array_write(number_array *a, const real *from);

#endif
