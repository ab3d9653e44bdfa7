#include "compute_option.h"

#include <attend/device.h>
#include <attend/print.h>
#include <attend/processors.h>

void compute_option_note(const verb *v, int compute)
{
    if (!attend_compute_is_fast((attend_compute_precision)compute))
        attend_print(stderr, "attend %s: products in %s are not faster than in fp32 on this device, %s\n", v->name,
                     attend_compute_names[compute], attend_device_describe().model);
}
