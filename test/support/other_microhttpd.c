/* other_microhttpd.c: preloaded into a server, makes libmicrohttpd 0.9 behave as 1.0 does where 0.9 gives more than its
 * documentation promises: what MHD_get_connection_info returns is valid until its next call only, and headers are not next
 * to each other in a buffer. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

const char *MHD_get_version(void)
{
    return "1.0.0";
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *c, enum MHD_ConnectionInfoType type, ...)
{
    static _Thread_local union MHD_ConnectionInfo info;
    const union MHD_ConnectionInfo *(*original)(struct MHD_Connection *, enum MHD_ConnectionInfoType, ...);
    *(void **)&original = next("MHD_get_connection_info");
    const union MHD_ConnectionInfo *found = original(c, type);
    memset(&info, 0xff, sizeof info);
    if (!found) return NULL;
    if (type == MHD_CONNECTION_INFO_CONNECTION_FD)
        info.connect_fd = found->connect_fd;
    else if (type == MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
        info.header_size = found->header_size;
    else if (type == MHD_CONNECTION_INFO_CLIENT_ADDRESS)
        info.client_addr = found->client_addr;
    else if (type == MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        info.socket_context = found->socket_context;
    else
        abort(); /* a case is missing here */
    return &info;
}

typedef struct copying {
    MHD_KeyValueIterator original;
    void *user;
} copying;

static enum MHD_Result copy(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    static _Thread_local char names[1 << 16], values[1 << 16];
    const copying *to = user;
    strncpy(names, name, sizeof names - 1);
    if (value) strncpy(values, value, sizeof values - 1);
    return to->original(to->user, kind, names, value ? values : NULL);
}

int MHD_get_connection_values(struct MHD_Connection *c, enum MHD_ValueKind kind, MHD_KeyValueIterator iterator,
                              void *user)
{
    int (*original)(struct MHD_Connection *, enum MHD_ValueKind, MHD_KeyValueIterator, void *);
    *(void **)&original = next("MHD_get_connection_values");
    copying to = { iterator, user };
    return original(c, kind, iterator ? copy : NULL, iterator ? &to : NULL);
}
