/* The statistical word aligner: posteriors against their definition, training, files. */
#include "unit/unit.h"

#include "align/alignment_model.h"
#include "core/memory.h"
#include "format/tensor_file.h"
#include "support/folder.h"
#include <math.h>

/* ---- posteriors against a sum over all alignments ---- */

enum { FROM = 4, TO = 3, STATES = 2 * FROM };
static const double null_probability = 0.1; /* of hmm.c */

static double uniform(void)
{
    static unsigned seed = 11;
    return 0.05 + (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24);
}

/* The probability of position i after position k (-1: the beginning), given that the word is not NULL. */
static double jump_probability(const double *jumps, int k, int i)
{
    double sum = 0, share = 0;
    for (int class = 0; class < HMM_JUMPS; class ++) {
        int positions = 0, has_i = 0;
        for (int a = 0; a < FROM; a++) {
            const int distance = a - k, limit = HMM_WINDOW + 1;
            const int c = (distance < -limit ? -limit : distance > limit ? limit : distance) + limit;
            positions += c == class, has_i |= c == class && a == i;
        }
        if (positions > 0) sum += jumps[class];
        if (has_i) share = jumps[class] / positions;
    }
    return share / sum;
}

static void posteriors_are_sums_over_all_alignments(void **state)
{
    (void)state;
    double jumps[HMM_JUMPS], p[TO][FROM + 1], expected[TO][FROM + 1] = { { 0 } }, got[TO][FROM + 1], all = 0;
    double counts[HMM_JUMPS] = { 0 }, expected_counts[HMM_JUMPS] = { 0 };
    for (int i = 0; i < HMM_JUMPS; i++) jumps[i] = uniform();
    for (int j = 0; j < TO; j++)
        for (int i = 0; i <= FROM; i++) p[j][i] = uniform();
    for (int n = 0; n < STATES * STATES * STATES; n++) {
        const int states[TO] = { n % STATES, n / STATES % STATES, n / STATES / STATES };
        double product = 1;
        int at = -1;
        for (int j = 0; j < TO; j++) {
            const int position = states[j] % FROM, is_null = states[j] >= FROM;
            const double jump = jump_probability(jumps, at, position);
            if (is_null) /* the position does not change; at the beginning it is drawn as if for a word */
                product *= null_probability * p[j][FROM] * (j == 0 ? jump : position == at);
            else
                product *= (1 - null_probability) * jump * p[j][position];
            at = position;
        }
        all += product;
        at = -1;
        for (int j = 0; j < TO; j++) {
            const int position = states[j] % FROM, is_null = states[j] >= FROM;
            expected[j][is_null ? FROM : position] += product;
            if (!is_null) expected_counts[position - at + HMM_WINDOW + 1] += product;
            at = position;
        }
    }
    hmm_space space = { 0 };
    assert_ok(attend_hmm_reserve(&space, FROM));
    attend_hmm_posteriors(&space, jumps, FROM, TO, &p[0][0], &got[0][0], counts);
    for (int j = 0; j < TO; j++)
        for (int i = 0; i <= FROM; i++) assert_true(fabs(got[j][i] - expected[j][i] / all) < 1e-12);
    for (int k = 0; k < HMM_JUMPS; k++) assert_true(fabs(counts[k] - expected_counts[k] / all) < 1e-12);
    attend_model1_posteriors(FROM, TO, &p[0][0], &got[0][0]);
    for (int j = 0; j < TO; j++) {
        double sum = 0;
        for (int i = 0; i <= FROM; i++) sum += p[j][i];
        for (int i = 0; i <= FROM; i++) assert_true(fabs(got[j][i] - p[j][i] / sum) < 1e-15);
    }
    attend_hmm_free(&space);
}

