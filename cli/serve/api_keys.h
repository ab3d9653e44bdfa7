/* api_keys.h: keys that clients must send, from a file with one key on each line.
 *
 * Empty lines and lines that begin with # are skipped. A key has 8 to 128 characters without white space. A comparison
 * takes the same time whatever the keys are. */
#ifndef ATTEND_CLI_SERVE_API_KEYS_H
#define ATTEND_CLI_SERVE_API_KEYS_H

enum { MAX_KEY = 128 };

typedef struct api_keys {
    char (*keys)[MAX_KEY + 1]; /* (count), filled with '\0' */
    int count, capacity;
} api_keys;

/* ATTEND_BAD_DATA, with file and line; ATTEND_IO; ATTEND_NO_MEMORY. */
int api_keys_read(api_keys *k, const char *path);
void api_keys_free(api_keys *k);
/* The number of a key, from 0; -1: it is not one of them. */
int api_keys_find(const api_keys *k, const char *key);

#endif
