/* NumPy archives: the ZIP file has the checksums and sizes of its files, and every file is an array with the right shape and numbers. test/cli/show.sh reads
 * archives with Python. */
#include "core/memory.h"
#include "support/sample_maps.h"
#include "unit/unit.h"

#include <zlib.h>

static uint32_t number_at(const char *at, int bytes)
{
    uint32_t number = 0;
    for (int i = bytes; i-- > 0;) number = number << 8 | (unsigned char)at[i];
    return number;
}

typedef struct array {
    const char *header, *data;
    size_t size; /* of the data */
} array;

/* Walks through the directory; checks the entry of each file and returns the array with this name. */
static array find(const attend_string *zip, const char *name)
{
    const char *end = zip->text + zip->size - 22, *at = zip->text + number_at(end + 16, 4);
    array found = { 0 };
    assert_int_equal(number_at(end, 4), 0x06054b50);
    assert_ptr_equal(at + number_at(end + 12, 4), end);
    for (uint32_t i = 0; i < number_at(end + 10, 2); i++) {
        assert_int_equal(number_at(at, 4), 0x02014b50);
        const uint32_t size = number_at(at + 24, 4), name_size = number_at(at + 28, 2);
        const char *local = zip->text + number_at(at + 42, 4), *file = local + 30 + name_size;
        assert_int_equal(number_at(local, 4), 0x04034b50);
        assert_memory_equal(local + 4, at + 6, 26); /* the same version, checksum, sizes and length of the name */
        assert_memory_equal(local + 30, at + 46, name_size);
        assert_int_equal(number_at(at + 16, 4), crc32(0, (const Bytef *)file, size));
        assert_memory_equal(file, "\x93NUMPY\1\0", 8);
        const uint32_t header = number_at(file + 8, 2);
        assert_int_equal((10 + header) % 64, 0);
        assert_int_equal(file[9 + header], '\n');
        if (strlen(name) == name_size && memcmp(name, at + 46, name_size) == 0)
            found = (array){ file + 10, file + 10 + header, size - 10 - header };
        at += 46 + name_size;
    }
    assert_ptr_equal(at, end);
    if (!found.header) fail_msg("there is no %s", name);
    return found;
}

static void expect_header(const attend_string *zip, const char *name, const char *header)
{
    const array a = find(zip, name);
    assert_memory_equal(a.header, header, strlen(header));
}

static float float_at(const array *a, size_t i)
{
    float x;
    const uint32_t bits = number_at(a->data + 4 * i, 4);
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void arrays(void **state)
{
    (void)state;
    sample_map *m = sample_map_new("the small hous|e", "das H\xc3\xa4us|chen", NULL, 2, 3, 0.5);
    const attend_map *map = &m->map;
    const attend_view_model model = { "a model", -1, -1 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    attend_string zip = { 0 };
    o.models = &model, o.model_count = 1;
    assert_ok(attend_view_npz(&(attend_map_list){ &map, 1 }, &o, &zip));
    expect_header(&zip, "weights.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4, 5), }");
    expect_header(&zip, "word_weights.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2, 3), }");
    expect_header(&zip, "word_rest.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }");
    expect_header(&zip, "target_tokens.npy", "{'descr': '<U4', 'fortran_order': False, 'shape': (4, ), }");
    expect_header(&zip, "model.npy", "{'descr': '<U7', 'fortran_order': False, 'shape': (), }");
    const array all = find(&zip, "weights.npy"), words = find(&zip, "word_weights.npy"),
                rest = find(&zip, "word_rest.npy"), tokens = find(&zip, "target_tokens.npy"),
                of = find(&zip, "source_word_of_token.npy");
    assert_int_equal(all.size, 4 * 2 * 3 * 4 * 5);
    for (size_t i = 0; i < all.size / 4; i++) assert_true(float_at(&all, i) == m->weights[i]);
    for (size_t row = 0; row < 2 * 3 * 2; row++) { /* rows and their rest sum to 1 */
        double sum = (double)float_at(&rest, row);
        for (size_t j = 0; j < 3; j++) sum += (double)float_at(&words, 3 * row + j);
        if (fabs(sum - 1) > 1e-6) fail_msg("row %zu sums to %g", row, sum);
    }
    assert_int_equal(number_at(tokens.data + 4 * 4 + 4, 4), 0xe4); /* H, a with diaeresis */
    assert_int_equal((int32_t)number_at(of.data + 16, 4), -1);     /* the end */
    attend_string_free(&zip);
    sample_map_free(m);
}

/* Several maps have numbers; a self-attention map of an encoder has no probabilities. */
static void several(void **state)
{
    (void)state;
    sample_map *m[] = { sample_map_new("a b", "c", NULL, 1, 1, 0.5),
                        sample_self_attention_new("a b", ATTEND_ATTENTION_ENCODER, 1, 2) };
    const attend_map *maps[] = { &m[0]->map, &m[1]->map };
    const attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    attend_string zip = { 0 }, again = { 0 };
    assert_ok(attend_view_npz(&(attend_map_list){ maps, 2 }, &o, &zip));
    find(&zip, "1/probability.npy");
    expect_header(&zip, "2/weights.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 3), }");
    assert_ok(attend_view_npz(&(attend_map_list){ maps, 2 }, &o, &again));
    assert_int_equal(zip.size, again.size);
    assert_memory_equal(zip.text, again.text, zip.size);
    m[1]->map.weights = NULL;
    assert_int_equal(attend_view_npz(&(attend_map_list){ maps, 2 }, &o, &zip), ATTEND_BAD_USAGE);
    assert_int_equal(attend_view_npz(&(attend_map_list){ maps, 0 }, &o, &zip), ATTEND_BAD_USAGE);
    attend_string_free(&zip);
    attend_string_free(&again);
    for (int i = 0; i < 2; i++) sample_map_free(m[i]);
}

/* Each allocation fails in turn: an error, and the next call succeeds. */
static void memory_refused(void **state)
{
    (void)state;
    sample_map *m = sample_map_new("the small hous|e", "das klein|e Haus", NULL, 1, 1, 0.5);
    const attend_map *map = &m->map;
    const attend_map_list list = { &map, 1 };
    const attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    attend_string zip = { 0 };
    attend_memory_refuse(-1);
    assert_ok(attend_view_npz(&list, &o, &zip));
    const long requests = attend_memory_requests();
    attend_string_free(&zip);
    assert_true(requests > 2);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_view_npz(&list, &o, &zip), ATTEND_NO_MEMORY);
        attend_memory_refuse(0);
        assert_ok(attend_view_npz(&list, &o, &zip));
        find(&zip, "weights.npy");
        attend_string_free(&zip);
    }
    sample_map_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(arrays), cmocka_unit_test(several),
                                        cmocka_unit_test(memory_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
