/* listen.h: listening sockets: addresses, Unix sockets, and sockets that systemd passes on. */
#ifndef ATTEND_CLI_SERVE_LISTEN_H
#define ATTEND_CLI_SERVE_LISTEN_H

#include <stdbool.h>
#include <sys/stat.h>

enum { MAX_SOCKETS = 16 };

/* A Unix socket in the file system, which may be replaced by that of another process. */
typedef struct unix_socket {
    const char *path; /* NULL: none */
    dev_t device;
    ino_t inode;
} unix_socket;

typedef struct listeners {
    int sockets[MAX_SOCKETS];
    char names[MAX_SOCKETS][160]; /* "http://127.0.0.1:5000" */
    unix_socket unix_sockets[MAX_SOCKETS];
    int count;
} listeners;

/* Sockets of systemd (LISTEN_FDS), if this process was given any; *found says so. */
int listeners_from_systemd(listeners *l, bool *found);
/* Adds "HOST:PORT", "[::1]:PORT" or "unix:PATH". Port 0: one that is free; the name has it. A Unix socket that no
 * process has open is replaced; no other file is. ATTEND_BAD_USAGE: not an address; ATTEND_IO: it cannot be used. */
int listeners_add(listeners *l, const char *address);
/* Removes the Unix sockets that were added from the file system; a later call does nothing. The sockets themselves are the server's. */
void listeners_remove(listeners *l);
/* Tells systemd about a state: "READY=1". Does nothing without systemd. */
void notify_systemd(const char *state);

#endif
