#define _XOPEN_SOURCE 700 /* nftw */
/* The processors that a process may use: cores, hyper-threads and quotas of control groups, read from made-up trees. */
#include "core/processors.h"
#include "unit/unit.h"
#include <attend/version.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/attend-test-XXXXXX";
static char root[512];

/* Writes `text` to root/path, creating its directories. */
static void put(const char *path, const char *text)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(whole, 0700);
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_core(int processor, const char *package, const char *core)
{
    char path[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id", processor);
    put(path, core);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", processor);
    put(path, package);
}

static void begin(const char *name)
{
    snprintf(root, sizeof root, "%s/%s", folder, name);
    mkdir(root, 0700);
}

static void hyper_threads_share_a_core(void **state)
{
    (void)state;
    begin("cores");
    const int all[] = { 0, 1, 2, 3, 4, 5 };
    assert_int_equal(attend_processors_cores(root, all, 6), 6); /* unknown: each counts */
    put_core(0, "0\n", "0\n"), put_core(1, "0\n", "1\n"), put_core(2, "0\n", "0\n"), put_core(3, "0\n", "1\n");
    put_core(4, "1\n", "0\n"), put_core(5, "1\n", "0\n"); /* another package */
    assert_int_equal(attend_processors_cores(root, all, 6), 3);
    assert_int_equal(attend_processors_cores(root, all, 2), 2);
    assert_int_equal(attend_processors_cores(root, (const int[]){ 0, 2 }, 2), 1);
    put_core(5, "1\n", "x\n");
    assert_int_equal(attend_processors_cores(root, all, 6), 6);
}

static void quota_of_version_2(void **state)
{
    (void)state;
    begin("v2");
    assert_true(attend_processors_quota(root) == 0);
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_true(attend_processors_quota(root) == 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(attend_processors_quota(root) == 0);
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n"); /* an ancestor limits too */
    assert_true(attend_processors_quota(root) == 1.5);
    put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    assert_true(attend_processors_quota(root) == 0.5);
    put("/sys/fs/cgroup/a/b/cpu.max", "-1 x\n");
    assert_true(attend_processors_quota(root) == 1.5);
    /* inside a container the group is the root of the mount */
    put("/proc/self/cgroup", "0::/not/visible\n");
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_true(attend_processors_quota(root) == 3);
}

static void quota_of_version_1(void **state)
{
    (void)state;
    begin("v1");
    put("/proc/self/cgroup", "9:cpuset:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/\nrubbish\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    assert_true(attend_processors_quota(root) == 0);
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "250000\n");
    assert_true(attend_processors_quota(root) == 2.5);
}

static void this_machine(void **state)
{
    (void)state;
    const attend_processors p = attend_processors_read();
    assert_true(p.online >= 1 && p.allowed >= 1 && p.cores >= 1 && p.cores <= p.allowed && p.quota >= 0);
    assert_true(p.threads >= 1 && p.threads <= p.cores);
    assert_int_equal(attend_processors_threads(), p.threads);
    attend_kernel_info k;
    int in_use = 0, i = 0;
    for (; attend_kernel_at(i, &k); i++)
        if (k.in_use) {
            in_use++;
            assert_true(k.supported);
            assert_string_equal(k.name, attend_kernel_name());
        }
    assert_int_equal(in_use, 1);
    assert_true(i >= 1);
    assert_false(attend_kernel_at(-1, &k));
}

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static int remove_tree(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(hyper_threads_share_a_core),
                                        cmocka_unit_test(quota_of_version_2), cmocka_unit_test(quota_of_version_1),
                                        cmocka_unit_test(this_machine) };
    return cmocka_run_group_tests(tests, folder_make, remove_tree);
}
