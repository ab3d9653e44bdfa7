#include "array.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool array_reserve(void *array, int *capacity, size_t count, size_t element_size)
{
    enum { MIN_CAPACITY = 16 };
    size_t larger = 2 * (size_t)*capacity;
    void *elements;
    if (count <= (size_t)*capacity) return true;
    if (larger < MIN_CAPACITY) larger = MIN_CAPACITY;
    if (larger < count) larger = count;
    if (larger > INT_MAX || larger > SIZE_MAX / element_size) return false;
    memcpy(&elements, array, sizeof elements); /* a pointer of any type */
    elements = realloc(elements, larger * element_size);
    if (!elements) return false;
    memcpy(array, &elements, sizeof elements);
    *capacity = (int)larger;
    return true;
}
