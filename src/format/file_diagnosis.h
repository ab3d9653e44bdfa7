/* file_diagnosis.h: what a file is that is no tensor file. */
#ifndef ATTEND_FORMAT_FILE_DIAGNOSIS_H
#define ATTEND_FORMAT_FILE_DIAGNOSIS_H

#include <stddef.h>

/* Looks at the first bytes: "a NumPy array (.npy); ..." with what to do about it, to stand behind "FILE is "; NULL if they
 * say nothing. Some safetensors headers begin like a gzip file, so ask only about a file that cannot be read. */
const char *attend_file_diagnosis(const void *bytes, size_t size);

#endif
