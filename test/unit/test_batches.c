/* batches.c and permutation.c: an epoch has every pair once, in an order that is a function of (seed, epoch), and can
 * be resumed at any position. */
#include "support/letters.h"
#include "text/permutation.h"
#include "unit/unit.h"
#include <time.h>

/* The lengths of pair i depend on i, and every token is its index, so that a batch can be checked. */
static int source_length(uint64_t i)
{
    return 1 + (int)(i * 2654435761u % 37);
}

static int target_length(uint64_t i)
{
    return 1 + (int)(i * 40503u % 29);
}

static attend_corpus *numbered(uint64_t pairs, int vocabulary, int over_long)
{
    const attend_corpus_options options = { .vocabulary = vocabulary };
    attend_corpus *c = NULL;
    int *ids = malloc(sizeof *ids * (size_t)(over_long + 64));
    assert_non_null(ids);
    assert_ok(attend_corpus_new(&c, &options));
    for (uint64_t i = 0; i < pairs; i++) {
        const int source = over_long && i == pairs / 2 ? over_long : source_length(i);
        for (int j = 0; j < over_long + 64; j++) ids[j] = (int)(i % (uint64_t)vocabulary);
        assert_ok(attend_corpus_add(c, ids, source, ids, target_length(i), NULL));
    }
    free(ids);
    assert_ok(attend_corpus_finish(c));
    return c;
}

static attend_batches *batches_of(const attend_corpus *c, uint64_t seed, int tokens, int pool)
{
    const attend_batches_options options = { .seed = seed, .batch_tokens = tokens, .pool = pool };
    attend_batches *b = NULL;
    assert_ok(attend_batches_new(&b, c, &options));
    return b;
}

/* Checks a batch against the corpus. Returns a hash of it. */
static uint64_t check_batch(const attend_batch *batch, int limit, int over_long)
{
    uint64_t print = 14695981039346656037u;
    int tokens = 0;
    const int *source = batch->pairs.source, *target = batch->pairs.target;
    assert_true(batch->pairs.count > 0);
    for (int i = 0; i < batch->pairs.count; i++) {
        const int s = batch->pairs.source_lengths[i], t = batch->pairs.target_lengths[i];
        const uint64_t n = batch->numbers[i];
        assert_true(s == source_length(n) || s == over_long);
        assert_int_equal(t, target_length(n));
        for (int j = 0; j < s; j++) assert_int_equal(source[j], (int)n);
        for (int j = 0; j < t; j++) assert_int_equal(target[j], (int)n);
        source += s;
        target += t;
        tokens += s > t ? s : t + 1;
        print = (print ^ n) * 1099511628211u;
    }
    assert_int_equal(tokens, batch->tokens);
    assert_true(tokens <= limit || batch->pairs.count == 1);
    return print;
}

/* Runs an epoch and checks that it has every pair once. Returns a hash of the order and the number of batches. */
static uint64_t run_epoch(attend_batches *b, uint64_t epoch, uint64_t pairs, int limit, int over_long, int *batches)
{
    attend_batch_position at = { .epoch = epoch };
    unsigned char *seen = calloc(pairs, 1);
    assert_non_null(seen);
    uint64_t print = 0, count = 0;
    bool last = false;
    for (*batches = 0; !last; ++*batches) {
        attend_batch batch;
        assert_ok(attend_batches_next(b, &at, &batch));
        assert_int_equal(batch.position.epoch, epoch);
        print = print * 31 + check_batch(&batch, limit, over_long);
        for (int i = 0; i < batch.pairs.count; i++, count++) assert_int_equal(seen[batch.numbers[i]]++, 0);
        last = batch.last;
    }
    assert_true(at.epoch == epoch + 1 && at.pool == 0 && at.batch == 0);
    assert_int_equal(count, pairs);
    free(seen);
    return print;
}

