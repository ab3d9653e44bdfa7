/* protobuf.h: the wire format of protocol buffers, read one field at a time from memory.
 *
 * Purpose    Files are untrusted: every length, tag and number is checked against the available bytes. The reader
 *            does not recurse: unused fields are skipped, and groups are refused.
 * Ownership  A reader borrows the bytes, the name and the message buffer (MESSAGE_SIZE bytes).
 * Failure    CASE_FAILED, with a message that names the file and the byte. */
#ifndef CONFORMANCE_PROTOBUF_H
#define CONFORMANCE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

enum { PB_FILE_LIMIT = 64 << 20 }; /* bytes */

/* The bytes [at, end) of a file. */
typedef struct pb_reader {
    const char *name;
    const uint8_t *bytes; /* of the whole file, so that `at` is the offset in messages */
    size_t at, end;
    char *message;
} pb_reader;

typedef enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 } pb_wire;

typedef struct pb_field {
    uint32_t number; /* 1 to 2^29 - 1 */
    pb_wire wire;
    size_t at;          /* of the tag */
    size_t start, size; /* of its content, for every wire type */
    uint64_t value;     /* of a varint or fixed field; 0 for bytes */
} pb_field;

enum { PB_FIELD = -1, PB_END = -2 };

/* Reads the next field, which must end inside the reader: PB_FIELD, PB_END or CASE_FAILED. */
int pb_next(pb_reader *r, pb_field *f);

/* A reader for the content of a field: a message, or the numbers of a repeated field, packed or not. */
pb_reader pb_enter(const pb_reader *r, const pb_field *f);

/* Reads one number of wire type varint, fixed32 or fixed64. */
int pb_number(pb_reader *r, pb_wire wire, uint64_t *value);

/* The signed value of a varint. */
int64_t pb_signed(uint64_t value);

/* Writes the message "name: byte at: ..." and returns CASE_FAILED. */
__attribute__((format(printf, 3, 4))) int pb_refuse(const pb_reader *r, size_t at, const char *format, ...);

/* Reads a regular file of at most PB_FILE_LIMIT bytes into *bytes, which the caller frees. */
int pb_file_read(uint8_t **bytes, size_t *size, const char *path, char *message);

#endif
