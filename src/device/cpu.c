/* cpu.c: the CPU device: host memory, and the table of the functions in cpu_*.c. */
#include "device/cpu.h"

#include "core/memory.h"
#include <string.h>

static void *take_zeroed(size_t bytes)
{
    return attend_memory_zeroed(bytes, 1);
}

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
                                                      .take_zeroed = take_zeroed,
                                                      .give = attend_memory_free,
                                                      .upload = copy,
                                                      .download = copy,
                                                      .copy = copy,
                                                      .zero = zero,
                                                      .finish = finish },
                                          ATTEND_DEVICE_FUNCTIONS(ATTEND_ENTRY, ATTEND_RESULT_ENTRY)
                                              ATTEND_DEVICE_QUERIES(ATTEND_RESULT_ENTRY) };

/* ---- rows on threads ---- */

/* Minimum numbers per piece: waking a spinning thread takes one or two microseconds, and a simple function of this many
 * numbers ten times as long. */
enum { MIN_PIECE = 1 << 15 };

typedef struct row_pieces {
    attend_cpu_row_fn work;
    const void *user;
    size_t rows, pieces;
} row_pieces;

static void run_piece(void *user, int i)
{
    const row_pieces *p = user;
    const size_t first = p->rows * (size_t)i / p->pieces, last = p->rows * ((size_t)i + 1) / p->pieces;
    p->work(p->user, first, last - first);
}

void attend_cpu_rows(const attend_compute *c, size_t rows, size_t row_work, attend_cpu_row_fn work, const void *user)
{
    const size_t threads = c->pool ? (size_t)attend_pool_threads(c->pool) : 1;
    size_t pieces = threads > 1 ? rows * row_work / MIN_PIECE : 1;
    if (pieces > threads) pieces = threads;
    if (pieces > rows) pieces = rows;
    if (pieces <= 1) {
        if (rows) work(user, 0, rows);
        return;
    }
    row_pieces p = { .work = work, .user = user, .rows = rows, .pieces = pieces };
    attend_pool_run(c->pool, (int)pieces, run_piece, &p);
}
