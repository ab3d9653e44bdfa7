/* cpu.c: the CPU device: host memory, and the table of the functions in cpu_*.c. */
#include "device/cpu.h"

#include "core/memory.h"
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes) memcpy(to, from, bytes);
}

static void zero(void *p, size_t bytes)
{
    if (bytes) memset(p, 0, bytes);
}

static void finish(void)
{
}

#define ATTEND_ENTRY(name, parameters, arguments)              .name = attend_cpu_##name,
#define ATTEND_RESULT_ENTRY(type, name, parameters, arguments) .name = attend_cpu_##name,
const attend_device attend_device_cpu = { .memory = { .name = "cpu",
                                                      .on_host = true,
                                                      .take = attend_memory_aligned,
                                                      .take_zeroed = attend_memory_aligned_zeroed,
                                                      .expect_use = attend_memory_expect_use,
                                                      .give = attend_memory_free,
                                                      .upload = copy,
                                                      .download = copy,
                                                      .copy = copy,
                                                      .zero = zero,
                                                      .finish = finish },
                                          ATTEND_DEVICE_FUNCTIONS(ATTEND_ENTRY, ATTEND_RESULT_ENTRY)
                                              ATTEND_DEVICE_QUERIES(ATTEND_RESULT_ENTRY) };

/* ---- ranges on threads ---- */

/* Minimum numbers per piece: waking a spinning thread takes one or two microseconds, and a simple function of this many
 * numbers several times as long. */
enum { MIN_PIECE = 1 << 14 };

/* For tests. */
static atomic_bool divides_all;

void attend_cpu_divide_all(bool on)
{
    atomic_store(&divides_all, on);
}

cpu_division attend_cpu_division(const attend_compute *c, size_t work, size_t min_piece)
{
    const bool all = c->pool && atomic_load(&divides_all);
    const size_t max_pieces = all ? SIZE_MAX : work / min_piece;
    if (max_pieces < 2) return (cpu_division){ .threads = 1, .pieces = 1 };
    const size_t threads = (size_t)(all ? attend_pool_threads(c->pool) : attend_pool_available(c->pool));
    const size_t pieces = threads > 1 ? 2 * threads : 1; /* some threads come late */
    return (cpu_division){ .threads = threads, .pieces = pieces < max_pieces ? pieces : max_pieces };
}

typedef struct range_pieces {
    attend_cpu_range_fn work;
    const void *user;
    size_t n, unit, units, pieces;
} range_pieces;

static void run_piece(void *user, int i)
{
    const range_pieces *p = user;
    const size_t first = p->units * (size_t)i / p->pieces * p->unit,
                 end = p->units * ((size_t)i + 1) / p->pieces * p->unit, last = end < p->n ? end : p->n;
    p->work(p->user, first, last - first);
}

static void run_ranges(const attend_compute *c, size_t n, size_t unit, size_t cost, attend_cpu_range_fn work,
                       const void *user)
{
    if (n == 0) return;
    const size_t units = (n + unit - 1) / unit, max_pieces = attend_cpu_division(c, n * cost, MIN_PIECE).pieces,
                 pieces = units < max_pieces ? units : max_pieces;
    if (pieces <= 1) {
        work(user, 0, n);
        return;
    }
    range_pieces p = { .work = work, .user = user, .n = n, .unit = unit, .units = units, .pieces = pieces };
    attend_pool_run(c->pool, (int)pieces, run_piece, &p);
}

void attend_cpu_rows(const attend_compute *c, size_t rows, size_t cost, attend_cpu_range_fn work, const void *user)
{
    run_ranges(c, rows, 1, cost, work, user);
}

void attend_cpu_numbers(const attend_compute *c, size_t n, size_t cost, attend_cpu_range_fn work, const void *user)
{
    run_ranges(c, n, CPU_NUMBERS, cost, work, user);
}

void attend_cpu_columns(const attend_compute *c, size_t columns, size_t cost, attend_cpu_range_fn work,
                        const void *user)
{
    run_ranges(c, columns, CPU_COLUMNS, cost, work, user);
}
