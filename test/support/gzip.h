/* gzip.h: gzip data for a test. */
#ifndef ATTEND_TEST_GZIP_H
#define ATTEND_TEST_GZIP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* Writes a gzip file to memory and returns its size. Level 0 stores without compression. */
static inline size_t gzip_level(unsigned char *out, size_t capacity, const void *bytes, size_t size, int level)
{
    z_stream z = { 0 };
    if (deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)capacity;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
    const size_t used = capacity - z.avail_out;
    deflateEnd(&z);
    return used;
}

static inline size_t gzip_bytes(unsigned char *out, size_t capacity, const void *bytes, size_t size)
{
    return gzip_level(out, capacity, bytes, size, 6);
}

#endif
