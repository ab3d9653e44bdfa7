#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <attend/parse.h>
#include <attend/status.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

/* ---- names ---- */

static void name_socket(listeners *l, int i)
{
    struct sockaddr_storage a = { 0 };
    socklen_t size = sizeof a;
    char host[100] = "", port[16] = "";
    char *name = l->names[i];
    getsockname(l->sockets[i], (struct sockaddr *)&a, &size);
    if (a.ss_family == AF_UNIX) {
        const struct sockaddr_un *u = (const struct sockaddr_un *)&a;
        const size_t path =
            size > offsetof(struct sockaddr_un, sun_path) ? size - offsetof(struct sockaddr_un, sun_path) : 0;
        snprintf(name, sizeof l->names[i], "unix:%.*s", (int)path, u->sun_path);
        return;
    }
    getnameinfo((struct sockaddr *)&a, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(name, sizeof l->names[i], a.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, port);
}

static int add_socket(listeners *l, int fd)
{
    if (l->count == MAX_SOCKETS) {
        close(fd);
        return attend_fail(ATTEND_BAD_USAGE, "there are more than %d addresses to listen to", MAX_SOCKETS);
    }
    l->sockets[l->count] = fd;
    name_socket(l, l->count++);
    return ATTEND_OK;
}

/* ---- addresses ---- */

static int fail_address(const char *address)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s is not an address to listen to; write HOST:PORT, [::1]:PORT or unix:PATH",
                       address);
}

static int fail_socket(const char *address, int fd)
{
    const int error = errno;
    if (fd >= 0) close(fd);
    return attend_fail(ATTEND_IO, "cannot listen to %s: %s", address, attend_errno_text(error));
}

static int listen_to(listeners *l, const char *address, const struct addrinfo *a)
{
    const int on = 1, fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0) return fail_socket(address, fd);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) return fail_socket(address, fd);
    return add_socket(l, fd);
}

static int add_internet(listeners *l, const char *address)
{
    char host[256];
    const char *colon = strrchr(address, ':'), *first = address, *end = colon;
    if (!colon) return fail_address(address);
    if (*address == '[' && colon > address && colon[-1] == ']') first++, end--;
    const size_t size = (size_t)(end - first);
    if (size == 0 || size >= sizeof host || (first == address && memchr(first, ':', size)))
        return fail_address(address);
    memcpy(host, first, size);
    host[size] = '\0';
    uint64_t port = 0;
    const char *rest = NULL;
    if (colon[1] < '0' || colon[1] > '9' || !attend_parse_unsigned(colon + 1, &rest, &port) || *rest || port > 65535)
        return attend_fail(ATTEND_BAD_USAGE, "cannot listen to %s: a port is a number from 0 to 65535", address);
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    const int error = getaddrinfo(host, colon + 1, &wanted, &found);
    if (error) {
        return attend_fail(ATTEND_BAD_USAGE, "cannot listen to %s: %s; write HOST:PORT, [::1]:PORT or unix:PATH",
                           address, gai_strerror(error));
    }
    const int status = listen_to(l, address, found);
    freeaddrinfo(found);
    return status;
}

/* Removes a socket that a process which ended has left. One that cannot be connected to for another reason is in use:
 * it is a datagram socket, it belongs to another user, or too many clients wait there. */
static int remove_stale(const char *address, const struct sockaddr_un *a)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return fail_socket(address, fd);
    const bool is_stale =
        connect(fd, (const struct sockaddr *)a, sizeof *a) != 0 && (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    if (!is_stale)
        return attend_fail(ATTEND_IO, "cannot listen to %s: another process uses it; choose another path", address);
    if (unlink(a->sun_path) != 0 && errno != ENOENT) return fail_socket(address, -1);
    return ATTEND_OK;
}

static int add_unix(listeners *l, const char *address, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct stat there;
    if (!*path || strlen(path) >= sizeof a.sun_path)
        return attend_fail(ATTEND_BAD_USAGE, "the path of a Unix socket has 1 to %zu bytes; %s has another length",
                           sizeof a.sun_path - 1, address);
    memcpy(a.sun_path, path, strlen(path) + 1);
    const bool exists = lstat(path, &there) == 0;
    if (exists && !S_ISSOCK(there.st_mode))
        return attend_fail(ATTEND_IO, "cannot listen to %s: it exists and is not a socket; choose another path",
                           address);
    const int status = exists ? remove_stale(address, &a) : ATTEND_OK;
    if (status != ATTEND_OK) return status;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0) return fail_socket(address, fd);
    if (listen(fd, BACKLOG) != 0 || lstat(path, &there) != 0) {
        const int failed = fail_socket(address, fd);
        unlink(path);
        return failed;
    }
    if (add_socket(l, fd) != ATTEND_OK) {
        unlink(path);
        return ATTEND_BAD_USAGE;
    }
    l->unix_sockets[l->count - 1] = (unix_socket){ path, there.st_dev, there.st_ino };
    return ATTEND_OK;
}

int listeners_add(listeners *l, const char *address)
{
    return strncmp(address, "unix:", 5) == 0 ? add_unix(l, address, address + 5) : add_internet(l, address);
}

void listeners_remove(listeners *l)
{
    struct stat there;
    for (int i = 0; i < l->count; i++) {
        unix_socket *u = &l->unix_sockets[i];
        if (u->path && lstat(u->path, &there) == 0 && there.st_dev == u->device && there.st_ino == u->inode)
            unlink(u->path);
        u->path = NULL;
    }
}

/* ---- systemd ---- */

int listeners_from_systemd(listeners *l, bool *found)
{
    enum { FIRST = 3 }; /* SD_LISTEN_FDS_START */
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    *found = pid && count && strtol(pid, NULL, 10) == (long)getpid();
    if (!*found) return ATTEND_OK;
    const long n = strtol(count, NULL, 10);
    if (n < 1 || n > MAX_SOCKETS)
        return attend_fail(ATTEND_BAD_USAGE, "systemd passes %ld sockets; there must be 1 to %d", n, MAX_SOCKETS);
    for (int fd = FIRST; fd < FIRST + (int)n; fd++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
            return attend_fail(ATTEND_BAD_USAGE,
                               "descriptor %d, which LISTEN_FDS passes, is not a socket that accepts connections", fd);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        const int status = add_socket(l, fd);
        if (status != ATTEND_OK) return status;
    }
    unsetenv("LISTEN_PID"), unsetenv("LISTEN_FDS");
    return ATTEND_OK;
}

void notify_systemd(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof a.sun_path) return;
    memcpy(a.sun_path, path, strlen(path));
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (a.sun_path[0] == '@') a.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a, size) < 0) errno = 0; /* best effort */
    close(fd);
}
