/* test_additive.c: u . tanh(a + b) and its derivative against double: the kernels of every table, and the tiles of the
 * score, whose rows may contain any float. */
#include "support/kernel_tables.h"
#include "unit.h"
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARK 0x1.badp-20f
enum { MAX_WIDTH = 520, GAP = 5 };

/* ---- memory ---- */

static uint64_t random_state = 1;

static float uniform(float low, float high)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (float)(random_state >> 40) * 0x1p-24f;
}

/* Rows of `width` numbers, `stride` apart, that end at a protected page. Initially everything is MARK. */
typedef struct guarded {
    char *memory;
    size_t bytes;
    float *x, *start;
    size_t rows, width, stride;
} guarded;

static guarded guarded_new(size_t rows, size_t width, size_t stride)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = rows ? (rows - 1) * stride + width : 0;
    guarded f = { .rows = rows, .width = width, .stride = stride };
    f.bytes = ((n + GAP) * sizeof(float) + page - 1) / page * page + page;
    f.memory = aligned_alloc(page, f.bytes);
    assert_non_null(f.memory);
    f.start = (float *)(void *)f.memory;
    float *fence = (float *)(void *)(f.memory + f.bytes - page);
    f.x = fence - n;
    for (float *p = f.start; p < fence; p++) *p = MARK;
    assert_int_equal(mprotect(fence, page, PROT_NONE), 0);
    return f;
}

static void guarded_free(guarded *f)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(mprotect(f->memory + f->bytes - page, page, PROT_READ | PROT_WRITE), 0);
    free(f->memory);
}

static void guarded_fill(guarded *f, float low, float high)
{
    for (size_t i = 0; i < f->rows; i++)
        for (size_t l = 0; l < f->width; l++) f->x[i * f->stride + l] = uniform(low, high);
}

/* The memory before the first row and between the rows is unchanged. */
static void guarded_check(const guarded *f)
{
    for (const float *p = f->start; p < f->x; p++) assert_true(*p == MARK);
    for (size_t i = 0; i + 1 < f->rows; i++)
        for (size_t l = f->width; l < f->stride; l++) assert_true(f->x[i * f->stride + l] == MARK);
}

/* ---- a problem: arrays, and the expected results in double ---- */

typedef struct problem {
    size_t m, n, width;
    guarded a, b, de, e, da, db, du;
    guarded u; /* two heads; the second is used */
    double scale;
    double *right_e, *right_da, *right_db, *right_du; /* gradients: including the initial values */
    double *size_da, *size_db, *size_du;              /* sums of the absolute values of the terms */
    double sum_u;
} problem;

static double *doubles_new(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);
    assert_non_null(p);
    return p;
}

static problem problem_new(size_t m, size_t n, size_t width, float range)
{
    problem p = { .m = m, .n = n, .width = width, .scale = 1 };
    p.a = guarded_new(m, width, width + GAP);
    p.b = guarded_new(n, width, width + 2);
    p.de = guarded_new(m, n, n + 3);
    p.e = guarded_new(m, n, n + 3);
    p.da = guarded_new(m, width, width + GAP);
    p.db = guarded_new(n, width, width + 2);
    p.u = guarded_new(2, width, width);
    p.du = guarded_new(2, width, width);
    guarded_fill(&p.a, -range, range);
    guarded_fill(&p.b, -range, range);
    guarded_fill(&p.de, -1, 1);
    guarded_fill(&p.u, -1, 1);
    guarded_fill(&p.da, -1, 1);
    guarded_fill(&p.db, -1, 1);
    guarded_fill(&p.du, -1, 1);
    p.right_e = doubles_new(m * n);
    p.right_da = doubles_new(m * width), p.size_da = doubles_new(m * width);
    p.right_db = doubles_new(n * width), p.size_db = doubles_new(n * width);
    p.right_du = doubles_new(width), p.size_du = doubles_new(width);
    return p;
}

