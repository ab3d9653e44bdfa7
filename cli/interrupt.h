/* interrupt.h: orderly termination of long runs by SIGINT, SIGTERM or SIGHUP (unless ignored). A second signal ends
 * the process at once. */
#ifndef ATTEND_CLI_INTERRUPT_H
#define ATTEND_CLI_INTERRUPT_H

#include <stdbool.h>

/* Installs the handlers, and ignores SIGPIPE so that a closed pipe is an ordinary write error. */
void interrupt_catch(void);
/* The signal received; 0: none. */
int interrupt_caught(void);
/* attend_train_events.stop */
bool interrupt_stop(void *user);

/* SIGUSR1 as well: mpirun forwards it, and schedulers send it before they end a job. After interrupt_catch. */
void interrupt_catch_user_signal(void);

#endif
