/* corpus.c: pairs are read back as they were added, and failures are reported. */
#include "support/letters.h"
#include "support/text_files.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const attend_corpus_options bytes_only = { .vocabulary = 256, .max_length = 5 };

static int read_corpus(attend_corpus **out, const attend_corpus_options *options, const char *path)
{
    const attend_pairs_spec spec = { .source = path };
    attend_pairs_file *f = NULL;
    *out = NULL;
    int status = attend_pairs_file_open(&f, &spec, 1);
    if (status == ATTEND_OK) status = attend_corpus_new(out, options);
    if (status == ATTEND_OK) status = attend_corpus_read(*out, f, encode_letters, NULL, NULL);
    if (status == ATTEND_OK) status = attend_corpus_finish(*out);
    attend_pairs_file_close(f);
    return status;
}

static void test_reading(void **state)
{
    (void)state;
    const char *path = text_file("p.tsv", "ab\tc\n\tx\nx\t  \nlonger\tx\nx\tlonger\nlong.\t12345\n");
    for (int kept = 0; kept < 2; kept++) {
        attend_corpus *c = NULL;
        attend_corpus_options options = bytes_only;
        options.keep_text = kept;
        options.vocabulary = kept ? 256 : 1 << 17; /* both widths */
        assert_ok(read_corpus(&c, &options, path));
        const attend_corpus_counts n = attend_corpus_count(c);
        assert_true(n.pairs == 2 && n.empty == 2 && n.too_long == 2);
        assert_true(n.source_ids == 7 && n.target_ids == 6 && n.max_source_length == 5 && n.max_target_length == 5);
        int source[5], target[5], lengths[2];
        assert_ok(attend_corpus_lengths(c, 0, &lengths[0], &lengths[1]));
        assert_true(lengths[0] == 2 && lengths[1] == 1);
        assert_ok(attend_corpus_ids(c, 0, source, target));
        assert_true(source[0] == 'a' && source[1] == 'b' && target[0] == 'c');
        assert_ok(attend_corpus_ids(c, 1, source, target));
        assert_true(source[4] == '.' && target[0] == '1' && target[4] == '5');
        if (kept) {
            attend_text_pair text;
            attend_string buffer = { 0 };
            assert_ok(attend_corpus_text(c, 1, &buffer, &text));
            assert_true(text.source_size == 5 && memcmp(text.source, "long.", 5) == 0);
            assert_true(text.target_size == 5 && memcmp(text.target, "12345", 5) == 0);
            attend_string_free(&buffer);
        }
        assert_int_equal(attend_corpus_add(c, source, 1, target, 1, NULL), ATTEND_BAD_USAGE);
        attend_corpus_free(c);
    }
}

/* Monolingual lines have no source, and pairs must have one. */
static void test_lines(void **state)
{
    (void)state;
    const attend_pairs_spec spec = { .target = text_file("l.txt", "ab\n\n \t\nlonger\nc\td\n") };
    for (int kept = 0; kept < 2; kept++) {
        const attend_corpus_options options = {
            .vocabulary = kept ? 256 : 1 << 17, .max_length = 5, .lines = true, .keep_text = kept
        };
        attend_pairs_file *f = NULL;
        attend_corpus *c = NULL;
        assert_ok(attend_pairs_file_open(&f, &spec, 1));
        assert_ok(attend_corpus_new(&c, &options));
        assert_ok(attend_corpus_read(c, f, encode_letters, NULL, NULL));
        assert_int_equal(attend_corpus_add(c, (const int[]){ 1 }, 1, (const int[]){ 1 }, 1, &(attend_text_pair){ 0 }),
                         ATTEND_BAD_USAGE);
        assert_ok(attend_corpus_finish(c));
        const attend_corpus_counts n = attend_corpus_count(c);
        assert_true(n.pairs == 2 && n.empty == 2 && n.too_long == 1);
        assert_true(n.source_ids == 0 && n.target_ids == 5 && n.max_source_length == 0 && n.max_target_length == 3);
        int target[5], lengths[2];
        assert_ok(attend_corpus_lengths(c, 1, &lengths[0], &lengths[1]));
        assert_true(lengths[0] == 0 && lengths[1] == 3);
        assert_ok(attend_corpus_ids(c, 1, NULL, target));
        assert_true(target[0] == 'c' && target[1] == '\t' && target[2] == 'd');
        attend_text_pair text;
        attend_string buffer = { 0 };
        if (kept) assert_ok(attend_corpus_text(c, 0, &buffer, &text));
        if (kept) assert_true(text.source_size == 0 && text.target_size == 2 && memcmp(text.target, "ab", 2) == 0);
        attend_string_free(&buffer);
        attend_corpus_free(c);
        attend_pairs_file_close(f);
    }
}

