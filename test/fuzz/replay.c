/* replay.c: runs a fuzz target as an ordinary program.
 *
 *     fuzz_NAME                   runs a fixed set of mutations of the seeds
 *     fuzz_NAME --seeds DIRECTORY    writes the seeds there, for libFuzzer
 *     fuzz_NAME FILE...           runs on these files, such as those that libFuzzer found */
#include "fuzz/fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer with sanitizers, which are about ten times slower. */
#ifdef ATTEND_ARENA_MALLOC
enum { MUTATIONS = 20000 };
#else
enum { MUTATIONS = 200000 };
#endif
enum { MAX_SEEDS = 64, MAX_SEED_SIZE = 1 << 16 };

static struct {
    uint8_t *bytes;
    size_t size;
} seeds[MAX_SEEDS];
static size_t count;

static void store_seed(const void *bytes, size_t size)
{
    if (count == MAX_SEEDS || size > MAX_SEED_SIZE) abort();
    seeds[count].bytes = malloc(size ? size : 1);
    if (!seeds[count].bytes) abort();
    memcpy(seeds[count].bytes, bytes, size);
    seeds[count++].size = size;
}

static uint64_t random_state = 1;

static size_t below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n ? (size_t)(random_state >> 11) % n : 0;
}

/* Runs on a copy of exactly that size, so that AddressSanitizer detects an overrun. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* Applies one mutation: flips a bit, sets a special byte or a number, truncates, or removes, inserts or moves a
 * piece. */
static size_t mutate(uint8_t *bytes, size_t size)
{
    static const char telling[] = "\"{}[]:,\\0019-eE. \n\x7f\x80\xff";
    static const char *const pieces[] = { "9223372036854775807",
                                          "18446744073709551615",
                                          "-1",
                                          "1e400",
                                          "\\u0000",
                                          "\"a\":",
                                          "[[[[[[[[",
                                          "{\"a\":{",
                                          "0",
                                          "\xff",
                                          "\\ud800" };
    const size_t at = below(size), length = 1 + below(16), left = size - at;
    switch (size == 0 ? 5 : below(7)) {
    case 0:
        bytes[at] = (uint8_t)(bytes[at] ^ 1 << below(8));
        return size;
    case 1:
        bytes[at] = (uint8_t)telling[below(sizeof telling)];
        return size;
    case 2:
        bytes[at] = (uint8_t)below(256);
        return size;
    case 3:
        return at; /* truncated */
    case 4:        /* a piece removed */
        if (length >= left) return size;
        memmove(bytes + at, bytes + at + length, left - length);
        return size - length;
    case 5: { /* a piece inserted from another seed */
        const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
        const size_t more = strlen(piece);
        if (size + more > MAX_SEED_SIZE) return size;
        memmove(bytes + at + more, bytes + at, left);
        memcpy(bytes + at, piece, more);
        return size + more;
    }
    default: /* a piece moved */
        if (length > left) return size;
        memmove(bytes + below(size - length + 1), bytes + at, length);
        return size;
    }
}

static int write_seeds(const char *directory)
{
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%02zu", directory, i);
        FILE *f = fopen(path, "wb");
        int wrong = !f || fwrite(seeds[i].bytes, 1, seeds[i].size, f) != seeds[i].size;
        if ((f && fclose(f) != 0) || wrong) {
            fprintf(stderr, "cannot write %s\n", path);
            return 1;
        }
    }
    return 0;
}

static int run_file(const char *path)
{
    static uint8_t bytes[1 << 24];
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    run(bytes, size);
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[MAX_SEED_SIZE];
    int status = 0;
    fuzz_seeds(store_seed);
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        status = write_seeds(argv[2]);
    } else if (argc > 1) {
        for (int i = 1; i < argc; i++) status |= run_file(argv[i]);
    } else {
        for (size_t i = 0; i < count; i++) run(seeds[i].bytes, seeds[i].size);
        for (size_t i = 0; i < MUTATIONS; i++) {
            size_t size = seeds[i % count].size;
            memcpy(bytes, seeds[i % count].bytes, size);
            for (size_t changes = 1 + below(4); changes > 0; changes--) size = mutate(bytes, size);
            run(bytes, size);
        }
        printf("%zu seeds, %d mutations\n", count, MUTATIONS);
    }
    while (count > 0) free(seeds[--count].bytes);
    return status;
}
