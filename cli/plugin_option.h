/* plugin_option.h: the option --score-plugin, which all verbs that train or read a model have in common. */
#ifndef ATTEND_CLI_PLUGIN_OPTION_H
#define ATTEND_CLI_PLUGIN_OPTION_H

#include "options.h"

/* offset: of a texts_list. */
#define PLUGIN_OPTION(offset)                                                                                          \
    {                                                                                                                  \
        "score-plugin", "FILE",                                                                                        \
            "load a score function from a shared object (docs/add-a-score.md), for a model whose attention uses it; "  \
            "its code "                                                                                                \
            "is executed: load only what you trust; may be repeated",                                                  \
            OPTION_PLUGINS, offset, 0, 0, NULL                                                                         \
    }

#endif