static void problem_free(problem *p)
{
    guarded *all[] = { &p->a, &p->b, &p->de, &p->e, &p->da, &p->db, &p->du, &p->u };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
    double *numbers[] = { p->right_e, p->right_da, p->size_da, p->right_db, p->size_db, p->right_du, p->size_du };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) free(numbers[i]);
}

static const float *second_u(const problem *p)
{
    return p->u.x + p->width;
}

/* Starts from the current gradients. */
static void problem_solve(problem *p)
{
    p->sum_u = 0;
    for (size_t l = 0; l < p->width; l++) {
        p->sum_u += fabs(p->scale * second_u(p)[l]);
        p->right_du[l] = p->du.x[p->width + l];
        p->size_du[l] = fabs(p->right_du[l]);
        for (size_t i = 0; i < p->m; i++)
            p->size_da[i * p->width + l] = fabs(p->right_da[i * p->width + l] = p->da.x[i * p->da.stride + l]);
        for (size_t j = 0; j < p->n; j++)
            p->size_db[j * p->width + l] = fabs(p->right_db[j * p->width + l] = p->db.x[j * p->db.stride + l]);
    }
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            const double de = p->scale * p->de.x[i * p->de.stride + j];
            double e = 0;
            for (size_t l = 0; l < p->width; l++) {
                const double u = second_u(p)[l];
                const double z = (double)p->a.x[i * p->a.stride + l] + p->b.x[j * p->b.stride + l], y = tanh(z);
                e += p->scale * u * y;
                if (de == 0) continue;
                const double slope = isinf(z) ? 0 : 1 / (cosh(z) * cosh(z)), d = de * u * (isnan(z) ? z : slope);
                p->right_da[i * p->width + l] += d;
                p->right_db[j * p->width + l] += d;
                p->right_du[l] += de * y;
                p->size_da[i * p->width + l] += fabs(de * u);
                p->size_db[j * p->width + l] += fabs(de * u);
                p->size_du[l] += fabs(de);
            }
            p->right_e[i * p->n + j] = e;
        }
}

static void near(const char *table, const char *what, const problem *p, size_t at, double got, double want,
                 double tolerance)
{
    if (isnan(want) ? isnan(got) : fabs(got - want) <= tolerance) return;
    fail_msg("%s, %s[%zu] of %zu queries, %zu keys, %zu wide: %.9g, not %.9g (more than %.2g)", table, what, at, p->m,
             p->n, p->width, got, want, tolerance);
}

static void check_forward(const char *table, const problem *p)
{
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++)
            near(table, "e", p, i * p->n + j, p->e.x[i * p->e.stride + j], p->right_e[i * p->n + j], 1e-6 * p->sum_u);
    guarded_check(&p->e);
}

static void check_backward(const char *table, const problem *p)
{
    for (size_t l = 0; l < p->width; l++) {
        near(table, "du", p, l, p->du.x[p->width + l], p->right_du[l], 1e-6 * p->size_du[l]);
        for (size_t i = 0; i < p->m; i++)
            near(table, "da", p, i * p->width + l, p->da.x[i * p->da.stride + l], p->right_da[i * p->width + l],
                 1e-6 * p->size_da[i * p->width + l]);
        for (size_t j = 0; j < p->n; j++)
            near(table, "db", p, j * p->width + l, p->db.x[j * p->db.stride + l], p->right_db[j * p->width + l],
                 1e-6 * p->size_db[j * p->width + l]);
    }
    guarded_check(&p->da);
    guarded_check(&p->db);
}

/* ---- kernels ---- */

/* Prepared rows, in memory of exactly the required size. */
static guarded prepared_new(const attend_kernel_table *t, const guarded *x, size_t stride)
{
    const size_t panel = (size_t)t->panel, padded = (x->width + panel - 1) / panel * panel;
    guarded f = guarded_new(x->rows, padded, stride);
    for (size_t i = 0; i < x->rows; i++) assert_true(t->additive_row(x->width, x->x + i * x->stride, f.x + i * stride));
    guarded_check(&f);
    return f;
}

