/* protobuf.c: the wire format, as https://protobuf.dev/programming-guides/encoding describes it. */
#include "protobuf.h"

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pb_refuse(const pb_reader *r, size_t at, const char *format, ...)
{
    char what[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return message_set(r->message, CASE_FAILED, "%s: byte %zu: %s", r->name, at, what);
}

static int read_varint(pb_reader *r, uint64_t *value)
{
    size_t first = r->at;
    uint64_t sum = 0;
    for (int i = 0; i < 10; i++) {
        if (r->at == r->end) return pb_refuse(r, first, "a number is cut off after %d bytes", i);
        uint8_t byte = r->bytes[r->at++];
        if (i == 9 && byte > 1) break; /* only one bit is left */
        sum |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value = sum;
            return CASE_OK;
        }
    }
    return pb_refuse(r, first, "a number does not fit 64 bits");
}

static int read_fixed(pb_reader *r, size_t width, uint64_t *value)
{
    if (r->end - r->at < width)
        return pb_refuse(r, r->at, "a number of %zu bytes is cut off after %zu", width, r->end - r->at);
    uint64_t sum = 0;
    for (size_t i = 0; i < width; i++) sum |= (uint64_t)r->bytes[r->at + i] << (8 * i);
    r->at += width;
    *value = sum;
    return CASE_OK;
}

int pb_number(pb_reader *r, pb_wire wire, uint64_t *value)
{
    if (wire == PB_FIXED32) return read_fixed(r, 4, value);
    if (wire == PB_FIXED64) return read_fixed(r, 8, value);
    return read_varint(r, value);
}

/* Skips a length and that many bytes. */
static int read_bytes(pb_reader *r, pb_field *f)
{
    uint64_t length;
    size_t at = r->at;
    if (read_varint(r, &length) != CASE_OK) return CASE_FAILED;
    if (length > r->end - r->at)
        return pb_refuse(r, at, "field %" PRIu32 " of %" PRIu64 " bytes runs past the end, %zu bytes away", f->number,
                         length, r->end - r->at);
    f->start = r->at;
    f->size = (size_t)length;
    f->value = 0;
    r->at += f->size;
    return CASE_OK;
}

int pb_next(pb_reader *r, pb_field *f)
{
    if (r->at == r->end) return PB_END;
    uint64_t tag;
    f->at = r->at;
    if (read_varint(r, &tag) != CASE_OK) return CASE_FAILED;
    if (tag > UINT32_MAX) return pb_refuse(r, f->at, "a tag of %" PRIu64 " does not fit 32 bits", tag);
    f->number = (uint32_t)(tag >> 3);
    if (f->number == 0) return pb_refuse(r, f->at, "field number 0 is not allowed");
    int type = (int)(tag & 7);
    if (type == 3 || type == 4)
        return pb_refuse(r, f->at, "field %" PRIu32 " is a group, which ONNX has not", f->number);
    if (type == 6 || type == 7)
        return pb_refuse(r, f->at, "field %" PRIu32 " has wire type %d, which does not exist", f->number, type);
    f->wire = (pb_wire)type;
    if (f->wire == PB_BYTES) return read_bytes(r, f) == CASE_OK ? PB_FIELD : CASE_FAILED;
    f->start = r->at;
    if (pb_number(r, f->wire, &f->value) != CASE_OK) return CASE_FAILED;
    f->size = r->at - f->start;
    return PB_FIELD;
}

pb_reader pb_enter(const pb_reader *r, const pb_field *f)
{
    pb_reader inner = *r;
    inner.at = f->start;
    inner.end = f->start + f->size;
    return inner;
}

int64_t pb_signed(uint64_t value)
{
    int64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}

/* ---- files ---- */

static int read_all(int file, uint8_t *bytes, size_t size, const char *path, char *message)
{
    size_t have = 0;
    while (have < size) {
        ssize_t got = read(file, bytes + have, size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return message_set(message, CASE_FAILED, "%s: byte %zu: %s", path, have, strerror(errno));
        if (got == 0)
            return message_set(message, CASE_FAILED, "%s: byte %zu: the file shrank while it was read", path, have);
        have += (size_t)got;
    }
    return CASE_OK;
}

static int read_file(int file, uint8_t **bytes, size_t *size, const char *path, char *message)
{
    struct stat info;
    if (fstat(file, &info) != 0) return message_set(message, CASE_FAILED, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return message_set(message, CASE_FAILED, "%s: not a regular file", path);
    if (info.st_size > PB_FILE_LIMIT)
        return message_set(message, CASE_FAILED, "%s: %jd bytes are more than the limit of %d", path,
                           (intmax_t)info.st_size, PB_FILE_LIMIT);
    size_t wanted = (size_t)info.st_size;
    uint8_t *space = malloc(wanted > 0 ? wanted : 1);
    if (space == NULL) return message_set(message, CASE_FAILED, "%s: no memory for %zu bytes", path, wanted);
    if (read_all(file, space, wanted, path, message) != CASE_OK) {
        free(space);
        return CASE_FAILED;
    }
    *bytes = space;
    *size = wanted;
    return CASE_OK;
}

int pb_file_read(uint8_t **bytes, size_t *size, const char *path, char *message)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* O_NONBLOCK: do not block on a pipe */
    if (file < 0) return message_set(message, CASE_FAILED, "%s: %s", path, strerror(errno));
    int status = read_file(file, bytes, size, path, message);
    close(file);
    return status;
}
