/* tensor_header.h: the header of a safetensors file, read and checked as far as it can be without the data. */
#ifndef ATTEND_FORMAT_TENSOR_HEADER_H
#define ATTEND_FORMAT_TENSOR_HEADER_H

#include "format/tensor_file.h"
#include <stdbool.h>

typedef struct attend_tensor_entry {
    attend_tensor tensor;
    size_t begin; /* in the data */
    bool copied;  /* the data is a copy of our own */
} attend_tensor_entry;

typedef struct attend_tensor_header {
    attend_tensor_entry *entries;  /* (count), in the order of the data */
    attend_tensor_entry **by_name; /* (count) */
    size_t count;
    attend_metadata *metadata; /* (metadata_count), in order of keys */
    size_t metadata_count;
    size_t bytes;         /* of data that the tensors cover, without holes or overlaps */
    const char *checksum; /* its digits in the text; NULL: it has none */
    char *pool;           /* the strings */
} attend_tensor_header;

/* `file` is for messages. The text must stay; so must what was read, until it is freed. */
int attend_tensor_header_read(attend_tensor_header *h, const char *text, size_t size, const char *file);
void attend_tensor_header_free(attend_tensor_header *h); /* {0} is fine; copied data too */

const attend_tensor *attend_tensor_header_find(const attend_tensor_header *h, const char *name);
const char *attend_tensor_header_metadata(const attend_tensor_header *h, const char *key);

/* A valid name of a tensor, and a valid key of the metadata: 1 to ATTEND_TENSOR_NAME bytes of UTF-8 without control characters. */
bool attend_tensor_name_is_valid(const char *name);

/* The bytes of a tensor of this type and shape, in *bytes; NULL, or what is wrong with it. The product of the dimensions
 * other than 0 must be in range too, so that no stride can overflow. */
const char *attend_tensor_size(attend_dtype dtype, int rank, const int64_t *shape, size_t *bytes);

#endif
