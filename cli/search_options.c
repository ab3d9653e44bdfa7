#include "search_options.h"

#include "option_table.h"

#include "compute_option.h"
#include "device_option.h"
#include "memory_option.h"
#include <attend/processors.h>
#define AT(member) offsetof(search_settings, member)
static const option table[] = {
    { "beam", "N", "beam size; 1: greedy search", OPTION_INTEGER, AT(beam), 1, 1024, NULL },
    { "length-penalty", "X", "exponent of the length normalisation; larger values favour longer translations",
      OPTION_REAL, AT(length_penalty), 0, 10, NULL },
    { "coverage-penalty", "X",
      "weight of the coverage penalty; larger values favour translations that attend to every source token",
      OPTION_REAL, AT(coverage_penalty), 0, 100, NULL },
    { "length-ratio", "X", "a translation has at most X times as many tokens as its source, plus --length-extra",
      OPTION_REAL, AT(length_ratio), 0, 1000, NULL },
    { "length-extra", "N",
      "see --length-ratio; with a language model, the maximum number of tokens added to a line, 100 if it is not given",
      OPTION_INTEGER, AT(length_extra), 0, 100000, NULL },
    { "max-input-length", "N", "do not translate lines with more tokens", OPTION_INTEGER, AT(max_input_length), 1, 1e6,
      NULL },
    { "batch-tokens", "N", "source tokens per batch", OPTION_INTEGER, AT(batch_tokens), 1, 1e7, NULL },
    { "threads", "N",
      "number of threads; does not change the translations (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    MEMORY_OPTION(AT(memory), MEMORY_OF_LINES),
    COMPUTE_OPTION(AT(compute)),
    DEVICE_OPTION(AT(device)),
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
const option_group search_option_group = { "search", "docs/translate.md", table, NULL };

search_settings search_settings_defaults(void)
{
    static const attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    return (search_settings){ .beam = o.search.beam,
                              .length_penalty = o.search.length_penalty,
                              .coverage_penalty = o.search.coverage_penalty,
                              .length_ratio = o.search.length_ratio,
                              .length_extra = o.search.length_extra,
                              .max_input_length = o.max_tokens,
                              .batch_tokens = o.batch_tokens,
                              .threads = attend_processors_threads(),
                              .memory = MEMORY_DEFAULT,
                              .compute = (int)o.compute };
}

int search_settings_use_device(const verb *v, search_settings *s, const parsed *p, bool quiet)
{
    return device_option_use(v, p, &(device_choice){ s->device, &s->compute, &s->threads, &s->batch_tokens, quiet });
}

attend_translator_options search_settings_options(const search_settings *s)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = (int)s->beam;
    o.search.length_penalty = s->length_penalty, o.search.coverage_penalty = s->coverage_penalty;
    o.search.length_ratio = s->length_ratio, o.search.length_extra = (int)s->length_extra;
    o.threads = (int)s->threads, o.batch_tokens = (int)s->batch_tokens, o.max_tokens = (int)s->max_input_length;
    o.memory = memory_limit(s->memory);
    o.compute = (attend_compute_precision)s->compute;
    return o;
}

const char *line_fault(const verb *v, char text[LINE_FAULT], const char *fault, bool is_too_long, int max_tokens)
{
    if (!is_too_long) return fault;
    const bool has_option = v && options_find(v, "max-input-length") >= 0;
    snprintf(text, LINE_FAULT, "it is too long: it has more than %d tokens%s", max_tokens,
             has_option ? " (--max-input-length)" : "");
    return text;
}