static void check_kernels(const attend_kernel_table *t, problem *p)
{
    const size_t panel = (size_t)t->panel, padded = (p->width + panel - 1) / panel * panel, stride = padded + 3;
    guarded a = prepared_new(t, &p->a, stride), b = prepared_new(t, &p->b, stride), u = guarded_new(1, padded, padded);
    for (size_t l = 0; l < padded; l++) u.x[l] = l < p->width ? second_u(p)[l] : 0;
    const additive_block block = { p->m, p->n, p->width, a.x, b.x, stride, u.x };
    const additive_gradients g = { p->de.x, p->de.stride, p->da.x,           p->da.stride,
                                   p->db.x, p->db.stride, p->du.x + p->width };
    problem_solve(p);
    t->additive(&block, p->e.x, p->e.stride);
    t->additive_backward(&block, &g);
    check_forward(t->name, p);
    check_backward(t->name, p);

    /* One of the three at a time, the others NULL. */
    additive_gradients one = g;
    problem_solve(p);
    one.key = NULL, one.u = NULL;
    t->additive_backward(&block, &one);
    one = g, one.query = NULL, one.u = NULL;
    t->additive_backward(&block, &one);
    one = g, one.query = NULL, one.key = NULL;
    t->additive_backward(&block, &one);
    check_backward(t->name, p);
    guarded_free(&a);
    guarded_free(&b);
    guarded_free(&u);
}

static void kernels_against_double(void **state)
{
    (void)state;
    static const size_t widths[] = { 1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 512, 513 };
    static const size_t shapes[][2] = {
        { 1, 1 }, { 1, 7 }, { 5, 1 }, { 3, 5 }, { 4, 8 }, { 5, 9 }, { 34, 3 }, { 2, 18 }
    };
    static const float ranges[] = { 0.01f, 3, 20 };
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                problem p = problem_new(shapes[s][0], shapes[s][1], widths[w], ranges[(w + s) % 3]);
                check_kernels(*t, &p);
                problem_free(&p);
            }
}

/* All rows within 20 can be prepared, and none that would give wrong results. */
static void rows_that_can_be_prepared(void **state)
{
    (void)state;
    static const float fine[] = { 0, 20, -20 }, not_fine[] = { 25, -100, 1e4f, INFINITY, -INFINITY, NAN };
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t n = 1; n < 70; n++)
            for (size_t at = 0; at < n; at++) {
                float x[70] = { 0 }, ready[128];
                for (size_t k = 0; k < 3; k++) {
                    x[at] = fine[k];
                    assert_true((*t)->additive_row(n, x, ready));
                }
                for (size_t k = 0; k < 6 && *t != tables_to_test()[0]; k++) { /* plain accepts all rows */
                    x[at] = not_fine[k];
                    assert_false((*t)->additive_row(n, x, ready));
                }
            }
}

/* Where tanh is close to 1 or -1 its slope is tiny but accurate. */
static void slopes_of_saturated_units(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test() + 1; *t; t++)
        for (float z = -39.5f; z < 40; z += 0.5f) {
            float a[1] = { z / 2 }, ready_a[64], ready_b[64], u[64] = { 1 }, de = 1, da = 0, db = 0, du = 0;
            assert_true((*t)->additive_row(1, a, ready_a) && (*t)->additive_row(1, a, ready_b));
            (*t)->additive_backward(&(additive_block){ 1, 1, 1, ready_a, ready_b, 64, u },
                                    &(additive_gradients){ &de, 1, &da, 1, &db, 1, &du });
            const double slope = 1 / (cosh((double)z) * cosh((double)z));
            assert_true(fabs(da - slope) <= 3e-6 * slope);
            assert_true(fabs(db - slope) <= 3e-6 * slope);
        }
}

/* ---- tiles of the score ---- */

static float *scratch, *cache;
static const float *values[ATTEND_SCORE_PARAMETERS];
static float *gradients[ATTEND_SCORE_PARAMETERS];

