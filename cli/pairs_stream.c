#include "pairs_stream.h"

#include "nul_bytes.h"
#include "core/status.h"
#include <stdlib.h>
#include <string.h>

static void clear(pairs_stream *s)
{
    for (int i = 0; i < s->count; i++) free(s->sources[i]), free(s->targets[i]);
    s->first += (unsigned long long)s->count;
    s->count = 0;
}

int pairs_stream_open(pairs_stream **out, const pairs_list *list)
{
    attend_pairs_spec *specs = calloc((size_t)list->count + 1, sizeof *specs);
    pairs_stream *s = calloc(1, sizeof *s);
    int status = specs && s ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to read pairs");
    for (int i = 0; status == ATTEND_OK && i < list->count; i++)
        specs[i] = (attend_pairs_spec){ list->items[i].first, list->items[i].second };
    if (status == ATTEND_OK) status = attend_pairs_file_open(&s->file, specs, list->count);
    free(specs);
    if (status == ATTEND_OK)
        *out = s;
    else
        free(s);
    return status;
}

void pairs_stream_close(pairs_stream *s)
{
    if (!s) return;
    clear(s);
    attend_pairs_file_close(s->file);
    free(s);
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

int pairs_stream_next(pairs_stream *s)
{
    clear(s);
    while (s->count < STREAM_PAIRS) {
        attend_text_pair p;
        int status = attend_pairs_file_next(s->file, &p);
        if (status == ATTEND_OK && !p.source) break;
        if (status == ATTEND_OK) status = byte_zero_refuse_pair(&p);
        if (status != ATTEND_OK) return status;
        s->sources[s->count] = copy_of(p.source, p.source_size);
        s->targets[s->count] = copy_of(p.target, p.target_size);
        s->count++;
        if (!s->sources[s->count - 1] || !s->targets[s->count - 1])
            return attend_fail(ATTEND_NO_MEMORY, "no memory to read pairs");
    }
    return ATTEND_OK;
}
