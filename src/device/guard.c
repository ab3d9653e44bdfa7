/* guard.c: the CPU device with numbers that the host cannot touch. The addresses that the host sees are inaccessible, and
 * the functions here translate them. A test that runs on it proves that the host touches no numbers, as on a device with
 * memory of its own: any such access ends the process with SIGSEGV. So does an argument that is a pointer to the wrong
 * memory. */
#include "device/cpu.h"
#include "device/guard_arguments.h"

static void upload(void *to, const void *from, size_t bytes)
{
    if (bytes == 0) return;
    attend_guard_expect_host(from);
    memcpy(attend_guard_numbers(to), from, bytes);
}

static void download(void *to, const void *from, size_t bytes)
{
    if (bytes == 0) return;
    attend_guard_expect_host(to);
    memcpy(to, attend_guard_numbers(from), bytes);
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes) memcpy(attend_guard_numbers(to), attend_guard_numbers(from), bytes);
}

static void zero(void *p, size_t bytes)
{
    if (bytes) memset(attend_guard_numbers(p), 0, bytes);
}

static void expect_use(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

static void finish(void)
{
}

#define ATTEND_WRAPPER(name, parameters, arguments)                                                                    \
    static void guarded_##name parameters                                                                              \
    {                                                                                                                  \
        guard_call call;                                                                                               \
        begin(&call);                                                                                                  \
        ATTEND_ARGUMENTS arguments attend_cpu_##name arguments;                                                        \
        restore(&call);                                                                                                \
    }
#define ATTEND_RESULT_WRAPPER(type, name, parameters, arguments)                                                       \
    static type guarded_##name parameters                                                                              \
    {                                                                                                                  \
        guard_call call;                                                                                               \
        begin(&call);                                                                                                  \
        ATTEND_ARGUMENTS arguments const type result = attend_cpu_##name arguments;                                    \
        restore(&call);                                                                                                \
        return result;                                                                                                 \
    }
ATTEND_DEVICE_FUNCTIONS(ATTEND_WRAPPER, ATTEND_RESULT_WRAPPER)

#define ATTEND_ENTRY(name, parameters, arguments)              .name = guarded_##name,
#define ATTEND_RESULT_ENTRY(type, name, parameters, arguments) .name = guarded_##name,
#define ATTEND_QUERY(type, name, parameters, arguments)        .name = attend_cpu_##name,
const attend_device attend_device_guard = { .memory = { .name = "guard",
                                                        .take = attend_guard_take,
                                                        .take_zeroed = attend_guard_take,
                                                        .expect_use = expect_use,
                                                        .give = attend_guard_give,
                                                        .upload = upload,
                                                        .download = download,
                                                        .copy = copy,
                                                        .zero = zero,
                                                        .finish = finish },
                                            ATTEND_DEVICE_FUNCTIONS(ATTEND_ENTRY, ATTEND_RESULT_ENTRY)
                                                ATTEND_DEVICE_QUERIES(ATTEND_QUERY) };
