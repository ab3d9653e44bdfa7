/* The links that guide attention, without memory: every request is refused in turn, while links are made by the statistical
 * aligner and from a file, and while they are read. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/folder.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/guided_links.h"

static const char pairs[] =
    "the red house.\tla casa roja.\nthe house\tla casa\nred wine\tvino rojo\nthe wine\tel vino\n"
    "a red car\tun coche rojo\nthe car\tel coche\n",
                  links[] = "0-0 1-2 2-1\n0-0 1-1\n0-1 1-0\n0-0 1-1\n0-0 1-2 2-1\n0-0 1-1\n";

typedef struct corpus {
    attend_corpus *c;
    attend_tokenizer *tokenizer; /* of both sides */
} corpus;

static int next_line(void *user, const char **line, size_t *size)
{
    const char **at = user;
    if (!**at) return 0;
    *line = *at, *size = strcspn(*at, "\n");
    *at += *size + 1;
    return 1;
}

static int encode(void *user, attend_side side, const char *text, size_t size, attend_ids *out)
{
    const corpus *x = user;
    const int status = attend_tokenizer_encode(x->tokenizer, text, size, out, 0, 0, 0);
    return status == ATTEND_OK && side == ATTEND_SOURCE ? attend_ids_add(out, ATTEND_END, 0, 0) : status;
}

static corpus corpus_of_pairs(void)
{
    corpus x = { 0 };
    attend_pairs_file *f = NULL;
    const char *at = pairs;
    attend_tokenizer_options o = ATTEND_TOKENIZER_OPTIONS_INIT;
    o.kind = ATTEND_TOKENS_BPE, o.vocab_size = 265;
    assert_ok(attend_tokenizer_learn(&x.tokenizer, &o, next_line, &at));
    put_file(in_folder("pairs.tsv"), pairs, sizeof pairs - 1);
    put_file(in_folder("links"), links, sizeof links - 1);
    const attend_pairs_spec spec = { .source = in_folder("pairs.tsv") };
    const attend_corpus_options options = { .vocabulary = attend_tokenizer_size(x.tokenizer), .keep_text = true };
    assert_ok(attend_corpus_new(&x.c, &options));
    assert_ok(attend_pairs_file_open(&f, &spec, 1));
    assert_ok(attend_corpus_read(x.c, f, encode, &x, NULL));
    assert_ok(attend_corpus_finish(x.c));
    attend_pairs_file_close(f);
    assert_int_equal(attend_corpus_count(x.c).pairs, 6);
    return x;
}

/* Makes the links and reads those of all pairs, which are a hash of what they are. */
static int make_and_read(const corpus *x, const char *file, int threads, uint64_t *fingerprint, size_t *read)
{
    const guided_links_options o = { .file = file, .tokenizers = { x->tokenizer, x->tokenizer }, .threads = threads };
    attend_guided_links *l = NULL;
    attend_link *list = NULL;
    size_t capacity = 0;
    *read = 0;
    int status = attend_guided_links_new(&l, x->c, &o);
    if (status == ATTEND_OK) *fingerprint = attend_guided_links_count(l).fingerprint;
    if ((status == ATTEND_OK) != (l != NULL)) status = ATTEND_FAILED;
    for (int i = 0; status == ATTEND_OK && i < 6; i++) {
        int count;
        status = attend_guided_links_read(l, (uint64_t)i, i, &list, &capacity, *read, &count);
        for (int k = 0; k < count; k++)
            if (list[*read + (size_t)k].pair != i) status = ATTEND_FAILED;
        *read += (size_t)count;
    }
    attend_memory_free(list);
    attend_guided_links_free(l);
    return status;
}

static void every_request_may_be_refused(void **state)
{
    (void)state;
    char file[512];
    corpus x = corpus_of_pairs();
    snprintf(file, sizeof file, "%s", in_folder("links"));
    for (int k = 0; k < 3; k++) { /* a file, and the aligner on one thread and on two */
        uint64_t right, fingerprint = 0;
        size_t count, read;
        assert_ok(make_and_read(&x, k ? NULL : file, k == 2 ? 2 : 1, &right, &count));
        assert_true(count > 6);
        long n = 1;
        for (bool done = false; !done; n++) {
            attend_memory_refuse(n);
            const int status = make_and_read(&x, k ? NULL : file, k == 2 ? 2 : 1, &fingerprint, &read);
            done = attend_memory_requests() < n;
            attend_memory_refuse(0);
            if (status != (done ? ATTEND_OK : ATTEND_NO_MEMORY))
                fail_msg("case %d: request %ld refused: status %d, '%s'", k, n, status, attend_message());
            if (!done) assert_non_null(strstr(attend_message(), "no memory"));
        }
        assert_true(n > 10);
        assert_true(fingerprint == right && read == count);
    }
    attend_corpus_free(x.c);
    attend_tokenizer_free(x.tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_request_may_be_refused) };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
