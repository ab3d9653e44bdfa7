/* test_golden_lstmn.c: compares the LSTMN with tools/lstmn_reference.py, which processes one token at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    "lstmn", "lstmn_wide", "lstmn_span", "lstmn_far", "lstmn_deep", "lstmn_deep_span"
};

static attend_var *weight(rig *r, const char *prefix, const char *name)
{
    char full[GOLDEN_NAME];
    (void)snprintf(full, sizeof full, "%s%s", prefix, name);
    return rig_weight_if_any(r, full);
}

static attend_lstmn_attention look_of(rig *r, const char *prefix)
{
    return (attend_lstmn_attention){ .wk = weight(r, prefix, "wk"),
                                     .wx = weight(r, prefix, "wx"),
                                     .wt = weight(r, prefix, "wt"),
                                     .b = weight(r, prefix, "lb"),
                                     .v = weight(r, prefix, "v") };
}

static const attend_ragged *ragged(rig *r, const char *name)
{
    int count = 0, *lengths = rig_integers(r, name, &count);
    const attend_ragged *made = attend_ragged_new(r->c, count, lengths);
    free(lengths);
    return made;
}

static const attend_lstmn_source *source_of(rig *r)
{
    const attend_lstmn_fusion fusion = {
        .attention = look_of(r, "s"), .w = weight(r, "", "rw"), .u = weight(r, "", "ru"), .b = weight(r, "", "rb")
    };
    return attend_lstmn_source_new(r->c, &fusion, rig_input(r, "gamma"), rig_input(r, "alpha"),
                                   ragged(r, "source_lengths"));
}

static void check(const char *name, rig_weights weights, const char *way)
{
    rig r;
    rig_open(&r, name, weights, way);
    const attend_lstmn_cell cell = { .attention = look_of(&r, ""),
                                     .w = weight(&r, "", "w"),
                                     .u = weight(&r, "", "u"),
                                     .b = weight(&r, "", "b"),
                                     .span = (int)rig_number(&r, "span", 0) };
    const bool fused = golden_has(&r.g, "gamma");
    attend_lstmn_io io = { .want_weights = true, .want_source_weights = fused };
    if (fused) io.source = source_of(&r);
    attend_var *y = attend_lstmn_sequence(r.c, &cell, rig_input(&r, "x"), ragged(&r, "lengths"), &io);
    rig_output(&r, "y", y);
    rig_output(&r, "c", io.c);
    rig_output(&r, "weights", io.weights);
    if (fused) rig_output(&r, "source_weights", io.source_weights);
    rig_check(&r);
    rig_close(&r);
}

static void check_every_way(const void *user)
{
    check(user, RIG_PARAMETERS, "weights that are parameters");
    check(user, RIG_INPUTS, "weights that are variables");
}

static void test_lstmn(void **state)
{
    rig_every_table(check_every_way, *state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[sizeof names / sizeof *names];
    rig_directory(argc, argv);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tests[i] = (struct CMUnitTest){ .name = names[i],
                                        .test_func = test_lstmn,
                                        .initial_state = (void *)(uintptr_t)names[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
