#include "content_hash.h"

#include <attend/status.h>
#include <errno.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void add_text(XXH3_state_t *state, const char *text, size_t size)
{
    const uint64_t length = size; /* so that "ab", "c" is not "a", "bc" */
    XXH3_64bits_update(state, &length, sizeof length);
    XXH3_64bits_update(state, text, size);
}

int content_hash_pairs(content_hash *h, const pairs_list *list, unsigned long long *pairs)
{
    *pairs = 0;
    snprintf(h->text, sizeof h->text, "none");
    if (list->count == 0) return ATTEND_OK;
    attend_pairs_file *file = NULL;
    XXH3_state_t *state = XXH3_createState();
    int status = state ? attend_pairs_file_open(&file, list->items, list->count)
                       : attend_fail(ATTEND_NO_MEMORY, "out of memory reading pairs");
    if (status == ATTEND_OK) XXH3_64bits_reset(state);
    for (attend_text_pair p = { .source = "" }; status == ATTEND_OK && p.source;) {
        status = attend_pairs_file_next(file, &p);
        if (status != ATTEND_OK || !p.source) continue;
        add_text(state, p.source, p.source_size);
        add_text(state, p.target, p.target_size);
        ++*pairs;
    }
    if (status == ATTEND_OK)
        snprintf(h->text, sizeof h->text, "%llu pairs, %016llx", *pairs, (unsigned long long)XXH3_64bits_digest(state));
    attend_pairs_file_close(file);
    XXH3_freeState(state);
    return status;
}

int content_hash_file(content_hash *h, const char *path)
{
    static char block[1 << 16];
    XXH3_state_t *state = XXH3_createState();
    struct stat s;
    /* a device may have no end, and a pipe can be read only once */
    const bool regular = stat(path, &s) != 0 || S_ISREG(s.st_mode);
    FILE *f = state && regular ? fopen(path, "rb") : NULL;
    int status = ATTEND_OK;
    if (!state) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading %s", path);
    if (!regular)
        status = attend_fail(ATTEND_IO, "cannot read %s: it is not a regular file", path);
    else if (!f)
        status = attend_fail(ATTEND_IO, "cannot read %s: %s", path, attend_errno_text(errno));
    XXH3_64bits_reset(state);
    for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;) XXH3_64bits_update(state, block, n);
    if (f && ferror(f)) status = attend_fail(ATTEND_IO, "cannot read %s: %s", path, attend_errno_text(errno));
    if (f) fclose(f);
    snprintf(h->text, sizeof h->text, "%016llx", (unsigned long long)XXH3_64bits_digest(state));
    XXH3_freeState(state);
    return status;
}
