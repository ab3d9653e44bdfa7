/* file_identity.h: the private part of the identities of attend/file.h. */
#ifndef ATTEND_CORE_FILE_IDENTITY_H
#define ATTEND_CORE_FILE_IDENTITY_H

#include <limits.h>

/* Follows symbolic links at the end of a path. realpath() cannot be used: it fails if the target does not exist yet.
 * Returns an errno. */
int attend_follow_links(char path[PATH_MAX]);

#endif
