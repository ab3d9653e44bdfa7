/* case.h: one case of the ONNX backend tests: a directory with model.onnx and test_data_set_N/input_K.pb, output_K.pb. */
#ifndef CONFORMANCE_CASE_H
#define CONFORMANCE_CASE_H

#include <stdbool.h>

/* Whether the directory contains a case: a model or data. If one of the two is missing, the case fails. */
bool case_exists(const char *directory);

/* Runs the node on each of its data sets. Returns CASE_OK, or CASE_FAILED or CASE_SKIPPED with the reason in `message`
 * (MESSAGE_SIZE bytes). */
int case_run(const char *directory, char *message);

/* "directory/name", to be freed by the caller; NULL if memory runs out. */
char *case_path(const char *directory, const char *name);

#endif
