/* Any bytes as a file of pairs, plain or gzip: the reader returns valid pairs or an error with file and line, and
 * terminates. */
#include "fuzz/fuzz.h"
#include "support/gzip.h"
#include <attend/data_check.h>
#include <attend/lines.h>
#include <string.h>
#include <unistd.h>

static char path[32];
static int file = -1;

static void must(int holds)
{
    if (!holds) abort();
}

static void remove_file(void)
{
    unlink(path);
}

/* A file with these bytes. */
static void put(const uint8_t *bytes, size_t size)
{
    if (file < 0) {
        const char *memory = "/dev/shm"; /* a disk would be slower than the reader */
        snprintf(path, sizeof path, "%s/attend-fuzz-XXXXXX", access(memory, W_OK) == 0 ? memory : "/tmp");
        file = mkstemp(path);
        must(file >= 0 && atexit(remove_file) == 0);
    }
    must((size == 0 || pwrite(file, bytes, size, 0) == (ssize_t)size) && ftruncate(file, (off_t)size) == 0);
}

static uint64_t read_lines(void)
{
    attend_lines *l = NULL;
    const char *text = "";
    size_t length, at;
    uint64_t lines = 0;
    int status = attend_lines_open(&l, path);
    while (status == ATTEND_OK && text) {
        status = attend_lines_next(l, &text, &length);
        if (status != ATTEND_OK || !text) break;
        lines++;
        must(text[length] == '\0' && !memchr(text, '\n', length) && attend_lines_number(l) == lines);
        if (attend_line_check(text, length, &at) != ATTEND_LINE_OK) must(at < length);
    }
    must(status == ATTEND_OK || status == ATTEND_BAD_DATA);
    must(status == ATTEND_OK || strncmp(attend_message(), path, strlen(path)) == 0);
    attend_lines_close(l);
    return lines;
}

/* Reads all pairs, continuing after every invalid line. */
static uint64_t read_pairs(const attend_pairs_spec *spec)
{
    attend_pairs_file *f = NULL;
    attend_text_pair p;
    uint64_t lines = 0;
    must(attend_pairs_file_open(&f, spec, 1) == ATTEND_OK);
    for (;;) {
        const int status = attend_pairs_file_next(f, &p);
        const attend_pair_fault fault = attend_pairs_file_fault(f);
        must((status == ATTEND_OK) == (fault == ATTEND_PAIR_OK));
        if (fault > ATTEND_PAIR_TOO_LONG || (status == ATTEND_OK && !p.source)) break;
        must(p.line == ++lines);
        if (status == ATTEND_OK && !spec->target)
            must(p.target == p.source + p.source_size + 1 && p.target[-1] == '\t' &&
                 !memchr(p.target, '\t', p.target_size));
    }
    attend_pairs_file_close(f);
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const attend_pairs_spec specs[] = { { .source = path }, { .source = path, .target = path } };
    put(bytes, size);
    const uint64_t lines = read_lines();
    attend_data_check_report *r = NULL;
    must(read_pairs(&specs[0]) >= lines && read_pairs(&specs[1]) >= lines);
    const int status = attend_data_check(&r, &specs[0], 1, NULL, 0, false, 0);
    must((status == ATTEND_OK) == (r != NULL));
    if (r) must(r->train.pairs >= lines && r->train.usable <= r->train.pairs);
    attend_data_check_free(r);
    return 0;
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char *const texts[] = { "a b\tc d\nsource\ttarget\n",
                                         "\xef\xbb\xbf"
                                         "a\tb\r\n\r\nc\t\n\td\n",
                                         "no tab\na\tb\tc\n",
                                         "a\xff\tb\n\xc3\xa9\t\xf0\x9f\x98\x80\n\xe2\x80\xa8\x1b\tcaf\xc3\x83\xc2\xa9",
                                         "same\tsame\nsame\tsame\n",
                                         "\xff\xfe"
                                         "a",
                                         "",
                                         "\n" };
    unsigned char bytes[512];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) seed(texts[i], strlen(texts[i]));
    size_t size = gzip_bytes(bytes, sizeof bytes, texts[0], strlen(texts[0]));
    seed(bytes, size);
    size += gzip_bytes(bytes + size, sizeof bytes - size, texts[1], strlen(texts[1]));
    seed(bytes, size);
    /* stored without compression, so that mutations reach the text */
    seed(bytes, gzip_level(bytes, sizeof bytes, texts[1], strlen(texts[1]), 0));
}
