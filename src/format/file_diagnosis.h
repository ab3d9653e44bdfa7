/* file_diagnosis.h: names the format of a file that is not a tensor file. */
#ifndef ATTEND_FORMAT_FILE_DIAGNOSIS_H
#define ATTEND_FORMAT_FILE_DIAGNOSIS_H

#include <stddef.h>

/* Describes the format that the first bytes indicate, with advice, to be printed after "FILE is ": "a NumPy array
 * (.npy); ...". NULL if the format is unknown. Some safetensors headers start like a gzip file, so call this only for
 * a file that is not a valid tensor file. */
const char *attend_diagnose_file(const void *bytes, size_t size);

#endif
