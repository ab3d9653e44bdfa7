#include <attend/lines.h>

#include "core/memory.h"
#include "core/status.h"
#include <attend/text.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT = 32 << 10, FIRST_CAPACITY = 2 * INPUT };

struct attend_lines {
    char *name;
    int file;    /* descriptor; -1: not open */
    bool at_end; /* of the file */
    bool gzip, in_member;
    bool complete;          /* all of the text has been in `text` */
    int failure;            /* sticky status */
    const char *gzip_error; /* an error in the gzip data after what is in `text`; NULL: none */
    uint64_t number;
    unsigned char *input; /* (INPUT) bytes of the file; [input_at, input_end) are unread */
    size_t input_at, input_end;
    /* (capacity + 1) decompressed bytes; [begin, end) have not been returned; no line feed before `scanned` */
    char *text;
    size_t capacity, begin, scanned, end;
    z_stream z;
};

static int fail_with(attend_lines *l, int code)
{
    l->failure = code;
    return code;
}

static int no_memory(attend_lines *l)
{
    return fail_with(l, attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", l->name));
}

/* --- the file --- */

/* Reads more bytes of the file, after the unread ones. */
static int read_file(attend_lines *l)
{
    if (l->input_at > 0) {
        memmove(l->input, l->input + l->input_at, l->input_end - l->input_at);
        l->input_end -= l->input_at;
        l->input_at = 0;
    }
    ssize_t got;
    do got = read(l->file, l->input + l->input_end, INPUT - l->input_end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail_with(l, attend_fail(ATTEND_IO, "cannot read %s: %s after line %llu", l->name,
                                        attend_errno_text(errno), (unsigned long long)l->number));
    l->at_end = got == 0;
    l->input_end += (size_t)got;
    return ATTEND_OK;
}

/* Recognizes files that are not UTF-8 text by their first bytes; NULL: none of these. UTF-8 text cannot begin with
 * them, except "PK" and "BZh". */
static const char *foreign_format(const unsigned char *bytes, size_t size)
{
    static const struct {
        const char *magic;
        size_t length;
        const char *kind;
    } kinds[] = {
        { "\xff\xfe", 2, "UTF-16 text; convert it, with: iconv -f UTF-16 -t UTF-8" },
        { "\xfe\xff", 2, "UTF-16 text; convert it, with: iconv -f UTF-16 -t UTF-8" },
        { "\xfd"
          "7zXZ",
          5, "an xz file; unpack it first, with: unxz" },
        { "\x28\xb5\x2f\xfd", 4, "a zstd file; unpack it first, with: unzstd" },
        { "BZh91AY&SY", 10, "a bzip2 file; unpack it first, with: bunzip2" },
        { "PK\3\4", 4, "a zip archive; unpack it first, with: unzip" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].length && memcmp(bytes, kinds[i].magic, kinds[i].length) == 0) return kinds[i].kind;
    return NULL;
}

static bool ends_in(const char *s, const char *ending)
{
    const size_t n = strlen(s), m = strlen(ending);
    return n >= m && strcmp(s + n - m, ending) == 0;
}

static bool is_gzip(const attend_lines *l)
{
    return l->input_end - l->input_at >= 2 && l->input[l->input_at] == 0x1f && l->input[l->input_at + 1] == 0x8b;
}

/* zlib uses the library's allocator. */
static void *z_allocate(void *unused, uInt count, uInt size)
{
    (void)unused;
    return attend_memory_zeroed(count, size);
}

static void z_free(void *unused, void *p)
{
    (void)unused;
    attend_memory_free(p);
}

/* Detects the format by the first bytes. */
static int detect_format(attend_lines *l)
{
    enum { MAGIC_BYTES = 16 };
    /* a pipe may deliver them one by one. A line feed this early means text; do not wait for more: the input may be
     * interactive */
    while (!l->at_end && l->input_end < MAGIC_BYTES && !memchr(l->input, '\n', l->input_end)) {
        const int status = read_file(l);
        if (status != ATTEND_OK) return status;
    }
    const char *kind = foreign_format(l->input, l->input_end);
    if (kind) return attend_fail(ATTEND_BAD_DATA, "%s is %s", l->name, kind);
    l->gzip = is_gzip(l);
    if (!l->gzip) {
        if (ends_in(l->name, ".gz") && l->input_end > 0)
            return attend_fail(ATTEND_BAD_DATA,
                               "%s is not a gzip file although its name ends in .gz; rename it, or download it again",
                               l->name);
        if (l->input_end >= 3 && memcmp(l->input, "\xef\xbb\xbf", 3) == 0) l->input_at = 3;
        return ATTEND_OK;
    }
    l->z.zalloc = z_allocate;
    l->z.zfree = z_free;
    l->in_member = true;
    return inflateInit2(&l->z, 16 + MAX_WBITS) == Z_OK ? ATTEND_OK : no_memory(l);
}

static int open_file(attend_lines *l, const char *path)
{
    l->input = attend_memory_aligned(INPUT);
    l->text = attend_memory_aligned(FIRST_CAPACITY + 1);
    if (!l->input || !l->text) return no_memory(l);
    l->capacity = FIRST_CAPACITY;
    l->file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (l->file < 0 || fstat(l->file, &s) != 0)
        return attend_fail(ATTEND_IO, "cannot read %s: %s", l->name, attend_errno_text(errno));
    if (S_ISDIR(s.st_mode))
        return attend_fail(ATTEND_IO, "cannot read %s: it is a directory; name a file in it", l->name);
    return detect_format(l);
}

int attend_lines_open(attend_lines **out, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path);
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    *out = NULL;
    attend_lines *l = attend_memory_zeroed(1, sizeof *l);
    if (!l) return attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", name);
    l->file = -1;
    l->name = attend_memory_zeroed(strlen(name) + 1, 1);
    int status = l->name ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", name);
    if (l->name) memcpy(l->name, name, strlen(name));
    if (status == ATTEND_OK) status = open_file(l, path);
    if (status == ATTEND_OK)
        *out = l;
    else
        attend_lines_close(l);
    return status;
}

void attend_lines_close(attend_lines *l)
{
    if (!l) return;
    if (l->file >= 0 && l->file != STDIN_FILENO) close(l->file);
    if (l->gzip) inflateEnd(&l->z);
    attend_memory_free(l->text);
    attend_memory_free(l->input);
    attend_memory_free(l->name);
    attend_memory_free(l);
}

/* --- decompressing --- */

/* Reported after all lines before the error have been returned. */
static int fail_gzip(attend_lines *l)
{
    return fail_with(l, attend_fail(ATTEND_BAD_DATA, "%s:%llu: %s; download or create the file again", l->name,
                                    (unsigned long long)l->number + 1, l->gzip_error));
}

/* Between two members, or after the last: zeros are padding; anything else is an error. */
static int between_members(attend_lines *l)
{
    while (l->input_at < l->input_end && l->input[l->input_at] == 0) l->input_at++;
    if (l->input_end - l->input_at < 2 && !l->at_end) return read_file(l);
    if (l->input_at == l->input_end) {
        l->complete = true;
        return ATTEND_OK;
    }
    if (is_gzip(l)) {
        inflateReset(&l->z);
        l->in_member = true;
    } else
        l->gzip_error = "the gzip data is followed by other bytes";
    return ATTEND_OK;
}

static int inflate_some(attend_lines *l)
{
    if (!l->in_member) return between_members(l);
    if (l->input_at == l->input_end && !l->at_end) return read_file(l);
    l->z.next_in = l->input + l->input_at;
    l->z.avail_in = (uInt)(l->input_end - l->input_at);
    l->z.next_out = (unsigned char *)l->text + l->end;
    l->z.avail_out = (uInt)(l->capacity - l->end);
    const int result = inflate(&l->z, Z_NO_FLUSH);
    const bool no_output = l->z.avail_out == (uInt)(l->capacity - l->end);
    l->input_at = l->input_end - l->z.avail_in;
    l->end = l->capacity - l->z.avail_out;
    switch (result) {
    case Z_STREAM_END:
        l->in_member = false;
        return ATTEND_OK;
    case Z_MEM_ERROR:
        return no_memory(l);
    case Z_OK:
    case Z_BUF_ERROR:
        if (no_output && l->at_end && l->input_at == l->input_end) l->gzip_error = "the gzip data is truncated";
        return ATTEND_OK;
    default:
        l->gzip_error = "the gzip data is damaged, and the lines before may be wrong";
        return ATTEND_OK;
    }
}

/* Makes room for more text after `end`. */
static int make_room(attend_lines *l)
{
    if (l->capacity - l->end >= INPUT) return ATTEND_OK;
    if (l->begin > 0) {
        memmove(l->text, l->text + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->scanned -= l->begin;
        l->begin = 0;
    }
    if (l->capacity - l->end >= INPUT) return ATTEND_OK;
    char *larger = attend_memory_aligned(2 * l->capacity + 1);
    if (!larger) return no_memory(l);
    memcpy(larger, l->text, l->end);
    attend_memory_free(l->text);
    l->text = larger;
    l->capacity *= 2;
    return ATTEND_OK;
}

/* Skips a byte order mark inside gzip data, where it is visible only after decompression. */
static void skip_mark(attend_lines *l)
{
    if (l->gzip && l->number == 0 && l->begin == 0 && l->end >= 3 && memcmp(l->text, "\xef\xbb\xbf", 3) == 0)
        l->begin = 3;
    if (l->scanned < l->begin) l->scanned = l->begin;
}

/* Adds more bytes to the text. */
static int fill(attend_lines *l)
{
    int status = make_room(l);
    if (status != ATTEND_OK) return status;
    if (l->gzip) return inflate_some(l);
    if (l->input_at == l->input_end) {
        if (l->at_end) {
            l->complete = true;
            return ATTEND_OK;
        }
        return read_file(l);
    }
    const size_t count = l->input_end - l->input_at;
    memcpy(l->text + l->end, l->input + l->input_at, count);
    l->end += count;
    l->input_at = l->input_end;
    return ATTEND_OK;
}

/* --- lines --- */

/* Returns the line that ends at `stop`; the next one begins at `next`. */
static int return_line(attend_lines *l, size_t stop, size_t next, bool too_long, const char **text, size_t *size)
{
    const size_t begin = l->begin;
    l->number++;
    l->begin = l->scanned = next;
    if (stop > begin && l->text[stop - 1] == '\r') stop--;
    if (too_long || stop - begin > ATTEND_MAX_LINE_BYTES)
        return attend_fail(
            ATTEND_BAD_DATA,
            "%s:%llu: the line has more than %d MiB. Is this a text with a line feed after each sentence?", l->name,
            (unsigned long long)l->number, ATTEND_MAX_LINE_BYTES >> 20);
    l->text[stop] = '\0';
    *text = l->text + begin;
    *size = stop - begin;
    return ATTEND_OK;
}

int attend_lines_next(attend_lines *l, const char **text, size_t *size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, l && text && size);
    bool too_long = false;
    *text = NULL;
    *size = 0;
    if (l->failure) return attend_fail(l->failure, "cannot continue reading %s after an earlier failure", l->name);
    for (;;) {
        const char *feed = memchr(l->text + l->scanned, '\n', l->end - l->scanned);
        if (feed) {
            const size_t at = (size_t)(feed - l->text);
            return return_line(l, at, at + 1, too_long, text, size);
        }
        l->scanned = l->end;
        if (l->gzip_error) return fail_gzip(l);
        if (l->complete) {
            if (l->begin == l->end && !too_long) return ATTEND_OK;
            return return_line(l, l->end, l->end, too_long, text, size);
        }
        if (l->end - l->begin > ATTEND_MAX_LINE_BYTES + 1) { /* its last byte may be a CR */
            too_long = true;
            l->begin = l->scanned = l->end = 0;
        }
        const int status = fill(l);
        if (status != ATTEND_OK) return status;
        if (!too_long) skip_mark(l);
    }
}

bool attend_lines_failed(const attend_lines *l)
{
    ATTEND_REQUIRE(true, l);
    return l->failure != ATTEND_OK;
}

bool attend_lines_wait(const attend_lines *l, int milliseconds)
{
    ATTEND_REQUIRE(true, l);
    if (l->failure || l->gzip_error || l->complete || l->at_end || l->input_at < l->input_end) return true;
    if (memchr(l->text + l->scanned, '\n', l->end - l->scanned)) return true;
    struct pollfd p = { .fd = l->file, .events = POLLIN };
    return poll(&p, 1, milliseconds) != 0; /* an error is reported by reading */
}

const char *attend_lines_name(const attend_lines *l)
{
    ATTEND_REQUIRE(NULL, l);
    return l->name;
}

uint64_t attend_lines_number(const attend_lines *l)
{
    ATTEND_REQUIRE(0, l);
    return l->number;
}

/* --- checking --- */

attend_line_fault attend_line_check(const char *text, size_t size, size_t *at)
{
    ATTEND_REQUIRE((attend_line_fault)0, (text || size == 0) && at);
    const size_t valid = attend_utf8_valid(text, size);
    const char *nul = valid > 0 ? memchr(text, '\0', valid) : NULL;
    if (!nul && valid == size) return ATTEND_LINE_OK;
    *at = nul ? (size_t)(nul - text) : valid;
    return nul ? ATTEND_LINE_NUL : ATTEND_LINE_NOT_UTF8;
}
