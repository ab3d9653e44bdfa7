/* The mean of models: every weight, in every order of the models; models that do not match are refused. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/folder.h"
#include <attend/model.h>
#include <attend/shortlist.h>
#include <time.h>

enum { COUNT = 4 };

static const char vocabulary[] = "<unk>\n<s>\n</s>\na\nb\n";

static attend_config config_of(void)
{
    attend_config c = ATTEND_CONFIG_INIT;
    c.hidden = 6, c.embedding = 4, c.heads = 2, c.attention_width = 6;
    c.source_vocab = c.target_vocab = 5;
    return c;
}

static attend_model *make(const attend_config *c, uint64_t seed, const char *source)
{
    attend_model *m = NULL;
    assert_ok(attend_model_new(&m, c, seed));
    assert_ok(attend_model_attach(m, "source.vocabulary", source, strlen(source)));
    assert_ok(attend_model_attach(m, "target.vocabulary", vocabulary, strlen(vocabulary)));
    return m;
}

static void save(attend_model *m, const char *name)
{
    assert_ok(attend_model_save(m, in_folder(name)));
    attend_model_free(m);
}

static char paths[COUNT][512];
static const char *names[COUNT];

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    for (int i = 0; i < COUNT; i++) {
        const attend_config c = config_of();
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        attend_model *m = make(&c, (uint64_t)i + 1, vocabulary);
        /* of very different size, so that the order of additions matters */
        for (int p = 0; p < attend_params_count(attend_model_params(m)); p++) {
            attend_param *x = attend_params_at(attend_model_params(m), p);
            for (size_t j = 0; j < attend_param_size(x); j++)
                attend_param_edit(x)[j] =
                    (attend_real)(attend_param_value(x)[j] + 1e-3) * (attend_real)(i == 1   ? 1e20
                                                                                   : i == 2 ? -1e20
                                                                                            : 1e-3);
            attend_param_changed(x);
        }
        assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = 0, .head = 1 }));
        assert_ok(attend_model_attach(m, "note", &i, sizeof i));
        save(m, name);
        snprintf(paths[i], sizeof paths[i], "%s", in_folder(name));
        names[i] = paths[i];
    }
    return 0;
}

static void every_weight_is_the_mean(void **state)
{
    (void)state;
    attend_model *mean = NULL, *m[COUNT];
    assert_ok(attend_models_average(&mean, names, COUNT));
    for (int i = 0; i < COUNT; i++) assert_ok(attend_model_load(&m[i], names[i], NULL));
    assert_int_equal(attend_params_count(attend_model_params(mean)), attend_params_count(attend_model_params(m[0])));
    for (int p = 0; p < attend_params_count(attend_model_params(mean)); p++) {
        const attend_real *found = attend_param_value(attend_params_at(attend_model_params(mean), p));
        for (size_t j = 0; j < attend_param_size(attend_params_at(attend_model_params(mean), p)); j++) {
            long double sum = 0, size = 0;
            for (int i = 0; i < COUNT; i++) {
                const long double x = attend_param_value(attend_params_at(attend_model_params(m[i]), p))[j];
                sum += x, size += x < 0 ? -x : x;
            }
            const long double off = (long double)found[j] - sum / COUNT;
            if (!((off < 0 ? -off : off) <= 1e-7L * (sum < 0 ? -sum : sum) + 1e-15L * size))
                fail_msg("number %zu of parameter %d is %g and not %Lg", j, p, (double)found[j], sum / COUNT);
        }
    }
    for (int i = 0; i < COUNT; i++) attend_model_free(m[i]);
    attend_model_free(mean);
}

static void the_order_of_models_does_not_matter(void **state)
{
    (void)state;
    static const int orders[][COUNT] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 1, 0, 3, 2 }, { 2, 0, 1, 3 } };
    char *first = NULL;
    size_t size = 0;
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        const char *order[COUNT];
        attend_model *mean = NULL;
        for (int i = 0; i < COUNT; i++) order[i] = names[orders[k][i]];
        assert_ok(attend_models_average(&mean, order, COUNT));
        save(mean, "mean");
        size_t length;
        char *bytes = get_file(in_folder("mean"), &length);
        if (first && (length != size || memcmp(first, bytes, size) != 0)) fail_msg("order %zu gives another model", k);
        if (!first)
            first = bytes, size = length;
        else
            free(bytes);
    }
    free(first);
}

static void the_mean_of_one_model_is_the_model(void **state)
{
    (void)state;
    attend_model *mean = NULL;
    assert_ok(attend_models_average(&mean, names, 1));
    save(mean, "mean");
    size_t a, b;
    char *x = get_file(in_folder("mean"), &a), *y = get_file(names[0], &b);
    assert_true(a == b && memcmp(x, y, a) == 0);
    free(x), free(y);
}

