#include "compute_option.h"

#include <attend/print.h>
#include <attend/processors.h>
#include <attend/version.h>

void compute_option_note(const verb *v, int compute)
{
    if (!attend_compute_is_fast((attend_compute_precision)compute))
        attend_print(stderr, "attend %s: products in %s are slower than in fp32 with the kernels of this machine, %s\n",
                     v->name, attend_compute_names[compute], attend_kernel_name());
}
