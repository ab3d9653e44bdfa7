#include "train/number_array.h"

#include "core/memory.h"
#include "core/status.h"

number_array *attend_number_arrays_new(const attend_params *params, const parameter_pieces *pieces)
{
    number_array *arrays = attend_memory_zeroed((size_t)params->count, sizeof *arrays);
    for (int i = 0; arrays && i < params->count; i++) {
        const element_range own = attend_pieces_own(pieces, i);
        const size_t size = own.last - own.first;
        arrays[i] = (number_array){ .memory = params->memory, .first = own.first, .size = size };
        arrays[i].data = params->memory->take_zeroed((size ? size : 1) * sizeof(real));
        params->memory->expect_use(arrays[i].data, size * sizeof(real));
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
    if (!a->host)
        attend_fail(ATTEND_NO_MEMORY, "no memory to read %zu numbers", a->size);
    else if (attend_device_memory_read(a->memory, a->host, a->data, a->size * sizeof *a->host) == ATTEND_OK)
        return a->host;
    return NULL;
}

void attend_number_array_write(number_array *a, const real *from)
{
    if (a->size) a->memory->upload(a->data, from + a->first, a->size * sizeof *from);
}