/* Sentences longer than the window: rows sum to 1, and no number is wrong. */
static void long_sentences(void **state)
{
    (void)state;
    enum { LONG = 40 };
    static double p[LONG][LONG + 1], got[LONG][LONG + 1];
    double jumps[HMM_JUMPS], counts[HMM_JUMPS] = { 0 }, words = 0;
    for (int i = 0; i < HMM_JUMPS; i++) jumps[i] = uniform();
    for (int j = 0; j < LONG; j++)
        for (int i = 0; i <= LONG; i++) p[j][i] = 1e-9 + (i == (j * 7) % LONG ? uniform() : 0);
    hmm_space space = { 0 };
    assert_ok(attend_hmm_reserve(&space, LONG));
    attend_hmm_posteriors(&space, jumps, LONG, LONG, &p[0][0], &got[0][0], counts);
    for (int j = 0; j < LONG; j++) {
        double sum = 0;
        for (int i = 0; i <= LONG; i++) sum += got[j][i], words += i < LONG ? got[j][i] : 0;
        assert_true(fabs(sum - 1) < 1e-12 && got[j][(j * 7) % LONG] > 0.99);
    }
    for (int k = 0; k < HMM_JUMPS; k++) words -= counts[k];
    assert_true(fabs(words) < 1e-9); /* one jump for each word that is not NULL */
    attend_hmm_free(&space);
}

/* ---- a language of which the alignment is known ---- */

enum { PAIRS = 300, WORDS = 40, ROOM = 128, MAX_LENGTH = 9 };

/* The target has the words of the source in capitals, two neighbours exchanged, and sometimes a word "NE" of its own. */
static char texts[2][PAIRS][ROOM];
static const char *sides[2][PAIRS];
static int source_of[PAIRS][2 * MAX_LENGTH], targets[PAIRS]; /* -1: none */

static int setup(void **state)
{
    unsigned seed = 3;
    for (int n = 0; n < PAIRS; n++) {
        const int length = 2 + n % (MAX_LENGTH - 1), swap = n % length;
        int words[MAX_LENGTH], order[MAX_LENGTH], at[2] = { 0, 0 };
        for (int i = 0; i < length; i++) {
            words[i] = (int)((seed = seed * 1664525u + 1013904223u) >> 16) % WORDS;
            for (int k = 0; k < i; k++) /* no word twice, so that the alignment is certain */
                if (words[k] == words[i]) words[i] = (words[i] + 1) % WORDS, k = -1;
            order[i] = i;
        }
        if (swap + 1 < length) order[swap] = swap + 1, order[swap + 1] = swap;
        targets[n] = 0;
        for (int i = 0; i < length; i++) {
            at[0] += snprintf(texts[0][n] + at[0], (size_t)(ROOM - at[0]), "%sw%d", i ? " " : "", words[i]);
            if (n % 3 == 0 && i == length / 2) {
                at[1] += snprintf(texts[1][n] + at[1], (size_t)(ROOM - at[1]), "%sNE", i ? " " : "");
                source_of[n][targets[n]++] = -1;
            }
            at[1] += snprintf(texts[1][n] + at[1], (size_t)(ROOM - at[1]), "%sW%d", at[1] ? " " : "", words[order[i]]);
            source_of[n][targets[n]++] = order[i];
        }
        for (int side = 0; side < 2; side++) sides[side][n] = texts[side][n];
    }
    return folder_make(state);
}

static attend_aligner *trained(int threads)
{
    attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = NULL;
    o.threads = threads;
    assert_ok(attend_aligner_new(&a, &o));
    assert_ok(attend_aligner_add(a, 100, sides[0], sides[1]));
    assert_ok(attend_aligner_add(a, PAIRS - 100, sides[0] + 100, sides[1] + 100));
    assert_int_equal(attend_aligner_pairs(a), PAIRS);
    assert_int_equal(attend_aligner_align_added(a, 0, 1), ATTEND_BAD_USAGE);
    assert_ok(attend_aligner_train(a));
    assert_int_equal(attend_aligner_train(a), ATTEND_BAD_USAGE);
    assert_int_equal(attend_aligner_add(a, 1, sides[0], sides[1]), ATTEND_BAD_USAGE);
    return a;
}

