/* translator_search.c: lines to the sources of one search. */
#include "decode/translator_lines.h"

#include "core/memory.h"
#include "core/status.h"
#include "decode/non_finite.h"
#include <string.h>

int attend_translator_line_tokens(const translator_line *line)
{
    enum { CONTINUATION = 20 };
    return line->texts.setup->is_language_model ? line->prefix.count + CONTINUATION : line->source.count;
}

/* The tokens of one side of all lines, one line after another; NULL: no memory. */
static int *join(translator_line *const *lines, int count, attend_side side, int *lengths)
{
    size_t total = 0, at = 0;
    for (int i = 0; i < count; i++) {
        lengths[i] = side == ATTEND_SOURCE ? lines[i]->source.count : lines[i]->prefix.count;
        total += (size_t)lengths[i];
    }
    int *tokens = attend_memory_zeroed(total, sizeof *tokens);
    for (int i = 0; tokens && i < count; i++) {
        const attend_encoded_text *text = side == ATTEND_SOURCE ? &lines[i]->source : &lines[i]->prefix;
        if (lengths[i] == 0) continue;
        memcpy(tokens + at, attend_pipeline_ids(&lines[i]->texts.sides[side], text),
               (size_t)lengths[i] * sizeof *tokens);
        at += (size_t)lengths[i];
    }
    return tokens;
}

int attend_translator_search(attend_search_result **out, attend_ctx *const *contexts, const translator_setup *setup,
                             const attend_search_options *options, translator_line *const *lines, int count,
                             const translator_hooks *hooks)
{
    int *tokens[2] = { NULL, NULL }, *lengths = attend_memory_zeroed(2 * (size_t)count, sizeof *lengths);
    uint64_t *streams = attend_memory_zeroed((size_t)count, sizeof *streams);
    for (int side = 0; lengths && side < 2; side++)
        tokens[side] = join(lines, count, (attend_side)side, lengths + (size_t)side * (size_t)count);
    int status = tokens[0] && tokens[1] && streams
                     ? ATTEND_OK
                     : attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d lines", count);
    bool has_prefix = false;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        has_prefix |= lengths[count + i] > 0;
        streams[i] = lines[i]->number;
    }
    const attend_search_sources sources = { .count = count,
                                            .tokens = tokens[0],
                                            .lengths = lengths,
                                            .prefix = has_prefix ? tokens[1] : NULL,
                                            .prefix_lengths = has_prefix ? lengths + count : NULL,
                                            .streams = streams,
                                            .stop = hooks->stop,
                                            .user = hooks->user,
                                            .branches = hooks->branches };
    if (status == ATTEND_OK)
        status = attend_search_ensemble(out, contexts, setup->models, setup->model_count, options, &sources);
    for (int side = 0; side < 2; side++) attend_memory_free(tokens[side]);
    attend_memory_free(lengths);
    attend_memory_free(streams);
    return status;
}

int attend_translator_decode_line(attend_ctx *const *contexts, const translator_setup *setup,
                                  const attend_search_options *options, translator_line *line,
                                  const translator_hooks *hooks)
{
    const int status = attend_translator_search(&line->own_search, contexts, setup, options, &line, 1, hooks);
    if (status == ATTEND_OK && attend_search_result_count(line->own_search, 0) > 0)
        return attend_translator_write(line, line->own_search, 0);
    if (status != ATTEND_FAILED) return status;
    line->result.fault = line->fault = attend_non_finite_fault, line->result.is_non_finite = true;
    return ATTEND_OK;
}