static void only_common_attachments_are_kept(void **state)
{
    (void)state;
    attend_model *mean = NULL;
    size_t size;
    assert_ok(attend_models_average(&mean, names, COUNT));
    assert_non_null(attend_model_attached(mean, "source.vocabulary", &size));
    assert_int_equal(size, strlen(vocabulary));
    assert_int_equal(attend_model_alignment(mean).head, 1);
    assert_null(attend_model_attached(mean, "note", NULL));
    attend_model_free(mean);
}

/* Models with tens of thousands of attachments, added in descending order of names. Every second one is common. */
static void many_attachments_are_compared_fast(void **state)
{
    (void)state;
    enum { MANY = 65000 };
    const attend_config c = config_of();
    char models[2][512], name[16];
    const char *const both[2] = { models[0], models[1] };
    for (int i = 0; i < 2; i++) {
        attend_model *m = make(&c, 1, vocabulary);
        for (int k = MANY; k-- > 0;) {
            snprintf(name, sizeof name, "%06d", k);
            assert_ok(attend_model_attach(m, name, k % 2 && i ? "b" : "a", 1));
        }
        snprintf(models[i], sizeof models[i], "%s", in_folder(i ? "many1" : "many0"));
        assert_ok(attend_model_save(m, models[i]));
        attend_model_free(m);
    }
    attend_model *mean = NULL;
    const clock_t begin = clock();
    assert_ok(attend_models_average(&mean, both, 2));
    assert_true(clock() - begin < 4 * CLOCKS_PER_SEC);
    for (int k = 0; k < MANY; k++) {
        snprintf(name, sizeof name, "%06d", k);
        assert_true((attend_model_attached(mean, name, NULL) != NULL) == (k % 2 == 0));
    }
    attend_model_free(mean);
}

static void refused(const char *name, const char *message)
{
    attend_model *mean = (attend_model *)&mean;
    const char *two[2] = { names[0], in_folder(name) };
    for (int order = 0; order < 2; order++) {
        assert_int_equal(attend_models_average(&mean, two, 2), ATTEND_BAD_USAGE);
        assert_null(mean);
        if (!strstr(attend_message(), message)) fail_msg("'%s' does not contain '%s'", attend_message(), message);
        if (!strstr(attend_message(), name)) fail_msg("'%s' does not name %s", attend_message(), name);
        const char *other = two[0];
        two[0] = two[1], two[1] = other;
    }
}

static void models_that_do_not_match_are_refused(void **state)
{
    (void)state;
    attend_config c = config_of();
    save(make(&c, 9, "<unk>\n<s>\n</s>\nb\na\n"), "reordered");
    refused("reordered", "vocabularies");
    attend_model *bare = NULL;
    assert_ok(attend_model_new(&bare, &c, 9));
    save(bare, "bare");
    refused("bare", "vocabularies");
    c.hidden = 8;
    save(make(&c, 9, vocabulary), "wide");
    refused("wide", "hidden '");
    c = config_of();
    attend_model *m = make(&c, 9, vocabulary);
    assert_ok(attend_model_quantize(m, ATTEND_INT8));
    save(m, "int8");
    refused("int8", "is quantised");
    attend_model *mean = NULL;
    assert_int_equal(attend_models_average(&mean, names, 0), ATTEND_BAD_USAGE);
    const char *missing[2] = { names[0], in_folder("missing") };
    assert_int_equal(attend_models_average(&mean, missing, 2), ATTEND_IO);
}

static void refused_memory_is_reported(void **state)
{
    (void)state;
    int status = ATTEND_NO_MEMORY;
    long n = 0;
    while (status == ATTEND_NO_MEMORY) {
        attend_model *mean = (attend_model *)&mean;
        attend_memory_refuse(++n);
        status = attend_models_average(&mean, names, COUNT);
        attend_memory_refuse(0);
        if (status != ATTEND_OK) assert_null(mean);
        if (status == ATTEND_OK) attend_model_free(mean);
    }
    assert_ok(status);
    assert_true(n > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_weight_is_the_mean),           cmocka_unit_test(the_order_of_models_does_not_matter),
        cmocka_unit_test(the_mean_of_one_model_is_the_model), cmocka_unit_test(only_common_attachments_are_kept),
        cmocka_unit_test(many_attachments_are_compared_fast), cmocka_unit_test(models_that_do_not_match_are_refused),
        cmocka_unit_test(refused_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
