/* Untrusted tensor files: truncated, damaged, malicious, or of another format. */
#include "support/folder.h"
#include "support/sample_tensors.h"
#include <sys/wait.h>

/* A small file with several types; it is copied to memory of its exact size, so that AddressSanitizer detects an
 * overrun. */
static char *small_file(size_t *size)
{
    static const float f[] = { 1, 2, 3 };
    static const char text[] = "    "; /* spaces, which resemble the padding of a header */
    const attend_tensor t[] = {
        { .name = "text", .dtype = ATTEND_U8, .rank = 1, .shape = { 4 }, .bytes = 4, .data = text },
        { .name = "w", .dtype = ATTEND_F32, .rank = 2, .shape = { 1, 3 }, .bytes = 12, .data = f },
        { .name = "none", .dtype = ATTEND_I64, .rank = 1, .shape = { 0 } },
    };
    const attend_metadata m[] = { { "k", "v" } };
    assert_ok(attend_tensor_file_write(in_folder("small"), t, 3, m, 1));
    return get_file(in_folder("small"), size);
}

/* Reads every byte of all tensors and metadata. */
static unsigned touch(const attend_tensor_file *f)
{
    unsigned sum = 0;
    for (size_t i = 0; i < attend_tensor_file_count(f); i++) {
        const attend_tensor *t = attend_tensor_file_at(f, i);
        assert_ptr_equal(attend_tensor_file_find(f, t->name), t);
        for (size_t b = 0; b < t->bytes; b++) sum += ((const unsigned char *)t->data)[b];
    }
    for (size_t i = 0; i < attend_tensor_file_metadata_count(f); i++)
        sum += (unsigned)strlen(attend_tensor_file_metadata_at(f, i)->value);
    return sum;
}

static int parse(const void *bytes, size_t size, unsigned flags)
{
    attend_tensor_file *f = NULL;
    char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    int status = attend_tensor_file_parse(&f, exact, size, "it", flags);
    if (status == ATTEND_OK)
        touch(f);
    else
        assert_null(f);
    attend_tensor_file_close(f);
    free(exact);
    return status;
}

static void test_every_truncation(void **state)
{
    (void)state;
    size_t size;
    char *bytes = small_file(&size);
    int named = 0;
    assert_int_equal(parse(bytes, size, 0), ATTEND_OK);
    for (size_t n = 0; n < size; n++)
        for (unsigned flags = 0; flags < 2; flags++) {
            assert_int_equal(parse(bytes, n, flags), ATTEND_BAD_MODEL);
            if (n > 8) assert_non_null(strstr(attend_message(), "is truncated: "));
            named += strstr(attend_message(), "truncated") != NULL;
        }
    for (size_t extra = 1; extra < 70; extra++) {
        char *longer = calloc(1, size + extra);
        assert_non_null(longer);
        memcpy(longer, bytes, size);
        assert_int_equal(parse(longer, size + extra, 1), ATTEND_BAD_MODEL);
        assert_non_null(strstr(attend_message(), "after its last tensor"));
        free(longer);
    }
    printf("%zu bytes: every shorter file refused, %d as truncated\n", size, named / 2);
    free(bytes);
}

static void test_every_flip(void **state)
{
    (void)state;
    size_t size;
    char *bytes = small_file(&size);
    size_t harmless = 0;
    for (size_t i = 0; i < 8 * size; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        int status = parse(bytes, size, 0);
        if (status != ATTEND_BAD_MODEL)
            fail_msg("bit %zu of byte %zu flipped, but the status is %d", i % 8, i / 8, status);
        status = parse(bytes, size, ATTEND_TENSOR_SKIP_CHECKSUM);
        if (status == ATTEND_OK)
            harmless++;
        else
            assert_int_equal(status, ATTEND_BAD_MODEL);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    printf("%zu bits: every flip refused; without the checksum %zu are accepted\n", 8 * size, harmless);
    assert_int_equal(parse(bytes, size, 0), ATTEND_OK);
    free(bytes);
}

/* --- malicious headers --- */

static int parse_header(const char *header, size_t data, unsigned flags)
{
    size_t length = strlen(header);
    char *bytes = calloc(1, 8 + length + data);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++) bytes[i] = (char)(length >> 8 * i & 255);
    memcpy(bytes + 8, header, length);
    int status = parse(bytes, 8 + length + data, flags);
    free(bytes);
    return status;
}

