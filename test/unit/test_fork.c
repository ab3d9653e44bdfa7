/* A child process uses the caches of its parent, whatever other threads of the parent did at the fork. */
#include "unit/unit.h"

#include "device/device.h"
#include "op/packed_weights.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WIDTH = 300, FORKS = 100, SECONDS = 20 };

typedef struct shared {
    attend_param *param;
    atomic_bool stop;
} shared;

static void *repack(void *user)
{
    shared *s = user;
    while (!atomic_load(&s->stop)) {
        atomic_fetch_add(&s->param->version, 1);
        attend_param_packed(s->param, ATTEND_COMPUTE_FP32, true);
        attend_device_describe();
    }
    return NULL;
}

/* In the child: packs the parameter again, with a deadline. */
static void use(attend_param *p)
{
    alarm(SECONDS);
    atomic_fetch_add(&p->version, 1);
    const bool ok = attend_param_packed(p, ATTEND_COMPUTE_FP32, true) && attend_device_describe().name;
    _exit(ok ? 0 : 1);
}

static void locks_of_other_threads(void **state)
{
    (void)state;
    attend_params *set;
    shared s = { .stop = false };
    pthread_t thread;
    assert_int_equal(attend_params_new(&set), ATTEND_OK);
    assert_int_equal(attend_params_add_stored(&s.param, set, "w", 2, (int[]){ WIDTH, WIDTH }, NULL), ATTEND_OK);
    assert_non_null(attend_param_packed(s.param, ATTEND_COMPUTE_FP32, true));
    assert_int_equal(pthread_create(&thread, NULL, repack, &s), 0);
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) use(s.param);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    attend_params_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_of_other_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
