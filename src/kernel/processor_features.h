/* processor_features.h: instruction sets of this machine that need more than a look at the processor. */
#ifndef ATTEND_PROCESSOR_FEATURES_H
#define ATTEND_PROCESSOR_FEATURES_H

#include <stdbool.h>

/* Whether the processor has AMX with tiles of bfloat16 and 8-bit numbers. */
bool attend_has_amx(void);
/* Whether this process may use AMX. Asks Linux for permission, which then holds for all threads of the process. False
 * without AMX, with an operating system that does not know it, or if permission is refused. */
bool attend_request_amx(void);

#endif
