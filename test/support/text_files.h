/* text_files.h: text files for tests. */
#ifndef ATTEND_TEST_TEXT_FILES_H
#define ATTEND_TEST_TEXT_FILES_H

#include "support/folder.h"
#include "support/gzip.h"

/* Writes a string to a file of the directory and returns its path (valid as for in_folder). */
static inline const char *text_file(const char *name, const char *text)
{
    const char *path = in_folder(name);
    put_file(path, text, strlen(text));
    return path;
}

#endif
