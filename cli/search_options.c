#include "search_options.h"

#include <attend/processors.h>
#define AT(member) offsetof(search_settings, member)
static const option table[] = {
    { "beam", "N", "beam size; 1: greedy search (default: 5)", OPTION_INTEGER, AT(beam), 1, 1024, NULL },
    { "length-penalty", "X",
      "exponent of the length normalisation; larger values favour longer translations (default: 1)", OPTION_REAL,
      AT(length_penalty), 0, 10, NULL },
    { "coverage-penalty", "X",
      "weight of the coverage penalty; larger values favour translations that attend to every source token (default: "
      "0)",
      OPTION_REAL, AT(coverage_penalty), 0, 100, NULL },
    { "length-ratio", "X",
      "a translation has at most X times as many tokens as its source, plus --length-extra (default: 2)", OPTION_REAL,
      AT(length_ratio), 0, 1000, NULL },
    { "length-extra", "N",
      "see --length-ratio (default: 10); with a language model, the maximum number of tokens added to a line (default: "
      "100)",
      OPTION_INTEGER, AT(length_extra), 0, 100000, NULL },
    { "max-input-length", "N", "do not translate lines with more tokens (default: 1000)", OPTION_INTEGER,
      AT(max_input_length), 1, 1e6, NULL },
    { "batch-tokens", "N", "source tokens per batch (default: 1000)", OPTION_INTEGER, AT(batch_tokens), 1, 1e7, NULL },
    { "threads", "N",
      "number of threads; does not change the translations (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
const option_group search_option_group = { "search", "docs/translate.md", table };

search_settings search_settings_defaults(void)
{
    return (search_settings){ .beam = 5,
                              .length_penalty = 1,
                              .length_ratio = 2,
                              .length_extra = 10,
                              .max_input_length = 1000,
                              .batch_tokens = 1000,
                              .threads = attend_processors_threads() };
}

attend_translator_options search_settings_options(const search_settings *s)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = (int)s->beam;
    o.search.length_penalty = s->length_penalty, o.search.coverage_penalty = s->coverage_penalty;
    o.search.length_ratio = s->length_ratio, o.search.length_extra = (int)s->length_extra;
    o.threads = (int)s->threads, o.batch_tokens = (int)s->batch_tokens, o.max_tokens = (int)s->max_input_length;
    return o;
}