static void test_every_pair_once(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 2, 3, 4, 5, 16, 17, 100, 1000, 4096, 4097 }, pools[] = { 0, 1, 7, 100, 100000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        attend_corpus *c = numbered((uint64_t)sizes[i], 5000, 0);
        for (size_t j = 0; j < sizeof pools / sizeof *pools; j++) {
            attend_batches *b = batches_of(c, 1, 200, pools[j]);
            int batches;
            const uint64_t first = run_epoch(b, 0, (uint64_t)sizes[i], 200, 0, &batches);
            const uint64_t second = run_epoch(b, 1, (uint64_t)sizes[i], 200, 0, &batches);
            assert_true(sizes[i] < 100 || first != second);
            assert_true(first == run_epoch(b, 0, (uint64_t)sizes[i], 200, 0, &batches));
            attend_batches_free(b);
        }
        attend_corpus_free(c);
    }
}

static void test_seeds(void **state)
{
    (void)state;
    attend_corpus *narrow = numbered(1000, 1000, 0), *wide = numbered(1000, 1 << 17, 0);
    attend_batches *one = batches_of(narrow, 1, 300, 0), *same = batches_of(wide, 1, 300, 0),
                   *other = batches_of(narrow, 2, 300, 0);
    int batches;
    const uint64_t print = run_epoch(one, 3, 1000, 300, 0, &batches);
    assert_true(print == run_epoch(same, 3, 1000, 300, 0, &batches));
    assert_true(print != run_epoch(other, 3, 1000, 300, 0, &batches));
    attend_batches_free(one);
    attend_batches_free(same);
    attend_batches_free(other);
    attend_corpus_free(narrow);
    attend_corpus_free(wide);
}

/* From the position of every batch of two epochs, new attend_batches give the same batch and the same next position. */
static void test_positions(void **state)
{
    (void)state;
    attend_corpus *c = numbered(500, 500, 0);
    attend_batches *b = batches_of(c, 7, 150, 90);
    attend_batch_position at = { 0 };
    assert_true(attend_batches_pools(b) > 3);
    while (at.epoch < 2) {
        attend_batch batch, again;
        attend_batch_position saved = at;
        assert_ok(attend_batches_next(b, &at, &batch));
        const uint64_t print = check_batch(&batch, 150, 0);
        attend_batches *fresh = batches_of(c, 7, 150, 90);
        assert_ok(attend_batches_next(fresh, &saved, &again));
        assert_true(check_batch(&again, 150, 0) == print && memcmp(&saved, &at, sizeof at) == 0);
        attend_batches_free(fresh);
    }
    attend_batch batch;
    attend_batch_position wrong = { 0, 100, 0 }, far = { 0, 0, 100000 };
    assert_int_equal(attend_batches_next(b, &wrong, &batch), ATTEND_BAD_USAGE);
    assert_int_equal(attend_batches_next(b, &far, &batch), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "batch 100000"));
    attend_batches_free(b);
    attend_corpus_free(c);
}

static void test_over_long(void **state)
{
    (void)state;
    attend_corpus *c = numbered(300, 300, 5000);
    attend_batches *b = batches_of(c, 1, 100, 0);
    int batches;
    run_epoch(b, 0, 300, 100, 5000, &batches);
    attend_batches_free(b);
    b = batches_of(c, 1, 1, 0); /* every pair is too long */
    run_epoch(b, 0, 300, 1, 5000, &batches);
    assert_int_equal(batches, 300);
    attend_batches_free(b);
    attend_corpus_free(c);
}

