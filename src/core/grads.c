#include "core/memory.h"
#include "core/tape.h"
#include <string.h>

size_t attend_grads_row_size(const grad_entry *e)
{
    return e->param->size / (size_t)e->param->shape[0];
}

void attend_grads_free(attend_grads *g)
{
    if (!g) return;
    for (int i = 0; g->entries && i < g->count; i++) {
        g->memory->give(g->entries[i].value);
        attend_memory_free(g->entries[i].host);
        attend_memory_free(g->entries[i].rows);
        attend_memory_free(g->entries[i].touched);
    }
    attend_memory_free(g->entries);
    attend_memory_free(g);
}

int attend_grads_new(attend_grads **out, const attend_params *set)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && set);
    *out = NULL;
    attend_grads *g = attend_memory_zeroed(1, sizeof *g);
    bool ok = g && (g->entries = attend_memory_zeroed((size_t)set->count, sizeof *g->entries));
    if (ok) g->count = set->count, g->memory = set->memory;
    for (int i = 0; ok && i < set->count; i++) {
        grad_entry *e = &g->entries[i];
        e->param = set->list[i];
        /* zeroed when taken: pages of rows that no gradient touches are never mapped */
        ok = (e->value = g->memory->take_zeroed(e->param->size * sizeof(real))) != NULL;
        if (ok && e->param->rank == 2) {
            ok = (e->rows = attend_memory_zeroed((size_t)e->param->shape[0], sizeof *e->rows)) != NULL;
            if (ok) ok = (e->touched = attend_memory_zeroed((size_t)e->param->shape[0], 1)) != NULL;
        }
    }
    if (!ok) {
        attend_grads_free(g);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the gradients of %zu numbers", attend_params_size(set));
    }
    *out = g;
    return ATTEND_OK;
}

const real *attend_grads_of(const attend_grads *g, const attend_param *p)
{
    ATTEND_REQUIRE(NULL, g && p);
    grad_entry *e = &g->entries[p->index];
    if (g->memory->on_host) return e->value;
    if (!e->host) e->host = attend_memory_zeroed(p->size, sizeof *e->host);
    if (!e->host) {
        attend_fail(ATTEND_NO_MEMORY, "no memory to read the gradient of '%s'", p->name);
        return NULL;
    }
    return attend_device_memory_read(g->memory, e->host, e->value, p->size * sizeof *e->host) == ATTEND_OK ? e->host
                                                                                                           : NULL;
}

void attend_grads_clear_rows(grad_entry *e)
{
    for (int i = 0; i < e->rows_used; i++) e->touched[e->rows[i]] = 0;
    e->rows_used = 0;
    e->dense = false;
}

void attend_grads_zero(attend_grads *g)
{
    ATTEND_REQUIRE_VOID(g);
    for (int i = 0; i < g->count; i++) {
        grad_entry *e = &g->entries[i];
        size_t width = attend_grads_row_size(e);
        if (e->dense)
            g->memory->zero(e->value, e->param->size * sizeof(real));
        else
            for (int j = 0; j < e->rows_used; j++)
                g->memory->zero(e->value + (size_t)e->rows[j] * width, width * sizeof(real));
        attend_grads_clear_rows(e);
    }
}

real *attend_grads_dense(attend_grads *g, const attend_param *p)
{
    grad_entry *e = &g->entries[p->index];
    if (!e->was_dense) g->memory->expect_use(e->value, p->size * sizeof(real));
    e->dense = e->was_dense = true;
    return e->value;
}

void attend_grads_touch(grad_entry *e, const int *rows, int n)
{
    for (int i = 0; i < n; i++) {
        if (e->touched[rows[i]]) continue;
        e->touched[rows[i]] = 1;
        e->rows[e->rows_used++] = rows[i];
    }
}

real *attend_grads_rows(attend_grads *g, const attend_param *p, const int *rows, int n)
{
    grad_entry *e = &g->entries[p->index];
    if (!e->rows || g->memory->is_wide) return attend_grads_dense(g, p);
    attend_grads_touch(e, rows, n);
    return e->value;
}
