/* Initial weights: every parameter has the range of its kind, and the same seed gives the same weights. */
#include "unit/unit.h"

#include "support/tiny_pairs.h"
#include <math.h>

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static attend_model *model_of(const char *spec, uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    assert_ok(tiny_config(&config, spec));
    config.source_vocab = config.target_vocab = 300;
    assert_ok(attend_model_new(&m, &config, seed));
    return m;
}

/* All values lie within the bound. Of 80 values or more, one exceeds 0.9 times the bound (all stay below with probability 1 / 4,600). */
static void is_drawn_within(const char *spec, const attend_param *p, double bound)
{
    double largest = 0;
    for (size_t i = 0; i < attend_param_size(p); i++) largest = fmax(largest, fabs((double)attend_param_value(p)[i]));
    const double min = attend_param_size(p) >= 80 ? 0.9 * bound : attend_param_size(p) > 1 ? 0.1 * bound : 0;
    if (!(largest <= bound * (1 + 1e-6) && largest >= min))
        fail_msg("%s: the largest of %s is %g, where %g is the bound", spec, attend_param_name(p), largest, bound);
}

static void is_all(const char *spec, const attend_param *p, int first, int last, double x)
{
    for (int i = first; i < last; i++)
        if ((double)attend_param_value(p)[i] != x)
            fail_msg("%s: number %d of %s is %g and not %g", spec, i, attend_param_name(p),
                     (double)attend_param_value(p)[i], x);
}

static void check(const char *spec)
{
    attend_model *m = model_of(spec, 5);
    const attend_config *c = attend_model_config(m);
    const bool transformer = c->architecture == ATTEND_ARCHITECTURE_TRANSFORMER;
    const int h = c->hidden;
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++) {
        const attend_param *p = attend_params_at(attend_model_params(m), i);
        const char *name = attend_param_name(p);
        const int size = (int)attend_param_size(p);
        if (ends_with(name, "embedding"))
            is_drawn_within(spec, p,
                            transformer ? sqrt(3.0 / h) : 0.1); /* a Transformer scales by sqrt(h): variance 1 */
        else if (ends_with(name, ".position"))
            is_drawn_within(spec, p, 1);
        else if (ends_with(name, ".gain"))
            is_all(spec, p, 0, size, 1);
        else if (attend_param_rank(p) == 2 && ends_with(name, ".u"))
            is_drawn_within(spec, p, 1 / sqrt(h));
        else if (attend_param_rank(p) == 2)
            is_drawn_within(spec, p, sqrt(6.0 / (attend_param_dim(p, 0) + attend_param_dim(p, 1))));
        else if (strncmp(name, "attention.", 10) == 0 || ends_with(name, ".v"))
            is_drawn_within(spec, p, 1 / sqrt(size));
        else if (ends_with(name, ".bw") && c->cell == ATTEND_CELL_LSTM) { /* input, forget, candidate and output gate */
            is_all(spec, p, 0, h, 0), is_all(spec, p, h, 2 * h, 1), is_all(spec, p, 2 * h, 4 * h, 0);
        } else
            is_all(spec, p, 0, size, 0);
    }
    attend_model *same = model_of(spec, 5), *other = model_of(spec, 6);
    const attend_param *a = attend_params_at(attend_model_params(m), 0),
                       *b = attend_params_at(attend_model_params(same), 0),
                       *d = attend_params_at(attend_model_params(other), 0);
    assert_memory_equal(attend_param_value(a), attend_param_value(b), attend_param_size(a) * sizeof(attend_real));
    assert_memory_not_equal(attend_param_value(a), attend_param_value(d), attend_param_size(a) * sizeof(attend_real));
    attend_model_free(m);
    attend_model_free(same);
    attend_model_free(other);
}

static void every_kind_of_parameter(void **state)
{
    (void)state;
    check("hidden=20 layers=2");
    check("hidden=20 cell=lstm window=local-p attention=location-sensitive");
    check("hidden=20 cell=lstm context=after readout=plain attention=dot input-feeding=yes");
    check("hidden=20 task=language-model cell=lstm");
    check("architecture=transformer hidden=20 embedding=0 heads=2 layers=2 positions=learned max-positions=30");
    check("architecture=transformer hidden=20 embedding=0 norm=post feed-forward=gated tie-embeddings=yes");
    check("architecture=lstmn hidden=20 layers=2");
    check("architecture=lstmn hidden=20 fusion=deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_kind_of_parameter) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
