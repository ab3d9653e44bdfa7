/* data_files.h: the files of training and validation data that a Python program names. */
#ifndef ATTEND_PYTHON_DATA_FILES_H
#define ATTEND_PYTHON_DATA_FILES_H

#include "core.h"

#include <attend/pairs_file.h>

/* The specs borrow the names. */
typedef struct data_files {
    core_paths paths;
    attend_pairs_spec *specs;
    int count;
} data_files;

/* Reads a path or a list of paths: names of .tsv files, or names in twos; with `lines`, files of monolingual lines. None
 * gives no files. */
bool data_files_read(data_files *d, PyObject *from, bool lines, const char *what);
void data_files_free(data_files *d);

#endif
