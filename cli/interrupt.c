#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    if (caught) _exit(128 + number); /* the second signal */
    caught = number;
}

int interrupt_caught(void)
{
    return caught;
}

bool interrupt_stop(void *user)
{
    (void)user;
    return caught != 0;
}

void interrupt_catch(void)
{
    const struct sigaction action = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN };
    struct sigaction before;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* not under nohup */
        sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

void interrupt_catch_user_signal(void)
{
    const struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGUSR1, &action, NULL);
}
