#include "decode/non_finite.h"

#include "core/status.h"
#include <attend/translator.h>

const char attend_non_finite_fault[] = "the model's probabilities for it are not finite";

int attend_check_finite(const char *model, uint64_t non_finite, uint64_t lines)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, model);
    if (non_finite == 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s: the model's probabilities are not finite for %llu of %llu lines: its weights are too "
                       "large, as after training that diverged; train it again with a lower learning rate",
                       model, (unsigned long long)non_finite, (unsigned long long)lines);
}