#define A(fields)                "{\"a\":{" fields "}}"
#define GOOD(name, begin, end)   "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" begin "," end "]}"
#define SHAPED(dtype, shape, at) A("\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" at)
#define METADATA(pairs)          "{\"__metadata__\":{" pairs "}," GOOD("a", "0", "4") "}"

static void test_good_headers(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{" GOOD("a", "0", "4") "}",
        "{ \"a\" : { \"shape\" :[ 4 ] ,\n\t\"data_offsets\": [ 0 , 4 ], \"dtype\":\"\\u0055\\u0038\" } }\r\n   ",
        SHAPED("F32", "[]", "[0,4]"),
        SHAPED("F32", "[1,1,1,1]", "[0,4]"),
        SHAPED("BF16", "[2]", "[0,4]"),
        METADATA(""),
        METADATA("\"k\":\"v\""),
        METADATA("\"k\":\"\\ud83d\\ude00 \\n\\/\\b\\f\\r\\t\\\\\\\" \xc3\xa9\""),
        METADATA("\"k\":\"xxh3-\",\"checksums\":\"xxh3-0123456789abcdeg\""),
        "{" GOOD("b", "0", "4") ",\"a\":{\"dtype\":\"F64\",\"shape\":[0,9],\"data_offsets\":[4,4]}}",
        "{\"c\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}," GOOD("b", "0", "4") "}",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (parse_header(good[i], 4, 0) != ATTEND_OK) fail_msg("%s\n%s", good[i], attend_message());
    assert_ok(parse_header("{}", 0, 0));
    assert_ok(parse_header("{}    ", 0, 0));
    assert_ok(parse_header("{\"__metadata__\":{}}", 0, 0));
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header, *word;
    } bad[] = {
        { "{ ", "a string is missing" },
        { "{]", "a string is missing" },
        { "{,}", "a string is missing" },
        { "{}}", "text follows the end" },
        { "{} x", "text follows the end" },
        { "{\"a\"}", "':' is missing" },
        { "{\"a\":1}", "'{' is missing" },
        { "{\"a\":[]}", "'{' is missing" },
        { "{\"a\":null}", "'{' is missing" },
        { "{\"a\":{}}", "a string is missing" },
        { "{\"a", "a string is not terminated" },
        { "{\"a\\", "a string is not terminated" },
        { "{" GOOD("a", "0", "4"), "'}' is missing" },
        { "{" GOOD("a", "0", "4") ",}", "a string is missing" },
        { "{" GOOD("a", "0", "4") " " GOOD("b", "4", "4") "}", "'}' is missing" },
        { "{" GOOD("", "0", "4") "}", "a name that is empty" },
        { "{" GOOD("a\\nb", "0", "4") "}", "control characters" },
        { "{" GOOD("a\\u0080", "0", "4") "}", "control characters" },
        { "{" GOOD("a\nb", "0", "4") "}", "control character" },
        { "{" GOOD("a\\u0000", "0", "4") "}", "the character U+0000" },
        { "{" GOOD("\\ud800", "0", "4") "}", "surrogate" },
        { "{" GOOD("\\ude00\\ud83d", "0", "4") "}", "surrogate" },
        { "{" GOOD("\\ud83dx", "0", "4") "}", "surrogate" },
        { "{" GOOD("\\ud83d\\u0041", "0", "4") "}", "surrogate" },
        { "{" GOOD("\\ud83d\\ud83d", "0", "4") "}", "surrogate" },
        { "{" GOOD("\\u12g4", "0", "4") "}", "four hex digits" },
        { "{" GOOD("\\x41", "0", "4") "}", "escape" },
        { "{" GOOD("\xff", "0", "4") "}", "not valid UTF-8" },
        { "{" GOOD("\xc0\xaf", "0", "4") "}", "not valid UTF-8" },
        { "{" GOOD("\xed\xa0\x80", "0", "4") "}", "not valid UTF-8" },
        { "{" GOOD("\xf5\x80\x80\x80", "0", "4") "}", "not valid UTF-8" },
        { "{" GOOD("a", "0", "4") "," GOOD("a", "4", "8") "}", "two tensors named a" },
        { "{" GOOD("a", "0", "4") "," GOOD("\\u0061", "4", "8") "}", "two tensors named a" },
        { "{" GOOD("a", "0", "4") "," GOOD("b", "0", "4") "}", "overlap" },
        { "{" GOOD("a", "0", "4") "," GOOD("b", "3", "7") "}", "overlap" },
        { "{" GOOD("a", "0", "4") "," GOOD("b", "5", "9") "}", "1 bytes before tensor b" },
        { "{" GOOD("a", "1", "5") "}", "1 bytes before tensor a" },
        { "{" GOOD("a", "4", "0") "}", "offsets 4 to 0" },
        { "{" GOOD("a", "0", "3") "}", "offsets 0 to 3" },
        { "{" GOOD("a", "-1", "3") "}", "negative" },
        { "{" GOOD("a", "0", "4.0") "}", "integer" },
        { "{" GOOD("a", "0", "4e0") "}", "integer" },
        { "{" GOOD("a", "0", "1e400") "}", "integer" },
        { "{" GOOD("a", "00", "4") "}", "starts with 0" },
        { "{" GOOD("a", "0", "\"4\"") "}", "integer" },
        { "{" GOOD("a", "0", "true") "}", "integer" },
        { "{" GOOD("a", "0", "18446744073709551620") "}", "too large" },
        { "{" GOOD("a", "0", "9223372036854775808") "}", "too large" },
        { "{" GOOD("a", "9223372036854775807", "9223372036854775807") "}", "offsets" },
        { "{" GOOD("a", "9223372036854775803", "9223372036854775807") "}", "bytes before tensor a" },
        { SHAPED("F31", "[1]", "[0,4]"), "type 'F31'" },
        { SHAPED("f32", "[1]", "[0,4]"), "type 'f32'" },
        { A("\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]"), "a string is missing" },
        { A("\"shape\":[4],\"data_offsets\":[0,4]"), "lacks its dtype" },
        { A("\"dtype\":\"U8\",\"data_offsets\":[0,4]"), "lacks its dtype" },
        { A("\"dtype\":\"U8\",\"shape\":[4]"), "lacks its dtype" },
        { A("\"dtype\":\"U8\",\"shape\":[4],\"shape\":[4],\"data_offsets\":[0,4]"), "'shape' twice" },
        { A("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"more\":1"), "'more'" },
        { SHAPED("U8", "[4]", "[0]"), "or its two data_offsets" },
        { SHAPED("U8", "[4]", "[]"), "or its two data_offsets" },
        { SHAPED("U8", "[4]", "[0,4,8]"), "more than 2" },
        { SHAPED("U8", "[4 5]", "[0,4]"), "']' is missing" },
        { SHAPED("U8", "4", "[0,4]"), "'[' is missing" },
        { SHAPED("U8", "[1,1,1,1,4]", "[0,4]"), "more than 4" },
        { SHAPED("U8", "[-4]", "[0,4]"), "negative" },
        { SHAPED("U8", "[4,]", "[0,4]"), "integer" },
        { SHAPED("U8", "[[4]]", "[0,4]"), "integer" },
        { SHAPED("F32", "[4611686018427387904]", "[0,0]"), "larger than memory" },
        { SHAPED("F32", "[4294967296,4294967296]", "[0,0]"), "larger than memory" },
        { SHAPED("F32", "[0,4294967296,4294967296]", "[0,0]"), "larger than memory" },
        { SHAPED("U64", "[2305843009213693953]", "[0,8]"), "larger than memory" },
        { SHAPED("F32", "[4]", "[0,4]"), "require 16 bytes" },
        { METADATA("\"k\":1"), "a string is missing" },
        { METADATA("\"k\":{}"), "a string is missing" },
        { METADATA("\"k\":null"), "a string is missing" },
        { METADATA("\"k\":\"v\",\"k\":\"w\""), "metadata 'k' twice" },
        { METADATA("\"\":\"v\""), "a name that is empty" },
        { METADATA("\"k\":\"\\u0000\""), "the character U+0000" },
        { METADATA("\"checksum\":\"\""), "the file is damaged" },
        { METADATA("\"checksum\":\"sha256-12\""), "the file is damaged" },
        { METADATA("\"checksum\":\"xxh3-0123456789ABCDEF\""), "the file is damaged" },
        { METADATA("\"checkzum\":\"xxh3-0123456789abcdef\""), "the file is damaged" },
        { METADATA("\"checksum\":\"xxh3-0123456789abcdef\",\"checksum\":\"xxh3-0123456789abcdef\""),
          "the file is damaged" },
        { METADATA("\"checksum\":\"xxh3-\\u0030123456789abcdef\""), "escapes" },
        { METADATA("\"checksum\":\"xxh3-0123456789abcdef\""), "its checksum is" },
        { "{\"__metadata__\":{},\"__metadata__\":{}," GOOD("a", "0", "4") "}", "__metadata__ twice" },
        { "{\"__metadata__\":[]," GOOD("a", "0", "4") "}", "'{' is missing" },
        { "{\"__metadata__\":\"\"," GOOD("a", "0", "4") "}", "'{' is missing" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status = parse_header(bad[i].header, 4, 0);
        if (status != ATTEND_BAD_MODEL || !strstr(attend_message(), bad[i].word))
            fail_msg("%s\n%d, '%s' does not contain '%s'", bad[i].header, status, attend_message(), bad[i].word);
    }
}

