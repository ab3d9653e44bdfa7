/* tensor_header.h: parses and checks the header of a safetensors file. */
#ifndef ATTEND_FORMAT_TENSOR_HEADER_H
#define ATTEND_FORMAT_TENSOR_HEADER_H

#include "format/tensor_file.h"
#include <stdbool.h>

typedef struct attend_tensor_entry {
    attend_tensor tensor;
    size_t begin; /* offset in the data */
} attend_tensor_entry;

typedef struct attend_tensor_header {
    attend_tensor_entry *entries;  /* (count), in the order of the data */
    attend_tensor_entry **by_name; /* (count), sorted by name */
    size_t count;
    attend_metadata *metadata; /* (metadata_count), sorted by key */
    size_t metadata_count;
    size_t bytes;         /* of data, which the tensors cover without gaps or overlaps */
    const char *checksum; /* its digits in the text; NULL: none */
    char *pool;           /* owns the strings */
} attend_tensor_header;

/* `file` is the name in messages. The text is read twice, so that it must be private memory: text that another process
 * can change would not fit the arrays that the first reading counted. It must stay valid until
 * attend_tensor_header_free. */
int attend_tensor_header_read(attend_tensor_header *h, const char *text, size_t size, const char *file);
void attend_tensor_header_free(attend_tensor_header *h); /* {0} is valid */

const attend_tensor *attend_tensor_header_find(const attend_tensor_header *h, const char *name);
const char *attend_tensor_header_metadata(const attend_tensor_header *h, const char *key);

/* A valid name of a tensor, and a valid key of the metadata: 1 to ATTEND_TENSOR_NAME bytes of UTF-8 without control
 * characters. */
bool attend_tensor_name_is_valid(const char *name);

/* Computes the size in bytes of a tensor of this type and shape. Returns NULL, or the error. The product of the
 * nonzero dimensions must be in range too, so that strides cannot overflow. */
const char *attend_tensor_size(attend_dtype dtype, int rank, const int64_t *shape, size_t *bytes);

#endif
