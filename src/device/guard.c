/* guard.c: the CPU device whose memory is inaccessible outside its functions. A test that runs on it proves that the host
 * touches no numbers, as on a device with memory of its own: any such access ends the process with SIGSEGV. */
#include "device/cpu.h"
#include "device/guard_memory.h"
#include <string.h>

static void transfer(void *to, const void *from, size_t bytes)
{
    if (bytes == 0) return;
    attend_guard_enter();
    memcpy(to, from, bytes);
    attend_guard_leave();
}

static void zero(void *p, size_t bytes)
{
    if (bytes == 0) return;
    attend_guard_enter();
    memset(p, 0, bytes);
    attend_guard_leave();
}

static void finish(void)
{
}

#define ATTEND_WRAPPER(name, parameters, arguments)                                                                    \
    static void guarded_##name parameters                                                                              \
    {                                                                                                                  \
        attend_guard_enter();                                                                                          \
        attend_cpu_##name arguments;                                                                                   \
        attend_guard_leave();                                                                                          \
    }
#define ATTEND_RESULT_WRAPPER(type, name, parameters, arguments)                                                       \
    static type guarded_##name parameters                                                                              \
    {                                                                                                                  \
        attend_guard_enter();                                                                                          \
        const type result = attend_cpu_##name arguments;                                                               \
        attend_guard_leave();                                                                                          \
        return result;                                                                                                 \
    }
ATTEND_DEVICE_FUNCTIONS(ATTEND_WRAPPER, ATTEND_RESULT_WRAPPER)

#define ATTEND_ENTRY(name, parameters, arguments)              .name = guarded_##name,
#define ATTEND_RESULT_ENTRY(type, name, parameters, arguments) .name = guarded_##name,
const attend_device attend_device_guard = { .memory = { .name = "guard",
                                                        .take = attend_guard_take,
                                                        .take_zeroed = attend_guard_take,
                                                        .give = attend_guard_give,
                                                        .upload = transfer,
                                                        .download = transfer,
                                                        .copy = transfer,
                                                        .zero = zero,
                                                        .finish = finish },
                                            ATTEND_DEVICE_FUNCTIONS(ATTEND_ENTRY, ATTEND_RESULT_ENTRY) };