static void links_are_right_in_a_known_language(void **state)
{
    (void)state;
    attend_aligner *a = trained(2);
    int right[3] = { 0, 0, 0 }, wrong[3] = { 0, 0, 0 }, wanted = 0;
    assert_ok(attend_aligner_align_added(a, 0, PAIRS));
    for (int n = 0; n < PAIRS; n++) {
        const attend_aligned_pair *r = attend_aligner_result(a, n);
        assert_null(r->fault);
        for (int j = 0; j < targets[n]; j++) wanted += source_of[n][j] >= 0;
        for (int kind = 0; kind < 3; kind++)
            for (int k = 0; k < r->counts[kind]; k++) {
                const attend_word_link *l = &r->links[kind][k];
                if (source_of[n][l->target] == l->source)
                    right[kind]++;
                else
                    wrong[kind]++;
            }
    }
    assert_null(attend_aligner_result(a, PAIRS));
    for (int kind = 0; kind < 3; kind++) assert_true(right[kind] > 0.98 * wanted && wrong[kind] < 0.01 * wanted);
    assert_int_equal(wrong[ATTEND_ALIGNED_AGREED], 0);
    attend_aligner_free(a);
}

/* Every word has its translation, and the dictionary reads back. */
static void the_dictionary_is_right(void **state)
{
    (void)state;
    attend_aligner *a = NULL;
    const attend_aligner_options o = attend_aligner_defaults();
    attend_string text = { 0 };
    assert_ok(attend_aligner_new(&a, &o));
    assert_int_equal(attend_aligner_dictionary(a, 0.1, &text), ATTEND_BAD_USAGE);
    attend_aligner_free(a);
    a = trained(1);
    assert_ok(attend_aligner_dictionary(a, 0.1, &text));
    int lines = 0;
    char *rest = text.text;
    for (char *line; (line = strtok_r(rest, "\n", &rest)); lines++) {
        int source, target;
        assert_int_equal(sscanf(line, "w%d\tW%d", &source, &target), 2);
        assert_int_equal(source, target);
    }
    assert_int_equal(lines, WORDS);
    text.size = 0;
    assert_ok(attend_aligner_dictionary(a, 1.5, &text)); /* no translation is that probable */
    assert_int_equal(text.size, 0);
    attend_string_free(&text);
    attend_aligner_free(a);
}

static void same_links(attend_aligner *a, attend_aligner *b)
{
    for (int n = 0; n < PAIRS; n++) {
        const attend_aligned_pair *x = attend_aligner_result(a, n), *y = attend_aligner_result(b, n);
        for (int kind = 0; kind < 3; kind++) {
            assert_int_equal(x->counts[kind], y->counts[kind]);
            for (int k = 0; k < x->counts[kind]; k++) {
                assert_int_equal(x->links[kind][k].source, y->links[kind][k].source);
                assert_int_equal(x->links[kind][k].target, y->links[kind][k].target);
            }
        }
    }
}

static void *content_of(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

static void threads_and_files_change_nothing(void **state)
{
    (void)state;
    attend_aligner *one = trained(1), *read = NULL;
    const attend_aligner_options o = attend_aligner_defaults();
    const char *path = in_folder("one"), *other = in_folder("other");
    assert_ok(attend_aligner_save(one, path));
    size_t size, other_size;
    void *bytes = content_of(path, &size);
    static const int threads[] = { 2, 3, 7, 16 };
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        attend_aligner *a = trained(threads[i]);
        assert_ok(attend_aligner_save(a, other));
        void *same = content_of(other, &other_size);
        assert_int_equal(size, other_size);
        assert_memory_equal(bytes, same, size);
        free(same);
        attend_aligner_free(a);
    }
    free(bytes);
    assert_ok(attend_aligner_load(&read, path, &o));
    assert_ok(attend_aligner_align_added(one, 0, PAIRS));
    assert_ok(attend_aligner_align(read, PAIRS, sides[0], sides[1]));
    same_links(one, read);
    assert_int_equal(attend_aligner_add(read, 1, sides[0], sides[1]), ATTEND_BAD_USAGE);
    attend_aligner_free(one);
    attend_aligner_free(read);
}

