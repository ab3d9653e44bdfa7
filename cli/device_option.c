#include "device_option.h"

#include <attend/device.h>
#include <attend/print.h>

enum { GPU_BATCH_TOKENS = 8000 };

static void describe(const verb *v)
{
    const attend_device_info d = attend_device_describe();
    if (d.fallback)
        attend_print(stderr, "attend %s: the device is the CPU: %s\n", v->name, d.fallback);
    else if (d.is_gpu)
        attend_print(stderr, "device      %s, %s, %.1f of %.1f GiB free\n", d.name, d.model,
                     (double)d.free_memory / (1 << 30), (double)d.memory / (1 << 30));
}

int device_option_use(const verb *v, const parsed *p, const device_choice *d)
{
    const int status = d->device ? attend_device_select(d->device) : ATTEND_OK;
    if (status != ATTEND_OK) return cli_fail(v, status);
    if (!d->quiet) describe(v);
    if (d->compute && !options_given(v, p, "compute")) *d->compute = (int)attend_compute_default();
    if (!attend_device_describe().is_gpu) return 0;
    if (d->threads && !options_given(v, p, "threads")) *d->threads = 1;
    if (d->batch_tokens && !options_given(v, p, "batch-tokens")) *d->batch_tokens = GPU_BATCH_TOKENS;
    return 0;
}
