#include "serve/api_keys.h"

#include <attend/lines.h>
#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

static int add(api_keys *k, const char *path, unsigned long long number, const char *line, size_t size)
{
    while (size > 0 && (line[size - 1] == ' ' || line[size - 1] == '\t' || line[size - 1] == '\r')) size--;
    if (size == 0 || line[0] == '#') return ATTEND_OK;
    if (size < 8 || size > MAX_KEY)
        return attend_fail(ATTEND_BAD_DATA, "%s:%llu: a key must have 8 to %d characters; this one has %zu", path,
                           number, MAX_KEY, size);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] <= ' ' || line[i] == 0x7f)
            return attend_fail(ATTEND_BAD_DATA, "%s:%llu: a key contains white space or a control character", path,
                               number);
    if (k->count == k->capacity) {
        const int capacity = k->capacity ? 2 * k->capacity : 16;
        void *keys = realloc(k->keys, (size_t)capacity * sizeof *k->keys);
        if (!keys) return attend_fail(ATTEND_NO_MEMORY, "out of memory for keys");
        k->keys = keys, k->capacity = capacity;
    }
    memset(k->keys[k->count], 0, sizeof *k->keys);
    memcpy(k->keys[k->count++], line, size);
    return ATTEND_OK;
}

int api_keys_read(api_keys *k, const char *path)
{
    attend_lines *lines = NULL;
    const char *line = NULL;
    size_t size;
    enum { MAX_BYTES = 1 << 20 }; /* a pipe may have no end */
    *k = (api_keys){ 0 };
    int status = attend_lines_open(&lines, path);
    if (status == ATTEND_OK) attend_lines_set_limit(lines, MAX_BYTES);
    for (unsigned long long number = 1; status == ATTEND_OK; number++) {
        status = attend_lines_next(lines, &line, &size);
        if (status != ATTEND_OK || !line) break;
        status = add(k, path, number, line, size);
    }
    attend_lines_close(lines);
    if (status == ATTEND_OK && k->count == 0)
        status = attend_fail(ATTEND_BAD_DATA, "%s has no keys; write one on each line", path);
    if (status != ATTEND_OK) api_keys_free(k);
    return status;
}

void api_keys_free(api_keys *k)
{
    free(k->keys);
    *k = (api_keys){ 0 };
}

/* All bytes of all keys are compared. */
int api_keys_find(const api_keys *k, const char *key)
{
    char given[MAX_KEY + 1] = { 0 };
    const size_t size = strlen(key);
    int found = -1;
    if (size > MAX_KEY) return -1;
    memcpy(given, key, size + 1);
    for (int i = 0; i < k->count; i++) {
        volatile unsigned char difference = 0;
        for (int j = 0; j <= MAX_KEY; j++) difference |= (unsigned char)(given[j] ^ k->keys[i][j]);
        const int equal = (int)(((unsigned)difference - 1u) >> 31); /* 1 if there is none */
        found = equal * i + (1 - equal) * found;
    }
    return found;
}
