/* interrupt.h: signals that ask a long work to end in good order: SIGINT, SIGTERM, and SIGHUP unless it is ignored. A second one ends at once. */
#ifndef ATTEND_CLI_INTERRUPT_H
#define ATTEND_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on. A pipe that nobody reads and a file that may not grow become errors like any other. */
void interrupt_catch(void);
/* The signal that came; 0: none yet. */
int interrupt_caught(void);
/* attend_train_events.stop */
bool interrupt_stop(void *user);

#endif