/* Headers that end in the middle of a value, at the end of their memory. */
static void test_truncated_headers(void **state)
{
    (void)state;
    static const char *const truncated[] = { "{\"\xe2",          "{\"\xf0\x9f\x98",
                                             "{\"\xc3",          "{\"\\",
                                             "{\"\\u",           "{\"\\u00",
                                             "{\"\\ud83d",       "{\"\\ud83d\\",
                                             "{\"\\ud83d\\ude0", "{\"a\":{\"shape\":[1",
                                             "{\"a\":",          "{ " };
    for (size_t i = 0; i < sizeof truncated / sizeof *truncated; i++)
        assert_int_equal(parse_header(truncated[i], 0, 0), ATTEND_BAD_MODEL);
}

/* Excessive nesting, counts and names. Reading needs at most four times the size of the header. */
static void test_large_headers(void **state)
{
    (void)state;
    enum { LARGE = 8 << 20 };
    char *text = malloc(LARGE + 1), *at = text;
    assert_non_null(text);
    memset(text, '[', LARGE);
    text[LARGE] = '\0';
    memcpy(text, "{\"a\":", 5);
    assert_int_equal(parse_header(text, 0, 0), ATTEND_BAD_MODEL);
    memset(text, '{', LARGE);
    assert_int_equal(parse_header(text, 0, 0), ATTEND_BAD_MODEL);
    /* a name of 513 bytes */
    at += sprintf(at, "{\"");
    for (int i = 0; i <= ATTEND_TENSOR_NAME; i++) *at++ = 'n';
    sprintf(at, "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}");
    assert_int_equal(parse_header(text, 1, 0), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "longer than 512 bytes"));
    /* one tensor too many, one pair of metadata too many */
    at = text + sprintf(text, "{");
    for (int i = 0; i <= ATTEND_TENSOR_COUNT; i++)
        at += sprintf(at, "%s\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? "," : "", i);
    assert_true(at < text + LARGE);
    strcpy(at, "}");
    assert_int_equal(parse_header(text, 0, 0), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "more than 131072 tensors"));
    at = text + sprintf(text, "{\"__metadata__\":{");
    for (int i = 0; i <= ATTEND_TENSOR_COUNT; i++) at += sprintf(at, "%s\"%x\":\"\"", i ? "," : "", i);
    strcpy(at, "}}");
    assert_int_equal(parse_header(text, 0, 0), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "more than 131072 metadata entries"));
    free(text);
}

