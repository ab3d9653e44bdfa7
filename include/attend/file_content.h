/* file_content.h: what an output file contains. An existing file is replaced only by an output of the same kind, so that a
 * wrong name costs no model, picture or archive. A file that is empty, and one that is write-protected, is of no kind: the
 * first is replaced by any output, the second by none.
 *
 * The functions that write a model or an aligner replace any file: a program whose users choose names asks
 * attend_content_check first, as the command and the Python package do. */
#ifndef ATTEND_FILE_CONTENT_H
#define ATTEND_FILE_CONTENT_H

#include <attend/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_content {
    ATTEND_CONTENT_TEXT, /* lines of any kind: anything without NUL bytes that is not known to be something else */
    ATTEND_CONTENT_JSON,
    ATTEND_CONTENT_SVG,
    ATTEND_CONTENT_HTML,
    ATTEND_CONTENT_PNG,
    ATTEND_CONTENT_PDF,
    ATTEND_CONTENT_NPZ,
    ATTEND_CONTENT_MODEL, /* not a checkpoint, from which training resumes */
    ATTEND_CONTENT_ALIGNER,
    ATTEND_CONTENTS /* number of kinds */
} attend_content;

/* ATTEND_BAD_USAGE if a regular file exists that an output of this kind must not replace. ATTEND_IO: it cannot be read or
 * written. before: what messages say before the path, such as "--output "; may be NULL. */
int attend_content_check(const char *path, attend_content written, const char *before);

#ifdef __cplusplus
}
#endif
#endif
