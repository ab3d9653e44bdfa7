/* architecture.c: the list of architectures. */
#include "model/architecture.h"

extern const architecture attend_rnn, attend_transformer, attend_lstmn;

const architecture *const attend_architectures[] = {
    [ATTEND_ARCHITECTURE_RNN] = &attend_rnn,
    [ATTEND_ARCHITECTURE_TRANSFORMER] = &attend_transformer,
    [ATTEND_ARCHITECTURE_LSTMN] = &attend_lstmn,
    NULL,
};

bool attend_config_has_architecture(const attend_config *c)
{
    int count = 0;
    while (attend_architectures[count]) count++;
    return c && (int)c->architecture >= 0 && (int)c->architecture < count;
}
