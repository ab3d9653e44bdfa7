/* test_elementary.c: exp, tanh and sigmoid of every table against libm's double functions, in ulps.
 *
 *     test_elementary                  samples all floats, and checks every float in critical ranges
 *     test_elementary --every-float    checks all 2^32 floats on two threads (minutes) and prints the largest errors */
#include "support/kernel_tables.h"
#include "unit/unit.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CHUNK = 4096, FUNCTIONS = 3, STRIDE = 509 };
#define ALL_FLOATS (UINT64_C(1) << 32)

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

typedef void row_function(size_t n, const float *x, float *y);

static const struct {
    const char *name;
    double (*exact)(double); /* to 2^-29 of a float's ulp */
    double max;              /* no result may be larger */
} functions[FUNCTIONS] = { { "exp", exp, INFINITY }, { "tanh", tanh, 1 }, { "sigmoid", sigmoid, 1 } };

static row_function *function_of(const attend_kernel_table *t, int f)
{
    return f == 0 ? t->exp : f == 1 ? t->tanh : t->sigmoid;
}

/* kernel.h guarantees 4; the vector kernels are better and tested for it. The errors of libm depend on the system. */
static double limit_of(const attend_kernel_table *t)
{
    return strcmp(t->name, "plain") == 0 ? 4 : 2.1;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The error of `got` in units in the last place of the float nearest to `want`. */
static double ulps(float got, double want)
{
    const float nearest = (float)want;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (signbit(got) != signbit(nearest)) return INFINITY; /* also for zeros */
    if (isinf(got) || isinf(nearest)) return fabs((double)bits_of(got) - (double)bits_of(nearest));
    const uint64_t exponent = bits_of(nearest) >> 23 & 255;
    const uint64_t inverse_bits = (1023 + 150 - (exponent ? exponent : 1)) << 52; /* 1 / ulp, a power of two */
    double inverse;
    memcpy(&inverse, &inverse_bits, sizeof inverse);
    return fabs(got - want) * inverse;
}

typedef struct worst {
    double ulps;
    float at;
} worst;

typedef worst worst_of_all[FUNCTIONS][MAX_TABLES];

static void record_error(worst *w, int function, float x, float y, double want)
{
    double error = ulps(y, want);
    if (y > functions[function].max) error = INFINITY;
    if (error > w->ulps || (isnan(w->at) && error >= w->ulps)) *w = (worst){ error, x };
}

/* All tables on n <= CHUNK arguments. */
static void check_chunk(size_t n, const float *x, worst_of_all found)
{
    double want[CHUNK];
    float y[CHUNK];
    for (int f = 0; f < FUNCTIONS; f++) {
        for (size_t i = 0; i < n; i++) want[i] = functions[f].exact(x[i]);
        for (size_t t = 0; tables_to_test()[t]; t++) {
            function_of(tables_to_test()[t], f)(n, x, y);
            for (size_t i = 0; i < n; i++) record_error(&found[f][t], f, x[i], y[i], want[i]);
        }
    }
}

static int over_limit(worst_of_all found, bool print)
{
    int over = 0;
    for (int f = 0; f < FUNCTIONS; f++)
        for (size_t t = 0; tables_to_test()[t]; t++) {
            const attend_kernel_table *table = tables_to_test()[t];
            const worst w = found[f][t];
            const bool bad = !(w.ulps <= limit_of(table));
            if (bad) over++;
            if (bad || print)
                printf("%-8s %-9s %.4f ulp at %a = %.9g%s\n", functions[f].name, table->name, w.ulps, (double)w.at,
                       (double)w.at, bad ? "  TOO MUCH" : "");
        }
    fflush(stdout);
    return over;
}

/* ---- samples ---- */

/* `reach` floats below and above `centre`, and the same with the opposite sign. */
static void check_around(double centre, uint32_t reach, worst_of_all found)
{
    float x[CHUNK];
    size_t n = 0;
    const uint32_t middle = bits_of((float)fabs(centre)), first = middle < reach ? 0 : middle - reach;
    for (uint32_t bits = first; bits <= middle + reach; bits++) {
        x[n++] = float_of(bits);
        x[n++] = float_of(bits | UINT32_C(1) << 31);
        if (n + 2 > CHUNK || bits == middle + reach) {
            check_chunk(n, x, found);
            n = 0;
        }
    }
}

static void samples_of_all_floats(void **state)
{
    (void)state;
    worst_of_all found = { 0 };
    float x[CHUNK];
    for (uint64_t bits = 0; bits < ALL_FLOATS;) {
        size_t n = 0;
        for (; n < CHUNK && bits < ALL_FLOATS; n++, bits += STRIDE) x[n] = float_of((uint32_t)bits);
        check_chunk(n, x, found);
    }
    print_sampled("floats", (ALL_FLOATS + STRIDE - 1) / STRIDE, ALL_FLOATS);
    assert_int_equal(over_limit(found, false), 0);
}

static void special_values(void **state)
{
    (void)state;
    worst_of_all found = { 0 };
    const double centres[] = {
        0,        0x1p-149,  0x1p-126, INFINITY,                 /* and the largest, next to infinity */
        88.72284, 87.336545, 103.2789, 103.97208, 104.5,   89,   /* exp: overflow, subnormal, last subnormal, bounds */
        12,       9.010914,  0.34657,  0.1732868, 16.6355, 17.33 /* tanh is 1, first reductions, sigmoid is 1 */
    };
    for (size_t i = 0; i < sizeof centres / sizeof *centres; i++) check_around(centres[i], 1 << 13, found);
    for (uint32_t e = 0; e < 255; e++) check_around(float_of(e << 23), 8, found);
    assert_int_equal(over_limit(found, false), 0);
}

/* Around the steps of n = round(x log2 e): half odd multiples of ln2 (of ln2 / 2 for tanh). */
static void reduction_boundaries(void **state)
{
    (void)state;
    worst_of_all found = { 0 };
    for (int k = 0; k < 153; k++) {
        check_around((k + 0.5) * log(2), 100, found);
        if (k < 40) check_around((k + 0.5) * log(2) / 2, 1000, found);
    }
    assert_int_equal(over_limit(found, false), 0);
}

/* Values that are specified exactly. */
static void exact_values(void **state)
{
    (void)state;
    const float tiny = 0x1p-149f, largest = 0x1.fffffep+127f;
    const struct {
        int f;
        float x, y;
    } known[] = { { 0, 0, 1 },
                  { 0, -0.0f, 1 },
                  { 0, -INFINITY, 0 },
                  { 0, INFINITY, INFINITY },
                  { 0, largest, INFINITY },
                  { 0, -largest, 0 },
                  { 0, tiny, 1 },
                  { 1, 0, 0 },
                  { 1, -0.0f, -0.0f },
                  { 1, tiny, tiny },
                  { 1, -tiny, -tiny },
                  { 1, INFINITY, 1 },
                  { 1, -INFINITY, -1 },
                  { 1, largest, 1 },
                  { 1, -largest, -1 },
                  { 2, 0, 0.5f },
                  { 2, -0.0f, 0.5f },
                  { 2, INFINITY, 1 },
                  { 2, -INFINITY, 0 },
                  { 2, -largest, 0 } };
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            float y;
            function_of(*t, known[i].f)(1, &known[i].x, &y);
            if (bits_of(y) != bits_of(known[i].y))
                fail_msg("%s %s(%a) is %a, not %a", (*t)->name, functions[known[i].f].name, (double)known[i].x,
                         (double)y, (double)known[i].y);
        }
        for (int f = 0; f < FUNCTIONS; f++) {
            const uint32_t nans[] = { 0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff };
            for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
                float y, x = float_of(nans[i]);
                function_of(*t, f)(1, &x, &y);
                if (!isnan(y)) fail_msg("%s %s(NaN) is %a", (*t)->name, functions[f].name, (double)y);
            }
        }
    }
}

