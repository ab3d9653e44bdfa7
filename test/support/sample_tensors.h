/* sample_tensors.h: a tensor of every type, of rank 0 to 4, some of them empty, and names and metadata that need
 * escapes. Byte i of tensor k is 31 k + 7 i + 1 (BOOL: its lowest bit); test/peer/check_tensor_file.py expects the
 * same. */
#ifndef ATTEND_TEST_SAMPLE_TENSORS_H
#define ATTEND_TEST_SAMPLE_TENSORS_H

#include "format/tensor_file.h"
#include <stdio.h>

enum { SAMPLE_COUNT = ATTEND_DTYPES + 3, SAMPLE_BYTES = 1024, SAMPLE_METADATA = 4 };

typedef struct sample {
    attend_tensor tensors[SAMPLE_COUNT];
    char names[SAMPLE_COUNT][64];
    unsigned char data[SAMPLE_COUNT][SAMPLE_BYTES];
} sample;

static const attend_metadata sample_metadata[SAMPLE_METADATA] = {
    { "format", "attend" },
    { "quotes \" and \\", "line\nbreak\ttab \"quoted\" \\ \x01 / end" },
    { "K\xc3\xb6ln \xe6\x9d\xb1\xe4\xba\xac", "\xf0\x9f\x98\x80 \xc3\xa9" },
    { "empty", "" },
};

static inline void sample_make(sample *s)
{
    static const struct {
        int rank;
        int64_t shape[4];
    } shapes[] = { { 0, { 0 } },          { 1, { 5 } }, { 2, { 2, 3 } },    { 3, { 3, 1, 2 } },
                   { 4, { 2, 1, 3, 2 } }, { 1, { 0 } }, { 3, { 4, 0, 7 } }, { 4, { 1, 1, 1, 1 } } };
    for (int k = 0; k < SAMPLE_COUNT; k++) {
        attend_tensor *t = &s->tensors[k];
        *t = (attend_tensor){ .name = s->names[k], .data = s->data[k] };
        t->dtype = (attend_dtype)(k % ATTEND_DTYPES);
        t->rank = shapes[k % 8].rank;
        t->bytes = attend_dtype_size(t->dtype);
        for (int i = 0; i < t->rank; i++) t->bytes *= (size_t)(t->shape[i] = shapes[k % 8].shape[i]);
        snprintf(s->names[k], sizeof s->names[k], k % 5 == 4 ? "layer.%d.\"%s\" \xc3\xa9" : "layer.%d.%s", k,
                 attend_dtype_name(t->dtype));
        for (int i = 0; i < SAMPLE_BYTES; i++)
            s->data[k][i] = (unsigned char)((31 * k + 7 * i + 1) & (t->dtype == ATTEND_BOOL ? 1 : 255));
    }
}

static inline int sample_write(const char *path)
{
    static sample s;
    sample_make(&s);
    return attend_tensor_file_write(path, s.tensors, SAMPLE_COUNT, sample_metadata, SAMPLE_METADATA);
}

#endif
