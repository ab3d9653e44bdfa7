/* rig.c: see rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include "kernel/kernel.h"
#include "support/kernel_tables.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *directory = GOLDEN_DIRECTORY;

void rig_directory(int argc, char **argv)
{
    if (argc > 1) directory = argv[1];
}

void rig_path(char *out, size_t size, const char *name)
{
    int length = snprintf(out, size, "%s/%s.golden", directory, name);
    assert_true(length > 0 && (size_t)length < size);
}

static void fail_with(const rig *r, const char *message)
{
    fail_msg("%s [%s, %s]", message, r->way, attend_kernel()->name);
}

void rig_require(rig *r, bool good)
{
    if (!good) fail_with(r, r->g.error);
}

void rig_status(rig *r, int status)
{
    if (status != ATTEND_OK) fail_with(r, attend_message());
}

static void require_var(rig *r, const attend_var *v)
{
    if (v == NULL) fail_with(r, attend_ctx_message(r->c));
}

static const char *joined(char *out, const char *prefix, const char *name)
{
    int length = snprintf(out, GOLDEN_NAME, "%s%s", prefix, name);
    assert_true(length > 0 && length < GOLDEN_NAME);
    return out;
}

/* Creates a parameter for every NAME that has a grad.NAME; gradients need a complete set. */
static void make_parameters(rig *r)
{
    rig_status(r, attend_params_new(&r->params));
    for (int i = 0; i < r->g.count; i++) {
        const golden_tensor *t = &r->g.tensors[i];
        char name[GOLDEN_NAME];
        attend_param *p = NULL;
        if (strncmp(t->name, "grad.", 5) == 0 || strncmp(t->name, "bar.", 4) == 0) continue;
        if (!golden_has(&r->g, joined(name, "grad.", t->name))) continue;
        rig_status(r, attend_params_add(&p, r->params, t->name, t->rank, t->shape));
        for (size_t k = 0; k < t->size; k++) attend_param_edit(p)[k] = (attend_real)t->data[k];
        attend_param_changed(p);
    }
    rig_status(r, attend_grads_new(&r->grads, r->params));
    attend_ctx_set_grads(r->c, r->grads);
}

void rig_open(rig *r, const char *name, rig_weights weights, const char *way)
{
    *r = (rig){ .weights = weights, .way = way, .tolerance = RIG_TOLERANCE };
    rig_path(r->path, sizeof r->path, name);
    rig_require(r, golden_open(&r->g, r->path));
    rig_status(r, attend_ctx_new(&r->c));
    make_parameters(r);
}

void rig_close(rig *r)
{
    const golden_tensor *unseen = golden_unseen(&r->g);
    if (unseen != NULL) fail_msg("%s: nothing was compared with '%s' [%s]", r->path, unseen->name, r->way);
    attend_ctx_free(r->c);
    attend_grads_free(r->grads);
    attend_params_free(r->params);
    golden_free(&r->g);
}

attend_real *rig_reals(const golden_tensor *t)
{
    attend_real *out = malloc(t->size * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < t->size; i++) out[i] = (attend_real)t->data[i];
    return out;
}

static golden_tensor *find(rig *r, const char *name)
{
    golden_tensor *t = golden_find(&r->g, name);
    rig_require(r, t != NULL);
    return t;
}

static rig_leaf *new_leaf(rig *r, const char *name)
{
    assert_true(r->count < RIG_LEAVES);
    rig_leaf *leaf = &r->leaves[r->count++];
    leaf->tensor = find(r, name);
    return leaf;
}

attend_var *rig_input(rig *r, const char *name)
{
    rig_leaf *leaf = new_leaf(r, name);
    attend_real *data = rig_reals(leaf->tensor);
    leaf->input = attend_input(r->c, leaf->tensor->rank, leaf->tensor->shape, data);
    free(data);
    require_var(r, leaf->input);
    return leaf->input;
}

/* A parameter that rig_open made. */
static attend_var *use_parameter(rig *r, const char *name)
{
    rig_leaf *leaf = new_leaf(r, name);
    leaf->param = attend_params_find(r->params, name);
    if (leaf->param == NULL) fail_msg("%s: '%s' is not an input: there is no 'grad.%s'", r->path, name, name);
    attend_var *v = attend_parameter(r->c, leaf->param);
    require_var(r, v);
    return v;
}

attend_var *rig_weight(rig *r, const char *name)
{
    return r->weights == RIG_PARAMETERS ? use_parameter(r, name) : rig_input(r, name);
}

attend_var *rig_input_if_any(rig *r, const char *name)
{
    return golden_has(&r->g, name) ? rig_input(r, name) : NULL;
}

attend_var *rig_weight_if_any(rig *r, const char *name)
{
    return golden_has(&r->g, name) ? rig_weight(r, name) : NULL;
}

int *rig_integers(rig *r, const char *name, int *count)
{
    const golden_tensor *t = find(r, name);
    int *out = malloc(t->size * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < t->size; i++) {
        out[i] = (int)lrint(t->data[i]);
        assert_true(fabs(out[i] - t->data[i]) < 1e-9);
    }
    *count = (int)t->size;
    return out;
}

double rig_number(rig *r, const char *name, size_t i)
{
    const golden_tensor *t = find(r, name);
    assert_true(i < t->size);
    return t->data[i];
}

void rig_compare(rig *r, const char *name, int rank, const int *shape, const attend_real *got)
{
    const golden_tensor *want = golden_shaped(&r->g, name, rank, shape);
    rig_require(r, want != NULL);
    rig_require(r, golden_close(&r->g, want, got, r->tolerance));
}

void rig_output(rig *r, const char *name, attend_var *v)
{
    require_var(r, v);
    int shape[ATTEND_MAX_RANK];
    char bar_name[GOLDEN_NAME];
    for (int i = 0; i < attend_rank(v); i++) shape[i] = attend_dim(v, i);
    rig_compare(r, name, attend_rank(v), shape, attend_value(v));
    const golden_tensor *bar = golden_shaped(&r->g, joined(bar_name, "bar.", name), attend_rank(v), shape);
    rig_require(r, bar != NULL);
    attend_real *data = rig_reals(bar);
    attend_var *weighted = attend_mul(r->c, v, attend_constant(r->c, bar->rank, bar->shape, data));
    free(data);
    attend_var *term = attend_sum(r->c, weighted);
    r->loss = r->loss == NULL ? term : attend_add(r->c, r->loss, term);
    require_var(r, r->loss);
}

void rig_check(rig *r)
{
    rig_status(r, attend_backward(r->c, r->loss));
    for (int i = 0; i < r->count; i++) {
        const rig_leaf *leaf = &r->leaves[i];
        const attend_real *got =
            leaf->param != NULL ? attend_grads_of(r->grads, leaf->param) : attend_gradient(leaf->input);
        char name[GOLDEN_NAME];
        rig_compare(r, joined(name, "grad.", leaf->tensor->name), leaf->tensor->rank, leaf->tensor->shape, got);
    }
}

void rig_every_table(void (*run)(const void *user), const void *user)
{
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *table = tables_to_test(); *table != NULL; table++) {
        attend_kernel_select(*table);
        run(user);
    }
    attend_kernel_select(before);
}