static void test_errors(void **state)
{
    (void)state;
    attend_corpus *c = NULL;
    assert_int_equal(read_corpus(&c, &bytes_only, text_file("e.tsv", "a\tb\nc\td!\n")), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "e.tsv:2: an exclamation mark"));
    attend_corpus_free(c);
    const attend_corpus_options narrow = { .vocabulary = 98 };
    assert_int_equal(read_corpus(&c, &narrow, text_file("e.tsv", "a\ta\nb\ta\n")), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "token 98"));
    attend_corpus_free(c);
    const attend_corpus_options nowhere = { .vocabulary = 256, .directory = "/no/such/folder" };
    assert_int_equal(attend_corpus_new(&c, &nowhere), ATTEND_IO);
    assert_null(c);
    assert_non_null(strstr(attend_message(), "/no/such/folder"));
    assert_non_null(strstr(attend_message(), "TMPDIR"));
    assert_int_equal(attend_corpus_new(&c, &(attend_corpus_options){ 0 }), ATTEND_BAD_USAGE);
}

/* The temporary files have no names, even while they are in use. */
static void test_no_names(void **state)
{
    (void)state;
    const char *path = text_file("p.tsv", "a\tb\n");
    const attend_corpus_options here = { .vocabulary = 256, .directory = folder, .keep_text = true };
    const int before = folder_count(NULL, 0);
    attend_corpus *c = NULL;
    assert_ok(read_corpus(&c, &here, path));
    assert_int_equal(folder_count(NULL, 0), before);
    attend_corpus_free(c);
}

/* A full disk, simulated by a file size limit; in a child process, because the limit cannot be undone. */
static int run_into_limit(void)
{
    const struct rlimit small = { 300000, 300000 };
    const attend_corpus_options options = { .vocabulary = 1 << 20 };
    static const int ids[1000] = { 0 };
    attend_corpus *c = NULL;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0 || attend_corpus_new(&c, &options) != ATTEND_OK) return 1;
    int status = ATTEND_OK;
    for (int i = 0; i < 1000 && status == ATTEND_OK; i++) status = attend_corpus_add(c, ids, 1000, ids, 1000, NULL);
    attend_corpus_free(c);
    if (status != ATTEND_IO) return 2;
    if (!strstr(attend_message(), "File too large after ") || !strstr(attend_message(), "set TMPDIR to")) return 3;
    return 0;
}

static void test_full_disk(void **state)
{
    (void)state;
    int status = -1;
    const pid_t child = fork();
    if (child == 0) _exit(run_into_limit());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A value of /proc/self/status in bytes; 0 if it does not exist. */
static size_t resident(const char *name)
{
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) kib = strtoul(line + strlen(name), NULL, 10);
    if (f) fclose(f);
    return kib << 10;
}

