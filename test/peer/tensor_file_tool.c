/* For check_tensor_file.py: --write PATH writes the sample; --list PATH lists the content of a file, one line per tensor
 * (name, type, shape, bytes in hex, separated by TABs) and one line per metadata entry. */
#include "support/sample_tensors.h"
#include <string.h>

static int list(const char *path)
{
    attend_tensor_file *f = NULL;
    int status = attend_tensor_file_open(&f, path, 0);
    for (size_t i = 0; status == ATTEND_OK && i < attend_tensor_file_count(f); i++) {
        const attend_tensor *t = attend_tensor_file_at(f, i);
        printf("tensor\t%s\t%s\t", t->name, attend_dtype_name(t->dtype));
        for (int d = 0; d < t->rank; d++) printf(d ? ",%lld" : "%lld", (long long)t->shape[d]);
        printf("\t");
        for (size_t b = 0; b < t->bytes; b++) printf("%02x", ((const unsigned char *)t->data)[b]);
        printf("\n");
    }
    for (size_t i = 0; status == ATTEND_OK && i < attend_tensor_file_metadata_count(f); i++)
        printf("metadata\t%s\t%s\n", attend_tensor_file_metadata_at(f, i)->key,
               attend_tensor_file_metadata_at(f, i)->value);
    attend_tensor_file_close(f);
    return status;
}

int main(int argc, char **argv)
{
    int status = ATTEND_BAD_USAGE;
    if (argc == 3 && strcmp(argv[1], "--write") == 0) status = sample_write(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--list") == 0) status = list(argv[2]);
    if (status != ATTEND_OK) fprintf(stderr, "%s\n", attend_message());
    return status;
}
