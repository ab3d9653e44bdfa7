#include "standard_streams.h"

#include <attend/print.h>
#include <attend/status.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool is_closed(int descriptor)
{
    return fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
}

int standard_streams_open(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        if (!is_closed(i)) continue;
        /* open returns the lowest closed descriptor, which is i */
        if (open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY) == i) continue;
        attend_print(stderr, "attend: descriptor %d is closed, and /dev/null cannot be opened in its place: %s\n", i,
                     attend_errno_text(errno));
        return ATTEND_IO;
    }
    return 0;
}
