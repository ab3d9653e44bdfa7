/* file_content.c: recognises kinds of files by their beginning, and models and aligners by their metadata. */
#include <attend/file_content.h>

#include "core/status.h"
#include <attend/aligner.h>
#include <attend/trainer.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[ATTEND_CONTENTS] = {
    [ATTEND_CONTENT_TEXT] = "a text",           [ATTEND_CONTENT_JSON] = "JSON",
    [ATTEND_CONTENT_SVG] = "an SVG picture",    [ATTEND_CONTENT_HTML] = "an HTML page",
    [ATTEND_CONTENT_PNG] = "a PNG picture",     [ATTEND_CONTENT_PDF] = "a PDF document",
    [ATTEND_CONTENT_NPZ] = "a NumPy archive",   [ATTEND_CONTENT_MODEL] = "a model",
    [ATTEND_CONTENT_ALIGNER] = "a word aligner"
};

/* The first bytes of a file; a '\0' follows them. */
typedef struct beginning {
    char bytes[4097];
    size_t size;
} beginning;

static bool begins(const beginning *b, const char *with, size_t size)
{
    return b->size >= size && memcmp(b->bytes, with, size) == 0;
}

/* Whether the first word of a text is this one, in upper or lower case. */
static bool begins_word(const beginning *b, const char *word)
{
    const char *text = b->bytes + (begins(b, "\xef\xbb\xbf", 3) ? 3 : 0);
    return strncasecmp(text + strspn(text, " \t\r\n"), word, strlen(word)) == 0;
}

/* A tensor file begins with the size of its header, which is a JSON object; in a damaged one it has any bytes. */
static bool is_tensor_file(const beginning *b)
{
    static const char header[] = "{\"__metadata__\"";
    return b->size >= 8 + sizeof header - 1 && memcmp(b->bytes + 8, header, sizeof header - 1) == 0;
}

/* A compressed file can be free of NUL bytes in its beginning. */
static bool is_text(const beginning *b)
{
    static const struct {
        const char *bytes;
        size_t size;
    } others[] = { { "\x1f\x8b", 2 },
                   { "\xfd"
                     "7zXZ",
                     5 },
                   { "\x28\xb5\x2f\xfd", 4 },
                   { "BZh", 3 },
                   { "PK\3\4", 4 },
                   { "%PDF-", 5 },
                   { "\x89PNG", 4 },
                   { "\x7f"
                     "ELF",
                     4 } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (begins(b, others[i].bytes, others[i].size)) return false;
    return !memchr(b->bytes, '\0', b->size) && !is_tensor_file(b);
}

static bool is_content(const beginning *b, attend_content written)
{
    switch (written) {
    case ATTEND_CONTENT_TEXT:
        return is_text(b);
    case ATTEND_CONTENT_JSON:
        return is_text(b) && (begins_word(b, "{") || begins_word(b, "["));
    case ATTEND_CONTENT_SVG:
        return is_text(b) && (begins_word(b, "<svg") || (begins_word(b, "<?xml") && strstr(b->bytes, "<svg")));
    case ATTEND_CONTENT_HTML:
        return is_text(b) && (begins_word(b, "<!doctype html") || begins_word(b, "<html"));
    case ATTEND_CONTENT_PNG:
        return begins(b, "\x89PNG", 4);
    case ATTEND_CONTENT_PDF:
        return begins(b, "%PDF-", 5);
    case ATTEND_CONTENT_NPZ:
        return begins(b, "PK\3\4", 4);
    default:
        return false;
    }
}

static int refuse(const char *path, attend_content written, const char *before)
{
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s%s exists and is not %s, which would replace it: choose another output file, or move "
                       "this one",
                       before, path, names[written]);
}

/* Models and aligners are files of one format. */
static int check_tensor_file(const char *path, attend_content written, const char *before)
{
    bool is_checkpoint = false;
    const int status =
        written == ATTEND_CONTENT_MODEL ? attend_is_checkpoint(path, &is_checkpoint) : attend_aligner_check_file(path);
    if (is_checkpoint)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s%s is a checkpoint, from which training resumes: choose another output file", before,
                           path);
    return status == ATTEND_BAD_MODEL ? refuse(path, written, before) : status;
}

static int cannot(const char *what, const char *path)
{
    return attend_fail(ATTEND_IO, "cannot %s %s, which exists: %s", what, path, attend_errno_text(errno));
}

int attend_content_check(const char *path, attend_content written, const char *before)
{
    struct stat s;
    beginning b;
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path && (unsigned)written < ATTEND_CONTENTS);
    if (!before) before = "";
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) return ATTEND_OK; /* opening it fails if it must */
    if (access(path, W_OK) != 0) return cannot("write", path);
    if (s.st_size == 0) return ATTEND_OK;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? pread(file, b.bytes, sizeof b.bytes - 1, 0) : -1;
    if (got < 0) {
        const int status = cannot("read", path);
        if (file >= 0) close(file);
        return status;
    }
    close(file);
    b.size = (size_t)got;
    b.bytes[b.size] = '\0';
    if (written == ATTEND_CONTENT_MODEL || written == ATTEND_CONTENT_ALIGNER)
        return check_tensor_file(path, written, before);
    return is_content(&b, written) ? ATTEND_OK : refuse(path, written, before);
}
