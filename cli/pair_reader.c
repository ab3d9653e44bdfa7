#include "pair_reader.h"

#include <attend/status.h>
#include "nul_bytes.h"
#include <stdlib.h>
#include <string.h>

static void clear(pair_reader *r)
{
    for (int i = 0; i < r->count; i++) free(r->sources[i]), free(r->targets[i]);
    r->first += (unsigned long long)r->count;
    r->count = 0;
}

int pair_reader_open(pair_reader **out, const pairs_list *list)
{
    pair_reader *r = calloc(1, sizeof *r);
    if (!r) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading pairs");
    const int status = attend_pairs_file_open(&r->file, list->items, list->count);
    if (status == ATTEND_OK)
        *out = r;
    else
        free(r);
    return status;
}

void pair_reader_close(pair_reader *r)
{
    if (!r) return;
    clear(r);
    attend_pairs_file_close(r->file);
    free(r);
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

int pair_reader_next(pair_reader *r)
{
    enum { MAX_BYTES = 4 << 20 };
    size_t bytes = 0;
    clear(r);
    while (r->count < PAIR_READER_BATCH && bytes < MAX_BYTES) {
        attend_text_pair p;
        int status = attend_pairs_file_next(r->file, &p);
        const bool too_long = status != ATTEND_OK && attend_pairs_file_fault(r->file) == ATTEND_PAIR_TOO_LONG;
        if (too_long) {
            p = (attend_text_pair){ .source = "", .target = "" };
            status = ATTEND_OK;
        }
        if (status == ATTEND_OK && !p.source) break;
        if (status == ATTEND_OK) status = nul_bytes_check_pair(&p);
        if (status != ATTEND_OK) return status;
        const int i = r->count++;
        bytes += p.source_size + p.target_size;
        r->too_long[i] = too_long;
        r->sources[i] = copy_of(p.source, p.source_size);
        r->targets[i] = copy_of(p.target, p.target_size);
        if (!r->sources[i] || !r->targets[i]) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading pairs");
    }
    return ATTEND_OK;
}

const attend_scored_pair *pair_reader_result(const pair_reader *r, int i, const attend_scored_pair *scored)
{
    static const attend_scored_pair too_long = { .source_text = "",
                                                 .target_text = "",
                                                 .fault = "a line has more than 16 MiB" };
    return r->too_long[i] ? &too_long : scored;
}