/* ---- every float ---- */

typedef struct worker {
    _Atomic uint64_t *next; /* the next chunk */
    worst_of_all found;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    float x[CHUNK];
    uint64_t first;
    while ((first = CHUNK * atomic_fetch_add(w->next, 1)) < ALL_FLOATS) {
        for (size_t i = 0; i < CHUNK; i++) x[i] = float_of((uint32_t)(first + i));
        check_chunk(CHUNK, x, w->found);
    }
    return NULL;
}

static int every_float(void)
{
    static _Atomic uint64_t next;
    static worker workers[2];
    pthread_t thread;
    tables_to_test(); /* created here, read by both threads */
    for (int i = 0; i < 2; i++) workers[i].next = &next;
    if (pthread_create(&thread, NULL, work, &workers[1])) return 1;
    work(&workers[0]);
    pthread_join(thread, NULL);
    for (int f = 0; f < FUNCTIONS; f++)
        for (size_t t = 0; t < MAX_TABLES; t++)
            if (workers[1].found[f][t].ulps > workers[0].found[f][t].ulps)
                workers[0].found[f][t] = workers[1].found[f][t];
    return over_limit(workers[0].found, true) != 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--every-float") == 0) return every_float();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_all_floats),
        cmocka_unit_test(special_values),
        cmocka_unit_test(reduction_boundaries),
        cmocka_unit_test(exact_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
