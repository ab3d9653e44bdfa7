/* case.h: one case of the ONNX backend tests: a folder with model.onnx and test_data_set_N/input_K.pb, output_K.pb. */
#ifndef CONFORMANCE_CASE_H
#define CONFORMANCE_CASE_H

#include <stdbool.h>

/* Does it look like one? A folder with a model or with data is a case: the other half missing is its failure. */
bool case_exists(const char *folder);

/* Runs the node on each of its data sets. CASE_OK, or CASE_FAILED, CASE_SKIPPED with the reason in `message`
 * (MESSAGE_SIZE bytes). */
int case_run(const char *folder, char *message);

/* "folder/name", which the caller frees; NULL: no memory. */
char *case_path(const char *folder, const char *name);

#endif