/* The whole problem as a tile, without a cache; head 1, whose u is the second. */
static attend_tile tile_of(const problem *p)
{
    values[3] = p->u.x;
    attend_tile t = { .queries = (int)p->m,
                      .keys = (int)p->n,
                      .query_width = (int)p->width,
                      .key_width = (int)p->width,
                      .head = 1,
                      .query = p->a.x,
                      .query_stride = p->a.stride,
                      .key = p->b.x,
                      .key_stride = p->b.stride,
                      .scale = p->scale,
                      .parameters = values,
                      .all_keys = (int)p->n,
                      .score = p->e.x,
                      .score_stride = p->e.stride };
    free(scratch);
    const size_t n = attend_score_additive.scratch_size(&t);
    t.scratch = scratch = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64 + 64);
    assert_non_null(scratch);
    return t;
}

/* A cache with two other keys before those of the tile. */
static void add_cache(const problem *p, attend_tile *t)
{
    const int width = (int)p->width;
    free(cache);
    cache =
        aligned_alloc(64, (attend_score_additive.cache_size(2 + (int)p->n, width) * sizeof(float) + 63) / 64 * 64 + 64);
    assert_non_null(cache);
    float other[2 * MAX_WIDTH] = { NAN };
    attend_score_additive.cache_keys(2, width, other, MAX_WIDTH, cache);
    attend_score_additive.cache_keys((int)p->n, width, p->b.x, p->b.stride,
                                     cache + attend_score_additive.cache_size(2, width));
    t->cache = cache;
    t->first_key = 2;
}

static void check_tile(const char *table, problem *p, bool cached)
{
    attend_tile t = tile_of(p);
    if (cached) add_cache(p, &t);
    problem_solve(p);
    attend_score_additive.tile(&t);
    check_forward(table, p);
    gradients[3] = p->du.x;
    const float first = p->width ? p->du.x[0] : 0;
    const attend_tile_gradients g = { .score = p->de.x, .query = p->da.x, .key = p->db.x, .parameters = gradients };
    attend_score_additive.tile_backward(&t, &g);
    check_backward(table, p);
    if (p->width) assert_true(p->du.x[0] == first); /* that of the other head */

    const attend_tile_gradients nothing = { .score = p->de.x,
                                            .parameters = (float *[ATTEND_SCORE_PARAMETERS]){ NULL } };
    attend_score_additive.tile_backward(&t, &nothing);
}

static const float large[] = { 20.5f, -25, 100, -100, 1e4f, -1e4f, 3e38f, INFINITY, -INFINITY, NAN };

/* Rows that cannot be prepared among others: one element, or all. */
static void add_large_rows(problem *p)
{
    for (size_t i = 1; i < p->m; i += 3)
        for (size_t l = 0; l < (i % 2 ? 1 : p->width); l++) p->a.x[i * p->a.stride + l] = large[i % 10];
    for (size_t j = 0; j < p->n; j += 4)
        for (size_t l = 0; l < (j % 8 ? 1 : p->width); l++)
            p->b.x[j * p->b.stride + p->width - 1 - l] = large[(j / 4 + 5) % 10];
}

static void tiles_against_double(void **state)
{
    (void)state;
    static const size_t widths[] = { 1, 5, 16, 37, 128 };
    static const size_t shapes[][2] = { { 1, 1 }, { 1, 50 }, { 6, 9 }, { 12, 45 }, { 40, 70 } };
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t w = 0; w < 5; w++)
            for (size_t s = 0; s < 5; s++)
                for (int kind = 0; kind < 4; kind++) {
                    attend_kernel_select(*t);
                    problem p = problem_new(shapes[s][0], shapes[s][1], widths[w], 3);
                    p.scale = kind % 2 ? 0.7f : 1;
                    if (kind >= 2) add_large_rows(&p);
                    check_tile((*t)->name, &p, false);
                    check_tile((*t)->name, &p, true);
                    problem_free(&p);
                }
    attend_kernel_select(before);
}

