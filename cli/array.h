/* array.h: arrays that grow. */
#ifndef ATTEND_CLI_ARRAY_H
#define ATTEND_CLI_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `count` elements of `element_size` bytes. array: the address of the pointer to the first element,
 * which may be NULL and is freed with free(). *capacity: the number of elements for which there is memory; it at least
 * doubles. False: out of memory, or more than INT_MAX elements; the array is unchanged. */
bool array_reserve(void *array, int *capacity, size_t count, size_t element_size);

#endif