static void damaged_files(void **state)
{
    (void)state;
    const attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = trained(1);
    const char *path = in_folder("damaged");
    size_t size;
    assert_ok(attend_aligner_save(a, path));
    attend_aligner_free(a);
    unsigned char *bytes = content_of(path, &size);
    for (size_t at = 0; at < size; at += 1 + size / 997) { /* the checksum finds every change */
        bytes[at] ^= 0x41;
        FILE *f = fopen(path, "wb");
        fwrite(bytes, 1, size, f);
        fclose(f);
        bytes[at] ^= 0x41;
        assert_int_not_equal(attend_aligner_load(&a, path, &o), ATTEND_OK);
        assert_null(a);
    }
    free(bytes);
    assert_int_equal(attend_aligner_load(&a, "/nowhere/aligner", &o), ATTEND_IO);
}

/* Words with a correct checksum that no text has. */
static void lying_words(void **state)
{
    (void)state;
    static const unsigned char bad[] = { '\0', '\t', '\n', '\r', 0xff, 0xc3 };
    const attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = trained(1);
    attend_tensor_file *file = NULL;
    char path[512], lie[512];
    snprintf(path, sizeof path, "%s", in_folder("aligner"));
    snprintf(lie, sizeof lie, "%s", in_folder("lie"));
    assert_ok(attend_aligner_save(a, path));
    attend_aligner_free(a);
    assert_ok(attend_tensor_file_open(&file, path, 0));
    const size_t tensors = attend_tensor_file_count(file), pairs = attend_tensor_file_metadata_count(file);
    assert_true(tensors < 16 && pairs < 16);
    for (size_t i = 0; i <= sizeof bad; i++) {
        attend_tensor all[16];
        attend_metadata metadata[16];
        unsigned char *bytes = NULL;
        for (size_t k = 0; k < pairs; k++) metadata[k] = *attend_tensor_file_metadata_at(file, k);
        for (size_t k = 0; k < tensors; k++) {
            all[k] = *attend_tensor_file_at(file, k);
            if (strcmp(all[k].name, "target.bytes") != 0) continue;
            assert_non_null(bytes = malloc(all[k].bytes));
            memcpy(bytes, all[k].data, all[k].bytes);
            if (i < sizeof bad) bytes[0] = bad[i];
            all[k].data = bytes;
        }
        assert_ok(attend_tensor_file_write(lie, all, tensors, metadata, pairs));
        free(bytes);
        assert_int_equal(attend_aligner_load(&a, lie, &o), i < sizeof bad ? ATTEND_BAD_MODEL : ATTEND_OK);
        assert_true(i == sizeof bad || strstr(attend_message(), "target.bytes"));
        attend_aligner_free(a);
    }
    attend_tensor_file_close(file);
}