/* A pair with weight 0 is skipped: NaN in it does not spread. */
static void hidden_pairs(void **state)
{
    (void)state;
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        problem p = problem_new(5, 11, 20, 2);
        for (size_t l = 0; l < 20; l++) p.b.x[3 * p.b.stride + l] = p.a.x[2 * p.a.stride + l] = NAN;
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < 11; j++)
                if (i == 2 || j == 3) p.de.x[i * p.de.stride + j] = 0;
        check_tile((*t)->name, &p, true);
        problem_free(&p);
    }
    attend_kernel_select(before);
}

static void same_bits(const float *x, const float *y, size_t n)
{
    assert_memory_equal(x, y, n * sizeof *x);
}

/* A score is bit-identical in any tile, with and without a cache; the gradient of a query does not depend on other
 * queries. */
static void shape_does_not_matter(void **state)
{
    (void)state;
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *table = tables_to_test(); *table; table++)
        for (int kind = 0; kind < 4; kind++) {
            attend_kernel_select(*table);
            problem p = problem_new(35, 41, kind % 2 ? 70 : 128, 4);
            if (kind >= 2) add_large_rows(&p);
            attend_tile whole = tile_of(&p);
            add_cache(&p, &whole);
            attend_score_additive.tile(&whole);
            for (int i = 0; i < whole.queries; i++)
                for (int j = 0; j < whole.keys; j++)
                    for (int keys = 1; keys <= 6 && j + keys <= whole.keys; keys += 5) {
                        float e[6];
                        attend_tile t = whole;
                        t.queries = 1, t.keys = keys, t.first_query += i, t.first_key += j;
                        t.query += (size_t)i * t.query_stride, t.key += (size_t)j * t.key_stride;
                        t.score = e, t.score_stride = 6;
                        if ((i + j) % 2) t.cache = NULL;
                        attend_score_additive.tile(&t);
                        same_bits(e, p.e.x + (size_t)i * p.e.stride + (size_t)j, (size_t)keys);
                    }
            guarded alone = guarded_new(1, p.width, p.width);
            for (size_t i = 0; i < p.m; i++)
                for (size_t l = 0; l < p.width; l++) p.da.x[i * p.da.stride + l] = 0;
            attend_tile_gradients g = { .score = p.de.x, .query = p.da.x, .key = p.db.x, .parameters = gradients };
            gradients[3] = NULL;
            attend_score_additive.tile_backward(&whole, &g);
            for (int i = 0; i < whole.queries; i++) {
                attend_tile t = whole;
                t.queries = 1, t.query += (size_t)i * t.query_stride, t.score += (size_t)i * t.score_stride;
                g.score = p.de.x + (size_t)i * p.de.stride, g.query = alone.x, g.key = NULL;
                memset(alone.x, 0, p.width * sizeof(float));
                attend_score_additive.tile_backward(&t, &g);
                same_bits(alone.x, p.da.x + (size_t)i * p.da.stride, p.width);
            }
            guarded_free(&alone);
            problem_free(&p);
        }
    attend_kernel_select(before);
}

static void empty_problems(void **state)
{
    (void)state;
    static const size_t shapes[][3] = { { 0, 3, 8 }, { 3, 0, 8 }, { 0, 0, 8 }, { 2, 2, 0 }, { 0, 0, 0 } };
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t s = 0; s < 5; s++) {
            attend_kernel_select(*t);
            problem p = problem_new(shapes[s][0], shapes[s][1], shapes[s][2], 3);
            check_tile((*t)->name, &p, false);
            check_tile((*t)->name, &p, true);
            problem_free(&p);
        }
    attend_kernel_select(before);
}

static int clean(void **state)
{
    (void)state;
    free(scratch);
    free(cache);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_against_double),
        cmocka_unit_test(rows_that_can_be_prepared),
        cmocka_unit_test(slopes_of_saturated_units),
        cmocka_unit_test(tiles_against_double),
        cmocka_unit_test(hidden_pairs),
        cmocka_unit_test(shape_does_not_matter),
        cmocka_unit_test(empty_problems),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
