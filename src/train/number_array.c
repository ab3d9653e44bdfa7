#include "train/number_array.h"

#include "core/memory.h"

number_array *attend_number_arrays_new(const attend_params *params)
{
    number_array *arrays = attend_memory_zeroed((size_t)params->count, sizeof *arrays);
    for (int i = 0; arrays && i < params->count; i++) {
        const size_t size = params->list[i]->size;
        arrays[i] = (number_array){ .memory = params->memory, .size = size };
        arrays[i].data = params->memory->take_zeroed(size * sizeof(real));
        if (arrays[i].data) continue;
        attend_number_arrays_free(arrays, i);
        return NULL;
    }
    return arrays;
}

void attend_number_arrays_free(number_array *arrays, int count)
{
    for (int i = 0; arrays && i < count; i++) {
        arrays[i].memory->give(arrays[i].data);
        attend_memory_free(arrays[i].host);
    }
    attend_memory_free(arrays);
}

const real *attend_number_array_read(number_array *a)
{
    if (a->memory->on_host) return a->data;
    if (!a->host) a->host = attend_memory_zeroed(a->size, sizeof *a->host);
    if (a->host) a->memory->download(a->host, a->data, a->size * sizeof *a->host);
    return a->host;
}

void attend_number_array_write(number_array *a, const real *from)
{
    a->memory->upload(a->data, from, a->size * sizeof *from);
}