/* --- files of other formats --- */

static void test_other_formats(void **state)
{
    (void)state;
#define BYTES(text) text, sizeof text - 1
    static const struct {
        const char *bytes;
        size_t size;
        const char *word;
    } kinds[] = {
        { "", 0, "it is empty" },
        { BYTES("abc"), "plain text" },
        { BYTES("\x98\x01\x02"), "only 3 bytes" },
        { BYTES("PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.txt"), "a zip archive" },
        { BYTES("PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x12\0archive/data.pkl"),
          "a PyTorch file" },
        { BYTES("PK\3\4\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.npy"), "a NumPy archive (.npz)" },
        { BYTES("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0"), "a gzip file" },
        { BYTES("\xfd"
                "7zXZ\0\0\x04\xe6\xd6\xb4\x46"),
          "an xz file" },
        { BYTES("\x28\xb5\x2f\xfd\x04\x58\x01\0\0"), "a zstd file" },
        { BYTES("BZh91AY&SY\x01\x02"), "a bzip2 file" },
        { BYTES("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02"), "an old PyTorch file" },
        { BYTES("\x80\x04\x95\x0b\0\0\0\0\0\0\0}"), "a Python pickle" },
        { BYTES("\x93NUMPY\x01\0v\0{'descr': '<f4'"), "a NumPy array (.npy)" },
        { BYTES("\x89HDF\r\n\x1a\n\0\0\0\0\0"), "an HDF5 file" },
        { BYTES("GGUF\x03\0\0\0\x01\0\0\0"), "a GGUF file" },
        { BYTES("\x08\x08\x12\x07pytorch\x1a\x05"
                "2.1.0:"),
          "an ONNX model" },
        { BYTES("<!DOCTYPE html><html><title>404</title>"), "a web page (HTML)" },
        { BYTES("\xef\xbb\xbf\r\n  <HTML><head>"), "a web page (HTML)" },
        { BYTES("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"), "an XML page" },
        { BYTES("{\"error\": \"not found\"}"), "JSON text" },
        { BYTES("source\ttarget\nein Haus\ta house\n"), "plain text" },
        { BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 3\n"), "git lfs pull" },
        { BYTES("\0\0\0\0\0\0\0\0\0\0\0\0"), "only zeros" },
        { BYTES("%PDF-1.4\n\x01\x02"), "a PDF" },
        { BYTES("\x7f"
                "ELF\x02\x01\x01\0\0"),
          "a program" },
        { BYTES("\x02\x01\x03\x04\x05\x06\x07\x01\x09\x0a"),
          "not a model (a safetensors file); its format is unknown" },
        { BYTES("\x02\x01\0\0\0\0\0\x01{}"), "it must have 2 to 67108864" },
        { BYTES("\x01\0\0\0\0\0\0\0{"), "it must have 2 to 67108864" },
        { BYTES("\x70\0\0\0\0\0\0\0{\"a\":"), "truncated: 10 % of 120 bytes" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int status = parse(kinds[i].bytes, kinds[i].size, 0);
        if (status != ATTEND_BAD_MODEL || !strstr(attend_message(), kinds[i].word))
            fail_msg("%zu: %d, '%s' does not contain '%s'", i, status, attend_message(), kinds[i].word);
        assert_true(strncmp(attend_message(), "it ", 3) == 0);
        /* the same from disk */
        attend_tensor_file *f = NULL;
        put_file(in_folder("wrong"), kinds[i].bytes, kinds[i].size);
        assert_int_equal(attend_tensor_file_open(&f, in_folder("wrong"), 0), ATTEND_BAD_MODEL);
        assert_non_null(strstr(attend_message(), "/wrong "));
    }
    char tar[512] = "name";
    memcpy(tar + 257, "ustar", 5);
    assert_int_equal(parse(tar, sizeof tar, 0), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "a tar archive"));
}

/* The message states the present share: 41 % of 3.2 MB. */
static void test_share_of_a_truncated_file(void **state)
{
    (void)state;
    float *x = calloc(800000, sizeof *x);
    assert_non_null(x);
    const attend_tensor t = {
        .name = "x", .dtype = ATTEND_F32, .rank = 1, .shape = { 800000 }, .bytes = 3200000, .data = x
    };
    const char *path = in_folder("large");
    attend_tensor_file *f = NULL;
    assert_ok(attend_tensor_file_write(path, &t, 1, NULL, 0));
    assert_int_equal(truncate(path, 1320000), 0);
    assert_int_equal(attend_tensor_file_open(&f, path, 0), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "truncated: 41 % of 3.2 MB are present"));
    free(x);
}

