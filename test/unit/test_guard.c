/* The guard device: the host cannot touch numbers, device functions refuse pointers to the wrong memory, and a device
 * with memory of its own refuses scores of the user. Each forbidden access runs in a child process. */
#include "core/tape.h"
#include "device/device.h"
#include "device/guard_memory.h"
#include "unit/unit.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 8 };

/* A context with a variable of N ones. */
static attend_ctx *context_new(attend_var **x)
{
    static const attend_real ones[N] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    attend_ctx *c;
    assert_ok(attend_ctx_new(&c));
    assert_string_equal(c->memory->name, "guard");
    *x = attend_input(c, 1, (const int[]){ N }, ones);
    assert_non_null(*x);
    return c;
}

typedef void (*access_fn)(attend_ctx *c, attend_var *x);

/* Whether the access ends a child process with SIGSEGV; false if it returns. */
static bool is_fatal(access_fn access, attend_ctx *c, attend_var *x)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would report the access and exit */
        access(c, x);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    const bool returned = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!returned) assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    return !returned;
}

static void read_value(attend_ctx *c, attend_var *x)
{
    (void)c;
    *(volatile real *)x->value;
}

static void write_value(attend_ctx *c, attend_var *x)
{
    (void)c;
    *(volatile real *)x->value = 2;
}

static void read_copy(attend_ctx *c, attend_var *x)
{
    (void)c;
    const volatile real *value = attend_value(x);
    if (value[N - 1] != 1) raise(SIGABRT);
}

static void test_the_host_cannot_touch_numbers(void **state)
{
    (void)state;
    attend_var *x;
    attend_ctx *c = context_new(&x);
    assert_true(is_fatal(read_value, c, x));
    assert_true(is_fatal(write_value, c, x));
    assert_false(is_fatal(read_copy, c, x));
    assert_non_null(attend_tanh(c, x));
    assert_true(is_fatal(read_value, c, x)); /* protected again after a computation */
    attend_ctx_free(c);
}

static real host[N];
static const int host_rows[N];

static void fill_host(attend_ctx *c, attend_var *x)
{
    (void)x;
    attend_device_of(c)->fill(&c->compute, N, 1, host);
}

static void add_from_host(attend_ctx *c, attend_var *x)
{
    attend_device_of(c)->add(&c->compute, 1, N, (device_input){ .data = host },
                             (device_output){ .data = x->value, .stride = N });
}

static void add_by_rows_of_the_device(attend_ctx *c, attend_var *x)
{
    attend_device_of(c)->add(&c->compute, 1, N, (device_input){ .data = x->value },
                             (device_output){ .data = x->value, .stride = N, .rows = (const int *)x->value });
}

static void multiply_host(attend_ctx *c, attend_var *x)
{
    const device_gemm g = {
        .m = 1, .n = 1, .k = N, .a = x->value, .lda = N, .b = host, .ldb = 1, .c = x->value, .ldc = 1
    };
    attend_device_of(c)->gemm(&c->compute, &g);
}

static void upload_from_device(attend_ctx *c, attend_var *x)
{
    c->memory->upload(x->value, x->value, sizeof(real));
}

static void download_to_device(attend_ctx *c, attend_var *x)
{
    c->memory->download(x->value, x->value, sizeof(real));
}

static void copy_from_host(attend_ctx *c, attend_var *x)
{
    c->memory->copy(x->value, host, sizeof host);
}

static void correct_calls(attend_ctx *c, attend_var *x)
{
    attend_device_of(c)->add(&c->compute, 1, N, (device_input){ .data = x->value, .rows = host_rows },
                             (device_output){ .data = x->value, .stride = N, .rows = host_rows });
    c->memory->upload(x->value, host, sizeof host);
    c->memory->download(host, x->value, sizeof host);
}

static void test_arguments_in_the_wrong_memory(void **state)
{
    (void)state;
    static const access_fn wrong[] = { fill_host,     add_from_host,      add_by_rows_of_the_device,
                                       multiply_host, upload_from_device, download_to_device,
                                       copy_from_host };
    attend_var *x;
    attend_ctx *c = context_new(&x);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!is_fatal(wrong[i], c, x)) fail_msg("call %zu was accepted", i);
    assert_false(is_fatal(correct_calls, c, x));
    attend_ctx_free(c);
}

