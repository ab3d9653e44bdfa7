/* atomic_file.h: writes a file so that its path holds, at every moment, the old content or the new one, whole.
 *
 * Purpose    The bytes go to a temporary in the same folder, ".NAME.XXXXXX.tmp", which is flushed to the disk and then
 *            renamed over the path; then the folder is flushed. Whatever fails, the temporary is removed and the old
 *            file untouched. A process that is killed leaves its temporary behind, and nothing else.
 *            A link is followed: what it points to is replaced, and need not exist yet. The new file has the old one's
 *            permissions (and owner and group, where the system lets us), or those the umask gives a new file. That
 *            the old file itself is read-only does not protect it: it is the folder that must be writable.
 * Ownership  begin makes a replacement; exactly one of commit and abandon frees it.
 * Threads    A replacement belongs to one thread at a time. Any number may write the same path: the last commit wins.
 *
 * All failures are ATTEND_IO with the system's words, or ATTEND_NO_MEMORY. */
#ifndef ATTEND_CORE_ATOMIC_FILE_H
#define ATTEND_CORE_ATOMIC_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct attend_atomic_file attend_atomic_file;

/* `size`: how many bytes are going to be written, for messages about a full disk; 0 if nobody knows. */
int attend_atomic_file_begin(attend_atomic_file **out, const char *path, size_t size);
/* After a failure only abandon makes sense. */
int attend_atomic_file_write(attend_atomic_file *r, const void *bytes, size_t count);
/* Puts the new content in the path's place and frees the replacement, also when it fails. If flushing the folder is what
 * failed, the new content is already in place and only a power cut could still bring the old one back; the message
 * says so. */
int attend_atomic_file_commit(attend_atomic_file *r);
/* Forgets what was written: removes the temporary and frees the replacement. NULL is fine. */
void attend_atomic_file_abandon(attend_atomic_file *r);

/* For the handler of a signal that is going to end the process: removes the temporary, and does nothing else. */
void attend_atomic_file_unlink(const attend_atomic_file *r);

/* Removes the temporaries that killed replacements of `path` left, or, if `numbered`, of all paths that are `path` and a number behind it.
 * Only where nobody else is writing there; only regular files of that name. What cannot be removed stays. */
void attend_atomic_file_sweep(const char *path, bool numbered);

/* printf, at most 1023 bytes at a time, unless *status is a failure already, which stays; a new one is left there. */
void attend_atomic_file_put(attend_atomic_file *r, int *status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For tests: the n-th system call from now (1 is the next) that makes, fills, flushes, closes or renames a file first
 * calls `action` (unless NULL; it may end the process), and then fails with the errno `error` (unless 0), once. A write
 * with ATTEND_SHORT_WRITE takes half of its bytes instead. n = -1 disturbs none and counts; 0 switches both off. */
enum { ATTEND_SHORT_WRITE = -1 };
void attend_atomic_file_disturb(long n, int error, void (*action)(void));
/* Calls counted since the last attend_atomic_file_disturb. */
long attend_atomic_file_calls(void);

#endif