/* With sorting, most batches are nearly full, and the sentences of a batch have similar lengths. */
static void test_fill(void **state)
{
    (void)state;
    attend_corpus *c = numbered(20000, 20000, 0);
    attend_batches *b = batches_of(c, 1, 1000, 0);
    attend_batch_position at = { 0 };
    uint64_t tokens = 0, padded = 0, batches = 0;
    while (at.epoch == 0) {
        attend_batch batch;
        assert_ok(attend_batches_next(b, &at, &batch));
        int longest = 0;
        for (int i = 0; i < batch.pairs.count; i++) {
            const int s = batch.pairs.source_lengths[i], t = batch.pairs.target_lengths[i] + 1;
            const int longer = s > t ? s : t;
            longest = longer > longest ? longer : longest;
        }
        tokens += (uint64_t)batch.tokens;
        padded += (uint64_t)(longest * batch.pairs.count);
        batches++;
    }
    print_message("%.1f %% of a batch is used; padding would be %.1f %%\n",
                  100.0 * (double)tokens / (double)(1000 * batches),
                  100.0 * (double)(padded - tokens) / (double)padded);
    assert_true(tokens > 950 * batches);
    assert_true((double)tokens > 0.95 * (double)padded);
    attend_batches_free(b);
    attend_corpus_free(c);
}

static void test_nothing(void **state)
{
    (void)state;
    attend_corpus *c = numbered(0, 10, 0);
    const attend_batches_options options = { .batch_tokens = 10 }, senseless = { .batch_tokens = 0 };
    attend_batches *b = NULL;
    assert_int_equal(attend_batches_new(&b, c, &options), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "no usable pairs"));
    assert_int_equal(attend_batches_new(&b, c, &senseless), ATTEND_BAD_USAGE);
    assert_null(b);
    attend_corpus_free(c);
}

/* Encodes again: each letter followed by the epoch. */
static int encode_epoch(void *user, attend_side side, uint64_t epoch, uint64_t pair, const char *text, size_t size,
                        attend_ids *out)
{
    int status = encode_letters(user, side, text, size, out);
    (void)pair;
    return status == ATTEND_OK ? encode_letters(user, side, epoch == 0 ? "0" : "1", 1, out) : status;
}

static void test_encoding_again(void **state)
{
    (void)state;
    const attend_corpus_options keeps = { .vocabulary = 256, .keep_text = true };
    const attend_text_pair text = { .source = "ab", .source_size = 2, .target = "c", .target_size = 1 };
    const int ids[2] = { 3, 3 };
    attend_corpus *c = NULL;
    attend_batches *b = NULL;
    const attend_batches_options options = { .batch_tokens = 100, .encode = encode_epoch };
    assert_ok(attend_corpus_new(&c, &keeps));
    for (int i = 0; i < 3; i++) assert_ok(attend_corpus_add(c, ids, 2, ids, 1, &text));
    assert_int_equal(attend_batches_new(&b, c, &options), ATTEND_BAD_USAGE); /* not finished */
    assert_ok(attend_corpus_finish(c));
    assert_ok(attend_batches_new(&b, c, &options));
    attend_batch_position at = { 0 };
    for (int epoch = 0; epoch < 2; epoch++) {
        attend_batch batch;
        assert_ok(attend_batches_next(b, &at, &batch));
        assert_int_equal(batch.pairs.count, 3);
        for (int i = 0; i < 3; i++) {
            assert_true(batch.pairs.source_lengths[i] == 3 && batch.pairs.target_lengths[i] == 2);
            assert_true(batch.pairs.source[3 * i] == 'a' && batch.pairs.source[3 * i + 2] == '0' + epoch);
            assert_true(batch.pairs.target[2 * i] == 'c' && batch.pairs.target[2 * i + 1] == '0' + epoch);
        }
    }
    attend_batches_free(b);
    attend_corpus_free(c);
}

/* Each number occurs at each position equally often: in 10000 epochs 1000 times, with a standard deviation of 30. */
static void test_shuffle_is_fair(void **state)
{
    (void)state;
    enum { N = 10, EPOCHS = 10000 };
    int cells[N][N] = { { 0 } };
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        const attend_rng r = { 1, epoch, 9 };
        const attend_permutation s = attend_permutation_of(N, &r);
        for (uint64_t i = 0; i < N; i++) cells[i][attend_permutation_at(&s, i)]++;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (abs(cells[i][j] - EPOCHS / N) > 150) fail_msg("%d comes to %d %d times", i, j, cells[i][j]);
}

