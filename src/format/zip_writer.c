#include "format/zip_writer.h"

#include "core/status.h"
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL_HEADER = 0x04034b50,
    DIRECTORY_ENTRY = 0x02014b50,
    DIRECTORY_END = 0x06054b50,
    VERSION = 20,      /* 2.0 */
    DATE = 1 << 5 | 1, /* 1980-01-01 */
    CHECKSUM_AT = 14,  /* in a local header; two sizes follow it */
    LOCAL_HEADER_SIZE = 30
};

static void add(attend_zip_writer *w, attend_string *to, const char *bytes, size_t size)
{
    if (w->status == ATTEND_OK) w->status = attend_string_add(to, bytes, size);
}

static void encode(char *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (char)(unsigned char)(number >> (8 * i));
}

static void add_number(attend_zip_writer *w, attend_string *to, uint64_t number, int bytes)
{
    char encoded[8];
    encode(encoded, number, bytes);
    add(w, to, encoded, (size_t)bytes);
}

void attend_zip_put_bytes(attend_zip_writer *w, const char *bytes, size_t size)
{
    add(w, w->to, bytes, size);
}

void attend_zip_put_number(attend_zip_writer *w, uint64_t number, int bytes)
{
    add_number(w, w->to, number, bytes);
}

attend_zip_writer attend_zip_begin(attend_string *to)
{
    attend_zip_writer w = { .to = to, .status = ATTEND_OK };
    to->size = 0;
    return w;
}

/* The fields that a local header and a directory entry share. */
static void add_common(attend_zip_writer *w, attend_string *to, uint32_t checksum, uint64_t size, const char *name)
{
    add_number(w, to, VERSION, 2);
    add_number(w, to, 0, 2); /* flags */
    add_number(w, to, 0, 2); /* stored, not compressed */
    add_number(w, to, 0, 2); /* time */
    add_number(w, to, DATE, 2);
    add_number(w, to, checksum, 4);
    add_number(w, to, size, 4); /* compressed */
    add_number(w, to, size, 4);
    add_number(w, to, strlen(name), 2);
    add_number(w, to, 0, 2); /* no extra field */
}

void attend_zip_begin_file(attend_zip_writer *w, const char *name)
{
    add_number(w, w->to, LOCAL_HEADER, 4);
    add_common(w, w->to, 0, 0, name); /* attend_zip_end_file fills in checksum and size */
    add(w, w->to, name, strlen(name));
    w->file = w->to->size;
}

static bool is_too_large(attend_zip_writer *w)
{
    if (w->status == ATTEND_OK && (uint64_t)w->to->size + w->directory.size > UINT32_MAX)
        w->status = attend_fail(ATTEND_BAD_DATA, "the archive is larger than 4 GiB, the limit of its format");
    return w->status != ATTEND_OK;
}

void attend_zip_end_file(attend_zip_writer *w, const char *name)
{
    if (is_too_large(w)) return;
    const size_t size = w->to->size - w->file, header = w->file - strlen(name) - LOCAL_HEADER_SIZE;
    const uint32_t checksum = (uint32_t)crc32_z(0, (const Bytef *)w->to->text + w->file, size);
    encode(w->to->text + header + CHECKSUM_AT, checksum, 4);
    encode(w->to->text + header + CHECKSUM_AT + 4, size, 4);
    encode(w->to->text + header + CHECKSUM_AT + 8, size, 4);
    attend_string *d = &w->directory;
    add_number(w, d, DIRECTORY_ENTRY, 4);
    add_number(w, d, VERSION, 2); /* made by */
    add_common(w, d, checksum, size, name);
    add_number(w, d, 0, 2); /* no comment */
    add_number(w, d, 0, 2); /* disk */
    add_number(w, d, 0, 2); /* internal attributes */
    add_number(w, d, 0, 4); /* external attributes */
    add_number(w, d, header, 4);
    add(w, d, name, strlen(name));
    w->count++;
}

int attend_zip_end(attend_zip_writer *w)
{
    if (!is_too_large(w)) {
        const size_t at = w->to->size;
        add(w, w->to, w->directory.text ? w->directory.text : "", w->directory.size);
        add_number(w, w->to, DIRECTORY_END, 4);
        add_number(w, w->to, 0, 4); /* this disk, and that of the directory */
        add_number(w, w->to, w->count, 2);
        add_number(w, w->to, w->count, 2);
        add_number(w, w->to, w->directory.size, 4);
        add_number(w, w->to, at, 4);
        add_number(w, w->to, 0, 2); /* no comment */
    }
    attend_string_free(&w->directory);
    return w->status;
}