static void test_unreadable_files(void **state)
{
    (void)state;
    attend_tensor_file *f = NULL;
    assert_int_equal(attend_tensor_file_open(&f, in_folder("missing"), 0), ATTEND_IO);
    assert_non_null(strstr(attend_message(), "No such file or directory"));
    assert_int_equal(attend_tensor_file_open(&f, folder, 0), ATTEND_IO);
    assert_non_null(strstr(attend_message(), "is a directory"));
    assert_int_equal(attend_tensor_file_open(&f, "/dev/zero", 0), ATTEND_IO);
    assert_non_null(strstr(attend_message(), "device"));
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(attend_tensor_file_open(&f, in_folder("pipe"), 0), ATTEND_IO);
    assert_null(f);
    size_t size;
    free(small_file(&size));
    assert_int_equal(chmod(in_folder("small"), 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t child = fork();
    if (child == 0) { /* root can read every file */
        if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
        int status = attend_tensor_file_open(&f, in_folder("small"), 0);
        _exit(status == ATTEND_IO && strstr(attend_message(), "Permission denied") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_every_truncation),
        IN_FOLDER(test_every_flip),
        cmocka_unit_test(test_good_headers),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_truncated_headers),
        cmocka_unit_test(test_large_headers),
        IN_FOLDER(test_other_formats),
        IN_FOLDER(test_share_of_a_truncated_file),
        IN_FOLDER(test_unreadable_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
