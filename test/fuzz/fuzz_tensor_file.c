/* Any bytes as a tensor file: refused with a message, or all its tensors and metadata can be read. */
#include "fuzz/fuzz.h"
#include "support/sample_tensors.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int holds)
{
    if (!holds) abort();
}

/* Reads every byte, name and pair, and checks what tensor_file.h promises. Returns a value that depends on all bytes,
 * so that the compiler cannot omit the reads. */
static unsigned read_all(const attend_tensor_file *f, size_t size)
{
    unsigned sum = 0;
    size_t total = 0;
    for (size_t i = 0; i < attend_tensor_file_count(f); i++) {
        const attend_tensor *t = attend_tensor_file_at(f, i);
        size_t bytes = attend_dtype_size(t->dtype);
        must(t->rank >= 0 && t->rank <= ATTEND_TENSOR_RANK);
        for (int d = 0; d < t->rank; d++) bytes *= (size_t)t->shape[d];
        must(t->bytes == bytes && t->data && (uintptr_t)t->data % attend_dtype_size(t->dtype) == 0);
        must(*t->name && strlen(t->name) <= ATTEND_TENSOR_NAME && attend_tensor_file_find(f, t->name) == t);
        for (size_t b = 0; b < t->bytes; b++) sum += ((const unsigned char *)t->data)[b];
        total += t->bytes;
    }
    must(total < size);
    for (size_t i = 0; i < attend_tensor_file_metadata_count(f); i++) {
        const attend_metadata *m = attend_tensor_file_metadata_at(f, i);
        must(*m->key && attend_tensor_file_metadata(f, m->key) == m->value);
        sum += (unsigned)strlen(m->value);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static volatile unsigned sum;
    int answers[2];
    for (unsigned flags = 0; flags < 2; flags++) {
        attend_tensor_file *f = NULL;
        answers[flags] = attend_tensor_file_parse(&f, bytes, size, "fuzz", flags);
        must((answers[flags] == ATTEND_OK) == (f != NULL));
        if (f)
            sum = read_all(f, size);
        else
            must(answers[flags] == ATTEND_BAD_MODEL && strncmp(attend_message(), "fuzz", 4) == 0);
        attend_tensor_file_close(f);
    }
    (void)sum;
    must(answers[0] != ATTEND_OK ||
         answers[1] == ATTEND_OK); /* without the checksum, at least as many files are accepted */
    return 0;
}

static void seed_header(void (*seed)(const void *bytes, size_t size), const char *header, size_t data)
{
    char bytes[1024] = { 0 };
    const size_t length = strlen(header);
    bytes[0] = (char)(length & 255);
    bytes[1] = (char)(length >> 8);
    memcpy(bytes + 8, header, length);
    seed(bytes, 8 + length + data);
}

/* A whole file, written to disk and read back. */
static void seed_file(void (*seed)(const void *bytes, size_t size), int whole)
{
    static char bytes[1 << 14];
    char path[] = "/tmp/attend-seed-XXXXXX";
    int made = mkstemp(path);
    must(made >= 0 && close(made) == 0);
    static const float x[3] = { 1, 2, 3 };
    const attend_tensor t = {
        .name = "x", .dtype = ATTEND_F32, .rank = 1, .shape = { 3 }, .bytes = sizeof x, .data = x
    };
    must((whole ? sample_write(path) : attend_tensor_file_write(path, &t, 1, NULL, 0)) == ATTEND_OK);
    FILE *f = fopen(path, "rb");
    must(f != NULL);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    unlink(path);
    seed(bytes, size);
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char *const others[] = { "PK\3\4 data.pkl",
                                          "PK\3\4 a.npy",
                                          "\x1f\x8b\x08",
                                          "\x93NUMPY",
                                          "GGUF",
                                          "\x08\x08\x12\x07pytorch",
                                          "<html>",
                                          "<?xml",
                                          "version https://git-lfs",
                                          "{}" };
    seed_file(seed, 0);
    seed_file(seed, 1);
    seed_header(seed, "{}", 0);
    seed_header(seed, "{\"a\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[0,4]}}", 4);
    seed_header(
        seed,
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[4,12]},\"b\":{\"data_offsets\":[0,4],\"shape\":[1],"
        "\"dtype\":\"I32\"}}  ",
        12);
    seed_header(
        seed,
        "{\"__metadata__\":{\"k\":\"\\ud83d\\ude00\\n\\u00e9\",\"l\":\"\"},\"\xc3\xa9\":{\"dtype\":\"F16\",\"shape\":"
        "[0,3],\"data_offsets\":[0,0]}}",
        0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) seed(others[i], strlen(others[i]));
}
