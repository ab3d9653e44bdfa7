/* emulation.cpp: runs the blocks and threads of a grid on the calling thread. */
#undef _FORTIFY_SOURCE /* its longjmp refuses to change stacks */
#include "device/cuda/emulation.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <vector>

dim3 cuda_emulated_grid, cuda_emulated_block, cuda_emulated_block_index, cuda_emulated_thread_index;

enum { WARP = 32, STACK = 64 << 10, MAX_SHARED = 228 << 10 };

namespace
{

enum coroutine_state { RUNNING, AT_BARRIER, AT_WARP_BARRIER, ENDED };

/* Coroutines change by _longjmp, which makes no system call. They live as long as the process and run one thread after
 * another. */
struct coroutine {
    jmp_buf point;
    coroutine_state state;
    bool is_new;
    dim3 index;
    std::vector<char> stack;
    uint64_t value; /* that its lane passes in an exchange */
};

std::vector<coroutine *> coroutines;
jmp_buf scheduler;
coroutine *current;
const std::function<void()> *body;
alignas(64) unsigned char shared_memory[MAX_SHARED];

void leave(coroutine_state state)
{
    coroutine *self = current;
    self->state = state;
    if (_setjmp(self->point) == 0) _longjmp(scheduler, 1);
}

void run_coroutine()
{
    for (;;) {
        (*body)();
        leave(ENDED);
    }
}

coroutine *coroutine_new()
{
    coroutine *c = new coroutine();
    c->is_new = true;
    c->stack.resize(STACK);
    return c;
}

/* Runs a thread until it waits or ends. */
void enter(coroutine *c)
{
    current = c;
    cuda_emulated_thread_index = c->index;
    if (_setjmp(scheduler) != 0) return;
    if (!c->is_new) _longjmp(c->point, 1);
    c->is_new = false;
    static ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = c->stack.data();
    context.uc_stack.ss_size = c->stack.size();
    context.uc_link = nullptr;
    makecontext(&context, run_coroutine, 0);
    setcontext(&context);
}

/* Lets the threads of [first, end) go on if all that have not ended wait at such a barrier. */
bool release(size_t first, size_t end, coroutine_state barrier)
{
    bool any = false;
    for (size_t i = first; i < end; i++) {
        if (coroutines[i]->state == ENDED) continue;
        if (coroutines[i]->state != barrier) return false;
        any = true;
    }
    for (size_t i = first; any && i < end; i++)
        if (coroutines[i]->state == barrier) coroutines[i]->state = RUNNING;
    return any;
}

/* Runs the threads of a warp until all that have not ended wait at a barrier of the block. */
void run_warp(size_t first, size_t end)
{
    do {
        for (size_t i = first; i < end; i++)
            if (coroutines[i]->state == RUNNING) enter(coroutines[i]);
    } while (release(first, end, AT_WARP_BARRIER));
}

bool all_ended(size_t threads)
{
    for (size_t i = 0; i < threads; i++)
        if (coroutines[i]->state != ENDED) return false;
    return true;
}

void run_block(size_t threads, const char *name)
{
    for (;;) {
        for (size_t first = 0; first < threads; first += WARP)
            run_warp(first, first + WARP < threads ? first + WARP : threads);
        if (all_ended(threads)) return;
        if (!release(0, threads, AT_BARRIER)) {
            fprintf(stderr, "%s: some threads of a block do not reach a barrier\n", name);
            abort();
        }
    }
}

} // namespace

/* For tests: the launch with the number in the environment variable ATTEND_CUDA_FAULT, counted from 1, is a fault. */
static bool is_faulty_launch()
{
    static const char *const text = getenv("ATTEND_CUDA_FAULT");
    static const long faulty = text ? strtol(text, nullptr, 10) : 0;
    static long launches;
    return faulty > 0 && ++launches == faulty;
}

void cuda_emulate(dim3 grid, dim3 block, size_t shared, const char *name, const std::function<void()> &kernel)
{
    if (is_faulty_launch()) {
        cuda_fail(name, "a fault for a test");
        return;
    }
    const size_t threads = (size_t)block.x * block.y * block.z;
    if (threads == 0 || threads > 1024 || shared > MAX_SHARED || grid.y > 65535 || grid.z > 65535 || grid.x == 0) {
        fprintf(stderr, "%s: a launch that a GPU refuses: %zu threads, %zu bytes, grid %u %u %u\n", name, threads,
                shared, grid.x, grid.y, grid.z);
        abort();
    }
    while (coroutines.size() < threads) coroutines.push_back(coroutine_new());
    cuda_emulated_grid = grid, cuda_emulated_block = block;
    body = &kernel;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                cuda_emulated_block_index = dim3(x, y, z);
                memset(shared_memory, 0xff, shared);
                size_t i = 0;
                for (unsigned tz = 0; tz < block.z; tz++)
                    for (unsigned ty = 0; ty < block.y; ty++)
                        for (unsigned tx = 0; tx < block.x; tx++, i++)
                            coroutines[i]->index = dim3(tx, ty, tz), coroutines[i]->state = RUNNING;
                run_block(threads, name);
            }
}

void *cuda_emulated_shared(void)
{
    return shared_memory;
}

void cuda_emulated_barrier(bool of_warp)
{
    leave(of_warp ? AT_WARP_BARRIER : AT_BARRIER);
}

static size_t linear_index()
{
    const dim3 t = cuda_emulated_thread_index, b = cuda_emulated_block;
    return ((size_t)t.z * b.y + t.y) * b.x + t.x;
}

unsigned cuda_emulated_lane(void)
{
    return (unsigned)(linear_index() % WARP);
}

uint64_t cuda_emulated_exchange(uint64_t value, unsigned from)
{
    const size_t first = linear_index() / WARP * WARP;
    current->value = value;
    leave(AT_WARP_BARRIER);
    const uint64_t other = coroutines[first + from]->value;
    leave(AT_WARP_BARRIER);
    return other;
}
