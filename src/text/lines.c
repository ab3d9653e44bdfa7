#include <attend/lines.h>

#include "core/memory.h"
#include "core/status.h"
#include <attend/text.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT = 32 << 10, FIRST_CAPACITY = 2 * INPUT };

struct attend_lines {
    char *name;
    int file;        /* descriptor; -1: not open */
    bool is_regular; /* reading it never waits */
    bool at_end;     /* of the file */
    bool gzip, in_member;
    bool complete;    /* all of the text has been in `text` */
    int failure;      /* sticky status */
    bool is_reported; /* the caller has had the message of the failure */
    char message[ATTEND_MESSAGE_SIZE];
    const char *gzip_error; /* an error in the gzip data after what is in `text`; NULL: none */
    uint64_t number;
    unsigned char *input; /* (INPUT) bytes of the file; [input_at, input_end) are unread */
    size_t input_at, input_end;
    /* (capacity + 1) decompressed bytes; [begin, end) have not been returned; no line feed before `scanned` */
    char *text;
    size_t capacity, begin, scanned, end;
    uint64_t skipped;     /* bytes of the current line, if it is too long, that `text` no longer has */
    uint64_t read, limit; /* bytes of text read so far, and that may be read */
    z_stream z;
};

/* Keeps the failure that attend_fail has just set. */
static int fail_with(attend_lines *l, int code)
{
    l->failure = code;
    snprintf(l->message, sizeof l->message, "%s", attend_message());
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

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
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
    enum { MANY_ZEROS = 512 }; /* fewer may be a line that is refused with its number */
    return size >= MANY_ZEROS && is_zero(bytes, size) ? "no text: it begins with NUL bytes only" : NULL;
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

/* Refuses devices, which may have no end, such as /dev/zero; but not a terminal, nor /dev/null, which is empty. */
static int check_device(attend_lines *l, mode_t mode)
{
    if (!S_ISBLK(mode) && (!S_ISCHR(mode) || isatty(l->file))) return ATTEND_OK;
    const int status = S_ISCHR(mode) ? read_file(l) : ATTEND_OK;
    if (status != ATTEND_OK || l->at_end) return status;
    return attend_fail(ATTEND_IO, "cannot read %s: it is a device; name a file", l->name);
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
    l->is_regular = S_ISREG(s.st_mode);
    const int status = check_device(l, s.st_mode);
    return status == ATTEND_OK ? detect_format(l) : status;
}

int attend_lines_open(attend_lines **out, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path);
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    *out = NULL;
    attend_lines *l = attend_memory_zeroed(1, sizeof *l);
    if (!l) return attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", name);
    l->file = -1, l->limit = UINT64_MAX;
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

/* Whether more bytes of the file are needed to continue. Zeros between gzip members, and after the last, are padding. */
static bool needs_input(attend_lines *l)
{
    const bool between_members = l->gzip && !l->in_member;
    while (between_members && l->input_at < l->input_end && l->input[l->input_at] == 0) l->input_at++;
    return !l->at_end && l->input_end - l->input_at < (between_members ? 2 : 1);
}

/* Between two members, or after the last: anything but padding is an error. */
static int between_members(attend_lines *l)
{
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

/* Adds more bytes to the text, or reads more bytes of the file: one of the two. */
static int fill(attend_lines *l)
{
    int status = make_room(l);
    if (status != ATTEND_OK) return status;
    if (needs_input(l)) return read_file(l);
    const size_t before = l->end;
    if (l->gzip) {
        status = inflate_some(l);
    } else {
        const size_t count = l->input_end - l->input_at;
        memcpy(l->text + l->end, l->input + l->input_at, count);
        l->end += count;
        l->input_at = l->input_end;
        l->complete = count == 0;
    }
    l->read += l->end - before;
    if (status != ATTEND_OK || l->read <= l->limit) return status;
    return fail_with(l, attend_fail(ATTEND_BAD_DATA, "%s has more than %llu MiB of text, the limit", l->name,
                                    (unsigned long long)l->limit >> 20));
}

/* --- lines --- */

/* Returns the line that ends at `stop`; the next one begins at `next`. */
static int return_line(attend_lines *l, size_t stop, size_t next, const char **text, size_t *size)
{
    const size_t begin = l->begin;
    const bool too_long = l->skipped > 0;
    l->number++;
    l->begin = l->scanned = next;
    l->skipped = 0;
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

/* Whether the next line, the end or an error has been read. `scanned` is then the end of the line. */
static bool has_next(attend_lines *l)
{
    const char *feed = memchr(l->text + l->scanned, '\n', l->end - l->scanned);
    l->scanned = feed ? (size_t)(feed - l->text) : l->end;
    return feed || l->gzip_error || l->complete;
}

/* Reads more of the current line; the beginning of a line that is too long is dropped. */
static int read_more(attend_lines *l)
{
    if (l->end - l->begin > ATTEND_MAX_LINE_BYTES + 1) { /* its last byte may be a CR */
        l->skipped += l->end - l->begin;
        l->begin = l->scanned = l->end = 0;
    }
    if (l->skipped > ATTEND_MAX_SKIPPED_BYTES)
        return fail_with(l, attend_fail(ATTEND_BAD_DATA, "%s:%llu: no line feed in %d MiB; this is no text", l->name,
                                        (unsigned long long)l->number + 1, ATTEND_MAX_SKIPPED_BYTES >> 20));
    const int status = fill(l);
    if (status == ATTEND_OK && l->skipped == 0) skip_mark(l);
    return status;
}

/* Reports a failure with its own message once, for it may have happened in attend_lines_wait. */
static int report_failure(attend_lines *l)
{
    const bool again = l->is_reported;
    l->is_reported = true;
    return again ? attend_fail(l->failure, "cannot continue reading %s after an earlier failure", l->name)
                 : attend_fail(l->failure, "%s", l->message);
}

int attend_lines_next(attend_lines *l, const char **text, size_t *size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, l && text && size);
    *text = NULL;
    *size = 0;
    while (!l->failure && !has_next(l)) read_more(l);
    if (l->failure) return report_failure(l);
    if (l->scanned < l->end) return return_line(l, l->scanned, l->scanned + 1, text, size);
    if (l->gzip_error) {
        fail_gzip(l);
        return report_failure(l);
    }
    if (l->begin == l->end && l->skipped == 0) return ATTEND_OK;
    return return_line(l, l->end, l->end, text, size);
}

bool attend_lines_failed(const attend_lines *l)
{
    ATTEND_REQUIRE(true, l);
    return l->failure != ATTEND_OK;
}

void attend_lines_set_limit(attend_lines *l, uint64_t bytes)
{
    ATTEND_REQUIRE_VOID(l);
    l->limit = bytes;
}

static int64_t milliseconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until the file can be read without waiting; false at the deadline. An error is reported by reading. */
static bool wait_for_input(const attend_lines *l, int64_t deadline)
{
    struct pollfd p = { .fd = l->file, .events = POLLIN };
    for (int64_t left = 0;; left = deadline - milliseconds_now()) {
        const int ready = poll(&p, 1, left > 0 ? (int)left : 0);
        if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
        if (ready == 0 && milliseconds_now() >= deadline) return false;
    }
}

bool attend_lines_wait(attend_lines *l, int milliseconds)
{
    ATTEND_REQUIRE(true, l);
    const int64_t deadline = milliseconds > 0 ? milliseconds_now() + milliseconds : 0;
    while (!l->failure && !has_next(l)) {
        if (needs_input(l) && !l->is_regular && !wait_for_input(l, deadline)) return false;
        read_more(l);
    }
    return true;
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