/* Resident memory does not grow with the data. */
static void test_large(void **state)
{
    (void)state;
    enum { PAIRS = 60000, LENGTH = 256 };
    const attend_corpus_options options = { .vocabulary = 1 << 20, .keep_text = true };
    static int ids[LENGTH], other[LENGTH];
    static char text[LENGTH];
    attend_corpus *c = NULL;
    attend_string buffer = { 0 };
    assert_ok(attend_corpus_new(&c, &options));
    const size_t before = resident("VmHWM:");
    memset(text, 'x', sizeof text);
    for (int i = 0; i < PAIRS; i++) {
        const attend_text_pair pair = { .source = text, .target = text, .source_size = LENGTH, .target_size = LENGTH };
        ids[0] = i;
        assert_ok(attend_corpus_add(c, ids, LENGTH, ids, LENGTH, &pair)); /* 150 MB in all */
    }
    assert_ok(attend_corpus_finish(c));
    for (uint64_t i = 0; i < PAIRS; i++) {
        attend_text_pair pair;
        const uint64_t at = i * 7919 % PAIRS;
        assert_ok(attend_corpus_ids(c, at, other, ids));
        assert_int_equal(other[0], at);
        assert_ok(attend_corpus_text(c, at, &buffer, &pair));
        assert_int_equal(pair.target[LENGTH - 1], 'x');
    }
    assert_true(resident("VmHWM:") - before < 8 << 20);
    attend_string_free(&buffer);
    attend_corpus_free(c);
}

/* Pairs with too many steps of attention are left out, depending on the model. */
static void test_attention(void **state)
{
    (void)state;
    enum { TOKENS = 10001 };
    static const struct {
        const char *architecture, *attention;
        int source, target, left_out;
    } cases[] = { { "rnn", "additive", TOKENS, TOKENS, 1 },    { "rnn", "additive", TOKENS - 1, TOKENS - 1, 0 },
                  { "rnn", "additive", TOKENS, 1, 0 },         { "rnn", "none", TOKENS, TOKENS, 0 },
                  { "transformer", "additive", TOKENS, 1, 1 }, { "transformer", "additive", 1, TOKENS, 1 } };
    static const int ids[TOKENS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attend_config config = ATTEND_CONFIG_INIT;
        assert_ok(attend_config_set(&config, "architecture", cases[i].architecture));
        assert_ok(attend_config_set(&config, "attention", cases[i].attention));
        config.source_vocab = config.target_vocab = 256;
        assert_ok(attend_config_check(&config));
        const attend_corpus_options options = { .vocabulary = 256, .config = &config };
        const attend_text_pair text = { .source_file = "a", .target_file = "b", .line = 7 };
        attend_corpus *c = NULL;
        uint64_t count;
        assert_ok(attend_corpus_new(&c, &options));
        assert_null(attend_corpus_unattended(c, &count));
        for (int k = 0; k < 2; k++) assert_ok(attend_corpus_add(c, ids, cases[i].source, ids, cases[i].target, &text));
        const char *first = attend_corpus_unattended(c, &count);
        assert_int_equal(count, 2 * cases[i].left_out);
        assert_int_equal(attend_corpus_count(c).too_long, 2 * cases[i].left_out);
        if (cases[i].left_out) assert_string_equal(first, "a:7");
        attend_corpus_free(c);
    }
}

static void test_memory(void **state)
{
    (void)state;
    const char *path = text_file("m.tsv", "a\tb\nc\td\n");
    const attend_corpus_options options = { .vocabulary = 256, .keep_text = true };
    attend_corpus *c = NULL;
    attend_memory_refuse(-1);
    assert_ok(read_corpus(&c, &options, path));
    attend_corpus_free(c);
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(read_corpus(&c, &options, path), ATTEND_NO_MEMORY);
        assert_non_null(strstr(attend_message(), "no memory"));
        attend_corpus_free(c);
    }
    attend_memory_refuse(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reading),   cmocka_unit_test(test_lines),
                                        cmocka_unit_test(test_errors),    cmocka_unit_test(test_no_names),
                                        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_large),
                                        cmocka_unit_test(test_attention), cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