static int two_batches(const attend_corpus *c)
{
    const attend_batches_options options = { .batch_tokens = 60, .pool = 10 };
    attend_batches *b = NULL;
    attend_batch_position at = { 0 };
    attend_batch batch;
    int status = attend_batches_new(&b, c, &options);
    for (int i = 0; i < 2 && status == ATTEND_OK; i++) status = attend_batches_next(b, &at, &batch);
    attend_batches_free(b);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    attend_corpus *c = numbered(30, 30, 0);
    attend_memory_refuse(-1);
    assert_ok(two_batches(c));
    const long requests = attend_memory_requests();
    assert_true(requests > 8);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(two_batches(c), ATTEND_NO_MEMORY);
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
    attend_corpus_free(c);
}

/* Making batches must be negligible beside training: the goal is 2 million tokens per second. Only reported, because
 * sanitizers are slower. */
static void test_speed(void **state)
{
    (void)state;
    attend_corpus *c = numbered(200000, 60000, 0);
    attend_batches *b = batches_of(c, 1, 4000, 0);
    const clock_t start = clock();
    attend_batch_position at = { 0 };
    while (at.epoch == 0) {
        attend_batch batch;
        assert_ok(attend_batches_next(b, &at, &batch));
    }
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    const attend_corpus_counts n = attend_corpus_count(c);
    print_message("%.1f million numbers a second\n", (double)(n.source_ids + n.target_ids) / seconds / 1e6);
    attend_batches_free(b);
    attend_corpus_free(c);
}

/* Monolingual lines have sources without tokens, also when texts are encoded again. */
static int never_a_source(void *user, attend_side side, uint64_t epoch, uint64_t pair, const char *text, size_t size,
                          attend_ids *out)
{
    assert_int_equal(side, ATTEND_TARGET);
    return encode_epoch(user, side, epoch, pair, text, size, out);
}

static void test_lines(void **state)
{
    (void)state;
    const attend_corpus_options kept = { .vocabulary = 256, .lines = true, .keep_text = true };
    attend_corpus *c = NULL;
    assert_ok(attend_corpus_new(&c, &kept));
    for (int i = 0; i < 50; i++) {
        int ids[8];
        const char *const text = "abcdefgh";
        const int count = 1 + i % 7;
        for (int j = 0; j < count; j++) ids[j] = text[j];
        const attend_text_pair pair = { .source = "", .target = text, .target_size = (size_t)count };
        assert_ok(attend_corpus_add(c, NULL, 0, ids, count, &pair));
    }
    assert_ok(attend_corpus_finish(c));
    for (int again = 0; again < 2; again++) {
        const attend_batches_options options = { .batch_tokens = 24, .encode = again ? never_a_source : NULL };
        attend_batches *b = NULL;
        attend_batch batch = { .last = false };
        attend_batch_position at = { 0 };
        int lines = 0;
        assert_ok(attend_batches_new(&b, c, &options));
        while (!batch.last) {
            assert_ok(attend_batches_next(b, &at, &batch));
            assert_true(batch.tokens <= 24);
            const int *word = batch.pairs.target;
            for (int i = 0; i < batch.pairs.count; i++, lines++) {
                assert_int_equal(batch.pairs.source_lengths[i], 0);
                assert_int_equal(batch.pairs.target_lengths[i], 1 + (int)(batch.numbers[i] % 7) + again);
                assert_int_equal(*word, 'a');
                word += batch.pairs.target_lengths[i];
            }
        }
        assert_int_equal(lines, 50);
        attend_batches_free(b);
    }
    attend_corpus_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines),
                                        cmocka_unit_test(test_every_pair_once),
                                        cmocka_unit_test(test_seeds),
                                        cmocka_unit_test(test_positions),
                                        cmocka_unit_test(test_over_long),
                                        cmocka_unit_test(test_fill),
                                        cmocka_unit_test(test_nothing),
                                        cmocka_unit_test(test_encoding_again),
                                        cmocka_unit_test(test_shuffle_is_fair),
                                        cmocka_unit_test(test_memory),
                                        cmocka_unit_test(test_speed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
