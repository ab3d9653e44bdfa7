/* The choice of the device of a process, with plug-ins that stand in for libattend_cuda.so (test/plugin/fake_plugin.c). A process
 * chooses once, so each case runs in a child process. */
#include "unit/unit.h"
#include <sys/wait.h>
#include <unistd.h>

/* The plug-in of a name of test/plugin/plugin.cmake. */
static void use_plugin(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", FAKE_PLUGINS, name);
    assert_int_equal(setenv("ATTEND_CUDA", path, 1), 0);
}

static void in_child(void (*run)(void))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* In the child, where cmocka cannot jump out of a failed assertion. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s; message: %s\n", __FILE__, __LINE__, #condition, attend_message());             \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define REQUIRE_REFUSED(name, text)                                                                                    \
    do {                                                                                                               \
        REQUIRE(attend_device_select(name) == ATTEND_BAD_USAGE);                                                       \
        REQUIRE(strstr(attend_message(), text));                                                                       \
    } while (0)

static void the_default(void)
{
    const attend_device_info info = attend_device_describe();
    REQUIRE(strcmp(info.name, "cpu") == 0 && strcmp(info.model, attend_kernel_name()) == 0);
    REQUIRE(!info.is_gpu && !info.fallback && info.memory == 0);
    REQUIRE(attend_device_check() == ATTEND_OK);
    REQUIRE(attend_device_select("cpu") == ATTEND_OK && attend_device_select("cpu") == ATTEND_OK);
}

static void wrong_names(void)
{
    REQUIRE(attend_device_select(NULL) == ATTEND_BAD_USAGE);
    static const char *const names[] = {
        "", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "CPU"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        REQUIRE_REFUSED(names[i], "expected cpu, cuda, cuda:N or auto");
    REQUIRE(strcmp(attend_device_describe().name, "cpu") == 0);
}

static void a_gpu(void)
{
    attend_ctx *c = NULL;
    use_plugin("works");
    REQUIRE(attend_device_select("cuda:2") == ATTEND_OK);
    const attend_device_info info = attend_device_describe();
    REQUIRE(strcmp(info.name, "cuda:2") == 0 && strcmp(info.model, "fake GPU 2") == 0);
    REQUIRE(info.is_gpu && info.major == 9 && info.memory == 1000 && info.driver == 13000 && info.has_tf32);
    REQUIRE(!info.has_bf16 && !info.fallback);
    REQUIRE_REFUSED("cuda", "has opened GPU 2 already");
    REQUIRE(attend_device_select("cpu") == ATTEND_OK); /* nothing uses the GPU yet */
    REQUIRE(attend_device_select("cuda:2") == ATTEND_OK);
    REQUIRE(attend_ctx_new(&c) == ATTEND_OK);
    attend_ctx_free(c);
    REQUIRE(attend_device_select("cuda:2") == ATTEND_OK);
    REQUIRE_REFUSED("cpu", "computes on cuda:2 already");
    REQUIRE_REFUSED("auto", "computes on cuda:2 already");
    REQUIRE(strcmp(attend_device_describe().name, "cuda:2") == 0);
}

static void the_cpu_in_use(void)
{
    attend_params *p = NULL;
    use_plugin("works");
    REQUIRE(attend_params_new(&p) == ATTEND_OK);
    REQUIRE_REFUSED("cuda", "computes on cpu already");
    REQUIRE(attend_device_select("cpu") == ATTEND_OK);
    attend_params_free(p);
}

static void automatic(void)
{
    use_plugin("works");
    REQUIRE(attend_device_select("auto") == ATTEND_OK);
    REQUIRE(strcmp(attend_device_describe().name, "cuda:0") == 0 && !attend_device_describe().fallback);
}

static void automatic_without_a_gpu(void)
{
    use_plugin("no_gpu");
    REQUIRE(attend_device_select("auto") == ATTEND_OK);
    const attend_device_info info = attend_device_describe();
    REQUIRE(strcmp(info.name, "cpu") == 0 && info.fallback);
    REQUIRE(strcmp(info.fallback, "GPU 0 cannot be used: there is no GPU") == 0);
    REQUIRE(attend_device_select("cpu") == ATTEND_OK && !attend_device_describe().fallback); /* chosen now */
}

static void plugins_that_do_not_fit(void)
{
    use_plugin("absent");
    REQUIRE_REFUSED("cuda", "install the package attend-cuda, or build attend where nvcc is installed (make CUDA=1)");
    use_plugin("wrong_version");
    REQUIRE_REFUSED("cuda", "wrong_version.so is not a CUDA plug-in of this version of attend");
    use_plugin("double");
    REQUIRE_REFUSED("cuda", "double.so computes in double precision, and this program in single");
    use_plugin("no_gpu");
    REQUIRE_REFUSED("cuda:1", "GPU 1 cannot be used: there is no GPU");
}

static void the_environment(void)
{
    attend_ctx *c = (attend_ctx *)1;
    attend_params *p = (attend_params *)1;
    use_plugin("no_gpu");
    REQUIRE(setenv("ATTEND_DEVICE", "cuda", 1) == 0);
    REQUIRE(attend_ctx_new(&c) == ATTEND_BAD_USAGE && !c && strstr(attend_message(), "there is no GPU"));
    REQUIRE(attend_params_new(&p) == ATTEND_BAD_USAGE && !p);
    REQUIRE(strcmp(attend_device_describe().name, "cuda") == 0 && strcmp(attend_device_describe().model, "") == 0);
    REQUIRE(setenv("ATTEND_DEVICE", "gpu", 1) == 0);
    REQUIRE(attend_ctx_new(&c) == ATTEND_BAD_USAGE && strstr(attend_message(), "expected cpu"));
    REQUIRE(attend_device_select("cpu") == ATTEND_OK); /* a choice of the program comes first */
    REQUIRE(attend_ctx_new(&c) == ATTEND_OK);
    attend_ctx_free(c);
}

#define CHILD_TEST(name)                                                                                               \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        in_child(name);                                                                                                \
    }
CHILD_TEST(the_default)
CHILD_TEST(wrong_names)
CHILD_TEST(a_gpu)
CHILD_TEST(the_cpu_in_use)
CHILD_TEST(automatic)
CHILD_TEST(automatic_without_a_gpu)
CHILD_TEST(plugins_that_do_not_fit)
CHILD_TEST(the_environment)

int main(void)
{
    unsetenv("ATTEND_DEVICE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_default),
        cmocka_unit_test(test_wrong_names),
        cmocka_unit_test(test_a_gpu),
        cmocka_unit_test(test_the_cpu_in_use),
        cmocka_unit_test(test_automatic),
        cmocka_unit_test(test_automatic_without_a_gpu),
        cmocka_unit_test(test_plugins_that_do_not_fit),
        cmocka_unit_test(test_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