static void pairs_that_cannot_be_aligned(void **state)
{
    (void)state;
    attend_aligner *a = trained(2);
    static char many[2 * ATTEND_ALIGNER_MAX_WORDS + 8];
    for (int i = 0; i <= ATTEND_ALIGNER_MAX_WORDS; i++) memcpy(many + 2 * i, "a ", 3);
    const char *sources[] = { "", "w1 w2", "w1", many, "w1 unknown", "unknown" };
    const char *others[] = { "W1", "\xff W1", " \t", "W1", "W1 UNKNOWN", "UNKNOWN" };
    assert_ok(attend_aligner_align(a, 6, sources, others));
    for (int i = 0; i < 4; i++) {
        assert_non_null(attend_aligner_result(a, i)->fault);
        assert_int_equal(attend_aligner_result(a, i)->counts[ATTEND_ALIGNED_AGREED], 0);
    }
    assert_null(attend_aligner_result(a, 4)->fault);
    assert_int_equal(attend_aligner_result(a, 4)->links[ATTEND_ALIGNED_AGREED][0].source, 0);
    assert_null(attend_aligner_result(a, 5)->fault);
    attend_aligner_free(a);
    attend_aligner_options o = attend_aligner_defaults();
    assert_ok(attend_aligner_new(&a, &o));
    assert_ok(attend_aligner_add(a, 4, sources, others));
    assert_int_equal(attend_aligner_train(a), ATTEND_BAD_DATA);
    attend_aligner_free(a);
    bool are_added = false;
    for (o.memory = 1000; !are_added; o.memory += o.memory / 4) { /* the pairs take about half of it */
        assert_ok(attend_aligner_new(&a, &o));
        const int status = attend_aligner_add(a, PAIRS, sides[0], sides[1]);
        are_added = status == ATTEND_OK;
        assert_int_equal(are_added ? attend_aligner_train(a) : status, ATTEND_NO_MEMORY);
        assert_non_null(strstr(attend_message(), "memory limit"));
        attend_aligner_free(a);
    }
    assert_in_range(o.memory, 10000, 1000000);
}

static void single_words_are_aligned_by_letters(void **state)
{
    (void)state;
    const char *words[] = { "abc", "bca", "cab", "acb", "ba", "ca" },
               *sounds[] = { "A B C", "B C A", "C A B", "A C B", "B A", "C A" };
    const attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = NULL;
    assert_ok(attend_aligner_new(&a, &o));
    assert_ok(attend_aligner_add(a, 6, words, sounds));
    assert_ok(attend_aligner_train(a));
    assert_ok(attend_aligner_align_added(a, 0, 6));
    for (int i = 0; i < 6; i++) {
        const attend_aligned_pair *r = attend_aligner_result(a, i);
        assert_int_equal(r->counts[ATTEND_ALIGNED_AGREED], (int)strlen(words[i]));
        for (int k = 0; k < r->counts[ATTEND_ALIGNED_AGREED]; k++)
            assert_int_equal(r->links[ATTEND_ALIGNED_AGREED][k].source, r->links[ATTEND_ALIGNED_AGREED][k].target);
    }
    attend_aligner_free(a);
}

static void without_memory(void **state)
{
    (void)state;
    const char *path = in_folder("memory");
    int status = ATTEND_NO_MEMORY;
    long n = 0;
    for (; status == ATTEND_NO_MEMORY; n++) {
        attend_aligner_options o = attend_aligner_defaults();
        attend_aligner *a = NULL, *b = NULL;
        o.threads = 2;
        attend_memory_refuse(n + 1);
        status = attend_aligner_new(&a, &o);
        if (status == ATTEND_OK) status = attend_aligner_add(a, 3, sides[0], sides[1]);
        if (status == ATTEND_OK) status = attend_aligner_train(a);
        if (status == ATTEND_OK) status = attend_aligner_align_added(a, 0, 3);
        if (status == ATTEND_OK) status = attend_aligner_save(a, path);
        if (status == ATTEND_OK) status = attend_aligner_load(&b, path, &o);
        if (status == ATTEND_OK) status = attend_aligner_align(b, 3, sides[0], sides[1]);
        attend_memory_refuse(0);
        attend_aligner_free(a);
        attend_aligner_free(b);
    }
    assert_ok(status);
    assert_true(n > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posteriors_are_sums_over_all_alignments),
        cmocka_unit_test(long_sentences),
        cmocka_unit_test(links_are_right_in_a_known_language),
        cmocka_unit_test(the_dictionary_is_right),
        cmocka_unit_test(threads_and_files_change_nothing),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(lying_words),
        cmocka_unit_test(pairs_that_cannot_be_aligned),
        cmocka_unit_test(single_words_are_aligned_by_letters),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
