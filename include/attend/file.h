/* file.h: replacing a file atomically, and whether two names are the same file.
 *
 * Purpose    At every moment the path holds either the complete old content or the complete new content. The new
 *            content is written to a temporary file in the same directory, ".NAME.XXXXXX.tmp", flushed to the disk
 *            and renamed over the path; then the directory is flushed. If a step fails, the temporary file is removed
 *            and the old file is unchanged. A process that is killed leaves at most a stale temporary file. Symbolic
 *            links are followed: the link's target is replaced, whether or not it exists. The new file gets the
 *            permissions of the old one (and its owner and group, if the system permits), or those that the umask
 *            gives a new file. A read-only file can be replaced: only its directory must be writable.
 * Ownership  attend_atomic_file_begin creates a replacement; exactly one of _commit and _abandon frees it.
 * Threads    A replacement is used by one thread at a time. Several replacements of the same path may be open; the
 *            last commit wins.
 *
 * Functions fail with ATTEND_IO, and a message that contains the system's error text, or with ATTEND_NO_MEMORY. */
#ifndef ATTEND_FILE_H
#define ATTEND_FILE_H

#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_atomic_file attend_atomic_file;

/* Starts to replace `path`. `size` is the number of bytes to be written, used in messages about a full disk; 0 if
 * unknown. */
int attend_atomic_file_begin(attend_atomic_file **out, const char *path, size_t size);

/* Appends `count` bytes. After a failure the only valid call is _abandon. */
int attend_atomic_file_write(attend_atomic_file *file, const void *bytes, size_t count);

/* Appends formatted text of at most 1023 bytes (longer text is not written). Does nothing if *status is a failure; a
 * failure is stored there. */
void attend_atomic_file_printf(attend_atomic_file *file, int *status, const char *format, ...) ATTEND_PRINTF(3, 4);

/* Replaces the path's content and frees `file`, also on failure. If only flushing the directory failed, the new
 * content is in place but might be lost in a power failure, as the message states. */
int attend_atomic_file_commit(attend_atomic_file *file);

/* Removes the temporary file and frees `file`; the path keeps its old content. `file` may be NULL. */
void attend_atomic_file_abandon(attend_atomic_file *file);

/* Removes the temporary file and does nothing else. Async-signal-safe: for the handler of a signal that ends the
 * process. */
void attend_atomic_file_unlink(const attend_atomic_file *file);

/* Removes stale temporary files of `path`, or, if `numbered`, of all paths that consist of `path` followed by a number.
 * Removes regular files only and ignores failures. The caller guarantees that no replacement of these paths is open. */
void attend_atomic_file_remove_stale(const char *path, bool numbered);

/* ---- identity ---- */

/* Which file a path or a descriptor refers to. Only regular files have an identity: writing to a terminal, a pipe or
 * /dev/null destroys nothing. A path that does not exist yet is identified by its directory and its name in it, so
 * that two paths of one future file are the same. */
typedef struct attend_file_identity {
    uint64_t device, inode; /* of the file, or of the directory of a file that does not exist */
    bool exists;
    char name[256]; /* in the directory; "" if the file exists, or has no identity */
} attend_file_identity;

/* Symbolic links are followed. A path that cannot be resolved has no identity. */
attend_file_identity attend_file_identify(const char *path);
attend_file_identity attend_file_identify_descriptor(int descriptor);
/* False if one of them has no identity. */
bool attend_file_is_same(const attend_file_identity *a, const attend_file_identity *b);

#ifdef __cplusplus
}
#endif
#endif