/* ---- blocks ---- */

static void *compute_often(void *user)
{
    attend_var *x, *y;
    attend_ctx *c = context_new(&x);
    for (int i = 0; i < 200; i++) {
        y = attend_scale(c, x, 2);
        *(real *)user += attend_value(y)[0];
    }
    attend_ctx_free(c);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    real sums[4] = { 0 };
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, compute_often, &sums[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) assert_true(sums[i] == 400);
    assert_int_equal(attend_guard_blocks(), 0);
}

static void test_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 200 };
    char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) assert_non_null(blocks[i] = attend_guard_take(i * 100));
    assert_int_equal(attend_guard_blocks(), BLOCKS);
    for (size_t i = 0; i < BLOCKS; i++) memset(attend_guard_numbers(blocks[i]), (int)i + 1, i * 100);
    for (size_t i = 0; i < BLOCKS; i++) {
        const unsigned char *numbers = attend_guard_numbers(blocks[i]);
        assert_ptr_equal(attend_guard_address(numbers), blocks[i]);
        for (size_t j = 0; j < i * 100; j++) assert_int_equal(numbers[j], (unsigned char)(i + 1));
    }
    for (size_t i = 0; i < BLOCKS; i += 2) attend_guard_give(blocks[i]);
    for (size_t i = 0; i < BLOCKS; i += 2) { /* reused memory is zeroed */
        assert_non_null(blocks[i] = attend_guard_take(i * 100));
        const unsigned char *numbers = attend_guard_numbers(blocks[i]);
        for (size_t j = 0; j < i * 100; j++) assert_int_equal(numbers[j], 0);
    }
    for (size_t i = 0; i < BLOCKS; i++) attend_guard_give(blocks[i]);
    assert_int_equal(attend_guard_blocks(), 0);
    assert_null(attend_guard_take(SIZE_MAX));
}

/* ---- scores on a device that has none of the host's functions ---- */

static bool runs_built_in(const device_score *s)
{
    for (const attend_score *const *built_in = attend_scores; *built_in; built_in++)
        if ((*built_in)->tile == s->tile) return true;
    return false;
}

static void own_tile(const attend_tile *t)
{
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++) t->score[(size_t)i * t->score_stride + (size_t)j] = 1;
}

static void own_tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    (void)t, (void)g;
}

static const attend_score own = { .name = "own", .tile = own_tile, .tile_backward = own_tile_backward };

static attend_source *source_new(attend_ctx *c, const attend_score *score)
{
    const attend_attention_options options = { .score = score };
    attend_var *keys = attend_input(c, 2, (const int[]){ 3, 4 }, NULL);
    return attend_source_new(c, &options, NULL, keys, NULL, attend_ragged_new(c, 1, (const int[]){ 3 }));
}

static void test_scores_of_the_user(void **state)
{
    (void)state;
    attend_device other = attend_device_guard;
    other.memory.name = "other";
    other.runs_score = runs_built_in;
    attend_ctx *c;
    assert_ok(attend_ctx_new(&c));
    assert_non_null(source_new(c, &own)); /* guard runs it inside its functions */
    attend_ctx_free(c);
    assert_ok(attend_ctx_new(&c));
    c->memory = c->numbers.memory = &other.memory;
    assert_non_null(source_new(c, &attend_score_dot));
    assert_null(source_new(c, &own));
    assert_int_equal(attend_ctx_status(c), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_ctx_message(c), "score own"));
    assert_non_null(strstr(attend_ctx_message(c), "use a built-in score, or the device 'cpu'"));
    attend_ctx_free(c);
}

int main(void)
{
    setenv("ATTEND_DEVICE", "guard", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_host_cannot_touch_numbers),
        cmocka_unit_test(test_arguments_in_the_wrong_memory),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_scores_of_the_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
