/* output_content.h: what an output file contains. An existing file is replaced only by an output of the same kind, so that
 * a wrong name costs no model, picture or archive. A file that is empty, and one that is write-protected, is of no kind:
 * the first is replaced by any output, the second by none. */
#ifndef ATTEND_CLI_OUTPUT_CONTENT_H
#define ATTEND_CLI_OUTPUT_CONTENT_H

typedef enum output_content {
    CONTENT_TEXT, /* lines of any kind: anything without NUL bytes that is not known to be something else */
    CONTENT_JSON,
    CONTENT_SVG,
    CONTENT_HTML,
    CONTENT_PNG,
    CONTENT_PDF,
    CONTENT_NPZ,
    CONTENT_MODEL, /* not a checkpoint, from which training resumes */
    CONTENT_ALIGNER,
    CONTENTS
} output_content;

/* ATTEND_BAD_USAGE, with a message that begins with the name of the option, if a regular file exists that an output of
 * this kind must not replace. ATTEND_IO: it cannot be read or written. */
int output_content_check(const char *path, output_content written, const char *option);

#endif
